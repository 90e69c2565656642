// SPDX-License-Identifier: GPL-2.0-only
/*
 * The flow table.
 *
 * Look-ups run under RCU.  Each flow has a spinlock.  The hash is keyed.
 *
 * A guest or its peers can fill only their port's share of the table (shares.c).  Flows whose
 * connection nobody has confirmed (embryos) have a smaller share: the handshake is not complete,
 * or the guest sent data and the peer has not acknowledged any.
 * Where a share is used up, a new flow takes the place of another flow of its port: of one whose
 * connection has ended, and lingers for repeats of its FIN; of the oldest embryo; or of one that
 * was not used for long.  So a guest cannot get a flow past the table by filling it.
 *
 * While packets of a half-flow pass unseen (rest.c), nothing of its sender's state is used.  So it
 * sleeps, in little memory, until a packet of it is seen, or a rule can match at its port.  It is
 * then as any flow whose port has rested.
 *
 *	struct tcon_flow --- fall_asleep(): its port rests, nothing for a while ---> struct asleep
 *		^								  |
 *		+---------- tcon_flow_wake(): a packet is seen, or a rule --------+
 *
 * Both begin with a &struct tcon_stub.  One takes the other's place in the table and in its port's
 * tree, and keeps its serial.
 *
 * Lock order: flow->lock, then port->lock; or flow->lock, then a pacer's.
 */
#include <linux/jhash.h>
#include <linux/moduleparam.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "base/contract.h"
#include "sender/seed.h"
#include "sender/sent.h"
#include "state/flow.h"
#include "wire/segment.h"

#define GC_INTERVAL		HZ
#define GC_LEAST		4096	/* flows looked at each time, if there are so many */
#define GC_INTERVALS_MAX	60	/* until each flow has been looked at */
#define WALK_BATCH		64	/* flows; then let others run */
#define USEC_PER_S		1000000ULL
#define CLOSED_LINGER_US	(10 * USEC_PER_S)	/* repeats of the FIN */
#define EMBRYO_IDLE_US		(70 * USEC_PER_S)	/* 5 SYN repeats of Linux */
#define OLDEST_MAX		16	/* flows among which the one to give way is looked for */
#define SHRINK_IDLE_US		(5 * USEC_PER_S)
#define SLEEP_IDLE_US		USEC_PER_S

/* A little more than Linux's default keep-alive: 7200 s and 9 probes. */
static unsigned int idle_s = 8000;
module_param(idle_s, uint, 0644);
MODULE_PARM_DESC(idle_s, "seconds after which a silent half-flow is collected");

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
#ifndef __CHECKER__	/* for which a bit of type bool takes a byte */
/* Nine to 16 KiB of slab.  Where kernels are debugged, locks take more. */
static_assert(sizeof(spinlock_t) > sizeof(u32) || sizeof(struct tcon_flow) <= 1792);
#endif

static struct kmem_cache *flow_cache, *asleep_cache;
static struct rhashtable flow_table;
static struct delayed_work gc_work;
static struct rhashtable_iter gc_iter;	/* which flow is looked at next */

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

/* Under port->lock. */
static void remove_embryo(struct tcon_flow *flow)
{
	struct tcon_port *port = flow->port;

	lockdep_assert_held(&port->lock);
	if (list_empty(&flow->embryo_node))
		return;
	list_del_init(&flow->embryo_node);
	tcon_budget_charge(&port->shares[TCON_SHARE_EMBRYOS], -1);
}

/**
 * tcon_flow_set_state() - a flow has another state or reason
 * @flow: its lock is held
 * @state: what is done to it
 * @reason: why not more
 */
