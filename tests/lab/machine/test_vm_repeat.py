# SPDX-License-Identifier: GPL-2.0-only
"""A failure in the virtual machine ends with the command that repeats it (tests/vm/repeat.py)."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[3]
TESTS = """\
import pytest

@pytest.mark.parametrize("what", ["plain-1", "it's $HOME"])
def test_some(what):
    assert what == "wanted"

def test_good():
    pass

@pytest.fixture
def broken():
    raise OSError

def test_without_its_fixture(broken):
    pass
"""
FAILED = (
    "test_it.py::test_some[plain-1]",
    "test_it.py::test_some[it's $HOME]",
    "test_it.py::test_without_its_fixture",
)


def run(folder: Path, *words: str, repeat: str | None) -> list[str]:
    (folder / "test_it.py").write_text(TESTS)
    env = {name: value for name, value in os.environ.items() if name != "TCON_REPEAT"}
    env |= {"PYTHONPATH": str(TOP / "tests/vm")} | ({"TCON_REPEAT": repeat} if repeat else {})
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "repeat", "-p", "no:cacheprovider", *words],
        cwd=folder, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout.splitlines()


def in_the_machine(*words: str) -> list[str]:
    """The bash line that make runs there: its exports, and the words that are executed."""
    make = ["make", "-s", "-C", TOP / "tests/vm", *words, "LAB=printf %s\\\\n"]
    done = subprocess.run(make, capture_output=True, text=True, check=True)
    exported, _, program = done.stdout.splitlines()[-1].partition("exec ")
    show = ["bash", "-c", f"printf '%s\\n' {program}"]
    shown = subprocess.run(show, capture_output=True, text=True, check=True)
    return [exported, *shown.stdout.splitlines()]


def test_each_failure_has_its_command(tmp_path: Path) -> None:
    start = "make -C tests/vm flows"
    lines = run(tmp_path, repeat=start)
    at = lines.index("to repeat:")
    assert [shlex.split(line)[:4] for line in lines[at + 1 : -1]] == [start.split()] * 3
    assert "2 failed, 1 passed, 1 error" in lines[-1]
    for line, test in zip(lines[at + 1 : -1], FAILED, strict=True):
        ran = in_the_machine(*shlex.split(line)[3:])
        assert [word for word in ran if ".py" in word] == [test]


def test_what_passes_needs_none(tmp_path: Path) -> None:
    assert "to repeat:" not in run(tmp_path, "test_it.py::test_good", repeat="make x")
    assert "to repeat:" not in run(tmp_path, repeat=None)


@pytest.mark.parametrize("target", ["flows", "fleet"])
def test_the_machine_is_told_its_target(target: str) -> None:
    assert f'export TCON_REPEAT="make -C tests/vm {target}";' in in_the_machine(target)[0]
