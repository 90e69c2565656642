/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PROBE_HISTOGRAM_H
#define PROBE_HISTOGRAM_H

#include <stdint.h>

/* Values below 256 have a bucket each, every octave above them has 256: a
 * bucket's middle is within 1/512 (0.2 %) of what it holds.
 */
#define HISTOGRAM_SUB_BITS	8
#define HISTOGRAM_SUBS		(1U << HISTOGRAM_SUB_BITS)
#define HISTOGRAM_BUCKETS	((32 - HISTOGRAM_SUB_BITS + 1) * HISTOGRAM_SUBS)

/**
 * struct histogram - log-linear histogram of 32-bit values
 * @count: number of values
 * @min: smallest value, exact; meaningless while @count is 0
 * @max: largest value, exact; meaningless while @count is 0
 * @buckets: number of values in each bucket
 *
 * All zero is an empty histogram.
 */
struct histogram {
	uint64_t count;
	uint32_t min;
	uint32_t max;
	uint32_t buckets[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *h, uint32_t value);
uint32_t histogram_percentile(const struct histogram *h, unsigned int percent);
void histogram_reset(struct histogram *h);

#endif
