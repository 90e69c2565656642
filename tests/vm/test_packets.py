# SPDX-License-Identifier: GPL-2.0-only
"""Packets in, packets out: scripted segments through the real datapath.

Conn.guest_sends() and Conn.peer_sends() already assert, for each segment, that
checksums are right and that nothing but the window has changed, downwards.
"""

from __future__ import annotations

import random
import struct
import time
from collections.abc import Callable
from pathlib import Path

import genl
import pytest
import rig as rigs
import wire
from rig import TSO, Conn, counted, poll, state
from wire import ACK, FIN, PSH, RST, SYN

pytestmark = pytest.mark.script
Ends = tuple[rigs.RawEnd, rigs.RawEnd]

MSS = 1448  # payload of a segment with time stamps
BIG = 0x8000  # a window field that no CC wants yet
ENFORCED_CUBIC = ("repair-enforced", "none", "cubic")


def enforced(conn: Conn, tcon: genl.Genl, cc: str = "cubic", syn_window: int = 0xFFFF) -> Conn:
    """Shake hands under a rule; the connection is enforced."""
    tcon.set_rule(cc)
    conn.guest_sends(SYN)
    conn.peer_sends(SYN | ACK, window=syn_window)
    conn.guest_sends()
    assert state(tcon, conn.sport) == ("repair-enforced", "none", cc)
    return conn


def keep_awake(tcon: genl.Genl) -> None:
    """A port whose last rule went a while ago rests: here is one, of no connection."""
    tcon.set_rule("none", genl.u16(genl.E["TCON_MATCH_A_DPORT"], 9))


def discard(*ends: rigs.RawEnd | rigs.Tap) -> None:
    """Forget what waits to be read."""
    for end in ends:
        while end.recv(0):
            pass


def edge_of(conn: Conn, ack: wire.Segment) -> int:
    """Right edge that an ACK gives, in numbers that do not wrap."""
    return conn.unwrap(ack.ack) + (ack.window << conn.shift())


# --- TCP Fast Open (RFC 7413) -----------------------------------------------------


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("taken", [0, 40, 100], ids=["refused", "in-part", "taken"])
@pytest.mark.parametrize("answer", [b"", bytes(50)], ids=["bare", "answer"])
def test_fast_open_of_a_guest(
    ends: Ends, tcon: genl.Genl, family: int, taken: int, answer: bytes
) -> None:
    """Its SYN has data, perhaps the SYN-ACK, too, and the server says more at once."""
    tcon.set_rule("cubic")
    conn = Conn(*ends, family=family)
    conn.guest_sends(SYN, bytes(100))
    conn.guest_nxt = conn.isn[0] + 1 + taken
    conn.peer_sends(SYN | ACK, answer)
    if answer:
        conn.peer_sends(PSH | ACK, bytes(MSS))
    conn.guest_sends()
    assert state(tcon, conn.sport) == ENFORCED_CUBIC
    with counted(tcon, repeat_passed=0, window_written=1):
        conn.guest_sends(PSH | ACK, bytes(100 - taken + MSS))
        conn.peer_sends(window=BIG)
    flow = rigs.find_flow(tcon, conn.sport)
    assert flow
    assert (flow["acked_bytes"], flow["lost_bytes"], flow["repeated_bytes"]) == (100 + MSS, 0, 0)
    assert state(tcon, conn.sport) == ENFORCED_CUBIC


@pytest.mark.parametrize("taken", [0, 100], ids=["refused", "taken"])
@pytest.mark.parametrize("answer", [b"", bytes(50)], ids=["bare", "answer"])
@pytest.mark.parametrize("early", [False, True], ids=["waits", "early"])
def test_fast_open_to_a_guest(
    ends: Ends, tcon: genl.Genl, taken: int, answer: bytes, early: bool
) -> None:
    """The client's SYN has data; the guest may answer, and go on, before it is acknowledged."""
    tcon.set_rule("cubic")
    conn = Conn(*ends)
    conn.peer_sends(SYN, bytes(100))
    conn.peer_nxt = conn.isn[1] + 1 + taken
    conn.guest_sends(SYN | ACK, answer)
    if early:
        conn.guest_sends(PSH | ACK, bytes(MSS))
    conn.peer_sends(PSH | ACK, bytes(100 - taken))
    assert state(tcon, conn.sport) == ENFORCED_CUBIC
    conn.guest_sends(PSH | ACK, bytes(MSS))
    with counted(tcon, window_written=1):
        conn.peer_sends(window=BIG)


def test_fast_open_answer_that_does_not_fit(ends: Ends, tcon: genl.Genl) -> None:
    """Beyond what was sent nobody acknowledges."""
    tcon.set_rule("cubic")
    conn = Conn(*ends)
    conn.guest_sends(SYN, bytes(100))
    conn.guest_nxt += 1
    conn.peer_sends(SYN | ACK)
    conn.guest_nxt -= 1
    conn.guest_sends()
    assert state(tcon, conn.sport) == ("observed", "handshake", "none")


# --- windows --------------------------------------------------------------------


