/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The commands that change something.
 *
 * The files, lowest first: tcon-match, tcon-when, tcon-stats, tcon-advice, tcon-guess,
 * tcon-command, tcon-netlink, tcon-rules, tcon-cc, tcon-text, tcon-fleet,
 * tcon-ovsdb, tcon-rates, tcon-config, tcon-words, tcon-json, tcon-show,
 * tcon-compare, tcon-advise, tcon-flows, tcon-trace, tcon-state, tcon-move, this one.
 */

#include <config.h>

#include "tcon.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/list.h"
#include "tcon-command.h"
#include "tcon-compare.h"
#include "tcon-flows.h"
#include "tcon-ovsdb.h"
#include "tcon-rates.h"
#include "tcon-rules.h"
#include "tcon-show.h"
#include "tcon-text.h"
#include "tcon-trace.h"
#include "tcon-when.h"
#include "tcon-words.h"
#include "unixctl.h"
#include "util.h"

/* A command that waits until another one has written to OVSDB. */
struct postponed {
    struct ovs_list node;
    unixctl_cb_func *command;
    struct unixctl_conn *conn;
    int argc;
    char **argv;
};

static struct ovs_list postponed = OVS_LIST_INITIALIZER(&postponed);

static void
postpone(unixctl_cb_func *command, struct unixctl_conn *conn, int argc,
         const char *argv[])
{
    struct postponed *p = xmalloc(sizeof *p);

    p->command = command;
    p->conn = conn;
    p->argc = argc;
    p->argv = xmalloc(argc * sizeof *p->argv);
    for (int i = 0; i < argc; i++) {
        p->argv[i] = xstrdup(argv[i]);
    }
    ovs_list_push_back(&postponed, &p->node);
}

/* True if a command that writes the rule at 'place' of 'bridge', or if that is NULL
 * any, must wait: for one that is writing there, or for one that waits itself. */
static bool
must_wait(const char *bridge, const struct tcon_rule *place)
{
    const struct postponed *p;

    LIST_FOR_EACH (p, node, &postponed) {
        if (!strcmp(p->argv[1], bridge)) {
            return true;
        }
    }
    return tcon_ovsdb_is_writing(bridge, place);
}

/* Tries again the commands that had to wait, in their order. */
static void
run_postponed(void)
{
    struct ovs_list list;
    struct postponed *p;

    ovs_list_init(&list);
    ovs_list_push_back_all(&list, &postponed);
    LIST_FOR_EACH_POP (p, node, &list) {
        p->command(p->conn, p->argc, (const char **) p->argv, NULL);
        for (int i = 0; i < p->argc; i++) {
            free(p->argv[i]);
        }
        free(p->argv);
        free(p);
    }
}

/* Words about a number of flows. */
static const char *
flows(uint32_t n)
{
    return n == 1 ? "flow" : "flows";
}

/* A rule's words behind flow=MATCH.  The caller frees them. */
static char *
decision(const struct tcon_rule *rule)
{
    char *text = tcon_rule_format(rule);
    char *cc = xstrdup(strchr(text, ' ') + 1);

    free(text);
    return cc;
}

/* Appends what becomes of the rule that is there before, if any: an experiment ends,
 * and what it has found is lost. */
static void
put_before(struct ds *ds, const struct tcon_rule *before)
{
    char *cc = decision(before);

    ds_put_format(ds, "; replaced: %s", cc);
    if (before->share) {
        char span[TCON_SPAN_TEXT_MAX];

        tcon_span_format(before->age_ms / 1000, span);
        ds_put_format(ds, ", an experiment since %s", span);
    }
    free(cc);
}

/* Appends the experiments that lose flows to 'rule', which is tried before them. */
static void
put_hidden(struct ds *ds, const struct tcon_rule *rule)
{
    const struct tcon_rule *other;

    LIST_FOR_EACH (other, node, tcon_rules()) {
        if (other->share && !strcmp(other->bridge, rule->bridge)
            && other->priority <= rule->priority
            && !tcon_rule_same_place(other, rule)
            && tcon_match_overlap(&other->match, &rule->match)) {
            char *text = tcon_rule_format(other);

            ds_put_format(ds, "; it takes flows of an experiment: %s", text);
            free(text);
        }
    }
}

