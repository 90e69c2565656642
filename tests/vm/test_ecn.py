# SPDX-License-Identifier: GPL-2.0-only
"""ECN on the guest's behalf: the changes of each packet.

Conn.guest_sends() and Conn.peer_sends() assert that nothing changes but the window
and what ``becomes`` names, and that checksums are right.
"""

from __future__ import annotations

import itertools
import random
import struct

import genl
import pytest
import rig as rigs
import wire
from rig import TSO, Conn, ack_of_what_waits, counted
from wire import ACK, CWR, ECE, FIN, PSH, RST, SYN

pytestmark = pytest.mark.script
Ends = tuple[rigs.RawEnd, rigs.RawEnd]

MSS = 1448
NOT_ECT, ECT1, ECT0, CE = range(4)
OFFER = b"\xfe\x04\x54\xce"
DSCP = 0xB8  # of what the scripts send: it must stay


def count(ce_bytes: int) -> bytes:
    """The option with which a TCon returns a count of marked bytes."""
    return b"\xfe\x08\x54\xce" + struct.pack("!I", ce_bytes)


def mode(tcon: genl.Genl, conn: Conn) -> str:
    """How the flow's CC learns of marks."""
    flow = rigs.find_flow(tcon, conn.sport)
    assert flow
    return genl.ECN_MODES[flow["ecn"]]


def options_of(conn: Conn, flags: int = ACK, *, of_peer: bool = False) -> bytes:
    """Options of the next segment of the guest, or of the peer."""
    conn.clock += 1
    segment = conn.from_peer(flags) if of_peer else conn.from_guest(flags)
    conn.clock -= 1
    return segment.options


def with_offer(conn: Conn, flags: int = SYN, *, of_peer: bool = False) -> dict[str, bytes]:
    """Options of the next SYN or SYN-ACK, to which a TCon has added its own."""
    own = count(0) if flags & ACK else OFFER
    return {"options": own + options_of(conn, flags, of_peer=of_peer)}


def taken_out(options: dict[str, bytes]) -> dict[str, bytes]:
    """The same, as a guest gets them."""
    size = options["options"][1]
    return {"options": wire.NOP * size + options["options"][size:]}


def opened(conn: Conn, tcon: genl.Genl, *, exact: bool = False) -> Conn:
    """The guest opens under DCTCP; the peer, with a TCon if ``exact``, agrees."""
    tcon.set_rule("dctcp")
    conn.guest_sends(SYN, becomes={"flags": SYN | ECE | CWR} | with_offer(conn))
    if exact:
        options = with_offer(conn, SYN | ACK, of_peer=True)
        conn.peer_sends(SYN | ACK | ECE, becomes={"flags": SYN | ACK} | taken_out(options),
                        **options)  # fmt: skip
    else:
        conn.peer_sends(SYN | ACK | ECE, becomes={"flags": SYN | ACK})
    conn.guest_sends()  # the CC starts with it
    assert mode(tcon, conn) == ("exact" if exact else "coarse")
    return conn


def data(conn: Conn, arrives: int = PSH | ACK) -> wire.Segment:
    """A full segment of the guest, which leaves ECN-capable, and with these flags."""
    becomes = {"tos": DSCP | ECT0, "flags": arrives}
    return conn.guest_sends(PSH | ACK, bytes(MSS), becomes=becomes, tos=DSCP)


# --- negotiation ------------------------------------------------------------------


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("vlans", [(), (10,), (10, 20)], ids=["untagged", "tag", "two-tags"])
@pytest.mark.parametrize("exact", [False, True], ids=["coarse", "exact"])
def test_guest_opens(
    ends: Ends, tcon: genl.Genl, family: int, vlans: tuple[int, ...], exact: bool
) -> None:
    conn = Conn(*ends, family=family, vlans=vlans)
    with counted(tcon, ecn_asked=1, ecn_failed=0):
        opened(conn, tcon, exact=exact)
    with counted(tcon, ect_set=2, ecn_failed=0):
        data(conn)
        conn.guest_sends(becomes={"tos": ECT0})


def test_peer_refuses(ends: Ends, tcon: genl.Genl) -> None:
    tcon.set_rule("dctcp")
    conn = Conn(*ends)
    conn.guest_sends(SYN, becomes={"flags": SYN | ECE | CWR} | with_offer(conn))
    conn.peer_sends(SYN | ACK)
    conn.guest_sends()
    assert mode(tcon, conn) == "refused"
    assert rigs.state(tcon, conn.sport) == ("repair-enforced", "none", "dctcp")
    conn.guest_sends(PSH | ACK, bytes(MSS))
    conn.peer_sends(ACK | ECE, tos=CE)


def test_other_ccs_leave_ecn_alone(ends: Ends, tcon: genl.Genl) -> None:
    tcon.set_rule("cubic")
    conn = Conn(*ends).handshake()
    assert mode(tcon, conn) == "unused"
    conn.guest_sends(PSH | ACK, bytes(MSS))
    conn.peer_sends(ACK | ECE | CWR, tos=CE)


ASKING = {"AUTO": None, "ON": True, "OFF": False}


@pytest.mark.parametrize("cc", rigs.ccs("cubic", "bbr", "bbr3", "vegas", "dctcp", "linux:cubic"))
@pytest.mark.parametrize("word", ASKING)
def test_what_a_rule_asks_for(ends: Ends, tcon: genl.Genl, cc: str, word: str) -> None:
    """Under any CC, for a guest that does not speak ECN; or not even under DCTCP."""
    tcon.set_rule(cc, ecn=genl.E[f"TCON_RULE_ECN_{word}"])
    wanted = cc == "dctcp" if ASKING[word] is None else ASKING[word]
    conn = Conn(*ends)
    if not wanted:
        conn.guest_sends(SYN)
        conn.peer_sends(SYN | ACK)
        conn.guest_sends()
        assert mode(tcon, conn) == "unused"
        conn.guest_sends(PSH | ACK, bytes(MSS))
        conn = Conn(*ends)
        conn.peer_sends(SYN | ECE | CWR)
        conn.guest_sends(SYN | ACK)
        conn = Conn(*ends)  # one that speaks it may, and does not see ECE
        conn.guest_sends(SYN | ECE | CWR)
        conn.peer_sends(SYN | ACK | ECE)
        conn.guest_sends()
        conn.guest_sends(PSH | ACK, bytes(MSS))
        conn.peer_sends(ACK | ECE, becomes={"flags": ACK})
        assert mode(tcon, conn) == "coarse"
        return
    conn.guest_sends(SYN, becomes={"flags": SYN | ECE | CWR} | with_offer(conn))
    conn.peer_sends(SYN | ACK | ECE, becomes={"flags": SYN | ACK})
    conn.guest_sends()
    assert mode(tcon, conn) == "coarse"
    data(conn)
    conn.peer_sends(ACK | ECE, becomes={"flags": ACK})
    data(conn, PSH | ACK | CWR)
    conn.peer_sends(PSH | ACK, b"x", tos=CE, becomes={"tos": 0})
    pure = {"tos": ECT0 if cc == "dctcp" else 0, "flags": ACK | ECE}
    conn.guest_sends(becomes=pure)  # RFC 3168: only new data is ECN-capable
    flow = rigs.find_flow(tcon, conn.sport)
    assert flow
    assert flow["ce_acks"] == 1


