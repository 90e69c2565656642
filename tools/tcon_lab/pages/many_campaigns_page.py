# SPDX-License-Identifier: GPL-2.0-only
"""An overview of several campaigns as one page that works offline."""

from __future__ import annotations

import itertools
from html import escape
from typing import Any

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from ..numbers.against_published import differences, safe_id
from ..numbers.many_campaigns import METRICS, Experiment
from . import campaign_page, figures, time_plots, window_plots
from .buffered_plot import buffered
from .completion import completion_curves
from .report import PAGE_SCRIPT, PAGE_STYLE, STYLES

Record = dict[str, Any]

_STYLE = """
nav ul { columns: 3; } .far { font-weight: 600; } details { margin: .8em 0; }
summary { cursor: pointer; }
"""
_ALL = "all of them"
#: A row stands out from this difference to a published number on.
_FAR = 0.25
_HOW = (
    "A ratio is of the enforced run to the native one with the same seed. Its mean is the "
    "geometric one; in brackets its {level:.0%} confidence interval, by Student's t on the "
    "logarithms: over the cells of an experiment, each with the mean of its seeds, or over "
    "the seeds where there is one cell. A single number has no interval. Goodput and the median "
    "of the path's RTT are of the flows that the CC decides about, also where CCs compete."
)


def _ratio(answer: Record | None) -> str:
    """A ratio with its interval; "-" of nothing."""
    if answer is None or answer.get("mean") is None:
        return "-"
    text = f"{answer['mean']:.3f}"
    if answer["low"] is not None:
        low, high = (f"{v:.3f}" if v < 10 else f"{v:.3g}" for v in (answer["low"], answer["high"]))
        text += f" ({low} .. {high})"
    return text


def _number(answer: Record | None) -> str:
    if answer is None or answer.get("mean") is None:
        return "-"
    return f"{answer['numbers']} {answer['over'] if answer['numbers'] > 1 else answer['over'][:-1]}"


