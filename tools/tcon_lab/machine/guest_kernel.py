# SPDX-License-Identifier: GPL-2.0-only
"""The kernel of guests that have one of their own: the suite's package user-mode-linux.

It runs as a process in the lab's VM (see :mod:`..machines`), whose files are its root.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..errors import LabError
from .cache import cache_dir, locked, unfinished
from .root import Progress, apt, deb_members, run_depmod
from .suite import Suite

_PACKAGE = "user-mode-linux"
#: Modules that guests load, as the package has them.
_MODULES = ("net/ipv4/tcp_", "net/ipv6/ipv6.", "net/sched/sch_plug.", "lib/crc-ccitt.")
_BASE = "usr/lib/uml/modules/"


def _wanted(deb: Path) -> Iterator[tuple[str, bytes]]:
    """The package's files that guests need, by their names in the VM."""
    for member, data in deb_members(deb):
        if member.name == "usr/bin/linux.uml":
            yield "bin/linux.uml", data
        elif member.isreg() and member.name.startswith(_BASE):
            release, _, path = member.name.removeprefix(_BASE).partition("/")
            if path.startswith("modules.") or path.removeprefix("kernel/").startswith(_MODULES):
                yield f"lib/modules/{release}/{path}", data


def _unpack(deb: Path, dest: Path) -> None:
    for name, data in _wanted(deb):
        file = dest / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    program, modules = dest / "bin/linux.uml", list(dest.glob("lib/modules/*"))
    if not program.exists() or len(modules) != 1:
        raise LabError(f"{deb.name} has no kernel")
    program.chmod(0o755)
    run_depmod(dest, modules[0].name)


def _download(state: Path, suite: Suite | None) -> Path:
    archives = state / "archives"
    apt(state, suite, "download", _PACKAGE)
    found = sorted(archives.glob(f"{_PACKAGE}_*.deb"), key=lambda deb: deb.stat().st_mtime)
    if not found:
        raise LabError(f"apt-get did not download {_PACKAGE}")
    return found[-1]


def guest_kernel(suite: Suite | None, progress: Progress) -> list[tuple[Path, str]]:
    """Its files, and their names in the VM, from the cache or fetched now.  Raises LabError.

    A fetched package is kept, as the rest of the VM's root is.
    """
    state = suite.lab if suite else cache_dir() / "lab"
    with locked(state / "lock"):
        dest = state / "guest-kernel"
        if not dest.exists():
            progress(f"fetching the package {_PACKAGE}")
            with unfinished(dest) as partial:
                _unpack(_download(state, suite), partial)
    return [(dest / folder, f"/usr/{folder}") for folder in ("bin", "lib")]
