# SPDX-License-Identifier: GPL-2.0-only
"""Completion times as curves: which share of the transfers had ended by when."""

from __future__ import annotations

import math
from html import escape

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from . import figures

_PANELS_ACROSS = 3


def completion_curves(
    panels: dict[str, dict[str, list[float]]], styles: dict[str, tuple[str, str]]
) -> go.Figure:
    """A panel for each name, in it a curve for each mode with its times in seconds.

    ``styles`` has the colour and the dash of a mode.
    """
    across = min(_PANELS_ACROSS, len(panels))
    down = math.ceil(len(panels) / across)
    titles = [escape(name) for name in panels]
    figure = make_subplots(rows=down, cols=across, subplot_titles=titles)
    for number, modes in enumerate(panels.values()):
        for mode, times_s in modes.items():
            trace = _curve(mode, sorted(times_s), *styles.get(mode, ("#888888", "dashdot")))
            trace.showlegend = number == 0
            figure.add_trace(trace, row=number // across + 1, col=number % across + 1)
    figure.update_xaxes(**figures.GRID, title_text="s")
    figure.update_yaxes(**figures.GRID, range=[0, 101])
    figure.update_yaxes(title_text="% of the transfers", col=1)
    figures.look(figure)
    figure.update_layout(
        height=60 + 300 * down,
        margin_t=60,
        legend={"orientation": "h", "y": 1.0, "yref": "container", "yanchor": "top"},
    )
    return figure


def _curve(mode: str, times_s: list[float], colour: str, dash: str) -> go.Scatter:
    """Steps from nothing before the first time to all at the last."""
    return go.Scatter(
        x=[times_s[0], *times_s],
        y=[0.0, *(100 * n / len(times_s) for n in range(1, len(times_s) + 1))],
        name=mode,
        legendgroup=mode,
        line={"color": colour, "dash": dash, "shape": "hv", "width": 2},
        mode="lines",
        hovertemplate="%{y:.0f} % within %{x:.4g} s",
    )
