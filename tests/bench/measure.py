# SPDX-License-Identifier: GPL-2.0-only
"""What TCon costs, measured inside the VM, where time is instructions.

    measure.py [--forward] VARIANT...

Variants: "plain" (without tcon.ko), "resting" and "observed" (tcon.ko without a rule: ports rest,
or all is observed, as the module parameter observe has it), "cubic" and "bbr" (with that rule).
"netfilter-" before one: by netfilter's hooks.  Prints one JSON object:

* forward: virtual nanoseconds for one packet from one veth end to the other,
  by variant ("wire": a veth pair without Open vSwitch), super-packets or plain
  ones, data or ACKs, 1 or 64 flows.  Frames are made beforehand and sent on
  packet sockets, so no guest TCP takes part; what the sender costs is in "wire"
  too;
* saturate, without --forward: goodput of iperf3 between two CUBIC guests' namespaces, bits/s,
  one value for each run, by variant, TSO on, off, or off with a receiver that copies, 1 or 64
  flows; "native bbr": BBR guests, no tcon.ko.

Topology: a (guest, 10.0.0.1) - pa - br0 - pb (uplink) - b (10.0.0.2).
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import genl
from tcon_lab import ovs

PACED = ("bbr", "netfilter-bbr")
# 64 flows' start leaves a queue that takes seconds to drain; runs differ by 0.3 %: one will do.
RUNS, SECONDS, OMIT_S = 1, 8, 4
# One flow settles in one of two modes (how many packets both ends handle at a time),
# a quarter apart, and stays there: several runs.
SINGLE_RUNS, SINGLE_SECONDS, SINGLE_OMIT_S = 5, 3, 1
RESTS_S = 4  # a port rests about two seconds after its last rule has gone
COLLECTED_S = 12  # closed flows are collected after 10 s
PACKETS = 6000
WARM_UP = 20
MSS = 1448
SUPER = 16 * MSS
FIRST = 8 * MSS  # an initial window has no room for the other
DST_MAC, SRC_MAC = b"\x02\0\0\0\0\x02", b"\x02\0\0\0\0\x01"
A, B = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
ACK, PSH, RST, SYN = 0x10, 0x08, 0x04, 0x02
SOL_PACKET, PACKET_VNET_HDR, PACKET_QDISC_BYPASS = 263, 15, 20


def sh(command: str) -> str:
    """Run a shell command that must succeed; its output."""
    return subprocess.run(command, shell=True, check=True, capture_output=True, text=True).stdout


def checksum(data: bytes) -> int:
    """RFC 1071."""
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def frame(
    to_b: bool, port: int, seq: int, ack: int, flags: int, payload: int, window: int = 4096
) -> bytes:
    """virtio_net_hdr and frame; the TCP checksum is left to the receiver of the packet."""
    syn = flags & SYN
    options = (
        struct.pack("!BBHBBBBBBBB", 2, 4, 1460, 4, 2, 1, 3, 3, 7, 1, 1)
        if syn
        else struct.pack("!BBBBII", 1, 1, 8, 10, 1, 1)
    )
    if syn:
        options += struct.pack("!BBBBII", 1, 1, 8, 10, 1, 1)
    src, dst = (A, B) if to_b else (B, A)
    sport, dport = (port, 5201) if to_b else (5201, port)
    doff = (20 + len(options)) // 4
    tcp = struct.pack("!HHIIBBHHH", sport, dport, seq, ack, doff << 4, flags, window, 0, 0)
    tcp_bytes = len(tcp) + len(options) + payload
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + tcp_bytes, 0, 0x4000, 64, 6, 0) + src + dst
    ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    pseudo = src + dst + struct.pack("!BBH", 0, 6, tcp_bytes)
    tcp = tcp[:16] + struct.pack("!H", ~checksum(pseudo) & 0xFFFF) + tcp[18:]
    eth = (DST_MAC + SRC_MAC if to_b else SRC_MAC + DST_MAC) + b"\x08\0"
    gso = 1 if payload > MSS else 0
    headers = 14 + 20 + len(tcp) + len(options)
    vnet = struct.pack("=BBHHHH", 1, gso, headers, MSS if gso else 0, 34, 16)
    return vnet + eth + ip + tcp + options + bytes(payload)


def sender(device: str, netns: str) -> socket.socket:
    """A packet socket in a namespace, past the qdisc, with GSO."""
    with open(f"/run/netns/{netns}") as there, open("/proc/self/ns/net") as here:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(there.fileno(), 0):
            raise OSError(ctypes.get_errno(), f"setns {netns}")
        try:
            sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            sock.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
            sock.setsockopt(SOL_PACKET, PACKET_QDISC_BYPASS, 1)
            sock.bind((device, 0x0800))
        finally:
            libc.setns(here.fileno(), 0)
    return sock


def handshake(a: socket.socket, b: socket.socket, port: int) -> None:
    """Three segments, so that TCon knows the flow's scales."""
    a.send(frame(True, port, 999, 0, SYN, 0))
    b.send(frame(False, port, 1999, 1000, SYN | ACK, 0))
    a.send(frame(True, port, 1000, 2000, ACK, 0))


