# SPDX-License-Identifier: GPL-2.0-only
"""Where answers of tcon/flows come from: ovs-appctl, or a file in which they were recorded."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TextIO

#: How long ovs-appctl waits for the daemon.
TIMEOUT_S = 10


class SourceError(Exception):
    """There is no answer; the text says why, in a sentence."""


@dataclass(frozen=True)
class Answer:
    """An answer of tcon/flows, and its time."""

    time_s: float
    flows: list[dict[str, Any]]
    more: int  # flows that are not among them


class Source(Protocol):
    """Something that can be asked for the flows that a MATCH selects."""

    def ask(self, match: str) -> Answer | None:
        """The next answer; None: there will be none any more."""


#: Members that every flow has.
_FLOW = {
    "port": str, "protocol": str, "src": str, "tp_src": int, "dst": str, "tp_dst": int, "cc": str,
    "state": str, "reason": str, "reason_text": str, "acked_bytes": int, "age_ms": int,
}  # fmt: skip


def _answer(time_s: float, raw: dict[str, Any]) -> Answer:
    """Raises KeyError or TypeError if it is none."""
    answer = Answer(time_s, raw["flows"], raw["more"])
    if not (
        isinstance(time_s, int | float)
        and isinstance(answer.more, int)
        and all(
            isinstance(flow[name], kind) for flow in answer.flows for name, kind in _FLOW.items()
        )
    ):
        raise TypeError
    return answer


class Appctl:
    """The switch itself; its answers are also written to a file, if one is given, which the first
    answer opens: a bridge that there is not leaves it as it was.
    """

    def __init__(self, bridge: str, limit: int, record: Path | None = None) -> None:
        self._bridge, self._limit, self._record = bridge, limit, record
        self._file: TextIO | None = None

    def close(self) -> None:
        """Nothing more is asked."""
        if self._file:
            self._file.close()

    def _write(self, time_s: float, raw: dict[str, Any]) -> None:
        if not self._record:
            return
        try:
            if not self._file:
                self._file = self._record.open("w")
            self._file.write(json.dumps({"time_s": time_s, "answer": raw}) + "\n")
            self._file.flush()
        except OSError as error:
            raise SourceError(f"{self._record}: {error.strerror}") from error

    def ask(self, match: str) -> Answer | None:
        """The flows as they are now.  Raises SourceError."""
        command = ["ovs-appctl", f"--timeout={TIMEOUT_S}", "tcon/flows", "-j", self._bridge]
        command += [f"flow={match}"] if match else []
        command.append(f"limit={self._limit}")
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            raise SourceError(f"ovs-appctl cannot be run: {error.strerror}") from error
        if done.returncode:
            raise SourceError(_complaint(done.stderr))
        time_s = time.monotonic()
        try:
            raw = json.loads(done.stdout)
            answer = _answer(time_s, raw)
        except (ValueError, KeyError, TypeError) as error:
            raise SourceError("ovs-appctl tcon/flows -j gave something else than flows") from error
        self._write(time_s, raw)
        return answer


def _complaint(text: str) -> str:
    """The sentence of ovs-appctl's complaint; its last line only says that there was one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return "ovs-appctl tcon/flows failed and did not say why"
    return lines[0].removeprefix("ovs-appctl: ")


class Recording:
    """A file that Appctl has written; MATCH was applied when it was recorded."""

    def __init__(self, file: Path) -> None:
        self._answers = self._read(file)

    @staticmethod
    def _read(file: Path) -> Iterator[Answer]:
        try:
            *lines, cut = file.read_bytes().split(b"\n")  # a full disk or a crash cuts the last one
            lines = lines or [cut]
            answers = [_answer(one["time_s"], one["answer"]) for one in map(json.loads, lines)]
        except OSError as error:
            raise SourceError(f"{file}: {error.strerror}") from error
        except (ValueError, KeyError, TypeError) as error:
            raise SourceError(f"{file}: not a recording of tcon-top") from error
        return iter(answers)

    def ask(self, match: str) -> Answer | None:
        """The next answer of the file."""
        return next(self._answers, None)
