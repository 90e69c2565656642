# SPDX-License-Identifier: GPL-2.0-only
"""The lab's bottleneck queues: set as a scenario asks, and what "step" marks.

end a -- r1-r2 [rate, queue] -- veth -- r2-r1 -- end b
"""

from __future__ import annotations

import contextlib
import json
import struct
import time
from collections.abc import Iterator
from typing import Any

import pytest
import rig as rigs
import wire
from asked import scenario
from tcon_lab.aqm import Aqm, counters
from tcon_lab.scenario import Path
from tcon_lab.topo import FRAME_BYTES, QUEUE_PARENT, aqm_commands, link_commands

#: A frame takes 24 ms at this rate: all are sent before the third of them leaves.
RATE_BPS = 500_000
#: Frames of a burst that do not have to wait, and what the rate limiter is given for it.
AT_ONCE = 2
BURST_BYTES = AT_ONCE * FRAME_BYTES + FRAME_BYTES // 4
QUEUE, THRESHOLD, FRAMES = 40, 20, 60
STEP = Aqm("step", ecn=True, min_packets=THRESHOLD, max_packets=THRESHOLD)
RED = Aqm("red", min_packets=1, max_packets=2, probability=0.02)
NOT_ECT, ECT_1, ECT_0, CE = range(4)
#: Until no more frames come.
PATIENCE_S = 0.5


@contextlib.contextmanager
def bottleneck(aqm: Aqm | None, queue: int = QUEUE) -> Iterator[tuple[rigs.RawEnd, rigs.RawEnd]]:
    """The link with a scenario's queue: its ends."""
    kinds = ("tbf", "netem", "red", "codel", "fq_codel", "pie")
    rigs.run("modprobe", "-a", *(f"sch_{kind}" for kind in kinds))
    rig = rigs.Rig()
    try:
        rig.namespace("r2")
        rig.veth("r1-r2", "r2-r1", "r2")
        limits = f"rate {RATE_BPS}bit burst {BURST_BYTES} limit 1000000"
        rigs.run("bash", "-ec", "\n".join([
            f"tc qdisc add dev r1-r2 root handle 1: tbf {limits}",
            f"tc qdisc add dev r1-r2 parent {QUEUE_PARENT} handle 2: pfifo limit {queue}",
            *aqm_commands(scenario(Path(1_000_000, 20_000, 0.0, queue, aqm=aqm))),
        ]))  # fmt: skip
        yield rig.raw("r1-r2"), rig.raw("r2-r1", "r2")
    finally:
        rig.close()


def qdiscs() -> list[dict[str, Any]]:
    return json.loads(rigs.run("tc", "-s", "-d", "-j", "qdisc", "show", "dev", "r1-r2"))


def options(kind: str) -> dict[str, Any]:
    """The kernel's options of the queue, which must be of this kind."""
    (found,) = (q for q in qdiscs() if q["kind"] == kind and q.get("parent") != "3:1")
    below = {q["handle"]: q["kind"] for q in qdiscs()}.get(found["parent"][:-1])
    assert (found["parent"] == QUEUE_PARENT) == (below == "tbf")
    return found["options"]


@pytest.mark.parametrize(
    ("aqm", "kind", "wanted"),
    [
        (None, "pfifo", {"limit": 40}),
        (Aqm("red", min_packets=5, max_packets=15, probability=0.1), "red",
         {"min": 7570, "max": 22710, "ewma": 9, "probability": 0.1, "ecn": False,
          "nodrop": False, "harddrop": False, "adaptive": False}),
        (Aqm("red", ecn=True, min_packets=3, max_packets=10, probability=0.02), "red",
         {"min": 4542, "max": 15140, "probability": 0.02, "ecn": True, "nodrop": False}),
        (Aqm("ared", min_packets=2, max_packets=6, probability=0.02), "red",
         {"min": 3028, "max": 9084, "probability": 0.02, "ecn": False, "adaptive": True}),
        (STEP, "red", {"min": 30280, "max": 30280, "ewma": 0, "ecn": True, "nodrop": True}),
        # CoDel's clock ticks in 1.024 us.
        (Aqm("codel", target_us=5000, interval_us=100_000), "codel",
         {"limit": 40, "target": 4999, "interval": 99999}),
        (Aqm("codel", ecn=True, target_us=1000, interval_us=20_000), "codel",
         {"limit": 40, "target": 999, "interval": 19999, "ecn": True}),
        (Aqm("fq_codel", ecn=True, target_us=5000, interval_us=100_000), "fq_codel",
         {"limit": 40, "target": 4999, "interval": 99999, "memory_limit": 2**31 - 1,
          "ecn": True}),
        # PIE's update comes with a tick, each 4 ms.
        (Aqm("pie", target_us=15_000, tupdate_us=15_000), "pie",
         {"limit": 40, "target": 15000, "tupdate": 16000}),
        (Aqm("pie", ecn=True, target_us=1000, tupdate_us=32_000), "pie",
         {"limit": 40, "target": 1000, "tupdate": 32000, "ecn": True}),
    ],
)  # fmt: skip
def test_the_queue_is_what_the_scenario_says(aqm: Aqm | None, kind: str, wanted: dict) -> None:
    with bottleneck(aqm):
        found = options(kind)
        assert {key: found.get(key) for key in wanted} == wanted
        if "ecn" not in wanted:
            assert not found.get("ecn")
        if kind == "red":
            (fifo,) = (q for q in qdiscs() if q.get("parent") == "3:1")
            assert (fifo["kind"], fifo["options"]["limit"]) == ("pfifo", QUEUE)


