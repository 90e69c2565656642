# SPDX-License-Identifier: GPL-2.0-only
"""Data both ways over one connection, between sockets of this machine."""

from __future__ import annotations

import json
import selectors
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tcon_lab import duplex

PROGRAM = Path(duplex.__file__)
MBIT = 1_000_000


@pytest.fixture
def port() -> Iterator[int]:
    """The port of a server."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free = int(probe.getsockname()[1])
    process = subprocess.Popen([sys.executable, "-I", PROGRAM, "serve", str(free)])
    for _ in range(500):
        try:
            socket.create_connection(("127.0.0.1", free)).close()
            break
        except ConnectionRefusedError:
            threading.Event().wait(0.02)
    yield free
    process.kill()
    process.wait()


def send(port: int, seconds: float, back_bps: int, *, source_port: int = 0) -> tuple[int, Any]:
    words = [str(word) for word in ("127.0.0.1", port, source_port, seconds, back_bps)]
    run = subprocess.run([sys.executable, "-I", PROGRAM, "send", *words],
                         capture_output=True, text=True, check=False, timeout=60)  # fmt: skip
    return run.returncode, json.loads(run.stdout)


def test_both_ways(port: int) -> None:
    """However slow the machine, the way back is no faster than asked for, and both have data."""
    status, report = send(port, 1.0, 8 * MBIT)
    assert status == 0
    sent = report["end"]["sum_sent"]
    assert sent["seconds"] >= 1.0
    streams = [entry["streams"][0] for entry in report["intervals"]]
    assert len(streams) == 10
    assert sum(stream["bytes"] for stream in streams) == sent["bytes"] > 0
    assert all(stream["snd_cwnd"] > 0 for stream in streams)
    assert 0 < report["back"]["bytes"] <= (sent["seconds"] + 0.01) * MBIT + 10_000


def test_it_is_one_connection() -> None:
    """The server's end of it has the rate, and what it reads is the sender's data."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        asked: list[int] = []

        def serve() -> None:
            connection, _ = listener.accept()
            with connection, selectors.DefaultSelector() as selector:
                asked.append(struct.unpack("!Q", connection.recv(8, socket.MSG_WAITALL))[0])
                connection.sendall(b"x" * 5000)
                selector.register(connection, selectors.EVENT_READ)
                while selector.select(10) and connection.recv(1 << 20):
                    pass
            listener.settimeout(0)
            with pytest.raises(BlockingIOError):
                listener.accept()
            asked.append(0)

        thread = threading.Thread(target=serve)
        thread.start()
        status, report = send(listener.getsockname()[1], 0.3, 7 * MBIT)
        thread.join()
    assert asked == [7 * MBIT, 0]
    assert (status, report["back"]["bytes"]) == (0, 5000)


def test_a_server_that_goes_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            connection.recv(8, socket.MSG_WAITALL)
            connection.close()

        threading.Thread(target=serve, daemon=True).start()
        status, report = send(listener.getsockname()[1], 20, MBIT)
    assert status == 1
    assert report["error"]
