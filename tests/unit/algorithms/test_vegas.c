// SPDX-License-Identifier: GPL-2.0-only
/*
 * Vegas (algorithms/vegas.c): each rule of the paper with numbers worked out by
 * hand, the states, and in a closed loop the queue that it aims at.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "algorithms/vegas.c"
#include "flow.h"
#include "sim.h"

#define BASE_US		100000
#define SLOW_US		200000	/* half of the window waits in queues */

static struct vegas *priv(const struct tcon_cc *cc)
{
	return tcon_cc_priv(cc);
}

static void flow_init(struct tcon_cc *cc, u32 segs)
{
	default_params(&vegas_ops);
	start(cc, &vegas_ops, MSS, SEGS(segs), BASE_US);
}

/* In avoidance; the first decision has been made. */
static void flow_avoid(struct tcon_cc *cc, u32 segs)
{
	flow_init(cc, segs);
	cc->ssthresh_bytes = SEGS(segs) / 2;
	priv(cc)->fresh = false;
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

/* The change by a round with @rtt_us of 100 segments in avoidance. */
static int change(u32 rtt_us)
{
	struct tcon_cc cc;

	flow_avoid(&cc, 100);
	round_of(&cc, 4, rtt_us);
	return (int)(cc.cwnd_bytes - SEGS(100));
}

/* W (RTT - baseRTT) / RTT in segments, rounded down. */
static void diff_table(void **unused)
{
	static const struct {
		u32 cwnd_bytes, base_us, rtt_us, want;
	} t[] = {
		{ SEGS(100), 100000, 100000, 0 },
		{ SEGS(100), 100000, 102040, 1 },	/* 1.9992 */
		{ SEGS(100), 100000, 102041, 2 },	/* 2.0002 */
		{ SEGS(100), 100000, 200000, 50 },
		{ SEGS(100) - 1, 100000, 200000, 49 },
		{ SEGS(2), 10000000, 20000000, 1 },
		{ SEGS(10), 10, 11, 0 },		/* 0.91 */
		{ SEGS(10), 10, 12, 1 },		/* 1.67 */
		/* 2^30 / 1448 = 741534.4, and a millionth less */
		{ TCON_CWND_MAX_BYTES, 10, 10000000, 741533 },
		{ TCON_CWND_MAX_BYTES, 1, TCON_RTT_NONE_US - 1, 741534 },
	};
	struct tcon_cc cc;
	int i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		flow_init(&cc, 10);
		priv(&cc)->backlog.base_rtt_us = t[i].base_us;
		priv(&cc)->backlog.round_rtt_us = t[i].rtt_us;
		assert_int_equal(diff_segs(&cc, t[i].cwnd_bytes), t[i].want);
	}
}

/*
 * Avoidance, alpha 2, beta 4.  Diff of 100 segments is 2 at an RTT of
 * 100 ms / 0.98 = 102040.8 us, and 5, the first above 4, at 100 / 0.95 =
 * 105263.2 us.
 */
static void avoidance(void **unused)
{
	assert_int_equal(change(100000), MSS);
	assert_int_equal(change(102040), MSS);
	assert_int_equal(change(102041), 0);
	assert_int_equal(change(105263), 0);
	assert_int_equal(change(105264), -(int)MSS);
	assert_int_equal(change(SLOW_US), -(int)MSS);
	assert_int_equal(change(TCON_RTT_NONE_US), -(int)MSS);
}

static void alpha_is_not_above_beta(void **unused)
{
	s64 values[] = { [PARAM_ALPHA] = 4, [PARAM_BETA] = 4, [PARAM_GAMMA] = 9 };

	assert_null(vegas_ops.complaint(values));
	values[PARAM_ALPHA] = 5;
	assert_string_equal(vegas_ops.complaint(values), "alpha is more than beta");
}

/* Diff 10 at 100 / 0.9 = 111111.1 us, 21 at 100 / 0.79 = 126582.3 us. */
static void alpha_and_beta(void **unused)
{
	static const struct {
		u32 rtt_us;
		int want;
	} t[] = {
		{ 111111, MSS }, { 111112, 0 }, { 126582, 0 },
		{ 126583, -(int)MSS },
	};
	struct tcon_cc cc;
	int i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		flow_avoid(&cc, 100);
		params[PARAM_ALPHA] = 10;
		params[PARAM_BETA] = 20;
		round_of(&cc, 4, t[i].rtt_us);
		assert_int_equal((int)(cc.cwnd_bytes - SEGS(100)), t[i].want);
	}
}

