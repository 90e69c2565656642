# SPDX-License-Identifier: GPL-2.0-only
"""Tables lose nothing, however narrow the terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from tcon_lab.pages.tables import Wide

ROWS = [["BBR on CUBIC, 1 % loss", "60ms", "18.50", "0.965 (0.956 .. 0.980)", "17.86"],
        ["Vegas on CUBIC", "10ms", "19.04", "0.996 (0.996 .. 0.996) !", "18.96"]]  # fmt: skip
HEADINGS = ["case", "rtt", "native Mbit/s", "Goodput to native", "enforced Mbit/s"]


def _printed(table: Wide, width: int) -> list[str]:
    console = Console(width=width, file=io.StringIO(), color_system=None)
    console.print(table)
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined]


@pytest.mark.parametrize("width", range(59, 120))
def test_every_cell_is_whole_at_every_width(width):
    lines = _printed(Wide(HEADINGS, ROWS, 2, "a title"), width)
    for row in ROWS:
        for cell in row:
            assert any(cell in line for line in lines), cell
    assert all(len(line) <= width for line in lines)
    assert "…" not in "".join(lines)


def test_a_part_says_what_its_rows_are():
    table = Wide(HEADINGS, ROWS, 2)
    assert table.parts(200) == [[0, 1, 2, 3, 4]]
    assert table.parts(59) == [[0, 1, 2], [0, 1, 3], [0, 1, 4]]
    assert table.parts(1) == table.parts(59)
    lines = _printed(table, 59)
    assert sum(ROWS[0][0] in line for line in lines) == 3
    assert [sum(value in line for line in lines) for value in ROWS[0][2:]] == [1, 1, 1]


def test_a_table_without_rows_or_columns_is_its_headings():
    assert any("case" in line for line in _printed(Wide(HEADINGS, []), 80))
    assert Wide(["only"], [["x"]]).parts(10) == [[0]]
