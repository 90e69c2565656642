# SPDX-License-Identifier: GPL-2.0-only
"""Reads scripts of packetdrill: the part of its language that the kernel's own tests use.

A script is options, a command that prepares, and events.  An event has a time and is a packet, a
system call, a shell command in back quotes, or Python in %{ }%.  Cardwell et al., "packetdrill:
Scriptable Network Stack Testing, from Sockets to Packets", USENIX ATC 2013.
"""

from __future__ import annotations

import ast
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from constants import constant

T = TypeVar("T")

_TOKEN = re.compile(
    r"(?P<space>[ \t\r\n]+|//[^\n]*|/\*.*?\*/)"
    r"|(?P<code>%\{.*?\}%)|(?P<command>`[^`]*`)"
    r'|(?P<string>"(?:\\.|[^"])*")'
    r"|(?P<option>--\w+)|(?P<dots>\.\.\.)|(?P<float>-?\d*\.\d+)"
    r"|(?P<word>\w+)|(?P<negative>-\d+)|(?P<sign>.)",
    re.S,
)
_ECN = {"noecn": 0, "ect1": 1, "ect0": 2, "ce": 3}
#: TCP flags by their letters; an accurate ECN field (ACE) is a digit.
_FLAG = {"F": 1, "S": 2, "R": 4, "P": 8, ".": 16, "U": 32, "E": 64, "W": 128, "A": 256}
_ACCURATE = {("e0b", "ceb", "e1b"): 172, ("e1b", "ceb", "e0b"): 174}
EOL, NOP, MSS, WSCALE, SACK_OK, SACK, TS, MD5, FAST_OPEN, EXPERIMENT = (
    0, 1, 2, 3, 4, 5, 8, 19, 34, 254,
)  # fmt: skip
_FAST_OPEN_MAGIC = b"\xf9\x89"

Option = tuple[int, bytes]


class Unreadable(Exception):  # noqa: N818 (as genl.Refused)
    """A script that is not in the language, or in a part of it that is not read."""


@dataclass(frozen=True)
class When:
    """Microseconds from the script's begin or, relative, from the event before.

    ``end_us``: of a range.  ``always``: at any time.
    """

    start_us: int = 0
    relative: bool = False
    end_us: int | None = None
    always: bool = False


@dataclass(frozen=True)
class Packet:
    """A TCP segment in the script's numbers.

    ``flags``: with AE as bit 8.  ``window`` and ``options``: None is any.  ``ecn``: None is any
    where it is expected and 0 where it is sent.
    """

    inbound: bool
    flags: int
    seq: int
    size: int
    ack: int = 0
    window: int | None = None
    urgent: int = 0
    options: tuple[Option, ...] | None = ()
    ecn: int | None = None


@dataclass(frozen=True)
class Icmp:
    """A message about a segment of the guest's."""

    kind: str
    code: str
    mtu: int
    seq: int


@dataclass(frozen=True)
class Call:
    """A system call; ``end_us``: it blocks until then."""

    name: str
    args: list[Any]
    result: Any
    errno: str | None
    end_us: int | None


@dataclass(frozen=True)
class Command:
    """A line of a shell."""

    text: str


@dataclass(frozen=True)
class Code:
    """Python that looks at tcp_info."""

    text: str


@dataclass(frozen=True)
class Event:
    """What happens, when, and in which line it is written."""

    line: int
    when: When
    action: Packet | Icmp | Call | Command | Code


@dataclass
class Script:
    """``options``: by name, "" without a value."""

    options: dict[str, str] = field(default_factory=dict)
    prepare: str = ""
    events: list[Event] = field(default_factory=list)
    cleanup: str = ""


@dataclass(frozen=True)
class Struct:
    """A structure in braces: what its fields are; `{..., 40}` has the field "" with a length."""

    fields: dict[str, Any]


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    line: int


def _tokens(text: str) -> Iterator[_Token]:
    line = 1
    for match in _TOKEN.finditer(text):
        kind, found = str(match.lastgroup), match[0]
        if kind != "space":
            yield _Token(kind, found, line)
        line += found.count("\n")


