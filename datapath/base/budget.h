/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bounds on the memory for records of half-flows: of a port, and of its namespace.
 *
 * A guest decides how many packets it has in flight.  With a peer of its own it also
 * decides how many of them are SACKed.  Each flow has a bound.  This bounds the sum, so
 * that no guest can take the records of another's flows.  A flow's first memory is not
 * refused by it.
 */
#ifndef _TCON_BUDGET_H
#define _TCON_BUDGET_H

#include <linux/atomic.h>
#include <linux/types.h>

/**
 * struct tcon_budget - an account
 * @parent: the account that it is part of, or NULL
 * @most_bytes: its bound
 * @bytes: bytes in use
 */
struct tcon_budget {
	struct tcon_budget *parent;
	const unsigned int *most_bytes;
	atomic_long_t bytes;
};

/* May more be taken?  Two CPUs may get a yes at the same time.  NULL has no bound. */
static inline bool tcon_budget_allows(const struct tcon_budget *b)
{
	for (; b; b = b->parent)
		if (atomic_long_read(&b->bytes) >= *b->most_bytes)
			return false;
	return true;
}

/* Take @bytes; give them back if below zero. */
static inline void tcon_budget_charge(struct tcon_budget *b, long bytes)
{
	for (; b; b = b->parent)
		atomic_long_add(bytes, &b->bytes);
}

#endif /* _TCON_BUDGET_H */
