// SPDX-License-Identifier: GPL-2.0-only
/*
 * Holding and releasing a guest's packets.
 *
 * A packet passes at once if nothing waits before it, cwnd has room and the pacing
 * clock agrees (gate.c).  Otherwise it waits, in order.  So does a repeat: one that overtakes
 * would carry a newer TSval, and PAWS (RFC 7323, 5) would then discard the packets that it
 * overtook.  A repeat of something that still waits is not needed.  It is absorbed.
 *
 * Memory for packets that wait or are in flight is bounded per flow, port and host
 * (state/buffer.c).  A guest is given no larger window than there is room for.  If it sends more,
 * that is dropped at the bounds (excess.c).
 */
#include <linux/skbuff.h>
#include <tcon/compat.h>

#include "act/absorb.h"
#include "act/ack.h"
#include "act/excess.h"
#include "act/gate.h"
#include "act/header.h"
#include "act/hold.h"
#include "act/leave.h"
#include "act/out.h"
#include "act/repair.h"
#include "act/tell.h"
#include "base/contract.h"
#include "base/seq.h"
#include "sender/timer.h"
#include "state/astray.h"
#include "state/flow.h"
#include "state/judge.h"
#include "state/pacer.h"
#include "wire/segment.h"

#define RUN_MAX_PACKETS		64
/* A device that cannot segment has the kernel do so, in the same softirq, in about 1 us each. */
#define RUN_MAX_SEGS		512
/* Packets of a guest that follow each other this closely are a train: they are sent in one go. */
#define TRAIN_US		32
/* A guest that has sent this many in one go will probably do so again. */
#define TRAIN_PACKETS		3
/* To wait after a packet could not be made for lack of memory. */
#define RETRY_NS		NSEC_PER_MSEC
/* Timers of the tracker are no finer than Linux's at 250 Hz.  So the timers of many flows go off
 * together.  Otherwise each would come between two batches of packets.
 */
#define TIMER_TICK_US		4096
/* For a rule whose time-outs are about as short as that. */
#define TIMER_FINE_TICK_US	128

static u64 timer_tick_ns(const struct tcon_flow *flow, u64 timer_us)
{
	bool coarse = flow->track.timer.rto_min_us >= 2 * TIMER_TICK_US;

	return (coarse ? round_up(timer_us, TIMER_TICK_US) :
			 round_up(timer_us, TIMER_FINE_TICK_US)) * NSEC_PER_USEC;
}

/* When to look at a flow for the tracker's timers, nanoseconds; 0: no need. */
static u64 timer_ns(const struct tcon_flow *flow)
{
	if (!tcon_flow_repaired(flow))
		return 0;
	return timer_tick_ns(flow, tcon_timer_next_us(&flow->track));
}

/*
 * The same if the last look found nothing in flight.  A flow that has sent since then will send
 * again.  With this appointment it need not make one then.
 */
static u64 idle_ns(const struct tcon_flow *flow, u64 now_ns)
{
	u64 soonest_ns = timer_tick_ns(flow, tcon_timer_soonest_us(&flow->track));

	return tcon_flow_repaired(flow) && soonest_ns > now_ns ? soonest_ns : 0;
}

/**
 * tcon_hold_appoint() - look at a flow again
 * @flow: its lock is held, not dead
 * @when: nanoseconds, monotonic; 0: only when a timer of the tracker is due
 *
 * Context: bottom halves disabled.
 */
void tcon_hold_appoint(struct tcon_flow *flow, u64 when)
{
	u64 timer = timer_ns(flow);

	lockdep_assert_held(&flow->lock);
	lockdep_assert_in_softirq();
	if (when == TCON_NOT_BEFORE_AN_ACK)
		when = 0;
	if (timer && (!when || timer < when))
		when = timer;
	if (tcon_buffer_waits(&flow->buffer))
		when = min_not_zero(when, tcon_tell_when(flow));
	if (when)
		tcon_pacer_at(&flow->due, when);
}

/*
 * Is a guest's new segment larger than its full ones?  Then it tries how much the path takes
 * (RFC 4821).  Super-packets show the size of full segments, and so do repeats that were cut
 * smaller.  Other segments may be as short as the application's writes.
 */
