# SPDX-License-Identifier: GPL-2.0-only
"""Rules in OVSDB: other_config:tcon-rule-NAME of Open_vSwitch, Bridge and Interface.

All is asked as an operator would: ovs-vsctl writes and reads, tcon/show says what is in
the kernel.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import rig as rigs
import wire
from rig import poll
from tcon_lab import ovs
from tcon_lab.errors import LabError
from tcon_lab.ovs import appctl, vsctl


@pytest.fixture(autouse=True)
def bridge(rig: rigs.Rig) -> Iterator[None]:
    """br0 with guests' ports p1 and p2; what a test wrote for all bridges goes."""
    rig.namespace("g")
    for port in ("p1", "p2"):
        rig.veth(port, f"{port}-e", "g")
    rig.bridge("br0")
    for port in ("p1", "p2"):
        vsctl("add-port", "br0", port)
    yield
    vsctl("clear", "Open_vSwitch", ".", "other_config")


def rules(bridge: str = "br0") -> list[str]:
    """The kernel's rules, in the order in which they are tried."""
    (shown,) = json.loads(appctl("tcon/show", "-j", bridge))["bridges"]
    return [rule["rule"] for rule in shown["rules"] if rule["in_kernel"]]


def flow(rest: str, priority: int = 32768) -> str:
    return f"flow=priority={priority},{rest}"


def config(table: str = "Bridge", record: str = "br0", column: str = "other_config",
           ) -> dict[str, str]:  # fmt: skip
    """The keys of TCon in a column of a record."""
    text = vsctl("--format=json", "--columns", column, "list", table, record)
    pairs = json.loads(text)["data"][0][0][1]
    return {key: value for key, value in pairs if key.startswith("tcon")}


def status_of(key: str, table: str = "Bridge", record: str = "br0") -> str:
    return config(table, record, "status").get(key, "")


def becomes(wanted: str, key: str, table: str = "Bridge", record: str = "br0") -> None:
    """The status is written behind the transaction that ovs-vsctl waits for."""
    told = ""

    def is_told() -> bool:
        nonlocal told
        told = status_of(key, table, record)
        return bool(re.fullmatch(wanted, told))

    with contextlib.suppress(AssertionError):
        poll(is_told, "", 10, 0.1)
    assert re.fullmatch(wanted, told), f"{key} is {told}"


def reload_tcon() -> None:
    rigs.run("rmmod", *rigs.CCS, "tcon")
    rigs.load_all()


def restart_vswitchd() -> None:
    ovs.stop("ovs-vswitchd")
    ovs.start_vswitchd()


def restart_all() -> None:
    """A reboot: only the database's file is left."""
    ovs.stop("ovs-vswitchd")
    ovs.stop("ovsdb-server")
    rigs.run("rmmod", *rigs.CCS, "tcon")
    ovs.start_ovsdb()
    ovs.start_vswitchd()
    rigs.load_all()


def start_database() -> None:
    """Start it again, and wait until ovs-vswitchd has it.

    That pauses before it connects again, 8 s at most, and may not sleep in that time: it looks
    again at things once it has the database.  So it is stopped until then.
    """
    ovs.start_ovsdb()
    pid = int(Path("/run/openvswitch/ovs-vswitchd.pid").read_text())
    os.kill(pid, signal.SIGSTOP)
    time.sleep(8)
    os.kill(pid, signal.SIGCONT)
    vsctl("set", "Bridge", "br0", "external_ids:back=yes")


def test_commands_write_there() -> None:
    appctl("tcon/set-cc", "br0", "flow=tcp,tp_dst=80", "cubic", "beta=0.8", "ecn=on")
    appctl("tcon/set-cc", "br0", "flow=in_port=p1", "bbr")
    first = flow("tp_dst=80 cubic beta=0.8 ecn=on").replace("tp_dst", "tcp,tp_dst")
    second = flow("in_port=p1 bbr")
    assert list(config().values()) == [first, second]
    one, two = config()
    assert re.fullmatch(r"tcon-rule-\d+", one)
    becomes(re.escape(f"applied: {first}"), one.replace("tcon-rule-", "tcon_rule_"))
    # The same again is no change; another CC is a newer rule.
    appctl("tcon/set-cc", "br0", "flow=in_port=p1", "bbr")
    assert list(config()) == [one, two]
    appctl("tcon/set-cc", "br0", "flow=tcp,tp_dst=80", "reno")
    assert list(config().values()) == [second, flow("tcp,tp_dst=80 reno")]
    assert rules() == [flow("tcp,tp_dst=80 reno"), second]
    appctl("tcon/del-cc", "br0", "flow=in_port=p1")
    assert (rules(), len(config())) == ([flow("tcp,tp_dst=80 reno")], 1)
    appctl("tcon/del-cc", "br0")
    assert (rules(), config()) == ([], {})


