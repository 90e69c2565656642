# SPDX-License-Identifier: GPL-2.0-only
"""README's `make demo`: it says and leaves what the README tells."""

import json
import os
import re
import subprocess
from pathlib import Path

TOP = Path(__file__).parents[2]
OUT = TOP / "build/demo"


def test_the_demo_says_what_the_readme_shows():
    own = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
    done = subprocess.run(["make", "-s", "demo"], cwd=TOP, env=own, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    readme = (TOP / "README.md").read_text()
    shown = readme.partition("```text\n")[2].partition("\n```")[0].splitlines()
    said = {without_figures(line) for line in done.stdout.splitlines()}
    kept = [line for line in shown if not line.startswith(("enforced: ", "0.3 %", "[what"))]
    assert [line for line in kept if without_figures(line) not in said] == []

    result = json.loads((OUT / "results.json").read_text())
    assert [made["mode"] for made in result["runs"]] == ["guest", "native", "enforced"]
    cells = json.loads((OUT / "campaign/comparison.json").read_text())["cells"]
    assert cells
    for page in ("report.html", "campaign.html"):
        assert "<svg" in (OUT / page).read_text(), page


def without_figures(line):
    """A line of a table with other results."""
    return " ".join(re.sub(r"\d+(\.\d+)?", "0", line).replace("-", "0").split())
