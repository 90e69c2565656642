# SPDX-License-Identifier: GPL-2.0-only
"""Campaigns: what files mean, what is run when, and what the runs add up to."""

from __future__ import annotations

import copy
import itertools
import json
import re
import threading
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import synthetic
from commands import tcon_lab
from rich.console import Console
from tcon_lab.errors import LabError
from tcon_lab.experiment import published
from tcon_lab.experiment.campaign import Campaign
from tcon_lab.experiment.campaign_file import load, parse
from tcon_lab.numbers import gallery
from tcon_lab.numbers.against_native import COMPARED, QUANTITIES, compare, geometric_mean
from tcon_lab.numbers.campaign_run import Estimate, Run, Store, conduct, duration, runs_of
from tcon_lab.numbers.results import results_from_raw
from tcon_lab.pages import campaign_page, gallery_plots
from tcon_lab.pages.completion import completion_curves
from tcon_lab.scenario import Scenario, ScenarioError

CAMPAIGNS = Path(__file__).parents[2] / "tools/campaigns"

FULL = """\
name = "grid"
seconds = 10
modes = ["native", "enforced"]
seeds = [1, 2]

[path]
queue = "1.0bdp,50p"

[[flow]]
guest_cc = "cubic"
native_cc = "bbr"
enforce = "bbr"

[matrix]
rate = ["10mbit", "100mbit"]
rtt = ["8ms", "64ms"]
loss = ["0%", "0.1%"]

[[bar]]
metric = "goodput"
rtt_max = "8ms"
min = 0.95
aim = 0.98

[[bar]]
metric = "goodput"
min = 0.9
max = 1.1

[[bar]]
metric = "goodput"
over = "mean"
min = 0.98
"""


def change(old: str, new: str, text: str = FULL) -> str:
    assert text.count(old) == 1
    return text.replace(old, new)


# --- files ------------------------------------------------------------------


def test_every_combination_is_a_cell() -> None:
    got = parse(FULL)
    assert len(got.cells) == 8
    assert got.seeds == (1, 2)
    assert got.modes == ("native", "enforced")
    cell = got.cells[6]
    assert cell.name == "100mbit 64ms 0%"
    assert cell.values == {"rate": "100mbit", "rtt": "64ms", "loss": "0%"}
    assert cell.scenario.name == "grid-100mbit-64ms-0pct"
    path = cell.scenario.path
    assert (path.rate_bps, path.rtt_us, path.loss_fraction) == (100_000_000, 64_000, 0.0)
    assert path.queue_packets == 534
    assert got.cells[1].scenario.path.loss_fraction == 0.001
    assert got.cells[0].scenario.path.queue_packets == 50  # a BDP would be 7
    assert len({cell.scenario.name for cell in got.cells}) == 8


def test_ccs_are_those_of_all_flows() -> None:
    text = change('loss = ["0%", "0.1%"]', 'guest_cc = ["reno", "vegas"]')
    text = text.replace('guest_cc = "cubic"\n', "", 1)
    text = text.replace("[matrix]", '[[flow]]\nguest_cc = "bbr"\n[matrix]')
    flows = parse(text).cells[1].scenario.flows
    assert [flow.guest_cc for flow in flows] == ["vegas", "vegas"]
    assert [flow.native_cc for flow in flows] == ["bbr", "vegas"]


CASES = """\
name = "paths"
seconds = 5
[[flow]]
guest_cc = "cubic"
enforce = "cubic"
[matrix]
loss = ["0%", "1%"]
[[case]]
name = "near by"
rate = "100mbit"
rtt = "1ms"
[[case]]
name = "far"
rate = "5mbit"
rtt = "200ms"
"""


def test_cases_are_named_cells() -> None:
    got = parse(CASES)
    assert [cell.name for cell in got.cells] == ["near by 0%", "near by 1%", "far 0%", "far 1%"]
    assert got.cells[1].scenario.name == "paths-near-by-1pct"
    assert got.cells[2].scenario.path.rate_bps == 5_000_000
    assert got.cells[2].values == {
        "case": "far", "rate": "5mbit", "rtt": "200ms", "loss": "0%"
    }  # fmt: skip


def test_without_a_matrix_there_is_one_cell() -> None:
    text = FULL[: FULL.index("[matrix]")] + '[[bar]]\nmetric = "rtt"\nmax = 1.1\n'
    text = text.replace("[path]", '[path]\nrate = "1mbit"\nrtt = "10ms"')
    (cell,) = parse(text).cells
    assert cell.scenario.name == cell.name == "grid"


def test_the_first_bar_that_fits_counts() -> None:
    got = parse(FULL)
    bars = [got.bar("goodput", cell) for cell in got.cells]
    assert [bar and bar.low for bar in bars] == [0.95, 0.95, 0.9, 0.9] * 2
    assert got.bar("rtt", got.cells[0]) is None
    mean = got.mean_bar("goodput")
    assert mean is not None
    assert mean.low == 0.98
    strict, loose = bars[0], bars[2]
    assert strict is not None
    assert loose is not None
    assert [strict.reached(value) for value in (0.949, 0.95, 3)] == [False, True, True]
    assert [loose.reached(value) for value in (0.89, 1.1, 1.11)] == [False, True, False]
    assert [strict.aim_reached(value) for value in (0.979, 0.98)] == [False, True]


def test_bars_by_loss_and_guest_cc() -> None:
    text = change('rtt_max = "8ms"', 'loss_max = "0%"\nguest_cc = ["reno"]')
    assert parse(text).bars[0].fits(parse(FULL).cells[0].scenario) is False
    text = text.replace('["reno"]', '["cubic"]')
    assert [parse(text).bars[0].fits(cell.scenario) for cell in parse(FULL).cells[:2]] == [
        True, False
    ]  # fmt: skip


