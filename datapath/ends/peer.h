/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Packets from the peer of a guest.
 */
#ifndef _TCON_PEER_H
#define _TCON_PEER_H

#include "state/flow.h"

bool tcon_peer_sends(struct tcon_flow *flow, struct sk_buff *skb, struct tcon_packet *pkt,
		     u64 now_us, struct sk_buff **extra);

#endif /* _TCON_PEER_H */
