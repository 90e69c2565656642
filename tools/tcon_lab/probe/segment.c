// SPDX-License-Identifier: GPL-2.0-only
#include <net/ethernet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "segment.h"

#define IPV4_MIN_BYTES	20
#define IPV6_BYTES	40
#define TCP_MIN_BYTES	20
#define VLAN_BYTES	4

#define TCP_FIN		0x01
#define TCP_SYN		0x02
#define TCP_ACK		0x10

#define TCPOPT_END	0
#define TCPOPT_NOP	1
#define TCPOPT_SACK_BLOCKS	5

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

/* Take the whole blocks of a SACK option, which the capture may have cut. */
static void parse_sack(struct segment *s, const uint8_t *p, size_t bytes)
{
	for (; bytes >= 8 && s->n_sack < SEGMENT_MAX_SACK; bytes -= 8, p += 8)
		s->sack[s->n_sack++] = (struct sack_block) {
			.start = get32(p), .end = get32(p + 4),
		};
}

static void parse_options(struct segment *s, const uint8_t *p, size_t bytes)
{
	while (bytes && *p != TCPOPT_END) {
		size_t len, here;

		if (*p == TCPOPT_NOP) {
			p++;
			bytes--;
			continue;
		}
		if (bytes < 2 || p[1] < 2)
			return;
		len = p[1];
		here = len < bytes ? len : bytes;
		if (*p == TCPOPT_SACK_BLOCKS)
			parse_sack(s, p + 2, here - 2);
		p += here;
		bytes -= here;
	}
}

/* payload: bytes behind the IP header, by that header. */
static bool parse_tcp(struct segment *s, const uint8_t *p, size_t captured,
		      size_t payload)
{
	size_t header, present;

	if (captured < TCP_MIN_BYTES)
		return false;
	header = (size_t)(p[12] >> 4) * 4;
	if (header < TCP_MIN_BYTES || header > payload)
		return false;
	s->sport = get16(p);
	s->dport = get16(p + 2);
	s->seq = get32(p + 4);
	s->ack = get32(p + 8);
	s->fin = p[13] & TCP_FIN;
	s->syn = p[13] & TCP_SYN;
	s->has_ack = p[13] & TCP_ACK;
	s->seq += s->syn;
	s->payload_bytes = (uint32_t)(payload - header);
	present = header < captured ? header : captured;
	parse_options(s, p + TCP_MIN_BYTES, present - TCP_MIN_BYTES);
	return true;
}

static bool parse_ipv4(struct segment *s, const uint8_t *p, size_t captured,
		       size_t wire_bytes)
{
	size_t header, total;

	if (captured < IPV4_MIN_BYTES || p[0] >> 4 != 4)
		return false;
	header = (size_t)(p[0] & 15) * 4;
	total = get16(p + 2);
	if (!total)
		total = wire_bytes;	/* a super-packet beyond 64 KiB */
	if (header < IPV4_MIN_BYTES || header > captured || total < header ||
	    p[9] != IPPROTO_TCP || (get16(p + 6) & 0x3fff))
		return false;
	s->family = AF_INET;
	memcpy(s->src, p + 12, 4);
	memcpy(s->dst, p + 16, 4);
	return parse_tcp(s, p + header, captured - header, total - header);
}

static bool parse_ipv6(struct segment *s, const uint8_t *p, size_t captured,
		       size_t wire_bytes)
{
	size_t payload;

	if (captured < IPV6_BYTES || p[0] >> 4 != 6 || p[6] != IPPROTO_TCP)
		return false;
	payload = get16(p + 4);
	if (!payload) {
		if (wire_bytes < IPV6_BYTES)
			return false;
		payload = wire_bytes - IPV6_BYTES;
	}
	s->family = AF_INET6;
	memcpy(s->src, p + 8, SEGMENT_ADDR_BYTES);
	memcpy(s->dst, p + 24, SEGMENT_ADDR_BYTES);
	return parse_tcp(s, p + IPV6_BYTES, captured - IPV6_BYTES, payload);
}

/**
 * segment_parse() - read a TCP segment
 * @s: result
 * @ethertype: what @data begins with: IP, or one VLAN tag before it
 * @data: behind the link layer's header
 * @captured: bytes of @data that there are
 * @wire_bytes: bytes that there were on the wire, @captured or more
 *
 * Return: false where it is not an unfragmented TCP segment, or too little was
 * captured.
 */
bool segment_parse(struct segment *s, uint16_t ethertype, const uint8_t *data,
		   size_t captured, size_t wire_bytes)
{
	memset(s, 0, sizeof(*s));
	if (ethertype == ETHERTYPE_VLAN && captured >= VLAN_BYTES) {
		ethertype = get16(data + 2);
		data += VLAN_BYTES;
		captured -= VLAN_BYTES;
		wire_bytes -= VLAN_BYTES;
	}
	if (ethertype == ETHERTYPE_IP)
		return parse_ipv4(s, data, captured, wire_bytes);
	if (ethertype == ETHERTYPE_IPV6)
		return parse_ipv6(s, data, captured, wire_bytes);
	return false;
}
