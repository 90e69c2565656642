# SPDX-License-Identifier: GPL-2.0-only
"""tcon-top: what it draws of recorded flows, what its keys do, and what it says of bad input.

`tests/lab/top/flows.jsonl` was recorded in the lab's VM, as `tcon-top --record` does it: a guest
with three connections over 50 Mbit/s, 20 ms and 0.5 % loss: two under bbr, one of them over IPv6,
and one that a rule leaves alone.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import json
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console
from tcon_top import keys, screen, source
from tcon_top.history import History, key_of

RECORDED = Path(__file__).parent / "top/flows.jsonl"
TOP = Path(__file__).parents[2] / "userspace/top/tcon-top"


def history(n: int | None = None) -> History:
    """The history after the recording's first n answers; None: after all."""
    found, recording = History(), source.Recording(RECORDED)
    while (n is None or n > 0) and (answer := recording.ask("")):
        found.add(answer)
        n = None if n is None else n - 1
    return found


def drawn(found: History, view: screen.View, width: int = 120, height: int = 24) -> str:
    console = Console(file=io.StringIO(), width=width, height=height, record=True)
    console.print(screen.screen(found, view, width, height))
    return console.export_text()


def ports(text: str) -> list[str]:
    """The peers' ports, in the order of the rows."""
    return [port for line in text.splitlines() for port in ("5201", "5202", "5203")
            if f":{port} " in line]  # fmt: skip


def test_rates_are_those_of_what_was_acknowledged() -> None:
    lines = [json.loads(line) for line in RECORDED.read_text().splitlines()]
    before, now = lines[4], lines[5]
    found = history(6)
    for raw in now["answer"]["flows"]:
        old = next(f for f in before["answer"]["flows"] if key_of(f) == key_of(raw))
        span_s = now["time_s"] - before["time_s"]
        sample = found.flows[key_of(raw)].last
        assert sample.rate_bps == (raw["acked_bytes"] - old["acked_bytes"]) * 8 / span_s
        assert sample.repairs == raw["repairs"] - old["repairs"]
        if sample.limits:
            assert sum(sample.limits.values()) == pytest.approx(1)


def test_the_table_is_sorted_by_each_column() -> None:
    found, view = history(6), screen.View("br0")
    orders = {}
    for view.sort in ("rate", "rtt", "repairs", "limit"):
        text = drawn(found, view)
        orders[view.sort] = ports(text)
        assert sorted(orders[view.sort]) == ["5201", "5202", "5203"]
        assert text.count("▼") == 1
    by_port = {str(flow.now["tp_dst"]): flow for flow in found.flows.values()}
    rates = [by_port[port].last.rate_bps for port in orders["rate"]]
    assert rates == sorted(rates, reverse=True)
    rtts = [by_port[port].last.rtt_us for port in orders["rtt"]]
    assert rtts == sorted(rtts, reverse=True)


def test_a_row_has_what_an_operator_looks_for() -> None:
    text = drawn(history(6), screen.View("br0"))
    row = next(line for line in text.splitlines() if ":5203 " in line)
    assert row.split()[0] == "p1"
    assert "observed" in row
    assert row.rstrip().endswith("rule-none")
    row = next(line for line in text.splitlines() if ":5202 " in line)
    assert " bbr " in row
    assert "[fd00::1]:" in drawn(history(6), screen.View("br0"), width=160)
    assert "3 flows" in text.splitlines()[0]


@pytest.mark.parametrize("width", [80, 100, 200])
def test_nothing_is_wider_or_higher_than_the_terminal(width: int) -> None:
    found = history()
    for view in (screen.View("br0"), screen.View("br0", chosen=next(iter(found.flows)), one=True)):
        lines = drawn(found, view, width).splitlines()
        assert max(len(line.rstrip()) for line in lines) <= width
        assert len(lines) <= 24


