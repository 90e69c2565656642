/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */

#include <config.h>

#include "tcon-cc.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "openvswitch/dynamic-string.h"
#include "sset.h"
#include "tcon-rules.h"
#include "tcon-when.h"
#include "timeval.h"
#include "util.h"

/* The family that runs the kernel's own CCs.  Its members are those CCs. */
#define KERNEL_FAMILY "linux"

static const struct tcon_nl_field cc_fields[] = {
    { TCON_CC_A_NAME,     NL_A_STRING, NULL },
    { TCON_CC_A_CATEGORY, NL_A_STRING, NULL },
    { TCON_CC_A_SOURCE,   NL_A_STRING, NULL },
    { TCON_CC_A_PACED,    NL_A_FLAG,   NULL },
    { TCON_CC_A_FLOWS,    NL_A_U32,    NULL },
};

static const struct tcon_nl_field param_fields[] = {
    { TCON_PARAM_A_NAME,      NL_A_STRING, NULL },
    { TCON_PARAM_A_VALUE,     NL_A_U64,    NULL },
    { TCON_PARAM_A_TYPE,      NL_A_U8,     NULL },
    { TCON_PARAM_A_MIN,       NL_A_U64,    NULL },
    { TCON_PARAM_A_MAX_VALUE, NL_A_U64,    NULL },
    { TCON_PARAM_A_UNIT,      NL_A_STRING, NULL },
    { TCON_PARAM_A_HELP,      NL_A_STRING, NULL },
};

static char *
get_string(const struct nlattr *attr)
{
    return xstrdup(attr ? nl_attr_get_string(attr) : "");
}

static bool
get_param(const struct nlattr *nest, struct tcon_cc_param *param)
{
    struct nlattr *attrs[TCON_PARAM_A_MAX + 1];

    if (!tcon_nl_parse(nest, param_fields, ARRAY_SIZE(param_fields), attrs,
                       ARRAY_SIZE(attrs))
        || !attrs[TCON_PARAM_A_NAME] || !attrs[TCON_PARAM_A_VALUE]
        || !attrs[TCON_PARAM_A_TYPE] || !attrs[TCON_PARAM_A_MIN]
        || !attrs[TCON_PARAM_A_MAX_VALUE]) {
        return false;
    }
    param->name = get_string(attrs[TCON_PARAM_A_NAME]);
    param->unit = get_string(attrs[TCON_PARAM_A_UNIT]);
    param->help = get_string(attrs[TCON_PARAM_A_HELP]);
    param->type = nl_attr_get_u8(attrs[TCON_PARAM_A_TYPE]);
    param->def = nl_attr_get_u64(attrs[TCON_PARAM_A_VALUE]);
    param->min = nl_attr_get_u64(attrs[TCON_PARAM_A_MIN]);
    param->max = nl_attr_get_u64(attrs[TCON_PARAM_A_MAX_VALUE]);
    return true;
}

/* Appends the CC of one message to 'ccs_'.  A malformed one is left out. */
static bool
get_cc(struct nlattr *top[], void *ccs_)
{
    struct nlattr *attrs[TCON_CC_A_MAX + 1];
    struct tcon_ccs *ccs = ccs_;
    const struct nlattr *attr;
    struct tcon_cc *cc;
    size_t left;

    if (!top[TCON_A_CC]
        || !tcon_nl_parse(top[TCON_A_CC], cc_fields, ARRAY_SIZE(cc_fields),
                          attrs, ARRAY_SIZE(attrs))
        || !attrs[TCON_CC_A_NAME]) {
        return true;
    }
    if (ccs->n >= ccs->allocated) {
        ccs->ccs = x2nrealloc(ccs->ccs, &ccs->allocated, sizeof *ccs->ccs);
    }
    cc = &ccs->ccs[ccs->n++];
    memset(cc, 0, sizeof *cc);
    cc->name = get_string(attrs[TCON_CC_A_NAME]);
    cc->category = get_string(attrs[TCON_CC_A_CATEGORY]);
    cc->source = get_string(attrs[TCON_CC_A_SOURCE]);
    cc->paced = attrs[TCON_CC_A_PACED] != NULL;
    cc->flows = (attrs[TCON_CC_A_FLOWS]
                 ? nl_attr_get_u32(attrs[TCON_CC_A_FLOWS]) : 0);
    NL_NESTED_FOR_EACH (attr, left, top[TCON_A_CC]) {
        if (nl_attr_type(attr) == TCON_CC_A_PARAM
            && cc->n_params < TCON_MAX_PARAMS
            && get_param(attr, &cc->params[cc->n_params])) {
            cc->n_params++;
        }
    }
    return true;
}

