// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzzer of the CCs: each on the real tracker (datapath/sender), under a guest, a path and a peer
 * that are the input's.
 *
 * A step is a round trip with losses and marks, with ACKs that come one by one or together; or a
 * time-out, a pause of up to days, a lapse of the guest, another CC, segments of another size.
 * Times, rates, windows and parameters reach the ends of their ranges.
 *
 * Invariants:
 *  - the watchdog (datapath/sender/ca.h) finds nothing to complain about;
 *  - ssthresh is not below the smallest window;
 *  - when the input ends, and nothing is lost or marked or waits in a queue any more, a flow with
 *    data to send leaves the smallest window again.
 */
#include <stdio.h>

#include <linux/module.h>
#include <linux/random.h>
#include <linux/time64.h>

#include "sender/ca.h"
#include "sender/handshake.h"
#include "sender/loss.h"
#include "sender/sent.h"
#include "sender/timer.h"

#include "tests/unit/copies.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#define ALGORITHMS_MAX	20
#define BURST_MAX	64	/* segments in a round trip */
#define CLEAN_EVENTS	10000
#define LEFT_SEGS	4
#define SHORT_RTT_US	1000U

/**
 * struct world - a flow
 * @t: the tracker
 * @in: the input
 * @now_us: the time
 * @rtt_us: of the path
 * @each: segments per ACK
 * @plain: parameters have their defaults
 * @params: the CC's parameters
 */
struct world {
	struct tcon_track t;
	struct input in;
	struct tcon_pool pool;
	struct tcon_budget budget;
	u64 now_us;
	u32 rtt_us;
	u32 each;
	bool plain;
	s64 params[TCON_MAX_PARAMS];
};

/**
 * struct flight - segments in flight on the good path
 * @sent_us: when they left
 * @head: the first of them
 * @tail: the one after the last
 * @send_us: when the pacer lets the next leave
 */
struct flight {
	u64 sent_us[BURST_MAX];
	u32 head;
	u32 tail;
	u64 send_us;
};

static struct tcon_cc_ops *algorithms[ALGORITHMS_MAX];
static unsigned int n_algorithms;
static u32 randoms;

int tcon_cc_register(struct tcon_cc_ops *ops)
{
	BUG_ON(n_algorithms == ALGORITHMS_MAX);
	algorithms[n_algorithms++] = ops;
	return 0;
}

void tcon_cc_unregister(struct tcon_cc_ops *ops)
{
}

u32 get_random_u32(void)
{
	randoms = randoms * 1664525 + 1013904223;
	return randoms;
}

static void check(const struct world *x)
{
	const struct tcon_cc *cc = &x->t.cc;

	WARN_ON(!tcon_ca_sane(cc));
	WARN_ON(cc->ssthresh_bytes < TCON_MIN_CWND_SEGS * cc->mss_bytes);
}

/* Often the default, else an end of the range, or a place in it. */
static void choose_params(struct world *x, const struct tcon_cc_ops *ops)
{
	unsigned int i;
	u8 v;

	x->plain = !(get_u8(&x->in) & 1);
	for (i = 0; i < ops->n_params; i++) {
		const struct tcon_cc_param *p = &ops->params[i];

		x->params[i] = p->def;
		if (x->plain)
			continue;
		v = get_u8(&x->in);
		if (v >= 128)
			x->params[i] = p->min + (p->max - p->min) * (v - 128) / 127;
	}
}

static void start(struct world *x)
{
	const struct tcon_cc_ops *ops = algorithms[get_u8(&x->in) % n_algorithms];

	tcon_ca_stop(&x->t);
	choose_params(x, ops);
	WARN_ON(tcon_ca_start(&x->t, ops, x->params, x->now_us));
	check(x);
}

static void expire(struct world *x)
{
	struct tcon_track *t = &x->t;
	u64 lost_before = t->cc.lost_bytes;

	switch (tcon_timer_expire(t, x->now_us)) {
	case TCON_EXPIRY_REORDER:
		tcon_ca_lost(t, t->cc.lost_bytes - lost_before, x->now_us);
		break;
	case TCON_EXPIRY_TIMEOUT:
	case TCON_EXPIRY_GIVE_UP:
		tcon_ca_timeout(t, x->now_us);
		break;
	default:
		break;
	}
	check(x);
}

static void wait_us(struct world *x, u64 us)
{
	x->now_us += us;
	expire(x);
}

/* A segment leaves, after the pacer has let it. */
static void leaves(struct world *x, u32 bytes)
{
	struct tcon_track *t = &x->t;
	bool idle = t->cc.una == t->cc.nxt;

	tcon_sent_segment(t, t->cc.nxt, t->cc.nxt + bytes, bytes, x->now_us);
	if (idle)
		tcon_ca_tx_start(t, x->now_us);
	check(x);
}

