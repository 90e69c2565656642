// SPDX-License-Identifier: GPL-2.0-only
/*
 * What keeps a half-flow from sending more: accounting of time.
 *
 *	window		packets wait in TCon, or the guest has used what TCon gave
 *	receiver	the guest has used all that the peer offered
 *	guest		it could send, does not, and goes on when the next ACK
 *			arrives: its own cwnd or send buffer
 *	idle		it could send, does not, and goes on at a time of its own
 *			choice, or when nothing is in flight
 *
 * Which of the last two it was shows only when the guest sends again: until
 * then the time is kept aside.
 *
 * Nothing here needs a kernel.  Callers hold the flow's lock.
 */
#include <linux/kernel.h>

#include "limit.h"
#include "seq.h"

/* A guest takes as long to answer an ACK; that is nobody's limit. */
#define ANSWER_US	1000U

/* What kept the guest from sending; %TCON_LIMIT_GUEST where it shows only later. */
static enum tcon_limit limited_by(const struct tcon_limit_state *st)
{
	if (!st->waits &&
	    !seq_after(st->t->nxt_guest + st->slack_bytes, st->w->edge))
		return st->t->cc.una == st->t->nxt_guest ? TCON_LIMIT_IDLE :
							   TCON_LIMIT_GUEST;
	if (st->waits || seq_before(st->w->edge, st->w->peer_edge))
		return TCON_LIMIT_WINDOW;
	return TCON_LIMIT_RECEIVER;
}

/* What was open for no longer than an answer takes was used. */
static void attribute(struct tcon_limits *l, enum tcon_limit what, u64 end_us)
{
	if (end_us - l->open_since_us <= ANSWER_US)
		what = TCON_LIMIT_WINDOW;
	l->us[what] += l->open_us;
	l->open_us = 0;
}

/* The time since the last event goes to what limited until now. */
static inline void account(struct tcon_limits *l,
			   const struct tcon_limit_state *st, u64 now_us)
{
	u64 since_us = l->noted_us, us = now_us - since_us;
	enum tcon_limit what;

	l->noted_us = now_us;
	if (!since_us || !st->w->valid)
		return;
	what = limited_by(st);
	if (what == TCON_LIMIT_GUEST) {
		if (!l->open_since_us)
			l->open_since_us = since_us;
		l->open_us += us;
		return;
	}
	if (l->open_since_us)
		attribute(l, TCON_LIMIT_IDLE, since_us);
	l->open_since_us = 0;
	l->us[what] += us;
}

/**
 * tcon_limit_ack() - an ACK is about to change una and the window
 * @l: the account
 * @st: how things stood until now
 * @now_us: the time
 */
void tcon_limit_ack(struct tcon_limits *l, const struct tcon_limit_state *st,
		    u64 now_us)
{
	account(l, st, now_us);
	l->acked_us = now_us;
}

/**
 * tcon_limit_data() - the guest has sent new data
 * @l: the account
 * @st: how things stood until now
 * @now_us: the time
 */
void tcon_limit_data(struct tcon_limits *l, const struct tcon_limit_state *st,
		     u64 now_us)
{
	account(l, st, now_us);
	if (l->open_us && now_us - l->open_since_us > ANSWER_US)
		attribute(l, now_us - l->acked_us <= ANSWER_US ?
			     TCON_LIMIT_GUEST : TCON_LIMIT_IDLE, now_us);
}
