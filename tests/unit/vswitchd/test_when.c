// SPDX-License-Identifier: GPL-2.0-only
/* Dates, spans of time and shares (userspace/vswitchd/tcon-when.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/kernel.h>

#include "userspace/vswitchd/tcon-match.c"
#include "userspace/vswitchd/tcon-when.c"

static struct tcon_error error;

static void dates(void **state)
{
	static const struct {
		const char *text, *again;
		int64_t s;
	} good[] = {
		{ "2026-12-31T18:00Z", "2026-12-31T18:00:00Z", 1798740000 },
		{ "2026-12-31T18:00:07Z", "2026-12-31T18:00:07Z", 1798740007 },
		{ "2028-02-29T00:00Z", "2028-02-29T00:00:00Z", 1835395200 },
		{ "9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z", 253402300799 },
	};
	static const char *const bad[] = {
		"", "tomorrow", "2026-12-31", "2026-12-31T18:00", "2026-12-31T18:00+01:00",
		"2026-12-31 18:00Z", "2026-13-01T00:00Z", "2026-02-29T00:00Z", "2026-12-31T24:00Z",
		"2026-12-31T18:60Z", "1969-12-31T23:59Z", "2026-12-31T18:00:00Zx", "-026-12-31T18:00Z",
		"2026-1-1T18:00Z", "1798740000",
	};
	char text[TCON_DATE_TEXT_MAX];
	int64_t s;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_true(tcon_date_parse(good[i].text, &s, &error));
		assert_int_equal(s, good[i].s);
		tcon_date_format(s, text);
		assert_string_equal(text, good[i].again);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		s = 7;
		assert_false(tcon_date_parse(bad[i], &s, &error));
		assert_int_equal(s, 7);
		assert_non_null(strstr(error.text, "until="));
	}
	tcon_date_format(INT64_MAX, text);
	assert_string_equal(text, "9999-12-31T23:59:59Z");
}

static void spans(void **state)
{
	static const struct {
		const char *text;
		int64_t s;
	} good[] = {
		{ "1s", 1 }, { "90m", 5400 }, { "1h", 3600 }, { "366d", 31622400 },
		{ "31622400s", 31622400 },
	};
	static const char *const bad[] = {
		"", "1", "h", "0h", "-1h", "1.5h", "1 h", "367d", "31622401s", "1w", "0x1h", "01h",
		"1hour", "99999999999999s", "1H",
	};
	static const struct {
		int64_t s;
		const char *text;
	} shown[] = {
		{ 0, "0 s" }, { 59, "59 s" }, { 61, "1 min 1 s" }, { 3600, "1 h 0 min" },
		{ 90000, "1 d 1 h" },
	};
	char text[TCON_SPAN_TEXT_MAX];
	int64_t s;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_true(tcon_span_parse(good[i].text, &s, &error));
		assert_int_equal(s, good[i].s);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_false(tcon_span_parse(bad[i], &s, &error));
		assert_non_null(strstr(error.text, "for="));
	}
	for (size_t i = 0; i < ARRAY_SIZE(shown); i++) {
		tcon_span_format(shown[i].s, text);
		assert_string_equal(text, shown[i].text);
	}
}

static void shares(void **state)
{
	static const char *const bad[] = {
		"", "%", "10", "0%", "0.001%", "0.015%", "100.01%", "-5%", "10%%", "a%", "1e1%", "1/3",
		"10000000000000000000000000000000000000000%",
	};
	char text[TCON_VALUE_TEXT_MAX];
	uint16_t share, again;

	assert_true(tcon_share_parse("10%", &share, &error));
	assert_int_equal(share, 1000);
	assert_true(tcon_share_parse("0.01%", &share, &error));
	assert_int_equal(share, 1);
	assert_true(tcon_share_parse("100%", &share, &error));
	assert_int_equal(share, 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_false(tcon_share_parse(bad[i], &share, &error));
		assert_non_null(strstr(error.text, "share="));
	}
	for (share = 0; share < TCON_SHARE_ALL; share++) {
		tcon_share_format(share, text);
		assert_true(tcon_share_parse(text, &again, &error));
		assert_int_equal(again, share);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(dates),
		cmocka_unit_test(spans),
		cmocka_unit_test(shares),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