def _table(headings: list[str], rows: list[list[str]], texts: int = 1, name: str = "") -> str:
    """An HTML table whose first ``texts`` columns are words."""

    def cells(tag: str, row: list[str]) -> str:
        return "".join(
            f"<{tag}{' class=text' if n < texts else ''}>{escape(text)}</{tag}>"
            for n, text in enumerate(row)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    of = f' id="{name}"' if name else ""
    return (
        f'<div class="scroll"><table{of}><thead><tr>{cells("th", headings)}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


#: Hundreds of plots at once would keep a browser busy: each is drawn when it is about to
#: be seen, which is also when what is folded away has a width.
_DRAW = """
function draw(div) {
  const text = document.querySelector(`script[data-for="${div.id}"]`).textContent;
  const {data, layout} = JSON.parse(text);
  layout.font = {...layout.font, color: getComputedStyle(document.body).color};
  div.classList.replace("later", "plotly-graph-div");
  Plotly.newPlot(div, data, layout, {displaylogo: false, responsive: true});
}
const seen = new IntersectionObserver(entries => {
  for (const entry of entries.filter(e => e.isIntersecting)) {
    seen.unobserve(entry.target);
    draw(entry.target);
  }
}, {rootMargin: "600px"});
for (const div of document.querySelectorAll(".later")) seen.observe(div);
addEventListener("beforeprint", () => document.querySelectorAll(".later").forEach(draw));
"""


def _plot(figure: go.Figure, name: str) -> str:
    """A place for a plot, and the plot as JSON for _DRAW."""
    data = str(figure.to_json()).replace("</", "<\\/")
    place = f'<div class="later" id="{name}" style="height:{figure.layout.height or 450}px"></div>'
    return (
        f"{figures.framed(figure, place)}"
        f'<script type="application/json" data-for="{name}">{data}</script>'
    )


# --- the front page ---------------------------------------------------------


def _ccs(made: Record) -> list[str]:
    return list(dict.fromkeys(answer["cc"] for answer in made["overall"]))


def _metrics(made: Record) -> list[str]:
    known = {answer["metric"] for answer in made["overall"]}
    return [metric for metric in METRICS if metric in known]


def answer_rows(made: Record) -> tuple[list[str], list[list[str]]]:
    """Headings, and a row for each CC over all experiments and in each of them."""
    found = {(a["cc"], _ALL, a["metric"]): a for a in made["overall"]}
    found |= {(a["cc"], a["experiment"], a["metric"]): a for a in made["answers"]}
    metrics = _metrics(made)
    headings = ["CC", "experiment"]
    for metric in metrics:
        headings += [f"{METRICS[metric][0]}, enforced/native", "over"]
    rows = []
    names = [experiment["name"] for experiment in made["experiments"]]
    for cc in _ccs(made):
        mine = [name for name in names if any((cc, name, metric) in found for metric in metrics)]
        for name in [_ALL, *mine] if len(mine) > 1 else mine:
            row = [cc, name]
            for metric in metrics:
                answer = found.get((cc, name, metric))
                row += [_ratio(answer), _number(answer)]
            rows.append(row)
    return headings, rows


def heat_map(made: Record, metric: str) -> go.Figure:
    """CC against experiment: a metric's ratio, coloured by how it stands to 1."""
    ccs = _ccs(made)
    names = [experiment["name"] for experiment in made["experiments"]]
    found = {(a["cc"], a["experiment"]): a for a in made["answers"] if a["metric"] == metric}
    x = [name for name in names if any((cc, name) in found for cc in ccs)]
    y = [cc for cc in ccs if any((cc, name) in found for name in names)]
    grid = [[found.get((cc, name)) for name in x] for cc in y]
    scale = [[0.0, "#d55e00"], [0.5, "#f7f3e8"], [1.0, "#009e73"]]
    if not METRICS[metric][1]:
        scale = [[1 - at, colour] for at, colour in reversed(scale)]
    figure = go.Figure(
        go.Heatmap(
            x=x, y=y, z=[[a and a.get("mean") for a in row] for row in grid],
            text=[[f"{a['mean']:.3f}" if a and a.get("mean") is not None else "" for a in row]
                  for row in grid],
            customdata=[[_ratio(a) for a in row] for row in grid],
            texttemplate="%{text}", textfont={"color": "#1c1e21"},
            hovertemplate="%{y} in %{x}: %{customdata}<extra></extra>",
            colorscale=scale, zmin=0.8, zmax=1.2, xgap=2, ygap=2, colorbar={"thickness": 12},
        )
    )  # fmt: skip
    figures.look(figure)
    figure.update_layout(
        height=130 + 40 * len(y), margin={"l": 90, "r": 20, "t": 20, "b": 70},
        xaxis={"type": "category", "automargin": True},
        yaxis={"type": "category", "autorange": "reversed", "automargin": True},
    )  # fmt: skip
    return figure


def _front(made: Record) -> str:
    """The answers and maps, what differs from the documents, and where to go on."""
    maps = "".join(
        f"<h3>{escape(METRICS[metric][0])}: enforced to native</h3>"
        + _plot(heat_map(made, metric), f"answer-{metric}")
        for metric in _metrics(made)
    )
    listed = "".join(
        f'<li><a href="#{safe_id(e["name"])}">{escape(e["name"])}</a></li>'
        for e in made["experiments"]
    )
    answers = "<p>No run of mode enforced has one of mode native beside it.</p>"
    if made["answers"]:
        answers = _table(*answer_rows(made), texts=2, name="answers")
        answers += f'<p class="note">{escape(_HOW.format(level=made["level"]))}</p>'
    return (
        f"<h2>Is an enforced CC as the native one?</h2>{answers}{maps}"
        f"{_far_list(made)}<nav><h2>Experiments</h2><ul>{listed}</ul></nav>"
    )


def _percent(value: float) -> str:
    return f"{100 * value:+.0f} %"


def _far_sentence(side: Record, baseline: str) -> str | None:
    """The difference of our baseline from the published numbers, in a sentence."""
    found = differences(side, baseline)
    if found is None:
        return None
    differ = "number differs" if found["rows"] == 1 else "numbers differ"
    text = (
        f"{side['title']}: ours ({baseline}) of {found['rows']} {differ} by "
        f"{100 * found['median']:.0f} % in the median"
    )
    if row := found["largest"]:
        text += (
            f", most in {row['quantity']} of {row['of']}: {row['ours'][baseline]:.4g} "
            f"{row['unit']} where {row['text']} was published, "
            f"{_percent(row['differs'][baseline])}"
        )
    if found["of_nothing"]:
        text += f"; {found['of_nothing']} more are not 0 where 0 was published"
    return text


def _far_list(made: Record) -> str:
    """The front page's list of our native figures that are far from the papers'."""
    listed = []
    for experiment in made["experiments"]:
        for side in experiment["sides"]:
            text = _far_sentence(side, experiment["comparison"]["baseline"])
            if text:
                listed.append(f"<li>{escape(experiment['name'])}: {escape(text)}</li>")
    if not listed:
        return ""
    return f"<h2>Our native figures against the documents'</h2><ul>{''.join(listed)}</ul>"


# --- an experiment ----------------------------------------------------------


def side_table(side: Record, baseline: str) -> tuple[list[str], list[list[str]]]:
    """Published, and each mode's number with by how much it differs."""
    modes = list(dict.fromkeys(mode for row in side["rows"] for mode in row["ours"]))
    modes.sort(key=lambda mode: (mode != baseline, mode))
    headings = ["of", "quantity", "unit", "published"]
    for mode in modes:
        headings += [f"ours, {mode}", "differs"]
    rows = []
    for row in side["rows"]:
        texts = [row["of"], row["quantity"], row["unit"], row["text"]]
        for mode in modes:
            value, differs = row["ours"].get(mode), row["differs"].get(mode)
            texts.append("-" if value is None else f"{value:.4g}")
            texts.append("-" if differs is None else _percent(differs))
        rows.append(texts)
    return headings, rows


def _side(side: Record, baseline: str, name: str) -> str:
    text = _far_sentence(side, baseline)
    said = f'<p class="note">{escape(text)}</p>' if text else ""
    where = f" ({side['where']})" if side["where"] else ""
    headings, rows = side_table(side, baseline)
    return (
        f"<h3>{escape(side['title'] + where)}: published, {escape(baseline)}, enforced</h3>"
        f"{said}{_table(headings, rows, 2, name)}"
    )


def coexistence(shares: Record) -> go.Figure:
    """Each CC's share beside each other one: a matrix for each mode."""
    from plotly.subplots import make_subplots

    modes = list(shares)
    ccs = list(dict.fromkeys(cc for rows in shares.values() for a, row in rows.items()
                             for cc in (a, *row)))  # fmt: skip
    figure = make_subplots(rows=1, cols=len(modes), subplot_titles=modes)
    for number, mode in enumerate(modes, 1):
        rows = shares[mode]

        def share(a: str, b: str, rows: Record = rows) -> float | None:
            if b in rows.get(a, {}):
                return float(rows[a][b])
            return 1 - rows[b][a] if a in rows.get(b, {}) else None

        z = [[share(a, b) for b in ccs] for a in ccs]
        figure.add_trace(
            go.Heatmap(
                x=ccs, y=ccs, z=z, zmin=0, zmax=1, xgap=2, ygap=2, showscale=number == len(modes),
                colorscale=[[0, "#3a8fd0"], [0.5, "#f7f3e8"], [1, "#d55e00"]],
                text=[["" if v is None else f"{v:.2f}" for v in row] for row in z],
                texttemplate="%{text}", textfont={"color": "#1c1e21"},
                hovertemplate="%{y} beside %{x}: %{z:.2f}<extra></extra>",
            ),
            row=1, col=number,
        )  # fmt: skip
    figures.look(figure)
    figure.update_xaxes(type="category")
    figure.update_yaxes(type="category", autorange="reversed", automargin=True)
    figure.update_layout(height=160 + 50 * len(ccs))
    return figure


def _maps(comparison: Record, prefix: str) -> str:
    """A heat map of each metric that the campaign has, over its matrix."""
    return "".join(
        f"<details><summary>{escape(campaign_page.SHOWN[metric].heading)}</summary>"
        f"{_plot(campaign_page.heat_map(comparison, metric), f'{prefix}-map-{metric}')}</details>"
        for metric in comparison["overall"]
        if metric in campaign_page.SHOWN and len(comparison["cells"]) > 1
    ).replace("{baseline}", escape(comparison["baseline"]))


def _completions(comparison: Record, prefix: str) -> str:
    headings, rows = campaign_page.completions(comparison)
    if not rows:
        return ""
    panels = {c["cell"]: c["completion_s"] for c in comparison["cells"] if c["completion_s"]}
    curves = _plot(completion_curves(panels, STYLES), f"{prefix}-completion")
    return f"<h3>Completion times</h3>{curves}{_table(headings, rows, 2)}"


def _plots(experiment: Experiment, sides: list[Record], prefix: str) -> str:
    parts = []
    over = {
        "path": time_plots.over_path(experiment),
        "windows": window_plots.distributions(experiment),
        "buffered": buffered(experiment, sides),
    }
    for what, several in over.items():
        for number, plot in enumerate(several):
            parts.append(
                f"<h3>{escape(plot.title)}</h3>{_plot(plot.figure, f'{prefix}-{what}-{number}')}"
                f'<p class="note">{escape(plot.note)}</p>'
            )
    plots, more = time_plots.over_time(experiment)
    if plots:
        parts.append("<h3>Over time</h3>")
    for number, plot in enumerate(plots):
        drawn = _plot(plot.figure, f"{prefix}-time-{number}")
        parts.append(f'<h4>{escape(plot.title)}</h4><p class="note">{escape(plot.note)}</p>{drawn}')
    if more:
        parts.append(f'<p class="note">{more} more cells are not drawn.</p>')
    return "".join(parts)


def model_table(made: Record) -> tuple[list[str], list[list[str]]]:
    """The models' numbers, and each mode's with by how much it differs."""
    baseline = made["comparison"]["baseline"]
    modes = list(dict.fromkeys(mode for row in made["models"] for mode in row["ours"]))
    modes.sort(key=lambda mode: (mode != baseline, mode))
    headings = ["cell", "quantity", "unit", "model"]
    for mode in modes:
        headings += [mode, "differs"]
    rows = []
    for row in made["models"]:
        texts = [row["cell"], row["quantity"], row["unit"], f"{row['model']:.3g}"]
        for mode in modes:
            value = row["ours"].get(mode)
            differs = None if value is None or not row["model"] else value / row["model"] - 1
            texts.append("-" if value is None else f"{value:.3g}")
            texts.append("-" if differs is None else _percent(differs))
        rows.append(texts)
    return headings, rows


def buffer_tables(found: Record) -> list[tuple[list[str], list[list[str]]]]:
    """Buffers by the rules; those with which links are full; how full they are with which."""
    packets = found["bdp_packets"]
    rules = [[rule, f"{bdp:.3g}", f"{bdp * packets:.0f}"] for rule, bdp in found["rules"].items()]
    needed = [
        [n["cc"], n["mode"], f"{n['share']:.0%}", f"{n['bound']}{n['bdp']:.3g}",
         f"{n['bound']}{n['bdp'] * packets:.0f}"]
        for n in found["needed"]
    ]  # fmt: skip
    points = [
        [cc, mode, f"{bdp:.2g}", f"{100 * share:.1f}"]
        for cc, by_mode in found["points"].items()
        for mode, several in by_mode.items()
        for bdp, share in several
    ]
    return [
        (["rule", "buffer, BDPs", "packets"], rules),
        (["CC", "mode", "link used", "buffer, BDPs", "packets"], needed),
        (["CC", "mode", "buffer, BDPs", "link used, %"], points),
    ]


def _models(made: Record, prefix: str) -> str:
    """The thesis's models and rules beside the runs."""
    parts = []
    if made["models"]:
        parts.append(
            "<h3>The thesis's models beside the runs</h3>"
            + _table(*model_table(made), texts=2, name=f"{prefix}-models")
            + '<p class="note">Of one flow the model of chapter 2, of several the fluid model of '
            "chapter 3 in equilibrium, both with Linux's beta; CoV is the standard deviation as a "
            "share of the mean, over the flows at a time (of one flow over time). Of the flows "
            "that lose together the thesis has a criterion (5.5.1), from which a share follows "
            "if losses hit flows at random.</p>"
        )
    if made["buffers"]:
        parts.append(f"<h3>How large a buffer must be: {made['buffers']['flows']} flows</h3>")
        for number, (headings, rows) in enumerate(buffer_tables(made["buffers"])):
            texts = 1 if number == 0 else 2
            parts.append(_table(headings, rows, texts, f"{prefix}-buffers-{number}"))
    return "".join(parts)


def _about(paragraphs: list[str]) -> str:
    """A campaign file's own text, folded: above all, what differs and why."""
    if not paragraphs:
        return ""
    parts = ""
    for is_list, texts in itertools.groupby(paragraphs, lambda text: text.startswith("- ")):
        if is_list:
            parts += "<ul>" + "".join(f"<li>{escape(text[2:])}</li>" for text in texts) + "</ul>"
        else:
            parts += "".join(f"<p>{escape(text)}</p>" for text in texts)
    return f"<details><summary>What it repeats, what differs, and why</summary>{parts}</details>"


def _experiment(made: Record, experiment: Experiment) -> str:
    comparison, prefix = made["comparison"], safe_id(made["name"])
    baseline = comparison["baseline"]
    answers = "".join(f"<li>{escape(t)}</li>" for t in campaign_page.findings(comparison))
    missing = [f"{len(comparison['missing'])} runs are missing"] if comparison["missing"] else []
    warnings = "".join(
        f'<p class="warning">{escape(text)}</p>' for text in missing + comparison["warnings"]
    )
    compared = "".join(
        _side(side, baseline, f"{prefix}-side-{number}")
        for number, side in enumerate(made["sides"])
    )
    matrix = ""
    if made["shares"]:
        matrix = (
            "<h3>Who backs off</h3>"
            f"{_plot(coexistence(made['shares']), f'{prefix}-shares')}"
            '<p class="note">The share that a flow of the row gets beside one of the column, mean '
            "over the cells and seeds; 0.5 is fair.</p>"
        )
    others = "".join(
        f"<details><summary>{escape(title)}</summary>{_table(headings, rows)}</details>"
        for title, headings, rows in campaign_page.beside(comparison)
    )
    source = f'<p class="note">Repeats: {escape(comparison["published"])}</p>'
    seeds = ", ".join(str(seed) for seed in comparison["seeds"])
    headings, rows = campaign_page.columns(comparison)
    return (
        f'<section id="{prefix}"><h2>{escape(made["name"])}</h2>'
        f'<p class="about">{len(comparison["cells"])} cells, {comparison["seconds"]:g} s, '
        f"seeds {seeds}</p>{source if comparison['published'] else ''}"
        f"{_about(made['about'])}<ul>{answers}</ul>{warnings}{compared}{matrix}"
        f"{_models(made, prefix)}"
        f"{_completions(comparison, prefix)}"
        f"<h3>Cells</h3>{_table(headings, rows, name=f'{prefix}-cells')}{others}"
        f"{_maps(comparison, prefix)}{_plots(experiment, made['sides'], prefix)}</section>"
    )


def page(made: Record, experiments: list[Experiment]) -> str:
    """The overview as HTML; it loads nothing from anywhere."""
    sections = "".join(
        _experiment(one, experiment)
        for one, experiment in zip(made["experiments"], experiments, strict=True)
    )
    versions = {
        name: version
        for experiment in made["experiments"]
        for name, version in experiment["comparison"]["versions"].items()
    }
    listed = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>TCon: enforced against native</title><style>{PAGE_STYLE}{_STYLE}</style>
<script>{get_plotlyjs()}</script></head><body>
<h1>TCon: enforced against native</h1>
{_front(made)}
{sections}
<p class="note">{escape(listed)}</p>
<script>{PAGE_SCRIPT}{_DRAW}</script>
</body></html>
"""
