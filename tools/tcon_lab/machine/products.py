# SPDX-License-Identifier: GPL-2.0-only
"""The lab's subjects: modules, ovs-vswitchd and probe, built when out of date.

Each is made by its own build script, which knows what to do again; a lock keeps two
labs of one tree from building at once.  Labs of several trees do not wait for each other.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ..errors import LabError
from .cache import locked
from .suite import Suite

#: Says what is being done: its label, one line, which begins with "done" when it is.
Say = Callable[[str, str], None]

TOP = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Products:
    """Paths of what was built."""

    modules: tuple[Path, ...]
    vswitchd: Path | None
    probe: Path


def _build(what: str, *command: str | Path) -> str:
    """Run a build; the last line of its output.  LabError with its complaint."""
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=TOP)
    if run.returncode:
        said = [line for line in run.stderr.splitlines() if line.strip()]
        errors = [line for line in said if "error" in line.lower()]
        raise LabError(f"{what} does not build: {(errors or said or ['no reason given'])[0]}")
    lines = run.stdout.splitlines()
    return lines[-1] if lines else ""


def build_probe() -> Path:
    """Build tcon-probe.  Raises LabError."""
    folder = TOP / "build/probe"
    _build("tcon-probe", "make", "-s", "-C", TOP / "tools/tcon_lab/probe", f"O={folder}")
    return folder / "tcon-probe"


def _in(suite: Suite | None, *command: str | Path) -> list[str | Path]:
    return [*suite.inside(*command)] if suite else [*command]


def _modules(kdir: Path, suite: Suite | None, say: Say) -> Path:
    say("modules", "building")
    folder = Path(_build("datapath", *_in(suite, TOP / "datapath/build", "--kdir", kdir)))
    say("modules", "done")
    return folder


def _vswitchd(suite: Suite | None, say: Say) -> Path:
    say("ovs-vswitchd", "building: the first time it takes a minute")
    program = Path(_build("userspace", *_in(suite, TOP / "userspace/build")))
    say("ovs-vswitchd", "done")
    return program


def build(kdir: Path, stock: bool, suite: Suite | None, say: Say) -> Products:
    """Build against the kernel tree ``kdir``, in the suite; ``stock`` leaves TCon out.

    Raises LabError.
    """
    with locked(TOP / "build/lab.lock"):
        if stock:
            return Products((), None, build_probe())
        with ThreadPoolExecutor(1) as pool:  # to configure Open vSwitch takes one CPU
            vswitchd = pool.submit(_vswitchd, suite, say)
            probe, modules = build_probe(), _modules(kdir, suite, say)
            return Products(tuple(sorted(modules.glob("*.ko"))), vswitchd.result(), probe)
