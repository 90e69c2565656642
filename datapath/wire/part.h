/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parts of a guest's packet as packets.
 */
#ifndef _TCON_PART_H
#define _TCON_PART_H

#include <linux/types.h>

struct sk_buff;

struct sk_buff *tcon_part(const struct sk_buff *whole, u8 family, u32 start, u32 end);

#endif /* _TCON_PART_H */
