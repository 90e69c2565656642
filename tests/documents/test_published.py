# SPDX-License-Identifier: GPL-2.0-only
"""Published numbers: the files that come with TCon, and what a wrong one says."""

from __future__ import annotations

from pathlib import Path

import pytest
from tcon_lab.experiment.published import UNITS, Document, load, numbered, parse
from tcon_lab.scenario import ScenarioError

FOLDER = Path(__file__).parents[2] / "tools/published"
FILES = sorted(FOLDER.glob("*.toml"))

#: Of each file: tables with their number of rows, values, and completion times.
COUNTS = {
    "cc-pairs": ({"1": 5, "2": 6}, 11, 0),
    "cubic-thesis": (
        {"2.4.2": 5, "3.4.1": 3, "5.1": 2, "5.2": 2, "5.3": 2, "buffers": 4, "background": 1,
         "5.5.1": 4, "6.1": 3, "6.4": 3, "6.4.1": 5, "6.4.2": 3, "6.4.3": 3, "6.5.5": 3},
        25, 0,
    ),
    "five-ccs": ({"delays": 5, "losses": 6, "figure 4": 3}, 13, 0),
    "tcon-paper": ({"2": 5, "reductions": 6}, 9, 6),
    "virtual-machines": (
        {"5.1": 24, "5.2": 24, "5.3": 16, "5.4": 8, "5.5": 16, "5.6": 12, "5.7": 48, "6.1": 4},
        12, 0,
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def documents() -> dict[str, Document]:
    return {file.stem: load(file) for file in FILES}


def test_every_file_is_whole(documents: dict[str, Document]) -> None:
    found = {
        name: ({t.name: len(t.rows) for t in d.tables}, len(d.values), len(d.completions))
        for name, d in documents.items()
    }
    assert found == COUNTS


def test_units_are_those_of_the_quantity(documents: dict[str, Document]) -> None:
    units = {
        "cwnd": {"kB", "packets"}, "rtt": {"ms"}, "loss": {"%"}, "jain": {"share"},
        "delay": {"ms"}, "throughput": {"MB/s"}, "sending_rate": {"MB/s"}, "sent": {"MB"},
        "total_sent": {"MB"}, "cwnd_sum": {"kB"}, "retransmissions": {"packets"},
        "total_retransmissions": {"packets"}, "rate": {"Mbit/s"}, "cc": {"text"}, "vms": {"count"},
    }  # fmt: skip
    seen: dict[str, set[str]] = {}
    for document in documents.values():
        for table in document.tables:
            for column in table.columns:
                seen.setdefault(column.name, set()).add(column.unit)
    assert {name: seen[name] for name in units} == units
    assert {unit for found in seen.values() for unit in found} <= set(UNITS)


def test_spot_values_of_the_virtual_machines(documents: dict[str, Document]) -> None:
    got = documents["virtual-machines"]
    baseline = {(r["vms"], r["cc"]): r for r in got.table("5.1").records()}
    assert len(baseline) == 6 * 4
    assert baseline[1, "cubic"]["rtt"] == 136.88
    assert baseline[1, "cubic"]["jain"] is None
    assert baseline[32, "bbr2"] == {
        "vms": 32, "cc": "bbr2", "cwnd": 101.59, "total_retransmissions": 15088, "rtt": 211.47,
        "throughput": 0.45, "total_sent": 902.42, "sending_rate": 0.48, "jain": 0.763927,
    }  # fmt: skip
    last = got.table("5.2").records()[-1]
    assert (last["vm"], last["delay"], last["cc"], last["rtt"]) == ("VM4", 200, "vegas", 210)
    (first, *_) = got.table("5.3").records()
    assert (first["delay"], first["cwnd_sum"], first["jain"]) == (100, 188967.654, 0.77)
    loss = {(r["cc"], r["loss"]): r for r in got.table("5.4").records()}
    assert loss["bbr2", 5]["retransmissions"] == 21475
    assert loss["vegas", 5]["sent"] == 118.042
    against = [r for r in got.table("5.7").records() if r["run"] == 5]
    assert [(r["vm"], r["cc"]) for r in against] == [
        ("VM0", "cubic"), ("VM1", "dctcp"), ("VM2", "dctcp"), ("VM3", "dctcp")
    ]  # fmt: skip
    assert against[3]["retransmissions"] == 516
    assert got.table("6.1").rows[0][1] == ("cubic", "dctcp")
    assert got.table("6.1").records()[1]["best_rtt"] is None


def test_rates_and_data_sent_agree(documents: dict[str, Document]) -> None:
    """What a table says twice guards the transcription: MB in 60 s, and MB/s."""
    tables = [documents["virtual-machines"].table(f"5.{n}") for n in range(2, 8)]
    for table in tables:
        for record in table.records():
            sent, rate, got = (float(record[k]) for k in ("sent", "sending_rate", "throughput"))  # type: ignore
            assert sent / 60 == pytest.approx(rate, rel=0.2), (table.name, record)
            assert got == pytest.approx(rate, rel=0.15), (table.name, record)


def test_runs_have_one_index_each_which_their_rates_have(documents: dict[str, Document]) -> None:
    """The table's index is a mean over time: near that of the mean rates, not equal."""
    for name in ("5.2", "5.3", "5.5", "5.6", "5.7"):
        records = documents["virtual-machines"].table(name).records()
        for run in {r["run"] for r in records}:
            mine = [r for r in records if r["run"] == run]
            assert [r["jain"] is None for r in mine] == [False] + [True] * (len(mine) - 1)
            rates = [float(r["throughput"]) for r in mine]  # type: ignore
            index = sum(rates) ** 2 / len(rates) / sum(rate * rate for rate in rates)
            assert index == pytest.approx(float(mine[0]["jain"]), abs=0.15), (name, run)  # type: ignore


def test_spot_values_of_the_others(documents: dict[str, Document]) -> None:
    pairs = documents["cc-pairs"]
    assert [row[0] for row in pairs.table("2").rows] == [8, 64, 120, 176, 232, 290]
    (bbr,) = (v for v in pairs.values if v.of.get("cc") == "bbr")
    assert (bbr.value, bbr.spread, bbr.unit, bbr.low) == (850, 20, "Mbit/s", None)
    (dctcp,) = (v for v in pairs.values if v.of.get("against") == "bic")
    assert (dctcp.low, dctcp.high, dctcp.value, dctcp.unit) == (0.3, 0.7, None, "MB/s")
    assert documents["five-ccs"].table("figure 4").rows == ((10, 40), (100, 175), (300, 700))
    thesis = documents["cubic-thesis"]
    for above, after_s in thesis.table("5.5.1").rows:
        assert (float(above) / 0.4) ** (1 / 3) == pytest.approx(after_s, abs=0.02)  # type: ignore
    for row in thesis.table("2.4.2").records():
        if row["bdp"] is not None:
            bdp = float(row["rate"]) * float(row["tau"]) * 1000 / 8 / 1500  # type: ignore
            assert bdp == pytest.approx(row["bdp"], abs=0.5)
    assert {v.value for v in thesis.values if v.of.get("aqm") == "ared"} == {41}
    paper = documents["tcon-paper"]
    assert paper.completions[0].most_within_s == {"guest": 1.85, "native": 1.67, "enforced": 1.7}
    assert paper.completions[5].p999_reduction == {"native": 0.0521, "enforced": 0.0477}
    buffered = {v.of["scenario"]: v.value for v in paper.values if v.campaign == "buffered"}
    assert buffered == {"LAN": 20, "Shanghai": 40, "Oregon": 105}


def test_the_papers_percentages_are_shares_of_the_shorter_time(
    documents: dict[str, Document],
) -> None:
    """As the head of its file says, of LAN and Shanghai under native BBR."""
    paper = documents["tcon-paper"]
    means = {completion.case: completion.mean_s for completion in paper.completions}
    stated = {(r["client"], r["size"]): r["native"] for r in paper.table("reductions").records()}
    for client in ("LAN", "Shanghai"):
        times_s = means[f"{client} 10MB"]
        assert 100 * (times_s["guest"] / times_s["native"] - 1) == pytest.approx(
            stated[client, 10], abs=0.01
        )


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Table 3", ["Table 3"]),
        ("Figure 1 to 3", ["Figure 1", "Figure 2", "Figure 3"]),
        ("Table 2.9 to 2.10, 4.1", ["Table 2.9", "Table 2.10", "Table 4.1"]),
        ("Figure B.1", ["Figure B.1"]),
    ],
)
def test_names_of_tables_and_figures(text: str, wanted: list[str]) -> None:
    assert numbered(text) == wanted