/* Asks tcon.ko for its CCs.  tcon_ccs_destroy() must follow in any case. */
bool
tcon_ccs_get(struct tcon_nl *nl, struct tcon_ccs *ccs,
             struct tcon_error *error)
{
    memset(ccs, 0, sizeof *ccs);
    return !tcon_nl_dump(nl, tcon_nl_request(nl, TCON_CMD_GET_CC), get_cc,
                         ccs, error);
}

void
tcon_ccs_destroy(struct tcon_ccs *ccs)
{
    for (size_t i = 0; i < ccs->n; i++) {
        struct tcon_cc *cc = &ccs->ccs[i];

        for (size_t j = 0; j < cc->n_params; j++) {
            free(cc->params[j].name);
            free(cc->params[j].unit);
            free(cc->params[j].help);
        }
        free(cc->name);
        free(cc->category);
        free(cc->source);
    }
    free(ccs->ccs);
}

const struct tcon_cc *
tcon_cc_find(const struct tcon_ccs *ccs, const char *name)
{
    for (size_t i = 0; i < ccs->n; i++) {
        if (!strcmp(ccs->ccs[i].name, name)) {
            return &ccs->ccs[i];
        }
    }
    return NULL;
}

/* Initialises 'names' and fills it with the CCs that are not among 'ccs' but
 * have a module that the kernel would load. */
void
tcon_cc_not_loaded(const struct tcon_ccs *ccs, struct sset *names)
{
    char line[256], name[TCON_CC_NAME_MAX];
    struct utsname kernel;
    char *file_name;
    FILE *file;

    sset_init(names);
    uname(&kernel);
    file_name = xasprintf("/lib/modules/%s/modules.alias", kernel.release);
    file = fopen(file_name, "r");
    free(file_name);
    if (!file) {
        return;
    }
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "alias tcon-cc-%31s ", name) == 1
            && strcmp(name, KERNEL_FAMILY) && !tcon_cc_find(ccs, name)) {
            sset_add(names, name);
        }
    }
    fclose(file);
}

static const struct tcon_cc_param *
tcon_cc_param_find(const struct tcon_cc *cc, const char *name)
{
    for (size_t i = 0; i < cc->n_params; i++) {
        if (!strcmp(cc->params[i].name, name)) {
            return &cc->params[i];
        }
    }
    return NULL;
}

/* Names all CCs that there are, loaded or not, and the one that was meant, perhaps.
 * The kernel's own are many, and go by the name of their family. */
static void
set_unknown_cc(const struct tcon_ccs *ccs, const char *name,
               struct tcon_error *error)
{
    struct ds known = DS_EMPTY_INITIALIZER;
    const char **sorted, *nearest;
    struct sset names;

    tcon_cc_not_loaded(ccs, &names);
    for (size_t i = 0; i < ccs->n; i++) {
        if (!strchr(ccs->ccs[i].name, ':')) {
            sset_add(&names, ccs->ccs[i].name);
        }
    }
    sset_add(&names, TCON_CC_OBSERVE);
    sorted = sset_sort(&names);
    nearest = tcon_nearest(name, sorted, sset_count(&names));
    for (size_t i = 0; i < sset_count(&names); i++) {
        ds_put_format(&known, "%s, ", sorted[i]);
    }
    tcon_error_set(error, "there is no CC '%.32s'%s%s%s (there are: %s"
                   KERNEL_FAMILY":NAME)", name, nearest ? ": is it " : "",
                   nearest ? nearest : "", nearest ? "?" : "",
                   ds_cstr(&known));
    free(sorted);
    sset_destroy(&names);
    ds_destroy(&known);
}

/* Can 'name' be a CC's?  The kernel looks for a module of the name, so it is not
 * asked for anything else. */
static bool
is_cc_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    size_t len = strspn(name, letters);

    return (len && strlen(name) < TCON_CC_NAME_MAX
            && (!name[len] || name[len] == ':'));
}

static void
set_unknown_param(const struct tcon_cc *cc, const char *name,
                  struct tcon_error *error)
{
    struct ds known = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < cc->n_params; i++) {
        ds_put_format(&known, "%s%s", i ? ", " : "", cc->params[i].name);
    }
    if (cc->n_params) {
        tcon_error_set(error, "%s has no parameter '%s' (it has: %s)",
                       cc->name, name, ds_cstr(&known));
    } else {
        tcon_error_set(error, "%s has no parameter '%s', nor any other",
                       cc->name, name);
    }
    ds_destroy(&known);
}

/* Notes that 'rule' is refused by the CC's module that there is now.  "none" has no
 * module. */
static void
leave_to_module(struct tcon_rule *rule)
{
    if (strcmp(rule->cc, TCON_CC_OBSERVE)) {
        rule->cc[0] = '\0';
    }
}

/* Reads "name=value" and appends it to the parameters of 'rule'.  Where another
 * module of the CC might take it, leaves the rule without a CC. */
