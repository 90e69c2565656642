/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between tracker and CC: calls the CC's callbacks and checks its decisions.
 */
#ifndef _TCON_CA_H
#define _TCON_CA_H

#include "sender/acked.h"

int tcon_ca_start(struct tcon_track *t, const struct tcon_cc_ops *ops,
		  const s64 *params, u64 now_us);
void tcon_ca_stop(struct tcon_track *t);
void tcon_ca_ack(struct tcon_track *t, const struct tcon_ack *ack);
void tcon_ca_lost(struct tcon_track *t, u32 bytes, u64 now_us);
void tcon_ca_timeout(struct tcon_track *t, u64 now_us);
void tcon_ca_turned(struct tcon_track *t, u64 now_us);
void tcon_ca_tx_start(struct tcon_track *t, u64 now_us);
void tcon_ca_unheard(struct tcon_track *t, u64 now_us);
void tcon_ca_heard(struct tcon_track *t);

/**
 * tcon_ca_sane() - are the CC's cwnd and pacing rate within bounds?
 * @cc: the flow
 *
 * A flow makes progress with a cwnd of two segments, because nothing is held for cwnd while
 * nothing is in flight.  Then only the pacer could stop it.  It does so at a rate at which a
 * segment takes more than a minute, longer than any time-out of RFC 6298.
 *
 * Return: false if the watchdog should take the flow from the CC.
 */
static inline bool tcon_ca_sane(const struct tcon_cc *cc)
{
	u64 rate = cc->pacing_rate_bps;

	return cc->cwnd_bytes >= TCON_MIN_CWND_SEGS * cc->mss_bytes &&
	       cc->cwnd_bytes <= TCON_CWND_MAX_BYTES &&
	       (!rate || rate >= tcon_cc_slowest_bps(cc));
}

/**
 * tcon_ca_segment() - how large a full segment is
 * @t: the tracker, with or without a CC
 * @mss_bytes: its payload
 *
 * A CC that runs already may have reduced to the least that was allowed, in smaller segments.
 * That is no error of its own.
 */
static inline void tcon_ca_segment(struct tcon_track *t, u32 mss_bytes)
{
	struct tcon_cc *cc = &t->cc;
	u32 least = TCON_MIN_CWND_SEGS * mss_bytes;

	cc->mss_bytes = mss_bytes;
	if (!cc->ops)
		return;
	cc->cwnd_bytes = max(cc->cwnd_bytes, least);
	cc->ssthresh_bytes = max(cc->ssthresh_bytes, least);
	if (cc->pacing_rate_bps)
		cc->pacing_rate_bps = max(cc->pacing_rate_bps, tcon_cc_slowest_bps(cc));
}

#endif /* _TCON_CA_H */
