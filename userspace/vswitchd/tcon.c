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

/* Reads 'words' into 'rule' and gives it to tcon.ko.  Sets '*wait' instead if
 * another command is about to write there.  Sets '*before' to a copy of the volatile
 * rule whose place one takes that is to be written, or to NULL. */
static bool
set_cc(struct tcon_nl *nl, const struct tcon_bridge *bridge, bool is_volatile,
       int n_words, const char *words[], struct tcon_rule *rule, bool *wait,
       struct tcon_rule **before, struct tcon_error *error)
{
    const struct tcon_rule *old;
    struct tcon_error why;

    *before = NULL;
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
    *wait = !is_volatile && must_wait(rule->bridge, rule);
    if (*wait || (!is_volatile && !tcon_ovsdb_can_set(rule, error))) {
        return false;
    }
    if (tcon_rule_set(nl, rule, &why)) {
        tcon_error_set(error, "tcon.ko refuses the rule: %s", why.text);
        return false;
    }
    old = is_volatile ? NULL : tcon_rule_find(rule);
    if (old && tcon_rule_is_volatile(old)) {
        *before = xmemdup(old, sizeof *old);
    }
    tcon_rule_keep(rule, is_volatile);
    return true;
}

/* tcon/set-cc [--volatile] BRIDGE flow=MATCH CC [PARAM=VALUE]... */
static void
tcon_unixctl_set_cc(struct unixctl_conn *conn, int argc, const char *argv[],
                    void *aux OVS_UNUSED)
{
    bool is_volatile = tcon_take_option(&argc, argv, "--volatile");
    struct tcon_rule rule = { .n_params = 0 }, *before = NULL;
    const struct tcon_bridge *bridge;
    struct tcon_error error;
    bool ok = false, wait = false;
    struct tcon_nl nl;

    bridge = tcon_bridge_lookup(argv[1], &error);
    if (bridge && tcon_nl_open(&nl, &error)) {
        ovs_strlcpy(rule.bridge, argv[1], sizeof rule.bridge);
        ok = set_cc(&nl, bridge, is_volatile, argc - 2, argv + 2, &rule,
                    &wait, &before, &error);
        tcon_nl_close(&nl);
        tcon_config_changed();
    }
    if (wait) {
        postpone(tcon_unixctl_set_cc, conn, argc, argv);
    } else if (!ok) {
        unixctl_command_reply_error(conn, error.text);
    } else if (is_volatile || tcon_ovsdb_has(&rule)) {
        unixctl_command_reply(conn, NULL);
    } else {
        tcon_ovsdb_set(conn, &rule, before);
        before = NULL;
    }
    free(before);
}

/* Removes the rule at the place of 'key' from tcon.ko and the list. */
static bool
del_rule(struct tcon_nl *nl, const struct tcon_rule *key,
         struct tcon_error *error)
{
    struct tcon_rule *kept = tcon_rule_find(key);
    struct tcon_error why;
    int err;

    err = tcon_rule_del(nl, key, &why);
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
del_cc(const char *bridge, const struct tcon_rule *key,
       struct tcon_error *error)
{
    struct tcon_nl nl;
    bool ok;

    if (!tcon_ovsdb_can_remove(bridge, key, error)
        || !tcon_nl_open(&nl, error)) {
        return false;
    }
    if (key) {
        ok = del_rule(&nl, key, error);
    } else {
        ok = !tcon_rules_del_bridge(&nl, bridge, error);
        if (ok) {
            tcon_rules_forget_bridge(bridge);
        }
    }
    tcon_nl_close(&nl);
    return ok;
}

/* tcon/del-cc BRIDGE [flow=MATCH] */
static void
tcon_unixctl_del_cc(struct unixctl_conn *conn, int argc, const char *argv[],
                    void *aux OVS_UNUSED)
{
    struct tcon_rule key = { .n_params = 0 }, *place = NULL;
    const struct tcon_bridge *bridge;
    struct tcon_flow_spec spec;
    struct tcon_error error;

    bridge = tcon_bridge_lookup(argv[1], &error);
    if (bridge && argc > 2 && tcon_parse_flow(argv[2], &spec, &error)) {
        place = &key;
        ovs_strlcpy(key.bridge, argv[1], sizeof key.bridge);
        key.match = spec.match;
        key.priority = spec.priority;
        /* Rules are kept by port name.  They outlive the port. */
        tcon_use_port_name(bridge, &key.match);
    }
    if (bridge && (argc < 3 || place) && must_wait(argv[1], place)) {
        postpone(tcon_unixctl_del_cc, conn, argc, argv);
    } else if (bridge && (argc < 3 || place)
               && del_cc(argv[1], place, &error)) {
        tcon_ovsdb_remove(conn, argv[1], place);
    } else {
        unixctl_command_reply_error(conn, error.text);
    }
}

void
tcon_init(void)
{
    static const struct tcon_command set = {
        "tcon/set-cc", "[--volatile] bridge flow=MATCH cc [param=value]...",
        "sets a rule: the flows that MATCH selects obey this CC",
        "br0 flow=tcp,nw_dst=10.0.0.0/8,tp_dst=443 bbr",
        3, INT_MAX, tcon_unixctl_set_cc,
    };
    static const struct tcon_command del = {
        "tcon/del-cc", "bridge [flow=MATCH]",
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
