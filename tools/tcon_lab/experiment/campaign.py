# SPDX-License-Identifier: GPL-2.0-only
"""Campaigns: one scenario over a matrix of paths, CCs and seeds, read from TOML.

A campaign file is a scenario file (see :mod:`..scenario`) with, instead of
``seed``, the following::

    seeds = [1, 2, 3]            # every cell runs once with each; default [1]

    [matrix]                     # every combination is a cell
    rate = ["10mbit", "100mbit"] # rate, rtt, loss, queue, aqm, aqm_threshold and the
                                 # other aqm_*: in place of [path]'s
    rtt = ["8ms", "64ms"]
    guest_cc = ["reno", "bbr"]   # guest_cc, native_cc, enforce, count, receiver_tcon:
                                 # every flow's and transfer's; bytes, load: every
                                 # transfer's
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
    metric = "goodput"           # one of METRICS
    min = 0.95                   # min, max, both, or only an aim
    aim = 0.98                   # what is wanted beyond that; default nothing
    rtt_max = "120ms"            # only cells with at most this; default every cell
    loss_max = "1.2%"
    guest_cc = ["reno"]          # only cells with one of these
    receiver_tcon = true         # only cells whose flows have it so
    over = "cells"               # "mean": for the mean of all cells instead

    published = "paper.toml"     # a file as in tools/published: completion times by
                                 # case, tables and values that name this campaign are
                                 # printed beside; counts from the campaign's folder

Of a metric's bars the first that fits a cell is that cell's.

Whatever is wrong with a file is said in one sentence that starts with
``FILE:LINE:``.
"""

from __future__ import annotations

import copy
import itertools
import pathlib
import re
from dataclasses import dataclass
from typing import Any

from ..scenario import (
    AQM_KEYS,
    ENFORCE_CCS,
    GUEST_CCS,
    KERNEL_CC,
    MAX_SEED,
    Location,
    Reader,
    Scenario,
    kind_of,
    parse_toml,
    read_text,
)
from . import published as documents

#: What bars are about, and whether more of it is better; see :mod:`..numbers.compare`.
#: Those in RATIOS are of the enforced run to the one that it is compared with.
METRICS = {
    "goodput": True,
    "rtt": False,
    "rtt_p95": False,
    "completion_mean": False,
    "completion_p50": False,
    "completion_p99": False,
    "saving_kept": True,
    "own_limit": False,
    "queue": False,
    "utilisation": True,
    "jain": True,
    "jain_mean": True,
    "convergence": False,
    "loss_sync": False,
    "first_share": True,
    "alpha": False,
    "cwnd": True,
    "retransmitted": False,
    "loss_period": True,
    "instructions": False,
}
RATIOS = tuple(metric for metric in METRICS if metric not in ("saving_kept", "own_limit"))
#: What is shown only where a bar is about it.
ON_REQUEST = (
    "rtt_p95", "queue", "utilisation", "jain", "jain_mean", "convergence", "loss_sync",
    "first_share", "alpha", "cwnd", "retransmitted", "loss_period",
    "instructions",
)  # fmt: skip

#: What a matrix may vary, by the table in which a scenario has it.
_PATH_KEYS = ("rate", "rtt", "loss", "queue", *AQM_KEYS)
_FLOW_KEYS = ("count", "guest_cc", "native_cc", "enforce", "receiver_tcon")
_TRANSFER_KEYS = ("bytes", "load")
MATRIX_KEYS = (*_PATH_KEYS, *_FLOW_KEYS, "cc", *_TRANSFER_KEYS)
#: Which tables of flows there are, and what "cc" sets in them.
_FLOW_TABLES = ("flow", "transfer")
_SET_BY_CC = ("native_cc", "enforce")

_SCENARIO_KEYS = ("name", "seconds", "modes", "path", "flow", "transfer")
_OWN_KEYS = ("seeds", "matrix", "case", "bar", "published", "short")
_BAR_KEYS = (
    "metric",
    "min",
    "max",
    "aim",
    "rtt_max",
    "loss_max",
    "guest_cc",
    "receiver_tcon",
    "over",
)

MAX_CELLS = 10_000


