// SPDX-License-Identifier: GPL-2.0-only
/*
 * In place of the kernel's generic netlink and of /sys/module: requests, dumps, parameters.
 */
#include <linux/delay.h>
#include <linux/moduleparam.h>
#include <net/genetlink.h>

#include "bridge.h"

#define DUMP_BYTES	4096	/* a reader who comes back for each page */

/**
 * struct dump - a dump that goes on when its reader asks
 * @cb: what the family's callback sees
 * @info: its attributes
 * @op: the operation; NULL: it was refused with @err and @extack
 */
struct dump {
	struct netlink_callback cb;
	struct genl_dumpit_info info;
	const struct genl_ops *op;
	struct netlink_ext_ack extack;
	int err;
};

static const struct genl_ops *find_op(const void *request, u32 bytes, bool dump)
{
	const struct genlmsghdr *hdr = (const void *)((const char *)request + NLMSG_HDRLEN);
	unsigned int i;

	if (!shim_family || bytes < NLMSG_HDRLEN + GENL_HDRLEN)
		return NULL;
	for (i = 0; i < shim_family->n_ops; i++)
		if (shim_family->ops[i].cmd == hdr->cmd &&
		    (dump ? !!shim_family->ops[i].dumpit : !!shim_family->ops[i].doit))
			return &shim_family->ops[i];
	return NULL;
}

static int parse(const void *request, u32 bytes, struct nlattr ***attrs,
		 struct netlink_ext_ack *extack)
{
	u32 head = NLMSG_HDRLEN + GENL_HDRLEN;

	*attrs = kcalloc(shim_family->maxattr + 1, sizeof(**attrs), GFP_KERNEL);
	return shim_nla_walk(*attrs, shim_family->maxattr,
			     (const void *)((const char *)request + head), bytes - head,
			     shim_family->policy, extack);
}

static int copy_out(const struct sk_buff *skb, void *reply, u32 size, u32 *used)
{
	BUG_ON(skb->len > size);
	memcpy(reply, skb->data, skb->len);
	*used = skb->len;
	return 0;
}

/* A request that is answered at once: 0 or a negative error, and why. */
int genl_do(const void *request, u32 bytes, void *reply, u32 size, u32 *used, const char **why)
{
	const struct genl_ops *op = find_op(request, bytes, false);
	struct netlink_ext_ack extack = {};
	struct genl_info info = { .nlhdr = request, .extack = &extack };
	int err;

	*used = 0;
	*why = NULL;
	if (!op)
		return -EOPNOTSUPP;
	err = parse(request, bytes, &info.attrs, &extack) ? :
	      shim_family->pre_doit(op, NULL, &info) ? : op->doit(NULL, &info);
	if (shim_reply) {
		copy_out(shim_reply, reply, size, used);
		kfree_skb(shim_reply);
		shim_reply = NULL;
	}
	kfree(info.attrs);
	rcu_barrier();
	*why = extack._msg;
	return err;
}

/* Begins a dump, of which genl_dump_next() tells what is wrong with it. */
void *genl_dump_start(const void *request, u32 bytes)
{
	struct dump *dump = kzalloc(sizeof(*dump), GFP_KERNEL);
	void *kept = kzalloc(bytes, GFP_KERNEL);

	memcpy(kept, request, bytes);
	dump->op = find_op(request, bytes, true);
	dump->err = dump->op ? parse(kept, bytes, &dump->info.attrs, &dump->extack) : -EOPNOTSUPP;
	dump->cb.nlh = kept;
	dump->cb.data = &dump->info;
	dump->cb.extack = &dump->extack;
	return dump;
}

/* The message that ends a dump; like all others it says if what was dumped has changed. */
static void put_done(struct dump *dump, struct nlmsghdr *reply, u32 *used)
{
	*reply = (struct nlmsghdr) { .nlmsg_len = NLMSG_HDRLEN, .nlmsg_type = NLMSG_DONE };
	if (dump->cb.prev_seq && dump->cb.seq != dump->cb.prev_seq)
		reply->nlmsg_flags = NLM_F_DUMP_INTR;
	*used = NLMSG_HDRLEN;
}

/* The next messages: how many bytes they are, 0 at the end, or a negative error. */
int genl_dump_next(void *opaque, void *reply, u32 size, u32 *used, const char **why)
{
	struct dump *dump = opaque;
	struct sk_buff *skb;
	int ret = dump->err;

	*used = 0;
	if (!ret) {
		skb = alloc_skb(DUMP_BYTES, GFP_KERNEL);
		dump->cb.skb = skb;
		ret = dump->op->dumpit(skb, &dump->cb);
		if (ret > 0)
			copy_out(skb, reply, size, used);
		else if (!ret)
			put_done(dump, reply, used);
		kfree_skb(skb);
	}
	*why = dump->extack._msg;
	return ret;
}

void genl_dump_end(void *opaque)
{
	struct dump *dump = opaque;

	if (dump->op && dump->op->done && !dump->err)
		dump->op->done(&dump->cb);
	kfree(dump->info.attrs);
	kfree(dump->cb.nlh);
	kfree(dump);
	rcu_barrier();
}

static struct shim_param *find_param(const char *name)
{
	struct shim_param *p = shim_params;

	while (p && strcmp(p->name, name))
		p = p->next;
	return p;
}

int param_set(const char *name, const char *value)
{
	struct shim_param *p = find_param(name);

	return p ? p->ops->set(value, &p->param) : -ENOENT;
}

/* Writes the value as /sys shows it; its length, or a negative error. */
int param_get(const char *name, char *value)
{
	struct shim_param *p = find_param(name);

	return p ? p->ops->get(value, &p->param) : -ENOENT;
}
