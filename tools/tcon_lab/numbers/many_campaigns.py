# SPDX-License-Identifier: GPL-2.0-only
"""Several campaigns together: for each CC, is enforced as native?

An overview is plain data, the JSON beside the page that :mod:`..pages.many_campaigns_page` makes::

    {"level": of the intervals,
     "answers": [{"cc", "experiment", "metric", "mean", "low", "high", "numbers", "over"}],
     "overall": [the same without "experiment", over the cells of all of them],
     "experiments": [{"name", "folder", "about": what its campaign file opens with,
                      "comparison": as in :mod:`.against_native`,
                      "sides": [tables of published against ours, see :mod:`.against_published`],
                      "more": [what the comparison does not show, see :mod:`.of_cells`],
                      "models": [the thesis's models beside ours, see :mod:`.against_models`],
                      "buffers": how large one must be, there, too; null of most,
                      "shares": {mode: {first CC: {second CC: share of the first}}}}]}

An answer is the ratio of the enforced run to the baseline's (native, or stock) with the
same seed, see :mod:`.confidence` for mean and interval: of goodput and median path RTT
of the flows that a CC decides about, and of mean completion times of transfers.  Where
CCs compete each has its own answer, of its own flows.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import LabError
from ..machine.products import TOP
from . import against_models, against_published, of_cells
from .against_native import COMPARED, made_of
from .campaign_run import Store
from .confidence import LEVEL, interval
from .results import median

Record = dict[str, Any]

#: Name of each metric, and whether more of it is better.
METRICS = {
    "goodput": ("Goodput", True),
    "rtt": ("Path RTT p50", False),
    "completion": ("Mean completion time", False),
}


#: Where the campaigns that come with TCon are.
CAMPAIGNS = TOP / "tools/campaigns"
#: Keys that a comparison must have; older versions' may lack some.
_NEEDED = {
    "baseline",
    "cells",
    "made_of",
    "overall",
    "published",
    "seeds",
    "tables",
    "values",
    "versions",
}


@dataclass(frozen=True)
class Experiment:
    """A campaign's folder: its comparison, and its runs by cell, mode and seed."""

    folder: Path
    comparison: Record
    runs: dict[str, dict[str, dict[int, Record]]]
    keys: dict[tuple[str, str, int], str]

    @property
    def name(self) -> str:
        """The campaign's name."""
        return str(self.comparison["campaign"])

    def samples(self, cell: str, mode: str, seed: int) -> Record | None:
        """The samples of a run, where they were kept."""
        key = self.keys.get((cell, mode, seed))
        return Store(self.folder).samples(key) if key else None


def load(folder: Path) -> Experiment:
    """Read a campaign's folder.  Raises LabError where it is none."""
    try:
        comparison = json.loads((folder / "comparison.json").read_text())
        index = json.loads((folder / "index.json").read_text())["runs"]
        name = comparison["campaign"]
        keys = {(r["cell"], r["mode"], int(r["seed"])): str(r["key"]) for r in index}
    except (OSError, ValueError, KeyError, TypeError):
        raise LabError(
            f"{folder} holds no campaign with a comparison.json: run `tcon-lab campaign` with it"
        ) from None
    if missing := sorted(_NEEDED - set(comparison)):
        raise LabError(
            f"{folder}/comparison.json has no {missing[0]}: make it anew with "
            "`tcon-lab campaign --report`"
        )
    if comparison["made_of"] != made_of(index):
        raise LabError(
            f"{folder}/comparison.json is of other runs than index.json: let `tcon-lab campaign` "
            "end, or make it anew with `--report`"
        )
    store, runs = Store(folder), {}
    for (cell, mode, seed), key in keys.items():
        stored = store.load(key)
        if stored is not None:
            runs.setdefault(cell, {}).setdefault(mode, {})[seed] = stored
    if not runs:
        raise LabError(f"{folder} holds no run of campaign {name}")
    return Experiment(folder, comparison, runs, keys)


def load_all(folders: list[Path]) -> list[Experiment]:
    """Read several.  Raises LabError, also where two are the same campaign's."""
    found: dict[str, Experiment] = {}
    for folder in folders:
        experiment = load(folder)
        if experiment.name in found:
            other = found[experiment.name].folder
            raise LabError(f"{other} and {folder} both hold campaign {experiment.name}")
        found[experiment.name] = experiment
    return list(found.values())


# --- answers ----------------------------------------------------------------


def _flows_by_cc(run: Record) -> dict[str, list[Record]]:
    """A run's flows by who decides about them."""
    found: dict[str, list[Record]] = {}
    for flow in run["flows"]:
        found.setdefault(str(flow["cc"]), []).append(flow)
    return found


def _quantity(flows: list[Record], metric: str) -> float | None:
    """A metric of some flows of a run: bits/s, us or s; None where nobody measured it."""
    times_s = [t for f in flows if "transfers" in f for t in f["transfers"]["each_s"]]
    if metric == "completion":
        return sum(times_s) / len(times_s) if times_s else None
    if times_s:
        return None
    if metric == "goodput":
        return sum(flow["goodput_bps"] or 0 for flow in flows)
    return median([flow["rtt_us"]["p50"] for flow in flows if (flow["rtt_us"] or {}).get("p50")])


