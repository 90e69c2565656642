# SPDX-License-Identifier: GPL-2.0-only
"""Commands in a guest with a kernel of its own; loopback takes the guest's place."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

REMOTE = Path(__file__).parents[3] / "tools/tcon_lab/guest/remote.py"
#: An address of the loopback network, of this test only: the port is always the same.
ADDRESS = "127.84.67.79"


def start(*words):
    return subprocess.Popen(
        [sys.executable, REMOTE, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def run(*argv):
    process = start("run", ADDRESS, *argv)
    out, err = process.communicate(timeout=20)
    return process.returncode, out, err


@pytest.fixture(scope="module", autouse=True)
def guest():
    served = start("serve", ADDRESS)
    try:
        end = time.monotonic() + 20
        while run("true")[0]:
            assert time.monotonic() < end, "nobody serves"
            time.sleep(0.05)
        yield
    finally:
        served.kill()


def test_streams_and_status():
    assert run("bash", "-c", "echo out; echo err >&2; exit 3") == (3, "out\n", "err\n")


def test_status_of_a_signal_is_as_of_a_shell():
    assert run("bash", "-c", "kill -TERM $$")[0] == 128 + 15


def test_unknown_command():
    assert run("no-such-command") == (127, "", "no-such-command: No such file or directory\n")


def test_much_output():
    status, out, _ = run("bash", "-c", "head -c 3000000 /dev/zero | tr '\\0' x")
    assert (status, len(out)) == (0, 3_000_000)


def test_commands_run_beside_each_other(tmp_path):
    waiting = start(
        "run", ADDRESS, "bash", "-c", f"until [ -e {tmp_path}/go ]; do sleep 0.02; done"
    )
    assert run("touch", f"{tmp_path}/go")[0] == 0
    assert waiting.wait(20) == 0


def test_a_command_ends_with_who_asked_for_it(tmp_path):
    pid = tmp_path / "pid"
    asked = start(
        "run", ADDRESS, "bash", "-c", f"echo $$ >{pid}.new; mv {pid}.new {pid}; exec sleep 60"
    )
    end = time.monotonic() + 20
    while not pid.exists():
        assert time.monotonic() < end
        time.sleep(0.02)
    asked.kill()
    process = Path("/proc", pid.read_text().strip())
    while process.exists() and process.joinpath("stat").read_text().split()[2] != "Z":
        assert time.monotonic() < end, "the command goes on"
        time.sleep(0.02)


def test_no_guest():
    process = start("run", "127.84.67.80", "true")
    assert process.communicate(timeout=20)[1].startswith("the guest at 127.84.67.80 does not")
    assert process.returncode == 1
