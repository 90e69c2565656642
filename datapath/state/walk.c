// SPDX-License-Identifier: GPL-2.0-only
/*
 * Visits to all half-flows.
 *
 * There may be a million of them.  So a visit does a few at a time, and lets others run then.  It
 * visits one namespace only, so that nobody's change costs another namespace anything.
 */
#include <net/net_namespace.h>
#include <tcon/compat.h>

#include "state/flow.h"
#include "state/judge.h"
#include "state/reap.h"
#include "state/table.h"
#include "state/walk.h"

#define LOOK_INTERVAL	HZ	/* at ports: may they rest, have flows of them ended? */
#define BATCH_FLOWS	64
#define BATCH_NS	(200 * NSEC_PER_USEC)

/**
 * struct batch - flows that are visited before others may run
 * @until_ns: no more after this time
 * @left: flows that may still be visited
 */
struct batch {
	u64 until_ns;
	unsigned int left;
};

static struct batch new_batch(void)
{
	return (struct batch) { .until_ns = tcon_now_ns() + BATCH_NS, .left = BATCH_FLOWS };
}

/* A flow, woken where it sleeps and a rule can match; otherwise NULL, as without memory. */
static struct tcon_flow *awake(struct tcon_stub *stub)
{
	if (!stub->asleep)
		return tcon_flow_of(stub);
	return READ_ONCE(stub->port->rests) ? NULL : tcon_table_wake(stub);
}

/*
 * Calls @fn for flows of a port below serial *@below, the newest first, and moves that on.  Flows
 * are not dead, and their locks are held.  Flows that sleep while the port rests are left out.
 * False: the batch is full.
 */
static bool visit_port(struct tcon_port *port, long *below, struct batch *batch,
		       void (*fn)(struct tcon_flow *flow, u64 now_us, void *arg), void *arg)
{
	struct tcon_stub *stub;
	struct tcon_flow *flow;

	while ((stub = tcon_table_below(port, *below))) {
		if (!batch->left)
			return false;
		*below = stub->serial;
		batch->left = tcon_now_ns() < batch->until_ns ? batch->left - 1 : 0;
		flow = awake(stub);
		if (!flow)
			continue;
		spin_lock_bh(&flow->lock);
		if (!flow->dead)
			fn(flow, tcon_us(tcon_now_ns()), arg);
		spin_unlock_bh(&flow->lock);
	}
	return true;
}

static void refresh(struct tcon_flow *flow, u64 now_us, void *unused)
{
	tcon_judge_refresh(flow, now_us);
}

/* Lets some flows of a port look for their rule.  False: the batch is full. */
static bool tell_port(struct tcon_port *port, struct batch *batch)
{
	bool all;

	if (port->told.generation != port->generation) {
		port->told.generation = port->generation;
		port->told.below = LONG_MAX;
	}
	rcu_read_lock();
	all = visit_port(port, &port->told.below, batch, refresh, NULL);
	rcu_read_unlock();
	if (all)
		port->told.below = 0;
	return all;
}

/* Lets some flows of a namespace look for their rule.  Says whether all have done so. */
static bool tell_some(struct tcon_net *tnet)
{
	struct batch batch = new_batch();
	struct tcon_port *port;
	bool all = true;

	mutex_lock(&tnet->lock);
	list_for_each_entry(port, &tnet->ports, node)
		if (all && !tcon_port_told(port))
			all = tell_port(port, &batch);
	mutex_unlock(&tnet->lock);
	return all;
}

static void spread(struct work_struct *work)
{
	struct tcon_net *tnet = container_of(work, struct tcon_net, spread);

	while (!tell_some(tnet))
		cond_resched();
}

/**
 * tcon_walk_spread() - let a namespace's flows look for their rule now, if it may have changed
 * @tnet: the namespace
 *
 * Flows that get packets do so themselves.  A few others do so before this returns, the rest soon
 * after.
 *
 * Context: process context, may sleep.
 */
void tcon_walk_spread(struct tcon_net *tnet)
{
	if (!tell_some(tnet))
		queue_work(tcon_unbound_wq, &tnet->spread);
}

static void spread_one(struct tcon_net *tnet, void *unused)
{
	tcon_walk_spread(tnet);
}

/**
 * tcon_walk_spread_all() - tcon_walk_spread() in each namespace
 *
 * Context: process context, may sleep.
 */
void tcon_walk_spread_all(void)
{
	tcon_net_for_each(spread_one, NULL);
}

/**
 * tcon_walk_spreading() - is a change of rules still on its way to flows?
 * @tnet: the namespace
 *
 * Context: process context, may sleep.
 * Return: true if a flow may not have looked for its rule since the last change.
 */
bool tcon_walk_spreading(struct tcon_net *tnet)
{
	struct tcon_port *port;
	bool told = true;

	mutex_lock(&tnet->lock);
	list_for_each_entry(port, &tnet->ports, node)
		told = told && tcon_port_told(port);
	mutex_unlock(&tnet->lock);
	return !told;
}

