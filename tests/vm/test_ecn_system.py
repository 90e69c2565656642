# SPDX-License-Identifier: GPL-2.0-only
"""ECN on behalf of guests with kernels' own TCP, which Open vSwitch marks.

hosts.py has the topology.
"""

from __future__ import annotations

from pathlib import Path

import genl
import hosts
import pytest
import rig as rigs
from hosts import MEGA, Net, Transfer
from rig import poll, run

ECT0, CE = 2, 3


def mark_all(*matches: str) -> None:
    """Open vSwitch marks whatever is ECN-capable, as it sees it behind TCon's hook."""
    for match in matches:
        run("ovs-ofctl", "add-flow", "br0", f"{match},nw_ecn={ECT0},actions=mod_nw_ecn:{CE},normal")
    rigs.settle()


def whole(net: Net, transfer: Transfer, *port: str) -> tuple[dict[str, object], dict[str, int]]:
    """The half-flow of a transfer when all has arrived, and the counters; it ends then."""
    poll(lambda: not transfer.running(), "all has arrived", 60.0, 0.05)
    flow: dict[str, object] = {}

    def acknowledged() -> bool:
        flow.update(rigs.find_flow(net.tcon, transfer.sport, *port) or {})
        return flow["inflight_bytes"] == 0

    poll(acknowledged, "all is acknowledged")
    counters = net.tcon.counters()
    transfer.finish()
    return flow, counters


def seen_by(ns: str, *names: str) -> list[int]:
    """Counters of a namespace's IP."""
    told = dict(line.split()[:2] for line in run("nstat", "-asz", *names, ns=ns).splitlines()[1:])
    return [int(told[name]) for name in names]


def without_ecn(*guests: str) -> None:
    for ns in guests:
        rigs.sysctl("ipv4/tcp_ecn", 0, ns)


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("offloads", [True, False], ids=["gso", "no-gso"])
def test_two_tcons(net: Net, family: int, offloads: bool) -> None:
    """Neither guest speaks ECN, all is marked, and the sender's TCon knows each byte."""
    hosts.guest(net.rig, "g2", "p2", 2)
    net.rig.port("br0", "p2")
    net.offloads(offloads)
    without_ecn("g1", "g2")
    poll(lambda: "1 received" in run("ping", "-c1", "-W1", "10.0.0.2", check=False, ns="g1"), "g2")
    poll(lambda: "1 received" in run("ping", "-c1", "-W1", "fd00::2", check=False, ns="g1"), "g2")
    mark_all("tcp", "tcp6")
    match = genl.text(genl.E["TCON_MATCH_A_IFNAME"], "p1")
    net.tcon.set_rule("dctcp", match)
    names = [f"Ip{v}In{what}Pkts" for v in ("Ext", "6") for what in ("CE", "ECT0")]
    merged = net.tcon.counters()["merged"]
    transfer = Transfer("g1", "g2", "10.0.0.2" if family == 4 else "fd00::2", 2 * MEGA)
    flow, _ = whole(net, transfer, "p1")
    assert genl.ECN_MODES[flow["ecn"]] == "exact"
    assert flow["acked_bytes"] == 2 * MEGA + 1  # and the FIN
    assert 2 * MEGA <= flow["ce_bytes"] <= flow["sent_bytes"]
    alpha = float(str(flow["cc_info"]).partition("alpha=")[2])
    assert alpha > 0.9  # the last window may be without its count
    assert net.tcon.counters()["merged"] == merged, "marks count packets"
    assert seen_by("g1", *names) == seen_by("g2", *names) == [0, 0, 0, 0]


@pytest.mark.parametrize("family", [4, 6])
def test_plain_receiver(net: Net, family: int) -> None:
    """A server that speaks RFC 3168: ECE until CWR, which its kernel believes."""
    net.shape(delay="2ms")
    without_ecn("g1")
    mark_all("in_port=p1,tcp", "in_port=p1,tcp6")
    net.tcon.set_rule("dctcp")
    before = net.tcon.counters()
    transfer = net.transfer(MEGA, family=family)
    flow, after = whole(net, transfer)
    assert genl.ECN_MODES[flow["ecn"]] == "coarse"
    assert flow["ce_bytes"] > MEGA // 2
    assert after["cwr-set"] > before["cwr-set"] + 10
    assert after["ece-hidden"] == before["ece-hidden"] + flow["ce_acks"] + 1  # the SYN-ACK's
    assert flow["lost_bytes"] == 0


