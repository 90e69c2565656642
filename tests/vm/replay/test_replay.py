# SPDX-License-Identifier: GPL-2.0-only
"""Captures are replayed through a bridge: those in /lab/captures, as TCON_CAPTURES says.

Of two addresses the first to send is the guest; then the other one.  Without a rule every frame
passes as it is, unless TCon echoes marks for a guest that does not (ecn-adopted).  Under a CC
windows, options and times may change; but frames other than TCP pass as they are, or are counted
as unread-dropped; each byte that leaves was sent, each that was sent leaves in the end, and no sum
that was right is wrong.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import struct
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import genl
import pcap
import pytest
import rig as rigs
import wire
from rig import poll

FOLDER = Path(os.environ.get("TCON_CAPTURES", "/lab/captures"))
RULES = ("none", "cubic", "bbr", "dctcp")
#: Frames that an end's device takes: its MTU, and the Ethernet header with two tags.
FRAME_MAX_BYTES = rigs.SCRIPTED_MTU + 22
FRAME_MIN_BYTES = 14
#: After which nothing more comes: no rule, nothing is held.
QUIET_S = 0.2
#: After which a flow without packets is forgotten, as the next capture has the same ports; a flow
#: that little was seen of stays somewhat longer.
IDLE_S, FORGET_S = 1, 120
#: IPv6 extension headers that tell their length in units of 8 bytes: hop-by-hop options, routing
#: and destination options.
_EXTENSIONS = (0, 43, 60)

Ends = tuple[rigs.RawEnd, rigs.RawEnd]
#: Addresses, ports.
Way = tuple[bytes, bytes, int, int]


@dataclass(frozen=True)
class Data:
    """A TCP segment as far as its receiver's stream goes."""

    way: Way
    seq: int
    payload: bytes
    sums_ok: bool


def _network(frame: bytes) -> tuple[int, int]:
    """The kind of packet that a frame carries, and where it begins."""
    at = 12
    while len(frame) >= at + 4 and frame[at : at + 2] in (b"\x81\x00", b"\x88\xa8"):
        at += 4
    return int.from_bytes(frame[at : at + 2], "big"), at + 2


def _addresses(frame: bytes) -> tuple[bytes, bytes]:
    """Source and destination: of IP where it is that, else of Ethernet."""
    kind, at = _network(frame)
    if kind == wire.ETH_IP and len(frame) >= at + 20:
        return frame[at + 12 : at + 16], frame[at + 16 : at + 20]
    if kind == wire.ETH_IP6 and len(frame) >= at + 40:
        return frame[at + 8 : at + 24], frame[at + 24 : at + 40]
    return frame[6:12], frame[:6]


def _ip4_payload(packet: bytes) -> tuple[bytes, bool] | None:
    """The TCP part of an unfragmented IPv4 packet, and whether its header's sum is right."""
    size, total = (packet[0] & 15) * 4, int.from_bytes(packet[2:4], "big")
    fragment = int.from_bytes(packet[6:8], "big") & 0x3FFF
    if packet[0] >> 4 != 4 or size < 20 or not size <= total <= len(packet) or fragment:
        return None
    if packet[9] != wire.IPPROTO_TCP:
        return None
    return packet[size:total], wire.ones_sum(packet[:size]) == 0xFFFF


def _ip6_payload(packet: bytes) -> tuple[bytes, bool] | None:
    total, following, at = 40 + int.from_bytes(packet[4:6], "big"), packet[6], 40
    if packet[0] >> 4 != 6 or total > len(packet):
        return None
    while following in _EXTENSIONS and at + 8 <= total:
        following, at = packet[at], at + 8 * (packet[at + 1] + 1)
    return (packet[at:total], True) if following == wire.IPPROTO_TCP else None


def data_of(frame: bytes) -> Data | None:
    """The segment in a frame; None: there is none that a stack would take."""
    kind, at = _network(frame)
    packet = frame[at:]
    if kind == wire.ETH_IP and len(packet) >= 20:
        found = _ip4_payload(packet)
    elif kind == wire.ETH_IP6 and len(packet) >= 40:
        found = _ip6_payload(packet)
    else:
        return None
    if not found or len(found[0]) < 20:
        return None
    tcp, ok = found
    src, dst = _addresses(frame)
    sport, dport, seq, _, words = struct.unpack_from("!HHIIB", tcp)
    head = (words >> 4) * 4
    if not 20 <= head <= len(tcp):
        return None
    size = len(tcp)
    pseudo = src + dst + (struct.pack("!HI", wire.IPPROTO_TCP, size) if kind == wire.ETH_IP
                          else struct.pack("!II", size, wire.IPPROTO_TCP))  # fmt: skip
    ok = ok and wire.ones_sum(pseudo + tcp) == 0xFFFF
    return Data((src, dst, sport, dport), seq, tcp[head:], ok)


