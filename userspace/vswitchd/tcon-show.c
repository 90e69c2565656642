/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * tcon/list-cc and tcon/show.
 */

#include <config.h>

#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "sset.h"
#include "tcon-cc.h"
#include "tcon-command.h"
#include "tcon-json.h"
#include "tcon-ovsdb.h"
#include "tcon-rates.h"
#include "tcon-rules.h"
#include "tcon-show.h"
#include "tcon-text.h"
#include "tcon-when.h"
#include "tcon-words.h"
#include "unixctl.h"
#include "util.h"

#define TCON_X(id, name, text) { name, text },
static const struct tcon_word counters[] = { TCON_COUNTERS(TCON_X) };
#undef TCON_X

static const char *const rule_ecn[] = TCON_RULE_ECN_NAMES;
static const char *const rule_fallback[] = TCON_RULE_FALLBACK_NAMES;

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
    { TCON_INFO_A_COUNTERS,    NL_A_UNSPEC, NULL },
    { TCON_INFO_A_REASONS,     NL_A_UNSPEC, NULL },
    { TCON_INFO_A_BUFFER_BYTES,  NL_A_U64,    "buffer_bytes" },
    { TCON_INFO_A_BUFFER_MAX,    NL_A_U64,    "buffer_bytes_max" },
    { TCON_INFO_A_BUFFER_PORT_MAX, NL_A_U64,  "buffer_port_bytes_max" },
    { TCON_INFO_A_BUFFER_FLOW_MAX, NL_A_U64,  "buffer_flow_bytes_max" },
    { TCON_INFO_A_ATTACH,      NL_A_STRING, "attach" },
    { TCON_INFO_A_SPREADING,   NL_A_FLAG,   "spreading" },
    { TCON_INFO_A_AGE_MS,      NL_A_U64,    NULL },
};

static const struct tcon_nl_field port_fields[] = {
    { TCON_PORT_A_IFINDEX,    NL_A_U32, "ifindex" },
    { TCON_PORT_A_ROLE,       NL_A_U8,  NULL },
    { TCON_PORT_A_WHY,        NL_A_U8,  NULL },
    { TCON_PORT_A_FLOWS,      NL_A_U32, "flows" },
    { TCON_PORT_A_BUFFER_BYTES, NL_A_U64, "buffer_bytes" },
    { TCON_PORT_A_EVADING,    NL_A_U32, "evading" },
    { TCON_PORT_A_EVADED,     NL_A_U64, "evaded" },
    { TCON_PORT_A_IFACE_ID,   NL_A_STRING, "iface_id" },
};

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
        json_put_name(p, "type", param_type_names,
                      ARRAY_SIZE(param_type_names), param->type);
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
    json_put_num(json, "flows", cc->flows);
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

/* Writes the share that a rule takes and of what, since when, and until when. */
static void
put_terms(struct json *json, const struct tcon_rule *rule)
{
    char date[TCON_DATE_TEXT_MAX];

    json_object_put(json, "share_percent",
                    json_real_create((rule->share ? rule->share
                                      : TCON_SHARE_ALL) * 100.0
                                     / TCON_SHARE_ALL));
    if (rule->in_kernel) {
        json_put_since(json, rule->age_ms);
    }
    if (rule->until_s) {
        tcon_date_format(rule->until_s, date);
        json_object_put_string(json, "until", date);
    } else {
        json_object_put(json, "until", json_null_create());
    }
}

/* Returns all that is known of a rule. */
struct json *
tcon_rule_to_json(const struct tcon_rule *rule, const struct tcon_ccs *ccs)
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
    json_put_num(json, "priority", rule->priority);
    json_object_put_string(json, "match", match);
    json_object_put_string(json, "cc", rule->cc);
    json_object_put(json, "params", params);
    json_object_put_string(json, "ecn", rule->ecn < ARRAY_SIZE(rule_ecn)
                                        ? rule_ecn[rule->ecn] : "?");
    json_object_put_string(json, "fallback",
                           rule->fallback < ARRAY_SIZE(rule_fallback)
                           ? rule_fallback[rule->fallback] : "?");
    json_put_num(json, "rto_min_us", rule->rto_min_us ? rule->rto_min_us
                                                      : TCON_RTO_DEFAULT_US);
    put_terms(json, rule);
    json_put_num(json, "flows", rule->flows);
    json_object_put(json, "cc_loaded",
                    json_boolean_create(cc || !strcmp(rule->cc,
                                                      TCON_CC_OBSERVE)));
    json_object_put(json, "in_kernel", json_boolean_create(rule->in_kernel));
    json_object_put(json, "source", tcon_ovsdb_source(rule));
    json_object_put(json, "rule", json_string_create_nocopy(text));
    return json;
}

