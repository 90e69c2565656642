# SPDX-License-Identifier: GPL-2.0-only
"""tcon-monitor: what it decides, against guests that share a link by what they have of flows and
weight; and what it asks of the switch, for which a script and files stand here."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import random
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

MONITOR = Path(__file__).parents[3] / "userspace/monitor/tcon-monitor"
LOADER = SourceFileLoader("tcon_monitor", str(MONITOR))
SPEC = importlib.util.spec_from_loader("tcon_monitor", LOADER)
assert SPEC is not None
monitor = importlib.util.module_from_spec(SPEC)
__import__("sys").modules["tcon_monitor"] = monitor
LOADER.exec_module(monitor)

LINK_BPS = 1e9
DEBIAN = Path(__file__).parents[3] / "debian"
#: A monitor's options as they are read.
ASKED = argparse.Namespace(uplink=None, capacity=None, alpha=0.5, after=2, period=1.0, json=False)


def judge(alpha: float = 0.5, after: int = 3) -> monitor.Judge:
    return monitor.Judge(monitor.Limits(alpha, after), LINK_BPS)


def jain(rates: dict[str, float]) -> float:
    return sum(rates.values()) ** 2 / len(rates) / sum(rate**2 for rate in rates.values())


def shared(flows: dict[str, float], weights: dict[str, float]) -> dict[str, float]:
    """The rates by flows times weight, which is the model of weights."""
    parts = {name: count * weights.get(name, 1) for name, count in flows.items()}
    return {name: LINK_BPS * part / sum(parts.values()) for name, part in parts.items()}


def run(mine: monitor.Judge, flows: dict[str, float], periods: int) -> dict[str, float]:
    """Let it decide for some periods; the rates in the end."""
    rates = shared(flows, mine.weights)
    for _ in range(periods):
        mine.look(rates, LINK_BPS)
        rates = shared(flows, mine.weights)
    return rates


@pytest.mark.parametrize("alpha", [0.1, 0.25, 0.5, 1.0])
def test_who_takes_too_much_is_brought_to_the_mean(alpha: float) -> None:
    for seed in range(200):
        rng = random.Random(seed)
        flows = {f"g{n}": float(rng.choice((1, 1, 1, 4, 16))) for n in range(rng.randint(2, 12))}
        mine = judge(alpha)
        rates = run(mine, flows, 100)
        mean = sum(rates.values()) / len(rates)
        for name, rate in rates.items():
            lowest = mine.weights.get(name, 1) == monitor.LOWEST_WEIGHT
            assert rate <= mean * (1 + alpha) * 1.001 or lowest, (seed, rates, mine.weights)
        assert jain(rates) >= jain(shared(flows, {})) - 1e-9


def test_who_shares_fairly_is_let_alone() -> None:
    rng = random.Random(1)
    for _ in range(100):
        mine = judge()
        for _ in range(50):
            rates = {f"g{n}": 1e8 * rng.uniform(0.8, 1.2) for n in range(10)}
            mine.look(rates, sum(rates.values()))
        assert not mine.weights


def test_it_takes_as_many_periods_as_was_said() -> None:
    mine = judge(after=3)
    rates = {"a": 8e8, "b": 1e8, "c": 1e8}
    for n in range(3):
        assert not mine.weights, n
        mine.look(rates, LINK_BPS)
    assert mine.weights == {"a": round(1 / 2.4, 3)}

    mine = judge(after=3)  # a period without ends the count
    for unfair in (1, 1, 0, 1, 1):
        mine.look(rates if unfair else dict.fromkeys(rates, 3e8), LINK_BPS)
    assert not mine.weights
    mine = judge(after=3)  # so does one in which the link is not full
    for uplink in (1e9, 1e9, 9e8, 1e9, 1e9):
        mine.look(rates, uplink)
    assert not mine.weights


def test_what_was_done_is_taken_back() -> None:
    mine = judge(after=3)
    run(mine, {"a": 8, "b": 1}, 20)
    assert mine.weights
    before = dict(mine.weights)
    for uplink in (7e8, 7e8, 9e8, 7e8, 7e8):  # hysteresis: neither full, nor for long enough not
        mine.look({"a": 3e8, "b": 3e8}, uplink)
        assert mine.weights == before
    mine.look({"a": 3e8, "b": 3e8}, 7e8)
    assert not mine.weights


def test_it_waits_while_a_guest_comes_nearer() -> None:
    """Flows follow a weight slowly: an earlier change must have had its effect."""
    mine = judge(after=2)
    share, lowest = 0.8, 1.0
    for _ in range(100):
        mine.look({"a": share * LINK_BPS, "b": (1 - share) * LINK_BPS}, LINK_BPS)
        weight = mine.weights.get("a", 1.0)
        lowest = min(lowest, weight)
        share += (4 * weight / (4 * weight + 1) - share) / 10
    assert 0.2 < lowest < 0.7
    assert abs(share - 0.5) <= 0.25


def test_a_weight_that_became_too_low_is_raised() -> None:
    """The guest has closed its many connections, and the link is still full."""
    mine = judge(after=3)
    run(mine, {"a": 8, "b": 1}, 30)
    assert mine.weights["a"] < 0.4
    rates = run(mine, {"a": 1, "b": 1}, 30)
    assert rates["a"] > 0.5 * LINK_BPS / 2


def test_guests_that_do_not_count() -> None:
    mine = judge(after=1)
    mine.look({"a": 1e9, "idle": 1e6}, LINK_BPS)  # alone, nobody can take more than a share
    assert not mine.weights
    mine.look({"a": 9e8, "b": 1e8}, LINK_BPS)
    assert list(mine.weights) == ["a"]
    mine.look({"b": 1e9}, LINK_BPS)  # gone
    assert not mine.weights


# --- the program ----------------------------------------------------------------

FAKE = """#!/bin/sh
cd "$(dirname "$0")"
echo "$*" >>asked
[ ! -e instead ] || . ./instead
case $1 in tcon/show) cat show;; esac
"""
SHOW = {
    "bridges": [
        {
            "name": "br0",
            "ports": [
                {"name": "a", "role": "guest"},
                {"name": "b", "role": "guest"},
                {"name": "up", "role": "uplink"},
            ],
            "rules": [],
            "config": [],
        }
    ]
}


class Host:
    """Counters of devices, and a daemon that notes what it is asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.appctl = folder / "appctl"
        self.appctl.write_text(FAKE)
        self.appctl.chmod(0o755)
        self.say(SHOW)
        for device in ("a", "b", "up"):
            (folder / "net" / device / "statistics").mkdir(parents=True)
        (folder / "net/up/speed").write_text("100\n")
        self.sent = {"a": 0.0, "b": 0.0}
        self.count()

    def say(self, show: object) -> None:
        (self.folder / "show").write_text(json.dumps(show))

    def count(self) -> None:
        for device, sent in (*self.sent.items(), ("up", sum(self.sent.values()))):
            counter = "tx_bytes" if device == "up" else "rx_bytes"
            new = self.folder / "new"
            new.write_text(f"{int(sent)}\n")
            new.rename(self.folder / "net" / device / "statistics" / counter)

    def start(self, *options: str) -> subprocess.Popen[str]:
        words = [
            "/usr/bin/python3",
            MONITOR,
            "br0",
            "--appctl",
            self.appctl,
            "--net",
            self.folder / "net",
            "--period",
            "0.1",
            "--after",
            "2",
            *options,
        ]
        with (self.folder / "out").open("w") as out, (self.folder / "err").open("w") as err:
            return subprocess.Popen(words, stdout=out, stderr=err, text=True)

    def out(self) -> str:
        return (self.folder / "out").read_text()

    def err(self) -> str:
        return (self.folder / "err").read_text()

    def send(self, a_bps: float, b_bps: float, until: Callable[[], bool]) -> None:
        """Both guests send, in steps of 20 ms."""
        last_s = time.monotonic()
        end_s = last_s + 60
        while not until():
            now_s = time.monotonic()
            assert now_s < end_s, self.err()
            self.sent["a"] += a_bps / 8 * (now_s - last_s)
            self.sent["b"] += b_bps / 8 * (now_s - last_s)
            last_s = now_s
            self.count()
            time.sleep(0.02)

    def asked(self) -> list[str]:
        """The commands that change something."""
        asked = self.folder / "asked"
        lines = asked.read_text().splitlines() if asked.exists() else []
        return [line for line in lines if not line.startswith("tcon/show")]


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


