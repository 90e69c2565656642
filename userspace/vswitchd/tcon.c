/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * State and its way to the kernel.
 *
 * tcon.ko forgets everything when it is removed, and knows neither bridges nor
 * OpenFlow ports.  So this file keeps both, and tells tcon.ko again whenever
 * the configuration changes or the kernel announces the family "tcon".  What
 * tcon.ko does not take, above all a rule whose CC is a module that is loaded
 * a moment after tcon.ko, is offered again, at first after a second.
 */

#include <config.h>

#include "tcon.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <string.h>

#include "netdev-provider.h"
#include "netdev-vport.h"
#include "netdev.h"
#include "netlink-notifier.h"
#include "netlink-protocol.h"
#include "netlink-socket.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "smap.h"
#include "tcon-cc.h"
#include "tcon-state.h"
#include "timeval.h"
#include "unixctl.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(tcon);

/* An offer that is refused may make the kernel start modprobe: ever more
 * rarely. */
#define RETRY_MIN_MS 1000
#define RETRY_MAX_MS 10000

/* Bridges by name, "struct tcon_bridge"s; 'old_bridges' only while they are
 * configured anew. */
static struct shash bridges = SHASH_INITIALIZER(&bridges);
static struct shash old_bridges = SHASH_INITIALIZER(&old_bridges);

/* "struct tcon_rule"s, in the order in which they were set. */
static struct ovs_list rules = OVS_LIST_INITIALIZER(&rules);

/* Interfaces about whose tcon-role a warning was given, with its value. */
static struct smap warned_roles = SMAP_INITIALIZER(&warned_roles);

/* The rules that tcon.ko had when this process started were adopted. */
static bool adopted;

/* When to offer again what tcon.ko did not take; LLONG_MAX: nothing is. */
static long long int retry_at_ms = LLONG_MAX;
static long long int retry_interval_ms = RETRY_MIN_MS;

/* Generic netlink families coming and going. */
struct family_change {
    uint8_t cmd;
    char name[GENL_NAMSIZ];
};
static struct nln *family_nln;
static struct family_change family_change;
static unsigned int family_group;

static const struct tcon_nl_field rule_fields[] = {
    { TCON_RULE_A_PRIORITY, NL_A_U32,    NULL },
    { TCON_RULE_A_CC,       NL_A_STRING, NULL },
    { TCON_RULE_A_FLOWS,    NL_A_U32,    NULL },
};

static const struct tcon_nl_field rule_param_fields[] = {
    { TCON_PARAM_A_NAME,  NL_A_STRING, NULL },
    { TCON_PARAM_A_VALUE, NL_A_U64,    NULL },
    { TCON_PARAM_A_TYPE,  NL_A_U8,     NULL },
};

static const struct tcon_nl_field port_fields[] = {
    { TCON_PORT_A_IFINDEX, NL_A_U32, NULL },
    { TCON_PORT_A_ROLE,    NL_A_U8,  NULL },
};

const struct shash *
tcon_bridges(void)
{
    return &bridges;
}

const struct ovs_list *
tcon_rules(void)
{
    return &rules;
}

/* Rules. */

static void
get_rule_param(const struct nlattr *nest, struct tcon_rule *rule)
{
    struct nlattr *attrs[TCON_PARAM_A_MAX + 1];
    struct tcon_param *param;

    if (rule->n_params < TCON_MAX_PARAMS
        && tcon_nl_parse(nest, rule_param_fields,
                         ARRAY_SIZE(rule_param_fields), attrs,
                         ARRAY_SIZE(attrs))
        && attrs[TCON_PARAM_A_NAME] && attrs[TCON_PARAM_A_VALUE]) {
        param = &rule->params[rule->n_params++];
        ovs_strlcpy(param->name, nl_attr_get_string(attrs[TCON_PARAM_A_NAME]),
                    sizeof param->name);
        param->value = nl_attr_get_u64(attrs[TCON_PARAM_A_VALUE]);
        if (attrs[TCON_PARAM_A_TYPE]) {
            param->type = nl_attr_get_u8(attrs[TCON_PARAM_A_TYPE]);
        }
    }
}

