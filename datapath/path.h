/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The packets' way through TCon.
 */
#ifndef _TCON_PATH_H
#define _TCON_PATH_H

#include <tcon/ovs.h>

extern const struct ovs_tcon_ops tcon_path_ops;

void tcon_path_close(void);

#endif /* _TCON_PATH_H */
