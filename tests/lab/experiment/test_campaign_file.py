# SPDX-License-Identifier: GPL-2.0-only
"""Campaign files: their meaning, and the complaints about wrong ones."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import pytest
from campaigns import CAMPAIGNS, FULL, PAIRS, change, runs
from tcon_lab.experiment import published
from tcon_lab.experiment.campaign_file import load, parse
from tcon_lab.numbers.against_native import COMPARED
from tcon_lab.scenario import OBSERVED, ScenarioError


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
    text = change('rtt_max = "8ms"', 'loss_max = "0%"\nguest_cc = ["cubic"]')
    reno = parse(
        text.replace('guest_cc = "cubic"', 'guest_cc = "reno"').replace('["cubic"]', '["reno"]')
    )
    assert parse(text).bars[0].fits(reno.cells[0].scenario) is False
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
        if got.modes == (OBSERVED,):  # for tcon-lab naming: there is nothing to compare
            continue
        assert COMPARED in got.modes
        assert got.bars or got.show


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


_JUDGED = """\
name = "x"
seconds = 5
modes = [{modes}]
{more}
[path]
rate = "10mbit"
rtt = "10ms"
[[flow]]
guest_cc = "cubic"
enforce = "reno"
{bar}
"""
_BAR = '[[bar]]\nmetric = "{}"\nmin = 0.9\n'


@pytest.mark.parametrize(
    ("modes", "bar", "said"),
    [
        ('"enforced"', _BAR.format("utilisation"),
         "utilisation is a ratio, and there is no mode to compare with"),
        ('"guest", "native"', _BAR.format("goodput"), "cannot be judged without mode enforced"),
        ('"native", "enforced"', _BAR.format("saving_kept"),
         "saving_kept cannot be judged without mode guest"),
        ('"native", "enforced"', _BAR.format("goodput") + 'guest_cc = ["vegas"]',
         "no cell has a guest with vegas"),
        ('"native", "enforced"', _BAR.format("goodput") + "max = 0.5",
         "min 0.9 is more than max 0.5"),
    ],
)  # fmt: skip
def test_a_bar_that_can_never_be_judged(modes: str, bar: str, said: str) -> None:
    with pytest.raises(ScenarioError, match=re.escape(said)):
        parse(_JUDGED.format(modes=modes, bar=bar, more=""))


def test_a_metric_is_shown_without_a_bar() -> None:
    text = _JUDGED.format(modes='"enforced"', bar="", more='show = ["utilisation", "cwnd"]')
    assert parse(text).show == ("utilisation", "cwnd")
    with pytest.raises(ScenarioError, match="show 2 can only have one of rtt_p95"):
        parse(text.replace("cwnd", "goodput"))
