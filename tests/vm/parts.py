# SPDX-License-Identifier: GPL-2.0-only
"""Which parameters of tests it is the turn of, where all of them take too long."""

from __future__ import annotations

import re
import zlib
from itertools import groupby


def chosen(names: list[str], part: str) -> set[str]:
    """Of tests by their names, "file::test[parameters]", those of a part "K/N".

    Of each test it has every N-th, from another one on in each turn K, and at least one: so with
    N turns in a row each has been run, and each test's own lines are run in every turn.
    """
    read = re.fullmatch(r"([0-9]+)/([1-9][0-9]*)", part)
    if not read:
        raise ValueError(f"'{part}' is no part, such as 2/3")
    turn, of = int(read[1]), int(read[2])
    found: set[str] = set()
    for test, group in groupby(names, lambda name: name.partition("[")[0]):
        same = list(group)
        step = min(of, len(same))
        found.update(same[(turn + zlib.crc32(test.encode())) % step :: step])
    return found
