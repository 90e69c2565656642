// SPDX-License-Identifier: GPL-2.0-only
/*
 * ECN on the guest's behalf: what is to change in which segment.
 *
 * A CC that wants ECN has it even if its guest does not speak it:
 *
 *	guest's SYN ---- ECE, CWR set, TCon's option added ----> peer
 *	guest <- ECE cleared, option taken out ---- peer's SYN-ACK with ECE
 *	guest's data ---- ECT(0), CWR where ECE came ----------> peer
 *	guest <- ECE hidden ---------------------------- peer's ACKs
 *	guest <- CE, ECT and CWR hidden ---------------- peer's data
 *	guest's ACKs ---- ECE until CWR comes (RFC 3168) ------> peer
 *
 * If the guest answers a SYN that asks for ECN, it is the same with the roles exchanged.
 * TCon keeps its promises for a guest as long as the connection lasts, even if the rules
 * change; only ECT is no longer set.  A guest that speaks ECN answers CE itself.  But while
 * any CC runs, the guest does not see ECE: the CC reacts to it, and TCon sets CWR.
 *
 * ECE says for a round trip that there was a mark (coarse).  If the peer has a TCon, too,
 * both say so by an option on SYN and SYN-ACK.  Then each writes on its guest's ACKs how
 * many marked bytes have come since the SYN (exact).  It is a total, so nothing is missing
 * when an ACK is lost, and no ACK is made for it.  ECE is still set, but is ignored once
 * a total has come.  The answer to the offer is a total of 0, so its bytes differ from the
 * offer's.  A peer that sends options back that it does not know is no TCon.  It gets no
 * counts that it could send back.
 *
 * A DCTCP receiver acknowledges a packet at once if the one before was marked differently
 * (RFC 8257, 3.2).  Linux does so if it has CWR, since the window may be small then.  A
 * guest for which TCon echoes or counts marks cannot know when.  So it gets PSH there:
 * Linux does not delay the ACK of a pushed segment that has been read.
 *
 * A TCon that is loaded later, or on the host that a guest has moved to, has not seen the SYNs,
 * and neither has one that forgot the flow.  But the peer still marks its data as ECN-capable
 * if a TCon has agreed to that for the guest.  RFC 3168 knows no way to withdraw from ECN.  So
 * if a guest acknowledges marks without an echo, it does not know of ECN, and TCon keeps the
 * promise: it echoes marks for the guest as before.  If nobody has agreed to anything, and the
 * path marks what is not ECN-capable, the peer ignores the echo.
 *
 *	kind 254 (RFC 6994), length 4 on a SYN, ExID; length 8 else, ExID, total
 *
 * A SYN that the guest repeats leaves as it is: the path may have dropped the first one
 * for what TCon had put on it (RFC 3168, 6.1.1.1).  If the first one is reset, TCon sends
 * the guest's own SYN before the guest hears of that.  A path may also let the SYN pass, and
 * drop what is ECN-capable, at once or later.  If nothing of that arrives time after time,
 * TCon makes and leaves nothing ECN-capable any more.  AccECN (RFC 9768) passes untouched if
 * no CC is to run.  Otherwise its SYN is made one of RFC 3168 by clearing AE, as an older
 * path does, since AccECN's counters could not be kept from the guest.
 *
 * Nothing here needs a kernel.  Callers hold the flow's lock.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "base/seq.h"
#include "sender/ecn.h"

#define FLAGS		(TCON_TCP_ECE | TCON_TCP_CWR)
#define HEADER_MAX	60
/* ACKs that carry a new total, since two of them may be lost. */
#define COUNTS		3
/* The path counts as dropping ECN-capable packets after two time-outs in a row, or three if some
 * have arrived before.  If repeats are not ECN-capable, twice as many flights also do, if only
 * repeats of them have arrived.
 */
#define EATEN_NEW	4
#define EATEN_LATER	6
#define EATEN_TIMEOUT	2
/* Marks that a guest acknowledges without an echo before it counts as one without ECN.  AccECN's
 * counter (RFC 9768) may happen to be 0 once, but not before and after a mark.
 */
