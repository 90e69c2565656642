# SPDX-License-Identifier: GPL-2.0-only
"""Ports at rest: no rule can match, and data passes unseen until one can."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median

import genl
import pytest
import rig as rigs
from rig import Conn, counted, find_flow, poll, state
from test_move import bring, patched, record_of
from wire import ACK, FIN, PSH, RST, SYN

pytestmark = pytest.mark.script
MSS = 1448
Ends = tuple[rigs.RawEnd, rigs.RawEnd]
RESUMING = ("observed", "resuming", "none")
ENFORCED = ("repair-enforced", "none", "cubic")
#: Segments that pass without telling where their flow is (TCON_INIT_CWND_SEGS).
PATIENCE = 10
#: After a second without a packet, when it is next looked at.
SLEEPS_S = 3.0
#: Flags of a record (uapi/linux/tcon.h): TCon has agreed to ECN for the guest.
ECN_AGREED_ASKED = 0x10 | 0x40
#: Virtual time of an instruction (the lab's --shift).
NS_PER_INSTRUCTION = 1


def transfer(conn: Conn, segments: int = 1) -> None:
    """The guest sends, and the peer acknowledges each segment."""
    for _ in range(segments):
        conn.guest_sends(PSH | ACK, bytes(MSS))
        conn.peer_sends()


def is_seen(conn: Conn, tcon: genl.Genl) -> bool:
    """Does TCon take note of data?"""
    transfer(conn)
    flow = find_flow(tcon, conn.sport)
    assert flow
    return flow["una"] == conn.guest_nxt % 2**32


@pytest.fixture(params=["awake", "asleep"])
def resting(ends: Ends, tcon: genl.Genl, request: pytest.FixtureRequest) -> Iterator[Conn]:
    """A connection that began at a port at rest, and perhaps sleeps since."""
    with rigs.parameters(observe=0):
        probe = Conn(*ends).handshake()
        poll(lambda: not is_seen(probe, tcon), "the port rests", 10, 0.5)
        slept = tcon.counters()["flow-slept"]
        conn = Conn(*ends).handshake()
        if request.param == "asleep":
            time.sleep(SLEEPS_S)
            assert tcon.counters()["flow-slept"] > slept
        yield conn


@pytest.mark.both
def test_data_passes_unseen(resting: Conn, tcon: genl.Genl) -> None:
    transfer(resting, 5)
    flow = find_flow(tcon, resting.sport)
    assert flow
    assert flow["una"] == resting.isn[0] + 1
    assert genl.REASONS[flow["reason"]] == "no-rule"


def test_a_rule_takes_over_what_runs(resting: Conn, tcon: genl.Genl) -> None:
    """It does from the next ACK on, with the flight; the beginning was seen."""
    transfer(resting, 30)
    tcon.set_rule("cubic")
    assert state(tcon, resting.sport) == RESUMING
    for _ in range(5):
        resting.guest_sends(PSH | ACK, bytes(MSS))
    resting.peer_sends(ack=(resting.guest_nxt - 4 * MSS) % 2**32)
    resting.guest_sends(PSH | ACK, bytes(MSS))
    assert state(tcon, resting.sport) == ("window-enforced", "in-flight", "cubic")
    flow = find_flow(tcon, resting.sport)
    assert flow
    assert flow["inflight_bytes"] == 5 * MSS
    resting.peer_sends()
    resting.peer_sends()
    transfer(resting)
    assert state(tcon, resting.sport) == ENFORCED


@pytest.mark.both
@pytest.mark.parametrize("sends", ["data", "keep-alive"])
def test_a_silent_connection_is_taken_over(resting: Conn, tcon: genl.Genl, sends: str) -> None:
    transfer(resting, 3)
    tcon.set_rule("cubic")
    if sends == "keep-alive":
        resting.guest_sends(ACK, b"", seq=(resting.guest_nxt - 1) % 2**32)
        resting.peer_sends()
        resting.guest_sends(ACK, b"", seq=(resting.guest_nxt - 1) % 2**32)
        resting.peer_sends()
    transfer(resting, 3)
    assert state(tcon, resting.sport) == ENFORCED


def test_a_repeat_comes_first(resting: Conn, tcon: genl.Genl) -> None:
    """More is in flight than the guest's first segment tells: the peer is believed."""
    transfer(resting)
    head = resting.guest_nxt
    for _ in range(6):
        resting.guest_sends(PSH | ACK, bytes(MSS))
    tcon.set_rule("cubic")
    resting.peer_sends(ack=head % 2**32)
    resting.guest_sends(PSH | ACK, bytes(MSS), seq=head % 2**32)
    resting.peer_sends()
    transfer(resting, 3)
    assert state(tcon, resting.sport) == ENFORCED


