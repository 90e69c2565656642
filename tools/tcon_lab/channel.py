# SPDX-License-Identifier: GPL-2.0-only
"""How a VM hands results to the host: an append-only log in shared memory.

The host gives the machine a sparse file as a device with memory (ivshmem in
QEMU, iomem in User-Mode Linux); the guest maps it and appends frames.  A byte
costs a memory write, not a device access, so sending leaves virtual time alone
and is binary-safe.  The newest User-Mode Linux has no such device; there the guest
writes to the file itself (hostfs), which takes no time of its clock either.

Layout: a little-endian u64 with the number of bytes written so far; from byte
64 on, frames: u32 length of the payload, one byte kind, payload.  The counter
is advanced after the frame is in place (x86 keeps the order of stores).
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .errors import LabError

CAPACITY_BYTES = 256 << 20
_START = 64
_COUNTER = struct.Struct("<Q")
_HEADER = struct.Struct("<IB")

OUTPUT = ord("O")  # bytes that a program in the VM printed
PROGRESS = ord("P")  # one line about what happens, UTF-8
RESULT = ord("R")  # the run's raw data but for the next, JSON
RECORDS = ord("r")  # part of what a probe wrote, see records.packed()
KERNEL_LOG = ord("K")  # dmesg, complete, UTF-8
ERROR = ord("E")  # one sentence: why the job failed, UTF-8
EXIT = ord("X")  # exit status, decimal; always the last frame


class Frame(NamedTuple):
    """One message of the guest."""

    kind: int
    payload: bytes


class Writer:
    """The guest's end; ``mapped``: the device's memory, otherwise written as a file."""

    def __init__(self, path: Path, mapped: bool = True) -> None:
        self._file = os.open(path, os.O_RDWR)
        self._memory = mmap.mmap(self._file, CAPACITY_BYTES) if mapped else None
        (self._written,) = _COUNTER.unpack(self._read(0, _COUNTER.size))

    def send(self, kind: int, payload: bytes | str) -> None:
        """Append a frame.  Raises LabError when the log is full."""
        raw = payload.encode() if isinstance(payload, str) else payload
        at = _START + self._written
        end = at + _HEADER.size + len(raw)
        if end > CAPACITY_BYTES:
            raise LabError(f"results exceed the channel's {CAPACITY_BYTES >> 20} MiB")
        self._write(at, _HEADER.pack(len(raw), kind) + raw)
        self._written = end - _START
        self._write(0, _COUNTER.pack(self._written))

    def _read(self, at: int, length: int) -> bytes:
        if self._memory is None:
            return os.pread(self._file, length, at)
        return self._memory[at : at + length]

    def _write(self, at: int, raw: bytes) -> None:
        if self._memory is not None:
            self._memory[at : at + len(raw)] = raw
            return
        while raw:
            done = os.pwrite(self._file, raw, at)
            at, raw = at + done, raw[done:]


class Reader:
    """The host's end."""

    def __init__(self, path: Path) -> None:
        """Make the file; it takes disk space only for what is written."""
        with path.open("w+b") as backing:
            backing.truncate(CAPACITY_BYTES)
            self._memory = mmap.mmap(backing.fileno(), 0)
        self._read = 0

    def frames(self) -> Iterator[Frame]:
        """The frames that came since the last call."""
        (written,) = _COUNTER.unpack_from(self._memory, 0)
        while self._read < written:
            at = _START + self._read
            length, kind = _HEADER.unpack_from(self._memory, at)
            start = at + _HEADER.size
            self._read = start + length - _START
            yield Frame(kind, self._memory[start : start + length])
