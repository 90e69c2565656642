/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */

#include "tcon-match.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#define N_ELEMS(ARRAY) (sizeof(ARRAY) / sizeof(ARRAY)[0])

#define SEPARATORS ", \t\r\n"
#define WORD_MAX 160                /* One "field=value", with the NUL. */
#define VLAN_ID_MAX 4095
#define NEAREST_MAX 31              /* Longer names are near to none. */

/* Fields.  Aliases share one.  FIELD_IP, FIELD_TCP and FIELD_TYPE set the
 * family. */
enum field_id {
    FIELD_ALL,
    FIELD_IP,
    FIELD_TCP,
    FIELD_TYPE,
    FIELD_PROTO,
    FIELD_IN_PORT,
    FIELD_IFACE_ID,
    FIELD_SRC,
    FIELD_DST,
    FIELD_SPORT,
    FIELD_DPORT,
    FIELD_VLAN,
    FIELD_MAC,
    FIELD_MARK,
    FIELD_PRIORITY,
    N_FIELDS
};

struct field {
    const char *name;
    enum field_id id;
    uint8_t family;             /* Implied by the field; 0: none. */
    const char *value;          /* How the value is written; NULL: none. */
    const char *meaning;        /* NULL: it means the same as the field of this
                                 * 'id' and 'family' above. */
};

static const struct field fields[] = {
    { "all",       FIELD_ALL,      0,        NULL, "every guest flow of the bridge" },
    { "ip",        FIELD_IP,       AF_INET,  NULL, "IPv4" },
    { "ipv6",      FIELD_IP,       AF_INET6, NULL, "IPv6" },
    { "tcp",       FIELD_TCP,      AF_INET,  NULL, "IPv4, as ip: TCon acts on TCP only" },
    { "tcp6",      FIELD_TCP,      AF_INET6, NULL, "IPv6, likewise" },
    { "dl_type",   FIELD_TYPE,     0,        "TYPE", "0x800, as ip, or 0x86dd, as ipv6" },
    { "eth_type",  FIELD_TYPE,     0,        "TYPE", NULL },
    { "nw_proto",  FIELD_PROTO,    0,        "6", "TCP" },
    { "ip_proto",  FIELD_PROTO,    0,        "6", NULL },
    { "in_port",   FIELD_IN_PORT,  0,        "PORT", "the guest's port, by name or OpenFlow number" },
    { "iface-id",  FIELD_IFACE_ID, 0,        "ID", "the guest's port, by its external_ids:iface-id" },
    { "nw_src",    FIELD_SRC,      AF_INET,  "IP[/MASK]", "the guest's IPv4 address" },
    { "nw_dst",    FIELD_DST,      AF_INET,  "IP[/MASK]", "the peer's IPv4 address" },
    { "ip_src",    FIELD_SRC,      AF_INET,  "IP[/MASK]", NULL },
    { "ip_dst",    FIELD_DST,      AF_INET,  "IP[/MASK]", NULL },
    { "ipv6_src",  FIELD_SRC,      AF_INET6, "IP[/MASK]", "the guest's IPv6 address" },
    { "ipv6_dst",  FIELD_DST,      AF_INET6, "IP[/MASK]", "the peer's IPv6 address" },
    { "tp_src",    FIELD_SPORT,    0,        "PORT[/MASK]", "the guest's TCP port" },
    { "tp_dst",    FIELD_DPORT,    0,        "PORT[/MASK]", "the peer's TCP port" },
    { "tcp_src",   FIELD_SPORT,    0,        "PORT[/MASK]", NULL },
    { "tcp_dst",   FIELD_DPORT,    0,        "PORT[/MASK]", NULL },
    { "dl_vlan",   FIELD_VLAN,     0,        "ID", "the outermost VLAN; 0: no tag" },
    { "dl_src",    FIELD_MAC,      0,        "MAC[/MASK]", "the guest's Ethernet address" },
    { "eth_src",   FIELD_MAC,      0,        "MAC[/MASK]", NULL },
    { "pkt_mark",  FIELD_MARK,     0,        "MARK[/MASK]", "the mark of packets to the guest" },
    { "priority",  FIELD_PRIORITY, 0,        "NUMBER", "of the rule, 0 to 65535; by default 32768" },
};

/* Fields of OpenFlow that no rule looks at, and what is written instead. */
static const struct {
    const char *name, *instead;
} other_fields[] = {
    { "vlan_vid", "write dl_vlan" },
    { "vlan_tci", "write dl_vlan" },
    { "dl_dst", "a rule does not look at it; the peer is nw_dst or ipv6_dst" },
    { "eth_dst", "a rule does not look at it; the peer is nw_dst or ipv6_dst" },
};

/* OpenFlow words for packets that TCon never acts on. */
static const char *const not_tcp[] = {
    "udp", "udp6", "icmp", "icmp6", "sctp", "sctp6", "arp", "rarp", "mpls",
    "mplsm",
};

/* The state of the parser. */
struct parser {
    struct tcon_flow_spec *spec;
    struct tcon_error *error;
    const char *seen[N_FIELDS]; /* Name under which each field was given. */
    const char *last;           /* The name of the field before this word. */
    const char *family_word;    /* The word that set the family. */
};

/* One "field" or "field=value", cut apart. */
struct word {
    char text[WORD_MAX];        /* Name, NUL, value without quotes. */
    char *value;                /* Into 'text', or NULL without "=". */
    bool quoted;                /* The value stood in double quotes. */
};

/* Sets 'error' to a sentence.  A character that is not printable ASCII becomes
 * '?', so that a reply breaks neither the JSON that carries it nor a
 * terminal. */
void
tcon_error_set(struct tcon_error *error, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);

    for (char *p = error->text; *p; p++) {
        if (*p < ' ' || *p > '~') {
            *p = '?';
        }
    }
}

