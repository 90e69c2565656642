/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When segments may leave.
 */
#ifndef _TCON_GATE_H
#define _TCON_GATE_H

#include "sender/window.h"
#include "state/flow.h"

struct sk_buff;
struct tcon_segment;

/* Packets that the clock would let go within this leave together. */
#define TCON_QUANTUM_NS		(125 * NSEC_PER_USEC)
/* No time to wait for: an ACK or a timer of the tracker opens the gate. */
#define TCON_NOT_BEFORE_AN_ACK	U64_MAX

void tcon_gate_flush(struct tcon_flow *flow);
u64 tcon_gate_patience_ns(const struct tcon_flow *flow);
void tcon_gate_stall(struct tcon_flow *flow, u64 now_us);
u64 tcon_gate_pacing(const struct tcon_flow *flow, u64 now_ns, u64 ahead_ns);
u32 tcon_gate_room_bytes(const struct tcon_track *t, u32 start, u32 end, u32 payload_bytes);
u64 tcon_gate_segment(struct tcon_flow *flow, const struct tcon_segment *seg, u32 end, u64 now_ns,
		      u64 ahead_ns);
u64 tcon_gate_repair(struct tcon_flow *flow, u64 now_ns);
void tcon_gate_restart(struct tcon_flow *flow, u64 now_ns);
void tcon_gate_advance(struct tcon_flow *flow, const struct sk_buff *skb, u64 now_ns);

/* May the guest send that, by the windows that it was given?  A paced flow gets its peer's windows,
 * and the peer may be on its side.
 */
static inline bool tcon_gate_allows(const struct tcon_flow *flow, u32 end_seq)
{
	return flow->state != TCON_STATE_PACED &&
	       tcon_window_covers(&flow->window, end_seq, tcon_track_peer_wscale(&flow->track),
				  flow->track.cc.mss_bytes);
}

#endif /* _TCON_GATE_H */
