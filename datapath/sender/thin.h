/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Thinning: which of the peer's ACKs a guest in slow start is not given.
 */
#ifndef _TCON_THIN_H
#define _TCON_THIN_H

#include <linux/types.h>

#include "sender/track.h"

/**
 * struct tcon_thin - the ACKs that a guest was given
 * @told_ack: acknowledgment number of the last ACK
 * @run_bytes: bytes from @told_ack on that the guest has repeated
 * @told_us: time of the last ACK
 * @train_us: for how long ACKs had followed each other closely then
 * @unheard: the guest has repeated what that ACK was for, so it has not arrived
 * @owed: the guest has repeated what later ACKs were for, which it was not given
 * @passed_by: the guest repeats what it has not been told to be missing: ACKs pass TCon by
 */
struct tcon_thin {
	u32 told_ack;
	u32 run_bytes;
	u64 told_us;
	u32 train_us;
	bool unheard;
	bool owed;
	bool passed_by;
};

bool tcon_thin_holds_back(const struct tcon_thin *thin,
			  const struct tcon_track *t, u32 ack, u64 now_us);
void tcon_thin_told(struct tcon_thin *thin, u32 ack, u64 now_us);

#endif /* _TCON_THIN_H */
