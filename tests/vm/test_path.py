# SPDX-License-Identifier: GPL-2.0-only
"""The lab's path does to single packets what a scenario asks for.

    h1 -- br0 -- br0-up [cut] -- r1 [rate] -- r2-r1, r2-up [netem] -- br1 [netem] -- s1

A guest sends numbered frames, as super-packets; captures before and behind netem
and at the receiver tell what became of each.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
import socket
import statistics
import struct
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest
import rig as rigs
from asked import CUBIC, scenario
from capture import INCOMING, OUTGOING, capture, frames
from mininet.node import Node
from rig import poll
from tcon_lab import duplex
from tcon_lab.runner import check_path
from tcon_lab.scenario import Flow, Path
from tcon_lab.topo import FRAME_BYTES, Lab, run_in

PATH = Path(20_000_000, 20_000, 0.0, 5000)
FRAMES = 3000
#: Segments of a super-packet; UDP_SEGMENT has the kernel make it, as TCP does.
BURST = 8
PAYLOAD_BYTES = 1472
UDP_SEGMENT = 103
UDP_HEADERS_BYTES = 14 + 20 + 8


@contextlib.contextmanager
def lab_of(*flows: Flow, **path: float) -> Iterator[Lab]:
    with Lab(scenario(replace(PATH, **path), *flows)) as lab:
        yield lab


def inside(node: Node) -> contextlib.AbstractContextManager[None]:
    return rigs.inside_pid(node.pid)


def payload(number: int) -> bytes:
    return struct.pack("!I", number) * (PAYLOAD_BYTES // 4)


def number_of(frame: bytes) -> int | None:
    """Which frame it is, whatever bit of it was turned; None: none of ours."""
    if len(frame) != FRAME_BYTES:
        return None
    words = Counter(frame[at : at + 4] for at in range(UDP_HEADERS_BYTES + 2, FRAME_BYTES, 4))
    word, times = words.most_common(1)[0]
    return int.from_bytes(word[2:] + word[:2], "big") if times > 300 else None


def udp_socket(lab: Lab) -> socket.socket:
    """Its packets have a flow on both bridges: the first would pass late, by an upcall."""
    with inside(lab.sender(0)):
        out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    out.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, PAYLOAD_BYTES)
    out.connect((lab.receiver_ipv4(0), 9))
    for _ in range(10):
        with contextlib.suppress(ConnectionRefusedError):
            out.send(bytes(BURST * PAYLOAD_BYTES))
        time.sleep(0.1)
    return out


def send(out: socket.socket) -> None:
    for first in range(0, FRAMES, BURST):
        burst = b"".join(payload(n) for n in range(first, first + BURST))
        for _ in range(2):
            with contextlib.suppress(ConnectionRefusedError):  # of an earlier one
                out.send(burst)
                break


def r2_queues(lab: Lab) -> int:
    text = run_in(lab.net["r1"], "tc -s qdisc show dev r1-r2")
    text += run_in(lab.net["r2"], "tc -s qdisc show dev r2-up")
    return sum(int(found) for found in re.findall(r"backlog \d+b (\d+)p", text))


def passed(lab: Lab) -> tuple[list[bytes], list[bytes], list[bytes], list[bytes]]:
    """Frames at the guest's port, before and behind netem, and at the receiver."""
    out = udp_socket(lab)
    taps = [
        (capture(inside(lab.br0), "br0-h1"), INCOMING),
        (capture(inside(lab.net["r2"]), "r2-r1"), INCOMING),
        (capture(inside(lab.net["r2"]), "r2-up"), OUTGOING),
        (capture(inside(lab.receiver(0)), "s1-eth0"), INCOMING),
    ]
    with out:
        send(out)
    poll(lambda: r2_queues(lab) == 0, "the path is empty", 20, 0.2)
    guest, before, behind, received = (frames(tap, outgoing) for tap, outgoing in taps)
    udp = [frame for frame in guest if len(frame) > 1000]
    assert {len(frame) for frame in udp} == {UDP_HEADERS_BYTES + BURST * PAYLOAD_BYTES}
    numbers = [number_of(frame) for frame in before]
    assert [n for n in numbers if n is not None] == list(range(FRAMES))
    return guest, before, behind, received


def assert_share(count: int, share: float, n: int = FRAMES) -> None:
    """A binomial distribution has such a count more than once in a hundred million draws."""

    def likely(k: int) -> float:
        ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
        return math.exp(ways + k * math.log(share) + (n - k) * math.log1p(-share))

    tail = min(sum(map(likely, range(count + 1))), sum(map(likely, range(count, n + 1))))
    assert tail > 1e-8, f"{count} of {n}, not {share:.2%}"


def numbers_of(captured: list[bytes]) -> list[int]:
    return [n for n in map(number_of, captured) if n is not None]


def turned_bits(captured: list[bytes]) -> list[int]:
    """Where in the payload a bit was turned, for each frame that has such bits."""
    found = []
    for frame in captured:
        number = number_of(frame)
        if number is None or frame[UDP_HEADERS_BYTES:] == payload(number):
            continue
        pairs = enumerate(zip(frame[UDP_HEADERS_BYTES:], payload(number), strict=True))
        places = [(at, (a ^ b).bit_count()) for at, (a, b) in pairs if a != b]
        assert [bits for _, bits in places] == [1]
        found.append(places[0][0])
    return found


