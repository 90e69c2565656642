// SPDX-License-Identifier: GPL-2.0-only
/*
 * BBR (algorithms/bbr.c) against values computed by hand from the draft's
 * formulas, and in a closed loop.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "algorithms/bbr.c"
#include "algorithms/cubic.c"
#include "model_flow.h"
#include "sim.h"

static s64 cubic_defaults[ARRAY_SIZE(cubic_params)];

static void default_params(void)
{
	int i;

	reset(&bbr_ops);
	for (i = 0; i < ARRAY_SIZE(cubic_defaults); i++)
		cubic_defaults[i] = cubic_params[i].def;
}

static struct bbr *priv(const struct flow *f)
{
	return tcon_cc_priv(&f->cc);
}

/* To PROBE_BW at 80 Mbit/s and 10 ms: a BDP of 100 segments. */
static void to_probe_bw(struct flow *f)
{
	int i;

	start(f, &bbr_ops);
	f->cc.inflight_bytes = SEGS(200);
	for (i = 0; i < 4; i++)
		ack(f, RTT_US, SEGS(100), 80 * MBPS, true);
	assert_int_equal(priv(f)->mode, BBR_DRAIN);
	f->cc.inflight_bytes = SEGS(100);
	ack(f, RTT_US, MSS, 80 * MBPS, true);
	assert_int_equal(priv(f)->mode, BBR_PROBE_BW);
}

/*
 * First rate: 10 segments per 10 ms are 8 Mbit/s; times 739/256 and 0.99, with
 * integer divisions: 8000000 * 739 / 256 = 23093750, * 0.99 = 22862812.
 * Without an RTT, 1 ms is assumed: 228628125.
 */
static void initial_rate(void **state)
{
	struct flow f;

	start(&f, &bbr_ops);
	assert_int_equal(f.cc.pacing_rate_bps, 22862812);
	assert_int_equal(priv(&f)->mode, BBR_STARTUP);

	f.cc.srtt_us = 0;
	f.cc.min_rtt_us = TCON_RTT_NONE_US;
	take_over(&f);
	assert_int_equal(f.cc.pacing_rate_bps, 228628125);
	/* The first RTT sample corrects it. */
	f.cc.srtt_us = RTT_US;
	ack(&f, RTT_US, MSS, 8 * MBPS, true);
	assert_int_equal(f.cc.pacing_rate_bps, 22862812);
}

/* 80 Mbit/s * 739/256 * 0.99 = 228628125; a lower rate does not lower it. */
static void startup_rate(void **state)
{
	struct flow f;

	start(&f, &bbr_ops);
	ack(&f, RTT_US, SEGS(10), 80 * MBPS, true);
	assert_int_equal(f.cc.pacing_rate_bps, 228628125);
	assert_int_equal(f.cc.cwnd_bytes, SEGS(20));
	tcon_filter_reset(&priv(&f)->bw, 0, 0);
	ack(&f, RTT_US, SEGS(10), 40 * MBPS, false);
	assert_int_equal(f.cc.pacing_rate_bps, 228628125);
}

/*
 * STARTUP ends when three rounds in a row have not grown by 25 %: 10, 20, 25
 * (exactly a quarter more: growth), 31, 31, 31: the third of these ends it.
 */
static void startup_exit(void **state)
{
	static const u64 mbps[] = { 10, 20, 25, 31, 31 };
	struct flow f;
	int i;

	start(&f, &bbr_ops);
	for (i = 0; i < ARRAY_SIZE(mbps); i++) {
		ack(&f, RTT_US, SEGS(10), mbps[i] * MBPS, true);
		ack(&f, 10, MSS, mbps[i] * MBPS, false); /* within the round */
		assert_int_equal(priv(&f)->mode, BBR_STARTUP);
	}
	f.cc.inflight_bytes = SEGS(200);
	ack(&f, RTT_US, SEGS(10), 31 * MBPS, true);
	assert_int_equal(priv(&f)->mode, BBR_DRAIN);
	assert_true(priv(&f)->full_bw_reached);
	/* ssthresh: BDP 38750, three quanta of 1 ms at STARTUP's rate
	 * (31 * 2.887 * 0.99 = 88.593 Mbit/s: 11074 bytes), even segments.
	 */
	assert_int_equal(f.cc.ssthresh_bytes, SEGS(72));
}

/* App-limited rounds end nothing, and do not lower the estimate. */
static void app_limited(void **state)
{
	struct flow f;
	int i;

	start(&f, &bbr_ops);
	ack(&f, RTT_US, SEGS(10), 80 * MBPS, true);
	f.rs.is_app_limited = true;
	for (i = 0; i < 30; i++)
		ack(&f, RTT_US, SEGS(1), 8 * MBPS, true);
	assert_int_equal(priv(&f)->mode, BBR_STARTUP);
	f.rs.rtt_us = 2 * RTT_US;	/* behind another flow's queue */
	f.rs.tx_in_flight_bytes = SEGS(9);
	for (i = 0; i < 30; i++)
		ack(&f, 2 * RTT_US, SEGS(1), 8 * MBPS, true);
	assert_int_equal(priv(&f)->mode, BBR_STARTUP);
	f.rs.rtt_us = RTT_US;
	assert_int_equal(max_bw_bps(priv(&f)), 80 * MBPS);
	/* but a larger one counts */
	ack(&f, RTT_US, SEGS(1), 90 * MBPS, true);
	assert_int_equal(max_bw_bps(priv(&f)), 90 * MBPS);
	/* 10 rounds of true samples later the old maximum is gone */
	f.rs.is_app_limited = false;
	for (i = 0; i < 10; i++) {
		ack(&f, RTT_US, SEGS(1), 8 * MBPS, true);
		assert_int_equal(max_bw_bps(priv(&f)), 90 * MBPS);
	}
	ack(&f, RTT_US, SEGS(1), 8 * MBPS, true);
	assert_int_equal(max_bw_bps(priv(&f)), 8 * MBPS);
}

