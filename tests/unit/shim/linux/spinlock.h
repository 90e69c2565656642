/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: tests have one thread: who waits for a lock waits forever. */
#ifndef _SHIM_LINUX_SPINLOCK_H
#define _SHIM_LINUX_SPINLOCK_H

#include <linux/lockdep.h>
#include <linux/types.h>

typedef struct {
	u32 held;
} spinlock_t;

#define DEFINE_SPINLOCK(name)	spinlock_t name = { false }

static inline void spin_lock_init(spinlock_t *lock)
{
	lock->held = false;
}

static inline void spin_lock(spinlock_t *lock)
{
	BUG_ON(lock->held);
	lock->held = true;
}

static inline void spin_unlock(spinlock_t *lock)
{
	BUG_ON(!lock->held);
	lock->held = false;
}

static inline void spin_lock_bh(spinlock_t *lock)
{
	shim_bh++;
	spin_lock(lock);
}

static inline void spin_unlock_bh(spinlock_t *lock)
{
	spin_unlock(lock);
	shim_bh--;
}

#endif /* _SHIM_LINUX_SPINLOCK_H */
