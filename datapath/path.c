// SPDX-License-Identifier: GPL-2.0-only
/*
 * The two hooks: from a guest (ingress) and to a guest (egress).
 *
 *	guest -> ingress: parse, find the half-flow, track or hold -> wire
 *	guest <- egress:  parse, find the half-flow, track the ACK, let the CC
 *			  decide, write the window		   <- wire
 *
 * Whatever is not understood passes untouched and is counted.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/math64.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <tcon/compat.h>

#include "act/ack.h"
#include "act/header.h"
#include "act/hold.h"
#include "act/mark.h"
#include "act/repair.h"
#include "act/tell.h"
#include "base/seq.h"
#include "path.h"
#include "sender/acked.h"
#include "sender/ca.h"
#include "sender/handshake.h"
#include "sender/saved.h"
#include "sender/sent.h"
#include "state/flow.h"
#include "state/fragment.h"
#include "state/judge.h"
#include "state/move.h"
#include "state/rest.h"
#include "wire/plain.h"
#include "wire/segment.h"

#define SPURIOUS_MANY	32	/* needless repairs, before they count against a path */
#define GAP_NS		NSEC_PER_MSEC	/* without work, until a pacer counts as dry */

/* What keeps the guest from sending, as things stand. */
static inline enum tcon_limit limited_by(const struct tcon_flow *flow, u64 now_us)
{
	u32 slack_bytes = max(flow->track.cc.mss_bytes, flow->hold.burst_bytes) +
			  tcon_flow_gathers_bytes(flow);

	return tcon_limit_now(&flow->track, &flow->window, slack_bytes, tcon_flow_waits(flow),
			      now_us);
}

/* The module is about to go: pass everything. */
static bool closing __read_mostly;

static inline enum tcon_parse parse(const struct tcon_port *port, struct sk_buff *skb,
				    struct tcon_packet *pkt)
{
	enum tcon_parse ret;

	/* Each round asks for more than the one before, up to all of it. */
	while ((ret = tcon_packet_parse(pkt, skb->data, skb_headlen(skb), skb->len,
					skb_is_gso_tcp(skb))) == TCON_PARSE_PULL) {
		if (!pskb_may_pull(skb, pkt->pull_bytes)) {
			pkt->skip = TCON_COUNTER_NO_MEMORY;
			ret = TCON_PARSE_SKIP;
			break;
		}
	}
	if (unlikely(ret == TCON_PARSE_SKIP || ret == TCON_PARSE_TAGS))
		tcon_count(port->tnet->stats, pkt->skip);
	return ret;
}

/* Identifier 0 means no VLAN, only a priority (IEEE 802.1Q): the answers may have no tag. */
static void set_vlans(struct tcon_key *key, const struct sk_buff *skb,
		      const struct tcon_packet *pkt)
{
	const unsigned int last = ARRAY_SIZE(key->vlans) - 1;
	unsigned int n = 0, i;

	if (skb_vlan_tag_present(skb) && skb_vlan_tag_get_id(skb))
		key->vlans[n++] = skb_vlan_tag_get_id(skb) + 1;
	for (i = 0; i < pkt->n_vlans; i++) {
		if (n <= last)
			key->vlans[n++] = pkt->vlan_ids[i] + 1;
		else
			key->vlans[last] = tcon_packet_fold_vlans(key->vlans[last] - 1,
								  pkt->vlan_ids[i]) + 1;
	}
}

static inline void make_key(struct tcon_key *key, const struct tcon_port *port,
			    const struct sk_buff *skb,
			    const struct tcon_packet *pkt, bool from_guest)
{
	tcon_key_set_ends(key, skb->data, pkt, from_guest);
	key->port_id = port->id;
	set_vlans(key, skb, pkt);
}

static void close_flow(struct tcon_flow *flow, u64 now_us)
{
	if (flow->closed_us)
		return;
	tcon_flow_close(flow, now_us);
	tcon_judge(flow, now_us);
	tcon_flow_kick(flow);
}

/*
 * May the end that gets a RST believe it?  Then it lies between what that end has acknowledged
 * and what the other has sent (RFC 5961, 3.2).  Otherwise anybody could end enforcement by one.
 */
static bool is_reset(const struct tcon_flow *flow,
		     const struct tcon_packet *pkt, bool from_guest)
{
	const struct tcon_track *t = &flow->track;

	if (flow->mid_stream || !tcon_track_established(t))
		return true;
	return from_guest ? !seq_before(pkt->seq, t->cc.una) &&
			    !seq_after(pkt->seq, t->nxt_guest) :
			    !seq_before(pkt->seq, flow->said.ack) &&
			    !seq_after(pkt->seq, t->peer_nxt);
}

/*
 * What the guest says to have got was not sent, or it offers a window that there cannot be.  By
 * that each segment of its peer would look like somebody else's.  Does one go on where the peer's
 * last one ended, within a window?
 */
static bool goes_on(const struct tcon_flow *flow, const struct tcon_packet *pkt)
{
	const struct tcon_track *t = &flow->track;
	u32 bytes = (u32)flow->said.window << tcon_track_guest_wscale(t);

	if (!seq_after(flow->said.ack, t->peer_nxt) &&
	    flow->said.edge - t->peer_nxt <= TCON_CWND_MAX_BYTES)
		return false;
	return pkt->seq - t->peer_nxt <= max_t(u32, bytes, U16_MAX);
}

/*
 * Would the guest take a segment of the peer's for one of the connection (RFC 9293,
 * 3.10.7.4)?  It honours each window that it has offered (RFC 7323, 2.4).  Whoever knows
 * addresses and ports can send a segment that the guest throws away.  TCon must neither
 * count its ACK as delivery, nor believe its ECN mark, nor repeat its acknowledgment number in
 * a window update.
 */
