/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The way that a guest's packets take: what stands in front of TCP's header, and beside the packet.
 */
#ifndef _TCON_WAY_H
#define _TCON_WAY_H

#include <linux/if_ether.h>
#include <linux/if_vlan.h>
#include <linux/skbuff.h>
#include <linux/string.h>
#include <net/ipv6.h>

#include "wire/packet.h"

/**
 * struct tcon_way - how a guest's newest packet travels
 * @hash: of the skb: the path among several, and the source port of a tunnel
 * @flow_label: of the IPv6 header, without version and traffic class
 * @l4_hash: @hash is of addresses and ports
 * @sw_hash: @hash was not made by a device
 * @tos: IPv4 TOS or IPv6 traffic class; its ECN bits mean nothing here
 * @vlan_proto: protocol of an accelerated VLAN tag; 0: there is none
 * @vlan_tci: TCI of that tag
 * @macs: MAC addresses, as in the link-layer header
 *
 * A tag within the frame is no part of it.  The outermost one is beside the packet before any hook
 * sees it, and others are of the guest's own networks.
 */
struct tcon_way {
	u32 hash;
	__be32 flow_label;
	bool l4_hash:1;
	bool sw_hash:1;
	u8 tos;
	__be16 vlan_proto;
	u16 vlan_tci;
	u8 macs[2 * ETH_ALEN];
};

bool tcon_way_differs(const struct tcon_way *a, const struct tcon_way *b);
bool tcon_way_write(struct sk_buff *skb, const struct tcon_way *way, u8 ecn);

/**
 * tcon_way_note() - take note of a packet's way
 * @way: gets the way
 * @skb: the packet, data at the link-layer header
 * @pkt: the same, parsed
 */
static inline void tcon_way_note(struct tcon_way *way, const struct sk_buff *skb,
				 const struct tcon_packet *pkt)
{
	way->hash = skb->hash;
	way->l4_hash = skb->l4_hash;
	way->sw_hash = skb->sw_hash;
	way->tos = pkt->tos;
	way->vlan_proto = skb_vlan_tag_present(skb) ? skb->vlan_proto : 0;
	way->vlan_tci = skb->vlan_tci;
	if (pkt->family == AF_INET6)
		way->flow_label = *(const __be32 *)(skb->data + pkt->l3_offset) &
				  IPV6_FLOWLABEL_MASK;
	memcpy(way->macs, skb->data, sizeof(way->macs));
}

#endif /* _TCON_WAY_H */
