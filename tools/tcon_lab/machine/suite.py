# SPDX-License-Identifier: GPL-2.0-only
"""Debian suites other than the host's, in which their kernels and Open vSwitch are built.

Headers of a suite want that suite's compiler, and programs its libraries.  So each suite
has a chroot of its own, made by mmdebstrap from the mirror that this host's apt uses.  It
is kept in the cache; its key is what it is made from.  This tree and the cache appear in it
under their own names.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ..errors import LabError
from .cache import cache_dir, digest, locked, note_use, unfinished

#: Names of suites, and apt's suites that each takes packages from, the preferred one last.
SUITES = {
    "trixie": ("trixie",),
    "trixie-backports": ("trixie", "trixie-backports"),
    "forky": ("forky",),
}
#: The suite with the newest kernel.
NEWEST = "trixie-backports"

_PACKAGES = (
    "build-essential", "ccache", "kmod", "libcap-ng-dev", "libmnl-dev", "libssl-dev",
    "libunbound-dev", "linux-headers-amd64", "linux-source", "openvswitch-source", "python3",
    "rsync", "xz-utils",
)  # fmt: skip
_TOP = Path(__file__).resolve().parents[3]
_ENTER = Path(__file__).with_name("enter-suite")


@dataclass(frozen=True)
class Suite:
    """A suite whose chroot is there.

    ``folder``: all of it that is in the cache.
    """

    name: str
    folder: Path

    @property
    def chroot(self) -> Path:
        """Its root."""
        return self.folder / "chroot"

    @property
    def lab(self) -> Path:
        """Where the lab keeps packages and roots of this suite."""
        return self.folder / "lab"

    @cached_property
    def release(self) -> str:
        """The release of its kernel.  Raises LabError."""
        found = sorted(self.chroot.glob("usr/src/linux-headers-*-amd64"))
        if len(found) != 1:
            raise LabError(f"{self.chroot} has headers of {len(found)} kernels, not of one")
        return found[0].name.removeprefix("linux-headers-")

    @property
    def kernel_tree(self) -> Path:
        """The folder to build modules against, as it is called in the chroot."""
        return Path(f"/usr/src/linux-headers-{self.release}")

    def inside(self, *command: str | Path) -> list[str]:
        """The command that runs ``command`` in the chroot, in this tree."""
        ours = [str(self.chroot), str(_TOP), str(cache_dir())]
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", str(_ENTER), *ours,
                *(str(word) for word in command)]  # fmt: skip

    def apt_options(self) -> dict[str, str | Path]:
        """Options with which apt looks for packages of this suite."""
        return _apt_options(self.name, self.lab, self.chroot / "etc/apt/sources.list")


@dataclass(frozen=True)
class Archive:
    """A suite's packages, without a chroot: for any user.

    ``folder``: apt's files of it.
    """

    name: str
    folder: Path

    def apt_options(self) -> dict[str, str | Path]:
        """Options with which apt looks for packages of this suite.  Raises LabError."""
        sources = self.folder / "sources.list"
        sources.write_text("".join(f"{line}\n" for line in _sources(self.name)))
        return _apt_options(self.name, self.folder, sources)


def _apt_options(name: str, folder: Path, sources: Path) -> dict[str, str | Path]:
    lists = folder / "lists"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    return {
        "Acquire::Check-Valid-Until": "false",  # as snapshots and mirrors of them need
        "Dir::State::lists": lists,
        "Dir::Etc::sourcelist": sources,
        "Dir::Etc::sourceparts": "/dev/null",
        "APT::Default-Release": SUITES[name][-1],
    }


def _mirror() -> str:
    """Where this host's apt has Debian's packages from.  Raises LabError."""
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI)"]
    filters = ["Created-By: Packages", "Origin: Debian", "Label: Debian"]
    try:
        run = subprocess.run([*command, *filters], capture_output=True, text=True, check=False)
    except FileNotFoundError as missing:
        raise LabError("apt-get not found: suites are made of Debian packages") from missing
    uris = run.stdout.split()
    if not uris:
        raise LabError("this host's apt has no source of Debian: run apt-get update")
    return uris[0]


def _sources(name: str) -> list[str]:
    """The lines of the suite's sources.list.  Raises LabError."""
    mirror = _mirror()
    return [f"deb {mirror} {codename} main" for codename in SUITES[name]]


def _make_chroot(name: str, chroot: Path) -> None:
    """Raises LabError with mmdebstrap's complaint."""
    codenames = SUITES[name]
    options = (
        'Acquire::Check-Valid-Until "false"',  # as snapshots and mirrors of them need
        'APT::Install-Recommends "0"',
        f'APT::Default-Release "{codenames[-1]}"',
    )
    command = [
        "mmdebstrap", "--quiet", "--mode=root", "--variant=apt",
        *(f"--aptopt={option}" for option in options), f"--include={','.join(_PACKAGES)}",
        codenames[0], str(chroot), *_sources(name),
    ]  # fmt: skip
    shutil.rmtree(chroot, ignore_errors=True)  # of a process that was killed here
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as missing:
        raise LabError("mmdebstrap not found: install the package mmdebstrap") from missing
    if run.returncode:
        said = [line for line in run.stderr.splitlines() if line.startswith("E:")]
        raise LabError(f"the suite {name} cannot be made: {(said or ['no reason given'])[0]}")


def prepare(name: str, progress: Callable[[str], None]) -> Suite:
    """The suite of that name, from the cache or made now.  Raises LabError."""
    if name not in SUITES:
        raise LabError(f'--suite is "{name}"; known are {", ".join(SUITES)}')
    if os.geteuid():
        raise LabError("--suite needs root: modules are built in a chroot")
    home = cache_dir() / "suites"
    folder = home / f"{name}-{digest(*SUITES[name], *_PACKAGES)}"
    with locked(home / f"{name}.lock"):
        if not folder.exists():
            progress(f"fetching the suite {name}: the first time it takes minutes")
            with unfinished(folder) as partial:
                _make_chroot(name, partial / "chroot")
        note_use(folder, f"{name}-*")
    return Suite(name, folder)
