// SPDX-License-Identifier: GPL-2.0-only
/*
 * PCC Vivace (algorithms/vivace.c): its rules by hand, and in a closed loop what its paper says of
 * losses, queues and sharing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "algorithms/vivace.c"
#include "draw.h"
#include "flow.h"
#include "sim.h"

#define MBIT		1000000ULL

static struct vivace *priv(const struct tcon_cc *cc)
{
	return tcon_cc_priv(cc);
}

/* In PROBING at @mbps, with an RTT of 100 ms. */
static void flow_at(struct tcon_cc *cc, u32 mbps)
{
	default_params(&vivace_ops);
	start(cc, &vivace_ops, MSS, SEGS(10), 100000);
	priv(cc)->starting = false;
	priv(cc)->up_first = true;
	choose(cc, mbps * MBIT);
}

static void powers(void **unused)
{
	static const u64 bps[] = {
		1, 10, 999999, 1000000, 12345678, 0xffffffff, 1000000000000ULL,
	};
	static const u32 milli[] = { 100, 500, 900, 990 };
	double want, got;
	int i, k;

	for (i = 0; i < ARRAY_SIZE(bps); i++)
		for (k = 0; k < ARRAY_SIZE(milli); k++) {
			want = 1e6 * pow(bps[i] / 1e6, milli[k] / 1000.0);
			got = tcon_power_micro(bps[i], milli[k]);
			assert_true(fabs(got - want) <= 1 + want * 2e-7);
		}
	assert_int_equal(tcon_power_micro(0, 900), 0);
}

/*
 * 100 Mbit/s: 100^0.9 = 63.096.  A slope of 0.02 takes 900 * 100 * 0.02 = 1800, and of 0.009
 * nothing; a loss of 5 % takes 11.35 * 100 * 0.05 = 56.75.
 */
static void utilities(void **unused)
{
	struct vivace_interval interval = { .length_us = 1000000 };
	struct tcon_cc cc;

	flow_at(&cc, 100);
	interval.delivered_bytes = 12500000;
	assert_in_range(utility(&cc, &interval, 1000000), 63095700, 63095740);
	interval.half[0] = (struct vivace_half){ 10 * 100000, 10 * 250000, 10 };
	interval.half[1] = (struct vivace_half){ 20 * 110000, 20 * 750000, 20 };
	assert_int_equal(slope_ppm(&interval), 20000);
	assert_in_range(utility(&cc, &interval, 1000000) + 1800000000,
			63095700, 63095740);
	interval.half[1].rtt_us = 20 * 104500;
	assert_int_equal(slope_ppm(&interval), 0);
	interval.half[1].rtt_us = 20 * 90000;
	assert_int_equal(slope_ppm(&interval), -20000);
	interval.half[1].count = 0;
	assert_int_equal(slope_ppm(&interval), 0);
	interval.delivered_bytes = 11875000;
	interval.lost_bytes = 625000;
	assert_in_range(utility(&cc, &interval, 1000000) + 56750000,
			63095700, 63095740);
}

/*
 * r is 100 Mbit/s and u differs by 1 over 10 Mbit/s: 0.1 Mbit/s, then 0.2, 0.3, 0.5, 0.7; the other
 * way 0.1 again.
 */
static void moves(void **unused)
{
	static const u32 wanted_kbps[] = { 100, 200, 300, 500, 700 };
	struct tcon_cc cc;
	int i;

	flow_at(&cc, 100);
	for (i = 0; i < ARRAY_SIZE(wanted_kbps); i++) {
		priv(&cc)->rate_bps = 100 * MBIT;
		decide_move(&cc, 1000000);
		assert_int_equal(priv(&cc)->rate_bps,
				 100 * MBIT + wanted_kbps[i] * 1000);
	}
	priv(&cc)->rate_bps = 100 * MBIT;
	decide_move(&cc, -1000000);
	assert_int_equal(priv(&cc)->rate_bps, 100 * MBIT - 100000);
	assert_int_equal(priv(&cc)->streak, -1);
}

/* omega: 5 %, 15 %, 25 %, 35 %; a move of 12 % then makes it 15 % again, a turn 5 %. */
static void steps(void **unused)
{
	static const u32 wanted[] = { 105, 115, 125 };
	struct tcon_cc cc;
	int i;

	flow_at(&cc, 100);
	for (i = 0; i < ARRAY_SIZE(wanted); i++) {
		priv(&cc)->rate_bps = 100 * MBIT;
		decide_move(&cc, 1000000000);
		assert_int_equal(priv(&cc)->rate_bps, wanted[i] * MBIT);
	}
	assert_int_equal(priv(&cc)->steps, 3);
	priv(&cc)->rate_bps = 100 * MBIT;
	assert_int_equal(within_step(priv(&cc), 12 * MBIT), 12 * MBIT);
	assert_int_equal(priv(&cc)->steps, 1);
	decide_move(&cc, -1000000000);
	assert_int_equal(priv(&cc)->rate_bps, 95 * MBIT);
	assert_int_equal(priv(&cc)->steps, 1);
}

