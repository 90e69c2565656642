/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: no device is a tunnel. */
#ifndef _SHIM_NET_GRE_H
#define _SHIM_NET_GRE_H

#define netif_is_gretap(dev)	((void)(dev), false)
#define netif_is_ip6gretap(dev)	((void)(dev), false)

#endif /* _SHIM_NET_GRE_H */
