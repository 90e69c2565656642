/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pacing rates in time and bytes.
 */
#ifndef _TCON_PACE_H
#define _TCON_PACE_H

#include <linux/math64.h>
#include <linux/time64.h>

#include "sender/track.h"

/* The initial window (RFC 6928) is not paced, as in Linux. */
#define TCON_UNPACED_SEGS	10
/* As Linux's tcp_tso_rtt_log and gso_max_size: with an RTT below 0.5 ms bursts of 64 KiB do not
 * harm, and save work on all hosts.  Each 0.5 ms more halves the burst.
 */
#define TCON_BURST_BYTES	65536U
#define TCON_BURST_HALVED_US	512
/* As Linux's tcp_tso_win_divisor: but not all of a small cwnd, which a short queue would drop. */
#define TCON_BURST_SHARE	3

u32 tcon_pace_allowance_bytes(const struct tcon_track *t, u32 burst_bytes);

/* The time that @bytes take at the pacing rate, which is not 0. */
static inline u64 tcon_pace_ns(const struct tcon_cc *cc, u32 bytes)
{
	return div64_u64((u64)bytes * 8 * NSEC_PER_SEC, cc->pacing_rate_bps);
}

/*
 * Bytes that a packet counts on the clock.  Linux's sender counts payload
 * (tcp_update_skb_after_send()), and CCs measure their rates in payload.  If headers counted as
 * well, a CC that measures what it has paced would slow down with each round.  But a guest may
 * send little but headers.  So these are free up to the size of the payload, and the path gets no
 * more than twice the rate.
 */
static inline u32 tcon_pace_charge_bytes(u32 payload_bytes, u32 header_bytes)
{
	return max(payload_bytes, (payload_bytes + header_bytes) / 2);
}

/* How much may still leave without pacing. */
static inline u32 tcon_pace_unpaced_bytes(const struct tcon_track *t)
{
	u32 bytes = TCON_UNPACED_SEGS * t->cc.mss_bytes;

	return t->sent_bytes < bytes ? bytes - t->sent_bytes : 0;
}

/* How much leaves together when the pacer's clock allows the first packet. */
static inline u32 tcon_pace_burst_bytes(const struct tcon_cc *cc)
{
	u32 bytes = TCON_BURST_BYTES >> min(cc->min_rtt_us / TCON_BURST_HALVED_US, 31U);

	return min(bytes, cc->cwnd_bytes / TCON_BURST_SHARE);
}

#endif /* _TCON_PACE_H */
