# SPDX-License-Identifier: GPL-2.0-only
"""A generic netlink client as small as tests of the protocol need it.

Tests must be able to send what no library would: truncated attributes, other
versions, garbage in a nest.  Attribute numbers and names come from the UAPI
header itself, so that they cannot drift.  Layout: linux/netlink.h,
linux/genetlink.h.
"""

from __future__ import annotations

import errno
import os
import re
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP = 1, 4, 0x300
NLM_F_DUMP_INTR = 0x10
NLMSG_ERROR, NLMSG_DONE = 2, 3
NLA_F_NESTED = 0x8000
_GENL_ID_CTRL, _CTRL_CMD_GETFAMILY = 0x10, 3
_CTRL_ATTR_FAMILY_ID, _CTRL_ATTR_FAMILY_NAME = 1, 2
_NETLINK_GENERIC = 16
_SOL_NETLINK, _NETLINK_EXT_ACK = 270, 11
_NLMSGERR_ATTR_MSG = 1
_HEADER = struct.Struct("=IHHII")
_GENL = struct.Struct("=BBH")

HEADER = Path(os.environ.get("TCON_UAPI", "/lab/uapi/tcon.h"))


def _enums(text: str) -> dict[str, int]:
    """Values of all enumerators that the header counts up from zero."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    values: dict[str, int] = {}
    for body in re.findall(r"enum \w+ \{(.*?)\};", text, flags=re.S):
        if "#define" in body:
            continue
        for number, name in enumerate(n for n in re.findall(r"\w+", body)):
            values[name] = number
    for macro, prefix in (("TCON_REASONS", "TCON_REASON_"), ("TCON_COUNTERS", "TCON_COUNTER_")):
        block = text.split(f"#define {macro}(X)")[1].split("\n\n")[0]
        for number, name in enumerate(re.findall(r"X\((\w+),", block)):
            values[prefix + name] = number
    return values


def _names(text: str, macro: str) -> list[str]:
    block = text.split(f"#define {macro}(X)")[1].split("\n\n")[0]
    return re.findall(r'X\(\w+,\s*"([^"]+)"', block)


_TEXT = HEADER.read_text()
E = _enums(_TEXT)
REASONS = _names(_TEXT, "TCON_REASONS")
COUNTERS = _names(_TEXT, "TCON_COUNTERS")
ECN_MODES = _names(_TEXT, "TCON_ECN_MODES")
LIMITS = _names(_TEXT, "TCON_LIMITS")
STATES = re.findall(r'"([^"]+)"', re.search(r"TCON_STATE_NAMES \{(.*)\}", _TEXT)[1])
VERSION = 3


def attr(kind: int, payload: bytes) -> bytes:
    """One attribute, padded to four bytes."""
    size = 4 + len(payload)
    return struct.pack("=HH", size, kind) + payload + b"\0" * (-size % 4)


def u8(kind: int, value: int) -> bytes:
    return attr(kind, struct.pack("=B", value))


def u16(kind: int, value: int) -> bytes:
    return attr(kind, struct.pack("=H", value))


def u32(kind: int, value: int) -> bytes:
    return attr(kind, struct.pack("=I", value))


def s64(kind: int, value: int) -> bytes:
    return attr(kind, struct.pack("=q", value))


def text(kind: int, value: str) -> bytes:
    return attr(kind, value.encode() + b"\0")


def nest(kind: int, *parts: bytes) -> bytes:
    return attr(kind | NLA_F_NESTED, b"".join(parts))


def parse(raw: bytes) -> list[tuple[int, bytes]]:
    """Attributes of a payload as (type without flags, payload)."""
    found, at = [], 0
    while at + 4 <= len(raw):
        size, kind = struct.unpack_from("=HH", raw, at)
        found.append((kind & 0x3FFF, raw[at + 4 : at + size]))
        at += (size + 3) & ~3
    return found


class Refused(Exception):  # noqa: N818 (it is an answer, not a fault)
    """The kernel's error: errno and the sentence of its extended ACK."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(f"{errno.errorcode.get(number, number)}: {message}")
        self.errno = number
        self.message = message