void tcon_flow_set_state(struct tcon_flow *flow, enum tcon_state state, enum tcon_reason reason)
{
	struct tcon_stats __percpu *stats = tcon_flow_stats(flow);
	u8 state_before = flow->state, reason_before = flow->reason;

	if (state_before == state && reason_before == reason)
		return;
	if (reason_before != reason) {
		tcon_count_flow(stats, reason_before, -1);
		tcon_count_flow(stats, reason, 1);
	}
	if (state_before == TCON_STATE_REPAIRED) {
		tcon_sent_repairs_end(&flow->track);
		tcon_flow_forget_needless(flow);	/* from now on repeats are needed */
	}
	flow->state = state;
	flow->reason = reason;
	trace_tcon_state(flow, state_before, reason_before);
}

static void leave_rule(struct tcon_flow *flow)
{
	if (!flow->rule)
		return;
	atomic_dec(&flow->rule->flows);
	tcon_rule_put(flow->rule);
	flow->rule = NULL;
}

/**
 * tcon_flow_keep_syn() - keep a SYN that may have to be sent again
 * @flow: its lock is held
 * @skb: the SYN, with its &struct tcon_segment; the flow's from now on
 *
 * Its memory counts as part of the flow's records, so the port is charged for it.
 */
void tcon_flow_keep_syn(struct tcon_flow *flow, struct sk_buff *skb)
{
	lockdep_assert_held(&flow->lock);
	consume_skb(tcon_flow_take_syn(flow));
	tcon_segment(skb)->charged_bytes = skb->truesize;
	tcon_budget_charge(&flow->port->shares[TCON_SHARE_RECORDS], skb->truesize);
	flow->syn = skb;
}

/**
 * tcon_flow_take_syn() - the kept SYN is no longer needed
 * @flow: its lock is held
 *
 * Return: the SYN, which is the caller's; NULL: there is none.
 */
struct sk_buff *tcon_flow_take_syn(struct tcon_flow *flow)
{
	struct sk_buff *skb = flow->syn;

	lockdep_assert_held(&flow->lock);
	if (skb)
		tcon_budget_charge(&flow->port->shares[TCON_SHARE_RECORDS],
				   -(long)tcon_segment(skb)->charged_bytes);
	flow->syn = NULL;
	return skb;
}

/**
 * tcon_flow_set_evading() - is it the guest that keeps the flow from being enforced?
 * @flow: its lock is held
 * @evading: whether it is
 */
void tcon_flow_set_evading(struct tcon_flow *flow, bool evading)
{
	struct tcon_port *port = flow->port;

	if (likely(flow->evading == evading))
		return;
	flow->evading = evading;
	if (evading) {
		atomic_inc(&port->evading);
		atomic_long_add(1, &port->evaded);
	} else {
		atomic_dec(&port->evading);
	}
}

/* The connection has ended: rules that compare hear of it, once. */
static void tell_outcome(struct tcon_flow *flow)
{
	struct tcon_outcome_of of;

	if (likely(!READ_ONCE(flow->port->tnet->n_shares)) || flow->compared)
		return;
	flow->compared = true;
	if (tcon_outcome_of(&flow->track, &of))
		tcon_policy_outcome(flow->port, &flow->key, &flow->traits, flow->rule,
				    flow->created_us, &of);
}

/**
 * tcon_flow_put_copy() - give a copy back; a &typedef tcon_put_copy_fn
 * @q: the queue of the half-flow that it belongs to, whose lock is held
 * @copy: the copy
 *
 * Context: bottom halves disabled.
 */
void tcon_flow_put_copy(struct tcon_sendq *q, struct sk_buff *copy)
{
	struct tcon_flow *flow = container_of(q, struct tcon_flow, track.sendq);

	lockdep_assert_held(&flow->lock);
	tcon_buffer_put(&flow->buffer, flow->port, copy);
}

/* Frees what a connection has: packets, appointments, the CC and all records. */
static void let_go(struct tcon_flow *flow)
{
	tcon_pacer_cancel(&flow->due);
	tcon_buffer_purge(&flow->buffer, flow->port);
	consume_skb(tcon_flow_take_syn(flow));
	kfree(flow->saved);
	flow->saved = NULL;
	tcon_ca_stop(&flow->track);
	tcon_track_release(&flow->track);
}

