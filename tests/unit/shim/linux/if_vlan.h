/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: tags beside the frame. */
#ifndef _SHIM_LINUX_IF_VLAN_H
#define _SHIM_LINUX_IF_VLAN_H

#include <linux/skbuff.h>

#define skb_vlan_tag_present(skb)	((skb)->vlan_present)
#define skb_vlan_tag_get_id(skb)	((skb)->vlan_tci & 0x0fff)

static inline void __vlan_hwaccel_put_tag(struct sk_buff *skb, __be16 proto,
					  u16 tci)
{
	skb->vlan_present = true;
	skb->vlan_proto = proto;
	skb->vlan_tci = tci;
}

static inline void __vlan_hwaccel_clear_tag(struct sk_buff *skb)
{
	skb->vlan_present = false;
}

#endif /* _SHIM_LINUX_IF_VLAN_H */