def test_rule_that_asks_later(ends: Ends, tcon: genl.Genl) -> None:
    """The rule decides how agreed ECN is used from now on; its CC goes on."""
    conn = opened(Conn(*ends), tcon)
    data(conn)
    tcon.set_rule("dctcp", ecn=genl.E["TCON_RULE_ECN_OFF"])
    conn.guest_sends(PSH | ACK, bytes(MSS))
    assert mode(tcon, conn) == "unused"
    tcon.set_rule("dctcp", ecn=genl.E["TCON_RULE_ECN_ON"])
    data(conn)
    assert mode(tcon, conn) == "coarse"


def test_rule_that_comes_late(ends: Ends, tcon: genl.Genl) -> None:
    conn = Conn(*ends).handshake()
    tcon.set_rule("dctcp")
    assert mode(tcon, conn) == "late"
    conn.guest_sends(PSH | ACK, bytes(MSS))
    conn.peer_sends()


def test_dropped_syn_falls_back(ends: Ends, tcon: genl.Genl) -> None:
    tcon.set_rule("dctcp")
    conn = Conn(*ends)
    conn.guest_sends(SYN, becomes={"flags": SYN | ECE | CWR} | with_offer(conn))
    with counted(tcon, ecn_fallback=1, ecn_asked=0):
        conn.guest_sends(SYN, seq=conn.isn[0])
    conn.peer_sends(SYN | ACK)
    conn.guest_sends()
    assert mode(tcon, conn) == "fell-back"
    conn.guest_sends(RST | ACK)
    with counted(tcon, ecn_asked=1):  # the next connection may ask again
        conn.restart(3_000_000_000, 9_000_000)
        opened(conn, tcon)


_networks = itertools.count(1)


def elsewhere(ends: Ends, net: int | None = None, **more: int) -> Conn:
    """A connection to a network of its own: findings about it concern no other test."""
    conn = Conn(*ends, **more)
    net = net or next(_networks)
    if conn.addresses[1] == "10.0.1.2":
        conn.addresses = (conn.addresses[0], f"10.9.{net}.2")
    else:
        conn.addresses = (conn.addresses[0], f"fd09:0:{net}::2")
    return conn


def asks(conn: Conn) -> Conn:
    conn.guest_sends(SYN, becomes={"flags": SYN | ECE | CWR} | with_offer(conn))
    return conn


@pytest.mark.parametrize("family", [4, 6])
def test_peer_that_resets_ecn(ends: Ends, tcon: genl.Genl, family: int) -> None:
    """The guest's own SYN follows, and the guest hears of nothing; others do not ask."""
    tcon.set_rule("dctcp")
    net = next(_networks)
    conn = asks(elsewhere(ends, net, family=family))
    conn.guest_nxt -= 1
    plain = conn.from_guest(SYN)
    conn.guest_nxt += 1
    with counted(tcon, ecn_reset=1):
        conn.peer.send(conn.from_peer(RST | ACK, window=0).frame())
        got = conn.receive(conn.peer)
    assert got == plain
    assert got.sums_ok
    assert not conn.receive(conn.guest, 0.1)
    conn.peer_sends(SYN | ACK)
    conn.guest_sends()
    assert mode(tcon, conn) == "fell-back"
    assert rigs.state(tcon, conn.sport) == ("repair-enforced", "none", "dctcp")
    conn.guest_sends(PSH | ACK, bytes(MSS))
    conn.peer_sends()
    with counted(tcon, ecn_avoided=2, ecn_asked=1):
        conn = elsewhere(ends, net, family=family)
        conn.guest_sends(SYN)
        conn.guest_sends(SYN, seq=conn.isn[0])
        conn.peer_sends(SYN | ACK)
        conn.guest_sends()
        assert mode(tcon, conn) == "avoided"
        asks(elsewhere(ends, family=family))


def test_after_a_reset_the_peer_hears_what_the_guest_has(ends: Ends, tcon: genl.Genl) -> None:
    """Whatever number the peer began with: TCon's SYN has told it nothing."""
    tcon.set_rule("dctcp")
    conn = asks(elsewhere(ends, isn=(1_000_000, 0x90000000)))
    conn.peer.send(conn.from_peer(RST | ACK, window=0).frame())
    assert conn.receive(conn.peer)
    conn.peer_sends(SYN | ACK)
    conn.guest_sends()
    for _ in range(10):
        conn.guest_sends(PSH | ACK, bytes(MSS))
    assert ack_of_what_waits(conn, tcon, bytes(MSS))


def test_closed_port_is_not_hostile(ends: Ends, tcon: genl.Genl) -> None:
    """It resets the SYN without ECN, too: the guest hears of that, and nothing is learnt."""
    tcon.set_rule("dctcp")
    net = next(_networks)
    for _ in range(3):
        conn = asks(elsewhere(ends, net))
        conn.peer.send(conn.from_peer(RST | ACK, window=0).frame())
        assert conn.receive(conn.peer)
        conn.peer_sends(RST | ACK, window=0)
        assert rigs.state(tcon, conn.sport)[1] == "closed"


def test_forged_reset_of_a_syn(ends: Ends, tcon: genl.Genl) -> None:
    """One that acknowledges nothing that was sent is none; nor is one after the answer."""
    tcon.set_rule("dctcp")
    conn = asks(elsewhere(ends))
    with counted(tcon, ecn_reset=0):
        conn.peer_sends(RST | ACK, ack=conn.guest_nxt + 1)
        conn.peer_sends(RST | ACK, ack=conn.guest_nxt - 1)
        conn.peer_sends(RST)
        conn = asks(elsewhere(ends))
        conn.peer_sends(SYN | ACK | ECE, becomes={"flags": SYN | ACK})
        conn.peer_sends(RST | ACK)


def test_path_that_drops_ecn_syns(ends: Ends, tcon: genl.Genl) -> None:
    """The second time it is believed, unless ECN-capable data arrived there in between."""
    tcon.set_rule("dctcp")
    net = next(_networks)

    def dropped() -> None:
        conn = asks(elsewhere(ends, net))
        conn.guest_sends(SYN, seq=conn.isn[0])
        conn.peer_sends(SYN | ACK)
        conn.guest_sends()

    dropped()
    conn = opened(elsewhere(ends, net), tcon)
    data(conn)
    conn.peer_sends()
    dropped()
    dropped()
    with counted(tcon, ecn_avoided=1):
        elsewhere(ends, net).guest_sends(SYN)


