# SPDX-License-Identifier: GPL-2.0-only
"""How guests' CCs were named (numbers/naming.py), and the table of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tcon_lab.errors import LabError
from tcon_lab.numbers import naming
from tcon_lab.pages import naming_table


def run(key: str, *flows: tuple[str, str | None], loss: float = 0.0) -> dict[str, Any]:
    """A run as a campaign stores it: of each flow what it ran, and what it was named."""
    path = {"rate_bps": 20_000_000, "rtt_us": 40_000, "loss_fraction": loss}
    named = [
        {"guest_cc": ran, "named": {"guess": name, "guess_confidence": 0.9}} for ran, name in flows
    ]
    return {
        "key": key, "mode": "observed", "seed": 1, "versions": {},
        "scenario": {"path": path}, "run": {"flows": named},
    }  # fmt: skip


def test_flows_of_a_run() -> None:
    flows = naming.flows_of(run("a", ("reno", "reno"), ("cubic", None), loss=0.001))
    where = "20 Mbit/s, 40 ms, 0.10% lost, 2 flows"
    assert flows == [
        {"path": where, "ran": "reno", "named": "reno", "confidence": 0.9},
        {"path": where, "ran": "cubic", "named": "unknown", "confidence": 0.9},
    ]


def test_what_was_not_named_is_not_wrong() -> None:
    runs = [
        run("a", ("reno", "reno")),
        run("b", ("lp", "reno")),
        run("c", ("cubic", None)),
        run("d", ("reno", "reno"), loss=0.001),
    ]
    made = naming.confusion(flow for each in runs for flow in naming.flows_of(each))
    assert made["matrix"] == {"cubic": {"unknown": 1}, "lp": {"reno": 1}, "reno": {"reno": 2}}
    assert made["all"] == {"flows": 4, "right": 0.5, "wrong": 0.25}
    assert made["paths"]["20 Mbit/s, 40 ms, 0.10% lost"] == {"flows": 1, "right": 1, "wrong": 0}
    table = naming_table.table(made)
    assert table.headings == ["Ran", "cubic", "lp", "reno", "unknown"]
    assert table.rows == [
        ["cubic", "", "", "", "1"],
        ["lp", "", "", "1", ""],
        ["reno", "", "", "2", ""],
    ]
    assert table.title == "4 flows: 50.0% right, 25.0% wrong"
    assert "4 flows: 50.0% right" in naming_table.page(made)


def test_a_folder(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="holds no campaign's results"):
        naming.load(tmp_path)
    runs = [{"cell": "x", "mode": mode, "seed": 1, "key": mode} for mode in ("native", "observed")]
    (tmp_path / "index.json").write_text(json.dumps({"campaign": "c", "runs": runs}))
    with pytest.raises(LabError, match="holds no run in mode observed"):
        naming.load(tmp_path)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/observed.json").write_text(json.dumps(run("observed", ("bbr", "bbr"))))
    assert [flow["named"] for flow in naming.load(tmp_path)] == ["bbr"]
