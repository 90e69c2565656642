# SPDX-License-Identifier: GPL-2.0-only
"""Changes between two sets of results, as a table for the terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from ..numbers.against_earlier import SHARES
from .tables import Wide

Record = dict[str, Any]

#: Unit and divisor of quantities whose number is not shown as it is.
UNITS = {
    "goodput": (" Mbit/s", 1e6),
    "rtt": (" ms", 1e3),
    "rtt_p95": (" ms", 1e3),
    "completion_mean": (" s", 1),
    "completion_p50": (" s", 1),
    "completion_p99": (" s", 1),
    "convergence": (" s", 1),
    "queue": (" kB", 1e3),
    "cwnd": (" kB", 1e3),
}
#: Verdicts that are shown, in this order, and how.
_STYLES = {"worse": "red", "changed": "yellow", "better": "green"}


def _side(quantity: str, found: Record | None) -> str:
    """A mean with the smallest and the largest of the seeds."""
    if found is None:
        return ""
    unit, divisor = UNITS.get(quantity, ("", 1))
    mean, least, most = (f"{found[key] / divisor:.4g}" for key in ("mean", "min", "max"))
    several = f" ({least} .. {most})" if len(found["seeds"]) > 1 else ""
    return f"{mean}{unit}{several}"


def _size(change: Record) -> str:
    size = change["change"]
    if size is None:
        return "from 0"
    return f"{size:+.3f}" if change["quantity"] in SHARES else f"{size:+.1%}"


def rows(made: Record) -> list[tuple[str, ...]]:
    """A row for each change that is one: the worse ones first, all cells before one."""
    shown = [change for change in made["changes"] if change["verdict"] in _STYLES]
    order = list(_STYLES)
    return [
        (
            change["verdict"],
            change["cell"] or "all cells",
            change["mode"],
            change["quantity"],
            _side(change["quantity"], change["before"]),
            _side(change["quantity"], change["after"]),
            _size(change),
            f"{change['p']:.2g}",
        )
        for change in sorted(shown, key=lambda change: order.index(change["verdict"]))
    ]


def sentences(made: Record) -> list[str]:
    """The sentences beside the table."""
    verdicts = [change["verdict"] for change in made["changes"]]
    tested = len(verdicts) - verdicts.count("untested")
    counts = ", ".join(f"{verdicts.count(name)} {name}" for name in (*_STYLES, "same"))
    found = [f"{tested} tests: {counts}"]
    if "untested" in verdicts:
        found.append(f"{verdicts.count('untested')} numbers have too few seeds or cells for a test")
    if made["lost"]:
        found.append("no longer measured, which counts as worse: " + "; ".join(made["lost"]))
    for key, which in (("only_before", made["before"]), ("only_after", made["after"])):
        if made[key]:
            found.append(f"only in {which}: " + "; ".join(made[key]))
    before, after = made["versions"]["before"], made["versions"]["after"]
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            found.append(f"{name}: {before.get(name, '-')} before, {after.get(name, '-')} after")
    return found


def table(made: Record) -> Group:
    """The changes for rich to print on a terminal."""
    parts: list[RenderableType] = []
    shown = rows(made)
    if shown:
        headings = ["", "cell", "mode", "quantity", "before", "after", "change", "p"]
        styles = [_STYLES[row[0]] for row in shown]
        parts.append(
            Wide(headings, [list(row) for row in shown], 4, left=frozenset(range(8)), styles=styles)
        )
    return Group(*parts, *(Text(text) for text in sentences(made)))
