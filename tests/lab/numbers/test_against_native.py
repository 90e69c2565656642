# SPDX-License-Identifier: GPL-2.0-only
"""Sums and means over the runs of a campaign."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from campaigns import (
    CAMPAIGNS,
    FILES,
    GOODPUTS,
    MEAN,
    PAIRS,
    SMALL,
    Tags,
    change,
    comparison,
    flow_record,
    runs,
    text_of,
    transfers,
)
from tcon_lab.experiment.campaign_file import parse
from tcon_lab.numbers.against_native import COMPARED, QUANTITIES, compare, geometric_mean
from tcon_lab.numbers.against_published import sides
from tcon_lab.pages import campaign_page
from tcon_lab.scenario import ScenarioError


@pytest.mark.parametrize(
    ("values", "expected"), [([], None), ([2, 8], 4), ([1, 1, 8], 2), ([0, 5], 0)]
)
def test_geometric_mean(values: list[float], expected: float | None) -> None:
    assert geometric_mean(values) == (expected and pytest.approx(expected))


def test_ratios_are_taken_seed_by_seed() -> None:
    made = comparison(GOODPUTS)
    goodput = made["cells"][1]["metrics"]["goodput"]
    assert goodput["seeds"] == [1.0, 0.98]
    assert goodput["mean"] == pytest.approx(MEAN)
    assert (goodput["min"], goodput["max"]) == (0.98, 1.0)
    assert made["cells"][1]["modes"]["native"]["goodput"]["mean"] == 9e6
    assert made["cells"][1]["metrics"]["rtt"]["mean"] == 1.5
    assert made["cells"][1]["metrics"]["own_limit"]["mean"] == pytest.approx(0.015)
    assert "own_limit" not in made["cells"][1]["modes"]["native"]
    assert (made["baseline"], made["compared"]) == ("native", "enforced")


def test_what_is_shown_only_where_a_bar_is_about_it() -> None:
    metrics = comparison(GOODPUTS)["cells"][1]["metrics"]
    assert not {"queue", "alpha", "jain"} & set(metrics)
    asked = ("queue", "alpha", "instructions")
    bars = "".join(f'[[bar]]\nmetric = "{name}"\nmax = 1.15\n' for name in asked)
    made = comparison(GOODPUTS, SMALL + bars + '[[bar]]\nmetric = "jain"\nmin = 0.9\n')
    cell = made["cells"][1]
    found = {name: cell["metrics"][name]["mean"] for name in ("queue", "alpha", "jain")}
    assert found == pytest.approx({"queue": 1.2, "alpha": 1.1, "jain": 0.9})
    assert cell["metrics"]["instructions"]["mean"] == pytest.approx(1.1)
    verdicts = [cell["metrics"][name]["verdict"] for name in ("queue", "alpha", "jain")]
    assert verdicts == ["missed", "reached", "reached"]
    assert cell["modes"]["native"]["queue"]["mean"] == 20e3


def test_the_baseline_is_linux_where_there_is_no_native_run() -> None:
    goodputs = {("linux", seed): bps for (_, seed), bps in GOODPUTS.items()} | GOODPUTS
    made = comparison(goodputs, change('["native", "enforced"]', '["linux", "enforced"]', SMALL))
    assert made["baseline"] == "linux"
    ratio = goodputs["enforced", 1] / goodputs["linux", 1]
    assert made["cells"][1]["metrics"]["goodput"]["seeds"][0] == pytest.approx(ratio)
    assert "Goodput to linux" in campaign_page.markdown(made)
    three = change('["native", "enforced"]', '["linux", "native", "enforced"]', SMALL)
    assert comparison(goodputs, three)["baseline"] == "native"


def test_bars_of_flows_with_or_without_tcon_at_the_receiver() -> None:
    text = change('loss = ["0%", "0.1%"]', "receiver_tcon = [true, false]", SMALL)
    text = text.replace("min = 0.95", "receiver_tcon = true\nmin = 0.95")
    campaign = parse(text)
    lows = [bar.low for cell in campaign.cells if (bar := campaign.bar("goodput", cell))]
    assert lows == [0.95, 0.9, 0.9, 0.9]
    with pytest.raises(ScenarioError, match="bar 1's receiver_tcon must be true or false"):
        parse(text.replace("receiver_tcon = true", "receiver_tcon = 1"))


def test_cells_that_miss() -> None:
    made = comparison(GOODPUTS)
    verdicts = [cell["metrics"]["goodput"]["verdict"] for cell in made["cells"]]
    assert verdicts == ["missed", "reached", "reached", "reached"]  # 0.93 where 0.95 is asked
    overall = made["overall"]["goodput"]
    assert overall["missed"] == overall["aim_missed"] == ["10mbit 8ms 0%"]
    assert overall["geometric_mean"] == pytest.approx((0.94 * MEAN**4) ** 0.25)
    assert overall["verdict"] == "missed"
    assert made["overall"]["rtt"]["verdict"] is None
    lower = dict(GOODPUTS) | {("enforced", 1): 7.7e6}
    verdicts = [cell["metrics"]["goodput"]["verdict"] for cell in comparison(lower)["cells"]]
    assert verdicts == ["missed", "aim missed", "reached", "reached"]


def test_ratios_where_one_side_has_nothing() -> None:
    """A queue that is empty natively gives no ratio, which is said; one that is empty enforced does
    not make the mean of all cells 0.
    """
    bar = '[[bar]]\nmetric = "queue"\nover = "mean"\nmax = 1.15\n'
    campaign = parse(SMALL[: SMALL.index("[[bar]]")] + bar)
    first, second = (cell.name for cell in campaign.cells[:2])
    queues = {(first, "native"): 0.0, (second, COMPARED): 0.0}
    index, stored = [], {}
    for run in runs(campaign):
        cell, mode, seed = run.cell.name, run.mode, run.scenario.seed
        index.append({"cell": cell, "mode": mode, "seed": seed, "key": run.key})
        bytes_ = queues.get((cell, mode), 24e3 if mode == COMPARED else 20e3)
        made = {"goodput_bps": 1e6, "flows": [flow_record(1e6, 20_000, None)], "warnings": [],
                "jain": 1.0, "queue_bytes": {"p50": bytes_}}  # fmt: skip
        stored[run.key] = {"versions": {}, "run": made}
    made = compare(campaign, index, stored.get)
    assert "queue" not in made["cells"][0]["metrics"]
    assert made["cells"][1]["metrics"]["queue"]["mean"] == 0
    assert made["overall"]["queue"]["geometric_mean"] == pytest.approx(1.2)
    assert made["overall"]["queue"]["verdict"] == "missed"
    said = f"{first}, seed 1: queue is 0 native, and not 0 enforced: it has no ratio"
    assert said in made["warnings"]
    assert len(made["warnings"]) == len(campaign.seeds)


def test_metrics_that_a_bar_asks_for(tmp_path: Path) -> None:
    """One flow against two, which have another share in each mode."""
    asked = ["rtt_p95", "utilisation", "jain_mean", "convergence", "loss_sync", "first_share",
             "guest_marks", "cwnd", "retransmitted", "loss_period", "steal",
             "back_goodput"]  # fmt: skip
    text = PAIRS[: PAIRS.index("[matrix]")].replace("seeds = [1, 2, 3]", "seeds = [1]")
    text += "".join(f'[[bar]]\nmetric = "{metric}"\naim = 1\n' for metric in asked)
    campaign = parse(text)

    def run_of(mode: str) -> dict[str, Any]:
        enforced = mode == COMPARED
        rates = [3e6, 1e6, 2e6, 2e6] if enforced else [4e6, 2e6, 1e6, 1e6]
        flows = [
            flow_record(rate, 20_000, None)
            | {
                "table": min(index, 1),
                "cc": "bbr" if index else "cubic",
                "seconds": 10.0,
                "rtt_mean_us": 20_000 + 1000 * index,
                "rtt_us": {"p50": 20_000, "p95": 30_000 + 3000 * enforced},
                "sent_bytes": 1000,
                "retransmitted_bytes": 10 + 10 * enforced * (index == 0),
                "guest_marked_segments": 0 if enforced else 7,
                "steal_share": 0.1 * (index + 1) * (1 + enforced),
                "back_goodput_bps": [None, 4e6, 5e6 + 9e6 * enforced, 0][index],
                "cwnd_bytes": {"mean": 10_000 if enforced else 8000},
                "loss_period_s": None if index > 1 else 1.5 + 0.5 * index * enforced,
            }
            for index, rate in enumerate(rates)
        ]
        return {
            "goodput_bps": sum(rates), "flows": flows, "warnings": [], "queue_packets": None,
            "jain": 0.9, "jain_mean": 0.9 if enforced else 0.8, "utilisation": 0.95,
            "convergence_s": 4.0 if enforced else 2.0,
            "loss_synchronisation": {"mean": 0.6 if enforced else 0.5, "p50": 0.5, "epochs": 9},
        }  # fmt: skip

    index = [{"cell": r.cell.name, "mode": r.mode, "seed": 1, "key": r.key} for r in runs(campaign)]
    stored = {r.key: {"versions": {}, "run": run_of(r.mode)} for r in runs(campaign)}
    made = compare(campaign, index, stored.get)
    (cell,) = made["cells"]
    assert {metric: cell["metrics"][metric]["mean"] for metric in asked} == {
        "rtt_p95": pytest.approx(1.1), "utilisation": 1, "jain_mean": pytest.approx(1.125),
        "convergence": 2, "loss_sync": pytest.approx(1.2), "first_share": pytest.approx(0.75),
        "guest_marks": 0, "cwnd": 1.25, "retransmitted": pytest.approx(1.25),
        "loss_period": pytest.approx(1.75 / 1.5), "steal": pytest.approx(2), "back_goodput": 2,
    }  # fmt: skip
    assert cell["modes"]["native"]["first_share"]["mean"] == 0.5
    assert cell["modes"]["native"]["guest_marks"]["mean"] == 28
    assert cell["modes"]["native"]["steal"]["mean"] == pytest.approx(0.25)
    assert "alpha" not in cell["metrics"]
    headings, (row,) = campaign_page.columns(made)
    shown = dict(zip(headings, row, strict=True))
    assert shown["native RTT p95, ms"] == "30.0"
    assert shown["enforced convergence, s"] == "4.0"
    assert shown["enforced mean cwnd, kB"] == "10"
    assert shown["native retransmitted, %"] == "1.00"
    assert shown["Share of the first to native"].startswith("0.750")
    assert cell["kinds"]["native"] == [
        {"kind": 1, "flows": 1, "cc": "cubic", "goodput_bps": 4e6, "sent_bps": 800,
         "sent_bytes": 1000, "rtt_mean_us": 20_000, "retransmitted_bytes": 10, "cwnd_bytes": 8000},
        {"kind": 2, "flows": 3, "cc": "bbr", "goodput_bps": pytest.approx(4e6 / 3),
         "sent_bps": 800, "sent_bytes": 1000, "rtt_mean_us": 22_000, "retransmitted_bytes": 10,
         "cwnd_bytes": 8000},
    ]  # fmt: skip
    ((title, _, rows),) = campaign_page.beside(made)
    assert title == "Flows by kind"
    assert [row[:6] for row in rows] == [
        ["pairs", "native", "1", "1", "cubic", "4.00"],
        ["pairs", "native", "2", "3", "bbr", "1.33"],
        ["pairs", "enforced", "1", "1", "cubic", "3.00"],
        ["pairs", "enforced", "2", "3", "bbr", "1.67"],
    ]
    assert "## Flows by kind" in campaign_page.markdown(made)


def test_a_native_run_without_goodput_has_no_ratio() -> None:
    made = comparison(GOODPUTS | {("native", 1): 0.0})
    assert made["cells"][1]["metrics"]["goodput"]["seeds"] == [0.98]


TIMES_S = {
    "guest": [[10.0, 12.0], [8.0, 10.0]],  # mean 10
    "native": [[6.0, 6.0], [5.0, 7.0]],  # mean 6, saves 40 %
    "enforced": [[7.0, 7.0], [6.0, 6.0]],  # mean 6.5, saves 35 %
}


def test_what_is_kept_of_a_saving() -> None:
    made = transfers(TIMES_S)
    (cell,) = made["cells"]
    kept = cell["metrics"]["saving_kept"]
    assert kept["mean"] == pytest.approx(3.5 / 4)
    assert kept["seeds"] == [pytest.approx(4 / 5), pytest.approx(3 / 3)]
    assert kept["verdict"] == "missed"
    assert cell["metrics"]["completion_mean"]["mean"] == pytest.approx((7 / 6) ** 0.5)
    assert "goodput" not in cell["metrics"]
    assert cell["completion"]["guest"]["p50"] == 10.0
    assert cell["completion_s"]["native"] == [5.0, 6.0, 6.0, 7.0]
    assert made["overall"]["saving_kept"]["geometric_mean"] is None


def test_a_small_saving_is_none() -> None:
    close = TIMES_S | {"native": [[10.0, 10.0], [8.5, 9.5]]}  # saves 5 %
    assert "saving_kept" not in transfers(close)["cells"][0]["metrics"]
    limit = TIMES_S | {"native": [[9.0, 11.0], [7.0, 9.0]]}  # saves 10 %
    assert "saving_kept" in transfers(limit)["cells"][0]["metrics"]


def test_transfers_beside_the_papers() -> None:
    paper = CAMPAIGNS.parent / "published/tcon-paper.toml"
    made = transfers(TIMES_S, FILES.replace("[path]", f'published = "{paper}"\n[path]'))
    headings, rows = campaign_page.completions(made)
    assert headings[-3:] == ["saved", "paper: mean, s", "paper: saved"]
    assert rows[2] == [
        "LAN 10MB", "enforced", "4", "6.5", "6", "7", "7", "35.0%", "1.65", "2.8%"
    ]  # fmt: skip
    assert rows[0][-3:] == ["-", "1.7", "-"]
    markdown = campaign_page.markdown(made)
    assert "| LAN 10MB | enforced | 4 | 6.5 |" in markdown
    assert "The paper is Zhang" in markdown
    html = campaign_page.page(made)
    tags = Tags()
    tags.feed(html)
    assert tags.open == []
    assert 'id="completion"' in html


def test_a_99_9th_percentile_needs_a_thousand_transfers() -> None:
    paper = CAMPAIGNS.parent / "published/tcon-paper.toml"
    text = FILES.replace("[path]", f'published = "{paper}"\n[path]')
    some = {mode: [[1.0] * 499, [2.0] * 500] for mode in TIMES_S}
    made = transfers(some, text)
    assert "p99.9, s" not in campaign_page.completions(made)[0]
    (side,) = sides(made, {})
    assert {row["unit"] for row in side["rows"]} == {"s"}
    # The largest but one of a thousand: one is slower.
    slow_s = {"guest": 10.0, "native": 5.0, "enforced": 8.0}
    many = {mode: [[1.0] * 500, [2.0] * 498 + [slow_s[mode], 99.0]] for mode in TIMES_S}
    made = transfers(many, text)
    headings, rows = campaign_page.completions(made)
    at = headings.index("p99.9, s")
    assert [(row[1], row[at]) for row in rows] == [
        ("guest", "10"), ("native", "5"), ("enforced", "8")
    ]  # fmt: skip
    (side,) = sides(made, {})
    below = [row for row in side["rows"] if row["unit"] == "%"]
    assert [row["text"] for row in below] == ["11.24", "9.69"]
    assert [row["ours"] for row in below] == [
        pytest.approx({"native": 50}), pytest.approx({"enforced": 20})
    ]  # fmt: skip


def test_flows_that_never_share_take_all_of_the_run() -> None:
    quantity = QUANTITIES["convergence"]
    assert quantity({"convergence_s": 2.5, "jain_per_second": [1.0] * 9}) == 2.5
    assert quantity({"convergence_s": None, "jain_per_second": [None, 0.5, 0.5]}) == 3
    assert quantity({"convergence_s": None, "jain_per_second": [None] * 9}) is None
    assert quantity({}) is None


def test_a_campaign_without_a_native_run() -> None:
    text = SMALL.replace('modes = ["native", "enforced"]', 'modes = ["enforced"]')
    campaign = parse(text[: text.index("[[bar]]")])
    index = [{"cell": r.cell.name, "mode": r.mode, "seed": r.scenario.seed, "key": r.key}
             for r in runs(campaign)]  # fmt: skip
    run = {"goodput_bps": 9e6, "flows": [flow_record(9e6, 20_000, 0.01)], "warnings": []}
    made = compare(campaign, index, {r.key: {"versions": {}, "run": run}
                                     for r in runs(campaign)}.get)  # fmt: skip
    assert set(made["overall"]) == {"own_limit"}
    assert "Mbit/s" in text_of(made)
    assert campaign_page.page(made).count('class="plotly-graph-div"') == 1
    assert "enforced Mbit/s" in campaign_page.markdown(made)


def test_comparisons_do_not_change_what_they_compare() -> None:
    made = comparison(GOODPUTS)
    before = copy.deepcopy(made)
    text_of(made), campaign_page.page(made), campaign_page.markdown(made)
    assert made == before
