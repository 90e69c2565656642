/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CUBIC: as in Linux, or as in RFC 9438; and what a thesis made of it (lincubic.c,
 * accucubic.c).
 *
 * The model.  After a reduction at a window of W_max the path probably still holds
 * about W_max.  So the window returns to W_max fast, stays near it long, and only then
 * looks for more.  As a function of the time t since congestion avoidance began,
 *
 *	W_cubic(t) = C (t - K)^3 + W_max,	K = cbrt((W_max - W(0)) / C)
 *
 * in segments and seconds.  It is concave before K and convex after it, and does not
 * depend on the RTT.  Where a Reno flow with the same average would be faster (short
 * RTTs, small windows), cwnd follows an estimate of that flow's window, W_est, instead.
 *
 * The states.
 *
 *	slow start ---- HyStart, or cwnd = ssthresh ---> avoidance
 *	   ^                                              |    ^
 *	   | time-out, cwnd = 2 MSS             loss, ECE |    | una passes what
 *	   |                                              v    | was in flight
 *	   +------------------------------------------- reduced
 *
 * A reduction multiplies the window by beta.  For ECN marks in avoidance it multiplies by
 * beta_ecn if that is more, since a queue that is marked is short (RFC 8511).  By default it
 * is not, as in native stacks.  If the window did not reach
 * the last W_max, W_max is lowered further, to leave room to newer flows (fast
 * convergence).
 *
 * HyStart ends slow start before the queue overflows.  It does so in two cases.  One:
 * ACKs have followed each other closely for half the minimum RTT of a round, so the train
 * of data fills the pipe.  Two: the smallest RTT of a round's first samples has risen by
 * an eighth, so there is a standing queue.
 *
 * Linux (6.1) still has RFC 8312.  It is slower than RFC 9438 where losses are random
 * or RTTs are short: by up to a fifth, at 1 ms by more
 * (tools/campaigns/cubic-on-others.md).  A guest under TCon shares its path with guests
 * that run Linux's CUBIC.  So that is the default; "rfc9438" selects the other.
 *
 *			RFC 9438		Linux
 *	W_est grows	as fast as Reno from	by 8/15 of that for
 *			the window before the	ever, by whole segments
 *			last reduction on (4.3)
 *	the window	is where W_cubic or	grows by whole segments,
 *	between losses	W_est is, with each	at a pace that is chosen
 *			ACK			again when it has grown or
 *						after 8 jiffies, and for
 *						W_cubic once in each: here
 *						a jiffy has 4 ms
 *	W_cubic		is exact		differs from W_max by whole
 *						segments, rounded down, as
 *						reductions are
 *	its target	lies one smoothed	lies one smallest RTT
 *			RTT later (4.2)		later
 *	undo		of all that a reduction	of the window and
 *			did (4.9)		ssthresh
 *
 * A weight N makes it act as N flows (weight.h).  Their W_est grows N times as fast, and of
 * a reduction they lose what the k flows lose that are hit.  The curve has C N^3 / k^2 for C.
 * With that the sum is back at W_max when the next reduction is due: the k flows lose
 * k (1 - beta) w, w being the window of one; one flow is hit every T = cbrt((1 - beta) w / C),
 * k of N every T k/N.
 *
 * Differences that a hypervisor makes:
 * - Everything is in bytes.  C is in segments per second cubed, so the cubic term is
 *   scaled by the MSS.  RFC 9438's growth per ACK is exact: remainders are kept.
 * - For fast convergence a window is below W_max only if it is so by a segment or more.
 *   Counted in bytes, one of two losses at the same window would usually be below.
 * - The window grows only while it limits the flow.  So a reduction can start from
 *   cwnd, not from FlightSize (RFC 9438, 4.6, allows it, Linux does it).  A
 *   request-response flow that loses one of three segments then does not fall to a
 *   window of two.
 * - When a recovery begins, cwnd falls to ssthresh at once.  It stays there until what
 *   was in flight is acknowledged: it is the window for after the recovery.
 * - Time in which the window did not limit the flow does not count (RFC 9438, 5.8).  The
 *   epoch is shifted by it, both when idle and on ACKs that were not window-limited.
 * - The smallest window is two segments (%TCON_MIN_CWND_SEGS).  After a time-out only one is
 *   used at first (datapath/sender/prr.c), which is RFC 5681's loss window.
 *
 * Private quantities are in bytes and microseconds; Linux's pace is in segments
 * and jiffies.  A window fits 30 bits, so the product of a window and an ACK's bytes fits
 * 64.
 */
#ifndef _TCON_CUBIC_H
#define _TCON_CUBIC_H

