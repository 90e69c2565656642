# SPDX-License-Identifier: GPL-2.0-only
"""Frames with a TCP segment: made byte by byte, and read back.

scapy would do, but it takes longer to import than most tests take to run, and
tests of a rewriter of headers must know exactly what they sent.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import platform
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

FIN, SYN, RST, PSH, ACK, URG, ECE, CWR = (1 << n for n in range(8))

ETH_IP, ETH_IP6, ETH_VLAN, ETH_QINQ = 0x0800, 0x86DD, 0x8100, 0x88A8
IPPROTO_TCP, IPPROTO_UDP = 6, 17
#: An IPv6 packet beyond 64 KiB has a header that says how long it is, which is taken out where it
#: is segmented.  Linux 7 makes none, and takes none out.
_JUMBO_HEADER = int(platform.release().split(".")[0]) < 7

NOP, END = b"\x01", b"\x00"
SACK_PERMITTED = b"\x04\x02"
MD5 = b"\x13\x12" + bytes(16)
AO = b"\x1d\x10\x01\x01" + bytes(12)
MPTCP = b"\x1e\x0c\x01\x81" + bytes(8)


def opt_mss(mss_bytes: int) -> bytes:
    return struct.pack("!BBH", 2, 4, mss_bytes)


def opt_wscale(shift: int) -> bytes:
    return struct.pack("!BBB", 3, 3, shift)


def opt_ts(value: int, echo: int) -> bytes:
    return struct.pack("!BBII", 8, 10, value & 0xFFFFFFFF, echo & 0xFFFFFFFF)


def opt_sack(*blocks: tuple[int, int]) -> bytes:
    raw = b"".join(struct.pack("!II", a & 0xFFFFFFFF, b & 0xFFFFFFFF) for a, b in blocks)
    return bytes((5, 2 + len(raw))) + raw


def options(raw: bytes) -> Iterator[tuple[int, bytes]]:
    """Kinds and bodies of TCP options, as far as they make sense."""
    at = 0
    while at < len(raw) and raw[at]:
        if raw[at] == 1:
            at += 1
            continue
        if at + 1 >= len(raw) or raw[at + 1] < 2:
            return
        yield raw[at], raw[at + 2 : at + raw[at + 1]]
        at += raw[at + 1]


def sack_blocks(raw: bytes) -> list[tuple[int, int]]:
    """SACK blocks among TCP options."""
    return [pair for kind, body in options(raw) if kind == 5
            for pair in struct.iter_unpack("!II", body)]  # fmt: skip


def ones_sum(raw: bytes) -> int:
    """Ones' complement sum of 16-bit words, folded (RFC 1071)."""
    if len(raw) % 2:
        raw += b"\0"
    rest = int.from_bytes(raw, "big") % 0xFFFF  # 65536 is 1 there
    return rest or (0xFFFF if any(raw) else 0)


def pseudo_header(src: str, dst: str, tcp_bytes: int) -> bytes:
    a, b = ipaddress.ip_address(src).packed, ipaddress.ip_address(dst).packed
    if len(a) == 4:
        return a + b + struct.pack("!HI", IPPROTO_TCP, tcp_bytes)
    return a + b + struct.pack("!II", tcp_bytes, IPPROTO_TCP)


