/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tracker: the rebuilt state of a half-flow's sender.
 */
#ifndef _TCON_TRACK_H
#define _TCON_TRACK_H

#include <linux/types.h>
#include <tcon/cc.h>

#include "base/seq.h"
#include "sender/prr.h"
#include "sender/ranges.h"
#include "sender/resent.h"
#include "sender/rounds.h"
#include "sender/sendq.h"
#include "wire/packet.h"

/* Lower bound of a guest's RTO, as in Linux (RFC 6298 has 1 s). */
#define TCON_RTO_MIN_US		200000U
#define TCON_RTO_INIT_US	1000000U	/* RFC 6298, 2.1 */
#define TCON_RTO_MAX_US		120000000U
/* Time stamps can be compared if they are less than 2^31 ticks apart (RFC 7323, 5.2).  With a
 * tick of 1 us that is 36 min.
 */
#define TCON_TSVAL_AGE_US	1800000000ULL
#define TCON_MIN_RTT_BUCKET_US	150000000ULL
#define TCON_MSS_DEFAULT	536U		/* RFC 9293, 3.7.1 */
#define TCON_MSS_ADOPTED_MAX	1460U		/* Ethernet's, without the SYNs */
#define TCON_MSS_MIN		88U		/* Linux's TCP_MIN_SND_MSS, rounded */

/**
 * struct tcon_side - what one end said in its SYN
 * @isn: initial sequence number
 * @data_bytes: most payload on a SYN with this ISN (TCP Fast Open, RFC 7413)
 * @mss: MSS option, 0 if absent
 * @wscale: window scale, %TCON_WSCALE_NONE if absent
 * @syn_seen: its SYN was seen; the other fields are valid
 * @acked: the other end has acknowledged the SYN
 * @sack_permitted: it sent the SACK-permitted option
 * @ambiguous: SYNs with this ISN disagreed about @wscale
 * @signed_options: it sent TCP-MD5 or TCP-AO
 * @mptcp: it sent an MPTCP option
 * @has_ts: it sent time stamps
 * @ect: it was ECN-capable, which SYNs are not (RFC 3168, 6.1.1) unless a CC needs ECN
 */
struct tcon_side {
	u32 isn;
	u32 data_bytes;
	u16 mss;
	u8 wscale;
	bool syn_seen:1;
	bool acked:1;
	bool sack_permitted:1;
	bool ambiguous:1;
	bool signed_options:1;
	bool mptcp:1;
	bool has_ts:1;
	bool ect:1;
};

/**
 * struct tcon_rack - state of RACK (RFC 8985, 5.3)
 * @tx_us: when the latest transmission that is known to be delivered left
 * @deadline_us: when to judge again; 0: with the next ACK
 * @order: order of that transmission
 * @end: end of that segment
 * @rtt_us: its RTT
 * @fack: end of the highest range delivered before the present ACK
 * @fack_next: as @fack, with the present ACK
 * @dsack_round: when una reaches this, another DSACK may widen the reordering window
 * @in_dsack_round: @dsack_round is valid
 * @valid: the fields about that transmission are valid
 * @reordered: reordering was seen
 * @reo_more: reordering window beyond a quarter of the minimum RTT, in such quarters
 * @reo_persist: number of recoveries after which @reo_more becomes 0
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
	bool in_dsack_round:1;
	bool valid:1;
	bool reordered:1;
	u8 reo_more;
	u8 reo_persist;
};

/**
 * struct tcon_timer - state of the timers
 * @sampled_us: when a round trip was last measured
 * @probe_bytes: how much the probe repeated; 0: no probe is in flight
 * @rto_min_us: least time-out beyond the smoothed RTT
 * @backoff: how often the RTO is doubled, until a round trip is measured
 * @tries: number of time-outs in a row without progress
 * @advances: how often una has advanced since the last time-out, at most as often as counts
 * @late: round trips seem to have become longer than the time-out; until one is measured
 * @probe_end: nxt when the tail was probed
 * @restart_us: when the last probe or time-out restarted them
 */
struct tcon_timer {
	u64 sampled_us;
	u32 probe_bytes;
	u32 rto_min_us;
	u8 backoff;
	u8 tries;
	u8 advances;
	bool late;
	u32 probe_end;
	u64 restart_us;
};