WRONG = [
    ('modes = ["native", "enforced"]', "modes = [[1]]", 3, "unknown mode [1]; known are guest"),
    ("[matrix]", "[[matrix]]", 14, "matrix must be a table, not a list"),
    ("seconds = 10", "seconds = 0", 2, "seconds is 0"),
    ("seeds = [1, 2]", "seed = 1", 4, 'unknown key "seed"'),
    ("seeds = [1, 2]", "seeds = 1", 4, "seeds must be a list of numbers, not a number"),
    ("seeds = [1, 2]", "seeds = []", 4, "not an empty list"),
    ("seeds = [1, 2]", "seeds = [1, -2]", 4, "seed -2"),
    ("seeds = [1, 2]", "seeds = [1, true]", 4, "seed True"),
    ("seeds = [1, 2]", "seeds = [\n 1,\n 1]", 4, "seed 1 stands twice"),
    ('rtt = ["8ms", "64ms"]', 'rtt = "8ms"', 16, "matrix.rtt must be a list of values, not a st"),
    ('rtt = ["8ms", "64ms"]', "rtt = []", 16, "not an empty list"),
    ('rtt = ["8ms", "64ms"]', 'rtt = ["8ms", "8ms"]', 16, "8ms stands twice in matrix.rtt"),
    ('rtt = ["8ms", "64ms"]', 'rtt = ["8ms", "64"]', 16, 'path.rtt is "64" without a unit'),
    ('rtt = ["8ms", "64ms"]', "rtt = [8]", 16, "path.rtt must be a string"),
    ('rtt = ["8ms", "64ms"]', 'rtts = ["8ms"]', 16, 'unknown key "rtts" in [matrix]'),
    ('loss = ["0%", "0.1%"]', 'enforce = ["veno"]', 17, "flow 1's enforce is \"veno\""),
    ('rtt = ["8ms", "64ms"]\n', "", 6, "path.rtt is missing"),
    ('loss = ["0%", "0.1%"]', 'loss = ["0.1%", "0.1pct"]', 17, 'unknown unit "pct"'),
    ('enforce = "bbr"', 'enforce = "veno"', 12, "flow 1's enforce"),
    ("min = 0.9\nmax", "minimum = 0.9\nmax", 27, 'unknown key "minimum" in [bar]'),
    ("min = 0.9\nmax = 1.1", "", 25, "bar 2 has neither min nor max nor aim"),
    ("min = 0.9\n", 'min = "0.9"\n', 27, "bar 2's min must be a number, not a string"),
    ("min = 0.9\n", "min = -1\n", 27, "bar 2's min is -1: it cannot be negative"),
    ('over = "mean"', 'over = "all"', 32, 'bar 3\'s over is "all"; known are cells, mean'),
    ('rtt_max = "8ms"', 'rtt_max = "8"', 21, "bar 1's rtt_max is \"8\" without a unit"),
    ('rtt_max = "8ms"', 'guest_cc = "reno"', 21, "bar 1's guest_cc must be a list of CCs"),
    ('metric = "goodput"\nover', 'metric = "speed"\nover', 31, 'metric is "speed"; known are'),
    ('metric = "goodput"\nover', 'metric = "own_limit"\nover', 32, "own_limit has no mean"),
    ("[matrix]", "[matrices]", 14, 'unknown key "matrices"'),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "line", "words"), WRONG)
