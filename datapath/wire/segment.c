// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP segments that TCon keeps, edits or makes: their headers and checksums.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <net/checksum.h>
#include <net/dsfield.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/tcp.h>
#include <tcon/compat.h>

#include "base/seq.h"
#include "wire/segment.h"

#define OPTIONS_MAX	40

/* An IPv6 super-packet of more than 64 KiB has its length in an option of its own, which fills a
 * header of hop-by-hop options (RFC 2675).
 */
#define JUMBO_BYTES	8
#define JUMBO_OPTION	0xc2

/* AE, for which headers of kernels before 7.0 have no name: the byte of the header, and the bit. */
#define AE_BYTE		12
#define AE_BIT		0x01

static __sum16 pseudo_sum(const struct sk_buff *skb, u8 family, u32 tcp_bytes,
			  __wsum sum)
{
	if (family == AF_INET)
		return csum_tcpudp_magic(ip_hdr(skb)->saddr, ip_hdr(skb)->daddr,
					 tcp_bytes, IPPROTO_TCP, sum);
	return csum_ipv6_magic(&ipv6_hdr(skb)->saddr, &ipv6_hdr(skb)->daddr,
			       tcp_bytes, IPPROTO_TCP, sum);
}

/* The page that a packet's header is in, if it is not in a slab; else NULL. */
static inline const struct page *head_page(const struct sk_buff *skb)
{
	return skb->head_frag ? virt_to_head_page(skb->head) : NULL;
}

static inline const struct page *frag_page(const struct skb_shared_info *info, unsigned int i)
{
	return compound_head(skb_frag_page(&info->frags[i]));
}

static const struct page *first_page(const struct sk_buff *skb)
{
	if (skb->head_frag)
		return head_page(skb);
	return skb_shinfo(skb)->nr_frags ? frag_page(skb_shinfo(skb), 0) : NULL;
}

static const struct page *last_page(const struct sk_buff *skb)
{
	const struct skb_shared_info *info = skb_shinfo(skb);

	return info->nr_frags ? frag_page(info, info->nr_frags - 1) : head_page(skb);
}

/**
 * tcon_segment_pinned() - how much memory is not freed while a packet is kept?
 * @skb: the packet
 * @before: the one that is kept before it, and let go before it; NULL: none
 * @shared_bytes: of that, what @before needs, too
 *
 * A socket or vhost cuts packets out of pages of up to 32 KiB.  A packet of 66 bytes keeps all of
 * its page, which truesize does not say.  Packets in a row share a page, which counts once.
 *
 * Return: bytes.
 */
u32 tcon_segment_pinned(const struct sk_buff *skb, const struct sk_buff *before,
			u32 *shared_bytes)
{
	const struct skb_shared_info *info = skb_shinfo(skb);
	const struct page *last = head_page(skb), *page = before ? last_page(before) : NULL;
	u32 bytes = SKB_DATA_ALIGN(sizeof(*skb));
	const struct sk_buff *part;
	unsigned int i;

	*shared_bytes = page && page == first_page(skb) ? page_size((struct page *)page) : 0;
	if (last)
		bytes += page_size((struct page *)last);
	else
		bytes += skb_end_offset(skb) + SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
	for (i = 0; i < info->nr_frags; i++) {
		page = frag_page(info, i);
		if (page != last)
			bytes += page_size((struct page *)page);
		last = page;
	}
	skb_walk_frags(skb, part)
		bytes += part->truesize;
	return bytes;
}

/**
 * tcon_segment_drop_jumbo() - take the header out that only a packet beyond 64 KiB may have
 * @skb: the packet, data at the link-layer header; its headers are linear and not shared
 * @l3_offset: offset of its IP header
 *
 * The headers before it move, as where the kernel cuts such a packet.  A receiver discards a
 * shorter packet with it (RFC 2675, 3).
 *
 * Return: bytes by which the packet is shorter now.
 */
