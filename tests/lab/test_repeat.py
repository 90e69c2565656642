# SPDX-License-Identifier: GPL-2.0-only
"""The digest of repeat.toml: when it is the same, when it need not be, when it must."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tcon_lab import lab, repeat
from tcon_lab.errors import LabError
from tcon_lab.numbers import results

KEPT = repeat.Digest("aa11", {"tcon.ko": "1", "lab": "2"}, {"python3": "3.11.2", "gcc-12": "12.2"})


def test_versions_are_no_numbers():
    made: dict[str, Any] = {"runs": [{"goodput_bps": 5}], "versions": {"kernel": "6.1"}}
    digest = repeat.numbers(made)
    assert repeat.numbers(made | {"versions": {"kernel": "6.2"}}) == digest
    assert repeat.numbers(made | {"runs": [{"goodput_bps": 6}]}) != digest


def test_equal_numbers_are_as_kept_whatever_they_are_made_from():
    assert repeat.compared("uml", KEPT, KEPT) == "uml: aa11, as kept"
    other = replace(KEPT, parts={}, packages={})
    assert repeat.compared("uml", other, KEPT) == "uml: aa11, as kept"


def test_other_packages_are_named_and_no_failure():
    here = replace(KEPT, numbers="bb", packages={"python3": "3.11.9", "zlib": "1"})
    said = repeat.compared("qemu", here, KEPT)
    assert said == (
        "qemu: bb, not compared: other packages than were kept: gcc-12 missing, "
        "python3 3.11.9, zlib 1"
    )
    many = replace(KEPT, numbers="bb", packages={f"p{n}": "1" for n in range(9)})
    assert repeat.compared("qemu", many, KEPT).endswith(
        "gcc-12 missing, p0 1, p1 1, p2 1, p3 1 and 6 more"
    )


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        (KEPT.parts | {"tcon.ko": "9"}, "what differs is tcon.ko; if that is meant, "),
        (KEPT.parts, "it is made from the same: the machine shows through"),
    ],
)
def test_other_numbers_from_the_same_packages_are_a_failure(parts, reason):
    with pytest.raises(LabError, match=reason) as refused:
        repeat.compared("uml", replace(KEPT, numbers="bb", parts=parts), KEPT)
    assert "repeat.toml on uml gives other numbers" in str(refused.value)


@pytest.fixture
def rounds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Results of the rounds to come; each run takes one."""
    to_come: list[int] = []
    monkeypatch.setattr(lab, "run_all", lambda *words: [to_come.pop(0)])
    monkeypatch.setattr(results, "all_results", lambda raw: [{"runs": raw, "versions": {}}])
    monkeypatch.setattr(lab, "Host", lambda options, say: None)
    monkeypatch.setattr(
        repeat, "digest", lambda host, made: replace(KEPT, numbers=repeat.numbers(made))
    )
    return to_come


def _silent(label: str, line: str) -> None:
    """Progress that nobody looks at."""


def _numbers(value: int) -> str:
    return repeat.numbers({"runs": [value]})


def test_two_equal_rounds_are_enough_and_needed(rounds, tmp_path):
    rounds[:] = [7, 7, 8]
    assert repeat.repeated("uml", tmp_path, _silent).numbers == _numbers(7)
    assert rounds == [8]
    rounds[:] = [7, 8, 7]  # a disturbed clock
    assert repeat.repeated("qemu", tmp_path, _silent).numbers == _numbers(7)
    assert json.loads((tmp_path / "qemu-2/results.json").read_text())["runs"] == [8]
    rounds[:] = [7, 8]
    with pytest.raises(LabError, match="no two of 2 rounds on uml gave the same numbers"):
        repeat.repeated("uml", tmp_path, _silent)


def test_one_round_that_is_as_kept_is_a_repetition(rounds, tmp_path):
    rounds[:] = [7, 8]
    assert repeat.repeated("uml", tmp_path, _silent, _numbers(7)).numbers == _numbers(7)
    assert rounds == [8]
    rounds[:] = [8, 7]  # a disturbed clock
    assert repeat.repeated("qemu", tmp_path, _silent, _numbers(7)).numbers == _numbers(7)
    rounds[:] = [8, 8]
    assert repeat.repeated("uml", tmp_path, _silent, _numbers(7)).numbers == _numbers(8)


def test_what_is_kept_is_what_the_next_one_is_compared_with(rounds, tmp_path, monkeypatch):
    kept = tmp_path / "kept.json"
    monkeypatch.setattr(repeat, "KEPT", kept)
    monkeypatch.setattr(repeat.kept, "__defaults__", (kept,))
    said: list[str] = []
    rounds[:] = [1, 1, 2, 2]
    repeat.check(["qemu", "uml"], tmp_path, True, _silent, said.append)
    assert [line.endswith(", as kept") for line in said] == [True, True]
    assert kept.read_text() == (tmp_path / "digest.json").read_text()
    rounds[:] = [3, 3]
    with pytest.raises(LabError, match="other numbers"):
        repeat.check(["uml"], tmp_path, False, _silent, said.append)
    rounds[:] = [3, 3]
    repeat.check(["uml"], tmp_path, True, _silent, said.append)
    assert {e: d.numbers for e, d in repeat.kept(kept).items()} == {
        "qemu": _numbers(1), "uml": _numbers(3),
    }  # fmt: skip


@pytest.mark.parametrize("text", ["", "[]", '{"uml": {"numbers": "a"}}'])
def test_a_file_that_holds_no_digests_is_refused(text, tmp_path):
    (tmp_path / "kept.json").write_text(text)
    with pytest.raises(LabError, match=r"kept.json holds no digests .*digest --keep"):
        repeat.kept(tmp_path / "kept.json")
    with pytest.raises(LabError, match="holds no digests"):
        repeat.kept(Path("/nowhere/kept.json"))
