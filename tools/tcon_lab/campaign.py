# SPDX-License-Identifier: GPL-2.0-only
"""Campaigns: one scenario over a matrix of paths, CCs and seeds, read from TOML.

A campaign file is a scenario file (see :mod:`.scenario`) with, instead of
``seed``, the following::

    seeds = [1, 2, 3]            # every cell runs once with each; default [1]

    [matrix]                     # every combination is a cell
    rate = ["10mbit", "100mbit"] # rate, rtt, loss, queue, aqm, aqm_threshold and the
                                 # other aqm_*: in place of [path]'s
    rtt = ["8ms", "64ms"]
    guest_cc = ["reno", "bbr"]   # guest_cc, native_cc, enforce, count, receiver_tcon:
                                 # every flow's and transfer's; bytes, load: every
                                 # transfer's

    [[case]]                     # or: named cells; [matrix] multiplies them
    name = "lan"
    rate = "100mbit"
    rtt = "1ms"

    [[bar]]                      # what a cell must reach
    metric = "goodput"           # one of METRICS
    min = 0.95                   # min, max, both, or only an aim
    aim = 0.98                   # what is wanted beyond that; default nothing
    rtt_max = "120ms"            # only cells with at most this; default every cell
    loss_max = "1.2%"
    guest_cc = ["reno"]          # only cells with one of these
    receiver_tcon = true         # only cells whose flows have it so
    over = "cells"               # "mean": for the mean of all cells instead

    published = "paper.toml"     # completion times to print beside, by case; its
                                 # name counts from the campaign's folder

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

from . import published
from .scenario import AQM_KEYS, MAX_SEED, Location, Reader, Scenario, kind_of, parse_toml, read_text

#: What bars are about, and whether more of it is better; see :mod:`.compare`.
#: Those in RATIOS are of the enforced run to the one that it is compared with.
METRICS = {
    "goodput": True,
    "rtt": False,
    "completion_mean": False,
    "completion_p50": False,
    "completion_p99": False,
    "saving_kept": True,
    "own_limit": False,
    "queue": False,
    "jain": True,
    "alpha": False,
}
RATIOS = (
    "goodput", "rtt", "completion_mean", "completion_p50", "completion_p99",
    "queue", "jain", "alpha",
)  # fmt: skip
#: What is shown only where a bar is about it.
ON_REQUEST = ("queue", "jain", "alpha")

#: What a matrix may vary, by the table in which a scenario has it.
_PATH_KEYS = ("rate", "rtt", "loss", "queue", *AQM_KEYS)
_FLOW_KEYS = ("count", "guest_cc", "native_cc", "enforce", "receiver_tcon")
_TRANSFER_KEYS = ("bytes", "load")
MATRIX_KEYS = (*_PATH_KEYS, *_FLOW_KEYS, *_TRANSFER_KEYS)

_SCENARIO_KEYS = ("name", "seconds", "modes", "path", "flow", "transfer")
_OWN_KEYS = ("seeds", "matrix", "case", "bar", "published")
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

    ``published`` are a paper's numbers by case, ``source`` is the paper.
    """

    name: str
    cells: tuple[Cell, ...]
    seeds: tuple[int, ...]
    bars: tuple[Bar, ...]
    published: dict[str, Published]
    source: str

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


def load(file: str | pathlib.Path) -> Campaign:
    """Read a campaign file.  Raises ScenarioError if it cannot be used."""
    return parse(read_text(file), str(file))


def parse(text: str, file: str = "campaign") -> Campaign:
    """Make a campaign of TOML text; ``file`` is what errors call it.

    Raises ScenarioError, one sentence with file and line.
    """
    return _CampaignReader(text, file, parse_toml(text, file)).campaign()


#: One choice of a matrix or case: where it stands, its key and its value.
_Choice = tuple[Location, str, Any]


def _tables_with(key: str) -> tuple[str, ...]:
    """The kinds of tables, of which there may be several, that have a key."""
    if key in _FLOW_KEYS:
        return ("flow", "transfer")
    return ("transfer",) if key in _TRANSFER_KEYS else ()


class _CampaignReader(Reader):
    """Turns a TOML document into a campaign, or says what is wrong where."""

    def label(self, at: Location) -> str:
        """How a message calls ``at``: ``bar 2's metric``, ``matrix.rate``."""
        if at[0] in ("bar", "case") and len(at) >= 3:
            return f"{at[0]} {int(at[1]) + 1}'s {at[2]}"
        return super().label(at)

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
            dimensions.append([((*at, key, i), key, value) for i, value in enumerate(values)])
        return dimensions

    def cases(self) -> list[list[_Choice]]:
        """The choices of each [[case]], its name first."""
        found: list[list[_Choice]] = []
        for index in range(self.tables("case")):
            at: Location = ("case", index)
            table = self.table(self.get(at), at, ("name", *MATRIX_KEYS))
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
        return found

    def cell(self, choices: list[_Choice]) -> Cell:
        """The cell of one combination: the scenario with its choices put in."""
        document = {key: copy.deepcopy(self.document[key]) for key in self.document
                    if key in _SCENARIO_KEYS}  # fmt: skip
        origin: dict[Location, Location] = {}
        named_case = any(key == "case" for _, key, _ in choices)
        words = []
        for at, key, value in choices:
            if key in _PATH_KEYS and isinstance(document.setdefault("path", {}), dict):
                document["path"][key] = value
                origin["path", key] = at
            for kind in _tables_with(key):
                tables = document.get(kind)
                for index, table in enumerate(tables if isinstance(tables, list) else []):
                    if isinstance(table, dict):
                        table[key] = value
                        origin[kind, index, key] = at
            if key == "case" or at[0] == "matrix" or not named_case:
                words.append(str(value))
        name = "-".join(re.sub("[^A-Za-z0-9.]+", "-", w.replace("%", "pct")) for w in words)
        campaign = self.name()
        document["name"] = f"{campaign}-{name}" if name else campaign
        origin["name",] = choices[0][0] if choices else ("name",)
        scenario = Reader(self.text, self.file, document, origin).scenario()
        values = {key: str(value) for _, key, value in choices}
        return Cell(" ".join(words) or campaign, values, scenario)

    def cells(self) -> tuple[Cell, ...]:
        """All combinations, cases outermost."""
        matrix = self.matrix()
        cases = self.cases() or [[]]
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

    # --- seeds and bars -----------------------------------------------------

    def seeds(self) -> tuple[int, ...]:
        """The seeds, each once."""
        at = ("seeds",)
        seeds = self.get(at, [1])
        if not isinstance(seeds, list) or not seeds:
            what = "an empty list" if seeds == [] else kind_of(seeds)
            raise self.fail(at, f"seeds must be a list of numbers, not {what}")
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

    def published(self) -> tuple[dict[str, Published], str]:
        """The published numbers by case, and where they are from."""
        at = ("published",)
        if "published" not in self.document:
            return {}, ""
        file = pathlib.Path(self.file).parent / self.string(at)
        document = published.load(file)
        if not document.completions:
            raise self.fail(at, f"{file} holds no published completion times")
        found = {c.case: Published(c.where, c.mean_s) for c in document.completions}
        return found, document.source

    def campaign(self) -> Campaign:
        """The whole document."""
        self.table(self.document, (), (*_SCENARIO_KEYS, *_OWN_KEYS))
        numbers, source = self.published()
        return Campaign(
            name=self.name(),
            cells=self.cells(),
            seeds=self.seeds(),
            bars=tuple(self.bar(index) for index in range(self.tables("bar"))),
            published=numbers,
            source=source,
        )