def test_nobody_sends_for_long_before_it_is_taken_over(resting: Conn, tcon: genl.Genl) -> None:
    """A guest whose peer says nothing is held to cwnd after some segments."""
    tcon.set_rule("cubic")
    for _ in range(11):
        resting.guest_sends(PSH | ACK, bytes(MSS))
    assert state(tcon, resting.sport)[0] != "observed"


def test_what_acknowledges_nothing_tells_nothing(resting: Conn, tcon: genl.Genl) -> None:
    """Each segment of a connection has ACK.  One without, as a later fragment, is no beginning."""
    transfer(resting, 30)
    tcon.set_rule("cubic")
    resting.peer_sends()
    resting.guest_sends(PSH, bytes(MSS))
    assert state(tcon, resting.sport) == RESUMING
    resting.peer_sends()
    transfer(resting, 3)
    assert state(tcon, resting.sport) == ENFORCED


def test_of_what_acknowledges_nothing_only_a_little_passes(resting: Conn, tcon: genl.Genl) -> None:
    """Or a guest with a peer that takes it would be under no rule."""
    transfer(resting, 30)
    tcon.set_rule("cubic")
    resting.peer_sends()
    for _ in range(PATIENCE):
        resting.guest_sends(PSH, bytes(MSS))
    assert state(tcon, resting.sport) == RESUMING
    resting.guest.send(resting.from_guest(PSH, bytes(MSS)).frame())
    poll(lambda: state(tcon, resting.sport) != RESUMING, "it is seen", 5, 0.1)


def test_ack_of_what_waits_has_a_time_stamp_of_the_guest(resting: Conn, tcon: genl.Genl) -> None:
    """No time stamp in flight is known.  With 0 the peer would discard all that follows."""
    transfer(resting)
    resting.clock = 0x90000000
    head = resting.guest_nxt
    for _ in range(20):
        resting.guest_sends(PSH | ACK, bytes(MSS))
    tcon.set_rule("cubic")
    resting.peer_sends(ack=head % 2**32)
    with counted(tcon, held=2, pure_ack=1):
        resting.guest.send(resting.from_guest(PSH | ACK, bytes(MSS)).frame())
        resting.guest_nxt += MSS
        resting.peer_nxt += 2 * MSS
        resting.guest_sends()
        resting.peer_nxt += 2 * MSS
        resting.guest.send(resting.from_guest(PSH | ACK, bytes(MSS)).frame())
        got = resting.receive(resting.peer)
    assert got
    assert (got.ack, got.payload) == (resting.peer_nxt, b"")
    assert 0 <= resting.clock - got.timestamps()[0] <= 2


def test_promise_that_was_for_another_keeps_no_port_awake(resting: Conn, tcon: genl.Genl) -> None:
    """A connection was brought, with ECN that TCon keeps; but the guest's is another."""
    tcon.set_rule("cubic")
    transfer(resting, 3)
    brought = Conn(resting.guest, resting.peer)
    record = record_of(tcon, resting)
    flags = int.from_bytes(record[4:8], "big") | ECN_AGREED_ASKED
    record = patched(record, 4, flags.to_bytes(4, "big"))
    bring(tcon, patched(record, 16, brought.sport.to_bytes(2, "big")), ifname="p1")
    with counted(tcon, moved_in=0, moved_unlike=1):
        brought.guest_sends(PSH | ACK, bytes(100), seq=0x50000000)
    tcon.del_rules()
    poll(lambda: not is_seen(resting, tcon), "the port rests", 10, 0.5)


