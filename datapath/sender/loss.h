/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Loss detection.
 */
#ifndef _TCON_LOSS_H
#define _TCON_LOSS_H

#include <linux/types.h>

#include "sender/track.h"

#define TCON_DUP_THRESH		3	/* RFC 6675, RFC 8985 */

u32 tcon_loss_mark(struct tcon_track *t, u32 start, u32 end);
u32 tcon_loss_unmark(struct tcon_track *t, u32 start, u32 end, u32 known_bytes);
void tcon_loss_mark_all(struct tcon_track *t);
void tcon_loss_mark_head(struct tcon_track *t);
bool tcon_loss_is_too_fast(const struct tcon_track *t, u64 rtt_us);
void tcon_loss_delivered(struct tcon_track *t, const struct tcon_send *s,
			 u32 end, const struct tcon_send *first, u64 now_us);
void tcon_loss_dsack(struct tcon_track *t, bool own);
void tcon_loss_recovered(struct tcon_track *t);
void tcon_loss_detect(struct tcon_track *t, u64 now_us);

#endif /* _TCON_LOSS_H */
