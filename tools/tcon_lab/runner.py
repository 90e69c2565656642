# SPDX-License-Identifier: GPL-2.0-only
"""Runs one mode of one scenario and returns its raw data.

It runs where the network is: in the VM, called by :mod:`.guest`, or on a real
machine (``--site=host``).  In every mode tcon.ko, where there is one, is loaded
and tracks the flows; modes other than "enforced" and "linux" leave it without rules, so it
changes no packet.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import platform
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from .aqm import counters
from .errors import LabError
from .kernel_params import KernelParams
from .machines import VirtualMachine
from .ovs import appctl
from .records import needed, told, with_summary
from .scenario import FRAME_BYTES, OBSERVED, Flow, Scenario, Transfer, from_dict
from .topo import QUEUE_PARENT, Guest, Lab, run_in

Progress = Callable[[str], None]
#: Is given the kind of probe and the lines that it wrote, which end with the call.
Take = Callable[[str, Iterable[str]], None]

_ALLOWED_CCS = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
_OBSERVE = Path("/sys/module/tcon/parameters/observe")
_TRANSFER = Path(__file__).with_name("transfer.py")
_DUPLEX = Path(__file__).with_name("duplex.py")

IPERF3_PORT = 5201
#: Where a sender waits for requests.
TRANSFER_PORT = 5202
FIRST_SOURCE_PORT = 40001
INTERVAL_S = 0.1
#: The queue's interval, since a tenth of a second is many round trips there.
_SHORT_INTERVAL_S = 0.01
#: Between the seeds of two series of transfers: a prime above all that people number by.
_SEEDS_APART = 1_000_003
_SHORT_RTT_US = 10_000
#: When tcon/flows is read: this long before the run ends.
_SNAPSHOT_BEFORE_END_S = 0.2
#: How long after its time an iperf3 client may still need to exchange results.
_CLIENT_GRACE_S = 60.0
_READY_TIMEOUT_S = 20.0
#: Time between looks at whether transfers have ended.
_POLL_S = 0.25
_RTT_TOLERANCE = 0.05
_RTT_TOLERANCE_US = 1000
_RATE_TOLERANCE = 0.02
_RATE_CHECK_S = 0.5
_PINGS = 5
#: Above it a run says that its numbers may be the CPU's, not the network's.
_CPU_BUSY_SHARE = 0.9

# Sends bursts of 8 UDP datagrams, each a full frame, a tenth faster than the
# bottleneck.  UDP_SEGMENT lets the uplink cut them: cheap for the CPU.
_BLAST = """
import socket, sys, time
address, rate_bps, seconds = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.setsockopt(socket.IPPROTO_UDP, 103, 1472)
payload, sent = bytes(8 * 1472), 0
start = time.monotonic()
while (now := time.monotonic() - start) < seconds:
    while sent * 1514 * 8 < now * rate_bps * 1.1:
        out.sendto(payload, (address, 9))
        sent += 8
    time.sleep(0.0005)
