/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Bridges and ports, and how tcon.ko learns of them.
 *
 * tcon.ko forgets everything when it is removed.  It knows neither bridges nor
 * OpenFlow ports.  So this file keeps both.  It tells tcon.ko again when the
 * configuration changes, and when the kernel announces the family "tcon".
 *
 * A rule or port that tcon.ko refuses is offered again later, at first after a second.
 * Mostly this is a rule whose CC's module is loaded shortly after tcon.ko.
 *
 * The rules themselves are OVSDB's (tcon-ovsdb.c).
 */

#include <config.h>

#include "tcon-config.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <string.h>

#include "coverage.h"
#include "netlink-notifier.h"
#include "netlink-protocol.h"
#include "netlink-socket.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/shash.h"
#include "openvswitch/vlog.h"
#include "smap.h"
#include "tcon-fleet.h"
#include "tcon-ovsdb.h"
#include "tcon-rates.h"
#include "tcon-rules.h"
#include "timeval.h"
#include "util.h"
#include "vswitch-idl.h"

VLOG_DEFINE_THIS_MODULE(tcon_config);

COVERAGE_DEFINE(tcon_loaded_anew);
COVERAGE_DEFINE(tcon_offered_again);

/* The pause between two offers doubles, from MIN to MAX: each offer that is
 * refused may make the kernel start modprobe. */
#define RETRY_MIN_MS 1000
#define RETRY_MAX_MS 10000

/* The state of rules is written to OVSDB within this time.  It is a pause and
 * not nothing, since vswitchd's last transaction may be under way. */
#define STATUS_DELAY_MS 10

/* At the end of a rule the time of day is looked at again after this time at
 * most, in case it is set. */
#define END_WAIT_MAX_MS 10000

/* The least time between two looks at Interfaces' external_ids.  Others write there,
 * too, and ovs-vswitchd does not configure again for that. */
#define LOOK_MS 100

/* Bridges by name, "struct tcon_bridge"s.  'old_bridges' is in use only while
 * the configuration is read again. */
static struct shash bridges = SHASH_INITIALIZER(&bridges);
static struct shash old_bridges = SHASH_INITIALIZER(&old_bridges);

/* Where the ports' Interfaces are. */
static struct ovsdb_idl *idl;

/* When external_ids may be looked at again, and whether somebody might have
 * written there since they were. */
static long long int look_at_ms;
static bool must_look;

/* The rules that tcon.ko had when this process started have been read. */
static bool adopted;

/* When to offer again what tcon.ko refused.  LLONG_MAX: nothing is waiting. */
static long long int retry_at_ms = LLONG_MAX;
static long long int retry_interval_ms = RETRY_MIN_MS;

/* The state of rules may have changed since it was written to OVSDB. */
static bool status_changed;

/* Notifications about generic netlink families. */
struct family_change {
    uint8_t cmd;
    char name[GENL_NAMSIZ];
};
static struct nln *family_nln;
static struct family_change family_change;
static unsigned int family_group;

const struct shash *
tcon_bridges(void)
{
    return &bridges;
}

/* Ports. */

static int
kernel_set_port(struct tcon_nl *nl, const char *bridge,
                const struct tcon_port *port, const char *iface_id,
                struct tcon_error *error)
{
    struct ofpbuf *request = tcon_nl_request(nl, TCON_CMD_SET_PORT);
    size_t nest;

    nl_msg_put_string(request, TCON_A_BRIDGE, bridge);
    nest = tcon_nl_start_nest(request, TCON_A_PORT);
    nl_msg_put_u32(request, TCON_PORT_A_IFINDEX, port->ifindex);
    nl_msg_put_u32(request, TCON_PORT_A_OFPORT, port->ofport);
    nl_msg_put_u8(request, TCON_PORT_A_ROLE, port->role);
    if (iface_id[0]) {
        nl_msg_put_string(request, TCON_PORT_A_IFACE_ID, iface_id);
    }
    nl_msg_end_nested(request, nest);
    return tcon_nl_do(nl, request, NULL, NULL, error);
}

static bool
tell_port(struct tcon_nl *nl, const char *bridge, const struct tcon_port *port,
          struct tcon_error *error)
{
    int err = kernel_set_port(nl, bridge, port, port->iface_id, error);

    if (err == EINVAL && port->iface_id[0]) {
        /* A tcon.ko that is older than iface-id refuses it. */
        err = kernel_set_port(nl, bridge, port, "", error);
    }
    return !err;
}

