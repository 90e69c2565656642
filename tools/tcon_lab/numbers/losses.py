# SPDX-License-Identifier: GPL-2.0-only
"""Losses as a run's samples show them: when a window fell, and how much was left."""

from __future__ import annotations

from typing import Any

from ..scenario import ENFORCING_MODES
from .samples import column

Record = dict[str, Any]

#: A loss leaves this share of a window, or less, within this many samples.
_REDUCED = 5 / 6
_FALL_SAMPLES = 3


def decider(mode: str) -> str:
    """The side whose cwnd counts in a mode: "tcon" or "guest"."""
    return "tcon" if mode in ENFORCING_MODES else "guest"


def _falls(columns: Record, who: str) -> list[int]:
    """The samples at which a window falls as a loss makes it, once for each fall."""
    cwnd = column(columns, f"{who}_cwnd_bytes")
    found: list[int] = []
    falling = False
    for n, now in enumerate(cwnd):
        before = [value for value in cwnd[max(0, n - _FALL_SAMPLES) : n] if value is not None]
        fell = bool(before) and now is not None and now <= _REDUCED * max(before)
        if fell and not falling:
            found.append(n)
        falling = fell
    return found


def loss_times(columns: Record, who: str) -> list[float]:
    """When ``who`` ("guest" or "tcon") lowered its window: by a sixth or more within three
    samples.
    """
    times = column(columns, "t_s")
    return [times[n] for n in _falls(columns, who)]


def left_percent(columns: Record, who: str) -> float | None:
    """The part of the window that a loss leaves: ssthresh after it, of the largest cwnd before.

    The median over the losses; None without any, or where ssthresh was not measured.
    """
    cwnd = column(columns, f"{who}_cwnd_bytes")
    ssthresh = column(columns, f"{who}_ssthresh_bytes")
    found = []
    for n in _falls(columns, who):
        before = max(v for v in cwnd[max(0, n - _FALL_SAMPLES) : n] if v is not None)
        if ssthresh[n] is not None:
            found.append(100 * ssthresh[n] / before)
    return sorted(found)[(len(found) - 1) // 2] if found else None


def cycle_s(columns: Record, who: str) -> float | None:
    """The mean time from loss to loss, without the first third of the time."""
    times = column(columns, "t_s")
    losses = [t_s for t_s in loss_times(columns, who) if t_s > times[-1] / 3]
    return (losses[-1] - losses[0]) / (len(losses) - 1) if len(losses) > 1 else None
