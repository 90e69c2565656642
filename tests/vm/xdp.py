# SPDX-License-Identifier: GPL-2.0-only
"""A generic XDP program that counts what a device receives, by bpf(2) alone (linux/bpf.h)."""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import struct
from collections.abc import Callable, Iterator

_SYS_BPF = 321  # x86
_MAP_CREATE, _MAP_LOOKUP_ELEM, _PROG_LOAD, _LINK_CREATE = 0, 1, 5, 28
_ARRAY, _XDP_PROGRAM, _AT_XDP, _SKB_MODE = 2, 6, 37, 2


def _bpf(command: int, attributes: bytes) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    found = libc.syscall(_SYS_BPF, command, attributes, len(attributes))
    if found < 0:
        raise OSError(ctypes.get_errno(), f"bpf({command})")
    return found


def _insn(code: int, to: int = 0, of: int = 0, offset: int = 0, value: int = 0) -> bytes:
    return struct.pack("=BBhi", code, to | of << 4, offset, value)


def _program(counter: int) -> bytes:
    """Adds 1 to element 0 of the map, and lets the packet pass."""
    return b"".join((
        _insn(0x62, to=10, offset=-4),  # *(u32 *)(r10 - 4) = 0
        _insn(0xBF, to=2, of=10), _insn(0x07, to=2, value=-4),  # r2 = r10 - 4
        _insn(0x18, to=1, of=1, value=counter), _insn(0),  # r1 = the map
        _insn(0x85, value=1),  # r0 = bpf_map_lookup_elem(r1, r2)
        _insn(0x15, to=0, offset=2),  # without it pass
        _insn(0xB7, to=1, value=1), _insn(0xDB, to=0, of=1),  # *r0 += 1
        _insn(0xB7, to=0, value=2), _insn(0x95),  # XDP_PASS
    ))  # fmt: skip


@contextlib.contextmanager
def counting(device: str) -> Iterator[Callable[[], int]]:
    """What the program has seen so far.  Raises OSError where the kernel has no BPF."""
    counter = _bpf(_MAP_CREATE, struct.pack("=5I", _ARRAY, 4, 8, 1, 0))
    code = ctypes.create_string_buffer(_program(counter))
    gpl = ctypes.create_string_buffer(b"GPL")
    loaded = _bpf(_PROG_LOAD, struct.pack(
        "=IIQQIIQII", _XDP_PROGRAM, (len(code) - 1) // 8, ctypes.addressof(code),
        ctypes.addressof(gpl), 0, 0, 0, 0, 0,
    ))  # fmt: skip
    index = socket.if_nametoindex(device)
    link = _bpf(_LINK_CREATE, struct.pack("=4I", loaded, index, _AT_XDP, _SKB_MODE))
    key, value = ctypes.c_uint32(0), ctypes.c_uint64()

    def seen() -> int:
        _bpf(_MAP_LOOKUP_ELEM, struct.pack(
            "=IIQQQ", counter, 0, ctypes.addressof(key), ctypes.addressof(value), 0
        ))  # fmt: skip
        return value.value

    try:
        yield seen
    finally:
        for each in (link, loaded, counter):
            os.close(each)
