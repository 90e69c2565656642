# SPDX-License-Identifier: GPL-2.0-only
"""Raw records as the runner makes them, invented: a fixture, not measurements."""

from __future__ import annotations

import math
import random
from typing import Any

from tcon_lab.experiment.scenario_file import parse
from tcon_lab.scenario import Scenario

TEXT = """
name = "synthetic"
seconds = 10
modes = ["guest", "native", "enforced"]
[path]
rate = "100mbit"
rtt = "20ms"
queue = "1000p"
[[flow]]
count = {count}
guest_cc = "cubic"
native_cc = "bbr"
enforce = "bbr"
start = "{start}"
"""

STEP_S = 0.1


def scenario(count: int = 1, start: str = "0s") -> Scenario:
    return parse(TEXT.format(count=count, start=start))


def iperf3(seconds: float, rtts_us: list[int], cwnd: int, retransmits: int) -> dict[str, Any]:
    """The parts of iperf3's client report that the lab reads, and some more."""
    intervals = [
        {
            "streams": [
                {"start": n * STEP_S, "end": (n + 1) * STEP_S, "snd_cwnd": cwnd + n, "rtt": rtt,
                 "rttvar": 5, "retransmits": 0, "bytes": 1000, "omitted": False}
            ],
            "sum": {"bytes": 1000},
        }
        for n, rtt in enumerate(rtts_us)
    ]  # fmt: skip
    sent = {"seconds": seconds, "bytes": 1, "retransmits": retransmits}
    return {"start": {"connected": []}, "intervals": intervals, "end": {"sum_sent": sent}}


def endpoints(index: int) -> dict[str, Any]:
    return {"saddr": f"10.0.0.{index + 1}", "sport": 40000 + index,
            "daddr": "10.0.1.1", "dport": 5201 + index}  # fmt: skip


