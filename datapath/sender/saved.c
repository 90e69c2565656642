// SPDX-License-Identifier: GPL-2.0-only
/*
 * A half-flow that moves with its guest from one host to another.
 *
 * The record (&struct tcon_state_record) has what only the handshake tells, and what a
 * sender learns slowly.  It has no copies of data: the guest repeats what is in flight during
 * the move.  Of a CC it has only cwnd and ssthresh: a CC's own area may hold times of this
 * host's clock, or pointers.
 *
 * The sender of a record may have made it up.  So no number in it is used before
 * tcon_saved_read() has found that all of them go together.  And the guest may have gone
 * on after it was made.  So nothing is enforced by it until the guest has sent a segment
 * that fits (tcon_saved_goes_on()).
 *
 * Nothing here needs a kernel.  Callers hold the flow's lock.
 */
#include <asm/byteorder.h>
#include <linux/build_bug.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/socket.h>
#include <linux/string.h>

#include "base/seq.h"
#include "sender/handshake.h"
#include "sender/saved.h"
#include "sender/sent.h"

#define WSCALE_MAX	14U		/* RFC 7323, 2.3 */
#define WINDOW_MAX	TCON_CWND_MAX_BYTES
#define RATE_MAX_BPS	1000000000000ULL
#define TS_TICK_US	1000U		/* the shortest of RFC 7323, 5.4 */

/**
 * tcon_saved_take() - what a half-flow would take along
 * @s: filled, except for what the tracker does not have: the key, @guest_ack, @guest_edge,
 *	@wire_bytes and the CC's name
 * @t: its tracker, whose handshake was seen
 * @w: its windows
 * @e: its ECN
 */
void tcon_saved_take(struct tcon_saved *s, const struct tcon_track *t,
		     const struct tcon_window *w, const struct tcon_ecn *e)
{
	const struct tcon_cc *cc = &t->cc;

	memset(s, 0, sizeof(*s));
	s->guest = t->guest;
	s->peer = t->peer;
	s->una = cc->una;
	s->nxt = cc->nxt;
	s->nxt_guest = t->nxt_guest;
	s->edge = w->valid ? seq_max(w->edge, cc->una) : t->nxt_guest;
	s->peer_edge = w->valid ? seq_max(w->peer_edge, cc->una) : t->nxt_guest;
	s->peer_nxt = t->peer_nxt;
	s->guest_tsval = t->peer_tsecr;
	s->has_tsval = t->has_ts && t->peer_tsval_us;
	s->srtt_us = cc->srtt_us;
	s->rttvar_us = tcon_track_rttvar_us(t);
	s->min_rtt_us = cc->min_rtt_us;
	s->cwnd_bytes = cc->cwnd_bytes;
	s->ssthresh_bytes = cc->ssthresh_bytes;
	s->rate_bps = min_t(u64, cc->last_rate_bps, RATE_MAX_BPS);
	s->ecn = *e;
	s->has_ts = t->has_ts;
	s->fin_peer = t->fin_peer;
}

static u32 flag(bool on, u32 bit)
{
	return on ? bit : 0;
}

static u32 flags_of(const struct tcon_saved *s)
{
	const struct tcon_ecn *e = &s->ecn;

	return flag(s->guest.sack_permitted, TCON_STATE_GUEST_SACK) |
	       flag(s->peer.sack_permitted, TCON_STATE_PEER_SACK) |
	       flag(s->has_ts, TCON_STATE_TS) |
	       flag(s->has_tsval, TCON_STATE_TSVAL) |
	       flag(s->fin_peer, TCON_STATE_PEER_FIN) |
	       flag(s->unseen, TCON_STATE_UNSEEN) |
	       flag(e->agreed, TCON_STATE_ECN_AGREED) |
	       flag(e->speaks, TCON_STATE_ECN_SPEAKS) |
	       flag(e->asked, TCON_STATE_ECN_ASKED) |
	       flag(e->exact, TCON_STATE_ECN_EXACT) |
	       flag(e->accurate, TCON_STATE_ECN_ACCURATE) |
	       flag(e->fell_back, TCON_STATE_ECN_FAILED) |
	       flag(e->refused, TCON_STATE_ECN_REFUSED);
}

/**
 * tcon_saved_write() - make the record
 * @s: the half-flow
 * @r: the record
 */
