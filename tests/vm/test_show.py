# SPDX-License-Identifier: GPL-2.0-only
"""tcon/list-cc about CCs, and tcon/show and tcon/flows about loss repair, on a path that loses
2 %; and a CC from outside of the tree."""

from __future__ import annotations

import contextlib
import json
import re
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import rig as rigs
from asked import scenario
from rig import poll
from tcon_lab.errors import LabError
from tcon_lab.ovs import appctl, vsctl
from tcon_lab.scenario import Path as NetPath
from tcon_lab.topo import Lab, run_in

SECONDS = 4


@pytest.fixture(scope="module")
def lab(machine: None) -> Iterator[Lab]:
    with Lab(scenario(NetPath(20_000_000, 20_000, 0.02, 34))) as made:
        yield made


#: As tcon/show writes it.
DATE = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"


def shown() -> str:
    return appctl("tcon/show", "br0")


def flows(lab: Lab) -> dict[int, dict[str, Any]]:
    """Each flow as tcon/flows has it, by the port of the iperf3 that opened it."""
    return {flow["tp_src"]: flow for flow in lab.br0.tcon_flows()["flows"]}


@contextlib.contextmanager
def transfer(lab: Lab, seconds: float) -> Iterator[Callable[[], dict[str, Any]]]:
    """One that has just begun to send; what tells of its flow now.

    It ends after ``seconds`` more.  A lost SYN, which nothing but the guest repairs, takes
    a second, and the connection that only controls it is older and may have sent last: the
    flow that carries the data is looked for and not assumed.  Its delivered bytes decide,
    since losses may keep its flight small.  The server is its own: one that has not yet
    seen the end of the last transfer refuses the next.
    """
    server = lab.receiver(0).popen(["iperf3", "-s", "-1"])
    poll(lambda: "5201" in run_in(lab.receiver(0), "ss -Hltn"), "the server listens", 20)
    before = set(flows(lab))
    command = ["iperf3", "-c", lab.receiver_address(0), "-t", str(seconds)]
    client = lab.sender(0).popen(command)

    def carriers() -> list[int]:
        now = flows(lab)
        return [port for port in now.keys() - before if now[port]["delivered_bytes"] > 10_000]

    try:
        (port,) = poll(carriers, "the transfer sends", 20)
        yield lambda: flows(lab)[port]
    finally:
        status = client.wait()
        server.terminate()
        server.wait()
    assert status == 0, client.communicate()


@pytest.fixture
def data_flow(lab: Lab) -> Iterator[Callable[[], dict[str, Any]]]:
    """BBR is enforced on a transfer that has run for some seconds and goes on."""
    lab.br0.set_cc("all", "bbr")
    with transfer(lab, SECONDS + 2) as flow:
        time.sleep(SECONDS)
        yield flow


#: Category, source, and each parameter: default, least, most, unit.
CCS: dict[str, tuple[str, str, dict[str, tuple[Any, Any, Any, str]]]] = {
    "reno": (
        "loss",
        "RFC 5681",
        {"beta_ecn": (0.5, 0.5, 0.95, ""), "weight": (1, 0.05, 16, "flows")},
    ),
    "vegas": ("delay", "JSAC", {"alpha": (2, 1, 10000, "segments")}),
    "ctcp": (
        "hybrid",
        "INFOCOM 2006",
        {"alpha": (0.125, 0, 1, ""), "gamma": (30, 1, 10000, "segments")},
    ),
    "bbr3": (
        "model, paced",
        "draft-ietf-ccwg-bbr",
        {"loss_thresh": (0.02, 0.001, 0.5, ""), "probe_rtt_ms": (200, 10, 1000, "ms")},
    ),
    "cubic": ("loss", "Linux 6.1 (RFC 8312), RFC 9438", {"beta": (0.7, 0.1, 0.95, "")}),
}


def test_ccs_describe_themselves(machine: None) -> None:
    """Category, source, and of each parameter default, range, unit: as text and as JSON."""
    text = appctl("tcon/list-cc")
    ccs = json.loads(appctl("tcon/list-cc", "-j"))["ccs"]
    known = {cc["name"]: cc for cc in ccs if ":" not in cc["name"]}
    own = {name.removeprefix("tcon_") for name in rigs.CCS} - {"linux"}
    assert set(known) == own
    for name, cc in known.items():
        assert cc["category"] in ("loss", "delay", "model", "hybrid", "ECN")
        paced = ", paced" if cc["paced"] else ""
        head = f"{name}: {cc['category']}{paced}, {cc['source']}, flows: 0\n"
        assert head in text
        section = text.split(head)[1]
        for parameter in cc["params"]:
            line, section = section.split("\n", 1)
            assert line.startswith(f"    {parameter['name']}="), line
            assert line.endswith(f": {parameter['help']}"), line
    for name, (category, source, params) in CCS.items():
        assert re.search(rf"^{name}: {category}, .*{re.escape(source)}.*, flows: 0$", text, re.M)
        found = {p["name"]: p for p in known[name]["params"]}
        for parameter, (value, low, high, unit) in params.items():
            got = found[parameter]
            assert [got[key] for key in ("default", "min", "max", "unit")] == [
                value, low, high, unit,
            ]  # fmt: skip
            tail = f" {unit}" if unit else ""
            assert f"    {parameter}={value} ({low} to {high}{tail}): " in text
    assert text.endswith("none: observe only\n")


