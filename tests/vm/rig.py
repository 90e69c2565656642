# SPDX-License-Identifier: GPL-2.0-only
"""What the tests in the VM are built on: namespaces, a bridge, scripted ends.

The usual rig, with nothing but scripts at both ends (no address is configured,
so no kernel answers):

    end "guest" (raw socket) -- veth -- p1 [br0] up0 -- veth -- end "peer" (raw socket)

Everything waits by polling; nothing here sleeps for a fixed time.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import itertools
import os
import re
import select
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import genl
import wire

T = TypeVar("T")

#: The kernel checks itself (KASAN and others), which takes memory of its own.
DEBUG_KERNEL = Path("/sys/kernel/debug/kmemleak").exists()

_libc = ctypes.CDLL(None, use_errno=True)
_ETH_P_ALL = 3
_SOL_PACKET, _PACKET_AUXDATA, _PACKET_OUTGOING = 263, 8, 4
_PACKET_IGNORE_OUTGOING = 23
_TP_STATUS_VLAN_VALID, _TP_STATUS_VLAN_TPID_VALID = 1 << 4, 1 << 6
_SO_RCVBUFFORCE = 33

#: What must never be in the kernel's log, beside what the lab itself looks for.
BAD_LOG = re.compile(
    r"WARNING: |BUG: |kernel BUG|Oops|general protection fault|unable to handle"
    r"|hw csum failure|refcount_t: |list_(?:add|del) corruption|scheduling while atomic"
    r"|suspicious RCU|Objects remaining|unregister_netdevice: waiting|KASAN|UBSAN|Call Trace:"
)


def run(*command: str, check: bool = True, ns: str | None = None, stdin: str | None = None) -> str:
    """Run a command; its output.  Raises RuntimeError with its complaint.

    Of a namespace ns it has the network, but not /sys, which `ip netns exec` would mount anew.
    """
    with inside(ns):
        done = subprocess.run(command, capture_output=True, text=True, check=False, input=stdin)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def settle() -> None:
    """Wait until the datapath forwards as the OpenFlow flows say: it is told of changes later."""
    run("ovs-appctl", "revalidator/wait")


def ip(*lines: str, ns: str | None = None) -> None:
    """Commands of ip(8), by one process: on the debug kernel each takes a fifth of a second."""
    if lines:
        run("ip", "-batch", "-", ns=ns, stdin="\n".join(lines) + "\n")


def sysctl(name: str, value: int, ns: str | None = None) -> None:
    """Set what lies under /proc/sys/net, by its path there."""
    with inside(ns):
        Path("/proc/sys/net", name).write_text(str(value))


def poll(probe: Callable[[], T], what: str, timeout_s: float = 5.0, step_s: float = 0.01) -> T:
    """Call probe until it gives something true; that.  Raises AssertionError."""
    end = time.monotonic() + timeout_s
    while not (found := probe()):
        if time.monotonic() > end:
            raise AssertionError(f"not within {timeout_s} s: {what}")
        time.sleep(step_s)
    return found


def as_nobody(action: Callable[[genl.Genl], object]) -> str:
    """What a process without privileges gets: an errno's name, or "ok"."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        result = "crashed"
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            action(genl.Genl())
            result = "ok"
        except genl.Refused as error:
            result = errno.errorcode[error.errno]
        finally:
            os.write(writer, result.encode())
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        result = stream.read()
    os.waitpid(child, 0)
    return result


@contextlib.contextmanager
def inside(ns: str | None) -> Iterator[None]:
    """Be in a network namespace: sockets that are made there stay there."""
    if ns is None:
        yield
        return
    with _inside_file(f"/run/netns/{ns}"):
        yield


def inside_pid(pid: int) -> contextlib.AbstractContextManager[None]:
    """As inside(), of the namespace that a process is in."""
    return _inside_file(f"/proc/{pid}/ns/net")


@contextlib.contextmanager
def _inside_file(file: str) -> Iterator[None]:
    with open("/proc/thread-self/ns/net") as home, open(file) as target:
        _setns(target.fileno())
        try:
            yield
        finally:
            _setns(home.fileno())


def _setns(fd: int) -> None:
    if _libc.setns(fd, 0x40000000):
        raise OSError(ctypes.get_errno(), "setns")


# --- modules ------------------------------------------------------------------

