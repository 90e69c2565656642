/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The rules, and how tcon.ko gets them.
 *
 * tcon.ko forgets its rules when it is removed.  This list keeps them: what
 * OVSDB wants, in its order, and then what was set without it.
 */

#include <config.h>

#include "tcon-rules.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "coverage.h"
#include "hash.h"
#include "netlink.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/shash.h"
#include "openvswitch/vlog.h"
#include "tcon-when.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(tcon_rules);

COVERAGE_DEFINE(tcon_rule_set);
COVERAGE_DEFINE(tcon_rule_refused);
COVERAGE_DEFINE(tcon_rule_del);

/* "struct tcon_rule"s, oldest first, and the same by their place. */
static struct ovs_list rules = OVS_LIST_INITIALIZER(&rules);
static struct hmap places = HMAP_INITIALIZER(&places);

/* The age that tcon.ko's newest rule has. */
static uint64_t newest;

/* No rule ends before this. */
static int64_t next_end_s = INT64_MAX;

static const struct tcon_nl_field rule_fields[] = {
    { TCON_RULE_A_PRIORITY, NL_A_U32,    NULL },
    { TCON_RULE_A_CC,       NL_A_STRING, NULL },
    { TCON_RULE_A_FLOWS,    NL_A_U32,    NULL },
    { TCON_RULE_A_ECN,      NL_A_U8,     NULL },
    { TCON_RULE_A_FALLBACK, NL_A_U8,     NULL },
    { TCON_RULE_A_SHARE,    NL_A_U16,    NULL },
    { TCON_RULE_A_AGE_MS,   NL_A_U64,    NULL },
    { TCON_RULE_A_TAKEN,    NL_A_UNSPEC, NULL },
    { TCON_RULE_A_LEFT,     NL_A_UNSPEC, NULL },
    { TCON_RULE_A_RTO_MIN_US, NL_A_U32,  NULL },
};

static const struct tcon_nl_field rule_param_fields[] = {
    { TCON_PARAM_A_NAME,  NL_A_STRING, NULL },
    { TCON_PARAM_A_VALUE, NL_A_U64,    NULL },
    { TCON_PARAM_A_TYPE,  NL_A_U8,     NULL },
};

const struct ovs_list *
tcon_rules(void)
{
    return &rules;
}

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

static void
get_outcomes(const struct nlattr *attr, uint64_t outcomes[])
{
    for (size_t i = 0; i < MIN(tcon_nl_n_u64s(attr), __TCON_OUTCOME_MAX);
         i++) {
        outcomes[i] = tcon_nl_get_u64(attr, i);
    }
}

/* Reads what only dumps have.  tcon.ko does not know when a rule ends. */
static void
get_told(struct nlattr *attrs[], struct tcon_rule *rule)
{
    const struct tcon_rule *kept = tcon_rule_find(rule);

    if (attrs[TCON_RULE_A_FLOWS]) {
        rule->flows = nl_attr_get_u32(attrs[TCON_RULE_A_FLOWS]);
    }
    if (attrs[TCON_RULE_A_AGE_MS]) {
        rule->age_ms = nl_attr_get_u64(attrs[TCON_RULE_A_AGE_MS]);
    }
    get_outcomes(attrs[TCON_RULE_A_TAKEN], rule->taken);
    get_outcomes(attrs[TCON_RULE_A_LEFT], rule->left);
    rule->until_s = kept ? kept->until_s : 0;
    rule->in_kernel = true;
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
    if (attrs[TCON_RULE_A_ECN]) {
        rule->ecn = nl_attr_get_u8(attrs[TCON_RULE_A_ECN]);
    }
    if (attrs[TCON_RULE_A_FALLBACK]) {
        rule->fallback = nl_attr_get_u8(attrs[TCON_RULE_A_FALLBACK]);
    }
    if (attrs[TCON_RULE_A_RTO_MIN_US]) {
        rule->rto_min_us = nl_attr_get_u32(attrs[TCON_RULE_A_RTO_MIN_US]);
    }
    if (attrs[TCON_RULE_A_SHARE]) {
        rule->share = nl_attr_get_u16(attrs[TCON_RULE_A_SHARE]);
    }
    NL_NESTED_FOR_EACH (attr, left, top[TCON_A_RULE]) {
        if (nl_attr_type(attr) == TCON_RULE_A_PARAM) {
            get_rule_param(attr, rule);
        }
    }
    get_told(attrs, rule);
    return true;
}

