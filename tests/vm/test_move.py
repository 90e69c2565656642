# SPDX-License-Identifier: GPL-2.0-only
"""Guests that move: their flows go on at another port as they were, or are only observed.

A port stands for a host: a scripted guest moves from p1 to p2.
"""

from __future__ import annotations

import errno
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import genl
import pytest
import rig as rigs
import wire
from genl import E
from rig import Conn, counted, state
from wire import ACK, PSH, RST, SYN

pytestmark = pytest.mark.script
MSS = 1448
RECORD_BYTES = 168
NOT_ECT, CE = 0, 3


@dataclass
class Hosts:
    """Ports p1 and p2, an end behind each, and the end behind the uplink of both."""

    rig: rigs.Rig
    here: rigs.RawEnd
    there: rigs.RawEnd
    peer: rigs.RawEnd

    def lead(self, number: int) -> None:
        """Packets go between the uplink and this port, and to and from no other."""
        self.rig.flows("br0", f"in_port={number},actions=output:2",
                       f"in_port=2,actions=output:{number}")  # fmt: skip


@pytest.fixture(scope="module")
def both(machine: None) -> Iterator[Hosts]:
    made = rigs.Rig()
    try:
        here, peer = made.scripted()
        made.namespace("g2")
        made.veth("p2", "g2-e", "g2")
        assert made.port("br0", "p2") == 3
        yield Hosts(made, here, made.raw("g2-e", "g2"), peer)
    finally:
        made.close()


@pytest.fixture
def two(both: Hosts) -> Hosts:
    """The guest is at p1."""
    both.lead(1)
    return both


def port(ifname: str) -> bytes:
    ifindex = genl.u32(E["TCON_PORT_A_IFINDEX"], rigs.Genl.ifindex(ifname))
    return genl.nest(E["TCON_A_PORT"], ifindex)


def records(tcon: genl.Genl, ifname: str = "p1") -> list[bytes]:
    found = [dict(genl.parse(raw)) for raw in tcon.dump("GET_STATE", port(ifname))]
    return [attrs[E["TCON_A_STATE"]] for attrs in found]


def record_of(tcon: genl.Genl, conn: Conn, ifname: str = "p1") -> bytes:
    """The record of one connection."""
    ports = struct.pack("!HH", conn.sport, conn.dport)
    (found,) = [r for r in records(tcon, ifname) if r[16:20] == ports]
    assert len(found) == RECORD_BYTES
    return found


def bring(tcon: genl.Genl, record: bytes, *more: bytes, ifname: str = "p2") -> None:
    tcon.do("SET_STATE", port(ifname), genl.attr(E["TCON_A_STATE"], record), *more)


def moved(two: Hosts, tcon: genl.Genl, conn: Conn, *, tell: bool = True) -> Conn:
    """The guest is at p2 now, which is told of it.  p1's repeats lead nowhere."""
    two.lead(3)
    record = record_of(tcon, conn)
    if tell:
        bring(tcon, record)
        assert state(tcon, conn.sport, "p2") == ("observed", "moved", "none")
    conn.guest = two.there
    while conn.receive(two.peer, 0):
        pass
    return conn


def sending(two: Hosts, **options: object) -> Conn:
    """A connection with two segments in flight."""
    conn = Conn(two.here, two.peer, **options).handshake()
    conn.guest_sends(PSH | ACK, bytes(MSS))
    conn.peer_sends()
    for _ in range(2):
        conn.guest_sends(PSH | ACK, bytes(MSS))
    return conn


# --- a scripted guest ---------------------------------------------------------------


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("vlans", [(), (10, 20)], ids=["untagged", "two-tags"])
@pytest.mark.parametrize("ts", [True, False], ids=["ts", "no-ts"])
def test_flow_goes_on(
    two: Hosts, tcon: genl.Genl, family: int, vlans: tuple[int, ...], ts: bool
) -> None:
    """Observed until the guest sends; enforced then; repaired when what was in flight is acked."""
    tcon.set_rule("cubic")
    conn = sending(two, family=family, vlans=vlans, ts=ts)
    before = rigs.find_flow(tcon, conn.sport, "p1")
    with counted(tcon, moved_in=1, moved_unlike=0):
        moved(two, tcon, conn)
        conn.peer_sends(ack=conn.guest_nxt - MSS)
        assert state(tcon, conn.sport, "p2") == ("observed", "moved", "none")
        conn.guest_sends(PSH | ACK, bytes(MSS))
    assert state(tcon, conn.sport, "p2") == ("window-enforced", "in-flight", "cubic")
    flow = rigs.find_flow(tcon, conn.sport, "p2")
    assert before
    assert flow
    for same in ("cwnd_bytes", "min_rtt_us", "mss_bytes", "srtt_us"):
        assert flow[same] == before[same], same
    assert flow["inflight_bytes"] == 2 * MSS
    got = conn.peer_sends()
    assert got.window << 7 < conn.window << 7  # it is written, by the peer's scale
    assert state(tcon, conn.sport, "p2") == ("repair-enforced", "none", "cubic")


