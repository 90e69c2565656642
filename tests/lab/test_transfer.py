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


def fetch(
    port: int,
    *words: float,
    address: str = "127.0.0.1",
    fan_in: int = 1,
    pause_s: float = 0,
) -> subprocess.CompletedProcess[str]:
    arguments = [str(word) for word in (*words, fan_in, pause_s)]
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


def test_over_several_connections_at_once(server: int) -> None:
    run = fetch(server, 700_000, 4, 0, 1, fan_in=20)
    records = [json.loads(line) for line in run.stdout.splitlines()]
    assert (run.returncode, len(records)) == (0, 4)
    ends = [record["start_s"] + record["seconds"] for record in records]
    assert all(end <= record["start_s"] for end, record in zip(ends, records[1:], strict=False))


def test_several_connections_are_kept() -> None:
    """Each is asked again, when all have answered, and none is opened twice."""
    asked: list[int] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer(number: int, connection: socket.socket) -> None:
            with connection:
                while request := connection.recv(8, socket.MSG_WAITALL):
                    asked.append(number)
                    time.sleep(0.02 * number)
                    connection.sendall(bytes(int.from_bytes(request, "big")))

        def accept() -> None:
            for number in range(3):
                connection, _ = listener.accept()
                threading.Thread(target=answer, args=(number, connection), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        run = fetch(listener.getsockname()[1], 5000, 4, 0, 1, fan_in=3)
    assert (run.returncode, len(run.stdout.splitlines())) == (0, 4)
    assert [sorted(asked[i : i + 3]) for i in range(0, 12, 3)] == 4 * [[0, 1, 2]]
    assert min(json.loads(line)["seconds"] for line in run.stdout.splitlines()) >= 0.04


def test_pauses_between_over_one_connection() -> None:
    """The connection is kept, and a pause is before each question but the first."""
    asked_s: list[float] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                while request := connection.recv(8, socket.MSG_WAITALL):
                    asked_s.append(time.monotonic())
                    connection.sendall(bytes(int.from_bytes(request, "big")))

        threading.Thread(target=answer, daemon=True).start()
        run = fetch(listener.getsockname()[1], 5000, 4, 0, 1, pause_s=0.1)
    assert (run.returncode, len(run.stdout.splitlines())) == (0, 4)
    assert len(asked_s) == 4
    assert all(after - before >= 0.1 for before, after in pairwise(asked_s))


def test_one_of_several_that_ends_too_early_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            kept = [listener.accept()[0] for _ in range(2)]
            kept[0].sendall(bytes(1000))
            kept[1].sendall(bytes(400))
            kept[1].shutdown(socket.SHUT_WR)
            time.sleep(5)

        threading.Thread(target=answer, daemon=True).start()
        run = fetch(listener.getsockname()[1], 1000, 3, 0, 1, fan_in=2)
    assert run.returncode == 1
    assert json.loads(run.stdout)["error"] == "the connection ended 600 bytes early"


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
