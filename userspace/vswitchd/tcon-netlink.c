/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */

#include <config.h>

#include "tcon-netlink.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "coverage.h"
#include "netlink-protocol.h"
#include "netlink-socket.h"
#include "openvswitch/json.h"
#include "util.h"

COVERAGE_DEFINE(tcon_request);
COVERAGE_DEFINE(tcon_request_refused);
COVERAGE_DEFINE(tcon_dump_again);

/* How often a dump begins again if rules, ports or flows change during it. */
#define DUMP_TRIES 8

static const struct tcon_nl_field top_fields[] = {
    { TCON_A_BRIDGE,     NL_A_STRING, NULL },
    { TCON_A_PORT,       NL_A_NESTED, NULL },
    { TCON_A_RULE,       NL_A_NESTED, NULL },
    { TCON_A_RULE_MATCH, NL_A_NESTED, NULL },
    { TCON_A_CC,         NL_A_NESTED, NULL },
    { TCON_A_FLOW,       NL_A_NESTED, NULL },
    { TCON_A_INFO,       NL_A_NESTED, NULL },
    { TCON_A_STATE,      NL_A_UNSPEC, NULL },
};

static const struct tcon_nl_field match_fields[] = {
    { TCON_MATCH_A_IFNAME,   NL_A_STRING, NULL },
    { TCON_MATCH_A_OFPORT,   NL_A_U32,    NULL },
    { TCON_MATCH_A_FAMILY,   NL_A_U8,     NULL },
    { TCON_MATCH_A_SRC,      NL_A_UNSPEC, NULL },
    { TCON_MATCH_A_SRC_PLEN, NL_A_U8,     NULL },
    { TCON_MATCH_A_DST,      NL_A_UNSPEC, NULL },
    { TCON_MATCH_A_DST_PLEN, NL_A_U8,     NULL },
    { TCON_MATCH_A_SPORT,    NL_A_U16,    NULL },
    { TCON_MATCH_A_DPORT,    NL_A_U16,    NULL },
    { TCON_MATCH_A_VLAN,     NL_A_U16,    NULL },
    { TCON_MATCH_A_SPORT_MASK, NL_A_U16,  NULL },
    { TCON_MATCH_A_DPORT_MASK, NL_A_U16,  NULL },
    { TCON_MATCH_A_IFACE_ID, NL_A_STRING, NULL },
    { TCON_MATCH_A_MAC,      NL_A_UNSPEC, NULL },
    { TCON_MATCH_A_MAC_MASK, NL_A_UNSPEC, NULL },
    { TCON_MATCH_A_MARK,     NL_A_U32,    NULL },
    { TCON_MATCH_A_MARK_MASK, NL_A_U32,   NULL },
};

/* As tcon_nl_parse(), for attributes that are in 'body'. */
static bool
parse_attrs(const struct ofpbuf *body, const struct tcon_nl_field fields[],
            size_t n_fields, struct nlattr *attrs[], size_t n_attrs)
{
    struct nl_policy policy[64] = { { .type = NL_A_NO_ATTR } };

    ovs_assert(n_attrs <= ARRAY_SIZE(policy));
    for (size_t i = 0; i < n_attrs; i++) {
        policy[i].optional = true;
    }
    for (size_t i = 0; i < n_fields; i++) {
        ovs_assert(fields[i].attr < n_attrs);
        policy[fields[i].attr].type = fields[i].type;
    }
    return nl_policy_parse(body, 0, policy, attrs, n_attrs);
}

/* Says in 'error' that there is no tcon.ko. */
void
tcon_nl_not_loaded(struct tcon_error *error)
{
    tcon_error_set(error, "tcon.ko is not loaded (try: modprobe tcon)");
}

/* Starts a conversation, which tcon_nl_close() must end.  Returns false, with
 * a sentence in 'error', if tcon.ko is not loaded. */
