/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Processing of what leaves towards the peer.
 */
#ifndef _TCON_SENT_H
#define _TCON_SENT_H

#include "sender/track.h"

/**
 * enum tcon_sent - what a guest's segment was
 * @TCON_SENT_NEW: data not sent before
 * @TCON_SENT_REPEAT: data sent before
 * @TCON_SENT_TIMEOUT: a repeat that shows a retransmission time-out
 */
enum tcon_sent {
	TCON_SENT_NEW,
	TCON_SENT_REPEAT,
	TCON_SENT_TIMEOUT,
};

enum tcon_sent tcon_sent_segment(struct tcon_track *t, u32 start, u32 end,
				 u32 payload_bytes, u64 now_us);
void tcon_sent_elsewhere(struct tcon_track *t, u32 end, u64 sent_us);
void tcon_sent_overtaking(struct tcon_track *t, u32 tsval, u64 now_us);
bool tcon_sent_repair(struct tcon_track *t, u32 start, u32 end,
		      u32 payload_bytes, u64 now_us);
void tcon_sent_repairs_end(struct tcon_track *t);

#endif /* _TCON_SENT_H */
