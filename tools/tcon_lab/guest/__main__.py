# SPDX-License-Identifier: GPL-2.0-only
"""Does the job in /lab/job.json, reports through the channel.

Kinds of job (key "kind"):

* "run": one mode of one scenario; the raw data go out as RESULT and RECORDS.
* "exec": a command; its output goes out as OUTPUT, its status as EXIT.
* "shell": the scenario's topology and a shell on the console.

Other keys: "modules" (to load), "ovs" (start Open vSwitch first).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import traceback
from collections.abc import Iterable
from pathlib import Path

from ..channel import ERROR, EXIT, KERNEL_LOG, OUTPUT, PROGRESS, RECORDS, RESULT, Writer
from ..errors import LabError
from ..records import packed

_UML_CHANNEL = Path("/dev/mmapper")
_HOSTFS_CHANNEL = Path("/run/host/channel")
_IVSHMEM_ID = ("0x1af4", "0x1110")
_KMEMLEAK = Path("/sys/kernel/debug/kmemleak")
_KMEMLEAK_MIN_AGE_S = 6.0  # younger objects are not reported
_LOCKDEP = Path("/proc/lockdep_stats")
_TCP_MEM_PAGES = "65536 98304 131072"  # of 4 KiB: sockets may take half of the RAM


def _open_channel() -> Writer:
    """The channel to the host: the memory of UML's device, or of ivshmem's BAR 2, or its file."""
    if _UML_CHANNEL.exists():
        return Writer(_UML_CHANNEL)
    if "hostfs" in Path("/proc/filesystems").read_text().split():
        _HOSTFS_CHANNEL.parent.mkdir(parents=True)
        mount = ["mount", "-t", "hostfs", "none", str(_HOSTFS_CHANNEL.parent)]
        subprocess.run(mount, check=True)
        return Writer(_HOSTFS_CHANNEL, mapped=False)
    for device in sorted(Path("/sys/bus/pci/devices").iterdir()):
        found = (device / "vendor").read_text().strip(), (device / "device").read_text().strip()
        if found == _IVSHMEM_ID:
            (device / "enable").write_text("1")
            return Writer(device / "resource2")
    raise LabError("the machine has no device for the results")


def _load_modules(names: list[str]) -> None:
    if not names:
        return
    run = subprocess.run(["modprobe", "-a", *names], capture_output=True, text=True, check=False)
    if run.returncode:
        raise LabError(f"modprobe: {run.stderr.strip()}")


def _exec(job: dict, channel: Writer) -> int:
    """Run a command; its two output streams become one."""
    process = subprocess.Popen(
        job["argv"],
        cwd=job.get("cwd", "/root"),
        env=os.environ | job.get("env", {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.stdout is not None
    while chunk := os.read(process.stdout.fileno(), 65536):
        channel.send(OUTPUT, chunk)
    status = process.wait()
    return status if status >= 0 else 128 - status


def _run(job: dict, channel: Writer) -> int:
    from .. import runner  # imports Mininet: not for every job

    def progress(line: str) -> None:
        channel.send(PROGRESS, line)

    def take(kind: str, lines: Iterable[str]) -> None:
        for pack in packed(kind, lines):
            channel.send(RECORDS, pack)

    raw = runner.run(job, progress, take)
    channel.send(RESULT, json.dumps(raw))
    return 0


def _shell(job: dict) -> int:
    from .. import runner

    runner.shell(job, print)
    return 0


def _last_checks() -> str:
    """A debug kernel's reports that it makes only when asked, as lines of a kernel log."""
    lines = []
    if _KMEMLEAK.exists():
        time.sleep(_KMEMLEAK_MIN_AGE_S)
        # Memory that is freed by RCU, or was in a register, is gone at the second scan.
        for _ in range(2):
            _KMEMLEAK.write_text("scan")
            time.sleep(1)
        lines += _KMEMLEAK.read_text().splitlines()
    if _LOCKDEP.exists() and not re.search(r"debug_locks: +1", _LOCKDEP.read_text()):
        lines.append("INFO: lockdep is turned off: it had something to report, or ran out of room")
    return "".join(f"{line}\n" for line in lines)


def _do(job: dict, channel: Writer) -> int:
    Path("/proc/sys/net/ipv4/tcp_mem").write_text(_TCP_MEM_PAGES)
    _load_modules(job.get("modules", []))
    if job.get("ovs"):
        from .. import ovs

        ovs.start()
    if job["kind"] == "exec":
        return _exec(job, channel)
    return _run(job, channel) if job["kind"] == "run" else _shell(job)


def main() -> None:
    """Do the job; whatever goes wrong, send a reason and an exit status."""
    channel = _open_channel()
    job = json.loads(Path("/lab/job.json").read_text())
    channel.send(PROGRESS, f"booted in {time.clock_gettime(time.CLOCK_BOOTTIME):.1f} s")
    status = 1
    try:
        status = _do(job, channel)
    except LabError as error:
        channel.send(ERROR, str(error))
    except Exception as error:  # noqa: BLE001 (the last resort: the host must learn of it)
        traceback.print_exc(file=sys.stderr)
        channel.send(ERROR, f"{type(error).__name__} in the VM: {error}")
    found = _last_checks()
    log = subprocess.run(["dmesg"], capture_output=True, check=False).stdout
    channel.send(KERNEL_LOG, log + found.encode())
    channel.send(EXIT, str(status))


main()
