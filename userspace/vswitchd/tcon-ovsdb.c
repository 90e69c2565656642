/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The rules that OVSDB holds.
 *
 * A key tcon-rule-NAME in other_config holds a rule: of Open_vSwitch for every
 * bridge, of a Bridge for that one, of an Interface for that port.  An entry is
 * such a key, with what was made of it.  Where its text is changed to one that
 * is wrong, the last good rule stays.
 *
 * Among rules of equal priority the newest applies, and OVSDB knows no age.
 * So the order is: Open_vSwitch, Bridge, Interface, and in a record by name
 * (tcon_rule_name_compare()).
 */

#include <config.h>

#include "tcon-ovsdb.h"

#include <inttypes.h>
#include <string.h>

#include "coverage.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "openvswitch/list.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/shash.h"
#include "openvswitch/vlog.h"
#include "ovsdb-idl.h"
#include "smap.h"
#include "tcon-fleet.h"
#include "tcon-rules.h"
#include "tcon-text.h"
#include "tcon-when.h"
#include "timeval.h"
#include "unixctl.h"
#include "util.h"
#include "vswitch-idl.h"

VLOG_DEFINE_THIS_MODULE(tcon_ovsdb);

COVERAGE_DEFINE(tcon_ovsdb_write);

/* Keys of rules that have ended are removed so often at most: the database may
 * refuse that for long, as when its disk is full. */
#define REMOVE_PAUSE_MS 10000

#define KEY_PREFIX "tcon-"
#define RULE_PREFIX "tcon-rule-"

/* In the order in which their rules grow newer. */
enum table {
    OPEN_VSWITCH,
    BRIDGE,
    INTERFACE,
};

static const char *const table_names[] = {
    [OPEN_VSWITCH] = "Open_vSwitch",
    [BRIDGE] = "Bridge",
    [INTERFACE] = "Interface",
};

struct tcon_entry {
    enum table table;
    char *record;               /* Its name; "." for Open_vSwitch. */
    char *key;                  /* In other_config. */
    char *text;                 /* The key's value. */
    char *bridge;               /* Where it applies. */
    bool seen;                  /* The database still has it. */
    bool misplaced;             /* No rule can apply there. */

    bool tried;                 /* tcon.ko was there to read 'text'. */
    bool parsed;                /* 'rule' is what 'text' says. */
    bool final;                 /* 'text' is wrong whatever CCs there are. */
    bool good;                  /* 'rule' is the last good one. */
    struct tcon_error error;    /* Why 'text' is not parsed. */
    struct tcon_rule rule;
    const struct write *remover; /* The write that is about to remove it, or NULL. */
};

/* A transaction, and the command that waits for it. */
struct write {
    struct ovs_list node;
    struct ovsdb_idl_txn *txn;  /* NULL where nothing is to be written. */
    struct unixctl_conn *conn;
    char *reply;                /* What 'conn' is told if it succeeds. */
    bool sets;                  /* 'rule' was set before it was written. */
    bool whole_bridge;          /* All of the rule's bridge are removed. */
    struct tcon_rule rule;      /* Or its place, where it is removed. */
    struct tcon_rule *before;   /* The volatile one that 'rule' took the place
                                 * of, or NULL. */

    /* Where 'rule' is written. */
    enum table table;
    char *record;
    char *key;
};

/* By table, record, key and bridge. */
static struct shash entries = SHASH_INITIALIZER(&entries);

/* "struct write"s that are under way. */
static struct ovs_list writes = OVS_LIST_INITIALIZER(&writes);

static struct ovsdb_idl *idl;

/* The rule of an entry has ended: see remove_ended(). */
static bool any_ended;
static long long int remove_at_ms;

/* A command's transaction has ended since tcon_ovsdb_has_written() was called. */
static bool has_written;

/* Why tcon.ko does not answer; empty where it does. */
static struct tcon_error no_kernel;

/* True for the key that is no rule, but says where rules come from. */
static bool
is_fleet_key(enum table table, const char *key)
{
    return table == OPEN_VSWITCH && !strcmp(key, TCON_FLEET_KEY);
}

/* True for the key that is no rule, but says what a port is. */
static bool
is_role_key(enum table table, const char *key)
{
    return table == INTERFACE && !strcmp(key, TCON_ROLE_KEY);
}

/* Reading. */

void
tcon_ovsdb_begin(struct ovsdb_idl *idl_)
{
    struct shash_node *node;

    idl = idl_;
    SHASH_FOR_EACH (node, &entries) {
        struct tcon_entry *entry = node->data;

        entry->seen = false;
    }
}

