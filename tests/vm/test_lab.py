# SPDX-License-Identifier: GPL-2.0-only
"""No program of the lab learns which CPU the host has; its kernel's CCs can be set up; chaos."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import rig as rigs
from chaos import may_be_away
from tcon_lab.errors import LabError
from tcon_lab.kernel_params import KernelParams

_LOADER = "/lib64/ld-linux-x86-64.so.2"
_UML = "User Mode Linux" in Path("/proc/cpuinfo").read_text()


def _features() -> dict[str, str]:
    """The CPU's features, as the loader found them."""
    said = subprocess.check_output([_LOADER, "--list-diagnostics"], text=True)
    prefix = "x86.cpu_features."
    lines = [line.removeprefix(prefix) for line in said.splitlines() if line.startswith(prefix)]
    return dict(line.split("=", 1) for line in lines)


def test_the_loader_sees_the_labs_cpu() -> None:
    features = _features()
    seen = [features[f"basic.{name}"] for name in ("family", "model", "max_cpuid")]
    if _UML:
        assert seen == ["0x6", "0x1a", "0x4"]  # uml/cpu.h
        assert features["xsave_state_size"] == "0x0"
        assert features["isa_1"] == "0x3"  # x86-64-v2
    else:
        assert seen[:2] == ["0xf", "0x6b"]  # QEMU's -cpu max, which emulates all of it


def test_signal_frames_are_as_large_on_every_host() -> None:
    assert os.sysconf("SC_MINSIGSTKSZ") == (2048 if _UML else 3632)


def test_libraries_are_found_without_a_look_for_the_cpus_own() -> None:
    run = subprocess.run(
        ["true"], env={"LD_DEBUG": "libs", "PATH": os.environ["PATH"]}, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    assert "search cache=/etc/ld.so.cache" in run.stderr
    assert "search path" not in run.stderr


def bash(node: Any, script: str) -> str:
    done = subprocess.run(["bash", "-ec", script], capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(done.stderr)
    return done.stdout


def test_parameters_of_the_kernels_ccs() -> None:
    file = Path("/sys/module/tcp_cubic/parameters/fast_convergence")
    before = file.read_text()
    with KernelParams(bash) as kernels:
        assert kernels.set(None, "cubic", "fast_convergence", 0) == 0
        assert (before, file.read_text()) == ("1\n", "0\n")
        for name, said in (
            ("gamma", "the kernel's cubic has no parameter gamma"),
            ("bic_scale", "the kernel's cubic does not take 40 for bic_scale"),
        ):
            with pytest.raises(LabError) as caught:
                kernels.set(None, "cubic", name, 40)
            assert str(caught.value) == said
    assert file.read_text() == before


def test_chaos_goes_on_where_a_parameter_goes_with_its_module() -> None:
    with Path("/sys/module/tcon/parameters/repair").open("wb", buffering=0) as file:
        file.write(b"1")
        rigs.run("rmmod", *(name for name in (*rigs.CCS, "tcon") if rigs.loaded(name)))
        with pytest.raises(OSError, match="No such device"):
            file.write(b"1")
        with may_be_away():
            file.write(b"1")
    rigs.load_all()


def test_chaos_hears_of_a_parameter_that_refuses() -> None:
    with pytest.raises(OSError, match="Invalid argument"), may_be_away():
        Path("/sys/module/tcon/parameters/repair").write_text("perhaps")