void tcon_saved_write(const struct tcon_saved *s, struct tcon_state_record *r)
{
	BUILD_BUG_ON(sizeof(*r) != 168);	/* version 1 */
	memset(r, 0, sizeof(*r));
	r->version = htons(TCON_STATE_VERSION);
	r->bytes = htons(sizeof(*r));
	r->flags = htonl(flags_of(s));
	r->family = s->key.family == AF_INET ? 4 : 6;
	r->guest_wscale = s->guest.wscale;
	r->peer_wscale = s->peer.wscale;
	r->vlans[0] = htons(s->key.vlans[0]);
	r->vlans[1] = htons(s->key.vlans[1]);
	r->guest_port = s->key.gport;
	r->peer_port = s->key.pport;
	memcpy(r->guest, &s->key.guest, sizeof(r->guest));
	memcpy(r->peer, &s->key.peer, sizeof(r->peer));
	r->guest_mss = htons(s->guest.mss);
	r->peer_mss = htons(s->peer.mss);
	r->guest_isn = htonl(s->guest.isn);
	r->peer_isn = htonl(s->peer.isn);
	r->una = htonl(s->una);
	r->nxt = htonl(s->nxt);
	r->nxt_guest = htonl(s->nxt_guest);
	r->edge = htonl(s->edge);
	r->peer_edge = htonl(s->peer_edge);
	r->guest_ack = htonl(s->guest_ack);
	r->guest_edge = htonl(s->guest_edge);
	r->peer_nxt = htonl(s->peer_nxt);
	r->guest_tsval = htonl(s->guest_tsval);
	r->srtt_us = htonl(s->srtt_us);
	r->rttvar_us = htonl(s->rttvar_us);
	r->min_rtt_us = htonl(s->min_rtt_us);
	r->cwnd_bytes = htonl(s->cwnd_bytes);
	r->ssthresh_bytes = htonl(s->ssthresh_bytes);
	r->ce_bytes = htonl(s->ecn.ce_bytes);
	r->wire_bytes = htonl(s->wire_bytes);
	r->rate_bps = cpu_to_be64(s->rate_bps);
	memcpy(r->cc, s->cc, sizeof(r->cc));
}

static void read_key(struct tcon_key *key, const struct tcon_state_record *r)
{
	key->family = r->family == 4 ? AF_INET : AF_INET6;
	key->gport = r->guest_port;
	key->pport = r->peer_port;
	key->vlans[0] = ntohs(r->vlans[0]);
	key->vlans[1] = ntohs(r->vlans[1]);
	memcpy(&key->guest, r->guest, sizeof(r->guest));
	memcpy(&key->peer, r->peer, sizeof(r->peer));
}

static void read_flags(struct tcon_saved *s, u32 flags)
{
	struct tcon_ecn *e = &s->ecn;

	s->guest.sack_permitted = flags & TCON_STATE_GUEST_SACK;
	s->peer.sack_permitted = flags & TCON_STATE_PEER_SACK;
	s->has_ts = flags & TCON_STATE_TS;
	s->guest.has_ts = s->has_ts;
	s->peer.has_ts = s->has_ts;
	s->has_tsval = flags & TCON_STATE_TSVAL;
	s->fin_peer = flags & TCON_STATE_PEER_FIN;
	s->unseen = flags & TCON_STATE_UNSEEN;
	e->answered = true;
	e->agreed = flags & TCON_STATE_ECN_AGREED;
	e->speaks = flags & TCON_STATE_ECN_SPEAKS;
	e->asked = flags & TCON_STATE_ECN_ASKED;
	e->exact = flags & TCON_STATE_ECN_EXACT;
	e->accurate = flags & TCON_STATE_ECN_ACCURATE;
	e->fell_back = flags & TCON_STATE_ECN_FAILED;
	e->refused = flags & TCON_STATE_ECN_REFUSED;
}

/* Reads an end's SYN. */
static void read_side(struct tcon_side *side, __be32 isn, __be16 mss, u8 wscale)
{
	side->isn = ntohl(isn);
	side->mss = ntohs(mss);
	side->wscale = wscale;
	side->syn_seen = true;
	side->acked = true;
}

