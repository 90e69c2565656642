# SPDX-License-Identifier: GPL-2.0-only
"""tcon/advise names evidence: its figures equal the ones in the files that it names."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

TOP = Path(__file__).parents[2]

#: A line of the evidence names a file, and figures that stand in one of its paragraphs.
FIGURE = re.compile(r"\d+\.\d+")


def evidence() -> list[str]:
    """All lines, by the unit test, which includes the source."""
    subprocess.run(["make", "-s", "-C", TOP / "tests/unit", "TESTS=test_advice"], check=True)
    (program,) = sorted(
        (TOP / "build/unit").glob("*/test_advice"), key=lambda file: file.stat().st_mtime
    )[-1:]
    done = subprocess.run([program, "--print"], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_the_figures_are_those_of_the_files() -> None:
    lines = evidence()
    named = [line for line in lines if not line.startswith("none: ")]
    assert len(lines) == 7
    assert len(named) == 6
    for line in named:
        files = re.findall(r"[\w/.-]+\.md", line)
        text = "\n".join((TOP / file).read_text() for file in files)
        assert files
        figures = FIGURE.findall(line.split(".md: ", 1)[1])
        assert figures, line
        for figure in figures:
            assert re.search(rf"(?<![\d.]){re.escape(figure)}(?![\d.]*\d)", text), (figure, line)


def test_rows_of_the_gallery_are_those_of_their_cells() -> None:
    """A row has native, linux:NAME and enforced; the last is the advice's."""
    gallery = (TOP / "tools/campaigns/gallery.md").read_text()
    seen = 0
    for line in evidence():
        if "gallery.md: " not in line:
            continue
        for part in line.split("gallery.md: ", 1)[1].split("; "):
            cell, ccs = part.split(": ", 1)
            for cc, figure in re.findall(r"(\w+) (\d+\.\d+)", ccs):
                row = re.search(rf"^\| {cc} {re.escape(cell)} \| ([\d.]+ / )+{figure} \|", gallery,
                                re.M)  # fmt: skip
                assert row, (cell, cc, figure)
                seen += 1
    assert seen == 8
