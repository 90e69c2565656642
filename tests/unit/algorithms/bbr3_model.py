# SPDX-License-Identifier: GPL-2.0-only
"""BBRv3 in exact fractions, from the pseudocode of draft-ietf-ccwg-bbr-06.

Names are the draft's.  What ``algorithms/bbr3.h`` says it does otherwise is done here
too: a segment may reach beyond cwnd, a sample of any time in a round ends the plateau, which
rounds count is decided by ``RoundView``, the loss rate is judged by the sample of the ACK, marks
count, a time-out leaves two segments, and a live switch begins with what was measured.  Bytes,
bits/s and microseconds; nothing is rounded but what the module must round by definition: pacing
gains are 256ths.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

INFINITE = float("inf")
MAX_BYTES = 1 << 30
MAX_BPS = 10**13
NO_RTT = 2**32 - 1
MIN_SEGS, INIT_SEGS, PIPE_SEGS = 2, 10, 4

PROBE_BW = ("DOWN", "CRUISE", "REFILL", "UP")
PROBING = ("STARTUP", "REFILL", "UP")


@dataclass
class Sample:
    """An ACK; ``delivered`` below 0: without a rate."""

    acked: int
    rtt: int
    limited: bool
    now: int
    prior_delivered: int
    delivered: int
    interval: int
    inflight: int
    tx_in_flight: int
    lost: int
    losses: int
    ce: int
    ece: bool
    app_limited: bool

    @property
    def volume(self) -> int:
        """More than TCP's largest window cannot be in flight."""
        return min(self.delivered, MAX_BYTES)

    @property
    def rate(self) -> Fraction:
        return min(Fraction(self.delivered * 8 * 10**6, self.interval), Fraction(MAX_BPS))


class RoundView:
    """Does a round of probing show a full pipe?"""

    def __init__(self) -> None:
        self.limited = self.queued = False
        self.rtts: list[int] = []

    def counts(self, rs: Sample, min_rtt: int, ends: bool, mss: int) -> bool:
        queue = min_rtt + min_rtt // 4
        self.limited |= rs.app_limited
        self.queued |= not rs.app_limited and rs.rtt > queue
        if rs.rtt > 0:
            self.rtts.append(rs.rtt)
        if not ends:
            return False
        bulk = rs.tx_in_flight >= INIT_SEGS * mss
        full = not self.limited or self.queued or (self.rtts and min(self.rtts) > queue and bulk)
        self.__init__()
        return bool(full)


class WindowedMax:
    """Kathleen Nichols' estimator: the best of a window and two runners-up."""

    def __init__(self) -> None:
        self.best = [(0, Fraction(0))] * 3

    def update(self, window: int, now: int, value: Fraction) -> None:
        new = (now, value)
        if now - self.best[2][0] > window:
            self.best = [new] * 3
            return
        kept = [sample for sample in self.best if sample[1] > value]
        self.best = kept + [new] * (3 - len(kept))
        age = now - self.best[0][0]
        if age > window:
            for _ in range(2):
                if now - self.best[0][0] > window:
                    self.best = [*self.best[1:], new]
        elif self.best[0][0] == self.best[1][0] and age > window // 4:
            self.best[1:] = [new] * 2
        elif self.best[1][0] == self.best[2][0] and age > window // 2:
            self.best[2] = new

    @property
    def value(self) -> Fraction:
        return self.best[0][1]