/* Returns the member "counters" or "reasons": each element of the array of
 * u64s with its name and its text. */
static struct json *
u64s_to_json(const struct nlattr *attr, const struct tcon_word words[],
             size_t n_words, const char *value_name)
{
    struct json *json = json_array_create_empty();

    for (size_t i = 0; i < tcon_nl_n_u64s(attr); i++) {
        struct json *elem = json_object_create();

        if (i < n_words) {
            json_object_put_string(elem, "name", words[i].name);
            json_object_put_string(elem, "text", words[i].text);
        } else {
            json_object_put_format(elem, "name", "%"PRIuSIZE, i);
            json_object_put_string(elem, "text", "");
        }
        json_put_num(elem, value_name, tcon_nl_get_u64(attr, i));
        json_array_add(json, elem);
    }
    return json;
}

/* Adds to each of 'array', counters that are 'age_ms' old, how fast it grows;
 * null if that is not known. */
static void
put_rates(struct json *json, const struct json *array, uint64_t age_ms)
{
    const struct tcon_sample *before = tcon_rates_before(age_ms);
    uint64_t over_ms = before ? age_ms - before->age_ms : 0;
    const struct json *counter;
    size_t i;

    json_object_put(json, "rate_over_ms", before ? json_integer_create(over_ms)
                                          : json_null_create());
    JSON_ARRAY_FOR_EACH (counter, i, array) {
        struct json *per_s = json_null_create();

        if (before && i < before->n) {
            double grown = json_num(counter, "value") - before->counters[i];

            per_s = json_real_create(grown * 1000 / over_ms);
        }
        json_object_put(CONST_CAST(struct json *, counter), "per_s", per_s);
    }
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
                        u64s_to_json(attrs[TCON_INFO_A_REASONS], tcon_reasons,
                                     n_tcon_reasons, "flows"));
        json_object_put(json, "counters",
                        u64s_to_json(attrs[TCON_INFO_A_COUNTERS], counters,
                                     ARRAY_SIZE(counters), "value"));
        if (attrs[TCON_INFO_A_AGE_MS]) {
            uint64_t age_ms = nl_attr_get_u64(attrs[TCON_INFO_A_AGE_MS]);

            json_put_since(json, age_ms);
            put_rates(json, json_get(json, "counters"), age_ms);
        }
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
        json_put_name(port, "role", role_names, ARRAY_SIZE(role_names),
                      nl_attr_get_u8(attrs[TCON_PORT_A_ROLE]));
    }
    if (attrs[TCON_PORT_A_WHY]) {
        json_put_name(port, "why", why_texts, ARRAY_SIZE(why_texts),
                      nl_attr_get_u8(attrs[TCON_PORT_A_WHY]));
    }
    json_object_put_nocopy(ports, xasprintf("%lld", json_num(port, "ifindex")),
                           port);
    return true;
}

/* A port.  Role and reason are the kernel's, if it knows the port. */
static struct json *
port_to_json(const struct tcon_port *port, const struct json *kernel_ports)
{
    const struct json *known = NULL;
    struct json *json;

    if (port->ifindex) {
        char key[16];

        snprintf(key, sizeof key, "%"PRIu32, port->ifindex);
        known = json_get(kernel_ports, key);
    }
    json = known ? json_deep_clone(known) : json_object_create();
    json_object_put_string(json, "name", port->name);
    json_put_num(json, "ofport", port->ofport);
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
        json_array_add(query->rules, tcon_rule_to_json(&rule, query->ccs));
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
            json_array_add(rules, tcon_rule_to_json(rule, ccs));
        }
    }
    return true;
}