def test_a_cc_that_is_not_loaded(lab: Lab) -> None:
    """It is named, and a rule that waits for it is shown as set-cc would take it."""
    assert json.loads(appctl("tcon/list-cc", "-j"))["not_loaded"] == []
    lab.br0.set_cc("tcp,tp_dst=9", "cubic", beta=0.8, hystart="off")
    rule = "flow=priority=32768,tcp,tp_dst=9 cubic beta=0.8 hystart=off; flows: 0"
    assert re.search(rf"^    {re.escape(rule)}; since {DATE} \(\d+ s\)$", shown(), re.M)
    rigs.unload("tcon_cubic")
    rigs.unload("tcon_vegas")
    assert appctl("tcon/list-cc").endswith(
        "none: observe only\nnot loaded yet, set-cc does: cubic vegas\n"
    )
    assert json.loads(appctl("tcon/list-cc", "-j"))["not_loaded"] == ["cubic", "vegas"]
    assert f"    {rule}; the CC is not loaded; since 2" in shown()
    rules = lab.br0.tcon_show()["bridges"][0]["rules"]
    assert [r["params"] for r in rules] == [{"beta": 0.8, "hystart": False}]


def test_what_a_rule_says_of_ecn(lab: Lab) -> None:
    """It belongs to the rule, not to the CC: shown as it was typed, kept as parameters are."""

    def said() -> list[str]:
        return [r["ecn"] for r in lab.br0.tcon_show()["bridges"][0]["rules"]]

    appctl("tcon/del-cc", "br0")
    lab.br0.set_cc("tcp", "cubic", beta=0.8, ecn="on")
    line = "    flow=priority=32768,tcp cubic beta=0.8 ecn=on; flows: 0; since 2"
    assert line in appctl("tcon/show", "br0")
    assert said() == ["on"]
    rigs.run("rmmod", *rigs.CCS, "tcon")
    rigs.load_all()
    poll(lambda: line in appctl("tcon/show", "br0"), "vswitchd has sent it again", 20, 0.2)
    lab.br0.set_cc("tcp", "cubic", ecn="off", beta=0.8)
    assert said() == ["off"]
    lab.br0.set_cc("tcp", "cubic", beta=0.8, ecn="auto")
    assert said() == ["auto"]
    assert " ecn=" not in appctl("tcon/show", "br0")
    for words, complaint in (
        (["cubic", "ecn=maybe"], "ecn=maybe: must be auto, on or off"),
        (["cubic", "ecn="], "ecn=: must be auto, on or off"),
        (["cubic", "ecn=on", "beta=0.8", "ecn=on"], "ecn= is given twice"),
        (["none", "ecn=on"], "none has no parameter 'ecn', nor any other"),
    ):
        with pytest.raises(LabError, match=re.escape(complaint)):
            appctl("tcon/set-cc", "br0", "flow=tcp", *words)
    assert said() == ["auto"]
    appctl("tcon/del-cc", "br0")


def test_what_a_rule_says_of_its_timer(lab: Lab) -> None:
    """Shown, kept and refused as ECN is."""

    def said() -> list[int]:
        return [r["rto_min_us"] for r in lab.br0.tcon_show()["bridges"][0]["rules"]]

    appctl("tcon/del-cc", "br0")
    lab.br0.set_cc("tcp", "cubic", rto_min_us=1000)
    line = "    flow=priority=32768,tcp cubic rto_min_us=1000; flows: 0; since 2"
    assert line in appctl("tcon/show", "br0")
    rigs.run("rmmod", *rigs.CCS, "tcon")
    rigs.load_all()
    poll(lambda: line in appctl("tcon/show", "br0"), "vswitchd has sent it again", 20, 0.2)
    assert said() == [1000]
    for words, complaint in (
        (["cubic", "rto_min_us=199"], "rto_min_us=199 is out of range (200 to 1000000)"),
        (["cubic", "rto_min_us=1000001"], "rto_min_us=1000001 is out of range (200 to 1000000)"),
        (["cubic", "rto_min_us=1ms"], "rto_min_us=1ms"),
        (["none", "rto_min_us=1000"], "none has no parameter 'rto_min_us', nor any other"),
    ):
        with pytest.raises(LabError, match=re.escape(complaint)):
            appctl("tcon/set-cc", "br0", "flow=tcp", *words)
    assert said() == [1000]
    lab.br0.set_cc("tcp", "cubic", rto_min_us=200000)
    assert said() == [200000]
    assert "rto_min_us" not in appctl("tcon/show", "br0")
    appctl("tcon/del-cc", "br0")


def test_the_same_decision_is_as_old_as_it_was(lab: Lab) -> None:
    """In other words, too: a default, another order; also behind a reload of tcon.ko."""

    def rules() -> list[tuple[str, dict[str, Any]]]:
        return [(r["cc"], r["params"]) for r in lab.br0.tcon_show()["bridges"][0]["rules"]]

    appctl("tcon/del-cc", "br0")
    lab.br0.set_cc("tcp", "cubic", beta=0.8, c=0.5)
    lab.br0.set_cc("in_port=br0-h1", "bbr")
    lab.br0.set_cc("tcp", "cubic", c=0.5, hystart="on", beta=0.8)
    wanted = [("bbr", {}), ("cubic", {"beta": 0.8, "c": 0.5})]
    assert rules() == wanted
    rigs.run("rmmod", *rigs.CCS, "tcon")
    rigs.load_all()
    poll(lambda: len(rules()) == 2, "vswitchd has sent both again", 20, 0.2)
    assert rules() == wanted


def test_another_module_of_a_cc_may_know_more(lab: Lab) -> None:
    """A rule that was refused for its parameter is tried again."""

    def told() -> str:
        keys = lab.br0.tcon_show()["bridges"][0]["config"]
        return next(f"{key['state']}: {key['detail']}" for key in keys if key["key"] == name)

    name = "tcon-rule-x"
    rule = "flow=priority=32768,tp_dst=9 badcc good_segs=20"
    with rigs.badcc(other_version=1):
        vsctl("set", "Bridge", "br0", f'other_config:{name}="{rule}"')
        complaint = "refused: badcc has no parameter 'good_segs' (it has: after_bytes, "
        poll(lambda: told().startswith(complaint), "it is refused")
    with rigs.badcc():
        poll(lambda: told() == f"applied: {rule}", "it is applied", 20, 0.2)
        # The rule is wrong for good: nobody asks again.
        vsctl("set", "Bridge", "br0", f'other_config:{name}="{rule} ecn=maybe"')
        poll(lambda: told().startswith("refused: ecn=maybe: must be"), "it is refused")
        vsctl("remove", "Bridge", "br0", "other_config", name)