static bool is_probe(struct tcon_flow *flow, const struct sk_buff *skb,
		     const struct tcon_packet *pkt)
{
	u32 before = flow->said.last_bytes, bytes = tcon_segment_tcp_bytes(skb, pkt);

	flow->said.last_bytes = bytes;
	if (skb_is_gso(skb)) {
		flow->said.wire_bytes = bytes;
		return false;
	}
	if (!flow->said.wire_bytes || bytes <= flow->said.wire_bytes ||
	    seq_before(pkt->seq, flow->track.nxt_guest))
		return false;
	if (bytes == before)	/* the path takes it */
		flow->said.wire_bytes = bytes;
	return bytes != before;
}

static void describe(const struct tcon_flow *flow, struct sk_buff *skb,
		     const struct tcon_packet *pkt, u64 now_us)
{
	struct tcon_segment *seg = tcon_segment(skb);

	seg->seq = pkt->seq;
	seg->start = pkt->seq;
	seg->end_seq = pkt->end_seq;
	seg->payload_bytes = pkt->payload_bytes;
	seg->l3_offset = pkt->l3_offset;
	seg->l4_offset = pkt->l4_offset;
	seg->payload_offset = pkt->payload_offset;
	seg->fragment = pkt->fragment;
	seg->probe = false;
	seg->fixed = pkt->fragment || pkt->signed_options || pkt->mptcp ||
		     pkt->flags & TCON_TCP_RST;
	seg->entered_us = now_us;
	seg->has_ts = pkt->has_ts;
	seg->has_ack = pkt->flags & TCON_TCP_ACK;
	if (seg->has_ts)
		seg->tsval = pkt->tsval;
}

/*
 * A segment begins at @seq, beyond what the guest has sent.  If there are several gaps, the data
 * between them counts as a gap, too: it is better to send something twice than to drop data that
 * comes late.
 */
static void note_gap(struct tcon_flow *flow, u32 seq)
{
	const struct tcon_track *t = &flow->track;
	u32 end = flow->gap.end;

	if (flow->gap.start == end || end == t->cc.nxt ||
	    !seq_between(end, t->cc.nxt, t->nxt_guest))
		flow->gap.start = t->nxt_guest;
	flow->gap.end = seq;
}

/* The guest has sent it. */
static void note_sent(struct tcon_flow *flow, const struct tcon_packet *pkt)
{
	struct tcon_track *t = &flow->track;

	if (seq_after(pkt->end_seq, t->cc.una + TCON_CWND_MAX_BYTES))
		return;
	if (seq_after(pkt->seq, t->nxt_guest))
		note_gap(flow, pkt->seq);
	t->nxt_guest = seq_max(t->nxt_guest, pkt->end_seq);
	if (pkt->payload_bytes % t->cc.mss_bytes) {
		flow->said.part_end = pkt->end_seq;
		flow->said.sends_parts |= pkt->end_seq == flow->window.edge;
	}
}

/* Does a segment of new data, or FIN, take no room in flight when it leaves? */
static bool is_apart(const struct tcon_flow *flow, const struct tcon_packet *pkt)
{
	return flow->reason == TCON_REASON_HANDSHAKE ||
	       seq_after(pkt->end_seq, flow->track.cc.una + TCON_CWND_MAX_BYTES);
}

/* It passes. */
static void pass(struct tcon_flow *flow, struct sk_buff *skb, u64 now_ns)
{
	const struct tcon_track *t = &flow->track;
	bool idle = t->cc.una == t->cc.nxt;

	tcon_leave(flow, skb, NULL, now_ns);
	flow->hold.passed_us = (u32)tcon_us(now_ns);
	/* The appointment may be far away: it was made for a longer wait. */
	if (tcon_flow_repaired(flow) && (idle || !tcon_pacer_expects(&flow->due)))
		tcon_pacer_at(&flow->due, timer_tick_ns(flow, tcon_timer_soonest_us(t)));
}

/* Is a segment behind others, held or just being injected? */
static bool waits_behind(const struct tcon_flow *flow)
{
	return tcon_flow_waits(flow) || flow->hold.run;
}

/* Does a waiting packet say something that the peer must hear now? */
static bool must_tell(const struct tcon_flow *flow, u64 now_us)
{
	return tcon_flow_enforced(flow) && tcon_buffer_waits(&flow->buffer) &&
	       tcon_tell_overdue(flow, now_us);
}