/* A sample without an interval tells no rate and begins no round. */
static void no_sample(void **state)
{
	struct tcon_rate_sample rs = {
		.now_us = T0_US + RTT_US, .delivered_bytes = -1,
		.interval_us = -1, .rtt_us = 9000, .acked_bytes = MSS,
		.acked_sacked_bytes = MSS, .prior_delivered = 1 << 30,
	};
	struct flow f;

	start(&f, &bbr_ops);
	bbr_ops.cong_control(&f.cc, &rs);
	assert_int_equal(max_bw_bps(priv(&f)), 0);
	assert_int_equal(priv(&f)->round, 0);
	assert_int_equal(priv(&f)->min_rtt_us, 9000);
	assert_int_equal(f.cc.cwnd_bytes, SEGS(11));
}

/*
 * DRAIN paces at 80 Mbit/s * 88/256 * 0.99 = 27225000 until no more is in
 * flight than a BDP (100 segments) and the room for bursts: at that rate the
 * quantum of 1 ms is 3403 bytes, three of them 10209: 112 segments.
 */
static void drain(void **state)
{
	struct flow f;
	int i;

	start(&f, &bbr_ops);
	for (i = 0; i < 3; i++)
		ack(&f, RTT_US, SEGS(100), 80 * MBPS, true);
	f.cc.inflight_bytes = SEGS(288);
	ack(&f, RTT_US, SEGS(100), 80 * MBPS, true);
	assert_int_equal(priv(&f)->mode, BBR_DRAIN);
	assert_int_equal(f.cc.pacing_rate_bps, 27225000);
	f.cc.inflight_bytes = SEGS(112) + 1;
	ack(&f, 100, MSS, 80 * MBPS, false);
	assert_int_equal(priv(&f)->mode, BBR_DRAIN);
	f.cc.inflight_bytes = SEGS(112);
	ack(&f, 100, MSS, 80 * MBPS, false);
	assert_int_equal(priv(&f)->mode, BBR_PROBE_BW);
}

/* Whatever is drawn, the cycle starts in one of the seven phases but 3/4. */
static void cycle_start(void **state)
{
	u32 seen = 0, i;
	struct flow f;

	start(&f, &bbr_ops);
	for (i = 0; i < 7; i++) {
		random_fixed = i * 0x24924925U + 1;	/* i/7 of 2^32 */
		enter_probe_bw(&f.cc, f.now_us);
		seen |= 1U << priv(&f)->cycle_phase;
	}
	assert_int_equal(seen, 0xfd);
	random_fixed = U32_MAX;
	enter_probe_bw(&f.cc, f.now_us);
	assert_int_equal(priv(&f)->cycle_phase, 2);
}

/*
 * The gains of a cycle, one min_rtt each.  5/4 lasts until that much is in
 * flight or something is lost; 3/4 ends early when the queue is gone.
 */
static void cycle(void **state)
{
	static const u64 rate[] = {	/* 80 Mbit/s * gain * 0.99 */
		99000000, 59400000, 79200000, 79200000,
		79200000, 79200000, 79200000, 79200000,
	};
	struct flow f;
	int i;

	to_probe_bw(&f);
	assert_int_equal(priv(&f)->cycle_phase, 0);
	assert_int_equal(f.cc.pacing_rate_bps, rate[0]);

	/* 1.25 BDP, 3 * 12375 for bursts, even, two more: 166 segments.  The quantum
	 * that the pacer is about to send counts among them.
	 */
	f.cc.inflight_bytes = SEGS(153) - 12375;
	ack(&f, RTT_US + 1, 500, 80 * MBPS, true);
	assert_int_equal(priv(&f)->cycle_phase, 0);
	f.cc.inflight_bytes = SEGS(166) - 12375 - 500;
	ack(&f, 1, 500, 80 * MBPS, false);
	assert_int_equal(priv(&f)->cycle_phase, 1);
	assert_int_equal(f.cc.pacing_rate_bps, rate[1]);
	for (i = 2; i < 8; i++) {
		ack(&f, RTT_US, 500, 80 * MBPS, false);
		assert_int_equal(priv(&f)->cycle_phase, i - 1);
		ack(&f, 1, 500, 80 * MBPS, true);
		assert_int_equal(priv(&f)->cycle_phase, i);
		assert_int_equal(f.cc.pacing_rate_bps, rate[i]);
	}
	ack(&f, RTT_US + 1, 500, 80 * MBPS, true);
	assert_int_equal(priv(&f)->cycle_phase, 0);

	/* A loss ends 5/4, but not before a min_rtt has passed. */
	f.cc.inflight_bytes = SEGS(100);
	f.rs.losses_bytes = MSS;
	ack(&f, RTT_US, 500, 80 * MBPS, true);
	assert_int_equal(priv(&f)->cycle_phase, 0);
	ack(&f, 1, 500, 80 * MBPS, false);
	assert_int_equal(priv(&f)->cycle_phase, 1);
	f.rs.losses_bytes = 0;

	/* 3/4 ends at once: 100 + 22.3 and less is in flight. */
	ack(&f, 1, 500, 80 * MBPS, false);
	assert_int_equal(priv(&f)->cycle_phase, 2);
}

/*
 * cwnd in PROBE_BW: 2 * 100 segments + 3 * 9900 bytes (1 ms at 79.2 Mbit/s)
 * = 229700: 230 segments; in the phase of 5/4 (12375 bytes): 238 + 2.  With
 * cwnd_gain=1.5: 180 segments.
 */
