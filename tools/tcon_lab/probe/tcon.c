// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <linux/genetlink.h>
#include <linux/tcon.h>
#include <string.h>
#include <sys/socket.h>

#include "json.h"
#include "tcon.h"

#define ADDR_BYTES	16
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

static const char *const state_names[] = TCON_STATE_NAMES;
static const char *const reason_names[] = {
#define TCON_X(id, name, text) name,
	TCON_REASONS(TCON_X)
#undef TCON_X
};

static const char *const limit_names[] = {
#define TCON_X(id, name, text) name,
	TCON_LIMITS(TCON_X)
#undef TCON_X
};

/* How an attribute of a flow is printed. */
struct field {
	uint16_t attr;
	uint16_t type;			/* enum mnl_attr_data_type */
	const char *name;
	uint64_t none;			/* the value that means "not known" */
};

#define NO_NONE	UINT64_MAX
#define SSTHRESH_INFINITE	0x7fffffff

static const struct field fields[] = {
	{ TCON_FLOW_A_IFNAME, MNL_TYPE_NUL_STRING, "ifname", 0 },
	{ TCON_FLOW_A_CC, MNL_TYPE_NUL_STRING, "cc", 0 },
	{ TCON_FLOW_A_UNA, MNL_TYPE_U32, "una", NO_NONE },
	{ TCON_FLOW_A_NXT, MNL_TYPE_U32, "nxt", NO_NONE },
	{ TCON_FLOW_A_EDGE, MNL_TYPE_U32, "edge", NO_NONE },
	{ TCON_FLOW_A_CWND_BYTES, MNL_TYPE_U32, "cwnd_bytes", NO_NONE },
	{ TCON_FLOW_A_SSTHRESH_BYTES, MNL_TYPE_U32, "ssthresh_bytes",
	  SSTHRESH_INFINITE },
	{ TCON_FLOW_A_PACING_BPS, MNL_TYPE_U64, "pacing_bps", NO_NONE },
	{ TCON_FLOW_A_RWND_BYTES, MNL_TYPE_U32, "rwnd_bytes", NO_NONE },
	{ TCON_FLOW_A_PEER_RWND_BYTES, MNL_TYPE_U32, "peer_rwnd_bytes", NO_NONE },
	{ TCON_FLOW_A_INFLIGHT_BYTES, MNL_TYPE_U32, "inflight_bytes", NO_NONE },
	{ TCON_FLOW_A_HELD_BYTES, MNL_TYPE_U32, "held_bytes", NO_NONE },
	{ TCON_FLOW_A_SRTT_US, MNL_TYPE_U32, "srtt_us", 0 },
	{ TCON_FLOW_A_MIN_RTT_US, MNL_TYPE_U32, "min_rtt_us", UINT32_MAX },
	{ TCON_FLOW_A_MSS_BYTES, MNL_TYPE_U32, "mss_bytes", NO_NONE },
	{ TCON_FLOW_A_RATE_BPS, MNL_TYPE_U64, "rate_bps", NO_NONE },
	{ TCON_FLOW_A_SENT_BYTES, MNL_TYPE_U64, "sent_bytes", NO_NONE },
	{ TCON_FLOW_A_REPEATED_BYTES, MNL_TYPE_U64, "repeated_bytes", NO_NONE },
	{ TCON_FLOW_A_ACKED_BYTES, MNL_TYPE_U64, "acked_bytes", NO_NONE },
	{ TCON_FLOW_A_DELIVERED_BYTES, MNL_TYPE_U64, "delivered_bytes", NO_NONE },
	{ TCON_FLOW_A_LOST_BYTES, MNL_TYPE_U64, "lost_bytes", NO_NONE },
	{ TCON_FLOW_A_CC_INFO, MNL_TYPE_NUL_STRING, "cc_info", 0 },
	{ TCON_FLOW_A_BUFFER_BYTES, MNL_TYPE_U32, "buffer_bytes", NO_NONE },
	{ TCON_FLOW_A_REPAIRS, MNL_TYPE_U64, "repairs", NO_NONE },
	{ TCON_FLOW_A_REPAIRED_BYTES, MNL_TYPE_U64, "repaired_bytes", NO_NONE },
	{ TCON_FLOW_A_SPURIOUS, MNL_TYPE_U64, "spurious_repairs", NO_NONE },
	{ TCON_FLOW_A_PROBES, MNL_TYPE_U64, "probes", NO_NONE },
	{ TCON_FLOW_A_TIMEOUTS, MNL_TYPE_U64, "timeouts", NO_NONE },
	{ TCON_FLOW_A_ABSORBED, MNL_TYPE_U64, "absorbed_repeats", NO_NONE },
	{ TCON_FLOW_A_HIDDEN_ACKS, MNL_TYPE_U64, "hidden_acks", NO_NONE },
};

