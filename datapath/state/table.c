// SPDX-License-Identifier: GPL-2.0-only
/*
 * The flow table.
 *
 * Look-ups run under RCU.  The hash is keyed.
 *
 * A guest or its peers can fill only their port's share of the table (shares.c).  Flows whose
 * connection nobody has confirmed (embryos) have a smaller share: the handshake is not complete,
 * or the guest sent data and the peer has not acknowledged any.
 * Where a share is used up, a new flow replaces another flow of its port: one whose connection has
 * ended, and lingers for repeats of its FIN; the oldest embryo; or one that was not used for long.
 * So a guest cannot get a flow past the table by filling it.
 *
 * While packets of a half-flow pass unseen (rest.c), its sender's state is not used.  So it sleeps,
 * in little memory, until a packet of it is seen, or a rule can match at its port.  Then it is like
 * any flow whose port has rested.
 *
 *	struct tcon_flow -- tcon_table_fold(): its port rests, nothing for a while -> struct asleep
 *		^								    |
 *		+---------- tcon_table_wake(): a packet is seen, or a rule ---------+
 *
 * Both begin with a &struct tcon_stub.  One takes the other's place in the table and in its port's
 * tree, and keeps its serial.
 */
#include <linux/jhash.h>
#include <linux/slab.h>

#include "base/contract.h"
#include "sender/seed.h"
#include "state/flow.h"
#include "state/table.h"

#define OLDEST_MAX		16	/* flows among which the one to give way is looked for */

/**
 * struct asleep - a half-flow that sleeps
 * @stub: what the table and the port have of it
 * @traits: what rules look at beside its key
 * @seed: what is kept of its sender
 */
struct asleep {
	struct tcon_stub stub;
	struct tcon_traits traits;
	struct tcon_seed seed;
};

static_assert(sizeof(struct asleep) <= 256);
static_assert(!offsetof(struct tcon_flow, stub));

static struct kmem_cache *flow_cache, *asleep_cache;
static struct rhashtable flow_table;

static __always_inline u32 flow_hash(const void *data, u32 len, u32 seed)
{
	const struct tcon_key *key = data;
	u32 guest = key->guest.words[0];
	u32 peer = key->peer.words[0];

	if (key->family != AF_INET)
		return jhash2((const u32 *)data, sizeof(*key) / sizeof(u32),
			      seed);
	/* Tags are hashed too: a guest may choose them, even if no bridge lets them pass. */
	if (unlikely(key->vlans[0]))
		seed = jhash_1word(key->vlans[0] << 16 | key->vlans[1], seed);
	return jhash_3words(guest, peer,
			    ((__force u32)key->gport << 16 |
			     (__force u32)key->pport) ^
			    key->port_id << 8, seed);
}

static int flow_cmp(struct rhashtable_compare_arg *arg, const void *obj)
{
	const struct tcon_stub *stub = obj;

	return !tcon_key_equal(&stub->key, arg->key);
}

static const struct rhashtable_params flow_params = {
	.head_offset = offsetof(struct tcon_stub, node),
	.key_offset = offsetof(struct tcon_stub, key),
	.key_len = sizeof(struct tcon_key),
	.hashfn = flow_hash,
	.obj_cmpfn = flow_cmp,
	.automatic_shrinking = true,
};

static void flow_free(struct rcu_head *rcu)
{
	kmem_cache_free(flow_cache, container_of(rcu, struct tcon_flow, rcu));
}

static void asleep_free(struct rcu_head *rcu)
{
	kmem_cache_free(asleep_cache, container_of(rcu, struct asleep, stub.rcu));
}

/* Frees a flow that is in the table no longer, with what it has. */
static void dispose(struct tcon_flow *flow)
{
	tcon_flow_end(flow);
	call_rcu(&flow->rcu, flow_free);
}

/**
 * tcon_table_remove() - end a half-flow
 * @flow: its lock is held; not dead yet
 */
