/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which packets of a connection TCon has seen.
 */
#ifndef _TCON_KNOWN_H
#define _TCON_KNOWN_H

#include <linux/types.h>
#include <uapi/linux/tcon.h>

/**
 * enum tcon_known - which packets of a connection TCon has seen
 * @TCON_KNOWN_ALL: all, as far as is known
 * @TCON_KNOWN_NOT_ACKS: the peer's ACKs take another way
 * @TCON_KNOWN_NOT_DATA: the guest's data takes another way
 * @TCON_KNOWN_MIDDLE: its handshake, or a later packet, passed unseen
 * @TCON_KNOWN_HIDDEN: the same, because of what the guest sends
 */
enum tcon_known {
	TCON_KNOWN_ALL,
	TCON_KNOWN_NOT_ACKS,
	TCON_KNOWN_NOT_DATA,
	TCON_KNOWN_MIDDLE,
	TCON_KNOWN_HIDDEN,
	__TCON_KNOWN_MAX,
};

/**
 * enum tcon_known_event - what shows which packets TCon sees
 * @TCON_KNOWN_BEGINS: a connection begins by a handshake
 * @TCON_KNOWN_MISSED: packets passed unseen
 * @TCON_KNOWN_EVADED: packets passed unseen at a port that TCon sees
 * @TCON_KNOWN_BEYOND: the guest uses a window that it was not given, and its peer is silent
 * @TCON_KNOWN_UNSENT: the peer acknowledges what the guest has not sent, and the guest is silent
 * @TCON_KNOWN_DATA: the guest sends data
 * @TCON_KNOWN_ADVANCED: una advances by an ACK of the peer
 */
enum tcon_known_event {
	TCON_KNOWN_BEGINS,
	TCON_KNOWN_MISSED,
	TCON_KNOWN_EVADED,
	TCON_KNOWN_BEYOND,
	TCON_KNOWN_UNSENT,
	TCON_KNOWN_DATA,
	TCON_KNOWN_ADVANCED,
	__TCON_KNOWN_EVENT_MAX,
};

enum tcon_known tcon_known_after(enum tcon_known known, enum tcon_known_event event);
enum tcon_reason tcon_known_reason(enum tcon_known known);

/* Does some of it pass by another way, perhaps only for a while? */
static inline bool tcon_known_is_astray(enum tcon_known known)
{
	return known == TCON_KNOWN_NOT_ACKS || known == TCON_KNOWN_NOT_DATA;
}

/* Are sequence numbers and options not known from a handshake? */
static inline bool tcon_known_is_middle(enum tcon_known known)
{
	return known >= TCON_KNOWN_MIDDLE;
}

#endif /* _TCON_KNOWN_H */
