/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tracker: what is known of a half-flow's sender.
 */
#ifndef _TCON_TRACK_H
#define _TCON_TRACK_H

#include <linux/types.h>
#include <tcon/cc.h>

#include "base/seq.h"
#include "sender/prr.h"
#include "sender/ranges.h"
#include "sender/resent.h"
#include "sender/sendq.h"
#include "wire/packet.h"

/* Lower bound of the RTO, as Linux has it (RFC 6298 would say 1 s). */
#define TCON_RTO_MIN_US		200000U
#define TCON_RTO_INIT_US	1000000U	/* RFC 6298, 2.1 */
#define TCON_RTO_MAX_US		120000000U
/* Time stamps are compared within 2^31 ticks (RFC 7323, 5.2), which are 36 min where a
 * tick is 1 us.
 */
#define TCON_TSVAL_AGE_US	1800000000ULL
#define TCON_MIN_RTT_BUCKET_US	150000000ULL
#define TCON_MSS_DEFAULT	536U		/* RFC 9293, 3.7.1 */
#define TCON_MSS_MIN		88U		/* Linux's TCP_MIN_SND_MSS, rounded */

/**
 * struct tcon_side - what one end said in its SYN
 * @isn: initial sequence number
 * @data_bytes: most payload on a SYN with this ISN (TCP Fast Open, RFC 7413)
 * @mss: MSS option, 0 if absent
 * @wscale: window scale, %TCON_WSCALE_NONE if absent
 * @syn_seen: the rest is valid
 * @acked: the other end has acknowledged the SYN
 * @sack_permitted: SACK-permitted option
 * @ambiguous: SYNs with this ISN disagreed about @wscale
 * @signed_options: TCP-MD5 or TCP-AO
 * @mptcp: an MPTCP option
 * @has_ts: time stamps
 */
struct tcon_side {
	u32 isn;
	u32 data_bytes;
	u16 mss;
	u8 wscale;
	bool syn_seen;
	bool acked;
	bool sack_permitted;
	bool ambiguous;
	bool signed_options;
	bool mptcp;
	bool has_ts;
};

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

/**
 * struct tcon_timer - state of the timers
 * @restart_us: when the last probe or time-out restarted them
 * @sent_us: when something last left
 * @probe_end: nxt when the tail was probed
 * @probe_bytes: that the probe repeated; 0: no probe is out
 * @sampled_us: when a round trip was last measured
 * @backoff: how often the RTO is doubled, until a round trip is measured
 * @tries: time-outs in a row without progress
 * @probed: no other probe before una advances or new data leaves
 */
struct tcon_timer {
	u64 restart_us;
	u64 sent_us;
	u32 probe_end;
	u32 probe_bytes;
	u64 sampled_us;
	u8 backoff;
	u8 tries;
	bool probed;
};

