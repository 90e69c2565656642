# SPDX-License-Identifier: GPL-2.0-only
"""The netlink family: what it refuses, and that refusing changes nothing."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import genl
import pytest
import rig as rigs
import wire
from genl import E, attr, nest, s64, text, u8, u16, u32

NLM_F_ACK, NLM_F_DUMP = genl.NLM_F_ACK, genl.NLM_F_DUMP
GET_RULE = struct.pack("=BBH", E["TCON_CMD_GET_RULE"], genl.VERSION, 0)


@pytest.fixture(scope="module")
def port(machine: None) -> Iterator[str]:
    """A guest's port on a bridge, which never rests: data without a beginning makes flows."""
    made = rigs.Rig()
    try:
        with rigs.parameters(observe=1):
            made.bridge("br0")
            made.namespace("g")
            made.veth("p1", "g-e", "g")
            made.port("br0", "p1")
            yield "p1"
    finally:
        made.close()


def everything(tcon: genl.Genl) -> tuple[list, list, list]:
    """All that a request could change."""
    moves = ("flows", "buffer_bytes")
    ports = [{k: v for k, v in p.items() if k not in moves} for p in tcon.ports()]
    return tcon.rules(), ports, tcon.dump("GET_CC")


@contextlib.contextmanager
def refused(tcon: genl.Genl, number: int, sentence: str | None) -> Iterator[None]:
    """The block's request is refused so, and changes nothing.

    sentence: a part of what the error says; None: any, since it is the kernel's
    own netlink code that refuses; "": there need be none.
    """
    before = everything(tcon)
    with pytest.raises(genl.Refused) as caught:
        yield
    assert everything(tcon) == before
    assert errno.errorcode[caught.value.errno] == errno.errorcode[number], caught.value
    if sentence is None:
        assert caught.value.message, caught.value
    else:
        assert sentence in caught.value.message, caught.value


def match(*parts: bytes) -> bytes:
    return nest(E["TCON_A_RULE_MATCH"], *parts)


def rule(cc: str = "cubic", *parts: bytes, priority: int | None = None) -> bytes:
    if priority is not None:
        parts = (u32(E["TCON_RULE_A_PRIORITY"], priority), *parts)
    return nest(E["TCON_A_RULE"], text(E["TCON_RULE_A_CC"], cc), *parts)


def param(name: str, value: int) -> bytes:
    return nest(E["TCON_RULE_A_PARAM"], text(E["TCON_PARAM_A_NAME"], name),
                s64(E["TCON_PARAM_A_VALUE"], value))  # fmt: skip


def nest_priority(priority: int) -> bytes:
    return nest(E["TCON_A_RULE"], u32(E["TCON_RULE_A_PRIORITY"], priority))


def ip(address: str) -> bytes:
    return socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)


def port_attrs(ifindex: int, role: int = 0, ofport: int = 7) -> bytes:
    return nest(E["TCON_A_PORT"], u32(E["TCON_PORT_A_IFINDEX"], ifindex),
                u32(E["TCON_PORT_A_OFPORT"], ofport), u8(E["TCON_PORT_A_ROLE"], role))  # fmt: skip


BR0 = text(E["TCON_A_BRIDGE"], "br0")
pytestmark = pytest.mark.script
M = {
    name.removeprefix("TCON_MATCH_A_"): n
    for name, n in E.items()
    if name.startswith("TCON_MATCH_A_")
}

