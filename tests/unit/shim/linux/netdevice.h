/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: a device's name, and what it takes. */
#ifndef _SHIM_LINUX_NETDEVICE_H
#define _SHIM_LINUX_NETDEVICE_H

#include <linux/if.h>
#include <linux/skbuff.h>

#define NETIF_F_SG	1
#define NETIF_F_HW_CSUM	2

struct net_device {
	char name[IFNAMSIZ];
	unsigned int mtu;
};

#endif /* _SHIM_LINUX_NETDEVICE_H */
