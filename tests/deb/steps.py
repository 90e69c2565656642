# SPDX-License-Identifier: GPL-2.0-only
"""The README's way onto a hypervisor: what a reader is told to type is what is tested."""

import re
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
_PACKAGES = '## Put it on a hypervisor ("Server 1")'
_TREE = "### From the tree, with a patched openvswitch.ko"


def steps():
    """By the packages: each step's blocks of commands, by the step's number."""
    found = re.split(r"^(\d+)\. ", _section(_PACKAGES), flags=re.M)[1:]
    return {
        int(number): _blocks(step, indent=7)
        for number, step in zip(found[::2], found[1::2], strict=True)
    }


def from_tree():
    """From the tree: the blocks of commands."""
    return _blocks(_section(_TREE), indent=4)


def _section(title):
    text = (TOP / "README.md").read_text()
    return re.split(r"^##", text.partition(f"\n{title}\n")[2], maxsplit=1, flags=re.M)[0]


def _blocks(text, *, indent):
    line = f"^ {{{indent}}}"
    return [
        "".join(f"{command.strip()}\n" for command in block.splitlines())
        for block in re.findall(rf"{line}\S.*\n(?:{line}.*\n)*", text, re.M)
    ]
