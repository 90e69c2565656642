# SPDX-License-Identifier: GPL-2.0-only
"""Other Debian suites: refusals, and the packages and builds of a tree."""

from __future__ import annotations

import json
import lzma
import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands import tcon_lab
from tcon_lab.errors import LabError
from tcon_lab.machine import root, suite

TOP = Path(__file__).parents[3]


def test_a_suite_that_is_not_known_is_refused() -> None:
    run = tcon_lab("exec", "--suite", "potato", "--", "true")
    assert run.returncode == 1
    assert run.stderr.strip() == 'tcon-lab: --suite is "potato"; known are ' + ", ".join(
        suite.SUITES
    )


def test_a_suite_is_no_user_mode_linux() -> None:
    run = tcon_lab("exec", "--engine", "uml", "--suite", "forky", "--", "true")
    assert run.returncode == 1
    assert run.stderr.startswith("tcon-lab: --suite is for --engine=qemu")


def test_who_is_not_root_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(LabError, match="--suite needs root"):
        suite.prepare("forky", print)


def test_a_host_without_a_mirror_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 0, "", "")
    )
    with pytest.raises(LabError, match="no source of Debian"):
        suite._mirror()


def test_the_kernel_is_the_one_whose_headers_are_there(tmp_path: Path) -> None:
    made = suite.Suite("forky", tmp_path)
    with pytest.raises(LabError, match="headers of 0 kernels"):
        made.release  # noqa: B018
    (made.chroot / "usr/src/linux-headers-7.2.12+deb14-common").mkdir(parents=True)
    (made.chroot / "usr/src/linux-headers-7.2.12+deb14-amd64").mkdir()
    assert made.release == "7.2.12+deb14-amd64"
    assert made.kernel_tree == Path("/usr/src/linux-headers-7.2.12+deb14-amd64")


@pytest.mark.parametrize("packed", [False, True])
def test_a_kernel_in_several_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    """Since 7.x vmlinuz is beside the modules, in another package, and these are compressed."""
    import tarfile

    def member(name: str) -> tarfile.TarInfo:
        return tarfile.TarInfo(name)

    top = "usr/lib/modules/7" if packed else "lib/modules/7"
    module = (f"{top}/kernel/net/a.ko.xz", lzma.compress(b"module")) if packed else (
        f"{top}/kernel/net/a.ko", b"module")  # fmt: skip
    image = f"{top}/vmlinuz" if packed else "boot/vmlinuz-7"
    debs = {
        Path("linux-binary"): [(image, b"image")],
        Path("linux-modules"): [module, (f"{top}/modules.builtin", b"")],
    }

    def members(deb: Path):
        for name, data in debs[deb]:
            yield member(name), data

    monkeypatch.setattr(root, "deb_members", members)
    monkeypatch.setattr(root, "extract_vmlinux", lambda image: b"vm" + image)
    root._unpack_kernel(list(debs), "7", tmp_path)
    assert (tmp_path / "vmlinux").read_bytes() == b"vmimage"
    assert (tmp_path / "lib/modules/7/kernel/net/a.ko").read_bytes() == b"module"


def test_each_python_leaves_the_same_out() -> None:
    for version in ("3.11", "3.14"):
        assert root._left_out(f"usr/lib/python{version}/idlelib/x.py")
        assert not root._left_out(f"usr/lib/python{version}/json/decoder.py")
    assert root._python_of(
        [Path("a_1_all.deb"), Path("python3.13-minimal_3.13.5-2_amd64.deb")]
    ) == ("3.13")


DEMO = {"runs": [{"mode": "native", "flows": [{"goodput_bps": 94e6}]},
                 {"mode": "enforced", "flows": [{"goodput_bps": 94.2e6}]}]}  # fmt: skip
#: check-matrix's questions to a lab: what the machine is, and the demo, into its last argument.
FAKE_LAB = f"""#!/bin/sh
if [ "$1" = exec ]; then
    echo 7.2.12-amd64; echo 'ovs-vswitchd (Open vSwitch) 4.0.0'
else
    while [ $# -gt 1 ]; do shift; done
    mkdir -p "$1" && echo '{json.dumps(DEMO)}' > "$1/results.json"
fi
"""


def test_matrix_keeps_what_was_run(tmp_path: Path) -> None:
    """check-matrix with a lab and tests that are not real: its JSON, table and exit status."""
    tree = tmp_path / "tests"
    (tree / "vm").mkdir(parents=True)
    (tree / "check-matrix").write_bytes((TOP / "tests/check-matrix").read_bytes())
    (tree / "vm/Makefile").write_text(
        "suite:\n\t@echo '3 passed, 1 skipped in 2.0s'\n"
        "suite-netfilter:\n\t@echo '1 failed, 2 passed in 2.0s'; exit 1\n"
    )
    lab = tmp_path / "lab"
    lab.write_text(FAKE_LAB)
    lab.chmod(0o755)
    run = subprocess.run(
        [sys.executable, tree / "check-matrix", lab, "forky"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 1
    found = json.loads((tree / "matrix.json").read_text())["forky"]
    assert found["openvswitch"] == {"passed": 3, "failed": 0, "skipped": 1, "ok": True}
    assert found["netfilter"] == {"passed": 2, "failed": 1, "skipped": 0, "ok": False}
    assert found["demo"] == {"enforced": 94.2, "native": 94.0}
    cells = "3 tests, 1 skipped | 2 tests, **1 fail** | 94.2 (94.0)"
    assert run.stdout.endswith(f"| forky | 7.2.12-amd64 | 4.0.0 | {cells} |\n")
