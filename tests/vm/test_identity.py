# SPDX-License-Identifier: GPL-2.0-only
"""Honest ends on TCon (ends.py): what it may change of what they say, and what it may not.

Under a CC without limits nothing changes: no byte, no order, no time.  Under a CC that makes data
wait, what leaves says what the guest said last, as the header of any sender does.

Each question is one test; they share the runs.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator

import genl
import pytest
import rig as rigs
import wire
from ends import Frame, Habits, Road, Scenario, Step, World
from rig import TSO, Conn, counted, state
from wire import ACK, CWR, ECE, SYN

pytestmark = pytest.mark.script
Taps = tuple[rigs.Tap, rigs.Tap]

MACS = [bytes((2, 0, 0, 0, 1, n)) for n in range(4)]
ANY_STATE = 4  # packets between two looks at a flow's state
DELAYED_ACK_NS = 50_000_000  # longer than any delay of a receiver's here
TALKS, WAITING_TALKS = 60, 150


class Found(dict[str, str]):
    """The findings, by their kind: the first of each."""

    def note(self, kind: str, what: object) -> None:
        self.setdefault(kind, f"{rigs.now_s():.6f} {what}")


# --- scenarios --------------------------------------------------------------------


def draw_steps(draw: random.Random) -> tuple[list[Step], list[Step]]:
    """A talk: bulk one way and both ways, questions and answers, rests, and an end to each half."""
    guest, peer = [Step()], [Step()]
    said = {id(guest): 0, id(peer): 0}

    def say(who: list[Step], other: list[Step], heard: int, most: int) -> None:
        rest = draw.choice((0, 0, 0.002, 0.05, 0.7))
        deaf = draw.choice((0, 0, 0, 0.03, 0.3))
        size = draw.choice((1, 200, draw.randrange(most), most))
        who.append(Step(heard, rest, size, deaf))
        said[id(who)] += size

    for _ in range(draw.randrange(2, 6)):
        one, two = (guest, peer) if draw.random() < 0.5 else (peer, guest)
        kind = draw.choice(("bulk", "both", "both", "ask"))
        for _ in range(3 if kind == "ask" else 1):
            heard = said[id(one)]
            say(one, two, said[id(two)], 3000 if kind == "ask" else 150_000)
            if kind == "both":
                say(two, one, heard + 1, 150_000)
            elif kind == "ask":
                say(two, one, said[id(one)], 20_000)
    first, last = (guest, peer) if draw.random() < 0.5 else (peer, guest)
    first.append(Step(said[id(last)], closes=True))
    if draw.random() < 0.5:  # the other half goes on
        say(last, first, said[id(first)], 60_000)
    last.append(Step(said[id(first)], closes=True))
    return guest, peer


def draw_habits(draw: random.Random, ecn: str) -> Habits:
    scale = draw.choice((None, 0, 2, 7, 7, 10))
    partial = draw.random() < 0.8
    return Habits(
        isn=draw.choice((0, 2**32 - 20_000, draw.randrange(2**32))),
        mss=draw.choice((1460, 1460, 1400, 1220, 536)),
        wscale=scale,
        buffer_bytes=draw.choice((20_000, 65_000, 400_000)) if scale else 64_000,
        ts=draw.random() < 0.8,
        sack=draw.random() < 0.85,
        dsack=draw.random() < 0.8,
        ecn=ecn and draw.choice((ecn, ecn, "")),
        burst_segs=draw.choice((1, 2, 10, 40)) if partial else 1,
        partial=partial,
        delay_s=draw.choice((0.0, 0.004)),
        rethinks=draw.random() < 0.5,
        byte_probe=draw.random() < 0.3,
    )


_ports = iter(range(30_000, 60_000))


def draw_ways(draw: random.Random) -> tuple[wire.Segment, ...]:
    """Headers of the guest's packets: a next hop, then another one, and back."""
    six = draw.random() < 0.4
    first = wire.Segment(
        *(("fd00::1", "fd01::2") if six else ("10.0.0.1", "10.0.1.2")), next(_ports), 5201,
        src_mac=MACS[0], dst_mac=MACS[1], tos=draw.choice((0, 0, 0x28)),
        vlans=draw.choice(((), (), (10,), (10, 20), (0x6005,))),
        flow_label=draw.randrange(1, 2**20) if six else 0,
    )  # fmt: skip
    label = draw.randrange(1, 2**20) if six else 0
    return first, first.but(dst_mac=MACS[2]), first.but(src_mac=MACS[3], flow_label=label), first


