// SPDX-License-Identifier: GPL-2.0-only
/*
 * ECN on the guest's behalf (datapath/sender/ecn.c): both roles, guests that speak it and
 * that do not, peers of all kinds.
 */
#include "datapath/sender/ecn.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define ACK	TCON_TCP_ACK
#define SYN	TCON_TCP_SYN
#define ECE	TCON_TCP_ECE
#define CWR	TCON_TCP_CWR
#define MSS	1448

#define OFFER	TCON_OPTION_OFFER_BYTES
#define ANSWER	TCON_OPTION_COUNT_BYTES
#define COUNT	TCON_OPTION_COUNT_BYTES

static struct tcon_ecn e;
static struct tcon_ecn_edit edit;

/* A segment with 20 bytes of options if SYN, 12 else. */
static struct tcon_packet segment(u8 flags, u32 payload_bytes)
{
	struct tcon_packet pkt = {
		.flags = flags,
		.l4_offset = 34,
		.payload_offset = 34 + 20 + (flags & SYN ? 20 : 12),
		.payload_bytes = payload_bytes,
		.seq = 1000,
		.ack = 5001,
	};

	pkt.end_seq = pkt.seq + payload_bytes + !!(flags & SYN);
	return pkt;
}

/* Does the CC of the rule want ECN, or is there none? */
static enum tcon_ecn_wish wish_of(bool wanted)
{
	return wanted ? TCON_ECN_ASK : TCON_ECN_LEAVE;
}

static void guest_syn(u8 flags, bool ae, bool wanted, bool again)
{
	struct tcon_packet pkt = segment(SYN | flags, 0);

	pkt.ae = ae;
	edit = tcon_ecn_no_edit(&pkt);
	tcon_ecn_guest_syn(&e, &pkt, wish_of(wanted), again, true, &edit);
}

static void peer_answers(u8 flags, bool ae, u8 option_bytes)
{
	struct tcon_packet pkt = segment(SYN | ACK | flags, 0);

	pkt.ae = ae;
	pkt.option_bytes = option_bytes;
	edit = tcon_ecn_no_edit(&pkt);
	tcon_ecn_peer_answer(&e, &pkt, true, &edit);
}

static void peer_syn(u8 flags, bool ae, u8 option_bytes, bool wanted)
{
	struct tcon_packet pkt = segment(SYN | flags, 0);

	pkt.ae = ae;
	pkt.seq = 5000;
	pkt.option_bytes = option_bytes;
	edit = tcon_ecn_no_edit(&pkt);
	tcon_ecn_peer_syn(&e, &pkt, wish_of(wanted), &edit);
}

static void guest_answers(u8 flags, bool ae, bool wanted)
{
	struct tcon_packet pkt = segment(SYN | ACK | flags, 0);

	pkt.ae = ae;
	edit = tcon_ecn_no_edit(&pkt);
	tcon_ecn_guest_answer(&e, &pkt, wish_of(wanted), true, &edit);
}

static void from_guest_of(struct tcon_packet pkt, enum tcon_cc_ecn cc_ecn,
			  bool gso)
{
	struct tcon_ecn_sent sent = {
		.governed = cc_ecn != TCON_CC_ECN_NONE, .cc_ecn = cc_ecn,
		.nxt_guest = 1000, .mss_bytes = MSS, .gso = gso,
	};

	edit = tcon_ecn_no_edit(&pkt);
	tcon_ecn_from_guest(&e, &pkt, &sent, &edit);
}

static void from_guest(u8 flags, u32 bytes, enum tcon_cc_ecn cc_ecn)
{
	from_guest_of(segment(ACK | flags, bytes), cc_ecn, false);
}

static void to_guest_of(u8 flags, u32 bytes, u8 ecn, bool heard,
			enum tcon_cc_ecn cc_ecn)
{
	struct tcon_packet pkt = segment(ACK | flags, bytes);

	pkt.tos = 0xb8 | ecn;
	edit = tcon_ecn_no_edit(&pkt);
	tcon_ecn_to_guest(&e, &pkt, heard, cc_ecn != TCON_CC_ECN_NONE, &edit);
}

static void to_guest(u8 flags, u32 bytes, u8 ecn, enum tcon_cc_ecn cc_ecn)
{
	to_guest_of(flags, bytes, ecn, true, cc_ecn);
}

static bool untouched(u8 ecn)
{
	return !edit.set && !edit.clear && !edit.clear_ae && !edit.strip &&
	       !edit.add_bytes && edit.ecn == ecn;
}

static enum tcon_ecn_mode mode(void)
{
	return tcon_ecn_mode(&e, true, TCON_ECN_ASK);
}

/* TCon asked, and the peer (with a TCon, if @option_bytes) agreed. */
static void agree(u8 option_bytes)
{
	memset(&e, 0, sizeof(e));
	guest_syn(0, false, true, false);
	peer_answers(ECE, false, option_bytes);
	assert_true(e.agreed);
}

static int setup(void **unused)
{
	memset(&e, 0, sizeof(e));
	return 0;
}

/* The guest opens. */

static void asks_for_guest(void **unused)
{
	guest_syn(0, false, true, false);
	assert_int_equal(edit.set, ECE | CWR);
	assert_int_equal(edit.add_bytes, OFFER);
	assert_int_equal(edit.ecn, TCON_ECN_NOT_ECT);
	peer_answers(ECE, false, 0);
	assert_int_equal(edit.clear, ECE);
	assert_int_equal(mode(), TCON_ECN_COARSE);
	assert_int_equal(tcon_ecn_mode(&e, false, TCON_ECN_ASK), TCON_ECN_UNUSED);

	guest_syn(0, false, true, false);	/* a new connection */
	assert_false(e.agreed);
	peer_answers(ECE, false, ANSWER);
	assert_true(edit.strip);
	assert_int_equal(mode(), TCON_ECN_EXACT);
}

