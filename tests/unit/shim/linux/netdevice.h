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

/* No device is made of others, and no device changes. */
#define netdev_walk_all_lower_dev_rcu(dev, fn, priv)	((void)(fn), (void)(priv), 0)
#define netdev_for_each_upper_dev_rcu(dev, upper, iter)			\
	for ((upper) = NULL, (void)(dev), (void)(iter); (upper);)

enum { NETDEV_CHANGEUPPER, NETDEV_POST_TYPE_CHANGE };

struct notifier_block {
	int (*notifier_call)(struct notifier_block *nb, unsigned long event, void *ptr);
};

struct netdev_notifier_changeupper_info {
	struct net_device *upper_dev;
};

#define NOTIFY_DONE				0
#define dev_net(dev)				((void)(dev), &init_net)
#define netif_is_ovs_master(dev)		((void)(dev), false)
#define netdev_notifier_info_to_dev(info)	((struct net_device *)(info))
#define register_netdevice_notifier(nb)		((void)(nb), 0)
#define unregister_netdevice_notifier(nb)	((void)(nb))

#endif /* _SHIM_LINUX_NETDEVICE_H */
