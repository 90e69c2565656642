/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Outcomes of half-flows: a rule that takes a share of them compares it with the rest.
 */
#ifndef _TCON_OUTCOME_H
#define _TCON_OUTCOME_H

#include <linux/spinlock.h>
#include <uapi/linux/tcon.h>

#include "sender/track.h"

/**
 * struct tcon_outcome_of - the outcome of one half-flow
 * @goodput: as in enum tcon_outcome
 * @rtt: likewise
 * @again: likewise
 */
struct tcon_outcome_of {
	u32 goodput;
	u32 rtt;
	u32 again;
};

/**
 * struct tcon_outcomes - sums over the half-flows of a rule with a share
 * @lock: serialises additions
 * @taken: index enum tcon_outcome: of half-flows that obeyed it
 * @left: of half-flows that might have
 */
struct tcon_outcomes {
	spinlock_t lock;	/* the sums; innermost */
	u64 taken[__TCON_OUTCOME_MAX];
	u64 left[__TCON_OUTCOME_MAX];
};

bool tcon_outcome_of(const struct tcon_track *t, struct tcon_outcome_of *of);
void tcon_outcomes_add(struct tcon_outcomes *o, bool taken, const struct tcon_outcome_of *of);
void tcon_outcomes_read(struct tcon_outcomes *o, u64 *taken, u64 *left);

#endif /* _TCON_OUTCOME_H */