/* A peer that sends back what it does not know: no TCon, it gets no counts. */
static void echo_of_options(void **unused)
{
	guest_syn(0, false, true, false);
	assert_int_equal(edit.add_bytes, OFFER);
	peer_answers(ECE, false, edit.add_bytes);
	assert_true(edit.strip);
	assert_int_equal(edit.clear, ECE);
	assert_int_equal(mode(), TCON_ECN_COARSE);
	to_guest(0, MSS, TCON_ECN_CE, TCON_CC_ECN_ALL);
	from_guest(0, 0, TCON_CC_ECN_ALL);
	assert_int_equal(edit.add_bytes, 0);
	assert_int_equal(edit.set, ECE);
}

static void refused(void **unused)
{
	static const u8 no[] = { 0, CWR, ECE | CWR };
	int i;

	for (i = 0; i < ARRAY_SIZE(no); i++) {
		guest_syn(0, false, true, false);
		peer_answers(no[i], false, ANSWER);
		assert_int_equal(edit.clear, 0);
		assert_false(e.exact);
		assert_int_equal(mode(), TCON_ECN_REFUSED);
		from_guest(0, MSS, TCON_CC_ECN_ALL);
		assert_true(untouched(0));
		to_guest(ECE, MSS, TCON_ECN_CE, TCON_CC_ECN_ALL);
		assert_true(untouched(TCON_ECN_CE));
	}
}

/* No rule wants it: nothing is asked, and later it is too late. */
static void not_wanted(void **unused)
{
	guest_syn(0, false, false, false);
	assert_true(untouched(0));
	peer_answers(0, false, 0);
	assert_true(untouched(0));
	assert_int_equal(mode(), TCON_ECN_LATE);
	guest_syn(ECE | CWR, false, false, false);
	assert_true(untouched(0));
	peer_answers(ECE, false, 0);
	assert_true(untouched(0));
	assert_int_equal(mode(), TCON_ECN_COARSE);	/* the guest's own */
	guest_syn(0, false, false, false);
	peer_answers(ECE, false, 0);			/* nobody has asked */
	assert_true(untouched(0));
	assert_false(e.agreed);
}

/* A SYN that the guest repeats leaves as it is, with its own ECN or without. */
static void fall_back(void **unused)
{
	guest_syn(0, false, true, false);
	guest_syn(0, false, true, true);
	assert_true(untouched(0));
	assert_true(e.fell_back);
	peer_answers(0, false, 0);
	assert_int_equal(mode(), TCON_ECN_FELL_BACK);

	/* The first SYN arrived after all: what the peer expects is done, no more. */
	guest_syn(0, false, true, false);
	assert_false(e.fell_back);
	guest_syn(0, false, true, true);
	peer_answers(ECE, false, ANSWER);
	assert_int_equal(edit.clear, ECE);
	assert_int_equal(mode(), TCON_ECN_FELL_BACK);
	from_guest(0, MSS, TCON_CC_ECN_ALL);
	assert_true(untouched(0));
	assert_int_equal(tcon_ecn_of_repeat(&e, TCON_CC_ECN_ALL), 0);
	to_guest(0, MSS, TCON_ECN_CE, TCON_CC_ECN_ALL);
	from_guest(0, 0, TCON_CC_ECN_ALL);
	assert_int_equal(edit.set, ECE);
	assert_int_equal(edit.add_bytes, COUNT);

	/* The rule came between the two. */
	guest_syn(0, false, false, false);
	guest_syn(0, false, true, true);
	assert_true(untouched(0));
	assert_false(e.fell_back);

	guest_syn(ECE | CWR, false, false, false);
	guest_syn(ECE | CWR, false, true, true);
	assert_true(untouched(0));

	/* A guest of its own mind, which gives up by itself. */
	guest_syn(ECE | CWR, false, true, false);
	assert_int_equal(edit.set, 0);
	assert_int_equal(edit.add_bytes, OFFER);
	guest_syn(ECE | CWR, false, true, true);
	assert_int_equal(edit.add_bytes, OFFER);
	guest_syn(0, false, true, true);
	assert_true(untouched(0));
	assert_false(e.fell_back);
}

static void no_room_on_syn(void **unused)
{
	struct tcon_packet pkt = segment(SYN, 0);

	pkt.payload_offset = pkt.l4_offset + 56;
	edit = tcon_ecn_no_edit(&pkt);
	tcon_ecn_guest_syn(&e, &pkt, TCON_ECN_ASK, false, true, &edit);
	assert_int_equal(edit.add_bytes, OFFER);
	pkt.payload_offset += 4;
	edit = tcon_ecn_no_edit(&pkt);
	tcon_ecn_guest_syn(&e, &pkt, TCON_ECN_ASK, false, true, &edit);
	assert_int_equal(edit.add_bytes, 0);
	assert_int_equal(edit.set, ECE | CWR);
	peer_answers(ECE, false, ANSWER);	/* to whom? */
	assert_int_equal(mode(), TCON_ECN_COARSE);
	pkt = segment(SYN, 100);		/* TCP Fast Open */
	edit = tcon_ecn_no_edit(&pkt);
	tcon_ecn_guest_syn(&e, &pkt, TCON_ECN_ASK, false, true, &edit);
	assert_int_equal(edit.add_bytes, 0);
	pkt = segment(SYN, 0);			/* not allowed to */
	edit = tcon_ecn_no_edit(&pkt);
	tcon_ecn_guest_syn(&e, &pkt, TCON_ECN_ASK, false, false, &edit);
	assert_int_equal(edit.add_bytes, 0);
}

