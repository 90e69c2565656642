# SPDX-License-Identifier: GPL-2.0-only
"""Segments are read by what tests/vm reads them with."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "vm"))