/* Frees a flow that is in the table no longer, with what it has. */
static void dispose(struct tcon_flow *flow)
{
	lockdep_assert_held(&flow->lock);
	flow->dead = true;
	let_go(flow);
	flow->state = TCON_STATE_OBSERVED;	/* a dump may still come by */
	tcon_flow_set_evading(flow, false);
	if (flow->rest.attended)
		atomic_dec(&flow->port->attended);
	leave_rule(flow);
	call_rcu(&flow->rcu, flow_free);
}

/* Ends the flow, which is not dead yet. */
static void kill_locked(struct tcon_flow *flow)
{
	struct tcon_port *port = flow->port;

	lockdep_assert_held(&flow->lock);
	tell_outcome(flow);
	rhashtable_remove_fast(&flow_table, &flow->node, flow_params);
	spin_lock(&port->lock);
	rb_erase_cached(&flow->port_node, &port->flow_tree);
	list_del_init(&flow->closed_node);
	remove_embryo(flow);
	spin_unlock(&port->lock);
	tcon_count_flow(tcon_flow_stats(flow), flow->reason, -1);
	tcon_budget_charge(&port->shares[TCON_SHARE_FLOWS], -1);
	dispose(flow);
}

/* Ends a half-flow that sleeps.  Returns whether it was not dead yet. */
static bool kill_asleep(struct tcon_stub *stub)
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
		return kill_asleep(stub);
	flow = tcon_flow_of(stub);
	spin_lock_bh(&flow->lock);
	alive = !flow->dead;
	if (alive)
		kill_locked(flow);
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
		remove_embryo(oldest);
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

/* Who makes room at a port, and @why; it may be dead by now.  NULL: nobody. */
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

/* May a flow begin that there is no room for, since one of the port's gave way?  A port that was
 * lent more than its part takes nothing from others by that.  Beyond a bound that was lowered,
 * or of a host with more ports than before, a second one gives way, and none may begin until
 * the bound is kept.
 */
static bool replaces(struct tcon_port *port)
{
	const struct tcon_budget *share = &port->shares[TCON_SHARE_FLOWS];
	bool replaced = make_room(port);

	if (tcon_budget_full(share) && make_room(port))
		replaced = true;
	return replaced && !tcon_budget_full(share);
}

static void flow_setup(struct tcon_flow *flow, struct tcon_port *port,
		       const struct tcon_key *key, const struct tcon_traits *traits)
{
	u64 now_us = tcon_us(tcon_now_ns());

	memset(flow, 0, sizeof(*flow));
	flow->key = *key;
	flow->traits = *traits;
	flow->port = port;
	spin_lock_init(&flow->lock);
	tcon_track_init(&flow->track, &port->shares[TCON_SHARE_RECORDS]);
	__skb_queue_head_init(&flow->buffer.unsent);
	timerqueue_init(&flow->due.node);
	INIT_LIST_HEAD(&flow->closed_node);
	INIT_LIST_HEAD(&flow->embryo_node);
	flow->generation = READ_ONCE(port->generation) - 1;
	flow->state = TCON_STATE_OBSERVED;
	flow->reason = TCON_REASON_HANDSHAKE;
	flow->created_us = now_us;
	flow->seen_us = now_us;
	flow->rest.wakes = READ_ONCE(port->wakes);
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
	flow_setup(flow, stub->port, &stub->key, &a->traits);
	tcon_seed_grow(&a->seed, &flow->track, &flow->ecn, flow->seen_us);
	flow->serial = stub->serial;
	flow->created_us = stub->created_us;
	flow->seen_us = stub->seen_us;
	flow->reason = TCON_REASON_NO_RULE;
	flow->rest.wakes--;
	return flow;
}

/**
 * tcon_flow_wake() - wake a half-flow that sleeps
 * @stub: the half-flow
 *
 * Context: RCU read lock held.
 * Return: the flow, which may be dead when its lock is taken; NULL: it ends, another CPU wakes it,
 *	or there is no memory.
 */
