# SPDX-License-Identifier: GPL-2.0-only
"""A sender's buffer, and what it must send: a second implementation, slow and without packets.

A buffer keeps bytes, by their number in the guest's stream.  The model is told what enters from the
guest and the peer, and what the CC allows.  From these follow for each segment that leaves its
bytes, its header, whether it may leave at that time, and whether it may leave again; and what
should have left by then.  A difference is a finding, which has a kind and a sentence.

A header says what the guest said last (RFC 9293, 3.10.7.4, and what any sender does).  Data leaves
in the order of its numbers, once, unless there is a reason to send it again (RFC 8985, RFC 6298,
RFC 6582); when cwnd has room (RFC 5681, 3.1) and the pacer's clock has come, and not much later.
"""

from __future__ import annotations

from dataclasses import dataclass

from ranges import Ranges
from traces import Event, Frame, Limits
from wire import ACK, CWR, ECE, FIN, PSH, RST, SYN

NS = 1_000_000_000
#: Segments that the clock allows within that leave together, and timers go off that late.
QUANTUM_NS, TICK_NS = 125_000, 128_000
#: A clock that is late makes up for that much.
LATE_NS = 250_000
#: A segment that may leave now has left after that: a tick of the pacer and one of the timers.
SOON_NS = 2 * TICK_NS
#: A silence of an RTO, at least as long as Linux's shortest, frees what waits.
RTO_MIN_NS = NS // 5
#: A rate may soon change: nothing waits for longer because of today's.
AHEAD_MAX_NS = NS
#: An initial window is not paced (RFC 6928).
UNPACED_SEGS = 10
#: A receiver's own delay (RFC 5681, 4.2), with a timer's tick.
DELAYED_ACK_NS = 50_000_000


@dataclass(frozen=True)
class Finding:
    """A difference, `ns` on the trace's clock."""

    ns: int
    kind: str
    what: str


@dataclass
class Sent:
    """A segment on the wire, start .. end - 1; `order` counts all of them."""

    start: int
    end: int
    ns: int
    order: int
    arrived: bool = False


class Clock:
    """When a pacer lets the next segment leave: between a clock that makes up for all that it may,
    and one that makes up for nothing.
    """

    def __init__(self) -> None:
        self.soonest_ns = self.latest_ns = 0

    def advance(self, now_ns: int, length_ns: int) -> None:
        most_ns = now_ns + AHEAD_MAX_NS
        self.soonest_ns = min(max(self.soonest_ns, now_ns - LATE_NS) + length_ns, most_ns)
        self.latest_ns = min(max(self.latest_ns, now_ns) + length_ns, most_ns)

    def restart(self, now_ns: int) -> None:
        """Nothing is in flight: a sender's timer repeats the head at once."""
        self.soonest_ns, self.latest_ns = min(self.soonest_ns, now_ns), min(self.latest_ns, now_ns)


