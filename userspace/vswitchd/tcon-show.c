/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * tcon/list-cc, tcon/show and tcon/flows.
 *
 * Each command builds JSON with all that is known.  Then it prints that, or a
 * text made from that JSON alone.
 */

#include <config.h>

#include <arpa/inet.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "sset.h"
#include "tcon-cc.h"
#include "tcon-compat.h"
#include "tcon-ovsdb.h"
#include "tcon-rules.h"
#include "tcon-show.h"
#include "tcon-text.h"
#include "tcon-words.h"
#include "timeval.h"
#include "unixctl.h"
#include "util.h"

#define DEFAULT_FLOW_LIMIT 1000

/* Flows beyond the limit are only counted.  The counting stops after this
 * time, because ovs-vswitchd does nothing else meanwhile. */
#define COUNT_TIME_MS 100

/* A name and its text, from one of the UAPI's lists. */
struct word {
    const char *name;
    const char *text;
};

#define TCON_X(id, name, text) { name, text },
static const struct word reasons[] = { TCON_REASONS(TCON_X) };
static const struct word counters[] = { TCON_COUNTERS(TCON_X) };
static const struct word ecn_modes[] = { TCON_ECN_MODES(TCON_X) };
#undef TCON_X

static const char *const state_names[] = TCON_STATE_NAMES;
static const char *const rule_ecn[] = TCON_RULE_ECN_NAMES;
static const char *const rule_fallback[] = TCON_RULE_FALLBACK_NAMES;

static const char *const limit_names[] = {
#define TCON_X(id, name, text) name,
    TCON_LIMITS(TCON_X)
#undef TCON_X
};

static const char *const role_names[] = {
    [TCON_ROLE_AUTO] = "unknown",
    [TCON_ROLE_GUEST] = "guest",
    [TCON_ROLE_UPLINK] = "uplink",
    [TCON_ROLE_NEVER] = "never",
};

static const char *const why_texts[] = {
    [TCON_WHY_CONFIGURED] = "other_config:tcon-role",
    [TCON_WHY_PHYSICAL] = "hardware behind the device",
    [TCON_WHY_VIRTUAL] = "no hardware behind the device",
    [TCON_WHY_INTERNAL] = "internal port",
    [TCON_WHY_TUNNEL] = "tunnel port",
};

static const char *const param_type_names[] = {
    [TCON_PARAM_UINT] = "integer",
    [TCON_PARAM_BOOL] = "bool",
    [TCON_PARAM_MILLI] = "decimal",
};

static const struct tcon_nl_field info_fields[] = {
    { TCON_INFO_A_VERSION,     NL_A_STRING, "version" },
    { TCON_INFO_A_FLOWS,       NL_A_U32,    "flows" },
    { TCON_INFO_A_FLOWS_MAX,   NL_A_U32,    "flows_max" },
    { TCON_INFO_A_EMBRYOS,     NL_A_U32,    "half_open" },
    { TCON_INFO_A_EMBRYOS_MAX, NL_A_U32,    "half_open_max" },
    { TCON_INFO_A_HELD_BYTES,  NL_A_U64,    "held_bytes" },
    { TCON_INFO_A_COUNTERS,    NL_A_UNSPEC, NULL },
    { TCON_INFO_A_REASONS,     NL_A_UNSPEC, NULL },
    { TCON_INFO_A_COPY_BYTES,  NL_A_U64,    "copy_bytes" },
    { TCON_INFO_A_COPY_MAX,    NL_A_U64,    "copy_bytes_max" },
    { TCON_INFO_A_COPY_PORT_MAX, NL_A_U64,  "copy_port_bytes_max" },
    { TCON_INFO_A_COPY_FLOW_MAX, NL_A_U64,  "copy_flow_bytes_max" },
    { TCON_INFO_A_ATTACH,      NL_A_STRING, "attach" },
    { TCON_INFO_A_SPREADING,   NL_A_FLAG,   "spreading" },
};

static const struct tcon_nl_field port_fields[] = {
    { TCON_PORT_A_IFINDEX,    NL_A_U32, "ifindex" },
    { TCON_PORT_A_ROLE,       NL_A_U8,  NULL },
    { TCON_PORT_A_WHY,        NL_A_U8,  NULL },
    { TCON_PORT_A_FLOWS,      NL_A_U32, "flows" },
    { TCON_PORT_A_HELD_BYTES, NL_A_U64, "held_bytes" },
    { TCON_PORT_A_COPY_BYTES, NL_A_U64, "copy_bytes" },
    { TCON_PORT_A_EVADING,    NL_A_U32, "evading" },
    { TCON_PORT_A_EVADED,     NL_A_U64, "evaded" },
};

