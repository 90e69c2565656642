// SPDX-License-Identifier: GPL-2.0-only
/*
 * Putting a guest's segments together into super-packets, the reverse of segmentation.
 *
 * A guest without segmentation offload sends segment by segment, and each is switched and sent
 * on its own.  Segments that wait here in a row may leave as a super-packet, as if the guest had
 * made one.  The device, or the kernel, cuts it into segments again, with sequence numbers,
 * lengths, checksums, identifiers, and PSH on the last.  When it leaves, its header gets what the
 * guest said last (act/header.c).  In all else its segments must be alike.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/math.h>
#include <linux/netdevice.h>
#include <linux/netfilter.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <net/checksum.h>
#include <net/dsfield.h>
#include <net/dst.h>
#include <net/inet_ecn.h>
#include <net/ip6_checksum.h>

#include "wire/merge.h"
#include "wire/segment.h"

/* Smaller segments are not worth it, and super-packets of them are rare. */
#define LEAST_BYTES	512

/* On the first of two segments these end a super-packet, or are no data's. */
#define ENDS	(TCP_FLAG_CWR | TCP_FLAG_URG | TCP_FLAG_PSH | TCP_FLAG_RST |	\
		 TCP_FLAG_SYN | TCP_FLAG_FIN)
/* The others.  The word has the window, too. */
#define SAME	(htonl(0x0ff70000))

static inline const void *at(const struct sk_buff *skb, u32 offset)
{
	return skb->data + offset;
}

/* An identifier means nothing where fragments are forbidden (RFC 6864, 4.1).  A queue marks single
 * ECN-capable packets, or all of a super-packet.
 */
static bool ip_follows(const struct iphdr *a, const struct iphdr *b, u32 segs)
{
	return a->ihl == 5 && b->ihl == 5 && !((a->tos | b->tos) & INET_ECN_MASK) &&
	       a->ttl == b->ttl && a->frag_off == b->frag_off &&
	       (a->frag_off == htons(IP_DF) ||
		(u16)(ntohs(b->id) - ntohs(a->id)) == segs);
}

/* Neither has extension headers. */
static bool ip6_follows(const struct ipv6hdr *a, const struct ipv6hdr *b)
{
	return !((ipv6_get_dsfield(a) | ipv6_get_dsfield(b)) & INET_ECN_MASK) &&
	       a->nexthdr == IPPROTO_TCP && b->nexthdr == IPPROTO_TCP &&
	       a->hop_limit == b->hop_limit;
}

/* Are the fields that are not written when a packet leaves as in the last segment of @to?  Both
 * are of one half-flow.
 */
static bool headers_follow(const struct sk_buff *to, const struct sk_buff *skb)
{
	const struct tcon_segment *a = tcon_segment(to), *b = tcon_segment(skb);
	const struct tcphdr *th = at(to, a->l4_offset), *more = at(skb, b->l4_offset);
	const struct iphdr *ip = at(to, a->l3_offset);

	if (a->l3_offset != b->l3_offset || a->l4_offset != b->l4_offset ||
	    a->payload_offset != b->payload_offset || tcp_flag_word(th) & ENDS ||
	    (tcp_flag_word(th) ^ tcp_flag_word(more)) & SAME ||
	    memcmp(th + 1, more + 1, th->doff * 4 - sizeof(*th)))
		return false;
	if (ip->version == 4)
		return ip_follows(ip, at(skb, b->l3_offset),
				  max_t(u32, skb_shinfo(to)->gso_segs, 1));
	return a->l4_offset - a->l3_offset == sizeof(struct ipv6hdr) &&
	       ip6_follows(at(to, a->l3_offset), at(skb, b->l3_offset));
}

/* Does the kernel know the same of both? */
static bool metadata_same(const struct sk_buff *a, const struct sk_buff *b)
{
	return tcon_segment_sum_is_left(a) && tcon_segment_sum_is_left(b) && a->mark == b->mark &&
	       a->priority == b->priority && !skb_nfct(a) && !skb_nfct(b) && !skb_dst(a) &&
	       !skb_dst(b) && !skb_has_frag_list(a);
}

