// SPDX-License-Identifier: GPL-2.0-only
/* Prints the probe's records of messages made here; see test_probe.py. */
#include <arpa/inet.h>
#include <linux/genetlink.h>
#include <linux/tcon.h>
#include <string.h>

#include "tcon.h"

static char buf[8192] __attribute__((aligned(8)));

static struct nlmsghdr *begin(void)
{
	struct nlmsghdr *nlh;

	memset(buf, 0, sizeof(buf));
	nlh = mnl_nlmsg_put_header(buf);
	mnl_nlmsg_put_extra_header(nlh, sizeof(struct genlmsghdr));
	return nlh;
}

static void put_endpoints(struct nlmsghdr *nlh, int family, const char *src,
			  const char *dst, size_t bytes)
{
	unsigned char address[16];

	mnl_attr_put_u8(nlh, TCON_FLOW_A_FAMILY, (uint8_t)family);
	inet_pton(family, src, address);
	mnl_attr_put(nlh, TCON_FLOW_A_SRC, bytes, address);
	inet_pton(family, dst, address);
	mnl_attr_put(nlh, TCON_FLOW_A_DST, bytes, address);
	mnl_attr_put_u16(nlh, TCON_FLOW_A_SPORT, 40000);
	mnl_attr_put_u16(nlh, TCON_FLOW_A_DPORT, 5201);
}

static void print(struct nlmsghdr *nlh)
{
	tcon_print_flow(stdout, 1500000000, nlh);
}

/* Numbers that no 32 bits hold, where the attribute has 64. */
static void put_repair(struct nlmsghdr *nlh)
{
	static const uint64_t limited_us[] = { 1, 5000000002, 3, 4 };

	mnl_attr_put_u32(nlh, TCON_FLOW_A_BUFFER_BYTES, 3000000000u);
	mnl_attr_put_u64(nlh, TCON_FLOW_A_REPAIRS, 5000000001);
	mnl_attr_put_u64(nlh, TCON_FLOW_A_REPAIRED_BYTES, 7240000001448);
	mnl_attr_put_u64(nlh, TCON_FLOW_A_SPURIOUS, 11);
	mnl_attr_put_u64(nlh, TCON_FLOW_A_PROBES, 12);
	mnl_attr_put_u64(nlh, TCON_FLOW_A_TIMEOUTS, 13);
	mnl_attr_put_u64(nlh, TCON_FLOW_A_ABSORBED, 14);
	mnl_attr_put_u64(nlh, TCON_FLOW_A_HIDDEN_ACKS, 15);
	mnl_attr_put(nlh, TCON_FLOW_A_LIMITED_US, sizeof(limited_us), limited_us);
}

static void whole(void)
{
	struct nlmsghdr *nlh = begin();
	struct nlattr *flow = mnl_attr_nest_start(nlh, TCON_A_FLOW);

	put_endpoints(nlh, AF_INET, "10.0.0.1", "10.0.1.1", 4);
	mnl_attr_put_strz(nlh, TCON_FLOW_A_IFNAME, "v\"0");
	mnl_attr_put_u8(nlh, TCON_FLOW_A_STATE, TCON_STATE_REPAIRED);
	mnl_attr_put_u8(nlh, TCON_FLOW_A_REASON, TCON_REASON_NONE);
	mnl_attr_put_strz(nlh, TCON_FLOW_A_CC, "bbr");
	mnl_attr_put_u32(nlh, TCON_FLOW_A_UNA, 7);
	mnl_attr_put_u32(nlh, TCON_FLOW_A_EDGE, 4000000000u);
	mnl_attr_put_u32(nlh, TCON_FLOW_A_CWND_BYTES, 123456);
	mnl_attr_put_u32(nlh, TCON_FLOW_A_RWND_BYTES, 98304);
	mnl_attr_put_u64(nlh, TCON_FLOW_A_PACING_BPS, 12345678901234ull);
	mnl_attr_put_u32(nlh, TCON_FLOW_A_SRTT_US, 20100);
	mnl_attr_put_u32(nlh, TCON_FLOW_A_MIN_RTT_US, ~0u);
	mnl_attr_put(nlh, TCON_FLOW_A_RATE_APP_LIMITED, 0, NULL);
	mnl_attr_put_strz(nlh, TCON_FLOW_A_CC_INFO, "state=probe_bw\tgain=1.25");
	put_repair(nlh);
	mnl_attr_nest_end(nlh, flow);
	print(nlh);
}

/* As before loss repair, and with one limit more than are known here. */
static void other_versions(void)
{
	static const uint64_t limited_us[] = { 1, 2, 3, 4, 5 };
	struct nlmsghdr *nlh = begin();
	struct nlattr *flow = mnl_attr_nest_start(nlh, TCON_A_FLOW);

	put_endpoints(nlh, AF_INET, "10.0.0.1", "10.0.1.1", 4);
	mnl_attr_nest_end(nlh, flow);
	print(nlh);

	nlh = begin();
	flow = mnl_attr_nest_start(nlh, TCON_A_FLOW);
	put_endpoints(nlh, AF_INET, "10.0.0.1", "10.0.1.1", 4);
	mnl_attr_put(nlh, TCON_FLOW_A_LIMITED_US, sizeof(limited_us), limited_us);
	mnl_attr_nest_end(nlh, flow);
	print(nlh);
}

/* A newer tcon.ko: values and attributes that are not known here. */
static void unknown(void)
{
	struct nlmsghdr *nlh = begin();
	struct nlattr *flow = mnl_attr_nest_start(nlh, TCON_A_FLOW);

	put_endpoints(nlh, AF_INET6, "fd00::1", "fd00::2", 16);
	mnl_attr_put_u8(nlh, TCON_FLOW_A_STATE, 200);
	mnl_attr_put_u8(nlh, TCON_FLOW_A_REASON, 201);
	mnl_attr_put_u32(nlh, TCON_FLOW_A_SRTT_US, 0);
	mnl_attr_put_u8(nlh, TCON_FLOW_A_CWND_BYTES, 1);
	mnl_attr_put_u32(nlh, TCON_FLOW_A_MAX + 7, 1);
	mnl_attr_put_u32(nlh, TCON_FLOW_A_LIMITED_US, 1);
	mnl_attr_nest_end(nlh, flow);
	print(nlh);
}

static void broken(void)
{
	struct nlmsghdr *nlh = begin();
	struct nlattr *flow;

	print(nlh);			/* no flow */

	nlh->nlmsg_len = MNL_NLMSG_HDRLEN;
	print(nlh);			/* no generic header */

	nlh = begin();
	flow = mnl_attr_nest_start(nlh, TCON_A_FLOW);
	mnl_attr_put_strz(nlh, TCON_FLOW_A_CC, "bbr");
	mnl_attr_nest_end(nlh, flow);
	print(nlh);			/* no addresses */

	nlh = begin();
	flow = mnl_attr_nest_start(nlh, TCON_A_FLOW);
	put_endpoints(nlh, AF_INET6, "fd00::1", "fd00::2", 4);
	mnl_attr_nest_end(nlh, flow);
	print(nlh);			/* addresses of another family's length */
}

int main(void)
{
	whole();
	other_versions();
	unknown();
	broken();
	return 0;
}
