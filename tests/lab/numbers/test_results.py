# SPDX-License-Identifier: GPL-2.0-only
"""Results and reports, made of invented records."""

from __future__ import annotations

import copy
import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
import synthetic
from rich.console import Console
from tcon_lab.numbers.results import (
    ResultsError,
    all_results,
    percentile,
    results_from_raw,
    to_text,
)
from tcon_lab.numbers.sharing import jain
from tcon_lab.pages import report

MODES = ("guest", "native", "enforced")


@pytest.fixture
def raw() -> list[dict[str, Any]]:
    return [synthetic.raw(mode) for mode in MODES]


def flow_of(results: dict[str, Any], mode: str, index: int = 0) -> dict[str, Any]:
    return run_of(results, mode)["flows"][index]


def run_of(results: dict[str, Any], mode: str) -> dict[str, Any]:
    return next(run for run in results["runs"] if run["mode"] == mode)


@pytest.mark.parametrize(
    ("values", "percent", "expected"),
    [
        ([], 50, None),
        ([7], 99, 7),
        ([4, 1, 3, 2], 50, 2),
        ([1, 2, 3, 4], 0, 1),
        (list(range(1, 101)), 99, 99),
        (list(range(1, 202)), 99, 199),
    ],
)
def test_percentiles_are_nearest_rank(values: list[float], percent: float, expected: Any) -> None:
    assert percentile(values, percent) == expected


def test_jain_by_hand() -> None:
    assert jain([5, 5, 5]) == 1
    assert jain([1, 0, 0, 0]) == 0.25
    assert jain([1, 3]) == 0.8  # 16 / (2 x 10)
    assert jain([0, 0]) is None
    assert jain([]) is None


def tiny(**changes: Any) -> dict[str, Any]:
    """A run of 1 s whose every number can be checked by hand."""
    text = """
name = "tiny"
seconds = 1
modes = ["enforced"]
[path]
rate = "1mbit"
rtt = "10ms"
[[flow]]
guest_cc = "cubic"
native_cc = "bbr"
enforce = "bbr"
"""
    ends = synthetic.endpoints(0)

    def flow(t_s: float, acked: int, rtt: int | None, resent: int = 0) -> dict[str, Any]:
        rtt_us = rtt and {"min": rtt - 1, "p50": rtt, "samples": 3}
        return {"type": "flow", "t_s": t_s, **ends, "acked_bytes": acked, "sent_bytes": acked,
                "retransmitted_bytes": resent, "loss_events": int(resent > 0),
                "rtt_us": rtt_us}  # fmt: skip

    def tcon(t_s: float, state: str, reason: str, **more: Any) -> dict[str, Any]:
        return {"type": "tcon", "t_s": t_s, **ends, "state": state, "reason": reason,
                "cwnd_bytes": 30000, "rwnd_bytes": 25000, "pacing_bps": 900000, **more}  # fmt: skip

    iperf3 = synthetic.iperf3(1.0, [11000, 13000, 12000], 50_000, 4)
    probe = [
        {"type": "start", "t_s": 0.0, "interval_ms": 250, "monotonic_s": 100.0},
        flow(0.5, 0, None),
        flow(0.75, 10_000, 12000),  # the flow starts in its middle
        flow(1.0, 30_000, 14000, 1448),
        flow(1.5, 20_000, 16000),
        flow(1.75, 40_000, 18000),  # its time ends in its middle
        tcon(0.7, "observed", "handshake"),
        tcon(0.9, "window-enforced", "none"),
        tcon(1.2, "observed", "watchdog"),
        tcon(1.6, "window-enforced", "none"),
        tcon(1.9, "observed", "closed"),  # after its time
        {"type": "summary", "t_s": 2.0, **ends, "first_s": 0.625, "last_s": 1.9,
         "acked_bytes": 100_000, "sent_bytes": 101_448, "retransmitted_bytes": 1448,
         "untimed_packets": 0,
         "rtt_us": {"min": 10_100, "p50": 14_000, "p95": 17_000, "p99": 18_500, "samples": 99}},
        {"type": "end", "t_s": 2.0, "packets": 1, "dropped": 0, "untracked": 0},
    ]  # fmt: skip
    queue = [{"type": "start", "t_s": 0.0, "interval_ms": 250, "monotonic_s": 99.5}]
    for n, packets in enumerate([99, 99, 99, 99, 99, 10, 20, 30, 40, 99, 99]):
        queue.append(
            {
                "type": "queue",
                "t_s": n * 0.25,
                "packets": packets,
                "bytes": 1000 * packets + 1,
                "drops": n,
            }
        )
    flows = [{"index": 0, **ends, "guest_cc": "cubic", "cc": "bbr", "start_s": 0.0,
              "iperf3": iperf3}]  # fmt: skip
    made = {
        "scenario": synthetic.parse(text).to_dict(), "mode": "enforced", "seed": 3,
        "virtual_time": True, "versions": {}, "flows": flows, "probe": probe, "queue": queue,
    }  # fmt: skip
    return made | changes