/* Reads a message of TCON_CMD_GET_RULE.  Returns false if it is malformed. */
bool
tcon_rule_from_attrs(struct nlattr *top[], struct tcon_rule *rule)
{
    struct nlattr *attrs[TCON_RULE_A_MAX + 1];
    const struct nlattr *attr;
    size_t left;

    memset(rule, 0, sizeof *rule);
    if (!top[TCON_A_BRIDGE] || !top[TCON_A_RULE] || !top[TCON_A_RULE_MATCH]
        || !tcon_nl_parse(top[TCON_A_RULE], rule_fields,
                          ARRAY_SIZE(rule_fields), attrs, ARRAY_SIZE(attrs))
        || !attrs[TCON_RULE_A_PRIORITY] || !attrs[TCON_RULE_A_CC]
        || !tcon_nl_get_match(top[TCON_A_RULE_MATCH], &rule->match)) {
        return false;
    }
    ovs_strlcpy(rule->bridge, nl_attr_get_string(top[TCON_A_BRIDGE]),
                sizeof rule->bridge);
    rule->priority = nl_attr_get_u32(attrs[TCON_RULE_A_PRIORITY]);
    ovs_strlcpy(rule->cc, nl_attr_get_string(attrs[TCON_RULE_A_CC]),
                sizeof rule->cc);
    if (attrs[TCON_RULE_A_FLOWS]) {
        rule->flows = nl_attr_get_u32(attrs[TCON_RULE_A_FLOWS]);
    }
    NL_NESTED_FOR_EACH (attr, left, top[TCON_A_RULE]) {
        if (nl_attr_type(attr) == TCON_RULE_A_PARAM) {
            get_rule_param(attr, rule);
        }
    }
    rule->in_kernel = true;
    return true;
}

static void
put_rule(struct ofpbuf *request, const struct tcon_rule *rule)
{
    size_t nest;

    nl_msg_put_string(request, TCON_A_BRIDGE, rule->bridge);
    tcon_nl_put_match(request, &rule->match);
    nest = tcon_nl_start_nest(request, TCON_A_RULE);
    nl_msg_put_u32(request, TCON_RULE_A_PRIORITY, rule->priority);
    nl_msg_put_string(request, TCON_RULE_A_CC, rule->cc);
    for (size_t i = 0; i < rule->n_params; i++) {
        size_t param = tcon_nl_start_nest(request, TCON_RULE_A_PARAM);

        nl_msg_put_string(request, TCON_PARAM_A_NAME, rule->params[i].name);
        nl_msg_put_u64(request, TCON_PARAM_A_VALUE, rule->params[i].value);
        nl_msg_end_nested(request, param);
    }
    nl_msg_end_nested(request, nest);
}

static int
kernel_set_rule(struct tcon_nl *nl, struct tcon_rule *rule,
                struct tcon_error *error)
{
    struct ofpbuf *request = tcon_nl_request(nl, TCON_CMD_SET_RULE);
    int err;

    put_rule(request, rule);
    err = tcon_nl_do(nl, request, NULL, NULL, error);
    rule->in_kernel = !err;
    return err;
}

static int
kernel_del_rule(struct tcon_nl *nl, const struct tcon_rule *rule,
                struct tcon_error *error)
{
    struct ofpbuf *request = tcon_nl_request(nl, TCON_CMD_DEL_RULE);
    size_t nest;

    nl_msg_put_string(request, TCON_A_BRIDGE, rule->bridge);
    tcon_nl_put_match(request, &rule->match);
    nest = tcon_nl_start_nest(request, TCON_A_RULE);
    nl_msg_put_u32(request, TCON_RULE_A_PRIORITY, rule->priority);
    nl_msg_end_nested(request, nest);
    return tcon_nl_do(nl, request, NULL, NULL, error);
}

/* Having no rules is no error. */
static int
kernel_del_bridge_rules(struct tcon_nl *nl, const char *bridge,
                        struct tcon_error *error)
{
    struct ofpbuf *request = tcon_nl_request(nl, TCON_CMD_DEL_RULE);
    int err;