/* A SYN in place of a live connection changes nothing until the peer answers it. */
static void opens_anew(void **unused)
{
	struct tcon_packet pkt = segment(SYN | ECE | CWR, 0);

	guest_syn(0, false, true, false);
	peer_answers(ECE, false, 0);
	assert_int_equal(mode(), TCON_ECN_COARSE);
	pkt.ae = true;
	edit = tcon_ecn_no_edit(&pkt);
	tcon_ecn_guest_anew(&e, &pkt, TCON_ECN_ASK, &edit);
	assert_true(edit.clear_ae);
	assert_int_equal(edit.set, 0);
	assert_true(e.asked && e.agreed && !e.speaks);
	tcon_ecn_replace(&e);
	assert_true(e.speaks && !e.asked && !e.agreed && !e.accurate_asked);

	edit = tcon_ecn_no_edit(&pkt);
	tcon_ecn_guest_anew(&e, &pkt, TCON_ECN_LEAVE, &edit);
	tcon_ecn_replace(&e);
	assert_true(e.speaks && e.accurate_asked);
	pkt = segment(SYN, 0);
	tcon_ecn_guest_anew(&e, &pkt, TCON_ECN_ASK, &edit);
	assert_int_equal(edit.set, 0);
	tcon_ecn_replace(&e);
	assert_false(e.speaks || e.asked || e.accurate_asked);
}

/* The guest answers. */

static void answers_for_guest(void **unused)
{
	peer_syn(ECE | CWR, false, 0, true);
	assert_true(untouched(0));
	guest_answers(0, false, true);
	assert_int_equal(edit.set, ECE);
	assert_int_equal(edit.add_bytes, 0);
	assert_int_equal(mode(), TCON_ECN_COARSE);
	guest_answers(0, false, false);		/* again; the rule has gone */
	assert_int_equal(edit.set, ECE);

	tcon_ecn_restart(&e);			/* the peer asks only when it repeats its SYN */
	peer_syn(0, false, 0, true);
	guest_answers(0, false, true);
	peer_syn(ECE | CWR, false, 0, true);
	guest_answers(0, false, true);
	assert_true(untouched(0));
	assert_false(e.agreed);

	tcon_ecn_restart(&e);			/* a rule that does not want it */
	guest_answers(0, false, false);
	assert_true(untouched(0));
	assert_false(e.agreed);

	tcon_ecn_restart(&e);			/* the guest itself */
	guest_answers(ECE, false, true);
	assert_true(untouched(0));
	assert_true(e.agreed && e.speaks);

	tcon_ecn_restart(&e);			/* who knows what that means */
	guest_answers(CWR, false, true);
	assert_true(untouched(0));
	assert_false(e.agreed);
	tcon_ecn_restart(&e);
	guest_answers(0, true, true);
	assert_true(untouched(0));

	tcon_ecn_restart(&e);
	peer_syn(0, false, 0, true);
	guest_answers(0, false, true);
	assert_true(untouched(0));
	assert_int_equal(mode(), TCON_ECN_REFUSED);
}

/* Where the peer's TCon counts, any guest's answer agrees. */
static void answers_a_tcon(void **unused)
{
	peer_syn(ECE | CWR, false, OFFER, false);
	assert_true(edit.strip);
	guest_answers(0, false, false);
	assert_int_equal(edit.set, ECE);
	assert_int_equal(edit.add_bytes, ANSWER);
	assert_int_equal(edit.ce_bytes, 0);
	assert_true(e.exact);

	tcon_ecn_restart(&e);
	guest_answers(ECE, false, false);
	assert_int_equal(edit.set, 0);
	assert_int_equal(edit.add_bytes, ANSWER);
	assert_true(e.exact && e.speaks);
}

/* An answer to another SYN than the last says nothing. */
static void other_syn(void **unused)
{
	struct tcon_packet pkt = segment(SYN | ACK, 0);

	peer_syn(ECE | CWR, false, OFFER, true);
	pkt.ack++;
	edit = tcon_ecn_no_edit(&pkt);
	tcon_ecn_guest_answer(&e, &pkt, TCON_ECN_ASK, true, &edit);
	assert_true(untouched(0));
	assert_false(e.agreed);
}

/* AccECN: never half-edited. */

static void accurate_guest(void **unused)
{
	static const struct { u8 flags; bool ae; } yes[] = {
		{ CWR, false }, { ECE | CWR, false }, { 0, true }, { CWR, true },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(yes); i++) {
		guest_syn(ECE | CWR, true, false, false);
		assert_true(untouched(0));
		peer_answers(yes[i].flags, yes[i].ae, 0);
		assert_true(untouched(0));
		assert_int_equal(mode(), TCON_ECN_ACCURATE);
		from_guest(ECE, MSS, TCON_CC_ECN_ALL);
		assert_true(untouched(0));
		to_guest(ECE | CWR, MSS, TCON_ECN_CE, TCON_CC_ECN_ALL);
		assert_true(untouched(TCON_ECN_CE));
	}
	guest_syn(ECE | CWR, true, false, false);	/* an older peer */
	peer_answers(ECE, false, 0);
	assert_true(untouched(0));
	assert_int_equal(mode(), TCON_ECN_COARSE);
	guest_syn(ECE | CWR, true, false, false);
	peer_answers(0, false, 0);
	assert_false(e.accurate || e.agreed);

	guest_syn(ECE | CWR, true, true, false);	/* downgraded */
	assert_true(edit.clear_ae);
	assert_int_equal(edit.set | edit.clear, 0);
	peer_answers(ECE, false, 0);
	assert_int_equal(mode(), TCON_ECN_COARSE);
	guest_syn(ECE | CWR, true, true, false);
	peer_answers(CWR, false, 0);
	assert_int_equal(mode(), TCON_ECN_REFUSED);
	guest_syn(0, true, true, false);		/* who knows */
	assert_true(untouched(0));
	guest_syn(CWR, false, true, false);
	assert_true(untouched(0));
}

