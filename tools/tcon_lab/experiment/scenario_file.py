# SPDX-License-Identifier: GPL-2.0-only
"""Scenario files: how what the lab is asked to run (:mod:`..scenario`) is written.

A scenario file, where modes are as in :mod:`..scenario`::

    name = "demo"                # letters, digits, '.', '_' and '-'
    seconds = 20                 # length of each run
    modes = ["guest", "native", "enforced"]      # default: native, enforced
    seed = 1                     # default 1; the command line can override it
    [path]
    rate = "100mbit"             # the bottleneck: kbit, mbit, gbit
    rtt = "20ms"                 # base round trip: us, ms, s
    loss = "0%"                  # data direction; default 0%
    queue = "1000p"              # packets, or "1.0bdp" (default), or the larger
                                 # of both: "1.0bdp,50p"
    aqm = "droptail"             # or red, ared, codel, fq_codel, pie, step
    aqm_threshold = "20p"        # step: marks ECT packets that find this many in the
                                 # queue, drops only what the queue cannot hold
    aqm_min = "30p"              # red, ared: of the average queue; default max / 3
    aqm_max = "90p"              # red, ared; default 3 min, or a quarter of the queue
    aqm_probability = "2%"       # red: at max, ared: at first; default 2%
    aqm_target = "5ms"           # codel, fq_codel, pie; default 5ms, pie's 15ms
    aqm_interval = "100ms"       # codel, fq_codel; default 100ms
    aqm_tupdate = "15ms"         # pie, which rounds it up to ticks of 4 ms; default 15ms
    aqm_ecn = false              # red, ared, codel, fq_codel, pie: mark what is ECT instead of
                                 # dropping it; default false, fq_codel's true
    duplicate = "0%"             # of packets in the data direction; default 0%
    corrupt = "0%"               # one bit of the packet is turned; default 0%
    reorder = "0%"               # overtake what is before them; default 0%
    reorder_by = "2.5ms"         # by up to this; default an eighth of the RTT
    police = "20mbit"            # a policer before the bottleneck drops what is beyond that
                                 # rate, and makes no queue; default: there is none
    police_burst = "100kB"       # and beyond that at once; default one BDP of that rate
    back_rate = "20mbit"         # a bottleneck of the way back, too, which ACKs share with what the
                                 # receiver sends; default: there is none
    back_queue = "1.0bdp"        # its length, in packets or BDPs of that rate; default 1.0bdp
    link = "tbf"                 # what makes the rate; default tbf, which loses what it is late
                                 # by more than 0.3 ms, as it is on a CPU that is too busy.
                                 # netem makes up for it, but has no AQM
    [[flow]]
    count = 1                    # default 1
    guest_cc = "cubic"           # the guest's own stack
    native_cc = "bbr"            # mode native: the guest runs this; default guest_cc
    enforce = "bbr"              # mode enforced: TCon enforces this; default nothing
    start = "0s"                 # default 0s
    extra_delay = "0ms"          # round trip, this flow only; default 0ms
    extra_loss = "0%"            # data direction, this flow only; default 0%
    guest_delay = "0ms"          # round trip between the sender and its TCon, which sees
                                 # the rest only: a guest that answers late; default 0ms
    guest_pause = "0ms"          # of each 100ms the sender neither sends nor hears for
                                 # this: a guest that waits for a CPU; default 0ms
    guest = "namespace"          # or vm: the sender is a machine with a kernel of its own, on
                                 # a tap with vnet headers; default namespace
    ipv6 = false                 # default false: IPv4
    tso = true                   # the guest sends super-packets; default true. Without it
                                 # Linux makes them all the same, and cuts them: single
                                 # packets, as many in a burst
    gso = true                   # the guest makes super-packets; default true. Where
                                 # none does, none are made on the way either, which
                                 # takes long above 200 Mbit/s
    quickack = false             # the receiver acknowledges each segment at once, where
                                 # stacks wait for a second one; default false
    ecn = false                  # both guests of the flow speak ECN (tcp_ecn=1); default
                                 # false: neither (but a receiver without TCon answers);
                                 # a stack that runs dctcp does in any case
    guest_params = {fast_convergence = 0}        # of guest_cc, the kernel's own as in
                                 # /sys/module/tcp_CC/parameters: whole numbers, 0 and 1 for
                                 # off and on; default none. Guests that are namespaces share
                                 # a kernel, so all that run a CC have the same. Values that
                                 # a module derives from them when it is loaded stay (from
                                 # cubic's beta, its growth beside reno)
    native_params = {fast_convergence = 0}       # of native_cc, likewise, also where TCon
                                 # runs the kernel's (linux:); default guest_params, if it is
                                 # the same CC
    weight = 1                   # mode enforced: of TCon's CC, which takes its share as
                                 # this many flows; default 1
    params = {beta = 0.8}        # mode enforced: of TCon's CC, as `tcon/list-cc` has them;
                                 # numbers, 0 and 1 for off and on; default none
    rto_min = "1ms"              # mode enforced: TCon's repairs wait for this at least;
                                 # default 200ms
    native_rto_min = "4ms"       # mode native: likewise the guest's stack, in whole ms, which
                                 # the kernel rounds up to ticks of 4 ms; default 200ms
    receiver_tcon = true         # TCon sees the receiver too, and may count for the
                                 # sender's; default true
    placement = "hypervisor"     # where TCon is on Server 1: on the guests' bridge; in a
                                 # "vm" that their packets are redirected to; on a
                                 # "router" behind it; default hypervisor
    tcon_vms = 2                 # placement "vm": in this many, which share the flow's
                                 # connections; up to 8, default 1
    back = "10mbit"              # the receiver sends as much over the same connection, if the
                                 # way back and its own CC, which is cubic, let it; default nothing.
                                 # duplex.py is the program then, not iperf3; not of [[transfer]]
    [[transfer]]                 # beside flows, or instead: for completion times
    bytes = "10MB"               # of each transfer: kB, MB, GB
    count = 100                  # default 1; a connection each, one after another
    load = "5%"                  # or: at random times, this share of the rate
    fan_in = 1                   # over this many connections at once, which are kept, and
                                 # bytes over each of them; default 1; not with load
    pause = "2s"                 # after each, and the next is over the same connection, from
                                 # its question on; default none, and a connection each; not with
                                 # load
    guest_cc = "cubic"           # this and the others: as of a flow

The queue is a plain FIFO (droptail) or under an AQM; ``queue`` is how many packets it
holds in any case.  An AQM starts afresh when the path has been checked, right before
the run.  A parameter that the AQM does not take is an error, except in the [path]
of a campaign whose matrix or cases choose the AQM.  Why "step" is RED, and what it
counts, is in :mod:`..aqm`.

Transfers must have ended when the run's ``seconds`` are over.

All that happens to packets happens to single ones, whether or not guests send
super-packets: these are cut before the bottleneck.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import pathlib
import re
from decimal import Decimal
from typing import Any

from pydantic import ConfigDict, Field

from ..aqm import (
    DEFAULT_ECN,
    DEFAULT_PROBABILITY,
    DEFAULT_TIMES,
    KINDS,
    MAX_RED_PACKETS,
    MAX_STEP_PACKETS,
    PARAMETERS,
    REDS,
    Aqm,
)
from ..placement import HYPERVISOR, MAX_VMS, PLACEMENTS, VM
from ..scenario import (
    ENFORCE_CCS,
    FRAME_BYTES,
    GUEST_CCS,
    GUEST_PAUSE_PERIOD_US,
    GUESTS,
    LINKS,
    MAX_SEED,
    MODES,
    PACKET_BYTES,
    Flow,
    Path,
    Scenario,
    Transfer,
)
from .toml import (
    InputError,
    SentenceError,
    Source,
    Table,
    TwiceError,
    amount,
    checked,
    kind_of,
    number,
    one_of,
    pattern,
    quantity,
    read_text,
    whole,
)

#: A parameter of a CC; "weight" is a key of its own.
_PARAM = re.compile("[a-z][a-z0-9_]*")

#: A queue given in BDPs is never smaller: the initial window (RFC 6928).
MIN_BDP_QUEUE_PACKETS = 10

MAX_SECONDS = 36_000
MAX_FLOWS = 1000
#: The probe tells that many connections apart.
MAX_TRANSFERS = 4000
MAX_FAN_IN = 1000
MAX_QUEUE_PACKETS = 10_000_000
MAX_DELAY_S = 10
#: algorithms/weight.h
MIN_WEIGHT, MAX_WEIGHT = 0.05, 16
#: TCON_RTO_LEAST_US, TCON_RTO_MOST_US of datapath/include/uapi/linux/tcon.h
MIN_RTO_US, MAX_RTO_US = 200, 1_000_000

#: Units of quantities, with what they are in bits/s, bytes and us.
_RATE_UNITS = {"kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
_SIZE_UNITS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9}
_TIME_UNITS = {"us": 1, "ms": 10**3, "s": 10**6}


# --- values ---------------------------------------------------------------------


def _rate_bps(bps: Decimal, text: str) -> int:
    if bps < 1000:
        raise InputError(f'is "{text}": less than 1kbit')
    return int(bps)


def _some_us(time_us: Decimal, text: str) -> int:
    if not round(time_us):
        raise InputError(f'is "{text}": less than 1us')
    return round(time_us)


def _pause_us(time_us: Decimal, text: str) -> int:
    if time_us >= GUEST_PAUSE_PERIOD_US:
        raise InputError(f'is "{text}": of each 100ms, so it must be less')
    return round(time_us)


def _named(value: Any) -> dict[str, Any]:
    """A table whose keys could be parameters."""
    if not isinstance(value, dict):
        raise InputError(f"must be a table, not {kind_of(value)}")
    for name in value:
        if not _PARAM.fullmatch(name) or name == "weight":
            raise InputError(f'has "{name}", which is no name of a parameter')
    return value


def _kernel_params(value: Any) -> dict[str, int]:
    """Parameters of the kernel's CC, whose names the guest's kernel knows."""
    for name, found in _named(value).items():
        if isinstance(found, bool) or not isinstance(found, int):
            raise InputError("is no whole number", name)
    return value


def _params(value: Any) -> dict[str, float]:
    """Parameters of TCon's CC, whose names tcon/set-cc knows."""
    for name, found in _named(value).items():
        if (
            isinstance(found, bool)
            or not isinstance(found, int | float)
            or not math.isfinite(found)
        ):
            raise InputError("is no number", name)
    return value


