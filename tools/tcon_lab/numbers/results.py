# SPDX-License-Identifier: GPL-2.0-only
"""A run's results: raw records in, ``results.json`` out.

A raw record is what the runner brings back of one (scenario, seed, mode)::

    {"scenario": Scenario.to_dict(), "mode": ..., "seed": ..., "virtual_time": bool,
     "instruction_ns": what one takes or None, "versions": {...},
     "busy_s": how long the CPU was busy during the traffic,
     "flows": [{"index", "saddr", "daddr", "sport", "dport", "guest_cc", "cc",
                "start_s", "iperf3": of the client's JSON report what is read, with "back":
                {"bytes"} where data came both ways, "kernel_params",
                "steal_share": of a sender that is a machine}],
     "probe": [records of tcon-probe --dev], "queue": [records of tcon-probe --queue],
     "sockets": [records of tcon-probe --socket], "queue_counts": {"marks", "drops"}}

Of a series of transfers "dport" and "iperf3" are missing, and there is "transfers":
[{"start_s", "seconds"}] in the order in which they ended.

``results.json`` holds one scenario with one seed and a run for each mode.  Beside
what its name says: ``cc`` decided (the guest's own or the enforced one), ``kernel_params``
are the parameters of the kernel's CCs that worked on the flow, where the scenario gives some,
``rtt_us`` is the path's as the probe at the sender's uplink saw it over the
flow's whole life, ``rtt_mean_us`` the mean over the probe's intervals of each one's
median, ``loss_period_s`` what :mod:`.sharing` says of its losses, ``sent_bytes`` what
the sender's uplink carried of it, repeats and ``retransmitted_bytes`` included,
``cwnd_bytes`` the deciding CC's (TCon's or the guest's), ``guest_srtt_us`` what the
guest's stack believed, ``guest_marked_segments`` how many of its segments it was told were
marked (CE),
``goodput_bps`` what the receiver acknowledged within the time in which the
sender was to send, ``back_goodput_bps`` what came the other way over the same connection
in that time, ``utilisation`` the acknowledged payload of all flows as a
share of the bottleneck's rate, ``state`` TCon's at the end and ``state_share``
how much of the time it was in which, ``table`` the [[flow]] or [[transfer]] that asked
for it, from 0.  ``jain`` is of the flows' goodput over the whole run,
``jain_per_second``, their mean ``jain_mean``, ``convergence_s``, ``loss_epochs`` and
``loss_synchronisation`` are what :mod:`.sharing` says of bulk flows.
``tcon_retransmits`` are segments that TCon
repeated, ``tcon_spurious`` the needless ones among them, ``tcon_probes`` and
``tcon_timeouts`` its tail probes and time-outs, ``buffer_bytes`` the memory of copies.
``limited_share`` says by what the flow was limited in which share of the time in
which it was enforced, ``limited_share_settled`` the same without its first 30 base
RTTs.  ``dctcp_alpha`` is the mean of the deciding DCTCP's alpha, the guest's own or the
enforced one, in the second half of the flow's time: it starts at 1.  ``steal_share`` is how
much of the run a sender that is a machine waited for its host's CPU.  ``queue_packets``
and ``queue_bytes`` are how long the bottleneck's queue was, ``queue_marks`` how many
packets it marked (CE) in the run, ``queue_drops`` how many it dropped.
``instructions_per_byte`` are the whole machine's, guests and their peers, switch
and lab, for each acknowledged byte of payload: only QEMU's clock counts them.  A series of
transfers has ``transfers``: their ``seconds`` from before the
connection is opened until the last byte has come, and ``each_s`` of them in the order
of their start; its goodput is the bytes over the sum of those times, its RTT p50 the
median of the connections', p95 and p99 the largest.  A number that nobody measured is null.
Equal raw records give an equal text, to the byte.
"""

from __future__ import annotations

import json
import math
import re
import statistics
from collections.abc import Iterable
from itertools import groupby, pairwise
from typing import Any

from ..errors import LabError
from ..scenario import ENFORCING_MODES, Scenario, from_dict
from . import sharing
from .sharing import jain

Record = dict[str, Any]

#: Limits of a flow, as tcon.ko calls them.
LIMITS = ("window", "guest", "receiver", "idle")
#: A flow's start, in base RTTs: left out of ``limited_share_settled`` and the loss period.
SETTLED_AFTER_RTTS = 30