def windows(lab: Lab, cc: str, **params: float) -> list[float]:
    """Segments of cwnd over some seconds of a transfer, the start left out."""
    lab.br0.set_cc("all", cc, **params)
    seen = []
    with transfer(lab, 6) as data_flow:
        time.sleep(1)
        for _ in range(16):
            time.sleep(0.25)
            flow = data_flow()
            assert (flow["state"], flow["cc"]) == ("repair-enforced", cc)
            seen.append(flow["cwnd_bytes"] / flow["mss_bytes"])
    return seen


def test_a_cc_from_outside_of_the_tree(lab: Lab) -> None:
    """algorithms/README.md: the example, built on its own, decides with its parameters.

    Where p is lost the mean window is sqrt(increase / (1 - decrease) / p): 10 and 39
    segments at 2 %, where the path and its queue hold 66.
    """
    rigs.run("insmod", "/lab/example/tcon_aimd.ko")
    try:
        assert "aimd: loss, Chiu and Jain" in appctl("tcon/list-cc")
        small = windows(lab, "aimd")
        large = windows(lab, "aimd", increase=6, decrease=0.8)
        assert 5 < sum(small) / len(small) < 16, small
        assert 24 < sum(large) / len(large) < 56, large
        assert len(set(small)) > 3, "the window does not move"
    finally:
        lab.br0.del_cc("all")
        rigs.unload("tcon_aimd")


def test_flows(data_flow: Callable[[], dict[str, Any]], lab: Lab) -> None:
    flow, text = data_flow(), appctl("tcon/flows", "-v", "br0")
    assert (flow["state"], flow["reason"]) == ("repair-enforced", "none")
    # 20 Mbit/s in 4 s are 6600 packets; 2 % of them are lost.
    assert 66 < flow["repairs"] < 1000
    assert flow["repaired_bytes"] > 1000 * flow["repairs"]
    assert flow["spurious_repairs"] < flow["repairs"] / 10
    assert flow["hidden_acks"] > flow["repairs"]
    assert flow["inflight_bytes"] / 2 < flow["buffer_bytes"] < 1_000_000
    spent_us = flow["limited_us"]
    assert sorted(spent_us) == ["guest", "idle", "receiver", "window"]
    assert (SECONDS - 0.3) * 1e6 < sum(spent_us.values()) < (SECONDS + 0.7) * 1e6
    assert spent_us["window"] > 0.5 * sum(spent_us.values())

    found = re.search(
        r"^    buffer [1-9]\d* bytes, repairs [1-9]\d* \([1-9]\d* bytes, \d+ spurious\) "
        r"probes \d+ timeouts \d+ absorbed_repeats \d+ hidden_acks [1-9]\d*\n"
        r"    limited by window ([\d.]+) % guest ([\d.]+) % receiver ([\d.]+) % idle ([\d.]+) %$",
        text,
        re.M,
    )
    assert found, text
    shares = [float(share) for share in found.groups()]
    assert sum(shares) == pytest.approx(100, abs=0.2)
    # JSON has all of that, also if it is asked for both.
    (both,) = (one for one in lab.br0.tcon_flows("-v")["flows"] if one["tp_src"] == flow["tp_src"])
    assert both.keys() == flow.keys()
    lines = [line for line in text.splitlines() if re.match(r"    (?!bbr:)", line)]
    told = {name for line in lines for name in re.findall(r"([a-z_]+) \d", line)}
    assert len(told) > 25
    names = flow.keys() | spent_us.keys() | {"buffer"}
    assert [name for name in told if not any(key.startswith(name) for key in names)] == []


def test_the_ccs_that_guests_run(lab: Lab) -> None:
    """Where a flow is observed its rounds are recorded, until a CC is enforced."""
    lab.br0.set_cc("tp_dst=9", "bbr")  # so the port does not rest
    with transfer(lab, SECONDS + 1) as flow:
        time.sleep(SECONDS)
        now = flow()
        (told,) = [f for f in lab.br0.tcon_flows("-r")["flows"] if f["tp_src"] == now["tp_src"]]
        text = appctl("tcon/flows", "-v", "br0", f"flow=tp_src={now['tp_src']}")
        lab.br0.set_cc("all", "bbr")
        enforced = poll(
            lambda: [f for f in [flow()] if f["state"] == "repair-enforced"], "BBR is enforced"
        )
    assert (now["state"], now["reason"], "rounds" in now) == ("observed", "no-rule", False)
    assert {key for key in now if key.startswith("guess")} >= {"guess", "guess_confidence"}
    # 2 % are lost: windows are small, and round trips hardly longer than the path's 20 ms.
    segs, rtts_us, flags = zip(*told["rounds"], strict=True)
    assert 60 < len(segs) < (SECONDS + 2) * 50
    assert 2 < statistics.median(segs) < 40
    known_us = [rtt_us for rtt_us in rtts_us if rtt_us]  # where only repeats arrive it is not
    assert len(known_us) > 0.9 * len(rtts_us)
    assert 20_000 <= min(known_us) <= statistics.median(known_us) < 40_000
    assert 0.02 < sum(flag & 1 for flag in flags) / len(flags) < 0.6
    assert told["guess"] in ("cubic", None)
    assert re.search(
        r"^    guest's own cc (cubic, confidence [01]\.\d\d|unknown: .* CCs? .*)$", text, re.M
    ), text
    assert not [key for key in enforced[0] if key.startswith("guess")]


