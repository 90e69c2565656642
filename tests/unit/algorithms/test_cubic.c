// SPDX-License-Identifier: GPL-2.0-only
/*
 * CUBIC (algorithms/cubic.c) against values computed by hand or by
 * arbitrary-precision arithmetic, and in a closed loop against RFC 9438's
 * formulas.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "algorithms/cubic.c"
#include "registered.h"
#include "share.h"
#include "sim.h"

#define MSS		1448U
#define SEGS(n)		((n) * MSS)
#define T0_US		1000000000ULL	/* some time after boot */

/* Values of a rule: RFC 9438's, else defaults, unless a test changes them. */
static s64 params[ARRAY_SIZE(cubic_params)];

static void default_params(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(params); i++)
		params[i] = cubic_params[i].def;
	params[PARAM_RFC9438] = 1;
}

/* A flow of @segs segments with an RTT of @rtt_us. */
static void flow_init(struct tcon_cc *cc, u32 segs, u32 rtt_us)
{
	default_params();
	memset(cc, 0, sizeof(*cc));
	cc->ops = &cubic_ops;
	cc->params = params;
	cc->mss_bytes = MSS;
	cc->cwnd_bytes = SEGS(segs);
	cc->ssthresh_bytes = TCON_SSTHRESH_INFINITE;
	cc->srtt_us = rtt_us;
	cc->min_rtt_us = rtt_us;
	cc->una = 0xfffff000U;
	cc->nxt = cc->una + SEGS(segs);
	cc->inflight_bytes = SEGS(segs);
	cubic_ops.init(cc, T0_US);
}

/* An ACK for @bytes at @now_us, of a flow that its cwnd limits. */
static void ack(struct tcon_cc *cc, u64 now_us, u32 bytes, s64 rtt_us)
{
	struct tcon_rate_sample rs = {
		.now_us = now_us,
		.delivered_bytes = -1,
		.interval_us = -1,
		.rtt_us = rtt_us,
		.acked_bytes = bytes,
		.acked_sacked_bytes = bytes,
		.is_cwnd_limited = true,
	};

	cc->una += bytes;
	cc->nxt += bytes;
	cc->delivered_bytes += bytes;
	cubic_ops.cong_control(cc, &rs);
}

static void state(struct tcon_cc *cc, enum tcon_ca_state new_state, u64 now_us)
{
	cubic_ops.set_state(cc, new_state, now_us);
	cc->ca_state = new_state;
}

/* A loss, and the ACK of all that was in flight. */
static void loss_episode(struct tcon_cc *cc, u64 now_us)
{
	state(cc, TCON_CA_RECOVERY, now_us);
	cc->una = cc->nxt;
	cc->nxt += cc->cwnd_bytes;
	state(cc, TCON_CA_OPEN, now_us);
}

static struct cubic *priv(const struct tcon_cc *cc)
{
	return tcon_cc_priv(cc);
}

static void root(void **unused)
{
	u64 r;

	for (r = 1; r < 2642245; r += 1 + r / 7) {
		assert_int_equal(cubic_root(r * r * r), r);
		assert_int_equal(cubic_root(r * r * r - 1), r - 1);
		assert_int_equal(cubic_root(r * r * r + 1), r);
	}
	assert_int_equal(cubic_root(0), 0);
	/* 2642245^3 < 2^64 - 1 < 2642246^3 */
	assert_int_equal(cubic_root(U64_MAX), 2642245);
}

/*
 * K of RFC 9438, equation 2.  The last column by
 *   python3 -c "from decimal import *; getcontext().prec = 40
 *   print(int((Decimal(gap) / mss / (Decimal(c) / 1000)) ** (Decimal(1) / 3)
 *             * 10 ** 6))"
 */
static void k_table(void **unused)
{
	static const struct {
		u32 gap_bytes, c_milli, mss_bytes;
		u64 k_us;
	} t[] = {
		{ 0, 400, 1448, 0 },
		{ 434400, 400, 1448, 9085602 },
		{ 1448, 400, 1448, 1357208 },
		{ 1, 400, 1448, 119965 },
		{ 100, 10, 8948, 1037746 },
		{ 1073741824, 400, 1448, 122844892 },
		{ 1073741824, 10, 88, 1068576779 },
		{ 1073741824, 10000, 65483, 11792080 },
		{ 88, 10000, 88, 464158 },
	};
	u64 got, tolerance;
	int i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		got = cubic_k_us(t[i].gap_bytes, t[i].c_milli, t[i].mss_bytes);
		tolerance = max_t(u64, t[i].k_us / 1000, 100);
		assert_true(got <= t[i].k_us);
		assert_true(t[i].k_us - got <= tolerance);
	}
}

/* C t^3 in bytes; the last column by int(c / 1000 * (t / 1e6) ** 3 * mss). */
static void term_table(void **unused)
{
	static const struct {
		u64 offset_us;
		u32 c_milli, mss_bytes, bytes;
	} t[] = {
		{ 0, 400, 1448, 0 },
		{ 1, 400, 1448, 0 },
		{ 10000, 400, 1448, 0 },
		{ 1000000, 400, 1448, 579 },
		{ 12345678, 400, 1448, 1089866 },
		{ 60000000, 400, 1448, 125107200 },
		{ 9999999, 10, 88, 879 },
		{ 2000000000, 10, 88, TCON_CWND_MAX_BYTES },
		{ BIT_ULL(31) - 1, 10000, 65535, TCON_CWND_MAX_BYTES },
		{ BIT_ULL(31), 1, 1, TCON_CWND_MAX_BYTES },
		{ U64_MAX, 10000, 65535, TCON_CWND_MAX_BYTES },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(t); i++)
		assert_in_range(cubic_term_bytes(t[i].offset_us, t[i].c_milli,
						 t[i].mss_bytes),
				t[i].bytes ? t[i].bytes - 1 : 0, t[i].bytes);
}

/*
 * A loss at 1000 segments.  Then W(0) = 700, W_max = 1000, C = 0.4 and
 * K = cbrt(300 / 0.4) = 9.0856 s.  W_cubic(t) in bytes by
 *   python3 -c "from decimal import *; getcontext().prec = 40
 *   k = (Decimal(300) / Decimal('0.4')) ** (Decimal(1) / 3)
 *   print(int(1448 * (Decimal('0.4') * (t - k) ** 3 + 1000)))"
 * K is up to 0.1 ms small, which is at most 0.01 segments per segment of slope.
 */