static void cwnd_target(void **state)
{
	struct flow f;

	to_probe_bw(&f);
	priv(&f)->extra_bytes[0] = 0;
	priv(&f)->extra_bytes[1] = 0;
	enter_phase(&f.cc, 2, f.now_us);
	ack(&f, 1, 1, 80 * MBPS, false);
	/* bursty ACKs of the start are not part of this */
	priv(&f)->extra_bytes[0] = 0;
	priv(&f)->extra_bytes[1] = 0;
	priv(&f)->extra_epoch_bytes = 0;
	f.cc.cwnd_bytes = SEGS(1000);
	ack(&f, 1000, 1, 80 * MBPS, false);
	priv(&f)->extra_bytes[priv(&f)->extra_i] = 0;
	f.cc.cwnd_bytes = SEGS(1000);
	f.cc.delivered_bytes += 1;
	set_cwnd(&f.cc, &f.rs);
	assert_int_equal(f.cc.cwnd_bytes, SEGS(230));

	enter_phase(&f.cc, 0, f.now_us);
	f.cc.pacing_rate_bps = 99000000;
	f.cc.cwnd_bytes = SEGS(1000);
	set_cwnd(&f.cc, &f.rs);
	assert_int_equal(f.cc.cwnd_bytes, SEGS(240));

	params[PARAM_CWND_GAIN] = 1500;
	enter_phase(&f.cc, 2, f.now_us);
	f.cc.pacing_rate_bps = 79200000;
	update_gains(&f.cc);
	f.cc.cwnd_bytes = SEGS(1000);
	set_cwnd(&f.cc, &f.rs);
	assert_int_equal(f.cc.cwnd_bytes, SEGS(180));

	/* It rises by what is acknowledged, not at once. */
	f.cc.cwnd_bytes = SEGS(50);
	f.rs.acked_sacked_bytes = SEGS(2);
	set_cwnd(&f.cc, &f.rs);
	assert_int_equal(f.cc.cwnd_bytes, SEGS(52));
}

/* Quantum: one segment below 1.2 Mbit/s, two, then 1 ms, at most 64 KiB. */
static void quantum(void **state)
{
	static const struct {
		u64 bps;
		u32 bytes;
	} t[] = {
		{ 1, MSS }, { 1199999, MSS }, { 1200000, 2 * MSS },
		{ 16000000, 2000 }, { 80 * MBPS, 10000 },
		{ 524288000, 65536 }, { 400000 * MBPS, 65536 },
	};
	struct flow f;
	int i;

	start(&f, &bbr_ops);
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		f.cc.pacing_rate_bps = t[i].bps;
		assert_int_equal(tcon_cc_quantum_bytes(&f.cc), t[i].bytes);
	}
}

/* BDP: 400 Gbit/s * 10 s is 500 GB: as much as a window can be. */
static void bdp(void **state)
{
	static const struct {
		u64 bps;
		u32 rtt_us, gain, bytes;
	} t[] = {
		{ 80 * MBPS, 10000, 256, 100000 },
		{ 80 * MBPS, 10000, 320, 125000 },
		{ 80 * MBPS, 10000, 739, 288672 },	/* rounded up */
		{ 1000, 10, 256, 0 },			/* less than a byte */
		{ 1000, 10000000, 256, 1250 },
		{ 400000 * MBPS, 10, 512, 1000000 },
		{ 400000 * MBPS, 10000000, 256, TCON_CWND_MAX_BYTES },
		{ TCON_BW_MAX_BPS, U32_MAX - 1, 1024, TCON_CWND_MAX_BYTES },
	};
	struct flow f;
	int i;

	start(&f, &bbr_ops);
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		priv(&f)->min_rtt_us = t[i].rtt_us;
		assert_int_equal(bdp_bytes(&f.cc, t[i].bps, t[i].gain),
				 t[i].bytes);
	}
	priv(&f)->min_rtt_us = TCON_RTT_NONE_US;
	assert_int_equal(bdp_bytes(&f.cc, 80 * MBPS, 256), SEGS(10));
}

/*
 * PROBE_RTT: when min_rtt is more than 10 s old; four segments; 200 ms from
 * when no more is in flight, and at least a round; then cwnd and the cycle are
 * back.  Samples of that time are marked app-limited.
 */
