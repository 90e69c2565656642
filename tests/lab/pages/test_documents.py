# SPDX-License-Identifier: GPL-2.0-only
"""docs/documents.md: it names each table and figure of each document, its plots are of
documents.csv, and its numbers are those of the runs.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from commands import tcon_lab
from tcon_lab.errors import LabError
from tcon_lab.experiment import published
from tcon_lab.pages import documents_plots

TOP = Path(__file__).parents[3]
CSV = TOP / "tools/campaigns/documents.csv"
PAGE = (TOP / "docs/documents.md").read_text()
DOCUMENTS = {
    file.stem: published.load(file) for file in sorted((TOP / "tools/published").glob("*.toml"))
}
#: Of each document: the part of the page that has its plot.
PARTS = {
    name: next(part for part in PAGE.split("\n## ") if f"documents-{name}.svg" in part)
    for name in DOCUMENTS
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_each_table_and_figure_has_one_row(name: str) -> None:
    rows = re.findall(r"^\| ((?:Table|Figure) [^|]+?) \|", PARTS[name], re.M)
    named = [one for row in rows for one in published.numbered(row)]
    assert sorted(named) == sorted(DOCUMENTS[name].numbered)
    assert named


def test_campaigns_that_the_page_names_exist() -> None:
    here = re.findall(r"^\| (?:Table|Figure) .*?\|.*?\| (.*) \|$", PAGE, re.M)
    known = {file.stem for file in (TOP / "tools/campaigns").glob("*.toml")}
    said = {word for text in here for word in re.findall(r"`([\w-]+)`", text)}
    assert said - known == set()
    assert len(said & known) > 10


def without_noise(svg: str) -> tuple[list[str], list[float]]:
    """An SVG's words, without the names that it makes of its numbers, and its numbers."""
    svg = re.sub(r"\b[mp][0-9a-f]{10}\b", "id", svg)
    number = r"-?\d+(?:\.\d+)?"
    return re.split(number, svg), [float(text) for text in re.findall(number, svg)]


def test_plots_are_what_the_command_draws(tmp_path: Path) -> None:
    """The same but for the last digits, which are not the same on every CPU."""
    got = tcon_lab("documents", "--out", str(tmp_path))
    assert got.returncode == 0, got.stderr
    made = {file.name: file.read_text() for file in tmp_path.iterdir()}
    assert set(made) == {f"documents-{name}.svg" for name in DOCUMENTS} | {"weights-monitor.svg"}
    for name, svg in made.items():
        kept = (TOP / "docs" / name).read_text()
        assert len(kept) < 60_000
        words, numbers = without_noise(svg)
        kept_words, kept_numbers = without_noise(kept)
        assert words == kept_words, name
        assert numbers == pytest.approx(kept_numbers, abs=0.01), name


def test_what_is_no_report(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    with pytest.raises(LabError, match=r"a\.csv: No such file"):
        documents_plots.read(file)
    file.write_text("a,b\n1,2\n")
    with pytest.raises(LabError, match=r"a\.csv is no CSV that tcon-lab report wrote"):
        documents_plots.read(file)
    lines = [line for line in documents_plots.read(CSV) if line["experiment"] != "files-short"]
    with pytest.raises(LabError, match='no numbers of "mean time, s", for tcon-paper'):
        documents_plots.plots(lines)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("5", (5, 5)),
        ("850 +- 20", (830, 870)),
        ("0.2 to 0.6", (0.2, 0.6)),
        ("at least 800", (800, 880)),
        ("at most 30", (0, 30)),
    ],
)
def test_published_numbers_as_spans(text: str, wanted: tuple[float, float]) -> None:
    assert documents_plots.span(text) == pytest.approx(wanted)


# --- numbers in the page ----------------------------------------------------------


def shown(value: float) -> str:
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


def numbers_of_the_runs() -> set[str]:
    """Published / native / enforced, and native / enforced, as the page may have them."""
    found: dict[tuple[str, ...], dict[str, float]] = {}
    said = {}
    with CSV.open(newline="") as file:
        for line in csv.DictReader(file):
            key = (line["experiment"], line["cell"], line["of"], line["metric"])
            found.setdefault(key, {})[line["mode"]] = float(line["mean"])
            said[key] = line["published"]
    texts = set()
    for key, modes in found.items():
        if {"native", "enforced"} <= set(modes):
            for unit in (1, 0.01, 1e3, 1e6):
                pair = " / ".join(shown(modes[mode] / unit) for mode in ("native", "enforced"))
                texts |= {pair, f"{said[key]} / {pair}"}
                if re.fullmatch(r"[\d.]+", said[key]):
                    texts.add(f"{shown(float(said[key]))} / {pair}")
    return texts


def test_numbers_are_those_of_the_runs() -> None:
    number = r"(?<![\d.])\d+(?:\.\d+)?"
    said = re.findall(rf"{number}(?: / {number})+", PAGE)
    known = numbers_of_the_runs()
    assert len(said) > 30
    assert [text for text in said if text not in known] == []
