// SPDX-License-Identifier: GPL-2.0-only
/*
 * Preloaded into iperf3 in a User-Mode Linux guest (etc/ld.so.preload).
 *
 * Between two phases of a test iperf3 asks select() again and again: its idle data
 * sockets can be written to, so the answer comes at once; or a timer of the phase
 * before is due, which only that phase would run, so it does not wait for an answer.
 * Where CPU work takes no time, the network stands still while it asks.  So if it asks
 * again without having written anything, it waits for an answer, in the first case for
 * something to read, for a millisecond at most.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/select.h>
#include <sys/types.h>
#include <unistd.h>

#define PAUSE_US 1000

static int has_written = 1;

ssize_t write(int fd, const void *bytes, size_t length)
{
	static ssize_t (*real)(int fd, const void *bytes, size_t length);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "write");
	has_written = 1;
	return real(fd, bytes, length);
}

static int any(int n_fds, const fd_set *set)
{
	for (int fd = 0; set && fd < n_fds; fd++)
		if (FD_ISSET(fd, set))
			return 1;
	return 0;
}

static int real_select(int n_fds, fd_set *readable, fd_set *writable, fd_set *failed,
		       struct timeval *timeout)
{
	static int (*real)(int n_fds, fd_set *readable, fd_set *writable,
			   fd_set *failed, struct timeval *timeout);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "select");
	return real(n_fds, readable, writable, failed, timeout);
}

/* Something can be written, nothing can be read. */
static int wait_to_read(int n_fds, fd_set *readable, const fd_set *wanted, int found)
{
	struct timeval pause = { .tv_usec = PAUSE_US };
	fd_set again = *wanted;
	int more = real_select(n_fds, &again, NULL, NULL, &pause);

	if (more <= 0)
		return found;
	*readable = again;
	return found + more;
}

int select(int n_fds, fd_set *readable, fd_set *writable, fd_set *failed,
	   struct timeval *timeout)
{
	int again = !has_written && !failed &&
		    !strcmp(program_invocation_short_name, "iperf3");
	fd_set wanted;
	int found;

	has_written = 0;
	if (again && timeout && !timeout->tv_sec && !timeout->tv_usec)
		timeout->tv_usec = PAUSE_US;
	FD_ZERO(&wanted);
	if (readable)
		wanted = *readable;
	found = real_select(n_fds, readable, writable, failed, timeout);
	if (again && found > 0 && readable && !any(n_fds, readable))
		return wait_to_read(n_fds, readable, &wanted, found);
	return found;
}
