/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For the fuzzer of the datapath: frames of two ends, made from what the parser would
 * find in them, and read by it.  Each byte of payload follows from its sequence number.
 */
#ifndef _TESTS_SEGMENTS_H
#define _TESTS_SEGMENTS_H

#include <linux/ip.h>
#include <linux/netdevice.h>
#include <linux/tcp.h>
#include <asm/unaligned.h>
#include <net/ip.h>
#include <net/tcp.h>

#include "datapath/wire/packet.h"

#define SEG_MSS		1000U
#define SEG_GUEST	0x0100000aU
#define SEG_PEER	0x0200000aU
#define SEG_HEAD_BYTES	(14 + 20)
#define SEG_OPTIONS_MAX	40
#define SEG_PERIOD	65521
#define GUEST_ISN	0xffff0000U	/* each file crosses 2^32 */

/* The guest's file from @seq on, up to 64 KiB of it; it repeats itself later. */
static inline const u8 *payload_at(u32 seq)
{
	static u8 file[2 * SEG_PERIOD];
	u32 i;

	if (!file[0])
		for (i = 0; i < sizeof(file); i++)
			file[i] = (i % SEG_PERIOD + 1) * 0x9e3779b1U >> 24 | !i;
	return file + (seq - GUEST_ISN) % SEG_PERIOD;
}

static inline u32 put_ts(u8 *opt, const struct tcon_packet *p)
{
	if (!p->has_ts)
		return 0;
	put_unaligned_be32(0x0101080a, opt);
	put_unaligned_be32(p->tsval, opt + 4);
	put_unaligned_be32(p->tsecr, opt + 8);
	return 12;
}

static inline u32 put_sacks(u8 *opt, const struct tcon_packet *p)
{
	u32 i;

	if (!p->n_sacks)
		return 0;
	put_unaligned_be16(0x0101, opt);
	opt[2] = TCPOPT_SACK;
	opt[3] = 2 + 8 * p->n_sacks;
	for (i = 0; i < p->n_sacks; i++) {
		put_unaligned_be32(p->sacks[i].start, opt + 4 + 8 * i);
		put_unaligned_be32(p->sacks[i].end, opt + 8 + 8 * i);
	}
	return 4 + 8 * p->n_sacks;
}

/* Options of a SYN only. */
static inline u32 put_syn(u8 *opt, const struct tcon_packet *p)
{
	u32 n = 4;

	put_unaligned_be32(0x02040000 | p->mss, opt);
	if (p->wscale != TCON_WSCALE_NONE) {
		put_unaligned_be32(0x01030300 | p->wscale, opt + n);
		n += 4;
	}
	if (p->sack_permitted) {
		put_unaligned_be32(0x01010402, opt + n);
		n += 4;
	}
	return n;
}

/* TCon's own (datapath/sender/ecn.c). */
static inline u32 put_own(u8 *opt, const struct tcon_packet *p)
{
	put_unaligned_be32((u32)TCON_OPTION_KIND << 24 | p->option_bytes << 16 |
			   TCON_OPTION_EXID, opt);
	if (p->option_bytes == TCON_OPTION_COUNT_BYTES)
		put_unaligned_be32(p->ce_bytes, opt + 4);
	return p->option_bytes;
}

static inline u32 put_options(u8 *opt, const struct tcon_packet *p)
{
	u32 n = put_ts(opt, p);

	if (p->option_bytes)
		n += put_own(opt + n, p);
	if (p->flags & TCON_TCP_SYN)
		return n + put_syn(opt + n, p);
	return n + put_sacks(opt + n, p);
}

static inline __wsum pseudo_sum(u32 tcp_bytes)
{
	return csum_add(csum_add(shim_fold(SEG_GUEST), shim_fold(SEG_PEER)),
			htons(tcp_bytes) + htons(IPPROTO_TCP));
}

/* Fills the checksum in, or leaves that to a device. */
static inline void segment_sum(struct sk_buff *skb, bool partial)
{
	u32 tcp_bytes = skb->len - SEG_HEAD_BYTES;
	struct tcphdr *th = (struct tcphdr *)(skb->data + SEG_HEAD_BYTES);

	th->check = 0;
	skb->ip_summed = partial ? CHECKSUM_PARTIAL : CHECKSUM_NONE;
	skb->csum_start = (u8 *)th - skb->head;
	skb->csum_offset = offsetof(struct tcphdr, check);
	if (partial)
		th->check = pseudo_sum(tcp_bytes);
	else
		th->check = csum_fold(csum_partial(th, tcp_bytes,
						   pseudo_sum(tcp_bytes)));
}

static inline void put_ip(u8 *frame, const struct tcon_packet *p, bool from_guest, u32 bytes,
			  u16 id)
{
	struct iphdr *ip = (struct iphdr *)(frame + 14);

	memset(frame, 2, 12);
	put_unaligned_be16(ETH_P_IP, frame + 12);
	memset(ip, 0, sizeof(*ip));
	ip->version = 4;
	ip->ihl = 5;
	ip->tot_len = htons(bytes);
	ip->id = htons(id);
	ip->frag_off = htons(id & 8 ? IP_DF : 0);
	ip->ttl = 64;
	ip->protocol = IPPROTO_TCP;
	ip->tos = p->tos;
	ip->saddr = from_guest ? SEG_GUEST : SEG_PEER;
	ip->daddr = from_guest ? SEG_PEER : SEG_GUEST;
	ip_send_check(ip);
}

