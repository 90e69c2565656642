# SPDX-License-Identifier: GPL-2.0-only
"""The parts that make and watch a machine: channel, kernel log, root, engine, CLI."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import shutil
import struct
import subprocess
import time
from pathlib import Path

import pytest
from commands import TOOLS, tcon_lab
from tcon_lab import channel
from tcon_lab.channel import EXIT, KERNEL_LOG, OUTPUT, PROGRESS, RECORDS, RESULT, Frame
from tcon_lab.errors import LabError
from tcon_lab.machine import cache, kernel_log, root
from tcon_lab.machine.cpio import CpioWriter
from tcon_lab.machine.engine import Machine, Outcome
from tcon_lab.machine.qemu import Qemu
from tcon_lab.records import packed

# --- channel ------------------------------------------------------------------


def test_frames_arrive_whole_in_order_and_once(tmp_path):
    reader = channel.Reader(tmp_path / "log")
    writer = channel.Writer(tmp_path / "log")
    assert list(reader.frames()) == []
    writer.send(OUTPUT, bytes(range(256)))
    writer.send(PROGRESS, "ü")
    assert list(reader.frames()) == [
        Frame(OUTPUT, bytes(range(256))),
        Frame(PROGRESS, "ü".encode()),
    ]
    writer.send(EXIT, b"")
    assert list(reader.frames()) == [Frame(EXIT, b"")]
    assert list(reader.frames()) == []


def test_a_second_writer_appends(tmp_path):
    reader = channel.Reader(tmp_path / "log")
    channel.Writer(tmp_path / "log").send(OUTPUT, b"one")
    channel.Writer(tmp_path / "log").send(OUTPUT, b"two")
    assert [frame.payload for frame in reader.frames()] == [b"one", b"two"]


def test_a_full_channel_says_so_and_stays_readable(tmp_path, monkeypatch):
    monkeypatch.setattr(channel, "CAPACITY_BYTES", 4096)
    reader = channel.Reader(tmp_path / "log")
    writer = channel.Writer(tmp_path / "log")
    writer.send(OUTPUT, bytes(4000))
    with pytest.raises(LabError, match="exceed the channel"):
        writer.send(OUTPUT, bytes(100))
    assert [len(frame.payload) for frame in reader.frames()] == [4000]


def test_the_file_takes_no_space_beforehand(tmp_path):
    channel.Reader(tmp_path / "log")
    assert (tmp_path / "log").stat().st_size == channel.CAPACITY_BYTES
    assert (tmp_path / "log").stat().st_blocks * 512 < 1 << 20


# --- kernel log ---------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "[   12.3] WARNING: CPU: 0 PID: 1 at net/core/skbuff.c:1 x+0x1/0x2 [tcon]",
        "BUG: kernel NULL pointer dereference, address: 0000000000000008",
        "Oops: 0000 [#1] PREEMPT SMP NOPTI",
        "general protection fault, probably for non-canonical address",
        "Kernel panic - not syncing: Fatal exception",
        "WARNING: possible circular locking dependency detected",
        "WARNING: suspicious RCU usage",
        "INFO: task kworker/0:1:12 blocked for more than 120 seconds.",
        "rcu: INFO: rcu_preempt self-detected stall on CPU",
        "refcount_t: underflow; use-after-free.",
        "list_del corruption. prev->next should be",
        "BUG: scheduling while atomic: swapper/0/0/0x00000100",
        "unregister_netdevice: waiting for veth0 to become free. Usage count = 2",
        "watchdog: BUG: soft lockup - CPU#0 stuck for 26s!",
        "BUG: KASAN: slab-out-of-bounds in f+0x1/0x2",
        "iperf3: page allocation failure: order:4",
        "Out of memory: Killed process 12 (iperf3)",
        "Call Trace:",
        "WARNING: inconsistent lock state",
        "ODEBUG: free active (active state 0) object type: timer_list hint: f+0x0/0x1",
        "kmemleak: 10 new suspected memory leaks (see /sys/kernel/debug/kmemleak)",
        "INFO: lockdep is turned off: it had something to report, or ran out of room",
    ],
)
def test_a_fault_is_found(line):
    assert kernel_log.problems(f"fine\n{line}\nfine\n") == [line]


@pytest.mark.parametrize(
    "line",
    [
        "tcon: loading out-of-tree module taints kernel.",
        "tcon: module verification failed: signature and/or required key missing",
        "acpi PNP0A03:00: fail to add MMCONFIG information, can't access extended PCI",
        "x86/mm: Checked W+X mappings: passed, no W+X pages found.",
        "device br0 entered promiscuous mode",
        "tsc: Unable to calibrate against PIT",
        "[    0.000000] kmemleak: Kernel memory leak detector initialized (mem pool available: 1)",
    ],
)
def test_what_every_boot_says_is_no_fault(line):
    assert kernel_log.problems(line) == []


# --- outcome ------------------------------------------------------------------


def test_an_outcome_collects_frames():
    seen = []
    outcome = Outcome(on_output=seen.append, on_progress=seen.append)
    for frame in (
        Frame(OUTPUT, b"out"),
        Frame(PROGRESS, b"half"),
        Frame(RESULT, b"{}"),
        *(Frame(RECORDS, pack) for pack in packed("queue", ['{"t_s": 1}\n', '{"t_s": 2}\n'])),
        Frame(RECORDS, next(packed("queue", ['{"t_s": 3}\n']))),
        Frame(KERNEL_LOG, b"quiet"),
        Frame(EXIT, b"3"),
    ):
        outcome.take(frame)
    outcome.check_kernel()
    assert seen == [b"out", "half"]
    assert (outcome.result, outcome.kernel_log, outcome.status) == (b"{}", "quiet", 3)
    assert outcome.records == {"queue": [{"t_s": 1}, {"t_s": 2}, {"t_s": 3}]}


@pytest.mark.parametrize("where", ["kernel_log", "console"])
def test_a_fault_fails_a_run_that_succeeded(where):
    outcome = Outcome(status=0, **{where: "a\nWARNING: CPU: 0\nb"})
    with pytest.raises(LabError, match="the kernel reported a fault: WARNING: CPU: 0"):
        outcome.check_kernel()


def test_a_machine_that_dies_is_no_success():
    with pytest.raises(LabError, match=r"ended without a result; console: .*last words"):
        Outcome(console="first\nlast words\n").check_kernel()


# --- root ---------------------------------------------------------------------


def _entries(raw: bytes) -> dict[str, tuple[int, bytes]]:
    """Name -> (mode, data), read as the kernel's documentation says."""
    found, at = {}, 0
    while True:
        assert raw[at : at + 6] == b"070701"
        fields = [int(raw[at + 6 + 8 * i : at + 14 + 8 * i], 16) for i in range(13)]
        name_bytes, data_bytes = fields[11], fields[6]
        name = raw[at + 110 : at + 110 + name_bytes - 1].decode()
        start = (at + 110 + name_bytes + 3) // 4 * 4
        if name == "TRAILER!!!":
            return found
        assert name not in found
        found[name] = fields[1], raw[start : start + data_bytes]
        at = (start + data_bytes + 3) // 4 * 4


