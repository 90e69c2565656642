# SPDX-License-Identifier: GPL-2.0-only
"""The kept differences: which script ends where under which rule, and why (differences.toml)."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from difference import Difference

FILE = Path(__file__).with_name("differences.toml")
#: native: without tcon.ko.  none: a rule that leaves all flows to themselves.
RULES = ("native", "none", "cubic", "reno", "dctcp", "bbr")


@dataclass(frozen=True)
class Entry:
    """The first difference of a script: its line and what is another; ``reason``: why it may be."""

    line: int
    what: str
    reason: str


class Table:
    """Entries by script and rule.  Raises ValueError for a table that contradicts itself."""

    def __init__(self, text: str) -> None:
        self.entries: dict[tuple[str, str], Entry] = {}
        for raw in tomllib.loads(text).get("difference", []):
            for script, line in raw["scripts"].items():
                entry = Entry(line, raw["what"], raw["reason"])
                for rule in raw["rules"]:
                    self._add((script, rule), entry)

    def _add(self, key: tuple[str, str], entry: Entry) -> None:
        if key in self.entries:
            raise ValueError(f"{key[0]} has two differences under {key[1]}")
        if key[1] not in RULES:
            raise ValueError(f"there is no rule {key[1]}")
        self.entries[key] = entry

    def complaint(self, script: str, rule: str, found: Difference | None) -> str | None:
        """What is wrong with how a script ended; None: it ended as the table says."""
        entry = self.entries.get((script, rule))
        if found is None:
            return f"no longer differs: {entry}" if entry else None
        if entry is None:
            return f"a new difference: {found}"
        if (entry.line, entry.what) != (found.line, found.what):
            return f"another difference, {found}, instead of {entry}"
        return None
