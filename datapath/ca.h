/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between tracker and CC: which callback is due, and is its answer sane?
 */
#ifndef _TCON_CA_H
#define _TCON_CA_H

#include "track.h"

int tcon_ca_start(struct tcon_track *t, const struct tcon_cc_ops *ops,
		  const s64 *params, u64 now_us);
void tcon_ca_stop(struct tcon_track *t);
void tcon_ca_ack(struct tcon_track *t, const struct tcon_ack *ack);
void tcon_ca_lost(struct tcon_track *t, u32 bytes, u64 now_us);
void tcon_ca_timeout(struct tcon_track *t, u64 now_us);
void tcon_ca_tx_start(struct tcon_track *t, u64 now_us);
bool tcon_ca_sane(const struct tcon_cc *cc);

#endif /* _TCON_CA_H */
