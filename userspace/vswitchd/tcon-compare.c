/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * tcon/compare: what became of the flows that a rule took as its share, and of
 * those that it left to others.
 *
 * Goodput and RTT are compared by the means of their logarithms, since flows
 * differ by factors.  So the means are geometric, and the difference is a ratio.
 */

#include <config.h>

#include "tcon-compare.h"

#include <math.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "tcon-cc.h"
#include "tcon-command.h"
#include "tcon-json.h"
#include "tcon-rules.h"
#include "tcon-show.h"
#include "tcon-stats.h"
#include "tcon-words.h"
#include "unixctl.h"
#include "util.h"

/* The measures that are compared.  The sum of squares is behind the sum. */
static const struct measure {
    const char *name, *title;
    enum tcon_outcome sum;
    bool logarithms;
    double one;                 /* How large 1, or log2 of 2, is in the sums. */
    double scale;               /* From the unit of the sums to the name's, */
    double show;                /* and to the title's. */
} measures[] = {
    { "goodput_bps", "goodput, Mbit/s", TCON_OUTCOME_GOODPUT, true,
      TCON_OUTCOME_LOG, 1, 1e-6 },
    { "rtt_us", "mean RTT, ms", TCON_OUTCOME_RTT, true,
      TCON_OUTCOME_LOG, 1, 1e-3 },
    { "again_percent", "sent again, %", TCON_OUTCOME_AGAIN, false,
      TCON_OUTCOME_PART, 100, 1 },
};

static double
value_of(const struct measure *m, double x)
{
    return m->logarithms ? exp2(x / m->one) : x / m->one * m->scale;
}

static struct json *
interval_to_json(const struct measure *m, const struct tcon_interval *interval)
{
    struct json *json = json_object_create();

    json_object_put(json, "mean",
                    json_real_create(value_of(m, interval->mean)));
    json_object_put(json, "low", json_real_create(value_of(m, interval->low)));
    json_object_put(json, "high",
                    json_real_create(value_of(m, interval->high)));
    return json;
}

/* The flows of one side. */
static struct json *
side_to_json(const uint64_t outcomes[])
{
    struct json *json = json_object_create();
    uint64_t n = outcomes[TCON_OUTCOME_FLOWS];

    json_put_num(json, "flows", n);
    for (size_t i = 0; i < ARRAY_SIZE(measures); i++) {
        const struct measure *m = &measures[i];
        struct tcon_interval interval;

        json_object_put(json, m->name,
                        tcon_mean_interval(n, outcomes[m->sum],
                                           outcomes[m->sum + 1], &interval)
                        ? interval_to_json(m, &interval)
                        : json_null_create());
    }
    return json;
}

/* The first side in relation to the second: a ratio, or a difference. */
static struct json *
difference_to_json(const uint64_t taken[], const uint64_t left[])
{
    uint64_t n[] = { taken[TCON_OUTCOME_FLOWS], left[TCON_OUTCOME_FLOWS] };
    struct json *json = json_object_create();

    for (size_t i = 0; i < ARRAY_SIZE(measures); i++) {
        const struct measure *m = &measures[i];
        uint64_t sum[] = { taken[m->sum], left[m->sum] };
        uint64_t sum_sq[] = { taken[m->sum + 1], left[m->sum + 1] };
        struct tcon_interval d;
        struct json *of;

        if (!tcon_difference_interval(n, sum, sum_sq, &d)) {
            json_object_put(json, m->name, json_null_create());
            continue;
        }
        of = interval_to_json(m, &d);
        json_object_put_string(of, "is", m->logarithms ? "ratio"
                                         : "difference");
        json_object_put_string(of, "verdict", d.low > 0 ? "higher"
                               : d.high < 0 ? "lower" : "not sure");
        json_object_put(json, m->name, of);
    }
    return json;
}

struct compare {
    const char *bridge;
    const struct tcon_ccs *ccs;
    struct json *rules;
};

static bool
rule_cb(struct nlattr *top[], void *compare_)
{
    const struct compare *compare = compare_;
    struct tcon_rule rule;
    struct json *json;

    if (tcon_rule_from_attrs(top, &rule) && rule.share
        && !strcmp(rule.bridge, compare->bridge)) {
        json = tcon_rule_to_json(&rule, compare->ccs);
        json_object_put(json, "share", side_to_json(rule.taken));
        json_object_put(json, "others", side_to_json(rule.left));
        json_object_put(json, "share_to_others",
                        difference_to_json(rule.taken, rule.left));
        json_array_add(compare->rules, json);
    }
    return true;
}