def _same_flows(run: Record, flows: list[Record]) -> list[Record]:
    """The flows of another run with the numbers of these."""
    numbers = {flow["index"] for flow in flows}
    return [flow for flow in run["flows"] if flow["index"] in numbers]


def _cell_ratios(modes: dict[str, dict[int, Record]], baseline: str) -> Record:
    """{CC: {metric: a ratio for each seed}} of one cell."""
    found: Record = {}
    for seed, stored in sorted(modes.get(COMPARED, {}).items()):
        native = modes.get(baseline, {}).get(seed)
        if native is None:
            continue
        for cc, flows in _flows_by_cc(stored["run"]).items():
            theirs = _same_flows(native["run"], flows)
            for metric in METRICS:
                ours, base = _quantity(flows, metric), _quantity(theirs, metric)
                if ours is not None and base:
                    found.setdefault(cc, {}).setdefault(metric, []).append(ours / base)
    return found


def ratios(experiment: Experiment) -> dict[tuple[str, str], list[list[float]]]:
    """By CC and metric: of each cell the ratios of its seeds."""
    found: dict[tuple[str, str], list[list[float]]] = {}
    for modes in experiment.runs.values():
        for cc, metrics in _cell_ratios(modes, experiment.comparison["baseline"]).items():
            for metric, values in metrics.items():
                found.setdefault((cc, metric), []).append(values)
    return found


def _answer(cc: str, metric: str, cells: list[list[float]]) -> Record:
    found = interval(cells)
    return {"cc": cc, "metric": metric, **(dataclasses.asdict(found) if found else {})}


def _shares(experiment: Experiment) -> Record:
    """Each CC's share of the goodput, where two CCs compete: mean over the cells."""
    found: Record = {}
    for modes in experiment.runs.values():
        for mode, by_seed in modes.items():
            for stored in by_seed.values():
                tables: dict[int, list[Record]] = {}
                for flow in stored["run"]["flows"]:
                    tables.setdefault(flow.get("table", 0), []).append(flow)
                total = sum(flow["goodput_bps"] or 0 for flow in stored["run"]["flows"])
                if len(tables) != 2 or not total:
                    continue
                first, second = tables[0], tables[1]
                if first[0]["cc"] == second[0]["cc"]:
                    continue
                # Each flow alike: one against three would have a quarter.
                mine = sum(flow["goodput_bps"] or 0 for flow in first) / len(first)
                other = sum(flow["goodput_bps"] or 0 for flow in second) / len(second)
                row = found.setdefault(mode, {}).setdefault(first[0]["cc"], {})
                row.setdefault(second[0]["cc"], []).append(mine / (mine + other))
    return {
        mode: {
            a: {b: sum(values) / len(values) for b, values in row.items()}
            for a, row in rows.items()
        }
        for mode, rows in found.items()
    }


def _more(experiment: Experiment) -> list[Record]:
    """Quantities that a comparison does not show, of each cell and mode."""
    found = []
    for cell, modes in experiment.runs.items():
        for mode, by_seed in modes.items():
            runs = [
                (stored["run"], experiment.samples(cell, mode, seed))
                for seed, stored in sorted(by_seed.items())
            ]
            found += of_cells.rows(cell, mode, runs)
    return found


def about(name: str, folder: Path = CAMPAIGNS) -> list[str]:
    """The first paragraphs of the file of a campaign that comes with TCon.

    It says what is repeated, what differs from the document, and why.  Items of a list
    begin with "- ".  Nothing of campaigns of users' own.
    """
    try:
        lines = (folder / f"{name.removesuffix('-short')}.toml").read_text().splitlines()
    except OSError:
        return []
    found: list[str] = [""]
    for line in itertools.takewhile(lambda line: line.startswith("#"), lines):
        text = line.removeprefix("#").strip()
        if text.startswith("SPDX"):
            continue
        if not text or text.startswith("- "):
            found.append(text)
        else:
            found[-1] = f"{found[-1]} {text}".strip()
    return [text for text in found if text]


def overview(experiments: list[Experiment]) -> Record:
    """All that the page shows but plots over time."""
    answers, everything = [], {}
    for experiment in experiments:
        for (cc, metric), cells in ratios(experiment).items():
            answers.append(_answer(cc, metric, cells) | {"experiment": experiment.name})
            everything.setdefault((cc, metric), []).extend(cells)
    return {
        "level": LEVEL,
        "answers": answers,
        "overall": [_answer(cc, metric, cells) for (cc, metric), cells in everything.items()],
        "experiments": [
            {
                "name": experiment.name,
                "folder": experiment.folder.name,
                "about": about(experiment.name),
                "comparison": experiment.comparison,
                "sides": against_published.sides(
                    experiment.comparison, experiment.runs, experiment.samples
                ),
                "more": _more(experiment),
                "models": against_models.rows(
                    experiment.comparison, experiment.runs, experiment.samples
                ),
                "buffers": against_models.buffers(experiment.comparison, experiment.runs),
                "shares": _shares(experiment),
            }
            for experiment in experiments
        ],
    }