static void w_cubic_table(void **unused)
{
	static const struct {
		u64 t_us;
		u64 bytes;
	} t[] = {
		{ 0, 1013600 }, { 1000, 1013743 }, { 100000, 1027786 },
		{ 1000000, 1141827 }, { 2000000, 1241956 },
		{ 5000000, 1408500 }, { 9000000, 1447999 },
		{ 9085600, 1447999 }, { 10000000, 1448442 },
		{ 12000000, 1462337 }, { 15000000, 1567828 },
		{ 18171200, 1882399 }, { 20000000, 2201056 },
		{ 30000000, 6746642 }, { 60000000, 77893225 },
	};
	struct tcon_cc cc;
	double off;
	int i;

	flow_init(&cc, 1000, 100000);
	loss_episode(&cc, T0_US);
	start_epoch(&cc, T0_US);
	assert_in_range(priv(&cc)->curve.k_us, 9085402, 9085602);
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		off = t[i].t_us / 1e6 - 9.0856;
		assert_true(fabs((double)w_cubic_bytes(&cc, t[i].t_us) -
				 t[i].bytes) <=
			    2 + 3 * 0.4 * off * off * MSS * 0.0002);
	}
	/* 300 s: 9.8 million segments, more than any window */
	assert_int_equal(w_cubic_bytes(&cc, 300000000), TCON_CWND_MAX_BYTES);
}

/* beta 0.7: 1448000 -> 1013600; beta 0.5: 1013600 -> 506800. */
static void beta_cut(void **unused)
{
	struct tcon_cc cc;

	flow_init(&cc, 1000, 100000);
	state(&cc, TCON_CA_RECOVERY, T0_US);
	assert_int_equal(cc.cwnd_bytes, 1013600);
	assert_int_equal(cc.ssthresh_bytes, 1013600);
	assert_int_equal(priv(&cc)->curve.w_max_bytes, 1448000);
	state(&cc, TCON_CA_OPEN, T0_US);
	params[PARAM_BETA] = 500;
	state(&cc, TCON_CA_RECOVERY, T0_US);
	assert_int_equal(cc.cwnd_bytes, 506800);
	assert_int_equal(cc.ssthresh_bytes, 506800);

	/* Never below two segments. */
	flow_init(&cc, 10, 100000);
	cc.cwnd_bytes = SEGS(2) + 100;
	state(&cc, TCON_CA_RECOVERY, T0_US);
	assert_int_equal(cc.ssthresh_bytes, SEGS(2));
	assert_int_equal(cc.cwnd_bytes, SEGS(2));
}

/*
 * RFC 9438, 4.7: the second loss, at 1013600 < W_max = 1448000, sets W_max to
 * 1013600 * (1 + 0.7) / 2 = 861560, and without fast convergence to 1013600.
 */
static void convergence(void **unused)
{
	struct tcon_cc cc;

	flow_init(&cc, 1000, 100000);
	loss_episode(&cc, T0_US);
	state(&cc, TCON_CA_RECOVERY, T0_US);
	assert_int_equal(priv(&cc)->curve.w_max_bytes, 861560);
	assert_int_equal(cc.cwnd_bytes, 709520);

	flow_init(&cc, 1000, 100000);
	params[PARAM_FAST_CONVERGENCE] = 0;
	loss_episode(&cc, T0_US);
	state(&cc, TCON_CA_RECOVERY, T0_US);
	assert_int_equal(priv(&cc)->curve.w_max_bytes, 1013600);
}

/* A loss less than a segment below W_max = 1448000 is one in the same place. */
static void convergence_by_segments(void **unused)
{
	struct tcon_cc cc;

	flow_init(&cc, 1000, 100000);
	loss_episode(&cc, T0_US);
	cc.cwnd_bytes = 1448000 - MSS + 1;
	loss_episode(&cc, T0_US);
	assert_int_equal(priv(&cc)->curve.w_max_bytes, 1446553);

	flow_init(&cc, 1000, 100000);
	loss_episode(&cc, T0_US);
	cc.cwnd_bytes = 1448000 - MSS;
	loss_episode(&cc, T0_US);
	/* 1446552 * 1.7 / 2 */
	assert_int_equal(priv(&cc)->curve.w_max_bytes, 1229569);
}

/*
 * RFC 9438, 4.3: alpha = 3 * 0.3 / 1.7 = 9/17.  One window of 70 segments
 * acknowledged, cwnd standing still: W_est grows by 9/17 * 1448 = 766.6 bytes;
 * at or above the window before the loss by 1448.
 */
static void reno_estimate(void **unused)
{
	struct tcon_cc cc;
	u32 i, start;

	flow_init(&cc, 100, 10000);
	loss_episode(&cc, T0_US);
	start_epoch(&cc, T0_US);
	start = priv(&cc)->curve.w_est_bytes;
	assert_int_equal(start, SEGS(70));
	for (i = 0; i < 70; i++)
		grow_w_est(&cc, MSS);
	assert_int_equal(priv(&cc)->curve.w_est_bytes - start, 766);
	for (i = 0; i < 70 * 16; i++)	/* 17 windows: 9 segments, exactly */
		grow_w_est(&cc, MSS);
	assert_int_equal(priv(&cc)->curve.w_est_bytes - start, SEGS(9));

	priv(&cc)->curve.w_est_bytes = SEGS(100);
	for (i = 0; i < 70; i++)
		grow_w_est(&cc, MSS);
	assert_int_equal(priv(&cc)->curve.w_est_bytes, SEGS(101));
}

/* In the Reno-friendly region cwnd is W_est; without it W_cubic alone. */
static void reno_region(void **unused)
{
	struct tcon_cc cc;
	u64 now = T0_US;
	u32 i;

	flow_init(&cc, 20, 1000);
	loss_episode(&cc, now);
	for (i = 0; i < 14 * 17; i++)	/* about 17 rounds, 17 ms */
		ack(&cc, now += 71, MSS, 1000);
	/* W_cubic has hardly moved: 0.4 ((0.017 - K)^3 + K^3) ~ 0.1 segments */
	assert_int_equal(cc.cwnd_bytes, priv(&cc)->curve.w_est_bytes);
	assert_in_range(cc.cwnd_bytes, SEGS(19), SEGS(23));

	flow_init(&cc, 20, 1000);
	params[PARAM_TCP_FRIENDLINESS] = 0;
	loss_episode(&cc, now);
	for (i = 0; i < 14 * 17; i++)
		ack(&cc, now += 71, MSS, 1000);
	assert_in_range(cc.cwnd_bytes, SEGS(14), SEGS(14) + MSS / 2);
}

