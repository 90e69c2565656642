/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the processing of an ACK has shown.
 */
#ifndef _TCON_SENDER_ACK_H
#define _TCON_SENDER_ACK_H

#include "sender/track.h"

/**
 * struct tcon_ack - what an ACK did
 * @rs: the sample for the CC
 * @valid: it acknowledges only data that was sent; else the ACK changed nothing
 * @delivered_any: rs.acked_sacked_bytes or rs.losses_bytes is not zero
 * @original: some of the delivered payload was sent only once
 * @una_advanced: una moved
 * @spurious: the last reduction was spurious
 * @early_marked: the first @early_bytes were marked, and the rest was not; false: the other
 *	way round
 * @early_bytes: marks begin or end after this many of rs.acked_bytes; 0: they do not
 * @sack_overflow: number of SACK ranges that found no room
 * @spurious_repairs: number of TCon's repairs that were shown to be needless
 */
struct tcon_ack {
	struct tcon_rate_sample rs;
	bool valid;
	bool delivered_any;
	bool original;
	bool una_advanced;
	bool spurious;
	bool early_marked;
	u32 early_bytes;
	u32 sack_overflow;
	u32 spurious_repairs;
};

#endif /* _TCON_SENDER_ACK_H */