/* Returns the text of 'rule', which tcon_rule_parse_text() reads.  The caller
 * frees it. */
char *
tcon_rule_format(const struct tcon_rule *rule)
{
    static const char *const ecn_words[] = TCON_RULE_ECN_NAMES;
    static const char *const fallback_words[] = TCON_RULE_FALLBACK_NAMES;
    struct ds ds = DS_EMPTY_INITIALIZER;
    char match[TCON_MATCH_TEXT_MAX];

    tcon_match_format(&rule->match, match);
    ds_put_format(&ds, "flow=priority=%"PRIu32",%s %s", rule->priority, match,
                  rule->cc);
    for (size_t i = 0; i < rule->n_params; i++) {
        const struct tcon_param *param = &rule->params[i];
        char value[TCON_VALUE_TEXT_MAX];

        tcon_value_format(param->type, param->value, value);
        ds_put_format(&ds, " %s=%s", param->name, value);
    }
    if (rule->ecn != TCON_RULE_ECN_AUTO && rule->ecn < ARRAY_SIZE(ecn_words)) {
        ds_put_format(&ds, " ecn=%s", ecn_words[rule->ecn]);
    }
    if (rule->fallback != TCON_RULE_FALLBACK_AUTO
        && rule->fallback < ARRAY_SIZE(fallback_words)) {
        ds_put_format(&ds, " fallback=%s", fallback_words[rule->fallback]);
    }
    if (rule->rto_min_us) {
        ds_put_format(&ds, " rto_min_us=%"PRIu32, rule->rto_min_us);
    }
    if (rule->share) {
        char share[TCON_VALUE_TEXT_MAX];

        tcon_share_format(rule->share, share);
        ds_put_format(&ds, " share=%s", share);
    }
    if (rule->until_s) {
        char date[TCON_DATE_TEXT_MAX];

        tcon_date_format(rule->until_s, date);
        ds_put_format(&ds, " until=%s", date);
    }
    return ds_steal_cstr(&ds);
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
    if (rule->ecn) {
        nl_msg_put_u8(request, TCON_RULE_A_ECN, rule->ecn);
    }
    if (rule->fallback) {
        nl_msg_put_u8(request, TCON_RULE_A_FALLBACK, rule->fallback);
    }
    if (rule->rto_min_us) {
        nl_msg_put_u32(request, TCON_RULE_A_RTO_MIN_US, rule->rto_min_us);
    }
    if (rule->share) {
        nl_msg_put_u16(request, TCON_RULE_A_SHARE, rule->share);
    }
    for (size_t i = 0; i < rule->n_params; i++) {
        size_t param = tcon_nl_start_nest(request, TCON_RULE_A_PARAM);

        nl_msg_put_string(request, TCON_PARAM_A_NAME, rule->params[i].name);
        nl_msg_put_u64(request, TCON_PARAM_A_VALUE, rule->params[i].value);
        nl_msg_end_nested(request, param);
    }
    nl_msg_end_nested(request, nest);
}

/* A request about the rule at the place of 'rule'. */
static struct ofpbuf *
place_request(const struct tcon_nl *nl, enum tcon_cmd cmd,
              const struct tcon_rule *rule)
{
    struct ofpbuf *request = tcon_nl_request(nl, cmd);
    size_t nest;

    nl_msg_put_string(request, TCON_A_BRIDGE, rule->bridge);
    tcon_nl_put_match(request, &rule->match);
    nest = tcon_nl_start_nest(request, TCON_A_RULE);
    nl_msg_put_u32(request, TCON_RULE_A_PRIORITY, rule->priority);
    nl_msg_end_nested(request, nest);
    return request;
}

static bool
take_rule(struct nlattr *attrs[], void *rule)
{
    return tcon_rule_from_attrs(attrs, rule);
}

int
tcon_rule_get(struct tcon_nl *nl, const struct tcon_rule *place,
              struct tcon_rule *found, struct tcon_error *error)
{
    return tcon_nl_do(nl, place_request(nl, TCON_CMD_GET_RULE, place),
                      take_rule, found, error);
}

int
tcon_rule_of_flow(struct tcon_nl *nl, uint32_t ifindex,
                  const struct tcon_match *flow, struct tcon_rule *found,
                  struct tcon_error *error)
{
    struct ofpbuf *request = tcon_nl_request(nl, TCON_CMD_GET_RULE);
    size_t nest = tcon_nl_start_nest(request, TCON_A_PORT);

