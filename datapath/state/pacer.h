/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Timers of the flows that hold packets: one queue and one timer per CPU.
 */
#ifndef _TCON_PACER_H
#define _TCON_PACER_H

#include <linux/types.h>

struct tcon_flow;

int tcon_pacer_init(void);
void tcon_pacer_exit(void);
void tcon_pacer_at(struct tcon_flow *flow, u64 when_ns);
void tcon_pacer_kick(struct tcon_flow *flow);
void tcon_pacer_cancel(struct tcon_flow *flow);

#endif /* _TCON_PACER_H */
