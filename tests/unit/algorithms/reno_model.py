# SPDX-License-Identifier: GPL-2.0-only
"""Reno by its RFCs, in exact fractions; other models are made of it."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

INFINITE = 0x7FFFFFFF
MAX_BYTES = 1 << 30
NO_RTT = 2**32 - 1
MIN_SEGS, INIT_SEGS = 2, 10


class Reno:
    """RFC 5681 and RFC 6582, with RFC 3465's bytes."""

    params: tuple[int, ...] = ()
    #: Is an undo part of the model?
    undoes = True
    #: As how many flows it acts, and how many of them a reduction hits, in thousandths.
    weight = hit = 1000

    def __init__(self, mss: int, flight: int, ssthresh: int, min_rtt_us: int):
        self.mss, self.ssthresh, self.min_rtt_us = mss, ssthresh, min_rtt_us
        self.una, self.nxt = 0, flight
        self.cwnd: int | Decimal = min(max(flight, INIT_SEGS * mss), MAX_BYTES)
        self.state = "open"
        self.credit = 0
        self.recover = 0  # the reduction is over when una is here
        self.reduced: str | None = None
        self.before: tuple[int, int] | None = None
        self.by_ece = False

    @property
    def flight(self) -> int:
        return self.nxt - self.una

    def slow_start(self, acked: int) -> int:
        """Returns what avoidance is left."""
        room = max(min(self.ssthresh, MAX_BYTES) - self.cwnd, 0)
        self.cwnd += min(room, acked)
        return acked - min(room, acked)

    def weighted(self, acked: int) -> int:
        """The acknowledged bytes that count for growth in avoidance."""
        return acked * self.weight // 1000

    def left(self, beta: Fraction) -> Fraction:
        """The share of N flows that a reduction leaves, with ``beta`` left of each that it hits."""
        return 1 - (1 - beta) * Fraction(self.hit, self.weight)

    def avoid(self, acked: int) -> None:
        acked = self.weighted(acked)
        windows, self.credit = divmod(min(self.credit, self.cwnd) + acked, self.cwnd)
        self.cwnd = min(self.cwnd + windows * self.mss, MAX_BYTES)

    def take_ack(self, acked: int, rtt_us: int, limited: bool, now_us: int) -> None:
        self.una += acked
        over = self.reduced is not None and self.una >= self.recover
        if over:
            self.reduced = None
        grows = limited and (
            self.state == "loss" or (self.state == "open" and self.reduced is None)
        )
        self.steer(acked if grows else 0, rtt_us, over, now_us)

    def steer(self, acked: int, rtt_us: int, over: bool, now_us: int) -> None:
        if rest := self.slow_start(acked):
            self.avoid(rest)

    def reduce(self, why: str) -> None:
        self.before = (self.cwnd, self.ssthresh)
        left = math.floor(Fraction(self.cwnd) * self.left(Fraction(1, 2)))
        self.ssthresh = max(left, MIN_SEGS * self.mss)
        self.by_ece = why == "ece"
        self.recover, self.reduced, self.credit = self.nxt + self.by_ece, why, 0

    def take_state(self, state: str, now_us: int) -> None:
        fresh = self.reduced != "ece" or self.una >= self.recover
        if fresh and (state == "recovery" or (state == "loss" and self.state == "open")):
            self.hit = self.weight if state == "loss" else min(self.weight, 1000)
            self.reduce("loss")
        if state == "recovery":
            self.cwnd = self.ssthresh
        elif state == "loss":
            self.cwnd = MIN_SEGS * self.mss
        self.state = state

    def take_ece(self, now_us: int) -> None:
        """Once per window; where a loss has reduced, a mark says that it was right to."""
        if self.state != "open":
            self.before = None
        elif not (self.reduced and self.una < self.recover):
            self.hit = min(self.weight, 1000)
            self.reduce("ece")
            self.cwnd = self.ssthresh

    def take_tx_start(self, now_us: int) -> None:
        pass

    def undo(self) -> None:
        """Undo a loss that was none; a mark was one (RFC 3168, 6.1.2)."""
        if self.by_ece:
            self.cwnd = max(self.cwnd, self.ssthresh)
        elif self.before:
            self.cwnd = max(self.cwnd, self.before[0])
            self.ssthresh = max(self.ssthresh, self.before[1])
            self.before = self.reduced = None


class NewReno(Reno):
    """The same, and RFC 8511 where it is asked for: in avoidance ECE takes less than a loss."""

    def __init__(self, *args: int, params: tuple[int, ...] = (500, 1000)):
        super().__init__(*args)
        self.params = params
        self.weight = params[1]

    def reduce(self, why: str) -> None:
        avoids = self.cwnd >= self.ssthresh
        super().reduce(why)
        if why == "ece" and avoids:
            left = math.floor(self.cwnd * self.left(Fraction(self.params[0], 1000)))
            self.ssthresh = max(left, MIN_SEGS * self.mss)
