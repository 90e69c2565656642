// SPDX-License-Identifier: GPL-2.0-only
/*
 * BBR, version 1: draft-cardwell-iccrg-bbr-congestion-control-00 and Cardwell
 * et al., "BBR: Congestion-Based Congestion Control", ACM Queue 14(5), 2016.
 * Linux's tcp_bbr (6.1) for values that these leave open.
 *
 * The model.  A path is like one pipe, with the bandwidth of its bottleneck and an RTT
 * without queue.  They cannot be measured at once: the RTT only shows while the
 * bottleneck's queue is empty, the bandwidth only while it is not.  So BBR measures
 * them in turns and remembers them:
 *
 *	max_bw	= largest delivery rate of the last 10 round trips
 *	min_rtt	= smallest RTT of the last 10 s
 *	BDP	= max_bw * min_rtt
 *
 * On each ACK: update the model, then
 *
 *	pacing rate = pacing_gain * max_bw * 0.99
 *	cwnd	    = cwnd_gain * BDP + room for bursts and late ACKs
 *
 * The states.
 *
 *	STARTUP --- max_bw grew by < 25 % in 3 rounds ---> DRAIN
 *	   ^                                                 |
 *	   |                                inflight <= BDP  |
 *	   | pipe never filled                               v
 *	PROBE_RTT <--- min_rtt 10 s old (from any state) PROBE_BW
 *	   +---------- 200 ms and a round at 4 segments ---> ^
 *
 *	STARTUP		gains 2/ln 2: the rate doubles each round
 *	DRAIN		the inverse: drains the queue of STARTUP in a round
 *	PROBE_BW	pacing gains 5/4, 3/4 and six times 1, a min_rtt each
 *	PROBE_RTT	4 segments in flight, so that the queue empties
 *
 * Beside these:
 * - Bursty ACKs (extra_acked).  Wi-Fi and offloads deliver ACKs in lumps; cwnd
 *   has room for the largest excess over max_bw of the last 5 to 10 rounds.
 * - Policers (lt_bw).  An interval of 4 to 16 rounds begins and ends with a loss.  If
 *   two of them lose 20 % or more, and their goodput is the same within an eighth, there
 *   is probably a token bucket.  Its rate is then used for 48 rounds without probing.
 * - Losses are no signal.  But the first round of a recovery conserves packets: cwnd is
 *   what is in flight plus what was just delivered.  At the end of the recovery cwnd is
 *   what it was before.
 *
 * Differences that a hypervisor makes:
 * - A flow that was switched to BBR while running may have a queue of the last CC, and
 *   its minimum RTT may contain that queue.  If the flow fills its pipe, it begins with
 *   PROBE_RTT at the measured rate, which drains the queue and shows the RTT.  If not,
 *   it begins with STARTUP at the measured rate.
 * - The pacer is TCon's.  Bytes that it holds are not in flight yet, so BBR need not
 *   estimate earliest departure times.
 * - The smallest window is two segments (%TCON_MIN_CWND_SEGS).  After a time-out only one is
 *   used at first (datapath/sender/prr.c).
 *
 * Units: bits/s (bw.h), bytes of TCP payload and microseconds.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/time64.h>
#include <tcon/cc.h>

#include "bw.h"
#include "filter.h"

#define GAIN_UNIT		TCON_BW_GAIN_UNIT

/* Draft, 4.1.1.3: BBRBtlBwFilterLen: a gain cycle and two rounds */
#define BW_WINDOW_ROUNDS	10
/* Draft, 4.1.2: RTpropFilterLen */
#define MIN_RTT_WINDOW_US	(10 * USEC_PER_SEC)
/* Draft, 4.2.3.2: BBRMinPipeCwnd: enough for ACKs in each round, even if they are delayed */
#define MIN_PIPE_SEGS		4U
/* Draft, 4.3.2.1: 2/ln 2 = 2.885, rounded up, and its inverse, rounded down */
#define STARTUP_GAIN		739
#define DRAIN_GAIN		88
/* Draft, 4.3.2.2: three rounds below 5/4 */
#define FULL_BW_GROWTH_NUM	5
#define FULL_BW_GROWTH_DEN	4
#define FULL_BW_ROUNDS		3
/* Draft, 4.2.3.1: three quanta, for bursts of the sender, the path and the receiver */
#define QUANTA_IN_FLIGHT	3
/* Draft, 4.3.4.1: the cycle; it starts anywhere but in the phase below 1 */
#define CYCLE_PHASES		8
#define CYCLE_START_PHASES	7
/* Linux: windows of 5 rounds, two of them; excess of at most 100 ms */
#define EXTRA_WINDOW_ROUNDS	5
#define EXTRA_MAX_US		100000
#define EXTRA_EPOCH_MAX_BYTES	TCON_CWND_MAX_BYTES
/* Linux: lt_bw, the policer's rate */
#define LT_MIN_ROUNDS		4
#define LT_MAX_ROUNDS		(4 * LT_MIN_ROUNDS)
#define LT_LOSS_DIV		5	/* 20 %; Linux has 50/256 */
#define LT_SAME_DIV		8
#define LT_SAME_BPS		4000
#define LT_USE_ROUNDS		48

