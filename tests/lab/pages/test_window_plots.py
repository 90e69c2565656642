# SPDX-License-Identifier: GPL-2.0-only
"""Distributions of many flows' windows, of invented samples."""

from __future__ import annotations

from pathlib import Path

import folders
import pytest
from tcon_lab.numbers import cubic_model
from tcon_lab.numbers.many_campaigns import load
from tcon_lab.pages import window_plots


def test_a_spread_by_hand() -> None:
    """Means are 2 and 3: the mean of all is 2.5; deviations are 1 and 0."""
    shares, covs = window_plots.spread([[1, 3], [3, 3], []])
    assert shares == pytest.approx([0.4, 1.2, 1.2, 1.2])
    assert covs == pytest.approx([0, 0.5])
    assert window_plots.spread([]) == ([], [])


def test_the_fluid_model_keeps_some_windows() -> None:
    moments = cubic_model.fluid(cubic_model.Path(1000, 0.02, 20), 20, flows=5)
    kept = [moment for moment in moments if moment.windows]
    assert 300 <= len(kept) <= 600
    for moment in kept:
        assert len(moment.windows) == 5
        assert moment.window > 0


def test_cells_with_many_flows_are_drawn_beside_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, folder = folders.make(tmp_path / "buffers", folders.BUFFERS)
    experiment = load(folder)
    assert window_plots.distributions(experiment) == []  # two flows
    monkeypatch.setattr(window_plots, "FEWEST_FLOWS", 2)
    windows, covs = window_plots.distributions(experiment)
    for plot in (windows, covs):
        names = [trace.name for trace in plot.figure.data]
        assert {"0.3bdp cubic, native", "0.3bdp cubic, enforced",
                "0.3bdp cubic, fluid model (3.2 to 3.6)"} <= set(names)  # fmt: skip
        assert len(names) == len(set(names)) == 3 * len(experiment.runs)
        for trace in plot.figure.data:
            assert list(trace.x) == sorted(trace.x)
            assert (trace.y[0], trace.y[-1]) == (0, 1)
