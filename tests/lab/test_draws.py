# SPDX-License-Identifier: GPL-2.0-only
"""tests/draws chooses the target that runs a test, and reads what pytest says of it."""

from __future__ import annotations

import dataclasses
import importlib.machinery
import importlib.util
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOP = Path(__file__).parents[2]
LISTED = [
    "virtual test_system.py test_ecn_system.py",
    "flows test_native.py",
    'netfilter -k "attach or vlan" test_attach.py test_system.py',
    "debug test_system.py test_repair.py test_ecn_system.py::test_accurate_guest "
    "--deselect test_system.py::test_transfer[ --deselect test_repair.py::test_slow",
]
FAILED = """\
.F.E                                                                     [100%]
=================================== ERRORS ====================================
__________________ ERROR at teardown of test_other[a b] ___________________
conftest.py:72: in clean
    assert not faults
E   AssertionError: the kernel complains: ['x']
=================================== FAILURES ===================================
______________________________ TestOf.test_rate _______________________________
test_x.py:7: in test_rate
    assert a > b
E   assert 81.5 > (0.9 * 100.0)
E    +  where 81.5 = int()
=========================== short test summary info ============================
PASSED test_x.py::test_fine
PASSED test_x.py::test_other[a b]
FAILED test_x.py::TestOf::test_rate - assert 81.5 > (0.9 * 100.0)
ERROR test_x.py::test_other[a b] - AssertionError: the kernel complains: ['x']
1 failed, 2 passed, 1 error in 3.21s
"""


@pytest.fixture(scope="module")
def draws() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("draws", str(TOP / "tests/draws"))
    spec = importlib.util.spec_from_loader("draws", loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    sys.modules["draws"] = module
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("test", "target"),
    [
        ("test_native.py", "flows"),
        ("test_native.py::test_reno", "flows"),
        ("test_system.py::test_transfer[4-gso]", "virtual"),
        ("test_ecn_system.py::test_two_tcons[gso-4]", "virtual"),
        ("test_ecn_system.py::test_accurate_guest[bbr]", "debug"),
        ("test_repair.py::test_quick", "debug"),
    ],
)
def test_the_target_that_names_a_test_most_closely(
    draws: ModuleType, test: str, target: str
) -> None:
    assert draws.target_of(LISTED, test) == target


@pytest.mark.parametrize(
    "test", ["test_attach.py::test_way", "test_smp.py", "test_repair.py::test_slow[4]"]
)
def test_tests_of_no_target_are_refused(draws: ModuleType, test: str) -> None:
    """Named by an expression, in real time, or deselected."""
    with pytest.raises(draws.DrawsError, match="is of no target in virtual time"):
        draws.target_of(LISTED, test)


def test_each_test_of_make_check_has_a_target(draws: ModuleType) -> None:
    """As the Makefile lists them."""
    lines = subprocess.check_output(["make", "-s", "-C", TOP / "tests/vm", "targets"], text=True)
    listed = lines.splitlines()
    assert [line.split()[0] for line in listed] == [
        "virtual", "flows", "switchd", "netfilter", "debug",
    ]  # fmt: skip
    names = {word.partition("::")[0] for line in listed for word in draws.words_of(line)[1].tests}
    files = {file.name for file in (TOP / "tests/vm").glob("test_*.py")}
    assert names <= files
    for name in names:
        assert draws.target_of(listed, name) in ("virtual", "flows", "switchd", "debug")
    # These are in real time, of campaigns, or in user space only.
    assert files - names == {
        "test_smp.py", "test_races.py", "test_shares.py", "test_alpha.py", "test_identity.py",
    }  # fmt: skip


def test_what_pytest_says_is_read(draws: ModuleType) -> None:
    assert draws.outcomes(FAILED) == {
        "test_x.py::test_fine": "",
        "test_x.py::test_other[a b]": "AssertionError: the kernel complains: ['x']",
        "test_x.py::TestOf::test_rate": "assert 81.5 > (0.9 * 100.0)",
    }


