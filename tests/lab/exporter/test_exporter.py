# SPDX-License-Identifier: GPL-2.0-only
"""tcon-exporter, asked over HTTP, and its alerts, by a real Prometheus.

The daemon's answers are recorded from a real one (recorded.json, which tests/vm compares with its
present ones); a script takes its place, so that it can also fail.
"""

from __future__ import annotations

import contextlib
import copy
import json
import re
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from grafana_foundation_sdk.cog import plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

TOP = Path(__file__).parents[3]
EXPORTER = TOP / "userspace/exporter/tcon-exporter"
DASHBOARD = TOP / "userspace/exporter/dashboard.json"
RECORDED = json.loads(Path(__file__).with_name("recorded.json").read_text())

#: Says what it finds in its folder: an answer for each command, or what it is to do instead.
FAKE = """#!/bin/sh
cd "$(dirname "$0")"
[ ! -e instead ] || . ./instead
cat "$(basename "$1").json"
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def fetch(url: str, timeout_s: float = 10) -> str:
    """The text at an address; waits for a service that has just been started."""
    end = time.monotonic() + timeout_s
    while True:
        try:
            with urllib.request.urlopen(url, timeout=timeout_s) as answer:
                return answer.read().decode()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


class Exporter:
    """One that runs, and the daemon that it asks."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self.port = free_port()
        fake = folder / "appctl"
        fake.write_text(FAKE)
        fake.chmod(0o755)
        self.say(RECORDED["show"], RECORDED["flows"])
        self.process = subprocess.Popen(
            ["/usr/bin/python3", EXPORTER, "--appctl", fake, "--listen", str(self.port), *options]
        )

    def say(self, show: Any, flows: Any) -> None:
        (self.folder / "show.json").write_text(json.dumps(show))
        (self.folder / "flows.json").write_text(json.dumps(flows))

    def instead(self, script: str | None) -> None:
        """Let a script take the daemon's place; None: it answers as recorded."""
        (self.folder / "instead").unlink(missing_ok=True)
        if script is not None:
            (self.folder / "instead").write_text(script)

    def scrape(self) -> dict[str, float]:
        """Each sample, by name and labels as they are written."""
        text = fetch(f"http://127.0.0.1:{self.port}/metrics")
        samples = [line.rsplit(" ", 1) for line in text.splitlines() if line[0] != "#"]
        assert len(samples) == len(dict(samples)), "a series is there twice"
        return {name: float(value) for name, value in samples}

    def problem(self) -> tuple[float, set[str]]:
        samples = self.scrape()
        start = 'ovs_tcon_problem{problem="'
        return samples["ovs_tcon_up"], {
            name.removeprefix(start).removesuffix('"}')
            for name, value in samples.items()
            if name.startswith(start) and value
        }


@pytest.fixture
def exporter(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Exporter]:
    running = Exporter(tmp_path, "--timeout", "1", *getattr(request, "param", ()))
    yield running
    running.process.kill()
    running.process.wait()


def test_what_a_daemon_said(exporter: Exporter) -> None:
    samples, show = exporter.scrape(), RECORDED["show"]
    (bridge,) = show["bridges"]
    (guest,) = [port for port in bridge["ports"] if port["role"] == "guest"]
    place = f'bridge="br0",interface="{guest["name"]}"'
    flows = RECORDED["flows"]["flows"]
    assert exporter.problem() == (1, set())
    assert sum(v for name, v in samples.items() if name.startswith("ovs_tcon_flows{")) == len(flows)
    for flow in flows:
        where = f'{place},reason="{flow["reason"]}",state="{flow["state"]}"'
        assert samples[f"ovs_tcon_flows{{{where}}}"] >= 1
    assert samples['ovs_tcon_flows_unlisted{bridge="br0"}'] == RECORDED["flows"]["more"]
    assert samples[f"ovs_tcon_buffer_bytes{{{place}}}"] == guest["buffer_bytes"]
    assert samples['ovs_tcon_buffer_bytes_limit{of="host"}'] == show["buffer_bytes_max"]
    for counter in show["counters"]:
        event = f'ovs_tcon_events_total{{event="{counter["name"]}"}}'
        assert samples[event] == counter["value"]
    live = [f for f in flows if f["reason"] not in ("closed", "handshake") and f["srtt_us"]]
    ends = [v for name, v in samples.items() if name.startswith("ovs_tcon_rtt_seconds_bucket")
            and 'le="+Inf"' in name]  # fmt: skip
    assert sum(ends) == len(live) > 0


