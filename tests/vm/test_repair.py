# SPDX-License-Identifier: GPL-2.0-only
"""Loss repair, packet by packet: what the peer gets again, what the guest hears.

Both ends are scripts, so what is "lost" is what the peer does not acknowledge.
Round trips are long (40 ms) beside what a script needs between two packets, so
that what TCon does at once can be told from what a timer of its does.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import time
from collections.abc import Iterator

import genl
import pytest
import rig as rigs
import wire
from rig import TSO, Conn, counted, poll, state
from wire import ACK, FIN, PSH, RST, SYN, URG

pytestmark = pytest.mark.script
Ends = tuple[rigs.RawEnd, rigs.RawEnd]

MSS = 1448  # payload of a segment with time stamps
RTT_S = 0.04
SOON_S = 0.02  # within this comes what needs no timer of TCon
BIG = 0x1000
REPAIRED = ("repair-enforced", "none", "cubic")
SACK_PAD = wire.NOP * 2


def connect(
    conn: Conn, tcon: genl.Genl, cc: str = "cubic", syn_window: int = 0xFF80, rtt_s: float = RTT_S
) -> Conn:
    """A connection under repair, and its round trip."""
    tcon.set_rule(cc, bridge="br1" if isinstance(conn.guest, rigs.Tap) else "br0")
    conn.guest_sends(SYN)
    time.sleep(rtt_s)
    conn.peer_sends(SYN | ACK, window=syn_window)
    conn.guest_sends()
    conn.window = BIG
    assert state(tcon, conn.sport) == ("repair-enforced", "none", cc)
    return conn


def payload(size_bytes: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(size_bytes)


def send(conn: Conn, n: int, size_bytes: int = MSS) -> list[wire.Segment]:
    """The guest sends n segments; as the peer got them."""
    return [conn.guest_sends(PSH | ACK, payload(size_bytes, conn.guest_nxt + i)) for i in range(n)]


def end_of(segment: wire.Segment) -> int:
    return segment.seq + segment.span


def peer_acks(
    conn: Conn, ack: int, *blocks: tuple[int, int], flags: int = ACK, data: bytes = b"",
    **changes: object,
) -> wire.Segment:  # fmt: skip
    """The peer acknowledges, with SACK blocks; as it was sent, wherever it goes."""
    conn.clock += 1
    sent = conn.from_peer(flags, data, ack=ack % 2**32)
    if blocks:
        sent = sent.but(options=sent.options + SACK_PAD + wire.opt_sack(*blocks))
    sent = sent.but(**changes)
    conn.peer_ts = conn.clock
    conn.peer_nxt += sent.span
    conn.peer.send(sent.frame())
    return sent


def discard(*ends: rigs.RawEnd | rigs.Tap) -> None:
    """Forget what waits to be read."""
    for end in ends:
        while end.recv(0):
            pass


def nothing_for(end: rigs.RawEnd | rigs.Tap, conn: Conn, wait_s: float = SOON_S) -> None:
    got = conn.receive(end, wait_s)
    assert got is None, f"not to be given: {got}"


def repaired(
    conn: Conn, of: wire.Segment, start: int = 0, end: int | None = None, wait_s: float = 2.0
) -> wire.Segment:
    """The peer gets these bytes of a segment again, right in every field."""
    got = conn.receive(conn.peer, wait_s)
    assert got, "no repair"
    last = end is None or end == len(of.payload)
    flags = of.flags & ~wire.CWR if last else of.flags & ~(PSH | FIN | wire.CWR)
    wanted = of.but(
        seq=(of.seq + start) % 2**32, payload=of.payload[start:end], flags=flags, tos=of.tos & ~3
    )
    if getattr(conn.peer, "last_flags", 0) == rigs.VNET_NEEDS_CSUM:  # left to the device
        assert got.check == wire.ones_sum(wire.pseudo_header(got.src, got.dst, len(got.tcp())))
        got = got.but(sums_ok=True)
    assert got.sums_ok
    assert got == wanted
    return got


def heard(conn: Conn, sent: wire.Segment, wait_s: float = 2.0) -> wire.Segment:
    """The guest gets an ACK of the peer: lower window, no SACK, the rest as it was."""
    got = conn.receive(conn.guest, wait_s)
    assert got, f"never came: {sent}"
    assert got.sums_ok
    assert got.window <= sent.window
    plain = sent.options
    if sacks := plain.find(b"\x05", 12 if conn.ts else 0) + 1:
        plain = plain[: sacks - 1] + wire.NOP * plain[sacks] + plain[sacks - 1 + plain[sacks] :]
    assert got.but(window=sent.window) == sent.but(options=plain)
    return got


def finish(conn: Conn, tcon: genl.Genl) -> dict[str, object]:
    """Everything is acknowledged; nothing is kept.  The half-flow."""
    heard(conn, peer_acks(conn, conn.guest_nxt))
    nothing_for(conn.peer, conn)
    nothing_for(conn.guest, conn, 0)
    flow = rigs.find_flow(tcon, conn.sport)
    assert flow
    assert flow["una"] == flow["nxt"] == conn.guest_nxt % 2**32
    assert flow["inflight_bytes"] == flow["buffer_bytes"] == 0
    return flow


# --- the plain case, in all its dresses -----------------------------------------


@pytest.mark.parametrize("ts", [True, False], ids=["ts", "no-ts"])
@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("vlans", [(), (10,), (10, 20)], ids=["untagged", "tag", "two-tags"])
def test_lost_segment_is_repaired(
    ends: Ends, tcon: genl.Genl, family: int, vlans: tuple[int, ...], ts: bool
) -> None:
    isn = (2**32 - 3000, 2**32 - 1)  # wraps in the middle
    conn = connect(Conn(*ends, family=family, vlans=vlans, ts=ts, isn=isn), tcon, rtt_s=0.8)
    with counted(tcon, repair_sent=1, ack_hidden=3, probe_sent=0, timeout=0, repair_spurious=0):
        lost, *rest = send(conn, 4)
        time.sleep(0.8)  # RACK waits for a quarter of that, unless three are SACKed
        for segment in rest:
            nothing_for(conn.peer, conn, 0)
            peer_acks(conn, lost.seq, (rest[0].seq, end_of(segment)))
        repaired(conn, lost)
        nothing_for(conn.peer, conn)
        nothing_for(conn.guest, conn, 0)
        flow = finish(conn, tcon)
    assert flow["repairs"] == 1
    assert flow["hidden_acks"] == 3
    assert flow["repaired_bytes"] == flow["lost_bytes"] == MSS
    assert flow["sent_bytes"] == 5 * MSS
    assert flow["delivered_bytes"] == flow["acked_bytes"] == 4 * MSS
    assert (flow["spurious"], flow["probes"], flow["timeouts"], flow["absorbed"]) == (0, 0, 0, 0)


def test_repair_says_what_the_guest_said_last(ends: Ends, tcon: genl.Genl) -> None:
    """ACK, window and TSecr are the guest's newest, TSval is the segment's own."""
    conn = connect(Conn(*ends), tcon)
    lost, *rest = send(conn, 4)
    heard(conn, peer_acks(conn, lost.seq, flags=PSH | ACK, data=b"hello"))
    newest = conn.guest_sends(window=400)
    assert newest.ack == lost.ack + 5
    for segment in rest:
        peer_acks(conn, lost.seq, (rest[0].seq, end_of(segment)))
    tsval, tsecr = lost.timestamps()[0], newest.timestamps()[1]
    repaired(conn, lost.but(ack=newest.ack, window=400,
                            options=wire.NOP * 2 + wire.opt_ts(tsval, tsecr)))  # fmt: skip
    finish(conn, tcon)


def test_repair_reports_nothing_of_another_day(ends: Ends, tcon: genl.Genl) -> None:
    """A SACK block of then, behind the ACK of now, is a DSACK (RFC 2883)."""
    conn = connect(Conn(*ends), tcon)
    plain = conn.from_guest().options
    block = (conn.peer_nxt + 5, conn.peer_nxt + 10)
    lost = conn.guest_sends(
        PSH | ACK, payload(800), options=plain + SACK_PAD + wire.opt_sack(block)
    )
    heard(conn, peer_acks(conn, lost.seq, flags=PSH | ACK, data=b"hello" * 2))
    newest, *_ = rest = send(conn, 3)
    for segment in rest:
        peer_acks(conn, lost.seq, (rest[0].seq, end_of(segment)))
    stamps = wire.opt_ts(lost.timestamps()[0], newest.timestamps()[1])
    repaired(conn, lost.but(ack=newest.ack, options=wire.NOP * 2 + stamps + wire.NOP * 12))
    finish(conn, tcon)


def with_ecn(conn: Conn, tcon: genl.Genl, accurate: bool) -> Conn:
    """The ends agree on ECN, and then comes a rule."""
    conn.guest_sends(SYN | wire.ECE | wire.CWR, ae=accurate)
    time.sleep(RTT_S)
    conn.peer_sends(SYN | ACK | (wire.CWR if accurate else wire.ECE), window=0xFF80)
    conn.guest_sends(ACK | wire.ECE, ae=accurate)
    conn.window = BIG
    tcon.set_rule("cubic")
    return conn


@pytest.mark.parametrize("accurate", [False, True], ids=["rfc3168", "accecn"])
def test_repair_echoes_as_the_guest_does_now(ends: Ends, tcon: genl.Genl, accurate: bool) -> None:
    """AccECN's three bits are a counter (RFC 9768); ECE may be over."""
    conn = with_ecn(Conn(*ends), tcon, accurate)
    then, now = (wire.ECE, wire.CWR) if accurate else (wire.ECE, 0)
    lost = conn.guest_sends(PSH | ACK | then, payload(MSS), ae=accurate)
    rest = [conn.guest_sends(PSH | ACK | now, payload(MSS, n), ae=accurate) for n in range(3)]
    for segment in rest:
        peer_acks(conn, lost.seq, (rest[0].seq, end_of(segment)))
    got = conn.receive(conn.peer)
    assert got
    assert got.sums_ok
    assert got == lost.but(flags=PSH | ACK | now)


