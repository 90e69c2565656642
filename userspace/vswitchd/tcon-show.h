/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The commands that only show.
 */

#ifndef VSWITCHD_TCON_SHOW_H
#define VSWITCHD_TCON_SHOW_H 1

struct json;
struct tcon_ccs;
struct tcon_rule;

struct json *tcon_rule_to_json(const struct tcon_rule *,
                               const struct tcon_ccs *);
void tcon_show_init(void);

#endif /* vswitchd/tcon-show.h */
