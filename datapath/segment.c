// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP segments that TCon keeps, edits and makes: their headers and checksums.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <net/checksum.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/tcp.h>

#include "segment.h"

#define OPTIONS_MAX	40

static __sum16 pseudo_sum(const struct sk_buff *skb, u8 family, u32 tcp_bytes,
			  __wsum sum)
{
	if (family == AF_INET)
		return csum_tcpudp_magic(ip_hdr(skb)->saddr, ip_hdr(skb)->daddr,
					 tcp_bytes, IPPROTO_TCP, sum);
	return csum_ipv6_magic(&ipv6_hdr(skb)->saddr, &ipv6_hdr(skb)->daddr,
			       tcp_bytes, IPPROTO_TCP, sum);
}

/**
 * tcon_segment_finish() - lengths and checksums of a segment that TCon made
 * @skb: linear, network and transport header set
 * @family: AF_INET or AF_INET6
 */
void tcon_segment_finish(struct sk_buff *skb, u8 family)
{
	u32 tcp_bytes = skb->len - skb_transport_offset(skb);
	struct tcphdr *th = tcp_hdr(skb);

	if (family == AF_INET) {
		ip_hdr(skb)->tot_len = htons(skb->len -
					     skb_network_offset(skb));
		ip_send_check(ip_hdr(skb));
	} else {	/* extension headers, if any, lie before TCP's */
		ipv6_hdr(skb)->payload_len =
			htons(skb->len - skb_network_offset(skb) -
			      sizeof(struct ipv6hdr));
	}
	th->check = 0;
	th->check = pseudo_sum(skb, family, tcp_bytes,
			       csum_partial(th, tcp_bytes, 0));
	skb->ip_summed = CHECKSUM_NONE;	/* complete */
}

static bool sum_is_right(const struct sk_buff *skb, u8 family, u32 l3_offset,
			 u32 l4_offset, u32 tcp_bytes)
{
	__wsum sum = skb_checksum(skb, l4_offset, tcp_bytes, 0);
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
 * tcon_segment_intact() - does a kept packet carry what its checksum says?
 * @skb: the packet, with its &struct tcon_segment
 * @family: AF_INET or AF_INET6
 *
 * A sum that a repair gets is computed anew: a damaged packet must not get a
 * right one.  Where the sum is still to be filled in, nothing can be checked,
 * and nothing has travelled.
 *
 * Return: false if not.
 */
bool tcon_segment_intact(const struct sk_buff *skb, u8 family)
{
	const struct tcon_segment *seg = tcon_segment(skb);

	if (skb->ip_summed != CHECKSUM_NONE)
		return true;
	return sum_is_right(skb, family, seg->l3_offset, seg->l4_offset,
			    seg->payload_offset - seg->l4_offset +
			    seg->payload_bytes);
}

/**
 * tcon_segment_sound() - may a packet from outside be believed?
 * @skb: the packet, data at the link-layer header
 * @pkt: the same, parsed
 *
 * A bit that was turned on the way would have TCon believe a window, an
 * acknowledgment or a reset that the guest will not.  Where a device has looked
 * at the sum that is known; else it is cheap: ACKs are short.
 *
 * Return: false if its checksum is wrong.
 */
bool tcon_segment_sound(const struct sk_buff *skb,
			const struct tcon_packet *pkt)
{
	if (likely(skb->ip_summed != CHECKSUM_NONE))
		return true;
	return sum_is_right(skb, pkt->family, pkt->l3_offset, pkt->l4_offset,
			    pkt->payload_offset - pkt->l4_offset +
			    pkt->payload_bytes);
}

/**
 * tcon_segment_option() - find a TCP option
 * @th: the header, all of it linear
 * @kind: of the option
 *
 * Return: the option's kind byte, its length checked; NULL.
 */
u8 *tcon_segment_option(struct tcphdr *th, u8 kind)
{
	u8 *opt = (u8 *)(th + 1), *end = (u8 *)th + th->doff * 4;

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
 * tcon_segment_strip_sack() - take the SACK blocks out
 * @skb: the segment, data at the link-layer header
 * @pkt: the same, parsed
 *
 * NOPs take their place, so that nothing moves.
 *
 * Return: false without memory: then nothing has changed.
 */
bool tcon_segment_strip_sack(struct sk_buff *skb,
			     const struct tcon_packet *pkt)
{
	u32 words = (pkt->payload_offset - pkt->l4_offset) / 4 -
		    sizeof(struct tcphdr) / 4;
	__be32 old[OPTIONS_MAX / 4], *now;
	struct tcphdr *th;
	u8 *opt;
	u32 i;

	if (skb_ensure_writable(skb, pkt->payload_offset))
		return false;
	th = (struct tcphdr *)(skb->data + pkt->l4_offset);
	now = (__be32 *)(th + 1);
	memcpy(old, now, words * sizeof(*now));
	while ((opt = tcon_segment_option(th, TCPOPT_SACK)))
		memset(opt, TCPOPT_NOP, opt[1]);
	for (i = 0; i < words; i++)
		if (now[i] != old[i])
			inet_proto_csum_replace4(&th->check, skb, old[i],
						 now[i], false);
	return true;
}

/**
 * tcon_segment_set_window() - write a window field
 * @skb: the segment, data at the link-layer header
 * @pkt: the same, parsed
 * @field: as it stands in the header
 *
 * Return: false without memory: then nothing has changed.
 */
bool tcon_segment_set_window(struct sk_buff *skb,
			     const struct tcon_packet *pkt, u16 field)
{
	struct tcphdr *th;
	__be16 old;

	if (skb_ensure_writable(skb, pkt->l4_offset + sizeof(*th)))
		return false;
	th = (struct tcphdr *)(skb->data + pkt->l4_offset);
	old = th->window;
	th->window = htons(field);
	inet_proto_csum_replace2(&th->check, skb, old, th->window, false);
	return true;
}