void tcon_table_remove(struct tcon_flow *flow)
{
	struct tcon_port *port = flow->port;

	lockdep_assert_held(&flow->lock);
	tcon_flow_tell_outcome(flow);
	rhashtable_remove_fast(&flow_table, &flow->node, flow_params);
	spin_lock(&port->lock);
	rb_erase_cached(&flow->port_node, &port->flow_tree);
	list_del_init(&flow->closed_node);
	tcon_flow_remove_embryo(flow);
	spin_unlock(&port->lock);
	tcon_count_flow(tcon_flow_stats(flow), flow->reason, -1);
	tcon_budget_charge(&port->shares[TCON_SHARE_FLOWS], -1);
	dispose(flow);
}

/**
 * tcon_table_remove_asleep() - end a half-flow that sleeps
 * @stub: the half-flow
 *
 * Context: under RCU.
 * Return: whether it was not dead yet.
 */
bool tcon_table_remove_asleep(struct tcon_stub *stub)
{
	struct tcon_port *port = stub->port;
	bool alive;

	spin_lock_bh(&port->lock);
	alive = !stub->dead;
	if (alive) {
		stub->dead = true;
		rhashtable_remove_fast(&flow_table, &stub->node, flow_params);
		rb_erase_cached(&stub->port_node, &port->flow_tree);
	}
	spin_unlock_bh(&port->lock);
	if (!alive)
		return false;
	tcon_count_flow(port->tnet->stats, TCON_REASON_NO_RULE, -1);
	tcon_budget_charge(&port->shares[TCON_SHARE_FLOWS], -1);
	call_rcu(&stub->rcu, asleep_free);
	return true;
}

/* Ends a half-flow.  Returns whether it was not dead yet. */
static bool kill(struct tcon_stub *stub)
{
	struct tcon_flow *flow;
	bool alive;

	if (stub->asleep)
		return tcon_table_remove_asleep(stub);
	flow = tcon_flow_of(stub);
	spin_lock_bh(&flow->lock);
	alive = !flow->dead;
	if (alive)
		tcon_table_remove(flow);
	spin_unlock_bh(&flow->lock);
	return alive;
}

/* Adds the flow to the embryos.  Returns one that has to make room, or NULL. */
static struct tcon_flow *join_embryos(struct tcon_flow *flow)
{
	struct tcon_budget *share = &flow->port->shares[TCON_SHARE_EMBRYOS];
	struct tcon_flow *oldest = NULL;

	lockdep_assert_held(&flow->port->lock);
	if (!tcon_budget_allows(share))
		oldest = list_first_entry_or_null(&flow->port->embryos, struct tcon_flow,
						  embryo_node);
	if (oldest)
		tcon_flow_remove_embryo(oldest);
	list_add_tail(&flow->embryo_node, &flow->port->embryos);
	tcon_budget_charge(share, 1);
	return oldest;
}

static struct tcon_stub *stub_of(struct rb_node *node)
{
	return rb_entry_safe(node, struct tcon_stub, port_node);
}

/* One of the port's oldest flows, which was not used for longest; NULL: there is none. */
static struct tcon_stub *least_used(struct tcon_port *port)
{
	struct tcon_stub *stub, *least = NULL;
	struct rb_node *node;
	unsigned int n;

	lockdep_assert_held(&port->lock);
	node = rb_last(&port->flow_tree.rb_root);
	for (n = 0; node && n < OLDEST_MAX; n++, node = rb_prev(node)) {
		stub = stub_of(node);
		if (!least || READ_ONCE(stub->seen_us) < READ_ONCE(least->seen_us))
			least = stub;
	}
	return least;
}

/* The flow that makes room at a port, and @why; it may be dead by now.  NULL: there is none. */
static struct tcon_stub *who_gives_way(struct tcon_port *port, enum tcon_counter *why)
{
	struct tcon_stub *least = NULL;
	struct tcon_flow *flow;