def _archive() -> bytes:
    stream = io.BytesIO()
    out = CpioWriter(stream)
    out.file("a/b/c", b"12345", 0o755)
    out.file("a/b/d", b"")
    out.symlink("a/e", "b/c")
    out.device("dev/console", 5, 1)
    out.close()
    return stream.getvalue()


def test_cpio_entries_and_their_parents():
    found = _entries(_archive())
    assert list(found) == ["a", "a/b", "a/b/c", "a/b/d", "a/e", "dev", "dev/console"]
    assert found["a/b"] == (0o40755, b"")
    assert found["a/b/c"] == (0o100755, b"12345")
    assert found["a/e"] == (0o120777, b"b/c")
    assert found["dev/console"][0] == 0o20600


def test_equal_contents_give_equal_archives():
    assert _archive() == _archive()


def test_a_tree_is_added_without_byte_code(tmp_path):
    (tmp_path / "x" / "__pycache__").mkdir(parents=True)
    (tmp_path / "x" / "__pycache__" / "m.pyc").write_bytes(b"old")
    (tmp_path / "x" / "run").write_bytes(b"#!")
    (tmp_path / "x" / "run").chmod(0o755)
    stream = io.BytesIO()
    out = CpioWriter(stream)
    out.tree(tmp_path / "x", "lab/x")
    out.close()
    assert list(_entries(stream.getvalue())) == ["lab", "lab/x", "lab/x/run"]
    assert _entries(stream.getvalue())["lab/x/run"] == (0o100755, b"#!")


