/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The rules, and how tcon.ko gets them.
 *
 * tcon.ko forgets its rules when it is removed.  This list keeps them.
 */

#include <config.h>

#include "tcon-rules.h"

#include <errno.h>
#include <string.h>

#include "netlink.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(tcon_rules);

/* "struct tcon_rule"s, in the order in which they were set. */
static struct ovs_list rules = OVS_LIST_INITIALIZER(&rules);

static const struct tcon_nl_field rule_fields[] = {
    { TCON_RULE_A_PRIORITY, NL_A_U32,    NULL },
    { TCON_RULE_A_CC,       NL_A_STRING, NULL },
    { TCON_RULE_A_FLOWS,    NL_A_U32,    NULL },
    { TCON_RULE_A_ECN,      NL_A_U8,     NULL },
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
    if (rule->ecn) {
        nl_msg_put_u8(request, TCON_RULE_A_ECN, rule->ecn);
    }
    for (size_t i = 0; i < rule->n_params; i++) {
        size_t param = tcon_nl_start_nest(request, TCON_RULE_A_PARAM);

        nl_msg_put_string(request, TCON_PARAM_A_NAME, rule->params[i].name);
        nl_msg_put_u64(request, TCON_PARAM_A_VALUE, rule->params[i].value);
        nl_msg_end_nested(request, param);
    }
    nl_msg_end_nested(request, nest);
}

int
tcon_rule_set(struct tcon_nl *nl, struct tcon_rule *rule,
                struct tcon_error *error)
{
    struct ofpbuf *request = tcon_nl_request(nl, TCON_CMD_SET_RULE);
    int err;

    put_rule(request, rule);
    err = tcon_nl_do(nl, request, NULL, NULL, error);
    rule->in_kernel = !err;
    return err;
}

int
tcon_rule_del(struct tcon_nl *nl, const struct tcon_rule *rule,
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

/* It is no error if the bridge has no rules. */
int
tcon_rules_del_bridge(struct tcon_nl *nl, const char *bridge,
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
    if (strcmp(a->cc, b->cc) || a->ecn != b->ecn
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

struct tcon_rule *
tcon_rule_find(const struct tcon_rule *key)
{
    struct tcon_rule *rule;

    LIST_FOR_EACH (rule, node, &rules) {
        if (same_place(rule, key)) {
            return rule;
        }
    }
    return NULL;
}

void
tcon_rule_destroy(struct tcon_rule *rule)
{
    ovs_list_remove(&rule->node);
    free(rule);
}

/* Keeps a copy of 'rule' as the newest rule.  As in the kernel, a rule that is
 * set again with the same CC and parameters keeps its age. */
void
tcon_rule_keep(const struct tcon_rule *rule)
{
    struct tcon_rule *old = tcon_rule_find(rule);
    struct tcon_rule *new;

    if (old && same_decision(old, rule)) {
        old->in_kernel = rule->in_kernel;
        return;
    }
    if (old) {
        tcon_rule_destroy(old);
    }
    new = xmemdup(rule, sizeof *rule);
    ovs_list_push_back(&rules, &new->node);
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

/* Among rules of equal priority the kernel tries the newest first.  'late' has
 * just reached the kernel, after rules that are newer than it here.  Those are
 * sent again, so that the order in the kernel is right. */
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
            tcon_rule_del(nl, rule, &error);
            tcon_rule_set(nl, rule, &error);
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

/* Offers tcon.ko the rules that it does not have, oldest first.  The first
 * time it logs those that tcon.ko refuses.  Returns false if one was
 * refused. */
bool
tcon_rules_push(struct tcon_nl *nl, bool first_time)
{
    struct tcon_error error;
    struct tcon_rule *rule;
    bool complete = true;

    LIST_FOR_EACH (rule, node, &rules) {
        if (rule->in_kernel) {
            continue;
        }
        if (!tcon_rule_set(nl, rule, &error)) {
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

/* Puts one of the kernel's rules at the front of the list: the list is oldest
 * first, while the kernel's dump is newest first among equal priorities. */
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

/* Takes over the rules that tcon.ko has.  Returns an error number, with a
 * sentence, if they cannot be read. */
int
tcon_rules_adopt(struct tcon_nl *nl, struct tcon_error *error)
{
    return tcon_nl_dump(nl, tcon_nl_request(nl, TCON_CMD_GET_RULE), adopt_rule,
                        NULL, error);
}

/* tcon.ko was loaded anew and has no rules. */
void
tcon_rules_lost(void)
{
    struct tcon_rule *rule;

    LIST_FOR_EACH (rule, node, &rules) {
        rule->in_kernel = false;
    }
}
