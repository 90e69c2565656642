// SPDX-License-Identifier: GPL-2.0-only
/*
 * Namespaces.
 */
#include <linux/ktime.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "state/net.h"

static unsigned int tcon_net_id;

/*
 * Not the kernel's own list.  That lacks a namespace that is being cleaned up, which still has
 * flows, and pernet_ops_rwsem, which would exclude that, is not exported everywhere.
 */
static LIST_HEAD(tcon_nets);
static DEFINE_MUTEX(tcon_nets_lock);	/* outside tcon_net.lock */

/**
 * tcon_net() - TCon's state of a namespace
 * @net: the namespace
 *
 * Return: the state; it lives as long as both @net and the module.
 */
struct tcon_net *tcon_net(struct net *net)
{
	return net_generic(net, tcon_net_id);
}

static int __net_init tcon_net_init(struct net *net)
{
	struct tcon_net *tnet = tcon_net(net);

	mutex_init(&tnet->lock);
	INIT_LIST_HEAD(&tnet->ports);
	INIT_LIST_HEAD(&tnet->rules);
	tnet->stats = alloc_percpu(struct tcon_stats);
	if (!tnet->stats)
		return -ENOMEM;
	tnet->made_us = ktime_to_us(ktime_get());
	mutex_lock(&tcon_nets_lock);
	list_add_tail(&tnet->node, &tcon_nets);
	mutex_unlock(&tcon_nets_lock);
	return 0;
}

static void __net_exit tcon_net_exit(struct net *net)
{
	struct tcon_net *tnet = tcon_net(net);

	mutex_lock(&tcon_nets_lock);
	list_del(&tnet->node);
	mutex_unlock(&tcon_nets_lock);
	free_percpu(tnet->stats);
}

static struct pernet_operations tcon_net_ops = {
	.init = tcon_net_init,
	.exit = tcon_net_exit,
	.id = &tcon_net_id,
	.size = sizeof(struct tcon_net),
};

/**
 * tcon_net_register() - start to keep state for every namespace
 *
 * Return: 0 or a negative error.
 */
int tcon_net_register(void)
{
	return register_pernet_subsys(&tcon_net_ops);
}

/**
 * tcon_net_unregister() - free the state of all namespaces
 */
void tcon_net_unregister(void)
{
	unregister_pernet_subsys(&tcon_net_ops);
}

/**
 * tcon_net_for_each() - call a function for each namespace
 * @fn: the function
 * @arg: its second argument
 *
 * Context: process context, may sleep.
 */
void tcon_net_for_each(void (*fn)(struct tcon_net *tnet, void *arg), void *arg)
{
	struct tcon_net *tnet;

	mutex_lock(&tcon_nets_lock);
	list_for_each_entry(tnet, &tcon_nets, node)
		fn(tnet, arg);
	mutex_unlock(&tcon_nets_lock);
}
