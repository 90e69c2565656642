/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: rcu_barrier() frees what waits for RCU. */
#ifndef _SHIM_LINUX_RCUPDATE_H
#define _SHIM_LINUX_RCUPDATE_H

#include <linux/kernel.h>
#include <linux/lockdep.h>

struct rcu_head {
	struct rcu_head *next;
	void (*func)(struct rcu_head *head);
	void *whole;
};

extern int shim_rcu_readers;
extern struct rcu_head *shim_rcu_waits;
__attribute__((__weak__)) int shim_rcu_readers;
__attribute__((__weak__)) struct rcu_head *shim_rcu_waits;

#define RCU_LOCKDEP_WARN(cond, text)	BUG_ON(cond)
#define rcu_read_lock()			((void)shim_rcu_readers++)
#define rcu_read_unlock()		((void)shim_rcu_readers--)
#define rcu_read_lock_held()		(shim_rcu_readers > 0)
#define rcu_read_lock_bh_held()		rcu_read_lock_held()
#define rcu_dereference(p)		READ_ONCE(p)
#define rcu_dereference_protected(p, c)	(p)
#define rcu_dereference_raw(p)		READ_ONCE(p)
#define rcu_access_pointer(p)		READ_ONCE(p)
#define RCU_INIT_POINTER(p, v)		WRITE_ONCE(p, v)
#define rcu_assign_pointer(p, v)	WRITE_ONCE(p, v)
#define kvfree_rcu(p, member)		free(p)	/* tests change nothing while they read */
#define smp_load_acquire(p)		READ_ONCE(*(p))
#define smp_store_release(p, v)		WRITE_ONCE(*(p), v)
#define synchronize_net()		rcu_barrier()
#define synchronize_rcu()		rcu_barrier()
#define cond_resched()			do { } while (0)
#define cpu_relax()			do { } while (0)

static inline void call_rcu(struct rcu_head *head,
			    void (*func)(struct rcu_head *head))
{
	head->func = func;
	head->next = shim_rcu_waits;
	shim_rcu_waits = head;
}

#define kfree_rcu(p, member)						\
	do {								\
		(p)->member.whole = (p);				\
		call_rcu(&(p)->member, NULL);				\
	} while (0)

static inline void rcu_barrier(void)
{
	struct rcu_head *head;

	BUG_ON(shim_rcu_readers);
	while ((head = shim_rcu_waits)) {
		shim_rcu_waits = head->next;
		if (head->func)
			head->func(head);
		else
			free(head->whole);
	}
}

#endif /* _SHIM_LINUX_RCUPDATE_H */
