# SPDX-License-Identifier: GPL-2.0-only
"""The thesis's models beside runs: of invented runs, by hand, and against the models' own."""

from __future__ import annotations

import copy
import csv
import io
import math
from pathlib import Path
from typing import Any

import folders
import pytest
from tcon_lab.numbers import against_models, cubic_model
from tcon_lab.numbers.against_models import settled, variation
from tcon_lab.numbers.many_campaigns import Experiment, csv_text, load, load_all, overview
from tcon_lab.pages.many_campaigns_page import buffer_tables, model_table, page

MODES = {"native", "enforced"}


@pytest.fixture(scope="module")
def one_flow(tmp_path_factory: pytest.TempPathFactory) -> Experiment:
    return load(folders.make(tmp_path_factory.mktemp("models") / "one", folders.ONE_FLOW)[1])


@pytest.fixture(scope="module")
def two_flows(tmp_path_factory: pytest.TempPathFactory) -> Experiment:
    return load(folders.make(tmp_path_factory.mktemp("models") / "two", folders.BUFFERS)[1])


def rows_of(experiment: Experiment) -> dict[tuple[str, str], dict[str, Any]]:
    rows = against_models.rows(experiment.comparison, experiment.runs, experiment.samples)
    return {(row["cell"], row["quantity"]): row for row in rows}


def test_variation_by_hand() -> None:
    """Over the flows at a time 1/2 and 0; of one flow over time."""
    assert variation([[1, 3], [3, 3]]) == pytest.approx(0.25)
    assert variation([[1], [3]]) == pytest.approx(0.5)
    assert variation([]) is None


def test_one_flow_beside_its_model(one_flow: Experiment) -> None:
    """The fixture's window rises from 49 to 70 kB in 2 s: its mean is 85 %, and its CoV a uniform
    distribution's, 0.3 / sqrt(12) / 0.85.
    """
    found = rows_of(one_flow)
    cycle = cubic_model.Cycle(cubic_model.Path(1e7 / 12_000, 0.05, 10))
    window = found["ADSL", "window"]
    assert window["model"] == pytest.approx(cycle.mean_window())
    assert window["ours"] == {m: pytest.approx(0.85 * 70_000 / 1448, rel=0.02) for m in MODES}
    unlike = found["ADSL", "variation of windows"]
    assert unlike["ours"]["native"] == pytest.approx(0.3 / math.sqrt(12) / 0.85, rel=0.05)
    period = found["ADSL", "from loss to loss"]
    assert period["model"] == pytest.approx(cycle.period_s)
    assert period["ours"] == {mode: pytest.approx(2, abs=0.1) for mode in MODES}
    # A cubic cycle of 0.7 to 1 that is left for Reno's line where that is larger.
    assert 0.08 < unlike["model"] < 0.11
    delay = found["ADSL", "queueing delay"]
    assert 0 < delay["model"] < 10 * 12_000 / 1e7 * 1e3
    assert not any(quantity.startswith("flows") for _, quantity in found)


def test_several_flows_beside_theirs(two_flows: Experiment) -> None:
    found = rows_of(two_flows)
    path = cubic_model.Path(1e8 / 12_000 / 2, 0.04, 50)
    moments = settled(path, False)
    window = found["0.3bdp cubic", "window"]
    assert window["model"] == pytest.approx(sum(m.window for m in moments) / len(moments))
    # The link is nearly full: its packets wait, or are on their way.
    assert path.bdp_packets * 0.95 < window["model"] < path.bdp_packets + path.buffer_packets
    lost = sum(moment.lost for moment in moments)
    period = found["0.3bdp cubic", "from loss to loss"]
    assert period["model"] == pytest.approx((moments[-1].t_s - moments[0].t_s) / lost)
    assert period["ours"] == {mode: pytest.approx(2, abs=0.1) for mode in MODES}
    assert ("0.3bdp cubic", "variation of windows") not in found  # of two flows
    few = {cc: found[f"0.3bdp {cc}", "from loss to loss"]["model"] for cc in ("cubic", "reno")}
    assert few["cubic"] != few["reno"]


def test_flows_that_lose_together_stand_beside_the_criterion(two_flows: Experiment) -> None:
    runs = copy.deepcopy(two_flows.runs)
    for modes in runs.values():
        modes["native"][1]["run"]["loss_synchronisation"] = {"mean": 0.75, "p50": 1, "epochs": 4}
    rows = against_models.rows(two_flows.comparison, runs, lambda *run: None)
    mine = {row["cell"]: row for row in rows if row["quantity"] == "flows that lose together"}
    assert set(mine) == set(runs)
    for row in mine.values():
        assert row["ours"]["native"] == 0.75
    assert mine["1.0bdp reno"]["model"] == pytest.approx(1 - 0.5**2)  # one packet of each of two


