# SPDX-License-Identifier: GPL-2.0-only
"""Several campaigns' answers: intervals by the tables of t, sides by hand, the command."""

from __future__ import annotations

import csv
import json
import math
import re
from pathlib import Path
from typing import Any

import folders
import pytest
from commands import TOOLS, tcon_lab
from tcon_lab.errors import LabError
from tcon_lab.experiment import campaign_file, published
from tcon_lab.numbers import against_published
from tcon_lab.numbers.campaign_run import Store, runs_of
from tcon_lab.numbers.confidence import interval, t_quantile
from tcon_lab.numbers.losses import left_percent, loss_times
from tcon_lab.numbers.many_campaigns import about, load, load_all, overview
from tcon_lab.pages import time_plots
from tcon_lab.pages.many_campaigns_page import answer_rows, coexistence, heat_map, side_table

# --- intervals --------------------------------------------------------------


@pytest.mark.parametrize(
    ("freedom", "level", "t"),
    [(1, 0.95, 12.7062), (2, 0.95, 4.3027), (9, 0.95, 2.2622), (30, 0.95, 2.0423),
     (1e6, 0.95, 1.95997), (4, 0.99, 4.6041), (10, 0.5, 0.6998)],
)  # fmt: skip
def test_quantiles_by_the_tables(freedom: float, level: float, t: float) -> None:
    assert t_quantile(freedom, level) == pytest.approx(t, abs=6e-5)


def test_an_interval_over_cells() -> None:
    """Three cells whose seeds' means are 0.5, 1 and 2: by hand."""
    got = interval([[0.5, 0.5], [0.5, 2.0], [2.0]])
    assert got is not None
    assert (got.mean, got.numbers, got.over) == (pytest.approx(1), 3, "cells")
    reach = 4.3027 * math.log(2) / math.sqrt(3)  # standard deviation: log 2
    assert (got.low, got.high) == (
        pytest.approx(math.exp(-reach), rel=1e-4), pytest.approx(math.exp(reach), rel=1e-4)
    )  # fmt: skip


def test_an_interval_of_one_cell_is_over_its_seeds() -> None:
    got = interval([[], [0.8, 1.25]])
    assert got is not None
    assert (got.mean, got.numbers, got.over) == (pytest.approx(1), 2, "seeds")
    reach = 12.7062 * math.log(1.25)  # the standard error of two is half of their distance
    assert got.high == pytest.approx(math.exp(reach), rel=1e-4)


def test_what_has_no_interval() -> None:
    assert interval([]) is None
    assert interval([[], []]) is None
    single = interval([[0.9]])
    assert single is not None
    assert (single.mean, single.low, single.high) == (pytest.approx(0.9), None, None)
    nothing = interval([[0.0], [1.0]])
    assert nothing is not None
    assert (nothing.mean, nothing.low) == (0, None)


def test_intervals_hold_what_they_should() -> None:
    """Of a thousand samples of six numbers about 95 % of the intervals hold the truth."""
    import random

    rng, held = random.Random(1), 0
    for _ in range(1000):
        got = interval([[math.exp(rng.gauss(0.1, 0.3))] for _ in range(6)])
        held += got.low <= math.exp(0.1) <= got.high
    assert 930 <= held <= 970


# --- answers ----------------------------------------------------------------