static const struct tcon_nl_field flow_fields[] = {
    { TCON_FLOW_A_IFINDEX,          NL_A_U32,    "ifindex" },
    { TCON_FLOW_A_IFNAME,           NL_A_STRING, "port" },
    { TCON_FLOW_A_BRIDGE,           NL_A_STRING, "bridge" },
    { TCON_FLOW_A_FAMILY,           NL_A_U8,     NULL },
    { TCON_FLOW_A_SRC,              NL_A_UNSPEC, NULL },
    { TCON_FLOW_A_DST,              NL_A_UNSPEC, NULL },
    { TCON_FLOW_A_SPORT,            NL_A_U16,    "tp_src" },
    { TCON_FLOW_A_DPORT,            NL_A_U16,    "tp_dst" },
    { TCON_FLOW_A_VLAN,             NL_A_U16,    "dl_vlan" },
    { TCON_FLOW_A_STATE,            NL_A_U8,     NULL },
    { TCON_FLOW_A_REASON,           NL_A_U8,     NULL },
    { TCON_FLOW_A_CC,               NL_A_STRING, "cc" },
    { TCON_FLOW_A_UNA,              NL_A_U32,    "una" },
    { TCON_FLOW_A_NXT,              NL_A_U32,    "nxt" },
    { TCON_FLOW_A_NXT_GUEST,        NL_A_U32,    "nxt_guest" },
    { TCON_FLOW_A_EDGE,             NL_A_U32,    "edge" },
    { TCON_FLOW_A_CWND_BYTES,       NL_A_U32,    NULL },
    { TCON_FLOW_A_SSTHRESH_BYTES,   NL_A_U32,    NULL },
    { TCON_FLOW_A_PACING_BPS,       NL_A_U64,    "pacing_bps" },
    { TCON_FLOW_A_RWND_BYTES,       NL_A_U32,    "rwnd_bytes" },
    { TCON_FLOW_A_PEER_RWND_BYTES,  NL_A_U32,    "peer_rwnd_bytes" },
    { TCON_FLOW_A_INFLIGHT_BYTES,   NL_A_U32,    "inflight_bytes" },
    { TCON_FLOW_A_HELD_BYTES,       NL_A_U32,    "held_bytes" },
    { TCON_FLOW_A_SRTT_US,          NL_A_U32,    NULL },
    { TCON_FLOW_A_RTTVAR_US,        NL_A_U32,    "rttvar_us" },
    { TCON_FLOW_A_MIN_RTT_US,       NL_A_U32,    NULL },
    { TCON_FLOW_A_MSS_BYTES,        NL_A_U32,    "mss_bytes" },
    { TCON_FLOW_A_RATE_BPS,         NL_A_U64,    "rate_bps" },
    { TCON_FLOW_A_RATE_APP_LIMITED, NL_A_FLAG,   "rate_app_limited" },
    { TCON_FLOW_A_SENT_BYTES,       NL_A_U64,    "sent_bytes" },
    { TCON_FLOW_A_REPEATED_BYTES,   NL_A_U64,    "repeated_bytes" },
    { TCON_FLOW_A_ACKED_BYTES,      NL_A_U64,    "acked_bytes" },
    { TCON_FLOW_A_DELIVERED_BYTES,  NL_A_U64,    "delivered_bytes" },
    { TCON_FLOW_A_LOST_BYTES,       NL_A_U64,    "lost_bytes" },
    { TCON_FLOW_A_CE_ACKS,          NL_A_U64,    "ce_acks" },
    { TCON_FLOW_A_AGE_MS,           NL_A_U64,    "age_ms" },
    { TCON_FLOW_A_IDLE_MS,          NL_A_U64,    "idle_ms" },
    { TCON_FLOW_A_PRIORITY,         NL_A_U32,    "priority" },
    { TCON_FLOW_A_CC_INFO,          NL_A_STRING, "cc_info" },
    { TCON_FLOW_A_COPY_BYTES,       NL_A_U32,    "copy_bytes" },
    { TCON_FLOW_A_REPAIRS,          NL_A_U64,    "repairs" },
    { TCON_FLOW_A_REPAIRED_BYTES,   NL_A_U64,    "repaired_bytes" },
    { TCON_FLOW_A_SPURIOUS,         NL_A_U64,    "spurious_repairs" },
    { TCON_FLOW_A_PROBES,           NL_A_U64,    "probes" },
    { TCON_FLOW_A_TIMEOUTS,         NL_A_U64,    "timeouts" },
    { TCON_FLOW_A_ABSORBED,         NL_A_U64,    "absorbed_repeats" },
    { TCON_FLOW_A_HIDDEN_ACKS,      NL_A_U64,    "hidden_acks" },
    { TCON_FLOW_A_LIMITED_US,       NL_A_UNSPEC, NULL },
    { TCON_FLOW_A_ECN,              NL_A_U8,     NULL },
    { TCON_FLOW_A_CE_BYTES,         NL_A_U64,    "ce_bytes" },
};

/* Reading JSON objects that this file has built. */

static const struct json *
get(const struct json *object, const char *name)
{
    const struct json *member = shash_find_data(json_object(object), name);

    return member && member->type != JSON_NULL ? member : NULL;
}

static bool
has(const struct json *object, const char *name)
{
    return get(object, name) != NULL;
}

/* Returns 0 where there is no such number. */
static long long int
num(const struct json *object, const char *name)
{
    const struct json *member = get(object, name);

    return member ? json_integer(member) : 0;
}

static const char *
str(const struct json *object, const char *name)
{
    const struct json *member = get(object, name);

    return member ? json_string(member) : "?";
}

static bool
yes(const struct json *object, const char *name)
{
    const struct json *member = get(object, name);

    return member && json_boolean(member);
}

#define JSON_ARRAY_FOR_EACH(ELEM, I, ARRAY)                                 \
    for ((I) = 0; (I) < json_array_size(ARRAY)                              \
         && ((ELEM) = json_array_at(ARRAY, I), true); (I)++)

/* Building JSON. */

static void
put_num(struct json *object, const char *name, long long int value)
{
    json_object_put(object, name, json_integer_create(value));
}

/* Writes the name with number 'i'.  A newer kernel may have more names than
 * this list: then it writes the number. */
static void
put_name(struct json *object, const char *name, const char *const names[],
         size_t n_names, unsigned int i)
{
    if (i < n_names && names[i]) {
        json_object_put_string(object, name, names[i]);
    } else {
        json_object_put_format(object, name, "%u", i);
    }
}

static struct json *
value_to_json(enum tcon_param_type type, int64_t value)
{
    return (type == TCON_PARAM_BOOL ? json_boolean_create(value != 0)
            : type == TCON_PARAM_MILLI ? json_real_create(value / 1000.0)
            : json_integer_create(value));
}

/* Appends a value as the user would write it.  json_real_create() turns whole
 * numbers into integers. */
static void
value_to_text(const struct json *value, struct ds *ds)
{
    char *text = json_to_string(value, 0);

    ds_put_cstr(ds, value->type == JSON_TRUE ? "on"
                : value->type == JSON_FALSE ? "off" : text);
    free(text);
}

static struct json *
cc_to_json(const struct tcon_cc *cc)
{
    struct json *params = json_array_create_empty();
    struct json *json = json_object_create();

    for (size_t i = 0; i < cc->n_params; i++) {
        const struct tcon_cc_param *param = &cc->params[i];
        struct json *p = json_object_create();

        json_object_put_string(p, "name", param->name);
        put_name(p, "type", param_type_names, ARRAY_SIZE(param_type_names),
                 param->type);
        json_object_put(p, "default", value_to_json(param->type, param->def));
        json_object_put(p, "min", value_to_json(param->type, param->min));
        json_object_put(p, "max", value_to_json(param->type, param->max));
        json_object_put_string(p, "unit", param->unit);
        json_object_put_string(p, "help", param->help);
        json_array_add(params, p);
    }
    json_object_put_string(json, "name", cc->name);
    json_object_put_string(json, "category", cc->category);
    json_object_put_string(json, "source", cc->source);
    json_object_put(json, "paced", json_boolean_create(cc->paced));
    put_num(json, "flows", cc->flows);
    json_object_put(json, "params", params);
    return json;
}

