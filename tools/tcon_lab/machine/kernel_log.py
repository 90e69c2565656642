# SPDX-License-Identifier: GPL-2.0-only
"""Finds what must never be in a kernel log: warnings, oopses, lockdep reports."""

from __future__ import annotations

import re

#: Lines that only look like a report.
_ALLOWED_LINE = re.compile(r"kmemleak: Kernel memory leak detector initialized ")

_BAD = re.compile(
    r"WARNING: |BUG: |BUG at |kernel BUG|Oops: |general protection fault|Kernel panic"
    r"|unable to handle|INFO: task .* blocked|INFO: rcu|INFO: possible|INFO: inconsistent"
    r"|INFO: trying to register non-static key|rcu: INFO|possible recursive locking"
    r"|possible circular locking|suspicious RCU usage|DEADLOCK|refcount_t: "
    r"|(?:list_add|list_del) corruption|soft lockup|hard LOCKUP|scheduling while atomic"
    r"|sleeping function called|Bad page|UBSAN: |KASAN: |ODEBUG: |kmemleak: |memory leak"
    r"|lockdep is turned off|unregister_netdevice: waiting|Out of memory"
    r"|page allocation failure|Call Trace:"
)


def problems(log: str) -> list[str]:
    """The lines of a kernel log that report a fault."""
    return [
        line.strip()
        for line in log.splitlines()
        if _BAD.search(line) and not _ALLOWED_LINE.search(line)
    ]