def test_every_number_by_hand() -> None:
    results = results_from_raw([tiny()])
    assert {k: results[k] for k in ("scenario", "seed", "virtual_time")} == {
        "scenario": "tiny", "seed": 3, "virtual_time": True
    }  # fmt: skip
    (run,) = results["runs"]
    (flow,) = run["flows"]
    # 0.625 .. 1.625 s: half of 10 000, 30 000, 20 000 and half of 40 000 bytes.
    assert flow["goodput_bps"] == run["goodput_bps"] == 75_000 * 8
    assert run["utilisation"] == 0.6
    assert run["jain"] == 1.0
    # At 99.5 + 1.25 .. 1.75 s and 2.0 s: within 100.625 .. 101.625.
    assert [s["packets"] for s in run["queue_samples"]] == [10, 20, 30, 40]
    assert run["queue_packets"] == {"p50": 20, "p99": 40}
    assert run["queue_bytes"] == {"p50": 20_001, "p99": 40_001}
    assert run["queue_samples"][0] == {"t_s": 0.125, "packets": 10, "bytes": 10_001, "drops": 5}
    assert flow["rtt_us"] == {"min": 10_100, "p50": 14_000, "p95": 17_000, "p99": 18_500}
    assert flow["rtt_mean_us"] == 14_000  # of 12, 14 and 16 ms
    assert (flow["sent_bytes"], flow["retransmitted_bytes"]) == (101_448, 1448)
    assert flow["cwnd_bytes"] == {"p50": 30_000, "max": 30_000, "mean": 30_000}
    assert flow["guest_srtt_us"] == {"min": 11_000, "p50": 12_000, "p99": 13_000}
    assert flow["guest_retransmits"] == 4
    assert (flow["guest_cc"], flow["cc"]) == ("cubic", "bbr")
    assert flow["state"] == "window-enforced"
    assert flow["state_share"] == {"window-enforced": 0.5, "observed": 0.5}
    assert flow["reasons"] == ["handshake", "watchdog"]
    assert flow["error"] is None
    assert run["warnings"] == []


def test_instructions_where_the_clock_counts_them() -> None:
    """Half a second of 2 ns each, and 75 000 bytes."""
    (run,) = results_from_raw([tiny(instruction_ns=2, busy_s=0.5)])["runs"]
    assert run["instructions_per_byte"] == 3333.333
    for unknown in ({}, {"instruction_ns": None, "busy_s": 0.5}, {"instruction_ns": 2}):
        (run,) = results_from_raw([tiny(**unknown)])["runs"]
        assert run["instructions_per_byte"] is None
    silent = tiny(instruction_ns=2, busy_s=0.5, probe=[])
    assert results_from_raw([silent])["runs"][0]["instructions_per_byte"] is None


REPAIR = ("tcon_retransmits", "tcon_spurious", "tcon_probes", "tcon_timeouts", "buffer_bytes",
          "limited_share", "limited_share_settled")  # fmt: skip


def limited(window: int, guest: int, receiver: int, idle: int) -> dict[str, int]:
    return {"window": window, "guest": guest, "receiver": receiver, "idle": idle}