/* One decision per round; between, cwnd stands. */
static void once_per_round(void **unused)
{
	struct tcon_cc cc;
	int i;

	flow_avoid(&cc, 100);
	for (i = 0; i < 100; i++) {
		ack(&cc, MSS, BASE_US);
		assert_int_equal(cc.cwnd_bytes, SEGS(100));
	}
	ack(&cc, 1, BASE_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(101));
	assert_int_equal(priv(&cc)->backlog.round_samples, 0);
	ack(&cc, MSS, BASE_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(101));
}

/*
 * Slow start has doubled 100 segments when the next ACK ends the round.  Diff of
 * the 100 is 2, the first above gamma, at 100 ms / (1 - 2 / 100) = 102040.8 us;
 * below that the ACK adds its segment.  At 102041 us the path carries 144800 bytes
 * / 1.02041 = 141903 bytes per baseRTT; and one segment.
 */
static void slow_start(void **unused)
{
	struct tcon_cc cc;

	flow_init(&cc, 100);
	round_of(&cc, 4, 102040);
	assert_int_equal(cc.cwnd_bytes, SEGS(201));
	assert_int_equal(cc.ssthresh_bytes, TCON_SSTHRESH_INFINITE);

	flow_init(&cc, 100);
	round_of(&cc, 4, 102041);
	assert_int_equal(cc.cwnd_bytes, 141903 + MSS);
	assert_int_equal(cc.ssthresh_bytes, 141903 + MSS);

	/* Diff 2 is not above 2, and Diff 1 is above 0. */
	flow_init(&cc, 100);
	params[PARAM_GAMMA] = 2;
	round_of(&cc, 4, 102041);
	assert_int_equal(cc.cwnd_bytes, SEGS(201));
	flow_init(&cc, 100);
	params[PARAM_GAMMA] = 0;
	round_of(&cc, 4, 102040);
	assert_true(cc.cwnd_bytes < SEGS(101));
}

/*
 * The window that was measured: in the second round ACKs are for what was sent
 * in the first, which began with 100 segments (Diff 1.9992).  In the third it is
 * 201 (Diff 4.02): 291048 bytes / 1.0204 = 285229 bytes and a segment.
 */
static void measured_window(void **unused)
{
	struct tcon_cc cc;

	flow_init(&cc, 100);
	round_of(&cc, 4, BASE_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(201));
	round_of(&cc, 4, 102040);
	assert_int_equal(priv(&cc)->diff_segs, 1);
	assert_true(cc.cwnd_bytes > SEGS(300));
	round_of(&cc, 4, 102040);
	assert_int_equal(priv(&cc)->diff_segs, 4);
	assert_int_equal(cc.cwnd_bytes, 285229 + MSS);
	assert_int_equal(cc.ssthresh_bytes, 285229 + MSS);

	/* A reduction: there was no round before. */
	state(&cc, TCON_CA_RECOVERY);
	cc.una = cc.nxt;
	state(&cc, TCON_CA_OPEN);
	assert_int_equal(priv(&cc)->backlog.sent_cwnd_bytes, (285229 + MSS) / 2);
}

/* Slow start ends at ssthresh too, here within a round that adds a segment. */
static void slow_start_to_ssthresh(void **unused)
{
	struct tcon_cc cc;

	flow_init(&cc, 100);
	cc.ssthresh_bytes = SEGS(120);
	round_of(&cc, 4, BASE_US);
	assert_int_equal(cc.ssthresh_bytes, SEGS(120));
	assert_int_equal(cc.cwnd_bytes, SEGS(121));
}

/*
 * Two samples are too few: Reno, whatever the RTT.  A round of 101 segments adds
 * one and leaves one.
 */
static void few_samples(void **unused)
{
	struct tcon_cc cc;

	flow_avoid(&cc, 100);
	round_of(&cc, 2, SLOW_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(101));
	assert_int_equal(priv(&cc)->reno.acked_bytes, SEGS(1));
	round_of(&cc, 3, SLOW_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(100));

	/* ACKs without a sample do not count (Karn). */
	flow_avoid(&cc, 100);
	ack(&cc, MSS, -1);
	ack(&cc, MSS, -1);
	round_of(&cc, 2, SLOW_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(101));

	/* Slow start, and the end of it at 150; 51 segments are not a window. */
	flow_init(&cc, 100);
	cc.ssthresh_bytes = SEGS(150);
	round_of(&cc, 2, SLOW_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(150));
	assert_int_equal(priv(&cc)->reno.acked_bytes, SEGS(51));
}

