# SPDX-License-Identifier: GPL-2.0-only
"""The rules that br0 gets for flows whose TCon is in VMs."""

import re
from pathlib import Path

from tcon_lab.placement import HYPERVISOR, ROUTER, VM, bridges, flows, ports

DOCUMENT = Path(__file__).parents[2] / "docs" / "placements.md"


def actions(rules: list[str]) -> dict[str, str]:
    """The rules' actions, by what a rule is for."""
    found = dict(rule.split(",actions=") for rule in rules)
    assert len(found) == len(rules)
    return found


def through(*members: str, table: int) -> str:
    """Past one of these ports."""
    choice = f"symmetric_l3l4,0,hrw,ofport,reg0[0..15],members:{','.join(members)}"
    return f"bundle_load({choice}),resubmit(,{table})"


def test_only_what_is_redirected_goes_through_the_vms() -> None:
    """Without any that is up, OFPP_NONE in reg0, the direct way is taken."""
    guests = [(f"br0-h{n}", f"02:00:00:00:00:0{n}", vms) for n, vms in ((1, 0), (2, 1), (3, 2))]
    assert actions(flows(guests)) == {
        "priority=1": "drop",
        "priority=9,in_port=br0-v1up": "output:br0-up",
        "priority=9,in_port=br0-v1in": "resubmit(,1)",
        "priority=9,in_port=br0-v2up": "output:br0-up",
        "priority=9,in_port=br0-v2in": "resubmit(,1)",
        "table=2,priority=9,reg0=0xffff/0xffff": "output:br0-up",
        "table=2,priority=1": "output:reg0[0..15]",
        "table=3,priority=9,reg0=0xffff/0xffff": "resubmit(,1)",
        "table=3,priority=1": "output:reg0[0..15]",
        "priority=9,in_port=br0-h1": "output:br0-up",
        "priority=9,in_port=br0-up,dl_dst=02:00:00:00:00:01": "resubmit(,1)",
        "table=1,dl_dst=02:00:00:00:00:01": "output:br0-h1",
        "priority=9,in_port=br0-h2": through("br0-v1in", table=2),
        "priority=9,in_port=br0-up,dl_dst=02:00:00:00:00:02": through("br0-v1up", table=3),
        "table=1,dl_dst=02:00:00:00:00:02": "output:br0-h2",
        "priority=9,in_port=br0-h3": through("br0-v1in", "br0-v2in", table=2),
        "priority=9,in_port=br0-up,dl_dst=02:00:00:00:00:03": through(
            "br0-v1up", "br0-v2up", table=3
        ),
        "table=1,dl_dst=02:00:00:00:00:03": "output:br0-h3",
    }


def test_the_bridges_of_each_placement() -> None:
    assert [bridges(where, 2) for where in (HYPERVISOR, VM, ROUTER)] == [
        ("br0",), ("brv1", "brv2"), ("brr",),
    ]  # fmt: skip
    assert ports("brv2") == ("brv2-in", "brv2-up")


def test_the_document_has_the_labs_rules() -> None:
    text = DOCUMENT.read_text()
    (choice,) = re.findall(r'past\(\) \{ echo "(.*)\$1\)"; \}', text)
    told = [
        re.sub(r"\$\(past ([^)]*)\)", rf"{choice}\1)", rule)
        for _, rule in re.findall(r"ovs-ofctl add-flow br0 (['\"])(.*)\1", text)
    ]
    (drop, *rest) = flows([("br0-h1", "$MAC", 1)])
    assert drop == "priority=1,actions=drop"
    assert sorted(told) == sorted(rest)