static struct tcon_entry *
entry_get(enum table table, const char *record, const char *key,
          const char *bridge)
{
    char *id = xasprintf("%d %s %s %s", table, record, key, bridge);
    struct tcon_entry *entry = shash_find_data(&entries, id);

    if (!entry) {
        entry = xzalloc(sizeof *entry);
        entry->table = table;
        entry->record = xstrdup(record);
        entry->key = xstrdup(key);
        entry->bridge = xstrdup(bridge);
        shash_add_once(&entries, id, entry);
    }
    free(id);
    return entry;
}

static void
entry_destroy(struct tcon_entry *entry)
{
    free(entry->record);
    free(entry->key);
    free(entry->text);
    free(entry->bridge);
    free(entry);
}

static void
refuse(struct tcon_entry *entry, const char *why)
{
    entry->final = true;
    entry->parsed = false;
    tcon_error_set(&entry->error, "%s", why);
}

/* Notes the value 'text' of the key of 'entry'. */
static void
entry_update(struct tcon_entry *entry, const char *text)
{
    entry->seen = true;
    if (nullable_string_is_equal(entry->text, text)) {
        return;
    }
    free(entry->text);
    entry->text = xstrdup(text);
    entry->tried = entry->parsed = entry->final = false;
    if (is_fleet_key(entry->table, entry->key)) {
        entry->final = true;
    } else if (is_role_key(entry->table, entry->key)) {
        entry->final = true;
        if (strcmp(text, "guest") && strcmp(text, "uplink")) {
            refuse(entry, "neither \"guest\" nor \"uplink\"");
            VLOG_WARN("interface %s: other_config:"TCON_ROLE_KEY"=\"%s\" is "
                      "ignored: %s", entry->record, text, entry->error.text);
        } else {
            entry->error.text[0] = '\0';
        }
    } else if (strncmp(entry->key, RULE_PREFIX, strlen(RULE_PREFIX))) {
        refuse(entry, entry->table == INTERFACE
               ? "no such key: there are tcon-rule-NAME and tcon-role"
               : entry->table == OPEN_VSWITCH
               ? "no such key: there are tcon-rule-NAME and "TCON_FLEET_KEY
               : "no such key: there is tcon-rule-NAME");
    } else if (!tcon_rule_name_ok(entry->key + strlen(RULE_PREFIX))) {
        refuse(entry, "the name behind tcon-rule- must be of letters, digits, "
               "'.', '_' and '-', at most 63");
    }
}

/* Reads the keys of a record.  'refusal' says why none of them can apply, or is
 * NULL. */
static void
read_record(enum table table, const char *record, const char *bridge,
            const struct smap *other_config, const char *refusal)
{
    struct smap_node *node;

    SMAP_FOR_EACH (node, other_config) {
        struct tcon_entry *entry;

        if (strncmp(node->key, KEY_PREFIX, strlen(KEY_PREFIX))) {
            continue;
        }
        entry = entry_get(table, record, node->key, bridge);
        if (entry->misplaced && !refusal) {
            /* Of another type now: what 'text' says counts again. */
            free(entry->text);
            entry->text = NULL;
        }
        entry->misplaced = refusal != NULL;
        entry_update(entry, node->value);
        if (refusal) {
            entry->good = false;
            refuse(entry, refusal);
        }
    }
}

/* Returns why no port of this type can be a guest's, or NULL. */
static const char *
interface_refusal(const struct ovsrec_interface *iface)
{
    const char *type = iface->type;

    return (!*type || !strcmp(type, "system") || !strcmp(type, "tap")
            ? NULL : "an internal, tunnel or patch port is never a guest's");
}

/* Reads what applies to bridge 'name'.  'refusal' says why no rule can apply
 * there, or is NULL. */
void
tcon_ovsdb_bridge(const char *name, const char *refusal)
{
    const struct ovsrec_open_vswitch *ovs = ovsrec_open_vswitch_first(idl);
    const struct ovsrec_bridge *bridge;

    if (ovs) {
        read_record(OPEN_VSWITCH, ".", name, &ovs->other_config, refusal);
    }
    OVSREC_BRIDGE_FOR_EACH (bridge, idl) {
        if (strcmp(bridge->name, name)) {
            continue;
        }
        read_record(BRIDGE, name, name, &bridge->other_config, refusal);
        for (size_t i = 0; i < bridge->n_ports; i++) {
            const struct ovsrec_port *port = bridge->ports[i];

            for (size_t j = 0; j < port->n_interfaces; j++) {
                const struct ovsrec_interface *iface = port->interfaces[j];

                read_record(INTERFACE, iface->name, name, &iface->other_config,
                            refusal ? refusal : interface_refusal(iface));
            }
        }
    }
}

/* Forgets the entries that the database has no more.  tcon_ovsdb_apply() must
 * follow. */
