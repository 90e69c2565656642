# SPDX-License-Identifier: GPL-2.0-only
"""tools/campaigns/documents.md says what documents.csv has: its tables of virtual machines,
and by how much native differs from what was published.
"""

from __future__ import annotations

import csv
import re
import statistics
from collections.abc import Iterable
from pathlib import Path

import pytest
from documents_csv import RUNS, SEVERAL, is_pair, is_shown
from tcon_lab.errors import LabError
from tcon_lab.experiment import published
from tcon_lab.experiment.campaign import Campaign
from tcon_lab.experiment.campaign_file import load
from tcon_lab.numbers import cubic_model
from tcon_lab.pages import recommend
from tcon_lab.pages.time_plots import model_path

FOLDER = Path(__file__).parents[2] / "tools/campaigns"
PAGE = (FOLDER / "documents.md").read_text()
QUANTITIES = ("throughput", "rtt", "jain", "retransmissions")
#: Those of which the page says by how much native differs.
COMPARED = (*QUANTITIES, "cwnd")
#: A ratio beyond this, or below its inverse, is called far.
FAR = 1.5
TABLES = tuple(f"5.{n}" for n in range(1, 8))

#: Of a row: its quantities; of each what was published, is native, is enforced.
Row = dict[str, list[float]]


def rows_of(table: str) -> dict[str, Row]:
    """The published rows of a table, in its order."""
    sides = ("published", "native", "enforced")
    rows: dict[str, Row] = {}
    with (FOLDER / "documents.csv").open(newline="") as file:
        for line in csv.DictReader(file):
            if line["what"] != "published" or not line["where"].endswith(f"Table {table}"):
                continue
            quantity = line["metric"].split(",")[0].removeprefix("total ").removesuffix(" sum")
            values = rows.setdefault(line["of"], {}).setdefault(
                quantity, [float(line["published"]), 0.0, 0.0]
            )
            values[sides.index(line["mode"])] = float(line["mean"])
    return rows


def mean_of_alike(rows: dict[str, Row]) -> list[Row]:
    """VM1 to VM3 of Table 5.7 run the same CC: the page has a row for all of them.  What only
    the first of a run has (its Jain's index) is taken as it is.
    """
    alike: dict[str, list[Row]] = {}
    for of, row in rows.items():
        alike.setdefault(re.sub(r"\(VM[123]\)", "", of), []).append(row)
    return [
        {
            quantity: [
                statistics.fmean(values)
                for values in zip(*(row[quantity] for row in same if quantity in row), strict=True)
            ]
            for quantity in QUANTITIES
            if any(quantity in row for row in same)
        }
        for same in alike.values()
    ]


def shown(value: float) -> str:
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


def cells(row: Row) -> str:
    return " | ".join(
        " / ".join(shown(value) for value in row[quantity]) if quantity in row else ""
        for quantity in QUANTITIES
    )


@pytest.mark.parametrize("table", TABLES)
def test_tables_have_the_numbers_of_the_runs(table: str) -> None:
    part = PAGE.split(f"### Table {table}")[1].split("\n#")[0]
    rows = rows_of(table)
    wanted = mean_of_alike(rows) if table == "5.7" else list(rows.values())
    found = re.findall(r"^\| [^|]+ \| (.*) \|$", part, re.M)
    assert sorted(found) == sorted(cells(row) for row in wanted)


def far(ratios: Iterable[float]) -> int:
    return sum(not 1 / FAR <= ratio <= FAR for ratio in ratios)


def deviation(rows: Iterable[Row], quantity: str) -> str:
    """How many of the rows native has far from what was published, and the ratios' range; where
    either is none sent again, there is no ratio.
    """
    pairs = [row[quantity][:2] for row in rows if quantity in row]
    ratios = [native / published for published, native in pairs if native and published]
    if not pairs:
        return "-"
    if not ratios:
        return f"no ratio of {len(pairs)}"
    text = f"{far(ratios)} of {len(ratios)}, {min(ratios):.2g} .. {max(ratios):.2g}"
    without = len(pairs) - len(ratios)
    return text + (f"; {without} without" if without else "")


def test_how_far_native_is_from_published() -> None:
    wanted = [
        f"| {table} | {' | '.join(deviation(rows_of(table).values(), q) for q in COMPARED)} |"
        for table in TABLES
    ]
    assert [line for line in wanted if line not in PAGE.splitlines()] == []


