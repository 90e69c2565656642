# SPDX-License-Identifier: GPL-2.0-only
"""Fixtures of the tests that run inside the VM, as root, on the real datapath.

Each test leaves as it found: no rules, modules loaded, no new fault in the
kernel's log (checked after each).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import draw
import genl
import hosts
import rig as rigs
from repeat import pytest_terminal_summary as pytest_terminal_summary


def pytest_configure(config: pytest.Config) -> None:
    """Marks, by which `make check` chooses; make check-thorough runs all in the machine."""
    for mark in (
        "script: packets in, packets out, which also runs in user space (tests/packet)",
        "machine: of these, one that needs the machine",
        "both: of these, one that make check runs in the machine as well",
    ):
        config.addinivalue_line("markers", mark)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Several draws in one machine: a test is run as often as TCON_EACH says."""
    if draw.EACH > 1:
        names = [f"draw{n}" for n in range(draw.EACH)]
        metafunc.parametrize("later", range(draw.EACH), indirect=True, ids=names)


@pytest.fixture(scope="session", autouse=True)
def machine() -> None:
    """Modules are loaded and Open vSwitch runs."""
    rigs.choose_attach()
    rigs.load_all()
    rigs.start_ovs()


@pytest.fixture
def tcon(machine: None) -> genl.Genl:
    """A client of tcon.ko's netlink family."""
    return rigs.Genl()


@pytest.fixture(autouse=True)
def later(machine: None) -> None:
    """Begin a test of a draw at any moment."""
    time.sleep(draw.later_s())


@pytest.fixture(autouse=True)
def clean(later: None, request: pytest.FixtureRequest) -> Iterator[None]:
    """Modules and rules are put back; the kernel must not have complained.

    How long the tests before took must not decide whose doing a hidden beginning is (adopt_s), nor
    whether a script's port rests (observe).
    """
    rigs.set_parameter("adopt_s", 3600)
    rigs.set_parameter("observe", int(bool(request.node.get_closest_marker("script"))))
    with rigs.kernel_log() as records:
        yield
        rigs.load_all()
        client = rigs.Genl()
        for bridge in {str(rule["bridge"]) for rule in client.rules()}:
            client.del_rules(bridge)
        rigs.rest()
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