@pytest.mark.parametrize("late", [False, True], ids=["at-once", "later"])
@pytest.mark.parametrize("how", ["dctcp", "cubic", "guest"])
def test_path_that_eats_ect(net: Net, how: str, late: bool) -> None:
    """Whatever has been made ECN-capable is dropped, from the first data on or in mid-flow."""
    net.shape(rate="20mbit", delay="2ms")
    if how != "guest":
        without_ecn("g1")
    else:
        rigs.sysctl("ipv4/tcp_ecn", 1, "g1")
    net.tcon.set_rule(
        "dctcp" if how == "dctcp" else "cubic",
        ecn=genl.E["TCON_RULE_ECN_ON" if how == "cubic" else "TCON_RULE_ECN_AUTO"],
    )

    def eat() -> None:
        run("ovs-ofctl", "add-flow", "br0", f"in_port=p1,tcp,nw_ecn={ECT0},actions=drop")
        rigs.settle()

    if not late:
        eat()
    transfer = net.transfer(2 * MEGA)
    if late:
        poll(lambda: transfer.received_bytes > 300_000, "some has arrived")
        eat()
    flow, counters = whole(net, transfer)
    assert genl.ECN_MODES[flow["ecn"]] == "fell-back"
    assert flow["acked_bytes"] == 2 * MEGA + 1
    assert counters["ecn-eaten"] > 0
    assert transfer.stall_s < 4, transfer.stall_s


def test_another_cc_in_mid_flow(net: Net) -> None:
    """ECN ends with the CC that wants it, begins again with it, and nothing is lost."""
    net.shape(rate="20mbit", delay="2ms")
    without_ecn("g1")
    mark_all("in_port=p1,tcp")
    net.tcon.set_rule("dctcp")
    transfer = net.transfer(4 * MEGA)
    for cc, ecn in (
        ("cubic", "unused"),
        ("dctcp", "coarse"),
        (None, "unused"),
        ("dctcp", "coarse"),
    ):
        poll(lambda at=transfer.received_bytes: transfer.received_bytes > at + 200_000, "bytes")
        if cc:
            net.tcon.set_rule(cc)
        else:
            net.tcon.del_rules()
        flow = rigs.find_flow(net.tcon, transfer.sport)
        assert flow
        assert genl.ECN_MODES[flow["ecn"]] == ecn
        marked = net.tcon.counters()["ect-set"]
        poll(lambda at=transfer.received_bytes: transfer.received_bytes > at + 200_000, "bytes")
        assert (net.tcon.counters()["ect-set"] > marked) == (ecn == "coarse")
    transfer.finish()


def test_promise_outlives_a_reload(net: Net) -> None:
    """A guest without ECN receives what is marked; the TCon that agreed to that is gone."""
    net.shape(delay="2ms", ack_mischief="rate 20mbit")
    without_ecn("g1")
    rigs.sysctl("ipv4/tcp_ecn", 1, "s")
    mark_all("in_port=up0,tcp")
    net.tcon.set_rule("dctcp")
    transfer = Transfer("s", "g1", "10.0.0.1", None)
    poll(lambda: net.tcon.counters()["ece-set"] > 10, "TCon echoes marks")
    hosts.reload_tcon(net)
    at = transfer.received_bytes
    poll(lambda: net.tcon.counters()["ece-set"] > 10, "it does so again", 10.0)
    assert net.tcon.counters()["ecn-adopted"] == 1
    poll(lambda: transfer.received_bytes > at + 200_000, "bytes")
    seen = seen_by("g1", "IpExtInCEPkts")
    transfer.finish()
    assert seen_by("g1", "IpExtInCEPkts") == seen, "they reach the guest no more"