def overtaken(arrived: list[int]) -> list[int]:
    """For each frame that overtook others, how many."""
    first_arrivals = list(dict.fromkeys(arrived))
    rank = {number: n for n, number in enumerate(sorted(first_arrivals))}
    numbers = [rank[number] for number in first_arrivals]
    found, next_one = [], 0
    seen: set[int] = set()
    for number in numbers:
        seen.add(number)
        while next_one in seen:
            next_one += 1
        missing = sum(1 for n in range(next_one, number) if n not in seen)
        if missing:
            found.append(missing)
    return found


@contextlib.contextmanager
def checked_sums(lab: Lab) -> Iterator[list[int]]:
    """How many wrong UDP sums the receiver's stack finds in the block; filled in at its end."""
    sink = lab.receiver(0).popen(
        ["python3", "-c", "import socket, time; s = socket.socket(type=socket.SOCK_DGRAM); "
         "s.bind(('', 9)); [s.recv(9999) for _ in iter(int, 1)]"]
    )  # fmt: skip
    wrong: list[int] = []
    yield wrong
    said = run_in(lab.receiver(0), "nstat -asz UdpInCsumErrors")
    wrong.append(int(re.search(r"UdpInCsumErrors +(\d+)", said)[1]))
    sink.kill()


def test_mischief_is_of_single_packets_of_a_burst() -> None:
    """Independent of each other: one is followed by another in 5 %, not 7 of 8 times.

    Of a packet that netem draws for both, loss and duplicate, one goes on; a duplicate may be lost.
    """
    share = 0.05
    kinds = dict.fromkeys(("loss_fraction", "duplicate_fraction", "corrupt_fraction"), share)
    with lab_of(**kinds) as lab, checked_sums(lab) as wrong:
        _, _, behind, _ = passed(lab)
    arrived = numbers_of(behind)
    assert arrived == sorted(arrived)
    times = Counter(arrived)
    assert set(times.values()) == {1, 2}
    lost = [n for n in range(FRAMES) if n not in times]
    twice = [n for n in times if times[n] == 2]
    for found, part in ((lost, share * (1 - share)), (twice, share * (1 - share) ** 2)):
        assert_share(len(found), part)
        assert_share(sum(n + 1 in found for n in found), part, len(found))
        assert max(Counter(n // BURST for n in found).values()) < BURST
    places = turned_bits(behind)
    assert_share(len(places), share * PAYLOAD_BYTES / FRAME_BYTES, len(behind))
    # Of a place anywhere in the payload the standard deviation is its length by the root of 12;
    # the mean is six of its own away once in 500 million draws.
    sigma = PAYLOAD_BYTES / math.sqrt(12 * len(places))
    assert statistics.mean(places) == pytest.approx(PAYLOAD_BYTES / 2, abs=6 * sigma)
    # The receiver's stack found all of them, and those in the UDP header.
    assert len(places) <= wrong[0] <= len(places) + len(behind) * 0.01


def test_losses_on_the_way_of_one_flow() -> None:
    with lab_of(replace(CUBIC, extra_loss_fraction=0.05)) as lab:
        _, _, behind, received = passed(lab)
    assert numbers_of(behind) == list(range(FRAMES))
    arrived = set(numbers_of(received))
    assert_share(FRAMES - len(arrived), 0.05)
    assert max(Counter(n // BURST for n in range(FRAMES) if n not in arrived).values()) < BURST


def test_packets_overtake_others() -> None:
    """4 ms at 20 Mbit/s hold 6.6 packets."""
    with lab_of(reorder_fraction=0.03, reorder_by_us=4000) as lab:
        _, _, behind, received = passed(lab)
    assert numbers_of(behind) == list(range(FRAMES))
    numbers = numbers_of(received)
    assert sorted(numbers) == list(range(FRAMES))
    distances = overtaken(numbers)
    assert_share(len(distances), 0.03)
    assert max(distances) <= 7
    assert statistics.median(distances) >= 6


def test_rtt_and_rate_are_right_whatever_happens_to_packets() -> None:
    path = dict.fromkeys(("loss_fraction", "duplicate_fraction", "corrupt_fraction"), 0.01)
    path |= {"reorder_fraction": 0.05, "reorder_by_us": 2500}
    with lab_of(CUBIC, replace(CUBIC, ipv6=True), **path) as lab:
        check_path(lab, print)
        _, _, behind, received = passed(lab)
    times = Counter(numbers_of(behind))
    assert_share(FRAMES - len(times), 0.01 * 0.99)
    assert_share(sum(n == 2 for n in times.values()), 0.01 * 0.99)
    assert_share(len(turned_bits(behind)), 0.01 * PAYLOAD_BYTES / FRAME_BYTES, len(behind))
    distances = overtaken(numbers_of(received))
    assert_share(len(distances), 0.05, len(times))
    assert max(distances) <= 5  # 2.5 ms hold 4.1 packets


def test_a_policer_lets_pass_its_bucket_and_its_rate() -> None:
    """A burst of all frames: what the bucket holds passes, and of the rest what the rate gives."""
    with lab_of(police_bps=5 * 10**6, police_burst_bytes=100 * FRAME_BYTES) as lab:
        check_path(lab, print)  # there is none yet
        lab.start_policer()
        with udp_socket(lab) as out:
            time.sleep(1)  # the bucket is full again
            tap = capture(inside(lab.net["r2"]), "r2-r1")
            began = time.monotonic()
            send(out)
            took_s = time.monotonic() - began
            poll(lambda: r2_queues(lab) == 0, "the path is empty", 20, 0.2)
        arrived = numbers_of(frames(tap, INCOMING))
        policed = run_in(lab.net["r1"], "tc -s filter show dev r1-r2 egress")
    assert arrived == sorted(arrived)
    assert arrived[:100] == list(range(100))
    allowed = 100 + took_s * 5e6 / 8 / FRAME_BYTES
    assert allowed - 2 <= len(arrived) <= allowed + 2
    assert int(re.search(r"dropped (\d+)", policed)[1]) >= FRAMES - len(arrived)


def test_tcp_of_guests_with_and_without_super_packets() -> None:
    kinds = [(False, {}), (True, {}), (False, {"tso": False}), (True, {"gso": False})]
    flows = [replace(CUBIC, ipv6=ipv6, **without) for ipv6, without in kinds]
    with lab_of(*flows) as lab:
        for index, (ipv6, without) in enumerate(kinds):
            guest, before = tcp_frames(lab, index)
            assert sum(before) > 2_000_000
            assert max(before) == FRAME_BYTES
            assert (":" in lab.receiver_address(index)) == ipv6
            assert (max(guest) > 2 * FRAME_BYTES) == (not without)


@pytest.mark.parametrize("gso", [True, False])
def test_packets_are_merged_where_a_guest_makes_super_packets(gso: bool) -> None:
    """At 1 Gbit/s, on the way to the receiver."""
    with lab_of(replace(CUBIC, gso=gso), rate_bps=10**9) as lab:
        arriving = capture(inside(lab.receiver(0)), "s1-eth0")
        tcp_frames(lab, 0)
        longest = max(len(frame) for frame in frames(arriving, INCOMING))
    assert longest > 2 * FRAME_BYTES if gso else longest == FRAME_BYTES


def test_each_segment_is_acknowledged_at_once() -> None:
    """Not so where nothing is said, once the receiver's window has grown to its size."""
    flow = replace(CUBIC, gso=False)
    quick = replace(flow, quickack=True)
    with lab_of(flow, quick, replace(quick, ipv6=True)) as lab:
        wanted = ("30M", 0.4, 0.8), ("5M", 0.99, 1.1), ("5M", 0.99, 1.1)
        for index, (size, least, most) in enumerate(wanted):
            acks = capture(inside(lab.br0), f"br1-s{index + 1}")
            guest, _ = tcp_frames(lab, index, size)
            assert least < len(frames(acks, INCOMING)) / len(guest) < most


def tcp_frames(lab: Lab, index: int, size: str = "2M") -> tuple[list[int], list[int]]:
    """Lengths of a transfer's frames, at the guest's port and before netem."""
    taps = [
        capture(inside(lab.br0), lab.sender_port(index)),
        capture(inside(lab.net["r2"]), "r2-r1"),
    ]
    server = lab.receiver(index).popen(["iperf3", "-s", "-1"])
    poll(lambda: "5201" in run_in(lab.receiver(index), "ss -Hltn"), "the server listens", 20)
    run_in(lab.sender(index), f"iperf3 -c {lab.receiver_address(index)} -n {size}")
    server.wait()
    guest, before = ([len(frame) for frame in frames(tap, INCOMING)] for tap in taps)
    return guest, before


def test_both_ways_over_one_connection() -> None:
    """Each way has its own bottleneck, and both ways' data comes over one connection.

    TCP's headers are a twentieth of a frame.  With a queue of a BDP CUBIC's window, after a loss
    seven tenths of two BDPs, fills the link: a quarter is left for its beginning.
    """
    seconds, back_bps = 4, 10_000_000
    with lab_of(replace(CUBIC, back_bps=back_bps), queue_packets=40, back_rate_bps=back_bps,
                back_queue_packets=20) as lab:  # fmt: skip
        server = lab.receiver(0).popen(["python3", duplex.__file__, "serve", "5201"])
        poll(lambda: ":5201" in run_in(lab.receiver(0), "ss -Hltn"), "the server listens", 20)
        words = f"send {lab.receiver_address(0)} 5201 40001 {seconds} 1000000000"
        report = json.loads(run_in(lab.sender(0), f"python3 {duplex.__file__} {words}"))
        server.kill()
    there_bps, came_bps = (8 * found / seconds for found in
                       (report["end"]["sum_sent"]["bytes"], report["back"]["bytes"]))  # fmt: skip
    assert 0.75 * back_bps < came_bps < 0.96 * back_bps
    assert 0.75 * PATH.rate_bps < there_bps
