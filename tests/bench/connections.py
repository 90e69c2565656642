# SPDX-License-Identifier: GPL-2.0-only
"""What a packet costs among many connections, measured inside the VM.

    connections.py VARIANT

For each count of COUNTS so many connections are opened, each sends and has
acknowledged ROUNDS packets, and a sample of them is measured.  Prints one JSON
object: by count "data" and "ack", virtual nanoseconds for a packet from one veth
end to the other, and "slab_bytes", what the kernel's slabs and per-CPU memory have
grown by, for each connection.  Topology, frames and variants are measure.py's.
"""

from __future__ import annotations

import json
import random
import re
import socket
import sys
import time
from pathlib import Path

import measure

COUNTS = (1, 100, 1000, 5000, 20000)
FIRST_PORT = 10000
ROUNDS = 3
SAMPLE = 2000
COLLECTED_S = 12  # closed flows are collected after 10 s


def slab_bytes() -> int:
    """Memory in slabs and per-CPU areas."""
    text = Path("/proc/meminfo").read_text()
    return sum(
        1024 * int(re.search(rf"^{name}: *(\d+) kB", text, re.MULTILINE)[1])
        for name in ("Slab", "Percpu")
    )


def send(sock: socket.socket, raw: bytes) -> int:
    """Virtual nanoseconds that sending a frame takes."""
    start = time.perf_counter_ns()
    sock.send(raw)
    return time.perf_counter_ns() - start


def one_round(a: socket.socket, b: socket.socket, flow: int, number: int) -> tuple[int, int]:
    """A super-packet and its ACK; what they took."""
    port, seq = FIRST_PORT + flow, 1000 + number * measure.SUPER
    flags = measure.ACK | measure.PSH
    data = measure.frame(True, port, seq, 2000, flags, measure.SUPER)
    ack = measure.frame(False, port, 2000, seq + measure.SUPER, measure.ACK, 0)
    return send(a, data), send(b, ack)


def among(a: socket.socket, b: socket.socket, count: int) -> dict[str, float]:
    """What a packet takes among ``count`` connections, and what each of them holds."""
    before = slab_bytes()
    for flow in range(count):
        measure.handshake(a, b, FIRST_PORT + flow)
    for number in range(ROUNDS):
        for flow in range(count):
            one_round(a, b, flow, number)
    grown = slab_bytes() - before
    rng = random.Random(1)
    spent = [
        one_round(a, b, flow, ROUNDS + number)
        for number in range(-(-SAMPLE // count))
        for flow in rng.sample(range(count), min(SAMPLE, count))
    ]
    for flow in range(count):
        a.send(measure.frame(True, FIRST_PORT + flow, 1000, 2000, measure.ACK | 0x04, 0))
    time.sleep(COLLECTED_S)
    return {
        "data": sum(data for data, _ in spent) / len(spent),
        "ack": sum(ack for _, ack in spent) / len(spent),
        "slab_bytes": grown / count,
    }


def main() -> None:
    """Measure one variant and print what was found."""
    variant = sys.argv[1]
    measure.prepare()
    measure.use(variant)
    measure.offload(True)
    measure.silence(True)
    a, b = measure.sender("a-eth", "a"), measure.sender("b-eth", "b")
    found = {}
    for count in COUNTS:
        print(f"{variant}: {count} connections", flush=True)
        found[str(count)] = among(a, b, count)
    if variant != "plain":
        counters = measure.genl.Genl().counters()
        for name in ("table-full", "no-memory", "repair-sent", "held"):
            assert not counters[name], f"{name}: not what was to be measured"
    print(json.dumps(found))


main()