def test_flows_as_a_table(data_flow: Callable[[], dict[str, Any]]) -> None:
    """The columns that matter, a line a flow, the fastest of a port first; in 100 columns."""
    text, flow = appctl("tcon/flows", "br0", "flow=tcp"), data_flow()
    head, port, first, *_ = text.splitlines()
    assert head.split() == ["GUEST", "PEER", "CC", "STATE", "RATE", "RTT", "CWND", "WHY", "NOT",
                            "MORE"]  # fmt: skip
    assert port == f"port {flow['port']}"
    assert max(len(line) for line in text.splitlines()) <= 100
    found = re.fullmatch(
        rf"{flow['src']}:{flow['tp_src']} +{flow['dst']}:{flow['tp_dst']} +bbr +repair +"
        r"([\d.]+)M +([\d.]+)ms +([\d.]+)k window (\d+)%",
        first,
    )
    assert found, text
    rate_mbps, rtt_ms, cwnd_kb, share = map(float, found.groups())
    assert 10 < rate_mbps < 22
    assert 20 <= rtt_ms < 60
    # Between two looks BBR may let it fall to four segments; the path holds 50 kB.
    assert 4 * 1.448 <= cwnd_kb < 200
    assert 50 < share <= 100


def test_what_was_recorded_is_what_is_said(data_flow: Callable[[], dict[str, Any]]) -> None:
    """tests/lab/exporter works on an answer of the past, which had all that is there today."""
    recorded = json.loads(Path("/lab/recorded.json").read_text())
    flow, show = data_flow(), json.loads(appctl("tcon/show", "-j"))
    assert flow.keys() <= recorded["flows"]["flows"][0].keys()

    def shape(show: dict[str, Any]) -> dict[str, list[str]]:
        (bridge,) = (bridge for bridge in show["bridges"] if bridge["name"] == "br0")
        (guest,) = (port for port in bridge["ports"] if port["role"] == "guest")
        parts = {"show": show, "bridge": bridge, "port": guest, "rule": bridge["rules"][0]}
        return {name: sorted(part) for name, part in parts.items()}

    assert shape(show) == shape(recorded["show"])


def test_trace_says_what_the_kernel_does(lab: Lab) -> None:
    """Which rule a flow obeys, and why none above; as the flow itself has it."""
    appctl("tcon/del-cc", "br0")
    lab.br0.set_cc("priority=4,all", "reno")
    lab.br0.set_cc("priority=5,tcp,tp_dst=0x1450/0xfff0", "bbr")  # 5200 to 5215
    lab.br0.set_cc("priority=6,in_port=br0-h1,tcp6", "vegas")
    lab.br0.set_cc("priority=7,nw_dst=10.9.0.0/16", "none")
    with transfer(lab, 1) as data_flow:
        flow = data_flow()
    named = ("in_port=br0-h1,nw_src={src},nw_dst={dst},tp_src={tp_src},tp_dst={tp_dst}").format(
        **flow
    )
    trace = json.loads(appctl("tcon/trace", "-j", "br0", named))
    assert [(r["verdict"], r.get("field")) for r in trace["rules"]] == [
        ("differs", "nw_dst"), ("differs", "tcp6"), ("obeyed", None), ("below", None),
    ]  # fmt: skip
    assert (trace["cc"], trace["reason"]) == ("bbr", "none")
    assert (flow["cc"], flow["priority"]) == ("bbr", trace["rules"][2]["priority"])
    assert appctl("tcon/trace", "br0", f"flow={named}").endswith("\nresult: cc bbr\n")
    for words, depends, ccs, verdicts in (
        ("", ["tcp"], ["none", "vegas", "bbr", "reno"],
         ["depends", "depends", "depends", "else"]),
        (",tcp", ["nw_dst", "tp_dst"], ["none", "bbr", "reno"],
         ["depends", "differs", "depends", "else"]),
        (",nw_dst=10.8.1.1", ["tp_dst"], ["bbr", "reno"],
         ["differs", "differs", "depends", "else"]),
        (",nw_dst=10.8.1.1,tp_dst=5200", [], ["bbr"], ["differs", "differs", "obeyed", "below"]),
    ):  # fmt: skip
        trace = json.loads(appctl("tcon/trace", "-j", "br0", f"in_port=br0-h1{words}"))
        assert (trace["depends_on"], trace["ccs"]) == (depends, ccs)
        assert [rule["verdict"] for rule in trace["rules"]] == verdicts
        assert trace["cc"] == (None if depends else ccs[0])
    assert appctl("tcon/trace", "br0", "in_port=br0-h1").endswith(
        "\n    flow=priority=7,tcp,nw_dst=10.9.0.0/16 none: it depends on tcp or tcp6\n"
        "    flow=priority=6,tcp6,in_port=br0-h1 vegas: it depends on tcp or tcp6\n"
        "    flow=priority=5,tcp,tp_dst=0x1450/0xfff0 bbr: it depends on tcp or tcp6\n"
        "    flow=priority=4,all reno: yes, if none above\n"
        "result: it depends on tcp or tcp6: cc none, vegas, bbr or reno\n"
    )
    for words, result in (
        ("in_port=br0-h1,nw_dst=10.9.1.1", "none, observed: rule-none (a rule says none)"),
        ("in_port=br0-h1,dl_type=0x800,nw_dst=10.8.1.1,nw_proto=6,tp_dst=80", "reno"),
        ("in_port=br0-h1,nw_dst=10.8.1.1,tp_dst=80", "reno"),
        ("in_port=br0-h1,ipv6_dst=::1", "vegas"),
    ):
        assert appctl("tcon/trace", "br0", words).endswith(f"\nresult: cc {result}\n")
    appctl("tcon/del-cc", "br0", "flow=priority=4,all")
    assert appctl("tcon/trace", "br0", "in_port=br0-h1,nw_dst=10.8.1.1,tp_dst=80").endswith(
        "\nresult: cc none, observed: no-rule (no rule selects the flow)\n"
    )
    for words, complaint in (
        ("tcp,tp_dst=80", "the flow must say in_port: a guest's port of bridge br0"),
        ("in_port=br0-up,tcp,tp_dst=80", "port br0-up is an uplink, not a guest's"),
        ("in_port=br0-h1,nw_dst=10.0.0.0/8", "one flow has whole addresses, ports and "
                                             "marks, not prefixes or masks"),
        ("in_port=br0-h1,priority=4,tcp", "priority: flows have none, only rules do"),
    ):  # fmt: skip
        with pytest.raises(LabError, match=re.escape(complaint)):
            appctl("tcon/trace", "br0", words)
    appctl("tcon/del-cc", "br0")