/* 10, 20, 40 Mbit/s while u rises; back to 20 when it falls. */
static void start_phase(void **unused)
{
	struct tcon_cc cc;

	flow_at(&cc, 10);
	priv(&cc)->starting = true;
	decide_start(&cc, 5);
	decide_start(&cc, 6);
	assert_int_equal(priv(&cc)->rate_bps, 40 * MBIT);
	assert_true(priv(&cc)->starting);
	decide_start(&cc, 6);
	assert_int_equal(priv(&cc)->rate_bps, 20 * MBIT);
	assert_false(priv(&cc)->starting);
}

/* Two intervals of an RTT at 105 and 95 Mbit/s, then 100 until the last answer. */
static void trial(void **unused)
{
	struct tcon_rate_sample rs = {
		.now_us = T0_US, .rtt_us = 100000, .delivered_bytes = MSS,
		.interval_us = 100000, .acked_sacked_bytes = MSS,
	};
	struct tcon_cc cc;
	u64 first, last;

	flow_at(&cc, 100);
	cc.delivered_bytes = SEGS(10);
	random_fixed = 1;			/* up first */
	begin_trial(&cc, T0_US);
	first = cc.delivered_bytes;
	rs.prior_delivered = first - 1;		/* of before */
	cc.delivered_bytes += MSS;
	rs.now_us = T0_US + 99999;
	tcon_vivace_cong_control(&cc, &rs);
	assert_int_equal(cc.pacing_rate_bps, 105 * MBIT);
	assert_int_equal(priv(&cc)->trial[0].delivered_bytes, 0);
	rs.now_us++;
	rs.prior_delivered = first;
	tcon_vivace_cong_control(&cc, &rs);
	assert_int_equal(cc.pacing_rate_bps, 95 * MBIT);
	assert_int_equal(priv(&cc)->trial[0].delivered_bytes, MSS);
	cc.delivered_bytes += MSS;
	rs.now_us += 100000;
	rs.prior_delivered = priv(&cc)->trial[1].begin_delivered;
	tcon_vivace_cong_control(&cc, &rs);
	assert_int_equal(cc.pacing_rate_bps, 100 * MBIT);
	assert_int_equal(priv(&cc)->trial[1].delivered_bytes, MSS);
	last = cc.delivered_bytes;
	cc.delivered_bytes += MSS;
	rs.prior_delivered = last - 1;
	tcon_vivace_cong_control(&cc, &rs);
	assert_int_equal(priv(&cc)->sending, 2);
	rs.prior_delivered = last;		/* the last answer */
	tcon_vivace_cong_control(&cc, &rs);
	assert_int_equal(priv(&cc)->sending, 0);
	assert_int_equal(abs(priv(&cc)->streak), 1);

	rs.is_app_limited = true;		/* tells nothing */
	rs.prior_delivered = cc.delivered_bytes;
	tcon_vivace_cong_control(&cc, &rs);
	priv(&cc)->rate_bps = 100 * MBIT;
	decide(&cc);
	assert_int_equal(priv(&cc)->rate_bps, 100 * MBIT);
}

/* An ACK for a segment that has just been sent. */
static void answer(struct tcon_cc *cc, u64 now_us)
{
	struct tcon_rate_sample rs = {
		.now_us = now_us, .rtt_us = 100000, .delivered_bytes = MSS,
		.interval_us = 100000, .acked_sacked_bytes = MSS,
		.prior_delivered = cc->delivered_bytes,
	};

	cc->delivered_bytes += MSS;
	tcon_vivace_cong_control(cc, &rs);
}

static void time_out(void **unused)
{
	struct tcon_cc cc;

	flow_at(&cc, 100);
	state(&cc, TCON_CA_RECOVERY);
	assert_int_equal(priv(&cc)->rate_bps, 100 * MBIT);
	state(&cc, TCON_CA_LOSS);
	assert_int_equal(priv(&cc)->rate_bps, 50 * MBIT);
	assert_true(priv(&cc)->starting);
	state(&cc, TCON_CA_LOSS);		/* its back-off */
	vivace_ops.undo_cwnd(&cc);
	state(&cc, TCON_CA_OPEN);
	assert_int_equal(priv(&cc)->rate_bps, 100 * MBIT);
	assert_int_equal(cc.pacing_rate_bps, 100 * MBIT);
	assert_false(priv(&cc)->starting);
	answer(&cc, T0_US + 1);			/* the next trial */
	assert_int_equal(priv(&cc)->sending, 0);
	assert_int_equal(priv(&cc)->rate_bps, 100 * MBIT);
	assert_int_equal(priv(&cc)->trial[0].begin_us, T0_US + 1);

	priv(&cc)->starting = true;
	state(&cc, TCON_CA_LOSS);
	vivace_ops.undo_cwnd(&cc);
	assert_true(priv(&cc)->starting);
}

