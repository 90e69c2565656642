# SPDX-License-Identifier: GPL-2.0-only
"""Parquet of invented campaigns: every number of the JSON, in its row."""

from __future__ import annotations

import json
from pathlib import Path

import folders
import polars as pl
import pytest
from commands import tcon_lab
from tcon_lab.numbers import export
from tcon_lab.numbers.campaign_run import Store
from tcon_lab.numbers.many_campaigns import load
from tcon_lab.numbers.results import SAMPLE_KEYS
from tcon_lab.numbers.samples import column


@pytest.fixture(scope="module")
def campaigns(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    top = tmp_path_factory.mktemp("export")
    texts = {"a": folders.BASELINE, "b": folders.FILES}
    return [folders.make(top / name, text, folders.seeds_apart)[1] for name, text in texts.items()]


def test_every_sample_is_in_its_row(campaigns: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "new/all.parquet"
    done = tcon_lab("export", *campaigns, "--out", out)
    assert (done.returncode, done.stderr) == (0, "")
    got = pl.read_parquet(out)
    assert got.schema == export.SAMPLES
    assert done.stdout.startswith(f"{out}: {got.height} samples\n")
    store, total = Store(campaigns[0]), 0
    for entry in json.loads((campaigns[0] / "index.json").read_text())["runs"]:
        samples = store.samples(entry["key"])
        assert samples is not None
        run = got.filter(
            (pl.col("campaign") == "vm-baseline") & (pl.col("cell") == entry["cell"])
            & (pl.col("mode") == entry["mode"]) & (pl.col("seed") == entry["seed"])
        )  # fmt: skip
        total += run.height
        for flow in samples["flows"]:
            rows = run.filter(pl.col("flow") == flow["index"])
            for key in ("t_s", *SAMPLE_KEYS):
                assert rows[key].to_list() == column(flow["columns"], key), key
            assert set(rows["queue_packets"]) == {None}
        queue = run.filter(pl.col("flow").is_null())
        assert queue["queue_packets"].to_list() == samples["queue"]["packets"]
        assert queue["queue_drops"].to_list() == samples["queue"]["drops"]
    assert total == got.filter(pl.col("campaign") == "vm-baseline").height > 1000


def test_every_run_is_a_row(campaigns: list[Path], tmp_path: Path) -> None:
    assert tcon_lab("export", *campaigns, "--out", tmp_path / "x.parquet").returncode == 0
    got = pl.read_parquet(tmp_path / "x-runs.parquet")
    assert got.schema == export.RUNS
    assert got.height == 2 * 2 * 2 * 2 + 3  # counts, CCs, modes, seeds; and the transfers
    for row in got.iter_rows(named=True):
        folder = campaigns[0] if row["campaign"] == "vm-baseline" else campaigns[1]
        stored = Store(folder).load(row["key"])
        assert stored is not None
        assert row["goodput_bps"] == stored["run"]["goodput_bps"]
        assert row["rtt_us"] == stored["scenario"]["path"]["rtt_us"]
        assert row["ccs"] == [flow["cc"] for flow in stored["run"]["flows"]]
        assert json.loads(row["scenario"]) == stored["scenario"]
        assert json.loads(row["versions"])["kernel"] == "6.1.0"
    joined = got.join(
        pl.read_parquet(tmp_path / "x.parquet"),
        on=["campaign", "cell", "mode", "seed"],
        how="inner",
    )
    assert joined.height == pl.read_parquet(tmp_path / "x.parquet").height


def test_many_parts_are_one_table(
    campaigns: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiments = [load(folder) for folder in campaigns]
    whole, parts = tmp_path / "whole.parquet", tmp_path / "parts.parquet"
    _, rows, runs = export.write(experiments, whole)
    monkeypatch.setattr(export, "_PART_ROWS", 150)
    assert export.write(experiments, parts) == (tmp_path / "parts-runs.parquet", rows, runs)
    assert pl.read_parquet(parts).equals(pl.read_parquet(whole))


def test_campaigns_without_samples(campaigns: list[Path], tmp_path: Path) -> None:
    """Campaigns from before samples were kept give an empty table, with its columns."""
    out = tmp_path / "x.parquet"
    folder = tmp_path / "old"
    folder.mkdir()
    for name in ("index.json", "comparison.json", "runs"):
        (folder / name).symlink_to(campaigns[0] / name)
    assert export.write([load(folder)], out)[1:] == (0, 16)
    assert pl.read_parquet(out).schema == export.SAMPLES


def test_wrong_words(campaigns: list[Path], tmp_path: Path) -> None:
    for words, message in (
        ([tmp_path, "--out", tmp_path / "x.parquet"], "holds no campaign"),
        ([campaigns[0], "--out", tmp_path / "x.csv"], "must end in .parquet"),
        ([campaigns[0], "--out", "/proc/x.parquet"], "/proc/x.parquet: "),
    ):
        done = tcon_lab("export", *words)
        assert done.returncode == 1
        assert message in done.stderr
        assert done.stderr.count("\n") == 1