def with_repair(*records: dict[str, Any]) -> dict[str, Any]:
    """tiny() with these instead of its records of tcon.ko, which has 10 ms x 30
    from 0.625 s to settle.
    """
    raw = tiny()
    frame = next(r for r in raw["probe"] if r["type"] == "tcon")
    raw["probe"] = [r for r in raw["probe"] if r["type"] != "tcon"]
    raw["probe"][-1:-1] = [frame | record for record in records]
    return raw


def test_repairs_by_hand() -> None:
    raw = with_repair(
        {"t_s": 0.7, "buffer_bytes": 0, "repairs": 0, "spurious_repairs": 0, "probes": 0,
         "timeouts": 0, "limited_us": limited(20, 60, 0, 20)},
        {"t_s": 0.95, "buffer_bytes": 900, "repairs": 3, "spurious_repairs": 0, "probes": 1,
         "timeouts": 0, "limited_us": limited(150, 100, 0, 20)},
        {"t_s": 1.2, "buffer_bytes": 400, "repairs": 3, "spurious_repairs": 1, "probes": 1,
         "timeouts": 0, "limited_us": limited(240, 110, 0, 20)},
        {"t_s": 1.5, "buffer_bytes": 500, "repairs": 7, "spurious_repairs": 1, "probes": 2,
         "timeouts": 1, "limited_us": limited(290, 110, 50, 20)},
        {"t_s": 1.9, "buffer_bytes": 9999, "repairs": 99, "spurious_repairs": 99, "probes": 99,
         "timeouts": 99, "limited_us": limited(300, 9999, 50, 20)},  # after its time
    )  # fmt: skip
    flow = flow_of(results_from_raw([raw]), "enforced")
    assert {key: flow[key] for key in REPAIR} == {
        "tcon_retransmits": 7, "tcon_spurious": 1, "tcon_probes": 2, "tcon_timeouts": 1,
        "buffer_bytes": {"p50": 400, "max": 900},
        "limited_share": {"window": 0.617, "guest": 0.234, "receiver": 0.1064, "idle": 0.0426},
        "limited_share_settled": {"window": 0.7, "guest": 0.05, "receiver": 0.25, "idle": 0},
    }  # fmt: skip
    samples = flow["samples"]
    assert [s["tcon_repairs"] for s in samples] == [0, 3, 0, 4]
    assert [s["tcon_buffer_bytes"] for s in samples] == [0, 900, 400, 500]
    assert [s["tcon_guest_share"] for s in samples] == [None, 0.2353, 0.1, 0]


def test_times_that_begin_anew() -> None:
    """The flow was observed for a while, and enforced again."""
    raw = with_repair(
        {"t_s": 0.7, "limited_us": limited(80, 20, 0, 0)},
        {"t_s": 0.9},
        {"t_s": 1.0, "limited_us": limited(30, 0, 0, 10)},
    )
    flow = flow_of(results_from_raw([raw]), "enforced")
    assert flow["limited_share"] == pytest.approx(
        {"window": 110 / 140, "guest": 20 / 140, "receiver": 0, "idle": 10 / 140}, abs=1e-4
    )
    assert flow["limited_share_settled"] is None  # of one record


def test_goodput_of_the_way_back() -> None:
    """The goodput of data over the same connection, while the sender was to send."""
    raw = tiny()
    assert results_from_raw([raw])["runs"][0]["flows"][0]["back_goodput_bps"] is None
    raw["flows"][0]["iperf3"]["back"] = {"bytes": 2_500_000}
    raw["flows"][0]["iperf3"]["end"]["sum_sent"]["seconds"] = 10
    assert results_from_raw([raw])["runs"][0]["flows"][0]["back_goodput_bps"] == 2_000_000


def test_steal_of_a_sender_that_is_a_machine() -> None:
    raw = tiny()
    assert results_from_raw([raw])["runs"][0]["flows"][0]["steal_share"] is None
    raw["flows"][0]["steal_share"] = 0.25
    assert results_from_raw([raw])["runs"][0]["flows"][0]["steal_share"] == 0.25


