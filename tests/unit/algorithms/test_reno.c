// SPDX-License-Identifier: GPL-2.0-only
/*
 * NewReno (algorithms/reno.c, reno.h): each rule with numbers worked out by hand,
 * and in a closed loop against the formulas for its sawtooth.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "algorithms/reno.c"
#include "flow.h"
#include "share.h"
#include "sim.h"

#define RTT_US		50000

static void flow_init(struct tcon_cc *cc, u32 segs)
{
	start(cc, &reno_ops, MSS, SEGS(segs), RTT_US);
}

/* In avoidance. */
static void flow_avoid(struct tcon_cc *cc, u32 segs)
{
	flow_init(cc, segs);
	cc->ssthresh_bytes = SEGS(segs);
}

static u32 counted(const struct tcon_cc *cc)
{
	return ((const struct tcon_reno *)tcon_cc_priv(cc))->acked_bytes;
}

/* As many bytes as are acknowledged, whatever the ACK covers. */
static void slow_start_bytes(void **unused)
{
	struct tcon_cc cc;

	flow_init(&cc, 10);
	ack(&cc, MSS, RTT_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(11));
	ack(&cc, SEGS(9), RTT_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(20));
	ack(&cc, 1, RTT_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(20) + 1);
	ack(&cc, 1000000000, RTT_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(20) + 1000000001);
	ack(&cc, 1000000000, RTT_US);
	assert_int_equal(cc.cwnd_bytes, TCON_CWND_MAX_BYTES);
}

/* Two segments up to ssthresh; the other 13 are a window of 12, and one. */
static void slow_start_end(void **unused)
{
	struct tcon_cc cc;

	flow_init(&cc, 10);
	cc.ssthresh_bytes = SEGS(12);
	ack(&cc, SEGS(15), RTT_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(13));
	assert_int_equal(counted(&cc), SEGS(1));
}

/* A segment when the bytes acknowledged reach cwnd, and not a byte before. */
static void avoidance(void **unused)
{
	struct tcon_cc cc;
	int i;

	flow_avoid(&cc, 10);
	for (i = 0; i < 9; i++)
		ack(&cc, MSS, RTT_US);
	ack(&cc, MSS - 1, RTT_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(10));
	ack(&cc, 1, RTT_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(11));
	for (i = 0; i < 10; i++)
		ack(&cc, MSS, RTT_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(11));
	ack(&cc, MSS, RTT_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(12));
}

/* One ACK for 25 segments is worth two windows of 10, and five remain. */
static void stretch_ack(void **unused)
{
	struct tcon_cc cc;

	flow_avoid(&cc, 10);
	ack(&cc, SEGS(25), RTT_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(12));
	assert_int_equal(counted(&cc), SEGS(5));
	ack(&cc, SEGS(7), RTT_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(13));
	assert_int_equal(counted(&cc), 0);
	cc.cwnd_bytes = TCON_CWND_MAX_BYTES - 1;
	ack(&cc, U32_MAX, RTT_US);
	assert_int_equal(cc.cwnd_bytes, TCON_CWND_MAX_BYTES);
}

/* Where the window does not bind, and on ACKs with SACK blocks alone. */
static void no_growth(void **unused)
{
	struct tcon_rate_sample rs = {
		.rtt_us = RTT_US, .acked_sacked_bytes = MSS,
		.is_cwnd_limited = true,
	};
	struct tcon_cc cc;

	flow_init(&cc, 10);
	ack_if(&cc, SEGS(10), RTT_US, false);
	reno_ops.cong_control(&cc, &rs);
	assert_int_equal(cc.cwnd_bytes, SEGS(10));
	flow_avoid(&cc, 10);
	ack_if(&cc, SEGS(10), RTT_US, false);
	assert_int_equal(cc.cwnd_bytes, SEGS(10));
	assert_int_equal(counted(&cc), 0);
}

/*
 * 21 segments: half is 15204 bytes.  cwnd stands until what was in flight is
 * acknowledged, then grows by a segment per 15204 bytes; the count restarted.
 */
