/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is done to a half-flow, and why not more: its state and its reason.
 */
#ifndef _TCON_JUDGE_H
#define _TCON_JUDGE_H

#include "state/flow.h"

void tcon_judge(struct tcon_flow *flow, u64 now_us);
void tcon_judge_level(struct tcon_flow *flow);
void tcon_judge_give_up(struct tcon_flow *flow, enum tcon_reason why);
void tcon_judge_missing(struct tcon_flow *flow, u32 end, enum tcon_reason why);
void tcon_judge_rule(struct tcon_flow *flow, u64 now_us);
void tcon_judge_distrust(struct tcon_flow *flow, u64 now_us);
bool tcon_judge_may_repair(void);

/* tcon_judge_rule(), if rules have changed. */
static inline void tcon_judge_refresh(struct tcon_flow *flow, u64 now_us)
{
	if (unlikely(flow->generation !=
		     READ_ONCE(flow->port->generation)))
		tcon_judge_rule(flow, now_us);
}

/* A packet to the guest has this mark.  Where the one before had another, the rule may change. */
static inline void tcon_judge_mark(struct tcon_flow *flow, u32 mark, u64 now_us)
{
	if (likely(!READ_ONCE(flow->port->tnet->n_marks) || flow->traits.mark == mark))
		return;
	flow->traits.mark = mark;
	tcon_judge_rule(flow, now_us);
}

/* The watchdog.  Call it when the CC has decided. */
static inline void tcon_judge_cc(struct tcon_flow *flow, u64 now_us)
{
	trace_tcon_cc(flow, flow->track.cc.delivered_bytes);
	if (unlikely(!tcon_ca_sane(&flow->track.cc)))
		tcon_judge_distrust(flow, now_us);
}

#endif /* _TCON_JUDGE_H */
