# SPDX-License-Identifier: GPL-2.0-only
"""gVisor's stack and smoltcp, each in a program on the tap (stacks.py)."""

from __future__ import annotations

import functools
import itertools
import socket
import subprocess
from dataclasses import dataclass

import genl
import hosts
import pytest
import rig as rigs
import stacks
from rig import Rig

_ports = itertools.count(6000)


@dataclass(frozen=True)
class Stack:
    """A program, and what it is told of its CC."""

    name: str
    program: str
    words: tuple[str, ...]


STACKS = (
    Stack("gVisor cubic", "netstack", ("cubic", "sack")),
    Stack("gVisor reno", "netstack", ("reno", "sack")),
    Stack("gVisor cubic, no SACK", "netstack", ("cubic", "nosack")),
    Stack("smoltcp cubic", "smoltcp-guest", ("cubic",)),
    Stack("smoltcp reno", "smoltcp-guest", ("reno",)),
)


class Program:
    """The stack's program, which says what it has sent or received."""

    def __init__(self, net: hosts.Net, stack: Stack, verb: str) -> None:
        port = next(_ports)
        with rigs.inside(net.server):
            listener = socket.create_server((net.addresses[0], port))
        self.process = subprocess.Popen(
            [f"/lab/foreign/{stack.program}", "tg", "10.0.0.1/24", "10.0.0.254", verb,
             net.addresses[0], str(port), str(stacks.SIZE_BYTES), *stack.words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.server, self.sport = stacks.accept(listener)

    def sum(self) -> str:
        """See stacks.Guest."""
        self.server.close()
        said, complaint = self.process.communicate(timeout=stacks.TIMEOUT_S)
        assert not self.process.returncode, complaint
        return said.strip()


@pytest.mark.parametrize("path", stacks.PATHS)
@pytest.mark.parametrize("stack", STACKS, ids=lambda stack: stack.name)
def test_stack(rig: Rig, tcon: genl.Genl, stack: Stack, path: str) -> None:
    net = stacks.tap_net(rig, tcon)
    stacks.check(net, stack.name, path, functools.partial(Program, net, stack))
