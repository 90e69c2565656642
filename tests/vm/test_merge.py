# SPDX-License-Identifier: GPL-2.0-only
"""Segments that wait in a row leave as a super-packet, where it is cut into the same ones again."""

from __future__ import annotations

import random
import struct
import time

import genl
import pytest
import rig as rigs
import wire
from rig import TSO, Conn, counted
from test_ecn import with_offer
from wire import ACK, CWR, ECE, PSH, SYN, URG

pytestmark = pytest.mark.script
MSS = 1448  # payload of a full segment with time stamps
CSUM = 1  # the guest leaves checksums to the device, and no more
ECT0 = 2
#: The peer's first number: bytes acknowledged before its SYN-ACK was.
ISN = 7_000_000


def full(rig: rigs.Rig, tcon: genl.Genl, family: int = 4, uplink: int = TSO) -> Conn:
    """A connection under CUBIC between taps; a window is in flight, so more waits."""
    conn = Conn(*rig.taps(CSUM, uplink), family=family, isn=(1_000_000, ISN))
    tcon.set_rule("cubic", bridge="br1")
    conn.handshake()
    for _ in range(10):
        conn.guest_sends(PSH | ACK, bytes(MSS))
    return conn


def two(conn: Conn, sizes: tuple[int, int] = (MSS, MSS)) -> list[wire.Segment]:
    """The guest's next segments, with checksums that are left to the device."""
    conn.clock += 1
    first = conn.from_guest(ACK, random.Random(1).randbytes(sizes[0]), partial=True)
    rest = random.Random(2).randbytes(sizes[1])
    return [first, first.but(seq=first.seq + sizes[0], payload=rest, flags=PSH | ACK)]


def send(conn: Conn, *segments: wire.Segment) -> None:
    """The guest sends them in one go; those with a partial checksum say so."""
    frames = [(s.frame(), s.header_bytes() if s.partial else 0) for s in segments]
    for frame, header_bytes in frames:
        conn.guest.send(frame, header_bytes)
    conn.guest_nxt = segments[-1].seq + segments[-1].span


def arrives(conn: Conn, acknowledged: int) -> list[wire.Segment]:
    """The peer acknowledges up to there; the segments that then leave."""
    conn.peer.send(conn.from_peer(ack=acknowledged).frame())
    got = []
    while not got or got[-1].seq + got[-1].span != conn.guest_nxt:
        segment = conn.receive(conn.peer)
        assert segment, f"only {got} came"
        got.append(segment)
    return got


@pytest.mark.both
@pytest.mark.parametrize("sizes", [(MSS, MSS), (MSS, 700)], ids=["full", "short"])
@pytest.mark.parametrize("family", [4, 6])
def test_they_leave_as_one(
    rig: rigs.Rig, tcon: genl.Genl, family: int, sizes: tuple[int, int]
) -> None:
    conn = full(rig, tcon, family)
    before = conn.guest_nxt
    first, second = two(conn, sizes)
    with counted(tcon, held=2, merged=1, released=1, gso_split=0):
        send(conn, first, second)
        [got] = arrives(conn, before)
    assert isinstance(conn.peer, rigs.Tap)
    assert (conn.peer.last_gso_bytes, conn.peer.last_flags) == (MSS, rigs.VNET_NEEDS_CSUM)
    whole = first.but(payload=first.payload + second.payload, flags=PSH | ACK)
    assert got.but(sums_ok=True) == whole.but(partial=False)
    assert got.check == struct.unpack_from("!H", whole.tcp(), 16)[0], "the pseudo-header's sum"


@pytest.mark.both
@pytest.mark.parametrize("family", [4, 6])
def test_a_device_that_does_not_segment_has_the_same_segments(
    rig: rigs.Rig, tcon: genl.Genl, family: int
) -> None:
    conn = full(rig, tcon, family, uplink=0)
    before = conn.guest_nxt
    sent = two(conn)
    with counted(tcon, merged=1):
        send(conn, *sent)
        assert arrives(conn, before) == [segment.but(partial=False) for segment in sent]


#: Differences that segments of one super-packet cannot have: of the first, and of the second.
UNLIKE: dict[str, tuple[dict[str, object], dict[str, object]]] = {
    "echo": ({}, {"flags": ECE | ACK}),
    "push": ({"flags": PSH | ACK}, {}),
    "cwr": ({"flags": CWR | ACK}, {"flags": CWR | ACK}),
    "urgent": ({"flags": URG | ACK, "urgent": 9}, {"flags": URG | ACK, "urgent": 9}),
    "marks": ({"tos": ECT0}, {"tos": ECT0}),
    "checksum": ({"partial": False}, {"partial": False}),
    "options": ({}, {"options": wire.NOP * 2 + wire.opt_ts(101, 102)}),
}


@pytest.mark.parametrize("what", list(UNLIKE))
def test_segments_that_differ_stay_apart(rig: rigs.Rig, tcon: genl.Genl, what: str) -> None:
    conn = full(rig, tcon)
    before = conn.guest_nxt
    sent = [segment.but(**change) for segment, change in zip(two(conn), UNLIKE[what], strict=True)]
    with counted(tcon, held=2, merged=0, released=2):
        send(conn, *sent)
        got = arrives(conn, before)
    assert [(s.seq, s.flags & ~ECE, s.payload) for s in got] == [
        (s.seq, s.flags & ~ECE, s.payload) for s in sent
    ]
    assert {s.flags & ECE for s in got} == {sent[-1].flags & ECE}


