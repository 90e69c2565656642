// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compound TCP (algorithms/ctcp.c): each rule with numbers worked out by hand, the
 * states, and in a closed loop what it is for: a long fat path filled soon, with a
 * queue no longer than gamma.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "algorithms/ctcp.c"
#include "algorithms/reno.c"
#include "flow.h"
#include "sim.h"

#define BASE_US		100000

static struct ctcp *priv(const struct tcon_cc *cc)
{
	return tcon_cc_priv(cc);
}

static void flow_init(struct tcon_cc *cc, u32 segs)
{
	default_params(&ctcp_ops);
	start(cc, &ctcp_ops, MSS, SEGS(segs), BASE_US);
}

/* In avoidance with @dwnd_segs of @segs; nothing is counted yet. */
static void flow_avoid(struct tcon_cc *cc, u32 segs, u32 dwnd_segs)
{
	flow_init(cc, segs);
	cc->ssthresh_bytes = SEGS(segs) / 2;
	priv(cc)->dwnd_bytes = SEGS(dwnd_segs);
	begin_rounds(cc);
}

/*
 * A round with @samples RTT samples, each of an ACK for one segment; the ACK
 * before the last, for all but one segment, has none.
 */
static void round_of(struct tcon_cc *cc, int samples, s64 rtt_us)
{
	u32 end = priv(cc)->backlog.round_end;

	while (--samples > 0)
		ack(cc, MSS, rtt_us);
	if (cc->una != end)
		ack(cc, end - cc->una, -1);
	ack(cc, MSS, rtt_us);
}

/* dwnd after a round with @rtt_us. */
static u32 dwnd_after(u32 segs, u32 dwnd_segs, u32 rtt_us)
{
	struct tcon_cc cc;

	flow_avoid(&cc, segs, dwnd_segs);
	round_of(&cc, 4, rtt_us);
	return priv(&cc)->dwnd_bytes;
}

/*
 * alpha win^(3/4): 16^(3/4) is 8, 256^(3/4) 64, 10000^(3/4) 1000, and an eighth of
 * each: 1, 8 and 125 segments.  (2^30 / 1448)^(3/4) / 8 is 3158.70
 * segments, (2^30 / 88)^(3/4) 206449.05 of 88 bytes.
 */
static void growth_table(void **unused)
{
	static const struct {
		u32 mss, cwnd_bytes;
		s64 alpha;
		u32 least, most;
	} t[] = {
		{ 1448, SEGS(16), 125, SEGS(1), SEGS(1) },
		{ 1448, SEGS(256), 125, SEGS(8), SEGS(8) },
		{ 1448, SEGS(10000), 125, SEGS(125) - 1, SEGS(125) },
		{ 1448, SEGS(10000), 1000, SEGS(1000) - 1, SEGS(1000) },
		{ 1448, SEGS(10000), 0, 0, 0 },
		/* 2 segments: 1.6818 / 8 of 1448 is 304.4 */
		{ 1448, SEGS(2), 125, 304, 304 },
		{ 1448, TCON_CWND_MAX_BYTES, 125, 4573750, 4573799 },
		{ 88, TCON_CWND_MAX_BYTES, 1000, 18167400, 18167517 },
	};
	struct tcon_cc cc;
	int i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		flow_init(&cc, 10);
		cc.mss_bytes = t[i].mss;
		cc.cwnd_bytes = t[i].cwnd_bytes;
		params[PARAM_ALPHA] = t[i].alpha;
		assert_in_range(growth_bytes(&cc), t[i].least, t[i].most);
	}
}

/*
 * A round of 256 segments without a queue: cwnd adds one segment, dwnd 8 - 1, of
 * 257 segments 8.0234 - 1: 7.0234 segments are 10169.9 bytes.
 */
static void grow(void **unused)
{
	struct tcon_cc cc;

	flow_avoid(&cc, 256, 100);
	round_of(&cc, 4, BASE_US);
	assert_int_equal(loss_bytes(&cc), SEGS(157));
	assert_in_range(priv(&cc)->dwnd_bytes, SEGS(100) + 10169,
			SEGS(100) + 10170);
	assert_int_equal(cc.cwnd_bytes,
			 SEGS(157) + priv(&cc)->dwnd_bytes);
	assert_int_equal(priv(&cc)->diff_bytes, 0);
}

/*
 * gamma is 30: of 300 segments 30 wait at an RTT of 300 / 270 of the base,
 * 111111.1 us.  Just below, dwnd grows; above, it falls by what waits: 30.0024
 * segments, and at twice the base 150, more than there are.
 */
