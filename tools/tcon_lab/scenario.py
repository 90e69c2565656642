# SPDX-License-Identifier: GPL-2.0-only
"""Scenarios: what the lab is asked to run, read from TOML.

A scenario file::

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
    aqm = "droptail"             # or red, codel, fq_codel, pie, step; default droptail
    aqm_threshold = "20p"        # step: marks ECT packets that find so many in the
                                 # queue, drops only what the queue cannot hold
    aqm_min = "30p"              # red: of the average queue; default a third of max
    aqm_max = "90p"              # red; default 3 min, or a quarter of the queue
    aqm_probability = "2%"       # red: at max; default 2%
    aqm_target = "5ms"           # codel, fq_codel, pie; default 5ms, pie's 15ms
    aqm_interval = "100ms"       # codel, fq_codel; default 100ms
    aqm_tupdate = "15ms"         # pie, which rounds it up to ticks of 4 ms; default 15ms
    aqm_ecn = false              # red, codel, fq_codel, pie: mark what is ECT instead of
                                 # dropping it; default false, fq_codel's true
    duplicate = "0%"             # of packets in the data direction; default 0%
    corrupt = "0%"               # one bit of the packet is turned; default 0%
    reorder = "0%"               # overtake what is before them; default 0%
    reorder_by = "2.5ms"         # by up to so much time; default an eighth of the RTT
    [[flow]]
    count = 1                    # default 1
    guest_cc = "cubic"           # the guest's own stack
    native_cc = "bbr"            # mode native: the guest runs this; default guest_cc
    enforce = "bbr"              # mode enforced: TCon enforces this; default nothing
    start = "0s"                 # default 0s
    extra_delay = "0ms"          # round trip, this flow only; default 0ms
    extra_loss = "0%"            # data direction, this flow only; default 0%
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
    receiver_tcon = true         # TCon sees the receiver too, and may count for the
                                 # sender's; default true
    [[transfer]]                 # beside flows, or instead: for completion times
    bytes = "10MB"               # of each transfer: kB, MB, GB
    count = 100                  # default 1; a connection each, one after another
    load = "5%"                  # or: at random times, this share of the rate
    guest_cc = "cubic"           # this and the others: as of a flow

The queue is a plain FIFO (droptail) or under an AQM; ``queue`` is how many packets it
holds in any case.  An AQM starts afresh when the path has been checked, right before
the run.  A parameter that the AQM does not take is an error, but for those in [path]
of a campaign whose matrix or cases choose the AQM.  Why "step" is RED, and what it
counts, is in :mod:`.aqm`.

Transfers must have ended when the run's ``seconds`` are over.

All that happens to packets happens to single ones, whether or not guests send
super-packets: these are cut before the bottleneck.

A mode says who decides: ``guest`` is the guest's own ``guest_cc`` with TCon
leaving it alone, ``native`` is ``native_cc`` in the guest's stack with TCon
leaving it alone, ``enforced`` is ``guest_cc`` in the guest with TCon enforcing
``enforce``, ``linux`` is the same with ``linux:`` and ``native_cc`` in place of
``enforce`` (the kernel's CC run by TCon, beside TCon's own), and ``stock`` is
``native_cc`` on the distribution's own datapath.  Flows without ``enforce`` are left
alone in mode ``linux`` too.

Whatever is wrong with a file is said in one sentence that starts with
``FILE:LINE:``.  This module needs nothing outside the standard library: the
runner inside the virtual machine uses it too.
"""

from __future__ import annotations

import dataclasses
import json
import math
import pathlib
import re
import tomllib
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from . import aqm
from .aqm import Aqm
from .errors import LabError

MODES = ("guest", "native", "linux", "enforced", "stock")
DEFAULT_MODES = ("native", "enforced")
#: Those in which TCon enforces something.
ENFORCING_MODES = ("linux", "enforced")

#: Every TCP congestion control of Debian's 6.1 kernel.
GUEST_CCS = (
    "reno", "cubic", "bbr", "bic", "cdg", "dctcp", "highspeed", "htcp", "hybla",
    "illinois", "lp", "nv", "scalable", "vegas", "veno", "westwood", "yeah",
)  # fmt: skip
#: How TCon calls the kernel's own CC of a name.
KERNEL_CC = "linux:"
#: What TCon can enforce.
ENFORCE_CCS = (
    "reno", "cubic", "vegas", "ctcp", "dctcp", "bbr", "bbr3",
    *(f"{KERNEL_CC}{cc}" for cc in GUEST_CCS),
)  # fmt: skip

