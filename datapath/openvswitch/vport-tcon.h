/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The two hooks of TCon in openvswitch.ko.
 */
#ifndef VPORT_TCON_H
#define VPORT_TCON_H 1

#include <linux/jump_label.h>
#include <linux/rcupdate.h>

#include "vport.h"
#include "ovs.h"

DECLARE_STATIC_KEY_FALSE(ovs_tcon_enabled);

void ovs_tcon_port_add(struct vport *vport);
void ovs_tcon_port_del(struct vport *vport);

/**
 * ovs_tcon_ingress() - show TCon a packet that enters at a vport
 * @vport: where it enters
 * @skb: the packet, data at the link-layer header, not shared
 *
 * Context: RCU read lock held, bottom halves disabled.
 * Return: true if the packet goes on, false if TCon has taken it.
 */
static inline bool ovs_tcon_ingress(struct vport *vport, struct sk_buff *skb)
{
	if (static_branch_unlikely(&ovs_tcon_enabled)) {
		struct ovs_tcon_port *port = rcu_dereference(vport->tcon);

		if (port && READ_ONCE(port->guest))
			return port->ops->ingress(port, skb);
	}
	return true;
}

/**
 * ovs_tcon_egress() - show TCon a packet that leaves at a vport
 * @vport: where it leaves
 * @skb: the packet, perhaps cloned
 *
 * Context: RCU read lock held, bottom halves disabled.
 * Return: true if the packet goes on, false if TCon has taken it.
 */
static inline bool ovs_tcon_egress(struct vport *vport, struct sk_buff *skb)
{
	if (static_branch_unlikely(&ovs_tcon_enabled)) {
		struct ovs_tcon_port *port = rcu_dereference(vport->tcon);

		if (port && READ_ONCE(port->guest))
			return port->ops->egress(port, skb);
	}
	return true;
}

#endif /* vport-tcon.h */