/* The smallest sample is the round's; the smallest of all is baseRTT. */
static void smallest_sample(void **unused)
{
	struct tcon_cc cc;

	flow_avoid(&cc, 100);
	ack(&cc, MSS, SLOW_US);
	ack(&cc, MSS, BASE_US);
	round_of(&cc, 2, SLOW_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(101));

	/* 100 ms are much, now that 80 ms were seen. */
	flow_avoid(&cc, 100);
	round_of(&cc, 4, 80000);
	assert_int_equal(priv(&cc)->backlog.base_rtt_us, 80000);
	round_of(&cc, 4, BASE_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(100));
	assert_int_equal(priv(&cc)->diff_segs, 20);	/* 100 * 0.2 */
	round_of(&cc, 4, 0);				/* below the clock */
	assert_int_equal(priv(&cc)->backlog.base_rtt_us, 1);
}

/* Three rounds in which @segs are in transit, and cwnd does not bind. */
static void unbound_rounds(struct tcon_cc *cc, u32 segs, u32 rtt_us)
{
	u32 i;

	cc->inflight_bytes = SEGS(segs);
	cc->nxt = cc->una + SEGS(segs);
	state(cc, TCON_CA_OPEN);		/* rounds of as many segments */
	for (i = 0; i < 3 * (segs + 1); i++)
		ack_if(cc, MSS, rtt_us, false);
}

/* cwnd did not bind: W is what was in transit, and cwnd is never raised. */
static void unbound(void **unused)
{
	struct tcon_cc cc;

	/* Avoidance: Diff 20 * 0.2 = 4 and 25 * 0.2 = 5; Actual 25 * 0.8 + 1. */
	flow_avoid(&cc, 100);
	unbound_rounds(&cc, 20, BASE_US);
	unbound_rounds(&cc, 20, BASE_US * 5 / 4);
	assert_int_equal(cc.cwnd_bytes, SEGS(100));
	assert_true(priv(&cc)->backlog.round_samples < 20);	/* rounds pass */
	unbound_rounds(&cc, 25, BASE_US * 5 / 4);
	assert_int_equal(cc.cwnd_bytes, SEGS(21));
	assert_int_equal(cc.ssthresh_bytes, SEGS(21));
	assert_int_equal(priv(&cc)->diff_segs, 5);

	/* Slow start: Diff 5 * 0.2 = 1 and 10 * 0.2 = 2; Actual 10 * 0.8 + 1. */
	flow_init(&cc, 100);
	cc.ssthresh_bytes = TCON_SSTHRESH_INFINITE;
	unbound_rounds(&cc, 5, BASE_US * 5 / 4);
	assert_int_equal(cc.cwnd_bytes, SEGS(100));
	assert_int_equal(cc.ssthresh_bytes, TCON_SSTHRESH_INFINITE);
	unbound_rounds(&cc, 10, BASE_US * 5 / 4);
	assert_int_equal(cc.cwnd_bytes, SEGS(9));
	assert_int_equal(cc.ssthresh_bytes, SEGS(9));
}

/* Never below two segments, nor back into slow start from there. */
static void bounds(void **unused)
{
	struct tcon_cc cc;

	flow_avoid(&cc, 10);
	params[PARAM_BETA] = 1;
	params[PARAM_ALPHA] = 1;
	cc.ssthresh_bytes = SEGS(2);
	cc.cwnd_bytes = SEGS(2) + 5;
	priv(&cc)->backlog.sent_cwnd_bytes = cc.cwnd_bytes;
	round_of(&cc, 4, 50 * BASE_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(2) + 5);	/* Diff 1.96 */
	cc.cwnd_bytes = SEGS(3) - 5;
	priv(&cc)->backlog.sent_cwnd_bytes = cc.cwnd_bytes;
	round_of(&cc, 4, 50 * BASE_US);			/* Diff 2.94 */
	assert_int_equal(cc.cwnd_bytes, SEGS(2));
	assert_int_equal(cc.ssthresh_bytes, SEGS(2));

	flow_avoid(&cc, 10);
	cc.cwnd_bytes = TCON_CWND_MAX_BYTES - 1;
	round_of(&cc, 4, BASE_US);
	assert_int_equal(cc.cwnd_bytes, TCON_CWND_MAX_BYTES);
}