    nl_msg_put_string(request, TCON_A_BRIDGE, bridge);
    err = tcon_nl_do(nl, request, NULL, NULL, error);
    return err == ENOENT ? 0 : err;
}

static bool
same_place(const struct tcon_rule *a, const struct tcon_rule *b)
{
    return (a->priority == b->priority && !strcmp(a->bridge, b->bridge)
            && tcon_match_equal(&a->match, &b->match));
}

static bool
same_decision(const struct tcon_rule *a, const struct tcon_rule *b)
{
    if (strcmp(a->cc, b->cc) || a->n_params != b->n_params) {
        return false;
    }
    for (size_t i = 0; i < a->n_params; i++) {
        if (strcmp(a->params[i].name, b->params[i].name)
            || a->params[i].value != b->params[i].value) {
            return false;
        }
    }
    return true;
}

static struct tcon_rule *
rule_find(const struct tcon_rule *key)
{
    struct tcon_rule *rule;

    LIST_FOR_EACH (rule, node, &rules) {
        if (same_place(rule, key)) {
            return rule;
        }
    }
    return NULL;
}

static void
rule_destroy(struct tcon_rule *rule)
{
    ovs_list_remove(&rule->node);
    free(rule);
}

/* Keeps a copy of 'rule' as the newest.  As in the kernel, a rule that is set
 * again with the same decision keeps its age. */
static void
rule_keep(const struct tcon_rule *rule)
{
    struct tcon_rule *old = rule_find(rule);
    struct tcon_rule *new;

    if (old && same_decision(old, rule)) {
        old->in_kernel = rule->in_kernel;
        return;
    }
    if (old) {
        rule_destroy(old);
    }
    new = xmemdup(rule, sizeof *rule);
    ovs_list_push_back(&rules, &new->node);
}

static void
forget_bridge_rules(const char *bridge)
{
    struct tcon_rule *rule;

    LIST_FOR_EACH_SAFE (rule, node, &rules) {
        if (!strcmp(rule->bridge, bridge)) {
            rule_destroy(rule);
        }
    }
}

/* Rules of equal priority are tried newest first.  So those which are newer
 * than 'late', but came into the kernel before it, must come again. */
static void
restore_order(struct tcon_nl *nl, const struct tcon_rule *late)
{
    struct tcon_error error;
    struct tcon_rule *rule;
    bool newer = false;

    LIST_FOR_EACH (rule, node, &rules) {
        if (rule == late) {
            newer = true;
        } else if (newer && rule->in_kernel
                   && rule->priority == late->priority
                   && !strcmp(rule->bridge, late->bridge)) {
            kernel_del_rule(nl, rule, &error);
            kernel_set_rule(nl, rule, &error);
        }
    }
}

static char *
rule_to_string(const struct tcon_rule *rule)
{
    char match[TCON_MATCH_TEXT_MAX];

    tcon_match_format(&rule->match, match);
    return xasprintf("rule priority=%"PRIu32",%s %s of bridge %s",
                     rule->priority, match, rule->cc, rule->bridge);
}

/* Offers tcon.ko the rules that it does not have, oldest first.  Says once
 * which it does not take.  Returns false if there are such. */
static bool
push_rules(struct tcon_nl *nl, bool first_time)
{
    struct tcon_error error;
    struct tcon_rule *rule;
    bool complete = true;

    LIST_FOR_EACH (rule, node, &rules) {
        if (rule->in_kernel) {
            continue;
        }
        if (!kernel_set_rule(nl, rule, &error)) {
            restore_order(nl, rule);
            continue;
        }
        if (first_time) {
            char *s = rule_to_string(rule);

            VLOG_WARN("%s: tcon.ko does not take it yet: %s", s, error.text);
            free(s);
        }
        complete = false;
    }
    return complete;
}

/* Ports. */

