/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two ends of a connection, and what lies between them.
 *
 *	guest --- 20 us --- TCon --- bottleneck --- half an RTT --- peer
 *	                         --- half an RTT --- bottleneck ---
 *
 * Each end sends and receives.  Nothing overtakes.  Whether the n-th transmission of a segment is
 * lost depends on the seed, the segment and n, so that all senders of a cell lose the same.
 */
#ifndef _TESTS_WORLD_H
#define _TESTS_WORLD_H

#include <linux/ktime.h>
#include <linux/time64.h>

#include "sender/track.h"
#include "tests/unit/receiver.h"
#include "tests/fuzz/segments.h"

#define NEVER		U64_MAX
#define SEGS_MAX	8192U	/* in flight */
#define WSCALE		7

/**
 * struct hystart - when slow start ends (hystart.h)
 * @round_ns: when this round trip began
 * @last_ns: when the latest ACK of a train came
 * @round_end: plain.nxt when the round trip began
 * @samples: of this round trip, at most HYSTART_SAMPLES
 * @least_us: the shortest RTT
 * @round_us: and that of this round trip
 */
struct hystart {
	u64 round_ns, last_ns;
	u32 round_end, samples, least_us, round_us;
};

enum plain_state { PLAIN_OPEN, PLAIN_RECOVERY, PLAIN_LOSS };

/**
 * struct plain_seg - a segment of the plain sender
 * @sent_ns: when it last left
 * @order: of that transmission
 * @tries: number of transmissions
 * @sacked: the peer says to have it
 * @lost: it is judged lost, and not sent again since
 */
struct plain_seg {
	u64 sent_ns;
	u32 order;
	u8 tries;
	bool sacked, lost;
};

/**
 * struct plain - the plain sender (plain.h), in segments
 * @seg: by number, modulo SEGS_MAX
 * @una: the first that is not acknowledged
 * @nxt: next to be sent for the first time
 * @cwnd: congestion window
 * @ssthresh: where slow start ends
 * @grown: acknowledged since cwnd last grew
 * @limited: cwnd is what limits it
 * @state: as Linux's
 * @recover: nxt when the recovery began
 * @n_sacked: SACKed
 * @n_lost: lost
 * @dup: duplicate ACKs of a peer without SACK
 * @order: transmissions so far
 * @seen: the latest that has arrived
 * @srtt_us: smoothed RTT
 * @rttvar_us: its variation
 * @backoff: time-outs in a row
 * @timer_ns: when the timer goes off
 * @probes: that is for a probe
 * @probed: the tail has been probed
 * @has_hystart: slow start ends by @hystart, too
 * @hystart: its state
 * @anew_ms: TSval of the first repeat after a time-out, until that is undone
 * @cwnd_before: cwnd before that time-out
 * @ssthresh_before: and where slow start ended
 * @may_undo: these are valid
 */
struct plain {
	struct plain_seg seg[SEGS_MAX];
	u32 una, nxt;
	u32 cwnd, ssthresh, grown;
	bool limited;
	enum plain_state state;
	u32 recover, n_sacked, n_lost, dup;
	u32 order, seen;
	u32 srtt_us, rttvar_us, backoff;
	u64 timer_ns;
	bool probes, probed, has_hystart, may_undo;
	u32 anew_ms, cwnd_before, ssthresh_before;
	struct hystart hystart;
};

/**
 * struct native - a CC as a sender's own (native.h)
 * @track: its floor
 * @pool: for @budget
 * @budget: of the floor's memory
 * @syn_us: when the SYN left
 * @clock_ns: when the pacer lets something leave
 */
struct native {
	struct tcon_track track;
	struct tcon_pool pool;
	struct tcon_budget budget;
	u64 syn_us, clock_ns;
};

/**
 * struct ecn - ECN at an end (ecn.h)
 * @asks: it speaks ECN
 * @agreed: both do
 * @counts: it counts marks, as a TCon does; the guest's offers that
 * @echo: it sets ECE
 * @ce: the latest data was marked
 * @cwr_due: what it sends next has CWR
 * @counts_due: number of ACKs that are to have the count
 * @ce_bytes: the count
 * @sent: end of what it has sent
 * @reduced: that, when its sender last reduced
 */
struct ecn {
	bool asks, agreed, counts, echo, ce, cwr_due;
	u32 counts_due, ce_bytes, sent, reduced;
};

/**
 * struct end - one end of the connection
 * @x: its world
 * @isn: its initial sequence number
 * @rx: what has come
 * @is_guest: it is behind TCon
 * @open: it sends
 * @is_native: its sender is @native, otherwise @plain
 * @sack: SACK-permitted
 * @burst: most segments in a super-packet
 * @buffer: bytes, of its receiver
 * @edge: of the window that it was given
 * @most: the largest window that it was given
 * @una: acknowledged by the other
 * @app_end: end of what the application has written
 * @ts_recent: the other's latest TSval
 * @delay_ns: when the delayed ACK is due
 * @ecn: its ECN
 * @plain: its sender
 * @native: or this
 */
struct end {
	struct world *x;
	u32 isn;
	struct receiver rx;
	bool is_guest, open, is_native, sack;
	u32 burst, buffer, edge, most, una, app_end, ts_recent;
	u64 delay_ns;
	struct ecn ecn;
	struct plain plain;
	struct native native;
};

/* TSvals of the guest. */
static u32 now_ms(void)
{
	return shim_now_ns / NSEC_PER_MSEC;
}

static void end_emits(struct end *e, u32 seq, u32 bytes);

#endif /* _TESTS_WORLD_H */