/*
 * RFC 9438, 4.2: at most half a window per RTT.  With 2 MSS and beta 0.7 a
 * flow that is past its plateau by 100 s wants a huge window: one window of
 * ACKs at once grows cwnd by half of it.
 */
static void growth_bound(void **unused)
{
	struct tcon_cc cc;

	flow_init(&cc, 100, 100000);
	loss_episode(&cc, T0_US);
	ack(&cc, T0_US, 0, -1);
	start_epoch(&cc, T0_US);
	priv(&cc)->last_ack_us = T0_US + 100000000;
	ack(&cc, T0_US + 100000000, SEGS(70), -1);
	assert_int_equal(cc.cwnd_bytes, SEGS(105));
}

/*
 * The target is where the curve is one RTT later: at 1 s with an RTT of 1 s
 * W_cubic(2 s) of the table above; bounded by cwnd from below, and by 1.5 cwnd.
 */
static void target(void **unused)
{
	struct tcon_cc cc;

	flow_init(&cc, 1000, 1000000);
	loss_episode(&cc, T0_US);
	start_epoch(&cc, T0_US);
	assert_in_range(target_bytes(&cc, 1000000), 1241956 - 20, 1241956 + 20);
	cc.cwnd_bytes = 1300000;
	assert_int_equal(target_bytes(&cc, 1000000), 1300000);
	cc.cwnd_bytes = 800000;
	assert_int_equal(target_bytes(&cc, 1000000), 1200000);
}

/* Where W_max is unknown the window grows by a twentieth per RTT (Linux). */
static void blind_growth(void **unused)
{
	struct tcon_cc cc;
	int i;

	flow_init(&cc, 100, 100000);
	cc.ssthresh_bytes = cc.cwnd_bytes;
	params[PARAM_TCP_FRIENDLINESS] = 0;
	for (i = 0; i < 100; i++)
		ack(&cc, T0_US, MSS, -1);
	/* a twentieth of each ACK, less fractions of a byte in the target */
	assert_in_range(cc.cwnd_bytes, SEGS(105) - 2, SEGS(105));
}

/* The pace that is chosen @t_us after the epoch began, as for the first time. */
static u32 pace_at(struct tcon_cc *cc, u64 t_us)
{
	priv(cc)->looked_segs = 0;
	choose_pace(cc, priv(cc)->curve.epoch_us + t_us);
	return priv(cc)->pace_segs;
}

/*
 * Linux's form.  After a loss at 1000 segments W_cubic(1 s) is 788.55 segments, 211.45
 * below W_max: whole segments, 789.  From 700 that is a segment for each 700 / 89 = 7
 * acknowledged; W_est of 730 is less, of 829 more: 700 / 129.  A window at its target
 * hardly grows; one that knows no target by a twentieth; none by more than a half.
 */
static void pace(void **unused)
{
	struct tcon_cc cc;

	flow_init(&cc, 1000, 0);
	params[PARAM_RFC9438] = 0;
	loss_episode(&cc, T0_US);
	start_epoch(&cc, T0_US);
	assert_int_equal(w_cubic_bytes(&cc, USEC_PER_SEC), SEGS(789));
	assert_int_equal(pace_at(&cc, USEC_PER_SEC), 7);
	priv(&cc)->curve.w_est_bytes = SEGS(730);
	assert_int_equal(pace_at(&cc, USEC_PER_SEC), 7);
	priv(&cc)->curve.w_est_bytes = SEGS(829);
	assert_int_equal(pace_at(&cc, USEC_PER_SEC), 5);
	params[PARAM_TCP_FRIENDLINESS] = 0;
	assert_int_equal(pace_at(&cc, USEC_PER_SEC), 7);
	/* an RTT ahead of the start it is where it is at 1 s */
	priv(&cc)->min_rtt_us = USEC_PER_SEC;
	assert_int_equal(pace_at(&cc, 0), 7);

	cc.cwnd_bytes = SEGS(790);
	assert_int_equal(pace_at(&cc, 0), 79000);
	assert_int_equal(pace_at(&cc, 30 * USEC_PER_SEC), 2);
	priv(&cc)->curve.w_max_bytes = 0;
	assert_int_equal(pace_at(&cc, 0), 20);
}

/*
 * The pace stays until the window has grown or eight jiffies have begun.  On the plateau,
 * with a window of 10 segments, W_est is a segment ahead when more than 10 * 15/8 = 18
 * have been acknowledged, 19 ms; that is seen at the 32nd, when the eighth jiffy begins.
 * The segments acknowledged before are then worth one.  The next ACK is of the same
 * jiffy: W_cubic is not looked at, and the pace stays.  In the next jiffy it is, and W_est
 * is no more than where the window is.
 */
static void looks(void **unused)
{
	struct tcon_cc cc;
	u64 now = T0_US - T0_US % JIFFY_US;
	u32 i;

	flow_init(&cc, 10, 1000);
	params[PARAM_RFC9438] = 0;
	cc.ssthresh_bytes = cc.cwnd_bytes;
	priv(&cc)->curve.w_max_bytes = cc.cwnd_bytes;
	for (i = 0; i < 32; i++) {
		ack(&cc, now + i * 1000, MSS, 1000);
		assert_int_equal(cc.cwnd_bytes, SEGS(10));
		assert_int_equal(priv(&cc)->pace_segs, 1000);
	}
	ack(&cc, now + 32000, MSS, 1000);
	assert_int_equal(priv(&cc)->curve.w_est_bytes, SEGS(11));
	assert_int_equal(priv(&cc)->pace_segs, 10);
	assert_int_equal(cc.cwnd_bytes, SEGS(11));
	assert_int_equal(priv(&cc)->cwnd_rest, MSS);
	for (i = 33; i < 36; i++)
		ack(&cc, now + i * 1000, MSS, 1000);
	assert_int_equal(priv(&cc)->pace_segs, 10);
	ack(&cc, now + 36000, MSS, 1000);
	assert_int_equal(priv(&cc)->pace_segs, 1100);
	assert_int_equal(cc.cwnd_bytes, SEGS(11));
}

/* Where round trips are shorter than a jiffy a pace lasts for several of them: after a
 * loss at 10 segments W_cubic is a segment ahead, which each round trip adds again.
 */