def test_alpha_of_the_dctcp_that_decides() -> None:
    """What TCon says of the enforced one, or ss of the guest's own, once it has settled."""
    raw = tiny()
    assert results_from_raw([raw])["runs"][0]["flows"][0]["dctcp_alpha"] is None
    for record, alpha in zip(
        [r for r in raw["probe"] if r["type"] == "tcon"], ("1.000", "0.500", "0.200"), strict=False
    ):
        record["cc_info"] = f"mode=AVOIDANCE alpha={alpha}"
    assert results_from_raw([raw])["runs"][0]["flows"][0]["dctcp_alpha"] is None  # another's alpha
    for cc in ("dctcp", "linux:dctcp"):
        raw["flows"][0]["cc"] = cc
        assert results_from_raw([raw])["runs"][0]["flows"][0]["dctcp_alpha"] == 0.35
    key = {name: raw["flows"][0][name] for name in ("saddr", "sport", "daddr", "dport")}
    raw["sockets"] = [
        {"type": "socket", "t_s": n / 10, **key, "ssthresh_bytes": None, "dctcp_alpha": alpha}
        for n, alpha in enumerate((1.0, 0.5, 0.25, 0.15))
    ] + [{"type": "socket", "t_s": 9.0, **key, "sport": 9, "ssthresh_bytes": 1, "dctcp_alpha": 1}]
    # A DCTCP guest under an enforced one hears of no mark.
    assert results_from_raw([raw])["runs"][0]["flows"][0]["dctcp_alpha"] == 0.35
    raw["mode"], raw["scenario"]["modes"] = "native", ["native"]
    assert results_from_raw([raw])["runs"][0]["flows"][0]["dctcp_alpha"] == 0.2


def test_marks_that_the_guest_is_told_of() -> None:
    raw = tiny()
    key = {name: raw["flows"][0][name] for name in ("saddr", "sport", "daddr", "dport")}
    assert results_from_raw([raw])["runs"][0]["flows"][0]["guest_marked_segments"] is None
    raw["sockets"] = [
        {"type": "socket", "t_s": n / 10, **key, "ssthresh_bytes": None, "delivered_ce_segments": n}
        for n in range(4)
    ]
    assert results_from_raw([raw])["runs"][0]["flows"][0]["guest_marked_segments"] == 3


def test_ssthresh_of_the_guest_and_of_tcon() -> None:
    raw = tiny()
    key = {name: raw["flows"][0][name] for name in ("saddr", "sport", "daddr", "dport")}
    start = next(r for r in raw["probe"] if r["type"] == "start")
    raw["sockets"] = [start | {"monotonic_s": start["monotonic_s"] + 0.25}]
    for t_s, ssthresh in ((0.5, None), (0.752, 14_480), (1.0, 7240), (9.0, 1)):
        raw["sockets"].append({"type": "socket", "t_s": t_s, **key, "ssthresh_bytes": ssthresh})
    for number, record in enumerate([r for r in raw["probe"] if r["type"] == "tcon"]):
        record["ssthresh_bytes"] = None if number == 0 else 1000 * number
    with_sockets = flow_of(results_from_raw([raw]), "enforced")["samples"]
    del raw["sockets"]
    without = flow_of(results_from_raw([raw]), "enforced")["samples"]
    assert {s["guest_ssthresh_bytes"] for s in without} == {None}
    # The sockets' probe began 0.25 s after the other: its times are its own.
    got = [(s["t_s"], s["guest_ssthresh_bytes"], s["tcon_ssthresh_bytes"]) for s in with_sockets]
    assert got == [(0.125, None, None), (0.375, 14_480, 1000), (0.625, 7240, 2000),
                   (0.875, None, 3000)]  # fmt: skip


def test_an_older_tcon_repairs_nothing() -> None:
    flow = flow_of(results_from_raw([tiny()]), "enforced")
    assert {flow[key] for key in REPAIR} == {None}
    assert {sample["tcon_repairs"] for sample in flow["samples"]} == {None}