def test_counters_have_a_beginning_and_rates(lab: Lab) -> None:
    """The daemon reads them now and then, so that who asks once is told how fast they grow."""
    poll(lambda: "rate_over_ms" in lab.br0.tcon_show(), "counters were read before", 30, 0.5)
    with transfer(lab, 2):
        time.sleep(2)
        show = lab.br0.tcon_show()
    (data,) = (c for c in show["counters"] if c["name"] == "data-out")
    over_s = show["rate_over_ms"] / 1000
    assert 1 <= over_s < 30
    # 20 Mbit/s are 1700 packets a second, or fewer super-packets.
    assert 20 < data["per_s"] * over_s <= data["value"]
    assert re.search(
        rf"^counters since {DATE} \(\d+ (?:s|min \d+ s)\), rates of the last \d+ s:\n"
        r"    [a-z-]+: \d+, \d+\.\d/s \(", shown(), re.M,
    )  # fmt: skip


def test_advice(data_flow: Callable[[], dict[str, Any]], lab: Lab) -> None:
    """On a path that loses 2 %, and with what was measured; nothing changes."""
    rules, flow = lab.br0.tcon_show()["bridges"][0]["rules"], data_flow()
    only = f"flow=tp_src={flow['tp_src']}"  # not what other tests have left
    (path,) = json.loads(appctl("tcon/advise", "-j", "br0", only))["destinations"]
    assert path["destination"] == re.sub(r"\.\d+$", ".0/24", flow["dst"])
    assert (path["kind"], path["cc"]) == ("losing", "bbr")
    assert path["ccs"] == ["bbr"]
    assert 0.01 < path["lost_bytes"] / path["sent_bytes"] < 0.06
    assert path["delivered_bytes"] > 1_000_000
    assert 20_000 <= path["min_rtt_us"] < 30_000
    assert path["idle_percent"] < 20
    text = appctl("tcon/advise", "br0", only)
    assert f"{path['destination']}: " in text
    assert "    advice: bbr, it loses packets without a queue: by chance" in text
    assert "    evidence: tools/campaigns/policed.md: " in text
    assert appctl("tcon/advise", "br0", "flow=tcp,tp_dst=1") == "no flows\n"
    after = lab.br0.tcon_show()["bridges"][0]["rules"]
    assert [rule["rule"] for rule in after] == [rule["rule"] for rule in rules]
    with pytest.raises(LabError, match="limit=: all flows are looked at"):
        appctl("tcon/advise", "br0", "limit=1")


#: Some connections at once, which say their ports and, when asked, send ``size`` bytes and end.
CLIENTS = """
import socket, sys
address, n, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
ends = [socket.create_connection((address, 5400)) for _ in range(n)]
print(*(end.getsockname()[1] for end in ends), flush=True)
sys.stdin.readline()
for end in ends:
    end.sendall(bytes(size))
    end.shutdown(socket.SHUT_WR)
for end in ends:
    while end.recv(1):
        pass
"""
SINK = """
import socket, threading
def take(end):
    with end:
        while end.recv(65536):
            pass
listener = socket.create_server(("", 5400), backlog=256)
while True:
    threading.Thread(target=take, args=(listener.accept()[0],), daemon=True).start()
"""
N_CLIENTS = 60


