# SPDX-License-Identifier: GPL-2.0-only
"""Stacks that stand between a machine and a host's sockets: libslirp and passt (stacks.py).

    a socket in l -- libslirp, passt -- tap tg [br0] up0 -- router r -- server s

Both take the server for the machine that they serve, and connect to it as a guest does: for a
socket beside them, which gives them the bytes.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import genl
import hosts
import pytest
import rig as rigs
import stacks
from rig import Rig, ip

PORT = 6000
_API = Path("/tmp/slirp4netns.socket")
#: The namespace of the tap, by a name that needs no rights over its processes.
_ROOT = "/run/netns/root"


def libslirp(net: hosts.Net) -> subprocess.Popen[bytes]:
    """slirp4netns, which then forwards a port.  Its stack is 10.0.0.2."""
    _API.unlink(missing_ok=True)
    process = subprocess.Popen(
        ["slirp4netns", "--netns-type=path", "--cidr=10.0.0.0/24", "--disable-dns", "--mtu=1500",
         f"--api-socket={_API}", _ROOT, "tg"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    rigs.poll(_API.exists, "slirp4netns takes commands")
    command = {
        "execute": "add_hostfwd",
        "arguments": {
            "proto": "tcp", "host_addr": "127.0.0.1", "host_port": PORT,
            "guest_addr": net.addresses[0], "guest_port": PORT,
        },
    }  # fmt: skip
    with socket.socket(socket.AF_UNIX) as api:
        api.connect(str(_API))
        api.sendall(json.dumps(command).encode())
        api.shutdown(socket.SHUT_WR)
        answer = json.loads(api.recv(4096))
    assert "return" in answer, answer
    return process


def passt(net: hosts.Net) -> subprocess.Popen[bytes]:
    """passt on a tap, whose name then is pasta.  It connects from where the socket does."""
    # It changes its root, which cannot be the kernel's first one then.
    words = (
        "mkdir -p /tmp/root && mount --rbind / /tmp/root && exec chroot /tmp/root"
        " pasta --foreground --quiet --ipv4-only --no-dhcp --runas 0"
        f" --netns {_ROOT} --ns-ifname tg --interface eth0 --mtu 1500"
        f" --address {net.addresses[0]} --netmask 24 --gateway 10.0.0.254"
        f" -t {PORT} -u none -T none -U none"
    )
    return subprocess.Popen(["unshare", "--mount", "sh", "-c", words], stderr=subprocess.DEVNULL)


@dataclass(frozen=True)
class Stack:
    """How it is started, where a socket beside it connects to, and where it has its own.

    ``stalls``: see stacks.check().
    """

    name: str
    start: Callable[[hosts.Net], subprocess.Popen[bytes]]
    near: str
    address: str
    stalls: bool


STACKS = (
    Stack("libslirp", libslirp, "127.0.0.1", "10.0.0.2", stalls=False),
    Stack("passt", passt, "10.0.0.1", "10.0.0.1", stalls=True),
)


class Proxied:
    """A socket beside the stack, and the server's that the stack has connected to for it."""

    def __init__(self, net: hosts.Net, stack: Stack, verb: str) -> None:
        with rigs.inside(net.server):
            listener = socket.create_server((net.addresses[0], PORT))
        with rigs.inside("l"):
            self.client = socket.create_connection((stack.near, PORT), stacks.TIMEOUT_S)
        self.client.sendall(b"!")  # passt answers the server's SYN when it has data
        self.server, self.sport = stacks.accept(listener)
        assert self.server.recv(1) == b"!"
        self._hash = hashlib.sha256()
        self._thread = threading.Thread(target=self._send if verb == "send" else self._receive)
        self._thread.start()

    def _send(self) -> None:
        data = hosts.some_bytes(stacks.SIZE_BYTES)
        self.client.sendall(data)
        self._hash.update(data)
        self.client.shutdown(socket.SHUT_WR)

    def _receive(self) -> None:
        left = stacks.SIZE_BYTES
        while left and (chunk := self.client.recv(1 << 16)):
            self._hash.update(chunk)
            left -= len(chunk)
        self.client.close()

    def sum(self) -> str:
        """See stacks.Guest."""
        self._thread.join()
        self.client.close()
        self.server.close()
        return self._hash.hexdigest()


def answers(stack: Stack) -> bool:
    """Does the router know its hardware address?  By the server's packet passt knows the server."""
    rigs.run("ping", "-c1", "-W1", stack.address, check=False, ns="s")
    return "lladdr" in rigs.run("ip", "neigh", "show", stack.address, ns="r")


@contextlib.contextmanager
def running(rig: Rig, net: hosts.Net, stack: Stack) -> Iterator[None]:
    """The stack on the tap tg, and its host's sockets in l."""
    rig.namespace("l")
    ip("netns attach root 1")
    rig.namespaces.append("root")
    ip("link set lo up", "tuntap add eth0 mode tap", ns="l")
    hosts.address("l", "eth0", "10.0.0.1/24", gateways=("10.0.0.254",))
    # Both take the server for a neighbour, and so ask for its hardware address.
    rigs.sysctl("ipv4/conf/r-u/proxy_arp", 1, "r")
    with rigs.inside("l"):
        process = stack.start(net)
    try:
        rigs.poll(lambda: answers(stack), f"{stack.name} answers")
        yield
    finally:
        process.terminate()
        process.wait(20)


@pytest.mark.parametrize("path", stacks.PATHS)
@pytest.mark.parametrize("stack", STACKS, ids=lambda stack: stack.name)
def test_stack(rig: Rig, tcon: genl.Genl, stack: Stack, path: str) -> None:
    net = stacks.tap_net(rig, tcon)
    with running(rig, net, stack):
        connect = functools.partial(Proxied, net, stack)
        stacks.check(net, stack.name, path, connect, stalls=stack.stalls)
