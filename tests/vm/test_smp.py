# SPDX-License-Identifier: GPL-2.0-only
"""Races between CPUs: everything changes at once while flows run both ways.

Needs two CPUs and so real time; nothing here is about speed.  The kernel's log
is what judges (conftest.py), and that nothing stays held.
"""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
import rig as rigs
from asked import CUBIC, scenario
from tcon_lab.scenario import Path as LabPath
from tcon_lab.topo import Lab

pytestmark = pytest.mark.skipif(os.cpu_count() == 1, reason="needs two CPUs")

SECONDS = 24
PATH = LabPath(10**9, 4000, 0.003, 1000)


def iperf3(lab, index, port, *options):
    """A client of h(index + 1) towards its server; reverse with -R."""
    lab.receiver(index).popen(["iperf3", "-s", "-p", str(port)], stdout=subprocess.DEVNULL)
    command = ["iperf3", "-c", lab.receiver_address(index), "-p", str(port), "-P", "4", *options]
    time.sleep(0.5)
    return lab.sender(index).popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def finish(client):
    """It ends in time and well.  Where it does not, the log says what the CPUs do."""
    try:
        out = client.communicate(timeout=120)[0].decode()
    except subprocess.TimeoutExpired:
        for what in "lt":
            Path("/proc/sysrq-trigger").write_text(what)
        client.kill()
        raise
    assert client.returncode == 0, out


def disturb(lab, round_number):
    """One round: rules, CC modules and tcon.ko change under traffic."""
    for cc in ("cubic", "bbr", "none", "bbr"):
        lab.br0.set_cc("all", cc)
        time.sleep(0.2)
        lab.br0.tcon_flows()
    rigs.run("rmmod", "tcon_bbr")
    time.sleep(0.2)
    rigs.run("modprobe", "tcon_bbr")
    time.sleep(0.3)
    if round_number % 2:
        rigs.run("rmmod", *rigs.CCS, "tcon")
        rigs.load_all()
    client = iperf3(lab, 1, 5300 + round_number, "-t", "1")
    finish(client)


def test_everything_changes_under_traffic():
    with Lab(scenario(PATH, CUBIC, CUBIC)) as lab:
        lab.br0.set_cc("all", "bbr")
        clients = [
            iperf3(lab, 0, 5201, "-t", str(SECONDS)),
            iperf3(lab, 0, 5202, "-t", str(SECONDS), "-R"),
        ]
        end, number = time.monotonic() + SECONDS - 4, 0
        while time.monotonic() < end:
            disturb(lab, number)
            number += 1
        for client in clients:
            finish(client)
        assert number >= 2
        # A guest's port goes while its packets are held.
        last = iperf3(lab, 1, 5299, "-t", "4")
        time.sleep(2)
        rigs.run("ovs-vsctl", "del-port", lab.sender_port(1))
        last.kill()
        rigs.poll(lambda: rigs.genl.Genl().info("HELD_BYTES") == 0, "nothing is held any more")


def test_clock():
    """A busy host measures the TSC's rate wrongly: this machine does not go by it."""
    clock = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    assert clock.read_text().strip() != "tsc"