def test_a_share_of_flows_is_compared_with_the_others(lab: Lab) -> None:
    """The flows in it stay the same; their outcomes are told when they have ended."""
    appctl("tcon/del-cc", "br0")
    with pytest.raises(LabError, match="no rule of bridge br0 has a share: set one with share="):
        appctl("tcon/compare", "br0")
    lab.br0.set_cc("priority=5,all", "reno")
    lab.br0.set_cc("priority=6,tcp,tp_dst=5400", "bbr", share="50%")
    sink = lab.receiver(0).popen(["python3", "-c", SINK])
    poll(lambda: "5400" in run_in(lab.receiver(0), "ss -Hltn"), "the sink listens", 20)

    def ccs() -> dict[int, str]:
        """Each flow's CC, by the client's port, which another test's older flow may have, too."""
        found = lab.br0.tcon_flows()["flows"]
        return {flow["tp_src"]: flow["cc"] for flow in found if flow["tp_dst"] == 5400}

    command = ["python3", "-c", CLIENTS, lab.receiver_address(0), str(N_CLIENTS), "60000"]
    clients = lab.sender(0).popen(command, stdin=subprocess.PIPE, text=True)
    try:
        ports = [int(port) for port in clients.stdout.readline().split()]
        before = {port: ccs()[port] for port in ports}
        lab.br0.set_cc("priority=1,tp_dst=1", "none")  # all look for their rules again
        time.sleep(1)
        assert {port: ccs()[port] for port in ports} == before
        assert clients.communicate("\n", timeout=60) is not None
    finally:
        clients.kill()
        sink.terminate()
        sink.wait()
    in_share = list(before.values()).count("bbr")
    assert list(before.values()).count("reno") == N_CLIENTS - in_share

    def told() -> dict[str, Any]:
        (rule,) = json.loads(appctl("tcon/compare", "-j", "br0"))["rules"]
        return rule

    poll(lambda: told()["share"]["flows"] + told()["others"]["flows"] == N_CLIENTS,
         "all have ended", 20, 0.2)  # fmt: skip
    rule = told()
    assert (rule["share_percent"], rule["share"]["flows"]) == (50, in_share)
    # Of 60 at 50 % fewer than 10 are in the share, or beside it, once in 20 million.
    for side in ("share", "others"):
        measured = rule[side]
        for name in ("goodput_bps", "rtt_us", "again_percent"):
            assert measured[name]["low"] <= measured[name]["mean"] <= measured[name]["high"]
        assert 20_000 < measured["rtt_us"]["mean"] < 1_000_000
        assert 10_000 < measured["goodput_bps"]["mean"] < 20_000_000
        # All begin at once: most of that is lost at first.
        assert 1 < measured["again_percent"]["mean"] < 70
    ratio = rule["share_to_others"]["goodput_bps"]
    assert ratio["mean"] == pytest.approx(
        rule["share"]["goodput_bps"]["mean"] / rule["others"]["goodput_bps"]["mean"], rel=1e-3
    )
    text = appctl("tcon/compare", "br0")
    assert f"flow=priority=6,tcp,tp_dst=5400 bbr share=50%; since {DATE}"[:52] in text
    assert re.search(rf"^    flows that ended +{in_share} +{N_CLIENTS - in_share}$", text, re.M)
    assert re.search(r"^    goodput, Mbit/s( +[\d.]+ \([\d.]+ to [\d.]+\)){3} +(higher|lower|not)",
                     text, re.M), text  # fmt: skip
    trace = json.loads(appctl("tcon/trace", "-j", "br0", "in_port=br0-h1,tcp,tp_dst=5400"))
    assert [r["verdict"] for r in trace["rules"]] == ["depends", "else", "below"]
    assert (trace["depends_on"], trace["ccs"]) == (["nw_src"], ["bbr", "reno"])
    ends = f"in_port=br0-h1,nw_src={lab.sender_address(0)},nw_dst={lab.receiver_address(0)}"
    for port, cc in before.items():
        trace = appctl("tcon/trace", "-j", "br0", f"{ends},tp_dst=5400,tp_src={port}")
        assert json.loads(trace)["cc"] == cc
    for words, complaint in (
        (["share=10"], "share=10: not a percentage, such as 10%"),
        (["share=0%"], "share=0 is out of range (0.01 to 100)"),
        (["share=10%", "share=20%"], "share= is given twice"),
    ):
        with pytest.raises(LabError, match=re.escape(complaint)):
            appctl("tcon/set-cc", "br0", "flow=all", "bbr", *words)
    assert told()["share"]["flows"] == in_share
    appctl("tcon/del-cc", "br0")


def test_coverage_counts_what_the_daemon_does(lab: Lab) -> None:
    def count(name: str) -> int:
        return int(rigs.run("ovs-appctl", *rigs.target(), "coverage/read-counter", name))

    names = ("tcon_rule_set", "tcon_rule_del", "tcon_ovsdb_write", "tcon_request",
             "tcon_flows_slice", "tcon_request_refused")  # fmt: skip
    before = {name: count(name) for name in names}
    lab.br0.set_cc("tcp,tp_dst=9", "reno")
    lab.br0.del_cc("tcp,tp_dst=9")
    appctl("tcon/flows", "br0")
    grown = {name: count(name) - before[name] for name in names}
    assert [grown[name] for name in names[:3]] == [1, 1, 2], grown
    assert grown["tcon_request"] >= 4
    assert grown["tcon_flows_slice"] >= 1
    assert grown["tcon_request_refused"] == 0


def logged() -> list[str]:
    """What the daemon's log says of changes of rules."""
    name = "tcon-switchd" if rigs.target() else "ovs-vswitchd"
    text = Path(f"/var/log/openvswitch/{name}.log").read_text()
    return re.findall(r"\|INFO\|(bridge .*; by .*)$", text, re.M)