void
tcon_ovsdb_end(void)
{
    struct shash_node *node;

    SHASH_FOR_EACH_SAFE (node, &entries) {
        struct tcon_entry *entry = node->data;

        if (!entry->seen) {
            entry_destroy(entry);
            shash_delete(&entries, node);
        }
    }
}

/* Applying. */

/* Checks and completes the port of a rule that 'entry' says. */
static bool
complete_port(const struct tcon_entry *entry, struct tcon_match *match,
              struct tcon_error *error)
{
    bool has_port = match->has_ofport || match->ifname[0];

    /* An iface-id is good for all bridges. */
    if (entry->table == OPEN_VSWITCH && has_port) {
        tcon_error_set(error, "in_port: the rule is for all bridges; put it "
                       "on the Interface or the Bridge");
    } else if (entry->table == INTERFACE && has_port) {
        tcon_error_set(error, "in_port: it is the Interface's own, leave it "
                       "out");
    } else if (entry->table == INTERFACE && match->iface_id[0]) {
        tcon_error_set(error, "iface-id: the rule is for the Interface that "
                       "it is on, leave it out");
    } else if (match->has_ofport) {
        tcon_error_set(error, "in_port: OVSDB takes the port's name only, "
                       "since its number may change");
    } else if (entry->table == INTERFACE
               && strlen(entry->record) >= sizeof match->ifname) {
        tcon_error_set(error, "no guest port has a name of more than %d "
                       "characters", TCON_IFNAME_MAX - 1);
    } else {
        if (entry->table == INTERFACE) {
            memcpy(match->ifname, entry->record, strlen(entry->record));
        }
        return true;
    }
    return false;
}

static void
entry_parse(struct tcon_entry *entry, struct tcon_nl *nl)
{
    /* No rule has this priority: it is left only where MATCH is wrong. */
    struct tcon_rule rule = { .priority = UINT32_MAX, .entry = entry };

    ovs_strlcpy(rule.bridge, entry->bridge, sizeof rule.bridge);
    snprintf(rule.source, sizeof rule.source, "%sother_config:%s of %s %s",
             tcon_fleet_has_key(entry->key) ? "by the fleet's database, " : "",
             entry->key, table_names[entry->table], entry->record);
    entry->tried = true;
    if (!tcon_rule_parse_text(nl, entry->text, &rule, &entry->error)) {
        /* Another module may bring a CC, or a parameter, that is missing. */
        entry->final = rule.priority == UINT32_MAX || rule.cc[0];
    } else if (!complete_port(entry, &rule.match, &entry->error)) {
        entry->final = true;
    } else {
        entry->parsed = entry->good = true;
        memcpy(&entry->rule, &rule, sizeof rule);
    }
}

/* Another tcon.ko may know what this one does not. */
void
tcon_ovsdb_forget_refusals(void)
{
    struct shash_node *node;

    SHASH_FOR_EACH (node, &entries) {
        struct tcon_entry *entry = node->data;

        entry->tried &= entry->final || entry->parsed;
    }
}

static const char *
rule_name(const struct tcon_entry *entry)
{
    return entry->key + strlen(RULE_PREFIX);
}

/* Oldest first. */
static int
compare_entries(const void *a_, const void *b_)
{
    const struct tcon_entry *a = *(const struct tcon_entry *const *) a_;
    const struct tcon_entry *b = *(const struct tcon_entry *const *) b_;
    int order = (a->table != b->table ? (a->table < b->table ? -1 : 1)
                 : strcmp(a->bridge, b->bridge));

    order = order ? order : strcmp(a->record, b->record);
    return order ? order : tcon_rule_name_compare(rule_name(a), rule_name(b));
}

/* Returns the entries that have a rule, oldest first.  The caller frees the
 * array. */
static struct tcon_entry **
good_entries(size_t *n)
{
    struct tcon_entry **sorted;
    struct shash_node *node;

    *n = 0;
    sorted = xmalloc(MAX(shash_count(&entries), 1) * sizeof *sorted);
    SHASH_FOR_EACH (node, &entries) {
        struct tcon_entry *entry = node->data;

        if (entry->good) {
            sorted[(*n)++] = entry;
        }
    }
    qsort(sorted, *n, sizeof *sorted, compare_entries);
    return sorted;
}

/* Reads what was not read yet and makes the list of rules what the database
 * says.  'nl' is NULL where tcon.ko does not answer, 'error' then says why.
 * Returns false if a rule is to be tried again later. */
