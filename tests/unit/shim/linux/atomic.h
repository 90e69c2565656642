/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _SHIM_ATOMIC_H
#define _SHIM_ATOMIC_H

/* Tests have one thread. */
typedef struct {
	long counter;
} atomic_long_t;

static inline long atomic_long_read(const atomic_long_t *v)
{
	return v->counter;
}

static inline void atomic_long_add(long i, atomic_long_t *v)
{
	v->counter += i;
}

#endif /* _SHIM_ATOMIC_H */
