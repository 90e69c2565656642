/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The host of a guest, for tests that run the whole datapath in user space: a namespace, one port,
 * and in place of registry and policy one rule for each CC that is linked in; one rule is in force.
 */
#ifndef _TESTS_HOST_H
#define _TESTS_HOST_H

#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/workqueue.h>

#include "act/hold.h"
#include "path.h"
#include "state/flow.h"
#include "state/pacer.h"
#include "state/reap.h"
#include "state/table.h"

#ifndef HOST_ALGORITHMS_MAX
#define HOST_ALGORITHMS_MAX	4
#endif

/**
 * struct host - the host
 * @algorithm: index in rules of the present one
 * @fallback: of the rules, enum tcon_rule_fallback
 * @rto_min_us: of the rules; 0: the default
 * @ruleless: there is no rule
 * @settled: packets that pass elsewhere are held to be the guest's doing
 * @failures: allocations that will fail in TCon
 * @tnet: the namespace
 * @port: the guest's
 */
struct host {
	u32 algorithm;
	u8 fallback;
	u32 rto_min_us;
	bool ruleless, settled;
	u32 failures;
	struct tcon_net tnet;
	struct tcon_port port;
};

static struct host host;
static struct tcon_rule rules[HOST_ALGORITHMS_MAX];
static u32 n_rules;
static u32 random_state;

u32 get_random_u32(void)
{
	random_state = random_state * 1664525 + 1013904223;
	return random_state;
}

/* The registry, and the policy. */

int tcon_cc_register(struct tcon_cc_ops *ops)
{
	struct tcon_rule *rule = &rules[n_rules++];
	u32 i;

	BUG_ON(n_rules > HOST_ALGORITHMS_MAX);
	rule->ops = ops;
	strscpy(rule->cc_name, ops->name, sizeof(rule->cc_name));
	for (i = 0; i < ops->n_params; i++)
		rule->params[i] = ops->params[i].def;
	return 0;
}

void tcon_cc_unregister(struct tcon_cc_ops *ops)
{
}

struct tcon_rule *tcon_policy_lookup(const struct tcon_port *port,
				     const struct tcon_key *key,
				     const struct tcon_traits *traits)
{
	struct tcon_rule *rule = &rules[host.algorithm];

	if (host.ruleless)
		return NULL;
	rule->fallback = host.fallback;
	rule->rto_min_us = host.rto_min_us ?: TCON_RTO_DEFAULT_US;
	rule->refs.refs++;
	return rule;
}

/* Whatever has happened, what became of a flow is within the bounds of its sums. */
void tcon_policy_outcome(const struct tcon_port *port, const struct tcon_key *key,
			 const struct tcon_traits *traits, const struct tcon_rule *obeyed,
			 u64 began_us, const struct tcon_outcome_of *of)
{
	BUG_ON(of->goodput >> 16 || of->rtt > 40 * TCON_OUTCOME_LOG ||
	       of->again > TCON_OUTCOME_PART);
}

bool tcon_policy_binds(const struct tcon_port *port, const struct tcon_key *key,
		       const struct tcon_traits *traits)
{
	return true;
}

bool tcon_policy_binds_any(const struct tcon_port *port)
{
	return true;
}

void tcon_rule_put(struct tcon_rule *rule)
{
	WARN_ON(--rule->refs.refs < 0);
}

/* The port. */

void tcon_port_wake(struct tcon_port *port)
{
	port->wakes += port->rests;
	port->rests = false;
	port->woken_us = shim_now_ns / NSEC_PER_USEC;
}

static inline void change_rules(bool ruleless)
{
	host.ruleless = ruleless;
	if (!ruleless)
		tcon_port_wake(&host.port);
	host.port.generation++;
}

bool tcon_port_is_settled(const struct tcon_port *port, u64 now_us)
{
	return host.settled;
}

/* Sets a bound lower than the default, so that it is reached.  The next host has the default. */
static inline void bound(enum tcon_share what, long bytes)
{
	tcon_pool_divide(host.port.shares[what].pool, bytes, bytes, 1);
}

