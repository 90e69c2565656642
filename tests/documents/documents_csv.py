# SPDX-License-Identifier: GPL-2.0-only
"""tools/campaigns/documents.csv, and whether a number in a page is one of it."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from pathlib import Path

CSV = Path(__file__).parents[2] / "tools/campaigns/documents.csv"
#: "published / native / enforced" and "native / enforced" in a page.
SEVERAL = re.compile(r"(?<![\d.])\d+(?:\.\d+)?(?: / \d+(?:\.\d+)?)+")

#: Of a campaign, by cell, row and metric: the mean of each mode, and what was published.
Runs = dict[tuple[str, str, str], tuple[dict[str, float], str]]
#: What pages divide by: bits and bytes to Mbit/s, ms, kB and %, bytes to packets.
_UNITS = (1, 0.01, 1e3, 1e6, 1448)


def all_runs() -> dict[str, Runs]:
    """Of each campaign what documents.csv has, and the rates of both flows of a pair."""
    found: dict[str, Runs] = {}
    with CSV.open(newline="") as file:
        for line in csv.DictReader(file):
            runs = found.setdefault(line["experiment"].removesuffix("-short"), {})
            key = (line["cell"], line["of"], line["metric"])
            runs.setdefault(key, ({}, line["published"]))[0][line["mode"]] = float(line["mean"])
    for runs in found.values():
        for (cell, of, metric), (shares, _) in list(runs.items()):
            # Beside transfers there is no goodput of the flows alone.
            if metric == "first_share" and (cell, of, "goodput") in runs:
                rates, _ = runs[cell, of, "goodput"]
                for name, part in (("first", lambda x: x), ("second", lambda x: 1 - x)):
                    made = {mode: rates[mode] * part(share) for mode, share in shares.items()}
                    runs[cell, of, name] = (made, "")
    return found


RUNS = all_runs()


def is_shown(text: str, value: float) -> bool:
    """Whether a number is this value, in one of the units, to the digits that it has."""
    half = 0.5 * 10.0 ** -len(text.partition(".")[2]) * (1 + 1e-9)
    return any(abs(value / unit - float(text)) <= half for unit in _UNITS)


def _is_said(text: str, published: str) -> bool:
    number = re.fullmatch(r"[\d.]+", published)
    return text == published or (number is not None and is_shown(text, float(published)))


def is_pair(text: str, campaigns: Iterable[str]) -> bool:
    """Whether "native / enforced" or "published / native / enforced" is of a row of these."""
    *said, native, enforced = text.split(" / ")
    return any(
        {"native", "enforced"} <= set(modes)
        and is_shown(native, modes["native"])
        and is_shown(enforced, modes["enforced"])
        and (not said or _is_said(said[0], published))
        for campaign in campaigns
        for modes, published in RUNS.get(campaign, {}).values()
    )