static void gamma_bound(void **unused)
{
	assert_true(dwnd_after(300, 100, 111111) > SEGS(100));
	assert_int_equal(dwnd_after(300, 100, 111112), SEGS(70) - 3);
	assert_int_equal(dwnd_after(300, 100, 2 * BASE_US), 0);
	assert_int_equal(dwnd_after(300, 100, TCON_RTT_NONE_US - 1), 0);
}

/* Half of what waits; all of the tenfold. */
static void eta(void **unused)
{
	struct tcon_cc cc;

	flow_avoid(&cc, 300, 100);
	params[PARAM_ETA] = 500;
	round_of(&cc, 4, 125000);	/* 60 segments wait */
	assert_int_equal(priv(&cc)->dwnd_bytes, SEGS(70));
	assert_int_equal(priv(&cc)->diff_bytes, SEGS(60));
	flow_avoid(&cc, 300, 100);
	params[PARAM_ETA] = 10000;
	round_of(&cc, 4, 112000);
	assert_int_equal(priv(&cc)->dwnd_bytes, 0);
	assert_int_equal(cc.cwnd_bytes, SEGS(201));
	assert_false(tcon_reno_in_slow_start(&cc));
}

/* Below 38 segments dwnd is 0: Reno; at 38 it is 38^(3/4) / 8 = 1.913. */
static void low_window(void **unused)
{
	assert_int_equal(dwnd_after(36, 10, BASE_US), 0);
	assert_in_range(dwnd_after(37, 10, BASE_US), SEGS(10) + 1320,
			SEGS(10) + 1323);
}

/* Slow start has no dwnd, and ends at ssthresh only. */
static void slow_start(void **unused)
{
	struct tcon_cc cc;

	flow_init(&cc, 100);
	round_of(&cc, 4, 2 * BASE_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(201));
	assert_int_equal(priv(&cc)->dwnd_bytes, 0);
	assert_true(tcon_reno_in_slow_start(&cc));
	flow_init(&cc, 100);
	cc.ssthresh_bytes = SEGS(101);
	round_of(&cc, 4, BASE_US);
	assert_true(priv(&cc)->dwnd_bytes > 0);
}

/* Too few samples, or a window that does not bind: dwnd stays. */
static void undecided(void **unused)
{
	struct tcon_cc cc;

	flow_avoid(&cc, 300, 100);
	round_of(&cc, 2, BASE_US);
	assert_int_equal(priv(&cc)->dwnd_bytes, SEGS(100));
	assert_int_equal(loss_bytes(&cc), SEGS(201));
	flow_avoid(&cc, 300, 100);
	ack(&cc, MSS, BASE_US);
	ack(&cc, MSS, BASE_US);
	ack_if(&cc, SEGS(300), BASE_US, false);
	assert_int_equal(priv(&cc)->dwnd_bytes, SEGS(100));
	assert_int_equal(cc.cwnd_bytes, SEGS(300));
}

/* W is the window of the round before, not what it has grown to. */
static void measured_window(void **unused)
{
	struct tcon_cc cc;

	flow_avoid(&cc, 300, 100);
	round_of(&cc, 4, BASE_US);
	assert_true(cc.cwnd_bytes > SEGS(308));
	round_of(&cc, 4, 111111);	/* 29.9997 of 300 segments */
	assert_int_equal(priv(&cc)->diff_bytes, SEGS(30) - 1);
	assert_true(priv(&cc)->dwnd_bytes > SEGS(110));
}

/*
 * 300 segments with 100 of dwnd: win is 150, cwnd 100, dwnd 50.  With beta 0.3 win
 * is 210, dwnd 110; with 0.8 win would be 60, less than half of cwnd: that, 100, is left.
 */
static void loss(void **unused)
{
	static const struct {
		s64 beta;
		u32 win, dwnd;
	} t[] = { { 500, 150, 50 }, { 300, 210, 110 }, { 800, 100, 0 } };
	struct tcon_cc cc;
	int i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		flow_avoid(&cc, 300, 100);
		params[PARAM_BETA] = t[i].beta;
		state(&cc, TCON_CA_RECOVERY);
		assert_int_equal(cc.cwnd_bytes, SEGS(t[i].win));
		assert_int_equal(cc.ssthresh_bytes, SEGS(t[i].win));
		assert_int_equal(priv(&cc)->dwnd_bytes, SEGS(t[i].dwnd));
		ack(&cc, SEGS(150), BASE_US);
		assert_int_equal(cc.cwnd_bytes, SEGS(t[i].win));
	}
	flow_avoid(&cc, 300, 100);
	event(&cc, TCON_CA_EVENT_ECE);
	event(&cc, TCON_CA_EVENT_ECE);		/* once per window */
	state(&cc, TCON_CA_RECOVERY);
	assert_int_equal(cc.cwnd_bytes, SEGS(150));
	assert_int_equal(priv(&cc)->dwnd_bytes, SEGS(50));
	event(&cc, TCON_CA_EVENT_ECE);
	assert_int_equal(cc.cwnd_bytes, SEGS(150));
}

