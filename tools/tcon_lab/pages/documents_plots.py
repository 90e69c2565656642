# SPDX-License-Identifier: GPL-2.0-only
"""The plots of docs/documents.md: published, native and enforced numbers side by side.

They are drawn of ``tools/campaigns/documents.csv`` and of ``tools/published`` alone, as SVG in
which nothing depends on when or where: the same numbers make the same bytes.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter, ScalarFormatter

from ..errors import LabError
from ..experiment import published
from ..machine.products import TOP
from ..numbers.against_models import PAYLOAD_BYTES
from ..numbers.against_published import PACKETS_IN_FLIGHT
from .report import STYLES

Line = dict[str, str]
#: A number as low and high; they differ where a document gives a range.
Span = tuple[float, float]

#: Colour and marker of each side; modes have the ones of reports.
SIDES = {
    "published": ("#808080", "D"),
    "guest": (STYLES["guest"][0], "^"),
    "native": (STYLES["native"][0], "o"),
    "enforced": (STYLES["enforced"][0], "x"),
}
#: Dashes of the rows of :class:`Curves`, in turn.
_DASHES = ("-", "--", ":")
_ROW_INCHES, _WIDTH_INCHES = 0.2, 9.0
_SETTINGS = {"svg.fonttype": "none", "svg.hashsalt": "tcon", "font.size": 8}
#: Nothing of the program, the day or the licence of a picture.
_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
#: The drawn end of a range that is open to one side, as a share of its other end.
_OPEN = 1.1
_NUMBER = r"([\d.e+-]+)"


@dataclass(frozen=True)
class Panel:
    """Rows of one quantity: each a label and its numbers, by the names of SIDES."""

    title: str
    rows: Sequence[tuple[str, dict[str, Span]]]
    log: bool = False


def span(text: str) -> Span:
    """A published number as the CSV has it: "5", "5 +- 1", "4 to 6", "at least 4", "at most 6"."""
    if found := re.fullmatch(rf"{_NUMBER} \+- {_NUMBER}", text):
        return float(found[1]) - float(found[2]), float(found[1]) + float(found[2])
    if found := re.fullmatch(rf"{_NUMBER} to {_NUMBER}", text):
        return float(found[1]), float(found[2])
    if found := re.fullmatch(rf"at least {_NUMBER}", text):
        return float(found[1]), float(found[1]) * _OPEN
    if found := re.fullmatch(rf"at most {_NUMBER}", text):
        return 0.0, float(found[1])
    return float(text), float(text)


@dataclass(frozen=True)
class Curves:
    """Distributions: each a label, its values at growing shares, and the published ones."""

    title: str
    rows: Sequence[tuple[str, Sequence[tuple[float, float]], float]]


def _point(text: str, unit: float = 1) -> Span:
    return float(text) / unit, float(text) / unit


def _sides(lines: Iterable[Line], label: Callable[[Line], str]) -> list:
    """Rows out of lines of the kind "published", one for each label."""
    rows: dict[str, dict[str, Span]] = {}
    for line in lines:
        row = rows.setdefault(label(line), {"published": span(line["published"])})
        row[line["mode"]] = _point(line["mean"])
    return list(rows.items())


def _cells(lines: Iterable[Line], metric: str, unit: float = 1) -> list:
    """Rows out of what was measured, one for each cell."""
    rows: dict[str, dict[str, Span]] = {}
    for line in lines:
        if line["what"] == "cell" and line["metric"] == metric:
            cell = line["cell"].replace("linux:", "")
            rows.setdefault(cell, {})[line["mode"]] = _point(line["mean"], unit)
    return list(rows.items())


def _of(lines: Sequence[Line], campaign: str) -> list[Line]:
    return [line for line in lines if line["experiment"].removesuffix("-short") == campaign]


# --- what is drawn of each document -----------------------------------------------


def virtual_machines(lines: Sequence[Line]) -> list[Panel]:
    """Table 5.1: each CC alone."""
    table = [line for line in _of(lines, "vm-baseline") if line["what"] == "published"]
    return [
        Panel(title, _sides((x for x in table if x["metric"] == metric), lambda x: x["of"]), log)
        for metric, title, log in (
            ("throughput, MB/s", "throughput of a VM, MB/s", True),
            ("rtt, ms", "RTT, ms", True),
            ("jain, share", "Jain's index", False),
        )
    ]


def cc_pairs(lines: Sequence[Line]) -> list[Panel]:
    """How pairs share without loss, and how much one of them reaches."""
    pairs = _of(lines, "cc-pairs")
    shares = [
        (cell.removesuffix(" 8ms 0%"), {"published": (0.5, 0.5), **row})
        for cell, row in _cells(pairs, "first_share")
        if cell.endswith(" 0%")
    ]
    said = [
        line
        for line in pairs + _of(lines, "cc-pairs-ctcp")
        if line["metric"] == "goodput, Mbit/s" and line["cc"] in ("bbr", "ctcp")
    ]
    return [
        Panel("share of the first, no loss (published: about equal)", shares),
        Panel(
            "goodput, Mbit/s",
            _sides(said, lambda x: f"{x['cc']} of {x['cell'].replace('linux:', '')}"),
            log=True,
        ),
    ]


def five_ccs(lines: Sequence[Line]) -> list[Panel]:
    """Vegas's largest window, and the part of it that a loss leaves."""
    mine = [line for line in _of(lines, "five-ccs") if line["what"] == "published"]
    return [
        Panel(title, _sides((x for x in mine if x["metric"] == metric), lambda x: x["cell"]), log)
        for metric, title, log in (
            ("cwnd, packets", "largest window, packets", True),
            (
                "cwnd after a loss, of that before, %",
                "window after a loss, % of that before",
                False,
            ),
        )
    ]