static const u16 cycle_gain[CYCLE_PHASES] = {
	GAIN_UNIT * 5 / 4, GAIN_UNIT * 3 / 4, GAIN_UNIT, GAIN_UNIT,
	GAIN_UNIT, GAIN_UNIT, GAIN_UNIT, GAIN_UNIT,
};

enum {
	PARAM_CWND_GAIN,
	PARAM_PROBE_RTT_MS,
};

static const struct tcon_cc_param bbr_params[] = {
	/* Draft, 4.2.3: 2, so that ACKs that come an RTT late do not stall the flow */
	[PARAM_CWND_GAIN] = { "cwnd_gain", TCON_PARAM_MILLI, 2000, 1000, 4000,
			      "BDP", "most in flight while probing bandwidth" },
	/* Draft, 4.3.5: ProbeRTTDuration */
	[PARAM_PROBE_RTT_MS] = { "probe_rtt_ms", TCON_PARAM_UINT, 200, 10, 1000,
				 "ms", "how long the path is emptied every 10 s" },
};

enum bbr_mode {
	BBR_STARTUP,
	BBR_DRAIN,
	BBR_PROBE_BW,
	BBR_PROBE_RTT,
};

static const char * const mode_names[] = {
	[BBR_STARTUP]	= "STARTUP",
	[BBR_DRAIN]	= "DRAIN",
	[BBR_PROBE_BW]	= "PROBE_BW",
	[BBR_PROBE_RTT]	= "PROBE_RTT",
};

/**
 * struct bbr - private area
 * @bw: maximum of the delivery rate in bits/s, in a window of rounds
 * @round_end_delivered: the round ends with the ACK of a packet that was sent
 *	when this much had been delivered
 * @min_rtt_at_us: when @min_rtt_us was measured or confirmed
 * @probe_rtt_end_us: when PROBE_RTT may end; 0: too much is in flight still
 * @cycle_at_us: when the phase of PROBE_BW began
 * @full_bw_bps: bandwidth that STARTUP compares with
 * @lt_bw_bps: goodput of the last interval, or the policer's rate
 * @lt_at_us: when the interval began
 * @lt_delivered: cc.delivered_bytes then
 * @lt_lost: cc.lost_bytes then
 * @extra_at_us: when the epoch of ACKs began
 * @extra_epoch_bytes: what they delivered
 * @extra_bytes: largest excess over max_bw in two windows of rounds
 * @min_rtt_us: smallest RTT of the window
 * @prior_cwnd_bytes: cwnd before recovery or PROBE_RTT
 * @pipe: what this round of STARTUP shows
 * @round: number of round trips
 * @pacing_gain: of 256
 * @cwnd_gain: of 256
 * @mode: enum bbr_mode
 * @cycle_phase: of PROBE_BW
 * @full_bw_rounds: rounds without growth in STARTUP
 * @lt_rounds: rounds of the interval, or of the use of @lt_bw_bps
 * @extra_rounds: rounds of the present window
 * @extra_i: index of the present window
 * @prev_state: cc.ca_state at the last ACK
 * @round_start: this ACK begins a round
 * @full_bw_reached: the pipe has been full
 * @idle_restart: data was sent after silence and not yet delivered
 * @probe_rtt_round_done: a round has passed with little in flight
 * @conserving: first round of a recovery
 * @rtt_seen: the pacing rate comes from a measured RTT
 * @lt_sampling: an interval has begun
 * @lt_use: pace at @lt_bw_bps
 */
