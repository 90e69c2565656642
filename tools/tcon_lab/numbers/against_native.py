# SPDX-License-Identifier: GPL-2.0-only
"""A campaign's outcome: per cell the enforced CC against the native one.

A comparison is plain data, the content of comparison.json::

    {"campaign", "compared": "enforced", "baseline": "native", "stock" or "linux",
     "cells": [{"cell", "values", "modes": {mode: {quantity: spread}},
                "metrics": {metric: spread + "bar", "aim", "verdict"},
                "completion": {mode: mean and percentiles of all seeds' transfers},
                "completion_s": {mode: the times themselves, sorted},
                "kinds": {mode: the flows by kind, see :mod:`.kinds`},
                "published": {"where", "mean_s": {mode: seconds}} or null}],
     "published": the document whose numbers stand beside, or "",
     "tables", "values": what it has of this campaign, see :mod:`..experiment.published`,
     "overall": {metric: {"geometric_mean", "cells", "barred" and "aimed": of those with a
                 bar and with an aim, "missed", "aim_missed", "bar", "aim", "verdict"}},
     "missing": [runs without results], "warnings": [...], "versions": {...}}

A spread is {"mean", "min", "max", "seeds": [one value for each]}.  Ratios are of
the compared mode to the baseline with the same seed, and their mean is the geometric one:
where both sides vary the arithmetic mean of ratios is above one for two equal sides;
``saving_kept`` is the part of what the baseline saves over mode "guest", in completion
time, that the compared mode saves too, given where the baseline saves at least MIN_SAVING;
``own_limit`` is the share of the compared mode's time, after its start, in which
the guest's own cwnd or send buffer kept it from sending more.

``back_goodput`` is of what receivers send over the same connections;
``rtt`` and ``rtt_p95`` are medians over the flows; ``jain`` is of their goodput over
the run; ``jain_mean``, ``convergence`` and ``loss_sync`` (the mean) are as
:mod:`.sharing` defines them, but that flows which never converge take all of the run;
``first_share`` is the share of the goodput that the flows
of the first of several tables have; ``cwnd`` is the mean of the flows' mean cwnd, of
who decides; ``retransmitted`` the share of bytes that were sent again; ``loss_period`` the
mean of the flows' loss periods in s, see :mod:`.sharing`; ``queue`` the
median of the bottleneck's queue; ``alpha`` the mean of the flows' DCTCP alphas;
``guest_marks`` the segments of the compared mode that the guests' own stacks were told were
marked (CE);
``instructions`` the whole machine's for each byte acknowledged, on QEMU; ``steal``
the mean share of the time in which senders that are machines waited for their host's CPU.

A verdict is "reached", "aim missed", "missed", or null where there is no bar.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from typing import Any

from ..experiment.campaign import (
    BASELINES,
    COMPARED,
    METRICS,
    ON_REQUEST,
    RATIOS,
    Bar,
    Campaign,
    Cell,
)
from .kinds import kinds
from .results import completion, median

Record = dict[str, Any]

MIN_SAVING = 0.10

#: The store's record of a run and a key, or None.
Load = Callable[[str], Record | None]


def _times_s(run: Record) -> list[float]:
    """The completion times of all transfers of a run."""
    return [t for flow in run["flows"] if "transfers" in flow for t in flow["transfers"]["each_s"]]


def _completion(name: str) -> Callable[[Record], float | None]:
    return lambda run: (completion(_times_s(run)) or {}).get(name)


def _goodput_bps(run: Record) -> float | None:
    """The goodput of bulk flows: transfers have completion times instead."""
    return None if _times_s(run) else run["goodput_bps"]


def _back_goodput_bps(run: Record) -> float | None:
    """The goodput of what receivers send over the same connections."""
    known = [flow["back_goodput_bps"] for flow in run["flows"] if flow.get("back_goodput_bps")]
    return sum(known) if known else None


def _rtt_us(name: str) -> Callable[[Record], float | None]:
    """The median of the flows' path RTTs of that name, of bulk flows."""

    def quantity(run: Record) -> float | None:
        if _times_s(run):
            return None
        known = [(flow["rtt_us"] or {}).get(name) for flow in run["flows"]]
        return median([value for value in known if value is not None])

    return quantity


