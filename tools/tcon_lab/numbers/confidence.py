# SPDX-License-Identifier: GPL-2.0-only
"""Confidence intervals of ratios, by Student's t on their logarithms.

A ratio of 0.5 is as far from 1 as one of 2: so their logarithms are taken, and the mean
of ratios is their geometric mean.  Each cell counts once, with the mean of its seeds,
since seeds of one cell are more alike than cells: the interval is over the cells, and
the differences of seeds are within the differences of cells.  A single cell's interval is over
its seeds.  A single number has none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .against_earlier import incomplete_beta

LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """A geometric mean, and within which bounds it is with LEVEL; None: not known.

    ``numbers`` is how many were averaged, ``over`` what they are: "cells" or "seeds".
    """

    mean: float
    low: float | None
    high: float | None
    numbers: int
    over: str


def t_quantile(freedom: float, level: float = LEVEL) -> float:
    """How many standard errors to both sides hold ``level`` of Student's t."""
    low, high = 0.0, 1.0

    def outside(t: float) -> float:
        return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))

    while outside(high) > 1 - level:
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if outside(middle) > 1 - level else (low, middle)
    return high


def interval(cells: Sequence[Sequence[float]]) -> Interval | None:
    """The mean of ratios, one list of seeds' for each cell; None of nothing.

    A ratio of 0 makes the mean 0, without bounds.
    """
    known = [seeds for seeds in cells if seeds]
    if not known:
        return None
    over = "cells" if len(known) > 1 else "seeds"
    if any(ratio <= 0 for seeds in known for ratio in seeds):
        return Interval(0.0, None, None, len(known) if over == "cells" else len(known[0]), over)
    logs = [math.fsum(map(math.log, seeds)) / len(seeds) for seeds in known]
    if over == "seeds":
        logs = [math.log(ratio) for ratio in known[0]]
    mean = math.fsum(logs) / len(logs)
    if len(logs) < 2:
        return Interval(math.exp(mean), None, None, 1, over)
    variance = math.fsum((value - mean) ** 2 for value in logs) / (len(logs) - 1)
    reach = t_quantile(len(logs) - 1) * math.sqrt(variance / len(logs))
    return Interval(math.exp(mean), math.exp(mean - reach), math.exp(mean + reach), len(logs), over)