#: Bytes of a full IP packet: what one place of a queue given in BDPs holds.
PACKET_BYTES = 1500
#: A queue given in BDPs is never smaller: the initial window (RFC 6928).
MIN_BDP_QUEUE_PACKETS = 10

MAX_SECONDS = 36_000
MAX_FLOWS = 1000
#: The probe tells that many connections apart.
MAX_TRANSFERS = 4000
MAX_SEED = 2**32 - 1
MAX_QUEUE_PACKETS = 10_000_000
MAX_AQM_TIME_S = 10

#: What [path] may say about the queue's AQM.
AQM_KEYS = (
    "aqm", "aqm_threshold", "aqm_min", "aqm_max", "aqm_probability", "aqm_target",
    "aqm_interval", "aqm_tupdate", "aqm_ecn",
)  # fmt: skip

Location = tuple[str | int, ...]


class ScenarioError(LabError):
    """A scenario is wrong; the text is one sentence with file and line."""


@dataclass(frozen=True)
class Path:
    """The bottleneck: ``rate_bps`` in bits/s, ``rtt_us`` of an empty path,
    ``queue_packets`` long, under ``aqm`` unless that is None.  The fractions are of
    packets in the data direction: ``loss_fraction`` are dropped, ``duplicate_fraction``
    arrive twice, ``corrupt_fraction`` have a bit turned, ``reorder_fraction`` are
    ``reorder_by_us`` faster than others.
    """

    rate_bps: int
    rtt_us: int
    loss_fraction: float
    queue_packets: int
    duplicate_fraction: float = 0.0
    corrupt_fraction: float = 0.0
    reorder_fraction: float = 0.0
    reorder_by_us: int = 0
    aqm: Aqm | None = None

    @property
    def bdp_bytes(self) -> int:
        """Bandwidth-delay product in bytes."""
        return self.rate_bps * self.rtt_us // 8_000_000


@dataclass(frozen=True)
class Transfer:
    """``count`` transfers of ``size_bytes`` between one pair of guests, one after
    another where ``load_fraction`` is None, else at random times at which they
    take that share of the path's rate.
    """

    size_bytes: int
    count: int
    load_fraction: float | None

    def per_second(self, rate_bps: int) -> float:
        """How many begin in a second; 0: one after another."""
        return (self.load_fraction or 0.0) * rate_bps / 8 / self.size_bytes


@dataclass(frozen=True)
class Flow:
    """``count`` equal bulk transfers, or what ``transfer`` says.  ``enforce`` None:
    TCon leaves them alone; ``start_us`` counts from the start of the run;
    ``extra_*`` come on top of the path's; without ``tso`` the guest cuts its
    super-packets itself, without ``gso`` it makes none; with ``quickack`` the receiver
    delays no ACK; with ``ecn`` its stack speaks ECN; without ``receiver_tcon`` TCon is at
    the sender only.
    """

    count: int
    guest_cc: str
    native_cc: str
    enforce: str | None
    start_us: int
    extra_delay_us: int
    extra_loss_fraction: float
    ipv6: bool = False
    tso: bool = True
    gso: bool = True
    quickack: bool = False
    ecn: bool = False
    receiver_tcon: bool = True
    transfer: Transfer | None = None

    def stack_cc(self, mode: str) -> str:
        """The CC that the guest's own stack runs in ``mode``."""
        return self.native_cc if mode in ("native", "stock") else self.guest_cc

    def speaks_ecn(self, mode: str) -> bool:
        """Whether the guests' own stacks speak ECN in ``mode``."""
        return self.ecn or self.stack_cc(mode) == "dctcp"

    def enforced_cc(self, mode: str) -> str | None:
        """The CC that TCon enforces in ``mode``; None: it leaves the flow alone."""
        if mode not in ENFORCING_MODES or self.enforce is None:
            return None
        return KERNEL_CC + self.native_cc if mode == "linux" else self.enforce

    def deciding_cc(self, mode: str) -> str:
        """The CC that decides in ``mode``: the enforced one, else the stack's."""
        return self.enforced_cc(mode) or self.stack_cc(mode)