static int
kernel_set_port(struct tcon_nl *nl, const char *bridge,
                const struct tcon_port *port, struct tcon_error *error)
{
    struct ofpbuf *request = tcon_nl_request(nl, TCON_CMD_SET_PORT);
    size_t nest;

    nl_msg_put_string(request, TCON_A_BRIDGE, bridge);
    nest = tcon_nl_start_nest(request, TCON_A_PORT);
    nl_msg_put_u32(request, TCON_PORT_A_IFINDEX, port->ifindex);
    nl_msg_put_u32(request, TCON_PORT_A_OFPORT, port->ofport);
    nl_msg_put_u8(request, TCON_PORT_A_ROLE, port->role);
    nl_msg_end_nested(request, nest);
    return tcon_nl_do(nl, request, NULL, NULL, error);
}

/* Tells tcon.ko about the ports that it was not told about.  A tunnel's device
 * serves any number of ports and bridges, so it is none's.  Returns false if
 * tcon.ko refuses one. */
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
            port->told = !kernel_set_port(nl, node->name, port, &error);
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

/* Tells tcon.ko, if it is there, what it was not told or did not take. */
static void
push(bool first_time)
{
    struct tcon_error error;
    struct tcon_nl nl;

    retry_at_ms = LLONG_MAX;
    retry_interval_ms = (first_time ? RETRY_MIN_MS
                         : MIN(retry_interval_ms * 2, RETRY_MAX_MS));
    if (tcon_nl_open(&nl, &error)) {
        bool ports_complete = push_ports(&nl, first_time);

        if (!push_rules(&nl, first_time) || !ports_complete) {
            retry_at_ms = time_msec() + retry_interval_ms;
        }
        tcon_nl_close(&nl);
    }
}

/* Configuration. */

static bool
is_kernel_bridge(const struct tcon_bridge *bridge)
{
    return !bridge->type[0] || !strcmp(bridge->type, "system");
}

static void
bridge_destroy(struct tcon_bridge *bridge)
{
    for (size_t i = 0; i < bridge->n_ports; i++) {
        free(bridge->ports[i].name);
    }
    free(bridge->ports);
    free(bridge->type);
    free(bridge);
}

void
tcon_config_begin(void)
{
    shash_swap(&bridges, &old_bridges);
}

void
tcon_config_bridge(const char *name, const char *datapath_type)
{
    struct tcon_bridge *bridge = xzalloc(sizeof *bridge);

    bridge->type = xstrdup(datapath_type);
    shash_add_assert(&bridges, name, bridge);
}

/* The patch ports of netdev-vport.c are of its class, too. */
static enum tcon_port_kind
port_kind(const struct netdev *netdev)
{
    const char *type = netdev_get_type(netdev);

    return (!strcmp(type, "internal") ? TCON_PORT_INTERNAL
            : !strcmp(type, "patch") ? TCON_PORT_PATCH
            : netdev_vport_is_vport_class(netdev_get_class(netdev))
            ? TCON_PORT_TUNNEL
            : TCON_PORT_DEVICE);
}

/* Warns once about each value that is of no use. */
static enum tcon_role
configured_role(const char *name, enum tcon_port_kind kind,
                const struct smap *other_config)
{
    const char *text = smap_get(other_config, "tcon-role");
    const char *complaint = NULL;
    enum tcon_role role = TCON_ROLE_AUTO;

    if (text && kind != TCON_PORT_DEVICE) {
        complaint = "an internal, tunnel or patch port is never a guest's";
    } else if (text && !strcmp(text, "guest")) {
        role = TCON_ROLE_GUEST;
    } else if (text && !strcmp(text, "uplink")) {
        role = TCON_ROLE_UPLINK;
    } else if (text) {
        complaint = "neither \"guest\" nor \"uplink\"";
    }
    if (!complaint) {
        smap_remove(&warned_roles, name);
    } else if (!nullable_string_is_equal(text, smap_get(&warned_roles,
                                                        name))) {
        VLOG_WARN("interface %s: other_config:tcon-role=\"%s\" is ignored: %s",
                  name, text, complaint);
        smap_replace(&warned_roles, name, text);
    }
    return role;
}

