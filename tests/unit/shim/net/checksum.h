/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: the Internet checksum (RFC 1071), and its updates (RFC 1624). */
#ifndef _SHIM_NET_CHECKSUM_H
#define _SHIM_NET_CHECKSUM_H

#include <linux/skbuff.h>

static inline u32 shim_fold(u64 sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* By words as they lie in memory; the bytes before have an even length. */
static inline __wsum csum_partial(const void *data, int bytes, __wsum sum)
{
	const u8 *at = data;
	u64 total = sum;
	u32 words[4];
	u16 word;

	for (; bytes > 15; bytes -= 16, at += 16) {
		__builtin_memcpy(words, at, 16);
		total += (u64)words[0] + words[1] + words[2] + words[3];
	}
	for (; bytes > 1; bytes -= 2, at += 2) {
		__builtin_memcpy(&word, at, 2);
		total += word;
	}
	return shim_fold(bytes ? total + *at : total);
}

static inline __wsum csum_add(__wsum a, __wsum b)
{
	return shim_fold((u64)a + b);
}

static inline __wsum csum_sub(__wsum a, __wsum b)
{
	return csum_add(a, 0xffff - shim_fold(b));
}

static inline __sum16 csum_fold(__wsum sum)
{
	return ~shim_fold(sum);
}

static inline __wsum skb_checksum(const struct sk_buff *skb, int offset,
				  int bytes, __wsum sum)
{
	BUG_ON(offset + bytes > skb->len);
	return csum_partial(skb->data + offset, bytes, sum);
}

static inline void csum_replace2(__sum16 *sum, __be16 from, __be16 to)
{
	*sum = ~shim_fold((u64)(u16)~*sum + (u16)~from + to);
}

static inline void csum_replace4(__sum16 *sum, __be32 from, __be32 to)
{
	csum_replace2(sum, from, to);
	csum_replace2(sum, from >> 16, to >> 16);
}

/* Where the sum is still to be filled in, only the pseudo-header's stands there. */
static inline void inet_proto_csum_replace4(__sum16 *sum, struct sk_buff *skb,
					    __be32 from, __be32 to, bool pseudo)
{
	if (skb->ip_summed != CHECKSUM_PARTIAL)
		csum_replace4(sum, from, to);
	else if (pseudo)
		*sum = shim_fold((u64)*sum + (u16)~from + (u16)~(from >> 16) +
				 (u16)to + (to >> 16));
}

static inline void inet_proto_csum_replace2(__sum16 *sum, struct sk_buff *skb,
					    __be16 from, __be16 to, bool pseudo)
{
	inet_proto_csum_replace4(sum, skb, from, to, pseudo);
}

#endif /* _SHIM_NET_CHECKSUM_H */
