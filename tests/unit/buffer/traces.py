# SPDX-License-Identifier: GPL-2.0-only
"""Traces of recorder.h: frames into and out of the datapath, and the CC's limits."""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from wire import FIN, SYN, options

IP, IP6, TAGS = 0x0800, 0x86DD, (0x8100, 0x88A8)
WSCALE, SACK, STAMPS, ACCECN = 3, 5, 8, (172, 174)


@dataclass(frozen=True)
class Frame:
    """A segment, or a super-packet: `gso` bytes of payload each, 0: it is none.

    `outer` has the fields before TCP, by name, without lengths, the IP id and checksums.
    """

    outer: dict[str, bytes | int]
    seq: int
    ack: int
    flags: int
    ae: bool
    window: int
    reports: frozenset[tuple[int, bytes]]  # SACK blocks, AccECN options
    stamps: tuple[int, int] | None  # TSval, TSecr
    wscale: int | None
    payload: bytes
    gso: int
    raw: bytes = dataclasses.field(repr=False)

    @property
    def span(self) -> int:
        """Sequence numbers that it occupies."""
        return len(self.payload) + bool(self.flags & SYN) + bool(self.flags & FIN)

    @property
    def sacks(self) -> list[tuple[int, int]]:
        return [struct.unpack("!II", body) for kind, body in self.reports if kind == SACK]

    def header_bytes(self) -> int:
        """All headers, including each one that a super-packet's segments will have."""
        segments = -(-len(self.payload) // self.gso) if self.gso else 1
        return (len(self.raw) - len(self.payload)) * segments


def read_frame(raw: bytes, gso: int = 0) -> Frame:
    """Of Ethernet, VLAN tags, IP and TCP.  The frame's length counts, whatever IP's says."""
    at = 12
    while struct.unpack_from("!H", raw, at)[0] in TAGS:
        at += 4
    (kind,) = struct.unpack_from("!H", raw, at)
    outer: dict[str, bytes | int] = {"MACs": raw[:12], "VLAN tags": raw[12:at]}
    at += 2
    if kind == IP:
        outer |= {"DSCP": raw[at + 1] >> 2, "TTL": raw[at + 8], "addresses": raw[at + 12 : at + 20]}
        tcp = at + (raw[at] & 15) * 4
    else:
        assert kind == IP6, hex(kind)
        (word,) = struct.unpack_from("!I", raw, at)
        outer |= {"DSCP": word >> 22 & 63, "flow label": word & 0xFFFFF, "TTL": raw[at + 7],
                  "addresses": raw[at + 8 : at + 40]}  # fmt: skip
        tcp = at + 40
    seq, ack, words, flags, window = struct.unpack_from("!IIBBH", raw, tcp + 4)
    end = tcp + (words >> 4) * 4
    stamps, reports, wscale = None, set(), None
    for what, body in options(raw[tcp + 20 : end]):
        if what == STAMPS:
            stamps = struct.unpack("!II", body)
        elif what == WSCALE:
            wscale = body[0]
        elif what == SACK:
            reports |= {(SACK, body[n : n + 8]) for n in range(0, len(body), 8)}
        elif what in ACCECN:
            reports.add((what, body))
    return Frame(outer, seq, ack, flags, bool(words & 1), window, frozenset(reports), stamps,
                 wscale, raw[end:], gso, raw)  # fmt: skip


@dataclass(frozen=True)
class Limits:
    """The CC's limits, and what the tracker takes for lost.

    Bytes, bits/s; sequence numbers as on the wire.  `strict`: all of a segment must fit into
    `cwnd`, as in a recovery; otherwise its first byte.  `gone`: bytes that left the path without a
    place, as a duplicate ACK says.  `burst`: bytes that the pacer lets leave together.  `free`: no
    limit binds just now: a silence, or memory.  `busy`: some of it has yet to leave.
    """

    state: str
    reason: str
    cwnd: int
    strict: bool
    mss: int
    inflight: int
    una: int
    nxt: int
    gone: int
    rate: int
    burst: int
    free: bool
    busy: bool
    timeouts: int
    probes: int
    lost: tuple[tuple[int, int], ...]


def read_limits(words: list[str]) -> Limits:
    values: dict[str, object] = {}
    for word in words:
        name, _, value = word.partition("=")
        if name == "lost":
            pairs = (pair.split("-") for pair in value.split(",") if pair)
            values[name] = tuple((int(a), int(b)) for a, b in pairs)
        elif name in ("strict", "free", "busy"):
            values[name] = value == "1"
        else:
            values[name] = value if name in ("state", "reason") else int(value)
    return Limits(**values)


@dataclass(frozen=True)
class Event:
    """`what`: guest, left, peer, given: a frame; flow: limits; moved: nothing."""

    ns: int
    what: str
    frame: Frame | None = None
    limits: Limits | None = None


def read_event(line: str) -> Event:
    ns, what, *words = line.split()
    if what == "flow":
        return Event(int(ns), what, limits=read_limits(words))
    if what == "moved":
        return Event(int(ns), what)
    return Event(int(ns), what, frame=read_frame(bytes.fromhex(words[1]), int(words[0])))


def read(lines: Iterable[str]) -> Iterator[list[Event]]:
    """One list for each connection."""
    events: list[Event] = []
    for line in lines:
        if not line.startswith("begin"):
            events.append(read_event(line))
            continue
        if events:
            yield events
        events = []
    yield events