def cubic_thesis(lines: Sequence[Line]) -> list[Panel]:
    """How many flows lose in the same moment, and how full small buffers keep a link."""
    flows = []
    for campaign in ("cubic-ten-flows", "cubic-scenarios", "cubic-aqm"):
        mine = _of(lines, campaign)
        metric = "synchronised flows in a congestion epoch, count"
        said = dict(_sides((x for x in mine if x["metric"] == metric), lambda x: x["cell"]))
        flows += [
            (
                cell,
                {key: value for key, value in said.get(cell, {}).items() if key == "published"}
                | row,
            )
            for cell, row in _cells(mine, "loss_sync", 0.01)
        ]
    buffers = _cells(_of(lines, "cubic-buffers"), "utilisation", 0.01)
    return [
        Panel("flows that lose together, %", flows),
        Panel("utilisation with small buffers, %", buffers),
    ]


def _in_flight(lines: Sequence[Line]) -> list[tuple[str, list[tuple[float, float]], float]]:
    """The distribution of packets in flight of each client, and the published one."""
    shares = {f"inflight_p{n}": n for n in (10, 25, 50, 75, 90, 99)} | {"inflight_most": 100}
    found: dict[str, list[tuple[float, float]]] = {}
    for line in lines:
        if line["metric"] in shares:
            packets = float(line["mean"]) / PAYLOAD_BYTES
            found.setdefault(line["cell"], []).append((packets, shares[line["metric"]]))
    wanted = ", ".join(PACKETS_IN_FLIGHT)
    theirs = {line["cell"]: float(line["published"]) for line in lines if line["metric"] == wanted}
    return [(cell, sorted(points), theirs[cell]) for cell, points in found.items()]


def tcon_paper(lines: Sequence[Line]) -> list[Panel | Curves]:
    """Times of files of 10 MB, what is saved of CUBIC's, and how many packets are buffered."""
    document = published.load(TOP / "tools/published/tcon-paper.toml")
    names = {"guest": "CUBIC", "native": "native BBR", "enforced": "BBR by TCon"}
    measured = dict(_cells(_of(lines, "files"), "completion_mean"))
    times, savings = [], []
    for case in document.completions:
        if case.case not in measured:
            continue
        here = measured[case.case]
        for mode, name in names.items():
            theirs = case.mean_s[mode]
            label = f"{case.case}, {name}"
            times.append((label, {"published": (theirs, theirs), mode: here[mode]}))
            if mode == "guest":
                continue
            saved = [
                100 * (1 - t / g)
                for t, g in ((theirs, case.mean_s["guest"]), (here[mode][0], here["guest"][0]))
            ]
            savings.append((label, {"published": (saved[0],) * 2, mode: (saved[1],) * 2}))
    return [
        Panel("mean time, s", times, log=True),
        Panel("saved of CUBIC's time, %", savings),
        Curves("packets in flight, % of time", _in_flight(_of(lines, "buffered"))),
    ]


#: The plots of each document, by its file in tools/published.
PLOTS: dict[str, Callable[[Sequence[Line]], Sequence[Panel | Curves]]] = {
    "virtual-machines": virtual_machines,
    "cc-pairs": cc_pairs,
    "five-ccs": five_ccs,
    "cubic-thesis": cubic_thesis,
    "tcon-paper": tcon_paper,
}


