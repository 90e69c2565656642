# SPDX-License-Identifier: GPL-2.0-only
"""Flows that cannot be enforced, and guests that want none of theirs to be.

Each way to leave enforcement is tried with scripted segments: what a guest sends beyond the
window of its CC must wait.  The port is one that TCon has seen for long (`adopt_s`), except where
a test says otherwise.
"""

from __future__ import annotations

import itertools
import random
import struct
import time
from collections.abc import Callable, Iterator

import genl
import pytest
import rig as rigs
import wire
from rig import Conn, ack_of_what_waits, counted, state
from wire import ACK, FIN, PSH, RST, SYN

pytestmark = pytest.mark.script
Ends = tuple[rigs.RawEnd, rigs.RawEnd]

MSS = 1448  # payload of a segment with time stamps
INITIAL = 10  # segments that a new flow may have in flight
BIG = 0x8000  # a window field that no CC wants yet
MANY = 40
ENFORCED = ("repair-enforced", "none", "cubic")


@pytest.fixture(autouse=True)
def settled() -> Iterator[None]:
    """Nothing is older than TCon here."""
    with rigs.parameters(adopt_s=0):
        yield


def shake(conn: Conn, syn: bytes = b"", answer: bytes = b"") -> Conn:
    """A handshake, with these options on the SYNs in place of the usual ones."""
    conn.guest_sends(SYN, options=syn or conn.from_guest(SYN).options)
    conn.peer_sends(SYN | ACK, options=answer or conn.from_peer(SYN | ACK).options)
    conn.guest_sends()
    return conn


def signed(conn: Conn) -> Conn:
    options = wire.opt_mss(MSS) + wire.MD5 + wire.NOP * 2
    return shake(conn, options, options)


def multipath(conn: Conn) -> Conn:
    options = wire.opt_mss(MSS) + wire.MPTCP
    return shake(conn, options, options)


def ambiguous(conn: Conn) -> Conn:
    conn.guest_sends(SYN)
    conn.scales = (3, 7)
    conn.guest_sends(SYN, seq=conn.isn[0])
    conn.peer_sends(SYN | ACK)
    conn.guest_sends()
    return conn


def hidden(conn: Conn) -> Conn:
    """Its handshake has passed unseen, as in fragments."""
    conn.guest_sends(PSH | ACK, bytes(MSS))
    conn.peer_sends()
    return conn


EVASIONS = {
    "md5-ao": signed,
    "mptcp": multipath,
    "ambiguous-scale": ambiguous,
    "hidden": hidden,
}


def guest_port(tcon: genl.Genl) -> dict[str, int]:
    """The guest's port, as the kernel knows it."""
    return next(port for port in tcon.ports() if port["ifname"] == "p1")


def leaves(conn: Conn) -> list[wire.Segment]:
    """Segments that leave within much less than an RTO, without TCon's repeats."""
    got = {}
    while segment := conn.receive(conn.peer, 0.02):
        got.setdefault(segment.seq, segment)
    return list(got.values())


def every(conn: Conn) -> list[wire.Segment]:
    """Segments that have left, repeats as often as they did."""
    got = []
    while segment := conn.receive(conn.peer, 0):
        got.append(segment)
    return got


def burst(conn: Conn, count: int) -> list[wire.Segment]:
    """The guest sends ``count`` segments at once; the ones that leave."""
    for _ in range(count):
        sent = conn.from_guest(PSH | ACK, bytes(MSS))
        conn.guest_nxt += MSS
        conn.guest.send(sent.frame())
    return leaves(conn)


@pytest.mark.both
@pytest.mark.parametrize("reason", EVASIONS)
def test_what_cannot_be_edited_is_paced(ends: Ends, tcon: genl.Genl, reason: str) -> None:
    """No window is written, but no more is in flight than the CC allows."""
    tcon.set_rule("cubic")
    conn = EVASIONS[reason](Conn(*ends))
    conn.guest_sends(PSH | ACK, b"x")
    assert state(tcon, conn.sport) == ("paced", reason, "cubic")
    assert conn.peer_sends(window=BIG).window == BIG
    leaves(conn)
    with counted(tcon, window_written=0, update_sent=0, ack_hidden=0):
        assert len(burst(conn, MANY)) in range(INITIAL - 1, INITIAL + 3)
    flow = rigs.find_flow(tcon, conn.sport)
    assert flow
    while conn.receive(conn.peer, 5):  # no ACK comes: it leaves bit by bit
        assert flow["held_bytes"]
    assert tcon.info("BUFFER_BYTES") == 0, "of what has left nothing is kept"


