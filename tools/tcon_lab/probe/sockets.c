// SPDX-License-Identifier: GPL-2.0-only
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "json.h"
#include "sockets.h"

/* The kernel's value of a threshold that has not been set. */
#define SSTHRESH_INFINITE	0x7fffffffU
#define DCTCP_ALPHA_ONE		1024.0
#define FIELDS			5

struct answer {
	struct tcp_info info;
	struct tcp_dctcp_info dctcp;
	bool has_info;
	bool has_dctcp;
};

static bool parse_port(const char *text, __be16 *port)
{
	unsigned long value;
	char *end;

	value = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || !value || value > UINT16_MAX)
		return false;
	*port = htons((uint16_t)value);
	return true;
}

static bool parse_pid(const char *text, unsigned int *pid)
{
	unsigned long value;
	char *end;

	value = strtoul(text, &end, 10);
	*pid = (unsigned int)value;
	return *text >= '0' && *text <= '9' && !*end && value &&
		value <= INT32_MAX;
}

static bool parse(struct guest_socket *s, char *copy)
{
	char *field[FIELDS], *rest = copy;
	int i;

	for (i = 0; i < FIELDS; i++)
		field[i] = strsep(&rest, ",");
	if (rest || !field[FIELDS - 1])
		return false;
	memset(s, 0, sizeof(*s));
	s->family = strchr(field[1], ':') ? AF_INET6 : AF_INET;
	s->id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
	s->id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	return parse_pid(field[0], &s->pid) &&
		inet_pton(s->family, field[1], s->id.idiag_src) == 1 &&
		parse_port(field[2], &s->id.idiag_sport) &&
		inet_pton(s->family, field[3], s->id.idiag_dst) == 1 &&
		parse_port(field[4], &s->id.idiag_dport);
}

/**
 * sockets_add() - name one more connection
 * @sockets: to which it is added
 * @text: PID,ADDRESS,PORT,ADDRESS,PORT: a process of its namespace, its own end, and
 *	the other one
 *
 * Return: false after one sentence on stderr.
 */
bool sockets_add(struct sockets *sockets, const char *text)
{
	char *copy = strdup(text);
	bool good;

	if (!copy || sockets->n == MAX_SOCKETS) {
		fprintf(stderr, "tcon-probe: there is no room for --socket %s\n",
			text);
		free(copy);
		return false;
	}
	good = parse(&sockets->list[sockets->n], copy);
	free(copy);
	if (good)
		sockets->n++;
	else
		fprintf(stderr, "tcon-probe: --socket %s is not PID,ADDRESS,PORT,ADDRESS,PORT\n",
			text);
	return good;
}

static bool open_one(struct guest_socket *s)
{
	char path[64];
	int ns;

	snprintf(path, sizeof(path), "/proc/%u/ns/net", s->pid);
	ns = open(path, O_RDONLY | O_CLOEXEC);
	if (ns < 0 || setns(ns, CLONE_NEWNET)) {
		fprintf(stderr, "tcon-probe: cannot enter the network of process %u: %s\n",
			s->pid, strerror(errno));
		if (ns >= 0)
			close(ns);
		return false;
	}
	close(ns);
	s->nl = mnl_socket_open2(NETLINK_SOCK_DIAG, SOCK_CLOEXEC);
	if (s->nl && !mnl_socket_bind(s->nl, 0, MNL_SOCKET_AUTOPID))
		return true;
	fprintf(stderr, "tcon-probe: cannot open sock_diag: %s\n",
		strerror(errno));
	return false;
}

/**
 * sockets_open() - open sock_diag in each connection's namespace
 * @sockets: with what sockets_add() named
 *
 * The process is in the last of those namespaces afterwards.
 *
 * Return: 0, or -1 after one sentence on stderr.
 */
int sockets_open(struct sockets *sockets)
{
	unsigned int i;

	for (i = 0; i < sockets->n; i++)
		if (!open_one(&sockets->list[i]))
			return -1;
	return 0;
}

static void take(void *to, size_t bytes, const struct nlattr *attr)
{
	size_t given = mnl_attr_get_payload_len(attr);

	memcpy(to, mnl_attr_get_payload(attr), given < bytes ? given : bytes);
}

