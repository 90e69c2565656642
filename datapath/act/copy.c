// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copies of what is in flight.
 *
 * A copy is a clone: it shares the guest's bytes and costs a header, except of a little data in
 * a large page.  What is counted is what it keeps from being freed.  It lives
 * from when the packet leaves until it is acknowledged cumulatively, since a
 * peer may throw away what it has SACKed (RFC 2018, 8).
 *
 * How much that is: while a hole is being repaired, una stands still and new data
 * leaves.  So una .. nxt spans a BDP for each round that the unluckiest segment
 * needs.  With N segments in flight that is BDP * (1 + ln N / ln(1/p)): 2 to 4 BDP
 * with losses of 1 to 5 %.  Memory is bounded for a flow, a port and the host.
 * A flow that comes near a bound is given a smaller window.  Then the guest keeps
 * what there is no room for.  Only if that does not help, a packet leaves without
 * a copy.  Until that packet is acknowledged, the guest repairs its own
 * losses.
 */
#include <linux/moduleparam.h>
#include <linux/skbuff.h>
#include <net/dst.h>

#include "act/copy.h"
#include "base/contract.h"
#include "base/seq.h"
#include "state/flow.h"
#include "state/judge.h"
#include "wire/segment.h"

/* Memory that a byte of payload takes at most, in a full segment that has a buffer
 * of its own and the header of its clone.
 */
#define TRUESIZE_PER_BYTE	2

/* So little data is copied, if it would keep a page. */
#define LITTLE_BYTES		512

static unsigned int copy_flow_bytes = 32 << 20;
module_param(copy_flow_bytes, uint, 0644);
MODULE_PARM_DESC(copy_flow_bytes, "most memory for copies of one half-flow");

u64 tcon_copy_flow_max(void)
{
	return copy_flow_bytes;
}

static void charge(struct tcon_flow *flow, long bytes)
{
	flow->copies.charged_bytes += bytes;
	tcon_budget_charge(&flow->port->shares[TCON_SHARE_COPIES], bytes);
}

/* What the bounds of the flow, the port and the host leave. */
static long room_of(const struct tcon_flow *flow)
{
	return min((long)copy_flow_bytes - (long)flow->copies.charged_bytes,
		   tcon_budget_room(&flow->port->shares[TCON_SHARE_COPIES]));
}

/**
 * tcon_copy_room() - how much more may leave with a copy
 * @flow: its lock is held
 *
 * Return: payload bytes.
 */
u32 tcon_copy_room(const struct tcon_flow *flow)
{
	lockdep_assert_held(&flow->lock);
	return max(room_of(flow), 0L) / TRUESIZE_PER_BYTE;
}

/**
 * tcon_copy_put() - free a copy
 * @q: the queue of the half-flow that it belongs to, whose lock is held
 * @copy: the copy
 *
 * Each ACK frees several copies, so their heads are given back in batches.
 *
 * Context: bottom halves disabled.
 */
void tcon_copy_put(struct tcon_sendq *q, struct sk_buff *copy)
{
	struct tcon_flow *flow = container_of(q, struct tcon_flow, track.sendq);

	lockdep_assert_held(&flow->lock);
	lockdep_assert_in_softirq();
	charge(flow, -(long)tcon_segment(copy)->charged_bytes);
	napi_consume_skb(copy, 1);
}

/**
 * tcon_copy_give_up() - leave what is in flight to the guest
 * @flow: its lock is held, enforced
 * @why: the reason that is shown until all of it is acknowledged
 *
 * The guest hears of its losses from the next ACK on.
 */
void tcon_copy_give_up(struct tcon_flow *flow, enum tcon_reason why)
{
	struct tcon_track *t = &flow->track;

	lockdep_assert_held(&flow->lock);
	if (flow->copies.charged_bytes)
		tcon_sendq_drop_copies(&t->sendq);
	/* Something that waits may be known to need the guest, too: see cut_smaller(). */
	if (!flow->copies.bare || seq_before(flow->copies.bare_end, t->cc.nxt))
		flow->copies.bare_end = t->cc.nxt;
	flow->copies.bare = true;
	flow->copies.bare_reason = why;
	tcon_judge_level(flow);
}

