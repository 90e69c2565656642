/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All differences between kernels, and nothing else.
 *
 * A kernel's features are found in its headers, not by its version, because distributions
 * backport: Kbuild looks, and defines TCON_HAS_*.
 */
#ifndef _TCON_COMPAT_H
#define _TCON_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/skbuff.h>

#ifdef TCON_HAS_SKBUFF_REF	/* 6.10 */
#include <linux/skbuff_ref.h>
#endif
#ifdef TCON_HAS_LINUX_UNALIGNED	/* 6.12 */
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
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

/*
 * Sets the CPU (plus 1) on which a packet counts as sent, wherever it really is.  A device with
 * several transmit queues may choose by that (XPS).
 */
static inline void tcon_set_sender_cpu(struct sk_buff *skb, unsigned int cpu)
{
#ifdef CONFIG_XPS
	skb->sender_cpu = cpu;
#endif
}

/*
 * Why a guest's packet is dropped: its rule says so.  The kernel knows no reason of that name, and
 * a module cannot add one: the subsystems that may (6.4) are counted in the kernel's own enum.
 */
#define TCON_DROP_RULE			SKB_DROP_REASON_NETFILTER_DROP

/* For a super-packet of a flow with AccECN (6.15): CWR stays on each segment. */
#ifdef TCON_HAS_GSO_ACCECN
#define TCON_GSO_ACCECN			SKB_GSO_TCP_ACCECN
#else
#define TCON_GSO_ACCECN			0
#endif

/* hrtimer_init() and the function pointer became one call in 6.13. */
static inline void
tcon_hrtimer_setup(struct hrtimer *timer,
		   enum hrtimer_restart (*fn)(struct hrtimer *),
		   enum hrtimer_mode mode)
{
#ifdef TCON_HAS_HRTIMER_SETUP
	hrtimer_setup(timer, fn, CLOCK_MONOTONIC, mode);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, mode);
	timer->function = fn;
#endif
}

/* Generic netlink: what a family's pre_doit is given (6.2), and a dump's attributes (6.7). */
#ifdef TCON_HAS_GENL_SPLIT_OPS
#define tcon_genl_ops			genl_split_ops
#else
#define tcon_genl_ops			genl_ops
#endif
#ifdef TCON_HAS_GENL_INFO_DUMP
#define tcon_genl_dump_attrs(cb)	(genl_info_dump(cb)->attrs)
#else
#define tcon_genl_dump_attrs(cb)	(genl_dumpit_info(cb)->attrs)
#endif

/* The queue for work that any CPU may do: Linux 7.3 warns of the old name. */
#ifdef TCON_HAS_SYSTEM_DFL_WQ
#define tcon_unbound_wq			system_dfl_wq
#else
#define tcon_unbound_wq			system_unbound_wq
#endif

/* The rest is for algorithms/linux.c, which has what it needs of <net/tcp.h>. */

/* cong_control() got two arguments that few CCs look at in 6.10. */
#ifdef TCON_HAS_CONG_CONTROL_ACK
#define tcon_cong_control(ops, sk, ack, sample)	((ops)->cong_control(sk, ack, 0, sample))
#else
#define tcon_cong_control(ops, sk, ack, sample)	((ops)->cong_control(sk, sample))
#endif

/* ECN was negotiated: since AccECN (6.19) there are two kinds. */
#ifdef TCON_HAS_TCP_ECN_MODES
#define TCON_TCP_ECN_CLASSIC		TCP_ECN_MODE_RFC3168
#else
#define TCON_TCP_ECN_CLASSIC		TCP_ECN_OK
#endif

/* A member of struct inet_connection_sock_af_ops, or nothing: it is gone in 7.0. */
#ifdef TCON_HAS_SEND_CHECK
#define TCON_SEND_CHECK(fn)		.send_check = (fn),
#else
#define TCON_SEND_CHECK(fn)
#endif

/* The new name came in 6.2, the old one is gone in 7.0. */
#ifdef TCON_HAS_TIMER_DELETE_SYNC
#define tcon_timer_delete_sync		timer_delete_sync
#else
#define tcon_timer_delete_sync		del_timer_sync
#endif

#endif /* _TCON_COMPAT_H */
