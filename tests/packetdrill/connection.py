# SPDX-License-Identifier: GPL-2.0-only
"""A connection of a script: its numbers there and on the wire.

A script counts from the SYNs, as tcpdump does: in segments with SYN its numbers are absolute, in
all others relative to the initial sequence numbers.  Those of the wire's time stamps are found out
as they come.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import wire
from difference import Difference
from language import EOL, NOP, SACK, TS, Option, Packet

#: States of packetdrill's struct socket, by how far they are.
NEW, LISTENING, CONNECTING, SYN_SENT, SYN_ACKED = "new", "listening", "connecting", "sent", "acked"
SYN_RECEIVED, SYN_ACK_SENT, ACCEPTABLE = "received", "answered", "acceptable"
_AE = 256
_SACK_BLOCK, _TIMES = struct.Struct("!II"), struct.Struct("!II")


def raw_options(options: tuple[Option, ...]) -> bytes:
    """As they are in a header."""
    return b"".join(
        bytes([kind]) if kind in (EOL, NOP) else bytes([kind, len(body) + 2]) + body
        for kind, body in options
    )


def listed_options(raw: bytes) -> list[Option]:
    """With those that fill, up to an end that is not written out."""
    found: list[Option] = []
    at = 0
    while at < len(raw):
        kind = raw[at]
        if kind in (EOL, NOP):
            found.append((kind, b""))
            at += 1
            continue
        if at + 1 >= len(raw) or not 2 <= raw[at + 1] <= len(raw) - at:
            raise Difference("options", f"unreadable: {raw.hex()}")
        found.append((kind, raw[at + 2 : at + raw[at + 1]]))
        at += raw[at + 1]
    return found


def _moved(body: bytes, offset: int) -> bytes:
    return b"".join(
        _SACK_BLOCK.pack((left + offset) % 2**32, (right + offset) % 2**32)
        for left, right in _SACK_BLOCK.iter_unpack(body)
    )


@dataclass
class Connection:
    """``fd`` and ``live_fd``: the script's and the process's.

    ``isn`` and ``script_isn``: the guest's initial sequence number, on the wire and in the script.
    """

    state: str = NEW
    fd: int = -1
    live_fd: int = -1
    local: tuple[str, int] = ("", 0)
    remote: tuple[str, int] = ("", 0)
    peer_isn: int = 0
    isn: int = 0
    script_isn: int = 0
    first_times: tuple[int, int] | None = None
    times: dict[int, int] = field(default_factory=dict)

    def is_from(self, segment: wire.Segment) -> bool:
        """Is the guest's segment of this connection?"""
        return (segment.src, segment.sport, segment.dst, segment.dport) == (
            *self.local,
            *self.remote,
        )

    def own_offset(self, syn: bool) -> int:
        """What is added to the script's sequence numbers of the guest."""
        return self.isn - self.script_isn if syn else self.isn

    def peer_offset(self, syn: bool) -> int:
        return 0 if syn else self.peer_isn

    def to_wire(self, packet: Packet) -> wire.Segment:
        """A segment of the peer's; its MACs are to be filled in."""
        syn = bool(packet.flags & wire.SYN)
        own = self.own_offset(syn)
        acks = bool(packet.flags & wire.ACK)
        options = tuple(self._option_to_wire(option, own, acks) for option in packet.options or ())
        return wire.Segment(
            self.remote[0], self.local[0], self.remote[1], self.local[1],
            packet.seq + self.peer_offset(syn), packet.ack + own if acks else packet.ack,
            packet.flags & 255, packet.window or 0, raw_options(options), bytes(packet.size),
            tos=packet.ecn or 0, urgent=packet.urgent, ae=bool(packet.flags & _AE),
        )  # fmt: skip

    def _option_to_wire(self, option: Option, own: int, acks: bool) -> Option:
        kind, body = option
        if kind == SACK:
            return kind, _moved(body, own)
        if kind == TS and acks:
            value, echo = _TIMES.unpack(body)
            if echo not in self.times:
                raise Difference("script", f"no segment had the time stamp {echo}")
            return kind, _TIMES.pack(value, self.times[echo])
        return option

    def to_script(self, segment: wire.Segment, expected: Packet) -> Packet:
        """A segment of the guest's in the script's numbers."""
        syn = bool(segment.flags & wire.SYN)
        acks = bool(segment.flags & wire.ACK)
        peer = self.peer_offset(syn)
        options = []
        for kind, body in listed_options(segment.options):
            if kind == SACK:
                body = _moved(body, -peer)
            elif kind == TS and len(body) == _TIMES.size:
                body = self._times_to_script(body, expected)
            options.append((kind, body))
        return Packet(
            False, segment.flags | _AE * segment.ae,
            (segment.seq - self.own_offset(syn)) % 2**32, len(segment.payload),
            (segment.ack - peer) % 2**32 if acks else segment.ack,
            segment.window, segment.urgent, tuple(options), segment.tos & 3,
        )  # fmt: skip

    def _times_to_script(self, body: bytes, expected: Packet) -> bytes:
        """Time stamps are compared only where the script has some."""
        (wanted,) = [b for k, b in expected.options or () if k == TS][:1] or [None]
        if wanted is None:
            return body
        value, echo = _TIMES.unpack(body)
        script_value, _ = _TIMES.unpack(wanted)
        self.times[script_value] = value
        if self.first_times is None:
            self.first_times = script_value, value
        first_script, first = self.first_times
        return _TIMES.pack((first_script + value - first) % 2**32, echo)
