# SPDX-License-Identifier: GPL-2.0-only
"""Changes between two sets of results: the statistics, and the command."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
import synthetic
from commands import tcon_lab
from tcon_lab.errors import LabError
from tcon_lab.numbers.against_earlier import (
    NEUTRAL,
    SHARES,
    ResultSet,
    changes,
    incomplete_beta,
    load,
    no_change_p,
    significant,
    welch_p,
    worse,
)
from tcon_lab.numbers.against_native import QUANTITIES
from tcon_lab.numbers.results import results_from_raw, to_text
from tcon_lab.pages import against_earlier_table

# --- statistics -------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "x", "expected"),
    [
        (1, 1, 0.3, 0.3),
        (2, 1, 0.3, 0.09),
        (1, 3, 0.3, 1 - 0.7**3),
        (0.5, 0.5, 0.5, 0.5),
        (0.5, 0.5, 0.1, 2 / math.pi * math.asin(math.sqrt(0.1))),
        (20, 30, 0.0, 0.0),
        (20, 30, 1.0, 1.0),
    ],
)
def test_the_incomplete_beta_function(a: float, b: float, x: float, expected: float) -> None:
    assert incomplete_beta(a, b, x) == pytest.approx(expected, rel=1e-12)


def test_the_incomplete_beta_function_is_symmetric() -> None:
    for a, b, x in ((3, 7, 0.2), (50, 2, 0.9), (0.5, 400, 0.001)):
        assert incomplete_beta(a, b, x) == pytest.approx(1 - incomplete_beta(b, a, 1 - x), rel=1e-9)


def test_a_t_test_by_the_tables() -> None:
    """Two-sided 5 % points of Student's t."""
    for freedom, t in ((1, 12.706), (2, 4.303), (4, 2.776), (10, 2.228), (30, 2.042)):
        assert incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t)) == pytest.approx(
            0.05, rel=1e-3
        )


def test_welch_by_hand() -> None:
    # Means 2 and 5, variances 1 and 1, three each: t = 3 / sqrt(2/3), 4 degrees of freedom.
    t_squared = 9 / (2 / 3)
    assert welch_p([1, 2, 3], [4, 5, 6]) == pytest.approx(
        incomplete_beta(2, 0.5, 4 / (4 + t_squared))
    )
    # With 4 degrees of freedom the tail has a closed form: about 0.0213.
    assert welch_p([1, 2, 3], [4, 5, 6]) == pytest.approx(0.0213, abs=1e-4)
    assert welch_p([1, 2, 3], [1, 2, 3]) == pytest.approx(1)
    assert welch_p([4, 5, 6], [1, 2, 3]) == welch_p([1, 2, 3], [4, 5, 6])


def test_values_without_spread() -> None:
    assert welch_p([0.1] * 3, [0.1] * 3) == 1
    assert welch_p([0.1] * 3, [0.2] * 3) == 0
    assert welch_p([1.0], [2.0, 2.0]) is None
    assert no_change_p([0.1, 0.1]) is None
    assert no_change_p([0.0] * 3) == 1
    assert no_change_p([0.1] * 3) == 0


def test_chance_alone_is_rarely_significant() -> None:
    """Welch's p of equal distributions is below 5 % in about 5 % of all cases, and
    Benjamini and Hochberg pick none in most families.
    """
    rng = random.Random(1)
    families = [
        [welch_p(*([rng.gauss(10, 1) for _ in range(5)] for _ in "ab")) for _ in range(20)]
        for _ in range(200)
    ]
    below = [p for family in families for p in family if p is not None and p < 0.05]
    assert 0.03 < len(below) / 4000 < 0.065
    picking = sum(any(significant(family, 0.05)) for family in families)
    assert picking < 0.08 * len(families)


def test_what_benjamini_and_hochberg_pick() -> None:
    ps = [0.01, None, 0.04, 0.03, 0.5]
    # Sorted: 0.01 <= 1/4 x 0.05 = 0.0125; 0.03 > 0.025; 0.04 > 0.0375; 0.5 > 0.05.
    assert significant(ps, 0.05) == [True, False, False, False, False]
    # At 0.06: 0.04 <= 3/4 x 0.06 takes 0.03 with it.
    assert significant(ps, 0.06) == [True, False, True, True, False]
    assert significant([], 0.05) == []
    assert significant([None], 0.05) == [False]
    assert significant([0.9], 0.05) == [False]


# --- sets of results --------------------------------------------------------


def run_of(
    goodput_bps: float, rtt_us: float = 20_000, queue: float = 10, **more: Any
) -> dict[str, Any]:
    flow = {"goodput_bps": goodput_bps, "rtt_us": {"p50": rtt_us}, "error": None}
    return {"goodput_bps": goodput_bps, "flows": [flow], "queue_bytes": {"p50": 1500 * queue},
            "jain": None, **more}  # fmt: skip


def results(runs: dict[str, list[dict[str, Any]]], mode: str = "enforced") -> ResultSet:
    """A set with a run for each seed, by cell."""
    return ResultSet(
        "x", {(cell, mode): dict(enumerate(seeds, 1)) for cell, seeds in runs.items()}, {}
    )


