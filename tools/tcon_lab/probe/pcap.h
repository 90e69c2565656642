/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PROBE_PCAP_H
#define PROBE_PCAP_H

#include "flows.h"

int pcap_read(const char *path, struct flows *table);

#endif
