# SPDX-License-Identifier: GPL-2.0-only
"""CBMC, the model checker of tests/proofs.

Debian has it from Debian 13 on.  Elsewhere that suite's packages are fetched, which needs neither
root nor a chroot, and kept: the program runs with the C library that comes with it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from ..errors import LabError
from .cache import cache_dir, locked, unfinished
from .root import Progress, apt
from .suite import Archive

_SUITE = "trixie"
#: CBMC and the packages of its libraries.  It calls this host's gcc to preprocess.
_PACKAGES = ("cbmc", "libc6", "libgcc-s1", "libstdc++6", "minisat", "zlib1g")
_LIBRARIES = ("usr/lib/x86_64-linux-gnu", "usr/lib")


def _fetch(dest: Path) -> None:
    """Unpack the packages in ``dest``.  Raises LabError."""
    state = dest / "apt"
    archive = Archive(_SUITE, state)
    (state / "archives").mkdir(parents=True, exist_ok=True)
    apt(state, archive, "update")
    said = apt(state, archive, "-s", "install", "cbmc")
    plan = dict(re.findall(r"^Inst (\S+) \((\S+) ", said, re.M))
    if missing := [name for name in _PACKAGES if name not in plan]:
        raise LabError(f"the suite {_SUITE} installs cbmc without {', '.join(missing)}")
    apt(state, archive, "download", *(f"{name}={plan[name]}" for name in _PACKAGES))
    for deb in sorted((state / "archives").glob("*.deb")):
        subprocess.run(["dpkg-deb", "--extract", deb, dest], check=True)
    shutil.rmtree(state)


def cbmc(progress: Progress) -> list[str]:
    """The words that start CBMC: this host's, or that in the cache, fetched now if need be.

    Raises LabError.
    """
    if installed := shutil.which("cbmc"):
        return [installed]
    dest = cache_dir() / f"cbmc-{_SUITE}"
    with locked(dest.with_suffix(".lock")):
        if not dest.exists():
            progress(f"fetching CBMC of {_SUITE}")
            with unfinished(dest) as partial:
                _fetch(partial)
    folders = [os.fspath(dest / folder) for folder in _LIBRARIES]
    loader = f"{folders[0]}/ld-linux-x86-64.so.2"
    return [loader, "--library-path", ":".join(folders), os.fspath(dest / "usr/bin/cbmc")]
