# SPDX-License-Identifier: GPL-2.0-only
"""The datapath against the model of a sender's buffer, over traces of user-space worlds."""

from __future__ import annotations

import dataclasses
import os
import random
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from buffer_model import NS, Buffer, Finding
from known import KNOWN, Known
from traces import ACCECN, Event, Frame, read, read_frame
from wire import ACK, CWR, ECE, FIN, PSH, SYN

TOP = Path(__file__).parents[3]
BUILD = TOP / "build/model"
OWN_MAKE = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
#: Cells of tests/goodput, each with one seed.
CELLS = (
    "bbr/bulk-loss/20/10000", "cubic/bulk/20/10000", "dctcp/bulk-loss/20/10000",
    "bbr/both/2/10000", "reno/both-loss/20/10000", "vivace/both-loss/20/10000",
    "bbr3/ask/20/10000", "copa/pause-loss/20/10000", "timely/bulk-loss/2/150000",
    "timely/lost-acks/20/10000", "bbr/next-hop/20/10000", "bbr/no-sack/20/10000",
    "bbr/prunes/20/10000", "bbr/thin-acks/20/10000",
)  # fmt: skip
#: Where nothing differs but headers; without pacing; and with data both ways.
PACED, UNPACED, BOTH = "bbr/bulk-loss/20/10000/", "dctcp/bulk-loss/20/10000/", "bbr/both/2/10000/"
INPUTS = 96
LEAST_JUDGED = 10_000  # segments, of about 14 000


def build(folder: str, target: str) -> Path:
    """A program of another folder of tests/, in a place of its own: since others build there."""
    out = BUILD / folder
    subprocess.run(["make", "-s", "-C", TOP / "tests" / folder, f"OUT={out}", out / target],
                   env=OWN_MAKE, check=True)  # fmt: skip
    return out / target


def recorded(trace: Path, *command: str | Path) -> list[list[Event]]:
    subprocess.run(command, env=os.environ | {"TCON_RECORD": str(trace)}, check=True,
                   capture_output=True)  # fmt: skip
    with trace.open() as lines:
        found = list(read(lines))
    trace.unlink()
    return found


def drawn_input(seed: int) -> bytes:
    """For fuzz_path: its ends, with a rule and a CC at first, and what happens to segments."""
    draw = random.Random(seed)
    ends = bytearray(draw.randbytes(4))
    ends[3] &= ~0x70
    return bytes(ends) + draw.randbytes(draw.choice((0, 2, 8, 30, 100, 300)))


@pytest.fixture(scope="session")
def traces(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Event]]:
    """Traces by name: cells with the number of their variant, and inputs of fuzz_path."""
    folder, made = tmp_path_factory.mktemp("traces"), {}
    goodput, fuzz = build("goodput", "goodput"), build("fuzz", "fuzz_path")
    for cell in CELLS:
        for n, events in enumerate(recorded(folder / "trace", goodput, "-s", "1", cell)):
            made[f"{cell}/{n}"] = events
    inputs = sorted((TOP / "tests/fuzz/found/fuzz_path").iterdir())
    for seed in range(INPUTS):
        (folder / f"{seed:03}").write_bytes(drawn_input(seed))
        inputs.append(folder / f"{seed:03}")
    for n, events in enumerate(recorded(folder / "trace", fuzz, *inputs)):
        made[f"input {n}"] = events
    return made


def known_of(name: str, finding: Finding) -> Known | None:
    for known in KNOWN:
        if finding.kind == known.kind and name.startswith(known.where):
            return known
    return None


def test_what_leaves_is_what_the_model_says(traces: dict[str, list[Event]]) -> None:
    met, unknown, judged = set(), [], 0
    for name, events in traces.items():
        buffer = Buffer()
        for finding in buffer.run(events):
            known = known_of(name, finding)
            met.add(known)
            if not known:
                unknown.append(f"{name} at {finding.ns / NS:.6f} s: {finding.kind} {finding.what}")
        judged += buffer.judged
    assert not unknown, "\n".join(unknown[:40])
    assert [known for known in KNOWN if known not in met and not known.rare] == []
    assert judged > LEAST_JUDGED


# --- what the model would find --------------------------------------------------------


def is_first(events: list[Event], n: int) -> bool:
    """Data leaves that waited: the pacer has let it go."""
    return (events[n].what == "left" and bool(events[n].frame.payload)
            and events[n - 1].what != "guest" and events[n - 1].ns > events[0].ns + NS // 50
            and events[n].frame.seq == max_seq(events[:n]))  # fmt: skip