class Buffer:
    """One guest's half of a connection.  Numbers count from its first byte of data."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.judged = 0  # segments with data, of an enforced flow
        self.now_ns = 0
        self.isn: int | None = None
        self.stream = bytearray()
        self.entered, self.left = Ranges(), Ranges()
        self.ends: dict[int, int] = {}  # PSH and FIN, by the number behind them
        self.stamps: dict[int, int] = {}  # TSval of first transmissions of the guest, by number
        self.said: Frame | None = None
        self.passing: Frame | None = None  # it has just entered, and may leave as it is
        self.limits: Limits | None = None
        self.clock = Clock()
        self.una = self.nxt = self.acked = self.sent_bytes = 0
        self.sacked, self.lost = Ranges(), Ranges()
        self.sent: list[Sent] = []
        self.order = 0
        self.arrived_order = 0  # of the latest transmission that has arrived
        self.told_ns = -1  # when something last told of what has arrived
        self.left_ns = -1  # when something last left
        self.silent = False  # for so long that what waits leaves: the peer may wait for it
        self.syn_ns = 0
        self.min_rtt_ns: int | None = None
        self.timeout_ns = -1
        self.fresh_tsval: int | None = None  # the peer remembers it, or a newer one
        self.scale, self.scales = 0, False  # of the peer's windows, if the guest's SYN has one
        self.peer_acked = self.peer_edge = 0  # the most that the peer has said
        self.told: int | None = None  # what the peer was told that the guest has
        self.untold_ns = self.due_ns = None

    # --- the trace ----------------------------------------------------------------

    def run(self, events: list[Event]) -> list[Finding]:
        """All findings of a connection's trace, or of it up to where the flow moved."""
        following: list[Limits | None] = [None] * len(events)
        for n in range(len(events) - 2, -1, -1):
            following[n] = events[n + 1].limits or following[n + 1]
        for event, after in zip(events, following, strict=True):
            if event.what == "moved":
                return self.findings
            if event.ns != self.now_ns:
                self._note_late(event.ns)
                self.now_ns = event.ns
                self.silent = event.ns - max(self.told_ns, self.left_ns) >= RTO_MIN_NS
            if event.limits:
                self._allow(event.limits)
                continue
            assert event.frame
            if event.what == "guest":
                self._enter(event.frame)
            elif event.what == "peer":
                self._hear(event.frame)
            elif event.what == "left":
                self._leave(event.frame, after)
            elif event.what == "given":
                self._give(event.frame)
        if self._judges():
            self._end()
        return self.findings

    def _find(self, kind: str, what: object) -> None:
        self.findings.append(Finding(self.now_ns, kind, str(what)))

    def _at(self, seq: int) -> int:
        """Number of a byte; the SYN's is -1."""
        assert self.isn is not None
        return (seq - self.isn - 1 + 2**31) % 2**32 - 2**31

    def _judges(self) -> bool:
        return self.limits is not None and self.limits.state == "repair-enforced"

    # --- what enters ----------------------------------------------------------------

    def _enter(self, frame: Frame) -> None:
        self._note_passed()
        self.passing = frame
        if frame.flags & SYN:
            self.isn, self.syn_ns = frame.seq, self.now_ns
            self.scales = frame.wscale is not None
        if self.isn is None:
            return
        if self._is_newest(frame):
            self.said = frame
        start = self._at(frame.seq)
        end = start + len(frame.payload)
        if frame.flags & (SYN | RST) or start < 0 or not frame.span:
            return
        if self._judges() and frame.payload != self._same(start, frame.payload):
            self._find("guest: other bytes", (start, end))
        self.stream.extend(bytes(max(end - len(self.stream), 0)))
        self.stream[start:end] = frame.payload
        if frame.stamps:
            for at in range(start, end, frame.gso or max(end - start, 1)):
                self.stamps.setdefault(at, frame.stamps[0])
        if frame.flags & (PSH | FIN):
            self.ends[end] = self.ends.get(end, 0) | frame.flags & (PSH | FIN)
        self.entered.add(start, start + frame.span)

    def _same(self, start: int, payload: bytes) -> bytes:
        """The bytes that the guest sent there before; else the ones that it sends now."""
        same = bytearray(payload)
        for a, b in self.entered.common(start, start + len(payload)):
            b = min(b, len(self.stream))  # the FIN is no byte
            same[a - start : b - start] = self.stream[a:b]
        return bytes(same)

    def _is_newest(self, frame: Frame) -> bool:
        """Its segments may overtake each other before they enter."""
        if not self.said or frame.flags & SYN:
            return True
        if frame.stamps and self.said.stamps and frame.stamps[0] != self.said.stamps[0]:
            return (frame.stamps[0] - self.said.stamps[0]) % 2**32 < 2**31
        return (frame.ack - self.said.ack) % 2**32 < 2**31

    def _hear(self, frame: Frame) -> None:
        self._note_passed()
        if self.isn is None or not frame.flags & ACK:
            return
        if frame.flags & SYN:
            self.min_rtt_ns = self.now_ns - self.syn_ns
            self.scale = (frame.wscale or 0) if self.scales else 0
            self.peer_edge = max(self.peer_edge, self._at(frame.ack) + frame.window)
            return
        ack = self._at(frame.ack)
        self.peer_acked = max(self.peer_acked, ack)
        self.peer_edge = max(self.peer_edge, ack + (frame.window << self.scale))
        if ack < self.una or ack > self._entered_end():
            return  # late, or of what the buffer never had
        self.told_ns = self.now_ns
        self.acked = max(self.acked, ack)
        self.una = ack = min(ack, self.nxt)
        for start, end in frame.sacks:
            if self._at(start) >= ack:
                self.sacked.add(self._at(start), min(self._at(end), self.nxt))
        self.sacked.remove(-1, ack)
        for sent in self.sent:
            if not sent.arrived and (
                sent.end <= ack or not self.sacked.missing(sent.start, sent.end)
            ):
                self._note_arrived(sent)
        self.sent = [sent for sent in self.sent if sent.end > ack or not sent.arrived]

    def _give(self, frame: Frame) -> None:
        """The guest hears no more than the peer has said."""
        if self.isn is None or frame.flags & SYN or not frame.flags & ACK:
            return
        ack = self._at(frame.ack)
        if ack > self.peer_acked:
            self._find("given: acknowledges more", (ack, self.peer_acked))
        if ack + (frame.window << self.scale) > self.peer_edge:
            self._find("given: offers more", (ack, frame.window, self.peer_edge))

    def _entered_end(self) -> int:
        return self.entered.pairs[-1][1] if self.entered else 0

    def _note_arrived(self, sent: Sent) -> None:
        sent.arrived = True
        self.arrived_order = max(self.arrived_order, sent.order)
        rtt_ns = self.now_ns - sent.ns
        self.min_rtt_ns = rtt_ns if self.min_rtt_ns is None else min(self.min_rtt_ns, rtt_ns)

    def _allow(self, limits: Limits) -> None:
        self._note_passed()
        before, self.limits = self.limits, limits
        if before and limits.timeouts > before.timeouts:
            self.timeout_ns = self.now_ns
            self.clock.restart(self.now_ns)
        if self.isn is None:
            return
        falls = limits.state not in ("repair-enforced", before.state if before else "")
        if falls and limits.reason not in ("handshake", "closed", "no-rule"):
            self._find(f"state: {limits.state}, {limits.reason}", "")
        self.lost = Ranges((self._at(start), self._at(end)) for start, end in limits.lost)
        for start, end in self.lost:
            self.sacked.remove(start, end)  # the peer has thrown it away (RFC 2018, 8)
        if self._judges() and not limits.busy and limits.inflight != self._inflight():
            self._find("inflight", (limits.inflight, self._inflight(), self.una, self.nxt))
        self._note_due()

    # --- what leaves ------------------------------------------------------------------

    def _inflight(self) -> int:
        """RFC 6675's pipe, by what was judged lost."""
        assert self.limits
        gone = Ranges(self.sacked.pairs + self.lost.pairs).size(self.una, self.nxt)
        return max(self.nxt - self.una - gone - self.limits.gone, 0)

    def _leave(self, frame: Frame, after: Limits | None) -> None:
        as_it_is = self.passing is not None and frame.raw == self.passing.raw
        if as_it_is:
            self.passing = None
        if self.isn is None or self.said is None or frame.flags & (SYN | RST):
            return
        if self.told is None or (frame.ack - self.told) % 2**32 < 2**31:
            self.told = frame.ack
        start, end = self._at(frame.seq), self._at(frame.seq) + frame.span
        if not frame.span:
            if not as_it_is and self._judges():
                self._judge_header(frame, "ACK")
                if start != self.nxt:
                    self._find("ACK: SEQ", (start, self.nxt))
            return
        again = self.left.common(start, min(end, self.nxt))
        if self._judges() and start >= 0:
            self.judged += 1
            self._judge_bytes(frame, start, end)
            if not as_it_is:
                self._judge_header(frame, "repair" if end <= self.nxt else "first")
            if again:
                self._judge_again(again, end, as_it_is)
            if end > self.nxt:
                self._judge_first(frame, max(start, self.nxt), end, after)
            self._judge_tsval(frame, start)
        self._note_sent(frame, start, end, after)

    def _judge_bytes(self, frame: Frame, start: int, end: int) -> None:
        data_end = start + len(frame.payload)
        if self.entered.missing(start, end):
            self._find("bytes: never sent", (start, end))
        elif frame.payload != bytes(self.stream[start:data_end]):
            self._find("bytes: others", (start, end))
        for flag, name in ((PSH, "PSH"), (FIN, "FIN")):
            if frame.flags & flag and not self.ends.get(data_end, 0) & flag:
                self._find(f"bytes: {name}", (start, end))

    def _judge_header(self, frame: Frame, what: str) -> None:
        said = self.said
        assert said
        fits = {
            "ACK number": frame.ack == said.ack,
            "window": frame.window == said.window,
            "ECN flags": (frame.ae, frame.flags & ECE) == (said.ae, said.flags & ECE),
            "CWR": what == "first" or not frame.flags & CWR,
            "reports": frame.reports <= said.reports,
            "TSecr": (frame.stamps or (0, 0))[1] == (said.stamps or (0, 0))[1],
            **{name: frame.outer.get(name) == value for name, value in said.outer.items()},
        }
        for name, fit in fits.items():
            if not fit:
                self._find(f"{what}: {name}", (self._at(frame.seq), frame.span))

    def _judge_tsval(self, frame: Frame, start: int) -> None:
        """No older than the original's, nor newer than the newest; and the peer takes it (PAWS,
        RFC 7323, 5).
        """
        assert self.said
        if not frame.stamps or not self.said.stamps:
            if bool(frame.stamps) != bool(self.said.stamps):
                self._find("TSval: none", start)
            return
        tsval, newest = frame.stamps[0], self.said.stamps[0]
        first = self.stamps.get(start, tsval)
        if not (tsval - first) % 2**32 <= (newest - first) % 2**32 < 2**31:
            self._find("TSval: of no time", (start, first, tsval, newest))
        if self.fresh_tsval is not None and (tsval - self.fresh_tsval) % 2**32 >= 2**31:
            self._find("TSval: the peer has a newer one", (start, tsval, self.fresh_tsval))

    def _judge_again(self, again: list[tuple[int, int]], end: int, by_guest: bool) -> None:
        """Is there a reason to send it again?"""
        kind = "again, by the guest" if by_guest else "again"
        for a, b in again:
            if b <= self.una:
                continue  # a keep-alive, or a probe of a window
            times = [sent for sent in self.sent if sent.start < b and sent.end > a]
            last = max(times, key=lambda sent: sent.order)
            if not self.sacked.missing(max(a, self.una), b) and self.timeout_ns < last.ns:
                self._find(f"{kind}: has arrived", (a, b))
            elif by_guest and len(times) < 3:
                self._find(f"{kind}: is not lost twice", (a, b))
            elif not by_guest and not self._is_due_again(a, b, last):
                self._find(f"{kind}: no reason", (a, b, self.now_ns - last.ns))

    def _is_due_again(self, start: int, end: int, last: Sent) -> bool:
        """Something that left later has arrived (RFC 8985, 6.2); or, without SACK, an ACK came
        since (RFC 6582, 3.2); or a time-out; or it is the tail after a round trip, or at the time
        of the head's time-out (RFC 8985, 7.2).
        """
        assert self.limits
        if self.arrived_order > last.order or self.timeout_ns >= last.ns:
            return True
        if self.limits.gone and self.told_ns > last.ns:
            return True
        rtt_ns = self.min_rtt_ns or NS
        if end == self.nxt and self.now_ns - self.told_ns >= max(rtt_ns, RTO_MIN_NS):
            return True
        return (end == self.nxt or start <= self.una) and self.now_ns - last.ns >= rtt_ns

    def _judge_first(self, frame: Frame, start: int, end: int, after: Limits | None) -> None:
        if start > self.nxt:
            for a, b in self.entered.common(self.nxt, start):
                self._find("lost: others leave before", (a, b))
        if end <= self.acked:
            self._find("again: the peer has it", (start, end))
        limits = [one for one in (self.limits, after) if one]
        if any(one.free or one.state != "repair-enforced" for one in limits):
            return
        if self.silent:
            return
        data, inflight = min(len(frame.payload), end - start), self._inflight()
        when = " at a time-out" if self.timeout_ns == self.now_ns else ""
        if inflight and not any(self._fits(one, inflight, data) for one in limits):
            self._find(f"early{when}: cwnd", (start, data, inflight, [one.cwnd for one in limits]))
        ahead_ns = QUANTUM_NS + max(self._length_ns(one.burst, one) for one in limits)
        if self.clock.soonest_ns > self.now_ns + ahead_ns:
            self._find(f"early{when}: clock", (start, self.clock.soonest_ns - self.now_ns))

    @staticmethod
    def _fits(limits: Limits, inflight: int, data: int) -> bool:
        if limits.strict:
            return inflight + data <= limits.cwnd
        return inflight + data < limits.cwnd + limits.mss

    @staticmethod
    def _length_ns(data: int, limits: Limits) -> int:
        return data * 8 * NS // limits.rate if limits.rate else 0

    def _note_sent(self, frame: Frame, start: int, end: int, after: Limits | None) -> None:
        assert self.limits
        data = len(frame.payload)
        self.sent_bytes += data
        self.left_ns = self.now_ns
        for at in range(start, end, frame.gso or end - start):
            self.order += 1
            to = min(at + (frame.gso or end - start), end)
            self.sent.append(Sent(at, to, self.now_ns, self.order))
        self.left.add(start, end)
        self.nxt = max(self.nxt, end)
        self.lost.remove(start, end)
        self.sacked.remove(start, end)  # it is in flight again
        if frame.stamps and start <= self.una:
            newest = self.fresh_tsval
            if newest is None or (frame.stamps[0] - newest) % 2**32 < 2**31:
                self.fresh_tsval = frame.stamps[0]
        fastest = max((one for one in (self.limits, after) if one), key=lambda one: one.rate)
        if self.sent_bytes >= UNPACED_SEGS * self.limits.mss and self.limits.rate:
            charge = max(data, (data + frame.header_bytes()) // 2)
            self.clock.advance(self.now_ns, self._length_ns(charge, fastest))
        self._note_due()

    # --- what should have left ----------------------------------------------------------

    def _note_passed(self) -> None:
        """An ACK without data has left by now, whatever waits."""
        frame, self.passing = self.passing, None
        if frame and not frame.span and self._judges() and self.said is frame:
            self._find("late: ACK without data", self._at(frame.seq))

    def _waits(self) -> int:
        """Bytes at hand that are next to leave for the first time."""
        ahead = self.entered.common(self.nxt, self.nxt + 2**20)
        return ahead[0][1] - self.nxt if ahead and ahead[0][0] == self.nxt else 0

    def _may_leave(self) -> bool:
        """By cwnd a repair may leave, or a quarter of cwnd that waits: a super-packet's most."""
        limits, inflight = self.limits, self._inflight()
        assert limits
        if self.lost:
            return self.lost.pairs[0][0] == self.una or inflight < limits.cwnd
        waits = self._waits()
        piece = max(limits.cwnd // 4, 2 * limits.mss)
        return waits > 0 and (not inflight or self._fits(limits, inflight, min(waits, piece)))

    def _note_due(self) -> None:
        if not self._judges() or not self._may_leave():
            self.due_ns = None
        elif self.due_ns is None:
            self.due_ns = max(self.now_ns, self.clock.latest_ns - QUANTUM_NS)
        else:
            self.due_ns = max(self.due_ns, self.clock.latest_ns - QUANTUM_NS)

    def _note_late(self, next_ns: int) -> None:
        """Nothing happens before that."""
        self._note_passed()
        if self.due_ns is not None and next_ns > self.due_ns + SOON_NS:
            what = (
                "data"
                if not self.lost
                else "repair, without SACK"
                if self.limits.gone
                else "repair"
            )
            self._find(f"late: {what}", (self.nxt, next_ns - self.due_ns))
            self.due_ns = next_ns
        self._note_untold(next_ns)

    def _note_untold(self, next_ns: int) -> None:
        """The peer hears of two segments without delay (RFC 5681, 4.2)."""
        if not self._judges() or self.told is None or self.said is None:
            return
        if (self.said.ack - self.told) % 2**32 < 2 * self.limits.mss:
            self.untold_ns = None
        elif self.untold_ns is None:
            self.untold_ns = self.now_ns
        elif next_ns > self.untold_ns + DELAYED_ACK_NS:
            self._find("late: ACK", (self.said.ack - self.told) % 2**32)
            self.untold_ns = next_ns

    def _end(self) -> None:
        never = Ranges(self.entered.pairs)
        for a, b in self.left:
            never.remove(a, b)
        never.remove(-1, self.acked)
        for a, b in never:
            self._find("lost: never left", (a, b))