FULL = """\
source = "a document"

[[table]]
name = "1"
title = "loss"
where = "section 1"
columns = [["cc", "text"], ["loss", "%"], ["runs", "count"]]
rows = [
  ["bbr", 1.5, 2],
  [["bbr", "cubic"], "-", 0],
]

[[value]]
quantity = "goodput"
unit = "share"
value = 0.5
where = "section 2"

[[completion]]
case = "LAN"
where = "section 3"
mean_s = {guest = 2, native = 1.5}
"""


def test_what_a_file_means() -> None:
    got = parse(FULL)
    assert got.source == "a document"
    (table,), (value,), (completion,) = got.tables, got.values, got.completions
    assert table.records() == [
        {"cc": "bbr", "loss": 1.5, "runs": 2},
        {"cc": ("bbr", "cubic"), "loss": None, "runs": 0},
    ]
    assert (table.campaign, table.note) == (None, None)
    assert (value.value, value.low, value.of) == (0.5, None, {})
    assert completion.mean_s == {"guest": 2, "native": 1.5}
    with pytest.raises(KeyError):
        got.table("2")


WRONG = [
    ('source = "a document"\n', "", 1, "source is missing"),
    ('source = "a document"', 'source = ""', 1, "source is empty"),
    ('source = "a document"', 'sauce = "a"', 1, 'unknown key "sauce"'),
    ('"a document"', '"a"\nnumbered = "Table 1"', 2, "numbered must be a list of words"),
    ('"a document"', '"a"\nnumbered = ["Plate 1"]', 2,
     'numbered is "Plate 1", not as "Table 2.1 to 2.3, 4.1"'),
    ('"a document"', '"a"\nnumbered = ["Table 2.1 to 3.2"]', 2,
     'numbered has "2.1 to 3.2", which does not count up within a chapter'),
    ('"a document"', '"a"\nnumbered = ["Table 3 to 2"]', 2, "does not count up"),
    ('"a document"', '"a"\nnumbered = ["Table 1 to 3", "Table 2"]', 2,
     "numbered has Table 2 twice"),
    ("[[table]]", "[table]", 3, "table must be written [[table]], not as a table"),
    ('name = "1"\n', "", 3, "table 1's name is missing"),
    ('name = "1"', "name = 1", 4, "table 1's name must be a string, not a number"),
    ('["loss", "%"]', '["loss", "percent"]', 7, 'the unknown unit "percent"; known are count'),
    ('["loss", "%"]', '["cc", "%"]', 7, "table 1's columns has cc twice"),
    ('["loss", "%"]', '["loss"]', 7, "must be a list of names and units"),
    ('["bbr", 1.5, 2]', '["bbr", 1.5]', 8, "row 1 has 2 cells, not 3"),
    ('["bbr", 1.5, 2]', '["bbr", "1.5", 2]', 8, "row 1, loss must be a number, not a string"),
    ('["bbr", 1.5, 2]', '["bbr", -1.5, 2]', 8, "row 1, loss is -1.5: no number from 0 up"),
    ('["bbr", 1.5, 2]', '["bbr", nan, 2]', 8, "row 1, loss is nan"),
    ('["bbr", 1.5, 2]', '["bbr", 1.5, 2.5]', 8, "row 1, runs is 2.5: count must be whole"),
    ('["bbr", 1.5, 2]', '[1, 1.5, 2]', 8, "row 1, cc: no words"),
    ('title = "loss"', 'heading = "loss"', 5, 'unknown key "heading"'),
    ("value = 0.5\n", "", 13, "value 1 needs either value, or low or high"),
    ("value = 0.5", "value = 0.5\nlow = 0.1", 13, "value 1 needs either value, or low or high"),
    ("value = 0.5", "low = 0.5\nhigh = 0.5", 16, "value 1's low is not below high"),
    ("value = 0.5", "value = 1.5", 16, "value 1's value is 1.5: more than 1"),
    ('unit = "share"', 'unit = "text"', 15, "value 1's unit is text"),
    ('unit = "share"', 'unit = "parts"', 15, 'unknown unit "parts"'),
    ("guest = 2", "gast = 2", 22, 'completion 1\'s mean_s has the mode "gast"; known are guest'),
    ("guest = 2", 'guest = "2"', 22, "completion 1's mean_s.guest must be a number"),
    ("mean_s = {guest = 2, native = 1.5}\n", "", 19, "completion 1's mean_s is missing"),
    ('[[value]]', '[[table]]\nname = "1"\ntitle = "x"\nwhere = "x"\ncolumns = [["a", "s"]]\n'
     'rows = [[1]]\n[[value]]', 13, 'table "1" stands twice'),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "line", "words"), WRONG)
def test_errors_name_the_line(old: str, new: str, line: int, words: str) -> None:
    assert FULL.count(old) == 1
    with pytest.raises(ScenarioError) as caught:
        parse(FULL.replace(old, new), "dir/my.toml")
    message = str(caught.value)
    assert message.startswith(f"dir/my.toml:{line}: ")
    assert words in message
    assert message.endswith(".")


def test_a_file_without_numbers() -> None:
    with pytest.raises(ScenarioError, match=r"f:1: there is no \[\[table\]\]"):
        parse('source = "x"\n', "f")
