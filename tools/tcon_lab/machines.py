# SPDX-License-Identifier: GPL-2.0-only
"""A guest with a kernel of its own: User-Mode Linux as a process of the hypervisor.

It is attached as KVM attaches one: by a tap with vnet headers, so that its super-packets
and its checksums are finished by whom they reach.  Commands run in it as in a Mininet node,
by way of a second tap (see guest/remote.py).  Its clock is the hypervisor's, and so is its CPU,
for which it waits while the hypervisor or another guest has it: what KVM calls steal.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Collection
from pathlib import Path
from typing import IO, Any

from .errors import LabError

_KERNEL = "/usr/bin/linux.uml"
#: A guest's part of its hypervisor's memory.
MEMORY_MIB = 96
_GUEST = Path(__file__).parent / "guest"
#: Each guest's processes are a group; the hypervisor's kernel tells how long a group has waited.
_GROUPS = Path("/run/guests")
_WAITED_US = re.compile(r"^some .*total=(\d+)$", re.M)
#: For each guest, since all boot by the same CPU.
_BOOT_TIMEOUT_S = 120.0
_POLL_S = 0.1

_ARGUMENTS = (
    "con=null",
    "con0=null,fd:1",
    "console=tty0",
    "root=none",
    "rootfstype=hostfs",
    "rootflags=/",
    "ro",
    f"init={_GUEST}/machine-init",
    "panic=-1",
    "loglevel=5",
    "random.trust_cpu=on",
    "net.ifnames=0",
)


def _call(*words: str) -> None:
    run = subprocess.run(words, capture_output=True, text=True, check=False)
    if run.returncode:
        raise LabError(f"{' '.join(words[:3])}: {run.stderr.strip()}")


def _tap(name: str) -> None:
    _call("ip", "tuntap", "add", "dev", name, "mode", "tap", "vnet_hdr")
    _call("ip", "link", "set", "dev", name, "up")


def _group(name: str) -> Path:
    if not _GROUPS.exists():
        _GROUPS.mkdir()
        _call("mount", "-t", "cgroup2", "none", str(_GROUPS))
    group = _GROUPS / name
    group.mkdir()
    return group


class VirtualMachine:
    """A running guest, with what the lab asks of a Mininet node."""

    def __init__(self, name: str, port: str, mac: str, number: int) -> None:
        """Boot it: ``port`` names its tap, which is made; ``number`` is of this guest only.
        Raises LabError.
        """
        self.name = name
        here, self._address = (
            f"169.254.{number >> 7}.{(number & 127) * 2 + end}" for end in (0, 1)
        )
        _tap(port)
        _tap(f"{name}-man")
        _call("ip", "addr", "add", f"{here}/31", "dev", f"{name}-man")
        self._group = _group(name)
        enter = ["sh", "-c", f'echo $$ >{self._group}/cgroup.procs; exec "$@"', "sh"]
        taps = "transport=tap,mtu=1500,gro=1,ifname="
        self._console = Path(f"/tmp/console-{name}")
        with self._console.open("wb") as console:
            self._process = subprocess.Popen(
                [
                    *enter, "setarch", "-R", _KERNEL, *_ARGUMENTS, f"mem={MEMORY_MIB}M",
                    f"vec0:{taps}{port},mac={mac}", f"vec1:{taps}{name}-man",
                    f"guest={name}", f"at={self._address}",
                ],
                env={"PATH": "/usr/sbin:/usr/bin", "HOME": "/root", "TMPDIR": "/dev/shm"},
                stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip

    def __str__(self) -> str:
        return self.name

    def popen(
        self,
        argv: list[str],
        stdout: int | IO[Any] = subprocess.PIPE,
        stderr: int | IO[Any] = subprocess.PIPE,
    ) -> subprocess.Popen[bytes]:
        """Start a command in the guest, as Mininet's nodes do."""
        remote = ["python3", str(_GUEST / "remote.py"), "run", self._address, *argv]
        return subprocess.Popen(remote, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr)

    def wait(self, end_s: float) -> None:
        """Until it takes commands.  Raises LabError where it does not come up."""
        while self.popen(["true"]).wait():
            if self._process.poll() is not None or time.monotonic() > end_s:
                said = self._console.read_text(errors="replace").strip().splitlines()[-3:]
                raise LabError(f"guest {self.name} does not boot: {' | '.join(said) or 'silent'}")
            time.sleep(_POLL_S)

    def waited_s(self) -> float:
        """How long it has wanted the CPU so far while others had it: PSI's "some" of its group
        (Documentation/accounting/psi.rst of Linux), without what softirqs take.
        """
        pressure = (self._group / "cpu.pressure").read_text()
        return int(_WAITED_US.findall(pressure)[0]) / 1e6

    def pause(self, seconds: float) -> None:
        """Take the CPU from it for this time."""
        self._process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self._process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """End it and remove its taps."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def wait_for(machines: Collection[VirtualMachine]) -> None:
    """Until all take commands.  Raises LabError where one does not come up."""
    end_s = time.monotonic() + _BOOT_TIMEOUT_S * len(machines)
    for machine in machines:
        machine.wait(end_s)
