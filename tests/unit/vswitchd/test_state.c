// SPDX-License-Identifier: GPL-2.0-only
/* The state of a port as text (userspace/vswitchd/tcon-state.c). */
#include "userspace/vswitchd/tcon-match.c"
#include "userspace/vswitchd/tcon-state.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#define NOW_S	1800000000ULL

/* A state of @n records, each different, as bytes. */
static uint8_t *some_state(size_t n, size_t *bytes)
{
	struct tcon_state_record *records = calloc(n, sizeof(*records));
	uint8_t *state;
	char *text;
	size_t i;

	for (i = 0; i < n * sizeof(*records); i++)
		((uint8_t *)records)[i] = i * 7 + i / 251;
	text = tcon_state_encode(records, n, NOW_S);
	free(records);
	state = malloc(strlen(text));
	*bytes = base64_decode(text, strlen(text), state);
	free(text);
	return state;
}

/* The complaint about a state; NULL: it is taken. */
static const char *said_of_text(const char *text)
{
	static struct tcon_error error;
	struct tcon_state_record *records;
	size_t n;

	strcpy(error.text, "nothing");
	records = tcon_state_decode(text, NOW_S, &n, &error);
	free(records);
	return records ? NULL : error.text;
}

/* @sum: with the checksum that it then should have. */
static const char *said_of(uint8_t *state, size_t bytes, bool sum)
{
	char *text = malloc(BASE64_LEN(bytes) + 1);
	const char *said;
	uint32_t crc;

	if (sum) {
		crc = checksum(state, bytes);
		memcpy(state + offsetof(struct tcon_state_header, crc32c), &crc, sizeof(crc));
	}
	base64_encode(state, bytes, text);
	said = said_of_text(text);
	free(text);
	return said;
}

static void survives(void **unused)
{
	static const size_t sizes[] = { 1, 2, 3, 10, TCON_STATE_MAX_RECORDS };
	struct tcon_state_record *records;
	struct tcon_error error;
	size_t i, n, bytes;
	uint8_t *state;
	char *text;

	for (i = 0; i < N_ELEMS(sizes); i++) {
		state = some_state(sizes[i], &bytes);
		assert_int_equal(bytes, HEADER_BYTES + sizes[i] * RECORD_BYTES);
		text = malloc(BASE64_LEN(bytes) + 1);
		base64_encode(state, bytes, text);
		assert_true(tcon_state_is_one(text));
		/* One argument of ovs-vsctl: Linux's MAX_ARG_STRLEN. */
		assert_true(strlen(text) + sizeof("external_ids:PortData=\"\"") <= 128 * 1024);
		records = tcon_state_decode(text, NOW_S, &n, &error);
		assert_non_null(records);
		assert_int_equal(n, sizes[i]);
		assert_memory_equal(records, state + HEADER_BYTES, n * RECORD_BYTES);
		free(records);
		free(text);
		free(state);
	}
}

/* RFC 3720, B.4: CRC32C of 32 zeros, and where a state has it. */
static void header(void **unused)
{
	static const uint8_t zeros[32];
	uint32_t crc = crc32c(zeros, sizeof(zeros));
	size_t bytes;
	uint8_t *state = some_state(3, &bytes);

	assert_memory_equal(&crc, "\xaa\x36\x91\x8a", 4);
	assert_memory_equal(state, "TCONPORT" "\x00\x01" "\x00\xa8" "\x00\x00\x00\x03"
				   "\x00\x00\x00\x00\x6b\x49\xd2\x00" "\x00\x00\x00\x00", 28);
	memmove(state + 28, state + 32, bytes - 32);
	crc = crc32c(state, bytes - 4);
	free(state);
	state = some_state(3, &bytes);
	assert_memory_equal(state + 28, &crc, 4);
	free(state);
}

