# SPDX-License-Identifier: GPL-2.0-only
"""Plots of many flows' windows: how they are spread, and how unlike they are at a time.

As Figures 3.12 and 3.13 of Belhareth's thesis have them: the distribution of all windows as a
share of their mean, and that over time of their coefficient of variation (CoV), which is their
standard deviation as a share of their mean.  Both are of what comes after the first third of a
run.  Of each cell the first seed is drawn; beside the thesis's experiments stands its model, in
equilibrium.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator

from ..numbers.against_models import FEWEST_FLOWS, Modelled, cov, modelled, settled
from ..numbers.losses import decider
from ..numbers.many_campaigns import Experiment
from ..numbers.of_cells import moments_of
from . import figures, time_plots
from .report import OTHER_STYLE, STYLES

_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


def spread(moments: Iterable[list[float]]) -> tuple[list[float], list[float]]:
    """All windows of these moments as a share of their mean, sorted, and each moment's CoV."""
    moments = [windows for windows in moments if windows and any(windows)]
    if not moments:
        return [], []
    mean = statistics.fmean(window for windows in moments for window in windows)
    shares = sorted(window / mean for windows in moments for window in windows)
    covs = sorted(cov(windows) for windows in moments)
    return shares, covs


def _curves(experiment: Experiment, cell: str) -> Iterator[tuple[str, str, list[list[float]]]]:
    """A name, a mode, and windows at each moment of a cell; the model's under mode "model"."""
    of: Modelled | None = None
    for mode, by_seed in experiment.runs[cell].items():
        seed = min(by_seed)
        samples = experiment.samples(cell, mode, seed) or {"flows": []}
        flows = [flow["columns"] for flow in samples["flows"] if flow["columns"]]
        if len(flows) >= FEWEST_FLOWS:
            yield f"{cell}, {mode}", mode, moments_of(flows, decider(mode))
            of = modelled(experiment.comparison, by_seed[seed])
    if of is not None:
        kept = [list(m.windows) for m in settled(of.path, of.reno) if m.windows]
        yield f"{cell}, fluid model (3.2 to 3.6)", "model", kept


def distributions(experiment: Experiment) -> list[time_plots.Plot]:
    """Both plots; none where no cell has enough flows."""
    windows, covs = [], []
    for number, cell in enumerate(list(experiment.runs)[: time_plots.MAX_CELLS]):
        dash = _DASHES[number % len(_DASHES)]
        for name, mode, moments in _curves(experiment, cell):
            shares, unlike = spread(moments)
            if shares:
                colour, _ = STYLES.get(mode, OTHER_STYLE)
                windows.append(figures.distribution(shares, name, colour, dash))
                covs.append(figures.distribution(unlike, name, colour, dash))
    if not windows:
        return []
    note = "After the first third of each cell's first run."
    return [
        time_plots.Plot(
            "How windows are spread", note,
            figures.simple(windows, "window, of the mean of all", "share of windows below"),
        ),
        time_plots.Plot(
            "How unlike windows are at a time", note,
            figures.simple(covs, "coefficient of variation over the flows", "share of time below"),
        ),
    ]  # fmt: skip