def draw_scenario(seed: int, lossy: bool, reports: bool = True) -> Scenario:
    """@lossy: what the guest sends may be lost behind TCon; @reports: what it is sent may be."""
    draw = random.Random(f"{seed} {lossy} {reports}")
    ecn = draw.choice(("", "", "ecn", "accecn"))
    steps = draw_steps(draw)
    delay = draw.choice((0.01, 0.01, 0.04))
    return Scenario(
        seed, draw_habits(draw, ecn), draw_habits(draw, ecn), *steps,
        ways=draw_ways(draw), way_s=draw.choice((0.05, 0.2)), peer_opens=draw.random() < 0.3,
        out=Road(delay, draw.choice((0, 0.01, 0.03)) if lossy else 0,
                 draw.choice((0, 0.02)) if lossy else 0),
        back=Road(delay, draw.choice((0, 0.01, 0.05)) if reports else 0,
                  draw.choice((0, 0.05)) if reports else 0, draw.choice((0, 0.3)) if lossy else 0),
    )  # fmt: skip


PLAIN = wire.Segment("fd00::1", "fd01::2", 0, 5201, src_mac=MACS[0], dst_mac=MACS[1], flow_label=1)
GUEST, PEER = Habits(isn=5000, ts=False, burst_segs=4), Habits(isn=7000, ts=False, burst_segs=2)


def special(
    guest: Habits,
    peer: Habits,
    steps: list[Step],
    answers: list[Step],
    delay_s: float = 0.01,
    **changes: object,
) -> Scenario:
    return Scenario(
        0, guest, peer, steps, answers, (PLAIN.but(sport=next(_ports)),),
        out=Road(delay_s), back=Road(delay_s), **changes,
    )  # fmt: skip


def specials() -> Iterator[tuple[Scenario, dict[str, int]]]:
    """Moments that a drawn talk seldom has."""
    # Waiting data was sent with a buffer that was full.  The buffer is read, and the next segment
    # says so.
    full = dataclasses.replace(GUEST, buffer_bytes=3000, wscale=0)
    talk = [Step(deaf_s=0.06), Step(rest_s=0.045, says=11_000), Step(heard=1000, says=1460)]
    yield (
        special(
            full,
            PEER,
            [*talk, Step(heard=20_000, closes=True)],
            [Step(says=20_000), Step(heard=12_460, closes=True)],
        ),
        rigs.constant_cwnd(2),
    )
    # The answer to a question waits behind what was said before.
    talk = [Step(says=30_000), Step(heard=1, says=12_000), Step(heard=2921, says=1000)]
    yield special(GUEST, PEER, [*talk, Step(closes=True)],
                  [Step(heard=30_000, says=1), Step(rest_s=0.005, says=2920),
                   Step(heard=43_000, closes=True)]), {"cwnd_bytes": 2_000_000,
                                                       "pacing_bps": 50_000}  # fmt: skip


# --- judges -----------------------------------------------------------------------


class Looks:
    """Looks at a flow's state now and then."""

    def __init__(self, found: Found, tcon: genl.Genl, sport: int) -> None:
        self.found, self.tcon, self.sport, self.seen = found, tcon, sport, 0

    def saw(self, entered: Frame | None, left: list[Frame]) -> None:
        """Nothing that honest ends do may lower it."""
        self.seen += 1
        if self.seen % ANY_STATE:
            return
        flow = rigs.find_flow(self.tcon, self.sport)
        if not flow:
            return
        state, reason = genl.STATES[flow["state"]], genl.REASONS[flow["reason"]]
        if reason not in ("handshake", "closed", "rule-none") and state != "repair-enforced":
            self.found.note(f"state: {reason}", state)


