// SPDX-License-Identifier: GPL-2.0-only
/*
 * Preloaded into iperf3 in a User-Mode Linux guest (etc/ld.so.preload).
 *
 * Between two phases of a test iperf3's client waits for the server in select(),
 * with its idle data sockets among those that it asks about: they can be written
 * to, so it comes back at once, and asks again.  Where CPU work takes no time, a
 * round trip of that is ten thousands of system calls.  So who asks again without
 * having written anything waits for something to read, for a millisecond at most.
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

int select(int n_fds, fd_set *readable, fd_set *writable, fd_set *failed,
	   struct timeval *timeout)
{
	static int (*real)(int n_fds, fd_set *readable, fd_set *writable,
			   fd_set *failed, struct timeval *timeout);
	struct timeval pause = { .tv_usec = PAUSE_US };
	fd_set wanted;
	int found;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "select");
	FD_ZERO(&wanted);
	if (readable)
		wanted = *readable;
	found = real(n_fds, readable, writable, failed, timeout);
	if (found > 0 && !has_written && !any(n_fds, readable) && !any(n_fds, failed) &&
	    !strcmp(program_invocation_short_name, "iperf3")) {
		int more = real(n_fds, &wanted, NULL, NULL, &pause);

		if (more > 0 && readable) {
			*readable = wanted;
			found += more;
		}
	}
	has_written = 0;
	return found;
}