    nl_msg_put_u32(request, TCON_PORT_A_IFINDEX, ifindex);
    nl_msg_end_nested(request, nest);
    tcon_nl_put_match(request, flow);
    return tcon_nl_do(nl, request, take_rule, found, error);
}

static bool
take_spreading(struct nlattr *top[], void *spreading_)
{
    static const struct tcon_nl_field fields[] = {
        { TCON_INFO_A_SPREADING, NL_A_FLAG, NULL },
    };
    struct nlattr *attrs[TCON_INFO_A_MAX + 1];
    bool *spreading = spreading_;

    *spreading = (top[TCON_A_INFO]
                  && tcon_nl_parse(top[TCON_A_INFO], fields,
                                   ARRAY_SIZE(fields), attrs,
                                   ARRAY_SIZE(attrs))
                  && attrs[TCON_INFO_A_SPREADING]);
    return true;
}

/* Is a change of rules still on its way to flows?  The answer costs as much as all
 * totals do. */
bool
tcon_rules_spreading(struct tcon_nl *nl)
{
    struct tcon_error error;
    bool spreading = false;

    tcon_nl_do(nl, tcon_nl_request(nl, TCON_CMD_GET_INFO), take_spreading,
               &spreading, &error);
    return spreading;
}

/* Is 'rule' the same as 'before', except for a later or earlier end?  tcon-monitor sets its
 * rules again all the time. */
static bool
is_renewed(const struct tcon_rule *before, const struct tcon_rule *rule)
{
    return (tcon_rule_same_decision(before, rule)
            && !before->until_s == !rule->until_s);
}

/* Logs that 'rule' is set; 'before' is the one whose place it takes, or NULL. */
static void
log_set(const struct tcon_rule *rule, const struct tcon_rule *before,
        const struct tcon_change *change, const char *by)
{
    char *text = before ? tcon_rule_format(before) : NULL;
    char *after = tcon_rule_format(rule);

    if (!before || !is_renewed(before, rule)) {
        VLOG_INFO("bridge %s: set %s; before: %s; flows: %"PRIu32"; by %s",
                  rule->bridge, after, text ? text : "none", change->n_flows,
                  by);
    }
    free(text);
    free(after);
}

static void
log_removed(const struct tcon_rule *rule, const char *by)
{
    char *text = tcon_rule_format(rule);

    VLOG_INFO("bridge %s: removed %s; flows: %"PRIu32"; by %s", rule->bridge,
              text, rule->flows, by);
    free(text);
}

static int
set_rule(struct tcon_nl *nl, struct tcon_rule *rule, struct tcon_error *error)
{
    struct ofpbuf *request = tcon_nl_request(nl, TCON_CMD_SET_RULE);
    int err;

    put_rule(request, rule);
    err = tcon_nl_do(nl, request, NULL, NULL, error);
    rule->in_kernel = !err;
    rule->age = err ? 0 : ++newest;
    if (err) {
        COVERAGE_INC(tcon_rule_refused);
    } else {
        COVERAGE_INC(tcon_rule_set);
    }
    return err;
}

int
tcon_rule_set(struct tcon_nl *nl, struct tcon_rule *rule, const char *by,
              struct tcon_change *change, struct tcon_error *error)
{
    struct tcon_error skip;
    int err;

    memset(change, 0, sizeof *change);
    change->had_before = !tcon_rule_get(nl, rule, &change->before, &skip);
    err = set_rule(nl, rule, error);
    if (!err) {
        struct tcon_rule now = { .flows = 0 };

        tcon_rule_get(nl, rule, &now, &skip);
        change->n_flows = now.flows;
        log_set(rule, change->had_before ? &change->before : NULL, change, by);
        rule->logged = true;
    }
    return err;
}

static int
del_rule(struct tcon_nl *nl, const struct tcon_rule *rule,
         struct tcon_error *error)
{
    COVERAGE_INC(tcon_rule_del);
    return tcon_nl_do(nl, place_request(nl, TCON_CMD_DEL_RULE, rule), NULL,
                      NULL, error);
}

int
tcon_rule_del(struct tcon_nl *nl, const struct tcon_rule *rule,
              const char *by, struct tcon_change *change,
              struct tcon_error *error)
{
    struct tcon_error skip;
    int err;

    memset(change, 0, sizeof *change);
    change->had_before = !tcon_rule_get(nl, rule, &change->before, &skip);
    err = del_rule(nl, rule, error);
    if (!err && change->had_before) {
        if (rule->until_s) {    /* It has left the list already. */
            change->before.until_s = rule->until_s;
        }
        change->n_rules = 1;
        change->n_flows = change->before.flows;
        log_removed(&change->before, by);
    }
    return err;
}

