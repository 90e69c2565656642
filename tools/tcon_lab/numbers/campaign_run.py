# SPDX-License-Identifier: GPL-2.0-only
"""Runs a campaign: the runs that are left, side by side, one file for each.

The folder of a campaign holds::

    index.json          the campaign's cells, and the key of each of their runs
    runs/KEY.json       what one run brought: its metrics and how it came about
    samples/KEY.json.gz its samples over time, see :mod:`.samples`
    console/...         the console of runs that failed

A run's key is a digest of all that its numbers depend on: path, flows, mode,
seed, engine, and the files that are put into the machine.  So a campaign that
was interrupted goes on where it stood, a run that two cells share (native CUBIC
beside three guest CCs) is done once, and new modules are measured again.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import LabError
from ..experiment.campaign import Campaign, Cell
from ..scenario import KERNEL_CC, Scenario
from . import results, samples
from .gallery import series

Record = dict[str, Any]

#: Runs one mode of one scenario; console logs go to the folder: its raw record.
Runner = Callable[[Scenario, str, Path, threading.Event], Record]

#: Weight of a run, for estimates: its start, a virtual second, and each
#: 100 Mbit/s of that second.
_WEIGHT_START, _WEIGHT_SECOND, _WEIGHT_100MBIT = 12.0, 0.1, 1.0


#: Keys that a run's file has at least.
_KEPT = {"key", "scenario", "mode", "seed", "versions", "run"}


@dataclass(frozen=True)
class Run:
    """One mode of one cell with one seed."""

    cell: Cell
    mode: str
    scenario: Scenario
    key: str

    @property
    def label(self) -> str:
        """How messages call it."""
        return f"{self.cell.name}, {self.mode}, seed {self.scenario.seed}"

    @property
    def weight(self) -> float:
        """How long it takes, in units of its own."""
        per_second = _WEIGHT_SECOND + _WEIGHT_100MBIT * self.scenario.path.rate_bps / 1e8
        return _WEIGHT_START + _expected_s(self.scenario) * per_second


@dataclass(frozen=True)
class Failure:
    """A run that brought nothing, and why."""

    run: Run
    reason: str


def _expected_s(scenario: Scenario) -> float:
    """Virtual seconds that a run should take."""
    expected_s = 0.0
    for flow in scenario.flows:
        if flow.transfer is None:
            return scenario.seconds
        per_second = flow.transfer.per_second(scenario.path.rate_bps)
        alone_s = 8 * flow.transfer.whole_bytes / scenario.path.rate_bps
        alone_s += 3 * scenario.path.rtt_us / 1e6
        each_s = 1 / per_second if per_second else alone_s
        expected_s = max(expected_s, flow.transfer.count * each_s)
    return expected_s


def _effective(scenario: Scenario, mode: str, seed: int) -> Scenario:
    """The scenario without what ``mode`` does not look at."""
    flows = []
    for flow in scenario.flows:
        cc = flow.stack_cc(mode)
        params = flow.stack_params(mode)
        kept = {"guest_cc": cc, "native_cc": cc, "enforce": flow.enforced_cc(mode)}
        kept |= {"guest_params": params, "native_params": params}
        kept |= {"native_rto_min_us": flow.stack_rto_min_us(mode)}
        if (flow.enforced_cc(mode) or "").startswith(KERNEL_CC):
            kept |= {"native_cc": flow.native_cc, "native_params": flow.native_params}
        if not flow.enforced_cc(mode):
            kept |= {"receiver_tcon": True, "weight": 1.0, "params": {}, "rto_min_us": None}
        flows.append(dataclasses.replace(flow, **kept))
    changes = {"modes": (mode,), "seed": seed, "flows": tuple(flows)}
    return dataclasses.replace(scenario, **changes)


def key_of(scenario: Scenario, made_from: str) -> str:
    """The key of a run whose ``scenario`` has one mode."""
    nameless = dataclasses.replace(scenario, name="-").to_json()
    return hashlib.sha256(f"{made_from}\n{nameless}".encode()).hexdigest()[:20]


def runs_of(campaign: Campaign, made_from: Callable[[str], str]) -> list[Run]:
    """All runs, seed after seed, so that an unfinished campaign has whole cells.

    ``made_from`` is a digest of what a mode's numbers depend on beside the scenario.
    """
    return [
        Run(cell, mode, scenario, key_of(scenario, made_from(mode)))
        for cell, mode, scenario in _planned(campaign)
    ]


def _planned(campaign: Campaign) -> Iterator[tuple[Cell, str, Scenario]]:
    """Cell, mode and scenario of each run, seed after seed."""
    for seed in campaign.seeds:
        for cell in campaign.cells:
            for mode in cell.scenario.modes:
                yield cell, mode, _effective(cell.scenario, mode, seed)


def _nameless(scenario: Record) -> Record:
    return {key: value for key, value in scenario.items() if key != "name"}


class Store:
    """The folder of a campaign."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.console = folder / "console"
        self._runs = folder / "runs"
        self._samples = folder / "samples"

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other commands out of the folder during the block.

        Raises LabError where one does, or where the folder cannot be made.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = (self.folder / ".lock").open("w")
        except OSError as error:
            raise LabError(f"{self.folder}: {error.strerror}") from None
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise LabError(f"another command runs a campaign in {self.folder}") from None
            yield

    def prepare(self, campaign: Campaign, runs: list[Run]) -> None:
        """Make the folder and write the index.

        Raises LabError where it cannot, or where the folder has another campaign's.
        """
        other = (self._read(self.folder / "index.json") or {}).get("campaign", campaign.name)
        if other != campaign.name:
            raise LabError(f"{self.folder} holds the results of campaign {other}")
        index = {
            "campaign": campaign.name,
            "runs": [
                {"cell": r.cell.name, "mode": r.mode, "seed": r.scenario.seed, "key": r.key}
                for r in runs
            ],
        }
        try:
            for folder in (self.console, self._runs, self._samples):
                folder.mkdir(parents=True, exist_ok=True)
            self._write(self.folder / "index.json", index)
        except OSError as error:
            raise LabError(f"{self.folder}: {error.strerror}") from None

    def keys(self, mode: str) -> list[str]:
        """The keys of a mode's runs.  Raises LabError where there is no campaign."""
        index = self._read(self.folder / "index.json")
        if index is None:
            raise LabError(f"{self.folder} holds no campaign's results")
        return [run["key"] for run in index["runs"] if run["mode"] == mode]

    def index(self, campaign: Campaign) -> list[Record]:
        """The runs of the campaign, with the keys that the index has for them, or "".

        Raises LabError where there is none, or another campaign's, or one of this name
        that ran something else.
        """
        index = self._read(self.folder / "index.json")
        if index is None:
            raise LabError(f"{self.folder} holds no campaign's results")
        try:
            name = index["campaign"]
            keys = {(r["cell"], r["mode"], r["seed"]): r["key"] for r in index["runs"]}
        except (KeyError, TypeError):
            raise LabError(f"{self.folder}/index.json is damaged") from None
        if name != campaign.name:
            raise LabError(f"{self.folder} holds the results of campaign {name}")
        found = []
        for cell, mode, scenario in _planned(campaign):
            key = keys.get((cell.name, mode, scenario.seed), "")
            self._check(key, cell.name, scenario)
            found.append({"cell": cell.name, "mode": mode, "seed": scenario.seed, "key": key})
        return found

    def _check(self, key: str, cell: str, wanted: Scenario) -> None:
        """Raises LabError where a run that there is was of another scenario."""
        stored = self.load(key)
        if stored and _nameless(stored["scenario"]) != _nameless(json.loads(wanted.to_json())):
            raise LabError(
                f"{self.folder} holds results of cell {cell} with another length, "
                "path or flows than this campaign has"
            )

    def load(self, key: str) -> Record | None:
        """A run's record; None where it has not been done, or its file is damaged."""
        record = self._read(self._runs / f"{key}.json")
        if record is None or record.get("key") != key or not record.keys() >= _KEPT:
            return None
        return record

    def save(self, run: Run, raw: Record, real_s: float) -> None:
        """Keep what a run brought.  Raises LabError where its raw data are malformed."""
        made = results.results_from_raw([raw])
        samples.write(self._samples / f"{run.key}.json.gz", samples.of_run(made["runs"][0]))
        self._write(
            self._runs / f"{run.key}.json",
            {
                "key": run.key,
                "scenario": made["definition"],
                "mode": run.mode,
                "seed": made["seed"],
                "virtual_time": made["virtual_time"],
                "versions": made["versions"],
                "real_s": round(real_s, 1),
                "run": compact(made["runs"][0]),
            },
        )

    def samples(self, key: str) -> Record | None:
        """A run's samples; None where there are none (of before they were kept)."""
        return samples.read(self._samples / f"{key}.json.gz")

    @staticmethod
    def _read(file: Path) -> Record | None:
        try:
            record = json.loads(file.read_text())
        except (OSError, ValueError):
            return None
        return record if isinstance(record, dict) else None

    @staticmethod
    def _write(file: Path, record: Record) -> None:
        """Whole or not at all: a campaign may be interrupted at any time."""
        partial = file.with_suffix(".partial")
        partial.write_text(results.to_text(record))
        partial.replace(file)


