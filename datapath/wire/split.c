// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cutting a super-packet of a guest into smaller ones.
 */
#include <linux/err.h>
#include <linux/math.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>

#include "wire/segment.h"
#include "wire/split.h"

/* A list of pieces of @segs segments, the rest last.  An error or NULL: none. */
static struct sk_buff *cut(struct sk_buff *skb, u32 segs)
{
	u32 header_bytes = tcon_segment(skb)->payload_offset;
	struct skb_shared_info *shinfo;
	struct sk_buff *pieces, *piece;
	u16 gso_size;

	if (skb_unclone(skb, GFP_ATOMIC))
		return NULL;
	shinfo = skb_shinfo(skb);
	gso_size = shinfo->gso_size;
	shinfo->gso_size *= segs;
	pieces = __skb_gso_segment(skb, NETIF_F_SG | NETIF_F_HW_CSUM, false);
	shinfo->gso_size = gso_size;
	if (IS_ERR(pieces))
		return pieces;
	for (piece = pieces; piece; piece = piece->next) {
		if (piece->len - header_bytes <= gso_size)
			continue;
		skb_shinfo(piece)->gso_size = gso_size;
		skb_shinfo(piece)->gso_type = shinfo->gso_type;
		skb_shinfo(piece)->gso_segs =
			DIV_ROUND_UP(piece->len - header_bytes, gso_size);
	}
	return pieces;
}

/* The part from @seq of @whole, which lay at the same offsets. */
static void describe(struct sk_buff *piece, const struct tcon_segment *whole,
		     u32 seq, bool last)
{
	struct tcon_segment *cb = tcon_segment(piece);

	cb->l3_offset = whole->l3_offset;
	cb->l4_offset = whole->l4_offset;
	cb->payload_offset = whole->payload_offset;
	cb->entered_us = whole->entered_us;
	cb->payload_bytes = piece->len - whole->payload_offset;
	cb->seq = seq;
	cb->end_seq = last ? whole->end_seq : seq + cb->payload_bytes;
}

/**
 * tcon_split() - cut a super-packet
 * @skb: the super-packet, data at the link-layer header, described in its cb;
 *	 stays the caller's
 * @segs: how many segments each piece has, the last one the rest; @segs times
 *	  the size of a segment must fit into 16 bits
 * @pieces: where they are appended, described as @skb was but for truesize
 *
 * Pieces of more than one segment are super-packets again.
 *
 * Return: false without memory, or where the kernel cannot cut it: then
 * @skb is whole and nothing is appended.
 */
bool tcon_split(struct sk_buff *skb, u32 segs, struct sk_buff_head *pieces)
{
	struct tcon_segment whole = *tcon_segment(skb);
	struct sk_buff *list, *piece, *next;
	u32 seq = whole.seq;

	list = cut(skb, segs);
	*tcon_segment(skb) = whole;	/* segmentation used skb->cb */
	if (IS_ERR_OR_NULL(list))
		return false;
	skb_list_walk_safe(list, piece, next) {
		skb_mark_not_on_list(piece);
		describe(piece, &whole, seq, !next);
		seq += tcon_segment(piece)->payload_bytes;
		__skb_queue_tail(pieces, piece);
	}
	return true;
}