class Same(Looks):
    """Each frame that enters leaves as it is, at once, and nothing else leaves."""

    def saw(self, entered: Frame | None, left: list[Frame]) -> None:
        super().saw(entered, left)
        if entered is None or len(left) != 1 or left[0].at_guest == entered.at_guest:
            self.found.note("order or time", (entered, left))
        elif dataclasses.replace(left[0], at_guest=True, segment=entered.segment) != (
            dataclasses.replace(entered, at_guest=True)
        ):
            self.found.note("bytes", (entered, left))


class Says(Looks):
    """Headers that leave say what the guest said last, whenever their data is from."""

    def __init__(self, found: Found, tcon: genl.Genl, sport: int) -> None:
        super().__init__(found, tcon, sport)
        self.said: Frame | None = None  # the guest's newest
        self.before: Frame | None = None  # the one before, where the newest enters now
        self.isn = self.left = 0
        self.told: int | None = None  # what the peer was told that the guest has
        self.untold_ns = 0
        self.accurate = False
        self.repairs = self._repairs()
        self.stamps: dict[int, int] = {}
        self.peer = PeerSays(found)

    def saw(self, entered: Frame | None, left: list[Frame]) -> None:
        super().saw(entered, left)
        self.before = None
        if entered and entered.at_guest:
            self.before = self.said
            self._guest_said(entered)
        elif entered:
            self.peer.said(entered)
        for frame in left:
            if not frame.sums_ok:
                self.found.note("checksum", frame)
            if frame.at_guest:
                self.peer.given(frame, entered)
            elif not entered or frame.raw != entered.raw:
                self._left(frame)
            if not frame.at_guest:
                self.left = max(self.left, self._end(frame) if frame.segment.span else 0)
                self._tell(frame.segment)
        self._note_untold()

    def _tell(self, got: wire.Segment) -> None:
        if got.flags & ACK:
            self.told = got.ack if self.told is None else newer(got.ack, self.told)

    def _end(self, frame: Frame) -> int:
        """Number of the byte after a segment of the guest's."""
        return (frame.segment.seq + frame.segment.span - self.isn) % 2**32

    def _is_repair(self, frame: Frame) -> bool:
        """Is it a repair of TCon's?  It may be a repeat of the guest's as well, which waited."""
        if self._end(frame) > self.left:
            return False
        before, self.repairs = self.repairs, self._repairs()
        return self.repairs != before

    def _repairs(self) -> int:
        counters = self.tcon.counters()
        return counters["repair-sent"] + counters["probe-sent"]

    def _guest_said(self, entered: Frame) -> None:
        got = entered.segment
        self.said = entered
        if got.flags & SYN:
            self.isn, self.told = got.seq, None
        self.accurate |= got.ae
        stamps, size = got.timestamps(), entered.gso_bytes or max(len(got.payload), 1)
        if stamps and got.span:
            for at in range(0, max(len(got.payload), 1), size):
                self.stamps.setdefault((got.seq + at) % 2**32, stamps[0])

    def _left(self, frame: Frame) -> None:
        """It waited, or is a repair, or an ACK that TCon made."""
        assert self.said
        got, said = frame.segment, self.said
        what = "repair" if self._is_repair(frame) else "held"
        what = what if got.span else "ACK"
        wrong = self._wrong(frame, said, what)
        if wrong and got.span and self.before:  # it may have left just before the guest said that
            wrong &= self._wrong(frame, self.before, what)
        for name in wrong:
            self.found.note(name, (got.but(payload=b""), said.segment.but(payload=b"")))

    def _wrong(self, frame: Frame, newest: Frame, what: str) -> set[str]:
        """The fields of a header in which it differs from the guest's newest one."""
        got, said = frame.segment, newest.segment
        fits = {
            "ACK number": got.ack == said.ack,
            "window": got.window == said.window,
            "ECN flags": (got.ae, got.flags & ECE) == (said.ae, said.flags & ECE),
            "CWR": what == "held" or self.accurate or not got.flags & CWR,
            "MACs and tags": frame.link == newest.link,
            "flow label": got.flow_label == said.flow_label,
            "addresses": (got.src, got.dst, got.tos >> 2) == (said.src, said.dst, said.tos >> 2),
            "SACK blocks": set(reports(got)) <= set(reports(said)),
            "TSval": self._tsval_fits(got, said),
            "TSecr": (got.timestamps() or (0, 0))[1] == (said.timestamps() or (0, 0))[1],
        }
        return {f"{what}: {name}" for name, fit in fits.items() if not fit}

    def _tsval_fits(self, got: wire.Segment, said: wire.Segment) -> bool:
        """It is no older than the original's, and no newer than the newest."""
        stamps, newest = got.timestamps(), said.timestamps()
        if not stamps or not newest:
            return stamps == newest
        first = self.stamps.get(got.seq, stamps[0]) if got.span else stamps[0]
        return (stamps[0] - first) % 2**32 <= (newest[0] - first) % 2**32 < 2**31

    def _note_untold(self) -> None:
        """The peer hears of two segments without delay (RFC 5681, 4.2)."""
        if self.told is None or (self.said.segment.ack - self.told) % 2**32 < 2 * 1460:
            self.untold_ns = 0
        elif not self.untold_ns:
            self.untold_ns = rigs.now_ns()
        elif rigs.now_ns() - self.untold_ns > DELAYED_ACK_NS:
            self.found.note("late: ACK", (self.said.segment.ack, self.told))


