# SPDX-License-Identifier: GPL-2.0-only
"""The CC modules against the equations of their papers and RFCs.

The models below are written from those, in exact fractions (Reno, Vegas, DCTCP) or
50 digits (CUBIC).  They decide what a flow sends; its events then go to the module,
compiled for user space (``replay.c``), whose windows must be the model's: to the
byte, or, where a cube root is rounded, nearly.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import pytest
from bbr3_model import Bbr2, Bbr3, Sample
from cubic_model import DIGITS, AccuCubic, Cubic, LinCubic, LinuxCubic
from reno_model import INFINITE, MAX_BYTES, MIN_SEGS, NO_RTT, NewReno, Reno
from replayed import Conditions, Flow, MarkedFlow, any_event, replay, start


class Vegas(Reno):
    """Brakmo and Peterson, 1995: Expected, Actual and Diff, a decision per round."""

    def __init__(self, *args: int, params: tuple[int, ...] = (2, 4, 1)):
        super().__init__(*args)
        self.params = params
        self.base: int | None = None if self.min_rtt_us == NO_RTT else self.min_rtt_us
        self.decided = False
        self.begin_rounds()

    def begin_rounds(self) -> None:
        self.windows, self.transits = [self.cwnd], [0]
        self.begin_round()

    def begin_round(self) -> None:
        """Keep the last two rounds' windows at their begin, and the bytes in transit."""
        self.windows = [self.windows[-1], self.cwnd]
        self.transits = [self.transits[-1], self.flight]
        self.rtts: list[int] = []
        self.round_end, self.round_acked = self.nxt, 0

    def decide(self, acked: int) -> None:
        """Without ``acked`` cwnd did not bind: W is what was in transit."""
        alpha, beta, gamma = self.params
        window, rtt = self.windows[0] if acked else self.transits[0], min(self.rtts)
        expected, actual = Fraction(window, self.base), Fraction(window, rtt)
        diff = math.floor((expected - actual) * self.base / self.mss)
        slow_start = self.cwnd < self.ssthresh
        most = gamma if slow_start else beta
        if not acked and diff <= most:
            return
        if diff > most:
            if slow_start or not (acked and self.decided):
                self.cwnd = min(self.cwnd, math.floor(actual * self.base) + self.mss)
            else:
                self.cwnd -= self.mss
            self.cwnd = max(self.cwnd, MIN_SEGS * self.mss)
            self.ssthresh = min(self.ssthresh, self.cwnd)
        elif slow_start:
            self.slow_start(acked)
        elif diff < alpha:
            self.cwnd = min(self.cwnd + self.mss, MAX_BYTES)
        self.decided = True

    def steer(self, acked: int, rtt_us: int, over: bool, now_us: int) -> None:
        if over:
            self.begin_rounds()
        if rtt_us >= 0:
            self.rtts.append(max(rtt_us, 1))
            self.base = min(self.base or self.rtts[-1], self.rtts[-1])
        if self.state != "open" or self.reduced:
            super().steer(acked, rtt_us, over, now_us)
            return
        ends = self.una > self.round_end
        if ends and len(self.rtts) >= 3:
            self.decide(acked)
        else:
            rest = self.slow_start(acked)
            self.round_acked += rest
            if ends and rest:
                self.avoid(self.round_acked)
        if ends:
            self.begin_round()

    def take_state(self, state: str, now_us: int) -> None:
        super().take_state(state, now_us)
        if state == "open":
            self.begin_rounds()

    def take_tx_start(self, now_us: int) -> None:
        self.base = self.min_rtt_us
        self.begin_rounds()


