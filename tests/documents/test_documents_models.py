# SPDX-License-Identifier: GPL-2.0-only
"""docs/documents.md on the CUBIC thesis's models: its tables are of documents.csv, of what the
models say, and of the rules.
"""

from __future__ import annotations

import csv
import math
import re
import statistics
from pathlib import Path

import pytest
from tcon_lab.numbers import cubic_model
from tcon_lab.numbers.against_models import LINK_BYTES, PAYLOAD_BYTES, settled
from tcon_lab.numbers.cubic_model import Cycle

TOP = Path(__file__).parents[2]
PAGE = (TOP / "docs/documents.md").read_text()
PARTS = {part.split("\n")[0]: part for part in PAGE.split("\n### ")[1:]}
with (TOP / "tools/campaigns/documents.csv").open(newline="") as _file:
    LINES = list(csv.DictReader(_file))

#: Model, native, enforced.
SIDES = ("model", "native", "enforced")
QUANTITIES = (
    "from loss to loss, s", "window, packets", "variation of windows, CoV", "queueing delay, ms"
)  # fmt: skip
#: Name in the page: campaign, cell in it.
ONE_FLOW = {
    "ADSL 10 Mbit/s, 50 ms, 10 packets": "ADSL",
    "FTTH 100 Mbit/s, 50 ms, 50 packets": "FTTH 100",
    "FTTH 200 Mbit/s, 10 ms, 50 packets": "FTTH 200",
    "FTTH 300 Mbit/s, 20 ms, 50 packets": "FTTH 300",
    "FTTH 400 Mbit/s, 8 ms, 43 packets": "FTTH 400",
}
#: Name in the page: campaign, cell, Mbit/s, RTT in s, queue in packets, flows, what is published.
MANY = {
    "A, 200 ms, CUBIC": ("cubic-scenarios", "A 1.0bdp cubic", 0.2, 1667, 100, "all"),
    "A, 200 ms, Reno": ("cubic-scenarios", "A 1.0bdp reno", 0.2, 1667, 100, "less"),
    "B, 10 ms, CUBIC": ("cubic-scenarios", "B cubic", 0.01, 1000, 100, "as little as Reno"),
    "B, 10 ms, Reno": ("cubic-scenarios", "B reno", 0.01, 1000, 100, "little"),
    "C, 500 ms, CUBIC": ("cubic-scenarios", "C 1.0bdp cubic", 0.5, 4167, 100, "close to 100 %"),
    "C, 500 ms, Reno": ("cubic-scenarios", "C 1.0bdp reno", 0.5, 4167, 100, "at most 30 %"),
    "C, CUBIC, 60 s": ("cubic-fast-convergence", "100 flows", 0.5, 4167, 100, ""),
    "C, without fast convergence": (
        "cubic-fast-convergence", "100 flows without", 0.5, 4167, 100, "as with it"
    ),
    "ten flows, 190 ms, CUBIC": ("cubic-ten-flows", "190ms, 10 cubic", 0.19, 1583, 10, "high"),
    "ten flows, 1 ms, CUBIC": ("cubic-ten-flows", "1ms, 10 cubic", 0.001, 1192, 10, "none"),
    "100 flows, 1 ms, CUBIC": ("cubic-ten-flows", "1ms, 100 cubic", 0.001, 1192, 100, "none"),
    "350 ms, CUBIC": ("cubic-aqm", "FIFO cubic", 0.35, 2917, 100, "81 %"),
    "350 ms, Reno": ("cubic-aqm", "FIFO reno", 0.35, 2917, 100, "less than with an AQM"),
}  # fmt: skip
#: Runs of which no samples were kept.
NOT_KEPT = ("A", "B")
#: Those in which synchronisation is high by the criterion, under CUBIC.
HIGH = ("C,", "ten flows, 190", "350")


def numbers(campaign: str, cell: str, metric: str, what: str = "model") -> dict[str, float]:
    """A metric by mode."""
    return {
        line["mode"]: float(line["mean"])
        for line in LINES
        if (line["experiment"], line["cell"], line["what"], line["metric"])
        == (f"{campaign}-short", cell, what, metric)
    }


def cell_of(name: str, metric: str) -> dict[str, float]:
    """A metric of a run's own."""
    campaign, cell = MANY[name][:2]
    return numbers(campaign, cell, metric, "cell")


def path_of(name: str) -> tuple[cubic_model.Path, int]:
    """A flow's share of a path, and the flows."""
    _, _, rtt_s, queue, flows, _ = MANY[name]
    return cubic_model.Path(1e8 / 12_000 / flows, rtt_s, queue / flows), flows


