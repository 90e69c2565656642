/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Packets of a connection that take another way.
 */
#ifndef _TCON_ASTRAY_H
#define _TCON_ASTRAY_H

#include "base/seq.h"
#include "state/flow.h"

/* Has the guest sent up to @end by ACKs that it was not given here, as far as that is known? */
static inline bool tcon_astray_is_beyond(const struct tcon_flow *flow, u32 end)
{
	const struct tcon_window *w = &flow->window;

	return !w->valid || flow->thin.passed_by ||
	       seq_after(end, w->edge + flow->track.cc.mss_bytes);
}

void tcon_astray_beyond(struct tcon_flow *flow, u64 now_us);
void tcon_astray_data(struct tcon_flow *flow, const struct tcon_packet *pkt, u64 now_us);
void tcon_astray_unseen(struct tcon_flow *flow, u64 now_us);
void tcon_astray_advanced(struct tcon_flow *flow, u64 now_us);

#endif /* _TCON_ASTRAY_H */