static void accurate_peer(void **unused)
{
	peer_syn(ECE | CWR, true, 0, false);
	assert_true(untouched(0));
	guest_answers(CWR, false, true);
	assert_true(untouched(0));
	assert_int_equal(mode(), TCON_ECN_ACCURATE);
	tcon_ecn_restart(&e);
	guest_answers(ECE, false, true);
	assert_true(e.agreed && e.speaks);
	tcon_ecn_restart(&e);
	guest_answers(0, false, true);		/* says no: so be it */
	assert_true(untouched(0));
	assert_false(e.agreed);

	tcon_ecn_restart(&e);
	peer_syn(ECE | CWR, true, OFFER, true);
	assert_true(edit.clear_ae);
	guest_answers(0, false, true);
	assert_int_equal(edit.set, ECE);
	assert_int_equal(edit.add_bytes, 0);
	assert_int_equal(mode(), TCON_ECN_COARSE);
}

/* Segments. */

static void marking(void **unused)
{
	struct tcon_packet old = segment(ACK, MSS);

	agree(0);
	from_guest(0, MSS, TCON_CC_ECN_ALL);
	assert_int_equal(edit.ecn, TCON_ECN_ECT0);
	from_guest(0, 0, TCON_CC_ECN_ALL);
	assert_int_equal(edit.ecn, TCON_ECN_ECT0);
	from_guest(0, 0, TCON_CC_ECN_DATA);
	assert_int_equal(edit.ecn, TCON_ECN_NOT_ECT);
	from_guest(0, MSS, TCON_CC_ECN_DATA);
	assert_int_equal(edit.ecn, TCON_ECN_ECT0);
	old.seq = 0;
	old.end_seq = MSS - 1000 + 552;
	from_guest_of(old, TCON_CC_ECN_DATA, false);	/* a repeat */
	assert_int_equal(edit.ecn, TCON_ECN_NOT_ECT);
	from_guest_of(old, TCON_CC_ECN_ALL, false);
	assert_int_equal(edit.ecn, TCON_ECN_ECT0);
	from_guest(TCON_TCP_RST, 0, TCON_CC_ECN_ALL);
	assert_true(untouched(0));
	from_guest(0, MSS, TCON_CC_ECN_NONE);		/* the rule has gone */
	assert_true(untouched(0));
	assert_int_equal(tcon_ecn_of_repeat(&e, TCON_CC_ECN_ALL),
			 TCON_ECN_ECT0);
	assert_int_equal(tcon_ecn_of_repeat(&e, TCON_CC_ECN_DATA), 0);
	assert_int_equal(tcon_ecn_of_repeat(&e, TCON_CC_ECN_NONE), 0);
}

/* ECE is hidden; CWR goes with the next new data, once per window. */
static void echo_of_peer(void **unused)
{
	struct tcon_packet next = segment(ACK, MSS), ack = segment(ACK | ECE, 0);

	agree(0);
	to_guest(ECE, 0, 0, TCON_CC_ECN_ALL);
	assert_int_equal(edit.clear & ECE, ECE);
	from_guest(0, 0, TCON_CC_ECN_ALL);		/* an ACK carries none */
	assert_int_equal(edit.set, 0);
	from_guest(0, 4001, TCON_CC_ECN_ALL);		/* from 1000 on */
	assert_int_equal(edit.set, CWR);
	from_guest(0, 4001, TCON_CC_ECN_ALL);
	assert_int_equal(edit.set, 0);
	ack.ack = 1000;
	tcon_ecn_to_guest(&e, &ack, true, true, &edit);	/* of that window */
	from_guest(0, 4001, TCON_CC_ECN_ALL);
	assert_int_equal(edit.set, 0);
	ack.ack = 1000 + MSS;	/* of the next, though not all of the super-packet has arrived */
	tcon_ecn_to_guest(&e, &ack, true, true, &edit);
	next.end_seq = 1000;				/* not new */
	from_guest_of(next, TCON_CC_ECN_ALL, false);
	assert_int_equal(edit.set, 0);
	from_guest(0, MSS, TCON_CC_ECN_ALL);
	assert_int_equal(edit.set, CWR);
	e.cwr_sent = false;				/* nobody reacts any more */
	to_guest(ECE, 0, 0, TCON_CC_ECN_ALL);
	to_guest(0, 0, 0, TCON_CC_ECN_NONE);
	from_guest(0, MSS, TCON_CC_ECN_ALL);
	assert_int_equal(edit.set, 0);
}

/* The guest sends @bytes, and the peer acknowledges all of it, with @flags. */
static void round_trip(u32 *nxt, u32 bytes, u8 flags)
{
	struct tcon_packet data = segment(ACK, bytes), ack = segment(ACK | flags, 0);
	struct tcon_ecn_sent sent = {
		.governed = true,
		.cc_ecn = TCON_CC_ECN_ALL,
		.nxt_guest = *nxt,
		.mss_bytes = MSS,
	};

	data.seq = *nxt;
	data.end_seq = *nxt + bytes;
	ack.ack = *nxt = data.end_seq;
	edit = tcon_ecn_no_edit(&ack);
	tcon_ecn_from_guest(&e, &data, &sent, &edit);
	assert_int_equal(edit.ecn, TCON_ECN_ECT0);
	tcon_ecn_to_guest(&e, &ack, true, true,
			  &(struct tcon_ecn_edit) {});
}

/* The first mark after 2^31 bytes without one is answered, as any other. */
static void echo_after_a_long_time(void **unused)
{
	u32 nxt = 1001, i;

	agree(0);
	round_trip(&nxt, MSS, ECE);
	round_trip(&nxt, MSS, 0);
	assert_int_equal(edit.set, CWR);
	for (i = 0; i < 5; i++) {	/* 2.5 GiB */
		round_trip(&nxt, BIT(29), i == 4 ? ECE : 0);
		assert_int_equal(edit.set, 0);
	}
	round_trip(&nxt, MSS, 0);
	assert_int_equal(edit.set, CWR);
}

