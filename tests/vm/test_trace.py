# SPDX-License-Identifier: GPL-2.0-only
"""Tracepoints: the events of a flow are what the counters and the flow itself say."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import genl
import pytest
import rig as rigs
from hosts import MEGA, Net
from rig import Conn, run
from wire import ACK, PSH

BUFFER_KB = 16384
LINE = re.compile(r"(?P<time>[\d.]+): (?P<name>\w+): (?P<fields>.*)")
FIELD = re.compile(r"(\w+)(?:=|: )(\S+)")


@dataclass
class Event:
    name: str
    time_s: float
    fields: dict[str, str]

    def number(self, field: str) -> int:
        return int(self.fields[field])


def of(events: list[Event], name: str) -> list[Event]:
    return [event for event in events if event.name == name]


@contextlib.contextmanager
def traced(*names: str) -> Iterator[list[Event]]:
    """All events of these names during the block; filled in at its end."""
    rigs.tracefs()
    instance = rigs.TRACEFS / "instances/tcon-test"
    instance.mkdir()
    events: list[Event] = []
    try:
        (instance / "buffer_size_kb").write_text(str(BUFFER_KB))
        (instance / "trace_clock").write_text("mono")  # TCon's; the usual one is coarse in UML
        for name in names:
            (instance / "events" / name / "enable").write_text("1")
        yield events
        for name in names:
            (instance / "events" / name / "enable").write_text("0")
        for stats in instance.glob("per_cpu/*/stats"):
            assert "overrun: 0\n" in stats.read_text()
        for line in (instance / "trace").read_text().splitlines():
            if match := LINE.search(line):
                fields = dict(FIELD.findall(match["fields"]))
                events.append(Event(match["name"], float(match["time"]), fields))
    finally:
        instance.rmdir()


def test_each_event_is_there_once(net: Net) -> None:
    """A guest without ECN under a paced CC, through losses and marks."""
    net.cut()
    net.shape(rate="20mbit", delay="5ms")
    rigs.sysctl("ipv4/tcp_ecn", 0, "g1")
    run("ovs-ofctl", "add-flow", "br0", "in_port=p1,tcp,nw_ecn=2,actions=mod_nw_ecn:3,normal")
    rigs.settle()
    net.tcon.set_rule("bbr3", ecn=genl.E["TCON_RULE_ECN_ON"])
    before = net.tcon.counters()
    with traced("tcon") as events:
        transfer = net.transfer(MEGA, start=False)
        net.shape(rate="20mbit", delay="5ms", loss="2%")  # not the SYN: a second asks for no ECN
        transfer.start()
        flow = net.acknowledged(transfer)
        after = net.tcon.counters()
    transfer.finish()
    grown = {name: after[name] - before[name] for name in after}
    seen = Counter(event.name for event in events)
    assert seen == Counter(
        tcon_state=seen["tcon_state"],
        tcon_cc=seen["tcon_cc"],
        tcon_loss=seen["tcon_loss"],
        tcon_mark=flow["ce_acks"],
        tcon_hold=grown["held"],
        tcon_release=grown["released"] + grown["hold-flushed"],
        tcon_repair=grown["repair-sent"],
        tcon_probe=grown["probe-sent"],
        tcon_absorb=grown["copy-absorbed"] + grown["repeat-absorbed"],
        tcon_window=grown["window-written"] + grown["update-sent"],
        tcon_hide=grown["ack-hidden"],
        tcon_thin=grown["ack-thinned"],
    )
    for name in ("loss", "mark", "hold", "release", "repair", "window", "hide"):
        assert seen[f"tcon_{name}"], name
    assert {event.fields["port"] for event in events} == {"p1"}
    assert {event.fields["guest"] for event in events} == {f"10.0.0.1:{transfer.sport}"}
    assert {event.fields["peer"] for event in events} == {"10.1.0.2:5201"}

    states = [(e.fields["state"], e.fields["reason"]) for e in of(events, "tcon_state")]
    assert states[0] == ("observed->repair-enforced", "handshake->none")
    decision = of(events, "tcon_cc")[-1]
    assert decision.number("cwnd") == flow["cwnd_bytes"]
    assert decision.number("pacing_bps") == flow["pacing_bps"] > 0
    assert decision.number("bytes") == flow["delivered_bytes"]
    assert sum(e.number("bytes") for e in of(events, "tcon_loss")) == flow["lost_bytes"]
    assert of(events, "tcon_mark")[-1].number("bytes") == flow["ce_bytes"] > 0


def test_a_packet_that_waits(net: Net) -> None:
    """The same packet is seen when it is held and when it is released, perhaps with others."""
    net.offloads(False)
    net.shape(rate="20mbit", delay="5ms")
    net.tcon.set_rule("bbr")
    with traced("tcon/tcon_hold", "tcon/tcon_release") as events:
        net.transfer(MEGA // 4).finish()
    held = {(e.fields["skbaddr"], e.fields["seq"]): e for e in of(events, "tcon_hold")}
    released = of(events, "tcon_release")
    assert released
    for event in released:
        waited_s = event.time_s - held.pop((event.fields["skbaddr"], event.fields["seq"])).time_s
        assert event.number("age_us") / 1e6 == pytest.approx(waited_s, abs=0.001)
        start, size = event.number("seq"), event.number("end_seq") - event.number("seq")
        for key in [key for key in held if (int(key[1]) - start) % 2**32 < size % 2**32]:
            del held[key]  # put together with it
    assert not held


def test_a_dropped_packet_has_a_reason(
    ends: tuple[rigs.RawEnd, rigs.RawEnd], tcon: genl.Genl
) -> None:
    """A drop by a rule's fallback is no "not specified" for a tool that watches drops."""
    tcon.set_rule("cubic", fallback="drop")
    conn = Conn(*ends)
    with traced("skb/kfree_skb") as events:
        conn.guest.send(conn.from_guest(PSH | ACK, b"x" * 1000).frame())
        assert conn.receive(conn.peer, 0.1) is None
    assert [e.fields["reason"] for e in events].count("NETFILTER_DROP") == 1, events
