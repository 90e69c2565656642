// SPDX-License-Identifier: GPL-2.0-only
/*
 * A CC of Linux in a module that was not built with the kernel, for tests of what
 * tcon_linux refuses, and of what it tells where it is made not to.  Never installed.
 */
#include <linux/module.h>
#include <net/tcp.h>

/* Arguments of the last call of pkts_acked(), and how often others came. */
static uint calls;
module_param(calls, uint, 0444);
MODULE_PARM_DESC(calls, "how often it was called");

static uint pkts_acked;
module_param(pkts_acked, uint, 0444);
MODULE_PARM_DESC(pkts_acked, "packets acknowledged");

static int rtt_us;
module_param(rtt_us, int, 0444);
MODULE_PARM_DESC(rtt_us, "RTT, microseconds; -1: none");

static uint in_flight;
module_param(in_flight, uint, 0444);
MODULE_PARM_DESC(in_flight, "bytes delivered since the packet left");

static uint ca_state;
module_param(ca_state, uint, 0444);
MODULE_PARM_DESC(ca_state, "state of the socket");

static uint tx_starts;
module_param(tx_starts, uint, 0444);
MODULE_PARM_DESC(tx_starts, "how often data began after silence");

static uint sent_bytes;
module_param(sent_bytes, uint, 0444);
MODULE_PARM_DESC(sent_bytes, "bytes in flight when it did last");

static void foreign_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	pkts_acked = sample->pkts_acked;
	rtt_us = sample->rtt_us;
	in_flight = sample->in_flight;
	ca_state = inet_csk(sk)->icsk_ca_state;
	calls++;
}

static void foreign_tx_start(struct sock *sk)
{
	sent_bytes = tcp_sk(sk)->snd_nxt - tcp_sk(sk)->snd_una +
		     tcp_packets_in_flight(tcp_sk(sk));
	tx_starts++;
}

#ifndef HAS_CWND_EVENT_TX_START
static void foreign_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_TX_START)
		foreign_tx_start(sk);
}
#endif

static struct tcp_congestion_ops foreign = {
	.name = "foreign",
	.owner = THIS_MODULE,
	.ssthresh = tcp_reno_ssthresh,
	.cong_avoid = tcp_reno_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd,
	.pkts_acked = foreign_pkts_acked,
#ifdef HAS_CWND_EVENT_TX_START
	.cwnd_event_tx_start = foreign_tx_start,
#else
	.cwnd_event = foreign_cwnd_event,
#endif
};

static int __init foreign_init(void)
{
	return tcp_register_congestion_control(&foreign);
}

static void __exit foreign_exit(void)
{
	tcp_unregister_congestion_control(&foreign);
}

module_init(foreign_init);
module_exit(foreign_exit);

MODULE_DESCRIPTION("TCon: a foreign CC for tests");
MODULE_LICENSE("GPL");