static void short_round_trips(void **unused)
{
	u64 now = T0_US - T0_US % JIFFY_US;
	struct tcon_cc cc;
	u32 i;

	flow_init(&cc, 7, 100);
	cc.cwnd_bytes = SEGS(7);	/* after a loss: none begins with less than 10 */
	params[PARAM_RFC9438] = 0;
	cc.ssthresh_bytes = cc.cwnd_bytes;
	priv(&cc)->curve.w_max_bytes = SEGS(10);
	for (i = 0; i < 35; i++)
		ack(&cc, now + i * 100, MSS, 100);
	assert_int_equal(cc.cwnd_bytes, SEGS(12));
	ack(&cc, now + JIFFY_US, MSS, 100);
	assert_int_equal(priv(&cc)->pace_segs, 1200);
}

/* In whole numbers: 8/3 (1 + beta) / (1 - beta) is 15 eighths, of seven segments 13.  Of
 * two segments and a small beta it is none: then it is one.
 */
static void est_in_segments(void **unused)
{
	struct tcon_cc cc;

	flow_init(&cc, 7, 1000);
	params[PARAM_RFC9438] = 0;
	cc.cwnd_bytes = SEGS(7);
	priv(&cc)->curve.w_est_bytes = SEGS(7);
	priv(&cc)->est_rest = SEGS(13);
	grow_w_est_segs(&cc);
	assert_int_equal(priv(&cc)->curve.w_est_bytes, SEGS(7));
	priv(&cc)->est_rest += 1;
	grow_w_est_segs(&cc);
	assert_int_equal(priv(&cc)->curve.w_est_bytes, SEGS(8));
	assert_int_equal(priv(&cc)->est_rest, 1);
	priv(&cc)->est_rest = SEGS(40);
	grow_w_est_segs(&cc);
	assert_int_equal(priv(&cc)->curve.w_est_bytes, SEGS(11));
	assert_int_equal(priv(&cc)->est_rest, SEGS(1));

	params[PARAM_BETA] = 100;
	cc.cwnd_bytes = SEGS(2);
	priv(&cc)->est_rest = SEGS(1) + 1;
	grow_w_est_segs(&cc);
	assert_int_equal(priv(&cc)->curve.w_est_bytes, SEGS(12));
}

/* A loss at 15 segments and a bit leaves 10, a second at 10 makes W_max 8. */
static void whole_segments(void **unused)
{
	struct tcon_cc cc;

	flow_init(&cc, 15, 1000);
	params[PARAM_RFC9438] = 0;
	cc.cwnd_bytes += 100;
	loss_episode(&cc, T0_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(10));
	assert_int_equal(priv(&cc)->curve.w_max_bytes, SEGS(15));
	loss_episode(&cc, T0_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(7));
	assert_int_equal(priv(&cc)->curve.w_max_bytes, SEGS(8));
}

/* Slow start counts bytes, ends at ssthresh, and the rest is for avoidance. */
static void slow_start_bytes(void **unused)
{
	struct tcon_cc cc;

	flow_init(&cc, 10, 100000);
	ack(&cc, T0_US, SEGS(10), -1);
	assert_int_equal(cc.cwnd_bytes, SEGS(20));
	cc.ssthresh_bytes = SEGS(25);
	ack(&cc, T0_US, SEGS(4), -1);
	assert_int_equal(cc.cwnd_bytes, SEGS(24));
	params[PARAM_TCP_FRIENDLINESS] = 0;
	ack(&cc, T0_US, SEGS(6), -1);
	/* 1 to ssthresh, then 5/25 of a twentieth of 25 segments */
	assert_int_equal(cc.cwnd_bytes, SEGS(25) + MSS / 4);
}

/* Not window-limited, SACKed only, or in recovery: no growth. */
static void no_growth(void **unused)
{
	struct tcon_rate_sample rs = {
		.now_us = T0_US, .delivered_bytes = -1, .interval_us = -1,
		.rtt_us = -1, .acked_bytes = MSS, .acked_sacked_bytes = MSS,
	};
	struct tcon_cc cc;

	flow_init(&cc, 10, 100000);
	cubic_ops.cong_control(&cc, &rs);
	assert_int_equal(cc.cwnd_bytes, SEGS(10));
	rs.is_cwnd_limited = true;
	rs.acked_bytes = 0;
	cubic_ops.cong_control(&cc, &rs);
	assert_int_equal(cc.cwnd_bytes, SEGS(10));
	rs.acked_bytes = MSS;
	cubic_ops.cong_control(&cc, &rs);
	assert_int_equal(cc.cwnd_bytes, SEGS(11));
	state(&cc, TCON_CA_RECOVERY, T0_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(77) / 10);
	cubic_ops.cong_control(&cc, &rs);
	assert_int_equal(cc.cwnd_bytes, SEGS(77) / 10);
}

/* Idle time and time without a binding window do not move the curve. */
static void epoch_shift(void **unused)
{
	struct tcon_rate_sample rs = {
		.delivered_bytes = -1, .interval_us = -1, .rtt_us = -1,
		.acked_bytes = MSS, .acked_sacked_bytes = MSS,
	};
	struct tcon_cc cc;

	flow_init(&cc, 1000, 100000);
	loss_episode(&cc, T0_US);
	ack(&cc, T0_US, MSS, -1);
	assert_int_equal(priv(&cc)->curve.epoch_us, T0_US);
	ack(&cc, T0_US + 1000000, MSS, -1);
	assert_int_equal(priv(&cc)->curve.epoch_us, T0_US);
	cubic_ops.cwnd_event(&cc, TCON_CA_EVENT_TX_START, T0_US + 61000000);
	assert_int_equal(priv(&cc)->curve.epoch_us, T0_US + 60000000);
	rs.now_us = T0_US + 61500000;
	cubic_ops.cong_control(&cc, &rs);
	assert_int_equal(priv(&cc)->curve.epoch_us, T0_US + 60500000);
	ack(&cc, T0_US + 62000000, MSS, -1);
	assert_int_equal(priv(&cc)->curve.epoch_us, T0_US + 60500000);
}