bool
tcon_nl_open(struct tcon_nl *nl, struct tcon_error *error)
{
    int err;

    nl->sock = NULL;
    nl->family = 0;
    err = nl_lookup_genl_family(TCON_GENL_NAME, &nl->family);
    if (err == ENOENT) {
        tcon_nl_not_loaded(error);
        return false;
    }
    if (!err) {
        err = nl_sock_create(NETLINK_GENERIC, &nl->sock);
    }
    if (err) {
        tcon_error_set(error, "no netlink to tcon.ko: %s", ovs_strerror(err));
        return false;
    }
    return true;
}

void
tcon_nl_close(struct tcon_nl *nl)
{
    nl_sock_destroy(nl->sock);
    nl->sock = NULL;
}

/* Returns a new request without attributes. */
struct ofpbuf *
tcon_nl_request(const struct tcon_nl *nl, enum tcon_cmd cmd)
{
    struct ofpbuf *request = ofpbuf_new(512);

    COVERAGE_INC(tcon_request);
    nl_msg_put_genlmsghdr(request, 0, nl->family, NLM_F_REQUEST | NLM_F_ACK,
                          cmd, TCON_GENL_VERSION);
    return request;
}

/* Returns the errno (positive, or 0) that 'msg', the end of a dump, carries.
 * '*text' is the kernel's sentence, if it sent one. */
static int
done_status(const struct ofpbuf *msg, const char **text)
{
    const int *done = ofpbuf_at(msg, NLMSG_HDRLEN, sizeof *done);
    const struct nlattr *sentence;

    if (!done || *done >= 0) {
        return 0;
    }
    if (nl_msg_nlmsghdr(msg)->nlmsg_flags & NLM_F_ACK_TLVS) {
        sentence = nl_attr_find(msg, NLMSG_HDRLEN + sizeof *done,
                                NLMSGERR_ATTR_MSG);
        *text = sentence ? nl_attr_get_string(sentence) : NULL;
    }
    return -*done;
}

/* Returns the result that 'msg', the end of a reply, carries: 0 or a positive
 * errno, with a sentence in 'error': the kernel's, or the errno's. */
static int
final_status(const struct ofpbuf *msg, struct tcon_error *error)
{
    const char *text = NULL;
    int err = 0;

    if (!nl_msg_nlmsgerr(msg, &err, &text)) {
        err = done_status(msg, &text);
    }
    if (err) {
        if (err != ENOENT) {    /* That is an answer. */
            COVERAGE_INC(tcon_request_refused);
        }
        tcon_error_set(error, "%s", text ? text : ovs_strerror(err));
    }
    return err;
}

/* Gives each message of 'buf' to 'cb'.  Returns true at the end of the reply,
 * with the result in '*err'. */
static bool
digest(struct tcon_nl *nl, struct ofpbuf *buf, tcon_nl_cb *cb, void *aux,
       int *err, struct tcon_error *error)
{
    struct ofpbuf msg;

    while (nl_msg_next(buf, &msg)) {
        struct nlattr *attrs[TCON_A_MAX + 1];
        uint16_t type = nl_msg_nlmsghdr(&msg)->nlmsg_type;
        struct ofpbuf body;

        if (type == NLMSG_ERROR || type == NLMSG_DONE) {
            *err = final_status(&msg, error);
            return true;
        }
        if (type != nl->family || !cb
            || !ofpbuf_try_pull(&msg, NLMSG_HDRLEN + GENL_HDRLEN)) {
            continue;
        }
        ofpbuf_use_const(&body, msg.data, msg.size);
        if (!parse_attrs(&body, top_fields, ARRAY_SIZE(top_fields), attrs,
                         ARRAY_SIZE(attrs))) {
            *err = EPROTO;
            tcon_error_set(error, "a reply of tcon.ko is malformed: is it of "
                           "another version?");
            return true;
        }
        if (!cb(attrs, aux)) {
            *err = 0;
            return true;
        }
    }
    return false;
}

