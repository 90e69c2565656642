/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ECN at an end: RFC 3168, and a peer that counts marks as a TCon does (datapath/sender/ecn.c).
 */
#ifndef _TESTS_GOODPUT_ECN_H
#define _TESTS_GOODPUT_ECN_H

#include "world.h"

#define ECN_FLAGS	(TCON_TCP_ECE | TCON_TCP_CWR)
#define ECN_COUNTS	3	/* ACKs that say a new count: two may be lost */

static void ecn_syn(const struct end *e, struct tcon_packet *p)
{
	if (e->is_guest && e->ecn.asks) {
		p->flags |= ECN_FLAGS;
		p->option_bytes = e->ecn.counts ? TCON_OPTION_OFFER_BYTES : 0;
	} else if (e->ecn.agreed) {
		p->flags |= TCON_TCP_ECE;
		p->option_bytes = e->ecn.counts ? TCON_OPTION_COUNT_BYTES : 0;
	}
}

/* The other end's SYN or SYN-ACK. */
static void ecn_hears_syn(struct end *e, const struct tcon_packet *p)
{
	u8 flags = p->flags & ECN_FLAGS;

	if (e->is_guest) {
		e->ecn.agreed = e->ecn.asks && flags == TCON_TCP_ECE;
	} else {
		e->ecn.agreed = e->ecn.asks && flags == ECN_FLAGS;
		e->ecn.counts &= e->ecn.agreed && p->option_bytes == TCON_OPTION_OFFER_BYTES;
	}
}

/* A CC may want ECN of repeats and ACKs, too; otherwise it is for new data. */
static bool ecn_is_capable(const struct end *e, bool fresh)
{
	return fresh || (e->is_native && e->native.track.cc.ops->ecn == TCON_CC_ECN_ALL);
}

/* A segment leaves that is no SYN. */
static void ecn_write(struct end *e, struct tcon_packet *p)
{
	bool fresh = seq_after(p->end_seq, e->ecn.sent);

	e->ecn.sent = seq_max(e->ecn.sent, p->end_seq);
	if (!e->ecn.agreed)
		return;
	p->flags |= e->ecn.echo ? TCON_TCP_ECE : 0;
	if (e->ecn.counts_due && !p->payload_bytes && p->n_sacks < 3) {
		e->ecn.counts_due--;
		p->option_bytes = TCON_OPTION_COUNT_BYTES;
		p->ce_bytes = e->ecn.ce_bytes;
	}
	if (ecn_is_capable(e, fresh))
		p->tos = TCON_ECN_ECT0;
	if (fresh && e->ecn.cwr_due) {
		p->flags |= TCON_TCP_CWR;
		e->ecn.cwr_due = false;
	}
}

/* Data has come.  Is it acknowledged at once?  Marks begin or end with it (RFC 8257, 3.2). */
static bool ecn_hears_data(struct end *e, const struct tcon_packet *p)
{
	bool ce = (p->tos & TCON_ECN_MASK) == TCON_ECN_CE, changes = ce != e->ecn.ce;

	if (!e->ecn.agreed)
		return false;
	e->ecn.ce = ce;
	e->ecn.echo = ce || (e->ecn.echo && !(p->flags & TCON_TCP_CWR));
	if (ce) {
		e->ecn.ce_bytes += p->payload_bytes;
		e->ecn.counts_due = e->ecn.counts ? ECN_COUNTS : 0;
	}
	return changes || p->flags & TCON_TCP_CWR;
}

/* An ACK has come.  Has the sender to reduce?  Once for a window of data, whose next has CWR. */
static bool ecn_hears_ack(struct end *e, const struct tcon_packet *p)
{
	if (!e->ecn.agreed || !(p->flags & TCON_TCP_ECE) || !seq_after(e->una, e->ecn.reduced))
		return false;
	e->ecn.cwr_due = true;
	e->ecn.reduced = e->ecn.sent;
	return true;
}

static void ecn_init(struct end *e, bool asks, bool counts)
{
	e->ecn.asks = asks;
	e->ecn.counts = counts;
	e->ecn.sent = e->isn + 1;
	e->ecn.reduced = e->isn;
}

#endif /* _TESTS_GOODPUT_ECN_H */
