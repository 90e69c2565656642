# SPDX-License-Identifier: GPL-2.0-only
"""The way into the datapath: loaded and unloaded under traffic, ports that come and go.

Through the hooks of a patched openvswitch.ko as `make virtual` runs this, and through
netfilter's, with the distribution's openvswitch.ko, as `make netfilter` does.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path

import genl
import hosts
import pytest
import rig as rigs
import wire
import xdp
from hosts import PORT, Net, assert_enforced, guest, reload_tcon
from rig import Conn, counted, poll, run, state
from tcon_lab.ovs import appctl
from wire import ACK, PSH

Ends = tuple[rigs.RawEnd, rigs.RawEnd]

MSS = 1448
PATCHED = rigs.ATTACH == "auto"  # as openvswitch.ko is here
NAME = "openvswitch" if PATCHED else rigs.ATTACH


# --- which way ------------------------------------------------------------------


def test_it_is_told(tcon: genl.Genl) -> None:
    assert tcon.attach() == NAME
    assert f"\nattach: {NAME}\n" in appctl("tcon/show")


def load_with(attach: str) -> None:
    """Load tcon.ko, which is not, and no CC."""
    run("modprobe", "tcon", f"attach={attach}")


@pytest.fixture
def unloaded(machine: None) -> None:
    """Without tcon.ko."""
    run("rmmod", *rigs.CCS, "tcon")


REFUSED = {"bridge": "attach=bridge: it is auto, netfilter or openvswitch"}
if not PATCHED:
    REFUSED["openvswitch"] = "attach=openvswitch: openvswitch.ko is not a patched one"


@pytest.mark.parametrize("attach", REFUSED)
@pytest.mark.usefixtures("unloaded")
def test_what_cannot_be_is_refused_in_one_sentence(attach: str) -> None:
    with rigs.kernel_log() as records, pytest.raises(RuntimeError, match="could not insert"):
        load_with(attach)
    assert [REFUSED[attach] in record for record in records if "tcon: " in record] == [True]
    assert not Path("/sys/module/tcon").exists()


WAYS = {"auto": NAME, NAME: NAME, "netfilter": "netfilter"}


@pytest.mark.parametrize("attach", WAYS)
def test_each_way_can_be_had(rig: rigs.Rig, attach: str) -> None:
    """Also netfilter's where openvswitch.ko is a patched one."""
    run("rmmod", *rigs.CCS, "tcon")
    load_with(attach)
    rigs.load_all()
    rig.genl = client = genl.Genl()
    assert client.attach() == WAYS[attach]
    client.set_rule("cubic")
    conn = Conn(*rig.scripted()).handshake()
    assert state(client, conn.sport) == ("repair-enforced", "none", "cubic")
    conn.guest_sends(PSH | ACK, bytes(MSS))
    with counted(client, window_written=1, ack_in=1):
        assert conn.peer_sends(window=0x8000).window < 0x8000
    run("rmmod", *rigs.CCS, "tcon")


# --- under traffic -----------------------------------------------------------------

# struct tcp_info (linux/tcp.h).
TOTAL_RETRANS, RCV_OOOPACK = 100, 224
SO_RCVBUFFORCE = 33  # asm-generic/socket.h


class Stream:
    """A guest's bulk data, and datagrams with numbers beside it, until told to stop.

    Its flight fits into the path's queue, so that nothing is lost there.
    """

    def __init__(self, net: Net, port: int) -> None:
        self.bulk = net.transfer(0, port=port, start=False)
        self.bulk.client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 250_000)
        with rigs.inside(net.server):
            self.sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sink.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 32 << 20)
        self.sink.settimeout(2)
        self.sink.bind(("", port))
        with rigs.inside(net.guest):
            self.source = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.source.connect((net.addresses[0], port))
        self.stop = threading.Event()
        self.sent_bytes = self.datagrams = 0
        self.threads = [
            threading.Thread(target=work, daemon=True) for work in (self._send, self._receive)
        ]
        for thread in self.threads:
            thread.start()

    def _send(self) -> None:
        chunk = bytes(65536)
        while not self.stop.is_set():
            self.bulk.client.sendall(chunk)
            self.sent_bytes += len(chunk)
            self.source.send(struct.pack("!I", self.datagrams))
            self.datagrams += 1
        self.bulk.client.shutdown(socket.SHUT_WR)

    def _receive(self) -> None:
        while chunk := self.bulk.server.recv(1 << 18):
            self.bulk.received_bytes += len(chunk)

    def goes_on(self, count_bytes: int = 2_000_000) -> None:
        """Wait for this much more of it."""
        start = self.bulk.received_bytes
        poll(lambda: self.bulk.received_bytes > start + count_bytes, "it is sent", 30)

    def end(self) -> None:
        """Stop, and wait for the end."""
        self.stop.set()
        for thread in self.threads:
            thread.join(60)

    def check(self) -> None:
        """Everything has arrived once, in order."""
        info = [
            sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232)
            for sock in (self.bulk.client, self.bulk.server)
        ]
        (repeated,) = struct.unpack_from("=I", info[0], TOTAL_RETRANS)
        (reordered,) = struct.unpack_from("=I", info[1], RCV_OOOPACK)
        numbers = [struct.unpack("!I", self.sink.recv(64))[0] for _ in range(self.datagrams)]
        assert self.bulk.received_bytes == self.sent_bytes
        assert numbers == list(range(self.datagrams))
        assert (repeated, reordered) == (0, 0), run("nstat", "-as", ns="g1")
        self.bulk.close()
        self.sink.close()
        self.source.close()