@dataclass(frozen=True)
class Bar:
    """What cells must reach in ``metric``: ``low``, ``high``, and wanted ``aim``.

    It is about cells with at most ``rtt_max_us`` and ``loss_max_fraction``, one of
    ``guest_ccs``, and ``receiver_tcon`` as it is here, where those are not None; or,
    with ``over_mean``, about the mean of all cells.
    """

    metric: str
    low: float | None
    high: float | None
    aim: float | None
    rtt_max_us: int | None
    loss_max_fraction: float | None
    guest_ccs: tuple[str, ...] | None
    receiver_tcon: bool | None
    over_mean: bool

    def fits(self, scenario: Scenario) -> bool:
        """Whether the bar is about this cell."""
        path = scenario.path
        return (
            (self.rtt_max_us is None or path.rtt_us <= self.rtt_max_us)
            and (self.loss_max_fraction is None or path.loss_fraction <= self.loss_max_fraction)
            and (self.guest_ccs is None or scenario.flows[0].guest_cc in self.guest_ccs)
            and self.receiver_tcon in (None, scenario.flows[0].receiver_tcon)
        )

    def reached(self, value: float) -> bool:
        """Whether ``value`` is within the bar."""
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)

    def aim_reached(self, value: float) -> bool:
        """Whether ``value`` is what is aimed at; True where nothing is."""
        if self.aim is None:
            return True
        return value >= self.aim if METRICS[self.metric] else value <= self.aim


@dataclass(frozen=True)
class Cell:
    """One scenario of a campaign; ``values`` is what the matrix chose for it."""

    name: str
    values: dict[str, str]
    scenario: Scenario


@dataclass(frozen=True)
class Published:
    """What a paper says about one case: mean completion times in seconds, by mode."""

    where: str
    mean_s: dict[str, float]


@dataclass(frozen=True)
class Campaign:
    """A matrix of cells, each to be run in all its modes with all seeds.

    ``published`` are a paper's completion times by case, ``tables`` and ``values`` what
    else it has of this campaign, ``source`` is the paper.
    """

    name: str
    cells: tuple[Cell, ...]
    seeds: tuple[int, ...]
    bars: tuple[Bar, ...]
    published: dict[str, Published]
    source: str
    tables: tuple[documents.Table, ...] = ()
    values: tuple[documents.Value, ...] = ()

    @property
    def modes(self) -> tuple[str, ...]:
        """The modes, which all cells share."""
        return self.cells[0].scenario.modes

    def bar(self, metric: str, cell: Cell) -> Bar | None:
        """The bar for a metric of a cell, if there is one."""
        bars = (b for b in self.bars if b.metric == metric and not b.over_mean)
        return next((bar for bar in bars if bar.fits(cell.scenario)), None)

    def mean_bar(self, metric: str) -> Bar | None:
        """The bar for the mean of all cells, if there is one."""
        return next((b for b in self.bars if b.metric == metric and b.over_mean), None)


def load(file: str | pathlib.Path, short: bool = False) -> Campaign:
    """Read a campaign file, or what [short] makes of it.

    Raises ScenarioError if it cannot be used.
    """
    return parse(read_text(file), str(file), short)


def parse(text: str, file: str = "campaign", short: bool = False) -> Campaign:
    """Make a campaign of TOML text; ``file`` is what errors call it.

    ``short``: what the table [short] makes of it, under the name NAME-short.
    Raises ScenarioError, one sentence with file and line.
    """
    return _CampaignReader(text, file, parse_toml(text, file), short).campaign()


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
    """The kinds of tables, of which there may be several, that have a key."""
    if key in _FLOW_KEYS:
        return ("flow", "transfer")
    return ("transfer",) if key in _TRANSFER_KEYS else ()