def assert_stream(sent: list[Data], left: list[Data]) -> None:
    """Only bytes that were sent leave, where they were; and all of them do."""
    known: dict[Way, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    wrong = {(data.way, data.seq, data.payload) for data in sent if not data.sums_ok}
    for data in sent:
        for n, byte in enumerate(data.payload):
            known[data.way][(data.seq + n) % 2**32].add(byte)
    missing = {way: set(places) for way, places in known.items()}
    for data in left:
        assert data.sums_ok or (data.way, data.seq, data.payload) in wrong, f"wrong sum: {data}"
        for n, byte in enumerate(data.payload):
            place = (data.seq + n) % 2**32
            assert byte in known[data.way][place], f"nobody sent this at {place}: {data}"
            missing[data.way].discard(place)
    gone = {way: sorted(places)[:3] for way, places in missing.items() if places}
    assert not gone, f"what never left begins at {gone}"


@dataclass
class Side:
    """The frames that went in at one end, and the frames that came out at the other."""

    sent: list[bytes]
    left: list[bytes]

    def check(self, untouched: bool) -> int:
        """Assert that what left is right; how many packets that are not TCP have not left."""
        if untouched:
            assert Counter(self.left) == Counter(self.sent)
            return 0
        others = [Counter(f for f in frames if not data_of(f)) for frames in (self.sent, self.left)]
        assert others[1] <= others[0], f"nobody sent {others[1] - others[0]}"
        sent, left = ([d for f in frames if (d := data_of(f))] for frames in (self.sent, self.left))
        assert_stream(sent, left)
        return (others[0] - others[1]).total()


def drain(end: rigs.RawEnd, into: list[bytes], timeout_s: float = 0) -> None:
    while (frame := end.recv(timeout_s)) is not None:
        into.append(frame)


def replay(ends: Ends, frames: list[bytes], swapped: bool) -> tuple[Side, Side]:
    """All frames of a capture, each on its side."""
    guests: dict[frozenset[bytes], bytes] = {}
    sides = Side([], []), Side([], [])
    for frame in frames:
        src, dst = _addresses(frame)
        is_guest = guests.setdefault(frozenset((src, dst)), src) == src
        which = int(is_guest == swapped)
        ends[which].send(frame)
        sides[which].sent.append(frame)
        drain_both(ends, sides)
    return sides


def drain_both(ends: Ends, sides: tuple[Side, Side], timeout_s: float = 0) -> int:
    """Take what has left at both ends; how much has in all."""
    for end, side in zip(ends, reversed(sides), strict=True):
        drain(end, side.left, timeout_s)
    return sum(len(side.left) for side in sides)


def release(ends: Ends, sides: tuple[Side, Side], tcon: genl.Genl, bridge: str) -> None:
    """Take the rule away: held packets leave."""
    tcon.del_rules(bridge)
    poll(lambda: not tcon.spreading(), "all flows know that there is no rule")
    deadline = time.monotonic() + 5
    count, before = drain_both(ends, sides), -1
    while count != before and time.monotonic() < deadline:
        before, count = count, drain_both(ends, sides, QUIET_S)
    assert count == before, "frames leave for ever"


def _files() -> list[Path]:
    return sorted(file for file in FOLDER.glob("**/*") if file.is_file())


@dataclass(frozen=True)
class Lane:
    """A bridge with two ends, a rule, and whether the second to send is the guest.

    One for each, as flows outlive their packets, and a capture has the same ports again.
    """

    bridge: str
    ends: Ends
    rule: str
    swapped: bool

    def run(self, tcon: genl.Genl, frames: list[bytes]) -> None:
        tcon.set_rule(self.rule, bridge=self.bridge)
        before = tcon.counters()
        sides = replay(self.ends, frames, self.swapped)
        release(self.ends, sides, tcon, self.bridge)
        after = tcon.counters()
        grown = {name: after[name] - before[name] for name in after if after[name] > before[name]}
        guest = "second" if self.swapped else "first"
        print(f"{self.rule}, who sends {guest} is the guest: {grown}")
        untouched = self.rule == "none" and "ecn-adopted" not in grown
        missing = sum(side.check(untouched) for side in sides)
        assert missing == grown.get("unread-dropped", 0)


@pytest.fixture(scope="module")
def lanes(machine: None) -> Iterator[list[Lane]]:
    rig = rigs.Rig()
    with contextlib.closing(rig):
        rig.namespace("g", "s")
        kinds = enumerate(itertools.product(RULES, (False, True)))
        yield [lane(rig, str(n), rule, swapped) for n, (rule, swapped) in kinds]


def lane(rig: rigs.Rig, name: str, rule: str, swapped: bool) -> Lane:
    bridge, guest, uplink = f"br{name}", f"p{name}", f"up{name}"
    rig.veth(guest, f"g{name}", "g")
    rig.veth(uplink, f"s{name}", "s")
    rig.bridge(bridge)
    here, there = rig.port(bridge, guest), rig.port(bridge, uplink, "UPLINK")
    rig.flows(bridge, f"in_port={here},actions=output:{there}",
              f"in_port={there},actions=output:{here}")  # fmt: skip
    return Lane(bridge, (rig.raw(f"g{name}", "g"), rig.raw(f"s{name}", "s")), rule, swapped)


def test_there_are_captures() -> None:
    empty = [folder.name for folder in FOLDER.iterdir() if not any(folder.glob("**/*"))]
    assert not empty, f"no file is in {empty}"


@pytest.mark.parametrize("file", _files(), ids=lambda file: str(file.relative_to(FOLDER)))
def test_capture(lanes: list[Lane], tcon: genl.Genl, file: Path) -> None:
    try:
        frames = pcap.read(file)
    except pcap.CaptureError as error:
        pytest.fail(f"{file.name} cannot be replayed: {error}", pytrace=False)
    fit = [frame for frame in frames if FRAME_MIN_BYTES <= len(frame) <= FRAME_MAX_BYTES]
    try:
        for lane in lanes:
            lane.run(tcon, fit)
    finally:
        with rigs.parameters(idle_s=IDLE_S):
            poll(lambda: not tcon.info("FLOWS"), "flows are forgotten", FORGET_S, 0.5)
