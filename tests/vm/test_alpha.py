# SPDX-License-Identifier: GPL-2.0-only
"""Which alpha suits tcon-monitor: a campaign, in User-Mode Linux, not a test of every check.

    make -C tests/vm flows FLOW_TESTS="-s test_alpha.py"

Guests that are to be let alone send for a minute, and the measurement is judged with each
alpha.  A guest that takes too much meets the monitor itself.  docs/weights.md has the tables,
and a plot of tools/campaigns/monitor.csv: the lines that begin with "csv:" with alpha 0.5.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from importlib.machinery import SourceFileLoader
from typing import Any

import pytest
from asked import CUBIC, scenario
from tcon_lab.scenario import Flow, Path
from tcon_lab.topo import Lab
from tenants_share import MONITOR, Guest, Monitor, jain, rates, sending

FAIR_S, GREEDY_S = (int(word) for word in os.environ.get("TCON_ALPHA_S", "60,60").split(","))
START_S = 5  # slow start, not counted
ALPHAS = (0.1, 0.25, 0.5, 0.75, 1.0, 1.5)
AFTER = (1, 3, 5, 10)
#: 50 Mbit/s, 40 ms, a queue of one BDP.
PATH = Path(50_000_000, 40_000, 0.0, 167)
FAR = [Flow(1, "cubic", "cubic", None, extra_delay_us=delay) for delay in (0, 20000, 60000, 120000)]


def load_monitor() -> Any:
    """The program as a module."""
    loader = SourceFileLoader("tcon_monitor", str(MONITOR))
    spec = importlib.util.spec_from_loader("tcon_monitor", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["tcon_monitor"] = module
    loader.exec_module(module)
    return module


def found(looks: list[dict[str, Any]], alpha: float, after: int) -> int:
    """How many guests would have had their weight lowered, if nobody had done it."""
    monitor = load_monitor()
    names: set[str] = set()
    judge = monitor.Judge(monitor.Limits(alpha, after), PATH.rate_bps)
    for look in looks:
        by_name = {name: guest["rate_bps"] for name, guest in look["guests"].items()}
        judge.look(by_name, look["uplink_bps"])
        names |= judge.weights.keys()
    return len(names)


@pytest.mark.parametrize(
    ("name", "flows", "guests"),
    [
        ("equal", [CUBIC] * 4, [Guest()] * 4),
        ("four CCs", [CUBIC] * 4, [Guest(cc=cc) for cc in ("cubic", "reno", "vegas", "bbr")]),
        ("four RTTs", FAR, [Guest()] * 4),
    ],
)
def test_fair_guests(name: str, flows: list[Flow], guests: list[Guest]) -> None:
    with Lab(scenario(PATH, *flows)) as lab, sending(lab, guests, FAIR_S + START_S + 5):
        time.sleep(START_S)
        monitor = Monitor(lab, "--alpha=100")
        time.sleep(FAIR_S)
        looks = monitor.looks()
        monitor.stop()
    assert len(looks) > FAIR_S / 2
    full = sum(look["full"] for look in looks)
    print(
        f"\n{name}: Jain {jain([sum(r) for r in zip(*map(rates, looks), strict=True)]):.3f},"
        f" {full} of {len(looks)} periods full; found of 4 guests"
    )
    for after in AFTER:
        counts = (f"{found(looks, alpha, after)} at {alpha:g}" for alpha in ALPHAS)
        print(f"  after {after:2}: {', '.join(counts)}")


def print_csv(case: str, looks: list[dict[str, Any]], first_s: float) -> None:
    """The input of tools/tcon_lab/pages/monitor_plot.py; the monitor begins at 0 s."""
    print()
    for n, look in enumerate(looks):
        for guest, told in sorted(look["guests"].items()):
            words = (f'"{case}"', f"{first_s + n:.1f}", guest, told["rate_bps"], told["weight"])
            print("csv:" + ",".join(map(str, words)))


@pytest.mark.parametrize(
    ("name", "greedy", "alpha"),
    [("8 connections", Guest(8), alpha) for alpha in (0.25, 0.5, 1.0)]
    + [("bbr", Guest(cc="bbr"), 0.5)],
)
def test_greedy_guest(name: str, greedy: Guest, alpha: float) -> None:
    guests = [greedy, Guest(), Guest(), Guest()]
    with Lab(scenario(PATH, *[CUBIC] * 4)) as lab, sending(lab, guests, GREEDY_S + START_S + 25):
        time.sleep(START_S)
        native = Monitor(lab, "--alpha=100")
        time.sleep(10)
        before = native.looks()
        native.stop()
        monitor = Monitor(lab, f"--alpha={alpha}")
        time.sleep(GREEDY_S)
        looks = monitor.looks()
        monitor.stop()
    print_csv(f"{name}, alpha {alpha:g}", before, 1.0 - len(before))
    print_csv(f"{name}, alpha {alpha:g}", looks, 1.0)
    lowered = [n for n, look in enumerate(looks, 1) if look["guests"]["br0-h1"]["weight"] < 1]
    others = {
        name for look in looks for name, guest in look["guests"].items() if guest["weight"] < 1
    } - {"br0-h1"}
    then = [sum(rate) for rate in zip(*map(rates, before), strict=True)]
    now = [sum(rate) for rate in zip(*map(rates, looks[-GREEDY_S // 2 :]), strict=True)]
    sums = [
        sum(sums) / len(some) for sums, some in ((then, before), (now, looks[-GREEDY_S // 2 :]))
    ]
    print(
        f"\n{name}, alpha {alpha:g}: found after {lowered[0] if lowered else '-'} s; its share"
        f" {then[0] / sum(then):.2f}, then {now[0] / sum(now):.2f}; Jain {jain(then):.2f}, then"
        f" {jain(now):.2f}; in all {sums[0] / 1e6:.1f}, then {sums[1] / 1e6:.1f} Mbit/s; last"
        f" weight {looks[-1]['guests']['br0-h1']['weight']}; others lowered: {len(others)}"
    )
    if greedy.connections > 1 and alpha <= 0.5:
        assert lowered
        assert jain(now) > jain(then)
