/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Half-flows of ports that have rested: no rule could match, and data passed unseen.
 */
#ifndef _TCON_REST_H
#define _TCON_REST_H

#include "state/flow.h"

void tcon_rest_attend(struct tcon_flow *flow);
void tcon_rest_heard(struct tcon_flow *flow, const struct tcon_packet *pkt);
bool tcon_rest_tells(const struct tcon_packet *pkt);
bool tcon_rest_is_patient(struct tcon_flow *flow);
bool tcon_rest_resume(struct tcon_flow *flow, const struct tcon_packet *pkt,
		      u64 now_us);

/* Do the guest's and its peer's packets pass unseen, except SYN, FIN and RST? */
static inline bool tcon_rest_is_unseen(const struct tcon_flow *flow)
{
	return READ_ONCE(flow->port->rests) || tcon_flow_lags(flow);
}

#endif /* _TCON_REST_H */
