// SPDX-License-Identifier: GPL-2.0-only
/*
 * A guest's segment leaves: the tracker, the CC, the clock and the buffer take note of it.
 */
#include <linux/skbuff.h>
#include <tcon/compat.h>

#include "act/gate.h"
#include "act/leave.h"
#include "act/mark.h"
#include "act/tell.h"
#include "base/seq.h"
#include "sender/ca.h"
#include "sender/sent.h"
#include "state/flow.h"
#include "state/judge.h"
#include "wire/segment.h"

/* Does the CC want to know that a segment leaves? */
static void tell_cc(struct tcon_flow *flow, enum tcon_sent what, bool idle,
		    u64 now_us)
{
	if (what == TCON_SENT_TIMEOUT) {
		trace_tcon_loss(flow, flow->track.lost.bytes);
		tcon_gate_flush(flow);
	}
	/* Under repair TCon's own timer tells it, except for the first one. */
	if (what == TCON_SENT_TIMEOUT &&
	    (!tcon_flow_repaired(flow) || !flow->track.timer.tries)) {
		tcon_mark_timeout(flow);
		tcon_ca_timeout(&flow->track, now_us);
	} else if (idle && what == TCON_SENT_NEW) {
		tcon_ca_tx_start(&flow->track, now_us);
	} else {
		return;
	}
	tcon_judge_cc(flow, now_us);
}

/*
 * A segment leaves for the first time.  Its record gets a copy: @copy if the segment has waited,
 * else one that is made now.  Returns @copy if it is not needed.
 */
static struct sk_buff *keep_for_repair(struct tcon_flow *flow, struct sk_buff *skb,
				       struct sk_buff *copy)
{
	const struct tcon_segment *seg = tcon_segment(skb);
	struct tcon_send *sent = flow->track.recorded;

	if (unlikely(seg->fragment)) {
		tcon_judge_missing(flow, seg->end_seq, TCON_REASON_FRAGMENTS);
		return copy;
	}
	if (!tcon_judge_may_repair()) {
		tcon_judge_missing(flow, seg->end_seq, TCON_REASON_IN_FLIGHT);
		return copy;
	}
	if (sent && !copy)
		copy = tcon_buffer_copy(&flow->buffer, flow->port, &flow->track.sendq, skb);
	else if (unlikely(tcon_buffer_exceeds(&flow->buffer, flow->port, TCON_BUFFER_HARD)))
		sent = NULL;	/* it leaves to make room */
	if (!sent || !copy) {
		tcon_judge_missing(flow, seg->end_seq, TCON_REASON_COPY_MEMORY);
		return copy;
	}
	sent->copy = copy;
	if (unlikely(seg->probe))
		tcon_judge_missing(flow, seg->end_seq, TCON_REASON_MTU_PROBE);
	return NULL;
}

/**
 * tcon_leave_choose_cpu() - by which CPU's queue a flow's packets leave
 * @flow: its lock is held
 *
 * A flow's packets leave from the CPU of the guest, of an ACK, or of a pacer.  If each took that
 * CPU's queue of the uplink, they would overtake each other there.  So all take one CPU's queue,
 * and change it only when nothing is in flight.
 */
void tcon_leave_choose_cpu(struct tcon_flow *flow)
{
	const struct tcon_cc *cc = &flow->track.cc;

	if (!flow->hold.cpu || (cc->una == cc->nxt && !tcon_buffer_waits(&flow->buffer)))
		flow->hold.cpu = raw_smp_processor_id() + 1;
}

/* The tracker and the CC take note of a segment that leaves.  Returns @copy if it is not needed. */
static struct sk_buff *note_left(struct tcon_flow *flow, struct sk_buff *skb,
				 struct sk_buff *copy, u64 now_ns)
{
	const struct tcon_segment *cb = tcon_segment(skb);
	struct tcon_track *t = &flow->track;
	u64 now_us = tcon_us(now_ns);
	bool idle = t->cc.una == t->cc.nxt, fresh, gap;
	u32 nxt = t->cc.nxt;
	enum tcon_sent what;

	what = tcon_sent_segment(t, cb->seq, cb->end_seq, cb->payload_bytes,
				 now_us);
	gap = t->cc.nxt != nxt && seq_after(cb->seq, nxt);
	fresh = t->cc.nxt != nxt || t->recorded;	/* or it fills a gap */
	tcon_count(tcon_flow_stats(flow), TCON_COUNTER_DATA_OUT);
	if (likely(cb->has_ack && cb->serial == flow->said.serial))
		tcon_tell_noted(flow, now_us);
	if (fresh && cb->has_ts)
		flow->buffer.left_tsval = cb->tsval;
	if (fresh && !t->recorded)
		tcon_count(tcon_flow_stats(flow), TCON_COUNTER_SENDQ_COARSE);
	if (!tcon_flow_runs_cc(flow))
		return copy;
	tcon_set_sender_cpu(skb, flow->hold.cpu);	/* its repairs use it, too */
	if (fresh && t->recorded)
		t->recorded->waited_us = (u32)now_us - cb->entered_us;
	if (likely(tcon_flow_enforced(flow))) {
		if (fresh)
			copy = keep_for_repair(flow, skb, copy);
		if (unlikely(gap))
			tcon_judge_missing(flow, cb->seq, TCON_REASON_GAP);
	}
	tell_cc(flow, what, idle, now_us);
	tcon_gate_advance(flow, skb, now_ns);
	return copy;
}

/**
 * tcon_leave() - a guest's segment leaves
 * @flow: its lock is held
 * @skb: the segment, with its &struct tcon_segment
 * @copy: the buffer's copy, charged; NULL: it has not waited
 * @now_ns: the time
 *
 * Context: bottom halves disabled.
 */
void tcon_leave(struct tcon_flow *flow, struct sk_buff *skb, struct sk_buff *copy, u64 now_ns)
{
	const struct tcon_segment *seg = tcon_segment(skb);

	if (likely(seg->seq != seg->end_seq))	/* RST */
		copy = note_left(flow, skb, copy, now_ns);
	if (!copy)
		return;
	tcon_buffer_give_up(&flow->buffer, flow->port, &flow->track.sendq, copy);
	tcon_buffer_put(&flow->buffer, flow->port, copy);
}
