# SPDX-License-Identifier: GPL-2.0-only
"""Messages of routers about a guest's segments (RFC 792, RFC 4443)."""

from __future__ import annotations

import ipaddress
import struct

import wire
from difference import Difference
from language import Icmp

_UNREACHABLE, _TOO_BIG = 3, 2
_CODES = {"": 0, "net_unreachable": 0, "host_unreachable": 1, "frag_needed": 4}
_ICMP, _ICMP6, _TCP = 1, 58, 6


def _ip(src: str, dst: str, protocol: int, payload: bytes) -> bytes:
    a, b = ipaddress.ip_address(src).packed, ipaddress.ip_address(dst).packed
    if len(a) == 16:
        return struct.pack("!IHBB", 6 << 28, len(payload), protocol, 64) + a + b + payload
    size = 20 + len(payload)
    head = struct.pack("!BBHHHBBH", 0x45, 0, size, 0, 0x4000, 64, protocol, 0) + a + b
    return head[:10] + struct.pack("!H", wire.ones_sum(head) ^ 0xFFFF) + head[12:] + payload


def message(icmp: Icmp, guest: str, peer: str, echoed: bytes) -> bytes:
    """An IP packet from the peer; ``echoed``: the begin of the guest's TCP header."""
    inner = _ip(guest, peer, _TCP, echoed)
    if ":" in guest:
        if icmp.kind != "packet_too_big":
            raise Difference("script", f"no ICMPv6 message {icmp.kind}")
        raw = struct.pack("!BBHI", _TOO_BIG, 0, 0, icmp.mtu) + inner
        a, b = (ipaddress.ip_address(address).packed for address in (peer, guest))
        total = wire.ones_sum(a + b + struct.pack("!II", len(raw), _ICMP6) + raw)
    else:
        if icmp.kind != "unreachable" or icmp.code not in _CODES:
            raise Difference("script", f"no ICMP message {icmp.kind} {icmp.code}")
        raw = struct.pack("!BBHHH", _UNREACHABLE, _CODES[icmp.code], 0, 0, icmp.mtu) + inner
        total = wire.ones_sum(raw)
    raw = raw[:2] + struct.pack("!H", total ^ 0xFFFF) + raw[4:]
    return _ip(peer, guest, _ICMP6 if ":" in guest else _ICMP, raw)
