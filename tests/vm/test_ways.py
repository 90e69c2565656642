# SPDX-License-Identifier: GPL-2.0-only
"""Packets that do not come by: ACKs and data that pass elsewhere, or were lost before TCon.

Whatever way they take, what TCon holds leaves, nothing is hidden that it cannot mend, and
`tcon/flows` says why less is enforced.
"""

from __future__ import annotations

import time

import genl
import pytest
import rig as rigs
import wire
from rig import TSO, Conn, counted, poll, state
from wire import ACK, FIN, PSH, RST, SYN

pytestmark = pytest.mark.script
Ends = tuple[rigs.RawEnd, rigs.RawEnd]

MSS = 1448  # payload of a segment with time stamps
BIG = 0x1000  # a window field that no CC wants yet
CWND = 10  # segments that leave at first (RFC 6928)
RTO_S = 0.2  # at least; the scripts' round trips are short
REPAIRED = ("repair-enforced", "none", "cubic")


def connect(conn: Conn, tcon: genl.Genl, cc: str = "cubic", rtt_s: float = 0) -> Conn:
    """A connection under a rule, its window not yet lowered by any ACK."""
    tcon.set_rule(cc, bridge="br1" if isinstance(conn.guest, rigs.Tap) else "br0")
    conn.guest_sends(SYN)
    time.sleep(rtt_s)
    conn.peer_sends(SYN | ACK, window=0xFF80)
    conn.guest_sends()
    conn.window = BIG
    assert state(tcon, conn.sport) == ("repair-enforced", "none", cc)
    return conn


def push(conn: Conn, segments: int) -> list[wire.Segment]:
    """The guest sends, wherever it goes."""
    sent = []
    for _ in range(segments):
        conn.clock += 1
        conn.guest_ts = conn.clock
        sent.append(conn.from_guest(PSH | ACK, bytes(MSS)))
        conn.guest.send(sent[-1].frame())
        conn.guest_nxt += MSS
    return sent


def arrivals(conn: Conn, wait_s: float) -> list[wire.Segment]:
    """The segments that come to the peer, until none does for ``wait_s``."""
    got = []
    while segment := conn.receive(conn.peer, wait_s):
        got.append(segment)
    return got


def ack(conn: Conn, upto: int, *blocks: tuple[int, int]) -> wire.Segment:
    """The peer acknowledges, wherever it goes; as it was sent."""
    conn.clock += 1
    sent = conn.from_peer(ACK, ack=upto % 2**32)
    if blocks:
        sent = sent.but(options=sent.options + wire.NOP * 2 + wire.opt_sack(*blocks))
    conn.peer_ts = conn.clock
    conn.peer.send(sent.frame())
    return sent


def round_trip(conn: Conn) -> None:
    """A segment and its ACK: the guest has been given a window."""
    conn.guest_sends(PSH | ACK, bytes(MSS))
    conn.peer_sends()


# --- what is held ----------------------------------------------------------------


@pytest.mark.both
@pytest.mark.parametrize("repair", [1, 0], ids=["repaired", "window only"])
def test_what_is_held_leaves_after_an_rto_of_silence(
    ends: Ends, tcon: genl.Genl, repair: int
) -> None:
    """The CC hears of a time-out, and later segments are held again."""
    with rigs.parameters(repair=repair):
        tcon.set_rule("cubic")
        conn = Conn(*ends).handshake()
        start = conn.guest_nxt
        push(conn, CWND + 5)
        assert {s.seq for s in arrivals(conn, 0.02)} == {start + n * MSS for n in range(CWND)}
        began = time.monotonic()
        held = {start + n * MSS for n in range(CWND, CWND + 5)}
        with counted(tcon, stall_release=1):
            while held:
                got = conn.receive(conn.peer, 2.0)
                assert got, f"{len(held)} never left"
                held.discard(got.seq)
        assert time.monotonic() - began < 2 * RTO_S
        flow = rigs.find_flow(tcon, conn.sport)
        assert flow["cwnd_bytes"] <= 2 * MSS
        assert flow["held_bytes"] == 0
        push(conn, 5)
        assert conn.guest_nxt - MSS not in [s.seq for s in arrivals(conn, 0.05)]
        assert rigs.find_flow(tcon, conn.sport)["held_bytes"] >= 4 * MSS