static void probe_rtt(void **state)
{
	struct flow f;
	u32 cwnd;

	to_probe_bw(&f);
	priv(&f)->min_rtt_at_us = f.now_us;	/* confirmed now */
	f.rs.rtt_us = RTT_US + 1;
	ack(&f, 10000000, 500, 80 * MBPS, true);
	assert_int_equal(priv(&f)->mode, BBR_PROBE_BW);
	cwnd = f.cc.cwnd_bytes;
	ack(&f, 1, 500, 80 * MBPS, true);
	assert_int_equal(priv(&f)->mode, BBR_PROBE_RTT);
	assert_int_equal(priv(&f)->min_rtt_us, RTT_US + 1);
	assert_int_equal(f.cc.cwnd_bytes, SEGS(4));
	assert_int_equal(f.cc.pacing_rate_bps, 79200000);
	assert_int_equal(f.cc.app_limited_until,
			 f.cc.delivered_bytes + f.cc.inflight_bytes);
	assert_int_equal(priv(&f)->prior_cwnd_bytes, cwnd);

	f.rs.rtt_us = 9990;		/* the queue empties */
	ack(&f, 50000, 500, 80 * MBPS, true);
	assert_int_equal(priv(&f)->probe_rtt_end_us, 0);
	f.cc.inflight_bytes = SEGS(5);
	ack(&f, 1, 500, 80 * MBPS, false);
	assert_int_equal(priv(&f)->probe_rtt_end_us, 0);
	f.cc.inflight_bytes = SEGS(5) - 1;	/* what cwnd lets leave */
	ack(&f, 1000, 500, 80 * MBPS, false);
	assert_int_equal(priv(&f)->probe_rtt_end_us, f.now_us + 200000);
	ack(&f, 200001, 500, 80 * MBPS, false);	/* no round yet */
	assert_int_equal(priv(&f)->mode, BBR_PROBE_RTT);
	f.cc.ssthresh_bytes = TCON_SSTHRESH_INFINITE;	/* of a live switch */
	ack(&f, 1, 500, 80 * MBPS, true);
	assert_int_equal(priv(&f)->mode, BBR_PROBE_BW);
	assert_in_range(f.cc.ssthresh_bytes, SEGS(99), SEGS(130));	/* 9990 us */
	assert_int_equal(priv(&f)->min_rtt_us, 9990);
	assert_int_equal(priv(&f)->min_rtt_at_us, f.now_us);
	assert_in_range(f.cc.cwnd_bytes, SEGS(200), cwnd + 500);

	/* The next time it is the same: first the queue has to go. */
	f.cc.inflight_bytes = SEGS(200);
	f.rs.rtt_us = RTT_US;
	ack(&f, 10000001, 500, 80 * MBPS, true);
	assert_int_equal(priv(&f)->mode, BBR_PROBE_RTT);
	ack(&f, RTT_US, 500, 80 * MBPS, true);
	assert_int_equal(priv(&f)->mode, BBR_PROBE_RTT);
	assert_int_equal(priv(&f)->probe_rtt_end_us, 0);
}

/* A delayed ACK does not set an expired min_rtt; a lower RTT always does. */
static void min_rtt(void **state)
{
	struct flow f;

	to_probe_bw(&f);
	f.rs.rtt_us = 8000;
	f.rs.is_ack_delayed = true;
	ack(&f, 100, 500, 80 * MBPS, false);
	assert_int_equal(priv(&f)->min_rtt_us, 8000);
	f.rs.rtt_us = 50000;
	ack(&f, 10000001, 500, 80 * MBPS, false);
	assert_int_equal(priv(&f)->min_rtt_us, 8000);
	f.rs.is_ack_delayed = false;
	ack(&f, 1, 500, 80 * MBPS, false);
	assert_int_equal(priv(&f)->min_rtt_us, 50000);
}

/* After silence no PROBE_RTT (the path was empty), and a rate of gain 1. */
static void idle_restart(void **state)
{
	struct flow f;

	to_probe_bw(&f);
	assert_int_equal(f.cc.pacing_rate_bps, 99000000);
	f.now_us += 20000000;
	f.cc.app_limited_until = 1;
	bbr_ops.cwnd_event(&f.cc, TCON_CA_EVENT_TX_START, f.now_us);
	assert_int_equal(f.cc.pacing_rate_bps, 79200000);
	f.rs.rtt_us = 12000;
	ack(&f, 12000, 500, 80 * MBPS, true);
	assert_int_equal(priv(&f)->mode, BBR_PROBE_BW);
	assert_int_equal(priv(&f)->min_rtt_us, 12000);
	assert_false(priv(&f)->idle_restart);
}

/*
 * One segment in flight, and more to send: the pipe is empty each time, but nothing restarts.  At
 * gain 1 the pacer, which stays a little below the rate, would make each round longer.
 */
static void one_segment_in_flight(void **state)
{
	struct flow f;

	to_probe_bw(&f);
	f.cc.inflight_bytes = 0;
	bbr_ops.cwnd_event(&f.cc, TCON_CA_EVENT_TX_START, f.now_us);
	assert_int_equal(f.cc.pacing_rate_bps, 99000000);
	assert_false(priv(&f)->idle_restart);
}

/*
 * Recovery from cwnd 230: the ACK that shows 5 lost segments, with 180 in
 * flight after it, leaves 180 + 1; a further ACK of 2 in that round 180 + 2, not
 * less than before; in the next round growth by what is acknowledged; at the
 * end the old cwnd.
 */
static void recovery(void **state)
{
	struct flow f;

	to_probe_bw(&f);
	enter_phase(&f.cc, 2, f.now_us);
	f.cc.cwnd_bytes = SEGS(230);
	f.cc.inflight_bytes = SEGS(180);
	set_state(&f, TCON_CA_RECOVERY);
	f.rs.losses_bytes = SEGS(5);
	ack(&f, 100, SEGS(1), 80 * MBPS, false);
	assert_int_equal(f.cc.cwnd_bytes, SEGS(181));
	f.rs.losses_bytes = 0;
	ack(&f, 100, SEGS(2), 80 * MBPS, false);
	assert_int_equal(f.cc.cwnd_bytes, SEGS(182));
	ack(&f, 9000, SEGS(3), 80 * MBPS, true);
	assert_int_equal(f.cc.cwnd_bytes, SEGS(185));
	f.rs.losses_bytes = SEGS(4);
	ack(&f, 100, SEGS(1), 80 * MBPS, false);
	assert_int_equal(f.cc.cwnd_bytes, SEGS(182));
	f.rs.losses_bytes = 0;
	set_state(&f, TCON_CA_OPEN);
	ack(&f, 100, SEGS(1), 80 * MBPS, false);
	assert_in_range(f.cc.cwnd_bytes, SEGS(230), SEGS(231));
}