def test_the_count_of_far_throughputs_and_windows() -> None:
    for quantity, text in (
        ("throughput", "{} of {} native throughputs in Tables 5.1 to 5.7 differ"),
        ("cwnd", "and {} of {} windows"),
    ):
        pairs = [row[quantity][:2] for table in TABLES for row in rows_of(table).values()]
        count = far(native / published for published, native in pairs)
        assert text.format(count, len(pairs)) in PAGE.replace("\n", " ")


def test_numbers_that_its_text_compares() -> None:
    """``Table ROW: QUANTITY RATIO times`` in the list of what differs most."""
    claims = re.findall(r"^- (5\.\d), (.+?): (\w+) ([\d.]+) times", PAGE, re.M)
    assert len(claims) > 10
    for table, of, quantity, ratio in claims:
        published, native, _ = rows_of(table)[of][quantity]
        assert f"{native / published:.2f}" == ratio, (table, of, quantity)


def lines_of(experiment: str, **wanted: str) -> list[dict[str, str]]:
    """Of a campaign's cells and published rows; those of single flows have ``what`` "flows"."""
    with (FOLDER / "documents.csv").open(newline="") as file:
        return [
            line
            for line in csv.DictReader(file)
            if line["experiment"].removesuffix("-short") == experiment
            and (line["what"] != "flows" or wanted.get("what") == "flows")
            and all(line[key] == value for key, value in wanted.items())
        ]


def test_what_a_loss_leaves() -> None:
    means = {}
    for mode in ("native", "enforced"):
        for cc in ("cubic", "reno"):
            metric = "cwnd after a loss, of that before, %"
            lines = lines_of("five-ccs", mode=mode, cc=cc, metric=metric)
            means[mode, cc] = statistics.fmean(float(line["mean"]) for line in lines)
    text = ", ".join(
        f"{mode} {means[mode, 'cubic']:.0f} and {means[mode, 'reno']:.0f} %"
        for mode in ("native", "enforced")
    )
    assert text in PAGE.replace("\n", " ")


def test_first_shares_of_pairs() -> None:
    shares = {
        line["cell"].removesuffix(" 8ms 0%").replace("linux:", ""): float(line["mean"])
        for line in lines_of("cc-pairs", mode="native", metric="first_share")
        if line["cell"].endswith(" 0%")
    }
    text = PAGE.replace("\n", " ")
    assert len(shares) == 6
    for pair, share in shares.items():
        first, second = pair.upper().split("+")
        assert re.search(rf"{first} over {second} (has )?{share:.3f}", text), pair


@pytest.mark.parametrize("cc", ["cubic", "lincubic", "accucubic"])
@pytest.mark.parametrize("without", [False, True])
def test_linear_and_accurate_cubic(cc: str, without: bool) -> None:
    cell = f"1 flow {'without ' if without else ''}{cc}"
    found = {line["metric"]: float(line["mean"]) for line in lines_of("cubic-plateau", cell=cell)}
    row = re.search(
        rf"^\| {cc}{', without[^|]*' if without else ''} \| [^|]+ \| (.*) \|$", PAGE, re.M
    )
    assert row
    assert row[1] == (
        f"{100 * found['retransmitted']:.2f} | {found['loss_period']:.2f} |"
        f" {found['queue'] / 1000:.1f}"
    )


def ratios_of(name: str, metric: str, mean: str, least: str, cells_there: str) -> list[float]:
    """A campaign's, enforced to native, of which the page says these."""
    ratios = [float(row["mean"]) for row in lines_of(name, metric=f"{metric} ratio")]
    assert ratios
    assert len(ratios) == int(cells_there)
    assert f"{statistics.geometric_mean(ratios):.3f}" == mean
    assert f"{min(ratios):.2f}" == least
    return ratios


#: A campaign, its goodput to native's: mean, least, most; and how many cells it is of.
_CAMPAIGN = re.compile(
    r"^\| `([a-z0-9-]+)`[^|]*\|[^|]*\|[^|]*\| ([0-9.]+) \(([0-9.]+) \.\. ([0-9.]+), (\d+)", re.M
)


@pytest.mark.parametrize("line", _CAMPAIGN.findall(PAGE))
def test_goodput_of_campaigns(line: tuple[str, ...]) -> None:
    name, mean, least, most, cells_there = line
    ratios = ratios_of(name, "goodput", mean, least, cells_there)
    assert f"{max(ratios):.2f}" == most


_RTT = re.compile(
    r"^\| `([a-z0-9-]+)` \|.*\| ([\d.]+) \(([\d.]+) \.\. ([\d.]+), (\d+) cells\) \|$", re.M
)


@pytest.mark.parametrize("line", _RTT.findall(PAGE))
def test_rtts_of_campaigns(line: tuple[str, ...]) -> None:
    name, mean, least, most, cells_there = line
    ratios = ratios_of(name, "rtt", mean, least, cells_there)
    assert is_shown(most, max(ratios))


