# SPDX-License-Identifier: GPL-2.0-only
"""Campaigns' folders of invented runs: a fixture, not measurements."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import synthetic
from tcon_lab.experiment.campaign import Campaign
from tcon_lab.experiment.campaign_file import load
from tcon_lab.numbers.against_native import compare
from tcon_lab.numbers.campaign_run import Run, Store, runs_of
from tcon_lab.numbers.results import to_text

#: Factors of a run's goodput and RTT over the fixture's native run, given the run and the flow.
Factors = Callable[[Run, int], tuple[float, float]]

PUBLISHED = """\
source = "A study"
[[table]]
name = "5.1"
title = "one CC alone"
where = "section 5.1"
campaign = "vm-baseline"
seconds = 60
columns = [["vms", "count"], ["cc", "text"], ["cwnd", "kB"], ["rtt", "ms"],
           ["throughput", "MB/s"], ["total_sent", "MB"], ["jain", "share"]]
rows = [
  [1, "bbr2", 400, 20, 10, 700, "-"],
  [1, "cubic", "-", 20, 10, 700, "-"],
  [2, "bbr2", 400, 20, 5, 700, 0.5],
  [32, "bbr2", 400, 20, 5, 700, 0.5],
]
"""
BASELINE = """\
name = "vm-baseline"
seconds = 10
modes = ["native", "enforced"]
seeds = [1, 2]
published = "published.toml"
[path]
rate = "100mbit"
rtt = "20ms"
queue = "1000p"
[[flow]]
guest_cc = "reno"
[matrix]
count = [1, 2]
cc = ["bbr", "cubic"]
[[bar]]
metric = "goodput"
min = 0.95
"""
PAIRS = """\
name = "vm-pairs"
seconds = 10
modes = ["native", "enforced"]
seeds = [1]
[path]
rate = "100mbit"
rtt = "20ms"
queue = "1000p"
[[flow]]
guest_cc = "cubic"
[[flow]]
guest_cc = "cubic"
[matrix]
cc = [["bbr", "cubic"], ["cubic", "vegas"]]
"""
ONE_FLOW = """\
name = "cubic-one-flow"
seconds = 10
modes = ["native", "enforced"]
seeds = [1]
[[flow]]
guest_cc = "reno"
native_cc = "cubic"
enforce = "cubic"
[[case]]
name = "ADSL"
rate = "10mbit"
rtt = "50ms"
queue = "10p"
"""
BUFFERS = """\
name = "cubic-buffers"
seconds = 10
modes = ["native", "enforced"]
seeds = [1]
[path]
rate = "100mbit"
rtt = "40ms"
[[flow]]
count = 2
guest_cc = "cubic"
[matrix]
queue = ["0.3bdp", "1.0bdp"]
cc = ["cubic", "reno"]
[[bar]]
metric = "utilisation"
min = 0.9
[[bar]]
metric = "queue"
min = 0.9
"""
FILES = """\
name = "files"
seconds = 100
modes = ["guest", "native", "enforced"]
seeds = [1]
[path]
rate = "10mbit"
rtt = "20ms"
[[transfer]]
bytes = "1MB"
count = 5
guest_cc = "cubic"
native_cc = "bbr"
enforce = "bbr"
"""


def alike(run: Run, index: int) -> tuple[float, float]:
    """Enforced is as native."""
    return 1.0, 1.0


def _sawtooth(t_s: float) -> int:
    """A window that falls by 30 % every 2 s."""
    return round(70_000 * (0.7 + 0.3 * (t_s % 2.0) / 2.0))


def _raw(run: Run, factors: Factors) -> dict[str, Any]:
    scenario, count = run.scenario, len(run.scenario.connections())
    if scenario.flows[0].transfer:
        times_s = [1.0, 1.2, 1.1, 1.3, 1.0 if run.mode == "native" else 1.4]
        raw = synthetic.raw_transfers(run.mode, times_s)
        return raw | {"scenario": scenario.to_dict(), "seed": scenario.seed}
    raw = synthetic.raw(run.mode, count, scenario.seed)
    ends = {flow["sport"]: flow["index"] for flow in raw["flows"]}
    for flow, asked in zip(raw["flows"], scenario.connections(), strict=True):
        flow |= {"guest_cc": asked.stack_cc(run.mode), "cc": asked.deciding_cc(run.mode)}
        for entry in flow["iperf3"]["intervals"]:
            entry["streams"][0]["snd_cwnd"] = _sawtooth(entry["streams"][0]["end"])
    raw["sockets"] = [raw["probe"][0]]
    for record in raw["probe"]:
        index = ends.get(record.get("sport"))
        if index is None:
            continue
        goodput, rtt = factors(run, index)
        if "acked_bytes" in record:
            record["acked_bytes"] = round(record["acked_bytes"] * goodput)
        for name, value in (record.get("rtt_us") or {}).items():
            if name != "samples":
                record["rtt_us"][name] = round(value * rtt)
        if record["type"] == "tcon":
            record |= {"cwnd_bytes": _sawtooth(record["t_s"] - 1), "ssthresh_bytes": 49_000}
        if record["type"] == "flow":
            raw["sockets"].append(
                {"type": "socket", "t_s": record["t_s"], **synthetic.endpoints(index),
                 "mss_bytes": 1448, "cwnd_bytes": 70_000, "srtt_us": 1000,
                 "ssthresh_bytes": 49_000 if record["t_s"] > 3 else None}
            )  # fmt: skip
    return raw | {"scenario": scenario.to_dict(), "seed": scenario.seed}


def make(folder: Path, text: str, factors: Factors = alike) -> tuple[Campaign, Path]:
    """A campaign's folder as `tcon-lab campaign` leaves it, of invented runs."""
    folder.mkdir(parents=True)
    (folder / "published.toml").write_text(PUBLISHED)
    file = folder / "campaign.toml"
    file.write_text(text)
    campaign, store = load(file), Store(folder)
    runs = runs_of(campaign, lambda mode: f"made from {mode}")
    store.prepare(campaign, runs)
    for run in runs:
        store.save(run, _raw(run, factors), 1.0)
    made = compare(campaign, store.index(campaign), store.load)
    (folder / "comparison.json").write_text(to_text(made))
    return campaign, folder


def seeds_apart(run: Run, index: int) -> tuple[float, float]:
    """Enforced BBR has 0.9 and 1.0 of native with its two seeds, and half of the RTT;
    enforced CUBIC all of it.
    """
    if run.mode != "enforced" or run.cell.values.get("cc") != "bbr":
        return 1.0, 1.0
    return (0.9 if run.scenario.seed == 1 else 1.0), 0.5


def ratio_of_bbr() -> float:
    """The geometric mean that :func:`seeds_apart` makes."""
    return math.sqrt(0.9)