#: What is written when a super-packet leaves, as the guest said it last: of the second segment.
NEWER: dict[str, dict[str, object]] = {
    "window": {"window": 511},
    "acknowledgment": {"ack": ISN + 1},
    "tos": {"tos": 8},
}


@pytest.mark.parametrize("what", list(NEWER))
def test_what_the_guest_says_last_keeps_none_apart(
    rig: rigs.Rig, tcon: genl.Genl, what: str
) -> None:
    conn = full(rig, tcon)
    before = conn.guest_nxt
    first, second = two(conn)
    first, second = first.but(ack=ISN), second.but(**({"ack": ISN} | NEWER[what]))
    with counted(tcon, held=2, merged=1, released=1):
        send(conn, first, second)
        [got] = arrives(conn, before)
    assert (got.ack, got.window, got.tos) == (second.ack, second.window, second.tos)
    assert got.payload == first.payload + second.payload
    assert got.check == struct.unpack_from("!H", got.but(partial=True).tcp(), 16)[0]


def test_what_overtook_lowers_no_acknowledgment(rig: rigs.Rig, tcon: genl.Genl) -> None:
    """An older segment comes late from the guest: the waiting one keeps its newer number."""
    conn = full(rig, tcon)
    before = conn.guest_nxt
    newer, older = two(conn)
    send(conn, newer, older.but(ack=ISN))
    assert arrives(conn, before)[0].ack == newer.ack


def test_who_leaves_another_sum_to_the_device_stays_apart(rig: rigs.Rig, tcon: genl.Genl) -> None:
    """From anywhere.  Where a super-packet is cut, that may be beyond a segment's head."""
    conn = full(rig, tcon)
    before = conn.guest_nxt
    sent = [segment.but(partial=False) for segment in two(conn)]
    with counted(tcon, held=2, merged=0, released=2):
        for segment in sent:
            conn.guest.send(segment.frame(), segment.header_bytes() + 60)
        conn.guest_nxt += 2 * MSS
        got = arrives(conn, before)
    assert [(s.seq, s.check, s.payload) for s in got] == [
        (s.seq, struct.unpack_from("!H", s.tcp(), 16)[0], s.payload) for s in sent
    ]


def test_after_a_pause_a_train_is_no_stall(rig: rigs.Rig, tcon: genl.Genl) -> None:
    """The first of it waits a little, and nothing is in flight that an ACK could come for."""
    conn = full(rig, tcon)
    before = conn.guest_nxt
    send(conn, *two(conn))
    send(conn, *two(conn))
    arrives(conn, before)
    conn.peer.send(conn.from_peer().frame())
    time.sleep(2)
    with counted(tcon, held=1, released=1, stall_release=0):
        send(conn, two(conn)[0])
        assert conn.receive(conn.peer)


def test_small_segments_stay_apart(rig: rigs.Rig, tcon: genl.Genl) -> None:
    """They would be a super-packet of many more packets than bytes call for."""
    conn = full(rig, tcon)
    before = conn.guest_nxt
    with counted(tcon, held=3, merged=0):
        send(conn, conn.from_guest(PSH | ACK, bytes(MSS)))  # cwnd has room for a small one
        send(conn, *two(conn, (500, 500)))
        assert len(arrives(conn, before)) == 3


@pytest.mark.parametrize("ecn_capable", [False, True], ids=["plain", "ecn"])
def test_what_stays_apart_waits_for_nothing(
    rig: rigs.Rig, tcon: genl.Genl, ecn_capable: bool
) -> None:
    """The second of a train may wait for others; not if TCon makes its segments ECN-capable."""
    conn = Conn(*rig.taps(CSUM, TSO))
    ecn = genl.E["TCON_RULE_ECN_ON" if ecn_capable else "TCON_RULE_ECN_OFF"]
    tcon.set_rule("dctcp", bridge="br1", ecn=ecn)
    if ecn_capable:
        conn.guest_sends(SYN, becomes={"flags": SYN | ECE | CWR} | with_offer(conn))
        conn.peer_sends(SYN | ACK | ECE, becomes={"flags": SYN | ACK})
        conn.guest_sends()
    else:
        conn.handshake()
    first, second = two(conn)
    waits = int(not ecn_capable)
    with counted(tcon, held=waits, released=waits, ect_set=2 - 2 * waits, merged=0):
        send(conn, first, second.but(flags=ACK))
        for sent in (first, second):
            got = conn.receive(conn.peer)
            assert got
            assert got.payload == sent.payload


def test_a_parameter_leaves_them_apart(rig: rigs.Rig, tcon: genl.Genl) -> None:
    conn = full(rig, tcon)
    before = conn.guest_nxt
    with rigs.parameters(merge=False), counted(tcon, held=2, merged=0):
        send(conn, *two(conn))
        assert len(arrives(conn, before)) == 2


@pytest.mark.both
def test_a_lost_part_is_sent_again(rig: rigs.Rig, tcon: genl.Genl) -> None:
    """The copy is of the super-packet, the repair of the segment that is missing."""
    conn = full(rig, tcon, uplink=0)
    before = conn.guest_nxt
    sent = two(conn)
    send(conn, *sent)
    arrives(conn, before)
    for _ in range(6):
        send(conn, conn.from_guest(PSH | ACK, bytes(MSS)))
        assert conn.receive(conn.peer)
    sacked = wire.NOP * 2 + wire.opt_sack((before + MSS, conn.guest_nxt))
    with counted(tcon, repair_sent=1):
        lost = conn.from_peer(ack=before)
        conn.peer.send(lost.but(options=lost.options + sacked).frame())
        got = conn.receive(conn.peer)
    assert got
    assert (got.seq, got.payload) == (sent[0].seq, sent[0].payload)
