// SPDX-License-Identifier: GPL-2.0-only
/*
 * Outcomes of half-flows.
 *
 * Rates of flows differ by orders of magnitude, and their logarithms are roughly normally
 * distributed (Zhang, Breslau, Paxson and Shenker, On the Characteristics and Origins of Internet
 * Flow Rates, SIGCOMM 2002).  So the sums add logarithms: the few fastest flows would dominate a
 * mean of the rates themselves.  The squares of logarithms, 2^32 at most, leave room in 64 bits for
 * more flows than a host ever has.
 */
#include <linux/math64.h>
#include <linux/string.h>

#include "base/sums.h"
#include "state/outcome.h"

#define BITS_PER_BYTE_US	8000000ULL	/* bits/s in a byte/us */

/**
 * tcon_outcome_of() - get the outcome of a half-flow that has ended
 * @t: its sender
 * @of: the result
 *
 * Return: false if that says nothing: it has sent no data, or not from its handshake on.
 */
bool tcon_outcome_of(const struct tcon_track *t, struct tcon_outcome_of *of)
{
	u64 again = t->repeated_bytes + t->repaired_bytes;

	if (!tcon_track_established(t) || !t->acked_bytes || !t->busy_us || !t->rtt_samples)
		return false;
	of->goodput = max_t(s32, 0, tcon_log2(t->acked_bytes) + tcon_log2(BITS_PER_BYTE_US) -
				    tcon_log2(t->busy_us));
	of->rtt = tcon_log2(max(1ULL, div64_u64(t->rtt_sum_us, t->rtt_samples)));
	of->again = div64_u64(again * TCON_OUTCOME_PART, again + t->acked_bytes);
	return true;
}

/**
 * tcon_outcomes_add() - add a half-flow that has ended
 * @o: the sums
 * @taken: it obeyed the rule
 * @of: its outcome
 *
 * Context: bottom halves disabled.
 */
void tcon_outcomes_add(struct tcon_outcomes *o, bool taken, const struct tcon_outcome_of *of)
{
	u64 *sums = taken ? o->taken : o->left;

	spin_lock(&o->lock);
	sums[TCON_OUTCOME_FLOWS]++;
	tcon_sum_add(&sums[TCON_OUTCOME_GOODPUT], of->goodput);
	tcon_sum_add(&sums[TCON_OUTCOME_RTT], of->rtt);
	tcon_sum_add(&sums[TCON_OUTCOME_AGAIN], of->again);
	spin_unlock(&o->lock);
}

/**
 * tcon_outcomes_read() - copy sums that belong together
 * @o: the sums
 * @taken: a copy of o->taken
 * @left: a copy of o->left
 *
 * Context: process context.
 */
void tcon_outcomes_read(struct tcon_outcomes *o, u64 *taken, u64 *left)
{
	spin_lock_bh(&o->lock);
	memcpy(taken, o->taken, sizeof(o->taken));
	memcpy(left, o->left, sizeof(o->left));
	spin_unlock_bh(&o->lock);
}
