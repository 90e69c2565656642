# SPDX-License-Identifier: GPL-2.0-only
"""CUBIC: of RFC 9438, of Linux, and of a thesis; to 50 digits."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from reno_model import MAX_BYTES, MIN_SEGS, NO_RTT, Reno

DIGITS = 50


class Cubic(Reno):
    """RFC 9438 without HyStart; figures in bytes, seconds and Decimals."""

    undoes = False
    #: Where no W_max is known: at least a 20th per RTT, as Linux.
    BLIND = Decimal("1.05")

    def __init__(self, *args: int, params: tuple[int, ...], srtt_us: int):
        super().__init__(*args)
        self.params = params
        self.beta, self.weight = Decimal(params[0]) / 1000, params[6]
        self.hit = self.weight
        self.fast, self.friendly = params[2:4]
        self.srtt = Decimal(srtt_us) / 10**6
        self.w_max = self.prior = self.w_est = self.k = Decimal(0)
        self.epoch_us: int | None = None

    @property
    def c(self) -> Decimal:
        """The last reduction hit k of N flows: N^3 / k^2 as steep."""
        milli = self.params[1] * self.weight**3 // (self.hit**2 * 1000)
        return Decimal(max(milli, 1)) / 1000

    def kept(self) -> Decimal:
        """The share that a reduction leaves, as a Decimal."""
        left = self.left(Fraction(self.beta))
        return Decimal(left.numerator) / Decimal(left.denominator)

    def w_cubic(self, t: Decimal) -> Decimal:
        """No window is larger than TCP can offer."""
        return min(self.c * self.mss * (t - self.k) ** 3 + self.origin, Decimal(MAX_BYTES))

    def start_epoch(self, now_us: int) -> None:
        self.epoch_us = now_us
        self.origin = max(self.w_max, self.cwnd)
        gap = (self.origin - self.cwnd) / self.mss / self.c
        self.k = gap ** (Decimal(1) / 3) if gap else Decimal(0)
        self.w_est = self.cwnd
        self.prior = self.prior or self.cwnd

    def avoid(self, acked: int, now_us: int = 0) -> None:
        if self.epoch_us is None:
            self.start_epoch(now_us)
        t = Decimal(now_us - self.epoch_us) / 10**6
        alpha = 3 * (1 - self.beta) / (1 + self.beta) if self.w_est < self.prior else 1
        self.w_est += alpha * self.weighted(acked) * self.mss / self.cwnd
        target = self.w_cubic(t + self.srtt)
        if not self.w_max:
            target = max(target, self.cwnd * self.BLIND)
        target = min(max(target, self.cwnd), self.cwnd * Decimal("1.5"))
        self.cwnd += (target - self.cwnd) * acked / self.cwnd
        if self.friendly and self.w_cubic(t) < self.w_est:
            self.cwnd = max(self.cwnd, self.w_est)
        self.cwnd = min(self.cwnd, Decimal(MAX_BYTES))

    def steer(self, acked: int, rtt_us: int, over: bool, now_us: int) -> None:
        self.cwnd = Decimal(self.cwnd)
        if acked and (rest := self.slow_start(acked)):
            self.avoid(rest, now_us)

    def reduce(self, why: str) -> None:
        super().reduce(why)
        self.cwnd = Decimal(self.cwnd)
        shrinks = self.fast and self.cwnd + self.mss <= self.w_max
        self.w_max = self.cwnd * (1 + self.kept()) / 2 if shrinks else self.cwnd
        self.prior, self.epoch_us = self.cwnd, None
        self.ssthresh = max(self.cwnd * self.kept(), Decimal(MIN_SEGS * self.mss))

    def take_state(self, state: str, now_us: int) -> None:
        super().take_state(state, now_us)
        if state == "loss":
            self.w_max, self.epoch_us, self.hit = Decimal(0), None, self.weight


class LinuxCubic(Cubic):
    """RFC 8312 as Linux 6.1 has it, with jiffies of 4 ms: growth by whole segments, at a
    pace of some segments acknowledged for one, chosen when the window has grown or in the
    eighth jiffy after the last choice; in the same jiffy by W_est alone.
    """

    def __init__(self, *args: int, params: tuple[int, ...], srtt_us: int):
        super().__init__(*args, params=params, srtt_us=srtt_us)
        self.base_us: int | None = None if self.min_rtt_us == NO_RTT else self.min_rtt_us

    def w_cubic(self, t: Decimal) -> Decimal:
        moved = int(self.c * (t - self.k) ** 3)  # whole segments, towards zero
        return min(self.origin + moved * self.mss, Decimal(MAX_BYTES))

    def start_epoch(self, now_us: int) -> None:
        super().start_epoch(now_us)
        self.looked: tuple[int, int] | None = None
        self.counted = self.acked = 0

    def take_state(self, state: str, now_us: int) -> None:
        super().take_state(state, now_us)
        if state == "loss":
            self.base_us = None

    def whole(self, window: Decimal) -> Decimal:
        return window // self.mss * self.mss

    def reduce(self, why: str) -> None:
        cwnd, before = self.whole(Decimal(self.cwnd)), self.w_max
        super().reduce(why)
        shrinks = self.fast and cwnd + self.mss <= before
        self.w_max = self.whole(cwnd * (1 + self.kept()) / 2) if shrinks else cwnd
        self.prior = cwnd
        self.ssthresh = max(self.whole(cwnd * self.kept()), Decimal(MIN_SEGS * self.mss))

    def pace_to(self, aim: Decimal) -> int:
        segments = int(self.cwnd) // self.mss
        gap = int(max(aim, Decimal(self.cwnd)) - self.cwnd) // self.mss
        return segments // gap if gap else 100 * segments

    def grow_w_est(self, segments: int) -> None:
        eighths = int(8 * (1 + self.beta) / 3 / (1 - self.beta))
        step = max(segments * eighths // 8, 1) * self.mss
        while self.acked > step:
            self.acked -= step
            self.w_est += self.mss

    def curve_pace(self, now_us: int) -> int:
        t = Decimal(now_us - (self.epoch_us or 0) + (self.base_us or 0)) / 10**6
        pace = self.pace_to(self.w_cubic(t))
        return pace if self.w_max else min(pace, 20)

    def choose_pace(self, now_us: int) -> None:
        segments, jiffy = int(self.cwnd) // self.mss, now_us // 4000
        if self.looked and self.looked[0] == segments and jiffy - self.looked[1] <= 7:
            return
        if not self.looked or jiffy != self.looked[1]:
            self.pace = self.curve_pace(now_us)
            self.looked = (segments, jiffy)
        self.grow_w_est(segments)
        if self.friendly:
            self.pace = min(self.pace, self.pace_to(self.w_est))
        self.pace = max(self.pace, 2)

    def avoid(self, acked: int, now_us: int = 0) -> None:
        if self.epoch_us is None:
            self.start_epoch(now_us)
        self.acked += self.weighted(acked)
        self.choose_pace(now_us)
        late = self.counted >= self.pace * self.mss  # acknowledged at a slower pace: one segment
        more, self.counted = divmod((0 if late else self.counted) + acked, self.pace * self.mss)
        self.cwnd = min(self.cwnd + (late + more) * self.mss, Decimal(MAX_BYTES))

    def steer(self, acked: int, rtt_us: int, over: bool, now_us: int) -> None:
        old = self.epoch_us is not None and now_us - self.epoch_us < 10**6
        if rtt_us >= 0 and not old:
            self.base_us = min(self.base_us or NO_RTT - 1, max(rtt_us, 1))
        super().steer(acked, rtt_us, over, now_us)


class LinCubic(LinuxCubic):
    """Belhareth, 5.6: a segment per round trip from W_max - 2 to W_max + 2; after that W_cubic
    from the time on at which it has that window.
    """

    linear = False
    #: How many paces the plateau chose.
    chosen = 0

    def start_epoch(self, now_us: int) -> None:
        super().start_epoch(now_us)
        self.linear = False

    def curve_pace(self, now_us: int) -> int:
        if self.w_max and abs(self.cwnd - self.w_max) <= 2 * self.mss:
            self.linear = True
            self.chosen += 1
            return int(self.cwnd) // self.mss
        if self.linear:
            self.linear = False
            above = max(self.cwnd - self.origin, Decimal(0)) / self.mss / self.c
            after_k = above ** (Decimal(1) / 3) if above else Decimal(0)
            self.epoch_us = now_us - round((self.k + after_k) * 10**6)
        return super().curve_pace(now_us)


class AccuCubic(LinuxCubic):
    """Belhareth, 5.6: the window is W_cubic at each ACK, or W_est."""

    def w_cubic(self, t: Decimal) -> Decimal:
        return Cubic.w_cubic(self, t)

    def avoid(self, acked: int, now_us: int = 0) -> None:
        if self.epoch_us is None:
            self.start_epoch(now_us)
        self.acked += self.weighted(acked)
        self.grow_w_est(int(self.cwnd) // self.mss)
        target = self.w_cubic(Decimal(now_us - (self.epoch_us or 0)) / 10**6)
        if self.friendly:
            target = max(target, self.w_est)
        self.cwnd = min(max(target, self.cwnd), self.cwnd + acked, Decimal(MAX_BYTES))
