/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: kinds of options (IANA). */
#ifndef _SHIM_NET_TCP_H
#define _SHIM_NET_TCP_H

#define TCPOPT_EOL		0
#define TCPOPT_NOP		1
#define TCPOPT_SACK		5
#define TCPOPT_TIMESTAMP	8
#define TCPOLEN_SACK_BASE	2
#define TCPOLEN_SACK_PERBLOCK	8
#define TCPOLEN_TIMESTAMP	10

#endif /* _SHIM_NET_TCP_H */
