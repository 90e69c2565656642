# SPDX-License-Identifier: GPL-2.0-only
"""The User-Mode Linux engines: the kernel as a program.

In the one, CPU work takes no time.  With time-travel=inf-cpu the clock moves only when
nothing can run, from one timer to the next: a network experiment on the kernel's real
code, several times as fast as QEMU with -icount, that knows nothing of what work costs.

A run depends on nothing but its inputs and the seed: the command line (which
feeds the kernel's random pool) names files relative to a folder of the run's
own, addresses are not randomised, the clock's start is fixed, and the host's
random numbers are replaced by seeded ones (uml/host.c).

In the other, time is real and there are several CPUs: threads of the host, on which
the kernel's code races as it does on a real machine, at a real machine's speed.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from ..channel import Reader
from ..errors import LabError
from .cache import scratch
from .cpus import own_cpu
from .engine import Engine, Machine, Outcome
from .uml_kernel import UmlKernel, shared_library

_POLL_S = 0.02
_START_NS = 1_767_225_600 * 10**9  # 2026-01-01, as in QEMU

_ARGUMENTS = (
    "con=null",
    "con0=null,fd:1",
    "console=tty0",
    "root=/dev/ram0",
    "panic=-1",
    "oops=panic",
    "loglevel=5",
    "log_buf_len=4M",
    "rcupdate.rcu_cpu_stall_suppress=1",
    "random.trust_cpu=on",
    "net.ifnames=0",
)
_VIRTUAL = ("time-travel=inf-cpu", f"time-travel-start={_START_NS}", *_ARGUMENTS)

#: Lines of the console that tell why a machine did not boot.
_COMPLAINT = re.compile(r"fail|panic|not permitted|noexec|no space|cannot|unable", re.IGNORECASE)

_PREFIX = ("setpriv", "--pdeathsig", "KILL", "setarch", "-R")


def refuse(machine: Machine) -> None:
    """Raise LabError for what User-Mode Linux cannot be."""
    if machine.smp != 1:
        raise LabError(
            "--engine=uml has one CPU: leave out --smp, or use --engine=uml-smp or --engine=qemu"
        )
    if machine.shift is None:
        raise LabError(
            "--engine=uml knows virtual time only: use --engine=uml-smp or --engine=qemu"
        )
    refuse_devices(machine)


def refuse_devices(machine: Machine) -> None:
    """Raise LabError for what only QEMU has."""
    for option, value in (("--link", machine.link), ("--plugin", machine.plugin)):
        if value:
            raise LabError(f"User-Mode Linux has no {option}: use --engine=qemu")


def arguments(machine: Machine, boot: tuple[str, ...]) -> list[str]:
    """The command line, with the kernel's words; equal for equal machines, wherever they run."""
    own = ["initrd=initrd.cpio", *boot, *_VIRTUAL]
    return [*own, f"mem={machine.memory_mib}M", *machine.append]


#: KCSAN watches an access for 80 us, in an interrupt 20: a moment to a CPU that is a thread of
#: a busy host.  The other one must come to run in that time.
_WATCH_LONGER = ("kcsan.udelay_task=1000", "kcsan.udelay_interrupt=1000")


def smp_arguments(machine: Machine, folder: Path) -> list[str]:
    """The command line of a machine with several CPUs, which may write to ``folder``.

    Programs run by seccomp: with ptrace there is one CPU only.
    """
    own = ["initrd=initrd.cpio", "seccomp=on", f"ncpus={machine.smp}", f"hostfs={folder}"]
    return [*own, *_ARGUMENTS, *_WATCH_LONGER, f"mem={machine.memory_mib}M", *machine.append]


def why_not_started(console: str) -> str:
    """One sentence about a machine that ended before its guest said anything."""
    lines = [line.strip() for line in console.splitlines() if line.strip()]
    complaints = [line for line in lines if _COMPLAINT.search(line)]
    reason = (complaints or lines[-1:] or ["it says nothing"])[0]
    return f"User-Mode Linux does not start on this machine ({reason}): use --engine=qemu"