def _rto_min_us(time_us: Decimal, text: str) -> int:
    if not MIN_RTO_US <= time_us <= MAX_RTO_US:
        raise InputError(f'is "{text}": not from {MIN_RTO_US}us to {MAX_RTO_US // 1000}ms')
    return round(time_us)


def _native_rto_min_us(time_us: Decimal, text: str) -> int:
    if time_us < 1000 or time_us % 1000:
        raise InputError(f'is "{text}": no whole number of ms, which routes have')
    return int(time_us)


def _fraction(percent: Decimal, text: str) -> float:
    if percent == 100:
        raise InputError("is 100%: it must be less")
    return float(percent / 100)


def _load(percent: Decimal, text: str) -> float:
    if not percent:
        raise InputError("is 0: nothing comes")
    return _fraction(percent, text)


def _probability(percent: Decimal, text: str) -> float:
    if not percent:
        raise InputError("is 0: red would do nothing below its max")
    return float(percent / 100)


def _count_of(what: str, value: Decimal, text: str) -> int:
    if value != int(value) or value < 1:
        raise InputError(f'is "{text}": not a whole number of {what} above 0')
    return int(value)


def _burst_bytes(size_bytes: Decimal, text: str) -> int:
    if size_bytes < FRAME_BYTES:
        raise InputError(f'is "{text}": no frame of {FRAME_BYTES}B would ever pass')
    return int(size_bytes)