static int
compare_ports(const void *a_, const void *b_)
{
    const struct json *const *a = a_;
    const struct json *const *b = b_;
    long long int a_port = json_num(*a, "ofport");
    long long int b_port = json_num(*b, "ofport");

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
    struct tcon_ccs ccs = { .n = 0 };
    bool ok;

    json_object_put(json, "bridges", bridges);
    ok = (!tcon_nl_do(nl, tcon_nl_request(nl, TCON_CMD_GET_INFO), info_cb,
                      json, error)
          && tcon_ccs_get(nl, &ccs, error));
    if (ok) {
        json_object_put(json, "ccs", ccs_to_json(&ccs));
        ok = bridges_to_json(nl, bridge, &ccs, bridges, error);
    }
    tcon_ccs_destroy(&ccs);
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
    ds_put_format(ds, "    %s=", json_str(param, "name"));
    value_to_text(json_get(param, "default"), ds);
    if (strcmp(json_str(param, "type"), param_type_names[TCON_PARAM_BOOL])) {
        ds_put_cstr(ds, " (");
        value_to_text(json_get(param, "min"), ds);
        ds_put_cstr(ds, " to ");
        value_to_text(json_get(param, "max"), ds);
        ds_put_format(ds, "%s%s)", *json_str(param, "unit") ? " " : "",
                      json_str(param, "unit"));
    } else {
        ds_put_cstr(ds, " (on or off)");
    }
    ds_put_format(ds, ": %s\n", json_str(param, "help"));
}

static void
list_cc_to_text(const struct json *json, struct ds *ds)
{
    const struct json *others = json_get(json, "not_loaded");
    const struct json *ccs = json_get(json, "ccs");
    const struct json *cc;
    size_t i, j;

    JSON_ARRAY_FOR_EACH (cc, i, ccs) {
        const struct json *params = json_get(cc, "params");
        const struct json *param;

        ds_put_format(ds, "%s: %s%s, %s, flows: %lld\n", json_str(cc, "name"),
                      json_str(cc, "category"),
                      json_yes(cc, "paced") ? ", paced" : "",
                      json_str(cc, "source"), json_num(cc, "flows"));
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
    ds_put_format(ds, "    port %s (", json_str(port, "name"));
    if (json_num(port, "ofport") == TCON_OFPORT_LOCAL) {
        ds_put_cstr(ds, "LOCAL");
    } else {
        ds_put_format(ds, "%lld", json_num(port, "ofport"));
    }
    ds_put_format(ds, "): %s, %s", json_str(port, "role"),
                  json_str(port, "why"));
    if (json_has(port, "iface_id")) {
        ds_put_format(ds, ", iface-id %s", json_str(port, "iface_id"));
    }
    if (!strcmp(json_str(port, "role"), role_names[TCON_ROLE_GUEST])) {
        ds_put_format(ds, "; flows: %lld, buffer: %lld bytes",
                      json_num(port, "flows"),
                      json_num(port, "buffer_bytes"));
        if (json_num(port, "evaded")) {
            ds_put_format(ds, "; its guest keeps flows from being enforced: "
                          "%lld now, %lld so far", json_num(port, "evading"),
                          json_num(port, "evaded"));
        }
    }
    ds_put_char(ds, '\n');
}

/* Says where the rule is kept, unless it is on its bridge. */
static void
put_source_text(struct ds *ds, const struct json *rule)
{
    const struct json *source = json_get(rule, "source");

    if (!source) {
        ds_put_cstr(ds, "; volatile");
    } else if (strcmp(json_str(source, "table"), "Bridge")) {
        ds_put_format(ds, "; of %s %s", json_str(source, "table"),
                      json_str(source, "record"));
    }
}

/* Writes a rule so that the line can be given to tcon/set-cc.  Parameters at
 * their defaults are left out. */
static void
put_rule_text(struct ds *ds, const struct json *rule)
{
    ds_put_format(ds, "    %s; flows: %lld%s%s", json_str(rule, "rule"),
                  json_num(rule, "flows"),
                  json_yes(rule, "in_kernel") ? ""
                  : "; not taken by tcon.ko yet",
                  json_yes(rule, "cc_loaded") ? "" : "; the CC is not loaded");
    put_source_text(ds, rule);
    if (json_has(rule, "since")) {
        ds_put_cstr(ds, "; ");
        json_since_to_text(rule, ds);
    }
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
        if (strcmp(json_str(key, "state"), "applied")) {
            ds_put_format(ds, "%s    %s of %s %s is %s: %s\n",
                          any ? "" : "  in OVSDB, but not as it says there:\n",
                          json_str(key, "key"), json_str(key, "table"),
                          json_str(key, "record"), json_str(key, "state"),
                          json_str(key, "detail"));
            any = true;
        }
    }
}