def test_a_long_address_keeps_its_port() -> None:
    found, recording = History(), source.Recording(RECORDED)
    answer = recording.ask("")
    assert answer
    long = {"src": "2001:db8:1234:5678:9abc:def0:1234:5678", "protocol": "tcp6"}
    found.add(source.Answer(1.0, [answer.flows[0] | long], 3))
    for width in (80, 100, 140):
        assert "5678]:" in drawn(found, screen.View("br0"), width)
    assert "1 flows and 3 more" in drawn(found, screen.View("br0"))


def test_one_flow_has_its_course() -> None:
    found = history()
    view = screen.View("br0")
    keys.press(view, found, "enter")
    text = drawn(found, view)
    for name in ("rate, bit/s", "cwnd, bytes", "window, bytes", "RTT, ms"):
        line = next(line for line in text.splitlines() if line.startswith(name))
        assert "█" in line
        assert "most" in line
    assert "limited by: " in text
    assert screen.KEYS_ONE in text


def test_a_sparkline_is_as_high_as_its_values() -> None:
    assert screen.sparkline([None, 0, 1, 4, 8], 10) == " ▁▁▄█"
    assert screen.sparkline([1, 2, 3], 2) == "▅█"
    assert screen.sparkline([0, 0], 5) == "  "


def test_a_new_connection_with_the_same_ends_begins_anew() -> None:
    found, recording = History(), source.Recording(RECORDED)
    answer = recording.ask("")
    assert answer
    found.add(answer)
    later = [flow | {"acked_bytes": 10, "age_ms": 5} for flow in answer.flows]
    found.add(source.Answer(answer.time_s + 1, later, 0))
    assert [flow.last.rate_bps for flow in found.flows.values()] == [None] * len(later)
    found.add(source.Answer(answer.time_s + 2, [], 7))
    assert not found.flows
    assert "0 flows and 7 more" in drawn(found, screen.View("br0"))


def test_more_flows_than_lines_can_be_reached() -> None:
    found, recording = History(), source.Recording(RECORDED)
    answer = recording.ask("")
    assert answer
    many = [answer.flows[0] | {"tp_src": 1000 + i} for i in range(50)]
    found.add(source.Answer(1.0, many, 0))
    view = screen.View("br0")
    for _ in range(40):
        keys.press(view, found, "down")
        text = drawn(found, view, height=12)
        assert view.chosen
        assert f":{view.chosen[4]} " in text
        assert len(text.splitlines()) <= 12


def test_keys() -> None:
    assert keys.names(b"r\x1b[A\x1b[B\x1b\r/a\x7f") == [
        "r", "up", "down", "escape", "enter", "/", "a", "backspace",
    ]  # fmt: skip
    found, view = history(3), screen.View("br0")
    for key, sort in zip("tplr", ("rtt", "repairs", "limit", "rate"), strict=True):
        assert keys.press(view, found, key)
        assert view.sort == sort
    for key in ("/", *"tcp,tp_dst=5201q", "backspace"):
        assert keys.press(view, found, key)  # q is a part of it
    assert "MATCH: tcp,tp_dst=5201" in drawn(found, view)
    assert view.match == ""
    keys.press(view, found, "enter")
    assert view.match == "tcp,tp_dst=5201"
    keys.press(view, found, "/")
    keys.press(view, found, "x")
    keys.press(view, found, "escape")
    assert view.match == "tcp,tp_dst=5201"
    assert not keys.press(view, found, "q")


# --- the command ------------------------------------------------------------------


def switch(folder: Path, script: str) -> dict[str, str]:
    """An environment in which ovs-appctl is a script."""
    appctl = folder / "ovs-appctl"
    appctl.write_text(f"#!/bin/sh\n{script}\n")
    appctl.chmod(0o755)
    return os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"}


def top(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(TOP), *words], capture_output=True, text=True,
                          timeout=60, check=False, **options)  # fmt: skip


def answers(folder: Path) -> str:
    """A script that gives the first answer, and writes down what it was asked."""
    answer = json.loads(RECORDED.read_text().splitlines()[0])["answer"]
    (folder / "answer").write_text(json.dumps(answer))
    return f'echo "$@" >> {folder}/asked; cat {folder}/answer'


