# SPDX-License-Identifier: GPL-2.0-only
"""Samples of a run, kept apart: they are read as they were written."""

from __future__ import annotations

from pathlib import Path

import jsonschema
from synthetic import raw, raw_transfers
from tcon_lab.numbers.results import results_from_raw
from tcon_lab.numbers.samples import column, of_run, read, write
from tcon_lab.schema import schema


def test_columns_are_the_samples() -> None:
    run = results_from_raw([raw("enforced", 2)])["runs"][0]
    kept = of_run(run)
    assert [flow["index"] for flow in kept["flows"]] == [0, 1]
    for flow, packed in zip(run["flows"], kept["flows"], strict=True):
        for key in flow["samples"][0]:
            assert column(packed["columns"], key) == [s[key] for s in flow["samples"]], key
    assert "guest_ssthresh_bytes" not in kept["flows"][0]["columns"]  # nobody measured it
    assert column(kept["queue"], "packets") == [s["packets"] for s in run["queue_samples"]]


def test_equal_runs_give_equal_files(tmp_path: Path) -> None:
    kept = of_run(results_from_raw([raw("native")])["runs"][0])
    files = [tmp_path / "a.json.gz", tmp_path / "b.json.gz"]
    for file in files:
        write(file, kept)
    assert files[0].read_bytes() == files[1].read_bytes()
    assert read(files[0]) == kept
    assert sorted(tmp_path.iterdir()) == files  # nothing half-written stays


def test_they_fit_their_schema() -> None:
    validator = jsonschema.Draft202012Validator(schema("samples"))
    kept = of_run(results_from_raw([raw("enforced", 2)])["runs"][0])
    validator.validate(kept)
    validator.validate(of_run(results_from_raw([raw_transfers("guest", [1.0])])["runs"][0]))
    kept["flows"][0]["columns"]["colour"] = ["red"]
    assert not validator.is_valid(kept)


def test_transfers_have_none() -> None:
    kept = of_run(results_from_raw([raw_transfers("guest", [1.0, 2.0])])["runs"][0])
    assert kept["flows"] == [{"index": 0, "columns": {}}]
    assert column({}, "t_s") == []


def test_damaged_and_missing_files_are_none(tmp_path: Path) -> None:
    file = tmp_path / "x.json.gz"
    assert read(file) is None
    write(file, of_run(results_from_raw([raw("native")])["runs"][0]))
    whole = file.read_bytes()
    for broken in (b"", whole[: len(whole) // 2], b"{}", whole[:20] + bytes(50)):
        file.write_bytes(broken)
        assert read(file) is None
