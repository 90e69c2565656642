# SPDX-License-Identifier: GPL-2.0-only
"""The datapath in user space: all of tcon.ko as a library (tests/packet), and its time.

Time passes only where a script waits: time.sleep(), and where a frame is waited for.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import errno
import os
import re
import struct
import time
from collections.abc import Iterator
from typing import Any

import genl
from rig_base import SCRIPTED_MTU, TSO, BaseRig

ATTACH = "openvswitch"
DEBUG_KERNEL = False
ANY_PORT = -1

_NS = 1_000_000_000
_START_S = 100
_lib = ctypes.CDLL(os.environ["TCON_LIBRARY"])
_lib.host_now_ns.restype = ctypes.c_uint64
_lib.host_run.restype = ctypes.c_bool
_lib.genl_dump_start.restype = ctypes.c_void_p
_lib.host_open.argtypes = [ctypes.c_uint64]
_lib.host_run.argtypes = [ctypes.c_uint64, ctypes.c_int]
_lib.host_open(_START_S * _NS)
atexit.register(_lib.host_close)


# --- time -------------------------------------------------------------------------


def now_ns() -> int:
    """The datapath's time."""
    return _lib.host_now_ns()


def now_s() -> float:
    """The same in seconds."""
    return now_ns() / _NS


def wait(seconds: float, ifindex: int = 0) -> bool:
    """Let time pass; less, if a frame leaves by a port, or by ANY_PORT.  Says whether one has."""
    ns = max(round(seconds * _NS), int(seconds > 0))  # or who waits for a moment never comes to it
    return _lib.host_run(now_ns() + ns, ifindex)


time.sleep = wait  # type: ignore[assignment]
time.monotonic = now_s


# --- ends -------------------------------------------------------------------------


#: Ports by the names of their devices, or of those at the other end of a pair.
_ifindex: dict[str, int] = {}
_pairs: dict[str, str] = {}


class _Offload(ctypes.Structure):
    _fields_ = (("csum_start", ctypes.c_uint16), ("gso_bytes", ctypes.c_uint16))


class _End:
    """A scripted end of a port: frames in, frames out."""

    def __init__(self, dev: str) -> None:
        self.ifindex = _ifindex[dev]
        self._frame = ctypes.create_string_buffer(1 << 17)
        self._offload = _Offload()

    def _send(self, frame: bytes, offload: _Offload) -> None:
        if _lib.port_receive(self.ifindex, bytes(frame), len(frame), ctypes.byref(offload)):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    def recv(self, timeout_s: float) -> bytes | None:
        """The next frame, with its tags; None."""
        wait(timeout_s, self.ifindex)
        size = _lib.port_sent(
            self.ifindex, self._frame, len(self._frame), ctypes.byref(self._offload)
        )
        return ctypes.string_at(self._frame, size) if size else None

    def close(self) -> None:
        """It goes with its rig."""


class RawEnd(_End):
    """A scripted end on a device that takes everything as it is."""

    def __init__(self, dev: str, ns: str | None = None) -> None:
        super().__init__(_pairs[dev])

    def send(self, frame: bytes) -> None:
        self._send(frame, _Offload(0, 0))


class Tap(_End):
    """A tap with a vnet header, as KVM has it."""

    def __init__(self, dev: str, offload: int = 0) -> None:
        _ifindex[dev] = _lib.port_add(dev.encode(), offload, SCRIPTED_MTU)
        super().__init__(dev)

    @property
    def last_flags(self) -> int:
        """The flags of the last vnet header."""
        return int(bool(self._offload.csum_start))

    @property
    def last_gso_bytes(self) -> int:
        return self._offload.gso_bytes

    def send(self, frame: bytes, csum_start: int = 0, gso_bytes: int = 0, gso: int = 0) -> None:
        """csum_start: offset of the TCP header; the sum is then partial."""
        self._send(frame, _Offload(csum_start, gso_bytes if gso else 0))

    def wait(self, timeout_s: float) -> bool:
        """Is there something to read, now or in time?"""
        return wait(timeout_s, self.ifindex)


# --- ports ------------------------------------------------------------------------


def set_mtu(dev: str, mtu: int) -> None:
    """Set a device's MTU."""
    _lib.port_set_mtu(_ifindex[dev], mtu)


