/* SPDX-License-Identifier: GPL-2.0-only */
/* For fuzzers: the rest of the input; zeros follow. */
#ifndef _TESTS_INPUT_H
#define _TESTS_INPUT_H

#include <linux/types.h>

/**
 * struct input - what is left of the input
 * @at: next byte
 * @left: bytes
 */
struct input {
	const u8 *at;
	size_t left;
};

static inline u8 get_u8(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->at++;
}

static inline u32 get_u32(struct input *in)
{
	u32 v = get_u8(in);

	v = v << 8 | get_u8(in);
	v = v << 8 | get_u8(in);
	return v << 8 | get_u8(in);
}

#endif /* _TESTS_INPUT_H */
