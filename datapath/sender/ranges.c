// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sets of sequence ranges.
 *
 * A set is a sorted array.  A scoreboard rarely holds more than a few dozen ranges, and
 * then moving a few hundred bytes is cheaper than a tree.  If a full queue has dropped
 * every other packet, it holds thousands.  The array doubles when it is full, up to
 * 32 KiB: so a peer cannot make it hold more.  Beyond its first ranges it grows only if
 * its budget allows that.
 */
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/errno.h>

#include "base/seq.h"
#include "sender/ranges.h"

#define FIRST_ROOM	8

/**
 * tcon_ranges_find() - first range that ends after a sequence number
 * @set: the set
 * @seq: sequence number
 *
 * Return: index of the range, or set->n if there is none.
 */
unsigned int tcon_ranges_find(const struct tcon_ranges *set, u32 seq)
{
	unsigned int lo = 0, hi = set->n, mid;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (seq_after(set->range[mid].end, seq))
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/**
 * tcon_ranges_covered() - how much of a range is in the set
 * @set: the set
 * @start: first sequence number
 * @end: the one after the last
 *
 * Return: bytes.
 */
u32 tcon_ranges_covered(const struct tcon_ranges *set, u32 start, u32 end)
{
	unsigned int i = tcon_ranges_find(set, start);
	u32 bytes = 0;

	for (; i < set->n && seq_before(set->range[i].start, end); i++)
		bytes += seq_min(set->range[i].end, end) -
			 seq_max(set->range[i].start, start);
	return bytes;
}

static long size_of(unsigned int room)
{
	return room * sizeof(struct tcon_range);
}

static int grow(struct tcon_ranges *set)
{
	unsigned int room = set->room ? set->room * 2 : FIRST_ROOM;
	struct tcon_range *range;

	if (room > TCON_RANGES_MAX ||
	    (set->room && !tcon_budget_allows(set->budget)))
		return -ENOSPC;
	range = krealloc(set->range, size_of(room), GFP_ATOMIC | __GFP_NOWARN);
	if (!range)
		return -ENOMEM;
	tcon_budget_charge(set->budget, size_of(room) - size_of(set->room));
	set->range = range;
	set->room = room;
	return 0;
}

/* Make room for a range at @i. */
static int open_gap(struct tcon_ranges *set, unsigned int i)
{
	int err;

	if (set->n == set->room) {
		err = grow(set);
		if (err)
			return err;
	}
	memmove(&set->range[i + 1], &set->range[i],
		(set->n - i) * sizeof(set->range[0]));
	set->n++;
	return 0;
}

/* Take out the ranges from @i up to but not with @j. */
static void close_gap(struct tcon_ranges *set, unsigned int i, unsigned int j)
{
	if (i == j)
		return;
	memmove(&set->range[i], &set->range[j],
		(set->n - j) * sizeof(set->range[0]));
	set->n -= j - i;
}

/**
 * tcon_ranges_add() - put a range into the set
 * @set: the set
 * @start: first sequence number
 * @end: the one after the last; after @start
 *
 * Context: any; allocates atomically.
 * Return: 0; -ENOSPC or -ENOMEM where the set could not hold another range:
 *	it is then unchanged.
 */
int tcon_ranges_add(struct tcon_ranges *set, u32 start, u32 end)
{
	unsigned int i = tcon_ranges_find(set, start - 1), j;
	int err;

	for (j = i; j < set->n && !seq_after(set->range[j].start, end); j++)
		;
	if (i == j) {
		err = open_gap(set, i);
		if (err)
			return err;
		set->range[i].start = start;
		set->range[i].end = end;
		set->bytes += end - start;
		return 0;
	}
	set->bytes += end - start - tcon_ranges_covered(set, start, end);
	set->range[i].start = seq_min(start, set->range[i].start);
	set->range[i].end = seq_max(end, set->range[j - 1].end);
	close_gap(set, i + 1, j);
	return 0;
}

/**
 * tcon_ranges_remove() - take a range out of the set
 * @set: the set
 * @start: first sequence number
 * @end: the one after the last; after @start
 *
 * If a range would have to be split and there is no room, its part beyond @end is
 * taken out, too.
 *
 * Context: any; allocates atomically.
 * Return: bytes taken out.
 */
u32 tcon_ranges_remove(struct tcon_ranges *set, u32 start, u32 end)
{
	unsigned int i = tcon_ranges_find(set, start), j;
	u32 before = set->bytes, tail_end;

	set->bytes -= tcon_ranges_covered(set, start, end);
	if (i < set->n && seq_before(set->range[i].start, start)) {
		tail_end = set->range[i].end;
		if (seq_after(tail_end, end)) {
			set->range[i].end = start;
			if (open_gap(set, i + 1)) {
				set->bytes -= tail_end - end;
			} else {
				set->range[i + 1].start = end;
				set->range[i + 1].end = tail_end;
			}
			return before - set->bytes;
		}
		set->range[i++].end = start;
	}
	for (j = i; j < set->n && !seq_after(set->range[j].end, end); j++)
		;
	if (j < set->n && seq_before(set->range[j].start, end))
		set->range[j].start = end;
	close_gap(set, i, j);
	return before - set->bytes;
}

/**
 * tcon_ranges_trim() - take out everything before a sequence number
 * @set: the set
 * @seq: first that may stay
 */
void tcon_ranges_trim(struct tcon_ranges *set, u32 seq)
{
	if (set->n && seq_before(set->range[0].start, seq))
		tcon_ranges_remove(set, set->range[0].start, seq);
}

/**
 * tcon_ranges_clear() - empty the set and give its memory back
 * @set: the set
 */
void tcon_ranges_clear(struct tcon_ranges *set)
{
	tcon_budget_charge(set->budget, -size_of(set->room));
	kfree(set->range);
	*set = (struct tcon_ranges) { .budget = set->budget };
}
