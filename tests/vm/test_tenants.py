# SPDX-License-Identifier: GPL-2.0-only
"""Guests that want more than their rule gives them, for as long as a connection lasts.

A guest sends without regard to windows, more than twice as fast as its CC allows.  Its peer is on
its side: it acknowledges the last that it got after a round trip, whatever is missing before.
Under a CC whose cwnd does not change the rate is known.  No way to send may get more through.
"""

from __future__ import annotations

import collections
import itertools
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import genl
import pytest
import rig as rigs
import wire
from rig import Conn
from test_fallback import EVASIONS, fragments, shake
from wire import ACK, FIN, PSH, RST, SYN, URG

pytestmark = [pytest.mark.script, pytest.mark.both]
Ends = tuple[rigs.Tap, rigs.Tap]

MSS = 1400  # payload of a segment, with room for what some ways add
CWND_SEGS = 40
RTT_S = 0.04
#: Segments that an honest guest gets through in a second.
ALLOWED_PPS = CWND_SEGS / RTT_S
GREEDY_PPS = 2.5 * ALLOWED_PPS
START_S = 4 * RTT_S  # not counted
BIG = 0x8000  # window field


@pytest.fixture(scope="module")
def ends(machine: None) -> Iterator[Ends]:
    """A guest's tap that makes super-packets, and an uplink's that gets single segments."""
    made = rigs.Rig()
    with rigs.badcc():
        try:
            yield made.taps(rigs.TSO)
        finally:
            rigs.Genl().del_rules("br1")
            made.close()


# --- ways to send -----------------------------------------------------------------

Sent = tuple[bytes, *tuple[int, ...]]  # for Tap.send()


def opened(conn: Conn) -> Conn:
    return shake(conn)


def odd_option(conn: Conn) -> Conn:
    """AO of a wrong length, which the peer ignores."""
    usual = conn.from_guest(SYN).options
    return shake(conn, usual + bytes((29, 3, 1, 1)))


def half_open(conn: Conn) -> Conn:
    """The peer opened; the ACK of the guest's SYN-ACK takes another way."""
    conn.peer_sends(SYN)
    conn.guest_sends(SYN | ACK)
    return conn


def claims_much(conn: Conn) -> Conn:
    """Both say that they take larger segments than the guest's device: cwnd counts segments."""
    conn.mss_bytes = 65000
    rigs.set_mtu("tg", MSS + 40)
    shake(conn)
    rigs.set_mtu("tg", rigs.SCRIPTED_MTU)
    return conn


def plain(conn: Conn, seq: int) -> list[Sent]:
    return [(conn.from_guest(PSH | ACK, bytes(MSS), seq=seq).frame(),)]


def in_fragments(conn: Conn, seq: int) -> list[Sent]:
    return [(f,) for f in fragments(conn.from_guest(PSH | ACK, bytes(MSS), seq=seq), 1000)]


def all_ends(conn: Conn, seq: int) -> list[Sent]:
    """Each segment says that it is the last."""
    return [(conn.from_guest(FIN | PSH | ACK, bytes(MSS), seq=seq).frame(),)]


def urgent(conn: Conn, seq: int) -> list[Sent]:
    sent = conn.from_guest(PSH | ACK | URG, bytes(MSS), seq=seq, urgent=MSS)
    return [(sent.frame(),)]


def behind(flags: int, ahead: int, payload: bytes = b"") -> Callable[[Conn, int], list[Sent]]:
    """Each behind a segment that would end a connection, or begin one, or that is far ahead."""

    def make(conn: Conn, seq: int) -> list[Sent]:
        return [(conn.from_guest(flags, payload, seq=seq + ahead).frame(),), *plain(conn, seq)]

    return make


def exchanged(conn: Conn, seq: int) -> list[Sent]:
    """The later of two segments comes first: the other one looks old."""
    number = (seq - conn.isn[0] - 1) // MSS
    return plain(conn, seq + (-MSS if number % 2 else MSS))


def overlapping(conn: Conn, seq: int) -> list[Sent]:
    """Each begins with a byte that was sent before."""
    return [(conn.from_guest(PSH | ACK, bytes(MSS + 1), seq=seq - 1).frame(),)]


def tagged_by_turns(conn: Conn, seq: int) -> list[Sent]:
    """VLAN 0 is no VLAN."""
    number = (seq - conn.isn[0] - 1) // MSS
    return [(conn.from_guest(PSH | ACK, bytes(MSS), seq=seq, vlans=(0,) * (number % 2)).frame(),)]


def tagged_often(conn: Conn, seq: int) -> list[Sent]:
    """A receiver takes off any number of tags of VLAN 0."""
    return [(conn.from_guest(PSH | ACK, bytes(MSS), seq=seq, vlans=(0,) * 4).frame(),)]


