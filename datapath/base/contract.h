/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Checks of what a function needs from its caller.  lockdep proves them on a kernel with
 * CONFIG_PROVE_LOCKING; elsewhere they compile to nothing.
 *
 *	lockdep_assert_held()		a lock
 *	lockdep_assert_in_softirq()	bottom halves disabled, or in one
 *	tcon_assert_rcu()		RCU read lock
 */
#ifndef _TCON_CONTRACT_H
#define _TCON_CONTRACT_H

#include <linux/lockdep.h>
#include <linux/rcupdate.h>

#define tcon_assert_rcu()						\
	RCU_LOCKDEP_WARN(!rcu_read_lock_held() && !rcu_read_lock_bh_held(), \
			 "no RCU read lock")

#endif /* _TCON_CONTRACT_H */
