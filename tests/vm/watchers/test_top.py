# SPDX-License-Identifier: GPL-2.0-only
"""tcon-top beside flows that live: what it draws is what flows do."""

from __future__ import annotations

import os
import re
import subprocess

import pytest
from hosts import MEGA, Net
from rig import poll
from tcon_lab.ovs import appctl

TOP = "/lab/top/tcon-top"
ROW = re.compile(
    r"^p1 .*:(?P<port>520\d) +(?P<cc>\w+) +(?P<state>\S+) +(?P<number>[\d.]+)(?P<unit>[kM]?) ", re.M
)


PAYLOAD_BPS = 20e6 * 1448 / 1514
UNITS = {"": 1, "k": 1e3, "M": 1e6}
ENVIRONMENT = os.environ | {"COLUMNS": "120", "LINES": "24"}


def test_rates_and_ccs_are_those_of_the_flows(net: Net) -> None:
    """Three connections share 20 Mbit/s, two of them under a CC."""
    net.shape(rate="20mbit", delay="5ms")
    appctl("tcon/set-cc", "br0", "flow=all", "bbr")
    appctl("tcon/set-cc", "br0", "flow=tcp,tp_dst=5203,priority=40000", "none")
    transfers = [net.transfer(12 * MEGA, port=port) for port in (5201, 5202, 5203)]
    poll(lambda: all(t.received_bytes > MEGA // 4 for t in transfers), "all send", 20)
    done = subprocess.run([TOP, "br0", "-n", "6", "-d", "1"], env=ENVIRONMENT,
                          capture_output=True, text=True, timeout=120, check=False)  # fmt: skip
    for transfer in transfers:
        transfer.finish()
    assert done.returncode == 0, done.stderr
    frames = done.stdout.split("br0: 3 flows")[1:]
    assert len(frames) == 6, done.stdout
    rows = [{row["port"]: row for row in ROW.finditer(frame)} for frame in frames[1:]]
    sums = []
    for row in rows:
        assert set(row) == {"5201", "5202", "5203"}
        rates = [float(one["number"]) * UNITS[one["unit"]] for one in row.values()]
        assert rates == sorted(rates, reverse=True)
        sums.append(sum(rates))
    # A hole holds what is acknowledged back, and for the next second.
    assert sum(sums) / len(sums) == pytest.approx(PAYLOAD_BPS, rel=0.05)
    assert {n: row["cc"] for n, row in rows[-1].items()} == {
        "5201": "bbr", "5202": "bbr", "5203": "none"}  # fmt: skip
    assert rows[-1]["5203"]["state"] == "observed"
