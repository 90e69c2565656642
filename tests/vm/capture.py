# SPDX-License-Identifier: GPL-2.0-only
"""Frames that pass a device, as the kernel has them: super-packets are whole."""

from __future__ import annotations

import contextlib
import socket
import struct

SO_RCVBUFFORCE, SOL_PACKET, ETH_P_ALL = 33, 263, 3
PACKET_STATISTICS, PACKET_OUTGOING = 6, 4
INCOMING, OUTGOING = False, True


def capture(
    inside: contextlib.AbstractContextManager[None], device: str, buffer_bytes: int = 256 << 20
) -> socket.socket:
    """All that passes a device of a namespace from now on waits in the socket."""
    with inside:
        tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    tap.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, buffer_bytes)
    tap.bind((device, ETH_P_ALL))
    tap.setblocking(False)
    return tap


def both_ways(tap: socket.socket) -> tuple[list[bytes], list[bytes]]:
    """The captured frames: incoming, outgoing; none must have been missed."""
    found: tuple[list[bytes], list[bytes]] = ([], [])
    with tap:
        with contextlib.suppress(BlockingIOError):
            while True:
                frame, address = tap.recvfrom(1 << 17)
                found[address[2] == PACKET_OUTGOING].append(frame)
        missed = struct.unpack("II", tap.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))[1]
    assert not missed
    return found


def frames(tap: socket.socket, outgoing: bool) -> list[bytes]:
    """The captured frames of one direction."""
    return both_ways(tap)[outgoing]