def max_seq(events: list[Event]) -> int:
    """Number behind all that has left; no trace here wraps before its end."""
    isn = events[0].frame.seq
    ends = ((e.frame.seq + e.frame.span - isn) % 2**32 for e in events if e.what == "left")
    return (isn + max(ends, default=0)) % 2**32


def is_repair(events: list[Event], n: int) -> bool:
    event = events[n]
    if event.what != "left" or not event.frame.payload or events[n - 1].what == "guest":
        return False
    return event.frame.seq != max_seq(events[:n])


Change = Callable[[list[Event], int], list[Event]]


def header(**changes: object) -> Change:
    """The n-th event's frame says something else."""

    def change(events: list[Event], n: int) -> list[Event]:
        frame = dataclasses.replace(events[n].frame, raw=events[n].frame.raw + b"x", **changes)
        return [*events[:n], dataclasses.replace(events[n], frame=frame), *events[n + 1 :]]

    return change


def edited(edit: Callable[[Frame], dict[str, object]]) -> Change:
    return lambda events, n: header(**edit(events[n].frame))(events, n)


def is_claim(events: list[Event], n: int) -> bool:
    limits = events[n].limits
    return limits is not None and limits.state == "repair-enforced" and not limits.busy


def gone(events: list[Event], n: int) -> list[Event]:
    return events[:n] + events[n + 1 :]


def is_given(events: list[Event], n: int) -> bool:
    return events[n].what == "given" and not events[n].frame.flags & SYN


def claims(events: list[Event], n: int) -> list[Event]:
    """The tracker takes a byte less for in flight."""
    limits = dataclasses.replace(events[n].limits, inflight=events[n].limits.inflight - 1)
    return [*events[:n], dataclasses.replace(events[n], limits=limits), *events[n + 1 :]]


def twice(events: list[Event], n: int) -> list[Event]:
    return [*events[: n + 1], events[n], *events[n + 1 :]]


def too_early(events: list[Event], n: int) -> list[Event]:
    """Right after what left before it."""
    before = max(m for m in range(n) if events[m].what == "left" and events[m].frame.payload)
    moved = dataclasses.replace(events[n], ns=events[before].ns)
    return [*events[: before + 1], moved, *events[before + 1 : n], *events[n + 1 :]]


def too_late(events: list[Event], n: int) -> list[Event]:
    """It, and all that follows, comes 3 ms later."""
    busy = n - 1 if events[n - 1].limits and events[n - 1].limits.busy else n
    late = [dataclasses.replace(event, ns=event.ns + 3_000_000) for event in events[busy:]]
    return events[:busy] + late


def is_ack(events: list[Event], n: int) -> bool:
    """The guest's, without data, goes on as it is."""
    return (events[n].what == "left" and not events[n].frame.span
            and events[n].frame == events[n - 1].frame)  # fmt: skip


def untold(events: list[Event], n: int) -> list[Event]:
    """Let nothing that leaves from now on acknowledge more."""
    old = header(ack=events[n].frame.ack)
    for m in range(n, len(events)):
        if events[m].what == "left":
            events = old(events, m)
    return events


def newer_before(events: list[Event], n: int) -> list[Event]:
    """The first byte again, with a time stamp far ahead, which the peer remembers."""
    frame, isn = events[n].frame, events[0].frame.seq
    stamps = (frame.stamps[0] + 2**20, frame.stamps[1])
    first = dataclasses.replace(frame, seq=isn + 1, stamps=stamps, raw=b"")
    return [*events[:n], dataclasses.replace(events[n], frame=first), *events[n:]]


def sacked(events: list[Event], n: int) -> Event | None:
    """The segment that left and begins where the first SACK block of an ACK does."""
    if events[n].what != "peer" or not events[n].frame.sacks:
        return None
    starts = [start for start, _ in events[n].frame.sacks]
    return next((e for e in events[:n] if e.what == "left" and e.frame.seq in starts
                 and e.frame.payload), None)  # fmt: skip


def sacked_again(events: list[Event], n: int) -> list[Event]:
    first = sacked(events, n).frame
    again = dataclasses.replace(first, payload=first.payload[:1], gso=0, raw=b"")
    return [*events[: n + 1], Event(events[n].ns, "left", again), *events[n + 1 :]]


def ends_there(events: list[Event], n: int) -> list[Event]:
    return [event for m, event in enumerate(events) if m < n or event.what == "guest"]


def tsval(by: int) -> Change:
    return edited(lambda f: {"stamps": ((f.stamps[0] + by) % 2**32, f.stamps[1])})