def test_a_wrong_role_is_told() -> None:
    """Where rules that are wrong are: in the status, and by tcon/show."""
    complaint = 'refused: neither "guest" nor "uplink"'
    vsctl("set", "Interface", "p1", "other_config:tcon-role=uplnik")
    becomes(complaint, "tcon_role", "Interface", "p1")
    shown = appctl("tcon/show", "br0")
    assert f"    tcon-role of Interface p1 is {complaint}\n" in shown
    vsctl("set", "Interface", "p1", "other_config:tcon-role=uplink")
    becomes("applied: uplink", "tcon_role", "Interface", "p1")
    assert "in OVSDB, but not as it says there" not in appctl("tcon/show", "br0")
    vsctl("set", "Interface", "br0", "other_config:tcon-role=guest")
    becomes("refused: an internal, tunnel or patch port is never a guest's", "tcon_role",
            "Interface", "br0")  # fmt: skip
    for port in ("p1", "br0"):
        vsctl("remove", "Interface", port, "other_config", "tcon-role")
    appctl("tcon/del-cc", "br0")  # roles are no rules
    poll(lambda: not status_of("tcon_role", "Interface", "p1"), "nothing is told of what is gone")


@pytest.mark.parametrize("match", [
    "tcp6,ipv6_dst=2001:db8::/32", "tp_dst=0x50/0xfff0", "in_port=p1,dl_vlan=7",
    "dl_src=52:54:00:00:00:01,pkt_mark=0x5",
    "tcp,dl_src=52:54:00:00:00:00/ff:ff:ff:00:00:00,pkt_mark=0x10/0xf0",
])  # fmt: skip
def test_a_match_is_read_back_as_it_was_written(match: str) -> None:
    appctl("tcon/set-cc", "br0", f"flow={match}", "bbr")
    assert rules() == [flow(f"{match} bbr")]
    appctl("tcon/del-cc", "br0", f"flow={match}")
    assert rules() == []


def test_trace_looks_at_address_and_mark() -> None:
    appctl("tcon/set-cc", "br0", "flow=dl_src=52:54:00:00:00:01,pkt_mark=5", "bbr")
    mac = "in_port=p1,tcp,dl_src=52:54:00:00:00:01"
    assert appctl("tcon/trace", "br0", f"{mac},pkt_mark=5").endswith("result: cc bbr\n")
    assert ": no, pkt_mark differs\n" in appctl("tcon/trace", "br0", f"{mac},pkt_mark=6")
    assert appctl("tcon/trace", "br0", mac).endswith(
        "result: it depends on pkt_mark: cc bbr or none\n"
    )
    with pytest.raises(LabError, match="one flow has whole addresses, ports and marks"):
        appctl("tcon/trace", "br0", f"{mac},pkt_mark=1/1")


def test_as_the_pages_say() -> None:
    """The shell takes the quotes away."""
    rigs.run("sh", "-c", 'ovs-vsctl set Bridge br0 '
             'other_config:tcon-rule-wan="flow=tcp,nw_dst=10.0.0.0/8 bbr"')  # fmt: skip
    assert rules() == [flow("tcp,nw_dst=10.0.0.0/8 bbr")]