def test_a_failure_without_a_reason_is_one(draws: ModuleType) -> None:
    assert draws.outcomes("ERROR test_x.py::test_y - gone\n") == {"test_x.py::test_y": "error"}


def test_a_draw_can_be_run_by_hand(draws: ModuleType) -> None:
    asked = draws.Asked("flows", "test_x.py::test_y[not base64]")
    command = draws.command_of(asked, 7)
    assert command[3:5] == ["flows", "SEED=7"]
    words = shlex.split(command[5].partition("=")[2])
    assert words == ["-rpfE", "test_x.py::test_y[not base64]"]
    command = draws.command_of(dataclasses.replace(asked, each=2), 7)
    assert command[3:6] == ["flows", "SEED=7", "EACH=2"]
    assert shlex.split(command[6])[1:] == [
        "test_x.py::test_y[draw0-not base64]", "test_x.py::test_y[draw1-not base64]",
    ]  # fmt: skip
    assert draws.quoted("test_x.py::test_y[4-bbr]") == "test_x.py::test_y[4-bbr]"
    with pytest.raises(draws.DrawsError, match="has a quote or a dollar"):
        draws.quoted("test_x.py::test_y['a']")


def run_made(
    draws: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str
) -> None:
    """Draws are runs of this script, which knows the seed."""
    monkeypatch.setattr(draws, "LOGS", tmp_path / "logs")
    monkeypatch.setattr(
        draws, "command_of", lambda asked, seed: ["sh", "-c", f"SEED={seed}; {script}"]
    )


def test_failures_are_counted(
    draws: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Also where the machine dies after a test."""
    run_made(draws, monkeypatch, tmp_path, """
        [ $SEED = 8 ] && { printf 'FAILED test_x.py::test_y - a\\n'; exit 1; }
        echo 'PASSED test_x.py::test_y'
        [ $SEED != 9 ] || { printf 'lab: a fault\\nmake: *** [1]\\n'; exit 1; }""")  # fmt: skip
    counts = draws.run_all(draws.Asked("flows", "test_x.py"), range(7, 10))
    assert list(draws.table(counts)) == [
        "test              draws failures",
        "test_x.py::test_y     3        1 (8)",
        "(the machine)         1        1 (9)",
    ]
    told = capsys.readouterr().out
    assert "draw 8: test_x.py::test_y\n    failed\n" in told
    assert "draw 9: (the machine)\n    lab: a fault\n" in told
    assert (tmp_path / "logs/test_x.py-8.log").read_text() == "FAILED test_x.py::test_y - a\n"


def test_draws_of_one_machine_are_of_one_test(
    draws: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run_made(draws, monkeypatch, tmp_path, """
        echo 'PASSED test_x.py::test_y[draw0]'; echo 'FAILED test_x.py::test_y[draw1] - a'
        echo 'PASSED test_x.py::test_z[draw0-a-4]'; echo 'PASSED test_x.py::test_z[draw1-a-4]'
        exit 1""")  # fmt: skip
    counts = draws.run_all(draws.Asked("flows", "test_x.py", 2), range(5, 7))
    assert {name: (count.draws, count.failures) for name, count in counts.items()} == {
        "test_x.py::test_y": (4, [5, 6]),
        "test_x.py::test_z[a-4]": (4, []),
    }


def test_a_test_that_is_skipped_is_no_draw(
    draws: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run_made(draws, monkeypatch, tmp_path, "echo '1 skipped in 2 s'")
    with pytest.raises(draws.DrawsError, match="flows skips it, or has no such test"):
        draws.run_all(draws.Asked("flows", "test_x.py"), range(1, 3))


def test_a_file_that_is_not_there() -> None:
    run = subprocess.run(
        [TOP / "tests/draws", "test_none.py::test_x"], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == "draws: there is no test_none.py in tests/vm\n"
