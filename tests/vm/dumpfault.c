// SPDX-License-Identifier: GPL-2.0-only
/*
 * Preloaded into tcon-switchd: lets requests to tcon.ko fail, as they do where the kernel lacks
 * memory.  Of which command is in the file /run/dumpfault; a negative number lets dumps fail
 * halfway.  Without the file all is as it is.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>

/* The command that is to fail; 0: none. */
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

/* Lets a dump end with an error once a part of it has come, now or after that. */
static void spoil(struct nlmsghdr *msg, size_t bytes, int command)
{
	static bool began;

	for (; NLMSG_OK(msg, bytes); msg = NLMSG_NEXT(msg, bytes)) {
		const struct genlmsghdr *genl = NLMSG_DATA(msg);

		if (msg->nlmsg_type > NLMSG_MIN_TYPE && genl->cmd == command) {
			msg->nlmsg_type = NLMSG_DONE;
			*(int *)NLMSG_DATA(msg) = -ENOMEM;
			return;
		} else if (msg->nlmsg_type > NLMSG_MIN_TYPE) {
			began = genl->cmd == -command;
		} else if (msg->nlmsg_type == NLMSG_DONE && began) {
			*(int *)NLMSG_DATA(msg) = -ENOMEM;
			began = false;
		}
	}
}

static bool is_netlink(int fd)
{
	socklen_t len = sizeof(int);
	int domain;

	return !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) && domain == AF_NETLINK;
}

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	ssize_t (*real)(int, struct msghdr *, int) = dlsym(RTLD_NEXT, "recvmsg");
	ssize_t bytes = real(fd, msg, flags);
	size_t first = msg->msg_iov[0].iov_len;
	int command;

	/* A long message's first buffer tells enough. */
	if (bytes > 0 && is_netlink(fd) && (command = faulty()))
		spoil(msg->msg_iov[0].iov_base, bytes < first ? bytes : first, command);
	return bytes;
}

ssize_t send(int fd, const void *data, size_t bytes, int flags)
{
	ssize_t (*real)(int, const void *, size_t, int) = dlsym(RTLD_NEXT, "send");
	const struct nlmsghdr *request = data;
	const struct genlmsghdr *genl = NLMSG_DATA(request);
	int command;

	if (is_netlink(fd) && (command = faulty()) && request->nlmsg_type > NLMSG_MIN_TYPE &&
	    genl->cmd == command && (request->nlmsg_flags & NLM_F_DUMP) != NLM_F_DUMP) {
		errno = ENOBUFS;
		return -1;
	}
	return real(fd, data, bytes, flags);
}
