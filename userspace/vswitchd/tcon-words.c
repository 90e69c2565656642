/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The arguments of the commands: bridges, flows and ports.
 */

#include <config.h>

#include "tcon-words.h"

#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/shash.h"
#include "tcon-ovsdb.h"
#include "tcon-rules.h"
#include "util.h"

static const struct tcon_nl_field port_fields[] = {
    { TCON_PORT_A_IFINDEX, NL_A_U32, NULL },
    { TCON_PORT_A_ROLE,    NL_A_U8,  NULL },
};

/* Returns the bridge 'name' if it has the kernel datapath; otherwise NULL,
 * with a sentence. */
struct tcon_bridge *
tcon_bridge_lookup(const char *name, struct tcon_error *error)
{
    struct tcon_bridge *bridge = shash_find_data(tcon_bridges(), name);

    if (!bridge) {
        tcon_error_set(error, "no bridge is named '%.64s'", name);
        return NULL;
    }
    if (!tcon_bridge_is_kernel(bridge)) {
        tcon_error_set(error, "bridge %.64s has a userspace datapath "
                       "(datapath_type=%.32s): TCon works in the kernel "
                       "datapath only", name, bridge->type);
        return NULL;
    }
    return bridge;
}

/* Takes 'option' from the arguments, wherever and however often it stands, to
 * behind their end: the caller's caller frees them all.  Returns true if it was
 * there. */
bool
tcon_take_option(int *argc, const char *argv[], const char *option)
{
    bool there = false;

    for (int i = *argc - 1; i > 0; i--) {
        const char *arg = argv[i];

        if (!strcmp(arg, option)) {
            --*argc;
            memmove(&argv[i], &argv[i + 1], (*argc - i) * sizeof *argv);
            argv[*argc] = arg;
            there = true;
        }
    }
    return there;
}

/* Likewise an option that ends in "=".  Returns the value behind the last of them, or
 * NULL. */
const char *
tcon_take_value(int *argc, const char *argv[], const char *option)
{
    const char *value = NULL;

    for (int i = *argc - 1; i > 0; i--) {
        const char *arg = argv[i];

        if (!strncmp(arg, option, strlen(option))) {
            --*argc;
            memmove(&argv[i], &argv[i + 1], (*argc - i) * sizeof *argv);
            argv[*argc] = arg;
            value = value ? value : arg + strlen(option);
        }
    }
    return value;
}

/* Returns a command as it was given, for logs: printable whatever it was.  The caller
 * frees it. */
char *
tcon_command_text(int argc, const char *argv[])
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    for (int i = 0; i < argc; i++) {
        ds_put_format(&ds, "%s%s", i ? " " : "", argv[i]);
    }
    for (char *p = ds_cstr(&ds); *p; p++) {
        if (*p < ' ' || *p > '~') {
            *p = '?';
        }
    }
    return ds_steal_cstr(&ds);
}

static const struct tcon_port *
port_find(const struct tcon_bridge *bridge, const struct tcon_match *match)
{
    if (match->iface_id[0]) {
        return tcon_port_by_iface_id(bridge, match->iface_id);
    }
    for (size_t i = 0; i < bridge->n_ports; i++) {
        const struct tcon_port *port = &bridge->ports[i];

        if (match->has_ofport ? port->ofport == match->ofport
            : !strcmp(port->name, match->ifname)) {
            return port;
        }
    }
    return NULL;
}

/* Replaces an OpenFlow number by the port's name, because the number of a VM's
 * port changes when the VM reboots. */
static void
use_port_name(const struct tcon_port *port, struct tcon_match *match)
{
    if (strlen(port->name) < sizeof match->ifname) {
        memset(match->ifname, 0, sizeof match->ifname);
        memcpy(match->ifname, port->name, strlen(port->name));
        match->has_ofport = false;
        match->ofport = 0;
    }
}

struct role_query {
    uint32_t ifindex;
    enum tcon_role role;        /* TCON_ROLE_AUTO until the port is found. */
};

static bool
find_role(struct nlattr *top[], void *query_)
{
    struct nlattr *attrs[TCON_PORT_A_MAX + 1];
    struct role_query *query = query_;

    if (top[TCON_A_PORT]
        && tcon_nl_parse(top[TCON_A_PORT], port_fields,
                         ARRAY_SIZE(port_fields), attrs, ARRAY_SIZE(attrs))
        && attrs[TCON_PORT_A_IFINDEX] && attrs[TCON_PORT_A_ROLE]
        && nl_attr_get_u32(attrs[TCON_PORT_A_IFINDEX]) == query->ifindex) {
        query->role = nl_attr_get_u8(attrs[TCON_PORT_A_ROLE]);
    }
    return true;
}

/* Sets '*is_a' to NULL if 'port' is a guest's; otherwise to what it is.
 * Returns false, with a sentence, if tcon.ko does not answer. */
