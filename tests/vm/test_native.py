# SPDX-License-Identifier: GPL-2.0-only
"""What an enforced flow reaches where a native one has windows of a few segments.

There every repair that is lost, too, ends in a time-out unless something else is in
flight, so that one wrong decision costs a quarter of the goodput.
"""

from __future__ import annotations

import json

from asked import scenario
from rig import poll
from tcon_lab.scenario import Flow, Path
from tcon_lab.topo import Lab, run_in

# Of ten seconds one is 8 % from the next, of forty 4 %.
SECONDS = 40
PATH = Path(100_000_000, 1000, 0.05, 1000)
RENO = Flow(1, "reno", "reno", None)


def goodput_bps(lab: Lab) -> float:
    """Of a flow of SECONDS from the first sender to its receiver, bits/s."""
    receiver = lab.receiver(0)
    server = receiver.popen(["iperf3", "-s", "-1"])
    poll(lambda: ":5201" in run_in(receiver, "ss -Hltn"), "iperf3 listens", 10)
    command = f"iperf3 -J -C reno -c {lab.receiver_address(0)} -t {SECONDS}"
    report = json.loads(run_in(lab.sender(0), command))
    server.wait(10)
    return float(report["end"]["sum_received"]["bits_per_second"])


def test_reno_with_windows_of_five_segments() -> None:
    with Lab(scenario(PATH, RENO)) as lab:
        native = goodput_bps(lab)
        lab.br0.set_cc("all", "reno")
        enforced = goodput_bps(lab)
    assert 20e6 < native < 60e6
    assert 0.85 < enforced / native < 1.15
