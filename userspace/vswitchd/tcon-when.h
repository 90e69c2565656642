/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Until when a rule applies, and to which share of its flows, as text.
 *
 * This file uses nothing of Open vSwitch, so that it can be tested and fuzzed
 * on its own.
 */

#ifndef VSWITCHD_TCON_WHEN_H
#define VSWITCHD_TCON_WHEN_H 1

#include <stdbool.h>
#include <stdint.h>

#include "tcon-match.h"

#define TCON_DATE_TEXT_MAX 32       /* Suffices for any tcon_date_format(). */
#define TCON_SPAN_TEXT_MAX 32       /* Suffices for any tcon_span_format(). */

bool tcon_date_parse(const char *text, int64_t *date_s, struct tcon_error *);
void tcon_date_format(int64_t date_s, char text[TCON_DATE_TEXT_MAX]);

bool tcon_span_parse(const char *text, int64_t *span_s, struct tcon_error *);
void tcon_span_format(int64_t span_s, char text[TCON_SPAN_TEXT_MAX]);

bool tcon_share_parse(const char *text, uint16_t *share, struct tcon_error *);
void tcon_share_format(uint16_t share, char text[TCON_VALUE_TEXT_MAX]);

#endif /* vswitchd/tcon-when.h */
