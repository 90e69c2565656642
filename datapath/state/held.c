// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets of a guest that TCon holds: their queue and their memory.
 *
 * They take memory of the host.  It is charged to the half-flow, its port and the host, each of
 * which has a bound.
 */
#include <linux/moduleparam.h>

#include "state/held.h"
#include "wire/merge.h"
#include "wire/segment.h"

static unsigned int hold_flow_bytes = 8 << 20;
module_param(hold_flow_bytes, uint, 0644);
MODULE_PARM_DESC(hold_flow_bytes, "most memory held for one half-flow");

/**
 * tcon_held_flow_max() - the bound of a half-flow
 *
 * Return: bytes of memory.
 */
u32 tcon_held_flow_max(void)
{
	return READ_ONCE(hold_flow_bytes);
}

/**
 * tcon_held_over_own() - is more held than a multiple of the flow's or the port's bound?
 * @held: the half-flow's held packets
 * @port: the guest's port
 * @times: the multiple
 *
 * Return: whether it is.
 */
bool tcon_held_over_own(const struct tcon_held *held,
			const struct tcon_port *port, long times)
{
	return held->charged_bytes > times * hold_flow_bytes ||
	       atomic_long_read(&port->shares[TCON_SHARE_HELD].used) >
	       times * tcon_shares_port_max(TCON_SHARE_HELD);
}

/**
 * tcon_held_over() - is more held than any bound allows?
 * @held: the half-flow's held packets
 * @port: the guest's port
 *
 * Return: whether it is.
 */
bool tcon_held_over(const struct tcon_held *held, const struct tcon_port *port)
{
	return held->charged_bytes > hold_flow_bytes ||
	       tcon_budget_room(&port->shares[TCON_SHARE_HELD]) < 0;
}

static void charge(struct tcon_held *held, struct tcon_port *port, long bytes)
{
	held->charged_bytes += bytes;
	tcon_budget_charge(&port->shares[TCON_SHARE_HELD], bytes);
}

/**
 * tcon_held_add() - hold a packet, behind all others
 * @held: the half-flow's held packets; the flow's lock is held
 * @port: the guest's port
 * @skb: the packet, with its struct tcon_segment
 */
void tcon_held_add(struct tcon_held *held, struct tcon_port *port,
		   struct sk_buff *skb)
{
	struct sk_buff *before = skb_peek_tail(&held->queue);
	u32 pinned, shared;

	pinned = tcon_segment_pinned(skb, before, &shared);
	tcon_segment(skb)->charged_bytes = pinned;
	charge(held, port, (long)pinned - tcon_segment_take_share(before, shared));
	held->bytes += tcon_segment(skb)->payload_bytes;
	__skb_queue_tail(&held->queue, skb);
}

/**
 * tcon_held_merge() - hold a packet as a part of the last one, if that can be
 * @held: the half-flow's held packets; the flow's lock is held
 * @port: the guest's port
 * @skb: the packet, with its struct tcon_segment; gone, if so
 * @most_bytes: payload that the last one may have then
 *
 * Return: whether it is.
 */
bool tcon_held_merge(struct tcon_held *held, struct tcon_port *port,
		     struct sk_buff *skb, u32 most_bytes)
{
	struct sk_buff *last = skb_peek_tail(&held->queue);
	u32 payload_bytes = tcon_segment(skb)->payload_bytes;
	u32 pinned, shared;

	if (!last || !tcon_merge(last, skb, most_bytes))
		return false;
	pinned = tcon_segment_pinned(last, NULL, &shared);
	charge(held, port, (long)pinned - tcon_segment(last)->charged_bytes);
	tcon_segment(last)->charged_bytes = pinned;
	held->bytes += payload_bytes;
	return true;
}

/**
 * tcon_held_take() - take the first packet
 * @held: the half-flow's held packets, at least one; the flow's lock is held
 * @port: the guest's port
 *
 * Return: the packet; the caller owns it.
 */
struct sk_buff *tcon_held_take(struct tcon_held *held, struct tcon_port *port)
{
	struct sk_buff *skb = __skb_dequeue(&held->queue);

	charge(held, port, -(long)tcon_segment(skb)->charged_bytes);
	held->bytes -= tcon_segment(skb)->payload_bytes;
	return skb;
}

/**
 * tcon_held_purge() - free all held packets
 * @held: the half-flow's held packets; the flow's lock is held
 * @port: the guest's port
 */
void tcon_held_purge(struct tcon_held *held, struct tcon_port *port)
{
	while (!tcon_held_empty(held)) {
		tcon_count(port->tnet->stats, TCON_COUNTER_HOLD_PURGED);
		kfree_skb_reason(tcon_held_take(held, port), SKB_DROP_REASON_DEV_READY);
	}
}
