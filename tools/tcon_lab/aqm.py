# SPDX-License-Identifier: GPL-2.0-only
"""Active queue management (AQM): which packets the bottleneck's queue marks or drops, and when.

It is a child of the rate limiter, so it acts on the packets that wait for the
link.  Its own limit is the scenario's ``queue``.

``step`` is what DCTCP wants (RFC 8257, section 3.1; the paper's threshold K): a
packet that finds K packets in the queue is marked, one that cannot be marked
passes, and nothing is dropped before the queue is full.  Of Linux 6.1's qdiscs
only RED can do that.  The thresholds of CoDel and fq_codel (``ce_threshold``) are
times that are judged when a packet leaves, and their own law of control drops and
marks as well; CHOKe counts packets, but drops what matches a packet drawn at
random.  RED with min = max marks every packet from there on, with ``ecn nodrop``
it lets pass what is not ECT, and with a weight of 1 its average *is* the queue
that the packet finds: tc cannot say that (its smallest filter has weight 1/2), so
RED is set by netlink (qdisc.py).  RED counts bytes: K stands for K full frames,
as in a switch, and bulk data are full frames.

``red`` has the weight of its paper (0.002, here 2^-9), and its average falls while
the queue is idle.  RED learns of that when it is asked for a packet and has none,
but the rate limiter only looks what comes next: between them stands a netem without
delay, which asks.  It takes the packet that is sent next out of RED's count.

``ared`` is adaptive RED (Floyd, Gummadi, Shenker 2001): each half second Linux's RED lowers the
probability by a tenth while the average is below the middle fifth between min and max, and
raises it by 0.01, or by a quarter if that is less, while it is above.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

#: Parameters of each kind beside the queue's limit, as in a scenario after "aqm_".
PARAMETERS: dict[str, tuple[str, ...]] = {
    "droptail": (),
    "red": ("min", "max", "probability", "ecn"),
    "ared": ("min", "max", "probability", "ecn"),
    "codel": ("target", "interval", "ecn"),
    "fq_codel": ("target", "interval", "ecn"),
    "pie": ("target", "tupdate", "ecn"),
    "step": ("threshold",),
}
KINDS = tuple(PARAMETERS)
#: Kinds that drop by the average queue.
REDS = ("red", "ared")
#: Linux' defaults, which a parameter has that a scenario does not give.
DEFAULT_ECN = ("fq_codel",)
_CODEL_TIMES = {"target": "5ms", "interval": "100ms"}
DEFAULT_TIMES = {
    "codel": _CODEL_TIMES,
    "fq_codel": _CODEL_TIMES,
    "pie": {"target": "15ms", "tupdate": "15ms"},
}
#: tc's, where Linux has none.
DEFAULT_PROBABILITY = "2%"

RED_WEIGHT_LOG2 = 9
#: RED has 31 bits for thresholds in bytes; the weight takes some of them.
MAX_RED_PACKETS = 2500
MAX_STEP_PACKETS = 1_000_000

#: fq_codel's second limit, out of the way of the first: its largest.
_AMPLE_BYTES = 1 << 31
_MARK_COUNTERS = ("marked", "ecn_mark", "ce_mark")


@dataclass(frozen=True)
class Aqm:
    """The bottleneck's AQM; numbers that ``kind`` does not take are 0.

    ``ecn``: ECT packets are marked where others are dropped.  ``step`` marks from
    ``max_packets`` on.
    """

    kind: str
    ecn: bool = False
    min_packets: int = 0
    max_packets: int = 0
    probability: float = 0.0
    target_us: int = 0
    interval_us: int = 0
    tupdate_us: int = 0

    def __str__(self) -> str:
        """In words, with units."""
        if self.kind == "step":
            return f"step at {self.max_packets} packets"
        said = [self.kind]
        if self.kind in REDS:
            said.append(f"{self.min_packets} to {self.max_packets} packets")
            said.append(f"{100 * self.probability:g} %")
        times = {"target": self.target_us, "interval": self.interval_us}
        times["tupdate"] = self.tupdate_us
        said += [f"{name} {time_us / 1000:g} ms" for name, time_us in times.items() if time_us]
        return " ".join([*said, "with ECN" if self.ecn else "without ECN"])

    def red_words(self, frame_bytes: int, rate_bps: int) -> list[str]:
        """Arguments of `qdisc.py red` behind device and handles; none for another kind."""
        if self.kind not in (*REDS, "step"):
            return []
        step = self.kind == "step"
        frames = -1 / math.log2(1 - 2.0**-RED_WEIGHT_LOG2)
        halving_us = 0.0 if step else frames * 8e6 * frame_bytes / rate_bps
        low = self.max_packets if step else self.min_packets
        flags = ["ecn", "nodrop"] if step else ["ecn"] if self.ecn else []
        if self.kind == "ared":
            flags.append("adaptive")
        return [
            str(low * frame_bytes),
            str(self.max_packets * frame_bytes),
            "1" if step else f"{self.probability:.9f}",
            "0" if step else str(RED_WEIGHT_LOG2),
            f"{halving_us:.0f}",
            ",".join(flags) or "none",
        ]

    def tc_words(self, limit_packets: int) -> list[str]:
        """The qdisc in tc's language; none for what tc does not set."""
        if self.kind not in ("codel", "fq_codel", "pie"):
            return []
        words = [self.kind, "limit", str(limit_packets), "target", f"{self.target_us}us"]
        if self.kind == "pie":
            words += ["tupdate", f"{self.tupdate_us}us"]
        else:
            words += ["interval", f"{self.interval_us}us"]
        if self.kind == "fq_codel":
            words += ["memory_limit", str(_AMPLE_BYTES - 1)]
        return [*words, "ecn" if self.ecn else "noecn"]

    @property
    def module(self) -> str:
        """The kernel module that has it."""
        return "sch_red" if self.kind in (*REDS, "step") else f"sch_{self.kind}"


def counters(qdiscs: list[dict[str, Any]], parent: str) -> dict[str, int]:
    """Marks and drops so far of the qdisc below ``parent``, out of `tc -s -j qdisc`, or of
    that below the netem there; of a netem that has nothing below it, its own.

    Raises KeyError where there is none.
    """
    found = next((q for q in qdiscs if q.get("parent") == parent), None)
    if found is None:
        above = f"{parent.partition(':')[0]}:"
        found = next((q for q in qdiscs if (q["kind"], q.get("handle")) == ("netem", above)), None)
        if found is None:
            raise KeyError(parent)
    elif found["kind"] == "netem":
        return counters(qdiscs, f"{found['handle']}1")
    return {"marks": sum(found.get(k, 0) for k in _MARK_COUNTERS), "drops": found["drops"]}
