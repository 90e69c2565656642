/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interface between the patched openvswitch.ko and tcon.ko.
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
 * struct ovs_tcon_port - what a vport points to; the first member of tcon.ko's port
 * @ops: callbacks of the module that made it; they are here so that a packet costs one load
 * @guest: tcon.ko wants to see its packets; packets of an uplink cost no call
 */
struct ovs_tcon_port {
	const struct ovs_tcon_ops *ops;
	bool guest;
};

/**
 * struct ovs_tcon_port_info - what tcon.ko is told about a vport
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
 * @port_add: there is a new vport.  Called with ovs_mutex held.  NULL means no memory or
 *	no interest; tcon.ko then sees no packet of that vport.
 * @port_del: a vport goes.  Called with ovs_mutex held, when the vport no longer points
 *	to @port.  Hooks that began before may run until an RCU grace period has passed.
 *	Held packets of the port must be gone when this returns.
 * @ingress: a packet has entered at @port; it is not shared, and skb->data is at the
 *	link-layer header.  RCU read lock held, bottom halves disabled.  True: the packet
 *	goes on; false: tcon.ko has taken it.
 * @egress: a packet is about to leave at @port; it may be cloned.  Else as @ingress.
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
