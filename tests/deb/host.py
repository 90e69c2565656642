# SPDX-License-Identifier: GPL-2.0-only
"""A host that boots Debian from a disk, and on which a test runs scripts.

It runs in QEMU without virtual time.  It is emulated, and so about ten times slower than
a real one.
"""

from __future__ import annotations

import base64
import contextlib
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from base import base

_BOOT_TIMEOUT_S = 900
#: A build of all modules, and what apt does before, in an emulated machine on a busy one: 39
#: minutes were seen.
_SCRIPT_TIMEOUT_S = 2 * 3600
_APPEND = "console=ttyS0 root=/dev/vda rw quiet loglevel=4 mitigations=off audit=0 nowatchdog"


class ScriptError(Exception):
    """A script failed; its output is the text."""


class Host:
    """One host: a disk of its own, booted as often as asked."""

    def __init__(self, folder: Path, suite: str, files: list[Path]) -> None:
        """The host finds ``files`` in /srv/tcon."""
        made = base(suite)
        self.console = folder / "console"
        self._folder = folder
        self._disk = folder / "disk.img"
        subprocess.run(["cp", "--sparse=always", made / "disk.img", self._disk], check=True)
        for name in ("vmlinuz", "initrd"):
            shutil.copy(made / name, folder / name)
        written = [f"write {file} /srv/tcon/{file.name}" for file in files]
        self._debugfs("mkdir /srv/tcon", *written, write=True)
        self._process: subprocess.Popen[bytes] | None = None
        self._stream: socket.socket | None = None
        self._unread = b""
        #: Seconds that each step took, in order.
        self.times_s: dict[str, float] = {}

    @contextlib.contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Note how long the block took, if it ends well."""
        start = time.monotonic()
        yield
        self.times_s[step] = round(time.monotonic() - start, 1)

    def boot(self) -> None:
        """Boot, until it takes scripts."""
        path = self._folder / "port"
        path.unlink(missing_ok=True)
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "nice", "-n", "10", "qemu-system-x86_64",
             "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "2048",
             "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
             "-serial", f"file:{self.console}",
             "-drive", f"file={self._disk},format=raw,if=virtio,cache=unsafe",
             "-device", "virtio-serial", "-device", "virtserialport,chardev=port,name=test",
             "-chardev", f"socket,id=port,path={path},server=on,wait=off",
             "-kernel", self._folder / "vmlinuz", "-initrd", self._folder / "initrd",
             "-append", _APPEND],
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        deadline = time.monotonic() + _BOOT_TIMEOUT_S
        while not path.is_socket() and time.monotonic() < deadline:
            time.sleep(0.1)
        self._stream = socket.socket(socket.AF_UNIX)
        self._stream.connect(str(path))
        assert self._line(_BOOT_TIMEOUT_S) == "ready"

    def run(self, script: str) -> str:
        """Run a script of bash, to the first failure: its output.  Raises ScriptError."""
        assert self._stream is not None
        self._stream.sendall(base64.b64encode(script.encode()) + b"\n")
        status, _, output = self._line(_SCRIPT_TIMEOUT_S).partition(" ")
        text = base64.b64decode(output).decode(errors="replace")
        if status != "0":
            raise ScriptError(f"status {status}: {script}\n{text}")
        return text

    def reboot(self) -> None:
        """Shut down, and boot the newest kernel that is installed."""
        assert self._process is not None
        assert self._stream is not None
        newest = {"vmlinuz": "/vmlinuz", "initrd": "/initrd.img"}
        newest = {name: self.run(f"readlink -f {link}").strip() for name, link in newest.items()}
        with contextlib.suppress(ConnectionError):
            self.run("systemctl --no-block poweroff")
        self._process.wait(_BOOT_TIMEOUT_S)
        self._stream.close()
        self._debugfs(*(f"dump {file} {self._folder / name}" for name, file in newest.items()))
        self.boot()

    def close(self) -> None:
        """End it as if power failed."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        if self._stream is not None:
            self._stream.close()

    def _debugfs(self, *requests: str, write: bool = False) -> None:
        commands = self._folder / "requests"
        commands.write_text("".join(f"{request}\n" for request in requests))
        command = ["debugfs", *(["-w"] if write else []), "-f", commands, self._disk]
        subprocess.run(command, check=True, capture_output=True)

    def _line(self, timeout_s: float) -> str:
        assert self._stream is not None
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._unread:
            self._stream.settimeout(max(0.1, deadline - time.monotonic()))
            try:
                got = self._stream.recv(1 << 16)
            except TimeoutError:
                self.close()  # a late answer would be taken for the next script's
                raise
            if not got:
                raise ConnectionError(f"the host ended; its console: {self.console}")
            self._unread += got
        line, _, self._unread = self._unread.partition(b"\n")
        return line.decode()
