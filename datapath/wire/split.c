// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cutting a guest's super-packet into smaller packets.
 */
#include <linux/err.h>
#include <linux/ip.h>
#include <linux/math.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <net/checksum.h>
#include <tcon/compat.h>

#include "wire/segment.h"
#include "wire/split.h"

/*
 * The pieces may not have it.  The kernel would take it out as well, but then headers would not
 * be where they are known to be.
 */
static void drop_jumbo(struct sk_buff *skb)
{
	struct tcon_segment *cb = tcon_segment(skb);
	u32 gone = tcon_segment_drop_jumbo(skb, cb->l3_offset);

	cb->l4_offset -= gone;
	cb->payload_offset -= gone;
}

/* A list of pieces of @segs segments; the last may have fewer.  An error or NULL: none. */
static struct sk_buff *cut(struct sk_buff *skb, u32 segs)
{
	u32 header_bytes = tcon_segment(skb)->payload_offset;
	struct skb_shared_info *shinfo;
	struct sk_buff *pieces, *piece;
	u16 gso_size;

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

/*
 * Each piece has got the next identifier, as if it were one segment.  Those of its other segments
 * follow its own when it is segmented, as if @whole had been: @first segments are before it.
 */
static void renumber(struct sk_buff *piece, u32 l3_offset, __be16 id, u32 first)
{
	struct iphdr *ip = (struct iphdr *)(piece->data + l3_offset);
	__be16 old = ip->id;

	if (ip->version != 4)
		return;
	ip->id = htons(ntohs(id) + first);
	csum_replace2(&ip->check, old, ip->id);
}

/* Describes a piece of @whole that starts at @seq.  Its headers are at the same offsets. */
static void describe(struct sk_buff *piece, const struct tcon_segment *whole,
		     u32 seq, bool last)
{
	struct tcon_segment *cb = tcon_segment(piece);

	*cb = *whole;	/* segmentation used what the piece had */
	cb->payload_bytes = piece->len - whole->payload_offset;
	cb->seq = seq;
	cb->end_seq = last ? whole->end_seq : seq + cb->payload_bytes;
}

/**
 * tcon_split() - cut a super-packet
 * @skb: the super-packet, data at the link-layer header, described in its cb;
 *	 the caller keeps it
 * @segs: segments of each piece but the last, which has the rest; @segs times the size
 *	  of a segment must fit 16 bits
 * @pieces: the pieces are appended here, described as @skb was, except for what is charged
 *
 * Pieces of more than one segment are super-packets again.
 *
 * Return: false without memory, or if the kernel cannot cut it.  Then @skb has all its data and
 * nothing is appended.
 */
bool tcon_split(struct sk_buff *skb, u32 segs, struct sk_buff_head *pieces)
{
	struct sk_buff *list, *piece, *next;
	struct tcon_segment whole;
	u32 seq, first = 0;
	__be16 id;

	if (skb_unclone(skb, GFP_ATOMIC))
		return false;
	drop_jumbo(skb);
	whole = *tcon_segment(skb);
	seq = whole.seq;
	id = ((const struct iphdr *)(skb->data + whole.l3_offset))->id;
	list = cut(skb, segs);
	*tcon_segment(skb) = whole;	/* segmentation used skb->cb */
	if (IS_ERR_OR_NULL(list))
		return false;
	skb_list_walk_safe(list, piece, next) {
		skb_mark_not_on_list(piece);
		describe(piece, &whole, seq, !next);
		if (!(skb_shinfo(skb)->gso_type & SKB_GSO_TCP_FIXEDID))
			renumber(piece, whole.l3_offset, id, first);
		first += segs;
		seq += tcon_segment(piece)->payload_bytes;
		__skb_queue_tail(pieces, piece);
	}
	return true;
}
