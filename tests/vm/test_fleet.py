# SPDX-License-Identifier: GPL-2.0-only
"""Rules from another database: other_config:tcon-fleet, as an operator sees it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import rig as rigs
from centre import Centre
from rig import poll
from tcon_lab.errors import LabError
from tcon_lab.ovs import appctl, vsctl
from test_ovsdb import becomes, config, flow, restart_all, rules, status_of

_numbers = itertools.count()


@pytest.fixture(autouse=True)
def bridge(rig: rigs.Rig) -> Iterator[None]:
    """br0 with a guest's port p1."""
    rig.namespace("g")
    rig.veth("p1", "p1-e", "g")
    rig.bridge("br0")
    vsctl("add-port", "br0", "p1")
    yield
    vsctl("clear", "Open_vSwitch", ".", "other_config")


@pytest.fixture
def centre() -> Iterator[Centre]:
    """One that this host does not follow yet, with its record."""
    made = Centre(Path(f"/tmp/centre-{next(_numbers)}"), 1)
    made.vsctl("init")
    yield made
    made.close()


def follow(remote: str) -> None:
    vsctl("set", "Open_vSwitch", ".", f'other_config:tcon-fleet="{remote}"')


def are_rules(*wanted: str) -> None:
    poll(lambda: rules() == list(wanted), f"the rules are {wanted}: {rules()}", 10, 0.1)


def test_rules_of_all_and_of_a_bridge_are_followed(centre: Centre) -> None:
    centre.vsctl("set", "Open_vSwitch", ".", 'other_config:tcon-rule-wan="flow=all bbr"',
                 "other_config:another=1",
                 "--", "add-br", "br0",
                 "--", "set", "Bridge", "br0", 'other_config:tcon-rule-web="flow=tp_dst=80 cubic"',
                 "--", "add-br", "br9",
                 "--", "set", "Bridge", "br9", 'other_config:tcon-rule-x="flow=all reno"',
                 )  # fmt: skip
    follow(centre.remotes)
    are_rules(flow("tp_dst=80 cubic"), flow("all bbr"))
    becomes("applied: .*all bbr", "tcon_global_rule_fleet.wan")
    becomes("applied: .*cubic", "tcon_rule_fleet.web")
    becomes(f"applied: rules come from {centre.remotes}", "tcon_global_fleet")
    # One transaction is one change, and a rule that is gone there goes here.
    centre.vsctl("remove", "Bridge", "br0", "other_config", "tcon-rule-web",
                 "--", "set", "Open_vSwitch", ".", 'other_config:tcon-rule-wan="flow=all vegas"',
                 )  # fmt: skip
    are_rules(flow("all vegas"))
    # A copy that somebody has written over is put right.
    vsctl("set", "Open_vSwitch", ".", 'other_config:tcon-rule-fleet.wan="flow=all reno"',
          'other_config:tcon-rule-fleet.mine="flow=tp_dst=1 reno"')  # fmt: skip
    are_rules(flow("all vegas"))
    assert "tcon-rule-fleet.mine" not in config("Open_vSwitch", ".")
    # Without the key there are no rules of the fleet.
    vsctl("remove", "Open_vSwitch", ".", "other_config", "tcon-fleet")
    are_rules()
    assert config("Open_vSwitch", ".") == {}


def test_a_host_keeps_its_rules_without_the_centre(centre: Centre) -> None:
    """Also over a reboot; changes in between come when the centre does."""
    centre.vsctl("set", "Open_vSwitch", ".", 'other_config:tcon-rule-wan="flow=all bbr"')
    follow(centre.remotes)
    are_rules(flow("all bbr"))
    (member,) = centre.members
    member.kill()
    becomes("waiting: no member of the database answers.*stay", "tcon_global_fleet")
    assert "no member of the database answers" in appctl("tcon/show", "br0")
    restart_all()
    are_rules(flow("all bbr"))
    becomes("waiting: no member .*", "tcon_global_fleet")
    member.start()
    becomes("applied: .*", "tcon_global_fleet")
    centre.vsctl("set", "Open_vSwitch", ".", 'other_config:tcon-rule-wan="flow=all cubic"')
    are_rules(flow("all cubic"))


def test_an_empty_database_changes_nothing(centre: Centre) -> None:
    """Its operator has not begun, and does not want that there are no rules."""
    centre.vsctl("set", "Open_vSwitch", ".", 'other_config:tcon-rule-wan="flow=all bbr"')
    follow(centre.remotes)
    are_rules(flow("all bbr"))
    centre.vsctl("emer-reset", "--", "destroy", "Open_vSwitch", ".")
    becomes("waiting: .* no record yet: ovs-vsctl --db=tcp.* --no-wait init", "tcon_global_fleet")
    assert rules() == [flow("all bbr")]


@pytest.mark.parametrize(
    ("remote", "why"),
    [
        ("udp:10.0.0.1:1", "'udp:10.0.0.1:1' is no address: .*"),
        ("tcp:127.0.0.1:6641,ptcp:1", "'ptcp:1' is no address: .*"),
        ("", "it names no database"),
    ],
)
def test_a_wrong_address_is_refused(centre: Centre, remote: str, why: str) -> None:
    """The last rules stay."""
    centre.vsctl("set", "Open_vSwitch", ".", 'other_config:tcon-rule-wan="flow=all bbr"')
    follow(centre.remotes)
    are_rules(flow("all bbr"))
    follow(remote)
    becomes(f"refused: {why}", "tcon_global_fleet")
    assert "tcon-fleet" in appctl("tcon/show", "br0")
    assert rules() == [flow("all bbr")]


def test_a_wrong_rule_is_refused_by_its_name(centre: Centre) -> None:
    centre.vsctl("set", "Open_vSwitch", ".", 'other_config:tcon-rule-wan="flow=all bbr"')
    follow(centre.remotes)
    are_rules(flow("all bbr"))
    centre.vsctl("set", "Open_vSwitch", ".", 'other_config:tcon-rule-wan="flow=all bogus"')
    becomes("refused: there is no CC 'bogus'.*the last good one stays: .*all bbr",
            "tcon_global_rule_fleet.wan")  # fmt: skip
    assert rules() == [flow("all bbr")]


def test_commands_leave_the_fleets_rules(centre: Centre) -> None:
    """set-cc puts a newer one beside; del-cc says where to remove one."""
    centre.vsctl("add-br", "br0", "--", "set", "Bridge", "br0",
                 'other_config:tcon-rule-wan="flow=all bbr"')  # fmt: skip
    follow(centre.remotes)
    are_rules(flow("all bbr"))
    why = (
        "tcon-rule-fleet.wan of Bridge br0 comes from the fleet's database; "
        "remove tcon-rule-wan there"
    )
    for place in ((), ("flow=all",)):
        with pytest.raises(LabError, match=re.escape(why)):
            appctl("tcon/del-cc", "br0", *place)
    appctl("tcon/set-cc", "br0", "flow=all", "reno")
    are_rules(flow("all reno"))
    becomes("hidden: by tcon-rule-1 .*|hidden: by tcon-rule-.* of Bridge br0",
            "tcon_rule_fleet.wan")  # fmt: skip
    appctl("tcon/del-cc", "br0", "flow=all")
    are_rules(flow("all bbr"))
    assert status_of("tcon_rule_fleet.wan").startswith("applied")
