/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A CC at the guest itself: algorithms/NAME.c on the floor sender/, as a socket would drive it.
 *
 * There is no TCon in that world.  What act/ does, nobody does here: no packet waits for a window
 * that was written, no ACK is edited or hidden, no repeat is absorbed.  The sender has its data at
 * hand, paces and repeats it by itself, and writes each header when the segment leaves.
 */
#ifndef _TESTS_NATIVE_H
#define _TESTS_NATIVE_H

#include "sender/ca.h"
#include "sender/handshake.h"
#include "sender/pace.h"
#include "sender/sent.h"
#include "sender/timer.h"

#include "world.h"

static u64 now_us(void)
{
	return shim_now_ns / NSEC_PER_USEC;
}

static void native_open(struct end *e, const struct tcon_packet *syn,
			const struct tcon_packet *answer, const struct tcon_rule *rule)
{
	struct tcon_track *t = &e->native.track;
	struct tcon_ack out;

	tcon_pool_divide(&e->native.pool, U32_MAX, U32_MAX, 1);
	e->native.budget.pool = &e->native.pool;
	tcon_track_init(t, &e->native.budget);
	tcon_handshake_guest(t, syn, e->native.syn_us);
	tcon_handshake_peer(t, answer);
	t->peer.acked = true;
	tcon_acked(t, answer, now_us(), &out);
	WARN_ON(tcon_ca_start(t, rule->ops, rule->params, now_us()));
}

static void native_close(struct end *e)
{
	tcon_ca_stop(&e->native.track);
	tcon_track_release(&e->native.track);
	WARN_ON(atomic_long_read(&e->native.budget.used));
}

/* One segment of new data, if it may leave. */
static bool native_fresh(struct end *e)
{
	struct tcon_track *t = &e->native.track;
	u32 start = t->cc.nxt, end = start + SEG_MSS;
	bool idle = t->cc.una == start;

	if (seq_after(end, seq_min(e->edge, e->app_end)))
		return false;
	if (t->cc.inflight_bytes && !tcon_track_fits(t, SEG_MSS))
		return false;
	tcon_sent_segment(t, start, end, SEG_MSS, now_us());
	if (idle)
		tcon_ca_tx_start(t, now_us());
	end_emits(e, start, SEG_MSS);
	return true;
}

static bool native_repeat(struct end *e)
{
	struct tcon_track *t = &e->native.track;
	u32 start, end;

	if (!t->lost.n || !tcon_track_repair_fits(t))
		return false;
	start = t->lost.range[0].start;
	end = seq_min(t->lost.range[0].end, start + SEG_MSS);
	WARN_ON(!tcon_sent_repair(t, start, end, end - start, now_us()));
	end_emits(e, start, end - start);
	return true;
}

/* All that the pacer lets leave now: a quantum when its clock has come. */
static void native_output(struct end *e)
{
	struct tcon_track *t = &e->native.track;
	struct tcon_cc *cc = &t->cc;
	u32 bytes = 0;

	e->native.clock_ns = max(e->native.clock_ns, shim_now_ns);
	while (!cc->pacing_rate_bps || tcon_pace_unpaced_bytes(t) ||
	       (e->native.clock_ns == shim_now_ns && bytes < tcon_cc_quantum_bytes(cc))) {
		if (!native_repeat(e) && (t->lost.n || !native_fresh(e)))
			break;
		bytes += SEG_MSS;
	}
	if (cc->pacing_rate_bps)
		e->native.clock_ns += tcon_pace_ns(cc, bytes);
	if (cc->nxt == e->app_end && !t->lost.n &&
	    cc->inflight_bytes + SEG_MSS < tcon_track_cwnd_bytes(t))
		tcon_track_app_limited(t);
}

static void native_ack(struct end *e, const struct tcon_packet *p)
{
	struct tcon_track *t = &e->native.track;
	struct tcon_ack out;

	tcon_acked(t, p, now_us(), &out);
	WARN_ON(!out.valid);
	tcon_ca_ack(t, &out);
	native_output(e);
}

static u64 native_next_ns(const struct end *e)
{
	const struct tcon_track *t = &e->native.track;
	u64 ns = tcon_timer_next_us(t) * NSEC_PER_USEC ? : NEVER;

	/* If the clock is what something waits for; otherwise an ACK is. */
	if (e->native.clock_ns > shim_now_ns && (t->lost.n || t->cc.nxt != e->app_end))
		ns = min(ns, e->native.clock_ns);
	return ns;
}

static void native_probe(struct end *e)
{
	struct tcon_track *t = &e->native.track;
	u32 start = t->cc.nxt - min(t->cc.nxt - t->cc.una, SEG_MSS);

	WARN_ON(!tcon_sent_repair(t, start, t->cc.nxt, t->cc.nxt - start, now_us()));
	tcon_timer_probed(t, t->cc.nxt - start, now_us());
	end_emits(e, start, t->cc.nxt - start);
}

static void native_timer(struct end *e)
{
	struct tcon_track *t = &e->native.track;
	u64 lost_before = t->cc.lost_bytes;

	switch (tcon_timer_expire(t, now_us())) {
	case TCON_EXPIRY_NONE:
		break;
	case TCON_EXPIRY_PROBE:
		native_probe(e);
		break;
	case TCON_EXPIRY_REORDER:
		tcon_ca_lost(t, t->cc.lost_bytes - lost_before, now_us());
		break;
	case TCON_EXPIRY_TIMEOUT:
	case TCON_EXPIRY_GIVE_UP:
		e->native.clock_ns = shim_now_ns;
		tcon_ca_timeout(t, now_us());
		break;
	}
	native_output(e);
}

#endif /* _TESTS_NATIVE_H */