def test_counters_grow_by_what_flows_do(exporter: Exporter) -> None:
    """Not by what flows did before, nor do they fall when a flow goes."""

    def repairs() -> float:
        return sum(
            v for name, v in exporter.scrape().items() if name.startswith("ovs_tcon_repairs_total")
        )

    show, flows = RECORDED["show"], copy.deepcopy(RECORDED["flows"])
    flow = flows["flows"][0]
    assert repairs() == 0
    flow["repairs"] += 7
    exporter.say(show, flows)
    assert repairs() == 7
    born = copy.deepcopy(flow) | {"tp_src": 1, "age_ms": 1, "repairs": 5}
    old = copy.deepcopy(flow) | {"tp_src": 2, "age_ms": 3_600_000, "repairs": 100}
    flows["flows"] += [born, old]
    exporter.say(show, flows)
    assert repairs() == 12
    flows["flows"] = [old | {"repairs": 3}]  # another flow between the same ends
    exporter.say(show, flows)
    assert repairs() == 15


def test_a_scrape_that_fails_counts_nothing(exporter: Exporter) -> None:
    """Where one bridge told its flows and the next did not, the next scrape counts all, once."""
    show, flows = copy.deepcopy(RECORDED["show"]), copy.deepcopy(RECORDED["flows"])
    (bridge,) = show["bridges"]
    show["bridges"].append(bridge | {"name": "br1"})

    def repairs(of: str) -> float:
        start = f'ovs_tcon_repairs_total{{bridge="{of}"'
        return sum(v for name, v in exporter.scrape().items() if name.startswith(start))

    exporter.say(show, flows)
    assert repairs("br0") == 0
    first = flows["flows"][0]
    first["repairs"] += 7
    flows["flows"].append(copy.deepcopy(first) | {"tp_src": 1, "age_ms": 1, "repairs": 5})
    exporter.say(show, flows)
    exporter.instead("case $* in *br1*) echo 'ovs-appctl: cannot connect' >&2; exit 1;; esac\n")
    for _ in range(3):
        assert exporter.problem() == (0, {"daemon"})
    exporter.instead(None)
    assert (repairs("br0"), repairs("br1")) == (12, 12)


def test_what_the_daemon_leaves_out(exporter: Exporter) -> None:
    """A daemon that leaves it out is of another version, whatever it is."""
    for field in RECORDED["show"]:
        show = {name: value for name, value in RECORDED["show"].items() if name != field}
        exporter.say(show, RECORDED["flows"])
        assert exporter.problem()[1] <= {"version"}, field
    exporter.say(RECORDED["show"], RECORDED["flows"])
    exporter.instead('printf \'{"bridges": "\\377"}\'; exit\n')
    assert exporter.problem() == (0, {"version"})