def test_a_change_of_a_rule_is_told_and_logged(lab: Lab) -> None:
    """What it was, what it is, how many flows it concerns, and by whom."""
    appctl("tcon/del-cc", "br0")
    with transfer(lab, 10) as data_flow:
        port = data_flow()["tp_src"]  # one flow, and not what tests before have left
        place = f"flow=priority=9,tcp,tp_src={port}"
        assert appctl("tcon/set-cc", "br0", place, "bbr") == "1 flow now obeys bbr\n"
        last = logged()[-1]
        assert last == (
            f"bridge br0: set {place} bbr; before: none; flows: 1; "
            f"by command tcon/set-cc br0 {place} bbr"
        )
        again = appctl("tcon/set-cc", "br0", place, "bbr")
        assert again == "1 flow now obeys bbr, as before\n"
        assert logged()[-1] == last
        dry = appctl("tcon/set-cc", "--dry-run", "br0", place, "reno", "share=50%")
        assert dry == (
            "dry run, nothing is changed: 1 flow would obey reno, those in the share of 50%; "
            "replaced: bbr\n"
        )
        below = f"flow=priority=8,tcp,tp_src={port}"
        dry = appctl("tcon/set-cc", "--dry-run", "br0", below, "reno")
        assert dry == "dry run, nothing is changed: 0 flows would obey reno\n"
        assert appctl("tcon/set-cc", "--by=me", "br0", place, "cubic", "beta=0.8") == (
            "1 flow now obeys cubic; replaced: bbr\n"
        )
        assert logged()[-1] == (
            f"bridge br0: set {place} cubic beta=0.8; before: {place} bbr; flows: 1; "
            f"by me, tcon/set-cc --by=me br0 {place} cubic beta=0.8"
        )
        dry = appctl("tcon/del-cc", "--dry-run", "br0")
        assert dry == "dry run, nothing is changed: removed: 1 rule; 1 flow obeyed it\n"
        gone = f"removed: {place} cubic beta=0.8; 1 flow obeyed it\n"
        assert appctl("tcon/del-cc", "--dry-run", "br0", place) == (
            f"dry run, nothing is changed: {gone}"
        )
        assert appctl("tcon/del-cc", "br0", place) == gone
        assert logged()[-1] == (
            f"bridge br0: removed {place} cubic beta=0.8; flows: 1; "
            f"by command tcon/del-cc br0 {place}"
        )
    assert appctl("tcon/del-cc", "br0") == "removed: 0 rules; 0 flows obeyed them\n"
    comments = rigs.run("ovsdb-tool", "-mm", "show-log", "/etc/openvswitch/conf.db")
    daemon = "tcon-switchd" if rigs.target() else "ovs-vswitchd"
    assert f"{daemon}: tcon/set-cc --by=me br0 {place} cubic beta=0.8" in comments
    assert f"{daemon}: tcon/del-cc br0 {place}" in comments
    with pytest.raises(LabError, match="no such rule"):
        appctl("tcon/del-cc", "--dry-run", "br0", place)


def test_changes_that_no_command_makes_are_logged(lab: Lab) -> None:
    appctl("tcon/del-cc", "br0")
    rule, source = "flow=priority=32768,tcp,tp_dst=7", "other_config:tcon-rule-x of Bridge br0"
    before = len(logged())

    def becomes(line: str) -> None:
        poll(lambda: logged()[before:][-1:] == [f"bridge br0: {line}"], line, 20, 0.1)

    vsctl("set", "Bridge", "br0", 'other_config:tcon-rule-x="flow=tcp,tp_dst=7 reno"')
    becomes(f"set {rule} reno; before: none; flows: 0; by OVSDB, {source}")
    vsctl("set", "Bridge", "br0", 'other_config:tcon-rule-x="flow=tcp,tp_dst=7 vegas"')
    becomes(f"set {rule} vegas; before: {rule} reno; flows: 0; by OVSDB, {source}")
    vsctl("remove", "Bridge", "br0", "other_config", "tcon-rule-x")
    becomes(f"removed {rule} vegas; flows: 0; by OVSDB, where {source} is gone")
    for words in ([], ["--volatile"]):
        appctl("tcon/set-cc", *words, "br0", "flow=tcp,tp_dst=7", "reno", "for=1s")
        until = re.search(r"until=\S+", logged()[-1])[0].rstrip(";")
        becomes(f"removed {rule} reno {until}; flows: 0; by the end of its term")
    n = len(logged())
    appctl("tcon/set-cc", "--volatile", "br0", "flow=all", "reno", "for=100s")
    appctl("tcon/set-cc", "--volatile", "br0", "flow=all", "reno", "for=200s")  # as tcon-monitor
    assert len(logged()) == n + 1
    appctl("tcon/del-cc", "br0")


def test_a_running_experiment_is_not_replaced_without_a_word(lab: Lab) -> None:
    appctl("tcon/del-cc", "br0")
    experiment = "flow=priority=5,tcp,tp_dst=7"
    appctl("tcon/set-cc", "br0", experiment, "bbr", "share=50%")
    for dry in (["--dry-run"], []):
        hides = appctl("tcon/set-cc", *dry, "br0", "flow=nw_dst=10.0.0.0/8,priority=6", "reno")
        assert hides.endswith(f"; it takes flows of an experiment: {experiment} bbr share=50%\n")
        below = appctl("tcon/set-cc", *dry, "br0", "flow=tcp,priority=4", "reno")
        other = appctl("tcon/set-cc", *dry, "br0", "flow=tcp,tp_dst=8,priority=6", "reno")
        for told in (below, other):
            assert "experiment" not in told
        told = appctl("tcon/set-cc", *dry, "br0", experiment, "cubic")
        assert re.search(r"; replaced: bbr share=50%, an experiment since \d+ s\n$", told)
    appctl("tcon/del-cc", "br0")


def test_options_stand_anywhere(lab: Lab) -> None:
    for words in (("-j", "br0"), ("br0", "-j"), ("br0", "limit=1", "flow=tcp", "-j"),
                  ("br0", "-v", "-j"), ("-j", "-v", "br0", "-j", "-v")):  # fmt: skip
        assert json.loads(appctl("tcon/flows", *words)).keys() == {"flows", "more"}
    shows = [json.loads(appctl("tcon/show", "br0", "-j")), lab.br0.tcon_show()]
    assert shows[0].keys() == shows[1].keys()
    assert shows[0]["bridges"][0]["ports"] == shows[1]["bridges"][0]["ports"]
    for command, word in (("tcon/flows", "-x"), ("tcon/show", "--format=json"),
                          ("tcon/flows", "--verbose")):  # fmt: skip
        complaint = f"'{word}' is no option of this command\nusage: ovs-appctl {command} ["
        with pytest.raises(LabError, match=re.escape(complaint)):
            appctl(command, "br0", word)


