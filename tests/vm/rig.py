# SPDX-License-Identifier: GPL-2.0-only
"""The base of the tests: rigs, connections by hand, half-flows, counters.

The datapath is tcon.ko in the lab's machine (machine.py) or, with TCON_LIBRARY, the same sources in
user space (library.py), where time is the test's.

Everything waits by polling; nothing here sleeps for a fixed time.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Iterator
from typing import Any

import draw
import genl
import pytest
import rig_base
import wire

#: Where the datapath is the library, and not a module.
LIBRARY = os.environ.get("TCON_LIBRARY")
if LIBRARY:
    import library as world
else:
    import machine as world
RawEnd, Tap, Rig, Genl = world.RawEnd, world.Tap, world.Rig, world.Genl


def __getattr__(name: str) -> Any:
    """All other names of the place where the datapath runs."""
    return getattr(rig_base if hasattr(rig_base, name) else world, name)


def ccs(*names: str) -> list[Any]:
    """Parameters of a test, by CC: a kernel's CC needs a machine."""
    return [
        pytest.param(name, marks=pytest.mark.machine) if name.startswith("linux:") else name
        for name in names
    ]


def fault(reason: str) -> pytest.MarkDecorator:
    """A fault that a test finds today; the commit that mends it takes this out."""
    return pytest.mark.xfail(strict=True, raises=AssertionError, reason=reason)


def constant_cwnd(segs: int) -> dict[str, int]:
    """Parameters of that CC with which its cwnd does not change."""
    return {"good_segs": segs, "after_bytes": 2**32 - 1}


@contextlib.contextmanager
def parameters(**values: int) -> Iterator[None]:
    """Other module parameters of tcon.ko for a while."""
    before = {name: world.parameter(name) for name in values}
    try:
        for name, value in values.items():
            world.set_parameter(name, value)
        yield
    finally:
        for name, value in before.items():
            world.set_parameter(name, value)


# --- a connection by hand -------------------------------------------------------

_ports = itertools.count(draw.first_port())
_OPTIONS_TS = wire.NOP + wire.NOP