	spin_lock(&port->lock);
	*why = TCON_COUNTER_FLOWS_CLOSED;
	flow = list_first_entry_or_null(&port->closed_list, struct tcon_flow, closed_node);
	if (!flow) {
		*why = TCON_COUNTER_EMBRYO_EVICT;
		flow = list_first_entry_or_null(&port->embryos, struct tcon_flow, embryo_node);
	}
	if (!flow) {
		*why = TCON_COUNTER_FLOW_EVICT;
		least = least_used(port);
	}
	spin_unlock(&port->lock);
	return flow ? &flow->stub : least;
}

/* Ends a flow of the port for a new one.  False: there is none, or another CPU has ended it. */
static bool make_room(struct tcon_port *port)
{
	struct tcon_stub *stub;
	enum tcon_counter why;
	bool lives;

	tcon_assert_rcu();
	stub = who_gives_way(port, &why);
	if (!stub)
		return false;
	lives = kill(stub);
	if (lives)
		tcon_count(port->tnet->stats, why);
	return lives;
}

/* May a flow begin without room, since another of the port gave way?  A port that was lent more
 * than its part takes nothing from others by that.  If the bound was lowered, or the host has more
 * ports than before, a second flow gives way, and none may begin until the bound is kept.
 */
static bool replaces(struct tcon_port *port)
{
	const struct tcon_budget *share = &port->shares[TCON_SHARE_FLOWS];
	bool replaced = make_room(port);

	if (tcon_budget_full(share) && make_room(port))
		replaced = true;
	return replaced && !tcon_budget_full(share);
}

/* Puts @stub into the place of @of, the same half-flow, in the table and in the port's tree. */
static int put_in_place(struct tcon_stub *stub, struct tcon_stub *of)
{
	struct tcon_port *port = of->port;
	int err;

	lockdep_assert_held(&port->lock);
	err = rhashtable_replace_fast(&flow_table, &of->node, &stub->node, flow_params);
	if (!err)
		rb_replace_node_cached(&of->port_node, &stub->port_node, &port->flow_tree);
	return err;
}

/* A flow as it was when it fell asleep, in no table; NULL without memory. */
static struct tcon_flow *unfold(struct tcon_stub *stub)
{
	const struct asleep *a = container_of(stub, struct asleep, stub);
	struct tcon_flow *flow = kmem_cache_alloc(flow_cache, GFP_ATOMIC | __GFP_NOWARN);

	if (!flow) {
		tcon_count(stub->port->tnet->stats, TCON_COUNTER_NO_MEMORY);
		return NULL;
	}
	tcon_flow_setup(flow, stub->port, &stub->key, &a->traits);
	tcon_seed_grow(&a->seed, &flow->track, &flow->ecn, flow->seen_us);
	flow->serial = stub->serial;
	flow->created_us = stub->created_us;
	flow->seen_us = stub->seen_us;
	flow->reason = TCON_REASON_NO_RULE;
	flow->wakes--;
	return flow;
}

/**
 * tcon_table_wake() - wake a half-flow that sleeps
 * @stub: the half-flow
 *
 * Context: RCU read lock held.
 * Return: the flow, which may be dead when its lock is taken; NULL: it ends, another CPU wakes it,
 *	or there is no memory.
 */
noinline struct tcon_flow *tcon_table_wake(struct tcon_stub *stub)
{
	struct tcon_flow *flow = unfold(stub);
	int err = -ENOENT;

	if (!flow)
		return NULL;
	spin_lock_bh(&stub->port->lock);
	if (!stub->dead)
		err = put_in_place(&flow->stub, stub);
	if (!err)
		stub->dead = true;
	spin_unlock_bh(&stub->port->lock);
	if (err) {
		kmem_cache_free(flow_cache, flow);
		return NULL;
	}
	tcon_count(stub->port->tnet->stats, TCON_COUNTER_FLOW_WOKEN);
	call_rcu(&stub->rcu, asleep_free);
	return flow;
}

/**
 * tcon_table_find() - look a half-flow up, and wake it if it sleeps
 * @key: its key
 *
 * Context: RCU read lock held, bottom halves disabled.
 * Return: the flow, or NULL.  The flow may be dead when its lock is taken.
 */
struct tcon_flow *tcon_table_find(const struct tcon_key *key)
{
	struct tcon_stub *stub;

