# SPDX-License-Identifier: GPL-2.0-only
"""Sets a RED qdisc with any weight, which tc cannot (see aqm.py)::

    python3 red_qdisc.py DEVICE PARENT HANDLE MIN_BYTES MAX_BYTES PROBABILITY \\
        WEIGHT_LOG2 HALVING_US FLAGS

PARENT and HANDLE are as tc writes them ("1:1", "3:"), the weight is 2^-WEIGHT_LOG2,
HALVING_US is the time without packets in which the average falls to a half (0: it
does not fall), FLAGS are "ecn", "nodrop", both with a comma between them, or "none".
The qdisc has no queue until one is put below it.

It runs in a router's namespace: the standard library is all there is.
"""

from __future__ import annotations

import math
import os
import socket
import struct
import sys

_RTM_NEWQDISC = 36
_REQUEST_ACK_REPLACE_CREATE = 0x1 | 0x4 | 0x100 | 0x400
_NLMSG_ERROR = 2
_TCA_KIND, _TCA_OPTIONS = 1, 2
_RED_PARMS, _RED_STAB, _RED_MAX_P, _RED_FLAGS = 1, 2, 3, 4
_FLAGS = {"none": 0, "ecn": 1, "nodrop": 8}
_CELLS, _MAX_HALVINGS = 256, 31


def idle_table(halving_us: float) -> tuple[int, bytes]:
    """Of how many us, as a power of two, each cell of RED's table is, and the cells: by how
    many halves the average has fallen after so many of them.  Within the first the kernel
    interpolates, so a cell is a halving, or up to half less.
    """
    if not halving_us:
        return 0, bytes(_CELLS)
    cell_log2 = max(0, min(int(math.log2(halving_us)), 22))
    falls = (round((n + 0.5) * 2**cell_log2 / halving_us) for n in range(1, _CELLS))
    return cell_log2, bytes([0, *(min(fall, _MAX_HALVINGS) for fall in falls)])


def _attribute(kind: int, payload: bytes) -> bytes:
    size = 4 + len(payload)
    return struct.pack("=HH", size, kind) + payload + bytes(-size % 4)


def _handle(text: str) -> int:
    major, _, minor = text.partition(":")
    return int(major, 16) << 16 | int(minor or "0", 16)


def request(
    ifindex: int,
    parent: str,
    handle: str,
    min_bytes: int,
    max_bytes: int,
    probability: float,
    weight_log2: int,
    halving_us: float,
    flags: str,
) -> bytes:
    """The netlink message.  Raises KeyError for an unknown flag."""
    value, selector = sum(_FLAGS[flag] for flag in flags.split(",")), sum(_FLAGS.values())
    cell_log2, table = idle_table(halving_us)
    parms = struct.pack("=IIIBBBB", 0, min_bytes, max_bytes, weight_log2, 0, cell_log2, 0)
    options = _attribute(_RED_PARMS, parms) + _attribute(_RED_STAB, table)
    options += _attribute(_RED_MAX_P, struct.pack("=I", min(2**32 - 1, int(probability * 2**32))))
    options += _attribute(_RED_FLAGS, struct.pack("=II", value, selector))
    tcmsg = struct.pack("=BxxxiIII", 0, ifindex, _handle(handle), _handle(parent), 0)
    body = tcmsg + _attribute(_TCA_KIND, b"red\0") + _attribute(_TCA_OPTIONS, options)
    size = 16 + len(body)
    return struct.pack("=IHHII", size, _RTM_NEWQDISC, _REQUEST_ACK_REPLACE_CREATE, 1, 0) + body


def main() -> None:
    """Send the request; exit with the kernel's complaint, if it has one."""
    device, parent, handle, low, high, probability, weight_log2, halving_us, flags = sys.argv[1:]
    message = request(
        socket.if_nametoindex(device), parent, handle, int(low), int(high),
        float(probability), int(weight_log2), float(halving_us), flags,
    )  # fmt: skip
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
        netlink.send(message)
        answer = netlink.recv(1 << 16)
    _, kind, _, _, _, error = struct.unpack_from("=IHHIIi", answer)
    if kind != _NLMSG_ERROR or error:
        sys.exit(f"red on {device}: {os.strerror(-error)}")


if __name__ == "__main__":
    main()
