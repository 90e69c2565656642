/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The tcon/ commands: what each takes, and what is said to whoever gives it
 * something else.
 */

#ifndef VSWITCHD_TCON_COMMAND_H
#define VSWITCHD_TCON_COMMAND_H 1

#include "unixctl.h"

#define TCON_VERSION "0.1.0"

/* A command.  Behind its name are 'min' to 'max' words, and options: --help, and what
 * begins with '-' in 'words'. */
struct tcon_command {
    const char *name;           /* With "tcon/". */
    const char *words;          /* As list-commands shows it. */
    const char *meaning;        /* A line. */
    const char *example;        /* Arguments that may follow the name. */
    int min, max;
    unixctl_cb_func *cb;        /* Gets only calls that fit. */
};

void tcon_command_register(const struct tcon_command *);
void tcon_command_init(void);

#endif /* vswitchd/tcon-command.h */
