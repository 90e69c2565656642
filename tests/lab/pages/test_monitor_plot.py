# SPDX-License-Identifier: GPL-2.0-only
"""The plot of tcon-monitor: its content, and the complaints about other files."""

from __future__ import annotations

from pathlib import Path

import pytest
from tcon_lab.errors import LabError
from tcon_lab.pages import documents_plots, monitor_plot

HEAD = "case,t_s,guest,rate_bps,weight\n"


def csv_of(tmp_path: Path, *lines: str) -> Path:
    file = tmp_path / "a.csv"
    file.write_text(HEAD + "".join(f"{line}\n" for line in lines))
    return file


def test_shares_and_weights(tmp_path: Path) -> None:
    lines = ("x,0.0,h1,30,1", "x,0.0,h2,10,1", "x,1.0,h1,10,0.05", "x,1.0,h2,10,1")
    cases = monitor_plot.read(csv_of(tmp_path, *lines))
    assert list(cases) == ["x"]
    assert cases["x"].t_s == [0, 1]
    assert cases["x"].shares() == {"h1": [0.75, 0.5], "h2": [0.25, 0.5]}
    assert cases["x"].weights["h1"] == [1, 0.05]
    svg = documents_plots.svg(lambda: monitor_plot.figure(cases))
    for words in ("an equal share", "the greedy guest", "share of what guests send"):
        assert words in svg
    assert svg == documents_plots.svg(lambda: monitor_plot.figure(cases))


def test_nothing_is_no_share(tmp_path: Path) -> None:
    lines = ("x,0.0,h1,0,1", "x,0.0,h2,0,1")
    assert monitor_plot.read(csv_of(tmp_path, *lines))["x"].shares() == {"h1": [0], "h2": [0]}


def test_means_do_not_mix_what_was_before() -> None:
    t_s = [-1.0, 0.0, 1.0, 2.0]
    assert monitor_plot.smooth(t_s, [0, 2, 8, 10]) == [0, 1, 8, 9]
    assert monitor_plot.smooth(range(1, 8), range(1, 8)) == [1, 1.5, 2, 2.5, 3, 4, 5]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ((), "has no case"),
        (("x,0.0,h1,many,1",), "is no CSV with case, t_s, guest, rate_bps, weight"),
        (("x,0.0,h1,1,1", "x,0.0,h2,1,1", "x,1.0,h1,1,1"), 'of case "x" not all guests'),
    ],
)
def test_what_is_no_such_file(lines: tuple[str, ...], words: str, tmp_path: Path) -> None:
    with pytest.raises(LabError, match=words):
        monitor_plot.read(csv_of(tmp_path, *lines))
    with pytest.raises(LabError, match="No such file"):
        monitor_plot.read(tmp_path / "none.csv")
