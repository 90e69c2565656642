# SPDX-License-Identifier: GPL-2.0-only
"""User-Mode Linux without booting it: configuration, key, command line, host.c."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from tcon_lab import lab
from tcon_lab.errors import LabError
from tcon_lab.machine import uml, uml_kernel
from tcon_lab.machine.engine import Machine, Outcome

# --- configuration ------------------------------------------------------------


def test_a_later_setting_replaces_an_earlier_one():
    text = 'CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_N="x=y"\nCONFIG_A=m\n'
    assert uml_kernel.settings(text) == {"CONFIG_A": "m", "CONFIG_N": '"x=y"'}


def test_settings_that_kconfig_drops_are_named():
    got = "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=m\n"
    assert uml_kernel.lost_settings("CONFIG_A=y\nCONFIG_B=n\nCONFIG_C=m\n", got) == []
    wanted = "CONFIG_A=m\nCONFIG_B=y\nCONFIG_D=y\n"
    lost = ["CONFIG_A=m", "CONFIG_B=y", "CONFIG_D=y"]
    assert uml_kernel.lost_settings(wanted, got) == lost


def test_the_kernels_differ_in_debugging_name_and_what_the_newest_has_not():
    newest = uml_kernel.Recipe("newest", ("newest",))
    fast, debug, gone = (
        uml_kernel.settings(uml_kernel.fragment(recipe))
        for recipe in (uml_kernel.FAST, uml_kernel.DEBUG, newest)
    )
    differing = {name for name in fast if debug[name] != fast[name]}
    assert differing == {"CONFIG_LOCALVERSION", *gone}
    added = set(debug) - set(fast)
    assert {"CONFIG_KASAN", "CONFIG_PROVE_LOCKING", "CONFIG_DEBUG_OBJECTS"} <= added
    assert "CONFIG_UML_TIME_TRAVEL_SUPPORT" in fast
    # They would bring the host's randomness in.
    assert not {"CONFIG_HW_RANDOM", "CONFIG_UML_RANDOM"} & set(debug)


def test_kernels_with_several_cpus_are_in_real_time_and_say_what_they_check():
    kinds = (uml_kernel.SMP, uml_kernel.KCSAN)
    smp, kcsan = (uml_kernel.settings(uml_kernel.fragment(kind)) for kind in kinds)
    for config in (smp, kcsan):
        assert config["CONFIG_SMP"] == "y"
        assert config["CONFIG_UML_TIME_TRAVEL_SUPPORT"] == "n"
    assert smp["CONFIG_LOCALVERSION"] != kcsan["CONFIG_LOCALVERSION"]
    assert (kcsan["CONFIG_KCSAN_STRICT"], kcsan["CONFIG_KCSAN_WEAK_MEMORY"]) == ("y", "y")
    assert kcsan["CONFIG_KCSAN_REPORT_VALUE_CHANGE_ONLY"] == "n"
    assert kcsan["CONFIG_FRAME_POINTER"] == "y"


def test_the_debug_kernel_with_several_cpus_checks_what_the_other_does_but_leaks():
    smp, debug, both = (
        uml_kernel.settings(uml_kernel.fragment(recipe))
        for recipe in (uml_kernel.SMP, uml_kernel.DEBUG, uml_kernel.SMP_DEBUG)
    )
    leaks = {name for name in debug if "KMEMLEAK" in name}
    assert {both[name] for name in leaks} == {"n"}
    own = {"CONFIG_LOCALVERSION", "CONFIG_UML_TIME_TRAVEL_SUPPORT", *leaks}
    assert {name: value for name, value in both.items() if name not in own} == {
        name: value for name, value in (debug | smp).items() if name not in own
    } | {"CONFIG_DEBUG_ATOMIC_SLEEP": "y", "CONFIG_FRAME_POINTER": "y"}
    assert both["CONFIG_UML_TIME_TRAVEL_SUPPORT"] == "n"
    assert both["CONFIG_LOCALVERSION"] not in {c["CONFIG_LOCALVERSION"] for c in (smp, debug)}


@pytest.mark.parametrize(
    ("options", "recipe"),
    [
        (lab.Options(), None),
        (lab.Options("uml"), uml_kernel.FAST),
        (lab.Options("uml", debug_kernel=True), uml_kernel.DEBUG),
        (lab.Options("uml", newest_kernel=True), uml_kernel.NEWEST),
        (lab.Options("uml-smp"), uml_kernel.SMP),
        (lab.Options("uml-smp", debug_kernel=True), uml_kernel.SMP_DEBUG),
        (lab.Options("uml-smp", race_kernel=True), uml_kernel.KCSAN),
    ],
)
def test_the_kernel_is_that_of_the_engine_and_of_what_it_looks_for(options, recipe):
    assert lab.uml_recipe(options) == recipe


def test_the_key_depends_on_each_part(tmp_path, monkeypatch):
    monkeypatch.setattr(uml_kernel, "_FRAGMENTS", tmp_path)
    (tmp_path / "a.config").write_text("CONFIG_A=y\n")
    (tmp_path / "b.config").write_text("CONFIG_A=n\n")
    (tmp_path / "some.patch").write_text("a patch\n")
    plain = uml_kernel.Recipe("x", ("a",))
    keys = [
        uml_kernel.kernel_key("6.1.1-1", "gcc 12", plain),
        uml_kernel.kernel_key("6.1.1-2", "gcc 12", plain),
        uml_kernel.kernel_key("6.1.1-1", "gcc 13", plain),
        uml_kernel.kernel_key("6.1.1-1", "gcc 12", uml_kernel.Recipe("x", ("a", "b"))),
        uml_kernel.kernel_key("6.1.1-1", "gcc 12", uml_kernel.Recipe("x", ("a",), "some.patch")),
        uml_kernel.kernel_key("6.1.1-1", "gcc 12", uml_kernel.Recipe("x", ("a",), "", ("V=1",))),
        uml_kernel.kernel_key("6.1.1-1", "gcc 12", uml_kernel.Recipe("x", ("a",), hz=1000)),
    ]
    assert len(set(keys)) == len(keys)
    assert uml_kernel.kernel_key("6.1.1-1", "gcc 12", plain) == keys[0]


def test_what_modules_need_and_what_tests_run_is_kept(tmp_path):
    scripts = "tools/testing/selftests/net/packetdrill/a.pkt"
    kept = ["Makefile", "arch/um/Makefile", "include/a/b.h", "net/openvswitch/flow.c", scripts]
    gone = [
        "vmlinux.o", "arch/arm/Makefile", "fs/ext4/a.c", "net/ipv4/a.c", "net/openvswitch/flow.o",
        "tools/testing/selftests/net/a.c", "tools/testing/selftests/kvm/a.c", "tools/perf/a.c",
    ]  # fmt: skip
    for name in (*kept, *gone):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    uml_kernel._prune(tmp_path)
    assert [name for name in kept if not (tmp_path / name).exists()] == []
    left = [name for name in gone if (tmp_path / name).exists()]
    assert left == ["tools/testing/selftests/net/a.c"]  # a file beside a folder that is kept


@pytest.mark.parametrize("recipe", [uml_kernel.FAST, uml_kernel.NEWEST])
def test_a_kernel_has_the_ticks_of_its_recipe(tmp_path, recipe):
    tree, dest = tmp_path / "linux", tmp_path / "dest"
    (tree / "arch/um").mkdir(parents=True)
    (tree / "arch/um/Kconfig").write_text("\nconfig HZ\n\tint\n\tdefault 100\n")
    tarball = tmp_path / "linux.tar.xz"
    subprocess.run(["tar", "-cJf", tarball, "-C", tmp_path, "linux"], check=True)
    dest.mkdir()
    uml_kernel._unpack(tarball, recipe, dest)
    hz = {"fast": 250, "newest": 1000}[recipe.name]
    assert f"\tdefault {hz}\n" in (dest / "arch/um/Kconfig").read_text()


def test_a_patch_that_does_not_apply_is_named(tmp_path):
    tree = tmp_path / "linux"
    (tree / "arch/um").mkdir(parents=True)
    (tree / "arch/um/Kconfig").write_text("\nconfig HZ\n\tint\n\tdefault 100\n")
    tarball = tmp_path / "linux.tar.xz"
    subprocess.run(["tar", "-cJf", tarball, "-C", tmp_path, "linux"], check=True)
    dest = tmp_path / "dest"
    dest.mkdir()
    with pytest.raises(LabError, match=r"^uml/kcsan\.patch does not apply to .*linux\.tar\.xz$"):
        uml_kernel._unpack(tarball, uml_kernel.KCSAN, dest)


@pytest.mark.parametrize("told", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_build_ends_with_who_runs_it(tmp_path: Path, told: signal.Signals):
    """With all of it: a shell between two makes does not pass on what it is told."""
    (tmp_path / "Makefile").write_text(
        "linux:\n\t@$(MAKE) deep; true\n"
        "deep:\n\t@echo $$$$ >pid.new; mv pid.new pid; exec sleep 600\n"
    )
    code = (
        "import signal, sys; from pathlib import Path; from tcon_lab.machine import uml_kernel\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))\n"
        f"uml_kernel._make(Path({str(tmp_path)!r}), 'linux')"
    )
    env = os.environ | {"PYTHONPATH": str(Path(uml_kernel.__file__).parents[2])}
    with subprocess.Popen([sys.executable, "-c", code], env=env) as builder:
        pid = tmp_path / "pid"
        until(pid.exists)
        builder.send_signal(told)
    until(lambda: not Path("/proc", pid.read_text().strip()).exists())


def until(true: Callable[[], bool], timeout_s: float = 20) -> None:
    deadline = time.monotonic() + timeout_s
    while not true():
        assert time.monotonic() < deadline, "too late"
        time.sleep(0.02)


# --- machine ------------------------------------------------------------------


@pytest.mark.parametrize("recipe", [uml_kernel.FAST, uml_kernel.DEBUG, uml_kernel.NEWEST])
def test_equal_machines_have_equal_command_lines(recipe):
    words = uml.arguments(Machine(seed=1, memory_mib=512), recipe.boot)
    assert words == uml.arguments(Machine(seed=2, memory_mib=512, timeout_s=1), recipe.boot)
    assert "mem=512M" in words
    known = {"root=/dev/ram0", "hostfs=/proc/self/cwd"}
    assert not [word for word in words if "/" in word and word not in known]


@pytest.mark.parametrize(
    ("recipe", "word"),
    [(uml_kernel.FAST, "iomem=mmapper,channel"), (uml_kernel.DEBUG, "hostfs=/proc/self/cwd")],
)
def test_a_kernel_has_the_channel_in_the_way_that_it_can(tmp_path, recipe, word):
    has_device = uml_kernel.settings(uml_kernel.fragment(recipe))["CONFIG_MMAPPER"] == "y"
    assert word.startswith("iomem=mmapper") is has_device
    image = tmp_path / "linux"
    image.write_text('#!/bin/sh\necho "$@"; ls channel\n')
    image.chmod(0o755)
    kernel = uml_kernel.UmlKernel("6.1", image, tmp_path, tmp_path, recipe.boot)
    outcome = Outcome()
    uml.Uml(kernel).run(Machine(), tmp_path / "initrd", outcome, tmp_path / "log")
    words, channel = outcome.console.splitlines()
    assert word in words.split()
    assert channel == "channel"


@pytest.mark.parametrize(
    ("machine", "complaint"),
    [
        (Machine(smp=2), "--engine=uml has one CPU"),
        (Machine(shift=None), "virtual time only"),
        (Machine(link="/tmp/x,listen"), "has no --link"),
        (Machine(plugin="/tmp/x.so"), "has no --plugin"),
    ],
)
def test_what_it_cannot_be_is_refused_before_anything_starts(machine, complaint, tmp_path):
    kernel = uml_kernel.UmlKernel("6.1", *[tmp_path / "absent"] * 3)
    with pytest.raises(LabError, match=complaint):
        uml.Uml(kernel).run(machine, tmp_path / "initrd", Outcome(), tmp_path / "log")
    assert list(tmp_path.iterdir()) == []


def _engine(tmp_path: Path, script: str, kind: type[uml.Uml] = uml.Uml) -> uml.Uml:
    """The engine with a shell script for a kernel."""
    image = tmp_path / "linux"
    image.write_text(f"#!/bin/sh\n{script}\n")
    image.chmod(0o755)
    (tmp_path / "initrd").touch()
    return kind(uml_kernel.UmlKernel("6.1", image, tmp_path, tmp_path, uml_kernel.FAST.boot))


def test_the_program_gets_seed_initrd_and_channel(tmp_path):
    script = 'echo "$TCON_UML_SEED" "$@"; ls -L channel initrd.cpio'
    outcome = Outcome()
    _engine(tmp_path, script).run(Machine(seed=7), tmp_path / "initrd", outcome, tmp_path / "log")
    assert outcome.console.startswith("7 initrd=initrd.cpio iomem=mmapper,channel ")
    assert outcome.console.endswith("channel\ninitrd.cpio\n")


def test_the_program_with_several_cpus_has_all_of_the_hosts_and_a_folder_of_its_own(tmp_path):
    script = 'echo "$@"; pwd; ls -L channel initrd.cpio; grep Cpus_allowed_list /proc/self/status'
    outcome = Outcome()
    engine = _engine(tmp_path, script, uml.UmlSmp)
    machine = Machine(shift=None, smp=4, memory_mib=512)
    engine.run(machine, tmp_path / "initrd", outcome, tmp_path / "log")
    words, folder, *files, allowed = outcome.console.splitlines()
    assert {"ncpus=4", "mem=512M", "seccomp=on", f"hostfs={folder}"} <= set(words.split())
    assert "time-travel" not in words
    assert files == ["channel", "initrd.cpio"]
    assert allowed in Path("/proc/self/status").read_text().splitlines()


TOOLS = Path(__file__).parents[3] / "tools"


def _taken(folder: Path, cpus: Iterable[int], stack: contextlib.ExitStack) -> None:
    """Lock these CPUs as other labs' machines do."""
    for cpu in cpus:
        lock = stack.enter_context((folder / f"cpu-{cpu}.lock").open("w"))
        fcntl.flock(lock, fcntl.LOCK_EX)