static int
send_request(struct tcon_nl *nl, struct ofpbuf *request,
             struct tcon_error *error)
{
    int err = nl_sock_send(nl->sock, request, true);

    ofpbuf_delete(request);
    if (err) {
        tcon_error_set(error, "netlink to tcon.ko failed: %s",
                       ovs_strerror(err));
    }
    return err;
}

/* Receives one buffer of the reply and gives its messages to 'cb' unless that
 * is NULL.  Returns true at the end of the reply, with the result in '*err': 0,
 * or a positive errno with a sentence in 'error'.
 *
 * The kernel answers within the system calls that ask and receive, so this
 * never sleeps. */
static bool
receive(struct tcon_nl *nl, tcon_nl_cb *cb, void *aux, int *err,
        struct tcon_error *error)
{
    uint64_t stub[8192 / 8];
    struct ofpbuf buf;
    bool end;

    ofpbuf_use_stub(&buf, stub, sizeof stub);
    *err = nl_sock_recv(nl->sock, &buf, NULL, false);
    if (*err) {
        tcon_error_set(error, "netlink to tcon.ko failed: %s",
                       ovs_strerror(*err));
    }
    end = *err || digest(nl, &buf, cb, aux, err, error);
    ofpbuf_uninit(&buf);
    return end;
}

/* Sends 'request', frees it, and gives the reply to 'cb' unless that is NULL.
 * Returns 0 or a positive errno with a sentence in 'error'. */
int
tcon_nl_do(struct tcon_nl *nl, struct ofpbuf *request, tcon_nl_cb *cb,
           void *aux, struct tcon_error *error)
{
    int err = send_request(nl, request, error);

    while (!err && !receive(nl, cb, aux, &err, error)) {
        continue;
    }
    return err;
}

/* Begins a dump of any length: tcon_nl_stream_run() gets it, part by part. */
int
tcon_nl_stream_begin(struct tcon_nl *nl, struct ofpbuf *request,
                     struct tcon_error *error)
{
    nl_msg_nlmsghdr(request)->nlmsg_flags |= NLM_F_DUMP;
    return send_request(nl, request, error);
}

/* Gives the next part of the dump to 'cb'.  Returns true at its end, with 0 or
 * a positive errno in '*err' and then a sentence in 'error'. */
bool
tcon_nl_stream_run(struct tcon_nl *nl, tcon_nl_cb *cb, void *aux, int *err,
                   struct tcon_error *error)
{
    return receive(nl, cb, aux, err, error);
}

/* Returns true if 'buf' has the end of a reply.  Sets '*interrupted' if what
 * is dumped has changed since the dump began. */
static bool
ends_reply(const struct ofpbuf *buf, bool *interrupted)
{
    struct ofpbuf rest, msg;
    bool end = false;

    ofpbuf_use_const(&rest, buf->data, buf->size);
    while (nl_msg_next(&rest, &msg)) {
        const struct nlmsghdr *nlmsg = nl_msg_nlmsghdr(&msg);

        *interrupted |= (nlmsg->nlmsg_flags & NLM_F_DUMP_INTR) != 0;
        end |= (nlmsg->nlmsg_type == NLMSG_ERROR
                || nlmsg->nlmsg_type == NLMSG_DONE);
    }
    return end;
}

/* Sends a copy of 'request' and appends the reply's buffers to 'reply'. */
static int
collect(struct tcon_nl *nl, const struct ofpbuf *request,
        struct ovs_list *reply, bool *interrupted)
{
    bool end = false;
    int err;

    err = nl_sock_send(nl->sock, request, true);
    *interrupted = false;
    while (!err && !end) {
        struct ofpbuf *buf = ofpbuf_new(8192);

        ovs_list_push_back(reply, &buf->list_node);
        err = nl_sock_recv(nl->sock, buf, NULL, false);
        end = !err && ends_reply(buf, interrupted);
    }
    return err;
}