static bool
parse_param(const struct tcon_cc *cc, const char *arg, struct tcon_rule *rule,
            struct tcon_error *error)
{
    size_t name_len = strcspn(arg, "=");
    const struct tcon_cc_param *param;
    struct tcon_param *value;
    char name[TCON_PARAM_NAME_MAX];

    if (!name_len || !arg[name_len] || name_len >= sizeof name) {
        tcon_error_set(error, "'%.40s' is not param=value", arg);
        return false;
    }
    memcpy(name, arg, name_len);
    name[name_len] = '\0';

    param = tcon_cc_param_find(cc, name);
    if (!param) {
        set_unknown_param(cc, name, error);
        leave_to_module(rule);
        return false;
    }
    for (size_t i = 0; i < rule->n_params; i++) {
        if (!strcmp(rule->params[i].name, name)) {
            tcon_error_set(error, "parameter '%s' is given twice", name);
            return false;
        }
    }
    value = &rule->params[rule->n_params++];
    ovs_strlcpy(value->name, name, sizeof value->name);
    value->type = param->type;
    if (!tcon_value_parse(name, param->type, param->min, param->max,
                          arg + name_len + 1, &value->value, error)) {
        leave_to_module(rule);
        return false;
    }
    return true;
}

/* Words of the rule, whatever its CC: "KEY=VALUE". */

static const char *const ecn_words[] = TCON_RULE_ECN_NAMES;
static const char *const fallback_words[] = TCON_RULE_FALLBACK_NAMES;

enum option { ECN, FALLBACK, RTO_MIN, SHARE, UNTIL, FOR, N_OPTIONS };

static const char *const option_keys[N_OPTIONS] = {
    [ECN] = "ecn",
    [FALLBACK] = "fallback",
    [RTO_MIN] = "rto_min_us",
    [SHARE] = "share",
    [UNTIL] = "until",
    [FOR] = "for",
};

/* Returns the option that 'arg' gives, or N_OPTIONS.  A rule that only observes
 * has no CC that could hear of marks, or be missed, and repairs nothing. */
static enum option
find_option(const char *arg, bool observes)
{
    for (enum option i = observes ? SHARE : ECN; i < N_OPTIONS; i++) {
        size_t len = strlen(option_keys[i]);

        if (!strncmp(arg, option_keys[i], len) && arg[len] == '=') {
            return i;
        }
    }
    return N_OPTIONS;
}

static bool
parse_option_word(const char *key, const char *word,
                  const char *const words[], size_t n_words,
                  const char *allowed, uint8_t *value,
                  struct tcon_error *error)
{
    for (size_t i = 0; i < n_words; i++) {
        if (!strcmp(word, words[i])) {
            *value = i;
            return true;
        }
    }
    tcon_error_set(error, "%s=%.40s: must be %s", key, word, allowed);
    return false;
}

/* Reads "rto_min_us=". */
static bool
parse_rto_min(const char *text, struct tcon_rule *rule,
              struct tcon_error *error)
{
    int64_t value_us;

    if (!tcon_value_parse(option_keys[RTO_MIN], TCON_PARAM_UINT,
                          TCON_RTO_LEAST_US, TCON_RTO_MOST_US, text,
                          &value_us, error)) {
        return false;
    }
    rule->rto_min_us = value_us == TCON_RTO_DEFAULT_US ? 0 : value_us;
    return true;
}

/* Reads "for=".  A rule of OVSDB is read again whenever the daemon starts, and
 * would begin again. */
static bool
parse_for(const char *text, struct tcon_rule *rule, struct tcon_error *error)
{
    int64_t span_s;

    if (rule->entry) {
        tcon_error_set(error, "for=: OVSDB does not know since when; write "
                       "until=DATE");
        return false;
    }
    if (!tcon_span_parse(text, &span_s, error)) {
        return false;
    }
    rule->until_s = time_wall() + span_s;
    return true;
}

/* Reads 'arg', which gives option 'i', into 'rule'.  'given' has a bit for each
 * option that was given before. */
static bool
parse_option(enum option i, const char *arg, unsigned int *given,
             struct tcon_rule *rule, struct tcon_error *error)
{
    const char *text = arg + strlen(option_keys[i]) + 1;

    if (*given & 1u << i) {
        tcon_error_set(error, "%s= is given twice", option_keys[i]);
        return false;
    }
    *given |= 1u << i;
    if (*given & 1u << UNTIL && *given & 1u << FOR) {
        tcon_error_set(error, "until= and for= cannot both be given");
        return false;
    }
    switch (i) {
    case ECN:
        return parse_option_word("ecn", text, ecn_words, ARRAY_SIZE(ecn_words),
                                 "auto, on or off", &rule->ecn, error);
    case FALLBACK:
        return parse_option_word("fallback", text, fallback_words,
                                 ARRAY_SIZE(fallback_words),
                                 "auto, pass, pace or drop", &rule->fallback,
                                 error);
    case RTO_MIN:
        return parse_rto_min(text, rule, error);
    case SHARE:
        return tcon_share_parse(text, &rule->share, error);
    case UNTIL:
        return tcon_date_parse(text, &rule->until_s, error);
    case FOR:
        return parse_for(text, rule, error);
    case N_OPTIONS:
    default:
        OVS_NOT_REACHED();
    }
}

