# SPDX-License-Identifier: GPL-2.0-only
"""A killed process leaves files in the cache, and the next one clears them up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tcon_lab.machine import cache, uml_kernel

_TOOLS = Path(__file__).resolve().parents[3] / "tools"


def _start(code: str, folder: Path, **environment: str) -> subprocess.Popen[str]:
    """A Python process with this cache; it may end by itself."""
    environment = os.environ | {"TCON_CACHE": str(folder), "PYTHONPATH": str(_TOOLS)} | environment
    return subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True
    )


def _killed(code: str, folder: Path, **environment: str) -> None:
    """Run code that kills its process."""
    process = _start(code, folder, **environment)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL


_BEGIN = """
import os, signal
from pathlib import Path
from tcon_lab.machine import cache
with cache.unfinished(Path(os.environ["TCON_CACHE"]) / "made") as partial:
    (partial / "first").write_text("done")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_next_process_goes_on_where_a_killed_one_stood(tmp_path):
    _killed(_BEGIN, tmp_path)
    with cache.unfinished(tmp_path / "made") as partial:
        assert (partial / "first").read_text() == "done"
        assert not (tmp_path / "made").exists()
    assert [file.name for file in tmp_path.iterdir()] == ["made"]


def test_what_fails_leaves_nothing(tmp_path):
    with pytest.raises(OSError, match="disk"), cache.unfinished(tmp_path / "made"):
        raise OSError("disk")
    assert list(tmp_path.iterdir()) == []


_SCRATCH = """
import os, signal, sys, time
from tcon_lab.machine import cache
with cache.scratch() as folder:
    (folder / "large").write_text("x")
    print(folder, flush=True)
    if sys.stdin.read() == "":
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_folder_of_a_killed_process_goes_that_of_a_living_one_stays(tmp_path, monkeypatch):
    monkeypatch.setenv("TCON_CACHE", str(tmp_path))
    environment = os.environ | {"PYTHONPATH": str(_TOOLS)}
    living, killed = (
        subprocess.Popen(
            [sys.executable, "-c", _SCRATCH],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    )
    assert living.stdout
    assert killed.stdout
    stays, goes = (Path(process.stdout.readline().strip()) for process in (living, killed))
    killed.communicate("")
    assert goes.exists()
    with cache.scratch() as mine:
        assert sorted((tmp_path / "scratch").iterdir()) == sorted([stays, mine])
    living.communicate("end")
    assert list((tmp_path / "scratch").iterdir()) == []


def test_what_somebody_else_has_in_scratch_stays(tmp_path, monkeypatch):
    monkeypatch.setenv("TCON_CACHE", str(tmp_path))
    (tmp_path / "scratch/mine").mkdir(parents=True)
    (tmp_path / "scratch/mine/thesis.tex").touch()
    (tmp_path / "scratch/notes").touch()
    with cache.scratch():
        pass
    assert sorted(file.name for file in (tmp_path / "scratch").rglob("*")) == [
        "mine", "notes", "thesis.tex"
    ]  # fmt: skip


def make_venv(folder, pip):
    """tools/make-venv, with a pip that does what is asked: its status."""
    script = (_TOOLS / "make-venv").read_text()
    script = script.replace("/usr/bin/python3 -m venv --system-site-packages", "mkdir -p")
    script = script.replace('"$1/bin/pip"', pip)
    return subprocess.run(["sh", "-c", script, _TOOLS / "make-venv", folder],
                          capture_output=True).returncode  # fmt: skip


def test_a_python_is_made_again_where_making_it_was_broken_off(tmp_path):
    folder = tmp_path / "venv"
    assert make_venv(folder, f"touch {folder}/half && false") == 1
    assert (folder / "half").exists()
    assert make_venv(folder, "true") == 0
    assert [file.name for file in folder.iterdir()] == [".stamp"]
    assert make_venv(folder, "false") == 0


def test_somebody_elses_folder_is_no_place_for_a_python(tmp_path):
    (tmp_path / "thesis.tex").touch()
    assert make_venv(tmp_path, "true") == 1
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


_MAIN = """
import time
from tcon_lab.machine import cache
from tcon_lab import cli
def app(**options):
    with cache.scratch() as folder:
        print(folder, flush=True)
        time.sleep(60)
cli.app = app
cli.main()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_lab_that_is_told_to_end_leaves_nothing(tmp_path, number):
    process = _start(_MAIN, tmp_path)
    assert process.stdout
    folder = Path(process.stdout.readline().strip())
    assert folder.is_dir()
    process.send_signal(number)
    process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert not folder.exists()


_HOLDER = """
import os, signal, subprocess, sys
from pathlib import Path
from tcon_lab.machine import cache
with cache.locked(Path(os.environ["TCON_CACHE"]) / "lock"):
    subprocess.Popen(["sleep", "1"], close_fds=False, stdout=subprocess.DEVNULL)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_still_writes_holds_the_lock_of_its_killed_parent(tmp_path):
    start = time.monotonic()
    _killed(_HOLDER, tmp_path)
    with cache.locked(tmp_path / "lock"):
        assert time.monotonic() - start > 0.9


# A kernel whose make kills the lab when it has built its first part; once.
_MAKEFILE = """
allnoconfig: ; cp lab.config .config
first: ; echo built >> first
linux: first
	[ -e killed ] || { touch killed; kill -9 $(LAB_PID); sleep 60; }
	echo kernel > linux
modules: ;
modules_install: ; mkdir -p $(INSTALL_MOD_PATH)/lib/modules/6.1
"""

_KERNEL = """
import os
from pathlib import Path
from tcon_lab.machine import cache, kernel_source, uml_kernel
folder = Path(os.environ["TCON_CACHE"])
os.environ["LAB_PID"] = str(os.getpid())
with cache.unfinished(folder / "kernel") as partial:
    source = kernel_source.Source(folder / "source.tar.xz", "1")
    uml_kernel._build_kernel(source, uml_kernel.Recipe("x", ()), partial)
"""


def test_a_killed_kernel_build_goes_on(tmp_path):
    source = tmp_path / "linux-source"
    for name in (
        "arch/um",
        "arch/x86",
        "arch/arm",
        "include",
        "scripts",
        "net/openvswitch",
        "net/ipv4",
        "mm",
    ):
        (source / name).mkdir(parents=True)
    for name in ("vport.c", "vport.o", "Makefile", ".vport.o.cmd"):
        (source / "net/openvswitch" / name).touch()
    (source / "arch/um/Kconfig").write_text("\nconfig HZ\n\tint\n\tdefault 100\n")
    (source / "Makefile").write_text(_MAKEFILE)
    subprocess.run(["tar", "-cJf", "source.tar.xz", "linux-source"], cwd=tmp_path, check=True)
    start = time.monotonic()
    _killed(_KERNEL, tmp_path)
    assert _start(_KERNEL, tmp_path).wait() == 0
    assert time.monotonic() - start < 50  # what the killed one had started has ended
    kernel = uml_kernel._find(tmp_path / "kernel", uml_kernel.FAST)
    assert kernel.image.read_text() == "kernel\n"
    assert (kernel.kdir / "first").read_text() == "built\n"
    assert not (kernel.kdir / "mm").exists()
    kept = sorted(str(path.relative_to(kernel.kdir)) for path in kernel.kdir.glob("net/**/*"))
    assert kept == ["net/openvswitch", "net/openvswitch/Makefile", "net/openvswitch/vport.c"]
    assert not (tmp_path / "kernel.partial").exists()
