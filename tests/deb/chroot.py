# SPDX-License-Identifier: GPL-2.0-only
"""A fresh chroot, in which scripts run as root at the speed of this machine."""

import subprocess
from pathlib import Path

from base import base

#: Devices that programs expect are there for as long as the script runs.
_ENTER = """
mount -t proc proc $0/proc
mount -t tmpfs none $0/dev
mknod -m 666 $0/dev/null c 1 3
mknod -m 666 $0/dev/urandom c 1 9
ln -s /proc/self/fd $0/dev/fd
exec chroot $0 bash -ec "$1"
"""


class Chroot:
    """One chroot; nothing is started there."""

    def __init__(self, folder: Path, suite: str, files: list[Path]) -> None:
        """It has ``files`` in /srv/tcon."""
        self.folder = folder
        archive = base(suite) / "root.tar"
        subprocess.run(["tar", "-xf", archive, "-C", folder, "--exclude=./dev/*"], check=True)
        (folder / "srv/tcon").mkdir()
        subprocess.run(["cp", *files, folder / "srv/tcon"], check=True)
        policy = folder / "usr/sbin/policy-rc.d"
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
        self.run("apt-get update; apt-get install python3; apt-get autoremove")

    def run(self, script: str) -> str:
        """Run a script of bash, to the first failure: its output."""
        enter = ["bash", "-ec", _ENTER, self.folder, script]
        done = subprocess.run(
            ["nice", "unshare", "--mount", "--pid", "--fork", *enter],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout

    def install(self, command: str) -> str:
        """Run the README's command for the newest kernel that is there, as if it ran."""
        kernel = self.run("readlink -f /vmlinuz").strip().rpartition("vmlinuz-")[2]
        return self.run(
            f"uname() {{ echo {kernel}; }}\n"
            f"cd /srv/tcon\n{{ {command}\n}} >/tmp/log 2>&1 || {{ cat /tmp/log; false; }}\ntimes"
        )

    def close(self) -> None:
        """Remove it."""
        subprocess.run(["rm", "-rf", "--one-file-system", self.folder], check=True)
