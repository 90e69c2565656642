// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "histogram.h"

static unsigned int bucket_of(uint32_t value)
{
	unsigned int shift;

	if (value < HISTOGRAM_SUBS)
		return value;
	shift = 31 - (unsigned int)__builtin_clz(value) - HISTOGRAM_SUB_BITS;
	return shift * HISTOGRAM_SUBS + (value >> shift);
}

static uint32_t middle_of(unsigned int bucket)
{
	unsigned int shift;
	uint32_t low;

	if (bucket < 2 * HISTOGRAM_SUBS)
		return bucket;
	shift = bucket / HISTOGRAM_SUBS - 1;
	low = (bucket - shift * HISTOGRAM_SUBS) << shift;
	return low + (1U << shift) / 2;
}

/**
 * histogram_add() - count a value
 * @h: the histogram
 * @value: any
 */
void histogram_add(struct histogram *h, uint32_t value)
{
	if (!h->count || value < h->min)
		h->min = value;
	if (!h->count || value > h->max)
		h->max = value;
	h->count++;
	h->buckets[bucket_of(value)]++;
}

/**
 * histogram_percentile() - the nearest-rank percentile
 * @h: a histogram that is not empty
 * @percent: 1 .. 100
 *
 * Return: the smallest value that at least @percent % of the values do not
 * exceed, within 0.2 %.
 */
uint32_t histogram_percentile(const struct histogram *h, unsigned int percent)
{
	uint64_t rank = (h->count * percent + 99) / 100, seen = 0;
	unsigned int i;
	uint32_t value;

	for (i = bucket_of(h->min); i < bucket_of(h->max); i++) {
		seen += h->buckets[i];
		if (seen >= rank)
			break;
	}
	value = middle_of(i);
	if (value < h->min)
		return h->min;
	return value > h->max ? h->max : value;
}

/**
 * histogram_reset() - make a histogram empty
 * @h: the histogram; only the part that is in use is written
 */
void histogram_reset(struct histogram *h)
{
	unsigned int low, high;

	if (!h->count)
		return;
	low = bucket_of(h->min);
	high = bucket_of(h->max);
	memset(&h->buckets[low], 0, (high - low + 1) * sizeof(h->buckets[0]));
	h->count = 0;
}