/* It is held behind others, as a part of the last one if that can be. */
static void keep(struct tcon_flow *flow, struct sk_buff *skb)
{
	const struct tcon_segment *seg = tcon_segment(skb);

	tcon_count(tcon_flow_stats(flow), TCON_COUNTER_HELD);
	trace_tcon_hold(flow, skb, seg->seq, seg->end_seq, 0);
	if (!tcon_buffer_merge(&flow->buffer, flow->port, skb, tcon_out_super_bytes(flow))) {
		tcon_buffer_add(&flow->buffer, flow->port, &flow->track.sendq, skb);
		return;
	}
	tcon_count(tcon_flow_stats(flow), TCON_COUNTER_MERGED);
	if (flow->hold.merged < U8_MAX)
		flow->hold.merged++;
}

/* It waits.  Returns true if it goes on. */
static bool hold(struct tcon_flow *flow, struct sk_buff *skb, enum tcon_fate fate, u64 when,
		 u64 now_ns)
{
	const struct tcon_track *t = &flow->track;
	bool split = tcon_out_end(flow, skb) != tcon_segment(skb)->end_seq;
	bool first = !tcon_buffer_waits(&flow->buffer), behind = waits_behind(flow);

	/* Neither the guest's socket nor its pages wait with the packet. */
	if (skb_orphan_frags_rx(skb, GFP_ATOMIC)) {
		tcon_count(tcon_flow_stats(flow), TCON_COUNTER_NO_MEMORY);
		pass(flow, skb, now_ns);
		return true;
	}
	skb_orphan(skb);
	if (fate == TCON_FATE_GATHER)
		flow->hold.merged = 0;
	keep(flow, skb);
	if (split && when && tcon_track_fits(t, t->cc.mss_bytes))
		when = tcon_gate_pacing(flow, now_ns, TCON_QUANTUM_NS);	/* a piece's */
	if (fate == TCON_FATE_GATHER || must_tell(flow, tcon_us(now_ns)))
		tcon_pacer_soon(&flow->due);
	else if (!behind)
		tcon_hold_appoint(flow, when ? : now_ns);
	else if (first)		/* behind repairs, and these may not leave for long */
		tcon_hold_appoint(flow, max(tcon_gate_patience_ns(flow), now_ns));
	else if (unlikely(tcon_tell_due(flow)))
		tcon_hold_appoint(flow, 0);
	return false;
}

/*
 * May it be the first of several segments that fit into one packet?  PSH tells that a guest has no
 * more to send.
 */
static bool begins_train(const struct tcon_flow *flow, const struct sk_buff *skb,
			 const struct tcon_packet *pkt, u64 now_us)
{
	if (skb_is_gso(skb) || skb->ip_summed != CHECKSUM_PARTIAL || pkt->flags & TCON_TCP_PSH ||
	    pkt->payload_bytes <= flow->track.cc.mss_bytes / 2 || pkt->tos & TCON_ECN_MASK ||
	    !tcon_flow_enforced(flow) || tcon_out_super_bytes(flow) < 2 * pkt->payload_bytes)
		return false;
	return flow->hold.merged >= TRAIN_PACKETS - 1 ||
	       (u32)now_us - flow->hold.passed_us <= TRAIN_US;
}

/* Takes the segment in: what it says, and that the guest has sent it. */
static void take_in(struct tcon_flow *flow, struct sk_buff *skb, const struct tcon_packet *pkt)
{
	struct tcon_segment *seg = tcon_segment(skb);

	tcon_header_passed(flow, skb, pkt);
	seg->serial = flow->said.serial;
	seg->probe = is_probe(flow, skb, pkt);
	note_sent(flow, pkt);
	flow->clock.burst_bytes = max(pkt->payload_bytes,
				      flow->clock.burst_bytes - flow->clock.burst_bytes / 8);
	tcon_leave_choose_cpu(flow);
}

/* Does a segment wait, behind others or, as @gated, for its turn? */
static bool must_wait(const struct tcon_flow *flow, const struct tcon_packet *pkt, bool gated)
{
	return waits_behind(flow) || (gated && !tcon_excess_must_leave(flow, pkt));
}

/* As tcon_hold_judge(), if TCon does not have its data.  @urgent: it overtakes what waits. */
static enum tcon_fate judge_needed(struct tcon_flow *flow, struct sk_buff *skb,
				   const struct tcon_packet *pkt, u64 now_ns, bool repeats,
				   bool urgent, u64 *when)
{
	struct tcon_segment *seg = tcon_segment(skb);
	u64 now_us = tcon_us(now_ns);
	bool waits;
	u32 end;

	describe(flow, skb, pkt, now_us);
	seg->apart = is_apart(flow, pkt);
	end = tcon_out_end(flow, skb);
	*when = tcon_gate_segment(flow, seg, end, now_ns, TCON_QUANTUM_NS);
	waits = !urgent && must_wait(flow, pkt, *when || end != pkt->end_seq);
	/* New data that leaves at once takes room in flight. */
	if ((waits || unlikely(repeats || seg->apart)) &&
	    tcon_excess_refused(flow, pkt, seg, waits, now_us))
		return TCON_FATE_DROP;
	if (waits)
		return TCON_FATE_WAIT;
	return !urgent && begins_train(flow, skb, pkt, now_us) ? TCON_FATE_GATHER : TCON_FATE_LEAVE;
}

