// SPDX-License-Identifier: GPL-2.0-only
/*
 * DCTCP (algorithms/dctcp.c): each rule with numbers worked out by hand, and in a
 * closed loop against the model of its authors.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "algorithms/dctcp.c"
#include "flow.h"
#include "sim.h"

#define RTT_US		1000

static void flow_init(struct tcon_cc *cc, u32 segs)
{
	start(cc, &dctcp_ops, MSS, SEGS(segs), RTT_US);
}

/* In avoidance. */
static void flow_avoid(struct tcon_cc *cc, u32 segs)
{
	flow_init(cc, segs);
	cc->ssthresh_bytes = SEGS(segs);
}

static u32 alpha(const struct tcon_cc *cc)
{
	return ((const struct dctcp *)tcon_cc_priv(cc))->alpha;
}

/* An ACK for @bytes, after as much has left: a window of data is never empty. */
static void acked(struct tcon_cc *cc, u32 bytes, u32 marked)
{
	cc->delivered_ce_bytes += marked;
	cc->nxt += bytes;
	ack_if(cc, bytes, RTT_US, false);
	cc->nxt -= bytes;
}

/* A window of data, @marked bytes of it. */
static void window(struct tcon_cc *cc, u32 marked)
{
	acked(cc, cc->nxt - cc->una, marked);
}

static void begins_at_one(void **unused)
{
	struct tcon_cc cc;

	flow_init(&cc, 10);
	assert_int_equal(alpha(&cc), ALPHA_ONE);
	params[DCTCP_ALPHA_ON_INIT] = 256;
	flow_init(&cc, 10);
	assert_int_equal(alpha(&cc), ALPHA_ONE / 4);
	params[DCTCP_ALPHA_ON_INIT] = 0;
	flow_init(&cc, 10);
	assert_int_equal(alpha(&cc), 0);
	default_params(&dctcp_ops);
}

/* 1, 15/16, 225/256; with a quarter marked a sixteenth of the way to 1/4. */
static void smoothing(void **unused)
{
	struct tcon_cc cc;

	flow_avoid(&cc, 40);
	window(&cc, 0);
	assert_int_equal(alpha(&cc), ALPHA_ONE / 16 * 15);
	window(&cc, 0);
	assert_int_equal(alpha(&cc), ALPHA_ONE / 256 * 225);
	window(&cc, SEGS(10));
	assert_int_equal(alpha(&cc),
			 ALPHA_ONE / 256 * 225 -
			 (ALPHA_ONE / 256 * (225 - 64)) / 16);
	params[DCTCP_SHIFT_G] = 0;	/* no smoothing */
	window(&cc, SEGS(4));
	assert_int_equal(alpha(&cc), ALPHA_ONE / 10);
	params[DCTCP_SHIFT_G] = 10;
	window(&cc, SEGS(40));
	assert_int_equal(alpha(&cc), ALPHA_ONE / 10 +
			 DIV_ROUND_UP(ALPHA_ONE - ALPHA_ONE / 10, 1024));
	default_params(&dctcp_ops);
}

/* It gets to both ends, and not beyond where more is marked than delivered. */
static void ends(void **unused)
{
	struct tcon_cc cc;
	int i;

	flow_avoid(&cc, 40);
	params[DCTCP_SHIFT_G] = 10;
	for (i = 0; i < 20000; i++)
		window(&cc, 0);
	assert_int_equal(alpha(&cc), 0);
	for (i = 0; i < 20000; i++)
		window(&cc, SEGS(41));
	assert_int_equal(alpha(&cc), ALPHA_ONE);
	default_params(&dctcp_ops);
}

/* Marks that are told before their data is acknowledged count in the next window, and
 * of those for which there is no data, no more than a window.
 */
static void early_marks(void **unused)
{
	struct tcon_cc cc;

	params[DCTCP_SHIFT_G] = 0;
	flow_avoid(&cc, 40);
	window(&cc, SEGS(50));
	assert_int_equal(alpha(&cc), ALPHA_ONE);
	window(&cc, 0);
	assert_int_equal(alpha(&cc), ALPHA_ONE / 4);
	window(&cc, 0);
	assert_int_equal(alpha(&cc), 0);
	window(&cc, SEGS(400));
	window(&cc, 0);
	assert_int_equal(alpha(&cc), ALPHA_ONE);
	window(&cc, 0);
	assert_int_equal(alpha(&cc), 0);
	default_params(&dctcp_ops);
}

/* Once per window of data, not with each ACK. */
static void once_per_window(void **unused)
{
	struct tcon_cc cc;
	int i;

	flow_avoid(&cc, 40);
	window(&cc, 0);
	for (i = 0; i < 39; i++) {
		acked(&cc, MSS, MSS / 2);
		assert_int_equal(alpha(&cc), ALPHA_ONE / 16 * 15);
	}
	acked(&cc, MSS, MSS / 2);
	assert_int_equal(alpha(&cc), ALPHA_ONE / 16 * 15 -
			 ALPHA_ONE / 16 * 7 / 16);
}

