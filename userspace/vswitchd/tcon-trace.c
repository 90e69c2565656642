/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * tcon/trace, as ofproto/trace for OpenFlow: which rule would a flow obey, and
 * why not those above?
 */

#include <config.h>

#include "tcon-trace.h"

#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "tcon-cc.h"
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
    const struct json *obeyed;      /* One of them. */
    const char *unknown;            /* A field that decides, not given, */
    char *asks;                     /* and the rule that looks at it. */
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

static bool
rule_cb(struct nlattr *top[], void *trace_)
{
    struct trace *trace = trace_;
    const char *field = NULL;
    struct tcon_rule rule;

    if (!tcon_rule_from_attrs(top, &rule)
        || strcmp(rule.bridge, trace->bridge)) {
        return true;
    }
    if (trace->obeyed) {
        add_rule(trace, &rule, "below");
        return true;
    }
    switch (tcon_match_selects(&rule.match, &trace->flow, trace->port->ofport,
                               &field)) {
    case TCON_SELECTS:
        if (rule.share) {
            add_rule(trace, &rule, "share");
            break;
        }
        trace->obeyed = add_rule(trace, &rule, "obeyed");
        break;
    case TCON_SELECTS_NOT:
        json_object_put_string(add_rule(trace, &rule, "differs"), "field",
                               field);
        break;
    case TCON_SELECTS_UNKNOWN:
    default:
        trace->unknown = field;
        trace->asks = tcon_rule_format(&rule);
        return false;
    }
    return true;
}

/* Says in 'json' what becomes of the flow. */
static void
put_result(struct json *json, const struct json *obeyed)
{
    const char *cc = obeyed ? json_str(obeyed, "cc") : TCON_CC_OBSERVE;
    enum tcon_reason reason;

    reason = (!obeyed ? TCON_REASON_NO_RULE
              : !strcmp(cc, TCON_CC_OBSERVE) ? TCON_REASON_RULE_NONE
              : !json_yes(obeyed, "cc_loaded") ? TCON_REASON_CC_GONE
              : TCON_REASON_NONE);
    json_object_put_string(json, "cc", cc);
    json_object_put_string(json, "reason", tcon_reasons[reason].name);
    json_object_put_string(json, "reason_text", tcon_reasons[reason].text);
}

/* Returns NULL, with a sentence, if tcon.ko does not answer or the flow does
 * not say enough. */
static struct json *
trace_to_json(struct trace *trace, struct tcon_nl *nl,
              struct tcon_error *error)
{
    struct json *json = json_object_create();
    char flow[TCON_MATCH_TEXT_MAX];
    const struct tcon_rule *rule;
    bool ok;

    trace->rules = json_array_create_empty();
    json_object_put(json, "rules", trace->rules);
    ok = !tcon_nl_dump(nl, tcon_nl_request(nl, TCON_CMD_GET_RULE), rule_cb,
                       trace, error);
    if (ok && trace->unknown) {
        tcon_error_set(error, "the flow must say %s, since this rule looks at "
                       "it: %.160s", trace->unknown, trace->asks);
        ok = false;
    }
    free(trace->asks);
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
    put_result(json, trace->obeyed);
    return json;
}

static void
trace_to_text(const struct json *json, struct ds *ds)
{
    const struct json *rules = json_get(json, "rules");
    bool enforced = !strcmp(json_str(json, "reason"),
                            tcon_reasons[TCON_REASON_NONE].name);
    const struct json *rule;
    size_t i;

    ds_put_format(ds, "flow %s\n", json_str(json, "flow"));
    JSON_ARRAY_FOR_EACH (rule, i, rules) {
        const char *verdict = json_str(rule, "verdict");

        ds_put_format(ds, "    %s: ", json_str(rule, "rule"));
        if (!strcmp(verdict, "differs")) {
            ds_put_format(ds, "no, %s differs\n", json_str(rule, "field"));
        } else {
            ds_put_format(ds, "%s\n",
                          !strcmp(verdict, "obeyed") ? "yes"
                          : !strcmp(verdict, "share")
                          ? "yes, if it is in the share"
                          : !strcmp(verdict, "below") ? "below that"
                          : "not taken by tcon.ko yet");
        }
    }
    ds_put_format(ds, "result: cc %s", json_str(json, "cc"));
    if (!enforced) {
        ds_put_format(ds, ", observed: %s (%s)", json_str(json, "reason"),
                      json_str(json, "reason_text"));
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
    const struct tcon_bridge *bridge = NULL;
    struct json *json = NULL;
    struct tcon_error error;
    struct tcon_ccs ccs;
    struct tcon_nl nl;

    if (!tcon_options_done(argc, argv, &error)) {
        /* 'error' says it. */
    } else if (argc != 3) {
        tcon_error_set(&error, "a bridge and a flow are wanted");
    } else {
        bridge = tcon_bridge_lookup(argv[1], &error);
    }
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
    unixctl_command_register("tcon/trace", "[-j] bridge flow", 1, 3,
                             tcon_unixctl_trace, NULL);
}