def test_errors_name_the_line(old: str, new: str, line: int, words: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse(change(old, new), "dir/my.toml")
    message = str(caught.value)
    assert message.startswith(f"dir/my.toml:{line}: ")
    assert words in message
    assert message.endswith(".")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ('"far"', '"near by"', 13, 'two cases have the name "near by"'),
        ('rate = "5mbit"', 'loss = "0%"', 14, "both case 2 and the matrix have the key loss"),
        ('rate = "5mbit"', 'rate = "5"', 14, 'path.rate is "5" without a unit'),
        ('rate = "5mbit"\n', "", 1, "path.rate is missing"),
        ('"far"', '"near  by"', 6, 'two cells have the name "paths-near-by-0pct"'),
        ('[[case]]\nname = "near by"', '[[case]]\nnme = "near by"', 9, 'unknown key "nme"'),
    ],
)
def test_errors_about_cases(old: str, new: str, line: int, words: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse(change(old, new, CASES), "f")
    assert str(caught.value).startswith(f"f:{line}: ")
    assert words in str(caught.value)


def test_a_campaign_is_not_too_large() -> None:
    counts = ", ".join(str(n) for n in range(1, 600))
    text = change(
        'loss = ["0%", "0.1%"]', f"loss = [{', '.join(repr(f'{n}us') for n in range(9))}]"
    )
    text = change("[matrix]", f"[matrix]\ncount = [{counts}]", text)
    with pytest.raises(ScenarioError, match="there are 21564 cells, more than 10000"):
        parse(text)


def test_the_campaigns_that_come_with_tcon() -> None:
    files = sorted(CAMPAIGNS.glob("*.toml"))
    assert len(files) >= 2
    for file in files:
        got = load(file)
        assert got.name == file.stem
        assert COMPARED in got.modes
        assert got.bars


@pytest.mark.parametrize("file", sorted(CAMPAIGNS.glob("*.toml")), ids=lambda file: file.stem)
def test_campaigns_do_as_their_heads_say(file: Path) -> None:
    text, got = file.read_text(), load(file)
    said = re.search(r"All of it is (\d+) runs", text)
    if said:
        assert int(said[1]) == len({run.key for run in runs(got)})
    assert ("--short" in text) == ("[short]" in text)
    if "[short]" in text:
        short = load(file, short=True)
        assert set(short.seeds) <= set(got.seeds)
        assert {cell.name for cell in short.cells} <= {cell.name for cell in got.cells}
        assert sum(r.weight for r in runs(short)) < sum(r.weight for r in runs(got)) / 2
    for name in re.findall(r"tools/published/\n?#? ?([a-z-]+\.toml)", text):
        assert (CAMPAIGNS.parent / "published" / name).exists()


def seen(campaign: str, key: str) -> list[str]:
    """The values of a key in all cells of a campaign, each once."""
    found = load(CAMPAIGNS / f"{campaign}.toml").cells
    return list(dict.fromkeys(cell.values[key] for cell in found))


@pytest.fixture(scope="module")
def documents() -> dict[str, published.Document]:
    return {file.stem: published.load(file) for file in CAMPAIGNS.parent.glob("published/*.toml")}


def test_what_was_published_is_repeated(documents: dict[str, published.Document]) -> None:
    """Campaigns that are named there exist, and have the cells of the tables."""
    names = {
        entry.campaign for d in documents.values() for entry in (*d.tables, *d.values)
    } - {None}  # fmt: skip
    assert names <= {file.stem for file in CAMPAIGNS.glob("*.toml")}
    assert len(names) >= 15
    for document, table, campaign, key, unit in (
        ("cc-pairs", "1", "cc-pairs", "loss", "%"),
        ("cc-pairs", "2", "cc-pairs", "rtt", "ms"),
        ("cc-pairs", "2", "cc-pairs-ctcp", "rtt", "ms"),
        ("five-ccs", "delays", "five-ccs", "rtt", "ms"),
        ("five-ccs", "losses", "five-ccs", "loss", "%"),
        ("tcon-paper", "2", "files", "bytes", "MB"),
    ):
        rows = documents[document].table(table).rows
        assert seen(campaign, key) == [f"{row[0]}{unit}" for row in rows]


def test_virtual_machines_are_those_of_the_document(
    documents: dict[str, published.Document],
) -> None:
    tables = documents["virtual-machines"]
    ours = {"bbr2": "bbr"}

    def named(cc: Any) -> str:
        return ours.get(cc, cc)

    baseline = {(str(r["vms"]), named(r["cc"])) for r in tables.table("5.1").records()}
    cells = load(CAMPAIGNS / "vm-baseline.toml").cells
    assert {(cell.values["count"], cell.values["cc"]) for cell in cells} == baseline
    for name, campaign in (
        ("5.2", "vm-two-delays"), ("5.3", "vm-four-delays"), ("5.5", "vm-loss-of-one"),
        ("5.6", "vm-pairs"), ("5.7", "vm-one-against-three"),
    ):  # fmt: skip
        records = tables.table(name).records()
        theirs = [
            sorted((named(r["cc"]), r.get("delay", 0), r.get("loss", 0)) for r in group)
            for _, group in itertools.groupby(records, lambda r: r["run"])
        ]
        mine = [
            sorted((f.enforce, f.extra_delay_us / 1000, 100 * f.extra_loss_fraction)
                   for f in cell.scenario.connections())
            for cell in load(CAMPAIGNS / f"{campaign}.toml").cells
        ]  # fmt: skip
        assert sorted(mine) == sorted(theirs)


def test_the_thesiss_scenarios(documents: dict[str, published.Document]) -> None:
    cells = {c.name: c.scenario for c in load(CAMPAIGNS / "cubic-scenarios.toml").cells}
    for name, table in (("A 1.0bdp", "5.1"), ("B", "5.2"), ("C 1.0bdp", "5.3")):
        (ideal, bed) = documents["cubic-thesis"].table(table).records()
        assert cells[f"{name} cubic"].path.rate_bps == float(bed["rate"]) * 1e6  # type: ignore
        assert cells[f"{name} cubic"].path.rtt_us == float(bed["rtt"]) * 1e3  # type: ignore
        path = cells[f"{name[0]} ideal reno"].path
        assert (path.rtt_us, path.queue_packets) == (float(ideal["rtt"]) * 1e3, ideal["buffer"])  # type: ignore
    lines = {c.values["case"]: c.scenario.path
             for c in load(CAMPAIGNS / "cubic-one-flow.toml").cells}  # fmt: skip
    for record in documents["cubic-thesis"].table("2.4.2").records():
        path = lines[str(record["scenario"])]
        assert (path.rate_bps / 1e6, path.rtt_us / 1e3, path.queue_packets) == (
            record["rate"], record["tau"], record["buffer"]
        )  # fmt: skip


def test_what_was_published(tmp_path: Path) -> None:
    got = load(CAMPAIGNS / "transfers.toml")
    assert got.published["LAN 10MB"].mean_s == {"guest": 1.7003, "native": 1.586, "enforced": 1.653}
    assert "Guan" in got.source
    assert {cell.values["case"] for cell in got.cells} == set(got.published)
    text = FULL.replace("[path]", 'published = "paper.toml"\n[path]', 1)
    file = tmp_path / "c.toml"
    file.write_text(text)
    with pytest.raises(ScenarioError, match=r"paper\.toml: cannot be read"):
        load(file)
    (tmp_path / "paper.toml").write_text('source = "x"\n')
    with pytest.raises(ScenarioError, match=r"paper\.toml:1: there is no"):
        load(file)
    (tmp_path / "paper.toml").write_text(
        'source = "x"\n[[value]]\nquantity = "q"\nunit = "s"\nvalue = 1\nwhere = "w"\n'
    )
    with pytest.raises(ScenarioError, match=r"c\.toml:6: .*holds nothing of campaign grid"):
        load(file)


def test_transfers_in_a_matrix() -> None:
    got = load(CAMPAIGNS / "light-load.toml")
    assert len(got.cells) == 12
    transfers = {cell.scenario.flows[0].transfer for cell in got.cells}
    assert {t.size_bytes for t in transfers if t} == {10_000, 100_000}
    cell = got.cells[-1]
    assert cell.name == "BBR on CUBIC 20ms 100kB"
    flow = cell.scenario.flows[0]
    assert (flow.guest_cc, flow.stack_cc("stock"), flow.enforced_cc("enforced")) == (
        "cubic", "bbr", "bbr"
    )  # fmt: skip


PAIRS = """\
name = "pairs"
seconds = 20
seeds = [1, 2, 3]
[path]
rate = "10mbit"
rtt = "10ms"
[[flow]]
guest_cc = "cubic"
[[flow]]
count = 3
guest_cc = "cubic"
[matrix]
cc = [["bbr", "cubic"], ["linux:bic", "vegas"], "reno"]
loss = ["0%", "1%"]
[short]
seconds = 5
seeds = [2]
cc = ["reno", ["bbr", "cubic"]]
"""


def test_pairs_of_ccs() -> None:
    got = parse(PAIRS)
    assert [cell.name for cell in got.cells] == [
        "bbr+cubic 0%", "bbr+cubic 1%", "linux:bic+vegas 0%", "linux:bic+vegas 1%",
        "reno 0%", "reno 1%",
    ]  # fmt: skip
    pair = got.cells[2]
    assert pair.scenario.name == "pairs-linux-bic-vegas-0pct"
    assert pair.values == {"cc": "linux:bic+vegas", "loss": "0%"}
    assert [(f.count, f.guest_cc, f.native_cc, f.enforce) for f in pair.scenario.flows] == [
        (1, "cubic", "bic", "linux:bic"), (3, "cubic", "vegas", "vegas")
    ]  # fmt: skip
    assert {(f.native_cc, f.enforce) for f in got.cells[4].scenario.flows} == {("reno", "reno")}


def test_a_cc_that_the_kernel_has_not() -> None:
    text = change('"reno"]\nloss', '"ctcp"]\nloss', PAIRS.replace('["reno", [', "[["))
    with pytest.raises(ScenarioError, match=r'f:13: matrix.cc is "ctcp": the kernel has no such'):
        parse(text, "f")
    flows = parse(text.replace("seeds = [1", 'modes = ["enforced"]\nseeds = [1')).cells[4]
    assert {(f.native_cc, f.enforce) for f in flows.scenario.flows} == {("cubic", "ctcp")}


def test_what_short_makes_of_it() -> None:
    assert parse(PAIRS).seeds == (1, 2, 3)
    got = parse(PAIRS, short=True)
    assert (got.name, got.seeds) == ("pairs-short", (2,))
    assert [cell.name for cell in got.cells] == [
        "bbr+cubic 0%", "bbr+cubic 1%", "reno 0%", "reno 1%"
    ]  # fmt: skip
    assert {cell.scenario.seconds for cell in got.cells} == {5}
    assert {cell.scenario.seconds for cell in parse(PAIRS).cells} == {20}
    long = {run.key for run in runs(parse(PAIRS))}
    assert not long & {run.key for run in runs(got)}
    with pytest.raises(ScenarioError, match=r"f:1: there is no \[short\]"):
        parse(FULL, "f", short=True)


OWN_FLOWS = """\
name = "own"
seconds = 20
[path]
rate = "10mbit"
rtt = "10ms"
[[flow]]
guest_cc = "bbr"
[matrix]
cc = ["cubic", "vegas"]
[[case]]
name = "one"
[[case]]
name = "two"
loss = "1%"
[[case.flow]]
guest_cc = "reno"
extra_loss = "5%"
[[case.transfer]]
guest_cc = "cubic"
bytes = "1MB"
[short]
case = ["two"]
"""


def test_cases_with_flows_of_their_own() -> None:
    got = parse(OWN_FLOWS)
    assert [cell.name for cell in got.cells] == ["one cubic", "one vegas", "two cubic", "two vegas"]
    assert [[flow.guest_cc for flow in cell.scenario.flows] for cell in got.cells] == [
        ["bbr"], ["bbr"], ["reno", "cubic"], ["reno", "cubic"]
    ]  # fmt: skip
    last = got.cells[3]
    assert last.values == {"case": "two", "loss": "1%", "cc": "vegas"}
    assert [flow.enforce for flow in last.scenario.flows] == ["vegas", "vegas"]
    assert last.scenario.flows[0].extra_loss_fraction == 0.05
    assert last.scenario.flows[1].transfer is not None
    assert [cell.name for cell in parse(OWN_FLOWS, short=True).cells] == ["two cubic", "two vegas"]


@pytest.mark.parametrize(
    ("text", "old", "new", "line", "words"),
    [
        (
            PAIRS,
            '["linux:bic", "vegas"]',
            '["bbr"]',
            13,
            "matrix.cc has 1 CCs for 2 tables [[flow]]",
        ),
        (PAIRS, '"linux:bic"', '"bbr3"', 13, 'matrix.cc is "bbr3": the kernel has no such CC'),
        (PAIRS, '"linux:bic"', '"linux:b"', 13, 'native_cc is "b", an unknown CC'),
        (PAIRS, '"vegas"]', '"veno"]', 13, 'flow 2\'s enforce is "veno", an unknown CC'),
        (PAIRS, '"vegas"]', "5]", 13, "flow 2's native_cc must be a string, not a number"),
        (PAIRS, "loss = [", 'enforce = ["bbr"]\nloss = [', 14, "matrix.enforce stands beside cc"),
        (PAIRS, "seconds = 5", "seconds = 0", 16, "short.seconds is 0, not above 0"),
        (PAIRS, "seeds = [2]", "seeds = [-2]", 17, "seed -2"),
        (PAIRS, "seeds = [2]", "seeds = []", 17, "short.seeds must be a list of numbers"),
        (PAIRS, 'cc = ["reno", [', 'cc = ["bbr", [', 18, 'short.cc keeps "bbr", which there'),
        (PAIRS, 'cc = ["reno", ["bbr", "cubic"]]', "cc = []", 18, "short.cc must be a list of"),
        (PAIRS, 'cc = ["reno", ["bbr", "cubic"]]', 'rtt = ["1ms"]', 18, "[matrix] has not"),
        (PAIRS, 'cc = ["reno", ["bbr", "cubic"]]', 'case = ["x"]', 18, "there is no [[case]]"),
        (PAIRS, "seconds = 5", "second = 5", 16, 'unknown key "second" in [short]'),
        (OWN_FLOWS, 'guest_cc = "reno"', 'guest_cc = "rino"', 16, "flow 1's guest_cc is"),
        (OWN_FLOWS, 'guest_cc = "reno"\n', "", 15, "flow 1's guest_cc is missing"),
        (OWN_FLOWS, 'extra_loss = "5%"', 'extra_los = "5%"', 17, 'unknown key "extra_los"'),
        (OWN_FLOWS, '"1MB"', '"1M"', 20, "transfer 1's bytes"),
        (OWN_FLOWS, '[[case]]\nname = "one"\n', "", 6, "no case takes [[flow]]: each has flows of"),
        (OWN_FLOWS, "[[case.flow]]", "[case.flow]", 15, "flow must be written [[flow]]"),
        (OWN_FLOWS, 'case = ["two"]', 'case = ["three"]', 22, 'keeps "three", which there is not'),
        (OWN_FLOWS, 'case = ["two"]', "", 21, "[short] is empty"),
    ],
)
def test_errors_about_pairs_flows_and_short(
    text: str, old: str, new: str, line: int, words: str
) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse(change(old, new, text), "f")
    assert str(caught.value).startswith(f"f:{line}: ")
    assert words in str(caught.value)


# --- runs -------------------------------------------------------------------


def runs(campaign: Campaign, made_from: str = "v1") -> list[Run]:
    return runs_of(campaign, lambda mode: made_from)


def test_keys_say_what_numbers_depend_on() -> None:
    got = runs(parse(FULL))
    assert len(got) == 8 * 2 * 2
    keys = {run.key for run in got}
    assert len(keys) == 32
    assert not keys & {run.key for run in runs(parse(FULL), "v2")}
    renamed = runs(parse(change('name = "grid"', 'name = "other"')))
    assert [run.key for run in renamed] == [run.key for run in got]
    longer = runs(parse(change("seconds = 10", "seconds = 11")))
    assert not keys & {run.key for run in longer}


def test_runs_that_are_equal_are_done_once() -> None:
    text = change('loss = ["0%", "0.1%"]', 'guest_cc = ["reno", "vegas"]')
    got = runs(parse(text))
    assert len(got) == 32
    native = {run.key for run in got if run.mode == "native"}
    assert len(native) == 8  # native BBR beside either guest
    assert len({run.key for run in got}) == 8 + 16
    got = runs(parse(change('loss = ["0%", "0.1%"]', "receiver_tcon = [true, false]")))
    assert len({run.key for run in got if run.mode == "native"}) == 8  # enforces nothing
    assert len({run.key for run in got}) == 8 + 16


LINUX = change('modes = ["native", "enforced"]', 'modes = ["linux", "enforced"]', FULL)


def test_runs_of_mode_linux() -> None:
    got = runs(parse(LINUX))
    enforced = {run.key for run in runs(parse(FULL)) if run.mode == "enforced"}
    assert {run.key for run in got if run.mode == "enforced"} == enforced  # shared
    linux = [run for run in got if run.mode == "linux"]
    assert {run.scenario.flows[0].enforced_cc(run.mode) for run in linux} == {"linux:bbr"}
    assert len({run.key for run in got}) == 32
    other = runs(parse(change('native_cc = "bbr"', 'native_cc = "vegas"', LINUX)))
    assert not {run.key for run in linux} & {run.key for run in other}
    assert enforced == {run.key for run in other if run.mode == "enforced"}


def raw_of(scenario: Scenario, mode: str, goodput_bps: float = 9e6) -> dict[str, Any]:
    """A synthetic raw record as of a run of ``scenario``."""
    raw = synthetic.raw(mode)
    scale = goodput_bps / 94e6
    for record in raw["probe"]:
        if record["type"] == "flow":
            record["acked_bytes"] = round(record["acked_bytes"] * scale)
    return raw | {"scenario": scenario.to_dict(), "seed": scenario.seed}


class Fake:
    """Runs nothing: notes what it is asked for, and fails where it is told to."""

    def __init__(self, failing: str = "", at_most: int = 1000) -> None:
        self.asked: list[tuple[str, str, int]] = []
        self.failing, self.at_most = failing, at_most
        self.lock = threading.Lock()

    def __call__(
        self, scenario: Scenario, mode: str, out: Path, stop: threading.Event
    ) -> dict[str, Any]:
        with self.lock:
            if len(self.asked) == self.at_most:
                raise KeyboardInterrupt
            self.asked.append((scenario.name, mode, scenario.seed))
        (out / "console.log").write_text("said something")
        if self.failing and self.failing in scenario.name:
            raise LabError("the machine has had enough")
        return raw_of(scenario, mode)


SMALL = change('rate = ["10mbit", "100mbit"]', 'rate = ["10mbit"]', FULL)


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    campaign = parse(SMALL)
    store, fake, said = Store(tmp_path), Fake(at_most=5), []
    store.prepare(campaign, runs(campaign))
    with pytest.raises(KeyboardInterrupt):
        conduct(runs(campaign), store, fake, 1, said.append)
    assert len(fake.asked) == 5
    again = Fake()
    assert conduct(runs(campaign), store, again, 2, said.append) == []
    assert len(again.asked) == 16 - 5
    assert not set(fake.asked) & set(again.asked)
    assert "5 of 16 runs are done already" in said
    assert said[-1] == "16 of 16 runs done"
    assert re.fullmatch(r"6 of 16 runs done, about \d+ s left", said[said.index(
        "5 of 16 runs are done already") + 1])  # fmt: skip
    assert not list(store.console.iterdir())
    third = Fake()
    conduct(runs(campaign), store, third, 1, said.append)
    assert third.asked == []
    conduct(runs(campaign, "v2"), store, third, 1, said.append)
    assert len(third.asked) == 16


def test_a_damaged_file_is_no_result(tmp_path: Path) -> None:
    campaign = parse(SMALL)
    store = Store(tmp_path)
    store.prepare(campaign, runs(campaign))
    conduct(runs(campaign), store, Fake(), 1, lambda line: None)
    files = sorted((tmp_path / "runs").iterdir())
    files[0].write_text(files[0].read_text()[:100])
    files[1].write_text(files[2].read_text())
    files[3].write_text(json.dumps({"key": files[3].stem}))
    fake = Fake()
    conduct(runs(campaign), store, fake, 1, lambda line: None)
    assert len(fake.asked) == 3


@pytest.mark.parametrize("text", ["{}", '{"campaign": "grid"}', '{"campaign": "x", "runs": [{}]}'])
def test_a_damaged_index_is_named(text: str, tmp_path: Path) -> None:
    campaign, store = parse(SMALL), Store(tmp_path)
    store.prepare(campaign, runs(campaign))
    assert len(store.index(campaign)) == len(runs(campaign))
    (tmp_path / "index.json").write_text(text)
    with pytest.raises(LabError, match=r"index\.json is damaged"):
        store.index(campaign)


def test_a_failure_stops_nothing_and_is_reported(tmp_path: Path) -> None:
    campaign = parse(SMALL)
    store, said = Store(tmp_path), []
    store.prepare(campaign, runs(campaign))
    failures = conduct(runs(campaign), store, Fake(failing="64ms-0pct"), 2, said.append)
    assert (
        sorted((f.run.cell.name, f.run.mode) for f in failures)
        == [("10mbit 64ms 0%", "enforced")] * 2 + [("10mbit 64ms 0%", "native")] * 2
    )
    assert {f.reason for f in failures} == {"the machine has had enough"}
    assert said[-1] == "12 of 16 runs done, 4 failed"
    assert sum("FAILED: the machine has had enough" in line for line in said) == 4
    kept = {log.parent.name for log in store.console.rglob("*.log")}
    assert kept == {failure.run.key for failure in failures}
    made = compare(campaign, store.index(campaign), store.load)
    assert len(made["missing"]) == 4
    assert "10mbit 64ms 0%, native, seed 1" in made["missing"]
    assert made["cells"][2]["metrics"] == {}


def test_what_is_stored_has_no_samples(tmp_path: Path) -> None:
    campaign = parse(SMALL)
    store = Store(tmp_path)
    store.prepare(campaign, runs(campaign))
    conduct(runs(campaign)[:1], store, Fake(), 1, lambda line: None)
    (file,) = (tmp_path / "runs").iterdir()
    stored = json.loads(file.read_text())
    assert stored["key"] == file.stem == runs(campaign)[0].key
    assert (stored["mode"], stored["seed"]) == ("native", 1)
    assert stored["versions"]["kernel"] == "6.1.0"
    assert stored["scenario"]["path"]["rtt_us"] == 8000
    assert "samples" not in file.read_text().replace("rtt_samples", "")
    assert stored["run"]["flows"][0]["rtt_us"]["p50"] > 20_000


def test_what_is_stored_of_one_flow_has_its_series(tmp_path: Path) -> None:
    campaign = parse(change('rate = ["10mbit", "100mbit"]', 'rate = ["100mbit"]', LINUX))
    store = Store(tmp_path)
    store.prepare(campaign, runs(campaign))
    conduct(runs(campaign)[:2], store, Fake(), 1, lambda line: None)
    found = gallery.collect(store.index(campaign), store.load)
    assert list(found) == ["100mbit 8ms 0%"]
    assert {mode: list(seeds) for mode, seeds in found["100mbit 8ms 0%"].items()} == {
        "linux": ["1"], "enforced": ["1"]
    }  # fmt: skip
    drawn = found["100mbit 8ms 0%"]["enforced"]["1"]
    assert (drawn["start_s"], drawn["step_s"], len(drawn["rtt_us"])) == (0.1, 0.1, 100)
    text = change('guest_cc = "cubic"', 'guest_cc = "cubic"\ncount = 2', FULL)
    two = runs(parse(text))[0]
    store.save(two, synthetic.raw("native", 2) | {"scenario": two.scenario.to_dict()}, 1.0)
    flows = json.loads((tmp_path / f"runs/{two.key}.json").read_text())["run"]["flows"]
    assert [flow["series"] for flow in flows] == [None, None]


def test_an_index_is_of_one_campaign(tmp_path: Path) -> None:
    campaign = parse(SMALL)
    store = Store(tmp_path / "x")
    with pytest.raises(LabError, match="holds no campaign's results"):
        store.index(campaign)
    store.prepare(campaign, runs(campaign))
    assert len(store.index(campaign)) == 16
    other = parse(change('name = "grid"', 'name = "other"'))
    with pytest.raises(LabError, match="holds the results of campaign grid"):
        store.index(other)
    (tmp_path / "file").write_text("")
    with pytest.raises(LabError, match="Not a directory"):
        Store(tmp_path / "file").prepare(campaign, [])


def test_estimates() -> None:
    got = runs(parse(FULL))
    slow = [run for run in got if run.scenario.path.rate_bps == 100_000_000]
    fast = [run for run in got if run.scenario.path.rate_bps == 10_000_000]
    assert slow[0].weight == 12 + 10 * 1.1
    assert fast[0].weight == 12 + 10 * 0.2
    estimate = Estimate([slow[0], slow[1], fast[0]], 2)
    assert estimate.left_s is None
    estimate.took(slow[0], 46)  # two seconds for each unit of weight
    assert estimate.left_s == pytest.approx((23 + 14) * 2 / 2)
    estimate.failed(slow[1])
    assert estimate.left_s == pytest.approx(14)


def test_transfers_are_weighed_by_their_bytes() -> None:
    small, large = (
        next(r for r in runs(load(CAMPAIGNS / "transfers.toml")) if r.cell.name == name)
        for name in ("LAN 10MB", "LAN large")
    )
    assert small.weight == pytest.approx(12 + 20 * (0.8 + 0.003) * 1.1)
    assert large.weight == pytest.approx(12 + 4 * (5.04 + 0.003) * 1.1)
    (request, *_) = runs(load(CAMPAIGNS / "light-load.toml"))
    assert request.weight == pytest.approx(12 + 16 * 1.1)  # 1000 at 62.5 in a second


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (89, "89 s"), (100, "2 min"), (5000, "83 min"), (5400, "1 h 30 min"),
     (11100, "3 h 05 min")],
)  # fmt: skip
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


