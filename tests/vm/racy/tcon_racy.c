// SPDX-License-Identifier: GPL-2.0-only
/*
 * A data race on purpose: what `make check-races` would report if tcon.ko had one.  Never
 * installed.
 *
 *	insmod tcon_racy.ko locked=0|1
 *
 * A thread on each CPU counts for a while, with a lock or without.
 */
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#define RUN_JIFFIES	(4 * HZ)

static bool locked = true;
module_param(locked, bool, 0444);
MODULE_PARM_DESC(locked, "count under a lock");

static DEFINE_SPINLOCK(lock);
static DECLARE_COMPLETION(ended);
static atomic_t running = ATOMIC_INIT(0);
static unsigned long shared_count;

static int count(void *unused)
{
	unsigned long end = jiffies + RUN_JIFFIES;

	while (time_before(jiffies, end)) {
		if (locked)
			spin_lock(&lock);
		shared_count++;
		if (locked)
			spin_unlock(&lock);
		cond_resched();
	}
	if (atomic_dec_and_test(&running))
		complete(&ended);
	return 0;
}

static int __init racy_init(void)
{
	struct task_struct *task;
	int cpu;

	atomic_inc(&running);
	for_each_online_cpu(cpu) {
		task = kthread_create(count, NULL, "tcon_racy/%d", cpu);
		if (IS_ERR(task))
			break;
		kthread_bind(task, cpu);
		atomic_inc(&running);
		wake_up_process(task);
	}
	if (atomic_dec_and_test(&running))
		complete(&ended);
	wait_for_completion(&ended);
	return 0;
}

static void __exit racy_exit(void)
{
}

module_init(racy_init);
module_exit(racy_exit);

MODULE_DESCRIPTION("TCon: a data race that KCSAN must report");
MODULE_LICENSE("GPL");