#define UNECHOED	2
/* How often the peer repeats what the guest has acknowledged; each is a time-out of the peer. */
#define UNHEARD		3

/**
 * tcon_ecn_restart() - another connection begins
 * @e: the state
 */
void tcon_ecn_restart(struct tcon_ecn *e)
{
	struct tcon_ecn_syn peer_syn = e->peer_syn;

	memset(e, 0, sizeof(*e));
	e->peer_syn = peer_syn;
}

/**
 * tcon_ecn_no_edit() - a segment that stays as it is
 * @pkt: the segment
 *
 * Return: the edit.
 */
struct tcon_ecn_edit tcon_ecn_no_edit(const struct tcon_packet *pkt)
{
	return (struct tcon_ecn_edit) { .ecn = pkt->tos & TCON_ECN_MASK };
}

/* RFC 3168: a SYN with both flags, and without AE. */
static bool asks(const struct tcon_packet *pkt)
{
	return (pkt->flags & FLAGS) == FLAGS;
}

/* RFC 3168: a SYN-ACK with ECE alone.  AE is then the nonce sum of RFC 3540. */
static bool accepts(const struct tcon_packet *pkt)
{
	return (pkt->flags & FLAGS) == TCON_TCP_ECE;
}

/* RFC 9768, table 2: an answer to AccECN's SYN that agrees to it. */
static bool accepts_accurate(const struct tcon_packet *pkt)
{
	if (pkt->ae)
		return !(pkt->flags & TCON_TCP_ECE);
	return pkt->flags & TCON_TCP_CWR;
}

static bool has_room(const struct tcon_packet *pkt, u32 bytes)
{
	return pkt->payload_offset - pkt->l4_offset + bytes <= HEADER_MAX;
}

/* Say on a SYN, or as an answer to that, that TCon counts.  Returns whether there is room. */
static bool put_offer(const struct tcon_packet *pkt, bool offer,
		      struct tcon_ecn_edit *edit)
{
	u8 bytes = pkt->flags & TCON_TCP_ACK ? TCON_OPTION_COUNT_BYTES :
					       TCON_OPTION_OFFER_BYTES;

	if (!offer || pkt->payload_bytes || !has_room(pkt, bytes))
		return false;
	edit->add_bytes = bytes;
	edit->ce_bytes = 0;
	return true;
}

/*
 * Takes out of a SYN what it may not say to the other end: an option of a TCon's, and AccECN where
 * its counters could not be kept from the guest.  Returns whether it leaves as AccECN's.
 */
static bool clean_syn(const struct tcon_packet *pkt, enum tcon_ecn_wish wish,
		      struct tcon_ecn_edit *edit)
{
	bool accurate = asks(pkt) && pkt->ae;

	edit->strip = pkt->option_bytes;
	edit->clear_ae = accurate && wish != TCON_ECN_LEAVE;
	return accurate && !edit->clear_ae;
}

/**
 * tcon_ecn_guest_syn() - the guest opens a connection
 * @e: the state
 * @pkt: its SYN
 * @wish: what its rule wants
 * @again: it has sent this SYN before
 * @offer: counts may be offered
 * @edit: from tcon_ecn_no_edit(); what to change
 */
void tcon_ecn_guest_syn(struct tcon_ecn *e, const struct tcon_packet *pkt,
			enum tcon_ecn_wish wish, bool again, bool offer,
			struct tcon_ecn_edit *edit)
{
	bool accurate = clean_syn(pkt, wish, edit);

	if (!again)
		tcon_ecn_restart(e);
	if (asks(pkt))
		e->speaks = true;
	if (asks(pkt) && pkt->ae)
		e->accurate_asked = accurate;
	/* Other combinations of these flags may have a meaning that is not known here. */
	if (wish != TCON_ECN_ASK ||
	    (!asks(pkt) && (pkt->ae || pkt->flags & FLAGS)))
		return;
	if (again && !asks(pkt)) {
		e->fell_back = e->fell_back || e->asked;
		return;
	}
	if (!asks(pkt)) {
		e->asked = true;
		edit->set = FLAGS;
	}
	if (!again || e->offered)
		e->offered = put_offer(pkt, offer, edit);
}

