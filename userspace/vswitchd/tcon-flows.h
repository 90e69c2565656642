/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * tcon/flows, which goes on between its request and its reply.
 */

#ifndef VSWITCHD_TCON_FLOWS_H
#define VSWITCHD_TCON_FLOWS_H 1

void tcon_flows_init(void);
void tcon_flows_run(void);
void tcon_flows_wait(void);

#endif /* vswitchd/tcon-flows.h */
