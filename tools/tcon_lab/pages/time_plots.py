# SPDX-License-Identifier: GPL-2.0-only
"""Plots of campaigns' samples over time, models laid over: windows, RTT, goodput, and more.

Of each cell the first seed is drawn, and of several equal flows the mean.  The models come
from :mod:`..numbers.cubic_model`, where the cell is one of the thesis's experiments.
"""

from __future__ import annotations

import functools
import itertools
import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

import plotly.graph_objects as go

from ..numbers import cubic_model
from ..numbers.against_models import (
    BUFFERS,
    FLUID_FLOWS,
    LINK_BYTES,
    ONE_FLOW,
    PAYLOAD_BYTES,
    SCENARIOS,
    base_name,
    model_path,
    settled,
    used,
)
from ..numbers.losses import cycle_s, decider, loss_times
from ..numbers.many_campaigns import Experiment
from ..numbers.samples import column, known_at
from ..numbers.sharing import jain
from ..scenario import PACKET_BYTES
from . import figures
from .report import OTHER_STYLE, STYLES

Record = dict[str, Any]

#: Cells of an experiment that get a plot over time.
MAX_CELLS = 30
#: Points of a curve; more are thinned out.
_MAX_POINTS = 600
_MODEL_STYLE = ("#7f5fc7", "dashdot")
#: How long the fluid model is drawn from its begin; the lab's runs may be longer.
_FLUID_S = 30.0


@dataclass(frozen=True)
class Plot:
    """A figure with its heading, and a sentence on what it shows."""

    title: str
    note: str
    figure: go.Figure


# --- what was measured ------------------------------------------------------


def _mean_column(flows: list[Record], key: str) -> tuple[list[float], list[float | None]]:
    """Times, and the mean over the flows of what is known at each."""
    if len(flows) == 1:
        columns = flows[0]["columns"]
        return column(columns, "t_s"), column(columns, key)
    at = known_at([flow["columns"] for flow in flows], key)
    means = [sum(known) / len(known) if known else None for _, known in at]
    return [t_s for t_s, _ in at], means


# --- over time --------------------------------------------------------------


