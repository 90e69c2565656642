// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loss repair in a closed loop: how many repairs are needless, how much of the
 * path is used.
 *
 *	TCon --- loses, drop-tail queue, rate, reorders ---> receiver --- TCon
 *
 * One flow with unlimited data and a constant window, 1.6 BDP as a rule; lost ranges are
 * sent again as hold.c and repair.c do it.  A repair is needless when the
 * receiver had all of it: the receiver counts, not the tracker.  The same seeds
 * give the same figures everywhere.
 */
#include <stdio.h>

#include "conn.h"
#include "prng.h"
#include "receiver.h"

#define PATH_RTT_US	20000U
#define SEGMENT_US	80U		/* 100 Mbit/s */
#define BDP_SEGS	(PATH_RTT_US / SEGMENT_US)
#define CWND_SEGS	(BDP_SEGS * 8 / 5)
#define QUEUE_SEGS	CWND_SEGS
#define HEAP_MAX	8192
#define SEEDS		3
#define SECONDS		10

/**
 * struct event - a packet arrives
 * @at_us: when
 * @number: of equal times, the lower first
 * @to_guest: it is the ACK @pkt; else data
 * @pkt: the packet
 */
struct event {
	u64 at_us;
	u64 number;
	bool to_guest;
	struct tcon_packet pkt;
};

/**
 * struct path - what the path does
 * @loss_ppm: of data, repairs too
 * @ack_loss_ppm: of ACKs
 * @late_ppm: share of data that is late
 * @late_us: by up to this
 * @burst_segs: the guest sends in super-packets of this; 0: 1
 * @cwnd_segs: window; 0: %CWND_SEGS
 * @no_sack: the receiver has no SACK
 */
struct path {
	u32 loss_ppm;
	u32 ack_loss_ppm;
	u32 late_ppm;
	u32 late_us;
	u32 burst_segs;
	u32 cwnd_segs;
	bool no_sack;
};

/**
 * struct run - a flow on a path, and its outcome
 * @c: the connection
 * @rx: the receiver
 * @path: the path
 * @rng: its chance
 * @heap: packets under way, @n of them
 * @n: their number
 * @events: so far
 * @free_us: when the bottleneck has sent its queue
 * @dropped: segments that the path lost
 * @timeouts: retransmission time-outs
 */
struct run {
	struct conn *c;
	struct receiver rx;
	struct path path;
	u64 rng;
	struct event heap[HEAP_MAX];
	u32 n;
	u64 events;
	u64 free_us;
	u32 dropped;
	u32 timeouts;
};

static bool event_before(const struct event *a, const struct event *b)
{
	return a->at_us != b->at_us ? a->at_us < b->at_us :
				      a->number < b->number;
}

static void event_push(struct run *r, u64 at_us, bool to_guest,
		       const struct tcon_packet *pkt)
{
	struct event e = { at_us, r->events++, to_guest, *pkt };
	u32 i = r->n++;

	assert_true(r->n <= HEAP_MAX);
	for (; i && event_before(&e, &r->heap[(i - 1) / 2]); i = (i - 1) / 2)
		r->heap[i] = r->heap[(i - 1) / 2];
	r->heap[i] = e;
}

static struct event event_pop(struct run *r)
{
	struct event first = r->heap[0], last = r->heap[--r->n];
	u32 i = 0, j;

	while ((j = 2 * i + 1) < r->n) {
		if (j + 1 < r->n && event_before(&r->heap[j + 1], &r->heap[j]))
			j++;
		if (!event_before(&r->heap[j], &last))
			break;
		r->heap[i] = r->heap[j];
		i = j;
	}
	r->heap[i] = last;
	return first;
}

static bool chance(struct run *r, u32 ppm)
{
	return prng_below(&r->rng, 1000000) < ppm;
}

/* A segment enters the path. */
static void travel(struct run *r, u32 start, u32 end)
{
	struct tcon_packet pkt = { .seq = start, .end_seq = end };
	u64 now_us = r->c->now_us, begin_us = max(r->free_us, now_us), late_us;

	if (chance(r, r->path.loss_ppm) ||
	    begin_us - now_us > QUEUE_SEGS * SEGMENT_US) {
		r->dropped++;
		return;
	}
	r->free_us = begin_us + SEGMENT_US;
	late_us = chance(r, r->path.late_ppm) ?
		  prng_below(&r->rng, r->path.late_us) : 0;
	event_push(r, r->free_us + PATH_RTT_US / 2 + late_us, false, &pkt);
}

static void again(struct run *r, u32 start, u32 end)
{
	assert_true(tcon_sent_repair(&r->c->t, start, end, end - start,
					r->c->now_us));
	travel(r, start, end);
}