class _Parser:
    def __init__(self, text: str, defines: Mapping[str, str]) -> None:
        self.tokens = [*_tokens(text), _Token("end", "", text.count("\n") + 1)]
        self.at = 0
        self.defines = defines

    # --- tokens -------------------------------------------------------------------

    @property
    def next(self) -> _Token:
        return self.tokens[self.at]

    def take(self) -> _Token:
        self.at += 1
        return self.tokens[self.at - 1]

    def fail(self, wanted: str) -> Unreadable:
        return Unreadable(f'line {self.next.line}: {wanted} instead of "{self.next.text}"')

    def accept(self, *texts: str) -> bool:
        """Take these tokens, if they are the next."""
        found = tuple(token.text for token in self.tokens[self.at : self.at + len(texts)])
        if found == texts:
            self.at += len(texts)
        return found == texts

    def expect(self, *texts: str) -> None:
        for text in texts:
            if not self.accept(text):
                raise self.fail(text)

    def kind(self, *kinds: str) -> str:
        if self.next.kind not in kinds:
            raise self.fail(" or ".join(kinds))
        return self.take().text

    def number(self) -> int:
        try:
            return int(self.kind("word", "negative"), 0)
        except ValueError:
            self.at -= 1
            raise self.fail("a number") from None

    def after(self, word: str, otherwise: T, read: Callable[[], Any]) -> Any | T:
        return read() if self.accept(word) else otherwise

    # --- a script -------------------------------------------------------------------

    def script(self) -> Script:
        script = Script()
        while self.next.kind == "option":
            name = self.take().text[2:]
            script.options[name] = self.after("=", "", lambda: self.take().text)
        if self.next.kind == "command":
            script.prepare = self.take().text[1:-1]
        while self.next.kind not in ("end", "command"):
            script.events.append(self.event())
        if self.next.kind == "command":
            script.cleanup = self.take().text[1:-1]
        if self.next.kind != "end":
            raise self.fail("the end")
        return script

    def event(self) -> Event:
        line, when = self.next.line, self.when()
        if self.next.text in "<>" and self.next.kind == "sign":
            inbound = self.take().text == "<"
            return Event(line, when, self.packet(inbound))
        if self.next.kind == "command":
            return Event(line, when, Command(self.take().text[1:-1]))
        if self.next.kind == "code":
            return Event(line, when, Code(self.take().text[2:-2].strip(" \t")))
        return Event(line, when, self.call())

    def when(self) -> When:
        if self.accept("*"):
            return When(always=True)
        relative = self.accept("+")
        start_us = self.time_us()
        end_us = None
        if self.accept("~"):
            if relative:
                self.expect("+")
            end_us = self.time_us()
        return When(start_us, relative, end_us)

    def time_us(self) -> int:
        try:
            return round(float(self.kind("float", "word")) * 1e6)
        except ValueError:
            self.at -= 1
            raise self.fail("a time") from None

    # --- packets --------------------------------------------------------------------

    def packet(self, inbound: bool) -> Packet | Icmp:
        ecn = None
        if self.accept("["):
            name = self.kind("word")
            if name not in _ECN:
                raise Unreadable(f"line {self.next.line}: [{name}]")
            ecn = _ECN[name]
            self.expect("]")
        if self.accept("icmp"):
            return self.icmp()
        flags = self.flags()
        seq, size = self.range()
        return Packet(
            inbound, flags, seq, size,
            self.after("ack", 0, self.number),
            self.after("win", None, self.number),
            self.after("urg", 0, self.number),
            self.after("<", (), self.options),
            ecn,
        )  # fmt: skip

    def flags(self) -> int:
        letters = ""
        while self.tokens[self.at + 1].text != ":":
            letters += self.take().text
        flags = 0
        for letter in letters.replace("-", ""):
            if letter.isdigit():
                ace = int(letter)
                flags |= 64 * (ace & 1) | 128 * (ace >> 1 & 1) | 256 * (ace >> 2 & 1)
            elif letter in _FLAG:
                flags |= _FLAG[letter]
            else:
                raise self.fail("TCP flags")
        return flags

    def range(self) -> tuple[int, int]:
        """Sequence numbers, as in 1:11(10): the first, and the length."""
        first = self.number()
        self.expect(":")
        last = self.number()
        self.expect("(")
        size = self.number()
        self.expect(")")
        if last != first + size:
            raise self.fail("a length that goes with its numbers")
        return first, size

    def icmp(self) -> Icmp:
        kind = self.kind("word")
        code = ""
        if self.next.kind == "word" and self.next.text != "mtu":
            code = self.take().text
        mtu = self.after("mtu", 0, self.number)
        self.expect("[")
        seq, _ = self.range()
        self.expect("]")
        return Icmp(kind, code, mtu, seq)

    def options(self) -> tuple[Option, ...] | None:
        if self.accept("...", ">"):
            return None
        options = [self.option()]
        while self.accept(","):
            options.append(self.option())
        self.expect(">")
        if sum(len(body) + (1 if kind <= NOP else 2) for kind, body in options) % 4:
            raise self.fail("options that fill words")
        return tuple(options)

    def option(self) -> Option:
        name = self.kind("word")
        if name in ("nop", "eol", "sackOK"):
            return {"nop": NOP, "eol": EOL, "sackOK": SACK_OK}[name], b""
        if name == "mss":
            return MSS, struct.pack("!H", self.number())
        if name == "wscale":
            return WSCALE, bytes([self.number()])
        if name == "TS":
            self.expect("val")
            value = self.number()
            self.expect("ecr")
            return TS, struct.pack("!II", value, self.number())
        if name == "sack":
            return SACK, self.blocks()
        if name == "ECN":
            return self.accurate_ecn()
        kinds = {"md5": (MD5, b""), "FO": (FAST_OPEN, b""), "FOEXP": (EXPERIMENT, _FAST_OPEN_MAGIC)}
        if name not in kinds:
            raise self.fail(f"no option {name}")
        kind, magic = kinds[name]
        return kind, magic + self.blob()

    def blocks(self) -> bytes:
        raw = b""
        while self.next.text not in ",>":
            left = self.number()
            self.expect(":")
            raw += struct.pack("!II", left, self.number())
        return raw

    def accurate_ecn(self) -> Option:
        names: list[str] = []
        raw = b""
        while self.next.text in ("e0b", "e1b", "ceb"):
            names.append(self.take().text)
            raw += self.number().to_bytes(3, "big")
        for order, kind in _ACCURATE.items():
            if tuple(names) == order[: len(names)]:
                return kind, raw
        raise self.fail("counters in an order that there is")

    def blob(self) -> bytes:
        if self.next.text in (",", ">"):
            return b""
        word = self.kind("word")
        return bytes.fromhex(self.defines.get(word, word))

    # --- system calls ---------------------------------------------------------------

    def call(self) -> Call:
        end_us = self.after("...", None, self.time_us)
        name = self.kind("word")
        self.expect("(")
        args = self.list(")")
        self.expect("=")
        result = self.expression()
        errno = self.take().text if re.fullmatch(r"E[A-Z0-9]+", self.next.text) else None
        if self.accept("("):  # a note
            while not self.accept(")"):
                self.take()
        return Call(name, args, result, errno, end_us)

    def list(self, end: str) -> list[Any]:
        found: list[Any] = []
        while not self.accept(end):
            found.append(self.expression())
            if self.next.text != end:
                self.expect(",")
        return found

    def expression(self) -> Any:
        value = self.operand()
        while self.accept("|"):
            value |= self.operand()
        return value

    def operand(self) -> Any:
        if self.accept("..."):
            return ...
        if self.accept("["):
            return self.list("]")
        if self.accept("{"):
            return self.struct()
        if self.next.kind == "string":
            return self.string()
        word = self.kind("word", "negative")
        if word[0].isdigit() or word[0] == "-":
            return int(word, 0)
        word = self.defines.get(word, word)
        try:
            return constant(word)
        except KeyError:
            raise Unreadable(f"line {self.next.line}: nothing is known of {word}") from None

    def string(self) -> bytes:
        return bytes(ast.literal_eval(f"b{self.take().text}"))

    def struct(self) -> Struct:
        if self.accept("...", ","):  # an iovec
            size = self.number()
            self.expect("}")
            return Struct({"": size})
        fields: dict[str, Any] = {}
        while not self.accept("}"):
            name = self.kind("word")
            if self.accept("("):
                self.list(")")
            self.expect("=")
            fields[name] = self.expression()
            if self.next.text != "}":
                self.expect(",")
        return Struct(fields)


def parse(text: str, defines: Mapping[str, str] | None = None) -> Script:
    """A script; ``defines``: what words in it stand for.  Raises Unreadable."""
    return _Parser(text, defines or {}).script()