def test_every_record_applies_at_once() -> None:
    """At equal priority the nearer record's rule is tried first; in a record the later name."""
    vsctl("set", "Bridge", "br0", 'other_config:tcon-rule-b="flow=tcp,nw_dst=10.0.0.0/8 cubic"')
    assert rules() == [flow("tcp,nw_dst=10.0.0.0/8 cubic")]
    vsctl("set", "Open_vSwitch", ".", 'other_config:tcon-rule-all="flow=all bbr"',
          "--", "set", "Interface", "p1", 'other_config:tcon-rule-x="flow=all reno"',
          'other_config:tcon-rule-y="flow=tp_dst=22,priority=40000 none"')  # fmt: skip
    assert rules() == [
        flow("in_port=p1,tp_dst=22 none", 40000), flow("in_port=p1 reno"),
        flow("tcp,nw_dst=10.0.0.0/8 cubic"), flow("all bbr"),
    ]  # fmt: skip
    becomes("applied: .*in_port=p1 reno", "tcon_rule_x", "Interface", "p1")
    becomes("applied: .*all bbr", "tcon_global_rule_all")
    assert "driver_name" in vsctl("get", "Interface", "p1", "status")
    assert "in_port=p1 reno; flows: 0; of Interface p1; since 2" in appctl("tcon/show", "br0")
    vsctl("set", "Bridge", "br0", 'other_config:tcon-rule-a="flow=tp_dst=1 vegas"')
    assert rules()[2:] == [
        flow("tcp,nw_dst=10.0.0.0/8 cubic"), flow("tp_dst=1 vegas"), flow("all bbr"),
    ]  # fmt: skip
    # A rule of set-cc is newer than the named ones; a name stays where it is.
    appctl("tcon/set-cc", "br0", "flow=tp_dst=2", "ctcp")
    appctl("tcon/set-cc", "br0", "flow=tp_dst=1", "reno")
    assert rules()[2:5] == [
        flow("tp_dst=2 ctcp"), flow("tcp,nw_dst=10.0.0.0/8 cubic"), flow("tp_dst=1 reno"),
    ]  # fmt: skip
    assert config()["tcon-rule-a"] == flow("tp_dst=1 reno")
    # In an Interface the port is implied, when a command writes there, too.
    appctl("tcon/set-cc", "br0", "flow=in_port=p1", "cubic", "beta=0.8")
    assert config("Interface", "p1")["tcon-rule-x"] == flow("all cubic beta=0.8")
    vsctl("remove", "Interface", "p1", "other_config", "tcon-rule-x")
    vsctl("del-port", "br0", "p1", "--", "remove", "Bridge", "br0", "other_config", "tcon-rule-a")
    assert rules() == [
        flow("tp_dst=2 ctcp"), flow("tcp,nw_dst=10.0.0.0/8 cubic"), flow("all bbr"),
    ]  # fmt: skip


def test_a_new_bridge_has_the_rules_of_all(rig: rigs.Rig) -> None:
    vsctl("set", "Open_vSwitch", ".", 'other_config:tcon-rule-a="flow=all bbr"')
    rig.bridge("br7")
    assert rules("br7") == [flow("all bbr")]
    with pytest.raises(LabError, match="other_config:tcon-rule-a of Open_vSwitch is for all br"):
        appctl("tcon/del-cc", "br7")
    appctl("tcon/set-cc", "br7", "flow=all", "reno")
    assert (rules(), rules("br7")) == ([flow("all bbr")], [flow("all reno")])
    becomes(r"hidden: by tcon-rule-\d+ of Bridge br7", "tcon_global_rule_a", record="br7")
    appctl("tcon/del-cc", "br7", "flow=all")
    poll(lambda: rules("br7") == [flow("all bbr")], "the rule of all bridges is back", 5, 0.1)
    vsctl("del-br", "br7")
    vsctl("clear", "Open_vSwitch", ".", "other_config")
    assert rules() == []


@pytest.mark.parametrize(("key", "value", "complaint"), [
    ("tcon-rule-web", "flow=tcp,tp_dts=80 bbr", "unknown field 'tp_dts'"),
    ("tcon-rule-web", "tcp,tp_dst=80 bbr", "'tcp,tp_dst=80' is not flow=MATCH"),
    ("tcon-rule-web", "flow=tcp,tp_dst=80", "no CC follows flow=MATCH"),
    ("tcon-rule-web", "flow=tcp,tp_dst=80 bbrr", "there is no CC 'bbrr'"),
    ("tcon-rule-web", "flow=tcp,tp_dst=80 cubic beta=9", "beta=9 is out of range"),
    ("tcon-rule-web", "flow=tcp cubic" + " beta=0.5" * 30, "the rule has too many words"),
    ("tcon-rule-web", "flow=in_port=3 bbr", "in_port: OVSDB takes the port's name only"),
    ("tcon-rule-a/b", "flow=all bbr", "the name behind tcon-rule- must be of letters"),
    ("tcon-rules", "flow=all bbr", "no such key: there is tcon-rule-NAME"),
])  # fmt: skip
def test_a_malformed_entry_is_refused_by_name(key: str, value: str, complaint: str) -> None:
    """In the status and in tcon/show; the last good one stays."""
    good = flow("tp_dst=80 cubic beta=0.8")
    quoted = key if re.fullmatch("[a-z-]+", key) else f'"{key}"'
    told = "tcon_" + key.removeprefix("tcon-").replace("rule-", "rule_", 1)
    stays = ""
    if key == "tcon-rule-web":
        vsctl("set", "Bridge", "br0", f'other_config:{key}="{good}"')
        stays = f"; the last good one stays: {good}"
    before = rules()
    vsctl("set", "Bridge", "br0", f'other_config:{quoted}="{value}"')
    assert rules() == before
    becomes(f"refused: {re.escape(complaint)}.*{re.escape(stays)}", told)
    shown = appctl("tcon/show", "br0")
    assert f"    {key} of Bridge br0 is refused: {complaint}" in shown
    vsctl("set", "Bridge", "br0", f'other_config:{quoted}="flow=tp_dst=81 reno"')
    if stays:
        assert rules() == [flow("tp_dst=81 reno")]
        becomes("applied: .*", told)
    vsctl("remove", "Bridge", "br0", "other_config", quoted)
    poll(lambda: not status_of(told), "nothing is told of what is gone")
    assert rules() == []


