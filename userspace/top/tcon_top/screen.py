# SPDX-License-Identifier: GPL-2.0-only
"""The screen: the table of flows, one flow with sparklines, and the lines around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from .history import Flow, History, Key

BARS = " ▁▂▃▄▅▆▇█"
KEYS = "q quit  r/t/p/l sort by rate, RTT, repairs, limit  ↑↓ choose  ⏎ one flow  / MATCH"
KEYS_ONE = "q quit  ⏎ or Esc all flows"
#: Lines of the screen that are not the table's rows.
FRAME_LINES = 4


@dataclass
class View:
    """The user's choices."""

    title: str
    sort: str = "rate"
    match: str = ""
    chosen: Key | None = None
    one: bool = False  # only the chosen flow, in detail
    typing: str | None = None  # a MATCH that is being typed
    complaint: str = ""


def short(number: float | None) -> str:
    """A number in a few characters, with k, M or G for thousands."""
    if number is None:
        return "-"
    units = iter(("", "k", "M", "G"))
    unit = next(units)
    while number >= 999.5 and (larger := next(units, "")):
        number, unit = number / 1000, larger
    return f"{number:.0f}{unit}" if not unit or number >= 99.95 else f"{number:.1f}{unit}"


def rtt_text(us: int | None) -> str:
    """A round trip in milliseconds."""
    if us is None:
        return "-"
    return f"{us / 1000:.1f}" if us < 99_950 else f"{us / 1000:.0f}"


def end_text(address: str, port: int) -> str:
    """An address with its port."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def sparkline(values: Sequence[float | None], width: int) -> str:
    """The last values as bars, the highest of them as a whole one; unknown ones are empty."""
    known = [value for value in values[-width:] if value is not None]
    top = max(known, default=0)
    bars = [
        BARS[0] if value is None or not top else BARS[max(1, round(value / top * 8))]
        for value in values[-width:]
    ]
    return "".join(bars)


def _limit_text(flow: Flow) -> str:
    """The flow's limit; the reason why it is not enforced takes precedence."""
    if flow.now["reason"] != "none":
        return str(flow.now["reason"])
    return flow.last.limit or "-"


@dataclass(frozen=True)
class _Column:
    """A column: its text for a flow.  It is as wide as its texts, but no wider than most."""

    name: str
    text: Callable[[Flow], str]
    most: int
    number: bool = False
    sort: str = ""
    spare: bool = False  # left out where there is little room


_PORT = _Column("Port", lambda flow: str(flow.now["port"]), 15)
_ENDS = (
    _Column("Guest", lambda flow: end_text(flow.now["src"], flow.now["tp_src"]), 47),
    _Column("Peer", lambda flow: end_text(flow.now["dst"], flow.now["tp_dst"]), 47),
)
_REST = (
    _Column("CC", lambda flow: str(flow.now["cc"]), 14),
    _Column("State", lambda flow: str(flow.now["state"]).removesuffix("-enforced"), 8, spare=True),
    _Column("bit/s", lambda flow: short(flow.last.rate_bps), 6, number=True, sort="rate"),
    _Column("RTT ms", lambda flow: rtt_text(flow.last.rtt_us), 7, number=True, sort="rtt"),
    _Column("cwnd", lambda flow: short(flow.last.cwnd_bytes or None), 5, number=True, spare=True),
    _Column(
        "Repairs", lambda flow: str(flow.now.get("repairs", 0)), 9, number=True, sort="repairs"
    ),
    _Column("Limited by", _limit_text, 15, sort="limit"),
)
#: Below this width columns that can be spared are left out.
_NARROW = 100


def _cut(text: str, room: int) -> str:
    """The end of a text, which tells most of an address and its port."""
    return text if len(text) <= room else "…" + text[len(text) - room + 1 :]


def _width(column: _Column, flows: Sequence[Flow]) -> int:
    head = len(column.name) + bool(column.sort)
    return max(head, min(column.most, max((len(column.text(flow)) for flow in flows), default=0)))