struct attrs {
	const struct nlattr *at[TCON_FLOW_A_MAX + 1];
};

static int store_attr(const struct nlattr *attr, void *data)
{
	struct attrs *attrs = data;

	if (mnl_attr_get_type(attr) <= TCON_FLOW_A_MAX)
		attrs->at[mnl_attr_get_type(attr)] = attr;
	return MNL_CB_OK;
}

static void print_field(FILE *out, const struct field *f,
			const struct nlattr *attr)
{
	uint64_t value;

	if (!attr || mnl_attr_validate(attr, f->type) < 0)
		return;
	fprintf(out, ",\"%s\":", f->name);
	if (f->type == MNL_TYPE_NUL_STRING) {
		json_string(out, mnl_attr_get_str(attr));
		return;
	}
	value = f->type == MNL_TYPE_U64 ? mnl_attr_get_u64(attr) :
		mnl_attr_get_u32(attr);
	if (value == f->none)
		fputs("null", out);
	else
		fprintf(out, "%" PRIu64, value);
}

static void print_name(FILE *out, const char *key, const struct nlattr *attr,
		       const char *const *names, size_t n_names)
{
	uint8_t value;

	if (!attr || mnl_attr_validate(attr, MNL_TYPE_U8) < 0)
		return;
	value = mnl_attr_get_u8(attr);
	if (value < n_names)
		fprintf(out, ",\"%s\":\"%s\"", key, names[value]);
	else
		fprintf(out, ",\"%s\":\"unknown-%u\"", key, value);
}

/* The time that each limit has had so far; limits without a name are new. */
static void print_limits(FILE *out, const struct nlattr *attr)
{
	const char *payload = attr ? mnl_attr_get_payload(attr) : NULL;
	size_t n = attr ? mnl_attr_get_payload_len(attr) / sizeof(uint64_t) : 0;
	uint64_t us;
	size_t i;

	if (n < ARRAY_SIZE(limit_names))
		return;
	fputs(",\"limited_us\":{", out);
	for (i = 0; i < ARRAY_SIZE(limit_names); i++) {
		memcpy(&us, payload + i * sizeof(us), sizeof(us));
		fprintf(out, "%s\"%s\":%" PRIu64, i ? "," : "", limit_names[i],
			us);
	}
	putc('}', out);
}

/* Return: false where an attribute is missing or malformed. */
static bool print_endpoints(FILE *out, const struct attrs *attrs)
{
	const struct nlattr *family = attrs->at[TCON_FLOW_A_FAMILY];
	const struct nlattr *src = attrs->at[TCON_FLOW_A_SRC];
	const struct nlattr *dst = attrs->at[TCON_FLOW_A_DST];
	const struct nlattr *sport = attrs->at[TCON_FLOW_A_SPORT];
	const struct nlattr *dport = attrs->at[TCON_FLOW_A_DPORT];
	uint16_t bytes;

	if (!family || !src || !dst || !sport || !dport ||
	    mnl_attr_validate(family, MNL_TYPE_U8) < 0 ||
	    mnl_attr_validate(sport, MNL_TYPE_U16) < 0 ||
	    mnl_attr_validate(dport, MNL_TYPE_U16) < 0)
		return false;
	bytes = mnl_attr_get_u8(family) == AF_INET ? 4 : ADDR_BYTES;
	if (mnl_attr_get_payload_len(src) != bytes ||
	    mnl_attr_get_payload_len(dst) != bytes)
		return false;
	json_endpoints(out, mnl_attr_get_u8(family),
		       mnl_attr_get_payload(src), mnl_attr_get_u16(sport),
		       mnl_attr_get_payload(dst), mnl_attr_get_u16(dport));
	return true;
}

/**
 * tcon_print_flow() - write the record of one message of a flow dump
 * @out: where to
 * @t_ns: time of the record
 * @nlh: a message of TCON_CMD_GET_FLOW
 *
 * Return: 0, or -1 where the message is no flow; the record is then a note.
 */