bool
tcon_ovsdb_apply(struct tcon_nl *nl, const struct tcon_error *error)
{
    struct tcon_entry **sorted;
    struct tcon_rule *wanted;
    struct shash_node *node;
    size_t n, n_wanted = 0;
    bool complete = true;

    tcon_error_set(&no_kernel, "%s", nl ? "" : error->text);
    SHASH_FOR_EACH (node, &entries) {
        struct tcon_entry *entry = node->data;

        if (nl && !entry->parsed && !entry->final) {
            entry_parse(entry, nl);
            complete &= entry->parsed || entry->final;
        }
    }
    sorted = good_entries(&n);
    wanted = xmalloc(MAX(n, 1) * sizeof *wanted);
    for (size_t i = 0; i < n; i++) {
        if (tcon_rule_has_ended(&sorted[i]->rule)) {
            any_ended = true;
        } else if (!sorted[i]->remover) {
            memcpy(&wanted[n_wanted++], &sorted[i]->rule, sizeof *wanted);
        }
    }
    tcon_rules_replace(nl, wanted, n_wanted);
    free(wanted);
    free(sorted);
    return complete;
}

/* Writing. */

/* True if a transaction may succeed. */
bool
tcon_ovsdb_is_writable(void)
{
    return idl && ovsdb_idl_is_connected(idl)
           && !ovsdb_idl_is_lock_contended(idl);
}

/* True if a command may change 'entry': it is this host's, and for one
 * bridge. */
static bool
is_changeable(const struct tcon_entry *entry)
{
    return entry->table != OPEN_VSWITCH && !tcon_fleet_has_key(entry->key);
}

/* Returns the newest entry whose rule is at 'place' and which commands may
 * change, or NULL. */
static struct tcon_entry *
entry_at(const struct tcon_rule *place)
{
    struct tcon_entry *found = NULL;
    struct tcon_entry **sorted;
    size_t n;

    sorted = good_entries(&n);
    for (size_t i = 0; i < n; i++) {
        if (is_changeable(sorted[i])
            && tcon_rule_same_place(&sorted[i]->rule, place)) {
            found = sorted[i];
        }
    }
    free(sorted);
    return found;
}

/* Takes 'key' of 'record' into the highest number among the names of rules. */
static void
raise_number(enum table table, const char *record, const char *key,
             const struct write *where, char highest[TCON_RULE_NAME_MAX])
{
    const char *name = key + strlen(RULE_PREFIX);

    if (table == where->table && !strcmp(record, where->record)
        && !strncmp(key, RULE_PREFIX, strlen(RULE_PREFIX))
        && strlen(name) < TCON_RULE_NAME_MAX && tcon_rule_name_is_number(name)
        && tcon_rule_name_compare(name, highest) > 0) {
        ovs_strlcpy(highest, name, TCON_RULE_NAME_MAX);
    }
}

/* Returns the key for a rule that becomes the newest where 'where' says.  Returns
 * NULL, with a sentence, if there is none. */
static char *
next_key(const struct write *where, struct tcon_error *error)
{
    char highest[TCON_RULE_NAME_MAX] = "0", next[TCON_RULE_NAME_MAX];
    const struct shash_node *node;
    const struct write *write;

    SHASH_FOR_EACH (node, &entries) {
        const struct tcon_entry *entry = node->data;

        raise_number(entry->table, entry->record, entry->key, where, highest);
    }
    LIST_FOR_EACH (write, node, &writes) {
        if (write->sets) {
            raise_number(write->table, write->record, write->key, where,
                         highest);
        }
    }
    if (!tcon_rule_name_next(highest, next)) {
        tcon_error_set(error, "no number is left behind "RULE_PREFIX"%s of "
                       "%s %s: give that rule another name", highest,
                       table_names[where->table], where->record);
        return NULL;
    }
    return xasprintf(RULE_PREFIX"%s", next);
}

/* Finds out where 'rule' is to be written: where 'old' is, the one of its place,
 * unless that is NULL, else to its bridge.  A name that an operator gave is kept.
 * Returns false, with a sentence, if no name is left. */
static bool
place_write(const struct tcon_rule *rule, const struct tcon_entry *old,
            struct write *where, struct tcon_error *error)
{
    where->table = old ? old->table : BRIDGE;
    where->record = xstrdup(old ? old->record : rule->bridge);
    where->key = (old && !tcon_rule_name_is_number(rule_name(old))
                  ? xstrdup(old->key) : next_key(where, error));
    return where->key != NULL;
}

/* As tcon_ovsdb_is_writable(), with a sentence. */
static bool
check_writable(struct tcon_error *error)
{
    bool ok = tcon_ovsdb_is_writable();

    if (!ok) {
        tcon_error_set(error, "OVSDB does not take the change (%s), nothing is "
                       "changed", idl && ovsdb_idl_is_connected(idl)
                       ? "another process has its lock" : "not connected");
    }
    return ok;
}

/* True if the database holds 'rule' already, and well written. */
bool
tcon_ovsdb_has(const struct tcon_rule *rule)
{
    const struct tcon_rule *kept = tcon_rule_find(rule);

    return kept && kept->entry && kept->entry->parsed
           && kept->entry->rule.until_s == rule->until_s
           && tcon_rule_same_decision(kept, rule);
}