/* Returns what setting 'rule' has done, in a line.  The caller frees it. */
static char *
set_reply(struct tcon_nl *nl, const struct tcon_rule *rule,
          const struct tcon_change *change)
{
    const struct tcon_rule *before = change->had_before ? &change->before
                                                        : NULL;
    bool same = (before && tcon_rule_same_decision(before, rule)
                 && before->until_s == rule->until_s);
    struct ds ds = DS_EMPTY_INITIALIZER;

    ds_put_format(&ds, "%"PRIu32" %s now %s %s%s", change->n_flows,
                  flows(change->n_flows),
                  change->n_flows == 1 ? "obeys" : "obey", rule->cc,
                  tcon_rules_spreading(nl) ? ", others follow" : "");
    if (same) {
        ds_put_cstr(&ds, ", as before");
    } else {
        if (before) {
            put_before(&ds, before);
        }
        put_hidden(&ds, rule);
    }
    ds_put_char(&ds, '\n');
    return ds_steal_cstr(&ds);
}

/* Counts the flows that would obey 'rule', and gives 'conn' the same line. */
static bool
forecast_set(struct unixctl_conn *conn, struct tcon_nl *nl,
             const struct tcon_rule *rule, struct tcon_error *error)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    struct tcon_rule before;
    struct tcon_error skip;
    bool ok;

    ds_put_format(&ds, "would obey %s", rule->cc);
    if (rule->share) {
        char share[TCON_VALUE_TEXT_MAX];

        tcon_share_format(rule->share, share);
        ds_put_format(&ds, ", those in the share of %s", share);
    }
    if (!tcon_rule_get(nl, rule, &before, &skip)) {
        put_before(&ds, &before);
    }
    put_hidden(&ds, rule);
    ok = tcon_flows_count(conn, rule, ds_cstr(&ds), error);
    ds_destroy(&ds);
    return ok;
}

/* A call of tcon/set-cc. */
struct set_call {
    struct tcon_rule rule;
    bool is_volatile, is_dry;
    const char *by;             /* For the log. */
    bool wait;                  /* Another command is about to write there. */
    struct tcon_rule *before;   /* A copy of the volatile rule whose place one
                                 * takes that is to be written, or NULL. */
    char *reply;
};

/* Reads 'words' into the rule of 'call', and checks all that can be before it is
 * set. */
static bool
check_set(struct tcon_nl *nl, const struct tcon_bridge *bridge, int n_words,
          const char *words[], struct set_call *call, struct tcon_error *error)
{
    struct tcon_rule *rule = &call->rule;

    if (!tcon_rule_parse(nl, n_words, words, rule, error)
        || !tcon_resolve_guest_port(bridge, nl, rule, error)) {
        return false;
    }
    if (tcon_rule_has_ended(rule)) {
        char date[TCON_DATE_TEXT_MAX];

        tcon_date_format(rule->until_s, date);
        tcon_error_set(error, "until=%s: that is past", date);
        return false;
    }
    call->wait = (!call->is_volatile && !call->is_dry
                  && must_wait(rule->bridge, rule));
    return !call->wait && (call->is_volatile
                           || tcon_ovsdb_can_set(rule, error));
}

/* Gives the rule of 'call' to tcon.ko. */
static bool
set_cc(struct tcon_nl *nl, struct set_call *call, struct tcon_error *error)
{
    const struct tcon_rule *old;
    struct tcon_change change;
    struct tcon_error why;

    if (tcon_rule_set(nl, &call->rule, call->by, &change, &why)) {
        tcon_error_set(error, "tcon.ko refuses the rule: %s", why.text);
        return false;
    }
    old = call->is_volatile ? NULL : tcon_rule_find(&call->rule);
    if (old && tcon_rule_is_volatile(old)) {
        call->before = xmemdup(old, sizeof *old);
    }
    call->reply = set_reply(nl, &call->rule, &change);
    tcon_rule_keep(&call->rule, call->is_volatile);
    return true;
}

/* The origin of a command, for the log.  The caller frees it. */
static char *
giver(const char *command, const char *by)
{
    return (by ? xasprintf("%.64s, %s", by, command)
            : xasprintf("command %s", command));
}