/* An ACK up to @ack; the bytes behind it up to @sack, too, have arrived. */
static void acknowledge(struct world *x, u32 ack, u32 sack_start, u32 sack_end, bool marked)
{
	struct tcon_track *t = &x->t;
	struct tcon_packet pkt = {
		.flags = TCON_TCP_ACK | (marked ? TCON_TCP_ECE : 0),
		.seq = 1, .end_seq = 1, .ack = ack, .window = 500,
		.n_sacks = sack_start != sack_end,
		.sacks[0] = { .start = sack_start, .end = sack_end },
	};
	struct tcon_ack out;

	tcon_acked(t, &pkt, x->now_us, &out);
	WARN_ON(!out.valid);
	tcon_ca_ack(t, &out);
	check(x);
}

static void repair(struct world *x)
{
	struct tcon_track *t = &x->t;
	u32 start, end, n;

	for (n = 0; n < BURST_MAX && t->lost.n && tcon_track_repair_fits(t); n++) {
		start = t->lost.range[0].start;
		end = start + min(t->lost.range[0].end - start, t->cc.mss_bytes);
		WARN_ON(!tcon_sent_repair(t, start, end, end - start, x->now_us));
	}
}

/* As in datapath/act/hold.c: nothing waits for cwnd while nothing is in flight. */
static bool fits(const struct tcon_track *t, u32 bytes)
{
	return !t->cc.inflight_bytes || tcon_track_fits(t, bytes);
}

/* Sends up to @segs segments of @bytes.  @paced: as the pacer lets them. */
static void send(struct world *x, u32 segs, u32 bytes, bool paced)
{
	struct tcon_track *t = &x->t;

	while (segs-- && fits(t, bytes) &&
	       t->cc.nxt - t->cc.una < TCON_CWND_MAX_BYTES - U16_MAX) {
		leaves(x, bytes);
		if (paced && t->cc.pacing_rate_bps)
			x->now_us += div64_u64(bytes * 8ULL * USEC_PER_SEC,
					       t->cc.pacing_rate_bps);
	}
}

/* All of it arrives, except for @lost, a bit for each segment. */
static void arrive(struct world *x, u8 lost, u8 marked)
{
	struct tcon_track *t = &x->t;
	u32 nxt = t->cc.nxt, at = t->cc.una, mss = t->cc.mss_bytes, end, i;
	bool hole = false;

	for (i = 0; at != nxt; at = end, i++) {
		end = at + min(nxt - at, x->each * mss);
		if (lost >> i % 8 & 1) {
			hole = true;
			continue;
		}
		if (hole)
			acknowledge(x, t->cc.una, at, end, marked >> i % 8 & 1);
		else
			acknowledge(x, end, 0, 0, marked >> i % 8 & 1);
		repair(x);
	}
}

static void round_trip(struct world *x, u8 what)
{
	struct tcon_track *t = &x->t;
	u32 bytes = what & 0x80 ? 1 + get_u8(&x->in) * 3 : t->cc.mss_bytes;
	u8 lost = what & 0x10 ? get_u8(&x->in) : 0;
	u8 marked = what & 0x20 ? get_u8(&x->in) : 0;

	repair(x);
	send(x, 1 + get_u8(&x->in) % BURST_MAX, bytes, what & 0x40);
	wait_us(x, x->rtt_us);
	arrive(x, lost, marked);
}

/* A super-packet whose ACKs come together: windows of any size in few steps. */
static void large_round_trip(struct world *x)
{
	u32 each = x->each;

	x->each = 1000;
	send(x, 2 * BURST_MAX, 65160, false);
	wait_us(x, x->rtt_us);
	arrive(x, 0, 0);
	x->each = each;
}

static void time_out(struct world *x)
{
	struct tcon_track *t = &x->t;

	if (t->cc.una == t->cc.nxt)
		return;
	if (get_u8(&x->in) & 1) {	/* TCon's */
		wait_us(x, (u64)tcon_track_rto_us(t) << t->timer.backoff);
		return;
	}
	tcon_loss_mark_all(t);		/* the guest's */
	tcon_ca_timeout(t, x->now_us);
	check(x);
}

static void something(struct world *x, u8 what)
{
	static const u32 rtts_us[] = { 0, 1, 3, 50, 1000, 20000, 300000, 5000000 };
	struct tcon_track *t = &x->t;

	switch (what % 8) {
	case 0:
		x->rtt_us = rtts_us[what / 8 % 8];
		break;
	case 1:
		x->rtt_us += (u32)get_u8(&x->in) << what / 16;
		break;
	case 2:
		wait_us(x, (u64)get_u8(&x->in) << what / 8);
		break;
	case 3:
		tcon_track_app_limited(t);
		break;
	case 4:
		start(x);
		break;
	case 5:
		x->each = 1 + what / 8 % 8 * 2;
		break;
	case 6:
		tcon_ca_unheard(t, x->now_us);
		check(x);
		tcon_ca_heard(t);
		check(x);
		break;
	case 7:
		if (what & 0x30)
			time_out(x);
		else
			tcon_ca_segment(t, clamp_t(u32, get_u8(&x->in) << 8, TCON_MSS_MIN, 65483));
		break;
	}
}

