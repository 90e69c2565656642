// SPDX-License-Identifier: GPL-2.0-only
/*
 * Preloaded into the process that is a User-Mode Linux.
 *
 * Its random numbers come from a seed (TCON_UML_SEED), so that a run can be
 * repeated; and the processes of its guest die with it: one that outlived the
 * kernel that traces it would go on as a process of the host.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/types.h>

#define OLD_SETOPTIONS 21

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

long ptrace(enum __ptrace_request request, ...)
{
	static long (*real)(enum __ptrace_request request, ...);
	void *address, *data;
	va_list arguments;
	pid_t pid;

	va_start(arguments, request);
	pid = va_arg(arguments, pid_t);
	address = va_arg(arguments, void *);
	data = va_arg(arguments, void *);
	va_end(arguments);
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "ptrace");
	if (request == PTRACE_SETOPTIONS || (int)request == OLD_SETOPTIONS)
		data = (void *)((uintptr_t)data | PTRACE_O_EXITKILL);
	return real(request, pid, address, data);
}