u32 tcon_segment_drop_jumbo(struct sk_buff *skb, u32 l3_offset)
{
	struct ipv6hdr *ip6 = (struct ipv6hdr *)(skb->data + l3_offset);
	const u8 *hop = (const u8 *)(ip6 + 1);

	if (ip6->version != 6 || ip6->payload_len || ip6->nexthdr != IPPROTO_HOPOPTS || hop[1] ||
	    hop[2] != JUMBO_OPTION)
		return 0;
	ip6->nexthdr = hop[0];
	memmove(skb->data + JUMBO_BYTES, skb->data, l3_offset + sizeof(*ip6));
	__skb_pull(skb, JUMBO_BYTES);
	skb->mac_header += JUMBO_BYTES;
	skb->network_header += JUMBO_BYTES;
	if (skb->ip_summed == CHECKSUM_COMPLETE)
		skb->ip_summed = CHECKSUM_NONE;
	return JUMBO_BYTES;
}

static void sum_all(struct sk_buff *skb, u8 family, u32 tcp_bytes)
{
	struct tcphdr *th = tcp_hdr(skb);

	th->check = 0;
	th->check = pseudo_sum(skb, family, tcp_bytes,
			       skb_checksum(skb, skb_transport_offset(skb), tcp_bytes, 0));
	skb->ip_summed = CHECKSUM_NONE;	/* complete */
}

static void leave_sum(struct sk_buff *skb, u8 family, u32 tcp_bytes)
{
	tcp_hdr(skb)->check = ~pseudo_sum(skb, family, tcp_bytes, 0);
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct tcphdr, check);
	skb->ip_summed = CHECKSUM_PARTIAL;
}

/**
 * tcon_segment_finish() - set lengths and checksums of a segment that TCon made
 * @skb: the segment; headers are linear, network and transport header set
 * @family: AF_INET or AF_INET6
 * @left: TCP's checksum is left to the device
 */
void tcon_segment_finish(struct sk_buff *skb, u8 family, bool left)
{
	u32 tcp_bytes = skb->len - skb_transport_offset(skb);

	if (family == AF_INET) {
		ip_hdr(skb)->tot_len = htons(skb->len -
					     skb_network_offset(skb));
		ip_send_check(ip_hdr(skb));
	} else {	/* extension headers, if any, lie before TCP's */
		tcon_segment_drop_jumbo(skb, skb_network_offset(skb));
		ipv6_hdr(skb)->payload_len =
			htons(skb->len - skb_network_offset(skb) -
			      sizeof(struct ipv6hdr));
	}
	if (left)
		leave_sum(skb, family, tcp_bytes);
	else
		sum_all(skb, family, tcp_bytes);
}

/* @sum: sum of the TCP segment, without the pseudo-header. */
static bool sum_is_right(const struct sk_buff *skb, u8 family, u32 l3_offset,
			 u32 tcp_bytes, __wsum sum)
{
	const u8 *l3 = skb->data + l3_offset;

	if (family == AF_INET) {
		const struct iphdr *ip = (const struct iphdr *)l3;

		return !csum_tcpudp_magic(ip->saddr, ip->daddr, tcp_bytes,
					  IPPROTO_TCP, sum);
	} else {
		const struct ipv6hdr *ip6 = (const struct ipv6hdr *)l3;

		return !csum_ipv6_magic(&ip6->saddr, &ip6->daddr, tcp_bytes,
					IPPROTO_TCP, sum);
	}
}

/**
 * tcon_segment_intact() - does a kept packet still fit its checksum?
 * @skb: the packet, with its &struct tcon_segment
 * @family: AF_INET or AF_INET6
 *
 * A repair gets a new checksum.  So a damaged copy must be found before, or it would get
 * a right one.  If the sum is not filled in yet, there is nothing to check: the packet has
 * not been on any wire.
 *
 * Return: false if not.
 */
bool tcon_segment_intact(const struct sk_buff *skb, u8 family)
{
	const struct tcon_segment *seg = tcon_segment(skb);
	u32 tcp_bytes = seg->payload_offset - seg->l4_offset +
			seg->payload_bytes;

	if (tcon_segment_is_checked(skb))
		return true;
	return sum_is_right(skb, family, seg->l3_offset, tcp_bytes,
			    skb_checksum(skb, seg->l4_offset, tcp_bytes, 0));
}