/* Returns how many characters must be added, left out, replaced, or exchanged with
 * their neighbour to make 'b' of 'a', without regard to case (Damerau, CACM 7(3),
 * 1964); the longest name counts where one is longer than NEAREST_MAX. */
static size_t
edits(const char *a, const char *b)
{
    size_t rows[3][NEAREST_MAX + 1], n = strlen(a), m = strlen(b);

    if (n > NEAREST_MAX || m > NEAREST_MAX) {
        return NEAREST_MAX;
    }
    for (size_t i = 0; i <= n; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3];

        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            if (!i) {
                row[j] = j;
                continue;
            }
            row[j] = above[j - 1]
                     + (tolower((unsigned char) a[i - 1])
                        != tolower((unsigned char) b[j - 1]));
            if (above[j] + 1 < row[j]) {
                row[j] = above[j] + 1;
            }
            if (row[j - 1] + 1 < row[j]) {
                row[j] = row[j - 1] + 1;
            }
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]
                && rows[(i + 1) % 3][j - 2] + 1 < row[j]) {
                row[j] = rows[(i + 1) % 3][j - 2] + 1;
            }
        }
    }
    return rows[n % 3][m];
}

/* Returns which of 'names' somebody might have meant who wrote 'name', or NULL: at
 * most one in three characters differs. */
const char *
tcon_nearest(const char *name, const char *const names[], size_t n)
{
    size_t least = strlen(name) / 3 + 1;
    const char *nearest = NULL;

    for (size_t i = 0; i < n; i++) {
        size_t e = edits(name, names[i]);

        if (e < least) {
            least = e;
            nearest = names[i];
        }
    }
    return nearest;
}

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int
digit_value(char c)
{
    return (is_digit(c) ? c - '0'
            : c >= 'a' && c <= 'f' ? c - 'a' + 10
            : c >= 'A' && c <= 'F' ? c - 'A' + 10
            : 16);
}

/* True if 'text' is meant as a number: decimal digits only, or 0x... */
static bool
looks_like_number(const char *text)
{
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        return true;
    }
    return *text && text[strspn(text, "0123456789")] == '\0';
}

/* Reads all of 'text' as an unsigned number of at most 'max', decimal or
 * hexadecimal with 0x.  A leading zero is refused, because some programs read
 * it as octal.  Returns false and leaves '*value' alone if 'text' is anything
 * else. */
bool
tcon_uint_parse(const char *text, uint64_t max, uint64_t *value)
{
    uint64_t base = 10;
    uint64_t n = 0;

    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        base = 16;
        text += 2;
    } else if (text[0] == '0' && text[1]) {
        return false;
    }
    if (!*text) {
        return false;
    }
    for (; *text; text++) {
        uint64_t digit = digit_value(*text);

        if (digit >= base || digit > max || n > (max - digit) / base) {
            return false;
        }
        n = n * base + digit;
    }
    *value = n;
    return true;
}

/* Cuts 'text' into words at white space, in place.  Returns how many there
 * are; more than 'max' count as 'max'. */
size_t
tcon_words_split(char *text, const char *words[], size_t max)
{
    char *save = NULL;
    size_t n = 0;

    for (char *word = strtok_r(text, " \t\r\n", &save); word && n < max;
         word = strtok_r(NULL, " \t\r\n", &save)) {
        words[n++] = word;
    }
    return n;
}

/* True if 'name' can be a rule's in OVSDB: it appears in keys that an
 * operator types. */
bool
tcon_rule_name_ok(const char *name)
{
    size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz"
                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");

    return len && !name[len] && len < TCON_RULE_NAME_MAX;
}

/* True if 'name' is a number of any length, as tcon/set-cc gives to the rules that
 * it writes: without a leading zero. */
bool
tcon_rule_name_is_number(const char *name)
{
    return is_digit(name[0]) && (name[0] != '0' || !name[1])
           && name[strspn(name, "0123456789")] == '\0';
}

/* Writes the number behind 'number'.  Returns false if that is too long for a
 * name. */
bool
tcon_rule_name_next(const char *number, char next[TCON_RULE_NAME_MAX])
{
    size_t len = strlen(number);
    size_t nines = 0;

    while (nines < len && number[len - 1 - nines] == '9') {
        nines++;
    }
    if (nines < len) {
        memcpy(next, number, len - nines);
        next[len - nines - 1]++;
    } else if (len + 1 < TCON_RULE_NAME_MAX) {
        *next = '1';
        len++;
    } else {
        return false;
    }
    memset(next + len - nines, '0', nines);
    next[len] = '\0';
    return true;
}

/* The order of names: words as bytes are, then numbers by their value.  So what
 * tcon/set-cc writes with the next number is the newest. */
int
tcon_rule_name_compare(const char *a, const char *b)
{
    bool a_is = tcon_rule_name_is_number(a);
    bool b_is = tcon_rule_name_is_number(b);

    if (a_is && b_is && strlen(a) != strlen(b)) {
        return strlen(a) < strlen(b) ? -1 : 1;
    } else if (a_is && b_is) {
        return strcmp(a, b);
    }
    return a_is ? 1 : b_is ? -1 : strcmp(a, b);
}

/* Cuts the next word from '*text' into 'word' and advances '*text' past it.
 * '*text' points to the word's first character. */
static bool
word_next(const char **text, struct word *word, struct tcon_error *error)
{
    const char *p = *text;
    size_t name_len = strcspn(p, "=" SEPARATORS);
    size_t value_len = 0;

    memset(word, 0, sizeof *word);
    if (name_len >= 32) {
        tcon_error_set(error, "unknown field '%.32s...'", p);
        return false;
    }
    memcpy(word->text, p, name_len);
    p += name_len;
    if (*p == '=') {
        p++;
        word->value = word->text + name_len + 1;
        word->quoted = *p == '"';
        if (word->quoted) {
            p++;
            value_len = strcspn(p, "\"");
            if (p[value_len] != '"'
                || (p[value_len + 1]
                    && !strchr(SEPARATORS, p[value_len + 1]))) {
                tcon_error_set(error, "the quotes in %s=\"%.32s do not match",
                               word->text, p);
                return false;
            }
        } else {
            value_len = strcspn(p, SEPARATORS);
        }
        if (name_len + 1 + value_len >= WORD_MAX) {
            tcon_error_set(error, "the value of %s is too long: '%.32s...'",
                           word->text, p);
            return false;
        }
        memcpy(word->value, p, value_len);
        p += value_len + word->quoted;
    }
    *text = p;
    return true;
}