static bool
classify_port(const struct tcon_port *port, struct tcon_nl *nl,
              const char **is_a, struct tcon_error *error)
{
    struct role_query query = { port->ifindex, TCON_ROLE_AUTO };

    *is_a = (port->kind == TCON_PORT_INTERNAL ? "an internal port"
             : port->kind == TCON_PORT_TUNNEL ? "a tunnel"
             : port->kind == TCON_PORT_PATCH ? "a patch port"
             : NULL);
    if (*is_a) {
        return true;
    }
    if (tcon_nl_dump(nl, tcon_nl_request(nl, TCON_CMD_GET_PORT), find_role,
                     &query, error)) {
        return false;
    }
    *is_a = (query.role == TCON_ROLE_GUEST ? NULL
             : query.role == TCON_ROLE_UPLINK ? "an uplink"
             : query.role == TCON_ROLE_NEVER ? "a tunnel"
             : "not in the kernel datapath");
    return true;
}

/* Says that the bridge has no port as 'match' names. */
static void
set_no_port(const char *bridge, const struct tcon_match *match,
            struct tcon_error *error)
{
    struct tcon_match in_port = { .ofport = match->ofport };
    char *members = tcon_ovsdb_bond_members(match->ifname);
    char text[TCON_MATCH_TEXT_MAX];

    in_port.has_ofport = match->has_ofport;
    ovs_strlcpy(in_port.ifname, match->ifname, sizeof in_port.ifname);
    ovs_strlcpy(in_port.iface_id, match->iface_id, sizeof in_port.iface_id);
    tcon_match_format(&in_port, text);
    if (members) {
        tcon_error_set(error, "%s: this is a bond, name one of its members: "
                       "%.120s", text, members);
    } else {
        tcon_error_set(error, "%s: bridge %.64s has no such port", text,
                       bridge);
    }
    free(members);
}

/* If the match of 'place' has in_port or iface-id, checks that it is a guest's
 * port of the bridge, and turns a number into the name.  An iface-id stays: the
 * name changes where the guest is started again.  A rule that is kept may name a
 * port that has gone. */
bool
tcon_resolve_guest_port(const struct tcon_bridge *bridge, struct tcon_nl *nl,
                        struct tcon_rule *place, struct tcon_error *error)
{
    struct tcon_match *match = &place->match;
    const struct tcon_port *port;
    const char *is_a;

    if (!match->has_ofport && !match->ifname[0] && !match->iface_id[0]) {
        return true;
    }
    port = port_find(bridge, match);
    if (!port) {
        if (tcon_rule_find(place)) {
            return true;
        }
        set_no_port(place->bridge, match, error);
        return false;
    }
    if (!classify_port(port, nl, &is_a, error)) {
        return false;
    }
    if (is_a) {
        tcon_error_set(error, "%s: port %.32s is %s, not a guest's: the flow "
                       "can match nothing", match->iface_id[0] ? "iface-id"
                       : "in_port", port->name, is_a);
        return false;
    }
    if (!match->iface_id[0]) {
        use_port_name(port, match);
    }
    return true;
}

/* Returns the guest's port 'name' of the bridge; otherwise NULL, with a
 * sentence. */
const struct tcon_port *
tcon_guest_port(const char *bridge_name, const struct tcon_bridge *bridge,
                struct tcon_nl *nl, const char *name,
                struct tcon_error *error)
{
    struct tcon_match match = { .has_ofport = false };
    const struct tcon_port *port = NULL;
    const char *is_a;

    if (name[0] && strlen(name) < sizeof match.ifname) {
        ovs_strlcpy(match.ifname, name, sizeof match.ifname);
        port = port_find(bridge, &match);
    }
    if (!port) {
        tcon_error_set(error, "bridge %.64s has no port '%.32s'", bridge_name,
                       name);
    } else if (classify_port(port, nl, &is_a, error)) {
        if (!is_a) {
            return port;
        }
        tcon_error_set(error, "port %.32s is %s, not a guest's", port->name,
                       is_a);
    }
    return NULL;
}

/* Returns the first port of the bridge with this iface-id, or NULL. */
const struct tcon_port *
tcon_port_by_iface_id(const struct tcon_bridge *bridge, const char *iface_id)
{
    for (size_t i = 0; i < bridge->n_ports; i++) {
        if (!strcmp(bridge->ports[i].iface_id, iface_id)) {
            return &bridge->ports[i];
        }
    }
    return NULL;
}

/* Replaces a port's number by its name.  A port that the bridge does not have
 * stays as it is. */
void
tcon_use_port_name(const struct tcon_bridge *bridge, struct tcon_match *match)
{
    const struct tcon_port *port;

    port = match->has_ofport ? port_find(bridge, match) : NULL;
    if (port) {
        use_port_name(port, match);
    }
}
