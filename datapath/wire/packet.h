/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A TCP segment in a frame, parsed.
 */
#ifndef _TCON_PACKET_H
#define _TCON_PACKET_H

#include <linux/types.h>
#include <uapi/linux/tcon.h>

/*
 * The kernel's compiler clears variables on entry (CONFIG_INIT_STACK_ALL_ZERO).  A variable
 * with this attribute is not cleared, because it is written before it is read.
 */
#define tcon_uninitialized	__attribute__((__uninitialized__))

#define TCON_MAX_SACKS		4	/* as many as 40 bytes of options hold */
#define TCON_MAX_VLANS		2
#define TCON_VLAN_ID_MASK	0x0fff
#define TCON_VLANS_FOLDED	0x8000	/* of more than one */
#define TCON_WSCALE_NONE	0xff
#define TCON_WSCALE_MAX		14	/* RFC 7323, 2.3 */

/* Flags of the TCP header, as they stand in its 14th byte. */
#define TCON_TCP_FIN		0x01
#define TCON_TCP_SYN		0x02
#define TCON_TCP_RST		0x04
#define TCON_TCP_PSH		0x08
#define TCON_TCP_ACK		0x10
#define TCON_TCP_ECE		0x40
#define TCON_TCP_CWR		0x80

/* TCP's ECN flags, with AE, as bits of the number that RFC 9768 makes of them (ACE). */
#define TCON_ACE_ECE		0x01
#define TCON_ACE_CWR		0x02
#define TCON_ACE_AE		0x04

/* TCon's own option: an experimental kind (RFC 6994).  The identifier is not registered. */
#define TCON_OPTION_KIND	254
#define TCON_OPTION_EXID	0x54ce
#define TCON_OPTION_OFFER_BYTES	4	/* on a SYN: offers to count */
#define TCON_OPTION_COUNT_BYTES	8	/* on the answer and all that follows: has the count */

/**
 * union tcon_addr - an IPv4 or IPv6 address, network order
 * @ip4: IPv4; the rest is then zero
 * @ip6: IPv6
 * @words: for hashing and comparing
 */
union tcon_addr {
	__be32 ip4;
	u8 ip6[16];
	u32 words[4];
};

/**
 * struct tcon_sack - one SACK block (RFC 2018)
 * @start: first sequence number of the block
 * @end: the one after its last
 */
struct tcon_sack {
	u32 start;
	u32 end;
};

/**
 * enum tcon_fragment - which part of a segment is in the packet
 * @TCON_WHOLE: all of it
 * @TCON_FRAGMENT_FIRST: the first fragment, with the TCP header
 * @TCON_FRAGMENT_LATER: another one
 */
enum tcon_fragment {
	TCON_WHOLE,
	TCON_FRAGMENT_FIRST,
	TCON_FRAGMENT_LATER,
};

/**
 * struct tcon_packet - what the parser found in a frame
 *
 * For addresses and ports see tcon_key_set_ends().
 *
 * @family: AF_INET or AF_INET6
 * @fragment: enum tcon_fragment; of a fragment only its own payload counts, and no FIN
 * @ident: with a fragment: the identification of the IP packet
 * @fragment_bytes: offset in the IP packet, of a later fragment, or of the first one's TCP header
 * @foreign: a later fragment says that it is of another protocol, which counts for nothing if the
 *	first one says something else (RFC 8200, 4.5)
 * @n_vlans: number of VLAN tags in the frame, not counting identifier 0; at most %TCON_MAX_VLANS
 * @vlan_ids: their identifiers, outermost first; if there are more, the last is of all that follow:
 *	tcon_packet_fold_vlans()
 * @l3_offset: offset of the IP header from the start of the frame, bytes
 * @l4_offset: offset of the TCP header
 * @payload_offset: offset of the TCP payload
 * @payload_bytes: length of the payload, without padding of the frame
 * @seq: sequence number of the first byte, or of SYN or FIN
 * @end_seq: the sequence number after the last; SYN and FIN count
 * @ack: acknowledgment number; valid with %TCON_TCP_ACK
 * @window: the window field, host order, not scaled
 * @flags: TCON_TCP_*
 * @ae: the flag before them: AE of RFC 9768, formerly NS
 * @tos: IPv4 TOS or IPv6 traffic class
 * @mss: MSS option; 0: absent
 * @wscale: window scale option, at most %TCON_WSCALE_MAX; %TCON_WSCALE_NONE
 * @sack_permitted: SACK-permitted option present
 * @signed_options: TCP-MD5 (RFC 2385) or TCP-AO (RFC 5925) present
 * @mptcp: an MPTCP option (RFC 8684) is present
 * @option_bytes: length of TCon's own option; 0: absent
 * @n_sacks: number of well-formed blocks in @sacks
 * @has_ts: the time stamp option is present
 * @tsval: TSval
 * @tsecr: TSecr
 * @ce_bytes: with %TCON_OPTION_COUNT_BYTES, the count
 * @sacks: blocks in the order of the option
 * @pull_bytes: with %TCON_PARSE_PULL: how many bytes must be linear
 * @skip: with %TCON_PARSE_SKIP: the counter of the reason
 */
