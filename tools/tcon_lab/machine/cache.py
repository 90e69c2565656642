# SPDX-License-Identifier: GPL-2.0-only
"""The folder for what is built or downloaded, shared by trees and processes.

A process may be killed at any moment.  Its unfinished build stays under one fixed
name, where the next one goes on; its own temporary files the next one removes.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import struct
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

#: How long the cache keeps unused files, in seconds: a week.
_UNUSED_S = 7 * 24 * 3600


def cache_dir() -> Path:
    """The cache: TCON_CACHE, or ~/.cache/tcon."""
    default = Path.home() / ".cache" / "tcon"
    return Path(os.environ.get("TCON_CACHE") or default)


def digest(*parts: str | bytes) -> str:
    """A short key made of all parts, in order."""
    state = hashlib.sha256()
    for part in parts:
        raw = part.encode() if isinstance(part, str) else part
        state.update(struct.pack("<Q", len(raw)) + raw)
    return state.hexdigest()[:16]


def note_use(used: Path, pattern: str) -> None:
    """Remove the matching folders beside ``used`` that were not used for a week.

    A folder's time of modification says when it was last used; it is set here.
    """
    os.utime(used)
    for folder in used.parent.glob(pattern):
        if time.time() - folder.stat().st_mtime > _UNUSED_S:
            shutil.rmtree(folder)


@contextlib.contextmanager
def locked(file: Path) -> Iterator[None]:
    """Only one process at a time is here; its folder is made.

    A program that is started with ``close_fds=False`` holds the lock as well: a make
    whose parent was killed still writes to its tree.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.set_inheritable(lock.fileno(), True)
        yield


@contextlib.contextmanager
def unfinished(dest: Path) -> Iterator[Path]:
    """A folder that becomes ``dest`` at the block's end; call it under a lock.

    It keeps the work of a process that was killed in the block.  A block that fails
    leaves nothing.
    """
    partial = dest.with_name(f"{dest.name}.partial")
    partial.mkdir(parents=True, exist_ok=True)
    try:
        yield partial
    except Exception:
        shutil.rmtree(partial)
        raise
    partial.rename(dest)


def _owned(folder: Path) -> int | None:
    """A descriptor that says that the folder is in use; None: it is somebody's."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A folder of one's own, gone afterwards, with the ones of processes that were killed."""
    home = cache_dir() / "scratch"
    with locked(home.with_name("scratch.lock")):
        home.mkdir(exist_ok=True)
        for left in home.glob("tcon-*"):  # TCON_CACHE may be a folder with another "scratch"
            if (nobodys := _owned(left)) is not None:
                shutil.rmtree(left)
                os.close(nobodys)
        folder = Path(tempfile.mkdtemp(prefix="tcon-", dir=home))
        mine = _owned(folder)
    assert mine is not None
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
        os.close(mine)
