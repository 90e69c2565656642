# SPDX-License-Identifier: GPL-2.0-only
"""A fleet of hosts obeys a cluster of databases, also while a member of it dies.

A host is a namespace with its own ovsdb-server, ovs-vswitchd and bridge, and a guest with
a connection.  It obeys when that connection's CC is the one of the last transaction.
`make check-fleet` runs this with 100 hosts.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import genl
import pytest
import rig as rigs
from centre import SCHEMA, Centre
from rig import inside, ip, poll, run

HOSTS = int(os.environ.get("TCON_HOSTS", "3"))
FOLDER = Path("/tmp/fleet")
PORT = 5000


class Host:
    """A hypervisor with one guest."""

    def __init__(self, number: int) -> None:
        self.ns, self.guest = f"h{number}", f"g{number}"
        self.uplink = f"u{number}"
        self.address = f"10.{100 + number // 250}.{number % 250}"
        self.folder = FOLDER / self.ns
        self.folder.mkdir(parents=True)
        self._wire()
        self._switch()
        with inside(self.ns):
            self.tcon = genl.Genl()
            server = socket.create_server(("10.0.0.1", PORT))
        with inside(self.guest):
            self.client = socket.create_connection(("10.0.0.1", PORT), 20)
        self.server = server.accept()[0]
        server.close()

    def _wire(self) -> None:
        ip(f"netns add {self.ns}", f"netns add {self.guest}",
           f"link add {self.uplink} type veth peer name up0 netns {self.ns}",
           f"addr add {self.address}.1/24 dev {self.uplink}",
           f"link set {self.uplink} up")  # fmt: skip
        ip(f"addr add {self.address}.2/24 dev up0", "link set up0 up", "link set lo up",
           f"link add p1 type veth peer name eth0 netns {self.guest}",
           "link set p1 up", ns=self.ns)  # fmt: skip
        ip("addr add 10.0.0.2/24 dev eth0", "link set eth0 up", ns=self.guest)

    def run(self, *command: str) -> str:
        """In its network, with its own Open vSwitch."""
        return run("env", f"OVS_RUNDIR={self.folder}", f"OVS_DBDIR={self.folder}",
                   f"OVS_LOGDIR={self.folder}", *command, ns=self.ns)  # fmt: skip

    def _switch(self) -> None:
        run("ovsdb-tool", "create", f"{self.folder}/conf.db", SCHEMA)
        self.run("ovsdb-server", f"--remote=punix:{self.folder}/db.sock", "--pidfile", "--detach",
                 "--log-file", "-vconsole:off")  # fmt: skip
        few = [f"other_config:n-{what}-threads=1" for what in ("handler", "revalidator")]
        self.run("ovs-vsctl", "--no-wait", "init", "--", "set", "Open_vSwitch", ".", *few)
        self.run("ovs-vswitchd", "--pidfile", "--detach", "--log-file", "-vconsole:off")
        self.run("ovs-vsctl", "--timeout=60", "add-br", "br0", "--", "set-fail-mode", "br0",
                 "standalone", "--", "add-port", "br0", "p1")  # fmt: skip
        ip("addr add 10.0.0.1/24 dev br0", "link set br0 up", ns=self.ns)

    def follow(self, centre: Centre) -> None:
        remotes = ",".join(f"tcp:{self.address}.1:{member.port}" for member in centre.members)
        self.run("ovs-vsctl", "--timeout=60", "set", "Open_vSwitch", ".",
                 f'other_config:tcon-fleet="{remotes}"')  # fmt: skip

    def cc(self) -> str:
        """The CC of its guest's connection."""
        flow = rigs.find_flow(self.tcon, self.client.getsockname()[1])
        return str(flow["cc"]) if flow else "none"

    def close(self) -> None:
        self.client.close()
        self.server.close()
        for daemon in ("ovs-vswitchd", "ovsdb-server"):
            run("kill", "-9", (self.folder / f"{daemon}.pid").read_text().strip())
        run("ovs-dpctl", "del-dp", "system@ovs-system", ns=self.ns)
        ip(f"netns del {self.guest}", f"netns del {self.ns}", f"link del {self.uplink}")


@pytest.fixture
def centre() -> Iterator[Centre]:
    made = Centre(FOLDER / "centre", 3)
    made.vsctl("init")
    yield made
    made.close()


@pytest.fixture
def hosts(centre: Centre) -> Iterator[list[Host]]:
    """All follow, none has a rule yet."""
    made: list[Host] = []
    try:
        for number in range(HOSTS):
            made.append(Host(number))
            made[-1].follow(centre)
        yield made
    finally:
        for host in made:
            host.close()


def change(centre: Centre, cc: str) -> float:
    """One transaction; when it was begun."""
    begin = time.monotonic()
    centre.vsctl("set", "Open_vSwitch", ".", f'other_config:tcon-rule-all="flow=all {cc}"')
    return begin


def test_one_transaction_changes_all(hosts: list[Host], centre: Centre) -> None:
    """Also when the member that leads dies as it comes, and another later."""

    def all_obey(cc: str, what: str, begin: float) -> None:
        poll(lambda: all(host.cc() == cc for host in hosts), f"all obey {cc}", 120, 0.001)
        print(f"fleet: {HOSTS} hosts, {what}: {time.monotonic() - begin:.3f} s", flush=True)

    all_obey("bbr", "all members run", change(centre, "bbr"))

    leader = next(member for member in centre.members if member.leads())
    begin = time.monotonic()
    leader.kill()
    change(centre, "cubic")
    all_obey("cubic", "the leader dies", begin)
    all_obey("reno", "a member is dead", change(centre, "reno"))

    leader.start()
    run("ovsdb-client", "-t", "60", "wait", leader.remote, "Open_vSwitch", "connected")
    next(member for member in centre.members if member is not leader).kill()
    all_obey("vegas", "it is back and another is dead", change(centre, "vegas"))
