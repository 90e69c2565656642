/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TCon's generic netlink family.
 */
#ifndef _TCON_NETLINK_H
#define _TCON_NETLINK_H

#define TCON_VERSION	"0.1.0"

int tcon_netlink_register(void);
void tcon_netlink_unregister(void);

#endif /* _TCON_NETLINK_H */
