# SPDX-License-Identifier: GPL-2.0-only
"""Numbers that a document has published, read from TOML (``tools/published``).

A file is about one document::

    source = "Authors: title"        # the document

    [[table]]
    name = "5.1"                     # as the document calls it
    title = "one CC alone"
    where = "section 5.1"
    campaign = "vm-baseline"         # what repeats it; default nothing
    note = "..."                     # what a reader must know; default nothing
    seconds = 60                     # of a run: what sums of rows are over; default not said
    columns = [["vms", "count"], ["cc", "text"], ["rtt", "ms"]]     # name, unit
    rows = [
      [1, "cubic", 136.88],
      [2, "cubic", "-"],             # "-": the document gives no number
    ]

    [[value]]                        # a number that stands in the text
    quantity = "goodput"
    unit = "Mbit/s"
    value = 850                      # or low, high, or both: what the text says of it
    spread = 20                      # the document's +-; default none
    of = {cc = "bbr", loss = "1.2%"} # of what; default of everything
    where = "section 4.3"
    campaign = "..."                 # and note: as of a table

    [[completion]]                   # times of transfers, in seconds and by mode
    case = "LAN 10MB"
    where = "section 4.2"
    mean_s = {guest = 1.7003, native = 1.586, enforced = 1.653}
    most_within_s = {...}            # within which time most ended; default nothing
    p999_reduction = {...}           # share by which the 99.9th percentile is below
                                     # the guest's; default nothing

Units are those of UNITS.  Whatever is wrong with a file is said in one sentence that
starts with ``FILE:LINE:``; a table's rows count as the line on which they begin.
"""

from __future__ import annotations

import dataclasses
import math
import pathlib
from dataclasses import dataclass
from typing import Any

from ..scenario import MODES, Location, Reader, kind_of, parse_toml, read_text

#: What numbers may be in, and what that means.
UNITS = {
    "count": "a whole number of something",
    "index": "a number without a unit",
    "share": "a part of 1",
    "%": "per cent",
    "packets": "packets, or segments of one",
    "kB": "1000 bytes, or 1024: documents do not say",
    "MB": "10^6 bytes, or 2^20: documents do not say",
    "MB/s": "megabytes in a second, as above",
    "Mbit/s": "10^6 bits in a second",
    "us": "microseconds",
    "ms": "milliseconds",
    "s": "seconds",
    "lines": "lines of code",
    "text": "words, or a list of words",
}
#: Units whose numbers must be whole.
_WHOLE = ("count", "lines")
#: A cell for which the document gives nothing.
NOTHING = "-"

Cell = float | str | tuple[str, ...] | None


@dataclass(frozen=True)
class Column:
    """A table's column; ``unit`` is one of UNITS."""

    name: str
    unit: str


