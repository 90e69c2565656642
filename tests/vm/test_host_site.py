# SPDX-License-Identifier: GPL-2.0-only
"""`tcon-lab run --site=host`: a lab on a machine with TCon, which is then as it was."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import genl
from rig import run
from tcon_lab.scenario import Flow, Scenario
from tcon_lab.scenario import Path as LabPath

#: All of tcon_lab; what a lab's machine has of it is what runs there.
PACKAGE = Path("/lab/host")
#: Does what the command does, without its display; the probe is built already.
DRIVER = """
import json, sys
from pathlib import Path
from tcon_lab import lab, scenario
from tcon_lab.machine import products
from tcon_lab.numbers import results
products.build_probe = lambda: Path("/usr/bin/tcon-probe")
try:
    asked = scenario.from_json(sys.argv[1])
    raw = [lab.run_on_host(asked, mode, lambda label, line: None) for mode in asked.modes]
except lab.LabError as error:
    sys.exit(f"error: {error}")
print(json.dumps(results.results_from_raw(raw)))
"""
SCENARIO = Scenario(
    "host", 3.0, ("native", "enforced"), 1, LabPath(20_000_000, 20_000, 0.002, 67),
    (Flow(1, "reno", "cubic", "cubic"),),
)  # fmt: skip


def lab() -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", DRIVER, SCENARIO.to_json()],
        env=os.environ | {"PYTHONPATH": str(PACKAGE)},
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip


def machine() -> dict[str, Any]:
    """All that a lab adds to: interfaces, namespaces, bridges, queues, processes, settings."""
    names = [Path(f"/proc/{pid}/comm") for pid in os.listdir("/proc") if pid.isdigit()]
    seen = {name.read_text().strip() for name in names if name.exists()}
    return {
        "links": sorted(link["ifname"] for link in json.loads(run("ip", "-j", "link"))),
        "namespaces": run("ip", "netns"),
        "bridges": run("ovs-vsctl", "list-br"),
        "queues": run("tc", "qdisc", "show", "dev", "lo"),
        "processes": sorted(name for name in seen if not name.startswith("kworker")),
        "allowed": Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control").read_text(),
    }


def test_a_run_leaves_the_machine_as_it_was(tcon: genl.Genl) -> None:
    before = machine()
    made = lab()
    assert not made.returncode, made.stderr
    native, enforced = json.loads(made.stdout)["runs"]
    for found in (native, enforced):
        (flow,) = found["flows"]
        assert 5e6 < flow["goodput_bps"] < 20e6
        assert 20_000 <= flow["rtt_us"]["p50"] < 70_000
        assert flow["error"] is None
        assert found["warnings"] == []
        assert found["instructions_per_byte"] is None
    (flow,) = enforced["flows"]
    assert (flow["guest_cc"], flow["cc"], flow["state"]) == ("reno", "cubic", "repair-enforced")
    assert flow["tcon_retransmits"] > flow["guest_retransmits"] == 0
    assert native["flows"][0]["guest_retransmits"]
    assert machine() == before
    assert not list(tcon.rules())


def test_what_is_there_already_is_not_replaced() -> None:
    run("ovs-vsctl", "add-br", "br0")
    try:
        before = machine()
        refused = lab()
        assert refused.returncode == 1
        assert refused.stderr.startswith("error: ")
        assert "br0" in refused.stderr
        assert machine() == before
    finally:
        run("ovs-vsctl", "del-br", "br0")
