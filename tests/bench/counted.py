# SPDX-License-Identifier: GPL-2.0-only
"""64 flows through TCon, and where its modules lie, inside the VM: what breakdown.py counts by.

    counted.py VARIANT KIND

Variants and topology are measure.py's; KIND is "tso" or "plain".  Prints one JSON object: "data"
and "acks", what TCon saw of them; "goodput_bps"; and "modules", where each of its modules begins
and ends.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import measure
from measure import genl

FLOWS = 64


def main() -> None:
    """Measure and print what was found."""
    variant, kind = sys.argv[1:]
    measure.prepare()
    measure.use(variant)
    measure.offload(kind == "tso")
    before = genl.Genl().counters()
    goodput_bps = measure.saturate_once("cubic", FLOWS, measure.SECONDS, measure.OMIT_S)
    after = genl.Genl().counters()
    modules = {}
    for module in Path("/sys/module").glob("tcon*"):
        start = int((module / "sections/.text").read_text(), 16)
        modules[module.name] = start, start + int((module / "coresize").read_text())
    data, acks = (after[name] - before[name] for name in ("data-out", "ack-in"))
    print(json.dumps({"data": data, "acks": acks, "goodput_bps": goodput_bps, "modules": modules}))


if __name__ == "__main__":
    main()
