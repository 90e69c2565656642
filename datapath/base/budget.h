/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the records of half-flows may take: of a port, and of its namespace.
 *
 * A guest decides how many packets it has in flight, and with a peer of its own how
 * many of them are SACKed.  Each flow is bounded; this bounds all of them, but for what
 * each takes first, so that no guest can leave another's flows without any.
 */
#ifndef _TCON_BUDGET_H
#define _TCON_BUDGET_H

#include <linux/atomic.h>
#include <linux/types.h>

/**
 * struct tcon_budget - an account
 * @parent: the one that it is part of, or NULL
 * @most_bytes: its bound
 * @bytes: that are in use
 */
struct tcon_budget {
	struct tcon_budget *parent;
	const unsigned int *most_bytes;
	atomic_long_t bytes;
};

/* May more be taken?  Two CPUs may both be told so; NULL has no bound. */
static inline bool tcon_budget_allows(const struct tcon_budget *b)
{
	for (; b; b = b->parent)
		if (atomic_long_read(&b->bytes) >= *b->most_bytes)
			return false;
	return true;
}

/* Take @bytes, or give them back (less than zero). */
static inline void tcon_budget_charge(struct tcon_budget *b, long bytes)
{
	for (; b; b = b->parent)
		atomic_long_add(bytes, &b->bytes);
}

#endif /* _TCON_BUDGET_H */
