/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of Reno that other CCs share: slow start, additive increase, one
 * reduction per window of data, and its undo.
 *
 * Slow start and avoidance count bytes (RFC 3465).  As in Linux, an ACK for n
 * segments counts as n ACKs: RFC 3465's limit L on the growth per ACK is not used.
 * Windows fit 30 bits.  Sums are made in 64 bits.
 */
#ifndef _TCON_RENO_H
#define _TCON_RENO_H

#include <linux/kernel.h>
#include <linux/math64.h>
#include <tcon/cc.h>

#include "weight.h"

/* The part of the window after a reduction, in thousandths (RFC 5681, eq. 4). */
#define TCON_RENO_BETA	500

/**
 * struct tcon_reno - the last reduction, and growth since
 * @saved_cwnd_bytes: cwnd before the last reduction; 0: nothing to undo
 * @saved_ssthresh_bytes: ssthresh then
 * @reduced_until: nxt at the last reduction; for ECE nxt + 1
 * @acked_bytes: acknowledged since avoidance last added a segment
 * @timeout_una: una at the last time-out
 * @reduced: una has not reached @reduced_until
 * @reduced_by_ece: that reduction was for ECE
 */
struct tcon_reno {
	u32 saved_cwnd_bytes;
	u32 saved_ssthresh_bytes;
	u32 reduced_until;
	u32 acked_bytes;
	u32 timeout_una;
	bool reduced;
	bool reduced_by_ece;
};

static inline bool tcon_reno_before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

static inline bool tcon_reno_in_slow_start(const struct tcon_cc *cc)
{
	return cc->cwnd_bytes < cc->ssthresh_bytes;
}

static inline u32 tcon_reno_min_cwnd_bytes(const struct tcon_cc *cc)
{
	return TCON_MIN_CWND_SEGS * cc->mss_bytes;
}

/**
 * tcon_reno_slow_start() - grow by what was acknowledged, up to ssthresh
 * @cc: the flow
 * @acked_bytes: how much
 *
 * RFC 5681, 3.1.
 * Return: what is left for avoidance; all of it if cwnd is not below ssthresh.
 */
static inline u32 tcon_reno_slow_start(struct tcon_cc *cc, u32 acked_bytes)
{
	u32 limit = min(cc->ssthresh_bytes, TCON_CWND_MAX_BYTES);
	u32 grown;

	if (cc->cwnd_bytes >= limit)
		return acked_bytes;
	grown = min(acked_bytes, limit - cc->cwnd_bytes);
	cc->cwnd_bytes += grown;
	return acked_bytes - grown;
}

/**
 * tcon_reno_avoid() - grow by a segment for each cwnd of bytes acknowledged
 * @cc: the flow
 * @r: counts what was acknowledged
 * @acked_bytes: how much
 *
 * RFC 5681, 3.1; RFC 3465, 2.1.  Bytes that were counted while the window was larger give at
 * most one segment, as in Linux.
 */
static inline void tcon_reno_avoid(struct tcon_cc *cc, struct tcon_reno *r,
				   u64 acked_bytes)
{
	u64 acked = min(r->acked_bytes, cc->cwnd_bytes) + acked_bytes;
	u64 segs = div_u64_rem(acked, cc->cwnd_bytes, &r->acked_bytes);

	cc->cwnd_bytes = min_t(u64, cc->cwnd_bytes + segs * cc->mss_bytes,
			       TCON_CWND_MAX_BYTES);
}

/**
 * tcon_reno_grow() - slow start up to ssthresh, then avoidance with the rest
 * @cc: the flow
 * @r: counts what was acknowledged
 * @acked_bytes: how much
 */
static inline void tcon_reno_grow(struct tcon_cc *cc, struct tcon_reno *r,
				  u32 acked_bytes)
{
	tcon_reno_avoid(cc, r, tcon_reno_slow_start(cc, acked_bytes));
}

