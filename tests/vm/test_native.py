# SPDX-License-Identifier: GPL-2.0-only
"""What an enforced flow reaches where a native one has windows of a few segments.

There every repair that is lost, too, ends in a time-out unless something else is in
flight, so that one wrong decision costs a quarter of the goodput.
"""

from __future__ import annotations

import time

from asked import goodput_bps, scenario
from hosts import Net
from rig import ip
from tcon_lab.scenario import Flow, Path
from tcon_lab.topo import Lab

# Of ten seconds one is 8 % from the next, of forty 4 %.
SECONDS = 40
PATH = Path(100_000_000, 1000, 0.05, 1000)
RENO = Flow(1, "reno", "reno", None)


def test_reno_with_windows_of_five_segments() -> None:
    with Lab(scenario(PATH, RENO)) as lab:
        native = goodput_bps(lab, "reno", SECONDS)
        lab.br0.set_cc("all", "reno")
        enforced = goodput_bps(lab, "reno", SECONDS)
    assert 20e6 < native < 60e6
    assert 0.85 < enforced / native < 1.15


def test_bbr_with_one_segment_in_flight(net: Net) -> None:
    """The receiver's window is one segment: a round trip each, as in the guest's own stack.

    A round trip longer by 1 % is 190 ms in the end; that is seen in steps of 50 ms.
    """
    net.shape(delay="50ms")
    ip("route change default via 10.1.0.254 window 600 advmss 536", ns="s")

    def seconds(cc: str) -> float:
        begin = time.monotonic()
        net.transfer(200_000, cc=cc).finish()
        return time.monotonic() - begin

    native = seconds("bbr")
    net.tcon.set_rule("bbr")
    assert seconds("cubic") < 1.005 * native
