/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What keeps a half-flow from sending more.
 */
#ifndef _TCON_LIMIT_H
#define _TCON_LIMIT_H

#include <linux/types.h>
#include <uapi/linux/tcon.h>

#include "base/seq.h"
#include "sender/track.h"
#include "sender/window.h"

/**
 * struct tcon_limits - time by what limited
 * @us: by enum tcon_limit
 * @noted_us: up to here time is accounted; 0: not started
 * @acked_us: when an ACK last gave the guest leave to send
 * @open_since_us: since when the guest has left window unused; 0: it has not
 * @open_us: of that, what is not yet attributed
 * @answer_us: how long this guest may take to answer; 0: as one that is near
 */
struct tcon_limits {
	u64 us[__TCON_LIMIT_MAX];
	u64 noted_us;
	u64 acked_us;
	u64 open_since_us;
	u64 open_us;
	u32 answer_us;
};

/**
 * tcon_limit_now() - what keeps the guest from sending
 * @t: the tracker
 * @w: the windows
 * @slack_bytes: a window with less than this left is used up
 * @waits: packets of the flow wait in TCon
 *
 * Return: %TCON_LIMIT_GUEST where it shows only later; %__TCON_LIMIT_MAX: not known.
 */
static inline enum tcon_limit tcon_limit_now(const struct tcon_track *t,
					     const struct tcon_window *w,
					     u32 slack_bytes, bool waits)
{
	if (!w->valid)
		return __TCON_LIMIT_MAX;
	if (!waits && !seq_after(t->nxt_guest + slack_bytes, w->edge))
		return t->cc.una == t->nxt_guest ? TCON_LIMIT_IDLE :
						   TCON_LIMIT_GUEST;
	if (waits || seq_before(w->edge, w->peer_edge))
		return TCON_LIMIT_WINDOW;
	return TCON_LIMIT_RECEIVER;
}

void tcon_limit_ack(struct tcon_limits *l, enum tcon_limit what, u64 now_us);
void tcon_limit_data(struct tcon_limits *l, enum tcon_limit what, u64 now_us);

#endif /* _TCON_LIMIT_H */
