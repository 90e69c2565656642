/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */

#include <config.h>

#include "tcon-move.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/shash.h"
#include "openvswitch/vlog.h"
#include "smap.h"
#include "tcon-command.h"
#include "tcon-state.h"
#include "tcon-words.h"
#include "unixctl.h"
#include "util.h"
#include "uuid.h"

VLOG_DEFINE_THIS_MODULE(tcon_move);

/* Where libvirt keeps what migrates with a guest's port: it reads this from
 * the host that the guest leaves, and writes it on the next one before the
 * guest runs there (libvirt's virnetdevopenvswitch.c). */
#define PORT_DATA "PortData"

/* By interface's UUID, how the PORT_DATA begins that was looked at last: with
 * its header, which has its time and checksum. */
static struct smap seen = SMAP_INITIALIZER(&seen);
#define BEGIN_LEN (sizeof(struct tcon_state_header) * 4 / 3)

struct records {
    struct tcon_state_record *records;
    size_t n, allocated;
};

static struct ofpbuf *
port_request(const struct tcon_nl *nl, enum tcon_cmd cmd,
             const struct tcon_port *port)
{
    struct ofpbuf *request = tcon_nl_request(nl, cmd);
    size_t nest = tcon_nl_start_nest(request, TCON_A_PORT);

    nl_msg_put_u32(request, TCON_PORT_A_IFINDEX, port->ifindex);
    nl_msg_end_nested(request, nest);
    return request;
}

/* Finds the guest's port, and opens 'nl', which the caller must close. */
static const struct tcon_port *
open_port(struct tcon_nl *nl, const char *bridge_name, const char *port_name,
          struct tcon_error *error)
{
    const struct tcon_bridge *bridge = tcon_bridge_lookup(bridge_name, error);
    const struct tcon_port *port;

    if (!bridge || !tcon_nl_open(nl, error)) {
        return NULL;
    }
    port = tcon_guest_port(bridge_name, bridge, nl, port_name, error);
    if (!port) {
        tcon_nl_close(nl);
    }
    return port;
}

/* Export. */

static bool
get_record(struct nlattr *top[], void *records_)
{
    struct records *records = records_;
    const struct nlattr *state = top[TCON_A_STATE];

    if (state && nl_attr_get_size(state) == sizeof *records->records) {
        if (records->n >= records->allocated) {
            records->records = x2nrealloc(records->records,
                                          &records->allocated,
                                          sizeof *records->records);
        }
        memcpy(&records->records[records->n++], nl_attr_get(state),
               sizeof *records->records);
    }
    return true;
}

/* Flows with a CC come first, since there may be room for a part only. */
static int
compare_records(const void *a_, const void *b_)
{
    const struct tcon_state_record *a = a_, *b = b_;

    return !a->cc[0] - !b->cc[0];
}

/* tcon/export-port BRIDGE PORT */
static void
tcon_unixctl_export_port(struct unixctl_conn *conn, int argc OVS_UNUSED,
                         const char *argv[], void *aux OVS_UNUSED)
{
    struct records records = { .n = 0 };
    const struct tcon_port *port;
    struct ds reply = DS_EMPTY_INITIALIZER;
    struct tcon_error error;
    struct tcon_nl nl;
    int err = 0;

    port = open_port(&nl, argv[1], argv[2], &error);
    if (port) {
        err = tcon_nl_dump(&nl, port_request(&nl, TCON_CMD_GET_STATE, port),
                           get_record, &records, &error);
        tcon_nl_close(&nl);
    }
    if (!port || err) {
        unixctl_command_reply_error(conn, error.text);
        free(records.records);
        return;
    }
    if (records.n) {
        qsort(records.records, records.n, sizeof *records.records,
              compare_records);
    }
    for (size_t i = 0; i < records.n; i += TCON_STATE_MAX_RECORDS) {
        char *text = tcon_state_encode(&records.records[i],
                                       MIN(records.n - i,
                                           TCON_STATE_MAX_RECORDS),
                                       time(NULL));

        ds_put_format(&reply, "%s\n", text);
        free(text);
    }
    ds_chomp(&reply, '\n');
    unixctl_command_reply(conn, ds_cstr(&reply));
    ds_destroy(&reply);
    free(records.records);
}

/* Import. */

/* Gives 'records' to tcon.ko; if 'check', it only looks at them. */
static bool
put_records(struct tcon_nl *nl, const struct tcon_port *port,
            const struct records *records, bool check,
            struct tcon_error *error)
{
    for (size_t i = 0; i < records->n; i++) {
        struct ofpbuf *request = port_request(nl, TCON_CMD_SET_STATE, port);
        struct tcon_error why;

        nl_msg_put_unspec(request, TCON_A_STATE, &records->records[i],
                          sizeof records->records[i]);
        if (check) {
            nl_msg_put_flag(request, TCON_A_CHECK);
        }
        if (tcon_nl_do(nl, request, NULL, NULL, &why)) {
            tcon_error_set(error, check ? "tcon.ko refuses record %zu of "
                           "%zu: %s" : "tcon.ko has not taken record %zu of "
                           "%zu, nor those after it: %s", i + 1, records->n,
                           why.text);
            return false;
        }
    }
    return true;
}