@pytest.fixture
def ended() -> Iterator[list[subprocess.Popen[str]]]:
    """Programs that must not outlive the test."""
    programs: list[subprocess.Popen[str]] = []
    yield programs
    for program in programs:
        program.kill()
        program.wait()


def test_a_rule_comes_and_goes(host: Host, ended: list[subprocess.Popen[str]]) -> None:
    program = host.start("--json")
    ended.append(program)
    host.send(95e6, 15e6, until=lambda: len(host.asked()) > 0)
    first = host.asked()[0].split()
    assert first[:3] == ["tcon/set-cc", "--volatile", "--by=tcon-monitor"]
    assert first[3:6] == ["br0", "flow=in_port=a,priority=0", "cubic"]
    assert first[6].startswith("weight=0.")
    assert first[7] == "for=10s"
    gone = "tcon/del-cc --by=tcon-monitor br0 flow=in_port=a,priority=0"
    host.send(10e6, 10e6, until=lambda: host.asked()[-1] == gone)
    host.send(95e6, 15e6, until=lambda: "set-cc" in host.asked()[-1])
    program.send_signal(signal.SIGTERM)  # it leaves nothing behind
    program.wait(10)
    assert program.returncode == 0
    assert host.asked()[-1] == gone
    assert not any("in_port=b" in line for line in host.asked())
    assert "br0: a: weight 0." in host.err()
    assert "br0: a: weight 1 again" in host.err()
    looks = [json.loads(line) for line in host.out().splitlines()]
    assert {look["full"] for look in looks} == {True, False}
    assert min(look["guests"]["a"]["weight"] for look in looks) < 1
    assert all(look["guests"]["b"]["weight"] == 1 for look in looks)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_while_the_daemon_is_asked(
    host: Host, ended: list[subprocess.Popen[str]], number: signal.Signals, code: int
) -> None:
    """The rule that it is asked for then is removed, too."""
    (host.folder / "instead").write_text("[ $1 != tcon/set-cc ] || sleep 1\n")
    program = host.start()
    ended.append(program)
    host.send(95e6, 15e6, until=lambda: len(host.asked()) > 0)
    program.send_signal(number)
    assert program.wait(10) == code
    assert host.asked()[-1] == "tcon/del-cc --by=tcon-monitor br0 flow=in_port=a,priority=0"


