/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Netfilter's hooks of guests' devices.
 */
#ifndef _TCON_NETFILTER_H
#define _TCON_NETFILTER_H

#include "state/attach.h"

extern const struct tcon_attach tcon_netfilter;

bool tcon_netfilter_found(void);

#endif /* _TCON_NETFILTER_H */