void
tcon_config_port(const char *bridge_name, ofp_port_t ofport,
                 const struct netdev *netdev, const struct smap *other_config)
{
    struct tcon_bridge *bridge = shash_find_data(&bridges, bridge_name);
    const char *name = netdev_get_name(netdev);
    struct tcon_port *port;
    int ifindex;

    if (!is_kernel_bridge(bridge)) {
        return;
    }
    if (bridge->n_ports >= bridge->allocated_ports) {
        bridge->ports = x2nrealloc(bridge->ports, &bridge->allocated_ports,
                                   sizeof *bridge->ports);
    }
    ifindex = netdev_get_ifindex(netdev);
    port = &bridge->ports[bridge->n_ports++];
    port->name = xstrdup(name);
    port->ofport = ofp_to_u16(ofport);
    port->ifindex = MAX(ifindex, 0);
    port->kind = port_kind(netdev);
    port->role = configured_role(name, port->kind, other_config);
    port->told = false;
}

/* Removes the rules of 'bridge', which is no more. */
static void
drop_bridge(const char *bridge)
{
    struct tcon_error error;
    struct tcon_nl nl;

    if (tcon_nl_open(&nl, &error)) {
        if (kernel_del_bridge_rules(&nl, bridge, &error)) {
            VLOG_WARN("the rules of bridge %s cannot be removed: %s", bridge,
                      error.text);
        }
        tcon_nl_close(&nl);
    }
    forget_bridge_rules(bridge);
}

static struct tcon_bridge *
kernel_bridge_find(const char *name)
{
    struct tcon_bridge *bridge = shash_find_data(&bridges, name);

    return bridge && is_kernel_bridge(bridge) ? bridge : NULL;
}

/* Puts one of the kernel's rules in front: the dump is newest first among
 * equals. */
static bool
adopt_rule(struct nlattr *attrs[], void *aux OVS_UNUSED)
{
    struct tcon_rule *rule = xmalloc(sizeof *rule);

    if (tcon_rule_from_attrs(attrs, rule)) {
        ovs_list_push_front(&rules, &rule->node);
    } else {
        free(rule);
    }
    return true;
}

/* A former ovs-vswitchd may have left rules: they stay, unless their bridge
 * has gone meanwhile. */
static void
adopt(void)
{
    struct tcon_error error;
    struct tcon_rule *rule;
    struct shash gone = SHASH_INITIALIZER(&gone);
    struct shash_node *node;
    struct tcon_nl nl;

    if (!tcon_nl_open(&nl, &error)) {
        return;
    }
    if (tcon_nl_dump(&nl, tcon_nl_request(&nl, TCON_CMD_GET_RULE), adopt_rule,
                     NULL, &error)) {
        VLOG_WARN("the rules in tcon.ko cannot be read: %s", error.text);
    }
    tcon_nl_close(&nl);

    LIST_FOR_EACH (rule, node, &rules) {
        if (!kernel_bridge_find(rule->bridge)) {
            shash_add_once(&gone, rule->bridge, NULL);
        }
    }
    SHASH_FOR_EACH (node, &gone) {
        drop_bridge(node->name);
    }
    shash_destroy(&gone);
}

void
tcon_config_end(void)
{
    struct shash_node *node;

    SHASH_FOR_EACH_SAFE (node, &old_bridges) {
        struct tcon_bridge *bridge = node->data;

        if (is_kernel_bridge(bridge) && !kernel_bridge_find(node->name)) {
            drop_bridge(node->name);
        }
        bridge_destroy(bridge);
        shash_delete(&old_bridges, node);
    }
    if (!adopted) {
        adopted = true;
        adopt();
    }
    push(true);
}

/* The family's coming and going. */

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

/* A new tcon.ko knows nothing.  'change' is NULL when messages were lost. */
static void
family_changed(const void *change_, void *aux OVS_UNUSED)
{
    const struct family_change *change = change_;
    struct shash_node *node;
    struct tcon_rule *rule;

    if (change && (change->cmd != CTRL_CMD_NEWFAMILY
                   || strcmp(change->name, TCON_GENL_NAME))) {
        return;
    }
    SHASH_FOR_EACH (node, &bridges) {
        struct tcon_bridge *bridge = node->data;

        for (size_t i = 0; i < bridge->n_ports; i++) {
            bridge->ports[i].told = false;
        }
    }
    LIST_FOR_EACH (rule, node, &rules) {
        rule->in_kernel = false;
    }
    push(true);
}

