/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A guest's segment leaves.
 */
#ifndef _TCON_LEAVE_H
#define _TCON_LEAVE_H

#include <linux/types.h>

struct sk_buff;
struct tcon_flow;

void tcon_leave_choose_cpu(struct tcon_flow *flow);
void tcon_leave(struct tcon_flow *flow, struct sk_buff *skb, struct sk_buff *copy, u64 now_ns);

#endif /* _TCON_LEAVE_H */