static void read_numbers(struct tcon_saved *s, const struct tcon_state_record *r)
{
	s->una = ntohl(r->una);
	s->nxt = ntohl(r->nxt);
	s->nxt_guest = ntohl(r->nxt_guest);
	s->edge = ntohl(r->edge);
	s->peer_edge = ntohl(r->peer_edge);
	s->guest_ack = ntohl(r->guest_ack);
	s->guest_edge = ntohl(r->guest_edge);
	s->peer_nxt = ntohl(r->peer_nxt);
	s->guest_tsval = ntohl(r->guest_tsval);
	s->srtt_us = ntohl(r->srtt_us);
	s->rttvar_us = ntohl(r->rttvar_us);
	s->min_rtt_us = ntohl(r->min_rtt_us);
	s->cwnd_bytes = ntohl(r->cwnd_bytes);
	s->ssthresh_bytes = ntohl(r->ssthresh_bytes);
	s->ecn.ce_bytes = ntohl(r->ce_bytes);
	s->wire_bytes = ntohl(r->wire_bytes);
	s->rate_bps = be64_to_cpu(r->rate_bps);
}

static bool wscale_valid(u8 wscale)
{
	return wscale <= WSCALE_MAX || wscale == TCON_WSCALE_NONE;
}

/* An address of IPv4 has zeros behind it, or equal keys would differ. */
static bool addr_valid(const u8 *addr, u8 family)
{
	return family == 6 || !memchr_inv(addr + 4, 0, 12);
}

/* Letters up to the first NUL, then NULs. */
static bool name_valid(const u8 *name)
{
	unsigned int i = 0;

	while (i < TCON_CC_NAME_MAX && name[i] > ' ' && name[i] <= '~')
		i++;
	return i < TCON_CC_NAME_MAX && !memchr_inv(name + i, 0, TCON_CC_NAME_MAX - i);
}

/* Is @seq at or after @from, by no more than the largest window? */
static bool follows(u32 seq, u32 from)
{
	return seq - from <= WINDOW_MAX;
}

static bool ecn_valid(u32 flags)
{
	bool agreed = flags & TCON_STATE_ECN_AGREED;

	if (agreed && (flags & TCON_STATE_ECN_ACCURATE ||
		       !(flags & (TCON_STATE_ECN_SPEAKS | TCON_STATE_ECN_ASKED))))
		return false;
	return agreed || !(flags & TCON_STATE_ECN_EXACT);
}

/* The second is the inner one. */
static bool vlans_valid(const __be16 *vlans)
{
	return ntohs(vlans[0]) <= 4096 && ntohs(vlans[1]) <= 4096 && (vlans[0] || !vlans[1]);
}

static const char *complaint_about_ends(const struct tcon_state_record *r)
{
	u32 flags = ntohl(r->flags);

	if (flags & ~TCON_STATE_FLAGS || r->zero)
		return "the record has flags that this tcon.ko does not know";
	if (r->family != 4 && r->family != 6)
		return "the record is of an unknown address family";
	if (!addr_valid(r->guest, r->family) || !addr_valid(r->peer, r->family) ||
	    !r->guest_port || !r->peer_port)
		return "the record's addresses or ports are impossible";
	if (!vlans_valid(r->vlans))
		return "the record's VLAN tags are impossible";
	if (!wscale_valid(r->guest_wscale) || !wscale_valid(r->peer_wscale))
		return "the record's window scale is out of range";
	if (!name_valid(r->cc))
		return "the record's name of a CC is malformed";
	if (!ecn_valid(flags))
		return "the record contradicts itself about ECN";
	return NULL;
}

/* Both are known once a round trip has been measured. */
static bool rtts_valid(const struct tcon_saved *s)
{
	bool measured = s->min_rtt_us != TCON_RTT_NONE_US;

	return s->srtt_us <= TCON_RTO_MAX_US && s->rttvar_us <= TCON_RTO_MAX_US &&
	       measured == (s->srtt_us > 0) &&
	       (!measured || (s->min_rtt_us && s->min_rtt_us <= TCON_RTO_MAX_US));
}

