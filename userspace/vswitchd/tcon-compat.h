/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * All differences between versions of Open vSwitch.  tcon.mk looks into a version's
 * headers for the things that it has.
 */
#ifndef TCON_COMPAT_H
#define TCON_COMPAT_H 1

#include "openvswitch/json.h"
#include "unixctl.h"
#include "util.h"

#ifndef TCON_HAS_JSON_ARRAY_AT      /* 3.6 */
static inline size_t
json_array_size(const struct json *array)
{
    return json_array(array)->n;
}

static inline const struct json *
json_array_at(const struct json *array, size_t i)
{
    return json_array(array)->elems[i];
}
#endif

#ifdef TCON_HAS_UNIXCTL_FORMAT      /* 3.5 */
static inline bool
unixctl_asks_for_json(struct unixctl_conn *conn)
{
    return unixctl_command_get_output_format(conn) == UNIXCTL_OUTPUT_FMT_JSON;
}
#else
static inline bool
unixctl_asks_for_json(struct unixctl_conn *conn OVS_UNUSED)
{
    return false;
}

static inline void
unixctl_command_reply_json(struct unixctl_conn *conn OVS_UNUSED,
                           struct json *json OVS_UNUSED)
{
    OVS_NOT_REACHED();              /* No client can ask for it. */
}
#endif

#endif /* tcon-compat.h */
