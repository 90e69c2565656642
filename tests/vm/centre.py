# SPDX-License-Identifier: GPL-2.0-only
"""Databases that a fleet has its rules from: one server, or the members of a cluster."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

from rig import poll, run

SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
_RULES_PORT, _RAFT_PORT = 6641, 7641


class Member:
    """A server of the database."""

    def __init__(self, folder: Path, number: int) -> None:
        self.folder = folder
        self.port = _RULES_PORT + number
        self.raft = f"tcp:127.0.0.1:{_RAFT_PORT + number}"
        folder.mkdir(parents=True)

    @property
    def remote(self) -> str:
        """Its address on this machine."""
        return f"tcp:127.0.0.1:{self.port}"

    @property
    def _control(self) -> str:
        return f"{self.folder}/ctl"

    def start(self) -> None:
        run("ovsdb-server", f"{self.folder}/db", f"--remote=ptcp:{self.port}:0.0.0.0",
            f"--pidfile={self.folder}/pid", f"--unixctl={self._control}", "--detach",
            "--no-chdir", f"--log-file={self.folder}/log", "-vconsole:off")  # fmt: skip

    def kill(self) -> None:
        """As a crash would."""
        pid = int((self.folder / "pid").read_text())
        os.kill(pid, signal.SIGKILL)
        poll(lambda: not Path(f"/proc/{pid}/cmdline").exists(), "it is dead")
        Path(self._control).unlink()

    def leads(self) -> bool:
        """Does the cluster take transactions by this one?"""
        told = run("ovs-appctl", "-t", self._control, "cluster/status", "Open_vSwitch")
        return "Role: leader" in told


class Centre:
    """A database of one member, or of three that are a cluster."""

    def __init__(self, folder: Path, members: int) -> None:
        self.folder = folder
        self.members = [Member(folder / str(number), number) for number in range(members)]
        first = self.members[0]
        if members == 1:
            run("ovsdb-tool", "create", f"{first.folder}/db", SCHEMA)
        else:
            run("ovsdb-tool", "create-cluster", f"{first.folder}/db", SCHEMA, first.raft)
        first.start()
        for member in self.members[1:]:
            run("ovsdb-tool", "join-cluster", f"{member.folder}/db", "Open_vSwitch", member.raft,
                first.raft)  # fmt: skip
            member.start()
        for member in self.members:
            run("ovsdb-client", "-t", "30", "wait", member.remote, "Open_vSwitch", "connected")

    @property
    def remotes(self) -> str:
        return ",".join(member.remote for member in self.members)

    def vsctl(self, *args: str) -> str:
        """While members elect a leader it waits."""
        return run("ovs-vsctl", f"--db={self.remotes}", "--no-wait", "--retry", "--timeout=60",
                   *args)  # fmt: skip

    def close(self) -> None:
        for member in self.members:
            if (member.folder / "ctl").exists():
                member.kill()
        shutil.rmtree(self.folder)
