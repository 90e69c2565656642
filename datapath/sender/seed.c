// SPDX-License-Identifier: GPL-2.0-only
/*
 * State kept of a half-flow's sender while its packets pass unseen: what the SYNs have told, and
 * what a sender learns slowly.  The data in flight will be known when the flow resumes.
 *
 * Nothing here needs a kernel.  Callers hold the flow's lock.
 */
#include "sender/saved.h"
#include "sender/seed.h"

/**
 * tcon_seed_take() - keep the part of a sender's state that lasts while packets pass unseen
 * @s: filled
 * @t: its tracker
 * @e: its ECN
 */
void tcon_seed_take(struct tcon_seed *s, const struct tcon_track *t, const struct tcon_ecn *e)
{
	s->guest = t->guest;
	s->peer = t->peer;
	s->ecn = *e;
	s->una = t->cc.una;
	s->peer_nxt = t->peer_nxt;
	s->srtt_us = t->cc.srtt_us;
	s->rttvar_us = tcon_track_rttvar_us(t);
	s->min_rtt_us = t->cc.min_rtt_us;
}

/**
 * tcon_seed_grow() - make a sender from its kept state
 * @s: the kept state
 * @t: the tracker, fresh
 * @e: ECN, fresh
 * @now_us: the time
 */
void tcon_seed_grow(const struct tcon_seed *s, struct tcon_track *t, struct tcon_ecn *e,
		    u64 now_us)
{
	struct tcon_saved saved = {
		.guest = s->guest, .peer = s->peer, .una = s->una, .peer_nxt = s->peer_nxt,
		.srtt_us = s->srtt_us, .rttvar_us = s->rttvar_us, .min_rtt_us = s->min_rtt_us,
	};

	tcon_saved_restore_unseen(&saved, now_us, t);
	*e = s->ecn;
}