/* For a guest that does not know: ECE from CE until CWR, and it sees neither. */
static void echo_for_guest(void **unused)
{
	agree(0);
	to_guest(0, 0, TCON_ECN_CE, TCON_CC_ECN_NONE);	/* an ACK: not reliable */
	from_guest(0, 0, TCON_CC_ECN_NONE);
	assert_int_equal(edit.set, 0);
	to_guest(0, MSS, TCON_ECN_ECT0, TCON_CC_ECN_NONE);
	assert_int_equal(edit.ecn, TCON_ECN_NOT_ECT);
	from_guest(0, 0, TCON_CC_ECN_NONE);
	assert_int_equal(edit.set, 0);
	to_guest(0, MSS, TCON_ECN_CE, TCON_CC_ECN_NONE);
	assert_int_equal(edit.ecn, TCON_ECN_NOT_ECT);
	from_guest(0, 0, TCON_CC_ECN_NONE);
	assert_int_equal(edit.set, ECE);
	from_guest(0, MSS, TCON_CC_ECN_NONE);
	assert_int_equal(edit.set, ECE);
	to_guest(CWR, MSS, TCON_ECN_CE, TCON_CC_ECN_NONE);	/* both: CE is newer */
	assert_int_equal(edit.clear & CWR, CWR);
	from_guest(0, 0, TCON_CC_ECN_NONE);
	assert_int_equal(edit.set, ECE);
	to_guest(CWR, MSS, TCON_ECN_ECT0, TCON_CC_ECN_NONE);
	from_guest(0, 0, TCON_CC_ECN_NONE);
	assert_int_equal(edit.set, 0);
	assert_int_equal(edit.add_bytes, 0);
}

/* Where marks begin and end, and at CWR, TCon knows that an ACK is wanted at once. */
static void push_of_guest(void **unused)
{
	static const struct {
		u8 flags, ecn;
		u32 bytes;
		bool heard, pushed;
	} come[] = {
		{ 0, TCON_ECN_ECT0, MSS, true, false },
		{ CWR, TCON_ECN_ECT0, MSS, true, true },
		{ CWR, TCON_ECN_ECT0, 0, true, false },
		{ CWR, TCON_ECN_ECT0, MSS, false, false },
		{ 0, TCON_ECN_CE, 0, true, false },	/* an ACK: nobody answers it */
		{ 0, TCON_ECN_CE, MSS, false, false },
		{ 0, TCON_ECN_CE, MSS, true, true },
		{ 0, TCON_ECN_CE, MSS, true, false },
		{ 0, TCON_ECN_ECT0, 0, true, false },
		{ 0, TCON_ECN_ECT0, MSS, true, true },
		{ 0, TCON_ECN_NOT_ECT, MSS, true, false },
		{ 0, TCON_ECN_CE, 1, true, true },
	};
	int i;

	agree(0);
	for (i = 0; i < ARRAY_SIZE(come); i++) {
		to_guest_of(come[i].flags, come[i].bytes, come[i].ecn, come[i].heard,
			    TCON_CC_ECN_NONE);
		assert_int_equal(edit.set,
				 come[i].pushed ? TCON_TCP_PSH : 0);
	}
	guest_syn(ECE | CWR, false, true, false);	/* it echoes itself */
	peer_answers(ECE, false, 0);
	to_guest(0, MSS, TCON_ECN_CE, TCON_CC_ECN_ALL);
	assert_int_equal(edit.set, 0);
	guest_syn(ECE | CWR, false, true, false);	/* its TCon counts */
	peer_answers(ECE, false, ANSWER);
	to_guest(0, MSS, TCON_ECN_CE, TCON_CC_ECN_ALL);
	assert_int_equal(edit.set, TCON_TCP_PSH);
	assert_int_equal(edit.ecn, TCON_ECN_CE);
}

/* One that speaks ECN sees all but the ECE that TCon reacts to. */
static void guest_that_speaks(void **unused)
{
	guest_syn(ECE | CWR, false, true, false);
	peer_answers(ECE, false, 0);
	assert_true(untouched(0));
	to_guest(ECE | CWR, MSS, TCON_ECN_CE, TCON_CC_ECN_ALL);
	assert_int_equal(edit.clear, ECE);
	assert_int_equal(edit.ecn, TCON_ECN_CE);
	from_guest(ECE, MSS, TCON_CC_ECN_ALL);
	assert_int_equal(edit.set, CWR);
	to_guest(ECE | CWR, MSS, TCON_ECN_CE, TCON_CC_ECN_NONE);
	assert_true(untouched(TCON_ECN_CE));
	from_guest(0, 0, TCON_CC_ECN_NONE);
	assert_true(untouched(0));
}