/* tcon/set-cc [--volatile] [--dry-run] [--by=WHO] BRIDGE flow=MATCH CC
 * [PARAM=VALUE]... */
static void
tcon_unixctl_set_cc(struct unixctl_conn *conn, int argc, const char *argv[],
                    void *aux OVS_UNUSED)
{
    char *command = tcon_command_text(argc, argv);
    int n_words = argc;
    char *by = giver(command, tcon_take_value(&n_words, argv, "--by="));
    struct set_call call = {
        .is_volatile = tcon_take_option(&n_words, argv, "--volatile"),
        .is_dry = tcon_take_option(&n_words, argv, "--dry-run"),
        .by = by,
    };
    const struct tcon_bridge *bridge;
    struct tcon_error error;
    bool ok = false;
    struct tcon_nl nl;

    bridge = tcon_bridge_lookup(argv[1], &error);
    if (bridge && tcon_nl_open(&nl, &error)) {
        ovs_strlcpy(call.rule.bridge, argv[1], sizeof call.rule.bridge);
        ok = (check_set(&nl, bridge, n_words - 2, argv + 2, &call, &error)
              && (call.is_dry
                  ? forecast_set(conn, &nl, &call.rule, &error)
                  : set_cc(&nl, &call, &error)));
        tcon_nl_close(&nl);
        tcon_config_changed();
    }
    if (call.wait) {
        postpone(tcon_unixctl_set_cc, conn, argc, argv);
    } else if (!ok) {
        unixctl_command_reply_error(conn, error.text);
    } else if (call.is_dry) {
        /* The reply comes when flows are counted. */
    } else if (call.is_volatile || tcon_ovsdb_has(&call.rule)) {
        unixctl_command_reply(conn, call.reply);
    } else {
        tcon_ovsdb_set(conn, command, call.reply, &call.rule, call.before);
        call.before = NULL;
    }
    free(call.before);
    free(call.reply);
    free(by);
    free(command);
}

/* Removes the rule at the place of 'key' from tcon.ko and the list. */
static bool
del_rule(struct tcon_nl *nl, const struct tcon_rule *key, const char *by,
         struct tcon_change *change, struct tcon_error *error)
{
    struct tcon_rule *kept = tcon_rule_find(key);
    struct tcon_error why;
    int err;

    err = tcon_rule_del(nl, key, by, change, &why);
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
        tcon_rule_destroy(kept);
    }
    return !err;
}

/* Removes the rule at the place of 'key', or all of 'bridge' if that is
 * NULL. */
static bool
del_cc(const char *bridge, const struct tcon_rule *key, const char *by,
       struct tcon_change *change, struct tcon_error *error)
{
    struct tcon_nl nl;
    bool ok;

    if (!tcon_ovsdb_can_remove(bridge, key, error)
        || !tcon_nl_open(&nl, error)) {
        return false;
    }
    if (key) {
        ok = del_rule(&nl, key, by, change, error);
    } else {
        ok = !tcon_rules_del_bridge(&nl, bridge, by, change, error);
        if (ok) {
            tcon_rules_forget_bridge(bridge);
        }
    }
    tcon_nl_close(&nl);
    return ok;
}

/* The effect that del_cc() would have. */
static bool
forecast_del(const char *bridge, const struct tcon_rule *key,
             struct tcon_change *change, struct tcon_error *error)
{
    struct tcon_nl nl;
    int err;

    if (!tcon_ovsdb_can_remove(bridge, key, error)
        || !tcon_nl_open(&nl, error)) {
        return false;
    }
    err = (key ? tcon_rule_get(&nl, key, &change->before, error)
           : tcon_rules_count(&nl, bridge, change, error));
    if (key && !err) {
        change->had_before = true;
        change->n_rules = 1;
        change->n_flows = change->before.flows;
    }
    tcon_nl_close(&nl);
    return !err;
}

