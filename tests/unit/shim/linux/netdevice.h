/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: a device's name, and what it takes. */
#ifndef _SHIM_LINUX_NETDEVICE_H
#define _SHIM_LINUX_NETDEVICE_H

#include <linux/if.h>
#include <linux/skbuff.h>

#define NETIF_F_SG	1
#define NETIF_F_HW_CSUM	2

struct device {
	struct device *parent;
};

struct net_device {
	char name[IFNAMSIZ];
	int ifindex;
	unsigned short type;
	unsigned int mtu;
	struct device dev;
};

struct netdev_nested_priv {
	void *data;
};

/* No device is made of others. */
#define netdev_walk_all_lower_dev_rcu(dev, fn, priv)	((void)(fn), (void)(priv), 0)

#endif /* _SHIM_LINUX_NETDEVICE_H */