/* Returns false, with a sentence, if 'rule' cannot be written.  A rule that
 * could not be kept is not to be set for a moment: a volatile rule might have to go
 * for it. */
bool
tcon_ovsdb_can_set(const struct tcon_rule *rule, struct tcon_error *error)
{
    struct write where;
    bool ok;

    if (tcon_ovsdb_has(rule)) {
        return true;
    }
    ok = check_writable(error);
    if (ok) {
        ok = place_write(rule, entry_at(rule), &where, error);
        free(where.record);
        free(where.key);
    }
    return ok;
}

/* True if a command is about to write the rule at 'place', or if that is NULL
 * any of 'bridge'.  The next one that writes there must wait: it could not know
 * what is there. */
bool
tcon_ovsdb_is_writing(const char *bridge, const struct tcon_rule *place)
{
    const struct write *write;

    LIST_FOR_EACH (write, node, &writes) {
        if (!strcmp(write->rule.bridge, bridge)
            && (write->whole_bridge || !place
                || tcon_rule_same_place(&write->rule, place))) {
            return true;
        }
    }
    return false;
}

/* Returns true if a command that had to wait may be tried again. */
bool
tcon_ovsdb_has_written(void)
{
    bool written = has_written;

    has_written = false;
    return written;
}

/* Calls that differ by table only. */
static void
set_key(enum table table, const char *record, const char *key,
        const char *value)
{
    const struct ovsrec_interface *iface;
    const struct ovsrec_bridge *bridge;

    if (table == BRIDGE) {
        OVSREC_BRIDGE_FOR_EACH (bridge, idl) {
            if (strcmp(bridge->name, record)) {
                continue;
            } else if (value) {
                ovsrec_bridge_update_other_config_setkey(bridge, key, value);
            } else {
                ovsrec_bridge_update_other_config_delkey(bridge, key);
            }
        }
    } else if (table == INTERFACE) {
        OVSREC_INTERFACE_FOR_EACH (iface, idl) {
            if (strcmp(iface->name, record)) {
                continue;
            } else if (value) {
                ovsrec_interface_update_other_config_setkey(iface, key, value);
            } else {
                ovsrec_interface_update_other_config_delkey(iface, key);
            }
        }
    }
}

/* Starts a transaction.  The caller fills and commits it, before vswitchd
 * starts one of its own.  'conn' is NULL if no command waits for it. */
static struct write *
write_start(struct unixctl_conn *conn, const char *command, const char *reply)
{
    struct write *write = xzalloc(sizeof *write);

    COVERAGE_INC(tcon_ovsdb_write);
    write->conn = conn;
    write->reply = reply ? xstrdup(reply) : NULL;
    write->txn = ovsdb_idl_txn_create(idl);
    ovsdb_idl_txn_add_comment(write->txn, "%s: %s", program_name, command);
    ovs_list_push_back(&writes, &write->node);
    return write;
}

/* Writes 'rule', which tcon.ko and the list have, with 'command' as the comment of
 * the transaction, and gives 'conn' the 'reply'.
 * tcon_ovsdb_can_set() has said that this can be done.  Takes over 'before', the
 * volatile rule that was there, or NULL: it comes back if this fails. */
void
tcon_ovsdb_set(struct unixctl_conn *conn, const char *command,
               const char *reply, const struct tcon_rule *rule,
               struct tcon_rule *before)
{
    const struct tcon_entry *old = entry_at(rule);
    struct tcon_rule written = *rule;
    struct tcon_error error;
    struct write *write;
    char *text;

    write = write_start(conn, command, reply);
    write->rule = *rule;
    write->before = before;
    ovs_assert(place_write(rule, old, write, &error));
    write->sets = true;
    if (write->table == INTERFACE) {
        memset(written.match.ifname, 0, sizeof written.match.ifname);
    }
    if (old && strcmp(old->key, write->key)) {
        set_key(write->table, write->record, old->key, NULL);
    }
    text = tcon_rule_format(&written);
    set_key(write->table, write->record, write->key, text);
    ovsdb_idl_txn_commit(write->txn);
    free(text);
}

/* True if 'entry' is a rule of 'bridge' at 'place', or at any place if that is
 * NULL. */
static bool
entry_is_at(const struct tcon_entry *entry, const char *bridge,
            const struct tcon_rule *place)
{
    return !strcmp(entry->bridge, bridge)
           && !strncmp(entry->key, RULE_PREFIX, strlen(RULE_PREFIX))
           && (!place || (entry->good
                          && tcon_rule_same_place(&entry->rule, place)));
}