CCS = (
    "tcon_reno", "tcon_cubic", "tcon_vegas", "tcon_ctcp", "tcon_dctcp", "tcon_bbr", "tcon_bbr3",
    "tcon_lincubic", "tcon_accucubic", "tcon_tahoe", "tcon_fast", "tcon_timely", "tcon_copa",
    "tcon_vivace", "tcon_bbr2", "tcon_linux",
)  # fmt: skip
MODULES = (
    "nsh", "nf_conntrack", "nf_nat", "nf_conncount", "veth", "tun", "openvswitch", "tcon", *CCS,
)  # fmt: skip


#: How tcon.ko is to be attached: its parameter attach=.
ATTACH = os.environ.get("TCON_ATTACH", "auto")

_OPTIONS = Path("/etc/modprobe.d/tcon.conf")


def use_stock_openvswitch() -> None:
    """Take the patched openvswitch.ko and its kind away: modprobe finds the distribution's."""
    ours = Path("/lib/modules", os.uname().release, "updates")
    for module in (*ours.glob("openvswitch.ko"), *ours.glob("vport-*.ko")):
        module.unlink()
    run("depmod")


def choose_attach() -> None:
    """As TCON_ATTACH has it; netfilter's hooks do with the distribution's openvswitch.ko."""
    if ATTACH == "auto" or _OPTIONS.exists():
        return
    _OPTIONS.parent.mkdir(parents=True, exist_ok=True)
    _OPTIONS.write_text(f"options tcon attach={ATTACH}\n")
    if ATTACH == "netfilter":
        use_stock_openvswitch()


def loaded(module: str) -> bool:
    return Path(f"/sys/module/{module}/refcnt").exists()


def load_all() -> None:
    """Load what the tests need; what is there already stays."""
    missing = [name for name in MODULES if not Path("/sys/module", name).exists()]
    if missing:
        run("modprobe", "-a", *missing)


def unload(module: str) -> None:
    run("rmmod", module)


@contextlib.contextmanager
def badcc(**parameters: int) -> Iterator[None]:
    """The CC that does what it is told is there meanwhile."""
    run("insmod", "/lab/badcc/tcon_badcc.ko", *(f"{k}={v}" for k, v in parameters.items()))
    try:
        yield
    finally:
        unload("tcon_badcc")


def constant_cwnd(segs: int) -> dict[str, int]:
    """Parameters of that CC with which its cwnd does not change."""
    return {"good_segs": segs, "after_bytes": 2**32 - 1}


#: Where the kernel's events are, see tracefs().
TRACEFS = Path("/sys/kernel/tracing")


def tracefs() -> None:
    """Mount it where it is not yet."""
    if not (TRACEFS / "events").exists():
        run("mount", "-t", "tracefs", "tracefs", str(TRACEFS))


def parameter(name: str) -> int:
    """A parameter of tcon.ko; 0 or 1 where it is a switch."""
    text = Path(f"/sys/module/tcon/parameters/{name}").read_text().strip()
    return int({"N": "0", "Y": "1"}.get(text, text))


def set_parameter(name: str, value: int) -> None:
    Path(f"/sys/module/tcon/parameters/{name}").write_text(str(value))


@contextlib.contextmanager
def parameters(**values: int) -> Iterator[None]:
    """Other module parameters of tcon.ko for a while."""
    before = {name: parameter(name) for name in values}
    try:
        for name, value in values.items():
            set_parameter(name, value)
        yield
    finally:
        for name, value in before.items():
            set_parameter(name, value)


def start_ovs() -> None:
    """Start Open vSwitch unless it runs."""
    pid = Path("/run/openvswitch/ovs-vswitchd.pid")
    if pid.exists() and Path(f"/proc/{pid.read_text().strip()}").exists():
        return
    from tcon_lab import ovs

    ovs.start()


@contextlib.contextmanager
def kernel_log() -> Iterator[list[str]]:
    """What the kernel logs meanwhile, record by record; filled in at the end."""
    records: list[str] = []
    log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    try:
        os.lseek(log, 0, os.SEEK_END)
        yield records
        with contextlib.suppress(BlockingIOError):  # no more
            while True:
                records.append(os.read(log, 8192).decode(errors="replace"))
    finally:
        os.close(log)


# --- ends ---------------------------------------------------------------------