static void recovery(void **unused)
{
	struct tcon_cc cc;

	flow_avoid(&cc, 21);
	ack(&cc, SEGS(5), RTT_US);
	state(&cc, TCON_CA_RECOVERY);
	assert_int_equal(cc.ssthresh_bytes, 15204);
	assert_int_equal(cc.cwnd_bytes, 15204);
	ack(&cc, SEGS(20), RTT_US);
	assert_int_equal(cc.cwnd_bytes, 15204);
	state(&cc, TCON_CA_OPEN);	/* by undo; una is not there yet */
	ack(&cc, MSS - 1, RTT_US);
	assert_int_equal(counted(&cc), 0);
	ack(&cc, 1, RTT_US);
	assert_int_equal(counted(&cc), 1);
	ack(&cc, 15202, RTT_US);
	assert_int_equal(cc.cwnd_bytes, 15204);
	ack(&cc, 1, RTT_US);
	assert_int_equal(cc.cwnd_bytes, 15204 + MSS);
}

/* Never below two segments: 3 / 2 would be less. */
static void smallest(void **unused)
{
	struct tcon_cc cc;

	flow_avoid(&cc, 10);
	cc.cwnd_bytes = SEGS(3);
	state(&cc, TCON_CA_RECOVERY);
	assert_int_equal(cc.ssthresh_bytes, SEGS(2));
	assert_int_equal(cc.cwnd_bytes, SEGS(2));
}

/* ssthresh halves once, cwnd is two segments, and slow start begins at once; so again with
 * what is lost behind progress.
 */
static void timeout(void **unused)
{
	struct tcon_cc cc;

	flow_avoid(&cc, 100);
	state(&cc, TCON_CA_LOSS);
	assert_int_equal(cc.ssthresh_bytes, SEGS(50));
	assert_int_equal(cc.cwnd_bytes, SEGS(2));
	state(&cc, TCON_CA_LOSS);	/* the timer backs off */
	assert_int_equal(cc.ssthresh_bytes, SEGS(50));
	assert_int_equal(cc.cwnd_bytes, SEGS(2));
	ack(&cc, SEGS(2), RTT_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(4));
	ack(&cc, SEGS(46), RTT_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(50));
	ack(&cc, 2 * SEGS(50), RTT_US);	/* avoidance, still in LOSS */
	assert_int_equal(cc.cwnd_bytes, SEGS(52));
	state(&cc, TCON_CA_LOSS);
	assert_int_equal(cc.ssthresh_bytes, SEGS(26));
	assert_int_equal(cc.cwnd_bytes, SEGS(2));

	flow_avoid(&cc, 100);		/* out of a recovery */
	state(&cc, TCON_CA_RECOVERY);
	state(&cc, TCON_CA_LOSS);
	assert_int_equal(cc.ssthresh_bytes, SEGS(50));
	assert_int_equal(cc.cwnd_bytes, SEGS(2));

	flow_avoid(&cc, 100);		/* a new one */
	state(&cc, TCON_CA_LOSS);
	state(&cc, TCON_CA_OPEN);
	cc.cwnd_bytes = SEGS(40);
	state(&cc, TCON_CA_LOSS);
	assert_int_equal(cc.ssthresh_bytes, SEGS(20));
}

/* Everything is as before; a second undo does nothing. */
static void undo(void **unused)
{
	struct tcon_cc cc;

	flow_avoid(&cc, 100);
	reno_ops.undo_cwnd(&cc);	/* nothing to undo */
	assert_int_equal(cc.cwnd_bytes, SEGS(100));
	cc.ssthresh_bytes = SEGS(90);
	state(&cc, TCON_CA_RECOVERY);
	state(&cc, TCON_CA_LOSS);
	reno_ops.undo_cwnd(&cc);
	state(&cc, TCON_CA_OPEN);
	assert_int_equal(cc.cwnd_bytes, SEGS(100));
	assert_int_equal(cc.ssthresh_bytes, SEGS(90));
	ack(&cc, SEGS(100), RTT_US);	/* grows at once */
	assert_int_equal(cc.cwnd_bytes, SEGS(101));
	cc.cwnd_bytes = SEGS(5);
	reno_ops.undo_cwnd(&cc);
	assert_int_equal(cc.cwnd_bytes, SEGS(5));
}

/* A loss that was none, in a window that ECE has halved: ECE was meant. */
static void undo_leaves_ece(void **unused)
{
	struct tcon_cc cc;

	flow_avoid(&cc, 100);
	event(&cc, TCON_CA_EVENT_ECE);
	state(&cc, TCON_CA_RECOVERY);
	reno_ops.undo_cwnd(&cc);
	state(&cc, TCON_CA_OPEN);
	assert_int_equal(cc.cwnd_bytes, SEGS(50));
	assert_int_equal(cc.ssthresh_bytes, SEGS(50));
	state(&cc, TCON_CA_LOSS);
	assert_int_equal(cc.cwnd_bytes, SEGS(2));
	reno_ops.undo_cwnd(&cc);
	state(&cc, TCON_CA_OPEN);
	assert_int_equal(cc.cwnd_bytes, SEGS(50));
}

