# SPDX-License-Identifier: GPL-2.0-only
"""tests/packetdrill without a machine: its language, numbers, comparisons and kept table."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import wire
from compare import compare, joined
from connection import Connection, listed_options, raw_options
from difference import Difference
from icmp import message
from language import Call, Code, Command, Icmp, Packet, Struct, Unreadable, When, parse
from shell import settings
from table import FILE, RULES, Table
from tcon_lab.machine.cache import cache_dir

SCRIPTS = sorted(
    cache_dir().glob("uml/newest-*/build/tools/testing/selftests/net/packetdrill/*.pkt")
)
DEFINES = {
    "TFO_COOKIE": "3021b9d889017eeb", "TFO_COOKIE_ZERO": "b7c12350a90dc8f5",
    "CMSG_LEVEL_IP": "SOL_IP", "CMSG_TYPE_RECVERR": "IP_RECVERR",
}  # fmt: skip


def one(text: str):
    """The action of the only event."""
    (event,) = parse(f"0 {text}", DEFINES).events
    return event.action


# --- language ---------------------------------------------------------------------


@pytest.mark.skipif(not SCRIPTS, reason="the newest kernel's source is not in the cache")
@pytest.mark.parametrize("file", SCRIPTS, ids=lambda file: file.stem)
def test_each_script_of_the_kernel_can_be_read(file: Path) -> None:
    script = parse(file.read_text(), DEFINES)
    assert "./defaults.sh" in script.prepare
    assert [event for event in script.events if isinstance(event.action, Packet)]


def test_options_commands_comments_and_lines() -> None:
    script = parse("// one\n--mss=1000 // two\n--strict\n`./a.sh\n b`\n/* three\n*/ 0 `c`\n`d`\n")
    assert script.options == {"mss": "1000", "strict": ""}
    assert (script.prepare, script.cleanup) == ("./a.sh\n b", "d")
    assert [(event.line, event.action) for event in script.events] == [(7, Command("c"))]


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("0", When(0)),
        ("1.5", When(1_500_000)),
        ("+.002", When(2000, relative=True)),
        ("+1", When(1_000_000, relative=True)),
        ("+.02~+0.5", When(20_000, relative=True, end_us=500_000)),
        ("1~2", When(1_000_000, end_us=2_000_000)),
        ("*", When(always=True)),
    ],
)
def test_times(text: str, when: When) -> None:
    (event,) = parse(f"{text} > . 1:1(0) ack 1").events
    assert event.when == when


@pytest.mark.parametrize(
    ("text", "packet"),
    [
        ("< S 0:10(10) win 9", Packet(True, 2, 0, 10, 0, 9)),
        ("> P. 1:2(1) ack 3", Packet(False, 24, 1, 1, 3)),
        ("> [ect0] .5 1:1(0) ack 1", Packet(False, 16 | 64 | 256, 1, 0, 1, ecn=2)),
        ("> P5. 1:1(0) ack 1", Packet(False, 24 | 64 | 256, 1, 0, 1)),
        ("> F5 1:1(0)", Packet(False, 1 | 64 | 256, 1, 0)),
        ("> [noecn] SEWA 0:0(0)", Packet(False, 2 | 64 | 128 | 256, 0, 0, ecn=0)),
        ("> - 1:1(0)", Packet(False, 0, 1, 0)),
        ("< U. 1:3(2) ack 1 win 5 urg 2", Packet(True, 48, 1, 2, 1, 5, 2)),
        ("> . 1:1(0) ack 1 <...>", Packet(False, 16, 1, 0, 1, options=None)),
    ],
)
def test_packets(text: str, packet: Packet) -> None:
    assert one(text) == packet


@pytest.mark.parametrize(
    ("text", "raw"),
    [
        ("mss 1460,sackOK,nop,wscale 8,eol,eol", "020405b4 0402 01 030308 00 00"),
        ("nop,nop,TS val 100 ecr 7", "0101 080a 00000064 00000007"),
        ("nop,nop,sack 1:2 3:5", "0101 0512 00000001 00000002 00000003 00000005"),
        ("FO,nop,nop", "2202 01 01"),
        ("FO TFO_COOKIE,nop,nop", "220a 3021b9d889017eeb 0101"),
        ("FOEXP,nop,nop,nop,nop", "fe04f989 01010101"),
        ("md5 000102030405060708090a0b0c0d0e0f,nop,nop",
         "1312 000102030405060708090a0b0c0d0e0f 0101"),
        ("ECN e0b 1 ceb 2 e1b 3,nop", "ac0b 000001 000002 000003 01"),
        ("ECN e1b 1,nop,nop,nop", "ae05 000001 010101"),
    ],
)  # fmt: skip
def test_tcp_options(text: str, raw: str) -> None:
    packet = one(f"> . 1:1(0) ack 1 <{text}>")
    assert raw_options(packet.options) == bytes.fromhex(raw)
    assert listed_options(bytes.fromhex(raw)) == list(packet.options)


def test_system_calls() -> None:
    assert one("read(3, ..., 9) = -1 EAGAIN (no data) ") == Call(
        "read", [3, ..., 9], -1, "EAGAIN", None
    )
    assert one("... 0.2 accept(3, ..., ...) = 4").end_us == 200_000
    assert one("fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0").args[2] == 0o4002
    assert one('open("/tmp/a", O_RDONLY) = 5').args[0] == b"/tmp/a"
    assert one('setsockopt(3, 6, 33, "\\xa1b", 2) = 0').args[3] == b"\xa1b"
    control = "{cmsg_level=CMSG_LEVEL_IP, cmsg_type=1, cmsg_data=8}"
    vectors = "msg_name(...)=..., msg_iov(2)=[{...,0},{..., 7}], msg_flags=0"
    got = one(f"recvmsg(4, {{{vectors}, msg_control=[{control}]}}, 0) = 0").args[1]
    assert got.fields["msg_iov"] == [Struct({"": 0}), Struct({"": 7})]
    assert got.fields["msg_control"][0].fields == {
        "cmsg_level": 0, "cmsg_type": 1, "cmsg_data": 8,
    }  # fmt: skip


def test_icmp_and_code() -> None:
    assert one("< icmp unreachable frag_needed mtu 1200 [1:11(10)]") == Icmp(
        "unreachable", "frag_needed", 1200, 1
    )
    assert one("%{ assert tcpi_state == 1,\\\n 7 }%") == Code("assert tcpi_state == 1,\\\n 7")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("0 > . 1:1(1) ack 1", "line 1: a length"),
        ("0 `a`\n0 > . 1:1(0) <mss 1>x", 'line 2: a time instead of "x"'),
        ("0 > . 1:1(0) <nop>", "line 1: options that fill words"),
        ("0 > . 1:1(0) <wrong 1,nop>", "line 1: no option wrong"),
        ("0 > [ect2] . 1:1(0)", r"line 1: \[ect2\]"),
        ("0 > .Q 1:1(0)", "line 1: TCP flags"),
        ("0 socket(AF_MOON) = 3", "line 1: nothing is known of AF_MOON"),
        ("0 > . 1:1(0) <ECN ceb 1 e0b 1,nop>", "line 1: counters in an order"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(text: str, complaint: str) -> None:
    with pytest.raises(Unreadable, match=complaint):
        parse(text)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("sysctl -q net.ipv4.tcp_ecn=3", {"net/ipv4/tcp_ecn": "3"}),
        ("sysctl -e -q net/ipv4/a=1 net.ipv4.b=2 # why", {"net/ipv4/a": "1", "net/ipv4/b": "2"}),
        ('sysctl -q net.ipv4.tcp_rmem="4 5 $((15*1024))"', {"net/ipv4/tcp_rmem": "4 5 15360"}),
        ("sysctl -q net.ipv4.c=1 > /dev/null 2>&1", {"net/ipv4/c": "1"}),
        ("./set_sysctls.py /proc/sys/net/ipv4/d=0x402", {"net/ipv4/d": "0x402"}),
        ("sysctl net.ipv4.e", None),
        ("sysctl -q net.ipv4.f=1; true", None),
        ("nstat | grep a", None),
    ],
)
def test_what_a_line_of_a_shell_sets(line: str, found: dict[str, str] | None) -> None:
    got = settings(line)
    assert (None if got is None else {str(path): value for path, value in got}) == (
        None if found is None else {f"/proc/sys/{path}": value for path, value in found.items()}
    )


# --- numbers ----------------------------------------------------------------------

GUEST, PEER = ("192.0.2.1", 8080), ("198.18.0.1", 40000)


def from_guest(*numbers: int, **fields: Any) -> wire.Segment:
    """Sequence number, acknowledgment and flags, and other fields."""
    return wire.Segment(GUEST[0], PEER[0], GUEST[1], PEER[1], *numbers, **fields)


def connection() -> Connection:
    """Its numbers wrap."""
    return Connection(local=GUEST, remote=PEER, isn=2**32 - 10, peer_isn=2**32 - 3)


def test_numbers_of_the_wire_are_those_of_the_script_and_the_initial_ones() -> None:
    conn = connection()
    sent = conn.to_wire(one("< [ce] P5. 1:11(10) ack 21 win 9 <nop,nop,sack 31:41>"))
    assert (sent.seq % 2**32, sent.ack % 2**32, sent.tos, sent.ae) == (2**32 - 2, 11, 3, True)
    assert wire.sack_blocks(sent.options) == [(21, 31)]
    assert (sent.src, sent.dport, len(sent.payload), sent.window) == (PEER[0], 8080, 10, 9)
    syn = conn.to_wire(one("< S. 5:5(0) ack 1 win 9"))
    assert (syn.seq, syn.ack % 2**32) == (5, 2**32 - 9)


def test_a_guests_segment_in_the_scripts_numbers() -> None:
    conn = connection()
    wanted = one("> [ect0] P. 1:11(10) ack 5 win 7 <nop,nop,sack 8:9>")
    options = wire.NOP * 2 + wire.opt_sack((5, 6))
    live = from_guest(2**32 - 9, 2, 24, window=7, options=options, payload=bytes(10), tos=2)
    assert conn.is_from(live)
    assert not conn.is_from(live.but(dport=1))
    assert conn.to_script(live, wanted) == wanted


def test_time_stamps_begin_where_the_script_says() -> None:
    conn = connection()

    def sent(value: int, script: int) -> int:
        live = from_guest(options=wire.opt_ts(value, 0))
        wanted = one(f"> . 1:1(0) ack 1 <TS val {script} ecr 0,nop,nop>")
        ((_, body),) = conn.to_script(live, wanted).options
        return struct.unpack("!II", body)[0]

    assert (sent(5000, 100), sent(5040, 140)) == (100, 140)
    echo = conn.to_wire(one("< . 1:1(0) ack 1 win 1 <TS val 7 ecr 140,nop,nop>"))
    assert echo.timestamps() == (7, 5040)
    with pytest.raises(Difference, match="no segment had the time stamp 141"):
        conn.to_wire(one("< . 1:1(0) ack 1 win 1 <TS val 7 ecr 141,nop,nop>"))


@pytest.mark.parametrize(("guest", "peer"), [("192.0.2.1", "198.18.0.1"), ("fd00::1", "fd01::2")])
def test_messages_of_routers_have_right_sums(guest: str, peer: str) -> None:
    kind, code = ("packet_too_big", "") if ":" in guest else ("unreachable", "frag_needed")
    raw = message(Icmp(kind, code, 1280, 1), guest, peer, b"12345678")
    assert raw.endswith(b"12345678")
    if ":" in guest:
        pseudo = raw[8:40] + struct.pack("!II", len(raw) - 40, 58)
        assert wire.ones_sum(pseudo + raw[40:]) == 0xFFFF
        assert raw[40:48] == struct.pack("!BB2sI", 2, 0, raw[42:44], 1280)
    else:
        assert (wire.ones_sum(raw[:20]), wire.ones_sum(raw[20:])) == (0xFFFF, 0xFFFF)
        assert raw[20:28] == struct.pack("!BB2sHH", 3, 4, raw[22:24], 0, 1280)


# --- comparisons ------------------------------------------------------------------

WANTED = "> [ect0] P. 1:11(10) ack 5 win 7 urg 1 <nop,nop,TS val 9 ecr 1>"


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"ecn": 3}, "ecn"),
        ({"flags": 16}, "flags"),
        ({"flags": 24 | 64}, "ecn flags"),
        ({"seq": 2}, "seq"),
        ({"ack": 6}, "ack"),
        ({"size": 9}, "size"),
        ({"window": 8}, "window"),
        ({"urgent": 2}, "urgent"),
        ({"options": ()}, "options"),
        ({"options": ((1, b""), (1, b""), (8, struct.pack("!II", 15, 1)))}, "time stamp"),
    ],
)
def test_a_field_that_is_another_is_named(change: dict, what: str) -> None:
    wanted = one(WANTED)
    compare(wanted, wanted, 1000, 4000)
    with pytest.raises(Difference) as found:
        compare(replace(wanted, **change), wanted, 1000, 4000)
    assert found.value.what == what


def test_what_a_script_leaves_out_may_be_anything() -> None:
    wanted = one("> P. 1:11(10) ack 5 <...>")
    compare(replace(wanted, ecn=3, window=9, options=((1, b""),) * 4), wanted, 0, 0)


def test_time_stamps_may_be_late_within_the_tolerance_or_are_not_looked_at() -> None:
    wanted = one(WANTED)
    late = replace(wanted, options=((1, b""), (1, b""), (8, struct.pack("!II", 13, 1))))
    compare(late, wanted, 1000, 4000)
    later = replace(wanted, options=((1, b""), (1, b""), (8, struct.pack("!II", 999, 1))))
    compare(later, wanted, 0, 4000)


def test_segments_in_a_row_are_the_super_packet_that_a_script_has() -> None:
    first = from_guest(5, 1, 16 | 128, payload=bytes(7))
    then = first.but(seq=12, flags=24)
    assert joined(first, then, 7) == then.but(seq=5, flags=24 | 128, payload=bytes(14))
    for other in (then.but(seq=13), then.but(ack=2), then.but(flags=17 | 4), then.but(payload=b"")):
        with pytest.raises(Difference):
            joined(first, other, 7)
    with pytest.raises(Difference):
        joined(first, then, 6)


# --- the kept table ---------------------------------------------------------------

KEPT = """
[[difference]]
reason = "window lowered"
rules = ["cubic", "bbr"]
what = "seq"

