/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: the Ethernet header and its addresses. */
#ifndef _SHIM_LINUX_ETHERDEVICE_H
#define _SHIM_LINUX_ETHERDEVICE_H

#include <linux/if_ether.h>
#include <linux/skbuff.h>
#include <linux/string.h>

#define eth_hdr(skb)	((struct ethhdr *)((skb)->head + (skb)->mac_header))

static inline void ether_addr_copy(u8 *dst, const u8 *src)
{
	memcpy(dst, src, ETH_ALEN);
}

static inline void eth_broadcast_addr(u8 *addr)
{
	memset(addr, 0xff, ETH_ALEN);
}

static inline bool is_zero_ether_addr(const u8 *addr)
{
	static const u8 zero[ETH_ALEN];

	return !memcmp(addr, zero, ETH_ALEN);
}

#endif /* _SHIM_LINUX_ETHERDEVICE_H */