class ResultsError(LabError):
    """Raw records do not make results; the text is one sentence."""


def percentile(values: list[float], percent: float) -> float | None:
    """The nearest-rank percentile; None of nothing."""
    if not values:
        return None
    return sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)]


def median(values: list[float]) -> float | None:
    """The middle one, or the mean of the two in the middle; None of nothing."""
    return statistics.median(values) if values else None


def spread(values: list[float], names: dict[str, float]) -> dict[str, float] | None:
    """Named percentiles of ``values`` (0 is the minimum); None of nothing."""
    if not values:
        return None
    return {name: percentile(values, percent) for name, percent in names.items()}  # type: ignore


def _number(value: Any) -> float | None:
    """A number of somebody else's JSON, or None."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _seconds(value: float) -> float:
    return round(value, 3)


class _Clock:
    """Turns the times of a record file into CLOCK_MONOTONIC seconds."""

    def __init__(self, records: list[Record]) -> None:
        start = next((r for r in records if r.get("type") == "start"), None)
        self.start_s = float(start["monotonic_s"]) if start else 0.0
        self.interval_s = float(start["interval_ms"]) / 1000 if start else 0.1

    def at(self, record: Record, key: str = "t_s") -> float:
        return self.start_s + float(record[key])


def _connection(record: Record) -> tuple[Any, ...]:
    return tuple(record.get(key) for key in ("saddr", "sport", "daddr", "dport"))


class _FlowData:
    """All that is known about one connection of one run."""

    def __init__(
        self, flow: Record, probe: list[Record], sockets: list[Record], scenario: Scenario
    ) -> None:
        self.flow = flow
        self.iperf3: Record = flow.get("iperf3") or {}
        self.start_s = float(flow.get("start_s") or 0)
        key = self._key()
        mine = [record for record in probe if _connection(record) == key]
        self.clock, self.socket_clock = _Clock(probe), _Clock(sockets)
        self.sockets = [r for r in sockets if r["type"] == "socket" and _connection(r) == key]
        self.intervals = [record for record in mine if record["type"] == "flow"]
        self.tcon = [r for r in mine if r["type"] == "tcon" and "error" not in r]
        summaries = [record for record in mine if record["type"] == "summary"]
        self.summary = max(summaries, key=lambda r: r["acked_bytes"], default=None)
        sent = self.iperf3.get("end", {}).get("sum_sent", {})
        self.duration_s = _number(sent.get("seconds")) or scenario.seconds - self.start_s
        self.first_s = self.clock.at(self.summary, "first_s") if self.summary else None

    def _key(self) -> tuple[Any, ...]:
        """Its addresses and ports; iperf3 knows the port that the kernel chose."""
        connected = (self.iperf3.get("start", {}).get("connected") or [{}])[0]
        return (
            self.flow.get("saddr") or connected.get("local_host"),
            self.flow.get("sport") or connected.get("local_port"),
            self.flow.get("daddr") or connected.get("remote_host"),
            self.flow.get("dport") or connected.get("remote_port"),
        )

    def acked_bytes(self, begin_s: float, end_s: float) -> float:
        """Acknowledged within a time; intervals at its ends count in part."""
        total = 0.0
        for record in self.intervals:
            last_s = self.clock.at(record)
            first_s = last_s - self.clock.interval_s
            part_s = min(last_s, end_s) - max(first_s, begin_s)
            total += record["acked_bytes"] * max(0.0, part_s) / self.clock.interval_s
        return total

    def goodput_bps(self) -> int | None:
        if self.first_s is None or self.duration_s <= 0:
            return None
        acked = self.acked_bytes(self.first_s, self.first_s + self.duration_s)
        return round(8 * acked / self.duration_s)

    def during(self, records: Iterable[Record]) -> list[Record]:
        """The ``records`` that fall into the flow's own time."""
        if self.first_s is None:
            return []
        end_s = self.first_s + self.duration_s
        return [r for r in records if self.first_s <= self.clock.at(r) <= end_s]

    def guest_intervals(self) -> list[Record]:
        """iperf3's intervals: the guest's socket at the end of each."""
        intervals = self.iperf3.get("intervals") or []
        return [entry["streams"][0] for entry in intervals if entry.get("streams")]

    def tick(self, t_s: float) -> float:
        """A time as a number of the probe's intervals since the probe's start."""
        return round((t_s - self.clock.start_s) / self.clock.interval_s, 6)

    def by_tick(self) -> dict[int, Record]:
        """The samples, by the number of the probe's interval at whose end they are."""
        ticks: dict[int, Record] = {}

        def tick(t_s: float) -> Record:
            return ticks.setdefault(math.floor(self.tick(t_s) + 0.5), {})

        for record in self.intervals:
            tick(self.clock.at(record)).update(_path_sample(record, self.clock.interval_s))
        for record in self.guest_intervals():
            if self.first_s is not None and _number(record.get("end")) is not None:
                tick(self.first_s + record["end"]).update(_guest_sample(record))
        for record in self.sockets:
            tick(self.socket_clock.at(record))["guest_ssthresh_bytes"] = record["ssthresh_bytes"]
        for before, record in pairwise([{}, *self.tcon]):
            tick(self.clock.at(record)).update(_tcon_sample(before, record))
        return ticks

    def samples(self, zero_s: float) -> list[Record]:
        """One entry per interval of the probe that ends within the flow's time.

        ``t_s`` is the interval's end.  Where the probe saw nothing goodput is 0.
        """
        if self.first_s is None:
            return []
        ticks = self.by_tick()
        first = math.floor(self.tick(self.first_s)) + 1
        last = math.floor(self.tick(self.first_s + self.duration_s))
        offset_s = self.clock.start_s - zero_s
        nothing = dict.fromkeys(("goodput_bps", "retransmitted_bytes", "loss_events"), 0)
        empty = dict.fromkeys(SAMPLE_KEYS) | nothing
        return [
            empty | ticks.get(n, {}) | {"t_s": _seconds(offset_s + n * self.clock.interval_s)}
            for n in range(first, last + 1)
        ]