def outer(**names: object) -> Change:
    return edited(lambda f: {"outer": f.outer | {k.replace("_", " "): v for k, v in names.items()}})


WRONG = {
    "first: ACK number": (is_first, edited(lambda f: {"ack": f.ack - 1000})),
    "first: window": (is_first, edited(lambda f: {"window": f.window - 1})),
    "first: ECN flags": (is_first, edited(lambda f: {"flags": f.flags | ECE})),
    "first: reports": (is_first, header(reports=frozenset([(ACCECN[0], b"123456789")]))),
    "first: TSecr": (is_first, edited(lambda f: {"stamps": (f.stamps[0], f.stamps[1] - 50)})),
    "first: MACs": (is_first, outer(MACs=bytes(12))),
    "first: VLAN tags": (is_first, outer(VLAN_tags=b"\x81\0\0\x07")),
    "first: addresses": (is_first, outer(addresses=bytes(8))),
    "first: DSCP": (is_first, outer(DSCP=46)),
    "repair: window": (is_repair, edited(lambda f: {"window": 0})),
    "repair: MACs": (is_repair, outer(MACs=bytes(12))),
    "repair: CWR": (is_repair, edited(lambda f: {"flags": f.flags | CWR})),
    "TSval: of no time": (is_first, tsval(2**20)),
    "TSval: none": (is_first, header(stamps=None)),
    "bytes: others": (
        is_first,
        edited(lambda f: {"payload": f.payload[:-1] + bytes([f.payload[-1] ^ 1])}),
    ),
    "bytes: PSH": (is_first, edited(lambda f: {"flags": f.flags | PSH})),
    "bytes: FIN": (is_first, edited(lambda f: {"flags": f.flags | FIN, "payload": f.payload[:-1]})),
    "lost: others leave before": (is_first, edited(lambda f: {"payload": f.payload[:-1]})),
    "lost: never left": (is_first, ends_there),
    "inflight": (is_claim, claims),
    "again: no reason": (is_first, twice),
    "given: acknowledges more": (is_given, edited(lambda f: {"ack": f.ack + 10**6})),
    "given: offers more": (is_given, edited(lambda f: {"window": f.window + 2**15})),
    "again: has arrived": (sacked, sacked_again),
    "TSval: the peer has a newer one": (is_first, newer_before),
    "early: clock": (is_first, too_early),
    "early: cwnd": (is_first, too_early, UNPACED),
    "late: data": (is_first, too_late),
    "late: repair": (is_repair, too_late),
    "late: ACK": (is_first, untold, BOTH),
    "late: ACK without data": (is_ack, gone, BOTH),
}


@pytest.mark.parametrize("kind", WRONG)
def test_the_model_finds(kind: str, traces: dict[str, list[Event]]) -> None:
    """At some places in the variants of a cell.

    Not all times that another one is put in place of are wrong: a clock and cwnd leave room.
    """
    where, change, cell = (*WRONG[kind], PACED)[:3]
    found = []
    for name in (name for name in traces if name.startswith(cell)):
        events = traces[name]
        before = [(finding.ns, finding.kind) for finding in Buffer().run(events)]
        places = [n for n in range(1, len(events))
                  if (events[n].ns, kind) not in before and where(events, n)]  # fmt: skip
        for n in places[len(places) // 4 :: max(len(places) // 3, 1)]:
            after = Counter(finding.kind for finding in Buffer().run(change(events, n)))
            found.append(after[kind] > [one for _, one in before].count(kind))
    assert any(found) if kind.startswith(("early", "late")) else found and all(found), found


def test_a_frame_is_read_whatever_it_is_in() -> None:
    tcp = bytes.fromhex("9c411451 00000007 00000009 8019 0bb8 0000 0000 0101050a 0000000100000003")
    head = bytes(range(12)) + bytes.fromhex("8100 0007 86dd 6b812345 0000 06 40") + bytes(range(32))
    frame = read_frame(head + tcp + b"abc", 1)
    assert frame.outer == {
        "MACs": bytes(range(12)), "VLAN tags": b"\x81\0\0\x07", "DSCP": 46, "flow label": 0x12345,
        "TTL": 64, "addresses": bytes(range(32)),
    }  # fmt: skip
    assert (frame.seq, frame.ack, frame.flags, frame.window) == (7, 9, ACK | PSH | FIN, 3000)
    assert (frame.sacks, frame.payload, frame.span) == ([(1, 3)], b"abc", 4)
    assert frame.header_bytes() == 3 * (len(head) + len(tcp))
