/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The hooks of a patched openvswitch.ko.
 */
#ifndef _TCON_PATCHED_H
#define _TCON_PATCHED_H

#include "state/attach.h"

extern const struct tcon_attach tcon_patched;

bool tcon_patched_found(void);

#endif /* _TCON_PATCHED_H */