#: Keys of a flow's sample beside "t_s".
SAMPLE_KEYS = (
    "goodput_bps", "rtt_us", "rtt_min_us", "retransmitted_bytes", "loss_events",
    "guest_cwnd_bytes", "guest_ssthresh_bytes", "guest_srtt_us", "guest_retransmits",
    "tcon_cwnd_bytes", "tcon_ssthresh_bytes", "tcon_window_bytes", "tcon_pacing_bps",
    "tcon_inflight_bytes", "tcon_held_bytes", "tcon_srtt_us", "tcon_state",
    "tcon_buffer_bytes", "tcon_repairs", "tcon_guest_share",
)  # fmt: skip


def _path_sample(record: Record, step_s: float) -> Record:
    rtt = record["rtt_us"] or {}
    return {
        "goodput_bps": round(8 * record["acked_bytes"] / step_s),
        "rtt_us": rtt.get("p50"),
        "rtt_min_us": rtt.get("min"),
        "retransmitted_bytes": record["retransmitted_bytes"],
        "loss_events": record["loss_events"],
    }


def _guest_sample(record: Record) -> Record:
    return {
        "guest_cwnd_bytes": _number(record.get("snd_cwnd")),
        "guest_srtt_us": _number(record.get("rtt")),
        "guest_retransmits": _number(record.get("retransmits")),
    }


_TCON_NUMBERS = ("ssthresh_bytes", "pacing_bps", "inflight_bytes", "held_bytes")


def _tcon_sample(before: Record, record: Record) -> Record:
    names = {"cwnd_bytes": "tcon_cwnd_bytes", "rwnd_bytes": "tcon_window_bytes"}
    names |= {key: f"tcon_{key}" for key in _TCON_NUMBERS}
    names |= {"srtt_us": "tcon_srtt_us", "state": "tcon_state", "buffer_bytes": "tcon_buffer_bytes"}
    share = _limited_share([before, record])
    repairs = _number(record.get("repairs"))
    return {name: record.get(key) for key, name in names.items()} | {
        "tcon_repairs": None if repairs is None else _growth(before.get("repairs", 0), repairs),
        "tcon_guest_share": share and share["guest"],
    }


def _growth(before: float, now: float) -> float:
    """The growth of a counter; one that fell had restarted from zero."""
    return now - before if now >= before else now


