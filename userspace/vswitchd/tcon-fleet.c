/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Rules that many hosts have from one database.
 *
 * That database, the centre, has Open vSwitch's schema and no switch.  It may
 * be a cluster.  Its rules are copied into this host's database, with names
 * that begin with "fleet.".  So they are there after a reboot even where no
 * member of the centre answers, and what becomes of them is told where it is
 * told of any other.  As long as the centre cannot be read nothing changes.
 */

#include <config.h>

#include "tcon-fleet.h"

#include <stdint.h>
#include <string.h>

#include "openvswitch/vlog.h"
#include "ovsdb-idl.h"
#include "ovsdb-session.h"
#include "smap.h"
#include "stream.h"
#include "svec.h"
#include "tcon-netlink.h"
#include "util.h"
#include "uuid.h"
#include "vswitch-idl.h"

VLOG_DEFINE_THIS_MODULE(tcon_fleet);

#define RULE_PREFIX "tcon-rule-"

/* A change of the centre's data, and of this host's, has been dealt with. */
struct seen {
    unsigned int centre_seqno;
    unsigned int local_seqno;
};

enum state {
    NOT_CONFIGURED,
    REFUSED,                    /* 'remote' is no address. */
    NO_ANSWER,
    EMPTY,                      /* No record from which rules could come. */
    FOLLOWING,
};

static struct ovsdb_idl *local;
static struct ovsdb_idl *centre; /* NULL unless 'remote' is an address. */
static char *remote;            /* TCON_FLEET_KEY's value, or NULL. */
static struct tcon_error refusal;
static enum state told = NOT_CONFIGURED;

static struct ovsdb_idl_txn *txn; /* Writes the copy, or NULL. */
static struct seen seen;

/* True if 'key' of other_config is a copy of one of the centre's. */
bool
tcon_fleet_has_key(const char *key)
{
    return !strncmp(key, TCON_FLEET_RULE_PREFIX,
                    strlen(TCON_FLEET_RULE_PREFIX));
}

/* Where the centre is. */

/* Checks what a JSON-RPC session would only log. */
static bool
remote_is_ok(const char *text)
{
    struct svec addresses = SVEC_EMPTY_INITIALIZER;
    const char *address;
    struct uuid cid;
    bool ok = true;
    size_t i;

    ovsdb_session_parse_remote(text, &addresses, &cid);
    if (!addresses.n) {
        tcon_error_set(&refusal, "it names no database");
        ok = false;
    }
    SVEC_FOR_EACH (i, address, &addresses) {
        if (ok && stream_verify_name(address)) {
            tcon_error_set(&refusal, "'%.80s' is no address: there are "
                           "tcp:HOST:PORT, ssl:HOST:PORT and unix:FILE",
                           address);
            ok = false;
        }
    }
    svec_destroy(&addresses);
    return ok;
}

static struct ovsdb_idl *
open_centre(void)
{
    struct ovsdb_idl *idl = ovsdb_idl_create_unconnected(&ovsrec_idl_class,
                                                         false);

    ovsdb_idl_add_column(idl, &ovsrec_open_vswitch_col_bridges);
    ovsdb_idl_add_column(idl, &ovsrec_open_vswitch_col_other_config);
    ovsdb_idl_add_column(idl, &ovsrec_bridge_col_name);
    ovsdb_idl_add_column(idl, &ovsrec_bridge_col_other_config);
    /* Any member tells what the cluster has agreed on. */
    ovsdb_idl_set_leader_only(idl, false);
    ovsdb_idl_set_remote(idl, remote, true);
    return idl;
}

void
tcon_fleet_configure(struct ovsdb_idl *local_)
{
    const struct ovsrec_open_vswitch *root;
    const char *text;

    local = local_;
    root = ovsrec_open_vswitch_first(local);
    text = root ? smap_get(&root->other_config, TCON_FLEET_KEY) : remote;
    if (nullable_string_is_equal(text, remote)) {
        return;
    }
    ovsdb_idl_destroy(centre);
    centre = NULL;
    free(remote);
    remote = nullable_xstrdup(text);
    memset(&seen, 0, sizeof seen);
    if (remote && remote_is_ok(remote)) {
        centre = open_centre();
    }
}

/* Copying. */

/* Adds to 'wanted' the copies of the centre's rules in 'other_config'. */
static void
add_copies(struct smap *wanted, const struct smap *other_config)
{
    struct smap_node *node;

    SMAP_FOR_EACH (node, other_config) {
        if (!strncmp(node->key, RULE_PREFIX, strlen(RULE_PREFIX))
            && !tcon_fleet_has_key(node->key)) {
            char *key = xasprintf(TCON_FLEET_RULE_PREFIX"%s",
                                  node->key + strlen(RULE_PREFIX));

            smap_add_nocopy(wanted, key, xstrdup(node->value));
        }
    }
}

/* Sets 'key' of 'bridge', or if that is NULL of 'root', or removes it if
 * 'value' is NULL. */
static void
set_key(const struct ovsrec_open_vswitch *root,
        const struct ovsrec_bridge *bridge, const char *key, const char *value)
{
    if (bridge && value) {
        ovsrec_bridge_update_other_config_setkey(bridge, key, value);
    } else if (bridge) {
        ovsrec_bridge_update_other_config_delkey(bridge, key);
    } else if (value) {
        ovsrec_open_vswitch_update_other_config_setkey(root, key, value);
    } else {
        ovsrec_open_vswitch_update_other_config_delkey(root, key);
    }
}

