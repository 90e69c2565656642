# SPDX-License-Identifier: GPL-2.0-only
"""Loss repair under kernels' own TCP: every byte arrives, memory stays bounded.

Losses happen on ifb-s, behind the router, whose super-packets are cut before
they get there; ACKs meet theirs on their own way back.
"""

from __future__ import annotations

import collections
import contextlib
import math
import resource
import socket
import statistics
import struct
import time
from collections.abc import Iterator

import genl
import pytest
import rig as rigs
from hosts import MEGA, PORT, Net, Transfer, assert_enforced, reload_tcon
from rig import counted, poll, run, state

MISCHIEF = {
    "loss": ("loss 3%", "loss 2%"),
    "reordering": ("delay 4ms reorder 70%", "reorder 5%"),
    "duplication": ("duplicate 4%", "duplicate 4%"),
    "corruption": ("corrupt 3%", "corrupt 2%"),
    "all": (
        "delay 2ms reorder 90% loss 2% duplicate 1% corrupt 0.5%",
        "loss 1% duplicate 1% reorder 2% corrupt 0.5%",
    ),
}


@contextlib.contextmanager
def going(net: Net, n: int, size_bytes: int) -> Iterator[list[Transfer]]:
    """``n`` transfers at once; the ones still open at the end are closed."""
    made: list[Transfer] = []
    try:
        for i in range(n):
            made.append(net.transfer(size_bytes, port=PORT + i, family=4 + i % 2 * 2, start=False))
        for transfer in made:
            transfer.start()
        yield made
    finally:
        for transfer in made:
            transfer.close()


def finish(transfers: list[Transfer], timeout_s: float = 120.0) -> None:
    end = time.monotonic() + timeout_s
    for transfer in transfers:
        transfer.finish(end - time.monotonic())


def totals(net: Net, *names: str) -> list[int]:
    """Sums over the half-flows."""
    flows = net.tcon.flows()
    return [sum(int(flow[name]) for flow in flows) for name in names]


# --- integrity ------------------------------------------------------------------------


