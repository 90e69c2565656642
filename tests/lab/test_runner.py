# SPDX-License-Identifier: GPL-2.0-only
"""What the runner makes of a machine's files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tcon_lab.runner import _records

CONNECTION = {"saddr": "10.0.0.1", "sport": 5202, "daddr": "10.0.1.1", "dport": 40000}


def tcon(t_s: float, reason: str, **changes: object) -> dict[str, Any]:
    return {"type": "tcon", "t_s": t_s, **CONNECTION, "reason": reason, **changes}


def test_of_a_connection_that_is_over_the_first_record_is_kept(tmp_path: Path) -> None:
    kept = [
        tcon(0.1, "none"),
        tcon(0.2, "closed"),
        tcon(0.2, "closed", dport=40001),
        {"type": "flow", "t_s": 0.3, **CONNECTION},
        {"type": "tcon", "t_s": 0.3, "error": "malformed"},
        tcon(0.4, "none"),  # its ports are used again
        tcon(0.5, "closed"),
    ]
    more = [tcon(0.3, "closed"), tcon(0.3, "closed", dport=40001), tcon(0.6, "closed")]
    written = sorted(kept + more, key=lambda record: record["t_s"])
    file = tmp_path / "probe.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in written))
    assert list(_records(file)) == kept