static inline bool is_heard(const struct tcon_flow *flow,
			    const struct tcon_packet *pkt)
{
	const struct tcon_track *t = &flow->track;

	if (unlikely(pkt->flags & TCON_TCP_SYN || flow->mid_stream ||
		     !tcon_track_established(t) || !tcon_track_scale_is_known(t)))
		return true;
	return (!seq_before(pkt->end_seq, flow->said.ack) &&
		!seq_after(pkt->seq, flow->said.edge)) || goes_on(flow, pkt);
}

/* Is a packet the connection's last? */
static inline void note_end(struct tcon_flow *flow,
			    const struct tcon_packet *pkt, bool from_guest,
			    u64 now_us)
{
	const struct tcon_track *t = &flow->track;

	if (unlikely((pkt->flags & TCON_TCP_RST &&
		      is_reset(flow, pkt, from_guest)) ||
		     (t->fin_guest && t->fin_peer && t->synced &&
		      !seq_before(t->cc.una, t->fin_seq))))
		close_flow(flow, now_us);
}

static void grown(struct tcon_flow *flow, u64 now_us)
{
	const struct tcon_track *t = &flow->track;

	/* Who only sends data has no connection yet. */
	if (flow->mid_stream ? !t->acked_bytes : !tcon_track_established(t))
		return;
	tcon_flow_grown(flow);
	tcon_judge(flow, now_us);
}

/* Something that enforcement waited for may have happened. */
static inline void note_handshake(struct tcon_flow *flow, u64 now_us)
{
	if (unlikely(flow->reason == TCON_REASON_HANDSHAKE ||
		     !list_empty(&flow->embryo_node)))
		grown(flow, now_us);
}

/*
 * What a guest says of its segments, cwnd is counted in.  No segment is larger than the guest's
 * device takes.  So who says more, with a peer on its side, wins no larger steps by it.
 */
static void bound_mss(const struct tcon_port *port, struct tcon_packet *pkt)
{
	u32 ip_bytes = pkt->family == AF_INET ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);
	u32 header_bytes = ip_bytes + sizeof(struct tcphdr);
	u32 mtu = READ_ONCE(port->dev->mtu), mss = pkt->mss ? : U16_MAX;

	if (mtu > header_bytes)
		pkt->mss = min(mss, mtu - header_bytes);
}

/* The guest opens, or answers an opening. */
static void guest_syn(struct tcon_flow *flow, struct tcon_packet *pkt, u64 now_us)
{
	struct tcon_track *t = &flow->track;

	bound_mss(flow->port, pkt);
	if (tcon_flow_opens_anew(flow, pkt)) {
		tcon_handshake_note(&flow->again, pkt);
		flow->again_us = now_us;
		return;
	}
	/* A stack may begin each connection with the same number, by design or on purpose. */
	if ((t->synced || flow->mid_stream) &&
	    (!t->guest.syn_seen || t->guest.isn != pkt->seq || flow->closed_us))
		tcon_flow_restart(flow, now_us);
	if (pkt->flags & TCON_TCP_ACK) {
		flow->said.ack = pkt->ack;
		flow->said.edge = pkt->ack + pkt->window;
	}
	if (pkt->flags & TCON_TCP_ACK &&
	    tcon_side_answered(&flow->pending, pkt->ack)) {
		t->peer = flow->pending;
		t->peer_nxt = flow->pending.isn + 1 + flow->pending.data_bytes;
		flow->pending.syn_seen = false;
	}
	tcon_flow_reopen(flow);		/* a peer's opening that it had reset, unanswered */
	tcon_handshake_guest(t, pkt, now_us);
}

/* Is it an answer to the guest where only an opening was seen, which the guest has not answered? */
static bool displaces(const struct tcon_flow *flow, const struct tcon_packet *pkt)
{
	const struct tcon_track *t = &flow->track;

	return pkt->flags & TCON_TCP_ACK && t->peer.syn_seen && t->peer.isn != pkt->seq &&
	       !t->peer.acked && !t->peer_answers && !t->guest.acked && !flow->mid_stream;
}

/*
 * The peer opens, or answers.  Anybody could have sent it: an answer must fit
 * what the guest sent, and an opening in place of one that was seen before
 * counts only when the guest answers it.
 */
static void peer_syn(struct tcon_flow *flow, const struct tcon_packet *pkt, u64 now_us)
{
	struct tcon_track *t = &flow->track;
	bool answer = pkt->flags & TCON_TCP_ACK;

	if (answer && tcon_side_answered(&flow->again, pkt->ack)) {
		tcon_flow_restart(flow, now_us);
		tcon_handshake_again(t, &flow->again, flow->again_us);
	}
	if (answer && (!t->synced || !tcon_side_answered(&t->guest, pkt->ack)))
		return;
	if (unlikely(displaces(flow, pkt))) {
		flow->pending = t->peer;
		t->peer.syn_seen = false;
	}
	if (t->peer.syn_seen ? t->peer.isn == pkt->seq :
	    !flow->mid_stream && !t->guest.acked)
		tcon_handshake_peer(t, pkt);
	else if (!answer)
		tcon_handshake_note(&flow->pending, pkt);
}

/*
 * Is the path full although the guest does not use its window?  Then its own cwnd
 * limits it, at the rate of the path, and rate samples show that rate.  There is a
 * standing queue, and the guest keeps answering ACKs with data.
 */
static bool path_is_full(const struct tcon_track *t)
{
	const struct tcon_cc *cc = &t->cc;

	return cc->srtt_us > cc->min_rtt_us + cc->min_rtt_us / 8 &&
	       cc->inflight_bytes > mul_u64_u64_div_u64(cc->last_rate_bps,
				cc->min_rtt_us, 8ULL * USEC_PER_SEC);
}

/* Has the pacer had no work for a while? */
static bool pacer_is_dry(const struct tcon_flow *flow, u64 now_us)
{
	return flow->track.cc.pacing_rate_bps && !tcon_flow_waits(flow) &&
	       flow->hold.release_ns + GAP_NS < now_us * NSEC_PER_USEC;
}

