/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which way into the datapath is used.
 */
#ifndef _TCON_HOOKS_H
#define _TCON_HOOKS_H

int tcon_hooks_open(void);
void tcon_hooks_close(void);
const char *tcon_hooks_name(void);

#endif /* _TCON_HOOKS_H */
