/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Frames of TCP, and what a device does for them.
 */
#ifndef _TESTS_GSO_H
#define _TESTS_GSO_H

#include <linux/err.h>
#include <linux/skbuff.h>

/**
 * struct frame_layout - where a frame's headers are
 * @l3: offset of the IP header
 * @l4: offset of the TCP header
 * @payload: offset of the payload
 * @ip6: it is IPv6
 */
struct frame_layout {
	u32 l3, l4, payload;
	bool ip6;
};

bool frame_read(const u8 *frame, u32 bytes, struct frame_layout *at);
void frame_finish_sum(struct sk_buff *skb);

#endif /* _TESTS_GSO_H */
