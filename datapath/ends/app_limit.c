// SPDX-License-Identifier: GPL-2.0-only
/*
 * Does the application keep a flow from sending more, or the guest's own cwnd?  Then its rate
 * samples do not show the path (draft-ietf-ccwg-bbr, 4.1.2.4; Linux's
 * tcp_rate_check_app_limited()).  The guest's socket knows.  TCon infers it from the window that
 * the guest leaves unused.
 */
#include <linux/math64.h>
#include <linux/skbuff.h>

#include "ends/app_limit.h"

#define GAP_NS		NSEC_PER_MSEC	/* without work, until a pacer counts as dry */

/* The limit that keeps the guest from sending now. */
static inline enum tcon_limit limited_by(const struct tcon_flow *flow, u64 now_us)
{
	u32 slack_bytes = max(flow->track.cc.mss_bytes, flow->clock.burst_bytes) +
			  tcon_flow_gathers_bytes(flow);

	return tcon_limit_now(&flow->track, &flow->window, slack_bytes, tcon_flow_waits(flow),
			      now_us);
}

/*
 * Is the path full although the guest does not use its window?  Then its own cwnd
 * limits it, at the rate of the path, and rate samples show that rate.  There is a
 * standing queue, and the guest keeps answering ACKs with data.  Behind a hole of a peer without
 * SACK no round trip is measured (Karn), and the earlier queue may be gone.
 */
static bool path_is_full(const struct tcon_track *t, u64 now_us)
{
	const struct tcon_cc *cc = &t->cc;

	return now_us - t->timer.sampled_us <= 2 * (u64)cc->srtt_us &&
	       cc->srtt_us > cc->min_rtt_us + cc->min_rtt_us / 8 &&
	       cc->inflight_bytes > mul_u64_u64_div_u64(cc->last_rate_bps,
				cc->min_rtt_us, 8ULL * USEC_PER_SEC);
}

/* Has the pacer had no work for a while? */
static bool pacer_is_dry(const struct tcon_flow *flow, u64 now_us)
{
	return flow->track.cc.pacing_rate_bps && !tcon_flow_waits(flow) &&
	       flow->clock.release_ns + GAP_NS < now_us * NSEC_PER_USEC;
}

/*
 * How much of its window can a guest leave unused that has more to send, and only waits to fill a
 * packet?  Behind a hole, where an ACK is overdue, Linux waits for one as large as its own rate
 * calls for.  That may be its whole allowance.  But for a peer without SACK a round trip fills one
 * hole of many.  No guest waits that long: its cwnd is full of arrived data.
 */
static u32 slack_bytes(const struct tcon_flow *flow, u64 now_us)
{
	const struct tcon_track *t = &flow->track;
	u32 mss_bytes = t->cc.mss_bytes, allowance_bytes;

	if (!t->cc.pacing_rate_bps)
		return 2 * mss_bytes + tcon_flow_gathers_bytes(flow);
	allowance_bytes = tcon_flow_allowance_bytes(flow);
	if (tcon_track_has_hole(t) && tcon_track_sack(t))
		return max(allowance_bytes, 4 * mss_bytes) - 2 * mss_bytes;
	if (pacer_is_dry(flow, now_us))
		return mss_bytes;
	return mss_bytes + min(flow->clock.burst_bytes, allowance_bytes / 2);
}

/* May another segment be in flight? */
static bool has_cwnd_room(const struct tcon_track *t)
{
	return t->cc.inflight_bytes + t->cc.mss_bytes < tcon_track_cwnd_bytes(t);
}

/*
 * Did the guest leave unused what it could have sent from @nxt_guest on?  @has_more: it
 * seems that it had more to send, and that only its own cwnd limited it.
 */
static void note_app_limit(struct tcon_flow *flow, u32 nxt_guest, bool has_more,
			   u64 now_us)
{
	const struct tcon_track *t = &flow->track;

	if (tcon_buffer_waits(&flow->buffer) || !has_cwnd_room(t) ||
	    (has_more && path_is_full(t, now_us)))
		return;
	if (tcon_window_unused(&flow->window, nxt_guest, now_us) >= slack_bytes(flow, now_us))
		tcon_track_app_limited(&flow->track);
}

/* Are these whole segments?  The path may take smaller ones than the SYNs said. */
static bool is_whole(const struct tcon_flow *flow, const struct sk_buff *skb,
		     const struct tcon_packet *pkt)
{
	if (skb_is_gso(skb))
		return !(pkt->payload_bytes % skb_shinfo(skb)->gso_size);
	return pkt->payload_bytes > flow->track.cc.mss_bytes / 2;
}

/*
 * New data of a paced flow.  A guest that has more to send than its cwnd allows answers
 * ACKs, with whole segments.  A stream that sends at a rate of its own, beside another
 * flow's standing queue, differs in nothing else: all its data is delivered, and more of
 * it is in flight than its rate needs.
 */
static void note_new_data(struct tcon_flow *flow, const struct sk_buff *skb,
			  const struct tcon_packet *pkt, u64 now_us)
{
	const struct tcon_track *t = &flow->track;
	bool whole = is_whole(flow, skb, pkt);

	/* An ACK may find packets waiting that came into a gap. */
	if (!whole || pacer_is_dry(flow, now_us))
		note_app_limit(flow, pkt->seq, whole &&
			       now_us - t->delivered_us < tcon_answer_wait_us(&flow->answer),
			       now_us);
}

/**
 * tcon_app_limit_data() - the guest sends new data
 * @flow: its lock is held, enforced
 * @skb: the segment
 * @pkt: the same, parsed
 * @now_us: the time
 */
void tcon_app_limit_data(struct tcon_flow *flow, const struct sk_buff *skb,
			 const struct tcon_packet *pkt, u64 now_us)
{
	tcon_limit_data(&flow->limits, limited_by(flow, now_us), &flow->window, now_us);
	if (flow->track.cc.pacing_rate_bps)
		note_new_data(flow, skb, pkt, now_us);
}

/*
 * As note_app_limit(), for a flow whose windows are not written: TCon does not know how much it
 * could have sent.  If it has room and nothing waits, it had no more to send.  (The only other
 * reasons in RFC 9293 are the path and the peer's window.)
 */
static void note_idle_room(struct tcon_flow *flow, u64 now_us)
{
	struct tcon_track *t = &flow->track;

	if (!tcon_buffer_waits(&flow->buffer) && !path_is_full(t, now_us) && has_cwnd_room(t))
		tcon_track_app_limited(t);
}

/**
 * tcon_app_limit_ack() - an ACK comes, and has not been looked at
 * @flow: its lock is held
 * @now_us: the time
 */
void tcon_app_limit_ack(struct tcon_flow *flow, u64 now_us)
{
	if (tcon_flow_enforced(flow)) {
		note_app_limit(flow, flow->track.nxt_guest, true, now_us);
		tcon_limit_ack(&flow->limits, limited_by(flow, now_us), &flow->window, now_us);
	} else if (tcon_flow_runs_cc(flow)) {
		note_idle_room(flow, now_us);
	}
}