def test_the_switch_is_asked_as_the_user_wants(tmp_path: Path) -> None:
    env = switch(tmp_path, answers(tmp_path))
    record = tmp_path / "record"
    done = top("br0", "tcp,tp_dst=5201", "-n", "2", "-d", "0.1", "-l", "50", "--record",
               str(record), env=env)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "asked").read_text().splitlines() == [
        "--timeout=10 tcon/flows -j br0 flow=tcp,tp_dst=5201 limit=50"
    ] * 2
    assert done.stdout.count("br0, tcp,tp_dst=5201: 3 flows") == 2
    assert top("--replay", str(record)).stdout.count("3 flows") == 2


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("echo 'br9: no such bridge' >&2; echo 'ovs-appctl: x: server error' >&2; exit 2",
         "tcon-top: br9: no such bridge\n"),
        ("exit 1", "tcon-top: ovs-appctl tcon/flows failed and did not say why\n"),
        ("echo hello", "tcon-top: ovs-appctl tcon/flows -j gave something else than flows\n"),
        ("echo '[]'", "tcon-top: ovs-appctl tcon/flows -j gave something else than flows\n"),
    ],
)  # fmt: skip
def test_what_the_switch_refuses_is_one_sentence(
    tmp_path: Path, script: str, complaint: str
) -> None:
    done = top("br9", env=switch(tmp_path, script))
    assert (done.returncode, done.stderr, done.stdout) == (1, complaint, "")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((), "name either a bridge or a file to --replay"),
        (("br0", "--replay", "x"), "name either a bridge or a file to --replay"),
        (("--replay", "/nowhere"), "tcon-top: /nowhere: No such file or directory\n"),
        (("--replay", str(TOP)), f"tcon-top: {TOP}: not a recording of tcon-top\n"),
        (("br0", "-d", "0"), "tcon-top: argument -d/--delay: '0' is not between 0.1 and 3600 seco"),
        (("br0", "-d", "x"), "tcon-top: argument -d/--delay: 'x' is not between 0.1 and 3600 seco"),
        (("br0", "-d", "nan"), "tcon-top: argument -d/--delay: 'nan' is not between 0.1 and 3600"),
        (("br0", "-n", "0"), "tcon-top: argument -n/--iterations: '0' is not a whole number from"),
        (("br0", "-l", "9999999999"), "tcon-top: argument -l/--limit: '9999999999' is not a whole"),
        (("br0", "--frob"), "tcon-top: unrecognized arguments: --frob"),
    ],
)
def test_bad_input_is_told(words: tuple[str, ...], complaint: str) -> None:
    """In one sentence."""
    done = top(*words)
    assert done.returncode != 0
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "line",
    [
        '{"time_s": 1, "answer": {"flows": [{}], "more": 0}}',
        '{"time_s": 1, "answer": {"flows": 3, "more": 0}}',
        '{"time_s": 1, "answer": {"flows": {"a": 1}, "more": 0}}',
        '{"time_s": "x", "answer": {"flows": [], "more": 0}}',
        '{"time_s": 1, "answer": {"flows": [], "more": "x"}}',
        "[1]",
    ],
)
def test_a_file_that_is_no_recording(tmp_path: Path, line: str) -> None:
    file = tmp_path / "file"
    for text in (line, RECORDED.read_text() + line):
        file.write_text(text + "\n")
        done = top("--replay", str(file))
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == f"tcon-top: {file}: not a recording of tcon-top\n"


def test_a_recording_outlives_a_bridge_that_is_misspelt(tmp_path: Path) -> None:
    """A refused call has changed nothing."""
    record = tmp_path / "record"
    record.write_text("of yesterday\n")
    env = switch(tmp_path, "echo \"no bridge is named 'br9'\" >&2; exit 2")
    done = top("br9", "--record", str(record), env=env)
    assert (done.returncode, done.stderr) == (1, "tcon-top: no bridge is named 'br9'\n")
    assert record.read_text() == "of yesterday\n"
    done = top("br0", "--record", "/nowhere/x", env=switch(tmp_path, answers(tmp_path)))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "tcon-top: /nowhere/x: No such file or directory\n"


