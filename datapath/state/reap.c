// SPDX-License-Identifier: GPL-2.0-only
/*
 * Half-flows that are needed no longer, or need not be awake.
 */
#include <linux/moduleparam.h>
#include <linux/workqueue.h>

#include "state/flow.h"
#include "state/reap.h"
#include "state/table.h"

#define GC_INTERVAL		HZ
#define GC_LEAST		4096U	/* flows looked at each time, if there are more */
#define GC_INTERVALS_MAX	60	/* until each flow has been looked at */
#define WALK_BATCH		64	/* flows; then let others run */
#define USEC_PER_S		1000000ULL
#define CLOSED_LINGER_US	(10 * USEC_PER_S)	/* repeats of the FIN */
#define EMBRYO_IDLE_US		(70 * USEC_PER_S)	/* 5 SYN repeats of Linux */
#define SHRINK_IDLE_US		(5 * USEC_PER_S)
#define SLEEP_IDLE_US		USEC_PER_S

/* A little more than Linux's default keep-alive: 7200 s and 9 probes. */
static unsigned int idle_s = 8000;
module_param(idle_s, uint, 0644);
MODULE_PARM_DESC(idle_s, "seconds after which a silent half-flow is collected");

static struct delayed_work gc_work;
static struct rhashtable_iter gc_iter;	/* which flow is looked at next */

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

/* Does something go on that needs packets to be seen, or that has to end first? */
static bool is_busy(const struct tcon_flow *flow)
{
	const struct tcon_track *t = &flow->track;

	return flow->saved || flow->syn || flow->closed_us || t->fin_guest || t->fin_peer ||
	       flow->pending.syn_seen || flow->again.syn_seen ||
	       flow->rest.attended || flow->hold.run ||
	       tcon_buffer_waits(&flow->buffer) || !list_empty(&flow->embryo_node);
}

/* Until its port wakes, is nothing of it needed beyond struct asleep? */
static bool may_sleep(const struct tcon_flow *flow)
{
	const struct tcon_track *t = &flow->track;

	return READ_ONCE(flow->port->rests) && flow->reason == TCON_REASON_NO_RULE &&
	       flow->generation == READ_ONCE(flow->port->generation) &&
	       t->synced && t->guest.syn_seen && t->peer.syn_seen &&
	       (t->guest.acked || t->peer.acked) &&
	       flow->known == TCON_KNOWN_ALL && !is_busy(flow);
}

static void collect(struct tcon_flow *flow, u64 now_us)
{
	enum tcon_counter why;

	if (is_stale(flow, now_us, &why)) {
		tcon_count(tcon_flow_stats(flow), why);
		tcon_table_remove(flow);
	} else if (flow->seen_us + SLEEP_IDLE_US < now_us && may_sleep(flow)) {
		tcon_table_fold(flow);
	} else if (flow->seen_us + SHRINK_IDLE_US < now_us &&
		   (flow->track.sendq.head == flow->track.sendq.tail ||
		    is_out_of_sight(flow))) {
		tcon_sendq_clear(&flow->track.sendq);
	}
}

/* TCon sees the end of a flow that sleeps.  Where its port looks, silence ends it, too. */
static void collect_asleep(struct tcon_stub *stub)
{
	u64 now_us = tcon_us(tcon_now_ns());

	if (!READ_ONCE(stub->port->rests) && idle_us_of(stub, now_us) > idle_s * USEC_PER_S &&
	    tcon_table_remove_asleep(stub))
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
 * Each run looks at a part of the flows, so that a million of them does not take a CPU a tenth of
 * its time.  If flows end during the walk, others may be missed until next time (see
 * rhashtable_walk_enter()).
 */
static void gc(struct work_struct *work)
{
	unsigned int flows = max(GC_LEAST, tcon_table_count() / GC_INTERVALS_MAX);
	unsigned int n;

	for (n = 0; n < flows; n += WALK_BATCH) {
		if (!collect_some(&gc_iter)) {	/* all: the next time from the start */
			rhashtable_walk_exit(&gc_iter);
			tcon_table_walk(&gc_iter);
			break;
		}
		cond_resched();
	}
	schedule_delayed_work(&gc_work, GC_INTERVAL);
}

/**
 * tcon_reap() - end the half-flow whose connection ended first, if that is a while ago
 * @port: its port
 * @now_us: the time
 *
 * gc() would find it too, but late if there are many flows.
 *
 * Context: under RCU.
 * Return: true if there was one, and there may be more.
 */
bool tcon_reap(struct tcon_port *port, u64 now_us)
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
		tcon_table_remove(flow);
		ended = true;
	}
	spin_unlock_bh(&flow->lock);
	return ended;
}

/**
 * tcon_reap_init() - begin to look at the half-flows of the table, again and again
 */
void tcon_reap_init(void)
{
	tcon_table_walk(&gc_iter);
	INIT_DELAYED_WORK(&gc_work, gc);
	schedule_delayed_work(&gc_work, GC_INTERVAL);
}

/**
 * tcon_reap_exit() - look no more
 */
void tcon_reap_exit(void)
{
	cancel_delayed_work_sync(&gc_work);
	rhashtable_walk_exit(&gc_iter);
}
