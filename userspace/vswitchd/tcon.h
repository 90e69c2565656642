/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * TCon in ovs-vswitchd, or in tcon-switchd beside it: the tcon/ commands.  It
 * also tells tcon.ko about bridges, roles of ports, and rules whenever tcon.ko
 * is loaded.
 */

#ifndef VSWITCHD_TCON_H
#define VSWITCHD_TCON_H 1

#include "tcon-config.h"
#include "tcon-move.h"
#include "tcon-ovsdb.h"

void tcon_init(void);
void tcon_run(void);
void tcon_wait(void);

#endif /* vswitchd/tcon.h */
