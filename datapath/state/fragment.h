/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which segment a guest's IP fragment is part of.
 */
#ifndef _TCON_FRAGMENT_H
#define _TCON_FRAGMENT_H

#include <linux/types.h>

struct tcon_key;
struct tcon_packet;
struct tcon_port;

void tcon_fragment_note(struct tcon_port *port, const struct tcon_key *key,
			const struct tcon_packet *pkt, u64 now_us);
bool tcon_fragment_find(struct tcon_port *port, struct tcon_key *key,
			struct tcon_packet *pkt, u64 now_us);

#endif /* _TCON_FRAGMENT_H */