class PeerSays:
    """The guest gets what the peer said, with a window that may be smaller.

    Data may repeat the acknowledgment number that the guest was given last.
    """

    def __init__(self, found: Found) -> None:
        self.found = found
        self.scale = self.edge = self.next = self.tsval = 0
        self.told: int | None = None

    def said(self, entered: Frame) -> None:
        got = entered.segment
        if got.flags & SYN:
            scales = [body[0] for kind, body in wire.options(got.options) if kind == 3]
            self.scale = scales[0] if scales else 0
            self.next, self.edge = got.seq, got.ack
        self.next = newer((got.seq + got.span) % 2**32, self.next)
        shift = 0 if got.flags & SYN else self.scale
        self.edge = newer((got.ack + (got.window << shift)) % 2**32, self.edge)
        if stamps := got.timestamps():
            self.tsval = newer(stamps[0], self.tsval or stamps[0])

    def given(self, frame: Frame, entered: Frame | None) -> None:
        got, stamps = frame.segment, frame.segment.timestamps()
        if not got.flags & SYN:
            edge = (got.ack + (got.window << self.scale)) % 2**32
            if newer(edge, self.edge) != self.edge:
                self.found.note("given: more window", got.but(payload=b""))
        if entered and not entered.at_guest and got.span == entered.segment.span > 0:
            said = entered.segment
            if got.ack == self.told:
                said = said.but(ack=self.told)
            if got.but(window=said.window, options=said.options, flags=said.flags, sums_ok=True,
                       tos=said.tos) != said.but(vlans=got.vlans, partial=False):  # fmt: skip
                self.found.note("given: other data", (got.but(payload=b""), said.but(payload=b"")))
        elif entered is None and (got.span or got.seq != self.next):
            self.found.note("given: SEQ", (got, self.next))
        elif entered is None and stamps and stamps[0] != self.tsval:
            self.found.note("given: TSval", (got, self.tsval))
        if got.flags & ACK:
            self.told = got.ack if self.told is None else newer(got.ack, self.told)


def newer(a: int, b: int) -> int:
    """The later one of two sequence numbers."""
    return a if (a - b) % 2**32 < 2**31 else b


def reports(segment: wire.Segment) -> list[bytes]:
    """A segment's reports of what its end has got: SACK blocks one by one, and AccECN's counts."""
    found = [b"%d-%d" % block for block in wire.sack_blocks(segment.options)]
    return found + [body for kind, body in wire.options(segment.options) if kind in (172, 174)]


# --- runs -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def taps(machine: None) -> Iterator[Taps]:
    """A guest's port and an uplink; both take super-packets."""
    made = rigs.Rig()
    try:
        yield made.taps(TSO, TSO)
    finally:
        made.close()


def run(taps: Taps, scenario: Scenario, judge: Looks) -> float:
    """To its end; what the ends found out is noted, too.  How long it took."""
    world = World(*taps, scenario, judge)
    took_s = world.run()
    if not world.done:
        judge.found.note("it does not end", scenario)
    for name, end in (("guest", world.guest), ("peer", world.peer)):
        for note in end.notes:
            judge.found.note(f"{name}: {note}", scenario.seed)
    return took_s


