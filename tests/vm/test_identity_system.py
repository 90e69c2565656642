# SPDX-License-Identifier: GPL-2.0-only
"""Two ends with Linux's own stack, and TCon between, under a CC without limits.

Frames that enter the bridge leave it byte for byte, headers and all, in order, both ways; nothing
else does.  test_identity.py is the same with ends that do more, and sees times.

Super-packets are as devices have them.  Where guests make none TCon does not either (merge): what
it merges is a question of test_merge.py.
"""

from __future__ import annotations

import itertools
import socket
import threading
import time
from collections import Counter
from functools import partial

import pytest
import rig as rigs
import wire
from capture import both_ways, capture
from hosts import PORT, Net, some_bytes
from rig import poll, run

#: Counters that any packet moves.  A segment that may begin a train waits for the softirq's end.
BOOKKEEPING = {
    "flows-new", "flows-closed", "data-out", "ack-in", "window-kept", "rule-moved", "not-tcp",
    "held", "released",
}  # fmt: skip
BULK_BYTES, ANSWER_BYTES, QUESTIONS = 400_000, 20_000, 10
#: For the router's filters, by protocol.  Data is longer than 1023 bytes, and ECT(0) where the ends
#: speak ECN; questions, ACKs and SYNs are neither.
SHORT = {"ip": "match u16 0 0xfc00 at 2", "ipv6": "match u16 0 0xfc00 at 4"}
ECT = {"ip": "match u8 2 3 at 1", "ipv6": "match u8 0x20 0x30 at 1"}
MARK = {
    "ip": "pedit munge offset 1 u8 set 3 retain 3 pipe action csum ip4h",
    "ipv6": "pedit munge offset 1 u8 set 0x30 retain 0x30",
}


def trouble(device: str, *filters: str) -> None:
    """Filters of what the router gets by a device, in order; it overtakes nothing there."""
    lines = [f"qdisc add dev {device} ingress"]
    lines += [f"filter add dev {device} parent ffff: protocol {words}" for words in filters]
    run("tc", "-batch", "-", ns="r", stdin="\n".join(lines) + "\n")


def lose(device: str, protocol: str) -> None:
    """Some data.  A guest that hears of no ACK for long repeats what has arrived, and TCon keeps
    that back: so no ACK alone is lost.
    """
    trouble(
        device,
        f"{protocol} pref 1 u32 {SHORT[protocol]} action ok",
        f"{protocol} pref 2 matchall action ok random netrand drop 50",
    )


def mark(device: str, protocol: str) -> None:
    """Some data."""
    action = f"action ok random netrand pipe 20 action {MARK[protocol]}"
    trouble(device, f"{protocol} pref 1 u32 {ECT[protocol]} {action}")


class Talk:
    """Bulk both ways over one connection, then questions and answers."""

    def __init__(self, net: Net, family: int) -> None:
        address = net.addresses[family == 6]
        kind = socket.AF_INET6 if family == 6 else socket.AF_INET
        with (
            rigs.inside(net.server),
            socket.create_server((address, PORT), family=kind) as listener,
        ):
            with rigs.inside(net.guest):
                self.guest = socket.create_connection((address, PORT), 20)
            self.peer, _ = listener.accept()
        self.server = net.server
        self.sport = self.guest.getsockname()[1]
        self.wrong: list[str] = []
        for end in (self.guest, self.peer):
            end.settimeout(60)

    def _reads(self, end: socket.socket, wanted: bytes) -> None:
        got = bytearray()
        while len(got) < len(wanted) and (part := end.recv(1 << 16)):
            got += part
        if got != wanted:
            self.wrong.append(f"{len(got)} of {len(wanted)} bytes, or others")

    def both(self) -> None:
        """The peer has more to send: what the guest sends is heard of by the ACKs of that."""
        guest, peer = some_bytes(BULK_BYTES), some_bytes(2 * BULK_BYTES)
        calls = (
            (self.guest.sendall, guest), (self.peer.sendall, peer),
            (self._reads, self.guest, peer), (self._reads, self.peer, guest),
        )  # fmt: skip
        threads = [threading.Thread(target=call, args=words) for call, *words in calls]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def ask(self) -> None:
        """Some questions after a rest."""
        for number in range(QUESTIONS):
            time.sleep(0.3 if number % 5 == 4 else 0)
            question, answer = some_bytes(200 + number), some_bytes(ANSWER_BYTES + number)
            self.guest.sendall(question)
            self._reads(self.peer, question)
            self.peer.sendall(answer)
            self._reads(self.guest, answer)

    def end(self) -> None:
        """Both halves."""
        for one, other in ((self.guest, self.peer), (self.peer, self.guest)):
            one.shutdown(socket.SHUT_WR)
            assert not other.recv(1)
        self.guest.close()
        self.peer.close()
        gone = partial(run, "ss", "-Htan", ns=self.server)
        poll(lambda: not gone(), "the peer has heard the last ACK")


