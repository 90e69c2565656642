# SPDX-License-Identifier: GPL-2.0-only
"""PCC Vivace against the equations of its paper, as test_equations.py; in floating point."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

from replayed import Conditions, replay

T, B, C, EPSILON = 0.9, 900.0, 11.35, 0.05
MOST_BPS = 1e12


@dataclass
class Interval:
    """Its bytes, how they fared, and the RTTs of its halves with the times of sending."""

    begin_us: int
    begin_delivered: int
    length_us: float
    delivered: int = 0
    lost: int = 0
    halves: tuple[list[tuple[int, int]], list[tuple[int, int]]] = field(
        default_factory=lambda: ([], [])
    )

    def take(self, acked: int, lost: int, rtt_us: int, now_us: int) -> None:
        self.delivered += acked
        self.lost += lost
        if rtt_us >= 0:
            sent_us = max(now_us - max(rtt_us, 1) - self.begin_us, 0)
            self.halves[sent_us >= int(self.length_us) // 2].append((sent_us, max(rtt_us, 1)))

    def slope(self) -> float:
        """The RTT's slope; below 0.01 it is noise."""
        if not all(self.halves):
            return 0.0
        means = [[sum(v) / len(v) for v in zip(*half, strict=True)] for half in self.halves]
        run = means[1][0] - means[0][0]
        slope = (means[1][1] - means[0][1]) / run if run > 0 else 0.0
        return max(min(slope, 1.0), -1.0) if abs(slope) >= 0.01 else 0.0

    def utility(self, end_us: int) -> tuple[float, float]:
        """u, and how large its terms are."""
        sent = self.delivered + self.lost
        mbps = min(sent * 8 / max(end_us - self.begin_us, 1), MOST_BPS / 1e6)
        loss = self.lost / max(sent, 1)
        terms = (mbps**T, -B * mbps * self.slope(), -C * mbps * loss)
        return sum(terms), sum(map(abs, terms))


