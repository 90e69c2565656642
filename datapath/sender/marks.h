/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an ACK says of ECN marks.
 */
#ifndef _TCON_MARKS_H
#define _TCON_MARKS_H

#include <linux/types.h>

struct tcon_ack;
struct tcon_packet;
struct tcon_track;

void tcon_marks_take(struct tcon_track *t, const struct tcon_packet *pkt, u32 delivered,
		     struct tcon_ack *ack);

#endif /* _TCON_MARKS_H */