/**
 * tcon_ecn_guest_anew() - the guest opens in place of a live connection
 * @e: the state, of the live connection
 * @pkt: its SYN
 * @wish: what its rule wants
 * @edit: as of tcon_ecn_guest_syn()
 *
 * If the peer still has the connection, it does not take the SYN (RFC 5961, 4), and what was
 * promised goes on.  So the SYN asks for nothing that the guest does not ask for.
 */
void tcon_ecn_guest_anew(struct tcon_ecn *e, const struct tcon_packet *pkt,
			 enum tcon_ecn_wish wish, struct tcon_ecn_edit *edit)
{
	e->anew_accurate = clean_syn(pkt, wish, edit);
	e->anew_speaks = asks(pkt);
}

/**
 * tcon_ecn_replace() - the peer has answered the SYN of tcon_ecn_guest_anew()
 * @e: the state
 */
void tcon_ecn_replace(struct tcon_ecn *e)
{
	bool speaks = e->anew_speaks, accurate = e->anew_accurate;

	tcon_ecn_restart(e);
	e->speaks = speaks;
	e->accurate_asked = accurate;
}

/**
 * tcon_ecn_peer_answer() - the peer answers the guest's SYN
 * @e: the state
 * @pkt: the SYN-ACK, which fits
 * @learn: the handshake is not complete
 * @edit: as of tcon_ecn_guest_syn()
 */
void tcon_ecn_peer_answer(struct tcon_ecn *e, const struct tcon_packet *pkt,
			  bool learn, struct tcon_ecn_edit *edit)
{
	edit->strip = pkt->option_bytes;
	if (learn) {
		e->answered = true;
		e->accurate = e->accurate_asked && accepts_accurate(pkt);
		e->agreed = !e->accurate && accepts(pkt) &&
			    (e->speaks || e->asked);
		e->refused = !e->accurate && !e->agreed;
		e->exact = e->agreed && e->offered &&
			   pkt->option_bytes == TCON_OPTION_COUNT_BYTES;
	}
	if (e->speaks)
		return;
	if (e->asked && accepts(pkt))
		edit->clear = TCON_TCP_ECE;
	if (e->agreed)
		edit->ecn = TCON_ECN_NOT_ECT;
}

/**
 * tcon_ecn_peer_syn() - the peer opens a connection
 * @e: the state
 * @pkt: its SYN, which the guest may answer or not
 * @wish: what the guest's rule wants
 * @edit: as of tcon_ecn_guest_syn()
 */
void tcon_ecn_peer_syn(struct tcon_ecn *e, const struct tcon_packet *pkt,
		       enum tcon_ecn_wish wish, struct tcon_ecn_edit *edit)
{
	struct tcon_ecn_syn *syn = &e->peer_syn;

	syn->accurate = clean_syn(pkt, wish, edit);
	syn->seen = true;
	syn->isn = pkt->seq;
	syn->data_bytes = pkt->payload_bytes;
	syn->asks = asks(pkt) && !syn->accurate;
	syn->offers = syn->asks && !pkt->ae &&
		      pkt->option_bytes == TCON_OPTION_OFFER_BYTES;
}

/* The guest does what both ends can without TCon. */
static void take_answer(struct tcon_ecn *e, const struct tcon_packet *pkt)
{
	const struct tcon_ecn_syn *syn = &e->peer_syn;

	e->answered = true;
	e->accurate = syn->accurate && accepts_accurate(pkt);
	e->speaks = !e->accurate && accepts(pkt);
	e->agreed = e->speaks && (syn->asks || syn->accurate);
	e->refused = !e->agreed && !e->accurate && !syn->asks;
}

/**
 * tcon_ecn_guest_answer() - the guest answers the peer's SYN
 * @e: the state; of this connection, see tcon_ecn_restart()
 * @pkt: its SYN-ACK
 * @wish: what its rule wants
 * @offer: counts may be offered
 * @edit: as of tcon_ecn_guest_syn()
 *
 * Where the peer's TCon counts, TCon answers for a guest of any rule.  An answer
 * that is repeated says what the first said: the peer may have heard that one, also
 * where its SYN has asked only since.
 */
