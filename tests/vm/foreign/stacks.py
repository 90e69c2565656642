# SPDX-License-Identifier: GPL-2.0-only
"""Tests of a TCP stack that is not Linux's, as a guest on a tap.

    the stack -- tap tg [br0] up0 -- router r -- server s
                               20 Mbit/s ^       ^ 20 ms

Faults hit both directions, single segment by single segment.

Each byte arrives as it was, with a CC that is enforced as without a rule, both ways.  TCon
governs what the guest sends; what it receives must be none the worse.
"""

from __future__ import annotations

import hashlib
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import genl
import hosts
import rig as rigs
from rig import Rig, ip, run

SIZE_BYTES = 5_000_000
CCS = ("none", "cubic", "bbr", "dctcp")
PATHS = {"clean": "", "1% lost": "loss 1%", "2% late": "delay 5ms reorder 98%"}
#: Limit of a transfer whose stack stands still by itself.
TIMEOUT_S = 1200.0
#: How much longer an enforced CC may take on a clean path than no rule.
_SLACK_S = 0.5


class Guest(Protocol):
    """A stack that has connected to the server's socket ``server``, from port ``sport``."""

    server: socket.socket
    sport: int

    def sum(self) -> str:
        """The SHA-256 of what it has sent or received, once it has ended."""


#: Connects, and then sends SIZE_BYTES, or receives as many.
Connect = Callable[[str], Guest]


@dataclass(frozen=True)
class Done:
    """A transfer that has ended: how long it took, and what TCon did with it."""

    seconds: float
    state: tuple[str, str, str]


def accept(listener: socket.socket) -> tuple[socket.socket, int]:
    """The server's socket, and the guest's port."""
    listener.settimeout(20)
    with listener:
        server, (_, sport) = listener.accept()
    server.settimeout(TIMEOUT_S)
    return server, sport


def _send(net: hosts.Net, connect: Connect) -> Done:
    """Send from the guest to the server."""
    guest = connect("send")
    start_s = time.monotonic()
    received, count, state = hashlib.sha256(), 0, None
    while chunk := guest.server.recv(1 << 16):
        received.update(chunk)
        count += len(chunk)
        if not state and count > SIZE_BYTES // 2:
            state = rigs.state(net.tcon, guest.sport, "tg")
    seconds = time.monotonic() - start_s
    assert (count, guest.sum()) == (SIZE_BYTES, received.hexdigest())
    assert state
    return Done(seconds, state)


def _receive(net: hosts.Net, connect: Connect) -> Done:
    """Send from the server to the guest, which closes when it has all."""
    guest = connect("receive")
    start_s = time.monotonic()
    data = hosts.some_bytes(SIZE_BYTES)
    guest.server.sendall(data)
    assert guest.server.recv(1) == b""
    seconds = time.monotonic() - start_s
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


def _wreck(net: hosts.Net, mischief: str) -> None:
    """The path, and what goes wrong on it in both directions; super-packets would go as one."""
    net.shape(rate="20mbit", mischief=mischief)
    run("ethtool", "-K", "s-e", "tso", "off", "gso", "off", ns="s")
    if mischief:
        run("tc", "qdisc", "add", "dev", "r-u", "root", "netem", "limit", "10000",
            *mischief.split(), ns="r")  # fmt: skip


def _expected(cc: str) -> tuple[str, str, str]:
    """State, reason and CC of what the guest sends."""
    return ("observed", "rule-none", "none") if cc == "none" else ("repair-enforced", "none", cc)


def check(net: hosts.Net, name: str, path: str, connect: Connect, *, stalls: bool = False) -> None:
    """Right bytes both ways, enforced, and on a clean path as fast as without a rule.

    ``stalls``: the stack stands still where any window binds, so that how fast it is tells nothing.
    """
    _wreck(net, PATHS[path])
    for way, transfer in (("sends", _send), ("receives", _receive)):
        took_s = {}
        for cc in CCS:
            net.tcon.set_rule(cc)
            done = transfer(net, connect)
            assert done.state == _expected(cc)
            took_s[cc] = done.seconds
        times = " | ".join(f"{took_s[cc]:.1f}" for cc in CCS)
        print(f"\n| {name} | {path} | {way} | {times} |", end="")
        if path == "clean" and not stalls:
            assert max(took_s.values()) < took_s["none"] + _SLACK_S
