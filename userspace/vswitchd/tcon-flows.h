/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * tcon/flows, which goes on between its request and its reply.
 */

#ifndef VSWITCHD_TCON_FLOWS_H
#define VSWITCHD_TCON_FLOWS_H 1

#include <stdbool.h>

struct tcon_error;
struct tcon_rule;
struct unixctl_conn;

bool tcon_flows_count(struct unixctl_conn *, const struct tcon_rule *,
                      const char *forecast, struct tcon_error *);
void tcon_flows_init(void);
void tcon_flows_run(void);
void tcon_flows_wait(void);

#endif /* vswitchd/tcon-flows.h */
