# SPDX-License-Identifier: GPL-2.0-only
"""The common part of all plots: look, grid, panels above each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import plotly.graph_objects as go
from plotly.subplots import make_subplots

GRID = {"gridcolor": "rgba(128,128,128,0.25)", "zerolinecolor": "rgba(128,128,128,0.5)"}

#: A distribution is drawn of this many points.
_POINTS = 100


def look(figure: go.Figure) -> None:
    """No ground of their own, grey until the page colours."""
    figure.update_layout(
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": "system-ui, sans-serif", "color": "#808080"},
        hoverlabel={"font": {"color": "#202020"}, "bgcolor": "#f4f4f4"},
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": "#8a8f98", "activecolor": "#3a8fd0"},
        template="none",
        margin={"l": 60, "r": 20, "t": 30, "b": 50},
    )


def framed(figure: go.Figure, plot: str) -> str:
    """A figure's HTML: with a legend beside it scrolls where a page is too narrow for both."""
    if any(isinstance(trace, go.Heatmap) for trace in figure.data):
        return plot
    return f'<div class="scroll wide">{plot}</div>'


def simple(traces: list[go.Scatter], x_title: str, y_title: str) -> go.Figure:
    """A figure of one panel from 0 up."""
    figure = go.Figure(traces)
    figure.update_xaxes(**GRID, title_text=x_title, rangemode="tozero")
    figure.update_yaxes(**GRID, title_text=y_title, rangemode="tozero")
    figure.update_layout(height=360)
    look(figure)
    return figure


def distribution(values: Sequence[float], name: str, colour: str, dash: str) -> go.Scatter:
    """Which share of sorted values is at or below each."""
    ranks = [round(n * (len(values) - 1) / _POINTS) for n in range(_POINTS + 1)]
    return go.Scatter(
        x=[round(values[rank], 4) for rank in ranks],
        y=[n / _POINTS for n in range(_POINTS + 1)],
        name=escape(name),
        mode="lines",
        line={"color": colour, "dash": dash, "width": 1.5},
        hovertemplate="%{x:.4~g}: %{y:.3~g}",
    )


def stacked(traces: Iterable[tuple[int, go.Scatter]], titles: Sequence[str]) -> go.Figure:
    """Panels above each other over one time axis, in s.

    ``traces`` come with the number of their panel, from 1, and are of the legend that
    :func:`legend` names; panels without a trace are left out.
    """
    traces = list(traces)
    panels = sorted({panel for panel, _ in traces}) or [1]
    heights = [_height([trace for of, trace in traces if of == panel]) for panel in panels]
    figure = make_subplots(
        rows=len(panels),
        cols=1,
        row_heights=heights,
        shared_xaxes=True,
        vertical_spacing=0.24 / len(panels),
        subplot_titles=[titles[panel - 1] for panel in panels],
    )
    for panel, trace in traces:
        figure.add_trace(trace, row=panels.index(panel) + 1, col=1)
    figure.update_xaxes(**GRID, showticklabels=True)
    figure.update_xaxes(title_text="time, s", row=len(panels), col=1)
    figure.update_yaxes(**GRID, rangemode="tozero")
    figure.update_annotations(x=0, xanchor="left", font_size=14)
    look(figure)
    legends = {
        legend(panel): {
            "x": 1.01,
            "y": figure.layout[f"yaxis{row if row > 1 else ''}"].domain[1],
            "yanchor": "top",
        }
        for row, panel in enumerate(panels, 1)
    }
    figure.update_layout(height=sum(heights), hovermode="x unified", **legends)
    return figure


def _height(traces: Sequence[go.Scatter]) -> int:
    """Pixels of a panel: as many as its legend takes, so that the next one has its own."""
    groups = {trace.legendgroup for trace in traces}
    return max(250, 40 + 20 * len(traces) + 10 * len(groups))


def legend(panel: int) -> str:
    """The legend beside a panel of :func:`stacked`."""
    return "legend" if panel == 1 else f"legend{panel}"