@pytest.mark.parametrize(("table", "record", "value", "complaint"), [
    ("Open_vSwitch", ".", "flow=in_port=p1 bbr", "in_port: the rule is for all bridges"),
    ("Interface", "p1", "flow=in_port=p1 bbr", "in_port: it is the Interface's own"),
    ("Interface", "p1", "flow=iface-id=a bbr", "iface-id: the rule is for the Interface"),
    ("Interface", "br0", "flow=all bbr", "an internal, tunnel or patch port is never a guest's"),
])  # fmt: skip
def test_a_rule_in_the_wrong_record(table: str, record: str, value: str, complaint: str) -> None:
    vsctl("set", table, record, f'other_config:tcon-rule-a="{value}"')
    where = (table, record) if table == "Interface" else ("Bridge", "br0")
    key = "tcon_rule_a" if table == "Interface" else "tcon_global_rule_a"
    becomes(f"refused: {complaint}.*", key, *where)
    assert rules() == []


def test_an_iface_id_is_followed(rig: rigs.Rig) -> None:
    """It stays with the guest, whatever the port is called; tcon.ko decides by it, too."""

    def obeys(port: str) -> str | None:
        """The CC of the rule that the port's one flow has in tcon.ko, and as tcon/trace says."""
        flows = json.loads(appctl("tcon/flows", "-j", "br0", f"flow=in_port={port}"))["flows"]
        rule = "reno" if flows[0].get("priority") == 5 else None
        traced = json.loads(appctl("tcon/trace", "-j", "br0", f"in_port={port},tcp"))["cc"]
        return rule if traced == (rule or "none") else f"{rule}, {traced}"

    for port in ("p1", "p2"):
        segment = wire.Segment("10.9.0.1", "10.9.0.2", 999, 80, flags=wire.ACK, payload=b"x")
        end = rigs.RawEnd(f"{port}-e", "g")
        end.send(segment.frame())
        end.close()
    vsctl("set", "Interface", "p1", "external_ids:iface-id=web-0.default")
    poll(lambda: ", iface-id web-0.default; flows: 1" in appctl("tcon/show", "br0"), "it is known")
    appctl("tcon/set-cc", "br0", "flow=iface-id=web-0.default,priority=5", "reno")
    assert rules() == [flow("iface-id=web-0.default reno", 5)]
    poll(lambda: (obeys("p1"), obeys("p2")) == ("reno", None), "p1 obeys")
    traced = appctl("tcon/trace", "br0", "iface-id=web-0.default,tcp")
    assert "flow tcp,in_port=p1,iface-id=web-0.default\n" in traced
    # A writer to the database need not ask ovs-vswitchd to look at it.
    vsctl("--no-wait", "remove", "Interface", "p1", "external_ids", "iface-id",
          "--", "set", "Interface", "p2", "external_ids:iface-id=web-0.default")  # fmt: skip
    poll(lambda: (obeys("p1"), obeys("p2")) == (None, "reno"), "p2 obeys")
    selected = json.loads(appctl("tcon/flows", "-j", "br0", "flow=iface-id=web-0.default"))["flows"]
    assert [one["port"] for one in selected] == ["p2"]
    reload_tcon()
    poll(lambda: "iface-id web-0.default" in appctl("tcon/show", "br0"), "it is told again")
    assert rules() == [flow("iface-id=web-0.default reno", 5)]
    appctl("tcon/del-cc", "br0", "flow=iface-id=web-0.default,priority=5")
    # A rule of all bridges may have it: only one of them has the guest.
    vsctl("set", "Open_vSwitch", ".", 'other_config:tcon-rule-a="flow=iface-id=web-0.default bbr"')
    assert rules() == [flow("iface-id=web-0.default bbr")]
    for words, complaint in (
        (("set-cc", "br0", "flow=iface-id=nobody", "bbr"), "bridge br0 has no such port"),
        (("flows", "br0", "flow=iface-id=nobody"), "bridge br0 has no such port"),
        (("trace", "br0", "iface-id=nobody,tcp"), "bridge br0 has no port with iface-id nobody"),
    ):
        with pytest.raises(LabError, match=complaint):
            appctl(f"tcon/{words[0]}", *words[1:])
    assert rules() == [flow("iface-id=web-0.default bbr")]


