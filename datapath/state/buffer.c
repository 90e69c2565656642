// SPDX-License-Identifier: GPL-2.0-only
/*
 * The send buffer of a half-flow.  It keeps the guest's data until that is acknowledged
 * cumulatively, since a peer may throw away data that it has SACKed (RFC 2018, 8).
 *
 * Like a socket's, it has two parts.  Waiting packets are in a list.  Data that has left is in
 * flight, and each record of a transmission (sender/sendq.c) refers to the packet with its bytes.
 * Memory is charged once, when a packet comes, and given back with the last record of it.  The
 * charge covers all memory that is kept from being freed.
 *
 * How much that is: while a hole is being repaired, una stands still and new data leaves.  So
 * una .. nxt spans a BDP for each round that the unluckiest segment needs.  With N segments in
 * flight that is BDP * (1 + ln N / ln(1/p)): 2 to 4 BDP with losses of 1 to 5 %.  Memory is
 * bounded for a flow, a port and the host.  A flow that comes near a bound is given a smaller
 * window.  Then the guest keeps the data that has no room.  If it sends more, that leaves without a
 * copy, so that the guest repeats it; or it waits up to twice the bound.  Beyond that waiting
 * packets leave and are not kept (act/excess.c), and repeats, FIN and RST are dropped; beyond four
 * times the bound everything is.
 */
#include <linux/moduleparam.h>
#include <linux/skbuff.h>
#include <net/dst.h>

#include "base/contract.h"
#include "base/seq.h"
#include "sender/sendq.h"
#include "state/buffer.h"
#include "wire/merge.h"
#include "wire/segment.h"

/* Memory that a byte of payload takes at most, in a full segment that has a buffer
 * of its own and the header of its clone.
 */
#define TRUESIZE_PER_BYTE	2
/* Up to this much data is copied, if it would keep a page. */
#define LITTLE_BYTES		512
/* Data that the guest was not allowed to send, and data of a paced flow, which is told no window,
 * may wait up to this part of a bound.
 */
#define UNASKED_PART		4

static unsigned int buffer_flow_bytes = 32 << 20;
module_param(buffer_flow_bytes, uint, 0644);
MODULE_PARM_DESC(buffer_flow_bytes, "most memory for the data of one half-flow");

/**
 * tcon_buffer_flow_max() - the bound of a half-flow
 *
 * Return: bytes of memory.
 */
u32 tcon_buffer_flow_max(void)
{
	return READ_ONCE(buffer_flow_bytes);
}

static void charge(struct tcon_buffer *b, struct tcon_port *port, long bytes)
{
	b->charged_bytes += bytes;
	tcon_budget_charge(&port->shares[TCON_SHARE_BUFFER], bytes);
}

/* Memory that the bounds of the flow, the port and the host leave. */
static long room_of(const struct tcon_buffer *b, const struct tcon_port *port)
{
	return min((long)tcon_buffer_flow_max() - (long)b->charged_bytes,
		   tcon_budget_room(&port->shares[TCON_SHARE_BUFFER]));
}

/**
 * tcon_buffer_room() - how much more may the guest send?
 * @b: the half-flow's buffer; the flow's lock is held
 * @port: the guest's port
 *
 * Return: payload bytes.
 */
u32 tcon_buffer_room(const struct tcon_buffer *b, const struct tcon_port *port)
{
	return max(room_of(b, port), 0L) / TRUESIZE_PER_BYTE;
}

/**
 * tcon_buffer_full() - may no more wait that the guest was not allowed to send?
 * @b: the half-flow's buffer; the flow's lock is held
 * @port: the guest's port
 *
 * Return: whether it must not.
 */
bool tcon_buffer_full(const struct tcon_buffer *b, const struct tcon_port *port)
{
	return room_of(b, port) < 0 ||
	       b->unsent_charged_bytes > tcon_buffer_flow_max() / UNASKED_PART;
}

/**
 * tcon_buffer_exceeds() - is a bound exceeded by far?
 * @b: the half-flow's buffer; the flow's lock is held
 * @port: the guest's port
 * @times: it is more than the bound times this
 *
 * Return: whether one is, of the flow, the port or the host.
 */
bool tcon_buffer_exceeds(const struct tcon_buffer *b, const struct tcon_port *port, long times)
{
	return b->charged_bytes > times * tcon_buffer_flow_max() ||
	       tcon_budget_exceeds(&port->shares[TCON_SHARE_BUFFER], times);
}

/* The packet that was charged last; it is given back before the next one.  NULL: there is none. */
static struct sk_buff *newest(const struct tcon_buffer *b, const struct tcon_sendq *q)
{
	struct sk_buff *last = skb_peek_tail(&b->unsent);

	if (last || q->head == q->tail)
		return last;
	return tcon_sendq_at(q, q->tail - 1)->copy;
}

static bool is_little(const struct sk_buff *skb, u32 pinned_bytes)
{
	return skb->len <= LITTLE_BYTES && pinned_bytes > 2 * SKB_TRUESIZE(skb->len);
}