def longest_stretch_s(action: Callable[[], None]) -> float:
    """How late a process that must run at once is at most, while the action runs."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
        late, ready = 0.0, False
        while not select.select([reader], [], [], 0)[0]:
            before = time.monotonic()
            time.sleep(0.0002)
            late = max(late, time.monotonic() - before - 0.0002) if ready else 0.0
            ready = True
        os.read(reader, 1)
        Path("/tmp/late").write_text(str(late))
        os._exit(0)
    time.sleep(0.05)
    action()
    os.write(writer, b"x")
    os.waitpid(child, 0)
    os.close(reader)
    os.close(writer)
    return float(Path("/tmp/late").read_text())


class RawEnd:
    """A scripted end on a device: frames in, frames out, tags included."""

    def __init__(self, dev: str, ns: str | None = None) -> None:
        with inside(ns):
            self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
            self.sock.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)
            self.sock.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
            self.sock.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 32 << 20)
            self.sock.bind((dev, _ETH_P_ALL))

    def send(self, frame: bytes) -> None:
        self.sock.send(frame)

    def recv(self, timeout_s: float) -> bytes | None:
        """The next frame, with the tag that the kernel took out of it; None."""
        if not select.select([self.sock], [], [], timeout_s)[0]:
            return None
        frame, control, _, _ = self.sock.recvmsg(1 << 17, 256)
        for level, kind, raw in control:
            if level == _SOL_PACKET and kind == _PACKET_AUXDATA:
                status, _, _, _, _, tci, tpid = struct.unpack_from("=IIIHHHH", raw)
                if status & _TP_STATUS_VLAN_VALID:
                    tpid = tpid if status & _TP_STATUS_VLAN_TPID_VALID else wire.ETH_VLAN
                    frame = frame[:12] + struct.pack("!HH", tpid, tci) + frame[12:]
        return frame

    def close(self) -> None:
        self.sock.close()


_TUNSETIFF, _TUNSETOFFLOAD = 0x400454CA, 0x400454D0
_IFF_TAP, _IFF_NO_PI, _IFF_VNET_HDR = 0x2, 0x1000, 0x4000
TUN_F_CSUM, TUN_F_TSO4, TUN_F_TSO6 = 1, 2, 4
TSO = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6
VNET_NEEDS_CSUM, VNET_GSO_TCPV4, VNET_GSO_TCPV6 = 1, 1, 4
_VNET = struct.Struct("=BBHHHH")


class Tap:
    """A tap with a vnet header, as KVM has it; its fd is the guest."""

    def __init__(self, dev: str, offload: int = 0) -> None:
        self.fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        request = struct.pack("16sH22x", dev.encode(), _IFF_TAP | _IFF_NO_PI | _IFF_VNET_HDR)
        fcntl.ioctl(self.fd, _TUNSETIFF, request)
        fcntl.ioctl(self.fd, _TUNSETOFFLOAD, offload)
        self.last_flags = 0  # of the vnet header that came last
        self.last_gso_bytes = 0
        quiet_up(dev)

    def send(self, frame: bytes, csum_start: int = 0, gso_bytes: int = 0, gso: int = 0) -> None:
        """csum_start: offset of the TCP header; the sum is then partial."""
        flags = VNET_NEEDS_CSUM if csum_start else 0
        header = _VNET.pack(flags, gso, csum_start + 20 if gso else 0, gso_bytes, csum_start,
                            16 if csum_start else 0)  # fmt: skip
        os.write(self.fd, header + frame)

    def wait(self, timeout_s: float) -> bool:
        """Is there something to read, now or in time?"""
        return bool(select.select([self.fd], [], [], timeout_s)[0])

    def recv(self, timeout_s: float) -> bytes | None:
        if not self.wait(timeout_s):
            return None
        raw = os.read(self.fd, 1 << 17)
        self.last_flags, _, _, self.last_gso_bytes, _, _ = _VNET.unpack_from(raw)
        return raw[_VNET.size :]

    def close(self) -> None:
        os.close(self.fd)


#: So that tags, IPv6 and forty bytes of options fit around a full segment.
SCRIPTED_MTU = 2000


def quiet_up(dev: str, ns: str | None = None) -> None:
    """Set a device up that says nothing by itself and takes any header."""
    with contextlib.suppress(FileNotFoundError):
        sysctl(f"ipv6/conf/{dev}/disable_ipv6", 1, ns)
    ip(f"link set {dev} mtu {SCRIPTED_MTU} up", ns=ns)


# --- bridges ------------------------------------------------------------------


class Rig:
    """Namespaces, devices and bridges that go together, and go at the end."""

    def __init__(self) -> None:
        self.namespaces: list[str] = []
        self.devices: list[str] = []
        self.bridges: list[str] = []
        self.ends: list[RawEnd | Tap] = []
        self.genl = genl.Genl()
        self._ofports = itertools.count(1)

    def namespace(self, *names: str) -> None:
        ip(*(f"netns add {name}" for name in names))
        self.namespaces += names

    def veth(self, dev: str, peer: str, ns: str, quiet: bool = True, queues: int = 1) -> None:
        """A pair: dev here, which has so many transmit queues, peer in ns.

        Quiet, both are up and for scripts; else the peer is down until it has an address.
        """
        ip(f"link add {dev} numtxqueues {queues} type veth"
           f" peer name {peer} numrxqueues {queues} netns {ns}",
           *(() if quiet else (f"link set {dev} up",)))  # fmt: skip
        self.devices.append(dev)
        if quiet:
            quiet_up(dev)
            quiet_up(peer, ns)

    def bridge(self, name: str = "br0", normal: bool = False) -> str:
        """A bridge; without flows unless it is to learn as a switch does."""
        run("ovs-vsctl", "add-br", name, "--", "set-fail-mode", name,
            "standalone" if normal else "secure")  # fmt: skip
        self.bridges.append(name)
        return name

    def port(self, bridge: str, dev: str, role: str = "AUTO", *options: str) -> int:
        """Add a device to a bridge and tell tcon.ko; its OpenFlow number."""
        number = next(self._ofports)
        wanted = [f"ofport_request={number}"]
        if role != "AUTO":
            wanted.append(f"other_config:tcon-role={role.lower()}")
        run("ovs-vsctl", "add-port", bridge, dev, *options, "--", "set", "Interface", dev, *wanted)
        self.tell(bridge, dev, number, role)
        return number

    def tell(self, bridge: str, dev: str, number: int, role: str = "AUTO") -> None:
        """What the patched vswitchd does; the stock one does not."""
        poll(lambda: any(p["ifname"] == dev for p in self.genl.ports()), f"{dev} in the datapath")
        self.genl.set_port(dev, bridge=bridge, ofport=number, role=role)

    def flows(self, bridge: str, *flows: str) -> None:
        """Replace the OpenFlow flows of a bridge."""
        run("ovs-ofctl", "--bundle", "replace-flows", bridge, "-", stdin="\n".join(flows) + "\n")
        settle()

    def raw(self, dev: str, ns: str | None = None) -> RawEnd:
        end = RawEnd(dev, ns)
        self.ends.append(end)
        return end

    def tap(self, dev: str, offload: int = 0) -> Tap:
        end = Tap(dev, offload)
        self.ends.append(end)
        return end

    def scripted(self) -> tuple[RawEnd, RawEnd]:
        """br0 with a guest's port p1 and an uplink up0: ends guest and peer."""
        self.namespace("g", "s")
        self.veth("p1", "g-e", "g")
        self.veth("up0", "s-e", "s")
        self.bridge("br0")
        guest = self.port("br0", "p1")
        uplink = self.port("br0", "up0", "UPLINK")
        self.flows("br0", f"in_port={guest},actions=output:{uplink}",
                   f"in_port={uplink},actions=output:{guest}")  # fmt: skip
        return self.raw("g-e", "g"), self.raw("s-e", "s")

    def taps(self, guest: int = 0, uplink: int = 0) -> tuple[Tap, Tap]:
        """br1 with a guest's tap and an uplink's, with these offloads."""
        self.bridge("br1")
        a, b = self.tap("tg", guest), self.tap("tu", uplink)
        n, m = self.port("br1", "tg"), self.port("br1", "tu", "UPLINK")
        self.flows("br1", f"in_port={n},actions=output:{m}", f"in_port={m},actions=output:{n}")
        return a, b

    def close(self) -> None:
        for end in self.ends:
            with contextlib.suppress(OSError):
                end.close()
        for bridge in self.bridges:
            run("ovs-vsctl", "--if-exists", "del-br", bridge)
        for dev in self.devices:
            if Path("/sys/class/net", dev).exists():
                ip(f"link del {dev}")
        ip(*(f"netns del {ns}" for ns in self.namespaces))