/* Tells tcon.ko about the ports that it does not know yet.  Tunnels are left
 * out: one tunnel device may serve many ports and bridges.  Returns false if
 * tcon.ko refuses a port. */
static bool
push_ports(struct tcon_nl *nl, bool first_time)
{
    struct shash_node *node;
    bool complete = true;

    SHASH_FOR_EACH (node, &bridges) {
        const struct tcon_bridge *bridge = node->data;

        for (size_t i = 0; i < bridge->n_ports; i++) {
            struct tcon_port *port = &bridge->ports[i];
            struct tcon_error error;

            if (port->told || !port->ifindex
                || (port->kind != TCON_PORT_DEVICE
                    && port->kind != TCON_PORT_INTERNAL)) {
                continue;
            }
            port->told = tell_port(nl, node->name, port, &error);
            if (!port->told) {
                complete = false;
                if (first_time) {
                    VLOG_WARN("port %s of bridge %s: tcon.ko does not take it "
                              "yet: %s", port->name, node->name, error.text);
                }
            }
        }
    }
    return complete;
}

/* Takes over what an earlier ovs-vswitchd left in tcon.ko, once.  Returns false if
 * that must be tried again. */
static bool
adopt(struct tcon_nl *nl, bool first_time)
{
    struct tcon_error error;

    if (!adopted) {
        adopted = !tcon_rules_adopt(nl, &error);
        if (!adopted && first_time) {
            VLOG_WARN("the rules in tcon.ko cannot be read yet: %s",
                      error.text);
        }
    }
    return adopted;
}

/* Tells tcon.ko, if it is loaded, what it was not told yet or refused.  Returns
 * false if something is to be offered again later. */
static bool
apply(bool first_time)
{
    struct tcon_error error;
    struct tcon_nl nl;
    bool complete;

    status_changed = true;
    if (!tcon_nl_open(&nl, &error)) {
        tcon_ovsdb_apply(NULL, &error);
        return true;
    }
    complete = adopt(&nl, first_time);
    complete &= push_ports(&nl, first_time);
    complete &= tcon_ovsdb_apply(&nl, NULL);
    complete &= tcon_rules_push(&nl, first_time);
    tcon_rates_begin();
    tcon_nl_close(&nl);
    return complete;
}

static void
push(bool first_time)
{
    retry_interval_ms = (first_time ? RETRY_MIN_MS
                         : MIN(retry_interval_ms * 2, RETRY_MAX_MS));
    retry_at_ms = (apply(first_time) ? LLONG_MAX
                   : time_msec() + retry_interval_ms);
}

/* Lets rules end whose time has come. */
static void
end_rules(void)
{
    struct tcon_error error;
    struct tcon_nl nl;
    bool open;

    if (time_wall() < tcon_rules_next_end_s()) {
        return;
    }
    open = tcon_nl_open(&nl, &error);
    tcon_rules_end(open ? &nl : NULL);
    if (open) {
        tcon_nl_close(&nl);
    }
    push(true);
}

void
tcon_config_changed(void)
{
    status_changed = true;
}

bool
tcon_status_changed(void)
{
    bool changed = status_changed;

    status_changed = false;
    return changed;
}

/* Configuration. */

bool
tcon_bridge_is_kernel(const struct tcon_bridge *bridge)
{
    return !bridge->type[0] || !strcmp(bridge->type, "system");
}

static void
bridge_destroy(struct tcon_bridge *bridge)
{
    for (size_t i = 0; i < bridge->n_ports; i++) {
        free(bridge->ports[i].name);
        free(bridge->ports[i].iface_id);
    }
    free(bridge->ports);
    free(bridge->type);
    free(bridge);
}

void
tcon_config_begin(struct ovsdb_idl *idl_)
{
    idl = idl_;
    shash_swap(&bridges, &old_bridges);
    tcon_ovsdb_begin(idl);
    tcon_fleet_configure(idl);
}

void
tcon_config_bridge(const char *name, const char *datapath_type)
{
    struct tcon_bridge *bridge = xzalloc(sizeof *bridge);

    bridge->type = xstrdup(datapath_type);
    shash_add_assert(&bridges, name, bridge);
    tcon_ovsdb_bridge(name, tcon_bridge_is_kernel(bridge) ? NULL
                      : "the bridge has a userspace datapath: TCon works in "
                      "the kernel datapath only");
}

