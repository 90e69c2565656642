/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * What the commands tell, as JSON.
 *
 * Each command builds JSON with all that is known.  Then it prints that, or a
 * text made from that JSON alone.
 */

#include <config.h>

#include "tcon-json.h"

#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "tcon-when.h"
#include "tcon-words.h"
#include "timeval.h"
#include "unixctl.h"
#include "util.h"

#define TCON_X(id, name, text) { name, text },
const struct tcon_word tcon_reasons[] = { TCON_REASONS(TCON_X) };
#undef TCON_X
const size_t n_tcon_reasons = ARRAY_SIZE(tcon_reasons);

/* Returns NULL where there is no such member, or it is null. */
const struct json *
json_get(const struct json *object, const char *name)
{
    const struct json *member = shash_find_data(json_object(object), name);

    return member && member->type != JSON_NULL ? member : NULL;
}

bool
json_has(const struct json *object, const char *name)
{
    return json_get(object, name) != NULL;
}

/* Returns 0 where there is no such number. */
long long int
json_num(const struct json *object, const char *name)
{
    const struct json *member = json_get(object, name);

    return member ? json_integer(member) : 0;
}

/* json_real_create() turns whole numbers into integers. */
double
json_double(const struct json *object, const char *name)
{
    const struct json *member = json_get(object, name);

    return (!member ? 0
            : member->type == JSON_INTEGER ? json_integer(member)
            : json_real(member));
}

const char *
json_str(const struct json *object, const char *name)
{
    const struct json *member = json_get(object, name);

    return member ? json_string(member) : "?";
}

bool
json_yes(const struct json *object, const char *name)
{
    const struct json *member = json_get(object, name);

    return member && json_boolean(member);
}

void
json_put_num(struct json *object, const char *name, long long int value)
{
    json_object_put(object, name, json_integer_create(value));
}

/* Writes since when something is there that is 'age_ms' old. */
void
json_put_since(struct json *object, uint64_t age_ms)
{
    char date[TCON_DATE_TEXT_MAX];

    json_put_num(object, "age_ms", age_ms);
    tcon_date_format((time_wall_msec() - (long long int) age_ms) / 1000, date);
    json_object_put_string(object, "since", date);
}

/* Appends what json_put_since() has written. */
void
json_since_to_text(const struct json *object, struct ds *ds)
{
    char span[TCON_SPAN_TEXT_MAX];

    tcon_span_format(json_num(object, "age_ms") / 1000, span);
    ds_put_format(ds, "since %s (%s)", json_str(object, "since"), span);
}

/* Writes the name with number 'i'.  A newer kernel may have more names than
 * this list: then it writes the number. */
void
json_put_name(struct json *object, const char *name, const char *const names[],
              size_t n_names, unsigned int i)
{
    if (i < n_names && names[i]) {
        json_object_put_string(object, name, names[i]);
    } else {
        json_object_put_format(object, name, "%u", i);
    }
}

/* Takes the option -j from the arguments.  Returns true if JSON is asked for,
 * by that or by ovs-appctl's --format. */
bool
tcon_take_json(struct unixctl_conn *conn, int *argc, const char *argv[])
{
    bool option = tcon_take_option(argc, argv, "-j");

    return option || unixctl_asks_for_json(conn);
}

/* Replies with 'json', which is freed: as JSON if 'as_json', else as text.  If
 * 'json' is NULL, replies with 'error'. */
void
tcon_reply(struct unixctl_conn *conn, struct json *json, bool as_json,
           tcon_to_text_func *to_text, const struct tcon_error *error)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    if (!json) {
        unixctl_command_reply_error(conn, error->text);
        return;
    }
    if (unixctl_asks_for_json(conn)) {
        unixctl_command_reply_json(conn, json);
        return;
    }
    if (as_json) {
        json_to_ds(json, JSSF_SORT, &ds);
    } else {
        to_text(json, &ds);
    }
    unixctl_command_reply(conn, ds_cstr(&ds));
    ds_destroy(&ds);
    json_destroy(json);
}
