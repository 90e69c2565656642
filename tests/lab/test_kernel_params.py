# SPDX-License-Identifier: GPL-2.0-only
"""Parameters of the kernel's CCs are set, read back, and put back."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tcon_lab import kernel_params
from tcon_lab.errors import LabError
from tcon_lab.kernel_params import KernelParams, value_of
from tcon_lab.scenario import Flow

BR0 = SimpleNamespace(name="br0")


@pytest.fixture
def cubic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """CUBIC's parameters of a kernel."""
    folder = tmp_path / "tcp_cubic/parameters"
    folder.mkdir(parents=True)
    (folder / "fast_convergence").write_text("1\n")
    (folder / "beta").write_text("717\n")
    monkeypatch.setattr(kernel_params, "_MODULES", str(tmp_path))
    return folder


def run(node: Any, script: str) -> str:
    """Run it here, where a kernel is a folder."""
    done = subprocess.run(["bash", "-ec", script], capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(done.stderr)
    return done.stdout


def lab(*flows: Flow) -> Any:
    return SimpleNamespace(br0=BR0, pairs=flows, sender=lambda index: BR0)


def test_they_are_set_and_put_back(cubic: Path) -> None:
    flow = Flow(1, "cubic", "cubic", "bbr", guest_params={"fast_convergence": 0, "beta": 800})
    file = cubic / "fast_convergence"
    with KernelParams(run) as kernels:
        found = kernels.apply(lab(flow, flow), "enforced")
        assert found == [{"cubic": {"fast_convergence": 0, "beta": 800}}] * 2
        assert file.read_text() == "0\n"
    assert (file.read_text(), (cubic / "beta").read_text()) == ("1\n", "717\n")


def test_each_mode_has_its_own(cubic: Path) -> None:
    flow = Flow(1, "cubic", "cubic", "cubic", native_params={"fast_convergence": 0})
    for mode, found in (("native", {"cubic": {"fast_convergence": 0}}), ("enforced", {})):
        with KernelParams(run) as kernels:
            assert kernels.apply(lab(flow), mode) == [found]


def test_what_tcon_runs_of_the_kernels_has_them_too(cubic: Path) -> None:
    flow = Flow(1, "reno", "cubic", "linux:cubic", native_params={"beta": 800})
    with KernelParams(run) as kernels:
        assert kernels.apply(lab(flow), "enforced") == [{"cubic": {"beta": 800}}]
        assert kernels.apply(lab(flow), "guest") == [{}]


def test_on_and_off_as_the_kernel_writes_them(cubic: Path) -> None:
    assert [value_of(text) for text in ("Y", "N", "-3", "(null)")] == [1, 0, -3, None]


def refused(name: str, value: int) -> str:
    with KernelParams(run) as kernels, pytest.raises(LabError) as caught:
        kernels.set(BR0, "cubic", name, value)
    return str(caught.value)


def test_what_is_not_there(cubic: Path) -> None:
    assert refused("gamma", 1) == "the kernel's cubic has no parameter gamma"


def test_what_is_not_taken(cubic: Path) -> None:
    """A file that nobody may write, and one that keeps nothing."""
    (cubic / "fixed").symlink_to("/proc/version")
    (cubic / "deaf").symlink_to("/dev/null")
    assert refused("fixed", 1) == "the kernel's cubic does not take 1 for fixed"
    assert refused("deaf", 1) == "the kernel's cubic has None for deaf, where 1 was written"