/*
 * Segments become larger: 256 of them, 250 of dwnd, are less than 38 then, so that dwnd goes.  The
 * rest, 6 of the former and one that it grows by, would be less than two.
 */
static void segments_grow(void **unused)
{
	struct tcon_cc cc;

	flow_avoid(&cc, 256, 250);
	cc.mss_bytes = 65280;
	round_of(&cc, 4, BASE_US);
	assert_int_equal(priv(&cc)->dwnd_bytes, 0);
	assert_int_equal(cc.cwnd_bytes, 2 * 65280);
	assert_int_equal(cc.ssthresh_bytes, 2 * 65280);
}

/* Reno's part is never below two segments, so neither is win without dwnd. */
static void smallest(void **unused)
{
	struct tcon_cc cc;

	flow_avoid(&cc, 300, 298);
	state(&cc, TCON_CA_RECOVERY);
	assert_int_equal(loss_bytes(&cc), SEGS(2));
	assert_int_equal(priv(&cc)->dwnd_bytes, SEGS(148));
	flow_avoid(&cc, 300, 0);
	cc.cwnd_bytes = SEGS(3);
	state(&cc, TCON_CA_RECOVERY);
	assert_int_equal(cc.cwnd_bytes, SEGS(2));
	assert_int_equal(priv(&cc)->dwnd_bytes, 0);
}

/* dwnd is 0, gamma is new, and what the tracker knows is the base again. */
static void timeout(void **unused)
{
	struct tcon_cc cc;

	flow_avoid(&cc, 300, 100);
	priv(&cc)->gamma_bytes = SEGS(7);
	state(&cc, TCON_CA_LOSS);
	assert_int_equal(cc.cwnd_bytes, SEGS(2));
	assert_int_equal(cc.ssthresh_bytes, SEGS(150));
	assert_int_equal(priv(&cc)->dwnd_bytes, 0);
	assert_int_equal(priv(&cc)->gamma_bytes, SEGS(30));
	ack(&cc, SEGS(10), -1);
	assert_int_equal(cc.cwnd_bytes, SEGS(12));	/* slow start */
}

static void undo(void **unused)
{
	struct tcon_cc cc;

	flow_avoid(&cc, 300, 100);
	state(&cc, TCON_CA_RECOVERY);
	state(&cc, TCON_CA_LOSS);
	ctcp_ops.undo_cwnd(&cc);
	state(&cc, TCON_CA_OPEN);
	assert_int_equal(cc.cwnd_bytes, SEGS(300));
	assert_int_equal(priv(&cc)->dwnd_bytes, SEGS(100));
	priv(&cc)->dwnd_bytes = 5;
	ctcp_ops.undo_cwnd(&cc);		/* nothing left to undo */
	assert_int_equal(priv(&cc)->dwnd_bytes, 5);
}

/*
 * Of 300 segments with 100 of dwnd, cwnd's 200 leave 20 in queues at 111111.1 us.
 * 3/4 of this is 15: gamma goes a quarter of the way from 30 to it, 26.25, at the
 * loss, and nowhere at the next, before there is another round.  The bounds: 5,
 * and 30.
 */