/* A kernel's datapath has no other types than these and tunnels. */
static enum tcon_port_kind
port_kind(const char *type)
{
    return (!strcmp(type, "internal") ? TCON_PORT_INTERNAL
            : !strcmp(type, "patch") ? TCON_PORT_PATCH
            : !type[0] || !strcmp(type, "system") || !strcmp(type, "tap")
            ? TCON_PORT_DEVICE
            : TCON_PORT_TUNNEL);
}

/* Returns the role that 'other_config' asks for.  Where that is wrong,
 * tcon_ovsdb_bridge() says so. */
static enum tcon_role
configured_role(enum tcon_port_kind kind, const struct smap *other_config)
{
    const char *text = smap_get_def(other_config, TCON_ROLE_KEY, "");

    return (kind != TCON_PORT_DEVICE ? TCON_ROLE_AUTO
            : !strcmp(text, "guest") ? TCON_ROLE_GUEST
            : !strcmp(text, "uplink") ? TCON_ROLE_UPLINK
            : TCON_ROLE_AUTO);
}

/* One that cannot be matched is none. */
static const char *
iface_id_of(const struct ovsrec_interface *iface)
{
    const char *id = smap_get_def(&iface->external_ids, "iface-id", "");

    return strlen(id) < TCON_IFACE_ID_MAX ? id : "";
}

void
tcon_config_port(const char *bridge_name, const char *name, const char *type,
                 uint16_t ofport, int ifindex,
                 const struct ovsrec_interface *iface)
{
    struct tcon_bridge *bridge = shash_find_data(&bridges, bridge_name);
    struct tcon_port *port;

    if (!tcon_bridge_is_kernel(bridge)) {
        return;
    }
    if (bridge->n_ports >= bridge->allocated_ports) {
        bridge->ports = x2nrealloc(bridge->ports, &bridge->allocated_ports,
                                   sizeof *bridge->ports);
    }
    port = &bridge->ports[bridge->n_ports++];
    port->name = xstrdup(name);
    port->ofport = ofport;
    port->ifindex = MAX(ifindex, 0);
    port->kind = port_kind(type);
    port->role = configured_role(port->kind, &iface->other_config);
    port->uuid = iface->header_.uuid;
    port->iface_id = xstrdup(iface_id_of(iface));
    port->told = false;
}

/* Removes the rules of 'bridge'. */
static void
drop_bridge(const char *bridge, const char *by)
{
    struct tcon_change change;
    struct tcon_error error;
    struct tcon_nl nl;

    if (tcon_nl_open(&nl, &error)) {
        if (tcon_rules_del_bridge(&nl, bridge, by, &change, &error)) {
            VLOG_WARN("the rules of bridge %s cannot be removed: %s", bridge,
                      error.text);
        }
        tcon_nl_close(&nl);
    }
    tcon_rules_forget_bridge(bridge);
}

void
tcon_config_cleanup(void)
{
    struct shash_node *node;

    SHASH_FOR_EACH (node, &bridges) {
        if (tcon_bridge_is_kernel(node->data)) {
            drop_bridge(node->name, "exit --cleanup");
        }
    }
}

static struct tcon_bridge *
kernel_bridge_find(const char *name)
{
    struct tcon_bridge *bridge = shash_find_data(&bridges, name);

    return bridge && tcon_bridge_is_kernel(bridge) ? bridge : NULL;
}

void
tcon_config_end(void)
{
    struct shash_node *node;

    SHASH_FOR_EACH_SAFE (node, &old_bridges) {
        struct tcon_bridge *bridge = node->data;

        if (tcon_bridge_is_kernel(bridge) && !kernel_bridge_find(node->name)) {
            drop_bridge(node->name, "OVSDB, where the bridge is gone");
        }
        bridge_destroy(bridge);
        shash_delete(&old_bridges, node);
    }
    tcon_ovsdb_end();
    push(true);
}

/* Tells tcon.ko of the ports of 'bridge' whose iface-id has changed.  Returns
 * true if there are any. */
static bool
take_iface_ids(struct tcon_bridge *bridge)
{
    bool any = false;

    for (size_t i = 0; i < bridge->n_ports; i++) {
        struct tcon_port *port = &bridge->ports[i];
        const struct ovsrec_interface *iface;

        iface = ovsrec_interface_get_for_uuid(idl, &port->uuid);
        if (iface && strcmp(port->iface_id, iface_id_of(iface))) {
            free(port->iface_id);
            port->iface_id = xstrdup(iface_id_of(iface));
            port->told = false;
            any = true;
        }
    }
    return any;
}