def _first_share(run: Record) -> float | None:
    """Which share of the goodput the flows of the first of several tables have."""
    by_table: dict[int, float] = {}
    for flow in run["flows"]:
        table = flow.get("table", 0)
        by_table[table] = by_table.get(table, 0) + (flow["goodput_bps"] or 0)
    total = sum(by_table.values())
    return by_table.get(0, 0.0) / total if len(by_table) > 1 and total else None


def _mean_cwnd(run: Record) -> float | None:
    """The mean of the flows' mean cwnd, of who decides."""
    known = [flow["cwnd_bytes"]["mean"] for flow in run["flows"] if flow.get("cwnd_bytes")]
    return sum(known) / len(known) if known else None


def _retransmitted(run: Record) -> float | None:
    """Which share of the bytes sent were sent again, by the guest or by TCon."""
    known = [flow for flow in run["flows"] if flow.get("sent_bytes")]
    sent = sum(flow["sent_bytes"] for flow in known)
    return sum(flow["retransmitted_bytes"] for flow in known) / sent if sent else None


def _loss_period_s(run: Record) -> float | None:
    """The mean of the flows' loss periods, of those that have one."""
    known = [flow["loss_period_s"] for flow in run["flows"] if flow.get("loss_period_s")]
    return sum(known) / len(known) if known else None


def _convergence_s(run: Record) -> float | None:
    """All of the run where flows never share; None where there is only one flow."""
    per_second = run.get("jain_per_second") or []
    never = len(per_second) if any(index is not None for index in per_second) else None
    found = run.get("convergence_s")
    return never if found is None else found


def _loss_sync(run: Record) -> float | None:
    return (run.get("loss_synchronisation") or {}).get("mean")


def _own_limit(run: Record) -> float | None:
    shares = [flow.get("limited_share_settled") for flow in run["flows"]]
    known = [share["guest"] for share in shares if share]
    return sum(known) / len(known) if known else None


def _median_queue(run: Record) -> float | None:
    return (run.get("queue_bytes") or {}).get("p50")


def _alpha(run: Record) -> float | None:
    known = [flow["dctcp_alpha"] for flow in run["flows"] if flow.get("dctcp_alpha") is not None]
    return sum(known) / len(known) if known else None


def _guest_marks(run: Record) -> float | None:
    known = [flow.get("guest_marked_segments") for flow in run["flows"]]
    return None if None in known else float(sum(known))


def _steal(run: Record) -> float | None:
    known = [flow.get("steal_share") for flow in run["flows"]]
    return None if None in known else sum(known) / len(known)


#: Quantities of a run; goodput in bits/s, RTT in us, completion and convergence in s,
#: the queue in bytes: packets need not be full.
QUANTITIES: dict[str, Callable[[Record], float | None]] = {
    "goodput": _goodput_bps,
    "back_goodput": _back_goodput_bps,
    "rtt": _rtt_us("p50"),
    "rtt_p95": _rtt_us("p95"),
    "completion_mean": _completion("mean"),
    "completion_p50": _completion("p50"),
    "completion_p99": _completion("p99"),
    "own_limit": _own_limit,
    "queue": _median_queue,
    "utilisation": lambda run: run.get("utilisation"),
    "jain": lambda run: run["jain"],
    "jain_mean": lambda run: run.get("jain_mean"),
    "convergence": _convergence_s,
    "loss_sync": _loss_sync,
    "first_share": _first_share,
    "alpha": _alpha,
    "guest_marks": _guest_marks,
    "cwnd": _mean_cwnd,
    "retransmitted": _retransmitted,
    "loss_period": _loss_period_s,
    "instructions": lambda run: run.get("instructions_per_byte"),
    "steal": _steal,
}


def spread(values: list[float]) -> Record | None:
    """Mean, smallest and largest of one value for each seed; None of nothing."""
    if not values:
        return None
    mean = sum(values) / len(values)
    return {"mean": mean, "min": min(values), "max": max(values), "seeds": values}


def geometric_mean(values: list[float]) -> float | None:
    """None of nothing; 0 if one of them is."""
    if not values:
        return None
    if min(values) <= 0:
        return 0.0
    return math.exp(sum(math.log(value) for value in values) / len(values))