def test_the_operators_rules(host: Host, ended: list[subprocess.Popen[str]]) -> None:
    """They come first, unless --override says otherwise; one at the same place is let alone."""
    program = host.start("--override", "--cc", "reno")
    ended.append(program)
    host.send(95e6, 15e6, until=lambda: len(host.asked()) > 0)
    program.terminate()
    program.wait(10)
    assert "flow=in_port=a,priority=65535 reno weight=" in host.asked()[0]
    (host.folder / "asked").unlink()

    show = json.loads(json.dumps(SHOW))
    show["bridges"][0]["rules"] = [
        {"match": "in_port=a", "priority": 0, "source": {"table": "Bridge", "record": "br0"}}
    ]
    host.say(show)
    program = host.start()
    ended.append(program)
    own = "a: has a rule of its own with priority 0"
    host.send(95e6, 15e6, until=lambda: own in host.err())
    program.terminate()
    program.wait(10)
    assert host.asked() == []


def test_an_operators_rule_that_comes(host: Host, ended: list[subprocess.Popen[str]]) -> None:
    """At the very place of one of the monitor's: nobody but the operator removes it."""
    mine = {"match": "in_port=a", "priority": 0, "source": None}
    own = {"match": "in_port=a", "priority": 0, "source": {"table": "Bridge", "record": "br0"}}
    key = {"match": "in_port=a", "priority": 0}
    for rule, config in (
        (own, []),  # by tcon/set-cc
        (mine, [key | {"state": "hidden"}]),  # by ovs-vsctl
        (mine, [key | {"state": "refused"}]),  # its text has become wrong: the last good one stays
    ):
        host.say(SHOW)
        program = host.start()
        ended.append(program)
        host.send(95e6, 15e6, until=lambda: len(host.asked()) > 0)
        show = json.loads(json.dumps(SHOW))
        show["bridges"][0] |= {"rules": [rule], "config": config}
        host.say(show)
        let_alone = "a: has a rule of its own with priority 0"
        host.send(95e6, 15e6, until=lambda: let_alone in host.err())  # noqa: B023
        end_s = time.monotonic() + 1
        host.send(10e6, 10e6, until=lambda: time.monotonic() > end_s)  # noqa: B023
        program.terminate()
        program.wait(10)
        assert not [line for line in host.asked() if "del-cc" in line], config
        (host.folder / "asked").unlink()


