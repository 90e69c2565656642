# SPDX-License-Identifier: GPL-2.0-only
"""What br0 is told to do with flows whose TCon is in a VM."""

from tcon_lab.placement import HYPERVISOR, VM, flows, groups, ports


def actions(rules: list[str]) -> dict[str, str]:
    """By what a rule is for."""
    return dict(rule.split(",actions=") for rule in rules)


def test_only_what_is_redirected_goes_through_the_vm() -> None:
    guests = [("br0-h1", "02:00:00:00:00:01", HYPERVISOR), ("br0-h2", "02:00:00:00:00:02", VM)]
    assert actions(flows(guests)) == {
        "priority=1": "drop",
        "priority=9,in_port=br0-vup": "output:br0-up",
        "priority=9,in_port=br0-vin": "resubmit(,1)",
        "priority=9,in_port=br0-h1": "output:br0-up",
        "priority=9,in_port=br0-up,dl_dst=02:00:00:00:00:01": "resubmit(,1)",
        "table=1,dl_dst=02:00:00:00:00:01": "output:br0-h1",
        "priority=9,in_port=br0-h2": "group:1",
        "priority=9,in_port=br0-up,dl_dst=02:00:00:00:00:02": "group:2",
        "table=1,dl_dst=02:00:00:00:00:02": "output:br0-h2",
    }


def test_the_direct_way_is_second() -> None:
    """Of each group the first bucket whose port is up is taken."""
    assert [group.split("bucket=") for group in groups()] == [
        ["group_id=1,type=ff,", "watch_port:br0-vin,output:br0-vin,",
         "watch_port:br0-up,output:br0-up"],
        ["group_id=2,type=ff,", "watch_port:br0-vup,output:br0-vup,",
         "watch_port:br0-up,resubmit(,1)"],
    ]  # fmt: skip
    assert ports(VM) == ("brv-in", "brv-up")
