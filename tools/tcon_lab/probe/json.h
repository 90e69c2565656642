/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PROBE_JSON_H
#define PROBE_JSON_H

#include <stdint.h>
#include <stdio.h>

void json_string(FILE *out, const char *s);
void json_start(FILE *out, const char *type, uint64_t t_ns);
void json_endpoints(FILE *out, int family, const void *src, uint16_t sport,
		    const void *dst, uint16_t dport);

#endif
