/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The last round trips of a half-flow that is only observed.
 */
#ifndef _TCON_ROUNDS_H
#define _TCON_ROUNDS_H

#include <linux/types.h>
#include <uapi/linux/tcon.h>

#include "base/budget.h"

/**
 * struct tcon_sums - what a round is reckoned from, when it begins and when it ends
 * @now_us: the time
 * @busy_us: for how long data was in flight so far
 * @lost_bytes: judged lost so far
 * @ece_acks: number of ACKs with ECE so far
 * @rtt_sum_us: sum of the measured RTTs
 * @rtt_samples: their number
 * @timeout_us: when the guest last had a retransmission time-out; 0: never
 */
struct tcon_sums {
	u64 now_us;
	u64 busy_us;
	u64 lost_bytes;
	u64 ece_acks;
	u64 rtt_sum_us;
	u64 rtt_samples;
	u64 timeout_us;
};

/**
 * struct tcon_rounds_log - records
 * @began: when the present round began
 * @budget: what it is charged to, or NULL
 * @n: number of rounds so far; the last %TCON_ROUNDS_MAX are kept
 * @round: round i is at i modulo %TCON_ROUNDS_MAX
 */
struct tcon_rounds_log {
	struct tcon_sums began;
	struct tcon_budget *budget;
	u32 n;
	struct tcon_round round[TCON_ROUNDS_MAX];
};

/**
 * struct tcon_rounds - the rounds of a half-flow
 * @log: NULL: the flow is young, or there was no memory
 * @round_end: tcon_track.round_end of the present round
 * @passed: number of rounds without a log, at most %TCON_ROUNDS_PASSED
 */
struct tcon_rounds {
	struct tcon_rounds_log *log;
	u32 round_end;
	u32 passed;
};

/* Most connections are short, and take no memory: their first rounds are not recorded. */
#define TCON_ROUNDS_PASSED	8

void tcon_rounds_end(struct tcon_rounds *rounds, struct tcon_budget *budget,
		     const struct tcon_sums *now, u16 segs, bool receiver);
unsigned int tcon_rounds_count(const struct tcon_rounds *rounds);
void tcon_rounds_copy(const struct tcon_rounds *rounds, struct tcon_round *to);
void tcon_rounds_clear(struct tcon_rounds *rounds);

#endif /* _TCON_ROUNDS_H */
