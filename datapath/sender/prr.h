/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What may leave in a recovery, and after an ECN mark: Proportional Rate Reduction
 * (RFC 9937).
 */
#ifndef _TCON_PRR_H
#define _TCON_PRR_H

#include <linux/types.h>
#include <tcon/cc.h>

/**
 * struct tcon_prr - a reduction that is under way
 * @active: it is; without that nothing else is valid
 * @flight_bytes: what was in flight, or lost, before it (RecoverFS); for marks cwnd
 * @delivered_bytes: delivered since it began (prr_delivered)
 * @sent_before: what the half-flow had sent until then, with repeats: prr_out counts from there
 * @first_after: and when the recovery within it began: the first may leave at once
 * @may_bytes: what might be sent, when that was last decided
 * @sent_then: what the half-flow had sent until then
 * @limit_bytes: so much may be in flight until that is decided again
 */
struct tcon_prr {
	bool active;
	u32 flight_bytes;
	u32 delivered_bytes;
	u64 sent_before;
	u64 first_after;
	u64 sent_then;
	u32 may_bytes;
	u32 limit_bytes;
};

void tcon_prr_begin(struct tcon_prr *p, const struct tcon_cc *cc,
		    u32 flight_bytes, u64 sent_bytes);
void tcon_prr_update(struct tcon_prr *p, const struct tcon_cc *cc,
		     u64 sent_bytes, u32 delivered_bytes, bool safe);

#endif /* _TCON_PRR_H */
