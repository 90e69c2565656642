// SPDX-License-Identifier: GPL-2.0-only
/*
 * Preloaded into tcon-switchd: lets dumps of tcon.ko fail halfway, as they do where the kernel
 * lacks memory.  Of which command is in the file /run/dumpfault; without it all is as it is.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>

/* The command whose dumps are to fail; 0: none. */
static int faulty(void)
{
	FILE *file = fopen("/run/dumpfault", "r");
	int command = 0;

	if (file) {
		if (fscanf(file, "%d", &command) != 1)
			command = 0;
		fclose(file);
	}
	return command;
}

/* Lets a dump of which something was received end with an error. */
static void spoil(struct nlmsghdr *msg, size_t bytes, int command)
{
	static bool began;

	for (; NLMSG_OK(msg, bytes); msg = NLMSG_NEXT(msg, bytes)) {
		const struct genlmsghdr *genl = NLMSG_DATA(msg);

		if (msg->nlmsg_type >= NLMSG_MIN_TYPE) {
			began = genl->cmd == command;
		} else if (msg->nlmsg_type == NLMSG_DONE && began) {
			*(int *)NLMSG_DATA(msg) = -ENOMEM;
			began = false;
		}
	}
}

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	ssize_t (*real)(int, struct msghdr *, int) = dlsym(RTLD_NEXT, "recvmsg");
	ssize_t bytes = real(fd, msg, flags);
	socklen_t len = sizeof(int);
	int command, domain;

	if (bytes > 0 && bytes <= msg->msg_iov[0].iov_len &&
	    !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) && domain == AF_NETLINK &&
	    (command = faulty()))
		spoil(msg->msg_iov[0].iov_base, bytes, command);
	return bytes;
}