#: Findings of groups of runs, by their names.
_done: dict[str, Found] = {}


def without_limits(taps: Taps, tcon: genl.Genl, losses: bool) -> Found:
    """Talks under a CC without limits; @losses: of what the peer sends."""
    name = f"without limits {losses}"
    if name not in _done:
        found, before = _done.setdefault(name, Found()), tcon.counters()
        tcon.set_rule("unlimited", bridge="br1")
        for seed in range(TALKS):
            scenario = draw_scenario(seed, False, losses)
            run(taps, scenario, Same(found, tcon, scenario.ways[0].sport))
        for counter, value in tcon.counters().items():
            if value != before[counter] and counter not in BOOKKEEPING:
                found.note(f"counter: {counter}", value - before[counter])
        tcon.del_rules("br1")
    return _done[name]


def draw_params(draw: random.Random) -> dict[str, int]:
    """A cwnd that is too small for what the guest has to send, or a pace that is too slow."""
    if draw.random() < 0.5:
        return rigs.constant_cwnd(draw.choice((2, 4, 10, 30)))
    return {"cwnd_bytes": 2_000_000, "pacing_bps": draw.choice((2_000_000, 20_000_000))}


def waiting(taps: Taps, tcon: genl.Genl) -> Found:
    """Talks under a CC for which data waits, over a path that loses."""
    if "waiting" not in _done:
        found = _done.setdefault("waiting", Found())
        talks = [
            (draw_scenario(seed, True), draw_params(random.Random(seed)))
            for seed in range(WAITING_TALKS)
        ]
        with rigs.badcc():
            for scenario, params in (*talks, *specials()):
                tcon.set_rule("badcc", bridge="br1", params=params)
                run(taps, scenario, Says(found, tcon, scenario.ways[0].sport))
            tcon.del_rules("br1")
    return _done["waiting"]


# --- without limits ---------------------------------------------------------------

#: Counters that any packet moves.  A segment that may begin a train waits for the softirq's end.
#: A peer's repeats in vain are no news.
BOOKKEEPING = {
    "flows-new", "flows-closed", "flows-idle", "flows-reused", "data-out", "ack-in", "window-kept",
    "rule-moved", "held", "released", "out-of-window",
}  # fmt: skip


@pytest.mark.parametrize("losses", [False, True], ids=["no loss", "peer's losses"])
def test_without_limits_nothing_changes(taps: Taps, tcon: genl.Genl, losses: bool) -> None:
    """Every packet, both ways, leaves as it came and at once, and no special case is counted."""
    assert not without_limits(taps, tcon, losses)


def test_limits_are_seen(taps: Taps, tcon: genl.Genl) -> None:
    """The judge of identity finds what any other CC does."""
    found = Found()
    tcon.set_rule("cubic", bridge="br1")
    for seed in range(10):
        scenario = draw_scenario(seed, True)
        run(taps, scenario, Same(found, tcon, scenario.ways[0].sport))
    assert {"order or time", "bytes"} <= found.keys()


# --- what waits -------------------------------------------------------------------


def test_ends_find_nothing_without_a_rule(taps: Taps, tcon: genl.Genl) -> None:
    """So a finding with a rule is TCon's doing."""
    found = Found()
    tcon.set_rule("none", bridge="br1")
    talks = [draw_scenario(seed, True) for seed in range(30)]
    for scenario in (*talks, *(scenario for scenario, _ in specials())):
        run(taps, scenario, Says(found, tcon, scenario.ways[0].sport))
    assert not found


class Stale(Says):
    """Takes what the guest said before for what it said last."""

    def _guest_said(self, entered: Frame) -> None:
        before = self.said
        super()._guest_said(entered)
        self.said = before or entered


def test_what_waits_is_looked_at(taps: Taps, tcon: genl.Genl) -> None:
    """The judge finds each field that is not the newest."""
    found = Found()
    with rigs.badcc():
        for seed in range(40):
            scenario = draw_scenario(seed, True)
            params = draw_params(random.Random(seed))
            tcon.set_rule("badcc", bridge="br1", params=params)
            run(taps, scenario, Stale(found, tcon, scenario.ways[0].sport))
    for what in ("held", "repair"):
        for field in ("ACK number", "window", "TSecr", "MACs and tags", "flow label"):
            assert f"{what}: {field}" in found