	tcon_assert_rcu();
	stub = rhashtable_lookup(&flow_table, key, flow_params);
	if (unlikely(stub && stub->asleep))
		return tcon_table_wake(stub);
	return tcon_flow_of(stub);
}

/**
 * tcon_table_open() - look at a half-flow that may sleep
 * @stub: the half-flow
 *
 * Context: RCU read lock held.
 * Return: the flow; if it sleeps, as it was when it fell asleep; NULL without memory.  For
 *	tcon_table_shut().
 */
struct tcon_flow *tcon_table_open(struct tcon_stub *stub)
{
	return stub->asleep ? unfold(stub) : tcon_flow_of(stub);
}

/**
 * tcon_table_shut() - it has been looked at
 * @stub: the half-flow
 * @flow: what tcon_table_open() has returned
 */
void tcon_table_shut(struct tcon_stub *stub, struct tcon_flow *flow)
{
	if (stub->asleep)
		kmem_cache_free(flow_cache, flow);
}

/* Adds the flow to its port's tree, as the newest. */
static void join_port(struct tcon_flow *flow)
{
	struct tcon_port *port = flow->port;
	struct rb_node *newest = rb_first_cached(&port->flow_tree);

	lockdep_assert_held(&port->lock);
	flow->serial = ++port->last_serial;
	rb_link_node(&flow->port_node, newest,
		     newest ? &newest->rb_left : &port->flow_tree.rb_root.rb_node);
	rb_insert_color_cached(&flow->port_node, &port->flow_tree, true);
}

/**
 * tcon_table_below() - the next older half-flow of a port
 * @port: the port
 * @serial: serial of the one before; %LONG_MAX: none, the newest is asked for
 *
 * So flows can be visited in parts.  A flow that is there all the time is visited once, whatever
 * others come and go.
 *
 * Context: RCU read lock held.
 * Return: the newest flow with a lower serial, which may be dead when its lock is taken; NULL.
 */
struct tcon_stub *tcon_table_below(struct tcon_port *port, long serial)
{
	struct tcon_stub *stub, *found = NULL;

	tcon_assert_rcu();
	spin_lock_bh(&port->lock);
	stub = stub_of(port->flow_tree.rb_root.rb_node);
	while (stub) {
		if (stub->serial < serial) {
			found = stub;
			stub = stub_of(stub->port_node.rb_left);
		} else {
			stub = stub_of(stub->port_node.rb_right);
		}
	}
	spin_unlock_bh(&port->lock);
	return found;
}

/*
 * Adds the flow to the table, to the port's and to the embryos.  Returns 0, or an error.  If
 * another CPU finds the flow in the table, it waits until the flow is in the lists and is counted.
 */
static int enlist(struct tcon_flow *flow)
{
	struct tcon_port *port = flow->port;
	struct tcon_flow *evicted = NULL;
	int err = -ENODEV;

	spin_lock(&flow->lock);
	spin_lock(&port->lock);
	if (!port->dead)
		err = rhashtable_lookup_insert_fast(&flow_table, &flow->node,
						    flow_params);
	if (!err) {
		join_port(flow);
		tcon_count_flow(tcon_flow_stats(flow), flow->reason, 1);
		evicted = join_embryos(flow);
	}
	spin_unlock(&port->lock);
	spin_unlock(&flow->lock);
	if (evicted) {
		tcon_count(port->tnet->stats, TCON_COUNTER_EMBRYO_EVICT);
		kill(&evicted->stub);
	}
	return err;
}

/**
 * tcon_table_create() - make a half-flow
 * @port: the guest's port
 * @key: its key, which is not in the table
 * @traits: its traits
 *
 * Context: RCU read lock held, bottom halves disabled.
 * Return: the flow, or NULL because of a cap, lack of memory or a race with another
 *	CPU.  The packet then passes.  Caps and lack of memory are counted.
 */
