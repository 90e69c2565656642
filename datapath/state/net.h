/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TCon's state of a network namespace.
 */
#ifndef _TCON_NET_H
#define _TCON_NET_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>

#include "base/budget.h"
#include "base/contract.h"
#include "state/stats.h"

struct net;

/**
 * struct tcon_net - state of a namespace
 * @lock: serialises changes of @ports and @rules
 * @ports: ports of the datapaths in this namespace; RCU
 * @rules: rules, in the order in which they are tried; RCU
 * @n_rules: number of rules
 * @generation: changes when flows may have to look for their rule again
 * @flows: number of half-flows
 * @n_embryos: number of those whose handshake is not complete ("embryos")
 * @embryo_lock: protects tcon_port.embryos; innermost
 * @held_bytes: truesize of held packets
 * @copy_bytes: truesize of copies
 * @budget: memory of the flows' records
 * @stats: counters
 */
struct tcon_net {
	struct mutex lock;	/* @ports, @rules */
	struct list_head ports;
	struct list_head rules;
	unsigned int n_rules;
	u32 generation;
	atomic_t flows;
	atomic_t n_embryos;
	spinlock_t embryo_lock;	/* innermost */
	atomic_long_t held_bytes;
	atomic_long_t copy_bytes;
	struct tcon_budget budget;
	struct tcon_stats __percpu *stats;
};

struct tcon_net *tcon_net(struct net *net);
int tcon_net_register(void);
void tcon_net_unregister(void);

/* Makes flows look for their rule again with their next packet.  Who sees the new generation also
 * sees the changes before it.
 */
static inline void tcon_net_changed(struct tcon_net *tnet)
{
	lockdep_assert_held(&tnet->lock);
	/* Pairs with that of tcon_flow_refresh(). */
	smp_store_release(&tnet->generation, tnet->generation + 1);
}

#endif /* _TCON_NET_H */