def of(goodputs: list[float], **more: Any) -> ResultSet:
    return results({"cell": [run_of(goodput, **more) for goodput in goodputs]})


def verdicts(made: dict[str, Any]) -> dict[tuple[str | None, str], str]:
    return {(c["cell"], c["quantity"]): c["verdict"] for c in made["changes"]}


def test_what_is_worse_and_what_is_better() -> None:
    before, lower = of([9.0e6, 9.1e6, 9.2e6]), of([8.0e6, 8.1e6, 8.2e6])
    made = changes(before, lower)
    assert verdicts(made) == {
        ("cell", "goodput"): "worse", ("cell", "rtt"): "same", ("cell", "queue"): "same"
    }  # fmt: skip
    assert worse(made)
    (goodput, *_) = made["changes"]
    assert goodput["change"] == pytest.approx(8.1 / 9.1 - 1)
    assert goodput["before"]["seeds"] == [9.0e6, 9.1e6, 9.2e6]
    made = changes(lower, before)
    assert verdicts(made)["cell", "goodput"] == "better"
    assert not worse(made)
    slower = of([9.0e6, 9.1e6, 9.2e6], rtt_us=30_000)
    made = changes(before, slower)
    assert verdicts(made)["cell", "rtt"] == "worse"
    assert verdicts(changes(slower, before))["cell", "rtt"] == "better"


def test_small_or_uncertain_changes_are_none() -> None:
    before = of([9.00e6, 9.01e6, 9.02e6])
    assert verdicts(changes(before, of([8.90e6, 8.91e6, 8.92e6])))["cell", "goodput"] == "same"
    tight = changes(before, of([8.90e6, 8.91e6, 8.92e6]), least=0.01)
    assert verdicts(tight)["cell", "goodput"] == "worse"
    wide = changes(before, of([6e6, 8e6, 12e6]))
    assert verdicts(wide)["cell", "goodput"] == "same"


def test_a_queue_is_known_to_a_packet_or_two() -> None:
    before = of([9e6] * 3, queue=1)
    assert verdicts(changes(before, of([9e6] * 3, queue=2)))["cell", "queue"] == "same"
    assert verdicts(changes(before, of([9e6] * 3, queue=3)))["cell", "queue"] == "worse"
    empty = of([9e6] * 3, queue=0)
    made = changes(empty, of([9e6] * 3, queue=9))
    assert verdicts(made)["cell", "queue"] == "worse"
    assert json.loads(to_text(made))["changes"][-1]["change"] is None
    assert against_earlier_table.rows(made)[0][6] == "from 0"


def test_shares_change_by_their_difference() -> None:
    made = changes(of([9e6] * 3, utilisation=0.01), of([9e6] * 3, utilisation=0.02))
    assert verdicts(made)["cell", "utilisation"] == "same"
    made = changes(of([9e6] * 3, utilisation=0.95), of([9e6] * 3, utilisation=0.90))
    assert verdicts(made)["cell", "utilisation"] == "worse"
    assert set(SHARES) | set(NEUTRAL) <= set(QUANTITIES)


def test_a_share_of_the_first_is_neither_better_nor_worse() -> None:
    def pair(first: float) -> dict[str, Any]:
        run = run_of(9e6)
        run["flows"] = [
            {"goodput_bps": rate, "rtt_us": None, "table": n}
            for n, rate in enumerate((first, 9e6 - first))
        ]
        return run

    made = changes(results({"c": [pair(4e6)] * 3}), results({"c": [pair(6e6)] * 3}))
    assert verdicts(made)["c", "first_share"] == "changed"
    assert not worse(made)


def test_one_seed_is_no_test_but_many_cells_are() -> None:
    rng = random.Random(2)
    before = {f"c{n}": [run_of(9e6 * rng.uniform(0.5, 1))] for n in range(10)}
    after = {
        cell: [run_of(run["goodput_bps"] * rng.uniform(0.93, 0.96))]
        for cell, (run,) in before.items()
    }
    made = changes(results(before), results(after))
    got = verdicts(made)
    assert got["c0", "goodput"] == "untested"
    assert got[None, "goodput"] == "worse"
    assert got[None, "rtt"] == "same"
    assert any("too few seeds" in text for text in against_earlier_table.sentences(made))


def test_what_is_no_longer_measured_is_worse() -> None:
    made = changes(of([9e6] * 3, convergence_s=4.0), of([9e6] * 3, convergence_s=None))
    assert made["lost"] == ["cell, enforced: convergence"]
    assert worse(made)
    assert not worse(changes(of([9e6] * 3), of([9e6] * 3, convergence_s=4.0)))


def test_runs_of_one_set_only_are_said() -> None:
    a = results({"one": [run_of(9e6)] * 2, "two": [run_of(9e6)] * 2})
    b = results({"two": [run_of(9e6)] * 2, "three": [run_of(9e6)] * 2})
    made = changes(a, b)
    assert (made["only_before"], made["only_after"]) == (["one, enforced"], ["three, enforced"])
    with pytest.raises(LabError, match="no cell and mode in common"):
        changes(a, results({"one": [run_of(9e6)]}, "native"))


