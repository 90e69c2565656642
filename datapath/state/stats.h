/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters of a namespace, one set per CPU.  TCON_CMD_GET_INFO reads their sums.
 */
#ifndef _TCON_STATS_H
#define _TCON_STATS_H

#include <linux/compiler.h>
#include <linux/percpu.h>
#include <uapi/linux/tcon.h>

/**
 * struct tcon_stats - the counters of one CPU
 * @count: index &enum tcon_counter
 * @flows: half-flows in each reason, index &enum tcon_reason; below 0 if more have left it than
 *	come to it on this CPU
 */
struct tcon_stats {
	u64 count[__TCON_COUNTER_MAX];
	s64 flows[__TCON_REASON_MAX];
};

static inline void tcon_count(struct tcon_stats __percpu *stats,
			      enum tcon_counter what)
{
	this_cpu_inc(stats->count[what]);
}

/* @n more half-flows have a reason. */
static inline void tcon_count_flow(struct tcon_stats __percpu *stats,
				   enum tcon_reason reason, s64 n)
{
	this_cpu_add(stats->flows[reason], n);
}

static inline u64 tcon_stats_sum(const struct tcon_stats __percpu *stats,
				 enum tcon_counter what)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		/* without an instruction for it a CPU counts with a plain write */
		sum += data_race(READ_ONCE(per_cpu_ptr(stats, cpu)->count[what]));
	return sum;
}

/* How many half-flows have a reason.  The CPUs are not read at once, so it may be one off. */
static inline u64 tcon_stats_flows(const struct tcon_stats __percpu *stats,
				   enum tcon_reason reason)
{
	s64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		/* without an instruction for it a CPU counts with a plain write */
		sum += data_race(READ_ONCE(per_cpu_ptr(stats, cpu)->flows[reason]));
	return max_t(s64, sum, 0);
}

#endif /* _TCON_STATS_H */
