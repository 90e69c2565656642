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

/**
 * enum tcon_fragment_of - what a later fragment is part of
 * @TCON_FRAGMENT_OF_UNKNOWN: of a TCP segment whose first fragment is not remembered
 * @TCON_FRAGMENT_OF_FLOW: of a half-flow's segment
 * @TCON_FRAGMENT_OF_OTHER: of another protocol's packet, as far as can be told
 */
enum tcon_fragment_of {
	TCON_FRAGMENT_OF_UNKNOWN,
	TCON_FRAGMENT_OF_FLOW,
	TCON_FRAGMENT_OF_OTHER,
};

bool tcon_fragment_note(struct tcon_port *port, const struct tcon_key *key,
			const struct tcon_packet *pkt, u64 now_us);
enum tcon_fragment_of tcon_fragment_find(struct tcon_port *port, struct tcon_key *key,
					 struct tcon_packet *pkt, u64 now_us);

#endif /* _TCON_FRAGMENT_H */