#: The length of a queue: in BDPs, and a least number of packets; one of both may be None.
_Length = tuple[Decimal | None, int | None]


def _queue(text: str) -> _Length:
    parts = text.split(",", 1)
    if len(parts) == 2 and [part.strip()[-3:] == "bdp" for part in parts] != [True, False]:
        raise InputError(f'is "{text}": of two sizes the first is in bdp, the second in p')
    bdps = amount(parts[0], {"bdp": 1}, 1000) if parts[0].strip().endswith("bdp") else None
    if bdps is not None and len(parts) == 1:
        return bdps, None
    packets = amount(parts[-1], {"bdp": 1, "p": 1}, MAX_QUEUE_PACKETS)
    return bdps, _count_of("packets", packets, parts[-1])


def _name(name: str) -> str:
    if not re.fullmatch(_NAME_PATTERN, name):
        what = "it takes up to 64 letters, digits, '.', '_' and '-'"
        raise InputError(f"is {json.dumps(name)}: {what}")
    return name


def _modes(modes: Any) -> tuple[str, ...]:
    if not isinstance(modes, list):
        raise InputError(f"must be a list, not {kind_of(modes)}")
    if not modes:
        raise InputError(f"is empty; it takes {', '.join(MODES)}")
    for index, mode in enumerate(modes):
        if mode not in MODES:
            shown = json.dumps(mode, default=str)
            raise SentenceError(f"unknown mode {shown}; known are {', '.join(MODES)}", index)
        if mode in modes[:index]:
            raise TwiceError(f'mode "{mode}"', index)
    return tuple(modes)


