# SPDX-License-Identifier: GPL-2.0-only
"""What README.md tells people to type is run by a check, which readme.toml names."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from steps import from_tree, steps

TOP = Path(__file__).parents[2]
README = (TOP / "README.md").read_text()
TABLE = tomllib.loads((Path(__file__).parent / "readme.toml").read_text())
#: Steps that a test cannot do.
BY_HAND = 2


def block_lines(text: str) -> Iterator[str]:
    """Lines of indented blocks, which begin after an empty line, and of fences but ```text."""
    fence, inside, before = None, False, ""
    for line in text.splitlines():
        inside = line.startswith("    ") and (inside or not before.strip())
        if mark := re.match(r"\s*```(\w*)", line):
            fence = mark[1] if fence is None else None
        elif inside if fence is None else fence != "text":
            yield line
        before = line


def commands(text: str) -> set[str]:
    """The commands in a text's blocks: continued lines are one, without comments."""
    return typed("\n".join(block_lines(text)))


def typed(block: str) -> set[str]:
    whole = re.sub(r"\\\n", " ", block).splitlines()
    return {" ".join(re.sub(r"(^|\s)#.*", "", line).split()) for line in whole} - {""}


def is_run(file: str, target: str) -> bool:
    """Is the file, or a folder that it is in, named where the target is made?"""
    path = Path(file)
    rule = re.search(rf"^{target}:.*\n((?:\t.*\n)*)", (TOP / "Makefile").read_text(), re.M)
    words = rule[1].replace("@", " ").split() if rule else []
    if {"-C", str(path.parent)} <= set(words):
        return path.name in (TOP / path.parent / "Makefile").read_text()
    return file in words or any(str(folder) in words for folder in path.parents)


def run_there(text: str) -> set[str] | None:
    """The commands that are README.md's own text; None: it is another spelling."""
    if step := re.fullmatch(r"readme\[(\d)\](?:\[(\d)\])?", text):
        blocks = steps()[int(step[1])]
        return typed("".join(blocks if step[2] is None else [blocks[int(step[2])]]))
    return typed("".join(from_tree())) if text == "readme_tree" else None


def has(content: str, line: str) -> bool:
    """Does a file run a command, as it is or in words?"""
    program, _, rest = line.partition(" ")
    words = re.findall(r"(?<![\w.-])(?:--)?[a-z]+(?![\w.])", rest)
    return line in content or (
        program == "tools/tcon-lab" and all(f'"{word}"' in content for word in words)
    )


def faults_of(check: dict[str, Any]) -> Iterator[str]:
    file, target = check["file"], check.get("target")
    if not (TOP / file).is_file():
        yield f"{file}: there is no such file"
        return
    if target and not is_run(file, target):
        yield f"`make {target}` does not run {file}"
    content, text = (TOP / file).read_text(), check.get("text")
    if text and text not in content:
        yield f"{file} has no `{text}`"
    there = run_there(text) if text else {line for line in check["commands"] if has(content, line)}
    for line in check["commands"]:
        if there is not None and line not in there:
            yield f"{file} does not run `{line}`"


def faults(readme: str, table: dict[str, Any]) -> list[str]:
    """A sentence for each command that no check runs, and for what the table has in vain."""
    shown, said = commands(readme), []
    listed = {line for check in (*table["check"], *table["hand"]) for line in check["commands"]}
    said += [
        f"README.md tells people to type `{line}`, and no check runs that: let one run it, and"
        " name it in tests/lab/readme.toml"
        for line in sorted(shown - listed)
    ]
    said += [
        f"tests/lab/readme.toml has `{line}`, and README.md has not: take it away"
        for line in sorted(listed - shown)
    ]
    for check in table["check"]:
        said += [f"tests/lab/readme.toml: {fault}" for fault in faults_of(check)]
    return said


def test_each_command_is_run_by_a_check() -> None:
    assert faults(README, TABLE) == []


def test_few_commands_are_left_to_people() -> None:
    by_hand = [line for entry in TABLE["hand"] for line in entry["commands"]]
    assert len(by_hand) == BY_HAND
    assert all(entry["reason"] for entry in TABLE["hand"])


def test_blocks_are_told_from_paragraphs() -> None:
    text = """
1. A step:

       make one  \\
           two         # why
       # nothing
       make three

       make four

   - Text that
     goes on
        with more.

```text
said by a program
```
```sh
make five
```
"""
    assert commands(text) == {"make one two", "make three", "make four", "make five"}


ONE = "\n    make clean\n"


def table(**check: Any) -> dict[str, Any]:
    return {"check": [{"file": "Makefile", "text": "rm", "commands": ["make clean"]} | check],
            "hand": []}  # fmt: skip


@pytest.mark.parametrize(
    ("readme", "entries", "fault"),
    [
        (ONE + "    make dust\n", table(),
         "README.md tells people to type `make dust`, and no check runs that: let one run it, and"
         " name it in tests/lab/readme.toml"),
        ("", table(),
         "tests/lab/readme.toml has `make clean`, and README.md has not: take it away"),
        (ONE, table(file="tests/nothing"),
         "tests/lab/readme.toml: tests/nothing: there is no such file"),
        (ONE, table(target="nothing"),
         "tests/lab/readme.toml: `make nothing` does not run Makefile"),
        (ONE, table(target="check-vm", file="tests/vm/rig.py", text="import"),
         "tests/lab/readme.toml: `make check-vm` does not run tests/vm/rig.py"),
        (ONE, table(target="check-lab", file="tests/deb/test_host.py", text="import"),
         "tests/lab/readme.toml: `make check-lab` does not run tests/deb/test_host.py"),
        (ONE, table(text="no such"), "tests/lab/readme.toml: Makefile has no `no such`"),
        (ONE, table(text=None), "tests/lab/readme.toml: Makefile does not run `make clean`"),
        ("\n    tools/tcon-lab exec [--fast]\n",
         table(file="tests/lab/test_own_experiments.py", text=None,
               commands=["tools/tcon-lab exec [--fast]"]),
         "tests/lab/readme.toml: tests/lab/test_own_experiments.py does not run"
         " `tools/tcon-lab exec [--fast]`"),
        (ONE, table(file="tests/deb/test_host.py", text="readme[2]"),
         "tests/lab/readme.toml: tests/deb/test_host.py does not run `make clean`"),
        (ONE, table(file="tests/deb/test_host.py", text="readme_tree"),
         "tests/lab/readme.toml: tests/deb/test_host.py does not run `make clean`"),
    ],
)  # fmt: skip
def test_a_fault_is_a_sentence(readme: str, entries: dict[str, Any], fault: str) -> None:
    assert faults(readme, entries) == [fault]


def test_what_is_run_is_no_fault() -> None:
    assert faults(ONE, table()) == []
