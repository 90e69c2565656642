# SPDX-License-Identifier: GPL-2.0-only
"""A comparison as a table for the terminal, as Markdown, and as an offline page."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs
from rich.console import Group, RenderableType
from rich.text import Text

from ..numbers import kinds
from . import figures, gallery_plots
from .completion import completion_curves
from .report import PAGE_SCRIPT, PAGE_STYLE, STYLES
from .tables import Wide

Record = dict[str, Any]


@dataclass(frozen=True)
class _Shown:
    """How a metric is shown: its heading, its format, and the span of the colours."""

    heading: str
    form: str
    middle: float
    reach: float
    better: int  # +1: more is better


#: How each metric is shown; "{baseline}" is the mode of comparison.
SHOWN = {
    "goodput": _Shown("Goodput to {baseline}", ".3f", 1.0, 0.15, 1),
    "back_goodput": _Shown("Goodput back to {baseline}", ".3f", 1.0, 0.15, 1),
    "rtt": _Shown("RTT p50 to {baseline}", ".3f", 1.0, 0.3, -1),
    "rtt_p95": _Shown("RTT p95 to {baseline}", ".3f", 1.0, 0.3, -1),
    "completion_mean": _Shown("Mean completion to {baseline}", ".3f", 1.0, 0.15, -1),
    "completion_p50": _Shown("Completion p50 to {baseline}", ".3f", 1.0, 0.06, -1),
    "completion_p99": _Shown("Completion p99 to {baseline}", ".3f", 1.0, 0.06, -1),
    "saving_kept": _Shown("Saving kept", ".1%", 0.95, 0.3, 1),
    "own_limit": _Shown("Limited by the guest", ".1%", 0.02, 0.05, -1),
    "queue": _Shown("Queue to {baseline}", ".3f", 1.0, 0.3, -1),
    "utilisation": _Shown("Utilisation to {baseline}", ".3f", 1.0, 0.15, 1),
    "jain": _Shown("Jain to {baseline}", ".3f", 1.0, 0.15, 1),
    "jain_mean": _Shown("Jain per second to {baseline}", ".3f", 1.0, 0.15, 1),
    "convergence": _Shown("Convergence to {baseline}", ".2f", 1.0, 1.0, -1),
    "loss_sync": _Shown("Loss synchronisation to {baseline}", ".3f", 1.0, 0.3, -1),
    "first_share": _Shown("Share of the first to {baseline}", ".3f", 1.0, 0.3, 1),
    "alpha": _Shown("Alpha to {baseline}", ".3f", 1.0, 0.3, -1),
    "guest_marks": _Shown("Marks told to the guest", ".0f", 0.0, 100.0, -1),
    "cwnd": _Shown("Mean cwnd to {baseline}", ".3f", 1.0, 0.3, 1),
    "retransmitted": _Shown("Retransmitted to {baseline}", ".2f", 1.0, 1.0, -1),
    "loss_period": _Shown("Loss period to {baseline}", ".3f", 1.0, 0.3, 1),
    "instructions": _Shown("Instructions a byte to {baseline}", ".3f", 1.0, 0.3, -1),
    "steal": _Shown("Steal to {baseline}", ".2f", 1.0, 1.0, -1),
}
#: Heading, divisor to the unit, and format of each quantity that modes have.
QUANTITIES = {
    "goodput": ("Mbit/s", 1e6, ".2f"),
    "back_goodput": ("Mbit/s back", 1e6, ".2f"),
    "rtt": ("RTT p50, ms", 1e3, ".1f"),
    "rtt_p95": ("RTT p95, ms", 1e3, ".1f"),
    "queue": ("queue p50, kB", 1e3, ".1f"),
    "utilisation": ("utilisation", 1, ".3f"),
    "alpha": ("alpha", 1, ".3f"),
    "guest_marks": ("marks told to the guest", 1, ".0f"),
    "jain": ("Jain", 1, ".3f"),
    "jain_mean": ("Jain per second", 1, ".3f"),
    "convergence": ("convergence, s", 1, ".1f"),
    "loss_sync": ("loss synchronisation", 1, ".3f"),
    "first_share": ("share of the first", 1, ".3f"),
    "cwnd": ("mean cwnd, kB", 1e3, ".0f"),
    "retransmitted": ("retransmitted, %", 1e-2, ".2f"),
    "loss_period": ("loss period, s", 1, ".2f"),
    "instructions": ("instructions a byte", 1, ".2f"),
    "steal": ("steal, %", 1e-2, ".1f"),
}
#: Figures of completion times that are shown.
COMPLETION = ("mean", "p50", "p95", "p99")
_ARTICLES = {"bar": "a bar", "aim": "an aim"}
#: How a verdict shows in tables: with a mark, not by colour alone.
MARKS = {"missed": " !", "aim missed": " ~"}
NOTE = (
    "Ratios are of the enforced run to the {baseline} one with the same seed: geometric mean "
    "over the seeds (smallest .. largest). RTT is the path's, within 0.2 %. ! misses its bar, "
    "~ misses its aim."
)
COMPLETION_NOTE = (
    "Completion times are from before the connection is opened until the last byte has come, "
    "of the transfers of all seeds. A saving is a share of mode guest's mean time; saving kept: "
    "of what the native CC saves, the part that the enforced one saves too, where that is 10 % "
    "or more."
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
    """The keys in which cells differ, in the order of the matrix."""
    keys: dict[str, None] = {}
    for cell in comparison["cells"]:
        keys |= dict.fromkeys(cell["values"])
    return list(keys)


def _by_case(comparison: Record, key: str) -> bool:
    """Whether a key says no more than the case."""
    seen: dict[str | None, set[str | None]] = {}
    for cell in comparison["cells"]:
        seen.setdefault(cell["values"].get("case"), set()).add(cell["values"].get(key))
    return all(len(values) == 1 for values in seen.values())


def telling_keys(comparison: Record) -> list[str]:
    """The keys in which cells differ, without the ones that a case's name tells."""
    keys = _keys(comparison)
    if "case" in keys:
        keys = [key for key in keys if key == "case" or not _by_case(comparison, key)]
    return keys


