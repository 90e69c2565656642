# SPDX-License-Identifier: GPL-2.0-only
"""Campaign files: how a :mod:`.campaign` is written.

A campaign file is a scenario file (see :mod:`.scenario_file`) with, instead of
``seed``, the following::

    seeds = [1, 2, 3]            # every cell runs once with each; default [1]

    [matrix]                     # every combination is a cell
    rate = ["10mbit", "100mbit"] # rate, rtt, loss, queue, aqm, aqm_threshold and the
                                 # other aqm_*, reorder, reorder_by, police,
                                 # police_burst, link, back_rate, back_queue: in place of
                                 # [path]'s
    rtt = ["8ms", "64ms"]
    guest_cc = ["reno", "bbr"]   # guest_cc, native_cc, enforce, count, guest,
                                 # receiver_tcon, placement, tcon_vms, rto_min, native_rto_min:
                                 # every flow's and transfer's; bytes, load, fan_in, pause:
                                 # every transfer's; back: every flow's
    cc = ["reno", "linux:bic"]   # native_cc and enforce at once, of every flow and
                                 # transfer; or a list for each: ["cubic", "bbr"] of
                                 # two [[flow]] are a pair

    [[case]]                     # or: named cells; [matrix] multiplies them
    name = "lan"
    rate = "100mbit"
    rtt = "1ms"
    [[case.flow]]                # and [[case.transfer]]: in place of the campaign's
    guest_cc = "cubic"           # flows and transfers, all of them

    [short]                      # what --short runs instead, where all takes days
    seconds = 10
    seeds = [1]
    rtt = ["8ms"]                # the values of a matrix's key that are kept, and
    case = ["lan"]               # the cases

    [[bar]]                      # what a cell must reach
    metric = "goodput"           # one of campaign.METRICS
    min = 0.95                   # min, max, both, or only an aim
    aim = 0.98                   # what is wanted beyond that; default nothing
    rtt_max = "120ms"            # only cells with at most this; default every cell
    loss_max = "1.2%"
    guest_cc = ["reno"]          # only cells with one of these
    receiver_tcon = true         # only cells whose flows have it so
    over = "cells"               # "mean": for the mean of all cells instead

    show = ["queue", "cwnd"]     # metrics of campaign.ON_REQUEST that are shown without a bar
    published = "paper.toml"     # a file as in tools/published: completion times by
                                 # case, tables and values that name this campaign are
                                 # printed beside; counts from the campaign's folder

Of a metric's bars the first that fits a cell is that cell's.
"""

from __future__ import annotations

import copy
import itertools
import math
import pathlib
import re
from typing import Any

from pydantic import ConfigDict, Field, create_model, model_validator

from ..aqm import KINDS, PARAMETERS
from ..scenario import ENFORCE_CCS, GUEST_CCS, KERNEL_CC, MAX_SEED
from . import published
from .campaign import BASELINES, COMPARED, METRICS, ON_REQUEST, RATIOS, Bar, Campaign, Cell
from .scenario_file import (
    MAX_DELAY_S,
    FlowTable,
    Modes,
    Name,
    PathTable,
    ScenarioFile,
    Seconds,
    TransferTable,
    fraction,
    time,
)
from .toml import (
    InputError,
    Location,
    Schema,
    SentenceError,
    Source,
    Table,
    checked,
    number,
    one_of,
    read_text,
    several,
)

MAX_CELLS = 10_000

# --- what a file declares -------------------------------------------------------

_SCHEMAS = [table.schema_of() for table in (PathTable, FlowTable, TransferTable)]
_PATH, _FLOW, _TRANSFER = (schema | {"required": []} for schema in _SCHEMAS)
#: Keys that a matrix may vary, by the table in which a scenario has them.
_AQM_KEYS = tuple(key for key in _PATH["properties"] if key.startswith("aqm"))
_PATH_KEYS = ("rate", "rtt", "loss", "queue", *_AQM_KEYS,
              "reorder", "reorder_by", "police", "police_burst", "link",
              "back_rate", "back_queue")  # fmt: skip
