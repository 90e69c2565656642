# SPDX-License-Identifier: GPL-2.0-only
"""Tables for the terminal that lose nothing at its edge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions
from rich.table import Table
from rich.text import Text

_PADDING = 1
#: Characters beside a column, with the line between two, which is a space; and beside the table.
_GAP = _PADDING + 1
_EDGE = 1


@dataclass(frozen=True)
class Wide:
    """A table; where it is wider than the terminal, its columns come in several parts.

    Each part begins with the first ``keys`` columns, which say what a row is.  ``left``:
    columns that are words; ``styles``: of rows, as rich has them.  A heading takes a line
    for each of its words where its column is narrow.
    """

    headings: list[str]
    rows: list[list[str]]
    keys: int = 1
    title: str = ""
    left: frozenset[int] = frozenset()
    styles: list[str | None] = field(default_factory=list)

    def _width(self, column: int) -> int:
        words = self.headings[column].split() or [""]
        return max(map(len, [*words, *(row[column] for row in self.rows)]))

    def parts(self, width: int) -> list[list[int]]:
        """The columns of each part of at most ``width`` characters."""
        keys = list(range(self.keys))
        taken = room = _EDGE + sum(self._width(column) + _GAP for column in keys)
        found = [keys]
        for column in range(self.keys, len(self.headings)):
            needs = self._width(column) + _GAP
            if taken + needs > width and len(found[-1]) > self.keys:
                found.append(keys)
                taken = room
            found[-1] = [*found[-1], column]
            taken += needs
        return found

    def _drawn(self, columns: list[int], title: str) -> Table:
        table = Table(
            title=Text(title) if title else None,
            title_justify="left",
            box=SIMPLE_HEAD,
            padding=(0, _PADDING, 0, 0),
            pad_edge=False,
        )
        for column in columns:
            table.add_column(
                self.headings[column],
                justify="left" if column in self.left else "right",
                width=self._width(column),
                overflow="fold",
            )
        styles = self.styles or [None] * len(self.rows)
        for row, style in zip(self.rows, styles, strict=True):
            table.add_row(*(Text(row[column]) for column in columns), style=style)
        return table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        """The tables that rich prints."""
        for number, columns in enumerate(self.parts(options.max_width)):
            yield self._drawn(columns, self.title if number == 0 else "")