# command, attributes, errno, part of the sentence
REFUSED: dict[str, tuple[str, list[bytes], int, str | None]] = {
    "no share": (
        "SET_RULE",
        [BR0, match(), rule("cubic", u16(E["TCON_RULE_A_SHARE"], 0))],
        errno.ERANGE,
        None,
    ),
    "share of all": (
        "SET_RULE",
        [BR0, match(), rule("none", u16(E["TCON_RULE_A_SHARE"], 10000))],
        errno.ERANGE,
        None,
    ),
    "unknown CC": ("SET_RULE", [BR0, match(), rule("nonsuch")], errno.ENOPKG, "no such CC"),
    "CC name too long": ("SET_RULE", [BR0, match(), rule("x" * 32)], errno.EINVAL, None),
    "rule without CC": (
        "SET_RULE",
        [BR0, match(), nest(E["TCON_A_RULE"])],
        errno.EINVAL,
        "without a CC",
    ),
    "rule without decision": (
        "SET_RULE",
        [BR0, match()],
        errno.EINVAL,
        "needs a match and a decision",
    ),
    "rule without match": ("SET_RULE", [BR0, rule()], errno.EINVAL, "needs a match and a decision"),
    "rule without bridge": ("SET_RULE", [match(), rule()], errno.EINVAL, "bridge must be named"),
    "empty bridge": (
        "SET_RULE",
        [text(E["TCON_A_BRIDGE"], ""), match(), rule()],
        errno.EINVAL,
        "bridge must be named",
    ),
    "bridge name too long": (
        "SET_RULE",
        [text(E["TCON_A_BRIDGE"], "b" * 64), match(), rule()],
        errno.EINVAL,
        None,
    ),
    "bridge name without end": (
        "SET_RULE",
        [attr(E["TCON_A_BRIDGE"], b"br00"), match(), rule()],
        errno.EINVAL,
        None,
    ),
    "priority too large": ("SET_RULE", [BR0, match(), rule(priority=65536)], errno.ERANGE, None),
    "unknown parameter": (
        "SET_RULE",
        [BR0, match(), rule("cubic", param("betta", 700))],
        errno.EINVAL,
        "no such parameter",
    ),
    "parameters of vegas": (
        "SET_RULE",
        [BR0, match(), rule("vegas", param("alpha", 5))],
        errno.EINVAL,
        "alpha is more than beta",
    ),
    "parameters of timely": (
        "SET_RULE",
        [BR0, match(), rule("timely", param("t_low", 501))],
        errno.EINVAL,
        "t_low is more than t_high",
    ),
    "parameter too large": (
        "SET_RULE",
        [BR0, match(), rule("cubic", param("beta", 10**15))],
        errno.ERANGE,
        "out of range",
    ),
    "parameter negative": (
        "SET_RULE",
        [BR0, match(), rule("cubic", param("beta", -1))],
        errno.ERANGE,
        "out of range",
    ),
    "second parameter wrong": (
        "SET_RULE",
        [BR0, match(), rule("cubic", param("beta", 800), param("c", -5))],
        errno.ERANGE,
        "out of range",
    ),
    "parameter without value": (
        "SET_RULE",
        [
            BR0,
            match(),
            rule("cubic", nest(E["TCON_RULE_A_PARAM"], text(E["TCON_PARAM_A_NAME"], "c"))),
        ],
        errno.EINVAL,
        "without name or value",
    ),
    "none with parameter": (
        "SET_RULE",
        [BR0, match(), rule("none", param("beta", 700))],
        errno.EINVAL,
        "takes no parameters",
    ),
    "none with ecn": (
        "SET_RULE",
        [BR0, match(), rule("none", u8(E["TCON_RULE_A_ECN"], 1))],
        errno.EINVAL,
        "takes no parameters",
    ),
    "ecn of no meaning": (
        "SET_RULE",
        [BR0, match(), rule("cubic", u8(E["TCON_RULE_A_ECN"], 3))],
        errno.ERANGE,
        None,
    ),
    "prefix without address": (
        "SET_RULE",
        [BR0, match(u8(M["SRC_PLEN"], 8)), rule()],
        errno.EINVAL,
        "prefix length without address",
    ),
    "IPv4 prefix too long": (
        "SET_RULE",
        [BR0, match(attr(M["SRC"], ip("10.0.0.0")), u8(M["SRC_PLEN"], 33)), rule()],
        errno.EINVAL,
        "prefix length is too large",
    ),
    "IPv6 prefix too long": (
        "SET_RULE",
        [BR0, match(attr(M["DST"], ip("fd00::")), u8(M["DST_PLEN"], 129)), rule()],
        errno.ERANGE,
        None,
    ),
    "address of 5 bytes": (
        "SET_RULE",
        [BR0, match(attr(M["SRC"], b"12345")), rule()],
        errno.EINVAL,
        "address has a wrong length",
    ),
    "address of 3 bytes": (
        "SET_RULE",
        [BR0, match(attr(M["SRC"], b"123")), rule()],
        errno.ERANGE,
        None,
    ),
    "IPv4 source, IPv6 target": (
        "SET_RULE",
        [BR0, match(attr(M["SRC"], ip("10.0.0.1")), attr(M["DST"], ip("fd00::1"))), rule()],
        errno.EINVAL,
        "do not agree",
    ),
    "address of another family": (
        "SET_RULE",
        [BR0, match(u8(M["FAMILY"], socket.AF_INET6), attr(M["SRC"], ip("10.0.0.1"))), rule()],
        errno.EINVAL,
        "do not agree",
    ),
    "unknown family": (
        "SET_RULE",
        [BR0, match(u8(M["FAMILY"], 99)), rule()],
        errno.EAFNOSUPPORT,
        "unknown address family",
    ),
    "TCP port 0": ("SET_RULE", [BR0, match(u16(M["DPORT"], 0)), rule()], errno.ERANGE, None),
    "mask without TCP port": (
        "SET_RULE",
        [BR0, match(u16(M["SPORT_MASK"], 1)), rule()],
        errno.EINVAL,
        "mask without TCP port",
    ),
    "mask of TCP ports 0": (
        "SET_RULE",
        [BR0, match(u16(M["DPORT"], 80), u16(M["DPORT_MASK"], 0)), rule()],
        errno.ERANGE,
        None,
    ),
    "mask without Ethernet address": (
        "SET_RULE",
        [BR0, match(attr(M["MAC_MASK"], bytes(5) + b"\1")), rule()],
        errno.EINVAL,
        "mask without Ethernet address",
    ),
    "Ethernet address without bits": (
        "SET_RULE",
        [BR0, match(attr(M["MAC"], bytes(6)), attr(M["MAC_MASK"], bytes(6))), rule()],
        errno.ERANGE,
        "of which no bit counts",
    ),
    "Ethernet address of 5 bytes": (
        "SET_RULE",
        [BR0, match(attr(M["MAC"], bytes(5))), rule()],
        errno.ERANGE,
        None,
    ),
    "mask without mark": (
        "SET_RULE",
        [BR0, match(u32(M["MARK_MASK"], 1)), rule()],
        errno.EINVAL,
        "mask without mark",
    ),
    "mark without bits": (
        "SET_RULE",
        [BR0, match(u32(M["MARK"], 1), u32(M["MARK_MASK"], 0)), rule()],
        errno.ERANGE,
        None,
    ),
    "iface-id too long": (
        "SET_RULE",
        [BR0, match(text(M["IFACE_ID"], "x" * 128)), rule()],
        errno.EINVAL,
        None,
    ),
    "VLAN 4096": ("SET_RULE", [BR0, match(u16(M["VLAN"], 4096)), rule()], errno.ERANGE, None),
    "device name too long": (
        "SET_RULE",
        [BR0, match(text(M["IFNAME"], "x" * 16)), rule()],
        errno.EINVAL,
        None,
    ),
    "unknown match attribute": (
        "SET_RULE",
        [BR0, match(attr(77, b"")), rule()],
        errno.EINVAL,
        None,
    ),
    "unknown rule attribute": (
        "SET_RULE",
        [BR0, match(), rule("cubic", attr(77, b""))],
        errno.EINVAL,
        None,
    ),
    "unknown attribute": (
        "SET_RULE",
        [BR0, match(), rule(), attr(99, b"1234")],
        errno.EINVAL,
        None,
    ),
    "attribute of the kernel's": (
        "SET_RULE",
        [BR0, match(), rule("cubic", u32(E["TCON_RULE_A_FLOWS"], 1))],
        errno.EINVAL,
        None,
    ),
    "nest of one byte": (
        "SET_RULE",
        [BR0, match(), attr(E["TCON_A_RULE"] | genl.NLA_F_NESTED, b"\x01")],
        errno.ERANGE,
        None,
    ),
    "nest of garbage": (
        "SET_RULE",
        [BR0, nest(E["TCON_A_RULE_MATCH"], b"\xff" * 13), rule()],
        errno.EINVAL,
        None,
    ),
    "nest without the flag": (
        "SET_RULE",
        [BR0, attr(E["TCON_A_RULE_MATCH"], b""), rule()],
        errno.EINVAL,
        None,
    ),
    "number of 3 bytes": (
        "SET_RULE",
        [BR0, match(attr(M["OFPORT"], b"123")), rule()],
        errno.EINVAL,
        None,
    ),
    "number of 2 bytes": (
        "SET_RULE",
        [BR0, match(), rule("cubic", attr(E["TCON_RULE_A_PRIORITY"], b"12"))],
        errno.EINVAL,
        None,
    ),
    "no such rule": ("DEL_RULE", [BR0, match(u16(M["DPORT"], 9))], errno.ENOENT, "no such rule"),
    "no rule of that priority": (
        "DEL_RULE",
        [BR0, match(), nest(E["TCON_A_RULE"], u32(E["TCON_RULE_A_PRIORITY"], 5))],
        errno.ENOENT,
        "no such rule",
    ),
    "delete without bridge": ("DEL_RULE", [match()], errno.EINVAL, "bridge must be named"),
    "unknown ifindex": ("SET_PORT", [BR0, port_attrs(99999)], errno.ENODEV, "ifindex"),
    "device of no datapath": ("SET_PORT", [BR0, port_attrs(1)], errno.ENODEV, "ifindex"),
    "port without attributes": ("SET_PORT", [BR0], errno.EINVAL, "port must be named"),
    "port without number": (
        "SET_PORT",
        [BR0, nest(E["TCON_A_PORT"], u32(E["TCON_PORT_A_IFINDEX"], 1))],
        errno.EINVAL,
        "needs ifindex, number and role",
    ),
    "port without bridge": ("SET_PORT", [port_attrs(1)], errno.EINVAL, "bridge must be named"),
    "role that only the kernel gives": (
        "SET_PORT",
        [BR0, port_attrs(1, E["TCON_ROLE_NEVER"])],
        errno.ERANGE,
        None,
    ),
    "unknown command": ("UNSPEC", [], errno.EOPNOTSUPP, ""),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_refused(
    port: str, tcon: genl.Genl, case: tuple[str, list[bytes], int, str | None]
) -> None:
    command, attrs, number, sentence = case
    tcon.set_rule("cubic")
    tcon.set_rule("bbr", u16(M["DPORT"], 80), priority=1)
    with refused(tcon, number, sentence):
        tcon.do(command, *attrs)


@pytest.mark.parametrize("command", ["SET_RULE", "SET_PORT", "DEL_RULE", "GET_INFO"])
@pytest.mark.parametrize("version", [0, genl.VERSION - 1, genl.VERSION + 1, 255])
def test_another_version_is_refused(port: str, tcon: genl.Genl, command: str, version: int) -> None:
    attrs = {
        "SET_RULE": [BR0, match(), rule()],
        "SET_PORT": [text(E["TCON_A_BRIDGE"], "brx"), port_attrs(rigs.Genl.ifindex(port))],
        "DEL_RULE": [BR0],
        "GET_INFO": [],
    }[command]
    tcon.set_rule("bbr")
    with refused(tcon, errno.EPROTONOSUPPORT, "version"):
        tcon.do(command, *attrs, version=version)


@pytest.mark.parametrize("command", ["GET_RULE", "GET_PORT", "GET_CC", "GET_FLOW"])
def test_dump_of_another_version_is_refused(port: str, tcon: genl.Genl, command: str) -> None:
    with refused(tcon, errno.EPROTONOSUPPORT, "version"):
        tcon.dump(command, version=genl.VERSION + 1)


def test_one_rule_is_told(port: str, tcon: genl.Genl) -> None:
    """By its place, or as that which a half-flow of a port obeys: with all that dumps have."""
    tcon.del_rules()
    dst = [u8(M["FAMILY"], socket.AF_INET), attr(M["DST"], ip("10.0.0.0")), u8(M["DST_PLEN"], 8)]
    tcon.set_rule("reno", *dst, priority=9)
    tcon.set_rule("cubic", u16(M["DPORT"], 80), priority=8, params={"beta": 800})
    tcon.set_rule("vegas", u16(M["VLAN"], 5), priority=7)
    tcon.set_rule("bbr", u32(M["MARK"], 3), attr(M["MAC"], bytes([2, 0, 0, 0, 0, 1])), priority=6)
    tcon.set_port(port)
    by_cc = {rule["cc"]: rule for rule in tcon.rules()}

    def told(*attrs: bytes) -> dict:
        (raw,) = tcon.do("GET_RULE", *attrs)
        return tcon.rule_of(raw)

    assert told(BR0, match(*dst), nest_priority(9)) == by_cc["reno"]
    at = nest(E["TCON_A_PORT"], u32(E["TCON_PORT_A_IFINDEX"], tcon.ifindex(port)))
    to = [u8(M["FAMILY"], socket.AF_INET), attr(M["DST"], ip("10.1.2.3"))]
    other = [to[0], attr(M["DST"], ip("11.1.2.3"))]
    http, mark = u16(M["DPORT"], 80), u32(M["MARK"], 3)
    mac = attr(M["MAC"], bytes([2, 0, 0, 0, 0, 1]))
    for flow, cc in (
        ([*to, http], "reno"), ([*other, http], "cubic"), ([http], "cubic"),
        ([*other, u16(M["VLAN"], 5)], "vegas"), ([mark, mac], "bbr"),
    ):  # fmt: skip
        assert told(at, match(*flow)) == by_cc[cc], cc
    for flow in ([], other, [mark], [u16(M["VLAN"], 0)]):
        with refused(tcon, errno.ENOENT, "no rule selects the flow"):
            told(at, match(*flow))
    for attrs, number, sentence in (
        ([BR0, match(*dst)], errno.ENOENT, "there is no such rule"),
        ([match(*dst)], errno.EINVAL, "a bridge must be named"),
        ([BR0, nest_priority(9)], errno.EINVAL, "a match must be given"),
        ([nest(E["TCON_A_PORT"]), match()], errno.EINVAL, "by its ifindex"),
        ([nest(E["TCON_A_PORT"], u32(E["TCON_PORT_A_IFINDEX"], 99999)), match()],
         errno.ENODEV, "no kernel datapath has a port with this ifindex"),
    ):  # fmt: skip
        with refused(tcon, number, sentence):
            told(*attrs)
    tcon.del_rules()


def test_flow_filter_is_checked(port: str, tcon: genl.Genl) -> None:
    with refused(tcon, errno.EINVAL, "prefix length without address"):
        tcon.dump("GET_FLOW", match(u8(M["SRC_PLEN"], 8)))
    with refused(tcon, errno.EINVAL, None):
        tcon.dump("GET_FLOW", match(attr(77, b"")))


@pytest.mark.machine
def test_nobody_may_change_or_learn_anything(port: str, tcon: genl.Genl) -> None:
    """Rules, ports and totals tell about tenants, too."""
    tcon.set_rule("cubic")
    before = everything(tcon)
    assert rigs.as_nobody(lambda c: c.set_rule("bbr")) == "EPERM"
    assert rigs.as_nobody(lambda c: c.del_rules()) == "EPERM"
    assert rigs.as_nobody(lambda c: c.set_port(port, bridge="brx")) == "EPERM"
    for what in ("GET_FLOW", "GET_RULE", "GET_PORT", "GET_CC"):
        assert rigs.as_nobody(lambda c, what=what: c.dump(what)) == "EPERM", what
    assert rigs.as_nobody(lambda c: c.do("GET_INFO")) == "EPERM"
    assert everything(tcon) == before


@pytest.mark.machine
def test_nobody_in_another_namespace_is_root_only_there(port: str, tcon: genl.Genl) -> None:
    """CAP_NET_ADMIN counts over the socket's namespace, which has its own rules."""
    tcon.set_rule("cubic")
    before = everything(tcon)
    with rigs.inside("g"):
        other = rigs.Genl()
    assert other.rules() == []
    assert other.ports() == []
    other.set_rule("bbr")
    assert len(other.rules()) == 1
    assert everything(tcon) == before
    other.del_rules()


@pytest.mark.both
def test_truncated_messages(port: str, tcon: genl.Genl) -> None:
    """Every prefix of a good request, its header's length telling the truth."""
    tcon.set_rule("bbr", u16(M["DPORT"], 81))
    before = everything(tcon)
    good = struct.pack("=BBH", E["TCON_CMD_SET_RULE"], genl.VERSION, 0)
    good += BR0 + match(attr(M["SRC"], ip("10.1.0.0")), u8(M["SRC_PLEN"], 16))
    good += rule("cubic", param("beta", 800))
    for size in range(len(good)):
        with pytest.raises(genl.Refused):
            list(tcon.raw(tcon.family, good[:size], NLM_F_ACK))
        assert everything(tcon) == before, f"{size} bytes of the request changed something"
    list(tcon.raw(tcon.family, good, NLM_F_ACK))
    assert len(tcon.rules()) == 2


def test_lengths_that_lie(port: str, tcon: genl.Genl) -> None:
    """Attributes that claim to be longer or shorter than they are."""
    before = everything(tcon)
    head = struct.pack("=BBH", E["TCON_CMD_SET_RULE"], genl.VERSION, 0)
    body = BR0 + match(u16(M["DPORT"], 443)) + rule()
    for at in (0, len(BR0), len(BR0) + 4, len(BR0 + match(u16(M["DPORT"], 443)))):
        (size,) = struct.unpack_from("=H", body, at)
        for lie in {0, 1, 2, 3, size - 1, size + 1, size + 5, 0x7FFF, 0xFFFF}:
            raw = body[:at] + struct.pack("=H", lie) + body[at + 2 :]
            with contextlib.suppress(genl.Refused):
                list(tcon.raw(tcon.family, head + raw, NLM_F_ACK))
                # A length within its padding may still mean the same request.
                assert size - 4 < lie < size + 4, f"a length of {lie} for {size} was taken"
                tcon.del_rules()
            assert everything(tcon) == before


def test_set_is_idempotent(port: str, tcon: genl.Genl) -> None:
    found = []
    for _ in range(2):
        tcon.set_rule("cubic", u16(M["DPORT"], 80), params={"beta": 800})
        tcon.set_rule("bbr", priority=7)
        tcon.set_port(port, ofport=1)
        found.append(everything(tcon))
    assert found[0] == found[1]
    assert len(tcon.rules()) == 2
    tcon.set_rule("bbr", u16(M["DPORT"], 80))  # another decision replaces
    assert [(r["cc"], r["priority"]) for r in tcon.rules()] == [("bbr", 32768), ("bbr", 7)]


def test_equal_prefixes_are_equal_matches(port: str, tcon: genl.Genl) -> None:
    for address in ("10.0.0.1", "10.0.0.77"):
        tcon.set_rule("cubic", attr(M["SRC"], ip(address)), u8(M["SRC_PLEN"], 24))
    assert len(tcon.rules()) == 1
    tcon.set_rule("cubic", attr(M["SRC"], ip("10.0.0.77")))
    assert len(tcon.rules()) == 2
    tcon.do("DEL_RULE", BR0, match(attr(M["SRC"], ip("10.0.0.9")), u8(M["SRC_PLEN"], 24)))
    assert len(tcon.rules()) == 1


def test_equal_sets_of_ports_are_equal_matches(port: str, tcon: genl.Genl) -> None:
    mask = u16(M["DPORT_MASK"], 0xFFF0)
    for dport in (80, 95):
        tcon.set_rule("cubic", u16(M["DPORT"], dport), mask)
    (found,) = tcon.rules()
    assert found["match"] == u16(M["DPORT"], 80) + mask
    tcon.set_rule("cubic", u16(M["DPORT"], 80), u16(M["DPORT_MASK"], 0xFFFF))  # that one only
    assert len(tcon.rules()) == 2
    tcon.do("DEL_RULE", BR0, match(u16(M["DPORT"], 90), mask))
    assert len(tcon.rules()) == 1


def test_rules_are_tried_by_priority_then_age(port: str, tcon: genl.Genl) -> None:
    for priority, dport in ((5, 1), (9, 2), (5, 3), (65535, 4), (0, 5)):
        tcon.set_rule("cubic", u16(M["DPORT"], dport), priority=priority)
    order = [
        int.from_bytes(dict(genl.parse(r["match"]))[M["DPORT"]], "little") for r in tcon.rules()
    ]
    assert order == [4, 2, 3, 1, 5]


@pytest.mark.both
def test_everything_of_a_rule_comes_back(port: str, tcon: genl.Genl) -> None:
    parts = [text(M["IFNAME"], port), u32(M["OFPORT"], 1), u8(M["FAMILY"], socket.AF_INET6),
             attr(M["SRC"], ip("fd00::")), u8(M["SRC_PLEN"], 64), attr(M["DST"], ip("fd01::1")),
             u8(M["DST_PLEN"], 128), u16(M["SPORT"], 1), u16(M["DPORT"], 65535),
             u16(M["VLAN"], 4095)]  # fmt: skip
    tcon.set_rule("cubic", *parts, priority=65535, params={"beta": 800})
    (found,) = tcon.rules()
    assert found["match"] == b"".join(parts)
    assert (found["cc"], found["priority"], found["bridge"]) == ("cubic", 65535, "br0")
    assert found["params"] == {"beta": 800}


def test_a_rule_keeps_its_parameters_while_its_cc_is_gone(tcon: genl.Genl) -> None:
    """Another version may come back: each parameter goes by its name, what has gone is lost."""
    params = {"good_segs": 20, "after_bytes": 7, "cwnd_bytes": 9}

    def given() -> dict[str, int]:
        return next(rule["params"] for rule in tcon.rules())

    with rigs.badcc():
        tcon.set_rule("badcc", params=params)
        assert given() == params
    assert given() == params
    with rigs.badcc():
        assert given() == params
    with rigs.badcc(other_version=1):
        assert given() == {"after_bytes": 7, "cwnd_bytes": 9}
        tcon.set_rule("badcc", params={"after_bytes": 7, "cwnd_bytes": 9})
        assert given() == {"after_bytes": 7, "cwnd_bytes": 9}


def test_long_dumps_are_complete(port: str, tcon: genl.Genl) -> None:
    """More rules than fit into one message, and the most that there may be."""
    for n in range(1, 1501):
        tcon.set_rule("cubic", u16(M["DPORT"], n))
    ports = [
        int.from_bytes(dict(genl.parse(r["match"]))[M["DPORT"]], "little") for r in tcon.rules()
    ]
    assert ports == list(range(1500, 0, -1))


@pytest.mark.machine
def test_too_many_rules_are_refused(port: str, tcon: genl.Genl) -> None:
    with rigs.inside("g"):  # its rules are tried for no flow
        other = rigs.Genl()
    for n in range(4096):
        other.set_rule("none", u16(M["DPORT"], n + 1))
    with refused(other, errno.ENOSPC, "too many rules"):
        other.set_rule("none", u16(M["SPORT"], 1))
    other.set_rule("none", u16(M["DPORT"], 1))  # but what is there may be set again
    assert len(other.rules()) == 4096
    other.del_rules()
    assert other.rules() == []


def _answer_s() -> float:
    """How long the daemon with TCon's commands takes to answer what costs nothing."""
    run = Path("/run/openvswitch")
    (path, *_) = [*run.glob("tcon-switchd.*.ctl"), *run.glob("ovs-vswitchd.*.ctl")]
    with socket.socket(socket.AF_UNIX) as control:
        control.connect(str(path))
        begin = time.monotonic()
        control.sendall(b'{"id":0,"method":"version","params":[]}')
        assert b'"id":0' in control.recv(4096)
        return time.monotonic() - begin


@pytest.mark.both
def test_dump_of_many_flows(port: str, tcon: genl.Genl) -> None:
    """Complete and without repeats, also filtered."""
    end = rigs.RawEnd("g-e", "g")
    before = tcon.info("FLOWS")
    try:
        for n in range(1200):
            segment = wire.Segment("10.3.0.1", f"10.3.{n % 7}.2", 30000 + n, 80,
                                   flags=wire.ACK, payload=b"x")  # fmt: skip
            end.send(segment.frame())
        mine = match(attr(M["SRC"], ip("10.3.0.1")))
        rigs.poll(lambda: tcon.info("FLOWS") >= before + 1200, "all flows are known")
        found = [f["sport"] for f in tcon.flows(mine)]
        assert sorted(found) == list(range(30000, 31200))
        part = tcon.flows(match(attr(M["DST"], ip("10.3.3.2"))))
        assert sorted(f["sport"] for f in part) == list(range(30003, 31200, 7))
        assert tcon.flows(BR0, mine)
        assert not tcon.flows(text(E["TCON_A_BRIDGE"], "brx"))
        assert not tcon.flows(match(text(M["IFNAME"], "nonsuch")))
    finally:
        end.close()
        with rigs.parameters(idle_s=0):
            rigs.poll(lambda: not tcon.flows(mine), "they are collected", 5, 0.2)


@pytest.mark.machine
def test_a_long_answer_lets_others_through(many_flows: Callable[[int], bytes]) -> None:
    """vswitchd does all else, too, while it lists many flows."""
    n_flows = int(os.environ.get("TCON_MANY_FLOWS", "1200"))
    with rigs.parameters(**ROOM):
        many_flows(n_flows)
        for form in ("-j", "-v", None):
            words = ["tcon/flows", "br0", f"limit={n_flows}", *([form] if form else [])]
            begin = time.monotonic()
            listing = subprocess.Popen(["ovs-appctl", *words], stdout=subprocess.PIPE)
            assert listing.stdout
            with ThreadPoolExecutor(1) as pool:
                out = pool.submit(listing.stdout.read)
                longest_s = 0.0
                while not out.done():
                    longest_s = max(longest_s, _answer_s())
                assert listing.wait() == 0
                lines = out.result()
            took_s = time.monotonic() - begin
            print(f"tcon/flows {form or ''}: {n_flows} flows in {took_s:.2f} s, {len(lines)} bytes;"
                  f" another command waited {longest_s * 1e3:.0f} ms at most")  # fmt: skip
            assert lines.count(b"10.5.0.2") == n_flows
            # Where CPU work is free, all of it takes microseconds.
            assert longest_s < max(took_s / 4, 1e-3), form


@pytest.mark.machine
def test_long_addresses_in_the_table(port: str, tcon: genl.Genl) -> None:
    """They have a line of their own, so the columns stay where they are."""
    guest, peer = (f"2001:db8:1234:5678:9abc:def0:1234:{n}" for n in (1111, 2222))
    end = rigs.RawEnd("g-e", "g")
    try:
        end.send(wire.Segment(guest, peer, 40000, 50000, flags=wire.ACK, payload=b"x").frame())
        listing = ("ovs-appctl", "tcon/flows", "br0", f"flow=ipv6_src={guest}")
        rigs.poll(lambda: guest in rigs.run(*listing), "the flow is known")
        head, place, ends, row = rigs.run(*listing).splitlines()
        assert place == "port p1"
        assert ends == f"[{guest}]:40000 [{peer}]:50000"
        assert row.split() == ["none", "observed", "no-rule"]
        assert [row.index(word) for word in row.split()] == [
            head.index(word) for word in ("CC", "STATE", "WHY")
        ]
    finally:
        end.close()


@pytest.mark.both
def test_dump_while_flows_come_and_go(port: str, tcon: genl.Genl) -> None:
    """Each that is there all the time is told once."""
    end, dumping = rigs.RawEnd("g-e", "g"), rigs.Genl()

    def send(first: int, flows: int) -> None:
        for n in range(first, first + flows):
            segment = wire.Segment("10.4.0.1", "10.4.0.2", n, 80, flags=wire.ACK, payload=b"x")
            end.send(segment.frame())

    mine = match(attr(M["SRC"], ip("10.4.0.1")))
    try:
        send(20000, 200)  # these go
        time.sleep(6)
        send(30000, 1000)
        rigs.poll(lambda: len(tcon.flows(mine)) == 1200, "all flows are known")
        parts, found = dumping.start_dump("GET_FLOW", mine), []
        for n, raw in enumerate(parts):
            found.append(genl.Genl.flow_of(raw)["sport"])
            if n == 300:
                with rigs.parameters(idle_s=5):
                    rigs.poll(lambda: len(tcon.flows(mine)) == 1000, "the old ones go", 4, 0.2)
                send(40000, 300)
        assert sorted(p for p in found if p >= 30000 and p < 40000) == list(range(30000, 31000))
        assert len(found) == len(set(found))
    finally:
        end.close()
        with rigs.parameters(idle_s=0):
            rigs.poll(lambda: not tcon.flows(mine), "they are collected", 5, 0.2)


def test_ccs_describe_themselves(port: str, tcon: genl.Genl) -> None:
    found = {}
    for raw in tcon.dump("GET_CC"):
        attrs = genl.parse(dict(genl.parse(raw))[E["TCON_A_CC"]])
        name = dict(attrs)[E["TCON_CC_A_NAME"]].rstrip(b"\0").decode()
        found[name] = [dict(genl.parse(p)) for kind, p in attrs if kind == E["TCON_CC_A_PARAM"]]
        for parameter in found[name]:
            low, value, high = (
                struct.unpack("=q", parameter[E[f"TCON_PARAM_A_{key}"]])[0]
                for key in ("MIN", "VALUE", "MAX_VALUE")
            )
            assert low <= value <= high
            assert len(parameter[E["TCON_PARAM_A_HELP"]]) > 1
    assert {"reno", "cubic", "vegas", "ctcp", "dctcp", "bbr", "bbr3"} <= found.keys()
    names = {
        cc: {p[E["TCON_PARAM_A_NAME"]].rstrip(b"\0").decode() for p in found[cc]}
        for cc in ("reno", "cubic", "vegas", "ctcp", "dctcp", "bbr3")
    }
    assert names["reno"] == {"beta_ecn", "weight"}
    assert names["cubic"] == {
        "beta", "c", "fast_convergence", "tcp_friendliness", "hystart", "rfc9438",
        "beta_ecn", "weight",
    }  # fmt: skip
    assert names["vegas"] == {"alpha", "beta", "gamma"}
    assert names["ctcp"] == {"alpha", "beta", "eta", "gamma", "gamma_low", "low_window"}
    assert names["bbr3"] == {"loss_thresh", "beta", "headroom", "probe_rtt_ms"}
    assert names["dctcp"] == {"dctcp_shift_g", "dctcp_alpha_on_init", "weight"}


@pytest.mark.both
def test_random_bytes(port: str, tcon: genl.Genl) -> None:
    """Good requests with a few bytes changed, and plain noise."""
    rng = random.Random(20260101)
    seeds = [
        (E["TCON_CMD_SET_RULE"], BR0 + match(attr(M["SRC"], ip("10.0.0.0")), u8(M["SRC_PLEN"], 8),
                                             u16(M["DPORT"], 80))
         + rule("cubic", param("beta", 800))),
        (E["TCON_CMD_DEL_RULE"], BR0 + match() + rule()),
        (E["TCON_CMD_SET_PORT"], BR0 + port_attrs(99999)),
        (E["TCON_CMD_GET_FLOW"], BR0 + match(u16(M["SPORT"], 5))),
        (E["TCON_CMD_GET_RULE"], b""),
    ]  # fmt: skip
    for _ in range(1500):
        command, body = rng.choice(seeds)
        raw = bytearray(struct.pack("=BBH", command, genl.VERSION, 0) + body)
        if rng.random() < 0.2:
            raw[4:] = rng.randbytes(rng.randrange(64))
        for _ in range(rng.randrange(4)):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
        flags = rng.choice((NLM_F_ACK, NLM_F_ACK, NLM_F_DUMP))
        with contextlib.suppress(genl.Refused):
            list(tcon.raw(tcon.family, bytes(raw), flags))
    for bridge in {str(r["bridge"]) for r in tcon.rules()}:
        tcon.del_rules(bridge)
    tcon.set_port(port)
    tcon.set_rule("cubic")
    assert [r["cc"] for r in tcon.rules()] == ["cubic"]


@pytest.mark.both
def test_changes_while_dumping(port: str, tcon: genl.Genl) -> None:
    """A dump that is read slowly while rules come and go ends."""
    for n in range(1, 1001):
        tcon.set_rule("none", u16(M["DPORT"], n))
    slow = rigs.Genl()
    answers = slow.raw(slow.family, GET_RULE, NLM_F_DUMP)
    next(answers)
    assert not slow.interrupted
    tcon.del_rules()
    tcon.set_rule("cubic")
    end = time.monotonic() + 5
    assert len(list(answers)) < 1000
    assert time.monotonic() < end
    assert slow.interrupted, "the dump does not say that it is of two states"
    assert len(tcon.rules()) == 1
    assert not tcon.interrupted


def test_other_rules_while_dumping(port: str, tcon: genl.Genl) -> None:
    """Rules that stay are told once, in their order, whatever comes and goes around them."""
    for n in range(1, 1001):
        tcon.set_rule("none", u16(M["DPORT"], n), priority=n)
    slow, found = rigs.Genl(), []
    for n, raw in enumerate(slow.start_dump("GET_RULE")):
        nest = dict(genl.parse(dict(genl.parse(raw))[E["TCON_A_RULE_MATCH"]]))
        found.append(int.from_bytes(nest[M["DPORT"]], "little"))
        if n % 100 == 50:  # this one, those that are told next, and new ones above and below
            for gone in range(found[-1], found[-1] - 3, -1):
                tcon.do("DEL_RULE", BR0, match(u16(M["DPORT"], gone)),
                        nest_priority(gone))  # fmt: skip
            tcon.set_rule("none", u16(M["DPORT"], 2000 + n), priority=65000)
            tcon.set_rule("none", u16(M["DPORT"], 3000 + n), priority=0)
    assert slow.interrupted
    staying = {
        int.from_bytes(dict(genl.parse(r["match"]))[M["DPORT"]], "little") for r in tcon.rules()
    }
    old = [n for n in found if n <= 1000]
    assert old == sorted(old, reverse=True)
    assert len(found) == len(set(found))
    assert staying & set(range(1001)) <= set(old)


#: For 65 536 flows at a port, which count as unconfirmed.
ROOM = {"max_flows": 131072, "max_flows_per_port": 65536, "max_embryos": 131072}


@pytest.fixture
def many_flows(port: str, tcon: genl.Genl) -> Iterator[Callable[[int], bytes]]:
    """Makes flows that stay silent then; returns what selects them."""
    end = rigs.RawEnd("g-e", "g")
    mine = match(attr(M["SRC"], ip("10.5.0.1")))

    def make(flows: int) -> bytes:
        frame = bytearray(wire.Segment("10.5.0.1", "10.5.0.2", 1, 80, flags=wire.ACK,
                                       payload=b"x").frame())  # fmt: skip
        for n in range(flows):
            frame[33:36] = (2 + n // 60000).to_bytes(1, "big") + (1 + n % 60000).to_bytes(2, "big")
            end.send(frame)
        rigs.poll(lambda: tcon.info("FLOWS") >= flows, "all flows are known")
        return mine

    yield make
    end.close()
    tcon.del_rules()
    with rigs.parameters(idle_s=0):
        rigs.poll(lambda: not tcon.flows(mine), "they are collected", 60, 0.2)


def with_rule(tcon: genl.Genl, mine: bytes) -> int:
    """How many flows have a rule."""
    return sum("priority" in flow for flow in tcon.flows(mine))


@contextlib.contextmanager
def at_once() -> Iterator[None]:
    """Keep workers off this CPU during the block."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


@pytest.mark.machine
def test_a_change_spreads_to_silent_flows(
    port: str, tcon: genl.Genl, many_flows: Callable[[int], bytes]
) -> None:
    """set-cc does not wait for them; it is shown that some are still to come."""
    mine = many_flows(4000)
    tcon.set_port(port)
    rigs.poll(lambda: not tcon.spreading(), "nothing is on its way")
    assert tcon.reasons()[E["TCON_REASON_NO_RULE"]] == 4000
    with rigs.inside("g"):  # who changes the rules of another namespace waits for nobody here
        other = rigs.Genl()
    other.set_rule("cubic")
    other.del_rules()
    assert not tcon.spreading()
    tcon.set_rule("cubic", bridge="br1")  # has no port
    assert not tcon.spreading()
    with at_once():
        tcon.set_rule("cubic")
        assert tcon.spreading()
        assert 0 < with_rule(tcon, mine) < 4000
    rigs.poll(lambda: not tcon.spreading(), "the change has come to all flows")
    assert with_rule(tcon, mine) == 4000
    assert tcon.reasons()[E["TCON_REASON_MID_STREAM"]] == 4000
    tcon.del_rules("br1")
    tcon.del_rules()
    rigs.poll(lambda: not tcon.spreading(), "the change has come to all flows")
    assert with_rule(tcon, mine) == 0


@pytest.mark.machine
def test_changes_let_others_run(
    port: str, tcon: genl.Genl, many_flows: Callable[[int], bytes]
) -> None:
    """Many flows, and many rules that select none of them."""
    flows, rules = int(os.environ.get("TCON_MANY_FLOWS", "4000")), 4095
    with rigs.parameters(**ROOM):
        mine = many_flows(flows)
        for n in range(rules):
            tcon.set_rule("none", u16(M["DPORT"], 1000 + n), priority=40000)

        def change() -> None:
            tcon.set_rule("cubic")
            rigs.poll(lambda: not tcon.spreading(), "the change has come to all flows", 20, 0.01)

        idle = rigs.longest_stretch_s(lambda: time.sleep(0.3))
        start = time.monotonic()
        longest = rigs.longest_stretch_s(change)
        took_s = time.monotonic() - start
        print(f"{flows} flows, {rules + 1} rules: {took_s:.3f} s, at most {longest * 1e6:.0f} us"
              f" without a pause, {idle * 1e6:.0f} us without a change")  # fmt: skip
        assert longest < 0.001
        assert with_rule(tcon, mine) == flows
        nobody = match(u16(M["SPORT"], 65535))  # a dump that finds nothing looks at all
        assert rigs.longest_stretch_s(lambda: tcon.flows(nobody)) < 0.001