/* Gives a whole dump to 'cb', which sees one state only: if that changes while it
 * is dumped, the dump begins again. */
int
tcon_nl_dump(struct tcon_nl *nl, struct ofpbuf *request, tcon_nl_cb *cb,
             void *aux, struct tcon_error *error)
{
    struct ovs_list reply = OVS_LIST_INITIALIZER(&reply);
    bool interrupted = true;
    struct ofpbuf *buf;
    int err = 0;

    nl_msg_nlmsghdr(request)->nlmsg_flags |= NLM_F_DUMP;
    for (int i = 0; !err && interrupted && i < DUMP_TRIES; i++) {
        if (i) {
            COVERAGE_INC(tcon_dump_again);
        }
        ofpbuf_list_delete(&reply);
        ovs_list_init(&reply);
        err = collect(nl, request, &reply, &interrupted);
    }
    ofpbuf_delete(request);
    if (err) {
        tcon_error_set(error, "netlink to tcon.ko failed: %s",
                       ovs_strerror(err));
    } else if (interrupted) {
        err = EAGAIN;
        tcon_error_set(error, "rules, ports or CCs change all the time");
    } else {
        LIST_FOR_EACH (buf, list_node, &reply) {
            if (digest(nl, buf, cb, aux, &err, error)) {
                break;
            }
        }
    }
    ofpbuf_list_delete(&reply);
    return err;
}

/* The kernel validates strictly: a nest must have the flag NLA_F_NESTED. */
size_t
tcon_nl_start_nest(struct ofpbuf *msg, uint16_t type)
{
    return nl_msg_start_nested(msg, type | NLA_F_NESTED);
}

static void
put_prefix(struct ofpbuf *msg, uint16_t addr_type, uint16_t plen_type,
           uint8_t family, const struct tcon_prefix *prefix)
{
    if (prefix->plen) {
        nl_msg_put_unspec(msg, addr_type, prefix->addr,
                          family == AF_INET ? 4 : 16);
        nl_msg_put_u8(msg, plen_type, prefix->plen);
    }
}

/* Says no mask where all bits count: a tcon.ko that knows none takes that. */
static void
put_ports(struct ofpbuf *msg, uint16_t port_type, uint16_t mask_type,
          const struct tcon_ports *ports)
{
    if (ports->mask) {
        nl_msg_put_u16(msg, port_type, ports->value);
        if (ports->mask != UINT16_MAX) {
            nl_msg_put_u16(msg, mask_type, ports->mask);
        }
    }
}

static void
put_mac(struct ofpbuf *msg, const struct tcon_mac *mac)
{
    if (tcon_mac_is_given(mac)) {
        nl_msg_put_unspec(msg, TCON_MATCH_A_MAC, mac->value, sizeof mac->value);
        nl_msg_put_unspec(msg, TCON_MATCH_A_MAC_MASK, mac->mask,
                          sizeof mac->mask);
    }
}