def frame(number: int, ecn: int) -> bytes:
    """A full frame of UDP in IPv4, with its number."""
    size = FRAME_BYTES - 14
    header = struct.pack("!BBHHHBBH8x", 0x45, ecn, size, number, 0, 64, wire.IPPROTO_UDP, 0)
    checksum = 0xFFFF ^ wire.ones_sum(header)
    header = header[:10] + struct.pack("!H", checksum) + header[12:]
    macs = b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01"
    return (macs + struct.pack("!H", wire.ETH_IP) + header).ljust(FRAME_BYTES, b"\0")


def arrivals(a: rigs.RawEnd, b: rigs.RawEnd, codepoints: list[int]) -> dict[int, int]:
    """Send one frame of each codepoint at once: number and codepoint of what arrives."""
    for number, ecn in enumerate(codepoints):
        with contextlib.suppress(OSError):  # ENOBUFS: it was dropped
            a.send(frame(number, ecn))
    found = {}
    while raw := b.recv(PATIENCE_S):
        assert wire.ones_sum(raw[14:34]) == 0xFFFF
        found[struct.unpack_from("!H", raw, 18)[0]] = raw[15] & 3
    return found


def test_step_marks_what_finds_the_threshold_in_the_queue() -> None:
    with bottleneck(STEP) as (a, b):
        sent = [ECT_0, ECT_1] * (FRAMES // 2)
        found = arrivals(a, b, sent)
        unmarked = AT_ONCE + THRESHOLD
        kept = AT_ONCE + QUEUE
        assert list(found) == list(range(kept))
        assert [found[n] for n in range(unmarked)] == sent[:unmarked]
        assert {found[n] for n in range(unmarked, kept)} == {CE}
        # A marked packet may still find no room.
        assert counters(qdiscs(), QUEUE_PARENT) == {
            "marks": FRAMES - unmarked, "drops": FRAMES - kept,
        }  # fmt: skip
        # No memory: the queue that was long is empty, and so is its average.
        assert set(arrivals(a, b, [ECT_0] * unmarked).values()) == {ECT_0}


def test_step_drops_what_is_not_ect_only_where_the_queue_is_full() -> None:
    with bottleneck(STEP) as (a, b):
        kept = AT_ONCE + QUEUE
        found = arrivals(a, b, [NOT_ECT] * FRAMES)
        assert list(found) == list(range(kept))
        assert set(found.values()) == {NOT_ECT}
        assert counters(qdiscs(), QUEUE_PARENT) == {"marks": 0, "drops": FRAMES - kept}


def test_netem_as_the_link_has_the_rate_and_the_queue() -> None:
    """No frame of a burst leaves at once: there is no bucket."""
    rigs.run("modprobe", "sch_netem")
    rig = rigs.Rig()
    try:
        rig.namespace("r2")
        rig.veth("r1-r2", "r2-r1", "r2")
        path = Path(RATE_BPS, 20_000, 0.0, QUEUE, link="netem")
        rigs.run("bash", "-ec", "\n".join(link_commands(path)))
        ends = rig.raw("r1-r2"), rig.raw("r2-r1", "r2")
        start_s = time.monotonic()
        found = arrivals(*ends, [NOT_ECT] * FRAMES)
        span_s = time.monotonic() - start_s - PATIENCE_S
        assert list(found) == list(range(QUEUE))
        assert span_s == pytest.approx(QUEUE * FRAME_BYTES * 8 / RATE_BPS, rel=0.01)
        assert counters(qdiscs(), QUEUE_PARENT) == {"marks": 0, "drops": FRAMES - QUEUE}
    finally:
        rig.close()


def test_red_without_ecn_drops_where_it_would_mark() -> None:
    with bottleneck(RED, queue=4000) as (a, b):
        sent = [ECT_0] * 600
        found = arrivals(a, b, sent)
        counts = counters(qdiscs(), QUEUE_PARENT)
        assert counts["marks"] == 0
        assert counts["drops"] == len(sent) - len(found) > 0
        assert set(found.values()) == {ECT_0}


def test_reds_average_falls_while_the_queue_is_idle() -> None:
    """A burst leaves the average at 30 frames, and it halves in 4.3 s."""
    with bottleneck(RED, queue=4000) as (a, b):
        arrivals(a, b, [ECT_0] * 600)
        assert arrivals(a, b, [ECT_0]) == {}
        time.sleep(60)
        assert len(arrivals(a, b, [ECT_0])) == 1
