# SPDX-License-Identifier: GPL-2.0-only
"""Where instructions are counted for, of `make -C tests/bench breakdown`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))
import breakdown


@pytest.mark.parametrize(
    ("frames", "file"),
    [
        (["./tcon/datapath/act/hold.c:12"], "datapath/act/hold"),
        (["./tcon/datapath/base/seq.h:9", "./tcon/datapath/act/hold.c:12"], "datapath/base/seq"),
        (["include/a.h:1", "./tcon/algorithms/bw.h:2 (discriminator 3)"], "algorithms/bw"),
        (["/home/algorithms/tree/datapath/path.c:7"], "datapath/path"),
        (["include/linux/skbuff.h:1", "??:?"], "else"),
        ([], "else"),
    ],
)
def test_an_instruction_counts_for_the_innermost_file_of_tcon(frames: list[str], file: str) -> None:
    assert breakdown.source(frames) == file