def shown(value: float) -> str:
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


def triple(values: dict[str, float]) -> str:
    return " / ".join(shown(values[side]) if side in values else "-" for side in SIDES)


def many(name: str) -> dict[str, dict[str, float]]:
    """The quantities of a case; where no samples were kept, of what a run's numbers have."""
    campaign, cell = MANY[name][:2]
    found = {metric: numbers(campaign, cell, metric) for metric in QUANTITIES}
    if name.startswith(NOT_KEPT):
        goodput, rtt, jain = (cell_of(name, metric) for metric in ("goodput", "rtt", "jain_mean"))
        for mode in SIDES[1:]:
            bytes_ = goodput[mode] * rtt[mode] / 8e6 / MANY[name][4]
            found["window, packets"][mode] = bytes_ / PAYLOAD_BYTES
            found["variation of windows, CoV"][mode] = math.sqrt(1 / jain[mode] - 1)
    return found


def one_flow_rows() -> list[str]:
    return [
        f"| {name} | "
        + " | ".join(triple(numbers("cubic-one-flow", cell, metric)) for metric in QUANTITIES)
        + " |"
        for name, cell in ONE_FLOW.items()
    ]


def many_rows() -> list[str]:
    return [
        f"| {name}{' *' if name.startswith(NOT_KEPT) else ''} | "
        + " | ".join(triple(values) for values in many(name).values())
        + " |"
        for name in MANY
        if not name.startswith("350")
    ]


def together_rows() -> list[str]:
    found = []
    for name, (campaign, cell, *_, published) in MANY.items():
        path, flows = path_of(name)
        reno = "Reno" in name
        got = cubic_model.lose_together(path, flows, reno)
        share = numbers(campaign, cell, "flows that lose together, share")
        assert share["model"] == pytest.approx(got.share, rel=1e-3)
        assert got.high is (name.startswith(HIGH) and not reno)
        mode = "Reno" if reno else "cubic" if got.cubic_mode else "TCP"
        row = (name, published, f"{got.full_rtt_s:.2f}", mode, f"{got.packets:.2f}", triple(share))
        found.append(f"| {' | '.join(row)} |")
    return found


def rule_rows() -> list[str]:
    return [
        f"| {rule} | {bdp:.3g} | {bdp * 1e9 * 0.01 / 12_000:.0f} |"
        for rule, bdp in cubic_model.buffer_rules(10).items()
    ]


def used_rows() -> list[str]:
    """Shares of documents.csv, and the buffers of a line between them."""
    rows = []
    for cc in ("cubic", "reno"):
        points: dict[str, list[tuple[float, float]]] = {side: [] for side in SIDES}
        cells = []
        for buffer, packets in (("0.1", 83), ("0.3", 250), ("1.0", 833)):
            values = {
                mode: value * LINK_BYTES / PAYLOAD_BYTES
                for mode, value in numbers(
                    "cubic-buffers", f"{buffer}bdp {cc}", "utilisation", "cell"
                ).items()
            }
            line = next(
                x for x in LINES
                if (x["what"], x["metric"], x["mode"], x["cc"]) == ("buffer", "link used, share",
                                                                    "model", cc)
                and x["cell"] == f"{float(buffer):.2g}bdp"
            )  # fmt: skip
            values["model"] = float(line["mean"])
            for side in SIDES:
                points[side].append((packets / (1e9 * 0.01 / 12_000), values[side]))
            cells.append(" / ".join(f"{100 * values[side]:.1f}" for side in SIDES))
        for share in (0.95, 0.99):
            needed = [cubic_model.buffer_for(points[side], share) for side in SIDES]
            cells.append(" / ".join(f"{bound}{bdp:.2g}" for bdp, bound in needed))
        rows.append(f"| {cc} | {' | '.join(cells)} |")
    return rows


@pytest.mark.parametrize(
    ("heading", "rows"),
    [
        ("The models beside the runs", [*one_flow_rows(), *many_rows()]),
        ("Which flows lose together", together_rows()),
        ("How large a buffer must be", [*rule_rows(), *used_rows()]),
    ],
    ids=["models", "together", "buffers"],
)
def test_tables_are_those_of_the_runs(heading: str, rows: list[str]) -> None:
    body = re.split(r"\n## ", PARTS[heading])[0]
    found = [line for line in body.split("\n") if line.startswith("| ") and "---" not in line]
    headings = [line for line in found if re.match(r"\| (line|case|rule|CC) \|", line)]
    assert [line for line in found if line not in headings] == rows


