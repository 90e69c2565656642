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

#include "sender/limit.h"

/* A guest that is near may take this long to answer an ACK.  That time is nobody's limit. */
#define ANSWER_US	1000U

static u32 answer_us(const struct tcon_window *w)
{
	return w->answer_us ? : ANSWER_US;
}

/* A window that was open for no longer than an answer takes has been used. */
static void attribute(struct tcon_limits *l, enum tcon_limit what,
		      const struct tcon_window *w, u64 end_us)
{
	if (end_us - l->open_since_us <= answer_us(w))
		what = TCON_LIMIT_WINDOW;
	l->us[what] += l->open_us;
	l->open_us = 0;
}

/* The time since the last event goes to what limited until now. */
static inline void account(struct tcon_limits *l, enum tcon_limit what,
			   const struct tcon_window *w, u64 now_us)
{
	u64 since_us = l->noted_us, us = now_us - since_us;

	l->noted_us = now_us;
	if (!since_us || what == __TCON_LIMIT_MAX)
		return;
	if (what == TCON_LIMIT_GUEST) {
		if (!l->open_since_us)
			l->open_since_us = since_us;
		l->open_us += us;
		return;
	}
	if (l->open_since_us)
		attribute(l, TCON_LIMIT_IDLE, w, since_us);
	l->open_since_us = 0;
	l->us[what] += us;
}

/**
 * tcon_limit_ack() - an ACK is about to change una and the window
 * @l: the account
 * @what: from tcon_limit_now(), as things stood until now
 * @w: the windows, which know how long the guest may take to answer
 * @now_us: the time
 */
void tcon_limit_ack(struct tcon_limits *l, enum tcon_limit what,
		    const struct tcon_window *w, u64 now_us)
{
	account(l, what, w, now_us);
	l->acked_us = now_us;
}

/**
 * tcon_limit_data() - the guest has sent new data
 * @l: the account
 * @what: from tcon_limit_now(), as things stood until now
 * @w: the windows, which know how long the guest may take to answer
 * @now_us: the time
 */
void tcon_limit_data(struct tcon_limits *l, enum tcon_limit what,
		     const struct tcon_window *w, u64 now_us)
{
	account(l, what, w, now_us);
	if (l->open_us && now_us - l->open_since_us > answer_us(w))
		attribute(l, now_us - l->acked_us <= answer_us(w) ?
			     TCON_LIMIT_GUEST : TCON_LIMIT_IDLE, w, now_us);
}