def test_reset_that_waits_does_not_overtake_what_waits(ends: Ends, tcon: genl.Genl) -> None:
    """The peer has to hear at once of four segments: but not by a RST."""
    conn = connect(Conn(*ends), tcon, rtt_s=0.04)
    push(conn, 30)
    left = arrivals(conn, 0.005)
    assert len(left) < 30
    for _ in range(4):
        data = conn.from_peer(PSH | ACK, bytes(MSS), ack=left[0].seq)
        conn.peer.send(data.frame())
        conn.peer_nxt += MSS
    while conn.receive(conn.guest, 0.001):
        pass
    conn.guest.send(conn.from_guest(RST | ACK).frame())
    got = arrivals(conn, 0.005)
    assert not [segment for segment in got if segment.flags & RST]


def test_no_repair_after_three_time_outs(ends: Ends, tcon: genl.Genl) -> None:
    """Nobody is there, or the guest has moved: repairs would only teach switches its old place."""
    conn = connect(Conn(*ends), tcon)
    head = push(conn, 1)[0]
    arrivals(conn, 0.01)
    with counted(tcon, timeout=3):
        poll(lambda: state(tcon, conn.sport)[0] != "repair-enforced", "TCon gives up", 30, 0.1)
    assert state(tcon, conn.sport) == ("window-enforced", "in-flight", "cubic")
    arrivals(conn, 0.01)
    with counted(tcon, copy_absorbed=0, repair_sent=0, probe_sent=0):
        assert arrivals(conn, 10) == []
        conn.guest.send(head.frame())
        assert conn.receive(conn.peer) == head
    conn.peer_sends()
    assert state(tcon, conn.sport) == REPAIRED


def test_what_waited_leaves_with_the_time_stamp_of_what_overtook_it(
    ends: Ends, tcon: genl.Genl
) -> None:
    """PAWS (RFC 7323, 5) would discard it otherwise."""
    conn = connect(Conn(*ends), tcon)
    waiting = push(conn, CWND + 5)[CWND:]
    arrivals(conn, 0.01)
    conn.clock += 100
    probe = conn.guest_sends(ACK, b"\0", seq=conn.isn[0])  # a keep-alive
    floor = probe.timestamps()[0]
    assert floor > waiting[-1].timestamps()[0]
    ack(conn, waiting[0].seq)
    left: list[wire.Segment] = []
    while len(left) < len(waiting):
        got = conn.receive(conn.peer)
        assert got, f"{len(waiting) - len(left)} never left"
        left += [got] * (got.seq >= waiting[0].seq)  # a tail probe may have been on its way
    for got, sent in zip(left, waiting, strict=True):
        assert got.sums_ok
        assert got.timestamps()[0] == floor
        assert got == sent.but(options=got.options)


@pytest.mark.both
def test_super_packet_into_an_empty_pipe_is_cut_to_cwnd(rig: rigs.Rig, tcon: genl.Genl) -> None:
    """A guest that has been given much sends all of it after a time-out."""
    guest, uplink = rig.taps(TSO, TSO)
    conn = connect(Conn(guest, uplink), tcon)
    start = conn.guest_nxt
    segment = conn.from_guest(PSH | ACK, bytes(40 * MSS), partial=True)
    guest.send(segment.frame(), segment.header_bytes(), MSS, rigs.VNET_GSO_TCPV4)
    conn.guest_nxt += 40 * MSS
    left = max(got.seq + len(got.payload) for got in arrivals(conn, 0.05)) - start
    assert 0 < left <= CWND * MSS
    assert rigs.find_flow(tcon, conn.sport)["held_bytes"] == 40 * MSS - left


# --- the ACK of what does not go on -------------------------------------------------


def pure_ack(conn: Conn, of: wire.Segment, seq: int, tsval: int) -> None:
    """The peer gets the ACK of a segment, and nothing of its data."""
    got = conn.receive(conn.peer)
    assert got, "the peer is not told"
    assert got.sums_ok
    tsecr = of.timestamps()[1]
    assert got == of.but(seq=seq % 2**32, payload=b"", flags=ACK, tos=of.tos & ~3,
                         options=wire.NOP * 2 + wire.opt_ts(tsval, tsecr))  # fmt: skip