/**
 * struct visit - a visit to all flows of a namespace
 * @port_id: of the port at which it is
 * @below: serial of the flow there that was visited last
 * @fn: what is done
 * @arg: its last argument
 */
struct visit {
	u32 port_id;
	long below;
	void (*fn)(struct tcon_flow *flow, u64 now_us, void *arg);
	void *arg;
};

/* Visits some flows.  Says whether all have been visited. */
static bool visit_some(struct tcon_net *tnet, struct visit *visit)
{
	struct batch batch = new_batch();
	struct tcon_port *port;
	bool all = true;

	rcu_read_lock();
	list_for_each_entry_rcu(port, &tnet->ports, node) {
		if (port->id < visit->port_id)
			continue;
		if (port->id > visit->port_id)
			visit->below = LONG_MAX;
		visit->port_id = port->id;
		all = visit_port(port, &visit->below, &batch, visit->fn, visit->arg);
		if (!all)
			break;
	}
	rcu_read_unlock();
	return all;
}

/* Visits every flow that is there all the time, also of ports that are going. */
static void visit_all(struct tcon_net *tnet, void *of_all)
{
	struct visit visit = *(struct visit *)of_all;

	while (!visit_some(tnet, &visit))
		cond_resched();
}

/**
 * tcon_walk_reclassify_all() - let every flow of every namespace look for its rule now
 *
 * No flow is left out: after this no flow runs a CC that is being removed.
 *
 * Context: process context, may sleep.
 */
void tcon_walk_reclassify_all(void)
{
	struct visit visit = { .fn = refresh };

	tcon_net_for_each(visit_all, &visit);
}

/* Packets that are being injected are still on their way.  Others must not overtake them. */
static void drain(struct tcon_flow *flow, u64 now_us, void *any)
{
	if (!tcon_buffer_waits(&flow->buffer)) {
		*(bool *)any |= flow->hold.run != TCON_RUN_NONE;
		return;
	}
	flow->hold.flush = TCON_FLUSH_ALL;
	tcon_flow_kick(flow);
	*(bool *)any = true;
}

/**
 * tcon_walk_drain_all() - pass everything that is held
 *
 * Context: process context, may sleep.  Pacers do the work soon after.
 * Return: whether anything was held.  If not, and no flow is enforced, nothing will be held
 *	any more.
 */
bool tcon_walk_drain_all(void)
{
	bool any = false;
	struct visit visit = { .fn = drain, .arg = &any };

	tcon_net_for_each(visit_all, &visit);
	return any;
}

static void look_at_ports(struct tcon_net *tnet, void *unused)
{
	struct tcon_port *port;

	mutex_lock(&tnet->lock);
	list_for_each_entry(port, &tnet->ports, node) {
		if (port->less_ruled)
			tcon_policy_place(port);
		tcon_port_look(port);
		cond_resched();
	}
	mutex_unlock(&tnet->lock);
}

/* Ends some flows whose connections have ended a while ago.  Says whether these were all. */
static bool reap_some(struct tcon_net *tnet)
{
	struct batch batch = new_batch();
	struct tcon_port *port;

	rcu_read_lock();
	list_for_each_entry_rcu(port, &tnet->ports, node)
		while (batch.left && tcon_reap(port, tcon_us(tcon_now_ns())))
			batch.left--;
	rcu_read_unlock();
	return batch.left;
}

static void reap(struct tcon_net *tnet, void *unused)
{
	while (!reap_some(tnet))
		cond_resched();
}

static void look(struct work_struct *work)
{
	tcon_net_for_each(look_at_ports, NULL);
	tcon_net_for_each(reap, NULL);
	schedule_delayed_work(to_delayed_work(work), LOOK_INTERVAL);
}

static DECLARE_DELAYED_WORK(look_work, look);

static int __net_init walk_init_net(struct net *net)
{
	INIT_WORK(&tcon_net(net)->spread, spread);
	return 0;
}

/* No socket is left that could change rules. */
static void __net_exit walk_exit_net(struct net *net)
{
	cancel_work_sync(&tcon_net(net)->spread);
}

static struct pernet_operations walk_net_ops = {
	.init = walk_init_net,
	.exit = walk_exit_net,
};

/**
 * tcon_walk_register() - be ready to visit flows of every namespace, and look at its ports
 *
 * Return: 0 or a negative error.
 */
int tcon_walk_register(void)
{
	int err = register_pernet_subsys(&walk_net_ops);

	if (!err)
		schedule_delayed_work(&look_work, LOOK_INTERVAL);
	return err;
}

/**
 * tcon_walk_unregister() - visit flows no more; nothing changes rules
 */
void tcon_walk_unregister(void)
{
	cancel_delayed_work_sync(&look_work);
	unregister_pernet_subsys(&walk_net_ops);
}