struct bbr {
	struct tcon_filter bw;
	u64 round_end_delivered;
	u64 min_rtt_at_us;
	u64 probe_rtt_end_us;
	u64 cycle_at_us;
	u64 full_bw_bps;
	u64 lt_bw_bps;
	u64 lt_at_us;
	u64 lt_delivered;
	u64 lt_lost;
	u64 extra_at_us;
	u64 extra_epoch_bytes;
	u32 extra_bytes[2];
	u32 min_rtt_us;
	u32 prior_cwnd_bytes;
	struct tcon_bw_round pipe;
	u32 round;
	u16 pacing_gain;
	u16 cwnd_gain;
	u8 mode;
	u8 cycle_phase;
	u8 full_bw_rounds;
	u8 lt_rounds;
	u8 extra_rounds;
	u8 extra_i;
	u8 prev_state;
	bool round_start;
	bool full_bw_reached;
	bool idle_restart;
	bool probe_rtt_round_done;
	bool conserving;
	bool rtt_seen;
	bool lt_sampling;
	bool lt_use;
};

static u64 max_bw_bps(const struct bbr *bbr)
{
	return tcon_filter_get(&bbr->bw);
}

/* The bandwidth in use: the policer's, or the largest of the window. */
static u64 bw_bps(const struct bbr *bbr)
{
	return bbr->lt_use ? bbr->lt_bw_bps : max_bw_bps(bbr);
}

/*
 * Until the pipe has been full the rate only rises, because the first rate samples, of an
 * initial window, are small.
 */
static void set_pacing_rate(struct tcon_cc *cc, u64 bps, u32 gain)
{
	struct bbr *bbr = tcon_cc_priv(cc);
	u64 rate;

	if (!bbr->rtt_seen && cc->srtt_us) {
		bbr->rtt_seen = true;
		cc->pacing_rate_bps = tcon_bw_paced(cc, tcon_bw_of_cwnd(cc),
						    STARTUP_GAIN);
	}
	rate = tcon_bw_paced(cc, bps, gain);
	if (bbr->full_bw_reached || rate > cc->pacing_rate_bps)
		cc->pacing_rate_bps = rate;
}

static u32 bdp_bytes(const struct tcon_cc *cc, u64 bps, u32 gain)
{
	const struct bbr *bbr = tcon_cc_priv(cc);

	if (bbr->min_rtt_us == TCON_RTT_NONE_US)
		return TCON_INIT_CWND_SEGS * cc->mss_bytes;
	return tcon_bw_gain_bytes(tcon_bw_bytes(bps, bbr->min_rtt_us), gain);
}

/*
 * Room for bursts, as in Linux.  The number of segments is even, so that a receiver
 * that acknowledges every second segment does not delay the last ACK.  Two segments more
 * allow to probe a small BDP.
 */
static u32 add_burst_room(const struct tcon_cc *cc, u64 bytes)
{
	const struct bbr *bbr = tcon_cc_priv(cc);
	u32 pair = 2 * cc->mss_bytes;

	bytes += QUANTA_IN_FLIGHT * tcon_cc_quantum_bytes(cc);
	bytes = div_u64(bytes + pair - 1, pair) * pair;
	if (bbr->mode == BBR_PROBE_BW && !bbr->cycle_phase)
		bytes += pair;
	return min_t(u64, bytes, TCON_CWND_MAX_BYTES);
}

static u32 inflight_bytes_at(const struct tcon_cc *cc, u64 bps, u32 gain)
{
	return add_burst_room(cc, bdp_bytes(cc, bps, gain));
}

static u32 min_pipe_bytes(const struct tcon_cc *cc)
{
	return MIN_PIPE_SEGS * cc->mss_bytes;
}

static void save_cwnd(struct tcon_cc *cc)
{
	struct bbr *bbr = tcon_cc_priv(cc);

	if (bbr->prev_state == TCON_CA_OPEN && bbr->mode != BBR_PROBE_RTT)
		bbr->prior_cwnd_bytes = cc->cwnd_bytes;
	else
		bbr->prior_cwnd_bytes = max(bbr->prior_cwnd_bytes,
					    cc->cwnd_bytes);
}

/* The policer */

static void lt_begin(struct tcon_cc *cc, u64 now_us)
{
	struct bbr *bbr = tcon_cc_priv(cc);

	bbr->lt_at_us = now_us;
	bbr->lt_delivered = cc->delivered_bytes;
	bbr->lt_lost = cc->lost_bytes;
	bbr->lt_rounds = 0;
}

static void lt_reset(struct bbr *bbr)
{
	bbr->lt_bw_bps = 0;
	bbr->lt_rounds = 0;
	bbr->lt_use = false;
	bbr->lt_sampling = false;
}