class _CampaignReader(Reader):
    """Turns a TOML document into a campaign, or says what is wrong where."""

    def __init__(self, text: str, file: str, document: dict[str, Any], short: bool) -> None:
        super().__init__(text, file, document)
        self.short = short

    def label(self, at: Location) -> str:
        """How a message calls ``at``: ``bar 2's metric``, ``matrix.rate``."""
        if at[0] in ("bar", "case") and len(at) >= 3:
            return f"{at[0]} {int(at[1]) + 1}'s {at[2]}"
        return super().label(at[:2] if at[0] == "matrix" else at)

    def tables(self, key: str) -> int:
        """How many tables [[key]] there are."""
        value = self.get((key,), [])
        if not isinstance(value, list):
            raise self.fail((key,), f"{key} must be written [[{key}]], not as {kind_of(value)}")
        return len(value)

    def optional(self, at: Location, read: Any) -> Any:
        """What ``read`` makes of ``at``; None where there is nothing."""
        return read() if at[-1] in self.get(at[:-1]) else None

    # --- cells --------------------------------------------------------------

    def matrix(self) -> list[list[_Choice]]:
        """The choices that the cells combine, one list for each key."""
        at = ("matrix",)
        table = self.table(self.get(at, {}), at, MATRIX_KEYS)
        dimensions = []
        for key, values in table.items():
            if not isinstance(values, list) or not values:
                what = "an empty list" if values == [] else kind_of(values)
                raise self.fail((*at, key), f"matrix.{key} must be a list of values, not {what}")
            for index, value in enumerate(values):
                if value in values[:index]:
                    raise self.fail((*at, key, index), f"{value} stands twice in matrix.{key}")
            kept = self.kept(key, values)
            dimensions.append([((*at, key, i), key, v) for i, v in enumerate(values) if v in kept])
        return dimensions

    def kept(self, key: str, values: list[Any]) -> list[Any]:
        """Those values of a matrix's key, or cases, that are run."""
        at = ("short", key)
        if key not in self.get(("short",), {}):
            return values
        kept = self.get(at)
        if not isinstance(kept, list) or not kept:
            what = "an empty list" if kept == [] else kind_of(kept)
            raise self.fail(at, f"short.{key} must be a list of values, not {what}")
        for value in kept:
            if value not in values:
                raise self.fail(at, f'short.{key} keeps "{_text(value)}", which there is not')
        return kept if self.short else values

    def cases(self) -> list[list[_Choice]]:
        """The choices of each [[case]], its name first."""
        found: list[list[_Choice]] = []
        for index in range(self.tables("case")):
            at: Location = ("case", index)
            table = self.table(self.get(at), at, ("name", *MATRIX_KEYS, *_FLOW_TABLES))
            name = self.string((*at, "name"))
            if any(case[0][2] == name for case in found):
                raise self.fail((*at, "name"), f'two cases have the name "{name}"')
            for key in table:
                if key in self.get(("matrix",), {}):
                    raise self.fail(
                        (*at, key), f"both case {index + 1} and the matrix have the key {key}"
                    )
            choices = [((*at, key), key, table[key]) for key in table if key != "name"]
            found.append([((*at, "name"), "case", name), *choices])
        own = [any(key in _FLOW_TABLES for _, key, _ in case) for case in found]
        for kind in _FLOW_TABLES:
            if found and all(own) and kind in self.document:
                raise self.fail((kind,), f"no case takes [[{kind}]]: each has flows of its own")
        kept = self.kept("case", [case[0][2] for case in found])
        return [case for case in found if case[0][2] in kept]

    def cell(self, choices: list[_Choice]) -> Cell:
        """The cell of one combination: the scenario with its choices put in."""
        document = {key: copy.deepcopy(self.document[key]) for key in self.document
                    if key in _SCENARIO_KEYS}  # fmt: skip
        origin: dict[Location, Location] = {}
        self.put_flows(choices, document, origin)
        if self.short and "seconds" in self.get(("short",), {}):
            document["seconds"] = self.get(("short", "seconds"))
            origin["seconds",] = ("short", "seconds")
        shown = [choice for choice in choices if choice[1] not in _FLOW_TABLES]
        for choice in shown:
            self.put(choice, document, origin)
        named_case = any(key == "case" for _, key, _ in shown)
        words = [
            _text(value)
            for at, key, value in shown
            if key == "case" or at[0] == "matrix" or not named_case
        ]
        name = "-".join(re.sub("[^A-Za-z0-9.]+", "-", w.replace("%", "pct")) for w in words)
        campaign = self.name()
        document["name"] = f"{campaign}-{name}" if name else campaign
        origin["name",] = choices[0][0] if choices else ("name",)
        scenario = Reader(self.text, self.file, document, origin).scenario()
        values = {key: _text(value) for _, key, value in shown}
        return Cell(" ".join(words) or campaign, values, scenario)

    def put_flows(
        self, choices: list[_Choice], document: dict[str, Any], origin: dict[Location, Location]
    ) -> None:
        """Put a case's own flows and transfers in place of the campaign's."""
        own = [choice for choice in choices if choice[1] in _FLOW_TABLES]
        for kind in _FLOW_TABLES if own else ():
            document.pop(kind, None)
        for at, kind, tables in own:
            document[kind] = copy.deepcopy(tables)
            origin[kind,] = at

    def put(
        self, choice: _Choice, document: dict[str, Any], origin: dict[Location, Location]
    ) -> None:
        """Put one choice where a scenario has it."""
        at, key, value = choice
        if key in _PATH_KEYS and isinstance(document.setdefault("path", {}), dict):
            document["path"][key] = value
            origin["path", key] = at
        if key == "cc":
            self.put_ccs(at, value, document, origin)
        for kind in _tables_with(key):
            for index, table in _tables(document, kind):
                table[key] = value
                origin[kind, index, key] = at

    def put_ccs(
        self, at: Location, value: Any, document: dict[str, Any], origin: dict[Location, Location]
    ) -> None:
        """Let one CC, or one for each flow, decide in mode native and in mode enforced."""
        tables = [
            (kind, index, table)
            for kind in _FLOW_TABLES
            for index, table in _tables(document, kind)
        ]
        ccs = value if isinstance(value, list) else [value] * len(tables)
        if len(ccs) != len(tables):
            what = f"{len(ccs)} CCs for {len(tables)} tables [[flow]] and [[transfer]]"
            raise self.fail(at, f"{self.label(at)} has {what}")
        modes = document.get("modes")
        has_native = not isinstance(modes, list) or bool({"native", "linux", "stock"} & set(modes))
        for cc, (kind, index, table) in zip(ccs, tables, strict=True):
            native_cc = cc.removeprefix(KERNEL_CC) if isinstance(cc, str) else cc
            chosen = {"enforce": cc, "native_cc": native_cc}
            if native_cc not in GUEST_CCS and cc in ENFORCE_CCS:
                if has_native:
                    raise self.fail(at, f'{self.label(at)} is "{cc}": the kernel has no such CC')
                del chosen["native_cc"]
            for key, name in chosen.items():
                table[key] = name
                origin[kind, index, key] = at

    def cells(self) -> tuple[Cell, ...]:
        """All combinations, cases outermost."""
        matrix = self.matrix()
        cases = self.cases() or [[]]
        self.refuse_double_ccs([*matrix, *cases])
        total = len(cases)
        for dimension in matrix:
            total *= len(dimension)
        if total > MAX_CELLS:
            raise self.fail(("matrix",), f"there are {total} cells, more than {MAX_CELLS}")
        found = [
            self.cell([*case, *choices]) for case in cases for choices in itertools.product(*matrix)
        ]
        names: set[str] = set()
        for cell in found:
            if cell.scenario.name in names:
                raise self.fail(("matrix",), f'two cells have the name "{cell.scenario.name}"')
            names.add(cell.scenario.name)
        return tuple(found)

    def refuse_double_ccs(self, choices: list[list[_Choice]]) -> None:
        """Both ``cc`` and what it sets."""
        found = {key: at for several in choices for at, key, _ in several}
        for key in _SET_BY_CC:
            if "cc" in found and key in found:
                raise self.fail(found[key], f"{self.label(found[key])} stands beside cc, "
                                f"which sets {key}")  # fmt: skip

    # --- seeds and bars -----------------------------------------------------

    def seeds(self, at: Location = ("seeds",)) -> tuple[int, ...]:
        """The seeds, each once."""
        seeds = self.get(at, [1])
        if not isinstance(seeds, list) or not seeds:
            what = "an empty list" if seeds == [] else kind_of(seeds)
            raise self.fail(at, f"{self.label(at)} must be a list of numbers, not {what}")
        for index, seed in enumerate(seeds):
            if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed <= MAX_SEED:
                raise self.fail((*at, index), f"seed {seed} is no whole number of 0 .. {MAX_SEED}")
            if seed in seeds[:index]:
                raise self.fail((*at, index), f"seed {seed} stands twice in seeds")
        return tuple(seeds)

    def number(self, at: Location) -> float:
        """The number at ``at``, which is not negative."""
        value = self.get(at)
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self.fail(at, f"{self.label(at)} must be a number, not {kind_of(value)}")
        if not value >= 0:
            raise self.fail(at, f"{self.label(at)} is {value}: it cannot be negative")
        return float(value)

    def choice(self, at: Location, known: tuple[str, ...], default: str | None = None) -> str:
        """A string out of ``known``."""
        value = self.string(at, default)
        if value not in known:
            raise self.fail(at, f'{self.label(at)} is "{value}"; known are {", ".join(known)}')
        return value

    def guest_ccs(self, at: Location) -> tuple[str, ...]:
        """A list of CCs that the matrix or the flows have."""
        values = self.get(at)
        if not isinstance(values, list) or not all(isinstance(v, str) for v in values):
            raise self.fail(at, f"{self.label(at)} must be a list of CCs")
        return tuple(values)

    def bar(self, index: int) -> Bar:
        """The table [[bar]] with this index, from 0."""
        at: Location = ("bar", index)
        table = self.table(self.get(at), at, _BAR_KEYS)
        metric = self.choice((*at, "metric"), tuple(METRICS))
        if not {"min", "max", "aim"} & set(table):
            raise self.fail(at, f"bar {index + 1} has neither min nor max nor aim")
        over_mean = self.choice((*at, "over"), ("cells", "mean"), "cells") == "mean"
        if over_mean and metric not in RATIOS:
            raise self.fail((*at, "over"), f"{metric} has no mean over the cells")
        return Bar(
            metric=metric,
            low=self.optional((*at, "min"), lambda: self.number((*at, "min"))),
            high=self.optional((*at, "max"), lambda: self.number((*at, "max"))),
            aim=self.optional((*at, "aim"), lambda: self.number((*at, "aim"))),
            rtt_max_us=self.optional(
                (*at, "rtt_max"), lambda: self.time_us((*at, "rtt_max"), None, 10)
            ),
            loss_max_fraction=self.optional(
                (*at, "loss_max"), lambda: self.fraction((*at, "loss_max"), "0%")
            ),
            guest_ccs=self.optional(
                (*at, "guest_cc"), lambda: self.guest_ccs((*at, "guest_cc"))
            ),
            receiver_tcon=self.optional(
                (*at, "receiver_tcon"), lambda: self.boolean((*at, "receiver_tcon"), True)
            ),
            over_mean=over_mean,
        )  # fmt: skip

    def published(self) -> documents.Document | None:
        """What a document has of this campaign; None where none is named."""
        at = ("published",)
        if "published" not in self.document:
            return None
        file = pathlib.Path(self.file).parent / self.string(at)
        document = documents.load(file).of_campaign(self.name())
        if not (document.completions or document.tables or document.values):
            raise self.fail(at, f"{file} holds nothing of campaign {self.name()}, and no "
                            f"completion times")  # fmt: skip
        return document

    def check_short(self) -> tuple[int, ...] | None:
        """The seeds of [short], where it has some; the rest of it is looked at too."""
        at = ("short",)
        if "short" not in self.document:
            if self.short:
                raise self.fail(at, "there is no [short] to run instead of all")
            return None
        table = self.table(self.get(at), at, ("seconds", "seeds", "case", *MATRIX_KEYS))
        if not table:
            raise self.fail(at, "[short] is empty")
        for key in MATRIX_KEYS:
            if key in table and key not in self.get(("matrix",), {}):
                raise self.fail((*at, key), f"short.{key} keeps values of a key that [matrix] "
                                f"has not")  # fmt: skip
        if "seconds" in table:
            self.seconds((*at, "seconds"))
        if "case" in table and not self.tables("case"):
            raise self.fail((*at, "case"), "short.case keeps cases, but there is no [[case]]")
        return self.seeds((*at, "seeds")) if "seeds" in table else None

    def campaign(self) -> Campaign:
        """The whole document."""
        self.table(self.document, (), (*_SCENARIO_KEYS, *_OWN_KEYS))
        document = self.published()
        times = document.completions if document else ()
        seeds, short_seeds = self.seeds(), self.check_short()
        return Campaign(
            name=f"{self.name()}-short" if self.short else self.name(),
            cells=self.cells(),
            seeds=short_seeds or seeds if self.short else seeds,
            bars=tuple(self.bar(index) for index in range(self.tables("bar"))),
            published={c.case: Published(c.where, c.mean_s) for c in times},
            source=document.source if document else "",
            tables=document.tables if document else (),
            values=document.values if document else (),
        )