def _bzimage(payload: bytes) -> bytes:
    setup_sectors, offset = 3, 0x100
    image = bytearray((setup_sectors + 1) * 512 + offset)
    image[0x1F1] = setup_sectors
    image[0x202:0x206] = b"HdrS"
    struct.pack_into("<II", image, 0x248, offset, len(payload))
    return bytes(image) + payload + b"rest of the image"


@pytest.mark.parametrize(
    "pack",
    [
        lambda raw: lzma.compress(raw) + struct.pack("<I", len(raw)),
        lambda raw: gzip.compress(raw) + struct.pack("<I", len(raw)),
        lambda raw: (
            subprocess.run(["zstd", "-c"], input=raw, capture_output=True, check=True).stdout
            + struct.pack("<I", len(raw))
        ),
    ],
    ids=["xz", "gzip", "zstd"],
)
def test_the_kernel_is_taken_out_of_its_image(pack, request):
    if "zstd" in request.node.name and not shutil.which("zstd"):
        pytest.skip("zstd is not installed")
    kernel = b"\x7fELF" + os.urandom(5000)
    assert root.extract_vmlinux(_bzimage(pack(kernel))) == kernel


def test_an_unknown_image_is_refused():
    with pytest.raises(LabError, match="compressed in a way"):
        root.extract_vmlinux(_bzimage(b"LZ4 or what"))
    with pytest.raises(LabError, match="no x86 setup header"):
        root.extract_vmlinux(bytes(4096))


def test_an_overlay_names_the_file_that_is_missing(tmp_path):
    base = root.BaseRoot("6.1", tmp_path, tmp_path / "base", tmp_path, {}, False)
    overlay = root.Overlay({}, files=[(tmp_path / "absent", "/x")])
    with pytest.raises(LabError, match="absent does not exist"):
        root.write_initrd(base, overlay, tmp_path / "initrd")
    assert not (tmp_path / "initrd").exists()


def test_the_cache_is_where_the_environment_says(monkeypatch):
    monkeypatch.setenv("TCON_CACHE", "/somewhere/else")
    assert cache.cache_dir() == Path("/somewhere/else")
    monkeypatch.delenv("TCON_CACHE")
    assert cache.cache_dir() == Path.home() / ".cache/tcon"


# --- QEMU ---------------------------------------------------------------------