def time(high_s: int, what: str = "a time") -> Any:
    """A time in us."""
    return quantity(_TIME_UNITS, high_s, lambda time_us, text: round(time_us), what)


def fraction(what: str = "a percentage") -> Any:
    """A percentage below 100."""
    return quantity({"%": 1}, 100, _fraction, what)


_NAME_PATTERN = "[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
_TWO_SIZES = rf"{pattern(['bdp'])}\s*,\s*{pattern(['p'])}"
Name = checked(_name, {"type": "string", "pattern": f"^{_NAME_PATTERN}$"}, str)
Seconds = number(
    lambda s: 0 < s <= MAX_SECONDS, f", not above 0 and at most {MAX_SECONDS}",
    exclusiveMinimum=0, maximum=MAX_SECONDS,
)  # fmt: skip
Modes = checked(
    _modes, {"type": "array", "items": {"enum": list(MODES)}, "minItems": 1, "uniqueItems": True}
)
Queue = checked(
    _queue,
    {
        "type": "string",
        "pattern": rf"^\s*({pattern(['bdp', 'p'])}|{_TWO_SIZES})\s*$",
        "description": "packets, BDPs, or the larger of both: 1.0bdp,50p",
    },
    str,
)
_Packets = quantity(
    {"p": 1}, MAX_QUEUE_PACKETS, functools.partial(_count_of, "packets"), "a number of packets"
)
_AqmTime = quantity(_TIME_UNITS, MAX_DELAY_S, _some_us, "a time")
_Pause = quantity(_TIME_UNITS, 1, _pause_us, "a time")
_Weight = number(
    lambda weight: MIN_WEIGHT <= weight <= MAX_WEIGHT,
    f", not from {MIN_WEIGHT} to {MAX_WEIGHT}",
    minimum=MIN_WEIGHT, maximum=MAX_WEIGHT,
)  # fmt: skip
_Params = checked(
    _params,
    {
        "type": "object",
        "additionalProperties": {"type": "number"},
        "propertyNames": {"pattern": f"^{_PARAM.pattern}$", "not": {"const": "weight"}},
    },
)
_KernelParams = checked(
    _kernel_params,
    {
        "type": "object",
        "additionalProperties": {"type": "integer"},
        "propertyNames": {"pattern": f"^{_PARAM.pattern}$", "not": {"const": "weight"}},
    },
)
_GuestCc = one_of(GUEST_CCS, ", an unknown CC")


