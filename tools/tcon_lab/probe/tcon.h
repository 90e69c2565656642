/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PROBE_TCON_H
#define PROBE_TCON_H

#include <libmnl/libmnl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/**
 * struct tcon - tcon.ko's generic netlink family
 * @nl: socket, NULL while closed
 * @family: its number, 0 while it is not known
 * @seq: of the last request
 * @said_missing: the record that says that it is missing has been written
 */
struct tcon {
	struct mnl_socket *nl;
	uint16_t family;
	uint32_t seq;
	bool said_missing;
};

int tcon_open(struct tcon *tcon);
void tcon_sample(struct tcon *tcon, FILE *out, uint64_t t_ns);
void tcon_close(struct tcon *tcon);
int tcon_print_flow(FILE *out, uint64_t t_ns, const struct nlmsghdr *nlh);

#endif