def test_answer_that_passes_elsewhere(ends: Ends, tcon: genl.Genl) -> None:
    """TCon cannot keep what it promises where it does not see the peer's packets."""
    tcon.set_rule("dctcp")
    net = next(_networks)
    conn = asks(elsewhere(ends, net))
    conn.guest_sends()
    with counted(tcon, ecn_avoided=1):
        elsewhere(ends, net).guest_sends(SYN)


def eats(conn: Conn, tcon: genl.Genl) -> None:
    """Nothing ECN-capable arrives any more; repeats without ECT do."""
    data(conn)
    start = conn.guest_nxt - MSS
    with counted(tcon, ecn_eaten=1):
        for _ in range(8):
            got = conn.receive(conn.peer, 5)
            assert got
            assert got.seq == start
            if got.tos & 3 == NOT_ECT:
                break
            assert got.tos == DSCP | ECT0
        assert got.tos == DSCP
        conn.peer_sends()
        conn.guest_sends(PSH | ACK, bytes(MSS), tos=DSCP)
    assert mode(tcon, conn) == "fell-back"
    conn.peer_sends()


@pytest.mark.parametrize("family", [4, 6])
def test_path_that_eats_ect(ends: Ends, tcon: genl.Genl, family: int) -> None:
    """At once, or in mid-flow; and the next connection knows."""
    net = next(_networks)
    eats(opened(elsewhere(ends, net, family=family), tcon), tcon)
    eats(opened(elsewhere(ends, net, family=family), tcon), tcon)
    with counted(tcon, ecn_avoided=1):
        elsewhere(ends, net, family=family).guest_sends(SYN)
    conn = opened(elsewhere(ends, family=family), tcon)
    for _ in range(3):
        data(conn)
        conn.peer_sends()
    eats(conn, tcon)


def test_path_that_eats_the_ect_of_a_guest(ends: Ends, tcon: genl.Genl) -> None:
    """One that speaks ECN, under any CC: what it marks leaves without."""
    tcon.set_rule("cubic")
    conn = elsewhere(ends)
    conn.guest_sends(SYN | ECE | CWR)
    conn.peer_sends(SYN | ACK | ECE)
    conn.guest_sends()
    conn.guest_sends(PSH | ACK, bytes(MSS), tos=ECT0)
    with counted(tcon, ecn_eaten=1):
        rigs.poll(lambda: mode(tcon, conn) == "fell-back", "a second time-out")
    while conn.receive(conn.peer, 0.05):
        pass
    conn.peer_sends()
    conn.guest_sends(PSH | ACK, bytes(MSS), tos=DSCP | ECT0, becomes={"tos": DSCP})


def test_path_that_eats_ect_on_acks(ends: Ends, tcon: genl.Genl) -> None:
    """The peer repeats what the guest has acknowledged, time after time."""
    conn = opened(elsewhere(ends), tcon)
    conn.peer_sends(PSH | ACK, bytes(MSS))
    conn.guest_sends(becomes={"tos": ECT0})
    again = conn.peer_nxt - MSS
    with counted(tcon, ecn_eaten=1):
        for n in range(3):
            conn.peer_sends(PSH | ACK, bytes(MSS), seq=again)
            conn.guest_sends(becomes={"tos": ECT0 if n < 2 else NOT_ECT})
    assert mode(tcon, conn) == "fell-back"


@pytest.mark.parametrize("speaks", [False, True], ids=["without", "with"])
@pytest.mark.parametrize("tcon_there", [False, True], ids=["plain", "tcon"])
def test_peer_opens(ends: Ends, tcon: genl.Genl, speaks: bool, tcon_there: bool) -> None:
    """The guest is the server, speaks ECN or not; the peer has a TCon or not."""
    tcon.set_rule("dctcp")
    conn = Conn(*ends)
    offer = with_offer(conn, of_peer=True) if tcon_there else {}
    conn.peer_sends(SYN | ECE | CWR, becomes=taken_out(offer) if offer else None, **offer)
    answer = SYN | ACK | (ECE if speaks else 0)
    becomes: dict[str, object] = {"flags": SYN | ACK | ECE}
    if tcon_there:
        becomes |= with_offer(conn, SYN | ACK)
    with counted(tcon, ecn_answered=int(not speaks)):
        conn.guest_sends(answer, becomes=becomes)
    conn.peer_sends()
    assert mode(tcon, conn) == ("exact" if tcon_there else "coarse")
    data(conn)


def test_answer_for_a_guest_without_rule(ends: Ends, tcon: genl.Genl) -> None:
    """A TCon that offers to count is answered whatever the rule; others are not."""
    conn = Conn(*ends)
    conn.peer_sends(SYN | ECE | CWR)
    conn.guest_sends(SYN | ACK)
    conn.peer_sends()
    conn.guest_sends(PSH | ACK, bytes(MSS))

    conn = Conn(*ends)
    offer = with_offer(conn, of_peer=True)
    conn.peer_sends(SYN | ECE | CWR, becomes=taken_out(offer), **offer)
    conn.guest_sends(SYN | ACK, becomes={"flags": SYN | ACK | ECE} | with_offer(conn, SYN | ACK))
    conn.peer_sends()
    conn.guest_sends(PSH | ACK, bytes(MSS))  # nothing enforced, nothing marked
    assert mode(tcon, conn) == "unused"


def test_peer_that_does_not_ask(ends: Ends, tcon: genl.Genl) -> None:
    tcon.set_rule("dctcp")
    conn = Conn(*ends)
    conn.peer_sends(SYN)
    conn.guest_sends(SYN | ACK)
    conn.peer_sends()
    assert mode(tcon, conn) == "refused"


def test_counts_can_be_switched_off(ends: Ends, tcon: genl.Genl) -> None:
    tcon.set_rule("dctcp")
    with rigs.parameters(ecn_count=0):
        conn = Conn(*ends)
        conn.guest_sends(SYN, becomes={"flags": SYN | ECE | CWR})
        conn.peer_sends(SYN | ACK | ECE, becomes={"flags": SYN | ACK})
        conn.guest_sends()
        assert mode(tcon, conn) == "coarse"


def test_no_room_for_the_offer(ends: Ends, tcon: genl.Genl) -> None:
    tcon.set_rule("dctcp")
    conn = Conn(*ends)
    options = conn.from_guest(SYN).options
    options += wire.NOP * (40 - len(options))
    conn.guest_sends(SYN, becomes={"flags": SYN | ECE | CWR}, options=options)
    conn.peer_sends(SYN | ACK | ECE, becomes={"flags": SYN | ACK})
    conn.guest_sends()
    assert mode(tcon, conn) == "coarse"


@pytest.mark.parametrize("option", [wire.MD5 + wire.NOP * 2, wire.AO], ids=["md5", "ao"])
def test_what_is_signed_is_left_alone(ends: Ends, tcon: genl.Genl, option: bytes) -> None:
    tcon.set_rule("dctcp")
    conn = Conn(*ends)
    conn.guest_sends(SYN, options=wire.opt_mss(1460) + option)
    conn.peer_sends(SYN | ACK | ECE, options=wire.opt_mss(1460) + option)
    conn.guest_sends(options=option)
    conn.peer_sends(PSH | ACK | ECE, b"x", options=option, tos=CE)
    conn.guest_sends(PSH | ACK, bytes(MSS), options=option)
    conn = Conn(*ends)
    conn.peer_sends(SYN | ECE | CWR, options=wire.opt_mss(1460) + option, ae=True)
    conn.guest_sends(SYN | ACK, options=wire.opt_mss(1460) + option)