/* To be called whenever the database may have changed. */
static void
follow_iface_ids(void)
{
    struct shash_node *node;
    bool any = false;

    must_look = time_msec() < look_at_ms;
    if (must_look || !idl) {
        return;
    }
    look_at_ms = time_msec() + LOOK_MS;
    SHASH_FOR_EACH (node, &bridges) {
        any |= take_iface_ids(node->data);
    }
    if (any) {
        push(true);
    }
}

/* Families appear and disappear. */

static int
parse_family(struct ofpbuf *buf, void *change_)
{
    static const struct nl_policy policy[CTRL_ATTR_FAMILY_NAME + 1] = {
        [CTRL_ATTR_FAMILY_NAME] = { .type = NL_A_STRING, .optional = true },
    };
    struct nlattr *attrs[ARRAY_SIZE(policy)];
    struct family_change *change = change_;
    const struct genlmsghdr *genl;

    if (!nl_policy_parse(buf, NLMSG_HDRLEN + GENL_HDRLEN, policy, attrs,
                         ARRAY_SIZE(policy))) {
        return 0;
    }
    genl = nl_msg_genlmsghdr(buf);
    change->cmd = genl->cmd;
    ovs_strlcpy(change->name, attrs[CTRL_ATTR_FAMILY_NAME]
                ? nl_attr_get_string(attrs[CTRL_ATTR_FAMILY_NAME]) : "",
                sizeof change->name);
    return family_group;
}

/* tcon.ko was removed: nothing is in force.  To ask it would make the kernel
 * look for it. */
static void
family_gone(void)
{
    struct tcon_error error;

    tcon_rules_lost();
    tcon_rates_end();
    tcon_nl_not_loaded(&error);
    tcon_ovsdb_apply(NULL, &error);
    status_changed = true;
    retry_at_ms = LLONG_MAX;
}

/* A new tcon.ko knows nothing, so it is told everything again.  'change' is
 * NULL when notifications were lost. */
static void
family_changed(const void *change_, void *aux OVS_UNUSED)
{
    const struct family_change *change = change_;
    struct shash_node *node;

    if (change && strcmp(change->name, TCON_GENL_NAME)) {
        return;
    }
    if (change && change->cmd != CTRL_CMD_NEWFAMILY) {
        if (change->cmd == CTRL_CMD_DELFAMILY) {
            family_gone();
        }
        return;
    }
    COVERAGE_INC(tcon_loaded_anew);
    SHASH_FOR_EACH (node, &bridges) {
        struct tcon_bridge *bridge = node->data;

        for (size_t i = 0; i < bridge->n_ports; i++) {
            bridge->ports[i].told = false;
        }
    }
    tcon_rules_lost();
    tcon_rates_end();
    tcon_ovsdb_forget_refusals();
    push(true);
}

void
tcon_config_watch(void)
{
    int err = nl_lookup_genl_mcgroup("nlctrl", "notify", &family_group);

    if (!err) {
        family_nln = nln_create(NETLINK_GENERIC, parse_family, &family_change);
        if (!nln_notifier_create(family_nln, family_group, family_changed,
                                 NULL)) {
            err = EIO;
        }
    }
    if (err) {
        VLOG_WARN("no netlink notifications: after a reload of tcon.ko, its "
                  "ports and rules come back with the next change of "
                  "configuration (%s)", ovs_strerror(err));
    }
}

void
tcon_config_run(void)
{
    if (family_nln) {
        nln_run(family_nln);
    }
    if (time_msec() >= retry_at_ms) {
        COVERAGE_INC(tcon_offered_again);
        push(false);
    }
    end_rules();
    follow_iface_ids();
    if (tcon_ovsdb_run()) {
        push(true);
    }
    status_changed |= tcon_fleet_run();
}

void
tcon_config_wait(void)
{
    if (family_nln) {
        nln_wait(family_nln);
    }
    if (retry_at_ms != LLONG_MAX) {
        poll_timer_wait_until(retry_at_ms);
    }
    if (must_look) {
        poll_timer_wait_until(look_at_ms);
    }
    if (tcon_rules_next_end_s() != INT64_MAX) {
        poll_timer_wait(MIN(MAX(tcon_rules_next_end_s() * 1000
                                - time_wall_msec(), 0), END_WAIT_MAX_MS));
    }
    if (status_changed && tcon_ovsdb_is_writable()) {
        poll_timer_wait(STATUS_DELAY_MS);
    }
    tcon_ovsdb_wait();
    tcon_fleet_wait();
}
