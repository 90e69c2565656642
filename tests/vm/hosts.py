# SPDX-License-Identifier: GPL-2.0-only
"""Guests with kernels' own TCP: what the system tests build their networks from.

The usual topology; s is the only hop with a delay, at the receiver's side of
TCon, as a path has it:

    guest g1 -- p1 [br0] up0 -- router r -- server s
                                 rate ^       ^ delay, loss
"""

from __future__ import annotations

import functools
import hashlib
import json
import random
import socket
import struct
import threading
import time
from dataclasses import dataclass, field

import genl
import rig as rigs
from rig import Rig, poll, run

PORT = 5201
MEGA = 1_000_000


# --- transfers ------------------------------------------------------------------


@functools.cache
def some_bytes(size_bytes: int) -> bytes:
    """The same for all transfers of a size."""
    return random.Random(size_bytes).randbytes(size_bytes)


class Transfer:
    """Random bytes from a client to a server, in the background.

    ``size_bytes`` of them or, without a size, until finish(): a test that runs beside it may
    take as long as it does.  Both sockets live in their namespaces, the threads in this
    process.
    """

    def __init__(
        self,
        client: str | None,
        server: str | None,
        address: str,
        size_bytes: int | None,
        *,
        port: int = PORT,
        cc: str = "cubic",
        chunk_bytes: int = 65536,
        start: bool = True,
    ) -> None:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.data = some_bytes(size_bytes or MEGA)
        self.ends = threading.Event()
        if size_bytes is not None:
            self.ends.set()
        self.sent, self.received = hashlib.sha256(), hashlib.sha256()
        self.sent_bytes = self.received_bytes = 0
        self.stall_s = 0.0  # longest time without progress
        self.error: OSError | None = None
        self.chunk_bytes = chunk_bytes
        with rigs.inside(server):
            self.listener = socket.create_server((address, port), family=family)
        with rigs.inside(client):
            self.client = socket.socket(family, socket.SOCK_STREAM)
        self.client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
        self.listener.settimeout(20)
        self.client.settimeout(60)
        self.client.connect((address, port))
        self.sport = self.client.getsockname()[1]
        self.server, self.peer_name = self.listener.accept()
        self.server.settimeout(60)
        self.threads = [
            threading.Thread(target=f, daemon=True) for f in (self._send, self._receive)
        ]
        if start:
            self.start()

    def start(self) -> None:
        """Begin, where it has not begun."""
        for thread in self.threads:
            thread.start()

    def _send(self) -> None:
        try:
            self._send_data()
            while not self.ends.is_set():
                self._send_data()
            self.client.shutdown(socket.SHUT_WR)
        except OSError as error:
            self.error = error

    def _send_data(self) -> None:
        for at in range(0, len(self.data), self.chunk_bytes):
            chunk = self.data[at : at + self.chunk_bytes]
            self.client.sendall(chunk)
            self.sent.update(chunk)
            self.sent_bytes += len(chunk)

    def _receive(self) -> None:
        last_s = time.monotonic()
        try:
            while chunk := self.server.recv(1 << 18):
                self.received.update(chunk)
                self.received_bytes += len(chunk)
                now_s = time.monotonic()
                self.stall_s = max(self.stall_s, now_s - last_s)
                last_s = now_s
        except OSError as error:
            self.error = error

    def running(self) -> bool:
        return any(thread.is_alive() for thread in self.threads)

    def finish(self, timeout_s: float = 60.0) -> None:
        """Wait for the end; every byte must have arrived as it was."""
        self.ends.set()
        poll(lambda: not self.running(), "the transfer ends", timeout_s, 0.05)
        self.close()
        assert not self.error, self.error
        assert self.received_bytes == self.sent_bytes
        assert self.received.digest() == self.sent.digest()

    def close(self) -> None:
        for sock in (self.client, self.server, self.listener):
            sock.close()