/* Drops references to where the packet comes from. */
static void forget_origin(struct sk_buff *skb)
{
	skb_dst_drop(skb);
	nf_reset_ct(skb);
}

/*
 * Charges the memory that @skb keeps from being freed: @pinned bytes, without @shared ones that the
 * newest packet, @before, keeps, too.
 */
static void charge_for(struct tcon_buffer *b, struct tcon_port *port, struct sk_buff *before,
		       struct sk_buff *skb, u32 pinned, u32 shared)
{
	tcon_segment(skb)->charged_bytes = pinned;
	shared = tcon_segment_take_share(before, shared);
	if (tcon_buffer_waits(b))
		b->unsent_charged_bytes -= shared;
	charge(b, port, (long)pinned - shared);
}

/**
 * tcon_buffer_add() - let a packet wait, behind all others
 * @b: the half-flow's buffer; the flow's lock is held
 * @port: the guest's port
 * @q: records of what has left
 * @skb: the packet, with its struct tcon_segment; without pages of the guest's
 */
void tcon_buffer_add(struct tcon_buffer *b, struct tcon_port *port, const struct tcon_sendq *q,
		     struct sk_buff *skb)
{
	struct sk_buff *before = newest(b, q), *own;
	u32 shared, pinned = tcon_segment_pinned(skb, before, &shared);

	/* A little data must not keep a large page. */
	if (unlikely(is_little(skb, pinned - shared))) {
		own = skb_copy(skb, GFP_ATOMIC | __GFP_NOWARN);
		if (own) {
			consume_skb(skb);
			skb = own;
			pinned = tcon_segment_pinned(skb, before, &shared);
		}
	}
	forget_origin(skb);
	charge_for(b, port, before, skb, pinned, shared);
	b->unsent_bytes += tcon_segment(skb)->payload_bytes;
	b->unsent_charged_bytes += tcon_segment(skb)->charged_bytes;
	__skb_queue_tail(&b->unsent, skb);
}

/**
 * tcon_buffer_merge() - let a packet wait as a part of the last one, if that can be
 * @b: the half-flow's buffer; the flow's lock is held
 * @port: the guest's port
 * @skb: the packet, with its struct tcon_segment; gone, if so
 * @most_bytes: payload that the last one may have then
 *
 * Return: whether it does.
 */
bool tcon_buffer_merge(struct tcon_buffer *b, struct tcon_port *port, struct sk_buff *skb,
		       u32 most_bytes)
{
	struct sk_buff *last = skb_peek_tail(&b->unsent);
	u32 payload_bytes = tcon_segment(skb)->payload_bytes;
	u32 pinned, shared;

	if (!last || tcon_segment(last)->start != tcon_segment(last)->seq ||
	    !tcon_merge(last, skb, most_bytes))
		return false;
	pinned = tcon_segment_pinned(last, NULL, &shared);
	charge(b, port, (long)pinned - tcon_segment(last)->charged_bytes);
	b->unsent_charged_bytes += pinned - tcon_segment(last)->charged_bytes;
	tcon_segment(last)->charged_bytes = pinned;
	b->unsent_bytes += payload_bytes;
	return true;
}

static struct sk_buff *dequeue(struct tcon_buffer *b)
{
	struct sk_buff *skb = __skb_dequeue(&b->unsent);
	const struct tcon_segment *seg = tcon_segment(skb);

	b->unsent_bytes -= tcon_segment_left_bytes(seg, seg->end_seq);
	b->unsent_charged_bytes -= seg->charged_bytes;
	return skb;
}

/**
 * tcon_buffer_skip() - a part of the packet that has waited longest is not needed
 * @b: the half-flow's buffer, in which something waits; the flow's lock is held
 * @seq: sequence number after that part, before the end of the packet
 */
void tcon_buffer_skip(struct tcon_buffer *b, u32 seq)
{
	struct tcon_segment *seg = tcon_segment(skb_peek(&b->unsent));

	b->unsent_bytes -= tcon_segment_left_bytes(seg, seq);
	seg->start = seq;
}

/**
 * tcon_buffer_left() - the packet that has waited longest has left, or its first part
 * @b: the half-flow's buffer, in which something waits; the flow's lock is held
 * @port: the guest's port
 * @end: up to where
 * @copy: the copy to keep for this transmission, charged
 *
 * If the caller finds that the copy is not in flight, it calls tcon_buffer_give_up(), and then
 * tcon_buffer_put().
 *
 * Return: false without memory: then nothing has changed.
 */
bool tcon_buffer_left(struct tcon_buffer *b, struct tcon_port *port, u32 end,
		      struct sk_buff **copy)
{
	struct sk_buff *skb = skb_peek(&b->unsent);
	struct tcon_segment *seg = tcon_segment(skb);

	if (end == seg->end_seq) {
		*copy = dequeue(b);
		return true;
	}
	*copy = skb_clone(skb, GFP_ATOMIC | __GFP_NOWARN);
	if (!*copy)
		return false;
	tcon_segment(*copy)->charged_bytes = SKB_DATA_ALIGN(sizeof(*skb));
	charge(b, port, tcon_segment(*copy)->charged_bytes);
	tcon_buffer_skip(b, end);
	return true;
}