def test_rules_of_one_priority_count_together(exporter: Exporter) -> None:
    """Only some priorities have series of their own."""
    show, flows = copy.deepcopy(RECORDED["show"]), copy.deepcopy(RECORDED["flows"])
    (bridge,) = show["bridges"]
    rule = bridge["rules"][0]
    bridge["rules"] = [rule | {"priority": n + 1, "flows": 10 + n} for n in range(60)]
    bridge["rules"] += [rule | {"match": f"tp_dst={n}", "flows": 9 - n} for n in range(10)]
    live = next(f for f in flows["flows"] if f["srtt_us"] and f["reason"] == "none")
    flows["flows"] = [live | {"priority": rule["priority"]}]
    exporter.say(show, flows)
    series = [name for name in exporter.scrape() if name.startswith("ovs_tcon_rtt_seconds_bucket")]
    assert all(f'priority="{rule["priority"]}"' in name for name in series)


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("echo 'ovs-appctl: cannot connect' >&2; exit 1", "daemon"),
        ("echo 'tcon.ko is not loaded (try: modprobe tcon)' >&2; exit 2", "module"),
        ("echo 'a reply of tcon.ko is malformed: is it of another version?' >&2; exit 2",
         "version"),
        ("echo '\"tcon/show\" is not a valid command' >&2; exit 2", "daemon"),
        ("echo '{}'; exit", "version"),
        ("echo '[]'; exit", "version"),
        ("echo nonsense; exit", "version"),
        ("sleep 100", "timeout"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_time(exporter: Exporter, script: str, problem: str) -> None:
    """And what was wrong is forgotten."""
    exporter.scrape()
    exporter.instead(script)
    begin = time.monotonic()
    assert exporter.problem() == (0, {problem})
    assert time.monotonic() - begin < 3
    exporter.instead(None)
    assert exporter.problem() == (1, set())


def test_a_bridge_that_goes_meanwhile_is_no_problem(exporter: Exporter) -> None:
    exporter.instead("[ $1 = tcon/show ] || { echo \"no bridge is named 'br0'\" >&2; exit 2; }")
    assert exporter.problem() == (1, set())


def test_a_rule_that_waits_beside_one_in_the_kernel(exporter: Exporter) -> None:
    """They may differ by parameters only, and have one series."""
    show = copy.deepcopy(RECORDED["show"])
    (bridge,) = show["bridges"]
    rule = bridge["rules"][0] | {"params": {"weight": 0.5}}
    waits = rule | {"params": {"weight": 0.3}, "flows": 0, "in_kernel": False}
    bridge["rules"] = [waits, rule | {"flows": 3}]
    exporter.say(show, RECORDED["flows"])
    samples = exporter.scrape()
    assert [v for name, v in samples.items() if name.startswith("ovs_tcon_rule_flows{")] == [3]
    assert [v for name, v in samples.items() if name.startswith("ovs_tcon_rule_weight{")] == [0.5]


def test_a_newer_module_is_told_by_its_names(exporter: Exporter) -> None:
    show = copy.deepcopy(RECORDED["show"])
    show["counters"].append({"name": "77", "text": "", "value": 1})
    exporter.say(show, RECORDED["flows"])
    assert exporter.problem() == (1, {"version"})


@pytest.mark.parametrize("exporter", [("--interfaces", "3", "--rules", "2")], indirect=True)
def test_series_are_bounded(exporter: Exporter) -> None:
    """However many ports and rules there are; no flow is lost from the sums."""
    show, flows = copy.deepcopy(RECORDED["show"]), copy.deepcopy(RECORDED["flows"])
    (bridge,) = show["bridges"]
    (guest,) = [port for port in bridge["ports"] if port["role"] == "guest"]
    (flow, *_), flows["flows"] = flows["flows"], []
    for n in range(200):
        name = f"vnet{n}"
        bridge["ports"].append(guest | {"name": name, "flows": n})
        rule = bridge["rules"][0] | {"priority": n, "match": f"in_port={name}", "flows": n}
        bridge["rules"].append(rule)
        flows["flows"].append(flow | {"port": name, "priority": n})
    bridge["rules"][-1] |= {"cc": "cubic", "params": {"weight": 0.31}}
    exporter.say(show, flows)
    samples = exporter.scrape()
    assert len(samples) < 250
    (weight,) = [name for name in samples if name.startswith("ovs_tcon_rule_weight{")]
    assert 'match="in_port=vnet199"' in weight
    assert samples[weight] == 0.31
    of_flows = {name: v for name, v in samples.items() if name.startswith("ovs_tcon_flows{")}
    assert len(of_flows) == 4
    assert sum(of_flows.values()) == 200
    assert len([name for name in samples if name.startswith("ovs_tcon_rule_flows{")]) == 3


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--listen", "nowhere"], "argument --listen: 'nowhere' is neither ADDRESS:PORT nor PORT"),
        (["--timeout", "0"], "argument --timeout: '0' is no number from 1 to 3600"),
        (["--timeout", "9" * 20], f"argument --timeout: '{'9' * 20}' is no number from 1 to 3600"),
        (["--flows", "4294967296"], "argument --flows: '4294967296' is no number from 1 to 42949"),
        (["--flow"], "argument --flows: expected one argument"),
        (["now"], "unrecognized arguments: now"),
        (["--listen", "203.0.113.1:1"], "cannot listen on 203.0.113.1, port 1: "),
    ],
)
def test_bad_options(options: list[str], complaint: str) -> None:
    done = subprocess.run(["/usr/bin/python3", EXPORTER, *options], capture_output=True, text=True,
                          check=False, timeout=20)  # fmt: skip
    assert done.returncode
    assert done.stderr.startswith(f"tcon-exporter: {complaint}")
    assert done.stderr.count("\n") == 1


def test_a_library_that_is_missing() -> None:
    done = subprocess.run(["/usr/bin/python3", "-S", EXPORTER], capture_output=True, text=True,
                          check=False, timeout=20)  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == (
        "tcon-exporter: prometheus_client is missing: install python3-prometheus-client\n"
    )


# --- alerts -------------------------------------------------------------------

ALERTS = TOP / "userspace/exporter/alerts.yml"
HOST = 'instance="h"'

