/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether the application limits a flow.
 */
#ifndef _TCON_APP_LIMIT_H
#define _TCON_APP_LIMIT_H

#include "state/flow.h"

void tcon_app_limit_data(struct tcon_flow *flow, const struct sk_buff *skb,
			 const struct tcon_packet *pkt, u64 now_us);
void tcon_app_limit_ack(struct tcon_flow *flow, u64 now_us);

#endif /* _TCON_APP_LIMIT_H */