/* Losses that a timer finds count with the next ACK, except for a time-out's own. */
static void lost_between_acks(void **unused)
{
	struct tcon_cc cc;

	flow_at(&cc, 100);
	begin_trial(&cc, T0_US);
	cc.lost_bytes += SEGS(3);
	answer(&cc, T0_US + 1);
	assert_int_equal(priv(&cc)->trial[0].lost_bytes, SEGS(3));
	answer(&cc, T0_US + 2);
	assert_int_equal(priv(&cc)->trial[0].lost_bytes, SEGS(3));
	cc.lost_bytes += SEGS(50);
	state(&cc, TCON_CA_LOSS);
	answer(&cc, T0_US + 3);
	assert_int_equal(priv(&cc)->trial[0].lost_bytes, 0);
}

static struct sim s;

/* With a segment in flight nothing is in flight once in each round trip, which is no silence. */
static void from_the_floor(void **unused)
{
	default_params(&vivace_ops);
	random_seed = 1;
	sim_start(&s, &vivace_ops, params, 100 * MBIT, 20000, 250000, MSS);
	s.cc.srtt_us = 1000000;		/* once */
	restart(&s.cc, 0, 0);
	priv(&s.cc)->starting = false;
	sim_run(&s, 60 * SIM_NS, NULL);
	assert_true(priv(&s.cc)->rate_bps > 50 * MBIT);
	sim_stop(&s);
}

static double lone(u32 loss_ppm, u32 buffer_bytes, u64 bps)
{
	default_params(&vivace_ops);
	random_seed = 1;
	sim_start(&s, &vivace_ops, params, bps, 20000, buffer_bytes, MSS);
	s.loss_ppm = loss_ppm;
	sim_run(&s, 20 * SIM_NS, NULL);
	sim_measure(&s);
	sim_run(&s, 60 * SIM_NS, NULL);
	print_message("loss %.1f %%, buffer %u: utilisation %.3f, queue %.0f us, lost %.2f %%\n",
		      loss_ppm / 1e4, buffer_bytes, sim_utilisation(&s),
		      sim_queue_us(&s), 100.0 * (s.cc.lost_bytes - s.since_lost) /
		      (s.cc.delivered_bytes - s.since_delivered));
	return sim_utilisation(&s);
}

/*
 * The paper: a lone flow fills the path without a queue, whatever the buffer is, and random losses
 * of a few percent do not stop it.  Where 5 % of the path is one segment, its RTTs tell less.
 */
static void paths(void **unused)
{
	static const struct {
		u32 loss_ppm, buffer_bytes, mbps, most_queue_us;
		double least;
	} path[] = {
		{ 0, 250000, 100, 500, 0.92 },
		{ 0, 25000, 100, 500, 0.92 },
		{ 0, 2500000, 1000, 500, 0.92 },
		{ 10000, 250000, 100, 500, 0.80 },
		{ 30000, 250000, 100, 500, 0.60 },
		{ 0, 250000, 10, 20000, 0.75 },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(path); i++) {
		assert_true(lone(path[i].loss_ppm, path[i].buffer_bytes,
				 path[i].mbps * MBIT) > path[i].least);
		assert_true(sim_queue_us(&s) < path[i].most_queue_us);
		assert_false(priv(&s.cc)->starting);
		sim_stop(&s);
	}
}

static void module(void **unused)
{
	assert_int_equal(shim_tcon_vivace_module_init(), 0);
	assert_ptr_equal(registered, &vivace_ops);
	shim_tcon_vivace_module_exit();
	assert_null(registered);
}

static void extremes(void **unused)
{
	int i;

	default_params(&vivace_ops);
	extreme_paths(&vivace_ops);
	for (i = 0; i < ARRAY_SIZE(vivace_params); i++)
		params[i] = vivace_params[i].max;
	extreme_paths(&vivace_ops);
	for (i = 0; i < ARRAY_SIZE(vivace_params); i++)
		params[i] = vivace_params[i].min;
	extreme_paths(&vivace_ops);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(powers),
		cmocka_unit_test(utilities),
		cmocka_unit_test(moves),
		cmocka_unit_test(steps),
		cmocka_unit_test(start_phase),
		cmocka_unit_test(trial),
		cmocka_unit_test(time_out),
		cmocka_unit_test(lost_between_acks),
		cmocka_unit_test(from_the_floor),
		cmocka_unit_test(paths),
		cmocka_unit_test(module),
		cmocka_unit_test(extremes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
