# SPDX-License-Identifier: GPL-2.0-only
"""Names that packetdrill scripts use for numbers: those of Linux's headers.

What the module socket and others have is taken from there; the rest is from
include/uapi/linux of the kernel (errqueue.h, net_tstamp.h, sockios.h, tcp.h).
"""

from __future__ import annotations

import errno
import os
import select
import socket

_OWN = {
    "IP_FREEBIND": 15,
    "IP_MTU_DISCOVER": 10,
    "IP_PMTUDISC_DONT": 0,
    "IP_RECVERR": 11,
    "IPV6_RECVERR": 25,
    "MSG_FASTOPEN": 0x20000000,
    "MSG_ZEROCOPY": 0x4000000,
    "NULL": 0,
    "SCM_TIMESTAMPING": 37,
    "SCM_TSTAMP_ACK": 2,
    "SCM_TSTAMP_SCHED": 1,
    "SCM_TSTAMP_SND": 0,
    "SIOCINQ": 0x541B,
    "SOF_TIMESTAMPING_OPT_ID": 1 << 7,
    "SOF_TIMESTAMPING_SOFTWARE": 1 << 4,
    "SOF_TIMESTAMPING_TX_ACK": 1 << 9,
    "SOF_TIMESTAMPING_TX_SCHED": 1 << 8,
    "SOF_TIMESTAMPING_TX_SOFTWARE": 1 << 1,
    "SOL_IP": 0,
    "SOL_IPV6": 41,
    "SO_EE_CODE_ZEROCOPY_COPIED": 1,
    "SO_EE_ORIGIN_TIMESTAMPING": 4,
    "SO_EE_ORIGIN_ZEROCOPY": 5,
    "SO_MARK": 36,
    "SO_TIMESTAMPING": 37,
    "SO_ZEROCOPY": 60,
    "TCP_CM_INQ": 36,
    "TCP_FASTOPEN": 23,
    "TCP_FASTOPEN_CONNECT": 30,
    "TCP_FASTOPEN_KEY": 33,
    "TCP_INQ": 36,
    "EPOLL_CTL_ADD": 1,
    "EPOLL_CTL_MOD": 3,
    "F_GETFL": 3,
    "F_SETFL": 4,
}


def constant(name: str) -> int:
    """The number that a name of Linux's headers has.  Raises KeyError."""
    if name in _OWN:
        return _OWN[name]
    for module in (socket, select, os, errno):
        value = getattr(module, name, None)
        if isinstance(value, int):
            return int(value)
    raise KeyError(name)
