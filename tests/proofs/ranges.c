// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sets of sequence ranges (sender/ranges.c), of up to RANGES ranges, for each operation: what was
 * disjoint, sorted and counted is so after it, and exactly the bytes that it names have changed.
 *
 * That each byte is right is shown of one byte, which may be any.  An allocation fails, so that a
 * set may be full.  The numbers lie around 0, where they wrap, within 32 of each other: enough for
 * the ends of all ranges to lie in any order, with gaps and without.
 */
#include "proof.h"
#include <linux/slab.h>

static void *move_ranges(void *to, const void *from, size_t bytes);
#define memmove	move_ranges
#include "datapath/sender/ranges.c"

#define SPAN		31U
#define BASE		(0U - 16)
#define ROOM		(RANGES + 1)

static struct tcon_range memory[ROOM];

/* CBMC's own has no notion of what it moves; each access here is checked as any other. */
static void *move_ranges(void *to, const void *from, size_t bytes)
{
	size_t i, n = bytes / sizeof(struct tcon_range);
	struct tcon_range moved[ROOM];

	prove(!(bytes % sizeof(struct tcon_range)) && n <= ROOM);
	for (i = 0; i < n; i++)
		moved[i] = ((const struct tcon_range *)from)[i];
	for (i = 0; i < n; i++)
		((struct tcon_range *)to)[i] = moved[i];
	return to;
}

static u32 any_seq(void)
{
	return BASE + (any_u8() & SPAN);
}

static bool holds(const struct tcon_ranges *set, u32 seq)
{
	unsigned int i;

	for (i = 0; i < RANGES + 1; i++)
		if (i < set->n && !seq_before(seq, set->range[i].start) &&
		    seq_before(seq, set->range[i].end))
			return true;
	return false;
}

/* Disjoint, not even adjacent, sorted, not empty, in the span, and counted. */
static bool is_well_formed(const struct tcon_ranges *set)
{
	u32 bytes = 0, last = 0, from, to;
	unsigned int i;

	if (set->n > set->room || set->n > RANGES + 1)
		return false;
	for (i = 0; i < RANGES + 1; i++) {
		if (i >= set->n)
			continue;
		from = set->range[i].start - BASE;
		to = set->range[i].end - BASE;
		if (from >= to || to > SPAN || (i && from < last))
			return false;
		bytes += to - from;
		last = to;
	}
	return bytes == set->bytes;
}

static struct tcon_ranges any_set(void)
{
	struct tcon_ranges set = { .range = memory, .room = ROOM };
	unsigned int i;

	set.n = any_u16();
	set.bytes = any_u32();
	given(set.n <= RANGES);
	for (i = 0; i < ROOM; i++) {
		memory[i].start = any_seq();
		memory[i].end = any_seq();
	}
	given(is_well_formed(&set));
	/* A full set: the next range may have no memory. */
	if (any_bool())
		set.room = set.n;
	shim_alloc_failures = 1;
	return set;
}

void prove_ranges_find(void)
{
	struct tcon_ranges set = any_set();
	u32 seq = any_seq();
	unsigned int i = tcon_ranges_find(&set, seq), n = any_u8();

	prove(i <= set.n);
	prove(implies(n < i, !seq_after(set.range[n].end, seq)));
	prove(implies(n >= i && n < set.n, seq_after(set.range[n].end, seq)));
}

void prove_ranges_covered(void)
{
	struct tcon_ranges set = any_set();
	u32 start = any_seq(), end = any_seq(), bytes = 0, i, from, to;

	given(!seq_after(start, end));
	for (i = 0; i < RANGES; i++) {
		if (i >= set.n)
			continue;
		from = max(start - BASE, memory[i].start - BASE);
		to = min(end - BASE, memory[i].end - BASE);
		bytes += from < to ? to - from : 0;
	}
	prove(tcon_ranges_covered(&set, start, end) == bytes);
}

void prove_ranges_add(void)
{
	struct tcon_ranges set = any_set();
	u32 start = any_seq(), end = any_seq(), seq = any_seq(), bytes = set.bytes;
	u16 n = set.n;
	bool had = holds(&set, seq), in;
	int err;

	given(seq_before(start, end));
	in = !seq_before(seq, start) && seq_before(seq, end);
	err = tcon_ranges_add(&set, start, end);
	prove(is_well_formed(&set));
	prove(!err || err == -ENOMEM || err == -ENOSPC);
	prove(holds(&set, seq) == (had || (!err && in)));
	prove(implies(err, set.bytes == bytes && set.n == n && n == set.room));
}

void prove_ranges_remove(void)
{
	struct tcon_ranges set = any_set();
	u32 start = any_seq(), end = any_seq(), seq = any_seq(), bytes = set.bytes, taken;
	bool had = holds(&set, seq), in, full = set.n == set.room;

	given(seq_before(start, end));
	in = !seq_before(seq, start) && seq_before(seq, end);
	taken = tcon_ranges_remove(&set, start, end);
	prove(is_well_formed(&set));
	prove(set.bytes + taken == bytes);
	prove(implies(!full, holds(&set, seq) == (had && !in)));
	/* Without memory more may go, behind it; never anything before it. */
	prove(implies(seq_before(seq, start), holds(&set, seq) == had));
	prove(implies(holds(&set, seq), had && !in));
}

void prove_ranges_trim(void)
{
	struct tcon_ranges set = any_set();
	u32 first = any_seq(), seq = any_seq();
	bool had = holds(&set, seq);

	tcon_ranges_trim(&set, first);
	prove(is_well_formed(&set));
	prove(holds(&set, seq) == (had && !seq_before(seq, first)));
}

/* Room doubles up to its bound, and what it takes is charged to the byte; clear gives it back. */
void prove_ranges_grow(void)
{
	struct tcon_pool pool = { .most = 1L << 40, .port_most = 1L << 40, .part = 1L << 40 };
	struct tcon_budget budget = { .pool = &pool };
	struct tcon_ranges set = { .budget = &budget };
	u16 room = ROOM_BEFORE;
	int err;

	set.room = room;
	set.range = malloc(room * sizeof(set.range[0]));
	budget.used.counter = size_of(room);
	if (any_bool())
		pool.port_most = pool.part = 0;
	err = grow(&set);
	prove(implies(!err, set.room == (room ? 2 * room : FIRST_ROOM)));
	prove(implies(err, set.room == room));
	prove(set.room <= TCON_RANGES_MAX);
	prove(implies(room == TCON_RANGES_MAX || (room && !pool.port_most), err == -ENOSPC));
	prove(budget.used.counter == (long)(set.room * sizeof(set.range[0])));
	tcon_ranges_clear(&set);
	prove(!set.range && !set.n && !set.room && !set.bytes && set.budget == &budget);
	prove(!budget.used.counter);
}
