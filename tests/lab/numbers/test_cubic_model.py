# SPDX-License-Identifier: GPL-2.0-only
"""The thesis's models against closed forms, and against what its text says of them."""

from __future__ import annotations

import math
import random
from decimal import Decimal, getcontext
from pathlib import Path as File

import pytest
from tcon_lab.experiment import published
from tcon_lab.numbers import cubic_model as model
from tcon_lab.numbers.cubic_model import Cycle, Path

getcontext().prec = 40
THESIS = published.load(File(__file__).parents[3] / "tools/published/cubic-thesis.toml")
PACKET_BITS = 8 * 1500

#: Section 2.4.2, by its names; the mode is what tests/unit/algorithms/test_cubic_cycle.c finds too.
CUBIC_MODE = {"ADSL": False, "FTTH 100": True, "FTTH 200": False, "FTTH 300": True,
              "FTTH 400": False}  # fmt: skip


def paths() -> dict[str, Path]:
    return {
        str(row["scenario"]): Path(
            float(row["rate"]) * 1e6 / PACKET_BITS,  # type: ignore
            float(row["tau"]) / 1e3,  # type: ignore
            float(row["buffer"]),  # type: ignore
        )
        for row in THESIS.table("2.4.2").records()
    }


def cube_root(x: Decimal) -> Decimal:
    """By Newton's method, to 40 digits."""
    root = Decimal(math.cbrt(float(x)))
    for _ in range(6):
        root -= (root**3 - x) / (3 * root**2)
    return root


def exact_period(path: Path, beta: Decimal) -> tuple[Decimal, bool]:
    """The time from loss to loss, by inverting (2.1) and (2.11) by hand.

    (2.11) is the root of W^2 - (s + a) W + a s = a C t: so t = (W - s) (W - a) / (a C).
    """
    capacity, buffer = Decimal(path.capacity_pps), Decimal(path.buffer_packets)
    top = capacity * Decimal(path.tau_s) + buffer + 1
    start, a = (1 - beta) * top, 3 * beta / (2 - beta)
    cubic = cube_root(beta * top / Decimal("0.4"))
    reno = (top - start) * (top - a) / (a * capacity)
    return min(cubic, reno), cubic <= reno


@pytest.mark.parametrize("name", CUBIC_MODE)
@pytest.mark.parametrize("beta", ["0.2", "0.3"])
def test_periods_by_exact_inversion(name: str, beta: str) -> None:
    path = paths()[name]
    cycle = Cycle(path, float(beta))
    period, cubic = exact_period(path, Decimal(beta))
    assert cycle.period_s == pytest.approx(float(period), rel=1e-8)
    assert cycle.in_cubic_mode() is cubic
    if beta == "0.2":
        assert cubic is CUBIC_MODE[name]
    assert cycle.window(cycle.period_s) == pytest.approx(path.lost_at_packets, rel=1e-6)
    assert cycle.window(0) == pytest.approx((1 - float(beta)) * path.lost_at_packets)


def test_modes_are_those_that_the_thesis_names() -> None:
    stated = {r["scenario"]: r["mode"] for r in THESIS.table("2.4.2").records() if r["mode"]}
    assert stated == {"FTTH 100": "cubic", "FTTH 200": "tcp"}
    for name, mode in stated.items():
        assert Cycle(paths()[str(name)], 0.2).in_cubic_mode() is (mode == "cubic")


def test_means_of_a_cubic_cycle() -> None:
    """Over 0 .. V the mean of C (t - V)^3 + w is w - C V^3 / 4, which is w (1 - beta / 4)."""
    path = paths()["FTTH 100"]
    for beta in (0.2, 0.3):
        cycle = Cycle(path, beta)
        assert cycle.mean_window() == pytest.approx(cycle.w_max * (1 - beta / 4), rel=1e-6)


def test_the_queue_and_the_rtt() -> None:
    """(A.7) and (A.9) where the queue never empties: the mean window less C tau."""
    path = paths()["FTTH 200"]
    cycle = Cycle(path, 0.2)
    assert cycle.w_start > path.bdp_packets
    queue = cycle.mean_window() - path.bdp_packets
    assert cycle.mean_queue() == pytest.approx(queue, rel=1e-9)
    assert cycle.mean_rtt_s() == pytest.approx(0.010 + queue / path.capacity_pps)
    assert cycle.throughput_pps() == pytest.approx(path.capacity_pps)
    assert 1 / cycle.loss_rate() == pytest.approx(path.capacity_pps * cycle.period_s)


