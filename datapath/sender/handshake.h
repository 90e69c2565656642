/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The handshake: how a connection begins.
 */
#ifndef _TCON_HANDSHAKE_H
#define _TCON_HANDSHAKE_H

#include "sender/track.h"

void tcon_handshake_note(struct tcon_side *side, const struct tcon_packet *pkt);
void tcon_handshake_agree(struct tcon_track *t);
void tcon_handshake_guest(struct tcon_track *t, const struct tcon_packet *pkt,
			  u64 now_us);
void tcon_handshake_peer(struct tcon_track *t, const struct tcon_packet *pkt);
void tcon_handshake_adopt(struct tcon_track *t, const struct tcon_packet *pkt,
			  u32 wire_bytes, u64 now_us);
void tcon_handshake_again(struct tcon_track *t, const struct tcon_side *side, u64 sent_us);
void tcon_handshake_resync(struct tcon_track *t, u32 ack, u64 now_us);

#endif /* _TCON_HANDSHAKE_H */
