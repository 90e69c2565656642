/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: the IPv6 header. */
#ifndef _SHIM_LINUX_IPV6_H
#define _SHIM_LINUX_IPV6_H

#include <linux/in.h>
#include_next <linux/ipv6.h>

#include <linux/skbuff.h>

#define ipv6_hdr(skb)	((struct ipv6hdr *)((skb)->head + (skb)->network_header))

#endif /* _SHIM_LINUX_IPV6_H */
