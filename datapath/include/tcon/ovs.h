/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the patched openvswitch.ko offers to tcon.ko, and asks of it.
 */
#ifndef _TCON_OVS_H
#define _TCON_OVS_H

#include <linux/types.h>

struct net;
struct net_device;
struct sk_buff;
struct vport;
struct ovs_tcon_ops;

/**
 * struct ovs_tcon_port - what a vport points to; head of tcon.ko's own port
 * @ops: of the module that made it, so that a packet costs one load
 * @guest: its packets are to be shown; those of an uplink cost no call
 */
struct ovs_tcon_port {
	const struct ovs_tcon_ops *ops;
	bool guest;
};

/**
 * struct ovs_tcon_port_info - a vport, as tcon.ko is told of it
 * @vport: opaque; valid from port_add until an RCU grace period after port_del
 * @net: the datapath's namespace
 * @dev: the vport's device, valid as long as @vport
 * @type: enum ovs_vport_type
 */
struct ovs_tcon_port_info {
	struct vport *vport;
	struct net *net;
	struct net_device *dev;
	unsigned int type;
};

/**
 * struct ovs_tcon_ops - tcon.ko's side
 * @port_add: a vport has come.  Called with ovs_mutex held.  NULL: no memory
 *	or no interest, and no packet of that vport is shown.
 * @port_del: a vport goes.  Called with ovs_mutex held, after the vport no
 *	longer points to @port; hooks that began before may still run until an
 *	RCU grace period has passed.  Held packets of the port must be gone when
 *	this returns.
 * @ingress: a packet entered at @port, skb->data at the link-layer header, not
 *	shared.  RCU read lock held, bottom halves disabled.  True: it goes on;
 *	false: the callee has taken it.
 * @egress: a packet is about to leave at @port; it may be cloned.  As @ingress.
 */
struct ovs_tcon_ops {
	struct ovs_tcon_port *(*port_add)(const struct ovs_tcon_port_info *info);
	void (*port_del)(struct ovs_tcon_port *port);
	bool (*ingress)(struct ovs_tcon_port *port, struct sk_buff *skb);
	bool (*egress)(struct ovs_tcon_port *port, struct sk_buff *skb);
};

int ovs_tcon_register(const struct ovs_tcon_ops *ops);
void ovs_tcon_unregister(void);
void ovs_tcon_inject(struct vport *vport, struct sk_buff *skb);
void ovs_tcon_send(struct vport *vport, struct sk_buff *skb);

#endif /* _TCON_OVS_H */