static const char *
family_name(uint8_t family)
{
    return family == AF_INET ? "IPv4" : "IPv6";
}

/* Notes that 'field' restricts the match to its family. */
static bool
parse_family(struct parser *parser, const struct field *field)
{
    struct tcon_match *match = &parser->spec->match;

    if (match->family && match->family != field->family) {
        tcon_error_set(parser->error, "'%s' is for %s but '%s' is for %s: "
                       "the flow can match nothing", parser->family_word,
                       family_name(match->family), field->name,
                       family_name(field->family));
        return false;
    }
    if (!match->family) {
        match->family = field->family;
        parser->family_word = field->name;
    }
    return true;
}

static bool
parse_number(struct parser *parser, const struct field *field,
             const char *text, uint64_t max, uint64_t *value)
{
    if (!tcon_uint_parse(text, max, value)) {
        tcon_error_set(parser->error, "%s=%.40s: not a number from 0 to "
                       "%"PRIu64, field->name, text, max);
        return false;
    }
    return true;
}

/* Reads the Ethernet type, the long form of "ip" and "ipv6". */
static bool
parse_type(struct parser *parser, const struct field *field, const char *text)
{
    struct field implied = *field;
    uint64_t type;

    if (!parse_number(parser, field, text, UINT16_MAX, &type)) {
        return false;
    }
    implied.family = type == 0x800 ? AF_INET : type == 0x86dd ? AF_INET6 : 0;
    if (!implied.family) {
        tcon_error_set(parser->error, "%s=%.40s can match nothing: TCP is in "
                       "IPv4 (0x800) and IPv6 (0x86dd) only", field->name,
                       text);
        return false;
    }
    return parse_family(parser, &implied);
}

/* Reads the IP protocol, the long form of what holds of every flow. */
static bool
parse_proto(struct parser *parser, const struct field *field, const char *text)
{
    uint64_t proto;

    if (!parse_number(parser, field, text, UINT8_MAX, &proto)) {
        return false;
    }
    if (proto != 6) {
        tcon_error_set(parser->error, "%s=%.40s can match nothing: TCon acts "
                       "on TCP (6) only", field->name, text);
    }
    return proto == 6;
}

static bool
parse_vlan(struct parser *parser, const struct field *field, const char *text,
           struct tcon_match *match)
{
    uint64_t n;

    if (!parse_number(parser, field, text, VLAN_ID_MAX, &n)) {
        return false;
    }
    match->has_vlan = true;
    match->vlan = n;
    return true;
}

/* Reads PORT or PORT/MASK.  Bits outside of the mask are cleared, as in Open
 * vSwitch. */
static bool
parse_ports(struct parser *parser, const struct field *field, char *text,
            struct tcon_ports *ports)
{
    char *slash = strchr(text, '/');
    uint64_t value, mask = UINT16_MAX;

    if (is_digit(*text) && strchr(text, '-')) {
        tcon_error_set(parser->error, "%s=%.40s: a range is not matched, only "
                       "PORT or PORT/MASK, such as 0x50/0xfff0: set a rule for "
                       "each part of it", field->name, text);
        return false;
    }
    if (slash) {
        *slash = '\0';
    }
    if (!slash && !tcon_uint_parse(text, UINT16_MAX, &value)) {
        tcon_error_set(parser->error, "%s=%.40s: not a number from 1 to %d",
                       field->name, text, UINT16_MAX);
        return false;
    }
    if (slash
        && (!parse_number(parser, field, text, UINT16_MAX, &value)
            || !parse_number(parser, field, slash + 1, UINT16_MAX, &mask))) {
        return false;
    }
    if (!mask) {
        tcon_error_set(parser->error, "%s: mask 0 matches every port: leave "
                       "the field out", field->name);
        return false;
    }
    if (!value && mask == UINT16_MAX) {
        tcon_error_set(parser->error, "%s=0: no TCP connection uses port 0, "
                       "the flow can match nothing", field->name);
        return false;
    }
    ports->value = value & mask;
    ports->mask = mask;
    return true;
}

/* Reads six bytes in hexadecimal with colons between them. */
static bool
mac_from_text(const char *text, uint8_t mac[6])
{
    for (size_t i = 0; i < 6; i++) {
        unsigned int n = 0;
        size_t digits;

        for (digits = 0; digits < 2 && digit_value(*text) < 16; digits++) {
            n = n * 16 + digit_value(*text++);
        }
        if (!digits || *text != (i < 5 ? ':' : '\0')) {
            return false;
        }
        mac[i] = n;
        text += i < 5;
    }
    return true;
}

/* Does any bit count? */
bool
tcon_mac_is_given(const struct tcon_mac *mac)
{
    static const uint8_t none[6];

    return memcmp(mac->mask, none, sizeof none) != 0;
}

/* Do all bits count? */
bool
tcon_mac_is_whole(const struct tcon_mac *mac)
{
    static const uint8_t whole[6] = { 255, 255, 255, 255, 255, 255 };

    return !memcmp(mac->mask, whole, sizeof whole);
}

/* Returns why no guest's packet can have an address that agrees with 'mac', or
 * NULL. */
static const char *
mac_never_source(const struct tcon_mac *mac)
{
    static const uint8_t zero[6];

    return (!tcon_mac_is_given(mac)
            ? "mask 0 matches every address: leave the field out"
            : mac->value[0] & 1
            ? "a multicast address is nobody's: the flow can match nothing"
            : tcon_mac_is_whole(mac)
              && !memcmp(mac->value, zero, sizeof zero)
            ? "the address of zeros is nobody's: the flow can match nothing"
            : NULL);
}

