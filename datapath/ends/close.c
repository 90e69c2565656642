// SPDX-License-Identifier: GPL-2.0-only
/*
 * How connections end, and packets after the end.
 */
#include "base/seq.h"
#include "ends/close.h"
#include "state/judge.h"

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

	if (tcon_flow_is_middle(flow) || !tcon_track_established(t))
		return true;
	return from_guest ? !seq_before(pkt->seq, t->cc.una) &&
			    !seq_after(pkt->seq, t->nxt_guest) :
			    !seq_before(pkt->seq, flow->said.ack) &&
			    !seq_after(pkt->seq, t->peer_nxt);
}

/**
 * tcon_close_judge() - is a packet the connection's last?
 * @flow: its lock is held
 * @pkt: the packet, a RST or after both FINs
 * @from_guest: where it comes from
 * @now_us: the time
 */
void tcon_close_judge(struct tcon_flow *flow, const struct tcon_packet *pkt, bool from_guest,
		      u64 now_us)
{
	const struct tcon_track *t = &flow->track;

	if ((pkt->flags & TCON_TCP_RST && is_reset(flow, pkt, from_guest)) ||
	    (t->fin_guest && t->fin_peer && t->synced && !seq_before(t->cc.una, t->fin_seq)))
		close_flow(flow, now_us);
}

/**
 * tcon_close_guest_fin() - note a FIN of the guest, if it can be one of this connection
 * @t: the tracker
 * @pkt: a segment of the guest with FIN
 */
void tcon_close_guest_fin(struct tcon_track *t, const struct tcon_packet *pkt)
{
	if (!seq_after(pkt->end_seq, t->cc.una) ||
	    seq_after(pkt->end_seq, t->cc.una + TCON_CWND_MAX_BYTES))
		return;
	t->fin_guest = true;
	t->fin_seq = pkt->end_seq;
}

/**
 * tcon_close_data_after() - the guest sends data after its connection has ended
 * @flow: its lock is held
 * @pkt: the segment
 * @now_us: the time
 *
 * If a RST ended it, or if the data is beyond the FIN, the peer did not take the RST or FIN.  The
 * guest must not gain a window by it.
 */
void tcon_close_data_after(struct tcon_flow *flow, const struct tcon_packet *pkt, u64 now_us)
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

/**
 * tcon_close_unseen() - is a packet the last of a connection whose packets pass unseen?
 * @flow: its lock is held
 * @pkt: the packet
 * @from_guest: where it comes from
 * @now_us: the time
 *
 * Where sequence numbers are not known, each RST and FIN is believed: no CC runs.
 */
void tcon_close_unseen(struct tcon_flow *flow, const struct tcon_packet *pkt, bool from_guest,
		       u64 now_us)
{
	struct tcon_track *t = &flow->track;

	if (pkt->flags & TCON_TCP_FIN && from_guest)
		t->fin_guest = true;
	else if (pkt->flags & TCON_TCP_FIN)
		t->fin_peer = true;
	if (pkt->flags & TCON_TCP_RST || (t->fin_guest && t->fin_peer))
		close_flow(flow, now_us);
}
