# SPDX-License-Identifier: GPL-2.0-only
"""Copa against the rules of its paper, as test_equations.py.

The paper: Arun and Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the
Internet", NSDI 2018, section 2.  Where it leaves a choice, see the head of algorithms/copa.c.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

from reno_model import INFINITE, MAX_BYTES, MIN_SEGS, NO_RTT, Reno
from replayed import Conditions, Flow, any_event, replay, start

#: The velocity, and 1 / delta in thousandths, are at most this.
MOST = 2**20
#: For how long RTTmin is kept, us.
SHORTEST_US = 10_000_000


class Minimum:
    """The smallest value of a window of time, exact and by Nichols' estimator (``filter.h``).

    That keeps three samples: the smallest, the smallest after it, and the smallest after that.
    Where the second has come with the first, a quarter of the window later the newest takes its
    place; where the third has come with the second, half of the window after the first.
    """

    def __init__(self, window_us: int):
        self.window_us = window_us
        self.all: list[tuple[int, int]] = []
        self.three: list[tuple[int, int]] = []

    def take(self, now_us: int, value: int) -> None:
        new = (now_us, value)
        kept = [s for s in self.all if now_us - s[0] <= self.window_us and s[1] < value]
        self.all = [*kept, new]
        if not self.three or now_us - self.three[2][0] > self.window_us:
            self.three = [new] * 3
            return
        three = [s for s in self.three if s[1] < value]
        three += [new] * (3 - len(three))
        age_us = now_us - three[0][0]
        if age_us > self.window_us:
            while now_us - three[0][0] > self.window_us:
                three = [*three[1:], new]
        elif three[1][0] == three[0][0] and age_us > self.window_us // 4:
            three[1:] = [new, new]
        elif three[2][0] == three[1][0] and age_us > self.window_us // 2:
            three[2] = new
        self.three = three

    @property
    def value(self) -> int:
        return self.three[0][1]

    @property
    def exact(self) -> int:
        return self.all[0][1]


class Copa(Reno):
    """Windows in bytes; 1 / delta in thousandths of a segment, and in whole bytes."""

    def __init__(self, *args: int, params: tuple[int, ...], srtt_us: int):
        super().__init__(*args)
        self.params = params
        self.least = self.inverse = 10**6 // params[0]
        self.standing, self.shortest = Minimum(srtt_us // 2), Minimum(SHORTEST_US)
        self.longest = [0]  # RTTs of each round
        self.velocity, self.full, self.carry = 1, 0, 0
        self.up: bool | None = None  # of the last ACK
        self.directions: list[int] = []  # of the rounds since the last turn
        self.lost = False
        self.kinds: Counter[str] = Counter()
        self.begin_round()

    def begin_round(self) -> None:
        self.round_end, self.round_cwnd = self.nxt, int(self.cwnd)
        self.longest = [*self.longest[-3:], 0]

    # --- what is decided --------------------------------------------------------

    def queue_us(self, exact: bool = False) -> int:
        """d_q."""
        found = [m.exact if exact else m.value for m in (self.standing, self.shortest)]
        return max(found[0] - found[1], 0)

    def below_target(self) -> bool:
        """cwnd / RTTstanding <= 1 / (delta d_q)."""
        allowed = self.inverse * self.mss // 1000
        cwnd, standing = int(self.cwnd), self.standing.value
        below = cwnd * self.queue_us() <= allowed * standing
        exact = cwnd * self.queue_us(exact=True) <= allowed * self.standing.exact
        self.kinds["as exact" if below == exact else "other than exact"] += 1
        return below

    def nearly_empty(self) -> bool:
        """d_q is at most a tenth of RTTmax - RTTmin."""
        return self.queue_us() <= max(max(self.longest) - self.shortest.value, 0) // 10

    def direction(self) -> int:
        """1 where cwnd is larger than when the round began, -1 where it is smaller."""
        gained = int(self.cwnd) - self.round_cwnd
        return (gained > 0) - (gained < 0)

    # --- what happens -----------------------------------------------------------

    def move(self, acked: int, up: bool, limited: bool) -> None:
        """Move by v / (delta cwnd) for each segment, at most to double or half in a round trip."""
        if up is not self.up:
            self.kinds["turned" if self.velocity > 1 else "turned, slow"] += 1
            self.velocity, self.directions, self.carry = 1, [], 0
        self.up = up
        if up and not limited:
            return
        cwnd = int(self.cwnd)
        step = self.velocity * (self.inverse * self.mss // 1000)
        self.kinds["bounded" if step > (cwnd if up else cwnd // 2) else "free"] += 1
        step = min(step, cwnd if up else cwnd // 2)
        whole, self.carry = divmod(self.carry + min(acked, cwnd) * step, cwnd)
        self.cwnd = min(cwnd + whole, MAX_BYTES) if up else max(cwnd - whole, MIN_SEGS * self.mss)

    def choose_velocity(self) -> None:
        """It doubles from when the direction has stayed the same for three round trips."""
        now = self.direction()
        same = bool(now) and self.directions[-1:] == [now]
        self.directions = [*self.directions, now] if same else [now]
        fast = len(self.directions) > 3
        self.velocity = min(2 * self.velocity, MOST) if fast else 1
        self.kinds["faster" if fast else "still" if not now else "steady"] += 1

    def choose_price(self) -> None:
        """delta: the default's until the queue was not nearly empty for five round trips."""
        self.full += 1
        if self.full <= 5 or not self.params[1]:
            self.inverse = self.least
            self.kinds["default"] += 1
        else:
            wanted = self.inverse // 2 if self.lost else self.inverse + 1000
            self.inverse = min(max(wanted, self.least), MOST)
            self.kinds["yielded" if self.lost else "claimed"] += 1
        self.lost = False

    def take_ack(self, acked: int, rtt_us: int, limited: bool, now_us: int) -> None:
        self.una += acked
        if self.reduced and self.una >= self.recover:
            self.reduced = None
        if rtt_us >= 0:
            rtt_us = min(max(rtt_us, 1), NO_RTT - 1)
            if not self.shortest.all:  # what the tracker has seen
                self.shortest.take(now_us, min(rtt_us, self.min_rtt_us))
            self.standing.take(now_us, rtt_us)
            self.shortest.take(now_us, rtt_us)
            self.longest[-1] = max(self.longest[-1], rtt_us)
        if not self.standing.all:
            return
        if self.nearly_empty():
            self.full = 0
        slow, below = self.cwnd < self.ssthresh, self.below_target()
        if not slow:
            self.move(acked, below, limited)
        elif not below:
            self.ssthresh = self.cwnd
            self.kinds["left slow start"] += 1
        elif limited:
            self.slow_start(acked)
        if self.una > self.round_end:
            self.choose_price()
            if slow:
                self.velocity, self.directions = 1, []
            else:
                self.choose_velocity()
            self.begin_round()
        if self.ssthresh != INFINITE:
            self.ssthresh = min(self.ssthresh, self.cwnd)

    def rate(self) -> int:
        """2 cwnd / RTTstanding, bits/s; 10 Tbit/s and less, a segment a minute and more."""
        wanted = 2 * (8_000_000 * int(self.cwnd) // self.standing.value)
        return max(min(wanted, 2 * 10**13), self.mss * 8 // 60)

    def reduce(self, why: str) -> None:
        """A loss counts for delta alone."""
        ssthresh = self.ssthresh
        super().reduce(why)
        self.ssthresh = max(ssthresh, MIN_SEGS * self.mss)
        self.lost = True

    def take_state(self, state: str, now_us: int) -> None:
        cwnd = self.cwnd
        super().take_state(state, now_us)
        self.cwnd = cwnd
        if state == "loss":
            self.cwnd, self.ssthresh = MIN_SEGS * self.mss, INFINITE
            self.velocity, self.directions, self.carry = 1, [], 0
            self.begin_round()

    def take_ece(self, now_us: int) -> None:
        self.lost = True

    def undo(self) -> None:
        before = self.before
        super().undo()
        if before:
            self.lost = False
            if self.state == "loss":
                self.ssthresh = before[1]


class CopaFlow(Flow):
    """Notes the rate where something was just decided."""

    def __init__(self, *args: object):
        self.rates: list[int | None] = []
        super().__init__(*args)  # type: ignore[arg-type]

    def note(self, line: str) -> None:
        super().note(line)
        decided = line.startswith("ack") and self.model.standing.all
        self.rates.append(self.model.rate() if decided else None)


def copa_flow(rng: random.Random) -> CopaFlow:
    path = Conditions(rng)
    params = (500, 1)
    if rng.random() < 0.5:
        params = (rng.choice((4, 50, 100, 500, 1000, 4000)), rng.randint(0, 1))
    make = lambda *args: Copa(*args, params=params, srtt_us=path.rtt_us)  # noqa: E731
    flow = start(make, path, path.rtt_us, CopaFlow)
    for _ in range(60):
        any_event(flow)
    return flow


#: Events that must happen in these flows, and how often at least.
WANTED = {
    "left slow start": 500, "faster": 1000, "turned": 300, "bounded": 1000, "free": 10000,
    "still": 300, "claimed": 1000, "yielded": 300, "default": 1000,
}  # fmt: skip


def test_copa(programs: Path) -> None:
    """To the byte; rates are whole bits/s."""
    flows = [copa_flow(random.Random(f"copa {seed}")) for seed in range(600)]
    kinds = sum((flow.model.kinds for flow in flows), Counter())
    assert not {kind: kinds[kind] for kind, least in WANTED.items() if kinds[kind] < least}
    assert kinds["as exact"] > 100 * kinds["other than exact"]
    for flow, n, *windows, rate in replay(programs / "replay_copa", flows):
        assert tuple(windows) == flow.windows[n], "\n".join(flow.lines[: n + 1])
        if (wanted := flow.rates[n]) is not None:
            assert abs(rate - wanted) <= 1, "\n".join(flow.lines[: n + 1])
