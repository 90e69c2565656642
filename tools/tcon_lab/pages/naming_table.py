# SPDX-License-Identifier: GPL-2.0-only
"""How guests' CCs were named: a confusion matrix as a table and as a page."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from ..numbers.naming import UNKNOWN
from . import figures
from .tables import Wide

Record = dict[str, Any]


def _columns(made: Record) -> list[str]:
    named = {name for counts in made["matrix"].values() for name in counts}
    return [*sorted({*named, *made["matrix"]} - {UNKNOWN}), UNKNOWN]


def table(made: Record) -> Wide:
    """A row for each CC that ran, a column for each that was named."""
    columns = _columns(made)
    rows = [
        [ran, *(str(counts.get(name, "")) for name in columns)]
        for ran, counts in made["matrix"].items()
    ]
    return Wide(["Ran", *columns], rows, left=frozenset([0]), title=summary(made))


def summary(made: Record) -> str:
    """One line."""
    share = made["all"]
    return f"{share['flows']} flows: {share['right']:.1%} right, {share['wrong']:.1%} wrong"


def page(made: Record) -> str:
    """A heat map: the part of each CC's flows that was named so."""
    columns, matrix = _columns(made), made["matrix"]
    parts = [
        [counts.get(name, 0) / sum(counts.values()) for name in columns]
        for counts in matrix.values()
    ]
    figure = go.Figure(
        go.Heatmap(x=columns, y=[*matrix], z=parts, zmin=0, zmax=1, colorscale="Blues")
    )
    figures.look(figure)
    figure.update_layout(title=summary(made), height=650, margin={"l": 90, "t": 60, "b": 90})
    figure.update_xaxes(title_text="named")
    figure.update_yaxes(title_text="ran", autorange="reversed")
    return figure.to_html(include_plotlyjs=True)