@pytest.mark.both
def test_guest_that_was_saved(two: Hosts, tcon: genl.Genl) -> None:
    """It is restored later, and repeats what the peer has: no round trip, no time-out of its CC."""
    tcon.set_rule("cubic")
    conn = sending(two)
    before = rigs.find_flow(tcon, conn.sport, "p1")
    record = record_of(tcon, conn)
    two.lead(3)
    time.sleep(20)
    bring(tcon, record)
    conn.guest = two.there
    while conn.receive(two.peer, 0):
        pass
    conn.guest_sends(PSH | ACK, bytes(MSS), seq=(conn.guest_nxt - 2 * MSS) % 2**32)
    assert state(tcon, conn.sport, "p2") == ("window-enforced", "in-flight", "cubic")
    conn.peer_sends()
    flow = rigs.find_flow(tcon, conn.sport, "p2")
    assert before
    assert flow
    for same in ("cwnd_bytes", "min_rtt_us"):
        assert flow[same] == before[same], same
    assert flow["srtt_us"] < 1_000_000  # of 20 s, taken for a round trip, it would have an eighth
    conn.guest_sends(PSH | ACK, bytes(MSS))
    conn.peer_sends()
    assert state(tcon, conn.sport, "p2") == ("repair-enforced", "none", "cubic")


def test_window_of_the_scale_that_was_agreed_on(two: Hosts, tcon: genl.Genl) -> None:
    tcon.set_rule("cubic")
    conn = moved(two, tcon, sending(two, scales=(3, 9)))
    conn.guest_sends()
    got = conn.peer_sends()
    flow = rigs.find_flow(tcon, conn.sport, "p2")
    assert flow
    assert flow["peer_rwnd_bytes"] == conn.window << 9
    assert flow["rwnd_bytes"] == got.window << 9 < conn.window << 9


@pytest.mark.parametrize("cc", ["cubic", "reno"])
def test_same_cc_goes_on_another_starts_anew(two: Hosts, tcon: genl.Genl, cc: str) -> None:
    tcon.set_rule("cubic")
    conn = sending(two)
    conn.peer_sends()
    for _ in range(10):  # all of cwnd, which therefore grows
        conn.guest_sends(PSH | ACK, bytes(MSS))
    conn.peer_sends()
    before = rigs.find_flow(tcon, conn.sport, "p1")
    moved(two, tcon, conn)
    tcon.set_rule(cc)
    conn.guest_sends()
    after = rigs.find_flow(tcon, conn.sport, "p2")
    assert before
    assert after
    assert after["cc"] == cc
    assert before["cwnd_bytes"] > 12 * MSS
    assert after["cwnd_bytes"] == (before["cwnd_bytes"] if cc == "cubic" else 10 * MSS)
    assert after["min_rtt_us"] == before["min_rtt_us"]


def test_not_told(two: Hosts, tcon: genl.Genl) -> None:
    tcon.set_rule("cubic")
    conn = moved(two, tcon, sending(two), tell=False)
    record = record_of(tcon, conn)
    conn.guest_sends(PSH | ACK, bytes(MSS))
    assert state(tcon, conn.sport, "p2") == ("observed", "mid-stream", "none")
    bring(tcon, record)  # late, but not too late
    assert state(tcon, conn.sport, "p2") == ("observed", "moved", "none")
    conn.guest_sends(PSH | ACK, bytes(MSS))
    assert state(tcon, conn.sport, "p2")[0] != "observed"


def passes_unseen(conn: Conn, tcon: genl.Genl) -> bool:
    flow = rigs.find_flow(tcon, conn.sport, "p1")
    return flow is not None and flow["una"] == conn.isn[0] + 1


@pytest.mark.both
@pytest.mark.parametrize("rule_at", ["there", "neither"])
def test_from_a_port_at_rest(two: Hosts, tcon: genl.Genl, rule_at: str) -> None:
    """A rule of the other host takes over what began without one; so does a later rule."""
    rigs.set_parameter("observe", 0)
    rigs.poll(lambda: passes_unseen(sending(two), tcon), "the port rests", 10, 0.5)
    conn = sending(two)
    if rule_at == "there":
        tcon.set_rule("cubic", genl.text(E["TCON_MATCH_A_IFNAME"], "p2"))
    conn = moved(two, tcon, conn, tell=False)
    bring(tcon, record_of(tcon, conn))
    if rule_at == "neither":
        assert state(tcon, conn.sport, "p2") == ("observed", "no-rule", "none")
        conn.guest_sends(PSH | ACK, bytes(MSS))
        tcon.set_rule("cubic")
    assert state(tcon, conn.sport, "p2") == ("observed", "resuming", "none")
    conn.peer_sends(ack=conn.guest_nxt - MSS)
    conn.guest_sends(PSH | ACK, bytes(MSS))
    assert state(tcon, conn.sport, "p2") == ("window-enforced", "in-flight", "cubic")
    conn.peer_sends()
    conn.guest_sends(PSH | ACK, bytes(MSS))
    assert conn.peer_sends().window < conn.window
    assert state(tcon, conn.sport, "p2") == ("repair-enforced", "none", "cubic")