@pytest.mark.parametrize("cc", ["cubic", "bbr"])
def test_loaded_and_unloaded_under_traffic(net: Net, cc: str) -> None:
    """At 1 Gbit/s no packet is lost, and none overtakes another, though BBR holds some.

    On Linux 6.12 a module is loaded in 10 ms of a CPU on which nobody else runs.  With one CPU the
    receiver is silent long enough for a guest's tail loss probe (RFC 8985, 7), which TCon does not
    know.  Without probes each repeat is for something that was lost or overtaken.
    """
    rigs.sysctl("ipv4/tcp_early_retrans", 0, net.guest)
    net.shape(rate="1gbit", delay="2ms", burst_bytes=200_000)
    net.tcon.set_rule(cc)
    streams = [Stream(net, PORT + 1)]
    assert_enforced(net.tcon, streams[0].bulk.sport, cc)
    streams[0].goes_on()
    if cc == "bbr":
        poll(lambda: net.tcon.held_bytes() > 0, "something is held", 20, 0.001)
    for _ in range(3):
        reload_tcon(net)
        net.tcon.set_rule(cc)
        streams[0].goes_on()
        assert state(net.tcon, streams[0].bulk.sport) == ("observed", "mid-stream", "none")
    streams.append(Stream(net, PORT + 2))
    assert_enforced(net.tcon, streams[1].bulk.sport, cc)
    streams[1].goes_on()
    for stream in streams:
        stream.end()
    for stream in streams:
        stream.check()


# --- ports that come and go ---------------------------------------------------------


def leave(rig: rigs.Rig) -> None:
    """The bridge, which has let what waits pass before."""
    run("ovs-vsctl", "del-port", "br0", "p1")


def go(rig: rigs.Rig) -> None:
    rigs.ip("link del p1")


def move(rig: rigs.Rig) -> None:
    rigs.ip("link set p1 netns r")


def lose_bridge(rig: rigs.Rig) -> None:
    """As leave()."""
    run("ovs-vsctl", "del-br", "br0")


def lose_guest(rig: rigs.Rig) -> None:
    """The other end of its veth goes with its namespace."""
    rigs.ip("netns del g1")
    rig.namespaces.remove("g1")


@pytest.mark.parametrize("goes", [leave, go, move, lose_bridge, lose_guest])
def test_what_a_port_holds_goes_with_it(net: Net, goes: Callable[[rigs.Rig], None]) -> None:
    net.shape(rate="10mbit", delay="20ms")
    net.tcon.set_rule("bbr")
    before = net.tcon.counters()["hold-purged"]
    transfer = net.transfer(4_000_000)
    poll(lambda: net.tcon.held_bytes() > 0, "something is held", step_s=0.001)
    for sock in (transfer.client, transfer.server):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    if goes is lose_guest:  # a socket keeps its namespace
        transfer.close()
        poll(lambda: not transfer.running(), "its threads have ended")
    goes(net.rig)
    poll(lambda: not any(p["ifname"] == "p1" for p in net.tcon.ports()), "the port is gone")
    assert net.tcon.held_bytes() == 0
    assert not net.tcon.flows()
    if goes in (go, move):
        assert net.tcon.counters()["hold-purged"] > before
    if goes is not lose_guest:
        transfer.close()
    run("rmmod", *rigs.CCS, "tcon")  # a half-flow that is left makes it complain


def delete_vport(name: str) -> None:
    """What `ovs-dpctl del-if` does, at once (linux/openvswitch.h)."""
    client = genl.Genl("ovs_vport")
    ovs_vport_cmd_del, ovs_vport_attr_name = 2, 3
    request = struct.pack("=BBHi", ovs_vport_cmd_del, 1, 0, 0) + genl.text(
        ovs_vport_attr_name, name
    )
    list(client.raw(client.family, request, genl.NLM_F_ACK))


def test_port_that_the_datapath_loses_at_once(net: Net) -> None:
    """Not by vswitchd, which would let pass what waits, and adds it again."""
    net.shape(rate="10mbit", delay="20ms")
    net.tcon.set_rule("bbr")
    before = net.tcon.counters()["hold-purged"]
    transfer = net.transfer(4_000_000)
    poll(lambda: net.tcon.held_bytes() > 0, "something is held", step_s=0.001)
    delete_vport("p1")
    assert net.tcon.counters()["hold-purged"] > before
    poll(lambda: any(p["ifname"] == "p1" for p in net.tcon.ports()), "the port is back")
    transfer.finish()
    poll(lambda: net.tcon.held_bytes() == 0, "nothing is held")


