# SPDX-License-Identifier: GPL-2.0-only
"""A guest's share of the host's memory, and what its neighbours have left."""

from __future__ import annotations

import mmap
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import genl
import hosts
import pytest
import rig as rigs
from rig import Conn
from rig_base import poll
from test_fallback import shake
from wire import ACK, PSH, RST, SYN

Ends = tuple[rigs.Tap, rigs.Tap]

MSS = 1400  # payload of a segment


@pytest.fixture(scope="module", autouse=True)
def constant(machine: None) -> Iterator[None]:
    """A CC whose cwnd does not change."""
    with rigs.badcc():
        yield


@pytest.fixture
def ends(constant: None, tcon: genl.Genl) -> Iterator[Ends]:
    """A guest's tap that makes super-packets, and an uplink's that gets single segments."""
    made = rigs.Rig()
    try:
        yield made.taps(rigs.TSO)
    finally:
        tcon.del_rules("br1")
        made.close()


# --- what is really pinned --------------------------------------------------------

BOUND_BYTES = 6 << 20
PAGE_BYTES = 32768  # what a tap cuts frames out of
#: Too much to be copied rather than shared; junk enough that each has a page of its own.
LONELY_BYTES = 600
JUNK, JUNK_BYTES = 16, 1900


def page_bytes() -> int:
    """Memory in pages that nobody has a name for, as packets' are."""
    fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    kib = {name: int(value.split()[0]) for name, value in fields.items()}
    apart = re.findall(r"^ +count: +(\d+)$", Path("/proc/zoneinfo").read_text(), re.MULTILINE)
    named = ("MemFree", "Buffers", "Cached", "Slab", "AnonPages", "KernelStack", "PageTables")
    free = sum(int(pages) for pages in apart) * mmap.PAGESIZE  # which MemFree leaves out
    return (kib["MemTotal"] - sum(kib[name] for name in named)) * 1024 - free


