// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any text as the state of a port (userspace/vswitchd/tcon-state.c): no input may do harm, and
 * an accepted text is the one that would be written.
 *
 * An input is the text itself; or, after a byte, a state whose header and checksum are right
 * until the input changes them.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/vswitchd/tcon-match.c"
#include "userspace/vswitchd/tcon-state.c"

#define NOW_S	1800000000ULL

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
	if (!condition)
		abort();
}

static void check_text(const char *text)
{
	struct tcon_error error = { "" };
	struct tcon_state_record *records;
	size_t n = 0;
	char *again;

	records = tcon_state_decode(text, NOW_S, &n, &error);
	if (!records) {
		must(error.text[0] && memchr(error.text, 0, sizeof(error.text)));
		return;
	}
	must(n && n <= TCON_STATE_MAX_RECORDS);
	again = tcon_state_encode(records, n, NOW_S);
	must(strlen(again) == strlen(text));
	/* All but the time and the checksum, which lie in characters 21 to 43. */
	must(!memcmp(again, text, 20) && !memcmp(again + 43, text + 43, strlen(text) - 43));
	free(again);
	free(records);
}

/* The rest of the input as records, the last one maybe cut short; changes to the header. */
static void check_bytes(const uint8_t *data, size_t size)
{
	struct tcon_state_header header = {
		.magic = TCON_STATE_MAGIC,
		.version = htons(TCON_STATE_VERSION),
		.record_bytes = htons(RECORD_BYTES),
		.saved_s = htobe64(NOW_S),
	};
	size_t body = size > 2 ? size - 2 : 0, bytes = HEADER_BYTES + body;
	uint8_t *state = malloc(bytes);
	char *text = malloc(BASE64_LEN(bytes) + 1);

	header.records = htonl(body / RECORD_BYTES);
	if (size > 1)
		((uint8_t *)&header)[data[0] % sizeof(header)] ^= data[1];
	memcpy(state, &header, sizeof(header));
	if (body)
		memcpy(state + HEADER_BYTES, data + 2, body);
	header.crc32c ^= checksum(state, bytes);
	memcpy(state, &header, sizeof(header));
	base64_encode(state, bytes, text);
	check_text(text);
	free(text);
	free(state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (size && data[0] & 1) {
		check_bytes(data + 1, size - 1);
		return 0;
	}
	text = malloc(size + 1);
	memcpy(text, data, size);
	text[size] = '\0';
	check_text(text);
	free(text);
	return 0;
}
