// SPDX-License-Identifier: GPL-2.0-only
/*
 * The way in by netfilter's hooks of network devices: any openvswitch.ko will do.
 *
 *	guest -> device: taps, tc, [ingress hook] -> VLAN devices, Open vSwitch
 *	guest <- device: qdisc, tc, [egress hook]		<- Open vSwitch
 *
 * A port is a device whose upper device is Open vSwitch's.  Only guests' ports have hooks.
 * Packets that the host itself sends at such a device are seen, too.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/netdevice.h>
#include <linux/netfilter_netdev.h>
#include <linux/openvswitch.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <tcon/compat.h>
#include <tcon/ovs.h>

#include "netfilter.h"
#include "path.h"
#include "state/port.h"

/**
 * tcon_netfilter_found() - has this kernel all that is needed?
 *
 * Return: whether it has.
 */
bool tcon_netfilter_found(void)
{
	return TCON_HAS_DEVICE_HOOKS;
}

#if TCON_HAS_DEVICE_HOOKS

/**
 * struct tcon_device_hooks - what netfilter knows of a guest's port
 * @ops: ingress and egress
 * @rcu: for freeing it
 */
struct tcon_device_hooks {
	struct nf_hook_ops ops[2];
	struct rcu_head rcu;
};

/* Is a VLAN device of the host to have it, and not the bridge? */
static bool is_for_vlan_device(struct net_device *dev, const struct sk_buff *skb)
{
	return skb_vlan_tag_present(skb) &&
	       __vlan_find_dev_deep_rcu(dev, skb->vlan_proto, skb_vlan_tag_get_id(skb));
}

/*
 * A generic XDP program, taps, tc and this hook have seen the packet already.  So it goes straight
 * to the bridge, and not to netif_receive_skb_core(), where XDP comes first.  A device that has
 * just left its bridge has no rx_handler any more, or another's: the host's own stack must not get
 * packets that waited for the bridge.
 */
static void netfilter_inject(const struct tcon_port *port, struct sk_buff *skb)
{
	rx_handler_func_t *to_bridge = rcu_dereference(port->dev->rx_handler);

	skb->dev = port->dev;
	skb_reset_mac_header(skb);
	skb_pull_rcsum(skb, ETH_HLEN);
	if (unlikely(is_for_vlan_device(port->dev, skb))) {
		tcon_skip_ingress(skb);
		netif_receive_skb_core(skb);
		return;
	}
	skb_reset_network_header(skb);
	skb_reset_mac_len(skb);
	if (unlikely(!to_bridge || to_bridge(&skb) != RX_HANDLER_CONSUMED)) {
		tcon_count(port->tnet->stats, TCON_COUNTER_HOLD_PURGED);
		kfree_skb_reason(skb, SKB_DROP_REASON_DEV_READY);
	}
}

/* Past this hook; tc and the qdisc see it. */
static void netfilter_send(const struct tcon_port *port, struct sk_buff *skb)
{
	if (unlikely(!netif_running(port->dev) || !netif_carrier_ok(port->dev))) {
		kfree_skb_reason(skb, SKB_DROP_REASON_DEV_READY);
		return;
	}
	skb->dev = port->dev;
	nf_skip_egress(skb, true);
	dev_queue_xmit(skb);
}

/*
 * Somebody else has this very skb, pktgen for example: TCon writes to a clone, which goes
 * on in its place.
 */
static unsigned int shared_from_guest(struct tcon_port *port, struct sk_buff *skb)
{
	struct sk_buff *own = skb_clone(skb, GFP_ATOMIC | __GFP_NOWARN);

	if (!own) {
		tcon_count(port->tnet->stats, TCON_COUNTER_NO_MEMORY);
		return NF_ACCEPT;
	}
	consume_skb(skb);
	skb_push_rcsum(own, ETH_HLEN);
	if (tcon_path_ingress(&port->hook, own))
		netfilter_inject(port, own);
	return NF_STOLEN;
}

/* Data at the network header, and so it must be left.  Open vSwitch leaves loopback, too. */
static unsigned int from_guest(void *priv, struct sk_buff *skb,
			       const struct nf_hook_state *state)
{
	struct tcon_port *port = priv;

	if (unlikely(skb->pkt_type == PACKET_LOOPBACK))
		return NF_ACCEPT;
	if (unlikely(skb_shared(skb)))
		return shared_from_guest(port, skb);
	skb_push_rcsum(skb, ETH_HLEN);
	if (!tcon_path_ingress(&port->hook, skb))
		return NF_STOLEN;
	skb_pull_rcsum(skb, ETH_HLEN);
	return NF_ACCEPT;
}

