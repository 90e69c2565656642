/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Judging what is lost.
 */
#ifndef _TCON_LOSS_H
#define _TCON_LOSS_H

#include <linux/types.h>

#define TCON_DUP_THRESH		3	/* RFC 6675, RFC 8985 */

struct tcon_send;
struct tcon_track;

/**
 * struct tcon_rack - state of RACK (RFC 8985, 5.3)
 * @tx_us: when the most recently sent of all delivered segments left
 * @deadline_us: when to judge again; 0: with the next ACK
 * @order: order of that segment's transmission
 * @end: its end
 * @rtt_us: its round trip
 * @fack: end of the highest range delivered before the present ACK
 * @fack_next: the same with it
 * @dsack_round: when una is there, another DSACK may widen the window
 * @reo_more: window for reordering, in quarters of the minimum RTT beyond one
 * @reo_persist: recoveries until those are forgotten
 * @in_dsack_round: @dsack_round is valid
 * @valid: what is known of the segment
 * @reordered: reordering has been seen
 */
struct tcon_rack {
	u64 tx_us;
	u64 deadline_us;
	u32 order;
	u32 end;
	u32 rtt_us;
	u32 fack;
	u32 fack_next;
	u32 dsack_round;
	u8 reo_more;
	u8 reo_persist;
	bool in_dsack_round;
	bool valid;
	bool reordered;
};

void tcon_loss_mark(struct tcon_track *t, u32 start, u32 end);
void tcon_loss_mark_all(struct tcon_track *t);
void tcon_loss_mark_head(struct tcon_track *t);
void tcon_loss_delivered(struct tcon_track *t, const struct tcon_send *s,
			 u32 end, const struct tcon_send *first, u64 now_us);
void tcon_loss_dsack(struct tcon_track *t);
void tcon_loss_recovered(struct tcon_track *t);
void tcon_loss_detect(struct tcon_track *t, u64 now_us);

#endif /* _TCON_LOSS_H */
