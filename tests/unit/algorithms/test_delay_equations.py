# SPDX-License-Identifier: GPL-2.0-only
"""Tahoe, FAST and TIMELY against the equations of their papers, as test_equations.py."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

from reno_model import INFINITE, MAX_BYTES, MIN_SEGS, NO_RTT, Reno
from replayed import Conditions, Flow, any_event, replay, start


class Tahoe(Reno):
    """Jacobson, 1988: after any loss slow start from the smallest window, at once."""

    def take_ack(self, acked: int, rtt_us: int, limited: bool, now_us: int) -> None:
        if self.state == "recovery" and limited:
            self.una += acked
            if self.reduced and self.una >= self.recover:
                self.reduced = None
            self.steer(acked, rtt_us, False, now_us)
        else:
            super().take_ack(acked, rtt_us, limited, now_us)

    def take_state(self, state: str, now_us: int) -> None:
        super().take_state(state, now_us)
        if state == "recovery":
            self.cwnd = MIN_SEGS * self.mss


class Fast(Reno):
    """Wei et al., 2006: w = min(2 w, (1 - gamma) w + gamma (baseRTT / RTT w + alpha)), decided in
    every other round trip; the RTT is a moving average.
    """

    #: How many decisions raised the window, and lowered it.
    raised = lowered = 0

    def __init__(self, *args: int, params: tuple[int, ...]):
        super().__init__(*args)
        self.params = params
        self.alpha, self.gamma = params[0] * self.mss, Decimal(params[1]) / 1000
        self.rtt: Decimal | None = None
        self.take_tx_start(0)

    def begin(self, frozen: bool) -> None:
        self.round_end, self.frozen = self.nxt, frozen
        self.aim = None if frozen else self.aim

    def take_tx_start(self, now_us: int) -> None:
        self.base = None if self.min_rtt_us == NO_RTT else self.min_rtt_us
        self.aim: int | None = None
        self.begin(frozen=True)

    def take_rtt(self, rtt_us: int) -> None:
        sample = Decimal(min(max(rtt_us, 1), NO_RTT - 1))
        weight = min(Decimal(3) / max(int(self.cwnd) // self.mss, 1), Decimal("0.25"))
        self.base = min(self.base or NO_RTT, int(sample))
        self.rtt = sample if self.rtt is None else (1 - weight) * self.rtt + weight * sample

    def empty(self) -> int:
        return math.floor(self.cwnd * min(Decimal(self.base or 0) / (self.rtt or 1), Decimal(1)))

    def decide(self, limited: bool) -> None:
        wanted = (1 - self.gamma) * self.cwnd + self.gamma * (self.empty() + self.alpha)
        wanted = math.floor(min(wanted, 2 * Decimal(self.cwnd)))
        wanted = min(max(wanted, MIN_SEGS * self.mss), MAX_BYTES)
        if wanted > self.cwnd:
            self.aim = wanted if limited else None
            self.raised += limited
        else:
            self.lowered += wanted < self.cwnd
            self.cwnd = wanted
        self.ssthresh = min(self.ssthresh, self.cwnd)

    def steer(self, acked: int, rtt_us: int, over: bool, now_us: int) -> None:
        if over:
            self.begin(frozen=True)
        if rtt_us >= 0:
            self.take_rtt(rtt_us)
        if self.state != "open" or self.reduced:
            super().steer(acked, rtt_us, over, now_us)
            return
        ends = self.una > self.round_end
        if self.cwnd < self.ssthresh:
            if self.rtt and self.cwnd - self.empty() >= self.alpha:
                self.ssthresh = self.cwnd
            else:
                self.slow_start(acked)
            if ends:
                self.begin(frozen=False)
            return
        if self.aim:
            self.cwnd = min(self.cwnd + acked, max(self.aim, self.cwnd))
        if ends:
            if self.frozen and self.rtt:
                self.decide(acked > 0)
            self.begin(not self.frozen)

    def take_state(self, state: str, now_us: int) -> None:
        super().take_state(state, now_us)
        if state == "open":
            self.begin(frozen=True)


class Timely(Reno):
    """Mittal et al., 2015, algorithm 1, once per minimum RTT; bounds are counted from it."""

    def __init__(self, *args: int, params: tuple[int, ...], srtt_us: int):
        super().__init__(*args)
        self.params, self.srtt_us = params, srtt_us
        self.alpha, self.beta = params[0] / 1000, params[1] / 1000
        self.delta, self.low, self.high = params[2] * 1000, params[3], params[4]
        self.before_us: int | None = None
        self.diff, self.falling, self.event_us, self.saved = 0.0, 0, 10**9, 0.0
        self.kinds: set[str] = set()
        self.set_rate(max(self.cwnd, self.flight) * 8e6 / srtt_us)

    def set_rate(self, bps: float) -> None:
        least = max(self.mss * 8e6 / self.srtt_us, self.mss * 8 // 60)
        self.rate = min(max(bps, least), 1e13)
        quantum = min(self.rate / 8000, 65536)
        quantum = max(quantum, (1 if self.rate < 1.2e6 else 2) * self.mss)
        flight = 2 * min(self.rate * self.srtt_us / 8e6, MAX_BYTES) + quantum
        self.cwnd = int(min(max(flight, MIN_SEGS * self.mss), MAX_BYTES))

    def steer(self, acked: int, rtt_us: int, over: bool, now_us: int) -> None:
        if rtt_us < 0 or now_us < self.event_us + self.min_rtt_us:
            return
        rtt = min(max(rtt_us, 1), NO_RTT - 1)
        if self.before_us is not None:
            self.take_event(rtt, rtt - self.before_us)
        self.before_us, self.event_us = rtt, now_us

    def take_event(self, rtt: int, new_diff: int) -> None:
        shortest = max(self.min_rtt_us, 1)
        self.diff = (1 - self.alpha) * self.diff + self.alpha * new_diff
        gradient = min(self.diff / shortest, 1)
        self.falling = self.falling + 1 if gradient <= 0 else 0
        if rtt < shortest + self.low:
            kind, rate = "low", self.rate + self.delta
        elif rtt > shortest + self.high:
            kind = "high"
            rate = self.rate * (1 - self.beta * (1 - (shortest + self.high) / rtt))
        elif gradient <= 0:
            kind = "hyperactive" if self.falling >= 5 else "falling"
            rate = self.rate + self.delta * (5 if self.falling >= 5 else 1)
        else:
            kind, rate = "rising", self.rate * (1 - self.beta * gradient)
        self.kinds.add(kind)
        self.set_rate(rate)

    def reduce(self, why: str) -> None:
        super().reduce(why)
        self.saved = self.rate
        self.set_rate(self.rate / 2)

    def take_state(self, state: str, now_us: int) -> None:
        fresh = self.reduced != "ece" or self.una >= self.recover
        if fresh and (state == "recovery" or (state == "loss" and self.state == "open")):
            self.reduce("loss")
        else:
            if self.state == "open" and state != "open":
                self.saved = self.rate
            if state == "loss":
                self.set_rate(self.rate / 2)
        self.state = state

    def take_ece(self, now_us: int) -> None:
        if self.state != "open":
            self.before = None
        elif not (self.reduced and self.una < self.recover):
            self.reduce("ece")

    def take_tx_start(self, now_us: int) -> None:
        self.before_us = None

    def undo(self) -> None:
        undone = self.state == "loss" if self.by_ece else self.before
        cwnd = self.cwnd
        super().undo()
        self.cwnd = cwnd
        if undone:
            self.set_rate(max(self.rate, self.saved))


class PacedFlow(Flow):
    """Notes the rate, too."""

    def __init__(self, *args: object):
        self.rates: list[float] = []
        super().__init__(*args)  # type: ignore[arg-type]

    def note(self, line: str) -> None:
        super().note(line)
        self.rates.append(self.model.rate)


def tahoe_flow(rng: random.Random) -> Flow:
    path = Conditions(rng)
    flow = start(Tahoe, path, path.rtt_us)
    for _ in range(30):
        any_event(flow)
    return flow


def fast_flow(rng: random.Random) -> Flow:
    path = Conditions(rng)
    params = (20, 500) if rng.random() < 0.5 else (rng.randint(1, 300), rng.randint(10, 1000))
    flow = start(lambda *args: Fast(*args, params=params), path, path.rtt_us)
    for _ in range(40):
        any_event(flow)
    return flow


def timely_flow(rng: random.Random) -> Flow:
    path = Conditions(rng)
    params: tuple[int, ...] = (875, 800, 10000, 50, 500)
    if rng.random() < 0.7:
        low = rng.choice((0, 50, path.rtt_us // 100, path.rtt_us // 10))
        params = (
            rng.randint(1, 1000), rng.randint(1, 1000), rng.randint(1, 10**6), low,
            low + rng.choice((1, 500, path.rtt_us)),
        )  # fmt: skip
    make = lambda *args: Timely(*args, params=params, srtt_us=path.rtt_us)  # noqa: E731
    flow = start(make, path, path.rtt_us, PacedFlow)
    for _ in range(40):
        any_event(flow)
    return flow


def flows_of(name: str, make: Callable[[random.Random], Flow], count: int) -> list[Flow]:
    return [make(random.Random(f"{name} {seed}")) for seed in range(count)]


def test_tahoe(programs: Path) -> None:
    for flow, n, *got, _ in replay(programs / "replay_tahoe", flows_of("tahoe", tahoe_flow, 600)):
        assert tuple(got) == flow.windows[n], "\n".join(flow.lines[: n + 1])


def test_fast(programs: Path) -> None:
    """The average RTT has 20 bits after the point, so a window is right to a thousandth."""
    flows = flows_of("fast", fast_flow, 500)
    assert min(sum(flow.model.raised for flow in flows), sum(f.model.lowered for f in flows)) > 1000
    for flow, n, *got, _ in replay(programs / "replay_fast", flows):
        for mine, theirs in zip(got, flow.windows[n], strict=True):
            error = max(theirs / 1000, 2 + n) if theirs < INFINITE else 0
            assert abs(mine - theirs) <= error, "\n".join(flow.lines[: n + 1])


def test_timely(programs: Path) -> None:
    """Rates are whole bits/s, which is coarse at 1 kbit/s; few flows are so slow."""
    flows = flows_of("timely", timely_flow, 500)
    kinds = set().union(*(flow.model.kinds for flow in flows))
    assert kinds == {"low", "high", "falling", "hyperactive", "rising"}
    answers = apart = 0
    for flow, n, cwnd, _, rate in replay(programs / "replay_timely", flows):
        answers += 1
        apart += abs(cwnd - flow.windows[n][0]) > max(flow.windows[n][0] / 500, 20)
        apart += abs(rate - flow.rates[n]) > max(flow.rates[n] / 500, 20)
    assert apart < answers / 1000, (apart, answers)