/* Reads ADDRESS or ADDRESS/MASK.  Bits outside of the mask are cleared, as in
 * Open vSwitch. */
static bool
parse_mac(struct parser *parser, const struct field *field, char *text,
          struct tcon_mac *mac)
{
    char *slash = strchr(text, '/');
    const char *why;

    if (slash) {
        *slash = '\0';
    }
    memset(mac->mask, 0xff, sizeof mac->mask);
    if (!mac_from_text(text, mac->value)
        || (slash && !mac_from_text(slash + 1, mac->mask))) {
        tcon_error_set(parser->error, "%s=%.40s%s%.40s: not an Ethernet "
                       "address such as 52:54:00:12:34:56, nor one with a mask",
                       field->name, text, slash ? "/" : "",
                       slash ? slash + 1 : "");
        return false;
    }
    for (size_t i = 0; i < sizeof mac->value; i++) {
        mac->value[i] &= mac->mask[i];
    }
    why = mac_never_source(mac);
    if (why) {
        tcon_error_set(parser->error, "%s=%.40s: %s", field->name, text, why);
    }
    return !why;
}

/* Reads MARK or MARK/MASK. */
static bool
parse_mark(struct parser *parser, const struct field *field, char *text,
           struct tcon_mark *mark)
{
    char *slash = strchr(text, '/');
    uint64_t value, mask = UINT32_MAX;

    if (slash) {
        *slash = '\0';
    }
    if (!parse_number(parser, field, text, UINT32_MAX, &value)
        || (slash && !parse_number(parser, field, slash + 1, UINT32_MAX,
                                   &mask))) {
        return false;
    }
    if (!mask) {
        tcon_error_set(parser->error, "%s: mask 0 matches every mark: leave "
                       "the field out", field->name);
        return false;
    }
    mark->value = value & mask;
    mark->mask = mask;
    return true;
}

static bool
parse_in_port(struct parser *parser, const struct field *field,
              const struct word *word)
{
    struct tcon_match *match = &parser->spec->match;
    const char *name = word->value;
    uint64_t n;

    if (!word->quoted && !strcasecmp(name, "LOCAL")) {
        match->has_ofport = true;
        match->ofport = TCON_OFPORT_LOCAL;
        return true;
    }
    if (!word->quoted && looks_like_number(name)) {
        if (!parse_number(parser, field, name, UINT16_MAX, &n)) {
            return false;
        }
        match->has_ofport = true;
        match->ofport = n;
        return true;
    }
    for (const char *p = name; *p; p++) {
        if (*p == '"' || *p == '/' || (*p >= 0 && *p <= ' ') || *p == 0x7f) {
            tcon_error_set(parser->error, "in_port=%.40s: no port has such a "
                           "name", name);
            return false;
        }
    }
    if (strlen(name) >= sizeof match->ifname) {
        tcon_error_set(parser->error, "in_port=%.40s: no guest port has a "
                       "name of more than %d characters", name,
                       TCON_IFNAME_MAX - 1);
        return false;
    }
    memcpy(match->ifname, name, strlen(name));
    return true;
}

/* Reads external_ids:iface-id of an Interface: whoever manages guests chooses
 * it, mostly a UUID. */
static bool
parse_iface_id(struct parser *parser, const struct field *field,
               const char *text, struct tcon_match *match)
{
    for (const char *p = text; *p; p++) {
        if (*p == '"' || *p <= ' ' || *p > '~') {
            tcon_error_set(parser->error, "%s=%.40s: spaces, quotes and what "
                           "is not printable ASCII cannot be matched",
                           field->name, text);
            return false;
        }
    }
    if (strlen(text) >= sizeof match->iface_id) {
        tcon_error_set(parser->error, "%s=%.40s...: at most %d characters can "
                       "be matched", field->name, text, TCON_IFACE_ID_MAX - 1);
        return false;
    }
    memcpy(match->iface_id, text, strlen(text));
    return true;
}

/* Turns a netmask into a prefix length.  Returns false if its ones are not
 * all on the left. */
static bool
mask_to_plen(const uint8_t *mask, unsigned int size, uint8_t *plen)
{
    unsigned int n = 0;

    while (n < size * 8 && (mask[n / 8] & (0x80 >> n % 8))) {
        n++;
    }
    *plen = n;
    for (; n < size * 8; n++) {
        if (mask[n / 8] & (0x80 >> n % 8)) {
            return false;
        }
    }
    return true;
}

/* Reads what follows the "/" of an address. */
static bool
parse_mask(struct parser *parser, const struct field *field, const char *text,
           uint8_t *plen)
{
    unsigned int size = field->family == AF_INET ? 4 : 16;
    uint8_t mask[16];
    uint64_t n;

    if (looks_like_number(text)) {
        if (!tcon_uint_parse(text, size * 8, &n)) {
            tcon_error_set(parser->error, "%s: prefix length %.40s is not a "
                           "number from 0 to %u", field->name, text,
                           size * 8);
            return false;
        }
        *plen = n;
        return true;
    }
    if (inet_pton(field->family, text, mask) != 1) {
        tcon_error_set(parser->error, "%s: '%.50s' is neither a prefix length "
                       "nor a netmask", field->name, text);
        return false;
    }
    if (!mask_to_plen(mask, size, plen)) {
        tcon_error_set(parser->error, "%s: netmask %.50s has holes, only "
                       "prefixes can be matched", field->name, text);
        return false;
    }
    return true;
}

/* Returns the kind of address, if no TCP packet can have an address in
 * 'prefix'; otherwise NULL. */
