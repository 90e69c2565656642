# SPDX-License-Identifier: GPL-2.0-only
"""The shell commands of a script.

Most set sysctls, and a program takes longer to start than a script takes to run: those are written
here.  All else is run by bash, in the scripts' folder and in the guest's network.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

from difference import Difference

#: What the scripts' defaults.sh has besides sysctls: each network namespace is new here, and a
#: veth, unlike a tun, has no qdisc that a default could make another.
_DONE = (
    "ip tcp_metrics flush all > /dev/null 2>&1",
    "tc qdisc add dev tun0 root pfifo",
)
#: The namespace goes with the script.
_RESTORE = "/tmp/sysctl_restore_${PPID}.sh"


def _lines(text: str) -> Iterator[str]:
    for line in text.replace("\\\n", " ").splitlines():
        if (line := line.strip()) and not line.startswith("#"):
            yield line


def _arithmetic(line: str) -> str:
    """The shell's $((15*1024*1024)), where it is a product."""

    def product(match: re.Match[str]) -> str:
        value = 1
        for factor in match[1].split("*"):
            value *= int(factor)
        return str(value)

    return re.sub(r"\$\(\(([\d*]+)\)\)", product, line)


def settings(line: str) -> list[tuple[Path, str]] | None:
    """What a line sets, by the files below /proc/sys; None where it does something else."""
    line = re.sub(r" > /dev/null( 2>&1)?$", "", _arithmetic(line))
    if re.search(r"[|;<>`]", line):
        return None
    words = shlex.split(line, comments=True)
    if words[0] not in ("sysctl", "./set_sysctls.py"):
        return None
    found = []
    for word in words[1:]:
        name, equals, value = word.partition("=")
        if name in ("-q", "-e"):
            continue
        if not equals:
            return None
        path = name if name.startswith("/") else f"/proc/sys/{name.replace('.', '/')}"
        found.append((Path(path), value))
    return found


class Shell:
    """Runs commands in the network namespace that the process is in.  ``folder``: the scripts'."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.defaults = self._defaults()

    def _defaults(self) -> list[tuple[Path, str]]:
        found: list[tuple[Path, str]] = []
        for line in _lines((self.folder / "defaults.sh").read_text()):
            if line in _DONE:
                continue
            values = settings(line)
            if values is None:
                raise Difference("script", f"defaults.sh has: {line}")
            # Of older kernels.
            found += [(path, value) for path, value in values if path.exists()]
        return found

    def run(self, text: str) -> None:
        """Raises Difference where the commands fail."""
        rest = []
        for line in _lines(text):
            if line == "./defaults.sh":
                self._write(self.defaults)
            elif line == _RESTORE:
                continue
            elif not rest and (values := settings(line)) is not None:
                self._write(values)
            else:
                rest.append(line)
        if rest:
            self._bash("\n".join(rest))

    def _bash(self, text: str) -> None:
        env = os.environ | {"PACKETDRILL_PID": str(os.getpid())}
        done = subprocess.run(
            ["bash", "-c", text], cwd=self.folder, env=env, check=False,
            capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode:
            said = (done.stderr or done.stdout).strip()
            raise Difference("command", f"{text}: status {done.returncode} {said}")

    @staticmethod
    def _write(values: list[tuple[Path, str]]) -> None:
        for path, value in values:
            try:
                path.write_text(value)
            except OSError as error:
                raise Difference("command", f"{path}={value}: {error.strerror}") from None