/* A time-out: ssthresh by beta once, cwnd two segments, W_max unknown. */
static void timeout(void **unused)
{
	struct tcon_cc cc;

	flow_init(&cc, 1000, 100000);
	state(&cc, TCON_CA_LOSS, T0_US);
	assert_int_equal(cc.ssthresh_bytes, 1013600);
	assert_int_equal(cc.cwnd_bytes, SEGS(2));
	assert_int_equal(priv(&cc)->curve.w_max_bytes, 0);
	state(&cc, TCON_CA_LOSS, T0_US);	/* back-off */
	assert_int_equal(cc.ssthresh_bytes, 1013600);
	assert_int_equal(cc.cwnd_bytes, SEGS(2));
	ack(&cc, T0_US, SEGS(98), -1);	/* slow start even while in LOSS */
	assert_int_equal(cc.cwnd_bytes, SEGS(100));
	state(&cc, TCON_CA_LOSS, T0_US);	/* all is lost again */
	assert_int_equal(cc.ssthresh_bytes, SEGS(70));
	assert_int_equal(cc.cwnd_bytes, SEGS(2));

	flow_init(&cc, 1000, 100000);	/* out of a recovery */
	state(&cc, TCON_CA_RECOVERY, T0_US);
	state(&cc, TCON_CA_LOSS, T0_US);
	assert_int_equal(cc.ssthresh_bytes, 1013600);
	assert_int_equal(cc.cwnd_bytes, SEGS(2));
}

/*
 * RFC 9438, 4.9: everything is as before; a second undo does nothing.  In Linux the curve
 * stays reduced.
 */
static void undo(void **unused)
{
	struct cubic_curve before_loss;
	struct tcon_cc cc;

	flow_init(&cc, 1000, 100000);
	params[PARAM_RFC9438] = 0;
	state(&cc, TCON_CA_RECOVERY, T0_US);
	assert_int_equal(priv(&cc)->curve.w_max_bytes, SEGS(1000));
	cubic_ops.undo_cwnd(&cc);
	assert_int_equal(cc.cwnd_bytes, SEGS(1000));
	assert_int_equal(cc.ssthresh_bytes, TCON_SSTHRESH_INFINITE);
	assert_int_equal(priv(&cc)->curve.w_max_bytes, SEGS(1000));
	params[PARAM_RFC9438] = 1;

	flow_init(&cc, 1000, 100000);
	loss_episode(&cc, T0_US);
	ack(&cc, T0_US + 100, MSS, -1);
	cc.cwnd_bytes = SEGS(900);
	before_loss = priv(&cc)->curve;
	state(&cc, TCON_CA_RECOVERY, T0_US + 200);
	state(&cc, TCON_CA_LOSS, T0_US + 300);
	assert_int_equal(cc.cwnd_bytes, SEGS(2));
	cubic_ops.undo_cwnd(&cc);
	assert_int_equal(cc.cwnd_bytes, SEGS(900));
	assert_int_equal(cc.ssthresh_bytes, SEGS(700));
	assert_memory_equal(&priv(&cc)->curve, &before_loss,
			    sizeof(before_loss));
	cc.cwnd_bytes = SEGS(5);
	cubic_ops.undo_cwnd(&cc);
	assert_int_equal(cc.cwnd_bytes, SEGS(5));

	flow_init(&cc, 10, 100000);
	cubic_ops.undo_cwnd(&cc);	/* nothing to undo */
	assert_int_equal(cc.cwnd_bytes, SEGS(10));
}

/* RFC 3168: ECE reduces once per window, and a loss in it not again. */
static void ece(void **unused)
{
	struct tcon_cc cc;
	u32 reduced_until;

	flow_init(&cc, 100, 100000);
	params[PARAM_BETA_ECN] = params[PARAM_BETA];
	reduced_until = cc.nxt;
	cubic_ops.cwnd_event(&cc, TCON_CA_EVENT_ECE, T0_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(70));
	cubic_ops.cwnd_event(&cc, TCON_CA_EVENT_ECE, T0_US);
	state(&cc, TCON_CA_RECOVERY, T0_US);
	state(&cc, TCON_CA_OPEN, T0_US);
	ack(&cc, T0_US, MSS, -1);
	assert_int_equal(cc.cwnd_bytes, SEGS(70));
	cc.una = reduced_until - MSS;
	ack(&cc, T0_US, MSS, -1);
	assert_int_equal(cc.cwnd_bytes, SEGS(70));
	ack(&cc, T0_US, MSS, -1);		/* the window is over */
	assert_in_range(cc.cwnd_bytes, SEGS(70) + 1, SEGS(71));
	cc.cwnd_bytes = SEGS(70);
	cubic_ops.cwnd_event(&cc, TCON_CA_EVENT_ECE, T0_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(49));

	/* After a loss, ECE of the same window is old news. */
	flow_init(&cc, 100, 100000);
	state(&cc, TCON_CA_RECOVERY, T0_US);
	cubic_ops.cwnd_event(&cc, TCON_CA_EVENT_ECE, T0_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(70));
}

/* ECE takes as much as a loss.  RFC 8511, where a rule asks for it: in avoidance it takes less,
 * unless the rule wants a loss to take even less; in slow start as much.
 */
static void ece_takes_less(void **unused)
{
	struct tcon_cc cc;

	flow_init(&cc, 100, 100000);
	cc.ssthresh_bytes = SEGS(100);
	cubic_ops.cwnd_event(&cc, TCON_CA_EVENT_ECE, T0_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(70));
	flow_init(&cc, 100, 100000);
	params[PARAM_BETA_ECN] = 850;
	cubic_ops.cwnd_event(&cc, TCON_CA_EVENT_ECE, T0_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(70));
	flow_init(&cc, 100, 100000);
	params[PARAM_BETA_ECN] = 850;
	cc.ssthresh_bytes = SEGS(100);
	cubic_ops.cwnd_event(&cc, TCON_CA_EVENT_ECE, T0_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(85));
	assert_int_equal(cc.ssthresh_bytes, SEGS(85));
	cc.una = cc.nxt + 1;
	state(&cc, TCON_CA_RECOVERY, T0_US);
	assert_in_range(cc.cwnd_bytes, SEGS(59), SEGS(60));
	flow_init(&cc, 100, 100000);
	params[PARAM_BETA] = 900;
	params[PARAM_BETA_ECN] = 850;
	cc.ssthresh_bytes = SEGS(100);
	cubic_ops.cwnd_event(&cc, TCON_CA_EVENT_ECE, T0_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(90));
}

/* ACKs of one round, 3 ms apart (no train), all with @rtt_us. */
static bool delay_exit(u32 min_rtt_us, u32 rtt_us, u32 segs, int samples)
{
	struct tcon_cc cc;
	u64 now = T0_US;

	flow_init(&cc, segs, min_rtt_us);
	cc.cwnd_bytes = SEGS(segs);
	while (samples--)
		ack(&cc, now += 3000, MSS, rtt_us);
	return cc.ssthresh_bytes != TCON_SSTHRESH_INFINITE;
}