def test_an_operators_rule_just_before_the_end(
    host: Host, ended: list[subprocess.Popen[str]]
) -> None:
    program = host.start()
    ended.append(program)
    host.send(95e6, 15e6, until=lambda: len(host.asked()) > 0)
    show = json.loads(json.dumps(SHOW))
    show["bridges"][0]["rules"] = [
        {"match": "in_port=a", "priority": 0, "source": {"table": "Bridge", "record": "br0"}}
    ]
    host.say(show)
    program.terminate()
    program.wait(10)
    assert not [line for line in host.asked() if "del-cc" in line]


def test_names_of_ports_that_read_as_something_else(host: Host) -> None:
    """tcon/set-cc takes in_port=7 for the port with that number, and LOCAL for the bridge's own."""
    show = json.loads(json.dumps(SHOW))
    names = ("7", "0x7", "local", "a,b", "a7")
    show["bridges"][0]["rules"] = [
        {"match": f'in_port="{name}"', "priority": 0, "source": {"table": "Bridge"}}
        for name in names
    ]
    host.say(show)
    switch = monitor.Switch("br0", str(host.appctl), host.folder / "net", "cubic", 0)
    switch.look()
    for name in names[:4]:
        switch.set_weight(name, 0.5, 10)
        switch.reset_weight(name)
        assert switch.is_taken(name)
    assert not switch.is_taken("a7")
    flows = [next(word for word in line.split() if "flow=" in word) for line in host.asked()]
    assert flows == [f'flow=in_port="{name}",priority=0' for name in names[:4] for _ in range(2)]


