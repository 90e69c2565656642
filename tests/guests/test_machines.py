# SPDX-License-Identifier: GPL-2.0-only
"""A guest with a kernel of its own, on a tap: what it sends is enforced, also when it was
stopped meanwhile.

Not a part of `make check`: emulated, two kernels take more than a minute of a CPU.
"""

import json
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LAB = HERE.parents[1] / "tools/tcon-lab"


@pytest.fixture(scope="module")
def told():
    modules = (word for name in ("tun", "tcon", "tcon_bbr") for word in ("--modprobe", name))
    script = f"{HERE / 'paused_machine.py'}:/lab/paused_machine.py"
    run = subprocess.run(
        [LAB, "exec", "--guests", "--ovs", *modules, "--append", script, "--timeout", "3000",
         "--", "python3", "/lab/paused_machine.py"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    return json.loads(run.stdout)


def test_kernel_is_its_own(told):
    guest, hypervisor = told["kernels"]
    assert guest != hypervisor


def test_super_packets_pass_the_tap(told):
    assert told["bytes_per_packet"] > 1514, "more than a frame has, acknowledgements included"


def test_bytes_are_right(told):
    assert told["status"] == 0
    assert told["same_bytes"]


@pytest.mark.parametrize("index", range(3))
def test_enforced_after_a_pause(told, index):
    flow = told["resumed"][index]
    assert flow["state"] == "repair-enforced", flow
    assert flow["cc"] == "bbr"
    assert flow["rwnd_bytes"] < flow["peer_rwnd_bytes"], "TCon's window is the lower one"