/* ECE in a recovery: even if nothing was lost, the path is full. */
static void ece_bars_undo(void **unused)
{
	struct tcon_cc cc;

	flow_avoid(&cc, 100);
	state(&cc, TCON_CA_RECOVERY);
	event(&cc, TCON_CA_EVENT_ECE);
	reno_ops.undo_cwnd(&cc);
	state(&cc, TCON_CA_OPEN);
	assert_int_equal(cc.cwnd_bytes, SEGS(50));
	assert_int_equal(cc.ssthresh_bytes, SEGS(50));
}

/* RFC 3168: ECE halves once per window, and a loss in that window not again. */
static void ece(void **unused)
{
	struct tcon_cc cc;

	flow_avoid(&cc, 100);
	event(&cc, TCON_CA_EVENT_ECE);
	assert_int_equal(cc.cwnd_bytes, SEGS(50));
	event(&cc, TCON_CA_EVENT_ECE);
	state(&cc, TCON_CA_RECOVERY);
	state(&cc, TCON_CA_OPEN);
	ack(&cc, SEGS(99), RTT_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(50));
	event(&cc, TCON_CA_EVENT_ECE);
	assert_int_equal(cc.cwnd_bytes, SEGS(50));
	ack(&cc, MSS, RTT_US);		/* tells of what left before */
	event(&cc, TCON_CA_EVENT_ECE);
	assert_int_equal(cc.cwnd_bytes, SEGS(50));
	ack(&cc, MSS, RTT_US);		/* the window is over */
	event(&cc, TCON_CA_EVENT_ECE);
	assert_int_equal(cc.cwnd_bytes, SEGS(25));

	flow_avoid(&cc, 100);		/* a time-out after ECE */
	event(&cc, TCON_CA_EVENT_ECE);
	state(&cc, TCON_CA_LOSS);
	assert_int_equal(cc.ssthresh_bytes, SEGS(50));
	assert_int_equal(cc.cwnd_bytes, SEGS(2));

	flow_avoid(&cc, 100);		/* in a recovery ECE is old news */
	state(&cc, TCON_CA_RECOVERY);
	event(&cc, TCON_CA_EVENT_ECE);
	assert_int_equal(cc.cwnd_bytes, SEGS(50));
}

/* RFC 3168: ECE takes as much as a loss.  RFC 8511, where a rule asks for it: in avoidance
 * less, in slow start as much.
 */
static void ece_takes_less(void **unused)
{
	struct tcon_cc cc;

	default_params(&reno_ops);
	flow_avoid(&cc, 100);
	event(&cc, TCON_CA_EVENT_ECE);
	assert_int_equal(cc.cwnd_bytes, SEGS(50));

	params[PARAM_BETA_ECN] = 800;
	flow_avoid(&cc, 100);
	event(&cc, TCON_CA_EVENT_ECE);
	assert_int_equal(cc.cwnd_bytes, SEGS(80));
	assert_int_equal(cc.ssthresh_bytes, SEGS(80));
	state(&cc, TCON_CA_LOSS);		/* of the same window */
	assert_int_equal(cc.ssthresh_bytes, SEGS(80));

	flow_avoid(&cc, 100);
	state(&cc, TCON_CA_RECOVERY);
	assert_int_equal(cc.cwnd_bytes, SEGS(50));

	flow_init(&cc, 100);
	event(&cc, TCON_CA_EVENT_ECE);
	assert_int_equal(cc.cwnd_bytes, SEGS(50));

	flow_avoid(&cc, 2);
	event(&cc, TCON_CA_EVENT_ECE);
	assert_int_equal(cc.cwnd_bytes, SEGS(2));
	default_params(&reno_ops);
}

