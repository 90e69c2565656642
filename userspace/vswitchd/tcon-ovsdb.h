/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The rules that OVSDB holds: other_config:tcon-rule-NAME of Open_vSwitch,
 * Bridge and Interface.
 */

#ifndef VSWITCHD_TCON_OVSDB_H
#define VSWITCHD_TCON_OVSDB_H 1

#define TCON_ROLE_KEY "tcon-role"   /* In other_config of an Interface. */

#include "tcon-match.h"
#include "tcon-netlink.h"

struct json;
struct ovsdb_idl;
struct smap;
struct tcon_rule;
struct unixctl_conn;

/* The database's present content: all bridges are named between begin and end. */
void tcon_ovsdb_begin(struct ovsdb_idl *);
void tcon_ovsdb_bridge(const char *name, const char *refusal);
void tcon_ovsdb_end(void);

/* From there into the list of rules. */
void tcon_ovsdb_forget_refusals(void);
bool tcon_ovsdb_apply(struct tcon_nl *, const struct tcon_error *);

/* Back into the database, for a command that is replied to when that is
 * done. */
bool tcon_ovsdb_is_writable(void);
bool tcon_ovsdb_has(const struct tcon_rule *);
bool tcon_ovsdb_can_set(const struct tcon_rule *, struct tcon_error *);
bool tcon_ovsdb_can_remove(const char *bridge, const struct tcon_rule *place,
                           struct tcon_error *);
void tcon_ovsdb_set(struct unixctl_conn *, const char *command,
                    const char *reply, const struct tcon_rule *,
                    struct tcon_rule *before);
void tcon_ovsdb_remove(struct unixctl_conn *, const char *command,
                       const char *reply, const char *bridge,
                       const struct tcon_rule *place);
bool tcon_ovsdb_is_writing(const char *bridge, const struct tcon_rule *place);
bool tcon_ovsdb_has_written(void);
bool tcon_ovsdb_run(void);
void tcon_ovsdb_wait(void);

/* The state of its rules. */
void tcon_ovsdb_put_status(const char *bridge, const char *iface,
                           struct smap *status);
struct json *tcon_ovsdb_to_json(const char *bridge);
void tcon_ovsdb_write_status(void);
struct json *tcon_ovsdb_source(const struct tcon_rule *);

/* Other facts of the database. */
char *tcon_ovsdb_bond_members(const char *port);

#endif /* vswitchd/tcon-ovsdb.h */