def test_what_has_no_model(one_flow: Experiment, two_flows: Experiment) -> None:
    stored = copy.deepcopy(two_flows.runs["0.3bdp cubic"]["native"][1])
    assert against_models.modelled(two_flows.comparison, stored) is not None
    assert against_models.modelled({"campaign": "vm-baseline"}, stored) is None
    stored["run"]["flows"][0]["cc"] = "reno"
    assert against_models.modelled(two_flows.comparison, stored) is None
    stored["run"]["flows"][0]["cc"] = "cubic"
    stored["scenario"]["path"]["aqm"] = {"kind": "pie"}
    assert against_models.modelled(two_flows.comparison, stored) is None
    assert against_models.buffers(one_flow.comparison, one_flow.runs) is None


def test_the_model_is_in_equilibrium() -> None:
    """Scenario A: the halves of what counts are alike, and 30 s from the begin would not do."""
    path = cubic_model.Path(1e8 / 12_000 / 100, 0.2, 16.67)

    def mean(moments: Any) -> float:
        return sum(moment.window for moment in moments) / len(moments)

    moments = settled(path, False)
    half = len(moments) // 2
    assert mean(moments[:half]) == pytest.approx(mean(moments[half:]), rel=0.02)
    early = cubic_model.fluid(path, 30, flows=100)
    assert mean(early[len(early) // 3 :]) < 0.92 * mean(moments)


def test_buffers_by_rule_and_as_measured(two_flows: Experiment) -> None:
    comparison = copy.deepcopy(two_flows.comparison)
    shares = {"0.3bdp cubic": 0.90, "1.0bdp cubic": 0.98, "0.3bdp reno": 0.5, "1.0bdp reno": 0.6}
    for cell in comparison["cells"]:
        for quantities in cell["modes"].values():
            mean = shares[cell["cell"]] * 1448 / 1514
            quantities["utilisation"] = {"mean": mean}
    found = against_models.buffers(comparison, two_flows.runs)
    assert found is not None
    assert (found["flows"], found["bdp_packets"]) == (2, pytest.approx(333.3, abs=0.1))
    assert found["rules"]["C RTT / sqrt(N) (1.2)"] == pytest.approx(1 / math.sqrt(2))
    needed = {(n["cc"], n["mode"], n["share"]): (n["bdp"], n["bound"]) for n in found["needed"]}
    assert needed["cubic", "native", 0.95] == (pytest.approx(0.3 + 0.7 * 5 / 8, abs=0.002), "")
    assert needed["reno", "enforced", 0.95] == (pytest.approx(1, abs=0.003), ">")
    assert {mode for _, mode, _ in needed} == MODES | {"model"}
    model = dict(found["points"]["reno"]["model"])
    assert all(0.8 < share <= 1 for share in model.values())
    assert model[max(model)] > model[min(model)]


def test_tables_of_the_page_and_rows_of_the_csv(
    one_flow: Experiment, two_flows: Experiment
) -> None:
    experiments = load_all([one_flow.folder, two_flows.folder])
    made = overview(experiments)
    headings, rows = model_table(made["experiments"][0])
    assert headings == ["cell", "quantity", "unit", "model", "native", "differs", "enforced",
                        "differs"]  # fmt: skip
    period = next(row for row in rows if row[1] == "from loss to loss")
    model = made["experiments"][0]["models"][2]["model"]
    ours = made["experiments"][0]["models"][2]["ours"]["native"]
    assert period[:6] == ["ADSL", "from loss to loss", "s", f"{model:.3g}", f"{ours:.3g}",
                          f"{100 * (ours / model - 1):+.0f} %"]  # fmt: skip
    rules, needed, points = (table for _, table in buffer_tables(made["experiments"][1]["buffers"]))
    assert ["C RTT (1.1)", "1", "333"] in rules
    assert len(needed) == 2 * 3 * 2
    assert len(points) == 2 * 3 * 2
    text = page(made, experiments)
    assert 'id="cubic-one-flow-models"' in text
    assert 'id="cubic-buffers-buffers-2"' in text
    lines = list(csv.DictReader(io.StringIO(csv_text(made))))
    mine = [x for x in lines if x["what"] == "model" and x["metric"] == "from loss to loss, s"]
    assert {x["mode"] for x in mine} == MODES | {"model"}
    (found,) = [x for x in mine if x["cell"] == "ADSL" and x["mode"] == "model"]
    assert (float(found["mean"]), found["cc"]) == (pytest.approx(model, rel=1e-5), "cubic")
    rule = [x for x in lines if x["what"] == "buffer" and x["mode"] == "rule"]
    assert {x["of"]: float(x["mean"]) for x in rule}["C RTT (1.1)"] == 1
    assert [x for x in lines if x["what"] == "buffer" and x["metric"] == "link used, share"]


def test_a_campaign_of_its_own_name_may_be_anything(tmp_path: Path) -> None:
    """Other experiments than the thesis's have no model, and no table."""
    experiment = load(folders.make(tmp_path / "pairs", folders.PAIRS)[1])
    made = overview([experiment])
    assert (made["experiments"][0]["models"], made["experiments"][0]["buffers"]) == ([], None)
    assert "-models" not in page(made, [experiment])