def _modes(comparison: Record) -> list[str]:
    modes: dict[str, None] = {}
    for cell in comparison["cells"]:
        modes |= dict.fromkeys(cell["modes"])
    return list(modes)


def columns(comparison: Record, keys: list[str] | None = None) -> tuple[list[str], list[list[str]]]:
    """Headings, and the texts of a row for each cell; ``keys``: fewer than it differs in."""
    cells, modes = comparison["cells"], _modes(comparison)
    keys = _keys(comparison) if keys is None else keys
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


def answer(comparison: Record) -> list[str]:
    """The sentence that a reader looks for: goodput and RTT of all cells.

    Empty where one of them is of no cell.
    """
    said = []
    for name, words in (("goodput", "goodput"), ("rtt", "median RTT")):
        means = [c["metrics"][name]["mean"] for c in comparison["cells"] if c["metrics"].get(name)]
        overall = comparison["overall"].get(name) or {}
        if not means or overall.get("geometric_mean") is None:
            return []
        said.append(
            f"{overall['geometric_mean']:.2f} of the {words} ({min(means):.2f} to {max(means):.2f})"
        )
    theirs = comparison["baseline"]
    return [
        f"Guests under an enforced CC have {said[0]} and {said[1]} of {theirs} ones, "
        f"over {len(comparison['cells'])} cells."
    ]


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
        for what, key, judged in (
            ("bar", "missed", overall["barred"]),
            ("aim", "aim_missed", overall["aimed"]),
        ):
            missed, all_cells = overall[key], judged == overall["cells"]
            if missed:
                text = f"{heading}: {len(missed)} of {judged} cells"
                text += "" if all_cells else f" that have {_ARTICLES[what]}"
                found.append(f"{text} miss their {what}: " + "; ".join(missed))
            elif judged:
                text = "every cell" if all_cells else f"each of {judged} cells that have one"
                found.append(f"{heading}: {text} reaches its {what}")
    return found


def _seconds(value: float) -> str:
    """Three digits, or all of those before the point."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _saving(mean_s: dict[str, float], mode: str) -> str:
    """How much a mode saves of mode guest's time."""
    if mode == "guest" or not {"guest", mode} <= set(mean_s):
        return "-"
    return f"{1 - mean_s[mode] / mean_s['guest']:.1%}"


def completions(comparison: Record) -> tuple[list[str], list[list[str]]]:
    """Headings and rows of completion times, a row for each mode of each cell.

    A paper's means and savings stand beside ours; no rows without transfers.
    """
    paper = bool(comparison["published"])
    cells = comparison["cells"]
    many = any("p999" in found for cell in cells for found in cell["completion"].values())
    names = (*COMPLETION, "p999") if many else COMPLETION
    shown = {"p999": "p99.9"}
    headings = ["cell", "mode", "transfers"]
    headings += [*(f"{shown.get(name, name)}, s" for name in names), "saved"]
    headings += ["paper: mean, s", "paper: saved"] if paper else []
    rows = []
    for cell in cells:
        means = {mode: found["mean"] for mode, found in cell["completion"].items()}
        theirs = (cell["published"] or {}).get("mean_s", {})
        for mode, found in cell["completion"].items():
            row = [cell["cell"], mode, str(len(cell["completion_s"][mode]))]
            row += [_seconds(found[name]) if name in found else "-" for name in names]
            row.append(_saving(means, mode))
            if paper:
                row.append(_seconds(theirs[mode]) if mode in theirs else "-")
                row.append(_saving(theirs, mode))
            rows.append(row)
    return headings, rows