static void
watch_family(void)
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
tcon_run(void)
{
    if (family_nln) {
        nln_run(family_nln);
    }
    if (time_msec() >= retry_at_ms) {
        push(false);
    }
}

void
tcon_wait(void)
{
    if (family_nln) {
        nln_wait(family_nln);
    }
    if (retry_at_ms != LLONG_MAX) {
        poll_timer_wait_until(retry_at_ms);
    }
}

/* Words of the commands. */

/* Returns the kernel-datapath bridge 'name'; NULL, with a sentence, if there
 * is none. */
struct tcon_bridge *
tcon_bridge_lookup(const char *name, struct tcon_error *error)
{
    struct tcon_bridge *bridge = shash_find_data(&bridges, name);

    if (!bridge) {
        tcon_error_set(error, "no bridge is named '%.64s'", name);
        return NULL;
    }
    if (!is_kernel_bridge(bridge)) {
        tcon_error_set(error, "bridge %.64s has a userspace datapath "
                       "(datapath_type=%.32s): TCon works in the kernel "
                       "datapath only", name, bridge->type);
        return NULL;
    }
    return bridge;
}

/* Reads "flow=MATCH". */
bool
tcon_parse_flow(const char *arg, struct tcon_flow_spec *spec,
                struct tcon_error *error)
{
    if (strncmp(arg, "flow=", 5)) {
        tcon_error_set(error, "'%.64s' is not flow=MATCH", arg);
        return false;
    }
    return tcon_flow_spec_parse(arg + 5, spec, error);
}

static const struct tcon_port *
port_find(const struct tcon_bridge *bridge, const struct tcon_match *match)
{
    for (size_t i = 0; i < bridge->n_ports; i++) {
        const struct tcon_port *port = &bridge->ports[i];

        if (match->has_ofport ? port->ofport == match->ofport
            : !strcmp(port->name, match->ifname)) {
            return port;
        }
    }
    return NULL;
}

/* From an OpenFlow number to the name: names survive the reboot of a VM. */
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
    enum tcon_role role;        /* AUTO until found. */
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

/* Sets '*is_a' to what 'port' is instead of a guest's, or NULL.  Returns false,
 * with a sentence, if tcon.ko cannot be asked. */
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

/* Checks that in_port, if 'match' has it, is a guest's port of the bridge, and
 * turns a number into the name. */
bool
tcon_resolve_guest_port(const char *bridge_name,
                        const struct tcon_bridge *bridge, struct tcon_nl *nl,
                        struct tcon_match *match, struct tcon_error *error)
{
    const struct tcon_port *port;
    const char *is_a;

    if (!match->has_ofport && !match->ifname[0]) {
        return true;
    }
    port = port_find(bridge, match);
    if (!port) {
        struct tcon_match in_port = { .ofport = match->ofport };
        char text[TCON_MATCH_TEXT_MAX];

        in_port.has_ofport = match->has_ofport;
        ovs_strlcpy(in_port.ifname, match->ifname, sizeof in_port.ifname);
        tcon_match_format(&in_port, text);
        tcon_error_set(error, "%s: bridge %.64s has no such port", text,
                       bridge_name);
        return false;
    }
    if (!classify_port(port, nl, &is_a, error)) {
        return false;
    }
    if (is_a) {
        tcon_error_set(error, "in_port: port %.32s is %s, not a guest's: the "
                       "flow can match nothing", port->name, is_a);
        return false;
    }
    use_port_name(port, match);
    return true;
}

/* Commands. */

static bool
set_cc(struct tcon_nl *nl, const struct tcon_bridge *bridge, int n_args,
       const char *args[], struct tcon_rule *rule, struct tcon_error *error)
{
    struct tcon_error why;

    if (!tcon_resolve_guest_port(rule->bridge, bridge, nl, &rule->match, error)
        || !tcon_cc_parse(nl, args[0], n_args - 1, args + 1, rule, error)) {
        return false;
    }
    if (kernel_set_rule(nl, rule, &why)) {
        tcon_error_set(error, "tcon.ko refuses the rule: %s", why.text);
        return false;
    }
    rule_keep(rule);
    return true;
}