class Rig(BaseRig):
    """Ports of the library."""

    def __init__(self) -> None:
        super().__init__(Genl())
        self.devices: list[str] = []
        self._by_number: dict[int, int] = {}

    def namespace(self, *names: str) -> None:
        """There are none."""

    def veth(self, dev: str, peer: str, ns: str, quiet: bool = True, queues: int = 1) -> None:
        """Make a device whose other end is a script's."""
        _ifindex[dev] = _lib.port_add(dev.encode(), TSO, SCRIPTED_MTU)
        _pairs[peer] = dev
        self.devices.append(dev)

    def bridge(self, name: str = "br0", normal: bool = False) -> str:
        """A name for ports that go together."""
        return name

    def port(self, bridge: str, dev: str, role: str = "AUTO", *options: str) -> int:
        """Tell tcon.ko about a port; its OpenFlow number."""
        number = next(self.ofports)
        self._by_number[number] = _ifindex[dev]
        self.tell(bridge, dev, number, role)
        return number

    def flows(self, bridge: str, *flows: str) -> None:
        """Let ports forward to others."""
        for flow in flows:
            found = re.fullmatch(r"in_port=(\d+),actions=(?:output:(\d+)|drop)", flow)
            assert found, f"the library does not forward by '{flow}'"
            to = self._by_number[int(found[2])] if found[2] else 0
            _lib.port_connect(self._by_number[int(found[1])], to)

    def raw(self, dev: str, ns: str | None = None) -> RawEnd:
        return RawEnd(dev, ns)

    def tap(self, dev: str, offload: int = 0) -> Tap:
        self.devices.append(dev)
        return Tap(dev, offload)

    def close(self) -> None:
        for dev in self.devices:
            _lib.port_del(_ifindex.pop(dev))


# --- netlink ----------------------------------------------------------------------

_HEADER = struct.Struct("=IHHII")
_REPLY_BYTES = 1 << 18
_reply = ctypes.create_string_buffer(_REPLY_BYTES)


class Genl(genl.Genl):
    """A client of tcon.ko's family that calls it."""

    def __init__(self) -> None:
        self.family = 0
        self.interrupted = False

    @staticmethod
    def ifindex(ifname: str) -> int:
        return _ifindex[ifname]

    def raw(
        self, kind: int, payload: bytes, flags: int, length: int | None = None
    ) -> Iterator[bytes]:
        """Send a message; yields payloads of the answers."""
        self.interrupted = False
        size = _HEADER.size + len(payload) if length is None else length
        message = _HEADER.pack(size, kind, genl.NLM_F_REQUEST | flags, 1, 0) + payload
        if flags & genl.NLM_F_DUMP == genl.NLM_F_DUMP:
            return self._dump(message)
        return iter(list(self._bodies(*self._call(_lib.genl_do, message, len(message)))))

    @staticmethod
    def _call(call: Any, *request: Any) -> tuple[bytes, int]:
        """Messages of the answer, and what the call returned.  Raises genl.Refused."""
        used, why = ctypes.c_uint32(), ctypes.c_char_p()
        result = call(*request, _reply, _REPLY_BYTES, ctypes.byref(used), ctypes.byref(why))
        if result < 0:
            raise genl.Refused(-result, (why.value or b"").decode())
        return ctypes.string_at(_reply, used.value), result

    def _bodies(self, data: bytes, _result: int) -> Iterator[bytes]:
        at = 0
        while at < len(data):
            size, kind, marks, _, _ = _HEADER.unpack_from(data, at)
            self.interrupted |= bool(marks & genl.NLM_F_DUMP_INTR)
            if kind != genl.NLMSG_DONE:
                yield data[at + _HEADER.size : at + size]
            at += (size + 3) & ~3

    def _dump(self, message: bytes) -> Iterator[bytes]:
        dump = ctypes.c_void_p(_lib.genl_dump_start(message, len(message)))
        try:
            while True:
                data, result = self._call(_lib.genl_dump_next, dump)
                yield from self._bodies(data, result)
                if not result:
                    return
        finally:
            _lib.genl_dump_end(dump)


# --- modules ----------------------------------------------------------------------


def choose_attach() -> None:
    """There is one way in."""


def load_all() -> None:
    """All modules are linked in."""


def start_ovs() -> None:
    """There is none."""


def rest() -> None:
    """Let flows take up that the rules have gone, as they do while a machine makes the next rig."""
    wait(0.1)


@contextlib.contextmanager
def kernel_log() -> Iterator[list[str]]:
    """A warning ends the program."""
    yield []


@contextlib.contextmanager
def badcc(other_version: int = 0) -> Iterator[None]:
    """Load the CC that does what it is told, for the block."""
    assert not _lib.badcc_load(ctypes.c_bool(bool(other_version)))
    try:
        yield
    finally:
        _lib.badcc_unload()


def parameter(name: str) -> int:
    """A parameter of tcon.ko; 0 or 1 where it is a switch."""
    value = ctypes.create_string_buffer(64)
    assert _lib.param_get(name.encode(), value) > 0, f"no parameter {name}"
    text = value.value.decode().strip()
    return int({"N": "0", "Y": "1"}.get(text, text))


def set_parameter(name: str, value: int) -> None:
    error = _lib.param_set(name.encode(), str(value).encode())
    if error:
        raise OSError(-error, f"{name}={value}")


def __getattr__(name: str) -> Any:
    """Names of a machine that the library lacks."""
    if name.startswith("_"):
        raise AttributeError(name)

    def missing(*_: Any, **__: Any) -> None:
        raise RuntimeError(f"{name} needs a machine: give the test the mark 'machine'")

    return missing
