// SPDX-License-Identifier: GPL-2.0-only
/*
 * A CC that misbehaves on purpose, for tests of the watchdog.  Never installed.
 *
 * It keeps a cwnd of @good_segs segments until @after_bytes are delivered, then
 * gives @cwnd_bytes and paces at @pacing_bps, whatever these are.
 */
#include <linux/module.h>
#include <tcon/cc.h>

enum {
	BADCC_GOOD_SEGS,
	BADCC_AFTER_BYTES,
	BADCC_CWND_BYTES,
	BADCC_PACING_BPS,
};

static const struct tcon_cc_param badcc_params[] = {
	[BADCC_GOOD_SEGS] = {
		.name = "good_segs", .type = TCON_PARAM_UINT,
		.def = 10, .min = 2, .max = 1000, .unit = "segments",
		.help = "cwnd while it behaves",
	},
	[BADCC_AFTER_BYTES] = {
		.name = "after_bytes", .type = TCON_PARAM_UINT,
		.def = 0, .min = 0, .max = U32_MAX, .unit = "bytes",
		.help = "delivered bytes after which it misbehaves",
	},
	[BADCC_CWND_BYTES] = {
		.name = "cwnd_bytes", .type = TCON_PARAM_UINT,
		.def = 0, .min = 0, .max = U32_MAX, .unit = "bytes",
		.help = "cwnd when it misbehaves",
	},
	[BADCC_PACING_BPS] = {
		.name = "pacing_bps", .type = TCON_PARAM_UINT,
		.def = 0, .min = 0, .max = U32_MAX, .unit = "bits/s",
		.help = "pacing rate when it misbehaves",
	},
};

static void badcc_init(struct tcon_cc *cc, u64 now_us)
{
	cc->cwnd_bytes = cc->params[BADCC_GOOD_SEGS] * cc->mss_bytes;
}

static void badcc_cong_control(struct tcon_cc *cc,
			       const struct tcon_rate_sample *rs)
{
	if (cc->delivered_bytes <= cc->params[BADCC_AFTER_BYTES])
		return;
	cc->cwnd_bytes = cc->params[BADCC_CWND_BYTES];
	cc->pacing_rate_bps = cc->params[BADCC_PACING_BPS];
}

static void badcc_set_state(struct tcon_cc *cc, enum tcon_ca_state state,
			    u64 now_us)
{
}

static void badcc_undo_cwnd(struct tcon_cc *cc)
{
}

static struct tcon_cc_ops badcc = {
	.name = "badcc",
	.category = "loss",
	.source = "tests",
	.owner = THIS_MODULE,
	.params = badcc_params,
	.n_params = ARRAY_SIZE(badcc_params),
	.init = badcc_init,
	.cong_control = badcc_cong_control,
	.set_state = badcc_set_state,
	.undo_cwnd = badcc_undo_cwnd,
};

/* Another version of it: the first parameter is gone, the others stand in other
 * places.  For tests of rules alone: no flow may run on it.
 */
static bool other_version;
module_param(other_version, bool, 0444);
MODULE_PARM_DESC(other_version, "a version without good_segs");

static int __init badcc_module_init(void)
{
	if (other_version) {
		badcc.params++;
		badcc.n_params--;
	}
	return tcon_cc_register(&badcc);
}

static void __exit badcc_module_exit(void)
{
	tcon_cc_unregister(&badcc);
}

module_init(badcc_module_init);
module_exit(badcc_module_exit);

MODULE_DESCRIPTION("TCon: a misbehaving CC for tests");
MODULE_LICENSE("GPL");