struct tcon_flow *tcon_table_create(struct tcon_port *port, const struct tcon_key *key,
				    const struct tcon_traits *traits)
{
	struct tcon_budget *share = &port->shares[TCON_SHARE_FLOWS];
	struct tcon_net *tnet = port->tnet;
	struct tcon_flow *flow;
	int err;

	lockdep_assert_in_softirq();
	tcon_assert_rcu();
	if (!tcon_budget_allows(share) && !replaces(port)) {
		tcon_count(tnet->stats, TCON_COUNTER_TABLE_FULL);
		return NULL;
	}
	flow = kmem_cache_alloc(flow_cache, GFP_ATOMIC | __GFP_NOWARN);
	if (!flow) {
		tcon_count(tnet->stats, TCON_COUNTER_NO_MEMORY);
		return NULL;
	}
	tcon_flow_setup(flow, port, key, traits);
	tcon_budget_charge(share, 1);
	err = enlist(flow);
	if (err) {	/* after a race the other packet's flow is counted */
		if (err != -EEXIST && err != -ENODEV)
			tcon_count(tnet->stats, TCON_COUNTER_NO_MEMORY);
		tcon_budget_charge(share, -1);
		kmem_cache_free(flow_cache, flow);
		return NULL;
	}
	tcon_count(tnet->stats, TCON_COUNTER_FLOWS_NEW);
	return flow;
}

/**
 * tcon_table_fold() - a half-flow falls asleep
 * @flow: its lock is held
 *
 * Without memory the flow stays awake.
 */
void tcon_table_fold(struct tcon_flow *flow)
{
	struct asleep *a = kmem_cache_alloc(asleep_cache, GFP_ATOMIC | __GFP_NOWARN);
	int err;

	lockdep_assert_held(&flow->lock);
	if (!a)
		return;
	a->stub = flow->stub;
	a->stub.asleep = true;
	a->traits = flow->traits;
	tcon_seed_take(&a->seed, &flow->track, &flow->ecn);
	spin_lock(&flow->port->lock);
	err = put_in_place(&a->stub, &flow->stub);
	spin_unlock(&flow->port->lock);
	if (err) {
		kmem_cache_free(asleep_cache, a);
		return;
	}
	tcon_count(tcon_flow_stats(flow), TCON_COUNTER_FLOW_SLEPT);
	dispose(flow);
}

/**
 * tcon_table_walk() - begin to look at all half-flows
 * @iter: which one is looked at next; for rhashtable_walk_exit()
 */
void tcon_table_walk(struct rhashtable_iter *iter)
{
	rhashtable_walk_enter(&flow_table, iter);
}

/**
 * tcon_table_count() - how many half-flows are there?
 *
 * Return: their number.
 */
unsigned int tcon_table_count(void)
{
	return atomic_read(&flow_table.nelems);
}

/**
 * tcon_table_purge_port() - end all half-flows of a port
 * @port: the port, which is dead, so that no flow is added
 *
 * Context: process context, may sleep.
 */
void tcon_table_purge_port(struct tcon_port *port)
{
	struct tcon_stub *stub;

	do {
		rcu_read_lock();
		stub = tcon_table_below(port, LONG_MAX);
		if (stub)
			kill(stub);
		rcu_read_unlock();
		cond_resched();
	} while (stub);
}

/**
 * tcon_table_init() - make the table
 *
 * Return: 0 or -ENOMEM.
 */
int tcon_table_init(void)
{
	int err = -ENOMEM;

	flow_cache = KMEM_CACHE(tcon_flow, SLAB_HWCACHE_ALIGN);
	asleep_cache = KMEM_CACHE(asleep, 0);
	if (flow_cache && asleep_cache)
		err = rhashtable_init(&flow_table, &flow_params);
	if (err) {	/* NULL may be destroyed */
		kmem_cache_destroy(asleep_cache);
		kmem_cache_destroy(flow_cache);
	}
	return err;
}

/**
 * tcon_table_exit() - free the table; all ports are gone
 */
void tcon_table_exit(void)
{
	rcu_barrier();
	rhashtable_destroy(&flow_table);
	kmem_cache_destroy(asleep_cache);
	kmem_cache_destroy(flow_cache);
}