def test_throughput_where_the_queue_empties() -> None:
    """(A.6) of FTTH 100: by the antiderivative of (2.1) up to t_BD, then C."""
    path, beta = paths()["FTTH 100"], 0.2
    cycle = Cycle(path, beta)
    v_s, top, bdp = cycle.v_s, cycle.w_max, path.bdp_packets
    t_bd = v_s - ((top - bdp) / 0.4) ** (1 / 3)
    sent = (0.1 * ((t_bd - v_s) ** 4 - v_s**4) + top * t_bd) / path.tau_s
    sent += path.capacity_pps * (v_s - t_bd)
    assert cycle.throughput_pps() == pytest.approx(sent / v_s, rel=1e-5)


def test_the_cubic_function_above_its_plateau() -> None:
    """Section 5.5.1 prints when it is 1 to 4 packets above, to two digits."""
    for above, after_s in THESIS.table("5.5.1").rows:
        got = model.w_cubic(3 + float(after_s), 3, 100) - 100  # type: ignore
        assert got == pytest.approx(float(above), rel=0.03)  # type: ignore


def test_plateaus_with_and_without_fast_convergence() -> None:
    """(2.12) and (2.13): with it half of beta w is left to climb."""
    w, beta = 500.0, 0.2
    plain = model.plateau_s(w, (1 - beta) * w)
    fast = model.plateau_s((1 - beta / 2) * w, (1 - beta) * w)
    assert plain == pytest.approx(250 ** (1 / 3))
    assert fast == pytest.approx(125 ** (1 / 3))


def test_the_lower_bound_solves_its_equation() -> None:
    """(2.11) put into (2.10)."""
    path, a, start = paths()["FTTH 200"], model.slope(0.2), 174.0
    for t_s in (0.1, 0.5, 1.5):
        w = model.w_tcp_queued(t_s, start, path, a)
        assert w == pytest.approx(start + a * path.capacity_pps * t_s / (w - a))
    assert model.slope(0.2, per_ack=2) == pytest.approx(model.slope(0.2) / 2)


def test_from_which_rtt_it_is_always_cubic() -> None:
    """The thesis prints 39 ms and 18 ms, and no buffer; its formula gives 38 and 15 of none."""
    stated = {v.of["rate"]: v.value for v in THESIS.values if v.quantity.startswith("RTT from")}
    assert stated == {"100mbit": 39, "1gbit": 18}
    for rate_bps, first_ms in ((1e8, 38), (1e9, 16)):
        capacity = rate_bps / PACKET_BITS
        found = [ms for ms in range(1, 60) if model.always_cubic(Path(capacity, ms / 1e3, 0), 0.2)]
        assert found == list(range(first_ms, 60))


def test_series_repeat_from_the_loss() -> None:
    cycle = Cycle(paths()["ADSL"])
    period = cycle.period_s
    got = cycle.series([4.0, 4.0 + period, 4.0 - period, 4.0 + period / 2], loss_s=4.0)
    assert got[:3] == [pytest.approx(got[0], rel=1e-6)] * 3 or max(got[:3]) == cycle.w_max
    assert got[3] == pytest.approx(cycle.window(period / 2))


# --- many flows -------------------------------------------------------------


def within_a_data_centre(buffer_bdp: float) -> Path:
    """Scenario B of 3.4.1: 1 Gbit/s for each flow, 1 ms, packets of 1480 bytes."""
    row = next(r for r in THESIS.table("3.4.1").records() if str(r["scenario"]).startswith("B"))
    capacity = float(row["rate"]) * 1e6 / 8 / 1480  # type: ignore
    tau_s = float(row["base_rtt"]) / 1e3  # type: ignore
    return Path(capacity, tau_s, buffer_bdp * capacity * tau_s)


