/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * User-space shim: helpers that kernel.h brings along.  As in the kernel, min() and
 * max() refuse mixed types.
 */
#ifndef _SHIM_LINUX_KERNEL_H
#define _SHIM_LINUX_KERNEL_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>	/* abs() */
#include <string.h>
#include <linux/bits.h>
#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/types.h>

#define shim_same_type(x, y)						\
	_Static_assert(__builtin_types_compatible_p(__typeof__((x) + 0), \
						    __typeof__((y) + 0)), \
		       "min() or max() of different types")
#define shim_lt(x, y)		((x) < (y))
#define shim_gt(x, y)		((x) > (y))
#define shim_pick(less, x, y)						\
	({								\
		__typeof__(x) shim_x = (x);				\
		__typeof__(y) shim_y = (y);				\
		shim_same_type(shim_x, shim_y);				\
		less(shim_x, shim_y) ? shim_x : shim_y;			\
	})
#define shim_pick_t(type, less, x, y)					\
	({								\
		type shim_tx = (x);					\
		type shim_ty = (y);					\
		less(shim_tx, shim_ty) ? shim_tx : shim_ty;		\
	})
#define min(x, y)		shim_pick(shim_lt, x, y)
#define max(x, y)		shim_pick(shim_gt, x, y)
#define min_t(type, x, y)	shim_pick_t(type, shim_lt, x, y)
#define max_t(type, x, y)	shim_pick_t(type, shim_gt, x, y)
#define min3(x, y, z)		min((__typeof__(x))min(x, y), z)
#define max3(x, y, z)		max((__typeof__(x))max(x, y), z)
#define min_not_zero(x, y)						\
	({								\
		__typeof__(x) shim_a = (x);				\
		__typeof__(y) shim_b = (y);				\
		!shim_a ? shim_b : !shim_b ? shim_a : min(shim_a, shim_b); \
	})
#define clamp(val, lo, hi)	min((__typeof__(val))max(val, lo), hi)
#define clamp_t(type, val, lo, hi) min_t(type, max_t(type, val, lo), hi)
#define swap(a, b)							\
	do {								\
		__typeof__(a) shim_s = (a);				\
		(a) = (b);						\
		(b) = shim_s;						\
	} while (0)

#define IS_ENABLED(option)	0	/* of Kconfig, which there is none of */
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define DIV_ROUND_CLOSEST(n, d)	(((n) + (d) / 2) / (d))	/* unsigned */
#define DIV_ROUND_UP_ULL(n, d)	DIV_ROUND_UP((unsigned long long)(n), d)
#define round_up(x, y)		((((x) - 1) | ((__typeof__(x))((y) - 1))) + 1)
#define round_down(x, y)	((x) & ~((__typeof__(x))((y) - 1)))
#define roundup(x, y)		((((x) + ((y) - 1)) / (y)) * (y))

/* The largest integer whose square is not above @x. */
static inline u32 int_sqrt64(u64 x)
{
	u64 root = 0, bit;

	for (bit = 1ULL << 31; bit; bit >>= 1)
		if ((root | bit) * (root | bit) <= x)
			root |= bit;
	return root;
}

#define container_of(ptr, type, member)					\
	((type *)((char *)(ptr) - offsetof(type, member)))

/* @val of the range 0 .. 2^32 - 1, mapped to 0 .. @ep_ro - 1. */
static inline u32 reciprocal_scale(u32 val, u32 ep_ro)
{
	return (u64)val * ep_ro >> 32;
}

/* Like snprintf(), but returns what was really written. */
static inline __printf(3, 4) int scnprintf(char *buf, size_t size,
					   const char *fmt, ...)
{
	va_list args;
	int n;

	if (!size)
		return 0;
	va_start(args, fmt);
	n = vsnprintf(buf, size, fmt, args);
	va_end(args);
	return n < (int)size ? n : (int)size - 1;
}

#endif /* _SHIM_LINUX_KERNEL_H */