void tcon_ecn_guest_answer(struct tcon_ecn *e, const struct tcon_packet *pkt,
			   enum tcon_ecn_wish wish, bool offer,
			   struct tcon_ecn_edit *edit)
{
	const struct tcon_ecn_syn *syn = &e->peer_syn;
	bool declined = e->answered && !e->agreed, asked = e->asked;

	edit->strip = pkt->option_bytes;
	if (!syn->seen || pkt->ack - syn->isn - 1 > syn->data_bytes)
		return;
	take_answer(e, pkt);
	if (!syn->asks)
		return;
	if (!e->speaks && !(pkt->flags & FLAGS) && !pkt->ae && !declined &&
	    (asked || wish == TCON_ECN_ASK || (syn->offers && offer))) {
		e->asked = true;
		e->agreed = true;
		edit->set = TCON_TCP_ECE;
	}
	if (e->agreed && syn->offers)
		e->exact = put_offer(pkt, offer, edit);
}

/*
 * Put the total on an ACK, if one is due.  A segment with much data may fill the path's MTU, for
 * which only an upper bound is known here, the MSS's.
 */
static void put_count(struct tcon_ecn *e, const struct tcon_packet *pkt,
		      const struct tcon_ecn_sent *sent,
		      struct tcon_ecn_edit *edit)
{
	if (!e->exact || !e->counts_due || !(pkt->flags & TCON_TCP_ACK))
		return;
	if (!has_room(pkt, TCON_OPTION_COUNT_BYTES) || sent->gso ||
	    pkt->payload_bytes > sent->mss_bytes / 2) {
		edit->no_room = true;
		return;
	}
	e->counts_due--;
	edit->add_bytes = TCON_OPTION_COUNT_BYTES;
	edit->ce_bytes = e->ce_bytes;
}

/**
 * tcon_ecn_from_guest() - a segment of the guest that is no SYN
 * @e: the state
 * @pkt: the segment
 * @sent: what else counts
 * @edit: as of tcon_ecn_guest_syn()
 */
void tcon_ecn_from_guest(struct tcon_ecn *e, const struct tcon_packet *pkt,
			 const struct tcon_ecn_sent *sent,
			 struct tcon_ecn_edit *edit)
{
	bool fresh = pkt->payload_bytes &&
		     seq_after(pkt->end_seq, sent->nxt_guest);

	edit->strip = pkt->option_bytes;
	if (!e->agreed || pkt->flags & TCON_TCP_RST)
		return;
	if (!e->speaks && e->echo && pkt->flags & TCON_TCP_ACK)
		edit->set |= TCON_TCP_ECE;
	put_count(e, pkt, sent, edit);
	if (!sent->governed)
		return;
	if (e->fell_back)
		edit->ecn = TCON_ECN_NOT_ECT;
	else if (sent->cc_ecn == TCON_CC_ECN_ALL ||
		 (fresh && sent->cc_ecn == TCON_CC_ECN_DATA))
		edit->ecn = TCON_ECN_ECT0;
	if (fresh && e->cwr_due) {
		edit->set |= TCON_TCP_CWR;
		e->cwr_due = false;
		e->cwr_sent = true;
		e->cwr_seq = pkt->seq;	/* of a super-packet only the first segment has it */
	}
}

/* Counts what is marked.  The peer is to get an echo and a count, since a path may
 * let only one of them through.
 */
static void take_ce(struct tcon_ecn *e, const struct tcon_packet *pkt,
		    struct tcon_ecn_edit *edit)
{
	bool ce = (pkt->tos & TCON_ECN_MASK) == TCON_ECN_CE;

