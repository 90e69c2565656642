# SPDX-License-Identifier: GPL-2.0-only
"""Guests that answer late: behind a router, in another host, or waiting for a CPU.

What a guest is given by TCon must cover the time that it takes to answer, and it is not
taken for one without data.  Enforced and native flows share the same whole path.
"""

from __future__ import annotations

import dataclasses
import json

import pytest
from asked import CUBIC, scenario
from rig import poll
from tcon_lab.scenario import Path
from tcon_lab.topo import Lab, run_in

SECONDS = 20
PATH = Path(20_000_000, 20_000, 0.0, 200)


def goodput_bps(lab: Lab, cc: str) -> float:
    """Of a flow of SECONDS from the first sender to its receiver, bits/s."""
    receiver = lab.receiver(0)
    server = receiver.popen(["iperf3", "-s", "-1"])
    poll(lambda: ":5201" in run_in(receiver, "ss -Hltn"), "iperf3 listens", 10)
    command = f"iperf3 -J -C {cc} -c {lab.receiver_address(0)} -t {SECONDS}"
    report = json.loads(run_in(lab.sender(0), command))
    server.wait(10)
    return float(report["end"]["sum_received"]["bits_per_second"])


@pytest.mark.parametrize("delay_ms", [5, 20, 300])
def test_guest_that_is_far_away(delay_ms: int) -> None:
    far = dataclasses.replace(CUBIC, guest_delay_us=1000 * delay_ms)
    with Lab(scenario(PATH, far)) as lab:
        native = {cc: goodput_bps(lab, cc) for cc in ("bbr", "cubic")}
        enforced = {}
        for cc in native:
            lab.br0.set_cc("all", cc)
            enforced[cc] = goodput_bps(lab, "cubic")
            lab.br0.del_cc("all")
    for cc in native:
        assert enforced[cc] > 0.95 * native[cc]
