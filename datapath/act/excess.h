/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Drops the excess of a guest.
 */
#ifndef _TCON_EXCESS_H
#define _TCON_EXCESS_H

#include <linux/types.h>

struct tcon_flow;
struct tcon_packet;
struct tcon_segment;

bool tcon_excess_repeats(struct tcon_flow *flow, u32 payload_bytes, u64 now_us);
bool tcon_excess_vain(struct tcon_flow *flow, const struct tcon_segment *seg, u32 end,
		      u64 now_us);
bool tcon_excess_must_leave(const struct tcon_flow *flow, const struct tcon_packet *pkt);
bool tcon_excess_refused(struct tcon_flow *flow, const struct tcon_packet *pkt,
			 const struct tcon_segment *seg, bool waits, u64 now_us);

#endif /* _TCON_EXCESS_H */
