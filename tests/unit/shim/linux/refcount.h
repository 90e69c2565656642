/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: references. */
#ifndef _SHIM_LINUX_REFCOUNT_H
#define _SHIM_LINUX_REFCOUNT_H

#include <stdbool.h>
#include <linux/bug.h>

typedef struct {
	int refs;
} refcount_t;

static inline void refcount_set(refcount_t *r, int n)
{
	r->refs = n;
}

static inline void refcount_inc(refcount_t *r)
{
	BUG_ON(r->refs < 1);
	r->refs++;
}

static inline bool refcount_inc_not_zero(refcount_t *r)
{
	return r->refs && ++r->refs;
}

static inline bool refcount_dec_and_test(refcount_t *r)
{
	BUG_ON(r->refs < 1);
	return !--r->refs;
}

#endif /* _SHIM_LINUX_REFCOUNT_H */