struct tcon_packet {
	u8 family;
	u8 fragment;
	u8 n_vlans;
	u16 vlan_ids[TCON_MAX_VLANS];
	u16 l3_offset;
	u16 l4_offset;
	u16 payload_offset;
	u32 payload_bytes;
	u32 seq;
	u32 end_seq;
	u32 ack;
	u16 window;
	u8 flags;
	bool ae;
	u8 tos;
	u16 mss;
	u8 wscale;
	bool sack_permitted;
	bool signed_options;
	bool mptcp;
	u8 option_bytes;
	u8 n_sacks;
	bool has_ts;
	u32 tsval;
	u32 tsecr;
	u32 ce_bytes;
	struct tcon_sack sacks[TCON_MAX_SACKS];
	u32 pull_bytes;
	enum tcon_counter skip;
	u32 ident;
	u16 fragment_bytes;
	bool foreign;
};

/**
 * enum tcon_parse - outcome of tcon_packet_parse()
 * @TCON_PARSE_OK: a TCP segment; all fields are set
 * @TCON_PARSE_LATER: a later fragment, perhaps of a TCP segment; set are family, fragment, ident,
 *	fragment_bytes, foreign, VLANs, l3_offset, payload_offset and payload_bytes
 * @TCON_PARSE_PULL: make tcon_packet.pull_bytes linear and call again
 * @TCON_PARSE_SKIP: not for TCon; tcon_packet.skip says why
 * @TCON_PARSE_TAGS: too many VLAN tags, whatever their identifiers, to tell what is behind them;
 *	tcon_packet.skip is %TCON_COUNTER_ENCAP_DEPTH
 */
enum tcon_parse {
	TCON_PARSE_OK,
	TCON_PARSE_LATER,
	TCON_PARSE_PULL,
	TCON_PARSE_SKIP,
	TCON_PARSE_TAGS,
};

enum tcon_parse tcon_packet_parse(struct tcon_packet *pkt, const u8 *frame,
				  u32 linear_bytes, u32 frame_bytes, bool super);

/*
 * One number for the identifiers of two VLANs, one within the other, or of more.  A key has no room
 * for each.  If others have the same number, that matters only to the guest that uses them.
 */
static inline u16 tcon_packet_fold_vlans(u16 outer, u16 inner)
{
	return ((outer ^ inner) & TCON_VLAN_ID_MASK) | TCON_VLANS_FOLDED;
}

/* Does a segment begin or end a connection? */
static inline bool tcon_packet_is_end(const struct tcon_packet *pkt)
{
	return pkt->flags & (TCON_TCP_SYN | TCON_TCP_FIN | TCON_TCP_RST);
}

/* A segment without data, SYN, FIN and RST. */
static inline bool tcon_packet_is_pure_ack(const struct tcon_packet *pkt)
{
	return pkt->seq == pkt->end_seq && !(pkt->flags & TCON_TCP_RST);
}

#endif /* _TCON_PACKET_H */
