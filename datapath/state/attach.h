/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A way into the datapath: how ports are found, and packets shown and given back.
 */
#ifndef _TCON_ATTACH_H
#define _TCON_ATTACH_H

#include <linux/types.h>

struct ovs_tcon_ops;
struct sk_buff;
struct tcon_port;

/**
 * struct tcon_attach - a way in
 * @name: as users write and read it
 * @ops: what openvswitch.ko calls; NULL where it calls nothing
 * @open: show packets from now on.  Every port that exists is added before it returns
 * @close: when it returns every port is gone, and no hook runs or will run
 * @watch: show packets of a port, or no more.  tcon_net.lock is held, or nobody else knows
 *	the port; 0 or a negative error, and then nothing has changed.  NULL where
 *	tcon_port.hook.guest is enough
 * @inject: let a packet enter at a port, past the hook: data at the link-layer header;
 *	consumed.  RCU read lock held, bottom halves disabled, not from within a hook
 * @send: send a complete frame at a port, past the hook; consumed.  As @inject, but
 *	also from within a hook
 */
struct tcon_attach {
	const char *name;
	const struct ovs_tcon_ops *ops;
	int (*open)(void);
	void (*close)(void);
	int (*watch)(struct tcon_port *port, bool guest);
	void (*inject)(const struct tcon_port *port, struct sk_buff *skb);
	void (*send)(const struct tcon_port *port, struct sk_buff *skb);
};

#endif /* _TCON_ATTACH_H */
