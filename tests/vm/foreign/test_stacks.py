# SPDX-License-Identifier: GPL-2.0-only
"""TCP stacks that are not Linux's, as guests on a tap.

    netstack, smoltcp -- tap tg [br0] up0 -- router r -- server s
                                             20 Mbit/s ^       ^ 20 ms

What goes wrong does so in both directions, single segment by single segment.

Each byte arrives as it was, with a CC that is enforced as without a rule, both ways.  TCon
governs what the guest sends; what it receives must be none the worse.
"""

from __future__ import annotations

import hashlib
import itertools
import socket
import subprocess
import time
from dataclasses import dataclass

import genl
import hosts
import pytest
import rig as rigs
from rig import Rig, ip, run

SIZE_BYTES = 5_000_000
CCS = ("none", "cubic", "bbr", "dctcp")
PATHS = {"clean": "", "1% lost": "loss 1%", "2% late": "delay 5ms reorder 98%"}
GUEST = "10.0.0.1"
#: Of a transfer whose stack stands still by itself.
TIMEOUT_S = 240.0
#: On a clean path an enforced CC may take so much longer than no rule.
SLACK_S = 0.5

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


@dataclass(frozen=True)
class Done:
    """A transfer that has ended: how long it took, and what TCon did with it."""

    seconds: float
    state: tuple[str, str, str]


class Guest:
    """The stack's program on the tap, with the server's socket that it has connected to."""

    def __init__(self, net: hosts.Net, stack: Stack, verb: str) -> None:
        port = next(_ports)
        with rigs.inside(net.server):
            listener = socket.create_server((net.addresses[0], port))
        listener.settimeout(20)
        self.process = subprocess.Popen(
            [f"/lab/foreign/{stack.program}", "tg", f"{GUEST}/24", "10.0.0.254", verb,
             net.addresses[0], str(port), str(SIZE_BYTES), *stack.words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        with listener:
            self.server, (_, self.sport) = listener.accept()
        self.server.settimeout(TIMEOUT_S)
        self.start_s = time.monotonic()

    def seconds(self) -> float:
        return time.monotonic() - self.start_s

    def sum(self) -> str:
        """The SHA-256 that the program says, once it has ended."""
        self.server.close()
        said, complaint = self.process.communicate(timeout=TIMEOUT_S)
        assert not self.process.returncode, complaint
        return said.strip()


def send(net: hosts.Net, stack: Stack) -> Done:
    """From the guest to the server."""
    guest = Guest(net, stack, "send")
    received, count, state = hashlib.sha256(), 0, None
    while chunk := guest.server.recv(1 << 16):
        received.update(chunk)
        count += len(chunk)
        if not state and count > SIZE_BYTES // 2:
            state = rigs.state(net.tcon, guest.sport, "tg")
    seconds = guest.seconds()
    assert (count, guest.sum()) == (SIZE_BYTES, received.hexdigest())
    assert state
    return Done(seconds, state)


def receive(net: hosts.Net, stack: Stack) -> Done:
    """From the server to the guest, which closes when it has all."""
    guest = Guest(net, stack, "receive")
    data = hosts.some_bytes(SIZE_BYTES)
    guest.server.sendall(data)
    assert guest.server.recv(1) == b""
    seconds = guest.seconds()
    state = rigs.state(net.tcon, guest.sport, "tg")
    assert guest.sum() == hashlib.sha256(data).hexdigest()
    return Done(seconds, state)


def tap_net(rig: Rig, tcon: genl.Genl) -> hosts.Net:
    """The usual topology with a tap for a guest."""
    hosts.load_queues()
    hosts.ends_of_path(rig)
    ip("tuntap add tg mode tap", "link set tg up")
    rig.devices.append("tg")
    rigs.sysctl("ipv6/conf/tg/disable_ipv6", 1)
    rig.bridge("br0", normal=True)
    rig.port("br0", "tg")
    rig.port("br0", "up0", "UPLINK")
    net = hosts.Net(rig, tcon)
    net.cut()
    return net


def wreck(net: hosts.Net, mischief: str) -> None:
    """The path, and what goes wrong on it in both directions; super-packets would go as one."""
    net.shape(rate="20mbit", mischief=mischief)
    run("ethtool", "-K", "s-e", "tso", "off", "gso", "off", ns="s")
    if mischief:
        run("tc", "qdisc", "add", "dev", "r-u", "root", "netem", "limit", "10000",
            *mischief.split(), ns="r")  # fmt: skip


def expected(cc: str) -> tuple[str, str, str]:
    """State, reason and CC of what the guest sends."""
    return ("observed", "rule-none", "none") if cc == "none" else ("repair-enforced", "none", cc)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("stack", STACKS, ids=lambda stack: stack.name)
def test_stack(rig: Rig, tcon: genl.Genl, stack: Stack, path: str) -> None:
    """Right bytes both ways, enforced, and on a clean path as fast as without a rule."""
    net = tap_net(rig, tcon)
    wreck(net, PATHS[path])
    for transfer in (send, receive):
        took_s = {}
        for cc in CCS:
            tcon.set_rule(cc)
            done = transfer(net, stack)
            assert done.state == expected(cc)
            took_s[cc] = done.seconds
        times = " | ".join(f"{took_s[cc]:.1f}" for cc in CCS)
        print(f"\n| {stack.name} | {path} | {transfer.__name__} | {times} |", end="")
        assert path != "clean" or max(took_s.values()) < took_s["none"] + SLACK_S