def _cell_text(value: Any) -> str:
    """A published cell; of a list all words."""
    if value is None:
        return "-"
    return ", ".join(value) if isinstance(value, list | tuple) else str(value)


def _published_value(value: Record) -> list[str]:
    """A row for a number of a document's text."""
    number = _cell_text(value["value"])
    if value["value"] is None:
        number = " to ".join(f"{value[k]:g}" for k in ("low", "high") if value[k] is not None)
        if value["high"] is None:
            number = f"at least {number}"
        elif value["low"] is None:
            number = f"at most {number}"
    if value["spread"] is not None:
        number += f" +- {value['spread']:g}"
    of = ", ".join(f"{key} {word}" for key, word in value["of"].items())
    return [value["quantity"], of, f"{number} {value['unit']}", value["where"], value["note"] or ""]


def beside(comparison: Record) -> list[tuple[str, list[str], list[list[str]]]]:
    """Tables that stand beside the cells: title, headings, rows.

    The flows by kind, where a cell has several kinds or a document tells of them, and
    the document's numbers.
    """
    found = []
    several = any(len(k) > 1 for c in comparison["cells"] for k in c["kinds"].values())
    ours = kinds.rows(comparison["cells"])
    if ours and (several or comparison["tables"]):
        found.append(("Flows by kind", kinds.HEADINGS, ours))
    for table in comparison["tables"]:
        title = f"Published: {table['name']}, {table['title']} ({table['where']})"
        units = {"text": "", "count": "", "share": "", "index": ""}
        headings = [
            ", ".join(filter(None, (c["name"].replace("_", " "), units.get(c["unit"], c["unit"]))))
            for c in table["columns"]
        ]
        rows = [[_cell_text(value) for value in row] for row in table["rows"]]
        found.append((title, headings, rows))
    if comparison["values"]:
        headings = ["quantity", "of", "published", "where", "note"]
        rows = [_published_value(value) for value in comparison["values"]]
        found.append(("Published, in words", headings, rows))
    return found


def _notes(comparison: Record) -> list[str]:
    notes = [NOTE.format(baseline=comparison["baseline"])]
    if any(cell["completion"] for cell in comparison["cells"]):
        notes.append(COMPLETION_NOTE)
    if comparison["published"]:
        notes.append(f"The paper is {comparison['published']}.")
    notes += [table["note"] for table in comparison["tables"] if table["note"]]
    return notes