def test_samples_by_hand() -> None:
    samples = flow_of(results_from_raw([tiny()]), "enforced")["samples"]
    assert [s["t_s"] for s in samples] == [0.125, 0.375, 0.625, 0.875]
    assert [s["goodput_bps"] for s in samples] == [320_000, 960_000, 0, 640_000]
    assert [s["rtt_us"] for s in samples] == [12000, 14000, None, 16000]
    assert [s["retransmitted_bytes"] for s in samples] == [0, 1448, 0, 0]
    assert samples[1]["tcon_cwnd_bytes"] == 30_000
    assert samples[1]["tcon_window_bytes"] == 25_000
    assert samples[2]["tcon_state"] == "observed"
    assert samples[0]["guest_cwnd_bytes"] == 50_001  # of 0.825: the last nearest 0.75
    assert len({tuple(sample) for sample in samples}) == 1  # all have the same keys


def test_the_guest_side_of_samples() -> None:
    flow = flow_of(results_from_raw([synthetic.raw("native")]), "native")
    assert len(flow["samples"]) == 100
    assert [s["guest_cwnd_bytes"] for s in flow["samples"][:2]] == [400_000, 400_001]
    assert all(s["guest_srtt_us"] == s["rtt_us"] + 50 for s in flow["samples"])
    assert all(s["tcon_cwnd_bytes"] is None for s in flow["samples"])
    assert flow["cwnd_bytes"] == {"p50": 400_049, "max": 400_099, "mean": 400_050}
    assert flow["state"] is None
    assert flow["tcon_retransmits"] is None


def test_iperf3_knows_the_port_where_the_runner_does_not() -> None:
    raw = tiny()
    ends = synthetic.endpoints(0)
    raw["flows"][0]["sport"] = 0
    raw["flows"][0]["iperf3"]["start"]["connected"] = [
        {"local_host": ends["saddr"], "local_port": ends["sport"],
         "remote_host": ends["daddr"], "remote_port": ends["dport"]}
    ]  # fmt: skip
    assert flow_of(results_from_raw([raw]), "enforced")["goodput_bps"] == 600_000


def test_a_flow_that_nobody_saw() -> None:
    raw = tiny()
    raw["flows"][0]["sport"] = 1
    (run,) = results_from_raw([raw])["runs"]
    (flow,) = run["flows"]
    assert flow["error"] == "the probe saw no data of it"
    assert (flow["goodput_bps"], flow["rtt_us"], flow["samples"]) == (None, None, [])
    assert run["jain"] is None
    assert run["utilisation"] == 0.0


def test_an_error_of_iperf3_is_kept() -> None:
    raw = tiny()
    raw["flows"][0]["iperf3"] = {"error": "unable to connect"}
    flow = flow_of(results_from_raw([raw]), "enforced")
    assert flow["error"] == "unable to connect"
    assert (flow["guest_srtt_us"], flow["guest_retransmits"]) == (None, None)


def test_a_later_flow_has_its_own_time() -> None:
    raw = [synthetic.raw("guest", count=2)]
    raw[0]["flows"][1]["start_s"] = 2.0
    raw[0]["flows"][1]["iperf3"]["end"]["sum_sent"]["seconds"] = 8.0
    shift = [r for r in raw[0]["probe"] if r.get("sport") == 40001]
    for record in shift:
        record["t_s"] += 2
        if "first_s" in record:
            record["first_s"] += 2
    flow = flow_of(results_from_raw(raw), "guest", 1)
    assert (flow["samples"][0]["t_s"], flow["samples"][-1]["t_s"]) == (2.1, 10.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"dropped": 3}, "the probe lost 3 packets"),
        ({"untracked": 2}, "the probe had no room for 2 packets"),
    ],
)
def test_warnings_of_the_end_record(change: dict[str, int], words: str) -> None:
    raw = tiny()
    raw["probe"][-1] |= change
    assert results_from_raw([raw])["runs"][0]["warnings"] == [words]


def test_other_warnings() -> None:
    raw = tiny()
    raw["probe"].insert(1, {"type": "note", "t_s": 0.1, "text": "tcon.ko is not loaded"})
    raw["probe"].insert(1, {"type": "tcon", "t_s": 0.1, "error": "a message is malformed"})
    raw["probe"][-2]["untimed_packets"] = 4
    del raw["probe"][-1]
    assert results_from_raw([raw])["runs"][0]["warnings"] == [
        "tcon.ko is not loaded",
        "the probe did not end in order: there are no summaries",
        "the probe could not time 4 packets",
        "1 messages of tcon.ko were malformed",
    ]


