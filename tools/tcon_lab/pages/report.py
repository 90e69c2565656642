# SPDX-License-Identifier: GPL-2.0-only
"""Reports: a table for the terminal and a page that works offline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs
from rich.console import Group, RenderableType
from rich.text import Text

from ..aqm import Aqm
from ..numbers.results import LIMITS, SETTLED_AFTER_RTTS, median
from ..numbers.sharing import FAIR_INDEX, FAIR_SECONDS
from ..scenario import ENFORCING_MODES
from . import figures
from .completion import completion_curves
from .tables import Wide

Record = dict[str, Any]

#: Okabe and Ito's palette: told apart with every kind of colour vision, and
#: readable on white and on black.  The dash tells modes apart without colour.
STYLES = {
    "guest": ("#d55e00", "dot"),
    "native": ("#3a8fd0", "dash"),
    "observed": ("#56b4e9", "dashdot"),
    "linux": ("#e69f00", "longdashdot"),
    "enforced": ("#009e73", "solid"),
    "stock": ("#cc79a7", "longdash"),
}
#: Dashes and dots go over a solid line, which would hide them.
DRAWN_ABOVE = {"guest": 3, "native": 2, "linux": 1}
OTHER_STYLE = ("#888888", "dashdot")
#: Flows of a run that get lines of their own.
MAX_FLOWS_DRAWN = 4


@dataclass(frozen=True)
class Row:
    """A run in the comparison; numbers that nobody measured are None."""

    scenario: str
    mode: str
    cc: str
    state: str
    goodput_mbps: float
    goodput_ratio: float | None  # to the native run of the same scenario
    rtt_p50_ms: float | None
    rtt_ratio: float | None
    rtt_p95_ms: float | None
    rtt_p99_ms: float | None
    queue_p50: float | None
    queue_p99: float | None
    queue_marks: float | None
    queue_drops: float | None
    instructions_per_byte: float | None
    retransmits: float | None
    repairs: float | None
    repair: str  # what TCon's loss repair did, in words
    guest_limited: float | None  # share of the settled time, the flows' mean
    jain: float | None
    jain_mean: float | None
    convergence_s: float | None
    loss_sync: float | None  # share of flows that lose in an epoch, its mean
    utilisation: float
    warnings: tuple[str, ...]


def _rtts_ms(run: Record, name: str) -> list[float]:
    found = [(flow["rtt_us"] or {}).get(name) for flow in run["flows"]]
    return [value / 1000 for value in found if value is not None]


def _ratio(value: float | None, base: float | None) -> float | None:
    return value / base if value is not None and base else None


def _distinct(values: list[str]) -> str:
    """Values with how often each comes: "bbr" or "3 x cubic, bbr"."""
    counts = {value: values.count(value) for value in values}
    return ", ".join(v if n == 1 or len(counts) == 1 else f"{n} x {v}" for v, n in counts.items())


def _cc(flow: Record, mode: str) -> str:
    """The deciding CC: "cubic", or "cubic under bbr" where TCon enforces another."""
    if mode in ENFORCING_MODES and flow["state"] is not None:
        return f"{flow['guest_cc']} under {flow['cc']}"
    return str(flow["cc"])


def _state(flow: Record) -> str:
    reasons = ", ".join(flow["reasons"])
    return (flow["state"] or "-") + (f" ({reasons})" if reasons else "")


def _known(flows: list[Record], key: str) -> list[Any]:
    return [flow[key] for flow in flows if flow.get(key) is not None]


def _mean_share(flows: list[Record], key: str) -> dict[str, float]:
    """The flows' mean share of each limit; empty where nobody measured it."""
    shares = _known(flows, key)
    return {limit: sum(s[limit] for s in shares) / len(shares) for limit in LIMITS if shares}


