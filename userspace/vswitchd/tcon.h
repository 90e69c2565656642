/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * TCon in ovs-vswitchd: the tcon/ commands, and what makes tcon.ko know the
 * bridges, the ports' roles and the rules again whenever it is loaded.
 */

#ifndef VSWITCHD_TCON_H
#define VSWITCHD_TCON_H 1

#include "openvswitch/types.h"

struct netdev;
struct smap;

void tcon_init(void);
void tcon_run(void);
void tcon_wait(void);

/* The present configuration, told anew between begin and end each time. */
void tcon_config_begin(void);
void tcon_config_bridge(const char *name, const char *datapath_type);
void tcon_config_port(const char *bridge, ofp_port_t, const struct netdev *,
                      const struct smap *other_config);
void tcon_config_end(void);

#endif /* vswitchd/tcon.h */
