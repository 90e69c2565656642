/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: nothing; there are no interrupts. */
