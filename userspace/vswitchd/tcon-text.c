/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * A rule as text.  All that a rule can say is read here, for the commands and for
 * OVSDB alike.
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