def test_what_leaves_says_what_the_guest_said_last(taps: Taps, tcon: genl.Genl) -> None:
    """And each end takes it for what its peer has said; and all of it ends."""
    assert not waiting(taps, tcon)


# --- a way that is dead -----------------------------------------------------------


@pytest.mark.parametrize("kind", ["another next hop", "another flow label"])
def test_way_that_dies(taps: Taps, tcon: genl.Genl, kind: str) -> None:
    """A flow goes on as soon as its guest takes another one: keepalived, or sk_rethink_txhash()."""
    took_s = {}
    for cc in ("none", "unlimited"):
        guest = dataclasses.replace(GUEST, rethinks=kind == "another flow label")
        scenario = special(
            guest, PEER, [Step(says=300_000), Step(closes=True)],
            [Step(heard=300_000, closes=True)], dies_s=0.1, way_s=0.15, limit_s=100,
        )  # fmt: skip
        if kind == "another next hop":
            way = scenario.ways[0]
            scenario = dataclasses.replace(scenario, ways=(way, way.but(dst_mac=MACS[2])))
        tcon.set_rule(cc, bridge="br1")
        judge = Looks(Found(), tcon, scenario.ways[0].sport)
        took_s[cc] = run(taps, scenario, judge)
    assert took_s["unlimited"] < 2 * took_s["none"]


# --- moments ----------------------------------------------------------------------


def test_repeat_with_sack_blocks_is_no_smaller_mtu(
    ends: tuple[rigs.RawEnd, rigs.RawEnd], tcon: genl.Genl
) -> None:
    """Both directions have losses: the guest's repeat has less payload, as Linux makes it."""
    tcon.set_rule("cubic")
    conn = Conn(*ends).handshake()
    sent = [conn.guest_sends(ACK, bytes(1448)) for _ in range(6)]
    blocks = wire.NOP * 2 + wire.opt_sack((conn.peer_nxt + 5000, conn.peer_nxt + 6000))
    again = sent[0].but(options=sent[0].options + blocks, payload=bytes(1436))
    with counted(tcon, mtu_fell=0):
        conn.guest.send(again.frame())
    assert state(tcon, conn.sport)[0] == "repair-enforced"


def test_repeat_of_two_segments_is_no_smaller_mtu(
    ends: tuple[rigs.RawEnd, rigs.RawEnd], tcon: genl.Genl
) -> None:
    """Without the SACK blocks of the first one it takes less than that did (RFC 9293, 3.8.1)."""
    tcon.set_rule("cubic")
    conn = Conn(*ends).handshake()
    first = conn.from_guest(ACK, bytes(100))
    at = conn.peer_nxt
    blocks = wire.NOP * 2 + wire.opt_sack((at + 5000, at + 6000), (at + 7000, at + 8000))
    conn.guest.send(first.but(options=first.options + blocks).frame())
    conn.guest_nxt += 100
    assert conn.receive(conn.peer)
    conn.guest_sends(ACK, bytes(10))
    with counted(tcon, mtu_fell=0):
        conn.guest.send(conn.from_guest(ACK, bytes(110), seq=first.seq).frame())
    assert state(tcon, conn.sport)[0] == "repair-enforced"


def test_scale_that_the_answer_does_not_have(
    ends: tuple[rigs.RawEnd, rigs.RawEnd], tcon: genl.Genl
) -> None:
    """A SYN is lost; the next has no options; the answer has none (RFC 7323, 2.2): no scale."""
    tcon.set_rule("cubic")
    conn = Conn(*ends)
    conn.guest_sends(SYN)
    conn.guest_sends(SYN, options=b"", seq=conn.isn[0])
    conn.ts, conn.scales, conn.guest_nxt = False, (None, None), conn.isn[0] + 1
    conn.peer_sends(SYN | ACK, options=b"")
    conn.guest_sends()
    assert state(tcon, conn.sport)[0] == "repair-enforced"