def _thin(x: list[Any], y: list[Any]) -> tuple[list[Any], list[Any]]:
    step = -(-len(x) // _MAX_POINTS) or 1
    return x[::step], y[::step]


def _scatter(
    x: list[float], y: list[Any], name: str, style: tuple[str, str], width: float, panel: int
) -> go.Scatter:
    x, y = _thin(x, y)
    return go.Scatter(
        x=x,
        y=y,
        name=escape(name),
        mode="lines",
        line={"color": style[0], "dash": style[1], "width": width},
        legend=figures.legend(panel),
        hovertemplate="%{y:.6~g}",
    )


#: Panel, the column with "{who}" for who decides, divisor, name, width of the line.
_CURVES = (
    (1, "{who}_cwnd_bytes", 1e3, "cwnd", 2.0),
    (1, "{who}_ssthresh_bytes", 1e3, "ssthresh", 1.0),
    (1, "{who}_window_bytes", 1e3, "window given", 0.7),
    (2, "rtt_us", 1e3, "path RTT", 2.0),
    (3, "goodput_bps", 1e6, "goodput", 2.0),
    (4, "retransmitted_bytes", 1e3, "sent again", 1.0),
)
_FAIRNESS, _SEQUENCE = 5, 6
_PANELS = (
    "cwnd, ssthresh and window, kB", "path RTT, ms", "goodput of a flow, Mbit/s",
    "sent again of a flow, kB a sample", "Jain's index of each second",
    "sequence numbers of a flow, MB",
)  # fmt: skip


#: A mode's samples of the flows of each CC, or of each [[flow]] that has it.
_ByCc = dict[str, list[Record]]


def _by_cc(run: Record, samples: Record) -> _ByCc:
    """The flows that have samples, by who decides about them and by their other properties."""
    tables: dict[str, set[int]] = {}
    for flow in run["flows"]:
        tables.setdefault(str(flow["cc"]), set()).add(flow.get("table", 0))
    names = {}
    for flow in run["flows"]:
        cc, table = str(flow["cc"]), flow.get("table", 0)
        names[flow["index"]] = cc if len(tables[cc]) == 1 else f"{cc} ({table + 1})"
    found: _ByCc = {}
    for flow in samples["flows"]:
        if flow["columns"]:
            found.setdefault(names[flow["index"]], []).append(flow)
    return found


def _fairness(mode: str, by_cc: _ByCc) -> list[tuple[int, go.Scatter]]:
    """Jain's index of all flows of a mode in each second; nothing of a single flow."""
    flows = [flow["columns"] for several in by_cc.values() for flow in several]
    seconds: list[dict[int, list[float]]] = []
    for columns in flows:
        mine: dict[int, list[float]] = {}
        for t_s, rate in zip(column(columns, "t_s"), column(columns, "goodput_bps"), strict=True):
            if rate is not None:
                mine.setdefault(math.ceil(t_s), []).append(rate)
        seconds.append(mine)
    shared = sorted(set.intersection(*(set(mine) for mine in seconds))) if len(flows) > 1 else []
    if not shared:
        return []
    index = [jain([statistics.fmean(mine[second]) for mine in seconds]) for second in shared]
    style = STYLES.get(mode, OTHER_STYLE)
    return [(_FAIRNESS, _scatter(shared, index, f"{mode}: Jain", style, 2.0, _FAIRNESS))]


def _measured(mode: str, by_cc: _ByCc) -> list[tuple[int, go.Scatter]]:
    """The curves of a mode; of a second CC they are thin."""
    traces = []
    colour, dash = STYLES.get(mode, OTHER_STYLE)
    for number, (cc, flows) in enumerate(by_cc.items()):
        for panel, key, divisor, what, width in _CURVES:
            x, y = _mean_column(flows, key.format(who=decider(mode)))
            if all(value is None for value in y):
                continue
            drawn = [None if value is None else round(value / divisor, 3) for value in y]
            style = (colour, "dot" if what == "ssthresh" else dash)
            name = f"{mode} {cc}: {what}"
            traces.append((panel, _scatter(x, drawn, name, style, width / (1 + number), panel)))
    return traces


def _sequence(mode: str, by_cc: _ByCc) -> list[tuple[int, go.Scatter]]:
    """How far una has come in a flow, and nxt where TCon told what is in flight."""
    traces = []
    colour, dash = STYLES.get(mode, OTHER_STYLE)
    for number, (cc, flows) in enumerate(by_cc.items()):
        x, rates_bps = _mean_column(flows, "goodput_bps")
        _, inflight = _mean_column(flows, "tcon_inflight_bytes")
        steps_s = [later - earlier for earlier, later in itertools.pairwise(x)]
        una, bytes_so_far = [], 0.0
        for rate_bps, step_s in zip(rates_bps, [*steps_s[:1], *steps_s], strict=False):
            bytes_so_far += (rate_bps or 0) * step_s / 8
            una.append(bytes_so_far)
        nxt = [None if more is None else at + more for at, more in zip(una, inflight, strict=False)]
        for what, values, style in (("una", una, dash), ("nxt", nxt, "dot")):
            drawn = [None if value is None else round(value / 1e6, 4) for value in values]
            if any(drawn):
                name = f"{mode} {cc}: {what}"
                curve = _scatter(x, drawn, name, (colour, style), 2.0 / (1 + number), _SEQUENCE)
                traces.append((_SEQUENCE, curve))
    return traces


def _one_flow_model(scenario: Record, modes: dict[str, _ByCc]) -> list[tuple[int, go.Scatter]]:
    """The thesis's cycles, laid at the middle one of the losses of the first mode."""
    cycle = cubic_model.Cycle(model_path(scenario))
    mode, first = next(iter(modes.items()))
    columns = next(iter(first.values()))[0]["columns"]
    times, losses = column(columns, "t_s"), loss_times(columns, decider(mode))
    if not losses:
        return []
    at_s = losses[len(losses) // 2]
    name = f"model of one flow (2.1, 2.5, 2.11), loss laid at {at_s:g} s"
    kilobytes = [round(w * PAYLOAD_BYTES / 1e3, 3) for w in cycle.series(times, at_s)]
    queue = [max(0.0, w - cycle.path.bdp_packets) for w in cycle.series(times, at_s)]
    rtts_ms = [
        round(1e3 * (cycle.path.tau_s + q / cycle.path.capacity_pps), 3) for q in queue
    ]  # fmt: skip
    return [
        (1, _scatter(times, kilobytes, name, _MODEL_STYLE, 1.5, 1)),
        (2, _scatter(times, rtts_ms, "its RTT (2.3, 2.4)", _MODEL_STYLE, 1.5, 2)),
    ]


@functools.cache
def _fluid(path: cubic_model.Path, seconds: float, reno: bool) -> list[cubic_model.Moment]:
    """The fluid model of a path, computed once."""
    return cubic_model.fluid(path, seconds, reno=reno, flows=FLUID_FLOWS)


def _fluid_model(scenario: Record, reno: bool) -> list[tuple[int, go.Scatter]]:
    """The mean window and the RTT of the fluid model."""
    moments = _fluid(model_path(scenario), min(scenario["seconds"], _FLUID_S), reno)
    x = [round(moment.t_s, 4) for moment in moments]
    windows = [round(moment.window * PAYLOAD_BYTES / 1e3, 3) for moment in moments]
    rtts_ms = [round(1e3 * moment.rtt_s, 3) for moment in moments]
    return [
        (1, _scatter(x, windows, "fluid model (3.2 to 3.6)", _MODEL_STYLE, 1.5, 1)),
        (2, _scatter(x, rtts_ms, "its RTT (3.4)", _MODEL_STYLE, 1.5, 2)),
    ]


def _models(
    experiment: Experiment, scenario: Record, modes: dict[str, _ByCc]
) -> list[tuple[int, go.Scatter]]:
    """The thesis's models of a cell; nothing where it is not one of its experiments."""
    name, ccs = base_name(experiment.comparison), {cc for by_cc in modes.values() for cc in by_cc}
    if name == ONE_FLOW and ccs == {"cubic"}:
        return _one_flow_model(scenario, modes)
    if name in (BUFFERS, SCENARIOS) and len(ccs) == 1 and ccs <= {"cubic", "reno"}:
        return _fluid_model(scenario, ccs == {"reno"})
    return []


def _cell_plot(experiment: Experiment, cell: str) -> Plot | None:
    """A cell's first seed over time; None where no samples were kept."""
    found: dict[str, _ByCc] = {}
    seed, scenario = 0, {}
    for mode, by_seed in experiment.runs[cell].items():
        seed = min(by_seed)
        samples = experiment.samples(cell, mode, seed)
        by_cc = _by_cc(by_seed[seed]["run"], samples) if samples else {}
        if by_cc:
            found[mode] = by_cc
            scenario = by_seed[seed]["scenario"]
    if not found:
        return None
    traces = [trace for mode, by_cc in found.items() for trace in _measured(mode, by_cc)]
    for more in (_fairness, _sequence):
        traces += [trace for mode, by_cc in found.items() for trace in more(mode, by_cc)]
    traces += _models(experiment, scenario, found)
    figure = figures.stacked(traces, _PANELS)
    several = [
        f"{len(flows)} flows of {cc}" for cc, flows in next(iter(found.values())).items()
        if len(flows) > 1
    ]  # fmt: skip
    note = f"Seed {seed}" + (f"; the mean of {' and of '.join(several)}." if several else ".")
    return Plot(cell, note, figure)


def over_time(experiment: Experiment) -> tuple[list[Plot], int]:
    """Plots of cells that have samples, and how many more there are.

    Of too many cells those that are drawn are spread evenly over the matrix.
    """
    cells = [
        cell for cell, modes in experiment.runs.items() if _has_samples(experiment, cell, modes)
    ]
    drawn = cells
    if len(cells) > MAX_CELLS:
        drawn = [cells[n * len(cells) // MAX_CELLS] for n in range(MAX_CELLS)]
    plots = [_cell_plot(experiment, cell) for cell in drawn]
    return [plot for plot in plots if plot is not None], len(cells) - len(drawn)


def _has_samples(experiment: Experiment, cell: str, modes: dict[str, dict[int, Record]]) -> bool:
    """Whether samples of bulk flows were kept; transfers have none."""
    return any(
        any("transfers" not in flow for flow in by_seed[min(by_seed)]["run"]["flows"])
        and experiment.samples(cell, mode, min(by_seed)) is not None
        for mode, by_seed in modes.items()
    )


# --- over the path ----------------------------------------------------------


def _points(
    x: list[float], y: list[float], mode: str, name: str, marker: str = "circle"
) -> go.Scatter:
    colour, _ = STYLES.get(mode, OTHER_STYLE)
    return go.Scatter(
        x=x, y=y, name=escape(name), mode="markers",
        marker={"color": colour, "size": 9, "symbol": marker}, hovertemplate="%{x:.4~g}: %{y:.4~g}",
    )  # fmt: skip


def _line(x: list[float], y: list[float], name: str, dash: str = "dashdot") -> go.Scatter:
    return go.Scatter(
        x=x, y=y, name=escape(name), mode="lines+markers",
        line={"color": _MODEL_STYLE[0], "dash": dash, "width": 1.5},
        marker={"size": 5}, hovertemplate="%{x:.4~g}: %{y:.4~g}",
    )  # fmt: skip


def cycle_points(experiment: Experiment) -> list[Record]:
    """Each cell's base RTT, the measured cycle of each mode, and the model's; in s."""
    found = []
    for cell, modes in experiment.runs.items():
        cycles: dict[str, list[float]] = {}
        for mode, by_seed in modes.items():
            for seed in by_seed:
                samples = experiment.samples(cell, mode, seed)
                if samples and len(samples["flows"]) == 1 and samples["flows"][0]["columns"]:
                    got = cycle_s(samples["flows"][0]["columns"], decider(mode))
                    cycles.setdefault(mode, []).extend([got] if got else [])
        first = next(iter(next(iter(modes.values())).values()))
        cycle = cubic_model.Cycle(model_path(first["scenario"]))
        measured = {
            mode: sum(several) / len(several) for mode, several in cycles.items() if several
        }
        if measured:
            found.append({"cell": cell, "rtt_s": cycle.path.tau_s, "measured": measured,
                          "model": cycle.period_s})  # fmt: skip
    return sorted(found, key=lambda point: point["rtt_s"])


def _cycles(experiment: Experiment) -> list[Plot]:
    """The cycle's period against the RTT, ours and the model's."""
    points = cycle_points(experiment)
    if not points:
        return []
    traces = []
    modes = dict.fromkeys(mode for point in points for mode in point["measured"])
    for mode in modes:
        mine = [point for point in points if mode in point["measured"]]
        x, y = [1e3 * p["rtt_s"] for p in mine], [p["measured"][mode] for p in mine]
        traces.append(_points(x, y, mode, mode))
    x = [1e3 * point["rtt_s"] for point in points]
    model = _line(x, [point["model"] for point in points], "model of one flow (2.1, 2.5, 2.11)")
    model.mode = "markers"
    model.marker = {"size": 12, "symbol": "x-thin", "line": {"width": 2, "color": _MODEL_STYLE[0]}}
    traces.append(model)
    worst = [
        f"{point['cell']} {mode}: {100 * (value / point['model'] - 1):+.0f} % of the model's "
        f"{point['model']:.2f} s"
        for point in points
        for mode, value in point["measured"].items()
    ]
    note = "Mean time between losses, after a third of the run. " + "; ".join(worst) + "."
    figure = figures.simple(traces, "base RTT, ms", "from loss to loss, s")
    return [Plot("Period of a cycle against the RTT", note, figure)]


def _queue_kb(path: cubic_model.Path, reno: bool) -> float:
    """The median of a flow's share of the queue in the fluid model."""
    queue = statistics.median_low(moment.queue_packets for moment in settled(path, reno))
    return queue * PACKET_BYTES / 1e3


#: Quantity, divisor, title: the fluid model's quantities of a buffer.
_BUFFER_PANELS: tuple[tuple[str, float, str, Callable[[cubic_model.Path, bool], float]], ...]
_BUFFER_PANELS = (
    ("utilisation", PAYLOAD_BYTES / LINK_BYTES, "link used, share of full packets' payload", used),
    ("queue", 1e3, "queue p50, kB", _queue_kb),
)


def _buffers(experiment: Experiment) -> list[Plot]:
    """Utilisation and queue against the buffer, ours and the fluid model's."""
    cells = {cell["cell"]: cell for cell in experiment.comparison["cells"]}
    plots = []
    for name, divisor, title, model in _BUFFER_PANELS:
        points: dict[tuple[str, str], list[tuple[float, float]]] = {}
        for cell, modes in experiment.runs.items():
            first = next(iter(next(iter(modes.values())).values()))
            scenario, path = first["scenario"], model_path(first["scenario"])
            cc = first["run"]["flows"][0]["cc"]
            buffer = path.buffer_packets / path.bdp_packets
            for mode, quantities in cells[cell]["modes"].items():
                if name in quantities:
                    value = quantities[name]["mean"] / divisor
                    points.setdefault((cc, mode), []).append((buffer, value))
            flows = sum(flow["count"] for flow in scenario["flows"])
            value = model(path, cc == "reno") * (flows if name == "queue" else 1)
            points.setdefault((cc, "model"), []).append((buffer, value))
        traces = []
        for (cc, mode), several in points.items():
            x, y = (list(values) for values in zip(*sorted(several), strict=True))
            symbol = "circle" if cc == "cubic" else "square"
            traces.append(
                _line(
                    x, y, f"{cc}: fluid model (3.2 to 3.6)", "dashdot" if cc == "cubic" else "dot"
                )
                if mode == "model"
                else _points(x, y, mode, f"{cc}, {mode}", symbol)
            )
        figure = figures.simple(traces, "buffer, BDPs", title)
        plots.append(Plot(f"{title} against the buffer", "The model's in equilibrium.", figure))
    return plots


def over_path(experiment: Experiment) -> list[Plot]:
    """Plots of an experiment of the thesis against what its models are about."""
    makers = {ONE_FLOW: _cycles, BUFFERS: _buffers}
    maker = makers.get(base_name(experiment.comparison))
    return maker(experiment) if maker else []
