# SPDX-License-Identifier: GPL-2.0-only
"""Races between CPUs: everything changes at once while flows run both ways.

Needs two CPUs and so real time; nothing here is about speed, and a test may wait as long as the
host wants.  The kernel's log judges (conftest.py), and that nothing stays held.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
import subprocess
import time
from pathlib import Path

import hosts
import pytest
import rig as rigs
from asked import CUBIC, scenario
from tcon_lab.scenario import Path as LabPath
from tcon_lab.topo import Lab, run_in

pytestmark = pytest.mark.skipif(os.cpu_count() == 1, reason="needs two CPUs")

SECONDS = 24
#: Limit of a host that does not get on: then the log says where its CPUs are.
HANGS_S = 300
#: Rounds of changes, at least.
ROUNDS = 2
#: How long a guest goes from CPU to CPU, and how many of its packets must have waited.
MOVES_S, WAITED = 4, 50
#: What Linux reorders by itself now and then is chance.  TCon's own fault would show each time.
TRIES = 5
PATH = LabPath(10**9, 4000, 0.003, 1000)


def iperf3(lab, index, port, *options):
    """A client of h(index + 1) towards its server; reverse with -R."""
    receiver = lab.receiver(index)
    receiver.popen(["iperf3", "-s", "-p", str(port)], stdout=subprocess.DEVNULL)
    rigs.poll(lambda: f":{port} " in run_in(receiver, "ss -Hltn"), "iperf3 listens", HANGS_S)
    command = ["iperf3", "-c", lab.receiver_address(index), "-p", str(port), "-P", "4", *options]
    return lab.sender(index).popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def finish(client):
    """It ends, and well.  Where it does not, the log says what the CPUs do."""
    try:
        out = client.communicate(timeout=HANGS_S)[0].decode()
    except subprocess.TimeoutExpired:
        for what in "lt":
            Path("/proc/sysrq-trigger").write_text(what)
        client.kill()
        raise
    assert client.returncode == 0, out


def disturb(lab, round_number):
    """One round: rules, CC modules and tcon.ko change under traffic."""
    for cc in ("cubic", "bbr", "none", "bbr"):
        lab.br0.set_cc("all", cc)
        time.sleep(0.2)
        lab.br0.tcon_flows()
    rigs.run("rmmod", "tcon_bbr")
    time.sleep(0.2)
    rigs.run("modprobe", "tcon_bbr")
    time.sleep(0.3)
    if round_number % 2:
        rigs.run("rmmod", *rigs.CCS, "tcon")
        rigs.load_all()
    client = iperf3(lab, 1, 5300 + round_number, "-t", "1")
    finish(client)


def test_everything_changes_under_traffic():
    with Lab(scenario(PATH, CUBIC, CUBIC)) as lab:
        lab.br0.set_cc("all", "bbr")
        clients = [
            iperf3(lab, 0, 5201, "-t", str(SECONDS)),
            iperf3(lab, 0, 5202, "-t", str(SECONDS), "-R"),
        ]
        end = time.monotonic() + SECONDS - 4
        for number in itertools.count():
            if number >= ROUNDS and time.monotonic() > end:
                break
            disturb(lab, number)
        for client in clients:
            finish(client)
        # A guest's port goes while its packets are held.
        last = iperf3(lab, 1, 5299, "-t", "4")
        time.sleep(2)
        rigs.run("ovs-vsctl", "del-port", lab.sender_port(1))
        last.kill()
        rigs.poll(lambda: rigs.genl.Genl().held_bytes() == 0, "nothing is held", HANGS_S)


def sent_by_queue(dev):
    """How many packets each transmit queue has sent, the first queue first."""
    found = json.loads(rigs.run("tc", "-s", "-j", "qdisc", "show", "dev", dev))
    return [q["packets"] for q in sorted(found, key=lambda q: q.get("parent", "")) if "parent" in q]


@contextlib.contextmanager
def on_cpu(cpu):
    """Run there."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def tap_and_queues(rig):
    """br0 with a guest's tap and an uplink up0 of two queues: both ends.

    A tap's packets are new to the kernel.  Those of a veth know their sender's CPU.
    """
    rig.namespace("s")
    rig.veth("up0", "s-e", "s", queues=2)
    rig.bridge("br0")
    guest = rig.tap("tg")
    n, m = rig.port("br0", "tg"), rig.port("br0", "up0", "UPLINK")
    rig.flows("br0", f"in_port={n},actions=output:{m}", f"in_port={m},actions=output:{n}")
    return guest, rig.raw("s-e", "s")


