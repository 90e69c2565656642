/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Makes packets of waiting data.
 */
#ifndef _TCON_OUT_H
#define _TCON_OUT_H

#include <linux/types.h>

struct sk_buff;
struct tcon_flow;
struct tcon_segment;

u32 tcon_out_segs(const struct sk_buff *skb);
u32 tcon_out_super_bytes(const struct tcon_flow *flow);
u32 tcon_out_end(const struct tcon_flow *flow, const struct sk_buff *skb);
struct sk_buff *tcon_out_make(struct tcon_flow *flow, u32 end, struct sk_buff **copy,
			      u64 now_us);

#endif /* _TCON_OUT_H */
