#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs commands in a guest that has a kernel of its own.

    remote.py serve ADDRESS                in the guest
    remote.py run ADDRESS COMMAND ...      on its hypervisor

``run`` is to such a guest what `ip netns exec` is to one that is a namespace: the command's
output and exit status become its own, and when it is killed the command is too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from multiprocessing.connection import Client, Connection, Listener
from typing import IO

_PORT = 7
_CHUNK_BYTES = 65536
#: The kind of a guest's message, its first byte.
_OUTPUT, _ERRORS, _STATUS = b"o", b"e", b"s"


class _Command:
    """A command in the guest, and the connection that asked for it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def run(self) -> None:
        argv = json.loads(self._connection.recv_bytes())
        try:
            process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
        except OSError as error:
            self._send(_ERRORS, f"{argv[0]}: {error.strerror}\n".encode())
            self._send(_STATUS, b"127")
            return
        threading.Thread(target=self._kill_when_left, args=(process,), daemon=True).start()
        errors = threading.Thread(target=self._pass_on, args=(_ERRORS, process.stderr))
        errors.start()
        self._pass_on(_OUTPUT, process.stdout)
        errors.join()
        self._send(_STATUS, str(process.wait()).encode())

    def _send(self, kind: bytes, payload: bytes) -> None:
        with self._lock:
            self._connection.send_bytes(kind + payload)

    def _pass_on(self, kind: bytes, stream: IO[bytes]) -> None:
        try:
            while chunk := os.read(stream.fileno(), _CHUNK_BYTES):
                self._send(kind, chunk)
        except OSError:
            stream.close()  # nobody is there to hear it

    def _kill_when_left(self, process: subprocess.Popen[bytes]) -> None:
        """The other side says no more after its command: the next thing is its end."""
        try:
            self._connection.recv_bytes()
        except (EOFError, OSError):
            process.kill()


def _serve_one(connection: Connection) -> None:
    try:
        with connection:
            _Command(connection).run()
    except (EOFError, OSError):
        pass  # who asked has left


def serve(address: str) -> None:
    """Run what is asked for, for ever."""
    with Listener((address, _PORT), backlog=64) as listener:
        while True:
            connection = listener.accept()
            threading.Thread(target=_serve_one, args=(connection,), daemon=True).start()


def run(address: str, argv: list[str]) -> int:
    """Run a command in the guest; its exit status, as a shell tells it."""
    streams = {_OUTPUT: sys.stdout.buffer, _ERRORS: sys.stderr.buffer}
    with Client((address, _PORT)) as connection:
        connection.send_bytes(json.dumps(argv).encode())
        while True:
            message = connection.recv_bytes()
            kind, payload = message[:1], message[1:]
            if kind == _STATUS:
                status = int(payload)
                return status if status >= 0 else 128 - status
            streams[kind].write(payload)
            streams[kind].flush()


def main(arguments: list[str]) -> int:
    """Serve or run; the exit status."""
    what, address, *argv = arguments
    if what == "serve":
        serve(address)
    try:
        return run(address, argv)
    except (EOFError, OSError) as error:
        print(f"the guest at {address} does not answer: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