def test_only_the_hole_is_repaired(ends: Ends, tcon: genl.Genl) -> None:
    """SACK blocks need not end where segments do."""
    conn = connect(Conn(*ends), tcon)
    first, second, *rest = send(conn, 5)
    hole = (first.seq + 700, second.seq + 300)
    heard(conn, peer_acks(conn, hole[0]))
    for segment in rest:
        peer_acks(conn, hole[0], (hole[1], end_of(segment)))
    repaired(conn, first, 700)
    repaired(conn, second, 0, 300)
    nothing_for(conn.peer, conn)
    assert finish(conn, tcon)["repaired_bytes"] == hole[1] - hole[0]


def test_several_holes_are_repaired_in_order(ends: Ends, tcon: genl.Genl) -> None:
    conn = connect(Conn(*ends), tcon)
    sent = send(conn, 8)
    blocks = [(s.seq, end_of(s)) for s in sent[1::2]]
    for n in range(1, 5):
        peer_acks(conn, sent[0].seq, *reversed(blocks[max(0, n - 3) : n]))
    for segment in sent[0:3:2]:
        repaired(conn, segment)
    heard(conn, peer_acks(conn, sent[2].seq, *reversed(blocks[1:])))
    for segment in sent[4::2]:
        repaired(conn, segment)
    nothing_for(conn.peer, conn)
    finish(conn, tcon)


def test_much_is_lost(ends: Ends, tcon: genl.Genl) -> None:
    """One repair, then as many as arrive and one for each ACK that advances (RFC 9937, SSRB)."""
    conn = connect(Conn(*ends), tcon)
    sent = send(conn, 8)
    last = (sent[7].seq, end_of(sent[7]))
    with counted(tcon, repair_sent=7, probe_sent=0, timeout=0):
        peer_acks(conn, sent[0].seq, last)
        repaired(conn, sent[0])
        nothing_for(conn.peer, conn, 0)
        for arrived, lost in ((0, sent[1:3]), (2, sent[3:6]), (5, sent[6:7])):
            heard(conn, peer_acks(conn, sent[arrived + 1].seq, last))
            for segment in lost:
                repaired(conn, segment)
            nothing_for(conn.peer, conn, 0)
        finish(conn, tcon)


def test_a_small_repair_lets_nothing_else_out(ends: Ends, tcon: genl.Genl) -> None:
    """It takes the place of a segment; the rest of that place is no room for another."""
    conn = connect(Conn(*ends), tcon)
    small = conn.guest_sends(PSH | ACK, payload(400))
    sent = send(conn, 9)
    for _ in range(4):  # the first of them still fits into cwnd
        conn.guest.send(conn.from_guest(PSH | ACK, payload(MSS)).frame())
        conn.guest_nxt += MSS
    assert conn.receive(conn.peer, 2.0).seq == end_of(sent[8])
    nothing_for(conn.peer, conn, 0)
    peer_acks(conn, small.seq, (sent[0].seq, end_of(sent[2])))
    repaired(conn, small)
    nothing_for(conn.peer, conn)
    heard(conn, peer_acks(conn, end_of(sent[8]) + MSS))
    for n in range(1, 4):
        assert conn.receive(conn.peer, 2.0).seq == end_of(sent[8]) + n * MSS
    finish(conn, tcon)


@pytest.mark.both
def test_ect_is_cleared_on_repairs(ends: Ends, tcon: genl.Genl) -> None:
    """A repeat is not ECN-capable (RFC 3168, 6.1.5), and tells no CWR twice."""
    conn = connect(Conn(*ends), tcon)
    lost = conn.guest_sends(PSH | ACK | wire.CWR, payload(MSS), tos=0xB8 | 2)
    rest = [conn.guest_sends(PSH | ACK, payload(MSS), tos=0xB8) for _ in range(3)]
    assert lost.tos == 0xB8 | 2
    for segment in rest:
        peer_acks(conn, lost.seq, (rest[0].seq, end_of(segment)))
    assert repaired(conn, lost).tos == 0xB8
    finish(conn, tcon)


@pytest.mark.both
def test_extension_headers_are_repeated(ends: Ends, tcon: genl.Genl) -> None:
    header = bytes((6, 0, 1, 4, 0, 0, 0, 0))
    conn = connect(Conn(*ends, family=6), tcon)
    first = conn.from_guest(PSH | ACK, payload(MSS), extensions=header, first_header=60)
    conn.guest.send(first.frame())
    conn.guest_nxt += MSS
    original = conn.peer.recv(1.0)
    assert original == first.frame()
    rest = send(conn, 3)
    for segment in rest:
        peer_acks(conn, first.seq, (rest[0].seq, end_of(segment)))
    assert conn.peer.recv(1.0) == original
    finish(conn, tcon)


def test_what_is_held_stays_bounded_while_repairs_wait(ends: Ends, tcon: genl.Genl) -> None:
    """The SYN-ACK's window allows more than may wait, while cwnd holds repairs back."""
    conn = connect(Conn(*ends), tcon)
    send(conn, 10)
    poll(lambda: rigs.find_flow(tcon, conn.sport)["timeouts"] > 0, "a time-out", 10)
    discard(*ends)
    bound = 60_000
    with rigs.parameters(buffer_flow_bytes=bound):
        beyond = []
        with counted(tcon, released=0):
            for _ in range(70):
                sent = conn.from_guest(PSH | ACK, payload(MSS, conn.guest_nxt))
                conn.guest.send(sent.frame())
                beyond.append(sent.seq)
                conn.guest_nxt += MSS
        assert bound < tcon.info("BUFFER_BYTES") < 2 * bound + 4000
        kept = int(rigs.find_flow(tcon, conn.sport)["held_bytes"]) // MSS
    del beyond[kept:]
    conn.guest_nxt = beyond[-1] + MSS
    discard(*ends)
    got: list[int] = []
    while got != beyond:
        peer_acks(conn, got[-1] + MSS if got else beyond[0])
        segment = conn.receive(conn.peer)
        assert segment, "the rest never came"
        got.append(segment.seq)
    peer_acks(conn, conn.guest_nxt)
    discard(*ends)
    poll(lambda: tcon.info("BUFFER_BYTES") == 0, "all is acknowledged")


def test_the_last_segments_of_a_burst(ends: Ends, tcon: genl.Genl) -> None:
    """RACK: a segment that left before one that arrived is lost after a round trip and a bit."""
    conn = connect(Conn(*ends), tcon)
    lost, arrived = send(conn, 2)
    time.sleep(RTT_S)
    with counted(tcon, repair_sent=1, probe_sent=0, timeout=0):
        peer_acks(conn, lost.seq, (arrived.seq, end_of(arrived)))
        nothing_for(conn.peer, conn, 0.004)
        repaired(conn, lost, wait_s=0.03)
    finish(conn, tcon)


# --- super-packets --------------------------------------------------------------


def super_packet(conn: Conn, size_bytes: int, partial: bool, **changes: object) -> wire.Segment:
    """The guest, a tap, sends one of MSS-sized parts; all of it has arrived."""
    conn.clock += 1
    sent = conn.from_guest(PSH | ACK, payload(size_bytes), partial=partial, **changes)
    conn.guest_ts = conn.clock
    gso = rigs.VNET_GSO_TCPV4 if "." in sent.src else rigs.VNET_GSO_TCPV6
    conn.guest.send(sent.frame(), sent.header_bytes(), MSS, gso if size_bytes > MSS else 0)
    conn.guest_nxt += size_bytes
    arrived = b""
    while len(arrived) < size_bytes:
        got = conn.receive(conn.peer)
        assert got, f"{size_bytes - len(arrived)} bytes never came"
        assert got.seq == (sent.seq + len(arrived)) % 2**32
        arrived += got.payload
    assert arrived == sent.payload
    return sent.but(partial=False)


@pytest.mark.both
@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("offload", [0, TSO], ids=["segmented", "whole"])
def test_only_the_lost_part_of_a_super_packet(
    rig: rigs.Rig, tcon: genl.Genl, family: int, offload: int
) -> None:
    conn = connect(Conn(*rig.taps(TSO, offload), family=family), tcon)
    whole = super_packet(conn, 7 * MSS + 100, partial=True)
    at = [whole.seq + n * MSS for n in range(9)]
    # Parts 0, 3, 4 and the odd rest are lost; two arrive with what tells of the loss.
    with counted(tcon, repair_sent=2, probe_sent=0, timeout=0):
        peer_acks(conn, at[0], (at[1], at[3]))
        peer_acks(conn, at[0], (at[5], at[7]), (at[1], at[3]))
        for start in (0, 3):
            repaired(conn, whole, start * MSS, (start + 1) * MSS)
            assert conn.peer.last_gso_bytes == 0
        nothing_for(conn.peer, conn)
    # Repairs arrive that left later than the odd rest: it is lost, too.
    time.sleep(RTT_S)
    with counted(tcon, repair_sent=2, probe_sent=0, timeout=0):
        heard(conn, peer_acks(conn, at[4], (at[5], at[7])))
        repaired(conn, whole, 4 * MSS, 5 * MSS)
        repaired(conn, whole, 7 * MSS)
    finish(conn, tcon)