def test_what_a_guest_sends_anew_does_not_wait_behind_what_it_replaces(
    ends: Ends, tcon: genl.Genl
) -> None:
    """Its timer has gone off; the held packets' time stamps are too old to follow the repeat."""
    tcon.set_rule("cubic")
    conn = hidden(Conn(*ends))
    conn.guest_sends(PSH | ACK, b"x")
    conn.peer_sends()
    missing = conn.guest_nxt
    left = {segment.seq for segment in burst(conn, MANY)}
    assert missing in left
    time.sleep(1.2)  # an RTO without a sample is a second
    left |= {segment.seq for segment in leaves(conn)}
    before = tcon.counters()
    conn.clock += 1000
    repeat = conn.from_guest(PSH | ACK, bytes(MSS)).but(seq=missing)
    conn.guest.send(repeat.frame())
    assert conn.receive(conn.peer, 0.1) == repeat
    after = tcon.counters()
    assert after["hold-anew"] - before["hold-anew"] == MANY - len(left) > 0
    assert not leaves(conn)
    assert rigs.find_flow(tcon, conn.sport)["held_bytes"] == 0
    conn.guest_nxt = max(left) + MSS
    conn.peer_sends()
    with counted(tcon, repeat_absorbed=0):
        burst(conn, MANY)


_idents = itertools.count(1)


