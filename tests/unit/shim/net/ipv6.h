/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim. */
#ifndef _SHIM_NET_IPV6_H
#define _SHIM_NET_IPV6_H

#include <linux/ipv6.h>

#define IPV6_FLOWLABEL_MASK	htonl(0x000fffff)

#endif /* _SHIM_NET_IPV6_H */