	if (!pkt->payload_bytes)
		return;
	if ((ce != e->ce_last || pkt->flags & TCON_TCP_CWR) &&
	    (!e->speaks || e->exact))
		edit->set |= TCON_TCP_PSH;
	e->ce_last = ce;
	if (pkt->flags & TCON_TCP_CWR)
		e->echo = false;
	if (!ce)
		return;
	e->echo = true;
	e->ce_bytes += pkt->payload_bytes;
	e->counts_due = COUNTS;
}

/**
 * tcon_ecn_to_guest() - a segment of the peer that is no SYN
 * @e: the state
 * @pkt: the segment
 * @heard: the guest will look at it: what it says counts
 * @governed: a CC runs
 * @edit: as of tcon_ecn_guest_syn()
 */
void tcon_ecn_to_guest(struct tcon_ecn *e, const struct tcon_packet *pkt,
		       bool heard, bool governed, struct tcon_ecn_edit *edit)
{
	edit->strip = e->answered && pkt->option_bytes;
	if (!e->agreed)
		return;
	if (heard)
		take_ce(e, pkt, edit);
	if (!e->speaks) {
		edit->ecn = TCON_ECN_NOT_ECT;
		edit->clear = FLAGS;
	} else if (governed) {
		edit->clear = TCON_TCP_ECE;
	}
	/* Soon, before the numbers have gone around. */
	if (heard && e->cwr_sent && seq_after(pkt->ack, e->cwr_seq))
		e->cwr_sent = false;
	if (!governed)
		e->cwr_due = false;
	else if (heard && pkt->flags & TCON_TCP_ECE && !e->cwr_sent)
		e->cwr_due = true;
}

/**
 * tcon_ecn_watch() - a mark goes to a guest whose handshake passed unseen
 * @e: the state; nothing was agreed on, as far as is known
 * @pkt: the segment, with payload
 */
void tcon_ecn_watch(struct tcon_ecn *e, const struct tcon_packet *pkt)
{
	if (e->watched)
		return;
	e->watched = true;
	e->mark_end = pkt->end_seq;
}

/**
 * tcon_ecn_adopts() - has somebody agreed to ECN for this guest?
 * @e: the state, of a flow that is watched
 * @pkt: a segment of the guest that is no SYN
 *
 * Return: whether TCon echoes marks from now on, this one included.
 */
bool tcon_ecn_adopts(struct tcon_ecn *e, const struct tcon_packet *pkt)
{
	if (!(pkt->flags & TCON_TCP_ACK) || seq_before(pkt->ack, e->mark_end))
		return false;
	e->watched = false;
	if (tcon_ecn_ace(pkt))
		e->unechoed = 0;
	else if (++e->unechoed == UNECHOED)
		e->adopted = true;
	if (!e->adopted)
		return false;
	e->answered = true;
	e->asked = true;
	e->agreed = true;
	e->echo = true;
	e->ce_last = true;
	return true;
}

/* Does data leave ECN-capable, by TCon or by the guest itself? */
static bool is_capable(const struct tcon_ecn *e, enum tcon_cc_ecn cc_ecn)
{
	return e->agreed && !e->fell_back &&
	       (e->speaks || cc_ecn != TCON_CC_ECN_NONE);
}

/* There are @more signs.  Returns whether they are enough. */
static bool note_eaten(struct tcon_ecn *e, u8 more)
{
	e->eaten += more;
	e->fell_back = e->eaten >= (e->arrived ? EATEN_LATER : EATEN_NEW);
	return e->fell_back;
}

/**
 * tcon_ecn_timeout() - a retransmission timer has gone off
 * @e: the state
 * @cc_ecn: on which packets the CC that runs wants ECT
 *
 * Return: whether nothing is made ECN-capable from now on: the path seems to drop it.
 */
bool tcon_ecn_timeout(struct tcon_ecn *e, enum tcon_cc_ecn cc_ecn)
{
	return is_capable(e, cc_ecn) && note_eaten(e, EATEN_TIMEOUT);
}

/**
 * tcon_ecn_arrived() - the peer has got payload that was ECN-capable
 * @e: the state
 * @cc_ecn: on which packets the CC that runs wants ECT
 *
 * Return: whether it is the first, which shows that the path lets it pass.
 */