static void tuning(void **unused)
{
	struct tcon_cc cc;

	flow_avoid(&cc, 300, 100);
	round_of(&cc, 4, 111112);
	assert_in_range(priv(&cc)->diff_reno_bytes, SEGS(20), SEGS(20) + 2);
	state(&cc, TCON_CA_RECOVERY);
	assert_in_range(priv(&cc)->gamma_bytes, SEGS(26) + MSS / 4,
			SEGS(26) + MSS / 4 + 1);
	state(&cc, TCON_CA_OPEN);
	cc.una = cc.nxt;
	state(&cc, TCON_CA_RECOVERY);
	assert_in_range(priv(&cc)->gamma_bytes, SEGS(26), SEGS(27));

	flow_avoid(&cc, 300, 100);
	priv(&cc)->gamma_bytes = SEGS(6);
	round_of(&cc, 4, BASE_US);	/* nothing waits: 4.5 */
	state(&cc, TCON_CA_RECOVERY);
	assert_int_equal(priv(&cc)->gamma_bytes, SEGS(5));
	flow_avoid(&cc, 300, 100);
	round_of(&cc, 4, 2 * BASE_US);	/* 100 of cwnd's wait */
	state(&cc, TCON_CA_RECOVERY);
	assert_int_equal(priv(&cc)->gamma_bytes, SEGS(30));
	flow_avoid(&cc, 300, 100);
	params[PARAM_GAMMA] = 3;	/* below gamma_low: not tuned */
	reset_path(&cc, cc.min_rtt_us);
	round_of(&cc, 4, 2 * BASE_US);
	state(&cc, TCON_CA_RECOVERY);
	assert_int_equal(priv(&cc)->gamma_bytes, SEGS(3));
}

/* After a time-out baseRTT is measured again, unless there was none. */
static void timeout_base_rtt(void **unused)
{
	struct tcon_cc cc;

	flow_avoid(&cc, 300, 100);
	state(&cc, TCON_CA_LOSS);
	ack(&cc, MSS, BASE_US + 60000);
	assert_int_equal(priv(&cc)->backlog.base_rtt_us, BASE_US + 60000);
	ctcp_ops.undo_cwnd(&cc);
	assert_int_equal(priv(&cc)->backlog.base_rtt_us, BASE_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(300));
}

/* After silence the window stays, and the first round is not compared. */
static void idle(void **unused)
{
	struct tcon_cc cc;

	flow_avoid(&cc, 300, 100);
	ack(&cc, MSS, 50000);
	assert_int_equal(priv(&cc)->backlog.base_rtt_us, 50000);
	cc.min_rtt_us = 90000;
	cc.app_limited_until = 1;
	event(&cc, TCON_CA_EVENT_TX_START);
	assert_int_equal(priv(&cc)->backlog.base_rtt_us, 90000);
	assert_int_equal(priv(&cc)->backlog.round_samples, 0);
	assert_int_equal(cc.cwnd_bytes, SEGS(300));
}

/* A whole window that is acknowledged once in each round trip is no silence. */
static void whole_windows(void **unused)
{
	struct tcon_cc cc;
	int i;

	flow_avoid(&cc, 300, 0);
	for (i = 0; i < 5; i++)
		whole_round(&cc, 5, BASE_US);
	assert_true(priv(&cc)->dwnd_bytes > SEGS(8));
}

static void bounds(void **unused)
{
	struct tcon_cc cc;

	flow_avoid(&cc, 300, 100);
	cc.cwnd_bytes = TCON_CWND_MAX_BYTES - 5;
	begin_rounds(&cc);
	round_of(&cc, 4, BASE_US);
	assert_int_equal(cc.cwnd_bytes, TCON_CWND_MAX_BYTES);
}

static void info(void **unused)
{
	struct tcon_cc cc;
	char buf[128];

	flow_avoid(&cc, 300, 1);
	ctcp_ops.get_info(&cc, buf, sizeof(buf));
	assert_string_equal(buf, "mode=AVOIDANCE dwnd_bytes=1448 diff_bytes=0 "
				 "gamma_bytes=43440 base_rtt_us=100000");
	event(&cc, TCON_CA_EVENT_ECE);
	assert_int_equal(ctcp_ops.get_info(&cc, buf, 13), 12);
	assert_string_equal(buf, "mode=REDUCED");
	start(&cc, &ctcp_ops, MSS, SEGS(1), TCON_RTT_NONE_US);
	ctcp_ops.get_info(&cc, buf, sizeof(buf));
	assert_non_null(strstr(buf, "mode=SLOW_START"));
	assert_non_null(strstr(buf, "base_rtt_us=0"));
}

static void module(void **unused)
{
	assert_int_equal(shim_tcon_ctcp_module_init(), 0);
	assert_ptr_equal(registered, &ctcp_ops);
	assert_string_equal(registered->category, "hybrid");
	shim_tcon_ctcp_module_exit();
	assert_null(registered);
}

static void extremes(void **unused)
{
	int i;

	default_params(&ctcp_ops);
	extreme_paths(&ctcp_ops);
	for (i = 0; i < ARRAY_SIZE(ctcp_params); i++)
		params[i] = ctcp_params[i].max;
	extreme_paths(&ctcp_ops);
	for (i = 0; i < ARRAY_SIZE(ctcp_params); i++)
		params[i] = ctcp_params[i].min;
	extreme_paths(&ctcp_ops);
}