noinline struct tcon_flow *tcon_flow_wake(struct tcon_stub *stub)
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
 * tcon_flow_find() - look a half-flow up, and wake it if it sleeps
 * @key: its key
 *
 * Context: RCU read lock held, bottom halves disabled.
 * Return: the flow, or NULL.  The flow may be dead when its lock is taken.
 */
struct tcon_flow *tcon_flow_find(const struct tcon_key *key)
{
	struct tcon_stub *stub;

	tcon_assert_rcu();
	stub = rhashtable_lookup(&flow_table, key, flow_params);
	if (unlikely(stub && stub->asleep))
		return tcon_flow_wake(stub);
	return tcon_flow_of(stub);
}

/**
 * tcon_flow_open() - look at a half-flow that may sleep
 * @stub: the half-flow
 *
 * Context: RCU read lock held.
 * Return: the flow; if it sleeps, as it was when it fell asleep; NULL without memory.  For
 *	tcon_flow_shut().
 */
struct tcon_flow *tcon_flow_open(struct tcon_stub *stub)
{
	return stub->asleep ? unfold(stub) : tcon_flow_of(stub);
}

/**
 * tcon_flow_shut() - it has been looked at
 * @stub: the half-flow
 * @flow: what tcon_flow_open() has returned
 */
void tcon_flow_shut(struct tcon_stub *stub, struct tcon_flow *flow)
{
	if (stub->asleep)
		kmem_cache_free(flow_cache, flow);
}

/* Adds the flow to those of its port, as the newest. */
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
 * tcon_flow_below() - the next older half-flow of a port
 * @port: the port
 * @serial: serial of the one before; %LONG_MAX: none, the newest is asked for
 *
 * So flows can be visited in parts.  Those that are there all the time are visited once, whatever
 * others come and go.
 *
 * Context: RCU read lock held.
 * Return: the newest flow with a lower serial, which may be dead when its lock is taken; NULL.
 */
struct tcon_stub *tcon_flow_below(struct tcon_port *port, long serial)
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
 * tcon_flow_create() - make a half-flow
 * @port: the guest's port
 * @key: its key, which is not in the table
 * @traits: its traits
 *
 * Context: RCU read lock held, bottom halves disabled.
 * Return: the flow, or NULL because of a cap, lack of memory or a race with another
 *	CPU.  The packet then passes.  Caps and lack of memory are counted.
 */
