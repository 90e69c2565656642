# SPDX-License-Identifier: GPL-2.0-only
"""A run's samples, kept apart from its numbers: columns, packed.

A file ``samples/KEY.json.gz`` in a campaign's folder holds::

    {"flows": [{"index", "columns": {"t_s": [...], each of SAMPLE_KEYS: [...]}}],
     "queue": {"t_s": [...], "packets": [...], "bytes": [...], "drops": [...]}}

A column in which nobody measured anything is left out.  Equal runs give equal files.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from .results import SAMPLE_KEYS

Record = dict[str, Any]

_QUEUE_KEYS = ("packets", "bytes", "drops")


def _columns(samples: list[Record], keys: tuple[str, ...]) -> Record:
    """Rows to columns, without those that hold nothing."""
    columns = {key: [sample.get(key) for sample in samples] for key in ("t_s", *keys)}
    return {key: column for key, column in columns.items() if any(v is not None for v in column)}


def of_run(run: Record) -> Record:
    """The samples of a run of results.json."""
    return {
        "flows": [
            {"index": flow["index"], "columns": _columns(flow["samples"], SAMPLE_KEYS)}
            for flow in run["flows"]
        ],
        "queue": _columns(run["queue_samples"], _QUEUE_KEYS),
    }


def write(file: Path, samples: Record) -> None:
    """Write a file, whole or not at all.  Raises OSError."""
    partial = file.with_suffix(".partial")
    text = json.dumps(samples, sort_keys=True, separators=(",", ":"), allow_nan=False)
    partial.write_bytes(gzip.compress(text.encode(), mtime=0))
    partial.replace(file)


def read(file: Path) -> Record | None:
    """A file's samples; None where there is none, or it is damaged."""
    try:
        samples = json.loads(gzip.decompress(file.read_bytes()))
    except (OSError, ValueError, EOFError):
        return None
    return samples if isinstance(samples, dict) and "flows" in samples else None


def column(columns: Record, key: str) -> list[Any]:
    """A column; of nothing where nobody measured it."""
    found: list[Any] = columns.get(key, [None] * len(columns.get("t_s", [])))
    return found


def known_at(flows: list[Record], key: str) -> list[tuple[float, list[Any]]]:
    """Each time of these flows' columns, in order, and the known values of ``key`` then.

    All flows of a run are sampled at the same times, to the digit.
    """
    at: dict[float, list[Any]] = {}
    for columns in flows:
        for t_s, value in zip(column(columns, "t_s"), column(columns, key), strict=True):
            known = at.setdefault(t_s, [])
            if value is not None:
                known.append(value)
    return sorted(at.items(), key=lambda item: item[0])


def median(columns: Record, key: str) -> float | None:
    """The lower median of a column; None where nobody measured it."""
    known = sorted(value for value in column(columns, key) if value is not None)
    return known[(len(known) - 1) // 2] if known else None
