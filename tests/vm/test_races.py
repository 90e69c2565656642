# SPDX-License-Identifier: GPL-2.0-only
"""Everything at once on all CPUs, for make check-races, where KCSAN is the judge.

The kernel's log says what is wrong (conftest.py).
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
import rig as rigs
from asked import CUBIC, scenario
from chaos import LONGEST, Chaos
from tcon_lab.aqm import Aqm
from tcon_lab.scenario import Flow
from tcon_lab.scenario import Path as LabPath
from tcon_lab.topo import Lab, run_in

pytestmark = pytest.mark.skipif(os.cpu_count() == 1, reason="needs two CPUs")

#: Packets are lost, and where the queue has ten, marked.
PATH = LabPath(10**9, 4000, 0.003, 400, aqm=Aqm("step", max_packets=10))
CUBIC6 = Flow(1, "cubic", "cubic", None, ipv6=True)
#: What TCon must have done to guests with a TCP stack, at least so often.
ENOUGH = {
    "window-written": 500,
    "held": 100,
    "released": 100,
    "repair-sent": 10,
    "ack-hidden": 10,
    "ect-set": 100,
    "ece-hidden": 1,
    "rule-moved": 10,
}
#: The same of crafted segments.
ENOUGH_CRAFTED = {"window-written": 100, "held": 10, "released": 10, "repair-sent": 1}


def serve(lab: Lab, index: int, *ports: int) -> None:
    """Servers of s(index + 1), ready."""
    for port in ports:
        lab.receiver(index).popen(["iperf3", "-s", "-p", str(port)], stdout=subprocess.DEVNULL)
    wanted = {str(port) for port in ports}
    rigs.poll(
        lambda: wanted <= set(re.findall(r":(\d+) ", run_in(lab.receiver(index), "ss -Hltn"))),
        f"servers of s{index + 1} listen",
        20,
    )


def start_client(lab: Lab, index: int, port: int, *options: str) -> subprocess.Popen[bytes]:
    """A client of h(index + 1), for the longest run."""
    address = lab.receiver_address(index)
    command = ["iperf3", "-c", address, "-p", str(port), "-t", str(LONGEST), *options]
    process: subprocess.Popen[bytes] = lab.sender(index).popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    return process


def test_everything_at_once_with_guests():
    with Lab(scenario(PATH, CUBIC, CUBIC, CUBIC6, CUBIC)) as lab:
        lab.start_aqm()
        for index in range(4):
            serve(lab, index, 5201, 5202, 5203)
        chaos = Chaos("br0", lab.sender_port(0), lab.sender_port(3), ENOUGH)

        def connections(number: int) -> None:
            """Short ones, which come and go."""
            address = lab.receiver_address(1)
            run_in(lab.sender(1), f"iperf3 -c {address} -p 5203 -n 200K --connect-timeout 3000")

        chaos.acts[connections] = 0.1
        clients = [
            start_client(lab, index, port, "-P", "2", *options)
            for index in range(4)
            for port, options in ((5201, ()), (5202, ("-R",)))
        ]
        chaos.run()
        for client in clients:
            client.kill()
        chaos.nothing_is_left()
        chaos.check()


def torture_bridge(rig: rigs.Rig) -> None:
    """Two guests' ports and an uplink, whose far ends are the module's."""
    rig.bridge("br0")
    for near, far in (("p0", "g0"), ("p1", "g1"), ("up0", "w0")):
        rigs.ip(f"link add {near} type veth peer name {far}")
        rig.devices.append(near)
        rigs.quiet_up(near)
        rigs.quiet_up(far)
        rig.port("br0", near, "UPLINK" if near == "up0" else "AUTO")
    rig.flows(
        "br0",
        "priority=1,actions=output:3",
        "priority=2,ip,in_port=3,nw_dst=10.99.1.1,actions=output:1",
        "priority=2,ip,in_port=3,nw_dst=10.99.1.2,actions=output:2",
    )


def counts() -> dict[str, int]:
    """The module's counts of what it has done."""
    names = ("guests-sent", "peer-heard", "peer-sent", "guests-heard", "connections", "broken")
    text = Path("/sys/module/tcon_torture/parameters/counts").read_text()
    return dict(zip(names, map(int, text.split()), strict=True))


def torture(rig: rigs.Rig, only: tuple[str, ...]) -> None:
    """Crafted segments, and the named acts of the chaos, or all."""
    torture_bridge(rig)
    chaos = Chaos("br0", "p0", "p1", ENOUGH_CRAFTED)
    if only:
        chaos.acts = {act: s for act, s in chaos.acts.items() if act.__name__ in only}
    rigs.run("insmod", "/lab/torture/tcon_torture.ko", "guests=g0,g1", "peer=w0")
    try:
        chaos.run()
        done = counts()
    finally:
        rigs.run("rmmod", "tcon_torture")
    print(done)
    chaos.nothing_is_left()
    assert done["broken"] == 0
    assert done["connections"] >= 10
    assert min(done["peer-heard"], done["guests-heard"]) >= 1000
    chaos.check()


def test_everything_at_once_with_crafted_segments(rig):
    torture(rig, ())


def test_crafted_segments_alone(rig):
    """Most for the datapath itself, which then has the CPUs for itself."""
    torture(rig, ("dumps",))