/* Is there nothing but headers and data, neither padding nor FIN? */
static bool is_data(const struct sk_buff *skb)
{
	const struct tcon_segment *seg = tcon_segment(skb);

	return seg->payload_bytes && seg->end_seq - seg->seq == seg->payload_bytes &&
	       skb->len == seg->payload_offset + seg->payload_bytes && !seg->fixed &&
	       !seg->probe;
}

/* Is @skb the next segment of @to? */
static bool follows(const struct sk_buff *to, const struct sk_buff *skb, u32 most_bytes)
{
	const struct tcon_segment *a = tcon_segment(to), *b = tcon_segment(skb);
	u32 wire_bytes = tcon_segment_wire_bytes(to);

	return wire_bytes >= LEAST_BYTES && a->end_seq == b->seq &&
	       is_data(to) && is_data(skb) && a->apart == b->apart &&
	       !(a->payload_bytes % wire_bytes) && !skb_is_gso(skb) &&
	       b->payload_bytes <= wire_bytes &&
	       a->payload_bytes + b->payload_bytes <= most_bytes &&
	       to->len + b->payload_bytes - a->l3_offset <= U16_MAX &&
	       metadata_same(to, skb) && headers_follow(to, skb);
}

/* Makes the headers of @to fit what it has now.  The checksum covers only the pseudo-header. */
static void describe(struct sk_buff *to, const struct tcon_segment *more, bool push)
{
	struct tcon_segment *seg = tcon_segment(to);
	u32 tcp_bytes = to->len - seg->l4_offset;
	struct tcphdr *th = (struct tcphdr *)(to->data + seg->l4_offset);
	struct iphdr *ip = (struct iphdr *)(to->data + seg->l3_offset);
	struct ipv6hdr *ip6 = (struct ipv6hdr *)ip;
	__be16 len;

	seg->end_seq = more->end_seq;
	seg->payload_bytes += more->payload_bytes;
	th->psh = push;
	if (ip->version == 4) {
		len = htons(to->len - seg->l3_offset);
		csum_replace2(&ip->check, ip->tot_len, len);
		ip->tot_len = len;
		th->check = ~csum_tcpudp_magic(ip->saddr, ip->daddr, tcp_bytes, IPPROTO_TCP, 0);
	} else {
		ip6->payload_len = htons(tcp_bytes);
		th->check = ~csum_ipv6_magic(&ip6->saddr, &ip6->daddr, tcp_bytes, IPPROTO_TCP, 0);
	}
}

static void make_super(struct sk_buff *to, u32 wire_bytes)
{
	const struct tcon_segment *seg = tcon_segment(to);
	struct skb_shared_info *shinfo = skb_shinfo(to);
	const struct iphdr *ip = at(to, seg->l3_offset);

	if (!shinfo->gso_size) {
		shinfo->gso_size = wire_bytes;
		shinfo->gso_type = ip->version == 4 ? SKB_GSO_TCPV4 : SKB_GSO_TCPV6;
		skb_set_transport_header(to, seg->l4_offset);
	}
	shinfo->gso_segs = DIV_ROUND_UP(seg->payload_bytes, wire_bytes);
}

/**
 * tcon_merge() - append a segment's payload to the packet before
 * @to: that packet: data at the link-layer header, described in its cb
 * @skb: the segment, likewise, of the same half-flow, at the same port; no other is between them
 * @most_bytes: payload that @to may have then
 *
 * Return: true: @to has it, and @skb is gone.  False: @skb is as it was.
 */
bool tcon_merge(struct sk_buff *to, struct sk_buff *skb, u32 most_bytes)
{
	struct tcon_segment more = *tcon_segment(skb);
	const struct tcphdr *th = at(skb, more.l4_offset);
	u32 wire_bytes = tcon_segment_wire_bytes(to);
	bool stolen, push = th->psh;
	int delta;

	if (!follows(to, skb, most_bytes) || skb_unclone(to, GFP_ATOMIC))
		return false;
	__skb_pull(skb, more.payload_offset);
	if (!skb_try_coalesce(to, skb, &stolen, &delta)) {
		__skb_push(skb, more.payload_offset);
		return false;
	}
	kfree_skb_partial(skb, stolen);
	describe(to, &more, push);
	make_super(to, wire_bytes);
	return true;
}