def test_missing_tcon_is_a_warning_only_where_it_is_asked_for(raw: Any) -> None:
    for record in raw:
        record["probe"].append({"type": "note", "t_s": 0.1, "text": "tcon.ko is not loaded"})
    warnings = [run["warnings"] for run in results_from_raw(raw)["runs"]]
    assert warnings == [[], [], ["tcon.ko is not loaded"]]


def test_runs_stand_in_the_order_of_the_scenario(raw: Any) -> None:
    backwards = results_from_raw(raw[::-1])
    assert [run["mode"] for run in backwards["runs"]] == list(MODES)
    assert to_text(backwards) == to_text(results_from_raw(raw))


def test_equal_runs_give_an_equal_text(raw: Any) -> None:
    text = to_text(results_from_raw(raw))
    again = to_text(results_from_raw([synthetic.raw(mode) for mode in MODES]))
    assert text == again
    assert json.loads(text)["runs"][0]["mode"] == "guest"
    assert text != to_text(results_from_raw([synthetic.raw(mode, seed=2) for mode in MODES]))


def test_raw_records_are_left_as_they_were(raw: Any) -> None:
    before = copy.deepcopy(raw)
    results_from_raw(raw)
    assert raw == before


def test_several_scenarios_and_seeds(raw: Any) -> None:
    other = [synthetic.raw(mode, seed=2) for mode in MODES]
    mixed = [other[1], *raw, other[0]]
    results = all_results(mixed)
    assert [(r["seed"], len(r["runs"])) for r in results] == [(2, 2), (1, 3)]
    with pytest.raises(ResultsError, match="one scenario with one seed"):
        results_from_raw(mixed)
    assert all_results([]) == []


def test_raw_records_that_make_no_results(raw: Any) -> None:
    with pytest.raises(ResultsError, match="one scenario with one seed"):
        results_from_raw([])
    with pytest.raises(ResultsError, match="does not ask for: guest, guest"):
        results_from_raw([raw[0], raw[0]])
    with pytest.raises(ResultsError, match="does not ask for: strange"):
        results_from_raw([raw[0] | {"mode": "strange"}])
    del raw[0]["flows"][0]["index"]
    with pytest.raises(ResultsError, match="synthetic is malformed: KeyError 'index'"):
        results_from_raw(raw)


# --- reports ---------------------------------------------------------------------------