UNLIKE: dict[str, Callable[[Conn], dict[str, object]]] = {
    "before una": lambda conn: {"seq": conn.isn[0]},
    "beyond the window": lambda conn: {"seq": conn.isn[0] + 0x50000000},
    "before what it acknowledged": lambda conn: {"ack": conn.isn[1]},
    "beyond its own window": lambda conn: {"ack": conn.isn[1] + 0x50000000},
    "other options": lambda conn: {"options": b""},
}


@pytest.mark.parametrize("what", UNLIKE)
def test_guest_that_is_another(two: Hosts, tcon: genl.Genl, what: str) -> None:
    tcon.set_rule("cubic")
    conn = moved(two, tcon, sending(two))
    with counted(tcon, moved_in=0, moved_unlike=1):
        conn.guest_sends(PSH | ACK, bytes(100), **UNLIKE[what](conn))
    assert state(tcon, conn.sport, "p2") == ("observed", "mid-stream", "none")
    assert conn.peer_sends().window == conn.window


def test_what_acknowledges_nothing_shows_nothing(two: Hosts, tcon: genl.Genl) -> None:
    """Each segment of a connection has ACK, except for the later fragments of one."""
    tcon.set_rule("cubic")
    conn = moved(two, tcon, sending(two))
    with counted(tcon, moved_in=0, moved_unlike=0):
        conn.guest_sends(PSH, bytes(MSS))
    assert state(tcon, conn.sport, "p2") == ("observed", "moved", "none")
    with counted(tcon, moved_in=1, moved_unlike=0):
        conn.guest_sends(PSH | ACK, bytes(MSS))


def test_of_what_acknowledges_nothing_only_a_little_passes(two: Hosts, tcon: genl.Genl) -> None:
    tcon.set_rule("cubic")
    conn = moved(two, tcon, sending(two))
    with counted(tcon, moved_in=0, moved_unlike=1):
        for _ in range(10):
            conn.guest_sends(PSH, bytes(MSS))
        assert state(tcon, conn.sport, "p2") == ("observed", "moved", "none")
        conn.guest_sends(PSH, bytes(MSS))
    assert state(tcon, conn.sport, "p2")[1] != "moved"


def test_new_connection(two: Hosts, tcon: genl.Genl) -> None:
    """A SYN begins another one, whatever was told."""
    tcon.set_rule("cubic")
    conn = moved(two, tcon, sending(two))
    conn.restart(9_000_000, 4_000_000)
    with counted(tcon, moved_in=0, moved_unlike=0):
        conn.handshake()
    assert state(tcon, conn.sport, "p2") == ("repair-enforced", "none", "cubic")


def test_told_twice_and_of_what_is_known(two: Hosts, tcon: genl.Genl) -> None:
    tcon.set_rule("cubic")
    conn = moved(two, tcon, sending(two))
    record = record_of(tcon, conn)
    bring(tcon, record)
    assert record_of(tcon, conn, "p2") == record  # it may move on before it has sent
    conn.guest_sends()
    conn.peer_sends()
    before = rigs.find_flow(tcon, conn.sport, "p2")
    bring(tcon, record)
    after = rigs.find_flow(tcon, conn.sport, "p2")
    assert before
    assert after
    assert {k: v for k, v in after.items() if not k.endswith("_ms")} == {
        k: v for k, v in before.items() if not k.endswith("_ms")
    }


def test_what_cannot_move(two: Hosts, tcon: genl.Genl) -> None:
    tcon.set_rule("cubic")
    before = len(records(tcon))
    half = Conn(two.here, two.peer)
    half.guest_sends(SYN)
    middle = Conn(two.here, two.peer)
    middle.guest_sends(PSH | ACK, bytes(100))
    ended = Conn(two.here, two.peer).handshake()
    ended.guest_sends(RST)
    assert len(records(tcon)) == before
    Conn(two.here, two.peer).handshake()
    assert len(records(tcon)) == before + 1