/* Says why no command removes 'entry', and what does. */
static void
refuse_removal(const struct tcon_entry *entry, struct tcon_error *error)
{
    if (tcon_fleet_has_key(entry->key)) {
        tcon_error_set(error, "other_config:%.80s of %s %s comes from the "
                       "fleet's database; remove tcon-rule-%.80s there",
                       entry->key, table_names[entry->table], entry->record,
                       entry->key + strlen(TCON_FLEET_RULE_PREFIX));
    } else {
        tcon_error_set(error, "other_config:%.80s of Open_vSwitch is for "
                       "all bridges; to remove it: ovs-vsctl remove "
                       "Open_vSwitch . other_config %.80s", entry->key,
                       entry->key);
    }
}

/* Returns false, with a sentence, if the rule at 'place', or one of 'bridge' if
 * that is NULL, is one of all bridges or of the fleet, or the database does not
 * let go of it. */
bool
tcon_ovsdb_can_remove(const char *bridge, const struct tcon_rule *place,
                      struct tcon_error *error)
{
    const struct tcon_rule *kept = place ? tcon_rule_find(place) : NULL;
    struct shash_node *node;
    bool must_write = false;

    SHASH_FOR_EACH (node, &entries) {
        const struct tcon_entry *entry = node->data;

        if (!entry_is_at(entry, bridge, place)) {
            continue;
        }
        if (!is_changeable(entry) && entry->good
            && (!kept || kept->entry == entry)) {
            refuse_removal(entry, error);
            return false;
        }
        must_write |= is_changeable(entry);
    }
    return !must_write || check_writable(error);
}

/* Removes the rule at 'place', or all of 'bridge' if that is NULL.  'command' and
 * 'reply' are as for tcon_ovsdb_set(). */
void
tcon_ovsdb_remove(struct unixctl_conn *conn, const char *command,
                  const char *reply, const char *bridge,
                  const struct tcon_rule *place)
{
    struct write *write = write_start(conn, command, reply);
    struct shash_node *node;
    bool any = false;

    write->whole_bridge = !place;
    if (place) {
        write->rule = *place;
    } else {
        ovs_strlcpy(write->rule.bridge, bridge, sizeof write->rule.bridge);
    }
    SHASH_FOR_EACH (node, &entries) {
        struct tcon_entry *entry = node->data;

        if (is_changeable(entry) && entry_is_at(entry, bridge, place)) {
            entry->remover = write;
            set_key(entry->table, entry->record, entry->key, NULL);
            any = true;
        }
    }
    if (any) {
        ovsdb_idl_txn_commit(write->txn);
    } else {
        ovsdb_idl_txn_destroy(write->txn);
        write->txn = NULL;
    }
}

/* The rule that 'write' has set is OVSDB's now, or goes, and the volatile one that
 * was there comes back.  But what set-cc --volatile has set there since stays as
 * it is. */
static void
hand_over(const struct write *write, bool ok)
{
    struct tcon_rule *rule = write->sets ? tcon_rule_find(&write->rule) : NULL;

    if (rule && !rule->entry && !ok && write->before
        && (rule->being_written
            || (tcon_rule_same_decision(rule, write->before)
                && rule->until_s == write->rule.until_s))) {
        write->before->in_kernel = false;
        tcon_rule_keep(write->before, true);
    } else if (rule && !rule->entry
        && (ok ? tcon_rule_same_decision(rule, &write->rule)
                 && !tcon_rule_outlives(rule, &write->rule)
               : rule->being_written)) {
        rule->adopted = true;
    }
}

/* Replies.  What 'write' was to remove is gone, or stays. */
static void
write_finish(struct write *write, enum ovsdb_idl_txn_status status)
{
    bool ok = status == TXN_SUCCESS || status == TXN_UNCHANGED;
    struct shash_node *node;

    hand_over(write, ok);
    SHASH_FOR_EACH (node, &entries) {
        struct tcon_entry *entry = node->data;

        if (entry->remover == write) {
            entry->remover = NULL;
        }
    }
    if (!write->conn) {
        /* Nobody asked for it. */
    } else if (ok) {
        unixctl_command_reply(write->conn, write->reply);
    } else {
        struct tcon_error error;

        tcon_error_set(&error, "OVSDB does not take the change (%.200s), "
                       "nothing is changed", status == TXN_ERROR
                       ? ovsdb_idl_txn_get_error(write->txn)
                       : ovsdb_idl_txn_status_to_string(status));
        unixctl_command_reply_error(write->conn, error.text);
    }
    if (write->txn) {
        ovsdb_idl_txn_destroy(write->txn);
    }
    has_written = true;
    ovs_list_remove(&write->node);
    free(write->before);
    free(write->reply);
    free(write->record);
    free(write->key);
    free(write);
}

/* Removes the keys whose rules have ended, of those that tcon/set-cc has named.
 * Other programs remove their own keys. */
