# SPDX-License-Identifier: GPL-2.0-only
"""What scripts run on: a bridge, without tcon.ko first, and then under each rule."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path += [str(Path(__file__).parent), str(Path(__file__).parent.parent / "vm")]

import machine
from place import NativeRig, Place
from repeat import pytest_terminal_summary as pytest_terminal_summary
from shell import Shell
from table import RULES

#: The kernel's tools/testing/selftests/net/packetdrill.
SCRIPTS = Path(os.environ.get("TCON_PACKETDRILL", "/lab/packetdrill"))
CHOSEN = os.environ.get("TCON_RULES", " ".join(RULES)).split()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each script, once for each rule: all of a rule in a row."""
    if "rule" in metafunc.fixturenames:
        rules = CHOSEN if "script" in metafunc.fixturenames else CHOSEN[:1]
        metafunc.parametrize("rule", rules, scope="session")
    if "script" in metafunc.fixturenames:
        names = sorted(file.stem for file in SCRIPTS.glob("*.pkt"))
        assert names, f"no scripts in {SCRIPTS}"
        metafunc.parametrize("script", names)


@pytest.fixture(scope="session")
def place(rule: str) -> Iterator[Place]:
    """The bridge; with the rule in force for all flows."""
    if rule != "native":
        machine.choose_attach()
        machine.load_all()
    assert machine.loaded("tcon") == (rule != "native")
    machine.start_ovs()
    rig = NativeRig() if rule == "native" else machine.Rig()
    try:
        made = Place(rig)
        if rule != "native":
            rig.genl.set_rule(rule)
        yield made
    finally:
        if rule != "native":
            rig.genl.del_rules("br0")
        rig.close()


@pytest.fixture(scope="session")
def shell() -> Shell:
    """Runs the scripts' commands."""
    return Shell(SCRIPTS)
