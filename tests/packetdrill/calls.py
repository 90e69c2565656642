# SPDX-License-Identifier: GPL-2.0-only
"""The system calls of a script, made as it says: with bad pointers, too, so through libc."""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import struct
from collections.abc import Callable
from typing import Any

from difference import Difference
from language import Call, Struct

_libc = ctypes.CDLL(None, use_errno=True)
_NAME_BYTES = 128  # struct sockaddr_storage
_TIMESTAMPING_BYTES, _ERROR_BYTES = 48, {socket.AF_INET: 32, socket.AF_INET6: 44}
_ERROR = struct.Struct("=IBBBxII")  # struct sock_extended_err
_ERROR_FIELDS = ("ee_errno", "ee_origin", "ee_type", "ee_code", "ee_info", "ee_data")
_CMSG = struct.Struct("=QII")
_EPOLL = struct.Struct("=Iq")
_SCM_TIMESTAMPING = 37

#: Which one, the process decides.
_GIVES_FD = ("socket", "accept", "open", "epoll_create")

Check = Callable[[int], None]


class _Iovec(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("size", ctypes.c_size_t))


class _Msghdr(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_void_p), ("name_bytes", ctypes.c_uint32),
        ("iov", ctypes.POINTER(_Iovec)), ("iovs", ctypes.c_size_t),
        ("control", ctypes.c_void_p), ("control_bytes", ctypes.c_size_t),
        ("flags", ctypes.c_int),
    )  # fmt: skip


def _same(what: str, got: object, wanted: object) -> None:
    if got != wanted:
        raise Difference(what, f"{got!r} instead of {wanted!r}")


def _aligned(size: int) -> int:
    return (size + 7) & ~7


