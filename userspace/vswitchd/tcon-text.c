/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * A rule as text.  All that a rule can say is read and written here, for the
 * commands and for OVSDB alike.
 */

#include <config.h>

#include "tcon-text.h"

#include <inttypes.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "tcon-cc.h"
#include "tcon-rules.h"
#include "tcon-when.h"
#include "util.h"

/* flow=MATCH, the CC, its parameters, what a rule says besides, and one too
 * many. */
#define MAX_WORDS (2 + TCON_MAX_PARAMS + 8)

/* Reads "flow=MATCH". */
bool
tcon_parse_flow(const char *arg, struct tcon_flow_spec *spec,
                struct tcon_error *error)
{
    if (strncmp(arg, "flow=", 5)) {
        tcon_error_set(error, "'%.64s' is not flow=MATCH", arg);
        return false;
    }
    return tcon_flow_spec_parse(arg + 5, spec, error);
}

/* Reads the 'n_words' words of a rule into 'rule', all but its bridge.  Loads
 * the module of the CC if necessary.  Returns false, with a sentence, if a
 * word is wrong or tcon.ko does not answer. */
bool
tcon_rule_parse(struct tcon_nl *nl, int n_words, const char *words[],
                struct tcon_rule *rule, struct tcon_error *error)
{
    struct tcon_flow_spec spec;

    if (!tcon_parse_flow(n_words ? words[0] : "", &spec, error)) {
        return false;
    }
    if (n_words < 2) {
        tcon_error_set(error, "no CC follows flow=MATCH");
        return false;
    }
    rule->match = spec.match;
    rule->priority = spec.priority;
    return tcon_cc_parse(nl, words[1], n_words - 2, words + 2, rule, error);
}

/* As tcon_rule_parse(), for words with white space between them. */
bool
tcon_rule_parse_text(struct tcon_nl *nl, const char *text,
                     struct tcon_rule *rule, struct tcon_error *error)
{
    const char *words[MAX_WORDS];
    char *copy = xstrdup(text);
    size_t n = tcon_words_split(copy, words, MAX_WORDS);
    bool ok = n < MAX_WORDS;

    if (ok) {
        ok = tcon_rule_parse(nl, n, words, rule, error);
    } else {
        tcon_error_set(error, "the rule has too many words");
    }
    free(copy);
    return ok;
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
