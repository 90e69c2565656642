# SPDX-License-Identifier: GPL-2.0-only
"""Numbers that a test must not depend on: the same in each run, or, in a draw, others.

TCON_DRAW is a draw's number (tests/draws).  The machine's own random numbers come from its seed.
"""

from __future__ import annotations

import os
import random

#: The draw's number; empty where nothing is drawn.
DRAW = os.environ.get("TCON_DRAW", "")
#: How often a draw runs a test.
EACH = int(os.environ.get("TCON_EACH", "1"))
#: Longest delay before a test of a draw begins: longer than any timer of TCon's except collection.
LATER_S = 1.0
_random = random.Random(DRAW)


def first_port() -> int:
    """The first of scripted ports; a run's follow it, below the ones that tests name (30000)."""
    return _random.randrange(20000, 28000) if DRAW else 20000


def sequence_numbers() -> tuple[int, int]:
    """Guest's and peer's first.  None wraps: a test of that says where its numbers begin."""
    return (_random.randrange(2**31), _random.randrange(2**31)) if DRAW else (1_000_000, 7_000_000)


def later_s() -> float:
    """How long to wait before a test."""
    return _random.uniform(0, LATER_S) if DRAW else 0.0