/* An array of the names of CCs that could be loaded. */
static struct json *
not_loaded_to_json(const struct tcon_ccs *ccs)
{
    struct json *json = json_array_create_empty();
    const char **sorted;
    struct sset names;

    tcon_cc_not_loaded(ccs, &names);
    sorted = sset_sort(&names);
    for (size_t i = 0; i < sset_count(&names); i++) {
        json_array_add(json, json_string_create(sorted[i]));
    }
    free(sorted);
    sset_destroy(&names);
    return json;
}

/* An array of all CCs. */
static struct json *
ccs_to_json(const struct tcon_ccs *ccs)
{
    struct json *json = json_array_create_empty();

    for (size_t i = 0; i < ccs->n; i++) {
        json_array_add(json, cc_to_json(&ccs->ccs[i]));
    }
    return json;
}

static struct json *
rule_to_json(const struct tcon_rule *rule, const struct tcon_ccs *ccs)
{
    const struct tcon_cc *cc = tcon_cc_find(ccs, rule->cc);
    struct json *params = json_object_create();
    struct json *json = json_object_create();
    char match[TCON_MATCH_TEXT_MAX];
    char *text = tcon_rule_format(rule);

    for (size_t i = 0; i < rule->n_params; i++) {
        const struct tcon_param *param = &rule->params[i];

        json_object_put(params, param->name,
                        value_to_json(param->type, param->value));
    }
    tcon_match_format(&rule->match, match);
    put_num(json, "priority", rule->priority);
    json_object_put_string(json, "match", match);
    json_object_put_string(json, "cc", rule->cc);
    json_object_put(json, "params", params);
    json_object_put_string(json, "ecn", rule->ecn < ARRAY_SIZE(rule_ecn)
                                        ? rule_ecn[rule->ecn] : "?");
    json_object_put_string(json, "fallback",
                           rule->fallback < ARRAY_SIZE(rule_fallback)
                           ? rule_fallback[rule->fallback] : "?");
    put_num(json, "flows", rule->flows);
    json_object_put(json, "cc_loaded",
                    json_boolean_create(cc || !strcmp(rule->cc,
                                                      TCON_CC_OBSERVE)));
    json_object_put(json, "in_kernel", json_boolean_create(rule->in_kernel));
    json_object_put(json, "source", tcon_ovsdb_source(rule));
    json_object_put(json, "rule", json_string_create_nocopy(text));
    return json;
}

/* An attribute that is an array of u64s, perhaps not aligned.  NULL is an
 * empty array. */

static size_t
n_u64s(const struct nlattr *attr)
{
    return attr ? nl_attr_get_size(attr) / sizeof(uint64_t) : 0;
}

static uint64_t
get_u64(const struct nlattr *attr, size_t i)
{
    uint64_t value;

    memcpy(&value, (const uint8_t *) nl_attr_get(attr) + i * sizeof value,
           sizeof value);
    return value;
}

/* Returns the member "counters" or "reasons": each element of the array of
 * u64s with its name and its text. */
static struct json *
u64s_to_json(const struct nlattr *attr, const struct word words[],
             size_t n_words, const char *value_name)
{
    struct json *json = json_array_create_empty();

    for (size_t i = 0; i < n_u64s(attr); i++) {
        struct json *elem = json_object_create();

        if (i < n_words) {
            json_object_put_string(elem, "name", words[i].name);
            json_object_put_string(elem, "text", words[i].text);
        } else {
            json_object_put_format(elem, "name", "%"PRIuSIZE, i);
            json_object_put_string(elem, "text", "");
        }
        put_num(elem, value_name, get_u64(attr, i));
        json_array_add(json, elem);
    }
    return json;
}

static bool
info_cb(struct nlattr *top[], void *json_)
{
    struct nlattr *attrs[TCON_INFO_A_MAX + 1];
    struct json *json = json_;

    if (top[TCON_A_INFO]
        && tcon_nl_parse(top[TCON_A_INFO], info_fields,
                         ARRAY_SIZE(info_fields), attrs, ARRAY_SIZE(attrs))) {
        tcon_nl_to_json(attrs, info_fields, ARRAY_SIZE(info_fields), json);
        json_object_put(json, "reasons",
                        u64s_to_json(attrs[TCON_INFO_A_REASONS], reasons,
                                     ARRAY_SIZE(reasons), "flows"));
        json_object_put(json, "counters",
                        u64s_to_json(attrs[TCON_INFO_A_COUNTERS], counters,
                                     ARRAY_SIZE(counters), "value"));
    }
    return true;
}

/* Adds the port to 'ports_', an object whose members are named by ifindex. */
static bool
port_cb(struct nlattr *top[], void *ports_)
{
    struct nlattr *attrs[TCON_PORT_A_MAX + 1];
    struct json *ports = ports_;
    struct json *port;

    if (!top[TCON_A_PORT]
        || !tcon_nl_parse(top[TCON_A_PORT], port_fields,
                          ARRAY_SIZE(port_fields), attrs, ARRAY_SIZE(attrs))
        || !attrs[TCON_PORT_A_IFINDEX]) {
        return true;
    }
    port = json_object_create();
    tcon_nl_to_json(attrs, port_fields, ARRAY_SIZE(port_fields), port);
    if (attrs[TCON_PORT_A_ROLE]) {
        put_name(port, "role", role_names, ARRAY_SIZE(role_names),
                 nl_attr_get_u8(attrs[TCON_PORT_A_ROLE]));
    }
    if (attrs[TCON_PORT_A_WHY]) {
        put_name(port, "why", why_texts, ARRAY_SIZE(why_texts),
                 nl_attr_get_u8(attrs[TCON_PORT_A_WHY]));
    }
    json_object_put_nocopy(ports, xasprintf("%lld", num(port, "ifindex")),
                           port);
    return true;
}

/* What is known of 'port'.  Role and reason are the kernel's, if it knows the
 * port. */