/* Lost as much as there is: two segments remain. */
static void recovery_floor(void **state)
{
	struct flow f;

	to_probe_bw(&f);
	f.cc.cwnd_bytes = SEGS(20);
	f.cc.inflight_bytes = 0;
	set_state(&f, TCON_CA_RECOVERY);
	f.rs.losses_bytes = SEGS(20);
	ack(&f, 100, 1, 80 * MBPS, false);
	assert_int_equal(f.cc.cwnd_bytes, SEGS(2));
}

/* A time-out: the flight and one segment, at least two; then slow start. */
static void timeout(void **state)
{
	struct flow f;

	to_probe_bw(&f);
	f.cc.cwnd_bytes = SEGS(230);
	f.cc.inflight_bytes = SEGS(1);
	priv(&f)->full_bw_bps = 80 * MBPS;
	set_state(&f, TCON_CA_LOSS);
	assert_int_equal(f.cc.cwnd_bytes, SEGS(2));
	assert_int_equal(priv(&f)->full_bw_bps, 0);
	assert_int_equal(priv(&f)->prior_cwnd_bytes, SEGS(230));
	ack(&f, RTT_US, SEGS(2), 80 * MBPS, true);
	assert_int_equal(f.cc.cwnd_bytes, SEGS(4));
	set_state(&f, TCON_CA_LOSS);		/* again: the old cwnd stays */
	assert_int_equal(f.cc.cwnd_bytes, SEGS(2));
	f.cc.inflight_bytes = SEGS(10);
	set_state(&f, TCON_CA_LOSS);		/* a time-out never enlarges */
	assert_int_equal(f.cc.cwnd_bytes, SEGS(2));
	set_state(&f, TCON_CA_OPEN);
	ack(&f, RTT_US, SEGS(2), 80 * MBPS, true);
	assert_in_range(f.cc.cwnd_bytes, SEGS(230), SEGS(240));
}

/*
 * ACKs of 40 segments at once every 4 ms, at 80 Mbit/s: the excess over
 * max_bw times time is what each brings, 40 segments; cwnd has room for it, up
 * to 100 ms at max_bw, and forgets it after 5 to 10 rounds.
 */
static void extra_acked(void **state)
{
	struct flow f;
	int i;

	to_probe_bw(&f);
	priv(&f)->extra_bytes[0] = 0;
	priv(&f)->extra_bytes[1] = 0;
	priv(&f)->extra_epoch_bytes = 0;
	for (i = 0; i < 5; i++)
		ack(&f, 4000, SEGS(40), 80 * MBPS, false);
	assert_int_equal(extra_acked_room(priv(&f)), SEGS(40));
	for (i = 0; i < 10; i++)
		ack(&f, RTT_US, SEGS(1), 80 * MBPS, true);
	assert_int_equal(extra_acked_room(priv(&f)), SEGS(1));
	priv(&f)->extra_bytes[0] = SEGS(5000);
	assert_int_equal(extra_acked_room(priv(&f)), SEGS(1000));
}

/*
 * A policer at 20 Mbit/s: 25 segments arrive in each round, 10 are lost.  The
 * first loss begins an interval; after 4 rounds a loss ends it; a second one
 * with the same goodput makes it the rate, without gain, for 48 rounds of
 * PROBE_BW.
 */
static void policer(void **state)
{
	struct flow f;
	int i;

	to_probe_bw(&f);
	f.rs.losses_bytes = SEGS(10);
	for (i = 0; i < 30 && !priv(&f)->lt_use; i++)
		ack(&f, RTT_US, SEGS(25), 80 * MBPS, true);
	assert_in_range(i, 8, 10);
	assert_in_range(bw_bps(priv(&f)), 19 * MBPS, 21 * MBPS);
	assert_in_range(f.cc.pacing_rate_bps, 18800000, 20800000);
	f.rs.losses_bytes = 0;
	for (i = 0; i < 47; i++)
		ack(&f, RTT_US, SEGS(25), 80 * MBPS, true);
	assert_true(priv(&f)->lt_use);
	ack(&f, RTT_US, SEGS(25), 80 * MBPS, true);
	assert_false(priv(&f)->lt_use);
	assert_int_equal(bw_bps(priv(&f)), 80 * MBPS);
}

/* 10 % of loss is no policer; nor are intervals of unlike goodput. */
static void no_policer(void **state)
{
	struct flow f;
	int i;

	to_probe_bw(&f);
	f.rs.losses_bytes = SEGS(2);
	for (i = 0; i < 60; i++) {
		ack(&f, RTT_US, SEGS(20), 80 * MBPS, true);
		assert_false(priv(&f)->lt_use);
	}

	to_probe_bw(&f);
	f.rs.losses_bytes = SEGS(30);
	for (i = 0; i < 12; i++)
		ack(&f, RTT_US, SEGS(20 + 8 * i), 80 * MBPS, true);
	assert_false(priv(&f)->lt_use);

	assert_true(lt_same(100 * MBPS, 112 * MBPS));
	assert_false(lt_same(100 * MBPS, 115 * MBPS));
	assert_true(lt_same(1000, 5000));
	assert_false(lt_same(1000, 5001));
}

static void undo(void **state)
{
	struct flow f;

	to_probe_bw(&f);
	priv(&f)->lt_use = true;
	priv(&f)->lt_bw_bps = 1;
	f.cc.cwnd_bytes = SEGS(100);
	bbr_ops.undo_cwnd(&f.cc);
	assert_int_equal(bw_bps(priv(&f)), 80 * MBPS);
	assert_int_equal(f.cc.cwnd_bytes, SEGS(100));
}

/*
 * A switch after slow start: PROBE_RTT at the larger of the last sample and
 * inflight over srtt: 150 segments per 20 ms are 60 Mbit/s.
 */
