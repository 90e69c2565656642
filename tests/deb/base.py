# SPDX-License-Identifier: GPL-2.0-only
"""What every test begins with: Debian with Open vSwitch and DKMS, without TCon."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tcon_lab.machine.cache import cache_dir, digest, locked, note_use, unfinished

HERE = Path(__file__).parent
#: Debian 12 and 13.
SUITES = ("bookworm", "trixie")


def base(suite: str) -> Path:
    """The folder of a suite, made once; make-base says what is in it."""
    sources = [HERE / name for name in ("make-base", "furnish", "90test", "agent", "agent.service")]
    key = digest(suite, *(file.read_bytes() for file in sources))
    home = cache_dir() / "deb"
    folder = home / f"{suite}-{key}"
    with locked(home / f"{suite}.lock"):
        if not folder.exists():
            with unfinished(folder) as partial:
                subprocess.run(["nice", sources[0], suite, partial], check=True)
        note_use(folder, f"{suite}-*")
    return folder