#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/time64.h>
#include <tcon/cc.h>

#include "reno.h"

/* HyStart, Linux's values (tcp_cubic of 6.1). */
#define HYSTART_MIN_CWND_SEGS	16	/* below it, slow start is harmless */
#define HYSTART_TRAIN_GAP_US	2000	/* ACKs closer than this are one train */
#define HYSTART_SAMPLES		8	/* of a round, before its RTT counts */
#define HYSTART_RISE_MIN_US	4000	/* bounds of the eighth of the RTT */
#define HYSTART_RISE_MAX_US	16000
#define HYSTART_BURST_BYTES	(4 * 65536)	/* four super-packets' time */
#define HYSTART_BURST_MAX_US	1000		/* is added to the train, up to 1 ms */

/* For a second after a reduction the RTT still contains the old queue (Linux). */
#define HYSTART_QUIET_US	USEC_PER_SEC

/* Without a W_max, W_cubic starts flat.  Linux then grows by 1/20 per RTT. */
#define BLIND_GROWTH_DIV	20U

/* Beyond 2^31 us from the plateau the cubic term exceeds every window. */
#define OFFSET_MAX_US		BIT_ULL(31)

/* Linux's pace of growth: how many segments are acknowledged for each segment of growth. */
#define JIFFY_US		4000U	/* of a kernel with HZ=250 */
#define LOOK_JIFFIES		7U	/* HZ / 32 */
#define PACE_MIN_SEGS		2U
#define PACE_STILL_WINDOWS	100U	/* at the target already */

/* CUBIC_LINEAR: so close to W_max growth is linear (Belhareth's thesis, 5.6) */
#define LINEAR_SEGS		2

enum {
	PARAM_BETA,
	PARAM_C,
	PARAM_FAST_CONVERGENCE,
	PARAM_TCP_FRIENDLINESS,
	PARAM_HYSTART,
	PARAM_BETA_ECN,
	PARAM_WEIGHT,
	PARAM_RFC9438,	/* of cubic.c only, so it is the last */
};

static const struct tcon_cc_param cubic_params[] = {
	/* RFC 9438, 4.6: 0.7; Linux has 717/1024 */
	[PARAM_BETA] = { "beta", TCON_PARAM_MILLI, 700, 100, 950, "",
			 "what a reduction leaves of the window" },
	/* RFC 9438, 5: 0.4 */
	[PARAM_C] = { "c", TCON_PARAM_MILLI, 400, 10, 10000, "segments/s^3",
		      "how fast the window moves away from its last maximum" },
	/* RFC 9438, 4.7 */
	[PARAM_FAST_CONVERGENCE] = { "fast_convergence", TCON_PARAM_BOOL, 1, 0,
				     1, "", "give way to newer flows" },
	/* RFC 9438, 4.3 */
	[PARAM_TCP_FRIENDLINESS] = { "tcp_friendliness", TCON_PARAM_BOOL, 1, 0,
				     1, "", "never be slower than Reno" },
	[PARAM_HYSTART] = { "hystart", TCON_PARAM_BOOL, 1, 0, 1, "",
			    "end slow start before the queue overflows" },
	/* RFC 9438, 4.6, and Linux: as for a loss; RFC 8511, 3.1: 0.85 */
	[PARAM_BETA_ECN] = { "beta_ecn", TCON_PARAM_MILLI, 100, 100, 950, "",
			     "what ECN marks leave of the window, if more than beta" },
	[PARAM_WEIGHT] = TCON_WEIGHT_PARAM,
	[PARAM_RFC9438] = { "rfc9438", TCON_PARAM_BOOL, 0, 0, 1, "",
			    "grow as RFC 9438 has it, else as Linux" },
};

/**
 * enum cubic_way - how the window follows the curve between losses
 * @CUBIC_OF_RULE: as in Linux, by whole segments at a pace that is chosen from time to time; or
 *	as in RFC 9438, towards where the curve is in an RTT
 * @CUBIC_LINEAR: as Linux, but near W_max by a segment per round trip
 * @CUBIC_EXACT: it is where the curve is, at each ACK
 */
enum cubic_way {
	CUBIC_OF_RULE,
	CUBIC_LINEAR,
	CUBIC_EXACT,
};

/**
 * struct cubic_curve - where the flow is on W_cubic
 * @epoch_us: when congestion avoidance began; 0: not begun
 * @k_us: K
 * @w_max_bytes: window before the last reduction, after fast convergence; 0:
 *	unknown
 * @origin_bytes: window at the plateau, the larger of W_max and W(0)
 * @w_est_bytes: window of a Reno flow
 * @cwnd_prior_bytes: window before the last reduction; from there on W_est
 *	grows as fast as Reno
 */