# --- how much of each campaign was run --------------------------------------------

_RUNS = re.compile(r"^\| `([a-z0-9-]+)` \| [^|]+ \| (\d+) of (\d+)(?:, ([^|]+))? \|", re.M)


def short_of(name: str) -> Campaign | None:
    try:
        return load(FOLDER / f"{name}.toml", short=True)
    except LabError:
        return None


@pytest.mark.parametrize("row", _RUNS.findall(PAGE))
def test_how_much_of_a_campaign_was_run(row: tuple[str, ...]) -> None:
    name, said, of, length = row
    counts: dict[tuple[str, str], int] = {}
    lines = lines_of(name)
    for line in lines:
        if line["what"] == "cell" and not line["metric"].endswith(" ratio"):
            key = (line["cell"], line["mode"])
            counts[key] = max(counts.get(key, 0), int(line["numbers"]))
    assert int(said) == sum(counts.values())
    whole = load(FOLDER / f"{name}.toml")
    assert {cell for cell, _ in counts} <= {cell.name for cell in whole.cells}
    there = len(whole.cells) * len(whole.modes) * len(whole.seeds)
    seconds = whole.cells[0].scenario.seconds
    short = lines[0]["experiment"].endswith("-short") and short_of(name)
    ran = short or whole
    assert of == str(there)
    if name != "files":  # whose runs end with the files
        ran_s = ran.cells[0].scenario.seconds
        assert re.fullmatch(rf"{ran_s:g} s(?: \([^)]*\))? of {seconds:g}", length)


def test_each_campaign_of_documents_csv_has_a_row() -> None:
    assert sorted(row[0] for row in _RUNS.findall(PAGE)) == sorted(RUNS)


# --- Table 6.1 ----------------------------------------------------------------------

_NAMES = {"bbr": "BBR", "bbr2": "BBR2", "cubic": "CUBIC", "dctcp": "DCTCP", "vegas": "Vegas"}
#: Of a published column: what a kind of flows calls it, and its unit.
_OF_KIND = {
    "throughput, MB/s": ("goodput_bps", 8e6), "rtt, ms": ("rtt_mean_us", 1e3),
    "sent, MB": ("sent_bytes", 1e6), "retransmissions, packets": ("retransmitted_bytes", 1448),
}  # fmt: skip


def comparison_of(campaign: str) -> dict[str, object]:
    """What `tcon-lab recommend` reads of a campaign, made of its published rows."""
    cells: dict[str, dict[str, dict[str, dict[str, object]]]] = {}
    for line in lines_of(campaign):
        cell = cells.setdefault(line["cell"], {"kinds": {}, "modes": {}})
        value = float(line["mean"])
        if line["metric"] == "jain_mean":
            cell["modes"][line["mode"]] = {"jain_mean": {"mean": value}}
        metric = line["metric"].removeprefix("total ")
        if line["what"] == "published" and metric in _OF_KIND:
            flows = int(line["cell"].split()[0]) if campaign == "vm-baseline" else 1
            kind = (
                cell["kinds"]
                .setdefault(line["mode"], {})
                .setdefault(line["of"], {"cc": line["cc"], "flows": flows})
            )
            name, unit = _OF_KIND[metric]
            of_all = line["metric"].startswith("total ")
            kind[name] = value * unit / (flows if of_all else 1)  # type: ignore[index]
    found = [
        {"kinds": {mode: list(kinds.values()) for mode, kinds in cell["kinds"].items()},
         "modes": cell["modes"]}
        for cell in cells.values()
    ]  # fmt: skip
    return {"campaign": campaign, "cells": found}


def test_which_cc_is_best_at_what() -> None:
    campaigns = [name for names in recommend.GROUPS.values() for name in names]
    made = recommend.recommend([comparison_of(name) for name in campaigns])
    document = published.load(FOLDER.parent / "published/virtual-machines.toml")
    theirs = {record["scenario"]: record for record in document.table("6.1").records()}
    wanted = []
    for group in recommend.GROUPS:
        for who in ("published", "native", "enforced"):
            said = [group if who == "published" else "", who]
            for metric in recommend.METRICS:
                found = (
                    theirs[group][metric]
                    if who == "published"
                    else made[who][group][metric]["best"]
                )
                several = [found] if isinstance(found, str) else found or []
                said.append(", ".join(_NAMES[str(cc)] for cc in several) or "-")  # type: ignore
            wanted.append(f"| {' | '.join(said)} |")
    lines = PAGE.splitlines()
    assert [line for line in wanted if line not in lines] == []