@dataclass
class Segment:
    """A TCP segment in its frame.  `vlans`: ids, outermost first."""

    src: str
    dst: str
    sport: int
    dport: int
    seq: int = 0
    ack: int = 0
    flags: int = ACK
    window: int = 0xFFFF
    options: bytes = b""
    payload: bytes = b""
    src_mac: bytes = b"\x02\0\0\0\0\x01"
    dst_mac: bytes = b"\x02\0\0\0\0\x02"
    vlans: tuple[int, ...] = ()
    tos: int = 0
    urgent: int = 0  # urgent pointer
    extensions: bytes = b""  # IPv6 extension headers; the last names TCP
    first_header: int = IPPROTO_TCP  # IPv6 next header, with extensions
    data_offset: int | None = None  # words; None: what fits
    ae: bool = False  # the bit before the flags: AE, once NS
    partial: bool = False  # leave the pseudo header's sum, as for an offload
    sums_ok: bool = True  # what decode() found
    flow_label: int = 0  # of IPv6
    check: int = field(default=0, compare=False)  # TCP checksum that decode() found

    def tcp(self) -> bytes:
        """TCP header with options and payload, its checksum in place."""
        options = self.options + END * (-len(self.options) % 4)
        words = 5 + len(options) // 4 if self.data_offset is None else self.data_offset
        raw = struct.pack(
            "!HHIIBBHHH",
            self.sport, self.dport, self.seq & 0xFFFFFFFF, self.ack & 0xFFFFFFFF,
            words << 4 | self.ae, self.flags, self.window, 0, self.urgent,
        )  # fmt: skip
        raw += options + self.payload
        pseudo = pseudo_header(self.src, self.dst, len(raw))
        check = ones_sum(pseudo) if self.partial else ones_sum(pseudo + raw) ^ 0xFFFF
        return raw[:16] + struct.pack("!H", check) + raw[18:]

    def ethertype(self) -> int:
        return ETH_IP if "." in self.src else ETH_IP6

    def ip(self, payload: bytes) -> bytes:
        """The IP packet around a payload; beyond 64 KiB (BIG TCP) as Linux has it."""
        src, dst = ipaddress.ip_address(self.src).packed, ipaddress.ip_address(self.dst).packed
        if self.ethertype() == ETH_IP6:
            first, rest = self.first_header, self.extensions + payload
            size = len(rest)
            if size > 0xFFFF and _JUMBO_HEADER:
                rest = struct.pack("!BBBBI", first, 0, 0xC2, 4, size + 8) + rest
                first = 0
            size = size if size <= 0xFFFF else 0
            head = struct.pack("!IHBB", 6 << 28 | self.tos << 20 | self.flow_label, size, first, 64)
            return head + src + dst + rest
        size = 20 + len(payload)
        if size > 0xFFFF:
            size = 0
        head = struct.pack("!BBHHHBBH", 0x45, self.tos, size, 1, 0x4000, 64, 6, 0)
        head += src + dst
        return head[:10] + struct.pack("!H", ones_sum(head) ^ 0xFFFF) + head[12:] + payload

    def link(self, packet: bytes) -> bytes:
        """The frame around an IP packet."""
        tags = b""
        for n, vlan in enumerate(self.vlans):
            kind = ETH_VLAN if n == len(self.vlans) - 1 else ETH_QINQ
            tags += struct.pack("!HH", kind, vlan)
        return self.dst_mac + self.src_mac + tags + struct.pack("!H", self.ethertype()) + packet

    def frame(self) -> bytes:
        return self.link(self.ip(self.tcp()))

    def but(self, **changes: object) -> Segment:
        return dataclasses.replace(self, **changes)

    def header_bytes(self) -> int:
        """Length of everything before the TCP header."""
        return len(self.frame()) - len(self.tcp())

    @property
    def span(self) -> int:
        """Sequence numbers that it occupies."""
        return len(self.payload) + bool(self.flags & SYN) + bool(self.flags & FIN)

    def timestamps(self) -> tuple[int, int] | None:
        """TSval and TSecr, where the options hold them."""
        for kind, body in options(self.options):
            if kind == 8 and len(body) == 8:
                return struct.unpack("!II", body)
        return None


def decode(frame: bytes) -> Segment | None:
    """The segment in a frame, None for anything but unfragmented TCP over IP."""
    at, vlans = 12, []
    (kind,) = struct.unpack_from("!H", frame, at)
    while kind in (ETH_VLAN, ETH_QINQ):
        vlans.append(struct.unpack_from("!H", frame, at + 2)[0] & 0xFFF)
        at += 4
        (kind,) = struct.unpack_from("!H", frame, at)
    at, label = at + 2, 0
    if kind == ETH_IP and frame[at + 9] == IPPROTO_TCP:
        size = (frame[at] & 15) * 4
        (total,) = struct.unpack_from("!H", frame, at + 2)
        ip_ok = ones_sum(frame[at : at + size]) == 0xFFFF
        src, dst = frame[at + 12 : at + 16], frame[at + 16 : at + 20]
        tos, tcp = frame[at + 1], frame[at + size : at + total]
    elif kind == ETH_IP6 and frame[at + 6] == IPPROTO_TCP:
        (total,) = struct.unpack_from("!H", frame, at + 4)
        src, dst = frame[at + 8 : at + 24], frame[at + 24 : at + 40]
        tos, tcp = (frame[at] & 15) << 4 | frame[at + 1] >> 4, frame[at + 40 : at + 40 + total]
        label, ip_ok = int.from_bytes(frame[at + 1 : at + 4], "big") & 0xFFFFF, True
    else:
        return None
    a, b = str(ipaddress.ip_address(src)), str(ipaddress.ip_address(dst))
    sport, dport, seq, ack, words, flags, window, check, urgent = struct.unpack_from(
        "!HHIIBBHHH", tcp
    )
    end = (words >> 4) * 4
    tcp_ok = ones_sum(pseudo_header(a, b, len(tcp)) + tcp) == 0xFFFF
    return Segment(
        a, b, sport, dport, seq, ack, flags, window, tcp[20:end], tcp[end:],
        frame[6:12], frame[:6], tuple(vlans), tos, urgent, ae=bool(words & 1),
        sums_ok=ip_ok and tcp_ok, flow_label=label, check=check,
    )  # fmt: skip