def test_a_bridge_in_user_space(rig: rigs.Rig) -> None:
    rig.bridge("br8")
    vsctl("set", "Bridge", "br8", "datapath_type=netdev",
          'other_config:tcon-rule-a="flow=all bbr"')  # fmt: skip
    becomes("refused: the bridge has a userspace datapath: .*", "tcon_rule_a", record="br8")
    vsctl("set", "Bridge", "br8", "datapath_type=system")
    becomes("applied: .*", "tcon_rule_a", record="br8")
    assert rules("br8") == [flow("all bbr")]


def test_a_port_that_becomes_a_guests() -> None:
    """Its rules were refused while it was none."""
    vsctl("set", "Interface", "p1", 'other_config:tcon-rule-a="flow=all bbr"')
    becomes("applied: .*", "tcon_rule_a", "Interface", "p1")
    vsctl("set", "Interface", "p1", "type=patch", "options:peer=nobody")
    becomes("refused: an internal, tunnel or patch port is never a guest's", "tcon_rule_a",
            "Interface", "p1")  # fmt: skip
    assert rules() == []
    vsctl("set", "Interface", "p1", "type=system", "--", "clear", "Interface", "p1", "options")
    becomes("applied: .*", "tcon_rule_a", "Interface", "p1")
    assert rules() == [flow("in_port=p1 bbr")]


#: Programs and modules that may go away, by what comes back.
GOINGS: dict[str, Callable[[], None]] = {
    "vswitchd": restart_vswitchd, "tcon": reload_tcon, "all": restart_all,
}  # fmt: skip


@pytest.mark.parametrize("order", [
    *itertools.permutations(("vswitchd", "tcon")), ("all",), ("all", "tcon", "vswitchd"),
], ids="-".join)  # fmt: skip
def test_rules_outlive_everything(order: tuple[str, ...]) -> None:
    """With their order; volatile ones stay only until ovs-vswitchd goes."""
    for dst, cc in ((1, "cubic"), (2, "bbr"), (3, "reno"), (1, "vegas")):
        appctl("tcon/set-cc", "br0", f"flow=tp_dst={dst}", cc)
    vsctl("set", "Interface", "p2", 'other_config:tcon-rule-q="flow=all ctcp"')
    lasting = rules()
    assert [rule.rsplit(" ")[-1] for rule in lasting] == ["ctcp", "vegas", "reno", "bbr"]
    appctl("tcon/set-cc", "--volatile", "br0", "flow=tp_dst=9", "bbr")
    assert rules() == [flow("tp_dst=9 bbr"), *lasting]
    assert "tp_dst=9 bbr; flows: 0; volatile; since 2" in appctl("tcon/show", "br0")
    assert "tp_dst=9" not in str(config())
    expected = [flow("tp_dst=9 bbr"), *lasting]
    for what in order:
        GOINGS[what]()
        if what != "tcon":
            expected = lasting
        poll(lambda now=expected: rules() == now, f"the rules are back behind {what}", 20, 0.2)