def test_syn_with_data(ends: Ends, tcon: genl.Genl) -> None:
    """TCP Fast Open: the agreement is kept, whatever of the data the peer takes."""
    tcon.set_rule("dctcp")
    for taken in (0, 100):
        conn = Conn(*ends)
        conn.guest_sends(SYN, bytes(100), becomes={"flags": SYN | ECE | CWR})
        conn.guest_nxt = conn.isn[0] + 1 + taken
        conn.peer_sends(SYN | ACK | ECE, b"x", becomes={"flags": SYN | ACK})
        conn.guest_sends()
        assert mode(tcon, conn) == "coarse"
        data(conn)
        conn.peer_sends(PSH | ACK, b"x", tos=CE, becomes={"tos": 0})
        conn.guest_sends(becomes={"tos": ECT0, "flags": ACK | ECE})
        conn = Conn(*ends)
        conn.peer_sends(SYN | ECE | CWR, bytes(100))
        conn.peer_nxt = conn.isn[1] + 1 + taken
        conn.guest_sends(SYN | ACK, becomes={"flags": SYN | ACK | ECE})
        conn.peer_sends()
        assert mode(tcon, conn) == "coarse"
        data(conn)


@pytest.mark.parametrize("flags", [SYN, SYN | ECE | CWR], ids=["silent", "speaks"])
def test_syn_in_place_of_a_live_connection(ends: Ends, tcon: genl.Genl, flags: int) -> None:
    """Nobody answers it (RFC 5961, 4): the promise to the peer stays."""
    conn = opened(Conn(*ends), tcon)
    conn.peer_sends(PSH | ACK, b"x", tos=CE, becomes={"tos": 0})
    nxt = conn.guest_nxt
    conn.guest_sends(flags, options=wire.opt_mss(1460), seq=nxt + 100_000)
    conn.guest_nxt = nxt
    assert mode(tcon, conn) == "coarse"
    conn.guest_sends(becomes={"tos": ECT0, "flags": ACK | ECE})
    conn.peer_sends(PSH | ACK, b"x", tos=CE, becomes={"tos": 0})


@pytest.mark.parametrize("speaks", [False, True], ids=["silent", "speaks"])
def test_syn_that_replaces_a_live_connection(ends: Ends, tcon: genl.Genl, speaks: bool) -> None:
    """The peer answers it: the guest's own request for ECN counts."""
    conn = opened(Conn(*ends), tcon)
    flags = SYN | (ECE | CWR if speaks else 0)
    conn.guest_sends(flags, options=wire.opt_mss(1460), seq=conn.guest_nxt + 100_000)
    conn.peer_sends(SYN | ACK | (ECE if speaks else 0))
    conn.guest_sends()
    assert mode(tcon, conn) == ("coarse" if speaks else "late")


def test_syn_that_recovers_from_a_half_open_connection(ends: Ends, tcon: genl.Genl) -> None:
    """RFC 9293, 3.5.1: challenge ACK, RST, and the same SYN again, which now asks for ECN."""
    conn = opened(Conn(*ends), tcon)
    nxt = conn.guest_nxt
    conn.guest_sends(SYN, options=wire.opt_mss(1460), seq=nxt + 100_000)
    conn.guest_nxt = nxt
    conn.peer_sends()
    conn.guest_sends(RST)
    again = {"options": wire.opt_mss(1460), "seq": nxt + 100_000}
    conn.guest_sends(
        SYN, becomes={"flags": SYN | ECE | CWR, "options": OFFER + wire.opt_mss(1460)}, **again
    )
    conn.peer_sends(SYN | ACK | ECE, becomes={"flags": SYN | ACK})
    conn.guest_sends()
    assert mode(tcon, conn) == "coarse"


# --- AccECN -----------------------------------------------------------------------


def test_accurate_ecn_passes(ends: Ends, tcon: genl.Genl) -> None:
    """No rule at the handshake: it stays as it is, also under a later rule."""
    conn = Conn(*ends)
    conn.guest_sends(SYN | ECE | CWR, ae=True)
    conn.peer_sends(SYN | ACK | CWR)
    conn.guest_sends(ACK | ECE, ae=True)
    tcon.set_rule("dctcp")
    assert mode(tcon, conn) == "accecn"
    conn.guest_sends(PSH | ACK | CWR, bytes(MSS), tos=ECT0)
    conn.peer_sends(ACK | ECE | CWR, bytes(100), ae=True, tos=CE)


@pytest.mark.parametrize("cc", ["reno", "dctcp"])
def test_accurate_ecn_is_no_ece(ends: Ends, tcon: genl.Genl, cc: str) -> None:
    """Its counter begins at 5: ECE is set where nothing was marked."""
    conn = Conn(*ends)
    conn.guest_sends(SYN | ECE | CWR, ae=True)
    conn.peer_sends(SYN | ACK | CWR)
    conn.guest_sends(ACK | ECE, ae=True)
    tcon.set_rule(cc)
    assert_no_marks(tcon, conn, ae=True)


def test_ece_without_ecn(ends: Ends, tcon: genl.Genl) -> None:
    """An ECE where ECN was not agreed on tells nothing, whichever end sets it."""
    tcon.set_rule("reno")
    assert_no_marks(tcon, Conn(*ends).handshake(), ae=False)


def assert_no_marks(tcon: genl.Genl, conn: Conn, *, ae: bool) -> None:
    """ACKs with ECE pass as they are, and the CC does not hear of it."""
    before = rigs.find_flow(tcon, conn.sport)
    for _ in range(2):
        conn.guest_sends(PSH | ACK, bytes(MSS))
        conn.peer_sends(ACK | ECE, ae=ae)
    flow = rigs.find_flow(tcon, conn.sport)
    assert before
    assert flow
    assert (flow["ce_acks"], flow["ce_bytes"]) == (0, 0)
    assert flow["acked_bytes"] == before["acked_bytes"] + 2 * MSS
    assert flow["cwnd_bytes"] >= before["cwnd_bytes"]


def test_accurate_syn_is_downgraded(ends: Ends, tcon: genl.Genl) -> None:
    tcon.set_rule("dctcp")
    conn = Conn(*ends)
    with counted(tcon, ecn_downgraded=1, ecn_asked=0):
        conn.guest_sends(SYN | ECE | CWR, becomes={"ae": False} | with_offer(conn), ae=True)
    conn.peer_sends(SYN | ACK | ECE)  # the guest's own, as RFC 3168 has it
    conn.guest_sends()
    assert mode(tcon, conn) == "coarse"
    conn = Conn(*ends)
    with counted(tcon, ecn_downgraded=1):
        conn.peer_sends(SYN | ECE | CWR, becomes={"ae": False}, ae=True)
    conn.guest_sends(SYN | ACK, becomes={"flags": SYN | ACK | ECE})
    conn.peer_sends()
    assert mode(tcon, conn) == "coarse"


