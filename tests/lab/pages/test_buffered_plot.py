# SPDX-License-Identifier: GPL-2.0-only
"""The distribution of what TCon buffers, of invented samples."""

from __future__ import annotations

from pathlib import Path

import folders
import pytest
from tcon_lab.numbers.many_campaigns import load
from tcon_lab.numbers.samples import write
from tcon_lab.pages.buffered_plot import buffered


def test_enforced_runs_are_drawn_beside_what_was_published(tmp_path: Path) -> None:
    _, folder = folders.make(tmp_path / "one", folders.ONE_FLOW)
    experiment = load(folder)
    row = {"cell": "ADSL", "quantity": "packets in flight", "published": 40}
    other = row | {"quantity": "cwnd", "published": 50}
    (plot,) = buffered(experiment, [{"rows": [other, row]}])
    ours, theirs = plot.figure.data
    assert (ours.name, theirs.name) == ("ADSL, enforced", "ADSL, published")
    assert list(theirs.x) == [40, 40]
    assert list(ours.x) == sorted(ours.x)
    assert (ours.y[0], ours.y[-1]) == (0, 1)
    columns = experiment.samples("ADSL", "enforced", 1)["flows"][0]["columns"]
    known = [flight for flight in columns["tcon_inflight_bytes"] if flight is not None]
    assert (ours.x[0], ours.x[-1]) == pytest.approx(
        (min(known) / 1448, max(known) / 1448), rel=1e-3
    )


def test_native_runs_are_not(tmp_path: Path) -> None:
    """TCon watches their flows, but keeps no copies."""
    native = folders.ONE_FLOW.replace('modes = ["native", "enforced"]', 'modes = ["native"]')
    _, folder = folders.make(tmp_path / "one", native)
    experiment = load(folder)
    samples = experiment.samples("ADSL", "native", 1)
    samples["flows"][0]["columns"]["tcon_inflight_bytes"] = [1448] * len(
        samples["flows"][0]["columns"]["t_s"]
    )
    (key,) = experiment.keys.values()
    write(folder / "samples" / f"{key}.json.gz", samples)
    assert buffered(load(folder), []) == []
