# SPDX-License-Identifier: GPL-2.0-only
"""Data both ways over one connection, as storage protocols, replication and tunnels have it.

    python3 duplex.py serve PORT
    python3 duplex.py send ADDRESS PORT SOURCE_PORT SECONDS BACK_BPS

``send`` sends as fast as it can for SECONDS, and the server also sends BACK_BPS at most over
the same connection.  It prints what iperf3 would of its own direction, as far as the lab reads
that, and ``back``: the ``bytes`` that came the other way in those seconds.

iperf3 has a connection for each direction, and so have the other usual tools; iperf 2 has one for
both, but neither its rate for one direction nor its reports tell them apart.  It runs in the
guests: the standard library is all there is.
"""

from __future__ import annotations

import json
import math
import selectors
import socket
import struct
import sys
import threading
import time
from typing import Any

#: A chunk is sent at once: this much time of the rate, within these sizes.
_CHUNK_S, _LEAST_BYTES, _CHUNK_BYTES = 0.01, 1448, 1 << 16
_INTERVAL_S = 0.1
_REQUEST = struct.Struct("!Q")
#: Offsets in struct tcp_info (linux/tcp.h); all of these fields are u32.
_TCP_INFO_BYTES = 104
_SND_MSS, _RTT, _SND_CWND, _TOTAL_RETRANS = 16, 68, 80, 100


class End:
    """An end of a connection, which sends at most ``rate_bps`` and takes whatever comes."""

    def __init__(self, connection: socket.socket, rate_bps: float) -> None:
        self._connection, self._rate_bps = connection, rate_bps
        size_bytes = min(_CHUNK_BYTES, max(_LEAST_BYTES, rate_bps * _CHUNK_S / 8))
        self._chunk, self._buffer = bytes(int(size_bytes)), bytearray(1 << 18)
        self._start_s = time.monotonic()
        self.sent_bytes = self.received_bytes = 0
        connection.setblocking(False)

    def _due_s(self) -> float:
        """When it may send again."""
        return self._start_s + 8 * self.sent_bytes / self._rate_bps

    def work(self, until_s: float) -> None:
        """Send and receive until then, or until the other end is gone, which raises OSError."""
        with selectors.DefaultSelector() as selector:
            key = selector.register(self._connection, selectors.EVENT_READ)
            while (now_s := time.monotonic()) < until_s:
                may_send = self._due_s() <= now_s
                events = selectors.EVENT_READ | (selectors.EVENT_WRITE if may_send else 0)
                if events != key.events:
                    key = selector.modify(self._connection, events)
                wake_s = until_s if may_send else min(until_s, self._due_s())
                timeout_s = None if wake_s == math.inf else max(0.0, wake_s - now_s)
                for _, ready in selector.select(timeout_s):
                    self._exchange(ready)

    def _exchange(self, ready: int) -> None:
        if ready & selectors.EVENT_READ:
            count = self._connection.recv_into(self._buffer)
            if not count:
                raise ConnectionResetError("the other end is gone")
            self.received_bytes += count
        if ready & selectors.EVENT_WRITE:
            self.sent_bytes += self._connection.send(self._chunk)


def _serve_one(connection: socket.socket) -> None:
    with connection:
        try:
            request = connection.recv(_REQUEST.size, socket.MSG_WAITALL)
            (back_bps,) = _REQUEST.unpack(request)
            End(connection, back_bps).work(math.inf)
        except (OSError, struct.error):
            pass  # it has what it wanted


def serve(port: int) -> None:
    """Take connections until killed."""
    both = {"family": socket.AF_INET6, "dualstack_ipv6": True} if socket.has_ipv6 else {}
    with socket.create_server(("", port), **both) as listener:
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=_serve_one, args=(connection,), daemon=True).start()


class Report:
    """A connection's report as iperf3 gives it, interval by interval."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self._retransmits, self._sent_bytes = connection, 0, 0
        self.intervals: list[dict[str, Any]] = []

    def note(self, end_s: float, sent_bytes: int) -> None:
        """An interval is over, ``end_s`` after the start."""
        info = self._connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
        mss_bytes, rtt_us, cwnd, retransmits = (
            struct.unpack_from("=I", info, at)[0]
            for at in (_SND_MSS, _RTT, _SND_CWND, _TOTAL_RETRANS)
        )
        stream = {
            "end": round(end_s, 6),
            "bytes": sent_bytes - self._sent_bytes,
            "retransmits": retransmits - self._retransmits,
            "snd_cwnd": cwnd * mss_bytes,
            "rtt": rtt_us,
        }
        self._retransmits, self._sent_bytes = retransmits, sent_bytes
        self.intervals.append({"streams": [stream]})

    def whole(self, end: End) -> dict[str, Any]:
        """All of it, when ``end`` has ended."""
        summary = {
            "seconds": self.intervals[-1]["streams"][0]["end"],
            "bytes": end.sent_bytes,
            "retransmits": self._retransmits,
        }
        back = {"bytes": end.received_bytes}
        return {"intervals": self.intervals, "end": {"sum_sent": summary}, "back": back}


def _connect(address: str, port: int, source_port: int) -> socket.socket:
    connection = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    connection.bind(("", source_port))
    connection.connect((address, port))
    return connection


def send(address: str, port: int, source_port: int, seconds: float, back_bps: int) -> None:
    """Send for ``seconds`` and print the report.  Raises OSError."""
    with _connect(address, port, source_port) as connection:
        connection.sendall(_REQUEST.pack(back_bps))
        start_s, end, report = time.monotonic(), End(connection, math.inf), Report(connection)
        for number in range(1, math.ceil(seconds / _INTERVAL_S - 1e-9) + 1):
            end.work(start_s + min(number * _INTERVAL_S, seconds))
            report.note(time.monotonic() - start_s, end.sent_bytes)
    print(json.dumps(report.whole(end)))


def main(arguments: list[str]) -> int:
    """Serve or send; the exit status."""
    if arguments[0] == "serve":
        serve(int(arguments[1]))
    address, port, source_port, seconds, back_bps = arguments[1:]
    try:
        send(address, int(port), int(source_port), float(seconds), int(back_bps))
    except OSError as error:
        print(json.dumps({"error": str(error)}))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