_FLOW_KEYS = ("count", "guest_cc", "native_cc", "enforce", "guest_delay", "guest_pause",
              "guest", "receiver_tcon", "placement", "tcon_vms", "rto_min",
              "native_rto_min")  # fmt: skip
_TRANSFER_KEYS = ("bytes", "load", "fan_in", "pause")
_BULK_KEYS = ("back",)
MATRIX_KEYS = (*_PATH_KEYS, *_FLOW_KEYS, "cc", *_TRANSFER_KEYS, *_BULK_KEYS)
#: Which tables of flows there are, and what "cc" sets in them.
_FLOW_TABLES = ("flow", "transfer")
_SET_BY_CC = ("native_cc", "enforce")

_CCS = {"enum": list(ENFORCE_CCS)}
_CC: Schema = {
    "anyOf": [_CCS, {"type": "array", "items": _CCS, "minItems": 1}],
    "description": "native_cc and enforce of every flow, or of each",
}
_ONE = _PATH["properties"] | _FLOW["properties"] | _TRANSFER["properties"] | {"cc": _CC}
_VALUES = {
    key: {name: what for name, what in _ONE[key].items() if name != "default"}
    for key in MATRIX_KEYS
}  # fmt: skip


def _unread(schema: Schema) -> Any:
    """A value that is read with the cells that it is put into."""
    return (checked(lambda value: value, schema), None)


def _seed(seed: Any) -> str:
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed <= MAX_SEED:
        raise SentenceError(f"seed {seed} is no whole number of 0 .. {MAX_SEED}")
    return f"seed {seed}"


def _cc_name(name: Any) -> str:
    if not isinstance(name, str):
        raise InputError("must be a string")
    return name


def _shown_metric(name: Any) -> str:
    if name not in ON_REQUEST:
        raise InputError(f"can only have one of {', '.join(ON_REQUEST)}")
    return str(name)


_Seeds = several("numbers", {"type": "integer", "minimum": 0, "maximum": MAX_SEED}, _seed)
_Number = number(lambda value: value >= 0, ": it cannot be negative", minimum=0)
_STRING = {"type": "string"}
_Matrix = create_model(
    "Matrix",
    __base__=Table,
    **{key: (several("values", schema) | None, None) for key, schema in _VALUES.items()},
)
_OWN_FLOWS = {
    kind: _unread({"type": "array", "items": schema, "minItems": 1})
    for kind, schema in (("flow", _FLOW), ("transfer", _TRANSFER))
}
_Case = create_model(
    "Case",
    __base__=Table,
    name=(str, ...),
    **{key: _unread(schema) for key, schema in _VALUES.items()},
    **_OWN_FLOWS,
)


class _Short(_Matrix):
    """The matrix that is run instead of all."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    seconds: Seconds | None = None
    seeds: _Seeds | None = None
    case: several("values", _STRING) | None = None

    @model_validator(mode="after")
    def _something(self) -> _Short:
        if not self.model_fields_set:
            raise SentenceError("[short] is empty")
        return self


class _BarTable(Table):
    """A bar for cells."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [{"required": [key]} for key in ("min", "max", "aim")],
            "if": {"properties": {"over": {"const": "mean"}}, "required": ["over"]},
            "then": {"properties": {"metric": {"enum": list(RATIOS)}}},
        }
    )

    metric: one_of(METRICS)
    low: _Number | None = Field(None, alias="min")
    high: _Number | None = Field(None, alias="max")
    aim: _Number | None = None
    rtt_max_us: time(MAX_DELAY_S) | None = None
    loss_max_fraction: fraction() | None = None
    guest_ccs: several("CCs", _STRING, _cc_name, least=0) | None = Field(None, alias="guest_cc")
    receiver_tcon: bool | None = None
    over: one_of(["cells", "mean"]) = "cells"

    @model_validator(mode="after")
    def _has_a_meaning(self) -> _BarTable:
        if self.low is None and self.high is None and self.aim is None:
            raise InputError("has neither min nor max nor aim")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise SentenceError(f"min {self.low:g} is more than max {self.high:g}", "min")
        if self.over == "mean" and self.metric not in RATIOS:
            raise SentenceError(f"{self.metric} has no mean over the cells", "over")
        return self

    def bar(self) -> Bar:
        """The bar as a campaign has it."""
        made = dict(self)
        return Bar(over_mean=made.pop("over") == "mean", **made)


