# SPDX-License-Identifier: GPL-2.0-only
"""Whose turn it is: check-turn with a lab and tests that are not real, and parts of parameters."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

TOP = Path(__file__).parents[3]
MAKEFILE = """\
suite:
\t@echo ran $(SUITE) patched
suite-netfilter:
\t@echo ran $(SUITE) netfilter; exit $(STATUS)
races races-debug:
\t@echo ran $@ $(RACES_TESTS)
"""


def executable(file: Path, script: str) -> Path:
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return file


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "tests/vm").mkdir(parents=True)
    (tmp_path / "tests/vm/Makefile").write_text(MAKEFILE)
    for name in ("check-turn", "turn"):
        shutil.copy(TOP / "tests" / name, tmp_path / "tests")
    executable(tmp_path / "lab", "printf 'trixie\\nforky\\n'")
    return tmp_path


def check_turn(
    tree: Path, *turn: str, what: str = "suites", user: int = 0, unshared: int = 0, status: int = 0
) -> subprocess.CompletedProcess[str]:
    programs = tree / "programs"
    executable(programs / "id", f"echo {user}")
    executable(programs / "unshare", f"exit {unshared}")
    return subprocess.run(
        [tree / "tests/check-turn", what, tree / "lab", *turn],
        env=os.environ | {"PATH": f"{programs}:{os.environ['PATH']}", "STATUS": str(status)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def ran(tree: Path, *turn: str, what: str = "suites") -> list[str]:
    run = check_turn(tree, *turn, what=what)
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()[-1].split()[1:]


def test_each_suite_and_each_way_has_its_turn(tree: Path) -> None:
    assert [ran(tree, str(turn)) for turn in range(840, 845)] == [
        ["trixie", "patched"],
        ["forky", "patched"],
        ["trixie", "netfilter"],
        ["forky", "netfilter"],
        ["trixie", "patched"],
    ]


def test_each_kernel_that_watches_races_has_its_turn(tree: Path) -> None:
    assert [ran(tree, turn, what="races")[0] for turn in ("840", "841", "842")] == [
        "races",
        "races-debug",
        "races",
    ]


def test_there_are_no_other_turns(tree: Path) -> None:
    run = check_turn(tree, "842", what="exit")
    assert run.returncode != 0
    assert run.stderr == "check-turn: suites or races, not exit\n"


def test_it_is_the_turn_of_the_number_of_commits(tree: Path) -> None:
    def git(*words: str) -> None:
        name = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org"]
        subprocess.run(["git", "-C", tree, *name, *words], check=True, capture_output=True)

    git("init", "-q")
    for turn in (1, 2, 3):
        git("commit", "-q", "--allow-empty", "-m", "one more")
        assert ran(tree) == ran(tree, str(turn))


def test_without_history_it_is_the_turn_of_the_day(tree: Path) -> None:
    executable(tree / "programs/date", f"echo {86400 * 20003 + 7}")
    assert ran(tree) == ran(tree, "20003") == ["forky", "netfilter"]


def test_what_fails_fails(tree: Path) -> None:
    assert check_turn(tree, "842", status=1).returncode != 0


def test_who_is_not_root_is_told_that_nothing_was_run(tree: Path) -> None:
    run = check_turn(tree, "842", user=1000)
    assert run.returncode == 0
    assert run.stdout == "check-turn: skipped: other suites are made as root\n"


def test_who_may_not_mount_is_told_that_nothing_was_run(tree: Path) -> None:
    run = check_turn(tree, "842", unshared=1)
    assert run.returncode == 0
    assert run.stdout == "check-turn: skipped: other suites are made where root may mount\n"


# --- tests/vm/parts.py ------------------------------------------------------------

NAMES = [
    *(f"a.py::many[{index}]" for index in range(7)),
    "a.py::one",
    "b.py::two[x]",
    "b.py::two[y]",
]


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[str], str], set[str]]:
    monkeypatch.syspath_prepend(TOP / "tests/vm")
    found: Callable[[list[str], str], set[str]] = importlib.import_module("parts").chosen
    return found


def test_each_test_has_some_of_its_parameters(chosen: Callable[[list[str], str], set[str]]) -> None:
    for turn in range(900, 906):
        part = chosen(NAMES, f"{turn}/3")
        assert {name.partition("[")[0] for name in part} == {"a.py::many", "a.py::one", "b.py::two"}
        assert len(part) == len([name for name in part if "many" in name]) + 2
        assert len(part) in (4, 5)


def test_each_parameter_has_its_turn(chosen: Callable[[list[str], str], set[str]]) -> None:
    times = Counter(name for turn in range(900, 903) for name in chosen(NAMES, f"{turn}/3"))
    assert set(times) == set(NAMES)
    assert all(times[name] == 1 for name in NAMES[:7])
    assert chosen(NAMES, "900/1") == set(NAMES)


@pytest.mark.parametrize("part", ["3", "1/0", "-1/3", "a/3", "1/3/5", ""])
def test_what_is_no_part(chosen: Callable[[list[str], str], set[str]], part: str) -> None:
    with pytest.raises(ValueError, match="is no part, such as 2/3"):
        chosen(NAMES, part)