# --- a connection by hand -------------------------------------------------------

_ports = itertools.count(20000)
_OPTIONS_TS = wire.NOP + wire.NOP


class Conn:
    """A TCP connection whose two ends are scripts.

    `guest_sends()` and `peer_sends()` put a segment on the wire and give it as
    the other end got it; both check what must hold for every segment: sums are
    right, and nothing but the window, downwards, and what `becomes` names differs
    from what was sent.
    """

    def __init__(
        self,
        guest: RawEnd | Tap,
        peer: RawEnd | Tap,
        *,
        family: int = 4,
        vlans: tuple[int, ...] = (),
        scales: tuple[int | None, int | None] = (7, 7),
        mss_bytes: int = 1460,
        ts: bool = True,
        sack: tuple[bool, bool] = (True, True),
        sport: int | None = None,
        isn: tuple[int, int] = (1_000_000, 7_000_000),
    ) -> None:
        self.guest, self.peer = guest, peer
        self.sack = sack
        self.vlans, self.ts, self.scales, self.mss_bytes = vlans, ts, scales, mss_bytes
        self.addresses = ("10.0.0.1", "10.0.1.2") if family == 4 else ("fd00::1", "fd01::2")
        self.sport, self.dport = sport or next(_ports), 5201
        self.guest_nxt, self.peer_nxt = isn
        self.isn = isn
        self.clock = 100  # both ends' TSval
        self.guest_ts = self.peer_ts = 0  # last TSval that each has sent
        self.window = 4096  # field that the peer offers

    # Building ---------------------------------------------------------------

    def _options(self, syn: bool, end: int, own: int, other: int) -> bytes:
        options, scale = b"", self.scales[end]
        if syn:
            options += wire.opt_mss(self.mss_bytes)
            if self.sack[end]:
                options += wire.SACK_PERMITTED
            if scale is not None:
                options += wire.NOP + wire.opt_wscale(scale)
        if self.ts:
            options += _OPTIONS_TS + wire.opt_ts(own, other)
        return options + wire.NOP * (-len(options) % 4)

    def from_guest(
        self, flags: int = wire.ACK, payload: bytes = b"", **changes: object
    ) -> wire.Segment:
        """The guest's next segment; nothing is sent and no state moves."""
        syn = bool(flags & wire.SYN)
        segment = wire.Segment(
            *self.addresses, self.sport, self.dport, self.guest_nxt % 2**32,
            self.peer_nxt % 2**32 if flags & wire.ACK else 0, flags, 0xFFFF if syn else 512,
            self._options(syn, 0, self.clock, self.peer_ts), payload,
            vlans=self.vlans,
        )  # fmt: skip
        return segment.but(**changes)

    def from_peer(
        self, flags: int = wire.ACK, payload: bytes = b"", **changes: object
    ) -> wire.Segment:
        """The peer's next segment."""
        syn = bool(flags & wire.SYN)
        segment = wire.Segment(
            *self.addresses[::-1], self.dport, self.sport, self.peer_nxt % 2**32,
            self.guest_nxt % 2**32 if flags & wire.ACK else 0, flags,
            0xFFFF if syn else self.window,
            self._options(syn, 1, self.clock, self.guest_ts), payload,
            wire.Segment.dst_mac, wire.Segment.src_mac, vlans=self.vlans,
        )  # fmt: skip
        return segment.but(**changes)

    # Sending ----------------------------------------------------------------

    def mine(self, frame: bytes) -> wire.Segment | None:
        segment = wire.decode(frame)
        if segment and {segment.sport, segment.dport} == {self.sport, self.dport}:
            return segment
        return None

    def receive(self, end: RawEnd | Tap, timeout_s: float = 2.0) -> wire.Segment | None:
        """The connection's next segment at an end; None if there comes none."""
        deadline = time.monotonic() + timeout_s
        while (left := deadline - time.monotonic()) > 0 or timeout_s == 0:
            frame = end.recv(max(left, 0))
            if frame is None:
                return None
            if segment := self.mine(frame):
                return segment
        return None

    def _pass(
        self,
        source: RawEnd | Tap,
        sink: RawEnd | Tap,
        sent: wire.Segment,
        becomes: dict[str, object],
    ) -> wire.Segment:
        source.send(sent.frame())
        got = self.receive(sink)
        assert got, f"lost: {sent}"
        assert got.sums_ok, f"wrong checksum: {got}"
        assert got.window <= sent.window, "window enlarged"
        padded = {"options": sent.options + wire.END * (-len(sent.options) % 4)}
        assert got.but(window=sent.window) == sent.but(**(padded | becomes)), (
            "something else has changed, or something has not"
        )
        return got

    def guest_sends(
        self,
        flags: int = wire.ACK,
        payload: bytes = b"",
        becomes: dict[str, object] | None = None,
        **changes: object,
    ) -> wire.Segment:
        """Send the guest's next segment; it, as the peer got it."""
        self.clock += 1
        sent = self.from_guest(flags, payload, **changes)
        self.guest_ts = self.clock
        self.guest_nxt += max(0, (sent.seq + sent.span - self.guest_nxt + 2**31) % 2**32 - 2**31)
        return self._pass(self.guest, self.peer, sent, becomes or {})

    def peer_sends(
        self,
        flags: int = wire.ACK,
        payload: bytes = b"",
        becomes: dict[str, object] | None = None,
        **changes: object,
    ) -> wire.Segment:
        """Send the peer's next segment; it, as the guest got it."""
        self.clock += 1
        sent = self.from_peer(flags, payload, **changes)
        self.peer_ts = self.clock
        self.peer_nxt += max(0, (sent.seq + sent.span - self.peer_nxt + 2**31) % 2**32 - 2**31)
        return self._pass(self.peer, self.guest, sent, becomes or {})

    def handshake(self) -> Conn:
        """Guest opens, peer answers, guest acknowledges."""
        self.guest_sends(wire.SYN)
        self.peer_sends(wire.SYN | wire.ACK)
        self.guest_sends()
        return self

    def shift(self) -> int:
        """What the peer's windows are shifted by."""
        return self.scales[1] or 0 if None not in self.scales else 0

    def unwrap(self, number: int) -> int:
        """A wire's sequence number of the guest, in this class's numbers, which do not wrap."""
        return self.guest_nxt + (number - self.guest_nxt + 2**31) % 2**32 - 2**31

    def restart(self, *isn: int) -> None:
        """The same addresses and ports, other sequence numbers."""
        self.guest_nxt, self.peer_nxt = isn
        self.guest_ts = self.peer_ts = 0


