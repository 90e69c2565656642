# SPDX-License-Identifier: GPL-2.0-only
"""The rigs that scripts use, wherever the datapath runs.

Nothing but scripts is at both ends (no address is configured, so no kernel answers):

    end "guest" -- p1 [br0] up0 -- end "peer"
"""

from __future__ import annotations

import itertools
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

import genl

T = TypeVar("T")

#: Tags, IPv6 and forty bytes of options fit around a full segment.
SCRIPTED_MTU = 2000
TUN_F_CSUM, TUN_F_TSO4, TUN_F_TSO6 = 1, 2, 4
TSO = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6
VNET_NEEDS_CSUM, VNET_GSO_TCPV4, VNET_GSO_TCPV6 = 1, 1, 4


def poll(
    probe: Callable[[], T], what: str, timeout_s: float = 5.0, step_s: float | None = None
) -> T:
    """Call probe until it gives something true; that.  Raises AssertionError.

    Every step_s; without one from a hundred times a second down to ten, the longer it takes: where
    time is virtual, programs that a probe starts cost more than what it waits for.
    """
    begin_s = time.monotonic()
    while not (found := probe()):
        waited_s = time.monotonic() - begin_s
        if waited_s > timeout_s:
            raise AssertionError(f"not within {timeout_s} s: {what}")
        time.sleep(min(max(waited_s / 10, 0.01), 0.1) if step_s is None else step_s)
    return found


class BaseRig(ABC):
    """Ports and bridges that go together, and go at the end."""

    def __init__(self, client: genl.Genl) -> None:
        self.ends: list[Any] = []
        self.genl = client
        self.ofports = itertools.count(1)

    @abstractmethod
    def namespace(self, *names: str) -> None:
        """Make network namespaces."""

    @abstractmethod
    def veth(self, dev: str, peer: str, ns: str, quiet: bool = True, queues: int = 1) -> None:
        """Make a pair of devices: dev here, peer in ns."""

    @abstractmethod
    def bridge(self, name: str = "br0", normal: bool = False) -> str:
        """Make a bridge; without flows unless it is to learn as a switch does."""

    @abstractmethod
    def port(self, bridge: str, dev: str, role: str = "AUTO", *options: str) -> int:
        """Add a device to a bridge and tell tcon.ko; its OpenFlow number."""

    @abstractmethod
    def flows(self, bridge: str, *flows: str) -> None:
        """Replace the OpenFlow flows of a bridge."""

    @abstractmethod
    def raw(self, dev: str, ns: str | None = None) -> Any:
        """A scripted end on a device."""

    @abstractmethod
    def tap(self, dev: str, offload: int = 0) -> Any:
        """A scripted end that is a tap with these offloads."""

    def tell(self, bridge: str, dev: str, number: int, role: str = "AUTO") -> None:
        """Stand in for the patched vswitchd; the stock one does not tell roles."""
        poll(lambda: any(p["ifname"] == dev for p in self.genl.ports()), f"{dev} in the datapath")
        self.genl.set_port(dev, bridge=bridge, ofport=number, role=role)

    def scripted(self) -> tuple[Any, Any]:
        """br0 with a guest's port p1 and an uplink up0: ends guest and peer."""
        self.namespace("g", "s")
        self.veth("p1", "g-e", "g")
        self.veth("up0", "s-e", "s")
        self.bridge("br0")
        self.connect("br0", self.port("br0", "p1"), self.port("br0", "up0", "UPLINK"))
        return self.raw("g-e", "g"), self.raw("s-e", "s")

    def taps(self, guest: int = 0, uplink: int = 0) -> tuple[Any, Any]:
        """br1 with a guest's tap and an uplink's, with these offloads."""
        self.bridge("br1")
        ends = self.tap("tg", guest), self.tap("tu", uplink)
        self.connect("br1", self.port("br1", "tg"), self.port("br1", "tu", "UPLINK"))
        return ends

    def connect(self, bridge: str, a: int, b: int) -> None:
        """Frames that enter at one of two ports leave at the other."""
        self.flows(bridge, f"in_port={a},actions=output:{b}", f"in_port={b},actions=output:{a}")

    @abstractmethod
    def close(self) -> None:
        """Take all of it away."""
