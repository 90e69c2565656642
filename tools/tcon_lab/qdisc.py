# SPDX-License-Identifier: GPL-2.0-only
"""Qdiscs as tc cannot set them::

    python3 qdisc.py red DEVICE PARENT HANDLE MIN_BYTES MAX_BYTES PROBABILITY \\
        WEIGHT_LOG2 HALVING_US FLAGS
    python3 qdisc.py pause DEVICE PAUSE_US PERIOD_US

``red`` is RED with any weight (see aqm.py).  PARENT and HANDLE are as tc writes them
("1:1", "3:"), the weight is 2^-WEIGHT_LOG2, HALVING_US is the time without packets in
which the average falls to a half (0: it does not fall), FLAGS are "ecn", "nodrop",
"adaptive", some of them with commas between, or "none".  The qdisc has no queue until one
is put below it.

``pause`` keeps what the device sends for the first PAUSE_US of each PERIOD_US, until it
is ended: two of them pause at the same time, since CLOCK_MONOTONIC decides.  It says
"ready" when it has begun.

It runs in a namespace: the standard library is all there is.
"""

from __future__ import annotations

import math
import os
import socket
import struct
import sys
import time

_RTM_NEWQDISC = 36
_REQUEST_ACK, _REPLACE_CREATE = 0x1 | 0x4, 0x100 | 0x400
_NLMSG_ERROR = 2
_TCA_KIND, _TCA_OPTIONS = 1, 2
_RED_PARMS, _RED_STAB, _RED_MAX_P, _RED_FLAGS = 1, 2, 3, 4
_FLAGS = {"none": 0, "ecn": 1, "adaptive": 4, "nodrop": 8}
_CELLS, _MAX_HALVINGS = 256, 31
_ROOT = "ffff:ffff"
_PLUG_BUFFER, _PLUG_RELEASE_INDEFINITE = 0, 2
_PLUG_LIMIT_BYTES = 1 << 28


def idle_table(halving_us: float) -> tuple[int, bytes]:
    """The length of a cell of RED's table, in us as a power of two, and the cells: cell n has
    the halvings of the average after n cells' time.  Within the first the kernel interpolates,
    so a cell is a halving, or up to half less.
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


def _request(
    ifindex: int, parent: str, handle: str, kind: bytes, options: bytes, flags: int
) -> bytes:
    """The netlink message for a qdisc."""
    tcmsg = struct.pack("=BxxxiIII", 0, ifindex, _handle(handle), _handle(parent), 0)
    body = tcmsg + _attribute(_TCA_KIND, kind + b"\0") + _attribute(_TCA_OPTIONS, options)
    return struct.pack("=IHHII", 16 + len(body), _RTM_NEWQDISC, _REQUEST_ACK | flags, 1, 0) + body


def red_request(
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
    """The netlink message for RED.  Raises KeyError for an unknown flag."""
    value, selector = sum(_FLAGS[flag] for flag in flags.split(",")), sum(_FLAGS.values())
    cell_log2, table = idle_table(halving_us)
    parms = struct.pack("=IIIBBBB", 0, min_bytes, max_bytes, weight_log2, 0, cell_log2, 0)
    options = _attribute(_RED_PARMS, parms) + _attribute(_RED_STAB, table)
    options += _attribute(_RED_MAX_P, struct.pack("=I", min(2**32 - 1, int(probability * 2**32))))
    options += _attribute(_RED_FLAGS, struct.pack("=II", value, selector))
    return _request(ifindex, parent, handle, b"red", options, _REPLACE_CREATE)


def plug_request(ifindex: int, open_: bool, create: bool = False) -> bytes:
    """The netlink message for a plug at the device's root, which packets pass if it is
    open, and wait behind if it is not.
    """
    action = _PLUG_RELEASE_INDEFINITE if open_ else _PLUG_BUFFER
    options = struct.pack("=iI", action, _PLUG_LIMIT_BYTES)
    return _request(ifindex, _ROOT, "7:", b"plug", options, _REPLACE_CREATE if create else 0)


def pauses(now_us: int, pause_us: int, period_us: int) -> tuple[bool, int]:
    """Whether packets may pass from ``now_us`` on, and until when, in us."""
    start_us = now_us - now_us % period_us
    if now_us < start_us + pause_us:
        return False, start_us + pause_us
    return True, start_us + period_us


def _send(netlink: socket.socket, message: bytes, what: str) -> None:
    """Ask the kernel; exit with its complaint, if it has one."""
    netlink.send(message)
    _, kind, _, _, _, error = struct.unpack_from("=IHHIIi", netlink.recv(1 << 16))
    if kind != _NLMSG_ERROR or error:
        sys.exit(f"{what}: {os.strerror(-error)}")


def _pause(netlink: socket.socket, device: str, pause_us: int, period_us: int) -> None:
    ifindex = socket.if_nametoindex(device)
    _send(netlink, plug_request(ifindex, True, create=True), f"plug on {device}")
    print("ready", flush=True)
    while True:
        now_us = time.monotonic_ns() // 1000
        open_, until_us = pauses(now_us, pause_us, period_us)
        _send(netlink, plug_request(ifindex, open_), f"plug on {device}")
        time.sleep((until_us - now_us) / 1e6)


def _red(netlink: socket.socket, *words: str) -> None:
    device, parent, handle, low, high, probability, weight_log2, halving_us, flags = words
    message = red_request(
        socket.if_nametoindex(device), parent, handle, int(low), int(high),
        float(probability), int(weight_log2), float(halving_us), flags,
    )  # fmt: skip
    _send(netlink, message, f"red on {device}")


def main() -> None:
    """Do what the arguments say."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
        if sys.argv[1] == "pause":
            _pause(netlink, sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
        else:
            _red(netlink, *sys.argv[2:])


if __name__ == "__main__":
    main()
