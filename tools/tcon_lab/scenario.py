# SPDX-License-Identifier: GPL-2.0-only
"""A scenario that the lab is asked to run, with all that it takes decided: plain data.

A file says it in the words of :mod:`.experiment.scenario_file`; into a virtual machine it
comes as JSON.  So this needs nothing outside the standard library.

A mode says who decides: ``guest`` is the guest's own ``guest_cc`` with TCon
leaving it alone, ``native`` is ``native_cc`` in the guest's stack with TCon
leaving it alone, ``observed`` is the same with TCon looking at all packets (its parameter
``observe``), ``enforced`` is ``guest_cc`` in the guest with TCon enforcing
``enforce``, ``linux`` is the same with ``linux:`` and ``native_cc`` in place of
``enforce`` (the kernel's CC run by TCon, beside TCon's own), and ``stock`` is
``native_cc`` on the distribution's own datapath.  Flows without ``enforce`` are left
alone in mode ``linux`` too.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

from .aqm import Aqm
from .errors import LabError
from .placement import HYPERVISOR

MODES = ("guest", "native", "observed", "linux", "enforced", "stock")
#: The mode in which TCon looks at packets that no rule concerns.
OBSERVED = "observed"
#: Modes in which the guest's own stack runs ``native_cc``.
NATIVE_MODES = ("native", OBSERVED, "stock")
#: Modes in which TCon enforces something.
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
    "reno", "cubic", "vegas", "ctcp", "dctcp", "bbr", "bbr3", "lincubic", "accucubic",
    "tahoe", "fast", "timely", "copa", "vivace", "bbr2",
    *(f"{KERNEL_CC}{cc}" for cc in GUEST_CCS),
)  # fmt: skip

#: Bytes of a full IP packet: one place of a queue given in BDPs holds this.
PACKET_BYTES = 1500
#: A full frame: such a packet and the Ethernet header.
FRAME_BYTES = 1514
#: A sender is a namespace of its hypervisor's kernel, or a machine with a kernel of its own.
GUESTS = ("namespace", "vm")
#: The device that makes the bottleneck's rate.
LINKS = ("tbf", "netem")
MAX_SEED = 2**32 - 1
#: A guest that pauses does so once in this time.
GUEST_PAUSE_PERIOD_US = 100_000


class ScenarioError(LabError):
    """A scenario is wrong; the text is one sentence with file and line."""


@dataclass(frozen=True)
class Path:
    """The bottleneck: ``rate_bps`` in bits/s, ``rtt_us`` of an empty path,
    ``queue_packets`` long, under ``aqm`` unless that is None.  The fractions are of
    packets in the data direction: ``loss_fraction`` are dropped, ``duplicate_fraction``
    arrive twice, ``corrupt_fraction`` have a bit turned, ``reorder_fraction`` are
    ``reorder_by_us`` faster than others.  Before the bottleneck a policer drops what is beyond
    ``police_bps`` (0: there is none) and ``police_burst_bytes`` at once.  ``link`` is one of
    LINKS, which makes the rate.  The way back passes ``back_rate_bps`` (0: whatever comes), with
    a queue of ``back_queue_packets``.
    """

    rate_bps: int
    rtt_us: int
    loss_fraction: float
    queue_packets: int
    duplicate_fraction: float = 0.0
    corrupt_fraction: float = 0.0
    reorder_fraction: float = 0.0
    reorder_by_us: int = 0
    police_bps: int = 0
    police_burst_bytes: int = 0
    aqm: Aqm | None = None
    link: str = "tbf"
    back_rate_bps: int = 0
    back_queue_packets: int = 0

    @property
    def back(self) -> Path:
        """The bottleneck of the way back, where it has one."""
        return Path(self.back_rate_bps, self.rtt_us, 0.0, self.back_queue_packets, link=self.link)

    @property
    def bdp_bytes(self) -> int:
        """Bandwidth-delay product in bytes."""
        return self.rate_bps * self.rtt_us // 8_000_000


@dataclass(frozen=True)
class Transfer:
    """``count`` transfers of ``size_bytes`` between one pair of guests, one after
    another where ``load_fraction`` is None, else at random times at which they
    take that share of the path's rate.  Each is over ``fan_in`` connections at once, with
    ``size_bytes`` over each.  After ``pause_us`` the next is over the same connections; 0: of
    one connection it has its own.
    """

    size_bytes: int
    count: int
    load_fraction: float | None
    fan_in: int = 1
    pause_us: int = 0

    @property
    def whole_bytes(self) -> int:
        """The bytes of a transfer, over all its connections."""
        return self.size_bytes * self.fan_in

    def per_second(self, rate_bps: int) -> float:
        """How many begin in a second; 0: one after another."""
        return (self.load_fraction or 0.0) * rate_bps / 8 / self.size_bytes


@dataclass(frozen=True)
class Flow:
    """``count`` equal bulk transfers, or what ``transfer`` says.  Over the connection of each
    bulk transfer the receiver sends ``back_bps`` at most.  ``enforce`` None:
    TCon leaves them alone; ``start_us`` counts from the start of the run;
    ``extra_*`` come on top of the path's, and ``guest_delay_us`` lies between the sender and
    TCon; the sender pauses for ``guest_pause_us`` of each GUEST_PAUSE_PERIOD_US; ``guest`` is
    one of GUESTS, which the sender is; without ``tso`` the guest cuts its super-packets
    itself, without ``gso`` it makes none; with ``quickack`` the receiver delays no ACK; with
    ``ecn`` its stack speaks ECN; ``guest_params`` are the kernel's, of ``guest_cc``, and
    ``native_params`` of ``native_cc``; TCon's CC has ``weight`` and ``params``, and repairs wait
    for ``rto_min_us`` at least, natively the stack for ``native_rto_min_us``; without
    ``receiver_tcon`` TCon is at the sender only, and there it is where ``placement`` says, in
    ``tcon_vms`` machines if in such.
    """

    count: int
    guest_cc: str
    native_cc: str
    enforce: str | None
    start_us: int = 0
    extra_delay_us: int = 0
    extra_loss_fraction: float = 0.0
    guest_delay_us: int = 0
    guest_pause_us: int = 0
    guest: str = "namespace"
    ipv6: bool = False
    tso: bool = True
    gso: bool = True
    quickack: bool = False
    ecn: bool = False
    guest_params: dict[str, int] = dataclasses.field(default_factory=dict, hash=False)
    native_params: dict[str, int] = dataclasses.field(default_factory=dict, hash=False)
    weight: float = 1.0
    params: dict[str, float] = dataclasses.field(default_factory=dict, hash=False)
    rto_min_us: int | None = None
    native_rto_min_us: int | None = None
    receiver_tcon: bool = True
    placement: str = HYPERVISOR
    tcon_vms: int = 1
    transfer: Transfer | None = None
    back_bps: int = 0

    @property
    def in_machine(self) -> bool:
        """Whether the sender has a kernel of its own."""
        return self.guest == "vm"

    def stack_cc(self, mode: str) -> str:
        """The CC that the guest's own stack runs in ``mode``."""
        return self.native_cc if mode in NATIVE_MODES else self.guest_cc

    def stack_params(self, mode: str) -> dict[str, int]:
        """The parameters of that CC; of what is not among them the kernel decides."""
        return self.native_params if mode in NATIVE_MODES else self.guest_params

    def kernel_ccs(self, mode: str) -> list[tuple[str, dict[str, int]]]:
        """The CCs in its hypervisor's kernel, with parameters: its stack's CC, unless
        it has a kernel of its own, and one of the kernel's that TCon enforces.
        """
        found = [] if self.in_machine else [(self.stack_cc(mode), self.stack_params(mode))]
        enforced = self.enforced_cc(mode) or ""
        if enforced.startswith(KERNEL_CC):
            cc = enforced.removeprefix(KERNEL_CC)
            found.append((cc, self.native_params if cc == self.native_cc else {}))
        return found

    def stack_rto_min_us(self, mode: str) -> int | None:
        """The least time-out of the guest's own stack in ``mode``; None: the kernel's."""
        return self.native_rto_min_us if mode in NATIVE_MODES else None

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
        delay_us = self.path.rtt_us + max(
            flow.extra_delay_us + flow.guest_delay_us + flow.guest_pause_us for flow in self.flows
        )
        return delay_us + sum(
            link.queue_packets * PACKET_BYTES * 8_000_000 // link.rate_bps
            for link in (self.path, self.path.back)
            if link.rate_bps
        )

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
