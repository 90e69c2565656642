/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The CC modules that are registered with tcon.ko, and their parameters.
 */

#ifndef VSWITCHD_TCON_CC_H
#define VSWITCHD_TCON_CC_H 1

#include "tcon-netlink.h"

struct sset;
struct tcon_rule;

struct tcon_cc_param {
    char *name;
    char *unit;
    char *help;
    enum tcon_param_type type;
    int64_t def, min, max;
};

struct tcon_cc {
    char *name;
    char *category;
    char *source;
    bool paced;
    uint32_t flows;
    struct tcon_cc_param params[TCON_MAX_PARAMS];
    size_t n_params;
};

struct tcon_ccs {
    struct tcon_cc *ccs;
    size_t n, allocated;
};

bool tcon_ccs_get(struct tcon_nl *, struct tcon_ccs *, struct tcon_error *);
void tcon_ccs_destroy(struct tcon_ccs *);
const struct tcon_cc *tcon_cc_find(const struct tcon_ccs *, const char *name);
void tcon_cc_not_loaded(const struct tcon_ccs *, struct sset *names);

bool tcon_cc_parse(struct tcon_nl *, const char *name, int n_args,
                   const char *args[], struct tcon_rule *,
                   struct tcon_error *);

#endif /* vswitchd/tcon-cc.h */