static struct json *
port_to_json(const struct tcon_port *port, const struct json *kernel_ports)
{
    const struct json *known = NULL;
    struct json *json;

    if (port->ifindex) {
        char key[16];

        snprintf(key, sizeof key, "%"PRIu32, port->ifindex);
        known = get(kernel_ports, key);
    }
    json = known ? json_deep_clone(known) : json_object_create();
    json_object_put_string(json, "name", port->name);
    put_num(json, "ofport", port->ofport);
    if (!known) {
        json_object_put_string(json, "role",
                               port->kind == TCON_PORT_DEVICE
                               ? role_names[TCON_ROLE_AUTO]
                               : role_names[TCON_ROLE_NEVER]);
        json_object_put_string(json, "why",
                               port->kind == TCON_PORT_PATCH ? "patch port"
                               : port->kind == TCON_PORT_TUNNEL
                               ? why_texts[TCON_WHY_TUNNEL]
                               : port->kind == TCON_PORT_INTERNAL
                               ? why_texts[TCON_WHY_INTERNAL]
                               : "not in the kernel datapath");
    }
    return json;
}

/* Rules of one bridge: first those in the kernel, in the order in which they
 * are tried, then those that the kernel refuses at present. */
struct rules_query {
    const char *bridge;
    const struct tcon_ccs *ccs;
    struct json *rules;
};

static bool
rule_cb(struct nlattr *top[], void *query_)
{
    const struct rules_query *query = query_;
    struct tcon_rule rule;

    if (tcon_rule_from_attrs(top, &rule)
        && !strcmp(rule.bridge, query->bridge)) {
        json_array_add(query->rules, rule_to_json(&rule, query->ccs));
    }
    return true;
}

static bool
rules_to_json(struct tcon_nl *nl, const char *bridge,
              const struct tcon_ccs *ccs, struct json *rules,
              struct tcon_error *error)
{
    struct rules_query query = {
        .bridge = bridge, .ccs = ccs, .rules = rules
    };
    const struct tcon_rule *rule;

    if (tcon_nl_dump(nl, tcon_nl_request(nl, TCON_CMD_GET_RULE), rule_cb,
                     &query, error)) {
        return false;
    }
    LIST_FOR_EACH (rule, node, tcon_rules()) {
        if (!rule->in_kernel && !strcmp(rule->bridge, bridge)) {
            json_array_add(rules, rule_to_json(rule, ccs));
        }
    }
    return true;
}

static int
compare_ports(const void *a_, const void *b_)
{
    const struct json *const *a = a_;
    const struct json *const *b = b_;
    long long int a_port = num(*a, "ofport");
    long long int b_port = num(*b, "ofport");

    return a_port < b_port ? -1 : a_port > b_port;
}

static struct json *
bridge_to_json(struct tcon_nl *nl, const char *name,
               const struct tcon_bridge *bridge, const struct tcon_ccs *ccs,
               const struct json *kernel_ports, struct tcon_error *error)
{
    struct json **ports = xmalloc((bridge->n_ports + 1) * sizeof *ports);
    struct json *rules = json_array_create_empty();
    struct json *json = json_object_create();

    for (size_t i = 0; i < bridge->n_ports; i++) {
        ports[i] = port_to_json(&bridge->ports[i], kernel_ports);
    }
    qsort(ports, bridge->n_ports, sizeof *ports, compare_ports);
    json_object_put_string(json, "name", name);
    json_object_put(json, "ports", json_array_create(ports, bridge->n_ports));
    json_object_put(json, "rules", rules);
    json_object_put(json, "config", tcon_ovsdb_to_json(name));
    if (!rules_to_json(nl, name, ccs, rules, error)) {
        json_destroy(json);
        return NULL;
    }
    return json;
}

/* The array "bridges": only 'only', or if that is NULL every bridge with the
 * kernel datapath, by name. */
static bool
bridges_to_json(struct tcon_nl *nl, const char *only,
                const struct tcon_ccs *ccs, struct json *bridges,
                struct tcon_error *error)
{
    const struct shash_node **nodes = shash_sort(tcon_bridges());
    struct json *kernel_ports = json_object_create();
    bool ok;

    ok = !tcon_nl_dump(nl, tcon_nl_request(nl, TCON_CMD_GET_PORT), port_cb,
                       kernel_ports, error);
    for (size_t i = 0; ok && i < shash_count(tcon_bridges()); i++) {
        const struct tcon_bridge *bridge;
        struct tcon_error skip;
        struct json *json;

        bridge = tcon_bridge_lookup(nodes[i]->name, &skip);
        if (!bridge || (only && strcmp(only, nodes[i]->name))) {
            continue;
        }
        json = bridge_to_json(nl, nodes[i]->name, bridge, ccs, kernel_ports,
                              error);
        if (json) {
            json_array_add(bridges, json);
        }
        ok = json != NULL;
    }
    json_destroy(kernel_ports);
    free(nodes);
    return ok;
}

static struct json *
show_to_json(struct tcon_nl *nl, const char *bridge, struct tcon_error *error)
{
    struct json *bridges = json_array_create_empty();
    struct json *json = json_object_create();
    struct tcon_ccs ccs;
    bool ok;

    json_object_put(json, "bridges", bridges);
    ok = (!tcon_nl_do(nl, tcon_nl_request(nl, TCON_CMD_GET_INFO), info_cb,
                      json, error)
          && tcon_ccs_get(nl, &ccs, error));
    if (ok) {
        json_object_put(json, "ccs", ccs_to_json(&ccs));
        ok = bridges_to_json(nl, bridge, &ccs, bridges, error);
        tcon_ccs_destroy(&ccs);
    }
    if (!ok) {
        json_destroy(json);
        return NULL;
    }
    return json;
}

/* Text of tcon/list-cc and tcon/show. */

static void
put_param_text(struct ds *ds, const struct json *param)
{
    ds_put_format(ds, "    %s=", str(param, "name"));
    value_to_text(get(param, "default"), ds);
    if (strcmp(str(param, "type"), param_type_names[TCON_PARAM_BOOL])) {
        ds_put_cstr(ds, " (");
        value_to_text(get(param, "min"), ds);
        ds_put_cstr(ds, " to ");
        value_to_text(get(param, "max"), ds);
        ds_put_format(ds, "%s%s)", *str(param, "unit") ? " " : "",
                      str(param, "unit"));
    } else {
        ds_put_cstr(ds, " (on or off)");
    }
    ds_put_format(ds, ": %s\n", str(param, "help"));
}