# --- segments ---------------------------------------------------------------------


def test_what_is_marked(ends: Ends, tcon: genl.Genl) -> None:
    """Data, repeats, pure ACKs, FIN; no RST."""
    conn = opened(Conn(*ends), tcon)
    data(conn)
    conn.peer_sends(PSH | ACK, b"x")
    conn.guest_sends(becomes={"tos": ECT0})
    with rigs.parameters(repair=0):
        data(conn)
        conn.guest_sends(PSH | ACK, bytes(MSS), seq=conn.guest_nxt - MSS, becomes={"tos": ECT0})
    conn.guest_sends(FIN | ACK, becomes={"tos": ECT0})
    conn.guest_sends(RST | ACK)


def test_ece_is_hidden_and_answered(ends: Ends, tcon: genl.Genl) -> None:
    conn = opened(Conn(*ends), tcon)
    for _ in range(4):
        data(conn)
    end = conn.guest_nxt
    before = rigs.find_flow(tcon, conn.sport)
    with counted(tcon, ece_hidden=3, cwr_set=1):
        conn.peer_sends(ACK | ECE, ack=end - 3 * MSS, becomes={"flags": ACK})
        data(conn, PSH | ACK | CWR)
        conn.peer_sends(ACK | ECE, ack=end - 2 * MSS, becomes={"flags": ACK})
        data(conn)
        conn.peer_sends(ACK | ECE, ack=end - MSS, becomes={"flags": ACK})
    flow = rigs.find_flow(tcon, conn.sport)
    assert before
    assert flow
    assert flow["ce_acks"] == 3
    assert flow["ce_bytes"] == 3 * MSS
    assert flow["cwnd_bytes"] == (before["cwnd_bytes"] + MSS) // 2 - MSS // 2  # alpha 1, once
    conn.peer_sends(ACK, ack=end + 2 * MSS)
    with counted(tcon, cwr_set=1):  # the next window
        conn.peer_sends(ACK | ECE, becomes={"flags": ACK})
        data(conn, PSH | ACK | CWR)


def test_guest_that_does_not_speak_ecn(ends: Ends, tcon: genl.Genl) -> None:
    """It sees none of the peer's marks; TCon echoes them until CWR comes."""
    conn = opened(Conn(*ends), tcon)
    conn.peer_sends(PSH | ACK, b"x", tos=DSCP | ECT0, becomes={"tos": DSCP})
    conn.guest_sends(becomes={"tos": ECT0})
    with counted(tcon, ce_hidden=1):
        conn.peer_sends(PSH | ACK, b"x", tos=DSCP | CE, becomes={"tos": DSCP})
    with counted(tcon, ece_set=2):
        conn.guest_sends(becomes={"tos": ECT0, "flags": ACK | ECE})
        data(conn, PSH | ACK | ECE)
    conn.peer_sends(PSH | ACK | CWR, b"x", becomes={"flags": PSH | ACK})
    conn.guest_sends(becomes={"tos": ECT0})


#: The share of cwnd that one ECE leaves; BBR reads it otherwise, or not.
LEFT = {
    "reno": 0.5, "cubic": 0.7, "vegas": 0.5, "ctcp": 0.5, "bbr": 1, "bbr3": None,
    "linux:reno": 0.5, "linux:bbr": 1,
}  # fmt: skip


@pytest.mark.parametrize("cc", rigs.ccs(*LEFT))
def test_every_cc_hears_what_the_guest_does_not(ends: Ends, tcon: genl.Genl, cc: str) -> None:
    """A guest that speaks ECN under a CC that does not ask for it."""
    tcon.set_rule(cc)
    conn = Conn(*ends)
    with counted(tcon, ecn_asked=0, ect_set=0):
        conn.guest_sends(SYN | ECE | CWR)
        conn.peer_sends(SYN | ACK | ECE, window=0xFFFF)
        conn.guest_sends()
        assert mode(tcon, conn) == "coarse"
        conn.window = 0x4000
        for _ in range(10):
            conn.guest_sends(PSH | ACK, bytes(MSS), tos=DSCP | ECT0)
    before = rigs.find_flow(tcon, conn.sport)
    with counted(tcon, ece_hidden=2, cwr_set=1):
        conn.peer_sends(ACK | ECE, ack=conn.guest_nxt - 9 * MSS, becomes={"flags": ACK})
        conn.peer_sends(ACK | ECE, ack=conn.guest_nxt - 8 * MSS, becomes={"flags": ACK})
        conn.peer_sends(ACK)
        conn.guest_sends(PSH | ACK, bytes(MSS), tos=ECT0, becomes={"flags": PSH | ACK | CWR})
    flow = rigs.find_flow(tcon, conn.sport)
    assert before
    assert flow
    assert flow["ce_acks"] == 2
    if LEFT[cc] and LEFT[cc] < 1:
        left = flow["ssthresh_bytes"] / MSS
        assert left == pytest.approx((before["cwnd_bytes"] / MSS + 1) * LEFT[cc], abs=1)
    # The ECE that the guest echoes, and the peer's answer, stay the guest's.
    conn.peer_sends(PSH | ACK, b"x", tos=CE)
    conn.guest_sends(ACK | ECE)
    conn.peer_sends(PSH | ACK | CWR, b"x", tos=ECT0)


@pytest.mark.parametrize(
    ("cc", "left", "params"),
    [(cc, left, None) for cc, left in LEFT.items() if left and left < 1 and ":" not in cc]
    + [pytest.param("linux:reno", LEFT["linux:reno"], None, marks=pytest.mark.machine)]
    + [("reno", 0.8, {"beta_ecn": 800}), ("cubic", 0.85, {"beta_ecn": 850})],
)
def test_mark_in_avoidance(
    ends: Ends, tcon: genl.Genl, cc: str, left: float, params: dict[str, int] | None
) -> None:
    """As much as a loss takes or, where a rule asks for RFC 8511, less."""
    tcon.set_rule(cc, params=params)
    conn = Conn(*ends)
    conn.guest_sends(SYN | ECE | CWR)
    conn.peer_sends(SYN | ACK | ECE, window=0xFFFF)
    conn.guest_sends()
    conn.window = 0x4000
    cwnd = 0
    for ece in (ECE, 0, ECE):
        for _ in range(4):
            conn.guest_sends(PSH | ACK, bytes(MSS), tos=ECT0)
            if not ece:
                conn.peer_sends(ACK)
        cwnd = rigs.find_flow(tcon, conn.sport)["cwnd_bytes"] / MSS
        if ece:
            conn.peer_sends(ACK | ECE, becomes={"flags": ACK})
            conn.guest_sends(PSH | ACK, bytes(MSS), tos=ECT0, becomes={"flags": PSH | ACK | CWR})
            conn.peer_sends(ACK)
    flow = rigs.find_flow(tcon, conn.sport)
    assert flow["ssthresh_bytes"] / MSS == pytest.approx(cwnd * left, abs=1)


