# SPDX-License-Identifier: GPL-2.0-only
"""The CUBIC thesis's models beside the runs of its experiments, as numbers.

:mod:`.cubic_model` has the models, here with Linux's beta.  They are about flows of one CC,
CUBIC or Reno, that share a drop-tail queue: cells with an AQM, transfers, or other CCs have no
model.  A comparison of a cell has a unit, a number of the model, and one of each mode
(the mean over its seeds)::

    {"cell", "cc", "flows", "quantity", "unit", "model", "ours": {mode: number}}

One flow is compared with the model of chapter 2, several with the fluid model of chapter 3, in
equilibrium.  Its flows begin with a window of 4 packets, and (3.6) has the mean of all times
between losses since then: it runs for a thousand round trips with a full queue, and the second
half counts.  Of the runs the last two thirds count, except where a run's numbers are used
(RTT, flows that lose together).

Window
    The mean over time and flows.

Variation of windows
    Their coefficient of variation (CoV), the standard deviation as a share of the mean: of
    several flows that over the flows at a time, and the mean of that over time (section 3.5.1,
    Figure 3.13); of one flow that over time.

From loss to loss
    The mean time from one loss of a flow to its next: the run's loss period, and where it has
    none, the time between falls of the window.

Queueing delay
    The median of the RTT, less tau.

Flows that lose together
    The share in an epoch of losses, and what :func:`.cubic_model.lose_together` says of it.

How large a buffer must be stands beside the rules of the thesis, see :func:`buffers`.
"""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any

from ..scenario import PACKET_BYTES
from . import cubic_model
from .losses import cycle_s, decider
from .of_cells import moments_of

Record = dict[str, Any]
#: A campaign's runs by cell, mode and seed; the samples of one, where they were kept.
Runs = dict[str, dict[str, dict[int, Record]]]
Samples = Callable[[str, str, int], Record | None]

#: The thesis's experiments to which its models belong, "-short" or not.
ONE_FLOW = "cubic-one-flow"
BUFFERS = "cubic-buffers"
SCENARIOS = "cubic-scenarios"
_OTHERS = ("cubic-ten-flows", "cubic-fast-convergence", "cubic-aqm")
EXPERIMENTS = frozenset({ONE_FLOW, BUFFERS, SCENARIOS, *_OTHERS})

#: Payload of a full packet with time stamps: a packet of the models, in bytes.
PAYLOAD_BYTES = 1448
#: A full packet as the lab's queue counts it: with its Ethernet header.
LINK_BYTES = PACKET_BYTES + 14
#: Flows that the fluid model follows, and for how many round trips with a full queue.
FLUID_FLOWS = 100
_FLUID_ROUNDS = 1000
#: Which shares of a link a buffer is to fill.
FILLED = (0.95, 0.99)
#: Cells with fewer flows have no distribution of windows worth a number.
FEWEST_FLOWS = 10


def base_name(comparison: Record) -> str:
    """A campaign's name without "-short"."""
    return str(comparison["campaign"]).removesuffix("-short")


def model_path(scenario: Record) -> cubic_model.Path:
    """A scenario's bottleneck as the models want it; each flow's share of it."""
    path = scenario["path"]
    flows = sum(flow["count"] for flow in scenario["flows"])
    return cubic_model.Path(
        path["rate_bps"] / (8 * PACKET_BYTES) / flows,
        path["rtt_us"] / 1e6,
        path["queue_packets"] / flows,
    )


@dataclass(frozen=True)
class Modelled:
    """A cell that the models are about."""

    cc: str
    flows: int
    path: cubic_model.Path

    @property
    def reno(self) -> bool:
        """Whether it is Reno's model."""
        return self.cc == "reno"


def modelled(comparison: Record, stored: Record) -> Modelled | None:
    """The run as the models need it; None where they are not about it."""
    scenario, flows = stored["scenario"], stored["run"]["flows"]
    ccs = {str(flow["cc"]) for flow in flows}
    if base_name(comparison) not in EXPERIMENTS or ccs not in ({"cubic"}, {"reno"}):
        return None
    if scenario["path"].get("aqm") or any("transfers" in flow for flow in flows):
        return None
    return Modelled(ccs.pop(), len(flows), model_path(scenario))


