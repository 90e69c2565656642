# SPDX-License-Identifier: GPL-2.0-only
"""Fixtures of the tests that run inside the VM, as root, on the real datapath.

Each test leaves as it found: no rules, modules loaded, no new fault in the
kernel's log (checked after each).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import genl
import hosts
import parts
import rig as rigs


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With TCON_PART, only a part of each test's parameters: see parts.py."""
    part = os.environ.get("TCON_PART")
    if not part:
        return
    try:
        chosen = parts.chosen([item.nodeid for item in items], part)
    except ValueError as error:
        raise pytest.UsageError(f"TCON_PART: {error}") from error
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in chosen])
    items[:] = [item for item in items if item.nodeid in chosen]


@pytest.fixture(scope="session", autouse=True)
def machine() -> None:
    """Modules are loaded and Open vSwitch runs."""
    rigs.choose_attach()
    rigs.load_all()
    rigs.start_ovs()


@pytest.fixture
def tcon(machine: None) -> genl.Genl:
    """A client of tcon.ko's netlink family."""
    return genl.Genl()


@pytest.fixture(autouse=True)
def clean(machine: None) -> Iterator[None]:
    """Modules and rules are put back; the kernel must not have complained.

    How long the tests before took must not decide whose doing a hidden beginning is (adopt_s).
    """
    rigs.set_parameter("adopt_s", 3600)
    with rigs.kernel_log() as records:
        yield
        rigs.load_all()
        client = genl.Genl()
        for bridge in {str(rule["bridge"]) for rule in client.rules()}:
            client.del_rules(bridge)
    faults = [record for record in records if rigs.BAD_LOG.search(record)]
    assert not faults, f"the kernel complains: {faults}"


@pytest.fixture
def rig(machine: None) -> Iterator[rigs.Rig]:
    """A rig of the test's own."""
    made = rigs.Rig()
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def ends(machine: None) -> Iterator[tuple[rigs.RawEnd, rigs.RawEnd]]:
    """The scripted rig that the tests of a file share."""
    made = rigs.Rig()
    try:
        yield made.scripted()
    finally:
        made.close()


@pytest.fixture
def net(rig: rigs.Rig, tcon: genl.Genl) -> hosts.Net:
    """The usual topology on a bridge that learns."""
    return hosts.usual(rig, tcon)
