// SPDX-License-Identifier: GPL-2.0-only
/*
 * What everything else stands on (base/): sequence numbers, accounts, sums.
 */
#define SHIM_CPUS	2U
#define SHIM_CPU_BYTES	sizeof(long)
static unsigned int shim_cpu;	/* on which it runs */

#include "proof.h"
#include "base/budget.h"
#include "base/seq.h"
#include "base/sums.h"

/* Of numbers less than 2^31 apart, with the distance as the order. */
void prove_seq(void)
{
	u32 a = any_u32(), by = any_u32(), b = a + by;

	given(by < 1U << 31);
	prove(seq_before(a, b) == (by > 0));
	prove(!seq_before(b, a) && !seq_after(a, b));
	prove(seq_after(b, a) == (by > 0));
	prove(seq_max(a, b) == b && seq_max(b, a) == b);
	prove(seq_min(a, b) == a && seq_min(b, a) == a);
}

void prove_seq_between(void)
{
	u32 lo = any_u32(), width = any_u32(), by = any_u32();

	prove(seq_between(lo + by, lo, lo + width) == (by <= width));
	prove(implies(width < 1U << 31 && by < 1U << 31,
		      seq_between(lo + by, lo, lo + width) == !seq_after(lo + by, lo + width)));
}

#define HOST_MAX	(1L << HOST_LOG)

static long any_amount(void)
{
	long n = any_long();

	given(n >= -HOST_MAX && n <= HOST_MAX);
	return n;
}

void prove_pool_divide(void)
{
	long most = any_amount(), port_most = any_amount(), ports = max(PORTS, 1U);
	struct tcon_pool pool;

	given(most >= 0 && port_most >= 0);
	tcon_pool_divide(&pool, most, port_most, PORTS);
	prove(pool.most == most && pool.port_most == port_most);

	/* All parts and what is lent are never more than there is. */
	prove(pool.part >= 0 && pool.part * ports <= pool.most / 2);
	prove(pool.most / 2 - pool.part * ports < ports);
	prove(pool.lendable + pool.part * (ports - 1) == pool.most);
	prove(pool.lendable >= pool.most / 2 && pool.lendable <= pool.most);
	/* What is not settled on all CPUs is a 32nd of each bound at most. */
	prove(pool.apart_most >= 0 && pool.apart_most <= TCON_APART_MAX);
	prove(pool.apart_most * (long)SHIM_CPUS <= pool.port_most >> TCON_APART_SHIFT);
	prove(pool.apart_most * (long)SHIM_CPUS * ports <= pool.most >> TCON_APART_SHIFT);
}

static long apart[SHIM_CPUS];	/* what CPUs have not settled */

/* Also what a lower bound leaves, and what a CPU sees that reads it meanwhile. */
static struct tcon_pool any_pool(void)
{
	struct tcon_pool pool = {
		.most = any_amount(), .port_most = any_amount(), .part = any_amount(),
		.lendable = any_amount(), .apart_most = any_amount(),
		.used = { any_amount() },
	};

	given(pool.most >= 0 && pool.port_most >= 0 && pool.part >= 0 &&
	      pool.lendable >= 0 && pool.lendable <= pool.most);
	given(pool.apart_most >= 0 && pool.apart_most <= TCON_APART_MAX);
	return pool;
}

static bool is_little(long n, const struct tcon_pool *pool)
{
	return n <= pool->apart_most && -n <= pool->apart_most;
}

static struct tcon_budget any_budget(struct tcon_pool *pool)
{
	struct tcon_budget b = { .pool = pool };
	unsigned int cpu;

	if (APART) {
		b.apart = apart;
		for (cpu = 0; cpu < SHIM_CPUS; cpu++) {
			apart[cpu] = any_amount();
			given(is_little(apart[cpu], pool));
		}
	}
	b.used.counter = any_amount();
	shim_cpu = CPU;
	return b;
}

void prove_budget_room(void)
{
	struct tcon_pool pool = any_pool();
	struct tcon_budget b = any_budget(&pool);
	long apart_now = b.apart ? apart[shim_cpu] : 0;
	long used = b.used.counter + apart_now, room = tcon_budget_room(&b);

	/* Its part is a port's, whatever the others have taken. */
	prove(implies(used < pool.part && used < pool.port_most, room > 0));
	prove(room <= pool.port_most - used);
	/* What it gets beyond its part leaves all the parts of the others. */
	prove(implies(room > 0 && used + room > pool.part,
		      pool.used.counter + apart_now + room <= pool.lendable));
	prove(tcon_budget_allows(&b) == (room > 0));
	prove(tcon_budget_room(NULL) == S32_MAX && tcon_budget_allows(NULL));
}

void prove_budget_bounds(void)
{
	struct tcon_pool pool = any_pool();
	struct tcon_budget b = any_budget(&pool);
	long times = any_u8();

	given(times >= 1 && times <= 8);
	prove(tcon_budget_full(&b) ==
	      (b.used.counter >= pool.port_most || pool.used.counter >= pool.most));
	prove(implies(tcon_budget_exceeds(&b, times), tcon_budget_full(&b)));
	prove(tcon_budget_exceeds(&b, times) ==
	      (b.used.counter > times * pool.port_most || pool.used.counter > times * pool.most));
	prove(implies(tcon_budget_full(&b) && !b.apart && pool.used.counter >= pool.most &&
		      b.used.counter >= pool.part, !tcon_budget_allows(&b)));
}

/* Nothing is lost on the way between the accounts, and no CPU keeps much for itself. */
void prove_budget_charge(void)
{
	struct tcon_pool pool = any_pool();
	struct tcon_budget b = any_budget(&pool);
	long n = any_amount(), used = tcon_budget_used(&b), pool_used = pool.used.counter;
	long settled = b.used.counter;

	tcon_budget_charge(&b, n);
	prove(tcon_budget_used(&b) == used + n);
	prove(pool.used.counter - pool_used == b.used.counter - settled);
	prove(implies(b.apart, is_little(apart[CPU], &pool)));
	prove(implies(!b.apart, b.used.counter == settled + n));
	tcon_budget_charge(&b, -n);
	prove(tcon_budget_used(&b) == used);
	tcon_budget_charge(NULL, n);
}

/* 2^(log / 1024) <= x < 2^((log + 1) / 1024): shown for the whole part and for a number's double. */
void prove_log2(void)
{
	u64 x = (u64)any_u8() << SHIFT;
	u32 log, whole;

	given(x);
	log = tcon_log2(x);
	whole = log >> TCON_LOG_BITS;
	prove(whole < 64 && x >> whole == 1);
	prove(implies(!(x & (x - 1)), log == whole << TCON_LOG_BITS));
	prove(implies(x < 1ULL << 63, tcon_log2(x << 1) == log + (1 << TCON_LOG_BITS)));
}

void prove_sum_add(void)
{
	u64 sums[3], before[3] = { sums[0], sums[1], sums[2] }, x = any_u8();

	tcon_sum_add(sums, x);
	prove(sums[0] == before[0] + x && sums[1] == before[1] + x * x && sums[2] == before[2]);
}