/* Do what is due, and let leave what may leave. */
static void look(struct run *r)
{
	struct tcon_track *t = &r->c->t;
	u64 lost = t->cc.lost_bytes, now_us = r->c->now_us;
	u32 bytes = max(r->path.burst_segs, 1U) * MSS, at;

	switch (tcon_timer_expire(t, now_us)) {
	case TCON_EXPIRY_NONE:
		break;
	case TCON_EXPIRY_REORDER:
		tcon_ca_lost(t, t->cc.lost_bytes - lost, now_us);
		break;
	case TCON_EXPIRY_PROBE:
		again(r, t->cc.nxt - MSS, t->cc.nxt);
		tcon_timer_probed(t, MSS, now_us);
		break;
	default:
		r->timeouts++;
		tcon_ca_timeout(t, now_us);
	}
	while (t->lost.n && (t->lost.range[0].start == t->cc.una ||
			     t->cc.inflight_bytes + MSS <= t->cc.cwnd_bytes)) {
		at = t->lost.range[0].start;
		again(r, at, seq_min(at + MSS, t->lost.range[0].end));
	}
	while (t->cc.inflight_bytes + bytes <= t->cc.cwnd_bytes) {
		at = t->cc.nxt;
		send_at(r->c, at, bytes, TCON_SENT_NEW);
		for (; at != t->cc.nxt; at += MSS)
			travel(r, at, at + MSS);
	}
}

static void arrives(struct run *r, const struct event *e)
{
	struct tcon_packet ack;

	if (e->to_guest) {
		take(r->c, &e->pkt);
		if (r->c->ack.valid)
			tcon_ca_ack(&r->c->t, &r->c->ack);
	} else if (receiver_data(&r->rx, e->pkt.seq, e->pkt.end_seq, &ack) &&
		   !chance(r, r->path.ack_loss_ppm)) {
		event_push(r, r->c->now_us + PATH_RTT_US / 2, true, &ack);
	}
}

static void constant_init(struct tcon_cc *cc, u64 now_us)
{
}

static void constant_control(struct tcon_cc *cc,
			     const struct tcon_rate_sample *rs)
{
}

static void constant_state(struct tcon_cc *cc, enum tcon_ca_state state,
			   u64 now_us)
{
}

static void constant_undo(struct tcon_cc *cc)
{
}

static const struct tcon_cc_ops constant = {
	.name = "constant",
	.init = constant_init,
	.cong_control = constant_control,
	.set_state = constant_state,
	.undo_cwnd = constant_undo,
};

static struct run *run_for(const struct path *path, u64 seed)
{
	struct run *r = test_calloc(1, sizeof(*r));
	u64 timer_us, until_us;
	struct event e;

	r->c = conn_new();
	r->path = *path;
	r->rng = seed * 0x9e3779b97f4a7c15;
	guest_syn(r->c, 0, 0, !path->no_sack);
	wait_us(r->c, PATH_RTT_US + SEGMENT_US);
	peer_syn(r->c, TCON_TCP_ACK, FIRST, !path->no_sack);
	r->c->t.peer.acked = true;
	r->rx = (struct receiver) { .nxt = FIRST, .seq = PEER_ISN + 1,
				    .sack = !path->no_sack };
	tcon_ca_start(&r->c->t, &constant, NULL, r->c->now_us);
	r->c->t.cc.cwnd_bytes = (path->cwnd_segs ? : CWND_SEGS) * MSS;
	until_us = r->c->now_us + SECONDS * 1000000ULL;
	look(r);
	while (r->c->now_us < until_us) {
		timer_us = tcon_timer_next_us(&r->c->t);
		if (r->n && r->heap[0].at_us <= timer_us) {
			e = event_pop(r);
			r->c->now_us = e.at_us;
			arrives(r, &e);
		} else {
			r->c->now_us = max(r->c->now_us, timer_us);
		}
		look(r);
	}
	return r;
}

static void run_end(struct run *r)
{
	tcon_ca_stop(&r->c->t);
	conn_close(r->c);
	test_free(r);
}

/**
 * struct outcome - of runs with several seeds together
 * @sent: segments
 * @dropped: by the path
 * @repairs: made
 * @needless: repairs of bytes that the receiver had
 * @counted: needless repairs that the tracker knew
 * @timeouts: retransmission time-outs
 * @used: share of the path
 */
struct outcome {
	double sent;
	double dropped;
	double repairs;
	double needless;
	double counted;
	double timeouts;
	double used;
};

static struct outcome outcome_of(const char *name, const struct path *path)
{
	struct outcome o = {};
	u32 seed;

