/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Windowed maximum and minimum of a stream of values, in constant space and
 * time: Kathleen Nichols' windowed extremum estimator.
 *
 * A filter keeps three samples: the best of the window, the best of those after
 * it, and the best of those after the second.  When the first becomes older than
 * the window, the second takes its place.  So a change of the signal is seen at
 * once, and not a window later.  For that the second must not be too close in time
 * to the first: a quarter of the window after the first, the second is replaced by
 * the newest sample; half a window after it, the third.
 *
 * The result is a sample of the last window.  It is at least as good as every later
 * sample.  It is the true extremum unless that was replaced while it was second or
 * third.
 *
 * Time is any count that advances (round trips, milliseconds); it may wrap.
 */
#ifndef _TCON_FILTER_H
#define _TCON_FILTER_H

#include <linux/types.h>

/**
 * struct tcon_filter_sample - a value and when it was taken
 * @value: the value
 * @when: its time, in the unit of the filter's window
 */
struct tcon_filter_sample {
	u64 value;
	u32 when;
};

/**
 * struct tcon_filter - a windowed extremum
 * @best: the best sample, and the second and third, in order of time
 */
struct tcon_filter {
	struct tcon_filter_sample best[3];
};

/**
 * tcon_filter_get() - the present extremum
 * @f: the filter
 *
 * Return: the value; 0 of a filter of zeroes that has not been fed.
 */
static inline u64 tcon_filter_get(const struct tcon_filter *f)
{
	return f->best[0].value;
}

/**
 * tcon_filter_reset() - forget everything but one sample
 * @f: the filter
 * @now: time of the sample
 * @value: its value
 */
static inline void tcon_filter_reset(struct tcon_filter *f, u32 now, u64 value)
{
	struct tcon_filter_sample s = { .value = value, .when = now };

	f->best[0] = s;
	f->best[1] = s;
	f->best[2] = s;
}

/* Drop samples that are too old, and keep the three apart in time. */
static inline void tcon_filter_age(struct tcon_filter *f, u32 window,
				   struct tcon_filter_sample newest)
{
	struct tcon_filter_sample *b = f->best;
	u32 age = newest.when - b[0].when;
	int i;

	if (age > window) {
		/* The newest sample is never too old: two steps are enough. */
		for (i = 0; i < 2 && newest.when - b[0].when > window; i++) {
			b[0] = b[1];
			b[1] = b[2];
			b[2] = newest;
		}
	} else if (b[1].when == b[0].when && age > window / 4) {
		b[1] = newest;
		b[2] = newest;
	} else if (b[2].when == b[1].when && age > window / 2) {
		b[2] = newest;
	}
}

static inline u64 tcon_filter_update(struct tcon_filter *f, bool want_max,
				     u32 window, u32 now, u64 value)
{
	struct tcon_filter_sample s = { .value = value, .when = now };
	struct tcon_filter_sample *b = f->best;
	int i;

	if (now - b[2].when > window) {
		tcon_filter_reset(f, now, value);
		return value;
	}
	/* The new sample replaces all that are not better: it is younger. */
	for (i = 2; i >= 0; i--) {
		if (want_max ? value < b[i].value : value > b[i].value)
			break;
		b[i] = s;
	}
	tcon_filter_age(f, window, s);
	return tcon_filter_get(f);
}

/**
 * tcon_filter_max() - feed a windowed maximum
 * @f: the filter; all zero before its first sample
 * @window: length of the window
 * @now: time of the sample; not before the last one's
 * @value: the sample
 *
 * Return: the maximum.
 */
static inline u64 tcon_filter_max(struct tcon_filter *f, u32 window, u32 now,
				  u64 value)
{
	return tcon_filter_update(f, true, window, now, value);
}

/**
 * tcon_filter_min() - feed a windowed minimum
 * @f: the filter; set by tcon_filter_reset() to its first sample
 * @window: length of the window
 * @now: time of the sample; not before the last one's
 * @value: the sample
 *
 * Return: the minimum.
 */
static inline u64 tcon_filter_min(struct tcon_filter *f, u32 window, u32 now,
				  u64 value)
{
	return tcon_filter_update(f, false, window, now, value);
}

#endif /* _TCON_FILTER_H */