/* Returns what has gone, in a line, or what would go.  The caller frees it. */
static char *
del_reply(const struct tcon_change *change, bool is_dry)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    if (is_dry) {
        ds_put_cstr(&ds, "dry run, nothing is changed: ");
    }
    if (change->had_before) {
        char *text = tcon_rule_format(&change->before);

        ds_put_format(&ds, "removed: %s", text);
        free(text);
    } else {
        ds_put_format(&ds, "removed: %"PRIu32" rule%s", change->n_rules,
                      change->n_rules == 1 ? "" : "s");
    }
    ds_put_format(&ds, "; %"PRIu32" %s obeyed %s\n", change->n_flows,
                  flows(change->n_flows),
                  change->n_rules == 1 ? "it" : "them");
    return ds_steal_cstr(&ds);
}

/* Reads 'flow', the rule's place.  Rules are kept by port name, and outlive the
 * port. */
static bool
parse_place(const char *bridge_name, const struct tcon_bridge *bridge,
            const char *flow, struct tcon_rule *place,
            struct tcon_error *error)
{
    struct tcon_flow_spec spec;

    if (!tcon_parse_flow(flow, &spec, error)) {
        return false;
    }
    ovs_strlcpy(place->bridge, bridge_name, sizeof place->bridge);
    place->match = spec.match;
    place->priority = spec.priority;
    tcon_use_port_name(bridge, &place->match);
    return true;
}

/* tcon/del-cc [--dry-run] [--by=WHO] BRIDGE [flow=MATCH] */
static void
tcon_unixctl_del_cc(struct unixctl_conn *conn, int argc, const char *argv[],
                    void *aux OVS_UNUSED)
{
    char *command = tcon_command_text(argc, argv);
    int n_words = argc;
    char *by = giver(command, tcon_take_value(&n_words, argv, "--by="));
    bool is_dry = tcon_take_option(&n_words, argv, "--dry-run");
    struct tcon_rule key = { .n_params = 0 };
    const struct tcon_rule *place = n_words > 2 ? &key : NULL;
    struct tcon_change change = { .n_rules = 0 };
    const struct tcon_bridge *bridge;
    struct tcon_error error;
    bool ok;

    bridge = tcon_bridge_lookup(argv[1], &error);
    ok = bridge && (!place || parse_place(argv[1], bridge, argv[2], &key,
                                          &error));
    if (ok && !is_dry && must_wait(argv[1], place)) {
        postpone(tcon_unixctl_del_cc, conn, argc, argv);
    } else if (!ok || !(is_dry ? forecast_del(argv[1], place, &change, &error)
                        : del_cc(argv[1], place, by, &change, &error))) {
        unixctl_command_reply_error(conn, error.text);
    } else {
        char *reply = del_reply(&change, is_dry);

        if (is_dry) {
            unixctl_command_reply(conn, reply);
        } else {
            tcon_ovsdb_remove(conn, command, reply, argv[1], place);
        }
        free(reply);
    }
    free(by);
    free(command);
}

void
tcon_init(void)
{
    static const struct tcon_command set = {
        "tcon/set-cc",
        "[--volatile] [--dry-run] [--by=WHO] bridge flow=MATCH cc "
        "[param=value]...",
        "sets a rule: the flows that MATCH selects obey this CC",
        "br0 flow=tcp,nw_dst=10.0.0.0/8,tp_dst=443 bbr",
        3, INT_MAX, tcon_unixctl_set_cc,
    };
    static const struct tcon_command del = {
        "tcon/del-cc", "[--dry-run] [--by=WHO] bridge [flow=MATCH]",
        "removes a rule, or all of a bridge",
        "br0 flow=tcp,nw_dst=10.0.0.0/8,tp_dst=443", 1, 2, tcon_unixctl_del_cc,
    };

    tcon_command_init();
    tcon_command_register(&set);
    tcon_command_register(&del);
    tcon_show_init();
    tcon_compare_init();
    tcon_flows_init();
    tcon_trace_init();
    tcon_move_init();
    tcon_config_watch();
}

void
tcon_run(void)
{
    tcon_config_run();
    if (tcon_ovsdb_has_written()) {
        run_postponed();
    }
    tcon_rates_run();
    tcon_flows_run();
}

void
tcon_wait(void)
{
    tcon_config_wait();
    tcon_rates_wait();
    tcon_flows_wait();
}
