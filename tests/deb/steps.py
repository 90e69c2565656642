# SPDX-License-Identifier: GPL-2.0-only
"""The README's way onto a hypervisor: what a reader is told to type is what is tested."""

import re
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
TITLE = '## Put it on a hypervisor ("Server 1")'


def steps():
    """Each step's blocks of commands, by the step's number."""
    text = (TOP / "README.md").read_text()
    section = text.partition(f"\n{TITLE}\n")[2].partition("\n### ")[0]
    found = re.split(r"^(\d+)\. ", section, flags=re.M)[1:]
    return {
        int(number): [
            "".join(f"{line.strip()}\n" for line in block.splitlines())
            for block in re.findall(r"^ {7}\S.*\n(?:^ {7}.*\n)*", step, re.M)
        ]
        for number, step in zip(found[::2], found[1::2], strict=True)
    }