class Genl:
    """A socket that talks to one family; raises Refused(ENOENT) without it."""

    def __init__(self, family: str = "tcon") -> None:
        self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_GENERIC)
        self.sock.setsockopt(_SOL_NETLINK, _NETLINK_EXT_ACK, 1)
        self.sock.bind((0, 0))
        self._sequence = 0
        self.interrupted = False  # the last dump: what was dumped has changed meanwhile
        request = _GENL.pack(_CTRL_CMD_GETFAMILY, 1, 0) + text(_CTRL_ATTR_FAMILY_NAME, family)
        reply = list(self.raw(_GENL_ID_CTRL, request, NLM_F_ACK))
        attrs = dict(parse(reply[0][4:]))
        (self.family,) = struct.unpack("=H", attrs[_CTRL_ATTR_FAMILY_ID])

    def raw(
        self, kind: int, payload: bytes, flags: int, length: int | None = None
    ) -> Iterator[bytes]:
        """Send a message; yields payloads of the answers. `length` overrides its header's."""
        self._sequence += 1
        self.interrupted = False
        size = _HEADER.size + len(payload) if length is None else length
        header = _HEADER.pack(size, kind, NLM_F_REQUEST | flags, self._sequence, 0)
        self.sock.send(header + payload)
        while True:
            data, at = self.sock.recv(1 << 18), 0
            while at < len(data):
                size, kind, marks, _, _ = _HEADER.unpack_from(data, at)
                self.interrupted |= bool(flags & NLM_F_DUMP and marks & NLM_F_DUMP_INTR)
                body = data[at + _HEADER.size : at + size]
                at += (size + 3) & ~3
                if kind in (NLMSG_ERROR, NLMSG_DONE):
                    (code,) = struct.unpack_from("=i", body)
                    if code:
                        raise Refused(-code, self._message(body, kind))
                    return
                yield body

    @staticmethod
    def _message(body: bytes, kind: int) -> str:
        if kind == NLMSG_DONE:
            rest = body[4:]
        else:
            # The request is echoed on errors unless the ACK is capped.
            (size,) = struct.unpack_from("=I", body, 4)
            rest = body[4 + ((size + 3) & ~3) :]
        for number, payload in parse(rest):
            if number == _NLMSGERR_ATTR_MSG:
                return payload.rstrip(b"\0").decode()
        return ""

    def do(self, command: str, *attrs: bytes, version: int = VERSION) -> list[bytes]:
        """A request with ACK; answers' attributes."""
        payload = _GENL.pack(E[f"TCON_CMD_{command}"], version, 0) + b"".join(attrs)
        return [body[4:] for body in self.raw(self.family, payload, NLM_F_ACK)]

    def dump(self, command: str, *attrs: bytes, version: int = VERSION) -> list[bytes]:
        """A dump; one bytes object with the attributes per object."""
        return list(self.start_dump(command, *attrs, version=version))

    def start_dump(self, command: str, *attrs: bytes, version: int = VERSION) -> Iterator[bytes]:
        """The same, object after object: the kernel makes the next part when it is read."""
        payload = _GENL.pack(E[f"TCON_CMD_{command}"], version, 0) + b"".join(attrs)
        return (body[4:] for body in self.raw(self.family, payload, NLM_F_DUMP))

    # Helpers of several tests ------------------------------------------------

    def counters(self) -> dict[str, int]:
        """The namespace's counters by name."""
        (reply,) = self.do("GET_INFO")
        info = dict(parse(dict(parse(reply))[E["TCON_A_INFO"]]))
        raw = info[E["TCON_INFO_A_COUNTERS"]]
        return dict(zip(COUNTERS, struct.unpack(f"={len(raw) // 8}Q", raw), strict=True))

    def info(self, name: str) -> int:
        """A number of TCON_A_INFO by its attribute's short name, e.g. FLOWS."""
        (reply,) = self.do("GET_INFO")
        raw = dict(parse(dict(parse(reply))[E["TCON_A_INFO"]]))[E[f"TCON_INFO_A_{name}"]]
        return int.from_bytes(raw, "little")

    def spreading(self) -> bool:
        """Is a change of rules still on its way to flows?"""
        (reply,) = self.do("GET_INFO")
        return E["TCON_INFO_A_SPREADING"] in dict(parse(dict(parse(reply))[E["TCON_A_INFO"]]))

    def reasons(self) -> list[int]:
        """How many flows have which reason now."""
        (reply,) = self.do("GET_INFO")
        raw = dict(parse(dict(parse(reply))[E["TCON_A_INFO"]]))[E["TCON_INFO_A_REASONS"]]
        return list(struct.unpack(f"={len(raw) // 8}Q", raw))

    def attach(self) -> str:
        """The way in that tcon.ko uses."""
        (reply,) = self.do("GET_INFO")
        info = dict(parse(dict(parse(reply))[E["TCON_A_INFO"]]))
        return info[E["TCON_INFO_A_ATTACH"]].rstrip(b"\0").decode()

    @staticmethod
    def ifindex(ifname: str) -> int:
        """A device's index.  Raises OSError."""
        return socket.if_nametoindex(ifname)

    def set_port(
        self, ifname: str, bridge: str = "br0", ofport: int = 1, role: str = "AUTO"
    ) -> None:
        """Tell the kernel about a port."""
        port = nest(
            E["TCON_A_PORT"],
            u32(E["TCON_PORT_A_IFINDEX"], self.ifindex(ifname)),
            u32(E["TCON_PORT_A_OFPORT"], ofport),
            u8(E["TCON_PORT_A_ROLE"], E[f"TCON_ROLE_{role}"]),
        )
        self.do("SET_PORT", text(E["TCON_A_BRIDGE"], bridge), port)

    def set_rule(
        self,
        cc: str,
        *match: bytes,
        bridge: str = "br0",
        priority: int = 32768,
        params: dict[str, int] | None = None,
        ecn: int | None = None,
        fallback: str | None = None,
        rto_min_us: int | None = None,
    ) -> None:
        """Put a rule into force."""
        parts = [u32(E["TCON_RULE_A_PRIORITY"], priority), text(E["TCON_RULE_A_CC"], cc)]
        if ecn is not None:
            parts.append(u8(E["TCON_RULE_A_ECN"], ecn))
        if fallback is not None:
            value = E[f"TCON_RULE_FALLBACK_{fallback.upper()}"]
            parts.append(u8(E["TCON_RULE_A_FALLBACK"], value))
        if rto_min_us is not None:
            parts.append(u32(E["TCON_RULE_A_RTO_MIN_US"], rto_min_us))
        for name, value in (params or {}).items():
            parts.append(
                nest(
                    E["TCON_RULE_A_PARAM"],
                    text(E["TCON_PARAM_A_NAME"], name),
                    s64(E["TCON_PARAM_A_VALUE"], value),
                )
            )
        self.do(
            "SET_RULE",
            text(E["TCON_A_BRIDGE"], bridge),
            nest(E["TCON_A_RULE_MATCH"], *match),
            nest(E["TCON_A_RULE"], *parts),
        )

    def del_rules(self, bridge: str = "br0") -> None:
        """Remove all rules of a bridge."""
        self.do("DEL_RULE", text(E["TCON_A_BRIDGE"], bridge))

    def flows(self, *attrs: bytes) -> list[dict[str, int | str | bytes]]:
        """Half-flows; keys are the attributes' short names in lower case."""
        return [self.flow_of(raw) for raw in self.dump("GET_FLOW", *attrs)]

    def held_bytes(self) -> int:
        """Payload that waits, of all half-flows."""
        return sum(int(flow["held_bytes"]) for flow in self.flows())

    @classmethod
    def flow_of(cls, raw: bytes) -> dict[str, int | str | bytes]:
        """A half-flow out of its message."""
        return cls._named(dict(parse(raw))[E["TCON_A_FLOW"]], "TCON_FLOW_A_")

    def ports(self) -> list[dict[str, int | str | bytes]]:
        """Ports; keys as for flows(), and "bridge"."""
        found = []
        for raw in self.dump("GET_PORT"):
            attrs = dict(parse(raw))
            port = self._named(attrs[E["TCON_A_PORT"]], "TCON_PORT_A_")
            port["bridge"] = attrs.get(E["TCON_A_BRIDGE"], b"").rstrip(b"\0").decode()
            found.append(port)
        return found

    def rules(self) -> list[dict[str, Any]]:
        """Rules in the order in which they are tried.

        "match" is the raw nest, "params" has the parameters that are not defaults.  How old a rule
        is, is left out: it changes all the time.
        """
        return [self.rule_of(raw) for raw in self.dump("GET_RULE")]

    @classmethod
    def rule_of(cls, raw: bytes) -> dict[str, Any]:
        """A rule out of its message."""
        attrs = dict(parse(raw))
        rule = cls._named(attrs[E["TCON_A_RULE"]], "TCON_RULE_A_")
        del rule["age_ms"]
        rule.pop("pad", None)  # as the place in the message has it
        rule["params"] = cls._params(attrs[E["TCON_A_RULE"]])
        rule["bridge"] = attrs[E["TCON_A_BRIDGE"]].rstrip(b"\0").decode()
        rule["match"] = attrs.get(E["TCON_A_RULE_MATCH"], b"")
        return rule

    @staticmethod
    def _params(raw: bytes) -> dict[str, int]:
        found = {}
        for kind, payload in parse(raw):
            if kind == E["TCON_RULE_A_PARAM"]:
                attrs = dict(parse(payload))
                name = attrs[E["TCON_PARAM_A_NAME"]].rstrip(b"\0").decode()
                found[name] = struct.unpack("=q", attrs[E["TCON_PARAM_A_VALUE"]])[0]
        return found

    @staticmethod
    def _named(raw: bytes, prefix: str) -> dict[str, int | str | bytes]:
        names = {v: k[len(prefix) :].lower() for k, v in E.items() if k.startswith(prefix)}
        strings = {"ifname", "bridge", "cc", "cc_info"}
        found: dict[str, int | str | bytes] = {}
        for kind, payload in parse(raw):
            name = names[kind]
            if name == "param":
                continue
            if name in strings:
                found[name] = payload.rstrip(b"\0").decode()
            elif name in ("src", "dst"):
                found[name] = payload
            else:
                found[name] = int.from_bytes(payload, "little")
        return found