@pytest.mark.parametrize("what", ["copies", "held"])
def test_no_more_is_pinned_than_the_bound(ends: Ends, tcon: genl.Genl, what: str) -> None:
    """A tap cuts small frames out of large pages, as vhost does; junk fills the rest of each.

    Waiting data that the guest was not allowed to send has only a quarter of a flow's bound.  A
    peer that is not silent, but only changes its window, lets the guest go on beyond that.
    """
    guest, peer = ends
    most = BOUND_BYTES * (1 if what == "copies" else 4)
    bounds = {"buffer_flow_bytes": most, "buffer_port_bytes": BOUND_BYTES}
    params = rigs.constant_cwnd(1000 if what == "copies" else 2)
    tcon.set_rule("badcc", bridge="br1", params=params)
    conn = shake(Conn(*ends, ts=False))
    junk = bytearray(conn.from_guest(PSH | ACK, bytes(JUNK_BYTES)).frame())
    junk[23] = 17  # UDP
    counted, pinned, una = 0, 0, conn.guest_nxt
    poll(lambda: not tcon.info("BUFFER_BYTES"), "what another test sent is forgotten")
    with rigs.parameters(**bounds):
        before = page_bytes()
        for n in range(BOUND_BYTES * 5 // 4 // PAGE_BYTES):
            peer.send(conn.from_peer(ack=una, window=500 + n % 2).frame())
            guest.send(conn.from_guest(PSH | ACK, bytes(LONELY_BYTES)).frame())
            conn.guest_nxt += LONELY_BYTES
            for _ in range(JUNK):
                guest.send(bytes(junk))
            for end in ends:
                while end.recv(0):
                    pass
            counted = max(counted, tcon.info("BUFFER_BYTES"))
            pinned = max(pinned, page_bytes() - before)
    print(f"{what}: counted {counted / BOUND_BYTES:.3f}, pinned {pinned / BOUND_BYTES:.3f}")
    assert 0.95 * BOUND_BYTES < counted < 1.05 * BOUND_BYTES
    assert 0.5 * BOUND_BYTES < pinned < 1.25 * BOUND_BYTES
    conn.guest.send(conn.from_guest(RST | ACK).frame())


# --- neighbours -------------------------------------------------------------------

HOSTILE = [f"h{n}" for n in range(8)]
HOST_BYTES, PORT_BYTES = 24 << 20, 3 << 20
FULL = {
    "buffer_host_bytes": HOST_BYTES, "buffer_port_bytes": PORT_BYTES,
    "track_host_bytes": HOST_BYTES, "track_port_bytes": 96 << 10,
    "max_flows": 512, "max_flows_per_port": 128, "max_embryos": 256,
}  # fmt: skip
FLOWS_EACH = 16
#: Least share of the host's bounds in use where ports that want more get none.
IN_USE = 0.4
#: Counters of refusals at the bounds of embryos, the buffer and records.
REFUSALS = ("embryo-evicted", "hold-excess", "sendq-coarse")


class Hostile:
    """Eight guests of another bridge; what they send goes to one that answers openings only."""

    def __init__(self, rig: rigs.Rig) -> None:
        rig.bridge("br2")
        self.uplink = rig.tap("hu", rigs.TSO)
        self.taps = [rig.tap(dev, rigs.TSO) for dev in HOSTILE]
        out = rig.port("br2", "hu", "UPLINK")
        numbers = [rig.port("br2", dev) for dev in HOSTILE]
        rig.flows(
            "br2",
            *(f"in_port={n},actions=output:{out}" for n in numbers),
            *(f"in_port={out},dl_dst=02:00:00:00:01:{n:02x},actions=output:{numbers[n]}"
              for n in range(8)),
        )  # fmt: skip
        self.conns = [[Conn(tap, self.uplink, ts=False) for _ in range(FLOWS_EACH)]
                      for tap in self.taps]  # fmt: skip
        self.number = self.acked = 0

    def drain(self) -> None:
        for end in (self.uplink, *self.taps):
            while end.recv(0):
                pass

    def open(self) -> None:
        for n, conns in enumerate(self.conns):
            mac = bytes((2, 0, 0, 0, 1, n))
            for conn in conns:
                conn.guest_sends(SYN, src_mac=mac)
                conn.peer_sends(SYN | ACK, dst_mac=mac)
                conn.guest_sends(src_mac=mac)

    def send(self, each: int) -> None:
        """Super-packets of some connections, and segments of connections that nobody knows.

        Their peers are not silent, and only change their windows.
        """
        for n, conns in enumerate(self.conns):
            for _ in range(each):
                self.number += 1
                conn = conns[self.number % FLOWS_EACH]
                self.answer(conn, n, window=500 + self.number // FLOWS_EACH % 2)
                sent = conn.from_guest(PSH | ACK, bytes(40 * MSS), partial=True)
                conn.guest_nxt += 40 * MSS
                conn.guest.send(sent.frame(), sent.header_bytes(), MSS, rigs.VNET_GSO_TCPV4)
                stranger = f"10.9.{self.number >> 8 & 255}.{self.number & 255}"
                for flags in (SYN, PSH | ACK):
                    conn.guest.send(conn.from_guest(flags, b"x", src=stranger).frame())
            self.drain()

    def answer(self, conn: Conn, n: int, window: int = 500) -> None:
        ack, mac = conn.isn[0] + 1 + self.acked, bytes((2, 0, 0, 0, 1, n))
        conn.peer.send(conn.from_peer(ack=ack, window=window, dst_mac=mac).frame())

    def keep_up(self) -> None:
        """A segment of each connection is acknowledged, and somewhat more is sent."""
        self.acked += MSS
        for n, conns in enumerate(self.conns):
            for conn in conns:
                self.answer(conn, n)
            self.drain()
        self.send(1)


def served(net: hosts.Net, meanwhile: Callable[[], None]) -> tuple[float, float]:
    """Goodput of 10 MB, and the p99 of 100 requests of 100 kB, in seconds."""

    def ends_in_s(size_bytes: int) -> float:
        began_s = time.monotonic()
        transfer = net.transfer(size_bytes)
        last = transfer.threads[-1]
        last.join(0.05)
        hosts.assert_enforced(net.tcon, transfer.sport, "cubic")
        while last.is_alive():
            meanwhile()
            last.join(0.05)
        took_s = time.monotonic() - began_s
        transfer.finish()
        return took_s

    goodput = 10 * hosts.MEGA / ends_in_s(10 * hosts.MEGA)
    return goodput, sorted(ends_in_s(100_000) for _ in range(100))[98]


def test_eight_ports_at_their_bounds_leave_the_ninth_its_part(
    net: hosts.Net, rig: rigs.Rig, tcon: genl.Genl
) -> None:
    """Half of what the host has is the ports' parts; beyond that hostile ports have taken all."""
    net.shape(rate="50mbit", delay="20ms")
    hostile = Hostile(rig)
    tcon.set_rule("cubic")
    tcon.set_rule("badcc", bridge="br2", fallback="pace", params=rigs.constant_cwnd(200))
    used: dict[str, list[int]] = {name: [] for name in ("BUFFER_BYTES", "FLOWS")}

    def meanwhile() -> None:
        hostile.keep_up()
        for name, values in used.items():
            values.append(tcon.info(name))

    with rigs.parameters(adopt_s=0, **FULL):
        alone, alone_s = served(net, lambda: None)
        hostile.open()
        hostile.send(12 * FLOWS_EACH)
        before = tcon.counters()
        goodput, p99_s = served(net, meanwhile)
        after = tcon.counters()
    refused = {name: after[name] - before[name] for name in REFUSALS}
    least = {name: min(values) for name, values in used.items()}
    print(f"least {least}, {refused}: goodput {goodput / alone:.3f} of alone,"
          f" p99 {alone_s / p99_s:.3f}")  # fmt: skip
    assert least["BUFFER_BYTES"] > IN_USE * HOST_BYTES
    assert least["FLOWS"] > IN_USE * FULL["max_flows"]
    assert all(refused.values()), refused
    assert goodput > 0.95 * alone
    assert p99_s < alone_s / 0.95
