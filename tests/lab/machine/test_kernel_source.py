# SPDX-License-Identifier: GPL-2.0-only
"""Sources of kernels: of the host's package, and fetched of the newest suite."""

from __future__ import annotations

from pathlib import Path

import pytest
from packages import package
from tcon_lab.errors import LabError
from tcon_lab.machine import kernel_source, suite

PLAN = """\
Inst xz-utils (5.8.1-1 Debian:13.8/stable [amd64])
Inst linux-source-7.9 (7.9.1-1~bpo13+1 Debian Backports:13/stable-backports [all])
Inst linux-source (7.9.1-1~bpo13+1 Debian Backports:13/stable-backports [all])
"""


def test_without_the_source_package_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TCON_LAB_KERNEL", "4.2.0-1-amd64")
    with pytest.raises(LabError, match=r"install the package linux-source-4\.2$"):
        kernel_source.host_source()


def test_of_what_apt_would_install_it_wants_the_source() -> None:
    assert kernel_source.planned(PLAN) == ("linux-source-7.9", "7.9.1-1~bpo13+1")
    with pytest.raises(LabError, match=r"has no package linux-source$"):
        kernel_source.planned("Inst xz-utils (5.8.1-1 Debian:13.8/stable [amd64])\n")


def test_the_newest_is_fetched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TCON_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(suite, "_mirror", lambda: "http://mirror.example/debian")
    deb = package(
        tmp_path,
        "linux-source-7.9",
        "7.9.1-1~bpo13+1",
        "usr/src/linux-source-7.9.tar.xz",
        "a kernel",
    )
    asked = []

    def apt(state: Path, archive: suite.Archive, *arguments: str) -> str:
        asked.append(arguments)
        sources = Path(archive.apt_options()["Dir::Etc::sourcelist"]).read_text()
        assert "deb http://mirror.example/debian trixie-backports main\n" in sources
        if arguments[0] == "download":
            (state / "archives" / deb.name).write_bytes(deb.read_bytes())
        return PLAN if "-s" in arguments else ""

    monkeypatch.setattr(kernel_source, "apt", apt)
    for _ in range(2):
        found = kernel_source.newest_source(print)
        assert found.tarball.name == "linux-source-7.9.tar.xz"
        assert found.tarball.read_text() == "a kernel"
        assert found.version == "7.9.1-1~bpo13+1"
    assert asked[-1] == ("download", "linux-source-7.9=7.9.1-1~bpo13+1")
    assert len(asked) == 3


def test_a_download_without_a_source_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TCON_CACHE", str(tmp_path))
    monkeypatch.setattr(kernel_source, "apt", lambda *_: PLAN)
    with pytest.raises(LabError, match=r"did not download linux-source-7\.9$"):
        kernel_source.newest_source(print)
    assert not list((tmp_path / "uml").glob("source-*"))
