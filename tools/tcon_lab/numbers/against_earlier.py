# SPDX-License-Identifier: GPL-2.0-only
"""Changes between two sets of results: two versions, kernels, or machines.

A set is a campaign's folder or a results.json.  For each cell, mode and quantity that
both have (see :data:`.against_native.QUANTITIES`) the values of the seeds are compared by
Welch's t-test, which takes neither equal spreads nor equal seeds for granted; and for
each mode and quantity the cells' ratios (of shares, their differences) by a t-test
against no change, which finds what is small in each cell but the same in all, and
needs one seed only.

Of the many p values Benjamini and Hochberg's procedure picks those that are
significant: of these one in twenty (``alpha``) may be chance.  A change that is significant but
smaller than ``least`` is no change: 2 % by default, of shares 0.02, and never less than
FLOORS.  Where neither side has a spread (equal numbers with every seed, as on a path
without chance) any difference counts as significant.  Cells with a single seed on
either side cannot be tested.

A change is plain data::

    {"cell": None for all cells together, "mode", "quantity", "before", "after":
     spreads as in :mod:`.against_native`, None of all cells, "change": ratio - 1, of shares the
     difference, "p": None where there was no test, "verdict": "worse", "better",
     "changed" (of what has no better), "same" or "untested"}

``lost`` are quantities that the first set has of a run and the second has not, though
it has the run: a flow that never gets its share has no convergence.  Lost quantities
count as worse.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import LabError
from ..experiment.campaign import METRICS
from .against_native import QUANTITIES, spread

Record = dict[str, Any]

DEFAULT_ALPHA = 0.05
DEFAULT_LEAST = 0.02

#: Quantities that are shares of 1: their change is a difference.
SHARES = (
    "own_limit", "jain", "jain_mean", "utilisation", "loss_sync", "first_share", "alpha",
    "retransmitted",
)  # fmt: skip
#: Quantities where neither more nor less is better.
NEUTRAL = ("first_share", "alpha", "cwnd")
#: Differences that are never a change: two packets of a queue, a whole second.
FLOORS = {"queue": 3000.0, "convergence": 1.0}

#: A cell's runs: by mode, then by seed.
_Cells = dict[tuple[str, str], dict[int, Record]]


@dataclass(frozen=True)
class ResultSet:
    """Runs by cell and mode, then by seed; ``versions`` are what they were made with."""

    name: str
    runs: _Cells
    versions: dict[str, str]


# --- reading ----------------------------------------------------------------


def _json(file: Path) -> Any:
    try:
        return json.loads(file.read_text())
    except OSError as error:
        raise LabError(f"{file}: {error.strerror}") from None
    except ValueError as error:
        raise LabError(f"{file} is no JSON: {error}") from None


def load(path: Path) -> ResultSet:
    """Read a campaign's folder, a results.json, or the folder of one.

    Raises LabError where it is none of these, or holds no run.
    """
    if not path.exists():
        raise LabError(f"{path} does not exist")
    file = path
    if path.is_dir():
        if (path / "index.json").exists():
            return _campaign(path)
        file = path / "results.json"
        if not file.exists():
            raise LabError(f"{path} holds neither a campaign's index.json nor results.json")
    return _results(file)


def _checked(path: Path, runs: _Cells, versions: dict[str, str]) -> ResultSet:
    if not runs:
        raise LabError(f"{path} holds no run")
    return ResultSet(str(path), runs, versions)


def _campaign(folder: Path) -> ResultSet:
    runs: _Cells = {}
    versions: dict[str, str] = {}
    try:
        for entry in _json(folder / "index.json")["runs"]:
            file = folder / "runs" / f"{entry['key']}.json"
            if file.exists():
                stored = _json(file)
                versions |= stored["versions"]
                at = (entry["cell"], entry["mode"])
                runs.setdefault(at, {})[entry["seed"]] = stored["run"]
    except (KeyError, TypeError):
        raise LabError(f"{folder} holds no campaign's results, or damaged ones") from None
    return _checked(folder, runs, versions)


def _results(file: Path) -> ResultSet:
    found = _json(file)
    runs: _Cells = {}
    versions: dict[str, str] = {}
    try:
        for result in found if isinstance(found, list) else [found]:
            versions |= result["versions"]
            for run in result["runs"]:
                runs.setdefault((result["scenario"], run["mode"]), {})[result["seed"]] = run
    except (KeyError, TypeError):
        raise LabError(f"{file} holds no results, or damaged ones") from None
    return _checked(file, runs, versions)


# --- statistics -------------------------------------------------------------


def _beta_fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    tiny = 1e-300
    c, d = 1.0, 1.0 / max(1.0 - (a + b) * x / (a + 1), tiny)
    product = d
    for m in range(1, 500):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 / ((1.0 + numerator * d) or tiny)
            c = (1.0 + numerator / c) or tiny
            product *= c * d
        if abs(c * d - 1.0) < 1e-14:
            break
    return product


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function, for 0 <= x <= 1 and a, b > 0."""
    if x in (0.0, 1.0):
        return x
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(logarithm + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * _beta_fraction(a, b, x) / a
    return 1.0 - front * _beta_fraction(b, a, 1.0 - x) / b


def _two_sided_p(difference: float, variance: float, freedom: float) -> float:
    """How likely a difference at least so large is by chance; ``variance`` is its own."""
    if not variance:
        return 0.0 if difference else 1.0
    t_squared = difference * difference / variance
    return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t_squared))


