# SPDX-License-Identifier: GPL-2.0-only
"""datapath/README.md draws the table of datapath/state/known.c."""

from __future__ import annotations

import re
from pathlib import Path

DATAPATH = Path(__file__).parents[2] / "datapath"
Edges = set[tuple[str, str, str]]


def in_the_table() -> Edges:
    """From, to, event: the events that lead from a state to another."""
    source = (DATAPATH / "state/known.c").read_text()
    head = re.search(r"/\*\s*(BEGINS[\w,\s]*)\*/", source)
    assert head
    events = head[1].replace(",", " ").split()
    table = source[head.end() : source.index("};", head.end())]
    rows = re.findall(r"\[(\w+)\]\s*= \{ (.*?) \},", table)
    edges: Edges = set()
    for state, cells in rows:
        targets = [cell.strip() for cell in cells.split(",")]
        assert len(targets) == len(events)
        edges |= {
            (state, to, event) for event, to in zip(events, targets, strict=True) if to != state
        }
    return edges


def in_the_page() -> Edges:
    arrows = re.findall(
        r"^    (\w+) --> (\w+): (.*)$", (DATAPATH / "README.md").read_text(), re.MULTILINE
    )
    return {(state, to, event) for state, to, events in arrows for event in events.split(", ")}


def test_the_page_draws_the_table() -> None:
    assert len(in_the_table()) > 10
    assert in_the_page() == in_the_table()