def test_a_device_that_is_gone_for_a_while(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that it had sent before do not count as sent in a period."""
    now_s = 100.0
    monkeypatch.setattr(monitor.time, "monotonic", lambda: now_s)
    host.sent = {"a": 1e9, "b": 1e9}
    host.count()
    mine = monitor.Monitor(
        monitor.Switch("br0", str(host.appctl), host.folder / "net", "cubic", 0), ASKED
    )
    assert mine._rates() is None
    for gone, rates in (
        (None, {"a": 8e6, "b": 8e6, "up": 16e6}),
        ("a", {"b": 8e6, "up": 16e6}),
        (None, {"b": 8e6, "up": 16e6}),
        ("up", {"a": 8e6, "b": 8e6, "up": 0}),
        (None, {"a": 8e6, "b": 8e6, "up": 0}),
        (None, {"a": 8e6, "b": 8e6, "up": 16e6}),
    ):
        now_s += 1
        host.sent = {name: sent + 1e6 for name, sent in host.sent.items()}
        host.count()
        if gone:
            (host.folder / "net" / gone).rename(host.folder / "away")
        assert mine._rates() == rates
        if gone:
            (host.folder / "away").rename(host.folder / "net" / gone)


class Counters:
    """A switch whose counters go on by the second, and time with them."""

    bridge, priority = "br0", 0

    def __init__(self) -> None:
        self.now_s = 0.0
        self.taken = True
        self.set: list[str] = []
        self._sent = {"a": 0.0, "b": 0.0}

    def look(self) -> None:
        """It has the same ports always."""

    def ports(self, role: str) -> list[str]:
        return ["a", "b"] if role == "guest" else ["up"]

    def is_taken(self, port: str) -> bool:
        return self.taken

    def speed_bps(self, port: str) -> float:
        return 100e6

    def bytes(self, port: str, counter: str) -> int:
        return int(sum(self._sent.values()) if port == "up" else self._sent[port])

    def set_weight(self, port: str, weight: float, term_s: int) -> None:
        self.set.append(port)

    def second(self, a_bps: float, b_bps: float) -> None:
        self.now_s += 1
        self._sent = {"a": self._sent["a"] + a_bps / 8, "b": self._sent["b"] + b_bps / 8}


def test_an_operators_rule_that_goes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Then the guest gets its weight, also if the link is neither full nor free at that time."""
    switch = Counters()
    monkeypatch.setattr(monitor.time, "monotonic", lambda: switch.now_s)
    mine = monitor.Monitor(switch, ASKED)
    mine.look()
    for _ in range(2):
        switch.second(85e6, 15e6)
        mine.look()
    assert "a: has a rule of its own with priority 0" in capsys.readouterr().err
    assert switch.set == []
    switch.taken = False
    switch.second(75e6, 15e6)
    mine.look()
    assert switch.set == ["a"]
    assert re.fullmatch(r"br0: a: weight 0\.\d+, as before\n", capsys.readouterr().err)


def test_an_operators_rule_that_stays_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """A weight that was never in force does not tell which one is needed."""
    switch, given = Counters(), []
    monkeypatch.setattr(monitor.time, "monotonic", lambda: switch.now_s)
    monkeypatch.setattr(switch, "set_weight", lambda _, weight, __: given.append(weight))
    mine = monitor.Monitor(switch, ASKED)
    mine.look()
    for _ in range(30):
        switch.second(85e6, 15e6)
        mine.look()
    switch.taken = False
    switch.second(85e6, 15e6)
    mine.look()
    assert given == [round(1 / 1.7, 3)]


class Unwilling(Counters):
    """It refuses the first guest's rule."""

    def __init__(self) -> None:
        super().__init__()
        self.taken = False
        self._sent |= {"c": 0.0, "d": 0.0}
        self.there = ["a", "b", "c", "d"]

    def ports(self, role: str) -> list[str]:
        return self.there if role == "guest" else ["up"]

    def set_weight(self, port: str, weight: float, term_s: int) -> None:
        if port == "a":
            raise monitor.MonitorError("a is refused")
        super().set_weight(port, weight, term_s)

    def second(self, a_bps: float, b_bps: float) -> None:
        super().second(a_bps, b_bps)
        self._sent |= {"c": self.now_s * 1e6, "d": self.now_s * 1e6}


def test_a_rule_that_is_refused_keeps_no_other_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is a rule set for a port that has gone since the daemon was asked last."""
    switch = Unwilling()
    monkeypatch.setattr(monitor.time, "monotonic", lambda: switch.now_s)
    mine = monitor.Monitor(switch, ASKED)
    mine.look()
    switch.second(45e6, 45e6)
    mine.look()
    switch.second(45e6, 45e6)
    with pytest.raises(monitor.MonitorError, match="a is refused"):
        mine.look()
    assert switch.set == ["b"]
    monkeypatch.setattr(switch, "look", lambda: switch.there.remove("a"))
    switch.second(45e6, 45e6)
    mine.look()


def test_a_daemon_that_fails(host: Host, ended: list[subprocess.Popen[str]]) -> None:
    """It says so once, and goes on when the daemon does."""
    program = host.start("--json")
    ended.append(program)
    host.send(10e6, 10e6, until=lambda: host.out().count("\n") > 2)
    (host.folder / "instead").write_text("echo 'tcon.ko is not loaded' >&2; exit 2\n")
    fails = "tcon.ko is not loaded; trying again"
    host.send(95e6, 15e6, until=lambda: fails in host.err())
    (host.folder / "instead").unlink()
    host.send(95e6, 15e6, until=lambda: "a: weight 0." in host.err())
    program.terminate()
    program.wait(10)
    assert host.err().count("tcon.ko is not loaded; trying again") == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--alpha", "0"), "argument --alpha: '0' is not from 0.01 to 100"),
        (("--capacity", "5"), "argument --capacity: '5' is no rate, such as 10gbit or 500mbit"),
        (("--after", "1.5"), "argument --after: '1.5' is not from 1 to 1000"),
        (("--cc", "bbr"), "argument --cc: invalid choice: 'bbr'"),
        (("--uplink", "a"), "a does not say its speed: give --capacity"),
    ],
)
def test_what_is_refused(host: Host, options: tuple[str, ...], words: str) -> None:
    assert host.start(*options).wait(10) == 1
    assert host.err().startswith(f"tcon-monitor: {words}")
    assert host.err().count("\n") == 1


@pytest.mark.parametrize(
    "said",
    ["nonsense", "[]", '{"bridges": []}', '{"bridges": [{}]}', '{"bridges": [{"ports": 3}]}'],
)
def test_an_answer_that_is_none(host: Host, said: str) -> None:
    (host.folder / "instead").write_text(f"echo '{said}'; exit\n")
    assert host.start().wait(10) == 1
    words = "the daemon's answer is not what it was: it is of another version"
    assert host.err() == f"tcon-monitor: {words}\n"


def test_a_reader_that_goes(host: Host, ended: list[subprocess.Popen[str]]) -> None:
    """It takes back all that it set, and prints no traceback."""
    host.start("--json").kill()  # which makes the files
    words = ["/usr/bin/python3", MONITOR, "br0", "--json", "--after", "2", "--period", "0.1",
             "--appctl", host.appctl, "--net", host.folder / "net"]  # fmt: skip
    program = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    ended.append(program)
    host.send(95e6, 15e6, until=lambda: len(host.asked()) > 0)
    program.stdout.close()
    assert program.wait(10) == 128 + signal.SIGPIPE
    assert host.asked()[-1] == "tcon/del-cc --by=tcon-monitor br0 flow=in_port=a,priority=0"
    assert "Traceback" not in program.stderr.read()


class Willing(Unwilling):
    """It notes which rules there are."""

    def set_weight(self, port: str, weight: float, term_s: int) -> None:
        self.set.append(port)

    def reset_weight(self, port: str) -> None:
        self.set.remove(port)


class Closed:
    """A log that nobody reads any more."""

    def write(self, text: str) -> None:
        raise BrokenPipeError

    def flush(self) -> None:
        """Nothing is kept."""


def test_a_log_that_nobody_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that was set is taken back all the same."""
    switch = Willing()
    monkeypatch.setattr(monitor.time, "monotonic", lambda: switch.now_s)
    mine = monitor.Monitor(switch, ASKED)
    mine.look()
    for _ in range(2):
        switch.second(45e6, 45e6)
        mine.look()
    assert switch.set == ["a", "b"]
    came = argparse.Namespace(si_signo=signal.SIGTERM)
    monkeypatch.setattr(monitor.signal, "sigtimedwait", lambda *_: came)
    switch.second(45e6, 45e6)
    monkeypatch.setattr(monitor.sys, "stderr", Closed())
    with contextlib.suppress(BrokenPipeError):
        mine.run()
    assert switch.set == []


def test_a_bridge_without_one_uplink(host: Host) -> None:
    show = json.loads(json.dumps(SHOW))
    del show["bridges"][0]["ports"][2]
    host.say(show)
    host.start().wait(10)
    assert host.err() == "tcon-monitor: br0 has not one uplink (none): give --uplink\n"


# --- the service ------------------------------------------------------------------


def settings(name: str) -> list[str]:
    """A service unit's lines, without the ones about the program itself."""
    text = (DEBIAN / f"tcon-switch.{name}.service").read_text()
    own = ("#", "Description=", "Documentation=", "ExecStart=", "EnvironmentFile=")
    lines = [line for line in text.splitlines() if not line.startswith(own)]
    return [line for line in lines if not line.startswith("RestrictAddressFamilies=")]


def test_its_service_is_confined_as_the_exporters() -> None:
    """In that way the exporter's was seen to reach the daemon; this one needs no network."""
    assert settings("tcon-monitor@") == settings("tcon-exporter")
    unit = (DEBIAN / "tcon-switch.tcon-monitor@.service").read_text()
    assert "ExecStart=/usr/sbin/tcon-monitor $TCON_MONITOR %i\n" in unit
    assert "RestrictAddressFamilies=AF_UNIX\n" in unit
    rules = (DEBIAN / "rules").read_text()
    assert "dh_installsystemd --name=tcon-monitor@ --no-enable --no-start\n" in rules
    assert "'tcon-monitor@*.service'" in (DEBIAN / "tcon-switch.prerm").read_text()
