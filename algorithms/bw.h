/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bandwidths, for CCs that model the path (BBR).  The unit is bits/s of TCP payload,
 * as for the pacer.  The largest is 10 Tbit/s, so that with any gain and margin it
 * fits 64 bits.  Gains are in units of 1/256.
 */
#ifndef _TCON_BW_H
#define _TCON_BW_H

#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/time64.h>
#include <tcon/cc.h>

#define TCON_BW_MAX_BPS		10000000000000ULL
#define TCON_BW_GAIN_SHIFT	8
#define TCON_BW_GAIN_UNIT	BIT(TCON_BW_GAIN_SHIFT)
/* Pace 1 % below the estimate, so that rounding builds no queue */
#define TCON_BW_MARGIN_PERCENT	1
/* The RTT that the initial window is paced by, before there is an RTT sample */
#define TCON_BW_NOMINAL_RTT_US	1000
/* An RTT a quarter above min_rtt shows a standing queue: the pipe is full */
#define TCON_BW_QUEUE_DEN	4

/* @bytes in @us, in bits/s. */
static inline u64 tcon_bw_of(u64 bytes, u64 us)
{
	bytes = min_t(u64, bytes, BIT_ULL(40));
	return min(div64_u64(bytes * 8 * USEC_PER_SEC, max_t(u64, us, 1)),
		   TCON_BW_MAX_BPS);
}

/* cwnd per RTT. */
static inline u64 tcon_bw_of_cwnd(const struct tcon_cc *cc)
{
	return tcon_bw_of(cc->cwnd_bytes, cc->srtt_us ? :
					  TCON_BW_NOMINAL_RTT_US);
}

/* @bps for @us, in bytes, at most %TCON_CWND_MAX_BYTES. */
static inline u32 tcon_bw_bytes(u64 bps, u32 us)
{
	return min_t(u64, mul_u64_u32_div(bps, us, 8 * USEC_PER_SEC),
		     TCON_CWND_MAX_BYTES);
}

/* @bytes times a gain, rounded up, at most %TCON_CWND_MAX_BYTES. */
static inline u32 tcon_bw_gain_bytes(u32 bytes, u32 gain)
{
	u64 scaled = (u64)bytes * gain + TCON_BW_GAIN_UNIT - 1;

	return min_t(u64, scaled >> TCON_BW_GAIN_SHIFT, TCON_CWND_MAX_BYTES);
}

/* The rate to pace at.  It is not below the lowest rate that the watchdog accepts. */
static inline u64 tcon_bw_paced(const struct tcon_cc *cc, u64 bps, u32 gain)
{
	bps = bps * gain >> TCON_BW_GAIN_SHIFT;
	bps = div_u64(bps * (100 - TCON_BW_MARGIN_PERCENT), 100);
	return max(bps, tcon_cc_slowest_bps(cc));
}

/**
 * tcon_bw_start() - first bandwidth of a flow that was switched while running
 * @cc: the flow
 *
 * It is the larger of the last rate sample and what is in flight per RTT, because a
 * single sample can be low.
 * Return: bits/s.
 */
static inline u64 tcon_bw_start(const struct tcon_cc *cc)
{
	u64 bps = min(cc->last_rate_bps, TCON_BW_MAX_BPS);

	if (cc->srtt_us)
		bps = max(bps, tcon_bw_of(cc->inflight_bytes, cc->srtt_us));
	return bps;
}

/**
 * tcon_bw_fills_pipe() - does a flow that runs already fill its pipe?
 * @cc: the flow
 *
 * It does if it sends in bulk, and either its slow start is over (there is an
 * ssthresh) or its RTT shows a queue.
 * Return: whether it does.
 */
static inline bool tcon_bw_fills_pipe(const struct tcon_cc *cc)
{
	if (cc->app_limited_until ||
	    cc->inflight_bytes < TCON_INIT_CWND_SEGS * cc->mss_bytes)
		return false;
	return cc->ssthresh_bytes < TCON_SSTHRESH_INFINITE ||
	       (u64)cc->srtt_us * TCON_BW_QUEUE_DEN >=
	       (u64)cc->min_rtt_us * (TCON_BW_QUEUE_DEN + 1);
}

/**
 * tcon_bw_drained() - has inflight fallen to a cwnd of this size?
 * @cc: the flow
 * @cwnd_bytes: the size
 *
 * A packet may leave while inflight is below cwnd, so inflight can exceed cwnd by less than a
 * segment.  Where segments are not full it stays at that.
 * Return: whether it is so.
 */
static inline bool tcon_bw_drained(const struct tcon_cc *cc, u32 cwnd_bytes)
{
	return cc->inflight_bytes < (u64)cwnd_bytes + cc->mss_bytes;
}

/**
 * struct tcon_bw_round - what a round of probing shows of the path
 * @rtt_us: smallest RTT; U32_MAX: none
 * @limited: a rate sample was limited by the guest
 * @queued: a sample that was not limited showed a queue
 */
struct tcon_bw_round {
	u32 rtt_us;
	bool limited;
	bool queued;
};

static inline void tcon_bw_round_begin(struct tcon_bw_round *r)
{
	r->rtt_us = U32_MAX;
	r->limited = false;
	r->queued = false;
}

/**
 * tcon_bw_round_counts() - did a round show the bandwidth of the path?
 * @cc: the flow
 * @r: the round
 * @rs: what the ACK told
 * @ends: the ACK ends it; the next begins
 *
 * While its cwnd waits for a repair, a guest fills the pipe in one part of a round and
 * not in another.  So a single sample that the guest limited spoils the round.
 *
 * There is an exception: only a full pipe has a standing queue.  So the round counts if
 * a sample that was not limited shows a queue.  It also counts if the flow sends in bulk
 * and the RTT showed a queue all through the round.  (In bulk, because that queue may be
 * another flow's.)
 * Return: true if it did; false before the round's end.
 */
static inline bool tcon_bw_round_counts(const struct tcon_cc *cc,
					struct tcon_bw_round *r,
					const struct tcon_rate_sample *rs,
					bool ends)
{
	u32 queued_us = cc->min_rtt_us + cc->min_rtt_us / TCON_BW_QUEUE_DEN;
	bool counts;

	if (rs->is_app_limited)
		r->limited = true;
	else if (rs->rtt_us > queued_us)
		r->queued = true;
	if (rs->rtt_us > 0)
		r->rtt_us = min_t(s64, r->rtt_us, rs->rtt_us);
	if (!ends)
		return false;
	counts = !r->limited || r->queued ||
		 (r->rtt_us > queued_us && r->rtt_us != U32_MAX &&
		  rs->tx_in_flight_bytes >=
		  TCON_INIT_CWND_SEGS * cc->mss_bytes);
	tcon_bw_round_begin(r);
	return counts;
}

#endif /* _TCON_BW_H */