class _CellData:
    """The runs of a cell: by mode, then by seed."""

    def __init__(self, runs: dict[str, dict[int, Record]]) -> None:
        self.runs = runs

    def values(self, mode: str, quantity: str) -> dict[int, float]:
        """One value for each seed that has one."""
        found = {seed: QUANTITIES[quantity](r) for seed, r in self.runs.get(mode, {}).items()}
        return {seed: value for seed, value in found.items() if value is not None}

    def ratio(self, quantity: str, baseline: str) -> Record | None:
        """The ratio of the compared mode to the baseline, seed by seed."""
        ours, base = self.values(COMPARED, quantity), self.values(baseline, quantity)
        found = spread([ours[seed] / base[seed] for seed in ours if base.get(seed)])
        return found and found | {"mean": geometric_mean(found["seeds"])}

    def times_s(self, mode: str) -> list[float]:
        """The completion times of all seeds, sorted."""
        return sorted(t for run in self.runs.get(mode, {}).values() for t in _times_s(run))

    def saving_kept(self, baseline: str) -> Record | None:
        """The share of all seeds together, with its spread over the single ones."""
        pooled = {mode: completion(self.times_s(mode)) for mode in ("guest", baseline, COMPARED)}
        if not all(pooled.values()):
            return None
        guest, base, ours = (found["mean"] for found in pooled.values() if found)
        if guest - base < MIN_SAVING * guest:
            return None
        means = [self.values(mode, "completion_mean") for mode in pooled]
        seeds = [
            (means[0][seed] - means[2][seed]) / (means[0][seed] - means[1][seed])
            for seed in means[0]
            if seed in means[1] and seed in means[2] and means[0][seed] != means[1][seed]
        ]
        found = spread(seeds)
        return found and found | {"mean": (guest - ours) / (guest - base)}

    def metric(self, name: str, baseline: str) -> Record | None:
        """The spread of a metric; None where nobody measured it."""
        if name in RATIOS:
            return self.ratio(name, baseline)
        if name == "saving_kept":
            return self.saving_kept(baseline)
        return spread(list(self.values(COMPARED, name).values()))


def verdict(value: float, bar: Bar | None) -> str | None:
    """How a value stands to its bar; None where there is none."""
    if bar is None:
        return None
    if not bar.reached(value):
        return "missed"
    return "reached" if bar.aim_reached(value) else "aim missed"


def bar_text(bar: Bar | None) -> str | None:
    """A bar in words: "at least 0.95", "0.9 to 1.15"."""
    if bar is None or (bar.low is None and bar.high is None):
        return None
    if bar.low is not None and bar.high is not None:
        return f"{bar.low:g} to {bar.high:g}"
    return f"at least {bar.low:g}" if bar.low is not None else f"at most {bar.high:g}"


def _judged(value: float, bar: Bar | None) -> Record:
    return {"bar": bar_text(bar), "aim": bar and bar.aim, "verdict": verdict(value, bar)}


def baseline_of(campaign: Campaign) -> str:
    """The mode to which the enforced one is compared."""
    for mode in BASELINES:
        if mode in campaign.modes:
            return mode
    return "native"


def _shown(campaign: Campaign, name: str) -> bool:
    asked = {*campaign.show, *(bar.metric for bar in campaign.bars)}
    return name not in ON_REQUEST or name in asked


def _cell(campaign: Campaign, cell: Cell, runs: dict[str, dict[int, Record]]) -> Record:
    data, metrics = _CellData(runs), {}
    for name in METRICS:
        if not _shown(campaign, name):
            continue
        found = data.metric(name, baseline_of(campaign))
        if found is not None:
            metrics[name] = found | _judged(found["mean"], campaign.bar(name, cell))
    modes = {
        mode: {
            quantity: spread(list(values.values()))
            for quantity in QUANTITIES
            if _shown(campaign, quantity) and (values := data.values(mode, quantity))
        }
        for mode in campaign.modes
    }
    times_s = {mode: data.times_s(mode) for mode in campaign.modes}
    published = campaign.published.get(cell.values.get("case", ""))
    theirs = {"where", "mean_s", "p999_reduction"}
    return {
        "cell": cell.name,
        "values": cell.values,
        "modes": modes,
        "metrics": metrics,
        "completion": {mode: completion(times) for mode, times in times_s.items() if times},
        "completion_s": {mode: times for mode, times in times_s.items() if times},
        "kinds": {mode: kinds(list(runs.get(mode, {}).values())) for mode in campaign.modes},
        "published": published.model_dump(include=theirs) if published else None,
    }