def prime(a: socket.socket, b: socket.socket) -> None:
    """Have Open vSwitch know both ways: a first packet goes through user space, and comes late.

    A RST of no connection leaves no trace in TCon.
    """
    a.send(frame(True, 9999, 1, 1, ACK | RST, 0))
    b.send(frame(False, 9999, 1, 1, ACK | RST, 0))
    time.sleep(1)


def packets(sent: list[int], payload: int) -> Iterator[tuple[bytes, bytes]]:
    """Data frames round robin, each with the ACK that follows it, b"" for none.

    An ACK comes for each super-packet, or for every second plain packet of a flow.
    What each flow has sent is added to ``sent``.
    """
    flows = len(sent)
    count = [0] * flows
    for number in range(PACKETS + WARM_UP * flows):
        flow = number % flows
        size = payload if count[flow] else min(payload, FIRST)
        data = frame(True, 10000 + flow, 1000 + sent[flow], 2000, ACK | PSH, size)
        sent[flow] += size
        count[flow] += 1
        due = payload > MSS or count[flow] % 2 == 0
        yield data, frame(False, 10000 + flow, 2000, 1000 + sent[flow], ACK, 0) if due else b""


def forward(a: socket.socket, b: socket.socket, flows: int, payload: int) -> dict[str, float]:
    """Virtual ns for a data packet and for an ACK, once the flows' windows have grown."""
    prime(a, b)
    for flow in range(flows):
        handshake(a, b, 10000 + flow)
    spent, count, sent = {"data": 0, "ack": 0}, {"data": 0, "ack": 0}, [0] * flows
    for number, both in enumerate(packets(sent, payload)):
        for name, sock, raw in zip(("data", "ack"), (a, b), both, strict=True):
            if not raw:
                continue
            start = time.perf_counter_ns()
            sock.send(raw)
            if number >= WARM_UP * flows:
                spent[name] += time.perf_counter_ns() - start
                count[name] += 1
    for flow in range(flows):  # a new connection next time; a RST counts only at this place
        a.send(frame(True, 10000 + flow, 1000 + sent[flow], 2000, ACK | RST, 0))
    return {name: spent[name] / count[name] for name in spent}


def forward_all(a: socket.socket, b: socket.socket) -> dict[str, dict[str, float]]:
    """All four kinds of load, after one that does not count: the machine has just booted."""
    found = {}
    forward(a, b, 1, SUPER)
    time.sleep(COLLECTED_S)
    for kind, payload in (("tso", SUPER), ("plain", MSS)):
        for flows in (1, 64):
            found[f"{kind}-{flows}"] = forward(a, b, flows, payload)
            time.sleep(COLLECTED_S)
    return found


def offload(tso: bool) -> None:
    """Let the guests send super-packets, or not."""
    switch = "on" if tso else "off"
    for netns in "ab":
        sh(f"ip netns exec {netns} ethtool -K {netns}-eth tso {switch} gso {switch}")