def test_a_machine_has_a_cpu_that_no_other_has_while_there_is_one(tmp_path, monkeypatch):
    monkeypatch.setenv("TCON_CACHE", str(tmp_path))
    known = sorted(os.sched_getaffinity(0))
    engine = _engine(tmp_path, "grep Cpus_allowed_list /proc/self/status")
    for free in known:
        outcome = Outcome()
        with contextlib.ExitStack() as stack:
            _taken(tmp_path, set(known) - {free}, stack)
            engine.run(Machine(), tmp_path / "initrd", outcome, tmp_path / "log")
        assert outcome.console.split()[-1] == str(free)


def test_machines_share_cpus_where_there_are_more_of_them(tmp_path, monkeypatch):
    monkeypatch.setenv("TCON_CACHE", str(tmp_path))
    known = sorted(os.sched_getaffinity(0))
    engine = _engine(tmp_path, "grep Cpus_allowed_list /proc/self/status")
    found = set()
    with contextlib.ExitStack() as stack:
        _taken(tmp_path, known, stack)
        for _ in known:
            outcome = Outcome()
            engine.run(Machine(), tmp_path / "initrd", outcome, tmp_path / "log")
            found.add(int(outcome.console.split()[-1]))
    assert found == set(known)


def test_labs_share_cpus_where_there_are_more_of_them(tmp_path):
    """Labs of one machine each: none may begin where all others do."""
    ask = "from tcon_lab.machine.cpus import own_cpu\nwith own_cpu() as cpu: print(cpu)"
    known = sorted(os.sched_getaffinity(0))
    with contextlib.ExitStack() as stack:
        _taken(tmp_path, known, stack)
        labs = [
            subprocess.Popen([sys.executable, "-c", ask], stdout=subprocess.PIPE, text=True,
                             env={"TCON_CACHE": str(tmp_path), "PYTHONPATH": str(TOOLS)})
            for _ in range(20)
        ]  # fmt: skip
        found = {int(lab.communicate()[0]) for lab in labs}
    assert found <= set(known)
    assert len(found) > 1 or len(known) == 1