# --- CSV --------------------------------------------------------------------

CSV_HEADINGS = (
    "experiment", "cell", "of", "what", "cc", "mode", "metric", "mean", "low", "high", "numbers",
    "published", "where",
)  # fmt: skip


def _cell_rows(experiment: Record) -> Iterator[list[Any]]:
    """Each cell's comparison, then the quantities that it does not show."""
    name, more = experiment["name"], experiment["more"]
    for cell in experiment["comparison"]["cells"]:
        compared: set[tuple[str, str]] = set()
        several = [(mode, found) for mode, found in cell["modes"].items()]
        several.append((COMPARED, {f"{k} ratio": v for k, v in cell["metrics"].items()}))
        for mode, found in several:
            for metric, spread in found.items():
                compared.add((mode, metric))
                numbers = [spread["mean"], spread["min"], spread["max"], len(spread["seeds"])]
                yield [name, cell["cell"], "", "cell", "", mode, metric, *numbers, None, ""]
        for row in (row for row in more if row["cell"] == cell["cell"]):
            if not row["of"] and (row["mode"], row["metric"]) in compared:
                continue
            values = row["values"]
            numbers = [sum(values) / len(values), min(values), max(values), len(values)]
            first = [name, row["cell"], row["of"], "flows" if row["of"] else "cell", row["cc"]]
            yield [*first, row["mode"], row["metric"], *numbers, None, ""]


def csv_rows(made: Record) -> list[list[Any]]:
    """An overview as rows under CSV_HEADINGS.

    ``what`` is "answer" (a ratio with its interval), "cell" (a quantity or ratio of one
    cell, with the smallest and largest of its seeds), "flows" (the same of the flows of
    the [[flow]] that ``of`` names), "published", "model" (what the mode "model" says, and the
    same of ours) or "buffer" (how many BDPs fill a share of a link, and, under mode "rule",
    what ``of`` names says).  Quantities are in bits/s, bytes, us and s; published ones, of the
    row that ``of`` names, and models' in the unit that is named.
    """
    rows: list[list[Any]] = []
    for answer in [*({"experiment": "all"} | a for a in made["overall"]), *made["answers"]]:
        numbers = [answer.get(key) for key in ("mean", "low", "high", "numbers")]
        names = [answer["experiment"], "", "", "answer", answer["cc"], COMPARED, answer["metric"]]
        rows.append([*names, *numbers, None, ""])
    for experiment in made["experiments"]:
        rows += _cell_rows(experiment)
        for side in experiment["sides"]:
            for row in side["rows"]:
                for mode, value in row["ours"].items():
                    first = [experiment["name"], row["cell"], row["of"], "published", row["cc"]]
                    name = f"{row['quantity']}, {row['unit']}"
                    rest = [value, None, None, None, row["text"], side["where"]]
                    rows.append([*first, mode, name, *rest])
        rows += _model_rows(experiment)
    return rows


def _model_rows(experiment: Record) -> list[list[Any]]:
    """The numbers of models and rules for an experiment, and the measured ones."""
    rows: list[list[Any]] = []
    nothing = [None, None, None, None, ""]
    for row in experiment["models"]:
        for mode, value in {"model": row["model"], **row["ours"]}.items():
            name = f"{row['quantity']}, {row['unit']}"
            first = [experiment["name"], row["cell"], "", "model", row["cc"], mode, name]
            rows.append([*first, value, *nothing])
    found = experiment["buffers"] or {"rules": {}, "needed": [], "points": {}}
    for rule, bdp in found["rules"].items():
        first = [experiment["name"], "", rule, "buffer", "", "rule", "buffer, BDPs"]
        rows.append([*first, bdp, *nothing])
    for need in found["needed"]:
        of = f"{need['share']:.0%} {need['bound']}".strip()
        first = [experiment["name"], "", of, "buffer", need["cc"], need["mode"], "buffer, BDPs"]
        rows.append([*first, need["bdp"], *nothing])
    for cc, by_mode in found["points"].items():
        for mode, points in by_mode.items():
            for bdp, share in points:
                first = [experiment["name"], f"{bdp:.2g}bdp", "", "buffer", cc, mode]
                rows.append([*first, "link used, share", share, *nothing])
    return rows


def csv_text(made: Record) -> str:
    """An overview as CSV, with a line of headings; numbers have six digits."""
    text = io.StringIO()
    rows = (
        [f"{value:.6g}" if isinstance(value, float) else value for value in row]
        for row in csv_rows(made)
    )
    csv.writer(text, lineterminator="\n").writerows([CSV_HEADINGS, *rows])
    return text.getvalue()
