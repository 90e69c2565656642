# SPDX-License-Identifier: GPL-2.0-only
"""What tcon/show and tcon/flows tell of loss repair, on a path that loses 2 %."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
import rig as rigs
from rig import poll
from tcon_lab.ovs import appctl
from tcon_lab.scenario import parse
from tcon_lab.topo import Lab, run_in

SCENARIO = """
name = "show"
seconds = 5
[path]
rate = "20mbit"
rtt = "20ms"
loss = "2%"
[[flow]]
guest_cc = "cubic"
"""
SECONDS = 4


@pytest.fixture(scope="module")
def lab(machine: None) -> Iterator[Lab]:
    with Lab(parse(SCENARIO)) as made:
        made.receiver(0).popen(["iperf3", "-s"])
        poll(lambda: "5201" in run_in(made.receiver(0), "ss -Hltn"), "the server listens", 20)
        yield made


def data_flow(lab: Lab) -> dict[str, Any]:
    """The one of iperf3's two that sends now."""
    return min(lab.br0.tcon_flows()["flows"], key=lambda flow: flow["idle_ms"])


@pytest.fixture
def busy(lab: Lab) -> Iterator[Lab]:
    """BBR is enforced on a transfer that has run for some seconds and goes on."""
    lab.br0.set_cc("all", "bbr")
    client = lab.sender(0).popen(["iperf3", "-c", lab.receiver_address(0), "-t", str(SECONDS + 2)])
    time.sleep(SECONDS)
    yield lab
    client.wait()


def test_flows(busy: Lab) -> None:
    flow, text = data_flow(busy), appctl("tcon/flows", "br0")
    assert (flow["state"], flow["reason"]) == ("repair-enforced", "none")
    # 20 Mbit/s in 4 s are 6600 packets, of which 2 % are lost.
    assert 66 < flow["repairs"] < 1000
    assert flow["repaired_bytes"] > 1000 * flow["repairs"]
    assert flow["spurious_repairs"] < flow["repairs"] / 10
    assert flow["hidden_acks"] > flow["repairs"]
    assert flow["inflight_bytes"] / 2 < flow["copy_bytes"] < 1_000_000
    spent_us = flow["limited_us"]
    assert sorted(spent_us) == ["guest", "idle", "receiver", "window"]
    assert (SECONDS - 0.7) * 1e6 < sum(spent_us.values()) < (SECONDS + 0.3) * 1e6
    assert spent_us["window"] > 0.5 * sum(spent_us.values())

    found = re.search(
        r"^    copies [1-9]\d* bytes, repairs [1-9]\d* \([1-9]\d* bytes, \d+ spurious\) "
        r"probes \d+ timeouts \d+ absorbed_repeats \d+ hidden_acks [1-9]\d*\n"
        r"    limited by window ([\d.]+) % guest ([\d.]+) % receiver ([\d.]+) % idle ([\d.]+) %$",
        text,
        re.M,
    )
    assert found, text
    shares = [float(share) for share in found.groups()]
    assert sum(shares) == pytest.approx(100, abs=0.2)


def test_copies_of_port_and_host(busy: Lab) -> None:
    show, text = busy.br0.tcon_show(), appctl("tcon/show", "br0")
    bounds = {name: rigs.parameter(f"copy_{name}_bytes") for name in ("flow", "port", "host")}
    assert show["copy_flow_bytes_max"] == bounds["flow"]
    assert show["copy_port_bytes_max"] == bounds["port"]
    assert show["copy_bytes_max"] == bounds["host"]
    ports = {port["name"]: port for port in show["bridges"][0]["ports"]}
    assert 0 < ports["br0-h1"]["copy_bytes"] < 1_000_000
    assert 0 < show["copy_bytes"] < 1_000_000
    assert re.search(
        rf"^copies: \d+ of at most {bounds['host']} bytes "
        rf"\({bounds['port']} for a port, {bounds['flow']} for a flow\)$", text, re.M
    )  # fmt: skip
    assert re.search(r"port br0-h1 .* copies: [1-9]\d* bytes$", text, re.M)
    assert "br0-up" in text
    assert not re.search(r"port br0-up .* copies", text)
    assert re.search(r"^    repair-sent: [1-9]\d* \(segments repeated by TCon\)$", text, re.M)


def test_nothing_is_kept_of_what_is_acknowledged(lab: Lab) -> None:
    poll(lambda: lab.br0.tcon_show()["copy_bytes"] == 0, "all copies are gone", 20, 0.2)


def test_repair_can_be_switched_off(lab: Lab) -> None:
    with rigs.parameters(repair=0):
        lab.br0.set_cc("all", "bbr")
        address = lab.receiver_address(0)
        client = lab.sender(0).popen(["iperf3", "-c", address, "-t", "2"])
        time.sleep(1.5)
        flow, show = data_flow(lab), lab.br0.tcon_show()
        client.wait()
    assert (flow["state"], flow["reason"]) == ("window-enforced", "repair-off")
    assert (flow["repairs"], flow["copy_bytes"], show["copy_bytes"]) == (0, 0, 0)