/**
 * tcon_copy_missing() - let the guest hear of the loss of some data
 * @flow: its lock is held, enforced
 * @end: sequence number after it
 * @why: %TCON_REASON_GAP: it was lost before TCon, by a policer or a guest that routes, or
 *	comes late; %TCON_REASON_MTU_PROBE: its loss tells the guest that it is too large for
 *	the path (RFC 4821)
 *
 * Until that data is acknowledged the guest sees the peer's ACKs as they are.  Copies of other
 * data stay, and are used after that.
 */
void tcon_copy_missing(struct tcon_flow *flow, u32 end, enum tcon_reason why)
{
	lockdep_assert_held(&flow->lock);
	if (flow->copies.bare && seq_before(end, flow->copies.bare_end))
		return;
	flow->copies.bare = true;
	flow->copies.bare_end = end;
	flow->copies.bare_reason = why;
	tcon_judge_level(flow);
}

static bool is_little(const struct sk_buff *skb, u32 pinned_bytes)
{
	return skb->len <= LITTLE_BYTES && pinned_bytes > 2 * SKB_TRUESIZE(skb->len);
}

/* The copy of what left just before @sent; NULL: there is none. */
static struct sk_buff *copy_before(const struct tcon_flow *flow, const struct tcon_send *sent)
{
	const struct tcon_sendq *q = &flow->track.sendq;

	if (q->tail - q->head < 2 || tcon_sendq_at(q, q->tail - 1) != sent)
		return NULL;
	return tcon_sendq_at(q, q->tail - 2)->copy;
}

/*
 * A copy shares the packet's pages.  But a little data must not keep a large page.  @before is the
 * copy before it, with which it may share a page.
 */
static struct sk_buff *make_copy(struct tcon_flow *flow, struct sk_buff *skb,
				 const struct sk_buff *before, u32 *shared_bytes)
{
	gfp_t gfp = GFP_ATOMIC | __GFP_NOWARN;
	struct sk_buff *copy;
	bool little, guests = skb_zcopy(skb);
	u32 pinned;

	pinned = tcon_segment_pinned(skb, before, shared_bytes);
	if (room_of(flow) < (long)(pinned - *shared_bytes)) {
		tcon_count(tcon_flow_stats(flow), TCON_COUNTER_COPY_PRESSURE);
		return NULL;
	}
	little = is_little(skb, pinned - *shared_bytes);
	/* The guest's own pages are not pinned for a round trip. */
	if (skb_orphan_frags_rx(skb, GFP_ATOMIC))
		goto failed;
	copy = little ? skb_copy(skb, gfp) : skb_clone(skb, gfp);
	if (!copy)
		goto failed;
	if (little || guests)	/* of other pages than the packet was */
		pinned = tcon_segment_pinned(copy, before, shared_bytes);
	tcon_segment(copy)->charged_bytes = pinned;
	return copy;
failed:
	tcon_count(tcon_flow_stats(flow), TCON_COUNTER_COPY_FAILED);
	return NULL;
}

/**
 * tcon_copy_keep() - keep a copy of a packet that is about to leave
 * @flow: its lock is held, enforced
 * @sent: the record of this transmission
 * @skb: the packet, with its &struct tcon_segment
 *
 * Context: bottom halves disabled.
 */
void tcon_copy_keep(struct tcon_flow *flow, struct tcon_send *sent,
		    struct sk_buff *skb)
{
	struct sk_buff *copy, *before;
	u32 shared_bytes;

	lockdep_assert_held(&flow->lock);
	lockdep_assert_in_softirq();
	if (!tcon_judge_may_repair()) {
		tcon_copy_give_up(flow, TCON_REASON_IN_FLIGHT);
		return;
	}
	before = copy_before(flow, sent);
	copy = make_copy(flow, skb, before, &shared_bytes);
	if (!copy) {
		tcon_copy_give_up(flow, TCON_REASON_COPY_MEMORY);
		return;
	}
	skb_dst_drop(copy);
	nf_reset_ct(copy);
	charge(flow, (long)tcon_segment(copy)->charged_bytes -
	       tcon_segment_take_share(before, shared_bytes));
	sent->copy = copy;
}
