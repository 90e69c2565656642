/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Guests that move: what TCon knows of a port's flows is given to another
 * host.
 */

#ifndef VSWITCHD_TCON_MOVE_H
#define VSWITCHD_TCON_MOVE_H 1

struct smap;
struct uuid;

void tcon_move_init(void);

/* Tells TCon what libvirt has written into an Interface. */
void tcon_move_port_data(const struct uuid *interface, const char *port,
                         const struct smap *external_ids);

#endif /* vswitchd/tcon-move.h */