def compact(run: Record) -> Record:
    """A run of results.json without its samples: of a bulk flow alone their series."""
    flows = [{k: v for k, v in flow.items() if k != "samples"} for flow in run["flows"]]
    for flow, whole in zip(flows, run["flows"], strict=True):
        if "transfers" not in flow:
            flow["series"] = series(whole["samples"], run["mode"]) if len(flows) == 1 else None
    return {k: v for k, v in run.items() if k != "queue_samples"} | {"flows": flows}


class Estimate:
    """How much is left, judged by how long runs of each weight have taken."""

    def __init__(self, todo: list[Run], jobs: int) -> None:
        self._left = sum(run.weight for run in todo)
        self._jobs = jobs
        self._real_s = self._weight = 0.0

    def took(self, run: Run, real_s: float) -> None:
        """A run has been done."""
        self.failed(run)
        self._real_s += real_s
        self._weight += run.weight

    def failed(self, run: Run) -> None:
        """A run has ended early: it says nothing about the others."""
        self._left -= run.weight

    @property
    def left_s(self) -> float | None:
        """Real seconds until the end; None before the first run has ended."""
        if not self._weight:
            return None
        return max(0.0, self._left) * self._real_s / self._weight / self._jobs


def duration(seconds: float) -> str:
    """A time for people: "40 s", "12 min" or "3 h 05 min"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02} min"


def conduct(
    runs: list[Run], store: Store, runner: Runner, jobs: int, say: Callable[[str], None]
) -> list[Failure]:
    """Do the runs that are left, ``jobs`` at a time; the failed ones, and why.

    A run that fails does not stop the others; an interrupt stops all.
    """
    wanted = list({run.key: run for run in runs}.values())
    todo = [run for run in wanted if store.load(run.key) is None]
    estimate = Estimate(todo, max(1, min(jobs, len(todo))))
    failures: list[Failure] = []
    stop = threading.Event()
    done = len(wanted) - len(todo)
    say(f"{done} of {len(wanted)} runs are done already")
    with ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(_one, run, store, runner, stop): run for run in todo}
        try:
            while running:
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    run = running.pop(future)
                    try:
                        estimate.took(run, future.result())
                        done += 1
                    except LabError as error:
                        estimate.failed(run)
                        failures.append(Failure(run, str(error)))
                        say(f"{run.label} FAILED: {error}")
                    say(_progress(done, len(failures), len(wanted), estimate.left_s))
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    return failures


def _progress(done: int, failed: int, total: int, left_s: float | None) -> str:
    parts = [f"{done} of {total} runs done"]
    if failed:
        parts.append(f"{failed} failed")
    if left_s is not None and done + failed < total:
        parts.append(f"about {duration(left_s)} left")
    return ", ".join(parts)


def _one(run: Run, store: Store, runner: Runner, stop: threading.Event) -> float:
    """Do one run and keep what it brings; the real seconds it took."""
    start_s = time.monotonic()
    console = store.console / run.key
    try:
        console.mkdir(exist_ok=True)
        raw = runner(run.scenario, run.mode, console, stop)
        real_s = time.monotonic() - start_s
        store.save(run, raw, real_s)
        for log in console.iterdir():
            log.unlink()
        console.rmdir()
    except OSError as error:
        raise LabError(f"{error.filename or store.folder}: {error.strerror}") from None
    return real_s
