# SPDX-License-Identifier: GPL-2.0-only
"""Guests with a kernel's own TCP that move, as libvirt has it: running flows stay enforced.

A bridge stands for a host.  The guest stops, its state is read, its port ends; on the other
bridge a port begins, is told, and the guest runs.
"""

from __future__ import annotations

import base64
import struct
import time
from collections.abc import Callable
from pathlib import Path

import genl
import hosts
import pytest
import rig as rigs
from hosts import MEGA, Net, Transfer
from rig import counted, poll, run, state
from tcon_lab.errors import LabError
from tcon_lab.ovs import appctl

#: How a state gets from one host to the other.
WAYS = ["appctl", "libvirt"]


@pytest.fixture
def pair(net: Net) -> Net:
    """The usual topology, and a second bridge that reaches it."""
    net.rig.bridge("br1", normal=True)
    for bridge, dev, peer in (("br0", "pa0", "pa1"), ("br1", "pa1", "pa0")):
        run("ovs-vsctl", "add-port", bridge, dev, "--", "set", "Interface", dev, "type=patch",
            f"options:peer={peer}")  # fmt: skip
    return net


def export() -> list[str]:
    return appctl("tcon/export-port", "br0", "p1").split()


def export_to_port_data() -> None:
    (line,) = export()
    run("ovs-vsctl", "set", "Interface", "p1", f"external_ids:PortData={line}")


def read_port_data() -> str:
    """As libvirt reads it: all that ovs-vsctl prints but the newline."""
    return run("ovs-vsctl", "--if-exists", "get", "Interface", "p1", "external_ids:PortData")[:-1]


def write_port_data(text: str) -> None:
    """As libvirt writes it."""
    run("ovs-vsctl", "set", "Interface", "p1", f"external_ids:PortData={text}")


def move(net: Net, way: str, spoil: Callable[[str], str] = lambda text: text) -> None:
    """The guest of p1 moves from br0 to br1."""
    rigs.ip("link set p1 down")  # it stops
    if way == "appctl":
        texts = export()
    else:
        export_to_port_data()
        texts = [read_port_data()]
    run("ovs-vsctl", "del-port", "br0", "p1", "--", "add-port", "br1", "p1")
    poll(lambda: any(p["ifname"] == "p1" and p["bridge"] == "br1" for p in net.tcon.ports()),
         "the port is at br1")  # fmt: skip
    try:
        for text in texts:
            if way == "appctl":
                appctl("tcon/import-port", "br1", "p1", spoil(text))
            else:
                write_port_data(spoil(text))
    finally:
        rigs.ip("link set p1 up")  # it runs


def now(tcon: genl.Genl, sport: int) -> tuple[str, str, str] | None:
    """State, reason and CC; None until the guest has sent at its new port."""
    return state(tcon, sport) if rigs.find_flow(tcon, sport) else None


def rate(transfer: Transfer, seconds: float) -> float:
    """Mbit/s that arrive from now on."""
    begin, then = transfer.received_bytes, time.monotonic()
    poll(lambda: time.monotonic() > then + seconds, "time goes by", seconds + 5)
    return (transfer.received_bytes - begin) * 8 / (time.monotonic() - then) / 1e6


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("cc", ["cubic", "bbr", "bbr3"])
def test_guest_stays_enforced(pair: Net, cc: str, way: str) -> None:
    """The flow that runs is enforced with repair as before, and as fast.

    Each BBR stops for 0.2 s now and then, to measure the RTT: of three seconds that is 7 %.
    """
    pair.shape(rate="50mbit", delay="10ms")
    for bridge in ("br0", "br1"):
        pair.tcon.set_rule(cc, bridge=bridge)
    transfer = pair.transfer()
    rate(transfer, 2)
    hosts.assert_enforced(pair.tcon, transfer.sport, cc)
    before = rate(transfer, 3)
    with counted(pair.tcon, moved_in=1, moved_unlike=0):
        move(pair, way)
        repaired = ("repair-enforced", "none", cc)
        poll(lambda: now(pair.tcon, transfer.sport) == repaired, "it is repaired")
    rate(transfer, 0.5)
    after = rate(transfer, 3)
    hosts.assert_enforced(pair.tcon, transfer.sport, cc)
    assert after > 0.9 * before, (before, after)
    assert "mid-stream" not in {genl.REASONS[f["reason"]] for f in pair.tcon.flows()}
    transfer.finish()