@pytest.fixture(scope="module")
def campaigns(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    top = tmp_path_factory.mktemp("campaigns")
    made = [("baseline", folders.BASELINE), ("pairs", folders.PAIRS),
            ("one", folders.ONE_FLOW), ("files", folders.FILES)]  # fmt: skip
    return [folders.make(top / name, text, folders.seeds_apart)[1] for name, text in made]


@pytest.fixture(scope="module")
def made(campaigns: list[Path]) -> dict[str, Any]:
    return overview(load_all(campaigns))


def answer(made: dict[str, Any], cc: str, metric: str, experiment: str) -> dict[str, Any]:
    (found,) = [
        a for a in made["answers"]
        if (a["cc"], a["metric"], a["experiment"]) == (cc, metric, experiment)
    ]  # fmt: skip
    return found


def test_answers_are_the_ratios_of_the_same_seed(made: dict[str, Any]) -> None:
    goodput = answer(made, "bbr", "goodput", "vm-baseline")
    assert goodput["mean"] == pytest.approx(folders.ratio_of_bbr(), rel=0.03)
    assert (goodput["numbers"], goodput["over"]) == (2, "cells")
    assert answer(made, "bbr", "rtt", "vm-baseline")["mean"] == pytest.approx(0.5, rel=0.03)
    assert answer(made, "cubic", "goodput", "vm-baseline")["mean"] == pytest.approx(1, rel=0.03)


def test_each_cc_of_a_pair_has_its_own_answer(made: dict[str, Any]) -> None:
    ccs = {a["cc"] for a in made["answers"] if a["experiment"] == "vm-pairs"}
    assert ccs == {"bbr", "cubic", "vegas"}
    assert answer(made, "cubic", "goodput", "vm-pairs")["numbers"] == 2
    assert answer(made, "vegas", "goodput", "vm-pairs")["numbers"] == 1


def test_transfers_are_judged_by_their_times(made: dict[str, Any]) -> None:
    got = [a for a in made["answers"] if a["experiment"] == "files"]
    assert [(a["cc"], a["metric"]) for a in got] == [("bbr", "completion")]
    assert got[0]["mean"] == pytest.approx(6.0 / 5.6)


def test_the_overall_answer_is_over_all_cells(made: dict[str, Any]) -> None:
    (cubic,) = [a for a in made["overall"] if (a["cc"], a["metric"]) == ("cubic", "goodput")]
    assert cubic["numbers"] == 2 + 2 + 1
    headings, rows = answer_rows(made)
    assert headings[:3] == ["CC", "experiment", "Goodput, enforced/native"]
    assert [row[1] for row in rows if row[0] == "cubic"] == [
        "all of them", "vm-baseline", "vm-pairs", "cubic-one-flow"
    ]  # fmt: skip
    assert [row[1] for row in rows if row[0] == "vegas"] == ["vm-pairs"]


def test_the_heat_map_has_each_answer_once(made: dict[str, Any]) -> None:
    (trace,) = heat_map(made, "goodput").data
    assert list(trace.x) == ["vm-baseline", "vm-pairs", "cubic-one-flow"]
    assert list(trace.y) == ["bbr", "cubic", "vegas"]
    assert trace.z[2][0] is None
    assert trace.z[0][0] == pytest.approx(folders.ratio_of_bbr(), rel=0.03)


def test_who_backs_off(made: dict[str, Any]) -> None:
    pairs = made["experiments"][1]["shares"]
    assert set(pairs) == {"native", "enforced"}
    assert pairs["native"]["bbr"]["cubic"] == pytest.approx(0.5, abs=0.01)
    assert made["experiments"][0]["shares"] == {}
    native = coexistence(pairs).data[0]
    at = {cc: n for n, cc in enumerate(native.x)}
    assert native.z[at["bbr"]][at["cubic"]] + native.z[at["cubic"]][at["bbr"]] == pytest.approx(1)
    assert native.z[at["bbr"]][at["vegas"]] is None


# --- published beside ours --------------------------------------------------


def test_rows_of_a_table_meet_our_cells(made: dict[str, Any]) -> None:
    (side,) = made["experiments"][0]["sides"]
    assert side["title"] == "Table 5.1, one CC alone"
    assert {row["of"] for row in side["rows"]} == {"bbr2, 1 VMs", "cubic, 1 VMs", "bbr2, 2 VMs"}
    assert {row["quantity"] for row in side["rows"]} == {
        "cwnd", "rtt", "throughput", "total sent", "jain",
    }  # fmt: skip
    found = {(row["of"], row["quantity"]): row for row in side["rows"]}
    rate = found["bbr2, 1 VMs", "throughput"]
    assert rate["ours"]["native"] == pytest.approx(94 / 8, rel=0.03)
    assert rate["differs"]["native"] == pytest.approx(rate["ours"]["native"] / 10 - 1)
    assert rate["ours"]["enforced"] == pytest.approx(0.95 * 94 / 8, rel=0.03)
    assert found["bbr2, 2 VMs", "throughput"]["ours"]["native"] == pytest.approx(94 / 16, rel=0.03)
    assert found["bbr2, 2 VMs", "jain"]["differs"]["native"] == pytest.approx(1, abs=0.01)
    assert ("cubic, 1 VMs", "cwnd") not in found  # the document gives none
    # All VMs together, each 10 MB/s; in runs of 60 s there, of 10 s here.
    assert found["bbr2, 1 VMs", "total sent"]["ours"]["native"] == pytest.approx(600, 0.01)
    assert found["bbr2, 2 VMs", "total sent"]["ours"]["native"] == pytest.approx(1200, 0.01)
    headings, rows = side_table(side, "native")
    assert headings[3:] == ["published", "ours, native", "differs", "ours, enforced", "differs"]
    assert len(rows) == len(side["rows"])


def test_how_much_ours_differ(made: dict[str, Any]) -> None:
    (side,) = made["experiments"][0]["sides"]
    got = against_published.differences(side, "native")
    assert got is not None
    assert got["rows"] == len(side["rows"])
    worst = max(side["rows"], key=lambda row: abs(row["differs"]["native"]))
    assert got["largest"] == worst
    assert got["of_nothing"] == 0
    assert against_published.differences(side, "stock") is None
    row = dict(worst, differs={"native": None}, ours={"native": 5.0})
    more = against_published.differences({"rows": [*side["rows"], row]}, "native")
    assert more is not None
    assert (more["rows"], more["of_nothing"]) == (len(side["rows"]), 1)


def test_every_table_of_the_documents_finds_its_cells() -> None:
    """Each published row of each experiment is of exactly one cell of the campaign file."""
    from tcon_lab.experiment.campaign_file import load as load_campaign

    count = 0
    for (name, table), places in against_published._PLACES.items():
        campaign = load_campaign(TOOLS / f"campaigns/{name}.toml")
        cells = [{"cell": c.name, "values": c.values} for c in campaign.cells]
        (found,) = [t for t in campaign.tables if t.name == table]
        for _, place in places(found.records()):
            (cell,) = against_published._cells({"cells": cells}, place.values)
            flows = next(c for c in campaign.cells if c.name == cell["cell"]).scenario.flows
            assert place.kind is None or 1 <= place.kind <= len(flows)
            count += 1
    assert count == 24 + 24 + 16 + 8 + 16 + 12 + 48 + 3


def test_what_is_of_a_whole_run() -> None:
    flows = [
        {"seconds": 20.0, "retransmitted_bytes": 14480, "cwnd_bytes": {"mean": 30000.0}},
        {"seconds": 20.0, "retransmitted_bytes": 43440, "cwnd_bytes": {"mean": 10000.0}},
    ]

    def ours(name: str, unit: str, seconds: float | None) -> float | None:
        read = against_published._reader((name, unit), seconds)
        return read({}, flows) if read else None

    assert ours("retransmissions", "packets", 60) == pytest.approx(60)
    assert ours("total_retransmissions", "packets", 60) == pytest.approx(120)
    assert ours("cwnd_sum", "kB", 60) == pytest.approx(1200)
    assert ours("cwnd", "kB", 60) == pytest.approx(20)
    assert ours("retransmissions", "packets", None) is None  # nobody said how long
    assert ours("lines", "lines", 60) is None
    flows[0]["retransmitted_bytes"] = None
    assert ours("total_retransmissions", "packets", 60) is None


def test_every_column_of_the_virtual_machines_has_ours() -> None:
    key = {"vms", "vm", "cc", "run", "delay", "loss"}
    document = published.load(TOOLS / "published/virtual-machines.toml")
    for table in (found for found in document.tables if found.campaign):
        assert table.seconds == 60
        for column in table.columns:
            if column.name not in key:
                assert against_published._reader((column.name, column.unit), table.seconds), column


def test_kinds_are_those_of_the_row() -> None:
    """CC and delay of the [[flow]] that a row is laid beside are the row's."""
    from tcon_lab.experiment.campaign_file import load as load_campaign

    for name, table in (("vm-two-delays", "5.2"), ("vm-four-delays", "5.3"), ("vm-pairs", "5.6"),
                        ("vm-loss-of-one", "5.5"), ("vm-one-against-three", "5.7")):  # fmt: skip
        campaign = load_campaign(TOOLS / f"campaigns/{name}.toml")
        (found,) = [t for t in campaign.tables if t.name == table]
        for row, place in against_published._PLACES[name, table](found.records()):
            scenario = next(
                c.scenario for c in campaign.cells
                if all(c.values.get(k) == v for k, v in place.values.items())
            )  # fmt: skip
            assert place.kind is not None
            flow = scenario.flows[place.kind - 1]
            assert flow.native_cc == {"bbr2": "bbr"}.get(row["cc"], row["cc"])
            assert flow.extra_delay_us == 1000 * row.get("delay", 0)
            assert flow.extra_loss_fraction == pytest.approx(row.get("loss", 0) / 100)
            if "vms" in row:
                assert len(scenario.connections()) == row["vms"]


def test_what_differs_is_told_by_the_campaigns_file(made: dict[str, Any], tmp_path: Path) -> None:
    first, *_ = made["experiments"]
    assert first["about"][0].startswith("Virtual machines, each CC alone")
    assert (
        "- No VM has a hypervisor's CPU to share with others: only the path is rebuilt."
        in (first["about"])
    )
    (tmp_path / "mine.toml").write_text(
        "# SPDX\n# One\n# two.\n#\n# - three\n#   four\nname = 1\n#no"
    )
    assert about("mine-short", tmp_path) == ["One two.", "- three four"]
    assert about("others", tmp_path) == []


def run_of(cc: str, other: str, **path: Any) -> dict[str, Any]:
    defaults = {"rtt_us": 8000, "loss_fraction": 0.012, "rate_bps": 10**9}
    flow = {"goodput_bps": 9e8, "table": 0}
    flows = [flow | {"cc": cc}, flow | {"cc": other, "goodput_bps": 2e7}]
    return {"scenario": {"path": defaults | path}, "run": {"flows": flows}}


@pytest.mark.parametrize(
    ("of", "run", "about"),
    [
        ({"cc": "bbr", "against": "any", "delay": "8ms", "loss": "1.2%"},
         run_of("bbr", "cubic"), True),
        ({"cc": "bbr", "against": "cubic", "delay": "64ms"}, run_of("bbr", "cubic"), False),
        ({"cc": "bbr", "loss": "0%"}, run_of("bbr", "cubic"), False),
        ({"cc": "any but bbr", "loss": "not said"}, run_of("bbr", "cubic"), True),
        ({"cc": "dctcp", "against": "bic"}, run_of("dctcp", "linux:bic"), True),
        ({"cc": "dctcp", "against": "bbr"}, run_of("dctcp", "linux:bic"), False),
        ({"cc": "bbr", "against": "none"}, run_of("bbr", "cubic"), False),
        ({"cc": "bbr", "colour": "red"}, run_of("bbr", "cubic"), False),  # nobody knows what it is
        ({"aqm": "droptail", "flows": "2"}, run_of("bbr", "cubic"), True),
        ({"aqm": "pie"}, run_of("bbr", "cubic", aqm={"kind": "pie"}), True),
        ({"aqm": "pie"}, run_of("bbr", "cubic"), False),
        ({"aqm": "codel", "interval": "any"},
         run_of("bbr", "cubic", aqm={"kind": "codel", "interval_us": 5000}), True),
        ({"aqm": "codel", "interval": "30ms"},
         run_of("bbr", "cubic", aqm={"kind": "codel", "interval_us": 5000}), False),
    ],
)  # fmt: skip
def test_what_a_value_is_about(of: dict[str, str], run: dict[str, Any], about: bool) -> None:
    assert against_published._in_cell(of, {"values": {}}, run) is about


def test_values_of_the_text_beside_ours() -> None:
    file = published.load(TOOLS / "published/cc-pairs.toml")
    values = [vars(v) for v in file.of_campaign("cc-pairs").values]
    cell = {"cell": "c", "values": {}, "published": None, "completion": {}}
    comparison = {"campaign": "cc-pairs", "tables": [], "values": values, "cells": [cell]}
    runs = {"c": {"native": {1: run_of("bbr", "cubic")}}}
    (side,) = against_published.sides(comparison, runs)
    rows = {row["cc"]: row for row in side["rows"]}
    assert rows["bbr"]["text"] == "850 +- 20"
    assert rows["bbr"]["ours"] == {"native": 900}
    assert rows["bbr"]["differs"]["native"] == pytest.approx(900 / 870 - 1)
    assert rows["any but bbr"]["ours"] == {"native": 20}


def test_a_goodput_of_no_cc_is_that_of_all_flows() -> None:
    document = published.parse(
        'source = "s"\n[[value]]\nquantity = "goodput"\nunit = "Mbit/s"\nlow = 910\n'
        'of = {rate = "1000mbit"}\nwhere = "w"\n'
    )
    cell = {"cell": "c", "values": {}, "published": None, "completion": {}}
    values = [vars(value) for value in document.values]
    comparison = {"campaign": "c", "tables": [], "values": values, "cells": [cell]}
    runs = {"c": {"native": {1: run_of("bbr", "cubic")}}}
    (side,) = against_published.sides(comparison, runs)
    assert [row["ours"] for row in side["rows"]] == [{"native": 920}]


def test_packets_in_flight_are_a_median_over_samples() -> None:
    file = published.load(TOOLS / "published/tcon-paper.toml")
    values = [vars(value) for value in file.of_campaign("buffered").values]
    cell = {"cell": "LAN", "values": {"case": "LAN"}, "published": None, "completion": {}}
    comparison = {"campaign": "buffered", "tables": [], "values": values, "cells": [cell]}
    columns = {"t_s": [1, 2, 3, 4], "tcon_inflight_bytes": [None, 14480, 28960, 144800]}
    kept = {"flows": [{"index": 0, "columns": columns}]}
    runs = {"LAN": {"enforced": {1: run_of("bbr", "bbr")}}}
    (side,) = against_published.sides(comparison, runs, lambda *run: kept)
    assert [(row["text"], row["ours"]) for row in side["rows"]] == [("20", {"enforced": 20})]


def test_ranges_differ_by_their_nearer_end() -> None:
    assert against_published._differs(5, 4, 6) == 0
    assert against_published._differs(3, 4, 6) == pytest.approx(-0.25)
    assert against_published._differs(9, 4, 6) == pytest.approx(0.5)
    assert against_published._differs(9, 0, 0) is None


# --- plots over time --------------------------------------------------------


def test_losses_are_where_the_window_falls() -> None:
    windows = [10, 20, 30, 21, 22, 24, 30, 29, 30, 15, 15, 15, 16, None, 40, 20]
    columns = {"t_s": [n / 10 for n in range(len(windows))], "guest_cwnd_bytes": windows}
    assert loss_times(columns, "guest") == [0.3, 0.9, 1.5]
    assert loss_times(columns, "tcon") == []


def test_what_a_loss_leaves() -> None:
    columns = {
        "t_s": [0.1 * n for n in range(9)],
        "guest_cwnd_bytes": [80, 90, 100, 50, 50, 55, 60, 42, 42],
        "guest_ssthresh_bytes": [None, None, None, 50, 50, 50, 50, 42, 42],
    }
    assert left_percent(columns, "guest") == 50  # of 50 and 70 the lower median
    columns["guest_ssthresh_bytes"][3] = None
    assert left_percent(columns, "guest") == pytest.approx(70)
    assert left_percent({"t_s": [0.1]}, "guest") is None
    assert left_percent(columns, "tcon") is None


def test_what_a_loss_leaves_beside_what_was_published() -> None:
    """Section 1.2 of the five CCs: CUBIC keeps 70 %; Reno's value is of other cells."""
    file = published.load(TOOLS / "published/five-ccs.toml")
    values = [vars(v) for v in file.of_campaign("five-ccs").values]
    run = run_of("cubic", "cubic")
    cell = {"cell": "c", "values": {}, "published": None, "completion": {}}
    comparison = {"campaign": "five-ccs", "tables": [], "values": values, "cells": [cell]}
    columns = {"t_s": [0.1, 0.2], "guest_cwnd_bytes": [100, 66], "guest_ssthresh_bytes": [None, 63]}
    asked = []

    def samples(*run: Any) -> dict[str, Any] | None:
        asked.append(run)
        return {"flows": [{"index": 0, "columns": columns}]} if run[1] == "native" else None

    (side,) = against_published.sides(
        comparison, {"c": {"native": {3: run}, "enforced": {3: run}}}, samples
    )
    (row,) = side["rows"]
    assert (row["quantity"], row["published"], row["ours"]) == (
        "cwnd after a loss, of that before", 70, {"native": 63}
    )  # fmt: skip
    assert row["differs"]["native"] == pytest.approx(-0.1)
    assert asked == [("c", "native", 3), ("c", "enforced", 3)]


def test_the_model_is_laid_over_its_experiment_alone(campaigns: list[Path]) -> None:
    names = {}
    for folder in campaigns:
        plots, more = time_plots.over_time(load(folder))
        assert more == 0
        names[folder.name] = {t.name for plot in plots for t in plot.figure.data}
        for plot in plots:
            for trace in plot.figure.data:
                assert len(trace.x) == len(trace.y) > (1 if "Jain" in trace.name else 10)
    assert any(name.startswith("model of one flow") for name in names["one"])
    assert {"native cubic: cwnd", "native cubic: ssthresh", "enforced cubic: ssthresh",
            "enforced cubic: path RTT"} <= names["one"]  # fmt: skip
    assert not any("model" in name for name in names["baseline"])
    assert {"native bbr: cwnd", "native cubic: cwnd", "enforced vegas: path RTT"} <= names["pairs"]
    assert {"native cubic: goodput", "native: Jain"} <= names["pairs"]
    assert not any("Jain" in name for name in names["one"])  # there is one flow
    assert names["files"] == set()  # transfers have no samples


def test_fairness_over_time_is_of_whole_seconds() -> None:
    """Two flows share equally in the first second; one has all in the second."""
    times, two = [0.5, 1.0, 1.5, 2.0], {"t_s": [0.5, 1.0, 1.5, 2.0, 2.5]}
    first = {"columns": {"t_s": times, "goodput_bps": [4e6, 2e6, 6e6, 6e6]}}
    second = {"columns": two | {"goodput_bps": [3e6, 3e6, 0, 0, 9e6]}}
    ((panel, trace),) = time_plots._fairness("native", {"bbr": [first], "cubic": [second]})
    assert (panel, list(trace.x), list(trace.y)) == (5, [1, 2], [1.0, 0.5])


def test_sequence_numbers_over_time() -> None:
    """una is what has been acknowledged so far, and nxt what is in flight beyond it."""
    columns = {"t_s": [0.5, 1.0, 1.5], "goodput_bps": [8e6, None, 16e6]}
    inflight = {"tcon_inflight_bytes": [1000, 2000, None]}
    una, nxt = time_plots._sequence("enforced", {"bbr": [{"columns": columns | inflight}]})
    assert [(panel, trace.name) for panel, trace in (una, nxt)] == [
        (6, "enforced bbr: una"), (6, "enforced bbr: nxt"),
    ]  # fmt: skip
    assert list(una[1].y) == [0.5, 0.5, 1.5]
    assert list(nxt[1].y) == [0.501, 0.502, None]
    ((panel, trace),) = time_plots._sequence("native", {"bbr": [{"columns": columns}]})
    assert (panel, trace.name) == (6, "native bbr: una")


def test_flows_of_a_cc_that_are_not_alike_are_drawn_apart() -> None:
    flows = [{"index": n, "cc": "bbr", "table": n // 2} for n in range(3)]
    samples = {"flows": [{"index": n, "columns": {"t_s": [1]}} for n in range(3)]}
    found = time_plots._by_cc({"flows": flows}, samples)
    assert {name: len(several) for name, several in found.items()} == {"bbr (1)": 2, "bbr (2)": 1}


def test_cells_that_are_drawn_are_spread(
    campaigns: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_plots, "MAX_CELLS", 2)
    plots, more = time_plots.over_time(load(campaigns[0]))
    assert ([plot.title for plot in plots], more) == (["1 bbr", "2 bbr"], 2)


def test_the_fluid_model_beside_the_buffers(tmp_path: Path) -> None:
    """Utilisation and queue of each buffer: ours of the two modes, and the model's."""
    _, folder = folders.make(tmp_path / "buffers", folders.BUFFERS)
    experiment = load(folder)
    used, queue = time_plots.over_path(experiment)
    traces = {trace.name: trace for trace in used.figure.data}
    assert set(traces) == {
        f"{cc}{what}" for cc in ("cubic", "reno")
        for what in (", native", ", enforced", ": fluid model (3.2 to 3.6)")
    }  # fmt: skip
    for name, trace in traces.items():
        assert list(trace.x) == [pytest.approx(0.3, rel=0.01), pytest.approx(1, rel=0.01)], name
        assert all(0.5 < y <= 1.001 for y in trace.y), name
    model = traces["reno: fluid model (3.2 to 3.6)"].y
    assert model[1] > model[0]  # Reno wants the larger buffer
    path = time_plots.model_path(experiment.runs["0.3bdp cubic"]["native"][1]["scenario"])
    assert path.capacity_pps == pytest.approx(1e8 / 12_000 / 2)
    assert path.bdp_packets == pytest.approx(166.7, abs=0.1)
    assert path.buffer_packets == pytest.approx(0.3 * path.bdp_packets, abs=1)
    queues = {trace.name: trace.y for trace in queue.figure.data}
    assert queues["cubic: fluid model (3.2 to 3.6)"][1] < 1.5 * 333  # kB: a BDP is 500
    plots, _ = time_plots.over_time(experiment)
    for plot in plots:
        names = {trace.name for trace in plot.figure.data}
        assert {"fluid model (3.2 to 3.6)", "its RTT (3.4)"} <= names
        assert plot.note == f"Seed 1; the mean of 2 flows of {plot.title.split()[1]}."


def test_cycles_of_a_sawtooth(campaigns: list[Path]) -> None:
    """The fixture's window falls every 2 s."""
    (point,) = time_plots.cycle_points(load(campaigns[2]))
    assert point["measured"] == {"native": pytest.approx(2.0, abs=0.1),
                                 "enforced": pytest.approx(2.0, abs=0.1)}  # fmt: skip
    assert point["rtt_s"] == 0.05
    assert len(time_plots.over_path(load(campaigns[2]))) == 1
    assert time_plots.over_path(load(campaigns[0])) == []


# --- the command ------------------------------------------------------------


def test_the_command_writes_page_json_and_csv(campaigns: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "new/all.html"
    done = tcon_lab("report", *campaigns, "--out", out)
    assert (done.returncode, done.stderr) == (0, "")
    assert "vm-baseline" in done.stdout
    page = out.read_text()
    body = page[page.index("<body>") :]
    assert re.findall(r'(?:src|href)="(?!#)', body) == []  # nothing from elsewhere
    for name in ("vm-baseline", "vm-pairs", "cubic-one-flow", "files"):
        assert f'<section id="{name}">' in body
    assert "ours (native) of 12 numbers differ by" in body
    made = json.loads(out.with_suffix(".json").read_text())
    assert made["level"] == 0.95
    rows = list(csv.DictReader(out.with_suffix(".csv").open(newline="")))
    assert {row["what"] for row in rows} == {"answer", "cell", "flows", "model", "published"}
    (row,) = [r for r in rows if r["what"] == "answer" and r["experiment"] == "vm-baseline"
              and (r["cc"], r["metric"]) == ("bbr", "goodput")]  # fmt: skip
    assert float(row["mean"]) == pytest.approx(folders.ratio_of_bbr(), rel=0.03)
    (row,) = [r for r in rows if r["what"] == "published" and r["of"] == "bbr2, 2 VMs"
              and (r["mode"], r["metric"]) == ("native", "throughput, MB/s")]  # fmt: skip
    assert (row["published"], row["where"]) == ("5", "section 5.1")
    assert float(row["mean"]) == pytest.approx(94 / 16, rel=0.03)
    names = [tuple(row.values())[:7] for row in rows]
    assert len(names) == len(set(names))  # what the comparison shows is not there twice
    again = tcon_lab("report", *campaigns, "--out", tmp_path / "again.html")
    assert again.returncode == 0
    assert (tmp_path / "again.json").read_bytes() == out.with_suffix(".json").read_bytes()


def test_a_campaign_without_native_runs(tmp_path: Path) -> None:
    text = folders.BASELINE.replace('["native", "enforced"]', '["guest", "enforced"]')
    text = text.replace("cc = [", "enforce = [").split("[[bar]]")[0]
    _, folder = folders.make(tmp_path / "alone", text)
    done = tcon_lab("report", folder, "--out", tmp_path / "x.html")
    assert (done.returncode, done.stderr) == (0, "")
    page = (tmp_path / "x.html").read_text()
    assert "No run of mode enforced has one of mode native beside it." in page
    assert 'id="vm-baseline-time-0"' in page


def test_wrong_folders_are_named(campaigns: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "x.html"
    for words, message in (
        ([tmp_path, "--out", out], f"{tmp_path} holds no campaign with a comparison.json"),
        ([campaigns[0], campaigns[0], "--out", out], "both hold campaign vm-baseline"),
        ([campaigns[0], "--out", tmp_path / "x.pdf"], "must end in .html"),
    ):
        done = tcon_lab("report", *words)
        assert done.returncode == 1
        assert message in done.stderr
        assert done.stderr.count("\n") == 1
    assert not out.exists()


def test_a_folder_of_an_older_version(campaigns: list[Path], tmp_path: Path) -> None:
    for name in ("index.json", "comparison.json"):
        text = json.loads((campaigns[0] / name).read_text())
        text.pop("tables", None)
        (tmp_path / name).write_text(json.dumps(text))
    with pytest.raises(LabError, match="has no tables: make it anew"):
        load(tmp_path)
    text["tables"] = []
    (tmp_path / "comparison.json").write_text(json.dumps(text))
    with pytest.raises(LabError, match="holds no run of campaign vm-baseline"):
        load(tmp_path)


# --- runs and comparison are of one another -------------------------------------------


def _run_again(folder: Path, text: str, factors: folders.Factors) -> None:
    """What `tcon-lab campaign` leaves that was interrupted after its last run."""
    (folder / "campaign.toml").write_text(text)
    campaign, store = campaign_file.load(folder / "campaign.toml"), Store(folder)
    runs = runs_of(campaign, lambda mode: f"changed, {mode}")
    store.prepare(campaign, runs)
    for run in runs:
        store.save(run, folders._raw(run, factors), 1.0)


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        (folders.BASELINE, folders.BASELINE),
        (folders.BUFFERS, folders.BUFFERS.replace('"1.0bdp"]', '"1.0bdp", "2.0bdp"]')),
    ],
    ids=["other-runs", "more-cells"],
)
def test_a_comparison_of_other_runs_is_refused(tmp_path: Path, text: str, changed: str) -> None:
    _, folder = folders.make(tmp_path / "x", text)
    load(folder)
    _run_again(folder, changed, folders.alike)
    with pytest.raises(LabError, match=r"is of other runs than index\.json"):
        load(folder)


def test_a_number_of_100_ms_stands_beside_cells_of_100_ms() -> None:
    """Figures 6.8 and 6.9 of the thesis, which has other RTTs in a section of their own."""
    campaign = campaign_file.load(TOOLS / "campaigns/cubic-aqm-interval.toml")
    values = [value.model_dump() for value in campaign.values]
    found = set()
    for cell in campaign.cells:
        scenario = json.loads(cell.scenario.to_json())
        run = {"scenario": scenario, "run": {"flows": [{"cc": "reno"}] * 64}}
        for value in values:
            here = against_published._in_cell(value["of"], {"values": cell.values}, run)
            if value["of"] and value["where"].startswith("section 6.4.2") and here:
                found.add(cell.scenario.path.rtt_us)
    assert found == {100_000}