def with_ip_header(segment: wire.Segment, total_bytes: int, options: bytes = b"") -> bytes:
    """The frame of an IPv4 segment with this total length, and options, in its header."""
    frame = segment.frame()
    head = bytes((0x45 + len(options) // 4,)) + frame[15:16] + total_bytes.to_bytes(2, "big")
    head += frame[18:24] + b"\0\0" + frame[26:34] + options
    check = (wire.ones_sum(head) ^ 0xFFFF).to_bytes(2, "big")
    return frame[:14] + head[:10] + check + head[12:] + frame[34:]


def ip_options(conn: Conn, seq: int) -> list[Sent]:
    sent = conn.from_guest(PSH | ACK, bytes(MSS), seq=seq)
    return [(with_ip_header(sent, 24 + len(sent.tcp()), wire.NOP * 4),)]


def understated(conn: Conn, seq: int) -> list[Sent]:
    """Super-packets that say that they have one byte: segmentation does not look."""
    number = (seq - conn.isn[0] - 1) // MSS
    if number % 10:
        return []
    sent = conn.from_guest(PSH | ACK, bytes(10 * MSS), seq=seq, partial=True)
    frame = with_ip_header(sent, 20 + len(sent.but(payload=b"x").tcp()))
    return [(frame, sent.header_bytes(), MSS, rigs.VNET_GSO_TCPV4)]


_strangers = itertools.count(1)


def in_a_crowd(conn: Conn, seq: int) -> list[Sent]:
    """Each behind one of a connection that nobody knows: the table of the port is full."""
    other = conn.from_guest(PSH | ACK, b"x").but(src=f"10.9.{next(_strangers) % 250}.1")
    return [(other.frame(),), *plain(conn, seq)]


@dataclass
class Way:
    """How a connection begins, how its segments come, what bounds there are, what the ends do."""

    open: Callable[[Conn], Conn] = opened
    make: Callable[[Conn, int], list[Sent]] = plain
    bounds: dict[str, int] = field(default_factory=dict)
    silence_s: float = 0  # the peer says nothing for so long, and then what it has
    answer_s: float = 0  # the guest has time stamps, and echoes the peer's so late
    seconds: float = 0.4
    least: float = 0.4  # gets through, as a part of what is allowed


SMALL = {"buffer_flow_bytes": 4 * 65536}
#: The share that gets through when a guest fills its bound: nearly all that is allowed or, in one
#: draw of twenty of when it begins, a quarter, for as long as it goes on so.
OVERFULL = 0.2
WAYS = {
    "no-window": Way(),
    "odd-option": Way(odd_option),
    **{name: Way(way) for name, way in EVASIONS.items()},
    "half-open": Way(half_open),
    "large-segments": Way(claims_much),
    "fragments": Way(make=in_fragments),
    "all-ends": Way(make=all_ends),
    "urgent": Way(make=urgent),
    "resets": Way(make=behind(RST | ACK, 0), least=0.2),  # cwnd is an initial one after each
    "openings": Way(make=behind(SYN, 77)),
    "leaps": Way(make=behind(PSH | ACK, 1 << 20, b"x"), least=0.1),  # what follows is a repeat
    "exchanged": Way(make=exchanged),
    "overlapping": Way(make=overlapping),
    "tags": Way(make=tagged_by_turns),
    "many-tags": Way(make=tagged_often),
    "ip-options": Way(make=ip_options),
    "understated": Way(make=understated),
    "crowd": Way(make=in_a_crowd, bounds={"max_flows_per_port": 16}),
    "silent-peer": Way(silence_s=0.3, least=0.1),
    "very-silent-peer": Way(silence_s=0.7, seconds=2.1, least=0.1),
    "mute-peer": Way(silence_s=10, seconds=1),
    "more-than-is-held": Way(bounds=SMALL, least=OVERFULL),
    "ends-and-more": Way(make=all_ends, bounds=SMALL, least=OVERFULL),
    "hidden-and-more": Way(EVASIONS["hidden"], bounds=SMALL, least=OVERFULL),
    "slow-and-more": Way(bounds=SMALL, answer_s=0.2, least=OVERFULL),
}
#: In the machine with each `make check`.
SHORT = ("large-segments", "many-tags", "understated", "very-silent-peer", "slow-and-more")
ALL = bool(rigs.LIBRARY or os.environ.get("TCON_TENANTS"))


# --- what gets through ------------------------------------------------------------


class Far(Conn):
    """A connection whose peer answers the guest's SYN a round trip later."""

    def peer_sends(
        self,
        flags: int = ACK,
        payload: bytes = b"",
        becomes: dict[str, object] | None = None,
        **changes: object,
    ) -> wire.Segment:
        if flags == SYN | ACK:
            time.sleep(RTT_S)
        return super().peer_sends(flags, payload, becomes, **changes)


class Peer:
    """Gets what it can, and says so a round trip later."""

    def __init__(self, conn: Conn, silence_s: float) -> None:
        self.conn, self.silence_s = conn, silence_s
        self.due_s = 0.0
        self.last = conn.guest_nxt
        self.had: set[int] = set()
        self.firsts: dict[bytes, int] = {}  # by identification: seq of a first fragment
        self.acks: collections.deque[tuple[float, int]] = collections.deque()

    def take(self, frame: bytes) -> None:
        part = int.from_bytes(frame[20:22], "big") & 0x3FFF if frame[12:14] == b"\x08\0" else 0
        if part:
            if not part & 0x1FFF:
                self.firsts[frame[18:20]] = int.from_bytes(frame[38:42], "big")
            elif not part & 0x2000 and frame[18:20] in self.firsts:
                self._data(self.firsts.pop(frame[18:20]))
            return
        segment = self.conn.mine(frame)
        if segment and segment.src == self.conn.addresses[0] and len(segment.payload) >= MSS:
            self._data(segment.seq + len(segment.payload) - MSS)

    def _data(self, seq: int) -> None:
        self.had.add(seq)
        self.last = max(self.last, seq + MSS)
        self.acks.append((time.monotonic() + RTT_S, self.last))

    def answer(self) -> None:
        """Send what is due."""
        now_s = time.monotonic()
        if now_s < self.due_s:
            return
        while self.acks and self.acks[0][0] <= now_s:
            _, ack = self.acks.popleft()
            self.due_s = now_s + self.silence_s
            self.conn.clock += 1
            self.conn.peer.send(self.conn.from_peer(ack=ack, window=BIG).frame())


class Guest:
    """Sends at a rate, with regard to windows if it is honest."""

    def __init__(self, conn: Conn, way: Way, honest: bool) -> None:
        self.conn, self.way, self.honest = conn, way, honest
        self.edge = conn.guest_nxt + CWND_SEGS * MSS
        self.due_s = time.monotonic()
        self.stamps: collections.deque[tuple[float, int]] = collections.deque()

    def hear(self) -> None:
        conn, now_s = self.conn, time.monotonic()
        while frame := conn.guest.recv(0):
            ack = conn.mine(frame)
            if not ack or ack.dst != conn.addresses[0]:
                continue
            self.edge = max(self.edge, ack.ack + (ack.window << conn.shift()))
            if stamps := ack.timestamps():
                self.stamps.append((now_s + self.way.answer_s, stamps[0]))
        while self.stamps and self.stamps[0][0] <= now_s:
            conn.peer_ts = self.stamps.popleft()[1]

    def send(self) -> None:
        """Send what is due, and wait for the next."""
        conn = self.conn
        if time.monotonic() >= self.due_s:
            self.due_s += 1 / GREEDY_PPS
            if not self.honest or conn.guest_nxt + MSS <= self.edge:
                for sent in self.way.make(conn, conn.guest_nxt):
                    conn.guest.send(*sent)
                conn.guest_nxt += MSS


def forget(conn: Conn, tcon: genl.Genl) -> None:
    """It is over, and nothing of it waits, so that the next one is alone."""
    tcon.del_rules("br1")
    rigs.poll(lambda: not tcon.held_bytes(), "all has left")
    conn.guest.send(conn.from_guest(RST | ACK).frame())
    for end in (conn.guest, conn.peer):
        while end.recv(0.05):
            pass


def through_pps(ends: Ends, tcon: genl.Genl, way: Way, honest: bool = False) -> float:
    """Segments a second that get through, under a CC whose cwnd does not change."""
    tcon.set_rule("badcc", bridge="br1", params=rigs.constant_cwnd(CWND_SEGS))
    conn = way.open(Far(*ends, ts=way.answer_s > 0))
    guest, peer = Guest(conn, way, honest), Peer(conn, way.silence_s)
    began_s = time.monotonic()
    had = 0
    while (now_s := time.monotonic()) < began_s + START_S + way.seconds:
        if now_s < began_s + START_S:
            had = len(peer.had)
        peer.answer()
        guest.hear()
        guest.send()
        while frame := conn.peer.recv(0):
            peer.take(frame)
        time.sleep(max(0.0, guest.due_s - time.monotonic()))
    forget(conn, tcon)
    return (len(peer.had) - had) / way.seconds


def test_an_honest_guest_has_what_its_cc_allows(ends: Ends, tcon: genl.Genl) -> None:
    assert through_pps(ends, tcon, Way(), True) == pytest.approx(ALLOWED_PPS, rel=0.1)


@pytest.mark.parametrize("name", WAYS if ALL else SHORT)
def test_no_way_gets_more_through(ends: Ends, tcon: genl.Genl, name: str) -> None:
    way = WAYS[name]
    with rigs.parameters(adopt_s=0, **way.bounds):
        rate_pps = through_pps(ends, tcon, way)
    print(f"{name}: {rate_pps / ALLOWED_PPS:.2f} of what is allowed")
    assert way.least * ALLOWED_PPS < rate_pps <= 1.1 * ALLOWED_PPS
