# SPDX-License-Identifier: GPL-2.0-only
"""Models of TCP CUBIC, from Belhareth's thesis (Nice 2014): one flow, and many.

Equations have the thesis's numbers; windows and buffers are in packets, times in
seconds, capacities in packets per second.  Its beta is what a loss takes: 0.2 there, 0.3
in Linux and RFC 9438 (BETA).

One flow (chapter 2): the window is lost where it is C tau + B + 1 (Table 2.4), and is
then the larger one of the cubic function (2.1) and Reno's, (2.5) below C tau and (2.11)
above it.  From there on cycles are all alike, since the same window is lost each time
(fast convergence, 2.13, then never applies).  (2.11) takes the present RTT for all of
the time since the loss, which is more than it was: in TCP mode its cycles are too long.

Many flows (chapter 3): what share of the flows has which window, (3.2), with the queue
(3.3), the RTT (3.4), the loss probability (3.5) and the time of the last loss (3.6).  The
thesis solves (3.2) on a grid of all windows and plateaus; here ``flows`` of them are
followed, each with a window and a plateau.  A loss of it is drawn with the probability that
(3.2) gives it: for many flows both are the same.  The second term of growth in (3.2)
has a factor (w - 1) / r(t), with which the shares would not sum up to 1; it is left out.

Which flows lose together (section 5.5), and how large a buffer should be (1.4.1, 3.5.2): it has
a criterion and rules for these, no model; see :func:`lose_together` and :func:`buffer_rules`.
"""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import dataclass

#: CUBIC's C (section 2.3, RFC 9438).
C_CUBIC = 0.4
#: The share that a loss takes: RFC 9438 and Linux (717 of 1024 stay); the thesis has 0.2.
BETA = 0.3
#: The fluid model keeps all windows of this many moments, or some more.
_KEPT = 300
#: The share that a loss takes of Reno's window, and the packets that a round trip adds.
RENO_BETA = 0.5


@dataclass(frozen=True)
class Path:
    """A bottleneck: ``capacity_pps``, propagation both ways, and its buffer."""

    capacity_pps: float
    tau_s: float
    buffer_packets: float

    @property
    def bdp_packets(self) -> float:
        """C tau."""
        return self.capacity_pps * self.tau_s

    @property
    def lost_at_packets(self) -> float:
        """The window at which a packet is lost, W_CE = W_DE of Table 2.4."""
        return self.bdp_packets + self.buffer_packets + 1


def plateau_s(w_max: float, window: float) -> float:
    """V_cubic: when the cubic function is back at ``w_max``, from ``window`` after a loss.

    (2.12) where ``window`` is (1 - beta) w_max, (2.13) with fast convergence.
    """
    return math.cbrt((w_max - window) / C_CUBIC)


def w_cubic(t_s: float, v_s: float, w_max: float) -> float:
    """(2.1): the cubic function, ``t_s`` after the loss."""
    return C_CUBIC * (t_s - v_s) ** 3 + w_max


def slope(beta: float = BETA, per_ack: float = 1) -> float:
    """What Reno's part adds in a round trip: 3 beta / (b (2 - beta)) of (2.5) and (2.14).

    ``per_ack``: b, the packets for each ACK.  Linux counts packets: 1.
    """
    return 3 * beta / (per_ack * (2 - beta))


def w_tcp_empty(t_s: float, w_start: float, path: Path, a: float) -> float:
    """(2.5): Reno's part while the buffer is empty."""
    return w_start + a * t_s / path.tau_s


def w_tcp_queued(t_s: float, w_start: float, path: Path, a: float) -> float:
    """(2.11): Reno's part while packets queue, by the lower bound of the RTT."""
    root = (a + w_start) ** 2 + 4 * (a * path.capacity_pps * t_s - a * w_start)
    return (w_start + a + math.sqrt(max(root, 0.0))) / 2