/* An ACK for all that is in flight ends a window, and the next is not empty. */
static void nothing_in_flight(void **unused)
{
	struct tcon_rate_sample rs = { .is_cwnd_limited = true };
	struct tcon_cc cc;

	flow_avoid(&cc, 40);
	cc.delivered_bytes += SEGS(40);
	cc.una = cc.nxt;
	event(&cc, TCON_CA_EVENT_ECE);
	assert_int_equal(alpha(&cc), ALPHA_ONE / 16 * 15);
	dctcp_ops.cong_control(&cc, &rs);
	assert_int_equal(alpha(&cc), ALPHA_ONE / 16 * 15);
}

/* alpha 1: half; alpha 1/4: an eighth less; in whole segments. */
static void reduction(void **unused)
{
	struct tcon_cc cc;

	flow_avoid(&cc, 41);
	event(&cc, TCON_CA_EVENT_ECE);
	assert_int_equal(cc.cwnd_bytes, SEGS(21));
	assert_int_equal(cc.ssthresh_bytes, SEGS(21));

	params[DCTCP_ALPHA_ON_INIT] = 256;
	flow_avoid(&cc, 40);
	event(&cc, TCON_CA_EVENT_ECE);
	assert_int_equal(cc.cwnd_bytes, SEGS(35));
	event(&cc, TCON_CA_EVENT_ECE);		/* once per window */
	ack(&cc, SEGS(39), RTT_US);
	event(&cc, TCON_CA_EVENT_ECE);
	assert_int_equal(cc.cwnd_bytes, SEGS(35));
	cc.una += MSS;				/* the ACK that ends the window */
	event(&cc, TCON_CA_EVENT_ECE);
	assert_int_equal(cc.cwnd_bytes, SEGS(35));
	cc.una += MSS;
	event(&cc, TCON_CA_EVENT_ECE);
	assert_int_equal(cc.cwnd_bytes, SEGS(31));

	params[DCTCP_ALPHA_ON_INIT] = 51;	/* 2 / 41 would be a segment */
	flow_avoid(&cc, 40);
	event(&cc, TCON_CA_EVENT_ECE);
	assert_int_equal(cc.cwnd_bytes, SEGS(40));
	flow_avoid(&cc, 41);
	event(&cc, TCON_CA_EVENT_ECE);
	assert_int_equal(cc.cwnd_bytes, SEGS(40));

	params[DCTCP_ALPHA_ON_INIT] = 0;	/* nothing was marked so far */
	flow_avoid(&cc, 40);
	event(&cc, TCON_CA_EVENT_ECE);
	assert_int_equal(cc.cwnd_bytes, SEGS(40));
	default_params(&dctcp_ops);

	flow_avoid(&cc, 10);			/* never below two segments */
	cc.cwnd_bytes = SEGS(3);
	event(&cc, TCON_CA_EVENT_ECE);
	cc.una = cc.nxt;
	event(&cc, TCON_CA_EVENT_ECE);
	assert_int_equal(cc.cwnd_bytes, SEGS(2));
}

/* The ACK that ends a window and is marked: alpha first, then the reduction. */
static void order(void **unused)
{
	struct tcon_cc cc;

	params[DCTCP_SHIFT_G] = 0;
	flow_avoid(&cc, 40);
	cc.delivered_bytes += SEGS(40);
	cc.delivered_ce_bytes += SEGS(10);
	cc.una += SEGS(40);
	event(&cc, TCON_CA_EVENT_ECE);
	assert_int_equal(alpha(&cc), ALPHA_ONE / 4);
	assert_int_equal(cc.cwnd_bytes, SEGS(35));
	default_params(&dctcp_ops);
}

/* Without marks it is Reno. */
static void losses(void **unused)
{
	struct tcon_cc cc;

	flow_init(&cc, 10);
	ack(&cc, SEGS(10), RTT_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(20));
	cc.ssthresh_bytes = SEGS(20);
	ack(&cc, SEGS(20), RTT_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(21));
	params[DCTCP_ALPHA_ON_INIT] = 0;
	flow_avoid(&cc, 100);
	state(&cc, TCON_CA_RECOVERY);		/* half, whatever alpha is */
	assert_int_equal(cc.cwnd_bytes, SEGS(50));
	dctcp_ops.undo_cwnd(&cc);
	state(&cc, TCON_CA_OPEN);
	assert_int_equal(cc.cwnd_bytes, SEGS(100));
	state(&cc, TCON_CA_LOSS);
	assert_int_equal(cc.ssthresh_bytes, SEGS(50));
	assert_int_equal(cc.cwnd_bytes, SEGS(2));

	/* A mark has taken nothing; a loss in the same window takes its half. */
	flow_avoid(&cc, 40);
	dctcp_ops.cwnd_event(&cc, TCON_CA_EVENT_ECE, T0_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(40));
	state(&cc, TCON_CA_RECOVERY);
	assert_int_equal(cc.cwnd_bytes, SEGS(20));
	assert_int_equal(cc.ssthresh_bytes, SEGS(20));
	dctcp_ops.undo_cwnd(&cc);
	assert_int_equal(cc.cwnd_bytes, SEGS(40));

	flow_avoid(&cc, 40);
	dctcp_ops.cwnd_event(&cc, TCON_CA_EVENT_ECE, T0_US);
	state(&cc, TCON_CA_LOSS);
	assert_int_equal(cc.ssthresh_bytes, SEGS(20));
	default_params(&dctcp_ops);
}