static const char *complaint_about_numbers(const struct tcon_saved *s)
{
	if (!follows(s->nxt, s->una) || !follows(s->nxt_guest, s->nxt) ||
	    !follows(s->nxt_guest, s->una) || !follows(s->edge, s->una) ||
	    !follows(s->peer_edge, s->una))
		return "the record's sequence numbers of the guest contradict each other";
	if (!follows(s->guest_edge, s->guest_ack) ||
	    !follows(s->peer_nxt, s->guest_ack))
		return "the record's sequence numbers of the peer contradict each other";
	if (s->has_tsval && !s->has_ts)
		return "the record has a time stamp of a connection without them";
	if (!rtts_valid(s))
		return "the record's round-trip times are impossible";
	if (s->cwnd_bytes > TCON_CWND_MAX_BYTES ||
	    s->ssthresh_bytes > TCON_SSTHRESH_INFINITE || s->rate_bps > RATE_MAX_BPS)
		return "the record's cwnd or rate is out of range";
	if (s->wire_bytes > U16_MAX)
		return "the record's segments are too long";
	return NULL;
}

/**
 * tcon_saved_read() - read a record, which may be anything
 * @s: filled
 * @data: the record, at any address
 * @bytes: its length
 *
 * Return: NULL; or a sentence that says why it is none, and @s is not to be used.
 */
const char *tcon_saved_read(struct tcon_saved *s, const void *data, size_t bytes)
{
	struct tcon_state_record r;
	const char *complaint;

	memset(s, 0, sizeof(*s));
	if (bytes < sizeof(r.version) + sizeof(r.bytes))
		return "the record is cut off";
	memset(&r, 0, sizeof(r));
	memcpy(&r, data, min(bytes, sizeof(r)));
	if (r.version != htons(TCON_STATE_VERSION))
		return "the record is of another version";
	if (bytes != sizeof(r) || r.bytes != htons(sizeof(r)))
		return "the record has a wrong length";
	complaint = complaint_about_ends(&r);
	if (complaint)
		return complaint;
	read_key(&s->key, &r);
	read_side(&s->guest, r.guest_isn, r.guest_mss, r.guest_wscale);
	read_side(&s->peer, r.peer_isn, r.peer_mss, r.peer_wscale);
	read_flags(s, ntohl(r.flags));
	read_numbers(s, &r);
	memcpy(s->cc, r.cc, sizeof(s->cc));
	return complaint_about_numbers(s);
}

/* Shift count of an end's windows: scales count only if both ends have sent one. */
static u8 wscale_of(const struct tcon_saved *s, const struct tcon_side *side)
{
	return s->guest.wscale != TCON_WSCALE_NONE &&
	       s->peer.wscale != TCON_WSCALE_NONE ? side->wscale : 0;
}

/**
 * tcon_saved_heard() - the peer sends before the guest does
 * @s: the half-flow; the guest has sent nothing here
 * @pkt: the peer's segment, no SYN
 *
 * Only what the guest will take counts (RFC 9293, 3.10.7.4).
 */
void tcon_saved_heard(struct tcon_saved *s, const struct tcon_packet *pkt)
{
	u32 edge;

	if (!(pkt->flags & TCON_TCP_ACK) || pkt->flags & TCON_TCP_RST ||
	    seq_before(pkt->end_seq, s->guest_ack) ||
	    seq_after(pkt->seq, s->guest_edge) ||
	    !seq_between(pkt->ack, s->una, s->nxt_guest))
		return;
	edge = pkt->ack + ((u32)pkt->window << wscale_of(s, &s->peer));
	s->una = pkt->ack;
	s->nxt = seq_max(s->nxt, s->una);
	s->peer_nxt = seq_max(s->peer_nxt, pkt->end_seq);
	s->peer_edge = seq_max(s->peer_edge, edge);
	s->edge = seq_max(s->edge, edge);
}

/* How many windows may have gone by since the record was made, if each takes a round trip? */
static u32 windows_since(const struct tcon_saved *s, const struct tcon_packet *pkt)
{
	u32 ticks = pkt->tsval - s->guest_tsval;

	if (!s->has_tsval || s->min_rtt_us == TCON_RTT_NONE_US)
		return 1;
	return min_t(u64, 1 + div_u64((u64)ticks * TS_TICK_US, s->min_rtt_us), U32_MAX);
}

/* Does @seq lie within @windows of @from .. @edge? */
static bool within(u32 seq, u32 from, u32 edge, u32 windows)
{
	return seq - from <= min_t(u64, (u64)(edge - from) * windows, WINDOW_MAX);
}

/**
 * tcon_saved_goes_on() - is a segment the next of the connection that was saved?
 * @s: the half-flow
 * @pkt: the guest's first segment here, no SYN
 *
 * The guest may have sent more on the other host after the record was made: a window for each
 * round trip.  The guest's clock tells how long that was, if the connection has time stamps.
 *
 * Return: whether it can be.
 */