/* Under a CC that asks for no ECN: it hears the marks all the same, and the guest does not. */
static void guest_under_any_cc(void **unused)
{
	struct tcon_ecn_sent sent = {
		.governed = true, .cc_ecn = TCON_CC_ECN_NONE, .nxt_guest = 1000,
		.mss_bytes = MSS,
	};
	struct tcon_packet pkt = segment(SYN | ECE | CWR, 0);

	edit = tcon_ecn_no_edit(&pkt);
	tcon_ecn_guest_syn(&e, &pkt, TCON_ECN_HEAR, false, true, &edit);
	assert_true(untouched(0));
	assert_int_equal(tcon_ecn_mode(&e, true, TCON_ECN_HEAR), TCON_ECN_UNUSED);
	peer_answers(ECE, false, 0);
	assert_true(untouched(0));
	assert_int_equal(tcon_ecn_mode(&e, true, TCON_ECN_HEAR), TCON_ECN_COARSE);
	assert_int_equal(tcon_ecn_mode(&e, false, TCON_ECN_HEAR), TCON_ECN_UNUSED);

	pkt = segment(ACK | ECE, 0);
	pkt.tos = TCON_ECN_CE;
	edit = tcon_ecn_no_edit(&pkt);
	tcon_ecn_to_guest(&e, &pkt, true, true, &edit);
	assert_int_equal(edit.clear, ECE);
	assert_int_equal(edit.ecn, TCON_ECN_CE);
	pkt = segment(ACK, MSS);
	edit = tcon_ecn_no_edit(&pkt);
	tcon_ecn_from_guest(&e, &pkt, &sent, &edit);
	assert_int_equal(edit.set, CWR);
	assert_int_equal(edit.ecn, TCON_ECN_NOT_ECT);	/* the guest's choice */

	pkt = segment(SYN | ECE | CWR, 0);		/* AccECN: could not be hidden */
	pkt.ae = true;
	edit = tcon_ecn_no_edit(&pkt);
	tcon_ecn_guest_syn(&e, &pkt, TCON_ECN_HEAR, false, true, &edit);
	assert_true(edit.clear_ae);
	assert_int_equal(edit.set | edit.clear | edit.add_bytes, 0);
	peer_answers(ECE, false, 0);
	assert_true(e.agreed && !e.accurate);
	edit = tcon_ecn_no_edit(&pkt);
	tcon_ecn_peer_syn(&e, &pkt, TCON_ECN_HEAR, &edit);
	assert_true(edit.clear_ae);
	assert_true(e.peer_syn.asks && !e.peer_syn.accurate);

	pkt = segment(SYN, 0);				/* one without ECN: not asked */
	edit = tcon_ecn_no_edit(&pkt);
	tcon_ecn_guest_syn(&e, &pkt, TCON_ECN_HEAR, false, true, &edit);
	assert_true(untouched(0));
	assert_false(e.asked);
	assert_int_equal(tcon_ecn_mode(&e, true, TCON_ECN_HEAR), TCON_ECN_UNUSED);
}

/* A path that eats what is ECN-capable, from the start or later. */
static void eaten(void **unused)
{
	struct tcon_packet pkt = segment(ACK, MSS);

	assert_false(tcon_ecn_timeout(&e, TCON_CC_ECN_ALL));	/* nothing agreed */
	agree(0);
	assert_false(tcon_ecn_timeout(&e, TCON_CC_ECN_NONE));
	assert_false(tcon_ecn_timeout(&e, TCON_CC_ECN_ALL));
	assert_int_equal(tcon_ecn_of_repeat(&e, TCON_CC_ECN_ALL), TCON_ECN_ECT0);
	assert_true(tcon_ecn_timeout(&e, TCON_CC_ECN_ALL));
	assert_false(tcon_ecn_timeout(&e, TCON_CC_ECN_ALL));	/* said once */
	assert_int_equal(mode(), TCON_ECN_FELL_BACK);
	assert_int_equal(tcon_ecn_of_repeat(&e, TCON_CC_ECN_ALL), 0);
	from_guest(0, MSS, TCON_CC_ECN_ALL);
	assert_true(untouched(0));
	assert_false(tcon_ecn_arrived(&e, TCON_CC_ECN_ALL));

	agree(0);						/* later */
	assert_true(tcon_ecn_arrived(&e, TCON_CC_ECN_ALL));
	assert_false(tcon_ecn_arrived(&e, TCON_CC_ECN_ALL));
	assert_false(tcon_ecn_timeout(&e, TCON_CC_ECN_ALL));
	assert_false(tcon_ecn_timeout(&e, TCON_CC_ECN_ALL));
	tcon_ecn_arrived(&e, TCON_CC_ECN_ALL);			/* an outage */
	assert_false(tcon_ecn_timeout(&e, TCON_CC_ECN_ALL));
	assert_false(tcon_ecn_timeout(&e, TCON_CC_ECN_ALL));
	assert_true(tcon_ecn_timeout(&e, TCON_CC_ECN_ALL));

	guest_syn(ECE | CWR, false, true, false);	/* the guest's own ECT goes, too */
	peer_answers(ECE, false, 0);
	assert_false(tcon_ecn_timeout(&e, TCON_CC_ECN_NONE));
	to_guest(ECE, 0, 0, TCON_CC_ECN_ALL);
	assert_true(tcon_ecn_timeout(&e, TCON_CC_ECN_NONE));
	pkt.tos = TCON_ECN_ECT0;
	from_guest_of(pkt, TCON_CC_ECN_DATA, false);
	assert_int_equal(edit.ecn, TCON_ECN_NOT_ECT);
	assert_int_equal(edit.set, CWR);		/* or ECE would never end */
	from_guest_of(pkt, TCON_CC_ECN_NONE, false);	/* no CC runs: as it is */
	assert_true(untouched(TCON_ECN_ECT0));
}

/* Flight after flight is lost; only the repeats arrive, which have no ECT. */
static void eaten_flights(void **unused)
{
	u32 una, i, more;

	for (more = 0; more < 2; more++) {
		agree(0);
		if (more)
			tcon_ecn_arrived(&e, TCON_CC_ECN_DATA);
		una = U32_MAX - 3 * MSS;
		for (i = 1; i < (more ? 6 : 4); i++) {
			assert_false(tcon_ecn_repaired(&e, TCON_CC_ECN_DATA, una,
						       una + 10 * MSS));
			una += 5 * MSS;		/* of the same flight */
			assert_false(tcon_ecn_repaired(&e, TCON_CC_ECN_DATA, una,
						       una + 10 * MSS));
			una += 5 * MSS;
		}
		assert_true(tcon_ecn_repaired(&e, TCON_CC_ECN_DATA, una, una + MSS));
		assert_false(tcon_ecn_repaired(&e, TCON_CC_ECN_DATA, una + MSS,
					       una + 2 * MSS));
		assert_int_equal(mode(), TCON_ECN_FELL_BACK);
	}
	agree(0);
	for (i = 0; i < 20; i++) {	/* one in a while does */
		una += MSS;
		assert_false(tcon_ecn_repaired(&e, TCON_CC_ECN_DATA, una, una + MSS));
		if (i % 3 == 2)
			tcon_ecn_arrived(&e, TCON_CC_ECN_DATA);
	}
	assert_false(tcon_ecn_repaired(&e, TCON_CC_ECN_NONE, una, una + MSS));
}