struct cubic_curve {
	u64 epoch_us;
	u64 k_us;
	u32 w_max_bytes;
	u32 origin_bytes;
	u32 w_est_bytes;
	u32 cwnd_prior_bytes;
};

/**
 * struct cubic - private area
 * @last_ack_us: time of the last ACK
 * @min_rtt_us: smallest RTT since the last time-out; 0: none yet
 * @round_end: nxt then
 * @reno: the last reduction
 * @weight: how many of the flows in this one it hit
 * @round_min_rtt_us: smallest RTT of the round
 * @round_samples: RTT samples of the round, up to %HYSTART_SAMPLES
 * @hystart_done: HyStart has ended this slow start
 * @on_plateau: %CUBIC_LINEAR: the window is near W_max
 * @way: enum cubic_way
 * @curve: the present curve
 * @cwnd_rest: RFC 9438: growth of cwnd that was too small for a byte, times
 *	cwnd; Linux: bytes acknowledged since cwnd grew
 * @est_rest: RFC 9438: growth of W_est that was too small for a byte, times cwnd and
 *	(1 + beta) in thousandths; Linux: bytes acknowledged since W_est grew
 * @looked_jiffy: Linux: when the pace was chosen
 * @looked_segs: Linux: cwnd then; 0: not in this epoch
 * @pace_segs: Linux: the pace
 * @round_start_us: when HyStart's round began
 * @train_us: last ACK of the train
 * @saved_curve: the one before the last reduction
 */
struct cubic {
	/* For each ACK. */
	u64 last_ack_us;
	u32 min_rtt_us;
	u32 round_end;
	struct tcon_reno reno;
	struct tcon_weight weight;
	u32 round_min_rtt_us;
	u8 round_samples;
	bool hystart_done;
	bool on_plateau;
	u8 way;
	struct cubic_curve curve;
	u64 cwnd_rest;
	u64 est_rest;
	u64 looked_jiffy;
	u32 looked_segs;
	u32 pace_segs;

	/* For slow start, and for losses. */
	u64 round_start_us;
	u64 train_us;
	struct cubic_curve saved_curve;
};

/* Largest r with r^3 <= x, bit by bit from the top: 22 steps. */
static u32 cubic_root(u64 x)
{
	u64 r = 0, next;
	int bit;

	for (bit = 21; bit >= 0; bit--) {
		next = r | 1ULL << bit;
		if (next * next <= div64_u64(x, next))
			r = next;
	}
	return r;
}

/*
 * K = cbrt(gap / C) of a gap in bytes, in microseconds.  The quotient is
 * scaled by as many bits as fit (by a multiple of three), so the error is below
 * a thousandth of K or 0.1 ms.
 */
static u64 cubic_k_us(u32 gap_bytes, u32 c_milli, u32 mss_bytes)
{
	u64 num = (u64)gap_bytes * 1000;
	unsigned int thirds = 0;

	while (thirds < 20 && num << 3 >> 3 == num) {
		num <<= 3;
		thirds++;
	}
	num = div64_u64(num, (u64)c_milli * mss_bytes);
	return (u64)cubic_root(num) * USEC_PER_SEC >> thirds;
}

/* C offset^3 in bytes, at most %TCON_CWND_MAX_BYTES. */
static u32 cubic_term_bytes(u64 offset_us, u32 c_milli, u32 mss_bytes)
{
	u64 scale = (u64)c_milli * mss_bytes;	/* below 2^46 */
	u64 cube;

	if (offset_us >= OFFSET_MAX_US)
		return TCON_CWND_MAX_BYTES;
	/* in 10^-6 s^3, which is less than a byte's worth */
	cube = mul_u64_u32_div(div_u64(offset_us * offset_us, 1000), offset_us,
			       1000000000);
	if (cube > div64_u64(U64_MAX, scale))
		return TCON_CWND_MAX_BYTES;
	return min_t(u64, div64_u64(cube * scale, 1000000000ULL),
		     TCON_CWND_MAX_BYTES);
}

static bool is_rfc9438(const struct tcon_cc *cc)
{
	const struct cubic *ca = tcon_cc_priv(cc);

	return ca->way == CUBIC_OF_RULE && cc->params[PARAM_RFC9438];
}

/* As in Linux: W_cubic differs from W_max by whole segments, and the window grows by them. */
static bool by_segments(const struct tcon_cc *cc)
{
	const struct cubic *ca = tcon_cc_priv(cc);

	return ca->way != CUBIC_EXACT && !is_rfc9438(cc);
}

