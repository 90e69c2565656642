// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which packets of a connection TCon has seen: the states, and what leads from one to another.
 *
 * A connection whose packets passed unseen stays so until another takes its place: TCon does not
 * know what its ends have agreed on.  One whose packets take another way may come back.
 */
#include <linux/kernel.h>

#include "state/known.h"

#define ALL		TCON_KNOWN_ALL
#define NOT_ACKS	TCON_KNOWN_NOT_ACKS
#define NOT_DATA	TCON_KNOWN_NOT_DATA
#define MIDDLE		TCON_KNOWN_MIDDLE
#define HIDDEN		TCON_KNOWN_HIDDEN

static const u8 after[__TCON_KNOWN_MAX][__TCON_KNOWN_EVENT_MAX] = {
/*			  BEGINS, MISSED, EVADED, BEYOND,   UNSENT,   DATA,	ADVANCED */
	[ALL]		= { ALL,  MIDDLE, HIDDEN, NOT_ACKS, NOT_DATA, ALL,	ALL },
	[NOT_ACKS]	= { ALL,  MIDDLE, HIDDEN, NOT_ACKS, NOT_ACKS, NOT_ACKS,	ALL },
	[NOT_DATA]	= { ALL,  MIDDLE, HIDDEN, NOT_DATA, NOT_DATA, ALL,	ALL },
	[MIDDLE]	= { ALL,  MIDDLE, MIDDLE, MIDDLE,   MIDDLE,   MIDDLE,	MIDDLE },
	[HIDDEN]	= { ALL,  HIDDEN, HIDDEN, HIDDEN,   HIDDEN,   HIDDEN,	HIDDEN },
};

static const u8 reasons[__TCON_KNOWN_MAX] = {
	[ALL]		= TCON_REASON_NONE,
	[NOT_ACKS]	= TCON_REASON_UNSEEN_ACKS,
	[NOT_DATA]	= TCON_REASON_UNSEEN_DATA,
	[MIDDLE]	= TCON_REASON_MID_STREAM,
	[HIDDEN]	= TCON_REASON_HIDDEN,
};

/**
 * tcon_known_after() - what is known after an event
 * @known: what is known before
 * @event: what happens
 *
 * Return: what is known then.
 */
enum tcon_known tcon_known_after(enum tcon_known known, enum tcon_known_event event)
{
	return after[known][event];
}

/**
 * tcon_known_reason() - why a flow cannot be enforced by what is known of it
 * @known: what is known
 *
 * Return: the reason that operators see; %TCON_REASON_NONE: it can.
 */
enum tcon_reason tcon_known_reason(enum tcon_known known)
{
	return reasons[known];
}