/* Does it send more than a few segments in a round trip?  A very short one holds less than that. */
static bool goes_on(const struct world *x)
{
	const struct tcon_cc *cc = &x->t.cc;
	u32 rtt_us = max(x->rtt_us, SHORT_RTT_US);

	if (!cc->pacing_rate_bps)
		return cc->cwnd_bytes > LEFT_SEGS * cc->mss_bytes;
	return cc->pacing_rate_bps > (LEFT_SEGS - 1) * cc->mss_bytes * 8ULL * USEC_PER_SEC / rtt_us;
}

/* The flight arrives a round trip after it has left; an ACK comes for each few segments, or
 * for all where no more may leave.
 */
static void next_event(struct world *x, struct flight *f)
{
	struct tcon_track *t = &x->t;
	u32 mss = t->cc.mss_bytes, n = f->tail - f->head;
	bool full = n == BURST_MAX || !fits(t, mss);
	u64 ack_us;

	n = min(n, x->each);
	ack_us = n ? f->sent_us[(f->head + n - 1) % BURST_MAX] + x->rtt_us : 0;
	if (full || (n == x->each && ack_us < f->send_us)) {
		x->now_us = max(x->now_us, ack_us);
		f->head += n;
		acknowledge(x, t->cc.nxt - (f->tail - f->head) * mss, 0, 0, false);
		return;
	}
	x->now_us = max(x->now_us, f->send_us);
	f->sent_us[f->tail++ % BURST_MAX] = x->now_us;
	leaves(x, mss);
	f->send_us = x->now_us;
	if (t->cc.pacing_rate_bps)
		f->send_us += div64_u64(mss * 8ULL * USEC_PER_SEC, t->cc.pacing_rate_bps);
}

/* The path is good again, and the guest has more to send than it may. */
static void recover(struct world *x)
{
	struct tcon_track *t = &x->t;
	struct flight flight = {};
	char info[256] = "";
	u32 i;

	for (i = 0; i < 100 && t->cc.una != t->cc.nxt; i++) {
		repair(x);
		wait_us(x, x->rtt_us);
		acknowledge(x, t->cc.nxt, 0, 0, false);
	}
	if (t->cc.min_rtt_us != TCON_RTT_NONE_US)
		x->rtt_us = t->cc.min_rtt_us;
	t->cc.app_limited_until = 0;
	for (i = 0; i < CLEAN_EVENTS && !goes_on(x); i++)
		next_event(x, &flight);
	if (i < CLEAN_EVENTS || !x->plain)
		return;
	if (t->cc.ops->get_info)
		t->cc.ops->get_info(&t->cc, info, sizeof(info));
	fprintf(stderr, "%s: stays at %u bytes, %llu bit/s; MSS %u, RTT %u us, %s\n",
		t->cc.ops->name, t->cc.cwnd_bytes, t->cc.pacing_rate_bps, t->cc.mss_bytes,
		x->rtt_us, info);
	WARN_ON(true);
}

static void open_flow(struct world *x)
{
	static const u16 mss[] = { 1460, 88, 536, 8960, 65495, 1460, 1460, 1460 };
	u16 size = mss[get_u8(&x->in) % 8];
	struct tcon_packet pkt = {
		.flags = TCON_TCP_SYN, .seq = (u32)get_u8(&x->in) << 24, .mss = size, .wscale = 7,
		.sack_permitted = true,
	};

	pkt.end_seq = pkt.seq + 1;
	tcon_handshake_guest(&x->t, &pkt, x->now_us);
	pkt.flags |= TCON_TCP_ACK;
	pkt.ack = pkt.end_seq;
	x->now_us += x->rtt_us;
	tcon_handshake_peer(&x->t, &pkt);
	x->t.peer.acked = true;
	start(x);
	acknowledge(x, pkt.ack, 0, 0, false);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static struct world x;
	u8 what;

	x = (struct world) { .in = { data, size }, .each = 1, .rtt_us = 20000 };
	randoms = 1;
	if (!n_algorithms)
		LOAD_ALL()
	x.budget.pool = &x.pool;
	tcon_pool_divide(&x.pool, U32_MAX, U32_MAX, 1);
	tcon_track_init(&x.t, &x.budget);
	x.now_us = (u64)get_u8(&x.in) << 24;	/* since boot */
	open_flow(&x);
	while (x.in.left) {
		what = get_u8(&x.in);
		if (what % 4 == 3)
			something(&x, what / 4);
		else if (what % 64 == 2)
			large_round_trip(&x);
		else
			round_trip(&x, what);
	}
	recover(&x);
	tcon_ca_stop(&x.t);
	tcon_track_release(&x.t);
	WARN_ON(atomic_long_read(&x.budget.used));
	return 0;
}