	for (seed = 1; seed <= SEEDS; seed++) {
		struct run *r = run_for(path, seed);
		const struct tcon_track *t = &r->c->t;

		o.sent += t->sent_bytes / MSS;
		o.dropped += r->dropped;
		o.repairs += t->repairs;
		o.needless += r->rx.twice;
		o.counted += t->spurious_repairs;
		o.timeouts += r->timeouts;
		o.used += (double)t->acked_bytes / MSS * SEGMENT_US /
			  (SECONDS * 1000000.0) / SEEDS;
		run_end(r);
	}
	print_message("%s: %.0f sent, %.0f dropped, %.0f repaired, ", name,
		      o.sent, o.dropped, o.repairs);
	print_message("%.2f %% of them needless (%.0f known), ",
		      100 * o.needless / o.repairs, o.counted);
	print_message("%.0f time-outs, %.1f %% of the path used\n",
		      o.timeouts, 100 * o.used);
	return o;
}

/* Losses at random: all repaired, hardly one for nothing, without time-outs. */
static void losses(void **state)
{
	struct outcome o = outcome_of("5 % lost", &(struct path) {
		.loss_ppm = 50000,
	});

	assert_true(o.repairs > 10000);
	assert_true(o.needless < o.repairs / 100);
	assert_true(o.timeouts == 0);
	assert_true(o.used > 0.98);
}

/* One time stamp for sixteen segments. */
static void losses_in_bursts(void **state)
{
	struct outcome o = outcome_of("5 % lost, bursts", &(struct path) {
		.loss_ppm = 50000, .burst_segs = 16,
	});

	assert_true(o.repairs > 10000);
	assert_true(o.needless < o.repairs / 100);
	assert_true(o.timeouts == 0);
	assert_true(o.used > 0.98);
}

static void losses_both_ways(void **state)
{
	struct outcome o = outcome_of("5 % lost, 50 % of ACKs", &(struct path) {
		.loss_ppm = 50000, .ack_loss_ppm = 500000,
	});

	assert_true(o.repairs > 10000);
	assert_true(o.needless < o.repairs / 100);
	assert_true(o.timeouts == 0);
	assert_true(o.used > 0.98);
}

/* Few in flight: segments lost again, or last, are found all the same. */
static void losses_of_a_thin_flow(void **state)
{
	struct outcome o = outcome_of("5 % lost, 8 in flight", &(struct path) {
		.loss_ppm = 50000, .cwnd_segs = 8,
	});

	assert_true(o.needless < o.repairs / 100);
	assert_true(o.timeouts < o.repairs / 20);
	assert_true(o.used > 0.8 * 8 / BDP_SEGS);
}

/* A peer without SACK: a round trip for each hole, and time-outs. */
static void losses_without_sack(void **state)
{
	struct outcome o = outcome_of("0.1 % lost, no SACK", &(struct path) {
		.loss_ppm = 1000, .no_sack = true,
	});

	assert_true(o.repairs > 100);
	assert_true(o.used > 0.5);
}

/*
 * Late by less than a quarter of the RTT, the window for reordering: repaired for
 * nothing is only what is late among the first window, before that is known.
 */
static void reordering(void **state)
{
	struct outcome o = outcome_of("5 % late by up to 4 ms",
				      &(struct path) {
		.late_ppm = 50000, .late_us = 4000,
	});

	assert_true(o.dropped == 0);
	assert_true(o.needless == o.repairs);
	assert_true(o.repairs < SEEDS * CWND_SEGS / 10);
	assert_true(o.used > 0.98);
}

static void losses_and_reordering(void **state)
{
	struct outcome o = outcome_of("5 % lost, 5 % late by up to 4 ms",
				      &(struct path) {
		.loss_ppm = 50000, .late_ppm = 50000, .late_us = 4000,
	});

	assert_true(o.needless < o.repairs / 100);
	assert_true(o.timeouts == 0);
	assert_true(o.used > 0.98);
}

/* Later than the window: DSACKs widen it, and then less. */
static void losses_and_late_reordering(void **state)
{
	struct outcome o = outcome_of("5 % lost, 5 % late by up to 12 ms",
				      &(struct path) {
		.loss_ppm = 50000, .late_ppm = 50000, .late_us = 12000,
	});

	assert_true(o.needless > o.repairs / 1000);	/* it does test that */
	assert_true(o.needless < o.repairs / 20);
	assert_true(o.counted > 0.9 * o.needless);
	assert_true(o.timeouts == 0);
	assert_true(o.used > 0.97);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(losses),
		cmocka_unit_test(losses_in_bursts),
		cmocka_unit_test(losses_both_ways),
		cmocka_unit_test(losses_of_a_thin_flow),
		cmocka_unit_test(losses_without_sack),
		cmocka_unit_test(reordering),
		cmocka_unit_test(losses_and_reordering),
		cmocka_unit_test(losses_and_late_reordering),
	};

	return cmocka_run_group_tests_name("recovery", tests, NULL, NULL);
}