static bool lt_same(u64 a_bps, u64 b_bps)
{
	u64 diff = a_bps > b_bps ? a_bps - b_bps : b_bps - a_bps;

	return diff <= LT_SAME_BPS || diff <= b_bps / LT_SAME_DIV;
}

/* An interval has ended with a loss.  Compare its goodput with the one before. */
static void lt_end(struct tcon_cc *cc, u64 now_us)
{
	struct bbr *bbr = tcon_cc_priv(cc);
	u64 delivered = cc->delivered_bytes - bbr->lt_delivered;
	u64 lost = cc->lost_bytes - bbr->lt_lost;
	u64 bps;

	if (!delivered || lost < delivered / LT_LOSS_DIV ||
	    now_us - bbr->lt_at_us < USEC_PER_MSEC)
		return;
	bps = tcon_bw_of(delivered, now_us - bbr->lt_at_us);
	if (bbr->lt_bw_bps && lt_same(bps, bbr->lt_bw_bps)) {
		bbr->lt_bw_bps = (bps + bbr->lt_bw_bps) / 2;
		bbr->lt_use = true;
		bbr->lt_rounds = 0;
		bbr->pacing_gain = GAIN_UNIT;
		return;
	}
	bbr->lt_bw_bps = bps;
	lt_begin(cc, now_us);
}

static void lt_sample(struct tcon_cc *cc, u64 now_us, bool lossy,
		      bool app_limited)
{
	struct bbr *bbr = tcon_cc_priv(cc);

	if (!bbr->lt_sampling) {
		if (!lossy)
			return;
		bbr->lt_sampling = true;
		lt_begin(cc, now_us);
	}
	if (app_limited) {	/* says nothing about the policer */
		lt_reset(bbr);
		return;
	}
	bbr->lt_rounds += bbr->round_start;
	if (bbr->lt_rounds > LT_MAX_ROUNDS)
		lt_reset(bbr);
	else if (bbr->lt_rounds >= LT_MIN_ROUNDS && lossy)
		lt_end(cc, now_us);
}

/* PROBE_BW */

static void enter_phase(struct tcon_cc *cc, unsigned int phase, u64 now_us)
{
	struct bbr *bbr = tcon_cc_priv(cc);

	bbr->cycle_phase = phase % CYCLE_PHASES;
	bbr->cycle_at_us = now_us;
}

/* A random phase, but not 3/4: flows that start together must not probe together. */
static void enter_probe_bw(struct tcon_cc *cc, u64 now_us)
{
	struct bbr *bbr = tcon_cc_priv(cc);
	unsigned int skip = reciprocal_scale(get_random_u32(),
					     CYCLE_START_PHASES);

	bbr->mode = BBR_PROBE_BW;
	enter_phase(cc, CYCLE_PHASES - skip, now_us);
}

/* Draft, 4.3.4.3: BBRIsNextCyclePhase() */
static bool phase_is_over(const struct tcon_cc *cc,
			  const struct tcon_rate_sample *rs)
{
	const struct bbr *bbr = tcon_cc_priv(cc);
	u32 gain = cycle_gain[bbr->cycle_phase];
	bool full = rs->now_us - bbr->cycle_at_us > bbr->min_rtt_us;
	u64 inflight = rs->prior_inflight_bytes;

	if (gain == GAIN_UNIT || bbr->lt_use)
		return full;
	if (gain < GAIN_UNIT)
		return full || inflight <= inflight_bytes_at(cc, max_bw_bps(bbr),
							     GAIN_UNIT);
	/* The pacer's next release counts (Linux's EDT). */
	inflight += tcon_cc_quantum_bytes(cc);
	return full && (rs->losses_bytes ||
			inflight >= inflight_bytes_at(cc, max_bw_bps(bbr),
						      gain));
}

static void update_cycle(struct tcon_cc *cc, const struct tcon_rate_sample *rs)
{
	struct bbr *bbr = tcon_cc_priv(cc);

	if (bbr->mode == BBR_PROBE_BW && phase_is_over(cc, rs))
		enter_phase(cc, bbr->cycle_phase + 1, rs->now_us);
}

static void lt_update(struct tcon_cc *cc, const struct tcon_rate_sample *rs)
{
	struct bbr *bbr = tcon_cc_priv(cc);

	if (!bbr->lt_use) {
		lt_sample(cc, rs->now_us, rs->losses_bytes, rs->is_app_limited);
	} else if (bbr->mode == BBR_PROBE_BW && bbr->round_start &&
		   ++bbr->lt_rounds >= LT_USE_ROUNDS) {
		lt_reset(bbr);
		enter_probe_bw(cc, rs->now_us);
	}
}