int tcon_print_flow(FILE *out, uint64_t t_ns, const struct nlmsghdr *nlh)
{
	struct attrs attrs = { 0 };
	const struct nlattr *attr;
	bool found = false, good;
	size_t i;

	if (nlh->nlmsg_len >= MNL_NLMSG_HDRLEN + GENL_HDRLEN)
		mnl_attr_for_each(attr, nlh, GENL_HDRLEN)
			if (mnl_attr_get_type(attr) == TCON_A_FLOW) {
				mnl_attr_parse_nested(attr, store_attr, &attrs);
				found = true;
			}
	json_start(out, "tcon", t_ns);
	good = found && print_endpoints(out, &attrs);
	if (!good) {
		fputs(",\"error\":\"a message of tcon.ko is malformed\"}\n", out);
		return -1;
	}
	print_name(out, "state", attrs.at[TCON_FLOW_A_STATE], state_names,
		   ARRAY_SIZE(state_names));
	print_name(out, "reason", attrs.at[TCON_FLOW_A_REASON], reason_names,
		   ARRAY_SIZE(reason_names));
	for (i = 0; i < ARRAY_SIZE(fields); i++)
		print_field(out, &fields[i], attrs.at[fields[i].attr]);
	print_limits(out, attrs.at[TCON_FLOW_A_LIMITED_US]);
	fprintf(out, ",\"rate_app_limited\":%s}\n",
		attrs.at[TCON_FLOW_A_RATE_APP_LIMITED] ? "true" : "false");
	return 0;
}

/* Send a request and let cb see every message of the answer. */
static int ask(struct tcon *tcon, struct nlmsghdr *nlh, mnl_cb_t cb, void *data)
{
	static char buf[32 << 10];	/* NLMSG_GOODSIZE is 8 KiB at most */
	unsigned int port = mnl_socket_get_portid(tcon->nl);
	ssize_t n;
	int ret;

	nlh->nlmsg_seq = ++tcon->seq;
	if (mnl_socket_sendto(tcon->nl, nlh, nlh->nlmsg_len) < 0)
		return -1;
	do {
		n = mnl_socket_recvfrom(tcon->nl, buf, sizeof(buf));
		if (n < 0)
			return -1;
		ret = mnl_cb_run(buf, (size_t)n, tcon->seq, port, cb, data);
	} while (ret > 0);
	return ret;
}

static struct nlmsghdr *request(char *buf, uint16_t type, uint16_t flags,
				uint8_t cmd, uint8_t version)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct genlmsghdr *genl;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));
	genl->cmd = cmd;
	genl->version = version;
	return nlh;
}

static int take_family(const struct nlmsghdr *nlh, void *data)
{
	struct tcon *tcon = data;
	const struct nlattr *attr;

	mnl_attr_for_each(attr, nlh, GENL_HDRLEN)
		if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID &&
		    mnl_attr_validate(attr, MNL_TYPE_U16) >= 0)
			tcon->family = mnl_attr_get_u16(attr);
	return MNL_CB_OK;
}

static bool find_family(struct tcon *tcon)
{
	char buf[256] __attribute__((aligned(8)));
	struct nlmsghdr *nlh = request(buf, GENL_ID_CTRL, NLM_F_ACK,
				       CTRL_CMD_GETFAMILY, 1);

	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, TCON_GENL_NAME);
	return ask(tcon, nlh, take_family, tcon) >= 0 && tcon->family;
}

struct record {
	FILE *out;
	uint64_t t_ns;
};

static int print_message(const struct nlmsghdr *nlh, void *data)
{
	struct record *record = data;

	tcon_print_flow(record->out, record->t_ns, nlh);
	return MNL_CB_OK;
}

/**
 * tcon_open() - open the socket
 * @tcon: all zero
 *
 * Return: 0, or -1 after one sentence on stderr.
 */
int tcon_open(struct tcon *tcon)
{
	tcon->nl = mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC);
	if (tcon->nl && !mnl_socket_bind(tcon->nl, 0, MNL_SOCKET_AUTOPID))
		return 0;
	fprintf(stderr, "tcon-probe: cannot open generic netlink: %s\n",
		strerror(errno));
	return -1;
}

/**
 * tcon_sample() - write a record for each of tcon.ko's half-flows
 * @tcon: the open socket
 * @out: where to
 * @t_ns: time of the records
 *
 * Without tcon.ko one record says so once; the next call looks again.
 */
void tcon_sample(struct tcon *tcon, FILE *out, uint64_t t_ns)
{
	char buf[256] __attribute__((aligned(8)));
	struct record record = { .out = out, .t_ns = t_ns };

	if (!tcon->family && !find_family(tcon)) {
		if (!tcon->said_missing) {
			json_start(out, "note", t_ns);
			fputs(",\"text\":\"tcon.ko is not loaded\"}\n", out);
			tcon->said_missing = true;
		}
		return;
	}
	if (ask(tcon, request(buf, tcon->family, NLM_F_DUMP,
			      TCON_CMD_GET_FLOW, TCON_GENL_VERSION),
		print_message, &record) < 0)
		tcon->family = 0;	/* reloaded: it has another number */
}

/**
 * tcon_close() - close the socket
 * @tcon: afterwards as new
 */
void tcon_close(struct tcon *tcon)
{
	if (tcon->nl)
		mnl_socket_close(tcon->nl);
	memset(tcon, 0, sizeof(*tcon));
}
