# SPDX-License-Identifier: GPL-2.0-only
"""Runs a script: sockets here, packets at the far end of the guest's device.

Times are packetdrill's: a packet or the return of a call may be off by 4 ms or by an eighth of the
time since the event before, as the kernel's timers are.  Time is virtual, and moves only when
nothing can run: after a sleep of a nanosecond all that could happen has happened.
"""

from __future__ import annotations

import signal
import struct
import threading
import time
from collections.abc import Callable
from types import FrameType

import tcp_info
import wire
from calls import Calls
from compare import compare, joined, shown
from connection import (
    ACCEPTABLE,
    CONNECTING,
    LISTENING,
    NEW,
    SYN_ACK_SENT,
    SYN_ACKED,
    SYN_RECEIVED,
    SYN_SENT,
    Connection,
)
from difference import Difference
from icmp import message
from language import Call, Code, Command, Event, Icmp, Packet, Script, When
from place import PORT, Site
from shell import Shell

_TOLERANCE_US, _TOLERANCE_SHARE = 4000, 0.125
#: As packetdrill has it: how long a packet that does not come is waited for, and a call.
_PATIENCE_S, _CALL_PATIENCE_S = 2.0, 1.0
#: Of a call that should return at once.
_STUCK_S = 5.0
#: A script begins a quarter of a tick after a tick.
_TICK_NS, _INTO_TICK_NS = 1_000_000, 250_000


def _now_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_REALTIME)


def settle() -> None:
    """Let all happen that can happen now."""
    time.sleep(1e-9)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """The call that it interrupts returns."""


class _Blocking(threading.Thread):
    """A call that may return later, and when it did."""

    def __init__(self, event: Event, run: Callable[[], None], start_us: int, end_us: int) -> None:
        super().__init__(daemon=True)
        self.event, self.call = event, run
        self.start_us, self.end_us = start_us, end_us
        self.returned_ns = 0
        self.difference: Difference | None = None

    def run(self) -> None:
        try:
            self.call()
        except Difference as difference:
            self.difference = difference
        self.returned_ns = _now_ns()


