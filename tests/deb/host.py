# SPDX-License-Identifier: GPL-2.0-only
"""A host that boots Debian from a disk, and on which a test runs scripts.

It runs in QEMU without virtual time: it is emulated, so about ten times slower than a
real one, and only what it says of itself counts.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import shutil
import socket
import subprocess
import time
from pathlib import Path

from tcon_lab.machine.cache import cache_dir, locked, unfinished

HERE = Path(__file__).parent
TOP = HERE.parents[1]
BOOT_TIMEOUT_S = 900
#: A build of all modules in an emulated machine on a busy one.
SCRIPT_TIMEOUT_S = 1800

_APPEND = "console=ttyS0 root=/dev/vda rw quiet loglevel=4 mitigations=off audit=0 tsc=unstable"


def base() -> Path:
    """The folder with the disk that every test begins with, made once."""
    sources = [HERE / name for name in ("make-base", "agent", "agent.service")]
    key = hashlib.sha256(b"".join(file.read_bytes() for file in sources)).hexdigest()[:16]
    folder = cache_dir() / f"deb-{key}"
    with locked(cache_dir() / "deb.lock"):
        if not folder.exists():
            with unfinished(folder) as partial:
                subprocess.run(["nice", sources[0], partial], check=True)
    return folder


class ScriptError(Exception):
    """A script failed; its output is the text."""


class Host:
    """One host: a disk of its own, booted as often as asked."""

    def __init__(self, folder: Path, packages: dict[str, Path]) -> None:
        """`packages` are files that the host finds in /srv/tcon, by name."""
        made = base()
        self._folder = folder
        self._disk = folder / "disk.img"
        subprocess.run(["cp", "--sparse=always", made / "disk.img", self._disk], check=True)
        for name in ("vmlinuz", "initrd"):
            shutil.copy(made / name, folder / name)
        self._debugfs("mkdir /srv/tcon", *(f"write {path} /srv/tcon/{name}"
                                           for name, path in packages.items()), write=True)  # fmt: skip
        self._process: subprocess.Popen[bytes] | None = None
        self._stream: socket.socket | None = None
        self._unread = b""

    def boot(self) -> None:
        """Boot, until it takes scripts."""
        path = self._folder / "port"
        path.unlink(missing_ok=True)
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "nice", "qemu-system-x86_64",
             "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "2048",
             "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
             "-serial", f"file:{self._folder / 'console'}",
             "-drive", f"file={self._disk},format=raw,if=virtio,cache=unsafe",
             "-device", "virtio-serial", "-device", "virtserialport,chardev=port,name=test",
             "-chardev", f"socket,id=port,path={path},server=on,wait=off",
             "-kernel", self._folder / "vmlinuz", "-initrd", self._folder / "initrd",
             "-append", _APPEND],
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        deadline = time.monotonic() + BOOT_TIMEOUT_S
        while not path.is_socket() and time.monotonic() < deadline:
            time.sleep(0.1)
        self._stream = socket.socket(socket.AF_UNIX)
        self._stream.connect(str(path))
        assert self._line(BOOT_TIMEOUT_S) == "ready"

    def run(self, script: str, timeout_s: float = SCRIPT_TIMEOUT_S) -> str:
        """Run a script of bash, to the first failure: its output."""
        assert self._stream is not None
        self._stream.sendall(base64.b64encode(script.encode()) + b"\n")
        status, _, output = self._line(timeout_s).partition(" ")
        text = base64.b64decode(output).decode(errors="replace")
        if status != "0":
            raise ScriptError(f"status {status}: {script}\n{text}")
        return text

    def succeeds(self, script: str) -> bool:
        """Whether a script ends well."""
        try:
            self.run(script)
        except ScriptError:
            return False
        return True

    def reboot(self) -> None:
        """Shut down, and boot the newest kernel that is installed."""
        assert self._process is not None
        with contextlib.suppress(ConnectionError):
            self.run("systemctl --no-block poweroff")
        self._process.wait(BOOT_TIMEOUT_S)
        listed = self._debugfs("ls -p /boot")
        newest = max((line.split("/")[5] for line in listed.splitlines() if "/vmlinuz-" in line),
                     key=lambda name: [int(part) for part in name.split("-")[2].split(".")])  # fmt: skip
        self._debugfs(f"dump /boot/{newest} {self._folder / 'vmlinuz'}",
                      f"dump /boot/{newest.replace('vmlinuz', 'initrd.img')} "
                      f"{self._folder / 'initrd'}")  # fmt: skip
        self.boot()

    def close(self) -> None:
        """End it as if power failed."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        if self._stream is not None:
            self._stream.close()

    def _debugfs(self, *requests: str, write: bool = False) -> str:
        commands = self._folder / "requests"
        commands.write_text("".join(f"{request}\n" for request in requests))
        command = ["debugfs", *(["-w"] if write else []), "-f", commands, self._disk]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def _line(self, timeout_s: float) -> str:
        assert self._stream is not None
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._unread:
            self._stream.settimeout(max(0.1, deadline - time.monotonic()))
            got = self._stream.recv(1 << 16)
            if not got:
                raise ConnectionError(f"the host ended; its console: {self._folder / 'console'}")
            self._unread += got
        line, _, self._unread = self._unread.partition(b"\n")
        return line.decode()
