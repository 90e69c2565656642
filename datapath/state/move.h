/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Half-flows that move with their guest to another port, or to another host.
 */
#ifndef _TCON_MOVE_H
#define _TCON_MOVE_H

#include "sender/saved.h"
#include "state/flow.h"

bool tcon_move_out(const struct tcon_flow *flow, struct tcon_state_record *record);
int tcon_move_in(struct tcon_port *port, struct tcon_saved *saved);
void tcon_move_unseen(struct tcon_flow *flow, u64 now_us);
void tcon_move_settle(struct tcon_flow *flow, const struct tcon_packet *pkt,
		      u64 now_us);

#endif /* _TCON_MOVE_H */