/* The model */

static void update_round(struct tcon_cc *cc, const struct tcon_rate_sample *rs)
{
	struct bbr *bbr = tcon_cc_priv(cc);

	bbr->round_start = rs->prior_delivered >= bbr->round_end_delivered;
	if (!bbr->round_start)
		return;
	bbr->round_end_delivered = cc->delivered_bytes;
	bbr->round++;
	bbr->conserving = false;
}

/* If the guest limited the rate, the sample is only a lower bound. */
static void update_max_bw(struct tcon_cc *cc, const struct tcon_rate_sample *rs)
{
	struct bbr *bbr = tcon_cc_priv(cc);
	u64 bps = tcon_bw_of(rs->delivered_bytes, rs->interval_us);

	if (!rs->is_app_limited || bps >= max_bw_bps(bbr))
		tcon_filter_max(&bbr->bw, BW_WINDOW_ROUNDS, bbr->round, bps);
}

/*
 * The largest excess of delivered bytes over max_bw * time.  When ACKs are no longer
 * ahead of max_bw, a new epoch begins.
 */
static void update_extra_acked(struct tcon_cc *cc,
			       const struct tcon_rate_sample *rs)
{
	struct bbr *bbr = tcon_cc_priv(cc);
	u32 expected, extra;

	if (!rs->acked_sacked_bytes)
		return;
	if (bbr->round_start && ++bbr->extra_rounds >= EXTRA_WINDOW_ROUNDS) {
		bbr->extra_rounds = 0;
		bbr->extra_i ^= 1;
		bbr->extra_bytes[bbr->extra_i] = 0;
	}
	expected = tcon_bw_bytes(bw_bps(bbr), min_t(u64, U32_MAX, rs->now_us -
					       bbr->extra_at_us));
	if (bbr->extra_epoch_bytes <= expected ||
	    bbr->extra_epoch_bytes + rs->acked_sacked_bytes >=
	    EXTRA_EPOCH_MAX_BYTES) {
		bbr->extra_epoch_bytes = 0;
		bbr->extra_at_us = rs->now_us;
		expected = 0;
	}
	bbr->extra_epoch_bytes += rs->acked_sacked_bytes;
	extra = min_t(u64, bbr->extra_epoch_bytes - expected, cc->cwnd_bytes);
	if (extra > bbr->extra_bytes[bbr->extra_i])
		bbr->extra_bytes[bbr->extra_i] = extra;
}

static u32 extra_acked_room(const struct bbr *bbr)
{
	if (!bbr->full_bw_reached)
		return 0;
	return min(max(bbr->extra_bytes[0], bbr->extra_bytes[1]),
		   tcon_bw_bytes(bw_bps(bbr), EXTRA_MAX_US));
}

/* Draft, 4.3.1.2 */
static void check_full_bw(struct tcon_cc *cc, const struct tcon_rate_sample *rs)
{
	struct bbr *bbr = tcon_cc_priv(cc);

	if (bbr->full_bw_reached ||
	    !tcon_bw_round_counts(cc, &bbr->pipe, rs, bbr->round_start))
		return;
	if (max_bw_bps(bbr) * FULL_BW_GROWTH_DEN >=
	    bbr->full_bw_bps * FULL_BW_GROWTH_NUM) {
		bbr->full_bw_bps = max_bw_bps(bbr);
		bbr->full_bw_rounds = 0;
		return;
	}
	bbr->full_bw_reached = ++bbr->full_bw_rounds >= FULL_BW_ROUNDS;
}

/* Slow start is over.  Tells the CC that may come next, by an ssthresh. */
static void note_slow_start(struct tcon_cc *cc)
{
	cc->ssthresh_bytes = inflight_bytes_at(cc, max_bw_bps(tcon_cc_priv(cc)),
					       GAIN_UNIT);
}

static void check_drain(struct tcon_cc *cc, const struct tcon_rate_sample *rs)
{
	struct bbr *bbr = tcon_cc_priv(cc);

	if (bbr->mode == BBR_STARTUP && bbr->full_bw_reached) {
		bbr->mode = BBR_DRAIN;
		note_slow_start(cc);
	}
	if (bbr->mode == BBR_DRAIN &&
	    cc->inflight_bytes <= inflight_bytes_at(cc, max_bw_bps(bbr),
						    GAIN_UNIT))
		enter_probe_bw(cc, rs->now_us);
}

