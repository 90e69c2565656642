/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: lockdep's assertions, checked as the test runs. */
#ifndef _SHIM_LINUX_LOCKDEP_H
#define _SHIM_LINUX_LOCKDEP_H

#include <linux/bug.h>
#include <linux/compiler.h>

/* How deep in sections with bottom halves disabled. */
extern int shim_bh;
__attribute__((__weak__)) int shim_bh;

#define local_bh_disable()		((void)shim_bh++)
#define local_bh_enable()		((void)shim_bh--)
#define lockdep_is_held(l)		((l)->held)
#define lockdep_assert_held(l)		BUG_ON(!(l)->held)
#define lockdep_assert_not_held(l)	BUG_ON((l)->held)
#define lockdep_assert_in_softirq()	BUG_ON(!shim_bh)

#endif /* _SHIM_LINUX_LOCKDEP_H */