@pytest.mark.machine
def test_cc_that_hears_of_no_marks(ends: Ends, tcon: genl.Genl) -> None:
    """Then the guest must: it alone can react."""
    rigs.run("insmod", "/lab/example/tcon_aimd.ko")
    try:
        tcon.set_rule("aimd")
        conn = Conn(*ends)
        conn.guest_sends(SYN | ECE | CWR, ae=True)
        conn.peer_sends(SYN | ACK | ECE)
        conn.guest_sends()
        assert rigs.state(tcon, conn.sport) == ("repair-enforced", "none", "aimd")
        assert mode(tcon, conn) == "unused"
        conn.guest_sends(PSH | ACK, bytes(MSS), tos=ECT0)
        conn.peer_sends(ACK | ECE)
        conn.guest_sends(PSH | ACK | CWR, bytes(MSS), tos=ECT0)
        with pytest.raises(genl.Refused, match="does not hear"):
            tcon.set_rule("aimd", ecn=genl.E["TCON_RULE_ECN_ON"])
    finally:
        rigs.unload("tcon_aimd")


def test_accurate_syn_under_any_cc(ends: Ends, tcon: genl.Genl) -> None:
    """Its counters could not be kept from the guest: ECN is what is heard and hidden."""
    tcon.set_rule("cubic")
    conn = Conn(*ends)
    with counted(tcon, ecn_downgraded=1, ecn_asked=0):
        conn.guest_sends(SYN | ECE | CWR, becomes={"ae": False}, ae=True)
    conn.peer_sends(SYN | ACK | ECE)
    conn.guest_sends()
    assert mode(tcon, conn) == "coarse"
    tcon.del_rules()
    tcon.set_rule("none")
    conn = Conn(*ends)
    conn.guest_sends(SYN | ECE | CWR, ae=True)
    conn.peer_sends(SYN | ACK | CWR)


@pytest.mark.parametrize("family", [4, 6])
def test_push_where_marks_begin_and_end(ends: Ends, tcon: genl.Genl, family: int) -> None:
    """A guest that sees no marks has PSH there, so that it acknowledges at once."""
    conn = opened(Conn(*ends, family=family), tcon)
    pushed = {"tos": DSCP, "flags": PSH | ACK}
    with counted(tcon, push_set=3, ce_hidden=4):
        conn.peer_sends(ACK, b"x", tos=DSCP | ECT0, becomes={"tos": DSCP})
        conn.peer_sends(ACK, b"x", tos=DSCP | CE, becomes=pushed)
        conn.peer_sends(ACK, b"x", tos=DSCP | CE, becomes={"tos": DSCP})
        conn.peer_sends(ACK, b"x", tos=DSCP | ECT0, becomes=pushed)
        conn.peer_sends(PSH | ACK, b"x", tos=DSCP | CE, becomes=pushed)  # has it
        conn.peer_sends(ACK | CWR, b"x", tos=DSCP | CE, becomes=pushed)


def test_what_was_promised_outlives_the_rule(ends: Ends, tcon: genl.Genl) -> None:
    conn = opened(Conn(*ends), tcon, exact=True)
    data(conn)
    tcon.del_rules()
    conn.guest_sends(PSH | ACK, bytes(MSS), tos=DSCP)  # not marked any more
    conn.peer_sends(PSH | ACK | ECE, b"four", tos=CE, becomes={"tos": 0, "flags": PSH | ACK})
    options = count(4) + options_of(conn)
    conn.guest_sends(becomes={"flags": ACK | ECE, "options": options})


@pytest.mark.parametrize("sends", [False, True], ids=["receives", "sends"])
@pytest.mark.parametrize("family", [4, 6])
def test_promise_of_another_tcon(ends: Ends, tcon: genl.Genl, family: int, sends: bool) -> None:
    """Reloaded, forgotten, moved: the SYNs were not seen, and marks come that nobody echoes."""
    conn = Conn(*ends, family=family)
    if sends:
        conn.guest_sends(PSH | ACK, bytes(100))
    with counted(tcon, ecn_adopted=1, ece_set=2):
        conn.peer_sends(PSH | ACK, bytes(100), tos=DSCP | ECT0)
        conn.guest_sends()
        conn.peer_sends(PSH | ACK, bytes(100), tos=DSCP | CE)
        conn.guest_sends()
        conn.peer_sends(PSH | ACK, bytes(100), tos=DSCP | CE)
        conn.guest_sends(becomes={"flags": ACK | ECE})
        assert mode(tcon, conn) == "adopted"
        assert rigs.state(tcon, conn.sport)[:2] == ("observed", "no-rule")
        conn.peer_sends(ACK, bytes(100), tos=DSCP | ECT0,
                        becomes={"flags": PSH | ACK, "tos": DSCP})  # fmt: skip
        conn.guest_sends(becomes={"flags": ACK | ECE})
        conn.peer_sends(PSH | ACK | CWR, bytes(100), tos=DSCP | ECT0,
                        becomes={"flags": PSH | ACK, "tos": DSCP})  # fmt: skip
        conn.guest_sends()
    tcon.set_rule("cubic")
    conn.guest_sends(PSH | ACK, bytes(100))
    assert rigs.state(tcon, conn.sport) == ("observed", "mid-stream", "none")
    # Another connection of these ends is one like any other.
    conn.restart(5_000_000, 9_000_000)
    conn.handshake()
    assert rigs.state(tcon, conn.sport) == ("repair-enforced", "none", "cubic")
    conn.peer_sends(PSH | ACK, bytes(100), tos=DSCP | CE)
    conn.guest_sends()
    conn.peer_sends(PSH | ACK, bytes(100), tos=DSCP | CE)
    conn.guest_sends()
    assert mode(tcon, conn) == "unused"


def test_guest_that_keeps_its_own_promise(ends: Ends, tcon: genl.Genl) -> None:
    """Unseen SYNs agreed on ECN with the guest itself: nothing is touched."""
    conn = Conn(*ends)
    with counted(tcon, ecn_adopted=0, ece_set=0, ce_hidden=0):
        for _ in range(4):
            conn.peer_sends(PSH | ACK, bytes(100), tos=CE)
            conn.guest_sends(ACK | ECE)
            conn.peer_sends(PSH | ACK | CWR, bytes(100), tos=ECT0)
            conn.guest_sends()
    assert mode(tcon, conn) == "unused"


def test_marks_from_nowhere_evict_nobody(ends: Ends, tcon: genl.Genl) -> None:
    """Marks on invented packets fill no table: these flows are half-open ones."""
    conn = Conn(*ends)
    before = tcon.info("EMBRYOS")
    with rigs.parameters(max_embryos=4), counted(tcon, flows_new=10):
        for n in range(10):
            ends[1].send(conn.from_peer(PSH | ACK, b"x", tos=CE, dport=30000 + n).frame())
            assert ends[0].recv(2.0)
    assert tcon.info("EMBRYOS") <= max(before, 4)


