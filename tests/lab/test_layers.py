# SPDX-License-Identifier: GPL-2.0-only
"""tests/check-layers finds what it is for; the lab's packages keep their order."""

from __future__ import annotations

import ast
import shutil
import subprocess
from pathlib import Path

import pytest
from tcon_lab.machine import root

TOP = Path(__file__).parents[2]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The project's C, to be broken."""
    for folder in ("datapath", "algorithms", "userspace"):
        shutil.copytree(TOP / folder, tmp_path / folder)
    (tmp_path / "tests").mkdir()
    shutil.copy(TOP / "tests/layers.toml", tmp_path / "tests")
    return tmp_path


def _said(tree: Path) -> list[str]:
    command = [TOP / "tests/check-layers", tree]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (run.returncode == 0) == (run.stderr == "")
    return run.stderr.splitlines()


def _append(file: Path, text: str) -> int:
    """Add to a file; the number of the line that was added first."""
    before = file.read_text()
    file.write_text(before + text)
    return before.count("\n") + 1


def test_the_tree_keeps_its_layers(tree: Path) -> None:
    assert _said(tree) == []


def test_a_call_upwards_is_named(tree: Path) -> None:
    call = "u64 tcon_breach(void)\n{\n\treturn tcon_absorb_adopted();\n}\n"
    line = _append(tree / "datapath/sender/ranges.c", call) + 2
    assert _said(tree)[-1] == (
        f"check-layers: datapath/sender/ranges.c:{line}: tcon_absorb_adopted() is of "
        "datapath/act/absorb, which datapath/sender/ranges may not use"
    )


def test_a_function_that_is_handed_on_counts_as_called(tree: Path) -> None:
    _append(tree / "datapath/state/net.c", "void *tcon_breach = &tcon_absorb_adopted;\n")
    breach = "tcon_absorb_adopted() is of datapath/act/absorb, which datapath/state/net may not use"
    assert any(breach in text for text in _said(tree))


def test_an_include_upwards_is_named(tree: Path) -> None:
    line = _append(tree / "datapath/wire/packet.h", '#include "state/flow.h"\n')
    said = [text for text in _said(tree) if f"datapath/wire/packet.h:{line}: state/flow.h" in text]
    assert any("which datapath/wire/packet may not use" in text for text in said)


def test_a_cc_sees_the_interface_only(tree: Path) -> None:
    _append(tree / "algorithms/reno.c", '#include "sender/track.h"\n')
    assert _said(tree) == []  # there is no such file for it
    (tree / "algorithms/peek.h").write_text('#include "../datapath/sender/track.h"\n')
    assert any("datapath/sender/track, which algorithms/peek" in text for text in _said(tree))


def test_a_circle_on_one_floor_is_named(tree: Path) -> None:
    call = "u32 tcon_breach(void)\n{\n\treturn tcon_acked_sample_bps(NULL);\n}\n"
    _append(tree / "datapath/sender/loss.c", call)
    (said,) = [text for text in _said(tree) if "a circle of 2: " in text]
    assert "tcon_acked_sample_bps()" in said
    assert "datapath/sender/loss.c" in said
    assert "datapath/sender/acked" in said


def test_comments_and_strings_are_no_calls(tree: Path) -> None:
    text = '/* tcon_hold_judge() */\nstatic const char *const s = "tcon_hold_judge(";\n'
    _append(tree / "datapath/sender/prr.c", text)
    assert _said(tree) == []


# --- the lab's wings ------------------------------------------------------------

LAB = TOP / "tools/tcon_lab"
#: A wing may use the ones before it, and the modules in the machine, too (root.GUEST_CODE).
WINGS = ("experiment", "machine", "numbers", "pages")


def _imported(file: Path) -> set[str]:
    """The lab's modules that a file imports, as "wing.module" or "module"."""
    here = file.relative_to(LAB).parent.parts
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = [*here[: len(here) - node.level + 1], *(node.module or "").split(".")]
            name = ".".join(filter(None, base))
            names = [f"{name}.{item.name}".lstrip(".") for item in node.names]
            found |= {n for n in [name, *names] if (LAB / f"{n.replace('.', '/')}.py").exists()}
    return found


@pytest.mark.parametrize("wing", WINGS)
def test_a_wing_uses_those_before_it(wing: str) -> None:
    shared = {name.removesuffix(".py") for name in root.GUEST_CODE}
    below = WINGS[: WINGS.index(wing) + 1]
    for file in (LAB / wing).glob("*.py"):
        used = _imported(file)
        assert {n for n in used if n.split(".")[0] not in below and n not in shared} == set(), file


def test_what_is_in_the_machine_uses_nothing_else() -> None:
    shared = {name.removesuffix(".py") for name in root.GUEST_CODE}
    files = [file for file in root.guest_code() if file.suffix == ".py"]
    assert len(files) > 10
    for file in files:
        assert {n for n in _imported(file) if n.split(".")[0] not in shared} == set(), file