/**
 * tcon_reno_may_grow() - may this ACK raise cwnd?
 * @cc: the flow
 * @r: its last reduction
 * @rs: what the ACK told
 *
 * Not if cwnd did not limit the flow, and not until a reduction is over.
 * Return: whether it may.
 */
static inline bool tcon_reno_may_grow(const struct tcon_cc *cc,
				      const struct tcon_reno *r,
				      const struct tcon_rate_sample *rs)
{
	if (!rs->is_cwnd_limited || !rs->acked_bytes)
		return false;
	return cc->ca_state == TCON_CA_LOSS ||
	       (cc->ca_state == TCON_CA_OPEN && !r->reduced);
}

/* Is data that was in flight at the last reduction still in flight? */
static inline bool tcon_reno_is_reduced(const struct tcon_cc *cc,
					const struct tcon_reno *r)
{
	return r->reduced && tcon_reno_before(cc->una, r->reduced_until);
}

/**
 * tcon_reno_acked() - look whether an ACK has ended the last reduction
 * @cc: the flow
 * @r: the reduction
 *
 * Return: whether it has.
 */
static inline bool tcon_reno_acked(const struct tcon_cc *cc,
				   struct tcon_reno *r)
{
	if (!r->reduced || tcon_reno_is_reduced(cc, r))
		return false;
	r->reduced = false;
	return true;
}

/**
 * tcon_reno_reduce() - set a new ssthresh, and save what undo needs
 * @cc: the flow
 * @r: what is saved
 * @ssthresh_bytes: the new ssthresh
 * @by_ece: the reduction is for ECE, not for a loss
 *
 * The caller sets cwnd.  The ACK for all that was in flight still reports ECN marks from
 * before a reduction for ECE.  So that reduction lasts until more is acknowledged, as in
 * Linux.
 */
static inline void tcon_reno_reduce(struct tcon_cc *cc, struct tcon_reno *r,
				    u32 ssthresh_bytes, bool by_ece)
{
	r->saved_cwnd_bytes = cc->cwnd_bytes;
	r->saved_ssthresh_bytes = cc->ssthresh_bytes;
	r->reduced_until = cc->nxt + by_ece;
	r->acked_bytes = 0;
	r->reduced = true;
	r->reduced_by_ece = by_ece;
	cc->ssthresh_bytes = max(ssthresh_bytes, tcon_reno_min_cwnd_bytes(cc));
}

/* At a time-out: does it call for a reduction?  Not in a recovery, and not if una has not moved
 * since the last time-out (this is its back-off): ssthresh was lowered then for the same data.
 */
static inline bool tcon_reno_is_new_timeout(const struct tcon_cc *cc,
					    const struct tcon_reno *r)
{
	return cc->ca_state == TCON_CA_OPEN ||
	       (cc->ca_state == TCON_CA_LOSS &&
		tcon_reno_before(r->timeout_una, cc->una));
}

/**
 * tcon_reno_note_loss() - does a change of state call for a reduction for a loss?
 * @cc: the flow, still in the old state
 * @r: its last reduction
 * @state: the new state
 *
 * Not if ssthresh was already lowered for the same window of data, for a loss (RFC 5681, 3.1;
 * Linux's tcp_enter_loss()) or for ECE.
 * Return: whether it does.
 */
static inline bool tcon_reno_note_loss(const struct tcon_cc *cc,
				       struct tcon_reno *r,
				       enum tcon_ca_state state)
{
	bool fresh = state == TCON_CA_RECOVERY;

	if (state == TCON_CA_LOSS) {
		fresh = tcon_reno_is_new_timeout(cc, r);
		r->timeout_una = cc->una;
	}
	return fresh && !(r->reduced_by_ece && tcon_reno_is_reduced(cc, r));
}

/**
 * tcon_reno_note_ece() - does an ECE call for a reduction?
 * @cc: the flow
 * @r: its last reduction
 *
 * Once per window (RFC 3168, 6.1.2), and not if a loss has already called for one.  In that
 * case the ECE confirms the reduction: as in Linux it is not undone if the loss turns out
 * to be spurious.
 * Return: whether it does.
 */
