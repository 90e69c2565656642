# SPDX-License-Identifier: GPL-2.0-only
"""Writer for the "newc" cpio format that Linux unpacks as initramfs.

Several archives may follow one another in one file; where a name repeats,
the later one wins.  Entries are owned by root and carry no time stamp, so
equal contents give equal bytes.
"""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

_MAGIC = b"070701"
_ALIGN = 4


class CpioWriter:
    """Writes one archive; parents of each entry are made as needed.

    ``change`` is what a file's contents become.
    """

    def __init__(self, out: BinaryIO, change: Callable[[bytes], bytes] = bytes) -> None:
        self._out = out
        self._change = change
        self._ino = 0
        self._dirs: set[str] = set()
        self.names: set[str] = set()

    def file(self, name: str, data: bytes, mode: int = 0o644) -> None:
        """Add a regular file with the given permission bits."""
        self._parents(name)
        self._entry(name, stat.S_IFREG | mode, self._change(data))

    def symlink(self, name: str, target: str) -> None:
        """Add a symbolic link."""
        self._parents(name)
        self._entry(name, stat.S_IFLNK | 0o777, target.encode())

    def directory(self, name: str, mode: int = 0o755) -> None:
        """Add a directory, once."""
        if name in self._dirs:
            return
        self._parents(name)
        self._dirs.add(name)
        self._entry(name, stat.S_IFDIR | mode, b"")

    def device(self, name: str, major: int, minor: int) -> None:
        """Add a character device."""
        self._parents(name)
        self._entry(name, stat.S_IFCHR | 0o600, b"", major, minor)

    def tree(self, source: Path, name: str) -> None:
        """Add a file or a directory with all that is in it."""
        if source.is_symlink():
            self.symlink(name, str(source.readlink()))
        elif source.is_dir():
            self.directory(name)
            for child in sorted(source.iterdir()):
                if child.name != "__pycache__":
                    self.tree(child, f"{name}/{child.name}")
        else:
            self.file(name, source.read_bytes(), source.stat().st_mode & 0o777)

    def close(self) -> None:
        """Write the trailer; the stream stays open."""
        self._entry("TRAILER!!!", 0, b"")

    def _parents(self, name: str) -> None:
        parent = name.rpartition("/")[0]
        if parent:
            self.directory(parent)

    def _entry(self, name: str, mode: int, data: bytes, major: int = 0, minor: int = 0) -> None:
        self._ino += 1
        self.names.add(name)
        raw_name = name.encode() + b"\0"
        fields = (
            self._ino, mode, 0, 0, 1, 0, len(data), 0, 0, major, minor,
            len(raw_name), 0,
        )  # fmt: skip
        header = _MAGIC + b"".join(b"%08X" % field for field in fields)
        self._out.write(header + raw_name)
        self._pad(len(header) + len(raw_name))
        self._out.write(data)
        self._pad(len(data))

    def _pad(self, length: int) -> None:
        self._out.write(b"\0" * (-length % _ALIGN))
