# SPDX-License-Identifier: GPL-2.0-only
"""A CPU of this host for each machine in virtual time.

Such a machine is processes or threads that take turns.  On one CPU they do so faster
than on two: QEMU, which waits for its other thread at each device, up to twice as fast.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import random
from collections.abc import Iterator

from .cache import cache_dir

#: Where it begins differs by process: many labs run one machine each.
_turns = itertools.count(random.randrange(os.cpu_count() or 1))


@contextlib.contextmanager
def own_cpu() -> Iterator[int]:
    """A CPU that no other machine has, of any lab, while there is such a one."""
    known = sorted(os.sched_getaffinity(0))
    folder = cache_dir()
    folder.mkdir(parents=True, exist_ok=True)
    for cpu in known:
        with (folder / f"cpu-{cpu}.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield cpu
            return
    yield known[next(_turns) % len(known)]