static void
list_cc_to_text(const struct json *json, struct ds *ds)
{
    const struct json *others = get(json, "not_loaded");
    const struct json *ccs = get(json, "ccs");
    const struct json *cc;
    size_t i, j;

    JSON_ARRAY_FOR_EACH (cc, i, ccs) {
        const struct json *params = get(cc, "params");
        const struct json *param;

        ds_put_format(ds, "%s: %s%s, %s, flows: %lld\n", str(cc, "name"),
                      str(cc, "category"), yes(cc, "paced") ? ", paced" : "",
                      str(cc, "source"), num(cc, "flows"));
        JSON_ARRAY_FOR_EACH (param, j, params) {
            put_param_text(ds, param);
        }
    }
    ds_put_format(ds, "%s: observe only\n", TCON_CC_OBSERVE);
    if (json_array_size(others)) {
        ds_put_cstr(ds, "not loaded yet, set-cc does:");
        JSON_ARRAY_FOR_EACH (cc, i, others) {
            ds_put_format(ds, " %s", json_string(cc));
        }
        ds_put_char(ds, '\n');
    }
}

static void
put_port_text(struct ds *ds, const struct json *port)
{
    ds_put_format(ds, "    port %s (", str(port, "name"));
    if (num(port, "ofport") == TCON_OFPORT_LOCAL) {
        ds_put_cstr(ds, "LOCAL");
    } else {
        ds_put_format(ds, "%lld", num(port, "ofport"));
    }
    ds_put_format(ds, "): %s, %s", str(port, "role"), str(port, "why"));
    if (!strcmp(str(port, "role"), role_names[TCON_ROLE_GUEST])) {
        ds_put_format(ds, "; flows: %lld, held: %lld bytes",
                      num(port, "flows"), num(port, "held_bytes"));
        if (has(port, "copy_bytes")) {
            ds_put_format(ds, ", copies: %lld bytes", num(port, "copy_bytes"));
        }
        if (num(port, "evaded")) {
            ds_put_format(ds, "; its guest keeps flows from being enforced: "
                          "%lld now, %lld so far", num(port, "evading"),
                          num(port, "evaded"));
        }
    }
    ds_put_char(ds, '\n');
}

/* Says where the rule is kept, unless it is on its bridge. */
static void
put_source_text(struct ds *ds, const struct json *rule)
{
    const struct json *source = get(rule, "source");

    if (!source) {
        ds_put_cstr(ds, "; volatile");
    } else if (strcmp(str(source, "table"), "Bridge")) {
        ds_put_format(ds, "; of %s %s", str(source, "table"),
                      str(source, "record"));
    }
}

/* Writes a rule so that the line can be given to tcon/set-cc.  Parameters at
 * their defaults are left out. */
static void
put_rule_text(struct ds *ds, const struct json *rule)
{
    ds_put_format(ds, "    %s; flows: %lld%s%s", str(rule, "rule"),
                  num(rule, "flows"),
                  yes(rule, "in_kernel") ? "" : "; not taken by tcon.ko yet",
                  yes(rule, "cc_loaded") ? "" : "; the CC is not loaded");
    put_source_text(ds, rule);
    ds_put_char(ds, '\n');
}

/* Writes the keys of OVSDB that are not rules in force. */
static void
put_config_text(struct ds *ds, const struct json *config)
{
    const struct json *key;
    bool any = false;
    size_t i;

    JSON_ARRAY_FOR_EACH (key, i, config) {
        if (strcmp(str(key, "state"), "applied")) {
            ds_put_format(ds, "%s    %s of %s %s is %s: %s\n",
                          any ? "" : "  in OVSDB, but not as it says there:\n",
                          str(key, "key"), str(key, "table"),
                          str(key, "record"), str(key, "state"),
                          str(key, "detail"));
            any = true;
        }
    }
}

static void
put_bridge_text(struct ds *ds, const struct json *bridge)
{
    const struct json *ports = get(bridge, "ports");
    const struct json *rules = get(bridge, "rules");
    const struct json *elem;
    size_t i;

    ds_put_format(ds, "bridge %s\n", str(bridge, "name"));
    JSON_ARRAY_FOR_EACH (elem, i, ports) {
        put_port_text(ds, elem);
    }
    ds_put_format(ds, "  rules%s\n", json_array_size(rules)
                  ? ", as they are tried:" : ": none");
    JSON_ARRAY_FOR_EACH (elem, i, rules) {
        put_rule_text(ds, elem);
    }
    put_config_text(ds, get(bridge, "config"));
}

/* Lines for those elements of 'words' that are not zero. */
static void
put_words_text(struct ds *ds, const struct json *words, const char *title,
               const char *value_name)
{
    const struct json *word;
    bool any = false;
    size_t i;

    JSON_ARRAY_FOR_EACH (word, i, words) {
        if (num(word, value_name)) {
            if (!any) {
                ds_put_format(ds, "%s\n", title);
                any = true;
            }
            ds_put_format(ds, "    %s: %lld (%s)\n", str(word, "name"),
                          num(word, value_name), str(word, "text"));
        }
    }
}

static void
show_to_text(const struct json *json, struct ds *ds)
{
    const struct json *bridges = get(json, "bridges");
    const struct json *ccs = get(json, "ccs");
    const struct json *elem;
    size_t i;

    ds_put_format(ds, "tcon %s: flows: %lld of at most %lld, half-open: "
                  "%lld of at most %lld, held: %lld bytes\n",
                  str(json, "version"), num(json, "flows"),
                  num(json, "flows_max"), num(json, "half_open"),
                  num(json, "half_open_max"), num(json, "held_bytes"));
    if (has(json, "copy_bytes")) {
        ds_put_format(ds, "copies: %lld of at most %lld bytes (%lld for a "
                      "port, %lld for a flow)\n", num(json, "copy_bytes"),
                      num(json, "copy_bytes_max"),
                      num(json, "copy_port_bytes_max"),
                      num(json, "copy_flow_bytes_max"));
    }
    if (has(json, "attach")) {
        ds_put_format(ds, "attach: %s\n", str(json, "attach"));
    }
    if (yes(json, "spreading")) {
        ds_put_cstr(ds, "a change of rules is still on its way to flows\n");
    }
    JSON_ARRAY_FOR_EACH (elem, i, bridges) {
        put_bridge_text(ds, elem);
    }
    ds_put_cstr(ds, "CCs:");
    JSON_ARRAY_FOR_EACH (elem, i, ccs) {
        ds_put_format(ds, " %s (flows: %lld),", str(elem, "name"),
                      num(elem, "flows"));
    }
    ds_put_format(ds, " %s\n", TCON_CC_OBSERVE);
    if (has(json, "reasons")) {
        put_words_text(ds, get(json, "reasons"), "flows by reason:", "flows");
        put_words_text(ds, get(json, "counters"), "counters:", "value");
    }
}