def test_port_that_comes_back_is_a_new_one(net: Net) -> None:
    """The port is new, though its device stays."""
    net.tcon.set_rule("cubic")
    leave(net.rig)
    poll(lambda: not any(p["ifname"] == "p1" for p in net.tcon.ports()), "the port is gone")
    net.rig.port("br0", "p1")
    net.wait_for_path()
    transfer = net.transfer(100_000)
    assert_enforced(net.tcon, transfer.sport, "cubic")
    transfer.finish()


def test_bridge_that_is_there_before_tcon(rig: rigs.Rig, tcon: genl.Genl) -> None:
    """Ports are found at loading: guests', and those that never are."""
    hosts.load_queues()
    rig.bridge("br0", normal=True)
    guest(rig, "g1", "p1", 1)
    rig.port("br0", "p1")
    known = {p["ifname"]: (p["role"], p["why"]) for p in tcon.ports()}
    run("rmmod", *rigs.CCS, "tcon")
    rigs.load_all()
    rig.genl = client = genl.Genl()
    assert {p["ifname"]: (p["role"], p["why"]) for p in client.ports()} == known
    assert known["p1"] == (genl.E["TCON_ROLE_GUEST"], genl.E["TCON_WHY_VIRTUAL"])
    assert known["br0"] == (genl.E["TCON_ROLE_NEVER"], genl.E["TCON_WHY_INTERNAL"])


# --- neighbours on the device ---------------------------------------------------------


def send_twenty(conn: Conn, peer_end: rigs.RawEnd, tcon: genl.Genl) -> int:
    """An initial window, and as much that waits; what the first sequence number was."""
    with counted(tcon, held=10, released=10):
        for _ in range(20):
            conn.clock += 1
            conn.guest_ts = conn.clock
            conn.guest.send(conn.from_guest(PSH | ACK, bytes(MSS)).frame())
            conn.guest_nxt += MSS
        first = conn.isn[0] + 1
        for i in range(10):
            got = conn.receive(peer_end)
            assert got
            assert got.seq == first + i * MSS
        for i in range(10, 20):
            ack = conn.from_peer(ack=first + (i - 9) * MSS)
            peer_end.send(ack.frame())
            got = conn.receive(peer_end)
            assert got
            assert got.sums_ok
            assert got.seq == first + i * MSS
    return first


def test_who_listens_sees_each_packet_once(rig: rigs.Rig, tcon: genl.Genl) -> None:
    """A tap on the port has what the guest sent, once, held or not."""
    guest_end, peer_end = rig.scripted()
    tap = rig.raw("p1")
    tcon.set_rule("cubic")
    conn = Conn(guest_end, peer_end).handshake()
    first = send_twenty(conn, peer_end, tcon)
    seen = []
    while segment := conn.receive(tap, 0.2):
        if segment.payload:
            seen.append(segment.seq)
    assert seen == [first + i * MSS for i in range(20)]


@pytest.mark.skipif(rigs.DEBUG_KERNEL, reason="that kernel has no BPF")
def test_generic_xdp_sees_each_packet_once(rig: rigs.Rig, tcon: genl.Genl) -> None:
    """Held or not: a program that polices would count twice, one that adds a header add two."""
    guest_end, peer_end = rig.scripted()
    tcon.set_rule("cubic")
    conn = Conn(guest_end, peer_end).handshake()
    with xdp.counting("p1") as seen:
        before = seen()
        send_twenty(conn, peer_end, tcon)
        assert seen() - before == 20


def test_packet_that_somebody_shares(rig: rigs.Rig, tcon: genl.Genl) -> None:
    """pktgen hands the same one in again and again: each goes on, none is written to."""
    run("modprobe", "pktgen")
    _, peer_end = rig.scripted()
    tcon.set_rule("cubic")
    with rigs.inside(None):
        Path("/proc/net/pktgen/kpktgend_0").write_text("add_device p1\n")
        for line in ("xmit_mode netif_receive", "count 64", "burst 8", "pkt_size 200",
                     "dst 10.0.1.2", "src_min 10.0.0.1", "dst_mac 02:00:00:00:00:02"):  # fmt: skip
            Path("/proc/net/pktgen/p1").write_text(line + "\n")
        with counted(tcon, not_tcp=64):
            Path("/proc/net/pktgen/pgctrl").write_text("start\n")
            frames = 0
            end_s = time.monotonic() + 5
            while frames < 64 and time.monotonic() < end_s:
                frame = peer_end.recv(0.5)
                if frame and frame[12:14] == b"\x08\0" and len(frame) >= 196:
                    frames += 1
    run("rmmod", "pktgen")
    assert frames == 64


def test_host_that_writes_to_the_guest_itself(rig: rigs.Rig, tcon: genl.Genl) -> None:
    """Not through a bridge: whatever TCon sees of it, it arrives."""
    guest_end, peer_end = rig.scripted()
    here = rig.raw("p1")
    tcon.set_rule("cubic")
    conn = Conn(guest_end, peer_end).handshake()
    sent = conn.from_peer(PSH | ACK, b"from the host")
    here.send(sent.frame())
    got = conn.receive(guest_end)
    assert got
    assert got.payload == sent.payload
    assert isinstance(got, wire.Segment)
