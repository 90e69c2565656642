/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cutting a guest's super-packet into smaller packets.
 */
#ifndef _TCON_SPLIT_H
#define _TCON_SPLIT_H

#include <linux/types.h>

struct sk_buff;
struct sk_buff_head;

bool tcon_split(struct sk_buff *skb, u32 segs, struct sk_buff_head *pieces);

#endif /* _TCON_SPLIT_H */
