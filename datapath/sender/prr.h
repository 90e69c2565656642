/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How much may leave in a recovery and right after it, and after an ECN mark: Proportional
 * Rate Reduction (RFC 9937).  And after a time-out.
 */
#ifndef _TCON_PRR_H
#define _TCON_PRR_H

#include <linux/types.h>
#include <tcon/cc.h>

/**
 * struct tcon_prr - a reduction that is under way
 * @sent_before: total sent when it began, repeats included; prr_out counts from there
 * @first_after: total sent when the recovery within it began; the first repair may leave at
 *	once
 * @sent_then: total sent at that decision
 * @flight_bytes: what was in flight, or lost, before it (RecoverFS); for marks cwnd
 * @delivered_bytes: delivered since it began (prr_delivered)
 * @may_bytes: how much might be sent, at the last decision
 * @limit_bytes: how much may be in flight until the next decision
 * @after: the recovery is over, or there was a time-out, and cwnd is not full yet
 * @active: a reduction is under way; otherwise nothing else is valid
 */
struct tcon_prr {
	u64 sent_before;
	u64 first_after;
	u64 sent_then;
	u32 flight_bytes;
	u32 delivered_bytes;
	u32 may_bytes;
	u32 limit_bytes;
	bool after;
	bool active;
};

void tcon_prr_begin(struct tcon_prr *p, const struct tcon_cc *cc,
		    u32 flight_bytes, u64 sent_bytes);
void tcon_prr_end(struct tcon_prr *p, const struct tcon_cc *cc, u64 sent_bytes);
void tcon_prr_timeout(struct tcon_prr *p, const struct tcon_cc *cc, u64 sent_bytes);
void tcon_prr_update(struct tcon_prr *p, const struct tcon_cc *cc,
		     u64 sent_bytes, u32 delivered_bytes, bool safe);

#endif /* _TCON_PRR_H */
