# SPDX-License-Identifier: GPL-2.0-only
"""Files that the programs of a run left behind, as the runner takes them over.

Apart from the runner, whose Mininet is in the virtual machine only.
"""

from __future__ import annotations

import itertools
import json
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

_LINES_PER_PACK = 4096
#: Keys that are read of an interval of iperf3's client.
_IPERF3_INTERVAL = ("end", "bytes", "retransmits", "snd_cwnd", "rtt")


def told(file: Path) -> Iterator[str]:
    """The lines that a probe wrote, each a record, without repeats of what it said of
    connections at rest.

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
            yield line


def packed(kind: str, lines: Iterable[str]) -> Iterator[bytes]:
    """A probe's lines in parts, on their way out of a machine.

    As many as a hundred connections make in some minutes are more than a machine's memory
    holds once they are parsed, and more than the way out holds as they are.
    """
    left = iter(lines)
    while part := list(itertools.islice(left, _LINES_PER_PACK)):
        yield zlib.compress(f"{kind}\n{''.join(part)}".encode(), level=1)


def unpacked(pack: bytes) -> tuple[str, list[dict[str, Any]]]:
    """The kind of probe and the records of what :func:`packed` made."""
    kind, *lines = zlib.decompress(pack).decode().splitlines()
    return kind, [json.loads(line) for line in lines]


def with_summary(
    report: dict[str, Any], seconds: float, interval_s: float
) -> dict[str, Any] | None:
    """The report of an iperf3 client that sent for ``seconds``, an entry each ``interval_s``,
    with the summary that it lacks where it could not exchange results with its server;
    None where it ended before that time.

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


def needed(report: dict[str, Any]) -> dict[str, Any]:
    """The parts of an iperf3 client's report that are read: keys of each interval's stream.

    The server's report is left out.  The whole ones of a hundred clients are more than a
    process of a User-Mode Linux may have, for each of whose pages the host keeps a mapping of
    its own (vm.max_map_count, 65530).
    """
    kept = {key: value for key, value in report.items() if key != "server_output_json"}
    kept["intervals"] = [
        {
            "streams": [
                {key: stream[key] for key in _IPERF3_INTERVAL if key in stream}
                for stream in entry["streams"]
            ]
        }
        for entry in report.get("intervals", [])
    ]
    return kept