class Calls:
    """``family``, ``local`` and ``remote``: of the sockets, and what they bind or connect to.

    ``live``: a script's file descriptors as the process has them.  ``begin_us`` is the script's
    begin on the clock.
    """

    def __init__(
        self, family: int, local: tuple[str, int], remote: tuple[str, int], tolerance_us: float
    ) -> None:
        self.family = family
        self.local, self.remote = self._address(*local), self._address(*remote)
        self.tolerance_us = tolerance_us
        self.begin_us = 0
        self.live: dict[int, int] = {}
        self.opened: list[int] = []
        # What a zero-copy send has taken stays as it was.
        self.kept: list[Any] = []

    def run(self, call: Call) -> int:
        """Make it and look at what it gives; its result.  Raises Difference."""
        make = getattr(self, f"_{call.name}", None)
        if make is None:
            raise Difference("script", f"no system call {call.name}")
        checks: list[Check] = []
        ctypes.set_errno(0)
        result = make(call.args, checks)
        failed = ctypes.get_errno()
        any_fd = call.name in _GIVES_FD and min(result, call.result) >= 0
        if result != call.result and not any_fd:
            why = f" ({os.strerror(failed)})" if result < 0 else ""
            raise Difference("result", f"{call.name}: {result}{why} instead of {call.result}")
        if call.errno and failed != getattr(errno, call.errno):
            raise Difference("errno", f"{call.name}: {os.strerror(failed)}, not {call.errno}")
        for check in checks:
            check(result)
        return result

    def close_all(self) -> None:
        """Close what is open."""
        for fd in self.opened:
            _libc.close(fd)
        self.opened.clear()
        self.kept.clear()

    # --- arguments ------------------------------------------------------------------

    def _address(self, address: str, port: int) -> bytes:
        if self.family == socket.AF_INET:
            raw = socket.inet_pton(socket.AF_INET, address)
            return struct.pack("=H", self.family) + struct.pack("!H4s8x", port, raw)
        raw = socket.inet_pton(socket.AF_INET6, address)
        return struct.pack("=H", self.family) + struct.pack("!HI16sI", port, 0, raw, 0)

    def _fd(self, fd: int) -> int:
        if fd not in self.live:
            raise Difference("script", f"no file descriptor {fd}")
        return self.live[fd]

    def _buffer(self, argument: Any, size: int) -> Any:
        """Zeros, where the script has dots; else no memory."""
        if argument is not ...:
            return None
        self.kept.append(ctypes.create_string_buffer(max(size, 1)))
        return self.kept[-1]

    def _opened(self, fd: int) -> int:
        if fd >= 0:
            self.opened.append(fd)
        return fd

    # --- sockets --------------------------------------------------------------------

    def _socket(self, args: list[Any], _: list[Check]) -> int:
        family = self.family if args[0] is ... else args[0]
        return self._opened(_libc.socket(family, args[1], args[2]))

    def _bind(self, args: list[Any], _: list[Check]) -> int:
        return int(_libc.bind(self._fd(args[0]), self.local, len(self.local)))

    def _listen(self, args: list[Any], _: list[Check]) -> int:
        return int(_libc.listen(self._fd(args[0]), args[1]))

    def _accept(self, args: list[Any], _: list[Check]) -> int:
        return self._opened(_libc.accept(self._fd(args[0]), None, None))

    def _connect(self, args: list[Any], _: list[Check]) -> int:
        to = self.remote if args[1] is ... else struct.pack(f"=H{len(self.remote) - 2}x", args[1])
        return int(_libc.connect(self._fd(args[0]), to, len(to)))

    def _shutdown(self, args: list[Any], _: list[Check]) -> int:
        return int(_libc.shutdown(self._fd(args[0]), args[1]))

    def _close(self, args: list[Any], _: list[Check]) -> int:
        fd = self._fd(args[0])
        del self.live[args[0]]
        self.opened.remove(fd)
        return int(_libc.close(fd))

    def _fcntl(self, args: list[Any], _: list[Check]) -> int:
        return int(_libc.fcntl(self._fd(args[0]), *args[1:]))

    def _ioctl(self, args: list[Any], checks: list[Check]) -> int:
        value = ctypes.c_int()
        checks.append(lambda _: _same("value", value.value, args[2][0]))
        return int(_libc.ioctl(self._fd(args[0]), args[1], ctypes.byref(value)))

    def _setsockopt(self, args: list[Any], _: list[Check]) -> int:
        fd, level, name, value, size = args
        raw = value if isinstance(value, bytes) else struct.pack("=I", value[0])
        return int(_libc.setsockopt(self._fd(fd), level, name, raw, size))

    def _getsockopt(self, args: list[Any], checks: list[Check]) -> int:
        fd, level, name, value, (most,) = args
        wanted = value if isinstance(value, bytes) else struct.pack("=I", value[0])
        raw, size = ctypes.create_string_buffer(most + 1), ctypes.c_uint32(most)
        checks.append(lambda _: _same("value", raw.raw[: size.value], wanted))
        return int(_libc.getsockopt(self._fd(fd), level, name, raw, ctypes.byref(size)))

    # --- data -----------------------------------------------------------------------

    def _read(self, args: list[Any], _: list[Check]) -> int:
        return int(_libc.read(self._fd(args[0]), self._buffer(args[1], args[2]), args[2]))

    def _write(self, args: list[Any], _: list[Check]) -> int:
        return int(_libc.write(self._fd(args[0]), self._buffer(args[1], args[2]), args[2]))

    def _recv(self, args: list[Any], _: list[Check]) -> int:
        return int(_libc.recv(self._fd(args[0]), self._buffer(args[1], args[2]), *args[2:4]))

    def _send(self, args: list[Any], _: list[Check]) -> int:
        return int(_libc.send(self._fd(args[0]), self._buffer(args[1], args[2]), *args[2:4]))

    def _recvfrom(self, args: list[Any], _: list[Check]) -> int:
        buffer = self._buffer(args[1], args[2])
        return int(_libc.recvfrom(self._fd(args[0]), buffer, *args[2:4], None, None))

    def _sendto(self, args: list[Any], _: list[Check]) -> int:
        buffer = self._buffer(args[1], args[2])
        to = self.remote
        return int(_libc.sendto(self._fd(args[0]), buffer, *args[2:4], to, len(to)))

    def _sendfile(self, args: list[Any], _: list[Check]) -> int:
        to, of, (offset,), size = args
        at = ctypes.c_int64(offset)
        return int(_libc.sendfile(self._fd(to), self._fd(of), ctypes.byref(at), size))

    def _splice(self, args: list[Any], _: list[Check]) -> int:
        of, _at, to, _to_at, size, flags = args
        return int(_libc.splice(self._fd(of), None, self._fd(to), None, size, flags))

    def _open(self, args: list[Any], _: list[Check]) -> int:
        return self._opened(_libc.open(args[0], args[1]))

    def _pipe(self, args: list[Any], _: list[Check]) -> int:
        pair = (ctypes.c_int * 2)()
        result = int(_libc.pipe(pair))
        if not result:
            for fd, live in zip(args[0], pair, strict=True):
                self.live[fd] = self._opened(live)
        return result

    # --- messages -------------------------------------------------------------------

    def _message(self, wanted: Struct, control_bytes: int) -> _Msghdr:
        sizes = [vector.fields[""] for vector in wanted.fields["msg_iov"]]
        vectors = (_Iovec * len(sizes))()
        for vector, size in zip(vectors, sizes, strict=True):
            vector.base = ctypes.cast(self._buffer(..., size), ctypes.c_void_p)
            vector.size = size
        name = self._buffer(..., _NAME_BYTES)
        control = self._buffer(..., control_bytes)
        self.kept.append(vectors)
        return _Msghdr(
            ctypes.cast(name, ctypes.c_void_p), _NAME_BYTES, vectors, len(sizes),
            ctypes.cast(control, ctypes.c_void_p), control_bytes, 0,
        )  # fmt: skip

    def _sendmsg(self, args: list[Any], _: list[Check]) -> int:
        message = self._message(args[1], 0)
        ctypes.memmove(message.name, self.remote, len(self.remote))
        message.name_bytes = len(self.remote)
        return int(_libc.sendmsg(self._fd(args[0]), ctypes.byref(message), args[2]))

    def _recvmsg(self, args: list[Any], checks: list[Check]) -> int:
        wanted = args[1].fields
        controls = [Control(self, c.fields) for c in wanted.get("msg_control", [])]
        room = sum(_CMSG.size + _aligned(control.size) for control in controls)
        message = self._message(args[1], room)
        result = int(_libc.recvmsg(self._fd(args[0]), ctypes.byref(message), args[2]))

        def check(got: int) -> None:
            _same("message flags", message.flags if got >= 0 else wanted["msg_flags"],
                       wanted["msg_flags"])  # fmt: skip
            if got >= 0:
                self._compare_controls(message, controls)

        checks.append(check)
        return result

    def _compare_controls(self, message: _Msghdr, wanted: list[Control]) -> None:
        raw = ctypes.string_at(message.control, message.control_bytes)
        found = []
        while len(raw) >= _CMSG.size:
            size, level, kind = _CMSG.unpack_from(raw)
            found.append((level, kind, raw[_CMSG.size : size]))
            raw = raw[_aligned(size) :]
        _same("control messages", len(found), len(wanted))
        for (level, kind, data), control in zip(found, wanted, strict=True):
            control.compare(level, kind, data)

    # --- epoll ----------------------------------------------------------------------

    def _epoll_event(self, wanted: Struct, live: bool) -> bytes:
        fields = wanted.fields
        (name,) = set(fields) - {"events"}
        value = self._fd(fields["fd"]) if name == "fd" and live else fields[name]
        return _EPOLL.pack(fields["events"], value)

    def _epoll_create(self, args: list[Any], _: list[Check]) -> int:
        return self._opened(_libc.epoll_create(args[0]))

    def _epoll_ctl(self, args: list[Any], _: list[Check]) -> int:
        event = self._epoll_event(args[3], live=True)
        return int(_libc.epoll_ctl(self._fd(args[0]), args[1], self._fd(args[2]), event))

    def _epoll_wait(self, args: list[Any], checks: list[Check]) -> int:
        fd, wanted, most, timeout_ms = args
        raw = ctypes.create_string_buffer(most * _EPOLL.size)
        event = self._epoll_event(wanted, live=True)
        checks.append(lambda _: _same("event", raw.raw[: _EPOLL.size], event))
        return int(_libc.epoll_wait(self._fd(fd), raw, most, timeout_ms))


