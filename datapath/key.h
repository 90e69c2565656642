/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What names a half-flow.
 */
#ifndef _TCON_KEY_H
#define _TCON_KEY_H

#include <linux/build_bug.h>
#include <linux/types.h>

#include "packet.h"

/**
 * struct tcon_key - a half-flow: a connection, at the port of one of its ends
 * @guest: address of the end at the port
 * @peer: address of the other end
 * @port_id: tcon_port.id, so that tenants may use the same addresses
 * @gport: TCP port of the guest, network order
 * @pport: TCP port of the peer, network order
 * @vlans: VLAN ids plus one, outermost first; 0: no tag
 * @family: AF_INET or AF_INET6
 * @pad: zero; makes the key a whole number of words
 */
struct tcon_key {
	union tcon_addr guest;
	union tcon_addr peer;
	u32 port_id;
	__be16 gport;
	__be16 pport;
	u16 vlans[2];
	u8 family;
	u8 pad[3];
} __aligned(sizeof(u64));

/* One run of words, without the call and the byte order of memcmp(). */
static inline bool tcon_key_equal(const struct tcon_key *a,
				  const struct tcon_key *b)
{
	const u64 *x = (const u64 *)a, *y = (const u64 *)b;
	u64 differ = 0;
	unsigned int i;

	BUILD_BUG_ON(sizeof(*a) % sizeof(u64));
#pragma GCC unroll 8
	for (i = 0; i < sizeof(*a) / sizeof(u64); i++)
		differ |= x[i] ^ y[i];
	return !differ;
}

#endif /* _TCON_KEY_H */
