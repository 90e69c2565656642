// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sending a packet the way that the guest's newest one took.
 *
 * The next hop's address may have changed, by a gratuitous ARP (RFC 5227) or by VRRP.  A guest that
 * bonds its devices changes its own.  And a sender whose timer goes off takes another flow label,
 * in the hope for another path (RFC 6437, RFC 8985).  A packet with its old headers would go where
 * nobody is.
 */
#include <linux/if_ether.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <net/dsfield.h>
#include <net/inet_ecn.h>

#include "wire/segment.h"
#include "wire/way.h"

/* Writes the part of the way that is beside the packet. */
static void write_beside(struct sk_buff *skb, const struct tcon_way *way)
{
	skb->hash = way->hash;
	skb->l4_hash = way->l4_hash;
	skb->sw_hash = way->sw_hash;
	if (way->vlan_proto)
		__vlan_hwaccel_put_tag(skb, way->vlan_proto, way->vlan_tci);
	else
		__vlan_hwaccel_clear_tag(skb);
}

static void write_ip(struct sk_buff *skb, const struct tcon_way *way, u8 ecn)
{
	void *l3 = skb->data + tcon_segment(skb)->l3_offset;
	u8 tos = (way->tos & ~INET_ECN_MASK) | ecn;
	struct ipv6hdr *ip6 = l3;
	struct iphdr *ip = l3;

	if (ip->version == 4) {
		ipv4_change_dsfield(ip, 0, tos);
		return;
	}
	ipv6_change_dsfield(ip6, 0, tos);
	*(__be32 *)ip6 = (*(__be32 *)ip6 & ~IPV6_FLOWLABEL_MASK) | way->flow_label;
}

/**
 * tcon_way_differs() - are these two ways?
 * @a: the way of a packet
 * @b: the way of another
 *
 * Return: whether one may be dead while the other is not.
 */
bool tcon_way_differs(const struct tcon_way *a, const struct tcon_way *b)
{
	return memcmp(a->macs, b->macs, sizeof(a->macs)) || a->hash != b->hash ||
	       a->flow_label != b->flow_label || a->vlan_proto != b->vlan_proto ||
	       (a->vlan_proto && a->vlan_tci != b->vlan_tci);
}

/**
 * tcon_way_write() - let a packet take a way
 * @skb: the packet, data at the link-layer header, described in its cb
 * @way: the way
 * @ecn: ECN bits of its IP header
 *
 * All headers are writable then, TCP's as well.
 *
 * Return: false without memory: then nothing has changed.
 */
bool tcon_way_write(struct sk_buff *skb, const struct tcon_way *way, u8 ecn)
{
	if (skb_ensure_writable(skb, tcon_segment(skb)->payload_offset))
		return false;
	write_beside(skb, way);
	memcpy(skb->data, way->macs, sizeof(way->macs));
	write_ip(skb, way, ecn);
	/* IPv6 has no sum that balances the change, nor has a link-layer header. */
	if (skb->ip_summed == CHECKSUM_COMPLETE)
		skb->ip_summed = CHECKSUM_NONE;
	return true;
}