@pytest.mark.both
@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize(
    "vlans",
    [(), (10,), (10, 20), (10, 20, 30, 40)],
    ids=["untagged", "tag", "two-tags", "four-tags"],
)
def test_window_is_lowered_in_every_encapsulation(
    ends: Ends, tcon: genl.Genl, family: int, vlans: tuple[int, ...]
) -> None:
    conn = enforced(Conn(*ends, family=family, vlans=vlans), tcon, syn_window=8000)
    conn.guest_sends(PSH | ACK, bytes(MSS))
    with counted(tcon, window_written=1, ack_in=1):
        got = conn.peer_sends(window=BIG)
    flow = rigs.find_flow(tcon, conn.sport)
    assert flow
    assert flow.get("vlan") == (vlans[0] if vlans else None)
    wanted = flow["nxt"] + flow["cwnd_bytes"] - flow["inflight_bytes"]
    assert got.window == -(-(wanted - got.ack) // 128)
    assert 2 * MSS <= flow["rwnd_bytes"] == got.window << 7 < BIG << 7
    assert flow["edge"] == edge_of(conn, got)


def test_observed_flow_passes_bit_by_bit(ends: Ends, tcon: genl.Genl) -> None:
    keep_awake(tcon)
    conn = Conn(*ends).handshake()
    with counted(tcon, window_written=0, ack_in=1):
        conn.guest_sends(PSH | ACK, bytes(100))
        assert conn.peer_sends(window=BIG).window == BIG
    assert state(tcon, conn.sport) == ("observed", "no-rule", "none")


def test_syn_windows_and_options_are_left_alone(ends: Ends, tcon: genl.Genl) -> None:
    tcon.set_rule("cubic")
    conn = Conn(*ends)
    assert conn.guest_sends(SYN, window=0xFFFF).window == 0xFFFF
    assert conn.peer_sends(SYN | ACK, window=0xFFFF).window == 0xFFFF
    conn.guest_sends()
    # A SYN-ACK that comes once more is no reason to write either.
    again = conn.from_peer(SYN | ACK, seq=conn.isn[1], window=0xFFF0)
    ends[1].send(again.frame())
    got = conn.receive(ends[0])
    assert got
    assert got.window == 0xFFF0
    assert got.sums_ok


def test_late_syn_ack_says_nothing_new(ends: Ends, tcon: genl.Genl) -> None:
    """Neither its unscaled window nor its acknowledgment is what holds by then."""
    conn = enforced(Conn(*ends), tcon, syn_window=8000)
    conn.guest_sends(PSH | ACK, bytes(MSS))
    conn.peer_sends(window=BIG)
    before = rigs.find_flow(tcon, conn.sport)
    late = conn.from_peer(SYN | ACK, seq=conn.isn[1], ack=conn.isn[0] + 1, window=100)
    ends[1].send(late.frame())
    assert conn.receive(ends[0])
    after = rigs.find_flow(tcon, conn.sport)
    assert before
    assert after
    for name in ("una", "edge", "rwnd_bytes", "peer_rwnd_bytes"):
        assert after[name] == before[name], name


def hold(conn: Conn, segments: int) -> None:
    """The guest sends more than an initial window; the excess waits."""
    for _ in range(segments):
        conn.clock += 1
        conn.guest_ts = conn.clock
        conn.guest.send(conn.from_guest(PSH | ACK, bytes(MSS)).frame())
        conn.guest_nxt += MSS


def test_ack_of_what_waits_opens_no_window(ends: Ends, tcon: genl.Genl) -> None:
    """A peer that acknowledges what has not left lies; the guest cannot know."""
    conn = enforced(Conn(*ends), tcon)
    hold(conn, 30)
    flow = rigs.find_flow(tcon, conn.sport)
    assert flow
    assert flow["held_bytes"] >= 10 * MSS
    discard(ends[1])
    with counted(tcon, bad_ack=1, window_written=1):
        got = conn.peer_sends(window=BIG)
    assert got.ack == flow["nxt_guest"]
    assert edge_of(conn, got) <= flow["edge"] + 128


def test_guest_that_sends_beyond_its_window_and_the_bound_wins_nothing(
    ends: Ends, tcon: genl.Genl
) -> None:
    """It fills its own bound: no more leaves for that, and no more is held."""
    conn = enforced(Conn(*ends), tcon, syn_window=10 * MSS)
    discard(*ends)
    most, before = 0, tcon.counters()
    with rigs.parameters(buffer_flow_bytes=200_000):  # of which a quarter is for that
        for _ in range(20):  # within an RTO: after it all that waits leaves
            hold(conn, 10)
            most = max(most, int(rigs.find_flow(tcon, conn.sport)["held_bytes"]))
        after = tcon.counters()
    assert after["hold-excess"] > before["hold-excess"] + 150
    assert 10_000 < most < 50_000, "which is memory, and takes more than its payload"
    starts = set()
    while segment := conn.receive(ends[1], 0.02):
        starts.add(segment.seq)
    assert len(starts) == 10


def test_segments_that_the_guest_exchanges_all_arrive(ends: Ends, tcon: genl.Genl) -> None:
    """A segment that comes late into a gap does not repeat the waiting ones."""
    conn = enforced(Conn(*ends), tcon)
    hold(conn, 20)
    first = conn.from_guest(PSH | ACK, b"a" * MSS)
    conn.guest_nxt += MSS
    hold(conn, 1)
    ends[0].send(first.frame())
    with counted(tcon, repeat_absorbed=1):
        ends[0].send(first.but(seq=first.seq - MSS).frame())
        received = conn.isn[0] + 1
        early: dict[int, int] = {}
        while received < conn.guest_nxt:
            segment = conn.receive(ends[1])
            assert segment, f"{conn.guest_nxt - received} bytes never came"
            early[segment.seq] = segment.seq + len(segment.payload)
            while received in early:
                received = early.pop(received)
            discard(ends[0])
            ends[1].send(conn.from_peer(ack=received).frame())


def test_who_guesses_an_ack_is_not_believed(ends: Ends, tcon: genl.Genl) -> None:
    """Its number fits, but the guest will not take a segment from outside its window."""
    conn = enforced(Conn(*ends), tcon)
    for _ in range(4):
        conn.guest_sends(PSH | ACK, bytes(MSS))
    conn.peer_sends(PSH | ACK, b"hello", window=BIG, ack=conn.guest_nxt - 3 * MSS)
    conn.guest_sends(window=600)
    before = rigs.find_flow(tcon, conn.sport)
    edge = conn.peer_nxt + (600 << 7)
    with counted(tcon, out_of_window=4, ack_in=0, window_written=4):
        for seq in (conn.peer_nxt - 1, conn.peer_nxt - 2**30, edge + 1, edge + 2**30):
            for end in (conn.peer_ts, conn.peer_ts + 10_000):
                forged = conn.from_peer(
                    seq=seq % 2**32, ack=conn.guest_nxt - MSS, window=BIG,
                    options=wire.NOP * 2 + wire.opt_ts(end, conn.guest_ts),
                )  # fmt: skip
            ends[1].send(forged.frame())
            got = conn.receive(ends[0])
            assert got
            assert got.sums_ok
            assert got.but(window=0) == forged.but(window=0)
    after = rigs.find_flow(tcon, conn.sport)
    assert before
    assert after
    assert {k: after[k] for k in ("una", "edge", "delivered_bytes")} == {
        k: before[k] for k in ("una", "edge", "delivered_bytes")
    }
    with counted(tcon, out_of_window=0, ack_in=3):
        for seq in (conn.peer_nxt - 5, conn.peer_nxt, edge):  # the guest takes these
            conn.peer_sends(PSH | ACK, b"hello", seq=seq, ack=conn.guest_nxt - MSS, window=BIG)


def test_peer_that_says_all_at_once_is_heard(ends: Ends, tcon: genl.Genl) -> None:
    """Before the guest's first ACK its SYN-ACK's window counts, unscaled."""
    tcon.set_rule("cubic")
    conn = Conn(*ends)
    conn.clock += 1
    opening = conn.from_peer(SYN, ack=0)
    ends[1].send(opening.frame())
    assert conn.receive(ends[0])
    conn.peer_nxt += 1
    conn.peer_ts = conn.clock
    conn.guest_sends(SYN | ACK, window=4000)
    with counted(tcon, out_of_window=1):
        conn.peer_sends(window=BIG)
        conn.peer_sends(PSH | ACK, bytes(1000), window=BIG)
        conn.peer_sends(PSH | ACK, bytes(1000), window=BIG)
        ends[1].send(conn.from_peer(PSH | ACK, b"x", seq=conn.peer_nxt + 2001).frame())
        assert conn.receive(ends[0])
        conn.peer_sends(FIN | ACK, window=BIG)
        assert state(tcon, conn.sport) == ENFORCED_CUBIC
        conn.guest_sends(FIN | ACK)
        conn.peer_sends(window=BIG)
    assert state(tcon, conn.sport) == ("observed", "closed", "none")
    poll(lambda: not rigs.find_flow(tcon, conn.sport), "the flow is collected", 15, 0.5)


def test_window_that_was_offered_is_kept(ends: Ends, tcon: genl.Genl) -> None:
    """A guest that offers less, or whose packets change places, takes what fits."""
    conn = enforced(Conn(*ends), tcon)
    conn.guest_sends(PSH | ACK, bytes(MSS), window=500)
    conn.guest_sends(PSH | ACK, bytes(MSS), window=10)
    with counted(tcon, out_of_window=0, ack_in=1):
        conn.peer_sends(PSH | ACK, b"x", seq=conn.peer_nxt + (500 << 7), window=BIG)


def test_zero_window_passes_and_a_small_one_is_kept(ends: Ends, tcon: genl.Genl) -> None:
    conn = enforced(Conn(*ends), tcon, syn_window=8000)
    conn.guest_sends(PSH | ACK, bytes(MSS))
    with counted(tcon, window_kept=2, window_written=0):
        assert conn.peer_sends(window=0).window == 0
        assert conn.peer_sends(window=3).window == 3


def test_never_less_than_two_segments(ends: Ends, tcon: genl.Genl) -> None:
    """A pacer that may hold next to nothing wants a window of next to nothing."""
    with rigs.parameters(buffer_flow_bytes=800):
        conn = enforced(Conn(*ends), tcon, "bbr", syn_window=2 * MSS)
        for _ in range(2):
            conn.guest_sends(PSH | ACK, bytes(MSS))
        assert conn.peer_sends(window=BIG).window == -(-2 * MSS // 128)


def test_unscaled_where_only_one_end_has_the_option(ends: Ends, tcon: genl.Genl) -> None:
    conn = enforced(Conn(*ends, scales=(7, None)), tcon, syn_window=20000)
    conn.guest_sends(PSH | ACK, bytes(MSS))
    got = conn.peer_sends(window=0xFFFF)
    flow = rigs.find_flow(tcon, conn.sport)
    assert flow
    assert got.window == flow["rwnd_bytes"]
    assert 20000 - MSS <= got.window < 0xFFFF


def answer(conn: Conn, tcon: genl.Genl, *sizes: int, acked: int) -> float:
    """The guest sends, the peer acknowledges: units of 512 bytes more than whole segments take."""
    start = conn.guest_nxt
    for size in sizes:
        conn.guest_sends(PSH | ACK, bytes(size))
    got = conn.peer_sends(ack=(start + acked) % 2**32, window=BIG)
    flow = rigs.find_flow(tcon, conn.sport)
    assert flow
    room = flow["cwnd_bytes"] - (flow["nxt"] - flow["una"])
    wanted = conn.guest_nxt + round(room / MSS) * MSS
    return (edge_of(conn, got) - wanted) / 512


def to_the_edge(conn: Conn, tcon: genl.Genl) -> list[int]:
    """Sizes of the segments with which a guest fills its window."""
    flow = rigs.find_flow(tcon, conn.sport)
    assert flow
    room = (flow["edge"] - conn.guest_nxt) % 2**32
    return [MSS] * (room // MSS) + [room % MSS]


def test_edge_is_rounded_down_where_marks_count_packets(ends: Ends, tcon: genl.Genl) -> None:
    """Fields are in units of 512 bytes: up adds a part of a segment, down takes from one.

    Up, until the guest has shown that it sends a part where its window ends.
    """
    conn = Conn(*ends, scales=(7, 9))
    conn.guest_sends(SYN)
    tcon.set_rule("dctcp")  # too late for it to ask for ECN
    conn.peer_sends(SYN | ACK, window=2 * MSS)
    conn.guest_sends()
    assert state(tcon, conn.sport) == ("repair-enforced", "none", "dctcp")
    assert 0 < answer(conn, tcon, MSS, acked=MSS) < 1
    assert 0 < answer(conn, tcon, 100, acked=100) < 1, "nothing else in flight: any Nagle's"
    assert 0 < answer(conn, tcon, MSS, 100, acked=MSS + 100) < 1, "it had no more to send"
    assert 0 < answer(conn, tcon, MSS, acked=MSS) < 1
    *whole, part = to_the_edge(conn, tcon)
    assert part
    assert 0 < answer(conn, tcon, *whole, part, acked=MSS) < 1, "the part is in flight"
    assert -1 < answer(conn, tcon, MSS, acked=MSS) < 0
    assert -1 < answer(conn, tcon, MSS, MSS, acked=2 * MSS) < 0
    assert 0 < answer(conn, tcon, MSS, 100, acked=MSS) < 1


def test_edge_is_rounded_up_where_losses_decide(ends: Ends, tcon: genl.Genl) -> None:
    conn = enforced(Conn(*ends, scales=(7, 9)), tcon, "reno", syn_window=2 * MSS)
    assert 0 < answer(conn, tcon, MSS, 100, acked=MSS + 100) < 1
    assert 0 < answer(conn, tcon, MSS, acked=MSS) < 1


def test_edge_is_rounded_up_where_units_are_larger_than_segments(
    ends: Ends, tcon: genl.Genl
) -> None:
    keep_awake(tcon)
    conn = Conn(*ends, scales=(7, 13))
    conn.guest_sends(SYN)
    tcon.set_rule("dctcp")
    conn.peer_sends(SYN | ACK, window=2 * MSS)
    conn.guest_sends()
    conn.guest_sends(PSH | ACK, bytes(MSS))
    conn.guest_sends(PSH | ACK, bytes(100))
    got = conn.peer_sends(window=BIG)
    flow = rigs.find_flow(tcon, conn.sport)
    assert flow
    assert flow["cc"] == "dctcp"
    assert got.window == -(-flow["cwnd_bytes"] // 2**13)


def test_scale_above_14_counts_as_14(ends: Ends, tcon: genl.Genl) -> None:
    conn = enforced(Conn(*ends, scales=(7, 200)), tcon, syn_window=4000)
    conn.guest_sends(PSH | ACK, bytes(MSS))
    got = conn.peer_sends(window=0xFFFF)
    flow = rigs.find_flow(tcon, conn.sport)
    assert flow
    assert 1 <= got.window <= 2
    assert flow["rwnd_bytes"] == got.window << 14


class Play:
    """A lossless transfer, both ends scripted: the guest obeys its window.

    `made` are the segments that TCon made.
    """

    def __init__(self, conn: Conn, edge: int) -> None:
        self.conn, self.edge = conn, edge
        self.received = conn.guest_nxt  # by the peer
        self.acked = self.received
        self.peer_edge = edge
        self.made: list[wire.Segment] = []
        self.early = 0  # bytes beyond the peer's edge
        self.repeats = 0  # of what the peer had
        self.hidden = 0  # ACKs that told the guest nothing

    def guest(self, segments: int) -> None:
        """The guest sends what its window allows, up to this many segments."""
        conn = self.conn
        for _ in range(segments):
            if conn.guest_nxt + MSS > self.edge:
                return
            conn.clock += 1
            conn.guest_ts = conn.clock
            conn.guest.send(conn.from_guest(PSH | ACK, bytes(MSS)).frame())
            conn.guest_nxt += MSS

    def drain_peer(self) -> None:
        while segment := self.conn.receive(self.conn.peer, 0):
            assert segment.sums_ok
            start = self.conn.unwrap(segment.seq)
            if start + len(segment.payload) <= self.received:
                self.repeats += 1  # an answer was late: a tail probe
                continue
            assert start == self.received, "out of order"
            self.received += len(segment.payload)
            self.early = max(self.early, self.received - self.peer_edge)

    def ack(self, window: int) -> None:
        """The peer acknowledges all it has; its own edge never moves left."""
        conn = self.conn
        conn.clock += 1
        least = -(-(self.peer_edge - self.received) >> conn.shift())
        sent = conn.from_peer(ack=self.received % 2**32, window=min(max(window, least), 0xFFFF))
        self.peer_edge = max(self.peer_edge, edge_of(conn, sent))
        conn.peer_ts = conn.clock
        conn.peer.send(sent.frame())
        # Or the pacer let something go behind drain_peer(), and it is a bare duplicate.
        wait_s = 2.0 if self.acked != self.received else 0.02
        got = conn.receive(conn.guest, wait_s)
        while got and got.timestamps() != sent.timestamps():
            self.take_made(got)
            got = conn.receive(conn.guest, wait_s)
        if not got:
            assert self.acked == self.received, "an ACK for new data was hidden"
            self.hidden += 1
            return
        self.acked = self.received
        assert got.sums_ok
        assert got.window <= sent.window
        assert edge_of(conn, got) >= self.edge, "the edge moved left"
        self.edge = edge_of(conn, got)

    def take_made(self, segment: wire.Segment) -> None:
        assert segment.sums_ok
        assert edge_of(self.conn, segment) > self.edge, "an update that gives nothing"
        assert edge_of(self.conn, segment) <= self.peer_edge
        self.edge = edge_of(self.conn, segment)
        self.made.append(segment)

    def updates(self) -> None:
        """Take the segments that TCon has made since."""
        while segment := self.conn.receive(self.conn.guest, 0):
            self.take_made(segment)


@pytest.mark.parametrize("cc", ["cubic", "bbr"])
@pytest.mark.parametrize("seed", [1, 2])
def test_edge_never_moves_left(ends: Ends, tcon: genl.Genl, cc: str, seed: int) -> None:
    """Random sends, ACKs and windows of a proper receiver."""
    rng = random.Random(seed)
    family, shift = rng.choice([4, 6]), rng.choice([0, 2, 7, 12])
    conn = Conn(*ends, family=family, scales=(7, shift), isn=(2**32 - 60000, 2**32 - 1))
    tcon.set_rule(cc)
    conn.guest_sends(SYN)
    synack = conn.peer_sends(SYN | ACK, window=30000)
    conn.guest_sends()
    play = Play(conn, conn.unwrap(synack.ack) + 30000)
    for _ in range(150):
        play.guest(rng.randrange(6))
        if rng.random() < 0.5:
            time.sleep(rng.random() * 0.004)
        play.drain_peer()
        play.updates()
        if rng.random() < 0.6:
            play.ack(rng.choice([0, 1, 17, 400, 4000, 0x7FFF, 0xFFFF]))
    assert play.early <= 0, "the guest was led beyond the receiver's window"
    assert state(tcon, conn.sport)[0] == "repair-enforced"
    assert play.received - conn.isn[0] > 30000
    flow = rigs.find_flow(tcon, conn.sport)
    assert flow
    assert play.repeats == flow["repairs"] == flow["probes"], "something was judged lost"
    assert play.hidden == flow["hidden_acks"]


def test_shrinking_receiver_is_believed(ends: Ends, tcon: genl.Genl) -> None:
    conn = enforced(Conn(*ends), tcon)
    conn.guest_sends(PSH | ACK, bytes(MSS))
    conn.peer_sends(window=200)
    assert conn.peer_sends(window=50).window == 50


@pytest.mark.both
def test_window_update_is_injected(ends: Ends, tcon: genl.Genl) -> None:
    """A paced guest that used up its window gets more as the pacer drains."""
    tcon.set_rule("bbr")
    conn = Conn(*ends)
    conn.guest_sends(SYN)
    time.sleep(0.02)
    synack = conn.peer_sends(SYN | ACK, window=6000)
    conn.guest_sends()
    hello = conn.peer_sends(PSH | ACK, b"hello", window=BIG)
    # Somebody who guesses has no say in what sequence number updates have.
    conn.peer.send(conn.from_peer(PSH | ACK, b"x", seq=9_000_000, ack=5).frame())
    assert conn.receive(conn.guest)
    before = tcon.counters()["update-sent"]
    play = Play(conn, synack.ack + 6000)
    play.peer_edge = edge_of(conn, hello.but(window=BIG))
    play.edge = max(play.edge, edge_of(conn, hello))
    for _ in range(400):
        play.guest(20)
        time.sleep(0.002)
        play.drain_peer()
        play.updates()
        if rigs.find_flow(tcon, conn.sport)["held_bytes"] == 0 and play.received == conn.guest_nxt:
            time.sleep(0.02)  # a path so fast that nothing is held would need no update
            play.updates()
            play.ack(BIG)
        if len(play.made) >= 3:
            break
    assert len(play.made) >= 3, "no window update"
    play.updates()
    assert not play.hidden
    assert tcon.counters()["update-sent"] - before == len(play.made)
    for update in play.made:
        assert update.flags == ACK
        assert not update.payload
        assert update.seq == conn.peer_nxt
        assert (update.src, update.dst) == conn.addresses[::-1]
        assert (update.src_mac, update.dst_mac) == (wire.Segment.dst_mac, wire.Segment.src_mac)
        value, echo = update.timestamps()
        assert value <= conn.peer_ts
        assert echo <= conn.guest_ts
        assert update.options == wire.NOP * 2 + wire.opt_ts(value, echo)


def test_guest_that_paces_is_not_kept_waiting(ends: Ends, tcon: genl.Genl) -> None:
    """One that sends more slowly than the pacer would may use all of cwnd."""
    tcon.set_rule("bbr")
    conn = Conn(*ends)
    conn.guest_sends(SYN)
    time.sleep(0.1)
    synack = conn.peer_sends(SYN | ACK, window=10 * MSS)
    conn.guest_sends()
    play = Play(conn, synack.ack + 10 * MSS)
    play.guest(10)
    time.sleep(0.1)
    play.drain_peer()
    play.ack(BIG)
    held = tcon.counters()["held"]
    first = conn.guest_nxt
    for _ in range(16):
        play.guest(1)
        time.sleep(0.005)
        play.updates()
    assert tcon.counters()["held"] == held, "it was to be slower than the pacer"
    assert conn.guest_nxt - first == 16 * MSS
    assert len(play.made) >= 2
    assert not play.hidden


# --- options ----------------------------------------------------------------------

ODD_OPTIONS = {
    "length 0": b"\x08\x00\x01\x01",
    "length 1": b"\x08\x01\x01\x01",
    "beyond the header": b"\x08\x0a\x00\x00",
    "kind without length": b"\x01\x01\x01\x08",
    "time stamps of 9 bytes": b"\x08\x09" + bytes(7) + b"\x01\x01\x01",
    "garbage behind the end": b"\x00\xff\xff\xff",
    "time stamps twice": (b"\x01\x01" + wire.opt_ts(1, 2)) * 2,
    "SACK of 9 bytes": b"\x05\x09" + bytes(7) + b"\x01\x01\x01",
    "scale without SYN": b"\x03\x03\x0e\x01",
    "MSS without SYN": b"\x02\x04\x00\x01",
    "unknown kind": b"\xfd\x08TCON\x00\x00",
    "forty bytes": b"\xfe\x28" + bytes(38),
}


@pytest.mark.parametrize("options", ODD_OPTIONS.values(), ids=ODD_OPTIONS.keys())
def test_odd_options_pass(ends: Ends, tcon: genl.Genl, options: bytes) -> None:
    conn = enforced(Conn(*ends), tcon, syn_window=8000)
    conn.guest_sends(PSH | ACK, bytes(MSS), options=options)
    got = conn.peer_sends(window=BIG, options=options)
    assert got.window < BIG
    assert state(tcon, conn.sport) == ENFORCED_CUBIC


@pytest.mark.parametrize("options", [
    wire.opt_sack((1, 2)) + wire.opt_sack((3, 4)) + wire.NOP * 4,
    wire.opt_sack((9_000_000, 1)) + wire.NOP * 2,
], ids=["twice", "reversed"])  # fmt: skip
def test_odd_sack_options_are_taken_out(ends: Ends, tcon: genl.Genl, options: bytes) -> None:
    """Whatever a SACK option says, a guest under repair does not see it."""
    conn = enforced(Conn(*ends), tcon, syn_window=8000)
    conn.guest_sends(PSH | ACK, bytes(MSS), options=options)
    sent = conn.from_peer(window=BIG, options=options)
    ends[1].send(sent.frame())
    got = conn.receive(ends[0])
    assert got
    assert got.sums_ok
    assert got.window < BIG
    assert got.but(window=BIG) == sent.but(options=wire.NOP * len(options))
    assert state(tcon, conn.sport) == ENFORCED_CUBIC


def test_random_options_pass(ends: Ends, tcon: genl.Genl) -> None:
    rng = random.Random(7)
    conn = enforced(Conn(*ends), tcon)
    for _ in range(60):
        options = rng.randbytes(4 * rng.randrange(11))
        if rng.random() < 0.5:  # plausible kinds go further into the parser
            options = bytes(rng.choice((0, 1, 2, 3, 4, 5, 8, 10, 19)) for _ in options)
        conn.guest_sends(PSH | ACK, bytes(rng.randrange(200)), options=options)
        conn.peer_sends(window=rng.randrange(0x10000), options=options)


def test_random_options_on_a_syn_pass(ends: Ends, tcon: genl.Genl) -> None:
    rng = random.Random(8)
    tcon.set_rule("cubic")
    for _ in range(25):
        conn = Conn(*ends)
        conn.guest_sends(SYN, options=rng.randbytes(4 * rng.randrange(11)))
        conn.peer_sends(SYN | ACK, options=rng.randbytes(4 * rng.randrange(11)))
        conn.guest_sends()
        conn.guest_sends(PSH | ACK, b"x")
        conn.peer_sends()


# --- what is passed unread ---------------------------------------------------------


def _fragment(conn: Conn) -> bytes:
    raw = bytearray(conn.from_guest(PSH | ACK, bytes(64)).frame())
    raw[20:22] = b"\x20\x00"  # more fragments
    raw[24:26] = b"\0\0"
    raw[24:26] = struct.pack("!H", wire.ones_sum(bytes(raw[14:34])) ^ 0xFFFF)
    return bytes(raw)


def _fragment6(conn: Conn) -> bytes:
    header = struct.pack("!BBHI", 6, 0, 1, 77)
    return conn.from_guest(PSH | ACK, bytes(64), extensions=header, first_header=44).frame()


def _nine_extensions(conn: Conn) -> bytes:
    headers = b"".join(bytes((60 if n < 8 else 6, 0, 1, 4, 0, 0, 0, 0)) for n in range(9))
    return conn.from_guest(PSH | ACK, bytes(9), extensions=headers, first_header=60).frame()


def _jumbogram(conn: Conn) -> bytes:
    option = struct.pack("!BBBBI", 6, 0, 0xC2, 4, 70000)
    raw = bytearray(conn.from_guest(PSH | ACK, bytes(9), extensions=option, first_header=0).frame())
    raw[18:20] = b"\0\0"  # payload length
    return bytes(raw)


def _bad_offset(words: int) -> Callable[[Conn], bytes]:
    return lambda conn: conn.from_guest(PSH | ACK, bytes(9), data_offset=words).frame()


def _short_total(conn: Conn) -> bytes:
    raw = bytearray(conn.from_guest(PSH | ACK, bytes(9)).frame())
    raw[16:18] = struct.pack("!H", 20 + 12)
    raw[24:26] = b"\0\0"
    raw[24:26] = struct.pack("!H", wire.ones_sum(bytes(raw[14:34])) ^ 0xFFFF)
    return bytes(raw)


def _udp(conn: Conn) -> bytes:
    raw = bytearray(conn.from_guest(PSH | ACK, bytes(9)).frame())
    raw[23] = wire.IPPROTO_UDP
    return bytes(raw)


def _arp(conn: Conn) -> bytes:
    return conn.from_guest().frame()[:12] + b"\x08\x06" + bytes(46)


UNREAD = {
    "fragment": (4, (), _fragment, "fragment"),
    "IPv6 fragment": (6, (), _fragment6, "fragment"),
    "nine extension headers": (6, (), _nine_extensions, "ext-header"),
    "jumbogram": (6, (), _jumbogram, "jumbogram"),
    "data offset 4": (4, (), _bad_offset(4), "malformed"),
    "data offset beyond": (4, (), _bad_offset(15), "malformed"),
    "IPv6 data offset beyond": (6, (), _bad_offset(15), "malformed"),
    "IP length below TCP's": (4, (), _short_total, "malformed"),
    "UDP": (4, (), _udp, "not-tcp"),
    "ARP": (4, (), _arp, "not-tcp"),
}


# A guest's fragments, extension headers and jumbograms are in test_fallback.py.
PASSED = [
    pytest.param(case, towards, id=f"{name}-{towards}")
    for name, case in UNREAD.items()
    for towards in ("peer", "guest")
    if towards == "guest" or case[3] not in ("fragment", "ext-header", "jumbogram")
]


@pytest.mark.parametrize(("case", "towards"), PASSED)
def test_passes_untouched_and_counted(
    ends: Ends, tcon: genl.Genl, case: tuple, towards: str
) -> None:
    family, vlans, make, counter = case
    tcon.set_rule("cubic")
    raw = make(Conn(*ends, family=family, vlans=vlans))
    source, sink = ends if towards == "peer" else ends[::-1]
    discard(sink)
    before = tcon.counters()
    source.send(raw)
    got = sink.recv(2.0)
    assert got == raw
    grown = {k: v - before[k] for k, v in tcon.counters().items() if v != before[k]}
    assert grown == {counter: 1}


@pytest.mark.both
def test_extension_headers_are_walked(ends: Ends, tcon: genl.Genl) -> None:
    """A header that the parser knows before TCP: enforced all the same."""
    conn = enforced(Conn(*ends, family=6), tcon, syn_window=8000)
    conn.guest_sends(PSH | ACK, bytes(MSS))
    header = bytes((6, 0, 1, 4, 0, 0, 0, 0))
    sent = conn.from_peer(window=BIG, extensions=header, first_header=60)
    with counted(tcon, window_written=1):
        ends[1].send(sent.frame())
        got = ends[0].recv(2.0)
    tcp = got[14 + 48 :]
    (window,) = struct.unpack_from("!H", tcp, 14)
    assert window < BIG
    assert wire.ones_sum(wire.pseudo_header(sent.src, sent.dst, len(tcp)) + tcp) == 0xFFFF


# --- reasons ----------------------------------------------------------------------


def untouched(conn: Conn) -> None:
    """An ACK with a large window passes as it is."""
    assert conn.peer_sends(window=BIG).window == BIG


def test_reason_no_rule_and_rule_none(ends: Ends, tcon: genl.Genl) -> None:
    keep_awake(tcon)
    conn = Conn(*ends).handshake()
    conn.guest_sends(PSH | ACK, bytes(MSS))
    assert state(tcon, conn.sport) == ("observed", "no-rule", "none")
    untouched(conn)
    tcon.set_rule("none")
    assert state(tcon, conn.sport) == ("observed", "rule-none", "none")
    untouched(conn)
    tcon.set_rule("cubic")
    assert state(tcon, conn.sport) == ENFORCED_CUBIC  # with no packet in between
    tcon.set_rule("none", priority=40000)
    assert state(tcon, conn.sport) == ("observed", "rule-none", "none")


def test_reason_handshake(ends: Ends, tcon: genl.Genl) -> None:
    tcon.set_rule("cubic")
    conn = Conn(*ends)
    conn.guest_sends(SYN)
    assert state(tcon, conn.sport) == ("observed", "handshake", "none")
    conn.peer_sends(SYN | ACK)
    assert state(tcon, conn.sport) == ("observed", "handshake", "none")
    conn.guest_sends()
    assert state(tcon, conn.sport) == ENFORCED_CUBIC


def test_answers_that_pass_elsewhere_from_the_start(ends: Ends, tcon: genl.Genl) -> None:
    """A load balancer sends the SYN this way, and ACKs another (direct server return): the guest
    sends nothing twice, and none of it is dropped.
    """
    tcon.set_rule("cubic")
    conn = Conn(*ends)
    conn.peer_sends(SYN)
    conn.guest_sends(SYN | ACK)
    conn.peer_nxt = conn.isn[1] + 1
    sent, left = [], set()
    for _ in range(20):
        conn.clock += 10
        for _ in range(10):
            sent.append(conn.from_guest(PSH | ACK, bytes(1000)))
            conn.guest_nxt += 1000
            conn.guest.send(sent[-1].frame())
        while got := conn.receive(conn.peer, 0.01):
            left.add(got.seq)
    while got := conn.receive(conn.peer, 1):
        left.add(got.seq)
    assert left == {segment.seq for segment in sent}


def test_reason_mid_stream(ends: Ends, tcon: genl.Genl) -> None:
    tcon.set_rule("cubic")
    conn = Conn(*ends)
    conn.guest_sends(PSH | ACK, bytes(MSS))
    assert state(tcon, conn.sport) == ("observed", "mid-stream", "none")
    untouched(conn)


def test_an_ack_of_what_was_never_seen_ends_enforcement(ends: Ends, tcon: genl.Genl) -> None:
    """Some of the guest's packets took another way: it goes on behind them."""
    conn = enforced(Conn(*ends), tcon)
    conn.guest_sends(PSH | ACK, bytes(MSS))
    with counted(tcon, bad_ack=1):
        conn.guest_nxt += 5000
        untouched(conn)
    assert state(tcon, conn.sport) == ENFORCED_CUBIC
    conn.guest_sends(PSH | ACK, bytes(MSS))
    assert state(tcon, conn.sport) == ("observed", "mid-stream", "none")
    untouched(conn)


def test_an_ack_of_what_was_never_sent_does_not(ends: Ends, tcon: genl.Genl) -> None:
    """A peer that lies, or who is not the peer: the guest goes on where it was."""
    conn = enforced(Conn(*ends), tcon)
    conn.guest_sends(PSH | ACK, bytes(MSS))
    with counted(tcon, bad_ack=2):
        conn.peer_sends(ack=conn.guest_nxt + 10 * MSS)
        for _ in range(3):
            conn.guest_sends(PSH | ACK, bytes(MSS))
        conn.peer_sends(ack=conn.guest_nxt + 2**31 - 1)
        assert conn.peer_sends(window=BIG).window < BIG
    for _ in range(10):
        conn.guest_sends(PSH | ACK, bytes(MSS))
        assert conn.peer_sends(window=BIG).window < BIG
    assert state(tcon, conn.sport) == ENFORCED_CUBIC
    flow = rigs.find_flow(tcon, conn.sport)
    assert flow
    assert flow["una"] == flow["nxt"] == conn.guest_nxt


@pytest.mark.parametrize("end", ["guest", "peer"])
def test_reason_ambiguous_scale(ends: Ends, tcon: genl.Genl, end: str) -> None:
    tcon.set_rule("cubic")
    conn = Conn(*ends)
    conn.guest_sends(SYN)
    if end == "guest":
        conn.scales = (3, 7)
        conn.guest_sends(SYN, seq=conn.isn[0])
    conn.peer_sends(SYN | ACK)
    if end == "peer":
        conn.scales = (7, 3)
        conn.peer_sends(SYN | ACK, seq=conn.isn[1])
    conn.guest_sends()
    assert state(tcon, conn.sport) == ("paced", "ambiguous-scale", "cubic")
    untouched(conn)


@pytest.mark.parametrize("option", [wire.MD5 + wire.NOP * 2, wire.AO], ids=["md5", "ao"])
def test_reason_md5_ao(ends: Ends, tcon: genl.Genl, option: bytes) -> None:
    tcon.set_rule("cubic")
    conn = Conn(*ends)
    conn.guest_sends(SYN, options=option)
    conn.peer_sends(SYN | ACK, options=option)
    conn.guest_sends(options=option)
    assert state(tcon, conn.sport) == ("paced", "md5-ao", "cubic")
    untouched(conn)


def test_reason_mptcp(ends: Ends, tcon: genl.Genl) -> None:
    tcon.set_rule("cubic")
    conn = Conn(*ends)
    conn.guest_sends(SYN, options=wire.MPTCP)
    conn.peer_sends(SYN | ACK, options=wire.MPTCP)
    conn.guest_sends()
    assert state(tcon, conn.sport) == ("paced", "mptcp", "cubic")
    untouched(conn)


def test_mptcp_that_the_peer_refuses_is_plain_tcp(ends: Ends, tcon: genl.Genl) -> None:
    tcon.set_rule("cubic")
    conn = Conn(*ends)
    conn.guest_sends(SYN, options=wire.MPTCP)
    conn.peer_sends(SYN | ACK)
    conn.guest_sends()
    assert state(tcon, conn.sport) == ENFORCED_CUBIC


@pytest.mark.machine
def test_reason_cc_gone_and_back(ends: Ends, tcon: genl.Genl) -> None:
    conn = enforced(Conn(*ends), tcon)
    conn.guest_sends(PSH | ACK, bytes(MSS))
    rigs.unload("tcon_cubic")
    assert state(tcon, conn.sport) == ("observed", "cc-gone", "none")
    untouched(conn)
    rigs.run("modprobe", "tcon_cubic")
    assert state(tcon, conn.sport) == ENFORCED_CUBIC
    conn.guest_sends(PSH | ACK, bytes(MSS))
    assert conn.peer_sends(window=BIG).window < BIG


@pytest.mark.both
@pytest.mark.parametrize(
    "params",
    [
        {"cwnd_bytes": 0},
        {"cwnd_bytes": MSS, "after_bytes": 3000},
        {"cwnd_bytes": (1 << 30) + 1},
        {"cwnd_bytes": 10 * MSS, "pacing_bps": 1},
    ],
    ids=["zero", "later one segment", "huge", "stopped"],
)
def test_reason_watchdog(ends: Ends, tcon: genl.Genl, params: dict[str, int]) -> None:
    with rigs.badcc():
        tcon.set_rule("badcc", params=params)
        conn = Conn(*ends).handshake()
        assert state(tcon, conn.sport) == ("repair-enforced", "none", "badcc")
        for _ in range(4):
            conn.guest_sends(PSH | ACK, bytes(MSS))
            conn.peer_sends(window=BIG)
        assert state(tcon, conn.sport) == ("observed", "watchdog", "none")
        untouched(conn)
        tcon.set_rule("cubic")  # another CC gets its chance
        assert state(tcon, conn.sport) == ENFORCED_CUBIC
        tcon.del_rules()


# --- the life of a connection -----------------------------------------------------


def test_reset_then_collected(ends: Ends, tcon: genl.Genl) -> None:
    conn = enforced(Conn(*ends), tcon)
    conn.guest_sends(PSH | ACK, bytes(MSS))
    before = tcon.counters()["flows-closed"]
    conn.peer_sends(RST | ACK)
    assert state(tcon, conn.sport) == ("observed", "closed", "none")
    poll(lambda: not rigs.find_flow(tcon, conn.sport), "the flow is collected", 15, 0.5)
    assert tcon.counters()["flows-closed"] > before, "others may be collected meanwhile, too"


def test_data_after_a_reset_that_was_not_for_real(ends: Ends, tcon: genl.Genl) -> None:
    conn = enforced(Conn(*ends), tcon)
    conn.peer_sends(RST | ACK)
    assert state(tcon, conn.sport) == ("observed", "closed", "none")
    conn.guest_sends(PSH | ACK, bytes(MSS))
    assert state(tcon, conn.sport) == ENFORCED_CUBIC
    assert conn.peer_sends(window=BIG).window < BIG
    hold(conn, 30)  # cwnd is kept to again
    assert rigs.find_flow(tcon, conn.sport)["held_bytes"] >= 10 * MSS


@pytest.mark.parametrize("end", ["guest", "peer"])
def test_reset_out_of_place_changes_nothing(ends: Ends, tcon: genl.Genl, end: str) -> None:
    """Its receiver does not believe it (RFC 5961), so it must not end enforcement."""
    conn = enforced(Conn(*ends), tcon)
    sent = conn.guest_sends(PSH | ACK, bytes(MSS))
    for off in (-1, 1, 2**31):
        if end == "guest":
            at = sent.seq - 1 if off < 0 else conn.guest_nxt + off
            conn.guest.send(conn.from_guest(RST | ACK, seq=at % 2**32).frame())
            assert conn.receive(conn.peer).flags & RST
        else:
            conn.peer.send(conn.from_peer(RST | ACK, seq=(conn.peer_nxt + off) % 2**32).frame())
            assert conn.receive(conn.guest).flags & RST
        assert state(tcon, conn.sport) == ENFORCED_CUBIC
    assert conn.peer_sends(window=BIG).window < BIG
    if end == "guest":
        conn.guest_sends(RST | ACK)
    else:
        conn.peer_sends(RST | ACK)
    assert state(tcon, conn.sport) == ("observed", "closed", "none")


def test_fin_out_of_place_ends_nothing(ends: Ends, tcon: genl.Genl) -> None:
    """A guest's FIN of long ago, and one that no window reaches."""
    conn = enforced(Conn(*ends), tcon)
    sent = conn.guest_sends(PSH | ACK, bytes(MSS))
    conn.peer_sends(FIN | ACK)
    for at in (sent.seq - 10, conn.guest_nxt + 2**30):
        conn.guest.send(conn.from_guest(FIN | ACK, seq=at).frame())
        assert conn.receive(conn.peer).flags & FIN
        assert state(tcon, conn.sport) == ENFORCED_CUBIC
    conn.guest_sends(FIN | ACK)
    conn.peer_sends()
    assert state(tcon, conn.sport) == ("observed", "closed", "none")


@pytest.mark.both
def test_close_by_either_end(ends: Ends, tcon: genl.Genl) -> None:
    for first in ("guest", "peer"):
        conn = enforced(Conn(*ends), tcon)
        conn.guest_sends(PSH | ACK, bytes(100))
        conn.peer_sends()
        turns = [conn.guest_sends, conn.peer_sends]
        if first == "peer":
            turns.reverse()
        turns[0](FIN | ACK)
        assert state(tcon, conn.sport) == ENFORCED_CUBIC  # half-closed
        turns[1](FIN | ACK)
        turns[0]()
        turns[1]()
        assert state(tcon, conn.sport) == ("observed", "closed", "none")


def test_simultaneous_close(ends: Ends, tcon: genl.Genl) -> None:
    conn = enforced(Conn(*ends), tcon)
    guest, peer = conn.guest_nxt, conn.peer_nxt
    conn.guest_sends(FIN | ACK)
    conn.peer_sends(FIN | ACK, ack=guest)
    assert state(tcon, conn.sport)[0] == "repair-enforced"
    conn.guest_sends(ack=peer + 1)
    conn.peer_sends(ack=guest + 1)
    assert state(tcon, conn.sport) == ("observed", "closed", "none")


def test_simultaneous_open(ends: Ends, tcon: genl.Genl) -> None:
    tcon.set_rule("cubic")
    conn = Conn(*ends)
    guest, peer = conn.isn
    conn.guest_sends(SYN)
    conn.peer_sends(SYN)
    conn.guest_sends(SYN | ACK, seq=guest, ack=peer + 1)
    conn.peer_sends(SYN | ACK, seq=peer, ack=guest + 1)
    assert state(tcon, conn.sport) == ENFORCED_CUBIC
    conn.guest_sends(PSH | ACK, bytes(MSS))
    assert conn.peer_sends(window=BIG).window < BIG


def test_peer_opens(ends: Ends, tcon: genl.Genl) -> None:
    """The guest is the server, and sends the data."""
    tcon.set_rule("cubic")
    conn = Conn(*ends)
    conn.peer_sends(SYN)
    conn.guest_sends(SYN | ACK)
    conn.peer_sends(window=60)
    assert state(tcon, conn.sport) == ENFORCED_CUBIC
    conn.guest_sends(PSH | ACK, bytes(MSS))
    assert conn.peer_sends(window=BIG).window < BIG


@pytest.mark.parametrize("ahead", [0, 2_000_000], ids=["same", "other"])
def test_peer_that_had_given_up_opens_again(ends: Ends, tcon: genl.Genl, ahead: int) -> None:
    """Its first SYN was not answered when it reset that."""
    tcon.set_rule("cubic")
    conn = Conn(*ends)
    conn.peer_sends(SYN)
    conn.peer_sends(RST)
    conn.restart(conn.isn[0], conn.isn[1] + ahead)
    conn.peer_sends(SYN)
    conn.guest_sends(SYN | ACK)
    conn.peer_sends()
    assert state(tcon, conn.sport) == ENFORCED_CUBIC


def test_syn_retransmissions_are_one_connection(ends: Ends, tcon: genl.Genl) -> None:
    tcon.set_rule("cubic")
    conn = Conn(*ends)
    with counted(tcon, flows_new=1, flows_reused=0):
        for _ in range(3):
            conn.guest_sends(SYN, seq=conn.isn[0])
        conn.peer_sends(SYN | ACK)
        conn.peer_sends(SYN | ACK, seq=conn.isn[1])
        conn.guest_sends()
    assert state(tcon, conn.sport) == ENFORCED_CUBIC


def test_port_reuse_with_a_new_isn(ends: Ends, tcon: genl.Genl) -> None:
    conn = enforced(Conn(*ends), tcon)
    for _ in range(3):
        conn.guest_sends(PSH | ACK, bytes(MSS))
    conn.peer_sends(window=BIG)
    with counted(tcon, flows_new=0, flows_reused=1):
        conn.restart(3_000_000_000, 9_000_000)
        conn.guest_sends(SYN)
        assert state(tcon, conn.sport) == ENFORCED_CUBIC, "the peer may not take the SYN"
        conn.peer_sends(SYN | ACK, window=8000)
        conn.guest_sends()
    assert state(tcon, conn.sport) == ENFORCED_CUBIC
    conn.guest_sends(PSH | ACK, bytes(MSS))
    got = conn.peer_sends(window=BIG)
    flow = rigs.find_flow(tcon, conn.sport)
    assert flow
    assert got.window < 300
    assert flow["sent_bytes"] == MSS
    assert flow["una"] == 3_000_000_001 + MSS


def test_forged_syn_from_outside_changes_nothing(ends: Ends, tcon: genl.Genl) -> None:
    """Anybody can send a SYN to the guest: it counts only when answered."""
    conn = enforced(Conn(*ends), tcon)
    conn.guest_sends(PSH | ACK, bytes(MSS))
    with counted(tcon, flows_reused=0):
        forged = conn.from_peer(SYN, seq=55, ack=0)
        ends[1].send(forged.frame())
        assert conn.receive(ends[0])
    assert state(tcon, conn.sport) == ENFORCED_CUBIC
    assert conn.peer_sends(window=BIG).window < BIG


def test_idle_flows_are_collected(ends: Ends, tcon: genl.Genl) -> None:
    forget_flows(tcon)
    conn = enforced(Conn(*ends), tcon)
    with rigs.parameters(idle_s=2), counted(tcon, flows_idle=1):
        poll(lambda: not rigs.find_flow(tcon, conn.sport), "the flow is collected", 6, 0.2)
    # It was alive all the same: the next segment is mid-stream.
    conn.guest_sends(PSH | ACK, bytes(MSS))
    assert state(tcon, conn.sport) == ("observed", "mid-stream", "none")


def test_flows_without_a_handshake_are_soon_collected(ends: Ends, tcon: genl.Genl) -> None:
    """Data alone makes one; more than a minute goes by."""
    whole, part = enforced(Conn(*ends), tcon), Conn(*ends)
    part.guest_sends(PSH | ACK, b"x")
    assert state(tcon, part.sport) == ("observed", "mid-stream", "none")
    time.sleep(60)
    assert rigs.find_flow(tcon, part.sport)
    poll(lambda: not rigs.find_flow(tcon, part.sport), "the flow is collected", 15, 1.0)
    assert state(tcon, whole.sport) == ENFORCED_CUBIC


# --- bounds -----------------------------------------------------------------------


def forget_flows(tcon: genl.Genl) -> None:
    """Collect everything, so that it can be counted.  At a port at rest flows stay."""
    with rigs.parameters(idle_s=0, observe=1):
        poll(lambda: tcon.info("FLOWS") == 0, "all half-flows are collected", 90, 1.0)


def slab_bytes() -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("Slab:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no Slab in /proc/meminfo")


def readdress(frame: bytearray, at: int, n: int) -> None:
    """Write n into the low bytes of the IPv4 address at an offset; TCP's sum stays right."""
    total = ~int.from_bytes(frame[50:52], "big") & 0xFFFF
    total -= sum(int.from_bytes(frame[i : i + 2], "big") for i in (at, at + 2))
    frame[at + 1 : at + 4] = n.to_bytes(3, "big")
    total += sum(int.from_bytes(frame[i : i + 2], "big") for i in (at, at + 2))
    frame[50:52] = (~(total % 0xFFFF) & 0xFFFF).to_bytes(2, "big")


@pytest.mark.both
@pytest.mark.parametrize("source", ["guest", "peer"])
def test_syn_flood_is_bounded(ends: Ends, tcon: genl.Genl, source: str) -> None:
    forget_flows(tcon)
    flood, caps = 4000, {"max_embryos": 64, "max_flows": 128}
    with rigs.parameters(**caps):
        conn = enforced(Conn(*ends), tcon)
        conn.guest_sends(PSH | ACK, bytes(MSS))
        before, slab = tcon.counters(), slab_bytes()
        one = Conn(*ends)
        frame = bytearray((one.from_guest if source == "guest" else one.from_peer)(SYN).frame())
        end, at = (ends[0], 26) if source == "guest" else (ends[1], 26)
        for n in range(flood):
            readdress(frame, at, n)
            end.send(bytes(frame))
            if n % 250 == 0:
                discard(*ends)
                assert tcon.info("FLOWS") <= caps["max_flows"]
                assert tcon.info("EMBRYOS") <= caps["max_embryos"]
        after = tcon.counters()
        assert after["flows-new"] - before["flows-new"] == flood
        assert after["embryo-evicted"] - before["embryo-evicted"] == flood - caps["max_embryos"]
        assert tcon.info("EMBRYOS") == caps["max_embryos"] == tcon.info("FLOWS") - 1
        discard(*ends)
        # Each half-flow takes more than a KiB: all of them would be 4 MiB and more.
        # KASAN keeps what is freed for a while, to find who still uses it.
        if not rigs.DEBUG_KERNEL:
            poll(lambda: slab_bytes() - slab < 2 << 20, "the flood's memory is given back")
        # A flow that was there before suffers nothing.
        assert state(tcon, conn.sport) == ENFORCED_CUBIC
        assert conn.peer_sends(window=BIG).window < BIG


@pytest.mark.parametrize("source", ["guest", "peer"])
def test_syn_flood_of_one_port_costs_others_no_handshake(
    rig: rigs.Rig, ends: Ends, tcon: genl.Genl, source: str
) -> None:
    """The port with most half-open flows loses the oldest of them."""
    forget_flows(tcon)
    flooded = rig.taps()
    with rigs.parameters(max_embryos=64):
        tcon.set_rule("cubic")
        early, late = Conn(*ends), Conn(*ends)
        early.guest_sends(SYN)
        one = Conn(*flooded)
        frame = bytearray((one.from_guest if source == "guest" else one.from_peer)(SYN).frame())
        end = flooded[0 if source == "guest" else 1]
        for n in range(1000):
            readdress(frame, 26, n)
            end.send(bytes(frame))
            if n % 50 == 0:
                discard(*flooded)
        late.guest_sends(SYN)
        for conn in (early, late):
            conn.peer_sends(SYN | ACK, window=8000)
            conn.guest_sends()
            assert state(tcon, conn.sport) == ENFORCED_CUBIC
        assert tcon.info("EMBRYOS") <= 64
    forget_flows(tcon)


def test_tags_do_not_make_keys_collide(ends: Ends, tcon: genl.Genl) -> None:
    """A guest may put any tag on the same addresses and ports."""
    forget_flows(tcon)
    discard(*ends)
    for tag in range(1, 301):
        ends[0].send(Conn(*ends, sport=19999, vlans=(tag,)).from_guest(SYN).frame())
    poll(
        lambda: len([f for f in tcon.flows() if f["sport"] == 19999]) == 300,
        "each has a half-flow, once ksoftirqd has come to it",
    )
    forget_flows(tcon)
    discard(*ends)


@pytest.mark.parametrize("bound", ["max_flows", "max_flows_per_port"])
def test_what_has_ended_gives_way(ends: Ends, tcon: genl.Genl, bound: str) -> None:
    """It lingers for ten seconds, in which a busy server opens more than the table holds."""
    tcon.set_rule("cubic")
    before = tcon.info("FLOWS")
    opened = [Conn(*ends).handshake()]
    with rigs.parameters(**{bound: before + 5}), counted(tcon, table_full=0, flows_closed=16):
        for how in (RST, FIN) * 10:
            conn = Conn(*ends).handshake()
            opened.append(conn)
            assert state(tcon, conn.sport) == ENFORCED_CUBIC
            conn.guest_sends(how | ACK)
            if how == FIN:
                conn.peer_sends(FIN | ACK)
                conn.guest_sends()
            assert state(tcon, conn.sport)[1] == "closed"
    assert state(tcon, opened[0].sport) == ENFORCED_CUBIC, "it has not ended"


@pytest.mark.parametrize("bound", ["max_flows", "max_flows_per_port"])
@pytest.mark.parametrize("first", [SYN, PSH | ACK], ids=["syn", "data"])
def test_in_a_full_table_the_unconfirmed_give_way(
    ends: Ends, tcon: genl.Genl, bound: str, first: int
) -> None:
    """A guest that fills its share does not get a flow past it."""
    forget_flows(tcon)
    tcon.set_rule("cubic")
    kept = enforced(Conn(*ends), tcon)
    with (
        rigs.parameters(**{bound: 10}),
        counted(tcon, table_full=0, flows_new=30, embryo_evicted=21, flow_evicted=0),
    ):
        for _ in range(30):
            Conn(*ends).guest_sends(first, b"" if first == SYN else b"x")
        assert tcon.info("FLOWS") == 10
    assert state(tcon, kept.sport) == ENFORCED_CUBIC
    forget_flows(tcon)


def test_in_a_table_full_of_connections_the_least_used_gives_way(
    ends: Ends, tcon: genl.Genl
) -> None:
    forget_flows(tcon)
    tcon.set_rule("cubic")
    conns = [enforced(Conn(*ends), tcon) for _ in range(4)]
    conns[0].guest_sends(PSH | ACK, b"x")
    with rigs.parameters(max_flows_per_port=4), counted(tcon, table_full=0, flow_evicted=1):
        enforced(Conn(*ends), tcon)
    assert [bool(rigs.find_flow(tcon, conn.sport)) for conn in conns] == [True, False, True, True]
    with rigs.parameters(adopt_s=0, max_flows_per_port=4):
        conns[1].guest_sends(PSH | ACK, b"x")
        assert state(tcon, conns[1].sport) == ("paced", "hidden", "cubic")
    forget_flows(tcon)


def test_a_port_has_a_part_that_others_cannot_take(
    rig: rigs.Rig, ends: Ends, tcon: genl.Genl
) -> None:
    """A guest keeps as many connections as it may; another still has its own."""
    forget_flows(tcon)
    tcon.set_rule("cubic")
    other = rig.taps()
    with rigs.parameters(max_flows=40), counted(tcon, table_full=0):
        for _ in range(60):
            Conn(*other).handshake()
        hog = next(int(p["flows"]) for p in tcon.ports() if p["ifname"] == "tg")
        assert hog == 30, "all but the other's quarter"
        conns = [enforced(Conn(*ends), tcon) for _ in range(10)]
        for conn in conns:
            assert state(tcon, conn.sport) == ENFORCED_CUBIC
    forget_flows(tcon)


def test_a_flood_of_data_costs_others_no_connection(
    rig: rigs.Rig, ends: Ends, tcon: genl.Genl
) -> None:
    """Segments of connections that nobody knows, and beside them 200 that begin."""
    forget_flows(tcon)
    flooded = rig.taps()
    tcon.set_rule("cubic")
    one = Conn(*flooded)
    frame = bytearray(one.from_guest(PSH | ACK, b"x").frame())
    n = 0
    with rigs.parameters(max_flows=1024, max_embryos=256), counted(tcon, table_full=0):
        for _ in range(200):
            for _ in range(50):
                n += 1
                readdress(frame, 26, n)
                flooded[0].send(bytes(frame))
            discard(*flooded)
            assert state(tcon, enforced(Conn(*ends), tcon).sport) == ENFORCED_CUBIC
        assert tcon.info("EMBRYOS") <= 256
        enforced_now = [f for f in tcon.flows() if f["ifname"] == "p1" and f["cc"] == "cubic"]
        assert len(enforced_now) == 200
    forget_flows(tcon)


# --- taps -------------------------------------------------------------------------


@pytest.mark.both
@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("offload", [0, TSO], ids=["complete", "partial"])
def test_partial_checksum_towards_a_tap(
    rig: rigs.Rig, tcon: genl.Genl, family: int, offload: int
) -> None:
    """The ACK leaves the uplink without its sum, as from another guest."""
    guest, uplink = rig.taps(offload)
    tcon.set_rule("cubic", bridge="br1")
    conn = Conn(guest, uplink, family=family)
    conn.guest_sends(SYN)
    conn.peer_sends(SYN | ACK, window=8000)
    conn.guest_sends()
    conn.guest_sends(PSH | ACK, bytes(MSS))
    sent = conn.from_peer(window=BIG, partial=True)
    uplink.send(sent.frame(), csum_start=sent.header_bytes())
    got = conn.receive(guest)
    assert got
    assert got.window < BIG
    if offload:
        assert guest.last_flags == rigs.VNET_NEEDS_CSUM
        size = 20 + len(got.options)
        assert got.check == wire.ones_sum(wire.pseudo_header(got.src, got.dst, size))
    else:
        assert got.sums_ok


@pytest.mark.both
@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("offload", [0, TSO], ids=["segmented", "whole"])
def test_super_packet_of_a_tap(rig: rigs.Rig, tcon: genl.Genl, family: int, offload: int) -> None:
    """SKB_GSO_DODGY with gso_segs 0: counted by sequence range."""
    guest, uplink = rig.taps(TSO, offload)
    tcon.set_rule("cubic", bridge="br1")
    conn = Conn(guest, uplink, family=family).handshake()
    payload = random.Random(1).randbytes(5 * MSS + 100)
    start = conn.guest_nxt
    sent = conn.from_guest(PSH | ACK, payload, partial=True)
    gso = rigs.VNET_GSO_TCPV4 if family == 4 else rigs.VNET_GSO_TCPV6
    guest.send(sent.frame(), sent.header_bytes(), MSS, gso)
    arrived = b""
    while len(arrived) < len(payload):
        got = conn.receive(uplink)
        assert got
        assert got.seq == start + len(arrived)
        arrived += got.payload
        if offload:
            assert (uplink.last_gso_bytes, uplink.last_flags) == (MSS, rigs.VNET_NEEDS_CSUM)
            assert len(got.payload) == len(payload)
        else:
            assert got.sums_ok
            assert len(got.payload) <= MSS
    assert arrived == payload
    conn.guest_nxt = start + len(payload)
    flow = rigs.find_flow(tcon, conn.sport)
    assert flow
    assert flow["nxt"] == conn.guest_nxt
    assert flow["inflight_bytes"] == len(payload)
    assert flow["sent_bytes"] == len(payload)
    sent = conn.from_peer(window=BIG)
    uplink.send(sent.frame())
    got = conn.receive(guest)
    assert got
    assert got.window < BIG
    flow = rigs.find_flow(tcon, conn.sport)
    assert flow
    assert flow["acked_bytes"] == flow["delivered_bytes"] == len(payload)


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("length", [0, 41, 0xFFFF])
def test_length_of_a_super_packet_is_what_there_is(
    rig: rigs.Rig, tcon: genl.Genl, family: int, length: int
) -> None:
    """Nobody looks at what its header says, so a guest could hide data behind that."""
    guest, uplink = rig.taps(TSO)
    tcon.set_rule("cubic", bridge="br1")
    conn = Conn(guest, uplink, family=family).handshake()
    sent = conn.from_guest(PSH | ACK, bytes(5 * MSS), partial=True)
    frame = bytearray(sent.frame())
    struct.pack_into("!H", frame, 16 if family == 4 else 18, length)
    gso = rigs.VNET_GSO_TCPV4 if family == 4 else rigs.VNET_GSO_TCPV6
    guest.send(bytes(frame), sent.header_bytes(), MSS, gso)
    for n in range(5):
        got = conn.receive(uplink)
        assert got
        assert got.sums_ok
        assert (got.seq, len(got.payload)) == (conn.guest_nxt + n * MSS, MSS)
    flow = rigs.find_flow(tcon, conn.sport)
    assert flow
    assert flow["sent_bytes"] == flow["inflight_bytes"] == 5 * MSS


@pytest.mark.both
@pytest.mark.parametrize("family", [4, 6])
def test_packet_beyond_64_kib_is_split(rig: rigs.Rig, tcon: genl.Genl, family: int) -> None:
    """BIG TCP: more than cwnd allows; the pieces have no header for a length beyond that."""
    guest, uplink = rig.taps(TSO, TSO)
    tcon.set_rule("cubic", bridge="br1")
    conn = Conn(guest, uplink, family=family).handshake()
    payload = random.Random(4).randbytes(48 * MSS)
    start = conn.guest_nxt
    arrived = b""
    with counted(tcon, gso_split=1, jumbogram=0, malformed=0):
        super_packet(guest, conn, payload)()
        conn.guest_nxt += len(payload)
        while len(arrived) < len(payload):
            got = conn.receive(uplink)
            assert got, f"{len(payload) - len(arrived)} bytes never came"
            size = 20 + len(got.options) + len(got.payload)
            assert got.check == wire.ones_sum(wire.pseudo_header(got.src, got.dst, size))
            assert got.seq == start + len(arrived)
            arrived += got.payload
            uplink.send(conn.from_peer(ack=start + len(arrived)).frame())
    assert arrived == payload
    poll(lambda: tcon.held_bytes() == 0, "nothing is held")


def measured_by_bbr(
    tcon: genl.Genl, guest: rigs.Tap, uplink: rigs.Tap, family: int, rtt_s: float
) -> Conn:
    """A connection whose round trip and rate BBR knows: ten segments in one."""
    tcon.set_rule("bbr", bridge="br1")
    conn = Conn(guest, uplink, family=family)
    conn.guest_sends(SYN)
    time.sleep(rtt_s)
    conn.peer_sends(SYN | ACK)
    conn.guest_sends()
    for _ in range(10):  # at once: these are not paced
        conn.guest_sends(ACK, bytes(MSS))
    time.sleep(rtt_s)
    conn.peer_sends()
    return conn


@pytest.mark.parametrize("every_ms", [1, 4])
def test_stream_does_not_lower_what_bbr_knows_of_the_path(
    rig: rigs.Rig, tcon: genl.Genl, every_ms: int
) -> None:
    """A queue of others stands, so that more is in flight than the stream's rate fills."""
    guest, uplink = rig.taps()
    conn = measured_by_bbr(tcon, guest, uplink, 4, 0.01)
    pacing_bps = rigs.find_flow(tcon, conn.sport)["pacing_bps"]
    waiting = []
    for n in range(1500 // every_ms):
        conn.guest_sends(PSH | ACK, bytes(500))
        waiting.append(conn.guest_nxt)
        if n >= 30 // every_ms:  # some are not given to a guest in its start
            uplink.send(conn.from_peer(ack=waiting.pop(0)).frame())
            discard(guest)
        time.sleep(every_ms / 1000)
    flow = rigs.find_flow(tcon, conn.sport)
    assert flow
    assert flow["srtt_us"] > 25_000
    assert flow["pacing_bps"] > 0.3 * pacing_bps, "BBR in STARTUP paces at 2.9 times the rate"


def super_packet(guest: rigs.Tap, conn: Conn, payload: bytes) -> Callable[[], None]:
    """A function that sends the guest's next data as one packet."""
    sent = conn.from_guest(PSH | ACK, payload, partial=True)
    gso = rigs.VNET_GSO_TCPV6 if ":" in conn.addresses[0] else rigs.VNET_GSO_TCPV4
    return lambda: guest.send(sent.frame(), sent.header_bytes(), MSS, gso)


@pytest.mark.parametrize("family", [4, 6])
def test_super_packet_is_split_into_smaller_ones(
    rig: rigs.Rig, tcon: genl.Genl, family: int
) -> None:
    """At 40 Mbit/s what leaves at once is more than a segment."""
    guest, uplink = rig.taps(TSO, TSO)
    conn = measured_by_bbr(tcon, guest, uplink, family, 0.008)
    payload = random.Random(2).randbytes(28 * MSS + 7)
    start = conn.guest_nxt
    send = super_packet(guest, conn, payload)
    with counted(tcon, gso_split=1):
        send()
        arrived, sizes = b"", []
        conn.guest_nxt = start + len(payload)
        while len(arrived) < len(payload):
            got = conn.receive(uplink)
            assert got, f"{len(payload) - len(arrived)} bytes never came"
            assert uplink.last_flags == rigs.VNET_NEEDS_CSUM
            size = 20 + len(got.options) + len(got.payload)
            assert got.check == wire.ones_sum(wire.pseudo_header(got.src, got.dst, size))
            assert uplink.last_gso_bytes == (MSS if len(got.payload) > MSS else 0)
            assert got.seq == start + len(arrived)
            arrived += got.payload
            sizes.append(len(got.payload))
            assert bool(got.flags & PSH) == (len(arrived) == len(payload))
            if len(sizes) >= 3:
                uplink.send(conn.from_peer(ack=start + len(arrived)).frame())
    assert arrived == payload
    assert set(sizes[:-1]) == {sizes[0]}, "pieces of one size, then the rest"
    assert MSS < sizes[0] < 10 * MSS
    assert sizes[0] % MSS == 0
    poll(lambda: tcon.held_bytes() == 0, "nothing is held")


def test_segments_larger_than_tcons_leave_as_they_are(rig: rigs.Rig, tcon: genl.Genl) -> None:
    """The guest's segments have 8948 bytes: its device takes more than its own MSS says."""
    guest, uplink = rig.taps(TSO, TSO)
    for dev in ("tg", "tu"):
        rigs.set_mtu(dev, 9000)
    tcon.set_rule("bbr", bridge="br1")
    conn = Conn(guest, uplink)
    conn.guest_sends(SYN)
    time.sleep(0.033)
    syn = conn.from_peer(SYN | ACK)
    conn.peer_sends(SYN | ACK, options=wire.opt_mss(8960) + syn.options[4:])
    conn.guest_sends()
    for _ in range(10):
        conn.guest_sends(ACK, bytes(MSS))
    time.sleep(0.033)
    conn.peer_sends()
    start, payload = conn.guest_nxt, random.Random(3).randbytes(8948 + 8000)
    sent = conn.from_guest(PSH | ACK, payload, partial=True)
    guest.send(sent.frame(), sent.header_bytes(), 8948, rigs.VNET_GSO_TCPV4)
    arrived = b""
    while len(arrived) < len(payload):
        got = conn.receive(uplink)
        assert got, f"{len(payload) - len(arrived)} bytes never came"
        assert got.seq == start + len(arrived)
        arrived += got.payload
    assert arrived == payload
    flow = rigs.find_flow(tcon, conn.sport)
    assert flow["nxt"] == start + len(payload), "and not what the guest has not sent"
    assert flow["held_bytes"] == 0


@pytest.mark.both
@pytest.mark.parametrize("family", [4, 6])
def test_super_packet_is_split_and_paced(rig: rigs.Rig, tcon: genl.Genl, family: int) -> None:
    guest, uplink = rig.taps(TSO)
    conn = measured_by_bbr(tcon, guest, uplink, family, 0.04)
    payload = random.Random(2).randbytes(28 * MSS + 7)
    start = conn.guest_nxt
    send = super_packet(guest, conn, payload)
    pacing_bps = rigs.find_flow(tcon, conn.sport)["pacing_bps"]
    with counted(tcon, gso_split=1):
        send()
        arrived, times = b"", []
        conn.guest_nxt = start + len(payload)
        while len(arrived) < len(payload):
            got = conn.receive(uplink)
            assert got, f"{len(payload) - len(arrived)} bytes never came"
            times.append(time.monotonic())
            assert got.sums_ok
            assert got.seq == start + len(arrived)
            assert len(got.payload) <= MSS
            arrived += got.payload
            assert bool(got.flags & PSH) == (len(arrived) == len(payload))
            if len(times) >= 9:  # the first nine at the first rate, before any ACK
                uplink.send(conn.from_peer(ack=start + len(arrived)).frame())
    assert arrived == payload
    assert times[8] - times[0] > 0.7 * 8 * MSS * 8 / pacing_bps, "a burst"
    poll(lambda: tcon.held_bytes() == 0, "nothing is held")


def tiny_segments(guest: rigs.Tap, conn: Conn, payload: bytes) -> Callable[[], None]:
    """The same, as segments of 8 bytes, each with an IP identifier that counts."""
    sent = conn.from_guest(PSH | ACK, payload, partial=True)
    frame = bytearray(sent.frame())
    frame[20:22], frame[24:26] = bytes(2), bytes(2)  # no DF, the sum anew
    frame[24:26] = struct.pack("!H", wire.ones_sum(bytes(frame[14:34])) ^ 0xFFFF)
    return lambda: guest.send(bytes(frame), sent.header_bytes(), 8, rigs.VNET_GSO_TCPV4)


def test_tiny_segments_count_as_what_they_are_on_the_wire(rig: rigs.Rig, tcon: genl.Genl) -> None:
    """Else a guest has the path carry eight times its rate."""
    guest, uplink = rig.taps(TSO, TSO)
    conn = measured_by_bbr(tcon, guest, uplink, 4, 0.04)
    pacing_bps = rigs.find_flow(tcon, conn.sport)["pacing_bps"]
    super_packet(guest, conn, bytes(4 * MSS))()
    conn.guest_nxt += 4 * MSS
    payload = random.Random(3).randbytes(8000)
    tiny_segments(guest, conn, payload)()
    start, arrived, times = conn.guest_nxt, b"", []
    while len(arrived) < len(payload):
        frame = uplink.recv(2)
        assert frame, f"{len(payload) - len(arrived)} bytes never came"
        got = wire.decode(frame)
        assert got
        if got.seq < start:
            continue
        assert got.seq == start + len(arrived)
        assert len(got.payload) <= 256 * 8
        if len(got.payload) > 8:
            assert uplink.last_gso_bytes == 8
        (identifier,) = struct.unpack_from("!H", frame, 18)
        assert identifier == 1 + len(arrived) // 8
        assert wire.ones_sum(frame[14:34]) == 0xFFFF
        arrived += got.payload
        times.append(time.monotonic())
    assert arrived == payload
    wire_s = (8000 + 1000 * 66) * 8 / pacing_bps
    assert times[-1] - times[0] > 0.2 * wire_s, (times[-1] - times[0], wire_s)


@pytest.mark.machine
def test_tiny_segments_let_others_run(rig: rigs.Rig, tcon: genl.Genl) -> None:
    """One packet of a guest is 7500 on the wire, which the kernel has to make."""
    guest, uplink = rig.taps(TSO)
    conn = measured_by_bbr(tcon, guest, uplink, 4, 0.04)
    super_packet(guest, conn, bytes(4 * MSS))()
    conn.guest_nxt += 4 * MSS
    tiny_segments(guest, conn, bytes(60000))()
    assert tcon.held_bytes()

    def acknowledge() -> None:
        end, last = time.monotonic() + 3, conn.guest_nxt
        while tcon.held_bytes() and time.monotonic() < end:
            while frame := uplink.recv(0):
                got = wire.decode(frame)
                assert got
                last = got.seq + len(got.payload)
            uplink.send(conn.from_peer(ack=last).frame())
            time.sleep(0.002)

    longest = rigs.longest_stretch_s(acknowledge)
    print(f"at most {longest * 1e6:.0f} us without a pause")
    assert not tcon.held_bytes()
    assert longest < 0.002


def test_what_occupies_the_path_for_more_than_3_ms_is_split(rig: rigs.Rig, tcon: genl.Genl) -> None:
    """Two segments of 1.2 ms leave as they come, of three the last by itself."""
    guest, uplink = rig.taps(TSO, TSO)
    conn = measured_by_bbr(tcon, guest, uplink, 4, 0.033)
    for segs, sizes in ((2, [2 * MSS]), (3, [2 * MSS, MSS])):
        flow = rigs.find_flow(tcon, conn.sport)
        assert flow
        segment_ms = 1e3 * MSS * 8 / flow["pacing_bps"]
        assert 1.05 < segment_ms < 1.3
        send = super_packet(guest, conn, bytes(segs * MSS))
        with counted(tcon, gso_split=segs - 2):
            send()
            for size in sizes:
                got = conn.receive(uplink)
                assert got
                assert len(got.payload) == size
                conn.guest_nxt += size
    poll(lambda: tcon.held_bytes() == 0, "nothing is held")


def test_clock_earns_nothing_where_the_guest_was_late(rig: rigs.Rig, tcon: genl.Genl) -> None:
    """A pause of the guest is not a delay of the clock, which may be made good."""
    guest, uplink = rig.taps()
    conn = measured_by_bbr(tcon, guest, uplink, 4, 0.066)
    flow = rigs.find_flow(tcon, conn.sport)
    assert flow
    segment_s = MSS * 8 / flow["pacing_bps"]
    frames = []
    for _ in range(3):
        frames.append(conn.from_guest(PSH | ACK, bytes(MSS)).frame())
        conn.guest_nxt += MSS
    times = []
    for together in (frames[:1], frames[1:]):
        for frame in together:
            guest.send(frame)
        for _ in together:
            assert conn.receive(uplink)
            times.append(time.monotonic())
        time.sleep(1.5 * segment_s)
    assert times[1] - times[0] > 1.5 * segment_s, "the second came late"
    assert times[2] - times[1] > 0.7 * segment_s, "half of its time was given away"


@pytest.mark.both
def test_unsplittable_super_packet_still_passes(rig: rigs.Rig, tcon: genl.Genl) -> None:
    """A checksum start that lies is the tap's own refusal, not TCon's."""
    guest, uplink = rig.taps(TSO)
    tcon.set_rule("cubic", bridge="br1")
    conn = Conn(guest, uplink).handshake()
    sent = conn.from_guest(PSH | ACK, bytes(4 * MSS), partial=True)
    with pytest.raises(OSError, match="Invalid argument"):
        guest.send(sent.frame(), 60000, MSS, rigs.VNET_GSO_TCPV4)
    conn.guest_sends(PSH | ACK, bytes(MSS))


# --- ports ------------------------------------------------------------------------


@pytest.mark.machine
def test_rebooted_guest_comes_back_on_a_new_port(rig: rigs.Rig, tcon: genl.Genl) -> None:
    rig.bridge("br1")
    uplink = rig.tap("tu")
    up = rig.port("br1", "tu", "UPLINK")
    tcon.set_rule("cubic", bridge="br1")
    for life in range(2):
        guest = rig.tap(f"life{life}")
        port = rig.port("br1", f"life{life}")
        rig.flows(
            "br1", f"in_port={port},actions=output:{up}", f"in_port={up},actions=output:{port}"
        )
        conn = Conn(guest, uplink, sport=1111, isn=(1000 + life * 7777, 5000 + life * 9999))
        conn.guest_sends(SYN)
        conn.peer_sends(SYN | ACK, window=8000)
        conn.guest_sends()
        assert state(tcon, 1111, f"life{life}") == ENFORCED_CUBIC
        conn.guest_sends(PSH | ACK, bytes(MSS))
        assert conn.peer_sends(window=BIG).window < BIG
        rigs.run("ovs-vsctl", "del-port", f"life{life}")
        poll(lambda: not rigs.find_flow(tcon, 1111), "its flows go with the port")
        guest.close()


@pytest.mark.machine
def test_roles(rig: rigs.Rig, tcon: genl.Genl) -> None:
    """Internal ports are never a guest's; uplinks are not looked at."""
    guest, uplink = rig.taps()
    roles = {p["ifname"]: (p["role"], p["why"]) for p in tcon.ports()}
    value = genl.E
    assert roles["br1"] == (value["TCON_ROLE_NEVER"], value["TCON_WHY_INTERNAL"])
    assert roles["tg"] == (value["TCON_ROLE_GUEST"], value["TCON_WHY_VIRTUAL"])
    assert roles["tu"] == (value["TCON_ROLE_UPLINK"], value["TCON_WHY_CONFIGURED"])
    conn = Conn(guest, uplink).handshake()
    assert [f["ifname"] for f in tcon.flows() if f["sport"] == conn.sport] == ["tg"]


@pytest.mark.machine
@pytest.mark.parametrize("port", ["made0", "made0.7"])
def test_roles_of_devices_that_are_made_later(rig: rigs.Rig, tcon: genl.Genl, port: str) -> None:
    """An uplink while hardware is below: of a device that gets members, and one that stands on it.

    At boot a bond is a port mostly before it has members.  Else its flows are what the world sends.
    """
    guest, uplink = (genl.E["TCON_ROLE_GUEST"], genl.E["TCON_WHY_VIRTUAL"]), (
        genl.E["TCON_ROLE_UPLINK"], genl.E["TCON_WHY_PHYSICAL"])  # fmt: skip

    def role() -> tuple[int, int]:
        return next((p["role"], p["why"]) for p in tcon.ports() if p["ifname"] == port)

    rigs.run("insmod", "/lab/nic/tcon_nic.ko")
    try:
        rigs.ip("link add made0 type bridge", "link set made0 up")
        rig.devices.append("made0")
        if port != "made0":
            rigs.ip(f"link add link made0 name {port} type vlan id 7", f"link set {port} up")
        rig.bridge("br1")
        rig.port("br1", port)
        tcon.set_rule("cubic", bridge="br1")
        assert role() == guest
        rigs.ip("link set nic0 master made0")
        assert role() == uplink
        rigs.ip("link set nic0 nomaster")
        assert role() == guest
    finally:
        rigs.unload("tcon_nic")


def test_port_that_is_no_guest_any_more(rig: rigs.Rig, tcon: genl.Genl) -> None:
    """Its packets are not seen; nobody should think that they obey."""
    guest, uplink = rig.taps()
    tcon.set_rule("cubic", bridge="br1")
    conn = Conn(guest, uplink).handshake()
    assert state(tcon, conn.sport) == ENFORCED_CUBIC
    rig.tell("br1", "tg", 1, "UPLINK")
    assert state(tcon, conn.sport) == ("observed", "no-rule", "none")


@pytest.mark.machine
def test_device_without_link_layer_headers_is_no_guest(rig: rigs.Rig, tcon: genl.Genl) -> None:
    """The first bytes of its packets are not addresses, and no type follows."""
    rigs.ip("tuntap add tun9 mode tun")
    rig.devices.append("tun9")
    rigs.ip("link set tun9 up")
    rig.bridge("br1")
    rig.port("br1", "tun9", "GUEST")
    (role,) = [(p["role"], p["why"]) for p in tcon.ports() if p["ifname"] == "tun9"]
    assert role == (genl.E["TCON_ROLE_NEVER"], genl.E["TCON_WHY_TUNNEL"])


@pytest.mark.both
def test_two_guests_are_two_half_flows(rig: rigs.Rig, tcon: genl.Genl) -> None:
    """Same addresses on both ports' keys, each seen from its own end."""
    rig.bridge("br1")
    a, b = rig.tap("ga"), rig.tap("gb")
    n, m = rig.port("br1", "ga"), rig.port("br1", "gb")
    rig.flows("br1", f"in_port={n},actions=output:{m}", f"in_port={m},actions=output:{n}")
    tcon.set_rule("cubic", bridge="br1")
    conn = Conn(a, b)
    conn.guest_sends(SYN, window=8000)
    conn.peer_sends(SYN | ACK, window=8000)
    conn.guest_sends(window=60)
    assert state(tcon, conn.sport, "ga") == ENFORCED_CUBIC
    assert state(tcon, conn.dport, "gb") == ENFORCED_CUBIC
    conn.guest_sends(PSH | ACK, bytes(MSS), window=60)
    assert conn.peer_sends(PSH | ACK, bytes(MSS), window=BIG).window < BIG
    assert conn.guest_sends(window=BIG).window < BIG
