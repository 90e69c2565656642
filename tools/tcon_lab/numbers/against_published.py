# SPDX-License-Identifier: GPL-2.0-only
"""Published numbers and ours side by side: which row of a table is which of our cells.

A side is plain data, for each published table or set of values that our runs can be
laid beside::

    {"title", "where", "rows": [{"of": what the row is of, in words, "cell": ours, "cc",
      "quantity", "unit", "published": number, "low", "high": of a range, "text": as shown,
      "ours": {mode: mean over seeds and flows, in the same unit},
      "differs": {mode: ratio to the published number - 1, 0 within a range}}]}

How much ours differ is of our means; the document has one run for each row.  A number
of a whole run (packets sent again) ours have as if they had been as long.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from .against_models import PAYLOAD_BYTES
from .losses import decider, left_percent
from .samples import median

Record = dict[str, Any]
#: A cell's runs as stored: by mode, then by seed.
Runs = dict[str, dict[str, dict[int, Record]]]

#: A run's samples, of its cell, mode and seed; None where they were not kept.
Samples = Callable[[str, str, int], Record | None]

#: Reads our number out of a run and the flows that it is about.
_Read = Callable[[Record, list[Record]], float | None]

#: Quantity and unit of what TCon buffers: it keeps a copy of each packet in flight.
PACKETS_IN_FLIGHT = ("packets in flight", "packets")
#: Documents' names for a CC that the lab has under another.
_SAME_CC = {"bbr2": "bbr"}


def _of_flows(read: Callable[[Record], float | None]) -> _Read:
    """The mean over the flows that have it."""

    def quantity(_: Record, flows: list[Record]) -> float | None:
        known = [value for value in map(read, flows) if value is not None]
        return sum(known) / len(known) if known else None

    return quantity


def _scaled(flow: Record, name: str, divisor: float) -> float | None:
    value = flow.get(name)
    return None if value is None else value / divisor


def _of_all(read: Callable[[Record], float | None]) -> _Read:
    """The sum over the flows; None where one of them does not have it."""

    def quantity(_: Record, flows: list[Record]) -> float | None:
        known = [value for value in map(read, flows) if value is not None]
        return sum(known) if len(known) == len(flows) else None

    return quantity


def _in_a_second(name: str, divisor: float) -> Callable[[Record], float | None]:
    def quantity(flow: Record) -> float | None:
        value = _scaled(flow, name, divisor)
        return value / flow["seconds"] if value is not None and flow.get("seconds") else None

    return quantity


def _cwnd(name: str, divisor: float) -> Callable[[Record], float | None]:
    return lambda flow: _scaled(flow.get("cwnd_bytes") or {}, name, divisor)


#: Our number, by a column's name and unit.
_OURS: dict[tuple[str, str], _Read] = {
    ("throughput", "MB/s"): _of_flows(lambda flow: _scaled(flow, "goodput_bps", 8e6)),
    ("goodput", "MB/s"): _of_flows(lambda flow: _scaled(flow, "goodput_bps", 8e6)),
    ("goodput", "Mbit/s"): _of_flows(lambda flow: _scaled(flow, "goodput_bps", 1e6)),
    ("sending_rate", "MB/s"): _of_flows(_in_a_second("sent_bytes", 1e6)),
    ("rtt", "ms"): _of_flows(lambda flow: _scaled(flow, "rtt_mean_us", 1e3)),
    ("cwnd", "kB"): _of_flows(_cwnd("mean", 1e3)),
    ("cwnd", "packets"): _of_flows(_cwnd("max", PAYLOAD_BYTES)),
    ("jain", "share"): lambda run, _: run.get("jain_mean"),
    ("synchronised flows in a congestion epoch", "count"): lambda run, flows: (
        run["loss_synchronisation"]["mean"] * len(flows)
        if run.get("loss_synchronisation")
        else None
    ),
}

#: Quantities of all flows of a run together: for a value in the text that is of no CC's flows.
_OURS_OF_ALL: dict[tuple[str, str], _Read] = {
    ("goodput", "MB/s"): _of_all(lambda flow: _scaled(flow, "goodput_bps", 8e6)),
    ("goodput", "Mbit/s"): _of_all(lambda flow: _scaled(flow, "goodput_bps", 1e6)),
}

#: The same in one second, of what a table has for a whole run, which has its length.
_OURS_IN_A_SECOND: dict[tuple[str, str], _Read] = {
    ("retransmissions", "packets"): _of_flows(_in_a_second("retransmitted_bytes", PAYLOAD_BYTES)),
    ("total_retransmissions", "packets"): _of_all(
        _in_a_second("retransmitted_bytes", PAYLOAD_BYTES)
    ),
    ("sent", "MB"): _of_flows(_in_a_second("sent_bytes", 1e6)),
    ("total_sent", "MB"): _of_all(_in_a_second("sent_bytes", 1e6)),
    ("cwnd_sum", "kB"): _of_flows(_cwnd("mean", 1e3)),
}


def _packets_in_flight(columns: Record, _: str) -> float | None:
    flight_bytes = median(columns, "tcon_inflight_bytes")
    return None if flight_bytes is None else flight_bytes / PAYLOAD_BYTES


#: The same of the samples of a run's first flow, and who decides.
_OURS_OF_SAMPLES: dict[tuple[str, str], Callable[[Record, str], float | None]] = {
    ("cwnd after a loss, of that before", "%"): left_percent,
    PACKETS_IN_FLIGHT: _packets_in_flight,
}


@dataclass(frozen=True)
class _Place:
    """Where a published row is in ours: the values of a cell, and the [[flow]] from 1."""

    values: dict[str, str]
    kind: int | None
    of: str


def _cc(name: Any) -> str:
    return _SAME_CC.get(str(name), str(name))


# --- which row is where -----------------------------------------------------


def _baseline(rows: list[Record]) -> Iterator[tuple[Record, _Place]]:
    for row in rows:
        values = {"count": f"{row['vms']:g}", "cc": _cc(row["cc"])}
        yield row, _Place(values, None, f"{row['cc']}, {row['vms']:g} VMs")


def _two_delays(rows: list[Record]) -> Iterator[tuple[Record, _Place]]:
    for row in rows:
        values = {"count": f"{row['vms'] / 2:g}", "cc": _cc(row["cc"])}
        kind = 2 if row["delay"] else 1
        yield row, _Place(values, kind, f"{row['cc']}, {row['vms']:g} VMs, {row['vm']}, "
                          f"{row['delay']:g} ms")  # fmt: skip


def _four_delays(rows: list[Record]) -> Iterator[tuple[Record, _Place]]:
    for row in rows:
        kind = round(row["delay"] / 100)
        yield row, _Place({"cc": _cc(row["cc"])}, kind, f"{row['cc']}, {row['delay']:g} ms")


def _loss(rows: list[Record]) -> Iterator[tuple[Record, _Place]]:
    for row in rows:
        values = {"loss": f"{row['loss']:g}%", "cc": _cc(row["cc"])}
        yield row, _Place(values, None, f"{row['cc']}, {row['loss']:g} % loss")


def _by_run(rows: list[Record]) -> Iterator[list[Record]]:
    for run in dict.fromkeys(row["run"] for row in rows):
        yield sorted((row for row in rows if row["run"] == run), key=lambda row: str(row["vm"]))


def _loss_of_one(rows: list[Record]) -> Iterator[tuple[Record, _Place]]:
    for several in _by_run(rows):
        values = {"case": f"0% and {several[1]['loss']:g}%", "cc": _cc(several[0]["cc"])}
        for kind, row in enumerate(several, 1):
            of = f"{row['cc']}, {several[1]['loss']:g} % loss of one, {row['vm']}"
            yield row, _Place(values, kind, of)


def _pairs(rows: list[Record]) -> Iterator[tuple[Record, _Place]]:
    """The first VM against the others, which have one CC."""
    for several in _by_run(rows):
        first, second = _cc(several[0]["cc"]), _cc(several[1]["cc"])
        for row in several:
            kind = 1 if row is several[0] else 2
            of = f"{row['cc']} ({row['vm']}) of {several[0]['cc']} and {several[1]['cc']}"
            yield row, _Place({"cc": f"{first}+{second}"}, kind, of)


def _largest_cwnd(rows: list[Record]) -> Iterator[tuple[Record, _Place]]:
    for row in rows:
        values = {"cc": "vegas", "rtt": f"{row['delay']:g}ms", "loss": "0%"}
        yield row, _Place(values, None, f"vegas, {row['delay']:g} ms")


#: Places of a published table's rows in ours, by campaign and table.
_PLACES: dict[tuple[str, str], Callable[[list[Record]], Iterator[tuple[Record, _Place]]]] = {
    ("vm-baseline", "5.1"): _baseline,
    ("vm-two-delays", "5.2"): _two_delays,
    ("vm-four-delays", "5.3"): _four_delays,
    ("vm-loss", "5.4"): _loss,
    ("vm-loss-of-one", "5.5"): _loss_of_one,
    ("vm-pairs", "5.6"): _pairs,
    ("vm-one-against-three", "5.7"): _pairs,
    ("five-ccs", "figure 4"): _largest_cwnd,
}


# --- our numbers ------------------------------------------------------------


def _cells(comparison: Record, values: dict[str, str]) -> list[Record]:
    return [
        cell
        for cell in comparison["cells"]
        if all(cell["values"].get(key) == value for key, value in values.items())
    ]


def _mean(
    by_seed: dict[int, Record], read: _Read, wanted: Callable[[Record], bool]
) -> float | None:
    """Our number for a column: the mean over the seeds."""
    known = []
    for stored in by_seed.values():
        flows = [flow for flow in stored["run"]["flows"] if wanted(flow)]
        value = read(stored["run"], flows) if flows else None
        if value is not None:
            known.append(value)
    return sum(known) / len(known) if known else None


def _ours(
    modes: dict[str, dict[int, Record]], read: _Read, wanted: Callable[[Record], bool]
) -> dict[str, float]:
    found = {mode: _mean(by_seed, read, wanted) for mode, by_seed in modes.items()}
    return {mode: value for mode, value in found.items() if value is not None}


def _differs(value: float, low: float, high: float) -> float | None:
    """By how much a number is outside of a range, from its nearer end; None of nothing."""
    if low <= value <= high:
        return 0.0
    bound = low if value < low else high
    return value / bound - 1 if bound else None


def _row(place_of: str, cell: str, cc: str, column: tuple[str, str], published: Record,
         ours: dict[str, float]) -> Record:  # fmt: skip
    low, high = published["low"], published["high"]
    least = low if low is not None else 0.0
    most = high if high is not None else float("inf")
    return {
        "of": place_of, "cell": cell, "cc": cc,
        "quantity": column[0].replace("_", " "), "unit": column[1], **published, "ours": ours,
        "differs": {mode: _differs(value, least, most) for mode, value in ours.items()},
    }  # fmt: skip


def _kind_filter(kind: int | None) -> Callable[[Record], bool]:
    return lambda flow: kind is None or flow.get("table", 0) + 1 == kind


def _reader(column: tuple[str, str], seconds: float | None) -> _Read | None:
    """A function that reads a column, in a table of runs of ``seconds``; None: we have no such."""
    if column in _OURS:
        return _OURS[column]
    in_a_second = _OURS_IN_A_SECOND.get(column)
    if in_a_second is None or seconds is None:
        return None

    def of_a_run(run: Record, flows: list[Record]) -> float | None:
        value = in_a_second(run, flows)
        return None if value is None else value * seconds

    return of_a_run


def _table_side(comparison: Record, runs: Runs, table: Record) -> Record | None:
    """A published table beside ours; None where none of its rows is one of ours."""
    key = (str(comparison["campaign"]).removesuffix("-short"), table["name"])
    if key not in _PLACES:
        return None
    names = [column["name"] for column in table["columns"]]
    units = {column["name"]: column["unit"] for column in table["columns"]}
    records = [dict(zip(names, row, strict=True)) for row in table["rows"]]
    rows = []
    for record, place in _PLACES[key](records):
        for cell in _cells(comparison, place.values):
            for name, value in record.items():
                column = (name, units[name])
                read = _reader(column, table.get("seconds"))
                if value is None or read is None:
                    continue
                ours = _ours(runs.get(cell["cell"], {}), read, _kind_filter(place.kind))
                shown = {"published": value, "low": value, "high": value, "text": f"{value:g}"}
                if ours:
                    cc = _cc(record.get("cc", place.values.get("cc", "")))
                    rows.append(_row(place.of, cell["cell"], cc, column, shown, ours))
    title = f"Table {table['name']}, {table['title']}"
    if not table["name"][0].isdigit():
        title = f"{table['name'].capitalize()}, {table['title']}"
    return {"title": title, "where": table["where"], "rows": rows} if rows else None


# --- values in the text -----------------------------------------------------

_UNSAID = ("any", "not said")


def _is(said: str | None, value: str) -> bool:
    """Whether what a document says of something is about ``value``."""
    if said is None or said in _UNSAID:
        return True
    if said.startswith("any but "):
        return value != said.removeprefix("any but ")
    return value == said


def _plain(cc: str) -> str:
    return cc.removeprefix("linux:")


def _in_cell(of: dict[str, str], cell: Record, run: Record) -> bool:
    """Whether a value is about this cell; keys that nobody knows here make it not."""
    values, path = cell["values"], run["scenario"]["path"]
    rest = dict(of)
    flows = run["run"]["flows"]
    ccs = {_plain(flow["cc"]) for flow in flows}
    cc, against = rest.pop("cc", None), rest.pop("against", None)
    if cc is not None and not any(_is(cc, one) for one in ccs):
        return False
    if against == "none":
        return False
    if against is not None and not any(
        _is(cc, one) and _is(against, other) for one in ccs for other in ccs - {one}
    ):
        return False
    case, queue = values.get("case", ""), path.get("aqm") or {}
    interval_us = queue.get("interval_us") or queue.get("tupdate_us") or 0
    for key, found in (
        ("delay", f"{path['rtt_us'] / 1000:g}ms"),
        ("loss", f"{100 * path['loss_fraction']:g}%"),
        ("rate", f"{path['rate_bps'] / 1e6:g}mbit"),
        ("aqm", queue.get("kind", "droptail")),
        ("interval", f"{interval_us / 1000:g}ms"),
        ("flows", str(len(flows))),
        ("buffer", case.rpartition(" ")[2]),
        ("scenario", case.partition(" ")[0]),
    ):
        if key in rest and not _is(rest.pop(key), found):
            return False
    return not rest


def _number_text(value: Record) -> str:
    """As printed: a number, a range, or what it is at least or at most."""
    if value["value"] is not None:
        text = f"{value['value']:g}"
        return text + (f" +- {value['spread']:g}" if value["spread"] is not None else "")
    low, high = value["low"], value["high"]
    if low is not None and high is not None:
        return f"{low:g} to {high:g}"
    return f"at least {low:g}" if low is not None else f"at most {high:g}"


def _bounds(value: Record) -> tuple[float | None, float | None]:
    if value["value"] is None:
        return value["low"], value["high"]
    spread = value["spread"] or 0.0
    return value["value"] - spread, value["value"] + spread


def _of_samples(
    cell: str, modes: dict[str, dict[int, Record]], column: tuple[str, str], samples: Samples
) -> dict[str, float]:
    """Our number of each mode, from samples: the mean over the seeds."""
    found = {}
    for mode, by_seed in modes.items():
        kept = [samples(cell, mode, seed) for seed in by_seed]
        read = _OURS_OF_SAMPLES[column]
        values = [read(one["flows"][0]["columns"], decider(mode)) for one in kept if one]
        known = [value for value in values if value is not None]
        if known:
            found[mode] = sum(known) / len(known)
    return found


def _values_side(comparison: Record, runs: Runs, samples: Samples) -> Record | None:
    """The text's values, a row for each of our cells that they are about."""
    rows = []
    for value in comparison["values"]:
        column = (value["quantity"], value["unit"])
        if not value["of"] or not (column in _OURS or column in _OURS_OF_SAMPLES):
            continue
        low, high = _bounds(value)
        for cell in comparison["cells"]:
            modes = runs.get(cell["cell"], {})
            first = next((r for by_seed in modes.values() for r in by_seed.values()), None)
            if first is None or not _in_cell(value["of"], cell, first):
                continue
            cc = value["of"].get("cc")
            if column in _OURS:
                read = _OURS_OF_ALL.get(column, _OURS[column]) if cc is None else _OURS[column]
                ours = _ours(modes, read, lambda f, cc=cc: _is(cc, _plain(f["cc"])))
            else:
                ours = _of_samples(cell["cell"], modes, column, samples)
            shown = {"published": value["value"], "low": low, "high": high,
                     "text": _number_text(value)}  # fmt: skip
            of = ", ".join(f"{key} {word}" for key, word in value["of"].items())
            if ours:
                row = _row(f"{of} ({value['where']})", cell["cell"], cc or "", column, shown, ours)
                rows.append(row)
    if not rows:
        return None
    return {"title": "What the text says", "where": "", "rows": rows}