static const char *
prefix_never_tcp(uint8_t family, const struct tcon_prefix *prefix)
{
    static const uint8_t zero[16], ones[4] = { 255, 255, 255, 255 };
    const uint8_t *addr = prefix->addr;

    if (family == AF_INET) {
        return (prefix->plen >= 4 && (addr[0] & 0xf0) == 0xe0 ? "a multicast"
                : prefix->plen < 32 ? NULL
                : !memcmp(addr, zero, 4) ? "the unspecified"
                : !memcmp(addr, ones, 4) ? "the broadcast"
                : NULL);
    }
    return (prefix->plen >= 8 && addr[0] == 0xff ? "a multicast"
            : prefix->plen == 128 && !memcmp(addr, zero, 16)
            ? "the unspecified"
            : NULL);
}

/* Reads ADDRESS or ADDRESS/MASK.  Host bits are cleared, as in Open
 * vSwitch. */
static bool
parse_prefix(struct parser *parser, const struct field *field, char *text,
             struct tcon_prefix *prefix)
{
    unsigned int bits = field->family == AF_INET ? 32 : 128;
    char *slash = strchr(text, '/');
    const char *kind;
    uint8_t other[16];

    if (slash) {
        *slash = '\0';
    }
    if (inet_pton(field->family, text, prefix->addr) != 1) {
        uint8_t other_family = field->family == AF_INET ? AF_INET6 : AF_INET;

        tcon_error_set(parser->error, "%s=%.50s: %s an %s address",
                       field->name, text,
                       inet_pton(other_family, text, other) == 1
                       ? (other_family == AF_INET
                          ? "this is IPv4 (nw_src, nw_dst), not"
                          : "this is IPv6 (ipv6_src, ipv6_dst), not")
                       : "not", family_name(field->family));
        return false;
    }
    prefix->plen = bits;
    if (slash && !parse_mask(parser, field, slash + 1, &prefix->plen)) {
        return false;
    }
    for (unsigned int n = prefix->plen; n < bits; n++) {
        prefix->addr[n / 8] &= ~(0x80 >> n % 8);
    }
    kind = prefix_never_tcp(field->family, prefix);
    if (kind) {
        tcon_error_set(parser->error, "%s=%.50s is %s address: the flow can "
                       "match nothing", field->name, text, kind);
        return false;
    }
    return true;
}

static bool
parse_value(struct parser *parser, const struct field *field,
            struct word *word)
{
    struct tcon_match *match = &parser->spec->match;
    uint64_t n;

    switch (field->id) {
    case FIELD_TYPE:
        return parse_type(parser, field, word->value);
    case FIELD_PROTO:
        return parse_proto(parser, field, word->value);
    case FIELD_IN_PORT:
        return parse_in_port(parser, field, word);
    case FIELD_IFACE_ID:
        return parse_iface_id(parser, field, word->value, match);
    case FIELD_SRC:
        return parse_prefix(parser, field, word->value, &match->src);
    case FIELD_DST:
        return parse_prefix(parser, field, word->value, &match->dst);
    case FIELD_SPORT:
        return parse_ports(parser, field, word->value, &match->sport);
    case FIELD_DPORT:
        return parse_ports(parser, field, word->value, &match->dport);
    case FIELD_VLAN:
        return parse_vlan(parser, field, word->value, match);
    case FIELD_MAC:
        return parse_mac(parser, field, word->value, &match->mac);
    case FIELD_MARK:
        return parse_mark(parser, field, word->value, &match->mark);
    case FIELD_PRIORITY:
        if (!parse_number(parser, field, word->value, UINT16_MAX, &n)) {
            return false;
        }
        parser->spec->has_priority = true;
        parser->spec->priority = n;
        return true;
    case FIELD_ALL:
    case FIELD_IP:
    case FIELD_TCP:
    case N_FIELDS:
        break;
    }
    return true;
}

/* Names all fields but aliases, and that which was meant, perhaps. */
static void
set_unknown_field(const char *name, struct tcon_error *error)
{
    const char *names[N_ELEMS(fields)], *nearest;
    char known[TCON_ERROR_MAX] = "";
    size_t len = 0;

    for (size_t i = 0; i < N_ELEMS(fields); i++) {
        names[i] = fields[i].name;
        if (fields[i].meaning) {
            len += snprintf(known + len, sizeof known - len, "%s%s",
                            len ? ", " : "", names[i]);
        }
    }
    nearest = tcon_nearest(name, names, N_ELEMS(names));
    tcon_error_set(error, "unknown field '%s'%s%s%s (known: %s; see tcon/help "
                   "MATCH)", name,
                   nearest ? ": is it " : "", nearest ? nearest : "",
                   nearest ? "?" : "", known);
}

static const struct field *
field_find(const struct parser *parser, const char *name)
{
    struct tcon_error *error = parser->error;

    for (size_t i = 0; i < N_ELEMS(fields); i++) {
        if (!strcmp(name, fields[i].name)) {
            return &fields[i];
        }
    }
    for (size_t i = 0; i < N_ELEMS(not_tcp); i++) {
        if (!strcmp(name, not_tcp[i])) {
            tcon_error_set(error, "'%s' can match nothing: TCon acts on TCP "
                           "only", name);
            return NULL;
        }
    }
    for (size_t i = 0; i < N_ELEMS(other_fields); i++) {
        if (!strcmp(name, other_fields[i].name)) {
            tcon_error_set(error, "'%s': %s", name, other_fields[i].instead);
            return NULL;
        }
    }
    if (parser->last && looks_like_number(name)) {
        tcon_error_set(error, "%s has one value, not also %s: set a rule for "
                       "each", parser->last, name);
    } else {
        set_unknown_field(name, error);
    }
    return NULL;
}

/* Returns in '*text' how the field number 'i' is written, and in '*meaning' what
 * it is about.  Returns false if there are fewer.  Aliases do not count. */