def table(history: History, view: View, width: int, lines: int) -> Table:
    """As many flows as there are lines for, the chosen one among them."""
    flows = history.sorted(view.sort)
    at = next((i for i, flow in enumerate(flows) if flow.key == view.chosen), 0)
    first = max(0, at - lines + 1)
    flows = flows[first : first + lines]
    rest = [column for column in _REST if width >= _NARROW or not column.spare]
    widths = {column.name: _width(column, flows) for column in (_PORT, *rest)}
    room = max(8, (width - sum(widths.values()) - len(widths) - len(_ENDS) + 1) // len(_ENDS))
    widths |= {column.name: min(room, _width(column, flows)) for column in _ENDS}
    columns = (_PORT, *_ENDS, *rest)
    made = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="reverse")
    for column in columns:
        mark = "▼" if column.sort == view.sort else ""
        made.add_column(mark + column.name, justify="right" if column.number else "left",
                        width=widths[column.name], no_wrap=True)  # fmt: skip
    for flow in flows:
        cells = (Text(_cut(column.text(flow), widths[column.name])) for column in columns)
        made.add_row(*cells, style="reverse" if flow.key == view.chosen else "")
    return made


#: The lines of a flow: what each shows, from a sample, and how its number is written.
_LINES: tuple[tuple[str, Callable[..., float | None], Callable[..., str]], ...] = (
    ("rate, bit/s", lambda sample: sample.rate_bps, short),
    ("cwnd, bytes", lambda sample: sample.cwnd_bytes, short),
    ("window, bytes", lambda sample: sample.window_bytes, short),
    ("RTT, ms", lambda sample: sample.rtt_us, rtt_text),
    ("repairs", lambda sample: sample.repairs, str),
)


def one_flow(flow: Flow, width: int) -> RenderableType:
    """A flow in detail: what it is, and how it went."""
    now = flow.now
    head = Text(
        f"{now['protocol']} {end_text(now['src'], now['tp_src'])} > "
        f"{end_text(now['dst'], now['tp_dst'])} in_port {now['port']}\n"
        f"{now['state']}, cc {now['cc']}"
    )
    if now["reason"] != "none":
        head.append(f", {now['reason']}: {now['reason_text']}")
    lines = Table(box=None, pad_edge=False, show_header=False)
    lines.add_column(no_wrap=True)
    lines.add_column(no_wrap=True)
    lines.add_column(justify="right", no_wrap=True)
    room = max(10, width - 32)
    for name, value, text in _LINES:
        values = [value(sample) for sample in flow.samples]
        known = [one for one in values if one is not None]
        told = f"{text(values[-1])}, most {text(max(known))}" if known else "-"
        lines.add_row(name, Text(sparkline(values, room)), told)
    shares = ", ".join(f"{name} {share:.0%}" for name, share in flow.last.limits.items() if share)
    tail = Text(f"limited by: {shares or 'not known'}")
    if now.get("cc_info"):
        tail.append(f"\n{now['cc']}: {now['cc_info']}")
    return Group(head, Text(), lines, Text(), tail)


def _top_line(history: History, view: View) -> Text:
    rate_bps = sum(flow.last.rate_bps or 0 for flow in history.flows.values())
    more = f" and {history.more} more" if history.more else ""
    selected = f", {view.match}" if view.match else ""
    return Text(
        f"{view.title}{selected}: {len(history.flows)} flows{more}, {short(rate_bps)}bit/s",
        style="bold",
        no_wrap=True,
        overflow="ellipsis",
    )


def _bottom_line(view: View, one: bool) -> Text:
    if view.typing is not None:
        return Text(f"MATCH: {view.typing}█", no_wrap=True, overflow="ellipsis")
    if view.complaint:
        return Text(view.complaint, style="bold red", no_wrap=True, overflow="ellipsis")
    return Text(KEYS_ONE if one else KEYS, style="dim", no_wrap=True, overflow="ellipsis")


def screen(history: History, view: View, width: int, height: int) -> RenderableType:
    """All that there is to see."""
    flow = history.flows.get(view.chosen) if view.one and view.chosen else None
    body: RenderableType = (
        one_flow(flow, width) if flow else table(history, view, width, max(1, height - FRAME_LINES))
    )
    return Group(_top_line(history, view), body, Text(), _bottom_line(view, bool(flow)))