# --- drawing ----------------------------------------------------------------------


def _draw(axes: Axes, panel: Panel) -> None:
    for side, (colour, marker) in SIDES.items():
        spans = [(*row[side], height) for height, (_, row) in enumerate(panel.rows) if side in row]
        points = [(low, height) for low, high, height in spans if low == high]
        if points:
            look = {"color": colour, "fillstyle": "none", "markersize": 5, "linestyle": "none"}
            axes.plot(*zip(*points, strict=True), marker=marker, **look)
        for low, high, height in spans:
            if low != high:
                axes.plot((low, high), (height, height), color=colour, linewidth=4, alpha=0.5)
    axes.set_yticks(range(len(panel.rows)), _labels(panel))
    axes.set_ylim(len(panel.rows) - 0.4, -0.6)
    axes.set_title(panel.title, fontsize=9)
    axes.grid(alpha=0.3)
    if panel.log:
        axes.set_xscale("log")


def _draw_curves(axes: Axes, curves: Curves) -> None:
    """Each row has a dash of its own, of the colours of both sides."""
    for (label, points, theirs), dash in zip(curves.rows, itertools.cycle(_DASHES)):
        look = {"linestyle": dash, "linewidth": 1.3}
        axes.plot(*zip(*points, strict=True), color=SIDES["enforced"][0], **look)
        axes.axvline(theirs, color=SIDES["published"][0], **look)
        axes.plot([], [], color="black", label=label, **look)
    axes.legend(loc="center left", handlelength=2.5, frameon=False, fontsize=7)
    axes.set_title(curves.title, fontsize=9)
    axes.grid(alpha=0.3)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xticks([5, 10, 20, 50, 100, 200])
    axes.set_xlim(left=1.5)


def _legend(panels: Sequence[Panel | Curves]) -> list[Line2D]:
    rows = [row for panel in panels if isinstance(panel, Panel) for _, row in panel.rows]
    drawn = [side for side in SIDES if any(side in row for row in rows)]
    return [
        Line2D([], [], color=SIDES[side][0], marker=SIDES[side][1], linestyle="none",
               fillstyle="none", label=side)
        for side in drawn
    ]  # fmt: skip


def figure(panels: Sequence[Panel | Curves]) -> Figure:
    """A document's plot: its panels beside each other; rows that are the same are named once."""
    height = 1 + _ROW_INCHES * max(len(panel.rows) for panel in panels)
    made = Figure((_WIDTH_INCHES, height), layout="constrained")
    labels: list[str] = []
    for axes, panel in zip(made.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        if isinstance(panel, Curves):
            _draw_curves(axes, panel)
            continue
        _draw(axes, panel)
        labels = labels or _labels(panel)
        if axes is not made.axes[0] and _labels(panel) == labels:
            axes.set_yticklabels([])
    made.legend(handles=(lines := _legend(panels)), loc="outside lower center", ncols=len(lines),
                frameon=False)  # fmt: skip
    return made


def svg(draw: Callable[[], Figure]) -> str:
    """The figure, as SVG."""
    text = io.StringIO()
    with mpl.rc_context(_SETTINGS):
        draw().savefig(text, format="svg", metadata=_METADATA)
    return text.getvalue()


def _labels(panel: Panel) -> list[str]:
    return [label for label, _ in panel.rows]


def read(file: Path) -> list[Line]:
    """The lines of a CSV that `tcon-lab report` wrote.  Raises LabError where it is none."""
    try:
        with file.open(newline="") as text:
            lines = list(csv.DictReader(text))
    except (OSError, UnicodeDecodeError) as error:
        raise LabError(f"{file}: {getattr(error, 'strerror', None) or error}") from None
    if not lines or "experiment" not in lines[0]:
        raise LabError(f"{file} is no CSV that tcon-lab report wrote")
    return lines


def plots(lines: Sequence[Line]) -> dict[str, str]:
    """The plot of each document, by its name in PLOTS.  Raises LabError where numbers lack."""
    found = {name: panels_of(lines) for name, panels_of in PLOTS.items()}
    for name, panels in found.items():
        for panel in panels:
            if not panel.rows:
                raise LabError(f'there are no numbers of "{panel.title}", for {name}')
    return {name: svg(lambda panels=panels: figure(panels)) for name, panels in found.items()}
