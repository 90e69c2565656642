// SPDX-License-Identifier: GPL-2.0-only
/*
 * The pacer's clockwork.
 *
 * A flow that holds packets, or has a timer running, stands in the queue of one
 * CPU, by the time at which something may be due.  Each CPU has one soft hrtimer
 * for the head of its queue.  Packets are injected from that timer, never from
 * inside a hook.
 */
#include <linux/hrtimer.h>
#include <linux/percpu.h>
#include <linux/skbuff.h>
#include <linux/timerqueue.h>

#include "base/compat.h"
#include "state/flow.h"
#include "act/hold.h"
#include "state/pacer.h"

#define RUN_MAX_FLOWS	64	/* then let other softirqs run */
/* Appointments wait for the next multiple of this, so that many flows share one
 * interrupt: at most 7813 a second on a CPU, however many flows there are.
 */
#define TICK_NS		(128 * NSEC_PER_USEC)

/**
 * struct tcon_pacer - one CPU's queue
 * @lock: protects the rest; innermost
 * @queue: flows by time
 * @timer: for the head of @queue
 */
struct tcon_pacer {
	spinlock_t lock;	/* innermost */
	struct timerqueue_head queue;
	struct hrtimer timer;
};

static struct tcon_pacer __percpu *pacers;

/* Let the timer run for the head of the queue.  pacer->lock held. */
static void arm(struct tcon_pacer *pacer)
{
	struct timerqueue_node *head = timerqueue_getnext(&pacer->queue);

	if (head)
		hrtimer_start(&pacer->timer, head->expires,
			      HRTIMER_MODE_ABS_PINNED_SOFT);
}

/* Takes the first flow that is due at @now, or arms the timer for the next. */
static struct tcon_flow *next_due(struct tcon_pacer *pacer, ktime_t now,
				  bool may)
{
	struct timerqueue_node *head;
	struct tcon_flow *flow = NULL;

	spin_lock(&pacer->lock);
	head = timerqueue_getnext(&pacer->queue);
	if (head && may && head->expires <= now) {
		timerqueue_del(&pacer->queue, head);
		flow = container_of(head, struct tcon_flow, timer);
		WRITE_ONCE(flow->pacer, NULL);
	} else {
		arm(pacer);
	}
	spin_unlock(&pacer->lock);
	return flow;
}

static enum hrtimer_restart pacer_run(struct hrtimer *timer)
{
	struct tcon_pacer *pacer = container_of(timer, struct tcon_pacer,
						timer);
	ktime_t now = ktime_get();
	struct tcon_flow *flow;
	int n = 0;

	rcu_read_lock();
	while ((flow = next_due(pacer, now, n++ < RUN_MAX_FLOWS)))
		now = tcon_hold_release(flow, now);
	rcu_read_unlock();
	return HRTIMER_NORESTART;
}

/**
 * tcon_pacer_cancel() - take a flow out of its queue
 * @flow: its lock is held; it may be in no queue
 */
void tcon_pacer_cancel(struct tcon_flow *flow)
{
	struct tcon_pacer *pacer = READ_ONCE(flow->pacer);

	if (!pacer)
		return;
	spin_lock(&pacer->lock);
	if (flow->pacer == pacer) {
		timerqueue_del(&pacer->queue, &flow->timer);
		WRITE_ONCE(flow->pacer, NULL);
	}
	spin_unlock(&pacer->lock);
}

/**
 * tcon_pacer_at() - look at a flow at a time
 * @flow: its lock is held, not dead
 * @when_ns: monotonic clock; rounded up to a tick
 *
 * An appointment that is earlier stays: to look once too often, and then make
 * the next, is cheaper than to move it with each packet.
 *
 * Context: bottom halves disabled.
 */
void tcon_pacer_at(struct tcon_flow *flow, u64 when_ns)
{
	struct tcon_pacer *pacer = this_cpu_ptr(pacers);

	/* No tick between.  Should it go off just now: whoever looks waits for flow->lock. */
	if (READ_ONCE(flow->pacer) &&
	    flow->timer.expires < ns_to_ktime(when_ns + TICK_NS))
		return;
	when_ns = DIV64_U64_ROUND_UP(when_ns, TICK_NS) * TICK_NS;
	tcon_pacer_cancel(flow);
	spin_lock(&pacer->lock);
	flow->timer.expires = ns_to_ktime(when_ns);
	WRITE_ONCE(flow->pacer, pacer);
	if (timerqueue_add(&pacer->queue, &flow->timer))
		arm(pacer);
	spin_unlock(&pacer->lock);
}

/**
 * tcon_pacer_kick() - look at a flow soon
 * @flow: its lock is held; if nothing waits, nothing happens
 *
 * Context: bottom halves disabled; also from inside a hook.
 */
void tcon_pacer_kick(struct tcon_flow *flow)
{
	if (flow->dead || !tcon_flow_waits(flow))
		return;
	if (flow->injecting)
		flow->kicked = true;
	else
		tcon_pacer_at(flow, ktime_get_ns());
}

/**
 * tcon_pacer_init() - make the queues
 *
 * Return: 0 or -ENOMEM.
 */
int tcon_pacer_init(void)
{
	struct tcon_pacer *pacer;
	int cpu;

	pacers = alloc_percpu(struct tcon_pacer);
	if (!pacers)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		pacer = per_cpu_ptr(pacers, cpu);
		spin_lock_init(&pacer->lock);
		timerqueue_init_head(&pacer->queue);
		tcon_hrtimer_setup(&pacer->timer, pacer_run,
				   HRTIMER_MODE_ABS_PINNED_SOFT);
	}
	return 0;
}

/**
 * tcon_pacer_exit() - free the queues, which are empty
 */
void tcon_pacer_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		hrtimer_cancel(&per_cpu_ptr(pacers, cpu)->timer);
	free_percpu(pacers);
}