static void live_switch(void **state)
{
	struct flow f;

	start(&f, &bbr_ops);
	f.cc.delivered_bytes = SEGS(10000);
	f.cc.inflight_bytes = SEGS(150);
	f.cc.cwnd_bytes = SEGS(150);
	f.cc.srtt_us = 20000;
	f.cc.last_rate_bps = 55 * MBPS;
	f.cc.ssthresh_bytes = SEGS(90);
	take_over(&f);
	assert_int_equal(priv(&f)->mode, BBR_PROBE_RTT);
	assert_int_equal(max_bw_bps(priv(&f)), 60 * MBPS);
	assert_int_equal(f.cc.pacing_rate_bps, 59400000);
	assert_int_equal(f.cc.cwnd_bytes, SEGS(150));

	/* The path is emptied, and tells its RTT, whatever was seen on another. */
	f.now_us = T0_US;
	f.rs.rtt_us = 2 * RTT_US;
	ack(&f, 1, MSS, 60 * MBPS, false);
	assert_int_equal(priv(&f)->min_rtt_us, 2 * RTT_US);
	f.cc.app_limited_until = 0;
	f.cc.cwnd_bytes = SEGS(150);

	/* No ssthresh, but an RTT of 5/4 of the minimum: a queue. */
	f.cc.ssthresh_bytes = TCON_SSTHRESH_INFINITE;
	f.cc.min_rtt_us = 16000;
	take_over(&f);
	assert_int_equal(priv(&f)->mode, BBR_PROBE_RTT);

	/* The guest has little to send: the rate says nothing. */
	f.cc.app_limited_until = 1;
	take_over(&f);
	assert_int_equal(priv(&f)->mode, BBR_STARTUP);
	f.cc.app_limited_until = 0;
	f.cc.inflight_bytes = SEGS(9);
	f.cc.ssthresh_bytes = SEGS(90);
	take_over(&f);
	assert_int_equal(priv(&f)->mode, BBR_STARTUP);

	/* Slow start is not over: STARTUP, but not at an initial window. */
	f.cc.inflight_bytes = SEGS(150);
	f.cc.ssthresh_bytes = TCON_SSTHRESH_INFINITE;
	f.cc.min_rtt_us = 16001;
	take_over(&f);
	assert_int_equal(priv(&f)->mode, BBR_STARTUP);
	/* 60 Mbit/s * 739/256 * 0.99 = 171471093 */
	assert_int_equal(f.cc.pacing_rate_bps, 171471093);
	assert_int_equal(f.cc.cwnd_bytes, SEGS(150));
}

/* 1 kbit/s and jumbo segments: not so slow that the watchdog lets the flow go. */
static void slowest(void **state)
{
	struct flow f;

	start(&f, &bbr_ops);
	f.cc.mss_bytes = 8948;
	assert_int_equal(tcon_bw_paced(&f.cc, 1000, DRAIN_GAIN),
			 8948 * 8 / TCON_SLOWEST_SEGMENT_S);
	assert_int_equal(tcon_bw_paced(&f.cc, 0, GAIN_UNIT),
			 8948 * 8 / TCON_SLOWEST_SEGMENT_S);
	assert_int_equal(tcon_bw_paced(&f.cc, 100000, GAIN_UNIT), 99000);
}

static void info(void **state)
{
	struct flow f;
	char buf[128];

	to_probe_bw(&f);
	bbr_ops.get_info(&f.cc, buf, sizeof(buf));
	assert_string_equal(buf, "mode=PROBE_BW bw_bps=80000000 "
				 "min_rtt_us=10000 gain=1.25 phase=0");
	assert_int_equal(bbr_ops.get_info(&f.cc, buf, 8), 7);
	assert_int_equal(shim_tcon_bbr_module_init(), 0);
	shim_tcon_bbr_module_exit();
	assert_true(bbr_ops.paced);
	assert_in_range(bbr_ops.priv_bytes, 1, TCON_CC_PRIV_BYTES);
}

static u64 random_below(u64 n)
{
	return ((u64)get_random_u32() << 32 | get_random_u32()) % n;
}

/* Anything that an ACK can say, and more: bounds hold, UBSan is silent. */
static void extremes(void **state)
{
	static const u32 mss[] = { 88, 1448, 65483 };
	static const u64 spread[] = { 2, 1000, 1ULL << 32, 1ULL << 62 };
	struct flow f;
	u32 i, j;

	start(&f, &bbr_ops);
	random_seed = 12345;
	for (i = 0; i < 40000; i++) {
		if (i % 400 == 0) {
			f.cc.mss_bytes = mss[i / 400 % 3];
			f.cc.cwnd_bytes = max_t(u32, 10 * 65483,
						random_below(TCON_CWND_MAX_BYTES));
			f.cc.min_rtt_us = random_below(BIT_ULL(32));
			f.cc.srtt_us = random_below(BIT_ULL(32));
			f.cc.last_rate_bps = random_below(spread[i / 400 % 4]);
			f.cc.ssthresh_bytes = random_below(BIT_ULL(32));
			take_over(&f);
		}
		j = random_below(4);
		f.now_us += random_below(1ULL << (random_below(40) + 1));
		f.rs.now_us = f.now_us;
		f.rs.rtt_us = (s64)random_below(spread[j]) - 1;
		f.rs.interval_us = (s64)random_below(spread[j]) - 1;
		f.rs.delivered_bytes = (s64)random_below(spread[3 - j]) - 1;
		f.rs.prior_delivered = random_below(f.cc.delivered_bytes + 1);
		f.rs.acked_sacked_bytes = random_below(BIT_ULL(32));
		f.rs.losses_bytes = random_below(2) * random_below(1 << 20);
		f.rs.prior_inflight_bytes = random_below(BIT_ULL(32));
		f.rs.is_app_limited = random_below(2);
		f.rs.is_ack_delayed = random_below(2);
		f.cc.inflight_bytes = random_below(BIT_ULL(30));
		f.cc.delivered_bytes += random_below(1 << 20);
		f.cc.lost_bytes += f.rs.losses_bytes;
		if (!random_below(8))
			set_state(&f, random_below(3));
		if (!random_below(16))
			bbr_ops.cwnd_event(&f.cc, random_below(2), f.now_us);
		if (!random_below(32))
			bbr_ops.undo_cwnd(&f.cc);
		bbr_ops.cong_control(&f.cc, &f.rs);
		assert_in_range(f.cc.cwnd_bytes, 2 * f.cc.mss_bytes,
				TCON_CWND_MAX_BYTES);
		assert_true(f.cc.pacing_rate_bps > 0);
		assert_true(max_bw_bps(priv(&f)) <= TCON_BW_MAX_BPS);
	}
}