def test_a_flow_keeps_its_queue():
    """Each CPU has a queue of the uplink: segments waiting for an ACK leave by the guest's, too."""
    with contextlib.closing(rigs.Rig()) as rig:
        guest, peer = tap_and_queues(rig)
        rigs.run("tc", "qdisc", "replace", "dev", "up0", "root", "handle", "1:", "mq")
        for queue in (0, 1):
            file = Path(f"/sys/class/net/up0/queues/tx-{queue}/xps_cpus")
            file.write_text(f"{1 << queue:x}")
        rig.genl.del_rules()
        rig.genl.set_rule("cubic")
        with on_cpu(1):
            conn = rigs.Conn(guest, peer).handshake()
            by_queue = sent_by_queue("up0")
            for _ in range(30):
                guest.send(conn.from_guest(payload=bytes(1448)).frame())
                conn.guest_nxt += 1448
        before = rig.genl.counters()
        with on_cpu(0):
            last = 0
            while last < conn.guest_nxt:
                got = conn.receive(peer, HANGS_S)
                assert got, "nothing is lost"
                last = max(last, conn.unwrap(got.seq) + len(got.payload))
                peer.send(conn.from_peer(ack=last % 2**32).frame())
        done = {name: n - before[name] for name, n in rig.genl.counters().items()}
        # Ten are in flight at most before the first ACK, and all that wait leave.
        assert done["released"] >= 15, "they have waited"
        # On a slow host TCon takes one for lost and repeats it.
        assert sent_by_queue("up0") == [by_queue[0], by_queue[1] + 30 + done["repair-sent"]]
        rig.genl.del_rules()


def steer(dev, cpus, ns=None):
    """These CPUs handle what a device receives (RPS), a flow by one of them."""
    mask = f"{sum(1 << cpu for cpu in cpus):x}"
    setting = f"for file in /sys/class/net/{dev}/queues/rx-*/rps_cpus; do echo {mask} >$file; done"
    rigs.run(*(("ip", "netns", "exec", ns) if ns else ()), "sh", "-ec", setting)


@pytest.fixture
def spread():
    """A guest g1, behind p1, and a server s, behind the uplink up0.

    A flow's data and its ACKs are handled by different CPUs, and each CPU has a queue of the
    uplink.  One CPU handles all that reaches s, so that a segment out of order there has left so.
    """
    cpus = range(os.cpu_count())
    with contextlib.closing(rigs.Rig()) as rig:
        rig.namespace("g1", "s")
        rig.veth("p1", "eth0", "g1", quiet=False)
        rig.veth("up0", "s-e", "s", quiet=False, queues=len(cpus))
        hosts.address("g1", "eth0", "10.0.0.1/24")
        hosts.address("s", "s-e", "10.0.0.2/24")
        rigs.run("tc", "qdisc", "replace", "dev", "up0", "root", "handle", "1:", "mq")
        for cpu in cpus:
            Path(f"/sys/class/net/up0/queues/tx-{cpu}/xps_cpus").write_text(f"{1 << cpu:x}")
        steer("p1", cpus[::2])
        steer("up0", cpus[1::2])
        steer("s-e", [0], "s")
        rig.bridge("br0", normal=True)
        rig.port("br0", "p1")
        rig.port("br0", "up0", "UPLINK")
        yield rig


def out_of_order(ns):
    """How many segments its sockets have received before others that were sent earlier."""
    names, values = (
        line.split()
        for line in rigs.run("cat", "/proc/net/netstat", ns=ns).splitlines()
        if line.startswith("TcpExt:")
    )
    return int(dict(zip(names, values, strict=True))["TCPOFOQueue"])


def move_about(transfer, is_enough):
    """The guest's program goes from CPU to CPU, on a slow host for longer."""
    end = time.monotonic() + MOVES_S
    for cpu in itertools.cycle(range(os.cpu_count())):
        os.sched_setaffinity(transfer.threads[0].native_id, {cpu})
        time.sleep(0.01)
        if time.monotonic() > end and is_enough():
            return


def send_from_each_cpu(is_enough=lambda: True):
    """How many bytes a guest sent that moves about, and how many segments came out of order."""
    before = out_of_order("s")
    transfer = hosts.Transfer("g1", "s", "10.0.0.2", None)
    move_about(transfer, is_enough)
    transfer.finish()
    return transfer.sent_bytes, out_of_order("s") - before


def late_under(tcon, cc):
    """How many segments come out of order under a rule's CC; enough have waited, for one."""
    before = tcon.counters()

    def since(name):
        return tcon.counters()[name] - before[name]

    sent_bytes, late = send_from_each_cpu(lambda: cc == "none" or since("released") >= WAITED)
    print(f"{cc}: {sent_bytes} bytes, {since('data-out')} packets, {since('released')} released,"
          f" {late} late")  # fmt: skip
    return late


def test_a_guest_that_moves_stays_in_order(spread):
    """Waiting segments leave by other CPUs than passing ones, and still in order.

    With eight CPUs Linux by itself reorders a few of 50 000 segments of a sender that moves.
    In one of some tries TCon does no more, apart from chance in such a count.
    """
    for module in (*rigs.CCS, "tcon"):
        rigs.unload(module)
    sent_bytes, natively = send_from_each_cpu()
    print(f"without TCon: {sent_bytes} bytes, {natively} segments out of order")
    rigs.load_all()
    tcon = rigs.genl.Genl()
    most = natively + 3 * math.sqrt(natively)
    for cc in ("none", "bbr"):
        tcon.set_rule(cc)
        assert any(late_under(tcon, cc) <= most for _ in range(TRIES))


def test_clock():
    """A busy host measures the TSC's rate wrongly: this machine does not go by it."""
    clock = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    assert clock.read_text().strip() != "tsc"
