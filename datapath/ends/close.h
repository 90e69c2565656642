/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How connections end.
 */
#ifndef _TCON_CLOSE_H
#define _TCON_CLOSE_H

#include "state/flow.h"

void tcon_close_judge(struct tcon_flow *flow, const struct tcon_packet *pkt, bool from_guest,
		      u64 now_us);
void tcon_close_guest_fin(struct tcon_track *t, const struct tcon_packet *pkt);
void tcon_close_data_after(struct tcon_flow *flow, const struct tcon_packet *pkt, u64 now_us);
void tcon_close_unseen(struct tcon_flow *flow, const struct tcon_packet *pkt, bool from_guest,
		       u64 now_us);

/* A packet of either end: is it the connection's last? */
static inline void tcon_close_note(struct tcon_flow *flow, const struct tcon_packet *pkt,
				   bool from_guest, u64 now_us)
{
	if (unlikely(pkt->flags & TCON_TCP_RST || (flow->track.fin_guest && flow->track.fin_peer)))
		tcon_close_judge(flow, pkt, from_guest, now_us);
}

#endif /* _TCON_CLOSE_H */
