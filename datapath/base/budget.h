/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bounds on what guests use of a host: half-flows, memory.
 *
 * A guest decides how many connections it has, how many packets it has in flight, and with a
 * peer of its own how many of them are SACKed.  So each port has a bound, and so has the host.
 * Half of what the host has is divided evenly between the ports, and nobody else can take a
 * port's part.  What is left when all parts are set aside is lent to whoever comes first.
 */
#ifndef _TCON_BUDGET_H
#define _TCON_BUDGET_H

#include <linux/atomic.h>
#include <linux/kernel.h>
#include <linux/types.h>

/**
 * struct tcon_pool - what the host has of something
 * @most: its bound
 * @used: how much is in use
 * @ports: number of ports that share it
 */
struct tcon_pool {
	const unsigned int *most;
	atomic_long_t used;
	atomic_t ports;
};

/**
 * struct tcon_budget - what a port uses of it
 * @pool: the host's
 * @most: bound of a port
 * @used: how much is in use
 */
struct tcon_budget {
	struct tcon_pool *pool;
	const unsigned int *most;
	atomic_long_t used;
};

/**
 * tcon_budget_room() - how much more may be taken?
 * @b: the account; NULL has no bound
 *
 * Two CPUs may get the same answer at the same time.
 *
 * Beyond its part a port takes only what is there when the parts of all others are left out,
 * whether these use them or not.  So the parts are there at any time, and nothing has to be
 * taken back.
 *
 * Return: negative where a bound was lowered since.
 */
static inline long tcon_budget_room(const struct tcon_budget *b)
{
	long used, most, ports, part, lent;

	if (!b)
		return S32_MAX;
	used = atomic_long_read(&b->used);
	most = *b->pool->most;
	ports = max(atomic_read(&b->pool->ports), 1);
	part = most / 2 / ports;
	lent = most - (ports - 1) * part - atomic_long_read(&b->pool->used);
	return min((long)*b->most - used, max(part - used, lent));
}

/* May more be taken? */
static inline bool tcon_budget_allows(const struct tcon_budget *b)
{
	return tcon_budget_room(b) > 0;
}

/* Take @n; give it back if below zero. */
static inline void tcon_budget_charge(struct tcon_budget *b, long n)
{
	if (!b)
		return;
	atomic_long_add(n, &b->used);
	atomic_long_add(n, &b->pool->used);
}

#endif /* _TCON_BUDGET_H */
