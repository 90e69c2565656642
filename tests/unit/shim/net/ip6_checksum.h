/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: checksums with the pseudo-header of IPv6. */
#ifndef _SHIM_NET_IP6_CHECKSUM_H
#define _SHIM_NET_IP6_CHECKSUM_H

#include <linux/ipv6.h>
#include <net/checksum.h>

static inline __sum16 csum_ipv6_magic(const struct in6_addr *saddr,
				      const struct in6_addr *daddr, u32 bytes,
				      u8 proto, __wsum sum)
{
	sum = csum_add(sum, htons(bytes) + htons(proto));
	return csum_fold(csum_partial(saddr, 16, csum_partial(daddr, 16, sum)));
}

#endif /* _SHIM_NET_IP6_CHECKSUM_H */
