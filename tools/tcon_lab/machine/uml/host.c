// SPDX-License-Identifier: GPL-2.0-only
/*
 * Preloaded into the process that is a User-Mode Linux.
 *
 * Its random numbers come from a seed (TCON_UML_SEED), so that a run can be
 * repeated.  The processes of its guest die with it: one that outlived the
 * kernel that traces it would go on as a process of the host.  It runs where the
 * CPU has more registers than it knows (AMX, APX), and its guest sees a CPU that
 * is the same on all hosts (cpu.h).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "cpu.h"

#define OLD_SETOPTIONS 21

/* Room for all registers that XSAVE knows; with AMX they take 11008 bytes. */
#define XSTATE_MAX_BYTES (1 << 16)

typedef long (*ptrace_fn)(enum __ptrace_request request, ...);
typedef pid_t (*waitpid_fn)(pid_t pid, int *status, int options);

/* How the guest's process was let go last. */
static enum __ptrace_request let_go;

/* SplitMix64: a counter through a mixing function, so any seed will do. */
static uint64_t next_random(void)
{
	static uint64_t counter;
	static int seeded;
	uint64_t mixed;

	if (!seeded) {
		const char *seed = getenv("TCON_UML_SEED");

		counter = seed ? strtoull(seed, NULL, 10) : 0;
		seeded = 1;
	}
	counter += 0x9e3779b97f4a7c15ULL;
	mixed = counter;
	mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
	mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
	return mixed ^ (mixed >> 31);
}

ssize_t getrandom(void *buffer, size_t length, unsigned int flags)
{
	unsigned char *bytes = buffer;

	(void)flags;
	for (size_t i = 0; i < length; i++)
		bytes[i] = next_random() >> 56;
	return length;
}

/*
 * Linux takes all of the extended state or none (EFAULT), User-Mode Linux 6.1 has
 * room for 2696 bytes, up to AVX-512 and PKRU.  These go in front; the
 * rest stays as the process has it.  Guests cannot use the rest: AMX wants a
 * permission that their kernel does not know.  (APX lies in front, where MPX was.)
 */
static long set_xstate(ptrace_fn real, pid_t pid, struct iovec *given)
{
	static char state[XSTATE_MAX_BYTES];
	struct iovec all = { state, sizeof(state) };

	if (real(PTRACE_GETREGSET, pid, (void *)NT_X86_XSTATE, &all) < 0)
		return -1;
	if (given->iov_len >= all.iov_len)
		return real(PTRACE_SETREGSET, pid, (void *)NT_X86_XSTATE, given);
	memcpy(state, given->iov_base, given->iov_len);
	return real(PTRACE_SETREGSET, pid, (void *)NT_X86_XSTATE, &all);
}

static ptrace_fn real_ptrace(void)
{
	static ptrace_fn real;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "ptrace");
	return real;
}

long ptrace(enum __ptrace_request request, ...)
{
	void *address, *data;
	va_list arguments;
	pid_t pid;

	va_start(arguments, request);
	pid = va_arg(arguments, pid_t);
	address = va_arg(arguments, void *);
	data = va_arg(arguments, void *);
	va_end(arguments);
	if (request == PTRACE_SETREGSET && address == (void *)NT_X86_XSTATE)
		return set_xstate(real_ptrace(), pid, data);
	if (request == PTRACE_SETOPTIONS || (int)request == OLD_SETOPTIONS)
		data = (void *)((uintptr_t)data | PTRACE_O_EXITKILL);
	if (request == PTRACE_CONT || request == PTRACE_SYSEMU ||
	    request == PTRACE_SYSEMU_SINGLESTEP || request == PTRACE_SYSCALL)
		let_go = request;
	return real_ptrace()(request, pid, address, data);
}

/*
 * Has the process stopped because it asked for the CPU?  Then give it the answer.
 * Page faults, which are many, have another code.
 */
static int answered(pid_t pid)
{
	ptrace_fn real = real_ptrace();
	struct user_regs_struct regs;
	struct cpuid answer;
	siginfo_t info;
	long code;

	if (real(PTRACE_GETSIGINFO, pid, NULL, &info) < 0 || info.si_code != SI_KERNEL)
		return 0;
	if (real(PTRACE_GETREGS, pid, NULL, &regs) < 0)
		return 0;
	errno = 0;
	code = real(PTRACE_PEEKTEXT, pid, (void *)regs.rip, NULL);
	if (errno || (code & 0xffff) != CPUID_STANDIN)
		return 0;
	answer = cpuid_of(regs.rax, regs.rcx);
	regs.rax = answer.eax;
	regs.rbx = answer.ebx;
	regs.rcx = answer.ecx;
	regs.rdx = answer.edx;
	regs.rip += CPUID_BYTES;
	return real(PTRACE_SETREGS, pid, NULL, &regs) == 0;
}

pid_t waitpid(pid_t pid, int *status, int options)
{
	static waitpid_fn real;
	int stopped = 0;
	pid_t found;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "waitpid");
	do {
		found = real(pid, &stopped, options);
		if (found <= 0 || !WIFSTOPPED(stopped) || WSTOPSIG(stopped) != SIGSEGV ||
		    !answered(found))
			break;
	} while (real_ptrace()(let_go, found, NULL, NULL) == 0);
	if (status)
		*status = stopped;
	return found;
}
