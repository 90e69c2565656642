/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: there is one namespace. */
#ifndef _SHIM_NET_NET_NAMESPACE_H
#define _SHIM_NET_NET_NAMESPACE_H

#include <linux/errno.h>
#include <linux/init.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/types.h>

#define SHIM_PERNETS	8

struct net {
	void *generic[SHIM_PERNETS];
};

extern struct net init_net;
__attribute__((__weak__)) struct net init_net;

struct pernet_operations {
	int (*init)(struct net *net);
	void (*exit)(struct net *net);
	unsigned int *id;
	size_t size;
};

static inline void *net_generic(const struct net *net, unsigned int id)
{
	return net->generic[id];
}

static inline int register_pernet_subsys(struct pernet_operations *ops)
{
	unsigned int id;
	int err;

	for (id = 0; ops->id && id < SHIM_PERNETS; id++) {
		if (init_net.generic[id])
			continue;
		init_net.generic[id] = kzalloc(ops->size, GFP_KERNEL);
		if (!init_net.generic[id])
			return -ENOMEM;
		*ops->id = id;
		break;
	}
	err = ops->init ? ops->init(&init_net) : 0;
	return err;
}

static inline void unregister_pernet_subsys(struct pernet_operations *ops)
{
	if (ops->exit)
		ops->exit(&init_net);
	if (!ops->id)
		return;
	kfree(init_net.generic[*ops->id]);
	init_net.generic[*ops->id] = NULL;
}

#endif /* _SHIM_NET_NET_NAMESPACE_H */
