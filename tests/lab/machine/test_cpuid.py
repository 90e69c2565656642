# SPDX-License-Identifier: GPL-2.0-only
"""Programs of a User-Mode Linux guest see the same CPU on every host."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tcon_lab.errors import LabError
from tcon_lab.machine import cpuid, uml_kernel

# Three times the two bytes that are CPUID, but one of them is not an instruction and one
# is data.
_ASKS = """
const unsigned short data[] = { 0xa20f };
int main(void)
{
	unsigned int a = 0, b, c = 0, d;
	__asm__ volatile("mov $0x1234a20f, %%eax" : : : "eax");
	__asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	return a == 0 || data[0] != 0xa20f;
}
"""


def _built(folder: Path, code: str, *options: str) -> Path:
    (folder / "it.c").write_text(code)
    command = ["gcc", "-O1", *options, "-o", folder / "it", folder / "it.c"]
    subprocess.run(command, check=True)
    return folder / "it"


def test_the_instruction_is_replaced_and_nothing_else(tmp_path):
    before = _built(tmp_path, _ASKS).read_bytes()
    after = cpuid.without_cpuid(before)
    assert before.count(cpuid.CPUID) == 3
    differing = [at for at in range(len(before)) if before[at] != after[at]]
    assert len(differing) == 1  # both begin with 0f
    (at,) = differing
    assert (before[at - 1 : at + 1], after[at - 1 : at + 1]) == (cpuid.CPUID, cpuid.STANDIN)
    program = tmp_path / "changed"
    program.write_bytes(after)
    program.chmod(0o755)
    assert subprocess.run([program], check=False).returncode == -11  # SIGSEGV: it was that one


def test_what_is_no_program_stays_as_it_is(tmp_path):
    module = _built(tmp_path, _ASKS, "-c").read_bytes()
    for data in (b"", b"text \x0f\xa2", module):
        assert cpuid.without_cpuid(data) == data


def test_a_broken_program_is_refused():
    with pytest.raises(LabError, match="objdump cannot read a program"):
        cpuid.without_cpuid(b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00" + cpuid.CPUID)


# A tracer whose child asks by the stand-in what it is told to ask, and prints the answer;
# where the child reads address 0 instead the tracer sees that.
_TRACER = """
#include <stdio.h>
#include <stdlib.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char **words)
{
	int status;
	pid_t child = fork();
	if (child == 0) {
		unsigned int a, b, c, d;
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		if (count < 3)
			*(volatile int *)0;
		a = strtoul(words[1], NULL, 16);
		c = strtoul(words[2], NULL, 16);
		__asm__ volatile("invd" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
		printf("%x %x %x %x\\n", a, b, c, d);
		fflush(stdout);
		_exit(0);
	}
	waitpid(child, &status, __WALL);
	ptrace(PTRACE_CONT, child, NULL, NULL);
	waitpid(child, &status, __WALL);
	if (WIFSTOPPED(status))
		printf("signal %d\\n", WSTOPSIG(status));
	return 0;
}
"""


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (("0", "0"), "4 756e6547 6c65746e 49656e69"),
        (("1", "7"), "106a5 10800 982201 78bfbff"),  # no AVX, XSAVE, RDRAND
        (("4", "3"), "163 3c0003f 1fff 2"),
        (("4", "4"), "0 0 0 0"),
        (("7", "0"), "0 0 0 0"),
        (("80000001", "0"), "0 0 1 20100800"),
        ((), "signal 11"),
    ],
)
def test_who_traces_it_answers(tmp_path, asked, answer):
    tracer = _built(tmp_path, _TRACER)
    environment = {"LD_PRELOAD": str(uml_kernel.shared_library("host"))}
    run = subprocess.run(
        [tracer, *asked], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.strip() == answer