/* Half; samples of the recovery do not count in the round after it. */
static void recovery(void **unused)
{
	struct tcon_cc cc;

	flow_avoid(&cc, 100);
	state(&cc, TCON_CA_RECOVERY);
	assert_int_equal(cc.cwnd_bytes, SEGS(50));
	assert_int_equal(cc.ssthresh_bytes, SEGS(50));
	round_of(&cc, 50, SLOW_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(50));
	state(&cc, TCON_CA_OPEN);
	assert_int_equal(priv(&cc)->backlog.round_samples, 0);
	assert_int_equal(priv(&cc)->backlog.round_end, cc.nxt);
	round_of(&cc, 3, BASE_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(51));
}

/* Two segments; Reno until all is repaired; then rounds again. */
static void timeout(void **unused)
{
	struct tcon_cc cc;

	flow_avoid(&cc, 100);
	state(&cc, TCON_CA_LOSS);
	assert_int_equal(cc.cwnd_bytes, SEGS(2));
	assert_int_equal(cc.ssthresh_bytes, SEGS(50));
	ack(&cc, SEGS(48), SLOW_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(50));
	ack(&cc, SEGS(50), SLOW_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(51));
	ack(&cc, SEGS(2), SLOW_US);	/* all that was in flight */
	state(&cc, TCON_CA_OPEN);
	round_of(&cc, 3, SLOW_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(50));
}

/* ECE halves; a round begins when that window is over. */
static void ece(void **unused)
{
	struct tcon_cc cc;

	flow_avoid(&cc, 100);
	event(&cc, TCON_CA_EVENT_ECE);
	assert_int_equal(cc.cwnd_bytes, SEGS(50));
	ack(&cc, SEGS(100), SLOW_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(50));
	ack(&cc, MSS, SLOW_US);
	assert_int_equal(priv(&cc)->backlog.round_samples, 1);
	assert_int_equal(priv(&cc)->backlog.round_end, cc.nxt - MSS);
	round_of(&cc, 3, SLOW_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(49));
}

static void undo(void **unused)
{
	struct tcon_cc cc;

	flow_avoid(&cc, 100);
	state(&cc, TCON_CA_LOSS);
	vegas_ops.undo_cwnd(&cc);
	state(&cc, TCON_CA_OPEN);
	assert_int_equal(cc.cwnd_bytes, SEGS(100));
	assert_int_equal(cc.ssthresh_bytes, SEGS(50));
	round_of(&cc, 3, BASE_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(101));
}

/* After silence: cwnd stays, the round is new, baseRTT is the tracker's. */
static void idle(void **unused)
{
	struct tcon_cc cc;

	flow_avoid(&cc, 100);
	ack(&cc, MSS, 50000);
	cc.min_rtt_us = 90000;		/* 50 ms are too long ago */
	cc.app_limited_until = 1;
	event(&cc, TCON_CA_EVENT_TX_START);
	assert_int_equal(cc.cwnd_bytes, SEGS(100));
	assert_int_equal(priv(&cc)->backlog.base_rtt_us, 90000);
	assert_int_equal(priv(&cc)->backlog.round_samples, 0);
	assert_int_equal(priv(&cc)->backlog.round_end, cc.nxt);
	round_of(&cc, 3, 91000);
	assert_int_equal(cc.cwnd_bytes, SEGS(101));
}

/* Where one ACK comes for each window, or some, a round is one all the same. */
static void whole_windows(void **unused)
{
	struct tcon_cc cc;
	int i;

	flow_avoid(&cc, 2);
	for (i = 0; i < 20; i++)
		whole_round(&cc, 1, BASE_US);
	assert_in_range(cc.cwnd_bytes, SEGS(12), SEGS(22));
	flow_avoid(&cc, 40);
	for (i = 0; i < 4; i++)
		whole_round(&cc, 5, SLOW_US);
	assert_true(cc.cwnd_bytes < SEGS(40));
}