class Interpreter:
    """Runs one script on a site that nothing has used before."""

    def __init__(self, script: Script, site: Site, shell: Shell, push: bool = True) -> None:
        """``push``: PSH is compared."""
        self.script, self.site, self.shell = script, site, shell
        self.ignored = 0 if push else wire.PSH
        self.tolerance_us = int(script.options.get("tolerance_usecs", _TOLERANCE_US))
        self.tick_us = int(script.options.get("tcp_ts_tick_usecs", 0))
        self.gso_bytes = int(script.options.get("mss", 0))
        self.calls = Calls(site.family, (site.local, PORT), (site.remote, PORT), self.tolerance_us)
        self.connections: list[Connection] = []
        self.blocking: _Blocking | None = None
        self.begin_ns = 0
        self.trace: list[str] = []  # all packets, for who looks into a difference
        self.last: tuple[int, bool] | None = None  # the event before: when, and a packet sent

    # --- time -------------------------------------------------------------------------

    def _us(self, at_ns: int) -> int:
        return (at_ns - self.begin_ns) // 1000

    def _now_us(self) -> int:
        return self._us(_now_ns())

    def _resolve(self, when: When, sends: bool) -> tuple[int, int | None, int]:
        """An event's begin, the end of its range, and what its times are counted from."""
        offset = 0
        if when.relative or when.always:
            offset = self.last[0] if self.last and self.last[1] and sends else self._now_us()
        end_us = None if when.end_us is None else when.end_us + offset
        return when.start_us + offset, end_us, offset

    def _check_time(
        self, what: str, at_us: int, start_us: int, end_us: int | None, since_us: int | None
    ) -> None:
        tolerance_us: float = self.tolerance_us
        if since_us is not None:
            tolerance_us = max(tolerance_us, _TOLERANCE_SHARE * (start_us - since_us))
        last_us = start_us if end_us is None else end_us
        if not start_us - tolerance_us <= at_us <= last_us + tolerance_us:
            wanted = f"{start_us / 1e6:.6f} to {last_us / 1e6:.6f}"
            raise Difference(what, f"at {at_us / 1e6:.6f} s instead of {wanted}")

    def _wait(self, start_us: int) -> None:
        left_ns = self.begin_ns + start_us * 1000 - _now_ns()
        if left_ns > 0:
            time.sleep(left_ns / 1e9)
        if self.last:
            self._check_time("time", self._now_us(), start_us, None, self.last[0])

    def _begin(self) -> None:
        into = time.clock_gettime_ns(time.CLOCK_MONOTONIC) % _TICK_NS
        time.sleep((2 * _TICK_NS - into + _INTO_TICK_NS) / 1e9)
        self.begin_ns = _now_ns()
        self.calls.begin_us = self.begin_ns // 1000

    # --- events -----------------------------------------------------------------------

    def run(self) -> None:
        """The script from its begin to its end.  Raises Difference, with its line."""
        signal.signal(signal.SIGALRM, _interrupt)
        line = 0
        try:
            self.shell.run(self.script.prepare)
            self.site.end.drain()
            self._begin()
            for event in self.script.events:
                line = event.line
                self._event(event)
            self._await()
            self.shell.run(self.script.cleanup)
        except Difference as difference:
            difference.line = difference.line or line
            self._note_rest()
            raise
        finally:
            self._end()

    def _event(self, event: Event) -> None:
        action = event.action
        sends = isinstance(action, Icmp) or (isinstance(action, Packet) and action.inbound)
        start_us, end_us, offset_us = self._resolve(event.when, sends)
        if isinstance(action, Packet) and not action.inbound:
            self._expect(action, event.when, start_us, end_us)
        elif isinstance(action, Call):
            self._call(event, action, start_us, offset_us if event.when.relative else 0)
        else:
            self._wait(start_us)
            if isinstance(action, Packet):
                self._send(action)
            elif isinstance(action, Icmp):
                self._send_icmp(action)
            elif isinstance(action, Command):
                self.shell.run(action.text)
            else:
                self._code(action)
        self.last = start_us, sends

    def _end(self) -> None:
        if self.blocking and self.blocking.is_alive():
            signal.pthread_kill(int(self.blocking.ident or 0), signal.SIGALRM)
            self.blocking.join()
        self.calls.close_all()

    def _code(self, action: Code) -> None:
        try:
            names = tcp_info.names_for_code(self._current().live_fd)
            # A line may end in a backslash, also the last.
            exec(compile(f"{action.text}\n\n", "%{ }%", "exec"), dict(names))
        except AssertionError as wrong:
            raise Difference("code", f"{' '.join(action.text.split())}: {wrong}") from None
        except OSError as error:
            raise Difference("code", f"no tcp_info: {error.strerror}") from None

    # --- system calls -------------------------------------------------------------------

    def _call(self, event: Event, call: Call, start_us: int, offset_us: int) -> None:
        self._await()
        self._wait(start_us)
        self._before(call)
        if call.end_us is None:
            signal.setitimer(signal.ITIMER_REAL, _STUCK_S)
            try:
                self._after(call, self.calls.run(call))
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            return
        self.blocking = _Blocking(
            event, lambda: self._after(call, self.calls.run(call)), start_us,
            call.end_us + offset_us,
        )  # fmt: skip
        self.blocking.start()
        settle()

    def _await(self) -> None:
        """The end of a call that blocks."""
        call, self.blocking = self.blocking, self.blocking
        if call is None:
            return
        call.join(_CALL_PATIENCE_S)
        if call.is_alive():
            raise Difference("return", "the call goes on", call.event.line)
        self.blocking = None
        try:
            if call.difference:
                raise call.difference
            self._check_time("return", self._us(call.returned_ns), call.end_us, None, call.start_us)
        except Difference as difference:
            difference.line = call.event.line
            raise

    def _before(self, call: Call) -> None:
        """A connection begins."""
        if call.name in ("connect", "sendto", "sendmsg"):
            for connection in self.connections:
                if connection.fd != call.args[0]:
                    continue
                if call.name == "connect" and call.args[1] is not ...:  # AF_UNSPEC: disconnect
                    connection.state = NEW
                elif connection.state == NEW:
                    connection.state = CONNECTING
                    connection.remote = self.site.remote, PORT

    def _after(self, call: Call, result: int) -> None:
        """The script's names for what the call has made."""
        if result < 0:
            return
        if call.name in ("socket", "accept", "open", "epoll_create"):
            self.calls.live[call.result] = result
        if call.name == "socket":
            self.connections.insert(0, Connection(NEW, call.result, result))
        elif call.name == "listen":
            for connection in self.connections:
                if connection.fd == call.args[0]:
                    connection.state = LISTENING
        elif call.name == "close":
            for connection in self.connections:
                if connection.fd == call.args[0]:
                    connection.fd = -1
        elif call.name == "accept":
            for connection in self.connections:
                if connection.state in (SYN_ACK_SENT, ACCEPTABLE):
                    connection.fd, connection.live_fd = call.result, result
                    return
            raise Difference("script", "accept of a connection that the script does not have")

    # --- packets ------------------------------------------------------------------------

    def _current(self) -> Connection:
        """The connection that all packets and code are of: the newest."""
        if not self.connections:
            raise Difference("script", "no connection")
        return self.connections[0]

    def _send(self, packet: Packet) -> None:
        if not self.connections or self.connections[0].state == LISTENING:
            self.connections.insert(0, Connection(
                SYN_RECEIVED, local=(self.site.local, PORT),
                remote=(self.site.remote, self.site.port()), peer_isn=packet.seq,
            ))  # fmt: skip
        connection = self._current()
        if connection.state == SYN_ACK_SENT and packet.flags & wire.ACK:
            connection.state = ACCEPTABLE
        elif connection.state == SYN_SENT and packet.flags & (wire.SYN | wire.ACK) == 18:
            connection.state, connection.peer_isn = SYN_ACKED, packet.seq
        self._note(self._now_us(), packet)
        self.site.send(connection.to_wire(packet), self.gso_bytes)

    def _send_icmp(self, icmp: Icmp) -> None:
        connection = self._current()
        seq = (icmp.seq + connection.isn) % 2**32
        echoed = struct.pack("!HHI", connection.local[1], connection.remote[1], seq)
        self.site.send_packet(message(icmp, connection.local[0], connection.remote[0], echoed))

    def _expect(self, expected: Packet, when: When, start_us: int, end_us: int | None) -> None:
        connection = self._current()
        if connection.state == CONNECTING and expected.flags & 18 == wire.SYN:
            connection.state, connection.script_isn = SYN_SENT, expected.seq
        elif connection.state == SYN_RECEIVED and expected.flags & 18 == 18:
            connection.script_isn = expected.seq
        last_us = self.last[0] if self.last else 0
        until_us = max(start_us, end_us or 0) + _PATIENCE_S * 1e6
        segment, at_ns = self._segment(connection, expected, until_us)
        if not segment.sums_ok:
            raise Difference("checksum", str(segment)[:300])
        actual = connection.to_script(segment, expected)
        tolerance_us = max(self.tolerance_us, _TOLERANCE_SHARE * start_us)
        compare(actual, expected, self.tick_us, tolerance_us, self.ignored)
        if any(segment.payload):
            raise Difference("payload", "not all of it is zero")
        if not when.always:
            self._check_time("time", self._us(at_ns), start_us, end_us, last_us)

    def _note_rest(self) -> None:
        """What came and was not yet asked for."""
        anything = Packet(False, 0, 0, 0, options=None)
        while self.connections and (found := self.site.end.receive(0)):
            if self._current().is_from(found[0]):
                packet = self._current().to_script(found[0], anything)
                self._note(self._us(found[1]), packet)

    def _note(self, at_us: int, packet: Packet) -> None:
        self.trace.append(f"{at_us / 1e6:9.6f} {shown(packet)}")

    def _segment(
        self, connection: Connection, expected: Packet, until_us: float
    ) -> tuple[wire.Segment, int]:
        """The connection's next segment, or as many as make the super-packet that is expected."""
        whole, at_ns = self._receive(connection, expected, until_us)
        while len(whole.payload) < expected.size:
            then, at_ns = self._receive(connection, expected, until_us)
            whole = joined(whole, then, expected.size - len(whole.payload))
        return whole, at_ns

    def _receive(
        self, connection: Connection, expected: Packet, until_us: float
    ) -> tuple[wire.Segment, int]:
        while found := self.site.end.receive((until_us - self._now_us()) / 1e6):
            segment, at_ns = found
            if connection.state == SYN_SENT and segment.flags & 18 == wire.SYN:
                connection.local, connection.isn = (segment.src, segment.sport), segment.seq
            if connection.is_from(segment):
                if connection.state == SYN_RECEIVED and expected.flags & 18 == 18:
                    connection.state, connection.isn = SYN_ACK_SENT, segment.seq
                self._note(self._us(at_ns), connection.to_script(segment, expected))
                return segment, at_ns
        raise Difference("no packet", f"{_PATIENCE_S:.0f} s after the time")
