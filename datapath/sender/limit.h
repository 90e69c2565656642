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
 * struct tcon_limits - for how long each limit held
 * @noted_us: time is accounted up to here; 0: not started
 * @acked_us: when an ACK last allowed the guest to send
 * @open_since_us: since when the guest has not used its whole window; 0: it uses it
 * @open_us: the part of that time that is not attributed yet
 * @us: the times, by enum tcon_limit
 */
struct tcon_limits {
	u64 noted_us;
	u64 acked_us;
	u64 open_since_us;
	u64 open_us;
	u64 us[__TCON_LIMIT_MAX];
};

/**
 * tcon_limit_now() - what keeps the guest from sending
 * @t: the tracker
 * @w: the windows
 * @slack_bytes: a window counts as used up if less than this is left of it
 * @waits: packets of the flow wait in TCon
 * @now_us: the time
 *
 * Data that a guest far away has sent into its window is on its way here.  So only an edge that
 * the guest has had time to use tells whether it leaves something of its window.
 *
 * Return: the limit; %__TCON_LIMIT_MAX if it is not known.  %TCON_LIMIT_GUEST may turn out
 * to be %TCON_LIMIT_IDLE later.
 */
static inline enum tcon_limit tcon_limit_now(const struct tcon_track *t,
					     const struct tcon_window *w,
					     u32 slack_bytes, bool waits, u64 now_us)
{
	if (!w->valid)
		return __TCON_LIMIT_MAX;
	if (!waits && tcon_window_unused(w, t->nxt_guest, now_us) >= slack_bytes)
		return t->cc.una == t->nxt_guest ? TCON_LIMIT_IDLE :
						   TCON_LIMIT_GUEST;
	if (waits || seq_before(w->edge, w->peer_edge))
		return TCON_LIMIT_WINDOW;
	return TCON_LIMIT_RECEIVER;
}

void tcon_limit_ack(struct tcon_limits *l, enum tcon_limit what,
		    const struct tcon_window *w, u64 now_us);
void tcon_limit_data(struct tcon_limits *l, enum tcon_limit what,
		     const struct tcon_window *w, u64 now_us);

#endif /* _TCON_LIMIT_H */