/* Share of 100 Mbit/s, 120 ms and @buffer_bytes in @seconds after the start. */
static double utilisation(const struct tcon_cc_ops *ops, u32 buffer_bytes,
			  u32 loss_ppm, unsigned int seconds)
{
	static struct sim s;
	double share;

	default_params(ops);
	sim_start(&s, ops, params, 100000000, 120000, buffer_bytes, MSS);
	sim_run(&s, 10 * SIM_NS, NULL);
	s.loss_ppm = loss_ppm;
	sim_run(&s, 30 * SIM_NS, NULL);
	sim_measure(&s);
	sim_run(&s, (30 + seconds) * SIM_NS, NULL);
	share = sim_utilisation(&s);
	print_message("%s: utilisation %.3f\n", ops->name, share);
	sim_stop(&s);
	return share;
}

/*
 * A path of 1036 segments that loses one in 10000.  Reno's mean is 1.31 / sqrt(p)
 * (test_reno.c), 131 segments or 12.6 %.  Compound's, where no queue is: win grows
 * from W / 2 to W by win^(3/4) / 8 per RTT, which takes 32 (1 - 2^(-1/4)) W^(1/4)
 * = 5.09 W^(1/4) RTTs and 6.4 (1 - 2^(-5/4)) W^(5/4) = 3.71 W^(5/4) segments.  These
 * are 10000 for W = 555: 24.7 RTTs, so the mean is 405 segments, 39 %.
 */
static void lossy(void **unused)
{
	double reno = utilisation(&reno_ops, 1500000, 100, 600);
	double ctcp = utilisation(&ctcp_ops, 1500000, 100, 600);

	assert_true(fabs(reno / 0.126 - 1) < 0.1);
	assert_true(fabs(ctcp / 0.391 - 1) < 0.1);
}

static u32 most_dwnd_segs;

static void watch_dwnd(struct sim *s)
{
	most_dwnd_segs = max(most_dwnd_segs,
			     priv(&s->cc)->dwnd_bytes / s->cc.mss_bytes);
}

/*
 * A buffer that holds more than two BDPs (100 Mbit/s, 50 ms: 432 segments).  dwnd
 * fills the path in seconds, where Reno needs 330 round trips, and then gives way as
 * cwnd grows.  The queue is near gamma: by 12 segments per round more in the two
 * rounds until that is seen, and then as much less.  cwnd alone reaches BDP and gamma
 * in a minute: nothing is lost.
 */
static void synergy(void **unused)
{
	static struct sim s;
	double queue_segs;

	default_params(&ctcp_ops);
	most_dwnd_segs = 0;
	sim_start(&s, &ctcp_ops, params, 100000000, 50000, 1900000, MSS);
	s.cc.ssthresh_bytes = SEGS(100);	/* slow start ended early */
	sim_run(&s, 3 * SIM_NS, watch_dwnd);
	assert_in_range(most_dwnd_segs, 200, 350);
	sim_measure(&s);
	sim_run(&s, 10 * SIM_NS, watch_dwnd);
	queue_segs = sim_queue_us(&s) * 100e6 / 8e6 / MSS;
	print_message("dwnd at most %u segments, %.1f segments wait, utilisation %.3f\n",
		      most_dwnd_segs, queue_segs, sim_utilisation(&s));
	assert_true(queue_segs > 20 && queue_segs < 54);
	assert_true(sim_utilisation(&s) > 0.99);
	assert_int_equal(s.cuts, 0);
	sim_stop(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(segments_grow),
		cmocka_unit_test(growth_table),
		cmocka_unit_test(grow),
		cmocka_unit_test(gamma_bound),
		cmocka_unit_test(eta),
		cmocka_unit_test(low_window),
		cmocka_unit_test(slow_start),
		cmocka_unit_test(undecided),
		cmocka_unit_test(measured_window),
		cmocka_unit_test(loss),
		cmocka_unit_test(smallest),
		cmocka_unit_test(timeout),
		cmocka_unit_test(undo),
		cmocka_unit_test(tuning),
		cmocka_unit_test(timeout_base_rtt),
		cmocka_unit_test(idle),
		cmocka_unit_test(whole_windows),
		cmocka_unit_test(bounds),
		cmocka_unit_test(info),
		cmocka_unit_test(module),
		cmocka_unit_test(extremes),
		cmocka_unit_test(lossy),
		cmocka_unit_test(synergy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
