# SPDX-License-Identifier: GPL-2.0-only
"""Two ends of a connection that are honest, and the path between TCon and the far one.

An end is a TCP as RFC 9293 has it, with what a kernel's has that TCon meets in headers: data both
ways at a time, flow control, SACK and DSACK (RFC 2018, 2883), time stamps and PAWS (RFC 7323), ECN
(RFC 3168), AccECN's bits and options (RFC 9768), super-packets, delayed ACKs, probes of a closed
window, an IPv6 flow label that changes with a time-out (RFC 6437).  Its application asks, answers,
rests, reads nothing for a while, and closes its half.

An end notes what no honest path does to it: bytes that were not sent, segments that PAWS or
RFC 5961 throw away, a window that closes again.
"""

from __future__ import annotations

import bisect
import functools
import heapq
import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import rig as rigs
import wire
from wire import ACK, CWR, ECE, FIN, PSH, SYN

NEVER = float("inf")
_PATTERN = random.Random(1).randbytes(65521)
#: Timers of TCon tick; so each run begins at a tick, whatever ran before.
_TICKS_NS = 4096 * 1000 * 1000
_CHALLENGES = 4  # before what is too old for RFC 5961 is taken all the same


@functools.cache
def _pattern(times: int) -> bytes:
    return _PATTERN * times