/**
 * tcon_hold_judge() - decide the fate of a guest's segment with data, FIN or RST
 * @flow: its lock is held
 * @skb: the segment; it is only described, in its cb
 * @pkt: the same, parsed
 * @now_ns: the time
 * @when: if it waits, the time of its own turn, nanoseconds; 0: it only has to be split, or what
 *	it waits behind says when
 *
 * Context: bottom halves disabled, RCU read lock held; in the ingress hook.
 * Return: for tcon_hold_carry_out().
 */
enum tcon_fate tcon_hold_judge(struct tcon_flow *flow, struct sk_buff *skb,
			       const struct tcon_packet *pkt, u64 now_ns, u64 *when)
{
	bool repeats = pkt->end_seq != pkt->seq && seq_before(pkt->seq, flow->track.cc.nxt);
	bool old = repeats && !seq_after(pkt->end_seq, flow->track.cc.nxt);
	bool urgent = old && tcon_flow_repaired(flow) && !flow->hold.run;
	u64 now_us = tcon_us(now_ns);

	lockdep_assert_held(&flow->lock);
	lockdep_assert_in_softirq();
	tcon_assert_rcu();
	if (unlikely(old))
		tcon_absorb_forget(flow, pkt, now_us);
	if ((waits_behind(flow) || unlikely(repeats)) &&
	    tcon_absorb_due(flow, skb, pkt, repeats && tcon_flow_repaired(flow),
			    waits_behind(flow), now_us))
		return TCON_FATE_ABSORB;
	return judge_needed(flow, skb, pkt, now_ns, repeats, urgent, when);
}

/**
 * tcon_hold_carry_out() - carry out the decision on a guest's packet
 * @flow: its lock is held
 * @skb: the packet
 * @pkt: the same, parsed
 * @fate: what was decided
 * @when: when its turn is, if it waits
 * @now_ns: the time
 *
 * Context: bottom halves disabled, RCU read lock held; in the ingress hook.
 * Return: true if it, or its ACK, goes on; false if it was taken.
 */
bool tcon_hold_carry_out(struct tcon_flow *flow, struct sk_buff *skb,
			 const struct tcon_packet *pkt, enum tcon_fate fate, u64 when, u64 now_ns)
{
	lockdep_assert_held(&flow->lock);
	switch (fate) {
	case TCON_FATE_PASS:
		return true;
	case TCON_FATE_DROP:
		kfree_skb_reason(skb, TCON_DROP_RULE);
		return false;
	case TCON_FATE_ABSORB:
		return tcon_absorb_data(flow, skb, pkt, tcon_us(now_ns));
	case TCON_FATE_WAIT:
	case TCON_FATE_GATHER:
		take_in(flow, skb, pkt);
		return hold(flow, skb, fate, when, now_ns);
	case TCON_FATE_LEAVE:
		break;
	}
	take_in(flow, skb, pkt);
	pass(flow, skb, now_ns);
	return true;
}

/* Moves repairs that may leave now to @out; as collect(). */
static u64 collect_repairs(struct tcon_flow *flow, struct sk_buff_head *out,
			   u64 now_ns)
{
	u64 now_us = tcon_us(now_ns), when;
	struct sk_buff *skb;

	switch (tcon_repair_expire(flow, now_us)) {
	case TCON_EXPIRY_PROBE:
		skb = tcon_repair_probe(flow, now_us);
		if (!skb)
			break;
		tcon_gate_advance(flow, skb, now_ns);
		__skb_queue_tail(out, skb);
		break;
	case TCON_EXPIRY_TIMEOUT:
	case TCON_EXPIRY_GIVE_UP:
		tcon_gate_restart(flow, now_ns);
		tcon_gate_flush(flow);
		break;
	default:
		break;
	}
	while (tcon_flow_repaired(flow) && flow->track.lost.n) {
		if (out->qlen >= RUN_MAX_PACKETS)
			return now_ns;
		when = tcon_gate_repair(flow, now_ns);
		if (when)
			return when;
		skb = tcon_repair_next(flow, now_us);
		if (!skb)
			return now_ns + RETRY_NS;
		tcon_gate_advance(flow, skb, now_ns);
		__skb_queue_tail(out, skb);
	}
	return 0;
}