@dataclass(frozen=True)
class Table:
    """A table; ``rows`` have a cell for each column, None where nothing was given."""

    name: str
    title: str
    where: str
    campaign: str | None
    note: str | None
    seconds: float | None
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def records(self) -> list[dict[str, Cell]]:
        """The rows, by the columns' names."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]


@dataclass(frozen=True)
class Value:
    """A number in the text: ``value``, or that it is within ``low`` .. ``high``, of
    which one may be None; ``of`` says of what.
    """

    quantity: str
    unit: str
    value: float | None
    low: float | None
    high: float | None
    spread: float | None
    of: dict[str, str]
    where: str
    campaign: str | None
    note: str | None


@dataclass(frozen=True)
class Completion:
    """How long transfers of one case took, in seconds, and shares, by mode."""

    case: str
    where: str
    mean_s: dict[str, float]
    most_within_s: dict[str, float]
    p999_reduction: dict[str, float]


@dataclass(frozen=True)
class Document:
    """All numbers of one document, ``source``."""

    source: str
    tables: tuple[Table, ...]
    values: tuple[Value, ...]
    completions: tuple[Completion, ...]

    def table(self, name: str) -> Table:
        """The table of this name.  Raises KeyError where there is none."""
        return {table.name: table for table in self.tables}[name]

    def of_campaign(self, name: str) -> Document:
        """The same with those tables and values alone that a campaign repeats."""
        return dataclasses.replace(
            self,
            tables=tuple(table for table in self.tables if table.campaign == name),
            values=tuple(value for value in self.values if value.campaign == name),
        )


def load(file: str | pathlib.Path) -> Document:
    """Read a file of published numbers.  Raises ScenarioError if it cannot be used."""
    return parse(read_text(file), str(file))


def parse(text: str, file: str = "published") -> Document:
    """Make a document of TOML text; ``file`` is what errors call it.

    Raises ScenarioError, one sentence with file and line.
    """
    return _PublishedReader(text, file, parse_toml(text, file)).everything()


class _PublishedReader(Reader):
    """Turns a TOML document into published numbers, or says what is wrong where."""

    def label(self, at: Location) -> str:
        """How a message calls ``at``: ``table 2's columns``."""
        if len(at) >= 3:
            return f"{at[0]} {int(at[1]) + 1}'s " + ".".join(str(part) for part in at[2:])
        return super().label(at)

    def words(self, at: Location) -> str:
        """A string that says something."""
        value = self.string(at)
        if not value.strip():
            raise self.fail(at, f"{self.label(at)} is empty")
        return value

    def optional(self, at: Location) -> str | None:
        """The same, or None where there is nothing."""
        return self.words(at) if at[-1] in self.get(at[:-1]) else None

    def number(self, at: Location, value: Any, unit: str) -> float:
        """A number in ``unit``, neither negative nor infinite."""
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self.fail(at, f"{self.label(at)} must be a number, not {kind_of(value)}")
        if not (value >= 0 and math.isfinite(value)):
            raise self.fail(at, f"{self.label(at)} is {value}: no number from 0 up")
        if unit in _WHOLE and value != int(value):
            raise self.fail(at, f"{self.label(at)} is {value}: {unit} must be whole")
        if unit == "share" and value > 1:
            raise self.fail(at, f"{self.label(at)} is {value}: more than 1")
        return value

    def seconds(self, at: Location) -> float | None:
        """How long something took; None where that is not said."""
        value = self.get(at[:-1]).get(at[-1])
        if value is None:
            return None
        if self.number(at, value, "s") == 0:
            raise self.fail(at, f"{self.label(at)} is 0: no time at all")
        return float(value)

    def unit(self, at: Location, value: Any) -> str:
        """One of UNITS."""
        if value not in UNITS:
            known = ", ".join(UNITS)
            raise self.fail(
                at, f'{self.label(at)} has the unknown unit "{value}"; known are {known}'
            )
        return str(value)

    def entries(self, key: str) -> list[Location]:
        """Where the tables [[key]] stand."""
        value = self.get((key,), [])
        if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
            raise self.fail((key,), f"{key} must be written [[{key}]], not as {kind_of(value)}")
        return [(key, index) for index in range(len(value))]

    # --- tables -------------------------------------------------------------

    def columns(self, at: Location) -> tuple[Column, ...]:
        """Names and units, each name once."""
        found: list[Column] = []
        value = self.get(at)
        if not isinstance(value, list) or not value:
            raise self.fail(at, f"{self.label(at)} must be a list of names and units")
        for pair in value:
            if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str):
                raise self.fail(at, f"{self.label(at)} must be a list of names and units")
            if pair[0] in (column.name for column in found):
                raise self.fail(at, f"{self.label(at)} has {pair[0]} twice")
            found.append(Column(pair[0], self.unit(at, pair[1])))
        return tuple(found)

    def cell(self, at: Location, row: int, column: Column, value: Any) -> Cell:
        """One cell of a table."""
        if value == NOTHING:
            return None
        where = f"row {row + 1}, {column.name}"
        if column.unit == "text":
            several = value if isinstance(value, list) else [value]
            if not several or not all(isinstance(v, str) and v.strip() for v in several):
                raise self.fail(at, f"{self.label(at)}: {where}: no words")
            return tuple(several) if isinstance(value, list) else str(value)
        return self.number((*at, where), value, column.unit)

    def rows(self, at: Location, columns: tuple[Column, ...]) -> tuple[tuple[Cell, ...], ...]:
        """The rows, each with a cell for every column."""
        value = self.get(at)
        if not isinstance(value, list) or not value:
            raise self.fail(at, f"{self.label(at)} must be a list of rows")
        found = []
        for number, row in enumerate(value):
            if not isinstance(row, list) or len(row) != len(columns):
                cells = len(row) if isinstance(row, list) else "no"
                raise self.fail(
                    at, f"{self.label(at)}: row {number + 1} has {cells} cells, not {len(columns)}"
                )
            pairs = zip(columns, row, strict=True)
            found.append(tuple(self.cell(at, number, column, cell) for column, cell in pairs))
        return tuple(found)

    def table_at(self, at: Location) -> Table:
        """A table [[table]]."""
        keys = ("name", "title", "where", "campaign", "note", "seconds", "columns", "rows")
        self.table(self.get(at), at, keys)
        columns = self.columns((*at, "columns"))
        return Table(
            name=self.words((*at, "name")),
            title=self.words((*at, "title")),
            where=self.words((*at, "where")),
            campaign=self.optional((*at, "campaign")),
            note=self.optional((*at, "note")),
            seconds=self.seconds((*at, "seconds")),
            columns=columns,
            rows=self.rows((*at, "rows"), columns),
        )

    # --- values and completion times ----------------------------------------

    def value_at(self, at: Location) -> Value:
        """A table [[value]]."""
        numbers = ("value", "low", "high", "spread")
        keys = ("quantity", "unit", *numbers, "of", "where", "campaign", "note")
        table = self.table(self.get(at), at, keys)
        unit = self.unit((*at, "unit"), self.words((*at, "unit")))
        if unit == "text":
            raise self.fail((*at, "unit"), f"{self.label((*at, 'unit'))} is text: a value has none")
        found = {
            name: self.number((*at, name), table[name], unit) for name in numbers if name in table
        }
        if ("value" in found) == bool({"low", "high"} & set(found)):
            raise self.fail(at, f"value {int(at[1]) + 1} needs either value, or low or high")
        low, high = found.get("low"), found.get("high")
        if low is not None and high is not None and low >= high:
            raise self.fail((*at, "low"), f"{self.label((*at, 'low'))} is not below high")
        return Value(
            quantity=self.words((*at, "quantity")),
            unit=unit,
            value=found.get("value"),
            low=low,
            high=high,
            spread=found.get("spread"),
            of=self.conditions((*at, "of")),
            where=self.words((*at, "where")),
            campaign=self.optional((*at, "campaign")),
            note=self.optional((*at, "note")),
        )

    def conditions(self, at: Location) -> dict[str, str]:
        """What a value is of."""
        of = self.get(at, {})
        if not isinstance(of, dict) or not all(isinstance(v, str) for v in of.values()):
            raise self.fail(at, f"{self.label(at)} must be a table of strings")
        return dict(of)

    def by_mode(self, at: Location, unit: str, needed: bool) -> dict[str, float]:
        """Numbers of modes."""
        table = self.get(at, None if needed else {})
        if not isinstance(table, dict):
            raise self.fail(at, f"{self.label(at)} must be a table, not {kind_of(table)}")
        for mode in table:
            if mode not in MODES:
                known = ", ".join(MODES)
                raise self.fail(at, f'{self.label(at)} has the mode "{mode}"; known are {known}')
        return {mode: self.number((*at, mode), value, unit) for mode, value in table.items()}

    def completion_at(self, at: Location) -> Completion:
        """A table [[completion]]."""
        self.table(self.get(at), at, ("case", "where", "mean_s", "most_within_s", "p999_reduction"))
        return Completion(
            case=self.words((*at, "case")),
            where=self.words((*at, "where")),
            mean_s=self.by_mode((*at, "mean_s"), "s", True),
            most_within_s=self.by_mode((*at, "most_within_s"), "s", False),
            p999_reduction=self.by_mode((*at, "p999_reduction"), "share", False),
        )

    def everything(self) -> Document:
        """The whole file."""
        self.table(self.document, (), ("source", "table", "value", "completion"))
        document = Document(
            source=self.words(("source",)),
            tables=tuple(self.table_at(at) for at in self.entries("table")),
            values=tuple(self.value_at(at) for at in self.entries("value")),
            completions=tuple(self.completion_at(at) for at in self.entries("completion")),
        )
        for kind, names in (
            ("table", [table.name for table in document.tables]),
            ("completion", [completion.case for completion in document.completions]),
        ):
            for index, name in enumerate(names):
                if name in names[:index]:
                    raise self.fail((kind, index), f'{kind} "{name}" stands twice')
        if not (document.tables or document.values or document.completions):
            raise self.fail(("source",), "there is no [[table]], [[value]] or [[completion]]")
        return document