/* Flows. */

struct flows_query {
    struct json *flows;
    uint64_t limit;
    uint64_t n_more;            /* Flows beyond the limit. */
    bool all_counted;           /* 'n_more' counts all of them. */
    long long int deadline_ms;  /* When to stop counting. */
};

static void
put_address(struct json *json, const char *name, uint8_t family,
            const struct nlattr *attr)
{
    char text[INET6_ADDRSTRLEN];

    if (attr && nl_attr_get_size(attr) == (family == AF_INET ? 4 : 16)) {
        json_object_put_string(json, name,
                               inet_ntop(family, nl_attr_get(attr), text,
                                         sizeof text));
    }
}

/* Puts a number, or null where the kernel sent 'none'. */
static void
put_unless(struct json *json, const char *name, const struct nlattr *attr,
           uint32_t none)
{
    uint32_t value = attr ? nl_attr_get_u32(attr) : none;

    json_object_put(json, name, (value == none ? json_null_create()
                                 : json_integer_create(value)));
}

/* Adds "limited_us" to 'json': the time for which each limit held. */
static void
put_limits(struct json *json, const struct nlattr *attr)
{
    struct json *limits = json_object_create();

    for (size_t i = 0; i < n_u64s(attr); i++) {
        char number[24];

        snprintf(number, sizeof number, "%"PRIuSIZE, i);
        put_num(limits, i < ARRAY_SIZE(limit_names) ? limit_names[i] : number,
                get_u64(attr, i));
    }
    json_object_put(json, "limited_us", limits);
}

static void
put_ecn(struct json *json, unsigned int mode)
{
    if (mode < ARRAY_SIZE(ecn_modes)) {
        json_object_put_string(json, "ecn", ecn_modes[mode].name);
        json_object_put_string(json, "ecn_text", ecn_modes[mode].text);
    } else {
        json_object_put_format(json, "ecn", "%u", mode);
        json_object_put_string(json, "ecn_text", "");
    }
}

static struct json *
flow_to_json(struct nlattr *const attrs[])
{
    unsigned int reason = 0, state = 0;
    struct json *json = json_object_create();
    uint8_t family = AF_INET;

    if (attrs[TCON_FLOW_A_FAMILY]) {
        family = nl_attr_get_u8(attrs[TCON_FLOW_A_FAMILY]);
    }
    if (attrs[TCON_FLOW_A_STATE]) {
        state = nl_attr_get_u8(attrs[TCON_FLOW_A_STATE]);
    }
    if (attrs[TCON_FLOW_A_REASON]) {
        reason = nl_attr_get_u8(attrs[TCON_FLOW_A_REASON]);
    }
    tcon_nl_to_json(attrs, flow_fields, ARRAY_SIZE(flow_fields), json);
    json_object_put_string(json, "protocol",
                           family == AF_INET ? "tcp" : "tcp6");
    put_address(json, "src", family, attrs[TCON_FLOW_A_SRC]);
    put_address(json, "dst", family, attrs[TCON_FLOW_A_DST]);
    put_name(json, "state", state_names, ARRAY_SIZE(state_names), state);
    if (reason < ARRAY_SIZE(reasons)) {
        json_object_put_string(json, "reason", reasons[reason].name);
        json_object_put_string(json, "reason_text", reasons[reason].text);
    } else {
        json_object_put_format(json, "reason", "%u", reason);
        json_object_put_string(json, "reason_text", "");
    }
    if (attrs[TCON_FLOW_A_ECN]) {
        put_ecn(json, nl_attr_get_u8(attrs[TCON_FLOW_A_ECN]));
    }
    put_unless(json, "srtt_us", attrs[TCON_FLOW_A_SRTT_US], 0);
    put_unless(json, "min_rtt_us", attrs[TCON_FLOW_A_MIN_RTT_US], UINT32_MAX);
    put_unless(json, "cwnd_bytes", attrs[TCON_FLOW_A_CWND_BYTES], 0);
    put_unless(json, "ssthresh_bytes", attrs[TCON_FLOW_A_SSTHRESH_BYTES],
               INT32_MAX);
    if (!attrs[TCON_FLOW_A_PACING_BPS]) {
        put_num(json, "pacing_bps", 0);
    }
    if (attrs[TCON_FLOW_A_LIMITED_US]) {
        put_limits(json, attrs[TCON_FLOW_A_LIMITED_US]);
    }
    return json;
}

static bool
flow_cb(struct nlattr *top[], void *query_)
{
    struct nlattr *attrs[TCON_FLOW_A_MAX + 1];
    struct flows_query *query = query_;

    if (!top[TCON_A_FLOW]) {
        return true;
    }
    if (json_array_size(query->flows) < query->limit) {
        if (tcon_nl_parse(top[TCON_A_FLOW], flow_fields,
                          ARRAY_SIZE(flow_fields), attrs,
                          ARRAY_SIZE(attrs))) {
            json_array_add(query->flows, flow_to_json(attrs));
        }
        return true;
    }
    if (!query->n_more++) {
        query->deadline_ms = time_msec() + COUNT_TIME_MS;
    }
    query->all_counted = (query->n_more % 256
                          || time_msec() < query->deadline_ms);
    return query->all_counted;
}

static void
put_us_text(struct ds *ds, const char *title, const struct json *flow,
            const char *name)
{
    if (has(flow, name)) {
        ds_put_format(ds, "%s %.3f ms", title, num(flow, name) / 1e3);
    } else {
        ds_put_format(ds, "%s unknown", title);
    }
}

static void
put_bytes_text(struct ds *ds, const char *title, const struct json *flow,
               const char *name)
{
    if (has(flow, name)) {
        ds_put_format(ds, "%s %lld", title, num(flow, name));
    } else {
        ds_put_format(ds, "%s none", title);
    }
}

static void
put_endpoint(struct ds *ds, const struct json *flow, const char *addr,
             const char *port)
{
    bool v6 = !strcmp(str(flow, "protocol"), "tcp6");

    ds_put_format(ds, "%s%s%s:%lld", v6 ? "[" : "", str(flow, addr),
                  v6 ? "]" : "", num(flow, port));
}

