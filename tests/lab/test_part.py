# SPDX-License-Identifier: GPL-2.0-only
"""A part of `make check`: its end, and its line in the table."""

from __future__ import annotations

import subprocess
from pathlib import Path

PART = Path(__file__).parents[1] / "part"
PASSES = "echo '3 passed, 2 skipped in 0.21s'; echo '4 passed in 12.00s (0:00:12)'"
FAILS = "echo '1 failed, 3 passed, 1 error in 0.2s'; exit 3"


def part(folder: Path, name: str, script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PART, folder, name, "bash", "-c", script], capture_output=True, text=True, check=False
    )


def table(folder: Path) -> list[list[str]]:
    run = subprocess.run([PART, "--table", folder], capture_output=True, text=True, check=True)
    return [line.split() for line in run.stdout.splitlines()[1:]]


def test_each_part_has_its_line(tmp_path: Path) -> None:
    assert part(tmp_path, "check-one", PASSES).returncode == 0
    assert part(tmp_path, "check-two", FAILS).returncode == 3
    assert part(tmp_path, "check-three", "echo nothing is counted").returncode == 0
    assert [line[:5] for line in table(tmp_path)] == [
        ["check-one", "ok", "7", "0", "2"],
        ["check-two", "FAILED", "3", "2", "0"],
        ["check-three", "ok", "0", "0", "0"],
    ]


def test_what_it_says_is_shown_and_how_to_repeat_it(tmp_path: Path) -> None:
    run = part(tmp_path, "check-two", f"echo a complaint >&2; {FAILS}")
    assert run.stdout.splitlines() == [
        "a complaint",
        "1 failed, 3 passed, 1 error in 0.2s",
        "check-two failed; again, and only that: make check-two",
    ]


def test_a_part_that_passes_says_no_more_than_itself(tmp_path: Path) -> None:
    assert part(tmp_path, "check-one", PASSES).stdout.count("\n") == 2


def test_without_any_part_the_table_is_empty(tmp_path: Path) -> None:
    assert table(tmp_path) == []