/**
 * struct tcon_track - a half-flow's sender, rebuilt from packets
 * @synced: una and nxt are valid
 * @unheard: ACKs take another way, see tcon_ca_unheard()
 * @fin_guest: the guest's FIN has left
 * @probed: no further probe of the tail before una advances or new data leaves
 * @zero_window: the window is zero, and has been since @closed_nxt was stored
 * @ce_exact: the peer's TCon counts marked bytes, so ECE is ignored
 * @ece_last: the last ACK had ECE
 * @has_tsval_floor: @tsval_floor is valid
 * @peer_window: window field of the peer's last valid ACK
 * @nxt_guest: next sequence number that the guest will send
 * @dup_bytes: what duplicate ACKs counted as having left the path
 * @unnoted_bytes: lost in a time-out, and not in @lost for lack of memory
 * @max_inflight_bytes: largest inflight in this round
 * @tx_order: number of transmissions so far, repeats included
 * @newly_bytes: delivered by the ACK that the CC is being told of
 * @recorded: the record of the data that left last, if for the first time, until the next
 *	ACK; NULL: that was a repeat, or it shares a record with the packet before
 * @sent_bytes: payload that left, repeats included
 * @delivered_us: when cc.delivered_bytes last grew
 * @first_tx_us: when the flight of the last sampled packet began
 * @sent_us: when something last left
 * @guest: the sender's SYN
 * @peer: the receiver's SYN
 * @sendq: what left TCon and is not acknowledged
 * @heard_pacing_bps: while @unheard: the CC's pacing rate
 * @timeout_us: when the guest last had a retransmission time-out
 * @prr: the limit in a recovery and after it, and in a reduction for ECN marks
 * @sacked: SACKed ranges between una and nxt
 * @lost: ranges judged lost, not SACKed and not sent again since
 * @min_rtt_bucket_us: when the present bucket began
 * @cc: the part that a CC sees: una, nxt, delivered, RTTs, inflight
 * @rounds: while the flow is observed: its last round trips
 * @repeated_bytes: payload that the guest sent again
 * @repaired_bytes: payload that TCon sent again
 * @dsacked_bytes: repeated payload that the peer got twice, by its DSACKs
 * @tsval_floor_us: when the guest sent the segment with @tsval_floor
 * @ece_acks: number of ACKs that reported ECN CE
 * @repairs: segments that TCon sent again
 * @spurious_repairs: number of those that were not needed
 * @timeout_cwnd_bytes: cwnd before the first of the time-outs in a row
 * @resume_bytes: cwnd that the CC had on another host, until one starts here; 0: none
 * @recovery_point: nxt when the recovery began; it ends when una reaches this
 * @dup_credit_bytes: what duplicate ACKs counted as delivered and is not acknowledged yet
 * @ce_total: marked bytes that the peer's TCon has counted; wraps
 * @ece_round_end: nxt when the present one of @ece_rounds began
 * @tsval_floor: smallest TSval of what still has to leave, or to leave again
 * @fin_seq: sequence number after the guest's FIN
 * @closed_nxt: nxt when the peer closed its window
 * @dup_acks: duplicate ACKs in a row, of a peer without SACK
 * @dup_copies: how often each of that peer's ACKs comes beyond once
 * @dup_acks_before: @dup_acks of the una before, if nothing was missing there
 * @ce_lapsed: the peer's TCon has counted marked bytes, but does so no more
 * @ce_last: the last acknowledged segment was marked, as far as that is known
 * @has_ts: the connection uses time stamps
 * @fin_peer: the peer's FIN has passed
 * @anew: a CC that starts begins as with a new connection, whatever is in flight
 * @peer_answers: @peer is of a SYN-ACK that fits the guest's SYN; otherwise of a SYN, which
 *	anybody may have sent
 * @ece_rounds: round trips within which a count has to come; 0: none is due
 * @resent: what was sent again and is not delivered
 * @timer: state of the timers
 * @rack: state of RACK
 * @guest_rtt_us: longest round trip that the guest has seen of late, as it began with what waited
 * @cwr_point: nxt when the reduction for marks began, or the recovery ended; the former, and what
 *	follows the latter, ends when una is beyond
 * @lost_edge: original transmissions up to here have been judged
 * @judged_edge: nothing beyond has ever been judged lost
 * @filled_edge: beyond it, original transmissions have left in order of sequence
 * @round_end: nxt when the round began
 * @unproven_bytes: judged lost in this recovery and not shown to be spurious
 * @prev_max_inflight_bytes: largest inflight in the round before
 * @srtt_x8_us: smoothed RTT times 8
 * @rttvar_x4_us: RTT variation times 4
 * @min_rtt_us: minimum RTTs of the present and the previous bucket
 * @tsval_floor_end: the bound is valid until una is there
 * @peer_nxt: highest sequence number that the peer has sent
 * @peer_tsval: newest TSval of the peer that passed
 * @peer_tsecr: TSecr that came with it
 * @progress_us: when una last advanced, or data was sent while nothing was in flight
 * @acked_entered_us: when the guest sent the newest data that was acknowledged when una
 *	last advanced
 * @acked_bytes: payload acknowledged cumulatively
 * @busy_us: how long data was in flight until una last advanced
 * @rtt_sum_us: sum of the measured RTTs
 * @rtt_samples: their number
 * @peer_tsval_us: when @peer_tsval passed
 */
