# SPDX-License-Identifier: GPL-2.0-only
"""A CC set on a running flow takes effect within the larger of 1 s and 3 RTTs.

The lab's own path (100 Mbit/s, 20 ms, 1000 packets) with one CUBIC guest.  The
path's RTT counts, as tcon-probe sees it at the uplink.
"""

from __future__ import annotations

import json
import shutil
import signal
import statistics
import subprocess
import time

import pytest
from asked import scenario
from tcon_lab.scenario import Path
from tcon_lab.topo import Lab

BASE_RTT_US = 20_000
SET_S, DEL_S, END_S = 4, 8, 11


@pytest.fixture(scope="module")
def rtts(tmp_path_factory):
    """(t_s, median path RTT in us) for each 100 ms of a flow that is switched twice."""
    if not shutil.which("tcon-probe"):
        pytest.fail("tcon-probe is not in the VM")
    folder = tmp_path_factory.mktemp("switch")
    with Lab(scenario(Path(100_000_000, BASE_RTT_US, 0.0, 1000))) as lab:
        probe = subprocess.Popen(
            ["tcon-probe", "--dev", "br0-up", "--interval-ms", "100", "--out", folder / "probe"]
        )
        server = lab.receiver(0).popen(["iperf3", "-s"], stdout=subprocess.DEVNULL)
        time.sleep(0.5)
        client = lab.sender(0).popen(
            ["iperf3", "-c", lab.receiver_address(0), "-t", str(END_S)], stdout=subprocess.DEVNULL
        )
        start_s = time.monotonic()
        time.sleep(SET_S)
        lab.br0.set_cc("all", "bbr")
        set_s = time.monotonic() - start_s
        time.sleep(start_s + DEL_S - time.monotonic())
        lab.br0.del_cc("all")
        del_s = time.monotonic() - start_s
        client.wait()
        server.kill()
        probe.send_signal(signal.SIGTERM)
        probe.wait()
    records = [json.loads(line) for line in (folder / "probe").read_text().splitlines()]
    return records, start_s, set_s, del_s


def series(records, start_s):
    """Intervals of the data connection, which is the one with most bytes."""
    offset_s = next(r for r in records if r["type"] == "start")["monotonic_s"] - start_s
    found = {}
    for record in records:
        if record["type"] == "flow" and record["rtt_us"]:
            key = (record["saddr"], record["sport"])
            found.setdefault(key, []).append((record["t_s"] + offset_s, record["rtt_us"]["p50"]))
    return max(found.values(), key=len)


def median_between(points, start_s, end_s):
    inside = [rtt for t, rtt in points if start_s <= t < end_s]
    assert inside, f"no RTT samples between {start_s} and {end_s} s"
    return statistics.median(inside)


def test_set_and_del_take_effect_in_time(rtts):
    records, start_s, set_s, del_s = rtts
    points = series(records, start_s)
    bloated_us = median_between(points, set_s - 1, set_s)
    assert bloated_us > 4 * BASE_RTT_US, "CUBIC alone fills the queue"
    limit_s = max(1.0, 3 * bloated_us / 1e6)
    after_us = median_between(points, set_s + limit_s, set_s + limit_s + 1)
    print(f"set-cc bbr: {bloated_us:.0f} us -> {after_us:.0f} us within {limit_s:.2f} s")
    assert after_us < 2 * BASE_RTT_US

    slim_us = median_between(points, del_s - 1, del_s)
    limit_s = max(1.0, 3 * slim_us / 1e6)
    again_us = median_between(points, del_s + limit_s, del_s + limit_s + 1)
    print(f"del-cc: {slim_us:.0f} us -> {again_us:.0f} us within {limit_s:.2f} s")
    assert again_us > 1.5 * slim_us
