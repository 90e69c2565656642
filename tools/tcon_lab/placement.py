# SPDX-License-Identifier: GPL-2.0-only
"""Where TCon stands on a flow's way (Zhang et al., 3.4).

* ``hypervisor``: on br0, to whose ports the guests are attached.
* ``vm``: in a virtual machine on Server 1, to which br0's OpenFlow rules redirect packets from and
  to the guest.  The machine is a bridge of its own, brv1::

      h1 -- br0 -(br0-v1in)---(brv1-in)- brv1 -(brv1-up)---(br0-v1up)- br0 -(br0-up)-- r1

  Several, brv1 to brvN, share a guest's connections: a hash of addresses and TCP ports, which is
  the same for both directions of a connection, says which of them it goes through.
* ``router``: on a switch that all of Server 1's traffic passes, brr::

      h1 -- br0 -(br0-up)---(brr-in)- brr -(brr-up)---(r1-up)- r1

Flows of one scenario may have different ones.

When a machine that TCon is in dies, its links go down, and br0 moves its flows to another one, or,
where none is left, to the direct way.  Flows through others stay with them: of the machines whose
ports are up a connection takes the one with the highest of the hashes that it has with each
(highest random weight).  A machine that hangs with its links up is found out by BFD.
"""

from __future__ import annotations

from collections.abc import Iterable

HYPERVISOR, VM, ROUTER = "hypervisor", "vm", "router"
PLACEMENTS = (HYPERVISOR, VM, ROUTER)
ROUTER_BRIDGE = "brr"
#: Most machines that share redirected connections.
MAX_VMS = 8
_TO_GUESTS, _TO_VM, _FROM_NETWORK = 1, 2, 3  # tables
_CHOSEN = "reg0[0..15]"
_NONE_IS_UP = "reg0=0xffff/0xffff"


def vm_bridges(vms: int) -> tuple[str, ...]:
    """TCon's bridges, in ``vms`` machines."""
    return tuple(f"brv{number}" for number in range(1, vms + 1))


def bridges(placement: str, vms: int) -> tuple[str, ...]:
    """The bridges that TCon is on; ``vms``: number of machines, if any."""
    return {HYPERVISOR: ("br0",), ROUTER: (ROUTER_BRIDGE,)}.get(placement) or vm_bridges(vms)


def ports(bridge: str) -> tuple[str, str]:
    """Of TCon's bridge, where that is not br0: towards the guests, and towards the network."""
    return f"{bridge}-in", f"{bridge}-up"


def vm_ports(bridge: str) -> tuple[str, str]:
    """br0's to a machine: the guests' side, and the network's."""
    number = bridge.removeprefix("brv")
    return f"br0-v{number}in", f"br0-v{number}up"


def _choose(side: int, vms: int, table: int) -> str:
    """A machine that is up, the same for both directions of a connection; then on in a table.

    Not by symmetric_l4, which looks at Ethernet addresses too: where routers share an address
    (VRRP) what they send comes from another one than is sent to.
    """
    members = ",".join(vm_ports(bridge)[side] for bridge in vm_bridges(vms))
    choice = f"symmetric_l3l4,0,hrw,ofport,{_CHOSEN},members:{members}"
    return f"bundle_load({choice}),resubmit(,{table})"


def flows(guests: Iterable[tuple[str, str, int]]) -> list[str]:
    """br0's OpenFlow rules; of each guest the port, the address and how many machines share what
    is redirected of it, from the first on; 0: nothing is.

    Nothing is flooded: a frame flooded through a machine would come back.
    """
    guests = list(guests)
    found = ["priority=1,actions=drop"]
    for bridge in vm_bridges(max(vms for _, _, vms in guests)):
        inside, outside = vm_ports(bridge)
        found += [
            f"priority=9,in_port={outside},actions=output:br0-up",
            f"priority=9,in_port={inside},actions=resubmit(,{_TO_GUESTS})",
        ]
    for table, direct in ((_TO_VM, "output:br0-up"), (_FROM_NETWORK, f"resubmit(,{_TO_GUESTS})")):
        found += [
            f"table={table},priority=9,{_NONE_IS_UP},actions={direct}",
            f"table={table},priority=1,actions=output:{_CHOSEN}",
        ]
    for port, mac, vms in guests:
        out = _choose(0, vms, _TO_VM) if vms else "output:br0-up"
        back = _choose(1, vms, _FROM_NETWORK) if vms else f"resubmit(,{_TO_GUESTS})"
        found += [
            f"priority=9,in_port={port},actions={out}",
            f"priority=9,in_port=br0-up,dl_dst={mac},actions={back}",
            f"table={_TO_GUESTS},dl_dst={mac},actions=output:{port}",
        ]
    return found
