/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The sender's timers: reordering, tail loss probe, retransmission.
 */
#ifndef _TCON_TIMER_H
#define _TCON_TIMER_H

#include <linux/types.h>

#include "sender/track.h"

/* After this many in a row a guest that is silent, too, has gone. */
#define TCON_BACKOFF_MAX	3
#define TCON_DOUBLED_MAX	10	/* 200 ms to more than TCON_RTO_MAX_US */
/* If the round trip has become longer than the RTO, everything is repeated before its ACK
 * comes, and no round trip is measured (Karn).  So the RTO stays doubled.  But as long as ACKs
 * come, it is not doubled more often than this.  A path that is slower still gets more repeats.
 */
#define TCON_DOUBLED_KEPT_MAX	3

/**
 * enum tcon_expiry - what to do when a timer expires
 * @TCON_EXPIRY_NONE: nothing was due
 * @TCON_EXPIRY_REORDER: RACK has judged something lost
 * @TCON_EXPIRY_PROBE: send the tail again
 * @TCON_EXPIRY_TIMEOUT: everything in flight counts as lost
 * @TCON_EXPIRY_GIVE_UP: as before, so often that the guest may have gone
 */
enum tcon_expiry {
	TCON_EXPIRY_NONE,
	TCON_EXPIRY_REORDER,
	TCON_EXPIRY_PROBE,
	TCON_EXPIRY_TIMEOUT,
	TCON_EXPIRY_GIVE_UP,
};

u64 tcon_timer_next_us(const struct tcon_track *t);
u64 tcon_timer_soonest_us(const struct tcon_track *t);
enum tcon_expiry tcon_timer_expire(struct tcon_track *t, u64 now_us);
void tcon_timer_probed(struct tcon_track *t, u32 bytes, u64 now_us);
void tcon_timer_advanced(struct tcon_track *t, u64 now_us);
void tcon_timer_sampled(struct tcon_track *t, u64 now_us);
void tcon_timer_answered(struct tcon_track *t, u64 rtt_us);
void tcon_timer_late(struct tcon_track *t, u64 now_us);
void tcon_timer_needless(struct tcon_track *t);
void tcon_timer_acked(struct tcon_track *t, const struct tcon_sack *dsack,
		      bool bare);

#endif /* _TCON_TIMER_H */