def find_flow(client: genl.Genl, sport: int, ifname: str | None = None) -> dict[str, object] | None:
    """The half-flow of a guest's TCP port, where there is one."""
    match = genl.nest(genl.E["TCON_A_RULE_MATCH"], genl.u16(genl.E["TCON_MATCH_A_SPORT"], sport))
    for flow in client.flows(match):
        if ifname in (None, flow["ifname"]):
            return flow
    return None


def state(client: genl.Genl, sport: int, ifname: str | None = None) -> tuple[str, str, str]:
    """State, reason and CC of a half-flow by their names; fails without it."""
    flow = find_flow(client, sport, ifname)
    assert flow, f"no half-flow of port {sport}"
    return genl.STATES[flow["state"]], genl.REASONS[flow["reason"]], str(flow["cc"])


@contextlib.contextmanager
def counted(client: genl.Genl, **expected: int) -> Iterator[None]:
    """These counters (with _ for -) grow by exactly so much."""
    before = client.counters()
    yield
    after = client.counters()
    grown = {
        name: after[name.replace("_", "-")] - before[name.replace("_", "-")] for name in expected
    }
    assert grown == expected, grown


def ack_of_what_waits(conn: Conn, tcon: genl.Genl, payload: bytes) -> wire.Segment:
    """The guest's next segment is held, and TCon tells the peer what it acknowledges."""
    conn.peer_nxt += 2 * len(payload)
    with counted(tcon, held=1, pure_ack=1):
        conn.guest.send(conn.from_guest(wire.PSH | wire.ACK, payload).frame())
        got = conn.receive(conn.peer)
    assert got
    assert (got.ack, got.payload) == (conn.peer_nxt, b"")
    return got
