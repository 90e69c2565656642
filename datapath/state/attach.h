/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A way into the datapath: how TCon finds ports, sees their packets, and gives packets back.
 */
#ifndef _TCON_ATTACH_H
#define _TCON_ATTACH_H

#include <linux/types.h>

struct ovs_tcon_ops;
struct sk_buff;
struct tcon_port;

/**
 * struct tcon_attach - a way in
 * @name: its name for users
 * @ops: the callbacks for openvswitch.ko; NULL if it calls none
 * @open: start.  Every port that exists has been added when it returns
 * @close: stop.  When it returns every port is gone, and no hook runs or will run
 * @watch: start to see a port's packets, if @guest, or stop.  Called with tcon_net.lock held,
 *	or when nobody else knows the port.  Returns 0, or a negative error, and then nothing
 *	has changed.  NULL if setting tcon_port.hook.guest is enough
 * @inject: let a packet, data at the link-layer header, enter at a port, past the hook.  The
 *	packet is consumed.  RCU read lock held, bottom halves disabled, not within a hook
 * @send: send a complete frame to a port, past the hook.  The frame is consumed.  Context as
 *	for @inject, but also within a hook
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
