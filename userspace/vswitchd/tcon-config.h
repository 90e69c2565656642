/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The bridges and ports that there are.
 */

#ifndef VSWITCHD_TCON_CONFIG_H
#define VSWITCHD_TCON_CONFIG_H 1

#include "openvswitch/uuid.h"
#include "tcon-netlink.h"

struct ovsdb_idl;
struct ovsrec_interface;
struct shash;

enum tcon_port_kind {
    TCON_PORT_DEVICE,           /* Any network device: role by the kernel. */
    TCON_PORT_INTERNAL,
    TCON_PORT_TUNNEL,
    TCON_PORT_PATCH,
};

struct tcon_port {
    char *name;
    uint32_t ofport;
    struct uuid uuid;           /* Of its Interface. */
    char *iface_id;             /* external_ids:iface-id; "": none. */
    uint32_t ifindex;           /* 0: no device. */
    enum tcon_port_kind kind;
    enum tcon_role role;        /* As configured, else TCON_ROLE_AUTO. */
    bool told;                  /* tcon.ko has accepted it. */
};

struct tcon_bridge {
    char *type;                 /* Datapath type. */
    struct tcon_port *ports;
    size_t n_ports, allocated_ports;
};

/* The present configuration: all of it is given between begin and end.  A port's
 * type comes from its netdev or from its record in OVSDB.  'ifindex' is zero or
 * negative if it has no device. */
void tcon_config_begin(struct ovsdb_idl *);
void tcon_config_bridge(const char *name, const char *datapath_type);
void tcon_config_port(const char *bridge, const char *name, const char *type,
                      uint16_t ofport, int ifindex,
                      const struct ovsrec_interface *);
void tcon_config_end(void);

/* Removes all rules: no flow is enforced any more. */
void tcon_config_cleanup(void);

/* The status columns of OVSDB are to be written again: says so, asks it. */
void tcon_config_changed(void);
bool tcon_status_changed(void);

/* Tells tcon.ko everything again when it is reloaded, and offers what it
 * refused once more. */
void tcon_config_watch(void);
void tcon_config_run(void);
void tcon_config_wait(void);

const struct shash *tcon_bridges(void); /* Of "struct tcon_bridge"s. */
bool tcon_bridge_is_kernel(const struct tcon_bridge *);

#endif /* vswitchd/tcon-config.h */