/*
 * How much can a guest leave of its window that has more to send, and only waits to fill a packet?
 * Behind a hole, where an ACK is overdue, Linux waits for one as large as its own rate calls for.
 * That may be all that it is given.
 */
static u32 slack_bytes(const struct tcon_flow *flow, u64 now_us)
{
	const struct tcon_track *t = &flow->track;
	u32 mss_bytes = t->cc.mss_bytes, allowance_bytes;

	if (!t->cc.pacing_rate_bps)
		return 2 * mss_bytes + tcon_flow_gathers_bytes(flow);
	allowance_bytes = tcon_flow_allowance_bytes(flow);
	if (tcon_track_has_hole(t))
		return max(allowance_bytes, 4 * mss_bytes) - 2 * mss_bytes;
	if (pacer_is_dry(flow, now_us))
		return mss_bytes;
	return mss_bytes + min(flow->hold.burst_bytes, allowance_bytes / 2);
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

	if (tcon_buffer_waits(&flow->buffer) || !has_cwnd_room(t) || (has_more && path_is_full(t)))
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

/* Has nothing come for so long that its packets must take another way? */
static bool is_overdue(const struct tcon_flow *flow, u64 since_us, u64 now_us)
{
	return now_us - since_us > tcon_track_rto_us(&flow->track);
}

static void go_astray(struct tcon_flow *flow, enum tcon_astray what, u64 now_us)
{
	flow->astray = what;
	tcon_judge(flow, now_us);
}

/*
 * The guest uses a larger window than TCon gave it, or its peer was not heard since its port woke,
 * and no answers pass here.  So the ACKs take another way; or the guest ignores its window, and the
 * peer is silent.  The flow keeps the rate that it has.  While answers pass here, it is held to
 * cwnd.
 */
static void check_edge(struct tcon_flow *flow, const struct tcon_packet *pkt, u64 now_us)
{
	const struct tcon_window *w = &flow->window;

	if (unlikely((!w->valid ||
		      seq_after(pkt->end_seq, w->edge + flow->track.cc.mss_bytes)) &&
		     pkt->payload_bytes &&
		     is_overdue(flow, flow->heard_us, now_us)))
		go_astray(flow, TCON_ASTRAY_ACKS, now_us);
}

/*
 * The guest sends data, and some packets of its connection took another way.  If those were its
 * data, the data is back now.  If they are the ACKs, what TCon knows must not fall too far behind:
 * an edge of long ago would seem to be ahead.
 */
static void check_astray(struct tcon_flow *flow, const struct tcon_packet *pkt, u64 now_us)
{
	struct tcon_track *t = &flow->track;

	if (flow->astray == TCON_ASTRAY_DATA) {
		go_astray(flow, TCON_ASTRAY_NONE, now_us);
	} else if (seq_after(pkt->end_seq, t->cc.una + TCON_CWND_MAX_BYTES / 2)) {
		tcon_handshake_resync(t, pkt->seq, now_us);
		flow->window.valid = false;
	}
}

/*
 * As note_app_limit(), of a flow whose windows are not written: what it could have sent is not
 * known.  If it has room and nothing waits, it had no more (RFC 9293 knows no other reason that
 * is not the path's, or the peer's window).
 */
static void note_idle_room(struct tcon_flow *flow)
{
	struct tcon_track *t = &flow->track;

	if (!tcon_buffer_waits(&flow->buffer) && !path_is_full(t) && has_cwnd_room(t))
		tcon_track_app_limited(t);
}

/* Rules do not let it go on. */
static bool drop(struct sk_buff *skb)
{
	kfree_skb_reason(skb, TCON_DROP_RULE);
	return false;
}

/* Data, FIN or RST.  Returns whether it may go on now. */
static bool guest_data(struct tcon_flow *flow, struct sk_buff *skb,
		       const struct tcon_packet *pkt, u64 now_ns)
{
	if (unlikely(flow->state == TCON_STATE_DROPPED) && pkt->payload_bytes) {
		tcon_count(tcon_flow_stats(flow), TCON_COUNTER_FALLBACK_DROPPED);
		return drop(skb);
	}
	if (tcon_flow_enforced(flow) && pkt->end_seq != pkt->seq &&
	    seq_after(pkt->end_seq, flow->track.nxt_guest)) {
		tcon_limit_data(&flow->limits, limited_by(flow, tcon_us(now_ns)),
				&flow->window, tcon_us(now_ns));
		if (flow->track.cc.pacing_rate_bps)
			note_new_data(flow, skb, pkt, tcon_us(now_ns));
		check_edge(flow, pkt, tcon_us(now_ns));
	}
	return tcon_hold_admit(flow, skb, pkt, now_ns);
}

/* As guest_data().  What comes with a RST is data as any other, before the RST ends all. */
static bool guest_ends(struct tcon_flow *flow, struct sk_buff *skb,
		       const struct tcon_packet *pkt, u64 now_ns)
{
	bool pass;

	if (!pkt->payload_bytes)
		note_end(flow, pkt, true, tcon_us(now_ns));
	pass = guest_data(flow, skb, pkt, now_ns);
	if (pkt->payload_bytes)
		note_end(flow, pkt, true, tcon_us(now_ns));
	return pass;
}

/* Some packets passed unseen.  At a port that TCon has seen for long, the guest made it so. */
static void note_mid_stream(struct tcon_flow *flow, u64 now_us)
{
	if (flow->mid_stream)
		return;
	flow->mid_stream = true;
	flow->hidden = tcon_port_is_settled(flow->port, now_us);
}

/* The guest's data went another way: what is known of it cannot be relied on. */
static void lost_track(struct tcon_flow *flow, u32 ack, u64 now_us)
{
	tcon_handshake_resync(&flow->track, ack, now_us);
	if (flow->mid_stream)
		return;
	note_mid_stream(flow, now_us);
	tcon_judge(flow, now_us);
}

/* Starts with a segment of the guest with data, in the middle of a connection. */
static void adopt(struct tcon_flow *flow, const struct sk_buff *skb,
		  const struct tcon_packet *pkt, u64 now_us)
{
	tcon_track_release(&flow->track);
	note_mid_stream(flow, now_us);
	tcon_handshake_adopt(&flow->track, pkt, tcon_segment_parsed_bytes(skb, pkt), now_us);
	tcon_hold_adopted(flow);
	tcon_judge(flow, now_us);
}

/*
 * Does data of a guest belong to what TCon took for its connection?  Before the handshake is
 * complete it follows the SYN within a window that is not scaled.  In a connection that was
 * adopted, and of which nothing has been acknowledged, it may begin before what was seen first,
 * and a segment that the peer will not take must not make it look like a repeat.
 */
static bool belongs(const struct tcon_flow *flow, const struct tcon_packet *pkt)
{
	const struct tcon_track *t = &flow->track;

	if (flow->mid_stream)
		return t->acked_bytes || (!seq_before(pkt->seq, t->cc.una) &&
					  !seq_after(pkt->end_seq,
						     t->cc.una + TCON_CWND_MAX_BYTES));
	return !seq_before(pkt->seq, t->guest.isn) &&
	       !seq_after(pkt->end_seq, t->guest.isn + 1 + t->guest.data_bytes + U16_MAX);
}

/*
 * Data of a flow whose handshake is not complete.  With each connection that is adopted nothing is
 * in flight, and to adopt one takes as much time for a byte as for a segment: all that waits is
 * looked at.  Returns whether it may go on.
 */
static bool check_beginning(struct tcon_flow *flow, const struct sk_buff *skb,
			    const struct tcon_packet *pkt, u64 now_us)
{
	enum tcon_reason reason = flow->reason;
	struct tcon_track *t = &flow->track;

	if (flow->mid_stream)	/* no SYN has told it */
		tcon_ca_segment(t, clamp(tcon_segment_parsed_bytes(skb, pkt), t->cc.mss_bytes,
					 TCON_MSS_ADOPTED_MAX));
	if (belongs(flow, pkt)) {
		if (reason == TCON_REASON_HANDSHAKE && tcon_flow_sends_early(flow))
			tcon_judge(flow, now_us);
		return true;
	}
	if (tcon_hold_exceeds(flow, max(pkt->payload_bytes, t->cc.mss_bytes), now_us))
		return false;
	adopt(flow, skb, pkt, now_us);
	return true;
}

/*
 * The peer has acknowledged what was not seen.  Anybody can claim that, and so would a peer
 * that wants more than its share.  It is true if the guest's next data begins behind it.
 */
static void check_unseen(struct tcon_flow *flow, const struct tcon_packet *pkt,
			 u64 now_us)
{
	u32 nxt = flow->track.nxt_guest;

	if (seq_after(pkt->seq, nxt) && !seq_before(pkt->seq, flow->said.unseen_ack))
		lost_track(flow, flow->said.unseen_ack, now_us);
	else if (seq_after(flow->said.unseen_ack, nxt))
		return;
	flow->unseen = false;
}

/* Notes a FIN of the guest, if it can be one of this connection. */
static inline void note_guest_fin(struct tcon_track *t,
				  const struct tcon_packet *pkt)
{
	if (!(pkt->flags & TCON_TCP_FIN) ||
	    !seq_after(pkt->end_seq, t->cc.una) ||
	    seq_after(pkt->end_seq, t->cc.una + TCON_CWND_MAX_BYTES))
		return;
	t->fin_guest = true;
	t->fin_seq = pkt->end_seq;
}

/*
 * The guest sends data after its connection has ended.  If that was by a RST, or if the data is
 * beyond the FIN, the peer did not take that.  It must not have won a window by it.
 */
static void check_end(struct tcon_flow *flow, const struct tcon_packet *pkt, u64 now_us)
{
	struct tcon_track *t = &flow->track;

	if (t->fin_guest && !seq_after(pkt->end_seq, t->fin_seq))
		return;
	t->fin_guest = false;
	tcon_flow_reopen(flow);
	t->anew = true;
	tcon_judge(flow, now_us);
	t->anew = false;
}

/* The guest has echoed a time stamp that it was given, which shows how long it takes to answer. */
static void note_answer(struct tcon_flow *flow, u64 now_us)
{
	tcon_answer_heard(&flow->answer, now_us);
	flow->window.answer_us = tcon_answer_wait_us(&flow->answer);
}

/* Does what the guest and its peer send pass unseen, but for SYN, FIN and RST? */
static inline bool is_unseen(const struct tcon_flow *flow)
{
	return READ_ONCE(flow->port->rests) || tcon_flow_lags(flow);
}

/* Where sequence numbers are not known, each RST and FIN is believed: no CC runs. */
static void note_unseen_end(struct tcon_flow *flow, const struct tcon_packet *pkt,
			    bool from_guest, u64 now_us)
{
	struct tcon_track *t = &flow->track;

	if (pkt->flags & TCON_TCP_FIN && from_guest)
		t->fin_guest = true;
	else if (pkt->flags & TCON_TCP_FIN)
		t->fin_peer = true;
	if (pkt->flags & TCON_TCP_RST || (t->fin_guest && t->fin_peer))
		close_flow(flow, now_us);
}

/* The third segment of a handshake passes unseen.  Where a port rests, an answer has to do. */
static void grown_unseen(struct tcon_flow *flow)
{
	const struct tcon_track *t = &flow->track;

	if (READ_ONCE(flow->port->rests) && (t->guest.acked || t->peer.acked))
		tcon_flow_grown(flow);
}

/* The guest sends where its packets pass unseen.  Returns whether they do no more. */
static bool guest_resumes(struct tcon_flow *flow, const struct tcon_packet *pkt, u64 now_us)
{
	if (flow->saved)	/* its port has come to rest since */
		tcon_move_unseen(flow, now_us);
	if (!READ_ONCE(flow->port->rests) && tcon_rest_resume(flow, pkt, now_us))
		return true;
	note_unseen_end(flow, pkt, true, now_us);
	return false;
}

/* What a guest brings from another host does not have its Ethernet address. */
static void note_mac(struct tcon_flow *flow, const struct sk_buff *skb, u64 now_us)
{
	if (!is_zero_ether_addr(flow->traits.mac))
		return;
	ether_addr_copy(flow->traits.mac, ((const struct ethhdr *)skb->data)->h_source);
	tcon_judge_rule(flow, now_us);
}

/* A segment has data.  Returns whether it may go on. */
static bool note_data(struct tcon_flow *flow, const struct sk_buff *skb,
		      const struct tcon_packet *pkt, u64 now_us)
{
	if (unlikely(flow->closed_us))
		check_end(flow, pkt, now_us);
	if (unlikely(!tcon_track_established(&flow->track)) &&
	    !check_beginning(flow, skb, pkt, now_us))
		return false;
	flow->said.data_us = now_us;
	/* But for the byte of a keep-alive (RFC 9293, 3.8.4). */
	if (unlikely(seq_before(pkt->seq + 1, flow->thin.told_ack)))
		flow->thin.unheard = true;
	if (unlikely(flow->astray))
		check_astray(flow, pkt, now_us);
	return true;
}

/* Any segment of the guest but a SYN, of a flow of which something is known. */
static bool guest_segment(struct tcon_flow *flow, struct sk_buff *skb,
			  const struct tcon_packet *pkt, u64 now_ns)
{
	struct tcon_track *t = &flow->track;
	u64 now_us = tcon_us(now_ns);

	if (pkt->flags & TCON_TCP_ACK && !t->peer.acked &&
	    tcon_track_answers_peer(t, pkt->ack)) {
		t->peer.acked = true;
		flow->said.edge = pkt->ack;
	}
	note_handshake(flow, now_us);
	if (pkt->payload_bytes && !note_data(flow, skb, pkt, now_us))
		return drop(skb);
	if (unlikely(flow->unseen))
		check_unseen(flow, pkt, now_us);
	note_guest_fin(t, pkt);
	if (!tcon_packet_is_pure_ack(pkt))
		return guest_ends(flow, skb, pkt, now_ns);
	note_end(flow, pkt, true, now_us);
	tcon_header_passed(flow, skb, pkt);
	tcon_tell_passed(flow, pkt, now_us);
	return true;
}

static bool from_guest(struct tcon_flow *flow, struct sk_buff *skb,
		       struct tcon_packet *pkt, u64 now_ns)
{
	struct tcon_track *t = &flow->track;
	u64 now_us = tcon_us(now_ns);

	WRITE_ONCE(flow->seen_us, now_us);	/* least_used() looks without the lock */
	tcon_judge_refresh(flow, now_us);
	if (unlikely(is_unseen(flow)) && !(pkt->flags & TCON_TCP_SYN) &&
	    !guest_resumes(flow, pkt, now_us))
		return true;
	if (unlikely(flow->saved)) {
		note_mac(flow, skb, now_us);
		tcon_move_settle(flow, pkt, now_us);
		if (flow->saved)
			return true;
	}
	if (pkt->has_ts && tcon_answer_is_one(&flow->answer, pkt->tsecr))
		note_answer(flow, now_us);
	if (unlikely(pkt->flags & TCON_TCP_SYN && pkt->payload_bytes) &&
	    tcon_hold_exceeds(flow, pkt->payload_bytes, now_us))
		return drop(skb);
	if (!pkt->fragment && unlikely(tcon_mark_concerns(flow, pkt))) {
		tcon_mark_from_guest(flow, skb, pkt);
		tcon_rest_attend(flow);
	}
	if (pkt->flags & TCON_TCP_SYN) {
		guest_syn(flow, pkt, now_us);
		grown_unseen(flow);
		return true;
	}
	if (!t->synced && pkt->payload_bytes)
		adopt(flow, skb, pkt, now_us);
	if (!t->synced)
		return true;
	return guest_segment(flow, skb, pkt, now_ns);
}

/* More repairs were needless than not: TCon cannot repair on this path. */
static bool reorders_too_much(const struct tcon_track *t)
{
	return t->spurious_repairs > SPURIOUS_MANY &&
	       t->spurious_repairs > t->repairs / 2;
}

/* Tells the CC and repair what an ACK did. */
static void ack_enforced(struct tcon_flow *flow, const struct tcon_ack *ack,
			 u64 now_us)
{
	struct tcon_stats __percpu *stats = tcon_flow_stats(flow);
	u32 i;

	if (ack->spurious)
		tcon_count(stats, TCON_COUNTER_SPURIOUS_UNDO);
	for (i = 0; i < ack->spurious_repairs; i++)
		tcon_count(stats, TCON_COUNTER_REPAIR_SPURIOUS);
	if (unlikely(flow->ecn.agreed) && ack->rs.acked_sacked_bytes)
		tcon_mark_arrived(flow, ack->original);
	trace_tcon_loss(flow, ack->rs.losses_bytes);
	tcon_ca_ack(&flow->track, ack);
	if (trace_tcon_mark_enabled() && ack->rs.is_ece)
		trace_tcon_mark(flow, flow->track.cc.delivered_ce_bytes);
	tcon_judge_cc(flow, now_us);
	if (!tcon_flow_runs_cc(flow))
		return;
	if (!tcon_flow_enforced(flow)) {
		tcon_flow_kick(flow);
		return;
	}
	if (ack->spurious_repairs && reorders_too_much(&flow->track)) {
		flow->reordering = true;
		tcon_judge_give_up(flow, TCON_REASON_REORDERING);
	} else if (!tcon_flow_repaired(flow)) {
		tcon_judge_level(flow);
	}
	/* A duplicate ACK of a peer without SACK makes room, too. */
	if (ack->delivered_any || ack->una_advanced || ack->spurious ||
	    flow->track.cc.inflight_bytes < ack->rs.prior_inflight_bytes)
		tcon_flow_kick(flow);
	if (tcon_flow_repaired(flow) && flow->track.cc.una != flow->track.cc.nxt)
		tcon_hold_appoint(flow, 0);
}

/*
 * The peer acknowledges data that TCon still holds.  Either that data came to it by another way,
 * or it acknowledges what it did not get.  In both cases it acknowledges all that has left.
 */
static void ack_of_held(struct tcon_flow *flow, const struct tcon_packet *pkt, u64 now_us)
{
	struct tcon_ack ack tcon_uninitialized;
	struct tcon_packet left = *pkt;

	left.ack = flow->track.cc.nxt;
	tcon_acked(&flow->track, &left, now_us, &ack);
	if (ack.valid && tcon_flow_runs_cc(flow))
		ack_enforced(flow, &ack, now_us);
}

/* Takes an ACK in.  Returns whether it was valid. */
static bool ack_to_guest(struct tcon_flow *flow, const struct tcon_packet *pkt,
			 u64 now_us)
{
	struct tcon_stats __percpu *stats = tcon_flow_stats(flow);
	struct tcon_ack ack tcon_uninitialized;

	if (tcon_flow_enforced(flow)) {
		note_app_limit(flow, flow->track.nxt_guest, true, now_us);
		tcon_limit_ack(&flow->limits, limited_by(flow, now_us), &flow->window, now_us);
	} else if (tcon_flow_runs_cc(flow)) {
		note_idle_room(flow);
	}
	tcon_acked(&flow->track, pkt, now_us, &ack);
	if (!ack.valid) {
		tcon_count(stats, TCON_COUNTER_BAD_ACK);
		if (!seq_after(pkt->ack, flow->track.nxt_guest)) {
			if (seq_after(pkt->ack, flow->track.cc.nxt))
				ack_of_held(flow, pkt, now_us);
			return false;
		}
		if (now_us < flow->rest.believe_us) {
			tcon_handshake_resync(&flow->track, pkt->ack, now_us);
			return false;
		}
		flow->unseen = true;
		flow->said.unseen_ack = pkt->ack;
		if (tcon_flow_enforced(flow) &&
		    is_overdue(flow, flow->said.data_us, now_us))
			go_astray(flow, TCON_ASTRAY_DATA, now_us);
		return false;
	}
	if (unlikely(flow->astray) && ack.una_advanced)
		go_astray(flow, TCON_ASTRAY_NONE, now_us);
	tcon_count(stats, TCON_COUNTER_ACK_IN);
	if (ack.sack_overflow)
		tcon_count(stats, TCON_COUNTER_SACK_OVERFLOW);
	note_handshake(flow, now_us);
	if (tcon_flow_runs_cc(flow))
		ack_enforced(flow, &ack, now_us);
	else
		tcon_acked_observed(&flow->track, flow->window.peer_bytes, now_us);
	return true;
}

/*
 * Shows an ACK to the guest: as it is, edited, or not at all (false).  One that
 * has to be sent before goes to @extra.
 */
static bool show_ack(struct tcon_flow *flow, struct sk_buff *skb,
		     const struct tcon_packet *pkt, bool heard, u64 now_us,
		     struct sk_buff **extra)
{
	struct tcon_track *t = &flow->track;
	bool syn = pkt->flags & TCON_TCP_SYN, valid, pass = true;

	valid = heard && ack_to_guest(flow, pkt, now_us);
	/* Only a valid ACK counts: anybody could send another. */
	if (valid && seq_after(pkt->end_seq, t->peer_nxt))
		t->peer_nxt = pkt->end_seq;
	if (!syn && tcon_flow_enforced(flow)) {
		if (!valid) {
			if (!seq_after(pkt->ack, t->nxt_guest))
				tcon_ack_late(flow, skb, pkt, heard, now_us);
			return true;
		}
		tcon_ack_remember(flow, skb, pkt);
		pass = tcon_ack_enforce(flow, skb, pkt, now_us);
		if (!pass)	/* but the window may have grown */
			*extra = tcon_ack_update(flow, now_us);
		else if (unlikely(tcon_flow_owes_needless(flow)) && tcon_flow_repaired(flow))
			*extra = tcon_ack_needless(flow, pkt);
	} else if (valid && !tcon_flow_enforced(flow) &&
		   (syn || tcon_track_established(t))) {
		tcon_window_observe(&flow->window, pkt->ack, pkt->window,
				    syn ? 0 : tcon_track_peer_wscale(t),
				    now_us);
		flow->thin.told_ack = pkt->ack;
	}
	return pass;
}

/* The peer sends where packets pass unseen. */
static void peer_unseen(struct tcon_flow *flow, struct sk_buff *skb,
			struct tcon_packet *pkt, u64 now_us)
{
	if (flow->saved)
		tcon_move_unseen(flow, now_us);
	tcon_rest_heard(flow, pkt);
	if (tcon_ecn_is_marked(pkt) && !flow->ecn.answered) {
		tcon_mark_to_guest(flow, skb, pkt, true);
		tcon_rest_attend(flow);
	}
	note_unseen_end(flow, pkt, false, now_us);
}

/* Returns whether the packet may pass; @extra goes before it. */
static bool to_guest(struct tcon_flow *flow, struct sk_buff *skb,
		     struct tcon_packet *pkt, u64 now_us,
		     struct sk_buff **extra)
{
	struct tcon_track *t = &flow->track;
	bool syn = pkt->flags & TCON_TCP_SYN, pass = true, heard;

	WRITE_ONCE(flow->seen_us, now_us);	/* least_used() looks without the lock */
	if (unlikely(!t->synced) && !syn && !t->guest.syn_seen && !t->peer.syn_seen &&
	    !flow->saved)
		note_mid_stream(flow, now_us);	/* see may_create() */
	tcon_judge_mark(flow, skb->mark, now_us);
	tcon_judge_refresh(flow, now_us);
	if (unlikely(flow->syn) && tcon_mark_retries(flow, pkt))
		return false;
	if (unlikely(is_unseen(flow)) && !syn) {
		peer_unseen(flow, skb, pkt, now_us);
		return true;
	}
	if (unlikely(flow->saved) && !syn)
		tcon_saved_heard(flow->saved, pkt);
	heard = is_heard(flow, pkt);
	if (likely(heard))
		flow->heard_us = now_us;
	else
		tcon_count(tcon_flow_stats(flow), TCON_COUNTER_OUT_OF_WINDOW);
	if (unlikely(tcon_mark_concerns(flow, pkt))) {
		tcon_mark_to_guest(flow, skb, pkt, heard);
		tcon_rest_attend(flow);
	}
	tcon_mark_forget_ece(flow, pkt);
	if (syn)
		peer_syn(flow, pkt, now_us);
	if (pkt->flags & TCON_TCP_FIN && heard)
		t->fin_peer = true;
	if (t->synced && pkt->flags & TCON_TCP_ACK &&
	    !(pkt->flags & TCON_TCP_RST))
		pass = show_ack(flow, skb, pkt, heard, now_us, extra);
	if (syn)
		grown_unseen(flow);
	if (pass && heard && pkt->has_ts)
		tcon_answer_given(&flow->answer, pkt->tsval, now_us);
	note_end(flow, pkt, false, now_us);
	return pass;
}

/*
 * May a packet make a half-flow?  A SYN, or data from the guest.  Nothing that comes from outside
 * makes one but a SYN, and data with an ECN mark: its receiver may be a guest for which a TCon has
 * agreed to ECN, and of which nobody here knows.
 */
static bool may_create(const struct tcon_packet *pkt, bool from_guest)
{
	if (pkt->flags & TCON_TCP_RST)
		return from_guest && pkt->payload_bytes;
	if (pkt->flags & TCON_TCP_SYN)
		return from_guest || !(pkt->flags & TCON_TCP_ACK);
	return from_guest ? pkt->payload_bytes : tcon_ecn_is_marked(pkt);
}

/* Is a packet to the guest one that it will take in? */
static inline bool is_sound(const struct tcon_port *port, const struct sk_buff *skb,
			    const struct tcon_packet *pkt)
{
	if (likely(tcon_segment_sound(skb, pkt)))
		return true;
	tcon_count(port->tnet->stats, TCON_COUNTER_BAD_CHECKSUM);
	return false;
}

/* What the packet says of them. */
static struct tcon_traits traits_of(const struct sk_buff *skb, bool from_guest)
{
	const struct ethhdr *eth = (const struct ethhdr *)skb->data;
	struct tcon_traits traits = { .mark = from_guest ? 0 : skb->mark };

	ether_addr_copy(traits.mac, from_guest ? eth->h_source : eth->h_dest);
	return traits;
}

/* The packet's flow, which it may make; NULL: it has none, or is not to be believed. */
static inline struct tcon_flow *find_or_create(struct tcon_port *port,
					       const struct tcon_key *key,
					       const struct sk_buff *skb,
					       const struct tcon_packet *pkt,
					       bool from_guest)
{
	struct tcon_flow *flow = tcon_flow_find(key);
	struct tcon_traits traits;

	if (unlikely(!flow) && !may_create(pkt, from_guest))
		return NULL;
	/* A sum takes time, which is spent only where a flow depends on it. */
	if (!from_guest && !is_sound(port, skb, pkt))
		return NULL;
	if (likely(flow))
		return flow;
	traits = traits_of(skb, from_guest);
	return tcon_flow_create(port, key, &traits);
}

/* A packet of @flow comes from its guest.  Returns whether it goes on. */
static inline bool ingress(struct tcon_flow *flow, struct sk_buff *skb, struct tcon_packet *pkt)
{
	struct sk_buff *update = NULL;
	bool pass = true;
	u64 now_ns;

	spin_lock(&flow->lock);
	if (likely(!flow->dead)) {
		now_ns = tcon_now_ns();
		pass = from_guest(flow, skb, pkt, now_ns);
		/* A guest that paces may reach its edge while nothing waits here. */
		if (pass && flow->track.cc.pacing_rate_bps)
			update = tcon_ack_update(flow, tcon_us(now_ns));
	}
	spin_unlock(&flow->lock);
	if (update)
		tcon_ack_send(flow, update);
	return pass;
}

static bool drop_unread(struct tcon_port *port, struct sk_buff *skb)
{
	tcon_count(port->tnet->stats, TCON_COUNTER_UNREAD_DROPPED);
	return drop(skb);
}

/*
 * Nobody can tell of which half-flow it is: a fragment whose first one has not come, or has not
 * all of the header, more extension headers than anybody has to bear (RFC 8504, 5.3), or IPv6
 * without a length.  (Linux takes that for as long as its frame if hop-by-hop options follow, a
 * jumbo payload or not.)  If rules bind what it may be of, it is dropped, or the guest could send
 * all its data so.  While a port rests none can, and first fragments are not noted.
 */
static bool unread(struct tcon_port *port, struct sk_buff *skb, const struct tcon_packet *pkt)
{
	const struct tcon_traits traits = traits_of(skb, true);
	struct tcon_key key;

	if (READ_ONCE(port->rests))
		return true;
	tcon_key_set_addresses(&key, skb->data, pkt, true);
	set_vlans(&key, skb, pkt);
	return !tcon_policy_binds(port, &key, &traits) || drop_unread(port, skb);
}

/* A fragment but the first one. */
static bool ingress_later(struct tcon_port *port, struct sk_buff *skb, struct tcon_packet *pkt)
{
	struct tcon_flow *flow;
	struct tcon_key key;

	tcon_key_set_addresses(&key, skb->data, pkt, true);
	key.port_id = port->id;
	set_vlans(&key, skb, pkt);
	switch (tcon_fragment_find(port, &key, pkt, tcon_us(tcon_now_ns()))) {
	case TCON_FRAGMENT_OF_OTHER:
		tcon_count(port->tnet->stats, TCON_COUNTER_NOT_TCP);
		return true;
	case TCON_FRAGMENT_OF_UNKNOWN:
		tcon_count(port->tnet->stats, TCON_COUNTER_FRAGMENT);
		return unread(port, skb, pkt);
	case TCON_FRAGMENT_OF_FLOW:
		break;
	}
	flow = tcon_flow_find(&key);
	return flow ? ingress(flow, skb, pkt) : true;
}

/* It is no whole segment, nor a first fragment of one.  Returns whether it goes on. */
static bool ingress_other(struct tcon_port *port, struct sk_buff *skb,
			  struct tcon_packet *pkt, enum tcon_parse parsed)
{
	if (parsed == TCON_PARSE_TAGS)	/* it may be of any half-flow */
		return !tcon_policy_binds_any(port) || drop_unread(port, skb);
	if (parsed == TCON_PARSE_LATER)
		return ingress_later(port, skb, pkt);
	switch (pkt->skip) {
	case TCON_COUNTER_FRAGMENT:
	case TCON_COUNTER_EXT_HEADER:
	case TCON_COUNTER_JUMBOGRAM:
		return unread(port, skb, pkt);
	default:
		return true;
	}
}

/* Is it surely of no interest, because its port rests? */
static inline bool passes_unseen(const struct tcon_port *port, const struct sk_buff *skb)
{
	return READ_ONCE(port->rests) && tcon_is_plain(skb->data, skb_headlen(skb));
}

/* Not inline: a packet that passes unseen needs no stack. */
static noinline bool ingress_seen(struct tcon_port *port, struct sk_buff *skb)
{
	struct tcon_packet pkt tcon_uninitialized;
	struct tcon_key key tcon_uninitialized;
	struct tcon_flow *flow;
	enum tcon_parse parsed;

	parsed = parse(port, skb, &pkt);
	if (unlikely(parsed != TCON_PARSE_OK))
		return ingress_other(port, skb, &pkt, parsed);
	if (READ_ONCE(port->rests) && !tcon_packet_is_end(&pkt))
		return true;
	make_key(&key, port, skb, &pkt, true);
	if (unlikely(pkt.fragment) &&
	    !tcon_fragment_note(port, &key, &pkt, tcon_us(tcon_now_ns())))
		return unread(port, skb, &pkt);
	flow = find_or_create(port, &key, skb, &pkt, true);
	return flow ? ingress(flow, skb, &pkt) : true;
}

/**
 * tcon_path_ingress() - a packet comes from a guest
 * @hook: its port
 * @skb: the packet, data at the link-layer header, not shared
 *
 * Context: RCU read lock held, bottom halves disabled.
 * Return: true if it goes on, false if it was taken.
 */
bool tcon_path_ingress(struct ovs_tcon_port *hook, struct sk_buff *skb)
{
	struct tcon_port *port = container_of(hook, struct tcon_port, hook);

	return passes_unseen(port, skb) || READ_ONCE(closing) || ingress_seen(port, skb);
}

static noinline bool egress_seen(struct tcon_port *port, struct sk_buff *skb)
{
	struct tcon_packet pkt tcon_uninitialized;
	struct tcon_key key tcon_uninitialized;
	struct sk_buff *extra = NULL;
	struct tcon_flow *flow;
	bool pass = true;

	if (parse(port, skb, &pkt) != TCON_PARSE_OK)
		return true;
	if (READ_ONCE(port->rests) && !tcon_packet_is_end(&pkt) && !tcon_ecn_is_marked(&pkt))
		return true;
	if (unlikely(pkt.fragment)) {	/* what it acknowledges cannot be read */
		tcon_count(port->tnet->stats, TCON_COUNTER_FRAGMENT);
		return true;
	}
	make_key(&key, port, skb, &pkt, false);
	flow = find_or_create(port, &key, skb, &pkt, false);
	if (!flow)
		return true;
	spin_lock(&flow->lock);
	if (likely(!flow->dead))
		pass = to_guest(flow, skb, &pkt, tcon_us(tcon_now_ns()), &extra);
	spin_unlock(&flow->lock);
	if (extra)
		tcon_ack_send(flow, extra);
	if (!pass)
		consume_skb(skb);
	return pass;
}

/**
 * tcon_path_egress() - a packet goes to a guest
 * @hook: its port
 * @skb: the packet, data at the link-layer header, not shared; it may be cloned
 *
 * Context: RCU read lock held, bottom halves disabled.
 * Return: true if it goes on, false if it was taken.
 */
bool tcon_path_egress(struct ovs_tcon_port *hook, struct sk_buff *skb)
{
	struct tcon_port *port = container_of(hook, struct tcon_port, hook);

	return passes_unseen(port, skb) || READ_ONCE(closing) || egress_seen(port, skb);
}

/**
 * tcon_path_port_del() - a port goes, and its half-flows and what they hold with it
 * @hook: the port; gone after a grace period, in which hooks may still run
 *
 * Context: process context, may sleep; whatever lets ports come and go is held.
 */
void tcon_path_port_del(struct ovs_tcon_port *hook)
{
	struct tcon_port *port = container_of(hook, struct tcon_port, hook);

	tcon_port_close(port);
	tcon_flow_purge_port(port);
	tcon_port_free(port);
}

/**
 * tcon_path_close() - let packets pass unseen from now on
 *
 * Context: process context.  When it returns no hook works on a flow.
 */
void tcon_path_close(void)
{
	WRITE_ONCE(closing, true);
	synchronize_net();
}
