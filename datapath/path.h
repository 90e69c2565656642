/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The way of packets through TCon: the callbacks for openvswitch.ko.
 */
#ifndef _TCON_PATH_H
#define _TCON_PATH_H

#include <tcon/ovs.h>

bool tcon_path_ingress(struct ovs_tcon_port *hook, struct sk_buff *skb);
bool tcon_path_egress(struct ovs_tcon_port *hook, struct sk_buff *skb);
void tcon_path_port_del(struct ovs_tcon_port *hook);
void tcon_path_close(void);

#endif /* _TCON_PATH_H */