class Cycle:
    """One flow's cycle: from a loss at C tau + B + 1 to the next (2.3.1, Table 2.3)."""

    def __init__(self, path: Path, beta: float = BETA, per_ack: float = 1) -> None:
        self.path = path
        self.w_max = path.lost_at_packets
        self.w_start = (1 - beta) * self.w_max
        self.v_s = plateau_s(self.w_max, self.w_start)
        self.a = slope(beta, per_ack)

    def w_tcp(self, t_s: float) -> float:
        """Reno's part: (2.5) below C tau, (2.11) above."""
        empty = w_tcp_empty(t_s, self.w_start, self.path, self.a)
        if empty < self.path.bdp_packets:
            return empty
        queued = w_tcp_queued(t_s, self.w_start, self.path, self.a)
        return max(queued, self.path.bdp_packets)

    def window(self, t_s: float) -> float:
        """W(t): the larger of the two, at most what is lost."""
        larger = max(w_cubic(t_s, self.v_s, self.w_max), self.w_tcp(t_s))
        return min(larger, self.w_max)

    def in_cubic_mode(self) -> bool:
        """Whether the cubic function is the larger one when the loss comes."""
        return w_cubic(self.period_s, self.v_s, self.w_max) >= self.w_tcp(self.period_s)

    @property
    def period_s(self) -> float:
        """The time from loss to loss: t_DE or t_CE of Table 2.5, whichever comes first.

        The cubic function is back at ``w_max`` after V; Reno's part may be sooner.
        """
        if self.w_tcp(self.v_s) < self.w_max:
            return self.v_s
        low, high = 0.0, self.v_s
        while high - low > 1e-9 * high:
            middle = (low + high) / 2
            low, high = (middle, high) if self.w_tcp(middle) < self.w_max else (low, middle)
        return high

    def mean_window(self, steps: int = 2000) -> float:
        """The mean of W(t) over a cycle, by the midpoint rule."""
        step_s = self.period_s / steps
        return math.fsum(self.window((n + 0.5) * step_s) for n in range(steps)) / steps

    def mean_queue(self, steps: int = 2000) -> float:
        """(A.7), over the cycle's length: the mean of what is above C tau."""
        step_s = self.period_s / steps
        above = (
            max(0.0, self.window((n + 0.5) * step_s) - self.path.bdp_packets) for n in range(steps)
        )
        return math.fsum(above) / steps

    def mean_rtt_s(self) -> float:
        """(A.9): tau and the time of the mean queue."""
        return self.path.tau_s + self.mean_queue() / self.path.capacity_pps

    def sent_packets(self, steps: int = 2000) -> float:
        """n of (A.5), by Table 2.6: W / tau with an empty buffer, C with packets in it."""
        step_s = self.period_s / steps
        rates = (
            min(self.window((n + 0.5) * step_s) / self.path.tau_s, self.path.capacity_pps)
            for n in range(steps)
        )
        return math.fsum(rates) * step_s

    def loss_rate(self) -> float:
        """(A.5): a packet of each cycle."""
        return 1 / self.sent_packets()

    def throughput_pps(self) -> float:
        """(A.6)."""
        return self.sent_packets() / self.period_s

    def series(self, times_s: list[float], loss_s: float) -> list[float]:
        """W at these times, where one of the losses is at ``loss_s``."""
        return [self.window((t_s - loss_s) % self.period_s) for t_s in times_s]


def always_cubic(path: Path, beta: float = BETA) -> bool:
    """Whether a path is always in cubic mode: the sign of F in section 2.2.2.

    F is the least difference of (2.1) and (2.2) with the shortest RTT, at t_0.
    """
    w_max = path.bdp_packets + path.buffer_packets
    v_s = plateau_s(w_max, (1 - beta) * w_max)
    t_s = v_s + math.sqrt(beta / (C_CUBIC * (2 - beta) * path.tau_s))
    least = C_CUBIC * (t_s - v_s) ** 3 + beta * w_max - slope(beta) * t_s / path.tau_s
    return least > 0


# --- many flows -------------------------------------------------------------


