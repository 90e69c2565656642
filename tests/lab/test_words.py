# SPDX-License-Identifier: GPL-2.0-only
"""tests/check-words sees turns of phrase across lines, and leaves alone what is quoted."""

import subprocess
from pathlib import Path

TOP = Path(__file__).parents[2]
TABLE = """turns = ['\\banew\\b', '(?:^|[.(] +)What [a-z]']

[[folder]]
paths = ["folder"]
most = 3
"""


def check(tmp_path: Path, name: str, text: str) -> tuple[int, str]:
    """The exit status and output of check-words on a folder with this file only."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/words.toml").write_text(TABLE)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / name).write_text(text)
    command = [TOP / "tests/check-words", tmp_path]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return run.returncode, run.stdout


def test_c_comment_across_lines(tmp_path: Path) -> None:
    status, said = check(tmp_path, "a.c", "int a;\n/*\n * One.\n * What\n * waits.\n */\n")
    assert status == 1
    assert said.startswith("folder/a.c:2: ")


def test_c_code_is_not_read(tmp_path: Path) -> None:
    assert check(tmp_path, "a.h", 'char *anew = "anew"; /* again */\n') == (0, "")


def test_python_docstring_and_comment(tmp_path: Path) -> None:
    text = 'anew = 1\n\n\ndef f() -> None:\n    """Begin anew."""\n    # anew\n'
    status, said = check(tmp_path, "a.py", text)
    assert status == 1
    assert [line.split(": ")[0] for line in said.splitlines()[:2]] == [
        "folder/a.py:5",
        "folder/a.py:6",
    ]


def test_page_with_commands(tmp_path: Path) -> None:
    text = "Again.\n\n    echo anew\n\n`anew` is a word.\n"
    assert check(tmp_path, "a.md", text) == (0, "")


def test_few_among_many_words(tmp_path: Path) -> None:
    assert check(tmp_path, "a.md", "word " * 5000 + "anew\n") == (0, "")