class Conn:
    """A TCP connection whose two ends are scripts.

    `guest_sends()` and `peer_sends()` put a segment on the wire and give it as
    the other end got it; both check what must hold for every segment: sums are
    right, and nothing but the window, downwards, and what `becomes` names differs
    from what was sent.
    """

    def __init__(
        self,
        guest: RawEnd | Tap,
        peer: RawEnd | Tap,
        *,
        family: int = 4,
        vlans: tuple[int, ...] = (),
        scales: tuple[int | None, int | None] = (7, 7),
        mss_bytes: int = 1460,
        ts: bool = True,
        sack: tuple[bool, bool] = (True, True),
        sport: int | None = None,
        isn: tuple[int, int] | None = None,
    ) -> None:
        self.guest, self.peer = guest, peer
        self.sack = sack
        self.vlans, self.ts, self.scales, self.mss_bytes = vlans, ts, scales, mss_bytes
        self.addresses = ("10.0.0.1", "10.0.1.2") if family == 4 else ("fd00::1", "fd01::2")
        self.sport, self.dport = sport or next(_ports), 5201
        self.isn = isn or draw.sequence_numbers()
        self.guest_nxt, self.peer_nxt = self.isn
        self.clock = 100  # both ends' TSval
        self.guest_ts = self.peer_ts = 0  # last TSval that each has sent
        self.window = 4096  # field that the peer offers

    # Building ---------------------------------------------------------------

    def _options(self, syn: bool, end: int, own: int, other: int) -> bytes:
        options, scale = b"", self.scales[end]
        if syn:
            options += wire.opt_mss(self.mss_bytes)
            if self.sack[end]:
                options += wire.SACK_PERMITTED
            if scale is not None:
                options += wire.NOP + wire.opt_wscale(scale)
        if self.ts:
            options += _OPTIONS_TS + wire.opt_ts(own, other)
        return options + wire.NOP * (-len(options) % 4)

    def from_guest(
        self, flags: int = wire.ACK, payload: bytes = b"", **changes: object
    ) -> wire.Segment:
        """The guest's next segment; nothing is sent and no state moves."""
        syn = bool(flags & wire.SYN)
        segment = wire.Segment(
            *self.addresses, self.sport, self.dport, self.guest_nxt % 2**32,
            self.peer_nxt % 2**32 if flags & wire.ACK else 0, flags, 0xFFFF if syn else 512,
            self._options(syn, 0, self.clock, self.peer_ts), payload,
            vlans=self.vlans,
        )  # fmt: skip
        return segment.but(**changes)

    def from_peer(
        self, flags: int = wire.ACK, payload: bytes = b"", **changes: object
    ) -> wire.Segment:
        """The peer's next segment."""
        syn = bool(flags & wire.SYN)
        segment = wire.Segment(
            *self.addresses[::-1], self.dport, self.sport, self.peer_nxt % 2**32,
            self.guest_nxt % 2**32 if flags & wire.ACK else 0, flags,
            0xFFFF if syn else self.window,
            self._options(syn, 1, self.clock, self.guest_ts), payload,
            wire.Segment.dst_mac, wire.Segment.src_mac, vlans=self.vlans,
        )  # fmt: skip
        return segment.but(**changes)

    # Sending ----------------------------------------------------------------

    def mine(self, frame: bytes) -> wire.Segment | None:
        segment = wire.decode(frame)
        if segment and {segment.sport, segment.dport} == {self.sport, self.dport}:
            return segment
        return None

    def receive(self, end: RawEnd | Tap, timeout_s: float = 2.0) -> wire.Segment | None:
        """The connection's next segment at an end; None if there comes none."""
        deadline = time.monotonic() + timeout_s
        while (left := deadline - time.monotonic()) > 0 or timeout_s == 0:
            frame = end.recv(max(left, 0))
            if frame is None:
                return None
            if segment := self.mine(frame):
                return segment
        return None

    def _pass(
        self,
        source: RawEnd | Tap,
        sink: RawEnd | Tap,
        sent: wire.Segment,
        becomes: dict[str, object],
    ) -> wire.Segment:
        source.send(sent.frame())
        got = self.receive(sink)
        assert got, f"lost: {sent}"
        assert got.sums_ok, f"wrong checksum: {got}"
        assert got.window <= sent.window, "window enlarged"
        padded = {"options": sent.options + wire.END * (-len(sent.options) % 4)}
        assert got.but(window=sent.window) == sent.but(**(padded | becomes)), (
            "something else has changed, or something has not"
        )
        return got

    def guest_sends(
        self,
        flags: int = wire.ACK,
        payload: bytes = b"",
        becomes: dict[str, object] | None = None,
        **changes: object,
    ) -> wire.Segment:
        """Send the guest's next segment; it, as the peer got it."""
        self.clock += 1
        sent = self.from_guest(flags, payload, **changes)
        self.guest_ts = self.clock
        self.guest_nxt += max(0, (sent.seq + sent.span - self.guest_nxt + 2**31) % 2**32 - 2**31)
        return self._pass(self.guest, self.peer, sent, becomes or {})

    def peer_sends(
        self,
        flags: int = wire.ACK,
        payload: bytes = b"",
        becomes: dict[str, object] | None = None,
        **changes: object,
    ) -> wire.Segment:
        """Send the peer's next segment; it, as the guest got it."""
        self.clock += 1
        sent = self.from_peer(flags, payload, **changes)
        self.peer_ts = self.clock
        self.peer_nxt += max(0, (sent.seq + sent.span - self.peer_nxt + 2**31) % 2**32 - 2**31)
        return self._pass(self.peer, self.guest, sent, becomes or {})

    def handshake(self) -> Conn:
        """Guest opens, peer answers, guest acknowledges."""
        self.guest_sends(wire.SYN)
        self.peer_sends(wire.SYN | wire.ACK)
        self.guest_sends()
        return self

    def shift(self) -> int:
        """The shift of the peer's windows."""
        return self.scales[1] or 0 if None not in self.scales else 0

    def unwrap(self, number: int) -> int:
        """A wire's sequence number of the guest, in this class's numbers, which do not wrap."""
        return self.guest_nxt + (number - self.guest_nxt + 2**31) % 2**32 - 2**31

    def restart(self, *isn: int) -> None:
        """The same addresses and ports, other sequence numbers."""
        self.guest_nxt, self.peer_nxt = isn
        self.guest_ts = self.peer_ts = 0


def find_flow(client: genl.Genl, sport: int, ifname: str | None = None) -> dict[str, object] | None:
    """The half-flow of a guest's TCP port, where there is one."""
    match = genl.nest(genl.E["TCON_A_RULE_MATCH"], genl.u16(genl.E["TCON_MATCH_A_SPORT"], sport))
    for flow in client.flows(match):
        if ifname in (None, flow["ifname"]):
            return flow
    return None


def state(client: genl.Genl, sport: int, ifname: str | None = None) -> tuple[str, str, str]:
    """State, reason and CC of a half-flow by their names; fails without it."""
    flow = find_flow(client, sport, ifname)
    assert flow, f"no half-flow of port {sport}"
    return genl.STATES[flow["state"]], genl.REASONS[flow["reason"]], str(flow["cc"])


@contextlib.contextmanager
def counted(client: genl.Genl, **expected: int) -> Iterator[None]:
    """These counters (with _ for -) grow by exactly these amounts."""
    before = client.counters()
    yield
    after = client.counters()
    grown = {
        name: after[name.replace("_", "-")] - before[name.replace("_", "-")] for name in expected
    }
    assert grown == expected, grown


def ack_of_what_waits(conn: Conn, tcon: genl.Genl, payload: bytes) -> wire.Segment:
    """The guest's next segment is held, and TCon tells the peer what it acknowledges."""
    conn.peer_nxt += 2 * len(payload)
    with counted(tcon, held=1, pure_ack=1):
        conn.guest.send(conn.from_guest(wire.PSH | wire.ACK, payload).frame())
        got = conn.receive(conn.peer)
    assert got
    assert (got.ack, got.payload) == (conn.peer_nxt, b"")
    return got
