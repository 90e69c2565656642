// SPDX-License-Identifier: GPL-2.0-only
/*
 * AIMD (Chiu and Jain, 1989): cwnd grows by "increase" segments per round trip, and is multiplied
 * by "decrease" at a loss.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <tcon/cc.h>

enum { PARAM_INCREASE, PARAM_DECREASE };

static const struct tcon_cc_param aimd_params[] = {
	[PARAM_INCREASE] = { "increase", TCON_PARAM_MILLI, 1000, 1, 100000,
			     "segments", "what a round trip adds" },
	[PARAM_DECREASE] = { "decrease", TCON_PARAM_MILLI, 500, 100, 950, "",
			     "what a loss leaves of the window" },
};

struct aimd {
	u64 credit;		/* bytes acknowledged, times MSS and increase */
	u32 prior_cwnd_bytes;	/* before the last loss; 0: nothing to undo */
	u32 prior_ssthresh_bytes;
};

/* cwnd is set already: ten segments, or what is in flight if that is more. */
static void tcon_aimd_init(struct tcon_cc *cc, u64 now_us)
{
	BUILD_BUG_ON(sizeof(struct aimd) > TCON_CC_PRIV_BYTES);
}

/* An ACK: the window grows if it limited the flow and nothing is lost. */
static void tcon_aimd_cong_control(struct tcon_cc *cc, const struct tcon_rate_sample *rs)
{
	u64 per_segment = 1000ULL * cc->cwnd_bytes, grown = rs->acked_bytes;
	struct aimd *aimd = tcon_cc_priv(cc);

	if (!rs->is_cwnd_limited || cc->ca_state == TCON_CA_RECOVERY)
		return;
	if (cc->cwnd_bytes >= cc->ssthresh_bytes) {	/* slow start is over */
		aimd->credit += grown * cc->mss_bytes * (u32)cc->params[PARAM_INCREASE];
		grown = div64_u64_rem(aimd->credit, per_segment, &aimd->credit);
	}
	cc->cwnd_bytes = min_t(u64, cc->cwnd_bytes + grown, TCON_CWND_MAX_BYTES);
}

/* Called before cc->ca_state becomes @state: once per round trip with losses. */
static void tcon_aimd_set_state(struct tcon_cc *cc, enum tcon_ca_state state, u64 now_us)
{
	u32 left = div_u64((u64)cc->cwnd_bytes * (u32)cc->params[PARAM_DECREASE], 1000);
	u32 least = TCON_MIN_CWND_SEGS * cc->mss_bytes;
	struct aimd *aimd = tcon_cc_priv(cc);

	if (state == TCON_CA_OPEN)
		return;
	if (cc->ca_state == TCON_CA_OPEN) {
		aimd->prior_cwnd_bytes = cc->cwnd_bytes;
		aimd->prior_ssthresh_bytes = cc->ssthresh_bytes;
		cc->ssthresh_bytes = max(left, least);
	}
	cc->cwnd_bytes = state == TCON_CA_LOSS ? least : cc->ssthresh_bytes;
}

static void tcon_aimd_undo_cwnd(struct tcon_cc *cc)
{
	struct aimd *aimd = tcon_cc_priv(cc);

	cc->cwnd_bytes = max(cc->cwnd_bytes, aimd->prior_cwnd_bytes);
	cc->ssthresh_bytes = max(cc->ssthresh_bytes, aimd->prior_ssthresh_bytes);
}

static struct tcon_cc_ops aimd_ops = {
	.name		= "aimd",
	.category	= "loss",
	.source		= "Chiu and Jain, Computer Networks 17, 1989",
	.owner		= THIS_MODULE,
	.priv_bytes	= sizeof(struct aimd),
	.params		= aimd_params,
	.n_params	= ARRAY_SIZE(aimd_params),
	.init		= tcon_aimd_init,
	.cong_control	= tcon_aimd_cong_control,
	.set_state	= tcon_aimd_set_state,
	.undo_cwnd	= tcon_aimd_undo_cwnd,
};

static int __init tcon_aimd_module_init(void) { return tcon_cc_register(&aimd_ops); }
static void __exit tcon_aimd_module_exit(void) { tcon_cc_unregister(&aimd_ops); }

module_init(tcon_aimd_module_init);
module_exit(tcon_aimd_module_exit);
MODULE_DESCRIPTION("TCon: additive increase, multiplicative decrease");
MODULE_LICENSE("GPL");
MODULE_ALIAS("tcon-cc-aimd");