static void
remove_ended(void)
{
    struct write *write = NULL;
    struct shash_node *node;

    if (!any_ended || !tcon_ovsdb_is_writable()
        || time_msec() < remove_at_ms) {
        return;
    }
    any_ended = false;
    SHASH_FOR_EACH (node, &entries) {
        struct tcon_entry *entry = node->data;

        if (entry->good && !entry->remover && is_changeable(entry)
            && tcon_rule_has_ended(&entry->rule)
            && tcon_rule_name_is_number(rule_name(entry))) {
            write = write ? write : write_start(NULL, "a rule has ended", NULL);
            entry->remover = write;
            set_key(entry->table, entry->record, entry->key, NULL);
        }
    }
    if (write) {
        remove_at_ms = time_msec() + REMOVE_PAUSE_MS;
        ovsdb_idl_txn_commit(write->txn);
    }
}

/* Returns true if a transaction has ended: tcon_ovsdb_apply() must follow. */
bool
tcon_ovsdb_run(void)
{
    struct write *write;
    bool any = false;

    remove_ended();
    LIST_FOR_EACH_SAFE (write, node, &writes) {
        enum ovsdb_idl_txn_status status;

        status = write->txn ? ovsdb_idl_txn_commit(write->txn) : TXN_UNCHANGED;
        if (status != TXN_INCOMPLETE) {
            write_finish(write, status);
            any = true;
        }
    }
    return any;
}

void
tcon_ovsdb_wait(void)
{
    struct write *write;

    if (any_ended && tcon_ovsdb_is_writable()) {
        poll_timer_wait_until(remove_at_ms);
    }
    LIST_FOR_EACH (write, node, &writes) {
        if (write->txn) {
            ovsdb_idl_txn_wait(write->txn);
        } else {
            poll_immediate_wake();
        }
    }
}

/* Telling. */

/* Returns one word for what became of 'entry', and in 'detail', which the
 * caller frees, the rest of the sentence. */
static const char *
entry_state(const struct tcon_entry *entry, char **detail)
{
    const struct tcon_rule *rule = NULL;
    char *text = entry->good ? tcon_rule_format(&entry->rule) : NULL;
    const char *state;

    if (is_fleet_key(entry->table, entry->key)) {
        return tcon_fleet_state(detail);
    }
    if (is_role_key(entry->table, entry->key)) {
        bool refused = entry->error.text[0];

        *detail = xstrdup(refused ? entry->error.text : entry->text);
        return refused ? "refused" : "applied";
    }
    if (entry->good) {
        rule = tcon_rule_find(&entry->rule);
    }
    if (!entry->parsed) {
        state = entry->tried || entry->final ? "refused" : "waiting";
        *detail = xasprintf("%s%s%s", entry->tried || entry->final
                            ? entry->error.text : no_kernel.text,
                            text ? "; the last good one stays: " : "",
                            text ? text : "");
    } else if (tcon_rule_has_ended(&entry->rule)) {
        state = "ended";
        *detail = xstrdup(text);
    } else if (!rule || rule->entry != entry) {
        state = "hidden";
        *detail = (rule && rule->entry
                   ? xasprintf("by %s of %s %s", rule->entry->key,
                               table_names[rule->entry->table],
                               rule->entry->record)
                   : xstrdup("by a command"));
    } else if (rule->in_kernel) {
        state = "applied";
        *detail = xstrdup(text);
    } else {
        state = "waiting";
        *detail = xstrdup(no_kernel.text[0] ? no_kernel.text
                          : "tcon.ko does not take it yet");
    }
    free(text);
    return state;
}

/* Adds to 'status', a Bridge's, or an Interface's if 'iface' is not
 * NULL, what became of its keys.  Open_vSwitch has no such column: each Bridge
 * tells what became of it there. */
void
tcon_ovsdb_put_status(const char *bridge, const char *iface,
                      struct smap *status)
{
    struct shash_node *node;

    SHASH_FOR_EACH (node, &entries) {
        const struct tcon_entry *entry = node->data;
        bool mine = (entry->table == INTERFACE
                     ? iface && !strcmp(iface, entry->record) : !iface);
        const char *state, *rest = entry->key + strlen(KEY_PREFIX);
        char *detail, *key, *value;

        if (!mine || strcmp(entry->bridge, bridge)) {
            continue;
        }
        state = entry_state(entry, &detail);
        key = xasprintf("tcon_%s%s", entry->table == OPEN_VSWITCH
                        ? "global_" : "", rest);
        if (!strncmp(rest, "rule-", 5)) {
            key[strlen(key) - strlen(rest) + 4] = '_';
        }
        value = xasprintf("%s: %s", state, detail);
        smap_replace(status, key, value);
        free(key);
        free(value);
        free(detail);
    }
}

