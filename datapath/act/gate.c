// SPDX-License-Identifier: GPL-2.0-only
/*
 * When may a segment leave?  If cwnd has room, and at the time of the pacing clock.
 *
 * If no ACK comes for an RTO, what waits leaves, as far as the guest was allowed to send it: the
 * peer may be waiting for it, or its ACKs take another way.  The CC is told of a time-out.  Later
 * packets wait again.
 */
#include <linux/skbuff.h>
#include <tcon/compat.h>

#include "act/gate.h"
#include "act/mark.h"
#include "act/out.h"
#include "base/seq.h"
#include "sender/ca.h"
#include "sender/loss.h"
#include "sender/timer.h"
#include "state/flow.h"
#include "state/judge.h"
#include "wire/segment.h"

/* If the clock itself is late (TICK_NS, a softirq's delay), the flow may make up for up to
 * this much.  Not if it waited for the guest or an ACK: a path of a few packets would then
 * hold one more of them.
 */
#define LATE_NS			(250 * NSEC_PER_USEC)
/* The rate may soon change, so no packet waits for longer than this because of today's rate. */
#define AHEAD_MAX_NS		NSEC_PER_SEC

/**
 * tcon_gate_flush() - let waiting packets leave: an RTO passed in silence, or there is no room
 * @flow: its lock is held
 */
void tcon_gate_flush(struct tcon_flow *flow)
{
	/* A guest or its peer could free all of it by keeping silent.  After a time-out nothing
	 * is in flight any more, and the packets leave as a sender's repeats would.
	 */
	if (flow->state == TCON_STATE_PACED)
		return;
	if (!tcon_buffer_waits(&flow->buffer) || flow->hold.flush)
		return;
	flow->hold.flush = TCON_FLUSH_OVERDUE;
	tcon_count(tcon_flow_stats(flow), TCON_COUNTER_STALL_RELEASE);
}

/**
 * tcon_gate_patience_ns() - until when do packets wait for cwnd, if nothing is heard?
 * @flow: its lock is held
 *
 * Return: the time, if nothing leaves before, either.
 */
u64 tcon_gate_patience_ns(const struct tcon_flow *flow)
{
	const struct tcon_track *t = &flow->track;
	u64 since_us = tcon_flow_repaired(flow) ? t->sent_us : t->timeout_us;

	return (max(t->progress_us, since_us) + tcon_track_rto_us(t)) * NSEC_PER_USEC;
}

/**
 * tcon_gate_stall() - something waits for cwnd: has no ACK come for an RTO?
 * @flow: its lock is held
 * @now_us: the time
 *
 * Then the data in flight is lost, or the peer waits for held data.  This counts as a time-out,
 * like the guest's own, once in an RTO.  Under repair TCon's own timer detects it.  But that timer
 * backs off, or waits for a window that was opened past TCon.  If the guest still sends, it hears
 * ACKs that TCon does not.  So waiting packets leave.
 */
void tcon_gate_stall(struct tcon_flow *flow, u64 now_us)
{
	struct tcon_track *t = &flow->track;
	u64 lost_before;

	/* With nothing in flight, as after a pause, no ACK can come. */
	if (t->cc.una == t->cc.nxt || now_us * NSEC_PER_USEC < tcon_gate_patience_ns(flow))
		return;
	if (tcon_flow_repaired(flow)) {
		tcon_gate_flush(flow);
		return;
	}
	t->timeout_us = now_us;
	tcon_mark_timeout(flow);
	lost_before = t->cc.lost_bytes;
	tcon_loss_mark_all(t);
	trace_tcon_loss(flow, t->cc.lost_bytes - lost_before);
	tcon_ca_timeout(t, now_us);
	tcon_gate_flush(flow);
	tcon_judge_cc(flow, now_us);
}

/**
 * tcon_gate_pacing() - when may something leave by the clock?
 * @flow: its lock is held
 * @now_ns: the time
 * @ahead_ns: how much earlier it may leave
 *
 * Return: the time; 0: now.
 */
u64 tcon_gate_pacing(const struct tcon_flow *flow, u64 now_ns, u64 ahead_ns)
{
	if (!flow->track.cc.pacing_rate_bps ||
	    flow->clock.release_ns <= now_ns + ahead_ns)
		return 0;
	return flow->clock.release_ns - TCON_QUANTUM_NS;
}

/**
 * tcon_gate_room_bytes() - how much of a segment is not in flight, and will be?
 * @t: the tracker
 * @start: its first sequence number
 * @end: the one after it
 * @payload_bytes: its payload
 *
 * Return: bytes that are new, or lost.
 */