/* PROBE_RTT */

static void enter_probe_rtt(struct tcon_cc *cc)
{
	struct bbr *bbr = tcon_cc_priv(cc);

	save_cwnd(cc);
	bbr->mode = BBR_PROBE_RTT;
	bbr->probe_rtt_end_us = 0;
}

static void check_probe_rtt_done(struct tcon_cc *cc, u64 now_us)
{
	struct bbr *bbr = tcon_cc_priv(cc);

	if (!bbr->probe_rtt_end_us || now_us <= bbr->probe_rtt_end_us)
		return;
	bbr->min_rtt_at_us = now_us;
	cc->cwnd_bytes = max(cc->cwnd_bytes, bbr->prior_cwnd_bytes);
	if (!bbr->full_bw_reached) {
		bbr->mode = BBR_STARTUP;
		return;
	}
	note_slow_start(cc);
	enter_probe_bw(cc, now_us);
}

/* Rates are low because little is in flight, so samples are marked as app-limited. */
static void run_probe_rtt(struct tcon_cc *cc, u64 now_us)
{
	struct bbr *bbr = tcon_cc_priv(cc);
	u64 until = cc->delivered_bytes + cc->inflight_bytes;

	cc->app_limited_until = max_t(u64, until, 1);
	if (!bbr->probe_rtt_end_us) {
		if (!tcon_bw_drained(cc, min_pipe_bytes(cc)))
			return;
		bbr->probe_rtt_end_us = now_us + USEC_PER_MSEC *
					cc->params[PARAM_PROBE_RTT_MS];
		bbr->probe_rtt_round_done = false;
		bbr->round_end_delivered = cc->delivered_bytes;
		return;
	}
	if (bbr->round_start)
		bbr->probe_rtt_round_done = true;
	if (bbr->probe_rtt_round_done)
		check_probe_rtt_done(cc, now_us);
}

static void update_min_rtt(struct tcon_cc *cc,
			   const struct tcon_rate_sample *rs)
{
	struct bbr *bbr = tcon_cc_priv(cc);
	bool expired = rs->now_us - bbr->min_rtt_at_us > MIN_RTT_WINDOW_US;

	if (rs->rtt_us >= 0 && (rs->rtt_us <= bbr->min_rtt_us ||
				(expired && !rs->is_ack_delayed))) {
		bbr->min_rtt_us = clamp_t(s64, rs->rtt_us, 1,
					  TCON_RTT_NONE_US - 1);
		bbr->min_rtt_at_us = rs->now_us;
	}
	if (expired && !bbr->idle_restart && bbr->mode != BBR_PROBE_RTT)
		enter_probe_rtt(cc);
	if (bbr->mode == BBR_PROBE_RTT)
		run_probe_rtt(cc, rs->now_us);
	if (rs->delivered_bytes > 0)
		bbr->idle_restart = false;
}

static void update_gains(struct tcon_cc *cc)
{
	struct bbr *bbr = tcon_cc_priv(cc);

	switch (bbr->mode) {
	case BBR_STARTUP:
		bbr->pacing_gain = STARTUP_GAIN;
		bbr->cwnd_gain = STARTUP_GAIN;
		break;
	case BBR_DRAIN:
		bbr->pacing_gain = DRAIN_GAIN;
		bbr->cwnd_gain = STARTUP_GAIN;
		break;
	case BBR_PROBE_BW:
		bbr->pacing_gain = bbr->lt_use ? GAIN_UNIT :
						 cycle_gain[bbr->cycle_phase];
		bbr->cwnd_gain = (u32)cc->params[PARAM_CWND_GAIN] * GAIN_UNIT /
				 1000;
		break;
	case BBR_PROBE_RTT:
		bbr->pacing_gain = GAIN_UNIT;
		bbr->cwnd_gain = GAIN_UNIT;
		break;
	}
}

static void update_model(struct tcon_cc *cc, const struct tcon_rate_sample *rs)
{
	struct bbr *bbr = tcon_cc_priv(cc);

	bbr->round_start = false;
	if (rs->delivered_bytes >= 0 && rs->interval_us > 0) {
		update_round(cc, rs);
		lt_update(cc, rs);
		update_max_bw(cc, rs);
		update_extra_acked(cc, rs);
	}
	update_cycle(cc, rs);
	check_full_bw(cc, rs);
	check_drain(cc, rs);
	update_min_rtt(cc, rs);
	update_gains(cc);
}