bool
tcon_field_describe(size_t i, char text[TCON_FIELD_TEXT_MAX],
                    const char **meaning)
{
    for (size_t j = 0; j < N_ELEMS(fields); j++) {
        if (fields[j].meaning && !i--) {
            snprintf(text, TCON_FIELD_TEXT_MAX, "%s%s%s", fields[j].name,
                     fields[j].value ? "=" : "",
                     fields[j].value ? fields[j].value : "");
            *meaning = fields[j].meaning;
            return true;
        }
    }
    return false;
}

static bool
parse_word(struct parser *parser, struct word *word)
{
    const struct field *field = field_find(parser, word->text);

    if (!field) {
        return false;
    }
    if (!field->value && word->value) {
        tcon_error_set(parser->error, "'%s' takes no value", field->name);
        return false;
    }
    if (field->value && (!word->value || !*word->value)) {
        tcon_error_set(parser->error, "'%s' has no value", field->name);
        return false;
    }
    if (field->family && !parse_family(parser, field)) {
        return false;
    }
    if (parser->seen[field->id]) {
        tcon_error_set(parser->error, "'%s' is given twice%s%s%s", field->name,
                       strcmp(field->name, parser->seen[field->id])
                       ? " (first as '" : "",
                       strcmp(field->name, parser->seen[field->id])
                       ? parser->seen[field->id] : "",
                       strcmp(field->name, parser->seen[field->id])
                       ? "')" : "");
        return false;
    }
    parser->seen[field->id] = field->name;
    parser->last = field->value ? field->name : NULL;
    return parse_value(parser, field, word);
}

/* A port has one name. */
static bool
check_port(const struct parser *parser)
{
    if (parser->seen[FIELD_IN_PORT] && parser->seen[FIELD_IFACE_ID]) {
        tcon_error_set(parser->error, "'in_port' and 'iface-id' both say the "
                       "port: give one of them");
        return false;
    }
    return true;
}

/* "all" must stand alone.  Without any field a MATCH is refused: an empty
 * MATCH is more likely a mistake than meant as "all". */
static bool
check_all(const struct parser *parser)
{
    bool all = parser->seen[FIELD_ALL] != NULL;

    for (int id = FIELD_ALL + 1; id < FIELD_PRIORITY; id++) {
        if (parser->seen[id] && all) {
            tcon_error_set(parser->error, "'all' is every guest flow and "
                           "cannot go with '%s'", parser->seen[id]);
            return false;
        } else if (parser->seen[id]) {
            return true;
        }
    }
    if (!all) {
        tcon_error_set(parser->error, "MATCH names no field: write 'all' for "
                       "every guest flow of the bridge");
    }
    return all;
}

/* Reads all of 'text', a MATCH, into 'spec'.  Returns false, with a sentence
 * in 'error', if it is malformed or can match nothing. */
bool
tcon_flow_spec_parse(const char *text, struct tcon_flow_spec *spec,
                     struct tcon_error *error)
{
    struct parser parser = { .spec = spec, .error = error };
    struct word word;

    memset(spec, 0, sizeof *spec);
    spec->priority = TCON_DEFAULT_PRIORITY;
    for (;;) {
        text += strspn(text, SEPARATORS);
        if (!*text) {
            return check_port(&parser) && check_all(&parser);
        }
        if (!word_next(&text, &word, error) || !parse_word(&parser, &word)) {
            return false;
        }
    }
}

static bool
prefix_equal(const struct tcon_prefix *a, const struct tcon_prefix *b)
{
    return a->plen == b->plen && !memcmp(a->addr, b->addr, sizeof a->addr);
}

static bool
ports_equal(const struct tcon_ports *a, const struct tcon_ports *b)
{
    return a->value == b->value && a->mask == b->mask;
}

/* True if 'a' and 'b' are written the same way by tcon_match_format(). */
bool
tcon_match_equal(const struct tcon_match *a, const struct tcon_match *b)
{
    return (!strcmp(a->ifname, b->ifname)
            && !strcmp(a->iface_id, b->iface_id)
            && a->has_ofport == b->has_ofport && a->ofport == b->ofport
            && a->family == b->family
            && prefix_equal(&a->src, &b->src)
            && prefix_equal(&a->dst, &b->dst)
            && ports_equal(&a->sport, &b->sport)
            && ports_equal(&a->dport, &b->dport)
            && a->has_vlan == b->has_vlan && a->vlan == b->vlan
            && !memcmp(&a->mac, &b->mac, sizeof a->mac)
            && a->mark.value == b->mark.value
            && a->mark.mask == b->mark.mask);
}

/* True if 'addr', a whole address, is in 'prefix'. */
static bool
prefix_contains(const struct tcon_prefix *prefix, const uint8_t *addr)
{
    for (unsigned int n = 0; n < prefix->plen; n++) {
        if ((prefix->addr[n / 8] ^ addr[n / 8]) & (0x80 >> n % 8)) {
            return false;
        }
    }
    return true;
}

/* True if 'addr', a whole address, agrees with 'mac'. */
static bool
mac_contains(const struct tcon_mac *mac, const uint8_t addr[6])
{
    for (size_t i = 0; i < 6; i++) {
        if ((addr[i] & mac->mask[i]) != mac->value[i]) {
            return false;
        }
    }
    return true;
}

/* Says whether 'match' selects 'flow', as tcon.ko decides it.  'flow' is a
 * match that names the guest's port, as 'ifname', its 'iface_id' if it has one,
 * and of the other fields those that are known, in whole; without dl_vlan it has
 * no tag.  'ofport' is the port's OpenFlow number.
 *
 * Unless 'match' selects it, '*field' is the field that decides. */
