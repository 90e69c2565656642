# SPDX-License-Identifier: GPL-2.0-only
"""A data packet and its ACK, of an enforced flow that is neither paced nor loses anything: how many
files they cross, and how many lines of cache of the half-flow they take.

Both are read again with each packet: files by whoever looks for a fault on the way, lines by a CPU
with many flows.  From 10000 flows on a packet takes three times as long as among 64.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TOP = HERE.parents[2]
PROGRAM = TOP / "build/crossings/crossings"
LINE_BYTES = 64
#: As many that round trips are known, and handshake and first flight are long over.
ROUNDS = 201
PATH = "datapath/path.c"


@dataclass
class Way:
    """The effects of one packet: files in the order of its stays there, and the half-flow's lines
    of cache, each with the code that touched it.
    """

    stays: list[str] = field(default_factory=list)
    lines: dict[int, set[str]] = field(default_factory=dict)

    def returns(self, file: str) -> int:
        """How often it comes back to a file that it has left."""
        return self.stays.count(file) - 1


def _places(addresses: set[str]) -> dict[str, str]:
    """FILE:LINE in the tree, by address in the program."""
    ordered = sorted(addresses)
    command = ["addr2line", "-e", str(PROGRAM), *ordered]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")
    texts = (text.partition(" ")[0].replace("../", "").removeprefix("./") for text in found)
    return dict(zip(ordered, texts, strict=False))


def _walk(events: list[list[str]], places: dict[str, str]) -> Way:
    way, stack = Way(), [PATH]
    stays = []
    for what, *rest in events:
        if what == "+":
            file = places[rest[0]].partition(":")[0]
            stack.append(
                stack[-1] if file.endswith(".h") else file
            )  # inline, but for this compiler
        elif what == "-":
            stack.pop()
        else:
            at, size = int(rest[0]), int(rest[1])
            for line in range(at // LINE_BYTES, (at + size - 1) // LINE_BYTES + 1):
                way.lines.setdefault(line, set()).add(places[rest[2]])
        stays.append(stack[-1])
    way.stays = [file for file, _ in groupby(stays)]
    return way


@pytest.fixture(scope="module", autouse=True)
def _program() -> None:
    subprocess.run(["make", "-s", "-C", HERE], check=True)


def ways(cc: str) -> dict[str, Way]:
    """The last round of a flow that obeys ``cc``: "data" and "ACK"."""
    command = [str(PROGRAM), cc, str(ROUNDS)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    events = [line.split() for line in printed.splitlines()]
    places = _places({event[-1] for event in events if event[0] in ("+", "r", "w")})
    starts = [i for i, event in enumerate(events) if event[0] == "packet"] + [len(events)]
    return {events[a][1]: _walk(events[a + 1 : b], places) for a, b in pairwise(starts)}


@pytest.mark.parametrize("cc", ["cubic", "reno"])
@pytest.mark.parametrize(("packet", "most"), [("data", 12), ("ACK", 16)])
def test_lines_of_cache(cc: str, packet: str, most: int) -> None:
    lines = ways(cc)[packet].lines
    assert len(lines) <= most, sorted(lines.items())


@pytest.mark.parametrize(("packet", "most"), [("data", 18), ("ACK", 25)])
def test_files(packet: str, most: int) -> None:
    way = ways("cubic")[packet]
    assert len(set(way.stays)) <= most, way.stays


@pytest.mark.parametrize("packet", ["data", "ACK"])
def test_returns(packet: str) -> None:
    way = ways("cubic")[packet]
    assert way.returns(PATH) <= 3, way.stays
