# SPDX-License-Identifier: GPL-2.0-only
"""tcon-probe: crafted captures against hand-computed values, and live runs."""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import CookedLinux, Dot1Q
from scapy.packet import Packet, Raw

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "tools/tcon_lab/probe"
SENDER, RECEIVER = "10.0.0.1", "10.0.1.1"
OUT, IN = 4, 0
ISN = 1000
Event = tuple[float, Packet]
Record = dict[str, Any]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a probe with ASan and UBSan."""
    folder = tmp_path_factory.mktemp("probe")
    subprocess.run(["make", "-s", "-C", str(SOURCE), f"O={folder}", "SANITIZE=1"], check=True)
    return folder


@pytest.fixture(scope="session")
def probe(built: Path) -> str:
    return str(built / "tcon-probe")


def tcp(direction: int, size: int = 0, network: Packet | None = None, **fields: Any) -> Packet:
    """A segment of the flow from port 40000 to 5201 that leaves, or its answer."""
    leaves = direction == OUT
    if network is None:
        network = IP(
            src=SENDER if leaves else RECEIVER, dst=RECEIVER if leaves else SENDER
        )  # fmt: skip
    ports = {"sport": 40000, "dport": 5201} if leaves else {"sport": 5201, "dport": 40000}
    payload = Raw(bytes(size)) if size else b""
    fields = {"flags": "A"} | ports | fields
    return CookedLinux(pkttype=direction) / network / TCP(**fields) / payload


def data(seq: int, size: int, **fields: Any) -> Packet:
    return tcp(OUT, size, seq=seq % 2**32, **fields)


def ack(number: int, *blocks: tuple[int, int], **fields: Any) -> Packet:
    edges = tuple(edge % 2**32 for block in blocks for edge in block)
    options = [("NOP", None), ("NOP", None), ("SAck", edges)] if blocks else []
    return tcp(IN, ack=number % 2**32, options=options, **fields)


def syn(isn: int = ISN) -> Packet:
    return tcp(OUT, seq=(isn - 1) % 2**32, flags="S")


def pcap(path: Path, events: list[Event], linktype: int = 113, snaplen: int = 10**6) -> Path:
    """A capture with nanoseconds; times are in milliseconds."""
    text = struct.pack("=IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, linktype)
    for t_ms, packet in events:
        raw = bytes(packet)
        ns = round(t_ms * 1e6) + 1_700_000_000 * 10**9
        cut = raw[:snaplen]
        text += struct.pack("=IIII", ns // 10**9, ns % 10**9, len(cut), len(raw)) + cut
    path.write_bytes(text)
    return path


def run(probe: str, *options: str) -> list[Record]:
    done = subprocess.run([probe, *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def replay(probe: str, tmp_path: Path) -> Callable[..., list[Record]]:
    def play(events: list[Event], *options: str, **how: Any) -> list[Record]:
        return run(probe, "--pcap", str(pcap(tmp_path / "x.pcap", events, **how)), *options)

    return play


def of_type(records: list[Record], kind: str) -> list[Record]:
    return [record for record in records if record["type"] == kind]


def summary(records: list[Record]) -> Record:
    (only,) = of_type(records, "summary")
    return only


def rtts(least: int, p50: int, p99: int, samples: int, p95: int = 0) -> Any:
    """An rtt_us: the minimum is exact, percentiles are within 0.2 %; p95 is p99 by default."""
    near = {name: pytest.approx(value, rel=0.002)
            for name, value in (("p50", p50), ("p95", p95 or p99), ("p99", p99))}  # fmt: skip
    return {"min": least, **near, "samples": samples}


def test_one_packet(replay: Any) -> None:
    records = replay([(0, syn()), (50, data(ISN, 1000)), (70.25, ack(ISN + 1000))])
    assert summary(records) == {
        "type": "summary", "t_s": 0.07025, "saddr": SENDER, "sport": 40000, "daddr": RECEIVER,
        "dport": 5201, "first_s": 0.05, "last_s": 0.07025, "acked_bytes": 1000,
        "sent_bytes": 1000, "retransmitted_bytes": 0, "untimed_packets": 0,
        "rtt_us": {"min": 20250, "p50": 20250, "p95": 20250, "p99": 20250, "samples": 1},
    }  # fmt: skip
    end = {"type": "end", "t_s": 0.07025, "packets": 3, "dropped": 0, "untracked": 0}
    assert records[-1] == end


def test_an_ack_of_two_packets_gives_two_samples(replay: Any) -> None:
    records = replay([(0, data(ISN, 1000)), (4, data(ISN + 1000, 1000)), (20, ack(ISN + 2000))])
    assert summary(records)["rtt_us"] == rtts(16000, 16000, 20000, 2)


def test_sack_gives_the_sample_and_karn_takes_the_other(replay: Any) -> None:
    events = [
        (0, data(ISN, 1000)),  # lost
        (1, data(ISN + 1000, 1000)),
        (26, ack(ISN, (ISN + 1000, ISN + 2000))),
        (60, data(ISN, 1000)),
        (85, ack(ISN + 2000)),
    ]
    got = summary(replay(events))
    assert got["rtt_us"] == {"min": 25000, "p50": 25000, "p95": 25000, "p99": 25000, "samples": 1}
    assert (got["retransmitted_bytes"], got["acked_bytes"], got["sent_bytes"]) == (1000, 2000, 3000)


def test_without_sack_what_waited_behind_a_hole_gives_none(replay: Any) -> None:
    events = [
        (0, data(ISN, 1000)),
        (1, data(ISN + 1000, 1000)),
        (60, data(ISN, 1000)),
        (85, ack(ISN + 2000)),
        (90, data(ISN + 2000, 1000)),
        (120, ack(ISN + 3000)),
    ]
    assert summary(replay(events))["rtt_us"] == rtts(30000, 30000, 30000, 1)


def test_a_hole_between_two_sacked_blocks_is_seen(replay: Any) -> None:
    """Reordering, no loss: the middle arrives late and joins two blocks."""
    events = [(n, data(ISN + 1000 * n, 1000)) for n in range(4)]
    events += [
        (21, ack(ISN, (ISN + 1000, ISN + 2000))),
        (23, ack(ISN, (ISN + 3000, ISN + 4000), (ISN + 1000, ISN + 2000))),
        (32, ack(ISN, (ISN + 1000, ISN + 4000))),
        (40, ack(ISN + 4000)),
    ]
    assert summary(replay(events))["rtt_us"] == rtts(20000, 20000, 40000, 4)  # 20, 20, 30, 40


def test_a_super_packet_counts_when_all_of_it_is_covered(replay: Any) -> None:
    events = [
        (0, data(ISN, 60000)),
        (20, ack(ISN + 30000)),
        (22, ack(ISN + 30000, (ISN + 31000, ISN + 60000))),
        (25, ack(ISN + 60000)),
    ]
    assert summary(replay(events))["rtt_us"]["min"] == 25000
    assert summary(replay(events))["rtt_us"]["samples"] == 1


def test_a_repeat_of_a_part_spoils_the_super_packet_only(replay: Any) -> None:
    events = [
        (0, data(ISN, 60000)),
        (1, data(ISN + 60000, 60000)),
        (21, ack(ISN, (ISN + 60000, ISN + 120000))),
        (30, data(ISN, 1448)),
        (55, ack(ISN + 120000)),
    ]
    got = summary(replay(events))
    assert got["rtt_us"] == {"min": 20000, "p50": 20000, "p95": 20000, "p99": 20000, "samples": 1}
    assert got["retransmitted_bytes"] == 1448


def test_a_repeat_with_new_data_behind_it(replay: Any) -> None:
    events = [(0, data(ISN, 1000)), (30, data(ISN, 2500)), (50, ack(ISN + 1000)),
              (51, ack(ISN + 2500))]  # fmt: skip
    got = summary(replay(events))
    assert (got["sent_bytes"], got["retransmitted_bytes"]) == (3500, 1000)
    assert got["rtt_us"] == {"min": 21000, "p50": 21000, "p95": 21000, "p99": 21000, "samples": 1}


def test_loss_events_may_be_closer_than_intervals(replay: Any) -> None:
    """Repeats are of one event as long as none of its gaps is longer than is said."""
    events: list[Event] = [(0, data(ISN, 20_000))]
    events += [(t_ms, data(ISN, 1000)) for t_ms in (10, 12, 21, 31.001, 50, 130, 139)]
    events.append((250, ack(ISN + 20_000)))

    def counted(*options: str) -> list[int]:
        return [r["loss_events"] for r in of_type(replay(events, *options), "flow")]

    assert counted("--loss-gap-us", "10000") == [3, 1, 0]
    assert counted("--loss-gap-us", "1000") == [5, 2, 0]
    assert counted() == [1, 0, 0]


def test_sequence_numbers_wrap(replay: Any) -> None:
    isn = 2**32 - 1500
    events: list[Event] = [(0, syn(isn))]
    for n in range(4):
        events.append((1 + n, data(isn + 1000 * n, 1000)))
    events.append((30, ack(isn + 1000, (isn + 2000, isn + 4000))))
    events.append((31, data(isn + 1000, 1000)))
    events.append((60, ack(isn + 4000)))
    got = summary(replay(events))
    assert (got["acked_bytes"], got["retransmitted_bytes"]) == (4000, 1000)
    assert got["rtt_us"]["samples"] == 3
    assert got["rtt_us"]["min"] == 26000


def test_percentiles_are_within_two_per_mille(replay: Any) -> None:
    rng = random.Random(3)
    events: list[Event] = []
    rtts_us = []
    for n in range(1500):
        rtt_us = round(10 ** rng.uniform(1.5, 6.2))
        rtts_us.append(rtt_us)
        events += [(5000 * n, data(ISN + 100 * n, 100)),
                   (5000 * n + rtt_us / 1000, ack(ISN + 100 * (n + 1)))]  # fmt: skip
    got = summary(replay(events))["rtt_us"]
    rtts_us.sort()
    assert got["min"] == rtts_us[0]
    for percent in (50, 99):
        exact = rtts_us[math.ceil(len(rtts_us) * percent / 100) - 1]
        assert got[f"p{percent}"] == pytest.approx(exact, rel=0.002)


def test_intervals(replay: Any) -> None:
    events = [
        (0, data(ISN, 1000)),
        (99, ack(ISN + 1000)),
        (101, data(ISN + 1000, 500)),
        (299, data(ISN + 1000, 500)),
        (730, ack(ISN + 1500)),
    ]
    records = of_type(replay(events), "flow")
    keys = ("t_s", "acked_bytes", "sent_bytes", "retransmitted_bytes", "rtt_us")
    assert [tuple(record[key] for key in keys) for record in records] == [
        (0.1, 1000, 1000, 0, {"min": 99000, "p50": 99000, "samples": 1}),
        (0.2, 0, 500, 0, None),
        (0.3, 0, 500, 500, None),
        (0.8, 500, 0, 0, None),
    ]
    longer = of_type(replay(events, "--interval-ms", "500"), "flow")
    assert [(r["t_s"], r["acked_bytes"]) for r in longer] == [(0.5, 1000), (1.0, 500)]


def test_the_greeting_is_not_the_start(replay: Any) -> None:
    events = [(0, data(ISN, 37)), (20, ack(ISN + 37)), (200, data(ISN + 37, 1448)),
              (210, data(ISN + 1485, 1448))]  # fmt: skip
    assert summary(replay(events))["first_s"] == 0.2


def test_keep_alive_and_fin_are_no_data(replay: Any) -> None:
    events = [
        (0, data(ISN, 1000)),
        (20, ack(ISN + 1000)),
        (500, data(ISN + 999, 1)),
        (520, ack(ISN + 1000)),
        (600, data(ISN + 1000, 500, flags="FA")),
        (620, ack(ISN + 1501)),
    ]
    got = summary(replay(events))
    assert (got["acked_bytes"], got["sent_bytes"], got["retransmitted_bytes"]) == (1500, 1500, 0)
    assert got["rtt_us"]["samples"] == 2


def test_ports_used_again_are_another_connection(replay: Any) -> None:
    events = [
        (0, syn(ISN)), (1, data(ISN, 1000)), (21, ack(ISN + 1000)),
        (300, syn(77)), (301, data(77, 400)), (331, ack(477)),
    ]  # fmt: skip
    first, second = of_type(replay(events), "summary")
    assert (first["acked_bytes"], first["rtt_us"]["min"]) == (1000, 20000)
    assert (second["acked_bytes"], second["rtt_us"]["min"]) == (400, 30000)


def test_a_repeated_syn_changes_nothing(replay: Any) -> None:
    events = [(0, syn()), (1000, syn()), (1020, data(ISN, 1000)), (1040, ack(ISN + 1000))]
    assert summary(replay(events))["rtt_us"]["min"] == 20000


def test_data_that_arrives_is_not_ours(replay: Any) -> None:
    events = [(0, tcp(IN, 1000, seq=5)), (1, tcp(OUT, ack=1005))]
    assert of_type(replay(events), "summary") == []


def test_packets_that_the_capture_missed(replay: Any) -> None:
    events = [(0, data(ISN, 1000)), (20, ack(ISN + 5000)), (21, data(ISN + 5000, 1000)),
              (51, ack(ISN + 6000)), (52, ack(ISN + 2**31))]  # fmt: skip
    got = summary(replay(events))
    assert got["acked_bytes"] == 6000
    assert got["rtt_us"] == rtts(20000, 20000, 30000, 2)


@pytest.mark.parametrize("snaplen", [10**6, 128])
def test_ipv6_and_vlan(replay: Any, snaplen: int) -> None:
    def network(leaves: bool) -> Packet:
        ends = ("fd00::1", "fd00::2")
        src, dst = ends if leaves else ends[::-1]
        return Dot1Q(vlan=7) / IPv6(src=src, dst=dst)

    options = [("Timestamp", (1, 2)), ("NOP", None), ("NOP", None)]
    sack = [("SAck", (ISN + 1000, ISN + 2000))]
    events = [
        (0, data(ISN, 1000, network=network(True), options=options)),
        (1, data(ISN + 1000, 1000, network=network(True), options=options)),
        (21, tcp(IN, network=network(False), ack=ISN, options=options + sack)),
        (40, tcp(IN, network=network(False), ack=ISN + 2000, options=options)),
    ]
    got = summary(replay(events, snaplen=snaplen))
    assert (got["saddr"], got["daddr"], got["acked_bytes"]) == ("fd00::1", "fd00::2", 2000)
    assert got["rtt_us"] == rtts(20000, 20000, 40000, 2)


def test_fragments_and_other_protocols_are_passed_over(replay: Any) -> None:
    fragment = IP(src=SENDER, dst=RECEIVER, flags="MF")
    udp = CookedLinux(pkttype=OUT) / IP(src=SENDER, dst=RECEIVER, proto=17) / Raw(bytes(100))
    records = replay([(0, data(ISN, 1000, network=fragment)), (1, udp)])
    assert records == [{"type": "end", "t_s": 0.001, "packets": 0, "dropped": 0, "untracked": 0}]


class Reference:
    """The estimator again, byte for byte of what its header promises, slowly."""

    def __init__(self) -> None:
        self.packets: list[dict[str, Any]] = []
        self.una = self.nxt = ISN
        self.samples: list[int] = []
        self.resent = 0

    def sent(self, t: float, seq: int, size: int) -> None:
        end = seq + size
        old_end = min(end, self.nxt)
        if seq < self.nxt:
            self.resent += old_end - seq
            for p in self.packets:
                if p["start"] < old_end and p["end"] > seq:
                    p["resent"] = True
        if end > self.nxt:
            self.packets.append({"t": t, "start": max(seq, self.nxt), "end": end,
                                 "resent": False, "done": False})  # fmt: skip
            self.nxt = end

    def sample(self, t: float, packet: dict[str, Any]) -> None:
        if not packet["resent"] and not packet["done"]:
            self.samples.append(round((t - packet["t"]) * 1000))
            packet["done"] = True

    def acked(self, t: float, number: int, blocks: list[tuple[int, int]]) -> None:
        covered = [p for p in self.packets if p["end"] <= number]
        if not any(p["resent"] for p in covered):
            for p in covered:
                self.sample(t, p)
        self.packets = [p for p in self.packets if p["end"] > number]
        self.una = max(self.una, number)
        for start, end in blocks:
            for p in self.packets:
                if start <= p["start"] and p["end"] <= end:
                    self.sample(t, p)


def blocks_of(received: set[int], una: int, unit: int, top: int) -> list[tuple[int, int]]:
    """SACK blocks of the units that a receiver holds beyond una."""
    blocks, n = [], una
    while n < top:
        start = n
        while n in received:
            n += 1
        if n > start:
            blocks.append((ISN + start * unit, ISN + n * unit))
        n += 1
    return blocks


@pytest.mark.parametrize("seed", range(8))
def test_random_traffic_against_a_reference(replay: Any, seed: int) -> None:
    """Loss, reordering, repeats and super-packets; a receiver with SACK."""
    rng = random.Random(seed)
    unit, t, una, top = 500, 0.0, 0, 0
    received: set[int] = set()
    events: list[Event] = [(0, syn())]
    reference = Reference()
    flight: list[int] = []
    for _ in range(2500):
        t += rng.randint(1, 900) / 1000
        if rng.random() < 0.5 or not flight:
            lost = [n for n in range(una, top) if n not in received]
            repeat = bool(lost) and rng.random() < 0.3
            first = rng.choice(lost) if repeat else top
            count = rng.choice([1, 1, 2, 8])
            reference.sent(t, ISN + first * unit, count * unit)
            events.append((t, data(ISN + first * unit, count * unit)))
            top = max(top, first + count)
            flight += [n for n in range(first, first + count) if rng.random() > 0.03]
            if rng.random() < 0.05:
                rng.shuffle(flight)
        else:
            received.add(flight.pop(0))
            while una in received:
                una += 1
            blocks = blocks_of(received, una, unit, top)
            rng.shuffle(blocks)
            reference.acked(t, ISN + una * unit, blocks[:3])
            events.append((t, ack(ISN + una * unit, *blocks[:3])))
    got = summary(replay(events))
    assert got["acked_bytes"] == una * unit
    assert got["retransmitted_bytes"] == reference.resent
    assert got["rtt_us"]["samples"] == len(reference.samples) > 50
    reference.samples.sort()
    middle = reference.samples[(len(reference.samples) + 1) // 2 - 1]
    assert got["rtt_us"]["min"] == reference.samples[0]
    assert got["rtt_us"]["p50"] == pytest.approx(middle, rel=0.01)


def test_noise_does_no_harm(probe: str, tmp_path: Path) -> None:
    """Bytes flipped at random in headers and options: no report of a sanitizer."""
    rng = random.Random(1)
    events: list[Event] = []
    for n in range(3000):
        size = rng.choice([0, 10, 1000])
        options = [("SAck", tuple(rng.getrandbits(32) for _ in range(rng.choice([2, 4, 6]))))]
        packet = bytearray(bytes(tcp(rng.choice([OUT, IN]), size, seq=rng.randint(0, 9000),
                                     ack=rng.randint(0, 9000), options=options)))  # fmt: skip
        for _ in range(rng.choice([0, 1, 3])):
            packet[rng.randrange(14, min(len(packet), 80))] = rng.getrandbits(8)
        events.append((n / 10, Raw(bytes(packet[: rng.choice([len(packet), rng.randint(1, 90)])]))))
    records = run(probe, "--pcap", str(pcap(tmp_path / "noise.pcap", events)))
    assert records[-1]["type"] == "end"
    assert records[-1]["packets"] > 1000


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is too short for a pcap file"),
        (bytes(24), "is no pcap file of this machine's byte order"),
        (struct.pack("=IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 9, 1), "has link type 1, not 113"),
        (struct.pack("=IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 9, 113)
         + struct.pack("=IIII", 0, 0, 50, 50) + bytes(20), "packet 1 is cut off or malformed"),
        (struct.pack("=IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 9, 113)
         + struct.pack("=IIII", 0, 0, 2**31, 50), "packet 1 is cut off or malformed"),
    ],
)  # fmt: skip
def test_bad_files(probe: str, tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "bad.pcap"
    file.write_bytes(content)
    done = subprocess.run([probe, "--pcap", str(file)], capture_output=True, text=True)
    assert done.returncode == 1
    assert message in done.stderr
    assert str(file) in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "give one of --dev, --queue, --socket and --pcap"),
        (["--dev", "lo", "--queue", "lo"], "give one of --dev, --queue, --socket and --pcap"),
        (["--socket", "1,10.0.0.1,5,10.0.0.2"], "is not PID,ADDRESS,PORT,ADDRESS,PORT"),
        (["--socket", "1,10.0.0.1,5,10.0.0.2,7,8"], "is not PID,ADDRESS,PORT,ADDRESS,PORT"),
        (["--socket", "0,10.0.0.1,5,10.0.0.2,7"], "is not PID,ADDRESS,PORT,ADDRESS,PORT"),
        (["--socket", "1,10.0.0.1,65536,10.0.0.2,7"], "is not PID,ADDRESS,PORT,ADDRESS,PORT"),
        (["--socket", "1,10.0.0.1,5,fd00::2,7"], "is not PID,ADDRESS,PORT,ADDRESS,PORT"),
        (["--socket", "2147483647,10.0.0.1,5,10.0.0.2,7"], "cannot enter the network of process"),
        (["--queue", "lo", "--tcon"], "--tcon goes with --dev only"),
        (["--dev", "lo", "--interval-ms", "0"], "--interval-ms 0 is no whole number"),
        (["--dev", "lo", "--interval-ms", "5x"], "--interval-ms 5x is no whole number"),
        (["--dev", "lo", "--seconds", "-1"], "--seconds -1 is no whole number"),
        (["--dev", "lo", "extra"], "extra is no option"),
        (["--what"], "unrecognized option '--what'"),
        (["--dev", "nodevice0"], "there is no device nodevice0"),
        (["--queue", "nodevice0"], "there is no device nodevice0"),
        (["--pcap", "/nonexistent"], "cannot open /nonexistent: No such file"),
        (["--pcap", "/dev/null", "--out", "/nonexistent/x"], "cannot write /nonexistent/x"),
    ],
)
def test_bad_options(probe: str, options: list[str], message: str) -> None:
    done = subprocess.run([probe, *options], capture_output=True, text=True)
    assert done.returncode in (1, 2)
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_a_full_disk_is_an_error(probe: str, tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    file = pcap(tmp_path / "x.pcap", [(0, data(ISN, 1000))])
    done = subprocess.run(
        [probe, "--pcap", str(file), "--out", "/dev/full"], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "cannot write /dev/full: No space left on device" in done.stderr


def test_messages_of_tcon(built: Path, tmp_path: Path) -> None:
    """Netlink messages as tcon.ko sends them, and broken ones."""
    program = tmp_path / "messages"
    objects = [str(built / name) for name in ("tcon.o", "json.o")]
    subprocess.run(
        ["gcc", "-std=gnu11", "-Wall", "-Werror", "-fsanitize=address,undefined", f"-I{SOURCE}",
         f"-I{ROOT}/datapath/include/uapi", str(Path(__file__).with_name("tcon_messages.c")),
         *objects, "-lmnl", "-o", str(program)], check=True,
    )  # fmt: skip
    text = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    whole, older, newer, unknown, *broken = [json.loads(line) for line in text.splitlines()]
    assert whole == {
        "type": "tcon", "t_s": 1.5, "saddr": "10.0.0.1", "sport": 40000, "daddr": "10.0.1.1",
        "dport": 5201, "ifname": 'v"0', "state": "repair-enforced", "reason": "none", "cc": "bbr",
        "cwnd_bytes": 123456, "rwnd_bytes": 98304, "edge": 4000000000, "una": 7,
        "pacing_bps": 12345678901234, "srtt_us": 20100, "min_rtt_us": None,
        "cc_info": "state=probe_bw\tgain=1.25", "rate_app_limited": True,
        "buffer_bytes": 3_000_000_000, "repairs": 5_000_000_001, "repaired_bytes": 7240000001448,
        "spurious_repairs": 11, "probes": 12, "timeouts": 13, "absorbed_repeats": 14,
        "hidden_acks": 15,
        "limited_us": {"window": 1, "guest": 5_000_000_002, "receiver": 3, "idle": 4},
    }  # fmt: skip
    assert not {"buffer_bytes", "repairs", "limited_us"} & set(older)
    assert newer["limited_us"] == {"window": 1, "guest": 2, "receiver": 3, "idle": 4}
    assert (unknown["saddr"], unknown["daddr"]) == ("fd00::1", "fd00::2")
    assert (unknown["state"], unknown["reason"]) == ("unknown-200", "unknown-201")
    assert (unknown["srtt_us"], unknown["rate_app_limited"]) == (None, False)
    assert "cwnd_bytes" not in unknown  # has the length of another type
    assert "limited_us" not in unknown  # is too short
    error = {"type": "tcon", "t_s": 1.5, "error": "a message of tcon.ko is malformed"}
    assert broken == [error] * 4


# --- live, in namespaces of their own --------------------------------------------------


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@pytest.fixture
def bridge() -> Iterator[tuple[str, str, str]]:
    """Guest, switch and peer: the uplink u0 is a port of the switch's bridge,
    taken over by an rx_handler as Open vSwitch does it.
    """
    if os.geteuid() or not shutil.which("ip"):
        pytest.skip("needs root and ip")
    names = [f"probe{os.getpid()}{kind}" for kind in "gsp"]
    guest, switch, peer = names
    for name in names:
        ip("netns", "add", name)
        # Or multicast reports of the kernel's own pass, and wait in queues that are counted.
        for which in ("all", "default"):
            off = f"net.ipv6.conf.{which}.disable_ipv6=1"
            subprocess.run(["ip", "netns", "exec", name, "sysctl", "-qw", off], capture_output=True)
    try:
        for port, other, where in (("g1", "g0", guest), ("u0", "u1", peer)):
            peer_end = ("peer", "name", other, "netns", where)
            ip("-n", switch, "link", "add", port, "type", "veth", *peer_end)
        ip("-n", switch, "link", "add", "name", "br0", "up", "type", "bridge")
        for port in ("g1", "u0"):
            ip("-n", switch, "link", "set", port, "master", "br0", "up")
        for where, device, address in ((guest, "g0", 1), (peer, "u1", 2)):
            ip("-n", where, "addr", "add", f"10.9.0.{address}/24", "dev", device)
            ip("-n", where, "link", "set", device, "up")
        yield guest, switch, peer
    finally:
        for name in names:
            ip("netns", "del", name)


def inside(name: str, *command: str, **how: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(["ip", "netns", "exec", name, *command], text=True, **how)


def wait_for_text(file: Path) -> None:
    deadline = time.monotonic() + 10
    while not file.exists() or not file.stat().st_size:
        assert time.monotonic() < deadline, f"{file.name} stayed empty"
        time.sleep(0.02)


RECEIVE = """
import socket
s = socket.create_server(("10.9.0.2", 5201)); print("ready", flush=True)
c = s.accept()[0]
while c.recv(1 << 16): pass
"""
SEND = """
import socket, sys, time
s = socket.create_connection(("10.9.0.2", 5201))
for _ in range(20): s.sendall(bytes(100000)); time.sleep(0.02)
"""


def test_live_on_a_bridge_port(probe: str, bridge: tuple[str, str, str], tmp_path: Path) -> None:
    guest, switch, peer = bridge
    out = tmp_path / "probe.jsonl"
    live = inside(switch, probe, "--dev", "u0", "--tcon", "--out", str(out), stderr=subprocess.PIPE)
    wait_for_text(out)
    server = inside(peer, sys.executable, "-c", RECEIVE, stdout=subprocess.PIPE)
    assert server.stdout is not None
    assert server.stdout.readline() == "ready\n"
    assert inside(guest, sys.executable, "-c", SEND).wait(30) == 0
    assert server.wait(30) == 0
    server.stdout.close()
    live.send_signal(signal.SIGTERM)
    assert live.communicate(timeout=30) == (None, "")
    assert live.returncode == 0
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert records[0]["type"] == "start"
    assert 0 < records[0]["monotonic_s"] < time.monotonic()
    assert records[-1]["type"] == "end"
    assert records[-1]["dropped"] == 0
    got = summary(records)
    assert got["acked_bytes"] == got["sent_bytes"] - got["retransmitted_bytes"] == 2_000_000
    assert 0 < got["rtt_us"]["min"] <= got["rtt_us"]["p50"] <= got["rtt_us"]["p95"]
    assert got["rtt_us"]["p95"] <= got["rtt_us"]["p99"] < 1_000_000
    assert sum(r["acked_bytes"] for r in of_type(records, "flow")) == 2_000_000
    if not Path("/sys/module/tcon").exists():
        assert [r["text"] for r in of_type(records, "note")] == ["tcon.ko is not loaded"]


def test_live_sockets(probe: str, bridge: tuple[str, str, str], tmp_path: Path) -> None:
    """A guest's connection among others of it, before, while and after it is there."""
    guest, _, peer = bridge
    out = tmp_path / "sockets.jsonl"
    server = inside(peer, sys.executable, "-c", RECEIVE, stdout=subprocess.PIPE)
    assert server.stdout is not None
    assert server.stdout.readline() == "ready\n"
    waits = "import sys; print(flush=True); sys.stdin.read()"
    holder = inside(
        guest, sys.executable, "-c", waits, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    holder.stdout.readline()  # by then it is in the guest's namespace
    ends = f"{holder.pid},10.9.0.1,40001,10.9.0.2,5201"
    options = ["--socket", ends, "--socket", ends.replace("40001", "40002"), "--interval-ms", "20"]
    live = subprocess.Popen([probe, *options, "--out", str(out)], stderr=subprocess.PIPE, text=True)
    wait_for_text(out)
    send = SEND.replace("5201))", "5201), source_address=('10.9.0.1', 40001))")
    info = "info = s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)\nprint(info.hex())"
    sender = inside(guest, sys.executable, "-c", send + info, stdout=subprocess.PIPE)
    said = bytes.fromhex(sender.communicate(timeout=30)[0])
    live.send_signal(signal.SIGTERM)
    assert live.communicate(timeout=30) == (None, "")
    assert live.returncode == 0
    server.wait(30)
    server.stdout.close()
    holder.communicate()
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert (records[0]["type"], records[0]["dev"]) == ("start", "sockets")
    found = of_type(records, "socket")
    assert len(found) >= 5
    assert {(r["saddr"], r["sport"], r["daddr"], r["dport"]) for r in found} == {
        ("10.9.0.1", 40001, "10.9.0.2", 5201)
    }
    mss, rtt_us, ssthresh, cwnd = (struct.unpack_from("=I", said, at)[0] for at in (16, 68, 76, 80))
    last = found[-1]
    assert last["mss_bytes"] == mss
    assert 0 < last["srtt_us"] < 100 * rtt_us
    assert last["cwnd_bytes"] % mss == 0
    assert mss <= last["cwnd_bytes"] <= cwnd * mss
    assert last["delivered_ce_segments"] == 0
    assert last["ssthresh_bytes"] == (None if ssthresh >= 0x7FFFFFFF else ssthresh * mss)


def test_live_seconds(probe: str, bridge: tuple[str, str, str], tmp_path: Path) -> None:
    out = tmp_path / "queue.jsonl"
    begin = time.monotonic()
    live = inside(bridge[1], probe, "--queue", "u0", "--seconds", "1", "--out", str(out))
    assert live.wait(30) == 0
    assert time.monotonic() - begin >= 1
    records = of_type([json.loads(line) for line in out.read_text().splitlines()], "queue")
    assert 5 <= len(records) <= 10
    assert all(record["packets"] == 0 for record in records)
    places = [record["t_s"] % 0.1 for record in records]
    assert max(places) - min(places) > 0.04, "each at another place of its interval"


def drops_of(name: str, device: str) -> int:
    tc = ["ip", "netns", "exec", name, "tc", "-s", "-j", "qdisc", "show", "dev", device]
    qdiscs = json.loads(subprocess.run(tc, capture_output=True, check=True).stdout)
    return next(qdisc["drops"] for qdisc in qdiscs if qdisc.get("root"))


def test_live_queue(probe: str, bridge: tuple[str, str, str], tmp_path: Path) -> None:
    """A slow tbf over a pfifo: waiting packets are counted once, not in both."""
    switch = bridge[1]
    out = tmp_path / "queue.jsonl"
    tbf = ["root", "handle", "1:", "tbf", "rate", "8kbit", "burst", "2000", "limit", "1000000"]
    for qdisc in (tbf, ["parent", "1:1", "handle", "2:", "pfifo", "limit", "10"]):
        tc = ["ip", "netns", "exec", switch, "tc", "qdisc", "add", "dev", "u0", *qdisc]
        if subprocess.run(tc, capture_output=True).returncode:
            pytest.skip("this kernel has no tbf")
    live = inside(switch, probe, "--queue", "u0", "--interval-ms", "20", "--out", str(out))
    wait_for_text(out)
    flood = f"""
import socket
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); s.bind(("u0", 0))
for _ in range(25):
    try: s.send(bytes(12) + b"\\x88\\xb5" + bytes({1000 - 14}))
    except OSError: pass  # ENOBUFS: dropped, as is wanted here
"""
    assert inside(switch, sys.executable, "-c", flood).wait(30) == 0
    least = drops_of(switch, "u0")
    time.sleep(0.2)
    live.send_signal(signal.SIGINT)
    assert live.wait(30) == 0
    most = drops_of(switch, "u0")
    records = of_type([json.loads(line) for line in out.read_text().splitlines()], "queue")
    fullest = max(records, key=lambda record: record["packets"])
    assert (fullest["packets"], fullest["bytes"]) == (10, 10_000)
    assert 12 <= least <= records[-1]["drops"] <= most  # 25 sent, 10 wait, 2 or 3 went out