class _Head(Table):
    """A campaign file's own keys."""

    name: Name
    seconds: Seconds
    modes: Modes | None = None
    seeds: _Seeds = Field([1])
    matrix: _Matrix = Field({})
    case: list[_Case] = Field([])
    bar: list[_BarTable] = Field([])
    show: several("metrics", {"enum": list(ON_REQUEST)}, _shown_metric, least=0) = Field([])
    published: str | None = None
    short: _Short | None = None


#: A campaign file, as in tools/campaigns.
CampaignFile = create_model("CampaignFile", __base__=_Head, path=_unread(_PATH), **_OWN_FLOWS)


# --- cells ----------------------------------------------------------------------

#: One choice of a matrix or case: where it stands, its key and its value.
_Choice = tuple[Location, str, Any]


def _text(value: Any) -> str:
    """A choice as names and tables show it."""
    return "+".join(map(str, value)) if isinstance(value, list) else str(value)


def _tables(document: dict[str, Any], kind: str) -> list[tuple[int, dict[str, Any]]]:
    """The tables [[kind]] of a document, with their index."""
    found = document.get(kind)
    tables = enumerate(found if isinstance(found, list) else [])
    return [(index, table) for index, table in tables if isinstance(table, dict)]


def _tables_with(key: str) -> tuple[str, ...]:
    """The kinds of tables that have a key and may be there several times."""
    if key in _FLOW_KEYS:
        return _FLOW_TABLES
    return ("transfer",) if key in _TRANSFER_KEYS else ("flow",) if key in _BULK_KEYS else ()


class _Cell:
    """A scenario's document, into which choices are put; ``origin`` is where they stand."""

    def __init__(self, document: dict[str, Any], choices: list[_Choice]) -> None:
        kept = [key for key in ScenarioFile.model_fields if key in document and key != "seed"]
        self.document = {key: copy.deepcopy(document[key]) for key in kept}
        self.origin: dict[Location, Location] = {}
        own = [choice for choice in choices if choice[1] in _FLOW_TABLES]
        for kind in _FLOW_TABLES if own else ():
            self.document.pop(kind, None)
        for at, kind, tables in own:
            self.set((kind,), copy.deepcopy(tables), at)
        for choice in choices:
            self.put(*choice)
        self.drop_other_aqms()

    def set(self, at: Location, value: Any, origin: Location) -> None:
        """Put a value at ``at`` of the scenario, where tables are."""
        table: Any = self.document
        for part in at[:-1]:
            table = table[part]
        table[at[-1]] = value
        self.origin[at] = origin

    def put(self, at: Location, key: str, value: Any) -> None:
        """Put one choice where a scenario has it."""
        if key in _PATH_KEYS and isinstance(self.document.setdefault("path", {}), dict):
            self.set(("path", key), value, at)
        if key == "cc":
            self.put_ccs(at, value)
        for kind in _tables_with(key):
            for index, _ in _tables(self.document, kind):
                self.set((kind, index, key), value, at)

    def put_ccs(self, at: Location, value: Any) -> None:
        """Let one CC, or one for each flow, decide in mode native and in mode enforced."""
        tables = [(kind, i) for kind in _FLOW_TABLES for i, _ in _tables(self.document, kind)]
        ccs = value if isinstance(value, list) else [value] * len(tables)
        if len(ccs) != len(tables):
            what = f"{len(ccs)} CCs for {len(tables)} tables [[flow]] and [[transfer]]"
            raise InputError(f"has {what}", *at)
        modes = self.document.get("modes")
        has_native = modes is None or bool({"native", "observed", "linux", "stock"} & set(modes))
        for cc, table in zip(ccs, tables, strict=True):
            native_cc = cc.removeprefix(KERNEL_CC) if isinstance(cc, str) else cc
            chosen = {"enforce": cc, "native_cc": native_cc}
            if native_cc not in GUEST_CCS and cc in ENFORCE_CCS:
                if has_native:
                    raise InputError(f'is "{cc}": the kernel has no such CC', *at)
                del chosen["native_cc"]
            for key, name in chosen.items():
                self.set((*table, key), name, at)

    def drop_other_aqms(self) -> None:
        """Of [path] what the chosen AQM does not take: it is there for other cells."""
        kind = self.document["path"]["aqm"] if ("path", "aqm") in self.origin else None
        for key in _AQM_KEYS[1:] if kind in KINDS else ():
            taken = key.removeprefix("aqm_") in PARAMETERS[kind]
            if not taken and ("path", key) not in self.origin:
                self.document["path"].pop(key, None)