static bool peer_repeats(u32 seq, u32 bytes, enum tcon_cc_ecn cc_ecn)
{
	struct tcon_packet pkt = segment(ACK, bytes);

	pkt.seq = seq;
	pkt.end_seq = seq + bytes;
	return tcon_ecn_peer_repeats(&e, &pkt, 9000, cc_ecn);
}

/* A peer that does not hear the guest's ACKs, which are ECN-capable, too. */
static void eaten_acks(void **unused)
{
	int i;

	agree(0);
	for (i = 0; i < 5; i++) {
		assert_false(peer_repeats(7000 + i * 100, 100, TCON_CC_ECN_ALL));
		assert_false(peer_repeats(8999, 1, TCON_CC_ECN_ALL));
		assert_false(peer_repeats(8000, 0, TCON_CC_ECN_ALL));
		assert_false(peer_repeats(8000, 100, TCON_CC_ECN_DATA));
		assert_false(peer_repeats(9000, 100, TCON_CC_ECN_ALL));
	}
	assert_false(peer_repeats(8000, 1000, TCON_CC_ECN_ALL));
	assert_false(peer_repeats(8000, 1000, TCON_CC_ECN_ALL));
	assert_false(peer_repeats(9000, 1000, TCON_CC_ECN_ALL));	/* heard */
	assert_false(peer_repeats(8000, 1000, TCON_CC_ECN_ALL));
	assert_false(peer_repeats(8000, 1000, TCON_CC_ECN_ALL));
	assert_true(peer_repeats(8000, 1000, TCON_CC_ECN_ALL));
	assert_int_equal(mode(), TCON_ECN_FELL_BACK);
	from_guest(0, 0, TCON_CC_ECN_ALL);
	assert_int_equal(edit.ecn, TCON_ECN_NOT_ECT);
}

/* A destination that is known to stop ECN: the guest's own is heard, we ask for none. */
static void avoided(void **unused)
{
	struct tcon_packet pkt = segment(SYN, 0);

	edit = tcon_ecn_no_edit(&pkt);
	tcon_ecn_guest_syn(&e, &pkt, TCON_ECN_HEAR, false, true, &edit);
	e.avoided = true;
	peer_answers(0, false, 0);
	assert_int_equal(mode(), TCON_ECN_AVOIDED);
	guest_syn(0, false, true, false);
	assert_false(e.avoided);
}

/* Marked bytes are counted, and the total goes on the next ACKs that have room. */
static void counting(void **unused)
{
	struct tcon_packet full = segment(ACK, 0);
	int i;

	agree(ANSWER);
	to_guest(0, MSS, TCON_ECN_ECT0, TCON_CC_ECN_ALL);
	from_guest(0, 0, TCON_CC_ECN_ALL);
	assert_int_equal(edit.add_bytes, 0);
	to_guest(0, 1000, TCON_ECN_CE, TCON_CC_ECN_ALL);
	to_guest(0, 500, TCON_ECN_CE, TCON_CC_ECN_ALL);
	from_guest(0, MSS / 2 + 1, TCON_CC_ECN_ALL);
	assert_int_equal(edit.add_bytes, 0);
	assert_true(edit.no_room);
	full.payload_offset = full.l4_offset + 56;
	from_guest_of(full, TCON_CC_ECN_ALL, false);
	assert_true(edit.no_room);
	from_guest_of(segment(ACK, 100), TCON_CC_ECN_ALL, true);
	assert_true(edit.no_room);
	for (i = 0; i < COUNTS; i++) {
		from_guest(0, i == 1 ? MSS / 2 : 0, TCON_CC_ECN_ALL);
		assert_int_equal(edit.add_bytes, COUNT);
		assert_int_equal(edit.ce_bytes, 1500);
		assert_false(edit.no_room);
	}
	from_guest(0, 0, TCON_CC_ECN_ALL);
	assert_int_equal(edit.add_bytes, 0);
	e.ce_bytes = U32_MAX;
	to_guest(0, 2, TCON_ECN_CE, TCON_CC_ECN_ALL);	/* wraps */
	from_guest(0, 0, TCON_CC_ECN_NONE);
	assert_int_equal(edit.ce_bytes, 1);
}

/* A segment that the guest will throw away says nothing, though it shows nothing, either. */
static void unheard(void **unused)
{
	agree(ANSWER);
	to_guest_of(0, MSS, TCON_ECN_CE, false, TCON_CC_ECN_ALL);
	assert_int_equal(edit.ecn, TCON_ECN_NOT_ECT);
	from_guest(0, 0, TCON_CC_ECN_NONE);
	assert_false(edit.set & ECE);
	assert_int_equal(edit.add_bytes, 0);
	to_guest_of(ECE, 0, 0, false, TCON_CC_ECN_ALL);
	assert_int_equal(edit.clear, ECE | CWR);
	from_guest(0, MSS, TCON_CC_ECN_ALL);
	assert_false(edit.set & CWR);
	to_guest(0, MSS, TCON_ECN_CE, TCON_CC_ECN_ALL);
	to_guest_of(CWR, MSS, 0, false, TCON_CC_ECN_ALL);
	from_guest(0, 0, TCON_CC_ECN_NONE);
	assert_true(edit.set & ECE);
}