/*
 * A CC before left 1000 segments in flight, 100 ms where the path has 20: 200 are
 * the path's.  The first decision takes the rest away, the next one segment.
 */
static void live_switch(void **unused)
{
	struct tcon_cc cc;

	default_params(&vegas_ops);
	start(&cc, &vegas_ops, MSS, SEGS(1000), 20000);
	cc.ssthresh_bytes = SEGS(700);
	assert_int_equal(priv(&cc)->backlog.base_rtt_us, 20000);
	round_of(&cc, 4, 100000);
	assert_int_equal(cc.cwnd_bytes, SEGS(201));
	assert_int_equal(cc.ssthresh_bytes, SEGS(201));
	round_of(&cc, 4, 100000);
	assert_int_equal(cc.cwnd_bytes, SEGS(200));

	/* A queue of 4 segments is as it should be. */
	start(&cc, &vegas_ops, MSS, SEGS(1000), 20000);
	cc.ssthresh_bytes = SEGS(700);
	round_of(&cc, 4, 20081);
	assert_int_equal(cc.cwnd_bytes, SEGS(1000));

	start(&cc, &vegas_ops, MSS, SEGS(10), TCON_RTT_NONE_US);
	assert_int_equal(priv(&cc)->backlog.base_rtt_us, TCON_RTT_NONE_US);
	ack(&cc, MSS, -1);
	ack(&cc, MSS, 30000);
	assert_int_equal(priv(&cc)->backlog.base_rtt_us, 30000);
}

static void info(void **unused)
{
	struct tcon_cc cc;
	char buf[80];

	flow_init(&cc, 100);
	vegas_ops.get_info(&cc, buf, sizeof(buf));
	assert_string_equal(buf, "mode=SLOW_START base_rtt_us=100000 diff_segs=0");
	flow_avoid(&cc, 100);
	round_of(&cc, 3, SLOW_US);
	vegas_ops.get_info(&cc, buf, sizeof(buf));
	assert_string_equal(buf, "mode=AVOIDANCE base_rtt_us=100000 diff_segs=50");
	state(&cc, TCON_CA_RECOVERY);
	priv(&cc)->backlog.base_rtt_us = TCON_RTT_NONE_US;
	vegas_ops.get_info(&cc, buf, sizeof(buf));
	assert_string_equal(buf, "mode=REDUCED base_rtt_us=0 diff_segs=50");
	assert_int_equal(vegas_ops.get_info(&cc, buf, 13), 12);
}

static void module(void **unused)
{
	static const char * const names[] = { "alpha", "beta", "gamma" };
	static const s64 defs[] = { 2, 4, 1 };
	int i;

	assert_int_equal(shim_tcon_vegas_module_init(), 0);
	assert_ptr_equal(registered, &vegas_ops);
	assert_string_equal(registered->name, "vegas");
	assert_int_equal(registered->n_params, 3);
	for (i = 0; i < 3; i++) {
		assert_string_equal(vegas_params[i].name, names[i]);
		assert_int_equal(vegas_params[i].def, defs[i]);
		assert_string_equal(vegas_params[i].unit, "segments");
	}
	shim_tcon_vegas_module_exit();
	assert_null(registered);
}

static void extremes(void **unused)
{
	int i, p;

	for (p = 0; p < 8; p++) {
		for (i = 0; i < 3; i++)
			params[i] = p >> i & 1 ? vegas_params[i].max :
						 vegas_params[i].min;
		extreme_paths(&vegas_ops);
	}
	default_params(&vegas_ops);
	extreme_paths(&vegas_ops);
}

/*
 * Closed loop with a deep buffer: alpha and beta say how much waits, with one
 * segment of it in service; nothing is lost, and the link does not idle.  baseRTT
 * is the handshake's, without a segment's time of transmission.
 */
static void settle(u64 rate_bps, u32 rtt_us, s64 alpha, s64 beta)
{
	static struct sim s;
	double queue_segs;

	default_params(&vegas_ops);
	params[PARAM_ALPHA] = alpha;
	params[PARAM_BETA] = beta;
	sim_start(&s, &vegas_ops, params, rate_bps, rtt_us, 100000000, MSS);
	sim_run(&s, 30 * SIM_NS, NULL);
	sim_measure(&s);
	sim_run(&s, 60 * SIM_NS, NULL);
	queue_segs = sim_queue_us(&s) * rate_bps / 8e6 / MSS;
	print_message("%llu Mbit/s, %u us, alpha %lld, beta %lld: %.2f segments wait, utilisation %.4f\n",
		      rate_bps / 1000000, rtt_us, alpha, beta, queue_segs,
		      sim_utilisation(&s));
	assert_int_equal(s.cuts, 0);
	assert_true(queue_segs > alpha - 1.1 && queue_segs < beta + 0.1);
	assert_true(sim_utilisation(&s) > 0.995);
	sim_stop(&s);
}