static void
put_bridge_text(struct ds *ds, const struct json *bridge)
{
    const struct json *ports = json_get(bridge, "ports");
    const struct json *rules = json_get(bridge, "rules");
    const struct json *elem;
    size_t i;

    ds_put_format(ds, "bridge %s\n", json_str(bridge, "name"));
    JSON_ARRAY_FOR_EACH (elem, i, ports) {
        put_port_text(ds, elem);
    }
    ds_put_format(ds, "  rules%s\n", json_array_size(rules)
                  ? ", as they are tried:" : ": none");
    JSON_ARRAY_FOR_EACH (elem, i, rules) {
        put_rule_text(ds, elem);
    }
    put_config_text(ds, json_get(bridge, "config"));
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
        if (json_num(word, value_name)) {
            if (!any) {
                ds_put_format(ds, "%s\n", title);
                any = true;
            }
            ds_put_format(ds, "    %s: %lld", json_str(word, "name"),
                          json_num(word, value_name));
            if (json_has(word, "per_s")) {
                ds_put_format(ds, ", %.1f/s", json_double(word, "per_s"));
            }
            ds_put_format(ds, " (%s)\n", json_str(word, "text"));
        }
    }
}

static void
put_counters_text(struct ds *ds, const struct json *json)
{
    struct ds title = DS_EMPTY_INITIALIZER;

    ds_put_cstr(&title, "counters");
    if (json_has(json, "since")) {
        ds_put_char(&title, ' ');
        json_since_to_text(json, &title);
    }
    if (json_has(json, "rate_over_ms")) {
        ds_put_format(&title, ", rates of the last %lld s",
                      json_num(json, "rate_over_ms") / 1000);
    }
    ds_put_char(&title, ':');
    put_words_text(ds, json_get(json, "counters"), ds_cstr(&title), "value");
    ds_destroy(&title);
}

static void
show_to_text(const struct json *json, struct ds *ds)
{
    const struct json *bridges = json_get(json, "bridges");
    const struct json *ccs = json_get(json, "ccs");
    const struct json *elem;
    size_t i;

    ds_put_format(ds, "tcon %s: flows: %lld of at most %lld, half-open: "
                  "%lld of at most %lld\n",
                  json_str(json, "version"), json_num(json, "flows"),
                  json_num(json, "flows_max"), json_num(json, "half_open"),
                  json_num(json, "half_open_max"));
    ds_put_format(ds, "buffers: %lld of at most %lld bytes (%lld for a "
                  "port, %lld for a flow)\n", json_num(json, "buffer_bytes"),
                  json_num(json, "buffer_bytes_max"),
                  json_num(json, "buffer_port_bytes_max"),
                  json_num(json, "buffer_flow_bytes_max"));
    if (json_has(json, "attach")) {
        ds_put_format(ds, "attach: %s\n", json_str(json, "attach"));
    }
    if (json_yes(json, "spreading")) {
        ds_put_cstr(ds, "a change of rules is still on its way to flows\n");
    }
    JSON_ARRAY_FOR_EACH (elem, i, bridges) {
        put_bridge_text(ds, elem);
    }
    ds_put_cstr(ds, "CCs:");
    JSON_ARRAY_FOR_EACH (elem, i, ccs) {
        ds_put_format(ds, " %s (flows: %lld),", json_str(elem, "name"),
                      json_num(elem, "flows"));
    }
    ds_put_format(ds, " %s\n", TCON_CC_OBSERVE);
    if (json_has(json, "reasons")) {
        put_words_text(ds, json_get(json, "reasons"), "flows by reason:",
                       "flows");
        put_counters_text(ds, json);
    }
}

