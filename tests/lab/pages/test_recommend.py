# SPDX-License-Identifier: GPL-2.0-only
"""Which CC is best at what, of invented comparisons."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import TOOLS, tcon_lab
from tcon_lab.errors import LabError
from tcon_lab.experiment import published
from tcon_lab.pages.recommend import GROUPS, METRICS, TABLE, load, recommend


def kind(
    cc: str, goodput_bps: float, rtt_us: float = 10_000, resent: float = 0, flows: int = 1
) -> dict[str, Any]:
    return {"kind": 1, "flows": flows, "cc": cc, "goodput_bps": goodput_bps, "sent_bytes": 1000,
            "rtt_mean_us": rtt_us, "retransmitted_bytes": resent, "cwnd_bytes": 1}  # fmt: skip


def cell(*kinds: dict[str, Any], jain: float | None = None, mode: str = "native") -> dict[str, Any]:
    modes = {mode: {} if jain is None else {"jain_mean": {"mean": jain}}}
    return {"cell": "c", "modes": modes, "kinds": {mode: list(kinds)}}


def of(campaign: str, *cells: dict[str, Any]) -> dict[str, Any]:
    return {"campaign": campaign, "cells": list(cells)}


def best(made: dict[str, Any], group: str, mode: str = "native") -> list[list[str]]:
    return [made[mode][group][metric]["best"] for metric in METRICS]


def test_each_alone() -> None:
    made = recommend([
        of("vm-baseline",
           cell(kind("cubic", 95e6, 130_000, 5)), cell(kind("vegas", 90e6, 1000)),
           cell(kind("cubic", 11e6, 400_000, 9, flows=8), jain=0.7),
           cell(kind("vegas", 12e6, 20_000, flows=8), jain=0.8)),
    ])  # fmt: skip
    # CUBIC (95 + 88) / 2, Vegas (90 + 96) / 2: within 2 %.
    assert best(made, "baseline") == [["cubic", "vegas"], ["vegas"], ["vegas"], ["vegas"]]
    scores = made["native"]["baseline"]["best_rtt"]["scores"]
    assert scores["vegas"] == pytest.approx((1000 * 20_000) ** 0.5)
    assert made["native"]["baseline"]["most_fair"]["scores"] == {"cubic": 0.7, "vegas": 0.8}
    assert set(made) == {"native"}
    assert set(made["native"]) == {"baseline"}


def test_against_each_other_each_flow_counts() -> None:
    made = recommend([
        of("vm-pairs", cell(kind("cubic", 80e6), kind("vegas", 10e6), jain=0.6)),
        of("vm-one-against-three",
           cell(kind("vegas", 30e6), kind("cubic", 20e6, flows=3), jain=0.9)),
    ])  # fmt: skip
    assert made["native"]["multiple"]["most_delivered"]["scores"] == {"cubic": 50e6, "vegas": 20e6}
    assert best(made, "multiple")[:2] == [["cubic"], ["cubic", "vegas"]]


def test_two_kinds_of_one_cc_are_one() -> None:
    made = recommend([
        of("vm-two-delays", cell(kind("bbr", 30e6, 10_000), kind("bbr", 20e6, 30_000), jain=0.9)),
    ])  # fmt: skip
    scores = {m: made["native"]["delay"][m]["scores"]["bbr"] for m in METRICS}
    assert (scores["most_delivered"], scores["best_rtt"]) == (50e6, pytest.approx(20_000))


def test_what_nobody_measured() -> None:
    silent = kind("cubic", 1e6) | {"rtt_mean_us": None, "retransmitted_bytes": None}
    made = recommend([of("vm-loss", cell(silent))])
    assert best(made, "loss") == [["cubic"], [], [], []]


def test_groups_are_those_of_the_document_and_of_campaigns() -> None:
    table = published.load(TOOLS / "published/virtual-machines.toml").table(TABLE)
    assert [row[0] for row in table.rows] == list(GROUPS)
    assert [column.name for column in table.columns[1:]] == list(METRICS)
    files = {file.stem for file in (TOOLS / "campaigns").glob("vm-*.toml")}
    assert {name for names in GROUPS.values() for name in names} == files - {"vm-bbr2", "vm-bbr3"}


def write(folder: Path, comparison: dict[str, Any]) -> Path:
    folder.mkdir()
    (folder / "comparison.json").write_text(json.dumps(comparison))
    return folder


def test_folders(tmp_path: Path) -> None:
    short = write(tmp_path / "a", of("vm-baseline-short", cell(kind("bbr", 1e6))))
    assert load([short])[0]["campaign"] == "vm-baseline"
    with pytest.raises(LabError, match=r"holds no campaign's comparison\.json"):
        load([tmp_path])
    with pytest.raises(LabError, match="holds campaign grid, which is none of vm-baseline"):
        load([write(tmp_path / "b", of("grid"))])
    got = tcon_lab("recommend", short, "--json", tmp_path / "r.json")
    assert (got.returncode, got.stderr) == (0, "")
    assert "published" in got.stdout
    assert "ours, native" in got.stdout
    assert json.loads((tmp_path / "r.json").read_text())["native"]["baseline"]


def test_folders_that_lack_runs_or_are_there_twice(tmp_path: Path) -> None:
    """Without the missing runs another CC would be the best."""
    whole = of("vm-loss", cell(kind("cubic", 9)))
    write(tmp_path / "part", whole | {"missing": ["5% cubic, native, seed 1"]})
    with pytest.raises(LabError, match=r"part lacks 1 runs, the first 5% cubic, native, seed 1"):
        load([tmp_path / "part"])
    for name in ("a", "b"):
        write(tmp_path / name, whole)
    with pytest.raises(LabError, match="b is a second folder of campaign vm-loss"):
        load([tmp_path / "a", tmp_path / "b"])