def _repair(flows: list[Record]) -> str:
    """The work of TCon's loss repair, and the flows' limits; empty if not known."""
    if not _known(flows, "tcon_retransmits"):
        return ""
    keys = ("tcon_retransmits", "tcon_spurious", "tcon_probes", "tcon_timeouts")
    repairs, spurious, probes, timeouts = (sum(_known(flows, key)) for key in keys)
    copies = max((spread["max"] for spread in _known(flows, "buffer_bytes")), default=0)
    text = (
        f"{repairs} repairs ({spurious} spurious), {probes} tail probes, {timeouts} time-outs; "
        f"copies of a flow took up to {copies / 1e6:.2f} MB"
    )
    for what, key in (("", "limited_share"), ("; once settled", "limited_share_settled")):
        share = _mean_share(flows, key)
        if share:
            limits = ", ".join(f"{limit} {100 * share[limit]:.1f} %" for limit in LIMITS)
            text += f"{what or '; limited by'} {limits}"
    return text


def _row(result: Record, run: Record, native: Record | None) -> Row:
    flows, mode = run["flows"], run["mode"]
    rtt_p50 = median(_rtts_ms(run, "p50"))
    retransmits = _known(flows, "guest_retransmits")
    enforcing = mode in ENFORCING_MODES
    repairs = _known(flows, "tcon_retransmits") if enforcing else []
    queue = run["queue_packets"] or {}
    warnings = run["warnings"] + [
        f"flow {flow['index']}: {flow['error']}" for flow in flows if flow["error"]
    ]
    compared = native if native is not None and native is not run else None
    native_goodput = compared["goodput_bps"] if compared else None
    native_rtt_p50 = median(_rtts_ms(compared, "p50")) if compared else None
    return Row(
        scenario=result["scenario"],
        mode=mode,
        cc=_distinct([_cc(flow, mode) for flow in flows]),
        state=_distinct([_state(flow) for flow in flows]) if enforcing else "-",
        goodput_mbps=run["goodput_bps"] / 1e6,
        goodput_ratio=_ratio(run["goodput_bps"], native_goodput),
        rtt_p50_ms=rtt_p50,
        rtt_ratio=_ratio(rtt_p50, native_rtt_p50),
        rtt_p95_ms=median(_rtts_ms(run, "p95")),
        rtt_p99_ms=max(_rtts_ms(run, "p99"), default=None),
        queue_p50=queue.get("p50"),
        queue_p99=queue.get("p99"),
        queue_marks=run.get("queue_marks"),
        queue_drops=run.get("queue_drops"),
        instructions_per_byte=run.get("instructions_per_byte"),
        retransmits=sum(retransmits) if retransmits else None,
        repairs=sum(repairs) if repairs else None,
        repair=_repair(flows) if enforcing else "",
        guest_limited=_mean_share(flows, "limited_share_settled").get("guest"),
        jain=run["jain"],
        jain_mean=run.get("jain_mean"),
        convergence_s=run.get("convergence_s"),
        loss_sync=(run.get("loss_synchronisation") or {}).get("mean"),
        utilisation=run["utilisation"],
        warnings=tuple(warnings),
    )


def rows(results: list[Record]) -> list[Row]:
    """One row for each run, in the order of the results."""
    found = []
    for result in results:
        native = next((run for run in result["runs"] if run["mode"] == "native"), None)
        found += [_row(result, run, native) for run in result["runs"]]
    return found