/* Puts one of the kernel's rules at the front of 'found_': that is oldest first,
 * while the kernel's dump is newest first among equal priorities. */
static bool
find_rule(struct nlattr *attrs[], void *found_)
{
    struct tcon_rule *rule = xmalloc(sizeof *rule);
    struct ovs_list *found = found_;

    if (tcon_rule_from_attrs(attrs, rule)) {
        ovs_list_push_front(found, &rule->node);
    } else {
        free(rule);
    }
    return true;
}

/* Reads tcon.ko's rules into 'found', and counts the bridge's. */
static int
find_rules(struct tcon_nl *nl, const char *bridge, struct ovs_list *found,
           struct tcon_change *change, struct tcon_error *error)
{
    const struct tcon_rule *rule;
    int err;

    memset(change, 0, sizeof *change);
    err = tcon_nl_dump(nl, tcon_nl_request(nl, TCON_CMD_GET_RULE), find_rule,
                       found, error);
    LIST_FOR_EACH (rule, node, found) {
        if (!strcmp(rule->bridge, bridge)) {
            change->n_rules++;
            change->n_flows += rule->flows;
        }
    }
    return err;
}

static void
free_found(struct ovs_list *found)
{
    struct tcon_rule *rule;

    LIST_FOR_EACH_POP (rule, node, found) {
        free(rule);
    }
}

int
tcon_rules_count(struct tcon_nl *nl, const char *bridge,
                 struct tcon_change *change, struct tcon_error *error)
{
    struct ovs_list found = OVS_LIST_INITIALIZER(&found);
    int err = find_rules(nl, bridge, &found, change, error);

    free_found(&found);
    return err;
}

/* It is no error if the bridge has no rules. */
int
tcon_rules_del_bridge(struct tcon_nl *nl, const char *bridge, const char *by,
                      struct tcon_change *change, struct tcon_error *error)
{
    struct ovs_list found = OVS_LIST_INITIALIZER(&found);
    const struct tcon_rule *rule;
    int err = find_rules(nl, bridge, &found, change, error);

    if (!err) {
        struct ofpbuf *request = tcon_nl_request(nl, TCON_CMD_DEL_RULE);

        nl_msg_put_string(request, TCON_A_BRIDGE, bridge);
        err = tcon_nl_do(nl, request, NULL, NULL, error);
    }
    LIST_FOR_EACH (rule, node, &found) {
        if (!err && !strcmp(rule->bridge, bridge)) {
            log_removed(rule, by);
        }
    }
    free_found(&found);
    return err == ENOENT ? 0 : err;
}

bool
tcon_rule_same_place(const struct tcon_rule *a, const struct tcon_rule *b)
{
    return (a->priority == b->priority && !strcmp(a->bridge, b->bridge)
            && tcon_match_equal(&a->match, &b->match));
}

