# SPDX-License-Identifier: GPL-2.0-only
"""What a packet costs among many connections, measured inside the VM.

    connections.py VARIANT [COUNT...]

For each count, by default those of COUNTS, so many connections are opened, each sends and has
acknowledged ROUNDS packets, and a sample of them is measured. Prints one JSON object: by count
"syn", "data" and "ack", virtual nanoseconds for a packet from one veth end to the other, and
"slab_bytes", what the kernel's slabs and per-CPU memory have grown by, for each connection.
Topology, frames and variants are measure.py's.
"""

from __future__ import annotations

import json
import random
import re
import struct
import sys
import time
from pathlib import Path

import measure

COUNTS = (1, 100, 1000, 20_000)
FIRST_PORT, PEER_PORT, PORTS = 10000, 5201, 50_000
ROUNDS = 3
IDLE_S = 65  # in a minute each half-flow has been looked at, and sleeps if its port rests
SAMPLE = 2000
TCP_AT = 10 + 14 + 20  # behind virtio_net_hdr, Ethernet and IPv4


def frames() -> dict[str, bytearray]:
    """One of each kind.  The sum in it is that of the pseudo header, without ports or numbers."""
    syn, ack, data = measure.SYN, measure.ACK, measure.ACK | measure.PSH
    return {
        "syn": bytearray(measure.frame(True, 0, 0, 0, syn, 0)),
        "syn-ack": bytearray(measure.frame(False, 0, 0, 0, syn | ack, 0)),
        "ack": bytearray(measure.frame(True, 0, 0, 0, ack, 0)),
        "first": bytearray(measure.frame(True, 0, 0, 0, data, measure.FIRST)),
        "data": bytearray(measure.frame(True, 0, 0, 0, data, measure.SUPER)),
        "peer-ack": bytearray(measure.frame(False, 0, 0, 0, ack, 0)),
        "rst": bytearray(measure.frame(True, 0, 0, 0, ack | measure.RST, 0)),
    }


class Pair:
    """Both ends, and the frames that they send."""

    def __init__(self) -> None:
        self.a, self.b = measure.sender("a-eth", "a"), measure.sender("b-eth", "b")
        self.frames = frames()
        self.sent: dict[int, int] = {}  # by flow, the next sequence number

    def send(self, kind: str, flow: int, seq: int, ack: int) -> int:
        """Virtual nanoseconds that sending a frame takes."""
        raw = self.frames[kind]
        from_peer = kind in ("syn-ack", "peer-ack")
        ports = (FIRST_PORT + flow % PORTS, PEER_PORT + flow // PORTS)
        struct.pack_into("!HHII", raw, TCP_AT, *(ports[::-1] if from_peer else ports), seq, ack)
        sock = self.b if from_peer else self.a
        start = time.perf_counter_ns()
        sock.send(raw)
        return time.perf_counter_ns() - start

    def open(self, flow: int) -> int:
        """Three segments; what the first took."""
        took = self.send("syn", flow, 999, 0)
        self.sent[flow] = 1000
        self.send("syn-ack", flow, 1999, 1000)
        self.send("ack", flow, 1000, 2000)
        return took

    def round(self, flow: int) -> tuple[int, int]:
        """A super-packet and its ACK; what they took."""
        seq = self.sent[flow]
        kind, size = ("first", measure.FIRST) if seq == 1000 else ("data", measure.SUPER)
        self.sent[flow] += size
        data = self.send(kind, flow, seq, 2000)
        return data, self.send("peer-ack", flow, 2000, seq + size)


def slab_bytes() -> int:
    """Memory in slabs and per-CPU areas."""
    text = Path("/proc/meminfo").read_text()
    return sum(
        1024 * int(re.search(rf"^{name}: *(\d+) kB", text, re.MULTILINE)[1])
        for name in ("Slab", "Percpu")
    )


def make_room(half_flows: int) -> None:
    """All may be one port's."""
    for name in ("max_flows", "max_flows_per_port"):
        Path(f"/sys/module/tcon/parameters/{name}").write_text(str(half_flows))


def among(pair: Pair, count: int) -> dict[str, float]:
    """What a packet takes among ``count`` connections, and what each of them holds."""
    measure.prime(pair.a, pair.b)
    before = slab_bytes()
    opened = [pair.open(flow) for flow in range(count)][-SAMPLE:]
    for _ in range(ROUNDS):
        for flow in range(count):
            pair.round(flow)
    sample = random.Random(1).sample(range(count), min(SAMPLE, count))
    spent = [pair.round(flow) for _ in range(-(-SAMPLE // count)) for flow in sample]
    time.sleep(IDLE_S)
    grown = slab_bytes() - before
    for flow in range(count):
        pair.send("rst", flow, pair.sent[flow], 2000)
    time.sleep(measure.COLLECTED_S)
    return {
        "syn": sum(opened) / len(opened),
        "data": sum(data for data, _ in spent) / len(spent),
        "ack": sum(ack for _, ack in spent) / len(spent),
        "slab_bytes": grown / count,
    }


def main() -> None:
    """Measure one variant and print what was found."""
    variant = sys.argv[1]
    counts = [int(count) for count in sys.argv[2:]] or COUNTS
    measure.prepare()
    measure.use(variant)
    if variant != "plain":
        make_room(4 * max(counts))
    measure.offload(True)
    measure.silence(True)
    pair, found = Pair(), {}
    for count in counts:
        print(f"{variant}: {count} connections", flush=True)
        found[str(count)] = among(pair, count)
    if variant != "plain":
        measure.check_counters()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