# --- comparison -------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "expected"), [([], None), ([2, 8], 4), ([1, 1, 8], 2), ([0, 5], 0)]
)
def test_geometric_mean(values: list[float], expected: float | None) -> None:
    assert geometric_mean(values) == (expected and pytest.approx(expected))


def flow_record(goodput: float, rtt_us: int, guest_share: float | None) -> dict[str, Any]:
    share = guest_share is not None and {
        "window": 1 - guest_share, "guest": guest_share, "receiver": 0.0, "idle": 0.0
    }  # fmt: skip
    return {"index": 0, "error": None, "goodput_bps": goodput, "limited_share_settled": share,
            "rtt_us": {"min": 1, "p50": rtt_us, "p99": 2 * rtt_us}}  # fmt: skip


def comparison(
    goodputs: dict[tuple[str, int], float], text: str = SMALL, warning: str = ""
) -> dict[str, Any]:
    """Of runs with these goodputs by mode and seed, the same in each cell but the
    first, where the enforced ones have 94 % of that.
    """
    campaign = parse(text)
    stored: dict[str, dict[str, Any]] = {}
    index = []
    for run in runs(campaign):
        mode, seed = run.mode, run.scenario.seed
        index.append({"cell": run.cell.name, "mode": mode, "seed": seed, "key": run.key})
        goodput = goodputs[mode, seed]
        if mode == COMPARED and run.cell is campaign.cells[0]:
            goodput *= 0.94
        share = 0.01 * seed if mode == COMPARED else None
        record = flow_record(goodput, 30_000 if mode == COMPARED else 20_000, share)
        record["dctcp_alpha"] = 0.11 if mode == COMPARED else 0.1
        made = {"goodput_bps": goodput, "flows": [record], "warnings": [w for w in [warning] if w],
                "jain": 0.9 if mode == COMPARED else 1.0,
                "instructions_per_byte": 22.0 if mode == COMPARED else 20.0,
                "queue_bytes": {"p50": 24e3 if mode == COMPARED else 20e3}}  # fmt: skip
        stored[run.key] = {"versions": {"kernel": "6.1"}, "run": made}
    return compare(campaign, index, stored.get)