/* Data at the link-layer header.  skb->cb is the qdisc's already. */
static unsigned int to_guest(void *priv, struct sk_buff *skb,
			     const struct nf_hook_state *state)
{
	struct tcon_port *port = priv;

	if (unlikely(skb_shared(skb)))
		return NF_ACCEPT;
	return tcon_path_egress(&port->hook, skb) ? NF_ACCEPT : NF_STOLEN;
}

static int hook(struct tcon_port *port)
{
	/* Next to the bridge: other hooks see what the guest has sent, and what it gets. */
	const struct nf_hook_ops ops[] = {
		{ .hook = from_guest, .dev = port->dev, .priv = port, .pf = NFPROTO_NETDEV,
		  .hooknum = NF_NETDEV_INGRESS, .priority = INT_MAX },
		{ .hook = to_guest, .dev = port->dev, .priv = port, .pf = NFPROTO_NETDEV,
		  .hooknum = NF_NETDEV_EGRESS, .priority = INT_MIN },
	};
	struct tcon_device_hooks *hooks;
	int err;

	hooks = kzalloc(sizeof(*hooks), GFP_KERNEL);
	if (!hooks)
		return -ENOMEM;
	memcpy(hooks->ops, ops, sizeof(ops));
	err = nf_register_net_hooks(dev_net(port->dev), hooks->ops, ARRAY_SIZE(hooks->ops));
	if (err)
		kfree(hooks);
	else
		port->hooks = hooks;
	return err;
}

/* Freed after a grace period: somebody who lists the hooks of a device may still read them. */
static void unhook(struct tcon_port *port)
{
	struct tcon_device_hooks *hooks = port->hooks;

	port->hooks = NULL;
	nf_unregister_net_hooks(dev_net(port->dev), hooks->ops, ARRAY_SIZE(hooks->ops));
	kfree_rcu(hooks, rcu);
}

static int netfilter_watch(struct tcon_port *port, bool guest)
{
	if (guest && !port->hooks)
		return hook(port);
	if (!guest && port->hooks)
		unhook(port);
	return 0;
}

/* RTNL held, under which alone ports come and go. */
static struct tcon_port *port_of(const struct net_device *dev)
{
	struct tcon_port *port;

	ASSERT_RTNL();
	rcu_read_lock();
	port = tcon_port_find(tcon_net(dev_net(dev)), dev->ifindex);
	rcu_read_unlock();
	return port;
}

static void attach(struct net_device *dev, unsigned int type)
{
	struct ovs_tcon_port_info info = {
		.net = dev_net(dev), .dev = dev, .type = type,
	};

	if (!port_of(dev) && !tcon_port_add(&info, &tcon_netfilter))
		pr_warn("tcon: no memory for port %s: its flows are not seen\n", dev->name);
}

static void detach(struct net_device *dev)
{
	struct tcon_port *port = port_of(dev);

	if (port)
		tcon_path_port_del(&port->hook);
}

/* A new notifier is called for every device that exists, as if the device came just then. */
static int device_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	struct net_device *dev = netdev_notifier_info_to_dev(ptr);
	struct netdev_notifier_changeupper_info *change = ptr;

	switch (event) {
	case NETDEV_REGISTER:
		if (netif_is_ovs_master(dev))	/* a bridge's own, or another internal port */
			attach(dev, OVS_VPORT_TYPE_INTERNAL);
		else if (netif_is_ovs_port(dev))
			attach(dev, OVS_VPORT_TYPE_NETDEV);
		break;
	case NETDEV_CHANGEUPPER:
		if (!netif_is_ovs_master(change->upper_dev))
			break;
		if (change->linking)
			attach(dev, OVS_VPORT_TYPE_NETDEV);
		else
			detach(dev);
		break;
	case NETDEV_UNREGISTER:
		detach(dev);
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block device_nb = { .notifier_call = device_event };

static int netfilter_open(void)
{
	return register_netdevice_notifier(&device_nb);
}

/* This calls the notifier for every device again, as if the device went. */
static void netfilter_close(void)
{
	unregister_netdevice_notifier(&device_nb);
	synchronize_net();
}

const struct tcon_attach tcon_netfilter = {
	.name = "netfilter",
	.open = netfilter_open,
	.close = netfilter_close,
	.watch = netfilter_watch,
	.inject = netfilter_inject,
	.send = netfilter_send,
};

#else

/* Never used: tcon_netfilter_found() is false. */
const struct tcon_attach tcon_netfilter = { .name = "netfilter" };

#endif
