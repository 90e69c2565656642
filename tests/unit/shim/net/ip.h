/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: checksums with the pseudo-header of IPv4. */
#ifndef _SHIM_NET_IP_H
#define _SHIM_NET_IP_H

#include <linux/ip.h>
#include <net/checksum.h>

#define IP_DF	0x4000

static inline __sum16 csum_tcpudp_magic(__be32 saddr, __be32 daddr, u32 bytes,
					u8 proto, __wsum sum)
{
	return csum_fold(csum_partial(&saddr, 4, csum_partial(&daddr, 4,
			 csum_add(sum, htons(bytes) + htons(proto)))));
}

static inline void ip_send_check(struct iphdr *ip)
{
	ip->check = 0;
	ip->check = csum_fold(csum_partial(ip, ip->ihl * 4, 0));
}

#endif /* _SHIM_NET_IP_H */
