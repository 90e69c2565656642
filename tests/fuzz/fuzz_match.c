// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any text as MATCH and as a parameter's value: no input may do harm, and
 * whatever is accepted must survive being written and read again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/vswitchd/tcon-match.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
	if (!condition)
		abort();
}

static void check_error(const struct tcon_error *error)
{
	const char *p;

	must(memchr(error->text, 0, sizeof(error->text)));
	must(error->text[0]);
	for (p = error->text; *p; p++)
		must(*p >= ' ' && *p <= '~');
}

static void check_match(const char *text)
{
	struct tcon_flow_spec spec, again;
	char canonical[TCON_MATCH_TEXT_MAX], same[TCON_MATCH_TEXT_MAX];
	struct tcon_error error = { "" };

	if (!tcon_flow_spec_parse(text, &spec, &error)) {
		check_error(&error);
		return;
	}
	must(spec.priority <= 65535);
	must(!spec.match.has_ofport || !spec.match.ifname[0]);
	must(!spec.match.src.plen || spec.match.family);
	must(!spec.match.dst.plen || spec.match.family);
	tcon_match_format(&spec.match, canonical);
	must(strlen(canonical) < sizeof(canonical) - 1);
	must(tcon_flow_spec_parse(canonical, &again, &error));
	must(tcon_match_equal(&spec.match, &again.match));
	must(!again.has_priority);
	tcon_match_format(&again.match, same);
	must(!strcmp(canonical, same));
}

static void check_value(enum tcon_param_type type, int64_t min, int64_t max,
			const char *text)
{
	char canonical[TCON_VALUE_TEXT_MAX];
	struct tcon_error error = { "" };
	int64_t value, again;

	if (!tcon_value_parse(text, type, min, max, text, &value, &error)) {
		check_error(&error);
		return;
	}
	must(value >= min && value <= max);
	tcon_value_format(type, value, canonical);
	must(tcon_value_parse("p", type, min, max, canonical, &again, &error));
	must(value == again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	check_match(text);
	check_value(TCON_PARAM_UINT, 0, INT64_MAX, text);
	check_value(TCON_PARAM_UINT, -1000, 1000, text);
	check_value(TCON_PARAM_BOOL, 0, 1, text);
	check_value(TCON_PARAM_MILLI, INT64_MIN, INT64_MAX, text);
	free(text);
	return 0;
}