@pytest.mark.both
@pytest.mark.parametrize("family", [4, 6])
def test_packets_beyond_64_kib(rig: rigs.Rig, tcon: genl.Genl, family: int) -> None:
    """BIG TCP: TCon makes a segment of the usual size of such a packet's headers."""
    conn = connect(Conn(*rig.taps(TSO), family=family), tcon)
    for segs in (10, 20, 40):
        super_packet(conn, segs * MSS, partial=True)
        peer_acks(conn, conn.guest_nxt)
        time.sleep(RTT_S)
    discard(conn.guest)
    with counted(tcon, gso_split=0, jumbogram=0, repair_sent=1, copy_absorbed=1, pure_ack=1):
        whole = super_packet(conn, 48 * MSS, partial=True)
        sacked = (whole.seq + MSS, end_of(whole))
        heard(conn, peer_acks(conn, whole.seq, sacked, data=b"hello"))
        repaired(conn, whole, 0, MSS)
        # The guest repeats all of it, and acknowledges the data that has come since.
        conn.clock += 1
        again = whole.but(ack=conn.peer_nxt, partial=True)
        gso = rigs.VNET_GSO_TCPV4 if family == 4 else rigs.VNET_GSO_TCPV6
        conn.guest.send(again.frame(), again.header_bytes(), MSS, gso)
        told = conn.receive(conn.peer)
        assert told
        assert told.sums_ok
        assert (told.payload, told.ack, told.seq) == (b"", conn.peer_nxt, conn.guest_nxt)
    with counted(tcon, dsack_sent=1, jumbogram=0):
        sent = conn.from_peer(PSH | ACK, payload(48 * MSS), partial=True)
        conn.peer.send(sent.frame(), sent.header_bytes(), MSS, gso)
        needless = conn.receive(conn.guest)
        assert needless
        assert needless.sums_ok
        assert needless.options.endswith(wire.opt_sack((whole.seq, end_of(whole))))
        first = conn.receive(conn.guest)
        assert first
        assert (first.seq, first.ack) == (sent.seq, conn.guest_nxt)
    assert rigs.find_flow(tcon, conn.sport)["una"] == conn.guest_nxt


def test_odd_byte_behind_full_segments(rig: rigs.Rig, tcon: genl.Genl) -> None:
    """One byte more than full segments: it is no FIN, which would go with the last of them."""
    conn = connect(Conn(*rig.taps(TSO)), tcon)
    whole = super_packet(conn, 3 * MSS + 1, partial=True)
    behind = super_packet(conn, 4 * MSS, partial=True)
    with counted(tcon, repair_sent=2, probe_sent=0, timeout=0):
        time.sleep(RTT_S)
        heard(conn, peer_acks(conn, whole.seq + 2 * MSS, (behind.seq, end_of(behind))))
        repaired(conn, whole, 2 * MSS, 3 * MSS)
        repaired(conn, whole, 3 * MSS)
    finish(conn, tcon)


def test_two_segments_are_split_in_a_recovery(rig: rigs.Rig, tcon: genl.Genl) -> None:
    """One of them may leave: what it finds out may be that the repair was lost."""
    conn = connect(Conn(*rig.taps(TSO)), tcon, "reno")
    sent = [super_packet(conn, MSS, partial=True) for _ in range(10)]
    with counted(tcon, gso_split=1, timeout=0):
        # Half of 10 segments for what arrives: two for three, one of them the repair.
        peer_acks(conn, sent[0].seq, (sent[1].seq, end_of(sent[3])))
        repaired(conn, sent[0])
        pair = conn.from_guest(PSH | ACK, payload(2 * MSS), partial=True)
        conn.guest.send(pair.frame(), pair.header_bytes(), MSS, rigs.VNET_GSO_TCPV4)
        conn.guest_nxt += 2 * MSS
        first = conn.receive(conn.peer, SOON_S)
        assert first
        assert (first.seq, len(first.payload)) == (pair.seq, MSS)
        nothing_for(conn.peer, conn)
    heard(conn, peer_acks(conn, end_of(sent[9])))
    assert conn.receive(conn.peer, 2.0).seq == pair.seq + MSS
    finish(conn, tcon)


@pytest.mark.both
@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("offload", [0, TSO], ids=["complete", "partial"])
def test_copy_without_its_checksum(
    rig: rigs.Rig, tcon: genl.Genl, family: int, offload: int
) -> None:
    """A guest's partial sum is filled in, by TCon or by an uplink that can."""
    conn = connect(Conn(*rig.taps(TSO, offload), family=family), tcon)
    lost = super_packet(conn, MSS, partial=True)
    rest = [super_packet(conn, MSS, partial=True) for _ in range(3)]
    for segment in rest:
        peer_acks(conn, lost.seq, (rest[0].seq, end_of(segment)))
    repaired(conn, lost)
    finish(conn, tcon)


def test_wrong_checksum_is_not_made_right(ends: Ends, tcon: genl.Genl) -> None:
    """A segment that the guest's device damaged must not reach the peer as good."""
    conn = connect(Conn(*ends), tcon)
    good = conn.from_guest(PSH | ACK, payload(MSS))
    damaged = bytearray(good.frame())
    damaged[-1] ^= 1
    conn.guest.send(bytes(damaged))
    conn.guest_nxt += MSS
    assert not conn.receive(conn.peer).sums_ok
    rest = send(conn, 3)
    with counted(tcon, repair_sent=0):
        for segment in rest:
            peer_acks(conn, good.seq, (rest[0].seq, end_of(segment)))
        nothing_for(conn.peer, conn)
        assert state(tcon, conn.sport) == ("window-enforced", "bad-copy", "cubic")
        discard(conn.guest)
        # From here on it is the guest's business, which hears what it needs.
        sent = peer_acks(conn, good.seq, (rest[0].seq, end_of(rest[-1])))
        got = conn.receive(conn.guest)
        assert got
        assert got.options == sent.options
        assert conn.guest_sends(PSH | ACK, good.payload, seq=good.seq)
        finish(conn, tcon)
    assert state(tcon, conn.sport) == REPAIRED


# --- what the guest hears -----------------------------------------------------------


@pytest.mark.parametrize("flags", [ACK, FIN | ACK], ids=["data", "fin"])
def test_ack_that_carries_something_is_edited_not_dropped(
    ends: Ends, tcon: genl.Genl, flags: int
) -> None:
    conn = connect(Conn(*ends), tcon)
    lost, *rest = send(conn, 4)
    with counted(tcon, ack_hidden=0, sack_stripped=3):
        for n, segment in enumerate(rest):
            data = payload(100, n) if flags == ACK else b""
            sent = peer_acks(conn, lost.seq, (rest[0].seq, end_of(segment)), flags=flags, data=data)
            heard(conn, sent)
            if flags & FIN:
                conn.peer_nxt = sent.seq  # the same FIN again
    discard(conn.peer)


def test_overtaken_ack_shows_neither_its_sack_nor_its_window(ends: Ends, tcon: genl.Genl) -> None:
    """A guest reads the SACK blocks even of an ACK below its una.

    Of one above it, as the newer ones may have been kept back, the window too.
    """
    conn = connect(Conn(*ends), tcon)
    first, lost, *rest = send(conn, 5)
    newer = heard(conn, peer_acks(conn, lost.seq))
    with counted(tcon, bad_ack=1, sack_stripped=1, window_written=1):
        late = peer_acks(conn, first.seq, (rest[0].seq, end_of(rest[0])))
        got = heard(conn, late)
    assert got.window < late.window
    quantum = 1 << conn.scales[1]
    edge = lost.seq + newer.window * quantum
    assert edge <= first.seq + got.window * quantum < edge + quantum
    finish(conn, tcon)


def test_updates_follow_an_overtaken_ack(ends: Ends, tcon: genl.Genl) -> None:
    """An ACK that the guest had not been given: a guest ignores older ones."""
    conn = connect(Conn(*ends), tcon, "bbr", syn_window=10 * MSS, rtt_s=0.03)
    first, second, *rest = send(conn, 9)
    time.sleep(0.045)  # a queue, for which ACKs are thinned
    heard(conn, peer_acks(conn, end_of(first)))
    with counted(tcon, ack_thinned=1):
        peer_acks(conn, end_of(rest[0]))
    late = heard(conn, peer_acks(conn, end_of(second)))
    flow = rigs.find_flow(tcon, conn.sport)
    while conn.guest_nxt + MSS <= flow["edge"]:
        conn.guest.send(conn.from_guest(PSH | ACK, payload(MSS)).frame())
        conn.guest_nxt += MSS
    update = conn.receive(conn.guest, 0.02)
    assert update, "no window update"
    assert update.ack == late.ack
    discard(conn.peer)