struct tcon_track {
	/* For data and ACKs. */
	bool synced;
	bool unheard;
	bool fin_guest;
	bool probed;
	bool zero_window;
	bool ce_exact:1;
	bool ece_last:1;
	bool has_tsval_floor:1;
	u16 peer_window;
	u32 nxt_guest;
	u32 dup_bytes;
	u32 unnoted_bytes;
	u32 max_inflight_bytes;
	u32 tx_order;
	u32 newly_bytes;
	struct tcon_send *recorded;
	u64 sent_bytes;
	u64 delivered_us;
	u64 first_tx_us;
	u64 sent_us;
	struct tcon_side guest;
	struct tcon_side peer;
	struct tcon_sendq sendq;
	u64 heard_pacing_bps;
	u64 timeout_us;
	struct tcon_prr prr;
	struct tcon_ranges sacked;
	struct tcon_ranges lost;
	u64 min_rtt_bucket_us;
	struct tcon_cc cc;

	/* Seldom. */
	struct tcon_rounds rounds;
	u64 repeated_bytes;
	u64 repaired_bytes;
	u64 dsacked_bytes;
	u64 tsval_floor_us;
	u64 ece_acks;
	u32 repairs;
	u32 spurious_repairs;
	u32 timeout_cwnd_bytes;
	u32 resume_bytes;
	u32 recovery_point;
	u32 dup_credit_bytes;
	u32 ce_total;
	u32 ece_round_end;
	u32 tsval_floor;
	u32 fin_seq;
	u32 closed_nxt;
	u16 dup_acks;
	u8 dup_copies;
	u8 dup_acks_before;
	bool ce_lapsed:1;
	bool ce_last:1;
	bool has_ts:1;
	bool fin_peer:1;
	bool anew:1;
	bool peer_answers:1;
	u8 ece_rounds;
	struct tcon_resent resent;

	/* For ACKs. */
	struct tcon_timer timer;
	struct tcon_rack rack;
	u32 guest_rtt_us;
	u32 cwr_point;
	u32 lost_edge;
	u32 judged_edge;
	u32 filled_edge;
	u32 round_end;
	u32 unproven_bytes;
	u32 prev_max_inflight_bytes;
	u32 srtt_x8_us;
	u32 rttvar_x4_us;
	u32 min_rtt_us[2];
	u32 tsval_floor_end;
	u32 peer_nxt;
	u32 peer_tsval;
	u32 peer_tsecr;
	u64 progress_us;
	u64 acked_entered_us;
	u64 acked_bytes;
	u64 busy_us;
	u64 rtt_sum_us;
	u64 rtt_samples;
	u64 peer_tsval_us;
};

void tcon_track_init(struct tcon_track *t, struct tcon_budget *budget);
void tcon_track_release(struct tcon_track *t);
void tcon_track_app_limited(struct tcon_track *t);
u32 tcon_track_rto_us(const struct tcon_track *t);
u32 tcon_track_own_rto_us(const struct tcon_track *t);

/* Computes what is in flight. */
static inline void tcon_track_count_inflight(struct tcon_track *t)
{
	u32 span = t->cc.nxt - t->cc.una;
	u32 gone = t->sacked.bytes + t->lost.bytes + t->dup_bytes + t->unnoted_bytes;

	t->cc.inflight_bytes = span > gone ? span - gone : 0;
}

/* Has the peer something behind what it acknowledges? */
static inline bool tcon_track_has_hole(const struct tcon_track *t)
{
	return t->sacked.n || t->dup_bytes;
}

/* Is the latest duplicate ACK one of the copies that each ACK has? */
static inline bool tcon_track_is_copy(const struct tcon_track *t)
{
	return t->dup_copies && t->dup_acks <= t->dup_copies;
}

static inline u32 tcon_track_age_us(u64 then_us, u64 now_us)
{
	return min_t(u64, now_us - then_us, U32_MAX);
}

/* Has no ACK come for an RTO?  At most once per RTO: @found_us is when this was last found. */
static inline bool tcon_track_is_silent(const struct tcon_track *t,
					u64 found_us, u64 now_us)
{
	return now_us - max(t->progress_us, found_us) >= tcon_track_rto_us(t);
}

/* Both SYNs were seen and answered: sequence numbers and scales are known. */
static inline bool tcon_track_established(const struct tcon_track *t)
{
	return t->guest.acked && t->peer.acked;
}

/* Is nothing in flight but what probes a closed window (RFC 9293, 3.8.6.1)? */
static inline bool tcon_track_persists(const struct tcon_track *t)
{
	return t->zero_window && !seq_before(t->cc.una, t->closed_nxt);
}

