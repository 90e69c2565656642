/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: no device is a tunnel. */
#ifndef _SHIM_NET_GENEVE_H
#define _SHIM_NET_GENEVE_H

#define netif_is_geneve(dev)	((void)(dev), false)

#endif /* _SHIM_NET_GENEVE_H */