static inline bool tcon_reno_note_ece(const struct tcon_cc *cc,
				      struct tcon_reno *r)
{
	if (cc->ca_state != TCON_CA_OPEN) {
		r->saved_cwnd_bytes = 0;
		return false;
	}
	return !tcon_reno_is_reduced(cc, r);
}

/**
 * tcon_reno_enter() - cwnd in a state for losses
 * @cc: the flow, whose ssthresh is set
 * @state: the new state
 *
 * RFC 5681, 3.1 and 3.2.
 */
static inline void tcon_reno_enter(struct tcon_cc *cc, enum tcon_ca_state state)
{
	if (state == TCON_CA_RECOVERY)
		cc->cwnd_bytes = cc->ssthresh_bytes;
	else if (state == TCON_CA_LOSS)
		cc->cwnd_bytes = tcon_reno_min_cwnd_bytes(cc);
}

/**
 * tcon_reno_on_state() - halve for a loss
 * @cc: the flow
 * @r: its last reduction
 * @state: the new state
 */
static inline void tcon_reno_on_state(struct tcon_cc *cc, struct tcon_reno *r,
				      enum tcon_ca_state state)
{
	if (tcon_reno_note_loss(cc, r, state))
		tcon_reno_reduce(cc, r, cc->cwnd_bytes / 2, false);
	tcon_reno_enter(cc, state);
}

/**
 * tcon_reno_beta_ecn() - what a reduction for ECE leaves of the window
 * @cc: the flow
 * @beta: what a reduction for a loss leaves, in thousandths
 * @beta_ecn: what a reduction for ECE leaves in congestion avoidance, in thousandths
 *
 * A queue that is marked is short, and is empty after a smaller reduction (RFC 8511).  In slow
 * start the window may be twice as large as it should be.  There ECE counts as a loss, as in
 * RFC 3168.
 *
 * Return: thousandths.
 */
static inline u32 tcon_reno_beta_ecn(const struct tcon_cc *cc, u32 beta,
				     u32 beta_ecn)
{
	return tcon_reno_in_slow_start(cc) ? beta : max(beta, beta_ecn);
}

/**
 * tcon_reno_ece() - halve for ECE
 * @cc: the flow
 * @r: its last reduction
 *
 * RFC 3168, 6.1.2.
 */
static inline void tcon_reno_ece(struct tcon_cc *cc, struct tcon_reno *r)
{
	if (!tcon_reno_note_ece(cc, r))
		return;
	tcon_reno_reduce(cc, r, cc->cwnd_bytes / 2, true);
	cc->cwnd_bytes = cc->ssthresh_bytes;
}

/**
 * tcon_reno_weighted_grow() - slow start up to ssthresh, then avoidance by the weight
 * @cc: the flow
 * @r: counts what was acknowledged
 * @acked_bytes: how much
 * @weight: in thousandths, as below
 */
static inline void tcon_reno_weighted_grow(struct tcon_cc *cc,
					   struct tcon_reno *r, u32 acked_bytes,
					   u32 weight)
{
	acked_bytes = tcon_reno_slow_start(cc, acked_bytes);
	tcon_reno_avoid(cc, r, tcon_weight_acked(acked_bytes, weight));
}

/**
 * tcon_reno_weighted_state() - as tcon_reno_on_state(), by the weight
 * @cc: the flow
 * @r: its last reduction
 * @w: which flows that hit
 * @weight: the weight
 * @state: the new state
 *
 * A time-out hits all.
 */
