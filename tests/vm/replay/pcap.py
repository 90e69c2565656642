# SPDX-License-Identifier: GPL-2.0-only
"""Captures: the classic pcap format, read and written.

draft-ietf-opsawg-pcap has the format: a header of 24 bytes, and one of 16 before each
packet, in either byte order.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

#: The magic number says the byte order, and whether times are in micro- or nanoseconds.
_MAGICS = (0xA1B2C3D4, 0xA1B23C4D)
_NEXT_GENERATION = 0x0A0D0D0A
_ETHERNET, _RAW_LINKS = 1, (12, 101, 228, 229)
_MACS = b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01"


class CaptureError(Exception):
    """A file is no capture that can be replayed; the text is one sentence."""


def _order(raw: bytes) -> str:
    for order in "<>":
        if len(raw) >= 24 and struct.unpack_from(f"{order}I", raw)[0] in _MAGICS:
            return order
    if raw[:4] == struct.pack("<I", _NEXT_GENERATION):
        raise CaptureError("it is in pcapng, which tcpdump -r FILE -w FILE.pcap turns into pcap")
    raise CaptureError("it is no pcap file")


def _packets(raw: bytes, order: str) -> Iterator[bytes]:
    at = 24
    while at < len(raw):
        if len(raw) < at + 16:
            raise CaptureError("it ends within a packet's header")
        size, _ = struct.unpack_from(f"{order}II", raw, at + 8)
        at += 16
        if len(raw) < at + size:
            raise CaptureError("it ends within a packet")
        yield raw[at : at + size]
        at += size


def _framed(packet: bytes) -> bytes:
    """An IP packet in an Ethernet frame."""
    kind = 0x86DD if packet and packet[0] >> 4 == 6 else 0x0800
    return _MACS + struct.pack("!H", kind) + packet


def read(file: Path) -> list[bytes]:
    """The Ethernet frames of a capture.  Raises CaptureError."""
    raw = file.read_bytes()
    order = _order(raw)
    link = struct.unpack_from(f"{order}I", raw, 20)[0] & 0xFFFF
    if link == _ETHERNET:
        return list(_packets(raw, order))
    if link in _RAW_LINKS:
        return [_framed(packet) for packet in _packets(raw, order)]
    raise CaptureError(f"its link type {link} is neither Ethernet nor IP")


def write(file: Path, frames: Iterable[bytes]) -> None:
    """A capture of these frames, a millisecond apart."""
    out = [struct.pack("<IHHiIII", _MAGICS[0], 2, 4, 0, 0, 0x40000, _ETHERNET)]
    for number, frame in enumerate(frames):
        out.append(struct.pack("<IIII", number // 1000, number % 1000 * 1000, len(frame),
                               len(frame)))  # fmt: skip
        out.append(frame)
    file.write_bytes(b"".join(out))
