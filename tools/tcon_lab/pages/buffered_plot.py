# SPDX-License-Identifier: GPL-2.0-only
"""The distribution of what TCon buffers, as Figure 7(a) of the TCon paper has it.

TCon keeps a copy of each packet in flight.  Of each cell the first seed is drawn, all of its
flows together, and a dotted line at what a document published.
"""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from ..numbers.against_models import PAYLOAD_BYTES
from ..numbers.against_published import PACKETS_IN_FLIGHT
from ..numbers.losses import decider
from ..numbers.many_campaigns import Experiment
from ..numbers.of_cells import inflight_bytes
from . import figures, time_plots

Record = dict[str, Any]

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")


def _published(sides: list[Record]) -> dict[str, float]:
    """Published packets in flight, by cell."""
    rows = [row for side in sides for row in side["rows"]]
    wanted, _ = PACKETS_IN_FLIGHT
    return {row["cell"]: row["published"] for row in rows if row["quantity"] == wanted}


def _line(packets: float, cell: str, colour: str) -> go.Scatter:
    return go.Scatter(
        x=[packets, packets], y=[0, 1], name=f"{cell}, published", mode="lines",
        line={"color": colour, "dash": "dot", "width": 1.5}, hovertemplate="%{x:.4~g}",
    )  # fmt: skip


def buffered(experiment: Experiment, sides: list[Record]) -> list[time_plots.Plot]:
    """The plot; none where no cell has an enforced run whose samples were kept.

    ``sides`` come from :func:`.against_published.sides`.
    """
    traces, published = [], _published(sides)
    for number, cell in enumerate(list(experiment.runs)[: time_plots.MAX_CELLS]):
        for mode, by_seed in experiment.runs[cell].items():
            if decider(mode) != "tcon":
                continue
            samples = experiment.samples(cell, mode, min(by_seed)) or {"flows": []}
            flights = inflight_bytes([flow["columns"] for flow in samples["flows"]])
            if not flights:
                continue
            packets = [flight / PAYLOAD_BYTES for flight in flights]
            colour = _COLOURS[number % len(_COLOURS)]
            traces.append(figures.distribution(packets, f"{cell}, {mode}", colour, "solid"))
            if cell in published:
                traces.append(_line(published[cell], cell, colour))
    if not traces:
        return []
    note = "Of all flows of each cell's first run: TCon keeps a copy of what is in flight."
    drawn = figures.simple(traces, "packets in flight", "share of time at or below")
    return [time_plots.Plot("How many packets TCon buffers", note, drawn)]
