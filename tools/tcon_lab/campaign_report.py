# SPDX-License-Identifier: GPL-2.0-only
"""A comparison as a table for the terminal, as Markdown, and as an offline page."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs
from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from .report import PAGE_SCRIPT, PAGE_STYLE

Record = dict[str, Any]


@dataclass(frozen=True)
class _Shown:
    """How a metric is shown: its heading, its format, and what the colours span."""

    heading: str
    form: str
    middle: float
    reach: float
    better: int  # +1: more is better


#: Of each metric; "{baseline}" is the mode of comparison.
SHOWN = {
    "goodput": _Shown("Goodput to {baseline}", ".3f", 1.0, 0.15, 1),
    "rtt": _Shown("RTT p50 to {baseline}", ".3f", 1.0, 0.3, -1),
    "own_limit": _Shown("Limited by the guest", ".1%", 0.02, 0.05, -1),
}
#: Of each quantity that modes have: heading, divisor to the unit, format.
QUANTITIES = {"goodput": ("Mbit/s", 1e6, ".2f"), "rtt": ("RTT p50, ms", 1e3, ".1f")}
#: How a verdict shows in tables: with a mark, not by colour alone.
MARKS = {"missed": " !", "aim missed": " ~"}
NOTE = (
    "Ratios are of the enforced run to the {baseline} one with the same seed: mean over the "
    "seeds (smallest .. largest). RTT is the path's. ! misses its bar, ~ misses its aim."
)


def _heading(metric: str, comparison: Record) -> str:
    return SHOWN[metric].heading.format(baseline=comparison["baseline"])


def _spread(metric: str, found: Record | None) -> str:
    if found is None:
        return "-"
    form = SHOWN[metric].form
    text = format(found["mean"], form)
    if len(found["seeds"]) > 1:
        text += f" ({found['min']:{form}} .. {found['max']:{form}})"
    return text + MARKS.get(found["verdict"], "")


def _keys(comparison: Record) -> list[str]:
    """What cells differ in, in the order of the matrix."""
    keys: dict[str, None] = {}
    for cell in comparison["cells"]:
        keys |= dict.fromkeys(cell["values"])
    return list(keys)


def _modes(comparison: Record) -> list[str]:
    modes: dict[str, None] = {}
    for cell in comparison["cells"]:
        modes |= dict.fromkeys(cell["modes"])
    return list(modes)


def columns(comparison: Record) -> tuple[list[str], list[list[str]]]:
    """Headings, and the texts of a row for each cell."""
    cells, keys, modes = comparison["cells"], _keys(comparison), _modes(comparison)
    quantities = [
        (mode, quantity)
        for quantity in QUANTITIES
        for mode in modes
        if any(quantity in cell["modes"][mode] for cell in cells)
    ]
    metrics = [name for name in SHOWN if name in comparison["overall"]]
    headings = [*keys, *(f"{mode} {QUANTITIES[quantity][0]}" for mode, quantity in quantities)]
    headings += [_heading(name, comparison) for name in metrics]
    rows = []
    for cell in cells:
        row = [cell["values"].get(key, "-") for key in keys]
        for mode, quantity in quantities:
            _, divisor, form = QUANTITIES[quantity]
            found = cell["modes"][mode].get(quantity)
            row.append(format(found["mean"] / divisor, form) if found else "-")
        rows.append([*row, *(_spread(name, cell["metrics"].get(name)) for name in metrics)])
    return headings, rows


def findings(comparison: Record) -> list[str]:
    """The answer in sentences: means, and which cells miss what."""
    found = []
    for name, overall in comparison["overall"].items():
        heading, form = _heading(name, comparison), SHOWN[name].form
        if overall["geometric_mean"] is not None:
            text = f"{heading}: geometric mean {overall['geometric_mean']:{form}}"
            text += f" over {overall['cells']} cells"
            if overall["bar"]:
                text += f" ({overall['bar']}: {overall['verdict']}"
                text += f"; aim {overall['aim']:g})" if overall["aim"] is not None else ")"
            found.append(text)
        for what, key in (("bar", "missed"), ("aim", "aim_missed")):
            missed = overall[key]
            if missed:
                found.append(
                    f"{heading}: {len(missed)} of {overall['cells']} cells miss their {what}: "
                    + "; ".join(missed)
                )
            elif any(cell["metrics"].get(name, {}).get(what) for cell in comparison["cells"]):
                found.append(f"{heading}: every cell reaches its {what}")
    return found


def _about(comparison: Record) -> str:
    seeds = ", ".join(str(seed) for seed in comparison["seeds"])
    return (
        f"{len(comparison['cells'])} cells, {comparison['seconds']:g} s each, "
        f"seed{'s' if len(comparison['seeds']) > 1 else ''} {seeds}"
    )


def _versions(comparison: Record) -> str:
    return ", ".join(
        f"{name} {version}" for name, version in sorted(comparison["versions"].items())
    )


def _problems(comparison: Record) -> list[str]:
    missing = comparison["missing"]
    lost = [f"{len(missing)} runs are missing: " + "; ".join(missing)] if missing else []
    return lost + comparison["warnings"]


def table(comparison: Record) -> Group:
    """The comparison for rich to print on a terminal."""
    headings, rows = columns(comparison)
    made = Table(
        title=Text(f"{comparison['campaign']}: {_about(comparison)}"),
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for heading in headings:
        made.add_column(heading, justify="right")
    for row in rows:
        style = "red" if any(text.endswith(MARKS["missed"]) for text in row) else None
        made.add_row(*(Text(text) for text in row), style=style)
    parts: list[RenderableType] = [made, *(Text(text) for text in findings(comparison))]
    parts += [Text(f"warning: {text}", style="bold red") for text in _problems(comparison)]
    note = NOTE.format(baseline=comparison["baseline"])
    return Group(*parts, Text(note, style="dim"))


def _cell_text(text: str) -> str:
    return text.replace("|", "\\|")


def markdown(comparison: Record) -> str:
    """The comparison as a page to be kept under version control."""
    headings, rows = columns(comparison)
    lines = [f"# {comparison['campaign']}", "", f"{_about(comparison)}.", ""]
    lines += [f"- {text}" for text in findings(comparison)]
    lines += [f"- warning: {text}" for text in _problems(comparison)]
    lines += ["", "| " + " | ".join(_cell_text(text) for text in headings) + " |"]
    lines.append("|" + "---:|" * len(headings))
    lines += ["| " + " | ".join(_cell_text(text) for text in row) + " |" for row in rows]
    lines += ["", NOTE.format(baseline=comparison["baseline"]), "", _versions(comparison)]
    return "\n".join(lines) + "\n"


# --- the page ---------------------------------------------------------------


def _axes(comparison: Record) -> tuple[list[str], list[str]]:
    """Which keys make the columns of a heat map, and which its rows.

    Rate and RTT go across, everything else down.
    """
    keys = _keys(comparison)
    across = [key for key in keys if key in ("rate", "rtt")]
    if len(across) == len(keys):
        across = keys[:-1]
    return across, [key for key in keys if key not in across]


def heat_map(comparison: Record, metric: str) -> go.Figure:
    """One metric of all cells, coloured by how it stands to what is wanted."""
    across, down = _axes(comparison)
    shown, cells = SHOWN[metric], comparison["cells"]

    def place(cell: Record, keys: list[str]) -> str:
        return " ".join(cell["values"].get(key, "-") for key in keys) or comparison["campaign"]

    x = list(dict.fromkeys(place(cell, across) for cell in cells))
    y = list(dict.fromkeys(place(cell, down) for cell in cells))
    found = {(place(c, down), place(c, across)): c["metrics"].get(metric) for c in cells}
    rows = [[found.get((row, column)) for column in x] for row in y]
    scale = [[0.0, "#d55e00"], [0.5, "#f7f3e8"], [1.0, "#009e73"]]
    if shown.better < 0:
        scale = [[1 - at, colour] for at, colour in reversed(scale)]
    figure = go.Figure(
        go.Heatmap(
            x=x,
            y=y,
            z=[[entry and entry["mean"] for entry in row] for row in rows],
            text=[
                [f"{e['mean']:{shown.form}}{MARKS.get(e['verdict'], '')}" if e else "" for e in row]
                for row in rows
            ],
            customdata=[[_spread(metric, entry) for entry in row] for row in rows],
            texttemplate="%{text}",
            textfont={"color": "#1c1e21"},
            hovertemplate=f"{' '.join(across)} %{{x}}<br>{' '.join(down)} %{{y}}<br>"
            "%{customdata}<extra></extra>",
            colorscale=scale,
            zmin=shown.middle - shown.reach,
            zmax=shown.middle + shown.reach,
            xgap=2,
            ygap=2,
            colorbar={"tickformat": shown.form, "thickness": 12},
        )
    )
    figure.update_layout(
        height=110 + 46 * len(y),
        margin={"l": 90, "r": 20, "t": 20, "b": 60},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": "system-ui, sans-serif", "color": "#808080"},
        template="none",
        xaxis={"type": "category", "title": {"text": ", ".join(across)}},
        yaxis={
            "type": "category",
            "title": {"text": ", ".join(down)},
            "autorange": "reversed",
            "automargin": True,
        },
    )
    return figure


def _html_table(comparison: Record) -> str:
    headings, rows = columns(comparison)
    head = "".join(f"<th>{escape(text)}</th>" for text in headings)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in rows
    )
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def page(comparison: Record) -> str:
    """The comparison as HTML with heat maps; it loads nothing from anywhere."""
    name = escape(comparison["campaign"])
    maps = ""
    for number, metric in enumerate(m for m in SHOWN if m in comparison["overall"]):
        figure = heat_map(comparison, metric).to_html(
            full_html=False,
            include_plotlyjs=False,
            div_id=f"map-{number}",
            config={"displayModeBar": False, "responsive": True},
        )
        maps += f"<h2>{escape(_heading(metric, comparison))}</h2>{figure}"
    answers = "".join(f"<li>{escape(text)}</li>" for text in findings(comparison))
    warnings = "".join(f'<p class="warning">{escape(t)}</p>' for t in _problems(comparison))
    note = NOTE.format(baseline=comparison["baseline"])
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{name}</title><style>{PAGE_STYLE}</style>
<script>{get_plotlyjs()}</script></head><body>
<h1>{name}</h1>
<p class="about">{escape(_about(comparison))}</p>
<ul>{answers}</ul>{warnings}
{maps}
<h2>Cells</h2>
{_html_table(comparison)}
<p class="note">{escape(note)}</p>
<p class="note">{escape(_versions(comparison))}</p>
<script>{PAGE_SCRIPT}</script>
</body></html>
"""