def saturate_once(cc: str, flows: int, seconds: int, omit_s: int) -> float:
    """Goodput of iperf3, bits/s, as its receiver has it."""
    server = subprocess.Popen(
        ["ip", "netns", "exec", "b", "iperf3", "-s", "-1"], stdout=subprocess.DEVNULL
    )
    time.sleep(0.5)
    times = f"-t {seconds} -O {omit_s}"
    client = sh(f"ip netns exec a iperf3 -c 10.0.0.2 -C {cc} {times} -P {flows} -J")
    server.wait()
    return json.loads(client)["end"]["sum_received"]["bits_per_second"]


def copying_receiver() -> int:
    """Have b's device copy what it gets, as a NIC would: a file that undoes this when it closes.

    For an XDP program a veth copies each frame whose pages others may share.  This one passes all.
    """
    bpf, prog_load, link_create, type_xdp, attach_xdp = 321, 5, 28, 6, 37  # linux/bpf.h, x86-64
    passes = struct.pack("<BBhiBBhi", 0xB7, 0, 0, 2, 0x95, 0, 0, 0)  # r0 = XDP_PASS; exit
    code, gpl = ctypes.create_string_buffer(passes), ctypes.create_string_buffer(b"GPL")
    libc = ctypes.CDLL(None, use_errno=True)

    def call(command: int, request: bytes) -> int:
        fd = libc.syscall(bpf, command, ctypes.create_string_buffer(request), len(request))
        if fd < 0:
            raise OSError(ctypes.get_errno(), f"bpf({command})")
        return fd

    program = call(
        prog_load,
        struct.pack("<IIQQ", type_xdp, 2, ctypes.addressof(code), ctypes.addressof(gpl))
        + bytes(24),
    )
    index = int(sh("ip netns exec b cat /sys/class/net/b-eth/ifindex"))
    with open("/run/netns/b") as there, open("/proc/self/ns/net") as here:
        if libc.setns(there.fileno(), 0):
            raise OSError(ctypes.get_errno(), "setns b")
        try:
            return call(link_create, struct.pack("<IIII", program, index, attach_xdp, 0))
        finally:
            libc.setns(here.fileno(), 0)
            os.close(program)


def saturate(variant: str, cc: str = "cubic") -> dict[str, list[float]]:
    """Goodputs by load."""
    found = {}
    for kind in ("tso", "plain", "copied"):
        offload(kind == "tso")
        copying = copying_receiver() if kind == "copied" else None
        print(f"{variant}, {cc} guests, {kind}: goodput", flush=True)
        found[f"{kind}-1"] = [
            saturate_once(cc, 1, SINGLE_SECONDS, SINGLE_OMIT_S) for _ in range(SINGLE_RUNS)
        ]
        print(f"{variant}, {kind}, 1 flow: {found[f'{kind}-1']}", flush=True)
        found[f"{kind}-64"] = [saturate_once(cc, 64, SECONDS, OMIT_S) for _ in range(RUNS)]
        print(f"{variant}, {kind}, 64 flows: {found[f'{kind}-64']}", flush=True)
        if copying is not None:
            os.close(copying)
    return found


def guests(names: str) -> None:
    """Two namespaces and their veth ends, as br0 will have them or joined directly."""
    a, b = names
    sh(f"ip netns add {a}; ip netns add {b}")
    for name, mac in ((a, "02:00:00:00:00:01"), (b, "02:00:00:00:00:02")):
        sh(f"ip link add {name}-eth netns {name} address {mac} type veth peer name p{name}")
        sh(f"ip -n {name} link set {name}-eth up; ip link set p{name} up")
        sh(f"ip netns exec {name} sysctl -qw net.ipv6.conf.all.disable_ipv6=1")
        sh(f"ip netns exec {name} sysctl -qw net.ipv4.tcp_no_metrics_save=1")


