# SPDX-License-Identifier: GPL-2.0-only
"""Numbers that a document has published, read from TOML (``tools/published``).

A file is about one document::

    source = "Authors: title"        # the document
    numbered = ["Figure 1 to 9", "Table 2.1 to 2.6, 4.1"]    # all that it has; default nothing

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

UNITS has the units.  An error in a file is told in one sentence that starts with
``FILE:LINE:``; a table's rows count as the line on which they begin.
"""

from __future__ import annotations

import math
import pathlib
import re
from dataclasses import dataclass
from typing import Any

from pydantic import Field, ValidationInfo, field_validator, model_validator

from ..scenario import MODES
from .toml import InputError, Schema, SentenceError, Source, checked, kind_of, read_text
from .toml import Table as TomlTable

#: Units of numbers, and their meaning.
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

#: "2.1", or "2.1 to 2.3": each a chapter and a number.
_NUMBERS = re.compile(r"(\w+\.)?(\d+)(?: to (\w+\.)?(\d+))?")


@dataclass(frozen=True)
class Column:
    """A table's column; ``unit`` is one of UNITS."""

    name: str
    unit: str


# --- values ---------------------------------------------------------------------

_STRING: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "number", "minimum": 0}


def _words(text: str) -> str:
    if not text.strip():
        raise InputError("is empty")
    return text


def _unit(value: Any) -> str:
    if value not in UNITS:
        raise InputError(f'has the unknown unit "{value}"; known are {", ".join(UNITS)}')
    return value


def _counted(unit: str) -> str:
    if unit == "text":
        raise InputError("is text: a value has none")
    return _unit(unit)


def _number(value: Any, unit: str, *at: str) -> float:
    """A number in ``unit``, neither negative nor infinite."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise InputError(f"must be a number, not {kind_of(value)}", *at)
    if not (value >= 0 and math.isfinite(value)):
        raise InputError(f"is {value}: no number from 0 up", *at)
    if unit in _WHOLE and value != int(value):
        raise InputError(f"is {value}: {unit} must be whole", *at)
    if unit == "share" and value > 1:
        raise InputError(f"is {value}: more than 1", *at)
    return value


def _seconds(value: Any) -> float:
    if _number(value, "s") == 0:
        raise InputError("is 0: no time at all")
    return float(value)


def _columns(value: Any) -> tuple[Column, ...]:
    found: list[Column] = []
    for pair in value if isinstance(value, list) else ():
        if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str):
            found = []
            break
        if pair[0] in (column.name for column in found):
            raise InputError(f"has {pair[0]} twice")
        found.append(Column(pair[0], _unit(pair[1])))
    if not found:
        raise InputError("must be a list of names and units")
    return tuple(found)


def _cell(value: Any, column: Column, row: str) -> Cell:
    if value == NOTHING:
        return None
    where = f"{row}, {column.name}"
    if column.unit == "text":
        several = value if isinstance(value, list) else [value]
        if not several or not all(isinstance(v, str) and v.strip() for v in several):
            raise InputError("no words", f"{where}:")
        return tuple(several) if isinstance(value, list) else str(value)
    return _number(value, column.unit, where)


def _by_mode(unit: str, number: Schema) -> Any:
    """Numbers of modes, in ``unit``."""

    def read(table: Any) -> dict[str, float]:
        if not isinstance(table, dict):
            raise InputError(f"must be a table, not {kind_of(table)}")
        for mode in table:
            if mode not in MODES:
                raise InputError(f'has the mode "{mode}"; known are {", ".join(MODES)}')
        return {mode: _number(value, unit, mode) for mode, value in table.items()}

    properties = dict.fromkeys(MODES, number)
    return checked(
        read, {"type": "object", "properties": properties, "additionalProperties": False}
    )


def numbered(text: str) -> list[str]:
    """The single names in "Table 2.1 to 2.3, 4.1".  Raises InputError where it says none."""
    kind, _, rest = text.partition(" ")
    found = []
    for part in rest.split(", "):
        match = _NUMBERS.fullmatch(part)
        if kind not in ("Figure", "Table") or match is None:
            raise InputError(f'is "{text}", not as "Table 2.1 to 2.3, 4.1"')
        chapter, first, last_chapter, last = match.groups()
        numbers = range(int(first), int(last or first) + 1)
        if (last and last_chapter != chapter) or not numbers:
            raise InputError(f'has "{part}", which does not count up within a chapter')
        found += [f"{kind} {chapter or ''}{number}" for number in numbers]
    return found


def _numbered(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise InputError("must be a list of words")
    found = [name for text in value for name in numbered(text)]
    for name in found:
        if found.count(name) > 1:
            raise InputError(f"has {name} twice")
    return tuple(found)


def _list_of(items: Schema) -> Schema:
    return {"type": "array", "items": items, "minItems": 1}


_UNIT = {
    "enum": list(UNITS),
    "description": "; ".join(f"{unit}: {what}" for unit, what in UNITS.items()),
}
_COLUMN = {"type": "array", "prefixItems": [_STRING, _UNIT], "minItems": 2, "maxItems": 2}
_CELL = {"anyOf": [_NUMBER, _STRING, _list_of(_STRING)], "description": "- is nothing"}

Words = checked(_words, _STRING, str)
Number = checked(lambda value: value, _NUMBER)
Seconds = checked(_seconds, {"type": "number", "exclusiveMinimum": 0})
Unit = checked(_counted, {"enum": [unit for unit in UNITS if unit != "text"]}, str)
Columns = checked(_columns, _list_of(_COLUMN))
Rows = checked(lambda value: value, _list_of(_list_of(_CELL)))
Numbered = checked(_numbered, {"type": "array", "items": _STRING})
Times = _by_mode("s", _NUMBER)
Shares = _by_mode("share", _NUMBER | {"maximum": 1})


# --- tables ---------------------------------------------------------------------


class Table(TomlTable):
    """A table; ``rows`` have a cell for each column, None where nothing was given."""

    name: Words
    title: Words
    where: Words
    campaign: Words | None = None
    note: Words | None = None
    seconds: Seconds | None = None
    columns: Columns
    rows: Rows

    @field_validator("rows")
    @classmethod
    def _cells(cls, rows: Any, info: ValidationInfo) -> tuple[tuple[Cell, ...], ...]:
        if not isinstance(rows, list) or not rows:
            raise InputError("must be a list of rows")
        columns, found = info.data.get("columns", ()), []
        for number, row in enumerate(rows, 1):
            if not isinstance(row, list) or len(row) != len(columns):
                cells = len(row) if isinstance(row, list) else "no"
                raise InputError(f"has {cells} cells, not {len(columns)}", f"row {number}")
            pairs = zip(row, columns, strict=True)
            found.append(tuple(_cell(cell, column, f"row {number}") for cell, column in pairs))
        return tuple(found)

    def records(self) -> list[dict[str, Cell]]:
        """The rows, by the columns' names."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]


