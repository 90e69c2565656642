/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What names a half-flow.
 */
#ifndef _TCON_KEY_H
#define _TCON_KEY_H

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
 * @pad: zero
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
};

#endif /* _TCON_KEY_H */
