# SPDX-License-Identifier: GPL-2.0-only
"""Campaigns on a cluster: Dask's own scheduler, workers as processes that do invented runs."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from campaigns import SMALL, Fake, runs
from commands import tcon_lab
from tcon_lab.cluster import Cluster
from tcon_lab.errors import LabError
from tcon_lab.experiment.campaign_file import parse
from tcon_lab.numbers.campaign_run import Run, Store, conduct

HERE = Path(__file__).parent
WORKER = """
import sys, time
sys.path[:0] = {paths}
from campaigns import Fake
from tcon_lab import cluster
class Slow(Fake):
    def __call__(self, scenario, mode, out, stop):
        with open({notes!r}, "a") as notes:
            notes.write(f"{{sys.argv[2]}} {{scenario.name}} {{mode}} {{scenario.seed}}\\n")
        time.sleep(float(sys.argv[3]))
        return super().__call__(scenario, mode, out, stop)
cluster.work(sys.argv[1], {{sys.argv[4]: Slow({failing!r})}}, 1, print)
"""


def until(probe: Callable[[], Any], what: str, timeout_s: float = 60.0) -> Any:
    end = time.monotonic() + timeout_s
    while not (found := probe()):
        assert time.monotonic() < end, f"never: {what}"
        time.sleep(0.05)
    return found


class Dask:
    """A scheduler on loopback, and workers for it."""

    def __init__(self, folder: Path) -> None:
        self.notes, self.folder = folder / "notes", folder
        self.notes.touch()
        told = folder / "scheduler.json"
        self.processes = [
            subprocess.Popen(
                [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1",
                 "--port", "0", "--no-dashboard", "--no-show", "--scheduler-file", str(told)],
                stderr=subprocess.DEVNULL, cwd=folder,
            )
        ]  # fmt: skip
        self.address = json.loads(until(lambda: told.exists() and told.read_text(), "it listens"))[
            "address"
        ]

    def worker(
        self, name: str, *, takes_s: float = 0.0, digest: str = "ours", failing: str = ""
    ) -> subprocess.Popen[bytes]:
        script = WORKER.format(
            paths=[str(HERE), str(HERE.parents[1] / "tools")],
            notes=str(self.notes),
            failing=failing,
        )
        made = subprocess.Popen(
            [sys.executable, "-c", script, self.address, name, str(takes_s), digest],
            cwd=self.folder, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.processes.append(made)
        return made

    def did(self, name: str) -> list[str]:
        """The lines that a worker was given."""
        lines = [line.split(" ", 1) for line in self.notes.read_text().splitlines()]
        return [what for who, what in lines if who == name]


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[Dask]:
    made = Dask(tmp_path)
    yield made
    for process in made.processes:
        process.kill()
        process.wait()


def conducted(
    dask: Dask, folder: Path, say: Callable[[str], None] = lambda line: None
) -> tuple[list[Run], Store, list[Any]]:
    """The small campaign, by whoever offers "ours"."""
    campaign, store = parse(SMALL), Store(folder)
    store.prepare(campaign, runs(campaign))
    with contextlib.closing(Cluster(dask.address)) as cluster:

        def there(*run: Any) -> dict[str, Any]:
            return cluster.run("ours", *run)

        failures = conduct(runs(campaign), store, there, 50, say)
    return runs(campaign), store, failures


def test_the_same_results_as_here(dask: Dask, tmp_path: Path) -> None:
    dask.worker("a")
    dask.worker("b")
    wanted, remote, failures = conducted(dask, tmp_path / "remote")
    assert not failures
    local = Store(tmp_path / "local")
    local.prepare(parse(SMALL), wanted)
    conduct(wanted, local, Fake(), 1, lambda line: None)
    for run in wanted:
        ours, theirs = local.load(run.key), remote.load(run.key)
        assert ours
        assert theirs
        assert ours | {"real_s": 0} == theirs | {"real_s": 0}
    assert sorted(dask.did("a") + dask.did("b")) == sorted(set(dask.did("a") + dask.did("b")))
    conducted(dask, tmp_path / "remote")  # nothing is left to do
    assert len(dask.did("a") + dask.did("b")) == len(wanted)


def test_workers_come_and_go(dask: Dask, tmp_path: Path) -> None:
    """One is killed in the middle of a run, which another does; a third comes late."""
    doomed = dask.worker("doomed", takes_s=1000)
    found: list[Any] = []
    conductor = threading.Thread(target=lambda: found.append(conducted(dask, tmp_path / "out")))
    conductor.start()
    (given,) = until(lambda: dask.did("doomed"), "it is given a run")
    dask.worker("late")
    os.kill(doomed.pid, signal.SIGKILL)
    conductor.join(60)
    wanted, store, failures = found[0]
    assert not failures
    assert all(store.load(run.key) for run in wanted)
    assert given in dask.did("late")


def test_a_worker_of_another_tree_is_given_nothing(dask: Dask, tmp_path: Path) -> None:
    dask.worker("other", digest="theirs")
    with contextlib.closing(Cluster(dask.address)) as cluster:
        until(lambda: cluster.cpus({"theirs"}) == 1, "it offers its CPU")
        assert cluster.cpus({"ours"}) == 0
        dask.worker("ours")
        until(lambda: cluster.cpus({"ours"}) == 1, "the right one does")
    _, _, failures = conducted(dask, tmp_path / "out")
    assert not failures
    assert not dask.did("other")


def test_a_run_that_fails_is_told_once_with_its_console(dask: Dask, tmp_path: Path) -> None:
    dask.worker("a", failing="64ms")
    wanted, store, failures = conducted(dask, tmp_path / "out")
    assert {failure.reason for failure in failures} == {"the machine has had enough"}
    failed = [failure.run for failure in failures]
    assert {run.key for run in failed} == {run.key for run in wanted if "64ms" in run.cell.name}
    assert len(dask.did("a")) == len(wanted)  # none is tried again
    for run in failed:
        assert (store.console / run.key / "console.log").read_text() == "said something"


def test_an_interrupt_leaves_the_cluster_idle(dask: Dask) -> None:
    dask.worker("a", takes_s=0.5)
    stop = threading.Event()
    (scenario,) = [run.scenario for run in runs(parse(SMALL))][:1]
    with contextlib.closing(Cluster(dask.address)) as cluster:
        threading.Timer(0.1, stop.set).start()
        with pytest.raises(LabError, match="interrupted"):
            cluster.run("ours", scenario, "native", dask.folder, stop)


def test_without_a_scheduler() -> None:
    with pytest.raises(LabError, match=r"tcp://127.0.0.1:1: no scheduler answers"):
        Cluster("tcp://127.0.0.1:1")
    with pytest.raises(LabError, match="nonsense://1: no scheduler answers"):
        Cluster("nonsense://1")


def test_bad_words() -> None:
    done = tcon_lab("worker", "tcp://127.0.0.1:1", "--engine=fast")
    assert done.returncode == 1
    assert done.stderr == 'tcon-lab: --engine is "fast"; known are qemu, uml, uml-smp\n'
    done = tcon_lab("worker", "127.0.0.1:1")
    assert done.returncode == 1
    assert done.stderr.startswith("tcon-lab: 127.0.0.1:1: no scheduler answers: ")
    assert done.stderr.count("\n") == 1