def _limited_share(records: Iterable[Record]) -> dict[str, float] | None:
    """The share of each limit in the time between the first and the last record.

    Records without times are passed over.  None where no time was counted.
    """
    times = [record["limited_us"] for record in records if record.get("limited_us")]
    spent_us = {
        limit: sum(_growth(before[limit], now[limit]) for before, now in pairwise(times))
        for limit in LIMITS
    }
    total_us = sum(spent_us.values())
    return {k: round(us / total_us, 4) for k, us in spent_us.items()} if total_us else None


def _table(scenario: Scenario, index: int) -> int:
    """The number of a connection's [[flow]] or [[transfer]], from 0."""
    return [n for n, flow in enumerate(scenario.flows) for _ in range(flow.count)][index]


def _flow_result(data: _FlowData, scenario: Scenario, mode: str, zero_s: float) -> Record:
    flow, iperf3 = data.flow, data.iperf3
    rtt = data.summary["rtt_us"] if data.summary else None
    tcon = data.during(data.tcon)
    states = [record.get("state") for record in tcon]
    guest_rtts = [float(r["rtt"]) for r in data.guest_intervals() if _number(r.get("rtt"))]
    sent = iperf3.get("end", {}).get("sum_sent", {})
    asked = scenario.connections()[int(flow["index"])]
    samples = data.samples(zero_s)
    base_rtt_us = scenario.path.rtt_us + asked.extra_delay_us + asked.guest_delay_us
    settling_s = SETTLED_AFTER_RTTS * base_rtt_us / 1e6
    error = iperf3.get("error") or (None if data.summary else "the probe saw no data of it")
    return {
        **({"named": flow["named"]} if "named" in flow else {}),
        "index": flow["index"],
        "table": _table(scenario, int(flow["index"])),
        "guest_cc": flow.get("guest_cc") or asked.stack_cc(mode),
        "cc": flow.get("cc") or asked.deciding_cc(mode),
        "kernel_params": flow.get("kernel_params") or {},
        "start_s": data.start_s,
        "seconds": _seconds(data.duration_s),
        "error": error,
        "goodput_bps": data.goodput_bps(),
        "rtt_us": rtt and {key: rtt.get(key) for key in ("min", "p50", "p95", "p99")},
        "rtt_samples": rtt["samples"] if rtt else 0,
        "rtt_mean_us": _mean([s["rtt_us"] for s in samples]),
        "sent_bytes": data.summary["sent_bytes"] if data.summary else None,
        "retransmitted_bytes": data.summary["retransmitted_bytes"] if data.summary else None,
        "loss_period_s": sharing.loss_period_s(samples, data.start_s + settling_s),
        "cwnd_bytes": _cwnd(samples, asked.enforced_cc(mode) is not None),
        "guest_srtt_us": spread(guest_rtts, {"min": 0, "p50": 50, "p99": 99}),
        "guest_retransmits": _number(sent.get("retransmits")),
        "guest_marked_segments": max(
            (r["delivered_ce_segments"] for r in data.sockets if "delivered_ce_segments" in r),
            default=None,
        ),
        **_repair_result(data, tcon, settling_s),
        "state": states[-1] if states else None,
        "state_share": {
            str(state): round(states.count(state) / len(states), 4) for state in set(states)
        },
        "reasons": sorted({r["reason"] for r in tcon if r.get("reason") not in (None, "none")}),
        "dctcp_alpha": _alpha(flow, data.sockets, tcon, bool(asked.enforced_cc(mode))),
        "steal_share": flow.get("steal_share"),
        "back_goodput_bps": _back_goodput_bps(iperf3),
        "samples": samples,
    }


def _back_goodput_bps(report: Record) -> int | None:
    """None of a flow whose receiver sends nothing."""
    if "back" not in report:
        return None
    return round(8 * report["back"]["bytes"] / report["end"]["sum_sent"]["seconds"])


def _mean(values: list[float | None]) -> float | None:
    """The mean of the known values; None without any."""
    known = [value for value in values if value is not None]
    return round(sum(known) / len(known)) if known else None


def deciding_cwnd(enforced: bool) -> str:
    """The key of a sample's cwnd of who decides."""
    return "tcon_cwnd_bytes" if enforced else "guest_cwnd_bytes"


