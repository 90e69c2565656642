/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long the guest takes to answer the segments that it is given.
 */
#ifndef _TCON_ANSWER_H
#define _TCON_ANSWER_H

#include <linux/types.h>
#include <tcon/cc.h>

#include "base/seq.h"

/* A guest that answers within this time is near: what may wait in TCon for any guest covers it. */
#define TCON_ANSWER_NEAR_US	1000U

/**
 * struct tcon_answer - how long the guest takes to answer
 * @newest: the highest TSval that it was given
 * @asked: the TSval whose echo is waited for, where @asked_us is not 0
 * @asked_us: when the guest was given @asked, its low 32 bits: an answer is wrong at most
 *	where it takes 71 minutes; 0: no echo is waited for
 * @least_us: shortest time of the answers that are being collected
 * @us: shortest time of the answers collected before; 0: not known
 * @n: number of answers in @least_us
 * @given: @newest is valid
 */
struct tcon_answer {
	u32 newest;
	u32 asked;
	u32 asked_us;
	u32 least_us;
	u32 us;
	u8 n;
	bool given;
};

void tcon_answer_given(struct tcon_answer *a, u32 tsval, u64 now_us);
void tcon_answer_heard(struct tcon_answer *a, u64 now_us);
u32 tcon_answer_bytes(const struct tcon_answer *a, const struct tcon_cc *cc);

/* Does a guest's segment with this TSecr answer what was asked? */
static inline bool tcon_answer_is_one(const struct tcon_answer *a, u32 tsecr)
{
	return a->asked_us && !seq_before(tsecr, a->asked);
}

/* Is the guest so far away, or so slow, that it must be given more for that? */
static inline bool tcon_answer_is_far(const struct tcon_answer *a)
{
	return a->us > TCON_ANSWER_NEAR_US;
}

/* If the guest answers at all, it has done so after this time. */
static inline u32 tcon_answer_wait_us(const struct tcon_answer *a)
{
	return tcon_answer_is_far(a) ? a->us + a->us / 4 : TCON_ANSWER_NEAR_US;
}

#endif /* _TCON_ANSWER_H */
