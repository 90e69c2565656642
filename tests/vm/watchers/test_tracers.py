# SPDX-License-Identifier: GPL-2.0-only
"""The lines of docs/tracing.md for perf and bpftrace, each run as it stands there.

Debian's own perf and bpftrace run beside a guest's transfer; what they count is what TCon counts.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import rig as rigs
from hosts import MEGA, Net
from rig import poll

PAGE = Path("/lab/tracing.md").read_text()
COMMANDS = re.findall(r"^ {4}((?:perf|bpftrace) .*?)(?: +#.*)?$", PAGE, re.M)


@dataclass
class Seen:
    """A line's output, TCon's counters over that time, and the flow at its end."""

    out: str
    counters: dict[str, int]
    flow: dict[str, object]


def in_histogram(out: str) -> int:
    """How many values bpftrace's hist() has."""
    return sum(int(n) for n in re.findall(r"^\[[^|]*?(\d+) \|", out, re.M))


def all_events(seen: Seen) -> None:
    released = seen.counters["released"] + seen.counters["hold-flushed"]
    assert seen.out.count("tcon:tcon_release:") == released > 0
    assert seen.out.count("tcon:tcon_repair:") == seen.counters["repair-sent"] > 0


def repairs_a_second(seen: Seen) -> None:
    counts = re.findall(r"^ +[\d.]+ +([\d,]+) +tcon:tcon_repair", seen.out, re.M)
    assert sum(int(n.replace(",", "")) for n in counts) == seen.counters["repair-sent"] > 0


def large_losses(seen: Seen) -> None:
    """None is that large here; that the kernel takes the filter is what is seen."""
    assert "Captured and wrote" in seen.out, seen.out


def waits(seen: Seen) -> None:
    released = seen.counters["released"] + seen.counters["hold-flushed"]
    assert "@us[p1]:" in seen.out
    assert in_histogram(seen.out) == released > 0


def states(seen: Seen) -> None:
    assert "@[repair-enforced, none]: 1\n" in seen.out


def cwnds(seen: Seen) -> None:
    lines = re.findall(r"^(\d+) 0x[0-9a-f]+ (\d+)$", seen.out, re.M)
    assert int(lines[-1][1]) == seen.flow["cwnd_bytes"]
    assert len({cwnd for _, cwnd in lines}) > 10


CHECKS: dict[str, Callable[[Seen], None]] = {
    "sleep 10": all_events,
    "perf stat": repairs_a_second,
    "--filter": large_losses,
    "@us[args->ifname]": waits,
    "args->reason": states,
    "printf": cwnds,
}


def check_of(command: str) -> Callable[[Seen], None]:
    (check,) = [check for part, check in CHECKS.items() if part in command]
    return check


def listens(pid: int) -> bool:
    """Has one of the processes of this group an event of the kernel open?"""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if os.getpgid(int(folder.name)) == pid and any(
                "perf_event" in str(fd.readlink()) for fd in (folder / "fd").iterdir()
            ):
                return True
        except (OSError, ProcessLookupError):
            continue
    return False


def test_the_page_has_them_all() -> None:
    assert [check_of(command) for command in COMMANDS] == list(CHECKS.values())


@pytest.mark.parametrize("command", COMMANDS, ids=[check_of(c).__name__ for c in COMMANDS])
def test_line(net: Net, command: str, tmp_path: Path) -> None:
    rigs.tracefs()
    net.shape(rate="20mbit", delay="5ms", loss="2%")
    net.tcon.set_rule("bbr")
    # Into a file: into a pipe perf record would write its data.
    output = tmp_path / "output"
    with (
        output.open("w") as stream,
        subprocess.Popen(
            ["bash", "-c", command],
            cwd=tmp_path,
            env=os.environ | {"PAGER": "cat"},
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as tracer,
    ):
        poll(lambda: listens(tracer.pid) or tracer.poll() is not None, "it listens", 120.0, 0.2)
        assert tracer.poll() is None, output.read_text()
        time.sleep(1)  # what is open is not yet switched on
        before = net.tcon.counters()
        transfer = net.transfer(MEGA)
        flow = net.acknowledged(transfer)
        transfer.finish()
        after = net.tcon.counters()
        if "sleep" not in command:
            os.killpg(tracer.pid, signal.SIGINT)
        tracer.wait(timeout=120)
    grown = {name: after[name] - before[name] for name in after}
    check_of(command)(Seen(output.read_text(), grown, flow))