@pytest.mark.parametrize("family", [4, 6])
def test_ack_with_data_repeats_what_the_guest_was_told(
    ends: Ends, tcon: genl.Genl, family: int
) -> None:
    """An ACK that would end the guest's slow start early is not given, but its data is.

    The window ends where it would, or further left by less than its quantum.
    """
    conn = Conn(*ends, family=family)
    conn = connect(conn, tcon, "bbr", syn_window=10 * MSS, rtt_s=0.03)
    first, *rest = send(conn, 9)
    time.sleep(0.045)  # a queue, for which ACKs are thinned
    data = payload(700)
    told = heard(conn, peer_acks(conn, end_of(first), data=data))
    assert told.ack == end_of(first)
    with counted(tcon, ack_thinned=1, ack_in=1):
        sent = peer_acks(conn, end_of(rest[0]), data=data)
        got = conn.receive(conn.guest)
    assert got
    assert got.sums_ok
    assert got.but(window=0) == sent.but(window=0, ack=told.ack)
    assert got.window << conn.shift() >= told.window << conn.shift()
    assert got.ack + (got.window << conn.shift()) <= sent.ack + (sent.window << conn.shift())
    last = heard(conn, peer_acks(conn, end_of(rest[-1]), data=data))
    assert last.ack == end_of(rest[-1])
    discard(conn.peer)


def through_conntrack(rig: rigs.Rig) -> tuple[rigs.Tap, rigs.Tap]:
    """Taps; conntrack adds up what comes from outside, and leaves it at that."""
    taps = rig.taps()
    rig.flows("br1", "in_port=1,actions=output:2", "table=1,in_port=2,actions=output:1",
              "in_port=2,tcp,ct_state=-trk,actions=ct(table=1)",
              "in_port=2,tcp6,ct_state=-trk,actions=ct(table=1)")  # fmt: skip
    return taps


@pytest.mark.machine
@pytest.mark.parametrize("family", [4, 6])
def test_damaged_packet_that_was_only_added_up(rig: rigs.Rig, tcon: genl.Genl, family: int) -> None:
    """CHECKSUM_COMPLETE says what the sum is, not that it is right."""
    conn = connect(Conn(*through_conntrack(rig), family=family), tcon)
    sent = send(conn, 4)
    damaged = bytearray(conn.from_peer(ack=sent[1].seq).frame())
    at = len(damaged) - len(conn.from_peer().tcp()) + 16
    damaged[at] ^= 0x10
    with counted(tcon, bad_checksum=1, ack_in=0):
        conn.peer.send(bytes(damaged))
        assert conn.guest.recv(1.0)
    with counted(tcon, bad_checksum=0, ack_in=1):
        heard(conn, peer_acks(conn, sent[1].seq))
    finish(conn, tcon)


@pytest.mark.both
@pytest.mark.parametrize("what", ["ack", "window", "reset", "sack"])
@pytest.mark.parametrize("family", [4, 6])
def test_damaged_packet_is_not_believed(
    ends: Ends, tcon: genl.Genl, what: str, family: int
) -> None:
    """The guest will drop it: to TCon it must mean nothing either."""
    conn = connect(Conn(*ends, family=family), tcon)
    sent = send(conn, 4)
    before = rigs.find_flow(tcon, conn.sport)
    changed = {
        "ack": {"ack": conn.guest_nxt + 5},
        "window": {"ack": sent[0].seq, "window": 1},
        "reset": {"ack": sent[0].seq, "flags": RST | ACK},
        "sack": {
            "ack": sent[0].seq,
            "options": conn.from_peer().options
            + SACK_PAD
            + wire.opt_sack((sent[1].seq, end_of(sent[3]))),
        },
    }[what]
    damaged = bytearray(conn.from_peer(**changed).frame())
    at = len(conn.from_peer().frame()) - len(conn.from_peer().tcp()) + 16
    damaged[at] ^= 0x10  # a bit of the checksum itself
    with counted(tcon, bad_checksum=1, bad_ack=0, ack_in=0, ack_hidden=0):
        conn.peer.send(bytes(damaged))
        assert conn.guest.recv(1.0) == bytes(damaged)
    after = rigs.find_flow(tcon, conn.sport)
    for name in ("state", "reason", "una", "edge", "peer_rwnd_bytes", "buffer_bytes", "lost_bytes"):
        assert after[name] == before[name], name
    nothing_for(conn.peer, conn)
    finish(conn, tcon)


def test_packet_of_no_flow_is_not_summed_up(ends: Ends, tcon: genl.Genl) -> None:
    """Nothing depends on it; but a SYN, which makes a flow, must be right."""
    conn = Conn(*ends)
    for flags, counts in ((ACK, 0), (SYN, 1)):
        damaged = bytearray(conn.from_peer(flags, bytes(1000) if flags == ACK else b"").frame())
        damaged[14 + 20 + 16] ^= 0x10
        with counted(tcon, bad_checksum=counts, flows_new=0):
            conn.peer.send(bytes(damaged))
            assert conn.guest.recv(1.0) == bytes(damaged)


@pytest.mark.parametrize("shift", [0, 7, 12])
def test_duplicate_passes_only_as_a_window_update(ends: Ends, tcon: genl.Genl, shift: int) -> None:
    """The field must grow: for the guest a larger one of the same ACK is no duplicate."""
    conn = Conn(*ends, scales=(7, shift))
    connect(conn, tcon, syn_window=9 * MSS)
    conn.window = 0xFFFF
    lost, *rest = send(conn, 9)
    windows = [9 * MSS]
    before = tcon.counters()
    for segment in rest:
        peer_acks(conn, lost.seq, (rest[0].seq, end_of(segment)))
        while got := conn.receive(conn.guest, SOON_S / 10):
            assert got.sums_ok
            assert got.ack == lost.seq
            assert got.options[12:].strip(wire.NOP) == b"", "a SACK"
            windows.append(got.window << shift)
    after = tcon.counters()
    assert len(windows) > 1, "what has left the path gives no room"
    assert all(a < b for a, b in itertools.pairwise(windows)), windows
    hidden = after["ack-hidden"] - before["ack-hidden"]
    made = after["update-sent"] - before["update-sent"]
    assert hidden + len(windows) - 1 - made == len(rest)
    assert hidden or shift < 12, "a quantum of 4096 bytes does not grow with each segment"
    discard(conn.peer)
    heard(conn, peer_acks(conn, conn.guest_nxt))


@pytest.mark.parametrize("sack", [(False, True), (True, False), (False, False)],
                         ids=["guest", "peer", "neither"])  # fmt: skip
def test_without_sack(ends: Ends, tcon: genl.Genl, sack: tuple[bool, bool]) -> None:
    """Three duplicates show the hole, a partial ACK the next (RFC 6582)."""
    conn = connect(Conn(*ends, sack=sack), tcon)
    sent = send(conn, 6)
    with counted(tcon, repair_sent=2, ack_hidden=4, probe_sent=0, timeout=0):
        for _ in range(2):
            peer_acks(conn, sent[0].seq)
        nothing_for(conn.peer, conn)
        for _ in range(2):
            peer_acks(conn, sent[0].seq)
        repaired(conn, sent[0])
        heard(conn, peer_acks(conn, sent[3].seq))  # 3 was lost too
        repaired(conn, sent[3])
        nothing_for(conn.peer, conn)
        finish(conn, tcon)


@pytest.mark.parametrize("sack", [True, False], ids=["sack", "no-sack"])
def test_waiting_for_a_repair_is_no_round_trip(ends: Ends, tcon: genl.Genl, sack: bool) -> None:
    """The ACK that a repair brings covers what has long been there."""
    conn = connect(Conn(*ends, sack=(sack, sack)), tcon)
    lost, *rest = send(conn, 4)
    time.sleep(RTT_S)
    for segment in rest:
        peer_acks(conn, lost.seq, *([(rest[0].seq, end_of(segment))] if sack else []))
    repaired(conn, lost)
    before = rigs.find_flow(tcon, conn.sport)["srtt_us"]
    for _ in range(4):
        time.sleep(RTT_S)
    after = finish(conn, tcon)
    assert after["srtt_us"] < before * 1.25


# --- repeats of the guest -----------------------------------------------------------


def repeat(conn: Conn, of: wire.Segment, **changes: object) -> wire.Segment:
    """The guest sends a segment again, with a newer TSval; as it was sent."""
    conn.clock += 1
    conn.guest_ts = conn.clock
    ts = wire.NOP * 2 + wire.opt_ts(conn.clock, conn.peer_ts) if conn.ts else b""
    sent = of.but(**{"options": ts, **changes})
    conn.guest.send(sent.frame())
    return sent


def test_repeats_of_the_guest_are_absorbed(ends: Ends, tcon: genl.Genl) -> None:
    """A later repair still has its old TSval: the receiver's PAWS lets it pass."""
    conn = connect(Conn(*ends), tcon)
    lost, *rest = send(conn, 4, 700)
    with counted(tcon, copy_absorbed=3, repair_sent=1, repeat_passed=0):
        repeat(conn, lost)
        repeat(conn, rest[0])
        # Several at once, as a guest merges small ones.
        repeat(conn, lost, payload=lost.payload + rest[0].payload)
        nothing_for(conn.peer, conn)
        for segment in rest:
            peer_acks(conn, lost.seq, (rest[0].seq, end_of(segment)))
        repaired(conn, lost)
        nothing_for(conn.peer, conn)
    flow = rigs.find_flow(tcon, conn.sport)
    assert flow
    assert flow["absorbed"] == 3
    assert flow["repeated_bytes"] == 0
    discard(conn.guest)
    peer_acks(conn, conn.guest_nxt)
    assert conn.receive(conn.guest)