/* Returns NULL, with a sentence, if there is nothing to compare. */
static struct json *
compare_to_json(struct tcon_nl *nl, const char *bridge,
                struct tcon_error *error)
{
    struct json *json = json_object_create();
    struct tcon_ccs ccs;
    struct compare compare = {
        .bridge = bridge, .ccs = &ccs, .rules = json_array_create_empty(),
    };
    bool ok;

    json_object_put(json, "rules", compare.rules);
    json_object_put(json, "confidence", json_real_create(0.95));
    json_put_num(json, "least_flows", TCON_STATS_MIN_FLOWS);
    ok = tcon_ccs_get(nl, &ccs, error)
         && !tcon_nl_dump(nl, tcon_nl_request(nl, TCON_CMD_GET_RULE), rule_cb,
                          &compare, error);
    tcon_ccs_destroy(&ccs);
    if (ok && !json_array_size(compare.rules)) {
        tcon_error_set(error, "no rule of bridge %.64s has a share: set one "
                       "with share=, such as share=10%%", bridge);
        ok = false;
    }
    if (!ok) {
        json_destroy(json);
        return NULL;
    }
    return json;
}

/* Text. */

static void
put_interval(struct ds *ds, const struct json *interval, double factor)
{
    struct ds cell = DS_EMPTY_INITIALIZER;

    if (interval) {
        ds_put_format(&cell, "%.4g (%.4g to %.4g)",
                      json_double(interval, "mean") * factor,
                      json_double(interval, "low") * factor,
                      json_double(interval, "high") * factor);
    } else {
        ds_put_char(&cell, '-');
    }
    ds_put_format(ds, " %-25s", ds_cstr(&cell));
    ds_destroy(&cell);
}

static void
put_measure(struct ds *ds, const struct measure *m, const struct json *rule)
{
    const struct json *both = json_get(json_get(rule, "share_to_others"),
                                       m->name);

    ds_put_format(ds, "    %-16s", m->title);
    put_interval(ds, json_get(json_get(rule, "share"), m->name), m->show);
    put_interval(ds, json_get(json_get(rule, "others"), m->name), m->show);
    put_interval(ds, both, 1);
    ds_chomp(ds, ' ');
    if (both) {
        ds_put_format(ds, " %s", json_str(both, "verdict"));
    }
    ds_put_char(ds, '\n');
}

static void
compare_to_text(const struct json *json, struct ds *ds)
{
    const struct json *rules = json_get(json, "rules");
    const struct json *rule;
    size_t i;

    JSON_ARRAY_FOR_EACH (rule, i, rules) {
        ds_put_format(ds, "%s; ", json_str(rule, "rule"));
        json_since_to_text(rule, ds);
        ds_put_format(ds, "\n    %-16s %-25s %-25s %s\n", "", "its share",
                      "the others", "ratio, or difference");
        ds_put_format(ds, "    %-16s %-25lld %lld\n", "flows that ended",
                      json_num(json_get(rule, "share"), "flows"),
                      json_num(json_get(rule, "others"), "flows"));
        for (size_t j = 0; j < ARRAY_SIZE(measures); j++) {
            put_measure(ds, &measures[j], rule);
        }
    }
    ds_put_format(ds, "Means of flows, geometric of goodput and RTT, with "
                  "95 %% intervals by Student and Welch; from %lld flows on.\n",
                  json_num(json, "least_flows"));
}

/* tcon/compare [-j] BRIDGE */
static void
tcon_unixctl_compare(struct unixctl_conn *conn, int argc, const char *argv[],
                     void *aux OVS_UNUSED)
{
    bool as_json = tcon_take_json(conn, &argc, argv);
    struct json *json = NULL;
    struct tcon_error error;
    struct tcon_nl nl;

    if (tcon_bridge_lookup(argv[1], &error) && tcon_nl_open(&nl, &error)) {
        json = compare_to_json(&nl, argv[1], &error);
        tcon_nl_close(&nl);
    }
    tcon_reply(conn, json, as_json, compare_to_text, &error);
}

void
tcon_compare_init(void)
{
    static const struct tcon_command compare = {
        "tcon/compare", "[-j] bridge",
        "compares flows in the share of a rule with the others", "br0",
        1, 1, tcon_unixctl_compare,
    };

    tcon_command_register(&compare);
}
