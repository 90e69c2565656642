/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * User-space shim: generic netlink.  Messages are built and parsed as in the kernel, with its strict
 * validation (NL_VALIDATE_STRICT); shim_family and shim_reply stand for the socket.
 */
#ifndef _SHIM_NET_GENETLINK_H
#define _SHIM_NET_GENETLINK_H

#include <linux/genetlink.h>
#include <linux/kernel.h>
#include <linux/netlink.h>
#include <linux/skbuff.h>
#include <linux/socket.h>
#include <linux/types.h>
#include <net/net_namespace.h>

enum {
	NLA_UNSPEC, NLA_U8, NLA_U16, NLA_U32, NLA_U64, NLA_S32, NLA_S64, NLA_FLAG, NLA_STRING,
	NLA_NUL_STRING, NLA_BINARY, NLA_NESTED,
};

struct netlink_range_validation {
	u64 min, max;
};

/* @len: most bytes, or the largest type in a nest.  @least, @most: of a value, or of a length. */
struct nla_policy {
	u8 type;
	bool bounded;
	u16 len;
	s64 least, most;
	const struct netlink_range_validation *range;
	const struct nla_policy *nested;
};

#define NLA_POLICY_RANGE(t, lo, hi)					\
	{ .type = (t), .bounded = true, .least = (lo), .most = (hi) }
#define NLA_POLICY_MIN(t, lo)		NLA_POLICY_RANGE(t, lo, S64_MAX)
#define NLA_POLICY_MAX(t, hi)		NLA_POLICY_RANGE(t, 0, hi)
#define NLA_POLICY_EXACT_LEN(n)		NLA_POLICY_RANGE(NLA_BINARY, n, n)
#define NLA_POLICY_FULL_RANGE(t, r)	{ .type = (t), .range = (r) }
#define NLA_POLICY_NESTED(policy)					\
	{ .type = NLA_NESTED, .nested = (policy), .len = ARRAY_SIZE(policy) - 1 }

#define GENLMSG_DEFAULT_SIZE		4096UL

struct netlink_ext_ack {
	const char *_msg;
};

struct genl_info {
	const struct nlmsghdr *nlhdr;
	struct nlattr **attrs;
	struct netlink_ext_ack *extack;
};

struct netlink_callback {
	struct sk_buff *skb;
	const struct nlmsghdr *nlh;
	void *data;
	struct netlink_ext_ack *extack;
	unsigned int prev_seq, seq;
	long args[6];
};

struct genl_dumpit_info {
	struct nlattr **attrs;
};

struct genl_ops {
	u8 cmd, flags;
	int (*doit)(struct sk_buff *skb, struct genl_info *info);
	int (*dumpit)(struct sk_buff *skb, struct netlink_callback *cb);
	int (*done)(struct netlink_callback *cb);
};

struct module;

struct genl_family {
	char name[GENL_NAMSIZ];
	unsigned int version, maxattr, n_ops, resv_start_op;
	bool netnsok, parallel_ops;
	const struct nla_policy *policy;
	const struct genl_ops *ops;
	int (*pre_doit)(const struct genl_ops *ops, struct sk_buff *skb, struct genl_info *info);
	struct module *module;
};

struct shim_netlink_cb {
	u32 portid;
};

extern struct genl_family *shim_family;
extern struct sk_buff *shim_reply;
__attribute__((__weak__)) struct genl_family *shim_family;
__attribute__((__weak__)) struct sk_buff *shim_reply;

#define NETLINK_CB(skb)			((void)(skb), (struct shim_netlink_cb) { 0 })
#define genl_info_net(info)		((void)(info), &init_net)
#define genl_dumpit_info(cb)		((const struct genl_dumpit_info *)(cb)->data)
#define nlmsg_data(nlh)			((void *)((char *)(nlh) + NLMSG_HDRLEN))
#define nlmsg_free			kfree_skb

/* Attributes that are read. */