static inline void add_port(const struct tcon_attach *attach)
{
	static struct net_device dev = { .mtu = 1500 };
	struct tcon_port *port = &host.port;

	host.tnet.stats = alloc_percpu(struct tcon_stats);
	host.tnet.n_shares = 1;
	host.tnet.n_marks = 1;
	INIT_LIST_HEAD(&host.tnet.ports);
	port->tnet = &host.tnet;
	WARN_ON(tcon_shares_init(port->shares));
	bound(TCON_SHARE_RECORDS, 1 << 20);
	port->role = TCON_ROLE_GUEST;
	port->id = 1;
	port->flow_tree = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&port->closed_list);
	INIT_LIST_HEAD(&port->embryos);
	port->attach = attach;
	port->dev = &dev;
}

void tcon_port_close(struct tcon_port *port)
{
	port->dead = true;
}

void tcon_port_free(struct tcon_port *port)
{
	u32 i;

	rcu_barrier();
	for (i = 0; i < __TCON_REASON_MAX; i++)
		WARN_ON(port->tnet->stats->flows[i]);
	for (i = 0; i < TCON_SHARES; i++)
		WARN_ON(tcon_share_used(port->shares, i));
	tcon_shares_exit(port->shares);
	for (i = 0; i < TCON_SHARES; i++)
		WARN_ON(atomic_long_read(&port->shares[i].pool->used));
	kfree(port->fragments);
	free_percpu(port->tnet->stats);
}

/* The first half-flow, from one on, that does not sleep. */
static inline struct tcon_flow *flow_from(struct rb_node *node)
{
	struct tcon_stub *stub;

	for (; node; node = rb_next(node)) {
		stub = rb_entry(node, struct tcon_stub, port_node);
		if (!stub->asleep)
			return tcon_flow_of(stub);
	}
	return NULL;
}

/* Half-flows, without the ones that sleep. */
#define for_each_flow(flow, port)					\
	for (flow = flow_from(rb_first_cached(&(port)->flow_tree)); flow; \
	     flow = flow_from(rb_next(&flow->port_node)))

/* In TCon there may be no memory; elsewhere there is. */
static inline void enter_tcon(void)
{
	shim_bh++;
	rcu_read_lock();
	shim_alloc_failures = host.failures;
}

static inline void leave_tcon(void)
{
	host.failures = shim_alloc_failures;
	shim_alloc_failures = 0;
	rcu_read_unlock();
	shim_bh--;
}

/* A timer goes off: the time is as the caller has set it. */
static inline void run_timer(void)
{
	shim_timer->armed = false;
	enter_tcon();
	shim_timer->function(shim_timer);
	leave_tcon();
}

/* Receive the packets that the CPU still has to receive. */
static inline void run_tasklet(void)
{
	shim_tasklet->scheduled = false;
	enter_tcon();
	shim_tasklet->callback(shim_tasklet);
	leave_tcon();
}

/* As when the module is loaded, and a guest comes. */
static inline void host_begin(u64 now_ns, const struct tcon_attach *attach)
{
	memset(&host, 0, sizeof(host));
	shim_now_ns = now_ns;
	random_state = 1;
	tcon_sendq_set_put(tcon_flow_put_copy);
	WARN_ON(tcon_pacer_init(tcon_hold_release) || tcon_table_init());
	tcon_reap_init();
	add_port(attach);
}

/* The guest goes, and nothing may be left. */
static inline void host_end(void)
{
	u32 i;

	tcon_path_port_del(&host.port.hook);
	tcon_reap_exit();
	tcon_table_exit();
	tcon_pacer_exit();
	WARN_ON(shim_bh || shim_rcu_readers);
	for (i = 0; i < n_rules; i++)
		WARN_ON(rules[i].refs.refs || atomic_read(&rules[i].flows));
}

#endif /* _TESTS_HOST_H */