def _cwnd(samples: list[Record], enforced: bool) -> Record | None:
    """The cwnd of who decides, over time."""
    key = deciding_cwnd(enforced)
    known = [float(s[key]) for s in samples if s[key] is not None]
    found = spread(known, {"p50": 50, "max": 100})
    return found and found | {"mean": _mean([*known])}


def _alpha(flow: Record, sockets: list[Record], tcon: list[Record], enforced: bool) -> float | None:
    """The mean of the deciding DCTCP's alpha, the stack's or TCon's, once it has settled."""
    words = [re.search(r"\balpha=([\d.]+)", r.get("cc_info") or "") for r in tcon]
    if enforced:
        dctcp = flow.get("cc") in ("dctcp", "linux:dctcp")
        known = [float(word[1]) for word in words if word and dctcp]
    else:
        known = [r["dctcp_alpha"] for r in sockets if "dctcp_alpha" in r]
    if not known:
        return None
    settled = known[len(known) // 2 :]
    return round(sum(settled) / len(settled), 4)


def _repair_result(data: _FlowData, tcon: list[Record], settling_s: float) -> Record:
    """The work of TCon's loss repair, and the flow's limits."""
    last = tcon[-1] if tcon else {}
    copies = [float(r["buffer_bytes"]) for r in tcon if _number(r.get("buffer_bytes")) is not None]
    settled_s = (data.first_s or 0) + settling_s
    return {
        "tcon_retransmits": _number(last.get("repairs")),
        "tcon_spurious": _number(last.get("spurious_repairs")),
        "tcon_probes": _number(last.get("probes")),
        "tcon_timeouts": _number(last.get("timeouts")),
        "buffer_bytes": spread(copies, {"p50": 50, "max": 100}),
        "limited_share": _limited_share([{"limited_us": dict.fromkeys(LIMITS, 0)}, *tcon]),
        "limited_share_settled": _limited_share(r for r in tcon if data.clock.at(r) >= settled_s),
    }


_COMPLETION = {"min": 0, "p50": 50, "p95": 95, "p99": 99, "max": 100}
#: As few have a 99.9th percentile that is not their largest.
_FEWEST_FOR_P999 = 1000


def completion(times_s: list[float]) -> dict[str, float] | None:
    """Mean and percentiles of completion times, p999 of 1000 and more; None of nothing."""
    names = _COMPLETION | ({"p999": 99.9} if len(times_s) >= _FEWEST_FOR_P999 else {})
    found = spread(times_s, names)
    return found and found | {"mean": round(sum(times_s) / len(times_s), 6)}


def _repair_sums(records: list[Record]) -> Record:
    """What TCon's loss repair did for all connections of a series of transfers."""
    last = {r["dport"]: r for r in records if r["type"] == "tcon" and "repairs" in r}
    names = {"tcon_retransmits": "repairs", "tcon_spurious": "spurious_repairs"}
    names |= {"tcon_probes": "probes", "tcon_timeouts": "timeouts"}
    return {
        name: sum(r[key] for r in last.values()) if last else None for name, key in names.items()
    }


def _transfer_result(flow: Record, probe: list[Record], scenario: Scenario) -> Record:
    """What :func:`_flow_result` is of a flow, of a series of transfers."""
    transfer = scenario.connections()[int(flow["index"])].transfer
    if transfer is None:
        raise KeyError("transfer")
    server = (flow["saddr"], flow["sport"])
    mine = [r for r in probe if (r.get("saddr"), r.get("sport")) == server]
    rtts = [r["rtt_us"] for r in mine if r["type"] == "summary" and r["rtt_us"]]
    # A connection that has ended stays in TCon's table for a while.
    tcon = [r for r in mine if r["type"] == "tcon" and r.get("reason") not in (None, "closed")]
    states = [r.get("state") for r in tcon]
    by_start = sorted(flow["transfers"], key=lambda record: record["start_s"])
    times_s = [round(record["seconds"], 6) for record in by_start]
    return {
        **{key: flow[key] for key in ("index", "guest_cc", "cc", "start_s")},
        "table": _table(scenario, int(flow["index"])),
        "kernel_params": flow.get("kernel_params") or {},
        "seconds": _seconds(sum(times_s)),
        "error": None if rtts else "the probe saw no data of it",
        "goodput_bps": round(8 * transfer.whole_bytes * len(times_s) / sum(times_s)),
        "rtt_us": {
            "min": min(rtt["min"] for rtt in rtts),
            "p50": percentile([rtt["p50"] for rtt in rtts], 50),
            "p95": max((rtt["p95"] for rtt in rtts if "p95" in rtt), default=None),
            "p99": max(rtt["p99"] for rtt in rtts),
        }
        if rtts
        else None,
        "rtt_samples": sum(rtt["samples"] for rtt in rtts),
        "rtt_mean_us": None,
        "sent_bytes": sum(r["sent_bytes"] for r in mine if r["type"] == "summary"),
        "retransmitted_bytes": sum(
            r["retransmitted_bytes"] for r in mine if r["type"] == "summary"
        ),
        "cwnd_bytes": None,
        "guest_srtt_us": None,
        "guest_retransmits": None,
        **_repair_sums(mine),
        "state": max(sorted(set(states)), key=states.count) if states else None,
        "state_share": {
            str(state): round(states.count(state) / len(states), 4) for state in set(states)
        },
        "reasons": sorted({r["reason"] for r in tcon} - {"none"}),
        "samples": [],
        "transfers": {
            "bytes": transfer.whole_bytes,
            "fan_in": transfer.fan_in,
            "load_fraction": transfer.load_fraction,
            "seconds": completion(times_s),
            "each_s": times_s,
        },
    }


def _warnings(probe: list[Record], mode: str) -> list[str]:
    """Complaints that make the numbers of a run less than whole."""
    notes = [record["text"] for record in probe if record.get("type") == "note"]
    found = notes if mode in ENFORCING_MODES else []  # elsewhere tcon.ko may well be missing
    ends = [record for record in probe if record.get("type") == "end"]
    if not ends:
        found.append("the probe did not end in order: there are no summaries")
    for end in ends:
        if end["dropped"]:
            found.append(f"the probe lost {end['dropped']} packets")
        if end["untracked"]:
            found.append(f"the probe had no room for {end['untracked']} packets")
    untimed = sum(r.get("untimed_packets", 0) for r in probe if r.get("type") == "summary")
    if untimed:
        found.append(f"the probe could not time {untimed} packets")
    malformed = sum(1 for r in probe if r.get("type") == "tcon" and "error" in r)
    if malformed:
        found.append(f"{malformed} messages of tcon.ko were malformed")
    return found


def _queue(records: list[Record], zero_s: float, seconds: float) -> list[Record]:
    """Samples of the queue within the run."""
    clock = _Clock(records)
    samples = [
        {
            "t_s": _seconds(clock.at(r) - zero_s),
            "packets": r["packets"],
            "bytes": r["bytes"],
            "drops": r["drops"],
        }
        for r in records
        if r.get("type") == "queue"
    ]
    return [sample for sample in samples if 0 <= sample["t_s"] <= seconds]


def _span_s(raw: Record, scenario: Scenario) -> float:
    """The time that a run is about; transfers alone end it when they have ended."""
    if any("transfers" not in flow for flow in raw["flows"]):
        return scenario.seconds
    return max(t["start_s"] + t["seconds"] for flow in raw["flows"] for t in flow["transfers"])


def _sharing(flows: list[Record], scenario: Scenario, interval_s: float) -> Record:
    """How bulk flows shared the bottleneck, see :mod:`.sharing`."""
    per_second = sharing.jain_per_second(flows, scenario.seconds)
    known = [index for index in per_second if index is not None]
    epochs = sharing.loss_epochs(flows, max(scenario.full_rtt_us / 1e6, interval_s))
    return {
        "jain_per_second": per_second,
        "jain_mean": round(sum(known) / len(known), 4) if known else None,
        "convergence_s": sharing.convergence_s(flows, per_second),
        "loss_epochs": epochs,
        "loss_synchronisation": sharing.synchronisation(epochs, len(flows)),
    }


def _instructions_per_byte(raw: Record, acked_bytes: float) -> float | None:
    """None where the machine's clock does not count instructions."""
    busy_s, each_ns = raw.get("busy_s"), raw.get("instruction_ns")
    if busy_s is None or each_ns is None or not acked_bytes:
        return None
    return round(busy_s * 1e9 / each_ns / acked_bytes, 3)


def _run_result(raw: Record) -> Record:
    scenario = from_dict(raw["scenario"])
    probe, seconds = raw.get("probe") or [], _span_s(raw, scenario)
    data = {
        flow["index"]: _FlowData(flow, probe, raw.get("sockets") or [], scenario)
        for flow in raw["flows"]
        if "transfers" not in flow
    }
    begins = [d.first_s - d.start_s for d in data.values() if d.first_s is not None]
    # The runner starts flows a little after it starts the probes: time 0 is
    # where the first flow would be with start "0s".
    zero_s = min(begins, default=raw.get("start_monotonic_s", _Clock(probe).start_s))
    flows = [
        _flow_result(data[flow["index"]], scenario, raw["mode"], zero_s)
        if flow["index"] in data
        else _transfer_result(flow, probe, scenario)
        for flow in raw["flows"]
    ]
    acked = sum(d.acked_bytes(zero_s, zero_s + seconds) for d in data.values())
    acked += sum(f["transfers"]["bytes"] * len(f["transfers"]["each_s"])
                 for f in flows if "transfers" in f)  # fmt: skip
    goodputs = [flow["goodput_bps"] or 0 for flow in flows]
    bulk = [flow for flow in flows if "transfers" not in flow]
    queue = _queue(raw.get("queue") or [], zero_s, seconds)
    packets = [float(sample["packets"]) for sample in queue]
    counts = raw.get("queue_counts") or {}
    return {
        "mode": raw["mode"],
        "jain": jain(goodputs),
        **_sharing(bulk, scenario, _Clock(probe).interval_s),
        "utilisation": round(8 * acked / scenario.path.rate_bps / seconds, 4),
        "goodput_bps": sum(goodputs),
        "queue_packets": spread(packets, {"p50": 50, "p99": 99}),
        "queue_bytes": spread([float(sample["bytes"]) for sample in queue], {"p50": 50, "p99": 99}),
        "queue_marks": counts.get("marks"),
        "queue_drops": counts.get("drops"),
        "instructions_per_byte": _instructions_per_byte(raw, acked),
        "queue_samples": queue,
        "warnings": _warnings(probe, raw["mode"]),
        "flows": flows,
    }


def _group(raw: Record) -> tuple[str, int]:
    return raw["scenario"]["name"], raw["seed"]


def results_from_raw(raw: list[Record]) -> Record:
    """The results of the runs of one scenario with one seed.

    Raises ResultsError where there are none, or of more than one, or where a
    record lacks what it must have.
    """
    if len({_group(record) for record in raw}) != 1:
        raise ResultsError("results are made of the runs of one scenario with one seed.")
    first = raw[0]
    order = list(first["scenario"]["modes"])
    if sorted(r["mode"] for r in raw) != sorted({r["mode"] for r in raw} & set(order)):
        modes = ", ".join(record["mode"] for record in raw)
        name = first["scenario"]["name"]
        raise ResultsError(f"scenario {name} has runs that it does not ask for: {modes}.")
    try:
        runs = [_run_result(record) for record in sorted(raw, key=lambda r: order.index(r["mode"]))]
    except (KeyError, TypeError, IndexError) as error:
        what = f"{type(error).__name__} {error}"
        raise ResultsError(f"a raw record of {_group(first)[0]} is malformed: {what}.") from error
    return {
        "scenario": first["scenario"]["name"],
        "seed": first["seed"],
        "virtual_time": bool(first.get("virtual_time")),
        "versions": first.get("versions") or {},
        "definition": first["scenario"],
        "runs": runs,
    }


def all_results(raw: list[Record]) -> list[Record]:
    """Results of every scenario and seed in ``raw``, in the order of their first run.

    Raises ResultsError as :func:`results_from_raw`.
    """
    order = list(dict.fromkeys(_group(record) for record in raw))
    grouped = groupby(sorted(raw, key=lambda r: order.index(_group(r))), key=_group)
    return [results_from_raw(list(records)) for _, records in grouped]


def to_text(results: Record | list[Record]) -> str:
    """The text of results.json: sorted keys, one space of indent, a newline."""
    return json.dumps(results, sort_keys=True, indent=1, allow_nan=False) + "\n"
