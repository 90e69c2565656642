/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How much of a flow's data waits in queues, once per round trip, as in Vegas
 * (Brakmo and Peterson, 1995).  An empty path would deliver a window W in baseRTT.
 * It took the RTT of the round.  So
 *
 *	backlog = W (RTT - baseRTT) / RTT
 *
 * W is cwnd at the beginning of the round before: the packets whose RTT was
 * measured were sent with that window.
 */
#ifndef _TCON_BACKLOG_H
#define _TCON_BACKLOG_H

#include <linux/kernel.h>
#include <linux/math64.h>
#include <tcon/cc.h>

#include "reno.h"

/* As Linux's tcp_vegas: of three ACKs at least one was not a delayed ACK */
#define TCON_BACKLOG_MIN_SAMPLES	3

/**
 * struct tcon_backlog - RTTs and windows of a round
 * @base_rtt_us: baseRTT; %TCON_RTT_NONE_US: none yet
 * @round_rtt_us: smallest RTT of the round; %TCON_RTT_NONE_US: none yet
 * @round_samples: number of its RTT samples
 * @round_end: nxt when the round began
 * @round_cwnd_bytes: cwnd then
 * @sent_cwnd_bytes: W, cwnd when the round before began
 */
struct tcon_backlog {
	u32 base_rtt_us;
	u32 round_rtt_us;
	u32 round_samples;
	u32 round_end;
	u32 round_cwnd_bytes;
	u32 sent_cwnd_bytes;
};

/**
 * tcon_backlog_begin_round() - the next round begins
 * @cc: the flow
 * @b: its backlog
 */
static inline void tcon_backlog_begin_round(const struct tcon_cc *cc,
					    struct tcon_backlog *b)
{
	b->round_rtt_us = TCON_RTT_NONE_US;
	b->round_samples = 0;
	b->round_end = cc->nxt;
	b->sent_cwnd_bytes = b->round_cwnd_bytes;
	b->round_cwnd_bytes = cc->cwnd_bytes;
}

/**
 * tcon_backlog_begin() - begin the first round, without a round before it
 * @cc: the flow
 * @b: its backlog
 */
static inline void tcon_backlog_begin(const struct tcon_cc *cc,
				      struct tcon_backlog *b)
{
	b->round_cwnd_bytes = cc->cwnd_bytes;
	tcon_backlog_begin_round(cc, b);
}

/**
 * tcon_backlog_take_rtt() - an RTT sample
 * @b: the backlog
 * @sample_us: the sample; below 0: none
 */
static inline void tcon_backlog_take_rtt(struct tcon_backlog *b, s64 sample_us)
{
	u32 rtt_us;

	if (sample_us < 0)
		return;
	rtt_us = clamp_t(s64, sample_us, 1, TCON_RTT_NONE_US - 1);
	b->base_rtt_us = min(b->base_rtt_us, rtt_us);
	b->round_rtt_us = min(b->round_rtt_us, rtt_us);
	b->round_samples++;
}

/* Has the round ended? */
static inline bool tcon_backlog_is_over(const struct tcon_cc *cc,
					const struct tcon_backlog *b)
{
	return tcon_reno_before(b->round_end, cc->una);
}

/* Are there enough RTT samples for a decision? */
static inline bool tcon_backlog_is_known(const struct tcon_backlog *b)
{
	return b->round_samples >= TCON_BACKLOG_MIN_SAMPLES;
}

/**
 * tcon_backlog_of() - how much of a window waits in queues
 * @b: a backlog whose round has samples
 * @window_bytes: the window that was in flight when the round's RTT was measured
 *
 * A window fits 30 bits and an RTT 32, so their product fits 64.
 * Return: bytes, rounded down.
 */
static inline u32 tcon_backlog_of(const struct tcon_backlog *b,
				  u32 window_bytes)
{
	return div_u64((u64)window_bytes * (b->round_rtt_us - b->base_rtt_us),
		       b->round_rtt_us);
}

#endif /* _TCON_BACKLOG_H */
