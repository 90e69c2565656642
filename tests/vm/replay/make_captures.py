# SPDX-License-Identifier: GPL-2.0-only
"""Small captures of what TCP may look like and seldom does.

    python3 tests/vm/replay/make_captures.py FOLDER

Each is a conversation, made by hand; then those again with bits of them turned, by a fixed seed.
In each the first to send is the guest, as the replay takes it.
"""

from __future__ import annotations

import random
import struct
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pcap
import wire
from wire import ACK, CWR, ECE, FIN, PSH, RST, SYN, URG

Frames = list[bytes]

MSS = 1448
ISN, PEER_ISN = 1_000_000, 7_000_000
SYN_OPTIONS = (
    wire.opt_mss(1460) + wire.SACK_PERMITTED + wire.opt_ts(1, 0) + wire.NOP + wire.opt_wscale(7)
)
#: Mutations of each capture, and bytes changed in a frame.
MUTATIONS, MUTATED_BYTES = 2, 3


class Talk:
    """Two ends; what they say is a frame each."""

    def __init__(self, sport: int, isn: int = ISN, family: int = 4, **common: object) -> None:
        addresses = ("10.0.0.1", "10.0.1.2") if family == 4 else ("fd00::1", "fd01::2")
        self.guest = wire.Segment(*addresses, sport, 80, isn, **common)
        self.peer = wire.Segment(
            *addresses[::-1], 80, sport, PEER_ISN,
            src_mac=wire.Segment.dst_mac, dst_mac=wire.Segment.src_mac, **common,
        )  # fmt: skip
        self.isn = isn
        self.frames: Frames = []

    def from_guest(self, at: int = 1, flags: int = ACK, size: int = 0, **changes: object) -> Talk:
        """The guest's segment `at` bytes behind its ISN."""
        changes = {"payload": stuff(at, size), "ack": PEER_ISN + 1} | changes
        self.frames.append(self.guest.but(seq=self.isn + at, flags=flags, **changes).frame())
        return self

    def from_peer(self, acked: int = 1, flags: int = ACK, at: int = 1, size: int = 0,
                  **changes: object) -> Talk:  # fmt: skip
        """The peer's, which acknowledges what lies before `acked`."""
        changes = {"payload": stuff(at, size), "ack": self.isn + acked} | changes
        self.frames.append(self.peer.but(seq=PEER_ISN + at, flags=flags, **changes).frame())
        return self

    def open(self, options: bytes = SYN_OPTIONS, answer: bytes | None = None) -> Talk:
        """A handshake."""
        self.from_guest(0, SYN, options=options, ack=0)
        self.from_peer(1, SYN | ACK, 0, options=options if answer is None else answer)
        return self.from_guest()

    def shut(self, at: int) -> Talk:
        """Both ends close, the guest behind `at` bytes."""
        self.from_guest(at, FIN | ACK).from_peer(at + 1, FIN | ACK)
        return self.from_guest(at + 1, ack=PEER_ISN + 2)


def stuff(at: int, size: int) -> bytes:
    """Payload that says where it belongs."""
    return bytes((at + n) * 7 % 251 for n in range(size))


# --- conversations ------------------------------------------------------------


def plain(family: int = 4, isn: int = ISN, **common: object) -> Frames:
    """A handshake, data with ACKs, the end."""
    talk = Talk(40001, isn, family, **common).open()
    for n in range(12):
        talk.from_guest(1 + n * MSS, PSH | ACK, MSS)
        if n % 2:
            talk.from_peer(1 + (n + 1) * MSS)
    return talk.shut(1 + 12 * MSS).frames


def wraps() -> Frames:
    """Sequence numbers pass 2^32."""
    return plain(isn=2**32 - 5000)


def v6_extensions() -> Frames:
    """Hop-by-hop and destination options before TCP."""
    return plain(6, first_header=0, extensions=bytes((60, 0, 1, 4, 0, 0, 0, 0))
                 + bytes((wire.IPPROTO_TCP, 0, 1, 4, 0, 0, 0, 0)))  # fmt: skip


ODD_OPTIONS = {
    "unknown": b"\xfd\x06\xf9\x89ab\xfe\x02",
    "length-zero": b"\x05\x00" + wire.NOP * 6,
    "length-beyond": b"\x08\x28" + bytes(6),
    "end-then-garbage": wire.END + b"\xff" * 11,
    "forty-nops": wire.NOP * 40,
    "twice-timestamps": wire.opt_ts(5, 1) * 2,
    "sack-unasked": wire.opt_sack((ISN + 5000, ISN + 6000), (ISN + 1, ISN + 2)),
    "sack-backwards": wire.opt_sack((ISN + 6000, ISN + 5000)),
    "sack-four": wire.opt_sack(*((ISN + n * 3000, ISN + n * 3000 + 1000) for n in (4, 3, 2, 1))),
    "sack-cut": b"\x05\x07" + bytes(5),
    "md5": wire.MD5,
    "ao": wire.AO,
    "mptcp": wire.MPTCP,
    "fast-open": b"\x22\x0a" + bytes(range(8)),
    "mss-late": wire.opt_mss(0),
}