/* Asks the kernel to load the module of CC 'name', if there is one.
 *
 * The kernel loads it for every rule that names the CC, before it looks at the
 * rest of the rule.  The rule sent here has no match.  So the kernel refuses
 * it, and no rule changes.  'refused' says why it was refused. */
static void
load_cc(struct tcon_nl *nl, const char *name, struct tcon_error *refused)
{
    struct ofpbuf *request = tcon_nl_request(nl, TCON_CMD_SET_RULE);
    size_t nest = tcon_nl_start_nest(request, TCON_A_RULE);

    nl_msg_put_string(request, TCON_RULE_A_CC, name);
    nl_msg_end_nested(request, nest);
    tcon_nl_do(nl, request, NULL, NULL, refused);
}

/* As tcon_ccs_get().  If CC 'name' is missing, has its module loaded first.
 * Where that fails, 'refused' is what the kernel said. */
static bool
get_ccs_with(struct tcon_nl *nl, const char *name, struct tcon_ccs *ccs,
             struct tcon_error *refused, struct tcon_error *error)
{
    if (!tcon_ccs_get(nl, ccs, error)) {
        return false;
    }
    if (tcon_cc_find(ccs, name) || !is_cc_name(name)) {
        return true;
    }
    load_cc(nl, name, refused);
    tcon_ccs_destroy(ccs);
    return tcon_ccs_get(nl, ccs, error);
}

/* Keeps only the parameters that differ from the defaults, in the CC's order.
 * Two decisions that are the same for the kernel are then equal here too,
 * however they were typed.  tcon_rule_keep() needs that: a rule that is set
 * again with the same decision keeps its age. */
static void
normalize_params(const struct tcon_cc *cc, struct tcon_rule *rule)
{
    struct tcon_param given[TCON_MAX_PARAMS];
    size_t n_given = rule->n_params;

    memcpy(given, rule->params, sizeof given);
    memset(rule->params, 0, sizeof rule->params);
    rule->n_params = 0;
    for (size_t i = 0; i < cc->n_params; i++) {
        for (size_t j = 0; j < n_given; j++) {
            if (!strcmp(given[j].name, cc->params[i].name)
                && given[j].value != cc->params[i].def) {
                rule->params[rule->n_params++] = given[j];
            }
        }
    }
}

static bool
parse_params(const struct tcon_cc *cc, int n_args, const char *args[],
             struct tcon_rule *rule, struct tcon_error *error)
{
    bool observes = !strcmp(cc->name, TCON_CC_OBSERVE);
    unsigned int given = 0;

    ovs_strlcpy(rule->cc, cc->name, sizeof rule->cc);
    rule->n_params = 0;
    for (int i = 0; i < n_args; i++) {
        enum option option = find_option(args[i], observes);

        if (option != N_OPTIONS
            ? !parse_option(option, args[i], &given, rule, error)
            : !parse_param(cc, args[i], rule, error)) {
            return false;
        }
    }
    normalize_params(cc, rule);
    return true;
}

/* Reads the CC 'name' and its parameters into 'rule'.  Where that fails and another
 * module might take them, the rule has no CC then. */
bool
tcon_cc_parse(struct tcon_nl *nl, const char *name, int n_args,
              const char *args[], struct tcon_rule *rule,
              struct tcon_error *error)
{
    static struct tcon_cc observe = { .name = TCON_CC_OBSERVE };
    struct tcon_error refused = { .text = "" };
    const struct tcon_cc *cc;
    struct tcon_ccs ccs;
    bool ok;

    if (!strcmp(name, TCON_CC_OBSERVE)) {
        return parse_params(&observe, n_args, args, rule, error);
    }
    ok = get_ccs_with(nl, name, &ccs, &refused, error);
    if (ok) {
        cc = tcon_cc_find(&ccs, name);
        ok = cc && parse_params(cc, n_args, args, rule, error);
        if (!cc && strchr(name, ':') && refused.text[0]) {
            /* A member of a family.  Only the family knows which members it
             * has, and why one is missing. */
            tcon_error_set(error, "there is no CC '%.32s': %s", name,
                           refused.text);
        } else if (!cc) {
            set_unknown_cc(&ccs, name, error);
        }
    }
    tcon_ccs_destroy(&ccs);
    return ok;
}
