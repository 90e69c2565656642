/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Requests to tcon.ko, and its replies, over its generic netlink family.
 */

#ifndef VSWITCHD_TCON_NETLINK_H
#define VSWITCHD_TCON_NETLINK_H 1

#include <uapi/linux/tcon.h>

#include "netlink.h"
#include "openvswitch/ofpbuf.h"
#include "tcon-match.h"

struct json;
struct nl_sock;

/* A conversation with tcon.ko.  It lasts for one command only, because the
 * family's number changes whenever tcon.ko is reloaded. */
struct tcon_nl {
    struct nl_sock *sock;
    int family;
};

/* Called with the top-level attributes of one message, indexed by enum
 * tcon_attr.  Returns false to get no more messages. */
typedef bool tcon_nl_cb(struct nlattr *attrs[], void *aux);

void tcon_nl_not_loaded(struct tcon_error *);
bool tcon_nl_open(struct tcon_nl *, struct tcon_error *);
void tcon_nl_close(struct tcon_nl *);
struct ofpbuf *tcon_nl_request(const struct tcon_nl *, enum tcon_cmd);
int tcon_nl_do(struct tcon_nl *, struct ofpbuf *request, tcon_nl_cb *,
               void *aux, struct tcon_error *);
int tcon_nl_dump(struct tcon_nl *, struct ofpbuf *request, tcon_nl_cb *,
                 void *aux, struct tcon_error *);
int tcon_nl_stream_begin(struct tcon_nl *, struct ofpbuf *request,
                         struct tcon_error *);
bool tcon_nl_stream_run(struct tcon_nl *, tcon_nl_cb *, void *aux, int *err,
                        struct tcon_error *);

size_t tcon_nl_start_nest(struct ofpbuf *, uint16_t type);
void tcon_nl_put_match(struct ofpbuf *, const struct tcon_match *);
bool tcon_nl_get_match(const struct nlattr *nest, struct tcon_match *);

/* One attribute of a nest: its type on the wire, and the name under which
 * tcon_nl_to_json() shows it; NULL: it is not shown. */
struct tcon_nl_field {
    uint16_t attr;
    enum nl_attr_type type;
    const char *json_name;
};

bool tcon_nl_parse(const struct nlattr *nest, const struct tcon_nl_field[],
                   size_t n_fields, struct nlattr *attrs[], size_t n_attrs);
size_t tcon_nl_n_u64s(const struct nlattr *);
uint64_t tcon_nl_get_u64(const struct nlattr *, size_t i);
void tcon_nl_to_json(struct nlattr *const attrs[],
                     const struct tcon_nl_field[], size_t n_fields,
                     struct json *);

#endif /* vswitchd/tcon-netlink.h */
