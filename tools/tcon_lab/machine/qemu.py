# SPDX-License-Identifier: GPL-2.0-only
"""The QEMU engine: the distribution's own kernel, in virtual or real time.

With -icount an instruction costs 2^shift ns of virtual time and idle time is
skipped (sleep=off), so a run depends on nothing but its inputs and -seed.  That
holds only while no device waits for the host: inputs come in the initramfs,
results leave through shared memory (:mod:`..channel`), and the serial console is
written to a file.

QEMU's main loop skips idle time.  As of QEMU 7.2 it may do so while the CPU has
halted but the instructions that it executed last are not yet counted: then time is
some nanoseconds ahead for good, in a tenth of the runs or in most, as the host is.
Recording for a replay (rr=record), to /dev/null, makes the two wait for each other.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from ..channel import CAPACITY_BYTES, Reader
from ..errors import LabError
from .cache import scratch
from .cpus import own_cpu
from .engine import Engine, Machine, Outcome

_QEMU = "qemu-system-x86_64"
_POLL_S = 0.05
_KVM_PROBE_TIMEOUT_S = 20

# The kernel's command line.  No self-tests, no hardening that costs each packet
# instructions; no address randomisation, so that QEMU translates a program once
# and not for every process that runs it.
_APPEND = (
    "console=ttyS0 loglevel=5 log_buf_len=4M panic=-1 panic_on_oops=1"
    " nokaslr norandmaps mitigations=off audit=0"
    " cryptomgr.notests lsm=capability apparmor=0 cgroup_disable=memory init_on_alloc=0"
    " hardened_usercopy=off random.trust_cpu=on net.ifnames=0"
)

# In virtual time nobody waits, and watching costs instructions.  In real time, where
# CPUs race, a kernel that loops must say where, and end.
_VIRTUAL = "tsc=reliable nowatchdog rcupdate.rcu_cpu_stall_suppress=1"
_REAL = (
    "softlockup_panic=1 softlockup_all_cpu_backtrace=1 rcupdate.rcu_cpu_stall_timeout=60"
    " sysctl.kernel.panic_on_rcu_stall=1"
)
# A kernel that boots on a busy host measures the rate of its processor's counter
# wrongly, by a factor of five was seen, and goes by it.  KVM tells it the rate.
_REAL_EMULATED = f"{_REAL} tsc=unstable"


class Qemu(Engine):
    """QEMU, with KVM where it works and is asked for."""

    name = "qemu"

    def __init__(self, vmlinux: Path, kvm: bool = False) -> None:
        """Raises LabError where QEMU is missing, or KVM asked for and unusable."""
        if not shutil.which(_QEMU):
            raise LabError(f"{_QEMU} not found: install the package qemu-system-x86")
        self._vmlinux = vmlinux
        self._kvm = kvm
        if kvm:
            self._probe_kvm()

    def version(self) -> str:
        """See :meth:`Engine.version`.  Raises LabError where QEMU does not say."""
        told = subprocess.run([_QEMU, "--version"], capture_output=True, text=True, check=False)
        if told.returncode or not told.stdout:
            raise LabError(f"{_QEMU} --version: {told.stderr.strip() or 'no answer'}")
        return told.stdout.splitlines()[0]

    def run(self, machine: Machine, initrd: Path, outcome: Outcome, log: Path) -> None:
        """See :meth:`Engine.run`."""
        start = time.monotonic()
        with scratch() as folder, contextlib.ExitStack() as cpus:
            shared = folder / "channel"
            reader = Reader(shared)
            command = self._command(machine, initrd, shared, f"file:{log}")
            cpu = cpus.enter_context(own_cpu()) if machine.shift is not None else None
            process = _spawn(command, folder / "stderr", cpu)
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
                process.kill()
                process.wait()
                outcome.console = log.read_text(errors="replace") if log.exists() else ""
            for frame in reader.frames():
                outcome.take(frame)
            outcome.real_s = time.monotonic() - start
            if process.returncode:
                raise LabError(f"{_QEMU} failed: {(folder / 'stderr').read_text().strip()}")

    def interactive(self, machine: Machine, initrd: Path) -> int:
        """See :meth:`Engine.interactive`."""
        with scratch() as folder:
            shared = folder / "channel"
            Reader(shared)
            command = self._command(machine, initrd, shared, "stdio,signal=off")
            # Ctrl-C belongs to the guest's shell.
            previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
            try:
                return subprocess.run(command, check=False).returncode
            finally:
                signal.signal(signal.SIGINT, previous)

    def _command(self, machine: Machine, initrd: Path, shared: Path, console: str) -> list[str]:
        if console.startswith("stdio"):
            serial = ["-chardev", f"{console.replace('stdio', 'stdio,id=con')}"]
            serial += ["-serial", "chardev:con"]
        else:
            serial = ["-serial", console]
        if machine.shift is not None:
            time_words = _VIRTUAL
        else:
            time_words = _REAL if self._kvm else _REAL_EMULATED
        return [
            _QEMU,
            *self._processor(machine),
            *("-rtc", "base=2026-01-01,clock=vm"),
            *("-seed", str(machine.seed)),
            *("-smp", str(machine.smp)),
            *("-m", str(machine.memory_mib)),
            *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
            *("-object", f"memory-backend-file,id=channel,share=on,size={CAPACITY_BYTES},"
                f"mem-path={shared}"),
            *("-device", "ivshmem-plain,memdev=channel"),
            *_link(machine),
            *(("-plugin", machine.plugin) if machine.plugin else ()),
            *serial,
            *("-kernel", str(self._vmlinux), "-initrd", str(initrd)),
            *("-append", " ".join((_APPEND, time_words, *machine.append))),
        ]  # fmt: skip

    def _processor(self, machine: Machine) -> list[str]:
        if self._kvm and machine.plugin:
            raise LabError("--plugin is for QEMU's translator: leave out --kvm")
        if self._kvm:
            return ["-accel", "kvm", "-cpu", "host"]
        cpu = ["-cpu", "max,-rdseed,-erms,-fsrm"]
        if machine.shift is None:
            return ["-accel", "tcg,thread=multi", *cpu]
        if machine.smp != 1:
            raise LabError("virtual time needs one CPU: use --no-icount with --smp")
        clock = f"shift={machine.shift},sleep=off,rr=record,rrfile=/dev/null"
        return ["-accel", "tcg", "-icount", clock, *cpu]

    def _probe_kvm(self) -> None:
        """Boot the kernel without a root: it must get as far as the panic."""
        if not os.access("/dev/kvm", os.R_OK | os.W_OK):
            raise LabError("/dev/kvm cannot be opened: leave out --kvm, or join the group kvm")
        command = [
            _QEMU, "-accel", "kvm", "-cpu", "host", "-m", "256", "-nodefaults",
            "-no-user-config", "-display", "none", "-no-reboot", "-serial", "stdio",
            "-kernel", str(self._vmlinux), "-append", "console=ttyS0 panic=-1",
        ]  # fmt: skip
        try:
            run = subprocess.run(
                command,
                capture_output=True,
                timeout=_KVM_PROBE_TIMEOUT_S,
                check=False,
                stdin=subprocess.DEVNULL,
            )
            output = run.stdout
        except subprocess.TimeoutExpired as late:
            output = late.stdout or b""
        if b"Unable to mount root fs" not in output:
            raise LabError("KVM does not run the lab's kernel on this machine: leave out --kvm")


def _link(machine: Machine) -> list[str]:
    """An interface whose other end is another machine's.

    QEMU goes on without a word when nobody listens, with a cable that leads
    nowhere: the machine that does not listen waits for the one that does.
    """
    if not machine.link:
        return []
    path, comma, word = machine.link.partition(",")
    if comma and word != "listen":
        raise LabError(f'a link is PATH or PATH,listen, not "{machine.link}"')
    deadline = time.monotonic() + machine.timeout_s
    while not comma and not Path(path).is_socket():
        if time.monotonic() > deadline:
            raise LabError(f"nobody listens at {path} after {machine.timeout_s:.0f} s")
        time.sleep(_POLL_S)
    side = "on" if comma else "off"
    mac = f"02:00:00:00:0a:{1 if comma else 2:02x}"
    return [
        "-netdev", f"stream,id=link,server={side},addr.type=unix,addr.path={path}",
        "-device", f"virtio-net-pci,netdev=link,mac={mac}",
    ]  # fmt: skip


def _spawn(command: list[str], stderr: Path, cpu: int | None) -> subprocess.Popen[bytes]:
    pinned = [] if cpu is None else ["taskset", "-c", str(cpu)]
    with stderr.open("wb") as errors:
        return subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *pinned, *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