/* Makes the copies in a record be 'wanted', whose content it takes. */
static void
write_copies(const struct ovsrec_open_vswitch *root,
             const struct ovsrec_bridge *bridge, struct smap *wanted)
{
    const struct smap *present = (bridge ? &bridge->other_config
                                  : &root->other_config);
    struct smap_node *node;

    SMAP_FOR_EACH (node, present) {
        if (tcon_fleet_has_key(node->key) && !smap_get(wanted, node->key)) {
            set_key(root, bridge, node->key, NULL);
        }
    }
    SMAP_FOR_EACH (node, wanted) {
        if (!nullable_string_is_equal(smap_get(present, node->key),
                                      node->value)) {
            set_key(root, bridge, node->key, node->value);
        }
    }
    smap_destroy(wanted);
}

/* Starts the transaction that makes this host's copies what the centre has
 * now; without a centre there are none. */
static void
start_copying(const struct ovsrec_open_vswitch *root)
{
    const struct ovsrec_open_vswitch *source = NULL;
    const struct ovsrec_bridge *bridge, *theirs;
    struct smap wanted = SMAP_INITIALIZER(&wanted);

    txn = ovsdb_idl_txn_create(local);
    ovsdb_idl_txn_add_comment(txn, "tcon: rules of the fleet");
    if (centre) {
        source = ovsrec_open_vswitch_first(centre);
        add_copies(&wanted, &source->other_config);
    }
    write_copies(root, NULL, &wanted);
    OVSREC_BRIDGE_FOR_EACH (bridge, local) {
        smap_init(&wanted);
        for (size_t i = 0; source && i < source->n_bridges; i++) {
            theirs = source->bridges[i];
            if (!strcmp(theirs->name, bridge->name)) {
                add_copies(&wanted, &theirs->other_config);
            }
        }
        write_copies(root, bridge, &wanted);
    }
    seen.centre_seqno = centre ? ovsdb_idl_get_seqno(centre) : 0;
    seen.local_seqno = ovsdb_idl_get_seqno(local);
}

/* Returns the root of this host's database if the copies may differ from the
 * centre's rules and both can be had. */
static const struct ovsrec_open_vswitch *
copies_are_due(enum state state)
{
    if ((state != NOT_CONFIGURED && state != FOLLOWING)
        || !local || !ovsdb_idl_is_connected(local)
        || ovsdb_idl_is_lock_contended(local)
        || (seen.local_seqno == ovsdb_idl_get_seqno(local)
            && (!centre
                || seen.centre_seqno == ovsdb_idl_get_seqno(centre)))) {
        return NULL;
    }
    return ovsrec_open_vswitch_first(local);
}

static void
continue_copying(void)
{
    enum ovsdb_idl_txn_status status = ovsdb_idl_txn_commit(txn);

    if (status == TXN_INCOMPLETE) {
        return;
    }
    if (status == TXN_ERROR) {
        VLOG_WARN("the database does not take the rules of the fleet: %s",
                  ovsdb_idl_txn_get_error(txn));
    } else if (status != TXN_SUCCESS && status != TXN_UNCHANGED) {
        memset(&seen, 0, sizeof seen);
    }
    ovsdb_idl_txn_destroy(txn);
    txn = NULL;
}

static enum state
find_state(void)
{
    if (!remote) {
        return NOT_CONFIGURED;
    } else if (!centre) {
        return REFUSED;
    } else if (!ovsdb_idl_is_connected(centre)
               || !ovsdb_idl_has_ever_connected(centre)) {
        return NO_ANSWER;
    }
    return ovsrec_open_vswitch_first(centre) ? FOLLOWING : EMPTY;
}

bool
tcon_fleet_run(void)
{
    const struct ovsrec_open_vswitch *root;
    enum state before = told;

    if (centre) {
        ovsdb_idl_run(centre);
    }
    told = find_state();
    if (!txn) {
        root = copies_are_due(told);
        if (root) {
            start_copying(root);
        }
    }
    if (txn) {
        continue_copying();
    }
    return told != before;
}

void
tcon_fleet_wait(void)
{
    if (centre) {
        ovsdb_idl_wait(centre);
    }
    if (txn) {
        ovsdb_idl_txn_wait(txn);
    }
}

/* Telling. */

/* Returns one word for how the centre is followed, and in 'detail', which the
 * caller frees, the rest of the sentence. */
const char *
tcon_fleet_state(char **detail)
{
    switch (find_state()) {
    case REFUSED:
        *detail = xstrdup(refusal.text);
        return "refused";
    case EMPTY:
        *detail = xasprintf("the database has no record yet: ovs-vsctl "
                            "--db=%s --no-wait init", remote);
        return "waiting";
    case FOLLOWING:
        *detail = xasprintf("rules come from %s", remote);
        return "applied";
    case NOT_CONFIGURED:
    case NO_ANSWER:
    default:
        *detail = xstrdup("no member of the database answers; the rules that "
                          "were read last stay");
        return "waiting";
    }
}
