# SPDX-License-Identifier: GPL-2.0-only
"""How flows share a bottleneck: fairness over time, convergence, losses at once.

All of it is made from the samples of results.json, one for each of the probe's
intervals and flow, so a time is known to an interval (0.1 s).

Jain per second
    Jain's index of what the receivers acknowledged in each whole second, of the flows
    that run through all of it, give or take an interval; None where these are fewer
    than two.

Convergence
    The time from the last flow's start until the end of the first of five seconds in
    which the index stays at or above 0.95: how long it takes a flow that comes to get
    its share, at least a second.  (Chiu and Jain call it responsiveness; 0.95 is what
    two flows have that share 61 to 39.)  None where that never is, or not for five
    seconds before the run ends.

Loss epoch
    A flow's loss event begins with an interval in which it retransmitted, after none
    within the last full RTT, the RTT with a full queue.  An epoch begins with
    the first such event and lasts one full RTT; further events are of the next one.
    Its flows are those whose events begin within it: losses are told by their
    retransmissions, which come up to a full RTT after the loss.

Loss period
    The mean time from one of a flow's loss events to its next, once it has settled: its
    slow start has losses of its own.  Here the probe counts the events, which may be closer
    than its intervals: one begins with a repeat after none within the last full RTT.
    Losses by chance and by full queues count alike, whoever repeats them, the guest or
    TCon: bytes count that pass the sender's uplink a second time.  None of fewer than
    two events.

Loss synchronisation
    Of an epoch, the share of the flows running then that are among its flows: the
    global synchronisation rate of Hassayoun and Ros, whose count of flows the CUBIC
    thesis gives for each congestion epoch.  1/n is what single losses have.
"""

from __future__ import annotations

import math
from typing import Any

Record = dict[str, Any]

#: Flows share fairly from this index on, and for this many seconds.
FAIR_INDEX = 0.95
FAIR_SECONDS = 5
#: The part of a second that a flow may lack when it runs through it.
_SLACK_S = 0.1
#: Times are sums of intervals, which may lose this much.
_TOLERANCE_S = 1e-6


def jain(values: list[float]) -> float | None:
    """Jain's fairness index: 1 when all are equal, 1/n when one has all."""
    squares = sum(value * value for value in values)
    return round(sum(values) ** 2 / (len(values) * squares), 4) if squares else None


def _times(flow: Record) -> tuple[float, float]:
    """When a flow began and ended, in seconds of the run."""
    return flow["start_s"], flow["start_s"] + flow["seconds"]


def _running(flows: list[Record], begin_s: float, end_s: float) -> list[Record]:
    """The flows that run from the one time to the other."""
    return [
        flow
        for flow in flows
        if _times(flow)[0] <= begin_s + _SLACK_S and _times(flow)[1] >= end_s - _SLACK_S
    ]


def _bits(flow: Record, second: int) -> float:
    """The acknowledged bits of a second, as the mean rate of its samples."""
    rates = [s["goodput_bps"] for s in flow["samples"] if second < s["t_s"] <= second + 1]
    return sum(rates) / len(rates) if rates else 0.0


def jain_per_second(flows: list[Record], seconds: float) -> list[float | None]:
    """The index of each whole second of a run of ``seconds``."""
    found = []
    for second in range(int(seconds)):
        running = _running(flows, second, second + 1)
        enough = len(running) > 1
        found.append(jain([_bits(flow, second) for flow in running]) if enough else None)
    return found


def convergence_s(flows: list[Record], per_second: list[float | None]) -> float | None:
    """How long after the last flow's start all begin to share fairly, in s."""
    start_s = max((flow["start_s"] for flow in flows), default=0.0)
    fair = [index is not None and index >= FAIR_INDEX for index in per_second]
    for second in range(math.ceil(start_s - _SLACK_S), len(fair) - FAIR_SECONDS + 1):
        if all(fair[second : second + FAIR_SECONDS]):
            return round(second + 1 - start_s, 3)
    return None


def loss_events_s(samples: list[Record], full_rtt_s: float) -> list[float]:
    """When a flow's loss events begin, in seconds of the run."""
    found, last_s = [], -math.inf
    for sample in samples:
        if sample["retransmitted_bytes"]:
            if sample["t_s"] - last_s > full_rtt_s + _TOLERANCE_S:
                found.append(sample["t_s"])
            last_s = sample["t_s"]
    return found


def loss_period_s(samples: list[Record], settled_s: float) -> float | None:
    """The mean time between a flow's loss events after ``settled_s`` of the run, in s."""
    lossy = [s for s in samples if s["loss_events"] and s["t_s"] > settled_s]
    events = sum(s["loss_events"] for s in lossy)
    if events < 2 or len(lossy) < 2:
        return None
    return round((lossy[-1]["t_s"] - lossy[0]["t_s"]) / (events - 1), 4)


def loss_epochs(flows: list[Record], full_rtt_s: float) -> list[Record]:
    """The loss epochs: {"t_s", "flows": that lost, "running"}, in order."""
    events = sorted(
        (t_s, index)
        for index, flow in enumerate(flows)
        for t_s in loss_events_s(flow["samples"], full_rtt_s)
    )
    epochs: list[tuple[float, set[int]]] = []
    for t_s, index in events:
        if not epochs or t_s - epochs[-1][0] > full_rtt_s + _TOLERANCE_S:
            epochs.append((t_s, set()))
        epochs[-1][1].add(index)
    return [
        {
            "t_s": t_s,
            "flows": len(lost),
            "running": max(len(lost), len(_running(flows, t_s, t_s))),
        }
        for t_s, lost in epochs
    ]


def synchronisation(epochs: list[Record], flows: int) -> Record | None:
    """The share of flows that lose in an epoch; None of fewer than two flows."""
    shares = sorted(epoch["flows"] / epoch["running"] for epoch in epochs)
    if flows < 2 or not shares:
        return None
    middle = shares[math.ceil(len(shares) / 2) - 1]
    mean = sum(shares) / len(shares)
    return {"mean": round(mean, 4), "p50": round(middle, 4), "epochs": len(shares)}