GOODPUTS = {("native", 1): 8e6, ("native", 2): 10e6, ("enforced", 1): 8e6, ("enforced", 2): 9.8e6}
#: The ratios' geometric mean.
MEAN = (1.0 * 0.98) ** 0.5


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


def test_the_answer_of_a_campaign_comes_first() -> None:
    made = comparison(GOODPUTS)
    ratios = [cell["metrics"]["goodput"]["mean"] for cell in made["cells"]]
    (sentence,) = campaign_page.answer(made)
    assert sentence.startswith("Guests under an enforced CC have ")
    assert f"of the goodput ({min(ratios):.2f} to {max(ratios):.2f}) and " in sentence
    assert sentence.endswith(f" of native ones, over {len(ratios)} cells.")
    page, markdown = campaign_page.page(made), campaign_page.markdown(made)
    assert page.index(sentence) < page.index("<h2>")
    assert markdown.index(sentence) < markdown.index("| loss |")
    for cell in made["cells"]:
        del cell["metrics"]["rtt"]
    assert campaign_page.answer(made) == []


def test_the_terminals_table_leaves_out_what_a_cases_name_says() -> None:
    keys = {"case": "far", "rate": "5mbit", "rtt": "200ms", "loss": "0%"}
    cells = [{"values": keys}, {"values": keys | {"loss": "1%"}}]
    near = {"case": "near", "rate": "100mbit", "rtt": "1ms"}
    cells += [{"values": keys | near}, {"values": keys | near | {"loss": "1%"}}]
    made = {"cells": [cell | {"metrics": {}, "modes": {}} for cell in cells], "overall": {}}
    made["baseline"] = "native"
    assert campaign_page.columns(made)[0] == ["case", "rate", "rtt", "loss"]
    assert campaign_page.telling_keys(made) == ["case", "loss"]
    assert campaign_page.columns(made, ["case", "loss"])[1][1] == ["far", "1%"]


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


