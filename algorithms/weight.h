/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Weights: a flow that takes as much of a bottleneck as N others.
 *
 * The model is MulTCP (Crowcroft and Oechslin, CCR 28(3), 1998): N flows in one.  Together
 * they grow N times as fast as one.  When k of them are hit by a reduction, their sum falls by
 * k/N of what a single flow loses.  MulTCP has k = 1.  That is right where an AQM drops or
 * marks one packet here and there: then each flow has the same rate of losses for each packet,
 * and the rate is N times one flow's.  But a full queue hits all flows at once: with k = 1 a
 * flow would then get N^2 times as much, since with a reduction at the same times
 *
 *	b W = a T	(a: growth per round trip, b: part that a reduction takes,
 *			 T: round trips between reductions)
 *
 * So k is counted here: each lost segment of a window hits another of the N.  At a full queue N
 * flows lose about the N segments by which they grow in a round trip, so k = N.
 *
 * Below 1 there is less than one flow to be hit.  It falls as one does and grows N times as
 * fast.  That gives N at a full queue.  Under an AQM it gives sqrt(N), so there it is better to
 * raise the weights of others.
 *
 * Windows of a few segments cannot follow: they are whole segments, and not below two.
 */
#ifndef _TCON_WEIGHT_H
#define _TCON_WEIGHT_H

#include <linux/kernel.h>
#include <linux/math64.h>
#include <tcon/cc.h>

/* Weights, and flows that are hit, are in thousandths. */
#define TCON_WEIGHT_ONE		1000
#define TCON_WEIGHT_MIN		50
#define TCON_WEIGHT_MAX		16000

#define TCON_WEIGHT_PARAM { \
	"weight", TCON_PARAM_MILLI, TCON_WEIGHT_ONE, TCON_WEIGHT_MIN, \
	TCON_WEIGHT_MAX, "flows", "as how many flows this one takes its share" }

/**
 * struct tcon_weight - how many of the flows in one were hit
 * @lost_before_bytes: tcon_cc.lost_bytes when the path was last without a loss
 * @hit: by the last reduction, in thousandths
 */
struct tcon_weight {
	u64 lost_before_bytes;
	u32 hit;
};

static inline void tcon_weight_init(const struct tcon_cc *cc,
				    struct tcon_weight *w, u32 weight)
{
	w->lost_before_bytes = cc->lost_bytes;
	w->hit = weight;
}

/**
 * tcon_weight_open() - losses from here on belong to another reduction
 * @cc: the flow
 * @w: its weight
 */
static inline void tcon_weight_open(const struct tcon_cc *cc,
				    struct tcon_weight *w)
{
	w->lost_before_bytes = cc->lost_bytes;
}

/* Acknowledged bytes, as they count for growth in avoidance. */
static inline u64 tcon_weight_acked(u32 acked_bytes, u32 weight)
{
	if (likely(weight == TCON_WEIGHT_ONE))
		return acked_bytes;
	return div_u64((u64)acked_bytes * weight, TCON_WEIGHT_ONE);
}

/* One of the flows, or the part of one that there is. */
static inline u32 tcon_weight_hit_one(u32 weight)
{
	return min_t(u32, weight, TCON_WEIGHT_ONE);
}

/* As many of the flows as there are lost segments. */
static inline u32 tcon_weight_hit_lost(const struct tcon_cc *cc,
				       const struct tcon_weight *w, u32 weight)
{
	u64 lost_bytes = cc->lost_bytes - w->lost_before_bytes;
	u64 segs = div_u64(lost_bytes + cc->mss_bytes - 1, cc->mss_bytes);

	segs = clamp_t(u64, segs, 1, TCON_WEIGHT_MAX / TCON_WEIGHT_ONE);
	return min_t(u32, weight, segs * TCON_WEIGHT_ONE);
}

/**
 * tcon_weight_left() - what a reduction leaves of the window
 * @w: whose @hit is set
 * @cwnd_bytes: the window
 * @beta: what it leaves of a flow that is hit, in thousandths
 * @weight: in thousandths
 *
 * A window has 30 bits, the rest 24.
 * Return: bytes.
 */
static inline u32 tcon_weight_left(const struct tcon_weight *w, u32 cwnd_bytes,
				   u32 beta, u32 weight)
{
	u32 all = 1000 * weight;

	return div_u64((u64)cwnd_bytes * (all - (1000 - beta) * w->hit), all);
}

/**
 * tcon_weight_more() - has this recovery hit more of the flows than were known?
 * @cc: the flow
 * @w: its weight; outside of a recovery what is lost counts from here on
 * @weight: in thousandths
 * @may_reduce: the last reduction can be made larger
 *
 * Return: whether the caller must reduce again by w->hit, from the window before.
 */
static inline bool tcon_weight_more(const struct tcon_cc *cc,
				    struct tcon_weight *w, u32 weight,
				    bool may_reduce)
{
	u32 hit;

	if (cc->ca_state == TCON_CA_OPEN)
		tcon_weight_open(cc, w);
	if (cc->ca_state != TCON_CA_RECOVERY || w->hit >= weight || !may_reduce)
		return false;
	hit = tcon_weight_hit_lost(cc, w, weight);
	if (hit <= w->hit)
		return false;
	w->hit = hit;
	return true;
}

#endif /* _TCON_WEIGHT_H */