/* Appends the records of 'text' to 'records'. */
static bool
add_state(const char *text, struct records *records, struct tcon_error *error)
{
    struct tcon_state_record *more;
    size_t n;

    more = tcon_state_decode(text, time(NULL), &n, error);
    if (!more) {
        return false;
    }
    records->records = xrealloc(records->records, (records->n + n)
                                * sizeof *records->records);
    memcpy(&records->records[records->n], more, n * sizeof *more);
    records->n += n;
    free(more);
    return true;
}

/* tcon/import-port BRIDGE PORT STATE... */
static void
tcon_unixctl_import_port(struct unixctl_conn *conn, int argc,
                         const char *argv[], void *aux OVS_UNUSED)
{
    struct records records = { .n = 0 };
    const struct tcon_port *port;
    struct tcon_error error;
    struct tcon_nl nl;
    bool ok = false;

    port = open_port(&nl, argv[1], argv[2], &error);
    if (port) {
        ok = true;
        for (int i = 3; ok && i < argc; i++) {
            ok = add_state(argv[i], &records, &error);
        }
        ok = (ok && put_records(&nl, port, &records, true, &error)
              && put_records(&nl, port, &records, false, &error));
        tcon_nl_close(&nl);
    }
    free(records.records);
    if (ok) {
        unixctl_command_reply(conn, NULL);
    } else {
        unixctl_command_reply_error(conn, error.text);
    }
}

/* Returns the name of the bridge that has a port of this name, or NULL. */
static const char *
bridge_of(const char *port_name)
{
    const struct shash_node *node;

    SHASH_FOR_EACH (node, tcon_bridges()) {
        const struct tcon_bridge *bridge = node->data;

        for (size_t i = 0; i < bridge->n_ports; i++) {
            if (!strcmp(bridge->ports[i].name, port_name)) {
                return node->name;
            }
        }
    }
    return NULL;
}

/* Is 'text' another than when the interface was looked at last? */
static bool
is_news(const struct uuid *interface, const char *text)
{
    char *key = xasprintf(UUID_FMT, UUID_ARGS(interface));
    char *begin = xmemdup0(text, strnlen(text, BEGIN_LEN));
    bool news = !nullable_string_is_equal(begin, smap_get(&seen, key));

    if (news) {
        smap_replace(&seen, key, begin);
    }
    free(begin);
    free(key);
    return news;
}

/* A state is for the port that has it, once.  Other programs' texts there
 * are theirs.  On the host that a guest leaves its flows are known, and
 * tcon.ko leaves them as they are. */
void
tcon_move_port_data(const struct uuid *interface, const char *port_name,
                    const struct smap *external_ids)
{
    const char *text = smap_get(external_ids, PORT_DATA);
    struct records records = { .n = 0 };
    const struct tcon_port *port;
    struct tcon_error error;
    const char *bridge;
    struct tcon_nl nl;
    bool ok;

    if (!text || !tcon_state_is_one(text)) {
        return;
    }
    bridge = bridge_of(port_name);
    if (!bridge /* Not yet. */ || !is_news(interface, text)) {
        return;
    }
    ok = add_state(text, &records, &error);
    port = ok ? open_port(&nl, bridge, port_name, &error) : NULL;
    if (port) {
        ok = (put_records(&nl, port, &records, true, &error)
              && put_records(&nl, port, &records, false, &error));
        tcon_nl_close(&nl);
    }
    if (port && ok) {
        VLOG_INFO("interface %s: %"PRIuSIZE" flows of its guest are known",
                  port_name, records.n);
    } else {
        VLOG_WARN("interface %s: external_ids:"PORT_DATA" is ignored: %s",
                  port_name, error.text);
    }
    free(records.records);
}

void
tcon_move_init(void)
{
    static const struct tcon_command export_port = {
        "tcon/export-port", "bridge port",
        "prints what is known of the flows of a guest that moves",
        "br0 vnet0", 2, 2, tcon_unixctl_export_port,
    };
    static const struct tcon_command import_port = {
        "tcon/import-port", "bridge port state...",
        "takes over the flows of a guest that has moved here",
        "br0 vnet0 $STATE", 3, INT_MAX, tcon_unixctl_import_port,
    };

    tcon_command_register(&export_port);
    tcon_command_register(&import_port);
}
