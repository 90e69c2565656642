# SPDX-License-Identifier: GPL-2.0-only
"""Draws a gallery: small multiples, one for each cell, the modes over each other."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from . import figures
from .report import DRAWN_ABOVE, OTHER_STYLE, STYLES

Record = dict[str, Any]

COLUMNS = 4
_ROW_PIXELS = 190
#: Opacity of the lines of all seeds but the first.
_FAINT = 0.25


@dataclass(frozen=True)
class Panel:
    """A panel's content: the key of a series, its title, and the unit's size in the key's."""

    key: str
    title: str
    divisor: float


PANELS = (
    Panel("cwnd_bytes", "Congestion window of who decides, kB over s", 1e3),
    Panel("rtt_us", "Path RTT, ms over s", 1e3),
)


def _line(panel: Panel, series: Record, mode: str, front: bool) -> go.Scatter:
    colour, dash = STYLES.get(mode, OTHER_STYLE)
    values = [v if v is None else round(v / panel.divisor, 2) for v in series[panel.key]]
    return go.Scatter(
        x0=series["start_s"],
        dx=series["step_s"],
        y=values,
        mode="lines",
        name=mode,
        legendgroup=mode,
        showlegend=False,
        line={"color": colour, "dash": dash if front else "solid", "width": 1.5 if front else 1},
        opacity=1 if front else _FAINT,
        zorder=10 + DRAWN_ABOVE.get(mode, 0) if front else 0,
        hovertemplate="%{y:.6~g}" if front else None,
        hoverinfo=None if front else "skip",
    )


def _lines(panel: Panel, modes: Record) -> list[go.Scatter]:
    """The lines of a cell; the seeds behind the first come first."""
    found = []
    for mode, seeds in modes.items():
        for number, series in reversed(list(enumerate(seeds.values()))):
            if any(value is not None for value in series[panel.key]):
                found.append(_line(panel, series, mode, number == 0))
    return found


def figure(gallery: Record, panel: Panel) -> go.Figure:
    """One quantity of all cells; ``gallery`` as in :mod:`..numbers.gallery`."""
    rows = -(-len(gallery) // COLUMNS)
    made = make_subplots(
        rows=rows,
        cols=min(COLUMNS, len(gallery)),
        subplot_titles=[escape(cell) for cell in gallery],
        horizontal_spacing=0.035,
        vertical_spacing=min(0.3, 45 / (_ROW_PIXELS * rows)),
    )
    named: set[str] = set()
    for number, modes in enumerate(gallery.values()):
        for line in _lines(panel, modes):
            line.showlegend = line.opacity == 1 and line.name not in named
            named |= {line.name} if line.showlegend else set()
            made.add_trace(line, row=number // COLUMNS + 1, col=number % COLUMNS + 1)
    made.update_xaxes(**figures.GRID)
    made.update_yaxes(**figures.GRID, rangemode="tozero")
    made.update_annotations(font_size=12)
    figures.look(made)
    made.update_layout(
        height=90 + _ROW_PIXELS * rows,
        margin={"l": 40, "r": 10, "t": 60, "b": 30},
        font_size=11,
        legend={"orientation": "h", "x": 0, "y": 1, "yref": "container", "yanchor": "top"},
    )
    return made