@pytest.mark.parametrize("end", ["fin", "rst"])
def test_the_end_is_seen(resting: Conn, tcon: genl.Genl, end: str) -> None:
    transfer(resting)
    if end == "fin":
        resting.guest_sends(FIN | ACK)
        resting.peer_sends(FIN | ACK)
        resting.guest_sends()
    else:
        resting.peer_sends(RST | ACK)
    poll(lambda: not find_flow(tcon, resting.sport), "the flow is collected", 15, 1.0)


def test_a_new_connection_with_the_same_ports(resting: Conn, tcon: genl.Genl) -> None:
    transfer(resting)
    tcon.set_rule("cubic")
    resting.restart(50_000_000, 60_000_000)
    resting.handshake()
    transfer(resting)
    assert state(tcon, resting.sport)[2] == "cubic"


def test_many_servers_connections_are_kept(resting: Conn, ends: Ends, tcon: genl.Genl) -> None:
    """That they are confirmed passes unseen: an answer has to do."""
    with rigs.parameters(max_embryos=4), counted(tcon, embryo_evicted=0):
        served = [Conn(*ends) for _ in range(12)]
        for conn in served:
            conn.peer_sends(SYN, ack=0)
            conn.guest_sends(SYN | ACK)
            conn.peer_sends()
    tcon.set_rule("cubic")
    transfer(served[0], 3)
    assert state(tcon, served[0].sport) == ENFORCED


def test_a_port_rests_again(resting: Conn, tcon: genl.Genl) -> None:
    """When its last rule has gone; a rule for another port does not wake it."""
    tcon.set_rule("cubic")
    transfer(resting, 3)
    assert is_seen(resting, tcon)
    tcon.del_rules()
    poll(lambda: not is_seen(resting, tcon), "the port rests", 10, 0.5)
    tcon.set_rule("cubic", genl.u32(genl.E["TCON_MATCH_A_OFPORT"], 999))
    assert not is_seen(resting, tcon)
    tcon.set_rule("none")
    transfer(resting, 3)
    assert is_seen(resting, tcon)


def test_who_wants_to_observe_can(resting: Conn, tcon: genl.Genl) -> None:
    with rigs.parameters(observe=1):
        poll(lambda: is_seen(resting, tcon), "the port is awake", 10, 0.5)


def cost_ns(guest: rigs.RawEnd, peer: rigs.RawEnd, conn: Conn) -> tuple[float, float]:
    """The time of a data segment and of an ACK through the datapath, virtual."""
    spent: dict[str, list[int]] = {"data": [], "ack": []}
    data, ack = conn.from_guest(PSH | ACK, bytes(MSS)).frame(), conn.from_peer().frame()
    for _ in range(300):
        for name, end, frame in (("data", guest, data), ("ack", peer, ack)):
            start = time.perf_counter_ns()
            end.send(frame)
            spent[name].append(time.perf_counter_ns() - start)
    return median(spent["data"]), median(spent["ack"])


@pytest.mark.machine
def test_it_costs_nearly_nothing(resting: Conn, ends: Ends, tcon: genl.Genl) -> None:
    """Against a port that is no guest's, whose packets TCon does not see."""
    if rigs.DEBUG_KERNEL or rigs.ATTACH == "netfilter":
        pytest.skip("of the patched openvswitch.ko, where time is instructions")
    transfer(resting)
    rests = cost_ns(*ends, resting)
    port = next(p for p in tcon.ports() if p["ifname"] == "p1")
    tcon.set_port("p1", ofport=port["ofport"], role="UPLINK")
    try:
        other = cost_ns(*ends, resting)
    finally:
        tcon.set_port("p1", ofport=port["ofport"], role="AUTO")
    more = [(a - b) / NS_PER_INSTRUCTION for a, b in zip(rests, other, strict=True)]
    print(f"instructions more for data and ACK: {more}")
    assert all(n <= 60 for n in more), more