class Vivace:
    """A flow under it, whose rate is always used."""

    def __init__(self, mss: int, flight: int, rtt_us: int, now_us: int):
        self.mss, self.rtt_us = mss, rtt_us
        self.delivered = 0
        self.sure = True
        self.least = max(2 * mss * 8e6 / rtt_us, 2 * (mss * 8 // 60))
        self.starting, self.best = True, None
        self.streak, self.steps, self.moves = 0, 0, 0
        self.choose(max(flight, 10 * mss) * 8e6 / rtt_us)
        self.begin_trial(now_us)

    def choose(self, bps: float) -> None:
        self.rate = min(max(bps, min(self.least, MOST_BPS)), MOST_BPS)

    @property
    def sending(self) -> float:
        """The lower rate goes first where nothing is random."""
        if self.starting or self.ended:
            return self.rate
        return self.rate * (1 - EPSILON if len(self.trial) == 1 else 1 + EPSILON)

    def begin_trial(self, now_us: int) -> None:
        self.trial: list[Interval] = []
        self.ended: tuple[int, int] | None = None
        self.begin_interval(now_us)

    def begin_interval(self, now_us: int) -> None:
        self.trial.append(Interval(now_us, self.delivered, 0))
        length = max(self.rtt_us, 10 * self.mss * 8e6 / self.sending)
        self.trial[-1].length_us = min(length, 2**31 - 1)

    def take_ack(self, acked: int, lost: int, rtt_us: int, prior: int, now_us: int) -> None:
        self.delivered += acked
        if not self.ended or prior < self.ended[1]:
            mine = [i for i in self.trial if prior >= i.begin_delivered]
            if mine:
                mine[-1].take(acked, lost, rtt_us, now_us)
        else:
            self.decide()
            self.begin_trial(now_us)
        left_us = self.trial[-1].length_us - (now_us - self.trial[-1].begin_us)
        self.sure &= bool(self.ended) or abs(left_us) > 1 + self.trial[-1].length_us / 1e4
        if not self.ended and left_us <= 0:
            if len(self.trial) == (1 if self.starting else 2):
                self.ended = (now_us, self.delivered)
            else:
                self.begin_interval(now_us)

    def decide(self) -> None:
        ends = [i.begin_us for i in self.trial[1:]] + [self.ended[0] if self.ended else 0]
        values, sizes = zip(
            *(i.utility(end) for i, end in zip(self.trial, ends, strict=True)), strict=True
        )
        margin = 1e-4 + max(sizes) / 1e4
        if self.starting:
            self.sure &= self.best is None or abs(values[0] - self.best) > margin
            if self.best is None or values[0] > self.best:
                self.best = values[0]
                self.choose(2 * self.rate)
            else:
                self.starting = False
                self.choose(self.rate / 2)
            return
        self.move(values[1] - values[0], margin)

    def move(self, gain: float, margin: float) -> None:
        way = 1 if gain > 0 else -1
        self.sure &= abs(gain) > margin
        if way * self.streak <= 0:
            self.streak = self.steps = 0
        self.streak += way
        n = abs(self.streak)
        gamma = abs(gain) / (2 * EPSILON * self.rate / 1e6)
        change = min(gamma, 1e6) * 1e6 * (n if n <= 3 else 2 * n - 3)
        bounds = [self.rate * (0.05 + 0.1 * k) for k in range(10)]
        self.sure &= all(abs(change - b) > b / 100 for b in bounds)
        self.sure &= change > bounds[0] or margin < abs(gain) / 200
        if change > bounds[self.steps]:
            change = bounds[self.steps]
            self.steps = min(self.steps + 1, 9)
        else:
            self.steps = next(k for k, b in enumerate(bounds) if change <= b)
        self.choose(self.rate + way * change)
        self.moves += self.sure


class VivaceFlow:
    """Random answers of a path: segments arrive, some are lost, and the RTT goes its way."""

    def __init__(self, rng: random.Random):
        self.rng, path = rng, Conditions(rng)
        self.mss, self.now_us = path.mss, 10**9
        self.rtt_us = max(path.rtt_us, 100)
        flight = min(path.flight(), 2**29)
        self.model = Vivace(path.mss, flight, self.rtt_us, self.now_us)
        words = (path.mss, flight, 2**31 - 1, self.rtt_us, self.rtt_us, self.now_us)
        self.lines = [f"flow {' '.join(map(str, words))}"]
        self.rates, self.sure = [self.model.sending], [True]
        self.loss, self.slope, self.extra_us = 0.0, 0.0, 0.0
        self.past = [(self.now_us, 0)]

    def step(self) -> None:
        rng, model = self.rng, self.model
        if rng.random() < 0.05:
            self.loss = rng.choice((0.0, 0.0, 0.02, 0.2))
            self.slope = rng.choice((0.0, 0.005, 0.02, 0.3, -0.3))
        dt_us = max(round(self.rtt_us * rng.uniform(0.02, 0.15)), 1)
        self.now_us += dt_us
        self.extra_us = max(self.extra_us + dt_us * self.slope, 0.0)
        acked = min(max(round(model.sending * dt_us / 8e6), 1), 2**28)
        lost = round(acked * self.loss) if rng.random() < 0.5 else 0
        rtt_us = round(self.rtt_us + self.extra_us) if rng.random() < 0.95 else -1
        sent_us = self.now_us - round(self.rtt_us + self.extra_us)
        prior = max((d for at, d in self.past if at <= sent_us), default=0)
        model.take_ack(acked, lost, rtt_us, prior, self.now_us)
        self.past = [p for p in self.past if p[0] > sent_us - self.rtt_us] + [
            (self.now_us, model.delivered)
        ]
        fields = (acked, rtt_us, 1, self.now_us, prior, acked, dt_us, 0, 0, 0, lost, 0, 0, 0)
        self.lines.append(f"sample {' '.join(map(str, fields))}")
        self.rates.append(model.sending)
        self.sure.append(model.sure)


def test_vivace(programs: Path) -> None:
    """Rates are right to a thousandth and a kbit/s, up to where rounding might decide."""
    flows = [VivaceFlow(random.Random(f"vivace {seed}")) for seed in range(600)]
    for flow in flows:
        for _ in range(400):
            flow.step()
    assert sum(sum(flow.sure) for flow in flows) > 60000
    assert sum(flow.model.moves for flow in flows) > 1500
    for flow, n, *_, rate in replay(programs / "replay_vivace", flows):
        if flow.sure[n]:
            error = abs(rate - flow.rates[n])
            assert error <= flow.rates[n] / 1000 + 1000, "\n".join(
                [*flow.lines[: n + 1], f"{rate} {flow.rates[n]}"]
            )