class Ctcp(Reno):
    """Compound TCP: Tan et al., 2006; gamma by emulation; windows in whole bytes."""

    def __init__(self, *args: int, params: tuple[int, ...] = (125, 500, 1000, 30, 5, 38)):
        super().__init__(*args)
        self.params = params
        alpha, beta, eta, gamma, low, self.low_window = params
        self.alpha, self.beta, self.eta = Decimal(alpha) / 1000, Fraction(beta, 1000), eta
        self.gammas = (min(low, gamma) * self.mss, gamma * self.mss)
        self.dwnd = self.saved = 0
        self.forget()
        self.base = self.tracked
        self.begin_rounds()

    @property
    def tracked(self) -> int | None:
        """The tracker's minimum of the RTT."""
        return None if self.min_rtt_us == NO_RTT else self.min_rtt_us

    def forget(self) -> None:
        """Nothing is known of the path."""
        self.base: int | None = None
        self.gamma = self.gammas[1]
        self.diff_reno: int | None = None

    def begin_rounds(self) -> None:
        self.windows = [(self.cwnd, self.cwnd - self.dwnd)]
        self.begin_round()

    def begin_round(self) -> None:
        self.windows = [self.windows[-1], (self.cwnd, self.cwnd - self.dwnd)]
        self.rtts: list[int] = []
        self.round_end = self.nxt

    def decide(self) -> None:
        rtt = min(self.rtts)
        queued = [math.floor(w * (1 - Fraction(self.base, rtt))) for w in self.windows[0]]
        diff, self.diff_reno = queued
        reno = self.cwnd - self.dwnd
        if self.cwnd < self.low_window * self.mss:
            self.dwnd = 0
        elif diff < self.gamma:
            win = Decimal(self.cwnd) / self.mss
            self.dwnd += max(math.floor((self.alpha * win ** Decimal("0.75") - 1) * self.mss), 0)
        else:
            self.dwnd = max(self.dwnd - diff * self.eta // 1000, 0)
        self.dwnd = min(self.dwnd, MAX_BYTES - reno)
        self.cwnd = reno + self.dwnd
        self.ssthresh = min(self.ssthresh, self.cwnd)

    def steer(self, acked: int, rtt_us: int, over: bool, now_us: int) -> None:
        if over:
            self.begin_rounds()
        if rtt_us >= 0:
            self.rtts.append(min(max(rtt_us, 1), NO_RTT - 1))
            self.base = min(self.base or self.rtts[-1], self.rtts[-1])
        rest = self.slow_start(acked)
        if rest:
            self.avoid(rest)
        if self.state != "open" or self.reduced or self.una <= self.round_end:
            return
        if rest and len(self.rtts) >= 3:
            self.decide()
        self.begin_round()

    def reduce(self, why: str) -> None:
        if self.diff_reno is not None:
            tuned = (3 * self.gamma + self.diff_reno * 3 // 4) // 4
            self.gamma = min(max(tuned, self.gammas[0]), self.gammas[1])
            self.diff_reno = None
        win, reno = self.cwnd, self.cwnd - self.dwnd
        super().reduce(why)
        left = math.floor(win * (1 - self.beta))
        self.saved = self.dwnd
        self.dwnd = max(left - max(reno // 2, MIN_SEGS * self.mss), 0)
        self.ssthresh = max(left, reno // 2, MIN_SEGS * self.mss)

    def take_state(self, state: str, now_us: int) -> None:
        super().take_state(state, now_us)
        if state == "open":
            self.begin_rounds()
        elif state == "loss":
            self.dwnd = 0
            self.forget()

    def take_tx_start(self, now_us: int) -> None:
        self.base = self.tracked
        self.begin_rounds()

    def undo(self) -> None:
        known = [base for base in (self.base, self.tracked) if base is not None]
        if self.state == "loss":
            self.base = min(known, default=None)
        if self.before and not self.by_ece:
            self.dwnd = self.saved
        super().undo()


class Dctcp(Reno):
    """RFC 8257, 3.3: alpha is the smoothed share of marked bytes, and cuts the window by whole
    segments.
    """

    def __init__(self, *args: int, params: tuple[int, ...] = (4, 1024, 1000)):
        super().__init__(*args)
        self.params = params
        self.weight = params[2]
        self.g, self.alpha = Fraction(1, 2 ** params[0]), Fraction(params[1], 1024)
        self.begin_window()

    def begin_window(self) -> None:
        self.window_end, self.sent, self.marked = self.nxt, 0, 0

    def take_state(self, state: str, now_us: int) -> None:
        """A reduction for a mark does not stand in for a loss's (3.5)."""
        if state != "open" and self.by_ece:
            self.by_ece = False
            self.reduced = self.reduced and "mark"
        super().take_state(state, now_us)

    def take_marks(self, acked: int, marked: int) -> None:
        """Take the marks that the next ACK tells, before the ACK itself."""
        self.sent += acked
        self.marked += marked
        if self.una + acked >= self.window_end:
            share = min(Fraction(self.marked, self.sent), Fraction(1))
            self.alpha = (1 - self.g) * self.alpha + self.g * share
            early = min(max(self.marked - self.sent, 0), self.sent)
            self.begin_window()
            self.marked = early
        fresh = self.reduced is None or self.una + acked >= self.recover
        if marked and self.state != "open":
            self.before = None
        elif marked and fresh:
            self.una += acked  # as the reduction finds it
            self.reduce("ece")
            self.una -= acked
            less = math.floor(self.before[0] // self.mss * self.alpha / 2) * self.mss
            self.ssthresh = max(self.before[0] - less, MIN_SEGS * self.mss)
            self.cwnd = self.ssthresh


def weight_of(rng: random.Random) -> int:
    """A weight in thousandths."""
    return rng.choice((1000, 50, 16000, round(10 ** rng.uniform(1.7, 4.2))))


def reno_flow(rng: random.Random) -> Flow:
    path = Conditions(rng)
    params = (500, 1000) if rng.random() < 0.5 else (rng.randint(500, 950), weight_of(rng))
    flow = start(lambda *args: NewReno(*args, params=params), path, path.rtt_us)
    for _ in range(30):
        any_event(flow)
    return flow


def vegas_flow(rng: random.Random) -> Flow:
    path = Conditions(rng)
    params = (2, 4, 1) if rng.random() < 0.5 else tuple(rng.randint(1, 40) for _ in range(3))
    flow = start(lambda *args: Vegas(*args, params=params), path, path.rtt_us)
    for _ in range(40):
        any_event(flow)
    return flow


def ctcp_flow(rng: random.Random) -> Flow:
    path = Conditions(rng)
    params = (125, 500, 1000, 30, 5, 38)
    if rng.random() < 0.5:
        params = (
            rng.randint(0, 1000), rng.randint(100, 900), rng.randint(0, 3000),
            rng.randint(1, 100), rng.randint(1, 100), rng.randint(0, 100),
        )  # fmt: skip
    flow = start(lambda *args: Ctcp(*args, params=params), path, path.rtt_us)
    for _ in range(40):
        any_event(flow)
    return flow


def cubic_flow(rng: random.Random, kind: type[Cubic]) -> Flow:
    path = Conditions(rng)
    params: tuple[int, ...] = (
        rng.randint(100, 950), rng.randint(10, 10000), rng.randint(0, 1), rng.randint(0, 1), 0, 100,
        weight_of(rng),
    )  # fmt: skip
    if kind in (Cubic, LinuxCubic):
        params += (int(kind is Cubic),)
    flow = start(lambda *args: kind(*args, params=params, srtt_us=path.rtt_us), path, path.rtt_us)
    for _ in range(40):
        chance = rng.random()
        if chance < 0.1:
            flow.lose()
        elif chance < 0.13:
            flow.time_out()
        else:
            flow.round()
    return flow


def dctcp_flow(rng: random.Random) -> Flow:
    path = Conditions(rng)
    params = (4, 1024, 1000)
    if rng.random() < 0.5:
        params = (rng.randint(0, 10), rng.randint(0, 1024), weight_of(rng))
    make = lambda *args: Dctcp(*args, params=params)  # noqa: E731
    flow = start(make, path, path.rtt_us, MarkedFlow)
    for _ in range(60):
        if rng.random() < 0.3:
            flow.marking = rng.choice((0.0, 0.0, 0.02, 0.3, 1.0))
        if rng.random() < 0.1:
            flow.rng.choice((flow.lose, flow.time_out))()
        else:
            flow.round(limited=rng.random() < 0.9)
    return flow


class BbrFlow:
    """Feeds the model of BBRv3, or v2, with the ACKs of a path whose mood changes."""

    def __init__(self, rng: random.Random, model: type[Bbr3]):
        self.rng, self.path = rng, Conditions(rng)
        path = self.path
        self.bdp = min(int(path.rtt_us * path.bytes_per_us), 2**29)
        self.now = 10**9
        first = (path.mss, min(path.flight(), 2**30), INFINITE, path.rtt_us, path.rtt_us)
        self.model = model(*first, self.now)
        self.lines = [f"flow {' '.join(map(str, (*first, self.now)))}"]
        self.loss, self.marks, self.idle = 0.0, 0.0, 0.0
        self.lost = 0
        self.seen: set[str] = set()
        self.windows = [self.answer]
        self.sure = [True]

    @property
    def answer(self) -> tuple[Fraction, Fraction, Fraction]:
        return self.model.cwnd, Fraction(self.model.ssthresh), self.model.pacing

    def note(self, line: str) -> None:
        self.lines.append(line)
        self.windows.append(self.answer)
        self.sure.append(not self.model.unsure)
        self.seen.add(self.model.state)

    def ack(self, acked: int, begins: bool) -> None:
        """One of a round's ACKs."""
        rng, path, model = self.rng, self.path, self.model
        losses = rng.randint(1, 3) * path.mss if rng.random() < self.loss else 0
        self.lost = losses + (0 if begins else self.lost)
        scale = rng.uniform(0.97, 1.0) if rng.random() < 0.9 else rng.uniform(0.3, 1.3)
        interval = max(round(path.rtt_us * rng.uniform(1, 1.2)), 1)
        delivered = min(max(int(interval * path.bytes_per_us * scale), 1), 2**34)
        flight = int(self.bdp * rng.uniform(0.4, 2.2)) + path.mss
        sample = Sample(
            acked, path.sample_us(min(flight, self.bdp)), rng.random() < 0.6, self.now,
            model.delivered if begins else max(model.delivered - flight, 0), delivered, interval,
            min(flight, 2**30), min(int(flight * rng.uniform(0.8, 1.2)), 2**30), self.lost, losses,
            0, False, rng.random() < self.idle,
        )  # fmt: skip
        if rng.random() < self.marks:
            sample.ece, sample.ce = True, rng.randint(0, acked)
        if rng.random() < 0.02:
            sample.delivered = sample.interval = -1
        model.take(sample)
        fields = [int(getattr(sample, name)) for name in (
            "acked", "rtt", "limited", "now", "prior_delivered", "delivered", "interval",
            "inflight", "tx_in_flight", "lost", "losses", "ce", "ece", "app_limited",
        )]  # fmt: skip
        self.note(f"sample {' '.join(map(str, fields))}")

    def round(self) -> None:
        rng = self.rng
        if rng.random() < 0.1:
            self.loss, self.marks, self.idle = (
                rng.choice((0, 0, 0, 0.1, 0.8)), rng.choice((0, 0, 0.3, 1)),
                rng.choice((0, 0, 0.2, 1)),
            )  # fmt: skip
        acks = rng.choice((1, 2, 4, 8))
        for n in range(acks):
            acked = min(max(int(self.bdp * rng.uniform(0.5, 1.2)) // acks, 1), 2**29)
            self.now += max(self.path.rtt_us // acks, 1)
            self.ack(acked, begins=n == 0)

    def other(self) -> None:
        """Something that is no ACK."""
        kind = self.rng.choice(("recovery", "loss", "undo", "tx_start", "pause"))
        if kind in ("recovery", "loss"):
            self.model.take_state(kind, self.now)
            self.note(f"state {kind} {self.now}")
        elif kind == "undo" and self.model.ca_state != "open":
            self.model.take_undo()
            self.note("undo")
        elif kind == "tx_start":
            if self.rng.random() < 0.7:
                self.model.take_limited()
                self.note("limited")
            self.now += self.rng.randint(0, 8 * 10**6)
            self.model.take_tx_start(self.now)
            self.note(f"event tx_start {self.now}")
        elif kind == "pause":
            self.now += self.rng.randint(0, 3 * 10**6)
        if self.model.ca_state != "open" and self.rng.random() < 0.7:
            self.model.take_state("open", self.now)
            self.note(f"state open {self.now}")

    def play(self) -> None:
        for _ in range(60):
            self.round()
            if self.rng.random() < 0.15:
                self.other()


@pytest.mark.parametrize(
    ("name", "make", "count"), [("reno", reno_flow, 2000), ("vegas", vegas_flow, 3000)]
)
def test_to_the_byte(
    programs: Path, name: str, make: Callable[[random.Random], Flow], count: int
) -> None:
    flows = [make(random.Random(f"{name} {seed}")) for seed in range(count)]
    for flow, n, *got, _ in replay(programs / f"replay_{name}", flows):
        assert tuple(got) == flow.windows[n], "\n".join(flow.lines[: n + 1])


def test_ctcp(programs: Path) -> None:
    """win^(3/4) is right to a 32000th of a segment and of itself, each round; a rounded window
    may gain its segment an ACK later.
    """
    with localcontext() as context:
        context.prec = DIGITS
        flows = [ctcp_flow(random.Random(f"ctcp {seed}")) for seed in range(2000)]
    assert sum(flow.model.dwnd > 0 for flow in flows) > 200
    answers = late = 0
    for flow, n, *got, _ in replay(programs / "replay_ctcp", flows):
        for mine, theirs in zip(got, flow.windows[n], strict=True):
            error = 1 + n + theirs // 10000 if theirs < INFINITE else 0
            answers += 1
            late += abs(mine - theirs) > error
            assert abs(mine - theirs) <= error + flow.model.mss, "\n".join(flow.lines[: n + 1])
    assert late < answers / 1000, (late, answers)


@pytest.mark.parametrize(("name", "model", "count"), [("bbr3", Bbr3, 400), ("bbr2", Bbr2, 200)])
def test_bbr(programs: Path, name: str, model: type[Bbr3], count: int) -> None:
    """Right to a thousandth, or to a byte for each ACK, and to some bits/s.

    Up to where rounding might decide: then a flow may go another way.
    """
    flows = [BbrFlow(random.Random(f"{name} {seed}"), model) for seed in range(count)]
    seen: set[str] = set()
    for flow in flows:
        flow.play()
        seen |= flow.seen
    assert len(seen) == 7, seen
    assert sum(sum(flow.sure) for flow in flows) > 130 * count
    for flow, n, *got in replay(programs / f"replay_{name}", flows):
        if not flow.sure[n]:
            continue
        slack = (3 + n, 3, 5)
        for mine, theirs, least in zip(got, flow.windows[n], slack, strict=True):
            assert abs(mine - theirs) <= max(theirs / 1000, least), "\n".join(
                [*flow.lines[: n + 1], f"{got} {[float(value) for value in flow.windows[n]]}"]
            )


def cubic_flows(kind: type[Cubic], count: int) -> list[Flow]:
    with localcontext() as context:
        context.prec = DIGITS
        return [cubic_flow(random.Random(seed), kind) for seed in range(count)]


def test_cubic(programs: Path) -> None:
    """K is right to a thousandth, so its cube, which is the way to W_max, to three; or to an
    eighth of a segment.  W_max is no larger than the largest window.
    """
    flows = cubic_flows(Cubic, 500)
    for flow, n, *got, _ in replay(programs / "replay_cubic", flows):
        largest = max(window for window, _ in flow.windows[: n + 1])
        error = max(largest * 3 / 1000, flow.model.mss // 8 + n)
        for mine, theirs in zip(got, flow.windows[n], strict=True):
            assert abs(mine - theirs) <= error, "\n".join(flow.lines[: n + 1])


@pytest.mark.parametrize(
    ("name", "kind", "count"),
    [("cubic", LinuxCubic, 500), ("lincubic", LinCubic, 250), ("accucubic", AccuCubic, 250)],
)
def test_cubic_as_linux(programs: Path, name: str, kind: type[Cubic], count: int) -> None:
    """Where W_cubic is a byte from a whole segment, the two may choose paces that differ; few
    answers do.
    """
    flows = cubic_flows(kind, count)
    answers = grown = apart = 0
    for flow, n, *got, _ in replay(programs / f"replay_{name}", flows):
        cwnd, ssthresh = flow.windows[n]
        grown += n > 0 and cwnd >= ssthresh and cwnd > flow.windows[n - 1][0]
        for mine, theirs in zip(got, flow.windows[n], strict=True):
            error = abs(mine - theirs)
            answers += 1
            apart += error > max(theirs * 3 / 1000, flow.model.mss)
            assert error <= theirs / 6 + flow.model.mss, "\n".join(flow.lines[: n + 1])
    assert apart < answers / 100, (apart, answers)
    assert grown > 20 * count, (grown, answers)
    if kind is LinCubic:
        assert sum(flow.model.chosen for flow in flows) > count


def test_dctcp(programs: Path) -> None:
    """Its alpha has 20 bits; a rounded window may gain its segment an ACK later, and be halved
    just then.
    """
    flows = [dctcp_flow(random.Random(f"dctcp {seed}")) for seed in range(1500)]
    cuts = answers = late = 0
    for flow, n, *got, _ in replay(programs / "replay_dctcp", flows):
        for mine, theirs in zip(got, flow.windows[n], strict=True):
            error = abs(mine - theirs) - theirs / 1000
            answers += 1
            late += error > 1
            assert error <= flow.model.mss * 3 / 2, "\n".join(flow.lines[: n + 1])
        cuts += n > 0 and flow.windows[n][1] < flow.windows[n - 1][1]
    assert cuts > 10000
    assert late < answers / 100, (late, answers)


def test_every_branch_is_taken() -> None:
    """Random flows would prove little if they never left slow start."""
    flows = [vegas_flow(random.Random(f"vegas {seed}")) for seed in range(300)]
    steps = {"faster": 0, "slower": 0, "still": 0, "slow start": 0}
    for flow in flows:
        mss = flow.model.mss
        for (cwnd, ssthresh), (after, _), line in zip(
            flow.windows, flow.windows[1:], flow.lines[1:], strict=False
        ):
            if line.startswith("ack"):
                kind = {mss: "faster", -mss: "slower", 0: "still"}.get(after - cwnd)
                steps["slow start" if cwnd < ssthresh else kind or "still"] += 1
    assert min(steps.values()) > 300, steps
