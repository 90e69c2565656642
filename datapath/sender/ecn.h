/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ECN (RFC 3168) on the guest's behalf, and the count of marked bytes between TCons.
 */
#ifndef _TCON_ECN_H
#define _TCON_ECN_H

#include <linux/types.h>
#include <tcon/cc.h>

#include "wire/packet.h"

/* The ECN field: the low bits of tcon_packet.tos. */
#define TCON_ECN_MASK		0x03
#define TCON_ECN_NOT_ECT	0x00
#define TCON_ECN_ECT0		0x02
#define TCON_ECN_CE		0x03

/**
 * enum tcon_ecn_wish - what a flow's rule wants of ECN
 * @TCON_ECN_LEAVE: no CC is to run, so what the ends negotiate passes as it is
 * @TCON_ECN_HEAR: a CC is to run.  If the guest itself speaks ECN, the CC hears of the marks
 * @TCON_ECN_ASK: also, TCon asks for ECN if the guest does not
 */
enum tcon_ecn_wish {
	TCON_ECN_LEAVE,
	TCON_ECN_HEAR,
	TCON_ECN_ASK,
};

/**
 * struct tcon_ecn_syn - what the peer's latest SYN said
 * @isn: its sequence number
 * @data_bytes: its payload
 * @seen: there was a SYN
 * @asks: it asks for ECN of RFC 3168, or was made to
 * @accurate: it asks for AccECN (RFC 9768), and reached the guest like that
 * @offers: it has TCon's option
 */
struct tcon_ecn_syn {
	u32 isn;
	u32 data_bytes;
	bool seen;
	bool asks;
	bool accurate;
	bool offers;
};

/**
 * struct tcon_ecn - ECN of a half-flow
 * @peer_syn: the peer's latest SYN; kept when it replaces a connection
 * @ce_bytes: marked payload that has arrived, for the peer's TCon; wraps
 * @cwr_seq: sequence number of the last CWR; ACKs up to there may repeat the ECE that it answers
 * @counts_due: number of ACKs that should still carry @ce_bytes
 * @speaks: the guest itself asked for ECN or agreed to it
 * @accurate_asked: the guest's SYN asks for AccECN, and left so
 * @anew_speaks: as @speaks, of a SYN in place of a live connection that is not answered yet
 * @anew_accurate: likewise @accurate_asked
 * @accurate: the ends have agreed on AccECN: nothing is touched
 * @asked: TCon asked for ECN, or agreed to it, for the guest
 * @fell_back: nothing is made ECN-capable any more: a SYN of the guest left without ECN,
 *	after one on which TCon had asked for it; or the path drops what is ECN-capable
 * @offered: TCon's option is on the guest's SYN
 * @answered: the peer has answered the guest's SYN, or the guest the peer's
 * @refused: the peer's SYN did not ask for ECN, or its answer refused it
 * @agreed: the connection uses ECN of RFC 3168, as the peer sees it
 * @exact: both TCons count marked bytes
 * @echo: the guest's segments need ECE, and the guest does not know
 * @cwr_due: the next new data needs CWR
 * @cwr_sent: @cwr_seq is valid and not acknowledged yet
 * @ce_last: the latest payload that has arrived was marked
 * @adopted: the SYNs passed unseen, and somebody has agreed to ECN for the guest
 * @watched: the guest has not yet acknowledged up to @mark_end
 * @mark_end: end of marked payload, of a connection whose SYNs passed unseen
 * @unechoed: number of marks in a row that the guest has acknowledged without an echo
 * @avoided: TCon would have asked for ECN, but the destination does not tolerate it
 * @reset: a SYN on which TCon had asked for ECN was reset
 * @arrived: ECN-capable payload has arrived at the peer
 * @eaten: number of signs since then that the path drops what is ECN-capable
 * @eaten_end: nxt at the last of these signs that was no time-out
 * @repeats: how often in a row the peer has sent the same data again, although it was told
 *	that the guest has it
 * @repeat_seq: sequence number of that data
 */
struct tcon_ecn {
	struct tcon_ecn_syn peer_syn;
	u32 ce_bytes;
	u32 cwr_seq;
	u32 mark_end;
	u32 eaten_end;
	u32 repeat_seq;
	u8 counts_due;
	u8 unechoed;
	u8 eaten;
	u8 repeats;
	bool speaks:1;
	bool accurate_asked:1;
	bool anew_speaks:1;
	bool anew_accurate:1;
	bool accurate:1;
	bool asked:1;
	bool fell_back:1;
	bool offered:1;
	bool answered:1;
	bool refused:1;
	bool agreed:1;
	bool exact:1;
	bool echo:1;
	bool cwr_due:1;
	bool cwr_sent:1;
	bool ce_last:1;
	bool adopted:1;
	bool watched:1;
	bool avoided:1;
	bool reset:1;
	bool arrived:1;
};

