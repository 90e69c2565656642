# SPDX-License-Identifier: GPL-2.0-only
"""The plot of docs/weights.md: how guests share a full uplink before tcon-monitor looks at
it, and then.

It is drawn of ``tools/campaigns/monitor.csv``, which tests/vm/test_alpha.py prints: for each
period and guest ``case,t_s,guest,rate_bps,weight``, where a period ends at ``t_s`` and the
monitor begins at 0 s; the first guest of each case is the greedy one.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..errors import LabError
from .report import STYLES

COLUMNS = ("case", "t_s", "guest", "rate_bps", "weight")
_GREEDY, _OTHERS = STYLES["guest"][0], "#808080"
_WEIGHTS = (0.05, 0.1, 0.2, 0.5, 1)
_SIZE_INCHES = (9.0, 4.2)
#: Rates of a period of a second are noisy: lines are means of this many.
MEAN_OF = 5


@dataclass
class Case:
    """Over time ``t_s``, of each guest its rate and weight."""

    t_s: list[float] = field(default_factory=list)
    rates_bps: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    weights: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def shares(self) -> dict[str, list[float]]:
        """Each guest's share of all that guests send."""
        sums = [sum(rates) for rates in zip(*self.rates_bps.values(), strict=True)]
        return {
            guest: [rate / total if total else 0.0 for rate, total in zip(rates, sums, strict=True)]
            for guest, rates in self.rates_bps.items()
        }


def smooth(t_s: Sequence[float], values: Sequence[float]) -> list[float]:
    """The mean of the last MEAN_OF values, but of none from before the monitor began."""
    found = []
    for at, now in enumerate(t_s):
        first = max(0, at - MEAN_OF + 1)
        while (t_s[first] <= 0) != (now <= 0):
            first += 1
        found.append(sum(values[first : at + 1]) / (at + 1 - first))
    return found


def read(file: Path) -> dict[str, Case]:
    """The cases of a CSV.  Raises LabError where it is none of this kind."""
    cases: dict[str, Case] = {}
    try:
        with file.open(newline="") as text:
            for line in csv.DictReader(text):
                case, t_s = cases.setdefault(line["case"], Case()), float(line["t_s"])
                if not case.t_s or case.t_s[-1] != t_s:
                    case.t_s.append(t_s)
                case.rates_bps[line["guest"]].append(float(line["rate_bps"]))
                case.weights[line["guest"]].append(float(line["weight"]))
    except (OSError, UnicodeDecodeError) as error:
        raise LabError(f"{file}: {getattr(error, 'strerror', None) or error}") from None
    except (KeyError, TypeError, ValueError):
        raise LabError(f"{file} is no CSV with {', '.join(COLUMNS)}") from None
    for name, case in cases.items():
        if any(len(rates) != len(case.t_s) for rates in case.rates_bps.values()):
            raise LabError(f'{file}: of case "{name}" not all guests are in each period')
    if not cases:
        raise LabError(f"{file} has no case")
    return cases


def _steps(t_s: Sequence[float], values: Sequence[float]) -> tuple[list[float], list[float]]:
    """A line that is level between changes."""
    x, y = [t_s[0]], [values[0]]
    for at, value in zip(t_s, values, strict=True):
        if value != y[-1]:
            x, y = [*x, at, at], [*y, y[-1], value]
    return [*x, t_s[-1]], [*y, y[-1]]


def _draw(above: Axes, below: Axes, name: str, case: Case) -> None:
    for order, (guest, shares) in enumerate(case.shares().items()):
        look = {"color": _OTHERS if order else _GREEDY, "linewidth": 1 if order else 1.8}
        label = {0: "the greedy guest", 1: "the others"}.get(order)
        above.plot(case.t_s, smooth(case.t_s, shares), label=label, zorder=5 - order, **look)
        below.plot(*_steps(case.t_s, case.weights[guest]), zorder=5 - order, **look)
    fair = 1 / len(case.rates_bps)
    above.axhline(fair, color="black", linewidth=0.8, linestyle=":", label="an equal share")
    for axes in (above, below):
        axes.axvline(0, color="black", linewidth=0.8, linestyle="--")
        axes.grid(alpha=0.3)
    above.set_title(name, fontsize=9)
    above.set_ylim(0, 1)
    below.set_yscale("log")
    below.minorticks_off()
    below.set_yticks(_WEIGHTS, list(map(str, _WEIGHTS)))
    below.set_xlabel("time since the monitor began, s")


def figure(cases: dict[str, Case]) -> Figure:
    """Cases beside each other: shares above, weights below."""
    made = Figure(_SIZE_INCHES, layout="constrained")
    axes = made.subplots(2, len(cases), sharex="col", sharey="row", squeeze=False,
                         height_ratios=(2, 1))  # fmt: skip
    for column, (name, case) in enumerate(cases.items()):
        _draw(axes[0][column], axes[1][column], name, case)
    axes[0][0].set_ylabel("share of what guests send")
    axes[1][0].set_ylabel("weight")
    handles, labels = axes[0][0].get_legend_handles_labels()
    made.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return made
