// SPDX-License-Identifier: GPL-2.0-only
/*
 * Half-flows of ports that have rested.
 *
 * While no rule can match any flow of a port, its guest's data and the ACKs for it may pass unseen.
 * TCon sees how connections begin (SYN), because only the SYNs tell scales, MSS and options, and
 * how they end (FIN, RST).
 *
 *	rests --- a rule can match, or a flow needs ECN kept ---> wakes
 *	  ^							    |
 *	  +--- neither, for a second; nothing is held; all told ----+
 *
 * A flow that began before its port woke lags.  It resumes when both its peer and its guest have
 * sent since: the peer's ACK and the guest's sequence number show what is in flight.
 */
#include "base/contract.h"
#include "base/seq.h"
#include "sender/handshake.h"
#include "sender/sent.h"
#include "state/judge.h"
#include "state/rest.h"

/* Segments with data that may pass without telling where their flow is. */
#define UNHEARD_MAX	TCON_INIT_CWND_SEGS

/* Has TCon promised something about ECN that only packets with data can keep? */
static bool needs_attention(const struct tcon_ecn *e)
{
	return e->asked || e->exact || e->adopted || e->watched;
}

/**
 * tcon_rest_attend() - take note whether a flow needs its packets to be seen
 * @flow: its lock is held; its ECN may have changed
 */
void tcon_rest_attend(struct tcon_flow *flow)
{
	bool needs = !flow->dead && needs_attention(&flow->ecn);
	struct tcon_port *port = flow->port;

	lockdep_assert_held(&flow->lock);
	if (likely(flow->rest.attended == needs))
		return;
	flow->rest.attended = needs;
	if (!needs) {
		atomic_dec(&port->attended);
		return;
	}
	atomic_inc(&port->attended);
	tcon_port_wake(port);
	flow->wakes = READ_ONCE(port->wakes);	/* it has just begun */
}

/**
 * tcon_rest_heard() - the peer sends to a flow that lags
 * @flow: its lock is held
 * @pkt: the segment, no SYN
 */
void tcon_rest_heard(struct tcon_flow *flow, const struct tcon_packet *pkt)
{
	lockdep_assert_held(&flow->lock);
	if (!(pkt->flags & TCON_TCP_ACK) || pkt->flags & TCON_TCP_RST)
		return;
	flow->rest.heard = true;
	flow->rest.end_seq = pkt->end_seq;
	flow->rest.ack = pkt->ack;
	flow->rest.edge = pkt->ack +
			  ((u32)pkt->window << tcon_track_peer_wscale(&flow->track));
}

/*
 * Was it the peer that was heard?  Anybody who knows addresses and ports can send a segment, but it
 * hardly lies within a window before or behind the guest's present acknowledgment number.
 */
static bool was_peer(const struct tcon_flow *flow, const struct tcon_packet *pkt)
{
	u32 bytes = (u32)pkt->window << tcon_track_guest_wscale(&flow->track);

	if (tcon_flow_is_middle(flow))	/* the window's scale is not known */
		bytes = TCON_CWND_MAX_BYTES;
	bytes = max_t(u32, bytes, U16_MAX);
	return seq_between(flow->rest.end_seq, pkt->ack - bytes, pkt->ack + bytes);
}

/* Up to where is the peer known to have the guest's data, if the guest now sends @seq? */
static u32 una_of(const struct tcon_flow *flow, u32 seq)
{
	u32 flight = seq - flow->rest.ack;

	/* Before it lie keep-alives and repeats. */
	if (!flow->rest.heard || (flight > TCON_CWND_MAX_BYTES && -flight > TCON_CWND_MAX_BYTES))
		return seq;
	return flow->rest.ack;
}

/* Assumes that the data in flight left a round trip ago. */
static void resume_track(struct tcon_track *t, u32 una, u32 nxt, u64 now_us)
{
	t->nxt_guest = una;
	tcon_handshake_resync(t, una, now_us);
	if (nxt != una)
		tcon_sent_elsewhere(t, nxt, now_us - min_t(u64, t->cc.srtt_us, now_us));
	t->nxt_guest = nxt;
	t->round_end = nxt;
	t->fin_guest = false;
}

