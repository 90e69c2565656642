# SPDX-License-Identifier: GPL-2.0-only
"""The program itself, as a user calls it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TOOLS = Path(__file__).parents[2] / "tools"


def tcon_lab(*words: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """``tcon-lab WORDS``: what it printed and its exit code, which may be any."""
    return subprocess.run(
        [sys.executable, "-m", "tcon_lab", *words],
        cwd=cwd, env=os.environ | {"PYTHONPATH": str(TOOLS)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
