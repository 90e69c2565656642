/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _SHIM_ATOMIC_H
#define _SHIM_ATOMIC_H

/* Tests have one thread. */
typedef struct {
	long counter;
} atomic_long_t;

typedef struct {
	int counter;
} atomic_t;

#define atomic_read(v)	((v)->counter)
#define atomic_set(v, n)	((void)((v)->counter = (n)))
#define atomic_inc(v)	((void)(v)->counter++)
#define atomic_dec(v)	((void)(v)->counter--)

static inline long atomic_long_read(const atomic_long_t *v)
{
	return v->counter;
}

static inline void atomic_long_add(long i, atomic_long_t *v)
{
	v->counter += i;
}

#endif /* _SHIM_ATOMIC_H */