COMMANDS = ("set-cc", "del-cc", "list-cc", "show", "compare", "advise", "flows", "trace",
            "export-port", "import-port", "help")  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_a_wrong_call_is_told_the_right_one(lab: Lab, command: str) -> None:
    """As help tells it, and list-commands; no rule changes, no module is loaded."""
    loaded = [cc["name"] for cc in json.loads(appctl("tcon/list-cc", "-j"))["ccs"]]
    told = appctl("tcon/help", command)
    assert told == appctl(f"tcon/{command}", "--help") == appctl("tcon/help", f"tcon/{command}")
    usage = told[told.index("usage: ovs-appctl tcon/") :]
    head = f"tcon/{command} "
    listed = appctl(*rigs.target(), "list-commands")
    (shown,) = (line.strip() for line in listed.splitlines() if line.strip().startswith(head))
    assert re.sub(" +", " ", shown) == usage.splitlines()[0].removeprefix("usage: ovs-appctl ")
    assert head in appctl("tcon/help")
    for words in (["br0", "--bogus"], ["-jx"], ["a"] * (2 if command == "list-cc" else 4)):
        if words[0] == "a" and command in ("set-cc", "import-port"):
            words = ["a", "a"]
        with pytest.raises(LabError, match=re.escape(usage.splitlines()[0])):
            appctl(f"tcon/{command}", *words)
    with pytest.raises(LabError, match=r"'--volatlie' is no option"):
        appctl("tcon/set-cc", "br0", "flow=all", "vegas", "--volatlie")
    assert [cc["name"] for cc in json.loads(appctl("tcon/list-cc", "-j"))["ccs"]] == loaded


def test_help_names_what_is_there(lab: Lab) -> None:
    assert appctl("tcon/help").startswith("TCon 0.1.0\n")
    fields = appctl("tcon/help", "MATCH")
    assert re.search(r"^tp_dst=PORT\[/MASK\] +the peer's TCP port$", fields, re.M)
    with pytest.raises(LabError, match=r"no command tcon/set_cc: is it set-cc\?"):
        appctl("tcon/help", "tcon/set_cc")


def test_a_wrong_cc_is_told_all_that_there_are(lab: Lab) -> None:
    """Those that are not loaded, too."""
    rigs.unload("tcon_vegas")
    for name, meant in (("bbbr", ": is it bbr?"), ("CUBIC", ": is it cubic?"),
                        ("", ""), ("xyzzy", ""), ("veags", ": is it vegas?")):  # fmt: skip
        with pytest.raises(LabError) as caught:
            appctl("tcon/set-cc", "br0", "flow=all", name)
        said = re.search(rf"there is no CC '{name}'{re.escape(meant)} \(there are: (.*)\)",
                         str(caught.value))  # fmt: skip
        assert said, caught.value
        own = {module.removeprefix("tcon_") for module in rigs.CCS} - {"linux"}
        assert own | {"none", "linux:NAME"} == set(said[1].split(", "))
    assert "vegas" in json.loads(appctl("tcon/list-cc", "-j"))["not_loaded"]


def test_no_module_is_looked_for_by_what_is_no_name(lab: Lab) -> None:
    """The kernel starts modprobe for each."""
    asked, modprobe = Path("/run/asked"), Path("/proc/sys/kernel/modprobe")
    script, usual = Path("/run/modprobe"), modprobe.read_text()
    script.write_text('#!/bin/sh\necho "$*" >>/run/asked\n')
    script.chmod(0o755)
    modprobe.write_text(str(script))
    try:
        for name in ("../../etc/passwd", "a b", "bbr;", "x/y", ":", "\x7f", "x" * 32, "nosuch"):
            with pytest.raises(LabError, match="there is no CC"):
                appctl("tcon/set-cc", "br0", "flow=all", name)
    finally:
        modprobe.write_text(usual)
    assert [line.split()[-1] for line in asked.read_text().splitlines()] == ["tcon-cc-nosuch"]


@pytest.mark.usefixtures("data_flow")
def test_buffers_of_port_and_host(lab: Lab) -> None:
    show, text = lab.br0.tcon_show(), appctl("tcon/show", "br0")
    bounds = {name: rigs.parameter(f"buffer_{name}_bytes") for name in ("flow", "port", "host")}
    assert show["buffer_flow_bytes_max"] == bounds["flow"]
    assert show["buffer_port_bytes_max"] == bounds["port"]
    assert show["buffer_bytes_max"] == bounds["host"]
    ports = {port["name"]: port for port in show["bridges"][0]["ports"]}
    assert 0 < ports["br0-h1"]["buffer_bytes"] < 1_000_000
    assert 0 < show["buffer_bytes"] < 1_000_000
    assert re.search(
        rf"^buffers: \d+ of at most {bounds['host']} bytes "
        rf"\({bounds['port']} for a port, {bounds['flow']} for a flow\)$", text, re.M
    )  # fmt: skip
    assert re.search(r"port br0-h1 .* buffer: [1-9]\d* bytes$", text, re.M)
    assert "br0-up" in text
    assert not re.search(r"port br0-up .* buffer", text)
    assert re.search(
        r"^    repair-sent: [1-9]\d*(?:, [\d.]+/s)? \(segments repeated by TCon\)$", text, re.M
    )


def test_nothing_is_kept_of_what_is_acknowledged(lab: Lab) -> None:
    poll(lambda: lab.br0.tcon_show()["buffer_bytes"] == 0, "nothing is left", 20, 0.2)


def test_repair_can_be_switched_off(lab: Lab) -> None:
    with rigs.parameters(repair=0):
        lab.br0.set_cc("all", "bbr")
        with transfer(lab, 2) as data_flow:
            time.sleep(1)
            flow, show = data_flow(), lab.br0.tcon_show()
    assert (flow["state"], flow["reason"]) == ("window-enforced", "repair-off")
    assert (flow["repairs"], flow["buffer_bytes"], show["buffer_bytes"]) == (0, 0, 0)
