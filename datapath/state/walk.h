/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Visits to all half-flows.
 */
#ifndef _TCON_WALK_H
#define _TCON_WALK_H

#include "state/net.h"

int tcon_walk_register(void);
void tcon_walk_unregister(void);
void tcon_walk_spread(struct tcon_net *tnet);
void tcon_walk_spread_all(void);
bool tcon_walk_spreading(struct tcon_net *tnet);
void tcon_walk_reclassify_all(void);
bool tcon_walk_drain_all(void);

#endif /* _TCON_WALK_H */
