/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: no device is a tunnel. */
#ifndef _SHIM_NET_VXLAN_H
#define _SHIM_NET_VXLAN_H

#define netif_is_vxlan(dev)	((void)(dev), false)

#endif /* _SHIM_NET_VXLAN_H */
