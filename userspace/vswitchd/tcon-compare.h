/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * tcon/compare.
 */

#ifndef VSWITCHD_TCON_COMPARE_H
#define VSWITCHD_TCON_COMPARE_H 1

void tcon_compare_init(void);

#endif /* vswitchd/tcon-compare.h */