static void info(void **unused)
{
	struct tcon_cc cc;
	char buf[80];

	flow_avoid(&cc, 100);
	dctcp_ops.get_info(&cc, buf, sizeof(buf));
	assert_string_equal(buf, "mode=AVOIDANCE alpha=1.000");
	event(&cc, TCON_CA_EVENT_ECE);
	window(&cc, 0);
	dctcp_ops.get_info(&cc, buf, sizeof(buf));
	assert_string_equal(buf, "mode=REDUCED alpha=0.937");
	acked(&cc, MSS, 0);
	dctcp_ops.get_info(&cc, buf, sizeof(buf));
	assert_string_equal(buf, "mode=AVOIDANCE alpha=0.937");
	event(&cc, TCON_CA_EVENT_ECE);
	dctcp_ops.get_info(&cc, buf, sizeof(buf));
	assert_string_equal(buf, "mode=REDUCED alpha=0.937");
}

static void module(void **unused)
{
	assert_int_equal(shim_tcon_dctcp_module_init(), 0);
	assert_ptr_equal(registered, &dctcp_ops);
	assert_string_equal(registered->name, "dctcp");
	assert_string_equal(registered->category, "ECN");
	assert_int_equal(registered->ecn, TCON_CC_ECN_ALL);
	shim_tcon_dctcp_module_exit();
	assert_null(registered);
}

static void extremes(void **unused)
{
	extreme_paths(&dctcp_ops);
}

static double alpha_sum, alpha_samples;

static void watch(struct sim *s)
{
	alpha_sum += (double)alpha(&s->cc) / ALPHA_ONE;
	alpha_samples++;
}

/*
 * One flow, 1 Gbit/s, 1 ms, marks above 20 segments.  Alizadeh et al., "Data Center
 * TCP (DCTCP)", SIGCOMM 2010, section 3.3: in the sawtooth of a single flow
 * W* = rate * RTT + K is the window that marks begin at, alpha = sqrt(2 / W*), and
 * the queue swings by sqrt(W* / 2) below K + 1.  The link does not idle.
 */
static void sawtooth(void **unused)
{
	static struct sim s;
	double w, want, mean, queue_segs;

	sim_start(&s, &dctcp_ops, params, 1000000000, 1000, SEGS(1000), MSS);
	s.mark_bytes = SEGS(20);
	sim_run(&s, 2 * SIM_NS, NULL);
	sim_measure(&s);
	sim_run(&s, 12 * SIM_NS, watch);
	w = 1e9 / 8 * 0.001 / MSS + 1 + 20;
	want = sqrt(2 / w);
	mean = alpha_sum / alpha_samples;
	queue_segs = sim_queue_us(&s) / (MSS * 8 / 1e3);
	print_message("alpha %.3f, want %.3f; queue %.1f segments, utilisation %.4f\n",
		      mean, want, queue_segs, sim_utilisation(&s));
	assert_true(fabs(mean / want - 1) < 0.1);
	assert_true(queue_segs < 21 && queue_segs > 20 - sqrt(w / 2));
	assert_true(sim_utilisation(&s) > 0.995);
	assert_int_equal(s.cc.lost_bytes, s.since_lost);
	sim_stop(&s);
}

/* As four flows: they grow by four segments per window, marks take the same part of them as of
 * one, and a loss halves one of them.
 */
static void weight(void **unused)
{
	struct tcon_cc cc;

	params[DCTCP_WEIGHT] = 4000;
	flow_avoid(&cc, 100);
	ack(&cc, SEGS(25), RTT_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(101));
	event(&cc, TCON_CA_EVENT_ECE);		/* the first: alpha is 1 */
	assert_int_equal(cc.cwnd_bytes, SEGS(51));
	flow_avoid(&cc, 80);
	state(&cc, TCON_CA_RECOVERY);
	assert_int_equal(cc.cwnd_bytes, SEGS(70));
	cc.lost_bytes += SEGS(7);
	ack(&cc, MSS, RTT_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(40));
	default_params(&dctcp_ops);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weight),
		cmocka_unit_test(begins_at_one),
		cmocka_unit_test(smoothing),
		cmocka_unit_test(ends),
		cmocka_unit_test(early_marks),
		cmocka_unit_test(once_per_window),
		cmocka_unit_test(nothing_in_flight),
		cmocka_unit_test(reduction),
		cmocka_unit_test(order),
		cmocka_unit_test(losses),
		cmocka_unit_test(info),
		cmocka_unit_test(module),
		cmocka_unit_test(extremes),
		cmocka_unit_test(sawtooth),
	};

	default_params(&dctcp_ops);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
