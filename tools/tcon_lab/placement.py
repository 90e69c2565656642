# SPDX-License-Identifier: GPL-2.0-only
"""Where TCon stands on a flow's way (Zhang et al., 3.4).

* ``hypervisor``: on br0, to whose ports the guests are attached.
* ``vm``: in a virtual machine on Server 1, to which br0's OpenFlow rules redirect what the guest
  sends and what is sent to it.  The machine is a bridge of its own, brv::

      h1 -- br0 -(br0-vin)---(brv-in)- brv -(brv-up)---(br0-vup)- br0 -(br0-up)-- r1

* ``router``: on a switch that all of Server 1's traffic passes, brr::

      h1 -- br0 -(br0-up)---(brr-in)- brr -(brr-up)---(r1-up)- r1

Flows of one scenario may have different ones.

When the machine that TCon is in dies, its links go down, and br0 sends what was redirected the
direct way: its rules are fast-failover groups, which watch the ports.  A machine that hangs with
its links up is not found out so; for that there is BFD.
"""

from __future__ import annotations

from collections.abc import Iterable

HYPERVISOR, VM, ROUTER = "hypervisor", "vm", "router"
PLACEMENTS = (HYPERVISOR, VM, ROUTER)
#: TCon's bridge of each, and the port that its guests' packets come in by.
BRIDGES = {VM: "brv", ROUTER: "brr"}
#: br0's ports to the machine: guests' side, and network's side.
VM_PORTS = ("br0-vin", "br0-vup")
_TO_VM, _FROM_NETWORK, _TO_GUESTS = 1, 2, 1  # groups; a table


def ports(placement: str) -> tuple[str, str]:
    """Of TCon's bridge, where that is not br0: towards the guests, and towards the network."""
    return f"{BRIDGES[placement]}-in", f"{BRIDGES[placement]}-up"


def groups() -> list[str]:
    """br0's: each way through the machine, else the direct one."""
    to_vm, from_vm = VM_PORTS
    return [
        f"group_id={_TO_VM},type=ff,bucket=watch_port:{to_vm},output:{to_vm},"
        "bucket=watch_port:br0-up,output:br0-up",
        f"group_id={_FROM_NETWORK},type=ff,bucket=watch_port:{from_vm},output:{from_vm},"
        f"bucket=watch_port:br0-up,resubmit(,{_TO_GUESTS})",
    ]


def flows(guests: Iterable[tuple[str, str, str]]) -> list[str]:
    """br0's OpenFlow rules; of each guest the port, the address and its placement.

    Nothing is flooded: what is flooded through the machine would come back.
    """
    to_vm, from_vm = VM_PORTS
    found = [
        "priority=1,actions=drop",
        f"priority=9,in_port={from_vm},actions=output:br0-up",
        f"priority=9,in_port={to_vm},actions=resubmit(,{_TO_GUESTS})",
    ]
    for port, mac, placement in guests:
        redirected = placement == VM
        out = f"group:{_TO_VM}" if redirected else "output:br0-up"
        back = f"group:{_FROM_NETWORK}" if redirected else f"resubmit(,{_TO_GUESTS})"
        found += [
            f"priority=9,in_port={port},actions={out}",
            f"priority=9,in_port=br0-up,dl_dst={mac},actions={back}",
            f"table={_TO_GUESTS},dl_dst={mac},actions=output:{port}",
        ]
    return found
