/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: the IPv4 header. */
#ifndef _SHIM_LINUX_IP_H
#define _SHIM_LINUX_IP_H

#include <linux/in.h>
#include_next <linux/ip.h>

#include <linux/skbuff.h>

#define ip_hdr(skb)	((struct iphdr *)((skb)->head + (skb)->network_header))

#endif /* _SHIM_LINUX_IP_H */
