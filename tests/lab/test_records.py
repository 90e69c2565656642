# SPDX-License-Identifier: GPL-2.0-only
"""Records from a machine's files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import synthetic
from tcon_lab.records import needed, packed, told, unpacked, with_summary

CONNECTION = {"saddr": "10.0.0.1", "sport": 5202, "daddr": "10.0.1.1", "dport": 40000}


def tcon(t_s: float, state: str, **changes: object) -> dict[str, Any]:
    return {"type": "tcon", "t_s": t_s, **CONNECTION, "state": state, "una": 1, **changes}


def test_repeats_are_left_out(tmp_path: Path) -> None:
    kept = [
        tcon(0.1, "window-enforced"),
        tcon(0.2, "window-enforced"),  # an interval of an enforced one each
        tcon(0.3, "observed"),
        tcon(0.3, "observed", dport=40001),
        {"type": "flow", "t_s": 0.4, **CONNECTION},
        {"type": "tcon", "t_s": 0.4, "error": "malformed"},
        tcon(0.5, "observed", una=2),
        tcon(0.7, "window-enforced"),
        tcon(0.8, "observed"),
    ]
    more = [
        tcon(0.4, "observed"),
        tcon(0.4, "observed", dport=40001),
        tcon(0.6, "observed", una=2),
        tcon(0.6, "observed", dport=40001),
    ]
    written = sorted(kept + more, key=lambda record: record["t_s"])
    file = tmp_path / "probe.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in written))
    assert [json.loads(line) for line in told(file)] == kept


def test_records_leave_a_machine_in_parts() -> None:
    lines = [json.dumps({"type": "flow", "number": number}) + "\n" for number in range(10_000)]
    packs = [unpacked(pack) for pack in packed("probe", lines)]
    assert len(packs) == 3
    assert {kind for kind, _ in packs} == {"probe"}
    numbers = [record["number"] for _, records in packs for record in records]
    assert numbers == list(range(10_000))
    assert sum(map(len, packed("probe", lines))) < sum(map(len, lines)) / 5
    assert list(packed("queue", ())) == []


def test_iperf3_that_could_not_exchange_results() -> None:
    """Its intervals count if it sent to its end; otherwise its complaint does."""
    report = synthetic.iperf3(2.0, [20000] * 20, 10, 7)
    assert with_summary(report, 2.0, 0.1) is report
    report |= {"end": {}, "error": "control socket has closed unexpectedly"}
    report["intervals"][3]["streams"][0]["retransmits"] = 5
    whole = with_summary(report, 2.0, 0.1)
    assert whole is not None
    assert "error" not in whole
    assert whole["no_exchange"] == report["error"]
    assert whole["end"]["sum_sent"] == {"seconds": 2.0, "bytes": 20000, "retransmits": 5}
    assert with_summary(report, 2.05, 0.1) is not None
    assert with_summary(report, 2.2, 0.1) is None
    assert with_summary({"error": "unable to connect", "intervals": []}, 2.0, 0.1) is None
    assert with_summary({"error": "unable to connect"}, 2.0, 0.1) is None


def test_of_an_iperf3_report_what_is_read_is_kept() -> None:
    """A hundred whole ones of 100 s, as Python has them, did not fit into a machine."""
    report = synthetic.iperf3(2.0, [20000] * 20, 10, 7)
    whole = report | {"server_output_json": synthetic.iperf3(2.0, [20000] * 20, 10, 7)}
    kept = needed(whole)
    assert kept["start"] == report["start"]
    assert kept["end"] == report["end"]
    assert kept["intervals"] == [
        {"streams": [{k: s[k] for k in ("end", "bytes", "retransmits", "snd_cwnd", "rtt")}]}
        for s in (entry["streams"][0] for entry in report["intervals"])
    ]
    assert len(json.dumps(kept)) < 0.4 * len(json.dumps(whole))
