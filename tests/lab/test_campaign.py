# SPDX-License-Identifier: GPL-2.0-only
"""The command `campaign`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from campaigns import PAIRS, SMALL, Fake, change, runs
from commands import tcon_lab
from tcon_lab.experiment.campaign_file import parse
from tcon_lab.numbers.campaign_run import Store, conduct


def test_a_report_of_what_is_there(tmp_path: Path) -> None:
    campaign, file, folder = parse(SMALL), tmp_path / "grid.toml", tmp_path / "out"
    file.write_text(SMALL)
    empty = tcon_lab("campaign", file, "--out", folder, "--report")
    assert (empty.returncode, empty.stdout) == (1, "")
    assert empty.stderr == f"tcon-lab: {folder} holds no campaign's results\n"
    store = Store(folder)
    store.prepare(campaign, runs(campaign))
    conduct(runs(campaign), store, Fake(failing="64ms-0pct"), 1, lambda line: None)
    done = tcon_lab("campaign", file, "--out", folder, "--report")
    assert done.returncode == 0
    assert "warning: 4 runs are missing" in done.stdout
    made = json.loads((folder / "comparison.json").read_text())
    file.write_text(SMALL.replace("seeds = [1, 2]", "seeds = [2, 3]"))
    more = tcon_lab("campaign", file, "--out", folder, "--report")
    assert more.returncode == 0
    assert "warning: 10 runs are missing" in more.stdout  # 8 of seed 3, and what failed of 2
    file.write_text(SMALL.replace("seconds = ", "seconds = 1"))
    other = tcon_lab("campaign", file, "--out", folder, "--report")
    assert (other.returncode, other.stdout) == (1, "")
    assert other.stderr == (
        f"tcon-lab: {folder} holds results of cell 10mbit 8ms 0% with another length, "
        "path or flows than this campaign has\n"
    )
    file.write_text(SMALL)
    assert tcon_lab("campaign", file, "--out", folder, "--report").returncode == 0
    assert made["cells"][0]["metrics"]["goodput"]["mean"] == pytest.approx(1)
    assert (folder / "comparison.md").read_text().startswith("# grid\n")
    html = (folder / "report.html").read_text()
    assert len(html) > 10**6
    assert 'id="gallery-cwnd_bytes"' in html
    series = json.loads((folder / "series.json").read_text())
    assert sorted(series) == ["10mbit 64ms 0.1%", "10mbit 8ms 0%", "10mbit 8ms 0.1%"]
    assert sorted(series["10mbit 8ms 0%"]["native"]) == ["1", "2"]


def test_the_command_takes_the_short_form(tmp_path: Path) -> None:
    file, folder = tmp_path / "pairs.toml", tmp_path / "out"
    file.write_text(PAIRS)
    campaign = parse(PAIRS, short=True)
    store = Store(folder)
    store.prepare(campaign, runs(campaign))
    conduct(runs(campaign), store, Fake(), 1, lambda line: None)
    done = tcon_lab("campaign", file, "--short", "--out", folder, "--report")
    assert done.returncode == 0
    assert "pairs-short: 4 cells, 5 s each, seed 2" in done.stdout
    long = tcon_lab("campaign", file, "--out", folder, "--report")
    assert long.returncode == 1
    assert "holds the results of campaign pairs-short" in long.stderr


def test_a_wrong_file_runs_nothing(tmp_path: Path) -> None:
    file = tmp_path / "grid.toml"
    file.write_text(change("seconds = 10", "seconds = 0"))
    got = tcon_lab("campaign", file, "--out", tmp_path / "out")
    assert got.returncode == 1
    assert got.stderr == f"tcon-lab: {file}:2: seconds is 0, not above 0 and at most 36000.\n"
    assert not (tmp_path / "out").exists()
