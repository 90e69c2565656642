/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Rules that many hosts have from one database.
 */

#ifndef VSWITCHD_TCON_FLEET_H
#define VSWITCHD_TCON_FLEET_H 1

#include <stdbool.h>

struct ovsdb_idl;

/* In other_config of Open_vSwitch: where that database is. */
#define TCON_FLEET_KEY "tcon-fleet"

/* In other_config of this host: what keys that come from there begin with. */
#define TCON_FLEET_RULE_PREFIX "tcon-rule-fleet."

/* Takes over what this host's database, 'local', says of TCON_FLEET_KEY. */
void tcon_fleet_configure(struct ovsdb_idl *local);

/* Follows.  tcon_fleet_run() returns true if tcon_fleet_state() has changed. */
bool tcon_fleet_run(void);
void tcon_fleet_wait(void);
const char *tcon_fleet_state(char **detail);

bool tcon_fleet_has_key(const char *key);

#endif /* vswitchd/tcon-fleet.h */