static void
put_flow_head(struct ds *ds, const struct json *flow)
{
    ds_put_format(ds, "%s ", str(flow, "protocol"));
    put_endpoint(ds, flow, "src", "tp_src");
    ds_put_cstr(ds, " > ");
    put_endpoint(ds, flow, "dst", "tp_dst");
    ds_put_format(ds, " in_port %s", str(flow, "port"));
    if (has(flow, "dl_vlan")) {
        ds_put_format(ds, " dl_vlan %lld", num(flow, "dl_vlan"));
    }
    ds_put_format(ds, "\n    %s, cc %s", str(flow, "state"), str(flow, "cc"));
    if (has(flow, "priority")) {
        ds_put_format(ds, " (rule of priority %lld)", num(flow, "priority"));
    }
    if (strcmp(str(flow, "reason"), reasons[TCON_REASON_NONE].name)) {
        ds_put_format(ds, ", reason %s: %s", str(flow, "reason"),
                      str(flow, "reason_text"));
    }
    ds_put_char(ds, '\n');
}

static void
put_flow_rates(struct ds *ds, const struct json *flow)
{
    put_us_text(ds, "    srtt", flow, "srtt_us");
    put_us_text(ds, " rttvar", flow, "rttvar_us");
    put_us_text(ds, " min_rtt", flow, "min_rtt_us");
    ds_put_format(ds, "\n    rate %.3f Mbit/s%s pacing ",
                  num(flow, "rate_bps") / 1e6,
                  yes(flow, "rate_app_limited") ? " (app-limited)" : "");
    if (num(flow, "pacing_bps")) {
        ds_put_format(ds, "%.3f Mbit/s\n", num(flow, "pacing_bps") / 1e6);
    } else {
        ds_put_cstr(ds, "none\n");
    }
}

/* Writes nothing where tcon.ko is older than loss repair. */
static void
put_flow_repair(struct ds *ds, const struct json *flow)
{
    if (has(flow, "copy_bytes")) {
        ds_put_format(ds, "    copies %lld bytes, repairs %lld (%lld bytes, "
                      "%lld spurious) probes %lld timeouts %lld "
                      "absorbed_repeats %lld hidden_acks %lld\n",
                      num(flow, "copy_bytes"), num(flow, "repairs"),
                      num(flow, "repaired_bytes"),
                      num(flow, "spurious_repairs"), num(flow, "probes"),
                      num(flow, "timeouts"), num(flow, "absorbed_repeats"),
                      num(flow, "hidden_acks"));
    }
}

/* Writes how the CC learns of ECN marks, or why it does not.  Nothing where
 * the CC does not use ECN. */
static void
put_flow_ecn(struct ds *ds, const struct json *flow)
{
    if (has(flow, "ecn")
        && strcmp(str(flow, "ecn"), ecn_modes[TCON_ECN_UNUSED].name)) {
        ds_put_format(ds, "    ecn %s (%s), %lld bytes marked\n",
                      str(flow, "ecn"), str(flow, "ecn_text"),
                      num(flow, "ce_bytes"));
    }
}

/* Writes the share of each limit in the time that was counted, if any was. */
static void
put_flow_limits(struct ds *ds, const struct json *flow)
{
    const struct json *limits = get(flow, "limited_us");
    double total_us = 0;

    for (size_t i = 0; limits && i < ARRAY_SIZE(limit_names); i++) {
        total_us += num(limits, limit_names[i]);
    }
    if (total_us > 0) {
        ds_put_cstr(ds, "    limited by");
        for (size_t i = 0; i < ARRAY_SIZE(limit_names); i++) {
            ds_put_format(ds, " %s %.1f %%", limit_names[i],
                          100 * num(limits, limit_names[i]) / total_us);
        }
        ds_put_char(ds, '\n');
    }
}

static void
flow_to_text(const struct json *flow, struct ds *ds)
{
    put_flow_head(ds, flow);
    ds_put_format(ds, "    una %lld nxt %lld nxt_guest %lld edge %lld\n",
                  num(flow, "una"), num(flow, "nxt"), num(flow, "nxt_guest"),
                  num(flow, "edge"));
    put_bytes_text(ds, "    cwnd", flow, "cwnd_bytes");
    put_bytes_text(ds, " ssthresh", flow, "ssthresh_bytes");
    ds_put_format(ds, " rwnd %lld peer_rwnd %lld inflight %lld held %lld mss "
                  "%lld bytes\n", num(flow, "rwnd_bytes"),
                  num(flow, "peer_rwnd_bytes"), num(flow, "inflight_bytes"),
                  num(flow, "held_bytes"), num(flow, "mss_bytes"));
    put_flow_rates(ds, flow);
    ds_put_format(ds, "    sent %lld repeated %lld acked %lld delivered %lld "
                  "lost %lld bytes, ce_acks %lld\n", num(flow, "sent_bytes"),
                  num(flow, "repeated_bytes"), num(flow, "acked_bytes"),
                  num(flow, "delivered_bytes"), num(flow, "lost_bytes"),
                  num(flow, "ce_acks"));
    put_flow_repair(ds, flow);
    put_flow_ecn(ds, flow);
    put_flow_limits(ds, flow);
    ds_put_format(ds, "    age %.3f s idle %.3f s\n",
                  num(flow, "age_ms") / 1e3, num(flow, "idle_ms") / 1e3);
    if (has(flow, "cc_info") && *str(flow, "cc_info")) {
        ds_put_format(ds, "    %s: %s\n", str(flow, "cc"),
                      str(flow, "cc_info"));
    }
}

static void
flows_to_text(const struct json *json, struct ds *ds)
{
    const struct json *flows = get(json, "flows");
    const struct json *flow;
    size_t i;

    JSON_ARRAY_FOR_EACH (flow, i, flows) {
        flow_to_text(flow, ds);
    }
    if (num(json, "more")) {
        ds_put_format(ds, "%s%lld more\n",
                      yes(json, "more_is_exact") ? "" : "at least ",
                      num(json, "more"));
    }
}