# --- files and the command --------------------------------------------------


def write_results(file: Path, factor: float, seeds: int = 4) -> Path:
    """A results.json of synthetic runs whose goodput is scaled."""
    made = []
    for seed in range(1, seeds + 1):
        raw = synthetic.raw("enforced", seed=seed)
        for record in raw["probe"]:
            if record["type"] == "flow":
                record["acked_bytes"] = round(record["acked_bytes"] * factor * (1 + seed / 1000))
        made.append(results_from_raw([raw]))
    file.write_text(to_text(made if seeds > 1 else made[0]))
    return file


def write_campaign(folder: Path, goodputs: dict[str, list[float]], version: str) -> Path:
    (folder / "runs").mkdir(parents=True)
    index = []
    for cell, rates in goodputs.items():
        for seed, rate in enumerate(rates, 1):
            key = f"{cell}-{seed}"
            index.append({"cell": cell, "mode": "native", "seed": seed, "key": key})
            stored = {"versions": {"tcon": version}, "run": run_of(rate)}
            (folder / f"runs/{key}.json").write_text(json.dumps(stored))
    index.append({"cell": "failed", "mode": "native", "seed": 1, "key": "none"})
    (folder / "index.json").write_text(json.dumps({"campaign": "c", "runs": index}))
    return folder


def test_the_command_on_results(tmp_path: Path) -> None:
    a = write_results(tmp_path / "results.json", 1.0)
    b = write_results(tmp_path / "b.json", 0.9)
    same = tcon_lab("compare", a, tmp_path)  # the folder of a's results.json
    assert (same.returncode, same.stderr) == (0, "")
    assert "0 worse, 0 changed, 0 better" in same.stdout
    got = tcon_lab("compare", a, b, "--json", tmp_path / "changes.json")
    assert (got.returncode, got.stderr) == (1, "")
    row = next(line for line in got.stdout.splitlines() if "goodput" in line)
    assert row.split()[:4] == ["worse", "synthetic", "enforced", "goodput"]
    assert "-10.0%" in row
    made = json.loads((tmp_path / "changes.json").read_text())
    assert made["changes"][0]["verdict"] == "worse"
    assert tcon_lab("compare", b, a).returncode == 0
    assert tcon_lab("compare", a, b, "--least", "15").returncode == 0


def test_the_command_on_campaigns(tmp_path: Path) -> None:
    a = write_campaign(tmp_path / "a", {"x": [9e6, 9.1e6], "y": [5e6, 5e6]}, "0.1")
    b = write_campaign(tmp_path / "b", {"x": [9e6, 9.1e6], "y": [4e6, 4e6]}, "0.2")
    got = tcon_lab("compare", a, b)
    assert got.returncode == 1
    assert "tcon: 0.1 before, 0.2 after" in got.stdout
    assert tcon_lab("compare", a, a).returncode == 0


def test_what_cannot_be_compared(tmp_path: Path) -> None:
    good = write_results(tmp_path / "good.json", 1.0, seeds=1)
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "other.json").write_text('{"runs": 1}')
    run = {"mode": "enforced", "flows": [{}]}
    text = json.dumps({"scenario": "synthetic", "seed": 1, "versions": {}, "runs": [run]})
    (tmp_path / "old.json").write_text(text)
    for wrong, words in (
        (tmp_path / "nothing", "nothing does not exist"),
        (tmp_path / "empty", "holds neither a campaign's index.json nor results.json"),
        (tmp_path / "bad.json", "bad.json is no JSON"),
        (tmp_path / "other.json", "other.json holds no results, or damaged ones\n"),
        (tmp_path / "old.json", "a run cannot be read for its goodput: KeyError('goodput_bps')"),
        (write_campaign(tmp_path / "none", {}, "1"), "holds no run"),
    ):
        got = tcon_lab("compare", good, wrong)
        assert (got.returncode, got.stdout) == (2, "")
        assert words in got.stderr
        assert got.stderr.count("\n") == 1
    assert tcon_lab("compare", good, good, "--alpha", "2").returncode == 2
    assert tcon_lab("compare", good, good, "--least", "-1").returncode == 2
    assert load(good).versions["kernel"] == "6.1.0"


def test_what_comes_to_a_stand_is_worse() -> None:
    """With one seed, too, and where others go on."""
    assert worse(changes(*(_one_seed(goodputs) for goodputs in ([9e6] * 5, [0.0] * 5))))
    some = [0.0] * 6 + [9.0e6, 9.01e6, 8.99e6]
    assert worse(changes(_one_seed([9e6] * 9), _one_seed(some)))
    assert not worse(changes(_one_seed([0.0] * 5), _one_seed([9e6] * 5)))


def _one_seed(goodputs: list[float]) -> ResultSet:
    cells = {f"c{n}": [run_of(goodput)] for n, goodput in enumerate(goodputs)}
    return results(cells)