/*
 * The eighth sample of the round completes the set, the ninth is judged.  The
 * threshold is an eighth of the minimum: 40 ms + 5 ms; at least 4 ms, at most
 * 16 ms.  Below 16 segments there is no judgement.
 */
static void hystart_by_delay(void **unused)
{
	assert_false(delay_exit(40000, 45000, 20, 12));
	assert_false(delay_exit(40000, 45001, 20, 8));
	assert_true(delay_exit(40000, 45001, 20, 9));
	assert_false(delay_exit(10000, 14000, 20, 12));
	assert_true(delay_exit(10000, 14001, 20, 9));
	assert_false(delay_exit(400000, 416000, 20, 12));
	assert_true(delay_exit(400000, 416001, 20, 9));
	/*
	 * From 10 segments: the first round has 10 ACKs, and cwnd is 16 only
	 * before the 7th; the 11th begins a round, whose 9th is the 19th.
	 */
	assert_false(delay_exit(40000, 60000, 10, 18));
	assert_true(delay_exit(40000, 60000, 10, 19));
}

/* One small sample among them: the smallest counts. */
static void hystart_smallest(void **unused)
{
	struct tcon_cc cc;
	u64 now = T0_US;
	int i;

	flow_init(&cc, 20, 40000);
	for (i = 0; i < 12; i++)
		ack(&cc, now += 3000, MSS, i == 4 ? 41000 : 60000);
	assert_int_equal(cc.ssthresh_bytes, TCON_SSTHRESH_INFINITE);
}

/* After a time-out the path may be a longer one: its RTT is no queue. */
static void hystart_after_timeout(void **unused)
{
	struct tcon_cc cc;
	u64 now = T0_US;
	int i;

	flow_init(&cc, 40, 10000);
	state(&cc, TCON_CA_LOSS, now);
	state(&cc, TCON_CA_OPEN, now);
	cc.cwnd_bytes = SEGS(18);
	for (i = 0; i < 12; i++)
		ack(&cc, now += 3000, MSS, 50000);
	assert_int_equal(priv(&cc)->min_rtt_us, 50000);
	assert_int_equal(cc.ssthresh_bytes, SEGS(28));
}

/*
 * ACKs 1 ms apart from the begin of the round at T0.  100 segments in 40 ms are,
 * doubled, 7.24 MB/s, at which 256 KiB take 36 ms: more than 1 ms is not
 * granted.  The threshold is (40 + 1) / 2 = 20.5 ms: the ACK at 21 ms ends slow
 * start.
 */
static void hystart_by_train(void **unused)
{
	struct tcon_cc cc;
	int ms;

	flow_init(&cc, 100, 40000);
	for (ms = 1; ms <= 20; ms++)
		ack(&cc, T0_US + ms * 1000, MSS, 40000);
	assert_int_equal(cc.ssthresh_bytes, TCON_SSTHRESH_INFINITE);
	ack(&cc, T0_US + 21000, MSS, 40000);
	assert_int_equal(cc.ssthresh_bytes, SEGS(120));
	assert_true(cc.cwnd_bytes >= cc.ssthresh_bytes);

	/* A gap of more than 2 ms breaks the train for the round. */
	flow_init(&cc, 100, 40000);
	for (ms = 1; ms <= 39; ms++)
		if (ms < 10 || ms > 12)
			ack(&cc, T0_US + ms * 1000, MSS, 40000);
	assert_int_equal(cc.ssthresh_bytes, TCON_SSTHRESH_INFINITE);

	/* Off by parameter. */
	flow_init(&cc, 100, 40000);
	params[PARAM_HYSTART] = 0;
	for (ms = 1; ms <= 39; ms++)
		ack(&cc, T0_US + ms * 1000, MSS, 90000);
	assert_int_equal(cc.ssthresh_bytes, TCON_SSTHRESH_INFINITE);
}

/* A new round begins when una passes the old nxt: train and samples begin again. */
static void hystart_rounds(void **unused)
{
	struct tcon_cc cc;
	u64 now = T0_US;
	int i;

	flow_init(&cc, 20, 40000);
	priv(&cc)->hystart_done = true;
	state(&cc, TCON_CA_LOSS, now);		/* slow start again */
	assert_false(priv(&cc)->hystart_done);

	flow_init(&cc, 20, 40000);
	for (i = 0; i < 8; i++)
		ack(&cc, now += 3000, MSS, 60000);
	cc.una = priv(&cc)->round_end;
	ack(&cc, now += 3000, MSS, 60000);	/* first of the new round */
	assert_int_equal(priv(&cc)->round_samples, 1);
	assert_int_equal(priv(&cc)->round_start_us, now);
	assert_int_equal(cc.ssthresh_bytes, TCON_SSTHRESH_INFINITE);
}

/* A switch: the values that TCon hands on are the start. */
static void live_switch(void **unused)
{
	struct tcon_cc cc;

	flow_init(&cc, 300, 50000);
	assert_int_equal(cc.cwnd_bytes, SEGS(300));
	assert_int_equal(priv(&cc)->min_rtt_us, 50000);
	memset(cc.priv, 0, sizeof(cc.priv));
	cc.min_rtt_us = TCON_RTT_NONE_US;
	cubic_ops.init(&cc, T0_US);
	assert_int_equal(priv(&cc)->min_rtt_us, 0);
}

static void info(void **unused)
{
	struct tcon_cc cc;
	char buf[128];

	flow_init(&cc, 1000, 100000);
	cubic_ops.get_info(&cc, buf, sizeof(buf));
	assert_string_equal(buf, "mode=SLOW_START w_max_bytes=0 k_us=0 "
				 "w_est_bytes=0 hystart=not-found");
	state(&cc, TCON_CA_RECOVERY, T0_US);
	cubic_ops.get_info(&cc, buf, sizeof(buf));
	assert_non_null(strstr(buf, "mode=REDUCED w_max_bytes=1448000"));
	assert_int_equal(cubic_ops.get_info(&cc, buf, 10), 9);
}

static void module(void **unused)
{
	int i;

	assert_int_equal(shim_tcon_cubic_module_init(), 0);
	assert_ptr_equal(registered, &cubic_ops);
	assert_string_equal(registered->name, "cubic");
	assert_true(sizeof(struct cubic) == registered->priv_bytes);
	for (i = 0; i < registered->n_params; i++)
		assert_in_range(cubic_params[i].def, cubic_params[i].min,
				cubic_params[i].max);
	shim_tcon_cubic_module_exit();
	assert_null(registered);
}

