/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a pacing rate means in time and bytes.
 */
#ifndef _TCON_PACE_H
#define _TCON_PACE_H

#include <linux/math64.h>
#include <linux/time64.h>

#include "sender/track.h"

/* What leaves first is not paced: Linux lets an initial window (RFC 6928) go. */
#define TCON_UNPACED_SEGS	10
/* Linux's tcp_tso_rtt_log and gso_max_size: a path below 0.5 ms stands bursts of
 * 64 KiB, which save all hosts on it work; each 0.5 ms more halves that.
 */
#define TCON_BURST_BYTES	65536U
#define TCON_BURST_HALVED_US	512

u32 tcon_pace_allowance_bytes(const struct tcon_track *t, u32 burst_bytes);

/* How long @bytes occupy the path; @cc paces. */
static inline u64 tcon_pace_ns(const struct tcon_cc *cc, u32 bytes)
{
	return div64_u64((u64)bytes * 8 * NSEC_PER_SEC, cc->pacing_rate_bps);
}

/* What may still leave before the clock counts. */
static inline u32 tcon_pace_unpaced_bytes(const struct tcon_track *t)
{
	u32 bytes = TCON_UNPACED_SEGS * t->cc.mss_bytes;

	return t->sent_bytes < bytes ? bytes - t->sent_bytes : 0;
}

/* What leaves together once the clock lets the first packet go. */
static inline u32 tcon_pace_burst_bytes(const struct tcon_cc *cc)
{
	return TCON_BURST_BYTES >> min(cc->min_rtt_us / TCON_BURST_HALVED_US, 31U);
}

#endif /* _TCON_PACE_H */
