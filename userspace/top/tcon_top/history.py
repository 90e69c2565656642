# SPDX-License-Identifier: GPL-2.0-only
"""The flows between two answers: rates, and how they came about."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .source import Answer

#: Samples of a flow that are kept, for its sparklines.
SAMPLES = 120

#: A connection: bridge, port, both ends, VLAN.
Key = tuple[Any, ...]


@dataclass(frozen=True)
class Sample:
    """A flow between two answers."""

    rate_bps: float | None  # of what was acknowledged; None: only one answer so far
    cwnd_bytes: int
    window_bytes: int
    rtt_us: int | None
    repairs: int  # in this time
    limits: dict[str, float]  # what limited it, as shares of this time

    @property
    def limit(self) -> str:
        """The limit that held it for most of the time; empty: not known."""
        return max(self.limits, key=lambda name: self.limits[name]) if self.limits else ""


@dataclass
class Flow:
    """A flow, as it is now and as it was."""

    key: Key
    now: dict[str, Any]
    time_s: float
    samples: deque[Sample] = field(default_factory=lambda: deque(maxlen=SAMPLES))

    @property
    def last(self) -> Sample:
        """Its newest sample."""
        return self.samples[-1]


def key_of(raw: dict[str, Any]) -> Key:
    """The values that tell a flow from all others."""
    names = ("bridge", "port", "protocol", "src", "tp_src", "dst", "tp_dst", "dl_vlan")
    return tuple(raw.get(name) for name in names)


def _is_same(before: dict[str, Any], now: dict[str, Any]) -> bool:
    """Is it the same connection?  Otherwise a new one with the same ends has begun."""
    return bool(now["acked_bytes"] >= before["acked_bytes"] and now["age_ms"] >= before["age_ms"])


def _shares(before: dict[str, Any], now: dict[str, Any]) -> dict[str, float]:
    grown = {
        name: us - before.get("limited_us", {}).get(name, 0)
        for name, us in now.get("limited_us", {}).items()
    }
    total = sum(grown.values())
    return {name: us / total for name, us in grown.items()} if total > 0 else {}


def _sample(before: dict[str, Any] | None, now: dict[str, Any], span_s: float) -> Sample:
    rate_bps, repairs, limits = None, 0, {}
    if before and span_s > 0:
        rate_bps = (now["acked_bytes"] - before["acked_bytes"]) * 8 / span_s
        repairs = now.get("repairs", 0) - before.get("repairs", 0)
        limits = _shares(before, now)
    return Sample(
        rate_bps,
        now.get("cwnd_bytes") or 0,
        now.get("rwnd_bytes") or 0,
        now.get("srtt_us"),
        repairs,
        limits,
    )


#: How the table may be sorted: the words in its heading, and the key.
SORTS: dict[str, Callable[[Flow], tuple[Any, ...]]] = {
    "rate": lambda flow: (-(flow.last.rate_bps or 0),),
    "rtt": lambda flow: (-(flow.last.rtt_us or 0),),
    "repairs": lambda flow: (-flow.last.repairs, -flow.now.get("repairs", 0)),
    "limit": lambda flow: (flow.last.limit or "~", -(flow.last.rate_bps or 0)),
}


class History:
    """The flows of the newest answer, with what is known of them from those before."""

    def __init__(self) -> None:
        self.flows: dict[Key, Flow] = {}
        self.more = 0
        self.time_s = 0.0

    def add(self, answer: Answer) -> None:
        """Take an answer in.  Flows that are not in it are forgotten."""
        found: dict[Key, Flow] = {}
        for raw in answer.flows:
            key = key_of(raw)
            flow = self.flows.get(key)
            if flow and not _is_same(flow.now, raw):
                flow = None
            sample = _sample(flow and flow.now, raw, answer.time_s - flow.time_s if flow else 0)
            flow = flow or Flow(key, raw, answer.time_s)
            flow.now, flow.time_s = raw, answer.time_s
            flow.samples.append(sample)
            found[key] = flow
        self.flows, self.more, self.time_s = found, answer.more, answer.time_s

    def sorted(self, by: str) -> list[Flow]:
        """The flows, those first that matter most by one of SORTS."""
        return sorted(self.flows.values(), key=lambda flow: (*SORTS[by](flow), str(flow.key)))