/* All corners of the parameters, paths and windows, under UBSan. */
static void extreme_flow(u32 mss, u32 rtt_us, u32 cwnd, u64 step_us)
{
	struct tcon_cc cc;
	u64 now = T0_US;
	u32 last;
	int i;

	memset(&cc, 0, sizeof(cc));
	cc.ops = &cubic_ops;
	cc.params = params;
	cc.mss_bytes = mss;
	cc.cwnd_bytes = max(cwnd, TCON_INIT_CWND_SEGS * mss);
	cc.ssthresh_bytes = TCON_SSTHRESH_INFINITE;
	cc.srtt_us = rtt_us;
	cc.min_rtt_us = rtt_us;
	cubic_ops.init(&cc, now);
	for (i = 0; i < 300; i++) {
		if (i % 60 == 30)
			loss_episode(&cc, now);
		if (i % 100 == 99)
			state(&cc, TCON_CA_LOSS, now);
		if (i % 100 == 1)
			state(&cc, TCON_CA_OPEN, now);
		if (i % 90 == 31)
			cubic_ops.undo_cwnd(&cc);
		last = cc.cwnd_bytes;
		ack(&cc, now, i & 1 ? cc.cwnd_bytes : mss, rtt_us);
		assert_in_range(cc.cwnd_bytes, last, TCON_CWND_MAX_BYTES);
		assert_true(cc.cwnd_bytes >= 2 * mss);
		assert_true(cc.ssthresh_bytes >= 2 * mss);
		now += step_us;
	}
}

static void extremes(void **unused)
{
	static const u32 mss[] = { 88, 536, 1448, 8948, 65483 };
	static const u32 rtt_us[] = { 10, 1000, 100000, 10000000, U32_MAX };
	static const u32 cwnd[] = { 0, 100000, 500000000, TCON_CWND_MAX_BYTES };
	static const u64 step_us[] = { 0, 1, 1000, 10000000, 1ULL << 45 };
	int m, r, w, s, p;

	for (p = 0; p < 16; p++)
		for (m = 0; m < ARRAY_SIZE(mss); m++)
			for (r = 0; r < ARRAY_SIZE(rtt_us); r++)
				for (w = 0; w < ARRAY_SIZE(cwnd); w++)
					for (s = 0; s < ARRAY_SIZE(step_us); s++) {
						default_params();
						params[PARAM_BETA] = p & 1 ?
							100 : 950;
						params[PARAM_C] = p & 2 ?
							10 : 10000;
						params[PARAM_HYSTART] = !!(p & 4);
						params[PARAM_RFC9438] = !!(p & 8);
						extreme_flow(mss[m], rtt_us[r],
							     cwnd[w],
							     step_us[s]);
					}
}

/*
 * Closed loop, cubic region.  100 Mbit/s, 50 ms and half a BDP of buffer hold
 * (625000 + 312500) / 1448 = 647 segments.  RFC 9438: after a loss at W_max the
 * window is back there after K = cbrt(0.3 W_max / 0.4).  The overflow follows
 * when the convex branch adds a segment, after cbrt(1 / 0.4) = 1.4 s, plus about
 * two RTTs for the recovery and for noticing.  The mean window between is
 * W_max (1 - 0.3 / 4).
 */
static void sawtooth(void **unused)
{
	static struct sim s;
	double period, k, w_max = 0;
	u32 i;

	default_params();
	params[PARAM_FAST_CONVERGENCE] = 0;
	sim_start(&s, &cubic_ops, params, 100000000, 50000, 312500, MSS);
	sim_run(&s, 30 * SIM_NS, NULL);
	sim_measure(&s);
	sim_run(&s, 200 * SIM_NS, NULL);
	assert_true(s.cuts >= 10);
	for (i = 0; i < s.cuts; i++)
		w_max += (double)s.cut[i].cwnd_bytes / MSS / s.cuts;
	period = (s.cut[s.cuts - 1].ns - s.cut[0].ns) / 1e9 / (s.cuts - 1);
	k = cbrt(0.3 * w_max / 0.4);
	print_message("W_max %.0f segments, period %.2f s, K %.2f s, utilisation %.3f\n",
		      w_max, period, k, sim_utilisation(&s));
	assert_true(fabs(w_max / 647 - 1) < 0.02);
	assert_true(period > k && period < k + 1.4 + 0.5);
	assert_true(sim_utilisation(&s) > 0.98);
	sim_stop(&s);
}

/*
 * Closed loop, Reno-friendly region.  10 Mbit/s, 10 ms and one BDP of buffer
 * hold 25000 / 1448 = 17.3 segments, and one in service.  From 0.7 W_max at 9/17
 * segments per RTT it takes 0.3 W_max * 17/9 RTTs, where the RTT is the window
 * over the rate, and one more until the loss shows.  Linux sees each of these segments up
 * to 1/32 s late.
 */
static void reno_sawtooth_of(bool rfc9438)
{
	static struct sim s;
	double period, want, w_max = 0, rtt;
	u32 i;

	default_params();
	params[PARAM_FAST_CONVERGENCE] = 0;
	params[PARAM_RFC9438] = rfc9438;
	sim_start(&s, &cubic_ops, params, 10000000, 10000, 12500, MSS);
	sim_run(&s, 5 * SIM_NS, NULL);
	sim_measure(&s);
	sim_run(&s, 35 * SIM_NS, NULL);
	for (i = 0; i < s.cuts; i++)
		w_max += (double)s.cut[i].cwnd_bytes / MSS / s.cuts;
	period = (s.cut[s.cuts - 1].ns - s.cut[0].ns) / 1e9 / (s.cuts - 1);
	rtt = 0.85 * w_max * MSS * 8 / 10e6;
	want = (0.3 * w_max * 17 / 9 + 1) * rtt;
	print_message("W_max %.1f segments, period %.3f s, want %.3f s\n",
		      w_max, period, want);
	assert_true(w_max > 17 && w_max < 20.5);
	assert_true(period > 0.9 * want);
	assert_true(period < 1.1 * want + (rfc9438 ? 0 : 0.3 * w_max / 32));
	assert_true(sim_utilisation(&s) > 0.97);
	sim_stop(&s);
}

static void reno_sawtooth(void **unused)
{
	reno_sawtooth_of(true);
	reno_sawtooth_of(false);
}