def odd_options() -> Frames:
    """Each in a SYN, in data, and in an ACK."""
    frames: Frames = []
    for n, options in enumerate(ODD_OPTIONS.values()):
        talk = Talk(41000 + n).open(options, SYN_OPTIONS)
        talk.from_guest(1, PSH | ACK, MSS, options=options)
        talk.from_peer(1 + MSS, options=options)
        talk.from_guest(1 + MSS, PSH | ACK, 700).from_peer(1, options=options)
        frames += talk.shut(701 + MSS).frames
    return frames


def odd_syns() -> Frames:
    """MSS of 0, 1 and 65535, scale of 15, data on the SYN and on its answer, SYNs that differ."""
    frames: Frames = []
    sizes = [wire.opt_mss(size) for size in (0, 1, 65535)]
    for n, options in enumerate([*sizes, wire.NOP + wire.opt_wscale(15)]):
        frames += Talk(42000 + n).open(options).from_guest(1, ACK, MSS).from_peer(1 + MSS).frames
    talk = Talk(42010).from_guest(0, SYN, 100, options=SYN_OPTIONS, ack=0)
    talk.from_peer(101, SYN | ACK, 0, 50, options=SYN_OPTIONS)
    frames += talk.from_guest(100, ACK, 500).from_peer(600).frames
    talk = Talk(42011).from_guest(0, SYN, options=SYN_OPTIONS, ack=0)
    talk.from_guest(0, SYN, options=wire.opt_mss(536), ack=0).from_peer(1, SYN | ACK, 0)
    return frames + talk.from_guest(1, ACK, 536).from_peer(537).frames


def overlaps() -> Frames:
    """Repeats with other edges, and with other bytes."""
    talk = Talk(43000).open()
    for at, size in ((1, 1000), (501, 1000), (1, 1448), (1501, 100), (1, 1600), (1400, 1448)):
        talk.from_guest(at, PSH | ACK, size)
    talk.from_guest(501, PSH | ACK, payload=b"x" * 600).from_peer(1)
    talk.from_peer(501, options=wire.NOP * 2 + wire.opt_sack((ISN + 1501, ISN + 1601)))
    return talk.from_guest(2848, PSH | ACK, 800).from_peer(3648).shut(3648).frames


def urgent() -> Frames:
    """The urgent pointer before, at, behind and far behind the data."""
    talk = Talk(43001).open()
    for n, pointer in enumerate((0, 1, 100, 101, 0xFFFF)):
        talk.from_guest(1 + 100 * n, URG | PSH | ACK, 100, urgent=pointer)
        talk.from_peer(101 + 100 * n, URG | ACK, urgent=pointer)
    return talk.from_guest(501, ACK, 100, urgent=77).from_peer(601).shut(601).frames


