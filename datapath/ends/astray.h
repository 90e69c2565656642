/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Packets of a connection that take another way.
 */
#ifndef _TCON_ASTRAY_H
#define _TCON_ASTRAY_H

#include "state/flow.h"

void tcon_astray_beyond(struct tcon_flow *flow, u64 now_us);
void tcon_astray_data(struct tcon_flow *flow, const struct tcon_packet *pkt, u64 now_us);
void tcon_astray_unseen(struct tcon_flow *flow, u64 now_us);
void tcon_astray_advanced(struct tcon_flow *flow, u64 now_us);

#endif /* _TCON_ASTRAY_H */