static void settled(void **unused)
{
	settle(20000000, 40000, 2, 4);
	settle(100000000, 10000, 2, 4);
	settle(100000000, 10000, 10, 12);
	settle(1000000, 100000, 2, 4);
	settle(1000000000, 1000, 2, 4);
}

/*
 * Slow start with a buffer that holds all of it (10, 20, ... 1280, 2560 segments
 * until Diff of 640 is known): it ends at what the path holds, 432 segments, and
 * half a second later only the segments of alpha and beta wait.
 */
static void slow_start_loop(void **unused)
{
	static struct sim s;

	default_params(&vegas_ops);
	sim_start(&s, &vegas_ops, params, 100000000, 50000, 100000000, MSS);
	sim_run(&s, 3 * SIM_NS / 2, NULL);
	print_message("slow start: queue of at most %.1f ms, ssthresh %u segments\n",
		      (s.rtt_max_us - 50000) / 1e3,
		      s.cc.ssthresh_bytes / MSS);
	assert_int_equal(s.cuts, 0);
	assert_in_range(s.cc.ssthresh_bytes, SEGS(425), SEGS(440));
	sim_measure(&s);
	sim_run(&s, 3 * SIM_NS, NULL);
	assert_true(sim_queue_us(&s) < 500);
	assert_true(sim_utilisation(&s) > 0.98);
	sim_stop(&s);
}

/*
 * A queue of 1000 packets, 116 ms, filled by a greedy flow: a second after the
 * switch it is gone.
 */
static void switch_from_full_queue(void **unused)
{
	static struct sim s;

	default_params(&vegas_ops);
	params[PARAM_ALPHA] = vegas_params[PARAM_ALPHA].max;
	params[PARAM_BETA] = vegas_params[PARAM_BETA].max;
	params[PARAM_GAMMA] = vegas_params[PARAM_GAMMA].max;
	sim_start(&s, &vegas_ops, params, 100000000, 20000, 1448000, MSS);
	sim_run(&s, 5 * SIM_NS, NULL);
	sim_measure(&s);
	sim_run(&s, 6 * SIM_NS, NULL);
	assert_true(sim_queue_us(&s) > 40000);
	default_params(&vegas_ops);
	sim_switch(&s, &vegas_ops, params);
	sim_run(&s, 7 * SIM_NS, NULL);
	sim_measure(&s);
	sim_run(&s, 8 * SIM_NS, NULL);
	print_message("queue %.2f ms, utilisation %.4f after the switch\n",
		      sim_queue_us(&s) / 1000, sim_utilisation(&s));
	assert_true(sim_queue_us(&s) < 1000);
	assert_true(sim_utilisation(&s) > 0.98);
	sim_stop(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(diff_table),
		cmocka_unit_test(avoidance),
		cmocka_unit_test(alpha_is_not_above_beta),
		cmocka_unit_test(alpha_and_beta),
		cmocka_unit_test(once_per_round),
		cmocka_unit_test(slow_start),
		cmocka_unit_test(measured_window),
		cmocka_unit_test(slow_start_to_ssthresh),
		cmocka_unit_test(few_samples),
		cmocka_unit_test(smallest_sample),
		cmocka_unit_test(unbound),
		cmocka_unit_test(bounds),
		cmocka_unit_test(recovery),
		cmocka_unit_test(timeout),
		cmocka_unit_test(ece),
		cmocka_unit_test(undo),
		cmocka_unit_test(idle),
		cmocka_unit_test(whole_windows),
		cmocka_unit_test(live_switch),
		cmocka_unit_test(info),
		cmocka_unit_test(module),
		cmocka_unit_test(extremes),
		cmocka_unit_test(settled),
		cmocka_unit_test(slow_start_loop),
		cmocka_unit_test(switch_from_full_queue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