def in_utc(seconds: float) -> str:
    """The date this many seconds from now."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))


def test_rules_end_by_themselves() -> None:
    """At the time that OVSDB has, also behind a restart; the key that set-cc wrote goes, too."""
    appctl("tcon/set-cc", "br0", "flow=tp_dst=1", "bbr", "for=6s")
    appctl("tcon/set-cc", "br0", "flow=tp_dst=2", "reno")
    appctl("tcon/set-cc", "--volatile", "br0", "flow=tp_dst=3", "none", "for=2s")
    vsctl("set", "Bridge", "br0",
          f'other_config:tcon-rule-web="flow=tp_dst=4 cubic until={in_utc(6)}"')  # fmt: skip
    until = next(iter(config().values())).removeprefix(flow("tp_dst=1 bbr until="))
    assert in_utc(0) < until <= in_utc(6)
    assert len(rules()) == 4
    assert rules()[2] == flow(f"tp_dst=1 bbr until={until}")
    poll(lambda: len(rules()) == 3, "the volatile rule has ended", 10, 0.1)
    restart_vswitchd()
    assert rules()[1] == flow(f"tp_dst=1 bbr until={until}")
    poll(lambda: rules() == [flow("tp_dst=2 reno")], "both have ended", 15, 0.1)
    assert until <= in_utc(0)
    becomes("ended: .*tp_dst=4 cubic until=.*", "tcon_rule_web")
    poll(lambda: sorted(config().values())[0] == flow("tp_dst=2 reno"), "its key has gone", 5)
    assert "tcon-rule-web of Bridge br0 is ended: " in appctl("tcon/show", "br0")
    # Another date is no new rule, and is kept.
    for words in (["for=1h"], [], ["for=2d"]):
        appctl("tcon/set-cc", "br0", "flow=tp_dst=2", "reno", *words)
        (found,) = rules()
        assert ("until=" in found) == bool(words)
        assert found in config().values()
    for words, complaint in (
        (["until=tomorrow"], "until=tomorrow: not a date and time in UTC"),
        (["until=2020-01-01T00:00Z"], "until=2020-01-01T00:00:00Z: that is past"),
        (["for=0h"], "for=0h: not a time from 1s to 366d"),
        (["for=1h", "until=2099-01-01T00:00Z"], "until= and for= cannot both be given"),
    ):
        with pytest.raises(LabError, match=re.escape(complaint)):
            appctl("tcon/set-cc", "br0", "flow=tp_dst=2", "bbr", *words)
        assert rules() == [found]
    vsctl("set", "Bridge", "br0", 'other_config:tcon-rule-web="flow=tp_dst=4 cubic for=1h"')
    becomes("refused: for=: OVSDB does not know since when; write until=DATE.*", "tcon_rule_web")


def test_what_changes_while_nobody_listens() -> None:
    """A rule that is removed from OVSDB in that time goes from tcon.ko, too."""
    for dst in (1, 2, 3):
        appctl("tcon/set-cc", "br0", f"flow=tp_dst={dst}", "bbr")
    one, two, _ = config()
    ovs.stop("ovs-vswitchd")
    vsctl("--no-wait", "remove", "Bridge", "br0", "other_config", one, "--", "set", "Bridge", "br0",
          f'other_config:{two}="flow=tp_dst=2 reno"',
          'other_config:tcon-rule-0="flow=tp_dst=4 cubic"')  # fmt: skip
    ovs.start_vswitchd()
    assert rules() == [flow("tp_dst=3 bbr"), flow("tp_dst=2 reno"), flow("tp_dst=4 cubic")]


def test_entries_that_wait_for_tcon() -> None:
    rigs.run("rmmod", *rigs.CCS, "tcon")
    vsctl("set", "Bridge", "br0", 'other_config:tcon-rule-a="flow=all bbr"')
    becomes(r"waiting: tcon\.ko is not loaded .*", "tcon_rule_a")
    rigs.load_all()
    becomes("applied: .*", "tcon_rule_a")
    assert rules() == [flow("all bbr")]
    rigs.run("rmmod", *rigs.CCS, "tcon")
    becomes(r"waiting: tcon\.ko is not loaded .*", "tcon_rule_a")
    rigs.load_all()
    becomes("applied: .*", "tcon_rule_a")


def test_rates_are_of_one_tcon() -> None:
    """A daemon that began later than tcon.ko has counters of it that are older than the next one's
    soon are.
    """
    reload_tcon()
    time.sleep(3)
    restart_vswitchd()
    reload_tcon()
    shown = {"age_ms": 0}

    def is_old_enough() -> bool:
        shown.update(json.loads(appctl("tcon/show", "-j")))
        return shown["age_ms"] > 5500

    poll(is_old_enough, "tcon.ko is older than the last one was", 20, 0.2)
    assert 0 <= shown["age_ms"] - shown["rate_over_ms"] < 2000


def test_volatile_rules_hide_those_below() -> None:
    appctl("tcon/set-cc", "br0", "flow=all", "bbr")
    (key,) = config()
    appctl("tcon/set-cc", "--volatile", "br0", "flow=all", "reno")
    assert rules() == [flow("all reno")]
    becomes("hidden: by a command", key.replace("tcon-rule-", "tcon_rule_"))
    assert config() == {key: flow("all bbr")}
    appctl("tcon/set-cc", "br0", "flow=all", "reno")  # and now for good
    assert list(config().values()) == [flow("all reno")]
    restart_vswitchd()
    assert rules() == [flow("all reno")]


def test_a_database_that_does_not_answer() -> None:
    """The command says so, and nothing is changed."""
    # Where its statistics are due, a vswitchd without a database does not sleep.
    vsctl("set", "Open_vSwitch", ".", "other_config:stats-update-interval=600000")
    time.sleep(0.1)
    appctl("tcon/set-cc", "br0", "flow=all", "bbr")
    appctl("tcon/set-cc", "--volatile", "br0", "flow=tp_dst=8", "vegas")
    before = config()
    ovs.stop("ovsdb-server")
    for words in (
        ("set-cc", "br0", "flow=all", "reno"),
        ("set-cc", "br0", "flow=tp_dst=8", "reno"),
        ("del-cc", "br0"),
        ("del-cc", "br0", "flow=all"),
    ):
        with pytest.raises(LabError, match="OVSDB does not take the change"):
            appctl(f"tcon/{words[0]}", *words[1:])
        assert rules() == [flow("tp_dst=8 vegas"), flow("all bbr")], words
    appctl("tcon/set-cc", "br0", "flow=all", "bbr")  # it has that
    appctl("tcon/del-cc", "br0", "flow=tp_dst=8")  # and never had this
    appctl("tcon/set-cc", "--volatile", "br0", "flow=tp_dst=9", "cubic")
    assert rules() == [flow("tp_dst=9 cubic"), flow("all bbr")]
    start_database()
    assert config() == before
    assert rules() == [flow("tp_dst=9 cubic"), flow("all bbr")]
    appctl("tcon/del-cc", "br0", "flow=tp_dst=9")


@contextlib.contextmanager
def slow_database() -> Iterator[None]:
    """During the block it answers nobody, but keeps its connections."""
    pid = int(Path("/run/openvswitch/ovsdb-server.pid").read_text())
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


Command = subprocess.Popen[str]


def begin(*words: str) -> Command:
    """A command that goes on; it has reached the daemon, which waits for the database."""
    command = subprocess.Popen(
        ["ovs-appctl", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    time.sleep(0.5)
    assert command.poll() is None, command.communicate()
    return command


def ends(*commands: Command) -> None:
    for command in commands:
        _, complaint = command.communicate(timeout=20)
        assert command.returncode == 0, complaint


def test_a_volatile_rule_stays_whatever_becomes_of_one_that_is_being_written() -> None:
    with slow_database():
        first = begin("tcon/set-cc", "br0", "flow=all", "bbr")
        assert rules() == [flow("all bbr")]
        appctl("tcon/set-cc", "--volatile", "br0", "flow=all", "reno")
    ends(first)
    (key,) = config()
    assert config() == {key: flow("all bbr")}
    becomes("hidden: by a command", key.replace("tcon-rule-", "tcon_rule_"))
    assert rules() == [flow("all reno")]
    appctl("tcon/del-cc", "br0")
    with slow_database():
        first = begin("tcon/set-cc", "br0", "flow=all", "bbr")
        appctl("tcon/set-cc", "--volatile", "br0", "flow=all", "bbr")
    ends(first)
    becomes("applied: .*", next(iter(config())).replace("tcon-rule-", "tcon_rule_"))
    appctl("tcon/del-cc", "br0")


@pytest.mark.parametrize(("volatile", "left"), [("bbr", "bbr"), ("reno", "reno"), (None, None)])
def test_a_rule_goes_that_the_database_does_not_take(
    volatile: str | None, left: str | None
) -> None:
    """Not one that is volatile, even if it says the same."""
    with slow_database():
        first = begin("tcon/set-cc", "br0", "flow=all", "bbr")
        if volatile:
            appctl("tcon/set-cc", "--volatile", "br0", "flow=all", volatile)
        ovs.stop("ovsdb-server")
    _, complaint = first.communicate(timeout=20)
    assert first.returncode == 2
    assert "OVSDB does not take the change" in complaint
    expected = [flow(f"all {left}")] if left else []
    assert rules() == expected
    start_database()
    assert (rules(), config()) == (expected, {})
    appctl("tcon/del-cc", "br0")


def test_a_volatile_rule_comes_back_if_the_database_does_not_take_another() -> None:
    """A command that fails has changed nothing."""
    appctl("tcon/set-cc", "--volatile", "br0", "flow=all", "vegas")
    with slow_database():
        first = begin("tcon/set-cc", "br0", "flow=all", "bbr")
        assert rules() == [flow("all bbr")]
        ovs.stop("ovsdb-server")
    _, complaint = first.communicate(timeout=20)
    assert first.returncode == 2
    assert "OVSDB does not take the change" in complaint
    assert rules() == [flow("all vegas")]
    start_database()
    assert (rules(), config()) == ([flow("all vegas")], {})
    appctl("tcon/del-cc", "br0")


def written() -> int:
    """How many transactions TCon has begun."""
    return int(appctl("coverage/read-counter", "tcon_ovsdb_write"))


def test_a_database_that_takes_nothing_is_not_asked_all_the_time() -> None:
    """A rule has ended, and its key cannot be removed: the database is another's backup now."""
    # Where its statistics are due, a vswitchd without a database does not sleep.
    vsctl("set", "Open_vSwitch", ".", "other_config:stats-update-interval=600000")
    time.sleep(0.1)
    appctl("tcon/set-cc", "br0", "flow=all", "bbr", f"until={in_utc(3)}")
    before = written()
    server = ("-t", "ovsdb-server")
    appctl(*server, "ovsdb-server/set-active-ovsdb-server", "unix:/run/nobody")
    appctl(*server, "ovsdb-server/connect-active-ovsdb-server")
    try:
        time.sleep(4)
        assert rules() == []
        tried = written()
        assert tried > before
        time.sleep(2)
        assert written() <= tried + 1
    finally:
        appctl(*server, "ovsdb-server/disconnect-active-ovsdb-server")
    poll(lambda: config() == {}, "the key is removed", 20)