"""


def _wait_for(what: str, ready: Callable[[], bool]) -> None:
    """Poll until ready; LabError names what did not come."""
    end = time.monotonic() + _READY_TIMEOUT_S
    while not ready():
        if time.monotonic() > end:
            raise LabError(f"{what} did not start within {_READY_TIMEOUT_S:.0f} s")
        time.sleep(0.01)


# --- checks before a run ----------------------------------------------------


def _check_rtt(lab: Lab, index: int) -> float:
    """Ping along a connection's path: the smallest RTT in us, if it is right.

    Where packets overtake others, the median.  ping rounds down to microseconds.
    """
    flow = lab.pairs[index]
    path = lab.scenario.path
    loss = path.loss_fraction + path.corrupt_fraction + flow.extra_loss_fraction
    count = max(_PINGS, math.ceil(_PINGS / (1 - min(loss, 0.9))))
    out = lab.sender(index).popen(
        ["ping", "-n", "-c", str(count), "-i", "0.05", "-W", "5", lab.receiver_address(index)]
    ).communicate()[0].decode()  # fmt: skip
    rtts_ms = sorted(float(found) for found in re.findall(r"time=([\d.]+) ms", out))
    if not rtts_ms:
        raise LabError(f"no ping gets from {lab.sender(index)} to {lab.receiver(index)}")
    rtt_ms = rtts_ms[(len(rtts_ms) - 1) // 2 if path.reorder_fraction else 0]
    rtt_us, wanted_us = rtt_ms * 1000, lab.base_rtt_us(flow)
    if not wanted_us - 1 <= rtt_us <= wanted_us * (1 + _RTT_TOLERANCE) + _RTT_TOLERANCE_US:
        raise LabError(f"the path's RTT is {rtt_us:.0f} us where {wanted_us} us are wanted")
    return rtt_us


def _sent_bytes(lab: Lab) -> int:
    """The bytes that r1 has sent into the bottleneck; read without starting a program."""
    table = Path(f"/proc/{lab.net['r1'].pid}/net/dev").read_text()
    return int(re.search(r"r1-r2:(.*)", table)[1].split()[8])


def _check_rate(lab: Lab) -> tuple[float, list[dict[str, Any]]]:
    """Overload the bottleneck with UDP: its rate in bits/s, if it is right.

    And the state of its qdiscs when the queue is empty again.
    """
    wanted_bps = lab.scenario.path.rate_bps
    # At least 100 frames, so that one more or less does not matter.
    seconds = max(_RATE_CHECK_S, 100 * FRAME_BYTES * 8 / wanted_bps)
    blast = lab.sender(0).popen(
        ["python3", "-c", _BLAST, lab.receiver_ipv4(0), str(wanted_bps), str(seconds * 1.6)]
    )
    before = _sent_bytes(lab)
    _wait_for("the rate check", lambda: _sent_bytes(lab) > before + 20 * FRAME_BYTES)
    start_s, start_bytes = time.monotonic(), _sent_bytes(lab)
    time.sleep(seconds)
    end_bytes, end_s = _sent_bytes(lab), time.monotonic()
    blast.communicate()
    if blast.returncode:
        raise LabError("the rate check's sender failed")
    qdiscs: list[dict[str, Any]] = []

    def is_empty() -> bool:
        qdiscs[:] = lab.bottleneck()
        return max(int(q["qlen"]) for q in qdiscs) == 0

    _wait_for("an empty queue", is_empty)
    rate_bps = (end_bytes - start_bytes) * 8 / (end_s - start_s)
    if abs(rate_bps / wanted_bps - 1) > _RATE_TOLERANCE:
        raise LabError(
            f"the bottleneck passes {rate_bps / 1e6:.3f} Mbit/s where "
            f"{wanted_bps / 1e6:.3f} are wanted"
        )
    return rate_bps, qdiscs


def check_path(lab: Lab, progress: Progress) -> dict[str, Any]:
    """Measure RTTs and rate of the empty path.  Raises LabError if one is wrong.

    "queue_drops" counts the check's drops, which the queue goes on counting from.
    """
    first_of_kind = {flow: index for index, flow in reversed(list(enumerate(lab.pairs)))}
    rtts_us = {index: _check_rtt(lab, index) for index in sorted(first_of_kind.values())}
    rate_bps, qdiscs = _check_rate(lab)
    drops = counters(qdiscs, QUEUE_PARENT)["drops"]
    progress(f"path checked: {rate_bps / 1e6:.2f} Mbit/s, {min(rtts_us.values()) / 1e3:.2f} ms")
    return {"rate_bps": rate_bps, "rtt_us": min(rtts_us.values()), "queue_drops": drops}


def _queue_counts(lab: Lab, checked: dict[str, Any]) -> dict[str, int]:
    """The bottleneck's marks and drops of the run; an AQM is new at its start."""
    counts = counters(lab.bottleneck(), QUEUE_PARENT)
    if not lab.scenario.path.aqm:
        counts["drops"] -= checked["queue_drops"]
    return counts


# --- one run ----------------------------------------------------------------


