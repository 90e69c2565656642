/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * TCon in ovs-vswitchd: the tcon/ commands, and what makes tcon.ko know the
 * bridges, the ports' roles and the rules again whenever it is loaded.
 */

#ifndef VSWITCHD_TCON_H
#define VSWITCHD_TCON_H 1

#include "tcon-config.h"

void tcon_init(void);

#endif /* vswitchd/tcon.h */
