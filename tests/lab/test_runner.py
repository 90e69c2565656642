# SPDX-License-Identifier: GPL-2.0-only
"""The runner without a network: what it starts, and what it leaves."""

from __future__ import annotations

import contextlib
import importlib
import random
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import synthetic
from tcon_lab.errors import LabError
from tcon_lab.experiment.scenario_file import parse
from tcon_lab.lab import Host, Options
from tcon_lab.machine.qemu import Qemu


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module; this machine need not have Mininet."""
    for name in ("mininet", "mininet.link", "mininet.net", "mininet.node", "mininet.topo"):
        module = types.ModuleType(name)
        for what in ("Link", "Mininet", "Node", "OVSSwitch", "Topo"):
            setattr(module, what, type(what, (), {}))
        monkeypatch.setitem(sys.modules, name, module)
    return importlib.import_module("tcon_lab.runner")


_TRANSFER = '[[transfer]]\nbytes = "100kB"\ncount = 20\nload = "5%"\nguest_cc = "cubic"\n'


def test_two_series_of_transfers_come_at_other_times(runner: Any) -> None:
    text = synthetic.TEXT.split("[[flow]]")[0].format() + 2 * _TRANSFER
    scenario = parse(text.replace('"guest", "native", "enforced"', '"guest"'))
    lab = types.SimpleNamespace(
        scenario=scenario, pairs=scenario.connections(), sender_address=lambda index: "10.1.0.1"
    )
    gaps_s = []
    for index in range(2):
        words = runner._fetch_command(lab, index, lab.pairs[index].transfer)
        draw = random.Random(int(words[8]))
        gaps_s.append([draw.expovariate(float(words[7])) for _ in range(20)])
    assert not set(gaps_s[0]) & set(gaps_s[1])


class _Lab(contextlib.AbstractContextManager["_Lab"]):
    """A network of nothing, whose nodes start `sleep`."""

    def __init__(self, scenario: Any, tear_down: bool) -> None:
        self.scenario, self.pairs = scenario, scenario.connections()
        self.processes: list[subprocess.Popen[bytes]] = []
        self.br0 = types.SimpleNamespace(popen=self.popen, pid=1)
        self.net = {"r1": self.br0}

    def popen(self, *_: Any, **__: Any) -> subprocess.Popen[bytes]:
        self.processes.append(subprocess.Popen(["sleep", "60"]))
        return self.processes[-1]

    def sender(self, index: int) -> Any:
        return self.br0

    receiver = sender

    def sender_address(self, index: int) -> str:
        return "10.1.0.1"

    receiver_address = sender_address

    def complete_path(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass


@contextlib.contextmanager
def _nothing(*_: Any) -> Iterator[Any]:
    yield types.SimpleNamespace(apply=lambda lab, mode: [])


def test_a_run_that_fails_leaves_no_process(runner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = synthetic.scenario(2)
    lab = _Lab(scenario, True)

    def fails(*_: Any) -> None:
        raise LabError("iperf3 did not end")

    for name, value in {
        "Lab": lambda *_: lab, "_allowed_ccs": _nothing, "KernelParams": _nothing,
        "check_path": lambda *_: {}, "_set_guests": lambda *_: None, "_set_rules": lambda *_: None,
        "_tcon_loaded": lambda: True, "_wait_for": lambda *_: None, "_traffic": fails,
    }.items():  # fmt: skip
        monkeypatch.setattr(runner, name, value)
    job = {"scenario": scenario.to_dict(), "mode": "guest", "tear_down": True, "probe": "/bin/true"}
    with pytest.raises(LabError, match="iperf3 did not end"):
        runner.run(job, lambda line: None, lambda *_: None)
    assert len(lab.processes) >= 4  # two servers, and probes
    for process in lab.processes:
        assert process.wait(10) == -9


def test_another_qemu_makes_other_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `-cpu max` is depends on its version, and with it the guest's instructions."""
    (tmp_path / "vmlinux").write_text("a kernel")
    monkeypatch.setattr(Host, "initrd", lambda self, job, dest, files: dest.write_text("files"))
    digests = []
    for version in ("7.2.17", "8.2.0"):
        program = tmp_path / version / "qemu-system-x86_64"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\necho QEMU emulator version {version}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
        host = Host.__new__(Host)
        host.options, host.engine = Options(), Qemu(tmp_path / "vmlinux")
        host.base = types.SimpleNamespace(vmlinux=tmp_path / "vmlinux")
        digests.append(host.digest())
    assert digests[0] != digests[1]
