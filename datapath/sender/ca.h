/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between tracker and CC: which callback is due, and is its answer sane?
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
void tcon_ca_tx_start(struct tcon_track *t, u64 now_us);

/**
 * tcon_ca_sane() - did the CC give a cwnd and a rate that can be meant?
 * @cc: the flow
 *
 * With two segments in flight, and none held back for cwnd while nothing is, a flow
 * makes progress: only the pacer could stop it.  A rate at which a segment takes more
 * than a minute, longer than any time-out of RFC 6298, does.
 *
 * Return: false where the watchdog should let the flow go.
 */
static inline bool tcon_ca_sane(const struct tcon_cc *cc)
{
	u64 rate = cc->pacing_rate_bps;

	return cc->cwnd_bytes >= TCON_MIN_CWND_SEGS * cc->mss_bytes &&
	       cc->cwnd_bytes <= TCON_CWND_MAX_BYTES &&
	       (!rate || rate >= tcon_cc_slowest_bps(cc));
}

#endif /* _TCON_CA_H */