/* Writes the keys of 'wanted' that 'present' lacks, and removes TCon's keys
 * that are only there. */
static void
update_status(const struct smap *present, const struct smap *wanted,
              const struct ovsrec_bridge *bridge,
              const struct ovsrec_interface *iface)
{
    const struct smap_node *node;

    SMAP_FOR_EACH (node, wanted) {
        const char *old = smap_get(present, node->key);

        if (nullable_string_is_equal(old, node->value)) {
            continue;
        } else if (iface) {
            ovsrec_interface_update_status_setkey(iface, node->key,
                                                  node->value);
        } else {
            ovsrec_bridge_update_status_setkey(bridge, node->key, node->value);
        }
    }
    SMAP_FOR_EACH (node, present) {
        if (strncmp(node->key, "tcon_", 5) || smap_get(wanted, node->key)) {
            continue;
        } else if (iface) {
            ovsrec_interface_update_status_delkey(iface, node->key);
        } else {
            ovsrec_bridge_update_status_delkey(bridge, node->key);
        }
    }
}

/* For a daemon beside ovs-vswitchd, which knows nothing of TCon's keys and
 * replaces the columns now and then: makes them say what became of each key. */
void
tcon_ovsdb_write_status(void)
{
    struct ovsdb_idl_txn *txn = ovsdb_idl_txn_create(idl);
    const struct ovsrec_bridge *bridge;

    OVSREC_BRIDGE_FOR_EACH (bridge, idl) {
        struct smap wanted = SMAP_INITIALIZER(&wanted);

        tcon_ovsdb_put_status(bridge->name, NULL, &wanted);
        update_status(&bridge->status, &wanted, bridge, NULL);
        for (size_t i = 0; i < bridge->n_ports; i++) {
            const struct ovsrec_port *port = bridge->ports[i];

            for (size_t j = 0; j < port->n_interfaces; j++) {
                const struct ovsrec_interface *iface = port->interfaces[j];

                smap_clear(&wanted);
                tcon_ovsdb_put_status(bridge->name, iface->name, &wanted);
                update_status(&iface->status, &wanted, NULL, iface);
            }
        }
        smap_destroy(&wanted);
    }
    ovsdb_idl_txn_commit(txn);
    ovsdb_idl_txn_destroy(txn);
}

/* Where the rule is that 'entry' says, or said last: null if there is none. */
static void
put_place(struct json *json, const struct tcon_entry *entry)
{
    char match[TCON_MATCH_TEXT_MAX];

    if (entry->good) {
        tcon_match_format(&entry->rule.match, match);
        json_object_put_string(json, "match", match);
        json_object_put(json, "priority",
                        json_integer_create(entry->rule.priority));
    } else {
        json_object_put(json, "match", json_null_create());
        json_object_put(json, "priority", json_null_create());
    }
}

static struct json *
entry_to_json(const struct tcon_entry *entry)
{
    struct json *json = json_object_create();

    json_object_put_string(json, "table", table_names[entry->table]);
    json_object_put_string(json, "record", entry->record);
    json_object_put_string(json, "key", entry->key);
    return json;
}

/* Returns an array of the keys that concern 'bridge', each with its value and
 * what became of it. */
struct json *
tcon_ovsdb_to_json(const char *bridge)
{
    const struct shash_node **nodes = shash_sort(&entries);
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < shash_count(&entries); i++) {
        const struct tcon_entry *entry = nodes[i]->data;

        if (!strcmp(entry->bridge, bridge)) {
            struct json *json = entry_to_json(entry);
            char *detail;

            json_object_put_string(json, "value", entry->text);
            json_object_put_string(json, "state", entry_state(entry, &detail));
            json_object_put_string(json, "detail", detail);
            put_place(json, entry);
            json_array_add(array, json);
            free(detail);
        }
    }
    free(nodes);
    return array;
}

/* Returns where OVSDB holds 'rule', or null. */
struct json *
tcon_ovsdb_source(const struct tcon_rule *rule)
{
    const struct tcon_rule *kept = tcon_rule_find(rule);

    return kept && kept->entry ? entry_to_json(kept->entry)
                               : json_null_create();
}

/* Returns the names of the interfaces of 'port' if it is a bond, or NULL.  The
 * caller frees them. */
char *
tcon_ovsdb_bond_members(const char *name)
{
    struct ds members = DS_EMPTY_INITIALIZER;
    const struct ovsrec_port *port;

    OVSREC_PORT_FOR_EACH (port, idl) {
        if (!strcmp(port->name, name) && port->n_interfaces > 1) {
            for (size_t i = 0; i < port->n_interfaces; i++) {
                ds_put_format(&members, "%s%s", i ? ", " : "",
                              port->interfaces[i]->name);
            }
            return ds_steal_cstr(&members);
        }
    }
    return NULL;
}
