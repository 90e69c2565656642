/* SPDX-License-Identifier: GPL-2.0-only */
/* Frames for tests: put together piece by piece. */
#ifndef _TESTS_FRAME_H
#define _TESTS_FRAME_H

#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/if_ether.h>

#include <asm/unaligned.h>

#define FRAME_MAX	4096

/**
 * struct frame - a frame being built
 * @bytes: in use
 * @l3: offset of the IP header
 * @l4: offset of the TCP header
 * @data: the frame
 */
struct frame {
	u32 bytes;
	u32 l3;
	u32 l4;
	u8 data[FRAME_MAX];
};

static inline u8 *frame_put(struct frame *f, u32 bytes)
{
	u8 *at = f->data + f->bytes;

	WARN_ON(f->bytes + bytes > sizeof(f->data));
	memset(at, 0, bytes);
	f->bytes += bytes;
	return at;
}

static inline void frame_put_data(struct frame *f, const void *data, u32 bytes)
{
	memcpy(frame_put(f, bytes), data, bytes);
}

static inline void frame_put_be16(struct frame *f, u16 v)
{
	put_unaligned_be16(v, frame_put(f, 2));
}

/* Addresses, @n tags with these VLAN ids, and an EtherType. */
static inline void frame_tagged(struct frame *f, const u16 *ids, int n, u16 ethertype)
{
	int i;

	f->bytes = 0;
	frame_put_data(f, "\x02\0\0\0\0\1\x02\0\0\0\0\2", 2 * ETH_ALEN);
	for (i = 0; i < n; i++) {
		frame_put_be16(f, i + 1 < n ? ETH_P_8021AD : ETH_P_8021Q);
		frame_put_be16(f, 0xe000 | ids[i]);	/* priority 7 */
	}
	frame_put_be16(f, ethertype);
	f->l3 = f->bytes;
}

/* The same with @n_vlans tags of VLAN ids 101, 102 .. */
static inline void frame_ethernet(struct frame *f, int n_vlans, u16 ethertype)
{
	static const u16 ids[] = { 101, 102, 103, 104 };

	frame_tagged(f, ids, n_vlans, ethertype);
}

/* An IPv4 header with @option_bytes of options; frame_finish() sets lengths. */
static inline void frame_ipv4(struct frame *f, u32 option_bytes)
{
	u8 *ip = frame_put(f, 20 + option_bytes);

	ip[0] = 0x40 | (20 + option_bytes) / 4;
	ip[1] = 0xb9;				/* DSCP EF, ECT(1) */
	put_unaligned_be16(0x4000, ip + 6);	/* DF */
	ip[8] = 64;
	ip[9] = IPPROTO_TCP;
	memcpy(ip + 12, "\x0a\0\0\1\x0a\0\0\2", 8);
	memset(ip + 20, 1, option_bytes);	/* no operation */
	f->l4 = f->bytes;
}

static inline void frame_ipv6(struct frame *f, u8 next)
{
	u8 *ip = frame_put(f, 40);
	int i;

	ip[0] = 0x6b;				/* traffic class 0xb9 */
	ip[1] = 0x9f;				/* and a flow label */
	ip[2] = 0xed;
	ip[3] = 0xcb;
	ip[6] = next;
	ip[7] = 64;
	for (i = 0; i < 32; i++)
		ip[8 + i] = 0x20 + i;
	f->l4 = f->bytes;
}

/* An IPv6 extension header of 8 * (@len + 1) bytes. */
static inline void frame_extension(struct frame *f, u8 next, u8 len)
{
	u8 *ext = frame_put(f, 8 * (len + 1));

	ext[0] = next;
	ext[1] = len;
	f->l4 = f->bytes;
}

/* A TCP header with @options, padded with zeros to four bytes. */
static inline void frame_tcp(struct frame *f, u8 flags, const void *options,
			     u32 option_bytes)
{
	u32 padded = round_up(option_bytes, 4);
	u8 *tcp = frame_put(f, 20 + padded);

	put_unaligned_be16(40001, tcp);
	put_unaligned_be16(5201, tcp + 2);
	put_unaligned_be32(0xfffffff0, tcp + 4);
	put_unaligned_be32(0x12345678, tcp + 8);
	tcp[12] = (20 + padded) / 4 << 4;
	tcp[13] = flags;
	put_unaligned_be16(0xabcd, tcp + 14);
	if (option_bytes)
		memcpy(tcp + 20, options, option_bytes);
}

/* Sets the lengths of the IP header, up to here. */
static inline void frame_finish(struct frame *f)
{
	u8 *ip = f->data + f->l3;

	if (ip[0] >> 4 == 4)
		put_unaligned_be16(f->bytes - f->l3, ip + 2);
	else
		put_unaligned_be16(f->bytes - f->l3 - 40, ip + 4);
}

#endif /* _TESTS_FRAME_H */
