/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * What ovs-vswitchd knows for TCon: bridges, their ports, and the rules.
 */

#ifndef VSWITCHD_TCON_STATE_H
#define VSWITCHD_TCON_STATE_H 1

#include "openvswitch/list.h"
#include "openvswitch/shash.h"
#include "tcon-match.h"
#include "tcon-netlink.h"

enum tcon_port_kind {
    TCON_PORT_DEVICE,           /* Any network device: role by the kernel. */
    TCON_PORT_INTERNAL,
    TCON_PORT_TUNNEL,
    TCON_PORT_PATCH,
};

struct tcon_port {
    char *name;
    uint32_t ofport;
    uint32_t ifindex;           /* 0: no device. */
    enum tcon_port_kind kind;
    enum tcon_role role;        /* As configured, else TCON_ROLE_AUTO. */
    bool told;                  /* tcon.ko took it. */
};

struct tcon_bridge {
    char *type;                 /* Datapath type. */
    struct tcon_port *ports;
    size_t n_ports, allocated_ports;
};

struct tcon_param {
    char name[TCON_PARAM_NAME_MAX];
    int64_t value;
    enum tcon_param_type type;
};

struct tcon_rule {
    struct ovs_list node;       /* In the list of rules, oldest first. */
    char bridge[TCON_BRIDGE_NAME_MAX];
    struct tcon_match match;
    uint32_t priority;
    char cc[TCON_CC_NAME_MAX];
    struct tcon_param params[TCON_MAX_PARAMS];
    size_t n_params;
    uint32_t flows;             /* Only from a dump: flows that it selects. */
    bool in_kernel;             /* tcon.ko has it. */
};

/* A rule that tcon.ko has, from a message of TCON_CMD_GET_RULE. */
bool tcon_rule_from_attrs(struct nlattr *attrs[], struct tcon_rule *);

/* State, for reading. */
const struct shash *tcon_bridges(void); /* Of "struct tcon_bridge"s. */
const struct ovs_list *tcon_rules(void); /* Of "struct tcon_rule"s. */

/* Words of the commands. */
struct tcon_bridge *tcon_bridge_lookup(const char *name, struct tcon_error *);
bool tcon_parse_flow(const char *arg, struct tcon_flow_spec *,
                     struct tcon_error *);
bool tcon_resolve_guest_port(const char *bridge_name,
                             const struct tcon_bridge *, struct tcon_nl *,
                             struct tcon_match *, struct tcon_error *);

void tcon_show_init(void);

#endif /* vswitchd/tcon-state.h */