/*
 * A silence frees what the guest was allowed to send, if that is known, but not the data that it
 * only gathers; and one packet more, for which an ACK may come.  If it freed all, a guest whose
 * peer is silent now and then would get everything through.
 */
static inline void end_overdue(struct tcon_flow *flow, u32 end)
{
	if (likely(flow->hold.flush != TCON_FLUSH_OVERDUE))
		return;
	end += flow->clock.gathers_segs * flow->track.cc.mss_bytes;
	if (!flow->window.valid || !tcon_gate_allows(flow, end))
		flow->hold.flush = TCON_FLUSH_NONE;
}

/* A part of a damaged segment would get a right checksum. */
static bool may_be_cut(const struct tcon_flow *flow, const struct sk_buff *skb)
{
	return !tcon_segment(skb)->fixed &&
	       (skb_is_gso(skb) || tcon_segment_sum_is_left(skb) ||
		tcon_segment_intact(skb, flow->key.family));
}

/*
 * A guest can send waiting data again, as if into a gap, or with a new byte behind it.  When the
 * turn of such a segment comes, all of it has left, or all but that byte.  The guest could double
 * its repeats like this.  Returns whether something was left out.
 */
static bool leave_out(struct tcon_flow *flow, struct sk_buff *skb, u32 end, u64 now_us)
{
	struct tcon_segment *seg = tcon_segment(skb);
	u32 nxt = flow->track.cc.nxt;

	if (likely(!seq_before(seg->start, nxt)) || seg->apart ||
	    !tcon_excess_vain(flow, seg, end, now_us))
		return false;
	if (may_be_cut(flow, skb) && seq_after(seg->end_seq, nxt))
		tcon_buffer_skip(&flow->buffer, nxt);
	else
		kfree_skb_reason(tcon_buffer_take(&flow->buffer, flow->port, &flow->track.sendq),
				 TCON_DROP_RULE);
	return true;
}

/* A packet that waited leaves. */
static void released(struct tcon_flow *flow, struct sk_buff *skb, struct sk_buff *copy, u64 now_ns)
{
	const struct tcon_segment *seg = tcon_segment(skb);

	tcon_leave(flow, skb, copy, now_ns);
	tcon_count(tcon_flow_stats(flow),
		   tcon_flow_runs_cc(flow) ? TCON_COUNTER_RELEASED : TCON_COUNTER_HOLD_FLUSHED);
	trace_tcon_release(flow, skb, seg->seq, seg->end_seq,
			   (u32)tcon_us(now_ns) - seg->entered_us);
}

/* A guest that has sent all that it may sends no more when TCon finds ACKs overdue. */
static inline void look_for_acks(struct tcon_flow *flow, u64 now_us)
{
	if (tcon_flow_enforced(flow) && flow->window.valid &&
	    unlikely(tcon_astray_is_beyond(flow, flow->track.nxt_guest)))
		tcon_astray_beyond(flow, now_us);
}

/* Moves packets that may leave now to @out; returns when to look again, 0: never. */
static u64 collect(struct tcon_flow *flow, struct sk_buff_head *out, u64 now_ns)
{
	struct tcon_cc *cc = &flow->track.cc;
	struct sk_buff *skb, *copy;
	u64 when, repairs = 0, ahead_ns = TCON_QUANTUM_NS;
	u32 segs = 0, end;

	look_for_acks(flow, tcon_us(now_ns));
	if (tcon_flow_repaired(flow)) {
		repairs = collect_repairs(flow, out, now_ns);
		tcon_gate_stall(flow, tcon_us(now_ns));
		if (repairs && !flow->hold.flush)
			return tcon_buffer_waits(&flow->buffer) ?
			       min(repairs, tcon_gate_patience_ns(flow)) : repairs;
	}
	while ((skb = skb_peek(&flow->buffer.unsent))) {
		if (out->qlen >= RUN_MAX_PACKETS || segs >= RUN_MAX_SEGS)
			return now_ns;
		end = tcon_out_end(flow, skb);
		when = tcon_gate_segment(flow, tcon_segment(skb), end, now_ns, ahead_ns);
		if (when)
			return min_not_zero(when, repairs);
		if (ahead_ns == TCON_QUANTUM_NS && cc->pacing_rate_bps)
			ahead_ns += tcon_pace_ns(cc, tcon_pace_burst_bytes(cc));
		if (unlikely(leave_out(flow, skb, end, tcon_us(now_ns)))) {
			segs++;		/* it takes time, too */
			continue;
		}
		skb = tcon_out_make(flow, end, &copy, tcon_us(now_ns));
		if (!skb)
			return now_ns + RETRY_NS;
		end_overdue(flow, end);
		segs += tcon_out_segs(skb);
		released(flow, skb, copy, now_ns);
		__skb_queue_tail(out, skb);
	}
	flow->hold.flush = TCON_FLUSH_NONE;
	if (unlikely(flow->closed_us))
		tcon_judge(flow, tcon_us(now_ns));
	return repairs;
}

