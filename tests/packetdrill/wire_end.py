# SPDX-License-Identifier: GPL-2.0-only
"""The packet side of a script: a device's far end, with super-packets and arrival times."""

from __future__ import annotations

import select
import socket
import struct

import wire
from machine import inside

_ETH_P_ALL = 3
_SOL_PACKET, _PACKET_VNET_HDR, _PACKET_IGNORE_OUTGOING = 263, 15, 23
_SO_RCVBUFFORCE, _SO_TIMESTAMPNS = 33, 35
#: struct virtio_net_hdr: flags, GSO type, header length, GSO size, where the sum starts and goes.
_VNET = struct.Struct("=BBHHHH")
_NEEDS_CSUM, _GSO_TCPV4, _GSO_TCPV6, _TCP_CHECK = 1, 1, 4, 16
_ETH_BYTES, _MOST_BYTES = 14, 1 << 17
#: A tun puts as much of a packet into its skb's own page, and so decides on the window that TCP
#: offers: it depends on how much memory a segment takes.
_LINEAR_BYTES = 3726


class WireEnd:
    """Frames in and out, in the network namespace ns."""

    def __init__(self, dev: str, ns: str) -> None:
        with inside(ns):
            self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
            self.sock.setsockopt(_SOL_PACKET, _PACKET_VNET_HDR, 1)
            self.sock.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
            self.sock.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 32 << 20)
            self.sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
            self.sock.bind((dev, _ETH_P_ALL))

    def send(self, segment: wire.Segment, gso_bytes: int, mtu: int) -> None:
        """As one packet, which is a super-packet where it has more than gso_bytes or than fits."""
        most = mtu - (segment.header_bytes() - _ETH_BYTES) - len(segment.tcp())
        payload = len(segment.payload)
        if most >= 0 and (not gso_bytes or payload <= gso_bytes):
            self.sock.send(_VNET.pack(0, 0, 0, 0, 0, 0) + segment.frame())
            return
        at, whole = segment.header_bytes(), segment.but(partial=True).frame()
        kind = _GSO_TCPV4 if "." in segment.src else _GSO_TCPV6
        header = _VNET.pack(
            _NEEDS_CSUM, kind, min(len(whole), _LINEAR_BYTES), gso_bytes or payload - 1,
            at, _TCP_CHECK,
        )  # fmt: skip
        self.sock.send(header + whole)

    def send_packet(self, frame: bytes) -> None:
        """A frame that is no TCP."""
        self.sock.send(_VNET.pack(0, 0, 0, 0, 0, 0) + frame)

    def receive(self, timeout_s: float) -> tuple[wire.Segment, int] | None:
        """The next TCP segment and when it came, in ns of the clock; None within that time.

        Its sum is not looked at where it is left to a device.
        """
        while select.select([self.sock], [], [], max(timeout_s, 0))[0]:
            raw, control, _, _ = self.sock.recvmsg(_MOST_BYTES, 256)
            flags, gso_kind, *_ = _VNET.unpack_from(raw)
            segment = wire.decode(raw[_VNET.size :])
            if segment is None:
                continue
            partial = bool(flags & _NEEDS_CSUM or gso_kind)
            (at_ns,) = (
                second * 10**9 + ns
                for level, kind, data in control
                if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS)
                for second, ns in [struct.unpack("=qq", data)]
            )
            return segment.but(sums_ok=partial or segment.sums_ok), at_ns
        return None

    def drain(self) -> None:
        """Forget what has come."""
        while select.select([self.sock], [], [], 0)[0]:
            self.sock.recv(_MOST_BYTES)

    def close(self) -> None:
        self.sock.close()
