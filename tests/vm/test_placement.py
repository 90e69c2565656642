# SPDX-License-Identifier: GPL-2.0-only
"""TCon in VMs that flows are redirected to, and on a router: the lab's placements."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path as FilePath

import pytest
from asked import CUBIC, scenario
from rig import poll
from tcon_lab import placement, transfer
from tcon_lab.placement import HYPERVISOR, ROUTER, VM
from tcon_lab.scenario import Path
from tcon_lab.topo import Lab, run_in

PATH = Path(20_000_000, 20_000, 0.0, 100)
FLOW = replace(CUBIC, enforce="bbr")
#: Connections that share two machines.  The peer's ports are these, all of them: drawn ones would
#: all have one machine once in 128 times.
CONNECTIONS = 8
PORTS = (40000, 40000 + CONNECTIONS - 1)
ENFORCED = "repair-enforced"
MID_STREAM = "mid-stream"
ADOPT_S = FilePath("/sys/module/tcon/parameters/adopt_s")


class Transfer:
    """A transfer of some bytes over each of some connections at once; making it starts it."""

    def __init__(
        self, lab: Lab, index: int, size_bytes: int, connections: int = 1, port: int = 7000
    ) -> None:
        sender, script = lab.sender(index), ["python3", transfer.__file__]
        self._server = sender.popen([*script, "serve", str(port)])
        poll(lambda: f":{port}" in run_in(sender, "ss -Hltn"), "the guest listens", 20)
        self._least_s = connections * size_bytes * 8 / PATH.rate_bps
        words = [lab.sender_address(index), port, size_bytes, 1, 0, 1, connections, 0]
        self._client = lab.receiver(index).popen([*script, "fetch", *map(str, words)])

    def finish(self, timeout_s: float = 40) -> float:
        """Wait until all is there; what it took, as a multiple of what the rate alone takes."""
        out, err = self._client.communicate(timeout=timeout_s)
        self._server.kill()
        self._server.wait(timeout_s)
        assert self._client.returncode == 0, out + err
        return float(json.loads(out)["seconds"]) / self._least_s


def told(lab: Lab, bridge: str, port: int = 7000) -> dict[int, str]:
    """The state of each connection to this port of the guest's, by the peer's: enforced, or else
    why a TCon does not enforce it.
    """
    return {
        flow["tp_dst"]: ENFORCED if flow["state"] == ENFORCED else flow["reason"]
        for flow in lab.tcons[bridge].tcon_flows()["flows"]
        if flow["tp_src"] == port
    }


def shared(lab: Lab, port: int = 7000) -> dict[str, set[int]]:
    """The connections of each machine, when each is enforced in one."""

    def all_are() -> dict[str, set[int]]:
        both = {bridge: told(lab, bridge, port) for bridge in lab.tcons}
        states = [state for found in both.values() for state in found.values()]
        done = states == [ENFORCED] * CONNECTIONS
        return {bridge: set(found) for bridge, found in both.items()} if done else {}

    return poll(all_are, "each connection is enforced in one machine", 20)


@contextlib.contextmanager
def lab_of(*placements: str, ipv6: bool = False, tcon_vms: int = 1) -> Iterator[Lab]:
    asked = (replace(FLOW, placement=where, ipv6=ipv6, tcon_vms=tcon_vms) for where in placements)
    with Lab(scenario(PATH, *asked)) as lab:
        for index in range(len(placements)):
            words = "{} {}".format(*PORTS)
            run_in(lab.receiver(index), f"echo {words} >/proc/sys/net/ipv4/ip_local_port_range")
        yield lab


@pytest.mark.parametrize("ipv6", [False, True])
def test_each_placement_enforces(ipv6: bool) -> None:
    """Each guest of one server has its TCon elsewhere; none of these sees another's flows."""
    with lab_of(HYPERVISOR, VM, ROUTER, ipv6=ipv6) as lab:
        transfers = []
        for index in range(3):
            lab.enforce(index, "bbr")
            transfers.append(Transfer(lab, index, 3_000_000))

        def enforced() -> dict[str, set[str]]:
            found = {name: bridge.tcon_flows()["flows"] for name, bridge in lab.tcons.items()}
            return {
                name: {flow["src"] for flow in flows if flow["state"] == ENFORCED}
                for name, flows in found.items()
            }

        bridges = ("br0", "brv1", "brr")
        wanted = {name: {lab.sender_address(index)} for index, name in enumerate(bridges)}
        poll(lambda: enforced() == wanted, "each is enforced where it is to be", 20)
        for each in transfers:
            each.finish()


def test_all_vms_die() -> None:
    """Redirected flows go the direct way, with no CC enforced; later through them again."""
    with lab_of(VM, tcon_vms=2) as lab:
        lab.enforce(0, "bbr")
        running = Transfer(lab, 0, 1_500_000, CONNECTIONS)
        shared(lab)
        for bridge in lab.tcons:
            lab.set_tcon_vm(bridge, up=False)
        assert running.finish() < 1.4
        for bridge in lab.tcons:
            lab.set_tcon_vm(bridge, up=True)
        later = Transfer(lab, 0, 400_000, CONNECTIONS, 7001)
        shared(lab, 7001)
        later.finish()