u32 tcon_gate_room_bytes(const struct tcon_track *t, u32 start, u32 end, u32 payload_bytes)
{
	u32 nxt = t->cc.nxt, bytes = 0;

	if (seq_after(end, nxt))
		bytes = end - nxt;
	if (unlikely(seq_before(start, nxt)) && t->lost.n)
		bytes += tcon_ranges_covered(&t->lost, start, seq_min(end, nxt));
	return min(payload_bytes, bytes);
}

/* When may a segment leave by cwnd, up to @end?  0: now.  Bytes in flight need no more room, and
 * the first hole need not wait: all data behind it waits for it.
 */
static inline u64 cwnd_gate(struct tcon_flow *flow, const struct tcon_segment *seg, u32 end,
			    u64 now_ns)
{
	const struct tcon_track *t = &flow->track;
	const struct tcon_cc *cc = &t->cc;
	u32 bytes = tcon_gate_room_bytes(t, seg->start, end, tcon_segment_left_bytes(seg, end));

	if (!cc->inflight_bytes || seg->start == cc->una || tcon_track_fits(t, bytes) ||
	    (seq_before(seg->start, cc->nxt) && !bytes))
		return 0;
	tcon_gate_stall(flow, tcon_us(now_ns));
	if (!cc->inflight_bytes || !tcon_flow_runs_cc(flow) || flow->hold.flush)
		return 0;
	return tcon_gate_patience_ns(flow);
}

/**
 * tcon_gate_segment() - when may a segment leave?
 * @flow: its lock is held
 * @seg: the segment
 * @end: up to where
 * @now_ns: the time
 * @ahead_ns: how much earlier than the clock's time it may leave
 *
 * Return: the time; 0: now.
 */
u64 tcon_gate_segment(struct tcon_flow *flow, const struct tcon_segment *seg, u32 end, u64 now_ns,
		      u64 ahead_ns)
{
	u64 when;

	if (flow->hold.flush || !tcon_flow_runs_cc(flow))
		return 0;
	/* Without ACKs TCon does not know how much is in flight. */
	when = unlikely(flow->track.unheard) ? 0 : cwnd_gate(flow, seg, end, now_ns);
	return when ? : tcon_gate_pacing(flow, now_ns, ahead_ns);
}

/**
 * tcon_gate_repair() - when may the next repair leave?
 * @flow: its lock is held, repaired
 * @now_ns: the time
 *
 * Return: the time; 0: now.
 */
u64 tcon_gate_repair(struct tcon_flow *flow, u64 now_ns)
{
	if (flow->hold.flush == TCON_FLUSH_ALL)
		return 0;
	if (!tcon_track_repair_fits(&flow->track))
		return TCON_NOT_BEFORE_AN_ACK;
	return tcon_gate_pacing(flow, now_ns, TCON_QUANTUM_NS);
}

/**
 * tcon_gate_restart() - a time-out: nothing is in flight, and the clock goes from now
 * @flow: its lock is held
 * @now_ns: the time
 *
 * A sender's timer repeats the head at once, whatever left before.  (Otherwise new data that a
 * silence frees, and that counts on the clock, could put it off for ever.)
 */
void tcon_gate_restart(struct tcon_flow *flow, u64 now_ns)
{
	lockdep_assert_held(&flow->lock);
	flow->clock.release_ns = min(flow->clock.release_ns, now_ns);
}

/* Bytes that a packet counts on the clock. */
static inline u32 clock_bytes(const struct sk_buff *skb)
{
	u32 payload_bytes = tcon_segment(skb)->payload_bytes;

	return tcon_pace_charge_bytes(payload_bytes,
				      (skb->len - payload_bytes) * tcon_out_segs(skb));
}

/**
 * tcon_gate_advance() - a packet leaves: the clock moves on by the time that it takes
 * @flow: its lock is held
 * @skb: the packet
 * @now_ns: the time
 *
 * If the clock is late, by less: at least by half.
 */
void tcon_gate_advance(struct tcon_flow *flow, const struct sk_buff *skb, u64 now_ns)
{
	u64 len_ns, late_ns = 0;

	if (!flow->track.cc.pacing_rate_bps || tcon_pace_unpaced_bytes(&flow->track))
		return;
	len_ns = tcon_pace_ns(&flow->track.cc, clock_bytes(skb));
	if (flow->clock.release_ns < now_ns) {
		if (flow->clock.release_ns)
			late_ns = now_ns - flow->clock.release_ns;
		flow->clock.release_ns = now_ns;
		len_ns -= min3(len_ns / 2, late_ns, (u64)LATE_NS);
	}
	flow->clock.release_ns = min_t(u64, flow->clock.release_ns + len_ns,
				       now_ns + AHEAD_MAX_NS);
}