# struct tcp_info (linux/tcp.h): offsets of what is compared.
_TCP_INFO_BYTES = 232
_INFO = {
    "state": ("B", 0), "options": ("B", 5), "rtt": ("I", 68), "bytes_acked": ("Q", 120),
    "min_rtt": ("I", 148), "delivery_rate": ("Q", 160), "delivered": ("I", 192),
    "delivered_ce": ("I", 196), "bytes_sent": ("Q", 200),
}  # fmt: skip


def tcp_info(sock: socket.socket) -> dict[str, int]:
    """What `ss -tin` prints of a socket."""
    raw = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
    return {name: struct.unpack_from(f"={kind}", raw, at)[0] for name, (kind, at) in _INFO.items()}


# --- topologies -------------------------------------------------------------------


@dataclass
class Net:
    """A rig, and how its guests reach its server."""

    rig: Rig
    tcon: genl.Genl
    guest: str = "g1"
    server: str = "s"
    addresses: tuple[str, str] = ("10.1.0.2", "fd01::2")
    offload_devices: list[tuple[str | None, str]] = field(default_factory=list)

    def transfer(
        self, size_bytes: int | None = None, *, family: int = 4, **options: object
    ) -> Transfer:
        address = self.addresses[0] if family == 4 else self.addresses[1]
        return Transfer(self.guest, self.server, address, size_bytes, **options)

    def acknowledged(self, transfer: Transfer) -> dict[str, object]:
        """Wait until all that was sent has arrived and is acknowledged; the flow then."""
        poll(lambda: not transfer.running(), "all has arrived", 60.0, 0.05)

        def found() -> dict[str, object] | None:
            flow = rigs.find_flow(self.tcon, transfer.sport)
            return flow if flow and not flow["inflight_bytes"] else None

        return poll(found, "all is acknowledged")

    def wait_for_path(self) -> None:
        """A carrier is noticed up to a second late; where CPU work is free, that is late."""
        for one in self.addresses:
            ping = ("ping", "-c1", "-W1", one)
            poll(lambda ping=ping: "1 received" in run(*ping, check=False, ns=self.guest),
                 f"{one} answers")  # fmt: skip

    def shape(self, *, rate: str = "100mbit", delay: str = "20ms", loss: str = "0%",
              burst_bytes: int = 16000, mischief: str = "",
              ack_mischief: str = "") -> None:  # fmt: skip
        """The bottleneck, and what lies beyond it; mischief is netem's words, for data and ACKs.

        After a pause burst_bytes pass at once.
        """
        beyond = [f"qdisc replace dev s-e root netem delay {delay} limit 10000 {ack_mischief}"]
        wreck = f"{mischief} {f'loss {loss}' if loss != '0%' else ''}".strip()
        if wreck:
            rigs.ip("link add ifb-s type ifb", "link set ifb-s up", ns="s")
            beyond += [
                "qdisc add dev s-e ingress",
                "filter add dev s-e parent ffff: matchall action mirred egress redirect dev ifb-s",
                f"qdisc add dev ifb-s root netem limit 10000 {wreck}",
            ]
        run("tc", "-batch", "-", ns="s", stdin="\n".join(beyond) + "\n")
        run("tc", "qdisc", "replace", "dev", "r-s", "root", "handle", "1:", "tbf", "rate", rate,
            "burst", str(burst_bytes), "limit", "3000000", ns="r")  # fmt: skip

    def cut(self) -> None:
        """The router hands on single segments, as a wire does.

        So parts of a super-packet can be lost.  Nor does anybody check sums on
        the way: what GRO has found right would be believed even if netem then
        turned a bit of it.  And no ARP is lost, which nobody repairs.
        """
        run("ethtool", "-K", "r-s", "tso", "off", "gso", "off", ns="r")
        for ns, dev in (("r", "r-u"), ("r", "r-s"), ("s", "s-e")):
            run("ethtool", "-K", dev, "gro", "off", ns=ns)
        pin("r", "r-s", "s", "s-e", *self.addresses)
        pin("s", "s-e", "r", "r-s", "10.1.0.254", "fd01::fe")

    def offloads(self, on: bool) -> None:
        """Super-packets everywhere, or nowhere."""
        word = "on" if on else "off"
        for ns, dev in self.offload_devices:
            run("ethtool", "-K", dev, "tso", word, "gso", word, "gro", word, ns=ns)


