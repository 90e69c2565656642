/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a half-flow takes along when its guest moves to another host.
 */
#ifndef _TCON_SAVED_H
#define _TCON_SAVED_H

#include <linux/types.h>
#include <uapi/linux/tcon.h>

#include "sender/ecn.h"
#include "sender/track.h"
#include "sender/window.h"
#include "wire/key.h"

/**
 * struct tcon_saved - a half-flow, as another host left it
 * @key: its key, except for the port
 * @guest: the guest's SYN
 * @peer: the peer's SYN
 * @una: first sequence number that was not acknowledged
 * @nxt: end of what had left
 * @nxt_guest: end of what the guest had sent
 * @edge: highest right edge that the guest was given
 * @peer_edge: right edge that the peer offered
 * @guest_ack: what the guest had acknowledged
 * @guest_edge: right edge that it offered
 * @peer_nxt: end of what the peer had sent
 * @guest_tsval: the guest's newest TSval that the peer had echoed, if @has_tsval
 * @srtt_us: smoothed RTT; 0: none
 * @rttvar_us: its variation
 * @min_rtt_us: the least RTT of the last minutes, or %TCON_RTT_NONE_US
 * @cwnd_bytes: of the CC; 0: none ran
 * @ssthresh_bytes: of the CC
 * @wire_bytes: TCP header and payload of the guest's full segments; 0: not known
 * @rate_bps: the latest delivery rate
 * @ecn: what was agreed on about ECN, and the count for the peer's TCon
 * @has_ts: the connection uses time stamps
 * @has_tsval: @guest_tsval is valid
 * @fin_peer: the peer has sent its FIN
 * @unseen: what both have sent passed unseen, so that the sequence numbers are of some time before
 * @cc: name of the CC; empty: none ran
 */
struct tcon_saved {
	struct tcon_key key;
	struct tcon_side guest;
	struct tcon_side peer;
	u32 una;
	u32 nxt;
	u32 nxt_guest;
	u32 edge;
	u32 peer_edge;
	u32 guest_ack;
	u32 guest_edge;
	u32 peer_nxt;
	u32 guest_tsval;
	u32 srtt_us;
	u32 rttvar_us;
	u32 min_rtt_us;
	u32 cwnd_bytes;
	u32 ssthresh_bytes;
	u32 wire_bytes;
	u64 rate_bps;
	struct tcon_ecn ecn;
	bool has_ts;
	bool has_tsval;
	bool fin_peer;
	bool unseen;
	char cc[TCON_CC_NAME_MAX];
};

void tcon_saved_take(struct tcon_saved *s, const struct tcon_track *t,
		     const struct tcon_window *w, const struct tcon_ecn *e);
void tcon_saved_write(const struct tcon_saved *s, struct tcon_state_record *r);
const char *tcon_saved_read(struct tcon_saved *s, const void *data, size_t bytes);
void tcon_saved_heard(struct tcon_saved *s, const struct tcon_packet *pkt);
bool tcon_saved_goes_on(const struct tcon_saved *s, const struct tcon_packet *pkt);
void tcon_saved_restore(const struct tcon_saved *s, const struct tcon_packet *pkt,
			bool same_cc, u64 now_us, struct tcon_track *t,
			struct tcon_window *w);
void tcon_saved_restore_unseen(const struct tcon_saved *s, u64 now_us, struct tcon_track *t);

#endif /* _TCON_SAVED_H */