/* As four flows: four segments per window; a loss halves one of them. */
static void weight(void **unused)
{
	struct tcon_cc cc;

	params[PARAM_WEIGHT] = 4000;
	flow_avoid(&cc, 100);
	ack(&cc, SEGS(24), RTT_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(100));
	ack(&cc, SEGS(1), RTT_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(101));

	flow_avoid(&cc, 80);
	cc.lost_bytes = SEGS(1);
	state(&cc, TCON_CA_RECOVERY);
	assert_int_equal(cc.cwnd_bytes, SEGS(70));
	ack(&cc, MSS, RTT_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(70));
	cc.lost_bytes += SEGS(2);	/* two more are hit */
	ack(&cc, MSS, RTT_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(50));
	assert_int_equal(cc.ssthresh_bytes, SEGS(50));
	cc.lost_bytes += SEGS(9);	/* there are not more than four */
	ack(&cc, MSS, RTT_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(40));
	reno_ops.undo_cwnd(&cc);
	assert_int_equal(cc.cwnd_bytes, SEGS(80));

	flow_avoid(&cc, 80);		/* lost before, so not now */
	cc.lost_bytes = SEGS(9);
	ack(&cc, MSS, RTT_US);
	cc.lost_bytes += SEGS(1);
	state(&cc, TCON_CA_RECOVERY);
	assert_int_equal(cc.cwnd_bytes, SEGS(70));
	cc.lost_bytes += SEGS(1);	/* of the next window, if at all */
	state(&cc, TCON_CA_OPEN);
	state(&cc, TCON_CA_RECOVERY);
	assert_int_equal(cc.ssthresh_bytes, SEGS(70) * 7 / 8);

	flow_avoid(&cc, 80);		/* a time-out hits all */
	state(&cc, TCON_CA_LOSS);
	assert_int_equal(cc.ssthresh_bytes, SEGS(40));

	flow_avoid(&cc, 80);		/* a mark hits one */
	event(&cc, TCON_CA_EVENT_ECE);
	assert_int_equal(cc.cwnd_bytes, SEGS(70));

	params[PARAM_WEIGHT] = 250;	/* falls as one, grows as a quarter */
	flow_avoid(&cc, 80);
	state(&cc, TCON_CA_RECOVERY);
	assert_int_equal(cc.cwnd_bytes, SEGS(40));
	flow_avoid(&cc, 10);
	ack(&cc, SEGS(39), RTT_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(10));
	ack(&cc, SEGS(1), RTT_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(11));
	default_params(&reno_ops);
}

/* Two flows at one bottleneck share it by their weights: where each packet is lost as likely as
 * any other, as under an AQM, and where a full queue drops what is too much.
 */
static void shares(void **unused)
{
	static const struct share aqm = {
		.ops = &reno_ops, .rate_bps = 1000000000, .rtt_us = 20000,
		.buffer_bytes = 2500000, .loss_ppm = 1000,
	};
	static const struct share full = {
		.ops = &reno_ops, .rate_bps = 100000000, .rtt_us = 20000,
		.buffer_bytes = 80000,
	};
	s64 more[ARRAY_SIZE(reno_params)];
	double at_aqm, at_full;
	int n;

	memcpy(more, params, sizeof(more));
	for (n = 2; n <= 8; n *= 2) {
		more[PARAM_WEIGHT] = 1000 * n;
		at_aqm = share_ratio(&aqm, params, more);
		at_full = share_ratio(&full, params, more);
		print_message("weight %d: %.2f times as much under an AQM, %.2f at a full queue\n",
			      n, at_aqm, at_full);
		assert_true(fabs(at_aqm / n - 1) < 0.15);
		assert_true(fabs(at_full / n - 1) < 0.25);
	}
}

/* The restart window is the guest's: cwnd stays. */
static void idle(void **unused)
{
	struct tcon_cc cc;

	flow_avoid(&cc, 100);
	event(&cc, TCON_CA_EVENT_TX_START);
	assert_int_equal(cc.cwnd_bytes, SEGS(100));
	assert_int_equal(cc.ssthresh_bytes, SEGS(100));
}

/* A switch: the values that TCon hands on are the start. */
static void live_switch(void **unused)
{
	struct tcon_cc cc;

	flow_init(&cc, 300);
	assert_int_equal(cc.cwnd_bytes, SEGS(300));
	assert_int_equal(cc.ssthresh_bytes, TCON_SSTHRESH_INFINITE);
	assert_int_equal(cc.pacing_rate_bps, 0);
}