/* Appends 'match' as TCON_A_RULE_MATCH. */
void
tcon_nl_put_match(struct ofpbuf *msg, const struct tcon_match *match)
{
    size_t nest = tcon_nl_start_nest(msg, TCON_A_RULE_MATCH);

    if (match->ifname[0]) {
        nl_msg_put_string(msg, TCON_MATCH_A_IFNAME, match->ifname);
    }
    if (match->has_ofport) {
        nl_msg_put_u32(msg, TCON_MATCH_A_OFPORT, match->ofport);
    }
    if (match->iface_id[0]) {
        nl_msg_put_string(msg, TCON_MATCH_A_IFACE_ID, match->iface_id);
    }
    if (match->family) {
        nl_msg_put_u8(msg, TCON_MATCH_A_FAMILY, match->family);
        put_prefix(msg, TCON_MATCH_A_SRC, TCON_MATCH_A_SRC_PLEN,
                   match->family, &match->src);
        put_prefix(msg, TCON_MATCH_A_DST, TCON_MATCH_A_DST_PLEN,
                   match->family, &match->dst);
    }
    put_ports(msg, TCON_MATCH_A_SPORT, TCON_MATCH_A_SPORT_MASK, &match->sport);
    put_ports(msg, TCON_MATCH_A_DPORT, TCON_MATCH_A_DPORT_MASK, &match->dport);
    if (match->has_vlan) {
        nl_msg_put_u16(msg, TCON_MATCH_A_VLAN, match->vlan);
    }
    put_mac(msg, &match->mac);
    if (match->mark.mask) {
        nl_msg_put_u32(msg, TCON_MATCH_A_MARK, match->mark.value);
        nl_msg_put_u32(msg, TCON_MATCH_A_MARK_MASK, match->mark.mask);
    }
    nl_msg_end_nested(msg, nest);
}

static bool
get_prefix(const struct nlattr *addr, const struct nlattr *plen,
           uint8_t family, struct tcon_prefix *prefix)
{
    size_t size = family == AF_INET ? 4 : 16;

    if (!addr) {
        return !plen;
    }
    if (!family || nl_attr_get_size(addr) != size) {
        return false;
    }
    prefix->plen = plen ? nl_attr_get_u8(plen) : size * 8;
    if (prefix->plen > size * 8) {
        return false;
    }
    if (prefix->plen) {
        memcpy(prefix->addr, nl_attr_get(addr), size);
    }
    return true;
}

static void
get_ports(const struct nlattr *port, const struct nlattr *mask,
          struct tcon_ports *ports)
{
    if (port) {
        ports->mask = mask ? nl_attr_get_u16(mask) : UINT16_MAX;
        ports->value = nl_attr_get_u16(port) & ports->mask;
    }
}

/* Without a mask all bits count. */
static bool
get_mac(const struct nlattr *value, const struct nlattr *mask,
        struct tcon_mac *mac)
{
    if (!value) {
        return !mask;
    }
    if (nl_attr_get_size(value) != sizeof mac->value
        || (mask && nl_attr_get_size(mask) != sizeof mac->mask)) {
        return false;
    }
    memcpy(mac->value, nl_attr_get(value), sizeof mac->value);
    memset(mac->mask, 0xff, sizeof mac->mask);
    if (mask) {
        memcpy(mac->mask, nl_attr_get(mask), sizeof mac->mask);
    }
    return true;
}

static void
get_mark(const struct nlattr *value, const struct nlattr *mask,
         struct tcon_mark *mark)
{
    if (value) {
        mark->value = nl_attr_get_u32(value);
        mark->mask = mask ? nl_attr_get_u32(mask) : UINT32_MAX;
    }
}

/* Reads a TCON_A_RULE_MATCH into 'match'.  Returns false if it is
 * malformed. */