/**
 * tcon_segment_sound() - is the checksum of a packet to the guest right?
 * @skb: the packet, data at the link-layer header, whose sum no device has checked
 * @pkt: the same, parsed
 *
 * The guest will discard a damaged packet, so TCon must not believe its window,
 * acknowledgment or reset either.  If a device has only
 * summed up the frame (CHECKSUM_COMPLETE), the headers are subtracted from that.  Else
 * the sum is computed, which is cheap because ACKs are short.
 *
 * Return: false if its checksum is wrong.
 */
bool tcon_segment_sound(const struct sk_buff *skb,
			const struct tcon_packet *pkt)
{
	u32 tcp_bytes = pkt->payload_offset - pkt->l4_offset +
			pkt->payload_bytes;
	__wsum sum;

	if (skb->ip_summed == CHECKSUM_COMPLETE) {
		sum = csum_sub(skb->csum,
			       skb_checksum(skb, 0, pkt->l4_offset, 0));
		if (sum_is_right(skb, pkt->family, pkt->l3_offset, tcp_bytes,
				 sum))
			return true;	/* else: padding, or a wrong sum from the device */
	}
	return sum_is_right(skb, pkt->family, pkt->l3_offset, tcp_bytes,
			    skb_checksum(skb, pkt->l4_offset, tcp_bytes, 0));
}

/* The next option of this kind, from @opt on. */
static u8 *next_option(struct tcphdr *th, u8 *opt, u8 kind)
{
	u8 *end = (u8 *)th + th->doff * 4;

	while (opt < end && *opt != TCPOPT_EOL) {
		if (*opt == TCPOPT_NOP) {
			opt++;
			continue;
		}
		if (end - opt < 2 || opt[1] < 2 || opt[1] > end - opt)
			return NULL;
		if (*opt == kind)
			return opt;
		opt += opt[1];
	}
	return NULL;
}

/**
 * tcon_segment_option() - find a TCP option
 * @th: the header, all of it linear
 * @kind: kind of the option
 *
 * Return: the option, at its kind byte, with its length checked; NULL if there is none.
 */
u8 *tcon_segment_option(struct tcphdr *th, u8 kind)
{
	return next_option(th, (u8 *)(th + 1), kind);
}

/**
 * tcon_segment_ace() - read TCP's ECN flags
 * @th: the header
 *
 * Return: TCON_ACE_*.
 */
u8 tcon_segment_ace(const struct tcphdr *th)
{
	return (th->ece ? TCON_ACE_ECE : 0) | (th->cwr ? TCON_ACE_CWR : 0) |
	       (((const u8 *)th)[AE_BYTE] & AE_BIT ? TCON_ACE_AE : 0);
}

/**
 * tcon_segment_write_ace() - write TCP's ECN flags
 * @th: the header; its checksum is the caller's
 * @ace: TCON_ACE_*
 */
void tcon_segment_write_ace(struct tcphdr *th, u8 ace)
{
	u8 *byte = (u8 *)th + AE_BYTE;

	th->ece = !!(ace & TCON_ACE_ECE);
	th->cwr = !!(ace & TCON_ACE_CWR);
	*byte &= ~AE_BIT;
	if (ace & TCON_ACE_AE)
		*byte |= AE_BIT;
}

/* Turns the headers into an ACK's, without data. */
static void write_ack(struct tcphdr *th, u32 seq, u32 tsval, bool accurate)
{
	u8 *opt = tcon_segment_option(th, TCPOPT_TIMESTAMP);

	th->seq = htonl(seq);
	th->fin = 0;
	th->psh = 0;
	th->urg = 0;
	th->urg_ptr = 0;
	if (!accurate)	/* CWR is for data (RFC 3168, 6.1.2), or a bit of a counter */
		th->cwr = 0;
	if (opt && opt[1] == TCPOLEN_TIMESTAMP)
		put_unaligned_be32(tsval, opt + 2);
}

