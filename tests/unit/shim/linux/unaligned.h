/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: the name since Linux 6.12. */
#ifndef _SHIM_LINUX_UNALIGNED_H
#define _SHIM_LINUX_UNALIGNED_H

#include <asm/unaligned.h>

#endif /* _SHIM_LINUX_UNALIGNED_H */
