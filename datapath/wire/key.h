/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The key of a half-flow.
 */
#ifndef _TCON_KEY_H
#define _TCON_KEY_H

#include <linux/build_bug.h>
#include <linux/socket.h>
#include <linux/string.h>
#include <linux/types.h>

#include "wire/packet.h"

/**
 * struct tcon_key - names a half-flow: a connection, and the port of its guest
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

/**
 * tcon_key_set_addresses() - set the addresses of a key
 * @key: the key; all other fields become zero
 * @frame: starts with the Ethernet header
 * @pkt: the frame, parsed; it may be a later fragment
 * @from_guest: the guest sends it
 */
static __always_inline void
tcon_key_set_addresses(struct tcon_key *key, const u8 *frame,
		       const struct tcon_packet *pkt, bool from_guest)
{
	const u8 *ip = frame + pkt->l3_offset;

	memset(key, 0, sizeof(*key));
	key->family = pkt->family;
	if (likely(pkt->family == AF_INET)) {
		memcpy(&key->guest.ip4, ip + (from_guest ? 12 : 16), 4);
		memcpy(&key->peer.ip4, ip + (from_guest ? 16 : 12), 4);
	} else {
		memcpy(&key->guest.ip6, ip + (from_guest ? 8 : 24), 16);
		memcpy(&key->peer.ip6, ip + (from_guest ? 24 : 8), 16);
	}
}

/**
 * tcon_key_set_ends() - set the addresses and ports of a key
 * @key: the key; all other fields become zero
 * @frame: starts with the Ethernet header
 * @pkt: the frame, parsed
 * @from_guest: the guest sends it
 */
static __always_inline void
tcon_key_set_ends(struct tcon_key *key, const u8 *frame,
		  const struct tcon_packet *pkt, bool from_guest)
{
	const u8 *tcp = frame + pkt->l4_offset;

	tcon_key_set_addresses(key, frame, pkt, from_guest);
	memcpy(&key->gport, tcp + (from_guest ? 0 : 2), 2);
	memcpy(&key->pport, tcp + (from_guest ? 2 : 0), 2);
}

/* Words in one run.  memcmp() would be a call, and compare in order of bytes. */
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
