/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */

#include "tcon-when.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define MINUTE_S 60
#define HOUR_S (60 * MINUTE_S)
#define DAY_S (24 * HOUR_S)
#define SPAN_MAX_S (366 * DAY_S)
#define DATE_MAX_S INT64_C(253402300799) /* The end of the year 9999. */

/* Parts of a percent that the kernel knows, in thousandths of a percent. */
#define SHARE_STEP (100 * 1000 / TCON_SHARE_ALL)

/* True if 'text' has digits where 'pattern' has '0', and is equal elsewhere. */
static bool
looks_like(const char *text, const char *pattern)
{
    if (strlen(text) != strlen(pattern)) {
        return false;
    }
    for (; *pattern; text++, pattern++) {
        if (*pattern == '0' ? *text < '0' || *text > '9' : *text != *pattern) {
            return false;
        }
    }
    return true;
}

/* Reads a date of RFC 3339 in UTC, with or without seconds.  Without "Z" it
 * would depend on where the daemon runs, so that is refused. */
bool
tcon_date_parse(const char *text, int64_t *date_s, struct tcon_error *error)
{
    struct tm tm = { .tm_sec = 0 }, normal;
    time_t time;

    if ((!looks_like(text, "0000-00-00T00:00:00Z")
         && !looks_like(text, "0000-00-00T00:00Z"))
        || sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d", &tm.tm_year, &tm.tm_mon,
                  &tm.tm_mday, &tm.tm_hour, &tm.tm_min, &tm.tm_sec) < 5) {
        tcon_error_set(error, "until=%.40s: not a date and time in UTC, such "
                       "as 2026-12-31T18:00Z", text);
        return false;
    }
    tm.tm_year -= 1900;
    tm.tm_mon--;
    normal = tm;
    time = timegm(&normal);
    if (time <= 0 || normal.tm_mon != tm.tm_mon || normal.tm_mday != tm.tm_mday
        || normal.tm_hour != tm.tm_hour || normal.tm_min != tm.tm_min
        || normal.tm_sec != tm.tm_sec) {
        tcon_error_set(error, "until=%.40s: there is no such date, or it is "
                       "before 1970", text);
        return false;
    }
    *date_s = time;
    return true;
}

/* Writes 'date_s' as tcon_date_parse() reads it. */
void
tcon_date_format(int64_t date_s, char text[TCON_DATE_TEXT_MAX])
{
    time_t time = (date_s < 0 ? 0 : date_s > DATE_MAX_S ? DATE_MAX_S : date_s);
    struct tm tm;

    strftime(text, TCON_DATE_TEXT_MAX, "%Y-%m-%dT%H:%M:%SZ",
             gmtime_r(&time, &tm));
}

/* Reads a span of time: a whole number and s, m, h or d. */
bool
tcon_span_parse(const char *text, int64_t *span_s, struct tcon_error *error)
{
    static const struct {
        char unit;
        int s;
    } units[] = {
        { 's', 1 }, { 'm', MINUTE_S }, { 'h', HOUR_S }, { 'd', DAY_S },
    };
    size_t len = strlen(text);
    char number[12];
    uint64_t n;

    if (len >= 2 && len <= sizeof number) {
        memcpy(number, text, len - 1);
        number[len - 1] = '\0';
        for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
            if (text[len - 1] == units[i].unit
                && strncmp(number, "0x", 2) && strncmp(number, "0X", 2)
                && tcon_uint_parse(number, SPAN_MAX_S / units[i].s, &n) && n) {
                *span_s = n * units[i].s;
                return true;
            }
        }
    }
    tcon_error_set(error, "for=%.40s: not a time from 1s to 366d: a whole "
                   "number and s, m, h or d", text);
    return false;
}

/* Writes the largest two units of 'span_s'. */
void
tcon_span_format(int64_t span_s, char text[TCON_SPAN_TEXT_MAX])
{
    if (span_s < MINUTE_S) {
        snprintf(text, TCON_SPAN_TEXT_MAX, "%"PRId64" s", span_s);
    } else if (span_s < HOUR_S) {
        snprintf(text, TCON_SPAN_TEXT_MAX, "%"PRId64" min %"PRId64" s",
                 span_s / MINUTE_S, span_s % MINUTE_S);
    } else if (span_s < DAY_S) {
        snprintf(text, TCON_SPAN_TEXT_MAX, "%"PRId64" h %"PRId64" min",
                 span_s / HOUR_S, span_s % HOUR_S / MINUTE_S);
    } else {
        snprintf(text, TCON_SPAN_TEXT_MAX, "%"PRId64" d %"PRId64" h",
                 span_s / DAY_S, span_s % DAY_S / HOUR_S);
    }
}

/* Reads a share in percent, with at most two decimals.  All flows are 0, as in
 * the UAPI a rule without a share. */
bool
tcon_share_parse(const char *text, uint16_t *share, struct tcon_error *error)
{
    char number[TCON_VALUE_TEXT_MAX];
    size_t len = strlen(text);
    int64_t thousandths;

    if (len < 2 || len > sizeof number || text[len - 1] != '%') {
        tcon_error_set(error, "share=%.40s: not a percentage, such as 10%%",
                       text);
        return false;
    }
    memcpy(number, text, len - 1);
    number[len - 1] = '\0';
    if (!tcon_value_parse("share", TCON_PARAM_MILLI, SHARE_STEP, 100 * 1000,
                          number, &thousandths, error)) {
        return false;
    }
    if (thousandths % SHARE_STEP) {
        tcon_error_set(error, "share=%.40s: at most two decimals", text);
        return false;
    }
    *share = thousandths / SHARE_STEP % TCON_SHARE_ALL;
    return true;
}

/* Writes 'share' as tcon_share_parse() reads it. */
void
tcon_share_format(uint16_t share, char text[TCON_VALUE_TEXT_MAX])
{
    tcon_value_format(TCON_PARAM_MILLI,
                      (share ? share : TCON_SHARE_ALL) * SHARE_STEP, text);
    strcat(text, "%");
}
