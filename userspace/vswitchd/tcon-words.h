/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The arguments of the commands: bridges, flows and ports.
 */

#ifndef VSWITCHD_TCON_WORDS_H
#define VSWITCHD_TCON_WORDS_H 1

#include "tcon-config.h"
#include "tcon-match.h"
#include "tcon-netlink.h"

struct tcon_rule;

struct tcon_bridge *tcon_bridge_lookup(const char *name, struct tcon_error *);
bool tcon_resolve_guest_port(const struct tcon_bridge *, struct tcon_nl *,
                             struct tcon_rule *place, struct tcon_error *);
bool tcon_take_option(int *argc, const char *argv[], const char *option);
const char *tcon_take_value(int *argc, const char *argv[],
                            const char *option);
char *tcon_command_text(int argc, const char *argv[]);
const struct tcon_port *tcon_guest_port(const char *bridge_name,
                                        const struct tcon_bridge *,
                                        struct tcon_nl *, const char *name,
                                        struct tcon_error *);
const struct tcon_port *tcon_port_by_iface_id(const struct tcon_bridge *,
                                              const char *iface_id);
void tcon_use_port_name(const struct tcon_bridge *, struct tcon_match *);

#endif /* vswitchd/tcon-words.h */
