// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes packets of waiting data: how much leaves at once, and as which packet.
 *
 * Like a sender, TCon makes a packet when it leaves: as large as the path takes now, whatever
 * the guest has handed over in one go.  The bytes stay, for a repair.
 */
#include <linux/math64.h>
#include <linux/moduleparam.h>
#include <linux/skbuff.h>

#include "act/header.h"
#include "act/out.h"
#include "base/contract.h"
#include "sender/pace.h"
#include "state/flow.h"
#include "wire/part.h"
#include "wire/segment.h"

/* A super-packet that would occupy the path for longer leaves in quanta. */
#define LONG_NS			(3 * NSEC_PER_MSEC)
/* A device that cannot segment has the kernel do so, in the same softirq. */
#define MOST_SEGS		256

static bool merge = true;
module_param(merge, bool, 0644);
MODULE_PARM_DESC(merge, "make super-packets of segments that wait in a row");

/* Payload that has not left. */
static inline u32 left_bytes(const struct sk_buff *skb)
{
	const struct tcon_segment *seg = tcon_segment(skb);

	return tcon_segment_left_bytes(seg, seg->end_seq);
}

/**
 * tcon_out_segs() - how many packets on the wire is one that waits?
 * @skb: the packet, with its &struct tcon_segment
 *
 * Return: their number, without those that have left.
 */
u32 tcon_out_segs(const struct sk_buff *skb)
{
	return skb_is_gso(skb) ? DIV_ROUND_UP(left_bytes(skb), skb_shinfo(skb)->gso_size) : 1;
}

/*
 * How large may a super-packet be that does not fit?  In a recovery no larger than what may
 * leave now: if it waited for more, it would leave as a burst.  The same holds after a mark: only
 * a part of the unused room is left later (prr.c).  But then a window is not cut into more than 16
 * pieces.
 */
static u32 piece_bytes(const struct tcon_track *t)
{
	const struct tcon_cc *cc = &t->cc;
	u32 most = cc->cwnd_bytes / 4;
	u32 least = tcon_track_marked(t) ? most / 4 : 0;

	if (!t->prr.active || !tcon_track_fits(t, cc->mss_bytes) ||
	    t->prr.limit_bytes < cc->inflight_bytes)
		return most;
	return clamp(t->prr.limit_bytes - cc->inflight_bytes, least, most);
}

/* Bytes that the clock, if there is one, lets leave at once. */
static u32 at_once_bytes(const struct tcon_cc *cc)
{
	return max(tcon_cc_quantum_bytes(cc), tcon_pace_burst_bytes(cc));
}

/**
 * tcon_out_super_bytes() - how large may a super-packet be that is made of waiting segments?
 * @flow: its lock is held
 *
 * Return: payload bytes, no more than would leave at once; 0: none is made.
 */
u32 tcon_out_super_bytes(const struct tcon_flow *flow)
{
	const struct tcon_track *t = &flow->track;
	u32 bytes = piece_bytes(t);

	lockdep_assert_held(&flow->lock);
	if (!merge || t->prr.active)
		return 0;
	return t->cc.pacing_rate_bps ? min(bytes, at_once_bytes(&t->cc)) : bytes;
}

/* Is it too large for cwnd, where less would fit, or for the clock?  Two segments are not.  But in
 * a reduction they are: the first may show that the repair was lost, too, and the second should
 * wait for that.
 */
static bool is_too_large(const struct tcon_flow *flow, u32 bytes)
{
	const struct tcon_track *t = &flow->track;
	const struct tcon_cc *cc = &t->cc;

	if (!tcon_flow_runs_cc(flow) || flow->hold.flush ||
	    (bytes <= 2 * cc->mss_bytes &&
	     (!t->prr.active || !tcon_track_fits(t, cc->mss_bytes))))
		return false;
	if (!tcon_track_fits(t, bytes) && bytes > piece_bytes(t))
		return true;
	return cc->pacing_rate_bps && bytes > at_once_bytes(cc) &&
	       bytes > tcon_pace_unpaced_bytes(t) && tcon_pace_ns(cc, bytes) > LONG_NS;
}

/*
 * How many segments leave of a packet that is too large, and has @segs?  As many as may leave at
 * once and are not too much of cwnd; one, if they are a list of packets; always fewer than @segs.
 */
static u32 first_segs(const struct tcon_flow *flow, const struct sk_buff *skb, u32 segs)
{
	const struct tcon_cc *cc = &flow->track.cc;
	const struct tcon_segment *seg = tcon_segment(skb);
	/* The length in the IP header has 16 bits. */
	u32 bytes = min(piece_bytes(&flow->track),
			(u32)U16_MAX - (seg->payload_offset - seg->l3_offset));
	u32 most;

	if (skb_has_frag_list(skb))
		return 1;
	if (cc->pacing_rate_bps)
		bytes = min(bytes, at_once_bytes(cc));
	most = clamp(segs - 1, 1U, (u32)MOST_SEGS);
	return clamp(bytes / skb_shinfo(skb)->gso_size, 1U, most);
}

