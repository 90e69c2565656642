# SPDX-License-Identifier: GPL-2.0-only
"""The common part of all engines: run one job in a fresh machine.

A job is a dictionary that :mod:`..guest` understands.  There are two engines:
QEMU with the distribution's kernel (:mod:`.qemu`), and User-Mode Linux with time
travel (:mod:`.uml`).
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..channel import ERROR, EXIT, KERNEL_LOG, OUTPUT, PROGRESS, RECORDS, RESULT, Frame
from ..errors import LabError
from ..records import unpacked
from .kernel_log import problems

#: 1 ns an instruction.  A slower CPU (2 ns) takes as long to simulate, since
#: packets cost instructions, and its load shows: at 100 Mbit/s BBR's rate samples
#: become so uneven that it keeps a standing queue of a whole BDP.
DEFAULT_SHIFT = 0


@dataclass(frozen=True)
class Machine:
    """How to run a virtual machine.

    ``shift``: an instruction takes 2^shift ns of virtual time; None is real
    time.  ``timeout_s`` counts real seconds.  ``link`` joins two
    machines: a path that one listens on ("PATH,listen") and the other names; each
    gets an interface eth0.  ``plugin`` is one for QEMU's translator, with its
    arguments ("FILE,NAME=VALUE").
    """

    shift: int | None = DEFAULT_SHIFT
    smp: int = 1
    memory_mib: int = 1024
    seed: int = 1
    timeout_s: float = 3600.0
    append: tuple[str, ...] = ()
    link: str = ""
    plugin: str = ""


@dataclass
class Outcome:
    """The remains of a machine; ``stop`` ends it early."""

    status: int | None = None  # of the job; None: the machine died before
    booted: bool = False  # the machine has said something
    not_started: str = ""  # why it did not boot, where the engine knows
    result: bytes = b""
    records: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # by kind of probe
    error: str = ""
    kernel_log: str = ""
    console: str = ""
    real_s: float = 0.0
    stop: threading.Event = field(default_factory=threading.Event, repr=False)
    on_output: Callable[[bytes], None] = field(default=lambda raw: None, repr=False)
    on_progress: Callable[[str], None] = field(default=lambda line: None, repr=False)

    def take(self, frame: Frame) -> None:
        """Note a frame from the guest."""
        self.booted = True
        if frame.kind == OUTPUT:
            self.on_output(frame.payload)
        elif frame.kind == PROGRESS:
            self.on_progress(frame.payload.decode(errors="replace"))
        elif frame.kind == RESULT:
            self.result = frame.payload
        elif frame.kind == RECORDS:
            kind, records = unpacked(frame.payload)
            self.records.setdefault(kind, []).extend(records)
        elif frame.kind == KERNEL_LOG:
            self.kernel_log = frame.payload.decode(errors="replace")
        elif frame.kind == ERROR:
            self.error = frame.payload.decode(errors="replace")
        elif frame.kind == EXIT:
            self.status = int(frame.payload)

    def check_kernel(self) -> None:
        """Raise LabError if the machine died or its kernel reported a fault."""
        if self.not_started:
            raise LabError(self.not_started)
        found = problems(self.kernel_log + "\n" + self.console)
        if found:
            raise LabError(f"the kernel reported a fault: {found[0]}")
        if self.status is None:
            tail = " | ".join(self.console.strip().splitlines()[-3:])
            raise LabError(f"the machine ended without a result; console: {tail or '(silent)'}")


class Engine(ABC):
    """Runs jobs in machines of one kind."""

    name: str

    def guest_files(self) -> list[tuple[Path, str]]:
        """Files that guests need to run well on this engine, and their names in the VM."""
        return []

    def version(self) -> str:
        """Which program it is, where that is none of those that are built and kept."""
        return ""

    @abstractmethod
    def run(self, machine: Machine, initrd: Path, outcome: Outcome, log: Path) -> None:
        """Boot, run the job in the initrd, fill outcome; the console goes to log.

        Raises LabError when the machine cannot start or exceeds its time.
        """

    @abstractmethod
    def interactive(self, machine: Machine, initrd: Path) -> int:
        """Boot with the terminal as console; the machine's exit status."""