enum tcon_selects
tcon_match_selects(const struct tcon_match *match,
                   const struct tcon_match *flow, uint32_t ofport,
                   const char **field)
{
    bool v4 = match->family == AF_INET;
    uint16_t vlan = flow->has_vlan ? flow->vlan : 0;
    const struct {
        const char *name;
        bool asked, known, equal;
    } fields_of[] = {
        { "in_port", match->ifname[0], true,
          !strcmp(match->ifname, flow->ifname) },
        { "in_port", match->has_ofport, true, match->ofport == ofport },
        { "iface-id", match->iface_id[0], true,
          !strcmp(match->iface_id, flow->iface_id) },
        { "dl_vlan", match->has_vlan, true, match->vlan == vlan },
        { v4 ? "tcp" : "tcp6", match->family, flow->family,
          match->family == flow->family },
        { v4 ? "nw_src" : "ipv6_src", match->src.plen, flow->src.plen,
          prefix_contains(&match->src, flow->src.addr) },
        { v4 ? "nw_dst" : "ipv6_dst", match->dst.plen, flow->dst.plen,
          prefix_contains(&match->dst, flow->dst.addr) },
        { "tp_src", match->sport.mask, flow->sport.mask,
          match->sport.value == (flow->sport.value & match->sport.mask) },
        { "tp_dst", match->dport.mask, flow->dport.mask,
          match->dport.value == (flow->dport.value & match->dport.mask) },
        { "dl_src", tcon_mac_is_given(&match->mac),
          tcon_mac_is_given(&flow->mac),
          mac_contains(&match->mac, flow->mac.value) },
        { "pkt_mark", match->mark.mask, flow->mark.mask,
          match->mark.value == (flow->mark.value & match->mark.mask) },
    };
    enum tcon_selects selects = TCON_SELECTS;

    for (size_t i = 0; i < N_ELEMS(fields_of); i++) {
        if (!fields_of[i].asked) {
            continue;
        }
        if (fields_of[i].known && !fields_of[i].equal) {
            *field = fields_of[i].name;
            return TCON_SELECTS_NOT;
        }
        if (!fields_of[i].known && selects == TCON_SELECTS) {
            *field = fields_of[i].name;
            selects = TCON_SELECTS_UNKNOWN;
        }
    }
    return selects;
}

/* Do 'a' and 'b' agree in the bits of addresses that both look at? */
static bool
prefix_overlap(const struct tcon_prefix *a, const struct tcon_prefix *b)
{
    struct tcon_prefix shorter = a->plen < b->plen ? *a : *b;

    return prefix_contains(&shorter, a->plen < b->plen ? b->addr : a->addr);
}

static bool
mac_overlap(const struct tcon_mac *a, const struct tcon_mac *b)
{
    for (size_t i = 0; i < sizeof a->value; i++) {
        if ((a->value[i] ^ b->value[i]) & a->mask[i] & b->mask[i]) {
            return false;
        }
    }
    return true;
}

/* May there be a flow that both select?  Of a port's name, number and iface-id only
 * the same are compared. */
bool
tcon_match_overlap(const struct tcon_match *a, const struct tcon_match *b)
{
    return ((!a->ifname[0] || !b->ifname[0] || !strcmp(a->ifname, b->ifname))
            && (!a->has_ofport || !b->has_ofport || a->ofport == b->ofport)
            && (!a->iface_id[0] || !b->iface_id[0]
                || !strcmp(a->iface_id, b->iface_id))
            && (!a->family || !b->family || a->family == b->family)
            && prefix_overlap(&a->src, &b->src)
            && prefix_overlap(&a->dst, &b->dst)
            && !((a->sport.value ^ b->sport.value) & a->sport.mask
                 & b->sport.mask)
            && !((a->dport.value ^ b->dport.value) & a->dport.mask
                 & b->dport.mask)
            && (!a->has_vlan || !b->has_vlan || a->vlan == b->vlan)
            && mac_overlap(&a->mac, &b->mac)
            && !((a->mark.value ^ b->mark.value) & a->mark.mask
                 & b->mark.mask));
}

/* A text that is being built; always NUL-terminated. */
struct text {
    char *start;
    size_t size;
    size_t len;
};

static void __attribute__((format(printf, 2, 3)))
text_put(struct text *text, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(text->start + text->len, text->size - text->len, format,
                  args);
    va_end(args);
    if (n > 0) {
        text->len += n;
        if (text->len >= text->size) {
            text->len = text->size - 1;
        }
    }
}

/* Appends a field's name, with a comma before all but the first. */
static void
text_put_field(struct text *text, const char *name)
{
    text_put(text, "%s%s", text->len ? "," : "", name);
}

static void
format_in_port(struct text *text, const struct tcon_match *match)
{
    const char *name = match->ifname;

    if (name[0]) {
        bool quote = (looks_like_number(name) || !strcasecmp(name, "LOCAL")
                      || strchr(name, ','));

        text_put_field(text, "in_port=");
        text_put(text, quote ? "\"%s\"" : "%s", name);
    } else if (match->has_ofport) {
        text_put_field(text, "in_port=");
        if (match->ofport == TCON_OFPORT_LOCAL) {
            text_put(text, "LOCAL");
        } else {
            text_put(text, "%"PRIu32, match->ofport);
        }
    }
}

static void
format_iface_id(struct text *text, const char *id)
{
    if (id[0]) {
        text_put_field(text, "iface-id=");
        text_put(text, strchr(id, ',') ? "\"%s\"" : "%s", id);
    }
}

static void
format_prefix(struct text *text, uint8_t family, const char *name,
              const struct tcon_prefix *prefix)
{
    char addr[INET6_ADDRSTRLEN];

    if (prefix->plen) {
        text_put_field(text, family == AF_INET ? "nw_" : "ipv6_");
        text_put(text, "%s=%s", name,
                 inet_ntop(family, prefix->addr, addr, sizeof addr));
        if (prefix->plen != (family == AF_INET ? 32 : 128)) {
            text_put(text, "/%u", prefix->plen);
        }
    }
}

static void
format_ports(struct text *text, const char *name,
             const struct tcon_ports *ports)
{
    if (ports->mask == UINT16_MAX) {
        text_put_field(text, name);
        text_put(text, "%u", ports->value);
    } else if (ports->mask) {
        text_put_field(text, name);
        text_put(text, "0x%x/0x%x", ports->value, ports->mask);
    }
}

