/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The tcon/ commands, as a table.
 *
 * unixctl would tell who gives too few words only how many there must be.  So it is
 * told that each command takes any number, and they are counted here.
 */

#include <config.h>

#include "tcon-command.h"

#include <limits.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "tcon-compat.h"
#include "tcon-match.h"
#include "util.h"

#define MAX_COMMANDS 16

/* In the order in which they were registered. */
static const struct tcon_command *commands[MAX_COMMANDS];
static size_t n_commands;

static void
put_usage(struct ds *ds, const struct tcon_command *command)
{
    ds_put_format(ds, "usage: ovs-appctl %s %s\n"
                  "such as: ovs-appctl %s%s%s\n"
                  "tcon-appctl(8) has all of it\n", command->name,
                  command->words, command->name,
                  *command->example ? " " : "", command->example);
}

/* Is 'word' an option of 'command'?  One with a value counts up to its "=". */
static bool
is_option(const struct tcon_command *command, const char *word)
{
    bool has_value = strchr(word, '=') != NULL;
    size_t len = strcspn(word, "=") + has_value;

    for (const char *p = command->words; *p; p++) {
        if (!strncmp(p, word, len)
            && (p == command->words || strchr("[ ", p[-1]))
            && (has_value || !p[len] || strchr("] ", p[len]))) {
            return true;
        }
    }
    return false;
}

/* Returns what is wrong with the words of a call, or NULL.  The caller frees it.
 * Sets '*help' if that is all that is asked for. */
static char *
complain(const struct tcon_command *command, int argc, const char *argv[],
         bool *help)
{
    int n = 0;

    for (int i = 1; i < argc; i++) {
        if (argv[i][0] != '-') {
            n++;
        } else if (!strcmp(argv[i], "--help")) {
            *help = true;
        } else if (!is_option(command, argv[i])) {
            return xasprintf("'%.64s' is no option of this command", argv[i]);
        }
    }
    return (n < command->min ? xstrdup("something is missing")
            : n > command->max ? xasprintf("'%.64s' is one word too many",
                                           argv[argc - 1])
            : NULL);
}

/* Gives a call to its command if it fits. */
static void
check_call(struct unixctl_conn *conn, int argc, const char *argv[],
           void *command_)
{
    const struct tcon_command *command = command_;
    struct ds ds = DS_EMPTY_INITIALIZER;
    bool help = false;
    char *complaint = complain(command, argc, argv, &help);

    if (help) {
        ds_put_format(&ds, "%s: %s\n", command->name, command->meaning);
        put_usage(&ds, command);
        unixctl_command_reply(conn, ds_cstr(&ds));
    } else if (complaint) {
        struct tcon_error error;

        tcon_error_set(&error, "%s", complaint);
        ds_put_format(&ds, "%s\n", error.text);
        put_usage(&ds, command);
        unixctl_command_reply_error(conn, ds_cstr(&ds));
    } else {
        command->cb(conn, argc, argv, NULL);
    }
    ds_destroy(&ds);
    free(complaint);
}

/* 'command' is in static memory. */
void
tcon_command_register(const struct tcon_command *command)
{
    ovs_assert(n_commands < MAX_COMMANDS);
    commands[n_commands++] = command;
    unixctl_command_register(command->name, command->words, 0, INT_MAX,
                             check_call, CONST_CAST(struct tcon_command *,
                                                    command));
}

static void
put_commands(struct ds *ds)
{
    ds_put_cstr(ds, "TCon "TCON_VERSION"\n");
    for (size_t i = 0; i < n_commands; i++) {
        ds_put_format(ds, "%s %s\n    %s\n", commands[i]->name,
                      commands[i]->words, commands[i]->meaning);
    }
    ds_put_cstr(ds, "With --help each says how it is called.  tcon/help MATCH "
                "has the fields of\nflow=MATCH, tcon/list-cc the CCs and their "
                "parameters, tcon-appctl(8) all of it.\n");
}

static void
put_fields(struct ds *ds)
{
    char text[TCON_FIELD_TEXT_MAX];
    const char *meaning;

    for (size_t i = 0; tcon_field_describe(i, text, &meaning); i++) {
        ds_put_format(ds, "%-20s %s\n", text, meaning);
    }
}

/* tcon/help [COMMAND | MATCH] */
static void
tcon_unixctl_help(struct unixctl_conn *conn, int argc, const char *argv[],
                  void *aux OVS_UNUSED)
{
    const char *names[MAX_COMMANDS], *topic = argc > 1 ? argv[1] : NULL;
    struct ds ds = DS_EMPTY_INITIALIZER;
    struct tcon_error error;
    const char *nearest;

    if (!topic) {
        put_commands(&ds);
    } else if (!strcmp(topic, "MATCH")) {
        put_fields(&ds);
    }
    for (size_t i = 0; topic && i < n_commands; i++) {
        names[i] = commands[i]->name + strlen("tcon/");
        if (!strcmp(topic, names[i]) || !strcmp(topic, commands[i]->name)) {
            ds_put_format(&ds, "%s: %s\n", commands[i]->name,
                          commands[i]->meaning);
            put_usage(&ds, commands[i]);
        }
    }
    if (ds.length) {
        unixctl_command_reply(conn, ds_cstr(&ds));
    } else {
        if (!strncmp(topic, "tcon/", 5)) {
            topic += 5;
        }
        nearest = tcon_nearest(topic, names, n_commands);
        tcon_error_set(&error, "there is no command tcon/%.64s%s%s%s; "
                       "tcon/help names all", topic,
                       nearest ? ": is it " : "", nearest ? nearest : "",
                       nearest ? "?" : "");
        unixctl_command_reply_error(conn, error.text);
    }
    ds_destroy(&ds);
}

void
tcon_command_init(void)
{
    static const struct tcon_command help = {
        "tcon/help", "[command | MATCH]",
        "what the commands are, how one is called, the fields of flow=MATCH",
        "set-cc", 0, 1, tcon_unixctl_help,
    };

    tcon_command_register(&help);
}
