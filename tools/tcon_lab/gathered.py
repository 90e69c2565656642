# SPDX-License-Identifier: GPL-2.0-only
"""What the programs of a run left behind, as the runner takes it over.

Apart from the runner, whose Mininet is in the virtual machine only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def records(file: Path) -> Iterator[dict[str, Any]]:
    """What a probe wrote, without repeats of what it said of connections at rest.

    tcon.ko keeps those that are over for a while: of a thousand short ones all
    records do not fit into a machine's memory.
    """
    said: dict[tuple[Any, ...], dict[str, Any]] = {}
    with file.open() as lines:
        for line in lines:
            record = json.loads(line)
            if record["type"] == "tcon" and record.get("state") == "observed":
                key = tuple(record[name] for name in ("saddr", "sport", "daddr", "dport"))
                if said.get(key) == (news := {**record, "t_s": None}):
                    continue
                said[key] = news
            yield record


def with_summary(
    report: dict[str, Any], seconds: float, interval_s: float
) -> dict[str, Any] | None:
    """The report of an iperf3 client that sent for ``seconds``, an entry each ``interval_s``,
    with the summary that it lacks where it could not exchange results with its server;
    None where it did not send so long.

    Its control connection waits in the queue with the data and is lost with it; its server
    gives up 40 s after the test's time.
    """
    if "error" not in report:
        return report
    streams = [entry["streams"][0] for entry in report.get("intervals", []) if entry["streams"]]
    if not streams or streams[-1]["end"] < seconds - interval_s:
        return None
    sent = {
        "seconds": streams[-1]["end"],
        "bytes": sum(stream["bytes"] for stream in streams),
        "retransmits": sum(stream["retransmits"] for stream in streams),
    }
    kept = {key: value for key, value in report.items() if key != "error"}
    return kept | {"end": {"sum_sent": sent}, "no_exchange": report["error"]}
