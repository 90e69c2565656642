# SPDX-License-Identifier: GPL-2.0-only
"""The transfers themselves, between sockets of this machine."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "tools/tcon_lab/transfer.py"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def server() -> Iterator[int]:
    port = free_port()
    process = subprocess.Popen([sys.executable, "-I", PROGRAM, "serve", str(port)])
    end_s = time.monotonic() + 10
    while time.monotonic() < end_s:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except ConnectionRefusedError:
            time.sleep(0.02)
    yield port
    process.kill()
    process.wait()


def fetch(port: int, *words: float, address: str = "127.0.0.1") -> subprocess.CompletedProcess[str]:
    arguments = [str(word) for word in words]
    return subprocess.run(
        [sys.executable, "-I", PROGRAM, "fetch", address, str(port), *arguments],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


def test_one_after_another(server: int) -> None:
    run = fetch(server, 3_000_000, 5, 0, 1)
    records = [json.loads(line) for line in run.stdout.splitlines()]
    assert (run.returncode, len(records)) == (0, 5)
    assert all(record["seconds"] > 0 for record in records)
    ends = [record["start_s"] + record["seconds"] for record in records]
    assert all(end <= record["start_s"] for end, record in zip(ends, records[1:], strict=False))


def test_over_ipv6(server: int) -> None:
    run = fetch(server, 1000, 2, 0, 1, address="::1")
    assert (run.returncode, len(run.stdout.splitlines())) == (0, 2)


def test_at_random_times(server: int) -> None:
    run = fetch(server, 1000, 60, 100, 7)
    records = [json.loads(line) for line in run.stdout.splitlines()]
    assert (run.returncode, len(records)) == (0, 60)
    starts = sorted(record["start_s"] for record in records)
    gaps = [after - before for before, after in pairwise(starts)]
    assert 0.3 < starts[-1] - starts[0] < 3  # 59 gaps of 10 ms in the mean
    assert min(gaps) < 0.005 < 0.015 < max(gaps)


def test_an_end_too_early_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(100)
                connection.sendall(bytes(600))

        threading.Thread(target=answer, daemon=True).start()
        run = fetch(listener.getsockname()[1], 1000, 3, 0, 1)
    assert run.returncode == 1
    (record,) = [json.loads(line) for line in run.stdout.splitlines()]
    assert record == {"error": "the connection ended 400 bytes early"}


def test_nobody_answers() -> None:
    run = fetch(free_port(), 1000, 2, 0, 1)
    assert run.returncode == 1
    assert "Connection refused" in json.loads(run.stdout.splitlines()[0])["error"]
