/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The rules: the list that ovs-vswitchd keeps, and requests about them to
 * tcon.ko.
 */

#ifndef VSWITCHD_TCON_RULES_H
#define VSWITCHD_TCON_RULES_H 1

#include "openvswitch/hmap.h"
#include "openvswitch/list.h"
#include "tcon-match.h"
#include "tcon-netlink.h"

struct tcon_param {
    char name[TCON_PARAM_NAME_MAX];
    int64_t value;
    enum tcon_param_type type;
};

struct tcon_entry;

#define TCON_SOURCE_MAX 192     /* Longer ones are cut. */

struct tcon_rule {
    struct ovs_list node;       /* In the list of rules, oldest first. */
    struct hmap_node place_node; /* By bridge, match and priority. */
    char bridge[TCON_BRIDGE_NAME_MAX];
    struct tcon_match match;
    uint32_t priority;
    char cc[TCON_CC_NAME_MAX];
    uint8_t ecn;                /* enum tcon_rule_ecn. */
    uint8_t fallback;           /* enum tcon_rule_fallback. */
    uint32_t rto_min_us;        /* 0: TCON_RTO_DEFAULT_US. */
    uint16_t share;             /* Of TCON_SHARE_ALL flows; 0: all. */
    int64_t until_s;            /* When it ends, since 1970; 0: never. */
    struct tcon_param params[TCON_MAX_PARAMS];
    size_t n_params;
    uint32_t flows;             /* In a dump only: flows that it selects, */
    uint64_t age_ms;            /* how long it is in force, */
    uint64_t taken[__TCON_OUTCOME_MAX]; /* what became of its share, */
    uint64_t left[__TCON_OUTCOME_MAX]; /* and of the others. */
    bool in_kernel;             /* tcon.ko has it. */
    uint64_t age;               /* Grows with each rule that it was given. */
    bool logged;                /* The log says since when it is in force. */

    /* Why it is there.  If nothing of this is set it is volatile: it was set
     * for as long as ovs-vswitchd runs. */
    const struct tcon_entry *entry; /* OVSDB has it here. */
    char source[TCON_SOURCE_MAX]; /* The same in words, for the log, or "". */
    bool adopted;               /* An earlier ovs-vswitchd left it. */
    bool being_written;         /* Goes if OVSDB does not take it. */
};

/* A rule that tcon.ko has, from a message of TCON_CMD_GET_RULE. */
bool tcon_rule_from_attrs(struct nlattr *attrs[], struct tcon_rule *);

const struct ovs_list *tcon_rules(void); /* Of "struct tcon_rule"s. */

char *tcon_rule_format(const struct tcon_rule *);
bool tcon_rule_same_place(const struct tcon_rule *, const struct tcon_rule *);
bool tcon_rule_same_decision(const struct tcon_rule *,
                             const struct tcon_rule *);

/* In the list. */
struct tcon_rule *tcon_rule_find(const struct tcon_rule *key);
void tcon_rule_keep(const struct tcon_rule *, bool is_volatile);
void tcon_rule_destroy(struct tcon_rule *);
bool tcon_rule_is_volatile(const struct tcon_rule *);
void tcon_rules_forget_bridge(const char *bridge);

/* Rules that end. */
bool tcon_rule_has_ended(const struct tcon_rule *);
bool tcon_rule_outlives(const struct tcon_rule *, const struct tcon_rule *);
int64_t tcon_rules_next_end_s(void);
void tcon_rules_end(struct tcon_nl *);

/* The effect of a change in tcon.ko. */
struct tcon_change {
    bool had_before;            /* It had a rule there, */
    struct tcon_rule before;    /* this one, */
    uint32_t n_rules;           /* or this number of rules, which are gone. */
    uint32_t n_flows;           /* Flows that obey the rule now, or obeyed the
                                 * rules that are gone. */
};

/* In tcon.ko.  Each returns 0, or an errno with a sentence.  'by' is who changes it,
 * for the log. */
int tcon_rule_set(struct tcon_nl *, struct tcon_rule *, const char *by,
                  struct tcon_change *, struct tcon_error *);
int tcon_rule_del(struct tcon_nl *, const struct tcon_rule *, const char *by,
                  struct tcon_change *, struct tcon_error *);
int tcon_rules_del_bridge(struct tcon_nl *, const char *bridge, const char *by,
                          struct tcon_change *, struct tcon_error *);

bool tcon_rules_spreading(struct tcon_nl *);

/* How many rules a bridge has, and how many flows obey them. */
int tcon_rules_count(struct tcon_nl *, const char *bridge,
                     struct tcon_change *, struct tcon_error *);

/* Rules of tcon.ko: the one at a place, and the one that a flow of the port obeys.
 * Each returns 0, or an errno with a sentence: ENOENT if there is none. */
int tcon_rule_get(struct tcon_nl *, const struct tcon_rule *place,
                  struct tcon_rule *found, struct tcon_error *);
int tcon_rule_of_flow(struct tcon_nl *, uint32_t ifindex,
                      const struct tcon_match *flow, struct tcon_rule *found,
                      struct tcon_error *);

/* From tcon.ko into the list, from OVSDB into the list, and to tcon.ko. */
int tcon_rules_adopt(struct tcon_nl *, struct tcon_error *);
void tcon_rules_replace(struct tcon_nl *, struct tcon_rule *wanted, size_t n);
void tcon_rules_lost(void);
bool tcon_rules_push(struct tcon_nl *, bool first_time);

#endif /* vswitchd/tcon-rules.h */
