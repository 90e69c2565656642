// SPDX-License-Identifier: GPL-2.0-only
#include <arpa/inet.h>
#include <inttypes.h>

#include "json.h"

/**
 * json_string() - print a string with quotes
 * @out: where to
 * @s: bytes; all but printable ASCII is written as if it were Latin-1
 */
void json_string(FILE *out, const char *s)
{
	putc('"', out);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			fprintf(out, "\\u%04x", c);
		else
			putc(c, out);
	}
	putc('"', out);
}

/**
 * json_start() - begin a record
 * @out: where to
 * @type: of the record
 * @t_ns: its time since the start
 */
void json_start(FILE *out, const char *type, uint64_t t_ns)
{
	fprintf(out, "{\"type\":\"%s\",\"t_s\":%" PRIu64 ".%06" PRIu64, type,
		t_ns / 1000000000, t_ns / 1000 % 1000000);
}

/**
 * json_endpoints() - print whose flow a record is about
 * @out: where to
 * @family: AF_INET or AF_INET6
 * @src: the sender's address
 * @sport: its port
 * @dst: the receiver's address
 * @dport: its port
 */
void json_endpoints(FILE *out, int family, const void *src, uint16_t sport,
		    const void *dst, uint16_t dport)
{
	char a[INET6_ADDRSTRLEN] = "", b[INET6_ADDRSTRLEN] = "";

	inet_ntop(family, src, a, sizeof(a));
	inet_ntop(family, dst, b, sizeof(b));
	fprintf(out, ",\"saddr\":\"%s\",\"sport\":%u,\"daddr\":\"%s\",\"dport\":%u",
		a, sport, b, dport);
}