def _words(params: dict[str, int]) -> str:
    """Parameters as messages have them."""
    return ", ".join(f"{name} {value}" for name, value in params.items()) or "no parameters"


# --- tables ---------------------------------------------------------------------


class PathTable(Table):
    """The bottleneck."""

    rate_bps: quantity(_RATE_UNITS, 100, _rate_bps, "the bottleneck's rate")
    rtt_us: time(MAX_DELAY_S, "the base round trip")
    loss_fraction: fraction("of packets in the data direction") = "0%"
    queue: Queue = "1.0bdp"
    aqm: one_of(KINDS, ", an unknown AQM") = "droptail"
    aqm_threshold_packets: _Packets | None = None
    aqm_min_packets: _Packets | None = None
    aqm_max_packets: _Packets | None = None
    aqm_probability: quantity({"%": 1}, 100, _probability, "a percentage") = DEFAULT_PROBABILITY
    aqm_target_us: _AqmTime | None = None
    aqm_interval_us: _AqmTime | None = None
    aqm_tupdate_us: _AqmTime | None = None
    aqm_ecn: bool | None = None
    duplicate_fraction: fraction() = "0%"
    corrupt_fraction: fraction() = "0%"
    reorder_fraction: fraction() = "0%"
    reorder_by_us: time(MAX_DELAY_S) | None = None
    police_bps: quantity(_RATE_UNITS, 100, _rate_bps, "a rate") | None = None
    police_burst_bytes: quantity(_SIZE_UNITS, 1, _burst_bytes, "a size") | None = None
    link: one_of(LINKS, ", an unknown link") = "tbf"
    back_rate_bps: quantity(_RATE_UNITS, 100, _rate_bps, "of the way back") | None = None
    back_queue: Queue = "1.0bdp"

    def queue_packets(self, length: _Length, rate_bps: int) -> int:
        """The length of a queue; of two sizes the larger."""
        bdps, packets = length
        if bdps is None:
            return packets
        bdp = Decimal(rate_bps) * self.rtt_us / 8_000_000 / PACKET_BYTES
        wanted = max(math.ceil(bdps * bdp), MIN_BDP_QUEUE_PACKETS)
        return max(min(wanted, MAX_QUEUE_PACKETS), packets or 0)

    def way_back(self) -> dict[str, int]:
        """Its rate and queue; nothing where it has no bottleneck."""
        if self.back_rate_bps:
            length = self.queue_packets(self.back_queue, self.back_rate_bps)
            return {"back_rate_bps": self.back_rate_bps, "back_queue_packets": length}
        if "back_queue" in self.model_fields_set:
            raise InputError("says nothing without path.back_rate", "path", "back_queue")
        return {"back_rate_bps": 0, "back_queue_packets": 0}

    def overtaking_us(self) -> int:
        """How much faster a packet that overtakes is; 0 where none does."""
        by_us, given = self.reorder_by_us, "reorder_by_us" in self.model_fields_set
        if given and "reorder_fraction" not in self.model_fields_set:
            raise InputError("says nothing without path.reorder", "path", "reorder_by")
        if not self.reorder_fraction:
            return 0
        by_us = by_us if given else self.rtt_us // 8
        if not 0 < by_us <= self.rtt_us // 2:
            what = f"path.reorder_by is {by_us}us, not above 0 and at most half of the RTT"
            raise SentenceError(what, "path", "reorder_by" if given else "reorder")
        return by_us

    def policer(self) -> dict[str, int]:
        """Its rate and bucket; nothing where there is none."""
        given = "police_burst_bytes" in self.model_fields_set
        if given and "police_bps" not in self.model_fields_set:
            raise InputError("says nothing without path.police", "path", "police_burst")
        if not self.police_bps:
            return {"police_bps": 0, "police_burst_bytes": 0}
        bdp_bytes = max(self.police_bps * self.rtt_us // 8_000_000, 2 * FRAME_BYTES)
        burst_bytes = self.police_burst_bytes if given else bdp_bytes
        return {"police_bps": self.police_bps, "police_burst_bytes": burst_bytes}

    def path(self) -> Path:
        """The path that is run."""
        queue_packets = self.queue_packets(self.queue, self.rate_bps)
        decided = {"queue_packets": queue_packets, "reorder_by_us": self.overtaking_us()}
        decided |= self.policer() | self.way_back()
        decided["aqm"] = self.decided_aqm(queue_packets)
        if decided["aqm"] and self.link == "netem":
            raise InputError("is netem, which has no AQM", "path", "link")
        names = {field.name for field in dataclasses.fields(Path)} - set(decided)
        return Path(**{name: getattr(self, name) for name in names}, **decided)

    # --- the AQM --------------------------------------------------------------------

    def decided_aqm(self, queue_packets: int) -> Aqm | None:
        """The queue's AQM; None for droptail."""
        self.refuse_other_aqms()
        if self.aqm == "droptail":
            return None
        low, high = {
            "step": self.step_threshold, **dict.fromkeys(REDS, self.red_thresholds)
        }.get(self.aqm, lambda packets: (0, 0))(queue_packets)  # fmt: skip
        ecn = self.aqm in DEFAULT_ECN if self.aqm_ecn is None else self.aqm_ecn
        return Aqm(
            self.aqm,
            ecn=self.aqm == "step" or ecn,
            min_packets=low,
            max_packets=high,
            probability=self.aqm_probability if self.aqm in REDS else 0.0,
            **{f"{name}_us": getattr(self, f"aqm_{name}_us") or round(amount(text, _TIME_UNITS, 1))
               for name, text in DEFAULT_TIMES.get(self.aqm, {}).items()},
        )  # fmt: skip

    def refuse_other_aqms(self) -> None:
        """Parameters that the AQM does not take."""
        for name, field in PathTable.model_fields.items():
            parameter = field.alias.removeprefix("aqm_")
            takers = [kind for kind in KINDS if parameter in PARAMETERS[kind]]
            if name in self.model_fields_set and takers and self.aqm not in takers:
                what = f'says nothing with aqm "{self.aqm}"; it is of {", ".join(takers)}'
                raise InputError(what, "path", field.alias)

    def step_threshold(self, queue_packets: int) -> tuple[int, int]:
        """Step's threshold, which is both minimum and maximum."""
        threshold, most = self.aqm_threshold_packets, min(queue_packets - 1, MAX_STEP_PACKETS)
        if threshold is None:
            raise InputError("is missing", "path", "aqm_threshold")
        if threshold > most:
            what = f"with which a queue of {queue_packets} packets could still mark"
            what = f"is {threshold} packets: more than {most}, {what}"
            raise InputError(what, "path", "aqm_threshold")
        return threshold, threshold

    def red_thresholds(self, queue_packets: int) -> tuple[int, int]:
        """Minimum and maximum of red and ared; of what is not given tc's defaults."""
        low, high = self.aqm_min_packets or 0, self.aqm_max_packets
        most = min(queue_packets, MAX_RED_PACKETS)
        if high is None:
            high = min(3 * low or max(2, queue_packets // 4), most)
        if high > most:
            what = f"which {self.aqm} can have in a queue of {queue_packets} packets"
            raise InputError(f"is {high} packets: more than {most}, {what}", "path", "aqm_max")
        at = "aqm_min" if low else "aqm_max"
        low = low or max(1, high // 3)
        if low >= high:
            what = f"path.aqm_min is {low} packets, not below aqm_max, which is {high}"
            raise SentenceError(what, "path", at)
        return low, high


class _SenderTable(Table):
    """Keys of flows and of transfers."""

    count: whole(1, MAX_FLOWS) = 1
    guest_cc: one_of(GUEST_CCS, ", an unknown CC")
    native_cc: _GuestCc | None = None
    enforce: one_of(ENFORCE_CCS, ", an unknown CC") | None = None
    start_us: time(MAX_SECONDS) = "0s"
    extra_delay_us: time(MAX_DELAY_S) = "0ms"
    extra_loss_fraction: fraction() = "0%"
    guest_delay_us: time(MAX_DELAY_S) = "0ms"
    guest_pause_us: _Pause = "0ms"
    guest: one_of(GUESTS, ", an unknown guest") = "namespace"
    ipv6: bool = False
    tso: bool = True
    gso: bool = True
    quickack: bool = False
    ecn: bool = False
    guest_params: _KernelParams = Field({})
    native_params: _KernelParams | None = None
    weight: _Weight = 1
    params: _Params = Field({})
    rto_min_us: quantity(_TIME_UNITS, 1, _rto_min_us, "a time") | None = None
    native_rto_min_us: quantity(_TIME_UNITS, 1, _native_rto_min_us, "a time") | None = None
    receiver_tcon: bool = True
    placement: one_of(PLACEMENTS) = HYPERVISOR
    tcon_vms: whole(1, MAX_VMS) = 1

    def native(self) -> dict[str, Any]:
        """Keys of mode native, whose defaults are the others'."""
        cc, params = self.native_cc or self.guest_cc, self.native_params
        if params is None:
            params = self.guest_params if cc == self.guest_cc else {}
        return {"native_cc": cc, "native_params": params}


class FlowTable(_SenderTable):
    """Equal bulk transfers."""

    back_bps: quantity(_RATE_UNITS, 100, _rate_bps, "the other way") | None = None

    def flow(self) -> Flow:
        """The flow that is run."""
        return Flow(**dict(self) | self.native() | {"back_bps": self.back_bps or 0})


class TransferTable(_SenderTable):
    """Transfers whose completion times count."""

    size_bytes: quantity(
        _SIZE_UNITS, 100, functools.partial(_count_of, "bytes"), "of each transfer"
    ) = Field(alias="bytes")
    load_fraction: quantity({"%": 1}, 100, _load, "this share of the rate, at random times") | (
        None
    ) = None
    count: whole(1, MAX_TRANSFERS) = 1
    fan_in: whole(1, MAX_FAN_IN) = 1
    pause_us: quantity(_TIME_UNITS, MAX_SECONDS, _some_us, "a time") | None = None

    def flow(self) -> Flow:
        """The flow that is run."""
        made = dict(self) | self.native() | {"count": 1}
        parts = [made.pop(name) for name in ("size_bytes", "load_fraction", "fan_in", "pause_us")]
        size_bytes, load, fan_in, pause_us = parts
        transfer = Transfer(size_bytes, self.count, load, fan_in, pause_us or 0)
        return Flow(**made, transfer=transfer)


class ScenarioFile(Table):
    """A scenario file, as in tools/scenarios."""

    model_config = ConfigDict(
        json_schema_extra={"anyOf": [{"required": ["flow"]}, {"required": ["transfer"]}]}
    )

    name: Name
    seconds: Seconds
    modes: Modes = Field(["native", "enforced"])
    seed: whole(0, MAX_SEED) = 1
    path: PathTable
    flow: list[FlowTable] = Field([])
    transfer: list[TransferTable] = Field([])

    def flows(self) -> tuple[Flow, ...]:
        """All [[flow]], then all [[transfer]]."""
        found = tuple(table.flow() for table in (*self.flow, *self.transfer))
        if not found:
            raise SentenceError(
                "there is no [[flow]] and no [[transfer]]: a scenario needs one", "flow"
            )  # fmt: skip
        total = sum(flow.count for flow in found)
        if total > MAX_FLOWS:
            raise SentenceError(f"there are {total} flows, more than {MAX_FLOWS}", "flow")
        for kind, tables in (("flow", self.flow), ("transfer", self.transfer)):
            for index, table in enumerate(tables):
                if (start_s := table.start_us / 1e6) >= self.seconds:
                    what = f'is "{start_s:g}s", but the run ends after {self.seconds:g}s'
                    raise InputError(what, kind, index, "start")
                if kind == "transfer" and table.load_fraction:
                    what = "does not go with load: the next begins when all is there"
                    kept = {"fan_in": table.fan_in > 1, "pause": table.pause_us}
                    if name := next((name for name, given in kept.items() if given), None):
                        raise InputError(what, kind, index, name)
                if table.tcon_vms > 1 and table.placement != VM:
                    what = f'is {table.tcon_vms}, which only goes with placement = "vm"'
                    raise InputError(what, kind, index, "tcon_vms")
                if table.guest_pause_us and table.guest_delay_us:
                    what = "does not go with guest_delay: one queue holds what waits for either"
                    raise InputError(what, kind, index, "guest_pause")
                if table.guest_pause_us and table.guest == "vm":
                    what = 'does not go with guest = "vm": a queue of a namespace does it'
                    raise InputError(what, kind, index, "guest_pause")
        return found

    def refuse_different_params(self, flows: tuple[Flow, ...]) -> None:
        """One CC with several sets of parameters in the kernel that guests share."""
        at = [("flow", index) for index, _ in enumerate(self.flow)]
        at += [("transfer", index) for index, _ in enumerate(self.transfer)]
        for mode in self.modes:
            known: dict[str, tuple[dict[str, int], str]] = {}
            for (kind, index), flow in zip(at, flows, strict=True):
                name = f"{kind} {index + 1}"
                for cc, params in flow.kernel_ccs(mode):
                    first, other = known.setdefault(cc, (params, name))
                    if first != params:
                        what = f"mode {mode} has {cc} with {_words(first)} ({other}) and with"
                        what += f" {_words(params)} ({name}), but guests share a kernel"
                        raise SentenceError(what, kind, index, "guest_params")

    def refuse_idle_linux(self, flows: tuple[Flow, ...]) -> None:
        """Mode linux where it would enforce nothing, or the same as mode enforced."""
        if "linux" not in self.modes:
            return
        at = ("modes", self.modes.index("linux"))
        if all(flow.enforce is None for flow in flows):
            raise SentenceError('mode "linux" enforces nothing: no flow has enforce', *at)
        if "enforced" in self.modes and all(
            flow.enforced_cc("linux") == flow.enforced_cc("enforced") for flow in flows
        ):
            same = next(flow.enforce for flow in flows if flow.enforce)
            what = f'modes "linux" and "enforced" are the same: both enforce {same}'
            raise SentenceError(what, *at)

    def scenario(self) -> Scenario:
        """The scenario that is run."""
        path, flows = self.path.path(), self.flows()
        self.refuse_idle_linux(flows)
        self.refuse_different_params(flows)
        return Scenario(self.name, self.seconds, self.modes, self.seed, path, flows)


def load(file: str | pathlib.Path) -> Scenario:
    """Read a scenario file.  Raises ScenarioError if it cannot be used."""
    return parse(read_text(file), str(file))


def parse(text: str, file: str = "scenario") -> Scenario:
    """Make a scenario of TOML text; ``file`` is what errors call it.

    Raises ScenarioError, one sentence with file and line.
    """
    source = Source(text, file)
    with source.blamed():
        return ScenarioFile.model_validate(source.document).scenario()
