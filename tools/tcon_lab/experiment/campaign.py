# SPDX-License-Identifier: GPL-2.0-only
"""Campaigns: one scenario over a matrix of paths, CCs and seeds, each a cell.

A file says it in the words of :mod:`.campaign_file`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..scenario import Scenario

if TYPE_CHECKING:  # what runs needs none of it
    from . import published

#: Metrics of bars, and whether more of it is better; see :mod:`..numbers.against_native`.
#: In RATIOS are ratios of the enforced run to the one that it is compared with.
METRICS = {
    "goodput": True,
    "back_goodput": True,
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
    "guest_marks": False,
    "cwnd": True,
    "retransmitted": False,
    "loss_period": True,
    "instructions": False,
    "steal": False,
}
_OF_THE_ENFORCED = ("saving_kept", "own_limit", "guest_marks")
RATIOS = tuple(metric for metric in METRICS if metric not in _OF_THE_ENFORCED)
#: The mode that is compared, and those to which it may be, the first of them that there is.
COMPARED = "enforced"
BASELINES = ("stock", "native", "linux")
#: Metrics that are shown only where a bar is about them, or the campaign's "show" has them.
ON_REQUEST = (
    "rtt_p95", "queue", "utilisation", "jain", "jain_mean", "convergence", "loss_sync",
    "first_share", "alpha", "guest_marks", "cwnd", "retransmitted", "loss_period",
    "instructions", "steal",
)  # fmt: skip


@dataclass(frozen=True)
class Bar:
    """A bar for cells in ``metric``: ``low``, ``high``, and wanted ``aim``.

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
class Campaign:
    """A matrix of cells, each to be run in all its modes with all seeds.

    ``published`` are a paper's completion times by case, ``tables`` and ``values`` what
    else it has of this campaign, ``source`` is the paper.  ``show`` are metrics of ON_REQUEST
    that are shown without a bar.
    """

    name: str
    cells: tuple[Cell, ...]
    seeds: tuple[int, ...]
    bars: tuple[Bar, ...]
    published: dict[str, published.Completion]
    source: str
    tables: tuple[published.Table, ...] = ()
    values: tuple[published.Value, ...] = ()
    show: tuple[str, ...] = ()

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