/*
 * Recovery: draft, 4.2.3.3.  Lost bytes are taken from cwnd.  The first round sends
 * only as much as arrives.  The end restores cwnd.
 *
 * Return: whether cwnd is set by this, and by nothing else.
 */
static bool recover_or_restore(struct tcon_cc *cc,
			       const struct tcon_rate_sample *rs, u32 *cwnd)
{
	struct bbr *bbr = tcon_cc_priv(cc);
	u8 prev = bbr->prev_state, state = cc->ca_state;
	u32 conserved = min_t(u64, TCON_CWND_MAX_BYTES,
			      (u64)cc->inflight_bytes + rs->acked_sacked_bytes);

	if (rs->losses_bytes)
		*cwnd -= min(*cwnd, rs->losses_bytes);
	if (state == TCON_CA_RECOVERY && prev != TCON_CA_RECOVERY) {
		bbr->conserving = true;
		bbr->round_end_delivered = cc->delivered_bytes;
		*cwnd = conserved;
	} else if (prev != TCON_CA_OPEN && state == TCON_CA_OPEN) {
		*cwnd = max(*cwnd, bbr->prior_cwnd_bytes);
		bbr->conserving = false;
	}
	bbr->prev_state = state;
	if (bbr->conserving)
		*cwnd = max(*cwnd, conserved);
	return bbr->conserving;
}

static void set_cwnd(struct tcon_cc *cc, const struct tcon_rate_sample *rs)
{
	struct bbr *bbr = tcon_cc_priv(cc);
	u32 acked = min(rs->acked_sacked_bytes, TCON_CWND_MAX_BYTES);
	u32 cwnd = cc->cwnd_bytes, floor = TCON_MIN_CWND_SEGS * cc->mss_bytes;
	u32 target;

	if (acked && !recover_or_restore(cc, rs, &cwnd)) {
		target = add_burst_room(cc, (u64)bdp_bytes(cc, bw_bps(bbr),
							   bbr->cwnd_gain) +
					    extra_acked_room(bbr));
		if (bbr->full_bw_reached)
			cwnd = min(cwnd + acked, target);
		else if (cwnd < target || cc->delivered_bytes <
			 TCON_INIT_CWND_SEGS * cc->mss_bytes)
			cwnd += acked;
		floor = min_pipe_bytes(cc);
	}
	if (bbr->mode == BBR_PROBE_RTT)
		cwnd = min(cwnd, min_pipe_bytes(cc));
	cc->cwnd_bytes = clamp(cwnd, floor, TCON_CWND_MAX_BYTES);
}

static void tcon_bbr_cong_control(struct tcon_cc *cc,
				  const struct tcon_rate_sample *rs)
{
	struct bbr *bbr = tcon_cc_priv(cc);

	update_model(cc, rs);
	set_pacing_rate(cc, bw_bps(bbr), bbr->pacing_gain);
	set_cwnd(cc, rs);
}

/* After a time-out the path may be another: measure its bandwidth again. */
static void tcon_bbr_set_state(struct tcon_cc *cc, enum tcon_ca_state state,
			       u64 now_us)
{
	struct bbr *bbr = tcon_cc_priv(cc);

	if (state == TCON_CA_OPEN)
		return;
	save_cwnd(cc);
	if (state != TCON_CA_LOSS)
		return;
	bbr->prev_state = TCON_CA_LOSS;
	bbr->conserving = false;
	bbr->full_bw_bps = 0;
	bbr->round_start = true;	/* a round ends with a time-out */
	if (!bbr->lt_use)
		lt_sample(cc, now_us, true, false);
	cc->cwnd_bytes = clamp(cc->inflight_bytes + cc->mss_bytes,
			       TCON_MIN_CWND_SEGS * cc->mss_bytes,
			       max(cc->cwnd_bytes,
				   TCON_MIN_CWND_SEGS * cc->mss_bytes));
}

/*
 * Draft, 4.3.4.4: after silence the pipe is empty: restart at the rate.  Not if the guest had
 * more to send, and only its window was full: with one segment in flight the pipe is empty
 * each time.
 */
