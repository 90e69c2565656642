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

FOLDER = Path(__file__).parents[3] / "tools/campaigns"
PAGE = (FOLDER / "documents.md").read_text()
QUANTITIES = ("throughput", "rtt", "jain", "retransmissions")
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
            quantity = line["metric"].split(",")[0].removeprefix("total ")
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
        f"| {table} | {' | '.join(deviation(rows_of(table).values(), q) for q in QUANTITIES)} |"
        for table in TABLES
    ]
    assert [line for line in wanted if line not in PAGE.splitlines()] == []


def test_the_count_of_far_throughputs() -> None:
    pairs = [row["throughput"][:2] for table in TABLES for row in rows_of(table).values()]
    count = far(native / published for published, native in pairs)
    assert f"{count} of {len(pairs)} native throughputs" in PAGE.replace("\n", " ")


def test_numbers_that_its_text_compares() -> None:
    """``Table ROW: QUANTITY RATIO times`` in the list of what differs most."""
    claims = re.findall(r"^- (5\.\d), (.+?): (\w+) ([\d.]+) times", PAGE, re.M)
    assert len(claims) > 10
    for table, of, quantity, ratio in claims:
        published, native, _ = rows_of(table)[of][quantity]
        assert f"{native / published:.2f}" == ratio, (table, of, quantity)


def lines_of(experiment: str, **wanted: str) -> list[dict[str, str]]:
    with (FOLDER / "documents.csv").open(newline="") as file:
        return [
            line
            for line in csv.DictReader(file)
            if line["experiment"] == f"{experiment}-short"
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


@pytest.mark.parametrize("flows", ["1 flow", "10 flows"])
@pytest.mark.parametrize("without", ["", " without"])
def test_fast_convergence(flows: str, without: str) -> None:
    lines = lines_of("cubic-fast-convergence", cell=f"{flows}{without}")
    found = {(line["mode"], line["metric"]): float(line["mean"]) for line in lines}

    def both(metric: str, unit: float, digits: str) -> str:
        modes = ("native", "enforced")
        return " / ".join(f"{found[mode, metric] / unit:{digits}}" for mode in modes)

    row = re.search(rf"^\| {flows}{without} \| (.*) \|$", PAGE, re.M)
    assert row
    columns = row[1].split(" | ")
    assert columns[0] == both("goodput", 1e6, ".3g")
    assert columns[2] == both("loss_period", 1, ".2f")
    if flows == "10 flows":
        assert columns[3] == both("loss_sync", 1, ".2f")


#: A campaign, its goodput to native's: mean, least, most; and how many cells it is of.
_CAMPAIGN = re.compile(
    r"^\| `([a-z0-9-]+)`[^|]*\|[^|]*\|[^|]*\| ([0-9.]+) \(([0-9.]+) \.\. ([0-9.]+), (\d+)", re.M
)


@pytest.mark.parametrize("line", _CAMPAIGN.findall(PAGE))
def test_goodput_of_campaigns(line: tuple[str, ...]) -> None:
    name, mean, least, most, cells_there = line
    ratios = [float(row["mean"]) for row in lines_of(name, metric="goodput ratio")]
    assert ratios
    assert len(ratios) == int(cells_there)
    assert f"{statistics.geometric_mean(ratios):.3f}" == mean
    assert (f"{min(ratios):.2f}", f"{max(ratios):.2f}") == (least, most)