bool tcon_saved_goes_on(const struct tcon_saved *s, const struct tcon_packet *pkt)
{
	u32 windows;

	if (!(pkt->flags & TCON_TCP_ACK) || pkt->has_ts != s->has_ts ||
	    (s->has_tsval && seq_before(pkt->tsval, s->guest_tsval)))
		return false;
	windows = windows_since(s, pkt);
	/* A keep-alive begins one before una (RFC 9293, 3.8.4). */
	return within(pkt->seq, s->una - 1, seq_max(s->edge, s->nxt_guest), windows) &&
	       within(pkt->ack, s->guest_ack, s->guest_edge, windows);
}

static void restore_rtt(const struct tcon_saved *s, struct tcon_track *t, u64 now_us)
{
	t->cc.srtt_us = s->srtt_us;
	t->srtt_x8_us = s->srtt_us * 8;
	t->rttvar_x4_us = s->rttvar_us * 4;
	t->cc.min_rtt_us = s->min_rtt_us;
	t->min_rtt_us[0] = s->min_rtt_us;
	t->min_rtt_bucket_us = now_us;
}

static void restore_ends(const struct tcon_saved *s, struct tcon_track *t, u64 now_us)
{
	t->guest = s->guest;
	t->peer = s->peer;
	tcon_handshake_agree(t);
	t->peer_nxt = s->peer_nxt;
	restore_rtt(s, t, now_us);
	t->cc.last_rate_bps = s->rate_bps;
	t->fin_peer |= s->fin_peer;
	t->ce_lapsed = s->ecn.exact;	/* the next count is where to count from */
}

static void restore_una(struct tcon_track *t, u32 una, u64 now_us)
{
	t->cc.una = una;
	t->cc.nxt = una;
	t->lost_edge = una;
	t->judged_edge = una;
	t->filled_edge = una;
	t->progress_us = now_us;
	t->synced = true;
}

/*
 * Puts in flight as much as was, up to where the guest begins to send.  It left a round trip ago,
 * as far as can be told, so it is no sample of a shorter one.
 */
static void restore_flight(const struct tcon_saved *s, const struct tcon_packet *pkt,
			   struct tcon_track *t, u64 now_us)
{
	u32 flight = s->nxt - s->una, nxt = seq_max(s->nxt, pkt->seq);
	u32 una = seq_max(s->una, nxt - flight);

	restore_una(t, una, now_us);
	t->nxt_guest = seq_max(s->nxt_guest, nxt);
	if (nxt != una)
		tcon_sent_elsewhere(t, nxt, now_us - min_t(u64, s->srtt_us, now_us));
	t->round_end = nxt;
}

/**
 * tcon_saved_restore() - go on where another host left off
 * @s: the half-flow
 * @pkt: the guest's first segment here: tcon_saved_goes_on()
 * @same_cc: the CC that is to run is the one that ran
 * @now_us: the time
 * @t: the tracker, fresh
 * @w: the windows, fresh
 *
 * Another CC starts from RTT and rate only.
 */
void tcon_saved_restore(const struct tcon_saved *s, const struct tcon_packet *pkt,
			bool same_cc, u64 now_us, struct tcon_track *t,
			struct tcon_window *w)
{
	restore_ends(s, t, now_us);
	t->peer_nxt = seq_max(s->peer_nxt, pkt->ack);
	restore_flight(s, pkt, t, now_us);
	if (same_cc) {
		t->cc.ssthresh_bytes = s->ssthresh_bytes;
		t->resume_bytes = s->cwnd_bytes;
	}
	tcon_window_restore(w, t->cc.una, s->edge, s->peer_edge, now_us);
}

/**
 * tcon_saved_restore_unseen() - take what is not out of date where packets pass unseen
 * @s: the half-flow
 * @now_us: the time
 * @t: the tracker, fresh
 *
 * The data in flight will be known when the flow resumes.
 */
void tcon_saved_restore_unseen(const struct tcon_saved *s, u64 now_us, struct tcon_track *t)
{
	restore_ends(s, t, now_us);
	restore_una(t, s->una, now_us);
	t->nxt_guest = s->una;
	t->round_end = s->una;
}