def test_marks_are_acknowledged_at_once(net: Net) -> None:
    """A guest that sees no marks delays no ACK where they begin or end (RFC 8257, 3.2).

    It receives from the server, which speaks DCTCP; 44 % of the packets are marked otherwise
    than the one before.
    """
    run("modprobe", "tcp_dctcp")
    net.shape(delay="2ms", ack_mischief="rate 20mbit loss 33% ecn")
    net.offloads(False)
    without_ecn("g1")
    net.tcon.set_rule("dctcp")
    names = ("TcpInSegs", "TcpOutSegs")
    before, pushed = seen_by("g1", *names), net.tcon.counters()["push-set"]
    Transfer("s", "g1", "10.0.0.1", 10 * MEGA, cc="dctcp").finish()
    segments, acks = (b - a for a, b in zip(before, seen_by("g1", *names), strict=True))
    assert net.tcon.counters()["push-set"] > pushed + 0.3 * segments
    assert acks > 0.58 * segments, "0.64 were seen, 0.53 where nothing is pushed"


# --- AccECN (RFC 9768) of kernels that have it -------------------------------------

accurate_ends = pytest.mark.skipif(
    not Path("/proc/sys/net/ipv4/tcp_ecn_option").exists(), reason="this kernel has no AccECN"
)


def with_accurate_ecn(*ends: str) -> None:
    """They ask for AccECN, and agree to it."""
    for ns in ends:
        rigs.sysctl("ipv4/tcp_ecn", 3, ns)


@accurate_ends
@pytest.mark.parametrize("cc", ["cubic", "dctcp"])
def test_accurate_guest_under_a_rule(net: Net, cc: str) -> None:
    """The ends come to use RFC 3168's; the CC hears the marks, and the guest none."""
    net.shape(rate="50mbit", delay="2ms")
    with_accurate_ecn("g1", "s")
    mark_all("in_port=p1,tcp")
    net.tcon.set_rule(cc)
    before = net.tcon.counters()
    transfer = net.transfer(2 * MEGA)
    flow = net.acknowledged(transfer)
    hosts.assert_enforced(net.tcon, transfer.sport, cc)
    assert genl.ECN_MODES[flow["ecn"]] == "coarse"
    assert flow["ce_bytes"] > MEGA
    assert net.tcon.counters()["ecn-downgraded"] == before["ecn-downgraded"] + 1
    assert hosts.tcp_info(transfer.client)["delivered_ce"] == 0
    transfer.finish()


@accurate_ends
def test_accurate_peer_under_a_rule(net: Net) -> None:
    """It opens the connection, and both ends come to use RFC 3168's."""
    net.shape(delay="2ms", ack_mischief="rate 20mbit")
    with_accurate_ecn("g1", "s")
    mark_all("in_port=up0,tcp")
    net.tcon.set_rule("cubic")
    before = net.tcon.counters()
    transfer = Transfer("s", "g1", "10.0.0.1", 2 * MEGA)
    poll(lambda: not transfer.running(), "all has arrived", 60.0, 0.05)
    assert net.tcon.counters()["ecn-downgraded"] == before["ecn-downgraded"] + 1
    assert seen_by("g1", "IpExtInCEPkts")[0] > 100
    assert hosts.tcp_info(transfer.client)["delivered_ce"] > 0, "the guest echoes marks itself"
    transfer.finish()


@accurate_ends
@pytest.mark.parametrize("marked", [True, False], ids=["marked", "unmarked"])
def test_accurate_guest_and_a_later_rule(net: Net, marked: bool) -> None:
    """The ends' counters stay theirs: the guest hears of each mark, and of none that was not."""
    net.cut()
    net.shape(rate="50mbit", delay="5ms")
    with_accurate_ecn("g1", "s")
    if marked:
        mark_all("in_port=p1,tcp")
    transfer = net.transfer(None)
    if not marked:
        net.shape(rate="50mbit", delay="5ms", loss="1%")  # not the SYN: a second asks for no ECN
    poll(lambda: transfer.received_bytes > MEGA, "bytes")
    net.tcon.set_rule("bbr")
    at = transfer.received_bytes
    poll(lambda: transfer.received_bytes > at + 3 * MEGA, "bytes", 60.0)
    hosts.assert_enforced(net.tcon, transfer.sport, "bbr")
    flow = rigs.find_flow(net.tcon, transfer.sport)
    assert flow
    assert genl.ECN_MODES[flow["ecn"]] == "accecn"
    assert flow["ce_bytes"] == 0, "the CC does not hear of them"
    info = hosts.tcp_info(transfer.client)
    if marked:
        assert info["delivered_ce"] > 0.9 * info["delivered"]
    else:
        assert flow["repaired_bytes"] > 0
        assert info["delivered_ce"] == 0
    transfer.finish()