def ratio(name: str, metric: str, mode: str) -> float:
    values = many(name)[metric]
    return values[mode] / values["model"]


def test_what_the_text_says_of_the_models() -> None:
    ones = [numbers("cubic-one-flow", cell, QUANTITIES[0]) for cell in ONE_FLOW.values()]
    periods = [values[mode] / values["model"] for values in ones for mode in SIDES[1:]]
    text = PAGE.replace("\n", " ")
    shorter, longer = 100 * (1 - min(periods)), 100 * (max(periods) - 1)
    assert f"up to {shorter:.0f} % shorter and {longer:.0f} % longer than the model's" in text
    delay = "queueing delay, ms"
    for mode in SIDES[1:]:
        for cc in ("CUBIC", "Reno"):
            assert ratio(f"B, 10 ms, {cc}", delay, mode) == pytest.approx(1, abs=0.025)
        assert 1.135 < ratio("A, 200 ms, CUBIC", delay, mode) < 1.165
    assert ratio("A, 200 ms, Reno", delay, "native") == pytest.approx(0.92, abs=0.006)
    assert ratio("A, 200 ms, Reno", delay, "enforced") == pytest.approx(1.11, abs=0.006)
    assert ratio("C, 500 ms, CUBIC", delay, "native") == pytest.approx(1.7, abs=0.05)
    windows = [
        ratio(name, "window, packets", mode)
        for name in ("C, 500 ms, CUBIC", "C, CUBIC, 60 s", "ten flows, 190 ms, CUBIC")
        for mode in SIDES[1:]
    ]
    assert (f"{min(windows):.2f}", f"{max(windows):.2f}") == ("1.22", "1.35")


def test_one_loss_in_a_round_trip_in_the_model() -> None:
    delays = []
    for name in MANY:
        if "Reno" not in name and name.startswith(("A", "B", "C, 500", "ten")):
            path, _ = path_of(name)
            moments = settled(path, False, once=True)
            delays.append(1e3 * (statistics.median(m.rtt_s for m in moments) - path.tau_s))
    a, b, c, far, near = (f"{delay:.0f}" for delay in delays)
    text = re.sub(r"\s+", " ", PAGE)
    assert f"is {a} ms in A, {b} in B, {c} in C, and of ten flows {far} and {near} ms" in text


def test_whose_windows_are_more_alike() -> None:
    """CUBIC's in the model, Reno's natively, CUBIC's of enforced flows in A and C."""
    for case in ("A, 200 ms", "B, 10 ms", "C, 500 ms"):
        cubic, reno = (
            many(f"{case}, {cc}")["variation of windows, CoV"] for cc in ("CUBIC", "Reno")
        )
        assert cubic["model"] < reno["model"]
        assert cubic["native"] > reno["native"]
        assert (cubic["enforced"] < reno["enforced"]) is not case.startswith("B")


def test_what_the_text_says_of_flows_that_lose_together() -> None:
    shares: dict[tuple[bool, str], list[float]] = {}
    for name, (campaign, cell, *_) in MANY.items():
        values = numbers(campaign, cell, "flows that lose together, share")
        if "Reno" in name:
            above = values["native"] > values["model"]
            assert above is not name.startswith("B")
            assert values["enforced"] < values["model"]
            continue
        for mode in SIDES[1:]:
            shares.setdefault((name.startswith(HIGH), mode), []).append(values[mode])
    assert f"{min(shares[True, 'native']):.2f}" == "0.59"
    assert f"{max(shares[False, 'native']):.2f}" == "0.45"
    assert f"{max(shares[True, 'enforced']):.2f}" == "0.72"
    assert f"{max(shares[False, 'enforced']):.2f}" == "0.43"


def test_the_models_of_the_page_are_those_of_the_code() -> None:
    """One of each: documents.csv was not made by another model."""
    cycle = Cycle(cubic_model.Path(1e8 / 12_000, 0.05, 50))
    assert numbers("cubic-one-flow", "FTTH 100", QUANTITIES[0])["model"] == pytest.approx(
        cycle.period_s, rel=1e-4
    )
    moments = settled(path_of("A, 200 ms, Reno")[0], True)
    assert many("A, 200 ms, Reno")["window, packets"]["model"] == pytest.approx(
        sum(moment.window for moment in moments) / len(moments), rel=1e-3
    )