def settled(path: Path, seconds: float, **how: object) -> list[model.Moment]:
    moments = model.fluid(path, seconds, beta=0.2, flows=25, **how)  # type: ignore
    return moments[len(moments) // 3 :]


def empty(moments: list[model.Moment]) -> float:
    return sum(m.queue_packets == 0 for m in moments) / len(moments)


def used(path: Path, moments: list[model.Moment]) -> float:
    rates = (min(1.0, m.window / m.rtt_s / path.capacity_pps) for m in moments)
    return sum(rates) / len(moments)


def test_how_small_a_buffer_may_be() -> None:
    """3.5.2: CUBIC fills the link with 30 % of the BDP; below 60 % Reno's queue is often empty."""
    cubic = within_a_data_centre(0.3)
    moments = settled(cubic, 6)
    assert used(cubic, moments) > 0.99
    assert empty(moments) < 0.01
    reno = {b: empty(settled(within_a_data_centre(b), 4, reno=True)) for b in (0.3, 0.6, 1.0)}
    assert reno[0.3] > 0.25
    assert reno[0.3] > 2 * reno[0.6]
    assert reno[1.0] < 0.05


def test_growth_without_losses() -> None:
    """Reno adds a packet for each RTT: w^2 grows by 2 C per second where the queue is all."""
    path = Path(1000, 0.05, 1e9)
    moments = model.fluid(path, 20, reno=True, flows=3)
    early = next(m for m in moments if m.t_s >= 2)
    assert early.window == pytest.approx(2.5 + 2 / 0.05, rel=0.01)  # nothing waits yet
    last = moments[-1]
    assert last.queue_packets > 0
    assert last.window == pytest.approx(
        path.capacity_pps * path.tau_s + last.queue_packets, rel=0.05
    )
    later = next(m for m in moments if m.t_s >= 12)
    gained = last.window**2 - later.window**2
    assert gained == pytest.approx(2 * path.capacity_pps * (last.t_s - later.t_s), rel=0.05)


def test_the_queue_keeps_what_comes_and_goes() -> None:
    """(3.3): over a time without an empty or full queue, in less out is what it grew by."""
    path = within_a_data_centre(1.0)
    moments = model.fluid(path, 1.5, beta=0.2, flows=25)
    kept = [n for n, m in enumerate(moments) if 5 < m.queue_packets < 0.9 * path.buffer_packets]
    runs = [n for n in kept if n + 1 in set(kept)]
    assert len(runs) > 1000
    for n in runs[:: len(runs) // 100]:
        m, step_s = moments[n], moments[n + 1].t_s - moments[n].t_s
        net = ((1 - m.loss_probability) * m.window / m.rtt_s - path.capacity_pps) * step_s
        assert moments[n + 1].queue_packets - m.queue_packets == pytest.approx(net, abs=1e-6)


def test_windows_scale_with_the_capacity() -> None:
    """3.3.2: with alpha times the capacity and buffer Reno's windows are alpha times as
    large, in alpha times the time, where losses are few.
    """
    small = settled(Path(500, 0.02, 5), 30, reno=True)
    large = settled(Path(2000, 0.02, 20), 120, reno=True)
    means = [sum(m.window for m in moments) / len(moments) for moments in (small, large)]
    assert means[1] / means[0] == pytest.approx(4, rel=0.15)


def test_one_loss_in_a_round_trip() -> None:
    """Scenario C, with ten of its flows: no flow loses again within a round trip, where in the
    thesis's model many do; so fewer windows are small.
    """
    path = Path(1e8 / PACKET_BITS / 100, 0.5, 41.67)
    means = {}
    for once in (False, True):
        moments = model.fluid(path, 300, flows=30, once=once)
        means[once] = sum(m.window for m in moments[len(moments) // 2 :])
        again = 0
        for n in range(len(moments) // 2, len(moments) - 15):  # at most 0.75 s
            lost = sum(m.lost for m in moments[n : n + 10])
            again += lost > 1.001
        assert (again == 0) is once
    assert means[True] > 1.2 * means[False]


def test_equal_seeds_give_equal_numbers() -> None:
    path = within_a_data_centre(0.3)
    runs = [model.fluid(path, 0.5, flows=20, seed=seed) for seed in (3, 3, 4)]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


# --- which flows lose together ----------------------------------------------


def test_from_which_rtt_a_flow_adds_two_packets() -> None:
    """5.5.1 prints 0.35, 0.25 and 1.35 s, of the times of its Figure 5.14."""
    assert model.two_packets_from_s(0) == pytest.approx(0.35, abs=0.005)
    assert model.two_packets_from_s(1) == pytest.approx(0.25, abs=0.005)
    assert model.two_packets_from_s(-1) == pytest.approx(1.35, abs=0.01)
    after = {row["above"]: row["after"] for row in THESIS.table("5.5.1").records()}
    for above, after_s in after.items():
        assert math.cbrt(above / 0.4) == pytest.approx(after_s, abs=0.011)  # type: ignore


@pytest.mark.parametrize("above", [-1, 0, 1, 5])
def test_synchronisation_is_high_from_that_rtt_on(above: float) -> None:
    """The criterion of both: two packets in a round trip with a full queue."""
    limit_s = model.two_packets_from_s(above)
    for factor, high in ((0.99, False), (1.01, True)):
        tau_s = 0.5 * limit_s * factor
        path = Path(100_000, tau_s, 100_000 * (limit_s * factor - tau_s))
        assert model.always_cubic(path)
        got = model.lose_together(path, 10, above=above)
        assert (got.cubic_mode, got.high) == (True, high)
        assert got.full_rtt_s == pytest.approx(limit_s * factor)
        assert got.packets == pytest.approx(2, rel=0.03)


def of_scenario(name: str, buffer: float | None = None) -> Path:
    """A flow's share of the test-bed of chapter 5, which 100 flows had."""
    row = next(r for r in THESIS.table(name).records() if r["which"] == "test-bed")
    packets = float(row["buffer"]) if buffer is None else buffer * float(row["bdp"])  # type: ignore
    return Path(float(row["rate"]) * 1e6 / PACKET_BITS / 100, float(row["rtt"]) / 1e3,  # type: ignore
                packets / 100)  # fmt: skip


def test_which_scenarios_lose_together() -> None:
    """B is in TCP mode and not synchronised, C in cubic mode and is, Reno's flows are not (5.4.1);
    within a data centre nobody is (5.5.4).
    """
    assert not model.lose_together(of_scenario("5.2"), 100, beta=0.2).cubic_mode
    c = model.lose_together(of_scenario("5.3", 0.6), 100, beta=0.2)
    assert c.cubic_mode
    assert c.high
    assert c.share > 0.95
    for name, buffer in (("5.1", 1.0), ("5.2", None), ("5.3", 0.6)):
        reno = model.lose_together(of_scenario(name, buffer), 100, reno=True)
        assert (reno.packets, reno.high, reno.cubic_mode) == (1, False, False)
    inside = model.lose_together(Path(8333 / 10, 0.001, 119), 10, beta=0.2)
    assert (inside.cubic_mode, inside.high) == (False, False)
    assert inside.packets == pytest.approx(3 * 0.2 / 1.8)


def test_the_share_is_that_of_random_losses() -> None:
    """Throw as many losses as the flows add packets, at random."""
    rng, flows = random.Random(5), 40
    for path in (of_scenario("5.2"), of_scenario("5.3", 0.6), Path(1000, 0.1, 200)):
        got = model.lose_together(path, flows)
        losses = round(flows * got.packets)
        hit = [len({rng.randrange(flows) for _ in range(losses)}) / flows for _ in range(2000)]
        assert got.share == pytest.approx(sum(hit) / len(hit), abs=0.015)


# --- how large a buffer should be -------------------------------------------


def test_the_rules_of_buffers() -> None:
    """Worked out by hand for 100 flows, and the thesis's own values."""
    rules = model.buffer_rules(100)
    assert list(rules.values()) == pytest.approx([1, 0.1, 0.063, 0.2, 0.1, 0.3, 0.6])
    own = {v.of["cc"]: v.value for v in THESIS.values if v.quantity.startswith("buffer ")}
    assert own == {"cubic": 30, "reno": 60}
    assert model.buffer_rules(1)["C RTT / sqrt(N) (1.2)"] == 1


def test_the_least_buffer_for_a_share() -> None:
    points = [(1.0, 0.99), (0.1, 0.9), (0.3, 0.98)]
    assert model.buffer_for(points, 0.94) == (pytest.approx(0.2), "")
    assert model.buffer_for(points, 0.985) == (pytest.approx(0.65), "")
    assert model.buffer_for(points, 0.9) == (0.1, "<")
    assert model.buffer_for(points, 0.995) == (1.0, ">")