def test_tail_probe_of_the_guest_is_answered_with_a_dsack(ends: Ends, tcon: genl.Genl) -> None:
    """Right before the first ACK at or past its end, and once."""
    conn = connect(Conn(*ends), tcon)
    *some, tail = send(conn, 3)
    with counted(tcon, copy_absorbed=1, dsack_sent=1):
        repeat(conn, tail)
        nothing_for(conn.peer, conn, 0)
        heard(conn, peer_acks(conn, some[-1].seq))  # does not reach it
        sent = peer_acks(conn, end_of(tail))
        dsack = conn.receive(conn.guest)
        assert dsack
        assert dsack.sums_ok
        assert dsack.flags == ACK
        assert not dsack.payload
        assert (dsack.seq, dsack.ack) == (conn.peer_nxt, end_of(tail))
        assert dsack.timestamps() == sent.timestamps()
        assert dsack.options[12:] == SACK_PAD + wire.opt_sack((tail.seq, end_of(tail)))
        got = heard(conn, sent)
        assert dsack.window <= got.window
        more = send(conn, 1)
        heard(conn, peer_acks(conn, end_of(more[0])))
        nothing_for(conn.guest, conn, 0)


@pytest.mark.parametrize("accurate", [False, True], ids=["rfc3168", "accecn"])
def test_acks_that_are_made_keep_the_ends_counters(
    ends: Ends, tcon: genl.Genl, accurate: bool
) -> None:
    """AccECN's three bits (RFC 9768) are in them as the end said them last."""
    conn = with_ecn(Conn(*ends), tcon, accurate)
    *_, tail = [
        conn.guest_sends(PSH | ACK | wire.CWR, payload(MSS, n), ae=accurate) for n in range(3)
    ]
    conn.peer_nxt += 700  # the peer's data, which the guest has meanwhile
    with counted(tcon, copy_absorbed=1, pure_ack=1, dsack_sent=1):
        repeat(conn, tail, ack=conn.peer_nxt)
        told = conn.receive(conn.peer)
        peer_acks(conn, end_of(tail), flags=ACK | wire.ECE | wire.CWR, ae=accurate)
        dsack = conn.receive(conn.guest)
    assert told
    assert dsack
    assert told.sums_ok
    assert dsack.sums_ok
    assert (told.flags, told.ae) == (ACK | (wire.CWR if accurate else 0), accurate)
    assert dsack.options[12:] == SACK_PAD + wire.opt_sack((tail.seq, end_of(tail)))
    flags = ACK | (wire.ECE | wire.CWR if accurate else 0)
    assert (dsack.flags, dsack.ae) == (flags, accurate)


def test_no_dsack_without_sack(ends: Ends, tcon: genl.Genl) -> None:
    conn = connect(Conn(*ends, sack=(False, False)), tcon)
    tail = send(conn, 2)[-1]
    with counted(tcon, dsack_sent=0):
        repeat(conn, tail)
        finish(conn, tcon)


def test_ack_that_the_guest_has_not_heard_comes_again(ends: Ends, tcon: genl.Genl) -> None:
    """It repeats what was acknowledged: the ACK was lost on its way to the guest."""
    conn = connect(Conn(*ends), tcon)
    first, _ = send(conn, 2)
    heard(conn, peer_acks(conn, end_of(first)))
    with counted(tcon, ack_hidden=2):
        peer_acks(conn, end_of(first))
        sent = repeat(conn, first)
        assert conn.receive(conn.peer) == sent
        heard(conn, peer_acks(conn, end_of(first), (first.seq, end_of(first))))
        peer_acks(conn, end_of(first))
        nothing_for(conn.guest, conn)


def test_repeat_with_new_data_passes(ends: Ends, tcon: genl.Genl) -> None:
    """Its new data must arrive; its old data raises TSval's floor."""
    conn = connect(Conn(*ends), tcon)
    lost, *rest = send(conn, 3, 700)
    both = rest[-1].payload + payload(500, 9)
    with counted(tcon, copy_absorbed=0, repeat_passed=1):
        sent = repeat(conn, rest[-1], payload=both)
        conn.guest_nxt += 500
        assert conn.receive(conn.peer) == sent
    newest = send(conn, 1)[0]
    peer_acks(conn, lost.seq, (rest[0].seq, end_of(newest)))
    repaired(conn, lost.but(options=sent.options))
    assert finish(conn, tcon)["repeated_bytes"] == 700


def test_repeat_of_what_was_repaired_in_vain_passes(ends: Ends, tcon: genl.Genl) -> None:
    """Later repairs carry at least its TSval, or PAWS would discard them."""
    conn = connect(Conn(*ends), tcon)
    head = send(conn, 1)[0]
    discard(conn.guest)
    for _ in range(2):
        repaired(conn, head, wait_s=10)
        repeat(conn, head)
        nothing_for(conn.peer, conn)
    repaired(conn, head, wait_s=10)  # the two before it have failed
    with counted(tcon, repeat_passed=1, copy_absorbed=0):
        again = repeat(conn, head)
        assert conn.receive(conn.peer) == again
    repaired(conn, head.but(options=again.options), wait_s=20)
    flow = rigs.find_flow(tcon, conn.sport)
    assert flow
    assert flow["absorbed"] == 2
    peer_acks(conn, conn.guest_nxt)
    poll(lambda: rigs.find_flow(tcon, conn.sport)["inflight_bytes"] == 0, "all is acknowledged")


@pytest.mark.parametrize("what", ["acknowledged", "smaller"])
def test_repeat_does_not_wait_for_repairs(ends: Ends, tcon: genl.Genl, what: str) -> None:
    """The repairs may wait for room that only an answer to it will make."""
    conn = connect(Conn(*ends), tcon)
    before = send(conn, 1)[0]
    heard(conn, peer_acks(conn, conn.guest_nxt))
    sent = send(conn, 8)
    for _ in range(3):
        poll(lambda: conn.receive(conn.peer, 0.1), "a time-out's repair", 10)
    poll(lambda: rigs.find_flow(tcon, conn.sport)["timeouts"] > 1, "two time-outs", 10)
    time.sleep(SOON_S)
    discard(conn.peer)
    flow = rigs.find_flow(tcon, conn.sport)
    assert flow
    assert flow["inflight_bytes"] >= flow["cwnd_bytes"], "repairs can go on"
    assert flow["inflight_bytes"] < 8 * MSS, "no repair waits"
    again = before if what == "acknowledged" else sent[0].but(payload=sent[0].payload[:700])
    with counted(tcon, repeat_passed=1, copy_absorbed=0, held=0):
        got = repeat(conn, again)
        assert conn.receive(conn.peer, SOON_S) == got


def test_smaller_segments_pass(ends: Ends, tcon: genl.Genl) -> None:
    """The path MTU fell: copies of the old size would never arrive."""
    conn = connect(Conn(*ends), tcon)
    sent = send(conn, 3)
    whole = b"".join(segment.payload for segment in sent)
    with counted(tcon, mtu_fell=1, copy_absorbed=0, repeat_passed=1, repair_sent=0):
        for at in range(0, len(whole), 1000):
            piece = sent[0].but(seq=sent[0].seq + at, payload=whole[at : at + 1000])
            again = repeat(conn, piece)
            assert conn.receive(conn.peer) == again
    assert state(tcon, conn.sport) == ("window-enforced", "path-mtu", "cubic")
    told = peer_acks(conn, sent[0].seq, (sent[1].seq, end_of(sent[1])))
    assert conn.receive(conn.guest).options == told.options
    finish(conn, tcon)
    assert state(tcon, conn.sport) == REPAIRED


def test_short_last_segment_is_no_smaller_mtu(ends: Ends, tcon: genl.Genl) -> None:
    conn = connect(Conn(*ends), tcon)
    send(conn, 2)
    short = send(conn, 1, 300)[0]
    with counted(tcon, mtu_fell=0, copy_absorbed=2):
        repeat(conn, short)
        repeat(conn, short.but(seq=short.seq + 100, payload=short.payload[100:]))
        nothing_for(conn.peer, conn)


def test_super_packet_that_is_cut_smaller_passes(rig: rigs.Rig, tcon: genl.Genl) -> None:
    """The same bytes, the same ends, but to be cut by a smaller MTU."""
    conn = connect(Conn(*rig.taps(TSO, TSO)), tcon)
    whole = super_packet(conn, 4 * MSS, partial=True)
    with counted(tcon, mtu_fell=1, copy_absorbed=0):
        again = whole.but(partial=True)
        conn.guest.send(again.frame(), again.header_bytes(), 1000, rigs.VNET_GSO_TCPV4)
        got = conn.receive(conn.peer)
        assert got
        assert got.payload == whole.payload
        assert conn.peer.last_gso_bytes == 1000
    assert state(tcon, conn.sport) == ("window-enforced", "path-mtu", "cubic")


# --- TCon's own timers --------------------------------------------------------------


@contextlib.contextmanager
def timed(times: list[float]) -> Iterator[None]:
    """Append how long the block takes, in seconds."""
    start = time.monotonic()
    yield
    times.append(time.monotonic() - start)


