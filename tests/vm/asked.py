# SPDX-License-Identifier: GPL-2.0-only
"""Scenarios as plain data: their reader needs packages that the VM has not."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

from rig import poll
from tcon_lab.scenario import Flow, Path, Scenario
from tcon_lab.topo import Lab, run_in

#: A guest that TCon leaves alone.
CUBIC = Flow(1, "cubic", "cubic", None)


def scenario(path: Path, *flows: Flow) -> Scenario:
    """A path with these flows, or one guest's CUBIC."""
    return Scenario("test", 5.0, ("native",), 1, path, flows or (CUBIC,))


def goodput_bps(lab: Lab, cc: str, seconds: int) -> float:
    """Goodput of a flow from the first sender to its receiver, whose stack runs cc; bits/s."""
    receiver = lab.receiver(0)
    server = receiver.popen(["iperf3", "-s", "-1"])
    poll(lambda: ":5201" in run_in(receiver, "ss -Hltn"), "iperf3 listens", 10)
    command = f"iperf3 -J -C {cc} -c {lab.receiver_address(0)} -t {seconds}"
    report = json.loads(run_in(lab.sender(0), command))
    server.wait(10)
    return float(report["end"]["sum_received"]["bits_per_second"])


def one_is_within(
    draw: Callable[[], float], least: float, most: float = math.inf, tries: int = 3
) -> None:
    """One of some draws of a scattering value is within bounds: with a fault none is.

    A value that chance puts outside once in N draws is outside in all tries once in N to their
    power.
    """
    found: list[float] = []
    while not found or not least < found[-1] < most:
        assert len(found) < tries, found
        found.append(draw())
