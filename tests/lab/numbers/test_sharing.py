# SPDX-License-Identifier: GPL-2.0-only
"""Fairness over time, convergence and synchronised losses, of invented flows."""

from __future__ import annotations

from typing import Any

import pytest
import synthetic
from tcon_lab.numbers.results import results_from_raw
from tcon_lab.numbers.sharing import (
    convergence_s,
    jain_per_second,
    loss_epochs,
    loss_events_s,
    loss_period_s,
    synchronisation,
)
from tcon_lab.pages import report

RTT_S = 0.25


def flow(
    rates: list[float], start_s: float = 0.0, losses_s: tuple[float, ...] = (), events: int = 1
) -> dict[str, Any]:
    """A flow with a rate in each of its seconds, in ten samples each."""
    count = 10 * len(rates)
    times = [round(start_s + (n + 1) / 10, 3) for n in range(count)]
    assert set(losses_s) <= set(times)
    samples = [
        {
            "t_s": t_s,
            "goodput_bps": rates[n // 10],
            "retransmitted_bytes": 1448 * (t_s in losses_s),
            "loss_events": events * (t_s in losses_s),
        }
        for n, t_s in enumerate(times)
    ]
    return {"start_s": start_s, "seconds": float(len(rates)), "samples": samples}


def test_jain_of_each_second() -> None:
    flows = [flow([1, 3, 2, 0]), flow([3, 3, 0, 0])]
    assert jain_per_second(flows, 4.0) == [0.8, 1.0, 0.5, None]


def test_only_flows_of_the_whole_second_count() -> None:
    late = flow([1, 1], start_s=1.5)
    flows = [flow([1] * 4), flow([1] * 4), late]
    assert jain_per_second(flows, 4.0) == [1.0, 1.0, 1.0, 1.0]
    late["samples"] = [s | {"goodput_bps": 5} for s in late["samples"]]
    got = jain_per_second(flows, 4.0)  # the third second is the only one it is all in
    assert got == [1.0, 1.0, pytest.approx(49 / 81, abs=1e-4), 1.0]
    assert jain_per_second([late], 4.0) == [None] * 4
    a_little = flow([5] * 4, start_s=0.1)
    assert jain_per_second([flow([1] * 4), a_little], 4.0)[0] == pytest.approx(36 / 52, abs=1e-4)


def test_convergence_is_five_fair_seconds() -> None:
    two = [flow([1] * 12), flow([1] * 12)]
    assert convergence_s(two, [0.5, 0.96] + [0.94] + [0.95] * 5) == 4
    assert convergence_s(two, [0.5, 0.96] + [0.94] + [0.95] * 4) is None
    assert convergence_s(two, [1.0] * 5) == 1
    assert convergence_s(two, [None] + [1.0] * 5) == 2
    assert convergence_s(two, [None] * 10) is None
    assert convergence_s([], []) is None


def test_convergence_counts_from_the_last_start() -> None:
    flows = [flow([1] * 12), flow([1] * 9, start_s=2.5)]
    assert convergence_s(flows, [1.0] * 10) == 1.5
    assert convergence_s(flows, [1.0] * 5 + [0.5] + [1.0] * 5) == 4.5
    assert convergence_s([flow([1] * 9), flow([1] * 9, start_s=0.05)], [1.0] * 5) == 0.95


def test_a_loss_event_ends_with_a_round_trip_without_one() -> None:
    lossy = flow([1] * 2, losses_s=(0.1, 0.3, 0.5, 0.8, 1.5))
    assert loss_events_s(lossy["samples"], RTT_S) == [0.1, 0.8, 1.5]
    assert loss_events_s(lossy["samples"], 0.1) == [0.1, 0.3, 0.5, 0.8, 1.5]
    assert loss_events_s(lossy["samples"], 1.0) == [0.1]
    assert loss_events_s(flow([1])["samples"], RTT_S) == []


def test_the_loss_period_is_the_mean_between_events() -> None:
    times_s = (0.1, 0.3, 0.5, 0.8, 1.5)
    lossy = flow([1] * 2, losses_s=times_s)["samples"]
    assert loss_period_s(lossy, 0.0) == pytest.approx(0.35)
    assert loss_period_s(lossy, 0.2) == pytest.approx(0.4)  # 0.3, 0.5, 0.8, 1.5
    assert loss_period_s(lossy, 0.8) is None  # a single event
    assert loss_period_s(flow([1])["samples"], 0.0) is None
    assert loss_period_s([], 0.0) is None
    often = flow([1] * 2, losses_s=times_s, events=3)["samples"]  # closer than samples are
    assert loss_period_s(often, 0.0) == pytest.approx(0.1)
    assert loss_period_s(often, 0.8) is None  # three events of one time


def test_epochs_are_a_round_trip_long() -> None:
    flows = [
        flow([1] * 2, losses_s=(0.2, 1.0)),
        flow([1] * 2, losses_s=(0.4, 1.0, 1.1)),
        flow([1] * 2, losses_s=(0.5, 1.2)),
        flow([1], start_s=0.9, losses_s=(1.5,)),
    ]
    assert loss_epochs(flows, RTT_S) == [
        {"t_s": 0.2, "flows": 2, "running": 3},
        {"t_s": 0.5, "flows": 1, "running": 3},
        {"t_s": 1.0, "flows": 3, "running": 4},
        {"t_s": 1.5, "flows": 1, "running": 4},
    ]


def test_synchronisation_is_the_share_that_loses() -> None:
    epochs = [{"t_s": 1.0, "flows": n, "running": 4} for n in (4, 1, 2)]
    assert synchronisation(epochs, 4) == {"mean": 0.5833, "p50": 0.5, "epochs": 3}
    assert synchronisation(epochs, 1) is None
    assert synchronisation([], 4) is None


def with_losses(mode: str, count: int, every: int, only: int | None = None) -> dict[str, Any]:
    """A synthetic run whose flows, or only one of them, retransmit in every so-manieth
    interval.
    """
    raw = synthetic.raw(mode, count)
    seen: dict[int, int] = {}
    for record in raw["probe"]:
        if record["type"] == "flow":
            number = seen[record["sport"]] = seen.get(record["sport"], 0) + 1
            index = record["sport"] - synthetic.endpoints(0)["sport"]
            if number % every == 0 and only in (None, index):
                record["retransmitted_bytes"] = 1448
    return raw


def test_results_have_them() -> None:
    (run,) = results_from_raw([with_losses("native", 4, 20)])["runs"]
    assert run["jain_per_second"] == [1.0] * 10
    assert (run["jain_mean"], run["convergence_s"]) == (1.0, 1.0)
    assert [epoch["flows"] for epoch in run["loss_epochs"]] == [4] * 5
    assert run["loss_synchronisation"] == {"mean": 1.0, "p50": 1.0, "epochs": 5}
    assert [f["table"] for f in run["flows"]] == [0] * 4
    (run,) = results_from_raw([with_losses("native", 4, 20, only=2)])["runs"]
    assert run["loss_synchronisation"]["mean"] == 0.25
    (run,) = results_from_raw([with_losses("native", 1, 20)])["runs"]
    assert run["loss_synchronisation"] is None
    assert len(run["loss_epochs"]) == 5
    assert (run["jain_mean"], run["convergence_s"]) == (None, None)


def test_the_page_shows_them() -> None:
    made = results_from_raw([with_losses("native", 4, 20, only=2)])
    (row,) = report.rows([made])
    shown = {heading: text(row) for heading, _, text in report.COLUMNS}
    assert (shown["Converged"], shown["Lose at once"]) == ("1.0", "25.0")
    assert shown["Jain per second"] == "1.000"
    p95_ms = made["runs"][0]["flows"][0]["rtt_us"]["p95"] / 1000
    assert float(shown["RTT p95"]) == pytest.approx(p95_ms, abs=0.5)


def test_a_full_queue_makes_an_epoch_longer() -> None:
    """20 ms and 1000 packets at 100 Mbit/s are 140 ms; at 10 Mbit/s they are 1.22 s."""
    raw = with_losses("native", 2, 5)
    (run,) = results_from_raw([raw])["runs"]
    assert len(run["loss_epochs"]) == 20
    raw["scenario"]["path"]["rate_bps"] = 10_000_000
    (run,) = results_from_raw([raw])["runs"]
    assert len(run["loss_epochs"]) == 1


def test_transfers_share_nothing() -> None:
    (run,) = results_from_raw([synthetic.raw_transfers("native", [1.0, 2.0])])["runs"]
    assert run["loss_epochs"] == []
    assert run["loss_synchronisation"] is None
    assert set(run["jain_per_second"]) == {None}
    assert run["flows"][0]["table"] == 0
