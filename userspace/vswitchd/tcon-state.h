/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The state of a port as text: struct tcon_state_header and its records, in
 * base64.  tcon.ko judges the records.
 *
 * This file uses nothing of Open vSwitch but crc32c(), so that it can be
 * tested and fuzzed on its own.
 */

#ifndef VSWITCHD_TCON_STATE_H
#define VSWITCHD_TCON_STATE_H 1

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tcon-match.h"

bool tcon_state_is_one(const char *text);
char *tcon_state_encode(const struct tcon_state_record *, size_t n,
                        uint64_t now_s);
struct tcon_state_record *tcon_state_decode(const char *text, uint64_t now_s,
                                            size_t *n, struct tcon_error *);

#endif /* vswitchd/tcon-state.h */
