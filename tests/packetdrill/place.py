# SPDX-License-Identifier: GPL-2.0-only
"""Where scripts run: a guest's device tun0 on a bridge, and beyond its uplink the packet side.

    guest's sockets, tun0 -- p1 [br0] up0 -- far (WireEnd)

Each script has a network namespace of its own, into which tun0 is moved: its sysctls, routes,
metrics, cookies and connections go with it.  Its peer is in a network of its own, too: what TCon
remembers of a destination is no other script's.
"""

from __future__ import annotations

import contextlib
import ipaddress
import itertools
import socket
import struct
from collections.abc import Iterator

import wire
from machine import Rig, inside, ip, run
from rig_base import BaseRig
from wire_end import WireEnd

#: What scripts bind and connect to.
PORT = 8080
_GUEST_MAC, _PEER_MAC = b"\x02\0\0\0\0\x01", b"\x02\0\0\0\0\x02"
#: A script may have 9000; what is longer is a super-packet.
_MOST_MTU = 9000

#: As ksft_runner.sh of the kernel's tests has them; a cookie depends on both addresses.
_LOCAL = {4: "192.168.0.1", 6: "fd3d:a0b:17d6::1"}
_REMOTE = {4: "192.0.2.1", 6: "fd3d:fa7b:d17d::1"}
#: Of other scripts each has a network of its own: the length is that of which TCon remembers.
_REMOTES = {4: "198.18.0.0/15", 6: "fd3d:fa7b::/32"}
_NETWORK_BITS = {4: 24, 6: 48}
MTU = {4: 1500, 6: 1520}
_PREFIX = {4: 16, 6: 64}
_DEFAULT = {4: "0.0.0.0/0", 6: "::/0"}
DEFINES = {
    4: {
        "TFO_COOKIE": "3021b9d889017eeb", "TFO_COOKIE_ZERO": "b7c12350a90dc8f5",
        "CMSG_LEVEL_IP": "SOL_IP", "CMSG_TYPE_RECVERR": "IP_RECVERR",
    },
    6: {
        "TFO_COOKIE": "c1d1e9742a47a9bc", "TFO_COOKIE_ZERO": "82af1a8f9a205c34",
        "CMSG_LEVEL_IP": "SOL_IPV6", "CMSG_TYPE_RECVERR": "IPV6_RECVERR",
    },
}  # fmt: skip


class NativeRig(Rig):
    """A rig without tcon.ko."""

    def __init__(self) -> None:
        BaseRig.__init__(self, None)
        self.namespaces: list[str] = []
        self.devices: list[str] = []
        self.bridges: list[str] = []

    def tell(self, bridge: str, dev: str, number: int, role: str = "AUTO") -> None:
        """There is nobody to tell."""


class Place:
    """The bridge, its two ports and the packet side; sites are made on it one after the other."""

    def __init__(self, rig: Rig) -> None:
        rig.namespace("far")
        ip(f"link add p1 mtu {_MOST_MTU} type veth peer name tun0 address {_GUEST_MAC.hex(':')}",
           f"link add up0 mtu {_MOST_MTU} type veth peer name far mtu {_MOST_MTU} netns far",
           "link set p1 up", "link set up0 up")  # fmt: skip
        rig.devices += ["p1", "up0"]
        ip("link set far up", ns="far")
        # A tun, for which the scripts were written, leaves it to software.
        run("ethtool", "-K", "tun0", "tx-tcp-accecn-segmentation", "off")
        rig.bridge("br0")
        rig.connect("br0", rig.port("br0", "p1"), rig.port("br0", "up0", "UPLINK"))
        self.end = WireEnd("far", "far")
        rig.ends.append(self.end)
        self.genl = rig.genl
        self.ports = itertools.count(40_000)
        self.networks = {
            version: ipaddress.ip_network(nets).subnets(new_prefix=_NETWORK_BITS[version])
            for version, nets in _REMOTES.items()
        }

    @contextlib.contextmanager
    def site(self, version: int, cookies: bool, offloads: bool) -> Iterator[Site]:
        """A new network namespace, which the thread is in meanwhile.

        ``cookies``: the peer's address is that which the scripts' cookies are of.
        ``offloads``: the script may switch tun0's off.
        """
        peer = str(next(self.networks[version])[1])
        site = Site(self, version, _REMOTE[version] if cookies else peer)
        ip("netns add guest", "link set tun0 netns guest")
        try:
            with inside("guest"):
                site.prepare()
                yield site
        finally:
            ip("link set tun0 netns 1", "netns del guest", ns="guest")
            if offloads:
                run("ethtool", "-K", "tun0", "tso", "on", "gso", "on")

    def counters(self) -> dict[str, int]:
        """Those of tcon.ko that are not 0; none without it."""
        if self.genl is None:
            return {}
        return {name: count for name, count in self.genl.counters().items() if count}


class Site:
    """A guest's network for one script."""

    def __init__(self, place: Place, version: int, remote: str) -> None:
        self.place, self.version = place, version
        self.local, self.remote = _LOCAL[version], remote
        self.family = socket.AF_INET if version == 4 else socket.AF_INET6
        self.end = place.end

    def prepare(self) -> None:
        """Give tun0 addresses, a route and a neighbour."""
        nodad = " nodad" if self.version == 6 else ""
        ip("link set lo up",
           f"link set tun0 mtu {MTU[self.version]} up",
           f"addr add {self.local}/{_PREFIX[self.version]} dev tun0{nodad}",
           f"route add {_DEFAULT[self.version]} dev tun0",
           f"neigh add {self.remote} lladdr {_PEER_MAC.hex(':')} dev tun0 nud permanent",
           )  # fmt: skip

    def port(self) -> int:
        """A port of the peer's that no connection had."""
        return next(self.place.ports)

    def send(self, segment: wire.Segment, gso_bytes: int) -> None:
        """A segment of the peer's."""
        addressed = segment.but(src_mac=_PEER_MAC, dst_mac=_GUEST_MAC)
        self.end.send(addressed, gso_bytes, MTU[self.version])

    def send_packet(self, packet: bytes) -> None:
        """An IP packet of the peer's, or of a router's."""
        kind = wire.ETH_IP if self.version == 4 else wire.ETH_IP6
        self.end.send_packet(_GUEST_MAC + _PEER_MAC + struct.pack("!H", kind) + packet)
