// SPDX-License-Identifier: GPL-2.0-only
/*
 * AccuCubic (algorithms/accucubic.c): the window is on the curve at each ACK, and stays on
 * the plateau as long as its thesis says (5.5.2).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "algorithms/accucubic.c"
#include "algorithms/cubic.c"
#include "flow.h"

#define RTT_US		1000000

static void ack_at(struct tcon_cc *cc, u64 now_us, u32 bytes)
{
	struct tcon_rate_sample rs = {
		.now_us = now_us,
		.delivered_bytes = -1,
		.interval_us = -1,
		.rtt_us = RTT_US,
		.acked_bytes = bytes,
		.acked_sacked_bytes = bytes,
		.is_cwnd_limited = true,
	};

	cc->una += bytes;
	cc->nxt += bytes;
	cc->ops->cong_control(cc, &rs);
}

/* In avoidance since @T0_US, after a loss at 100 segments. */
static void flow_after_loss(struct tcon_cc *cc, const struct tcon_cc_ops *ops)
{
	default_params(ops);
	params[PARAM_TCP_FRIENDLINESS] = 0;
	start(cc, ops, MSS, SEGS(100), RTT_US);
	state(cc, TCON_CA_RECOVERY);
	cc->una = cc->nxt;
	state(cc, TCON_CA_OPEN);
	ack_at(cc, T0_US, 1);
}

/* An ACK for a segment each 10 ms: within a byte or two of 0.4 (t - K)^3 + 100 segments. */
static void on_curve(void **unused)
{
	double k = cbrt(30 / 0.4), wanted;
	struct tcon_cc cc;
	int i;

	flow_after_loss(&cc, &accucubic_ops);
	for (i = 1; i <= 700; i++) {
		ack_at(&cc, T0_US + i * 10000, MSS);
		wanted = (0.4 * pow(i * 0.01 - k, 3) + 100) * MSS;
		/* K is right to a thousandth */
		assert_true(fabs(cc.cwnd_bytes - wanted) < 0.1 * MSS);
	}
}

/* Seconds from the first ACK that finds W_max to the first that finds a segment more. */
static double plateau_s(const struct tcon_cc_ops *ops)
{
	double from = 0, to = 0;
	struct tcon_cc cc;
	int i;

	flow_after_loss(&cc, ops);
	for (i = 1; !to && i < 2000; i++) {
		ack_at(&cc, T0_US + i * 10000, MSS);
		if (!from && cc.cwnd_bytes >= SEGS(100) - 1)
			from = i * 0.01;
		if (cc.cwnd_bytes >= SEGS(101))
			to = i * 0.01;
	}
	print_message("%s: %.2f s at W_max\n", ops->name, to - from);
	return to - from;
}

/*
 * W_cubic needs cbrt(1 / 0.4) = 1.357 s from W_max to a segment more (5.5.1).  A byte of W_max
 * is missing cbrt(1 / 1448 / 0.4) = 0.120 s before.  Linux stays
 * about 0.8 s (5.5.2).
 */
static void plateau(void **unused)
{
	double accu = plateau_s(&accucubic_ops), linux_s = plateau_s(&cubic_ops);

	assert_true(fabs(accu - 1.357 - 0.120) < 0.05);
	assert_true(fabs(linux_s - 0.8) < 0.1);
}

/* Growth is by what was acknowledged at most: after a pause the window does not jump. */
static void no_jump(void **unused)
{
	struct tcon_cc cc;

	flow_after_loss(&cc, &accucubic_ops);
	ack_at(&cc, T0_US + 60000000, SEGS(2));
	assert_in_range(cc.cwnd_bytes, SEGS(72), SEGS(72) + 1);
}

static void module(void **unused)
{
	assert_int_equal(shim_tcon_accucubic_module_init(), 0);
	assert_ptr_equal(registered, &accucubic_ops);
	assert_int_equal(registered->n_params, PARAM_RFC9438);
	shim_tcon_accucubic_module_exit();
	assert_null(registered);
}

static void extremes(void **unused)
{
	int i;

	default_params(&accucubic_ops);
	extreme_paths(&accucubic_ops);
	for (i = 0; i < PARAM_RFC9438; i++)
		params[i] = cubic_params[i].min;
	extreme_paths(&accucubic_ops);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(on_curve),
		cmocka_unit_test(plateau),
		cmocka_unit_test(no_jump),
		cmocka_unit_test(module),
		cmocka_unit_test(extremes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