def terminal(results: list[dict[str, Any]], width: int = 240) -> str:
    console = Console(width=width, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(report.table(results))
    return console.export_text()


def test_ratios_are_to_the_native_run(raw: Any) -> None:
    results = results_from_raw(raw)
    guest, native, enforced = report.rows([results])
    assert (native.goodput_ratio, native.rtt_ratio) == (None, None)
    p50 = {mode: flow_of(results, mode)["rtt_us"]["p50"] for mode in MODES}
    assert guest.rtt_ratio == p50["guest"] / p50["native"]
    assert enforced.rtt_ratio == p50["enforced"] / p50["native"]
    assert enforced.goodput_ratio == pytest.approx(1)
    assert enforced.cc == "cubic under bbr"
    assert (guest.cc, native.cc) == ("cubic", "bbr")


def test_a_row_of_several_flows() -> None:
    results = results_from_raw([synthetic.raw("enforced", count=3)])
    for flow, p50 in zip(results["runs"][0]["flows"], (30_000, 50_000, 90_000), strict=True):
        flow["rtt_us"] = {"min": 1, "p50": p50, "p99": p50 + 1000}
    results["runs"][0]["flows"][2]["state"] = "observed"
    (row,) = report.rows([results])
    assert (row.rtt_p50_ms, row.rtt_p99_ms, row.retransmits) == (50, 91, 6)
    assert row.state == "2 x repair-enforced (handshake), observed (handshake)"
    assert row.goodput_ratio is None


def test_what_repair_did_in_the_report(raw: Any) -> None:
    results = results_from_raw(raw)
    guest, native, enforced = report.rows([results])
    assert (guest.repairs, guest.repair, native.repair) == (None, "", "")
    # From the seventh record on (30 x 20 ms after 1.0 s) there is nothing more for the guest.
    assert (enforced.repairs, enforced.guest_limited) == (294, 0.0)
    words = (
        "enforced: 294 repairs (9 spurious), 1 tail probes, 1 time-outs; "
        "copies of a flow took up to 0.63 MB; "
        "limited by window 98.8 %, guest 0.2 %, receiver 0.0 %, idle 1.0 %; "
        "once settled window 99.0 %, guest 0.0 %, receiver 0.0 %, idle 1.0 %"
    )
    assert words in " ".join(terminal([results], width=100).split())


def test_repairs_of_several_flows() -> None:
    results = results_from_raw([synthetic.raw("enforced", count=3)])
    flows = results["runs"][0]["flows"]
    flows[1]["limited_share_settled"] = limited(0, 1, 0, 0)
    flows[2] |= {"limited_share_settled": None, "tcon_retransmits": None}
    (row,) = report.rows([results])
    assert (row.repairs, row.guest_limited) == (588, 0.5)


def test_a_page_without_repairs_has_no_panel_of_them(raw: Any) -> None:
    with_repairs = report.report_html([results_from_raw(raw)])
    for record in raw[2]["probe"]:
        for key in ("repairs", "buffer_bytes", "limited_us"):
            record.pop(key, None)
    without = report.report_html([results_from_raw(raw)])
    assert "Limited by the guest, % of the time" in with_repairs
    assert "cubic under bbr: by TCon" in with_repairs
    assert "Limited by the guest, % of the time" not in without
    assert "cubic under bbr: by TCon" not in without


def test_the_terminal_table(raw: Any) -> None:
    raw[0]["scenario"]["name"] = raw[1]["scenario"]["name"] = raw[2]["scenario"]["name"] = "a[b]c"
    text = terminal([results_from_raw(raw)])
    for words in ("a[b]c: 100 Mbit/s", "cubic under bbr", "repair-enforced", "92.59", "Jain"):
        assert words in text


def test_the_answer_is_one_sentence_and_comes_first(raw: Any) -> None:
    results = results_from_raw(raw)
    sentence = report.answer(results)
    assert sentence == (
        "A CUBIC guest under enforced BBR: 92.6 Mbit/s at 29.2 ms; "
        "alone 92.6 Mbit/s at 64.5 ms; native BBR 92.6 Mbit/s at 29.1 ms."
    )
    assert terminal([results]).startswith(sentence)
    page = report.report_html([results])
    assert page.index(sentence) < page.index("<table")
    several = copy.deepcopy(results)
    for run in several["runs"]:
        run["flows"] *= 2
        run["flows"][1] = run["flows"][1] | {"cc": "linux:bic", "rtt_us": None}
    assert report.answer(several).startswith("CUBIC guests under enforced BBR and linux:bic: ")
    results["runs"] = results["runs"][:1]
    assert report.answer(results) == ""
    assert "answer" not in report.report_html([results]).partition("</style>")[2]


def test_the_terminal_table_shows_warnings_and_cuts_nothing_off(raw: Any) -> None:
    raw[2]["probe"][-1]["dropped"] = 3
    text = terminal([results_from_raw(raw)], width=100)
    assert "warning: enforced: the probe lost 3 packets" in text
    assert "…" not in text
    assert "cubic under bbr" in text


class Page(HTMLParser):
    """The addresses that a browser would load, and the text of the table."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.tags: list[str] = []
        self.cells: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loads += [str(value) for name, value in attrs if name in ("src", "href")]
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1] in ("td", "th") and self.cells:
            self.cells[-1] += data


def test_the_page_stands_alone_and_is_small_enough(raw: Any) -> None:
    results = [results_from_raw(raw), results_from_raw([synthetic.raw(m, 6) for m in MODES])]
    page = report.report_html(results)
    parsed = Page(page)
    assert parsed.loads == []
    assert len(page) < 5_300_000
    assert page.count("plotly.js v") == 1
    assert "cubic under bbr" in parsed.cells
    assert "Drawn are 4 of 6 flows." in page
    for unit in ("kB", "ms", "Mbit/s", "packets", "time, s"):
        assert unit in page
    assert page == report.report_html(copy.deepcopy(results))


def test_the_page_draws_every_run(raw: Any) -> None:
    page = report.report_html([results_from_raw(raw)])
    names = set(re.findall(r'"name":"([^"]*)"', page))
    for what in ("path RTT", "goodput"):
        for who in ("guest cubic", "native bbr", "enforced cubic under bbr"):
            assert f"{who}: {what}" in names
    assert "enforced cubic under bbr: TCon's cwnd" in {n.replace("&#x27;", "'") for n in names}


EVIL = "<script>alert(1)</script><b>&\"'"


def test_strings_cannot_break_out_of_the_page(raw: Any) -> None:
    results = results_from_raw(raw)
    results["scenario"] = EVIL
    results["versions"] = {EVIL: EVIL}
    for run in results["runs"]:
        run["warnings"] = [EVIL]
        for flow in run["flows"]:
            flow |= {"cc": EVIL, "guest_cc": EVIL, "error": EVIL, "state": EVIL, "reasons": [EVIL]}
    results["runs"][0]["mode"] = '"><script>alert(2)</script>'
    page = report.report_html([results])
    parsed = Page(page)
    assert parsed.tags.count("script") == 3  # plotly, the figure, the colours
    assert "b" not in parsed.tags
    assert "<script>alert" not in page


def test_a_report_of_what_failed() -> None:
    raw = tiny()
    raw["flows"][0]["sport"] = 1
    raw["queue"] = []
    results = [results_from_raw([raw])]
    assert "the probe saw no data of it" in report.report_html(results)
    assert "tiny" in terminal(results)


# --- transfers --------------------------------------------------------------


def test_completion_times() -> None:
    times_s = [2.0, 1.0, 4.0, 1.0]
    (run,) = results_from_raw([synthetic.raw_transfers("enforced", times_s)])["runs"]
    (flow,) = run["flows"]
    assert flow["transfers"]["each_s"] == times_s  # by their start, not by their end
    assert flow["transfers"]["seconds"] == {
        "mean": 2.0, "min": 1.0, "p50": 1.0, "p95": 4.0, "p99": 4.0, "max": 4.0
    }  # fmt: skip
    assert flow["goodput_bps"] == 4_000_000  # 4 MB in 8 s
    assert run["utilisation"] == 0.4
    assert flow["rtt_us"] == {"min": 20000, "p50": 21001, "p95": 29003, "p99": 30003}
    assert (flow["retransmitted_bytes"], flow["rtt_samples"]) == (400, 40)
    assert flow["error"] is None


def test_a_connection_that_has_ended_is_in_no_state() -> None:
    (run,) = results_from_raw([synthetic.raw_transfers("enforced", [1.0, 1.0])])["runs"]
    assert run["flows"][0]["state"] == "window-enforced"
    assert run["flows"][0]["state_share"] == {"window-enforced": 1.0}
    assert run["flows"][0]["reasons"] == []
    repairs = ("tcon_retransmits", "tcon_spurious", "tcon_probes", "tcon_timeouts")
    assert [run["flows"][0][key] for key in repairs] == [4, 2, 6, 0]  # of both connections
    (run,) = results_from_raw([synthetic.raw_transfers("native", [1.0, 1.0])])["runs"]
    assert run["flows"][0]["state"] is None


def test_transfers_that_the_probe_did_not_see() -> None:
    raw = synthetic.raw_transfers("native", [1.0])
    raw["probe"] = [r for r in raw["probe"] if r["type"] != "summary"]
    (run,) = results_from_raw([raw])["runs"]
    assert run["flows"][0]["error"] == "the probe saw no data of it"


def test_the_report_of_transfers() -> None:
    made = all_results([synthetic.raw_transfers(m, [n, 2.0]) for n, m in enumerate(MODES, 1)])
    console = Console(width=200, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(report.table(made))
    text = console.export_text()
    assert "native bbr: 2 transfers of 1000 kB: mean 2 s, p50 2 s, p95 2 s, p99 2 s" in text
    html = report.report_html(made)
    assert html.count('class="plotly-graph-div"') == 1  # completion times, no curves over time
    assert "% of the transfers" in html
