# SPDX-License-Identifier: GPL-2.0-only
"""Scenarios as plain data: what reads files needs packages that the VM has not."""

from __future__ import annotations

from tcon_lab.scenario import Flow, Path, Scenario

#: A guest that TCon leaves alone.
CUBIC = Flow(1, "cubic", "cubic", None)


def scenario(path: Path, *flows: Flow) -> Scenario:
    """A path with these flows, or one guest's CUBIC."""
    return Scenario("test", 5.0, ("native",), 1, path, flows or (CUBIC,))