/**
 * tcon_segment_make_ack() - take the data out of a segment, so that an ACK is left
 * @skb: the segment, data at the link-layer header, all headers linear
 * @pkt: the same, parsed
 * @seq: the ACK's sequence number
 * @tsval: its TSval, if it has one
 * @accurate: its ECN flags are a counter (RFC 9768)
 *
 * It is not ECN-capable (RFC 3168, 6.1.4).
 *
 * Return: false without memory: then nothing has changed.
 */
bool tcon_segment_make_ack(struct sk_buff *skb, const struct tcon_packet *pkt, u32 seq,
			   u32 tsval, bool accurate)
{
	if (skb_unclone(skb, GFP_ATOMIC) || pskb_trim(skb, pkt->payload_offset))
		return false;
	skb_gso_reset(skb);
	skb_set_network_header(skb, pkt->l3_offset);
	skb_set_transport_header(skb, pkt->l4_offset);
	if (pkt->family == AF_INET)
		ipv4_change_dsfield(ip_hdr(skb), (u8)~INET_ECN_MASK, 0);
	else
		ipv6_change_dsfield(ipv6_hdr(skb), (u8)~INET_ECN_MASK, 0);
	write_ack(tcp_hdr(skb), seq, tsval, accurate);
	tcon_segment_finish(skb, pkt->family, false);
	return true;
}

static u8 *find_sack(struct tcphdr *th)
{
	return tcon_segment_option(th, TCPOPT_SACK);
}

/* TCon's own option, by kind, length and identifier.  Others may use the kind as well. */
static u8 *find_own(struct tcphdr *th)
{
	u8 *opt = tcon_segment_option(th, TCON_OPTION_KIND);

	while (opt && ((opt[1] != TCON_OPTION_OFFER_BYTES &&
			opt[1] != TCON_OPTION_COUNT_BYTES) ||
		       get_unaligned_be16(opt + 2) != TCON_OPTION_EXID))
		opt = next_option(th, opt + opt[1], TCON_OPTION_KIND);
	return opt;
}

/* Corrects the checksum where @now was @old, word by word: an option may begin at any byte. */
static void sum_words(struct sk_buff *skb, struct tcphdr *th, const __be32 *now,
		      const __be32 *old, u32 words)
{
	u32 i;

	for (i = 0; i < words; i++)
		if (now[i] != old[i])
			inet_proto_csum_replace4(&th->check, skb, old[i],
						 now[i], false);
}

/**
 * tcon_segment_sum_header() - correct the checksum after TCP's header has changed
 * @skb: the segment
 * @th: the header, which has the checksum that was right
 * @old: the header as it was
 * @words: length of it
 *
 * The words of the checksum and of the urgent pointer must be as they were.
 */
void tcon_segment_sum_header(struct sk_buff *skb, struct tcphdr *th, const __be32 *old,
			     u32 words)
{
	const u32 fixed = offsetof(struct tcphdr, check) / 4 + 1;
	const __be32 *now = (const __be32 *)th;

	sum_words(skb, th, now, old, fixed - 1);
	sum_words(skb, th, now + fixed, old + fixed, words - fixed);
}

/* Overwrites each option that @find finds with NOPs, so that nothing moves. */
static bool strip(struct sk_buff *skb, const struct tcon_packet *pkt,
		  u8 *(*find)(struct tcphdr *th))
{
	u32 words = (pkt->payload_offset - pkt->l4_offset) / 4 -
		    sizeof(struct tcphdr) / 4;
	__be32 old[OPTIONS_MAX / 4];
	struct tcphdr *th;
	u8 *opt;

	if (skb_ensure_writable(skb, pkt->payload_offset))
		return false;
	th = (struct tcphdr *)(skb->data + pkt->l4_offset);
	memcpy(old, th + 1, words * sizeof(*old));
	while ((opt = find(th)))
		memset(opt, TCPOPT_NOP, opt[1]);
	sum_words(skb, th, (__be32 *)(th + 1), old, words);
	return true;
}