def _fragmented(segment: wire.Segment, cuts: tuple[tuple[int, int], ...]) -> Frames:
    """IPv4 fragments of a segment, from byte to byte of what follows the IP header."""
    whole = segment.tcp()
    frames = []
    for start, end in cuts:
        packet = bytearray(segment.ip(whole[start:end]))
        more = 0x2000 if end < len(whole) else 0
        struct.pack_into("!HH", packet, 4, 77, more | start // 8)
        packet[10:12] = b"\0\0"
        packet[10:12] = struct.pack("!H", wire.ones_sum(bytes(packet[:20])) ^ 0xFFFF)
        frames.append(segment.link(bytes(packet)))
    return frames


def fragments() -> Frames:
    """Halves, a first one without the whole TCP header, overlapping ones, one that is missing."""
    talk = Talk(43002).open()
    segment = talk.guest.but(seq=ISN + 1, ack=PEER_ISN + 1, flags=ACK, payload=stuff(1, 1000))
    for cuts in (((0, 512), (512, 1020)), ((0, 16), (16, 1020)), ((0, 8), (8, 1020)),
                 ((0, 512), (256, 1020)), ((512, 1020), (0, 512)), ((0, 512),)):  # fmt: skip
        talk.frames += _fragmented(segment, cuts)
        talk.from_peer(1)
    return talk.from_peer(1001).shut(1001).frames


def guest_only() -> Frames:
    """No ACK is ever seen."""
    talk = Talk(43003).from_guest(0, SYN, options=SYN_OPTIONS, ack=0).from_guest()
    for n in range(30):
        talk.from_guest(1 + n * MSS, PSH | ACK, MSS)
    return talk.from_guest(1 + 30 * MSS, FIN | ACK).frames


def data_before_ack() -> Frames:
    """The peer says nothing but its SYN and one late ACK."""
    talk = Talk(43004).open()
    for n in range(30):
        talk.from_guest(1 + n * MSS, PSH | ACK, MSS)
    return talk.from_peer(1 + 30 * MSS).shut(1 + 30 * MSS).frames


def acks_only() -> Frames:
    """ACKs for data that passes elsewhere."""
    talk = Talk(43005).open()
    for n in range(1, 30):
        talk.from_peer(1 + n * MSS)
    return talk.from_peer(1 + 30 * MSS, FIN | ACK).frames


def odd_flags() -> Frames:
    """All flags, none, SYN with FIN, resets with data, and a SYN from both ends."""
    talk = Talk(43006).open()
    for flags in (0xFF, 0, SYN | FIN, FIN, URG, SYN | RST, PSH, ECE | CWR):
        talk.from_guest(1, flags, 10).from_peer(1, flags, 1, 10)
    talk.from_guest(1, RST | ACK, 20)
    both = Talk(43007).from_guest(0, SYN, options=SYN_OPTIONS, ack=0)
    both.from_peer(0, SYN, 0, options=SYN_OPTIONS, ack=0).from_guest(0, SYN | ACK)
    return talk.frames + both.from_peer(1, SYN | ACK, 0).from_guest(1, ACK, 99).frames


def windows() -> Frames:
    """Closed, probed, shrunk, and opened by nothing else."""
    talk = Talk(43008).open().from_guest(1, ACK, MSS).from_peer(1 + MSS, window=0)
    talk.from_guest(MSS, ACK).from_peer(1 + MSS, window=0)
    talk.from_guest(1 + MSS, ACK, 1).from_peer(1 + MSS, window=0)
    talk.from_peer(1 + MSS, window=500).from_guest(1 + MSS, ACK, MSS)
    talk.from_peer(1 + MSS, window=100).from_peer(1 + 2 * MSS, window=1)
    return talk.from_guest(2 * MSS, ACK, 1).from_peer(1 + 2 * MSS).shut(1 + 2 * MSS).frames


def duplicate_acks() -> Frames:
    """A hole, with SACK blocks, repeats by the guest, and a DSACK."""
    talk = Talk(43009).open()
    for n in range(8):
        talk.from_guest(1 + n * MSS, ACK, MSS)
    for n in range(2, 8):
        blocks = wire.opt_sack((ISN + 1 + MSS, ISN + 1 + n * MSS))
        talk.from_peer(1, options=wire.NOP * 2 + blocks)
    talk.from_guest(1, PSH | ACK, MSS).from_guest(1, PSH | ACK, MSS)
    talk.from_peer(1 + 8 * MSS, options=wire.NOP * 2 + wire.opt_sack((ISN + 1, ISN + 1 + MSS)))
    return talk.shut(1 + 8 * MSS).frames


def wrong_sums() -> Frames:
    """Segments that the receiver will throw away, in data and in ACKs."""
    talk = Talk(43010).open()
    talk.from_guest(1, ACK, MSS, partial=True).from_guest(1, ACK, MSS)
    talk.from_peer(1 + MSS, partial=True).from_peer(1 + MSS)
    return talk.shut(1 + MSS).frames


def cut_short() -> Frames:
    """Frames that end in the middle of each header, and lengths that lie."""
    whole = Talk(43011).open().from_guest(1, ACK, 100).frames
    short = [frame[:size] for frame in whole for size in (14, 20, 33, 34, 40, 47, 53, 54)]
    lies = Talk(43012).open()
    for words in (0, 4, 15):
        lies.from_guest(1, ACK, 20, data_offset=words).from_peer(1, ACK, 1, 20, data_offset=words)
    return short + lies.frames


CONVERSATIONS: dict[str, Callable[[], Frames]] = {
    "plain": plain,
    "plain-v6": lambda: plain(6),
    "vlan": lambda: plain(vlans=(7,)),
    "qinq": lambda: plain(vlans=(9, 7)),
    "ecn": lambda: plain(tos=3),
    **{
        function.__name__.replace("_", "-"): function
        for function in (
            wraps, v6_extensions, odd_options, odd_syns, overlaps, urgent, fragments, guest_only,
            data_before_ack, acks_only, odd_flags, windows, duplicate_acks, wrong_sums, cut_short,
        )
    },
}  # fmt: skip


def mutated(frames: Frames, dice: random.Random) -> Frames:
    """Some bytes of the headers changed, some frames doubled, dropped or swapped."""
    made: Frames = []
    for frame in frames:
        raw = bytearray(frame)
        if dice.random() < 0.5:
            for _ in range(dice.randint(1, MUTATED_BYTES)):
                raw[dice.randrange(12, min(len(raw), 110))] = dice.randrange(256)
        fate = dice.random()
        made += [bytes(raw)] * (0 if fate < 0.05 else 2 if fate < 0.1 else 1)
        if fate > 0.9 and len(made) > 1:
            made[-1], made[-2] = made[-2], made[-1]
    return made


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, conversation in CONVERSATIONS.items():
        frames = conversation()
        pcap.write(folder / f"{name}.pcap", frames)
        dice = random.Random(name)
        for n in range(MUTATIONS):
            pcap.write(folder / f"{name}-mutated-{n}.pcap", mutated(frames, dice))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
