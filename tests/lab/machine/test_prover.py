# SPDX-License-Identifier: GPL-2.0-only
"""CBMC: this host's, or another suite's package, fetched once."""

from __future__ import annotations

from pathlib import Path

import pytest
from packages import package
from tcon_lab.errors import LabError
from tcon_lab.machine import prover, suite

PLAN = "".join(
    f"Inst {name} (1.0-1 Debian:13.8/stable [amd64])\n"
    for name in ("cbmc", "gcc-14", "libc6", "libgcc-s1", "libstdc++6", "minisat", "zlib1g")
)


def test_one_that_is_installed_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prover.shutil, "which", lambda name: f"/usr/bin/{name}")
    assert prover.cbmc(print) == ["/usr/bin/cbmc"]


def test_it_is_fetched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TCON_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(suite, "_mirror", lambda: "http://mirror.example/debian")
    monkeypatch.setattr(prover.shutil, "which", lambda _: None)
    deb = package(tmp_path, "cbmc", "1.0-1", "usr/bin/cbmc", "a program")
    asked = []

    def apt(state: Path, archive: suite.Archive, *arguments: str) -> str:
        asked.append(arguments)
        sources = Path(archive.apt_options()["Dir::Etc::sourcelist"]).read_text()
        assert sources == "deb http://mirror.example/debian trixie main\n"
        if arguments[0] == "download":
            (state / "archives" / deb.name).write_bytes(deb.read_bytes())
        return PLAN if "-s" in arguments else ""

    monkeypatch.setattr(prover, "apt", apt)
    for _ in range(2):
        words = prover.cbmc(print)
        assert Path(words[-1]).read_text() == "a program"
        assert words[0].endswith("/ld-linux-x86-64.so.2")
    assert len(asked) == 3
    assert "libc6=1.0-1" in asked[-1]
    assert not any(word.startswith("gcc") for word in asked[-1])


def test_a_plan_without_its_libraries_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TCON_CACHE", str(tmp_path))
    monkeypatch.setattr(prover.shutil, "which", lambda _: None)
    monkeypatch.setattr(prover, "apt", lambda *_: "Inst cbmc (1.0-1 Debian:13.8/stable [amd64])\n")
    with pytest.raises(LabError, match=r"without libc6, libgcc-s1"):
        prover.cbmc(print)
    assert not list(tmp_path.glob("cbmc-*trixie*/usr"))