/**
 * tcon_segment_strip_sack() - take the SACK blocks out
 * @skb: the segment, data at the link-layer header
 * @pkt: the same, parsed
 *
 * Return: false without memory: then nothing has changed.
 */
bool tcon_segment_strip_sack(struct sk_buff *skb,
			     const struct tcon_packet *pkt)
{
	return strip(skb, pkt, find_sack);
}

/**
 * tcon_segment_strip_own() - take TCon's own option out
 * @skb: the segment, data at the link-layer header
 * @pkt: the same, parsed
 *
 * Return: false without memory: then nothing has changed.
 */
bool tcon_segment_strip_own(struct sk_buff *skb, const struct tcon_packet *pkt)
{
	return strip(skb, pkt, find_own);
}

/* Moves all headers in front of TCP's options by @bytes towards the front. */
static void move_headers(struct sk_buff *skb, u32 header_bytes, u32 bytes)
{
	skb_push(skb, bytes);
	memmove(skb->data, skb->data + bytes, header_bytes);
	skb->mac_header -= bytes;
	skb->network_header -= bytes;
	if (skb_transport_header_was_set(skb))
		skb->transport_header -= bytes;
	if (skb->ip_summed == CHECKSUM_PARTIAL)
		skb->csum_start -= bytes;
	else if (skb->ip_summed == CHECKSUM_COMPLETE)
		skb->ip_summed = CHECKSUM_NONE;
}

/* Corrects the length in the IP header and in TCP's checksum. */
static void lengthen(struct sk_buff *skb, const struct tcon_packet *pkt,
		     struct tcphdr *th, u32 bytes)
{
	u32 tcp_bytes = pkt->payload_offset - pkt->l4_offset +
			pkt->payload_bytes;
	u8 *l3 = skb->data + pkt->l3_offset;

	if (pkt->family == AF_INET) {
		struct iphdr *ip = (struct iphdr *)l3;
		__be16 old = ip->tot_len;

		ip->tot_len = htons(ntohs(old) + bytes);
		csum_replace2(&ip->check, old, ip->tot_len);
	} else {
		struct ipv6hdr *ip6 = (struct ipv6hdr *)l3;

		ip6->payload_len = htons(ntohs(ip6->payload_len) + bytes);
	}
	inet_proto_csum_replace2(&th->check, skb, htons(tcp_bytes),
				 htons(tcp_bytes + bytes), true);
}

/**
 * tcon_segment_add_option() - put an option before those that are there
 * @skb: the segment, data at the link-layer header; no super-packet
 * @pkt: the same, parsed; its payload_offset follows
 * @option: in whole words
 * @bytes: its length, for which the header has room
 *
 * It is put in front because receivers stop at the end of the option list.
 *
 * Return: false without memory: then nothing has changed.
 */
bool tcon_segment_add_option(struct sk_buff *skb, struct tcon_packet *pkt,
			     const __be32 *option, u32 bytes)
{
	struct tcphdr *th;
	__be16 *word, old;
	u32 i;

	if (skb_ensure_writable(skb, pkt->payload_offset) ||
	    skb_cow_head(skb, bytes))
		return false;
	move_headers(skb, pkt->l4_offset + sizeof(*th), bytes);
	th = (struct tcphdr *)(skb->data + pkt->l4_offset);
	memcpy(th + 1, option, bytes);
	for (i = 0; i < bytes / 4; i++)
		inet_proto_csum_replace4(&th->check, skb, 0, option[i], false);
	lengthen(skb, pkt, th, bytes);
	word = (__be16 *)&tcp_flag_word(th);
	old = *word;
	th->doff += bytes / 4;
	inet_proto_csum_replace2(&th->check, skb, old, *word, false);
	pkt->payload_offset += bytes;
	return true;
}

/**
 * tcon_segment_set_flags() - set and clear flags
 * @skb: the segment, data at the link-layer header
 * @pkt: the same, parsed
 * @set: TCON_TCP_*
 * @clear: TCON_TCP_*; none of @set
 * @clear_ae: clear AE too
 *
 * Return: false without memory: then nothing has changed.
 */