/* tcon/set-cc BRIDGE flow=MATCH CC [PARAM=VALUE]... */
static void
tcon_unixctl_set_cc(struct unixctl_conn *conn, int argc, const char *argv[],
                    void *aux OVS_UNUSED)
{
    struct tcon_rule rule = { .n_params = 0 };
    const struct tcon_bridge *bridge;
    struct tcon_flow_spec spec;
    struct tcon_error error;
    struct tcon_nl nl;
    bool ok = false;

    bridge = tcon_bridge_lookup(argv[1], &error);
    if (bridge && tcon_parse_flow(argv[2], &spec, &error)
        && tcon_nl_open(&nl, &error)) {
        ovs_strlcpy(rule.bridge, argv[1], sizeof rule.bridge);
        rule.match = spec.match;
        rule.priority = spec.priority;
        ok = set_cc(&nl, bridge, argc - 3, argv + 3, &rule, &error);
        tcon_nl_close(&nl);
    }
    if (ok) {
        unixctl_command_reply(conn, NULL);
    } else {
        unixctl_command_reply_error(conn, error.text);
    }
}

static bool
del_rule(struct tcon_nl *nl, const struct tcon_bridge *bridge,
         struct tcon_rule *key, struct tcon_error *error)
{
    const struct tcon_port *port;
    struct tcon_rule *kept;
    struct tcon_error why;
    int err;

    /* Rules are kept by port name, and outlive the port. */
    port = key->match.has_ofport ? port_find(bridge, &key->match) : NULL;
    if (port) {
        use_port_name(port, &key->match);
    }
    kept = rule_find(key);
    err = kernel_del_rule(nl, key, &why);
    if (err == ENOENT && kept) {
        err = 0;
    }
    if (err == ENOENT) {
        char match[TCON_MATCH_TEXT_MAX];

        tcon_match_format(&key->match, match);
        tcon_error_set(error, "bridge %s has no rule flow=%s with priority "
                       "%"PRIu32, key->bridge, match, key->priority);
    } else if (err) {
        tcon_error_set(error, "tcon.ko keeps the rule: %s", why.text);
    } else if (kept) {
        rule_destroy(kept);
    }
    return !err;
}

/* tcon/del-cc BRIDGE [flow=MATCH] */
static void
tcon_unixctl_del_cc(struct unixctl_conn *conn, int argc, const char *argv[],
                    void *aux OVS_UNUSED)
{
    struct tcon_rule key = { .n_params = 0 };
    const struct tcon_bridge *bridge;
    struct tcon_flow_spec spec;
    struct tcon_error error;
    struct tcon_nl nl;
    bool ok = false;

    bridge = tcon_bridge_lookup(argv[1], &error);
    if (bridge && (argc < 3 || tcon_parse_flow(argv[2], &spec, &error))
        && tcon_nl_open(&nl, &error)) {
        ovs_strlcpy(key.bridge, argv[1], sizeof key.bridge);
        if (argc < 3) {
            ok = !kernel_del_bridge_rules(&nl, argv[1], &error);
            if (ok) {
                forget_bridge_rules(argv[1]);
            }
        } else {
            key.match = spec.match;
            key.priority = spec.priority;
            ok = del_rule(&nl, bridge, &key, &error);
        }
        tcon_nl_close(&nl);
    }
    if (ok) {
        unixctl_command_reply(conn, NULL);
    } else {
        unixctl_command_reply_error(conn, error.text);
    }
}

void
tcon_init(void)
{
    unixctl_command_register("tcon/set-cc",
                             "bridge flow=MATCH cc [param=value]...", 3,
                             INT_MAX, tcon_unixctl_set_cc, NULL);
    unixctl_command_register("tcon/del-cc", "bridge [flow=MATCH]", 1, 2,
                             tcon_unixctl_del_cc, NULL);
    tcon_show_init();
    watch_family();
}