def test_commands_for_one_rule_are_carried_out_in_their_order() -> None:
    """A command that is given again while the first still waits is no second rule."""
    twice = ("tcon/set-cc", "br0", "flow=tp_dst=1", "bbr")
    with slow_database():
        commands = [
            begin(*twice), begin(*twice),
            begin("tcon/set-cc", "br0", "flow=tp_dst=2", "bbr"),
            begin("tcon/set-cc", "br0", "flow=tp_dst=2", "reno"),
            begin("tcon/set-cc", "br0", "flow=tp_dst=3", "bbr"),
            begin("tcon/del-cc", "br0", "flow=tp_dst=3"),
        ]  # fmt: skip
    ends(*commands)
    assert sorted(config().values()) == [flow("tp_dst=1 bbr"), flow("tp_dst=2 reno")]
    assert sorted(rules()) == [flow("tp_dst=1 bbr"), flow("tp_dst=2 reno")]
    with slow_database():
        commands = [
            begin("tcon/del-cc", "br0", "flow=tp_dst=1"),
            begin("tcon/set-cc", "br0", "flow=tp_dst=1", "cubic"),
            begin("tcon/del-cc", "br0"),
            begin("tcon/set-cc", "br0", "flow=tp_dst=4", "bbr"),
        ]
    ends(*commands)
    assert (rules(), [*config().values()]) == ([flow("tp_dst=4 bbr")],) * 2