static inline void tcon_reno_weighted_state(struct tcon_cc *cc,
					    struct tcon_reno *r,
					    struct tcon_weight *w, u32 weight,
					    enum tcon_ca_state state)
{
	if (state == TCON_CA_OPEN)
		tcon_weight_open(cc, w);
	if (tcon_reno_note_loss(cc, r, state)) {
		w->hit = state == TCON_CA_LOSS ?
				 weight : tcon_weight_hit_lost(cc, w, weight);
		tcon_reno_reduce(cc, r,
				 tcon_weight_left(w, cc->cwnd_bytes,
						  TCON_RENO_BETA, weight),
				 false);
	}
	tcon_reno_enter(cc, state);
}

/* Can the last reduction be made larger?  Not after ECE, nor once it has been undone. */
static inline bool tcon_reno_may_reduce_more(const struct tcon_reno *r)
{
	return r->saved_cwnd_bytes && !r->reduced_by_ece;
}

/**
 * tcon_reno_weighted_acked() - after an ACK: reduce for further losses
 * @cc: the flow
 * @r: its last reduction
 * @w: which flows that hit
 * @weight: the weight
 */
static inline void tcon_reno_weighted_acked(struct tcon_cc *cc,
					    const struct tcon_reno *r,
					    struct tcon_weight *w, u32 weight)
{
	u32 left;

	if (!tcon_weight_more(cc, w, weight, tcon_reno_may_reduce_more(r)))
		return;
	left = tcon_weight_left(w, r->saved_cwnd_bytes, TCON_RENO_BETA, weight);
	cc->ssthresh_bytes = max(left, tcon_reno_min_cwnd_bytes(cc));
	cc->cwnd_bytes = min(cc->cwnd_bytes, cc->ssthresh_bytes);
}

/**
 * tcon_reno_weighted_ece() - as tcon_reno_ece(), by the weight
 * @cc: the flow
 * @r: its last reduction
 * @w: which flows that hit
 * @weight: the weight
 * @beta_ecn: what it leaves of a flow in congestion avoidance, in thousandths
 *
 * ECE does not tell how many packets were marked.  An AQM marks few: one of the flows is hit.
 */
static inline void tcon_reno_weighted_ece(struct tcon_cc *cc,
					  struct tcon_reno *r,
					  struct tcon_weight *w, u32 weight,
					  u32 beta_ecn)
{
	u32 beta = tcon_reno_beta_ecn(cc, TCON_RENO_BETA, beta_ecn);

	if (!tcon_reno_note_ece(cc, r))
		return;
	w->hit = tcon_weight_hit_one(weight);
	tcon_reno_reduce(cc, r, tcon_weight_left(w, cc->cwnd_bytes, beta, weight),
			 true);
	cc->cwnd_bytes = cc->ssthresh_bytes;
}

/**
 * tcon_reno_undo() - the last reduction was spurious
 * @cc: the flow
 * @r: the reduction
 *
 * A reduction for ECE is not undone.  A spurious loss in the same window of data did not
 * change ssthresh.
 *
 * Return: whether there was a reduction to undo.
 */
static inline bool tcon_reno_undo(struct tcon_cc *cc, struct tcon_reno *r)
{
	if (r->reduced_by_ece)
		cc->cwnd_bytes = max(cc->cwnd_bytes, cc->ssthresh_bytes);
	if (!r->saved_cwnd_bytes || r->reduced_by_ece)
		return false;
	cc->cwnd_bytes = max(cc->cwnd_bytes, r->saved_cwnd_bytes);
	cc->ssthresh_bytes = max(cc->ssthresh_bytes, r->saved_ssthresh_bytes);
	r->saved_cwnd_bytes = 0;
	r->reduced = false;
	return true;
}

/**
 * tcon_reno_mode_name() - the phase of the flow, for users
 * @cc: the flow
 * @r: its last reduction
 *
 * Return: a word.
 */
static inline const char *tcon_reno_mode_name(const struct tcon_cc *cc,
					      const struct tcon_reno *r)
{
	if (cc->ca_state == TCON_CA_RECOVERY || r->reduced)
		return "REDUCED";
	return tcon_reno_in_slow_start(cc) ? "SLOW_START" : "AVOIDANCE";
}

#endif /* _TCON_RENO_H */
