// SPDX-License-Identifier: GPL-2.0-only
/* MATCH and parameter values (userspace/vswitchd/tcon-match.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "userspace/vswitchd/tcon-match.c"

#define DEFAULT		TCON_DEFAULT_PRIORITY

#define A32 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define A126 A32 A32 A32 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define A127 A126 "a"

/* Accepted texts, and their one canonical form. */
static const struct {
	const char *text, *canonical;
	unsigned int priority;
} good[] = {
	{ "all", "all", DEFAULT },
	{ "all,priority=0", "all", 0 },
	{ "priority=65535,all", "all", 65535 },
	{ "priority=0x10,tcp", "tcp", 16 },
	{ "ip", "tcp", DEFAULT },
	{ "ip,nw_proto=6", "tcp", DEFAULT },
	{ "dl_type=0x800,nw_proto=6,tp_dst=80", "tcp,tp_dst=80", DEFAULT },
	{ "eth_type=0x86dd,ip_proto=6", "tcp6", DEFAULT },
	{ "dl_type=2048,tcp", "tcp", DEFAULT },
	{ "nw_proto=6", "all", DEFAULT },
	{ "tcp", "tcp", DEFAULT },
	{ "ip,tcp", "tcp", DEFAULT },
	{ "ipv6", "tcp6", DEFAULT },
	{ "ipv6,tcp6", "tcp6", DEFAULT },
	{ " tcp ,\ttp_dst=80,, ", "tcp,tp_dst=80", DEFAULT },
	{ "tcp tp_dst=80", "tcp,tp_dst=80", DEFAULT },
	{ "tp_dst=80", "tp_dst=80", DEFAULT },
	{ "tp_dst=80,tp_src=65535", "tp_src=65535,tp_dst=80", DEFAULT },
	{ "tcp_src=1,tcp_dst=0xffff", "tp_src=1,tp_dst=65535", DEFAULT },
	{ "nw_src=10.0.0.1", "tcp,nw_src=10.0.0.1", DEFAULT },
	{ "nw_src=10.0.0.1/32", "tcp,nw_src=10.0.0.1", DEFAULT },
	{ "ip_dst=10.0.0.0/24", "tcp,nw_dst=10.0.0.0/24", DEFAULT },
	{ "nw_src=1.2.3.4/24", "tcp,nw_src=1.2.3.0/24", DEFAULT },
	{ "nw_src=255.255.255.255/9", "tcp,nw_src=255.128.0.0/9", DEFAULT },
	{ "nw_src=1.2.3.4/255.255.255.0", "tcp,nw_src=1.2.3.0/24", DEFAULT },
	{ "nw_src=1.2.3.4/255.255.255.255", "tcp,nw_src=1.2.3.4", DEFAULT },
	{ "nw_src=1.2.3.4/0.0.0.0", "tcp", DEFAULT },
	{ "nw_src=1.2.3.4/0", "tcp", DEFAULT },
	{ "nw_src=224.0.0.0/3", "tcp,nw_src=224.0.0.0/3", DEFAULT },
	{ "nw_dst=0.0.0.0/31", "tcp,nw_dst=0.0.0.0/31", DEFAULT },
	{ "nw_src=127.0.0.1,nw_dst=127.0.0.2",
	  "tcp,nw_src=127.0.0.1,nw_dst=127.0.0.2", DEFAULT },
	{ "ipv6_src=2001:db8::1", "tcp6,ipv6_src=2001:db8::1", DEFAULT },
	{ "tcp6,ipv6_dst=2001:DB8:0:0::/64", "tcp6,ipv6_dst=2001:db8::/64",
	  DEFAULT },
	{ "ipv6_src=2001:db8::ffff/127", "tcp6,ipv6_src=2001:db8::fffe/127",
	  DEFAULT },
	{ "ipv6_src=fe80::1/ffc0::", "tcp6,ipv6_src=fe80::/10", DEFAULT },
	{ "ipv6_src=::/0", "tcp6", DEFAULT },
	{ "ipv6_src=::1", "tcp6,ipv6_src=::1", DEFAULT },
	{ "ipv6_src=fe00::/7", "tcp6,ipv6_src=fe00::/7", DEFAULT },
	{ "dl_vlan=0", "dl_vlan=0", DEFAULT },
	{ "dl_vlan=4095", "dl_vlan=4095", DEFAULT },
	{ "in_port=vnet0", "in_port=vnet0", DEFAULT },
	{ "in_port=\"vnet0\"", "in_port=vnet0", DEFAULT },
	{ "in_port=\"a,b\",tp_dst=1", "in_port=\"a,b\",tp_dst=1", DEFAULT },
	{ "tp_dst=0x50/0xfff0", "tp_dst=0x50/0xfff0", DEFAULT },
	{ "tp_src=0/65520", "tp_src=0x0/0xfff0", DEFAULT },
	{ "tp_src=95/0xfff0", "tp_src=0x50/0xfff0", DEFAULT },
	{ "tp_src=95/0xffff", "tp_src=95", DEFAULT },
	{ "in_port=abcdefghijklmno", "in_port=abcdefghijklmno", DEFAULT },
	{ "in_port=5", "in_port=5", DEFAULT },
	{ "in_port=0x5", "in_port=5", DEFAULT },
	{ "in_port=65535", "in_port=65535", DEFAULT },
	{ "in_port=5g", "in_port=5g", DEFAULT },
	{ "in_port=\"5\"", "in_port=\"5\"", DEFAULT },
	{ "in_port=LOCAL", "in_port=LOCAL", DEFAULT },
	{ "in_port=local", "in_port=LOCAL", DEFAULT },
	{ "in_port=65534", "in_port=LOCAL", DEFAULT },
	{ "in_port=\"local\"", "in_port=\"local\"", DEFAULT },
	{ "dl_src=52:54:00:AB:cd:1", "dl_src=52:54:00:ab:cd:01", DEFAULT },
	{ "eth_src=52:54:ff:ff:ff:ff/ff:ff:ff:00:00:01",
	  "dl_src=52:54:ff:00:00:01/ff:ff:ff:00:00:01", DEFAULT },
	{ "dl_src=00:00:00:00:00:01/00:00:00:00:00:01",
	  "dl_src=00:00:00:00:00:01/00:00:00:00:00:01", DEFAULT },
	{ "pkt_mark=0", "pkt_mark=0x0", DEFAULT },
	{ "pkt_mark=255", "pkt_mark=0xff", DEFAULT },
	{ "pkt_mark=0xffffffff/0xff00", "pkt_mark=0xff00/0xff00", DEFAULT },
	{ "pkt_mark=1,dl_src=2:0:0:0:0:1,dl_vlan=3", "dl_vlan=3,dl_src=02:00:00:00:00:01,pkt_mark=0x1",
	  DEFAULT },
	{ "ipv6_src=2001:db8:1111:2222:3333:4444:5555:6666/127,ipv6_dst=2001:db8:1111:2222:3333:4444:5555:6666/127,"
	  "tp_src=0x8000/0x8000,tp_dst=0x8000/0x8000,dl_vlan=4095,iface-id=\"" A126 ",\","
	  "dl_src=52:54:00:00:00:00/ff:ff:00:00:00:00,pkt_mark=0xf0000000/0xf0000000",
	  "tcp6,iface-id=\"" A126 ",\",ipv6_src=2001:db8:1111:2222:3333:4444:5555:6666/127,"
	  "ipv6_dst=2001:db8:1111:2222:3333:4444:5555:6666/127,tp_src=0x8000/0x8000,tp_dst=0x8000/0x8000,"
	  "dl_vlan=4095,dl_src=52:54:00:00:00:00/ff:ff:00:00:00:00,pkt_mark=0xf0000000/0xf0000000",
	  DEFAULT },
	{ "iface-id=0b9a6a1e-2f3c-4c1d-9f8e-5a7d3c2b1a00",
	  "iface-id=0b9a6a1e-2f3c-4c1d-9f8e-5a7d3c2b1a00", DEFAULT },
	{ "tp_dst=1,iface-id=web/0.default", "iface-id=web/0.default,tp_dst=1", DEFAULT },
	{ "iface-id=5", "iface-id=5", DEFAULT },
	{ "iface-id=\"a,b\",tcp", "tcp,iface-id=\"a,b\"", DEFAULT },
	{ "iface-id=" A127, "iface-id=" A127, DEFAULT },
	{ "dl_vlan=7,tp_dst=2,tp_src=1,nw_dst=2.0.0.0/8,nw_src=1.0.0.0/8,in_port=p,tcp",
	  "tcp,in_port=p,nw_src=1.0.0.0/8,nw_dst=2.0.0.0/8,tp_src=1,tp_dst=2,dl_vlan=7",
	  DEFAULT },
};