/* True if tcon.ko does the same with both. */
bool
tcon_rule_same_decision(const struct tcon_rule *a, const struct tcon_rule *b)
{
    if (strcmp(a->cc, b->cc) || a->ecn != b->ecn
        || a->fallback != b->fallback || a->rto_min_us != b->rto_min_us
        || a->share != b->share
        || a->n_params != b->n_params) {
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

static uint32_t
hash_place(const struct tcon_rule *rule)
{
    char match[TCON_MATCH_TEXT_MAX];

    tcon_match_format(&rule->match, match);
    return hash_string(match, hash_string(rule->bridge, rule->priority));
}

struct tcon_rule *
tcon_rule_find(const struct tcon_rule *key)
{
    struct tcon_rule *rule;

    HMAP_FOR_EACH_WITH_HASH (rule, place_node, hash_place(key), &places) {
        if (tcon_rule_same_place(rule, key)) {
            return rule;
        }
    }
    return NULL;
}

static void
note_end(const struct tcon_rule *rule)
{
    if (rule->until_s) {
        next_end_s = MIN(next_end_s, rule->until_s);
    }
}

/* Makes a copy of 'rule' the newest of the list. */
static struct tcon_rule *
append(const struct tcon_rule *rule)
{
    struct tcon_rule *new = xmemdup(rule, sizeof *rule);

    ovs_list_push_back(&rules, &new->node);
    hmap_insert(&places, &new->place_node, hash_place(new));
    note_end(new);
    return new;
}

void
tcon_rule_destroy(struct tcon_rule *rule)
{
    hmap_remove(&places, &rule->place_node);
    ovs_list_remove(&rule->node);
    free(rule);
}

/* Keeps a copy of 'rule', which tcon.ko has, as the newest rule.  As there, a
 * rule that is set again with the same CC and parameters keeps its age. */
void
tcon_rule_keep(const struct tcon_rule *rule, bool is_volatile)
{
    struct tcon_rule *old = tcon_rule_find(rule);

    if (old && tcon_rule_same_decision(old, rule)) {
        if (!old->in_kernel) {
            old->in_kernel = true;
            old->age = rule->age;
        }
        old->logged = true;
        if (is_volatile) {
            old->being_written = false;
            old->entry = tcon_rule_outlives(rule, old) ? NULL : old->entry;
        }
        old->until_s = rule->until_s;
        note_end(old);
        return;
    }
    if (old) {
        tcon_rule_destroy(old);
    }
    append(rule)->being_written = !is_volatile;
}

bool
tcon_rule_is_volatile(const struct tcon_rule *rule)
{
    return !rule->entry && !rule->adopted && !rule->being_written;
}

void
tcon_rules_forget_bridge(const char *bridge)
{
    struct tcon_rule *rule;

    LIST_FOR_EACH_SAFE (rule, node, &rules) {
        if (!strcmp(rule->bridge, bridge)) {
            tcon_rule_destroy(rule);
        }
    }
}

bool
tcon_rule_has_ended(const struct tcon_rule *rule)
{
    return rule->until_s && rule->until_s <= time_wall();
}

/* True if 'rule' is still there when 'other' has ended. */
bool
tcon_rule_outlives(const struct tcon_rule *rule, const struct tcon_rule *other)
{
    return other->until_s
           && (!rule->until_s || rule->until_s > other->until_s);
}

/* Returns when tcon_rules_end() is to be called. */
int64_t
tcon_rules_next_end_s(void)
{
    return next_end_s;
}

/* Removes the volatile rules that have ended.  Of those that OVSDB holds
 * tcon_ovsdb_apply() must follow, which wants them no more. */
void
tcon_rules_end(struct tcon_nl *nl)
{
    struct tcon_change change;
    struct tcon_error error;
    struct tcon_rule *rule;

    next_end_s = INT64_MAX;
    LIST_FOR_EACH_SAFE (rule, node, &rules) {
        if (!tcon_rule_has_ended(rule)) {
            note_end(rule);
        } else if (!rule->entry) {
            if (nl) {
                tcon_rule_del(nl, rule, "the end of its term", &change,
                              &error);
            }
            tcon_rule_destroy(rule);
        }
    }
}

/* Takes what tcon.ko knows of 'old' over into 'rule', which is at its place. */
static void
take_over(const struct tcon_rule *old, struct tcon_rule *rule)
{
    if (tcon_rule_same_decision(old, rule)) {
        rule->in_kernel = old->in_kernel;
        rule->age = old->age;
        rule->logged = old->logged;
    }
}

/* Takes from tcon.ko what OVSDB does not have, or no more. */
static void
remove_unwanted(struct tcon_nl *nl, const struct tcon_rule *rule)
{
    struct tcon_change change;
    struct tcon_error error;
    char *by;

    by = (tcon_rule_has_ended(rule) ? xstrdup("the end of its term")
          : rule->source[0] ? xasprintf("OVSDB, where %s is gone", rule->source)
          : xstrdup("OVSDB, which does not have it"));
    tcon_rule_del(nl, rule, by, &change, &error);
    free(by);
}

/* Makes the list what OVSDB wants, 'wanted' oldest first and each with its
 * entry, and behind that the volatile rules.  Of several at the same place the
 * last one stays.  A rule that nobody wants any more goes from tcon.ko, too; 'nl' is NULL
 * where that is not loaded. */
void
tcon_rules_replace(struct tcon_nl *nl, struct tcon_rule *wanted, size_t n)
{
    struct ovs_list old_rules;
    struct hmap old_places = HMAP_INITIALIZER(&old_places);
    struct tcon_rule *old, *rule;

    ovs_list_init(&old_rules);
    ovs_list_push_back_all(&old_rules, &rules);
    hmap_swap(&places, &old_places);
    for (size_t i = 0; i < n; i++) {
        rule = tcon_rule_find(&wanted[i]);
        if (rule) {
            tcon_rule_destroy(rule);
        }
        append(&wanted[i]);
    }
    LIST_FOR_EACH_SAFE (old, node, &old_rules) {
        bool is_volatile = !old->entry && !old->adopted;

        rule = tcon_rule_find(old);
        if (is_volatile) {
            if (rule) {
                tcon_rule_destroy(rule);
            }
            append(old);
        } else if (rule) {
            take_over(old, rule);
        } else if (nl) {
            remove_unwanted(nl, old);
        }
        ovs_list_remove(&old->node);
        free(old);
    }
    hmap_destroy(&old_places);
}

/* The age of the newest rule that was seen with the bridge and priority of 'rule':
 * such rules compete by age. */
static uint64_t *
age_among_equals(struct shash *ages, const struct tcon_rule *rule)
{
    char *key = xasprintf("%"PRIu32" %s", rule->priority, rule->bridge);
    uint64_t *age = shash_find_data(ages, key);

    if (!age) {
        age = xzalloc(sizeof *age);
        shash_add_nocopy(ages, key, age);
    } else {
        free(key);
    }
    return age;
}

/* Gives 'rule' to tcon.ko as the newest.  Where it has that very rule it would
 * leave its age: so that one goes first.  That a rule is there again, since tcon.ko
 * was loaded again, is nobody's doing. */
static int
renew(struct tcon_nl *nl, struct tcon_rule *rule, struct tcon_error *error)
{
    struct tcon_change change;
    char *by;
    int err;

    if (rule->in_kernel) {
        del_rule(nl, rule, error);
    }
    if (rule->logged) {
        return set_rule(nl, rule, error);
    }
    by = xasprintf("OVSDB%s%s", rule->source[0] ? ", " : "", rule->source);
    err = tcon_rule_set(nl, rule, by, &change, error);
    free(by);
    return err;
}

static void
log_refusal(const struct tcon_rule *rule, const struct tcon_error *error)
{
    char match[TCON_MATCH_TEXT_MAX];

    tcon_match_format(&rule->match, match);
    VLOG_WARN("rule priority=%"PRIu32",%s %s of bridge %s: tcon.ko does not "
              "take it yet: %s", rule->priority, match, rule->cc, rule->bridge,
              error->text);
}

/* Offers tcon.ko the rules that it does not have, oldest first, and again
 * those that must be newer than one that comes late: of equal priority it tries
 * the newest first.  The first time it logs those that tcon.ko refuses.
 * Returns false if one was refused. */
bool
tcon_rules_push(struct tcon_nl *nl, bool first_time)
{
    struct shash ages = SHASH_INITIALIZER(&ages);
    struct tcon_error error;
    struct tcon_rule *rule;
    bool complete = true;

    LIST_FOR_EACH (rule, node, &rules) {
        uint64_t *age = age_among_equals(&ages, rule);

        if ((!rule->in_kernel || rule->age < *age)
            && renew(nl, rule, &error)) {
            if (first_time) {
                log_refusal(rule, &error);
            }
            complete = false;
        }
        *age = MAX(*age, rule->age);
    }
    shash_destroy_free_data(&ages);
    return complete;
}

/* Takes note that tcon.ko has 'rule', as the newest. */
static void
adopt_rule(struct tcon_rule *rule)
{
    struct tcon_rule *kept = tcon_rule_find(rule);

    rule->age = ++newest;
    rule->logged = true;        /* By the daemon that set it. */
    if (!kept) {
        rule->adopted = true;
        append(rule);
    } else {
        take_over(rule, kept);
    }
}

/* Reads the rules that an earlier ovs-vswitchd left in tcon.ko, into the list.
 * That may have rules already, where an earlier attempt has failed.  A rule that
 * nobody wants goes with the next tcon_rules_replace().  Returns an error number, with a
 * sentence, if they cannot be read; then nothing is changed. */
int
tcon_rules_adopt(struct tcon_nl *nl, struct tcon_error *error)
{
    struct ovs_list found = OVS_LIST_INITIALIZER(&found);
    struct tcon_rule *rule;
    int err;

    err = tcon_nl_dump(nl, tcon_nl_request(nl, TCON_CMD_GET_RULE), find_rule,
                       &found, error);
    if (!err) {
        tcon_rules_lost();
    }
    LIST_FOR_EACH (rule, node, &found) {
        if (!err) {
            adopt_rule(rule);
        }
    }
    free_found(&found);
    return err;
}

/* tcon.ko has none of the rules. */
void
tcon_rules_lost(void)
{
    struct tcon_rule *rule;

    LIST_FOR_EACH (rule, node, &rules) {
        rule->in_kernel = false;
        rule->age = 0;
    }
}
