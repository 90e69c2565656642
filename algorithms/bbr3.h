/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * BBR, version 3: draft-ietf-ccwg-bbr-06 (July 2026), with its names.  Values that it
 * leaves open come from Google's tcp_bbr.c (branch v3, 2023), "Google" below.
 * Version 2 (bbr2.c) is the same with what is listed below.
 *
 * The model.  As in version 1 (bbr.c) a path has a bandwidth and an RTT, measured in
 * turns.  New is how much the path can hold: losses and ECN marks bound what is in
 * flight, on two time scales.
 *
 *	max_bw		largest delivery rate of this and the last probe cycle
 *	min_rtt		smallest RTT of the last 10 s
 *	longterm	largest flight without too many losses, found by probing
 *	shortterm	the rate and flight of the last rounds with losses while not
 *			probing; forgotten before the next probe
 *
 *	bw	    = min(max_bw, bw_shortterm)
 *	pacing rate = pacing_gain * bw * 0.99
 *	cwnd	    = cwnd_gain * bw * min_rtt + bursts, but within longterm and shortterm
 *
 * The states.
 *
 *	STARTUP -- no growth in 3 rounds, or losses, or marks --> DRAIN
 *	   ^						    |
 *	   | pipe never filled	   inflight <= BDP, 3 rounds|
 *	   |						    v
 *	PROBE_RTT <- from any,	   +-----------------------> DOWN -------+
 *	   |	     min_rtt 5 s   |  full, or losses		|  BDP, headroom
 *	   |	     old	  UP				v	 |
 *	   +-- 200 ms, a round --- | ------------------------> CRUISE	 |
 *				   +--- a round --- REFILL <----+ 2..3 s,+
 *							    or min(BDP, 63) rounds
 *
 *			pacing	cwnd	flight at most
 *	STARTUP		2.77	2	-
 *	DRAIN		0.5	2	shortterm
 *	DOWN		0.9	2	longterm, shortterm
 *	CRUISE		1	2	0.85 longterm, shortterm
 *	REFILL		1	2	longterm
 *	UP		1.25	2.25	longterm, which grows by 1, 2, 4 ... segments
 *	PROBE_RTT	1	0.5	0.85 longterm, shortterm
 *
 * What probing does to longterm:
 * - A sample is "too high" if more than 2 % of the flight with which it was sent was
 *   lost, or half of its bytes are marked.  The first such sample of REFILL or UP sets
 *   longterm to that flight, but not below 0.7 of the target, and ends UP.
 * - The next UP is precautionary: it ends as soon as longterm is in flight.  If a round
 *   later nothing was too high, REFILL and UP follow at once.
 * - In any state, a flight above longterm that was not too high raises longterm.
 * Outside of probing, at the end of each round with losses:
 *	shortterm = max(of the last round, 0.7 shortterm)
 *
 * Differences from version 1:
 * - Losses count, from 2 % of a flight on (1: never).
 * - A probe comes every 2 to 3 s, or as often as Reno's losses (1: every 8 rounds).
 * - There is headroom for other flows.
 * - PROBE_RTT comes every 5 s, at half the BDP (1: 10 s, 4 segments).
 * - There is no packet conservation in recovery, and no policer's rate (shortterm does
 *   that).
 * Differences from version 2 (draft-cardwell-iccrg-bbr-congestion-control-02; the
 * BBR2 of virtualised test-beds):
 * - UP ends when the bandwidth stops growing, not as soon as 1.25 BDP are in flight.  So
 *   it does not end too early beside other flows.  Its cwnd gain (2.25, not 2) has room for that.
 * - DOWN paces at 0.9, not 0.75.
 * - STARTUP's gains are 2.77 and 2, not 2.89 for both.  It ends after 6 losses, not 8.
 *   longterm is then at least what was delivered.
 * - DRAIN paces at 0.5, not 1 / 2.89, and ends after three rounds at the latest.
 *
 * ECN.  The draft asks for a response but leaves it open.  This is Google's.  alpha is a
 * moving average of the share of marked bytes (gain 1/16).  In each round with marks
 * inflight_shortterm falls by alpha / 3.  STARTUP ends after two rounds with half of the
 * bytes marked.  Google responds only at RTTs below 5 ms, where marks are known to be
 * DCTCP's.  Here any mark gets a response, since it is the guest who speaks ECN: this CC does not
 * ask for it (cc.h).  To count a round with marks as one with losses on longer paths was tried:
 * then four flows behind CoDel at 20 ms have an RTT of 44 ms, so 29.
 * Google also probes again at once after a round with marks (ecn_reprobe_gain); we do not.
 *
 * Differences that a hypervisor makes:
 * - A live switch: the first bandwidth is what was measured.  If the flow fills its pipe,
 *   it begins with PROBE_RTT, this time at 4 segments: the queue is the last CC's, and
 *   min_rtt may contain it.  Else it begins with STARTUP.
 * - "Too high" is judged by the sample of the ACK that shows a loss, and not for each
 *   lost packet (the draft's InflightAtLoss).  The sample's packet was sent after the lost
 *   one.  In UP, where it matters, flights grow.  So the judged flight is larger, by less
 *   than what one round adds.
 * - Six lost ranges in a round of STARTUP are counted as six ACKs that showed losses, as
 *   Google does.
 * - bw.h decides whether a round shows a full pipe.  A larger rate at any time of a round
 *   ends the plateau, not only in its last sample (Google).
 * - What the pacer holds is not in flight.
 * - The smallest window is two segments (%TCON_MIN_CWND_SEGS).  After a time-out only one is
 *   used at first (datapath/sender/prr.c).
 *
 * The private area takes all of its 256 bytes.
 * Units: bits/s (bw.h), bytes of TCP payload and microseconds.
 */
#ifndef _TCON_BBR3_H
#define _TCON_BBR3_H

#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/time64.h>
#include <tcon/cc.h>

#include "bw.h"
#include "filter.h"

#define GAIN_UNIT		TCON_BW_GAIN_UNIT
#define NONE_BPS		U64_MAX		/* no bound */
#define NONE_BYTES		U32_MAX

/* Draft: MinRTTFilterLen, ProbeRTTInterval */
#define MIN_RTT_WINDOW_US	(10 * USEC_PER_SEC)
#define PROBE_RTT_INTERVAL_US	(5 * USEC_PER_SEC)
/* Draft: MinPipeCwnd: enough for ACKs in each round, even if they are delayed */
#define MIN_PIPE_SEGS		4U
/* Draft, "Exiting Acceleration Based on Bandwidth Plateau" */
#define FULL_BW_GROWTH_NUM	5
#define FULL_BW_GROWTH_DEN	4
#define FULL_BW_ROUNDS		3
/* Drafts: BBRStartupFullLossCnt */
#define STARTUP_LOSSES		6
#define STARTUP_LOSSES_V2	8
/* Draft, CheckDrainDone() */
#define DRAIN_ROUNDS		3
/* Draft: ExtraAckedFilterLen; in STARTUP one round */
#define EXTRA_WINDOW_ROUNDS	10
#define EXTRA_MAX_BYTES		TCON_CWND_MAX_BYTES
/* Draft: three quanta, for bursts of the sender, the path and the receiver */
#define QUANTA_IN_FLIGHT	3
/* Draft, PickProbeWait(): 2 s and up to 1 s; 63 rounds less one or none */
#define PROBE_WAIT_US		(2 * USEC_PER_SEC)
#define PROBE_WAIT_RANDOM_US	USEC_PER_SEC
#define PROBE_MAX_ROUNDS	63
#define PROBE_RANDOM_ROUNDS	2
#define UP_ROUNDS_MAX		30
/* Google: ecn_thresh, ecn_factor, ecn_alpha_gain, full_ecn_cnt */
#define ECN_THRESH_DIV		2
#define ECN_FACTOR_DIV		3
#define ECN_ALPHA_SHIFT		4
#define ECN_ALPHA_UNIT		BIT(15)
#define STARTUP_ECN_ROUNDS	2

enum {
	PARAM_LOSS_THRESH,
	PARAM_BETA,
	PARAM_HEADROOM,
	PARAM_PROBE_RTT_MS,
};

/* The draft's constants */
static const struct tcon_cc_param bbr3_params[] = {
	[PARAM_LOSS_THRESH] = { "loss_thresh", TCON_PARAM_MILLI, 20, 1, 500, "",
				"share of a flight that may be lost in a probe" },
	[PARAM_BETA] = { "beta", TCON_PARAM_MILLI, 700, 100, 950, "",
			 "what is left at least after a round with losses" },
	[PARAM_HEADROOM] = { "headroom", TCON_PARAM_MILLI, 150, 0, 500, "",
			     "share of what the path holds that is left to others" },
	[PARAM_PROBE_RTT_MS] = { "probe_rtt_ms", TCON_PARAM_UINT, 200, 10, 1000,
				 "ms", "how long the path is emptied every 5 s" },
};

enum bbr3_state {
	STARTUP,
	DRAIN,
	DOWN,
	CRUISE,
	REFILL,
	UP,
	PROBE_RTT,
	NO_STATE,
};

static const char * const state_names[] = {
	[STARTUP]	= "STARTUP",
	[DRAIN]		= "DRAIN",
	[DOWN]		= "DOWN",
	[CRUISE]	= "CRUISE",
	[REFILL]	= "REFILL",
	[UP]		= "UP",
	[PROBE_RTT]	= "PROBE_RTT",
};

/**
 * struct bbr3_gains - of a state
 * @pacing: of the rate
 * @cwnd: of the BDP
 */
struct bbr3_gains {
	u16 pacing;
	u16 cwnd;
};

static const struct bbr3_gains v3_gains[] = {
	/* 4 ln 2 = 2.7726: the smallest gain that doubles the rate each round */
	[STARTUP]	= { 710, 512 },
	[DRAIN]		= { 128, 512 },
	[DOWN]		= { 230, 512 },
	[CRUISE]	= { 256, 512 },
	[REFILL]	= { 256, 512 },
	[UP]		= { 320, 576 },
	[PROBE_RTT]	= { 256, 128 },
};

static const struct bbr3_gains v2_gains[] = {
	/* 2 / ln 2 = 2.8854, and its inverse */
	[STARTUP]	= { 739, 739 },
	[DRAIN]		= { 88, 739 },
	[DOWN]		= { 192, 512 },
	[CRUISE]	= { 256, 512 },
	[REFILL]	= { 256, 512 },
	[UP]		= { 320, 512 },
	[PROBE_RTT]	= { 256, 128 },
};

/* Draft: BBR.ack_phase: what ACKs say about the probe */
enum ack_phase {
	ACKS_INIT,
	ACKS_REFILLING,
	ACKS_PROBE_STARTING,
	ACKS_PROBE_FEEDBACK,
	ACKS_PROBE_STOPPING,
};

/**
 * struct bbr3 - private area
 * @extra: maximum of the bytes that ACKs were ahead of bw, in a window of rounds
 * @max_bw_bps: of the last probe cycle, and of this one
 * @bw_shortterm_bps: bound by losses; %NONE_BPS
 * @bw_latest_bps: largest rate of this round of losses
 * @full_bw_bps: rate that STARTUP and UP compare with
 * @undo_bw_shortterm_bps: before the recovery
 * @round_end_delivered: the round ends with the ACK of a packet that was sent when
 *	this much had been delivered
 * @loss_round_end_delivered: the same for rounds that begin with a loss
 * @min_rtt_at_us: when @min_rtt_us was measured
 * @probe_rtt_min_at_us: when @probe_rtt_min_us was, or PROBE_RTT ended
 * @probe_rtt_end_us: when PROBE_RTT may end; 0: too much is in flight still
 * @cycle_at_us: when DOWN or UP began
 * @extra_at_us: when the epoch of ACKs began
 * @ecn_delivered: cc.delivered_bytes at the last round
 * @ecn_delivered_ce: cc.delivered_ce_bytes at the last round
 * @extra_epoch_bytes: what the epoch's ACKs delivered
 * @min_rtt_us: smallest RTT in 10 s
 * @probe_rtt_min_us: smallest RTT in 5 s
 * @prior_cwnd_bytes: cwnd before recovery or PROBE_RTT
 * @longterm_bytes: bound by probes; %NONE_BYTES
 * @shortterm_bytes: bound by losses; %NONE_BYTES
 * @latest_bytes: largest volume delivered in this round of losses
 * @undo_longterm_bytes: before the recovery
 * @undo_shortterm_bytes: before the recovery
 * @lost_bytes: low half of cc.lost_bytes, as of the last ACK
 * @up_acked_bytes: acknowledged since UP raised @longterm_bytes
 * @up_bytes_per_seg: how much raises it by a segment
 * @probe_wait_us: time from DOWN to REFILL
 * @round: number of round trips
 * @pipe: what this round shows of the pipe, in STARTUP and UP
 * @ecn_alpha: share of bytes marked, of %ECN_ALPHA_UNIT
 * @state: enum bbr3_state
 * @undo_state: the state that a loss ended; %NO_STATE
 * @ack_phase: enum ack_phase
 * @full_bw_rounds: rounds without growth
 * @up_rounds: rounds of growth in UP
 * @rounds_since_probe: since UP ended
 * @drain_rounds: of DRAIN
 * @startup_losses: ACKs with losses in this round of losses
 * @startup_ecn_rounds: rounds in a row with many marks
 * @round_start: this ACK begins a round
 * @loss_round_start: this ACK begins a round of losses
 * @loss_in_round: there was a loss
 * @ecn_in_round: there was ECE
 * @full_bw_now: growth has ended since STARTUP or UP began
 * @full_bw_reached: the pipe has been full
 * @is_probe_sample: ACKs are of packets of REFILL or UP, and nothing was too high
 * @prev_too_high: the last UP was too high
 * @prev_precautionary: the last UP was precautionary
 * @idle_restart: data was sent after silence and not yet delivered
 * @probe_rtt_round_done: a round has passed with little in flight
 * @empties: PROBE_RTT after a live switch: empty the path
 * @rtt_seen: the pacing rate comes from a measured RTT
 * @is_v2: version 2
 */
struct bbr3 {
	struct tcon_filter extra;
	u64 max_bw_bps[2];
	u64 bw_shortterm_bps;
	u64 bw_latest_bps;
	u64 full_bw_bps;
	u64 undo_bw_shortterm_bps;
	u64 round_end_delivered;
	u64 loss_round_end_delivered;
	u64 min_rtt_at_us;
	u64 probe_rtt_min_at_us;
	u64 probe_rtt_end_us;
	u64 cycle_at_us;
	u64 extra_at_us;
	u32 ecn_delivered;
	u32 ecn_delivered_ce;
	u32 extra_epoch_bytes;
	u32 min_rtt_us;
	u32 probe_rtt_min_us;
	u32 prior_cwnd_bytes;
	u32 longterm_bytes;
	u32 shortterm_bytes;
	u32 latest_bytes;
	u32 undo_longterm_bytes;
	u32 undo_shortterm_bytes;
	u32 lost_bytes;
	u32 up_acked_bytes;
	u32 up_bytes_per_seg;
	u32 probe_wait_us;
	u32 round;
	struct tcon_bw_round pipe;
	u16 ecn_alpha;
	u8 state;
	u8 undo_state;
	u8 ack_phase;
	u8 full_bw_rounds;
	u8 up_rounds;
	u8 rounds_since_probe;
	u8 drain_rounds;
	u8 startup_losses;
	u8 startup_ecn_rounds;
	bool round_start;
	bool loss_round_start;
	bool loss_in_round;
	bool ecn_in_round;
	bool full_bw_now;
	bool full_bw_reached;
	bool is_probe_sample;
	bool prev_too_high;
	bool prev_precautionary;
	bool idle_restart;
	bool probe_rtt_round_done;
	bool empties;
	bool rtt_seen;
	bool is_v2;
};

static const struct bbr3_gains *gains_of(const struct bbr3 *b,
					 enum bbr3_state state)
{
	return b->is_v2 ? &v2_gains[state] : &v3_gains[state];
}

static u64 max_bw_bps(const struct bbr3 *b)
{
	return max(b->max_bw_bps[0], b->max_bw_bps[1]);
}

/* The bandwidth in use. */
static u64 bw_bps(const struct bbr3 *b)
{
	return min(max_bw_bps(b), b->bw_shortterm_bps);
}

static bool in_probe_bw(const struct bbr3 *b)
{
	return b->state >= DOWN && b->state <= UP;
}

/* In these states more may be sent than is known to fit the path. */
static bool is_probing(const struct bbr3 *b)
{
	return b->state == STARTUP || b->state == REFILL || b->state == UP;
}

static u32 min_pipe_bytes(const struct tcon_cc *cc)
{
	return MIN_PIPE_SEGS * cc->mss_bytes;
}

/* @bytes times a parameter in thousandths. */
static u32 milli_bytes(const struct tcon_cc *cc, u32 bytes, int param)
{
	return div_u64((u64)bytes * (u32)cc->params[param], 1000);
}

static u32 bdp_bytes(const struct tcon_cc *cc, u64 bps, u32 gain)
{
	const struct bbr3 *b = tcon_cc_priv(cc);

	if (b->min_rtt_us == TCON_RTT_NONE_US)
		return TCON_INIT_CWND_SEGS * cc->mss_bytes;
	return tcon_bw_gain_bytes(tcon_bw_bytes(bps, b->min_rtt_us), gain);
}

/* Draft, QuantizationBudget() */
static u32 with_burst_room(const struct tcon_cc *cc, u64 bytes)
{
	const struct bbr3 *b = tcon_cc_priv(cc);

	bytes = max3(bytes, (u64)QUANTA_IN_FLIGHT * tcon_cc_quantum_bytes(cc),
		     (u64)min_pipe_bytes(cc));
	if (b->state == UP)
		bytes += 2 * cc->mss_bytes;
	return min_t(u64, bytes, TCON_CWND_MAX_BYTES);
}

/* Draft, Inflight(1.0) */
static u32 pipe_bytes(const struct tcon_cc *cc, u64 bps)
{
	return with_burst_room(cc, bdp_bytes(cc, bps, GAIN_UNIT));
}

/* Draft, TargetInflight() */
static u32 target_bytes(const struct tcon_cc *cc)
{
	return min(bdp_bytes(cc, bw_bps(tcon_cc_priv(cc)), GAIN_UNIT),
		   cc->cwnd_bytes);
}

/* Draft, InflightWithHeadroom() */
static u32 headroom_bytes(const struct tcon_cc *cc)
{
	const struct bbr3 *b = tcon_cc_priv(cc);
	u32 room;

	if (b->longterm_bytes == NONE_BYTES)
		return NONE_BYTES;
	room = max(cc->mss_bytes,
		   milli_bytes(cc, b->longterm_bytes, PARAM_HEADROOM));
	return max(b->longterm_bytes - min(room, b->longterm_bytes),
		   min_pipe_bytes(cc));
}

/*
 * Until the pipe has been full the rate only rises, because the first rate samples, of an
 * initial window, are small.
 */
static void set_pacing_rate(struct tcon_cc *cc, u64 bps, u32 gain)
{
	struct bbr3 *b = tcon_cc_priv(cc);
	u64 rate;

	if (!b->rtt_seen && cc->srtt_us) {
		b->rtt_seen = true;
		cc->pacing_rate_bps = tcon_bw_paced(cc, tcon_bw_of_cwnd(cc),
						    gains_of(b, STARTUP)->pacing);
	}
	rate = tcon_bw_paced(cc, bps, gain);
	if (b->full_bw_reached || rate > cc->pacing_rate_bps)
		cc->pacing_rate_bps = rate;
}

static void save_cwnd(struct tcon_cc *cc)
{
	struct bbr3 *b = tcon_cc_priv(cc);

	if (cc->ca_state == TCON_CA_OPEN && b->state != PROBE_RTT)
		b->prior_cwnd_bytes = cc->cwnd_bytes;
	else
		b->prior_cwnd_bytes = max(b->prior_cwnd_bytes, cc->cwnd_bytes);
}

static void restore_cwnd(struct tcon_cc *cc)
{
	const struct bbr3 *b = tcon_cc_priv(cc);

	cc->cwnd_bytes = max(cc->cwnd_bytes, b->prior_cwnd_bytes);
}

/* Resets */

static void start_round(struct tcon_cc *cc)
{
	struct bbr3 *b = tcon_cc_priv(cc);

	b->round_end_delivered = cc->delivered_bytes;
}

static void reset_full_bw(struct bbr3 *b, u64 baseline_bps)
{
	b->full_bw_bps = baseline_bps;
	b->full_bw_rounds = 0;
	b->full_bw_now = false;
}

static void reset_congestion(struct bbr3 *b)
{
	b->loss_in_round = false;
	b->ecn_in_round = false;
	b->bw_latest_bps = 0;
	b->latest_bytes = 0;
}

static void reset_shortterm(struct bbr3 *b)
{
	b->bw_shortterm_bps = NONE_BPS;
	b->shortterm_bytes = NONE_BYTES;
}

/* Changes of state */

static void enter_down(struct tcon_cc *cc, u64 now_us)
{
	struct bbr3 *b = tcon_cc_priv(cc);

	reset_congestion(b);
	b->up_bytes_per_seg = NONE_BYTES;
	b->rounds_since_probe = reciprocal_scale(get_random_u32(),
						 PROBE_RANDOM_ROUNDS);
	b->probe_wait_us = PROBE_WAIT_US +
			   reciprocal_scale(get_random_u32(),
					    PROBE_WAIT_RANDOM_US);
	b->cycle_at_us = now_us;
	b->ack_phase = ACKS_PROBE_STOPPING;
	b->state = DOWN;
	start_round(cc);
}

static void enter_refill(struct tcon_cc *cc)
{
	struct bbr3 *b = tcon_cc_priv(cc);

	reset_shortterm(b);
	b->up_rounds = 0;
	b->up_acked_bytes = 0;
	b->prev_precautionary = false;
	b->ack_phase = ACKS_REFILLING;
	b->state = REFILL;
	start_round(cc);
}

/* 1, 2, 4 ... segments per round. */
static void raise_slope(struct tcon_cc *cc)
{
	struct bbr3 *b = tcon_cc_priv(cc);

	b->up_bytes_per_seg = max(cc->cwnd_bytes >> b->up_rounds,
				  cc->mss_bytes);
	b->up_rounds = min(b->up_rounds + 1, UP_ROUNDS_MAX);
}

static void enter_up(struct tcon_cc *cc, u64 bps, u64 now_us)
{
	struct bbr3 *b = tcon_cc_priv(cc);

	b->is_probe_sample = true;
	b->ack_phase = ACKS_PROBE_STARTING;
	reset_full_bw(b, bps);
	tcon_bw_round_begin(&b->pipe);
	b->cycle_at_us = now_us;
	b->state = UP;
	raise_slope(cc);
	start_round(cc);
}

static void enter_probe_rtt(struct tcon_cc *cc)
{
	struct bbr3 *b = tcon_cc_priv(cc);

	save_cwnd(cc);
	b->state = PROBE_RTT;
	b->probe_rtt_end_us = 0;
	b->ack_phase = ACKS_PROBE_STOPPING;
	start_round(cc);
}

/* Slow start is over.  Tells the CC that may come next, by an ssthresh. */
static void note_slow_start(struct tcon_cc *cc)
{
	cc->ssthresh_bytes = pipe_bytes(cc, max_bw_bps(tcon_cc_priv(cc)));
}

static void exit_probe_rtt(struct tcon_cc *cc, u64 now_us)
{
	struct bbr3 *b = tcon_cc_priv(cc);

	b->empties = false;
	reset_shortterm(b);
	b->state = STARTUP;
	if (!b->full_bw_reached)
		return;
	note_slow_start(cc);
	enter_down(cc, now_us);
	b->state = CRUISE;	/* less than a BDP is in flight */
}

/* Losses and marks */

/* Draft, IsInflightTooHigh(); marks count as in Google's */
static bool is_too_high(const struct tcon_cc *cc,
			const struct tcon_rate_sample *rs)
{
	if (rs->lost_bytes > milli_bytes(cc, rs->tx_in_flight_bytes,
					 PARAM_LOSS_THRESH) &&
	    rs->tx_in_flight_bytes)
		return true;
	return rs->delivered_bytes > 0 &&
	       rs->delivered_ce_bytes > rs->delivered_bytes / ECN_THRESH_DIV;
}

/* Draft, HandleInflightTooHigh(): once per probe */
static void handle_too_high(struct tcon_cc *cc, u32 flight_bytes,
			    bool is_app_limited, u64 now_us)
{
	struct bbr3 *b = tcon_cc_priv(cc);

	b->prev_too_high = true;
	b->is_probe_sample = false;
	if (!is_app_limited)
		b->longterm_bytes = max(flight_bytes,
					milli_bytes(cc, target_bytes(cc),
						    PARAM_BETA));
	if (b->state == UP) {
		b->undo_state = UP;
		enter_down(cc, now_us);
	}
}

static void note_loss(struct tcon_cc *cc)
{
	struct bbr3 *b = tcon_cc_priv(cc);

	if (!b->loss_in_round)
		b->loss_round_end_delivered = cc->delivered_bytes;
	b->loss_in_round = true;
}

/* Draft, AdaptLowerBoundsFromCongestion(); alpha / 3 for marks: Google */
static void adapt_shortterm(struct tcon_cc *cc)
{
	struct bbr3 *b = tcon_cc_priv(cc);
	u32 marked = NONE_BYTES, base = b->shortterm_bytes;

	if (base == NONE_BYTES)
		base = cc->cwnd_bytes;
	if (b->ecn_in_round)
		marked = base - div_u64((u64)base * b->ecn_alpha,
					ECN_FACTOR_DIV * ECN_ALPHA_UNIT);
	if (b->loss_in_round) {
		if (b->bw_shortterm_bps == NONE_BPS)
			b->bw_shortterm_bps = max_bw_bps(b);
		b->bw_shortterm_bps =
			max(b->bw_latest_bps,
			    div_u64(b->bw_shortterm_bps *
				    (u32)cc->params[PARAM_BETA], 1000));
		b->shortterm_bytes = max(b->latest_bytes,
					 milli_bytes(cc, base, PARAM_BETA));
	}
	b->shortterm_bytes = min(b->shortterm_bytes, marked);
}

/*
 * Was something judged lost since the last call?  By an ACK, or by a timer between two
 * ACKs (RFC 8985).
 */
static bool has_lost(struct tcon_cc *cc)
{
	struct bbr3 *b = tcon_cc_priv(cc);
	bool lost = b->lost_bytes != (u32)cc->lost_bytes;

	b->lost_bytes = cc->lost_bytes;
	return lost;
}

/* STARTUP has sent more than the pipe holds. */
static void startup_too_high(struct tcon_cc *cc)
{
	struct bbr3 *b = tcon_cc_priv(cc);

	b->undo_state = STARTUP;
	b->full_bw_now = true;
	b->full_bw_reached = true;
	b->longterm_bytes = bdp_bytes(cc, bw_bps(b), GAIN_UNIT);
	if (!b->is_v2)
		b->longterm_bytes = max(b->longterm_bytes, b->latest_bytes);
}

/* Once per round */
static void update_ecn_alpha(struct tcon_cc *cc)
{
	struct bbr3 *b = tcon_cc_priv(cc);
	u32 delivered = (u32)cc->delivered_bytes - b->ecn_delivered;
	u32 marked = (u32)cc->delivered_ce_bytes - b->ecn_delivered_ce;
	u32 share;

	if (!delivered)
		return;
	marked = min(marked, delivered);
	share = div_u64((u64)marked * ECN_ALPHA_UNIT, delivered);
	b->ecn_alpha -= b->ecn_alpha >> ECN_ALPHA_SHIFT;
	b->ecn_alpha += share >> ECN_ALPHA_SHIFT;
	b->ecn_delivered = cc->delivered_bytes;
	b->ecn_delivered_ce = cc->delivered_ce_bytes;
	if (b->state != STARTUP || !marked ||
	    marked < delivered / ECN_THRESH_DIV)
		b->startup_ecn_rounds = 0;
	else if (++b->startup_ecn_rounds >= STARTUP_ECN_ROUNDS)
		startup_too_high(cc);
}

/* Draft, CheckStartupHighLoss() */
static void check_startup_loss(struct tcon_cc *cc,
			       const struct tcon_rate_sample *rs, bool lost)
{
	struct bbr3 *b = tcon_cc_priv(cc);
	u8 most = b->is_v2 ? STARTUP_LOSSES_V2 : STARTUP_LOSSES;

	if (lost && b->startup_losses < most)
		b->startup_losses++;
	if (!b->loss_round_start)
		return;
	if (b->state == STARTUP && cc->ca_state == TCON_CA_RECOVERY &&
	    b->startup_losses >= most && is_too_high(cc, rs))
		startup_too_high(cc);
	b->startup_losses = 0;
}

/* The model */

static void update_round(struct tcon_cc *cc, const struct tcon_rate_sample *rs)
{
	struct bbr3 *b = tcon_cc_priv(cc);

	b->round_start = rs->prior_delivered >= b->round_end_delivered;
	if (!b->round_start)
		return;
	start_round(cc);
	b->round++;
	b->rounds_since_probe = min(b->rounds_since_probe + 1, 255);
	b->drain_rounds = min(b->drain_rounds + 1, 255);
	update_ecn_alpha(cc);
}

/* If the guest limited the rate, the sample is only a lower bound. */
static void update_max_bw(struct bbr3 *b, const struct tcon_rate_sample *rs,
			  u64 bps)
{
	if (!rs->is_app_limited || bps >= max_bw_bps(b))
		b->max_bw_bps[1] = max(b->max_bw_bps[1], bps);
}

static void advance_max_bw(struct bbr3 *b)
{
	if (!b->max_bw_bps[1])
		return;
	b->max_bw_bps[0] = b->max_bw_bps[1];
	b->max_bw_bps[1] = 0;
}

/* Draft, UpdateLatestDeliverySignals() and UpdateCongestionSignals() */
static void update_congestion(struct tcon_cc *cc,
			      const struct tcon_rate_sample *rs, u64 bps)
{
	struct bbr3 *b = tcon_cc_priv(cc);

	b->bw_latest_bps = max(b->bw_latest_bps, bps);
	b->latest_bytes = max_t(u64, b->latest_bytes,
				min_t(u64, rs->delivered_bytes,
				      TCON_CWND_MAX_BYTES));
	b->loss_round_start = rs->prior_delivered >=
			      b->loss_round_end_delivered;
	if (b->loss_round_start)
		b->loss_round_end_delivered = cc->delivered_bytes;
	update_max_bw(b, rs, bps);
	if (!b->loss_round_start)
		return;
	if (!is_probing(b))
		adapt_shortterm(cc);
	b->loss_in_round = false;
	b->ecn_in_round = false;
}

/* Draft, AdvanceLatestDeliverySignals() */
static void advance_latest(struct bbr3 *b, const struct tcon_rate_sample *rs,
			   u64 bps)
{
	if (!b->loss_round_start)
		return;
	b->bw_latest_bps = bps;
	b->latest_bytes = min_t(u64, rs->delivered_bytes, TCON_CWND_MAX_BYTES);
}

/* Draft, UpdateACKAggregation() */
static void update_extra_acked(struct tcon_cc *cc,
			       const struct tcon_rate_sample *rs)
{
	struct bbr3 *b = tcon_cc_priv(cc);
	u32 acked = min(rs->acked_sacked_bytes, EXTRA_MAX_BYTES);
	u32 expected, extra;

	expected = tcon_bw_bytes(bw_bps(b), min_t(u64, U32_MAX, rs->now_us -
						  b->extra_at_us));
	if (b->extra_epoch_bytes <= expected ||
	    b->extra_epoch_bytes + acked > EXTRA_MAX_BYTES) {
		b->extra_epoch_bytes = 0;
		b->extra_at_us = rs->now_us;
		expected = 0;
	}
	b->extra_epoch_bytes += acked;
	extra = b->extra_epoch_bytes - min(expected, b->extra_epoch_bytes);
	tcon_filter_max(&b->extra, b->full_bw_reached ? EXTRA_WINDOW_ROUNDS : 1,
			b->round, min(extra, cc->cwnd_bytes));
}

/* Draft, CheckFullBWReached() */
static void check_full_bw(struct tcon_cc *cc, const struct tcon_rate_sample *rs,
			  u64 bps)
{
	struct bbr3 *b = tcon_cc_priv(cc);
	bool counts;

	if (b->full_bw_now ||
	    (b->state != STARTUP && (b->is_v2 || b->state != UP)))
		return;
	counts = tcon_bw_round_counts(cc, &b->pipe, rs, b->round_start);
	if (!rs->is_app_limited && bps * FULL_BW_GROWTH_DEN >=
				   b->full_bw_bps * FULL_BW_GROWTH_NUM) {
		reset_full_bw(b, bps);
		return;
	}
	if (!counts || ++b->full_bw_rounds < FULL_BW_ROUNDS)
		return;
	b->full_bw_now = true;
	b->full_bw_reached = true;
}

static void check_drain(struct tcon_cc *cc, u64 now_us)
{
	struct bbr3 *b = tcon_cc_priv(cc);

	if (b->state == STARTUP && b->full_bw_reached) {
		b->state = DRAIN;
		b->drain_rounds = 0;
		note_slow_start(cc);
	}
	if (b->state == DRAIN &&
	    (cc->inflight_bytes <= pipe_bytes(cc, bw_bps(b)) ||
	     (!b->is_v2 && b->drain_rounds > DRAIN_ROUNDS)))
		enter_down(cc, now_us);
}

/* PROBE_BW */

/* Draft, IsTimeToProbeBW() */
static bool is_time_to_probe(const struct tcon_cc *cc, u64 now_us)
{
	const struct bbr3 *b = tcon_cc_priv(cc);

	return now_us - b->cycle_at_us > b->probe_wait_us ||
	       b->rounds_since_probe >= min_t(u32, PROBE_MAX_ROUNDS,
					      DIV_ROUND_UP(target_bytes(cc),
							   cc->mss_bytes));
}

/* Draft, IsTimeToCruise() */
static bool is_time_to_cruise(const struct tcon_cc *cc)
{
	const struct bbr3 *b = tcon_cc_priv(cc);

	return cc->inflight_bytes <= headroom_bytes(cc) &&
	       cc->inflight_bytes <= pipe_bytes(cc, max_bw_bps(b));
}

/* Draft of version 2, BBRCheckProbeBW() in UP: has a round trip seen what UP wants in flight? */
static bool has_probed_v2(const struct tcon_cc *cc, u64 now_us)
{
	const struct bbr3 *b = tcon_cc_priv(cc);
	u32 wanted = bdp_bytes(cc, max_bw_bps(b), gains_of(b, UP)->pacing);

	return now_us - b->cycle_at_us > b->min_rtt_us &&
	       cc->inflight_bytes >= with_burst_room(cc, wanted);
}

/* Draft, IsTimeToGoDown() */
static bool is_time_to_go_down(struct tcon_cc *cc,
			       const struct tcon_rate_sample *rs, u64 bps)
{
	struct bbr3 *b = tcon_cc_priv(cc);

	if (b->prev_too_high && cc->inflight_bytes >= b->longterm_bytes) {
		b->prev_precautionary = true;
		return true;
	}
	if (b->is_v2)
		return has_probed_v2(cc, rs->now_us);
	if (rs->is_cwnd_limited && cc->cwnd_bytes >= b->longterm_bytes) {
		reset_full_bw(b, bps);
		return false;
	}
	return b->full_bw_now;
}

/* Draft, ProbeInflightLongtermUpward() */
static void raise_longterm(struct tcon_cc *cc,
			   const struct tcon_rate_sample *rs)
{
	struct bbr3 *b = tcon_cc_priv(cc);
	u64 acked = (u64)b->up_acked_bytes + rs->acked_sacked_bytes, segs;

	if (!rs->is_cwnd_limited || cc->cwnd_bytes < b->longterm_bytes)
		return;
	segs = div_u64_rem(acked, b->up_bytes_per_seg, &b->up_acked_bytes);
	b->longterm_bytes = min_t(u64, b->longterm_bytes + segs * cc->mss_bytes,
				  TCON_CWND_MAX_BYTES);
	if (b->round_start)
		raise_slope(cc);
}

/*
 * Draft, AdaptLongTermModel().
 * Return: whether the state has changed.
 */
static bool adapt_longterm(struct tcon_cc *cc,
			   const struct tcon_rate_sample *rs)
{
	struct bbr3 *b = tcon_cc_priv(cc);

	if (b->ack_phase == ACKS_PROBE_STARTING && b->round_start)
		b->ack_phase = ACKS_PROBE_FEEDBACK;
	if (b->ack_phase == ACKS_PROBE_STOPPING && b->round_start) {
		b->is_probe_sample = false;
		b->ack_phase = ACKS_INIT;
		if (in_probe_bw(b) && !rs->is_app_limited)
			advance_max_bw(b);
		if (in_probe_bw(b) && b->prev_precautionary &&
		    !b->prev_too_high) {
			enter_refill(cc);
			return true;
		}
	}
	if (is_too_high(cc, rs)) {
		if (b->is_probe_sample)
			handle_too_high(cc, rs->tx_in_flight_bytes,
					rs->is_app_limited, rs->now_us);
	} else if (b->longterm_bytes != NONE_BYTES) {
		b->longterm_bytes = max(b->longterm_bytes,
					rs->tx_in_flight_bytes);
		if (b->state == UP)
			raise_longterm(cc, rs);
	}
	return false;
}

/* Draft, UpdateProbeBWCyclePhase() */
static void update_cycle(struct tcon_cc *cc, const struct tcon_rate_sample *rs,
			 u64 bps)
{
	struct bbr3 *b = tcon_cc_priv(cc);

	if (!b->full_bw_reached || adapt_longterm(cc, rs))
		return;
	switch (b->state) {
	case DOWN:
	case CRUISE:
		if (is_time_to_probe(cc, rs->now_us))
			enter_refill(cc);
		else if (b->state == DOWN && is_time_to_cruise(cc))
			b->state = CRUISE;
		break;
	case REFILL:
		if (b->round_start)
			enter_up(cc, bps, rs->now_us);
		break;
	case UP:
		if (!is_time_to_go_down(cc, rs, bps))
			break;
		b->prev_too_high = false;	/* as far as is known */
		enter_down(cc, rs->now_us);
		break;
	}
}

/* PROBE_RTT */

static u32 probe_rtt_bytes(const struct tcon_cc *cc)
{
	const struct bbr3 *b = tcon_cc_priv(cc);
	u32 bytes = bdp_bytes(cc, bw_bps(b), gains_of(b, PROBE_RTT)->cwnd);

	return b->empties ? min_pipe_bytes(cc) :
			    max(bytes, min_pipe_bytes(cc));
}

static void check_probe_rtt_done(struct tcon_cc *cc, u64 now_us)
{
	struct bbr3 *b = tcon_cc_priv(cc);

	if (!b->probe_rtt_end_us || now_us <= b->probe_rtt_end_us)
		return;
	b->probe_rtt_min_at_us = now_us;
	restore_cwnd(cc);
	exit_probe_rtt(cc, now_us);
}

/* Rates are low because little is in flight, so samples are marked as app-limited. */
static void run_probe_rtt(struct tcon_cc *cc, u64 now_us)
{
	struct bbr3 *b = tcon_cc_priv(cc);
	u64 until = cc->delivered_bytes + cc->inflight_bytes;

	cc->app_limited_until = max_t(u64, until, 1);
	if (!b->probe_rtt_end_us) {
		if (!tcon_bw_drained(cc, probe_rtt_bytes(cc)))
			return;
		b->probe_rtt_end_us = now_us + USEC_PER_MSEC *
				      cc->params[PARAM_PROBE_RTT_MS];
		b->probe_rtt_round_done = false;
		start_round(cc);
		return;
	}
	if (b->round_start)
		b->probe_rtt_round_done = true;
	if (b->probe_rtt_round_done)
		check_probe_rtt_done(cc, now_us);
}

/*
 * Draft, UpdateMinRTT(); a delayed ACK does not replace an expired RTT (Google).
 * Return: whether it is time for PROBE_RTT.
 */
static bool update_min_rtt(struct bbr3 *b, const struct tcon_rate_sample *rs)
{
	bool expired = rs->now_us - b->probe_rtt_min_at_us >
		       PROBE_RTT_INTERVAL_US;

	if (rs->rtt_us >= 0 && (rs->rtt_us < b->probe_rtt_min_us ||
				(expired && !rs->is_ack_delayed))) {
		b->probe_rtt_min_us = clamp_t(s64, rs->rtt_us, 1,
					      TCON_RTT_NONE_US - 1);
		b->probe_rtt_min_at_us = rs->now_us;
	}
	if (b->probe_rtt_min_us <= b->min_rtt_us ||
	    rs->now_us - b->min_rtt_at_us > MIN_RTT_WINDOW_US) {
		b->min_rtt_us = b->probe_rtt_min_us;
		b->min_rtt_at_us = b->probe_rtt_min_at_us;
	}
	return expired;
}

/* Draft, CheckProbeRTT() */
static void check_probe_rtt(struct tcon_cc *cc,
			    const struct tcon_rate_sample *rs, bool expired)
{
	struct bbr3 *b = tcon_cc_priv(cc);

	if (expired && !b->idle_restart && b->state != PROBE_RTT)
		enter_probe_rtt(cc);
	if (b->state == PROBE_RTT)
		run_probe_rtt(cc, rs->now_us);
	if (rs->delivered_bytes > 0)
		b->idle_restart = false;
}

static void update_model(struct tcon_cc *cc, const struct tcon_rate_sample *rs)
{
	bool sampled = rs->delivered_bytes >= 0 && rs->interval_us > 0;
	struct bbr3 *b = tcon_cc_priv(cc);
	bool lost = has_lost(cc);
	u64 bps = 0;

	b->round_start = false;
	b->loss_round_start = false;
	if (lost)
		note_loss(cc);
	b->ecn_in_round |= rs->is_ece;
	if (sampled) {
		bps = tcon_bw_of(rs->delivered_bytes, rs->interval_us);
		update_round(cc, rs);
		update_congestion(cc, rs, bps);
		update_extra_acked(cc, rs);
		check_full_bw(cc, rs, bps);
	}
	check_startup_loss(cc, rs, lost);
	check_drain(cc, rs->now_us);
	update_cycle(cc, rs, bps);
	check_probe_rtt(cc, rs, update_min_rtt(b, rs));
	if (sampled)
		advance_latest(b, rs, bps);
}

/* Draft, BoundCwndForModel() */
static u32 bound_bytes(const struct tcon_cc *cc)
{
	const struct bbr3 *b = tcon_cc_priv(cc);
	u32 bound = NONE_BYTES;

	if (b->state == CRUISE || b->state == PROBE_RTT)
		bound = headroom_bytes(cc);
	else if (in_probe_bw(b))
		bound = b->longterm_bytes;
	return max(min(bound, b->shortterm_bytes), min_pipe_bytes(cc));
}

/* Draft, SetCwnd() */
static void set_cwnd(struct tcon_cc *cc, const struct tcon_rate_sample *rs)
{
	const struct bbr3 *b = tcon_cc_priv(cc);
	u32 acked = min(rs->acked_sacked_bytes, TCON_CWND_MAX_BYTES);
	u32 cwnd = min(cc->cwnd_bytes, TCON_CWND_MAX_BYTES), most;

	most = with_burst_room(cc, (u64)bdp_bytes(cc, bw_bps(b),
						  gains_of(b, b->state)->cwnd) +
				   tcon_filter_get(&b->extra));
	if (b->full_bw_reached)
		cwnd = min(cwnd + acked, most);
	else if (cwnd < most || cc->delivered_bytes <
		 TCON_INIT_CWND_SEGS * cc->mss_bytes)
		cwnd += acked;
	cwnd = max(cwnd, min_pipe_bytes(cc));
	if (b->state == PROBE_RTT)
		cwnd = min(cwnd, probe_rtt_bytes(cc));
	cwnd = min(cwnd, bound_bytes(cc));
	cc->cwnd_bytes = min(cwnd, TCON_CWND_MAX_BYTES);
}

static void tcon_bbr3_cong_control(struct tcon_cc *cc,
				   const struct tcon_rate_sample *rs)
{
	struct bbr3 *b = tcon_cc_priv(cc);

	update_model(cc, rs);
	set_pacing_rate(cc, bw_bps(b), gains_of(b, b->state)->pacing);
	set_cwnd(cc, rs);
}

/* Draft, SaveStateUponLoss() */
static void save_state(struct tcon_cc *cc)
{
	struct bbr3 *b = tcon_cc_priv(cc);

	save_cwnd(cc);
	b->undo_state = NO_STATE;
	b->undo_bw_shortterm_bps = b->bw_shortterm_bps;
	b->undo_shortterm_bytes = b->shortterm_bytes;
	b->undo_longterm_bytes = b->longterm_bytes;
}

/*
 * A time-out.  The path may be another, so we look for growth again.  The flight
 * to reduce is the one before the time-out (Google).  All of it counts as lost, except what is
 * known to have arrived behind a hole.  In a probe that is too high.
 */
static void enter_loss(struct tcon_cc *cc, u64 now_us)
{
	struct bbr3 *b = tcon_cc_priv(cc);
	u32 least = TCON_MIN_CWND_SEGS * cc->mss_bytes;

	if (b->is_probe_sample)
		handle_too_high(cc, min(cc->nxt - cc->una, cc->cwnd_bytes),
				cc->app_limited_until, now_us);
	note_loss(cc);
	reset_full_bw(b, 0);
	if (!is_probing(b) && b->shortterm_bytes == NONE_BYTES)
		b->shortterm_bytes = b->prior_cwnd_bytes;
	cc->cwnd_bytes = clamp(cc->inflight_bytes + cc->mss_bytes, least,
			       max(cc->cwnd_bytes, least));
}

static void tcon_bbr3_set_state(struct tcon_cc *cc, enum tcon_ca_state state,
				u64 now_us)
{
	if (state == TCON_CA_OPEN) {
		restore_cwnd(cc);
		return;
	}
	if (cc->ca_state != TCON_CA_LOSS)
		save_state(cc);
	if (state == TCON_CA_LOSS)
		enter_loss(cc, now_us);
}

/*
 * Draft, HandleRestartFromIdle(): the pipe is empty, so restart at the measured rate.  Not if the
 * guest had more to send, and only its window was full: with one segment in flight the pipe is
 * empty each time.
 */
static void tcon_bbr3_cwnd_event(struct tcon_cc *cc, enum tcon_ca_event event,
				 u64 now_us)
{
	struct bbr3 *b = tcon_cc_priv(cc);

	if (event != TCON_CA_EVENT_TX_START || !tcon_cc_was_idle(cc))
		return;
	b->idle_restart = true;
	b->extra_at_us = now_us;
	b->extra_epoch_bytes = 0;
	if (in_probe_bw(b))
		set_pacing_rate(cc, bw_bps(b), GAIN_UNIT);
	else if (b->state == PROBE_RTT)
		check_probe_rtt_done(cc, now_us);
}

/* Draft, HandleSpuriousLossDetection() */
static void tcon_bbr3_undo_cwnd(struct tcon_cc *cc)
{
	struct bbr3 *b = tcon_cc_priv(cc);
	u8 state = b->undo_state;

	restore_cwnd(cc);
	b->lost_bytes = cc->lost_bytes;
	b->loss_in_round = false;
	reset_full_bw(b, 0);
	b->bw_shortterm_bps = max(b->bw_shortterm_bps,
				  b->undo_bw_shortterm_bps);
	b->shortterm_bytes = max(b->shortterm_bytes, b->undo_shortterm_bytes);
	b->longterm_bytes = max(b->longterm_bytes, b->undo_longterm_bytes);
	b->undo_state = NO_STATE;
	if (state == STARTUP && b->state != STARTUP) {
		b->full_bw_reached = false;
		if (b->state != PROBE_RTT)
			b->state = STARTUP;
	} else if (state == UP && b->state != UP && b->state != PROBE_RTT) {
		enter_refill(cc);
	}
}

/*
 * A live switch.  If the first rate is wrong, it leaves with the next probe cycle.  The
 * tracker's min_rtt may be minutes old, and of another path.  It counts as expired, because
 * PROBE_RTT measures it again.
 */
static void resume(struct tcon_cc *cc, u64 now_us)
{
	struct bbr3 *b = tcon_cc_priv(cc);

	b->max_bw_bps[1] = tcon_bw_start(cc);
	if (!tcon_bw_fills_pipe(cc))
		return;
	b->full_bw_reached = true;
	b->empties = true;
	b->min_rtt_at_us = now_us - MIN_RTT_WINDOW_US - 1;
	b->probe_rtt_min_at_us = b->min_rtt_at_us;
	enter_probe_rtt(cc);
}

static void init_model(struct tcon_cc *cc, u64 now_us)
{
	struct bbr3 *b = tcon_cc_priv(cc);

	b->loss_round_end_delivered = cc->delivered_bytes;
	b->lost_bytes = cc->lost_bytes;
	b->ecn_delivered = cc->delivered_bytes;
	b->ecn_delivered_ce = cc->delivered_ce_bytes;
	b->ecn_alpha = ECN_ALPHA_UNIT;
	b->min_rtt_us = cc->min_rtt_us;
	b->min_rtt_at_us = now_us;
	b->probe_rtt_min_us = cc->min_rtt_us;
	b->probe_rtt_min_at_us = now_us;
	b->extra_at_us = now_us;
	b->longterm_bytes = NONE_BYTES;
	b->up_bytes_per_seg = NONE_BYTES;
	b->undo_state = NO_STATE;
	b->undo_longterm_bytes = NONE_BYTES;
	reset_shortterm(b);
	tcon_bw_round_begin(&b->pipe);
	start_round(cc);
}

/*
 * cwnd starts from what is in flight, but not below the initial window of RFC 6928: the
 * guest may just have nothing to send.
 */
static void bbr3_begin(struct tcon_cc *cc, u64 now_us, bool is_v2)
{
	struct bbr3 *b = tcon_cc_priv(cc);

	BUILD_BUG_ON(sizeof(struct bbr3) > TCON_CC_PRIV_BYTES);
	b->is_v2 = is_v2;
	b->prior_cwnd_bytes = cc->cwnd_bytes;
	b->state = STARTUP;
	init_model(cc, now_us);
	if (cc->last_rate_bps)
		resume(cc, now_us);
	b->rtt_seen = cc->srtt_us;
	set_pacing_rate(cc, max(bw_bps(b), tcon_bw_of_cwnd(cc)),
			gains_of(b, b->state)->pacing);
}

static u64 shown(u64 value, u64 none)
{
	return value == none ? 0 : value;
}

/* An absent bound is shown as 0. */
static int tcon_bbr3_get_info(const struct tcon_cc *cc, char *buf, int size)
{
	const struct bbr3 *b = tcon_cc_priv(cc);

	return scnprintf(buf, size,
			 "mode=%s bw_bps=%llu max_bw_bps=%llu min_rtt_us=%u longterm_bytes=%llu shortterm_bytes=%llu",
			 state_names[b->state], bw_bps(b), max_bw_bps(b),
			 b->min_rtt_us, shown(b->longterm_bytes, NONE_BYTES),
			 shown(b->shortterm_bytes, NONE_BYTES));
}

#endif /* _TCON_BBR3_H */