@pytest.mark.parametrize("family", [4, 6])
def test_absorbed_repeat_tells_the_peer_what_the_guest_has(
    ends: Ends, tcon: genl.Genl, family: int
) -> None:
    """The peer's data came in between: without an ACK its timer would go off."""
    conn = connect(Conn(*ends, family=family), tcon, rtt_s=0.1)
    sent = push(conn, 3)
    assert len({s.seq for s in arrivals(conn, 0.005)}) == 3
    ack(conn, sent[0].seq)
    conn.peer_nxt += 700
    again = conn.from_guest(PSH | ACK, bytes(MSS), seq=sent[0].seq)
    with counted(tcon, copy_absorbed=2, pure_ack=1):
        conn.guest.send(again.frame())
        pure_ack(conn, again, conn.guest_nxt, sent[-1].timestamps()[0])
        assert conn.receive(conn.peer, 0.005) is None
        conn.guest.send(again.frame())  # says nothing new
        assert conn.receive(conn.peer, 0.005) is None
    wider = conn.from_guest(PSH | ACK, bytes(MSS), seq=sent[0].seq, window=600)
    with counted(tcon, pure_ack=1):
        conn.guest.send(wider.frame())
        pure_ack(conn, wider, conn.guest_nxt, sent[-1].timestamps()[0])


def test_ack_of_what_waits_for_cwnd_does_not_wait(rig: rigs.Rig, tcon: genl.Genl) -> None:
    """A super-packet's, too; its data leaves later, unharmed."""
    guest, uplink = rig.taps(TSO, TSO)
    conn = connect(Conn(guest, uplink), tcon)
    sent = push(conn, CWND)
    assert len({s.seq for s in arrivals(conn, 0.005)}) == CWND
    conn.peer_nxt += 2 * MSS
    text = bytes(range(256)) * 12
    late = conn.from_guest(PSH | ACK, text, partial=True)
    with counted(tcon, held=1, pure_ack=1):
        guest.send(late.frame(), late.header_bytes(), MSS, rigs.VNET_GSO_TCPV4)
        pure_ack(conn, late.but(partial=False), late.seq, sent[-1].timestamps()[0])
    ack(conn, late.seq)
    got = b"".join(segment.payload for segment in arrivals(conn, 0.005))
    assert got[: len(text)] == text


# --- ACKs and data that pass elsewhere ----------------------------------------------


def test_acks_that_pass_elsewhere(ends: Ends, tcon: genl.Genl) -> None:
    """The guest uses a window that TCon did not give it, and nobody answers here."""
    conn = connect(Conn(*ends), tcon)
    round_trip(conn)
    edge = rigs.find_flow(tcon, conn.sport)["edge"]
    arrivals(conn, 0.01)
    count = (edge - conn.guest_nxt) // MSS
    push(conn, count)
    time.sleep(2 * RTO_S)
    assert state(tcon, conn.sport) == REPAIRED, "a guest within its window proves nothing"
    push(conn, 4)
    assert state(tcon, conn.sport) == ("paced", "unseen-acks", "cubic")
    seen = {segment.seq for segment in arrivals(conn, 0.1)}
    assert conn.guest_nxt - MSS in seen, "nothing waits"
    assert rigs.find_flow(tcon, conn.sport)["held_bytes"] == 0
    for _ in range(20):  # and it goes on at the rate that it had
        conn.guest_sends(PSH | ACK, bytes(MSS))
    # They are back.
    conn.peer_sends()
    round_trip(conn)
    assert state(tcon, conn.sport) == REPAIRED
    conn.guest_sends(PSH | ACK, bytes(MSS))
    assert conn.peer_sends().window < BIG


def test_who_ignores_its_window_stays_enforced(ends: Ends, tcon: genl.Genl) -> None:
    """Answers do come: it is held to cwnd."""
    conn = connect(Conn(*ends), tcon)
    sent = conn.guest_nxt
    for _ in range(10):
        push(conn, 40)
        time.sleep(RTO_S / 4)
        for got in arrivals(conn, 0):
            sent = max(sent, got.seq + MSS)
        ack(conn, sent)
    assert state(tcon, conn.sport)[0] == "repair-enforced"
    assert rigs.find_flow(tcon, conn.sport)["held_bytes"] > 40 * MSS


def test_acks_that_stay_away_for_more_than_any_window(ends: Ends, tcon: genl.Genl) -> None:
    """The known numbers do not fall behind by half the sequence space."""
    conn = connect(Conn(*ends), tcon)
    round_trip(conn)
    time.sleep(2 * RTO_S)
    conn.guest_nxt += 1 << 20
    conn.guest_sends(PSH | ACK, bytes(MSS))
    assert state(tcon, conn.sport)[:2] == ("paced", "unseen-acks")
    for _ in range(24):  # 6 GiB
        conn.guest_nxt += 1 << 28
        conn.guest_sends(PSH | ACK, bytes(MSS))
    conn.peer_sends()
    round_trip(conn)
    assert state(tcon, conn.sport)[0].endswith("enforced")


