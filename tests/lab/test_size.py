# SPDX-License-Identifier: GPL-2.0-only
"""No function and no file of the datapath is too much for one reading."""

from pathlib import Path

import lizard

DATAPATH = Path(__file__).parents[2] / "datapath"
LINES_MAX, FUNCTION_LINES_MAX, PATHS_MAX = 700, 50, 15  # paths: McCabe's cyclomatic complexity


def test_no_file_is_long() -> None:
    lines = {file: file.read_text().count("\n") for file in DATAPATH.rglob("*.[ch]")}
    assert len(lines) > 100
    assert not {file.name: n for file, n in lines.items() if n > LINES_MAX}


def test_no_function_is_long_or_complex() -> None:
    functions = [
        function
        for file in DATAPATH.rglob("*.c")
        for function in lizard.analyze_file(str(file)).function_list
    ]
    assert len(functions) > 900
    assert not [
        f"{function.name} of {Path(function.filename).name}: {function.length} lines,"
        f" {function.cyclomatic_complexity} paths"
        for function in functions
        if function.length > FUNCTION_LINES_MAX or function.cyclomatic_complexity > PATHS_MAX
    ]
