/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * All differences between versions of Open vSwitch.  What a version has is found in its
 * headers, by tcon.mk.
 */
#ifndef TCON_COMPAT_H
#define TCON_COMPAT_H 1

#include "openvswitch/json.h"

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

#endif /* tcon-compat.h */