class Control:
    """A control message that is expected."""

    def __init__(self, calls: Calls, fields: dict[str, Any]) -> None:
        self.calls = calls
        self.level, self.kind = fields["cmsg_level"], fields["cmsg_type"]
        data = fields["cmsg_data"]
        self.data = data if isinstance(data, int) else data.fields
        if isinstance(data, int):
            self.size = 4
        else:
            errors = "ee_errno" in self.data
            self.size = _ERROR_BYTES[calls.family] if errors else _TIMESTAMPING_BYTES

    def compare(self, level: int, kind: int, raw: bytes) -> None:
        """Raises Difference."""
        got, wanted = (level, kind, len(raw)), (self.level, self.kind, self.size)
        if got != wanted:
            raise Difference("control messages", f"{got} instead of {wanted}")
        if isinstance(self.data, int):
            _same("control data", struct.unpack("=i", raw)[0], self.data)
        elif "ee_errno" in self.data:
            error = dict(zip(_ERROR_FIELDS, _ERROR.unpack_from(raw), strict=True))
            _same("control data", error, self.data)
        elif any(self.data.values()):
            second, ns = struct.unpack_from("=qq", raw)
            got_us = second * 10**6 + ns // 1000 - self.calls.begin_us
            wanted_us = self.data["scm_sec"] * 10**6 + self.data["scm_nsec"] // 1000
            if abs(got_us - wanted_us) > self.calls.tolerance_us:
                raise Difference("control data", f"stamp {got_us} instead of {wanted_us} us")