def _mean_ratio(name: str, cells: list[Record]) -> float | None:
    """Over cells.  Where less is better, one with nothing at all would make the mean 0, whatever
    others have: it is of these then.
    """
    means = [cell["metrics"][name]["mean"] for cell in cells]
    return geometric_mean(means if METRICS[name] else [mean for mean in means if mean > 0])


def _no_ratios(campaign: Campaign, cell: str, runs: dict[str, dict[int, Record]]) -> list[str]:
    """Where nothing natively is something enforced: no ratio says that, so a warning does."""
    data, baseline = _CellData(runs), baseline_of(campaign)
    return [
        f"{cell}, seed {seed}: {name} is 0 {baseline}, and not 0 {COMPARED}: it has no ratio"
        for name in RATIOS
        if name in QUANTITIES and _shown(campaign, name)
        for seed, value in data.values(COMPARED, name).items()
        if value and data.values(baseline, name).get(seed) == 0
    ]


def _overall(campaign: Campaign, cells: list[Record]) -> Record:
    overall: Record = {}
    for name in METRICS:
        known = [cell for cell in cells if name in cell["metrics"]]
        if not known:
            continue
        mean = _mean_ratio(name, known) if name in RATIOS else None
        barred = [cell for cell in known if cell["metrics"][name]["bar"] is not None]
        aimed = [cell for cell in known if cell["metrics"][name]["aim"] is not None]

        def having(*verdicts: str, among: list[Record], name: str = name) -> list[str]:
            return [c["cell"] for c in among if c["metrics"][name]["verdict"] in verdicts]

        overall[name] = {
            "geometric_mean": mean,
            "cells": len(known),
            "barred": len(barred),
            "aimed": len(aimed),
            "missed": having("missed", among=barred),
            "aim_missed": having("missed", "aim missed", among=aimed),
        } | _judged(mean or 0.0, campaign.mean_bar(name))
    return overall


def _warnings(cell: str, mode: str, seed: int, run: Record) -> list[str]:
    """A run's complaints."""
    found = run["warnings"] + [
        f"flow {flow['index']}: {flow['error']}" for flow in run["flows"] if flow["error"]
    ]
    return [f"{cell}, {mode}, seed {seed}: {text}" for text in found]


def made_of(index: list[Record]) -> str:
    """A digest of a comparison's runs, by their cells, modes, seeds and keys."""
    runs = sorted([run["cell"], run["mode"], run["seed"], run["key"]] for run in index)
    return hashlib.sha256(json.dumps(runs).encode()).hexdigest()


def compare(campaign: Campaign, index: list[Record], load: Load) -> Record:
    """Make the comparison of the runs in ``index`` that there are."""
    by_cell: dict[str, dict[str, dict[int, Record]]] = {}
    missing, warnings = [], []
    versions: dict[str, str] = {}
    for entry in index:
        stored = load(entry["key"])
        cell, mode, seed = entry["cell"], entry["mode"], entry["seed"]
        if stored is None:
            missing.append(f"{cell}, {mode}, seed {seed}")
            continue
        versions |= stored["versions"]
        warnings += _warnings(cell, mode, seed, stored["run"])
        by_cell.setdefault(cell, {}).setdefault(mode, {})[seed] = stored["run"]
    cells = [_cell(campaign, cell, by_cell.get(cell.name, {})) for cell in campaign.cells]
    for cell in campaign.cells:
        warnings += _no_ratios(campaign, cell.name, by_cell.get(cell.name, {}))
    return {
        "campaign": campaign.name,
        "made_of": made_of(index),
        "compared": COMPARED,
        "baseline": baseline_of(campaign),
        "seconds": campaign.cells[0].scenario.seconds,
        "published": campaign.source,
        "tables": [table.model_dump() for table in campaign.tables],
        "values": [value.model_dump() for value in campaign.values],
        "seeds": list(campaign.seeds),
        "cells": cells,
        "overall": _overall(campaign, cells),
        "missing": missing,
        "warnings": warnings,
        "versions": versions,
    }
