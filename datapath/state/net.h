/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TCon's state of a network namespace.
 */
#ifndef _TCON_NET_H
#define _TCON_NET_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "base/contract.h"
#include "state/classifier.h"
#include "state/stats.h"

struct net;

/**
 * struct tcon_net - state of a namespace
 * @node: among all namespaces
 * @lock: serialises changes of @ports and @rules
 * @ports: ports of the datapaths in this namespace, in the order of their ids; RCU
 * @port_changes: counts changes of @ports and of what is known of them
 * @rules: rules, in the order of their rank
 * @n_rules: number of rules
 * @n_strict: number of rules that bind the flows they select
 * @n_strict_with_ports: number of such rules that look at TCP ports or marks
 * @n_shares: number of rules with a share
 * @n_marks: number of rules that look at packet marks
 * @made_us: when counters began to count
 * @rule_changes: counts changes of @rules
 * @classifier: finds the rule for a flow; RCU
 * @spread: lets flows take up a change of rules
 * @stats: counters
 */
struct tcon_net {
	struct list_head node;
	struct mutex lock;	/* @ports, @rules */
	struct list_head ports;
	u32 port_changes;
	struct list_head rules;
	unsigned int n_rules;
	unsigned int n_strict;
	unsigned int n_strict_with_ports;
	unsigned int n_shares;
	unsigned int n_marks;
	u64 made_us;
	u32 rule_changes;
	struct tcon_classifier classifier;
	struct work_struct spread;
	struct tcon_stats __percpu *stats;
};

struct tcon_net *tcon_net(struct net *net);
int tcon_net_register(void);
void tcon_net_unregister(void);
void tcon_net_for_each(void (*fn)(struct tcon_net *tnet, void *arg), void *arg);

#endif /* _TCON_NET_H */
