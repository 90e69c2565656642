// SPDX-License-Identifier: GPL-2.0-only
/*
 * The pacer's queues and timers.
 *
 * A flow that holds packets, or has a timer running, is in the queue of one CPU, sorted by
 * the time when something may be due.  Each CPU has one soft hrtimer, for the head of its
 * queue.  Packets are injected from that timer, never from inside a hook.  A packet that need not
 * wait, but may not leave from inside a hook, leaves from a tasklet.  The tasklet runs when the CPU
 * has received what it receives now.
 */
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/percpu.h>
#include <linux/timerqueue.h>
#include <tcon/compat.h>

#include "base/contract.h"
#include "state/pacer.h"

/* A run ends after this time, since other softirqs and processes are waiting; and after this many
 * flows, since flows without work do not read the clock.
 */
#define RUN_MAX_NS	NSEC_PER_MSEC
#define RUN_MAX_DUE	512
/* Appointments are rounded up to a multiple of this.  Then many of them share one interrupt, and a
 * CPU has at most 7813 interrupts a second.
 */
#define TICK_NS		(128 * NSEC_PER_USEC)

/**
 * struct tcon_pacer - one CPU's queue
 * @lock: protects the rest; innermost
 * @queue: appointments by time
 * @timer: for the head of @queue
 * @tasklet: the same, at once
 */
struct tcon_pacer {
	spinlock_t lock;	/* innermost */
	struct timerqueue_head queue;
	struct hrtimer timer;
	struct tasklet_struct tasklet;
};

static struct tcon_pacer __percpu *pacers;
static tcon_look_fn look __read_mostly;

/*
 * Start the timer for the head of the queue, but not before @soonest.  If it goes off earlier, that
 * costs less than to set it back each time.
 */
static void arm(struct tcon_pacer *pacer, ktime_t soonest)
{
	struct timerqueue_node *head = timerqueue_getnext(&pacer->queue);
	ktime_t when;

	lockdep_assert_held(&pacer->lock);
	if (!head)
		return;
	when = max(head->expires, soonest);
	if (!hrtimer_is_queued(&pacer->timer) || hrtimer_get_expires(&pacer->timer) > when)
		hrtimer_start(&pacer->timer, when, HRTIMER_MODE_ABS_PINNED_SOFT);
}

/*
 * Takes the first appointment that is due at @now, or arms the timer for the next.  If no more may
 * be taken, the timer is not set to a time that has passed: it would go off in the same softirq.
 */
static struct tcon_due *next_due(struct tcon_pacer *pacer, ktime_t now, bool may)
{
	struct timerqueue_node *head;
	struct tcon_due *due = NULL;

	spin_lock(&pacer->lock);
	head = timerqueue_getnext(&pacer->queue);
	if (head && may && head->expires <= now) {
		timerqueue_del(&pacer->queue, head);
		due = container_of(head, struct tcon_due, node);
		WRITE_ONCE(due->pacer, NULL);
	} else {
		arm(pacer, may ? 0 : ktime_get());
	}
	spin_unlock(&pacer->lock);
	return due;
}

static void run(struct tcon_pacer *pacer)
{
	ktime_t start = ktime_get(), now = start;
	struct tcon_due *due;
	int n = 0;

	rcu_read_lock();
	while ((due = next_due(pacer, now, n++ < RUN_MAX_DUE && now - start < RUN_MAX_NS)))
		now = look(due, now);
	rcu_read_unlock();
}

static enum hrtimer_restart timer_run(struct hrtimer *timer)
{
	run(container_of(timer, struct tcon_pacer, timer));
	return HRTIMER_NORESTART;
}

static void tasklet_run(struct tasklet_struct *tasklet)
{
	run(container_of(tasklet, struct tcon_pacer, tasklet));
}

/**
 * tcon_pacer_cancel() - cancel an appointment, if there is one
 * @due: the appointment; its owner's lock is held
 */
void tcon_pacer_cancel(struct tcon_due *due)
{
	struct tcon_pacer *pacer = READ_ONCE(due->pacer);

	if (!pacer)
		return;
	spin_lock(&pacer->lock);
	if (due->pacer == pacer) {
		timerqueue_del(&pacer->queue, &due->node);
		WRITE_ONCE(due->pacer, NULL);
	}
	spin_unlock(&pacer->lock);
}

/**
 * tcon_pacer_at() - make an appointment
 * @due: the appointment; its owner's lock is held
 * @when_ns: time on the monotonic clock; rounded up to a tick
 *
 * An earlier appointment stays.  To look once too often, and then make the next, is cheaper
 * than to move the appointment with each packet.
 *
 * Context: bottom halves disabled.
 */
void tcon_pacer_at(struct tcon_due *due, u64 when_ns)
{
	struct tcon_pacer *pacer = this_cpu_ptr(pacers);

	lockdep_assert_in_softirq();
	/* Early enough.  If it goes off just now, the look waits for the flow's lock. */
	if (tcon_pacer_expects(due) &&
	    due->node.expires < ns_to_ktime(when_ns + TICK_NS))
		return;
	when_ns = DIV64_U64_ROUND_UP(when_ns, TICK_NS) * TICK_NS;
	tcon_pacer_cancel(due);
	spin_lock(&pacer->lock);
	due->node.expires = ns_to_ktime(when_ns);
	WRITE_ONCE(due->pacer, pacer);
	if (timerqueue_add(&pacer->queue, &due->node))
		arm(pacer, 0);
	spin_unlock(&pacer->lock);
}

/**
 * tcon_pacer_soon() - make an appointment for when this CPU has received what it receives now
 * @due: the appointment; its owner's lock is held
 *
 * An earlier one is lost, so the look makes it again.
 *
 * Context: softirq.
 */
void tcon_pacer_soon(struct tcon_due *due)
{
	struct tcon_pacer *pacer = this_cpu_ptr(pacers);

	lockdep_assert_in_softirq();
	tcon_pacer_cancel(due);
	spin_lock(&pacer->lock);
	due->node.expires = 0;
	WRITE_ONCE(due->pacer, pacer);
	timerqueue_add(&pacer->queue, &due->node);
	spin_unlock(&pacer->lock);
	tasklet_schedule(&pacer->tasklet);
}

/**
 * tcon_pacer_init() - make the queues
 * @fn: what to call when an appointment is due
 *
 * Return: 0 or -ENOMEM.
 */
int tcon_pacer_init(tcon_look_fn fn)
{
	struct tcon_pacer *pacer;
	int cpu;

	look = fn;
	pacers = alloc_percpu(struct tcon_pacer);
	if (!pacers)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		pacer = per_cpu_ptr(pacers, cpu);
		spin_lock_init(&pacer->lock);
		timerqueue_init_head(&pacer->queue);
		tcon_hrtimer_setup(&pacer->timer, timer_run,
				   HRTIMER_MODE_ABS_PINNED_SOFT);
		tasklet_setup(&pacer->tasklet, tasklet_run);
	}
	return 0;
}

/**
 * tcon_pacer_exit() - free the queues; they are empty
 */
void tcon_pacer_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		tasklet_kill(&per_cpu_ptr(pacers, cpu)->tasklet);
		hrtimer_cancel(&per_cpu_ptr(pacers, cpu)->timer);
	}
	free_percpu(pacers);
}