/* A part of it has left: can the rest not be one packet?  It cannot if it is longer than an IP
 * header can say, or a list of packets.
 */
static bool must_be_cut(const struct sk_buff *skb)
{
	const struct tcon_segment *seg = tcon_segment(skb);

	return seg->start != seg->seq &&
	       (skb_has_frag_list(skb) ||
		left_bytes(skb) + seg->payload_offset - seg->l3_offset > U16_MAX);
}

/**
 * tcon_out_end() - up to where does a packet leave at once?
 * @flow: its lock is held
 * @skb: the packet, with its &struct tcon_segment
 *
 * All of a packet leaves that is no super-packet.  So does an IP fragment, which only a malicious
 * guest makes of a super-packet: no header says where its parts begin.
 *
 * Return: sequence number.
 */
u32 tcon_out_end(const struct tcon_flow *flow, const struct sk_buff *skb)
{
	const struct tcon_segment *seg = tcon_segment(skb);
	u32 segs;

	lockdep_assert_held(&flow->lock);
	if (likely(!skb_is_gso(skb)) || seg->fragment)
		return seg->end_seq;
	segs = tcon_out_segs(skb);
	if (segs <= 1 || (!is_too_large(flow, left_bytes(skb)) && segs <= MOST_SEGS &&
			  !must_be_cut(skb)))
		return seg->end_seq;
	return seg->start + first_segs(flow, skb, segs) * skb_shinfo(skb)->gso_size;
}

/* All of the first packet leaves as it came, with a new header; NULL without memory. */
static struct sk_buff *make_whole(struct tcon_flow *flow, struct sk_buff **copy, u64 now_us)
{
	struct tcon_buffer *b = &flow->buffer;
	struct sk_buff *skb = skb_peek(&b->unsent), *clone;
	u32 end = tcon_segment(skb)->end_seq;

	*copy = NULL;
	tcon_header_refresh(flow, skb, now_us);
	if (!tcon_flow_enforced(flow))
		return tcon_buffer_take(b, flow->port, &flow->track.sendq);
	clone = skb_clone(skb, GFP_ATOMIC | __GFP_NOWARN);
	if (!clone)
		return NULL;
	tcon_buffer_left(b, flow->port, end, copy);	/* all of it: no memory is needed */
	swap(clone, *copy);	/* tracing tools know the guest's skb */
	return clone;
}

/* Its bytes up to @end leave; NULL without memory. */
static struct sk_buff *make_part(struct tcon_flow *flow, u32 end, struct sk_buff **copy,
				 u64 now_us)
{
	const struct sk_buff *whole = skb_peek(&flow->buffer.unsent);
	const struct tcon_segment *seg = tcon_segment(whole);
	bool first = seg->start == seg->seq;
	struct sk_buff *skb;

	skb = tcon_part(whole, flow->key.family, seg->start, end);
	if (!skb)
		return NULL;
	tcon_header_refresh(flow, skb, now_us);
	if (!tcon_buffer_left(&flow->buffer, flow->port, end, copy)) {
		consume_skb(skb);
		return NULL;
	}
	if (first)
		tcon_count(tcon_flow_stats(flow), TCON_COUNTER_GSO_SPLIT);
	return skb;
}

/**
 * tcon_out_make() - make a packet of the data that has waited longest
 * @flow: its lock is held; something waits
 * @end: up to where; tcon_out_end()
 * @copy: the copy to keep, charged; NULL: none is kept
 * @now_us: the time
 *
 * Its header says what the guest says now.
 *
 * Context: bottom halves disabled.
 * Return: the packet, described in its cb; NULL without memory: all of it still waits.
 */
struct sk_buff *tcon_out_make(struct tcon_flow *flow, u32 end, struct sk_buff **copy, u64 now_us)
{
	const struct tcon_segment *seg = tcon_segment(skb_peek(&flow->buffer.unsent));
	struct sk_buff *skb;

	lockdep_assert_held(&flow->lock);
	lockdep_assert_in_softirq();
	skb = seg->start == seg->seq && end == seg->end_seq ?
	      make_whole(flow, copy, now_us) : make_part(flow, end, copy, now_us);
	if (skb)
		tcon_segment(skb)->charged_bytes = 0;
	else
		tcon_count(tcon_flow_stats(flow), TCON_COUNTER_NO_MEMORY);
	return skb;
}