/**
 * struct tcon_ecn_edit - how to change a segment's headers
 * @set: flags of the TCP header to set
 * @clear: flags to clear
 * @clear_ae: clear the flag AE (formerly NS), too
 * @ecn: ECN field of the IP header
 * @strip: take TCon's option out
 * @add_bytes: length of TCon's option to add; 0: none
 * @ce_bytes: the count in that option, if it has one
 * @no_room: a count was due, but the header has no room
 */
struct tcon_ecn_edit {
	u8 set;
	u8 clear;
	bool clear_ae;
	u8 ecn;
	bool strip;
	u8 add_bytes;
	u32 ce_bytes;
	bool no_room;
};

/**
 * struct tcon_ecn_sent - what else tcon_ecn_from_guest() needs to know
 * @governed: a CC runs
 * @cc_ecn: the CC's use of ECN
 * @nxt_guest: next sequence number that the guest would have sent
 * @mss_bytes: payload of a full segment
 * @gso: the segment is a super-packet
 */
struct tcon_ecn_sent {
	bool governed;
	enum tcon_cc_ecn cc_ecn;
	u32 nxt_guest;
	u32 mss_bytes;
	bool gso;
};

void tcon_ecn_restart(struct tcon_ecn *e);
struct tcon_ecn_edit tcon_ecn_no_edit(const struct tcon_packet *pkt);
void tcon_ecn_guest_syn(struct tcon_ecn *e, const struct tcon_packet *pkt,
			enum tcon_ecn_wish wish, bool again, bool offer,
			struct tcon_ecn_edit *edit);
void tcon_ecn_guest_answer(struct tcon_ecn *e, const struct tcon_packet *pkt,
			   enum tcon_ecn_wish wish, bool offer,
			   struct tcon_ecn_edit *edit);
void tcon_ecn_peer_syn(struct tcon_ecn *e, const struct tcon_packet *pkt,
		       enum tcon_ecn_wish wish, struct tcon_ecn_edit *edit);
void tcon_ecn_guest_anew(struct tcon_ecn *e, const struct tcon_packet *pkt,
			 enum tcon_ecn_wish wish, struct tcon_ecn_edit *edit);
void tcon_ecn_replace(struct tcon_ecn *e);
void tcon_ecn_peer_answer(struct tcon_ecn *e, const struct tcon_packet *pkt,
			  bool learn, struct tcon_ecn_edit *edit);
void tcon_ecn_from_guest(struct tcon_ecn *e, const struct tcon_packet *pkt,
			 const struct tcon_ecn_sent *sent,
			 struct tcon_ecn_edit *edit);
void tcon_ecn_to_guest(struct tcon_ecn *e, const struct tcon_packet *pkt,
		       bool heard, bool governed, struct tcon_ecn_edit *edit);
void tcon_ecn_watch(struct tcon_ecn *e, const struct tcon_packet *pkt);
bool tcon_ecn_adopts(struct tcon_ecn *e, const struct tcon_packet *pkt);
bool tcon_ecn_timeout(struct tcon_ecn *e, enum tcon_cc_ecn cc_ecn);
bool tcon_ecn_arrived(struct tcon_ecn *e, enum tcon_cc_ecn cc_ecn);
bool tcon_ecn_repaired(struct tcon_ecn *e, enum tcon_cc_ecn cc_ecn, u32 una,
		       u32 nxt);
bool tcon_ecn_peer_repeats(struct tcon_ecn *e, const struct tcon_packet *pkt,
			   u32 guest_ack, enum tcon_cc_ecn cc_ecn);
enum tcon_ecn_mode tcon_ecn_mode(const struct tcon_ecn *e, bool governed,
				 enum tcon_ecn_wish wish);

/* Is it payload with a mark? */
static inline bool tcon_ecn_is_marked(const struct tcon_packet *pkt)
{
	return (pkt->tos & TCON_ECN_MASK) == TCON_ECN_CE && pkt->payload_bytes;
}

/* ECN field of TCon's repairs. */
static inline u8 tcon_ecn_of_repeat(const struct tcon_ecn *e,
				    enum tcon_cc_ecn cc_ecn)
{
	return e->agreed && !e->fell_back && cc_ecn == TCON_CC_ECN_ALL ?
	       TCON_ECN_ECT0 : TCON_ECN_NOT_ECT;
}

/* Does TCon set ECE for the guest? */
static inline bool tcon_ecn_echoes(const struct tcon_ecn *e)
{
	return e->agreed && !e->speaks;
}

/* The flags of a segment, as a number. */
static inline u8 tcon_ecn_ace(const struct tcon_packet *pkt)
{
	return (pkt->flags & TCON_TCP_ECE ? TCON_ACE_ECE : 0) |
	       (pkt->flags & TCON_TCP_CWR ? TCON_ACE_CWR : 0) |
	       (pkt->ae ? TCON_ACE_AE : 0);
}

u8 tcon_ecn_ace_of_repeat(const struct tcon_ecn *e, u8 said);

#endif /* _TCON_ECN_H */
