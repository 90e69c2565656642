# SPDX-License-Identifier: GPL-2.0-only
"""A gallery: window and RTT of a single flow, run over run, cell beside cell.

A series is what is drawn of a run: ``cwnd_bytes``, of who decides, and ``rtt_us``, the
path's, one value each ``step_s`` seconds from ``start_s`` on; null where nobody
measured one.  The content of series.json is {cell: {mode: {seed: series}}}.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..scenario import ENFORCING_MODES
from .results import deciding_cwnd

Record = dict[str, Any]

#: The store's record of a run's key, or None.
Load = Callable[[str], Record | None]

#: Most points of a line.
MAX_POINTS = 300


def series(samples: list[Record], mode: str) -> Record | None:
    """A flow's samples, thinned out; None where there are no two."""
    every = math.ceil(len(samples) / MAX_POINTS)
    kept = samples[::every] if every else []
    if len(kept) < 2:
        return None
    cwnd = deciding_cwnd(mode in ENFORCING_MODES)
    return {
        "start_s": kept[0]["t_s"],
        "step_s": round(kept[1]["t_s"] - kept[0]["t_s"], 3),
        "cwnd_bytes": [sample[cwnd] for sample in kept],
        "rtt_us": [sample["rtt_us"] for sample in kept],
    }


def collect(index: list[Record], load: Load) -> Record:
    """The series of the runs in ``index`` that have one: the content of series.json."""
    found: Record = {}
    for entry in index:
        stored = load(entry["key"])
        flows = stored["run"]["flows"] if stored else []
        drawn = flows[0].get("series") if len(flows) == 1 else None
        if drawn:
            modes = found.setdefault(entry["cell"], {})
            modes.setdefault(entry["mode"], {})[str(entry["seed"])] = drawn
    return found
