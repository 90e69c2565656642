/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: routes: there are none. */
#ifndef _SHIM_NET_DST_H
#define _SHIM_NET_DST_H

#define skb_dst_drop(skb)	do { } while (0)

#endif /* _SHIM_NET_DST_H */
