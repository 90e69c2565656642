/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PROBE_SOCKETS_H
#define PROBE_SOCKETS_H

#include <libmnl/libmnl.h>
#include <linux/inet_diag.h>
#include <stdio.h>

#define MAX_SOCKETS	1024

/**
 * struct guest_socket - a connection in a network namespace of its own
 * @pid: a process in that namespace
 * @family: AF_INET or AF_INET6
 * @id: how sock_diag calls it
 * @nl: sock_diag of that namespace
 */
struct guest_socket {
	unsigned int pid;
	int family;
	struct inet_diag_sockid id;
	struct mnl_socket *nl;
};

/**
 * struct sockets - whose TCP_INFO is to be read
 * @list: the first @n are used
 * @n: how many
 * @seq: of the last request
 */
struct sockets {
	struct guest_socket list[MAX_SOCKETS];
	unsigned int n;
	uint32_t seq;
};

bool sockets_add(struct sockets *sockets, const char *text);
int sockets_open(struct sockets *sockets);
int sockets_sample(struct sockets *sockets, FILE *out, uint64_t t_ns);
void sockets_close(struct sockets *sockets);

#endif