def fragments(segment: wire.Segment, part_bytes: int = 504) -> list[bytes]:
    """The frames of a segment that comes in IP fragments."""
    ident = next(_idents)
    tcp = segment.tcp()
    frames = []
    for at in range(0, len(tcp), part_bytes):
        part, more = tcp[at : at + part_bytes], at + part_bytes < len(tcp)
        if segment.ethertype() == wire.ETH_IP:
            raw = bytearray(segment.ip(part))
            raw[4:8] = struct.pack("!HH", ident, more << 13 | at // 8)
            raw[10:12] = b"\0\0"
            raw[10:12] = struct.pack("!H", wire.ones_sum(bytes(raw[:20])) ^ 0xFFFF)
        else:
            header = struct.pack("!BBHI", 6, 0, at | more, ident)
            raw = bytearray(segment.but(extensions=header, first_header=44).ip(part))
        frames.append(segment.link(bytes(raw)))
    return frames


def frames_leave(end: rigs.RawEnd, sent: list[bytes] | None = None) -> list[bytes]:
    """Frames that leave soon, if in `sent`: another test's data may leave after an RTO."""
    got = []
    while frame := end.recv(0.02):
        if sent is None or frame in sent:
            got.append(frame)
    return got


@pytest.mark.both
@pytest.mark.parametrize("family", [4, 6])
def test_fragments_are_held_like_segments(ends: Ends, tcon: genl.Genl, family: int) -> None:
    tcon.set_rule("cubic")
    conn = shake(Conn(*ends, family=family))
    frames_leave(conn.peer)
    sent = []
    for _ in range(MANY):
        sent += fragments(conn.from_guest(PSH | ACK, bytes(MSS)))
        conn.guest_nxt += MSS
    for frame in sent:
        conn.guest.send(frame)
    got = frames_leave(conn.peer, sent)
    assert got == sent[: len(got)], "in order, and untouched"
    assert len(got) in range(3 * (INITIAL - 1), 3 * (INITIAL + 2))
    assert state(tcon, conn.sport) == ("window-enforced", "fragments", "cubic")
    conn.peer.send(conn.from_peer(ack=conn.guest_nxt - (MANY - INITIAL) * MSS, window=BIG).frame())
    assert conn.receive(conn.guest).window < BIG
    assert len(frames_leave(conn.peer, sent)) in range(3 * INITIAL, 3 * (2 * INITIAL + 2))


def test_ack_behind_fragments_has_a_time_stamp_of_the_guest(ends: Ends, tcon: genl.Genl) -> None:
    """Only the first of all fragments has a time stamp."""
    tcon.set_rule("cubic")
    conn, other = shake(Conn(*ends)), shake(Conn(*ends))
    for _ in range(INITIAL - 1):
        conn.guest_sends(PSH | ACK, bytes(MSS))
    first, *later = fragments(conn.from_guest(PSH | ACK, bytes(MSS)))
    conn.guest_nxt += MSS
    conn.guest.send(first)
    other.clock = 0x40000000
    other.guest_sends(PSH | ACK, b"x")
    for frame in later:
        conn.guest.send(frame)
    leaves(conn)
    got = ack_of_what_waits(conn, tcon, bytes(MSS))
    assert got.timestamps() == (conn.clock, conn.peer_ts)


def later_first(conn: Conn) -> list[bytes]:
    return fragments(conn.from_guest(PSH | ACK, bytes(MSS)))[::-1]


def tiny(conn: Conn) -> list[bytes]:
    return fragments(conn.from_guest(PSH | ACK, bytes(64)), 16)


def nine_extensions(conn: Conn) -> list[bytes]:
    headers = b"".join(bytes((60 if n < 8 else 6, 0, 1, 4, 0, 0, 0, 0)) for n in range(9))
    return [conn.from_guest(PSH | ACK, bytes(9), extensions=headers, first_header=60).frame()]


def without_length(conn: Conn) -> list[bytes]:
    """Linux takes it for as long as its frame, since hop-by-hop options follow."""
    padding = bytes((6, 0, 1, 4, 0, 0, 0, 0))
    sent = conn.from_guest(PSH | ACK, bytes(9), extensions=padding, first_header=0).frame()
    return [sent[:18] + bytes(2) + sent[20:]]


@pytest.mark.parametrize("fallback", ["auto", "pass"])
@pytest.mark.parametrize(("family", "make", "dropped"), [
    (4, later_first, 2), (6, later_first, 2), (4, tiny, None), (6, tiny, None),
    (6, nine_extensions, 1), (6, without_length, 1),
], ids=["later-first", "later-first-6", "tiny", "tiny-6", "nine-extensions",
        "without-length"])  # fmt: skip
def test_what_is_of_no_known_flow_is_dropped(
    ends: Ends, tcon: genl.Genl, family: int, make: Callable, dropped: int | None, fallback: str
) -> None:
    """Unless the rule lets pass what cannot be enforced.  A rule for some ports binds, too."""
    tcon.set_rule("cubic", genl.u16(genl.E["TCON_MATCH_A_DPORT"], 5201), fallback=fallback)
    conn = shake(Conn(*ends, family=family))
    sent = make(conn)
    again = make(conn)
    dropped = (len(sent) if dropped is None else dropped) if fallback == "auto" else 0
    frames_leave(conn.peer)
    with counted(tcon, unread_dropped=dropped):
        for frame in sent:
            conn.guest.send(frame)
        assert len(frames_leave(conn.peer, sent)) == len(sent) - dropped
    tcon.set_rule("none", priority=40000)
    with counted(tcon, unread_dropped=0):
        for frame in again:
            conn.guest.send(frame)
        assert frames_leave(conn.peer, again) == again


@pytest.mark.both
@pytest.mark.parametrize("family", [4, 6])
def test_rules_of_another_bridge_drop_no_fragments(
    ends: Ends, tcon: genl.Genl, family: int
) -> None:
    """Whatever TCP ports they are for: none of them can match here."""
    tcon.set_rule("cubic", genl.u16(genl.E["TCON_MATCH_A_DPORT"], 5201), bridge="br9")
    conn = shake(Conn(*ends, family=family))
    frames_leave(conn.peer)
    time.sleep(5)  # by then the collector knows that the rules of tests before are gone
    for sent in (later_first(conn), later_first(conn)[::-1]):
        with counted(tcon, unread_dropped=0):
            for frame in sent:
                conn.guest.send(frame)
            assert frames_leave(conn.peer, sent) == sent


@pytest.mark.parametrize("fallback", ["auto", "pass"])
def test_what_is_behind_too_many_tags_is_dropped(
    ends: Ends, tcon: genl.Genl, fallback: str
) -> None:
    """A receiver takes off any number of tags of VLAN 0; the parser does not."""
    tcon.set_rule("cubic", fallback=fallback)
    conn = shake(Conn(*ends))
    sent = conn.from_guest(PSH | ACK, b"x", vlans=(0,) * 20).frame()
    frames_leave(conn.peer)
    with counted(tcon, vlan_depth=1, unread_dropped=int(fallback == "auto")):
        conn.guest.send(sent)
        assert frames_leave(conn.peer, [sent]) == [sent] * (fallback == "pass")


def test_rules_of_another_port_drop_nothing(ends: Ends, tcon: genl.Genl) -> None:
    """Beside a rule that binds nothing: neither fragments nor what is behind too many tags."""
    name = genl.text(genl.E["TCON_MATCH_A_IFNAME"], "other0")
    tcon.set_rule("none", priority=1)
    tcon.set_rule("cubic", name, priority=2)
    tcon.set_rule("cubic", name, genl.u16(genl.E["TCON_MATCH_A_DPORT"], 5201), priority=3)
    conn = shake(Conn(*ends))
    tagged = [conn.from_guest(PSH | ACK, b"x", vlans=(0,) * 20).frame()]
    frames_leave(conn.peer)
    time.sleep(5)  # by then the collector knows that the rules of tests before are gone
    for sent in (later_first(conn), tagged):
        with counted(tcon, unread_dropped=0):
            for frame in sent:
                conn.guest.send(frame)
            assert frames_leave(conn.peer, sent) == sent
    tcon.del_rules()
    tcon.set_rule("cubic", name, priority=2)
    tcon.set_rule("cubic", priority=1)
    with counted(tcon, unread_dropped=1):
        conn.guest.send(tagged[0])
        assert not frames_leave(conn.peer, tagged)


def test_a_priority_tag_does_not_hide_the_answers(ends: Ends, tcon: genl.Genl) -> None:
    """VLAN 0 is no VLAN: switches may take the tag off."""
    tcon.set_rule("cubic")
    conn = Conn(*ends, vlans=(0,))
    conn.guest_sends(SYN)
    conn.vlans = ()
    conn.peer_sends(SYN | ACK)
    conn.vlans = (0,)
    conn.guest_sends()
    assert state(tcon, conn.sport) == ENFORCED


@pytest.mark.parametrize("reason", EVASIONS)
@pytest.mark.parametrize("fallback", ["pass", "drop"])
def test_the_rule_decides(ends: Ends, tcon: genl.Genl, reason: str, fallback: str) -> None:
    tcon.set_rule("cubic", fallback=fallback)
    conn = Conn(*ends)
    if fallback == "pass" or reason != "hidden":
        EVASIONS[reason](conn)
    left = MANY if fallback == "pass" else 0
    with counted(tcon, fallback_dropped=MANY - left):
        assert len(burst(conn, MANY)) == left
    assert state(tcon, conn.sport) == (
        "observed" if fallback == "pass" else "dropped",
        reason,
        "none",
    )


def test_what_the_host_caused_passes_unless_the_rule_says_otherwise(
    ends: Ends, tcon: genl.Genl
) -> None:
    """As after a reload, or a move: TCon does not know how the connection began."""
    tcon.set_rule("cubic")
    conn = Conn(*ends)
    with rigs.parameters(adopt_s=3600):
        assert len(burst(conn, MANY)) == MANY
    assert state(tcon, conn.sport) == ("observed", "mid-stream", "none")
    conn.peer_sends()
    tcon.set_rule("cubic", fallback="pace")
    assert state(tcon, conn.sport) == ("paced", "mid-stream", "cubic")
    assert len(burst(conn, MANY)) < MANY


def test_a_paced_flow_grows(ends: Ends, tcon: genl.Genl) -> None:
    """Slow start: its window doubles in a round trip."""
    tcon.set_rule("cubic")
    conn = signed(Conn(*ends))
    first = burst(conn, 3 * MANY)
    for segment in first:
        conn.peer.send(conn.from_peer(ack=segment.seq + segment.span, window=BIG).frame())
    second = leaves(conn)
    assert len(second) in range(2 * len(first) - 2, 2 * len(first) + 3)


@pytest.mark.parametrize(
    "option",
    [bytes((29, 3, 1, 1)), bytes((19, 4, 1, 1)), bytes((30, 2, 1, 1)), wire.AO, wire.MD5],
    ids=["ao-3", "md5-4", "mptcp-2", "ao", "md5"],
)
def test_an_option_that_the_peer_ignores_changes_nothing(
    ends: Ends, tcon: genl.Genl, option: bytes
) -> None:
    """It has a wrong length, or the peer does not know it and does not answer it."""
    tcon.set_rule("cubic")
    conn = Conn(*ends)
    conn.guest_sends(SYN, options=option + wire.NOP * (-len(option) % 4))
    conn.peer_sends(SYN | ACK)
    conn.guest_sends()
    assert state(tcon, conn.sport) == ENFORCED


def test_a_syn_that_the_peer_does_not_take_changes_nothing(ends: Ends, tcon: genl.Genl) -> None:
    """RFC 5961, 4: in a connection it is answered by an ACK, and the connection goes on."""
    tcon.set_rule("cubic")
    conn = shake(Conn(*ends))
    with counted(tcon, flows_reused=0):
        conn.guest.send(conn.from_guest(SYN, seq=77).frame())
        assert conn.receive(conn.peer)
        conn.peer_sends()
        assert len(burst(conn, MANY)) in range(INITIAL - 1, INITIAL + 2)
    assert state(tcon, conn.sport) == ENFORCED


def test_a_syn_that_the_peer_answers_begins_a_connection(ends: Ends, tcon: genl.Genl) -> None:
    """The peer has forgotten the old one."""
    tcon.set_rule("cubic")
    conn = shake(Conn(*ends))
    conn.guest_sends(PSH | ACK, bytes(MSS))
    conn.restart(55, 66)
    conn.isn = (55, 66)
    with counted(tcon, flows_reused=1):
        conn.handshake()
    assert state(tcon, conn.sport) == ENFORCED
    conn.guest_sends(PSH | ACK, bytes(MSS))
    assert conn.peer_sends(window=BIG).window < BIG


def test_a_reset_lets_nothing_out(ends: Ends, tcon: genl.Genl) -> None:
    """The peer may not take it, for its checksum or its TTL."""
    tcon.set_rule("cubic")
    conn = shake(Conn(*ends))
    first = len(burst(conn, MANY))
    conn.guest.send(conn.from_guest(RST | ACK, seq=conn.guest_nxt).frame())
    conn.guest.send(conn.from_guest(RST | ACK, seq=conn.guest_nxt - MANY * MSS).frame())
    assert len(burst(conn, MANY)) <= 2  # the resets
    assert first in range(INITIAL - 1, INITIAL + 2)


def test_data_behind_a_fin_is_enforced(ends: Ends, tcon: genl.Genl) -> None:
    """So the peer did not take the FIN."""
    tcon.set_rule("cubic")
    conn = shake(Conn(*ends))
    conn.guest_sends(FIN | ACK)
    conn.peer_sends(FIN | ACK)
    assert state(tcon, conn.sport) == ("observed", "closed", "none")
    assert len(burst(conn, MANY)) in range(INITIAL - 1, INITIAL + 3)


def test_new_data_behind_a_repeated_byte_is_new(ends: Ends, tcon: genl.Genl) -> None:
    tcon.set_rule("cubic")
    conn = shake(Conn(*ends))
    first = burst(conn, INITIAL)
    assert len(first) == INITIAL
    start, end = conn.guest_nxt, conn.guest_nxt
    for _ in range(4):
        conn.guest_nxt -= 1
        end = max([end, *(got.seq + got.span for got in burst(conn, 1))])
    assert end - start < 2 * MSS


def test_a_byte_far_ahead_does_not_make_data_old(ends: Ends, tcon: genl.Genl) -> None:
    """The peer does not take it.  Data behind it is sent for the first time."""
    tcon.set_rule("cubic")
    conn = shake(Conn(*ends))
    conn.guest.send(conn.from_guest(PSH | ACK, b"x", seq=conn.guest_nxt + 100_000_000).frame())
    assert conn.receive(conn.peer)
    assert len(burst(conn, MANY)) in range(INITIAL - 1, INITIAL + 2)


def test_the_first_byte_that_is_seen_does_not_make_data_old(ends: Ends, tcon: genl.Genl) -> None:
    """The same in a connection whose handshake was hidden."""
    tcon.set_rule("cubic")
    conn = Conn(*ends)
    for ahead in (100_000_000, -100_000_000, 2**31 - 1):
        conn.guest.send(conn.from_guest(PSH | ACK, b"x", seq=conn.guest_nxt + ahead).frame())
        assert conn.receive(conn.peer)
    assert len(burst(conn, MANY)) < 2 * INITIAL


def test_data_without_a_complete_handshake_is_paced(ends: Ends, tcon: genl.Genl) -> None:
    """The peer opened, and its ACKs come by, but none of them is for the guest's SYN-ACK."""
    tcon.set_rule("cubic")
    conn = Conn(*ends)
    conn.peer_sends(SYN)
    conn.guest_sends(SYN | ACK)
    conn.peer_nxt = conn.isn[1] + 1
    conn.peer.send(conn.from_peer(ack=conn.isn[0]).frame())
    assert conn.receive(conn.guest)
    assert len(burst(conn, MANY)) in range(INITIAL, INITIAL + 4)
    assert state(tcon, conn.sport) == ("paced", "unanswered", "cubic")


def test_data_passes_where_no_ack_comes_by(ends: Ends, tcon: genl.Genl) -> None:
    """The peer opened, and its ACKs take another way, as with direct server return."""
    tcon.set_rule("cubic")
    conn = Conn(*ends)
    conn.peer_sends(SYN)
    conn.guest_sends(SYN | ACK)
    assert len(burst(conn, MANY)) == MANY
    assert state(tcon, conn.sport) == ("observed", "unseen-acks", "none")


def test_data_that_does_not_follow_the_syn_is_paced(ends: Ends, tcon: genl.Genl) -> None:
    """A SYN that leads nowhere does not hide a connection with the same ports."""
    tcon.set_rule("cubic")
    conn = Conn(*ends)
    conn.guest.send(conn.from_guest(SYN, seq=5).frame())
    assert conn.receive(conn.peer)
    assert len(burst(conn, MANY)) in range(INITIAL - 1, INITIAL + 3)
    assert state(tcon, conn.sport) == ("paced", "hidden", "cubic")


def test_repeats_beyond_a_window_are_dropped(ends: Ends, tcon: genl.Genl) -> None:
    """Nobody needs to send a window more than once in a round trip."""
    tcon.set_rule("cubic")
    conn = signed(Conn(*ends))
    first = burst(conn, INITIAL)
    assert len(first) == INITIAL
    with counted(tcon, repeat_excess=MANY - INITIAL):
        for _ in range(MANY):
            conn.guest.send(first[0].frame())
        assert len(leaves(conn)) == 1


@pytest.mark.parametrize("segments", [1, 2, 44])
def test_old_data_in_a_round_trip_is_bounded(rig: rigs.Rig, tcon: genl.Genl, segments: int) -> None:
    """A guest whose peer plays along sends data as repeats: cwnd, and a segment, bounds that."""
    tcon.set_rule("cubic", bridge="br1")
    conn = shake(Conn(*rig.taps(rigs.TSO, rigs.TSO)))
    old = conn.from_guest(PSH | ACK, bytes(segments * MSS), seq=conn.guest_nxt - 3_000_000)
    old.partial = True
    gso = (MSS, rigs.VNET_GSO_TCPV4) if segments > 1 else ()
    for _ in range(10):
        conn.guest_sends(PSH | ACK, bytes(MSS))
        for _ in range(100):
            conn.guest.send(old.frame(), old.header_bytes(), *gso)
        left = sum(len(segment.payload) for segment in every(conn))
        cwnd_bytes = max(rigs.find_flow(tcon, conn.sport)["cwnd_bytes"], INITIAL * MSS)
        assert left <= cwnd_bytes
        assert segments > 2 or left >= MSS
        time.sleep(0.01)
        conn.peer_sends()


def test_ports_of_evading_guests_are_known(ends: Ends, tcon: genl.Genl) -> None:
    tcon.set_rule("cubic")
    before = guest_port(tcon)
    conn = hidden(Conn(*ends))
    after = guest_port(tcon)
    assert after["evading"] == before["evading"] + 1
    assert after["evaded"] == before["evaded"] + 1
    conn.guest_sends(RST | ACK)
    again = guest_port(tcon)
    assert (again["evading"], again["evaded"]) == (before["evading"], after["evaded"])


def test_random_segments_of_hidden_flows(ends: Ends, tcon: genl.Genl) -> None:
    """Whatever order they come in, and whatever is acknowledged: no more is in flight."""
    rng = random.Random(31)
    tcon.set_rule("cubic")
    conn = hidden(Conn(*ends))
    for _ in range(200):
        at = conn.guest_nxt + rng.choice((0, 1, -1, MSS, -MSS, 10**6, -(10**6), 2**30, 2**31 - 1))
        flags = rng.choice((ACK, PSH | ACK, FIN | ACK, RST | ACK, SYN))
        segment = conn.from_guest(flags, bytes(rng.randrange(MSS)), seq=at)
        conn.guest.send(segment.frame())
        conn.peer.send(conn.from_peer(ack=at + rng.randrange(3)).frame())
    while conn.peer.recv(0.1):
        pass
    assert sum(flow["held_bytes"] for flow in tcon.flows()) < 200 * MSS