def test_without_ovs_appctl(tmp_path: Path) -> None:
    done = top("br0", env=os.environ | {"PATH": str(tmp_path)})
    assert done.stderr == "tcon-top: ovs-appctl cannot be run: No such file or directory\n"


def test_a_recording_whose_end_is_cut(tmp_path: Path) -> None:
    """A full disk, or a host that went down, cut it: the whole answers are shown."""
    file, *lines = tmp_path / "recording", *RECORDED.read_text().splitlines(keepends=True)
    shown = []
    for text in ("".join(lines[:-1]), "".join(lines[:-1]) + lines[-1][:100]):
        file.write_text(text)
        done = top("--replay", str(file), "-b")
        assert done.returncode == 0, done.stderr
        shown.append(done.stdout)
    assert shown[0] == shown[1] != ""


def test_a_reader_that_has_seen_enough(tmp_path: Path) -> None:
    """Nothing is said of the inside, whichever rich there is; nor where a disk is full."""
    env = switch(tmp_path, answers(tmp_path))
    words = [sys.executable, str(TOP), "br0", "-b", "-d", "0.1"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env) as shown:
        assert shown.stdout
        shown.stdout.close()
        assert shown.wait(20) != 0
        assert b"Traceback" not in shown.stderr.read()
    with open("/dev/full", "w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, timeout=20,
                              check=False, env=env)  # fmt: skip
    assert (done.returncode, done.stderr) == (1, "tcon-top: output: No space left on device\n")


class Terminal:
    """A terminal of 100 by 30 in which tcon-top runs, as over ssh."""

    def __init__(self, *words: str, env: dict[str, str]) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self.before = termios.tcgetattr(slave)
        self.slave, self.text = slave, ""
        self.process = subprocess.Popen([sys.executable, str(TOP), *words], stdin=slave,
                                        stdout=slave, stderr=slave,
                                        env=env | {"TERM": "xterm-256color"})  # fmt: skip

    def sees(self, what: str, timeout_s: float = 20.0) -> None:
        """Wait for what is drawn from now on."""
        end = time.monotonic() + timeout_s
        while what not in self.text:
            left = end - time.monotonic()
            assert left > 0, f"never seen: {what}; but {self.text[-2000:]!r}"
            if select.select([self.master], [], [], left)[0]:
                self.text += os.read(self.master, 1 << 16).decode(errors="replace")
        self.text = ""

    def press(self, keys: str) -> None:
        self.text = ""
        os.write(self.master, keys.encode())


@contextlib.contextmanager
def terminal(*words: str, env: dict[str, str]) -> Iterator[Terminal]:
    made = Terminal(*words, env=env)
    try:
        yield made
    finally:
        made.process.kill()
        made.process.wait()
        os.close(made.master)
        os.close(made.slave)


def test_in_a_terminal(tmp_path: Path) -> None:
    env = switch(tmp_path, answers(tmp_path))
    with terminal("br0", "-d", "0.2", env=env) as shown:
        shown.sees("▼bit/s")
        shown.press("t")
        shown.sees("▼RTT ms")
        shown.press("\r")
        shown.sees("limited by: ")
        shown.press("\x1b")
        shown.sees("Limited by")
        shown.press("/tcp\r")
        shown.sees("br0, tcp: 3 flows")
        (tmp_path / "ovs-appctl").write_text("#!/bin/sh\necho vswitchd is gone >&2; exit 1\n")
        shown.sees("vswitchd is gone")
        switch(tmp_path, answers(tmp_path))
        shown.sees("q quit")
        shown.press("q")
        assert shown.process.wait(20) == 0
        assert termios.tcgetattr(shown.slave) == shown.before