/* C N^3 / k^2 where the last reduction hit k of N flows, in thousandths; at most 2^26. */
static u32 weighted_c(const struct tcon_cc *cc)
{
	const struct cubic *ca = tcon_cc_priv(cc);
	u64 weight = cc->params[PARAM_WEIGHT], hit = ca->weight.hit;
	u32 c = cc->params[PARAM_C];

	if (likely(weight == TCON_WEIGHT_ONE))
		return c;
	return max_t(u64, 1, div64_u64(c * weight * weight * weight,
				       hit * hit * TCON_WEIGHT_ONE));
}

/* W_cubic at @t_us after the epoch began. */
static u32 w_cubic_bytes(const struct tcon_cc *cc, u64 t_us)
{
	const struct cubic *ca = tcon_cc_priv(cc);
	const struct cubic_curve *curve = &ca->curve;
	bool concave = t_us < curve->k_us;
	u32 term;

	term = cubic_term_bytes(concave ? curve->k_us - t_us :
					  t_us - curve->k_us,
				weighted_c(cc), cc->mss_bytes);
	if (by_segments(cc))
		term -= term % cc->mss_bytes;
	if (concave)
		return curve->origin_bytes - min(term, curve->origin_bytes);
	return min(curve->origin_bytes + term, TCON_CWND_MAX_BYTES);
}

static void start_epoch(struct tcon_cc *cc, u64 now_us)
{
	struct cubic *ca = tcon_cc_priv(cc);
	struct cubic_curve *curve = &ca->curve;
	u32 cwnd = cc->cwnd_bytes;

	curve->epoch_us = now_us;
	curve->origin_bytes = max(cwnd, curve->w_max_bytes);
	curve->k_us = cubic_k_us(curve->origin_bytes - cwnd, weighted_c(cc),
				 cc->mss_bytes);
	curve->w_est_bytes = cwnd;
	if (!curve->cwnd_prior_bytes)	/* RFC 9438, 4.10 */
		curve->cwnd_prior_bytes = cwnd;
	ca->cwnd_rest = 0;
	ca->est_rest = 0;
	ca->looked_segs = 0;
	ca->on_plateau = false;
}

/*
 * RFC 9438, 4.3: W_est grows by alpha MSS per window.  alpha is
 * 3 (1 - beta) / (1 + beta), which gives the average window of a Reno flow.  Once W_est has
 * reached the window before the last reduction, alpha is 1.  (Not so in RFC 8312, 4.2.)
 */
static void grow_w_est(struct tcon_cc *cc, u32 acked_bytes)
{
	struct cubic *ca = tcon_cc_priv(cc);
	struct cubic_curve *curve = &ca->curve;
	u32 beta = cc->params[PARAM_BETA];
	u64 per_window = (u64)cc->cwnd_bytes * (1000 + beta);
	u64 acked = tcon_weight_acked(acked_bytes, cc->params[PARAM_WEIGHT]);
	u32 alpha = 3 * (1000 - beta);	/* over 1000 + beta */

	if (curve->w_est_bytes >= curve->cwnd_prior_bytes)
		alpha = 1000 + beta;
	ca->est_rest += acked * cc->mss_bytes * alpha;
	curve->w_est_bytes = min_t(u64, TCON_CWND_MAX_BYTES,
				   curve->w_est_bytes +
				   div64_u64(ca->est_rest, per_window));
	div64_u64_rem(ca->est_rest, per_window, &ca->est_rest);
}

/* Where W_cubic wants cwnd to be in one RTT (RFC 9438, 4.2). */
static u32 target_bytes(const struct tcon_cc *cc, u64 t_us)
{
	const struct cubic *ca = tcon_cc_priv(cc);
	u32 cwnd = cc->cwnd_bytes;
	u32 target = w_cubic_bytes(cc, t_us + cc->srtt_us);

	if (!ca->curve.w_max_bytes)
		target = max(target, cwnd + cwnd / BLIND_GROWTH_DIV);
	return clamp(target, cwnd, cwnd + cwnd / 2);
}

/* RFC 9438, 4.2 to 4.5: each ACK moves cwnd towards W_cubic, or to W_est. */
static void follow_curve(struct tcon_cc *cc, u32 acked_bytes, u64 t_us)
{
	struct cubic *ca = tcon_cc_priv(cc);
	u32 cwnd = cc->cwnd_bytes;
	u64 grown;

	ca->cwnd_rest += (u64)acked_bytes * (target_bytes(cc, t_us) - cwnd);
	grown = cwnd + div_u64(ca->cwnd_rest, cwnd);
	div64_u64_rem(ca->cwnd_rest, cwnd, &ca->cwnd_rest);

	if (cc->params[PARAM_TCP_FRIENDLINESS] &&
	    w_cubic_bytes(cc, t_us) < ca->curve.w_est_bytes)
		grown = max_t(u64, grown, ca->curve.w_est_bytes);
	cc->cwnd_bytes = min_t(u64, grown, TCON_CWND_MAX_BYTES);
}

