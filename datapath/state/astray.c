// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets of a connection that take another way, past TCon: the guest's data, or the peer's ACKs.
 */
#include "base/seq.h"
#include "sender/handshake.h"
#include "state/astray.h"
#include "state/judge.h"

/* Has the silence lasted long enough to show that packets take another way? */
static bool is_overdue(const struct tcon_flow *flow, u64 since_us, u64 now_us)
{
	return now_us - since_us > tcon_track_rto_us(&flow->track);
}

static void learn(struct tcon_flow *flow, enum tcon_known_event event, u64 now_us)
{
	enum tcon_known before = flow->known;

	flow->known = tcon_known_after(before, event);
	if (flow->known != before)
		tcon_judge(flow, now_us);
}

/**
 * tcon_astray_beyond() - may the guest have heard ACKs that did not come here?
 * @flow: its lock is held, enforced, with tcon_astray_is_beyond()
 * @now_us: the time
 *
 * The guest uses a larger window than TCon gave it, or repeats data that it was not told to be
 * missing, or its peer was not heard since its port woke, and no answers pass here.  So the ACKs
 * take another way; or the guest ignores its window, and the peer is silent.  The flow keeps its
 * rate.  While answers pass here, it is held to cwnd.
 */
void tcon_astray_beyond(struct tcon_flow *flow, u64 now_us)
{
	lockdep_assert_held(&flow->lock);
	if (is_overdue(flow, flow->heard_us, now_us))
		learn(flow, TCON_KNOWN_BEYOND, now_us);
}

/**
 * tcon_astray_data() - the guest of a flow that is astray sends data
 * @flow: its lock is held
 * @pkt: the segment
 * @now_us: the time
 *
 * If the data took another way, it is back now.  If the ACKs do, TCon's state must not fall too far
 * behind: a very old edge would seem to be ahead.
 */
void tcon_astray_data(struct tcon_flow *flow, const struct tcon_packet *pkt, u64 now_us)
{
	struct tcon_track *t = &flow->track;

	learn(flow, TCON_KNOWN_DATA, now_us);
	if (flow->known == TCON_KNOWN_NOT_ACKS &&
	    seq_after(pkt->end_seq, t->cc.una + TCON_CWND_MAX_BYTES / 2)) {
		tcon_handshake_resync(t, pkt->seq, now_us);
		flow->window.valid = false;
	}
}

/**
 * tcon_astray_unseen() - the peer acknowledges unseen data
 * @flow: its lock is held
 * @now_us: the time
 */
void tcon_astray_unseen(struct tcon_flow *flow, u64 now_us)
{
	if (tcon_flow_enforced(flow) && is_overdue(flow, flow->said.data_us, now_us))
		learn(flow, TCON_KNOWN_UNSENT, now_us);
}

/**
 * tcon_astray_advanced() - una advances by an ACK that came here
 * @flow: its lock is held; not all of its packets came by
 * @now_us: the time
 */
void tcon_astray_advanced(struct tcon_flow *flow, u64 now_us)
{
	learn(flow, TCON_KNOWN_ADVANCED, now_us);
}