@functools.cache
def settled(
    path: cubic_model.Path, reno: bool, once: bool = False
) -> tuple[cubic_model.Moment, ...]:
    """The fluid model of a path in equilibrium; ``once`` as in :func:`.cubic_model.fluid`."""
    full_rtt_s = path.tau_s + path.buffer_packets / path.capacity_pps
    step_s = max(path.tau_s / 10, full_rtt_s / 100)
    moments = cubic_model.fluid(
        path, _FLUID_ROUNDS * full_rtt_s, reno=reno, flows=FLUID_FLOWS, step_s=step_s, once=once
    )
    return tuple(moments[len(moments) // 2 :])


# --- what is compared -------------------------------------------------------


def cov(windows: Collection[float]) -> float:
    """The coefficient of variation: the standard deviation as a share of the mean, not 0."""
    return statistics.pstdev(windows) / statistics.fmean(windows)


def variation(moments: Iterable[Iterable[float]]) -> float | None:
    """The mean over time of the CoV over the flows; of one flow the CoV over time."""
    each = [list(windows) for windows in moments]
    if not each:
        return None
    if len(each[0]) == 1:
        each = [[windows[0] for windows in each]]
    return statistics.fmean(cov(windows) for windows in each if any(windows))


def _of_one(of: Modelled) -> dict[str, float | None]:
    """The model of one flow; Reno is not in it."""
    if of.reno:
        return {}
    cycle = cubic_model.Cycle(of.path)
    times_s = [(n + 0.5) * cycle.period_s / 1000 for n in range(1000)]
    windows = [cycle.window(t_s) for t_s in times_s]
    queue = statistics.median(max(0.0, w - of.path.bdp_packets) for w in windows)
    return {
        "window": cycle.mean_window(),
        "variation of windows": variation([w] for w in windows),
        "from loss to loss": cycle.period_s,
        "queueing delay": 1e3 * queue / of.path.capacity_pps,
    }


def _of_many(of: Modelled) -> dict[str, float | None]:
    """The fluid model, and the criterion that tells which flows lose together."""
    moments = settled(of.path, of.reno)
    lost = math.fsum(moment.lost for moment in moments)
    length_s = moments[-1].t_s - moments[0].t_s
    together = cubic_model.lose_together(of.path, of.flows, of.reno)
    rtt_s = statistics.median(moment.rtt_s for moment in moments)
    return {
        "window": statistics.fmean(moment.window for moment in moments),
        "variation of windows": variation(m.windows for m in moments if m.windows),
        "from loss to loss": length_s / lost if lost else None,
        "queueing delay": 1e3 * (rtt_s - of.path.tau_s),
        "flows that lose together": together.share,
    }


#: The compared quantities, in this order, and their units.
UNITS = {
    "window": "packets",
    "variation of windows": "CoV",
    "from loss to loss": "s",
    "queueing delay": "ms",
    "flows that lose together": "share",
}


def _sampled(samples: Record | None, mode: str) -> dict[str, float | None]:
    """The quantities that a run's samples have."""
    flows = [flow["columns"] for flow in (samples or {"flows": []})["flows"] if flow["columns"]]
    moments = moments_of(flows, decider(mode))
    if not moments:
        return {}
    cycles = [got for columns in flows if (got := cycle_s(columns, decider(mode)))]
    mean = statistics.fmean(window for windows in moments for window in windows)
    return {
        "window": mean / PAYLOAD_BYTES,
        "variation of windows": variation(moments),
        "from loss to loss": statistics.fmean(cycles) if cycles else None,
    }


def _measured(of: Modelled, run: Record) -> dict[str, float | None]:
    """The quantities that a run's numbers have."""
    rtts_us = [flow["rtt_us"]["p50"] for flow in run["flows"] if (flow["rtt_us"] or {}).get("p50")]
    periods = [flow["loss_period_s"] for flow in run["flows"] if flow.get("loss_period_s")]
    sync = run.get("loss_synchronisation")
    return {
        "from loss to loss": statistics.fmean(periods) if periods else None,
        "queueing delay": (
            statistics.median(rtts_us) / 1e3 - 1e3 * of.path.tau_s if rtts_us else None
        ),
        "flows that lose together": sync["mean"] if sync else None,
    }


def rows(comparison: Record, runs: Runs, samples: Samples) -> list[Record]:
    """The models' numbers beside each mode's; nothing of what only one of them has."""
    found = []
    for cell, modes in runs.items():
        of = modelled(comparison, next(iter(next(iter(modes.values())).values())))
        if of is None:
            continue
        model = _of_one(of) if of.flows == 1 else _of_many(of)
        if 1 < of.flows < FEWEST_FLOWS:
            model.pop("variation of windows")
        ours: dict[str, dict[str, list[float]]] = {}
        for mode, by_seed in modes.items():
            for seed, stored in by_seed.items():
                got = _sampled(samples(cell, mode, seed), mode)
                numbers = _measured(of, stored["run"]).items()
                got |= {quantity: value for quantity, value in numbers if value is not None}
                for quantity, value in got.items():
                    if value is not None:
                        ours.setdefault(quantity, {}).setdefault(mode, []).append(value)
        for quantity, unit in UNITS.items():
            if model.get(quantity) is not None and quantity in ours:
                means = {
                    mode: statistics.fmean(several) for mode, several in ours[quantity].items()
                }
                found.append({"cell": cell, "cc": of.cc, "flows": of.flows, "quantity": quantity,
                              "unit": unit, "model": model[quantity], "ours": means})  # fmt: skip
    return found


# --- buffers ----------------------------------------------------------------


def used(path: cubic_model.Path, reno: bool) -> float:
    """The share of a link that the fluid model uses."""
    rates = (moment.window / moment.rtt_s / path.capacity_pps for moment in settled(path, reno))
    return statistics.fmean(min(1.0, rate) for rate in rates)


def buffers(comparison: Record, runs: Runs) -> Record | None:
    """How large a buffer must be, by each rule and as measured; None of other experiments.

    ``{"flows", "bdp_packets", "rules": {rule: BDPs}, "points": {cc: {mode: [[BDPs, share used]]}},
    "needed": [{"cc", "mode", "share", "bdp", "bound"}]}``, where one of the modes is "model",
    and ``bound`` is as :func:`.cubic_model.buffer_for` has it.  The share is of a link full of
    full packets, headers and all, over the whole of a run.
    """
    if base_name(comparison) != BUFFERS:
        return None
    measured = {cell["cell"]: cell["modes"] for cell in comparison["cells"]}
    points: dict[str, dict[str, list[tuple[float, float]]]] = {}
    of = None
    for cell, modes in runs.items():
        of = modelled(comparison, next(iter(next(iter(modes.values())).values()))) or of
        if of is None:
            continue
        buffer, mine = of.path.buffer_packets / of.path.bdp_packets, points.setdefault(of.cc, {})
        mine.setdefault("model", []).append((buffer, used(of.path, of.reno)))
        for mode, quantities in measured[cell].items():
            if "utilisation" in quantities:
                share = quantities["utilisation"]["mean"] * LINK_BYTES / PAYLOAD_BYTES
                mine.setdefault(mode, []).append((buffer, share))
    if of is None:
        return None
    needed = []
    for cc, by_mode in points.items():
        for mode, several in by_mode.items():
            for share in FILLED:
                bdp, bound = cubic_model.buffer_for(several, share)
                needed.append({"cc": cc, "mode": mode, "share": share, "bdp": bdp, "bound": bound})
    return {
        "flows": of.flows,
        "bdp_packets": of.path.bdp_packets * of.flows,
        "rules": cubic_model.buffer_rules(of.flows),
        "points": {cc: {mode: sorted(several) for mode, several in by_mode.items()}
                   for cc, by_mode in points.items()},
        "needed": needed,
    }  # fmt: skip
