/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */

#include "tcon-state.h"

#include <arpa/inet.h>
#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "crc32c.h"

#define HEADER_BYTES sizeof(struct tcon_state_header)
#define RECORD_BYTES sizeof(struct tcon_state_record)
#define STATE_MAX_BYTES (HEADER_BYTES + TCON_STATE_MAX_RECORDS * RECORD_BYTES)
#define BASE64_LEN(BYTES) (((BYTES) + 2) / 3 * 4)

static const char alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Writes 'n' bytes as base64 (RFC 4648, 4), with the NUL. */
static void
base64_encode(const uint8_t *in, size_t n, char *out)
{
    for (size_t i = 0; i < n; i += 3) {
        size_t left = n - i;
        uint32_t v = in[i] << 16 | (left > 1 ? in[i + 1] << 8 : 0)
                     | (left > 2 ? in[i + 2] : 0);

        *out++ = alphabet[v >> 18];
        *out++ = alphabet[v >> 12 & 63];
        *out++ = left > 1 ? alphabet[v >> 6 & 63] : '=';
        *out++ = left > 2 ? alphabet[v & 63] : '=';
    }
    *out = '\0';
}

/* The value of a character; -1: it has none. */
static int
sextet(char c)
{
    const char *at = c ? strchr(alphabet, c) : NULL;

    return at ? at - alphabet : -1;
}

/* Reads the 'len' characters of 'text' into 'out', which has room for three
 * quarters of them.  Returns the number of bytes, or -1 where a character, or
 * what ends the text, is wrong. */
static ssize_t
base64_decode(const char *text, size_t len, uint8_t *out)
{
    uint8_t *start = out;
    uint32_t v = 0;
    size_t pad;

    if (!len || len % 4) {
        return -1;
    }
    pad = text[len - 1] != '=' ? 0 : text[len - 2] != '=' ? 1 : 2;
    for (size_t i = 0; i < len; i++) {
        int six = i < len - pad ? sextet(text[i]) : 0;

        if (six < 0) {
            return -1;
        }
        v = v << 6 | six;
        if (i % 4 == 3) {
            *out++ = v >> 16;
            *out++ = v >> 8;
            *out++ = v;
        }
    }
    /* There is one way to write what follows the last byte: zeros. */
    return v & ((1u << 8 * pad) - 1) ? -1 : out - start - (ssize_t) pad;
}

/* Of the header as it is before its checksum, and the records. */
static uint32_t
checksum(const uint8_t *state, size_t bytes)
{
    size_t before = offsetof(struct tcon_state_header, crc32c);
    uint8_t *summed = malloc(bytes);
    uint32_t sum;

    if (!summed) {
        abort();
    }
    memcpy(summed, state, before);
    memcpy(summed + before, state + HEADER_BYTES, bytes - HEADER_BYTES);
    sum = crc32c(summed, bytes - sizeof(uint32_t));
    free(summed);
    return sum;
}

/* Does 'text' begin as a state does?  Other programs may keep other things
 * where a state is kept. */
bool
tcon_state_is_one(const char *text)
{
    /* Of the 8 bytes of the magic the first 6 fill 8 characters. */
    char start[BASE64_LEN(6) + 1];

    base64_encode((const uint8_t *) TCON_STATE_MAGIC, 6, start);
    return !strncmp(text, start, BASE64_LEN(6));
}

/* Returns 'n' records, 1 to TCON_STATE_MAX_RECORDS, as text, which the caller
 * must free. */
char *
tcon_state_encode(const struct tcon_state_record *records, size_t n,
                  uint64_t now_s)
{
    size_t bytes = HEADER_BYTES + n * RECORD_BYTES;
    struct tcon_state_header header = {
        .version = htons(TCON_STATE_VERSION),
        .record_bytes = htons(RECORD_BYTES),
        .records = htonl(n),
        .saved_s = htobe64(now_s),
    };
    char *text = malloc(BASE64_LEN(bytes) + 1);
    uint8_t *state = malloc(bytes);

    if (!state || !text) {
        abort();
    }
    memcpy(header.magic, TCON_STATE_MAGIC, sizeof header.magic);
    memcpy(state, &header, sizeof header);
    memcpy(state + HEADER_BYTES, records, n * RECORD_BYTES);
    header.crc32c = checksum(state, bytes);
    memcpy(state, &header, sizeof header);
    base64_encode(state, bytes, text);
    free(state);
    return text;
}