/* Without tcon.ko: the rules that wait for it. */

static void
put_waiting_bridge(struct ds *ds, const char *name)
{
    struct json *config = tcon_ovsdb_to_json(name);
    const struct tcon_rule *rule;
    const struct json *key;
    size_t i;

    ds_put_format(ds, "bridge %s\n", name);
    JSON_ARRAY_FOR_EACH (key, i, config) {
        ds_put_format(ds, "    %s of %s %s: %s\n", json_str(key, "key"),
                      json_str(key, "table"), json_str(key, "record"),
                      json_str(key, "value"));
    }
    LIST_FOR_EACH (rule, node, tcon_rules()) {
        if (!rule->entry && !strcmp(rule->bridge, name)) {
            char *text = tcon_rule_format(rule);

            ds_put_format(ds, "    %s; volatile\n", text);
            free(text);
        }
    }
    json_destroy(config);
}

/* Replies with 'error', why tcon.ko does not answer, and with what OVSDB holds for
 * it. */
static void
reply_waiting(struct unixctl_conn *conn, const char *only,
              const struct tcon_error *error)
{
    const struct shash_node **nodes = shash_sort(tcon_bridges());
    struct ds ds = DS_EMPTY_INITIALIZER;

    ds_put_format(&ds, "%s\nnothing is enforced; for when it is, there are:\n",
                  error->text);
    for (size_t i = 0; i < shash_count(tcon_bridges()); i++) {
        if (!only || !strcmp(only, nodes[i]->name)) {
            put_waiting_bridge(&ds, nodes[i]->name);
        }
    }
    unixctl_command_reply_error(conn, ds_cstr(&ds));
    ds_destroy(&ds);
    free(nodes);
}

/* Commands. */

/* tcon/list-cc [-j] */
static void
tcon_unixctl_list_cc(struct unixctl_conn *conn, int argc, const char *argv[],
                     void *aux OVS_UNUSED)
{
    bool as_json = tcon_take_json(conn, &argc, argv);
    struct json *json = NULL;
    struct tcon_error error;
    struct tcon_ccs ccs;
    struct tcon_nl nl;

    if (tcon_nl_open(&nl, &error)) {
        if (tcon_ccs_get(&nl, &ccs, &error)) {
            json = json_object_create();
            json_object_put(json, "ccs", ccs_to_json(&ccs));
            json_object_put(json, "not_loaded", not_loaded_to_json(&ccs));
        }
        tcon_ccs_destroy(&ccs);
        tcon_nl_close(&nl);
    }
    tcon_reply(conn, json, as_json, list_cc_to_text, &error);
}

/* tcon/show [-j] [BRIDGE] */
static void
tcon_unixctl_show(struct unixctl_conn *conn, int argc, const char *argv[],
                  void *aux OVS_UNUSED)
{
    bool as_json = tcon_take_json(conn, &argc, argv);
    const char *only = argc > 1 ? argv[1] : NULL;
    struct json *json = NULL;
    struct tcon_error error;
    struct tcon_nl nl;

    if (!only || tcon_bridge_lookup(only, &error)) {
        if (!tcon_nl_open(&nl, &error)) {
            reply_waiting(conn, only, &error);
            return;
        }
        json = show_to_json(&nl, only, &error);
        tcon_nl_close(&nl);
    }
    tcon_reply(conn, json, as_json, show_to_text, &error);
}

void
tcon_show_init(void)
{
    static const struct tcon_command list_cc = {
        "tcon/list-cc", "[-j]", "names the CCs and their parameters", "",
        0, 0, tcon_unixctl_list_cc,
    };
    static const struct tcon_command show = {
        "tcon/show", "[-j] [bridge]",
        "shows ports and their roles, rules, totals and counters", "br0",
        0, 1, tcon_unixctl_show,
    };

    tcon_command_register(&list_cc);
    tcon_command_register(&show);
}
