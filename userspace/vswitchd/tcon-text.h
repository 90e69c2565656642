/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * A rule as text: "flow=MATCH CC [PARAM=VALUE]...".  It is typed after the
 * bridge of tcon/set-cc, stands in OVSDB, and is shown by tcon/show.
 */

#ifndef VSWITCHD_TCON_TEXT_H
#define VSWITCHD_TCON_TEXT_H 1

#include "tcon-match.h"
#include "tcon-netlink.h"

struct tcon_rule;

bool tcon_parse_flow(const char *arg, struct tcon_flow_spec *,
                     struct tcon_error *);
bool tcon_rule_parse(struct tcon_nl *, int n_words, const char *words[],
                     struct tcon_rule *, struct tcon_error *);
bool tcon_rule_parse_text(struct tcon_nl *, const char *text,
                          struct tcon_rule *, struct tcon_error *);

#endif /* vswitchd/tcon-text.h */