def _about(comparison: Record) -> str:
    seeds = ", ".join(str(seed) for seed in comparison["seeds"])
    bulk = any("goodput" in modes for c in comparison["cells"] for modes in c["modes"].values())
    time = f"{comparison['seconds']:g} s each, " if bulk else ""
    return (
        f"{len(comparison['cells'])} cells, {time}"
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


def _missed(row: list[str]) -> str | None:
    return "red" if any(text.endswith(MARKS["missed"]) for text in row) else None


def table(comparison: Record) -> Group:
    """The comparison for rich to print on a terminal."""
    keys = telling_keys(comparison)
    headings, rows = columns(comparison, keys)
    title = f"{comparison['campaign']}: {_about(comparison)}"
    styles = [_missed(row) for row in rows]
    words = frozenset(range(len(keys)))
    cells = Wide(headings, rows, len(keys), title, words, styles)
    parts: list[RenderableType] = [
        *(Text(text, style="bold") for text in answer(comparison)),
        cells,
    ]
    headings, rows = completions(comparison)
    if rows:
        parts.append(Wide(headings, rows, 2, "Completion times", frozenset((0, 1))))
    parts += [Text(text) for text in findings(comparison)]
    parts += [Text(f"warning: {text}", style="bold red") for text in _problems(comparison)]
    return Group(*parts, *(Text(text, style="dim") for text in _notes(comparison)))


def _markdown_table(headings: list[str], rows: list[list[str]]) -> list[str]:
    def line(texts: list[str]) -> str:
        return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"

    return [line(headings), "|" + "---:|" * len(headings), *map(line, rows)]


def markdown(comparison: Record) -> str:
    """The comparison as a page to be kept under version control."""
    lines = [f"# {comparison['campaign']}", "", f"{_about(comparison)}.", ""]
    lines += [f"- {text}" for text in answer(comparison) + findings(comparison)]
    lines += [f"- warning: {text}" for text in _problems(comparison)]
    lines += ["", *_markdown_table(*columns(comparison)), ""]
    headings, rows = completions(comparison)
    if rows:
        lines += [*_markdown_table(headings, rows), ""]
    for title, headings, rows in beside(comparison):
        lines += [f"## {title}", "", *_markdown_table(headings, rows), ""]
    for note in [*_notes(comparison), _versions(comparison)]:
        lines += [note, ""]
    return "\n".join(lines[:-1]) + "\n"


# --- the page ---------------------------------------------------------------


def _axes(comparison: Record) -> tuple[list[str], list[str]]:
    """Which keys make the columns of a heat map, and which its rows.

    Rate and RTT go across, everything else down; a case's name stands for its keys.
    """
    keys = telling_keys(comparison)
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
    figures.look(figure)
    figure.update_layout(
        height=110 + 46 * len(y),
        margin={"l": 90, "r": 20, "t": 20, "b": 60},
        xaxis={"type": "category", "title": {"text": ", ".join(across)}},
        yaxis={
            "type": "category",
            "title": {"text": ", ".join(down)},
            "autorange": "reversed",
            "automargin": True,
        },
    )
    return figure


def _panels(comparison: Record) -> dict[str, dict[str, list[float]]]:
    """Completion times of each cell and mode that has some."""
    cells = comparison["cells"]
    return {cell["cell"]: cell["completion_s"] for cell in cells if cell["completion_s"]}


def _html_table(headings: list[str], rows: list[list[str]]) -> str:
    head = "".join(f"<th>{escape(text)}</th>" for text in headings)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in rows
    )
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _plot(figure: go.Figure, name: str) -> str:
    plot = figure.to_html(
        full_html=False,
        include_plotlyjs=False,
        div_id=name,
        config={"displayModeBar": False, "responsive": True},
    )
    return figures.framed(figure, plot)


def _gallery(comparison: Record, gallery: Record | None) -> str:
    """Windows and RTTs of single flows, the modes over each other."""
    if not gallery:
        return ""
    plots = "".join(
        f"<h3>{escape(panel.title)}</h3>"
        + _plot(gallery_plots.figure(gallery, panel), f"gallery-{panel.key}")
        for panel in gallery_plots.PANELS
    )
    seeds = comparison["seeds"]
    faint = f" Of {len(seeds)} seeds the first is in front, the others are faint."
    note = f"Cells with a single bulk flow.{faint if len(seeds) > 1 else ''}"
    return f'<h2>Gallery</h2><p class="note">{escape(note)}</p>{plots}'


def page(comparison: Record, gallery: Record | None = None) -> str:
    """The comparison as HTML with heat maps; it loads nothing from anywhere.

    ``gallery``: series to draw, see :mod:`..numbers.gallery`.
    """
    name = escape(comparison["campaign"])
    maps = "".join(
        f"<h2>{escape(_heading(metric, comparison))}</h2>"
        + _plot(heat_map(comparison, metric), f"map-{metric}")
        for metric in SHOWN
        if metric in comparison["overall"] and _axes(comparison)[0]
    )
    headings, rows = completions(comparison)
    if rows:
        curves = _plot(completion_curves(_panels(comparison), STYLES), "completion")
        maps += f"<h2>Completion times</h2>{curves}{_html_table(headings, rows)}"
    others = "".join(
        f"<h2>{escape(title)}</h2>{_html_table(headings, rows)}"
        for title, headings, rows in beside(comparison)
    )
    answers = "".join(f"<li>{escape(text)}</li>" for text in findings(comparison))
    warnings = "".join(f'<p class="warning">{escape(t)}</p>' for t in _problems(comparison))
    notes = "".join(
        f'<p class="note">{escape(text)}</p>'
        for text in [*_notes(comparison), _versions(comparison)]
    )
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{name}</title><style>{PAGE_STYLE}</style>
<script>{get_plotlyjs()}</script></head><body>
<h1>{name}</h1>
{"".join(f'<p class="answer">{escape(text)}</p>' for text in answer(comparison))}
<p class="about">{escape(_about(comparison))}</p>
<ul>{answers}</ul>{warnings}
{maps}
<h2>Cells</h2>
{_html_table(*columns(comparison))}
{others}
{_gallery(comparison, gallery)}
{notes}
<script>{PAGE_SCRIPT}</script>
</body></html>
"""