def test_a_machine_that_takes_too_long_is_ended_with_all_its_processes(tmp_path):
    pids = tmp_path / "pids"
    engine = _engine(tmp_path, f"sleep 1000 & echo $$ $! > {pids}; wait")
    with pytest.raises(LabError, match="no end after 1 s"):
        engine.run(Machine(timeout_s=1), tmp_path / "initrd", Outcome(), tmp_path / "log")
    for pid in pids.read_text().split():
        _wait_until_gone(int(pid))


def _wait_until_gone(pid: int) -> None:
    end = time.monotonic() + 5
    while time.monotonic() < end:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return
        except FileNotFoundError:
            return
        time.sleep(0.01)
    raise AssertionError(f"process {pid} still runs")


# --- host.c -------------------------------------------------------------------

_RANDOM = """
import ctypes, sys
library, bytes_ = ctypes.CDLL(sys.argv[1]), ctypes.create_string_buffer(16)
for _ in range(2):
    assert library.getrandom(bytes_, 16, 0) == 16
    print(bytes_.raw.hex())
"""

# Traces a child as User-Mode Linux does, then dies.
_TRACER = """
import ctypes, os, signal, sys
libc = ctypes.CDLL(None)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
child = os.fork()
if child == 0:
    os.close(1)
    libc.ptrace(0, 0, None, None)
    os.kill(os.getpid(), signal.SIGSTOP)
    while True:
        signal.pause()
os.waitpid(child, 0)
assert libc.ptrace(21, child, None, 1) == 0
print(child, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def _run_with(code: str, **environment: str) -> str:
    """Output of a program that gets the path of host.so as its argument."""
    command = [sys.executable, "-c", code, str(uml_kernel.shared_library("host"))]
    environment = dict(os.environ) | environment
    return subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, text=True, check=False, timeout=30
    ).stdout


def test_random_numbers_follow_the_seed():
    first, second, other = (_run_with(_RANDOM, TCON_UML_SEED=seed) for seed in ("1", "1", "2"))
    assert first == second != other
    assert len(set(first.split() + other.split())) == 4


def test_what_is_traced_dies_with_its_tracer():
    child = int(_run_with(_TRACER, LD_PRELOAD=str(uml_kernel.shared_library("host"))))
    try:
        _wait_until_gone(child)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)


# A host whose registers take as many bytes as the preloading program wants.  Like
# Linux it writes all of them or none, and reads no more than there is.
_HOST_PTRACE = """
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#define MIN(a, b) ((a) < (b) ? (a) : (b))
char host_state[1 << 16];
long ptrace(enum __ptrace_request request, ...)
{
	size_t size = atoi(getenv("HOST_XSTATE_BYTES"));
	struct iovec *iov;
	va_list list;
	va_start(list, request);
	(void)va_arg(list, int);
	if (va_arg(list, long) != 0x202)
		abort();
	iov = va_arg(list, struct iovec *);
	va_end(list);
	iov->iov_len = MIN(iov->iov_len, size);
	if (request == PTRACE_GETREGSET) {
		memcpy(iov->iov_base, host_state, iov->iov_len);
		return 0;
	}
	if (request != PTRACE_SETREGSET)
		abort();
	if (iov->iov_len != size) {
		errno = EFAULT;
		return -1;
	}
	memcpy(host_state, iov->iov_base, size);
	return 0;
}
"""

# Writes 2696 bytes of registers, as User-Mode Linux does; says what the host has then.
_SETTER = """
import ctypes, sys
class Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
libc = ctypes.CDLL(None)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_long, ctypes.POINTER(Iovec)]
state = (ctypes.c_char * (1 << 16)).in_dll(libc, "host_state")
state.raw = b"h" * (1 << 16)
given = ctypes.create_string_buffer(b"u" * 2696, 2696)
iovec = Iovec(ctypes.addressof(given), 2696)
assert libc.ptrace(0x4205, 1, 0x202, ctypes.byref(iovec)) == 0
print(state.raw.count(b"u"), len(state.raw.rstrip(b"h")), given.raw == b"u" * 2696)
"""


@pytest.mark.parametrize("host_bytes", [576, 832, 2696, 2704, 11008, 1 << 16])
def test_registers_that_it_does_not_know_are_left_alone(tmp_path, host_bytes):
    (tmp_path / "ptrace.c").write_text(_HOST_PTRACE)
    host = tmp_path / "ptrace.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", host, tmp_path / "ptrace.c"], check=True)
    preload = f"{uml_kernel.shared_library('host')}:{host}"
    said = _run_with(_SETTER, LD_PRELOAD=preload, HOST_XSTATE_BYTES=str(host_bytes))
    written = min(2696, host_bytes)
    assert said.split() == [str(written), str(written), "True"]


# --- a host that does not let it run --------------------------------------------


@pytest.mark.parametrize(
    ("says", "reason"),
    [
        ("Checking ptrace...\nptrace failed: Operation not permitted", "not permitted"),
        ("/dev/shm must be not mounted noexec\n\nbye", "noexec"),
        ("Illegal instruction", "Illegal instruction"),
        ("", "it says nothing"),
    ],
)
def test_where_it_does_not_start_one_sentence_says_why(tmp_path, says, reason):
    outcome = Outcome()
    engine = _engine(tmp_path, f"cat <<'END'\n{says}\nEND\nexit 1")
    engine.run(Machine(), tmp_path / "initrd", outcome, tmp_path / "log")
    with pytest.raises(LabError) as refused:
        outcome.check_kernel()
    assert reason in str(refused.value)
    assert str(refused.value).startswith("User-Mode Linux does not start on this machine (")
    assert str(refused.value).endswith("): use --engine=qemu")
    assert "\n" not in str(refused.value)


# --- iperf3_wait.c ------------------------------------------------------------

# Asks 200 times about a file that can be written to and a socket with nothing to
# read; then the same, with a write before each; then with something to read; then,
# with a timer that is overdue, about nothing but a socket with nothing to read.
_WAITER = """
#include <fcntl.h>
#include <stdio.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
static double ask(int times, int idle, int sink, int write_first)
{
	struct timespec a, b;
	clock_gettime(CLOCK_MONOTONIC, &a);
	for (int i = 0; i < times; i++) {
		struct timeval second = { 1, 0 };
		fd_set r, w;
		FD_ZERO(&r); FD_ZERO(&w); FD_SET(idle, &r); FD_SET(sink, &w);
		if (write_first && write(sink, "x", 1) != 1)
			return -1;
		if (select(FD_SETSIZE, &r, &w, NULL, &second) < 1 || !FD_ISSET(sink, &w))
			return -1;
	}
	clock_gettime(CLOCK_MONOTONIC, &b);
	return b.tv_sec - a.tv_sec + (b.tv_nsec - a.tv_nsec) / 1e9;
}
static double overdue(int times, int idle)
{
	struct timespec a, b;
	clock_gettime(CLOCK_MONOTONIC, &a);
	for (int i = 0; i < times; i++) {
		struct timeval none = { 0, 0 };
		fd_set r;
		FD_ZERO(&r); FD_SET(idle, &r);
		if (select(FD_SETSIZE, &r, NULL, NULL, &none))
			return -1;
	}
	clock_gettime(CLOCK_MONOTONIC, &b);
	return b.tv_sec - a.tv_sec + (b.tv_nsec - a.tv_nsec) / 1e9;
}
int main(void)
{
	int idle[2], sink = open("/dev/null", O_WRONLY);
	socketpair(AF_UNIX, SOCK_STREAM, 0, idle);
	printf("%f ", ask(200, idle[0], sink, 0));
	printf("%f ", ask(200, idle[0], sink, 1));
	send(idle[1], "x", 1, 0);
	printf("%f ", ask(200, idle[0], sink, 0));
	printf("%f\\n", overdue(200, idle[1]));
}
"""


@pytest.mark.parametrize("name", ["iperf3", "another"])
def test_who_asks_again_without_a_write_waits_for_something_to_read(tmp_path, name):
    (tmp_path / "waiter.c").write_text(_WAITER)
    program = tmp_path / name
    subprocess.run(["gcc", "-o", program, tmp_path / "waiter.c"], check=True)
    environment = os.environ | {"LD_PRELOAD": str(uml_kernel.shared_library("iperf3_wait"))}
    run = subprocess.run([program], env=environment, capture_output=True, text=True, check=True)
    idle_s, writing_s, reading_s, overdue_s = (float(word) for word in run.stdout.split())
    if name == "iperf3":
        assert idle_s > 0.19
        assert overdue_s > 0.19
    else:
        assert 0 <= idle_s < 0.1
        assert 0 <= overdue_s < 0.1
    assert 0 <= writing_s < 0.1
    assert 0 <= reading_s < 0.1
