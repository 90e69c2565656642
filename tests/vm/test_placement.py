# SPDX-License-Identifier: GPL-2.0-only
"""TCon in a VM that flows are redirected to, and on a router: the lab's placements."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from asked import CUBIC, scenario
from rig import poll
from tcon_lab.placement import HYPERVISOR, ROUTER, VM
from tcon_lab.scenario import Path
from tcon_lab.topo import Lab, run_in

PATH = Path(20_000_000, 20_000, 0.0, 100)
FLOW = replace(CUBIC, enforce="bbr")


class Transfer:
    """It runs from its making on."""

    def __init__(self, lab: Lab, index: int, size: str) -> None:
        receiver = lab.receiver(index)
        self._server = receiver.popen(["iperf3", "-s", "-1"])
        poll(lambda: "5201" in run_in(receiver, "ss -Hltn"), "the server listens", 20)
        words = ["-c", lab.receiver_address(index), "-n", size]
        self._client = lab.sender(index).popen(["iperf3", *words])

    def finish(self, timeout_s: float = 30) -> None:
        """Wait until it is complete."""
        out, err = self._client.communicate(timeout=timeout_s)
        assert self._client.returncode == 0, out + err
        self._server.wait(timeout_s)


def enforced(lab: Lab, where: str) -> set[str]:
    """Whose flows a placement's TCon repairs."""
    found = lab.tcons[where].tcon_flows()["flows"]
    return {flow["src"] for flow in found if flow["state"] == "repair-enforced"}


@contextlib.contextmanager
def lab_of(*placements: str, ipv6: bool = False) -> Iterator[Lab]:
    flows = (replace(FLOW, placement=where, ipv6=ipv6) for where in placements)
    with Lab(scenario(PATH, *flows)) as lab:
        for index in range(len(placements)):
            lab.enforce(index, "bbr")
        yield lab


@pytest.mark.parametrize("ipv6", [False, True])
def test_each_placement_enforces(ipv6: bool) -> None:
    """Of one server's guests each has its TCon elsewhere; none of them sees another's flows."""
    placements = (HYPERVISOR, VM, ROUTER)
    with lab_of(*placements, ipv6=ipv6) as lab:
        transfers = [Transfer(lab, index, "3M") for index in range(len(placements))]
        wanted = {where: {lab.sender_address(n)} for n, where in enumerate(placements)}
        poll(lambda: {where: enforced(lab, where) for where in placements} == wanted, "flows", 20)
        for transfer in transfers:
            transfer.finish()


def test_the_vm_dies() -> None:
    """What was redirected goes the direct way, with no CC enforced; later through it again."""
    with lab_of(VM) as lab:
        transfer = Transfer(lab, 0, "10M")
        poll(lambda: enforced(lab, VM), "the flow is enforced", 20)
        lab.set_tcon_vm(up=False)
        began_s = time.monotonic()
        transfer.finish()
        # 10 MB at 20 Mbit/s are 4.2 s
        assert time.monotonic() - began_s < 8
        lab.set_tcon_vm(up=True)
        transfer = Transfer(lab, 0, "3M")
        poll(lambda: enforced(lab, VM), "the next flow is enforced", 20)
        transfer.finish()