/**
 * struct tcon_track - a half-flow's sender, as far as packets tell
 * @cc: the part that a CC sees: una, nxt, delivered, RTTs, inflight
 * @guest: the sender's SYN
 * @peer: the receiver's SYN
 * @sendq: what left TCon and is not acknowledged
 * @recorded: its record of what left last for the first time, until the next ACK; NULL:
 *	that was a repeat, or had to be recorded together with its predecessor
 * @sacked: SACKed ranges between una and nxt
 * @lost: ranges judged lost, not SACKed and not sent again since
 * @resent: what was sent again and is not delivered
 * @rack: what RACK knows
 * @timer: state of the timers
 * @prr: what limits a recovery, and a reduction for ECN marks
 * @newly_bytes: what the ACK that the CC is being told of has delivered
 * @cwr_point: nxt when that for marks began; it ends when una is beyond
 * @nxt_guest: next sequence number that the guest would send
 * @lost_edge: up to here originals have been judged
 * @judged_edge: nothing beyond has ever been judged lost
 * @filled_edge: beyond, originals have left in order of sequence
 * @tx_order: transmissions so far, repeats counted
 * @closed_nxt: nxt when the peer closed its window
 * @recovery_point: nxt when the recovery began; it ends when una is there
 * @round_end: nxt when the round began
 * @unproven_bytes: judged lost in this recovery and not shown to be spurious
 * @dup_acks: duplicate ACKs in a row, of a peer without SACK
 * @dup_bytes: what those counted as having left the path
 * @dup_credit_bytes: what those, and SACKs that the peer took back, counted as
 *	delivered, not acknowledged since
 * @max_inflight_bytes: most that was in flight in this round
 * @prev_max_inflight_bytes: most in the round before
 * @srtt_x8_us: smoothed RTT times 8
 * @rttvar_x4_us: RTT variation times 4
 * @min_rtt_us: minima of the present and the previous bucket
 * @min_rtt_bucket_us: when the present bucket began
 * @delivered_us: when cc.delivered_bytes last grew
 * @first_tx_us: when the flight of the last sampled packet began
 * @progress_us: when una last advanced, or data was sent into an empty pipe
 * @timeout_us: when the guest's timer last went off
 * @acked_entered_us: when the guest sent the newest that una covered when it last
 *	advanced
 * @sent_bytes: payload that left, with repeats
 * @repeated_bytes: payload that the guest sent again
 * @repaired_bytes: payload that TCon sent again
 * @dsacked_bytes: of what was sent again, what the peer said to have got twice
 * @repairs: segments that TCon sent again
 * @spurious_repairs: of those, not needed
 * @acked_bytes: payload acknowledged cumulatively
 * @ece_acks: ACKs that told of ECN CE
 * @ce_total: the peer's TCon has counted so many marked bytes; wraps
 * @ce_exact: it does; ECE counts for nothing
 * @ce_lapsed: it did, but does no more
 * @ece_last: the last ACK had ECE
 * @ece_rounds: round trips until a count has to come; 0: none is due
 * @ece_round_end: nxt when the present one began
 * @ce_last: the last segment that una covered was marked, as far as that can be told
 * @tsval_floor: least TSval of what still has to leave, or again
 * @tsval_floor_end: until una is there
 * @tsval_floor_us: when the guest sent it
 * @peer_nxt: highest sequence number that the peer has sent
 * @peer_window: window field of the peer's last valid ACK
 * @zero_window: that was zero, as were those before it up to the first with @closed_nxt
 * @peer_tsval: newest TSval of the peer that passed
 * @peer_tsecr: TSecr that came with it
 * @peer_tsval_us: when
 * @has_tsval_floor: there is one
 * @synced: una and nxt are valid
 * @has_ts: the connection uses time stamps
 * @fin_guest: the guest's FIN has left
 * @fin_peer: the peer's FIN has passed
 * @fin_seq: sequence number after the guest's FIN
 */
struct tcon_track {
	struct tcon_cc cc;
	struct tcon_side guest;
	struct tcon_side peer;
	struct tcon_sendq sendq;
	struct tcon_send *recorded;
	struct tcon_ranges sacked;
	struct tcon_ranges lost;
	struct tcon_resent resent;
	struct tcon_rack rack;
	struct tcon_timer timer;
	struct tcon_prr prr;
	u32 newly_bytes;
	u32 cwr_point;
	u32 nxt_guest;
	u32 lost_edge;
	u32 judged_edge;
	u32 filled_edge;
	u32 tx_order;
	u32 closed_nxt;
	u32 recovery_point;
	u32 round_end;
	u32 unproven_bytes;
	u32 dup_acks;
	u32 dup_bytes;
	u32 dup_credit_bytes;
	u32 max_inflight_bytes;
	u32 prev_max_inflight_bytes;
	u32 srtt_x8_us;
	u32 rttvar_x4_us;
	u32 min_rtt_us[2];
	u64 min_rtt_bucket_us;
	u64 delivered_us;
	u64 first_tx_us;
	u64 progress_us;
	u64 timeout_us;
	u64 acked_entered_us;
	u64 sent_bytes;
	u64 repeated_bytes;
	u64 repaired_bytes;
	u64 dsacked_bytes;
	u64 repairs;
	u64 spurious_repairs;
	u64 acked_bytes;
	u64 ece_acks;
	u32 ce_total;
	bool ce_exact;
	bool ce_lapsed;
	bool ce_last;
	bool ece_last;
	u8 ece_rounds;
	u32 ece_round_end;
	u32 tsval_floor;
	u32 tsval_floor_end;
	u64 tsval_floor_us;
	u32 peer_nxt;
	u32 peer_tsval;
	u32 peer_tsecr;
	u64 peer_tsval_us;
	u32 fin_seq;
	u16 peer_window;
	bool zero_window;
	bool has_tsval_floor;
	bool synced;
	bool has_ts;
	bool fin_guest;
	bool fin_peer;
};

