/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: sections of code: there are none. */
#ifndef _SHIM_LINUX_INIT_H
#define _SHIM_LINUX_INIT_H

#include <linux/compiler.h>

#define __net_init
#define __net_exit
#define __ro_after_init

#endif /* _SHIM_LINUX_INIT_H */