def fifty(net: Net, cc: str) -> tuple[list[float], set[str]]:
    """Transfers by CUBIC guests under a CC, or, with "none", by themselves.

    Half of them are IPv4, half IPv6.  Their longest stalls in seconds; why some
    were not under repair.
    """
    net.tcon.del_rules()
    net.tcon.set_rule(cc)
    seen: set[str] = set()
    with going(net, 50, MEGA // 5) as transfers:
        if cc != "none":
            for transfer in transfers:
                assert_enforced(net.tcon, transfer.sport, cc)
        ports = {t.sport for t in transfers}
        while any(t.running() for t in transfers):
            seen |= {genl.REASONS[f["reason"]] for f in net.tcon.flows() if f["sport"] in ports}
            time.sleep(0.02)
        finish(transfers)
    return [transfer.stall_s for transfer in transfers], seen


@pytest.fixture(scope="module")
def all_stalls() -> dict[str, tuple[list[float], list[float]]]:
    """Per CC, from all paths: of guests under it, and of those guests by themselves."""
    return {"bbr": ([], []), "cubic": ([], [])}


@pytest.mark.parametrize(
    ("cc", "offloads"), [("bbr", True), ("bbr", False), ("cubic", True)],
    ids=["bbr-tso", "bbr-no-tso", "cubic-tso"],
)  # fmt: skip
@pytest.mark.parametrize("kind", MISCHIEF)
def test_every_byte_arrives(
    net: Net,
    all_stalls: dict[str, tuple[list[float], list[float]]],
    kind: str,
    cc: str,
    offloads: bool,
) -> None:
    """Fifty flows enforced, then as many native: every sum is right."""
    data, acks = MISCHIEF[kind]
    net.shape(rate="50mbit", delay="10ms", mischief=data, ack_mischief=acks)
    net.offloads(offloads)
    net.cut()
    before = net.tcon.counters()
    enforced, reasons = fifty(net, cc)
    grown = collections.Counter({name: n - before[name] for name, n in net.tcon.counters().items()})
    native, _ = fifty(net, "none")
    for name, stalls in (("enforced", enforced), ("native", native)):
        longest = [round(stall_s, 3) for stall_s in sorted(stalls, reverse=True)[:5]]
        print(name, "stalls in s, mean", round(sum(stalls) / len(stalls), 3), "longest", longest)
    all_stalls[cc][0].extend(enforced)
    all_stalls[cc][1].extend(native)
    print(+grown)
    assert reasons <= {"none", "closed", *(["reordering"] if kind in ("reordering", "all") else [])}
    for counter in ("write-failed", "no-memory", "repair-failed", "copy-failed"):
        assert not grown[counter], counter
    if kind in ("loss", "corruption", "all"):
        assert grown["repair-sent"] > 100
    assert bool(grown["bad-checksum"]) == (kind in ("corruption", "all"))
    poll(lambda: net.tcon.held_bytes() == 0, "nothing is held")
    poll(lambda: net.tcon.info("BUFFER_BYTES") == 0, "no copy is left")


def chance_of_stalls(at: int) -> int:
    """How many of a set exceed all but ``at`` of an equal one once in a million draws.

    Of the longest of both, each is of the one or the other set as a coin falls.
    """
    more = 0
    while sum(math.comb(more + at, native) for native in range(at + 1)) >= 1e-6 * 2 ** (more + at):
        more += 1
    return more


@pytest.mark.parametrize("cc", ["bbr", "cubic"])
def test_stalls_are_no_longer_than_natively(
    all_stalls: dict[str, tuple[list[float], list[float]]], cc: str
) -> None:
    """In the mean; and as many as chance allows exceed what one native in a hundred does.

    Over all paths: on each of them by itself, whose longest of a hundred is
    longer is chance, and a CUBIC guest's stall is how its window falls into
    bursts in a queue that never empties.  A CUBIC guest's mean is shorter by 0.03 s,
    which is three standard errors: three more are allowed.
    """
    enforced, native = (sorted(stalls, reverse=True) for stalls in all_stalls[cc])
    if not native:
        pytest.skip("test_every_byte_arrives was not run")
    at = len(native) // 100
    for name, stalls in (("enforced", enforced), ("native", native)):
        print(name, "stalls in s, mean", round(sum(stalls) / len(stalls), 3), stalls[: at + 1])
    chance = 3 * math.sqrt(
        len(native) * (statistics.variance(enforced) + statistics.variance(native))
    )
    assert sum(enforced) <= sum(native) + chance
    assert sum(stall_s > native[at] for stall_s in enforced) < chance_of_stalls(at)


@pytest.mark.parametrize("offloads", [True, False], ids=["tso", "no-tso"])
def test_guest_does_not_notice(net: Net, offloads: bool) -> None:
    """A CUBIC guest through loss: it repeats next to nothing, and is not slowed down."""
    net.shape(rate="50mbit", delay="10ms", loss="2%")
    net.offloads(offloads)
    net.cut()
    net.tcon.set_rule("bbr")
    transfer = net.transfer(4 * MEGA)
    start_s = time.monotonic()
    transfer.finish()
    flow = rigs.find_flow(net.tcon, transfer.sport)
    assert flow
    assert flow["repairs"] > 30
    assert flow["repeated_bytes"] + flow["absorbed"] * 1448 < flow["sent_bytes"] / 100
    assert 4 * MEGA * 8 / (time.monotonic() - start_s) > 25e6


# --- memory -----------------------------------------------------------------------------


def hard_bytes(bound: int) -> int:
    """At twice a bound all that waits leaves, and arrivals in that time are kept."""
    return 3 * bound


@pytest.mark.parametrize("bound", ["buffer_port_bytes", "buffer_host_bytes"])
def test_many_lossy_flows_stay_inside_a_bound(net: Net, bound: str) -> None:
    wanted = 200
    net.shape(rate="100mbit", delay="20ms", loss="2%")
    net.cut()
    net.tcon.set_rule("bbr")
    resource.setrlimit(resource.RLIMIT_NOFILE, (8192, 8192))
    limit, most, flows = wanted * MEGA // 160, 0, 0
    hard = hard_bytes(limit)
    with rigs.parameters(**{bound: limit}), going(net, wanted, MEGA // 20) as transfers:
        while any(t.running() for t in transfers):
            (port,) = (p for p in net.tcon.ports() if p["ifname"] == "p1")
            most = max(most, int(port["buffer_bytes"]))
            flows = max(flows, net.tcon.info("FLOWS"))
            assert net.tcon.info("BUFFER_BYTES") <= hard
            time.sleep(0.02)
        finish(transfers)
        repairs = totals(net, "repairs")[0]
    print("most copies:", most, "bytes; most half-flows:", flows, "repairs:", repairs)
    assert limit / 2 < most, "too short a test"
    assert flows >= wanted
    assert repairs, "of 140 losses; those without a copy are the guests', and that is most"
    poll(lambda: net.tcon.info("BUFFER_BYTES") == 0, "no copy is left")


def test_flow_bound(net: Net) -> None:
    net.shape(rate="100mbit", delay="40ms", loss="1%")
    net.cut()
    net.tcon.set_rule("bbr")
    limit, most = 256 << 10, 0
    with rigs.parameters(buffer_flow_bytes=limit), going(net, 2, 2 * MEGA) as transfers:
        while any(t.running() for t in transfers):
            most = max([most, *(int(f["buffer_bytes"]) for f in net.tcon.flows())])
            time.sleep(0.01)
        finish(transfers)
    assert limit / 2 < most <= hard_bytes(limit)


@pytest.mark.parametrize("bound", ["buffer_flow_bytes", "buffer_port_bytes", "buffer_host_bytes"])
def test_bound_of_nearly_nothing(net: Net, bound: str) -> None:
    """No copies, no repair: every transfer ends all the same."""
    net.shape(rate="50mbit", delay="10ms", loss="2%")
    net.cut()
    net.tcon.set_rule("bbr")
    with rigs.parameters(**{bound: 4096}), going(net, 8, MEGA // 4) as transfers:
        before = net.tcon.counters()
        finish(transfers)
        assert net.tcon.counters()["copy-pressure"] > before["copy-pressure"]


# --- comings and goings -------------------------------------------------------------------


@pytest.mark.parametrize("cc", ["cubic", "bbr"])
def test_unload_in_the_middle_of_recovery(net: Net, cc: str) -> None:
    """100 flows; TCon's state of them is gone, and the guests find out by themselves."""
    net.shape(rate="50mbit", delay="20ms", loss="3%")
    net.cut()
    net.tcon.set_rule(cc)
    with going(net, 100, MEGA // 8) as transfers:
        poll(lambda: totals(net, "repairs")[0] > 100, "many have repaired something")
        copies, repairs = totals(net, "buffer_bytes", "repairs")
        print("unloaded with", copies, "bytes of copies and", repairs, "repairs")
        assert copies
        running = sum(t.running() for t in transfers)
        reload_tcon(net)
        assert running > 50, "too short a test"
        finish(transfers)


@pytest.mark.parametrize("what", ["port", "bridge"])
def test_deleted_with_copies(net: Net, what: str) -> None:
    """Nothing leaks: the totals are zero and rmmod finds every cache empty."""
    net.shape(rate="10mbit", delay="20ms", loss="2%")
    net.tcon.set_rule("bbr")
    with going(net, 3, 4 * MEGA) as transfers:
        poll(lambda: totals(net, "repairs")[0] > 3 and net.tcon.info("BUFFER_BYTES") > 0, "copies")
        if what == "port":
            rigs.ip("link del p1")
        else:
            run("ovs-vsctl", "del-br", "br0")
        poll(lambda: not any(p["ifname"] == "p1" for p in net.tcon.ports()), "the port is gone")
        assert net.tcon.info("BUFFER_BYTES") == 0
        assert net.tcon.held_bytes() == 0
        assert not net.tcon.flows()
        for transfer in transfers:
            for sock in (transfer.client, transfer.server):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    for module in (*rigs.CCS, "tcon"):
        rigs.unload(module)


def test_repair_switched_off_and_on(net: Net) -> None:
    net.shape(rate="20mbit", delay="10ms", loss="1%")
    net.cut()
    net.tcon.set_rule("bbr")
    with rigs.parameters(repair=0), counted(net.tcon, repair_sent=0, ack_hidden=0):
        transfer = net.transfer()
        poll(lambda: totals(net, "repeated_bytes")[0], "the guest repairs", 30)
        assert state(net.tcon, transfer.sport) == ("window-enforced", "repair-off", "bbr")
        for flow in net.tcon.flows():
            assert flow["held_bytes"] or not flow["buffer_bytes"]
    poll(lambda: state(net.tcon, transfer.sport)[0] == "repair-enforced", "it is repaired again")
    transfer.finish()


@pytest.mark.parametrize("offloads", [True, False], ids=["tso", "no-tso"])
@pytest.mark.parametrize("family", [4, 6])
def test_path_mtu_falls(net: Net, family: int, offloads: bool) -> None:
    """The router says so, the guest cuts smaller ones, TCon's old copies are given up."""
    net.shape(rate="20mbit", delay="10ms")
    net.offloads(offloads)
    net.cut()
    net.tcon.set_rule("bbr")
    transfer = net.transfer(family=family)
    poll(lambda: transfer.received_bytes > MEGA // 2, "it runs", 30)
    assert_enforced(net.tcon, transfer.sport, "bbr")
    fell = net.tcon.counters()["mtu-fell"]
    rigs.ip("link set r-s mtu 1300", ns="r")
    at = transfer.received_bytes
    poll(lambda: transfer.received_bytes > at + MEGA // 2, "it goes on", 30)
    assert net.tcon.counters()["mtu-fell"] > fell
    poll(lambda: state(net.tcon, transfer.sport)[0] == "repair-enforced", "it is repaired again")
    transfer.finish()
    assert transfer.stall_s < 2


def black_hole_s(net: Net, cc: str, family: int) -> float:
    """How long 4 MB take when, after the first, packets of more than 1280 bytes vanish.

    Nobody says so: a guest that probes (RFC 4821) finds it out by itself.
    """
    run("nft", "flush", "ruleset", ns="s")
    net.tcon.del_rules()
    net.tcon.set_rule(cc)
    transfer = net.transfer(4 * MEGA, family=family, cc="bbr" if cc == "none" else "cubic")
    began = time.monotonic()
    poll(lambda: transfer.received_bytes > MEGA, "the first quarter", 20)
    rule = "table inet hole { chain in { type filter hook input priority 0;"
    run("nft", "-f", "-", ns="s", stdin=f"{rule} meta length > 1280 drop; }}; }}\n")
    transfer.finish(60)
    return time.monotonic() - began


@pytest.mark.parametrize("family", [4, 6])
def test_black_hole_is_probed_by_the_guest(net: Net, family: int) -> None:
    """Lost probes are the guest's own business, and repairs are no larger than it sends.

    TCon's timer goes off three times before it leaves the guest alone: 1.4 s.  One in some waits as
    long again, for a time-out of the guest's.
    """
    net.shape(rate="20mbit", delay="20ms")
    net.cut()
    rigs.sysctl("ipv4/tcp_mtu_probing", 1, "g1")
    times = 3
    native_s, *enforced_s = (
        sum(black_hole_s(net, cc, family) for _ in range(times)) for cc in ("none", "bbr", "cubic")
    )
    print(f"native {native_s:.1f} s, enforced {enforced_s}")
    assert max(enforced_s) < native_s + times * 2 * 1.4


# --- what limits a flow ---------------------------------------------------------------------


def shares(net: Net, sport: int) -> dict[str, float]:
    """Seconds by what limited; their sum is the time from first to last packet."""
    flow = rigs.find_flow(net.tcon, sport)
    assert flow
    raw = int(flow["limited_us"]).to_bytes(8 * len(genl.LIMITS), "little")
    found = dict(zip(genl.LIMITS, (us / 1e6 for us in struct.unpack("=4Q", raw)), strict=True))
    life_s = (int(flow["age_ms"]) - int(flow["idle_ms"])) / 1e3
    print(found, "of", life_s)
    assert sum(found.values()) == pytest.approx(life_s, rel=0.03)
    return found


def mostly(net: Net, sport: int, what: str) -> None:
    found = shares(net, sport)
    assert found[what] > 0.8 * sum(found.values()), found


def test_bulk_flow_is_limited_by_the_window(net: Net) -> None:
    net.shape(rate="20mbit", delay="20ms")
    net.tcon.set_rule("bbr")
    transfer = net.transfer(6 * MEGA)
    poll(lambda: transfer.received_bytes > 5 * MEGA, "it runs", 60)
    mostly(net, transfer.sport, "window")
    transfer.finish()


def pair(net: Net, receive_bytes: int = 1 << 20) -> tuple[socket.socket, socket.socket]:
    """A guest's socket and the server's, connected; the server's buffer is so large."""
    with rigs.inside("s"):
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        listener.bind((net.addresses[0], PORT))
        listener.listen()
    with rigs.inside("g1"):
        client = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    client.connect((net.addresses[0], PORT))
    server, _ = listener.accept()
    listener.close()
    return client, server


def test_receiver_that_does_not_read(net: Net) -> None:
    net.shape(rate="50mbit", delay="10ms")
    net.tcon.set_rule("bbr")
    client, server = pair(net, 65536)
    with client, server:
        client.setblocking(False)
        end_s = time.monotonic() + 4
        while time.monotonic() < end_s:
            with contextlib.suppress(BlockingIOError):
                client.send(bytes(65536))
            time.sleep(0.05)
        mostly(net, client.getsockname()[1], "receiver")


def test_one_request_a_second(net: Net) -> None:
    net.shape(rate="50mbit", delay="20ms")
    net.tcon.set_rule("bbr")
    client, server = pair(net)
    with client, server:
        for _ in range(6):
            client.send(bytes(300))
            assert server.recv(1000)
            time.sleep(1)
        client.send(bytes(300))
        assert server.recv(1000)
        mostly(net, client.getsockname()[1], "idle")


def test_guest_with_a_tiny_send_buffer(net: Net) -> None:
    net.shape(rate="50mbit", delay="40ms")
    # A buffer holds a super-packet, however small it is, and takes more whenever a part of
    # that is sent.  Linux's TCP makes them also for a device that cannot.
    rigs.ip("link set eth0 gso_max_segs 2", ns="g1")
    net.tcon.set_rule("cubic")
    client, server = pair(net)
    with client, server:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4608)
        client.setblocking(False)
        server.setblocking(False)
        end_s = time.monotonic() + 4
        while time.monotonic() < end_s:
            with contextlib.suppress(BlockingIOError):
                client.send(bytes(4096))
            with contextlib.suppress(BlockingIOError):
                server.recv(1 << 20)
            time.sleep(0.0005)
        mostly(net, client.getsockname()[1], "guest")