static void tcon_bbr_cwnd_event(struct tcon_cc *cc, enum tcon_ca_event event,
				u64 now_us)
{
	struct bbr *bbr = tcon_cc_priv(cc);

	if (event != TCON_CA_EVENT_TX_START || !tcon_cc_was_idle(cc))
		return;
	bbr->idle_restart = true;
	bbr->extra_at_us = now_us;
	bbr->extra_epoch_bytes = 0;
	if (bbr->mode == BBR_PROBE_BW)
		set_pacing_rate(cc, bw_bps(bbr), GAIN_UNIT);
	else if (bbr->mode == BBR_PROBE_RTT)
		check_probe_rtt_done(cc, now_us);
}

/* Nothing was lost: cwnd comes back when the recovery ends. */
static void tcon_bbr_undo_cwnd(struct tcon_cc *cc)
{
	struct bbr *bbr = tcon_cc_priv(cc);

	bbr->full_bw_bps = 0;
	bbr->full_bw_rounds = 0;
	lt_reset(bbr);
}

/*
 * A live switch.  If the first rate is wrong, it leaves with the window of rounds.  The
 * tracker's min_rtt may be minutes old, and of another path.  It counts as expired, because
 * PROBE_RTT measures it again.
 */
static void resume(struct tcon_cc *cc, u64 now_us)
{
	struct bbr *bbr = tcon_cc_priv(cc);
	u64 bps = tcon_bw_start(cc);

	tcon_filter_reset(&bbr->bw, bbr->round, bps);
	if (!tcon_bw_fills_pipe(cc))
		return;
	bbr->full_bw_reached = true;
	bbr->full_bw_bps = bps;
	bbr->min_rtt_at_us = now_us - MIN_RTT_WINDOW_US - 1;
	enter_probe_rtt(cc);
}

/*
 * cwnd starts from what is in flight, but not below the initial window of RFC 6928: the
 * guest may just have nothing to send.
 */
static void tcon_bbr_init(struct tcon_cc *cc, u64 now_us)
{
	struct bbr *bbr = tcon_cc_priv(cc);

	BUILD_BUG_ON(sizeof(struct bbr) > TCON_CC_PRIV_BYTES);
	bbr->prior_cwnd_bytes = cc->cwnd_bytes;
	bbr->prev_state = cc->ca_state;
	bbr->round_end_delivered = cc->delivered_bytes;
	bbr->min_rtt_us = cc->min_rtt_us;
	bbr->min_rtt_at_us = now_us;
	bbr->extra_at_us = now_us;
	bbr->mode = BBR_STARTUP;
	tcon_bw_round_begin(&bbr->pipe);
	if (cc->last_rate_bps)
		resume(cc, now_us);
	update_gains(cc);
	bbr->rtt_seen = cc->srtt_us;
	set_pacing_rate(cc, max(bw_bps(bbr), tcon_bw_of_cwnd(cc)),
			bbr->pacing_gain);
}

static int tcon_bbr_get_info(const struct tcon_cc *cc, char *buf, int size)
{
	const struct bbr *bbr = tcon_cc_priv(cc);
	u32 centi = bbr->pacing_gain * 100 / GAIN_UNIT;

	return scnprintf(buf, size,
			 "mode=%s bw_bps=%llu min_rtt_us=%u gain=%u.%02u phase=%u%s",
			 mode_names[bbr->mode], bw_bps(bbr), bbr->min_rtt_us,
			 centi / 100, centi % 100, bbr->cycle_phase,
			 bbr->lt_use ? " policed" : "");
}

static struct tcon_cc_ops bbr_ops = {
	.name		= "bbr",
	.category	= "model",
	.source		= "draft-cardwell-iccrg-bbr-congestion-control-00",
	.owner		= THIS_MODULE,
	.paced		= true,
	.own_recovery	= true,
	.priv_bytes	= sizeof(struct bbr),
	.params		= bbr_params,
	.n_params	= ARRAY_SIZE(bbr_params),
	.init		= tcon_bbr_init,
	.cong_control	= tcon_bbr_cong_control,
	.set_state	= tcon_bbr_set_state,
	.cwnd_event	= tcon_bbr_cwnd_event,
	.undo_cwnd	= tcon_bbr_undo_cwnd,
	.get_info	= tcon_bbr_get_info,
};

static int __init tcon_bbr_module_init(void)
{
	return tcon_cc_register(&bbr_ops);
}

static void __exit tcon_bbr_module_exit(void)
{
	tcon_cc_unregister(&bbr_ops);
}

module_init(tcon_bbr_module_init);
module_exit(tcon_bbr_module_exit);

MODULE_DESCRIPTION("TCon: BBR congestion control, version 1");
MODULE_LICENSE("GPL");
MODULE_ALIAS("tcon-cc-bbr");
