/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * tcon/trace, as ofproto/trace for OpenFlow: which rule would a flow obey, and
 * why not those above?
 *
 * tcon.ko says which, by the look-up that packets take.  Here is only found out on
 * which fields that depends, and which field keeps a rule from selecting the flow.
 */

#include <config.h>

#include "tcon-trace.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "openvswitch/dynamic-string.h"
#include "tcon-cc.h"
#include "tcon-command.h"
#include "tcon-json.h"
#include "tcon-rules.h"
#include "tcon-show.h"
#include "tcon-text.h"
#include "tcon-words.h"
#include "unixctl.h"
#include "util.h"

struct trace {
    const char *bridge;
    const struct tcon_port *port;   /* The guest's. */
    struct tcon_match flow;
    const struct tcon_ccs *ccs;
    struct json *rules;             /* Those of the bridge, as tried. */
    struct json *depends_on;        /* Fields that the flow does not give. */
    struct json *ccs_perhaps;       /* CCs of the rules that look at these. */
    const struct tcon_rule *obeyed; /* tcon.ko says so; NULL: none. */
    bool decided;                   /* A rule that selects the flow was seen. */
};

/* Adds a rule and what became of it. */
static struct json *
add_rule(struct trace *trace, const struct tcon_rule *rule,
         const char *verdict)
{
    struct json *json = tcon_rule_to_json(rule, trace->ccs);

    json_object_put_string(json, "verdict", verdict);
    json_array_add(trace->rules, json);
    return json;
}

/* As tcon_match_selects(), except that the field is "tcp" where a version of IP is needed and
 * none is known.  A rule with a share looks at both ends, too. */
static enum tcon_selects
selects(const struct tcon_rule *rule, const struct trace *trace,
        const char **field)
{
    const struct tcon_match *flow = &trace->flow;
    bool v6 = flow->family == AF_INET6;
    enum tcon_selects found;

    found = tcon_match_selects(&rule->match, flow, trace->port->ofport, field);
    if (found == TCON_SELECTS_UNKNOWN && !strcmp(*field, "tcp6")) {
        *field = "tcp";
    }
    if (found != TCON_SELECTS || !rule->share) {
        return found;
    }
    *field = (!flow->src.plen ? (v6 ? "ipv6_src" : "nw_src")
              : !flow->dst.plen ? (v6 ? "ipv6_dst" : "nw_dst")
              : !flow->sport.mask ? "tp_src"
              : !flow->dport.mask ? "tp_dst"
              : NULL);
    return *field ? TCON_SELECTS_UNKNOWN : TCON_SELECTS;
}

static void
add_once(struct json *array, const char *string)
{
    const struct json *elem;
    size_t i;

    JSON_ARRAY_FOR_EACH (elem, i, array) {
        if (!strcmp(json_string(elem), string)) {
            return;
        }
    }
    json_array_add(array, json_string_create(string));
}

/* The first time rules are looked at: on which fields does it depend? */
static bool
find_unknown(struct nlattr *top[], void *trace_)
{
    struct trace *trace = trace_;
    const char *field = NULL;
    struct tcon_rule rule;

    if (!tcon_rule_from_attrs(top, &rule) || trace->decided
        || strcmp(rule.bridge, trace->bridge)) {
        return true;
    }
    switch (selects(&rule, trace, &field)) {
    case TCON_SELECTS:
        /* Whether it is in the share only tcon.ko knows. */
        trace->decided = !rule.share;
        add_once(trace->ccs_perhaps, rule.cc);
        break;
    case TCON_SELECTS_UNKNOWN:
        add_once(trace->depends_on, field);
        add_once(trace->ccs_perhaps, rule.cc);
        break;
    case TCON_SELECTS_NOT:
    default:
        break;
    }
    return true;
}

/* The second time: what becomes of each? */
static bool
tell_rule(struct nlattr *top[], void *trace_)
{
    struct trace *trace = trace_;
    bool depends = json_array_size(trace->depends_on);
    const char *field = NULL;
    struct tcon_rule rule;

    if (!tcon_rule_from_attrs(top, &rule)
        || strcmp(rule.bridge, trace->bridge)) {
        return true;
    }
    if (trace->decided) {
        add_rule(trace, &rule, "below");
        return true;
    }
    switch (selects(&rule, trace, &field)) {
    case TCON_SELECTS_NOT:
        json_object_put_string(add_rule(trace, &rule, "differs"), "field",
                               field);
        break;
    case TCON_SELECTS_UNKNOWN:
        json_object_put_string(add_rule(trace, &rule, "depends"), "field",
                               field);
        break;
    case TCON_SELECTS:
    default:
        trace->decided = (depends ? !rule.share
                          : trace->obeyed
                            && tcon_rule_same_place(&rule, trace->obeyed));
        add_rule(trace, &rule, !trace->decided ? "share"
                 : depends ? "else" : "obeyed");
    }
    return true;
}