struct path {
	u64 rate_bps;
	u32 rtt_us;
	u32 buffer_bytes;
	u32 mss_bytes;
};

static const struct path paths[] = {
	{ 1 * MBPS, 40000, 100000, 1448 },
	{ 10 * MBPS, 100000, 1500000, 1448 },
	{ 100 * MBPS, 20000, 1500000, 1448 },
	{ 1000 * MBPS, 10000, 12500000, 1448 },
	{ 10000 * MBPS, 1000, 12500000, 8948 },
};

static u32 modes_seen, gains_seen;

static void watch_modes(struct sim *s)
{
	const struct bbr *bbr = tcon_cc_priv(&s->cc);

	modes_seen |= 1U << bbr->mode;
	if (bbr->mode == BBR_PROBE_BW)
		gains_seen |= 1U << bbr->cycle_phase;
}

/*
 * Converged, the estimates are the path's values.  The queue: of eight phases,
 * 5/4 adds up to a quarter of the BDP, plus the room for bursts that it waits
 * for (three quanta and two to four segments); the next removes the quarter, and
 * pacing at 99 % the rest, slowly.  So the mean is at most an eighth of a quarter
 * twice, with that room; CUBIC would fill these buffers of 10 BDP.
 */
static void converge(void **state)
{
	static struct sim s;
	const struct path *p;
	double bdp, queue, room;
	u64 bw;
	int i;

	for (i = 0; i < ARRAY_SIZE(paths); i++) {
		p = &paths[i];
		default_params();
		random_seed = 1 + i;
		sim_start(&s, &bbr_ops, params, p->rate_bps, p->rtt_us,
			  p->buffer_bytes, p->mss_bytes);
		sim_run(&s, 100000ULL * p->rtt_us, NULL);	/* 100 RTTs */
		sim_measure(&s);
		sim_run(&s, s.now_ns + 160000ULL * p->rtt_us, NULL);
		bw = max_bw_bps(tcon_cc_priv(&s.cc));
		bdp = p->rate_bps * p->rtt_us / 8e6;
		queue = sim_queue_us(&s) * p->rate_bps / 8e6;
		room = 3 * max(2.0 * p->mss_bytes,
			       min(65536.0, p->rate_bps / 8e3)) +
		       4 * p->mss_bytes;
		print_message("%llu Mbit/s, %u us: bw %+.2f %%, use %.3f, ",
			      p->rate_bps / MBPS, p->rtt_us,
			      (double)bw / p->rate_bps * 100 - 100,
			      sim_utilisation(&s));
		print_message("queue mean %.2f max %.2f BDP, lost %llu\n",
			      queue / bdp,
			      (double)s.rtt_max_us / p->rtt_us - 1,
			      s.cc.lost_bytes - s.since_lost);
		assert_true(fabs((double)bw / p->rate_bps - 1) < 0.02);
		assert_true(sim_utilisation(&s) > 0.95);
		assert_true(queue < bdp / 16 + room);
		assert_true((s.rtt_max_us - p->rtt_us) * p->rate_bps / 8e6 <
			    bdp / 4 + room + 2 * p->mss_bytes);
		assert_int_equal(s.cc.lost_bytes, s.since_lost);
		sim_stop(&s);
	}
}

/* In 25 s every state and phase is met; PROBE_RTT costs about 2 %. */
static void state_machine(void **state)
{
	static struct sim s;

	default_params();
	random_seed = 7;
	modes_seen = 0;
	gains_seen = 0;
	sim_start(&s, &bbr_ops, params, 50 * MBPS, 20000, 1000000, 1448);
	sim_run(&s, 25 * SIM_NS, watch_modes);
	assert_int_equal(modes_seen, 0xf);
	assert_int_equal(gains_seen, 0xff);
	assert_true(sim_utilisation(&s) > 0.94);
	sim_stop(&s);
}

/*
 * The path's rate falls to a half and comes back.  The maximum lasts 10 rounds
 * of growing length; upwards each cycle of 8 rounds adds a quarter, so doubling
 * takes four.
 */
static void rate_change(void **state)
{
	static struct sim s;
	u64 bw;

	default_params();
	random_seed = 9;
	sim_start(&s, &bbr_ops, params, 100 * MBPS, 20000, 1500000, 1448);
	sim_run(&s, 2 * SIM_NS, NULL);
	s.rate_bps = 50 * MBPS;
	sim_run(&s, 5 * SIM_NS, NULL);
	bw = max_bw_bps(tcon_cc_priv(&s.cc));
	assert_in_range(bw, 49 * MBPS, 51 * MBPS);
	sim_measure(&s);
	sim_run(&s, 6 * SIM_NS, NULL);
	assert_true(sim_queue_us(&s) < 5000);
	s.rate_bps = 100 * MBPS;
	sim_run(&s, 8 * SIM_NS, NULL);
	bw = max_bw_bps(tcon_cc_priv(&s.cc));
	assert_in_range(bw, 98 * MBPS, 102 * MBPS);
	sim_stop(&s);
}

