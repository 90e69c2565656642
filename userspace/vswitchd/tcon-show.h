/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The commands that only show.
 */

#ifndef VSWITCHD_TCON_SHOW_H
#define VSWITCHD_TCON_SHOW_H 1

void tcon_show_init(void);

#endif /* vswitchd/tcon-show.h */
