/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * tcon-switchd: the tcon/ commands for an ovs-vswitchd that does not have them.
 *
 * ovs-vswitchd writes to OVSDB all that TCon must know from it: which bridges
 * there are, and each port's OpenFlow number and device.  So this daemon reads
 * it there.  All else is the code that also runs in a patched ovs-vswitchd.
 */

#include <config.h>

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "command-line.h"
#include "daemon.h"
#include "dirs.h"
#include "fatal-signal.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "ovsdb-idl.h"
#include "stream-ssl.h"
#include "tcon-command.h"
#include "tcon.h"
#include "unixctl.h"
#include "util.h"
#include "vswitch-idl.h"

/* How the daemon was told to exit. */
struct exit_request {
    bool exiting;
    bool cleanup;               /* Remove the rules from tcon.ko, too. */
};

OVS_NO_RETURN static void
usage(void)
{
    printf("%s: the tcon/ commands, beside ovs-vswitchd\n"
           "usage: %s [OPTIONS] [DATABASE]\n"
           "where DATABASE is a socket on which ovsdb-server is listening\n"
           "      (default: \"unix:%s/db.sock\").\n",
           program_name, program_name, ovs_rundir());
    daemon_usage();
    vlog_usage();
    printf("\nOther options:\n"
           "  --unixctl=SOCKET        override default control socket name\n"
           "  -h, --help              display this help message\n"
           "  -V, --version           display version information\n");
    exit(EXIT_SUCCESS);
}

/* Returns the database to connect to.  The caller frees it. */
static char *
parse_options(int argc, char *argv[], char **unixctl_path)
{
    enum {
        OPT_UNIXCTL = UCHAR_MAX + 1,
        VLOG_OPTION_ENUMS,
        DAEMON_OPTION_ENUMS,
    };
    static const struct option long_options[] = {
        { "help", no_argument, NULL, 'h' },
        { "version", no_argument, NULL, 'V' },
        { "unixctl", required_argument, NULL, OPT_UNIXCTL },
        DAEMON_LONG_OPTIONS,
        VLOG_LONG_OPTIONS,
        { NULL, 0, NULL, 0 },
    };
    char *short_options = ovs_cmdl_long_options_to_short_options(long_options);
    int c;

    while ((c = getopt_long(argc, argv, short_options, long_options, NULL))
           != -1) {
        switch (c) {
        case 'h':
            usage();
        case 'V':
            ovs_print_version(0, 0);
            exit(EXIT_SUCCESS);
        case OPT_UNIXCTL:
            *unixctl_path = optarg;
            break;
        VLOG_OPTION_HANDLERS
        DAEMON_OPTION_HANDLERS
        default:
            exit(EXIT_FAILURE);
        }
    }
    free(short_options);
    if (argc - optind > 1) {
        ovs_fatal(0, "one database at most; use --help for usage");
    }
    return (optind < argc ? xstrdup(argv[optind])
            : xasprintf("unix:%s/db.sock", ovs_rundir()));
}

/* Asks for what configure() reads, and nothing else: statistics change often. */
static struct ovsdb_idl *
open_database(const char *remote)
{
    static const struct ovsdb_idl_column *columns[] = {
        &ovsrec_open_vswitch_col_bridges,
        &ovsrec_open_vswitch_col_other_config,
        &ovsrec_open_vswitch_col_ssl,
        &ovsrec_ssl_col_private_key,
        &ovsrec_ssl_col_certificate,
        &ovsrec_ssl_col_ca_cert,
        &ovsrec_ssl_col_bootstrap_ca_cert,
        &ovsrec_bridge_col_name,
        &ovsrec_bridge_col_datapath_type,
        &ovsrec_bridge_col_other_config,
        &ovsrec_bridge_col_ports,
        &ovsrec_bridge_col_status,
        &ovsrec_port_col_name,
        &ovsrec_port_col_interfaces,
        &ovsrec_interface_col_name,
        &ovsrec_interface_col_type,
        &ovsrec_interface_col_ofport,
        &ovsrec_interface_col_ifindex,
        &ovsrec_interface_col_other_config,
        &ovsrec_interface_col_external_ids,
        &ovsrec_interface_col_status,
    };
    struct ovsdb_idl *idl = ovsdb_idl_create(remote, &ovsrec_idl_class, false,
                                             true);

    for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
        ovsdb_idl_add_column(idl, columns[i]);
    }
    return idl;
}

