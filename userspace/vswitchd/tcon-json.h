/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * What the commands tell, as JSON: to build it, to read it again, and to reply
 * with it.
 */

#ifndef VSWITCHD_TCON_JSON_H
#define VSWITCHD_TCON_JSON_H 1

#include "openvswitch/json.h"
#include "tcon-compat.h"
#include "tcon-netlink.h"

struct ds;
struct unixctl_conn;

/* A name and its text, from one of the UAPI's lists. */
struct tcon_word {
    const char *name;
    const char *text;
};

extern const struct tcon_word tcon_reasons[];
extern const size_t n_tcon_reasons;

/* Reading objects that were built here. */

const struct json *json_get(const struct json *, const char *name);
bool json_has(const struct json *, const char *name);
long long int json_num(const struct json *, const char *name);
double json_double(const struct json *, const char *name);
const char *json_str(const struct json *, const char *name);
bool json_yes(const struct json *, const char *name);

#define JSON_ARRAY_FOR_EACH(ELEM, I, ARRAY)                                 \
    for ((I) = 0; (I) < json_array_size(ARRAY)                              \
         && ((ELEM) = json_array_at(ARRAY, I), true); (I)++)

/* Building them.  A time lies 'age_ms' back. */

void json_put_num(struct json *, const char *name, long long int value);
void json_put_since(struct json *, uint64_t age_ms);
void json_put_name(struct json *, const char *name, const char *const names[],
                   size_t n_names, unsigned int i);

/* As text. */

void json_since_to_text(const struct json *, struct ds *);

/* Replies. */

typedef void tcon_to_text_func(const struct json *, struct ds *);

bool tcon_take_json(struct unixctl_conn *, int *argc, const char *argv[]);
void tcon_reply(struct unixctl_conn *, struct json *, bool as_json,
                tcon_to_text_func *, const struct tcon_error *);

#endif /* vswitchd/tcon-json.h */