def test_a_machine_without_qemu_says_what_to_install(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(LabError, match="install the package qemu-system-x86"):
        Qemu(Path("vmlinux"))


@pytest.mark.skipif(not shutil.which("qemu-system-x86_64"), reason="QEMU is not installed")
class TestQemu:
    def test_virtual_time_needs_one_cpu(self, tmp_path):
        with pytest.raises(LabError, match="virtual time needs one CPU"):
            Qemu(Path("vmlinux")).run(
                Machine(shift=0, smp=2), tmp_path / "initrd", Outcome(), tmp_path / "log"
            )

    def test_what_qemu_says_is_passed_on(self, tmp_path):
        with pytest.raises(LabError, match="nowhere"):
            Qemu(Path("/nowhere/vmlinux")).run(
                Machine(), tmp_path / "initrd", Outcome(), tmp_path / "log"
            )

    def test_a_cable_needs_somebody_who_listens(self, tmp_path):
        (tmp_path / "cable").touch()  # a plain file is not somebody who listens
        machine = Machine(link=str(tmp_path / "cable"), timeout_s=0.1)
        with pytest.raises(LabError, match=r"nobody listens at .*cable after 0 s"):
            Qemu(Path("vmlinux")).run(machine, tmp_path / "initrd", Outcome(), tmp_path / "log")


# --- command line -------------------------------------------------------------

DEMO = str(TOOLS / "scenarios/demo.toml")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["run", "absent.toml"], "absent.toml: cannot be read"),
        (["run", "--site", "moon", "x.toml"], '--site is "moon"; known are vm, host'),
        (["run", "--engine", "kvm", "x.toml"], '--engine is "kvm"; known are qemu, uml, uml-smp'),
        (["run", "--debug-kernel", "x.toml"], "--debug-kernel needs --engine=uml or uml-smp"),
        (["run", "--engine", "uml", "--kvm", "x.toml"], "--kvm is for --engine=qemu"),
        (["run", "--engine", "uml", "--shift", "1", "x.toml"], "--shift is for --engine=qemu"),
        (["exec", "--engine", "uml", "--smp", "2", "--", "true"], "--engine=uml has one CPU"),
        (["exec", "--engine", "uml", "--no-icount", "--", "true"], "knows virtual time only"),
        (["exec", "--engine", "uml", "--link", "x", "--", "true"], "User-Mode Linux has no --link"),
        (["run", "--engine", "uml-smp", DEMO], "--engine=uml-smp is for exec and kdir"),
        (["campaign", "--engine", "uml-smp", "x.toml"], "--engine=uml-smp is for exec and kdir"),
        (["exec", "--race-kernel", "--", "true"], "--race-kernel needs --engine=uml-smp"),
        (
            ["kdir", "--engine", "uml-smp", "--debug-kernel", "--race-kernel"],
            "--debug-kernel and --race-kernel are two kernels: choose one",
        ),
        (["exec", "--newest-kernel", "--", "true"], "--newest-kernel needs --engine=uml"),
        (
            ["kdir", "--engine", "uml", "--newest-kernel", "--debug-kernel"],
            "--newest-kernel needs --engine=uml, and is without --debug-kernel",
        ),
        (["exec", "--engine", "uml-smp", "--link", "x", "--", "true"], "has no --link"),
        (["exec", "--engine", "uml", "--plugin", "x", "--", "true"], "Linux has no --plugin"),
        (["exec", "--engine", "uml-smp", "--suite", "forky", "--", "true"], "is for --engine=qemu"),
        (["shell", "--mode", "fast"], '--mode is "fast"; known are'),
        (["exec", "--append", "/etc", "--", "true"], "--append takes PATH:DEST"),
        (["exec", "--append", "/etc:x", "--", "true"], "--append takes PATH:DEST"),
        (["exec", "--smp", "2", "--", "true"], "--smp needs --no-icount"),
        (["exec", "--append", "/nowhere:/x", "--", "true"], "--append: there is no /nowhere"),
        (["exec", "--kernel-log", "/proc/x/y", "--", "true"], "/proc/x: No such file"),
        (["run", "--site", "host", "--kvm", DEMO], "--site=host is this machine as it is"),
        (["run", "--kvm", "--shift", "3", DEMO], "--shift is of virtual time"),
        (["run", "--out", "/proc/x", DEMO], "/proc/x: No such file"),
    ],
)
def test_a_wrong_command_line_gets_one_sentence(words, complaint, tmp_path):
    done = tcon_lab(*words, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout == ""
    assert complaint in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["fly"], "no such command 'fly'"),
        (["run"], "missing argument 'FILE.toml...'"),
        (["run", "--jobs", "0", DEMO], "invalid value for '--jobs': "),
        (["run", "--fast", DEMO], "no such option: --fast"),
        (["exec", "--timeout", "nan", "--", "true"], "invalid value for '--timeout': "),
    ],
)
def test_so_does_one_that_the_parser_refuses(words, complaint, tmp_path):
    done = tcon_lab(*words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"tcon-lab: {complaint}")
    assert done.stderr.endswith("; see --help\n")
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_help_has_the_name_that_users_type(tmp_path):
    done = tcon_lab("--help", cwd=tmp_path)
    assert done.returncode == 0
    assert "Usage: tcon-lab [OPTIONS] COMMAND" in done.stdout


def test_what_was_not_used_for_a_week_goes(tmp_path: Path) -> None:
    week_s = 7 * 24 * 3600
    now = time.time()
    ages_s = {"root-a": week_s + 60, "root-b": week_s + 60, "root-c": week_s - 60, "other": 1e8}
    for name, age_s in ages_s.items():
        (tmp_path / name / "lib").mkdir(parents=True)
        os.utime(tmp_path / name, (now - age_s, now - age_s))
    cache.note_use(tmp_path / "root-a", "root-*")
    assert {path.name for path in tmp_path.iterdir()} == {"root-a", "root-c", "other"}
    assert (tmp_path / "root-a").stat().st_mtime >= now - 60