# --- the other tables ---------------------------------------------------------------

#: Of a part of the page: its campaigns, and the columns whose numbers no kept run has, with what
#: these rows begin with.
_PARTS = {
    "Synchronised losses": (("cubic-scenarios",), {"epochs": ("A", "B")}),
    "Ten flows": (("cubic-ten-flows",), {}),
    "Fast convergence": (("cubic-fast-convergence",), {}),
    "Small buffers": (("cubic-buffers",), {"drops": ("",)}),
    "AQMs against": (
        ("cubic-aqm",), {"epochs": ("FIFO", "CoDel", "RED"), "Jain": ("FIFO", "CoDel", "RED")}
    ),
    "AQMs at 350 ms": (("cubic-aqm-350ms",), {}),
    "AQM targets": (("cubic-aqm-target",), {}),
    "CoDel's interval": (("cubic-aqm-interval",), {}),
}  # fmt: skip


@pytest.mark.parametrize("part", _PARTS)
def test_other_tables_have_the_numbers_of_the_runs(part: str) -> None:
    campaigns, missing = _PARTS[part]
    text = PAGE.split(f"\n## {part}")[1].split("\n## ")[0]
    wrong, checked, headings = [], 0, []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line[:1] == "|" else [line]
        headings = cells if not headings and len(cells) > 1 else headings
        for number, cell in enumerate(cells):
            column = headings[number] if len(cells) > 1 else ""
            if cells[0].startswith(missing.get(column, ("nothing",))):
                continue
            several = SEVERAL.findall(cell)
            checked += len(several)
            wrong += [(cells[0], column, one) for one in several if not is_pair(one, campaigns)]
    assert wrong == []
    assert checked > 2


def test_one_flow_beside_the_model() -> None:
    found = RUNS["cubic-one-flow"]
    for cell in load(FOLDER / "cubic-one-flow.toml").cells:
        cycle = cubic_model.Cycle(model_path(cell.scenario.to_dict()))
        said = [f"{cycle.period_s:.2f} s"]
        windows = [f"{cycle.w_start:.3g} to {cycle.w_max:.3g}"]
        for mode in ("native", "enforced"):
            least, most = (found[cell.name, "", f"window_{n}"][0][mode] for n in ("least", "most"))
            windows.append(f"{least / 1448:.0f} to {most / 1448:.0f}")
        row = re.search(rf"^\| {cell.name} .*$", PAGE, re.M)
        assert row, cell.name
        columns = row[0].strip("| ").split(" | ")
        assert columns[1] == said[0]
        assert columns[4:] == windows
        for column, mode in ((2, "native"), (3, "enforced")):
            period_s = found[cell.name, "", "loss_period"][0][mode]
            assert is_shown(columns[column].removesuffix(" s"), period_s)


def test_what_bbr_leaves_of_a_link() -> None:
    """The sums of both flows, in the page's own table, and what the path loses behind the link."""
    part = PAGE.split("native: alone, beside, BBR")[1].split("\n\n")[0]
    sides = re.findall(r"[\d.]+, ([\d.]+), (\d+)", part)
    sums = [float(first) + float(second) for first, second in sides]
    assert len(sums) == 6
    path = load(FOLDER / "bbr-joins.toml", short=True).cells[0].scenario.path
    lost = 946 * path.loss_fraction
    empty = [946 - lost - both for both in sums]
    text = PAGE.replace("\n", " ")
    assert f"11, are lost behind it, and both have {min(sums):.0f} to {max(sums):.0f}" in text
    assert f"so that {min(empty):.0f} to {max(empty):.0f} stay empty" in text
    assert f"{lost:.0f}" == "11"


def test_products_of_rtt_and_throughput() -> None:
    """What was on the path by the document's own Table 5.1, in MB."""
    document = published.load(FOLDER.parent / "published/virtual-machines.toml")
    sums = {}
    for record in document.table("5.1").records():
        vms, rate, rtt = (float(str(record[key])) for key in ("vms", "throughput", "rtt"))
        sums[record["cc"], vms] = vms * rate * rtt / 1e3
    text = PAGE.replace("\n", " ")
    for vms in (2.0, 4.0, 8.0, 16.0, 32.0):
        both = [f"{sums[cc, vms]:.1f}" for cc in ("cubic", "dctcp")]
        numbers = both[0] if both[0] == both[1] else " and ".join(both)
        words = {2: "two", 4: "four", 8: "eight"}.get(vms, f"{vms:g}")
        assert re.search(rf"{numbers} +with +{words}\b", text), (vms, both)