/* Makes an ACK if a waiting packet says what the peer must hear now. */
static void tell_waiting(struct tcon_flow *flow, struct sk_buff_head *out, u64 now_us)
{
	struct sk_buff *skb;

	if (likely(!must_tell(flow, now_us)))
		return;
	skb = tcon_tell_of_held(flow, now_us);
	if (skb)
		__skb_queue_tail(out, skb);
}

/* Nothing to do but to wait for a timer, which ACKs have put off? */
static bool waits_on(struct tcon_flow *flow, u64 now_ns)
{
	u64 timer;

	if (flow->hold.flush || tcon_flow_waits(flow))
		return false;
	timer = timer_ns(flow);
	if (timer && timer <= now_ns)
		return false;
	if (!timer)
		timer = idle_ns(flow, now_ns);
	if (timer)
		tcon_pacer_at(&flow->due, timer);
	return true;
}

static void inject(struct tcon_flow *flow, struct sk_buff_head *out)
{
	struct tcon_port *port = flow->port;
	struct sk_buff *skb;

	while ((skb = __skb_dequeue(out))) {
		if (READ_ONCE(port->dead))
			kfree_skb_reason(skb, SKB_DROP_REASON_DEV_READY);
		else
			port->attach->inject(port, skb);
	}
}

/**
 * tcon_hold_release() - inject what may leave now
 * @due: a flow's appointment, out of the pacer's queue; the flow's lock is not held
 * @now_ns: the time, as the pacer last knew it
 *
 * While packets are injected the lock is free.  New packets then wait, so that none overtakes.
 *
 * Context: softirq, RCU read lock held, outside every hook.
 * Return: the time, read again unless there was nothing to do.
 */
u64 tcon_hold_release(struct tcon_due *due, u64 now_ns)
{
	struct tcon_flow *flow = container_of(due, struct tcon_flow, due);
	struct sk_buff *update = NULL;
	struct sk_buff_head out;
	u64 when;

	lockdep_assert_not_held(&flow->lock);
	lockdep_assert_in_softirq();
	tcon_assert_rcu();
	__skb_queue_head_init(&out);
	spin_lock(&flow->lock);
	if (flow->dead || flow->hold.run) {
		tcon_flow_kick(flow);	/* a packet that came since may be urgent */
		goto unlock;
	}
	now_ns = max(now_ns, flow->seen_us * NSEC_PER_USEC);	/* on another CPU */
	tcon_judge_refresh(flow, tcon_us(now_ns));
	if (waits_on(flow, now_ns)) {
		update = tcon_ack_update(flow, tcon_us(now_ns));
		goto unlock;
	}
	now_ns = tcon_now_ns();
	when = collect(flow, &out, now_ns);
	tell_waiting(flow, &out, tcon_us(now_ns));
	update = tcon_ack_update(flow, tcon_us(now_ns));
	if (skb_queue_empty(&out)) {
		tcon_hold_appoint(flow, when);
		goto unlock;
	}
	flow->hold.run = TCON_RUN_INJECTS;
	spin_unlock(&flow->lock);

	inject(flow, &out);
	now_ns = tcon_now_ns();

	spin_lock(&flow->lock);
	if (flow->hold.run == TCON_RUN_KICKED || (!when && tcon_buffer_waits(&flow->buffer)))
		when = now_ns;
	flow->hold.run = TCON_RUN_NONE;
	if (!flow->dead)
		tcon_hold_appoint(flow, when);
unlock:
	spin_unlock(&flow->lock);
	if (update)
		tcon_ack_send(flow, update);
	return now_ns;
}
