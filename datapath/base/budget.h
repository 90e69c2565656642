/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bounds on what guests use of a host: half-flows, memory.
 *
 * A guest decides how many connections it has, how many packets it has in flight, and with a
 * peer of its own how many of them are SACKed.  So each port has a bound, and so has the host.
 * Half of what the host has is divided evenly between the ports, and nobody else can take a
 * port's part.  The rest is lent, first come, first served.
 *
 * Many CPUs charge the accounts with each packet.  A line of cache that they all write would go
 * from one to the next all the time.  So each CPU has an account of its own for each port, and
 * settles with the port's and the host's only when it differs by more than a little.
 */
#ifndef _TCON_BUDGET_H
#define _TCON_BUDGET_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/cpumask.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/percpu.h>
#include <linux/types.h>

/* No CPU has more than this that is not settled. */
#define TCON_APART_MAX		65536L
/* Nor have all CPUs together more than this part of a bound: a 32nd. */
#define TCON_APART_SHIFT	5

/**
 * struct tcon_pool - what the host has of something
 * @most: its bound
 * @port_most: bound of each port
 * @part: what is set aside for each port
 * @lendable: what is left for a port when the parts of all others are set aside
 * @apart_most: how much a CPU may have that is not settled
 * @used: how much is in use, as far as it is settled
 *
 * All but @used follows from the bounds and the number of ports, see tcon_pool_divide().
 */
struct tcon_pool {
	long most;
	long port_most;
	long part;
	long lendable;
	long apart_most;
	atomic_long_t used ____cacheline_aligned_in_smp;
} ____cacheline_aligned_in_smp;

/**
 * struct tcon_budget - what a port uses of it
 * @pool: the host's
 * @apart: what each CPU has taken or given back, and not settled; NULL: all is settled at once
 * @used: how much is in use, as far as it is settled
 */
struct tcon_budget {
	struct tcon_pool *pool;
	long __percpu *apart;
	atomic_long_t used;
};

/**
 * tcon_pool_divide() - set bounds, and each port's part
 * @pool: what is divided
 * @most: bound of the host
 * @port_most: bound of a port
 * @ports: number of ports that share it
 *
 * Packets read the results one by one: they may see some of before, and some of after.
 */
static inline void tcon_pool_divide(struct tcon_pool *pool, long most, long port_most,
				    unsigned int ports)
{
	unsigned int shift = TCON_APART_SHIFT + order_base_2(nr_cpu_ids);
	long part;

	ports = max(ports, 1U);
	part = most / 2 / ports;
	WRITE_ONCE(pool->most, most);
	WRITE_ONCE(pool->port_most, port_most);
	WRITE_ONCE(pool->part, part);
	WRITE_ONCE(pool->lendable, most - (ports - 1) * part);
	WRITE_ONCE(pool->apart_most, min3(TCON_APART_MAX, port_most >> shift,
					  most >> (shift + order_base_2(ports))));
}

/**
 * tcon_budget_room() - how much more may be taken?
 * @b: the account; NULL has no bound
 *
 * Two CPUs may get the same answer at the same time, and what other CPUs have not settled does not
 * count.
 *
 * Beyond its part a port takes only what the parts of all others leave, whether these use them or
 * not.  So the parts are there at any time, and nothing has to be taken back.
 *
 * Return: negative where a bound was lowered since.
 */
static inline long tcon_budget_room(const struct tcon_budget *b)
{
	const struct tcon_pool *pool;
	long apart, used, lent;

	if (!b)
		return S32_MAX;
	pool = b->pool;
	apart = b->apart ? this_cpu_read(*b->apart) : 0;
	used = atomic_long_read(&b->used) + apart;
	lent = READ_ONCE(pool->lendable) - atomic_long_read(&pool->used) - apart;
	return min(READ_ONCE(pool->port_most) - used, max(READ_ONCE(pool->part) - used, lent));
}

/* Is all in use that a port, or the host, may have?  Without more to lend, room ends before. */
static inline bool tcon_budget_full(const struct tcon_budget *b)
{
	return atomic_long_read(&b->used) >= READ_ONCE(b->pool->port_most) ||
	       atomic_long_read(&b->pool->used) >= READ_ONCE(b->pool->most);
}

/* Is more in use than @times what a port, or the host, may have? */
static inline bool tcon_budget_exceeds(const struct tcon_budget *b, long times)
{
	return atomic_long_read(&b->used) > times * READ_ONCE(b->pool->port_most) ||
	       atomic_long_read(&b->pool->used) > times * READ_ONCE(b->pool->most);
}

/* May more be taken? */
static inline bool tcon_budget_allows(const struct tcon_budget *b)
{
	return tcon_budget_room(b) > 0;
}

/* Take @n; give it back if below zero. */
static inline void tcon_budget_charge(struct tcon_budget *b, long n)
{
	long apart;

	if (!b)
		return;
	if (b->apart) {
		apart = this_cpu_add_return(*b->apart, n);
		if (max(apart, -apart) <= READ_ONCE(b->pool->apart_most))
			return;
		n = this_cpu_xchg(*b->apart, 0);
	}
	atomic_long_add(n, &b->used);
	atomic_long_add(n, &b->pool->used);
}

/* How much is in use.  The CPUs are not read at once, so it may be a little off. */
static inline long tcon_budget_used(const struct tcon_budget *b)
{
	long used = atomic_long_read(&b->used);
	int cpu;

	if (b->apart)
		for_each_possible_cpu(cpu)
			/* without an instruction for it a CPU charges with a plain write */
			used += data_race(READ_ONCE(*per_cpu_ptr(b->apart, cpu)));
	return used;
}

#endif /* _TCON_BUDGET_H */