class Uml(Engine):
    """User-Mode Linux in virtual time."""

    name = "uml"

    def __init__(self, kernel: UmlKernel) -> None:
        self._kernel = kernel

    def guest_files(self) -> list[tuple[Path, str]]:
        """See :meth:`Engine.guest_files`."""
        return [
            (shared_library("iperf3_wait"), "/usr/lib/iperf3_wait.so"),
            (Path(__file__).parent / "uml" / "ld.so.preload", "/etc/ld.so.preload"),
        ]

    def run(self, machine: Machine, initrd: Path, outcome: Outcome, log: Path) -> None:
        """See :meth:`Engine.run`."""
        self._refuse(machine)
        start = time.monotonic()
        with scratch() as folder:
            reader = Reader(folder / "channel")
            (folder / "initrd.cpio").symlink_to(initrd.resolve())
            with self._pinned() as pinned:
                process = self._spawn(machine, folder, log, pinned)
                self._watch(process, machine, reader, outcome, log, start)
            for frame in reader.frames():
                outcome.take(frame)
            outcome.real_s = time.monotonic() - start
            outcome.console = log.read_text(errors="replace") if log.exists() else ""
            if not outcome.booted:
                outcome.not_started = why_not_started(outcome.console)

    def interactive(self, machine: Machine, initrd: Path) -> int:
        """See :meth:`Engine.interactive`: there is no such thing in virtual time."""
        raise LabError("User-Mode Linux has no terminal: time would fly while it waits for you")

    def _refuse(self, machine: Machine) -> None:
        refuse(machine)

    def _arguments(self, machine: Machine, folder: Path) -> list[str]:
        return arguments(machine, self._kernel.boot)

    def _environment(self, machine: Machine) -> dict[str, str]:
        return {
            "LD_PRELOAD": str(shared_library("host")),
            "TCON_UML_SEED": str(machine.seed),
        }

    @contextlib.contextmanager
    def _pinned(self) -> Iterator[list[str]]:
        """Words to put before a command that is to have a CPU of its own."""
        with own_cpu() as cpu:
            yield ["taskset", "-c", str(cpu)]

    def _watch(
        self,
        process: subprocess.Popen[bytes],
        machine: Machine,
        reader: Reader,
        outcome: Outcome,
        log: Path,
        start: float,
    ) -> None:
        """Take frames until the machine ends; end it when its time is over."""
        try:
            while process.poll() is None:
                for frame in reader.frames():
                    outcome.take(frame)
                if outcome.stop.is_set():
                    raise LabError("stopped")
                if time.monotonic() - start > machine.timeout_s:
                    raise LabError(f"no end after {machine.timeout_s:.0f} s; console in {log}")
                time.sleep(_POLL_S)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _spawn(
        self, machine: Machine, folder: Path, log: Path, pinned: list[str]
    ) -> subprocess.Popen[bytes]:
        """Start it in a process group of its own."""
        environment = {
            "HOME": ".",
            "TMPDIR": os.environ.get("TMPDIR") or "/dev/shm",
            "PATH": "/usr/bin:/bin",
        }
        words = self._arguments(machine, folder)
        with log.open("wb") as console:
            return subprocess.Popen(
                [*_PREFIX, *pinned, self._kernel.image, *words],
                cwd=folder,
                env=environment | self._environment(machine),
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )


class UmlSmp(Uml):
    """User-Mode Linux with several CPUs, in real time."""

    name = "uml-smp"

    def guest_files(self) -> list[tuple[Path, str]]:
        """See :meth:`Engine.guest_files`."""
        return []

    def interactive(self, machine: Machine, initrd: Path) -> int:
        """See :meth:`Engine.interactive`."""
        raise LabError("User-Mode Linux has no terminal: use --engine=qemu")

    def _refuse(self, machine: Machine) -> None:
        refuse_devices(machine)

    def _arguments(self, machine: Machine, folder: Path) -> list[str]:
        return smp_arguments(machine, folder)

    def _environment(self, machine: Machine) -> dict[str, str]:
        return {}

    @contextlib.contextmanager
    def _pinned(self) -> Iterator[list[str]]:
        yield []