def test_guest_that_speaks_ecn(ends: Ends, tcon: genl.Genl) -> None:
    """It echoes by itself; but TCon is what reacts, so it does not see ECE."""
    tcon.set_rule("dctcp")
    conn = Conn(*ends)
    with counted(tcon, ecn_asked=0):
        conn.guest_sends(SYN | ECE | CWR, becomes=with_offer(conn))
        conn.peer_sends(SYN | ACK | ECE)
        conn.guest_sends()
    conn.guest_sends(PSH | ACK, bytes(MSS), tos=DSCP | ECT0)
    conn.peer_sends(ACK | ECE, becomes={"flags": ACK})
    data(conn, PSH | ACK | CWR)
    conn.peer_sends(ACK, b"x", tos=CE)  # it knows when to acknowledge, too
    conn.guest_sends(ACK | ECE, becomes={"tos": ECT0})
    conn.peer_sends(PSH | ACK | CWR, b"x", tos=ECT0)
    tcon.del_rules()
    conn.guest_sends(PSH | ACK, bytes(MSS), tos=ECT0)
    conn.peer_sends(ACK | ECE)
    conn.guest_sends(PSH | ACK | CWR, bytes(MSS), tos=ECT0)


# --- counts -----------------------------------------------------------------------


@pytest.mark.both
@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("vlans", [(), (10, 20)], ids=["untagged", "two-tags"])
def test_count_is_added(ends: Ends, tcon: genl.Genl, family: int, vlans: tuple[int, ...]) -> None:
    """The receiver's side: on ACKs, while there is something new."""
    conn = opened(Conn(*ends, family=family, vlans=vlans), tcon, exact=True)

    def acks(total: int | None) -> None:
        options = options_of(conn)
        flags = ACK | (ECE if total is not None else 0)
        conn.guest_sends(becomes={
            "tos": ECT0, "flags": flags,
            "options": options if total is None else count(total) + options,
        })  # fmt: skip

    conn.peer_sends(PSH | ACK, bytes(500), tos=ECT0, becomes={"tos": 0})
    acks(None)
    conn.peer_sends(PSH | ACK, bytes(500), tos=CE, becomes={"tos": 0})
    conn.peer_sends(PSH | ACK, bytes(300), tos=CE, becomes={"tos": 0})
    with counted(tcon, ce_count_sent=3):
        acks(800)
        acks(800)
        options = count(800) + options_of(conn)
        conn.guest_sends(PSH | ACK, b"small", becomes={
            "tos": ECT0, "flags": PSH | ACK | ECE, "options": options
        })  # fmt: skip
        conn.guest_sends(becomes={"tos": ECT0, "flags": ACK | ECE})


def test_no_room_for_the_count(ends: Ends, tcon: genl.Genl) -> None:
    """Neither beyond 40 bytes of options, nor on what may fill the MTU."""
    conn = opened(Conn(*ends), tcon, exact=True)
    conn.peer_sends(PSH | ACK, bytes(500), tos=CE, becomes={"tos": 0})
    options = options_of(conn)
    options += wire.opt_sack((1, 2), (3, 4)) + wire.NOP * 6
    with counted(tcon, ce_count_no_room=2, ce_count_sent=1):
        conn.guest_sends(becomes={"tos": ECT0, "flags": ACK | ECE}, options=options)
        data(conn, PSH | ACK | ECE)
        short = options[:-4]
        conn.guest_sends(becomes={"tos": ECT0, "flags": ACK | ECE, "options": count(500) + short},
                         options=short)  # fmt: skip


@pytest.mark.parametrize("family", [4, 6])
def test_count_is_taken(ends: Ends, tcon: genl.Genl, family: int) -> None:
    """The sender's side: the count says how much is marked; the guest sees none."""
    conn = opened(Conn(*ends, family=family), tcon, exact=True)
    for _ in range(6):
        data(conn)
    end = conn.guest_nxt

    def acks(total: int, acked: int, flags: int = ACK) -> None:
        options = options_of(conn, of_peer=True)
        conn.peer_sends(
            flags, ack=end - acked * MSS, options=count(total) + options,
            becomes={"options": wire.NOP * 8 + options, "flags": ACK},
        )  # fmt: skip

    def marked() -> tuple[object, object]:
        flow = rigs.find_flow(tcon, conn.sport)
        assert flow
        return flow["ce_bytes"], flow["ce_acks"]

    with counted(tcon, ce_count_taken=4):
        acks(700, 5)
        assert marked() == (700, 1)
        acks(700, 4, ACK | ECE)  # ECE tells nothing more
        assert marked() == (700, 1)
        acks(2000, 3)
        assert marked() == (2000, 2)
        acks(1000, 2)  # older than the last
        assert marked() == (2000, 2)
    conn.peer_sends(ACK | ECE, ack=end - MSS, becomes={"flags": ACK})
    assert marked() == (2000, 2)


def test_guests_are_no_tcons(ends: Ends, tcon: genl.Genl) -> None:
    """The option is taken out of a guest's segments."""
    conn = Conn(*ends)
    options = options_of(conn, SYN)
    with counted(tcon, option_forged=2):
        conn.guest_sends(SYN, options=OFFER + options, becomes={"options": wire.NOP * 4 + options})
        conn.peer_sends(SYN | ACK)
        conn.guest_sends()
        conn.guest_sends(options=count(5), becomes={"options": wire.NOP * 8})


def test_forged_count_behind_a_decoy(ends: Ends, tcon: genl.Genl) -> None:
    """Another option of that kind hides none, from the path or from a guest."""
    decoy = b"\xfe\x04\x00\x00"
    conn = opened(Conn(*ends), tcon, exact=True)
    with counted(tcon, option_forged=1):
        conn.guest_sends(options=decoy + count(5),
                         becomes={"tos": ECT0, "options": decoy + wire.NOP * 8})  # fmt: skip
    data(conn)
    with counted(tcon, ce_count_taken=1):
        conn.peer_sends(options=decoy + count(9), becomes={"options": decoy + wire.NOP * 8})


@pytest.mark.parametrize("signature", [wire.MD5 + wire.NOP * 2, wire.AO], ids=["md5", "ao"])
def test_forged_count_behind_a_signature(ends: Ends, tcon: genl.Genl, signature: bytes) -> None:
    """A connection whose SYNs had none has none: the count is taken out, and taken."""
    conn = opened(Conn(*ends), tcon, exact=True)
    with counted(tcon, option_forged=1):
        conn.guest_sends(options=signature + count(5),
                         becomes={"tos": ECT0, "options": signature + wire.NOP * 8})  # fmt: skip
    with counted(tcon, ce_count_taken=1):
        conn.peer_sends(options=signature + count(9),
                        becomes={"options": signature + wire.NOP * 8})  # fmt: skip