def test_a_volatile_rule_outlives_the_one_that_it_hides() -> None:
    appctl("tcon/set-cc", "br0", "flow=all", "bbr", "for=4s")
    appctl("tcon/set-cc", "--volatile", "br0", "flow=all", "bbr")
    poll(lambda: config() == {}, "the first one has ended", 15, 0.1)
    time.sleep(1)
    assert rules() == [flow("all bbr")]
    appctl("tcon/del-cc", "br0")


def test_numbers_of_any_size_are_names() -> None:
    """The rule of the last set-cc is the newest, also behind the largest number of 64 bits."""
    for largest in (2**63 - 1, 2**64 - 1, 10**40):
        vsctl("set", "Bridge", "br0", f'other_config:tcon-rule-{largest}="flow=tp_dst=1 bbr"')
        for n in (1, 2):
            appctl("tcon/set-cc", "br0", f"flow=tp_dst={n + 1}", "reno")
            assert rules()[0] == flow(f"tp_dst={n + 1} reno")
            assert f"tcon-rule-{largest + n}" in config()
        appctl("tcon/set-cc", "br0", "flow=tp_dst=1", "cubic")
        assert (rules()[0], len(config())) == (flow("tp_dst=1 cubic"), 3)
        appctl("tcon/del-cc", "br0")
    last = f"tcon-rule-{'9' * 63}"
    vsctl("set", "Bridge", "br0", f'other_config:{last}="flow=tp_dst=1 bbr"')
    with pytest.raises(LabError, match=f"no number is left behind {last} of Bridge br0"):
        appctl("tcon/set-cc", "br0", "flow=tp_dst=2", "reno")
    assert (rules(), [*config()]) == ([flow("tp_dst=1 bbr")], [last])
    appctl("tcon/del-cc", "br0")


def test_many_rules() -> None:
    """2000 in one transaction, and a change among them."""
    start_s = time.monotonic()
    keys = [f'other_config:tcon-rule-{n}="flow=tp_dst={n} bbr"' for n in range(1, 2001)]
    vsctl("set", "Bridge", "br0", *keys)
    set_s = time.monotonic() - start_s
    assert len(rules()) == 2000
    start_s = time.monotonic()
    appctl("tcon/set-cc", "br0", "flow=tp_dst=7", "cubic")
    print(f"2000 rules: {set_s:.2f} s; one more: {time.monotonic() - start_s:.3f} s")
    assert rules()[0] == flow("tp_dst=7 cubic")
    appctl("tcon/del-cc", "br0")
    assert (rules(), config()) == ([], {})
