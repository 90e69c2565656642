/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shares of a host's guest ports.
 */
#ifndef _TCON_SHARES_H
#define _TCON_SHARES_H

#include "base/budget.h"

/**
 * enum tcon_share - what ports share
 * @TCON_SHARE_FLOWS: half-flows
 * @TCON_SHARE_EMBRYOS: half-flows whose connection nobody has confirmed ("embryos")
 * @TCON_SHARE_BUFFER: memory of data that guests have sent and is not acknowledged
 * @TCON_SHARE_RECORDS: memory of the flows' records
 * @TCON_SHARES: number of these
 */
enum tcon_share {
	TCON_SHARE_FLOWS,
	TCON_SHARE_EMBRYOS,
	TCON_SHARE_BUFFER,
	TCON_SHARE_RECORDS,
	TCON_SHARES,
};

int tcon_shares_init(struct tcon_budget *shares);
void tcon_shares_exit(struct tcon_budget *shares);
void tcon_shares_join(void);
void tcon_shares_leave(void);
u32 tcon_shares_host_max(enum tcon_share what);
u32 tcon_shares_port_max(enum tcon_share what);

static inline long tcon_share_used(const struct tcon_budget *shares, enum tcon_share what)
{
	return tcon_budget_used(&shares[what]);
}

#endif /* _TCON_SHARES_H */