static struct json *
flows_to_json(struct tcon_nl *nl, const char *bridge,
              const struct tcon_match *match, uint64_t limit,
              struct tcon_error *error)
{
    struct ofpbuf *request = tcon_nl_request(nl, TCON_CMD_GET_FLOW);
    struct flows_query query = {
        .flows = json_array_create_empty(),
        .limit = limit,
        .all_counted = true,
    };
    struct json *json = json_object_create();

    json_object_put(json, "flows", query.flows);
    nl_msg_put_string(request, TCON_A_BRIDGE, bridge);
    if (match) {
        tcon_nl_put_match(request, match);
    }
    if (tcon_nl_stream(nl, request, flow_cb, &query, error)) {
        json_destroy(json);
        return NULL;
    }
    put_num(json, "more", query.n_more);
    json_object_put(json, "more_is_exact",
                    json_boolean_create(query.all_counted));
    return json;
}

/* Commands. */

typedef void to_text_func(const struct json *, struct ds *);

/* Replies with 'json', which is freed: as JSON if 'as_json', else as text.  If
 * 'json' is NULL, replies with 'error'. */
static void
reply(struct unixctl_conn *conn, struct json *json, bool as_json,
      to_text_func *to_text, const struct tcon_error *error)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    if (!json) {
        unixctl_command_reply_error(conn, error->text);
        return;
    }
    if (as_json) {
        json_to_ds(json, JSSF_SORT, &ds);
    } else {
        to_text(json, &ds);
    }
    unixctl_command_reply(conn, ds_cstr(&ds));
    ds_destroy(&ds);
    json_destroy(json);
}

/* Takes the option -j from the arguments, if it comes first. */
static bool
take_json_option(int *argc, const char ***argv)
{
    bool json = *argc > 1 && !strcmp((*argv)[1], "-j");

    *argc -= json;
    *argv += json;
    return json;
}

/* tcon/list-cc [-j] */
static void
tcon_unixctl_list_cc(struct unixctl_conn *conn, int argc, const char *argv[],
                     void *aux OVS_UNUSED)
{
    bool as_json = take_json_option(&argc, &argv);
    struct json *json = NULL;
    struct tcon_error error;
    struct tcon_ccs ccs;
    struct tcon_nl nl;

    if (argc > 1) {
        tcon_error_set(&error, "'%.64s' is not the option -j", argv[1]);
    } else if (tcon_nl_open(&nl, &error)) {
        if (tcon_ccs_get(&nl, &ccs, &error)) {
            json = json_object_create();
            json_object_put(json, "ccs", ccs_to_json(&ccs));
            json_object_put(json, "not_loaded", not_loaded_to_json(&ccs));
        }
        tcon_ccs_destroy(&ccs);
        tcon_nl_close(&nl);
    }
    reply(conn, json, as_json, list_cc_to_text, &error);
}

/* tcon/show [-j] [BRIDGE] */
static void
tcon_unixctl_show(struct unixctl_conn *conn, int argc, const char *argv[],
                  void *aux OVS_UNUSED)
{
    bool as_json = take_json_option(&argc, &argv);
    struct json *json = NULL;
    struct tcon_error error;
    struct tcon_nl nl;

    if (argc > 2) {
        tcon_error_set(&error, "'%.64s' is one argument too many", argv[2]);
    } else if ((argc < 2 || tcon_bridge_lookup(argv[1], &error))
               && tcon_nl_open(&nl, &error)) {
        json = show_to_json(&nl, argc > 1 ? argv[1] : NULL, &error);
        tcon_nl_close(&nl);
    }
    reply(conn, json, as_json, show_to_text, &error);
}

struct flows_args {
    struct tcon_flow_spec spec;
    bool has_flow;
    bool has_limit;
    uint64_t limit;
};

static bool
parse_flows_arg(const char *arg, struct flows_args *args,
                struct tcon_error *error)
{
    bool *had = strncmp(arg, "limit=", 6) ? &args->has_flow : &args->has_limit;

    if (*had) {
        tcon_error_set(error, "'%.64s': %s is given twice", arg,
                       had == &args->has_flow ? "flow=" : "limit=");
        return false;
    }
    *had = true;
    if (had == &args->has_limit) {
        if (!tcon_uint_parse(arg + 6, UINT32_MAX, &args->limit)
            || !args->limit) {
            tcon_error_set(error, "'%.40s': not a number from 1 to "
                           "%"PRIu32, arg, UINT32_MAX);
            return false;
        }
        return true;
    }
    if (!tcon_parse_flow(arg, &args->spec, error)) {
        return false;
    }
    if (args->spec.has_priority) {
        tcon_error_set(error, "priority: flows have none, only rules do");
        return false;
    }
    return true;
}

/* tcon/flows [-j] BRIDGE [flow=MATCH] [limit=N] */
static void
tcon_unixctl_flows(struct unixctl_conn *conn, int argc, const char *argv[],
                   void *aux OVS_UNUSED)
{
    struct flows_args args = { .limit = DEFAULT_FLOW_LIMIT };
    bool as_json = take_json_option(&argc, &argv);
    const struct tcon_bridge *bridge = NULL;
    struct json *json = NULL;
    struct tcon_error error;
    struct tcon_nl nl;
    bool ok;

    if (argc < 2) {
        tcon_error_set(&error, "no bridge is given");
    } else {
        bridge = tcon_bridge_lookup(argv[1], &error);
    }
    ok = bridge != NULL;
    for (int i = 2; ok && i < argc; i++) {
        ok = parse_flows_arg(argv[i], &args, &error);
    }
    if (ok && tcon_nl_open(&nl, &error)) {
        struct tcon_rule place = { .match = args.spec.match };

        ovs_strlcpy(place.bridge, argv[1], sizeof place.bridge);
        if (tcon_resolve_guest_port(bridge, &nl, &place, &error)) {
            json = flows_to_json(&nl, argv[1],
                                 args.has_flow ? &place.match : NULL,
                                 args.limit, &error);
        }
        tcon_nl_close(&nl);
    }
    reply(conn, json, as_json, flows_to_text, &error);
}

void
tcon_show_init(void)
{
    unixctl_command_register("tcon/list-cc", "[-j]", 0, 1,
                             tcon_unixctl_list_cc, NULL);
    unixctl_command_register("tcon/show", "[-j] [bridge]", 0, 2,
                             tcon_unixctl_show, NULL);
    unixctl_command_register("tcon/flows",
                             "[-j] bridge [flow=MATCH] [limit=N]", 1, 4,
                             tcon_unixctl_flows, NULL);
}
