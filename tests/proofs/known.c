// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which packets of a connection TCon has seen (state/known.c): for each state and each event.
 */
#include "proof.h"
#include "datapath/state/known.c"

void prove_known(void)
{
	enum tcon_known known = any_u8(), then;
	enum tcon_known_event event = any_u8();

	given(known < __TCON_KNOWN_MAX && event < __TCON_KNOWN_EVENT_MAX);
	then = tcon_known_after(known, event);
	prove(then < __TCON_KNOWN_MAX);
	/* A handshake makes all known, whatever was before. */
	prove(implies(event == TCON_KNOWN_BEGINS, then == TCON_KNOWN_ALL));
	/* Without one there is no way back from where packets passed unseen. */
	prove(implies(tcon_known_is_middle(known) && event != TCON_KNOWN_BEGINS, then == known));
	prove(implies(event == TCON_KNOWN_MISSED || event == TCON_KNOWN_EVADED,
		      tcon_known_is_middle(then)));
	/* What came back is told by an ACK of the peer, or by data of the guest. */
	prove(implies(known == TCON_KNOWN_NOT_ACKS && then == TCON_KNOWN_ALL,
		      event == TCON_KNOWN_ADVANCED || event == TCON_KNOWN_BEGINS));
	prove(implies(known == TCON_KNOWN_NOT_DATA && then == TCON_KNOWN_ALL,
		      event == TCON_KNOWN_DATA || event == TCON_KNOWN_ADVANCED ||
		      event == TCON_KNOWN_BEGINS));
	/* The same once more changes nothing. */
	prove(tcon_known_after(then, event) == then);
	/* Only what passes by another way for a while is astray; middle and astray exclude each other. */
	prove(!(tcon_known_is_astray(then) && tcon_known_is_middle(then)));
	prove((then == TCON_KNOWN_ALL) == (!tcon_known_is_astray(then) && !tcon_known_is_middle(then)));
}

/* Only a connection of which all is seen is enforced; each other one has a reason of its own. */
void prove_known_reason(void)
{
	enum tcon_known known = any_u8(), other = any_u8();

	given(known < __TCON_KNOWN_MAX && other < __TCON_KNOWN_MAX);
	prove(tcon_known_reason(known) < __TCON_REASON_MAX);
	prove((tcon_known_reason(known) == TCON_REASON_NONE) == (known == TCON_KNOWN_ALL));
	prove(implies(known != other, tcon_known_reason(known) != tcon_known_reason(other)));
}