static void
put_mac(struct text *text, const uint8_t mac[6])
{
    text_put(text, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
             mac[3], mac[4], mac[5]);
}

static void
format_mac(struct text *text, const struct tcon_mac *mac)
{
    if (tcon_mac_is_given(mac)) {
        text_put_field(text, "dl_src=");
        put_mac(text, mac->value);
        if (!tcon_mac_is_whole(mac)) {
            text_put(text, "/");
            put_mac(text, mac->mask);
        }
    }
}

static void
format_mark(struct text *text, const struct tcon_mark *mark)
{
    if (mark->mask) {
        text_put_field(text, "pkt_mark=");
        text_put(text, "0x%"PRIx32, mark->value);
        if (mark->mask != UINT32_MAX) {
            text_put(text, "/0x%"PRIx32, mark->mask);
        }
    }
}

/* Writes 'match' into 'buf' as tcon_flow_spec_parse() reads it. */
void
tcon_match_format(const struct tcon_match *match,
                  char buf[TCON_MATCH_TEXT_MAX])
{
    struct text text = { .start = buf, .size = TCON_MATCH_TEXT_MAX };

    buf[0] = '\0';
    if (match->family) {
        text_put_field(&text, match->family == AF_INET ? "tcp" : "tcp6");
    }
    format_in_port(&text, match);
    format_iface_id(&text, match->iface_id);
    if (match->family) {
        format_prefix(&text, match->family, "src", &match->src);
        format_prefix(&text, match->family, "dst", &match->dst);
    }
    format_ports(&text, "tp_src=", &match->sport);
    format_ports(&text, "tp_dst=", &match->dport);
    if (match->has_vlan) {
        text_put_field(&text, "dl_vlan=");
        text_put(&text, "%u", match->vlan);
    }
    format_mac(&text, &match->mac);
    format_mark(&text, &match->mark);
    if (!text.len) {
        text_put(&text, "all");
    }
}

static bool
parse_bool(const char *text, int64_t *value)
{
    static const char *const words[][2] = {
        { "off", "on" }, { "false", "true" }, { "no", "yes" }, { "0", "1" },
    };

    for (size_t i = 0; i < N_ELEMS(words); i++) {
        for (int v = 0; v < 2; v++) {
            if (!strcasecmp(text, words[i][v])) {
                *value = v;
                return true;
            }
        }
    }
    return false;
}

/* Reads a decimal number with at most 'decimals' digits behind the point and
 * stores it times 10^decimals.  Sets '*huge' if no int64_t holds that. */
static bool
parse_decimal(const char *text, int decimals, int64_t *value, bool *huge)
{
    bool negative = *text == '-';
    const char *digits = text + negative;
    bool point = false;
    int64_t n = 0;

    if (!is_digit(digits[0]) || (digits[0] == '0' && is_digit(digits[1]))) {
        return false;
    }
    for (const char *p = digits; *p; p++) {
        if (*p == '.' && !point && decimals && is_digit(p[1])) {
            point = true;
            continue;
        }
        if (!is_digit(*p) || (point && decimals-- == 0)) {
            return false;
        }
        *huge |= n > (INT64_MAX - (*p - '0')) / 10;
        n = *huge ? 0 : n * 10 + (*p - '0');
    }
    for (; decimals > 0; decimals--) {
        *huge |= n > INT64_MAX / 10;
        n = *huge ? 0 : n * 10;
    }
    *value = negative ? -n : n;
    return true;
}

/* Reads all of 'text' as the value of parameter 'name'.  Returns false, with
 * a sentence in 'error', if it is malformed or not within 'min' and 'max'. */
bool
tcon_value_parse(const char *name, enum tcon_param_type type, int64_t min,
                 int64_t max, const char *text, int64_t *value,
                 struct tcon_error *error)
{
    char min_text[TCON_VALUE_TEXT_MAX], max_text[TCON_VALUE_TEXT_MAX];
    bool ok, huge = false;
    int64_t n;

    tcon_value_format(type, min, min_text);
    tcon_value_format(type, max, max_text);
    switch (type) {
    case TCON_PARAM_BOOL:
        ok = parse_bool(text, &n);
        break;
    case TCON_PARAM_MILLI:
        ok = parse_decimal(text, 3, &n, &huge);
        break;
    case TCON_PARAM_UINT:
    default:
        ok = parse_decimal(text, 0, &n, &huge);
        break;
    }
    if (!ok) {
        tcon_error_set(error, "%.32s=%.40s: not %s", name, text,
                       type == TCON_PARAM_BOOL ? "'on' or 'off'"
                       : type == TCON_PARAM_MILLI
                       ? "a number with at most three decimals"
                       : "a whole number");
        return false;
    }
    if (huge || n < min || n > max) {
        tcon_error_set(error, "%.32s=%.40s is out of range (%s to %s)", name,
                       text, min_text, max_text);
        return false;
    }
    *value = n;
    return true;
}

/* Writes 'value' into 'buf' as tcon_value_parse() reads it. */
void
tcon_value_format(enum tcon_param_type type, int64_t value,
                  char buf[TCON_VALUE_TEXT_MAX])
{
    uint64_t magnitude = value < 0 ? -(uint64_t) value : (uint64_t) value;
    struct text text = { .start = buf, .size = TCON_VALUE_TEXT_MAX };

    if (type == TCON_PARAM_BOOL && (value == 0 || value == 1)) {
        text_put(&text, "%s", value ? "on" : "off");
        return;
    }
    if (value < 0) {
        text_put(&text, "-");
    }
    if (type != TCON_PARAM_MILLI) {
        text_put(&text, "%"PRIu64, magnitude);
        return;
    }
    text_put(&text, "%"PRIu64, magnitude / 1000);
    if (magnitude % 1000) {
        text_put(&text, ".%03u", (unsigned int) (magnitude % 1000));
        while (text.start[text.len - 1] == '0') {
            text.start[--text.len] = '\0';
        }
    }
}