@pytest.mark.parametrize("ipv6", [False, True])
def test_vms_share_the_load(ipv6: bool) -> None:
    """A connection has both directions in one of them, which enforces it, and is fast as native."""
    with lab_of(VM, ipv6=ipv6, tcon_vms=2) as lab:
        native = Transfer(lab, 0, 1_000_000, CONNECTIONS).finish()
        lab.enforce(0, "cubic")
        running = Transfer(lab, 0, 1_000_000, CONNECTIONS, 7001)
        assert all(shared(lab, 7001).values())
        assert running.finish() == pytest.approx(native, rel=0.1)


@contextlib.contextmanager
def adopting(seconds: str) -> Iterator[None]:
    """Set how long TCon believes a guest that its connections are older than their port."""
    before = ADOPT_S.read_text()
    ADOPT_S.write_text(seconds)
    try:
        yield
    finally:
        ADOPT_S.write_text(before)


@pytest.mark.parametrize(
    ("dead", "adopt_s", "reason"), [("brv1", "60", MID_STREAM), ("brv2", "0", "hidden")]
)
def test_one_of_the_vms_dies(dead: str, adopt_s: str, reason: str) -> None:
    """The other has its connections then, and says that it has not seen them begin.

    It enforces its own as before, and new ones.  When the first is back it has its share again.
    """
    with adopting(adopt_s), lab_of(VM, tcon_vms=2) as lab:
        lab.enforce(0, "bbr")
        running = Transfer(lab, 0, 1_500_000, CONNECTIONS)
        of = shared(lab)
        (left,) = set(lab.tcons) - {dead}
        lab.set_tcon_vm(dead, up=False)
        wanted = dict.fromkeys(of[left], ENFORCED) | dict.fromkeys(of[dead], reason)
        poll(lambda: told(lab, left) == wanted, "the other has all of them", 20)
        later = Transfer(lab, 0, 500_000, CONNECTIONS, 7001)
        new = [ENFORCED] * CONNECTIONS
        poll(lambda: [*told(lab, left, 7001).values()] == new, "new ones are enforced", 20)
        assert told(lab, left) == wanted
        lab.set_tcon_vm(dead, up=True)
        # Both together take 4 and 1.33 times what the rate alone takes for each; what the dead one
        # had in flight is lost, and a connection that has waited for that twice is the last.
        assert running.finish() < 2
        assert later.finish() < 5
        last = Transfer(lab, 0, 500_000, CONNECTIONS, 7002)
        assert all(shared(lab, 7002).values())
        last.finish()


def test_fragments_of_two_addresses_have_one_vm() -> None:
    """They have no ports to look at."""
    with lab_of(VM, tcon_vms=2) as lab:

        def way(tp_src: int, frag: str) -> str:
            flow = f"tcp,nw_src=10.1.0.1,nw_dst=10.2.0.1,tp_src={tp_src},tp_dst=80,nw_frag={frag}"
            words = f"ovs-appctl ofproto/trace br0 in_port=br0-h1,{flow}"
            return run_in(lab.br0, words).splitlines()[-1]

        assert len({way(port, "no") for port in range(CONNECTIONS)}) == 2
        assert len({way(port, f) for port in range(CONNECTIONS) for f in ("first", "later")}) == 1


def bfd_is_up(lab: Lab, ports: tuple[str, ...]) -> bool:
    """Whether each of them has heard that the other end hears it: only then BFD is as quick as it
    has been told to be.
    """
    words = "ovs-vsctl --bare --columns=bfd_status list Interface"
    told = run_in(lab.br0, f"{words} {' '.join(ports)}")
    return told.count("remote_state=up") == len(ports)


def test_bfd_finds_a_vm_that_hangs() -> None:
    """Its links stay up, and nothing passes: soon the other has its connections."""
    with lab_of(VM, tcon_vms=2) as lab:
        of_br0 = {bridge: placement.vm_ports(bridge) for bridge in lab.tcons}
        links = {bridge: ports + placement.ports(bridge) for bridge, ports in of_br0.items()}
        for port in links["brv1"] + links["brv2"]:
            words = "bfd:enable=true bfd:min_rx=100 bfd:min_tx=100"
            run_in(lab.br0, f"ovs-vsctl set Interface {port} {words}")
        poll(lambda: bfd_is_up(lab, links["brv1"] + links["brv2"]), "BFD is up", 20)
        lab.enforce(0, "bbr")
        running = Transfer(lab, 0, 1_500_000, CONNECTIONS)
        of = shared(lab)
        for port in links["brv1"]:
            run_in(lab.br0, f"tc qdisc add dev {port} root netem loss 100%")
        hung_s = time.monotonic()
        wanted = dict.fromkeys(of["brv2"], ENFORCED) | dict.fromkeys(of["brv1"], MID_STREAM)
        poll(lambda: told(lab, "brv2") == wanted, "the other has all of them", 20)
        found_ms = (time.monotonic() - hung_s) * 1000
        print(f"left after {found_ms:.0f} ms")
        # BFD takes 300 ms; then each connection is there when its sender's time-out, which
        # doubles, has it send again.
        assert found_ms < 1500
        assert running.finish() < 1.4
