# SPDX-License-Identifier: GPL-2.0-only
"""tests/check-layers finds what it is for."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

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
    call = "u64 tcon_breach(void)\n{\n\treturn tcon_copy_flow_max();\n}\n"
    line = _append(tree / "datapath/sender/ranges.c", call) + 2
    assert _said(tree)[-1] == (
        f"check-layers: datapath/sender/ranges.c:{line}: tcon_copy_flow_max() is of "
        "datapath/act/copy, which datapath/sender/ranges may not use"
    )


def test_a_function_that_is_handed_on_counts_as_called(tree: Path) -> None:
    _append(tree / "datapath/state/net.c", "void *tcon_breach = &tcon_copy_flow_max;\n")
    breach = "tcon_copy_flow_max() is of datapath/act/copy, which datapath/state/net may not use"
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
    text = '/* tcon_hold_admit() */\nstatic const char *const s = "tcon_hold_admit(";\n'
    _append(tree / "datapath/sender/prr.c", text)
    assert _said(tree) == []
