# SPDX-License-Identifier: GPL-2.0-only
"""Guests that fill a bottleneck, and tcon-monitor that looks at them."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rig import poll
from tcon_lab.topo import Lab, run_in

MONITOR = Path("/lab/monitor/tcon-monitor")


@dataclass(frozen=True)
class Guest:
    """A guest with some connections of a CC."""

    connections: int = 1
    cc: str = "cubic"


@contextlib.contextmanager
def sending(lab: Lab, guests: list[Guest], seconds: float) -> Iterator[None]:
    """Each sends to its receiver, for these seconds or until this is over."""
    servers, clients = [], []
    for index in range(len(guests)):
        receiver = lab.receiver(index)
        servers.append(receiver.popen(["iperf3", "-s", "-1"]))
        poll(lambda receiver=receiver: ":5201" in run_in(receiver, "ss -Hltn"), "a server", 20)
    for index, guest in enumerate(guests):
        command = [
            "iperf3",
            "-c",
            lab.receiver_address(index),
            "-C",
            guest.cc,
            "-t",
            f"{seconds:g}",
            "-P",
            str(guest.connections),
        ]
        clients.append(lab.sender(index).popen(command))
    try:
        yield
    finally:
        for process in (*clients, *servers):
            process.terminate()
            process.wait()


class Monitor:
    """tcon-monitor on br0; what it said so far."""

    def __init__(self, lab: Lab, *options: str) -> None:
        self.said = Path("/tmp/monitor.json")
        self.log = Path("/tmp/monitor.log")
        capacity = f"--capacity={lab.scenario.path.rate_bps // 1000}kbit"
        with self.said.open("w") as out, self.log.open("w") as err:
            self.process = subprocess.Popen(
                [sys.executable, str(MONITOR), "br0", capacity, "--json", *options],
                stdout=out,
                stderr=err,
            )

    def looks(self) -> list[dict[str, Any]]:
        """One for each period."""
        return [json.loads(line) for line in self.said.read_text().splitlines()]

    def stop(self) -> str:
        """End it and return its log."""
        self.process.terminate()
        assert self.process.wait(10) == 0, self.log.read_text()
        return self.log.read_text()


def rates(look: dict[str, Any]) -> list[float]:
    """Of all guests, by their names."""
    return [guest["rate_bps"] for _, guest in sorted(look["guests"].items())]


def jain(values: list[float]) -> float:
    """1: all have the same."""
    return sum(values) ** 2 / len(values) / sum(value**2 for value in values)