/* Refused texts, and words that the sentence must contain. */
static const struct {
	const char *text, *says;
} bad[] = {
	/* nothing said */
	{ "", "no field" },
	{ " , ,", "no field" },
	{ "priority=5", "no field" },
	/* unknown fields and words */
	{ "foo", "unknown field 'foo'" },
	{ "foo=1", "unknown field 'foo'" },
	{ "=1", "unknown field ''" },
	{ "TCP", "unknown field 'TCP'" },
	{ "tcp,ct_state=+trk", "unknown field 'ct_state'" },
	{ "nw_scr=10.0.0.1", "unknown field 'nw_scr': is it nw_src? (known: all, ip," },
	{ "tpdst=80", "is it tp_dst?" },
	{ "In_Port=a", "is it in_port?" },
	{ "TCP", "is it tcp?" },
	{ "ct_state=1", "unknown field 'ct_state' (known" },
	{ "foo", "see tcon/help MATCH)" },
	{ "vlan_vid=7", "'vlan_vid': write dl_vlan" },
	{ "dl_dst=2:0:0:0:0:1", "'dl_dst': a rule does not look at it" },
	{ "tp_dst=80,443", "tp_dst has one value, not also 443: set a rule for each" },
	{ "nw_src=10.0.0.1,7", "nw_src has one value, not also 7" },
	{ "tcp,443", "unknown field '443'" },
	{ "nw_proto=17", "nw_proto=17 can match nothing: TCon acts on TCP (6) only" },
	{ "nw_proto=tcp", "nw_proto=tcp: not a number from 0 to 255" },
	{ "dl_type=0x806", "dl_type=0x806 can match nothing: TCP is in IPv4 (0x800)" },
	{ "dl_type=0x800,ipv6_src=::1", "'dl_type' is for IPv4 but 'ipv6_src' is for IPv6" },
	{ "tcp6,eth_type=0x800", "can match nothing" },
	{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=1", "unknown field" },
	{ "caf\xc3\xa9=1", "unknown field 'caf?" },
	/* values that are missing or too many */
	{ "nw_src", "'nw_src' has no value" },
	{ "nw_src=", "'nw_src' has no value" },
	{ "in_port=\"\"", "'in_port' has no value" },
	{ "tcp=6", "'tcp' takes no value" },
	{ "all=1", "'all' takes no value" },
	/* twice */
	{ "tcp,tcp", "'tcp' is given twice" },
	{ "all,all", "'all' is given twice" },
	{ "tp_dst=1,tp_dst=1", "'tp_dst' is given twice" },
	{ "tp_dst=1,tcp_dst=2", "'tcp_dst' is given twice (first as 'tp_dst')" },
	{ "nw_src=1.1.1.1,ip_src=1.1.1.1", "(first as 'nw_src')" },
	{ "priority=1,tcp,priority=2", "'priority' is given twice" },
	{ "in_port=1,in_port=a", "'in_port' is given twice" },
	/* fields that contradict each other */
	{ "all,tcp", "cannot go with 'tcp'" },
	{ "in_port=1,all", "cannot go with 'in_port'" },
	{ "tcp,tcp6", "'tcp' is for IPv4 but 'tcp6' is for IPv6" },
	{ "ip,tcp6", "can match nothing" },
	{ "tcp6,nw_src=1.2.3.4", "'tcp6' is for IPv6 but 'nw_src' is for IPv4" },
	{ "tcp,ipv6_src=::1", "'tcp' is for IPv4 but 'ipv6_src' is for IPv6" },
	{ "nw_src=1.2.3.4,ipv6_dst=::1", "can match nothing" },
	{ "ipv6_src=::1,nw_src=1.2.3.4", "can match nothing" },
	/* not TCP */
	{ "udp", "'udp' can match nothing" },
	{ "icmp6", "'icmp6' can match nothing" },
	{ "arp,nw_src=1.2.3.4", "'arp' can match nothing" },
	{ "sctp,tp_dst=1", "'sctp' can match nothing" },
	/* addresses */
	{ "nw_src=1.2.3", "not an IPv4 address" },
	{ "nw_src=1.2.3.256", "not an IPv4 address" },
	{ "nw_src=01.2.3.4", "not an IPv4 address" },
	{ "nw_src=host", "nw_src=host: not an IPv4 address" },
	{ "nw_src=/8", "not an IPv4 address" },
	{ "nw_src=::1", "this is IPv6 (ipv6_src, ipv6_dst), not an IPv4" },
	{ "ipv6_dst=1.2.3.4", "this is IPv4 (nw_src, nw_dst), not an IPv6" },
	{ "ipv6_src=1::2::3", "not an IPv6 address" },
	{ "ipv6_src=fe80::1%eth0", "not an IPv6 address" },
	{ "nw_dst=0.0.0.0", "is the unspecified address" },
	{ "nw_dst=255.255.255.255", "is the broadcast address" },
	{ "nw_dst=224.0.0.1", "is a multicast address" },
	{ "nw_dst=239.0.0.0/8", "is a multicast address" },
	{ "nw_dst=224.0.0.0/4", "can match nothing" },
	{ "ipv6_dst=ff02::1", "is a multicast address" },
	{ "ipv6_dst=ff00::/8", "can match nothing" },
	{ "ipv6_src=::", "is the unspecified address" },
	/* prefixes */
	{ "nw_src=10.0.0.0/33", "prefix length 33 is not a number from 0 to 32" },
	{ "nw_src=10.0.0.0/99999999999999999999999", "prefix length 9999" },
	{ "nw_src=10.0.0.0/08", "prefix length 08" },
	{ "nw_src=10.0.0.0/", "neither a prefix length nor a netmask" },
	{ "nw_src=10.0.0.0/-1", "neither a prefix length nor a netmask" },
	{ "nw_src=10.0.0.0/8/8", "neither a prefix length nor a netmask" },
	{ "nw_src=10.0.0.0/255.0.255.0", "netmask 255.0.255.0 has holes" },
	{ "nw_src=10.0.0.0/0.0.0.255", "netmask 0.0.0.255 has holes" },
	{ "ipv6_src=::1/129", "not a number from 0 to 128" },
	{ "ipv6_src=::1/ffff::ffff", "netmask ffff::ffff has holes" },
	{ "ipv6_src=::1/255.0.0.0", "neither a prefix length nor a netmask" },
	/* numbers */
	{ "tp_dst=0", "no TCP connection uses port 0" },
	{ "tp_dst=80/0", "mask 0 matches every port" },
	{ "tp_dst=0/0xffff", "no TCP connection uses port 0" },
	{ "tp_dst=80/0x10000", "tp_dst=0x10000: not a number from 0 to 65535" },
	{ "tp_dst=80/", "not a number" },
	{ "tp_dst=/0xfff0", "not a number" },
	{ "tp_dst=1/2/3", "not a number" },
	{ "tp_src=80-443", "tp_src=80-443: a range is not matched" },
	{ "tp_dst=http-alt", "not a number" },
	{ "tp_src=65536", "tp_src=65536: not a number from 1 to 65535" },
	{ "tp_src=-1", "tp_src=-1: not a number from 1 to 65535" },
	{ "tp_src=+1", "not a number" },
	{ "tp_src=1x", "not a number" },
	{ "tp_src=0x", "not a number" },
	{ "tp_src=0xg", "not a number" },
	{ "tp_src=010", "tp_src=010: not a number" },
	{ "tp_src=http", "not a number" },
	{ "tp_src=18446744073709551617", "not a number" },
	{ "dl_vlan=4096", "dl_vlan=4096: not a number from 0 to 4095" },
	{ "dl_vlan=0xffff", "not a number from 0 to 4095" },
	{ "tcp,priority=65536", "priority=65536: not a number" },
	{ "tcp,priority=high", "priority=high: not a number" },
	/* ports */
	{ "in_port=65536", "in_port=65536: not a number" },
	{ "in_port=007", "in_port=007: not a number" },
	{ "in_port=0x", "in_port=0x: not a number" },
	{ "in_port=abcdefghijklmnop", "more than 15 characters" },
	{ "in_port=a/b", "no port has such a name" },
	{ "in_port=a\"b", "no port has such a name" },
	{ "in_port=\"a b\"", "no port has such a name" },
	{ "in_port=a\x01", "in_port=a?: no port has such a name" },
	{ "in_port=\"a", "quotes" },
	{ "in_port=\"a\"b", "quotes" },
	{ "in_port=" A127 A32, "the value of in_port is too long" },
	/* dl_src and pkt_mark */
	{ "dl_src=52:54:00:12:34", "dl_src=52:54:00:12:34: not an Ethernet address" },
	{ "dl_src=52:54:00:12:34:56:78", "not an Ethernet address" },
	{ "dl_src=52:54:00:12:34:5g", "not an Ethernet address" },
	{ "dl_src=52:54:00:12:34:156", "not an Ethernet address" },
	{ "dl_src=::::::", "not an Ethernet address" },
	{ "dl_src=52-54-00-12-34-56", "not an Ethernet address" },
	{ "dl_src=52:54:00:12:34:56/24", "dl_src=52:54:00:12:34:56/24: not an Ethernet" },
	{ "dl_src=52:54:00:12:34:56/0:0:0:0:0:0", "mask 0 matches every address" },
	{ "dl_src=0:0:0:0:0:0", "the address of zeros is nobody's" },
	{ "dl_src=ff:ff:ff:ff:ff:ff", "a multicast address is nobody's" },
	{ "dl_src=01:00:00:00:00:00/01:00:00:00:00:00", "can match nothing" },
	{ "dl_src=2:0:0:0:0:1,eth_src=2:0:0:0:0:1", "'eth_src' is given twice (first as 'dl_src')" },
	{ "pkt_mark=0x100000000", "not a number from 0 to 4294967295" },
	{ "pkt_mark=1/0", "mask 0 matches every mark" },
	{ "pkt_mark=1/", "not a number" },
	{ "pkt_mark=gold", "pkt_mark=gold: not a number" },
	{ "pkt_mark=-1", "not a number" },
	/* iface-id */
	{ "iface-id", "'iface-id' has no value" },
	{ "iface-id=\"\"", "'iface-id' has no value" },
	{ "iface-id=\"a b\"", "iface-id=a b: spaces, quotes and what is not" },
	{ "iface-id=a\"b", "iface-id=a\"b: spaces, quotes" },
	{ "iface-id=caf\xc3\xa9", "iface-id=caf??: spaces, quotes" },
	{ "iface-id=" A127 "a", "at most 127 characters can be matched" },
	{ "iface-id=a,iface-id=a", "'iface-id' is given twice" },
	{ "iface-id=a,in_port=p", "'in_port' and 'iface-id' both say the port" },
	{ "all,iface-id=a", "'all' is every guest flow and cannot go with 'iface-id'" },
};

static void accepted(void **state)
{
	struct tcon_flow_spec spec, again;
	char text[TCON_MATCH_TEXT_MAX];
	struct tcon_error error;
	size_t i;

	for (i = 0; i < N_ELEMS(good); i++) {
		memset(&spec, 0xff, sizeof(spec));
		if (!tcon_flow_spec_parse(good[i].text, &spec, &error))
			fail_msg("'%s' refused: %s", good[i].text, error.text);
		tcon_match_format(&spec.match, text);
		assert_string_equal(text, good[i].canonical);
		assert_int_equal(spec.priority, good[i].priority);
		assert_int_equal(spec.has_priority,
				 strstr(good[i].text, "priority") != NULL);

		assert_true(tcon_flow_spec_parse(text, &again, &error));
		assert_true(tcon_match_equal(&spec.match, &again.match));
	}
}

static void refused(void **state)
{
	struct tcon_flow_spec spec;
	struct tcon_error error;
	size_t i;

	for (i = 0; i < N_ELEMS(bad); i++) {
		memset(&error, 0, sizeof(error));
		if (tcon_flow_spec_parse(bad[i].text, &spec, &error))
			fail_msg("'%s' was accepted", bad[i].text);
		if (!strstr(error.text, bad[i].says))
			fail_msg("'%s' gives \"%s\", which lacks \"%s\"",
				 bad[i].text, error.text, bad[i].says);
		assert_null(strchr(error.text, '\n'));
		assert_true(strlen(error.text) < sizeof(error.text) - 1);
	}
}

static void fields_of_a_match(void **state)
{
	static const uint8_t src[16] = { 10, 1 }, dst[16] = { 0x20, 0x01 };
	struct tcon_flow_spec spec;
	struct tcon_error error;

	assert_true(tcon_flow_spec_parse("in_port=p1,nw_src=10.1.2.3/16,tp_src=5,dl_vlan=9",
					 &spec, &error));
	assert_int_equal(spec.match.family, AF_INET);
	assert_memory_equal(spec.match.src.addr, src, 16);
	assert_int_equal(spec.match.src.plen, 16);
	assert_int_equal(spec.match.dst.plen, 0);
	assert_string_equal(spec.match.ifname, "p1");
	assert_false(spec.match.has_ofport);
	assert_int_equal(spec.match.sport.value, 5);
	assert_int_equal(spec.match.sport.mask, 0xffff);
	assert_int_equal(spec.match.dport.mask, 0);
	assert_true(spec.match.has_vlan);
	assert_int_equal(spec.match.vlan, 9);

	assert_true(tcon_flow_spec_parse("ipv6_dst=2001:db8::/16,in_port=12",
					 &spec, &error));
	assert_int_equal(spec.match.family, AF_INET6);
	assert_memory_equal(spec.match.dst.addr, dst, 16);
	assert_true(spec.match.has_ofport);
	assert_int_equal(spec.match.ofport, 12);
	assert_string_equal(spec.match.ifname, "");
}

/* Each pair differs in one thing. */
static void different_matches(void **state)
{
	static const char *const texts[] = {
		"all", "tcp", "tcp6", "in_port=1", "in_port=2", "in_port=\"1\"",
		"in_port=a", "nw_src=1.0.0.0/8", "nw_src=1.0.0.0/9",
		"nw_src=2.0.0.0/8", "nw_dst=1.0.0.0/8", "ipv6_src=1::/16",
		"tp_src=1", "iface-id=a", "iface-id=b", "pkt_mark=0", "pkt_mark=1",
		"pkt_mark=0/1", "dl_src=2:0:0:0:0:1", "dl_src=2:0:0:0:0:2",
		"dl_src=2:0:0:0:0:2/2:0:0:0:0:2", "tp_src=2", "tp_dst=1", "tp_dst=0/1", "tp_dst=0/3",
		"tp_dst=1/3", "dl_vlan=0", "dl_vlan=1",
	};
	struct tcon_flow_spec a, b;
	struct tcon_error error;
	size_t i, j;

	for (i = 0; i < N_ELEMS(texts); i++)
		for (j = 0; j < N_ELEMS(texts); j++) {
			assert_true(tcon_flow_spec_parse(texts[i], &a, &error));
			assert_true(tcon_flow_spec_parse(texts[j], &b, &error));
			assert_int_equal(tcon_match_equal(&a.match, &b.match),
					 i == j);
		}
}

/* A match's verdict on one flow, and the field that decides. */
static const struct {
	const char *match, *flow;
	enum tcon_selects selects;
	const char *field;
} selections[] = {
	{ "all", "in_port=p", TCON_SELECTS, NULL },
	{ "in_port=p", "in_port=p", TCON_SELECTS, NULL },
	{ "in_port=p", "in_port=q", TCON_SELECTS_NOT, "in_port" },
	{ "in_port=7", "in_port=p", TCON_SELECTS, NULL },
	{ "in_port=8", "in_port=p", TCON_SELECTS_NOT, "in_port" },
	{ "dl_src=2:0:0:0:0:1", "in_port=p,dl_src=2:0:0:0:0:1", TCON_SELECTS, NULL },
	{ "dl_src=2:0:0:0:0:1", "in_port=p,dl_src=2:0:0:0:0:2", TCON_SELECTS_NOT, "dl_src" },
	{ "dl_src=2:0:0:0:0:1", "in_port=p", TCON_SELECTS_UNKNOWN, "dl_src" },
	{ "dl_src=52:54:0:0:0:0/ff:ff:0:0:0:0", "in_port=p,dl_src=52:54:0:1:2:3", TCON_SELECTS, NULL },
	{ "pkt_mark=5", "in_port=p,pkt_mark=5", TCON_SELECTS, NULL },
	{ "pkt_mark=0/4", "in_port=p,pkt_mark=5", TCON_SELECTS_NOT, "pkt_mark" },
	{ "pkt_mark=0", "in_port=p", TCON_SELECTS_UNKNOWN, "pkt_mark" },
	{ "iface-id=a", "iface-id=a", TCON_SELECTS, NULL },
	{ "iface-id=a", "iface-id=b", TCON_SELECTS_NOT, "iface-id" },
	{ "iface-id=a", "in_port=p", TCON_SELECTS_NOT, "iface-id" },
	{ "tcp", "in_port=p,nw_src=1.2.3.4", TCON_SELECTS, NULL },
	{ "tcp", "in_port=p,ipv6_src=::1", TCON_SELECTS_NOT, "tcp" },
	{ "tcp6", "in_port=p", TCON_SELECTS_UNKNOWN, "tcp6" },
	{ "nw_src=1.2.0.0/15", "in_port=p,nw_src=1.3.9.9", TCON_SELECTS, NULL },
	{ "nw_src=1.2.0.0/16", "in_port=p,nw_src=1.3.9.9", TCON_SELECTS_NOT, "nw_src" },
	{ "ipv6_dst=2001:db8::/33", "in_port=p,ipv6_dst=2001:db8:8000::1",
	  TCON_SELECTS_NOT, "ipv6_dst" },
	{ "ipv6_dst=2001:db8::/32", "in_port=p,ipv6_dst=2001:db8:8000::1", TCON_SELECTS, NULL },
	{ "tp_dst=80", "in_port=p,tp_dst=80", TCON_SELECTS, NULL },
	{ "tp_dst=80", "in_port=p,tp_dst=81", TCON_SELECTS_NOT, "tp_dst" },
	{ "tp_dst=80", "in_port=p,tp_src=80", TCON_SELECTS_UNKNOWN, "tp_dst" },
	{ "tp_dst=0x50/0xfff0", "in_port=p,tp_dst=95", TCON_SELECTS, NULL },
	{ "tp_dst=0x50/0xfff0", "in_port=p,tp_dst=96", TCON_SELECTS_NOT, "tp_dst" },
	{ "tp_src=1,tp_dst=80", "in_port=p,tp_dst=81", TCON_SELECTS_NOT, "tp_dst" },
	{ "dl_vlan=5", "in_port=p,dl_vlan=5", TCON_SELECTS, NULL },
	{ "dl_vlan=5", "in_port=p", TCON_SELECTS_NOT, "dl_vlan" },
	{ "dl_vlan=0", "in_port=p", TCON_SELECTS, NULL },
};

static void flows_that_matches_select(void **state)
{
	struct tcon_flow_spec match, flow;
	struct tcon_error error;
	const char *field;
	size_t i;

	for (i = 0; i < N_ELEMS(selections); i++) {
		field = NULL;
		assert_true(tcon_flow_spec_parse(selections[i].match, &match, &error));
		assert_true(tcon_flow_spec_parse(selections[i].flow, &flow, &error));
		assert_int_equal(tcon_match_selects(&match.match, &flow.match, 7, &field),
				 selections[i].selects);
		if (selections[i].field)
			assert_string_equal(field, selections[i].field);
	}
}

static const struct {
	enum tcon_param_type type;
	int64_t min, max;
	const char *text;
	int64_t value;
	const char *canonical;
} good_values[] = {
	{ TCON_PARAM_BOOL, 0, 1, "on", 1, "on" },
	{ TCON_PARAM_BOOL, 0, 1, "TRUE", 1, "on" },
	{ TCON_PARAM_BOOL, 0, 1, "yes", 1, "on" },
	{ TCON_PARAM_BOOL, 0, 1, "1", 1, "on" },
	{ TCON_PARAM_BOOL, 0, 1, "off", 0, "off" },
	{ TCON_PARAM_BOOL, 0, 1, "False", 0, "off" },
	{ TCON_PARAM_BOOL, 0, 1, "no", 0, "off" },
	{ TCON_PARAM_BOOL, 0, 1, "0", 0, "off" },
	{ TCON_PARAM_UINT, 0, 10, "0", 0, "0" },
	{ TCON_PARAM_UINT, 0, 10, "10", 10, "10" },
	{ TCON_PARAM_UINT, 0, INT64_MAX, "9223372036854775807", INT64_MAX,
	  "9223372036854775807" },
	{ TCON_PARAM_UINT, -5, 5, "-5", -5, "-5" },
	{ TCON_PARAM_MILLI, 0, 1000, "0.7", 700, "0.7" },
	{ TCON_PARAM_MILLI, 0, 1000, "0.70", 700, "0.7" },
	{ TCON_PARAM_MILLI, 0, 1000, "0.007", 7, "0.007" },
	{ TCON_PARAM_MILLI, 0, 1000, "1", 1000, "1" },
	{ TCON_PARAM_MILLI, 0, 1000, "1.000", 1000, "1" },
	{ TCON_PARAM_MILLI, 0, 1000, "0", 0, "0" },
	{ TCON_PARAM_MILLI, 0, 99999, "12.345", 12345, "12.345" },
	{ TCON_PARAM_MILLI, 0, 99999, "10.05", 10050, "10.05" },
	{ TCON_PARAM_MILLI, -9999, 0, "-1.5", -1500, "-1.5" },
	{ TCON_PARAM_MILLI, 0, INT64_MAX, "922337203685477.58",
	  922337203685477580, "922337203685477.58" },
};

static const struct {
	enum tcon_param_type type;
	int64_t min, max;
	const char *text, *says;
} bad_values[] = {
	{ TCON_PARAM_BOOL, 0, 1, "", "not 'on' or 'off'" },
	{ TCON_PARAM_BOOL, 0, 1, "2", "p=2: not 'on' or 'off'" },
	{ TCON_PARAM_BOOL, 0, 1, "maybe", "p=maybe" },
	{ TCON_PARAM_UINT, 0, 10, "", "not a whole number" },
	{ TCON_PARAM_UINT, 0, 10, "-", "not a whole number" },
	{ TCON_PARAM_UINT, 0, 10, "1.5", "p=1.5: not a whole number" },
	{ TCON_PARAM_UINT, 0, 10, "ten", "not a whole number" },
	{ TCON_PARAM_UINT, 0, 10, "5 ", "not a whole number" },
	{ TCON_PARAM_UINT, 0, 10, "05", "not a whole number" },
	{ TCON_PARAM_UINT, 0, 10, "0x5", "not a whole number" },
	{ TCON_PARAM_UINT, 0, 10, "11", "p=11 is out of range (0 to 10)" },
	{ TCON_PARAM_UINT, 0, 10, "-1", "p=-1 is out of range (0 to 10)" },
	{ TCON_PARAM_UINT, 5, 10, "4", "(5 to 10)" },
	{ TCON_PARAM_UINT, 0, INT64_MAX, "9223372036854775808",
	  "p=9223372036854775808 is out of range (0 to 9223372036854775807)" },
	{ TCON_PARAM_UINT, 0, INT64_MAX, "99999999999999999999", "is out of range" },
	{ TCON_PARAM_UINT, INT64_MIN, 0, "-9223372036854775809", "is out of range" },
	{ TCON_PARAM_UINT, 0, 10, "99999999999999999999x", "not a whole number" },
	{ TCON_PARAM_MILLI, 0, 1000, "0.7001", "at most three decimals" },
	{ TCON_PARAM_MILLI, 0, 1000, ".7", "at most three decimals" },
	{ TCON_PARAM_MILLI, 0, 1000, "1.", "at most three decimals" },
	{ TCON_PARAM_MILLI, 0, 1000, "0..7", "at most three decimals" },
	{ TCON_PARAM_MILLI, 0, 1000, "0.1.2", "at most three decimals" },
	{ TCON_PARAM_MILLI, 0, 1000, "7e-1", "at most three decimals" },
	{ TCON_PARAM_MILLI, 100, 900, "0.95", "p=0.95 is out of range (0.1 to 0.9)" },
	{ TCON_PARAM_MILLI, 0, INT64_MAX, "9223372036854775.808", "is out of range" },
	{ TCON_PARAM_MILLI, 0, INT64_MAX, "99999999999999999", "is out of range" },
};

static void matches_that_overlap(void **state)
{
	static const struct {
		const char *a, *b;
		bool overlap;
	} pairs[] = {
		{ "all", "tcp,tp_dst=80", true },
		{ "tcp", "tcp6", false },
		{ "nw_src=10.0.0.0/8", "nw_src=10.1.0.0/16", true },
		{ "nw_src=10.0.0.0/8", "nw_src=11.0.0.0/8", false },
		{ "nw_src=10.0.0.0/8", "nw_dst=11.0.0.0/8", true },
		{ "nw_src=10.0.0.0/8", "ipv6_dst=::1", false },
		{ "ipv6_src=fe80::/10", "ipv6_src=fe80::1", true },
		{ "tp_dst=80", "tp_dst=0x50/0xfff0", true },
		{ "tp_dst=96", "tp_dst=0x50/0xfff0", false },
		{ "tp_dst=80", "tp_src=80", true },
		{ "tp_dst=1/1", "tp_dst=2/2", true },
		{ "in_port=a", "in_port=b", false },
		{ "in_port=a", "tp_dst=80", true },
		{ "in_port=1", "in_port=2", false },
		{ "in_port=1", "in_port=a", true },
		{ "iface-id=a", "iface-id=b", false },
		{ "dl_vlan=0", "dl_vlan=1", false },
		{ "dl_vlan=1", "all", true },
		{ "dl_src=2:0:0:0:0:1", "dl_src=2:0:0:0:0:0/ff:0:0:0:0:0", true },
		{ "dl_src=2:0:0:0:0:1", "dl_src=2:0:0:0:0:2", false },
		{ "pkt_mark=1/1", "pkt_mark=2/3", false },
		{ "pkt_mark=1/1", "pkt_mark=2/2", true },
	};

	for (unsigned int i = 0; i < N_ELEMS(pairs); i++) {
		struct tcon_flow_spec a, b;
		struct tcon_error error;

		assert_true(tcon_flow_spec_parse(pairs[i].a, &a, &error));
		assert_true(tcon_flow_spec_parse(pairs[i].b, &b, &error));
		assert_int_equal(tcon_match_overlap(&a.match, &b.match), pairs[i].overlap);
		assert_int_equal(tcon_match_overlap(&b.match, &a.match), pairs[i].overlap);
	}
}

static void values_accepted(void **state)
{
	char text[TCON_VALUE_TEXT_MAX];
	struct tcon_error error;
	int64_t value;
	size_t i;

	for (i = 0; i < N_ELEMS(good_values); i++) {
		if (!tcon_value_parse("p", good_values[i].type,
				      good_values[i].min, good_values[i].max,
				      good_values[i].text, &value, &error))
			fail_msg("'%s' refused: %s", good_values[i].text,
				 error.text);
		assert_int_equal(value, good_values[i].value);
		tcon_value_format(good_values[i].type, value, text);
		assert_string_equal(text, good_values[i].canonical);
	}
}

static void values_refused(void **state)
{
	struct tcon_error error;
	size_t i;

	for (i = 0; i < N_ELEMS(bad_values); i++) {
		int64_t value = 42;

		if (tcon_value_parse("p", bad_values[i].type,
				     bad_values[i].min, bad_values[i].max,
				     bad_values[i].text, &value, &error))
			fail_msg("'%s' was accepted", bad_values[i].text);
		if (!strstr(error.text, bad_values[i].says))
			fail_msg("'%s' gives \"%s\", which lacks \"%s\"",
				 bad_values[i].text, error.text,
				 bad_values[i].says);
		assert_int_equal(value, 42);
	}
}

static void extreme_values(void **state)
{
	char text[TCON_VALUE_TEXT_MAX];

	tcon_value_format(TCON_PARAM_UINT, INT64_MIN, text);
	assert_string_equal(text, "-9223372036854775808");
	tcon_value_format(TCON_PARAM_MILLI, INT64_MIN, text);
	assert_string_equal(text, "-9223372036854775.808");
	tcon_value_format(TCON_PARAM_MILLI, -7, text);
	assert_string_equal(text, "-0.007");
}

#define NINES "99999999999999999999"

static const char *const names_in_order[] = {
	"", "-", "00", "007", "0x5", "1a", "a", "a10", "a9", "fleet.1",
	"0", "5", "9", "10", "4294967296", "9223372036854775806",
	"9223372036854775807", "9223372036854775808", "18446744073709551615",
	"18446744073709551616", NINES NINES "8", NINES NINES "9", NINES NINES NINES "999",
};

static int sign(int n)
{
	return (n > 0) - (n < 0);
}

/* Words by their bytes, then numbers by their value, however large. */
static void names_have_an_order(void **state)
{
	size_t i, j;

	for (i = 0; i < N_ELEMS(names_in_order); i++) {
		assert_int_equal(tcon_rule_name_is_number(names_in_order[i]), i >= 10);
		for (j = 0; j < N_ELEMS(names_in_order); j++)
			assert_int_equal(sign(tcon_rule_name_compare(names_in_order[i],
								     names_in_order[j])),
					 sign((int)i - (int)j));
	}
}

static void the_next_name_is_the_newest(void **state)
{
	static const struct {
		const char *name, *next;
	} names[] = {
		{ "0", "1" }, { "9", "10" }, { "199", "200" },
		{ "9223372036854775807", "9223372036854775808" },
		{ "18446744073709551615", "18446744073709551616" },
		{ NINES NINES NINES "998", NINES NINES NINES "999" },
		{ NINES NINES NINES "99", "100000000000000000000000000000000000000000000000000"
					  "000000000000" },
	};
	char next[TCON_RULE_NAME_MAX];
	size_t i;

	for (i = 0; i < N_ELEMS(names); i++) {
		assert_true(tcon_rule_name_next(names[i].name, next));
		assert_string_equal(next, names[i].next);
		assert_true(tcon_rule_name_ok(next));
		assert_true(tcon_rule_name_compare(names[i].name, next) < 0);
	}
	assert_false(tcon_rule_name_next(NINES NINES NINES "999", next));
}

/* A sentence is cut, not overrun, and never breaks a terminal. */
static void names_that_are_near(void **state)
{
	static const char *const ccs[] = { "bbr", "bbr2", "cubic", "reno", "vegas", "none" };
	static const struct {
		const char *name, *nearest;
	} near[] = {
		{ "bbbr", "bbr" }, { "BBR", "bbr" }, { "cubci", "cubic" }, { "veags", "vegas" },
		{ "ren", "reno" }, { "renox", "reno" }, { "bb", NULL }, { "", NULL }, { "x", NULL },
		{ "illinois", NULL }, { A32 A32, NULL }, { "bbr3", "bbr" }, { "rneox", NULL },
	};

	for (unsigned int i = 0; i < N_ELEMS(near); i++) {
		const char *found = tcon_nearest(near[i].name, ccs, N_ELEMS(ccs));

		if (!near[i].nearest)
			assert_null(found);
		else
			assert_string_equal(found, near[i].nearest);
	}
	assert_null(tcon_nearest("bbr", NULL, 0));
}

/* Each described field is known, and each field except aliases is described. */
static void fields_are_described(void **state)
{
	char text[TCON_FIELD_TEXT_MAX];
	struct tcon_flow_spec spec;
	struct tcon_error error;
	const char *meaning;
	unsigned int i;

	for (i = 0; tcon_field_describe(i, text, &meaning); i++) {
		assert_true(*meaning);
		if (!tcon_flow_spec_parse(text, &spec, &error))
			assert_null(strstr(error.text, "unknown field"));
	}
	assert_int_equal(i, N_ELEMS(fields) - 7);	/* aliases */
}

static void errors_are_printable(void **state)
{
	struct tcon_error error;
	char *p;

	tcon_error_set(&error, "\x1b[2J%0400d\n", 7);
	assert_int_equal(strlen(error.text), sizeof(error.text) - 1);
	for (p = error.text; *p; p++)
		assert_in_range(*p, ' ', '~');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accepted),
		cmocka_unit_test(refused),
		cmocka_unit_test(fields_of_a_match),
		cmocka_unit_test(different_matches),
		cmocka_unit_test(flows_that_matches_select),
		cmocka_unit_test(matches_that_overlap),
		cmocka_unit_test(values_accepted),
		cmocka_unit_test(values_refused),
		cmocka_unit_test(extreme_values),
		cmocka_unit_test(names_have_an_order),
		cmocka_unit_test(the_next_name_is_the_newest),
		cmocka_unit_test(names_that_are_near),
		cmocka_unit_test(fields_are_described),
		cmocka_unit_test(errors_are_printable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
