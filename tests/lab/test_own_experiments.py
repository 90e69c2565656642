# SPDX-License-Identifier: GPL-2.0-only
"""README's "Experiments of your own", as a user types them, on experiments of a second.

The tests of one page, report or format are elsewhere; here each command goes on with what another
one left.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

LAB = Path(__file__).parents[2] / "tools/tcon-lab"
SHORT = """
seconds = 1
modes = ["native", "enforced"]
[path]
rate = "10mbit"
rtt = "20ms"
queue = "1.0bdp"
[[flow]]
guest_cc = "cubic"
native_cc = "reno"
enforce = "reno"
"""


def lab(*words: str | Path) -> str:
    """What `tools/tcon-lab WORDS` prints; it must succeed."""
    done = subprocess.run([LAB, *words], capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("own")
    (made / "one.toml").write_text(f'name = "one"\n{SHORT}')
    (made / "many.toml").write_text(f'name = "many"\nseeds = [1]\n{SHORT}[matrix]\nrtt = ["9ms"]\n')
    return made


def test_a_scenario_is_run(folder: Path) -> None:
    out = folder / "run"
    lab("run", folder / "one.toml", "--seed", "7", "--out", out, "--engine=uml")
    result = json.loads((out / "results.json").read_text())
    assert (result["scenario"], result["seed"]) == ("one", 7)
    assert [made["mode"] for made in result["runs"]] == ["native", "enforced"]
    assert all(made["flows"][0]["goodput_bps"] > 1e6 for made in result["runs"])
    assert "one" in (out / "report.html").read_text()


def test_a_campaign_is_run_and_read(folder: Path) -> None:
    out = folder / "campaign"
    lab("campaign", folder / "many.toml", "--out", out, "--jobs", "1", "--engine=uml")
    assert json.loads((out / "comparison.json").read_text())["cells"]
    page, samples = folder / "several.html", folder / "samples.parquet"
    lab("report", out, "--out", page)
    assert "many" in page.read_text()
    lab("export", out, "--out", samples)
    assert samples.read_bytes()[:4] == b"PAR1"
    lab("compare", out, out, "--json", folder / "changes.json")
    assert json.loads((folder / "changes.json").read_text())


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[str]:
    """Where Dask's scheduler listens, on loopback."""
    told = tmp_path / "scheduler.json"
    process = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port",
         "0", "--no-dashboard", "--no-show", "--scheduler-file", told],
        cwd=tmp_path, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    while not (told.exists() and told.read_text()):
        assert process.poll() is None
        time.sleep(0.05)
    yield json.loads(told.read_text())["address"]
    process.kill()
    process.wait()


def test_a_worker_runs_a_clusters_campaign(folder: Path, scheduler: str, tmp_path: Path) -> None:
    with (tmp_path / "said").open("wb") as said:
        worker = subprocess.Popen(
            [LAB, "worker", scheduler, "--engine=uml"], stdout=said, stderr=said, cwd=tmp_path
        )
    try:
        lab("campaign", folder / "many.toml", "--out", tmp_path / "out", "--cluster", scheduler,
            "--engine=uml")  # fmt: skip
        assert worker.poll() is None
    finally:
        worker.terminate()
        worker.wait()
    assert json.loads((tmp_path / "out/comparison.json").read_text())["cells"]


def test_the_shells_prompt_takes_commands() -> None:
    """The prompt takes the commands that it proposes, in real time."""
    command = ["timeout", "3600", LAB, "shell"]  # one that hangs ends
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    said = b""
    for words in (b"h1 ping -c 3 10.2.0.1\n", b"exit\n"):
        while not said.endswith(b"mininet> "):
            read = process.stdout.read1(4096)
            assert read, said.decode(errors="replace")[-2000:]
            said += read
        process.stdin.write(words)
        process.stdin.flush()
        said += b"\n"
    said += process.stdout.read()
    assert b"bytes from 10.2.0.1" in said
    assert process.wait() == 0


def test_a_command_runs_in_the_machine() -> None:
    assert lab("exec", "--engine=uml", "--", "uname", "-s").split() == ["Linux"]
