// SPDX-License-Identifier: GPL-2.0-only
/*
 * The part of TCon that is in openvswitch.ko.
 *
 * This file is added to the kernel's net/openvswitch when that is built.  It knows vports
 * and nothing of TCP; tcon.ko knows TCP and nothing of vports.  While tcon.ko is not
 * loaded, each hook is one branch that is patched out.
 */
#include <linux/export.h>
#include <linux/netdevice.h>

#include "datapath.h"
#include "vport-tcon.h"

DEFINE_STATIC_KEY_FALSE(ovs_tcon_enabled);

/* Protected by ovs_mutex, which is one for all namespaces. */
static const struct ovs_tcon_ops *tcon_ops;
static LIST_HEAD(tcon_vports);

static void announce(struct vport *vport)
{
	struct ovs_tcon_port_info info = {
		.vport = vport,
		.net = ovs_dp_get_net(vport->dp),
		.dev = vport->dev,
		.type = vport->ops->type,
	};

	rcu_assign_pointer(vport->tcon, tcon_ops->port_add(&info));
}

static void withdraw(struct vport *vport)
{
	struct ovs_tcon_port *port;

	port = rcu_dereference_protected(vport->tcon, lockdep_ovsl_is_held());
	if (!port)
		return;
	RCU_INIT_POINTER(vport->tcon, NULL);
	tcon_ops->port_del(port);
}

/**
 * ovs_tcon_port_add() - tell TCon about a new vport
 * @vport: complete, with its device
 *
 * Context: ovs_mutex held.
 */
void ovs_tcon_port_add(struct vport *vport)
{
	list_add_tail(&vport->tcon_node, &tcon_vports);
	if (tcon_ops)
		announce(vport);
}

/**
 * ovs_tcon_port_del() - tell TCon that a vport goes
 * @vport: the vport, still complete; its reference to the device is dropped after a grace
 *	period
 *
 * Context: ovs_mutex held.
 */
void ovs_tcon_port_del(struct vport *vport)
{
	withdraw(vport);
	list_del(&vport->tcon_node);
}

/**
 * ovs_tcon_register() - start to show packets to TCon
 * @ops: TCon's callbacks; they must stay until ovs_tcon_unregister() returns
 *
 * TCon is told about every vport before this returns.
 *
 * Context: process context, may sleep.
 * Return: 0, or -EBUSY if callbacks are registered already.
 */
int ovs_tcon_register(const struct ovs_tcon_ops *ops)
{
	struct vport *vport;
	int err = 0;

	ovs_lock();
	if (tcon_ops) {
		err = -EBUSY;
	} else {
		tcon_ops = ops;
		list_for_each_entry(vport, &tcon_vports, tcon_node)
			announce(vport);
	}
	ovs_unlock();
	if (!err)
		static_branch_enable(&ovs_tcon_enabled);
	return err;
}
EXPORT_SYMBOL_GPL(ovs_tcon_register);

/**
 * ovs_tcon_unregister() - show TCon no more packets
 *
 * When this returns every port is gone, and no callback runs or will run.
 *
 * Context: process context, may sleep.
 */
void ovs_tcon_unregister(void)
{
	struct vport *vport;

	static_branch_disable(&ovs_tcon_enabled);
	ovs_lock();
	list_for_each_entry(vport, &tcon_vports, tcon_node)
		withdraw(vport);
	tcon_ops = NULL;
	ovs_unlock();
	synchronize_net();
}
EXPORT_SYMBOL_GPL(ovs_tcon_unregister);

/**
 * ovs_tcon_inject() - let a packet enter at a vport, past the ingress hook
 * @vport: the vport; port_del was not called for it, or a grace period has not passed since
 * @skb: data at the link-layer header; consumed
 *
 * Context: RCU read lock held, bottom halves disabled, not inside a hook, because there the
 *	actions of another packet may be running.
 */
void ovs_tcon_inject(struct vport *vport, struct sk_buff *skb)
{
	skb->dev = vport->dev;
	ovs_vport_receive(vport, skb, NULL);
}
EXPORT_SYMBOL_GPL(ovs_tcon_inject);

/**
 * ovs_tcon_send() - send a packet at a vport, past the egress hook
 * @vport: as for ovs_tcon_inject()
 * @skb: a complete frame; consumed
 *
 * Context: as for ovs_tcon_inject().
 */
void ovs_tcon_send(struct vport *vport, struct sk_buff *skb)
{
	if (unlikely(!netif_running(vport->dev) ||
		     !netif_carrier_ok(vport->dev))) {
		kfree_skb_reason(skb, SKB_DROP_REASON_DEV_READY);
		return;
	}
	skb->dev = vport->dev;
	vport->ops->send(skb);
}
EXPORT_SYMBOL_GPL(ovs_tcon_send);
