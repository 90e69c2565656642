# SPDX-License-Identifier: GPL-2.0-only
"""Packages as Debian's, with invented content."""

from __future__ import annotations

import subprocess
from pathlib import Path


def package(folder: Path, name: str, version: str, file: str, content: str) -> Path:
    """Build a package below ``folder`` with one file, whose name begins at the root."""
    tree = folder / "tree"
    (tree / file).parent.mkdir(parents=True)
    (tree / file).write_text(content)
    (tree / "DEBIAN").mkdir()
    (tree / "DEBIAN/control").write_text(
        f"Package: {name}\nVersion: {version}\nArchitecture: all\n"
        "Maintainer: nobody <nobody@example.org>\nDescription: a package\n"
    )
    deb = folder / f"{name}_{version}_all.deb"
    subprocess.run(["dpkg-deb", "--build", tree, deb], check=True, capture_output=True)
    return deb
