# SPDX-License-Identifier: GPL-2.0-only
"""A report's CSV: each cell's columns besides its comparison, of invented runs."""

from __future__ import annotations

from typing import Any

import pytest
from tcon_lab.numbers import of_cells


def test_windows_of_the_same_time_stand_together() -> None:
    def flow(*windows: float | None) -> dict[str, Any]:
        return {"t_s": [1.0, 2.0, 3.0, 4.0], "tcon_cwnd_bytes": list(windows)}

    flows = [flow(9, 10, 30, None), flow(9, 20, 40, 50)]
    # The first third is left out, and a time at which a flow has no window.
    assert of_cells.moments_of(flows, "tcon") == [[10, 20], [30, 40]]
    assert of_cells.moments_of(flows, "guest") == []


def flow(index: int, table: int, cc: str, start_s: float, goodput_bps: int) -> dict[str, Any]:
    return {
        "index": index, "table": table, "cc": cc, "start_s": start_s, "seconds": 12 - start_s,
        "goodput_bps": goodput_bps, "sent_bytes": 1000, "retransmitted_bytes": 100,
        "rtt_mean_us": 5000, "rtt_us": {"p50": 4000, "p95": 6000},
        "cwnd_bytes": {"mean": 30, "max": 40},
    }  # fmt: skip


#: Two flows of one CC, which one of another joins after 6 s.
RUN = {
    "flows": [
        flow(0, 0, "cubic", 0.0, 10), flow(1, 0, "cubic", 0.0, 30), flow(2, 1, "bbr", 6.0, 60)
    ],
    "goodput_bps": 100, "jain": 0.5, "jain_mean": 0.6,
    "loss_synchronisation": {"mean": 0.25, "p50": 0.2, "epochs": 7},
}  # fmt: skip
TIMES_S = [float(n) for n in range(1, 13)]


def columns(index: int, rates_bps: list[int | None], *windows: int) -> dict[str, Any]:
    return {
        "index": index,
        "columns": {"t_s": TIMES_S, "goodput_bps": rates_bps, "guest_cwnd_bytes": list(windows)},
    }


SAMPLES = {
    "flows": [
        # Its start (2 s) and the second in which the other comes (7) are left out.
        columns(0, [900, 900, 4, 6, 5, 5, 900, 1, 1, 1, 1, 1], *[50] * 6, *[10] * 6),
        columns(1, [900, 900, 7, 7, 7, 7, 900, 3, 3, 3, 3, 3], *[60] * 6, *[20, 20, 99, 20, 5, 20]),
        columns(2, [None] * 6 + [900] + [8] * 5, *[70] * 6, *[30] * 6),
    ]
}


def values(rows: list[dict[str, Any]], of: str = "") -> dict[str, list[float]]:
    return {row["metric"]: row["values"] for row in rows if row["of"] == of}


def test_a_cell_has_what_its_comparison_leaves_out() -> None:
    found = values(of_cells.rows("a cell", "native", [(RUN, SAMPLES), (RUN, None)]))
    assert found["jain_mean"] == [0.6, 0.6]
    assert found["retransmitted"] == [pytest.approx(0.1)] * 2
    assert found["loss_epochs"] == [7, 7]
    # Sums after the first third, of the run that has samples.
    assert (found["window_most"], found["window_least"]) == ([180], [45])
    assert "steal" not in found


def test_the_flows_of_a_cell_by_kind() -> None:
    rows = of_cells.rows("a cell", "native", [(RUN, SAMPLES)])
    assert {(row["of"], row["cc"]) for row in rows} == {
        ("", ""), ("flow 1", "cubic"), ("flow 2", "bbr")
    }  # fmt: skip
    first, second = values(rows, "flow 1"), values(rows, "flow 2")
    assert (first["goodput"], first["resent"], first["rtt_mean"]) == ([20], [100], [5000])
    assert (first["goodput_alone"], first["goodput_joined"]) == ([6], [2])
    assert second["goodput_joined"] == [8]
    assert "goodput_alone" not in second


def test_flows_that_begin_together_are_joined_by_none() -> None:
    together = RUN | {"flows": [one | {"start_s": 0.0} for one in RUN["flows"]]}
    found = values(of_cells.rows("a cell", "native", [(together, SAMPLES)]), "flow 1")
    assert {"goodput_alone", "goodput_joined"} & set(found) == set()


def test_enforced_windows_are_those_of_tcon() -> None:
    found = values(of_cells.rows("a cell", "enforced", [(RUN, SAMPLES)]))
    assert "window_most" not in found  # these samples have the guests'


def test_what_is_in_flight_of_all_flows() -> None:
    def flight(*several: float | None) -> dict[str, Any]:
        return {"t_s": [1.0, 2.0, 3.0], "tcon_inflight_bytes": list(several)}

    # A time at which no flow is known counts for nothing, one at which one is, for that one.
    flows = [flight(500, None, None), flight(40, 80, None)]
    assert of_cells.inflight_bytes(flows) == [80, 540]
    assert of_cells.inflight_bytes([{"t_s": [1.0]}]) == []


def test_percentiles_of_what_is_in_flight() -> None:
    columns = {"t_s": [float(n) for n in range(100)], "tcon_inflight_bytes": list(range(100))}
    kept = {"flows": [{"index": n, "columns": columns} for n in range(3)]}
    found = values(of_cells.rows("a cell", "enforced", [(RUN, kept)]))
    names = ("p10", "p50", "p90", "p99", "most")
    assert [found[f"inflight_{n}"] for n in names] == [[27], [147], [267], [294], [297]]
    # TCon watches native flows, too, but keeps no copies.
    assert "inflight_p50" not in values(of_cells.rows("a cell", "native", [(RUN, kept)]))


def test_each_sample_is_a_moment_of_its_own() -> None:
    """Also where times end in half a tenth, which rounds to either side."""
    times_s = [round(0.05 + 0.1 * n, 3) for n in range(90)]
    columns = {"t_s": times_s, "tcon_inflight_bytes": [1000] * 90, "tcon_cwnd_bytes": [1000] * 90}
    assert of_cells.inflight_bytes([columns]) == [1000] * 90
    later = [t_s for t_s in times_s if t_s > times_s[-1] / 3]
    assert of_cells.moments_of([columns, columns], "tcon") == [[1000, 1000]] * len(later)
