// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdbool.h>
#include <string.h>

#include "json.h"
#include "queue.h"

#define MAX_QDISCS	256

struct qdisc {
	uint32_t handle;
	uint32_t parent;
	struct gnet_stats_queue stats;
};

struct qdiscs {
	unsigned int ifindex;
	unsigned int n;
	struct qdisc list[MAX_QDISCS];
};

static int take_stats(const struct nlattr *attr, void *data)
{
	struct gnet_stats_queue *stats = data;

	if (mnl_attr_get_type(attr) == TCA_STATS_QUEUE &&
	    mnl_attr_get_payload_len(attr) >= sizeof(*stats))
		memcpy(stats, mnl_attr_get_payload(attr), sizeof(*stats));
	return MNL_CB_OK;
}

static int take_qdisc(const struct nlmsghdr *nlh, void *data)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(nlh);
	struct qdiscs *all = data;
	const struct nlattr *attr;
	struct qdisc *q;

	if (nlh->nlmsg_len < MNL_NLMSG_HDRLEN + sizeof(*tc) ||
	    (unsigned int)tc->tcm_ifindex != all->ifindex ||
	    tc->tcm_parent == TC_H_INGRESS || all->n == MAX_QDISCS)
		return MNL_CB_OK;
	q = &all->list[all->n++];
	*q = (struct qdisc) {
		.handle = tc->tcm_handle, .parent = tc->tcm_parent,
	};
	mnl_attr_for_each(attr, nlh, sizeof(*tc))
		if (mnl_attr_get_type(attr) == TCA_STATS2)
			mnl_attr_parse_nested(attr, take_stats, &q->stats);
	return MNL_CB_OK;
}

/* Handles are 0 for qdiscs that nobody named: then only a root has children. */
static bool has_children(const struct qdiscs *all, const struct qdisc *q)
{
	unsigned int i;

	if (!q->handle && q->parent != TC_H_ROOT)
		return false;
	for (i = 0; i < all->n; i++)
		if (&all->list[i] != q && all->list[i].parent != TC_H_ROOT &&
		    TC_H_MAJ(all->list[i].parent) == q->handle)
			return true;
	return false;
}

static void print_queue(FILE *out, uint64_t t_ns, const struct qdiscs *all)
{
	uint64_t packets = 0, bytes = 0, drops = 0;
	unsigned int i;

	for (i = 0; i < all->n; i++) {
		const struct qdisc *q = &all->list[i];

		/* A leaf's packets are counted in its parents too; its drops
		 * count in its parents, but not the reverse.
		 */
		if (!has_children(all, q)) {
			packets += q->stats.qlen;
			bytes += q->stats.backlog;
		}
		if (q->parent == TC_H_ROOT)
			drops += q->stats.drops;
	}
	json_start(out, "queue", t_ns);
	fprintf(out, ",\"packets\":%" PRIu64 ",\"bytes\":%" PRIu64
		",\"drops\":%" PRIu64 "}\n", packets, bytes, drops);
}

/**
 * queue_open() - prepare to look at a device's queue
 * @queue: result
 * @dev: name of the device
 *
 * Return: 0, or -1 after one sentence on stderr.
 */
int queue_open(struct queue *queue, const char *dev)
{
	memset(queue, 0, sizeof(*queue));
	queue->ifindex = if_nametoindex(dev);
	if (!queue->ifindex) {
		fprintf(stderr, "tcon-probe: there is no device %s\n", dev);
		return -1;
	}
	queue->nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (queue->nl && !mnl_socket_bind(queue->nl, 0, MNL_SOCKET_AUTOPID))
		return 0;
	fprintf(stderr, "tcon-probe: cannot open rtnetlink: %s\n",
		strerror(errno));
	queue_close(queue);
	return -1;
}

static int dump(struct queue *queue, struct qdiscs *all)
{
	static char buf[32 << 10];	/* a dump's message has 32 KiB at most */
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct tcmsg *tc;
	ssize_t n;
	int ret;

	nlh->nlmsg_type = RTM_GETQDISC;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	nlh->nlmsg_seq = ++queue->seq;
	tc = mnl_nlmsg_put_extra_header(nlh, sizeof(*tc));
	tc->tcm_ifindex = (int)queue->ifindex;
	if (mnl_socket_sendto(queue->nl, nlh, nlh->nlmsg_len) < 0)
		return -1;
	do {
		n = mnl_socket_recvfrom(queue->nl, buf, sizeof(buf));
		if (n < 0)
			return -1;
		ret = mnl_cb_run(buf, (size_t)n, queue->seq,
				 mnl_socket_get_portid(queue->nl), take_qdisc,
				 all);
	} while (ret > 0);
	return ret;
}

/**
 * queue_sample() - write how much waits in the device's leaf qdiscs
 * @queue: the open socket
 * @out: where to
 * @t_ns: time of the record
 *
 * Return: 0, or -1 after one sentence on stderr.
 */
int queue_sample(struct queue *queue, FILE *out, uint64_t t_ns)
{
	static struct qdiscs all;

	all.n = 0;
	all.ifindex = queue->ifindex;
	if (dump(queue, &all) < 0) {
		fprintf(stderr, "tcon-probe: cannot read the qdiscs: %s\n",
			strerror(errno));
		return -1;
	}
	print_queue(out, t_ns, &all);
	return 0;
}

/**
 * queue_close() - close the socket
 * @queue: afterwards as new
 */
void queue_close(struct queue *queue)
{
	if (queue->nl)
		mnl_socket_close(queue->nl);
	memset(queue, 0, sizeof(*queue));
}