/* The option is for TCons: guests see none, and send none. */
static void option(void **unused)
{
	struct tcon_packet pkt = segment(ACK, 0);

	pkt.option_bytes = COUNT;
	edit = tcon_ecn_no_edit(&pkt);
	tcon_ecn_to_guest(&e, &pkt, true, false, &edit);
	assert_true(untouched(0));		/* nothing is known of the flow */
	from_guest_of(pkt, TCON_CC_ECN_NONE, false);
	assert_true(edit.strip);
	agree(0);
	edit = tcon_ecn_no_edit(&pkt);
	tcon_ecn_to_guest(&e, &pkt, true, true, &edit);
	assert_true(edit.strip);
}

static struct tcon_packet with_ace(bool ae, u8 flags)
{
	return (struct tcon_packet) { .ae = ae, .flags = TCON_TCP_ACK | flags };
}

/* A repair's flags are of now: AccECN's counter, the echo that is due, never CWR. */
static void flags_of_a_repeat(void **state)
{
	struct tcon_packet all = with_ace(true, TCON_TCP_ECE | TCON_TCP_CWR);
	struct tcon_packet none = with_ace(false, 0);
	struct tcon_packet ece = with_ace(false, TCON_TCP_ECE);
	struct tcon_ecn repeat = {};

	assert_int_equal(tcon_ecn_ace(&all), 7);
	assert_int_equal(tcon_ecn_ace(&none), 0);
	assert_int_equal(tcon_ecn_ace(&ece), TCON_ACE_ECE);
	assert_int_equal(tcon_ecn_ace_of_repeat(&repeat, 7), TCON_ACE_ECE);
	repeat.accurate = true;
	assert_int_equal(tcon_ecn_ace_of_repeat(&repeat, 7), 7);
	assert_int_equal(tcon_ecn_ace_of_repeat(&repeat, 2), TCON_ACE_CWR);
	repeat = (struct tcon_ecn) { .agreed = true, .speaks = true, .echo = true };
	assert_int_equal(tcon_ecn_ace_of_repeat(&repeat, 2), 0);
	assert_int_equal(tcon_ecn_ace_of_repeat(&repeat, 3), TCON_ACE_ECE);
	repeat.speaks = false;
	assert_int_equal(tcon_ecn_ace_of_repeat(&repeat, 0), TCON_ACE_ECE);
	repeat.echo = false;
	assert_int_equal(tcon_ecn_ace_of_repeat(&repeat, 1), 0);
}

/* A mark up to @end, and the guest's ACK of @ack with these flags.  Returns whether it is adopted. */
static bool orphan(u32 end, u32 ack, bool ae, u8 flags)
{
	struct tcon_packet mark = segment(ACK, 100), answer = segment(ACK | flags, 0);

	mark.tos = TCON_ECN_CE;
	mark.end_seq = end;
	assert_true(tcon_ecn_is_marked(&mark));
	tcon_ecn_watch(&e, &mark);
	assert_true(e.watched);
	answer.ack = ack;
	answer.ae = ae;
	return tcon_ecn_adopts(&e, &answer);
}

/* Nobody knows what the SYNs said; the guest's ACKs tell whether it knows of ECN. */
static void orphans(void **state)
{
	assert_false(orphan(5000, 4999, false, 0));	/* says nothing yet */
	assert_true(e.watched);
	assert_false(orphan(6000, 5000, false, 0));	/* of the first, one is not enough */
	assert_false(orphan(7000, 7000, false, ECE));	/* an echo: it does */
	assert_false(orphan(8000, 8000, false, 0));
	assert_false(orphan(9000, 9000, true, 0));	/* AccECN's counter is 4, and 0 */
	assert_false(orphan(10000, 10000, false, 0));
	assert_false(orphan(11000, 11000, false, CWR));
	assert_int_equal(tcon_ecn_mode(&e, false, TCON_ECN_LEAVE), TCON_ECN_UNUSED);
	assert_false(orphan(12000, 12000, false, 0));
	assert_true(orphan(13000, 14000, false, 0));
	assert_false(e.watched);
	assert_true(tcon_ecn_echoes(&e));
	assert_true(e.echo);
	assert_int_equal(tcon_ecn_mode(&e, false, TCON_ECN_LEAVE), TCON_ECN_ADOPTED);
	tcon_ecn_restart(&e);
	assert_false(tcon_ecn_echoes(&e));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(asks_for_guest, setup),
		cmocka_unit_test_setup(unheard, setup),
		cmocka_unit_test_setup(echo_of_options, setup),
		cmocka_unit_test_setup(refused, setup),
		cmocka_unit_test_setup(not_wanted, setup),
		cmocka_unit_test_setup(fall_back, setup),
		cmocka_unit_test_setup(no_room_on_syn, setup),
		cmocka_unit_test_setup(opens_anew, setup),
		cmocka_unit_test_setup(answers_for_guest, setup),
		cmocka_unit_test_setup(answers_a_tcon, setup),
		cmocka_unit_test_setup(other_syn, setup),
		cmocka_unit_test_setup(accurate_guest, setup),
		cmocka_unit_test_setup(accurate_peer, setup),
		cmocka_unit_test_setup(marking, setup),
		cmocka_unit_test_setup(echo_of_peer, setup),
		cmocka_unit_test_setup(echo_after_a_long_time, setup),
		cmocka_unit_test_setup(echo_for_guest, setup),
		cmocka_unit_test_setup(push_of_guest, setup),
		cmocka_unit_test_setup(guest_that_speaks, setup),
		cmocka_unit_test_setup(guest_under_any_cc, setup),
		cmocka_unit_test_setup(eaten, setup),
		cmocka_unit_test_setup(eaten_flights, setup),
		cmocka_unit_test_setup(eaten_acks, setup),
		cmocka_unit_test_setup(avoided, setup),
		cmocka_unit_test_setup(counting, setup),
		cmocka_unit_test_setup(option, setup),
		cmocka_unit_test_setup(orphans, setup),
		cmocka_unit_test(flags_of_a_repeat),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
