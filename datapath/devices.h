/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Watches ports' devices: their lower devices may change while they are ports.
 */
#ifndef _TCON_DEVICES_H
#define _TCON_DEVICES_H

int tcon_devices_watch(void);
void tcon_devices_leave(void);

#endif /* _TCON_DEVICES_H */
