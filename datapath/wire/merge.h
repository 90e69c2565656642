/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Putting a guest's segments together into super-packets.
 */
#ifndef _TCON_MERGE_H
#define _TCON_MERGE_H

#include <linux/types.h>

struct sk_buff;

bool tcon_merge(struct sk_buff *to, struct sk_buff *skb, u32 most_bytes);

#endif /* _TCON_MERGE_H */