def _mean_and_error(values: list[float]) -> tuple[float, float]:
    """The mean, and the variance of that mean."""
    mean = math.fsum(values) / len(values)
    squares = math.fsum((value - mean) ** 2 for value in values)
    # Equal numbers have a mean that may differ from them by rounding alone.
    if squares <= len(values) * (1e-12 * mean) ** 2:
        squares = 0.0
    return mean, squares / (len(values) - 1) / len(values)


def welch_p(before: list[float], after: list[float]) -> float | None:
    """Welch's t-test, two-sided; None of single values."""
    if min(len(before), len(after)) < 2:
        return None
    (mean_a, error_a), (mean_b, error_b) = _mean_and_error(before), _mean_and_error(after)
    total = error_a + error_b
    freedom = 1.0
    if total:
        parts = error_a**2 / (len(before) - 1) + error_b**2 / (len(after) - 1)
        freedom = total**2 / parts
    return _two_sided_p(mean_b - mean_a, total, freedom)


def no_change_p(changes: list[float]) -> float | None:
    """Whether the mean of changes is 0, by a t-test; None of fewer than three."""
    if len(changes) < 3:
        return None
    mean, error = _mean_and_error(changes)
    return _two_sided_p(mean, error, len(changes) - 1)


def significant(ps: list[float | None], alpha: float) -> list[bool]:
    """Which of these Benjamini and Hochberg's procedure picks at ``alpha``."""
    known = sorted(p for p in ps if p is not None)
    passing = [p for rank, p in enumerate(known, 1) if p <= alpha * rank / len(known)]
    return [p is not None and bool(passing) and p <= passing[-1] for p in ps]


# --- comparing --------------------------------------------------------------


def _values(runs: dict[int, Record], quantity: str) -> dict[int, float]:
    """A quantity by seed.  Raises LabError where a run is none."""
    try:
        found = {seed: QUANTITIES[quantity](run) for seed, run in sorted(runs.items())}
    except (KeyError, TypeError, AttributeError) as error:
        raise LabError(f"a run cannot be read for its {quantity}: {error!r}") from None
    return {seed: value for seed, value in found.items() if value is not None}


def _change(quantity: str, before: float, after: float) -> float | None:
    """The ratio less one, of shares the difference; None of nothing to nothing."""
    if quantity in SHARES:
        return after - before
    if before:
        return after / before - 1
    return math.inf if after else 0.0