class _Reading:
    """Makes the campaign of a file that is read; ``short``: what [short] makes of it.

    An InputError from here names the place from the file's top.
    """

    def __init__(self, source: Source, short: bool) -> None:
        self.file = CampaignFile.model_validate(source.document)
        self.source, self.document, self.short = source, source.document, short

    def matrix(self) -> list[list[_Choice]]:
        """The choices that the cells combine, one list for each key."""
        dimensions = []
        for key, values in self.document.get("matrix", {}).items():
            kept = self.kept(key, values)
            several = enumerate(values)
            dimensions.append([(("matrix", key, i), key, v) for i, v in several if v in kept])
        return dimensions

    def kept(self, key: str, values: list[Any]) -> list[Any]:
        """The values of a matrix's key, or the cases, that are run."""
        kept = self.document.get("short", {}).get(key)
        for value in kept or ():
            if value not in values:
                raise InputError(f'keeps "{_text(value)}", which there is not', "short", key)
        return kept if kept and self.short else values

    def cases(self) -> list[list[_Choice]]:
        """The choices of each [[case]], its name first."""
        found: list[list[_Choice]] = []
        matrix = self.document.get("matrix", {})
        for index, table in enumerate(self.document.get("case", [])):
            at, name = ("case", index), table["name"]
            if any(case[0][2] == name for case in found):
                raise SentenceError(f'two cases have the name "{name}"', *at, "name")
            if double := next((key for key in table if key in matrix), None):
                what = f"both case {index + 1} and the matrix have the key {double}"
                raise SentenceError(what, *at, double)
            choices = [((*at, key), key, table[key]) for key in table if key != "name"]
            found.append([((*at, "name"), "case", name), *choices])
        own = [any(key in _FLOW_TABLES for _, key, _ in case) for case in found]
        for kind in _FLOW_TABLES:
            if found and all(own) and kind in self.document:
                raise SentenceError(f"no case takes [[{kind}]]: each has flows of its own", kind)
        kept = self.kept("case", [case[0][2] for case in found])
        return [case for case in found if case[0][2] in kept]

    def cell(self, choices: list[_Choice]) -> Cell:
        """The cell of one combination: the scenario with its choices put in."""
        made = _Cell(self.document, choices)
        if self.short and self.file.short.seconds:
            made.set(("seconds",), self.document["short"]["seconds"], ("short", "seconds"))
        shown = [choice for choice in choices if choice[1] not in _FLOW_TABLES]
        named_case = any(key == "case" for _, key, _ in shown)
        words = [
            _text(value)
            for at, key, value in shown
            if key == "case" or at[0] == "matrix" or not named_case
        ]
        name = "-".join(re.sub("[^A-Za-z0-9.]+", "-", w.replace("%", "pct")) for w in words)
        full_name = f"{self.file.name}-{name}" if name else self.file.name
        made.set(("name",), full_name, choices[0][0] if choices else ("name",))
        with self.source.blamed(made.origin):
            scenario = ScenarioFile.model_validate(made.document).scenario()
        values = {key: _text(value) for _, key, value in shown}
        return Cell(" ".join(words) or self.file.name, values, scenario)

    def cells(self) -> tuple[Cell, ...]:
        """All combinations, cases outermost."""
        matrix = self.matrix()
        cases = self.cases() or [[]]
        self.refuse_double_ccs([*matrix, *cases])
        total = len(cases) * math.prod(map(len, matrix))
        if total > MAX_CELLS:
            raise SentenceError(f"there are {total} cells, more than {MAX_CELLS}", "matrix")
        found = [
            self.cell([*case, *choices]) for case in cases for choices in itertools.product(*matrix)
        ]
        names: set[str] = set()
        for cell in found:
            if cell.scenario.name in names:
                raise SentenceError(f'two cells have the name "{cell.scenario.name}"', "matrix")
            names.add(cell.scenario.name)
        return tuple(found)

    def refuse_double_ccs(self, choices: list[list[_Choice]]) -> None:
        """Both ``cc`` and the keys that it sets."""
        found = {key: at for several in choices for at, key, _ in several}
        for key in _SET_BY_CC:
            if "cc" in found and key in found:
                raise InputError(f"stands beside cc, which sets {key}", *found[key])

    # --- the rest ---------------------------------------------------------------

    def published(self) -> published.Document | None:
        """A document's values for this campaign; None where none is named."""
        name = self.file.name
        if self.file.published is None:
            return None
        file = pathlib.Path(self.source.file).parent / self.file.published
        document = published.load(file).of_campaign(name)
        if not (document.completions or document.tables or document.values):
            what = f"{file} holds nothing of campaign {name}, and no completion times"
            raise SentenceError(what, "published")
        return document

    def check_short(self) -> None:
        """Check that [short] is there where it is asked for, and keeps what there is."""
        short = self.document.get("short", {})
        if self.short and not short:
            raise SentenceError("there is no [short] to run instead of all", "short")
        for key in MATRIX_KEYS:
            if key in short and key not in self.document.get("matrix", {}):
                raise InputError("keeps values of a key that [matrix] has not", "short", key)
        if "case" in short and not self.file.case:
            raise InputError("keeps cases, but there is no [[case]]", "short", "case")

    def check_bars(self, cells: tuple[Cell, ...]) -> None:
        """Check that each bar is about something that the campaign's modes can bring."""
        modes = cells[0].scenario.modes
        for index, bar in enumerate(self.file.bar):
            metric = bar.metric
            wanted = {COMPARED, "guest"} if metric == "saving_kept" else {COMPARED}
            if lacking := sorted(wanted - set(modes)):
                raise SentenceError(f"{metric} cannot be judged without mode {lacking[0]}",
                                    "bar", index, "metric")  # fmt: skip
            if (metric in RATIOS or metric == "saving_kept") and not set(BASELINES) & set(modes):
                raise SentenceError(f"{metric} is a ratio, and there is no mode to compare with",
                                    "bar", index, "metric")  # fmt: skip
            for cc in bar.guest_ccs or ():
                if not any(cc == flow.guest_cc for cell in cells for flow in cell.scenario.flows):
                    raise SentenceError(f"no cell has a guest with {cc}",
                                        "bar", index, "guest_cc")  # fmt: skip

    def campaign(self) -> Campaign:
        """The whole file."""
        document, name = self.published(), self.file.name
        self.check_short()
        cells = self.cells()
        self.check_bars(cells)
        short_seeds = self.file.short.seeds if self.short else None
        return Campaign(
            name=f"{name}-short" if self.short else name,
            cells=cells,
            seeds=short_seeds or self.file.seeds,
            bars=tuple(table.bar() for table in self.file.bar),
            published={c.case: c for c in document.completions} if document else {},
            source=document.source if document else "",
            tables=tuple(document.tables) if document else (),
            values=tuple(document.values) if document else (),
            show=tuple(self.file.show),
        )  # fmt: skip


def load(file: str | pathlib.Path, short: bool = False) -> Campaign:
    """Read a campaign file, or what [short] makes of it.

    Raises ScenarioError if it cannot be used.
    """
    return parse(read_text(file), str(file), short)


def parse(text: str, file: str = "campaign", short: bool = False) -> Campaign:
    """Make a campaign of TOML text; ``file`` is what errors call it.

    ``short``: the shorter campaign of the table [short], under the name NAME-short.
    Raises ScenarioError, one sentence with file and line.
    """
    source = Source(text, file)
    with source.blamed():
        return _Reading(source, short).campaign()