@pytest.mark.both
def test_tail_probe_then_time_outs_with_back_off(ends: Ends, tcon: genl.Genl) -> None:
    conn = connect(Conn(*ends), tcon)
    head, tail = send(conn, 2)  # so that both are repeated
    waits: list[float] = []
    with counted(tcon, probe_sent=1, timeout=0, repair_sent=0), timed(waits):
        repaired(conn, tail)
    assert 2 * RTT_S < waits[0] < 3 * RTT_S, "a probe after two round trips"
    waits.clear()
    with counted(tcon, probe_sent=0, timeout=3):
        for _ in range(3):
            with timed(waits):
                repaired(conn, head, wait_s=20)
                discard(conn.peer)
    assert waits[0] >= 0.2
    for before, after in itertools.pairwise(waits[1:]):
        assert 1.9 < after / before < 2.1, waits
    flow = rigs.find_flow(tcon, conn.sport)
    assert flow
    assert (flow["probes"], flow["timeouts"]) == (1, 3)
    assert flow["cwnd_bytes"] <= flow["mss_bytes"] * 2
    assert state(tcon, conn.sport) == REPAIRED
    nothing_for(conn.guest, conn, 0)
    # An answer to repeats tells no round trip: the next time-out is as late as it would have been.
    last_s = waits[-1]
    peer_acks(conn, conn.guest_nxt)
    assert conn.receive(conn.guest)
    again = send(conn, 1)[0]
    discard(conn.peer)
    waits.clear()
    with timed(waits), counted(tcon, probe_sent=0, timeout=1):
        repaired(conn, again, wait_s=20)
    assert 1.9 < waits[0] / last_s < 2.1
    # One that tells it ends that (RFC 6298, 5.7).
    discard(conn.peer)
    peer_acks(conn, conn.guest_nxt)
    assert conn.receive(conn.guest)
    send(conn, 1)
    finish(conn, tcon)
    again = send(conn, 1)[0]
    waits.clear()
    with timed(waits), counted(tcon, probe_sent=1, timeout=0):
        repaired(conn, again)
    assert waits[0] < 1


@pytest.mark.parametrize("rto_min_us", [None, 1000])
def test_time_outs_are_as_short_as_the_rule_says(
    ends: Ends, tcon: genl.Genl, rto_min_us: int | None
) -> None:
    """Behind a handshake of a millisecond; a change of that concerns the flow that runs."""
    conn = connect(Conn(*ends), tcon, rtt_s=0.001)
    tcon.set_rule("cubic", rto_min_us=rto_min_us)
    only = send(conn, 1)[0]
    waits: list[float] = []
    with counted(tcon, probe_sent=1, timeout=1):
        for _ in range(2):
            with timed(waits):
                repaired(conn, only)
    if rto_min_us:
        assert max(waits) < 0.05, waits
    else:
        assert min(waits) >= 0.2, waits
    discard(conn.peer)
    finish(conn, tcon)


@pytest.mark.parametrize("sack", [True, False], ids=["sack", "no-sack"])
def test_path_that_becomes_slow(ends: Ends, tcon: genl.Genl, sack: bool) -> None:
    """ACKs come after 0.3 s, behind a handshake of 20 ms: not everything is sent twice."""
    conn = connect(Conn(*ends, ts=False, sack=(sack, sack)), tcon, rtt_s=0.02)
    twice = 0
    for _ in range(8):
        segment = send(conn, 1, 536)[0]
        answer_s = time.monotonic() + 0.3
        got_twice = conn.receive(conn.peer, 0.29) is not None
        twice += got_twice
        time.sleep(max(0, answer_s - time.monotonic()))
        heard(conn, peer_acks(conn, end_of(segment)))
        if got_twice and sack:  # and the peer says so
            peer_acks(conn, end_of(segment), (segment.seq, end_of(segment)))
            assert conn.receive(conn.guest)
    assert 1 <= twice <= 3
    discard(conn.guest)
    finish(conn, tcon)


def test_single_segment_is_probed_before_a_time_out(ends: Ends, tcon: genl.Genl) -> None:
    """A peer may delay its ACK by more than the RTO has room for (RFC 8985, 7.2)."""
    conn = connect(Conn(*ends), tcon)
    only = send(conn, 1)[0]
    with counted(tcon, probe_sent=1, timeout=0):
        repaired(conn, only)
    with counted(tcon, probe_sent=0, timeout=1):
        repaired(conn, only)
    discard(conn.peer)
    assert finish(conn, tcon)["cwnd_bytes"]


def test_needless_repairs_are_counted_and_hidden(ends: Ends, tcon: genl.Genl) -> None:
    """The peer says by a DSACK that it had it; the guest does not see that."""
    conn = connect(Conn(*ends), tcon)
    late, *rest = send(conn, 4)
    for segment in rest:
        peer_acks(conn, late.seq, (rest[0].seq, end_of(segment)))
    repaired(conn, late)
    with counted(tcon, repair_spurious=1, sack_stripped=1):
        heard(conn, peer_acks(conn, conn.guest_nxt))
        heard(conn, peer_acks(conn, conn.guest_nxt, (late.seq, end_of(late))))
    assert rigs.find_flow(tcon, conn.sport)["spurious"] == 1


def test_path_that_reorders_too_much_is_left_alone(ends: Ends, tcon: genl.Genl) -> None:
    """More repairs needless than not: the guest hears of losses again."""
    conn = connect(Conn(*ends), tcon)
    rounds = 0
    while state(tcon, conn.sport) == REPAIRED:
        rounds += 1
        assert rounds < 100, "repairs needlessly for ever"
        late, *rest = send(conn, 2)  # what fits into the smallest cwnd
        for segment in rest:
            peer_acks(conn, late.seq, (rest[0].seq, end_of(segment)))
        got = conn.receive(conn.peer)
        assert got
        assert got.seq == late.seq
        peer_acks(conn, conn.guest_nxt)
        told = peer_acks(conn, conn.guest_nxt, (late.seq, end_of(late)))
        while (got := conn.receive(conn.guest)) and got.timestamps() != told.timestamps():
            pass
        assert got, "never came"
    assert rounds > 32
    assert state(tcon, conn.sport) == ("window-enforced", "reordering", "cubic")
    late, *rest = send(conn, 2)
    told = peer_acks(conn, late.seq, (rest[0].seq, end_of(rest[0])))
    assert conn.receive(conn.guest).options == told.options
    nothing_for(conn.peer, conn)


def test_sack_blocks_of_other_numbers_are_no_dsacks(ends: Ends, tcon: genl.Genl) -> None:
    """A firewall shifts sequence numbers, but not those in SACK blocks.

    Each repair is needed.  A block that is of nothing which was sent again says nothing of a repair
    (RFC 2883, 4: it reports what has arrived twice).
    """
    conn = connect(Conn(*ends), tcon)
    with counted(tcon, repair_spurious=0):
        for _ in range(5):
            lost, *rest = send(conn, 2)
            far = rest[0].seq - 1_000_000_000
            for _ in range(3):
                peer_acks(conn, lost.seq, (far, far + MSS))
            got = conn.receive(conn.peer)
            assert got, "no repair"
            assert got.seq in (lost.seq, rest[0].seq)
            while got.seq != lost.seq:  # the tail is probed first
                got = conn.receive(conn.peer)
                assert got, "no repair"
            peer_acks(conn, conn.guest_nxt)
            discard(*ends)
    assert state(tcon, conn.sport) == REPAIRED


# --- what is never absorbed -----------------------------------------------------------


@pytest.mark.parametrize("garbage", [b"", b"\0"], ids=["bare", "garbage"])
def test_keep_alive(ends: Ends, tcon: genl.Genl, garbage: bytes) -> None:
    """RFC 9293, 3.8.4: one before una, with or without a byte; its answer passes."""
    conn = connect(Conn(*ends), tcon)
    send(conn, 2)
    finish(conn, tcon)
    for _ in range(3):
        with counted(tcon, copy_absorbed=0, ack_hidden=0):
            conn.guest_sends(ACK, garbage, seq=conn.guest_nxt - 1)
            heard(conn, peer_acks(conn, conn.guest_nxt))
    assert rigs.find_flow(tcon, conn.sport)["una"] == conn.guest_nxt
    assert state(tcon, conn.sport) == REPAIRED


@pytest.mark.parametrize("garbage", [b"", b"\0"], ids=["bare", "garbage"])
def test_repairs_after_a_keep_alive_have_its_timestamp(
    ends: Ends, tcon: genl.Genl, garbage: bytes
) -> None:
    """It lies left of the receiver's edge, so the receiver remembers its TSval."""
    conn = connect(Conn(*ends), tcon)
    lost, *rest = send(conn, 4)
    probe = conn.guest_sends(ACK, garbage, seq=lost.seq - 1)
    assert probe.timestamps()[0] > lost.timestamps()[0]
    for segment in rest:
        peer_acks(conn, lost.seq, (rest[0].seq, end_of(segment)))
    repaired(conn, lost.but(options=probe.options))
    finish(conn, tcon)