class _Flow:
    """A flow of the fluid model: its loss, the window after it, and its V_cubic."""

    def __init__(self, w_max: float, beta: float) -> None:
        self.lose(w_max, beta, 0.0)

    def lose(self, w_max: float, beta: float, now_s: float) -> None:
        """A loss at a window of ``w_max``."""
        self.w_max, self.lost_s = w_max, now_s
        self.window = self.start = max(1.0, (1 - beta) * w_max)
        self.v_s = plateau_s(w_max, self.start) if w_max > self.start else 0.0  # (2.12)


@dataclass(frozen=True)
class Moment:
    """The fluid model at a time: means over the flows."""

    t_s: float
    window: float
    queue_packets: float
    rtt_s: float
    loss_probability: float
    lost: float  # share of the flows that lost since the last moment
    windows: tuple[float, ...] = ()  # of all flows, at some of the moments


def fluid(
    path: Path,
    seconds: float,
    reno: bool = False,
    beta: float = BETA,
    flows: int = 200,
    step_s: float | None = None,
    seed: int = 1,
    once: bool = False,
) -> list[Moment]:
    """The fluid model (3.2) to (3.6) of flows that share a drop-tail buffer.

    ``path`` is what each flow has of it: its share of the capacity, and of the buffer.
    All flows begin with a plateau of 5 packets (section 3.4).  ``step_s`` is a tenth of
    tau where it is not given.

    With ``once`` it is not the thesis's: a flow loses at most once in a round trip, as TCP
    lowers its window once for all that is lost of one, and it grows by the time since its own
    last loss, not by the mean of all (3.6).
    """
    step = step_s or path.tau_s / 10
    rng = random.Random(seed)
    beta = RENO_BETA if reno else beta
    all_flows = [_Flow(5.0, beta) for _ in range(flows)]
    queue = intensity = t_s = 0.0
    delayed: list[float] = []  # k(t - r(t)): what senders have not heard of yet
    found: list[Moment] = []
    steps = math.ceil(seconds / step)
    kept_each = max(1, steps // _KEPT)
    for number in range(steps):
        t_s = number * step
        rtt_s = path.tau_s + queue / path.capacity_pps  # (3.4)
        mean = math.fsum(flow.window for flow in all_flows) / flows
        rate = mean / rtt_s
        overflows = queue >= path.buffer_packets and rate > path.capacity_pps
        dropped = 1 - path.capacity_pps / rate if overflows else 0.0  # (3.5)
        delayed.append(dropped)
        heard = delayed[max(0, number - round(rtt_s / step))]
        intensity += heard * rate * step  # of (3.6)
        since_s = t_s if intensity < 1 else t_s / intensity  # t - s_loss(t)
        since = None if once else since_s
        lost = _step(all_flows, since, t_s, heard, rtt_s, step, reno, beta, rng)
        kept = tuple(f.window for f in all_flows) if number % kept_each == 0 else ()
        found.append(Moment(t_s, mean, queue, rtt_s, dropped, lost / flows, kept))
        grown = queue + ((1 - dropped) * rate - path.capacity_pps) * step  # (3.3)
        queue = min(max(0.0, grown), path.buffer_packets)
    return found


def _step(
    flows: list[_Flow], since_s: float | None, now_s: float, heard: float, rtt_s: float,
    step_s: float, reno: bool, beta: float, rng: random.Random,
) -> int:  # fmt: skip
    """Let every flow lose, or grow by A of (3.2); how many lost.

    ``since_s``: for how long no flow has lost; None: each has its own time, and a round trip in
    which it does not lose again.
    """
    lost = 0
    tcp = (1.0 if reno else slope(beta)) / rtt_s
    for flow in flows:
        own_s = now_s - flow.lost_s
        may_lose = heard and (since_s is not None or own_s > rtt_s)
        if may_lose and rng.random() < 1 - math.exp(-heard * flow.window / rtt_s * step_s):
            flow.lose(flow.window, beta, now_s)
            lost += 1
            continue
        at_s = own_s if since_s is None else since_s
        cubic = not reno and w_cubic(at_s, flow.v_s, flow.w_max) > flow.start + tcp * at_s
        flow.window += (3 * C_CUBIC * (at_s - flow.v_s) ** 2 if cubic else tcp) * step_s
    return lost


# --- which flows lose together ------------------------------------------------


def two_packets_from_s(above: float) -> float:
    """The RTT, in s, from which on CUBIC adds two packets in the round trip in which it passes
    what the path holds (5.5.1).

    ``above``: by how many packets the path holds more than the plateau.  The three scenarios
    there are a plateau that is right (0: 0.35 s), one packet too low, as fast convergence leaves
    it (1: 0.25 s), and one too high (-1: 1.35 s).
    """
    return math.cbrt((above + 2) / C_CUBIC) - math.cbrt((above + 1) / C_CUBIC)


@dataclass(frozen=True)
class Together:
    """Section 5.5 on the flows of a path."""

    cubic_mode: bool
    full_rtt_s: float  # with a full queue
    packets: float  # that a flow adds in the round trip in which it passes what the path holds
    share: float  # of the flows that lose something then

    @property
    def high(self) -> bool:
        """ "If they send two packets or more, synchronization will be high" (5.5.1)."""
        return self.packets >= 2


def lose_together(
    path: Path, flows: int, reno: bool = False, beta: float = BETA, above: float = 0.0
) -> Together:
    """Whether ``flows`` flows, each with ``path`` as its share, lose in the same moments.

    The thesis has no formula of how many do.  It has a criterion, by which synchronisation is
    mild where a flow adds one packet in the round trip in which the path overflows, as Reno
    does, and high where it adds two or more (5.5.1); and in TCP mode there is none (5.5.4).  The
    packets follow from (2.1), a full RTT after the function has passed what the path holds
    (``above`` as in :func:`two_packets_from_s`), and in TCP mode from (2.5).  Section 2.2.2
    decides the mode.

    The share follows if what is too much in that round trip is lost, ``packets`` of each flow,
    and every loss hits any flow: 1 - (1 - 1 / N)^(N packets).  That is not the thesis's.
    """
    full_rtt_s = path.tau_s + path.buffer_packets / path.capacity_pps
    cubic = not reno and always_cubic(path, beta)
    packets = 1.0 if reno else slope(beta)
    if cubic:
        packets = C_CUBIC * (math.cbrt((above + 1) / C_CUBIC) + full_rtt_s) ** 3 - above
    share = 1 - (1 - 1 / flows) ** (flows * packets)
    return Together(cubic, full_rtt_s, packets, share)


# --- how large a buffer should be ---------------------------------------------


def buffer_rules(flows: int) -> dict[str, float]:
    """How large a buffer should be for ``flows`` flows, in BDPs (C RTT), by each rule that the
    thesis has: section 1.4.1, and its own model's in 3.5.2.
    """
    return {
        "C RTT (1.1)": 1.0,
        "C RTT / sqrt(N) (1.2)": 1 / math.sqrt(flows),
        "0.63 C RTT / sqrt(N) (1.3)": 0.63 / math.sqrt(flows),
        "20 % of C RTT (1.4.1)": 0.2,
        "10 % of C RTT (1.4.1)": 0.1,
        "30 % of C RTT, CUBIC (3.5.2)": 0.3,
        "60 % of C RTT, Reno (3.5.2)": 0.6,
    }


def buffer_for(points: list[tuple[float, float]], share: float) -> tuple[float, str]:
    """The least buffer with which ``share`` of a link is used, in the unit of the points.

    ``points``: buffers and the share that was used with each.  Between two of them it is taken from
    a straight line.  Also "" where a line gave it, "<" where the smallest buffer was enough, and
    ">" where none was.
    """
    points = sorted(points)
    if points[0][1] >= share:
        return points[0][0], "<"
    for (buffer, used), (more, then) in itertools.pairwise(points):
        if then >= share:
            return buffer + (more - buffer) * (share - used) / (then - used), ""
    return points[-1][0], ">"
