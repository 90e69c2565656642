/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All differences between kernel versions, and nothing else.
 */
#ifndef _TCON_COMPAT_H
#define _TCON_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/skbuff.h>
#include <linux/version.h>

#if KERNEL_VERSION(6, 5, 0) <= LINUX_VERSION_CODE
#include <net/gso.h>
#endif

/*
 * Netfilter sees each packet of a device, in and out (5.16), and both hooks can be passed by
 * one that comes back or was made here.  Kconfig says so, which backports keep true.
 */
#define TCON_HAS_DEVICE_HOOKS					\
	(IS_ENABLED(CONFIG_NETFILTER_INGRESS) &&		\
	 IS_ENABLED(CONFIG_NETFILTER_EGRESS) &&			\
	 IS_ENABLED(CONFIG_NETFILTER_SKIP_EGRESS) &&		\
	 IS_ENABLED(CONFIG_NET_CLS_ACT))

#if TCON_HAS_DEVICE_HOOKS
/* Let the next netif_receive_skb_core() leave out taps, tc and netfilter, once. */
static inline void tcon_skip_ingress(struct sk_buff *skb)
{
	skb->tc_skip_classify = 1;
}
#endif

/* hrtimer_init() and the function pointer became one call in 6.13. */
static inline void
tcon_hrtimer_setup(struct hrtimer *timer,
		   enum hrtimer_restart (*fn)(struct hrtimer *),
		   enum hrtimer_mode mode)
{
#if KERNEL_VERSION(6, 13, 0) <= LINUX_VERSION_CODE
	hrtimer_setup(timer, fn, CLOCK_MONOTONIC, mode);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, mode);
	timer->function = fn;
#endif
}

#endif /* _TCON_COMPAT_H */
