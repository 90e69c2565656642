/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: see net/genetlink.h. */
#include <net/genetlink.h>