#define nla_data(a)			((void *)((char *)(a) + NLA_HDRLEN))
#define nla_len(a)			((int)(a)->nla_len - NLA_HDRLEN)
#define nla_type(a)			((a)->nla_type & NLA_TYPE_MASK)
#define nla_ok(a, rem)							\
	((rem) >= (int)NLA_HDRLEN && (a)->nla_len >= NLA_HDRLEN && (a)->nla_len <= (rem))
#define nla_next(a, rem)						\
	((rem) -= NLA_ALIGN((a)->nla_len),				\
	 (__typeof__(a))((char *)(a) + NLA_ALIGN((a)->nla_len)))
#define nla_for_each_attr(pos, head, bytes, rem)			\
	for ((pos) = (head), (rem) = (bytes); nla_ok(pos, rem); (pos) = nla_next(pos, rem))
#define nla_for_each_nested(pos, nest, rem)				\
	nla_for_each_attr(pos, (struct nlattr *)nla_data(nest), nla_len(nest), rem)

#define SHIM_NLA_GET(name, type)					\
	static inline type nla_get_##name(const struct nlattr *a)	\
	{								\
		type value;						\
									\
		memcpy(&value, nla_data(a), sizeof(value));		\
		return value;						\
	}
SHIM_NLA_GET(u8, u8)
SHIM_NLA_GET(u16, u16)
SHIM_NLA_GET(u32, u32)
SHIM_NLA_GET(u64, u64)
SHIM_NLA_GET(s32, s32)
SHIM_NLA_GET(s64, s64)

static inline ssize_t nla_strscpy(char *to, const struct nlattr *a, size_t size)
{
	size_t n = strnlen(nla_data(a), nla_len(a));

	n = min(n, size - 1);
	memcpy(to, nla_data(a), n);
	memset(to + n, 0, size - n);
	return n;
}

static inline int shim_refuse(struct netlink_ext_ack *extack, int err, const char *why)
{
	if (extack)
		extack->_msg = why;
	return err;
}

static inline s64 shim_nla_value(const struct nlattr *a, u8 type)
{
	switch (type) {
	case NLA_U8:
		return nla_get_u8(a);
	case NLA_U16:
		return nla_get_u16(a);
	case NLA_U32:
		return nla_get_u32(a);
	case NLA_S32:
		return nla_get_s32(a);
	case NLA_BINARY:
		return nla_len(a);
	}
	return nla_get_u64(a);
}

static inline int shim_check_range(const struct nlattr *a, const struct nla_policy *p,
				   struct netlink_ext_ack *extack)
{
	s64 value;

	if (!p->bounded && !p->range)
		return 0;
	value = shim_nla_value(a, p->type);
	if ((p->bounded && (value < p->least || value > p->most)) ||
	    (p->range && ((u64)value < p->range->min || (u64)value > p->range->max)))
		return shim_refuse(extack, -ERANGE, p->type == NLA_BINARY ?
				   "binary attribute size out of range" : "integer out of range");
	return 0;
}

/* A string ends within its attribute, and has at most @p->len characters. */
static inline int shim_check_string(const struct nlattr *a, const struct nla_policy *p,
				    struct netlink_ext_ack *extack)
{
	int bytes = nla_len(a), n = strnlen(nla_data(a), bytes);

	if (n == bytes || n > p->len)
		return shim_refuse(extack, -EINVAL, "Attribute failed policy validation");
	if (bytes - 1 > p->len)
		return shim_refuse(extack, -ERANGE, "Attribute failed policy validation");
	return 0;
}

static inline int shim_nla_walk(struct nlattr **found, int max, const struct nlattr *head,
				int bytes, const struct nla_policy *policy,
				struct netlink_ext_ack *extack);