def _of_cells(a: ResultSet, b: ResultSet) -> tuple[list[Record], list[str]]:
    """The changes of all cells that both have, and the lost ones."""
    found, lost = [], []
    for (cell, mode), runs in a.runs.items():
        others = b.runs.get((cell, mode))
        for quantity in QUANTITIES if others else ():
            before = list(_values(runs, quantity).values())
            after = list(_values(others or {}, quantity).values())
            if before and not after:
                lost.append(f"{cell}, {mode}: {quantity}")
            if not before or not after:
                continue
            means = sum(before) / len(before), sum(after) / len(after)
            found.append(
                {"cell": cell, "mode": mode, "quantity": quantity, "before": spread(before),
                 "after": spread(after), "change": _change(quantity, *means),
                 "p": welch_p(before, after)}
            )  # fmt: skip
    return found, lost


def _of_all(changes: list[Record]) -> list[Record]:
    """The changes of all cells together, by mode and quantity."""
    grouped: dict[tuple[str, str], list[Record]] = {}
    for change in changes:
        grouped.setdefault((change["mode"], change["quantity"]), []).append(change)
    found = []
    for (mode, quantity), group in grouped.items():
        share = quantity in SHARES
        steps = [
            change["change"] if share else math.log1p(change["change"])
            for change in group
            if share or -1 < change["change"] < math.inf
        ]
        if len(steps) < 3:
            continue
        mean = sum(steps) / len(steps)
        found.append(
            {"cell": None, "mode": mode, "quantity": quantity, "before": None, "after": None,
             "change": mean if share else math.expm1(mean), "p": no_change_p(steps)}
        )  # fmt: skip
    return found


def _is_of_nothing(change: Record) -> bool:
    """A change from nothing or to nothing, which no ratio and no mean of ratios tells."""
    if change["quantity"] in SHARES or change["before"] is None:
        return False
    return not -1 < change["change"] < math.inf


def _verdict(change: Record, picked: bool, least: float) -> str:
    quantity, size = change["quantity"], change["change"]
    if _is_of_nothing(change):
        picked = True
    elif change["p"] is None:
        return "untested"
    small = abs(size) < least
    if change["before"] is not None:
        difference = abs(change["after"]["mean"] - change["before"]["mean"])
        small = small or difference < FLOORS.get(quantity, 0.0)
    if not picked or small:
        return "same"
    if quantity in NEUTRAL:
        return "changed"
    return "better" if (size > 0) == METRICS[quantity] else "worse"


def changes(
    a: ResultSet, b: ResultSet, alpha: float = DEFAULT_ALPHA, least: float = DEFAULT_LEAST
) -> Record:
    """All that changed from ``a`` to ``b``.  Raises LabError where they share no run."""
    of_cells, lost = _of_cells(a, b)
    if not of_cells and not lost:
        raise LabError(f"{a.name} and {b.name} have no cell and mode in common")
    found = _of_all(of_cells) + of_cells
    picked = significant([change["p"] for change in found], alpha)
    for change, is_picked in zip(found, picked, strict=True):
        change["verdict"] = _verdict(change, is_picked, least)
        if not math.isfinite(change["change"]):
            change["change"] = None
    return {
        "before": a.name,
        "after": b.name,
        "alpha": alpha,
        "least": least,
        "versions": {"before": a.versions, "after": b.versions},
        "only_before": sorted(f"{cell}, {mode}" for cell, mode in a.runs.keys() - b.runs.keys()),
        "only_after": sorted(f"{cell}, {mode}" for cell, mode in b.runs.keys() - a.runs.keys()),
        "lost": lost,
        "changes": found,
    }


def worse(made: Record) -> bool:
    """Whether something became worse."""
    return bool(made["lost"]) or any(c["verdict"] == "worse" for c in made["changes"])