/*
 * 2 % of random loss, which holds CUBIC to a few per cent of the path: 1.2 / 0.7
 * MSS / (RTT sqrt(p)) is 7 Mbit/s (RFC 5681's window, as Mathis et al.).  BBR
 * does not mind: recoveries restore cwnd.
 */
static void random_loss(void **state)
{
	static struct sim s;

	default_params();
	random_seed = 17;
	sim_start(&s, &cubic_ops, cubic_defaults, 100 * MBPS, 20000, 1448000,
		  1448);
	s.loss_ppm = 20000;
	sim_run(&s, 20 * SIM_NS, NULL);
	print_message("CUBIC's utilisation %.3f\n", sim_utilisation(&s));
	assert_true(sim_utilisation(&s) < 0.15);
	sim_stop(&s);

	sim_start(&s, &bbr_ops, params, 100 * MBPS, 20000, 1448000, 1448);
	s.loss_ppm = 20000;
	sim_run(&s, 2 * SIM_NS, NULL);
	sim_measure(&s);
	sim_run(&s, 20 * SIM_NS, NULL);
	print_message("BBR's utilisation %.3f\n", sim_utilisation(&s));
	assert_true(sim_utilisation(&s) > 0.9);
	assert_true(sim_queue_us(&s) < 4000);
	sim_stop(&s);
}

/* 100 Mbit/s, 20 ms, 1000 packets: CUBIC fills the queue, BBR empties it. */
static void switch_from_cubic(void **state)
{
	static struct sim s;

	default_params();
	random_seed = 11;
	sim_start(&s, &cubic_ops, cubic_defaults, 100 * MBPS, 20000, 1448000,
		  1448);
	sim_run(&s, 30 * SIM_NS, NULL);
	sim_measure(&s);
	sim_run(&s, 31 * SIM_NS, NULL);
	assert_true(sim_queue_us(&s) > 50000);
	sim_switch(&s, &bbr_ops, params);
	sim_run(&s, 32 * SIM_NS, NULL);
	sim_measure(&s);
	sim_run(&s, 36 * SIM_NS, NULL);
	print_message("queue %.1f ms, utilisation %.3f after the switch\n",
		      sim_queue_us(&s) / 1000, sim_utilisation(&s));
	assert_true(sim_queue_us(&s) < 4000);	/* 1/16 RTT, 3 quanta of 1 ms */
	assert_true(sim_utilisation(&s) > 0.95);

	/* And back: CUBIC goes on from there, in avoidance. */
	sim_switch(&s, &cubic_ops, cubic_defaults);
	assert_true(s.cc.ssthresh_bytes < TCON_SSTHRESH_INFINITE);
	sim_measure(&s);
	sim_run(&s, 37 * SIM_NS, NULL);
	assert_true(sim_utilisation(&s) > 0.95);
	sim_run(&s, 39 * SIM_NS, NULL);
	sim_measure(&s);
	sim_run(&s, 40 * SIM_NS, NULL);
	assert_true(sim_queue_us(&s) > 10000);
	sim_stop(&s);
}

/* A switch while the RTT has only ever been seen with a queue. */
static void switch_with_stale_rtt(void **state)
{
	static struct sim s;

	default_params();
	random_seed = 13;
	sim_start(&s, &cubic_ops, cubic_defaults, 100 * MBPS, 20000, 1448000,
		  1448);
	sim_run(&s, 30 * SIM_NS, NULL);
	s.cc.min_rtt_us = s.cc.srtt_us;
	sim_switch(&s, &bbr_ops, params);
	sim_run(&s, 31 * SIM_NS, NULL);
	sim_measure(&s);
	sim_run(&s, 35 * SIM_NS, NULL);
	assert_true(sim_queue_us(&s) < 4000);	/* 1/16 RTT, 3 quanta of 1 ms */
	assert_true(sim_utilisation(&s) > 0.95);
	sim_stop(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(initial_rate),
		cmocka_unit_test(startup_rate),
		cmocka_unit_test(startup_exit),
		cmocka_unit_test(app_limited),
		cmocka_unit_test(no_sample),
		cmocka_unit_test(drain),
		cmocka_unit_test(cycle_start),
		cmocka_unit_test(cycle),
		cmocka_unit_test(cwnd_target),
		cmocka_unit_test(quantum),
		cmocka_unit_test(bdp),
		cmocka_unit_test(probe_rtt),
		cmocka_unit_test(min_rtt),
		cmocka_unit_test(idle_restart),
		cmocka_unit_test(one_segment_in_flight),
		cmocka_unit_test(recovery),
		cmocka_unit_test(recovery_floor),
		cmocka_unit_test(timeout),
		cmocka_unit_test(extra_acked),
		cmocka_unit_test(policer),
		cmocka_unit_test(no_policer),
		cmocka_unit_test(undo),
		cmocka_unit_test(live_switch),
		cmocka_unit_test(slowest),
		cmocka_unit_test(info),
		cmocka_unit_test(extremes),
		cmocka_unit_test(converge),
		cmocka_unit_test(state_machine),
		cmocka_unit_test(rate_change),
		cmocka_unit_test(random_loss),
		cmocka_unit_test(switch_from_cubic),
		cmocka_unit_test(switch_with_stale_rtt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
