// SPDX-License-Identifier: GPL-2.0-only
/*
 * Super-packets are cut as the kernel cuts them: skb_gso_segment() for TCP.
 */
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/tcp.h>
#include <asm/unaligned.h>
#include <net/ip.h>
#include <net/checksum.h>

#include "gso.h"

/* A jumbo payload option's header: where it begins in a packet, and its size. */
#define JUMBO_AT	40
#define JUMBO_BYTES	8

/* Where TCP is behind IPv6, and behind a jumbo payload option (RFC 2675); 0: it is not. */
static u32 after_ip6(const u8 *frame, u32 l3)
{
	u8 next = frame[l3 + 6];

	if (next == IPPROTO_HOPOPTS && !frame[l3 + JUMBO_AT + 1])
		return frame[l3 + JUMBO_AT] == IPPROTO_TCP ? l3 + JUMBO_AT + JUMBO_BYTES : 0;
	return next == IPPROTO_TCP ? l3 + JUMBO_AT : 0;
}

/* A frame's offsets from the link-layer header; false: it is no TCP over IP. */
bool frame_read(const u8 *frame, u32 bytes, struct frame_layout *at)
{
	u16 kind;

	for (at->l3 = 12; ; at->l3 += 4) {
		if (at->l3 + 6 > bytes)
			return false;
		kind = get_unaligned_be16(frame + at->l3);
		if (kind != ETH_P_8021Q && kind != ETH_P_8021AD)
			break;
	}
	at->l3 += 2;
	at->ip6 = kind == ETH_P_IPV6;
	if (kind == ETH_P_IP && at->l3 + 20 <= bytes && frame[at->l3 + 9] == IPPROTO_TCP)
		at->l4 = at->l3 + (frame[at->l3] & 15) * 4;
	else if (at->ip6 && at->l3 + 48 <= bytes)
		at->l4 = after_ip6(frame, at->l3);
	else
		return false;
	if (!at->l4 || at->l4 + 20 > bytes)
		return false;
	at->payload = at->l4 + (frame[at->l4 + 12] >> 4) * 4;
	return at->payload <= bytes;
}

/* The pseudo-header's sum, over the addresses as they lie. */
static u16 pseudo_sum(const u8 *frame, const struct frame_layout *at, u32 tcp_bytes)
{
	u32 addresses = at->ip6 ? 8 : 12;

	return shim_fold((u64)csum_partial(frame + at->l3 + addresses, at->ip6 ? 32 : 8, 0) +
			 htons(IPPROTO_TCP) + htonl(tcp_bytes));
}

void frame_finish_sum(struct sk_buff *skb)
{
	u32 start = skb_checksum_start_offset(skb);
	__sum16 sum;

	/* As skb_checksum_help(): a copy in TCon shares the bytes, and its sum is still to be filled in. */
	BUG_ON(skb_unclone(skb, GFP_ATOMIC));
	sum = csum_fold(csum_partial(skb->data + start, skb->len - start, 0));
	memcpy(skb->data + start + skb->csum_offset, &sum, sizeof(sum));
	skb->ip_summed = CHECKSUM_NONE;
}

/* The IP header of a piece that is the nth. */
static void number(u8 *frame, const struct frame_layout *at, u32 bytes, u32 nth)
{
	struct iphdr *ip = (struct iphdr *)(frame + at->l3);

	if (at->ip6) {
		put_unaligned_be16(bytes - at->l4, frame + at->l3 + 4);
		return;
	}
	ip->tot_len = htons(bytes - at->l3);
	ip->id = htons(ntohs(ip->id) + nth);
	ip_send_check(ip);
}

static void adapt_tcp(struct sk_buff *piece, const struct frame_layout *at, u32 from, bool last)
{
	struct tcphdr *th = (struct tcphdr *)(piece->data + at->l4);

	th->seq = htonl(ntohl(th->seq) + from);
	th->fin &= last;
	th->psh &= last;
	th->cwr &= !from;
	th->check = pseudo_sum(piece->data, at, piece->len - at->l4);
	piece->ip_summed = CHECKSUM_PARTIAL;
	piece->csum_start = (u8 *)th - piece->head;
	piece->csum_offset = offsetof(struct tcphdr, check);
}

static struct sk_buff *cut_piece(const struct sk_buff *skb, const struct frame_layout *at, u32 from,
				 u32 bytes)
{
	u32 room = skb->data - skb->head;
	struct sk_buff *piece = alloc_skb(room + at->payload + bytes, GFP_ATOMIC);

	if (!piece)
		return NULL;
	skb_copy_header(piece, skb);
	skb_shinfo(piece)->gso_size = 0;
	skb_shinfo(piece)->gso_segs = 0;
	piece->dev = skb->dev;
	piece->mark = skb->mark;
	skb_reserve(piece, room);
	skb_put_data(piece, skb->data, at->payload);
	skb_put_data(piece, skb->data + at->payload + from, bytes);
	skb_reset_mac_header(piece);
	skb_set_network_header(piece, at->l3);
	skb_set_transport_header(piece, at->l4);
	return piece;
}

/* Segments are no jumbograms: as ipv6_hopopt_jumbo_remove(). */
static void drop_jumbo(struct sk_buff *skb, struct frame_layout *at)
{
	u32 head_bytes = at->l3 + JUMBO_AT;

	if (!at->ip6 || skb->data[at->l3 + 6] != IPPROTO_HOPOPTS)
		return;
	skb->data[at->l3 + 6] = IPPROTO_TCP;
	memmove(skb->data + JUMBO_BYTES, skb->data, head_bytes);
	__skb_pull(skb, JUMBO_BYTES);
	skb_reset_mac_header(skb);
	skb_set_network_header(skb, at->l3);
	at->l4 -= JUMBO_BYTES;
	at->payload -= JUMBO_BYTES;
}

struct sk_buff *__skb_gso_segment(struct sk_buff *skb, u64 features, bool tx_path)
{
	u32 size = skb_shinfo(skb)->gso_size, from, bytes, payload, nth = 0;
	struct sk_buff *first = NULL, **end = &first, *piece, *next;
	struct frame_layout at;

	if (!frame_read(skb->data, skb->len, &at))
		return ERR_PTR(-EINVAL);
	if (skb_unclone(skb, GFP_ATOMIC))
		return ERR_PTR(-ENOMEM);
	drop_jumbo(skb, &at);
	payload = skb->len - at.payload;
	for (from = 0; from < payload; from += size) {
		bytes = min(size, payload - from);
		piece = cut_piece(skb, &at, from, bytes);
		if (!piece)
			goto fail;
		number(piece->data, &at, piece->len, nth++);
		adapt_tcp(piece, &at, from, from + bytes == payload);
		if (!(features & NETIF_F_HW_CSUM))
			frame_finish_sum(piece);
		*end = piece;
		end = &piece->next;
	}
	return first;

fail:
	for (; first; first = next) {
		next = first->next;
		kfree_skb(first);
	}
	return ERR_PTR(-ENOMEM);
}