static inline int shim_check_attr(const struct nlattr *a, const struct nla_policy *p,
				  struct netlink_ext_ack *extack)
{
	static const u8 exact[] = {
		[NLA_U8] = 1, [NLA_U16] = 2, [NLA_U32] = 4, [NLA_U64] = 8, [NLA_S32] = 4,
		[NLA_S64] = 8,
	};

	if (p->type < ARRAY_SIZE(exact) && exact[p->type] && nla_len(a) != exact[p->type])
		return shim_refuse(extack, -EINVAL, "invalid attribute length");
	if (p->type == NLA_NESTED && !(a->nla_type & NLA_F_NESTED))
		return shim_refuse(extack, -EINVAL, "NLA_F_NESTED is missing");
	if (p->type != NLA_NESTED && a->nla_type & NLA_F_NESTED)
		return shim_refuse(extack, -EINVAL, "NLA_F_NESTED not expected");
	switch (p->type) {
	case NLA_UNSPEC:
		return shim_refuse(extack, -EINVAL, "Unsupported attribute");
	case NLA_FLAG:
		return nla_len(a) ? shim_refuse(extack, -ERANGE,
						"Attribute failed policy validation") : 0;
	case NLA_NUL_STRING:
		return shim_check_string(a, p, extack);
	case NLA_NESTED:
		if (nla_len(a) && nla_len(a) < NLA_HDRLEN)
			return shim_refuse(extack, -ERANGE, "Attribute failed policy validation");
		return nla_len(a) ? shim_nla_walk(NULL, p->len, nla_data(a), nla_len(a),
						  p->nested, extack) : 0;
	}
	return shim_check_range(a, p, extack);
}

/* Checks all attributes, and tells the last of each type if @found is not NULL. */
static inline int shim_nla_walk(struct nlattr **found, int max, const struct nlattr *head,
				int bytes, const struct nla_policy *policy,
				struct netlink_ext_ack *extack)
{
	const struct nlattr *a;
	int rem, err;

	if (found)
		memset(found, 0, (max + 1) * sizeof(*found));
	nla_for_each_attr(a, head, bytes, rem) {
		if (!nla_type(a) || nla_type(a) > max)
			return shim_refuse(extack, -EINVAL, "Unknown attribute type");
		err = shim_check_attr(a, &policy[nla_type(a)], extack);
		if (err)
			return err;
		if (found)
			found[nla_type(a)] = (struct nlattr *)a;
	}
	if (rem > 0)
		return shim_refuse(extack, -EINVAL, "bytes leftover after parsing attributes");
	return 0;
}

static inline int nla_parse_nested(struct nlattr **found, int max, const struct nlattr *nest,
				   const struct nla_policy *policy,
				   struct netlink_ext_ack *extack)
{
	if (!(nest->nla_type & NLA_F_NESTED))
		return shim_refuse(extack, -EINVAL, "NLA_F_NESTED is missing");
	return shim_nla_walk(found, max, nla_data(nest), nla_len(nest), policy, extack);
}

/* Attributes that are written. */

static inline u32 skb_tailroom(const struct sk_buff *skb)
{
	return skb->head + skb->buf->bytes - (skb->data + skb->len);
}

static inline struct nlattr *nla_reserve(struct sk_buff *skb, int type, int bytes)
{
	u32 whole = NLA_HDRLEN + bytes;
	struct nlattr *a;

	if (skb_tailroom(skb) < NLA_ALIGN(whole))
		return NULL;
	a = skb_put_zero(skb, NLA_ALIGN(whole));
	a->nla_type = type;
	a->nla_len = whole;
	return a;
}

static inline int nla_put(struct sk_buff *skb, int type, int bytes, const void *from)
{
	struct nlattr *a = nla_reserve(skb, type, bytes);

	if (!a)
		return -EMSGSIZE;
	if (bytes)
		memcpy(nla_data(a), from, bytes);
	return 0;
}

#define SHIM_NLA_PUT(name, type)					\
	static inline int nla_put_##name(struct sk_buff *skb, int attr, type value) \
	{								\
		return nla_put(skb, attr, sizeof(value), &value);	\
	}