def raw(mode: str, count: int = 1, seed: int = 1) -> dict[str, Any]:
    """A run that looks as one would expect of ``mode``."""
    asked = scenario(count)
    rng = random.Random(f"{mode} {seed}")
    steps = round(asked.seconds / STEP_S)
    filling = mode == "guest"
    probe: list[dict[str, Any]] = [
        {"type": "start", "t_s": 0.0, "dev": "u", "interval_ms": 100, "monotonic_s": 50.0}
    ]
    queue: list[dict[str, Any]] = [dict(probe[0], monotonic_s=49.5)]
    flows = []
    for index in range(count):
        rtts = []
        for n in range(steps):
            saw = (n % 40) / 40 if filling else 0.08 + 0.02 * math.sin(n)
            rtt = round(20000 + 110000 * saw + rng.random() * 500)
            rtts.append(rtt)
            t_s = round(1 + (n + 1) * STEP_S, 6)
            acked = round(94e6 / 8 * STEP_S / count * (0.5 if n < 3 else 1))
            probe.append(
                {"type": "flow", "t_s": t_s, **endpoints(index), "acked_bytes": acked,
                 "sent_bytes": acked, "retransmitted_bytes": 0, "loss_events": 0,
                 "rtt_us": {"min": rtt - 90, "p50": rtt, "samples": 80}}
            )  # fmt: skip
            if mode == "enforced":
                probe.append(
                    {"type": "tcon", "t_s": t_s + 0.0002, **endpoints(index),
                     "state": "observed" if n == 0 else "repair-enforced",
                     "reason": "handshake" if n == 0 else "none", "cc": "bbr",
                     "cwnd_bytes": 2 * rtt * 12, "rwnd_bytes": rtt * 14, "pacing_bps": 95_000_000,
                     "inflight_bytes": rtt * 12, "held_bytes": 3000, "srtt_us": rtt,
                     "buffer_bytes": rtt * 20, "repairs": 3 * n, "repaired_bytes": 3 * n * 1448,
                     "spurious_repairs": n // 10, "probes": n // 50, "timeouts": n // 90,
                     "absorbed_repeats": n // 40, "hidden_acks": 20 * n,
                     "limited_us": {"window": 96_000 * n, "guest": 3000 * min(n, 5),
                                    "receiver": 0, "idle": 1000 * n}}
                )  # fmt: skip
        middle = sorted(rtts)[len(rtts) // 2]
        probe.append(
            {"type": "summary", "t_s": 12.0, **endpoints(index), "first_s": 1.0, "last_s": 11.1,
             "acked_bytes": 10**8, "sent_bytes": 10**8, "retransmitted_bytes": 2896,
             "untimed_packets": 0,
             "rtt_us": {"min": 20010, "p50": middle, "p95": max(rtts) - 9, "p99": max(rtts),
                        "samples": 8000}}
        )  # fmt: skip
        report = iperf3(asked.seconds, [rtt + 50 for rtt in rtts], 400_000, 2)
        flow = asked.flows[0]
        flows.append(
            {"index": index, **endpoints(index), "guest_cc": flow.stack_cc(mode),
             "cc": flow.deciding_cc(mode), "start_s": 0.0, "iperf3": report}
        )  # fmt: skip
    for n in range(130):
        packets = round(900 * (n % 40) / 40) if filling else 60 + n % 7
        queue.append({"type": "queue", "t_s": round(n * STEP_S, 6), "packets": packets,
                      "bytes": packets * 1514, "drops": 0})  # fmt: skip
    probe.append({"type": "end", "t_s": 12.0, "packets": 1, "dropped": 0, "untracked": 0})
    return {"scenario": asked.to_dict(), "mode": mode, "seed": seed, "virtual_time": True,
            "versions": {"kernel": "6.1.0", "openvswitch": "3.1.0"}, "flows": flows,
            "probe": probe, "queue": queue}  # fmt: skip


TRANSFERS = """
name = "files"
seconds = 100
modes = ["guest", "native", "enforced"]
[path]
rate = "10mbit"
rtt = "20ms"
[[transfer]]
bytes = "1MB"
count = {count}
guest_cc = "cubic"
native_cc = "bbr"
enforce = "bbr"
"""


def raw_transfers(mode: str, times_s: list[float], seed: int = 1) -> dict[str, Any]:
    """A run of transfers, one after another, that took these times."""
    asked = parse(TRANSFERS.format(count=len(times_s)))
    server = {"saddr": "10.1.0.1", "sport": 5202, "daddr": "10.2.0.1"}
    probe: list[dict[str, Any]] = [
        {"type": "start", "t_s": 0.0, "dev": "u", "interval_ms": 100, "monotonic_s": 50.0}
    ]
    transfers, start_s = [], 0.0
    for number, time_s in enumerate(times_s):
        transfers.append({"start_s": start_s, "seconds": time_s})
        start_s += time_s
        key = server | {"dport": 30000 + number}
        repaired = {"repairs": 2, "spurious_repairs": 1, "probes": 3, "timeouts": 0}
        state = {"state": "window-enforced", "reason": "none"} | dict.fromkeys(repaired, 0)
        ended = {"state": "observed", "reason": "closed"} | repaired
        if mode == "enforced":
            probe += [{"type": "tcon", "t_s": start_s, **key, **now} for now in (state, ended)]
        rtt = {
            "min": 20000,
            "p50": 21000 + number,
            "p95": 29000 + number,
            "p99": 30000 + number,
            "samples": 10,
        }
        probe.append({"type": "summary", "t_s": 99.0, **key, "first_s": 1.0, "last_s": 2.0,
                      "acked_bytes": 10**6, "sent_bytes": 10**6, "retransmitted_bytes": 100,
                      "untimed_packets": 0, "rtt_us": rtt})  # fmt: skip
    probe.append({"type": "end", "t_s": 99.0, "packets": 1, "dropped": 0, "untracked": 0})
    flow = {"index": 0, **server, "guest_cc": "cubic", "cc": "bbr", "start_s": 0.0,
            "transfers": list(reversed(transfers))}  # fmt: skip
    return {"scenario": asked.to_dict(), "mode": mode, "seed": seed, "virtual_time": True,
            "versions": {"kernel": "6.1.0"}, "flows": [flow], "probe": probe, "queue": [],
            "start_monotonic_s": 50.5}  # fmt: skip
