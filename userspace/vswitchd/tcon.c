/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The commands that change something.
 *
 * The files, lowest first: tcon-match, tcon-netlink, tcon-rules, tcon-cc,
 * tcon-config, tcon-words, tcon-show, tcon-state, tcon-move, this one.
 */

#include <config.h>

#include "tcon.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>

#include "tcon-cc.h"
#include "tcon-rules.h"
#include "tcon-show.h"
#include "tcon-words.h"
#include "unixctl.h"
#include "util.h"

static bool
set_cc(struct tcon_nl *nl, const struct tcon_bridge *bridge, int n_args,
       const char *args[], struct tcon_rule *rule, struct tcon_error *error)
{
    struct tcon_error why;

    if (!tcon_resolve_guest_port(rule->bridge, bridge, nl, &rule->match, error)
        || !tcon_cc_parse(nl, args[0], n_args - 1, args + 1, rule, error)) {
        return false;
    }
    if (tcon_rule_set(nl, rule, &why)) {
        tcon_error_set(error, "tcon.ko refuses the rule: %s", why.text);
        return false;
    }
    tcon_rule_keep(rule);
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
    struct tcon_rule *kept;
    struct tcon_error why;
    int err;

    /* Rules are kept by port name.  They outlive the port. */
    if (key->match.has_ofport) {
        tcon_use_port_name(bridge, &key->match);
    }
    kept = tcon_rule_find(key);
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
            ok = !tcon_rules_del_bridge(&nl, argv[1], &error);
            if (ok) {
                tcon_rules_forget_bridge(argv[1]);
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
    tcon_move_init();
    tcon_config_watch();
}
