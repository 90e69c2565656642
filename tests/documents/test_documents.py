# SPDX-License-Identifier: GPL-2.0-only
"""docs/documents.md: it names each table and figure of each document, its plots are of
documents.csv, and its numbers are those of the runs.
"""

from __future__ import annotations

import re
import statistics
from pathlib import Path

import pytest
from commands import tcon_lab
from documents_csv import CSV, RUNS, SEVERAL, is_pair, is_shown
from tcon_lab.errors import LabError
from tcon_lab.experiment import published
from tcon_lab.experiment.campaign_file import load
from tcon_lab.numbers import cubic_model
from tcon_lab.pages import documents_plots
from tcon_lab.pages.time_plots import model_path

TOP = Path(__file__).parents[2]
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

_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.]*\w)")
KNOWN = {file.stem for file in (TOP / "tools/campaigns").glob("*.toml")}


def named_in(text: str) -> list[str]:
    return [word for word in re.findall(r"`([\w-]+)`", text) if word in KNOWN]


_ROW = re.compile(r"^\| ((?:Table|Figure|Section) [^|]+?) \| ([^|]+) \| (.*) \|$", re.M)
ROWS = _ROW.findall(PAGE)


def test_numbers_of_the_rows_are_those_of_their_campaigns() -> None:
    wrong, checked = [], 0
    for name, _, here in ROWS:
        for text in SEVERAL.findall(here):
            checked += 1
            if not is_pair(text, named_in(here)):
                wrong.append((name, text))
    assert checked > 60
    assert wrong == []


def test_numbers_of_the_text_are_those_of_the_runs() -> None:
    text = "\n".join(line for line in PAGE.splitlines() if not line.startswith("|"))
    several = SEVERAL.findall(text)
    assert several
    assert [one for one in several if not is_pair(one, RUNS)] == []


def elsewhere(name: str, here: str, document: str) -> set[str]:
    """Numbers of a row that are no result of its campaigns: those of its campaigns' files, of
    what is published, of the page that it leads to, and of the thesis's model of one flow.
    """
    campaigns = named_in(here)
    files = [TOP / f"tools/published/{document}.toml"]
    files += [TOP / f"tools/campaigns/{campaign}.toml" for campaign in campaigns]
    files += [TOP / "tools/campaigns/transfers.md"] if "transfers" in campaigns else []
    files += [TOP / "docs" / page for page in re.findall(r"\]\(([\w./-]+\.md)", here)]
    found = {number for file in files for number in re.findall(r"\d+(?:\.\d+)?", file.read_text())}
    if "cubic-one-flow" in campaigns:
        cells = load(TOP / "tools/campaigns/cubic-one-flow.toml").cells
        paths = [model_path(cell.scenario.to_dict()) for cell in cells]
        found |= {f"{cubic_model.Cycle(path).period_s:.2f}" for path in paths}
    return found


#: Of the numbers that are made of several, these have tests of their own.
MADE_OFSEVERAL = {"Figure 4": ("35.5", "11.0")}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_single_numbers_of_the_rows_are_in_the_runs(document: str) -> None:
    """Those of three digits and more: shorter ones would be there by chance."""
    wrong, checked = [], 0
    for name, _, here in _ROW.findall(PARTS[document]):
        campaigns = named_in(here)
        several = [modes for one in campaigns for modes, _ in RUNS.get(one, {}).values()]
        means = [mean for modes in several for mean in modes.values()]
        known = elsewhere(name, here, document) | set(MADE_OFSEVERAL.get(name, ()))
        text = re.sub(r"Figure \d+\.\d+", "", SEVERAL.sub("", here))
        for number in _NUMBER.findall(text) if campaigns else []:
            if len(number.replace(".", "").lstrip("0")) >= 3 and number not in known:
                checked += 1
                if not any(is_shown(number, mean) for mean in means):
                    wrong.append((name, number))
    assert wrong == []
    assert checked > 3 or document not in ("cc-pairs", "cubic-thesis")


def test_what_is_saved_in_the_mean() -> None:
    """Of all six means of the TCon paper, and of ours in transfers.md."""
    theirs = [c.mean_s for c in DOCUMENTS["tcon-paper"].completions]
    assert len(theirs) == 6
    saved = 100 * statistics.fmean(1 - mean["enforced"] / mean["guest"] for mean in theirs)
    assert f"the paper's own six give {saved:.1f} %" in PAGE
    said = DOCUMENTS["tcon-paper"].table("reductions").records()
    mean = statistics.fmean(float(row["enforced"]) for row in said)
    assert f"or {mean:.1f} % by the percentages of its text, not 12.76" in PAGE
    text = (TOP / "tools/campaigns/transfers.md").read_text()
    ours = re.findall(
        r"^\| [^|]+ \| enforced \|(?: [\d.]+ \|){5}(?: [\d.-]+ \|) (-?[\d.]+)% \|", text, re.M
    )
    assert len(ours) == 6
    mean = statistics.fmean(float(percent) for percent in ours)
    assert f"Over the six means enforced saves {mean:.1f} %" in PAGE


def test_rates_of_the_papers_transfers_to_shanghai() -> None:
    (case,) = [c for c in DOCUMENTS["tcon-paper"].completions if c.case == "Shanghai 10MB"]
    rates = [f"{80 / case.mean_s[mode]:.1f}" for mode in ("native", "enforced", "guest")]
    assert f"are {rates[0]},\n{rates[1]} and {rates[2]} Mbit/s, to a client of 5 Mbit/s" in PAGE


