# SPDX-License-Identifier: GPL-2.0-only
"""Is a segment as the script expects it?"""

from __future__ import annotations

import struct

import wire
from difference import Difference
from language import TS, Packet

_NAMES = ("FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR", "AE")
_ECN, _LENIENT = 64 | 128 | 256, wire.FIN | wire.PSH | wire.CWR


def shown(packet: Packet) -> str:
    """A segment for a reader, much as tcpdump has it."""
    window = "" if packet.window is None else f" win {packet.window}"
    urgent = f" urg {packet.urgent}" if packet.urgent else ""
    return (
        f"{'<' if packet.inbound else '>'} {_flags(packet.flags)} {packet.seq}:"
        f"{packet.seq + packet.size}({packet.size}) ack {packet.ack}{window}{urgent}"
        f" <{_listed(packet.options or ())}>"
    )


def _flags(flags: int) -> str:
    return " ".join(name for n, name in enumerate(_NAMES) if flags >> n & 1) or "none"


def compare(
    actual: Packet, expected: Packet, tick_us: int, tolerance_us: float, ignored: int = 0
) -> None:
    """Raises Difference with the first field that is another.

    ``tick_us``: of time stamps, whose values are compared within the tolerance; 0: not at all.
    ``ignored``: flags that are not compared.
    """
    if expected.ecn is not None and actual.ecn != expected.ecn:
        raise Difference("ecn", f"{actual.ecn} instead of {expected.ecn}")
    if different := (actual.flags ^ expected.flags) & ~ignored:
        kind = "ecn flags" if different & _ECN and not different & ~_ECN else "flags"
        raise Difference(kind, f"{_flags(actual.flags)} instead of {_flags(expected.flags)}")
    for name in ("seq", "ack", "size", "urgent"):
        got, wanted = getattr(actual, name), getattr(expected, name) % 2**32
        if got != wanted:
            raise Difference(name, f"{got} instead of {wanted}")
    if expected.window is not None and actual.window != expected.window:
        raise Difference("window", f"{actual.window} instead of {expected.window}")
    if expected.options is not None:
        _compare_options(actual, expected, tick_us, tolerance_us)


def _compare_options(actual: Packet, expected: Packet, tick_us: int, tolerance_us: float) -> None:
    got, wanted = actual.options or (), expected.options or ()
    said = f"{_listed(got)} instead of {_listed(wanted)}"
    if [kind for kind, _ in got] != [kind for kind, _ in wanted]:
        raise Difference("options", said)
    for (kind, body), (_, other) in zip(got, wanted, strict=True):
        if kind == TS:
            late = struct.unpack("!II", body)[0] - struct.unpack("!II", other)[0]
            if abs((late + 2**31) % 2**32 - 2**31) * tick_us > tolerance_us:
                raise Difference("time stamp", said)
        elif body != other:
            raise Difference("options", said)


def _listed(options: tuple[tuple[int, bytes], ...]) -> str:
    return ", ".join(f"{kind} {body.hex()}".strip() for kind, body in options) or "none"


def joined(first: wire.Segment, then: wire.Segment, left_bytes: int) -> wire.Segment:
    """Two segments in a row as the super-packet that they were.  Raises Difference.

    ``left_bytes``: what the super-packet has beyond the first.
    """
    alike = (then.seq - first.seq) % 2**32 == len(first.payload) and (
        (then.flags ^ first.flags) & ~_LENIENT,
        then.ae, then.ack, then.urgent, len(then.options),
    ) == (0, first.ae, first.ack, first.urgent, len(first.options))  # fmt: skip
    if not alike or not then.payload or len(then.payload) > left_bytes:
        raise Difference("size", f"{len(first.payload)}, and what follows does not go on with it")
    cwr = first.flags & wire.CWR
    return then.but(
        seq=first.seq,
        flags=then.flags & ~wire.CWR | cwr,
        payload=first.payload + then.payload,
        sums_ok=first.sums_ok and then.sums_ok,
    )