def test_many_flows(pair: Net) -> None:
    """Also those that are idle, and those that the guest receives."""
    pair.shape(rate="50mbit", delay="5ms")
    for bridge in ("br0", "br1"):
        pair.tcon.set_rule("bbr", bridge=bridge)
    idle = [pair.transfer(1000, port=6000 + i, start=False) for i in range(4)]
    busy = [pair.transfer(4 * MEGA, port=6100 + i) for i in range(3)]
    down = Transfer("s", "g1", "10.0.0.1", 4 * MEGA, port=6200)
    rate(busy[0], 0.5)
    with counted(pair.tcon, moved_unlike=0):
        move(pair, "appctl")
        for transfer in busy:
            transfer.finish()
        down.finish()
        for transfer in idle:
            assert state(pair.tcon, transfer.sport) == ("observed", "moved", "none")
            transfer.start()
            transfer.finish()
    assert "mid-stream" not in {genl.REASONS[f["reason"]] for f in pair.tcon.flows()}


def altered(text: str, change: Callable[[bytearray], None]) -> str:
    raw = bytearray(base64.b64decode(text.strip('"')))
    change(raw)
    return base64.b64encode(raw).decode()


def set_bytes(at: int, value: bytes) -> Callable[[bytearray], None]:
    def change(raw: bytearray) -> None:
        raw[at : at + len(value)] = value

    return change


def resigned(text: str, change: Callable[[bytearray], None]) -> str:
    """The same, with the right checksum."""
    raw = bytearray(base64.b64decode(text.strip('"')))
    change(raw)
    raw[28:32] = struct.pack("<I", crc32c(bytes(raw[:28] + raw[32:])))
    return base64.b64encode(raw).decode()


def crc32c(data: bytes) -> int:
    """RFC 9260, appendix A."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def made_at(seconds: int) -> Callable[[str], str]:
    return lambda text: resigned(text, set_bytes(16, struct.pack("!Q", int(time.time()) + seconds)))


SPOILT: dict[str, tuple[Callable[[str], str], str]] = {
    "foreign": (lambda text: "bnZwLXBvcnQtZGF0YQ==", "it does not begin with TCONPORT"),
    "not base64": (lambda text: text.strip('"')[:-4] + "&&&&", "not whole, or not base64"),
    "cut": (lambda text: text.strip('"')[:-4], "bytes: its header says 1 records of 168"),
    "damaged": (lambda text: altered(text, set_bytes(100, b"\x55")), "its checksum is wrong"),
    "version": (lambda text: altered(text, set_bytes(8, b"\0\2")), "is of version 2: only 1"),
    "old": (made_at(-301), "s old: it is good for 300 s"),
    "new": (made_at(1000), "s after now: the clocks of the hosts differ"),
    "record": (
        lambda text: resigned(text, set_bytes(32 + 9, b"\x20")),
        "tcon.ko refuses record 1 of 1: the record's window scale is out of range",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", SPOILT)
def test_state_that_is_refused(pair: Net, what: str) -> None:
    """One sentence; nothing has changed; the flow is then mid-stream, and goes on."""
    spoil, sentence = SPOILT[what]
    pair.shape(rate="50mbit", delay="5ms")
    for bridge in ("br0", "br1"):
        pair.tcon.set_rule("cubic", bridge=bridge)
    transfer = pair.transfer(4 * MEGA)
    poll(lambda: transfer.received_bytes > 100_000, "it runs")
    with pytest.raises(LabError) as caught:
        move(pair, "appctl", spoil)
    assert sentence in str(caught.value)
    observed = ("observed", "mid-stream", "none")
    poll(lambda: now(pair.tcon, transfer.sport) == observed, "it is observed")
    transfer.finish()


def test_port_data_of_others(pair: Net) -> None:
    """Where it is not TCon's nothing is said of it; a bad one of TCon's is logged once."""
    others, before = '"a state of another switch"', len(log())
    write_port_data(others)
    assert read_port_data() == others
    assert "tcon_move" not in log()[before:]
    bad = '"VENPTlBPUlQ="'
    write_port_data(bad)
    run("ovs-vsctl", "set", "Interface", "p1", "external_ids:else=1")  # it is looked at again
    (line,) = [line for line in log()[before:].splitlines() if "tcon_move" in line]
    assert "interface p1: external_ids:PortData is ignored: the state is cut off after 8" in line


def log() -> str:
    return Path("/var/log/openvswitch/ovs-vswitchd.log").read_text()


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (("export-port", "nonsuch", "p1"), "no bridge is named 'nonsuch'"),
        (("export-port", "br0", "nonsuch"), "bridge br0 has no port 'nonsuch'"),
        (("export-port", "br0", "up0"), "port up0 is an uplink, not a guest's"),
        (("import-port", "br0", "br0", "x"), "port br0 is an internal port, not a guest's"),
        (("import-port", "br0", "p1", ""), "does not begin with TCONPORT"),
    ],
)
def test_commands_that_are_refused(net: Net, command: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(LabError) as caught:
        appctl(f"tcon/{command[0]}", *command[1:])
    assert sentence in str(caught.value)


def test_port_without_flows(net: Net) -> None:
    assert appctl("tcon/export-port", "br0", "p1").strip() == ""
