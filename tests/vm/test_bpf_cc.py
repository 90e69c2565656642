# SPDX-License-Identifier: GPL-2.0-only
"""A CC that BPF registers, run by TCon: it gets no socket, and comes and goes.

Not on User-Mode Linux, which has no compiler for BPF.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import rig as rigs
from hosts import MEGA, Net, assert_enforced
from rig import poll, run, state
from tcon_lab.ovs import appctl

PROGRAM = "/lab/bpfcc/bpfcc.o"
CC = "linux:bpfcc"


def available() -> list[str]:
    return Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()


def register() -> None:
    run("bpftool", "struct_ops", "register", PROGRAM)
    assert "bpfcc" in available()


def unregister() -> None:
    run("bpftool", "struct_ops", "unregister", "name", "bpfcc")
    assert "bpfcc" not in available()


def counts() -> list[dict[str, int]]:
    """The program's counts, for each version that still exists."""
    found = []
    for one in json.loads(run("bpftool", "-j", "map", "show")):
        if not one.get("name", "").endswith(".bss"):
            continue
        # It may go before the dump.
        if text := run("bpftool", "map", "dump", "id", str(one["id"]), check=False):
            (dump,) = json.loads(text)
            found.append({k: v for pair in dump["value"][".bss"] for k, v in pair.items()})
    return found


@pytest.fixture
def registered() -> Iterator[None]:
    register()
    yield
    rigs.unload("tcon_linux")  # which must leave nothing that keeps the program
    unregister()
    poll(lambda: not counts(), "the program is gone")


def test_it_gets_no_socket(net: Net, registered: None) -> None:
    """ACKs that it sends go nowhere, options and storage are refused; Reno it can be."""
    net.shape(rate="20mbit", delay="10ms", loss="0.5%")
    net.tcon.set_rule(CC)
    (listed,) = (c for c in json.loads(appctl("tcon/list-cc", "-j"))["ccs"] if c["name"] == CC)
    assert listed["source"] == "Linux, BPF"
    transfer = net.transfer(2 * MEGA)
    assert_enforced(net.tcon, transfer.sport, CC)
    poll(lambda: counts()[0]["acks_taken"] > 100, "ACKs are told")
    transfer.finish()
    net.tcon.del_rules()
    (now,) = counts()
    assert now["acks_sent"] == now["acks_taken"] > 100
    assert now["stored"] == now["options_set"] == 0
    assert now["inits"] == now["releases"] >= 1


def test_another_by_its_name(net: Net, registered: None) -> None:
    """Unregistered, it goes on where it runs; the next set-cc takes what has come since."""
    net.shape(rate="20mbit", delay="10ms")
    net.tcon.set_rule(CC)
    transfer = net.transfer()
    assert_enforced(net.tcon, transfer.sport, CC)
    unregister()
    assert state(net.tcon, transfer.sport)[2] == CC
    before = counts()
    poll(lambda: counts()[0]["acks_taken"] > before[0]["acks_taken"], "it still runs")
    register()
    assert len(counts()) == 2
    net.tcon.set_rule(CC)
    assert state(net.tcon, transfer.sport)[2] == CC
    poll(lambda: len(counts()) == 1, "the former one is gone")
    assert counts()[0]["inits"] == 1
    transfer.finish()
