// SPDX-License-Identifier: GPL-2.0-only
/*
 * Watches ports' devices: their lower devices may change while they are ports.
 *
 * A bond is an uplink because of its members, and at boot it is mostly a port before it has any.
 * The same holds for a device on a bond, and for any other device on top of others.
 */
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <net/net_namespace.h>

#include "devices.h"
#include "state/policy.h"
#include "state/port.h"
#include "state/walk.h"

/* Judges again the port that @dev is, if it is one.  May be called for each upper device. */
static void look_at(struct net_device *dev)
{
	struct tcon_net *tnet = tcon_net(dev_net(dev));
	struct tcon_port *port;
	bool changed = false;

	mutex_lock(&tnet->lock);
	port = tcon_port_find(tnet, dev->ifindex);
	if (port)
		changed = tcon_port_judge(port);
	if (changed)
		tcon_policy_place(port);
	mutex_unlock(&tnet->lock);
	if (changed)
		tcon_walk_spread(tnet);
}

/* @dev has other lower devices than before, or another type: so has each device above it. */
static void look_above(struct net_device *dev)
{
	struct net_device *upper;
	struct list_head *iter;

	ASSERT_RTNL();
	look_at(dev);
	netdev_for_each_upper_dev_rcu(dev, upper, iter)
		if (!netif_is_ovs_master(upper))
			look_above(upper);
}

static int device_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	struct netdev_notifier_changeupper_info *change = ptr;

	if (event == NETDEV_CHANGEUPPER && !netif_is_ovs_master(change->upper_dev))
		look_above(change->upper_dev);
	else if (event == NETDEV_POST_TYPE_CHANGE)
		look_above(netdev_notifier_info_to_dev(ptr));
	return NOTIFY_DONE;
}

static struct notifier_block device_nb = { .notifier_call = device_event };

/**
 * tcon_devices_watch() - judge ports again when their devices change
 *
 * Return: 0 or a negative error.
 */
int __init tcon_devices_watch(void)
{
	return register_netdevice_notifier(&device_nb);
}

/**
 * tcon_devices_leave() - stop watching devices
 */
void tcon_devices_leave(void)
{
	unregister_netdevice_notifier(&device_nb);
}