def _format(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


#: Heading, unit and text of each column of the comparison.
COLUMNS: list[tuple[str, str, Callable[[Row], str]]] = [
    ("Scenario", "", lambda row: row.scenario),
    ("Mode", "", lambda row: row.mode),
    ("CC", "", lambda row: row.cc),
    ("Goodput", "Mbit/s", lambda row: _format(row.goodput_mbps, ".2f")),
    ("to native", "", lambda row: _format(row.goodput_ratio, ".3f")),
    ("RTT p50", "ms", lambda row: _format(row.rtt_p50_ms, ".2f")),
    ("to native", "", lambda row: _format(row.rtt_ratio, ".3f")),
    ("RTT p95", "ms", lambda row: _format(row.rtt_p95_ms, ".2f")),
    ("RTT p99", "ms", lambda row: _format(row.rtt_p99_ms, ".2f")),
    ("Queue p50", "packets", lambda row: _format(row.queue_p50, ".0f")),
    ("Queue p99", "packets", lambda row: _format(row.queue_p99, ".0f")),
    ("Queue marks", "", lambda row: _format(row.queue_marks, ".0f")),
    ("Queue drops", "", lambda row: _format(row.queue_drops, ".0f")),
    ("Guest retrans.", "", lambda row: _format(row.retransmits, ".0f")),
    ("TCon repairs", "", lambda row: _format(row.repairs, ".0f")),
    ("Guest limited", "% settled", lambda row: _format(_percent(row.guest_limited), ".2f")),
    ("Jain", "", lambda row: _format(row.jain, ".3f")),
    ("Jain per second", "mean", lambda row: _format(row.jain_mean, ".3f")),
    ("Converged", "s", lambda row: _format(row.convergence_s, ".1f")),
    ("Lose at once", "%", lambda row: _format(_percent(row.loss_sync), ".1f")),
    ("Link used", "%", lambda row: _format(100 * row.utilisation, ".1f")),
    ("Instructions", "a byte", lambda row: _format(row.instructions_per_byte, ".2f")),
    ("TCon", "state", lambda row: row.state),
]
TEXT_COLUMNS = ("Scenario", "Mode", "CC", "TCon")

NOTE = (
    "RTT is the path's, from data at the sender's uplink to the first ACK or SACK that covers "
    "it; of several flows the medians of their p50 and p95 and the largest p99. Goodput is "
    "acknowledged payload, link used its share of the bottleneck's rate. Guest: the guest's own "
    "CC, TCon leaves it alone; native: the CC of comparison in the guest's own stack; enforced: "
    "the guest's own CC with TCon enforcing another; linux: with TCon running the kernel's "
    "module of the CC of comparison; stock: as native, without TCon. Limited by: what kept the "
    "flow from sending more, TCon's window or pacer, the guest's own cwnd or send buffer, the "
    "receiver's window, or nothing to send; settled: without the first "
    f"{SETTLED_AFTER_RTTS} base RTTs. Converged: so long after the last flow's start Jain's "
    f"index of each second stays at {FAIR_INDEX} or above for {FAIR_SECONDS} s; lose at once: "
    "the share of flows that retransmit within one round trip, mean of the loss epochs. "
    "Instructions: of the whole machine, both ends and the switch, for a byte acknowledged."
)


def _columns(shown: list[Row]) -> list[tuple[str, str, Callable[[Row], str]]]:
    """The table's columns for these rows: marks and instructions only where there are any."""
    without = set()
    if not any(row.queue_marks for row in shown):
        without.add("Queue marks")
    if all(row.instructions_per_byte is None for row in shown):
        without.add("Instructions")
    return [column for column in COLUMNS if column[0] not in without]


def _aqm(path: Record) -> str:
    """The queue's AQM, behind a comma; empty where it is a FIFO."""
    return f", {Aqm(**path['aqm'])}" if path.get("aqm") else ""


def _about(result: Record) -> str:
    """The path and the conditions of a scenario, in one line."""
    path = result["definition"]["path"]
    mischief = "".join(
        f"{100 * path[key]:g} % {word}, "
        for key, word in (
            ("duplicate_fraction", "duplicates"),
            ("reorder_fraction", "reordering"),
            ("corrupt_fraction", "corruption"),
        )
        if path.get(key)
    )
    if path.get("police_bps"):
        mischief += f"policed to {path['police_bps'] / 1e6:g} Mbit/s, "
    time = "virtual time" if result["virtual_time"] else "real time"
    return (
        f"{path['rate_bps'] / 1e6:g} Mbit/s, {path['rtt_us'] / 1000:g} ms base RTT, "
        f"{100 * path['loss_fraction']:g} % loss, {mischief}"
        f"queue of {path['queue_packets']} packets{_aqm(path)}; "
        f"{result['definition']['seconds']:g} s in {time}, seed {result['seed']}"
    )


#: Left out of the terminal's table, to stay within 100 columns.
PAGE_COLUMNS = (
    "Scenario", "RTT p95", "Queue p99", "Queue drops", "TCon repairs", "Guest limited",
    "Jain per second", "Converged", "Lose at once", "Link used", "TCon",
)  # fmt: skip


def _scenario_table(result: Record) -> Wide:
    shown = rows([result])
    columns = [column for column in _columns(shown) if column[0] not in PAGE_COLUMNS]
    return Wide(
        [f"{heading} {unit}".rstrip() for heading, unit, _ in columns],
        [[text(row) for _, _, text in columns] for row in shown],
        keys=2,  # mode and CC
        title=f"{result['scenario']}: {_about(result)}",
        left=frozenset(n for n, column in enumerate(columns) if column[0] in TEXT_COLUMNS),
    )


#: What CCs are called in a sentence; others by their name in the kernel.
CC_NAMES = {
    "bbr": "BBR", "bbr2": "BBR version 2", "bbr3": "BBR version 3", "ctcp": "Compound TCP",
    "cubic": "CUBIC", "dctcp": "DCTCP", "reno": "Reno", "vegas": "Vegas",
}  # fmt: skip


def _kinds(run: Record, key: str) -> str:
    """The CC of all flows, or of each kind of them: "BBR", "CUBIC and Reno"."""
    names = dict.fromkeys(CC_NAMES.get(flow[key], flow[key]) for flow in run["flows"])
    return " and ".join(names)


def _reached(run: Record) -> str:
    """Goodput and median RTT, such as "94.0 Mbit/s at 22.9 ms"."""
    rtt_ms = median(_rtts_ms(run, "p50"))
    at = "" if rtt_ms is None else f" at {rtt_ms:.1f} ms"
    return f"{run['goodput_bps'] / 1e6:.1f} Mbit/s{at}"


def answer(result: Record) -> str:
    """A scenario's answer, in one sentence; empty where no mode enforces a CC on all flows."""
    by_mode = {run["mode"]: run for run in result["runs"]}
    enforced = next((by_mode[mode] for mode in ENFORCING_MODES if mode in by_mode), None)
    if enforced is None or not all("enforced" in (f["state"] or "") for f in enforced["flows"]):
        return ""
    one = len(enforced["flows"]) == 1
    guests = f"{_kinds(enforced, 'guest_cc')} {'guest' if one else 'guests'}"
    text = f"{'A ' if one else ''}{guests} under enforced {_kinds(enforced, 'cc')}: "
    text += _reached(enforced)
    if "guest" in by_mode:
        text += f"; alone {_reached(by_mode['guest'])}"
    if "native" in by_mode:
        native = by_mode["native"]
        text += f"; native {_kinds(native, 'cc')} {_reached(native)}"
    return f"{text}."


def _completions(result: Record) -> list[str]:
    """The times of each series of transfers of each run, in a sentence."""
    found = []
    for run in result["runs"]:
        for flow in run["flows"]:
            if transfers := flow.get("transfers"):
                took = ", ".join(
                    f"{name} {transfers['seconds'][name]:.4g} s"
                    for name in ("mean", "p50", "p95", "p99")
                )
                found.append(
                    f"{run['mode']} {_cc(flow, run['mode'])}: {len(transfers['each_s'])} transfers "
                    f"of {transfers['bytes'] / 1e3:g} kB: {took}"
                )
    return found


def table(results: list[Record]) -> Group:
    """The comparison, TCon's states and warnings, for rich to print on a terminal."""
    parts: list[RenderableType] = []
    for result in results:
        if text := answer(result):
            parts.append(Text(text, style="bold"))
        parts.append(_scenario_table(result))
        for row in rows([result]):
            if row.state != "-":
                parts.append(Text(f"{row.mode}: TCon's state is {row.state}"))
            if row.repair:
                parts.append(Text(f"{row.mode}: {row.repair}"))
        parts += [Text(text) for text in _completions(result)]
        for row in rows([result]):
            for text in row.warnings:
                parts.append(Text(f"warning: {row.mode}: {text}", style="bold red"))
    return Group(*parts, Text(NOTE, style="dim"))


@dataclass(frozen=True)
class _Line:
    """A curve: key of a flow's samples, divisor to the unit drawn, its look."""

    panel: int
    key: str
    divisor: float
    what: str
    faint_dash: str = ""  # of a thin curve; else the mode's
    modes: tuple[str, ...] = ("guest", "native", "linux", "enforced")


PANELS = (
    "Congestion window and window, kB",
    "Path RTT, ms",
    "Goodput, Mbit/s",
    "Bottleneck queue, packets",
    "Lost segments repeated, in each interval",
    "Limited by the guest, % of the time",
)
LINES = (
    _Line(1, "guest_cwnd_bytes", 1000, "guest's cwnd", modes=("guest", "native")),
    _Line(1, "guest_cwnd_bytes", 1000, "guest's cwnd", "dot", ENFORCING_MODES),
    _Line(1, "tcon_window_bytes", 1000, "window TCon gave", "dashdot", ENFORCING_MODES),
    _Line(1, "tcon_cwnd_bytes", 1000, "TCon's cwnd", modes=ENFORCING_MODES),
    _Line(1, "guest_ssthresh_bytes", 1000, "guest's ssthresh", "dot", ("guest", "native")),
    _Line(1, "tcon_ssthresh_bytes", 1000, "TCon's ssthresh", "longdash", ENFORCING_MODES),
    _Line(2, "rtt_us", 1000, "path RTT"),
    _Line(3, "goodput_bps", 1e6, "goodput"),
    _Line(5, "guest_retransmits", 1, "by the guest", modes=("guest", "native")),
    _Line(5, "guest_retransmits", 1, "by the guest", "dot", ENFORCING_MODES),
    _Line(5, "tcon_repairs", 1, "by TCon", modes=ENFORCING_MODES),
    _Line(6, "tcon_guest_share", 0.01, "share of the time", modes=ENFORCING_MODES),
)
QUEUE_PANEL = 4


def _name(run: Record, flow: Record | None, what: str) -> str:
    """A curve's name in the legend; plotly reads it as a kind of HTML."""
    who = run["mode"] if flow is None else f"{run['mode']} {_cc(flow, run['mode'])}"
    if flow is not None and len(run["flows"]) > 1:
        who += f" #{flow['index']}"
    return escape(f"{who}: {what}")


def _trace(
    x: list[float], y: list[float | None], run: Record, name: str, line: _Line
) -> go.Scatter:
    colour, dash = STYLES.get(run["mode"], OTHER_STYLE)
    return go.Scatter(
        x=x,
        y=y,
        name=name,
        mode="lines",
        line={
            "color": colour,
            "dash": line.faint_dash or dash,
            "width": 1.3 if line.faint_dash else 2,
        },
        zorder=DRAWN_ABOVE.get(run["mode"], 0),
        legendgroup=f"{run['mode']} {line.key} {line.panel}",
        legend=figures.legend(line.panel),
        hovertemplate="%{y:.6~g}",
    )


def _run_traces(run: Record) -> list[tuple[int, go.Scatter]]:
    traces = []
    for line in LINES:
        for flow in run["flows"][:MAX_FLOWS_DRAWN] if run["mode"] in line.modes else []:
            y = [s[line.key] and round(s[line.key] / line.divisor, 4) for s in flow["samples"]]
            if all(value is None for value in y):
                continue
            x = [sample["t_s"] for sample in flow["samples"]]
            name = _name(run, flow, line.what)
            traces.append((line.panel, _trace(x, y, run, name, line)))
    queue = run["queue_samples"]
    if queue:
        x = [sample["t_s"] for sample in queue]
        y = [sample["packets"] for sample in queue]
        line = _Line(QUEUE_PANEL, "packets", 1, "queue")
        traces.append((QUEUE_PANEL, _trace(x, y, run, _name(run, None, "queue"), line)))
    return traces


def _figure(result: Record) -> go.Figure:
    """All runs of a scenario over one time axis; panels without a curve are left out."""
    return figures.stacked((found for run in result["runs"] for found in _run_traces(run)), PANELS)


PAGE_STYLE = """
:root { color-scheme: light dark; --text: #1c1e21; --page: #ffffff; --line: #c9cdd2;
  --soft: #5b6168; --tint: #f2f5f4; }
@media (prefers-color-scheme: dark) { :root { --text: #e4e6e8; --page: #15181b; --line: #3a4046;
  --soft: #a0a7ae; --tint: #1f2625; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page);
  max-width: 1400px; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.6em; } h2 { font-size: 1.25em; margin-top: 2.5em; }
.scroll { overflow-x: auto; overflow-y: hidden; } .wide > * { min-width: 40em; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; white-space: nowrap;
  font-size: .93em; }
th, td { padding: .3em .55em; text-align: right; border-bottom: 1px solid var(--line); }
th { vertical-align: bottom; font-weight: 600; }
th small { display: block; font-weight: 400; color: var(--soft); }
.text { text-align: left; }
td.text:last-child { white-space: normal; min-width: 10em; }
tr.first td { border-top: 2px solid var(--line); }
tr.enforced { background: var(--tint); font-weight: 600; }
td.mode::before { content: ""; display: inline-block; width: 1.6em; margin-right: .5em;
  vertical-align: .25em; border-top: 3px solid transparent; }
td.mode.guest::before { border-top: 3px dotted #d55e00; }
td.mode.native::before { border-top: 3px dashed #3a8fd0; }
td.mode.linux::before { border-top: 3px dashed #e69f00; }
td.mode.enforced::before { border-top: 3px solid #009e73; }
td.mode.stock::before { border-top: 3px dashed #cc79a7; }
th[aria-sort] { cursor: pointer; user-select: none; }
th[aria-sort]:focus-visible { outline: 2px solid #3a8fd0; }
th[aria-sort=ascending]::after { content: " \\25b2"; }
th[aria-sort=descending]::after { content: " \\25bc"; }
.note, .about { color: var(--soft); } .note { max-width: 75em; font-size: .9em; }
.answer { font-size: 1.15em; font-weight: 600; }
.warning { border-left: 4px solid #d55e00; padding-left: .8em; }
"""

#: Plotly knows no CSS variables: give its text the page's colour, always.  A table is
#: sorted by a click on a heading: by numbers where cells begin with one, what is not
#: there last.
PAGE_SCRIPT = """
const dark = matchMedia("(prefers-color-scheme: dark)");
function recolour() {
  const colour = getComputedStyle(document.body).color;
  for (const plot of document.querySelectorAll(".plotly-graph-div"))
    Plotly.relayout(plot, {"font.color": colour});
}
dark.addEventListener("change", recolour);
recolour();
function key(row, column) {
  const text = row.cells[column].textContent.trim();
  const number = /^[-+]?\\d[\\d.]*(e[-+]?\\d+)?/.exec(text);
  return text === "" || text === "-" ? null : number ? Number(number[0]) : text;
}
function compare(a, b) {
  if (a === null || b === null) return 0;
  const numbers = typeof a === "number" && typeof b === "number";
  return numbers ? a - b : String(a).localeCompare(String(b), "en", {numeric: true});
}
function sortBy(heading) {
  const column = heading.cellIndex, body = heading.closest("table").tBodies[0];
  const down = heading.ariaSort === "ascending" ? -1 : 1;
  for (const other of heading.parentNode.cells) other.ariaSort = "none";
  heading.ariaSort = down < 0 ? "descending" : "ascending";
  const rows = Array.from(body.rows, row => [key(row, column), row]);
  rows.sort(([a], [b]) => (a === null) - (b === null) || down * compare(a, b));
  body.append(...rows.map(([, row]) => row));
}
for (const heading of document.querySelectorAll("thead th")) {
  heading.ariaSort = "none";
  heading.tabIndex = 0;
  heading.title = "sort by this";
  heading.addEventListener("click", () => sortBy(heading));
  heading.addEventListener("keydown", event => {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); sortBy(heading); }
  });
}
"""


def _html_table(results: list[Record]) -> str:
    def kind(heading: str) -> str:
        return ' class="text"' if heading in TEXT_COLUMNS else ""

    shown = rows(results)
    columns = _columns(shown)
    head = "".join(
        f"<th{kind(heading)}>{escape(heading)}<small>{escape(unit)}</small></th>"
        for heading, unit, _ in columns
    )
    body, previous = [], None
    for row in shown:
        classes = [row.mode] if row.mode in STYLES else []
        classes += ["first"] if row.scenario != previous else []
        previous = row.scenario
        cells = "".join(
            f'<td class="text mode {escape(row.mode)}">{escape(text(row))}</td>'
            if heading == "Mode"
            else f"<td{kind(heading)}>{escape(text(row))}</td>"
            for heading, _, text in columns
        )
        body.append(f'<tr class="{" ".join(classes)}">{cells}</tr>')
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def _has_samples(result: Record) -> bool:
    return any(flow["samples"] for run in result["runs"] for flow in run["flows"])


def _curves(result: Record) -> dict[str, dict[str, list[float]]]:
    """Completion times: a panel for each series of transfers, a curve for each mode."""
    panels: dict[str, dict[str, list[float]]] = {}
    for run in result["runs"]:
        for flow in run["flows"]:
            if transfers := flow.get("transfers"):
                name = f"flow {flow['index']}: {transfers['bytes'] / 1e3:g} kB"
                panels.setdefault(name, {})[run["mode"]] = transfers["each_s"]
    return panels


def _completion_plot(panels: dict[str, dict[str, list[float]]], number: int) -> str:
    figure = completion_curves(panels, STYLES)
    plot = figure.to_html(
        full_html=False,
        include_plotlyjs=False,
        div_id=f"completion-{number}",
        config={"displaylogo": False, "responsive": True},
    )
    return figures.framed(figure, plot)


def _section(result: Record, number: int) -> str:
    figure = _figure(result)
    plots = figures.framed(
        figure,
        figure.to_html(
            full_html=False,
            include_plotlyjs=False,
            div_id=f"plot-{number}",
            config={"displaylogo": False, "responsive": True},
        ),
    )
    if curves := _curves(result):
        shown = [f"<p>{escape(text)}</p>" for text in _completions(result)]
        plot = _completion_plot(curves, number)
        plots = "".join(shown) + plot + (plots if _has_samples(result) else "")
    warnings = "".join(
        f'<p class="warning">{escape(row.mode)}: {escape(text)}</p>'
        for row in rows([result])
        for text in row.warnings
    )
    repairs = "".join(
        f"<p>{escape(row.mode)}: {escape(row.repair)}.</p>" for row in rows([result]) if row.repair
    )
    most = max(len(run["flows"]) for run in result["runs"])
    left_out = f"<p>Drawn are {MAX_FLOWS_DRAWN} of {most} flows.</p>"
    return (
        f"<h2>{escape(result['scenario'])}</h2>"
        f'<p class="about">{escape(_about(result))}</p>{warnings}{repairs}'
        f"{left_out if most > MAX_FLOWS_DRAWN else ''}{plots}"
    )


def report_html(results: list[Record]) -> str:
    """A page with the comparison and plots; it loads nothing from anywhere.

    ``results`` are results.json objects, see :mod:`..numbers.results`.
    """
    versions = {key: value for result in results for key, value in result["versions"].items()}
    listed = ", ".join(f"{key} {value}" for key, value in sorted(versions.items()))
    answers = "".join(
        f'<p class="answer">{escape(text)}</p>' for result in results if (text := answer(result))
    )
    sections = "".join(_section(result, number) for number, result in enumerate(results))
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>TCon lab report</title><style>{PAGE_STYLE}</style>
<script>{get_plotlyjs()}</script></head><body>
<h1>TCon lab report</h1>
{answers}
{_html_table(results)}
<p class="note">{escape(NOTE)}</p>
<p class="note">{escape(listed)}</p>
{sections}
<script>{PAGE_SCRIPT}</script>
</body></html>
"""
