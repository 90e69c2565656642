# SPDX-License-Identifier: GPL-2.0-only
"""How TCon names the CC of guests that it only observes, against what they ran.

Made from a campaign's runs in mode "observed": each flow is named once, at the end of its
run, by ``tcon/flows``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..errors import LabError
from ..scenario import OBSERVED
from .campaign_run import Store

Record = dict[str, Any]

UNKNOWN = "unknown"


def load(folder: Path) -> list[Record]:
    """The flows of a campaign that were observed.  Raises LabError where there are none."""
    store = Store(folder)
    runs = filter(None, map(store.load, store.keys(OBSERVED)))
    found = [flow for run in runs for flow in flows_of(run)]
    if not found:
        raise LabError(f"{folder} holds no run in mode {OBSERVED}")
    return found


def flows_of(run: Record) -> list[Record]:
    """Each flow's path, its CC, the one that it was taken for, and how surely."""
    path = run["scenario"]["path"]
    where = f"{path['rate_bps'] / 1e6:g} Mbit/s, {path['rtt_us'] / 1e3:g} ms"
    where += f", {path['loss_fraction']:.2%} lost" if path["loss_fraction"] else ""
    where += f", {len(run['run']['flows'])} flows" if len(run["run"]["flows"]) > 1 else ""
    return [
        {
            "path": where,
            "ran": flow["guest_cc"],
            "named": flow["named"]["guess"] or UNKNOWN,
            "confidence": flow["named"]["guess_confidence"],
        }
        for flow in run["run"]["flows"]
        if flow.get("named")
    ]


def confusion(flows: Iterable[Record]) -> Record:
    """For each CC that ran how often it was named as which; the parts that were right and
    wrong of all, the rest is unknown; and the same by path.
    """
    flows = list(flows)
    ran: dict[str, Counter[str]] = {cc: Counter() for cc in sorted({f["ran"] for f in flows})}
    for flow in flows:
        ran[flow["ran"]][flow["named"]] += 1
    paths = dict.fromkeys(flow["path"] for flow in flows)
    return {
        "matrix": {cc: dict(sorted(counts.items())) for cc, counts in ran.items()},
        "all": _shares(flows),
        "paths": {path: _shares([f for f in flows if f["path"] == path]) for path in paths},
    }


def _shares(flows: list[Record]) -> Record:
    right = sum(flow["named"] == flow["ran"] for flow in flows)
    unknown = sum(flow["named"] == UNKNOWN for flow in flows)
    return {
        "flows": len(flows),
        "right": round(right / len(flows), 4),
        "wrong": round((len(flows) - right - unknown) / len(flows), 4),
    }
