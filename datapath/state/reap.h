/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Half-flows that are needed no longer.
 */
#ifndef _TCON_REAP_H
#define _TCON_REAP_H

#include <linux/types.h>

struct tcon_port;

void tcon_reap_init(void);
void tcon_reap_exit(void);
bool tcon_reap(struct tcon_port *port, u64 now_us);

#endif /* _TCON_REAP_H */