struct tcon_flow *tcon_flow_create(struct tcon_port *port,
				   const struct tcon_key *key,
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
	flow_setup(flow, port, key, traits);
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

/* Nothing is known of the connection any more, and of what was done to it. */
static void forget(struct tcon_flow *flow)
{
	flow->compared = false;
	flow->again.syn_seen = false;
	flow->heard_us = 0;
	flow->mid_stream = false;
	flow->hidden = false;
	flow->unseen = false;
	flow->astray = TCON_ASTRAY_NONE;
	flow->watchdog = false;
	flow->hold.drain = false;
	flow->hold.overdue = false;
	flow->hold.release_ns = 0;
	flow->hold.burst_bytes = 0;
	flow->buffer.left_tsval = 0;
	flow->hold.kicked = flow->hold.injecting;	/* the old one may look much later */
	flow->bare.valid = false;
	flow->reordering = false;
	flow->said.sends_parts = false;
	flow->said.last_bytes = 0;
	flow->said.wire_bytes = 0;
	tcon_flow_forget_needless(flow);
	flow->repair.absorbed = 0;
	flow->repair.hidden_acks = 0;
	flow->repair.probes = 0;
	flow->repair.timeouts = 0;
	flow->rest.wakes = READ_ONCE(flow->port->wakes);
	flow->rest.heard = false;
	flow->rest.unheard = 0;
	flow->rest.believe_us = 0;
	memset(&flow->window, 0, sizeof(flow->window));
	memset(&flow->limits, 0, sizeof(flow->limits));
	memset(&flow->answer, 0, sizeof(flow->answer));
	memset(&flow->told, 0, sizeof(flow->told));
}

/**
 * tcon_flow_restart() - start anew, for a new connection with the same key
 * @flow: its lock is held
 * @now_us: the time
 */
void tcon_flow_restart(struct tcon_flow *flow, u64 now_us)
{
	lockdep_assert_held(&flow->lock);
	tcon_count(tcon_flow_stats(flow), TCON_COUNTER_FLOWS_RESET);
	tell_outcome(flow);
	let_go(flow);
	tcon_track_init(&flow->track, &flow->port->shares[TCON_SHARE_RECORDS]);
	tcon_flow_set_state(flow, TCON_STATE_OBSERVED, TCON_REASON_HANDSHAKE);
	tcon_flow_set_evading(flow, false);
	tcon_flow_reopen(flow);
	forget(flow);
	flow->created_us = now_us;
}

/**
 * tcon_flow_opens_anew() - does a SYN open in place of a live connection?
 * @flow: its lock is held
 * @pkt: a SYN of the guest
 *
 * While the peer has the connection, it does not take such a SYN (RFC 5961, 4), and the connection
 * goes on.  So the SYN counts only when the peer answers it.  An opening that the guest answers
 * is its own decision.
 *
 * Return: the SYN is to be noted, and nothing else.
 */
bool tcon_flow_opens_anew(const struct tcon_flow *flow, const struct tcon_packet *pkt)
{
	const struct tcon_track *t = &flow->track;
	bool taken;		/* the peer has taken data, or the handshake's last ACK came */

	lockdep_assert_held(&flow->lock);
	taken = flow->mid_stream ? t->acked_bytes : tcon_track_established(t);
	return taken && !flow->closed_us && t->guest.isn != pkt->seq &&
	       !(pkt->flags & TCON_TCP_ACK);
}

/**
 * tcon_flow_grown() - take note that the connection is confirmed
 * @flow: its lock is held
 */
void tcon_flow_grown(struct tcon_flow *flow)
{
	lockdep_assert_held(&flow->lock);
	/* If another CPU takes it out just now, remove_embryo() sees that. */
	if (list_empty(&flow->embryo_node))
		return;
	spin_lock(&flow->port->lock);
	remove_embryo(flow);
	spin_unlock(&flow->port->lock);
}

/**
 * tcon_flow_close() - the connection has ended
 * @flow: its lock is held, not dead
 * @now_us: the time
 */
void tcon_flow_close(struct tcon_flow *flow, u64 now_us)
{
	lockdep_assert_held(&flow->lock);
	tell_outcome(flow);
	flow->closed_us = now_us;
	spin_lock(&flow->port->lock);
	list_move_tail(&flow->closed_node, &flow->port->closed_list);
	spin_unlock(&flow->port->lock);
}

/**
 * tcon_flow_reopen() - the connection goes on after all, or another takes its place
 * @flow: its lock is held
 */
void tcon_flow_reopen(struct tcon_flow *flow)
{
	lockdep_assert_held(&flow->lock);
	if (!flow->closed_us)
		return;
	flow->closed_us = 0;
	spin_lock(&flow->port->lock);
	list_del_init(&flow->closed_node);
	spin_unlock(&flow->port->lock);
}

/**
 * tcon_flow_kick() - look at a flow soon, if anything waits
 * @flow: its lock is held
 *
 * Context: bottom halves disabled; also from inside a hook.
 */
void tcon_flow_kick(struct tcon_flow *flow)
{
	lockdep_assert_held(&flow->lock);
	lockdep_assert_in_softirq();
	if (flow->dead || !tcon_flow_waits(flow))
		return;
	if (flow->hold.injecting)
		flow->hold.kicked = true;
	else
		tcon_pacer_at(&flow->due, ktime_get_ns());
}

/*
 * Nobody knows whether it still sends: its data passes unseen.  It stays until its end is seen, or
 * its port needs its place.
 */
static bool is_out_of_sight(const struct tcon_flow *flow)
{
	const struct tcon_track *t = &flow->track;

	return READ_ONCE(flow->port->rests) && t->guest.syn_seen && t->peer.syn_seen;
}

/*
 * For how long was none of its packets seen, although its port looked at them?  Another CPU may
 * have read the time after this one.
 */
static u64 idle_us_of(const struct tcon_stub *stub, u64 now_us)
{
	u64 since_us = max(stub->seen_us, READ_ONCE(stub->port->woken_us));

	return now_us > since_us ? now_us - since_us : 0;
}

static bool is_stale(const struct tcon_flow *flow, u64 now_us,
		     enum tcon_counter *why)
{
	u64 idle_us = idle_us_of(&flow->stub, now_us);
	u64 most_us = idle_s * USEC_PER_S;

	*why = TCON_COUNTER_FLOWS_CLOSED;
	if (flow->closed_us)
		return idle_us > CLOSED_LINGER_US;
	*why = TCON_COUNTER_FLOWS_IDLE;
	/* Without a complete handshake nothing is enforced: the flow is kept for less time. */
	if (!tcon_track_established(&flow->track) && !flow->saved)
		most_us = min(most_us, EMBRYO_IDLE_US);
	return idle_us > most_us && !is_out_of_sight(flow);
}

/* Is something going on that packets are seen for, or that is to end first? */
static bool is_busy(const struct tcon_flow *flow)
{
	const struct tcon_track *t = &flow->track;

	return flow->saved || flow->syn || flow->closed_us || t->fin_guest || t->fin_peer ||
	       flow->pending.syn_seen || flow->again.syn_seen ||
	       flow->rest.attended || flow->hold.injecting ||
	       tcon_buffer_waits(&flow->buffer) || !list_empty(&flow->embryo_node);
}

/* Would nothing of it matter, until its port wakes, but what sleeps with it? */
static bool may_sleep(const struct tcon_flow *flow)
{
	const struct tcon_track *t = &flow->track;

	return READ_ONCE(flow->port->rests) && flow->reason == TCON_REASON_NO_RULE &&
	       flow->generation == READ_ONCE(flow->port->generation) &&
	       t->synced && t->guest.syn_seen && t->peer.syn_seen &&
	       (t->guest.acked || t->peer.acked) &&
	       !flow->mid_stream && !flow->astray && !is_busy(flow);
}

/* Without memory the flow stays awake. */
static void fall_asleep(struct tcon_flow *flow)
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

static void collect(struct tcon_flow *flow, u64 now_us)
{
	enum tcon_counter why;

	if (is_stale(flow, now_us, &why)) {
		tcon_count(tcon_flow_stats(flow), why);
		kill_locked(flow);
	} else if (flow->seen_us + SLEEP_IDLE_US < now_us && may_sleep(flow)) {
		fall_asleep(flow);
	} else if (flow->seen_us + SHRINK_IDLE_US < now_us &&
		   (flow->track.sendq.head == flow->track.sendq.tail ||
		    is_out_of_sight(flow))) {
		tcon_sendq_clear(&flow->track.sendq);
	}
}

/* The end of one that sleeps is seen.  Where its port looks, silence counts, too. */
static void collect_asleep(struct tcon_stub *stub)
{
	u64 now_us = tcon_us(tcon_now_ns());

	if (!READ_ONCE(stub->port->rests) && idle_us_of(stub, now_us) > idle_s * USEC_PER_S &&
	    kill_asleep(stub))
		tcon_count(stub->port->tnet->stats, TCON_COUNTER_FLOWS_IDLE);
}

static void collect_awake(struct tcon_flow *flow)
{
	spin_lock_bh(&flow->lock);
	if (!flow->dead)
		collect(flow, tcon_us(tcon_now_ns()));
	spin_unlock_bh(&flow->lock);
}

/* Looks at some of the flows; says whether there are more. */
static bool collect_some(struct rhashtable_iter *iter)
{
	struct tcon_stub *stub = NULL;
	unsigned int n;

	rhashtable_walk_start(iter);
	for (n = 0; n < WALK_BATCH; n++) {
		stub = rhashtable_walk_next(iter);
		if (IS_ERR_OR_NULL(stub))	/* error: from the start */
			break;
		if (stub->asleep)
			collect_asleep(stub);
		else
			collect_awake(tcon_flow_of(stub));
	}
	rhashtable_walk_stop(iter);
	return stub;
}

/*
 * Many flows are looked at a part at a time, so that a million of them does not take a CPU a
 * tenth of its time.  If flows end meanwhile, others may be missed (see rhashtable_walk_enter()),
 * until next time.
 */
static void gc(struct work_struct *work)
{
	unsigned int flows = max(GC_LEAST, atomic_read(&flow_table.nelems) / GC_INTERVALS_MAX);
	unsigned int n;

	for (n = 0; n < flows; n += WALK_BATCH) {
		if (!collect_some(&gc_iter)) {	/* all: the next time from the start */
			rhashtable_walk_exit(&gc_iter);
			rhashtable_walk_enter(&flow_table, &gc_iter);
			break;
		}
		cond_resched();
	}
	schedule_delayed_work(&gc_work, GC_INTERVAL);
}

/**
 * tcon_flow_reap() - end the half-flow whose connection ended first, if that is a while ago
 * @port: its port
 * @now_us: the time
 *
 * gc() would find it too, but late if there are many flows.
 *
 * Context: under RCU.
 * Return: true if there was one, and there may be more.
 */
bool tcon_flow_reap(struct tcon_port *port, u64 now_us)
{
	enum tcon_counter why;
	struct tcon_flow *flow;
	bool ended = false;

	spin_lock_bh(&port->lock);
	flow = list_first_entry_or_null(&port->closed_list, struct tcon_flow, closed_node);
	spin_unlock_bh(&port->lock);
	if (!flow)
		return false;
	spin_lock_bh(&flow->lock);
	if (!flow->dead && flow->closed_us && is_stale(flow, now_us, &why)) {
		tcon_count(tcon_flow_stats(flow), why);
		kill_locked(flow);
		ended = true;
	}
	spin_unlock_bh(&flow->lock);
	return ended;
}

/**
 * tcon_flow_purge_port() - end all half-flows of a port
 * @port: the port, which is dead, so that no flow is added
 *
 * Context: process context, may sleep.
 */
void tcon_flow_purge_port(struct tcon_port *port)
{
	struct tcon_stub *stub;

	do {
		rcu_read_lock();
		stub = tcon_flow_below(port, LONG_MAX);
		if (stub)
			kill(stub);
		rcu_read_unlock();
		cond_resched();
	} while (stub);
}

/**
 * tcon_flow_init() - make the table
 *
 * Return: 0 or -ENOMEM.
 */
int tcon_flow_init(void)
{
	int err = -ENOMEM;

	flow_cache = KMEM_CACHE(tcon_flow, SLAB_HWCACHE_ALIGN);
	asleep_cache = KMEM_CACHE(asleep, 0);
	if (flow_cache && asleep_cache)
		err = rhashtable_init(&flow_table, &flow_params);
	if (err) {	/* NULL may be destroyed */
		kmem_cache_destroy(asleep_cache);
		kmem_cache_destroy(flow_cache);
		return err;
	}
	rhashtable_walk_enter(&flow_table, &gc_iter);
	INIT_DELAYED_WORK(&gc_work, gc);
	schedule_delayed_work(&gc_work, GC_INTERVAL);
	return 0;
}

/**
 * tcon_flow_exit() - free the table; all ports are gone
 */
void tcon_flow_exit(void)
{
	cancel_delayed_work_sync(&gc_work);
	rhashtable_walk_exit(&gc_iter);
	rcu_barrier();
	rhashtable_destroy(&flow_table);
	kmem_cache_destroy(asleep_cache);
	kmem_cache_destroy(flow_cache);
}