def test_metrics_that_a_bar_asks_for(tmp_path: Path) -> None:
    """One flow against two, which have another share in each mode."""
    asked = ["rtt_p95", "utilisation", "jain_mean", "convergence", "loss_sync", "first_share",
             "cwnd", "retransmitted", "loss_period"]  # fmt: skip
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
        "cwnd": 1.25, "retransmitted": pytest.approx(1.25),
        "loss_period": pytest.approx(1.75 / 1.5),
    }  # fmt: skip
    assert cell["modes"]["native"]["first_share"]["mean"] == 0.5
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


FILES = """\
name = "files"
seconds = 100
modes = ["guest", "native", "enforced"]
seeds = [1, 2]
[path]
rate = "10mbit"
rtt = "20ms"
[[transfer]]
bytes = "1MB"
count = 2
guest_cc = "cubic"
native_cc = "bbr"
enforce = "bbr"
[[case]]
name = "LAN 10MB"
loss = "1%"
[[bar]]
metric = "saving_kept"
min = 0.95
"""


def transfers(times_s: dict[str, list[list[float]]], text: str = FILES) -> dict[str, Any]:
    """The comparison of runs that took these times, by mode and seed."""
    campaign = parse(text)
    stored, index = {}, []
    for run in runs(campaign):
        mode, seed = run.mode, run.scenario.seed
        raw = synthetic.raw_transfers(mode, times_s[mode][seed - 1], seed)
        record = results_from_raw([raw])
        stored[run.key] = {"versions": {}, "run": record["runs"][0]}
        index.append({"cell": run.cell.name, "mode": mode, "seed": seed, "key": run.key})
    return compare(campaign, index, stored.get)


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