@dataclass(frozen=True)
class Scenario:
    """One experiment: every mode of ``modes`` is a run of ``seconds``."""

    name: str
    seconds: float
    modes: tuple[str, ...]
    seed: int
    path: Path
    flows: tuple[Flow, ...]

    @property
    def full_rtt_us(self) -> int:
        """A round trip of the slowest flow while the queue is full."""
        delay_us = self.path.rtt_us + max(flow.extra_delay_us for flow in self.flows)
        queued_bits = self.path.queue_packets * PACKET_BYTES * 8
        return delay_us + queued_bits * 1_000_000 // self.path.rate_bps

    def connections(self) -> list[Flow]:
        """One entry for each TCP connection: flows repeated ``count`` times."""
        return [flow for flow in self.flows for _ in range(flow.count)]

    def with_seed(self, seed: int) -> Scenario:
        """The same scenario with another seed.

        Raises ScenarioError where it is not within 0 .. 2^32 - 1.
        """
        if not 0 <= seed <= MAX_SEED:
            raise ScenarioError(f"seed {seed} is not within 0 .. {MAX_SEED}.")
        return dataclasses.replace(self, seed=seed)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as in results.json."""
        return dataclasses.asdict(self) | {"modes": list(self.modes)}

    def to_json(self) -> str:
        """Text from which :func:`from_json` rebuilds an equal scenario."""
        return json.dumps(self.to_dict(), sort_keys=True)


def _flow_from_dict(data: dict[str, Any]) -> Flow:
    transfer = data.get("transfer")
    return Flow(**data | {"transfer": Transfer(**transfer) if transfer else None})


def _path_from_dict(data: dict[str, Any]) -> Path:
    queue = data.get("aqm")
    return Path(**data | {"aqm": Aqm(**queue) if queue else None})


def from_dict(data: dict[str, Any]) -> Scenario:
    """Undo :meth:`Scenario.to_dict`.  Raises ScenarioError for anything else."""
    try:
        return Scenario(
            **data
            | {
                "modes": tuple(data["modes"]),
                "path": _path_from_dict(data["path"]),
                "flows": tuple(_flow_from_dict(flow) for flow in data["flows"]),
            }
        )
    except (TypeError, KeyError) as error:
        raise ScenarioError(f"this is not a scenario in JSON: {error}.") from None


def from_json(text: str) -> Scenario:
    """Undo :meth:`Scenario.to_json`.  Raises ScenarioError for anything else."""
    try:
        data = json.loads(text)
    except ValueError as error:
        raise ScenarioError(f"this is not a scenario in JSON: {error}.") from None
    return from_dict(data)


def load(file: str | pathlib.Path) -> Scenario:
    """Read a scenario file.  Raises ScenarioError if it cannot be used."""
    return parse(read_text(file), str(file))


def read_text(file: str | pathlib.Path) -> str:
    """The text of a TOML file.  Raises ScenarioError if there is none."""
    name = str(file)
    try:
        raw = pathlib.Path(file).read_bytes()
    except OSError as error:
        raise ScenarioError(f"{name}: cannot be read: {error.strerror}.") from None
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ScenarioError(f"{name}:{line}: this is not UTF-8 text.") from None


def parse(text: str, file: str = "scenario") -> Scenario:
    """Make a scenario of TOML text; ``file`` is what errors call it.

    Raises ScenarioError, one sentence with file and line.
    """
    return Reader(text, file, parse_toml(text, file)).scenario()


def parse_toml(text: str, file: str) -> dict[str, Any]:
    """The TOML document in ``text``.

    Raises ScenarioError, one sentence with file and line.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(_syntax_error(text, file, str(error))) from None


