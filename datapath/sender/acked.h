/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Processing of the peer's ACKs.
 */
#ifndef _TCON_ACKED_H
#define _TCON_ACKED_H

#include "sender/ack.h"

void tcon_acked_observed(struct tcon_track *t, u32 peer_bytes, u64 now_us);
void tcon_acked(struct tcon_track *t, const struct tcon_packet *pkt, u64 now_us,
		struct tcon_ack *ack);
u64 tcon_acked_sample_bps(const struct tcon_rate_sample *rs);

#endif /* _TCON_ACKED_H */