def test_repairs_after_an_ack_that_overtook_data_have_its_timestamp(
    ends: Ends, tcon: genl.Genl
) -> None:
    """A guest whose window shrank acknowledges from its edge, below its nxt.

    Waiting segments have its timestamp as well.
    """
    conn = connect(Conn(*ends), tcon)
    send(conn, 10)
    waiting = [conn.from_guest(PSH | ACK, payload(MSS), seq=conn.guest_nxt + i * MSS)
               for i in range(4)]  # fmt: skip
    for segment in waiting:
        conn.guest.send(segment.frame())
    nothing_for(conn.peer, conn)
    conn.guest_nxt += 4 * MSS
    overtakes = conn.guest_sends(seq=waiting[0].seq)
    assert overtakes.timestamps()[0] > waiting[0].timestamps()[0]
    heard(conn, peer_acks(conn, waiting[0].seq))
    stamped = [segment.but(options=overtakes.options) for segment in waiting]
    assert [conn.receive(conn.peer) for _ in waiting] == stamped
    for segment in waiting[1:]:
        peer_acks(conn, waiting[0].seq, (waiting[1].seq, end_of(segment)))
    repaired(conn, waiting[0].but(options=overtakes.options))
    discard(conn.guest)
    finish(conn, tcon)


def test_repairs_long_after_a_keep_alive_have_their_own_timestamp(
    ends: Ends, tcon: genl.Genl
) -> None:
    """2^31 ticks later the keep-alive's would be newer than all (RFC 7323, 5.2)."""
    conn = connect(Conn(*ends), tcon)
    before = send(conn, 2)
    conn.guest_sends(ACK, b"\0", seq=before[0].seq - 1)
    heard(conn, peer_acks(conn, end_of(before[1])))
    conn.guest_sends(ACK, b"\0", seq=end_of(before[1]) - 1)
    conn.clock += 2**31 + 1000
    lost, *rest = send(conn, 4)
    for segment in rest:
        peer_acks(conn, lost.seq, (rest[0].seq, end_of(segment)))
    repaired(conn, lost)
    finish(conn, tcon)


@pytest.mark.parametrize("how", ["before una", "first byte"])
def test_window_probes_pass(ends: Ends, tcon: genl.Genl, how: str) -> None:
    conn = connect(Conn(*ends), tcon)
    send(conn, 2)
    assert heard(conn, peer_acks(conn, conn.guest_nxt, window=0)).window == 0
    base = conn.guest_nxt
    with counted(tcon, copy_absorbed=0, ack_hidden=0, probe_sent=0, timeout=0):
        for _ in range(4):
            nothing_for(conn.peer, conn, 0.3)  # for longer than the RTO: no probe is lost
            if how == "before una":
                conn.guest_sends(ACK, seq=base - 1)
            else:
                conn.guest_sends(PSH | ACK, b"x", seq=base)
            assert heard(conn, peer_acks(conn, base, window=0)).window == 0
        # The window opens, and the guest hears it.
        assert heard(conn, peer_acks(conn, base)).window
    send(conn, 1)
    finish(conn, tcon)
    assert state(tcon, conn.sport) == REPAIRED


def test_receiver_closes_its_window_with_data_in_flight(ends: Ends, tcon: genl.Genl) -> None:
    """It throws away what was on its way, and says zero for a while."""
    conn = connect(Conn(*ends), tcon)
    sent = send(conn, 4)
    closed = sent[2].seq
    assert heard(conn, peer_acks(conn, closed, window=0)).window == 0
    for _ in range(3):  # TCon's timers ask, the peer says no, and the guest may know
        got = conn.receive(conn.peer, 10)
        assert got
        assert closed <= got.seq < conn.guest_nxt
        discard(conn.peer)
        assert heard(conn, peer_acks(conn, closed, window=0)).window == 0
    # The guest asks as well: it must get through.
    probe = repeat(conn, sent[2])
    assert conn.receive(conn.peer) == probe
    got = heard(conn, peer_acks(conn, closed, window=1000))
    assert got.window
    ack = closed
    while ack != conn.guest_nxt:
        got = conn.receive(conn.peer, 10)
        assert got, "stalled"
        if got.seq <= ack < end_of(got):
            ack = end_of(got)
            peer_acks(conn, ack)
            assert conn.receive(conn.guest)
    poll(lambda: rigs.find_flow(tcon, conn.sport)["buffer_bytes"] == 0, "no copy is left")
    send(conn, 2)
    finish(conn, tcon)


# --- the end of a connection ----------------------------------------------------------


@pytest.mark.parametrize("size_bytes", [0, 500], ids=["bare", "with data"])
def test_lost_fin_is_repaired(ends: Ends, tcon: genl.Genl, size_bytes: int) -> None:
    """The guest has closed its half; the peer goes on sending."""
    conn = connect(Conn(*ends), tcon)
    first = send(conn, 1)[0]
    fin = conn.guest_sends(FIN | PSH | ACK if size_bytes else FIN | ACK, payload(size_bytes))
    heard(conn, peer_acks(conn, end_of(first), flags=PSH | ACK, data=b"more"))
    with counted(tcon, copy_absorbed=1):
        again = repeat(conn, fin)
        nothing_for(conn.peer, conn, 0)
        tsval, tsecr = fin.timestamps()[0], again.timestamps()[1]
        repaired(conn, fin.but(options=wire.NOP * 2 + wire.opt_ts(tsval, tsecr)))
    heard(conn, peer_acks(conn, end_of(first), flags=PSH | ACK, data=b"more"))
    discard(conn.peer)
    peer_acks(conn, conn.guest_nxt)
    assert conn.receive(conn.guest)
    assert rigs.find_flow(tcon, conn.sport)["buffer_bytes"] == 0
    assert state(tcon, conn.sport) == REPAIRED  # half-closed
    discard(conn.guest)
    conn.peer_sends(FIN | ACK)
    assert state(tcon, conn.sport) == ("observed", "closed", "none")
    conn.guest_sends()


def test_fin_behind_a_hole(ends: Ends, tcon: genl.Genl) -> None:
    conn = connect(Conn(*ends), tcon)
    lost, *rest = send(conn, 4)
    fin = conn.guest_sends(FIN | ACK)
    for segment in (*rest, fin):
        peer_acks(conn, lost.seq, (rest[0].seq, end_of(segment)))
    repaired(conn, lost)
    nothing_for(conn.peer, conn)
    heard(conn, peer_acks(conn, conn.guest_nxt))
    assert rigs.find_flow(tcon, conn.sport)["buffer_bytes"] == 0


@pytest.mark.parametrize("end", ["guest", "peer"])
def test_reset_in_recovery(ends: Ends, tcon: genl.Genl, end: str) -> None:
    conn = connect(Conn(*ends), tcon)
    lost, *rest = send(conn, 4)
    if end == "guest":
        conn.guest_sends(RST | ACK)
    else:
        conn.peer_sends(RST | ACK, ack=lost.seq)
    assert state(tcon, conn.sport) == ("observed", "closed", "none")
    assert rigs.find_flow(tcon, conn.sport)["buffer_bytes"] == 0
    assert tcon.info("BUFFER_BYTES") == 0
    with counted(tcon, repair_sent=0, probe_sent=0, timeout=0):
        peer_acks(conn, lost.seq, (rest[0].seq, end_of(rest[-1])))
        nothing_for(conn.peer, conn, 1.0)


def test_reset_passes_while_repairs_wait(ends: Ends, tcon: genl.Genl) -> None:
    """BBR: it must not be lost with what is held."""
    conn = connect(Conn(*ends), tcon, "bbr")
    for n in range(40):
        conn.guest.send(conn.from_guest(PSH | ACK, payload(MSS, n)).frame())
        conn.guest_nxt += MSS
    assert tcon.held_bytes()
    reset = conn.from_guest(RST | ACK)
    conn.guest.send(reset.frame())
    while (got := conn.receive(conn.peer)) and not got.flags & RST:
        pass
    assert got == reset
    poll(lambda: tcon.info("BUFFER_BYTES") == 0, "nothing is kept")


# --- urgent data ----------------------------------------------------------------------


@pytest.mark.parametrize("from_byte", [0, 600, 1100], ids=["all", "before it", "behind it"])
def test_urgent_pointer_of_a_repair(ends: Ends, tcon: genl.Genl, from_byte: int) -> None:
    """It counts from the segment's own first byte (RFC 9293, 3.8.5)."""
    conn = connect(Conn(*ends), tcon)
    lost = conn.guest_sends(PSH | ACK | URG, payload(MSS), urgent=1000)
    rest = send(conn, 3)
    for segment in rest:
        peer_acks(conn, lost.seq + from_byte, (rest[0].seq, end_of(segment)))
    got = conn.receive(conn.peer)
    assert got
    assert got.sums_ok
    assert (got.seq, got.payload) == (lost.seq + from_byte, lost.payload[from_byte:])
    assert bool(got.flags & URG) == (from_byte < 1000)
    if from_byte < 1000:
        assert got.urgent == 1000 - from_byte
    discard(conn.guest)
    finish(conn, tcon)


# --- falling back -----------------------------------------------------------------------


def plain(conn: Conn) -> None:
    """Nothing is hidden, nothing repaired, repeats pass."""
    lost, *rest = send(conn, 4)
    for segment in rest:
        sent = peer_acks(conn, lost.seq, (rest[0].seq, end_of(segment)))
        got = conn.receive(conn.guest)
        assert got
        assert got.but(window=sent.window) == sent
        assert got.sums_ok
    nothing_for(conn.peer, conn)
    again = repeat(conn, lost)
    assert conn.receive(conn.peer) == again
    sent = peer_acks(conn, conn.guest_nxt)
    got = conn.receive(conn.guest)
    assert got
    assert got.but(window=sent.window) == sent


