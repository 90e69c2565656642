# SPDX-License-Identifier: GPL-2.0-only
"""Transfers: a guest serves bytes, another fetches them and takes the time.

    python3 transfer.py serve PORT
    python3 transfer.py fetch ADDRESS PORT BYTES COUNT PER_SECOND SEED FAN_IN PAUSE_S

``fetch`` asks for BYTES, COUNT times, each over a connection of its own: one after
another where PER_SECOND is 0, else at the times of a Poisson process with that
rate and SEED, whether or not earlier ones have ended.  For each it prints a line of
JSON with ``start_s`` (CLOCK_MONOTONIC) and ``seconds``, from before the connection
is opened until the last byte is there; or with ``error``, and then exits with 1.

With FAN_IN above 1, or a pause, it keeps FAN_IN connections open, and asks for BYTES over each of
them at once, COUNT times: the next time PAUSE_S after all is there.

It runs in the guests: the standard library is all there is.
"""

from __future__ import annotations

import contextlib
import json
import random
import selectors
import socket
import sys
import threading
import time
from collections.abc import Callable

_CHUNK_BYTES = 1 << 18
_REQUEST_BYTES = 8
_BACKLOG = 1024


def _exactly(connection: socket.socket, size_bytes: int) -> bytes:
    found = b""
    while len(found) < size_bytes:
        part = connection.recv(size_bytes - len(found))
        if not part:
            raise OSError("the connection ended within the request")
        found += part
    return found


def _answer(connection: socket.socket) -> None:
    """Send as many bytes as each request says."""
    chunk = memoryview(bytes(_CHUNK_BYTES))
    with connection:
        while connection.recv(1, socket.MSG_PEEK):
            left = int.from_bytes(_exactly(connection, _REQUEST_BYTES), "big")
            while left:
                part = chunk[: min(left, _CHUNK_BYTES)]
                connection.sendall(part)
                left -= len(part)


def serve(port: int) -> None:
    """Answer requests until killed."""
    both = {"family": socket.AF_INET6, "dualstack_ipv6": True} if socket.has_ipv6 else {}
    with socket.create_server(("", port), backlog=_BACKLOG, **both) as listener:
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=_answer, args=(connection,), daemon=True).start()


class Fetcher:
    """Fetches and prints what it took."""

    def __init__(self, address: str, port: int, size_bytes: int) -> None:
        self._server = (address, port)
        self._size_bytes = size_bytes
        self._lock = threading.Lock()
        self.failed = False

    def _say(self, record: dict[str, float | str]) -> None:
        with self._lock:
            print(json.dumps(record), flush=True)

    def _connect(self) -> socket.socket:
        family = socket.AF_INET6 if ":" in self._server[0] else socket.AF_INET
        connection = socket.socket(family)
        try:
            connection.connect(self._server)
        except OSError:
            connection.close()
            raise
        return connection

    def _receive(self, connections: list[socket.socket]) -> None:
        """Ask over each, and wait until all is there."""
        buffer = bytearray(_CHUNK_BYTES)
        left = dict.fromkeys(connections, self._size_bytes)
        with selectors.DefaultSelector() as selector:
            for connection in connections:
                connection.sendall(self._size_bytes.to_bytes(_REQUEST_BYTES, "big"))
                selector.register(connection, selectors.EVENT_READ)
            while left:
                for key, _ in selector.select():
                    connection: socket.socket = key.fileobj  # type: ignore[assignment]
                    count = connection.recv_into(buffer)
                    if not count:
                        raise OSError(f"the connection ended {left[connection]} bytes early")
                    left[connection] -= count
                    if not left[connection]:
                        selector.unregister(connection)
                        del left[connection]

    def _measured(self, receive: Callable[[], None]) -> None:
        start_s = time.monotonic()
        try:
            receive()
        except OSError as error:
            self.failed = True
            self._say({"error": str(error)})
            return
        self._say({"start_s": start_s, "seconds": time.monotonic() - start_s})

    def _alone(self) -> None:
        with self._connect() as connection:
            self._receive([connection])

    def one(self) -> None:
        """Fetch once."""
        self._measured(self._alone)

    def in_turn(self, count: int) -> None:
        """Fetch ``count`` times, one after another, until one fails."""
        for _ in range(count):
            if not self.failed:
                self.one()

    def at_once(self, count: int, fan_in: int, pause_s: float) -> None:
        """Fetch ``count`` times over ``fan_in`` connections at once, until one fails, with a pause
        between.
        """
        with contextlib.ExitStack() as stack:
            try:
                connections = [stack.enter_context(self._connect()) for _ in range(fan_in)]
            except OSError as error:
                self.failed = True
                self._say({"error": str(error)})
            for number in range(count):
                if not self.failed:
                    time.sleep(pause_s if number else 0)
                    self._measured(lambda: self._receive(connections))

    def at_random(self, count: int, per_second: float, seed: int) -> None:
        """Fetch ``count`` times at the times of a Poisson process."""
        draw, moment_s, threads = random.Random(seed), time.monotonic(), []
        for _ in range(count):
            moment_s += draw.expovariate(per_second)
            time.sleep(max(0.0, moment_s - time.monotonic()))
            threads.append(threading.Thread(target=self.one))
            threads[-1].start()
        for thread in threads:
            thread.join()


def main(arguments: list[str]) -> int:
    """Serve or fetch; the exit status."""
    if arguments[0] == "serve":
        serve(int(arguments[1]))
    address, port, size_bytes, count, per_second, seed, fan_in, pause_s = arguments[1:]
    fetcher = Fetcher(address, int(port), int(size_bytes))
    if int(fan_in) > 1 or float(pause_s):
        fetcher.at_once(int(count), int(fan_in), float(pause_s))
    elif float(per_second):
        fetcher.at_random(int(count), float(per_second), int(seed))
    else:
        fetcher.in_turn(int(count))
    return int(fetcher.failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