def stream(start: int, end: int) -> bytes:
    """The bytes that every application writes there."""
    first = start % len(_PATTERN)
    return _pattern((first + end - start) // len(_PATTERN) + 1)[first : first + end - start]


def _near(number: int, at: int) -> int:
    """A number of 32 bits as one that does not wrap, nearest to another."""
    return at + (number - at + 2**31) % 2**32 - 2**31


class Ranges:
    """A set of numbers as ranges, in order, apart from each other."""

    def __init__(self) -> None:
        self.list: list[tuple[int, int]] = []

    def add(self, start: int, end: int) -> None:
        """Join a range."""
        first = bisect.bisect_left(self.list, start, key=lambda r: r[1])
        last = bisect.bisect_right(self.list, end, key=lambda r: r[0])
        joined = self.list[first:last]
        if joined:
            start, end = min(start, joined[0][0]), max(end, joined[-1][1])
        self.list[first:last] = [(start, end)]

    def below(self, start: int) -> None:
        """Forget all that is below."""
        self.list = [(max(a, start), b) for a, b in self.list if b > start]

    def holes(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The missing parts of a range."""
        for a, b in self.list:
            if a >= end:
                break
            if a > start:
                yield start, a
            start = max(start, b)
        if start < end:
            yield start, end

    @property
    def bytes(self) -> int:
        return sum(b - a for a, b in self.list)


@dataclass(frozen=True)
class Habits:
    """How an end is made."""

    isn: int
    mss: int = 1460
    wscale: int | None = 7
    buffer_bytes: int = 1 << 18
    ts: bool = True
    sack: bool = True
    dsack: bool = True
    ecn: str = ""  # "", "ecn", "accecn"
    burst_segs: int = 1  # in one super-packet at most
    partial: bool = True  # sums are left to the device
    delay_s: float = 0.004  # of an ACK
    rto_min_s: float = 0.3
    rethinks: bool = False  # another flow label with each time-out
    byte_probe: bool = False  # of a closed window, with a byte of data


@dataclass(frozen=True)
class Step:
    """An application's next step: it waits for ``heard`` bytes, rests, and then says ``says``."""

    heard: int = 0
    rest_s: float = 0
    says: int = 0
    deaf_s: float = 0  # it reads nothing from now on for so long
    closes: bool = False


class End:
    """One end."""

    def __init__(
        self,
        habits: Habits,
        head: wire.Segment,
        steps: list[Step],
        now: Callable[[], float],
        emit: Callable[[wire.Segment, int], None],
    ) -> None:
        self.habits, self.head, self.steps, self.now, self.emit = habits, head, steps, now, emit
        self.random = random.Random(habits.isn)
        self.notes: list[str] = []
        self.first_ts = self.random.randrange(2**32)
        # Sending: bytes by their number, -1 is the SYN.
        self.una = self.nxt = self.max = -1
        self.written, self.closing = 0, False
        self.mss, self.cwnd, self.ssthresh = habits.mss, 10 * habits.mss, 1 << 30
        self.sacked, self.again = Ranges(), Ranges()
        self.repaired_to = self.recover = -1
        self.duplicates, self.backoff, self.srtt, self.rttvar = 0, 0, 0.0, 0.0
        self.edge = self.wl1 = self.wl2 = 0
        self.max_window, self.peer_wscale = 0, 0
        # Receiving.
        self.open = self.syn_heard = False
        self.peer_scales = True
        self.peer_isn = 0
        self.rcv, self.read, self.offered, self.told = 0, 0, 0, 0
        self.beyond, self.newest = Ranges(), (0, 0)
        self.fin_at: int | None = None
        self.duplicate: tuple[int, int] | None = None
        self.ts_recent, self.sack, self.ts = 0, habits.sack, habits.ts
        self.ack_now, self.too_old = False, 0
        # ECN.
        self.ecn, self.echo, self.cwr_due, self.reduced_at = habits.ecn, False, False, -1
        self.ce_packets, self.ce_bytes, self.tells_bytes = 5, 0, 0
        # Times.
        self.rto_at = self.ack_at = self.persist_at = self.app_at = NEVER
        self.deaf_until = self.rest_until = 0.0

    # Numbers -----------------------------------------------------------------------

    def note(self, what: str) -> None:
        self.notes.append(what)

    def _seq(self, at: int) -> int:
        return (self.habits.isn + 1 + at) % 2**32

    def _own(self, number: int) -> int:
        return _near(number, self.habits.isn + 1 + self.una) - self.habits.isn - 1

    def _peers(self, number: int) -> int:
        return _near(number, self.peer_isn + 1 + self.rcv) - self.peer_isn - 1

    @property
    def end(self) -> int:
        """The end of the application's data, with the FIN."""
        return self.written + self.closing

    @property
    def done(self) -> bool:
        """All is said, heard and acknowledged."""
        return (
            not self.steps and self.closing and self.una == self.end and self.fin_at is not None
            and self.rcv > self.fin_at
        )  # fmt: skip

    def clock(self) -> int:
        """Its TSval: milliseconds."""
        return (self.first_ts + int(self.now() * 1000)) % 2**32

    # Headers -----------------------------------------------------------------------

    def _blocks(self) -> list[tuple[int, int]]:
        """SACK blocks, the newest first; a DSACK before them."""
        if not self.sack:
            return []
        newest = [r for r in self.beyond.list if r[0] <= self.newest[0] < r[1]]
        blocks = newest + [r for r in reversed(self.beyond.list) if r not in newest]
        if self.duplicate and self.habits.dsack:
            blocks.insert(0, self.duplicate)
        return blocks[: 3 if self.ts else 4]

    def _options(self) -> bytes:
        """The options of its next segment."""
        options = b""
        if self.ts:
            options += wire.NOP * 2 + wire.opt_ts(self.clock(), self.ts_recent)
        if blocks := self._blocks():
            base = self.peer_isn + 1
            options += wire.NOP * 2 + wire.opt_sack(*((base + a, base + b) for a, b in blocks))
        if self.ecn == "accecn" and self.tells_bytes and len(options) <= 28:
            counts = (1).to_bytes(3, "big") + self.ce_bytes.to_bytes(3, "big")
            counts += (self.rcv + 1).to_bytes(4, "big")[1:]
            options += wire.NOP + bytes((172, 11)) + counts
        return options

    def _field(self) -> int:
        """The window, which never closes again."""
        scale = (self.habits.wscale or 0) if self.scaled else 0
        right = self.read + self.habits.buffer_bytes
        if right - self.offered < min(2 * self.mss, self.habits.buffer_bytes // 2):
            right = self.offered
        field = max(right - self.rcv, 0) >> scale
        if self.rcv + (field << scale) < self.offered:
            field += 1
        field = min(field, 0xFFFF)
        self.offered = max(self.offered, self.rcv + (field << scale))
        return field

    @property
    def scaled(self) -> bool:
        return self.habits.wscale is not None and self.peer_scales

    def _ace(self, flags: int) -> dict[str, object]:
        """The three bits of ECN, with other flags."""
        if self.ecn == "accecn":
            count = self.ce_packets % 8
            bits = (ECE if count & 1 else 0) | (CWR if count & 2 else 0)
            return {"flags": flags | bits, "ae": bool(count & 4)}
        return {"flags": flags | (ECE if self.ecn and self.echo else 0)}

    def _send(self, at: int, end: int, fresh: bool) -> None:
        """Bytes, the FIN behind the last ones, or nothing but an ACK."""
        options = self._options()
        last = max(at, min(end, self.written))
        flags = ACK | (FIN if at < end > self.written else 0)
        flags |= PSH if last == self.written and last > at else 0
        changes = self._ace(flags)
        if fresh and last > at and self.ecn:
            changes["tos"] = self.head.tos | 2
            if self.ecn == "ecn" and self.cwr_due:
                changes["flags"] |= CWR
                self.cwr_due = False
        segment = self.head.but(
            seq=self._seq(at), ack=(self.peer_isn + 1 + self.rcv) % 2**32, window=self._field(),
            options=options, payload=stream(at, last), **changes,
        )  # fmt: skip
        self.told, self.ack_now, self.ack_at = self.rcv, False, NEVER
        self.duplicate, self.tells_bytes = None, max(self.tells_bytes - 1, 0)
        size = self.mss - len(options)
        self.emit(segment, size if last - at > size else 0)

    @property
    def full(self) -> int:
        """Payload of a full segment: options take their room of it."""
        return self.mss - len(self._options())

    def _ack(self) -> None:
        self._send(max(self.max, self.una), max(self.max, self.una), False)

    # The handshake -----------------------------------------------------------------

    def connect(self) -> None:
        """Send the SYN, or the answer to one."""
        habits, answer = self.habits, self.syn_heard
        options = wire.opt_mss(habits.mss)
        if self.sack:
            options += wire.SACK_PERMITTED
        if self.scaled:
            options += wire.NOP + wire.opt_wscale(habits.wscale or 0)
        if self.ts:
            options += wire.NOP * 2 + wire.opt_ts(self.clock(), self.ts_recent)
        flags, ae = SYN | (ACK if answer else 0), False
        if self.ecn == "ecn":
            flags |= ECE if answer else ECE | CWR
        elif self.ecn == "accecn":
            flags, ae = flags | (CWR if answer else ECE | CWR), not answer
        self.offered = min(habits.buffer_bytes, 0xFFFF)
        self.nxt = self.max = 0
        self._arm()
        segment = self.head.but(
            seq=habits.isn, ack=(self.peer_isn + 1) % 2**32 if answer else 0, flags=flags, ae=ae,
            window=self.offered, options=options + wire.NOP * (-len(options) % 4),
        )  # fmt: skip
        self.emit(segment, 0)

    def _hear_syn(self, got: wire.Segment) -> None:
        if self.syn_heard:
            self.ack_now = True
            return
        kinds = dict(wire.options(got.options))
        self.syn_heard, self.peer_isn = True, got.seq
        self.sack &= 4 in kinds
        self.ts &= 8 in kinds
        self.peer_scales = 3 in kinds
        self.peer_wscale = kinds[3][0] if self.scaled else 0
        self.mss = min(self.mss, int.from_bytes(kinds[2], "big"))
        if stamps := got.timestamps():
            self.ts_recent = stamps[0]
        asked = got.ae, bool(got.flags & CWR), bool(got.flags & ECE)
        if not got.flags & ACK:
            self.ecn = self.ecn if asked[1] and asked[2] else ""
            self.ecn = "ecn" if self.ecn and not asked[0] else self.ecn
            self.connect()
        else:
            self.ecn = self.ecn if asked[1] or asked[2] else ""
            self.ecn = "ecn" if self.ecn and not asked[1] else self.ecn
            self._opened(got)
            self.ack_now = True

    def _opened(self, got: wire.Segment) -> None:
        self.open, self.una, self.rto_at, self.backoff = True, 0, NEVER, 0
        shift = 0 if got.flags & SYN else self.peer_wscale
        self.edge, self.wl1 = got.window << shift, -1
        self.max_window = got.window << shift
        self.tells_bytes = 3

    # Receiving ---------------------------------------------------------------------

    def receive(self, got: wire.Segment) -> None:
        """A segment, or a super-packet."""
        if got.flags & SYN:
            self._hear_syn(got)
        elif self.syn_heard and self._acceptable(got):
            if not self.open:
                self._opened(got)
            if self._hear_ack(got):
                self._hear_window(got)
                self._hear_data(got)
        self.work()

    def _acceptable(self, got: wire.Segment) -> bool:
        at, stamps = self._peers(got.seq), got.timestamps()
        if self.ts and stamps:
            if (stamps[0] - self.ts_recent) % 2**32 >= 2**31:
                if at + got.span > self.rcv:
                    self.note("thrown away by PAWS")
                self.ack_now = True
                return False
            if at <= self.told:
                self.ts_recent = stamps[0]
        if at + got.span < self.told or at > self.offered:
            if at > self.offered:
                self.note("beyond the window")
            self.ack_now = True
            self._doubled(at, at + len(got.payload))
            return False
        return True

    def _hear_ack(self, got: wire.Segment) -> bool:
        """Returns whether the segment's data may be taken (RFC 5961, 5.2)."""
        ack = self._own(got.ack)
        if ack > self.max:
            self.note("acknowledges what was not sent")
            return False
        if ack < self.una - self.max_window:
            if self._peers(got.seq) + got.span > self.rcv:
                self.note("thrown away: its ACK is too old")
            self.ack_now = True
            self.too_old += 1
            return self.too_old > _CHALLENGES
        self._hear_blocks(got)
        if ack > self.una:
            self._advance(ack, got)
        elif not got.payload and ack == self.una and self.una < self.max and not self.sack:
            self.duplicates += 1
        self._hear_ecn(got)
        self._note_loss()
        return True

    def _hear_blocks(self, got: wire.Segment) -> None:
        for start, end in wire.sack_blocks(got.options) if self.sack else ():
            a, b = self._own(start), self._own(end)
            if self.una < b <= self.max and a >= self.una:
                self.sacked.add(a, b)

    def _advance(self, ack: int, got: wire.Segment) -> None:
        stamps = got.timestamps()
        if self.ts and stamps and stamps[1]:
            self._take_rtt(((self.clock() - stamps[1]) % 2**32) / 1000)
        grown = min(ack - self.una, 2 * self.mss * self.habits.burst_segs)
        if self.una >= self.recover:
            slow = self.cwnd < self.ssthresh
            self.cwnd += grown if slow else self.mss * grown // self.cwnd
            self.cwnd = min(self.cwnd, 1 << 22)
        self.una, self.backoff, self.duplicates = ack, 0, 0
        self.nxt = max(self.nxt, ack)
        self.sacked.below(ack)
        self.again.below(ack)
        self.rto_at = NEVER
        self._arm()

    def _take_rtt(self, rtt: float) -> None:
        if self.srtt:
            self.rttvar += (abs(self.srtt - rtt) - self.rttvar) / 4
            self.srtt += (rtt - self.srtt) / 8
        else:
            self.srtt, self.rttvar = rtt, rtt / 2

    def _hear_ecn(self, got: wire.Segment) -> None:
        if self.ecn == "ecn" and got.flags & ECE and self.una > self.reduced_at:
            self.cwnd = self.ssthresh = max(self.cwnd // 2, 2 * self.mss)
            self.reduced_at, self.cwr_due = self.max, True

    def _note_loss(self) -> None:
        """A recovery begins, or learns of further holes (RFC 6675)."""
        top = self.sacked.list[-1][1] if self.sacked.list else self.una
        if self.sacked.bytes < 3 * self.mss and self.duplicates < 3 and self.una >= self.recover:
            return
        if self.una >= self.recover:
            self.recover, self.repaired_to = self.max, self.una
            self.ssthresh = max(self.pipe // 2, 2 * self.mss)
            self.cwnd = self.ssthresh
            if not self.sacked.list:
                top = min(self.una + self.full, self.max)
        elif self.una > self.repaired_to and not self.sacked.list:
            top = min(self.una + self.full, self.max)  # a partial ACK
        start = max(self.una, self.repaired_to)
        for hole in list(self.sacked.holes(start, top)):
            self.again.add(*hole)
        self.repaired_to = max(self.repaired_to, top)

    def _hear_window(self, got: wire.Segment) -> None:
        """RFC 9293, 3.10.7.4."""
        at, ack = self._peers(got.seq), self._own(got.ack)
        edge = ack + (got.window << self.peer_wscale)
        if ack < self.una:
            return
        if at > self.wl1 or ack > self.wl2 or edge > self.edge:
            if edge < self.edge:
                self.note("the window closes again")
            self.edge, self.wl1 = edge, max(at, self.wl1)
            self.wl2 = ack
            self.max_window = max(self.max_window, edge - ack)
        if self.edge > self.nxt:
            self.persist_at = NEVER

    def _hear_data(self, got: wire.Segment) -> None:
        if not got.span:
            return
        at = self._peers(got.seq)
        end = at + len(got.payload)
        if got.payload != stream(at, end):
            self.note("other bytes than were sent")
        self._hear_marks(got)
        if got.flags & FIN:
            self.fin_at = end
        if end > self.offered:
            self.note("beyond the window")
        if end + bool(got.flags & FIN) <= self.rcv:
            self._doubled(at, end)
            self.ack_now = True
            return
        self._doubled(at, min(end, self.rcv))
        if end > self.rcv:
            self.beyond.add(max(at, self.rcv), end)
            self.newest = max(at, self.rcv), end
        hole = at > self.rcv or len(self.beyond.list) > 1
        if self.beyond.list and self.beyond.list[0][0] <= self.rcv:
            self.rcv = self.beyond.list[0][1]
            self.beyond.below(self.rcv)
        if self.fin_at == self.rcv:
            self.rcv += 1
            self.ack_now = True
        self.ack_now |= hole or self.rcv - self.told >= 2 * (self.mss - 40)
        self.ack_at = min(self.ack_at, self.now() + self.habits.delay_s)

    def _doubled(self, at: int, end: int) -> None:
        if at < end <= self.rcv:
            self.duplicate = at, end

    def _hear_marks(self, got: wire.Segment) -> None:
        if self.ecn and got.flags & CWR and self.ecn == "ecn":
            self.echo = False
        if self.ecn and got.tos & 3 == 3:
            self.echo = True
            self.ce_packets += 1
            self.ce_bytes += len(got.payload)
            self.tells_bytes = 2
            self.ack_now = True

    # Sending -----------------------------------------------------------------------

    @property
    def pipe(self) -> int:
        """The bytes on their way, as far as it knows."""
        return self.max - max(self.una, 0) - self.sacked.bytes - self.again.bytes

    def _arm(self) -> None:
        if self.una < self.max and self.rto_at == NEVER:
            rto = max(self.habits.rto_min_s, self.srtt + 4 * self.rttvar) if self.srtt else 1.0
            self.rto_at = self.now() + min(rto * 2**self.backoff, 8.0)

    def work(self) -> None:
        """Do what is due: the application, what may be sent, and at last an ACK."""
        self._run_application()
        if self.open:
            while self._send_again() or self._send_new():
                pass
            if self.ack_now or self.ack_at <= self.now() or self._opens():
                self._ack()
            self._probe()

    def _opens(self) -> bool:
        """Has the application made enough room that the peer should be told?"""
        right = self.read + self.habits.buffer_bytes
        closed = self.offered - self.rcv < 2 * self.mss
        return closed and right - self.offered >= min(2 * self.mss, self.habits.buffer_bytes // 2)

    def _send_again(self) -> bool:
        if not self.again.list:
            return False
        start, end = self.again.list[0]
        end = min(end, start + self.full)
        if self.pipe and self.pipe + end - start > self.cwnd:
            return False
        self.again.below(end)
        self._send(start, end, False)
        self._arm()
        return True

    def _send_new(self) -> bool:
        self.nxt = max(self.nxt, self.max)
        size, burst = self.full, self.random.randint(1, self.habits.burst_segs)
        room = min(self.edge - self.nxt, self.cwnd - self.pipe)
        end = min(self.written, self.nxt + room, self.nxt + size * burst)
        if end < self.written:
            if end - self.nxt < size:
                if end <= self.nxt or self.pipe:
                    return False
            else:
                end -= (end - self.nxt) % size
        if end == self.written and self.closing and self.edge > self.nxt:
            end += 1
        if end <= self.nxt:
            return False
        self._send(self.nxt, end, True)
        self.nxt = self.max = end
        self.persist_at = NEVER
        self._arm()
        return True

    def _probe(self) -> None:
        """Ask for a window that is closed (RFC 9293, 3.8.6.1)."""
        waits = self.nxt < self.end and self.una == self.max and self.edge <= self.nxt
        if not waits:
            self.persist_at = NEVER
        elif self.persist_at == NEVER:
            self.persist_at = self.now() + max(self.habits.rto_min_s, 2 * self.srtt)
        elif self.persist_at <= self.now():
            self.persist_at = NEVER
            if self.habits.byte_probe and self.nxt < self.written:
                self._send(self.nxt, self.nxt + 1, True)
                self.max = self.nxt = self.nxt + 1
                self._arm()
            else:
                self._send(self.una - 1, self.una - 1, False)
                self.persist_at = self.now() + 2 * max(self.habits.rto_min_s, 2 * self.srtt)

    # Times -------------------------------------------------------------------------

    def deadline(self) -> float:
        """When it wants to be looked at."""
        return min(self.rto_at, self.ack_at, self.persist_at, self.app_at)

    def look(self) -> None:
        """The time has come for something, perhaps."""
        if self.rto_at <= self.now():
            self._time_out()
        if self.deadline() <= self.now():
            self.work()

    def _time_out(self) -> None:
        self.rto_at = NEVER
        self.backoff += 1
        if self.habits.rethinks and self.head.flow_label:
            self.head = self.head.but(flow_label=self.random.randrange(1, 2**20))
        if not self.open:
            self.connect()
            return
        self.ssthresh = max(self.pipe // 2, 2 * self.mss)
        self.cwnd, self.recover = self.mss, self.max
        self.repaired_to = self.max
        self.sacked.list.clear()
        self.again.list[:] = [(self.una, self.max)]
        self._arm()
        self.work()

    def _run_application(self) -> None:
        self.app_at = NEVER
        if self.deaf_until > self.now():
            self.app_at = self.deaf_until
        else:
            self.read = min(self.rcv, self.fin_at if self.fin_at is not None else self.rcv)
        while self.open and self.steps and self.read >= self.steps[0].heard:
            step = self.steps[0]
            if step.rest_s:
                self.steps[0] = Step(step.heard, 0, step.says, step.deaf_s, step.closes)
                self.rest_until = self.now() + step.rest_s
            if self.rest_until > self.now():
                self.app_at = min(self.app_at, self.rest_until)
                return
            self.steps.pop(0)
            self.written += step.says
            self.closing |= step.closes
            if step.deaf_s:
                self.deaf_until = self.now() + step.deaf_s
                self.app_at = self.deaf_until


# --- the path ---------------------------------------------------------------------


@dataclass(frozen=True)
class Road:
    """One direction between TCon and the far end."""

    delay_s: float = 0.01
    loss: float = 0  # of data; what a packet on its way to TCon acknowledges comes in any case
    marks: float = 0  # CE, where a packet is ECN-capable
    doubles: float = 0  # ACKs without data that come twice


@dataclass(frozen=True)
class Scenario:
    """The behaviour of two ends, and the path between them."""

    seed: int
    guest: Habits
    peer: Habits
    guest_steps: list[Step]
    peer_steps: list[Step]
    ways: tuple[wire.Segment, ...] = ()  # headers of the guest's; another one after so long each
    way_s: float = NEVER
    dies_s: float = NEVER  # then nothing arrives any more by the next hop and label of then
    peer_opens: bool = False
    out: Road = field(default_factory=Road)
    back: Road = field(default_factory=Road)
    limit_s: float = 60


@dataclass(frozen=True)
class Frame:
    """A frame that entered at one of the two ports, or has left there."""

    at_guest: bool
    raw: bytes
    partial: bool
    gso_bytes: int
    segment: wire.Segment

    @property
    def link(self) -> bytes:
        """Addresses and tags, as they are."""
        return self.raw[: 14 + 4 * len(self.segment.vlans)]

    @property
    def sums_ok(self) -> bool:
        """Is the checksum right, or what an offload needs?"""
        got = self.segment
        size = len(got.payload) + len(got.options) + 20
        if not self.partial:
            return got.sums_ok
        return got.check == wire.ones_sum(wire.pseudo_header(got.src, got.dst, size))


class Judge(Protocol):
    """It looks at all that enters and leaves."""

    def saw(self, entered: Frame | None, left: list[Frame]) -> None:
        """The frames that left when one entered; None: by themselves."""


def pieces(frame: Frame) -> Iterator[wire.Segment]:
    """The segments that a device makes of a super-packet."""
    got, size = frame.segment, frame.gso_bytes or max(len(frame.segment.payload), 1)
    for at in range(0, max(len(got.payload), 1), size):
        flags = got.flags
        if at + size < len(got.payload):
            flags &= ~(FIN | PSH)
        if at and got.tos & 3 != 3:
            flags &= ~CWR
        yield got.but(seq=got.seq + at, payload=got.payload[at : at + size], flags=flags)


class World:
    """A guest and a peer, TCon before the guest, a path behind it."""

    def __init__(self, guest: rigs.Tap, uplink: rigs.Tap, scenario: Scenario, judge: Judge) -> None:
        self.taps, self.scenario, self.judge = (guest, uplink), scenario, judge
        self.random = random.Random(scenario.seed)
        self.count = itertools.count()
        self.due: list[tuple[float, int, Callable[[], None]]] = []
        self.inbox: list[wire.Segment] = []
        self.told = 0  # what the peer acknowledges
        self.dead: tuple[bytes, int] | None = None
        self.ways = list(scenario.ways)
        head = self.ways.pop(0)
        back = head.but(
            src=head.dst, dst=head.src, sport=head.dport, dport=head.sport,
            src_mac=head.dst_mac, dst_mac=head.src_mac, flow_label=head.flow_label and 1,
        )  # fmt: skip
        rigs.wait((-rigs.now_ns() % _TICKS_NS) / 1e9)
        self.began_ns = rigs.now_ns()
        guest, peer = list(scenario.guest_steps), list(scenario.peer_steps)
        self.guest = End(scenario.guest, head, guest, self.now, self._from_guest)
        self.peer = End(scenario.peer, back, peer, self.now, self._from_peer)

    def now(self) -> float:
        """Seconds since it began."""
        return (rigs.now_ns() - self.began_ns) / 1e9

    def _at(self, when: float, call: Callable[[], None]) -> None:
        heapq.heappush(self.due, (when, next(self.count), call))

    def _from_guest(self, segment: wire.Segment, gso_bytes: int) -> None:
        self._enter(True, segment, gso_bytes, self.scenario.guest.partial)

    def _from_peer(self, segment: wire.Segment, gso_bytes: int) -> None:
        road, partial = self.scenario.back, self.scenario.peer.partial
        if segment.payload and self.random.random() < road.loss:
            segment, gso_bytes = segment.but(payload=b"", flags=segment.flags & ~(PSH | FIN)), 0
            if (segment.ack - self.told - 1) % 2**32 >= 2**31:
                return
        self.told = segment.ack
        if segment.tos & 3 and self.random.random() < road.marks:
            segment = segment.but(tos=segment.tos | 3)
        for _ in range(1 + (not segment.span and self.random.random() < road.doubles)):
            self._at(
                self.now() + road.delay_s,
                lambda: self._enter(False, segment, gso_bytes, partial),
            )

    def _enter(self, at_guest: bool, segment: wire.Segment, gso_bytes: int, partial: bool) -> None:
        raw = segment.but(partial=partial).frame()
        tap = self.taps[not at_guest]
        kind = rigs.VNET_GSO_TCPV4 if "." in segment.src else rigs.VNET_GSO_TCPV6
        tap.send(raw, segment.header_bytes() if partial else 0, gso_bytes, kind if gso_bytes else 0)
        self._take(Frame(at_guest, raw, partial, gso_bytes, segment))

    def _take(self, entered: Frame | None) -> None:
        """Hand the frames that have left to the ends."""
        left = []
        for at_guest, tap in ((True, self.taps[0]), (False, self.taps[1])):
            while (raw := tap.recv(0)) is not None:
                segment = wire.decode(raw)
                assert segment, raw
                partial = bool(tap.last_flags)
                left.append(Frame(at_guest, raw, partial, tap.last_gso_bytes, segment))
        if entered or left:
            self.judge.saw(entered, left)
        for frame in left:
            if frame.at_guest:
                self.inbox.append(frame.segment)
            else:
                self._on_its_way(frame)

    def _on_its_way(self, frame: Frame) -> None:
        road, passed = self.scenario.out, self.now() + self.scenario.out.delay_s
        if (frame.segment.dst_mac, frame.segment.flow_label) == self.dead:
            return
        for piece in pieces(frame):
            if self.random.random() < road.loss and self.guest.open:
                continue
            if piece.tos & 3 and self.random.random() < road.marks:
                piece.tos |= 3
            self._at(passed, functools.partial(self.peer.receive, piece))

    def _die(self) -> None:
        self.dead = self.guest.head.dst_mac, self.guest.head.flow_label

    def _change_way(self) -> None:
        way = self.ways.pop(0)
        self.guest.head = self.guest.head.but(
            src_mac=way.src_mac, dst_mac=way.dst_mac, flow_label=way.flow_label
        )
        if self.ways:
            self._at(self.now() + self.scenario.way_s, self._change_way)

    def _settle(self) -> None:
        """All that is due now."""
        while True:
            if self.inbox:
                self.guest.receive(self.inbox.pop(0))
            elif self.due and self.due[0][0] <= self.now():
                heapq.heappop(self.due)[2]()
            else:
                ends = [e for e in (self.guest, self.peer) if e.deadline() <= self.now()]
                if not ends:
                    return
                for end in ends:
                    end.look()

    @property
    def done(self) -> bool:
        settled = not self.due or self.due[0][0] == NEVER
        return self.guest.done and self.peer.done and settled

    def run(self) -> float:
        """Until both are done, or the limit; how long that took."""
        self._at(self.scenario.dies_s, self._die)
        if self.ways:
            self._at(self.scenario.way_s, self._change_way)
        (self.peer if self.scenario.peer_opens else self.guest).connect()
        until = self.scenario.limit_s
        while not self.done and self.now() < until:
            self._settle()
            if self.done:
                break
            wake = min(self.guest.deadline(), self.peer.deadline(), until)
            if self.due:
                wake = min(wake, self.due[0][0])
            rigs.wait(max(wake - self.now(), 1e-9), rigs.ANY_PORT)
            self._take(None)
        return self.now()