def address(ns: str | None, dev: str, *addresses: str, gateways: tuple[str, ...] = ()) -> None:
    """Configure a device; IPv6 without duplicate address detection."""
    rigs.ip(
        "link set lo up",
        *(f"addr add {one} dev {dev}{' nodad' if ':' in one else ''}" for one in addresses),
        f"link set {dev} up",
        *(f"route add default via {one}" for one in gateways),
        ns=ns,
    )


def mac(dev: str, ns: str) -> str:
    """The hardware address of a device."""
    return json.loads(run("ip", "-j", "link", "show", dev, ns=ns))[0]["address"]


def pin(ns: str, dev: str, other_ns: str, other_dev: str, *addresses: str) -> None:
    """Tell a namespace the hardware address of a neighbour for good."""
    other = mac(other_dev, other_ns)
    rigs.ip(*(f"neigh replace {one} lladdr {other} dev {dev}" for one in addresses), ns=ns)


def ends_of_path(rig: Rig) -> None:
    """Router r and server s behind the uplink up0."""
    rig.namespace("r", "s")
    rig.veth("up0", "r-u", "r", quiet=False)
    rigs.ip("link add r-s type veth peer name s-e netns s", ns="r")
    address("r", "r-u", "10.0.0.254/24", "fd00::fe/64")
    address("r", "r-s", "10.1.0.254/24", "fd01::fe/64")
    address("s", "s-e", "10.1.0.2/24", "fd01::2/64", gateways=("10.1.0.254", "fd01::fe"))
    for setting in ("ipv4/ip_forward", "ipv6/conf/all/forwarding"):
        rigs.sysctl(setting, 1, "r")


def guest(rig: Rig, name: str, dev: str, number: int) -> None:
    """A guest's namespace, its device called eth0."""
    rig.namespace(name)
    rig.veth(dev, "eth0", name, quiet=False)
    address(name, "eth0", f"10.0.0.{number}/24", f"fd00::{number}/64",
            gateways=("10.0.0.254", "fd00::fe"))  # fmt: skip


@functools.cache
def load_queues() -> None:
    """The modules that shape a path; no test takes them away."""
    run("modprobe", "-a", "sch_netem", "sch_tbf", "sch_ingress", "act_mirred", "cls_matchall",
        "ifb", "tcp_bbr")  # fmt: skip


def usual(rig: Rig, tcon: genl.Genl) -> Net:
    """The usual topology on a bridge that learns."""
    load_queues()
    ends_of_path(rig)
    guest(rig, "g1", "p1", 1)
    rig.bridge("br0", normal=True)
    rig.port("br0", "p1")
    rig.port("br0", "up0", "UPLINK")
    made = Net(rig, tcon)
    made.offload_devices = [("g1", "eth0"), (None, "p1"), (None, "up0"), ("r", "r-u"), ("r", "r-s"),
                            ("s", "s-e")]  # fmt: skip
    made.wait_for_path()
    return made


def reload_tcon(net: Net) -> None:
    """Remove and load tcon.ko with its CCs; ports and rules are told again."""
    for module in (*rigs.CCS, "tcon"):
        rigs.unload(module)
    rigs.load_all()
    net.tcon = net.rig.genl = genl.Genl()
    for dev, role in (("p1", "AUTO"), ("up0", "UPLINK")):
        number = int(run("ovs-vsctl", "get", "Interface", dev, "ofport"))
        net.rig.tell("br0", dev, number, role)


def assert_enforced(tcon: genl.Genl, sport: int, cc: str, ifname: str = "p1") -> None:
    """The half-flow runs this CC and is repaired."""
    found = rigs.state(tcon, sport, ifname)
    assert found == ("repair-enforced", "none", cc), found
