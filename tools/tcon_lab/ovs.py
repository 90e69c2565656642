# SPDX-License-Identifier: GPL-2.0-only
"""Starts and asks Open vSwitch inside the VM, without its slow ovs-ctl."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

from .errors import LabError

_DB = "/etc/openvswitch/conf.db"
_SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
_SOCKET = "/var/run/openvswitch/db.sock"

#: A vswitchd that starts earlier gets no handler threads and loses upcalls.
MIN_UPTIME_S = 11.0


def _call(*command: str) -> str:
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        raise LabError(f"{command[0]} failed: {(run.stderr or run.stdout).strip()}")
    return run.stdout


def start() -> None:
    """Start ovsdb-server and ovs-vswitchd with an empty database."""
    _call("mkdir", "-p", "/etc/openvswitch")
    _call("ovsdb-tool", "create", _DB, _SCHEMA)
    start_ovsdb()
    _call("ovs-vsctl", "--no-wait", "init")
    start_vswitchd()


def start_ovsdb() -> None:
    """Start ovsdb-server alone, with the database as it is."""
    _call("ovsdb-server", _DB, f"--remote=punix:{_SOCKET}", "--pidfile", "--detach",
          "--log-file", "-vconsole:off")  # fmt: skip


def stop(daemon: str) -> None:
    """Kill ovsdb-server or ovs-vswitchd, as a crash would, and wait until it is dead."""
    pid = int(Path(f"/run/openvswitch/{daemon}.pid").read_text())
    os.kill(pid, signal.SIGKILL)
    line = Path(f"/proc/{pid}/cmdline")  # empty of one that nobody has waited for
    while line.exists() and line.read_bytes():
        time.sleep(0.01)


def start_vswitchd() -> None:
    """Start ovs-vswitchd alone, as after a crash or an upgrade."""
    uptime_s = time.clock_gettime(time.CLOCK_BOOTTIME)
    time.sleep(max(0.0, MIN_UPTIME_S - uptime_s))
    _call("ovs-vswitchd", "--pidfile", "--detach", "--log-file", "-vconsole:off")


def appctl(*args: str) -> str:
    """`ovs-appctl ARGS`: its output.  Raises LabError with its complaint."""
    return _call("ovs-appctl", *args)


def vsctl(*args: str) -> str:
    """`ovs-vsctl ARGS`: its output.  Raises LabError with its complaint."""
    return _call("ovs-vsctl", "--timeout=60", *args)
