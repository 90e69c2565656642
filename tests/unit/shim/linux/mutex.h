/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: mutexes: whoever waits for one waits forever. */
#ifndef _SHIM_LINUX_MUTEX_H
#define _SHIM_LINUX_MUTEX_H

#include <linux/lockdep.h>
#include <linux/types.h>

struct mutex {
	bool held;
};

#define DEFINE_MUTEX(name)	struct mutex name = { false }

static inline void mutex_init(struct mutex *lock)
{
	lock->held = false;
}

static inline void mutex_lock(struct mutex *lock)
{
	BUG_ON(lock->held || shim_bh);
	lock->held = true;
}

static inline void mutex_unlock(struct mutex *lock)
{
	BUG_ON(!lock->held);
	lock->held = false;
}

#endif /* _SHIM_LINUX_MUTEX_H */