void tcon_track_init(struct tcon_track *t, struct tcon_budget *budget);
void tcon_track_release(struct tcon_track *t);
void tcon_track_app_limited(struct tcon_track *t);
u32 tcon_track_rto_us(const struct tcon_track *t);

/* Sum up anew what is in flight. */
static inline void tcon_track_count_inflight(struct tcon_track *t)
{
	u32 span = t->cc.nxt - t->cc.una;
	u32 gone = t->sacked.bytes + t->lost.bytes + t->dup_bytes;

	t->cc.inflight_bytes = span > gone ? span - gone : 0;
}

static inline u32 tcon_track_age_us(u64 then_us, u64 now_us)
{
	return min_t(u64, now_us - then_us, U32_MAX);
}

/* Has no ACK come for an RTO, nor has that been found, at @found_us, within one? */
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

/* Does an acknowledgment number answer an end's SYN?  Of its data the other end takes what
 * it likes (RFC 7413, 4.2.2).
 */
static inline bool tcon_side_answered(const struct tcon_side *side, u32 ack)
{
	return side->syn_seen && ack - side->isn - 1 <= side->data_bytes;
}

/* Does one of the guest acknowledge the peer's SYN?  More may have come behind it. */
static inline bool tcon_track_answers_peer(const struct tcon_track *t, u32 ack)
{
	return t->peer.syn_seen &&
	       ack - t->peer.isn - 1 <= t->peer_nxt - t->peer.isn - 1;
}

/* Its segments have signatures: TCP-MD5 or TCP-AO. */
static inline bool tcon_track_signed(const struct tcon_track *t)
{
	return t->guest.signed_options || t->peer.signed_options;
}

/* Both ends sent the window scale option (RFC 7323, 2.2). */
static inline bool tcon_track_scaled(const struct tcon_track *t)
{
	return t->guest.wscale != TCON_WSCALE_NONE &&
	       t->peer.wscale != TCON_WSCALE_NONE;
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
	return t->prr.active && t->cc.ca_state == TCON_CA_OPEN;
}

/* How much may be in flight now: cwnd, but for a reduction that is under way. */
static inline u32 tcon_track_cwnd_bytes(const struct tcon_track *t)
{
	return t->prr.active ? t->prr.limit_bytes : t->cc.cwnd_bytes;
}

/* May @bytes new ones leave?  cwnd is counted in segments, and takes a part of one for
 * one.  In a recovery a part is not enough: what a small repair left of its segment
 * would let another out, into a queue that is full.  Nor is it after a mark, before as
 * much is in flight as cwnd allows.
 */
static inline bool tcon_track_fits(const struct tcon_track *t, u32 bytes)
{
	u64 after = (u64)t->cc.inflight_bytes + bytes;

	if (t->prr.active && (!tcon_track_marked(t) ||
			      t->prr.limit_bytes != t->cc.cwnd_bytes))
		return after <= t->prr.limit_bytes;
	return after < (u64)t->cc.cwnd_bytes + t->cc.mss_bytes;
}

/* May the next repair leave, where something is lost?  It counts as in flight again, but
 * the first hole is always filled: all waits for it.
 */
static inline bool tcon_track_repair_fits(const struct tcon_track *t)
{
	return t->lost.range[0].start == t->cc.una ||
	       t->cc.inflight_bytes < tcon_track_cwnd_bytes(t);
}

/* May a TSval not be undercut now? */
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