static void info(void **unused)
{
	struct tcon_cc cc;
	char buf[80];

	flow_init(&cc, 100);
	reno_ops.get_info(&cc, buf, sizeof(buf));
	assert_string_equal(buf, "mode=SLOW_START acked_bytes=0");
	cc.ssthresh_bytes = SEGS(50);
	ack(&cc, 77, RTT_US);
	reno_ops.get_info(&cc, buf, sizeof(buf));
	assert_string_equal(buf, "mode=AVOIDANCE acked_bytes=77");
	event(&cc, TCON_CA_EVENT_ECE);
	assert_int_equal(reno_ops.get_info(&cc, buf, 13), 12);
	assert_string_equal(buf, "mode=REDUCED");
}

static void module(void **unused)
{
	assert_int_equal(shim_tcon_reno_module_init(), 0);
	assert_ptr_equal(registered, &reno_ops);
	assert_string_equal(registered->name, "reno");
	shim_tcon_reno_module_exit();
	assert_null(registered);
}

static void extremes(void **unused)
{
	extreme_paths(&reno_ops);
}

/*
 * Closed loop.  100 Mbit/s, 50 ms and one BDP of buffer hold 1250000 / 1448 = 863
 * segments, and one in service.  From half of that a segment per RTT leads back
 * in W_max / 2 round trips.  Each lasts as long as the path needs for the window:
 * on average 3/4 W_max over the rate.  Half of W_max is one BDP: the link never
 * idles.
 */
static void sawtooth(void **unused)
{
	static struct sim s;
	double period, want, w_max = 0;
	u32 i;

	sim_start(&s, &reno_ops, params, 100000000, 50000, 625000, MSS);
	sim_run(&s, 60 * SIM_NS, NULL);
	sim_measure(&s);
	sim_run(&s, 400 * SIM_NS, NULL);
	assert_true(s.cuts >= 5);
	for (i = 0; i < s.cuts; i++)
		w_max += (double)s.cut[i].cwnd_bytes / MSS / s.cuts;
	period = (s.cut[s.cuts - 1].ns - s.cut[0].ns) / 1e9 / (s.cuts - 1);
	want = w_max / 2 * 0.75 * w_max * MSS * 8 / 100e6;
	print_message("W_max %.1f segments, period %.2f s, want %.2f s, utilisation %.4f\n",
		      w_max, period, want, sim_utilisation(&s));
	assert_true(fabs(w_max / 864 - 1) < 0.01);
	assert_true(fabs(period / want - 1) < 0.03);
	assert_true(sim_utilisation(&s) > 0.99);
	sim_stop(&s);
}

/*
 * Random loss p on a wide path: Mathis et al., "The Macroscopic Behavior of the
 * TCP Congestion Avoidance Algorithm", CCR 27(3), 1997: sqrt(3/2 / p) segments
 * per RTT with an ACK for each, for losses at equal distances.  For random ones
 * Ott, Kemperman and Mathis (1996) have 1.31 in place of sqrt(3/2) = 1.22.
 */
static void random_loss(void **unused)
{
	static struct sim s;
	double segs, want;

	sim_start(&s, &reno_ops, params, 1000000000, 50000, 1448000, MSS);
	s.loss_ppm = 1000;
	sim_run(&s, 20 * SIM_NS, NULL);
	sim_measure(&s);
	sim_run(&s, 1020 * SIM_NS, NULL);
	segs = (s.cc.delivered_bytes - s.since_delivered) / (double)MSS /
	       (1000 / 0.050);
	want = 1.31 / sqrt(0.001);
	print_message("%.1f segments per RTT at 0.1 %% loss, want %.1f\n", segs,
		      want);
	assert_true(fabs(segs / want - 1) < 0.1);
	sim_stop(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slow_start_bytes),
		cmocka_unit_test(slow_start_end),
		cmocka_unit_test(avoidance),
		cmocka_unit_test(stretch_ack),
		cmocka_unit_test(no_growth),
		cmocka_unit_test(recovery),
		cmocka_unit_test(smallest),
		cmocka_unit_test(timeout),
		cmocka_unit_test(undo),
		cmocka_unit_test(undo_leaves_ece),
		cmocka_unit_test(ece_bars_undo),
		cmocka_unit_test(ece),
		cmocka_unit_test(ece_takes_less),
		cmocka_unit_test(weight),
		cmocka_unit_test(shares),
		cmocka_unit_test(idle),
		cmocka_unit_test(live_switch),
		cmocka_unit_test(info),
		cmocka_unit_test(module),
		cmocka_unit_test(extremes),
		cmocka_unit_test(sawtooth),
		cmocka_unit_test(random_loss),
	};

	default_params(&reno_ops);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
