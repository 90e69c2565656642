# SPDX-License-Identifier: GPL-2.0-only
"""tcon-monitor finds the guest that takes more than its share, and lets it go again.

How well it works says test_alpha.py.
"""

from __future__ import annotations

import json
import resource

from asked import CUBIC, scenario
from rig import poll
from tcon_lab.ovs import appctl
from tcon_lab.scenario import Path
from tcon_lab.topo import Lab
from tenants_share import Guest, Monitor, sending

#: 20 Mbit/s, 20 ms, a queue of one BDP.
PATH = Path(20_000_000, 20_000, 0.0, 34)
OPTIONS = ("--alpha=0.25", "--after=4", "--period=0.5", "--cc=reno")


def weights() -> dict[str, float]:
    """The weights in tcon/show, by MATCH."""
    rules = json.loads(appctl("tcon/show", "-j", "br0"))["bridges"][0]["rules"]
    return {rule["match"]: rule["params"]["weight"] for rule in rules}


def obeying(lab: Lab) -> int:
    """How many of the guest's sending flows the monitor's rule has.  iperf3's own is idle."""
    flows = [flow for flow in lab.br0.tcon_flows()["flows"] if flow["port"] == "br0-h1"]
    rules = [(flow["cc"], flow["priority"]) for flow in flows if flow["delivered_bytes"] > 10_000]
    return rules.count(("reno", 0))


def cpu_s() -> float:
    """CPU time of children that have ended, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_eight_connections_against_one() -> None:
    with Lab(scenario(PATH, CUBIC, CUBIC)) as lab:
        monitor = Monitor(lab, *OPTIONS)
        with sending(lab, [Guest(8), Guest(1)], 60):
            poll(weights, "the guest is found", 20, 0.1)
            ((match, weight),) = weights().items()
            assert match == "in_port=br0-h1"
            assert 0 < weight < 1
            poll(lambda: obeying(lab) == 8, "its connections obey the rule", 5, 0.1)
        poll(lambda: not weights(), "its weight is 1 again", 20, 0.1)
        looks, before_s = len(monitor.looks()), cpu_s()
        log = monitor.stop()
        print(f"CPU {cpu_s() - before_s:.2f} s for {looks} periods")
    assert "br0-h1: weight 0." in log
    assert "br0-h1: weight 1 again" in log