class Bbr3:
    """A flow under BBRv3."""

    PACING: ClassVar = {
        "STARTUP": 710, "DRAIN": 128, "DOWN": 230, "CRUISE": 256, "REFILL": 256, "UP": 320,
        "PROBE_RTT": 256,
    }  # fmt: skip
    CWND: ClassVar = dict.fromkeys(PACING, Fraction(2)) | {
        "UP": Fraction(9, 4), "PROBE_RTT": Fraction(1, 2),
    }  # fmt: skip
    STARTUP_LOSSES = 6
    DRAIN_ROUNDS: float = 3
    PLATEAUS = ("STARTUP", "UP")

    def __init__(
        self, mss: int, flight: int, ssthresh: int, srtt: int, min_rtt: int, now: int
    ) -> None:
        self.mss, self.ssthresh, self.srtt = mss, ssthresh, srtt
        self.tracker_min_rtt = min_rtt
        self.cwnd = Fraction(min(max(flight, INIT_SEGS * mss), MAX_BYTES))
        self.inflight = flight
        self.delivered = self.ce = 0
        self.ca_state = "open"
        self.state = "STARTUP"
        self.max_bws = [Fraction(0), Fraction(0)]
        self.min_rtt = self.probe_rtt_min = min_rtt
        self.min_rtt_at = self.probe_rtt_min_at = self.extra_at = now
        self.cycle_at = self.round_count = self.drain_start = 0
        self.done_at: int | None = None
        self.app_limited_until = 0
        self.probe_rtt_round_done = self.idle_restart = False
        self.prior_cwnd = self.cwnd
        self.extra = WindowedMax()
        self.extra_delivered = 0
        self.full_bw_reached = self.full_bw_now = False
        self.full_bw, self.full_bw_count = Fraction(0), 0
        self.view = RoundView()
        self.longterm: Fraction | float = INFINITE
        self.reset_shortterm()
        self.reset_congestion()
        self.up_acked = self.up_rounds = self.rounds_since_probe = 0
        self.per_inc: Fraction | float = INFINITE
        self.is_probe_sample = self.too_high_before = self.precautionary = False
        self.phase = "INIT"
        self.next_round = self.loss_round_end = 0
        self.startup_losses = self.startup_marked = 0
        self.alpha, self.alpha_delivered, self.alpha_ce = Fraction(1), 0, 0
        self.undo_state: str | None = None
        self.undo = (INFINITE, INFINITE, INFINITE)
        self.pacing = Fraction(0)
        self.unsure = False
        self.pace(self.nominal, self.PACING["STARTUP"])

    def fits(self, amount: Fraction | int, bound: Fraction | float) -> bool:
        """``amount <= bound``; close to it, rounding may decide otherwise."""
        if bound != INFINITE and abs(amount - bound) <= max(bound / 500, 4):
            self.unsure = True
        return amount <= bound

    # Derived values ------------------------------------------------------------------

    @property
    def nominal(self) -> Fraction:
        return min(Fraction(int(self.cwnd) * 8 * 10**6, self.srtt or 1000), Fraction(MAX_BPS))

    @property
    def max_bw(self) -> Fraction:
        return max(self.max_bws)

    @property
    def bw(self) -> Fraction:
        return min(self.max_bw, self.bw_shortterm)

    def bdp(self, gain: Fraction = Fraction(1), bw: Fraction | None = None) -> Fraction:
        if self.min_rtt == NO_RTT:
            return Fraction(INIT_SEGS * self.mss)
        whole = min((self.bw if bw is None else bw) * self.min_rtt / 8 / 10**6, MAX_BYTES)
        return min(whole * gain, Fraction(MAX_BYTES))

    @property
    def quantum(self) -> Fraction:
        segs = 1 if self.pacing < 1200000 else 2
        return max(min(self.pacing / 8000, Fraction(65536)), Fraction(segs * self.mss))

    def budget(self, inflight: Fraction) -> Fraction:
        inflight = max(inflight, 3 * self.quantum, PIPE_SEGS * self.mss)
        if self.state == "UP":
            inflight += 2 * self.mss
        return min(inflight, Fraction(MAX_BYTES))

    @property
    def target(self) -> Fraction:
        return min(self.bdp(), self.cwnd)

    @property
    def with_headroom(self) -> Fraction | float:
        if self.longterm == INFINITE:
            return INFINITE
        room = max(Fraction(self.mss), self.longterm * Fraction(15, 100))
        return max(self.longterm - room, PIPE_SEGS * self.mss)

    def pace(self, bw: Fraction, gain: int) -> None:
        rate = max(bw * gain / 256 * 99 / 100, Fraction(self.mss * 8 // 60))
        if self.full_bw_reached or rate > self.pacing:
            self.pacing = rate

    # Resets and changes of state ---------------------------------------------------

    def reset_shortterm(self) -> None:
        self.bw_shortterm = self.inflight_shortterm = INFINITE

    def reset_congestion(self) -> None:
        self.loss_in_round = self.ece_in_round = False
        self.bw_latest, self.inflight_latest = Fraction(0), 0

    def reset_full_bw(self, baseline: Fraction) -> None:
        self.full_bw, self.full_bw_count, self.full_bw_now = baseline, 0, False

    def save_cwnd(self) -> None:
        if self.ca_state == "open" and self.state != "PROBE_RTT":
            self.prior_cwnd = self.cwnd
        else:
            self.prior_cwnd = max(self.prior_cwnd, self.cwnd)

    def start_down(self, now: int) -> None:
        self.reset_congestion()
        self.per_inc = INFINITE
        self.rounds_since_probe, self.probe_wait = 0, 2 * 10**6
        self.cycle_at, self.phase, self.state = now, "STOPPING", "DOWN"
        self.next_round = self.delivered

    def start_refill(self) -> None:
        self.reset_shortterm()
        self.up_rounds = self.up_acked = 0
        self.precautionary = False
        self.phase, self.state = "REFILLING", "REFILL"
        self.next_round = self.delivered

    def raise_slope(self) -> None:
        self.per_inc = max(self.cwnd / 2**self.up_rounds, Fraction(self.mss))
        self.up_rounds = min(self.up_rounds + 1, 30)

    def start_up(self, rate: Fraction, now: int) -> None:
        self.cycle_at = now
        self.is_probe_sample, self.phase = True, "STARTING"
        self.reset_full_bw(rate)
        self.view = RoundView()
        self.state = "UP"
        self.raise_slope()
        self.next_round = self.delivered

    # Each ACK ----------------------------------------------------------------------

    def take(self, rs: Sample) -> None:
        self.delivered += rs.acked
        self.ce += rs.ce
        self.inflight = rs.inflight
        if self.delivered > self.app_limited_until:
            self.app_limited_until = 0
        if rs.losses:
            self.note_loss()
        self.ece_in_round |= rs.ece
        self.round_start = self.loss_round_start = False
        sampled = rs.delivered >= 0 and rs.interval > 0
        rate = rs.rate if sampled else Fraction(0)
        if sampled:
            self.update_round(rs)
            self.update_congestion(rs, rate)
            self.update_aggregation(rs)
            self.check_full_bw(rs, rate)
        self.check_startup_loss(rs)
        self.check_drain(rs.now)
        self.update_cycle(rs, rate)
        self.check_probe_rtt(rs, self.update_min_rtt(rs))
        if sampled and self.loss_round_start:
            self.bw_latest, self.inflight_latest = rate, rs.volume
        self.pace(self.bw, self.PACING[self.state])
        self.set_cwnd(rs)

    def note_loss(self) -> None:
        if not self.loss_in_round:
            self.loss_round_end = self.delivered
        self.loss_in_round = True

    def update_round(self, rs: Sample) -> None:
        self.round_start = rs.prior_delivered >= self.next_round
        if not self.round_start:
            return
        self.next_round = self.delivered
        self.round_count += 1
        self.rounds_since_probe += 1
        fresh, marked = self.delivered - self.alpha_delivered, self.ce - self.alpha_ce
        if not fresh:
            return
        share = Fraction(min(marked, fresh), fresh)
        self.alpha += (share - self.alpha) / 16
        self.alpha_delivered, self.alpha_ce = self.delivered, self.ce
        many = self.state == "STARTUP" and marked and marked >= fresh // 2
        self.startup_marked = self.startup_marked + 1 if many else 0
        if self.startup_marked >= 2:
            self.startup_too_high()

    def update_congestion(self, rs: Sample, rate: Fraction) -> None:
        self.bw_latest = max(self.bw_latest, rate)
        self.inflight_latest = max(self.inflight_latest, rs.volume)
        self.loss_round_start = rs.prior_delivered >= self.loss_round_end
        if self.loss_round_start:
            self.loss_round_end = self.delivered
        if rate >= self.max_bw or not rs.app_limited:
            self.max_bws[1] = max(self.max_bws[1], rate)
        if not self.loss_round_start:
            return
        if self.state not in PROBING:
            self.adapt_shortterm()
        self.loss_in_round = self.ece_in_round = False

    def adapt_shortterm(self) -> None:
        base = min(self.inflight_shortterm, INFINITE)
        base = self.cwnd if base == INFINITE else base
        bounds = [self.inflight_shortterm]
        if self.ece_in_round:
            bounds.append(base * (1 - self.alpha / 3))
        if self.loss_in_round:
            bw = self.max_bw if self.bw_shortterm == INFINITE else self.bw_shortterm
            self.bw_shortterm = max(self.bw_latest, bw * Fraction(7, 10))
            bounds[0] = max(self.inflight_latest, base * Fraction(7, 10))
        self.inflight_shortterm = min(bounds)

    def update_aggregation(self, rs: Sample) -> None:
        span = min(rs.now - self.extra_at, NO_RTT)
        expected = min(self.bw * span / 8 / 10**6, Fraction(MAX_BYTES))
        if self.extra_delivered <= int(expected) or self.extra_delivered + rs.acked > MAX_BYTES:
            self.extra_delivered, self.extra_at, expected = 0, rs.now, Fraction(0)
        self.extra_delivered += rs.acked
        sample = min(max(self.extra_delivered - expected, Fraction(0)), self.cwnd)
        self.extra.update(10 if self.full_bw_reached else 1, self.round_count, sample)

    def check_full_bw(self, rs: Sample, rate: Fraction) -> None:
        if self.full_bw_now or self.state not in self.PLATEAUS:
            return
        counts = self.view.counts(rs, self.tracker_min_rtt, self.round_start, self.mss)
        if not rs.app_limited and self.fits(self.full_bw * Fraction(5, 4), rate):
            self.reset_full_bw(rate)
        elif counts:
            self.full_bw_count += 1
            if self.full_bw_count >= 3:
                self.full_bw_now = self.full_bw_reached = True

    def is_too_high(self, rs: Sample) -> bool:
        lossy = rs.tx_in_flight and rs.lost > rs.tx_in_flight * 20 // 1000
        marked = rs.delivered > 0 and rs.ce > rs.delivered // 2
        return bool(lossy or marked)

    def startup_too_high(self) -> None:
        self.undo_state, self.full_bw_now, self.full_bw_reached = "STARTUP", True, True
        self.longterm = self.startup_longterm()

    def startup_longterm(self) -> Fraction:
        return max(self.bdp(), Fraction(self.inflight_latest))

    def check_startup_loss(self, rs: Sample) -> None:
        self.startup_losses += rs.losses > 0
        if not self.loss_round_start:
            return
        if (
            self.state == "STARTUP" and self.ca_state == "recovery"
            and self.startup_losses >= self.STARTUP_LOSSES and self.is_too_high(rs)
        ):  # fmt: skip
            self.startup_too_high()
        self.startup_losses = 0

    def check_drain(self, now: int) -> None:
        if self.state == "STARTUP" and self.full_bw_reached:
            self.state, self.drain_start = "DRAIN", self.round_count
            self.note_slow_start()
        if self.state == "DRAIN" and (
            self.fits(self.inflight, self.budget(self.bdp()))
            or self.round_count > self.drain_start + self.DRAIN_ROUNDS
        ):
            self.start_down(now)

    def note_slow_start(self) -> None:
        """It is over, for the CC that may come next."""
        self.ssthresh = self.budget(self.bdp(bw=self.max_bw))

    def update_cycle(self, rs: Sample, rate: Fraction) -> None:
        if not self.full_bw_reached or self.adapt_longterm(rs):
            return
        if self.state in ("DOWN", "CRUISE"):
            rounds = min(63, -(-self.target // self.mss))
            self.fits(self.target, (self.rounds_since_probe + 1) * self.mss)
            self.fits(self.target, self.rounds_since_probe * self.mss)
            late = rs.now > self.cycle_at + self.probe_wait
            if late or self.rounds_since_probe >= rounds:
                self.start_refill()
            elif self.fits(
                self.inflight, min(self.with_headroom, self.budget(self.bdp(bw=self.max_bw)))
            ):
                self.state = "CRUISE"
        elif self.state == "REFILL" and self.round_start:
            self.start_up(rate, rs.now)
        elif self.state == "UP" and self.is_time_to_go_down(rs, rate):
            self.too_high_before = False
            self.start_down(rs.now)

    def is_time_to_go_down(self, rs: Sample, rate: Fraction) -> bool:
        if self.too_high_before and self.fits(self.longterm, self.inflight):
            self.precautionary = True
            return True
        if rs.limited and self.fits(self.longterm, self.cwnd):
            self.reset_full_bw(rate)
            return False
        return self.full_bw_now

    def adapt_longterm(self, rs: Sample) -> bool:
        if self.phase == "STARTING" and self.round_start:
            self.phase = "FEEDBACK"
        if self.phase == "STOPPING" and self.round_start:
            self.is_probe_sample, self.phase = False, "INIT"
            if self.state in PROBE_BW and not rs.app_limited and self.max_bws[1]:
                self.max_bws = [self.max_bws[1], Fraction(0)]
            if self.state in PROBE_BW and self.precautionary and not self.too_high_before:
                self.start_refill()
                return True
        if self.is_too_high(rs):
            if self.is_probe_sample:
                self.handle_too_high(rs.tx_in_flight, rs.app_limited, rs.now)
        elif self.longterm != INFINITE:
            self.longterm = max(self.longterm, Fraction(rs.tx_in_flight))
            if self.state == "UP" and rs.limited and self.fits(self.longterm, self.cwnd):
                segs, self.up_acked = divmod(self.up_acked + rs.acked, self.per_inc)
                self.longterm = min(self.longterm + segs * self.mss, Fraction(MAX_BYTES))
                if self.round_start:
                    self.raise_slope()
        return False

    def handle_too_high(self, flight: int, app_limited: bool, now: int) -> None:
        self.too_high_before, self.is_probe_sample = True, False
        if not app_limited:
            self.longterm = max(Fraction(flight), self.target * Fraction(7, 10))
        if self.state == "UP":
            self.undo_state = "UP"
            self.start_down(now)

    def update_min_rtt(self, rs: Sample) -> bool:
        expired = rs.now > self.probe_rtt_min_at + 5 * 10**6
        if rs.rtt >= 0 and (rs.rtt < self.probe_rtt_min or expired):
            self.probe_rtt_min, self.probe_rtt_min_at = min(max(rs.rtt, 1), NO_RTT - 1), rs.now
        if self.probe_rtt_min <= self.min_rtt or rs.now > self.min_rtt_at + 10**7:
            self.min_rtt, self.min_rtt_at = self.probe_rtt_min, self.probe_rtt_min_at
        return expired

    @property
    def probe_rtt_cwnd(self) -> Fraction:
        return max(self.bdp(Fraction(1, 2)), Fraction(PIPE_SEGS * self.mss))

    def check_probe_rtt(self, rs: Sample, expired: bool) -> None:
        if self.state != "PROBE_RTT" and expired and not self.idle_restart:
            self.save_cwnd()
            self.state, self.done_at, self.phase = "PROBE_RTT", None, "STOPPING"
            self.next_round = self.delivered
        if self.state == "PROBE_RTT":
            self.app_limited_until = max(self.delivered + self.inflight, 1)
            if self.done_at is None:
                if self.fits(self.inflight, self.probe_rtt_cwnd + self.mss):
                    self.done_at = rs.now + 200000
                    self.probe_rtt_round_done = False
                    self.next_round = self.delivered
            else:
                self.probe_rtt_round_done |= self.round_start
                if self.probe_rtt_round_done:
                    self.check_probe_rtt_done(rs.now)
        if rs.delivered > 0:
            self.idle_restart = False

    def check_probe_rtt_done(self, now: int) -> None:
        if self.done_at is None or now <= self.done_at:
            return
        self.probe_rtt_min_at = now
        self.cwnd = max(self.cwnd, self.prior_cwnd)
        self.reset_shortterm()
        self.state = "STARTUP"
        if self.full_bw_reached:
            self.note_slow_start()
            self.start_down(now)
            self.state = "CRUISE"

    def set_cwnd(self, rs: Sample) -> None:
        most = self.budget(self.bdp(self.CWND[self.state]) + self.extra.value)
        if self.full_bw_reached:
            self.cwnd = min(self.cwnd + rs.acked, most)
        elif not self.fits(most, self.cwnd) or self.delivered < INIT_SEGS * self.mss:
            self.cwnd += rs.acked
        self.cwnd = max(self.cwnd, Fraction(PIPE_SEGS * self.mss))
        if self.state == "PROBE_RTT":
            self.cwnd = min(self.cwnd, self.probe_rtt_cwnd)
        cap: Fraction | float = INFINITE
        if self.state in ("CRUISE", "PROBE_RTT"):
            cap = self.with_headroom
        elif self.state in PROBE_BW:
            cap = self.longterm
        cap = max(min(cap, self.inflight_shortterm), PIPE_SEGS * self.mss)
        self.cwnd = Fraction(min(self.cwnd, cap, MAX_BYTES))

    # Other events ------------------------------------------------------------------

    def take_state(self, state: str, now: int) -> None:
        if state == "open":
            self.cwnd = max(self.cwnd, self.prior_cwnd)
        elif self.ca_state != "loss":  # else a time-out behind another: undone as one
            self.save_cwnd()
            self.undo_state = None
            self.undo = (self.bw_shortterm, self.inflight_shortterm, self.longterm)
        if state == "loss":
            if self.is_probe_sample:  # HandleLostPacket() of each packet in flight
                flight = min(self.inflight, self.cwnd)
                self.handle_too_high(flight, bool(self.app_limited_until), now)
            self.note_loss()
            self.reset_full_bw(Fraction(0))
            if self.state not in PROBING and self.inflight_shortterm == INFINITE:
                self.inflight_shortterm = self.prior_cwnd
            least = MIN_SEGS * self.mss
            self.cwnd = Fraction(
                min(max(self.inflight + self.mss, least), max(self.cwnd, Fraction(least)))
            )
        self.ca_state = state

    def take_limited(self) -> None:
        """The guest has no more to send."""
        self.app_limited_until = max(self.delivered + self.inflight, 1)

    def take_tx_start(self, now: int) -> None:
        if not self.app_limited_until:  # HandleRestartFromIdle()
            return
        self.idle_restart, self.extra_at, self.extra_delivered = True, now, 0
        if self.state in PROBE_BW:
            self.pace(self.bw, 256)
        elif self.state == "PROBE_RTT":
            self.check_probe_rtt_done(now)

    def take_undo(self) -> None:
        self.cwnd = max(self.cwnd, self.prior_cwnd)
        self.loss_in_round = False
        self.reset_full_bw(Fraction(0))
        self.bw_shortterm = max(self.bw_shortterm, self.undo[0])
        self.inflight_shortterm = max(self.inflight_shortterm, self.undo[1])
        self.longterm = max(self.longterm, self.undo[2])
        was, self.undo_state = self.undo_state, None
        if was == "STARTUP" and self.state != "STARTUP":
            self.full_bw_reached = False
            if self.state != "PROBE_RTT":
                self.state = "STARTUP"
        elif was == "UP" and self.state not in ("UP", "PROBE_RTT"):
            self.start_refill()


class Bbr2(Bbr3):
    """Version 2: draft-cardwell-iccrg-bbr-congestion-control-02."""

    PACING: ClassVar = Bbr3.PACING | {"STARTUP": 739, "DRAIN": 88, "DOWN": 192}
    CWND: ClassVar = Bbr3.CWND | {
        "STARTUP": Fraction(739, 256), "DRAIN": Fraction(739, 256), "UP": Fraction(2),
    }  # fmt: skip
    STARTUP_LOSSES = 8
    DRAIN_ROUNDS = INFINITE
    PLATEAUS = ("STARTUP",)

    def startup_longterm(self) -> Fraction:
        return self.bdp()

    def is_time_to_go_down(self, rs: Sample, rate: Fraction) -> bool:
        if self.too_high_before and self.fits(self.longterm, self.inflight):
            self.precautionary = True
            return True
        wanted = self.budget(self.bdp(Fraction(5, 4), self.max_bw))
        return rs.now - self.cycle_at > self.min_rtt and self.fits(wanted, self.inflight)