/* How many segments must be acknowledged for one of growth, so that cwnd is at @aim
 * after a window?
 */
static u32 pace_to(const struct tcon_cc *cc, u32 aim_bytes)
{
	u32 cwnd = cc->cwnd_bytes, segs = cwnd / cc->mss_bytes, gap_segs = 0;

	if (aim_bytes > cwnd)
		gap_segs = (aim_bytes - cwnd) / cc->mss_bytes;
	return gap_segs ? segs / gap_segs : PACE_STILL_WINDOWS * segs;
}

/* %CUBIC_LINEAR: is the window near W_max? */
static bool near_w_max(const struct tcon_cc *cc)
{
	const struct cubic *ca = tcon_cc_priv(cc);
	u32 cwnd = cc->cwnd_bytes, w_max = ca->curve.w_max_bytes;

	return w_max && max(cwnd, w_max) - min(cwnd, w_max) <=
			LINEAR_SEGS * cc->mss_bytes;
}

/* %CUBIC_LINEAR: the window has grown out of the plateau.  From here it follows the curve again,
 * which has another time at this window.
 */
static void leave_plateau(struct tcon_cc *cc, u64 now_us)
{
	struct cubic *ca = tcon_cc_priv(cc);
	struct cubic_curve *curve = &ca->curve;
	u32 above = cc->cwnd_bytes - min(cc->cwnd_bytes, curve->origin_bytes);

	ca->on_plateau = false;
	curve->epoch_us = now_us - curve->k_us -
			  cubic_k_us(above, weighted_c(cc), cc->mss_bytes);
}

/* The pace that leads to where W_cubic is in an RTT; near W_max of %CUBIC_LINEAR a window's. */
static u32 cubic_pace(struct tcon_cc *cc, u64 now_us)
{
	struct cubic *ca = tcon_cc_priv(cc);
	u64 t_us;
	u32 pace;

	if (ca->way == CUBIC_LINEAR && near_w_max(cc)) {
		ca->on_plateau = true;
		return cc->cwnd_bytes / cc->mss_bytes;
	}
	if (ca->on_plateau)
		leave_plateau(cc, now_us);
	t_us = now_us - ca->curve.epoch_us;
	pace = pace_to(cc, w_cubic_bytes(cc, t_us + ca->min_rtt_us));
	return ca->curve.w_max_bytes ? pace : min(pace, BLIND_GROWTH_DIV);
}

/* Linux's W_est: a segment for each 8/3 (1 + beta) / (1 - beta) eighths of cwnd that
 * are acknowledged, all in whole numbers.
 */
static void grow_w_est_segs(struct tcon_cc *cc)
{
	struct cubic *ca = tcon_cc_priv(cc);
	u32 beta = cc->params[PARAM_BETA], segs = cc->cwnd_bytes / cc->mss_bytes;
	u64 eighths = 8 * (1000 + beta) / 3 / (1000 - beta);
	u64 step = max(segs * eighths / 8, 1ULL) * cc->mss_bytes, more;

	if (ca->est_rest <= step)
		return;
	more = div64_u64(ca->est_rest - 1, step);
	ca->est_rest -= more * step;
	ca->curve.w_est_bytes = min_t(u64, TCON_CWND_MAX_BYTES,
				      ca->curve.w_est_bytes +
				      more * cc->mss_bytes);
}

/* Linux chooses the pace when cwnd has changed or after 8 jiffies.  Its clock counts jiffies, so
 * W_cubic counts at most once in each; W_est always.
 */
static void choose_pace(struct tcon_cc *cc, u64 now_us)
{
	struct cubic *ca = tcon_cc_priv(cc);
	u64 jiffy = div_u64(now_us, JIFFY_US);
	u32 segs = cc->cwnd_bytes / cc->mss_bytes;

	if (segs == ca->looked_segs && jiffy - ca->looked_jiffy <= LOOK_JIFFIES)
		return;
	if (!ca->looked_segs || jiffy != ca->looked_jiffy) {
		ca->pace_segs = cubic_pace(cc, now_us);
		ca->looked_segs = segs;
		ca->looked_jiffy = jiffy;
	}
	grow_w_est_segs(cc);
	if (cc->params[PARAM_TCP_FRIENDLINESS])
		ca->pace_segs = min(ca->pace_segs,
				    pace_to(cc, ca->curve.w_est_bytes));
	ca->pace_segs = max(ca->pace_segs, PACE_MIN_SEGS);
}