def test_data_that_passes_elsewhere(ends: Ends, tcon: genl.Genl) -> None:
    """Only ACKs come by: nothing is enforced, and `tcon/flows` does not say so."""
    conn = connect(Conn(*ends), tcon)
    round_trip(conn)
    conn.guest_nxt += 5 * MSS  # the peer has it
    time.sleep(2 * RTO_S)
    with counted(tcon, repair_sent=0, timeout=0):
        for _ in range(5):
            conn.guest_nxt += 5 * MSS
            assert conn.peer_sends().window == BIG
            time.sleep(RTO_S)
        assert state(tcon, conn.sport) == ("observed", "unseen-data", "none")


def test_peer_that_lies_about_what_it_has_ends_nothing(ends: Ends, tcon: genl.Genl) -> None:
    """The guest goes on where it was: it is enforced with its next segment."""
    conn = connect(Conn(*ends), tcon)
    round_trip(conn)
    time.sleep(2 * RTO_S)
    conn.peer_sends(ack=conn.guest_nxt + 10 * MSS)
    assert state(tcon, conn.sport) == ("observed", "unseen-data", "none")
    conn.guest_sends(PSH | ACK, bytes(MSS))
    assert state(tcon, conn.sport)[0].endswith("enforced")
    assert conn.peer_sends().window < BIG


# --- lost or late before TCon --------------------------------------------------------


def test_what_was_lost_before_tcon_is_the_guests(ends: Ends, tcon: genl.Genl) -> None:
    """A policer dropped it: the guest hears of it, repeats it, and nothing else is repeated."""
    conn = connect(Conn(*ends), tcon)
    first = conn.guest_sends(PSH | ACK, bytes(MSS))
    gap = first.seq + MSS
    conn.guest_nxt += MSS
    rest = [conn.guest_sends(PSH | ACK, bytes(MSS)) for _ in range(4)]
    assert state(tcon, conn.sport) == ("window-enforced", "gap", "cubic")
    with counted(tcon, repair_sent=0, probe_sent=0, ack_hidden=0, copy_absorbed=0):
        for segment in rest:
            sent = ack(conn, gap, (rest[0].seq, segment.seq + MSS))
            got = conn.receive(conn.guest)
            assert got
            assert got.options == sent.options, "SACK blocks and all"
        conn.guest_sends(PSH | ACK, bytes(MSS), seq=gap)
        conn.peer_sends()
    assert state(tcon, conn.sport) == REPAIRED
    assert rigs.find_flow(tcon, conn.sport)["buffer_bytes"] == 0


def test_copies_behind_a_gap_serve_when_it_is_filled(ends: Ends, tcon: genl.Genl) -> None:
    conn = connect(Conn(*ends), tcon)
    gap = conn.guest_nxt
    conn.guest_nxt += MSS
    sent = [conn.guest_sends(PSH | ACK, bytes(MSS)) for _ in range(5)]
    conn.guest_sends(PSH | ACK, bytes(MSS), seq=gap)
    ack(conn, sent[0].seq)
    assert conn.receive(conn.guest)
    assert state(tcon, conn.sport) == REPAIRED
    for segment in sent[1:]:
        ack(conn, sent[0].seq, (sent[1].seq, segment.seq + MSS))
    got = conn.receive(conn.peer)
    assert got
    assert got.seq == sent[0].seq


# --- the same connection again ---------------------------------------------------------


@pytest.mark.parametrize("how", ["fin", "rst"])
def test_connection_that_begins_as_the_last_did(ends: Ends, tcon: genl.Genl, how: str) -> None:
    """Same ports, same ISN: stacks with a fixed seed, and who hopes to get away with it."""
    conn = connect(Conn(*ends), tcon)
    round_trip(conn)
    if how == "fin":
        conn.guest_sends(FIN | ACK)
        conn.peer_sends(FIN | ACK)
        conn.guest_sends()
    else:
        conn.guest_sends(RST | ACK)
    assert state(tcon, conn.sport) == ("observed", "closed", "none")
    again = Conn(*ends, sport=conn.sport)
    again.clock = conn.clock + 100
    connect(again, tcon)
    again.guest_sends(PSH | ACK, bytes(MSS))
    assert again.peer_sends().window < BIG