def ratios(campaign: str, cells: str) -> dict[str, float]:
    """The ratios of goodput of those cells whose name the expression fits."""
    return {
        cell: modes["enforced"]
        for (cell, _, metric), (modes, _) in RUNS[campaign].items()
        if metric == "goodput ratio" and re.fullmatch(cells, cell)
    }


def test_what_it_says_of_five_ccs() -> None:
    text = PARTS["five-ccs"].replace("\n", " ")
    for ccs, cells, least, most in (
        ("reno|cubic|vegas", ".* 0%", "0.98", "1.02"),
        ("reno|cubic", "(100|300)ms 1%", "0.86", "0.95"),
        ("vegas|linux:hybla|linux:cdg", "(100|300)ms 1%", "0.44", "2.67"),
    ):
        found = ratios("five-ccs", f"({ccs}) {cells}").values()
        assert (f"{min(found):.2f}", f"{max(found):.2f}") == (least, most)
        assert f"{least} to {most}" in text
    with_one = ratios("five-ccs", ".* 300ms 0.1%")
    for cc, name in (("cubic", "CUBIC has"), ("vegas", "Vegas"), ("reno", "Reno"),
                     ("linux:hybla", "Hybla")):  # fmt: skip
        assert f"{name} {with_one[f'{cc} 300ms 0.1%']:.3g}" in text
    for cc, first, second in (("linux:cdg", "0.71", "0.63"), ("linux:hybla", "0.985", "0.90")):
        digits = len(first) - 2
        assert f"{ratios('five-ccs', f'{cc} 100ms 0%')[f'{cc} 100ms 0%']:.{digits}f}" == first
        assert f"{ratios('five-ccs', f'{cc} 300ms 0%')[f'{cc} 300ms 0%']:.2f}" == second
        assert first in text
        assert second in text


def test_what_it_says_of_the_smallest_files() -> None:
    text = PARTS["tcon-paper"].replace("\n", " ")

    def mean(cell: str, metric: str, mode: str) -> float:
        return RUNS["files"][cell, "", metric][0][mode]

    kept = {cell: modes["enforced"] for (cell, _, metric), (modes, _) in RUNS["files"].items()
            if metric == "saving_kept ratio"}  # fmt: skip
    assert min(kept, key=lambda cell: kept[cell]) == "Shanghai 1.7MB"
    assert f"it keeps {100 * kept['Shanghai 1.7MB']:.1f} % to Shanghai" in text
    assert min(kept[cell] for cell in kept if "1.7MB" not in cell) >= 0.991
    times = [
        mean("Oregon 1.7MB", "completion_mean", mode) for mode in ("enforced", "native", "guest")
    ]
    needs = "to Oregon it needs {:.2f} s where native BBR needs {:.2f} and plain CUBIC {:.2f}"
    assert needs.format(*times) in text


def test_what_it_says_of_table_5_1_and_5_4() -> None:
    """How far native throughput and RTTs are from published ones."""
    text = PARTS["virtual-machines"].replace("\n", " ")
    found: dict[str, dict[str, float]] = {"throughput, MB/s": {}, "rtt, ms": {}}
    for campaign in ("vm-baseline", "vm-loss"):
        for (_, of, metric), (modes, said) in RUNS[campaign].items():
            if metric in found and of.startswith(("bbr2", "cubic", "dctcp", "vegas")):
                found[metric][of] = modes["native"] / float(said)
    rates, rtts = found["throughput, MB/s"], found["rtt, ms"]
    assert (
        f"{rates.pop('vegas, 5 % loss'):.2f} and {rates.pop('dctcp, 5 % loss'):.2f} times" in text
    )
    assert f"({min(rates.values()):.2f} to {max(rates.values()):.2f} times)" in text
    rtts = {of: ratio for of, ratio in rtts.items() if of.endswith("VMs")}
    assert f"Vegas's are longer: {rtts.pop('vegas, 1 VMs'):.1f} times alone" in text
    assert f"{min(rtts.values()):.2f} to {max(rtts.values()):.2f} times in 5.1" in text


def test_what_connections_take_of_a_cpu() -> None:
    """The difference of instructions a byte, at the enforced goodput, of 3e9 a second."""
    instructions, shares = [], []
    for flows in (1, 16, 64):
        per_byte = RUNS["connections"][str(flows), "", "instructions"][0]
        goodput_bps = RUNS["connections"][str(flows), "", "goodput"][0]["enforced"]
        more = per_byte["enforced"] - per_byte["native"]
        instructions.append([f"{per_byte[mode]:.1f}" for mode in ("native", "enforced")])
        shares.append(f"{100 * more * goodput_bps / 8 / 3e9:.1f}")
    native, enforced = zip(*instructions, strict=True)
    text = PARTS["tcon-paper"]
    assert "take {}, {} and {} instructions a byte of the whole machine".format(*native) in text
    assert "and {}, {} and {} under TCon".format(*enforced) in text
    assert "TCon takes {}, {} and {} %".format(*shares) in text
    page = (TOP / "tools/campaigns/documents.md").read_text()
    for flows, (alone, under), share in zip((1, 16, 64), instructions, shares, strict=True):
        assert f"| {flows} | {alone} / {under} | {share} % |" in page
