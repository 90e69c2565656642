/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: the TCP header. */
#ifndef _SHIM_LINUX_TCP_H
#define _SHIM_LINUX_TCP_H

#include <linux/socket.h>
#define __kernel_sockaddr_storage sockaddr_storage
#include_next <linux/tcp.h>

#include <linux/skbuff.h>

#define tcp_hdr(skb)	((struct tcphdr *)((skb)->head + (skb)->transport_header))

#endif /* _SHIM_LINUX_TCP_H */