bool tcon_ecn_arrived(struct tcon_ecn *e, enum tcon_cc_ecn cc_ecn)
{
	bool first = !e->arrived;

	if (!is_capable(e, cc_ecn))
		return false;
	e->eaten = 0;
	e->arrived = true;
	return first;
}

/**
 * tcon_ecn_repaired() - only data that was sent again has arrived now
 * @e: the state
 * @cc_ecn: on which packets the CC that runs wants ECT
 * @una: first unacknowledged sequence number
 * @nxt: next to leave
 *
 * Return: as of tcon_ecn_timeout().
 */
bool tcon_ecn_repaired(struct tcon_ecn *e, enum tcon_cc_ecn cc_ecn, u32 una,
		       u32 nxt)
{
	if (!is_capable(e, cc_ecn) ||
	    (e->eaten && seq_before(una, e->eaten_end)))
		return false;
	e->eaten_end = nxt;
	return note_eaten(e, 1);
}

/**
 * tcon_ecn_peer_repeats() - does the path drop the guest's ACKs?
 * @e: the state
 * @pkt: a segment of the peer
 * @guest_ack: the guest's last acknowledgment number
 * @cc_ecn: on which packets the CC that runs wants ECT
 *
 * If the peer repeats again and again what was acknowledged long ago, the ACKs do not reach
 * it.  A repeat of one byte does not count: it may be a keep-alive (RFC 9293, 3.8.4).
 *
 * Return: as of tcon_ecn_timeout().
 */
bool tcon_ecn_peer_repeats(struct tcon_ecn *e, const struct tcon_packet *pkt,
			   u32 guest_ack, enum tcon_cc_ecn cc_ecn)
{
	if (cc_ecn != TCON_CC_ECN_ALL || !is_capable(e, cc_ecn) ||
	    pkt->payload_bytes <= 1)
		return false;
	if (seq_after(pkt->end_seq, guest_ack)) {
		e->repeats = 0;
		return false;
	}
	if (pkt->seq != e->repeat_seq)
		e->repeats = 0;
	e->repeat_seq = pkt->seq;
	e->fell_back = ++e->repeats >= UNHEARD;
	return e->fell_back;
}

/**
 * tcon_ecn_ace_of_repeat() - the flags of what TCon sends again for the guest
 * @e: the state
 * @said: the guest's last, tcon_ecn_ace()
 *
 * They say what is true now, not when the segment first left: with AccECN a counter, otherwise
 * ECE.  CWR is only for new data (RFC 3168, 6.1.2).
 *
 * Return: TCON_ACE_*.
 */
u8 tcon_ecn_ace_of_repeat(const struct tcon_ecn *e, u8 said)
{
	if (e->accurate)
		return said;
	if (tcon_ecn_echoes(e))
		return e->echo ? TCON_ACE_ECE : 0;
	return said & TCON_ACE_ECE;
}

/**
 * tcon_ecn_mode() - how a flow's CC learns of marks, or why not at all
 * @e: the state
 * @governed: a CC runs
 * @wish: what the flow's rule wants
 *
 * Return: for users.
 */
enum tcon_ecn_mode tcon_ecn_mode(const struct tcon_ecn *e, bool governed,
				 enum tcon_ecn_wish wish)
{
	if (e->adopted)
		return TCON_ECN_ADOPTED;
	if (!governed)
		return TCON_ECN_UNUSED;
	if (e->accurate)
		return TCON_ECN_ACCURATE;
	if (wish != TCON_ECN_ASK && !e->speaks)	/* nothing is marked */
		return TCON_ECN_UNUSED;
	if (e->fell_back)
		return TCON_ECN_FELL_BACK;
	if (e->agreed)
		return e->exact ? TCON_ECN_EXACT : TCON_ECN_COARSE;
	if (wish != TCON_ECN_ASK)
		return TCON_ECN_UNUSED;
	if (e->avoided)
		return TCON_ECN_AVOIDED;
	return e->refused && (e->asked || e->speaks || e->peer_syn.seen) ?
	       TCON_ECN_REFUSED : TCON_ECN_LATE;
}