static void grow_segs(struct tcon_cc *cc, u64 segs)
{
	cc->cwnd_bytes = min_t(u64, cc->cwnd_bytes + segs * cc->mss_bytes,
			       TCON_CWND_MAX_BYTES);
}

/*
 * Linux: cwnd grows by whole segments, at a pace that is renewed from time to time.  Bytes
 * that were counted at a slower pace give at most one segment.
 */
static void keep_pace(struct tcon_cc *cc, u32 acked_bytes, u64 now_us)
{
	struct cubic *ca = tcon_cc_priv(cc);
	u64 pace_bytes;

	ca->est_rest += tcon_weight_acked(acked_bytes,
					  cc->params[PARAM_WEIGHT]);
	choose_pace(cc, now_us);
	pace_bytes = (u64)ca->pace_segs * cc->mss_bytes;
	if (ca->cwnd_rest >= pace_bytes) {
		ca->cwnd_rest = 0;
		grow_segs(cc, 1);
	}
	ca->cwnd_rest += acked_bytes;
	grow_segs(cc, div64_u64_rem(ca->cwnd_rest, pace_bytes, &ca->cwnd_rest));
}

/* %CUBIC_EXACT: cwnd is W_cubic, or W_est of Linux.  It grows no faster than in slow start. */
static void track_curve(struct tcon_cc *cc, u32 acked_bytes, u64 t_us)
{
	struct cubic *ca = tcon_cc_priv(cc);
	u32 target = w_cubic_bytes(cc, t_us), cwnd = cc->cwnd_bytes;
	u32 most = min_t(u64, (u64)cwnd + acked_bytes, TCON_CWND_MAX_BYTES);

	ca->est_rest += tcon_weight_acked(acked_bytes,
					  cc->params[PARAM_WEIGHT]);
	grow_w_est_segs(cc);
	if (cc->params[PARAM_TCP_FRIENDLINESS])
		target = max(target, ca->curve.w_est_bytes);
	cc->cwnd_bytes = clamp(target, cwnd, most);
}

static void avoid_congestion(struct tcon_cc *cc, u32 acked_bytes, u64 now_us)
{
	struct cubic *ca = tcon_cc_priv(cc);

	if (!ca->curve.epoch_us)
		start_epoch(cc, now_us);
	if (is_rfc9438(cc)) {
		grow_w_est(cc, acked_bytes);
		follow_curve(cc, acked_bytes, now_us - ca->curve.epoch_us);
	} else if (ca->way == CUBIC_EXACT) {
		track_curve(cc, acked_bytes, now_us - ca->curve.epoch_us);
	} else {
		keep_pace(cc, acked_bytes, now_us);
	}
}

static void hystart_new_round(const struct tcon_cc *cc, u64 now_us)
{
	struct cubic *ca = tcon_cc_priv(cc);

	ca->round_start_us = now_us;
	ca->train_us = now_us;
	ca->round_end = cc->nxt;
	ca->round_min_rtt_us = U32_MAX;
	ca->round_samples = 0;
}

/*
 * The train of ACKs has lasted for half the RTT.  Half, because TCon does not pace
 * CUBIC: a window that is sent in bursts and fills the pipe comes back in half a round.
 * As Linux, this adds to the RTT the time that bursts of offloads may take at the rate
 * of slow start, two windows per RTT.
 */
static bool hystart_train(const struct tcon_cc *cc, u64 now_us)
{
	struct cubic *ca = tcon_cc_priv(cc);
	u64 burst_us;

	if (now_us - ca->train_us > HYSTART_TRAIN_GAP_US)
		return false;
	ca->train_us = now_us;
	burst_us = div_u64((u64)HYSTART_BURST_BYTES * cc->srtt_us,
			   2 * cc->cwnd_bytes);
	burst_us = min_t(u64, burst_us, HYSTART_BURST_MAX_US);
	return now_us - ca->round_start_us > (ca->min_rtt_us + burst_us) / 2;
}

/* The round's first RTT samples are all above the minimum by an eighth of it. */
static bool hystart_delay(const struct tcon_cc *cc, u32 rtt_us)
{
	struct cubic *ca = tcon_cc_priv(cc);
	u32 rise_us = clamp_t(u32, ca->min_rtt_us / 8, HYSTART_RISE_MIN_US,
			      HYSTART_RISE_MAX_US);

	ca->round_min_rtt_us = min(ca->round_min_rtt_us, rtt_us);
	if (ca->round_samples < HYSTART_SAMPLES) {
		ca->round_samples++;
		return false;
	}
	return ca->round_min_rtt_us > (u64)ca->min_rtt_us + rise_us;
}

