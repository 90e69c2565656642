# SPDX-License-Identifier: GPL-2.0-only
"""Each script of the kernel's own tests of TCP passes, or differs as differences.toml says."""

from __future__ import annotations

import os
import re

import pytest
from conftest import SCRIPTS
from difference import Difference
from interpreter import Interpreter
from language import Script, parse
from place import DEFINES, Place
from shell import Shell
from table import FILE, Table

#: Packets before a difference.
_SHOWN = 40
TABLE = Table(FILE.read_text())


def version_of(text: str) -> int:
    """Of IP: what a script is for, or both the same, TCON_IP."""
    only = re.search(r"^--ip_version=ipv([46])$", text, re.M)
    return int(only[1] if only else os.environ.get("TCON_IP", "4"))


def ending(text: str, place: Place, shell: Shell, push: bool = True) -> Difference | None:
    """How a script ends: its first difference, or none.

    What led to it is printed: packets, and what tcon.ko has counted.
    """
    version = version_of(text)
    script: Script = parse(text, DEFINES[version])
    with place.site(version, "TFO_COOKIE" in text, "ethtool" in text) as site:
        interpreter, before = Interpreter(script, site, shell, push), place.counters()
        try:
            interpreter.run()
        except Difference as difference:
            print(*interpreter.trace[-_SHOWN:], sep="\n")
            after = place.counters()
            print(*(f"{name} +{n - before.get(name, 0)}" for name, n in after.items()
                    if n != before.get(name, 0)), sep=", ")  # fmt: skip
            return difference
    return None


def test_script(rule: str, script: str, place: Place, shell: Shell) -> None:
    """Under a CC PSH is left out: where a guest cuts its data depends on the window it sees."""
    push = rule in ("native", "none")
    found = ending((SCRIPTS / f"{script}.pkt").read_text(), place, shell, push)
    if complaint := TABLE.complaint(script, rule, found):
        pytest.fail(f"{script} under {rule}: {complaint}", pytrace=False)
