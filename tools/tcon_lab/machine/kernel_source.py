# SPDX-License-Identifier: GPL-2.0-only
"""The sources that the lab's User-Mode Linux is built from: Debian's packages of them.

That of the distribution's kernel is installed on this host.  The newest is a suite's; it is
fetched, which needs neither root nor a chroot, and kept.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ..errors import LabError
from .cache import cache_dir, locked, unfinished
from .root import Progress, apt, deb_members, lab_kernel_release
from .suite import NEWEST, Archive


@dataclass(frozen=True)
class Source:
    """A kernel's source package."""

    tarball: Path
    version: str


def host_source() -> Source:
    """The source of the distribution's kernel that the lab boots.  Raises LabError."""
    line = ".".join(lab_kernel_release().split(".")[:2])
    tarball = Path(f"/usr/src/linux-source-{line}.tar.xz")
    if not tarball.exists():
        raise LabError(f"{tarball} is missing: install the package linux-source-{line}")
    command = ["dpkg-query", "-W", "-f", "${Version}", f"linux-source-{line}"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return Source(tarball, run.stdout.strip())


def planned(said: str) -> tuple[str, str]:
    """Name and version of the source package in what `apt-get -s install` says.

    Raises LabError where it has none.
    """
    found = re.search(r"^Inst (linux-source-\d[\d.]*) \((\S+) ", said, re.M)
    if not found:
        raise LabError(f"the suite {NEWEST} has no package linux-source")
    return found[1], found[2]


def _fetch(dest: Path) -> None:
    """The tarball, and its package's version in a file of that name.  Raises LabError."""
    state = dest / "apt"
    archive = Archive(NEWEST, state)
    (state / "archives").mkdir(parents=True, exist_ok=True)
    apt(state, archive, "update")
    package, version = planned(apt(state, archive, "-s", "install", "linux-source"))
    apt(state, archive, "download", f"{package}={version}")
    tarball = f"{package}.tar.xz"
    for deb in state.glob(f"archives/{package}_*.deb"):
        for member, data in deb_members(deb):
            if member.name == f"usr/src/{tarball}":
                (dest / tarball).write_bytes(data)
    if not (dest / tarball).exists():
        raise LabError(f"apt-get did not download {package}")
    (dest / "version").write_text(version)
    shutil.rmtree(state)


def newest_source(progress: Progress) -> Source:
    """The source of the newest kernel, from the cache or fetched now.  Raises LabError."""
    state = cache_dir() / "uml"
    dest = state / f"source-{NEWEST}"
    with locked(state / "source.lock"):
        if not dest.exists():
            progress(f"fetching the source of the kernel of {NEWEST}")
            with unfinished(dest) as partial:
                _fetch(partial)
    (tarball,) = dest.glob("linux-source-*.tar.xz")
    return Source(tarball, (dest / "version").read_text())
