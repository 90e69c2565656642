# SPDX-License-Identifier: GPL-2.0-only
"""Random flows that a model decides, and the same events for a module (``replay.c``)."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Protocol, TypeVar

from reno_model import INFINITE, NO_RTT, Reno


class Conditions:
    """Random conditions: 1 kbit/s to 400 Gbit/s, 10 us to 10 s."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.mss = rng.choice((88, 536, 1220, 1448, 8948))
        self.rtt_us = round(10 ** rng.uniform(1, 7))
        self.bytes_per_us = 10 ** rng.uniform(3, 11.6) / 8e6
        self.noise = rng.choice((0.0, 0.001, 0.05, 0.5))

    def sample_us(self, flight: int) -> int:
        """An RTT with ``flight`` bytes on the way; sometimes none."""
        if self.rng.random() < 0.05:
            return -1
        rtt_us = max(self.rtt_us, flight / self.bytes_per_us)
        return min(round(rtt_us * (1 + self.rng.random() * self.noise)), 2**40)

    def flight(self) -> int:
        """The flight that a live switch finds: around the BDP, or nothing."""
        bdp = self.rtt_us * self.bytes_per_us
        return self.rng.choice((0, int(min(bdp * 10 ** self.rng.uniform(-2, 1), 2**31 - 1))))


class Flow:
    """Feeds a model, and notes the events and the model's windows."""

    def __init__(self, model: Reno, path: Conditions, srtt_us: int, first: str):
        self.model, self.path, self.rng = model, path, path.rng
        self.now_us = 10**9
        self.srtt_us = srtt_us
        self.lines: list[str] = []
        self.windows: list[tuple[int | Decimal, int | Decimal]] = []
        self.note(first)

    def note(self, line: str) -> None:
        self.lines.append(line)
        self.windows.append((self.model.cwnd, self.model.ssthresh))

    def fill(self) -> None:
        """Send what cwnd allows."""
        if (room := int(self.model.cwnd) - self.model.flight) > 0:
            self.model.nxt += room
            self.note(f"send {room}")

    def ack(self, acked: int, limited: bool) -> None:
        rtt_us = self.path.sample_us(self.model.flight)
        self.model.take_ack(acked, rtt_us, limited, self.now_us)
        self.note(f"ack {acked} {rtt_us} {int(limited)} {self.now_us}")
        self.fill()

    def round(self, limited: bool = True) -> None:
        """ACKs for all that is in flight now, some for many segments."""
        self.fill()
        left, acks = self.model.flight, self.rng.choice((1, 2, 3, 4, 5, 12))
        for n in range(acks, 0, -1):
            share = left if n == 1 else min(left, self.rng.randint(1, 1 + 2 * left // n))
            if share:
                self.ack(share, limited)
            left -= share
            self.now_us += self.srtt_us // acks

    def state(self, state: str) -> None:
        self.model.take_state(state, self.now_us)
        self.note(f"state {state} {self.now_us}")

    def recover(self) -> None:
        """Until what was in flight is acknowledged; or it was spurious."""
        end = self.model.nxt
        if self.rng.random() < 0.2:
            self.ece()
        if self.rng.random() < 0.2 and self.model.undoes:
            self.model.undo()
            self.note("undo")
        else:
            while self.model.una < end:
                self.ack(self.rng.randint(1, end - self.model.una), True)
        self.state("open")

    def idle(self) -> None:
        """All is acknowledged, and later the flow goes on.  It has had nothing to send; or only its
        window was full, which is no silence.
        """
        limited = not self.model.flight or self.rng.random() < 0.7
        if self.model.flight:
            flight = self.model.flight
            self.model.take_ack(flight, -1, False, self.now_us)
            self.note(f"ack {flight} -1 0 {self.now_us}")
        self.model.min_rtt_us = self.path.rtt_us + self.rng.randint(0, 10)
        self.note(f"min_rtt {self.model.min_rtt_us}")
        if limited:
            self.note("limited")
            self.model.take_tx_start(self.now_us)
        self.note(f"event tx_start {self.now_us}")

    def ece(self) -> None:
        self.model.take_ece(self.now_us)
        self.note(f"event ece {self.now_us}")

    def lose(self) -> None:
        self.state("recovery")
        if self.rng.random() < 0.2:
            self.state("loss")
        self.recover()

    def time_out(self) -> None:
        self.state("loss")
        if self.rng.random() < 0.3:
            self.state("loss")
        self.recover()


class MarkedFlow(Flow):
    """Some phases are marked, some in part; the receiver may count a repeat twice."""

    marking = 0.0

    def ece(self) -> None:
        """A mark comes with an ACK, here."""
        if self.model.flight:
            self.ack(self.rng.randint(1, self.model.flight), True)

    def ack(self, acked: int, limited: bool) -> None:
        marked = round(acked * min(self.marking * self.rng.uniform(0.5, 1.5), 1.1))
        rtt_us = self.path.sample_us(self.model.flight)
        self.model.take_marks(acked, marked)
        self.model.take_ack(acked, rtt_us, limited, self.now_us)
        self.note(f"ack {acked} {rtt_us} {int(limited)} {self.now_us} {marked}")
        self.fill()


def any_event(flow: Flow) -> None:
    kinds: tuple[Callable[[], None], ...] = (
        flow.lose, flow.time_out, flow.idle, flow.ece, lambda: flow.round(limited=False),
    )  # fmt: skip
    if flow.rng.random() < 0.15:
        flow.rng.choice(kinds)()
    else:
        flow.round()


def start(
    make: Callable[..., Reno], path: Conditions, srtt_us: int, kind: type[Flow] = Flow
) -> Flow:
    flight = path.flight()
    ssthresh = INFINITE if path.rng.random() < 0.5 else max(flight, 2 * path.mss)
    min_rtt_us = path.rng.choice((path.rtt_us, path.rtt_us + 50, NO_RTT))
    model = make(path.mss, flight, ssthresh, min_rtt_us)
    words = (path.mss, flight, ssthresh, srtt_us, min_rtt_us, 10**9, *model.params)
    return kind(model, path, srtt_us, f"flow {' '.join(map(str, words))}")


class Events(Protocol):
    """The events to be replayed: lines for replay.c."""

    lines: list[str]


AnyFlow = TypeVar("AnyFlow", bound=Events)


def build_replays() -> Path:
    """The folder with ``replay_NAME``."""
    build = ["make", "-s", "-C", Path(__file__).parents[1], "replay"]
    return Path(subprocess.run(build, check=True, capture_output=True, text=True).stdout.strip())


def replay(program: Path, flows: Sequence[AnyFlow]) -> Iterator[tuple[AnyFlow, int, int, int, int]]:
    """Each flow, the number of its event, and the module's cwnd, ssthresh and rate."""
    text = "".join(line + "\n" for flow in flows for line in flow.lines)
    run = subprocess.run([program], input=text, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    answers = iter(run.stdout.splitlines())
    for flow in flows:
        for n in range(len(flow.lines)):
            yield flow, n, *map(int, next(answers).split())
    assert next(answers, None) is None
