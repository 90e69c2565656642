# SPDX-License-Identifier: GPL-2.0-only
"""Guests that answer late: behind a router, in another host, or waiting for a CPU.

The window that TCon gives a guest must cover the time that it takes to answer, and it is not
taken for one without data.  Enforced and native flows share the same whole path.
"""

from __future__ import annotations

import dataclasses
import re

import pytest
from asked import CUBIC, goodput_bps, scenario
from tcon_lab.scenario import Path
from tcon_lab.topo import Lab, run_in

SECONDS = 20
PATH = Path(20_000_000, 20_000, 0.0, 200)


def compare(lab: Lab) -> None:
    """A CUBIC guest under an enforced CC reaches what one with the native CC does."""
    for cc in ("bbr", "cubic"):
        native_bps = goodput_bps(lab, cc, SECONDS)
        lab.br0.set_cc("all", cc)
        assert goodput_bps(lab, "cubic", SECONDS) > 0.95 * native_bps
        lab.br0.del_cc("all")


@pytest.mark.parametrize("delay_ms", [5, 300])
def test_guest_that_is_far_away(delay_ms: int) -> None:
    far = dataclasses.replace(CUBIC, guest_delay_us=1000 * delay_ms)
    with Lab(scenario(PATH, far)) as lab:
        compare(lab)


def test_guest_that_pauses() -> None:
    """For 30 ms of each 100 ms it neither sends nor hears."""
    paused = dataclasses.replace(CUBIC, guest_pause_us=30_000)
    with Lab(scenario(PATH, paused)) as lab:
        lab.start_pauses()
        ping = f"ping -n -c 50 -i 0.011 {lab.receiver_address(0)}"
        found = re.findall(r"time=([\d.]+) ms", run_in(lab.sender(0), ping))
        rtts_ms = sorted(float(ms) for ms in found)
        assert len(rtts_ms) == 50
        assert rtts_ms[0] < 21
        assert 40 < rtts_ms[-1] < 51
        compare(lab)
