# SPDX-License-Identifier: GPL-2.0-only
"""The flows of a cell by kind: one for each [[flow]] of its scenario.

The documents' quantities for each virtual machine: cwnd, RTT, rates, bytes sent again.
A kind is plain data, means over its flows and the seeds, None where nobody measured::

    {"kind": number of the [[flow]] from 1, "flows": how many of a run, "cc": who decides,
     "goodput_bps", "sent_bps", "sent_bytes", "rtt_mean_us", "retransmitted_bytes",
     "cwnd_bytes"}
"""

from __future__ import annotations

from typing import Any

Record = dict[str, Any]

#: Each number's heading with its unit, the divisor to that unit, the format.
SHOWN = {
    "goodput_bps": ("goodput, Mbit/s", 1e6, ".2f"),
    "sent_bps": ("sent, Mbit/s", 1e6, ".2f"),
    "rtt_mean_us": ("mean RTT, ms", 1e3, ".1f"),
    "cwnd_bytes": ("mean cwnd, kB", 1e3, ".1f"),
    "retransmitted_bytes": ("sent again, kB", 1e3, ".1f"),
}
HEADINGS = ["cell", "mode", "kind", "flows", "CC", *(shown[0] for shown in SHOWN.values())]


def _number(flow: Record, name: str) -> float | None:
    if name == "sent_bps":
        sent, seconds = flow.get("sent_bytes"), flow.get("seconds")
        return 8 * sent / seconds if sent is not None and seconds else None
    if name == "cwnd_bytes":
        return (flow.get("cwnd_bytes") or {}).get("mean")
    found: float | None = flow.get(name)
    return found


def kinds(runs: list[Record]) -> list[Record]:
    """The kinds of the flows of one cell and mode; ``runs`` has a run for each seed."""
    by_kind: dict[int, list[Record]] = {}
    for run in runs:
        for flow in run["flows"]:
            if "table" in flow and "transfers" not in flow:
                by_kind.setdefault(flow["table"] + 1, []).append(flow)
    found = []
    for kind, flows in sorted(by_kind.items()):
        made: Record = {"kind": kind, "flows": len(flows) // len(runs), "cc": flows[0]["cc"]}
        for name in (*SHOWN, "sent_bytes"):
            known = [v for v in (_number(flow, name) for flow in flows) if v is not None]
            made[name] = sum(known) / len(known) if known else None
        found.append(made)
    return found


def rows(cells: list[Record]) -> list[list[str]]:
    """A row for each kind of each cell and mode of a comparison."""
    found = []
    for cell in cells:
        for mode, several in cell["kinds"].items():
            for kind in several:
                texts = [
                    "-" if kind[name] is None else format(kind[name] / divisor, form)
                    for name, (_, divisor, form) in SHOWN.items()
                ]
                words = [str(kind["kind"]), str(kind["flows"]), kind["cc"]]
                found.append([cell["cell"], mode, *words, *texts])
    return found
