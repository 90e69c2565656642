# SPDX-License-Identifier: GPL-2.0-only
"""Rigs in the lab's machine: namespaces, devices, bridges of Open vSwitch, modules, the log."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import re
import select
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import genl
import wire
from rig_base import SCRIPTED_MTU, VNET_NEEDS_CSUM, BaseRig

#: The kernel checks itself (KASAN and others), which takes memory of its own.
DEBUG_KERNEL = Path("/sys/kernel/debug/kmemleak").exists()

_libc = ctypes.CDLL(None, use_errno=True)
_ETH_P_ALL = 3
_SOL_PACKET, _PACKET_AUXDATA, _PACKET_OUTGOING = 263, 8, 4
_PACKET_IGNORE_OUTGOING = 23
_TP_STATUS_VLAN_VALID, _TP_STATUS_VLAN_TPID_VALID = 1 << 4, 1 << 6
_SO_RCVBUFFORCE = 33

#: Lines that must never be in the kernel's log, beside the ones that the lab itself looks for.
BAD_LOG = re.compile(
    r"WARNING: |BUG: |kernel BUG|Oops|general protection fault|unable to handle"
    r"|hw csum failure|refcount_t: |list_(?:add|del) corruption|scheduling while atomic"
    r"|suspicious RCU|Objects remaining|unregister_netdevice: waiting|KASAN|UBSAN|Call Trace:"
)


def run(*command: str, check: bool = True, ns: str | None = None, stdin: str | None = None) -> str:
    """Run a command; its output.  Raises RuntimeError with its complaint.

    It has the network of a namespace ns, but not its /sys: `ip netns exec` would mount another.
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


def as_nobody(action: Callable[[genl.Genl], object]) -> str:
    """The result for a process without privileges: an errno's name, or "ok"."""
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
    """Load the modules that the tests need; loaded ones stay."""
    missing = [name for name in MODULES if not Path("/sys/module", name).exists()]
    if missing:
        run("modprobe", "-a", *missing)


def unload(module: str) -> None:
    run("rmmod", module)


@contextlib.contextmanager
def badcc(name: str = "badcc", **parameters: int) -> Iterator[None]:
    """Load the CC that does what it is told, for the block; or unlimited, by its name."""
    words = (f"{k}={v}" for k, v in parameters.items())
    run("insmod", f"/lab/badcc/tcon_{name}.ko", *words)
    try:
        yield
    finally:
        unload(f"tcon_{name}")


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


def start_ovs() -> None:
    """Start Open vSwitch unless it runs."""
    pid = Path("/run/openvswitch/ovs-vswitchd.pid")
    if pid.exists() and Path(f"/proc/{pid.read_text().strip()}").exists():
        return
    from tcon_lab import ovs

    ovs.start()


def target() -> list[str]:
    """The option of ovs-appctl that names the daemon with the tcon/ commands."""
    beside = [*Path("/run/openvswitch").glob("tcon-switchd.*.ctl")]
    return ["--target=tcon-switchd"] if beside else []


def rest() -> None:
    """Time passes by itself."""


@contextlib.contextmanager
def kernel_log() -> Iterator[list[str]]:
    """The kernel's log during the block, record by record; filled in at its end."""
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


Genl = genl.Genl


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


def quiet_up(dev: str, ns: str | None = None) -> None:
    """Set a device up that says nothing by itself and takes any header."""
    with contextlib.suppress(FileNotFoundError):
        sysctl(f"ipv6/conf/{dev}/disable_ipv6", 1, ns)
    ip(f"link set {dev} mtu {SCRIPTED_MTU} up", ns=ns)


@contextlib.contextmanager
def without_ipv6(ns: str | None) -> Iterator[None]:
    """Devices that are made and set up in the block say nothing by themselves."""
    sysctl("ipv6/conf/default/disable_ipv6", 1, ns)
    try:
        yield
    finally:
        sysctl("ipv6/conf/default/disable_ipv6", 0, ns)


# --- bridges ------------------------------------------------------------------


def set_mtu(dev: str, mtu: int) -> None:
    """Set a device's MTU."""
    ip(f"link set {dev} mtu {mtu}")


class Rig(BaseRig):
    """Namespaces, devices and bridges of the machine."""

    def __init__(self) -> None:
        super().__init__(genl.Genl())
        self.namespaces: list[str] = []
        self.devices: list[str] = []
        self.bridges: list[str] = []

    def namespace(self, *names: str) -> None:
        ip(*(f"netns add {name}" for name in names))
        self.namespaces += names

    def veth(self, dev: str, peer: str, ns: str, quiet: bool = True, queues: int = 1) -> None:
        """A pair: dev here, which has ``queues`` transmit queues, peer in ns.

        Quiet, both are up and for scripts; else the peer is down until it has an address.
        """
        self.devices.append(dev)
        mtu = f"mtu {SCRIPTED_MTU}" if quiet else ""
        add = (
            f"link add {dev} {mtu} numtxqueues {queues} type veth"
            f" peer name {peer} {mtu} numrxqueues {queues} netns {ns}"
        )
        if not quiet:
            ip(add, f"link set {dev} up")
            return
        with without_ipv6(None), without_ipv6(ns):
            ip(add, f"link set {dev} up")
            ip(f"link set {peer} up", ns=ns)

    def bridge(self, name: str = "br0", normal: bool = False) -> str:
        """A bridge; without flows unless it is to learn as a switch does."""
        run("ovs-vsctl", "add-br", name, "--", "set-fail-mode", name,
            "standalone" if normal else "secure")  # fmt: skip
        self.bridges.append(name)
        return name

    def port(self, bridge: str, dev: str, role: str = "AUTO", *options: str) -> int:
        """Add a device to a bridge and tell tcon.ko; its OpenFlow number."""
        number = next(self.ofports)
        wanted = [f"ofport_request={number}"]
        if role != "AUTO":
            wanted.append(f"other_config:tcon-role={role.lower()}")
        run("ovs-vsctl", "add-port", bridge, dev, *options, "--", "set", "Interface", dev, *wanted)
        self.tell(bridge, dev, number, role)
        return number

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

    def close(self) -> None:
        for end in self.ends:
            with contextlib.suppress(OSError):
                end.close()
        for bridge in self.bridges:
            run("ovs-vsctl", "--if-exists", "del-br", bridge)
        left = [dev for dev in self.devices if Path("/sys/class/net", dev).exists()]
        ip(*(f"link del {dev}" for dev in left), *(f"netns del {ns}" for ns in self.namespaces))