class Value(TomlTable):
    """A number in the text: ``value``, or that it is within ``low`` .. ``high``; one of
    these may be None.  ``of`` says of what.
    """

    quantity: Words
    unit: Unit
    value: Number | None = None
    low: Number | None = None
    high: Number | None = None
    spread: Number | None = None
    of: dict[str, str] = Field({})
    where: Words
    campaign: Words | None = None
    note: Words | None = None

    @field_validator("value", "low", "high", "spread")
    @classmethod
    def _in_its_unit(cls, value: Any, info: ValidationInfo) -> float | None:
        return None if value is None else _number(value, info.data.get("unit", ""))

    @model_validator(mode="after")
    def _one_or_a_range(self) -> Value:
        if (self.value is None) == (self.low is None and self.high is None):
            raise InputError("needs either value, or low or high")
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise InputError("is not below high", "low")
        return self


class Completion(TomlTable):
    """How long transfers of one case took, in seconds, and shares, by mode."""

    case: Words
    where: Words
    mean_s: Times
    most_within_s: Times = Field({})
    p999_reduction: Shares = Field({})


class Document(TomlTable):
    """All numbers of one document, ``source``; ``numbered`` names its tables and figures."""

    source: Words
    numbered: Numbered = Field([])
    tables: list[Table] = Field([], alias="table")
    values: list[Value] = Field([], alias="value")
    completions: list[Completion] = Field([], alias="completion")

    @model_validator(mode="after")
    def _something_once(self) -> Document:
        for kind, names in (
            ("table", [table.name for table in self.tables]),
            ("completion", [completion.case for completion in self.completions]),
        ):
            for index, name in enumerate(names):
                if name in names[:index]:
                    raise SentenceError(f'{kind} "{name}" stands twice', kind, index)
        if not (self.tables or self.values or self.completions):
            raise SentenceError("there is no [[table]], [[value]] or [[completion]]", "source")
        return self

    def table(self, name: str) -> Table:
        """The table of this name.  Raises KeyError where there is none."""
        return {table.name: table for table in self.tables}[name]

    def of_campaign(self, name: str) -> Document:
        """The same with those tables and values alone that a campaign repeats."""
        tables = [table for table in self.tables if table.campaign == name]
        values = [value for value in self.values if value.campaign == name]
        return self.model_copy(update={"tables": tables, "values": values})


def load(file: str | pathlib.Path) -> Document:
    """Read a file of published numbers.  Raises ScenarioError if it cannot be used."""
    return parse(read_text(file), str(file))


def parse(text: str, file: str = "published") -> Document:
    """Make a document of TOML text; ``file`` is what errors call it.

    Raises ScenarioError, one sentence with file and line.
    """
    source = Source(text, file)
    with source.blamed():
        return Document.model_validate(source.document)