static void resume_ends(struct tcon_flow *flow, const struct tcon_packet *pkt, u64 now_us)
{
	struct tcon_track *t = &flow->track;

	t->peer_nxt = pkt->ack;
	flow->said.ack = pkt->ack;
	flow->said.edge = pkt->ack + ((u32)pkt->window << tcon_track_guest_wscale(t));
	flow->gap.start = t->nxt_guest;
	flow->gap.end = t->nxt_guest;
	flow->said.data_us = now_us;
	flow->told.us = 0;
	flow->buffer.left_tsval = pkt->has_ts ? pkt->tsval : 0;
	flow->heard_us = now_us;
	flow->thin.told_ack = t->cc.una;
	memset(&flow->window, 0, sizeof(flow->window));
	flow->window.answer_us = tcon_answer_wait_us(&flow->answer);
	if (flow->rest.heard)
		tcon_window_restore(&flow->window, t->cc.una,
				    seq_max(flow->rest.edge, t->nxt_guest),
				    seq_max(flow->rest.edge, t->cc.una), now_us);
}

/**
 * tcon_rest_tells() - does a guest's segment tell where its connection is?
 * @pkt: the segment, no SYN
 *
 * A segment without ACK is not of a connection (RFC 9293, 3.10.7.4), or is a later fragment.  A RST
 * may be for another connection.
 *
 * Return: whether it does.
 */
bool tcon_rest_tells(const struct tcon_packet *pkt)
{
	return (pkt->flags & (TCON_TCP_ACK | TCON_TCP_RST)) == TCON_TCP_ACK;
}

/**
 * tcon_rest_is_patient() - may one more segment pass that does not tell where its flow is?
 * @flow: its lock is held
 *
 * Return: whether it may; after %UNHEARD_MAX of them none does.
 */
bool tcon_rest_is_patient(struct tcon_flow *flow)
{
	lockdep_assert_held(&flow->lock);
	return flow->rest.unheard++ < UNHEARD_MAX;
}

/**
 * tcon_rest_resume() - the guest of a flow that lags sends
 * @flow: its lock is held
 * @pkt: the segment, no SYN
 * @now_us: the time
 *
 * The first segment that is seen may be a repeat.  Then more is in flight than TCon knows, so for
 * an RTO the peer is believed if it acknowledges more.  A guest whose peer takes segments that tell
 * nothing (tcon_rest_tells()) could send all its data in these, so only a few of them pass.
 *
 * Context: RCU read lock held.
 * Return: true: the flow is like others from now on; false: the segment passes unseen.
 */
bool tcon_rest_resume(struct tcon_flow *flow, const struct tcon_packet *pkt,
		      u64 now_us)
{
	struct tcon_track *t = &flow->track;
	u32 una;

	lockdep_assert_held(&flow->lock);
	if (tcon_rest_tells(pkt) && !was_peer(flow, pkt))
		flow->rest.heard = false;
	if (!(flow->rest.heard && tcon_rest_tells(pkt)) &&
	    (!pkt->payload_bytes || tcon_rest_is_patient(flow)))
		return false;
	flow->wakes = READ_ONCE(flow->port->wakes);
	if (t->synced && (tcon_flow_is_middle(flow) || t->guest.acked || t->peer.acked) &&
	    tcon_rest_tells(pkt)) {
		una = una_of(flow, pkt->seq);
		resume_track(t, una, seq_max(una, pkt->seq), now_us);
		resume_ends(flow, pkt, now_us);
		t->guest.acked = !tcon_flow_is_middle(flow);
		t->peer.acked = !tcon_flow_is_middle(flow);
		flow->rest.believe_us = now_us + tcon_track_rto_us(t);
		tcon_flow_grown(flow);
	}
	tcon_judge(flow, now_us);
	flow->rest.heard = false;
	flow->rest.unheard = 0;
	return true;
}
