/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * tcon/trace: which rule would a flow obey?
 */

#ifndef VSWITCHD_TCON_TRACE_H
#define VSWITCHD_TCON_TRACE_H 1

void tcon_trace_init(void);

#endif /* vswitchd/tcon-trace.h */
