# SPDX-License-Identifier: GPL-2.0-only
"""A campaign's runs and samples as Parquet: two tables, for other programs.

``FILE.parquet`` has the samples, a row for each flow and interval: campaign, cell, mode,
seed, flow, cc, ``t_s`` and what :data:`.results.SAMPLE_KEYS` names; the bottleneck's queue
is in rows without a flow.  ``FILE-runs.parquet`` has a row for each run: path, versions,
what it brought, and the whole scenario as JSON.  Campaign, cell, mode and seed join the
two.  Units are in the names; a number that nobody measured is null.

Rows are in the order of the campaign's index, so equal results give equal tables.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from .many_campaigns import Experiment
from .results import SAMPLE_KEYS
from .samples import column

Record = dict[str, Any]

_TEXT, _COUNT, _NUMBER = pl.String(), pl.Int64(), pl.Float64()
_WHO = {"campaign": _TEXT, "cell": _TEXT, "mode": _TEXT, "seed": _COUNT}
_QUEUE_KEYS = ("packets", "bytes", "drops")

#: The columns of the table of samples.
SAMPLES = pl.Schema(
    _WHO
    | {"flow": _COUNT, "cc": _TEXT, "t_s": _NUMBER}
    | {key: _TEXT if key == "tcon_state" else _NUMBER for key in SAMPLE_KEYS}
    | {f"queue_{key}": _COUNT for key in _QUEUE_KEYS}
)
#: Names of a run's numbers, and where they are in it.
_RUN_NUMBERS: dict[str, Callable[[Record], Any]] = {
    "goodput_bps": lambda run: run["goodput_bps"],
    "utilisation": lambda run: run["utilisation"],
    "jain": lambda run: run["jain"],
    "jain_mean": lambda run: run.get("jain_mean"),
    "convergence_s": lambda run: run.get("convergence_s"),
    "queue_p50_bytes": lambda run: (run.get("queue_bytes") or {}).get("p50"),
    "queue_p99_bytes": lambda run: (run.get("queue_bytes") or {}).get("p99"),
    "queue_marks": lambda run: run.get("queue_marks"),
    "queue_drops": lambda run: run.get("queue_drops"),
    "instructions_per_byte": lambda run: run.get("instructions_per_byte"),
}
_PATH = ("rate_bps", "rtt_us", "loss_fraction", "queue_packets")
#: The columns of the table of runs.
RUNS = pl.Schema(
    _WHO
    | {"key": _TEXT, "flows": _COUNT, "ccs": pl.List(_TEXT)}
    | dict.fromkeys((*_PATH, "seconds", *_RUN_NUMBERS, "real_s"), _NUMBER)
    | {"virtual_time": pl.Boolean(), "warnings": pl.List(_TEXT)}
    | {"versions": _TEXT, "scenario": _TEXT}
)
#: Rows of samples that are held in memory.
_PART_ROWS = 500_000


def _runs(experiment: Experiment) -> Iterator[tuple[str, str, int, str, Record]]:
    """Cell, mode, seed, key and record of each run that there is, in the index's order."""
    for (cell, mode, seed), key in experiment.keys.items():
        stored = experiment.runs.get(cell, {}).get(mode, {}).get(seed)
        if stored is not None:
            yield cell, mode, seed, key, stored


def _run_row(name: str, cell: str, mode: str, seed: int, key: str, stored: Record) -> Record:
    run, scenario = stored["run"], stored["scenario"]
    return {
        "campaign": name, "cell": cell, "mode": mode, "seed": seed, "key": key,
        "flows": len(run["flows"]), "ccs": [flow["cc"] for flow in run["flows"]],
        **{of: scenario["path"][of] for of in _PATH},
        "seconds": scenario["seconds"],
        **{of: read(run) for of, read in _RUN_NUMBERS.items()},
        "real_s": stored["real_s"], "virtual_time": stored["virtual_time"],
        "warnings": run["warnings"],
        "versions": json.dumps(stored["versions"], sort_keys=True),
        "scenario": json.dumps(scenario, sort_keys=True),
    }  # fmt: skip


def runs_table(experiments: list[Experiment]) -> pl.DataFrame:
    """A row for each run."""
    rows = [_run_row(e.name, *found) for e in experiments for found in _runs(e)]
    return pl.DataFrame(rows, schema=RUNS)


def _frame(who: Record, columns: Record, names: dict[str, str]) -> pl.DataFrame:
    """Rows of one flow or queue; ``names`` are its columns, by the table's columns."""
    rows = len(columns.get("t_s", []))
    made = {}
    for name, kind in SAMPLES.items():
        if name in who:
            made[name] = pl.Series([who[name]] * rows, dtype=kind)
        elif name in names:
            made[name] = pl.Series(column(columns, names[name]), dtype=kind, strict=False)
        else:
            made[name] = pl.Series([None] * rows, dtype=kind)
    return pl.DataFrame(made, schema=SAMPLES)


def sample_frames(experiment: Experiment) -> Iterator[pl.DataFrame]:
    """The samples, a frame for each flow and for each run's queue."""
    of_flow = {"t_s": "t_s"} | {key: key for key in SAMPLE_KEYS}
    of_queue = {"t_s": "t_s"} | {f"queue_{key}": key for key in _QUEUE_KEYS}
    for cell, mode, seed, _, stored in _runs(experiment):
        samples = experiment.samples(cell, mode, seed)
        if samples is None:
            continue
        ccs = {flow["index"]: flow["cc"] for flow in stored["run"]["flows"]}
        who: Record = {"campaign": experiment.name, "cell": cell, "mode": mode, "seed": seed}
        for flow in samples["flows"]:
            mine = who | {"flow": flow["index"], "cc": ccs[flow["index"]]}
            yield _frame(mine, flow["columns"], of_flow)
        yield _frame(who, samples["queue"], of_queue)


def _parts(experiments: list[Experiment]) -> Iterator[pl.DataFrame]:
    """All samples, in parts that fit into memory; at least one, be it empty."""
    waiting, rows = [pl.DataFrame(schema=SAMPLES)], 0
    for experiment in experiments:
        for frame in sample_frames(experiment):
            waiting.append(frame)
            rows += frame.height
            if rows >= _PART_ROWS:
                yield pl.concat(waiting)
                waiting, rows = [pl.DataFrame(schema=SAMPLES)], 0
    yield pl.concat(waiting)


def write(experiments: list[Experiment], out: Path) -> tuple[Path, int, int]:
    """Write both tables; the second's file, and how many rows each has.  Raises OSError."""
    runs, runs_file, rows = runs_table(experiments), out.with_stem(f"{out.stem}-runs"), 0
    runs.write_parquet(runs_file)
    with tempfile.TemporaryDirectory(prefix="tcon-lab-") as scratch:
        files = []
        for number, part in enumerate(_parts(experiments)):
            files.append(Path(scratch) / f"{number}.parquet")
            part.write_parquet(files[-1])
            rows += part.height
        pl.scan_parquet(files).sink_parquet(out)
    return runs_file, rows, runs.height