def test_count_on_a_signed_connection(ends: Ends, tcon: genl.Genl) -> None:
    """Nothing is edited, and nothing believed."""
    tcon.set_rule("dctcp")
    conn = Conn(*ends)
    conn.guest_sends(SYN, options=wire.opt_mss(1460) + wire.AO)
    conn.peer_sends(SYN | ACK | ECE, options=wire.opt_mss(1460) + wire.AO)
    conn.guest_sends(options=wire.AO)
    conn.guest_sends(PSH | ACK, bytes(MSS), options=wire.AO + count(5))
    with counted(tcon, ce_count_taken=0):
        conn.peer_sends(ACK | ECE, options=wire.AO + count(9))
    flow = rigs.find_flow(tcon, conn.sport)
    assert flow
    assert (flow["ce_acks"], flow["ce_bytes"]) == (0, 0)


def test_who_guesses_marks_nothing(ends: Ends, tcon: genl.Genl) -> None:
    """Segments that the guest will not take have no CE for the peer, no CWR and no count."""
    conn = opened(Conn(*ends), tcon, exact=True)
    data(conn)
    far = conn.peer_nxt - 100_000
    with counted(tcon, out_of_window=3, ce_count_taken=0):
        conn.peer_sends(PSH | ACK, bytes(500), seq=far, tos=CE, becomes={"tos": 0})
        options = count(700) + options_of(conn, of_peer=True)
        conn.peer_sends(seq=far, options=options, becomes={"options": wire.NOP * 8 + options[8:]})
        conn.guest_sends(becomes={"tos": ECT0})
        conn.peer_sends(PSH | ACK, bytes(500), tos=CE, becomes={"tos": 0})
        conn.peer_sends(PSH | ACK | CWR, bytes(500), seq=far, becomes={"flags": PSH | ACK})
    flow = rigs.find_flow(tcon, conn.sport)
    assert flow
    assert flow["ce_bytes"] == 0
    options = count(500) + options_of(conn)
    conn.guest_sends(becomes={"tos": ECT0, "flags": ACK | ECE, "options": options})


def test_count_that_was_not_agreed_on(ends: Ends, tcon: genl.Genl) -> None:
    conn = opened(Conn(*ends), tcon)
    data(conn)
    with counted(tcon, ce_count_taken=0):
        conn.peer_sends(options=count(900), becomes={"options": wire.NOP * 8})
    flow = rigs.find_flow(tcon, conn.sport)
    assert flow
    assert flow["ce_bytes"] == 0


def test_peer_that_sends_options_back(ends: Ends, tcon: genl.Genl) -> None:
    """Whatever it does not know: it is no TCon, ECE is what counts, and it gets no counts."""
    tcon.set_rule("dctcp")
    conn = Conn(*ends)
    conn.guest_sends(SYN, becomes={"flags": SYN | ECE | CWR} | with_offer(conn))
    options = OFFER + options_of(conn, SYN | ACK, of_peer=True)
    becomes = {"flags": SYN | ACK, "options": wire.NOP * 4 + options[4:]}
    conn.peer_sends(SYN | ACK | ECE, options=options, becomes=becomes)
    conn.guest_sends()
    assert mode(tcon, conn) == "coarse"
    data(conn)
    conn.peer_sends(PSH | ACK, b"x", tos=CE, becomes={"tos": 0})
    with counted(tcon, ce_count_sent=0):
        conn.guest_sends(becomes={"tos": ECT0, "flags": ACK | ECE})
    with counted(tcon, ce_count_taken=0, ece_hidden=1):
        conn.peer_sends(
            ACK | ECE, options=count(1), becomes={"flags": ACK, "options": wire.NOP * 8}
        )
    flow = rigs.find_flow(tcon, conn.sport)
    assert flow
    assert flow["ce_acks"] == 1


# --- repairs ----------------------------------------------------------------------


@pytest.mark.parametrize("family", [4, 6])
def test_repairs_are_marked(ends: Ends, tcon: genl.Genl, family: int) -> None:
    conn = opened(Conn(*ends, family=family), tcon)
    for _ in range(5):
        data(conn)
    start = conn.guest_nxt - 5 * MSS
    conn.clock += 1
    options = (
        conn.from_peer().options + wire.opt_sack((start + MSS, start + 5 * MSS)) + wire.NOP * 2
    )
    conn.peer.send(conn.from_peer(ack=start, options=options).frame())
    got = conn.receive(conn.peer)
    assert got
    assert got.sums_ok
    assert (got.seq, got.tos, got.flags) == (start, DSCP | ECT0, PSH | ACK)


# --- super-packets ----------------------------------------------------------------


@pytest.mark.both
@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("offload", [0, TSO], ids=["segmented", "whole"])
def test_super_packet(rig: rigs.Rig, tcon: genl.Genl, family: int, offload: int) -> None:
    """Every segment of it is marked, only the first says CWR."""
    guest, uplink = rig.taps(TSO, offload)
    tcon.set_rule("dctcp", bridge="br1")
    conn = Conn(guest, uplink, family=family)
    conn.guest_sends(SYN, becomes={"flags": SYN | ECE | CWR} | with_offer(conn))
    conn.peer_sends(SYN | ACK | ECE, becomes={"flags": SYN | ACK})
    conn.guest_sends()
    data(conn)
    conn.peer_sends(ACK | ECE, becomes={"flags": ACK})
    payload = random.Random(1).randbytes(4 * MSS + 100)
    sent = conn.from_guest(PSH | ACK, payload, partial=True)
    gso = rigs.VNET_GSO_TCPV4 if family == 4 else rigs.VNET_GSO_TCPV6
    with counted(tcon, cwr_set=1, ect_set=1, ecn_failed=0):
        guest.send(sent.frame(), sent.header_bytes(), MSS, gso)
        arrived, flags = b"", []
        while len(arrived) < len(payload):
            got = conn.receive(uplink)
            assert got
            assert got.seq == conn.guest_nxt + len(arrived)
            assert got.sums_ok or uplink.last_flags == rigs.VNET_NEEDS_CSUM
            assert got.tos == ECT0
            flags.append(got.flags & CWR)
            arrived += got.payload
            uplink.send(conn.from_peer(ack=conn.guest_nxt + len(arrived)).frame())
    assert arrived == payload
    assert flags == [CWR] + [0] * (len(flags) - 1)


@pytest.mark.both
@pytest.mark.parametrize("family", [4, 6])
def test_option_on_a_partial_checksum(rig: rigs.Rig, tcon: genl.Genl, family: int) -> None:
    """The part that the device will sum up has become longer, and begins elsewhere."""
    guest, uplink = rig.taps(TSO)
    tcon.set_rule("dctcp", bridge="br1")
    conn = Conn(guest, uplink, family=family)
    sent = conn.from_guest(SYN, partial=True)
    guest.send(sent.frame(), csum_start=sent.header_bytes())
    got = conn.receive(uplink)
    assert got
    assert got.sums_ok
    assert got == sent.but(options=OFFER + sent.options, flags=SYN | ECE | CWR, partial=False)
