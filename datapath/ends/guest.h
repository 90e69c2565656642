/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Packets from a guest.
 */
#ifndef _TCON_GUEST_H
#define _TCON_GUEST_H

#include "state/flow.h"

bool tcon_guest_sends(struct tcon_flow *flow, struct sk_buff *skb, struct tcon_packet *pkt,
		      u64 now_ns);

#endif /* _TCON_GUEST_H */