/* A port that has no number yet, or none any more, is no port of the bridge. */
static void
configure_interface(const struct ovsrec_bridge *bridge,
                    const struct ovsrec_interface *iface)
{
    bool is_local = !strcmp(iface->name, bridge->name);

    if (iface->n_ofport && iface->ofport[0] > 0) {
        tcon_config_port(bridge->name, iface->name,
                         is_local ? "internal" : iface->type,
                         iface->ofport[0],
                         iface->n_ifindex ? iface->ifindex[0] : 0,
                         iface);
    }
}

static void
configure(struct ovsdb_idl *idl, const struct ovsrec_open_vswitch *root)
{
    const struct ovsrec_interface *iface;

    if (root->ssl) {            /* For a fleet's database. */
        stream_ssl_set_key_and_cert(root->ssl->private_key,
                                    root->ssl->certificate);
        stream_ssl_set_ca_cert_file(root->ssl->ca_cert,
                                    root->ssl->bootstrap_ca_cert);
    }
    tcon_config_begin(idl);
    for (size_t i = 0; i < root->n_bridges; i++) {
        const struct ovsrec_bridge *bridge = root->bridges[i];

        tcon_config_bridge(bridge->name, bridge->datapath_type);
        for (size_t j = 0; j < bridge->n_ports; j++) {
            const struct ovsrec_port *port = bridge->ports[j];

            for (size_t k = 0; k < port->n_interfaces; k++) {
                configure_interface(bridge, port->interfaces[k]);
            }
        }
    }
    tcon_config_end();
    OVSREC_INTERFACE_FOR_EACH (iface, idl) {
        tcon_move_port_data(&iface->header_.uuid, iface->name,
                            &iface->external_ids);
    }
}

/* Takes over the database's content if it has changed since '*seqno'.  Returns
 * false as long as it was never seen. */
static bool
follow_database(struct ovsdb_idl *idl, unsigned int *seqno)
{
    const struct ovsrec_open_vswitch *root;

    ovsdb_idl_run(idl);
    root = ovsrec_open_vswitch_first(idl);
    if (root && ovsdb_idl_get_seqno(idl) != *seqno) {
        *seqno = ovsdb_idl_get_seqno(idl);
        configure(idl, root);
    }
    return *seqno != 0;
}

/* exit [--cleanup] */
static void
unixctl_exit(struct unixctl_conn *conn, int argc, const char *argv[],
             void *request_)
{
    struct exit_request *request = request_;

    if (argc > 1 && strcmp(argv[1], "--cleanup")) {
        unixctl_command_reply_error(conn, "the only option is --cleanup");
        return;
    }
    request->exiting = true;
    request->cleanup = argc > 1;
    unixctl_command_reply(conn, NULL);
}

int
main(int argc, char *argv[])
{
    struct unixctl_server *unixctl;
    char *unixctl_path = NULL;
    struct ovsdb_idl *idl;
    struct exit_request request = { .exiting = false };
    unsigned int seqno = 0;
    char *remote;

    ovs_cmdl_proctitle_init(argc, argv);
    ovs_set_program_name(argv[0], TCON_VERSION);
    remote = parse_options(argc, argv, &unixctl_path);
    fatal_ignore_sigpipe();
    daemonize_start(false);
    if (unixctl_server_create(unixctl_path, &unixctl)) {
        exit(EXIT_FAILURE);
    }
    unixctl_command_register("exit", "[--cleanup]", 0, 1, unixctl_exit,
                             &request);
    tcon_init();
    idl = open_database(remote);
    daemonize_complete();

    while (!request.exiting) {
        /* Commands wait until the bridges are known. */
        bool ready = follow_database(idl, &seqno);

        tcon_run();
        if (ready && tcon_status_changed()) {
            tcon_ovsdb_write_status();
        }
        if (ready) {
            unixctl_server_run(unixctl);
            unixctl_server_wait(unixctl);
        }
        tcon_wait();
        ovsdb_idl_wait(idl);
        if (request.exiting) {
            poll_immediate_wake();
        }
        poll_block();
    }
    if (request.cleanup) {
        tcon_config_cleanup();
    }
    ovsdb_idl_destroy(idl);
    unixctl_server_destroy(unixctl);
    free(remote);
    return EXIT_SUCCESS;
}
