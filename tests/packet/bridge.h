/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A host in user space: tcon.ko as it is, and in place of openvswitch.ko, of devices and of the
 * kernel's clock what is declared here.  world.py calls it.
 */
#ifndef _TESTS_BRIDGE_H
#define _TESTS_BRIDGE_H

#include <linux/types.h>

/* What a port's device takes: numbers of linux/if_tun.h. */
#define PORT_CSUM	1
#define PORT_TSO4	2
#define PORT_TSO6	4

#define ANY_PORT	(-1)	/* of host_run() */

/**
 * struct offload - what is left to a device to do with a frame
 * @csum_start: offset of the TCP header whose checksum is to be filled in; 0: none
 * @gso_bytes: payload of each segment that the frame is to be cut into; 0: it is one
 */
struct offload {
	u16 csum_start;
	u16 gso_bytes;
};

/* Clock. */
void host_open(u64 now_ns);
void host_close(void);
u64 host_now_ns(void);
bool host_run(u64 until_ns, int ifindex);

/* Ports. */
int port_add(const char *name, u32 features, u32 mtu);
void port_del(int ifindex);
void port_set_mtu(int ifindex, u32 mtu);
void port_connect(int from, int to);
int port_receive(int ifindex, const void *frame, u32 bytes, const struct offload *offload);
u32 port_sent(int ifindex, void *frame, u32 size, struct offload *offload);

/* The family and the module's parameters. */
int genl_do(const void *request, u32 bytes, void *reply, u32 size, u32 *used, const char **why);
void *genl_dump_start(const void *request, u32 bytes);
int genl_dump_next(void *dump, void *reply, u32 size, u32 *used, const char **why);
void genl_dump_end(void *dump);
int param_set(const char *name, const char *value);
int param_get(const char *name, char *value);

#endif /* _TESTS_BRIDGE_H */
