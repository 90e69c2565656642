# SPDX-License-Identifier: GPL-2.0-only
"""Guests that answer late: behind a router, in another host, or waiting for a CPU.

What a guest is given by TCon must cover the time that it takes to answer, and it is not
taken for one without data.  Enforced and native flows share the same whole path.
"""

from __future__ import annotations

import dataclasses

import pytest
from asked import CUBIC, goodput_bps, scenario
from tcon_lab.scenario import Path
from tcon_lab.topo import Lab

SECONDS = 20
PATH = Path(20_000_000, 20_000, 0.0, 200)


@pytest.mark.parametrize("delay_ms", [5, 20, 300])
def test_guest_that_is_far_away(delay_ms: int) -> None:
    far = dataclasses.replace(CUBIC, guest_delay_us=1000 * delay_ms)
    with Lab(scenario(PATH, far)) as lab:
        native = {cc: goodput_bps(lab, cc, SECONDS) for cc in ("bbr", "cubic")}
        enforced = {}
        for cc in native:
            lab.br0.set_cc("all", cc)
            enforced[cc] = goodput_bps(lab, "cubic", SECONDS)
            lab.br0.del_cc("all")
    for cc in native:
        assert enforced[cc] > 0.95 * native[cc]