/* A frame with what @p says; @p->payload_bytes of payload. */
static inline struct sk_buff *segment_new(const struct tcon_packet *p,
					  bool from_guest, u16 id, bool partial)
{
	u8 options[SEG_OPTIONS_MAX];
	u32 n = put_options(options, p);
	struct sk_buff *skb = alloc_skb(NET_SKB_PAD + NET_IP_ALIGN + SEG_HEAD_BYTES + 20 + n +
					p->payload_bytes, GFP_KERNEL);
	struct tcphdr *th;

	BUG_ON(!skb || n > sizeof(options));
	skb_reserve(skb, NET_SKB_PAD + NET_IP_ALIGN);
	/* A super-packet's length is what the frame has, whatever its header says. */
	put_ip(skb_put(skb, SEG_HEAD_BYTES), p, from_guest,
	       p->payload_bytes > SEG_MSS ? id % 3 * (20 + n) :
					    40 + n + p->payload_bytes, id);
	th = skb_put_zero(skb, 20);
	th->source = htons(from_guest ? 40001 : 5201);
	th->dest = htons(from_guest ? 5201 : 40001);
	th->seq = htonl(p->seq);
	th->ack_seq = htonl(p->ack);
	((u8 *)th)[12] = (20 + n) / 4 << 4;
	((u8 *)th)[13] = p->flags;
	th->window = htons(p->window);
	skb_put_data(skb, options, n);
	skb_put_data(skb, payload_at(p->seq), p->payload_bytes);
	skb_reset_mac_header(skb);
	segment_sum(skb, partial);
	if (p->payload_bytes > SEG_MSS)
		skb_shinfo(skb)->gso_size = SEG_MSS;
	return skb;
}

/* Read a frame, whose checksums must be right, and so its payload. */
static inline struct tcon_packet segment_read(const struct sk_buff *skb)
{
	const struct iphdr *ip = (const struct iphdr *)(skb->data + 14);
	const u8 *th = skb->data + SEG_HEAD_BYTES;
	u32 bytes = skb->len - SEG_HEAD_BYTES;
	struct tcon_packet p = {};

	WARN_ON(tcon_packet_parse(&p, skb->data, skb->len, skb->len, skb_is_gso(skb)) !=
		TCON_PARSE_OK);
	WARN_ON(csum_fold(csum_partial(ip, 20, 0)));
	WARN_ON(!skb_is_gso(skb) && ntohs(ip->tot_len) + 14 != skb->len);
	if (skb->ip_summed == CHECKSUM_PARTIAL)
		WARN_ON(((const struct tcphdr *)th)->check != (u16)pseudo_sum(bytes));
	else
		WARN_ON(csum_fold(csum_partial(th, bytes, pseudo_sum(bytes))));
	WARN_ON(memcmp(skb->data + p.payload_offset, payload_at(p.seq), p.payload_bytes));
	return p;
}

/* Bytes @from .. @from + @bytes of the payload of @skb, with its headers. */
static inline struct sk_buff *segment_piece(const struct sk_buff *skb, u32 head_bytes,
					    u32 from, u32 bytes)
{
	bool last = head_bytes + from + bytes == skb->len;
	struct sk_buff *piece = alloc_skb(NET_SKB_PAD + NET_IP_ALIGN + head_bytes + bytes, GFP_ATOMIC);
	struct tcphdr *th;
	struct iphdr *ip;

	if (!piece)
		return NULL;
	skb_copy_header(piece, skb);
	skb_shinfo(piece)->gso_size = 0;
	skb_reserve(piece, NET_SKB_PAD + NET_IP_ALIGN);
	skb_put_data(piece, skb->data, head_bytes);
	skb_put_data(piece, skb->data + head_bytes + from, bytes);
	skb_reset_mac_header(piece);
	ip = (struct iphdr *)(piece->data + 14);
	ip->tot_len = htons(piece->len - 14);
	ip->id = htons(ntohs(ip->id) + from / SEG_MSS);
	ip_send_check(ip);
	th = (struct tcphdr *)(piece->data + SEG_HEAD_BYTES);
	th->seq = htonl(ntohl(th->seq) + from);
	th->fin &= last;
	th->psh &= last;
	th->cwr &= !from;
	segment_sum(piece, true);
	return piece;
}

/* As the kernel cuts a super-packet: by its gso_size. */
struct sk_buff *__skb_gso_segment(struct sk_buff *skb, u64 features, bool tx_path)
{
	u32 size = skb_shinfo(skb)->gso_size, from, head_bytes;
	struct sk_buff *first = NULL, **at = &first, *next;
	const struct tcphdr *th = (const struct tcphdr *)(skb->data + SEG_HEAD_BYTES);

	head_bytes = SEG_HEAD_BYTES + th->doff * 4;
	for (from = 0; head_bytes + from < skb->len; from += size) {
		*at = segment_piece(skb, head_bytes, from,
				    min(size, skb->len - head_bytes - from));
		if (!*at)
			goto fail;
		at = &(*at)->next;
	}
	return first;

fail:
	for (; first; first = next) {
		next = first->next;
		kfree_skb(first);
	}
	return NULL;
}

#endif /* _TESTS_SEGMENTS_H */
