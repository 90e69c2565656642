/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The receive window that the guest is given.
 */
#ifndef _TCON_WINDOW_H
#define _TCON_WINDOW_H

#include <linux/types.h>
#include <tcon/cc.h>

/*
 * A guest that is near, and has not used a new edge after this time, counts as having
 * nothing to send.
 */
#define TCON_EDGE_ANSWER_US	1000

/**
 * struct tcon_window - windows of one half-flow
 * @edge: highest right edge that the guest was given; never moves left
 * @marked_edge: an earlier edge, which the guest has had time to use
 * @next_mark: the edge at @mark_us
 * @mark_us: when @next_mark was stored
 * @peer_edge: right edge that the peer offers
 * @peer_ack: the highest acknowledgment number that came with a @peer_edge
 * @given_bytes: window last given
 * @peer_bytes: window last offered by the peer
 * @answer_us: how long this guest may take to answer; 0: %TCON_EDGE_ANSWER_US
 * @valid: an edge is known
 */
struct tcon_window {
	u32 edge;
	u32 marked_edge;
	u32 next_mark;
	u64 mark_us;
	u32 peer_edge;
	u32 peer_ack;
	u32 given_bytes;
	u32 peer_bytes;
	u32 answer_us;
	bool valid;
};

u32 tcon_window_wanted(const struct tcon_cc *cc, u32 nxt_guest, u32 cwnd_bytes,
		       u32 hold_bytes);
u32 tcon_window_round_down(u32 edge, u32 ack, u8 wscale, u32 mss_bytes);
void tcon_window_observe(struct tcon_window *w, u32 ack, u16 field, u8 wscale,
			 u64 now_us);
void tcon_window_restore(struct tcon_window *w, u32 una, u32 edge, u32 peer_edge,
			 u64 now_us);
u16 tcon_window_write(struct tcon_window *w, u32 ack, u16 field, u8 wscale,
		      u32 wanted, u32 mss_bytes, u64 now_us);
void tcon_window_untold(struct tcon_window *w,
			const struct tcon_window *before);
u16 tcon_window_late(const struct tcon_window *w, u32 ack, u16 field, u8 wscale,
		     u32 mss_bytes);
u16 tcon_window_update(struct tcon_window *w, u32 ack, u8 wscale, u32 wanted,
		       u32 nxt_guest, u32 mss_bytes, u32 burst_bytes,
		       u64 now_us);
bool tcon_window_covers(const struct tcon_window *w, u32 end_seq, u8 wscale,
			u32 mss_bytes);
u32 tcon_window_unused(const struct tcon_window *w, u32 nxt_guest, u64 now_us);

#endif /* _TCON_WINDOW_H */
