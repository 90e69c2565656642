# SPDX-License-Identifier: GPL-2.0-only
"""Which CC is best at what, computed from campaigns: Table 6.1 of the virtual machines.

The document (tools/published/virtual-machines.toml) recommends a CC for each of four
groups of its experiments and four metrics, without a rule for it.  Ours:

- delivered: the goodput of a run, its mean over the group's cells; where CCs compete, the
  goodput of each flow of the CC;
- RTT: the flows' mean RTT, its geometric mean over the cells;
- fairness: Jain's index of each second, its mean over the cells with several flows;
- retransmission: the share of bytes sent again, its mean over the cells.

A CC's cells are those in which it takes part.  Beside the best stand those within 2 %
of it (of the index and of shares: within 0.02 and 0.005).
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from ..errors import LabError
from ..experiment.published import Document
from .tables import Wide

Record = dict[str, Any]

#: The campaigns of each group, by the published table's name for it.
GROUPS = {
    "baseline": ("vm-baseline",),
    "delay": ("vm-two-delays", "vm-four-delays"),
    "loss": ("vm-loss", "vm-loss-of-one"),
    "multiple": ("vm-pairs", "vm-one-against-three"),
}
METRICS = ("most_delivered", "best_rtt", "most_fair", "least_retransmitted")
TABLE = "6.1"
_NEAR = 0.02
_NEAR_SHARE = 0.005

#: One cell's numbers of one CC, by metric.
_Found = dict[str, float]


def load(folders: list[Path]) -> list[Record]:
    """The comparisons in campaigns' folders.  Raises LabError where one has none or lacks runs,
    and where two are of one campaign.
    """
    found: list[Record] = []
    for folder in folders:
        file = folder / "comparison.json"
        try:
            comparison = json.loads(file.read_text())
            name = str(comparison["campaign"]).removesuffix("-short")
        except (OSError, ValueError, KeyError, TypeError):
            raise LabError(f"{folder} holds no campaign's comparison.json") from None
        if not any(name in names for names in GROUPS.values()):
            known = ", ".join(name for names in GROUPS.values() for name in names)
            raise LabError(f"{folder} holds campaign {name}, which is none of {known}")
        if any(other["campaign"] == name for other in found):
            raise LabError(f"{folder} is a second folder of campaign {name}")
        if missing := comparison.get("missing"):
            raise LabError(f"{folder} lacks {len(missing)} runs, the first {missing[0]}")
        found.append(comparison | {"campaign": name})
    return found


def _of_cell(cell: Record, mode: str) -> dict[str, _Found]:
    """A cell's numbers for each CC that takes part."""
    kinds, modes = cell["kinds"].get(mode) or [], cell["modes"].get(mode) or {}
    found: dict[str, _Found] = {}
    for cc in dict.fromkeys(kind["cc"] for kind in kinds):
        mine = [kind for kind in kinds if kind["cc"] == cc]
        flows = sum(kind["flows"] for kind in mine)
        made: _Found = {}

        def total(name: str, mine: list[Record] = mine) -> float | None:
            values = [kind[name] for kind in mine]
            if None in values:
                return None
            return sum(kind[name] * kind["flows"] for kind in mine)

        goodput, rtt, resent = (
            total(name) for name in ("goodput_bps", "rtt_mean_us", "retransmitted_bytes")
        )
        if goodput is not None:
            alone = len(mine) == len(kinds)
            made["most_delivered"] = goodput if alone else goodput / flows
        if rtt is not None:
            made["best_rtt"] = rtt / flows
        if resent is not None and (sent := total("sent_bytes")):
            made["least_retransmitted"] = resent / sent
        if "jain_mean" in modes:
            made["most_fair"] = modes["jain_mean"]["mean"]
        found[cc] = made
    return found


def _scores(comparisons: list[Record], mode: str) -> dict[str, dict[str, float]]:
    """Each metric's number of each CC, over all cells of a group."""
    values: dict[str, dict[str, list[float]]] = {metric: {} for metric in METRICS}
    for comparison in comparisons:
        for cell in comparison["cells"]:
            for cc, found in _of_cell(cell, mode).items():
                for metric, value in found.items():
                    values[metric].setdefault(cc, []).append(value)
    return {
        metric: {cc: _mean(metric, several) for cc, several in by_cc.items()}
        for metric, by_cc in values.items()
    }


def _mean(metric: str, values: list[float]) -> float:
    if metric == "best_rtt":
        return math.exp(sum(math.log(value) for value in values) / len(values))
    return sum(values) / len(values)


def _best(metric: str, scores: dict[str, float]) -> list[str]:
    """The best CC and those as good as it, by name."""
    if not scores:
        return []
    more = metric in ("most_delivered", "most_fair")
    best = max(scores.values()) if more else min(scores.values())
    near = {"most_fair": _NEAR, "least_retransmitted": _NEAR_SHARE}.get(metric, _NEAR * best)
    return sorted(cc for cc, score in scores.items() if abs(score - best) <= near)


def recommend(comparisons: list[Record]) -> Record:
    """{mode: {group: {metric: {"best": CCs, "scores": {CC: number}}}}} of what is there."""
    modes = dict.fromkeys(
        mode for c in comparisons for cell in c["cells"] for mode in cell["kinds"]
    )
    made: Record = {}
    for mode in modes:
        for group, names in GROUPS.items():
            mine = [c for c in comparisons if c["campaign"] in names]
            if mine:
                made.setdefault(mode, {})[group] = {
                    metric: {"best": _best(metric, scores), "scores": scores}
                    for metric, scores in _scores(mine, mode).items()
                }
    return made


def _theirs(document: Document, group: str, metric: str) -> str:
    record = next(r for r in document.table(TABLE).records() if r["scenario"] == group)
    value = record[metric]
    return "-" if value is None else ", ".join([value] if isinstance(value, str) else value)  # type: ignore


def table(made: Record, document: Document) -> Wide:
    """Published and ours, a row for each group and who says it."""
    headings = ["group", "who", *(metric.replace("_", " ") for metric in METRICS)]
    shown: list[list[str]] = []
    for group in GROUPS:
        if any(group in groups for groups in made.values()):
            shown.append([group, "published", *(_theirs(document, group, m) for m in METRICS)])
        for mode, groups in made.items():
            if group in groups:
                best = (", ".join(groups[group][metric]["best"]) or "-" for metric in METRICS)
                shown.append(["", f"ours, {mode}", *best])
    return Wide(headings, shown, 2, left=frozenset(range(len(headings))))