bool
tcon_nl_get_match(const struct nlattr *nest, struct tcon_match *match)
{
    struct nlattr *attrs[TCON_MATCH_A_MAX + 1];

    memset(match, 0, sizeof *match);
    if (!tcon_nl_parse(nest, match_fields, ARRAY_SIZE(match_fields), attrs,
                       ARRAY_SIZE(attrs))) {
        return false;
    }
    if (attrs[TCON_MATCH_A_IFNAME]) {
        ovs_strlcpy(match->ifname,
                    nl_attr_get_string(attrs[TCON_MATCH_A_IFNAME]),
                    sizeof match->ifname);
    }
    if (attrs[TCON_MATCH_A_OFPORT]) {
        match->has_ofport = true;
        match->ofport = nl_attr_get_u32(attrs[TCON_MATCH_A_OFPORT]);
    }
    if (attrs[TCON_MATCH_A_IFACE_ID]) {
        ovs_strlcpy(match->iface_id,
                    nl_attr_get_string(attrs[TCON_MATCH_A_IFACE_ID]),
                    sizeof match->iface_id);
    }
    if (attrs[TCON_MATCH_A_FAMILY]) {
        match->family = nl_attr_get_u8(attrs[TCON_MATCH_A_FAMILY]);
        if (match->family && match->family != AF_INET
            && match->family != AF_INET6) {
            return false;
        }
    }
    get_ports(attrs[TCON_MATCH_A_SPORT], attrs[TCON_MATCH_A_SPORT_MASK],
              &match->sport);
    get_ports(attrs[TCON_MATCH_A_DPORT], attrs[TCON_MATCH_A_DPORT_MASK],
              &match->dport);
    if (attrs[TCON_MATCH_A_VLAN]) {
        match->has_vlan = true;
        match->vlan = nl_attr_get_u16(attrs[TCON_MATCH_A_VLAN]);
    }
    get_mark(attrs[TCON_MATCH_A_MARK], attrs[TCON_MATCH_A_MARK_MASK],
             &match->mark);
    return (get_mac(attrs[TCON_MATCH_A_MAC], attrs[TCON_MATCH_A_MAC_MASK],
                    &match->mac)
            && get_prefix(attrs[TCON_MATCH_A_SRC], attrs[TCON_MATCH_A_SRC_PLEN],
                          match->family, &match->src)
            && get_prefix(attrs[TCON_MATCH_A_DST],
                          attrs[TCON_MATCH_A_DST_PLEN],
                          match->family, &match->dst));
}

/* Reads 'nest' into 'attrs'; an absent attribute is NULL.  Attributes that
 * 'fields' does not name are ignored.  Returns false if one has a wrong
 * length. */
bool
tcon_nl_parse(const struct nlattr *nest, const struct tcon_nl_field fields[],
              size_t n_fields, struct nlattr *attrs[], size_t n_attrs)
{
    struct ofpbuf body;

    nl_attr_get_nested(nest, &body);
    return parse_attrs(&body, fields, n_fields, attrs, n_attrs);
}

/* An attribute that is an array of u64s, perhaps not aligned.  NULL is an
 * empty array. */

size_t
tcon_nl_n_u64s(const struct nlattr *attr)
{
    return attr ? nl_attr_get_size(attr) / sizeof(uint64_t) : 0;
}

uint64_t
tcon_nl_get_u64(const struct nlattr *attr, size_t i)
{
    uint64_t value;

    memcpy(&value, (const uint8_t *) nl_attr_get(attr) + i * sizeof value,
           sizeof value);
    return value;
}

/* Adds to 'json' what 'attrs' holds of the named 'fields'. */
void
tcon_nl_to_json(struct nlattr *const attrs[],
                const struct tcon_nl_field fields[], size_t n_fields,
                struct json *json)
{
    for (size_t i = 0; i < n_fields; i++) {
        const struct nlattr *attr = attrs[fields[i].attr];
        struct json *value = NULL;

        if (!fields[i].json_name) {
            continue;
        }
        if (fields[i].type == NL_A_FLAG) {
            value = json_boolean_create(attr != NULL);
        } else if (!attr) {
            continue;
        } else if (fields[i].type == NL_A_STRING) {
            value = json_string_create(nl_attr_get_string(attr));
        } else if (fields[i].type == NL_A_U8) {
            value = json_integer_create(nl_attr_get_u8(attr));
        } else if (fields[i].type == NL_A_U16) {
            value = json_integer_create(nl_attr_get_u16(attr));
        } else if (fields[i].type == NL_A_U32) {
            value = json_integer_create(nl_attr_get_u32(attr));
        } else if (fields[i].type == NL_A_U64) {
            value = json_integer_create(nl_attr_get_u64(attr));
        } else {
            OVS_NOT_REACHED();
        }
        json_object_put(json, fields[i].json_name, value);
    }
}