UNREPAIRABLE = {
    "md5-ao": (wire.MD5 + wire.NOP * 2, wire.MD5 + wire.NOP * 2),
    "mptcp": (wire.MPTCP, wire.MPTCP),
}


@pytest.mark.parametrize("reason", ["md5-ao", "mptcp", "mid-stream", "ambiguous-scale"])
def test_flows_that_are_not_enforced_are_not_repaired(
    ends: Ends, tcon: genl.Genl, reason: str
) -> None:
    tcon.set_rule("cubic")
    conn = Conn(*ends)
    if reason != "mid-stream":
        own = conn.from_guest(SYN).options
        extra = UNREPAIRABLE.get(reason, (b"", b""))
        conn.guest_sends(SYN, options=extra[0] or own)
        if reason == "ambiguous-scale":
            conn.scales = (3, 7)
            conn.guest_sends(SYN, seq=conn.isn[0])
        conn.peer_sends(SYN | ACK, options=extra[1] or conn.from_peer(SYN | ACK).options)
        conn.guest_sends()
    else:
        conn.guest_sends(PSH | ACK, b"x")
    with counted(tcon, repair_sent=0, probe_sent=0, ack_hidden=0, sack_stripped=0, copy_absorbed=0):
        plain(conn)
    paced = ("paced", reason, "cubic")
    observed = ("observed", reason, "none")
    assert state(tcon, conn.sport) == (observed if reason == "mid-stream" else paced)
    assert tcon.info("BUFFER_BYTES") == 0


def test_repair_switched_off(ends: Ends, tcon: genl.Genl) -> None:
    conn = connect(Conn(*ends), tcon)
    with rigs.parameters(repair=0):
        with counted(tcon, repair_sent=0, probe_sent=0, ack_hidden=0, copy_absorbed=0):
            plain(conn)
        assert state(tcon, conn.sport) == ("window-enforced", "repair-off", "cubic")
    plain_acked = send(conn, 1)
    heard(conn, peer_acks(conn, end_of(plain_acked[0])))
    assert state(tcon, conn.sport) == REPAIRED


def test_time_outs_of_a_lone_segment_without_repair(ends: Ends, tcon: genl.Genl) -> None:
    """A sender probes a tail once (RFC 8985, 7.2); its next repeat is a time-out, which halves cwnd
    at least (RFC 5681, 3.1).
    """
    conn = connect(Conn(*ends), tcon)
    with rigs.parameters(repair=0):
        for _ in range(8):  # grow cwnd
            segments = send(conn, 10)
            time.sleep(RTT_S)
            peer_acks(conn, end_of(segments[-1]))
            discard(conn.guest)
        before = rigs.find_flow(tcon, conn.sport)["cwnd_bytes"]
        only = send(conn, 1)[0]
        assert state(tcon, conn.sport) == ("window-enforced", "repair-off", "cubic")
        for number in range(5):
            time.sleep(0.3 * 2**number)
            conn.guest_sends(PSH | ACK, only.payload, seq=only.seq)
        assert rigs.find_flow(tcon, conn.sport)["cwnd_bytes"] <= before / 2


@pytest.mark.both
@pytest.mark.parametrize("bound", ["buffer_flow_bytes", "buffer_port_bytes", "buffer_host_bytes"])
def test_no_room_for_copies(ends: Ends, tcon: genl.Genl, bound: str) -> None:
    conn = connect(Conn(*ends), tcon)
    wanted = {"copy_pressure": 4, "repair_sent": 0, "ack_hidden": 0, "copy_absorbed": 0}
    with rigs.parameters(**{bound: 1}), counted(tcon, **wanted):
        lost, *rest = send(conn, 4)
        assert state(tcon, conn.sport) == ("window-enforced", "copy-memory", "cubic")
        for segment in rest:
            sent = peer_acks(conn, lost.seq, (rest[0].seq, end_of(segment)))
            assert conn.receive(conn.guest).options == sent.options
        nothing_for(conn.peer, conn)
        again = repeat(conn, lost)
        assert conn.receive(conn.peer) == again
        finish(conn, tcon)
    assert state(tcon, conn.sport) == REPAIRED
    lost, *rest = send(conn, 4)
    peer_acks(conn, lost.seq, (rest[0].seq, end_of(rest[-1])))
    repaired(conn, lost)


@pytest.mark.parametrize("bound", ["track_port_bytes", "track_host_bytes"])
def test_no_room_for_records(ends: Ends, tcon: genl.Genl, bound: str) -> None:
    """The guest's tiny segments in flight beyond a page of records have no copy."""
    conn = connect(Conn(*ends), tcon)
    page, tiny = 64 - 1, 70  # the SYN took a record
    with rigs.parameters(**{bound: 1}), counted(tcon, sendq_coarse=tiny - page, repair_sent=0):
        first = conn.guest_sends(PSH | ACK, b"x")
        for _ in range(tiny - 1):
            conn.guest_sends(PSH | ACK, b"x")
        assert state(tcon, conn.sport) == ("window-enforced", "copy-memory", "cubic")
        assert conn.guest_nxt == first.seq + tiny
        heard(conn, peer_acks(conn, first.seq + 10))
        finish(conn, tcon)
    lost, *rest = send(conn, 4)
    assert state(tcon, conn.sport) == REPAIRED
    peer_acks(conn, lost.seq, (rest[0].seq, end_of(rest[-1])))
    repaired(conn, lost)
    finish(conn, tcon)


def test_window_shrinks_before_the_copies_run_out(ends: Ends, tcon: genl.Genl) -> None:
    """The guest is told to keep what there is no room for."""
    memory = 128 << 10
    with rigs.parameters(buffer_flow_bytes=memory):
        conn = connect(Conn(*ends), tcon, syn_window=8 * MSS)
        conn.window = 0xFFFF
        edge = conn.guest_nxt + 8 * MSS
        with counted(tcon, copy_pressure=0):
            for _ in range(10):
                send(conn, min(24, (edge - conn.guest_nxt) // MSS))
                got = heard(conn, peer_acks(conn, conn.guest_nxt))
                edge = got.ack + (got.window << conn.shift())
        flow = rigs.find_flow(tcon, conn.sport)
        assert flow
        assert flow["cwnd_bytes"] > memory // 2, "too short a test"
        assert memory // 4 < edge - flow["nxt"] < memory * 3 // 4


def test_copies_are_freed_as_they_are_acknowledged(ends: Ends, tcon: genl.Genl) -> None:
    conn = connect(Conn(*ends), tcon)
    sent = send(conn, 5)
    full = rigs.find_flow(tcon, conn.sport)["buffer_bytes"]
    assert tcon.info("BUFFER_BYTES") == full >= 5 * MSS
    (port,) = (p for p in tcon.ports() if p["ifname"] == "p1")
    assert port["buffer_bytes"] == full
    heard(conn, peer_acks(conn, sent[2].seq))
    assert rigs.find_flow(tcon, conn.sport)["buffer_bytes"] == full * 3 // 5
    # Half a segment: its copy is still needed.
    heard(conn, peer_acks(conn, sent[2].seq + 100))
    assert rigs.find_flow(tcon, conn.sport)["buffer_bytes"] == full * 3 // 5
    # The peer may throw SACKed data away (RFC 2018, 8).
    peer_acks(conn, sent[2].seq + 100, (sent[3].seq, end_of(sent[4])))
    assert rigs.find_flow(tcon, conn.sport)["buffer_bytes"] == full * 3 // 5
    repaired(conn, sent[2], 100)
    finish(conn, tcon)


def test_reneging_peer(ends: Ends, tcon: genl.Genl) -> None:
    """It throws away what it had SACKed: after a time-out all is sent again."""
    conn = connect(Conn(*ends), tcon)
    lost, *rest = send(conn, 4)
    for segment in rest:
        peer_acks(conn, lost.seq, (rest[0].seq, end_of(segment)))
    repaired(conn, lost)
    peer_acks(conn, rest[0].seq)
    have = rest[0].seq
    while have != conn.guest_nxt:
        got = conn.receive(conn.peer, 20)
        assert got, "stalled: the peer lacks what it had SACKed"
        if got.seq == have:
            have = end_of(got)
            peer_acks(conn, have)
    poll(lambda: rigs.find_flow(tcon, conn.sport)["buffer_bytes"] == 0, "no copy is left")


def test_new_connection_on_the_same_ports(ends: Ends, tcon: genl.Genl) -> None:
    """The old one's copies are gone; its counters too."""
    conn = connect(Conn(*ends), tcon)
    lost, *rest = send(conn, 4)
    repeat(conn, lost)
    peer_acks(conn, lost.seq, (rest[0].seq, end_of(rest[-1])))
    repaired(conn, lost)
    conn.restart(3_000_000_000, 9_000_000)
    discard(conn.guest)
    connect(conn, tcon)
    assert tcon.info("BUFFER_BYTES") == 0
    flow = rigs.find_flow(tcon, conn.sport)
    assert flow
    for name in ("repairs", "repaired_bytes", "spurious", "probes", "timeouts", "absorbed",
                 "hidden_acks", "lost_bytes"):  # fmt: skip
        assert flow[name] == 0, name
    lost, *rest = send(conn, 4)
    peer_acks(conn, lost.seq, (rest[0].seq, end_of(rest[-1])))
    repaired(conn, lost)
    finish(conn, tcon)