/* Offset, byte, whether the checksum is right, and the complaint. */
static void refused(void **unused)
{
	static const struct {
		size_t at;
		const char *value;
		size_t n;
		bool sum;
		const char *says;
	} bad[] = {
		{ 6, "X", 1, true, "that is no state of a port: it does not begin with TCONPORT" },
		{ 8, "\x00\x02", 2, false, "the state is of version 2: only 1 is known" },
		{ 10, "\x00\xa7", 2, true, "the state has 536 bytes: its header says 3 records of 167" },
		{ 12, "\x00\x00\x00\x02", 4, true,
		  "the state has 536 bytes: its header says 2 records of 168" },
		{ 12, "\x80\x00\x00\x03", 4, true,
		  "the state has 536 bytes: its header says 2147483651 records of 168" },
		{ 12, "\x00\x00\x00\x00", 4, true,
		  "the state has 536 bytes: its header says 0 records of 168" },
		{ 24, "\x00\x00\x00\x01", 4, true,
		  "the state has 536 bytes: its header says 3 records of 168" },
		{ 16, "\x00\x00\x00\x00\x6b\x49\xd0\xd3", 8, true,
		  "the state is 301 s old: it is good for 300 s" },
		{ 16, "\x00\x00\x00\x00\x6b\x49\xd0\xd4", 8, true, NULL },
		{ 16, "\x00\x00\x00\x00\x6b\x49\xd3\x2c", 8, true, NULL },
		{ 16, "\x00\x00\x00\x00\x6b\x49\xd3\x2d", 8, true,
		  "the state is of 301 s after now: the clocks of the hosts differ" },
		{ 16, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, true,
		  "the state is of 18446744071909551615 s after now: the clocks of the hosts differ" },
		{ 16, "\x00\x00\x00\x00\x6b\x49\xd2\x01", 8, false,
		  "the state is damaged: its checksum is wrong" },
		{ 535, "\x00", 1, false, "the state is damaged: its checksum is wrong" },
		{ 28, "\x00\x00\x00\x00", 4, false, "the state is damaged: its checksum is wrong" },
	};
	size_t i, bytes;

	for (i = 0; i < N_ELEMS(bad); i++) {
		uint8_t *state = some_state(3, &bytes);
		const char *said;

		memcpy(state + bad[i].at, bad[i].value, bad[i].n);
		said = said_of(state, bytes, bad[i].sum);
		if (bad[i].says)
			assert_string_equal(said, bad[i].says);
		else
			assert_null(said);
		free(state);
	}
}

static void every_bit(void **unused)
{
	size_t bytes, i;
	uint8_t *state = some_state(1, &bytes);

	for (i = 0; i < bytes * 8; i++) {
		state[i / 8] ^= 1 << i % 8;
		assert_non_null(said_of(state, bytes, false));
		state[i / 8] ^= 1 << i % 8;
	}
	assert_null(said_of(state, bytes, false));
	for (i = 0; i < bytes; i++)
		assert_non_null(said_of(state, i, i >= HEADER_BYTES));
	free(state);
}

static void not_base64(void **unused)
{
	static const char *const texts[] = {
		"", "V", "VENP", "no state", "VENPTlBP=", "VENPTlBPUlQ", "VENPTlBPUlQ!",
		"VENPTlBPUl==", "VENPTlBPUlR=", "VENPTlBP====", "VENPTlBPU=Q=", "VENPTlBPUlQ=\n",
		"\"VENPTlBPUlQ=\"", "VENPTlBPUlQ=VENP",
	};
	size_t i, len = BASE64_LEN(STATE_MAX_BYTES) + 4;
	char *text;

	for (i = 0; i < N_ELEMS(texts); i++)
		assert_non_null(said_of_text(texts[i]));
	assert_string_equal(said_of_text("VENPTlBPUlQ="), "the state is cut off after 8 bytes");
	assert_string_equal(said_of_text("VENPTlBPUlR="), "the state is not whole, or not base64");
	text = malloc(len + 1);
	memset(text, 'A', len);
	memcpy(text, "VENPTlBP", 8);
	text[len] = '\0';
	assert_string_equal(said_of_text(text), "the state has 114736 characters: at most 114732 are possible");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(survives),
		cmocka_unit_test(header),
		cmocka_unit_test(refused),
		cmocka_unit_test(every_bit),
		cmocka_unit_test(not_base64),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