#: For each alert series that let it fire, and others that must not.
FIRING = {
    "TConGone": ({"ovs_tcon_up": "0"}, {"ovs_tcon_up": "1"}),
    "TConOtherVersion": (
        {'ovs_tcon_problem{problem="version"}': "1"},
        {'ovs_tcon_problem{problem="daemon"}': "1"},
    ),
    "TConTableFull": (
        {"ovs_tcon_known_flows": "95", "ovs_tcon_known_flows_limit": "100"},
        {"ovs_tcon_known_flows": "85", "ovs_tcon_known_flows_limit": "100",
         'ovs_tcon_events_total{event="table-full"}': "7"},
    ),
    "TConBufferMemory": (
        {'ovs_tcon_buffer_bytes{interface="a"}': "50", 'ovs_tcon_buffer_bytes{interface="b"}': "45",
         'ovs_tcon_buffer_bytes_limit{of="host"}': "100"},
        {'ovs_tcon_buffer_bytes{interface="a"}': "50",
         'ovs_tcon_buffer_bytes_limit{of="host"}': "100",
         'ovs_tcon_buffer_bytes_limit{of="flow"}': "1"},
    ),
    "TConGuestEvades": (
        {'ovs_tcon_evading_flows{interface="a"}': "1"},
        {'ovs_tcon_evading_flows{interface="a"}': "0"},
    ),
    "TConNotEnforced": (
        {'ovs_tcon_flows{state="observed",reason="mid-stream"}': "3",
         'ovs_tcon_flows{state="repair-enforced",reason="none"}': "7"},
        {'ovs_tcon_flows{state="observed",reason="no-rule"}': "300",
         'ovs_tcon_flows{state="repair-enforced",reason="none"}': "7"},
    ),
    "TConNeedlessRepairs": (
        {"ovs_tcon_spurious_repairs_total": "0+30x100", "ovs_tcon_repairs_total": "0+100x100"},
        {"ovs_tcon_spurious_repairs_total": "0+10x100", "ovs_tcon_repairs_total": "0+100x100"},
    ),
}  # fmt: skip


def test_alerts(tmp_path: Path) -> None:
    """Each fires for what it is for, and not for what is near it."""
    cases = []
    for alert, series in FIRING.items():
        for values, fires in zip(series, (True, False), strict=True):
            inputs = [
                {"series": (name[:-1] + "," if "{" in name else name + "{") + HOST + "}",
                 "values": value if "x" in value else f"{value}x60"}
                for name, value in values.items()
            ]  # fmt: skip
            cases.append({
                "interval": "1m", "input_series": inputs,
                "promql_expr_test": [{
                    "expr": f'count(ALERTS{{alertname="{alert}",alertstate="firing"}})',
                    "eval_time": "40m",
                    "exp_samples": [{"labels": "{}", "value": 1}] if fires else [],
                }],
            })  # fmt: skip
    named = [line.split()[-1] for line in ALERTS.read_text().splitlines() if "- alert:" in line]
    assert sorted(named) == sorted(FIRING)
    tests = {"rule_files": [str(ALERTS)], "evaluation_interval": "1m", "tests": cases}
    (tmp_path / "tests.yml").write_text(json.dumps(tests))
    done = subprocess.run(["promtool", "test", "rules", tmp_path / "tests.yml"],
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@contextlib.contextmanager
def prometheus(folder: Path, target: int) -> Iterator[int]:
    """A real one on loopback that scrapes a port each second."""
    port = free_port()
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(ALERTS)],
        "scrape_configs": [
            {"job_name": "tcon", "static_configs": [{"targets": [f"127.0.0.1:{target}"]}]}
        ],
    }
    (folder / "prometheus.yml").write_text(json.dumps(config))
    process = subprocess.Popen(
        ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/db",
         f"--web.listen-address=127.0.0.1:{port}"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield port
    finally:
        process.terminate()
        process.wait()


def panels() -> list[dict[str, Any]]:
    """The dashboard's panels that show something."""
    return [
        panel for panel in json.loads(DASHBOARD.read_text())["panels"] if panel["type"] != "row"
    ]


def queries() -> Iterator[tuple[str, str]]:
    """The query of each panel, with its title, when all hosts and bridges are chosen."""
    for panel in panels():
        for target in panel["targets"]:
            query = re.sub(r"\$(?:instance|bridge)\b", ".*", target["expr"])
            query = query.replace("$__rate_interval", "10s")
            assert "$" not in query, panel["title"]
            yield panel["title"], query


def differences(wanted: Any, got: Any, where: str = "") -> Iterator[str]:
    """Where got lacks something of wanted, or has something else."""
    if isinstance(wanted, dict) and isinstance(got, dict):
        for key, value in wanted.items():
            yield from differences(value, got.get(key), f"{where}/{key}")
    elif isinstance(wanted, list) and isinstance(got, list) and len(wanted) == len(got):
        for i, (a, b) in enumerate(zip(wanted, got, strict=True)):
            yield from differences(a, b, f"{where}/{i}")
    elif wanted != got:
        yield f"{where}: {wanted!r}, {got!r}"


def test_the_dashboard_is_of_grafanas_schema() -> None:
    """Its types, which are generated from that, know each field, and give it back as it was."""
    plugins.register_default_plugins()
    wanted = json.loads(DASHBOARD.read_text())
    read = Dashboard.from_json(wanted)
    assert not list(differences(wanted, json.loads(JSONEncoder().encode(read))))
    wrong = copy.deepcopy(wanted)
    wrong["panels"][0]["targets"][0]["expresion"] = "1"
    read = Dashboard.from_json(wrong)
    assert list(differences(wrong, json.loads(JSONEncoder().encode(read)))) == [
        "/panels/0/targets/0/expresion: '1', None"
    ]


def test_the_dashboard_has_all_metrics_and_room_for_each_panel(exporter: Exporter) -> None:
    text = fetch(f"http://127.0.0.1:{exporter.port}/metrics")
    metrics = set(re.findall(r"^# TYPE (ovs_tcon_\w+?)(?:_gcount|_gsum|_bucket)? ", text, re.M))
    asked = " ".join(query for _, query in queries())
    missing = {metric for metric in metrics if metric not in asked}
    # The version, and what ovs_tcon_evading_flows has as it is now.
    assert missing == {"ovs_tcon_info", "ovs_tcon_evaded_total"}
    taken = set()
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"])
                 for y in range(at["y"], at["y"] + at["h"])}  # fmt: skip
        assert at["x"] + at["w"] <= 24
        assert not cells & taken, panel["title"]
        taken |= cells
    ids = [panel["id"] for panel in json.loads(DASHBOARD.read_text())["panels"]]
    assert len(set(ids)) == len(ids)


