/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters of a namespace, one set per CPU.  TCON_CMD_GET_INFO reads their sums.
 */
#ifndef _TCON_STATS_H
#define _TCON_STATS_H

#include <linux/percpu.h>
#include <uapi/linux/tcon.h>

/**
 * struct tcon_stats - the counters of one CPU
 * @count: index &enum tcon_counter
 */
struct tcon_stats {
	u64 count[__TCON_COUNTER_MAX];
};

static inline void tcon_count(struct tcon_stats __percpu *stats,
			      enum tcon_counter what)
{
	this_cpu_inc(stats->count[what]);
}

static inline u64 tcon_stats_sum(const struct tcon_stats __percpu *stats,
				 enum tcon_counter what)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(stats, cpu)->count[what]);
	return sum;
}

#endif /* _TCON_STATS_H */
