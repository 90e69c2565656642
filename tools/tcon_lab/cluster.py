# SPDX-License-Identifier: GPL-2.0-only
"""Runs of a campaign on other machines, by Dask's distributed scheduler.

A machine offers its CPUs with `tcon-lab worker ADDRESS`: to the runs whose numbers it would bring
as any other machine does, by the digest of what it boots (:meth:`.lab.Host.digest`).  A worker
of another tree or engine is given nothing.  Workers come and go: the runs of one go to
another.  The campaign's folder stays with the command that conducts it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from distributed import CancelledError, Client, KilledWorker, Worker

from .errors import LabError
from .numbers.campaign_run import Runner
from .scenario import Scenario, from_dict

#: A run's raw data, or None and why there are none, with the consoles of its machine.
_Answer = tuple[dict[str, Any] | None, str, dict[str, bytes]]

#: Runs that the scheduler is given at a time: more than workers there may be.
PENDING = 256
#: How many other workers try a run when one fails for a reason of its own, as a full disk.
_RETRIES = 2
_CONNECT_S = 10


class _LabWorker(Worker):
    """A worker that can do runs."""

    def __init__(self, address: str, runners: Mapping[str, Runner], **options: Any) -> None:
        self.runners = runners
        super().__init__(address, **options)

    def perform(self, digest: str, scenario: str, mode: str) -> _Answer:
        """One run: its raw record, or why there is none and the consoles of its machine."""
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            try:
                made = from_dict(json.loads(scenario))
                return self.runners[digest](made, mode, folder, threading.Event()), "", {}
            except LabError as error:
                return None, str(error), {log.name: log.read_bytes() for log in folder.iterdir()}


def work(
    address: str, runners: Mapping[str, Runner], jobs: int, say: Callable[[str], None]
) -> None:
    """Do what a scheduler hands out, ``jobs`` runs at a time, until it ends.

    ``runners`` by the digest of what they boot.  Raises LabError where no scheduler answers.
    """
    logging.getLogger("distributed").setLevel(logging.WARNING)

    async def serve() -> None:
        async with _LabWorker(
            address,
            runners,
            nthreads=jobs,
            resources=dict.fromkeys(runners, jobs),
            memory_limit=0,  # the machines have bounds of their own
            death_timeout=_CONNECT_S,
        ) as worker:
            say(f"{worker.address} has {jobs} CPUs for {address}")
            await worker.finished()

    try:
        asyncio.run(serve())
    except (OSError, ValueError) as error:
        raise LabError(f"{address}: no scheduler answers: {error}") from None


class Cluster:
    """A running scheduler, and the questions to it."""

    def __init__(self, address: str) -> None:
        """Raises LabError where none answers."""
        try:
            self._client = Client(address, timeout=_CONNECT_S, set_as_default=False)
        except (OSError, ValueError) as error:
            raise LabError(f"{address}: no scheduler answers: {error}") from None

    def close(self) -> None:
        """Leave; the scheduler and its workers stay."""
        self._client.close()

    def cpus(self, digests: Collection[str]) -> int:
        """How many runs workers can do at a time that boot one of these."""
        workers = self._client.scheduler_info(n_workers=-1)["workers"].values()
        return sum(
            worker["nthreads"] for worker in workers if set(digests) & set(worker["resources"])
        )

    def run(
        self, digest: str, scenario: Scenario, mode: str, out: Path, stop: threading.Event
    ) -> dict[str, Any]:
        """Have one run done; its raw record.  Raises LabError."""

        def perform(*words: str) -> _Answer:
            """Plain words, and no name of the lab's: the scheduler need not have this tree."""
            from distributed import get_worker

            return get_worker().perform(*words)

        future = self._client.submit(
            perform, digest, scenario.to_json(), mode,
            resources={digest: 1}, retries=_RETRIES, pure=False,
        )  # fmt: skip
        while not future.done():
            if stop.is_set():
                future.cancel()
                raise LabError("interrupted")
            time.sleep(0.2)
        try:
            raw, reason, consoles = future.result()
        except KilledWorker:
            raise LabError("the workers that were given it died") from None
        except CancelledError:
            raise LabError("the scheduler has gone") from None
        except OSError as error:
            raise LabError(f"on a worker: {error}") from None
        for name, text in consoles.items():
            (out / name).write_bytes(text)
        if raw is None:
            raise LabError(reason)
        return raw
