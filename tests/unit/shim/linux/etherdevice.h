/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: the Ethernet header. */
#ifndef _SHIM_LINUX_ETHERDEVICE_H
#define _SHIM_LINUX_ETHERDEVICE_H

#include <linux/if_ether.h>
#include <linux/skbuff.h>

#define eth_hdr(skb)	((struct ethhdr *)((skb)->head + (skb)->mac_header))

#endif /* _SHIM_LINUX_ETHERDEVICE_H */