def _completions(cell: Record) -> Iterator[tuple[tuple[str, str], str, float, float]]:
    """A cell's quantity and unit, mode, published, ours."""
    theirs, ours = cell["published"] or {}, cell["completion"]
    for mode, mean_s in theirs.get("mean_s", {}).items():
        if mode in ours:
            yield ("mean completion time", "s"), mode, mean_s, ours[mode]["mean"]
    for mode, share in theirs.get("p999_reduction", {}).items():
        slow = {of: ours[of]["p999"] for of in ("guest", mode) if "p999" in ours.get(of, {})}
        if len(slow) == 2:
            below = 100 * (1 - slow[mode] / slow["guest"])
            yield ("99.9th percentile, below CUBIC's", "%"), mode, 100 * share, below


def _completion_side(comparison: Record) -> Record | None:
    """Completion times, by case and mode: means, and 99.9th percentiles."""
    rows = []
    for cell in comparison["cells"]:
        for column, mode, value, ours in _completions(cell):
            shown = {"published": value, "low": value, "high": value, "text": f"{value:g}"}
            of = f"{cell['cell']}, {mode} ({cell['published']['where']})"
            rows.append(_row(of, cell["cell"], "", column, shown, {mode: ours}))
    if not rows:
        return None
    return {"title": "Completion times", "where": "", "rows": rows}


def sides(
    comparison: Record, runs: Runs, samples: Samples = lambda cell, mode, seed: None
) -> list[Record]:
    """Everything of a comparison that can be laid beside published numbers."""
    found = [_table_side(comparison, runs, table) for table in comparison["tables"]]
    found += [_values_side(comparison, runs, samples), _completion_side(comparison)]
    return [side for side in found if side is not None]


def differences(side: Record, mode: str) -> Record | None:
    """How much a mode's numbers differ from what is published; None of nothing.

    {"rows", "median": of the sizes, "largest": the row that differs most, or None,
    "of_nothing": how many more are not 0 where 0 was published}
    """
    known = [row for row in side["rows"] if row["differs"].get(mode) is not None]
    if not known:
        return None
    sizes = sorted(abs(row["differs"][mode]) for row in known)
    largest = max(known, key=lambda row: abs(row["differs"][mode]))
    return {
        "rows": len(known),
        "median": sizes[(len(sizes) - 1) // 2],
        "largest": largest if largest["differs"][mode] else None,
        "of_nothing": sum(
            mode in row["ours"] and row["differs"].get(mode) is None for row in side["rows"]
        ),
    }


def safe_id(text: str) -> str:
    """A text as an element's id."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower()