def test_completion_curves_are_steps_to_all() -> None:
    figure = completion_curves({"a": {"guest": [3.0, 1.0, 2.0, 4.0]}, "b": {"x": [1.0]}}, {})
    first = figure.data[0]
    assert list(first.x) == [1.0, 1.0, 2.0, 3.0, 4.0]
    assert list(first.y) == [0.0, 25.0, 50.0, 75.0, 100.0]
    assert [trace.showlegend for trace in figure.data] == [True, False]


def test_what_a_document_says_stands_beside() -> None:
    campaign = load(CAMPAIGNS / "vm-loss.toml")
    made = compare(campaign, [], {}.get)
    ((title, headings, rows),) = campaign_page.beside(made)
    assert title == "Published: 5.4, packet loss, one VM (section 5.4, Table 5.4)"
    assert headings[:5] == ["vms", "loss, %", "cc", "cwnd sum, kB", "retransmissions, packets"]
    assert rows[1] == ["1", "5", "bbr2", "1147.44", "21475", "1.0", "9.849", "600.785", "9.217"]
    assert f"## {title}" in campaign_page.markdown(made)
    html = campaign_page.page(made)
    tags = Tags()
    tags.feed(html)
    assert tags.open == []
    assert "21475" in html
    assert "do Carmo" in html
    words = campaign_page.beside(compare(load(CAMPAIGNS / "cc-pairs.toml"), [], {}.get))[-1]
    assert words[0] == "Published, in words"
    assert [row[2] for row in words[2]] == [
        "850 +- 20 Mbit/s", "24 Mbit/s", "0.2 to 0.6 MB/s", "0.3 to 0.7 MB/s"
    ]  # fmt: skip
    ctcp = campaign_page.beside(compare(load(CAMPAIGNS / "cc-pairs-ctcp.toml"), [], {}.get))
    assert "at least 800 Mbit/s" in [row[2] for row in ctcp[-1][2]]


def test_flows_that_never_share_take_all_of_the_run() -> None:
    quantity = QUANTITIES["convergence"]
    assert quantity({"convergence_s": 2.5, "jain_per_second": [1.0] * 9}) == 2.5
    assert quantity({"convergence_s": None, "jain_per_second": [None, 0.5, 0.5]}) == 3
    assert quantity({"convergence_s": None, "jain_per_second": [None] * 9}) is None
    assert quantity({}) is None


def test_a_campaign_without_a_native_run() -> None:
    campaign = parse(SMALL.replace('modes = ["native", "enforced"]', 'modes = ["enforced"]'))
    index = [{"cell": r.cell.name, "mode": r.mode, "seed": r.scenario.seed, "key": r.key}
             for r in runs(campaign)]  # fmt: skip
    run = {"goodput_bps": 9e6, "flows": [flow_record(9e6, 20_000, 0.01)], "warnings": []}
    made = compare(campaign, index, {r.key: {"versions": {}, "run": run}
                                     for r in runs(campaign)}.get)  # fmt: skip
    assert set(made["overall"]) == {"own_limit"}
    assert "Mbit/s" in text_of(made)
    assert campaign_page.page(made).count('class="plotly-graph-div"') == 1
    assert "enforced Mbit/s" in campaign_page.markdown(made)