[difference.scripts]
a = 7
b = 7
"""


def test_a_new_difference_another_one_and_one_that_is_gone() -> None:
    table = Table(KEPT)
    found = Difference("seq", "1 instead of 2", 7)
    assert table.complaint("a", "cubic", found) is None
    assert table.complaint("b", "bbr", found) is None
    assert table.complaint("c", "cubic", None) is None
    assert "a new difference" in str(table.complaint("c", "cubic", found))
    assert "a new difference" in str(table.complaint("a", "none", found))
    assert "another difference" in str(table.complaint("a", "bbr", Difference("ack", "", 7)))
    assert "another difference" in str(table.complaint("a", "bbr", Difference("seq", "", 8)))
    assert "no longer differs" in str(table.complaint("a", "bbr", None))


def test_a_table_that_contradicts_itself() -> None:
    with pytest.raises(ValueError, match="a has two differences under cubic"):
        Table(KEPT + KEPT)
    with pytest.raises(ValueError, match="there is no rule moon"):
        Table(KEPT.replace("bbr", "moon"))


def test_the_kept_table() -> None:
    """Each of its entries has a reason, and is of a script that there is."""
    table = Table(FILE.read_text())
    assert all(entry.reason for entry in table.entries.values())
    assert {rule for _, rule in table.entries} <= set(RULES)
    if SCRIPTS:
        assert {script for script, _ in table.entries} <= {file.stem for file in SCRIPTS}