static void hystart(struct tcon_cc *cc, u32 rtt_us, u64 now_us)
{
	struct cubic *ca = tcon_cc_priv(cc);
	bool train, delay;

	if (tcon_reno_before(ca->round_end, cc->una))
		hystart_new_round(cc, now_us);
	if (cc->cwnd_bytes < HYSTART_MIN_CWND_SEGS * cc->mss_bytes)
		return;
	train = hystart_train(cc, now_us);
	delay = hystart_delay(cc, rtt_us);
	if (train || delay) {
		ca->hystart_done = true;
		cc->ssthresh_bytes = cc->cwnd_bytes;
	}
}

static void take_rtt(struct tcon_cc *cc, const struct tcon_rate_sample *rs)
{
	struct cubic *ca = tcon_cc_priv(cc);
	u64 epoch_us = ca->curve.epoch_us;
	u32 rtt_us;

	if (rs->rtt_us < 0)
		return;
	if (epoch_us && rs->now_us - epoch_us < HYSTART_QUIET_US)
		return;
	rtt_us = clamp_t(s64, rs->rtt_us, 1, TCON_RTT_NONE_US - 1);
	if (!ca->min_rtt_us || rtt_us < ca->min_rtt_us)
		ca->min_rtt_us = rtt_us;
	if (cc->params[PARAM_HYSTART] && !ca->hystart_done &&
	    tcon_reno_in_slow_start(cc))
		hystart(cc, rtt_us, rs->now_us);
}

/* The time since the last ACK does not count (RFC 9438, 5.8). */
static void shift_epoch(struct tcon_cc *cc, u64 now_us)
{
	struct cubic *ca = tcon_cc_priv(cc);

	if (ca->curve.epoch_us)
		ca->curve.epoch_us += now_us - ca->last_ack_us;
	ca->last_ack_us = now_us;
}

/* Linux's windows are whole segments.  So W_cubic is back at W_max when less than a segment is
 * missing.
 */
static u32 rounded_bytes(const struct tcon_cc *cc, u32 bytes)
{
	return is_rfc9438(cc) ? bytes : bytes - bytes % cc->mss_bytes;
}

/* RFC 9438, 4.6 and 4.7, RFC 8511, 3.1: a new ssthresh, and the curve back to where it was.  By
 * fast convergence W_max falls by half as much as the window.
 */
static void reduce(struct tcon_cc *cc, bool by_ece)
{
	struct cubic *ca = tcon_cc_priv(cc);
	u32 cwnd = rounded_bytes(cc, cc->cwnd_bytes);
	u32 beta = cc->params[PARAM_BETA], w_max = cwnd, left;
	u32 weight = cc->params[PARAM_WEIGHT];

	if (by_ece)
		beta = tcon_reno_beta_ecn(cc, beta, cc->params[PARAM_BETA_ECN]);
	ca->saved_curve = ca->curve;
	left = tcon_weight_left(&ca->weight, cwnd, beta, weight);
	tcon_reno_reduce(cc, &ca->reno, rounded_bytes(cc, left), by_ece);
	if (cc->params[PARAM_FAST_CONVERGENCE] &&
	    (u64)cwnd + cc->mss_bytes <= ca->curve.w_max_bytes)
		w_max = rounded_bytes(cc, (cwnd + left) / 2);
	ca->curve.w_max_bytes = w_max;
	ca->curve.cwnd_prior_bytes = cwnd;
	ca->curve.epoch_us = 0;
}

/* This recovery hits more of the N flows than we knew: reduce again from where it began. */
static void reduce_more(struct tcon_cc *cc)
{
	struct cubic *ca = tcon_cc_priv(cc);
	u32 until = ca->reno.reduced_until;

	if (!tcon_weight_more(cc, &ca->weight, cc->params[PARAM_WEIGHT],
			      tcon_reno_may_reduce_more(&ca->reno)))
		return;
	cc->cwnd_bytes = ca->reno.saved_cwnd_bytes;
	cc->ssthresh_bytes = ca->reno.saved_ssthresh_bytes;
	ca->curve = ca->saved_curve;
	reduce(cc, false);
	ca->reno.reduced_until = until;
	cc->cwnd_bytes = cc->ssthresh_bytes;
}