def _syntax_error(text: str, file: str, message: str) -> str:
    """Turn tomllib's "... (at line 3, column 7)" into "FILE:3: ..."."""
    match = re.fullmatch(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", message, re.S)
    what, line = (match[1], match[2]) if match else (message, None)
    number = int(line) if line else max(1, len(text.splitlines()))
    return f"{file}:{number}: malformed TOML: {what[0].lower()}{what[1:]}."


def _locations(value: Any, at: Location = ()) -> list[Location]:
    """Where each value of a TOML document stands, containers included."""
    children: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        children = list(value.items())
    elif isinstance(value, list):
        children = list(enumerate(value))
    return [at] + [found for key, child in children for found in _locations(child, (*at, key))]


def locate(text: str) -> dict[Location, int]:
    """The line on which each value of a valid TOML document is set.

    tomllib gives no positions.  But a TOML document cut between two statements
    is one too, and cut inside a statement is none; so what a line adds to the
    document before it is what the statement that ends there sets.  A statement
    of several lines counts as the line on which it begins.
    """
    lines = text.split("\n")
    found: dict[Location, int] = {}
    start = 0
    for end in range(1, len(lines) + 1):
        if start == end - 1 and re.match(r"\s*(#|$)", lines[start]):
            start = end
            continue
        try:
            document = tomllib.loads("\n".join(lines[:end]) + "\n")
        except tomllib.TOMLDecodeError:
            continue
        for location in _locations(document):
            found.setdefault(location, start + 1)
        start = end
    return found


#: Units of quantities, with what they are in bits/s, bytes and us.
RATE_UNITS = {"kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
SIZE_UNITS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9}
TIME_UNITS = {"us": 1, "ms": 10**3, "s": 10**6}
_NUMBER = r"(-?\d+(?:\.\d+)?)"


class Reader:
    """Turns a TOML document into a scenario, or says what is wrong where."""

    def __init__(
        self,
        text: str,
        file: str,
        document: dict[str, Any],
        origin: dict[Location, Location] | None = None,
    ) -> None:
        self.text, self.file, self.document = text, file, document
        #: Where in the text a value stands that stands elsewhere in the document.
        self.origin = origin or {}

    def fail(self, at: Location, what: str) -> ScenarioError:
        """The error to raise about ``at``, or about the table that lacks it."""
        lines, at = locate(self.text), self.placed(at)
        while at and at not in lines:
            at = at[:-1]
        what = what.replace("\n", "\\n")
        return ScenarioError(f"{self.file}:{lines[at] if at else 1}: {what}.")

    def placed(self, at: Location) -> Location:
        """Where in the text stands what the document has at ``at``."""
        for length in range(len(at), 0, -1):
            if at[:length] in self.origin:
                return (*self.origin[at[:length]], *at[length:])
        return at

    def label(self, at: Location) -> str:
        """How a message calls ``at``: ``path.rate``, ``flow 2's start``."""
        if at[0] in ("flow", "transfer") and len(at) == 3:
            return f"{at[0]} {int(at[1]) + 1}'s {at[2]}"
        return ".".join(str(part) for part in at)

    def table(self, value: Any, at: Location, keys: tuple[str, ...]) -> dict[str, Any]:
        """``value`` as a table that holds no key but ``keys``."""
        if not isinstance(value, dict):
            raise self.fail(at, f"{at[0]} must be a table, not {kind_of(value)}")
        for key in value:
            if key not in keys:
                where = f" in [{at[0]}]" if at else ""
                raise self.fail(
                    (*at, key), f'unknown key "{key}"{where}; known keys are {", ".join(keys)}'
                )
        return value

    def get(self, at: Location, default: Any = None) -> Any:
        """The value at ``at``; the default, or an error, where there is none."""
        value: Any = self.document
        for part in at:
            if isinstance(value, dict) and part not in value:
                if default is None:
                    raise self.fail(at, f"{self.label(at)} is missing")
                return default
            value = value[part]
        return value

    def string(self, at: Location, default: str | None = None) -> str:
        """The string at ``at``."""
        value = self.get(at, default)
        if not isinstance(value, str):
            raise self.fail(at, f"{self.label(at)} must be a string, not {kind_of(value)}")
        return value

    def integer(self, at: Location, default: int, low: int, high: int) -> int:
        """The whole number at ``at``, within low .. high."""
        value = self.get(at, default)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.fail(at, f"{self.label(at)} must be a whole number, not {kind_of(value)}")
        if not low <= value <= high:
            raise self.fail(at, f"{self.label(at)} is {value}, not within {low} .. {high}")
        return value

    def boolean(self, at: Location, default: bool) -> bool:
        """True or false."""
        value = self.get(at, default)
        if not isinstance(value, bool):
            raise self.fail(at, f"{self.label(at)} must be true or false, not {kind_of(value)}")
        return value

    def quantity(
        self, at: Location, default: str | None, units: dict[str, int], high: int
    ) -> Decimal:
        """The number with one of ``units`` at ``at``, see :meth:`amount`."""
        return self.amount(at, self.string(at, default), units, high)

    def amount(self, at: Location, value: str, units: dict[str, int], high: int) -> Decimal:
        """A number with one of ``units``, in the base unit, within 0 .. high.

        ``high`` is in the last of the units.
        """
        names = list(units)
        choice = " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
        example = self.label(at)
        match = re.fullmatch(_NUMBER + r"\s*([A-Za-z%]*)", value.strip())
        if not match:
            raise self.fail(at, f'{example} is "{value}", which is no number with unit {choice}')
        if not match[2]:
            raise self.fail(at, f'{example} is "{value}" without a unit: {choice}')
        if match[2] not in units:
            raise self.fail(at, f'{example} is "{value}": unknown unit "{match[2]}", not {choice}')
        if match[1].startswith("-"):
            raise self.fail(at, f'{example} is "{value}": it cannot be negative')
        amount = Decimal(match[1]) * units[match[2]]
        if amount > high * units[names[-1]]:
            raise self.fail(at, f'{example} is "{value}": more than {high}{names[-1]}')
        return amount

    def rate_bps(self, at: Location) -> int:
        """A rate in bits/s."""
        rate = int(self.quantity(at, None, RATE_UNITS, 100))
        if rate < 1000:
            raise self.fail(at, f'{self.label(at)} is "{self.get(at)}": less than 1kbit')
        return rate

    def time_us(self, at: Location, default: str | None, high_s: int) -> int:
        """A time in us, at most ``high_s``."""
        return round(self.quantity(at, default, TIME_UNITS, high_s))

    def fraction(self, at: Location, default: str) -> float:
        """A percentage below 100 as a fraction."""
        percent = self.quantity(at, default, {"%": 1}, 100)
        if percent == 100:
            raise self.fail(at, f"{self.label(at)} is 100%: it must be less")
        return float(percent / 100)

    def queue_packets(self, at: Location, rate_bps: int, rtt_us: int) -> int:
        """The length of a queue; of two sizes the larger."""
        bdps, comma, packets = self.string(at, "1.0bdp").partition(",")
        if not comma:
            return self.queue_part(at, bdps, rate_bps, rtt_us)
        if not bdps.strip().endswith("bdp") or not packets.strip().endswith("p"):
            raise self.fail(
                at, f'{self.label(at)} is "{self.get(at)}": of two sizes the first is in bdp, '
                f"the second in p"
            )  # fmt: skip
        return max(self.queue_part(at, part, rate_bps, rtt_us) for part in (bdps, packets))

    def queue_part(self, at: Location, amount: str, rate_bps: int, rtt_us: int) -> int:
        """One size of a queue, in packets."""
        if amount.strip().endswith("bdp"):
            bdp = Decimal(rate_bps) * rtt_us / 8_000_000 / PACKET_BYTES
            packets = math.ceil(self.amount(at, amount, {"bdp": 1}, 1000) * bdp)
            return min(max(packets, MIN_BDP_QUEUE_PACKETS), MAX_QUEUE_PACKETS)
        number = self.amount(at, amount, {"bdp": 1, "p": 1}, MAX_QUEUE_PACKETS)
        if number != int(number) or number < 1:
            raise self.fail(at, f'{self.label(at)} is "{amount}": not a whole number of packets')
        return int(number)

    def cc(self, at: Location, known: tuple[str, ...], default: str | None = None) -> str:
        """The name of a CC out of ``known``."""
        name = self.string(at, default)
        if name not in known:
            raise self.fail(
                at, f'{self.label(at)} is "{name}", an unknown CC; known are {", ".join(known)}'
            )
        return name

    def modes(self) -> tuple[str, ...]:
        """The modes, each once."""
        modes = self.get(("modes",), list(DEFAULT_MODES))
        if not isinstance(modes, list):
            raise self.fail(("modes",), f"modes must be a list, not {kind_of(modes)}")
        if not modes:
            raise self.fail(("modes",), f"modes is empty; it takes {', '.join(MODES)}")
        for index, mode in enumerate(modes):
            if mode not in MODES:
                raise self.fail(
                    ("modes", index), f"unknown mode {json.dumps(mode, default=str)}; "
                    f"known are {', '.join(MODES)}"
                )  # fmt: skip
            if mode in modes[:index]:
                raise self.fail(("modes", index), f'mode "{mode}" stands twice in modes')
        return tuple(modes)

    def seconds(self, at: Location = ("seconds",)) -> float:
        """The length of each run."""
        value = self.get(at)
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self.fail(at, f"{self.label(at)} must be a number, not {kind_of(value)}")
        if not 0 < value <= MAX_SECONDS:
            raise self.fail(
                at, f"{self.label(at)} is {value}, not above 0 and at most {MAX_SECONDS}"
            )
        return float(value)

    def path(self) -> Path:
        """The table [path]."""
        at = ("path",)
        keys = ("rate", "rtt", "loss", "queue", "duplicate", "corrupt", "reorder", "reorder_by")
        keys += AQM_KEYS
        table = self.table(self.get(at), at, keys)
        rate_bps = self.rate_bps((*at, "rate"))
        rtt_us = self.time_us((*at, "rtt"), None, 10)
        queue_packets = self.queue_packets((*at, "queue"), rate_bps, rtt_us)
        return Path(
            rate_bps=rate_bps,
            rtt_us=rtt_us,
            loss_fraction=self.fraction((*at, "loss"), "0%"),
            queue_packets=queue_packets,
            duplicate_fraction=self.fraction((*at, "duplicate"), "0%"),
            corrupt_fraction=self.fraction((*at, "corrupt"), "0%"),
            reorder_fraction=self.fraction((*at, "reorder"), "0%"),
            reorder_by_us=self.reorder_by_us(table, rtt_us),
            aqm=self.aqm(table, queue_packets),
        )

    def aqm(self, table: dict[str, Any], queue_packets: int) -> Aqm | None:
        """What [path] says about the queue's AQM; None for droptail."""
        kind = self.string(("path", "aqm"), "droptail")
        if kind not in aqm.KINDS:
            raise self.fail(
                ("path", "aqm"),
                f'path.aqm is "{kind}", an unknown AQM; known are {", ".join(aqm.KINDS)}',
            )
        self.refuse_other_aqms(table, kind)
        if kind == "droptail":
            return None
        low, high = self.aqm_thresholds(table, kind, queue_packets)
        return Aqm(
            kind,
            ecn=kind == "step" or self.boolean(("path", "aqm_ecn"), kind in aqm.DEFAULT_ECN),
            min_packets=low,
            max_packets=high,
            probability=self.probability() if kind == "red" else 0.0,
            target_us=self.aqm_time_us(kind, "target"),
            interval_us=self.aqm_time_us(kind, "interval"),
            tupdate_us=self.aqm_time_us(kind, "tupdate"),
        )

    def refuse_other_aqms(self, table: dict[str, Any], kind: str) -> None:
        """Parameters that ``kind`` does not take; a campaign's [path] may have them."""
        chosen = ("path", "aqm") in self.origin
        for key in table:
            at = ("path", key)
            if key in AQM_KEYS[1:] and key.removeprefix("aqm_") not in aqm.PARAMETERS[kind]:
                if chosen and at not in self.origin:
                    continue
                takers = [k for k in aqm.KINDS if key.removeprefix("aqm_") in aqm.PARAMETERS[k]]
                raise self.fail(
                    at, f'path.{key} says nothing with aqm "{kind}"; it is of {", ".join(takers)}'
                )

    def aqm_time_us(self, kind: str, name: str) -> int:
        """A time of the AQM, above 0; 0 where it has none of that name."""
        at, default = ("path", f"aqm_{name}"), aqm.DEFAULT_TIMES.get(kind, {}).get(name)
        if default is None:
            return 0
        time_us = self.time_us(at, default, MAX_AQM_TIME_S)
        if not time_us:
            raise self.fail(at, f'{self.label(at)} is "{self.get(at)}": less than 1us')
        return time_us

    def probability(self) -> float:
        """RED's at its maximum."""
        at = ("path", "aqm_probability")
        percent = self.quantity(at, aqm.DEFAULT_PROBABILITY, {"%": 1}, 100)
        if not percent:
            raise self.fail(at, "path.aqm_probability is 0: red would do nothing below its max")
        return float(percent / 100)

    def packets(self, at: Location) -> int:
        """A number of packets, at least one."""
        number = self.quantity(at, None, {"p": 1}, MAX_QUEUE_PACKETS)
        if number != int(number) or number < 1:
            raise self.fail(
                at, f'{self.label(at)} is "{self.get(at)}": not a whole number of packets above 0'
            )
        return int(number)

    def aqm_thresholds(
        self, table: dict[str, Any], kind: str, queue_packets: int
    ) -> tuple[int, int]:
        """Minimum and maximum of red; of step both are the threshold; else 0."""
        if kind == "step":
            at: Location = ("path", "aqm_threshold")
            threshold = self.packets(at)
            most = min(queue_packets - 1, aqm.MAX_STEP_PACKETS)
            if threshold > most:
                raise self.fail(
                    at, f"path.aqm_threshold is {threshold} packets: more than {most}, with which "
                    f"a queue of {queue_packets} packets could still mark"
                )  # fmt: skip
            return threshold, threshold
        return self.red_thresholds(table, queue_packets) if kind == "red" else (0, 0)

    def red_thresholds(self, table: dict[str, Any], queue_packets: int) -> tuple[int, int]:
        """Minimum and maximum of red; of what is not given tc's defaults."""
        low_at, high_at = ("path", "aqm_min"), ("path", "aqm_max")
        low = self.packets(low_at) if "aqm_min" in table else 0
        if "aqm_max" in table:
            high = self.packets(high_at)
        else:
            wanted = 3 * low or max(2, queue_packets // 4)
            high = min(wanted, queue_packets, aqm.MAX_RED_PACKETS)
        low = low or max(1, high // 3)
        most = min(queue_packets, aqm.MAX_RED_PACKETS)
        if high > most:
            raise self.fail(
                high_at, f"path.aqm_max is {high} packets: more than {most}, which red can have in "
                f"a queue of {queue_packets} packets"
            )  # fmt: skip
        if low >= high:
            at = low_at if "aqm_min" in table else high_at
            raise self.fail(
                at, f"path.aqm_min is {low} packets, not below aqm_max, which is {high}"
            )
        return low, high

    def reorder_by_us(self, table: dict[str, Any], rtt_us: int) -> int:
        """How much faster a packet that overtakes is; 0 where none does."""
        at = ("path", "reorder_by")
        if "reorder_by" in table and "reorder" not in table:
            raise self.fail(at, "path.reorder_by says nothing without path.reorder")
        if not self.fraction(("path", "reorder"), "0%"):
            return 0
        by_us = self.time_us(at, f"{rtt_us // 8}us", 10)
        if not 0 < by_us <= rtt_us // 2:
            raise self.fail(
                at if "reorder_by" in table else ("path", "reorder"),
                f"path.reorder_by is {by_us}us, not above 0 and at most half of the RTT",
            )
        return by_us

    def flow(self, at: Location, seconds: float) -> Flow:
        """The table [[flow]] or [[transfer]] at ``at``."""
        is_transfer = at[0] == "transfer"
        keys = [field.name for field in dataclasses.fields(Flow) if field.name != "transfer"]
        keys = [re.sub("_us$|_fraction$", "", key) for key in keys]
        table = self.table(self.get(at), at, (*["bytes", "load"][: 2 * is_transfer], *keys))
        guest_cc = self.cc((*at, "guest_cc"), GUEST_CCS)
        start_us = self.time_us((*at, "start"), "0s", MAX_SECONDS)
        if start_us >= seconds * 1e6:
            raise self.fail(
                (*at, "start"),
                f'{self.label((*at, "start"))} is "{table["start"]}", but the run ends '
                f"after {seconds:g}s",
            )
        return Flow(
            count=1 if is_transfer else self.integer((*at, "count"), 1, 1, MAX_FLOWS),
            guest_cc=guest_cc,
            native_cc=self.cc((*at, "native_cc"), GUEST_CCS, guest_cc),
            enforce=self.cc((*at, "enforce"), ENFORCE_CCS) if "enforce" in table else None,
            start_us=start_us,
            extra_delay_us=self.time_us((*at, "extra_delay"), "0ms", 10),
            extra_loss_fraction=self.fraction((*at, "extra_loss"), "0%"),
            ipv6=self.boolean((*at, "ipv6"), False),
            tso=self.boolean((*at, "tso"), True),
            gso=self.boolean((*at, "gso"), True),
            quickack=self.boolean((*at, "quickack"), False),
            ecn=self.boolean((*at, "ecn"), False),
            receiver_tcon=self.boolean((*at, "receiver_tcon"), True),
            transfer=self.transfer(at) if is_transfer else None,
        )

    def transfer(self, at: Location) -> Transfer:
        """What a table [[transfer]] has that a flow has not."""
        size_bytes = self.quantity((*at, "bytes"), None, SIZE_UNITS, 100)
        if size_bytes != int(size_bytes) or size_bytes < 1:
            raise self.fail(
                (*at, "bytes"),
                f'{self.label((*at, "bytes"))} is "{self.get((*at, "bytes"))}": '
                f"not a whole number of bytes above 0",
            )
        load = None
        if "load" in self.get(at):
            load = self.fraction((*at, "load"), "")
            if not load:
                raise self.fail((*at, "load"), f"{self.label((*at, 'load'))} is 0: nothing comes")
        count = self.integer((*at, "count"), 1, 1, MAX_TRANSFERS)
        return Transfer(int(size_bytes), count, load)

    def flows(self, seconds: float) -> tuple[Flow, ...]:
        """All tables [[flow]], then all [[transfer]]."""
        found: list[Flow] = []
        for kind in ("flow", "transfer"):
            tables = self.get((kind,), [])
            if not isinstance(tables, list):
                raise self.fail(
                    (kind,), f"{kind} must be written [[{kind}]], not as {kind_of(tables)}"
                )
            found += [self.flow((kind, index), seconds) for index in range(len(tables))]
        if not found:
            raise self.fail(
                ("flow",), "there is no [[flow]] and no [[transfer]]: a scenario needs one"
            )
        total = sum(flow.count for flow in found)
        if total > MAX_FLOWS:
            raise self.fail(("flow",), f"there are {total} flows, more than {MAX_FLOWS}")
        return tuple(found)

    def refuse_idle_linux(self, modes: tuple[str, ...], flows: tuple[Flow, ...]) -> None:
        """Mode linux where it would enforce nothing, or the same as mode enforced."""
        if "linux" not in modes:
            return
        at = ("modes", modes.index("linux"))
        if all(flow.enforce is None for flow in flows):
            raise self.fail(at, 'mode "linux" enforces nothing: no flow has enforce')
        if "enforced" in modes and all(
            flow.enforced_cc("linux") == flow.enforced_cc("enforced") for flow in flows
        ):
            same = next(flow.enforce for flow in flows if flow.enforce)
            raise self.fail(at, f'modes "linux" and "enforced" are the same: both enforce {same}')

    def scenario(self) -> Scenario:
        """The whole document."""
        keys = ("name", "seconds", "modes", "seed", "path", "flow", "transfer")
        self.table(self.document, (), keys)
        name = self.name()
        seconds, modes, path = self.seconds(), self.modes(), self.path()
        flows = self.flows(seconds)
        self.refuse_idle_linux(modes, flows)
        return Scenario(
            name=name,
            seconds=seconds,
            modes=modes,
            seed=self.integer(("seed",), 1, 0, MAX_SEED),
            path=path,
            flows=flows,
        )

    def name(self) -> str:
        """The name, which becomes part of file names."""
        name = self.string(("name",))
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", name):
            raise self.fail(
                ("name",),
                f"name is {json.dumps(name)}: it takes up to 64 letters, digits, '.', '_' and '-'",
            )
        return name


def kind_of(value: Any) -> str:
    """What a TOML value is, for messages."""
    kinds = {bool: "a boolean", int: "a number", float: "a number", str: "a string"}
    kinds |= {list: "a list", dict: "a table"}
    return kinds.get(type(value), "a date or time")