def test_a_real_prometheus(exporter: Exporter, tmp_path: Path) -> None:
    """It scrapes, answers what a dashboard asks, and sees that the daemon has gone."""
    show = copy.deepcopy(RECORDED["show"])
    rules = show["bridges"][0]["rules"]
    rules.append(rules[0] | {"priority": 0, "cc": "cubic", "params": {"weight": 0.31}, "flows": 0})
    exporter.say(show, RECORDED["flows"])
    with prometheus(tmp_path, exporter.port) as port:

        def ask(query: str) -> list[float]:
            """The answer, as soon as there is one."""
            url = f"http://127.0.0.1:{port}/api/v1/query?query={urllib.parse.quote(query)}"
            end = time.monotonic() + 30
            while True:
                answer = json.loads(fetch(url, 30))["data"]["result"]
                if answer or time.monotonic() > end:
                    return [float(sample["value"][1]) for sample in answer]
                time.sleep(0.2)

        flows = len(RECORDED["flows"]["flows"])
        assert ask("sum(ovs_tcon_flows)") == [flows]
        quantile = "histogram_quantile(0.5, sum by (le, {}) (ovs_tcon_{}_bucket))"
        assert all(0.003 < s < 1 for s in ask(quantile.format("cc", "rtt_seconds")))
        assert all(1e3 < bps < 1e9 for bps in ask(quantile.format("bridge", "rate_bps")))
        assert ask('ovs_tcon_problem{problem="daemon"} == 0') == [0]
        for title, query in queries():
            assert ask(query), f"{title}: {query}"
        exporter.instead("exit 1")
        assert ask('ovs_tcon_problem{problem="daemon"} == 1') == [1]
        assert ask('ALERTS{alertname="TConGone",alertstate="pending"}') == [1]


@pytest.mark.parametrize("exporter", [("--interfaces", "1")], indirect=True)
def test_a_counter_of_others_never_falls(exporter: Exporter) -> None:
    """Which ports have series of their own changes with their flows."""
    show, flows = copy.deepcopy(RECORDED["show"]), RECORDED["flows"]
    (bridge,) = show["bridges"]
    (guest,) = [port for port in bridge["ports"] if port["role"] == "guest"]
    bridge["ports"] += [guest | {"name": name, "ofport": 90 + n, "flows": 0, "evaded": evaded}
                        for n, (name, evaded) in enumerate((("x", 1000), ("y", 7)))]  # fmt: skip
    exporter.say(show, flows)
    name = 'ovs_tcon_evaded_total{bridge="br0",interface="other"}'
    before = exporter.scrape()[name]
    bridge["ports"][-2]["flows"] = 100000  # x has the most now
    exporter.say(show, flows)
    assert exporter.scrape()[name] >= before