def test_promise_of_ecn_is_kept(two: Hosts, tcon: genl.Genl) -> None:
    """TCon has agreed to ECN for the guest: the next host hides marks and echoes them."""
    tcon.set_rule("dctcp")
    conn = Conn(two.here, two.peer)
    offer = b"\xfe\x04\x54\xce"
    conn.clock += 1
    options = offer + conn.from_guest(SYN).options
    conn.clock -= 1
    conn.guest_sends(SYN, becomes={"flags": SYN | wire.ECE | wire.CWR, "options": options})
    conn.peer_sends(SYN | ACK | wire.ECE, becomes={"flags": SYN | ACK})
    conn.guest_sends()
    moved(two, tcon, conn)
    conn.peer_sends(PSH | ACK, bytes(100), tos=CE, becomes={"tos": NOT_ECT})
    conn.guest_sends(becomes={"flags": ACK | wire.ECE, "tos": 2})
    flow = rigs.find_flow(tcon, conn.sport, "p2")
    assert flow
    assert genl.ECN_MODES[flow["ecn"]] == "coarse"


# --- what is refused ----------------------------------------------------------------


def patched(record: bytes, at: int, value: bytes) -> bytes:
    return record[:at] + value + record[at + len(value) :]


BAD: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda r: b"", "cut off"),
    "cut": (lambda r: r[:-1], "wrong length"),
    "version": (lambda r: patched(r, 0, b"\0\2"), "another version"),
    "length": (lambda r: patched(r, 2, b"\0\xa9"), "wrong length"),
    "flags": (lambda r: patched(r, 4, b"\xff"), "does not know"),
    "family": (lambda r: patched(r, 8, b"\x05"), "address family"),
    "scale": (lambda r: patched(r, 9, b"\x0f"), "window scale"),
    "una": (lambda r: patched(r, 64, b"\xaa\xaa\xaa\xaa"), "sequence numbers of the guest"),
    "cwnd": (lambda r: patched(r, 112, b"\xff"), "cwnd or rate"),
    "name": (lambda r: patched(r, 136, b"\xff"), "name of a CC"),
}


@pytest.mark.parametrize("what", BAD)
@pytest.mark.parametrize("check", [False, True], ids=["set", "check"])
def test_refused_records(two: Hosts, tcon: genl.Genl, what: str, check: bool) -> None:
    conn = sending(two)
    change, sentence = BAD[what]
    record = change(record_of(tcon, conn))
    flags = [genl.attr(E["TCON_A_CHECK"], b"")] if check else []
    before = tcon.info("FLOWS")
    with pytest.raises(genl.Refused) as caught:
        bring(tcon, record, *flags)
    assert caught.value.errno == errno.EINVAL
    assert sentence in caught.value.message
    assert tcon.info("FLOWS") == before


def test_refused_requests(two: Hosts, tcon: genl.Genl) -> None:
    conn = sending(two)
    record = record_of(tcon, conn)
    given = genl.attr(E["TCON_A_STATE"], record)
    nothing = genl.nest(E["TCON_A_PORT"])
    nobody = genl.nest(E["TCON_A_PORT"], genl.u32(E["TCON_PORT_A_IFINDEX"], 99999))
    for attrs, number, sentence in (
        ([given], errno.EINVAL, "a port must be named"),
        ([nothing, given], errno.EINVAL, "named by its ifindex"),
        ([nobody, given], errno.ENODEV, "no kernel datapath has a port"),
        ([port("up0"), given], errno.ENODEV, "not a guest's"),
        (
            [port("up0"), genl.attr(E["TCON_A_STATE"], patched(record, 8, b"\x05"))],
            errno.EINVAL,
            "address family",
        ),
        ([port("p2")], errno.EINVAL, "a state must be given"),
        ([port("p2"), genl.attr(E["TCON_A_STATE"], record + b"x")], errno.ERANGE, ""),
    ):
        with pytest.raises(genl.Refused) as caught:
            tcon.do("SET_STATE", *attrs)
        assert caught.value.errno == number, attrs
        assert sentence in caught.value.message
    for attrs in ([], [nothing], [nobody], [port("up0")]):
        with pytest.raises(genl.Refused):
            tcon.dump("GET_STATE", *attrs)
    bring(tcon, record, genl.attr(E["TCON_A_CHECK"], b""))
    assert rigs.find_flow(tcon, conn.sport, "p2") is None


@pytest.mark.machine
def test_nobody_may(two: Hosts, tcon: genl.Genl) -> None:
    conn = sending(two)
    record = record_of(tcon, conn)
    assert rigs.as_nobody(lambda c: bring(c, record)) == "EPERM"
    assert rigs.as_nobody(lambda c: records(c)) == "EPERM"
    assert rigs.find_flow(tcon, conn.sport, "p2") is None


def test_no_room(two: Hosts, tcon: genl.Genl) -> None:
    conn = sending(two)
    record = record_of(tcon, conn)
    with rigs.parameters(max_flows_per_port=0), pytest.raises(genl.Refused) as caught:
        bring(tcon, record)
    assert caught.value.errno == errno.ENOSPC
    assert "no room" in caught.value.message
