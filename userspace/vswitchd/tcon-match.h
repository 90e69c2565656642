/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The syntax of the tcon/ commands: MATCH, which selects flows as OpenFlow
 * matches do, the values of CC parameters, and the names of rules in OVSDB.
 *
 * This file uses nothing of Open vSwitch and nothing of the kernel but the
 * numbers of the UAPI.  It turns text into numbers and back.  So it can be
 * tested and fuzzed on its own.
 */

#ifndef VSWITCHD_TCON_MATCH_H
#define VSWITCHD_TCON_MATCH_H 1

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uapi/linux/tcon.h>

#define TCON_IFNAME_MAX 16          /* IFNAMSIZ, with the NUL. */
#define TCON_OFPORT_LOCAL 65534     /* OFPP_LOCAL in OpenFlow 1.0 numbers. */
#define TCON_MATCH_TEXT_MAX 512     /* Suffices for any tcon_match_format(). */
#define TCON_VALUE_TEXT_MAX 32      /* Suffices for any tcon_value_format(). */
#define TCON_ERROR_MAX 320          /* Suffices for any sentence. */
#define TCON_RULE_NAME_MAX 64       /* A rule's name in OVSDB, with the NUL. */
#define TCON_FIELD_TEXT_MAX 32      /* Suffices for any tcon_field_describe(). */

/* A sentence about what is wrong: printable ASCII whatever the input was. */
struct tcon_error {
    char text[TCON_ERROR_MAX];
};

/* An address prefix of the match's family. */
struct tcon_prefix {
    uint8_t addr[16];           /* Network byte order, host bits zero; only
                                 * the first 4 bytes for IPv4. */
    uint8_t plen;               /* 0: any address. */
};

/* TCP ports. */
struct tcon_ports {
    uint16_t value;             /* Bits outside of 'mask' are zero. */
    uint16_t mask;              /* Which bits count; 0: any port. */
};

/* An Ethernet address. */
struct tcon_mac {
    uint8_t value[6];           /* Bits outside of 'mask' are zero. */
    uint8_t mask[6];            /* Which bits count; all zero: any address. */
};

/* A packet mark. */
struct tcon_mark {
    uint32_t value;             /* Bits outside of 'mask' are zero. */
    uint32_t mask;              /* Which bits count; 0: any mark. */
};

/* Which flows, as the guest emits them: 'src' is the guest's side.  All zero
 * is every flow. */
struct tcon_match {
    char ifname[TCON_IFNAME_MAX]; /* in_port as a name; "" for any port. */
    bool has_ofport;            /* in_port as a number. */
    uint32_t ofport;
    char iface_id[TCON_IFACE_ID_MAX]; /* Of the port; "" for any. */
    uint8_t family;             /* AF_INET, AF_INET6, or 0 for both. */
    struct tcon_prefix src;
    struct tcon_prefix dst;
    struct tcon_ports sport;
    struct tcon_ports dport;
    bool has_vlan;
    uint16_t vlan;
    struct tcon_mac mac;        /* The guest's. */
    struct tcon_mark mark;      /* Of packets to the guest. */
};

/* A match with what else its text can say. */
struct tcon_flow_spec {
    struct tcon_match match;
    uint32_t priority;          /* TCON_DEFAULT_PRIORITY unless given. */
    bool has_priority;          /* It was given. */
};

void tcon_error_set(struct tcon_error *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

const char *tcon_nearest(const char *name, const char *const names[],
                         size_t n);
bool tcon_uint_parse(const char *text, uint64_t max, uint64_t *value);
size_t tcon_words_split(char *text, const char *words[], size_t max);
bool tcon_rule_name_ok(const char *name);
bool tcon_rule_name_is_number(const char *name);
bool tcon_rule_name_next(const char *number, char next[TCON_RULE_NAME_MAX]);
int tcon_rule_name_compare(const char *a, const char *b);

bool tcon_flow_spec_parse(const char *text, struct tcon_flow_spec *,
                          struct tcon_error *);
bool tcon_field_describe(size_t i, char text[TCON_FIELD_TEXT_MAX],
                         const char **meaning);
bool tcon_match_equal(const struct tcon_match *, const struct tcon_match *);
bool tcon_mac_is_given(const struct tcon_mac *);
bool tcon_mac_is_whole(const struct tcon_mac *);

/* Does a match select one flow? */
enum tcon_selects {
    TCON_SELECTS_NOT,           /* A field differs. */
    TCON_SELECTS_UNKNOWN,       /* The flow does not say a field. */
    TCON_SELECTS,
};
enum tcon_selects tcon_match_selects(const struct tcon_match *,
                                     const struct tcon_match *flow,
                                     uint32_t ofport, const char **field);
bool tcon_match_overlap(const struct tcon_match *, const struct tcon_match *);
void tcon_match_format(const struct tcon_match *,
                       char text[TCON_MATCH_TEXT_MAX]);

bool tcon_value_parse(const char *name, enum tcon_param_type, int64_t min,
                      int64_t max, const char *text, int64_t *value,
                      struct tcon_error *);
void tcon_value_format(enum tcon_param_type, int64_t value,
                       char text[TCON_VALUE_TEXT_MAX]);

#endif /* vswitchd/tcon-match.h */