/*
 * Does an acknowledgment number answer an end's SYN?  The other end may take any part of the
 * data on it (RFC 7413, 4.2.2).
 */
static inline bool tcon_side_answered(const struct tcon_side *side, u32 ack)
{
	return side->syn_seen && ack - side->isn - 1 <= side->data_bytes;
}

/* Does the guest's @ack acknowledge the peer's SYN?  More data may have come behind it. */
static inline bool tcon_track_answers_peer(const struct tcon_track *t, u32 ack)
{
	return t->peer.syn_seen &&
	       ack - t->peer.isn - 1 <= t->peer_nxt - t->peer.isn - 1;
}

/*
 * The connection's segments are signed: TCP-MD5 or TCP-AO.  Then both SYNs are.  A peer that does
 * not know the option ignores it (RFC 9293, 3.2); the guest may have written it for TCon to see.
 */
static inline bool tcon_track_signed(const struct tcon_track *t)
{
	return t->guest.signed_options && t->peer.signed_options;
}

/* Both ends sent the window scale option (RFC 7323, 2.2). */
static inline bool tcon_track_scaled(const struct tcon_track *t)
{
	return t->guest.wscale != TCON_WSCALE_NONE &&
	       t->peer.wscale != TCON_WSCALE_NONE;
}

/* An end that never sent a scale settles it for both (RFC 7323, 2.2). */
static inline bool tcon_side_rules_out_scale(const struct tcon_side *side)
{
	return side->syn_seen && !side->ambiguous && side->wscale == TCON_WSCALE_NONE;
}

/* Do the SYNs say for sure how windows are scaled? */
static inline bool tcon_track_scale_is_known(const struct tcon_track *t)
{
	return (!t->guest.ambiguous && !t->peer.ambiguous) ||
	       tcon_side_rules_out_scale(&t->guest) || tcon_side_rules_out_scale(&t->peer);
}

/* Shift count of the windows that the guest sends after its SYN. */
static inline u8 tcon_track_guest_wscale(const struct tcon_track *t)
{
	return tcon_track_scaled(t) ? t->guest.wscale : 0;
}

/* Shift count of the windows that the peer sends after its SYN. */
static inline u8 tcon_track_peer_wscale(const struct tcon_track *t)
{
	return tcon_track_scaled(t) ? t->peer.wscale : 0;
}

static inline bool tcon_track_sack(const struct tcon_track *t)
{
	return t->guest.sack_permitted && t->peer.sack_permitted;
}

/* Is a reduction for ECN marks under way, without a loss? */
static inline bool tcon_track_marked(const struct tcon_track *t)
{
	return t->prr.active && !t->prr.after && t->cc.ca_state == TCON_CA_OPEN;
}

/* Does sending follow delivery, after a loss? */
static inline bool tcon_track_recovers(const struct tcon_track *t)
{
	return t->prr.active && t->cc.ca_state == TCON_CA_RECOVERY;
}

/* How much may be in flight now: cwnd, or PRR's limit during a reduction. */
static inline u32 tcon_track_cwnd_bytes(const struct tcon_track *t)
{
	return t->prr.active ? t->prr.limit_bytes : t->cc.cwnd_bytes;
}

/* May @bytes of new data leave?  cwnd counts segments, so data may leave while less than cwnd is in
 * flight, even if only a part of it fits.  In a recovery, and after it, all of it must fit.
 * Otherwise, where a repair was small, the rest of its segment would let another packet leave,
 * into a full queue.
 * After a mark all of it must fit as long as PRR's limit is not cwnd.
 */
static inline bool tcon_track_fits(const struct tcon_track *t, u32 bytes)
{
	u64 after = (u64)t->cc.inflight_bytes + bytes;

	if (t->prr.active && (!tcon_track_marked(t) ||
			      t->prr.limit_bytes != t->cc.cwnd_bytes))
		return after <= t->prr.limit_bytes;
	return after < (u64)t->cc.cwnd_bytes + t->cc.mss_bytes;
}

/* May the next repair leave?  Something is lost.  A repair counts as in flight.  But the first hole
 * may always be filled, because all data behind it waits for it.
 */
static inline bool tcon_track_repair_fits(const struct tcon_track *t)
{
	return t->lost.range[0].start == t->cc.una ||
	       t->cc.inflight_bytes < tcon_track_cwnd_bytes(t);
}

/* Is there a smallest TSval for what leaves now? */
static inline bool tcon_track_has_floor(const struct tcon_track *t, u64 now_us)
{
	return t->has_tsval_floor &&
	       now_us - t->tsval_floor_us < TCON_TSVAL_AGE_US;
}

static inline u32 tcon_track_rttvar_us(const struct tcon_track *t)
{
	return t->rttvar_x4_us / 4;
}

#endif /* _TCON_TRACK_H */