static bool
age_is_right(uint64_t saved_s, uint64_t now_s, struct tcon_error *error)
{
    if (saved_s < now_s && now_s - saved_s > TCON_STATE_MAX_AGE_S) {
        tcon_error_set(error, "the state is %"PRIu64" s old: it is good for "
                       "%d s", now_s - saved_s, TCON_STATE_MAX_AGE_S);
        return false;
    }
    if (saved_s > now_s && saved_s - now_s > TCON_STATE_MAX_AGE_S) {
        tcon_error_set(error, "the state is of %"PRIu64" s after now: the "
                       "clocks of the hosts differ", saved_s - now_s);
        return false;
    }
    return true;
}

/* Is 'state' whole, and of this version? */
static bool
header_is_right(const uint8_t *state, size_t bytes, uint64_t now_s,
                struct tcon_error *error)
{
    struct tcon_state_header header;
    uint32_t n;

    if (bytes < HEADER_BYTES) {
        tcon_error_set(error, "the state is cut off after %zu bytes", bytes);
        return false;
    }
    memcpy(&header, state, sizeof header);
    if (memcmp(header.magic, TCON_STATE_MAGIC, sizeof header.magic)) {
        tcon_error_set(error, "that is no state of a port: it does not begin "
                       "with "TCON_STATE_MAGIC);
        return false;
    }
    if (ntohs(header.version) != TCON_STATE_VERSION) {
        tcon_error_set(error, "the state is of version %u: only %d is known",
                       ntohs(header.version), TCON_STATE_VERSION);
        return false;
    }
    n = ntohl(header.records);
    if (ntohs(header.record_bytes) != RECORD_BYTES || header.zero
        || !n || n > TCON_STATE_MAX_RECORDS
        || bytes != HEADER_BYTES + n * RECORD_BYTES) {
        tcon_error_set(error, "the state has %zu bytes: its header says "
                       "%"PRIu32" records of %u", bytes, n,
                       ntohs(header.record_bytes));
        return false;
    }
    if (header.crc32c != checksum(state, bytes)) {
        tcon_error_set(error, "the state is damaged: its checksum is wrong");
        return false;
    }
    return age_is_right(be64toh(header.saved_s), now_s, error);
}

/* Returns the records of 'text', which may be anything, and sets '*n' to their
 * number; the caller must free them.  Returns NULL, with a sentence, if it is
 * no state that can be used now. */
struct tcon_state_record *
tcon_state_decode(const char *text, uint64_t now_s, size_t *n,
                  struct tcon_error *error)
{
    struct tcon_state_record *records = NULL;
    size_t len = strlen(text);
    uint8_t *state;
    ssize_t bytes;

    if (!tcon_state_is_one(text)) {
        tcon_error_set(error, "that is no state of a port: it does not begin "
                       "with "TCON_STATE_MAGIC" in base64");
        return NULL;
    }
    if (len > BASE64_LEN(STATE_MAX_BYTES)) {
        tcon_error_set(error, "the state has %zu characters: at most %zu are "
                       "possible", len, BASE64_LEN(STATE_MAX_BYTES));
        return NULL;
    }
    state = malloc(len);
    if (!state) {
        abort();
    }
    bytes = base64_decode(text, len, state);
    if (bytes < 0) {
        tcon_error_set(error, "the state is not whole, or not base64");
    } else if (header_is_right(state, bytes, now_s, error)) {
        *n = (bytes - HEADER_BYTES) / RECORD_BYTES;
        records = malloc(bytes - HEADER_BYTES);
        if (!records) {
            abort();
        }
        memcpy(records, state + HEADER_BYTES, bytes - HEADER_BYTES);
    }
    free(state);
    return records;
}