static int take_answer(const struct nlmsghdr *nlh, void *data)
{
	struct answer *answer = data;
	const struct nlattr *attr;

	if (nlh->nlmsg_len < MNL_NLMSG_HDRLEN + sizeof(struct inet_diag_msg))
		return MNL_CB_STOP;
	mnl_attr_for_each(attr, nlh, sizeof(struct inet_diag_msg)) {
		if (mnl_attr_get_type(attr) == INET_DIAG_INFO) {
			take(&answer->info, sizeof(answer->info), attr);
			answer->has_info = true;
		} else if (mnl_attr_get_type(attr) == INET_DIAG_DCTCPINFO) {
			take(&answer->dctcp, sizeof(answer->dctcp), attr);
			answer->has_dctcp = answer->dctcp.dctcp_enabled;
		}
	}
	return MNL_CB_STOP;
}

/* Return: 0, also where there is no such connection; -1 with errno set. */
static int ask(struct guest_socket *s, uint32_t seq, struct answer *answer)
{
	static char buf[32 << 10];	/* an answer has 32 KiB at most */
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct inet_diag_req_v2 *req;
	ssize_t n;

	nlh->nlmsg_type = SOCK_DIAG_BY_FAMILY;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	nlh->nlmsg_seq = seq;
	req = mnl_nlmsg_put_extra_header(nlh, sizeof(*req));
	req->sdiag_family = (uint8_t)s->family;
	req->sdiag_protocol = IPPROTO_TCP;
	req->idiag_ext = 1 << (INET_DIAG_INFO - 1) |
		1 << (INET_DIAG_VEGASINFO - 1);	/* stands for every CC's own */
	req->idiag_states = UINT32_MAX;
	req->id = s->id;
	if (mnl_socket_sendto(s->nl, nlh, nlh->nlmsg_len) < 0)
		return -1;
	n = mnl_socket_recvfrom(s->nl, buf, sizeof(buf));
	if (n < 0)
		return -1;
	if (mnl_cb_run(buf, (size_t)n, seq, mnl_socket_get_portid(s->nl),
		       take_answer, answer) < 0)
		return errno == ENOENT ? 0 : -1;
	return 0;
}

static void print_socket(FILE *out, uint64_t t_ns, const struct guest_socket *s,
			 const struct answer *answer)
{
	const struct tcp_info *info = &answer->info;

	json_start(out, "socket", t_ns);
	json_endpoints(out, s->family, s->id.idiag_src,
		       ntohs(s->id.idiag_sport), s->id.idiag_dst,
		       ntohs(s->id.idiag_dport));
	fprintf(out, ",\"mss_bytes\":%u,\"cwnd_bytes\":%" PRIu64
		",\"ssthresh_bytes\":", info->tcpi_snd_mss,
		(uint64_t)info->tcpi_snd_cwnd * info->tcpi_snd_mss);
	if (info->tcpi_snd_ssthresh >= SSTHRESH_INFINITE)
		fputs("null", out);
	else
		fprintf(out, "%" PRIu64, (uint64_t)info->tcpi_snd_ssthresh *
			info->tcpi_snd_mss);
	fprintf(out, ",\"srtt_us\":%u,\"delivered_ce_segments\":%u",
		info->tcpi_rtt, info->tcpi_delivered_ce);
	if (answer->has_dctcp)
		fprintf(out, ",\"dctcp_alpha\":%.6f",
			answer->dctcp.dctcp_alpha / DCTCP_ALPHA_ONE);
	fputs("}\n", out);
}

/**
 * sockets_sample() - write a record for each connection that there is now
 * @sockets: open ones
 * @out: where to
 * @t_ns: time of the records
 *
 * Return: 0, or -1 after one sentence on stderr.
 */
int sockets_sample(struct sockets *sockets, FILE *out, uint64_t t_ns)
{
	unsigned int i;

	for (i = 0; i < sockets->n; i++) {
		struct answer answer = { 0 };

		if (ask(&sockets->list[i], ++sockets->seq, &answer)) {
			fprintf(stderr, "tcon-probe: cannot read TCP_INFO: %s\n",
				strerror(errno));
			return -1;
		}
		if (answer.has_info)
			print_socket(out, t_ns, &sockets->list[i], &answer);
	}
	return 0;
}

/**
 * sockets_close() - close what is open
 * @sockets: afterwards as new
 */
void sockets_close(struct sockets *sockets)
{
	unsigned int i;

	for (i = 0; i < sockets->n; i++)
		if (sockets->list[i].nl)
			mnl_socket_close(sockets->list[i].nl);
	memset(sockets, 0, sizeof(*sockets));
}