def set_up() -> None:
    """br0 with both; static neighbours, so that nothing else is sent."""
    guests("ab")
    sh(
        "ovs-vsctl add-br br0 -- add-port br0 pa -- add-port br0 pb"
        " -- set Interface pb other_config:tcon-role=uplink"
    )
    sh("ovs-ofctl del-flows br0")
    sh("ovs-ofctl add-flow br0 in_port=pa,actions=output:pb")
    sh("ovs-ofctl add-flow br0 in_port=pb,actions=output:pa")
    for name, address, other, mac in (
        ("a", "10.0.0.1", "10.0.0.2", "02:00:00:00:00:02"),
        ("b", "10.0.0.2", "10.0.0.1", "02:00:00:00:00:01"),
    ):
        sh(f"ip -n {name} addr add {address}/24 dev {name}-eth")
        sh(f"ip -n {name} neigh add {other} lladdr {mac} dev {name}-eth")


def silence(silent: bool) -> None:
    """Without addresses a namespace drops what it gets and answers nothing."""
    for name, address in (("a", "10.0.0.1"), ("b", "10.0.0.2")):
        verb = "del" if silent else "add"
        sh(f"ip -n {name} addr {verb} {address}/24 dev {name}-eth")
        if not silent:
            other = "10.0.0.2" if name == "a" else "10.0.0.1"
            mac = "02:00:00:00:00:02" if name == "a" else "02:00:00:00:00:01"
            sh(f"ip -n {name} neigh replace {other} lladdr {mac} dev {name}-eth")


def load(attach: str) -> None:
    """Load tcon.ko and its CCs, with that way in."""
    if Path("/sys/module/tcon").exists():
        sh("rmmod tcon_cubic tcon_bbr tcon")
    sh(f"modprobe tcon attach={attach}; modprobe -a tcon_cubic tcon_bbr")


def use(variant: str) -> None:
    """Bring tcon.ko into the state that a variant names."""
    if variant == "plain":
        return
    attach, _, what = variant.rpartition("-")
    load(attach or "auto")
    Path("/sys/module/tcon/parameters/observe").write_text("NY"[what == "observed"])
    client = genl.Genl()
    client.set_port("pa", ofport=1, role="GUEST")
    client.set_port("pb", ofport=2, role="UPLINK")
    if what not in ("resting", "observed"):
        client.set_rule(what)
    time.sleep(RESTS_S)


def check_counters() -> None:
    """Every frame was taken for what it was meant to be."""
    counters = genl.Genl().counters()
    print({name: count for name, count in counters.items() if count}, flush=True)
    assert counters["flows-new"] == counters["flows-closed"], "a RST has not ended its flow"
    for name in ("bad-ack", "no-memory", "repair-sent", "repeat-passed", "table-full", "timeout"):
        assert not counters[name], f"{name}: not what was to be measured"


def prepare() -> None:
    """Open vSwitch and its bridge with both guests."""
    sh("modprobe -a nsh nf_conntrack nf_nat nf_conncount veth openvswitch")
    # A sender that the softirq does not keep up with must not lose packets.
    sh("sysctl -qw net.core.netdev_max_backlog=1000000")
    ovs.start()
    set_up()


def main() -> None:
    variants = sys.argv[1:]
    only_forward = variants[0] == "--forward"
    if only_forward:
        variants = variants[1:]
    prepare()
    found: dict[str, dict] = {"saturate": {}, "forward": {}, "counters": {}}
    a, b = sender("a-eth", "a"), sender("b-eth", "b")
    for variant in variants:
        use(variant)
        if variant not in PACED:  # whose packets leave by a timer, not while the sender sends
            print(f"{variant}: forwarding", flush=True)
            offload(True)
            silence(True)
            found["forward"][variant] = forward_all(a, b)
            silence(False)
            if variant != "plain":
                check_counters()
        if not only_forward:
            found["saturate"][variant] = saturate(variant)
        if not only_forward and variant == "plain":
            sh("modprobe tcp_bbr")
            found["saturate"]["native bbr"] = saturate(variant, "bbr")
        if variant != "plain":
            found["counters"][variant] = genl.Genl().counters()
    sh("ip netns add c; ip netns add d")
    sh("ip link add c-eth netns c type veth peer name d-eth netns d")
    sh("ip -n c link set c-eth up; ip -n d link set d-eth up")
    found["forward"]["wire"] = forward_all(sender("c-eth", "c"), sender("d-eth", "d"))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