/*
 * HyStart, with one BDP (625000 bytes) of buffer: slow start ends between one
 * and two BDP without a loss, where it otherwise loses much.
 */
static void hystart_loop(void **unused)
{
	static struct sim s;

	default_params();
	sim_start(&s, &cubic_ops, params, 100000000, 50000, 625000, MSS);
	sim_run(&s, 1 * SIM_NS / 2, NULL);
	assert_int_equal(s.cuts, 0);
	assert_in_range(s.cc.ssthresh_bytes, 625000, 1250000);
	sim_stop(&s);

	params[PARAM_HYSTART] = 0;
	sim_start(&s, &cubic_ops, params, 100000000, 50000, 625000, MSS);
	sim_run(&s, 1 * SIM_NS, NULL);
	assert_true(s.cuts > 0);
	assert_true(s.cc.lost_bytes > 100000);
	sim_stop(&s);
}

/* As four flows of 50 segments.  A loss hits one, which loses 15.  The curve is back at 200
 * when the next is due.  One of 50 would need K = cbrt(15 / 0.4); a quarter of that.
 */
static void weight(void **unused)
{
	u64 k_us = 1e6 * cbrt(15 / 0.4);
	struct tcon_cc cc;

	flow_init(&cc, 200, 20000);
	cc.ssthresh_bytes = SEGS(200);
	params[PARAM_WEIGHT] = 4000;
	cc.lost_bytes = SEGS(1);
	state(&cc, TCON_CA_RECOVERY, T0_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(185));
	cc.una = cc.nxt;
	state(&cc, TCON_CA_OPEN, T0_US);
	ack(&cc, T0_US, MSS, 20000);
	assert_int_equal(priv(&cc)->curve.w_max_bytes, SEGS(200));
	assert_in_range(priv(&cc)->curve.k_us, k_us / 4 - 1000, k_us / 4 + 1000);

	flow_init(&cc, 200, 20000);	/* all four: K as for one flow */
	cc.ssthresh_bytes = SEGS(200);
	params[PARAM_WEIGHT] = 4000;
	cc.lost_bytes = SEGS(1);
	state(&cc, TCON_CA_RECOVERY, T0_US);
	cc.lost_bytes += SEGS(3);
	ack(&cc, T0_US, MSS, 20000);
	assert_int_equal(cc.cwnd_bytes, SEGS(140));
	assert_int_equal(cc.ssthresh_bytes, SEGS(140));
	cc.una = cc.nxt;
	state(&cc, TCON_CA_OPEN, T0_US);
	ack(&cc, T0_US, MSS, 20000);
	assert_in_range(priv(&cc)->curve.k_us, k_us - 1000, k_us + 1000);

	flow_init(&cc, 200, 20000);	/* a mark hits one */
	cc.ssthresh_bytes = SEGS(200);
	params[PARAM_WEIGHT] = 4000;
	cubic_ops.cwnd_event(&cc, TCON_CA_EVENT_ECE, T0_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(185));

	flow_init(&cc, 200, 20000);	/* a time-out hits all */
	cc.ssthresh_bytes = SEGS(200);
	params[PARAM_WEIGHT] = 4000;
	state(&cc, TCON_CA_LOSS, T0_US);
	assert_int_equal(cc.ssthresh_bytes, SEGS(140));

	flow_init(&cc, 200, 20000);	/* less than one */
	cc.ssthresh_bytes = SEGS(200);
	params[PARAM_WEIGHT] = 125;
	loss_episode(&cc, T0_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(140));
	ack(&cc, T0_US, MSS, 20000);
	k_us = 1e6 * cbrt(60 / 0.05);
	assert_in_range(priv(&cc)->curve.k_us, k_us - 5000, k_us + 5000);
}

/* As test_reno.c: by their weights, under an AQM and, less exactly, at a full queue. */
static void shares(void **unused)
{
	static const struct share aqm = {
		.ops = &cubic_ops, .rate_bps = 1000000000, .rtt_us = 20000,
		.buffer_bytes = 2500000, .loss_ppm = 100,
	};
	static const struct share full = {
		.ops = &cubic_ops, .rate_bps = 100000000, .rtt_us = 20000,
		.buffer_bytes = 250000,
	};
	s64 more[ARRAY_SIZE(params)];
	double at_aqm, at_full;
	int n;

	default_params();
	params[PARAM_RFC9438] = 0;
	memcpy(more, params, sizeof(more));
	for (n = 2; n <= 4; n *= 2) {
		more[PARAM_WEIGHT] = 1000 * n;
		at_aqm = share_ratio(&aqm, params, more);
		at_full = share_ratio(&full, params, more);
		print_message("weight %d: %.2f times as much under an AQM, %.2f at a full queue\n",
			      n, at_aqm, at_full);
		assert_true(fabs(at_aqm / n - 1) < 0.15);
		assert_true(fabs(at_full / n - 1) < 0.35);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(root),
		cmocka_unit_test(k_table),
		cmocka_unit_test(term_table),
		cmocka_unit_test(w_cubic_table),
		cmocka_unit_test(beta_cut),
		cmocka_unit_test(convergence),
		cmocka_unit_test(convergence_by_segments),
		cmocka_unit_test(reno_estimate),
		cmocka_unit_test(reno_region),
		cmocka_unit_test(growth_bound),
		cmocka_unit_test(target),
		cmocka_unit_test(blind_growth),
		cmocka_unit_test(pace),
		cmocka_unit_test(looks),
		cmocka_unit_test(short_round_trips),
		cmocka_unit_test(est_in_segments),
		cmocka_unit_test(whole_segments),
		cmocka_unit_test(slow_start_bytes),
		cmocka_unit_test(no_growth),
		cmocka_unit_test(epoch_shift),
		cmocka_unit_test(timeout),
		cmocka_unit_test(undo),
		cmocka_unit_test(ece),
		cmocka_unit_test(ece_takes_less),
		cmocka_unit_test(hystart_by_delay),
		cmocka_unit_test(hystart_smallest),
		cmocka_unit_test(hystart_by_train),
		cmocka_unit_test(hystart_rounds),
		cmocka_unit_test(hystart_after_timeout),
		cmocka_unit_test(live_switch),
		cmocka_unit_test(info),
		cmocka_unit_test(module),
		cmocka_unit_test(extremes),
		cmocka_unit_test(weight),
		cmocka_unit_test(shares),
		cmocka_unit_test(sawtooth),
		cmocka_unit_test(reno_sawtooth),
		cmocka_unit_test(hystart_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
