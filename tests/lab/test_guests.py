# SPDX-License-Identifier: GPL-2.0-only
"""Guests with a kernel of their own, where they cannot be."""

import dataclasses

import pytest
from tcon_lab import lab
from tcon_lab.errors import LabError
from tcon_lab.experiment import scenario_file

SCENARIO = scenario_file.parse(
    """
    name = "machines"
    seconds = 1
    [path]
    rate = "1mbit"
    rtt = "1ms"
    [[flow]]
    guest_cc = "cubic"
    guest = "vm"
    """
)


def say(label, line):
    pytest.fail(f"{label}: {line}: nothing is to be made")


def test_they_need_qemu(tmp_path):
    with pytest.raises(LabError, match="need --engine=qemu"):
        lab.run_all([SCENARIO], lab.Options(engine="uml"), "vm", 1, tmp_path, say)


def test_they_need_a_vm(tmp_path, monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 0)
    with pytest.raises(LabError, match="needs --site=vm"):
        lab.run_all([SCENARIO], lab.Options(), "host", 1, tmp_path, say)


def test_memory_is_for_those_that_are_machines():
    few, many = (
        dataclasses.replace(SCENARIO, flows=(*SCENARIO.flows, *others))
        for others in ((), (dataclasses.replace(SCENARIO.flows[0], guest="namespace", count=9),))
    )
    assert lab._memory_mib(many) - lab._memory_mib(few) == 9 * lab._MIB_PER_PAIR
