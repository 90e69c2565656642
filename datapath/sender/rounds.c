// SPDX-License-Identifier: GPL-2.0-only
/*
 * The last round trips of a half-flow that is only observed: how much was in flight, how long
 * the round trip took, what happened.
 *
 * A guest's own congestion control shows itself in these: the data in flight follows its window,
 * and it reacts to loss and delay.  User space names it from this; nothing here depends on which
 * ones there are.
 *
 * The tracker knows where rounds end, and has sums of what happens.  So an ACK within a round costs
 * one comparison, and a record is the growth of the sums.
 *
 * Nothing here needs a kernel.  Callers hold the flow's lock.
 */
#include <linux/build_bug.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/slab.h>

#include "sender/rounds.h"

#define LOG_BYTES	sizeof(struct tcon_rounds_log)

/* The allocator rounds up to a power of two. */
static_assert(LOG_BYTES <= 2048);

/* Was nothing in flight for more than an eighth of the round? */
static bool was_idle(const struct tcon_sums *began, const struct tcon_sums *now)
{
	u64 us = now->now_us - began->now_us, busy_us = now->busy_us - began->busy_us;

	return busy_us + us / 8 < us;
}

static u16 what_happened(const struct tcon_sums *began, const struct tcon_sums *now)
{
	u16 flags = 0;

	if (now->lost_bytes != began->lost_bytes)
		flags |= TCON_ROUND_LOST;
	if (now->timeout_us && now->timeout_us >= began->now_us)
		flags |= TCON_ROUND_TIMEOUT;
	if (now->ece_acks != began->ece_acks)
		flags |= TCON_ROUND_MARKED;
	if (was_idle(began, now))
		flags |= TCON_ROUND_IDLE;
	return flags;
}

static u32 mean_rtt_us(const struct tcon_sums *began, const struct tcon_sums *now)
{
	u64 samples = now->rtt_samples - began->rtt_samples;

	if (!samples)
		return 0;
	return min_t(u64, div64_u64(now->rtt_sum_us - began->rtt_sum_us, samples), U32_MAX);
}

/* Makes room for records, once it is worth it.  Without memory the next round tries again. */
static void start_log(struct tcon_rounds *rounds, struct tcon_budget *budget)
{
	if (rounds->passed < TCON_ROUNDS_PASSED) {
		rounds->passed++;
		return;
	}
	if (!tcon_budget_allows(budget))
		return;
	rounds->log = kmalloc(LOG_BYTES, GFP_ATOMIC | __GFP_NOWARN);
	if (!rounds->log)
		return;
	rounds->log->n = 0;
	rounds->log->budget = budget;
	tcon_budget_charge(budget, LOG_BYTES);
}

/**
 * tcon_rounds_end() - a round has ended, and the next begins
 * @rounds: the rounds
 * @budget: what memory is charged to, or NULL
 * @now: sums at this time
 * @segs: most that was in flight, in full segments
 * @receiver: that was all that the peer's window allowed
 */
void tcon_rounds_end(struct tcon_rounds *rounds, struct tcon_budget *budget,
		     const struct tcon_sums *now, u16 segs, bool receiver)
{
	struct tcon_rounds_log *log = rounds->log;

	if (log) {
		log->round[log->n++ % TCON_ROUNDS_MAX] = (struct tcon_round){
			.rtt_us = mean_rtt_us(&log->began, now),
			.segs = segs,
			.flags = what_happened(&log->began, now) |
				 (receiver ? TCON_ROUND_RECEIVER : 0),
		};
	} else {
		start_log(rounds, budget);
	}
	if (rounds->log)
		rounds->log->began = *now;
}

/**
 * tcon_rounds_count() - how many records there are
 * @rounds: the rounds
 *
 * Return: at most %TCON_ROUNDS_MAX.
 */
unsigned int tcon_rounds_count(const struct tcon_rounds *rounds)
{
	return rounds->log ? min(rounds->log->n, TCON_ROUNDS_MAX) : 0;
}

/**
 * tcon_rounds_copy() - the records, oldest first
 * @rounds: the rounds
 * @to: room for tcon_rounds_count()
 */
void tcon_rounds_copy(const struct tcon_rounds *rounds, struct tcon_round *to)
{
	unsigned int n = tcon_rounds_count(rounds), i;

	for (i = 0; i < n; i++)
		to[i] = rounds->log->round[(rounds->log->n - n + i) % TCON_ROUNDS_MAX];
}

/**
 * tcon_rounds_clear() - forget all, and give memory back
 * @rounds: the rounds
 */
void tcon_rounds_clear(struct tcon_rounds *rounds)
{
	if (rounds->log)
		tcon_budget_charge(rounds->log->budget, -(long)LOG_BYTES);
	kfree(rounds->log);
	*rounds = (struct tcon_rounds){};
}
