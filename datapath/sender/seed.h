/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is kept of a half-flow's sender while its packets pass unseen.
 */
#ifndef _TCON_SEED_H
#define _TCON_SEED_H

#include "sender/ecn.h"
#include "sender/track.h"

/**
 * struct tcon_seed - a half-flow's sender, in little memory
 * @guest: the guest's SYN
 * @peer: the peer's SYN
 * @ecn: ECN of both directions
 * @una: what the peer had acknowledged when its packets were seen last
 * @peer_nxt: what it had sent then
 * @srtt_us: smoothed RTT then; 0: none
 * @rttvar_us: its variation
 * @min_rtt_us: the least RTT, or %TCON_RTT_NONE_US
 */
struct tcon_seed {
	struct tcon_side guest;
	struct tcon_side peer;
	struct tcon_ecn ecn;
	u32 una;
	u32 peer_nxt;
	u32 srtt_us;
	u32 rttvar_us;
	u32 min_rtt_us;
};

void tcon_seed_take(struct tcon_seed *s, const struct tcon_track *t, const struct tcon_ecn *e);
void tcon_seed_grow(const struct tcon_seed *s, struct tcon_track *t, struct tcon_ecn *e,
		    u64 now_us);

#endif /* _TCON_SEED_H */
