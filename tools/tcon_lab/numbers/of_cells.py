# SPDX-License-Identifier: GPL-2.0-only
"""Quantities of each cell in a report's CSV, besides its comparison.

A comparison shows some quantities only where a bar is about them; pages that quote a run
need them all.  Of each cell and mode::

    {"cell", "of": "" or "flow N", the N-th [[flow]], "cc", "mode", "metric",
     "values": one for each seed}

Of the whole cell they are the quantities of :mod:`.against_native`, in its units, and

loss_epochs
    how many there were, see :mod:`.sharing`;
window_most, window_least
    the largest and the smallest sum of all flows' windows, in bytes, after the first third
    of a run, at times at which each flow has one;
inflight_p10, inflight_p25, inflight_p50, inflight_p75, inflight_p90, inflight_p99, inflight_most
    what of all flows is in flight under TCon, which keeps a copy of it, in bytes: percentiles
    of a run's samples;

of the flows of one [[flow]], means over them:

goodput, sent
    in bits/s;
rtt_mean
    in us;
cwnd, resent
    the mean window, and the amount sent again, in bytes;
goodput_alone, goodput_joined
    of flows that others join later, in bits/s: from 2 s after their start until the last
    flow comes, and from 1 s after that until the end.  Of those that come last only the
    latter.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .against_native import QUANTITIES
from .kinds import kinds
from .losses import decider
from .results import spread
from .samples import column, known_at

Record = dict[str, Any]

_OF_FLOWS = {
    "goodput": "goodput_bps",
    "sent": "sent_bps",
    "rtt_mean": "rtt_mean_us",
    "cwnd": "cwnd_bytes",
    "resent": "retransmitted_bytes",
}
#: Seconds left out of a flow's time alone, and of its time beside one that has come.
_START_S = 2.0
_COMING_S = 1.0


_INFLIGHT = {f"inflight_p{n}": n for n in (10, 25, 50, 75, 90, 99)} | {"inflight_most": 100}


def inflight_bytes(flows: list[Record]) -> list[float]:
    """All flows' bytes in flight under TCon, at each time at which one has some, sorted."""
    return sorted(sum(known) for _, known in known_at(flows, "tcon_inflight_bytes") if known)


def moments_of(flows: list[Record], who: str) -> list[list[float]]:
    """The windows of all flows at each time at which each has one, after the first third."""
    at = known_at(flows, f"{who}_cwnd_bytes")
    return [known for t_s, known in at if len(known) == len(flows) and t_s > at[-1][0] / 3]


def _of_run(run: Record, samples: Record | None, mode: str) -> dict[str, float]:
    """The measured quantities of all flows together."""
    found = {name: read(run) for name, read in QUANTITIES.items()}
    found["loss_epochs"] = (run.get("loss_synchronisation") or {}).get("epochs")
    flows = [flow["columns"] for flow in (samples or {"flows": []})["flows"]]
    if sums := [sum(windows) for windows in moments_of(flows, decider(mode))]:
        found |= {"window_most": max(sums), "window_least": min(sums)}
    if decider(mode) == "tcon":
        found |= spread(inflight_bytes(flows), _INFLIGHT) or {}
    return {name: value for name, value in found.items() if value is not None}


def _mean_between(columns: Record, begin_s: float, end_s: float) -> float | None:
    several = zip(column(columns, "t_s"), column(columns, "goodput_bps"), strict=True)
    known = [bps for t_s, bps in several if begin_s < t_s <= end_s and bps is not None]
    return sum(known) / len(known) if known else None


def _around_a_join(flows: list[Record], samples: Record, last_s: float) -> dict[str, float]:
    """The goodput of flows of one kind before and after the last flow of a run has come."""
    columns = {flow["index"]: flow["columns"] for flow in samples["flows"]}
    times = {
        "goodput_alone": (flows[0]["start_s"] + _START_S, last_s),
        "goodput_joined": (last_s + _COMING_S, float("inf")),
    }
    found = {}
    for name, (begin_s, end_s) in times.items():
        known = [_mean_between(columns[flow["index"]], begin_s, end_s) for flow in flows]
        rates = [rate for rate in known if rate is not None]
        if rates:
            found[name] = sum(rates) / len(rates)
    return found


def _of_kinds(run: Record, samples: Record | None) -> Iterator[tuple[Record, dict[str, float]]]:
    """The kinds of a run's flows, and the numbers of each."""
    starts_s = [flow["start_s"] for flow in run["flows"]]
    joined = samples is not None and max(starts_s) - min(starts_s) > _START_S
    for kind in kinds([run]):
        found = {name: kind[of] for name, of in _OF_FLOWS.items() if kind[of] is not None}
        if samples is not None and joined:
            mine = [flow for flow in run["flows"] if flow.get("table", 0) + 1 == kind["kind"]]
            found |= _around_a_join(mine, samples, max(starts_s))
        yield kind, found


def rows(cell: str, mode: str, runs: list[tuple[Record, Record | None]]) -> list[Record]:
    """The rows of one cell and mode, of its runs and their samples, one for each seed."""
    found: dict[tuple[str, str, str], list[float]] = {}
    for run, samples in runs:
        for name, value in _of_run(run, samples, mode).items():
            found.setdefault(("", "", name), []).append(value)
        for kind, numbers in _of_kinds(run, samples):
            for name, value in numbers.items():
                found.setdefault((f"flow {kind['kind']}", kind["cc"], name), []).append(value)
    return [
        {"cell": cell, "of": of, "cc": cc, "mode": mode, "metric": metric, "values": values}
        for (of, cc, metric), values in found.items()
    ]