def ours(frames: list[bytes], sport: int) -> list[bytes]:
    """The frames of the connection."""
    segments = ((frame, wire.decode(frame)) for frame in frames)
    return [frame for frame, found in segments if found and sport in (found.sport, found.dport)]


def first_difference(entered: list[bytes], left: list[bytes]) -> str:
    """Nothing, or the first frames that should be the same, and how many of each there are."""
    for number, (one, other) in enumerate(itertools.zip_longest(entered, left)):
        if one != other:
            shown = [frame and wire.decode(frame).but(payload=b"") for frame in (one, other)]
            return f"{number} of {len(entered)}, {len(left)}: {shown}"
    return ""


class Passed:
    """A talk's frames at both sides of the bridge, and what TCon counted and knew of it."""

    def __init__(self, net: Net, family: int) -> None:
        before = net.tcon.counters()
        taps = [capture(rigs.inside(None), device) for device in ("p1", "up0")]
        talk = Talk(net, family)
        talk.both()
        self.state = rigs.state(net.tcon, talk.sport, "p1")
        talk.ask()
        talk.end()
        assert not talk.wrong
        (self.guest, self.given), (self.peer, self.left) = (
            [ours(way, talk.sport) for way in both_ways(tap)] for tap in taps
        )
        assert min(len(self.guest), len(self.peer)) > 50
        self.moved = Counter(net.tcon.counters()) - Counter(before)


@pytest.mark.parametrize("offloads", [True, False], ids=["super-packets", "single"])
@pytest.mark.parametrize("kind", ["plain", "losses", "ecn"])
def test_what_leaves_is_what_entered(net: Net, kind: str, offloads: bool) -> None:
    """Every frame of a connection, both ways; and no special case is counted.

    The peer's data may be lost, before TCon; the guest's is not, since TCon repairs.
    """
    family, protocol = (4, "ip") if offloads else (6, "ipv6")
    net.shape(delay="10ms")
    net.offloads(offloads)
    if kind == "losses":  # of segments
        net.cut()
        run("ethtool", "-K", "s-e", "tso", "off", "gso", "off", ns="s")
        lose("r-s", protocol)
    for ns, device in (("g1", "r-u"), ("s", "r-s")) if kind == "ecn" else ():
        rigs.sysctl("ipv4/tcp_ecn", 1, ns)
        mark(device, protocol)
    with rigs.badcc("unlimited"), rigs.parameters(merge=int(offloads)):
        net.tcon.set_rule("unlimited")
        found = Passed(net, family)
        net.tcon.del_rules("br0")
    assert first_difference(found.guest, found.left) == ""
    assert first_difference(found.peer, found.given) == ""
    assert not found.moved.keys() - BOOKKEEPING, found.moved
    if kind != "losses":  # test_identity.py: what comes after SACK blocks is taken for an MTU probe
        assert found.state == ("repair-enforced", "none", "unlimited")
    if kind == "ecn":
        for way in (found.guest, found.peer):
            assert any(wire.decode(frame).tos & 3 == 2 for frame in way)
        assert any(wire.decode(frame).tos & 3 == 3 for frame in found.peer)


def test_limits_are_seen(net: Net) -> None:
    """The captures show what any other CC does."""
    net.shape(delay="10ms")
    net.tcon.set_rule("cubic")
    found = Passed(net, 4)
    assert first_difference(found.peer, found.given)
    assert "window-written" in found.moved