static void tcon_cubic_cong_control(struct tcon_cc *cc,
				    const struct tcon_rate_sample *rs)
{
	struct cubic *ca = tcon_cc_priv(cc);
	u32 acked_bytes = rs->acked_sacked_bytes;

	tcon_reno_acked(cc, &ca->reno);
	reduce_more(cc);
	take_rtt(cc, rs);
	if (!rs->is_cwnd_limited)
		shift_epoch(cc, rs->now_us);
	ca->last_ack_us = rs->now_us;
	if (!tcon_reno_may_grow(cc, &ca->reno, rs))
		return;
	acked_bytes = tcon_reno_slow_start(cc, acked_bytes);
	if (acked_bytes)
		avoid_congestion(cc, acked_bytes, rs->now_us);
}

/* RFC 9438, 4.8: after a time-out W_max is unknown. */
static void tcon_cubic_set_state(struct tcon_cc *cc, enum tcon_ca_state state,
				 u64 now_us)
{
	struct cubic *ca = tcon_cc_priv(cc);
	u32 weight = cc->params[PARAM_WEIGHT];

	if (tcon_reno_note_loss(cc, &ca->reno, state)) {
		ca->weight.hit = state == TCON_CA_LOSS ?
				 weight :
				 tcon_weight_hit_lost(cc, &ca->weight, weight);
		reduce(cc, false);
	}
	switch (state) {
	case TCON_CA_OPEN:
		tcon_weight_open(cc, &ca->weight);
		break;
	case TCON_CA_RECOVERY:
		cc->cwnd_bytes = cc->ssthresh_bytes;
		break;
	case TCON_CA_LOSS:
		ca->weight.hit = weight;	/* a new curve for all */
		ca->curve.w_max_bytes = 0;
		ca->curve.epoch_us = 0;
		ca->hystart_done = false;
		ca->min_rtt_us = 0;	/* the path may be another */
		hystart_new_round(cc, now_us);
		cc->cwnd_bytes = tcon_reno_min_cwnd_bytes(cc);
		break;
	}
}

static void tcon_cubic_cwnd_event(struct tcon_cc *cc, enum tcon_ca_event event,
				  u64 now_us)
{
	struct cubic *ca = tcon_cc_priv(cc);

	switch (event) {
	case TCON_CA_EVENT_TX_START:
		shift_epoch(cc, now_us);
		break;
	case TCON_CA_EVENT_ECE:
		if (!tcon_reno_note_ece(cc, &ca->reno))
			break;
		ca->weight.hit =
			tcon_weight_hit_one(cc->params[PARAM_WEIGHT]);
		reduce(cc, true);
		cc->cwnd_bytes = cc->ssthresh_bytes;
		break;
	}
}

/* RFC 9438, 4.9. */
static void tcon_cubic_undo_cwnd(struct tcon_cc *cc)
{
	struct cubic *ca = tcon_cc_priv(cc);

	if (tcon_reno_undo(cc, &ca->reno) && is_rfc9438(cc))
		ca->curve = ca->saved_curve;
}

static void cubic_begin(struct tcon_cc *cc, u64 now_us, enum cubic_way way)
{
	struct cubic *ca = tcon_cc_priv(cc);

	BUILD_BUG_ON(sizeof(struct cubic) > TCON_CC_PRIV_BYTES);
	ca->way = way;
	if (cc->min_rtt_us != TCON_RTT_NONE_US)
		ca->min_rtt_us = cc->min_rtt_us;
	ca->last_ack_us = now_us;
	tcon_weight_init(cc, &ca->weight, cc->params[PARAM_WEIGHT]);
	hystart_new_round(cc, now_us);
}

static const char *mode_name(const struct tcon_cc *cc)
{
	const struct cubic *ca = tcon_cc_priv(cc);
	const struct cubic_curve *curve = &ca->curve;

	if (cc->ca_state == TCON_CA_RECOVERY || ca->reno.reduced)
		return "REDUCED";
	if (tcon_reno_in_slow_start(cc))
		return "SLOW_START";
	if (cc->params[PARAM_TCP_FRIENDLINESS] &&
	    cc->cwnd_bytes <= curve->w_est_bytes)
		return "RENO";
	return cc->cwnd_bytes < curve->origin_bytes ? "CONCAVE" : "CONVEX";
}

static int tcon_cubic_get_info(const struct tcon_cc *cc, char *buf, int size)
{
	const struct cubic *ca = tcon_cc_priv(cc);

	return scnprintf(buf, size,
			 "mode=%s w_max_bytes=%u k_us=%llu w_est_bytes=%u hystart=%s",
			 mode_name(cc), ca->curve.w_max_bytes, ca->curve.k_us,
			 ca->curve.w_est_bytes,
			 ca->hystart_done ? "found" : "not-found");
}

#endif /* _TCON_CUBIC_H */