/* Says in 'json' what becomes of the flow. */
static void
put_result(struct json *json, const struct trace *trace)
{
    const char *cc = trace->obeyed ? trace->obeyed->cc : TCON_CC_OBSERVE;
    enum tcon_reason reason;

    json_object_put(json, "depends_on", trace->depends_on);
    json_object_put(json, "ccs", trace->ccs_perhaps);
    if (json_array_size(trace->depends_on)) {
        if (!trace->decided) {
            add_once(trace->ccs_perhaps, TCON_CC_OBSERVE);
        }
        json_object_put(json, "cc", json_null_create());
        json_object_put(json, "reason", json_null_create());
        return;
    }
    reason = (!trace->obeyed ? TCON_REASON_NO_RULE
              : !strcmp(cc, TCON_CC_OBSERVE) ? TCON_REASON_RULE_NONE
              : !tcon_cc_find(trace->ccs, cc) ? TCON_REASON_CC_GONE
              : TCON_REASON_NONE);
    json_object_put_string(json, "cc", cc);
    json_object_put_string(json, "reason", tcon_reasons[reason].name);
    json_object_put_string(json, "reason_text", tcon_reasons[reason].text);
}

/* Asks tcon.ko which rule the flow obeys, unless that depends on what is not said.
 * Returns false, with a sentence, if tcon.ko does not answer. */
static bool
ask(struct trace *trace, struct tcon_nl *nl, struct tcon_rule *obeyed,
    struct tcon_error *error)
{
    int err;

    if (tcon_nl_dump(nl, tcon_nl_request(nl, TCON_CMD_GET_RULE), find_unknown,
                     trace, error)) {
        return false;
    }
    if (!json_array_size(trace->depends_on)) {
        err = tcon_rule_of_flow(nl, trace->port->ifindex, &trace->flow, obeyed,
                                error);
        if (err && err != ENOENT) {
            return false;
        }
        trace->obeyed = err ? NULL : obeyed;
    }
    trace->decided = false;
    return !tcon_nl_dump(nl, tcon_nl_request(nl, TCON_CMD_GET_RULE), tell_rule,
                         trace, error);
}

/* Returns NULL, with a sentence, if tcon.ko does not answer. */
static struct json *
trace_to_json(struct trace *trace, struct tcon_nl *nl,
              struct tcon_error *error)
{
    struct json *json = json_object_create();
    char flow[TCON_MATCH_TEXT_MAX];
    const struct tcon_rule *rule;
    struct tcon_rule obeyed;
    bool ok;

    trace->rules = json_array_create_empty();
    trace->depends_on = json_array_create_empty();
    trace->ccs_perhaps = json_array_create_empty();
    json_object_put(json, "rules", trace->rules);
    ok = ask(trace, nl, &obeyed, error);
    put_result(json, trace);
    if (!ok) {
        json_destroy(json);
        return NULL;
    }
    LIST_FOR_EACH (rule, node, tcon_rules()) {
        if (!rule->in_kernel && !strcmp(rule->bridge, trace->bridge)) {
            add_rule(trace, rule, "not-taken");
        }
    }
    tcon_match_format(&trace->flow, flow);
    json_object_put_string(json, "flow", flow);
    return json;
}

static const char *
field_text(const char *field)
{
    return strcmp(field, "tcp") ? field : "tcp or tcp6";
}

static void
rule_to_text(const struct json *rule, struct ds *ds)
{
    const char *verdict = json_str(rule, "verdict");

    ds_put_format(ds, "    %s: ", json_str(rule, "rule"));
    if (!strcmp(verdict, "differs")) {
        ds_put_format(ds, "no, %s differs\n", json_str(rule, "field"));
    } else if (!strcmp(verdict, "depends")) {
        ds_put_format(ds, "it depends on %s\n",
                      field_text(json_str(rule, "field")));
    } else {
        ds_put_format(ds, "%s\n",
                      !strcmp(verdict, "obeyed") ? "yes"
                      : !strcmp(verdict, "else") ? "yes, if none above"
                      : !strcmp(verdict, "share") ? "no, not in its share"
                      : !strcmp(verdict, "below") ? "below that"
                      : "not taken by tcon.ko yet");
    }
}

/* Appends the strings of 'array', with 'last' before the last one. */
static void
list_to_text(const struct json *array, const char *last, bool fields,
             struct ds *ds)
{
    const struct json *elem;
    size_t i;

    JSON_ARRAY_FOR_EACH (elem, i, array) {
        const char *text = json_string(elem);

        ds_put_format(ds, "%s%s", !i ? ""
                      : i + 1 < json_array_size(array) ? ", " : last,
                      fields ? field_text(text) : text);
    }
}