SHIM_NLA_PUT(u8, u8)
SHIM_NLA_PUT(u16, u16)
SHIM_NLA_PUT(u32, u32)
SHIM_NLA_PUT(s32, s32)

/* As where unaligned access is cheap, nothing is padded. */
#define nla_put_64bit(skb, attr, bytes, from, pad)	nla_put(skb, attr, bytes, from)
#define nla_put_string(skb, attr, text)	nla_put(skb, attr, strlen(text) + 1, text)
#define nla_put_flag(skb, attr)		nla_put(skb, attr, 0, NULL)

static inline int nla_put_u64_64bit(struct sk_buff *skb, int attr, u64 value, int pad)
{
	return nla_put(skb, attr, sizeof(value), &value);
}

static inline int nla_put_s64(struct sk_buff *skb, int attr, s64 value, int pad)
{
	return nla_put(skb, attr, sizeof(value), &value);
}

static inline struct nlattr *nla_nest_start(struct sk_buff *skb, int attr)
{
	return nla_reserve(skb, attr | NLA_F_NESTED, 0);
}

static inline int nla_nest_end(struct sk_buff *skb, struct nlattr *nest)
{
	nest->nla_len = skb->data + skb->len - (u8 *)nest;
	return skb->len;
}

/* Messages. */

static inline struct sk_buff *genlmsg_new(size_t payload_bytes, gfp_t gfp)
{
	return alloc_skb(NLMSG_HDRLEN + GENL_HDRLEN + payload_bytes, gfp);
}

/* Returns where the user's header would be. */
static inline void *genlmsg_put(struct sk_buff *skb, u32 portid, u32 seq,
				const struct genl_family *family, int flags, u8 cmd)
{
	struct genlmsghdr *genl;
	struct nlmsghdr *nlh;

	if (skb_tailroom(skb) < NLMSG_HDRLEN + GENL_HDRLEN)
		return NULL;
	nlh = skb_put_zero(skb, NLMSG_HDRLEN);
	nlh->nlmsg_seq = seq;
	nlh->nlmsg_flags = flags;
	genl = skb_put_zero(skb, GENL_HDRLEN);
	genl->cmd = cmd;
	genl->version = family->version;
	return genl + 1;
}

#define shim_nlh(hdr)							\
	((struct nlmsghdr *)((char *)(hdr) - GENL_HDRLEN - NLMSG_HDRLEN))

static inline void *genlmsg_put_reply(struct sk_buff *skb, const struct genl_info *info,
				      const struct genl_family *family, int flags, u8 cmd)
{
	return genlmsg_put(skb, 0, info->nlhdr->nlmsg_seq, family, flags, cmd);
}

static inline void genlmsg_end(struct sk_buff *skb, void *hdr)
{
	shim_nlh(hdr)->nlmsg_len = skb->data + skb->len - (u8 *)shim_nlh(hdr);
}

static inline void genlmsg_cancel(struct sk_buff *skb, void *hdr)
{
	if (hdr)
		skb->len = (u8 *)shim_nlh(hdr) - skb->data;
}

static inline int genlmsg_reply(struct sk_buff *skb, const struct genl_info *info)
{
	BUG_ON(shim_reply);
	shim_reply = skb;
	return 0;
}

static inline void genl_dump_check_consistent(struct netlink_callback *cb, void *hdr)
{
	if (cb->prev_seq && cb->seq != cb->prev_seq)
		shim_nlh(hdr)->nlmsg_flags |= NLM_F_DUMP_INTR;
	cb->prev_seq = cb->seq;
}

static inline int genl_register_family(struct genl_family *family)
{
	shim_family = family;
	return 0;
}

static inline int genl_unregister_family(struct genl_family *family)
{
	shim_family = NULL;
	return 0;
}

#endif /* _SHIM_NET_GENETLINK_H */
