# SPDX-License-Identifier: GPL-2.0-only
"""Failures of unit tests and fuzzers are shown by the same rules as all others."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]

UNIT = """\
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <linux/kernel.h>

static void good(void **unused)
{
	assert_int_equal(strlen("abc"), 3);
}

static void bad(void **unused)
{
	char *lost = test_malloc(5), *more = strdup("lost");

	lost[0] = more[0];
	%s
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(good), cmocka_unit_test(bad) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
"""
FREE = "test_free(lost);"
REPEAT = "test_it: to repeat it: make -C tests/unit run TESTS=test_it"

FUZZER = """\
#include <linux/kernel.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	WARN_ON(size > 2 && data[0] == 'x');
	return 0;
}
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """This one's rules without its sources, whose archive is then soon made."""
    for folder in ("unit", "fuzz"):
        copy = tmp_path / "tests" / folder
        copy.mkdir(parents=True)
        for file in (TOP / "tests" / folder).iterdir():
            if file.is_file() and (file.suffix in ("", ".mk", ".h") or file.name == "outcome.c"):
                shutil.copy(file, copy)
    shutil.copytree(TOP / "tests/unit/shim", tmp_path / "tests/unit/shim")
    (tmp_path / "tests/unit/base").mkdir()
    return tmp_path


#: A make that is no part of the one that runs this test, and of its jobs.
OWN_MAKE = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}


def run(tree: Path, what: str, *words: str, target: str = "run") -> tuple[int, str]:
    done = subprocess.run(
        ["make", "-s", "-C", tree / "tests" / what, target, *words], env=OWN_MAKE,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout


def run_unit(tree: Path, line: str, *words: str) -> tuple[int, str]:
    (tree / "tests/unit/base/test_it.c").write_text(UNIT % line)
    return run(tree, "unit", *words)


def test_one_that_passes_is_a_line(tree: Path) -> None:
    assert run_unit(tree, FREE + " free(more);") == (0, "test_it: 2 passed\n")


def test_an_assertion_says_what_was_wanted_and_what_came(tree: Path) -> None:
    status, shown = run_unit(tree, 'assert_int_equal(strlen("ab"), 1 + 2);')
    assert status != 0
    assert 'strlen("ab"): wanted 1 + 2 = 3, came 2\n' in shown
    line = UNIT[: UNIT.index("%s")].count("\n") + 1
    assert f"\ntests/unit/base/test_it.c:{line}: " in shown
    assert f"{REPEAT} CMOCKA_TEST_FILTER=bad\n" in shown
    assert "good" not in shown
    assert "LeakSanitizer" not in shown
    assert shown.count("\n") < 10


def test_what_is_to_be_typed_repeats_it_and_no_other(tree: Path) -> None:
    broken = 'assert_string_equal("came", "wanted");'
    status, shown = run_unit(tree, broken, "CMOCKA_TEST_FILTER=bad", "CFLAGS=-O0 -g")
    assert status != 0
    assert '"came" != "wanted"' in shown
    assert "make -C tests/unit run CFLAGS='-O0 -g' TESTS=test_it CMOCKA_TEST_FILTER=bad\n" in shown
    assert run_unit(tree, broken, "CMOCKA_TEST_FILTER=good") == (0, "test_it: 1 passed\n")


def test_a_name_that_no_test_has_fails(tree: Path) -> None:
    status, shown = run_unit(tree, FREE + " free(more);", "CMOCKA_TEST_FILTER=goood")
    assert status != 0
    assert "no test has such a name\n" in shown


def test_a_warning_of_the_datapath_says_which_test_met_it(tree: Path) -> None:
    status, shown = run_unit(tree, "BUG_ON(lost[0] == 'l');")
    assert status != 0
    assert "BUG: lost[0] == 'l'\n" in shown
    assert f"{REPEAT} CMOCKA_TEST_FILTER=bad\n" in shown
    assert "good" not in shown


def test_an_overrun_says_which_test_met_it(tree: Path) -> None:
    status, shown = run_unit(tree, f"((volatile char *)more)[5] = 'x'; {FREE}")
    assert status != 0
    assert "heap-buffer-overflow" in shown
    assert f"{REPEAT} CMOCKA_TEST_FILTER=bad\n" in shown


def test_a_leak_of_tests_that_pass_fails(tree: Path) -> None:
    status, shown = run_unit(tree, FREE + " more = NULL;")
    assert status != 0
    assert "LeakSanitizer: detected memory leaks" in shown
    assert "in bad " in shown
    assert f"{REPEAT}\n" in shown


def test_a_fuzzer_shows_the_command_of_the_input(tree: Path) -> None:
    (tree / "tests/fuzz/fuzz_it.c").write_text(FUZZER)
    status, shown = run(tree, "fuzz")
    assert status != 0
    assert "BUG: size > 2 && data[0] == 'x'\n" in shown
    words = shown.split("fuzz_it: to repeat it: ")[1].splitlines()[0].split()
    assert words[0] == "build/fuzz/fuzz_it"
    assert words[1].startswith("build/fuzz/fuzz_it-crash-")
    again = subprocess.run(words, cwd=tree, capture_output=True, text=True, check=False)
    assert again.returncode != 0
    assert "BUG: size > 2 && data[0] == 'x'\n" in again.stderr


def test_a_fuzzer_shows_what_it_has_found_before(tree: Path) -> None:
    (tree / "tests/fuzz/fuzz_it.c").write_text(FUZZER)
    found = tree / "tests/fuzz/found/fuzz_it"
    found.mkdir(parents=True)
    (found / "three").write_text("xyz")
    status, shown = run(tree, "fuzz")
    assert status != 0
    assert "to repeat it: build/fuzz/fuzz_it tests/fuzz/found/fuzz_it/three\n" in shown


def test_what_a_fuzzer_finds_today_is_kept_and_then_tried_first(tree: Path) -> None:
    (tree / "tests/fuzz/fuzz_it.c").write_text(FUZZER)
    day = ("SEED=20260704", "FUZZ_SECONDS=20")
    status, shown = run(tree, "fuzz", *day, target="today")
    assert status != 0
    assert "fuzz_it: seed 20260704, 20 s\n" in shown
    command = shown.split("fuzz_it: to keep it, with what mends it: ")[1].splitlines()[0].split()
    (found,) = (tree / "build/fuzz/today").iterdir()
    assert command[-2] == f"build/fuzz/today/{found.name}"
    found.unlink()
    assert run(tree, "fuzz", *day, target="today")[0] != 0
    assert list((tree / "build/fuzz/today").iterdir()) == [found]  # by the seed alone

    command[-1] = command[-1].replace("WHAT-WAS-WRONG", "begins-with-x")
    subprocess.run(command, cwd=tree, check=True)
    status, shown = run(tree, "fuzz")
    assert status != 0
    assert "to repeat it: build/fuzz/fuzz_it tests/fuzz/found/fuzz_it/begins-with-x\n" in shown
    assert "to keep it" not in shown


def test_a_day_on_which_nothing_is_found_has_a_seed_of_its_own(tree: Path) -> None:
    (tree / "tests/fuzz/fuzz_it.c").write_text(FUZZER.replace("data[0]", "size == 1 && data[0]"))
    status, shown = run(tree, "fuzz", "FUZZ_SECONDS=1", target="today")
    assert status == 0
    assert re.fullmatch(
        r"fuzz_it: seed 20\d{6}, 1 s\nfuzz_it: nothing found by \d{3,} inputs\n", shown
    )
    assert not list((tree / "build/fuzz/today").iterdir())