class _Probes:
    """tcon-probe on Server 1's uplink, on the bottleneck's queue and on guests' sockets."""

    def __init__(
        self, lab: Lab, folder: Path, program: str | None, tcon: bool, started: contextlib.ExitStack
    ) -> None:
        self._files = {kind: folder / f"{kind}.jsonl" for kind in ("probe", "queue", "sockets")}
        self._processes: list[subprocess.Popen[bytes]] = []
        if program:
            short = lab.scenario.path.rtt_us < _SHORT_RTT_US
            # Segments that are lost before a sender hears of the first loss are repeated a round
            # trip after that, as soon as three ACKs tell.
            uplink = ["--dev", "br0-up", "--loss-gap-us", str(lab.scenario.full_rtt_us * 3 // 2),
                      *(["--tcon"] if tcon else [])]  # fmt: skip
            for kind, node, what, interval_s in (
                ("probe", lab.br0, uplink, INTERVAL_S),
                ("queue", lab.net["r1"], ["--queue", "r1-r2"],
                 _SHORT_INTERVAL_S if short else INTERVAL_S),
                ("sockets", lab.br0, _sockets(lab), INTERVAL_S),
            ):  # fmt: skip
                if not what:
                    self._files.pop(kind)
                    continue
                options = ["--interval-ms", str(round(interval_s * 1000)), *what]
                command = [program, *options, "--out", str(self._files[kind])]
                self._processes.append(node.popen(command))
                started.callback(self._processes[-1].kill)
            _wait_for("tcon-probe", self._started)

    def _started(self) -> bool:
        for process in self._processes:
            if process.poll() is not None:
                raise LabError(f"tcon-probe: {process.communicate()[1].decode().strip()}")
        return all(f.exists() and f.stat().st_size for f in self._files.values())

    def stop(self, take: Take) -> None:
        """End them and hand over what they wrote.  Raises LabError if one failed."""
        for process in self._processes:
            process.send_signal(signal.SIGTERM)
        for process in self._processes:
            err = process.communicate()[1]
            if process.returncode:
                raise LabError(f"tcon-probe failed: {err.decode().strip()}")
        for kind, file in self._files.items():
            take(kind, told(file) if self._processes else ())


def _sockets(lab: Lab) -> list[str]:
    """The probe's options for the data connections of bulk flows, in their guests.

    Where these are machines it cannot look.
    """
    options = []
    for index, flow in enumerate(lab.pairs):
        if not flow.transfer and not flow.in_machine:
            ours = f"{lab.sender_address(index)},{FIRST_SOURCE_PORT + index}"
            theirs = f"{lab.receiver_address(index)},{IPERF3_PORT}"
            options += ["--socket", f"{lab.sender(index).pid},{ours},{theirs}"]
    return options


def _start_server(lab: Lab, index: int, started: contextlib.ExitStack) -> None:
    """Start the server that a connection's client connects to: at the receiver it waits for
    data, or at the sender for requests.
    """
    if lab.pairs[index].transfer:
        node, port = lab.sender(index), TRANSFER_PORT
        command = ["python3", str(_TRANSFER), "serve", str(port)]
    else:
        node, port = lab.receiver(index), IPERF3_PORT
        command = ["iperf3", "-s", "-p", str(port), "-J", "-i", str(INTERVAL_S)]
        if lab.pairs[index].back_bps:
            command = ["python3", str(_DUPLEX), "serve", str(port)]
    server = node.popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    started.callback(server.kill)
    listening = re.compile(f":{port:04X} 0+:0000 0A")
    _wait_for(command[0], lambda: listening.search(_tcp_tables(node)) is not None)


def _tcp_tables(node: Guest) -> str:
    """A guest's TCP sockets; of a namespace read without starting a program."""
    if isinstance(node, VirtualMachine):
        return run_in(node, "cat /proc/net/tcp /proc/net/tcp6")
    return "".join(Path(f"/proc/{node.pid}/net/{name}").read_text() for name in ("tcp", "tcp6"))


def _start_client(lab: Lab, index: int, mode: str, out: Any) -> subprocess.Popen[bytes]:
    flow = lab.pairs[index]
    if flow.transfer:
        node, command = lab.receiver(index), _fetch_command(lab, index, flow.transfer)
    elif flow.back_bps:
        node, command = lab.sender(index), _duplex_command(lab, index, flow.back_bps)
    else:
        node, command = lab.sender(index), _iperf3_command(lab, index, mode)
    return node.popen(command, stdout=out, stderr=subprocess.DEVNULL)


def _fetch_command(lab: Lab, index: int, transfer: Transfer) -> list[str]:
    per_second = transfer.per_second(lab.scenario.path.rate_bps)
    # Transfers of two tables must not come in the same moments.
    seed = lab.scenario.seed + _SEEDS_APART * index
    numbers = (TRANSFER_PORT, transfer.size_bytes, transfer.count, per_second, seed)
    words = [str(number) for number in (*numbers, transfer.fan_in, transfer.pause_us / 1e6)]
    return ["python3", str(_TRANSFER), "fetch", lab.sender_address(index), *words]


def _duplex_command(lab: Lab, index: int, back_bps: int) -> list[str]:
    seconds = lab.scenario.seconds - lab.pairs[index].start_us / 1e6
    numbers = (IPERF3_PORT, FIRST_SOURCE_PORT + index, seconds, back_bps)
    words = [str(number) for number in numbers]
    return ["python3", str(_DUPLEX), "send", lab.receiver_address(index), *words]


def _iperf3_command(lab: Lab, index: int, mode: str) -> list[str]:
    flow = lab.pairs[index]
    seconds = math.ceil(lab.scenario.seconds - flow.start_us / 1e6)
    return [
        "iperf3", "-c", lab.receiver_address(index), "-p", str(IPERF3_PORT),
        "--cport", str(FIRST_SOURCE_PORT + index), "-C", flow.stack_cc(mode),
        "-t", str(seconds), "-i", str(INTERVAL_S), "-J", "--get-server-output",
    ]  # fmt: skip


def _sleep_until(moment_s: float) -> None:
    time.sleep(max(0.0, moment_s - time.monotonic()))


def _set_rules(lab: Lab, mode: str) -> None:
    for index, flow in enumerate(lab.pairs):
        if cc := flow.enforced_cc(mode):
            lab.enforce(index, cc)


@contextlib.contextmanager
def _observing() -> Iterator[None]:
    """TCon looks at all packets of guests, also where no rule can match."""
    before = _OBSERVE.read_text()
    _OBSERVE.write_text("1")
    try:
        yield
    finally:
        _OBSERVE.write_text(before)


@contextlib.contextmanager
def _allowed_ccs(lab: Lab, mode: str) -> Iterator[None]:
    """Let the guests choose their CCs: a namespace may have few but those allowed to all.

    Raises LabError if the kernel lacks one.
    """
    allowed = _ALLOWED_CCS.read_text().split()
    missing = sorted({flow.stack_cc(mode) for flow in lab.pairs} - set(allowed))
    if missing:
        try:
            _ALLOWED_CCS.write_text(" ".join([*allowed, *missing]))
        except OSError:
            raise LabError(f"the kernel lacks a CC of {', '.join(missing)}") from None
    try:
        yield
    finally:
        if missing:
            _ALLOWED_CCS.write_text(" ".join(allowed))


def _set_guests(lab: Lab, mode: str) -> None:
    """The guests' CCs, their least time-outs, and ECN where their stacks speak it.

    The receiver answers CE as its own CC wants: DCTCP needs DCTCP at both ends.  Where the
    guests do not speak ECN the receiver's stack, which would agree to it by default, does so
    only if there is no TCon to agree for it.
    """
    for index, flow in enumerate(lab.pairs):
        set_cc = f"sysctl -qw net.ipv4.tcp_congestion_control={flow.stack_cc(mode)}"
        set_ecn = " net.ipv4.tcp_ecn=1" if flow.speaks_ecn(mode) else ""
        run_in(lab.sender(index), set_cc + set_ecn)
        if least_us := flow.stack_rto_min_us(mode):
            lab.set_rto_min(index, least_us)
        if flow.stack_cc(mode) == "dctcp":
            run_in(lab.receiver(index), set_cc + set_ecn)
        elif set_ecn:
            run_in(lab.receiver(index), f"sysctl -qw{set_ecn}")
        elif flow.receiver_tcon:
            run_in(lab.receiver(index), "sysctl -qw net.ipv4.tcp_ecn=0")


def _iperf3_report(lab: Lab, index: int, client: subprocess.Popen[bytes], file: Path) -> Any:
    """The client's JSON.  Raises LabError with its own complaint."""
    program = _DUPLEX.name if lab.pairs[index].back_bps else "iperf3"
    who = f"connection {index + 1}: {program}"
    end = lab.scenario.seconds + _CLIENT_GRACE_S
    try:
        client.wait(end)
    except subprocess.TimeoutExpired:
        client.kill()
        raise LabError(f"{who} did not end within {end:.0f} s") from None
    try:
        report = json.loads(file.read_text())
    except ValueError:
        raise LabError(f"{who} exited with {client.returncode}") from None
    whole = with_summary(report, lab.scenario.seconds - lab.pairs[index].start_us / 1e6, INTERVAL_S)
    if whole is None:
        raise LabError(f"{who}: {report['error']}")
    return needed(whole)


def _transfer_times(
    lab: Lab, index: int, client: subprocess.Popen[bytes], file: Path, start_s: float
) -> list[dict[str, float]]:
    """When each transfer began, from ``start_s`` on, and its seconds, as they ended.

    Raises LabError where one failed.
    """
    transfer = lab.pairs[index].transfer
    ended = [json.loads(line) for line in file.read_text().splitlines()]
    for number, record in enumerate(ended, 1):
        if "error" in record:
            raise LabError(f"transfer {number} of connection {index + 1}: {record['error']}")
    if client.wait() or transfer is None or len(ended) != transfer.count:
        raise LabError(f"connection {index + 1}: the transfers exited with {client.returncode}")
    return [{**r, "start_s": round(r["start_s"] - start_s, 6)} for r in ended]


def _flow_record(
    lab: Lab, index: int, mode: str, client: subprocess.Popen[bytes], file: Path, start_s: float
) -> dict[str, Any]:
    """The record of a connection when its client has ended.  Raises LabError."""
    flow = lab.pairs[index]
    record = {
        "index": index,
        "saddr": lab.sender_address(index),
        "daddr": lab.receiver_address(index),
        "guest_cc": flow.stack_cc(mode),
        "cc": flow.deciding_cc(mode),
        "start_s": flow.start_us / 1e6,
    }
    if flow.transfer:
        transfers = _transfer_times(lab, index, client, file, start_s)
        return record | {"sport": TRANSFER_PORT, "transfers": transfers}
    iperf3 = _iperf3_report(lab, index, client, file)
    ports = {"sport": FIRST_SOURCE_PORT + index, "dport": IPERF3_PORT}
    return record | ports | {"iperf3": iperf3}


def _named(lab: Lab, index: int, flows: list[dict[str, Any]]) -> dict[str, Any]:
    """What TCon tells of the CC of a guest that it only observes, with what it goes by."""
    ends = (lab.sender_address(index), FIRST_SOURCE_PORT + index)
    names = ("mss_bytes", "min_rtt_us", "ect_syn", "guess", "guess_confidence", "rounds")
    mine = [flow for flow in flows if (flow["src"], flow["tp_src"]) == ends]
    return {"named": {name: mine[0].get(name) for name in names}} if mine else {}


def _wait_for_time(scenario: Scenario, mode: str, start_s: float, progress: Progress) -> None:
    """Until the run's time is nearly over."""
    seconds = scenario.seconds
    for tenth in range(1, 10):
        _sleep_until(start_s + (seconds - _SNAPSHOT_BEFORE_END_S) * tenth / 10)
        progress(f"{mode}: {seconds * tenth / 10:.1f} of {seconds:g} s")
    _sleep_until(start_s + seconds - _SNAPSHOT_BEFORE_END_S)


def _wait_for_transfers(
    flows: list[Flow],
    clients: list[subprocess.Popen[bytes]],
    files: list[Path],
    end_s: float,
    progress: Progress,
) -> None:
    """Until all transfers have ended.  Raises LabError when ``end_s`` comes first."""
    wanted, tenths = sum(flow.transfer.count for flow in flows if flow.transfer), 0
    while any(client.poll() is None for client in clients):
        done = sum(file.read_bytes().count(b"\n") for file in files)
        if 10 * done // wanted > tenths:
            tenths = 10 * done // wanted
            progress(f"{done} of {wanted} transfers")
        if time.monotonic() > end_s:
            for client in clients:
                client.kill()
            raise LabError(f"only {done} of {wanted} transfers have ended in time")
        time.sleep(_POLL_S)


def _traffic(
    lab: Lab, mode: str, tcon: bool, folder: Path, progress: Progress, started: contextlib.ExitStack
) -> dict[str, Any]:
    """Start the clients in time, wait for them; their reports and TCon's state."""
    seconds = lab.scenario.seconds
    clients = {}
    began_s, (busy, total), waited_s = time.monotonic(), _cpu_ticks(), _waited_s(lab)
    files = {index: folder / f"client{index}.json" for index in range(len(lab.pairs))}
    start_s = time.monotonic()
    for index, flow in sorted(enumerate(lab.pairs), key=lambda item: item[1].start_us):
        _sleep_until(start_s + flow.start_us / 1e6)
        with files[index].open("wb") as out:
            clients[index] = _start_client(lab, index, mode, out)
            started.callback(clients[index].kill)
    fetching = [index for index, flow in enumerate(lab.pairs) if flow.transfer]
    if len(fetching) < len(lab.pairs):
        _wait_for_time(lab.scenario, mode, start_s, progress)
    _wait_for_transfers(
        [lab.pairs[index] for index in fetching],
        [clients[index] for index in fetching],
        [files[index] for index in fetching],
        start_s + seconds,
        lambda line: progress(f"{mode}: {line}"),
    )
    span_s, (end_busy, end_total) = time.monotonic() - began_s, _cpu_ticks()
    steals = [_steal(*ends, span_s) for ends in zip(waited_s, _waited_s(lab), strict=True)]
    idle_ticks = (end_total - end_busy) - (total - busy)
    cpu_share = (end_busy - busy) / max(1, end_total - total)
    if cpu_share > _CPU_BUSY_SHARE:
        progress(
            f"{mode}: the CPU was busy {cpu_share:.0%} of the time: it may have been the limit"
        )
    state = {"ovs_flows": None, "show": None}
    named: list[dict[str, Any]] = []
    if tcon:
        found = {where: bridge.tcon_flows() for where, bridge in lab.tcons.items()}
        state = {"ovs_flows": found, "show": lab.br0.tcon_show()}
    if mode == OBSERVED:
        named = lab.br0.tcon_flows("-r")["flows"]
    return {
        "start_monotonic_s": start_s,
        "cpu_busy_share": round(cpu_share, 3),
        "busy_s": round(span_s - idle_ticks / os.sysconf("SC_CLK_TCK"), 6),
        "flows": [
            _flow_record(lab, index, mode, clients[index], files[index], start_s)
            | _named(lab, index, named)
            | steals[index]
            for index in range(len(lab.pairs))
        ],
        **state,
    }


def _waited_s(lab: Lab) -> list[float | None]:
    """How long each sender that is a machine has waited for a CPU so far."""
    senders = [lab.sender(index) for index in range(len(lab.pairs))]
    return [node.waited_s() if isinstance(node, VirtualMachine) else None for node in senders]


def _steal(before_s: float | None, after_s: float | None, span_s: float) -> dict[str, float]:
    """The share of the time in which a machine waited; nothing of a namespace."""
    if before_s is None or after_s is None:
        return {}
    return {"steal_share": round((after_s - before_s) / span_s, 4)}


def _cpu_ticks() -> tuple[int, int]:
    """Ticks of all CPUs so far: busy, in total."""
    fields = [int(n) for n in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    idle = fields[3] + fields[4]
    return sum(fields) - idle, sum(fields)


def _versions() -> dict[str, str]:
    def first_line(*command: str) -> str:
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        return run.stdout.splitlines()[0] if run.stdout else ""

    return {
        "kernel": platform.release(),
        "openvswitch": appctl("version").splitlines()[0],
        "iperf3": first_line("iperf3", "--version"),
        "tcon": first_line("modinfo", "-F", "version", "tcon"),
    }


def _tcon_loaded() -> bool:
    return Path("/sys/module/tcon").exists()


def run(job: dict[str, Any], progress: Progress, take: Take) -> dict[str, Any]:
    """Run job["mode"] of job["scenario"]: the raw data (see results.py), without the probes'
    files, which ``take`` is given.

    ``job["probe"]`` is the path of tcon-probe or None; ``job["virtual_time"]``,
    ``job["instruction_ns"]`` and ``job["machine"]`` are passed on;
    ``job["tear_down"]``: whether to remove the network afterwards.  Raises LabError.
    """
    scenario: Scenario = from_dict(job["scenario"])
    mode, tcon = job["mode"], _tcon_loaded()
    observed = mode == OBSERVED
    if not tcon and (observed or any(flow.enforced_cc(mode) for flow in scenario.flows)):
        raise LabError(f"mode {mode} needs tcon.ko, which is not loaded")
    progress(f"{mode}: building {2 * len(scenario.connections())} guests")
    with (
        Lab(scenario, job["tear_down"]) as lab,
        _allowed_ccs(lab, mode),
        _observing() if observed else contextlib.nullcontext(),
        tempfile.TemporaryDirectory() as scratch,
        KernelParams(run_in) as kernels,
        contextlib.ExitStack() as started,  # on a host nobody else ends what a run has started
    ):
        checked = check_path(lab, progress)
        lab.complete_path()
        _set_guests(lab, mode)
        params = kernels.apply(lab, mode)
        _set_rules(lab, mode)
        for index in range(len(lab.pairs)):
            _start_server(lab, index, started)
        probes = _Probes(lab, Path(scratch), job.get("probe"), tcon, started)
        raw = _traffic(lab, mode, tcon, Path(scratch), progress, started)
        for flow, found in zip(raw["flows"], params, strict=True):
            flow["kernel_params"] = found
        probes.stop(take)
        raw["queue_counts"] = _queue_counts(lab, checked)
    return {
        "scenario": job["scenario"],
        "mode": mode,
        "seed": scenario.seed,
        "virtual_time": job["virtual_time"],
        "instruction_ns": job["instruction_ns"],
        "tcon_loaded": tcon,
        "path": checked,
        "versions": _versions() | {"machine": job["machine"]},
        **raw,
    }


def shell(job: dict[str, Any], say: Progress) -> None:
    """Build the scenario's network and hand the terminal to Mininet's CLI."""
    from mininet.cli import CLI

    scenario = from_dict(job["scenario"])
    with (
        Lab(scenario, job["tear_down"]) as lab,
        _allowed_ccs(lab, job["mode"]),
        KernelParams(run_in) as kernels,
    ):
        lab.complete_path()
        _set_guests(lab, job["mode"])
        kernels.apply(lab, job["mode"])
        if _tcon_loaded():
            _set_rules(lab, job["mode"])
        say(
            f"Guests hN on br0 send to sN on br1: 10.1.0.N to 10.2.0.N, N to {len(lab.pairs)}.\n"
            f"Try: h1 ping -c 3 10.2.0.1    "
            f"s1 iperf3 -s -D    h1 iperf3 -c 10.2.0.1 -t 10    sh ovs-appctl tcon/show br0\n"
            f"`sh CMD` runs on the server, `exit` ends the lab."
        )
        CLI(lab.net)
