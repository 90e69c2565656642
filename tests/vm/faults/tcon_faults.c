// SPDX-License-Identifier: GPL-2.0-only
/*
 * Faults on purpose, one for each thing that the debug kernels look for: what `make check-debug`
 * and `make check-races-debug` would report if tcon.ko had them.  Never installed.
 *
 *	insmod tcon_faults.ko fault=NAME
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timer.h>

static char *fault = "none";
module_param(fault, charp, 0444);
MODULE_PARM_DESC(fault, "overrun, use-after-free, reader, inversion, irq-lock, rcu, timer, sleep, leak");

/* Larger than one object, smaller than a slab's next size. */
#define FAULT_BYTES	24

static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);
static DEFINE_SPINLOCK(timer_lock);
static struct timer_list lock_timer;
static void __rcu *guarded;
static DECLARE_COMPLETION(reader_begins);
static DECLARE_COMPLETION(reader_ends);
static bool gone_while_read;

static void fault_overrun(void)
{
	char *bytes = kmalloc(FAULT_BYTES, GFP_KERNEL);
	size_t past = FAULT_BYTES;

	OPTIMIZER_HIDE_VAR(past);
	if (bytes)
		WRITE_ONCE(bytes[past], 1);
	kfree(bytes);
}

static void fault_use_after_free(void)
{
	char *bytes = kmalloc(FAULT_BYTES, GFP_KERNEL);
	char *gone = bytes;

	if (!bytes)
		return;
	OPTIMIZER_HIDE_VAR(gone);
	kfree(bytes);
	WRITE_ONCE(gone[0], 1);
}

static int read_late(void *bytes)
{
	rcu_read_lock();
	complete(&reader_begins);
	while (!smp_load_acquire(&gone_while_read))	/* pairs with fault_reader() */
		cpu_relax();
	READ_ONCE(*(char *)bytes);
	rcu_read_unlock();
	complete(&reader_ends);
	return 0;
}

/* Memory goes without a grace period while another CPU reads it. */
static void fault_reader(void)
{
	char *bytes = kmalloc(FAULT_BYTES, GFP_KERNEL);

	if (!bytes || num_online_cpus() == 1 ||
	    IS_ERR(kthread_run(read_late, bytes, "tcon_faults")))
		return;
	wait_for_completion(&reader_begins);
	kfree(bytes);
	smp_store_release(&gone_while_read, true);	/* pairs with read_late() */
	wait_for_completion(&reader_ends);
}

static void fault_inversion(void)
{
	mutex_lock(&first);
	mutex_lock(&second);
	mutex_unlock(&second);
	mutex_unlock(&first);

	mutex_lock(&second);
	mutex_lock(&first);
	mutex_unlock(&first);
	mutex_unlock(&second);
}

static void lock_in_timer(struct timer_list *timer)
{
	spin_lock(&timer_lock);
	spin_unlock(&timer_lock);
}

/* A timer takes a lock that is also held with timers on. */
static void fault_irq_lock(void)
{
	timer_setup(&lock_timer, lock_in_timer, 0);
	mod_timer(&lock_timer, jiffies + 1);
	msleep(100);
	spin_lock(&timer_lock);
	spin_unlock(&timer_lock);
	timer_delete_sync(&lock_timer);
}

static void fault_rcu(void)
{
	if (rcu_dereference(guarded))
		pr_info("there is something\n");
}

static void nothing(struct timer_list *timer)
{
}

/* Memory goes while its timer is still armed. */
static void fault_timer(void)
{
	struct timer_list *timer = kmalloc(sizeof(*timer), GFP_KERNEL);

	if (!timer)
		return;
	timer_setup(timer, nothing, 0);
	mod_timer(timer, jiffies + HZ);
	kfree(timer);
}

/* Whether it sleeps or not, the lock's holder asks for it. */
static void fault_sleep(void)
{
	spin_lock(&timer_lock);
	might_sleep();
	spin_unlock(&timer_lock);
}

static void fault_leak(void)
{
	int i;

	/* Several: the address of one may linger in a register or on a stack. */
	for (i = 0; i < 10; i++) {
		char *bytes = kmalloc(1000, GFP_KERNEL);

		OPTIMIZER_HIDE_VAR(bytes);
	}
}

static const struct {
	const char *name;
	void (*make)(void);
} faults[] = {
	{ "overrun", fault_overrun },
	{ "use-after-free", fault_use_after_free },
	{ "reader", fault_reader },
	{ "inversion", fault_inversion },
	{ "irq-lock", fault_irq_lock },
	{ "rcu", fault_rcu },
	{ "timer", fault_timer },
	{ "sleep", fault_sleep },
	{ "leak", fault_leak },
};

static int __init faults_init(void)
{
	int i;

	if (!strcmp(fault, "none"))
		return 0;
	for (i = 0; i < ARRAY_SIZE(faults); i++) {
		if (!strcmp(fault, faults[i].name)) {
			faults[i].make();
			return 0;
		}
	}
	return -EINVAL;
}

static void __exit faults_exit(void)
{
}

module_init(faults_init);
module_exit(faults_exit);

MODULE_DESCRIPTION("TCon: faults that the debug kernel must report");
MODULE_LICENSE("GPL");
