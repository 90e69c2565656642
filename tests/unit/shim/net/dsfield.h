/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: DSCP and ECN of IP headers. */
#ifndef _SHIM_NET_DSFIELD_H
#define _SHIM_NET_DSFIELD_H

#include <linux/ipv6.h>
#include <net/ip.h>

static inline void ipv4_change_dsfield(struct iphdr *ip, u8 mask, u8 value)
{
	ip->tos = (ip->tos & mask) | value;
	ip_send_check(ip);
}

static inline u8 ipv6_get_dsfield(const struct ipv6hdr *ip6)
{
	return ntohs(*(const __be16 *)ip6) >> 4;
}

static inline void ipv6_change_dsfield(struct ipv6hdr *ip6, u8 mask, u8 value)
{
	__be16 *word = (__be16 *)ip6;

	*word = htons((ntohs(*word) & (mask << 4 | 0xf00f)) | value << 4);
}

#endif /* _SHIM_NET_DSFIELD_H */