bool tcon_segment_set_flags(struct sk_buff *skb, const struct tcon_packet *pkt,
			    u8 set, u8 clear, bool clear_ae)
{
	bool mark_gso = set & TCON_TCP_CWR && skb_is_gso(skb);
	struct tcphdr *th;
	__be16 *word, old;
	u16 flags;

	/* Clones of the packet share skb_shinfo(), where gso_type is. */
	if ((mark_gso && skb_unclone(skb, GFP_ATOMIC)) ||
	    skb_ensure_writable(skb, pkt->l4_offset + sizeof(*th)))
		return false;
	th = (struct tcphdr *)(skb->data + pkt->l4_offset);
	word = (__be16 *)&tcp_flag_word(th);
	old = *word;
	flags = (ntohs(old) | set) & ~clear;
	if (clear_ae)
		flags &= ~0x100;
	*word = htons(flags);
	inet_proto_csum_replace2(&th->check, skb, old, *word, false);
	if (mark_gso)	/* on the first segment only */
		skb_shinfo(skb)->gso_type |= SKB_GSO_TCP_ECN;
	return true;
}

/**
 * tcon_segment_set_ecn() - write the ECN field of the IP header
 * @skb: the segment, data at the link-layer header
 * @pkt: the same, parsed
 * @ecn: TCON_ECN_*
 *
 * Return: false without memory: then nothing has changed.
 */
bool tcon_segment_set_ecn(struct sk_buff *skb, const struct tcon_packet *pkt,
			  u8 ecn)
{
	struct ipv6hdr *ip6;
	__be16 old;

	if (skb_ensure_writable(skb, pkt->l4_offset))
		return false;
	if (pkt->family == AF_INET) {
		ipv4_change_dsfield((struct iphdr *)(skb->data +
						     pkt->l3_offset),
				    (u8)~INET_ECN_MASK, ecn);
		return true;
	}
	ip6 = (struct ipv6hdr *)(skb->data + pkt->l3_offset);
	old = *(__be16 *)ip6;
	ipv6_change_dsfield(ip6, (u8)~INET_ECN_MASK, ecn);
	/* IPv6 has no header checksum that balances the change, so skb->csum changes. */
	if (skb->ip_summed == CHECKSUM_COMPLETE)
		skb->csum = csum_add(csum_sub(skb->csum,
					      (__force __wsum)old),
				     (__force __wsum)*(__be16 *)ip6);
	return true;
}

/* The TCP header without its options, to be written; NULL without memory. */
static struct tcphdr *writable_header(struct sk_buff *skb, const struct tcon_packet *pkt)
{
	if (skb_ensure_writable(skb, pkt->l4_offset + sizeof(struct tcphdr)))
		return NULL;
	return (struct tcphdr *)(skb->data + pkt->l4_offset);
}

/**
 * tcon_segment_set_window() - write a window field
 * @skb: the segment, data at the link-layer header
 * @pkt: the same, parsed
 * @field: the field, as in the header
 *
 * Return: false without memory: then nothing has changed.
 */
bool tcon_segment_set_window(struct sk_buff *skb,
			     const struct tcon_packet *pkt, u16 field)
{
	struct tcphdr *th = writable_header(skb, pkt);
	__be16 old;

	if (!th)
		return false;
	old = th->window;
	th->window = htons(field);
	inet_proto_csum_replace2(&th->check, skb, old, th->window, false);
	return true;
}

/**
 * tcon_segment_set_ack() - write an acknowledgment number
 * @skb: the segment, data at the link-layer header
 * @pkt: the same, parsed
 * @ack: the number
 *
 * Return: false without memory: then nothing has changed.
 */
bool tcon_segment_set_ack(struct sk_buff *skb, const struct tcon_packet *pkt, u32 ack)
{
	struct tcphdr *th = writable_header(skb, pkt);
	__be32 old;

	if (!th)
		return false;
	old = th->ack_seq;
	th->ack_seq = htonl(ack);
	inet_proto_csum_replace4(&th->check, skb, old, th->ack_seq, false);
	return true;
}