/**
 * tcon_buffer_copy() - make the copy to keep of a packet that leaves at once
 * @b: the half-flow's buffer; the flow's lock is held
 * @port: the guest's port
 * @q: records of what has left
 * @skb: the packet, with its &struct tcon_segment
 *
 * It shares the packet's pages.
 *
 * Context: bottom halves disabled.
 * Return: the copy, charged; NULL without memory or room.
 */
struct sk_buff *tcon_buffer_copy(struct tcon_buffer *b, struct tcon_port *port,
				 const struct tcon_sendq *q, struct sk_buff *skb)
{
	struct sk_buff *before = newest(b, q), *copy;
	u32 shared, pinned = tcon_segment_pinned(skb, before, &shared);
	gfp_t gfp = GFP_ATOMIC | __GFP_NOWARN;

	lockdep_assert_in_softirq();
	if (room_of(b, port) < (long)(pinned - shared)) {
		tcon_count(port->tnet->stats, TCON_COUNTER_COPY_PRESSURE);
		return NULL;
	}
	/* The guest's own pages are not pinned for a round trip. */
	if (skb_orphan_frags_rx(skb, GFP_ATOMIC))
		goto failed;
	copy = is_little(skb, pinned - shared) ? skb_copy(skb, gfp) : skb_clone(skb, gfp);
	if (!copy)
		goto failed;
	forget_origin(copy);
	pinned = tcon_segment_pinned(copy, before, &shared);	/* pages may have been copied */
	charge_for(b, port, before, copy, pinned, shared);
	return copy;
failed:
	tcon_count(port->tnet->stats, TCON_COUNTER_COPY_FAILED);
	return NULL;
}

/**
 * tcon_buffer_put() - a copy is not needed any more
 * @b: the half-flow's buffer; the flow's lock is held
 * @port: the guest's port
 * @copy: the copy
 *
 * Each ACK frees several copies, so their heads are given back in batches.
 *
 * Context: bottom halves disabled.
 */
void tcon_buffer_put(struct tcon_buffer *b, struct tcon_port *port, struct sk_buff *copy)
{
	lockdep_assert_in_softirq();
	charge(b, port, -(long)tcon_segment(copy)->charged_bytes);
	napi_consume_skb(copy, 1);
}

/* Finds a part of @skb that has left already, and is kept. */
static struct sk_buff *find_part(const struct tcon_sendq *q, const struct sk_buff *skb)
{
	const struct tcon_segment *seg = tcon_segment(skb);
	struct sk_buff *copy;
	u32 i;

	if (seg->start == seg->seq)
		return NULL;
	for (i = tcon_sendq_find(q, seg->seq); i != q->tail; i++) {
		if (!seq_before(tcon_sendq_at(q, i)->start, seg->start))
			break;
		copy = tcon_sendq_at(q, i)->copy;
		if (copy && copy != skb && copy->head == skb->head)
			return copy;
	}
	return NULL;
}

/**
 * tcon_buffer_give_up() - a packet that has waited is not kept, or its last part is not
 * @b: the half-flow's buffer; the flow's lock is held
 * @port: the guest's port
 * @q: records of what has left
 * @skb: the packet; the caller's from now on
 *
 * If a part of it is kept, that part keeps all of it from being freed, and is charged for it.
 */
void tcon_buffer_give_up(struct tcon_buffer *b, struct tcon_port *port,
			 const struct tcon_sendq *q, struct sk_buff *skb)
{
	struct sk_buff *part = find_part(q, skb);

	if (unlikely(part))
		tcon_segment(part)->charged_bytes += tcon_segment(skb)->charged_bytes;
	else
		charge(b, port, -(long)tcon_segment(skb)->charged_bytes);
	tcon_segment(skb)->charged_bytes = 0;
}

/**
 * tcon_buffer_take() - take the packet out that has waited longest
 * @b: the half-flow's buffer, in which something waits; the flow's lock is held
 * @port: the guest's port
 * @q: records of what has left
 *
 * Return: the packet, whose memory is not charged any more; the caller owns it.
 */
struct sk_buff *tcon_buffer_take(struct tcon_buffer *b, struct tcon_port *port,
				 const struct tcon_sendq *q)
{
	struct sk_buff *skb = dequeue(b);

	tcon_buffer_give_up(b, port, q, skb);
	return skb;
}

/**
 * tcon_buffer_purge() - free all that waits
 * @b: the half-flow's buffer; the flow's lock is held
 * @port: the guest's port
 * @q: records of what has left
 */
void tcon_buffer_purge(struct tcon_buffer *b, struct tcon_port *port, const struct tcon_sendq *q)
{
	while (tcon_buffer_waits(b)) {
		tcon_count(port->tnet->stats, TCON_COUNTER_HOLD_PURGED);
		kfree_skb_reason(tcon_buffer_take(b, port, q),
				 SKB_DROP_REASON_DEV_READY);
	}
}