static void
trace_to_text(const struct json *json, struct ds *ds)
{
    const struct json *rules = json_get(json, "rules");
    const struct json *rule;
    size_t i;

    ds_put_format(ds, "flow %s\n", json_str(json, "flow"));
    JSON_ARRAY_FOR_EACH (rule, i, rules) {
        rule_to_text(rule, ds);
    }
    ds_put_cstr(ds, "result: ");
    if (!json_has(json, "cc")) {
        ds_put_cstr(ds, "it depends on ");
        list_to_text(json_get(json, "depends_on"), " and ", true, ds);
        ds_put_cstr(ds, ": cc ");
        list_to_text(json_get(json, "ccs"), " or ", false, ds);
    } else {
        ds_put_format(ds, "cc %s", json_str(json, "cc"));
        if (strcmp(json_str(json, "reason"),
                   tcon_reasons[TCON_REASON_NONE].name)) {
            ds_put_format(ds, ", observed: %s (%s)", json_str(json, "reason"),
                          json_str(json, "reason_text"));
        }
    }
    ds_put_char(ds, '\n');
}

/* Are addresses, ports and the mark given in whole, or not at all? */
static bool
is_one_flow(const struct tcon_match *flow)
{
    uint8_t whole = flow->family == AF_INET ? 32 : 128;

    return ((!flow->src.plen || flow->src.plen == whole)
            && (!flow->dst.plen || flow->dst.plen == whole)
            && (!flow->sport.mask || flow->sport.mask == UINT16_MAX)
            && (!flow->dport.mask || flow->dport.mask == UINT16_MAX)
            && (!flow->mark.mask || flow->mark.mask == UINT32_MAX)
            && (!tcon_mac_is_given(&flow->mac)
                || tcon_mac_is_whole(&flow->mac)));
}

/* Puts the name of the flow's port in place of its number or iface-id. */
static bool
name_port(const char *bridge_name, const struct tcon_bridge *bridge,
          struct tcon_match *flow, struct tcon_error *error)
{
    const struct tcon_port *port;

    tcon_use_port_name(bridge, flow);
    if (flow->iface_id[0]) {
        port = tcon_port_by_iface_id(bridge, flow->iface_id);
        if (!port) {
            tcon_error_set(error, "bridge %.64s has no port with iface-id "
                           "%.127s", bridge_name, flow->iface_id);
            return false;
        }
        ovs_strlcpy(flow->ifname, port->name, sizeof flow->ifname);
    }
    if (!flow->ifname[0]) {
        tcon_error_set(error, "the flow must say in_port: a guest's port of "
                       "bridge %.64s", bridge_name);
        return false;
    }
    return true;
}

/* Reads the flow, which is one flow of one guest. */
static bool
parse_one_flow(const char *bridge_name, const struct tcon_bridge *bridge,
               struct tcon_nl *nl, const char *text, struct trace *trace,
               struct tcon_error *error)
{
    struct tcon_match *flow = &trace->flow;
    struct tcon_flow_spec spec;

    if (!tcon_flow_spec_parse(strncmp(text, "flow=", 5) ? text : text + 5,
                              &spec, error)) {
        return false;
    }
    *flow = spec.match;
    if (spec.has_priority) {
        tcon_error_set(error, "priority: flows have none, only rules do");
        return false;
    }
    if (!is_one_flow(flow)) {
        tcon_error_set(error, "one flow has whole addresses, ports and marks, "
                       "not prefixes or masks");
        return false;
    }
    if (!name_port(bridge_name, bridge, flow, error)) {
        return false;
    }
    trace->port = tcon_guest_port(bridge_name, bridge, nl, flow->ifname,
                                  error);
    if (trace->port) {
        ovs_strlcpy(flow->iface_id, trace->port->iface_id,
                    sizeof flow->iface_id);
    }
    return trace->port != NULL;
}

/* tcon/trace [-j] BRIDGE FLOW */
static void
tcon_unixctl_trace(struct unixctl_conn *conn, int argc, const char *argv[],
                   void *aux OVS_UNUSED)
{
    bool as_json = tcon_take_json(conn, &argc, argv);
    struct trace trace = { .bridge = NULL };
    const struct tcon_bridge *bridge;
    struct json *json = NULL;
    struct tcon_error error;
    struct tcon_ccs ccs;
    struct tcon_nl nl;

    bridge = tcon_bridge_lookup(argv[1], &error);
    if (bridge && tcon_nl_open(&nl, &error)) {
        trace.bridge = argv[1];
        trace.ccs = &ccs;
        if (parse_one_flow(argv[1], bridge, &nl, argv[2], &trace, &error)) {
            if (tcon_ccs_get(&nl, &ccs, &error)) {
                json = trace_to_json(&trace, &nl, &error);
            }
            tcon_ccs_destroy(&ccs);
        }
        tcon_nl_close(&nl);
    }
    tcon_reply(conn, json, as_json, trace_to_text, &error);
}

void
tcon_trace_init(void)
{
    static const struct tcon_command trace = {
        "tcon/trace", "[-j] bridge flow",
        "says which rule a flow obeys, and why none above",
        "br0 in_port=vnet0,nw_dst=10.0.0.9,tp_dst=443", 2, 2,
        tcon_unixctl_trace,
    };

    tcon_command_register(&trace);
}