def text_of(made: dict[str, Any]) -> str:
    console = Console(width=200, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(campaign_page.table(made))
    return console.export_text()


def test_the_table_for_people() -> None:
    text = text_of(comparison(GOODPUTS, warning="the probe lost 3 packets"))
    row = next(line for line in text.splitlines() if "10mbit" in line and "0.1%" in line)
    assert re.split(r"  +", row.strip()) == [
        "10mbit", "8ms", "0.1%", "9.00", "8.90", "20.0", "30.0", "0.990 (0.980 .. 1.000)",
        "1.500 (1.500 .. 1.500)", "1.5% (1.0% .. 2.0%)",
    ]  # fmt: skip
    assert "0.931 (0.921 .. 0.940) !" in text
    assert "geometric mean 0.975 over 4 cells (at least 0.98: missed)" in text
    assert "Goodput to native: 1 of 4 cells miss their bar: 10mbit 8ms 0%" in text
    assert "warning: 10mbit 8ms 0%, native, seed 1: the probe lost 3 packets" in text


def test_only_cells_with_a_bar_are_counted() -> None:
    bar = '[[bar]]\nmetric = "rtt"\nloss_max = "0%"\nmax = 1.4\n'
    text = text_of(comparison(GOODPUTS, SMALL + bar))
    assert "RTT p50 to native: 2 of 2 cells that have a bar miss their bar: " in text
    text = text_of(comparison(GOODPUTS, SMALL + bar.replace("1.4", "1.6")))
    assert "RTT p50 to native: each of 2 cells that have one reaches its bar" in text
    assert "aim" not in text.split("RTT p50 to native: each")[1].splitlines()[0]


def test_the_table_in_markdown() -> None:
    lines = campaign_page.markdown(comparison(GOODPUTS)).splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) == 2 + 4
    assert {row.count("|") for row in rows} == {11}
    assert rows[0].startswith("| rate | rtt | loss | native Mbit/s |")
    assert lines[0] == "# grid"


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.rows = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in ("meta", "br"):
            self.open.append(tag)
        self.rows += tag == "tr"
        self.addresses += [v for k, v in attrs if k in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_stands_alone() -> None:
    made = comparison(GOODPUTS, warning="<script>alert(1)</script>")
    html = campaign_page.page(made)
    tags = Tags()
    tags.feed(html)
    assert tags.open == []
    assert tags.addresses == []
    assert tags.rows == 1 + 4
    assert "<script>alert" not in html
    assert html.count('class="plotly-graph-div"') == 3


def drawn(values: list[float | None], step_s: float = 0.1) -> dict[str, Any]:
    """A series of these windows in kB, and RTTs of as many ms."""
    scaled = [v if v is None else 1000 * v for v in values]
    return {"start_s": 0.1, "step_s": step_s, "cwnd_bytes": scaled, "rtt_us": scaled}


def test_a_series_has_300_points_at_most() -> None:
    def sample(n: int) -> dict[str, Any]:
        return {"t_s": round(0.1 * (n + 1), 3), "rtt_us": n if n % 7 else None,
                "guest_cwnd_bytes": 2 * n, "tcon_cwnd_bytes": 3 * n}  # fmt: skip

    samples = [sample(n) for n in range(700)]
    assert gallery.series(samples[:300], "native") == {
        "start_s": 0.1, "step_s": 0.1, "cwnd_bytes": [2 * n for n in range(300)],
        "rtt_us": [n if n % 7 else None for n in range(300)],
    }  # fmt: skip
    thin = gallery.series(samples, "enforced")
    assert thin is not None
    assert (thin["step_s"], thin["cwnd_bytes"]) == (0.3, list(range(0, 2100, 9)))
    linux = gallery.series(samples, "linux")
    assert linux is not None
    assert linux["cwnd_bytes"][1] == 9  # TCon's, not the guest's
    assert gallery.series(samples[:1], "native") is None
    assert gallery.series([], "native") is None


def test_the_gallery_lays_the_modes_over_each_other() -> None:
    some = {
        "one <b>": {
            "native": {"1": drawn([1, 2, None]), "2": drawn([3, 4])},
            "enforced": {"1": drawn([5, 6]), "2": drawn([7, 8])},
        },
        **{f"cell {n}": {"native": {"1": drawn([n, n])}} for n in range(4)},
    }
    windows, rtts = (gallery_plots.figure(some, panel) for panel in gallery_plots.PANELS)
    first = [line for line in windows.data if line.xaxis == "x"]
    assert [(line.name, list(line.y), line.opacity < 1) for line in first] == [
        ("native", [3, 4], True), ("native", [1, 2, None], False),
        ("enforced", [7, 8], True), ("enforced", [5, 6], False),
    ]  # fmt: skip
    assert [line.showlegend for line in first] == [False, True, False, True]
    assert not any(line.showlegend for line in windows.data[4:])
    front = [line.zorder for line in first if line.opacity == 1]
    assert min(front) > max(line.zorder for line in first if line.opacity < 1)
    assert (first[0].x0, first[0].dx) == (0.1, 0.1)
    assert windows.data[-1].xaxis == "x5"  # alone in the second row
    assert len(rtts.data) == len(windows.data)
    assert windows.layout.annotations[0].text == "one &lt;b&gt;"
    unmeasured = {"c": {"native": {"1": drawn([None, None])}}}
    assert len(gallery_plots.figure(unmeasured, gallery_plots.PANELS[0]).data) == 0


def test_the_page_with_a_gallery_stands_alone() -> None:
    some = {"</script>": {"native": {"1": drawn([1, 2])}, "enforced": {"1": drawn([2, 3])}}}
    html = campaign_page.page(comparison(GOODPUTS), some)
    tags = Tags()
    tags.feed(html)
    assert tags.open == []
    assert tags.addresses == []
    assert html.count('class="plotly-graph-div"') == 5
    assert "the first is in front" in html
    assert "Gallery" not in campaign_page.page(comparison(GOODPUTS))


def test_a_heat_map_has_each_cell_in_its_place() -> None:
    figure = campaign_page.heat_map(comparison(GOODPUTS), "goodput")
    data = figure.data[0]
    assert list(data.x) == ["10mbit 8ms", "10mbit 64ms"]
    assert list(data.y) == ["0%", "0.1%"]
    assert [list(row) for row in data.z] == [
        [pytest.approx(0.94 * MEAN), pytest.approx(MEAN)], [pytest.approx(MEAN)] * 2
    ]  # fmt: skip
    assert data.text[0][0] == "0.931 !"
    lower = campaign_page.heat_map(comparison(GOODPUTS), "rtt").data[0].colorscale
    upper = data.colorscale
    assert [c for _, c in lower] == [c for _, c in reversed(upper)]


def test_comparisons_do_not_change_what_they_compare() -> None:
    made = comparison(GOODPUTS)
    before = copy.deepcopy(made)
    text_of(made), campaign_page.page(made), campaign_page.markdown(made)
    assert made == before


# --- the command ------------------------------------------------------------


def test_a_report_of_what_is_there(tmp_path: Path) -> None:
    campaign, file, folder = parse(SMALL), tmp_path / "grid.toml", tmp_path / "out"
    file.write_text(SMALL)
    empty = tcon_lab("campaign", file, "--out", folder, "--report")
    assert (empty.returncode, empty.stdout) == (1, "")
    assert empty.stderr == f"tcon-lab: {folder} holds no campaign's results\n"
    store = Store(folder)
    store.prepare(campaign, runs(campaign))
    conduct(runs(campaign), store, Fake(failing="64ms-0pct"), 1, lambda line: None)
    done = tcon_lab("campaign", file, "--out", folder, "--report")
    assert done.returncode == 0
    assert "warning: 4 runs are missing" in done.stdout
    made = json.loads((folder / "comparison.json").read_text())
    file.write_text(SMALL.replace("seeds = [1, 2]", "seeds = [2, 3]"))
    more = tcon_lab("campaign", file, "--out", folder, "--report")
    assert more.returncode == 0
    assert "warning: 10 runs are missing" in more.stdout  # 8 of seed 3, and what failed of 2
    file.write_text(SMALL.replace("seconds = ", "seconds = 1"))
    other = tcon_lab("campaign", file, "--out", folder, "--report")
    assert (other.returncode, other.stdout) == (1, "")
    assert other.stderr == (
        f"tcon-lab: {folder} holds results of cell 10mbit 8ms 0% with another length, "
        "path or flows than this campaign has\n"
    )
    file.write_text(SMALL)
    assert tcon_lab("campaign", file, "--out", folder, "--report").returncode == 0
    assert made["cells"][0]["metrics"]["goodput"]["mean"] == pytest.approx(1)
    assert (folder / "comparison.md").read_text().startswith("# grid\n")
    html = (folder / "report.html").read_text()
    assert len(html) > 10**6
    assert 'id="gallery-cwnd_bytes"' in html
    series = json.loads((folder / "series.json").read_text())
    assert sorted(series) == ["10mbit 64ms 0.1%", "10mbit 8ms 0%", "10mbit 8ms 0.1%"]
    assert sorted(series["10mbit 8ms 0%"]["native"]) == ["1", "2"]


def test_the_command_takes_the_short_form(tmp_path: Path) -> None:
    file, folder = tmp_path / "pairs.toml", tmp_path / "out"
    file.write_text(PAIRS)
    campaign = parse(PAIRS, short=True)
    store = Store(folder)
    store.prepare(campaign, runs(campaign))
    conduct(runs(campaign), store, Fake(), 1, lambda line: None)
    done = tcon_lab("campaign", file, "--short", "--out", folder, "--report")
    assert done.returncode == 0
    assert "pairs-short: 4 cells, 5 s each, seed 2" in done.stdout
    long = tcon_lab("campaign", file, "--out", folder, "--report")
    assert long.returncode == 1
    assert "holds the results of campaign pairs-short" in long.stderr


def test_a_wrong_file_runs_nothing(tmp_path: Path) -> None:
    file = tmp_path / "grid.toml"
    file.write_text(change("seconds = 10", "seconds = 0"))
    got = tcon_lab("campaign", file, "--out", tmp_path / "out")
    assert got.returncode == 1
    assert got.stderr == f"tcon-lab: {file}:2: seconds is 0, not above 0 and at most 36000.\n"
    assert not (tmp_path / "out").exists()
