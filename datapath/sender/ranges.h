/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A set of sequence ranges.  They are sorted, do not overlap, and do not touch.  The SACK
 * scoreboard of a half-flow is two such sets, "SACKed" and "lost".
 */
#ifndef _TCON_RANGES_H
#define _TCON_RANGES_H

#include <linux/types.h>

#include "base/budget.h"

#define TCON_RANGES_MAX		4096	/* 32 KiB */

/**
 * struct tcon_range - half-open range of sequence numbers
 * @start: the first
 * @end: the one after the last; always after @start
 */
struct tcon_range {
	u32 start;
	u32 end;
};

/**
 * struct tcon_ranges - the set
 * @n: number of ranges
 * @room: a power of two up to %TCON_RANGES_MAX, or 0 before first use
 * @bytes: sum of their lengths
 * @range: @n ranges in ascending order, with room for @room
 * @budget: what its memory is charged to, or NULL
 *
 * All sequence numbers in a set lie within 2^31 of each other.
 */
struct tcon_ranges {
	u16 n;
	u16 room;
	u32 bytes;
	struct tcon_range *range;
	struct tcon_budget *budget;
};

int tcon_ranges_add(struct tcon_ranges *set, u32 start, u32 end);
u32 tcon_ranges_remove(struct tcon_ranges *set, u32 start, u32 end);
void tcon_ranges_trim(struct tcon_ranges *set, u32 seq);
unsigned int tcon_ranges_find(const struct tcon_ranges *set, u32 seq);
u32 tcon_ranges_covered(const struct tcon_ranges *set, u32 start, u32 end);
void tcon_ranges_clear(struct tcon_ranges *set);

#endif /* _TCON_RANGES_H */
