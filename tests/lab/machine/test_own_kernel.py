# SPDX-License-Identifier: GPL-2.0-only
"""A guest with a kernel of its own: two machines, joined by a virtual cable.

One is the hypervisor, with Open vSwitch and TCon, the other the guest.  They
run in real time, which the machine below them stretches, so nothing here is
about speed: the tests ask who decides, and whether the data arrive.
"""

import json
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LAB = HERE.parents[2] / "tools/tcon-lab"


def start(script, link, *options):
    return subprocess.Popen(
        [LAB, "exec", "--no-icount", "--link", link, *options, "--append",
         f"{HERE / script}:/lab/{script}", "--timeout", "420", "--", "bash", f"/lab/{script}"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    """The reports of the hypervisor (tcon/flows) and of the guest (iperf3)."""
    path = tmp_path_factory.mktemp("link") / "cable"
    options = ("--ovs", "--modprobe", "tcon", "--modprobe", "tcon_bbr")
    hypervisor = start("own_kernel_hypervisor.sh", f"{path},listen", *options)
    guest = start("own_kernel_guest.sh", str(path))
    try:
        guest_out, guest_err = guest.communicate(timeout=480)
        host_out, host_err = hypervisor.communicate(timeout=120)
    finally:
        guest.kill()
        hypervisor.kill()
    assert guest.returncode == 0, guest_err
    assert hypervisor.returncode == 0, host_err
    # On a busy host Open vSwitch's programs complain first of how long they waited.
    return json.loads(host_out.splitlines()[-1]), json.loads(guest_out)


def test_guest_obeys(outcome):
    flows, report = outcome
    data = max(flows["flows"], key=lambda flow: flow["sent_bytes"])
    assert data["state"] == "repair-enforced", data["reason"]
    assert data["cc"] == "bbr"
    assert data["src"] == "10.0.0.1"
    assert data["rwnd_bytes"] < data["peer_rwnd_bytes"], "TCon's window is the lower one"
    assert data["min_rtt_us"] >= 20_000
    sender = report["end"]["streams"][0]["sender"]
    assert sender["max_rtt"] >= 20_000
    assert report["end"]["sum_received"]["bytes"] > 10_000_000
